# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""OTF2 event records to rows: the functions that the OTF2 library calls, one per kind of record.

The user data is a Buffer. What each kind keeps in which column, records.py tells; kinds and the arguments of each record are those of the
table of events. A callback returns 0, or 1 for the library to stop after this record, when few rows are free.
"""

import cython
from cython import cast, size_t

from perwiz.kernels import records

ENTER = cython.declare(cython.int, records.ENTER)
LEAVE = cython.declare(cython.int, records.LEAVE)
SEND = cython.declare(cython.int, records.SEND)
ISEND = cython.declare(cython.int, records.ISEND)
ISEND_COMPLETE = cython.declare(cython.int, records.ISEND_COMPLETE)
IRECV_REQUEST = cython.declare(cython.int, records.IRECV_REQUEST)
RECV = cython.declare(cython.int, records.RECV)
IRECV = cython.declare(cython.int, records.IRECV)
REQUEST_TEST = cython.declare(cython.int, records.REQUEST_TEST)
REQUEST_CANCELLED = cython.declare(cython.int, records.REQUEST_CANCELLED)
COLLECTIVE_BEGIN = cython.declare(cython.int, records.COLLECTIVE_BEGIN)
COLLECTIVE_END = cython.declare(cython.int, records.COLLECTIVE_END)
NONBLOCKING_REQUEST = cython.declare(cython.int, records.NONBLOCKING_REQUEST)
NONBLOCKING_COMPLETE = cython.declare(cython.int, records.NONBLOCKING_COMPLETE)
METRIC = cython.declare(cython.int, records.METRIC)
PARAMETER_INT = cython.declare(cython.int, records.PARAMETER_INT)
PARAMETER_UNSIGNED = cython.declare(cython.int, records.PARAMETER_UNSIGNED)
PARAMETER_STRING = cython.declare(cython.int, records.PARAMETER_STRING)
COMM_CREATE = cython.declare(cython.int, records.COMM_CREATE)
COMM_DESTROY = cython.declare(cython.int, records.COMM_DESTROY)
PROGRAM_BEGIN = cython.declare(cython.int, records.PROGRAM_BEGIN)
PROGRAM_END = cython.declare(cython.int, records.PROGRAM_END)
MEASUREMENT = cython.declare(cython.int, records.MEASUREMENT)
BUFFER_FLUSH = cython.declare(cython.int, records.BUFFER_FLUSH)
ATTRIBUTE = cython.declare(cython.int, records.ATTRIBUTE)
RMA_PUT = cython.declare(cython.int, records.RMA_PUT)
RMA_GET = cython.declare(cython.int, records.RMA_GET)
RMA_BLOCKING = cython.declare(cython.int, records.RMA_BLOCKING)
RMA_NONBLOCKING = cython.declare(cython.int, records.RMA_NONBLOCKING)
THREAD_FORK = cython.declare(cython.int, records.THREAD_FORK)
THREAD_JOIN = cython.declare(cython.int, records.THREAD_JOIN)
TEAM_BEGIN = cython.declare(cython.int, records.TEAM_BEGIN)
TEAM_END = cython.declare(cython.int, records.TEAM_END)
ACQUIRE_LOCK = cython.declare(cython.int, records.ACQUIRE_LOCK)
RELEASE_LOCK = cython.declare(cython.int, records.RELEASE_LOCK)
TASK_CREATE = cython.declare(cython.int, records.TASK_CREATE)
TASK_SWITCH = cython.declare(cython.int, records.TASK_SWITCH)
TASK_COMPLETE = cython.declare(cython.int, records.TASK_COMPLETE)
THREAD_CREATE = cython.declare(cython.int, records.THREAD_CREATE)
THREAD_BEGIN = cython.declare(cython.int, records.THREAD_BEGIN)
THREAD_WAIT = cython.declare(cython.int, records.THREAD_WAIT)
THREAD_END = cython.declare(cython.int, records.THREAD_END)
U8 = cython.typedef(cython.uchar)
U32 = cython.typedef(cython.uint)
I32 = cython.typedef(cython.int)
U64 = cython.typedef(cython.ulonglong)
I64 = cython.typedef(cython.longlong)
Record = cython.struct(
    kind=cython.ushort,
    inside=cython.ushort,
    number=cython.int,
    time=cython.longlong,
    reference=cython.longlong,
    communicator=cython.longlong,
    tag=cython.longlong,
    amount=cython.longlong,
    request=cython.longlong,
    received=cython.longlong,
    calls=cython.int,
    region=cython.int,
)
if not cython.compiled:
    Count = Get = cython.p_void
Buffer = cython.struct(
    used=cython.longlong,
    room=cython.longlong,
    dropped=cython.longlong,
    fewest=cython.longlong,
    rows=cython.pointer(Record),
    count=Count,
    get=Get,
    attribute=cython.p_uint,
    type=cython.p_uchar,
    value=cython.p_ulonglong,
)
"""Rows used, rows there are, rows that had no place, the fewest free rows to go on with; the first row is spare, for what has no place.
Then the library's functions for the attributes of a record, none where nobody asks for these, and where they write."""
User = cython.typedef(cython.pointer(Buffer))
Bytes = cython.typedef(cython.p_uchar)
Numbers = cython.typedef(cython.p_uint)
Bits = cython.typedef(cython.p_ulonglong)
Notes = cython.typedef(cython.p_void)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reference(number: U32) -> I64:
    """Return the number of a definition or rank, -1 for none."""
    none: U32 = 0xFFFFFFFF
    return -1 if number == none else number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(user: User, kind: I32, time: U64, reference: I64, communicator: I64, tag: I64, amount: I64, request: U64, received: U64) -> I32:
    """Fill a row, the spare one if no other is left; return 1 if the library is to stop, else 0."""
    row: I64 = 0
    if user[0].used < user[0].room:
        user[0].used += 1
        row = user[0].used
    else:
        user[0].dropped += 1
    user[0].rows[row].kind = kind
    user[0].rows[row].time = cast(I64, time)
    user[0].rows[row].reference = reference
    user[0].rows[row].communicator = communicator
    user[0].rows[row].tag = tag
    user[0].rows[row].amount = amount
    user[0].rows[row].request = cast(I64, request)
    user[0].rows[row].received = cast(I64, received)
    return 1 if user[0].room - user[0].used < user[0].fewest else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _attributes(user: User, time: U64, notes: Notes, full: I32) -> I32:
    """Put a row for each attribute of a record, if anybody asks for them; return whether the library is to stop, `full` without any."""
    if user[0].count:
        for number in range(user[0].count(notes)):
            user[0].value[0] = 0
            if user[0].get(notes, number, user[0].attribute, user[0].type, user[0].value) == 0:
                full = _put(user, ATTRIBUTE, time, user[0].attribute[0], 0, 0, cast(I64, user[0].value[0]), 0, 0)
    return full


