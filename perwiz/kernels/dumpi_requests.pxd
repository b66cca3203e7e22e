# What calls of DUMPI do to requests, for what is made of it.

cimport cython
from perwiz.kernels.dumpi_records cimport Records

cdef struct Communicator:
    int row
    int first
    int ranks
    int others
    int rank

cdef struct Meaning:
    long long bytes
    int comm
    int window_comm
    int window
    int unused

cdef struct Handle:
    int first
    int last
    int made

cdef struct Post:
    long long bytes
    int following
    int bits
    int peer
    int tag
    int comm
    int cancelled

cdef struct Action:
    long long request
    long long bytes
    int call
    int peer
    int tag
    int comm
    int bits

cdef class Requests(Records):
    cdef Meaning[::1] meanings
    cdef const Communicator[::1] communicators
    cdef const int[::1] members
    cdef Handle[::1] handles
    cdef Post[::1] posts
    cdef Action[::1] actions

    @cython.final
    cdef long long product(self, long long a, long long b) noexcept nogil
    @cython.final
    cdef int sender(self, long long peer) noexcept nogil
    @cython.final
    cdef long long bytes_of(self, int slot) noexcept nogil
    @cython.final
    cdef int world_rank(self, int comm, long long peer) noexcept nogil
    @cython.final
    cdef void act(self, long long call, long long request, long long row, int bits) noexcept nogil
    @cython.final
    cdef void copy_post(self, long long row, long long to) noexcept nogil
    @cython.final
    cdef void tell(self, long long which, long long row) noexcept nogil
    @cython.final
    cdef void describe(self, int bits, int comm) noexcept nogil
    @cython.final
    cdef long long post(self, long long handle, long long row) noexcept nogil
    @cython.final
    cdef long long oldest(self, long long handle) noexcept nogil
    @cython.final
    cdef void complete(self, long long handle, long long which, long long call) noexcept nogil
    @cython.final
    cdef long long start(self, long long handle, long long call) noexcept nogil
    @cython.final
    cdef long long act_on_requests(self, int does, long long call) noexcept nogil
    @cython.final
    cdef void act_on_message(self, int does, int mode, long long call, int comm) noexcept nogil
