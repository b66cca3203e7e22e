# What records say of the open call of an OTF2 location, for what makes the calls.

cimport cython
from perwiz.kernels.otf2_rows cimport Call, Message, Request, State
from perwiz.kernels.records cimport Record

cdef class Messages:
    cdef State[::1] state
    cdef Call[::1] calls
    cdef Message[::1] messages
    cdef Request[::1] requests
    cdef int[::1] open_requests

    @cython.final
    cdef void point_to_point(self, Record record) noexcept
    @cython.final
    cdef void collective(self, Record record, long long call) noexcept
    @cython.final
    cdef int post(self, int number) noexcept
    @cython.final
    cdef int complete(self, int number) noexcept
    @cython.final
    cdef void meet(self, Record record, long long call) noexcept
    @cython.final
    cdef void add(self, Record record, int kind, int request) noexcept