@cython.cfunc
@cython.nogil
def _enter(location: U64, time: U64, position: U64, user: User, notes: Notes, region: U32) -> I32:
    return _attributes(user, time, notes, _put(user, ENTER, time, _reference(region), 0, 0, 0, 0, 0))


@cython.cfunc
@cython.nogil
def _leave(location: U64, time: U64, position: U64, user: User, notes: Notes, region: U32) -> I32:
    return _attributes(user, time, notes, _put(user, LEAVE, time, _reference(region), 0, 0, 0, 0, 0))


@cython.cfunc
@cython.nogil
def _mpi_send(location: U64, time: U64, position: U64, user: User, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64) -> I32:
    return _put(user, SEND, time, _reference(peer), _reference(comm), tag, cast(I64, length), 0, 0)


@cython.cfunc
@cython.nogil
def _mpi_isend(
    location: U64, time: U64, position: U64, user: User, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64, request: U64
) -> I32:
    return _put(user, ISEND, time, _reference(peer), _reference(comm), tag, cast(I64, length), request, 0)


@cython.cfunc
@cython.nogil
def _mpi_isend_complete(location: U64, time: U64, position: U64, user: User, notes: Notes, request: U64) -> I32:
    return _put(user, ISEND_COMPLETE, time, 0, 0, 0, 0, request, 0)


