# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""OTF2 event records to rows: the functions that the OTF2 library calls, one per kind of record.

The user data is one array: cells 0 and 1 are the rows used and the rows there are, 2 the rows that had no place, 3 the fewest free rows
to go on with; from cell 8 on, a spare row for what has no place, then the rows. Kinds, columns and the arguments of each record are
those of perwiz.formats.otf2.library.events. A callback returns 0, or 1 for the library to stop after this record, when few rows are free.
"""

import cython
from cython import cast, size_t

U8 = cython.typedef(cython.uchar)
U32 = cython.typedef(cython.uint)
I32 = cython.typedef(cython.int)
U64 = cython.typedef(cython.ulonglong)
I64 = cython.typedef(cython.longlong)
Cells = cython.typedef(cython.p_longlong)
Bytes = cython.typedef(cython.p_uchar)
Numbers = cython.typedef(cython.p_uint)
Bits = cython.typedef(cython.p_ulonglong)
Notes = cython.typedef(cython.p_void)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _row(user: Cells, kind: I64, time: U64) -> I64:
    """Take a row, begin it and return the cell where it begins; the spare row if there is none."""
    k: I64
    at: I64 = 8
    if user[0] < user[1]:
        user[0] += 1
        at += 10 * user[0]
    else:
        user[2] += 1
    user[at], user[at + 1] = kind, cast(I64, time)
    for k in range(2, 8):
        user[at + k] = 0
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _full(user: Cells) -> I32:
    """Return 1 if the library is to stop, else 0."""
    return 1 if user[1] - user[0] < user[3] else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _reference(number: U32) -> I64:
    """Return the number of a definition or rank, -1 for none."""
    none: U32 = 0xFFFFFFFF
    return -1 if number == none else number


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _one(user: Cells, kind: I64, time: U64, column: I64, value: I64) -> I32:
    user[_row(user, kind, time) + column] = value
    return _full(user)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _parameter(user: Cells, kind: I64, time: U64, parameter: U32, value: I64) -> I32:
    at: I64 = _row(user, kind, time)
    user[at + 2], user[at + 5] = _reference(parameter), value
    return _full(user)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _message(user: Cells, kind: I64, time: U64, peer: U32, comm: U32, tag: I32, length: U64, request: U64) -> I32:
    at: I64 = _row(user, kind, time)
    user[at + 2], user[at + 3], user[at + 4] = _reference(peer), _reference(comm), tag
    user[at + 5], user[at + 6] = cast(I64, length), cast(I64, request)
    return _full(user)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _collective(user: Cells, at: I64, op: U8, comm: U32, root: I32, sent: U64, received: U64, request: U64) -> I32:
    user[at + 2], user[at + 3], user[at + 4] = op, _reference(comm), root
    user[at + 5], user[at + 6], user[at + 7] = cast(I64, sent), cast(I64, request), cast(I64, received)
    return _full(user)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(place: U64, time: U64, at: U64, user: Cells, notes: Notes, region: U32) -> I32:
    return _one(user, 0, time, 2, _reference(region))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave(place: U64, time: U64, at: U64, user: Cells, notes: Notes, region: U32) -> I32:
    return _one(user, 1, time, 2, _reference(region))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_send(place: U64, time: U64, at: U64, user: Cells, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64) -> I32:
    return _message(user, 2, time, peer, comm, tag, length, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_isend(place: U64, time: U64, at: U64, user: Cells, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64, request: U64) -> I32:
    return _message(user, 3, time, peer, comm, tag, length, request)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_isend_complete(place: U64, time: U64, at: U64, user: Cells, notes: Notes, request: U64) -> I32:
    return _one(user, 4, time, 6, cast(I64, request))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_irecv_request(place: U64, time: U64, at: U64, user: Cells, notes: Notes, request: U64) -> I32:
    return _one(user, 5, time, 6, cast(I64, request))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_recv(place: U64, time: U64, at: U64, user: Cells, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64) -> I32:
    return _message(user, 6, time, peer, comm, tag, length, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_irecv(place: U64, time: U64, at: U64, user: Cells, notes: Notes, peer: U32, comm: U32, tag: I32, length: U64, request: U64) -> I32:
    return _message(user, 7, time, peer, comm, tag, length, request)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_request_test(place: U64, time: U64, at: U64, user: Cells, notes: Notes, request: U64) -> I32:
    return _one(user, 8, time, 6, cast(I64, request))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_request_cancelled(place: U64, time: U64, at: U64, user: Cells, notes: Notes, request: U64) -> I32:
    return _one(user, 9, time, 6, cast(I64, request))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_collective_begin(place: U64, time: U64, at: U64, user: Cells, notes: Notes) -> I32:
    return _one(user, 10, time, 2, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mpi_collective_end(
    place: U64, time: U64, at: U64, user: Cells, notes: Notes, op: U8, comm: U32, root: I32, sent: U64, received: U64
) -> I32:
    return _collective(user, _row(user, 11, time), op, comm, root, sent, received, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _non_blocking_collective_request(place: U64, time: U64, at: U64, user: Cells, notes: Notes, request: U64) -> I32:
    return _one(user, 12, time, 6, cast(I64, request))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _non_blocking_collective_complete(
    place: U64, time: U64, at: U64, user: Cells, notes: Notes, op: U8, comm: U32, root: I32, sent: U64, received: U64, request: U64
) -> I32:
    return _collective(user, _row(user, 13, time), op, comm, root, sent, received, request)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _metric(place: U64, time: U64, at: U64, user: Cells, notes: Notes, metric: U32, count: U8, types: Bytes, values: Bits) -> I32:
    row: I64
    k: I32
    for k in range(count):
        row = _row(user, 14, time)
        user[row + 2], user[row + 3], user[row + 4] = _reference(metric), k, types[k]
        user[row + 5] = cast(I64, values[k])
    return _full(user)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parameter_int(place: U64, time: U64, at: U64, user: Cells, notes: Notes, parameter: U32, value: I64) -> I32:
    return _parameter(user, 15, time, parameter, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parameter_unsigned_int(place: U64, time: U64, at: U64, user: Cells, notes: Notes, parameter: U32, value: U64) -> I32:
    return _parameter(user, 16, time, parameter, cast(I64, value))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parameter_string(place: U64, time: U64, at: U64, user: Cells, notes: Notes, parameter: U32, string: U32) -> I32:
    return _parameter(user, 17, time, parameter, _reference(string))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _comm_create(place: U64, time: U64, at: U64, user: Cells, notes: Notes, comm: U32) -> I32:
    return _one(user, 18, time, 3, _reference(comm))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _comm_destroy(place: U64, time: U64, at: U64, user: Cells, notes: Notes, comm: U32) -> I32:
    return _one(user, 19, time, 3, _reference(comm))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _program_begin(place: U64, time: U64, at: U64, user: Cells, notes: Notes, name: U32, count: U32, arguments: Numbers) -> I32:
    return _one(user, 20, time, 2, _reference(name))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _program_end(place: U64, time: U64, at: U64, user: Cells, notes: Notes, status: I64) -> I32:
    return _one(user, 21, time, 2, status)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _measurement_on_off(place: U64, time: U64, at: U64, user: Cells, notes: Notes, mode: U8) -> I32:
    return _one(user, 22, time, 2, mode)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _buffer_flush(place: U64, time: U64, at: U64, user: Cells, notes: Notes, stop: U64) -> I32:
    return _one(user, 23, time, 5, cast(I64, stop))


def addresses() -> tuple:
    """Return the addresses of the callbacks in the order of their kinds; nothing when interpreted."""
    return (
        (
            *(cast(size_t, cast(Notes, _enter)), cast(size_t, cast(Notes, _leave))),
            *(cast(size_t, cast(Notes, _mpi_send)), cast(size_t, cast(Notes, _mpi_isend))),
            *(cast(size_t, cast(Notes, _mpi_isend_complete)), cast(size_t, cast(Notes, _mpi_irecv_request))),
            *(cast(size_t, cast(Notes, _mpi_recv)), cast(size_t, cast(Notes, _mpi_irecv))),
            *(cast(size_t, cast(Notes, _mpi_request_test)), cast(size_t, cast(Notes, _mpi_request_cancelled))),
            *(cast(size_t, cast(Notes, _mpi_collective_begin)), cast(size_t, cast(Notes, _mpi_collective_end))),
            *(cast(size_t, cast(Notes, _non_blocking_collective_request)), cast(size_t, cast(Notes, _non_blocking_collective_complete))),
            *(cast(size_t, cast(Notes, _metric)), cast(size_t, cast(Notes, _parameter_int))),
            *(cast(size_t, cast(Notes, _parameter_unsigned_int)), cast(size_t, cast(Notes, _parameter_string))),
            *(cast(size_t, cast(Notes, _comm_create)), cast(size_t, cast(Notes, _comm_destroy))),
            *(cast(size_t, cast(Notes, _program_begin)), cast(size_t, cast(Notes, _program_end))),
            *(cast(size_t, cast(Notes, _measurement_on_off)), cast(size_t, cast(Notes, _buffer_flush))),
        )
        if cython.compiled
        else ()
    )
