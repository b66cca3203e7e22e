# What the rooms of the simulators share: a class that others are made of is declared for Cython in a file of its own.

cdef struct Operation:
    int kind
    int rank
    int peer
    int tag
    int cpu
    int nic
    int queue
    int waits
    int needs
    int first_done
    int end_done
    int first_started
    int end_started
    long long busy
    long long gap
    long long flight
    long long takes
    long long taken_gap
    long long since

cdef struct Event:
    long long time
    long long turn
    int number

cdef struct Queue:
    int first
    int last

cdef class Events:
    cdef Operation[::1] ops
    cdef const int[::1] listed
    cdef Py_ssize_t count
    cdef readonly int ranks
    cdef int processors
    cdef int interfaces
    cdef readonly long long[::1] free
    cdef long long[::1] sending
    cdef long long[::1] taking
    cdef Queue[::1] posted
    cdef Queue[::1] unexpected
    cdef readonly int[::1] following
    cdef int[::1] ready
    cdef Py_ssize_t readied
    cdef Event[::1] heap
    cdef Py_ssize_t events
    cdef long long turn
    cdef readonly long long done
    cdef readonly long long unreceived

    cdef void begin(self) noexcept
    cdef void happen(self, long long time, long long turn, Py_ssize_t number) noexcept
    cdef void push(self, long long time, long long turn, Py_ssize_t number) noexcept
    cdef void add(self, long long time, Py_ssize_t number) noexcept
    cdef bint less(self, Py_ssize_t i, Py_ssize_t k) noexcept
    cdef void swap(self, Py_ssize_t i, Py_ssize_t k) noexcept
    cdef void drop_first(self) noexcept
    cdef void let(self, int first, int end) noexcept
    cdef void start(self, Py_ssize_t k) noexcept
    cdef void finish(self, Py_ssize_t k, long long time) noexcept
    cdef void let_go(self, Py_ssize_t send, Py_ssize_t by, long long time, long long interface_time) noexcept
    cdef bint fits(self, int k, int peer, int tag) noexcept
    cdef int take(self, Queue[::1] queue, int at, int peer, int tag) noexcept
    cdef void wait(self, Queue[::1] queue, int at, Py_ssize_t k) noexcept