@cython.cfunc
@cython.nogil
def _mpi_irecv_request(location: U64, time: U64, position: U64, user: User, notes: Notes, request: U64) -> I32:
    return _put(user, IRECV_REQUEST, time, 0, 0, 0, 0, request, 0)


@cython.cfunc
@cython.nogil
def _mpi_recv(location: U64, time: U64, position: U64, user: User, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64) -> I32:
    return _put(user, RECV, time, _reference(peer), _reference(comm), tag, cast(I64, length), 0, 0)


@cython.cfunc
@cython.nogil
def _mpi_irecv(
    location: U64, time: U64, position: U64, user: User, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64, request: U64
) -> I32:
    return _put(user, IRECV, time, _reference(peer), _reference(comm), tag, cast(I64, length), request, 0)


@cython.cfunc
@cython.nogil
def _mpi_request_test(location: U64, time: U64, position: U64, user: User, notes: Notes, request: U64) -> I32:
    return _put(user, REQUEST_TEST, time, 0, 0, 0, 0, request, 0)


@cython.cfunc
@cython.nogil
def _mpi_request_cancelled(location: U64, time: U64, position: U64, user: User, notes: Notes, request: U64) -> I32:
    return _put(user, REQUEST_CANCELLED, time, 0, 0, 0, 0, request, 0)


