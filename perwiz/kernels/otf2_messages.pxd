# What records say of the open call of an OTF2 location, for what makes the calls.

from perwiz.kernels.otf2_rows cimport Call, Message, Request, State
from perwiz.kernels.records cimport Record

cdef void point_to_point(
    State[::1] state, Record record, Call[::1] calls, Message[::1] messages, Request[::1] requests, int[::1] open_requests
) noexcept
cdef void collective(Record record, Call[::1] calls, long long call) noexcept
