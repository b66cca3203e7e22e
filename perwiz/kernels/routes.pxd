# What flows through links is made of: a class that others are made of is declared for Cython in a file of its own.

cdef struct Route:
    double served
    double rate
    double since
    double least
    double end
    int flows
    int place

cdef struct Stay:
    double limit
    double part
    int route
    int link
    int behind
    int before

cdef struct Load:
    double demand
    double asked
    double capacity
    double level
    int flows
    int stay
    int moved
    int waits
    int next

cdef class Routes:
    cdef const int[::1] first
    cdef double most
    cdef double patience
    cdef Route[::1] routes
    cdef Stay[::1] stays
    cdef Load[::1] load
    cdef int[::1] heap
    cdef Py_ssize_t waiting
    cdef Py_ssize_t used
    cdef int moved

    cdef void pass_until(self, Py_ssize_t r, double now) noexcept
    cdef void come(self, Py_ssize_t r, double now) noexcept
    cdef void leave(self, Py_ssize_t r, double now) noexcept
    cdef void expect(self, Py_ssize_t r, double least) noexcept
    cdef void share(self, double now) noexcept
    cdef bint settle(self) noexcept
    cdef void fill(self) noexcept
    cdef void tell(self, Py_ssize_t one, double was) noexcept
    cdef double level(self, Py_ssize_t one) noexcept
    cdef void wait(self, Py_ssize_t one) noexcept
    cdef Py_ssize_t next(self) noexcept
    cdef void move(self, Py_ssize_t one) noexcept
    cdef void rise(self, Py_ssize_t r) noexcept
    cdef void sink(self, Py_ssize_t r) noexcept