@cython.cfunc
@cython.nogil
def _mpi_collective_begin(location: U64, time: U64, position: U64, user: User, notes: Notes) -> I32:
    return _put(user, COLLECTIVE_BEGIN, time, 0, 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _mpi_collective_end(
    location: U64, time: U64, position: U64, user: User, notes: Notes, op: U8, comm: U32, root: I32, sent: U64, received: U64
) -> I32:
    return _put(user, COLLECTIVE_END, time, op, _reference(comm), root, cast(I64, sent), 0, received)


@cython.cfunc
@cython.nogil
def _non_blocking_collective_request(location: U64, time: U64, position: U64, user: User, notes: Notes, request: U64) -> I32:
    return _put(user, NONBLOCKING_REQUEST, time, 0, 0, 0, 0, request, 0)


@cython.cfunc
@cython.nogil
def _non_blocking_collective_complete(
    location: U64, time: U64, position: U64, user: User, notes: Notes, op: U8, comm: U32, root: I32, sent: U64, received: U64, request: U64
) -> I32:
    return _put(user, NONBLOCKING_COMPLETE, time, op, _reference(comm), root, cast(I64, sent), request, received)


@cython.cfunc
@cython.nogil
def _metric(location: U64, time: U64, position: U64, user: User, notes: Notes, metric: U32, count: U8, types: Bytes, values: Bits) -> I32:
    stop: I32 = 0
    index: I32
    for index in range(count):
        stop = _put(user, METRIC, time, _reference(metric), index, types[index], cast(I64, values[index]), 0, 0)
    return stop


@cython.cfunc
@cython.nogil
def _parameter_int(location: U64, time: U64, position: U64, user: User, notes: Notes, parameter: U32, value: I64) -> I32:
    return _put(user, PARAMETER_INT, time, _reference(parameter), 0, 0, value, 0, 0)


@cython.cfunc
@cython.nogil
def _parameter_unsigned_int(location: U64, time: U64, position: U64, user: User, notes: Notes, parameter: U32, value: U64) -> I32:
    return _put(user, PARAMETER_UNSIGNED, time, _reference(parameter), 0, 0, cast(I64, value), 0, 0)


@cython.cfunc
@cython.nogil
def _parameter_string(location: U64, time: U64, position: U64, user: User, notes: Notes, parameter: U32, string: U32) -> I32:
    return _put(user, PARAMETER_STRING, time, _reference(parameter), 0, 0, _reference(string), 0, 0)


@cython.cfunc
@cython.nogil
def _comm_create(location: U64, time: U64, position: U64, user: User, notes: Notes, comm: U32) -> I32:
    return _put(user, COMM_CREATE, time, 0, _reference(comm), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _comm_destroy(location: U64, time: U64, position: U64, user: User, notes: Notes, comm: U32) -> I32:
    return _put(user, COMM_DESTROY, time, 0, _reference(comm), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _program_begin(location: U64, time: U64, position: U64, user: User, notes: Notes, name: U32, count: U32, arguments: Numbers) -> I32:
    return _put(user, PROGRAM_BEGIN, time, _reference(name), 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _program_end(location: U64, time: U64, position: U64, user: User, notes: Notes, status: I64) -> I32:
    return _put(user, PROGRAM_END, time, status, 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _measurement_on_off(location: U64, time: U64, position: U64, user: User, notes: Notes, mode: U8) -> I32:
    return _put(user, MEASUREMENT, time, mode, 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _buffer_flush(location: U64, time: U64, position: U64, user: User, notes: Notes, stop: U64) -> I32:
    return _put(user, BUFFER_FLUSH, time, cast(I64, stop), 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _rma_put(location: U64, time: U64, position: U64, user: User, notes: Notes, window: U32, remote: U32, size: U64, matching: U64) -> I32:
    return _put(user, RMA_PUT, time, _reference(window), remote, cast(I64, size), cast(I64, matching), 0, 0)


@cython.cfunc
@cython.nogil
def _rma_get(location: U64, time: U64, position: U64, user: User, notes: Notes, window: U32, remote: U32, size: U64, matching: U64) -> I32:
    return _put(user, RMA_GET, time, _reference(window), remote, cast(I64, size), cast(I64, matching), 0, 0)


@cython.cfunc
@cython.nogil
def _rma_op_complete_blocking(location: U64, time: U64, position: U64, user: User, notes: Notes, window: U32, matching: U64) -> I32:
    return _put(user, RMA_BLOCKING, time, _reference(window), cast(I64, matching), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _rma_op_complete_non_blocking(location: U64, time: U64, position: U64, user: User, notes: Notes, window: U32, matching: U64) -> I32:
    return _put(user, RMA_NONBLOCKING, time, _reference(window), cast(I64, matching), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_fork(location: U64, time: U64, position: U64, user: User, notes: Notes, model: U8, threads: U32) -> I32:
    return _put(user, THREAD_FORK, time, model, threads, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_join(location: U64, time: U64, position: U64, user: User, notes: Notes, model: U8) -> I32:
    return _put(user, THREAD_JOIN, time, model, 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_team_begin(location: U64, time: U64, position: U64, user: User, notes: Notes, team: U32) -> I32:
    return _put(user, TEAM_BEGIN, time, _reference(team), 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_team_end(location: U64, time: U64, position: U64, user: User, notes: Notes, team: U32) -> I32:
    return _put(user, TEAM_END, time, _reference(team), 0, 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_acquire_lock(location: U64, time: U64, position: U64, user: User, notes: Notes, model: U8, lock: U32, order: U32) -> I32:
    return _put(user, ACQUIRE_LOCK, time, model, lock, order, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_release_lock(location: U64, time: U64, position: U64, user: User, notes: Notes, model: U8, lock: U32, order: U32) -> I32:
    return _put(user, RELEASE_LOCK, time, model, lock, order, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_task_create(location: U64, time: U64, position: U64, user: User, notes: Notes, team: U32, thread: U32, count: U32) -> I32:
    return _put(user, TASK_CREATE, time, _reference(team), thread, count, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_task_switch(location: U64, time: U64, position: U64, user: User, notes: Notes, team: U32, thread: U32, count: U32) -> I32:
    return _put(user, TASK_SWITCH, time, _reference(team), thread, count, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_task_complete(location: U64, time: U64, position: U64, user: User, notes: Notes, team: U32, thread: U32, count: U32) -> I32:
    return _put(user, TASK_COMPLETE, time, _reference(team), thread, count, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_create(location: U64, time: U64, position: U64, user: User, notes: Notes, contingent: U32, count: U64) -> I32:
    return _put(user, THREAD_CREATE, time, _reference(contingent), cast(I64, count), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_begin(location: U64, time: U64, position: U64, user: User, notes: Notes, contingent: U32, count: U64) -> I32:
    return _put(user, THREAD_BEGIN, time, _reference(contingent), cast(I64, count), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_wait(location: U64, time: U64, position: U64, user: User, notes: Notes, contingent: U32, count: U64) -> I32:
    return _put(user, THREAD_WAIT, time, _reference(contingent), cast(I64, count), 0, 0, 0, 0)


@cython.cfunc
@cython.nogil
def _thread_end(location: U64, time: U64, position: U64, user: User, notes: Notes, contingent: U32, count: U64) -> I32:
    return _put(user, THREAD_END, time, _reference(contingent), cast(I64, count), 0, 0, 0, 0)


def addresses() -> tuple:
    """Return the addresses of the callbacks in the order of the names of their records; nothing when interpreted."""
    return (
        (
            cast(size_t, cast(Notes, _enter)),
            cast(size_t, cast(Notes, _leave)),
            cast(size_t, cast(Notes, _mpi_send)),
            cast(size_t, cast(Notes, _mpi_isend)),
            cast(size_t, cast(Notes, _mpi_isend_complete)),
            cast(size_t, cast(Notes, _mpi_irecv_request)),
            cast(size_t, cast(Notes, _mpi_recv)),
            cast(size_t, cast(Notes, _mpi_irecv)),
            cast(size_t, cast(Notes, _mpi_request_test)),
            cast(size_t, cast(Notes, _mpi_request_cancelled)),
            cast(size_t, cast(Notes, _mpi_collective_begin)),
            cast(size_t, cast(Notes, _mpi_collective_end)),
            cast(size_t, cast(Notes, _non_blocking_collective_request)),
            cast(size_t, cast(Notes, _non_blocking_collective_complete)),
            cast(size_t, cast(Notes, _metric)),
            cast(size_t, cast(Notes, _parameter_int)),
            cast(size_t, cast(Notes, _parameter_unsigned_int)),
            cast(size_t, cast(Notes, _parameter_string)),
            cast(size_t, cast(Notes, _comm_create)),
            cast(size_t, cast(Notes, _comm_destroy)),
            cast(size_t, cast(Notes, _program_begin)),
            cast(size_t, cast(Notes, _program_end)),
            cast(size_t, cast(Notes, _measurement_on_off)),
            cast(size_t, cast(Notes, _buffer_flush)),
            cast(size_t, cast(Notes, _rma_put)),
            cast(size_t, cast(Notes, _rma_get)),
            cast(size_t, cast(Notes, _rma_op_complete_blocking)),
            cast(size_t, cast(Notes, _rma_op_complete_non_blocking)),
            cast(size_t, cast(Notes, _thread_fork)),
            cast(size_t, cast(Notes, _thread_join)),
            cast(size_t, cast(Notes, _thread_team_begin)),
            cast(size_t, cast(Notes, _thread_team_end)),
            cast(size_t, cast(Notes, _thread_acquire_lock)),
            cast(size_t, cast(Notes, _thread_release_lock)),
            cast(size_t, cast(Notes, _thread_task_create)),
            cast(size_t, cast(Notes, _thread_task_switch)),
            cast(size_t, cast(Notes, _thread_task_complete)),
            cast(size_t, cast(Notes, _thread_create)),
            cast(size_t, cast(Notes, _thread_begin)),
            cast(size_t, cast(Notes, _thread_wait)),
            cast(size_t, cast(Notes, _thread_end)),
        )
        if cython.compiled
        else ()
    )
