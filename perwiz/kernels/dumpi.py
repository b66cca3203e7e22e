# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Records of DUMPI, all numbers big endian, to columns of calls and to what these do to messages and requests.

A record is u16 function, u8 mask, u16 thread, times of the processor and of the clock as u16 seconds and u32 ns at entry and at return,
u8 counters and two u64 of each, and the arguments. Nothing here holds Python's global lock.
"""

import cython

from perwiz.kernels import dumpi_rows, records

STRANGER = cython.declare(cython.int, records.STRANGER)
ANYBODY = cython.declare(cython.int, records.ANYBODY)
SENDS = cython.declare(cython.int, records.SENDS)
RECEIVES = cython.declare(cython.int, records.RECEIVES)
POSTS = cython.declare(cython.int, records.POSTS)
DONE = cython.declare(cython.int, records.DONE)
CANCELLED = cython.declare(cython.int, records.CANCELLED)
MODE_SHIFT = cython.declare(cython.int, records.MODE_SHIFT)
UNSUCCESSFUL_TEST = cython.declare(cython.int, records.UNSUCCESSFUL_TEST)
BYTE = cython.declare(cython.int, dumpi_rows.BYTE)
SHORT = cython.declare(cython.int, dumpi_rows.SHORT)
INT = cython.declare(cython.int, dumpi_rows.INT)
LONG = cython.declare(cython.int, dumpi_rows.LONG)
BYTES = cython.declare(cython.int, dumpi_rows.BYTES)
SHORTS = cython.declare(cython.int, dumpi_rows.SHORTS)
INTS = cython.declare(cython.int, dumpi_rows.INTS)
SUMMED = cython.declare(cython.int, dumpi_rows.SUMMED)
TEXTS = cython.declare(cython.int, dumpi_rows.TEXTS)
LISTS_OF_TEXTS = cython.declare(cython.int, dumpi_rows.LISTS_OF_TEXTS)
LISTS = cython.declare(cython.int, dumpi_rows.LISTS)
STATUSES = cython.declare(cython.int, dumpi_rows.STATUSES)
SEND = cython.declare(cython.int, dumpi_rows.SEND)
RECV = cython.declare(cython.int, dumpi_rows.RECV)
EXCHANGE = cython.declare(cython.int, dumpi_rows.EXCHANGE)
ISEND = cython.declare(cython.int, dumpi_rows.ISEND)
IRECV = cython.declare(cython.int, dumpi_rows.IRECV)
SEND_INIT = cython.declare(cython.int, dumpi_rows.SEND_INIT)
RECV_INIT = cython.declare(cython.int, dumpi_rows.RECV_INIT)
START = cython.declare(cython.int, dumpi_rows.START)
STARTALL = cython.declare(cython.int, dumpi_rows.STARTALL)
WAIT = cython.declare(cython.int, dumpi_rows.WAIT)
TEST = cython.declare(cython.int, dumpi_rows.TEST)
ALL = cython.declare(cython.int, dumpi_rows.ALL)
ANY = cython.declare(cython.int, dumpi_rows.ANY)
SOME = cython.declare(cython.int, dumpi_rows.SOME)
CANCEL = cython.declare(cython.int, dumpi_rows.CANCEL)
FREE = cython.declare(cython.int, dumpi_rows.FREE)
PROBE = cython.declare(cython.int, dumpi_rows.PROBE)
ROOTED = cython.declare(cython.int, dumpi_rows.ROOTED)
ON_WINDOW = cython.declare(cython.int, dumpi_rows.ON_WINDOW)
REGION_ENTER = cython.declare(cython.int, dumpi_rows.REGION_ENTER)
UNKNOWN = cython.declare(cython.int, dumpi_rows.UNKNOWN)
BOTH = cython.declare(cython.int, dumpi_rows.BOTH)
FROM_ROOT = cython.declare(cython.int, dumpi_rows.FROM_ROOT)
TO_ROOT = cython.declare(cython.int, dumpi_rows.TO_ROOT)
GATHERS = cython.declare(cython.int, dumpi_rows.GATHERS)
GATHERS_V = cython.declare(cython.int, dumpi_rows.GATHERS_V)
SCATTERS = cython.declare(cython.int, dumpi_rows.SCATTERS)
SCATTERS_V = cython.declare(cython.int, dumpi_rows.SCATTERS_V)
TO_ALL = cython.declare(cython.int, dumpi_rows.TO_ALL)
TO_ALL_V = cython.declare(cython.int, dumpi_rows.TO_ALL_V)
ALL_TO_ALL = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL)
ALL_TO_ALL_V = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL_V)
ALL_TO_ALL_W = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL_W)
REDUCES_PARTS = cython.declare(cython.int, dumpi_rows.REDUCES_PARTS)
PUTS = cython.declare(cython.int, dumpi_rows.PUTS)
GETS = cython.declare(cython.int, dumpi_rows.GETS)
COUNT = cython.declare(cython.int, dumpi_rows.COUNT)
TYPE = cython.declare(cython.int, dumpi_rows.TYPE)
PEER = cython.declare(cython.int, dumpi_rows.PEER)
TAG = cython.declare(cython.int, dumpi_rows.TAG)
COMM = cython.declare(cython.int, dumpi_rows.COMM)
ROOT = cython.declare(cython.int, dumpi_rows.ROOT)
COUNT2 = cython.declare(cython.int, dumpi_rows.COUNT2)
TYPE2 = cython.declare(cython.int, dumpi_rows.TYPE2)
PEER2 = cython.declare(cython.int, dumpi_rows.PEER2)
TAG2 = cython.declare(cython.int, dumpi_rows.TAG2)
REQUEST = cython.declare(cython.int, dumpi_rows.REQUEST)
FLAG = cython.declare(cython.int, dumpi_rows.FLAG)
INDEX = cython.declare(cython.int, dumpi_rows.INDEX)
SUM = cython.declare(cython.int, dumpi_rows.SUM)
SUM2 = cython.declare(cython.int, dumpi_rows.SUM2)
RANK = cython.declare(cython.int, dumpi_rows.RANK)
WINDOW = cython.declare(cython.int, dumpi_rows.WINDOW)
LIST = cython.declare(cython.int, dumpi_rows.LIST)
LISTED = cython.declare(cython.int, dumpi_rows.LISTED)
INDICES = cython.declare(cython.int, dumpi_rows.INDICES)
INDEXED = cython.declare(cython.int, dumpi_rows.INDEXED)
STATUS = cython.declare(cython.int, dumpi_rows.STATUS)
STATUSED = cython.declare(cython.int, dumpi_rows.STATUSED)
COUNTS = cython.declare(cython.int, dumpi_rows.COUNTS)
COUNTED = cython.declare(cython.int, dumpi_rows.COUNTED)
TYPES = cython.declare(cython.int, dumpi_rows.TYPES)
COUNTS2 = cython.declare(cython.int, dumpi_rows.COUNTS2)
COUNTED2 = cython.declare(cython.int, dumpi_rows.COUNTED2)
TYPES2 = cython.declare(cython.int, dumpi_rows.TYPES2)
THREAD = cython.declare(cython.int, dumpi_rows.THREAD)
ENTER = cython.declare(cython.int, dumpi_rows.ENTER)
LEAVE = cython.declare(cython.int, dumpi_rows.LEAVE)
MASK = cython.declare(cython.int, dumpi_rows.MASK)
FUNCTION_OF = cython.declare(cython.int, dumpi_rows.FUNCTION_OF)
TIMED = cython.declare(cython.int, dumpi_rows.TIMED)
SIZE_OF = cython.declare(cython.int, dumpi_rows.SIZE_OF)
COMM_OF = cython.declare(cython.int, dumpi_rows.COMM_OF)
WINDOW_OF = cython.declare(cython.int, dumpi_rows.WINDOW_OF)
SELF = cython.declare(cython.int, dumpi_rows.SELF)
WORLD = cython.declare(cython.int, dumpi_rows.WORLD)
SAYS_SIZE = cython.declare(cython.int, dumpi_rows.SAYS_SIZE)
SAYS_RANK = cython.declare(cython.int, dumpi_rows.SAYS_RANK)
MEETS = cython.declare(cython.int, dumpi_rows.MEETS)
MADE = cython.declare(cython.int, dumpi_rows.MADE)
TOLD = cython.declare(cython.int, dumpi_rows.TOLD)
NULL_REQUEST = cython.declare(cython.int, dumpi_rows.NULL_REQUEST)
WITH_STATUS = cython.declare(cython.int, 3)
WITH_CPU_TIME = cython.declare(cython.int, 1 << 2)
WITH_TIME = cython.declare(cython.int, 1 << 3)
WITH_THREAD = cython.declare(cython.int, 1 << 6)
WITH_COUNTERS = cython.declare(cython.int, 1 << 7)
MOST = cython.declare(cython.longlong, 1 << 60)
SECOND = cython.declare(cython.longlong, 1_000_000_000)

Function = cython.struct(
    op=cython.short,
    does=cython.uchar,
    mode=cython.uchar,
    moves=cython.uchar,
    steps=cython.uchar,
    defines=cython.uchar,
    first_step=cython.int,
)
Argument = cython.struct(kind=cython.uchar, slot=cython.uchar, at_root=cython.uchar)
Communicator = cython.struct(row=cython.int, first=cython.int, ranks=cython.int, others=cython.int, rank=cython.int)
Change = cython.struct(at=cython.longlong, value=cython.longlong, what=cython.int, handle=cython.int, number=cython.int, call=cython.int)
Meaning = cython.struct(bytes=cython.longlong, comm=cython.int, window_comm=cython.int, window=cython.int, unused=cython.int)
Handle = cython.struct(first=cython.int, last=cython.int, made=cython.int)
Post = cython.struct(
    bytes=cython.longlong,
    following=cython.int,
    bits=cython.int,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    cancelled=cython.int,
)
Action = cython.struct(
    request=cython.longlong,
    bytes=cython.longlong,
    call=cython.int,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    bits=cython.int,
)
"""As in perwiz.kernels.recorded; bytes -1: the record does not tell."""
Threads = cython.struct(calls=cython.longlong, first=cython.longlong, last=cython.longlong)
Walk = cython.struct(
    at=cython.longlong,
    second=cython.longlong,
    era=cython.longlong,
    records=cython.longlong,
    defined=cython.longlong,
    change=cython.longlong,
    actions=cython.longlong,
    posts=cython.longlong,
    untimed=cython.longlong,
    backwards=cython.longlong,
    strangers=cython.longlong,
    to_nobody=cython.longlong,
    not_posted=cython.longlong,
    counters=cython.longlong,
    regions=cython.longlong,
    unsized=cython.longlong,
    torn=cython.longlong,
    alone=cython.longlong,
    ranks=cython.longlong,
    own=cython.longlong,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _u16(data: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.longlong:
    return (cython.cast(cython.longlong, data[at]) << 8) | cython.cast(cython.longlong, data[at + 1])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _u32(data: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.longlong:
    return (_u16(data, at) << 16) | _u16(data, at + 2)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _i32(data: cython.const[cython.uchar][::1], at: cython.longlong) -> cython.longlong:
    value = _u32(data, at)
    return value - ((value >> 31) << 32)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _times(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """Return the product of two numbers, at least 0 and at most 2^60."""
    if a <= 0 or b <= 0:
        return 0
    return MOST if a > MOST // b else a * b


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list(
    data: cython.const[cython.uchar][::1],
    at: cython.longlong,
    end: cython.longlong,
    width: cython.longlong,
) -> cython.longlong:
    """Return the byte behind a list of numbers or statuses so wide, -1 where the records end before."""
    if at + 4 > end:
        return -1
    behind = at + 4 + _u32(data, at) * width
    return behind if behind <= end else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lists(
    data: cython.const[cython.uchar][::1], at: cython.longlong, end: cython.longlong, width: cython.longlong, deep: cython.int
) -> cython.longlong:
    """Return the byte behind a list of such lists, or of lists of them where it is two deep; -1 likewise."""
    if at + 4 > end:
        return -1
    count = _u32(data, at)
    inner: cython.longlong = 0
    at += 4
    while count > 0 or inner > 0:
        if deep > 1 and inner == 0:
            if at + 4 > end:
                return -1
            inner = _u32(data, at)
            at += 4
            count -= 1
            continue
        at = _list(data, at, end, width)
        if at < 0:
            return -1
        if deep > 1:
            inner -= 1
        else:
            count -= 1
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _argument(
    data: cython.const[cython.uchar][::1],
    at: cython.longlong,
    end: cython.longlong,
    kind: cython.int,
    slot: cython.int,
    status: cython.int,
    value: cython.longlong[::1],
) -> cython.longlong:
    """Put an argument into its slot; return the byte behind it, -1 where the records end before."""
    behind: cython.longlong
    if kind <= LONG:
        width: cython.longlong = 1 << kind
        if at + width > end:
            return -1
        value[slot] = data[at] if kind == BYTE else _u16(data, at) if kind == SHORT else _i32(data, at)
        return at + width
    if kind in (TEXTS, LISTS_OF_TEXTS):
        return _lists(data, at, end, 1, 2 if kind == LISTS_OF_TEXTS else 1)
    if kind == LISTS:
        return _lists(data, at, end, 4, 1)
    if kind == STATUSES and value[MASK] & WITH_STATUS == 0:
        return at
    behind = _list(data, at, end, status if kind == STATUSES else 1 if kind == BYTES else 2 if kind == SHORTS else 4)
    if behind >= 0 and slot > 0:
        if kind == SUMMED:
            k: cython.longlong
            for k in range(_u32(data, at)):
                value[slot] += max(0, _i32(data, at + 4 + 4 * k))
        else:
            value[slot] = at + 4
            value[slot + 1] = _u32(data, at)
    return behind


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clock(data: cython.const[cython.uchar][::1], at: cython.longlong, walk: Walk[::1]) -> cython.longlong:
    """Return a time of the clock, ns since the second all times of the process count from: seconds begin anew after 2^16."""
    second = _u16(data, at) + walk[0].era
    if second < walk[0].second - 32768:
        walk[0].era += 65536
        second += 65536
    elif second > walk[0].second + 32768 and walk[0].era > 0:
        second -= 65536
    walk[0].second = max(walk[0].second, second)
    return second * SECOND + min(_u32(data, at + 2), SECOND - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode(
    data: cython.const[cython.uchar][::1],
    end: cython.longlong,
    functions: cython.const[Function][::1],
    arguments: cython.const[Argument][::1],
    status: cython.int,
    value: cython.longlong[::1],
    walk: Walk[::1],
) -> cython.longlong:
    """Put the values of the record at `walk.at` into their slots; return the byte behind it, -1 where it is none or the records end."""
    at = walk[0].at
    if at + 3 > end:
        return -1
    number = _u16(data, at)
    if number >= functions.shape[0] or functions[number].does == UNKNOWN:
        return -1
    function = functions[number]
    slot: cython.int
    for slot in range(THREAD):
        value[slot] = 0
    value[COMM] = value[WINDOW] = value[PEER] = value[PEER2] = value[TAG] = value[INDEX] = value[ROOT] = value[RANK] = -1
    value[FLAG] = 1
    mask = cython.cast(cython.longlong, data[at + 2])
    value[MASK] = mask
    value[FUNCTION_OF] = number
    value[TIMED] = 0
    at += 3
    width: cython.longlong = (2 if mask & WITH_THREAD else 0) + (12 if mask & WITH_CPU_TIME else 0) + (12 if mask & WITH_TIME else 0)
    if at + width + 1 > end + (0 if mask & WITH_COUNTERS else 1):
        return -1
    value[THREAD] = _u16(data, at) if mask & WITH_THREAD else 0
    at += width
    value[ENTER] = value[LEAVE] = 0
    if mask & WITH_TIME:
        value[ENTER] = _clock(data, at - 12, walk)
        value[LEAVE] = _clock(data, at - 6, walk)
        value[TIMED] = 1
    if mask & WITH_COUNTERS:
        count = cython.cast(cython.longlong, data[at])
        at += 1 + 16 * count
        walk[0].counters += 2 * count
        if at > end:
            return -1
    step: cython.int
    for step in range(function.first_step, function.first_step + function.steps):
        argument = arguments[step]
        if argument.at_root and value[RANK] != value[ROOT]:
            continue
        at = _argument(data, at, end, argument.kind, argument.slot, status, value)
        if at < 0:
            return -1
    return at


def survey(
    data: cython.const[cython.uchar][::1],
    end: cython.longlong,
    functions: cython.const[Function][::1],
    arguments: cython.const[Argument][::1],
    status: cython.int,
    value: cython.longlong[::1],
    threads: Threads[::1],
    defined: cython.longlong[::1],
    walk: Walk[::1],
) -> cython.longlong:
    """Count the calls of each thread, and write where records that define something begin; return how many these are.

    It stops when `defined` is full, and goes on when called again. `walk.at` is the end when all are read or they broke off.
    """
    written: cython.longlong = 0
    with cython.nogil:
        while walk[0].at < end and written < defined.shape[0]:
            behind = _decode(data, end, functions, arguments, status, value, walk)
            if behind < 0:
                walk[0].torn = 1
                break
            function = functions[value[FUNCTION_OF]]
            walk[0].records += 1
            walk[0].alone += value[COMM] == SELF
            if value[COMM] == WORLD and function.does == SAYS_SIZE:
                walk[0].ranks = value[COUNT]
            elif value[COMM] == WORLD and function.does == SAYS_RANK:
                walk[0].own = value[COUNT]
            if function.does == REGION_ENTER or function.does == REGION_ENTER + 1:
                walk[0].regions += 1
            elif value[TIMED] == 0:
                walk[0].untimed += 1
            else:
                thread = value[THREAD]
                if threads[thread].calls == 0:
                    threads[thread].first = value[ENTER]
                threads[thread].calls += 1
                threads[thread].last = max(threads[thread].last, value[LEAVE])
            if function.defines:
                defined[written] = walk[0].at
                written += 1
            walk[0].at = behind
    return written


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _size(value: cython.longlong[::1], slot: cython.int, meanings: Meaning[::1], walk: Walk[::1]) -> cython.longlong:
    """Return the bytes of a datatype; one that nobody gave a size counts as unsized, and has none."""
    size = meanings[value[slot]].bytes
    walk[0].unsized += size < 0
    return max(0, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_of(
    data: cython.const[cython.uchar][::1],
    counts: cython.longlong,
    counted: cython.longlong,
    types: cython.longlong,
    typed: cython.longlong,
    meanings: Meaning[::1],
) -> cython.longlong:
    """Return the bytes of a list of counts, each of its own datatype."""
    total: cython.longlong = 0
    k: cython.longlong
    for k in range(min(counted, typed)):
        size = meanings[_u16(data, types + 2 * k)].bytes
        total = min(MOST, total + _times(_i32(data, counts + 4 * k), size))
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moved(
    data: cython.const[cython.uchar][::1],
    moves: cython.int,
    value: cython.longlong[::1],
    meanings: Meaning[::1],
    communicators: cython.const[Communicator][::1],
    walk: Walk[::1],
) -> cython.void:
    """Put the bytes that a call sends and receives into the slots SUM and SUM2; MPI_PROC_NULL as root moves none."""
    known: cython.bint = value[COMM] >= 0 and meanings[value[COMM]].comm >= 0
    others: cython.longlong = cython.cast(cython.longlong, communicators[meanings[value[COMM]].comm].others) if known else 0
    own: cython.longlong = communicators[meanings[value[COMM]].comm].rank if known else -1
    at_root: cython.bint = value[ROOT] == -2 or (own >= 0 and value[ROOT] == own)
    sent: cython.longlong = _times(value[COUNT], _size(value, TYPE, meanings, walk))
    received: cython.longlong = _times(value[COUNT2], _size(value, TYPE2, meanings, walk)) if value[TYPE2] else 0
    if moves == BOTH:
        received = sent
    elif moves == FROM_ROOT:
        received = 0 if at_root else sent
        sent = sent if at_root else 0
    elif moves == TO_ROOT:
        received = sent if at_root else 0
    elif moves == GATHERS:
        received = _times(received, others) if at_root else 0
    elif moves in (GATHERS_V, TO_ALL_V):
        received = _times(value[SUM2], _size(value, TYPE2, meanings, walk))
    elif moves == SCATTERS:
        sent = _times(sent, others) if at_root else 0
    elif moves == SCATTERS_V:
        sent = _times(value[SUM], _size(value, TYPE, meanings, walk))
    elif moves == TO_ALL:
        received = _times(received, others)
    elif moves == ALL_TO_ALL:
        sent = _times(sent, others)
        received = _times(received, others)
    elif moves == ALL_TO_ALL_V:
        sent = _times(value[SUM], _size(value, TYPE, meanings, walk))
        received = _times(value[SUM2], _size(value, TYPE2, meanings, walk))
    elif moves == ALL_TO_ALL_W:
        sent = _sum_of(data, value[COUNTS], value[COUNTED], value[TYPES], value[TYPES + 1], meanings)
        received = _sum_of(data, value[COUNTS2], value[COUNTED2], value[TYPES2], value[TYPES2 + 1], meanings)
    elif moves == REDUCES_PARTS:
        size = _size(value, TYPE, meanings, walk)
        total: cython.longlong = 0
        k: cython.longlong
        for k in range(value[COUNTED]):
            total += max(0, _i32(data, value[COUNTS] + 4 * k))
        sent = _times(total, size)
        received = _times(_i32(data, value[COUNTS] + 4 * own), size) if 0 <= own < value[COUNTED] else 0
    elif moves == GETS:
        received = sent
        sent = 0
    value[SUM] = sent
    value[SUM2] = received


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _world(
    communicators: cython.const[Communicator][::1], members: cython.const[cython.int][::1], comm: cython.int, peer: cython.longlong
) -> cython.int:
    """Return the world rank of a partner, STRANGER for one outside of its communicator; what is below 0 stays."""
    if peer < 0:
        return cython.cast(cython.int, max(peer, -2))
    if comm < 0 or peer >= communicators[comm].ranks:
        return STRANGER
    return members[communicators[comm].first + cython.cast(cython.Py_ssize_t, peer)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _act(
    actions: Action[::1],
    walk: Walk[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    call: cython.longlong,
    request: cython.longlong,
    posts: Post[::1],
    row: cython.longlong,
    bits: cython.int,
) -> cython.void:
    """Add an action of a call on what a row of `posts` says."""
    k = walk[0].actions
    actions[k].call = cython.cast(cython.int, call)
    actions[k].request = request
    actions[k].bytes = posts[row].bytes
    actions[k].peer = _world(communicators, members, posts[row].comm, posts[row].peer)
    actions[k].tag = posts[row].tag
    actions[k].comm = communicators[posts[row].comm].row if posts[row].comm >= 0 else -1
    actions[k].bits = bits
    walk[0].actions = k + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sender(peer: cython.longlong) -> cython.int:
    """Return whom a receive names: a rank, -2 anybody, -1 nobody. DUMPI has -1 for anybody, and what MPI has for MPI_PROC_NULL."""
    return ANYBODY if peer == -1 else -1 if peer < 0 else cython.cast(cython.int, peer)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copy(posts: Post[::1], row: cython.longlong, to: cython.longlong) -> cython.void:
    """Write a row of `posts` into another, which follows nothing."""
    posts[to].bytes = posts[row].bytes
    posts[to].following = 0
    posts[to].bits = posts[row].bits
    posts[to].peer = posts[row].peer
    posts[to].tag = posts[row].tag
    posts[to].comm = posts[row].comm
    posts[to].cancelled = posts[row].cancelled


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tell(
    data: cython.const[cython.uchar][::1],
    value: cython.longlong[::1],
    which: cython.longlong,
    status: cython.int,
    posts: Post[::1],
    row: cython.longlong,
) -> cython.void:
    """Write what a receive that is complete received into the row TOLD: by the status so far down the list, else by its row. Old tags are
    unsaid."""
    _copy(posts, row, TOLD)
    posts[TOLD].bytes = -1
    posts[TOLD].cancelled = 0
    if 0 <= which < value[STATUSED]:
        at = value[STATUS] + status * which
        if _i32(data, at + 4) < 0:
            posts[TOLD].peer = -1
        else:
            posts[TOLD].bytes = max(0, _i32(data, at))
            posts[TOLD].peer = cython.cast(cython.int, _i32(data, at + 4))
            if status == 14:
                posts[TOLD].tag = cython.cast(cython.int, _i32(data, at + 10))
        posts[TOLD].cancelled = 1 if posts[row].cancelled and data[at + 8] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _made(
    value: cython.longlong[::1],
    bits: cython.int,
    comm: cython.int,
    meanings: Meaning[::1],
    posts: Post[::1],
    walk: Walk[::1],
) -> cython.void:
    """Write the message that the arguments of a call stand for into the row MADE: with the flag RECEIVES the one it receives."""
    posts[MADE].bytes = _times(value[COUNT], _size(value, TYPE, meanings, walk))
    posts[MADE].bits = bits
    posts[MADE].tag = cython.cast(cython.int, value[TAG])
    posts[MADE].comm = comm
    posts[MADE].cancelled = 0
    if bits & RECEIVES:
        posts[MADE].peer = _sender(value[PEER])
        posts[MADE].tag = ANYBODY if value[TAG] == -1 else posts[MADE].tag
    else:
        posts[MADE].peer = cython.cast(cython.int, max(-1, value[PEER]))
    if posts[MADE].peer == -1:
        posts[MADE].bits = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _open(handles: Handle[::1], posts: Post[::1], walk: Walk[::1], handle: cython.longlong, row: cython.longlong) -> cython.longlong:
    """Let a handle stand for one more request, as a row says; return its number."""
    number = walk[0].posts
    _copy(posts, row, number)
    if handles[handle].first == 0:
        handles[handle].first = cython.cast(cython.int, number + 1)
    else:
        posts[handles[handle].last - 1].following = cython.cast(cython.int, number + 1)
    handles[handle].last = cython.cast(cython.int, number + 1)
    walk[0].posts = number + 1
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(handles: Handle[::1], posts: Post[::1], walk: Walk[::1], handle: cython.longlong) -> cython.longlong:
    """Return the oldest open request that a handle stands for, which it does no longer; -1 none: that counts, if somebody posted it."""
    if handle <= NULL_REQUEST:
        return -1
    if handle >= handles.shape[0] or handles[handle].first == 0:
        walk[0].not_posted += handle >= handles.shape[0] or handles[handle].made == 0
        return -1
    number = handles[handle].first - 1
    handles[handle].first = posts[number].following
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _complete(
    data: cython.const[cython.uchar][::1],
    value: cython.longlong[::1],
    handle: cython.longlong,
    which: cython.longlong,
    status: cython.int,
    call: cython.longlong,
    handles: Handle[::1],
    posts: Post[::1],
    actions: Action[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    walk: Walk[::1],
) -> cython.void:
    """Add what completing a request does; its status is so far down the list."""
    number = _close(handles, posts, walk, handle)
    if number < 0 or posts[number].bits == 0:
        return
    row: cython.longlong = number
    bits: cython.int = (posts[number].bits & ~POSTS) | DONE
    if bits & RECEIVES:
        _tell(data, value, which, status, posts, number)
        row = TOLD
        if posts[TOLD].peer == -1:
            bits = DONE
        if posts[TOLD].cancelled:
            bits |= CANCELLED
    elif posts[number].cancelled and 0 <= which < value[STATUSED] and data[value[STATUS] + status * which + 8]:
        bits |= CANCELLED
    _act(actions, walk, communicators, members, call, number, posts, row, bits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _start(
    handle: cython.longlong,
    call: cython.longlong,
    handles: Handle[::1],
    posts: Post[::1],
    actions: Action[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    walk: Walk[::1],
) -> cython.longlong:
    """Add what starting a persistent request does; return the bytes it sends."""
    if handle <= NULL_REQUEST or handle >= handles.shape[0] or handles[handle].made == 0:
        walk[0].not_posted += handle > NULL_REQUEST
        return 0
    number = _open(handles, posts, walk, handle, handles[handle].made - 1)
    if posts[number].bits:
        _act(actions, walk, communicators, members, call, number, posts, number, posts[number].bits)
    return posts[number].bytes if posts[number].bits & SENDS else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(at: cython.longlong, changes: Change[::1], meanings: Meaning[::1], call: cython.longlong, walk: Walk[::1]) -> cython.void:
    """Let handles mean what the record at a byte, or those before it, made them."""
    while walk[0].change < changes.shape[0] and changes[walk[0].change].at <= at:
        change = changes[walk[0].change]
        changes[walk[0].change].call = cython.cast(cython.int, call)
        if change.what == SIZE_OF:
            meanings[change.handle].bytes = change.value
        elif change.what == COMM_OF:
            meanings[change.handle].comm = cython.cast(cython.int, change.value)
        elif change.what == WINDOW_OF:
            meanings[change.handle].window_comm = cython.cast(cython.int, change.value)
            meanings[change.handle].window = change.number
        walk[0].change += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _act_on_requests(
    data: cython.const[cython.uchar][::1],
    does: cython.int,
    status: cython.int,
    call: cython.longlong,
    value: cython.longlong[::1],
    handles: Handle[::1],
    posts: Post[::1],
    actions: Action[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    walk: Walk[::1],
) -> cython.longlong:
    """Add what a call that starts, completes or drops requests does; return the bytes it sends."""
    sent: cython.longlong = 0
    k: cython.longlong
    handle = value[REQUEST]
    if does == START:
        sent = _start(handle, call, handles, posts, actions, communicators, members, walk)
    elif does == STARTALL:
        for k in range(value[LISTED]):
            listed = _i32(data, value[LIST] + 4 * k)
            sent = min(MOST, sent + _start(listed, call, handles, posts, actions, communicators, members, walk))
    elif does == WAIT or (does == TEST and value[FLAG]):
        _complete(data, value, handle, 0, status, call, handles, posts, actions, communicators, members, walk)
    elif does == TEST:
        if NULL_REQUEST < handle < handles.shape[0] and handles[handle].first and posts[handles[handle].first - 1].bits:
            k = handles[handle].first - 1
            _act(actions, walk, communicators, members, call, k, posts, k, UNSUCCESSFUL_TEST)
    elif does == ALL and value[FLAG]:
        for k in range(value[LISTED]):
            handle = _i32(data, value[LIST] + 4 * k)
            _complete(data, value, handle, k, status, call, handles, posts, actions, communicators, members, walk)
    elif does == ANY and value[FLAG] and 0 <= value[INDEX] < value[LISTED]:
        handle = _i32(data, value[LIST] + 4 * value[INDEX])
        _complete(data, value, handle, 0, status, call, handles, posts, actions, communicators, members, walk)
    elif does == SOME:
        for k in range(value[INDEXED]):
            index = _i32(data, value[INDICES] + 4 * k)
            if 0 <= index < value[LISTED]:
                handle = _i32(data, value[LIST] + 4 * index)
                _complete(data, value, handle, k, status, call, handles, posts, actions, communicators, members, walk)
    elif NULL_REQUEST < handle < handles.shape[0]:
        if does == CANCEL and handles[handle].first:
            posts[handles[handle].first - 1].cancelled = 1
        elif does == FREE:
            if handles[handle].first:
                handles[handle].first = posts[handles[handle].first - 1].following
            handles[handle].made = 0
    return sent


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _act_on_message(
    data: cython.const[cython.uchar][::1],
    function: Function,
    status: cython.int,
    call: cython.longlong,
    comm: cython.int,
    value: cython.longlong[::1],
    meanings: Meaning[::1],
    handles: Handle[::1],
    posts: Post[::1],
    actions: Action[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    walk: Walk[::1],
) -> cython.void:
    """Add what a call that sends, receives, or makes a request that does, adds; put the bytes it moves into SUM and SUM2."""
    does: cython.int = function.does
    receives: cython.bint = does in (RECV, IRECV, RECV_INIT)
    bits: cython.int = RECEIVES if receives else SENDS | (cython.cast(cython.int, function.mode) << MODE_SHIFT)
    if does in (ISEND, IRECV, SEND_INIT, RECV_INIT):
        bits |= POSTS
    _made(value, bits, comm, meanings, posts, walk)
    handle = value[REQUEST]
    walk[0].to_nobody += posts[MADE].bits == 0
    if does in (SEND_INIT, RECV_INIT):
        if NULL_REQUEST < handle < handles.shape[0]:
            number = walk[0].posts
            _copy(posts, MADE, number)
            handles[handle].made = cython.cast(cython.int, number + 1)
            walk[0].posts = number + 1
    elif does in (ISEND, IRECV):
        value[SUM] = posts[MADE].bytes if posts[MADE].bits & SENDS else 0
        if NULL_REQUEST < handle < handles.shape[0]:
            handles[handle].made = 0
            number = _open(handles, posts, walk, handle, MADE)
            if posts[MADE].bits:
                _act(actions, walk, communicators, members, call, number, posts, MADE, bits)
        elif posts[MADE].bits:
            _act(actions, walk, communicators, members, call, -1, posts, MADE, bits)
    else:
        if does != RECV and posts[MADE].bits:
            value[SUM] = posts[MADE].bytes
            _act(actions, walk, communicators, members, call, -1, posts, MADE, bits)
        if does == EXCHANGE:
            value[PEER] = value[PEER2]
            value[TAG] = value[TAG2]
            if value[TYPE2]:
                value[COUNT] = value[COUNT2]
                value[TYPE] = value[TYPE2]
            _made(value, RECEIVES, comm, meanings, posts, walk)
        if does != SEND and posts[MADE].bits:
            _tell(data, value, 0, status, posts, MADE)
            value[SUM2] = posts[MADE].bytes if posts[TOLD].bytes < 0 else posts[TOLD].bytes
            if posts[TOLD].peer != -1:
                _act(actions, walk, communicators, members, call, -1, posts, TOLD, RECEIVES)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _place(start: cython.longlong, value: cython.longlong[::1], threads: Threads[::1], walk: Walk[::1]) -> cython.void:
    """Take `start` off the times of a call; one that runs backwards is moved behind the call before, and counts."""
    thread = value[THREAD]
    begin: cython.longlong = value[ENTER] - start
    finish: cython.longlong = value[LEAVE] - start
    if begin < threads[thread].last or finish < begin:
        walk[0].backwards += 1
        begin = max(begin, threads[thread].last)
        finish = max(finish, begin)
    threads[thread].last = value[LEAVE] = finish
    value[ENTER] = begin


def fill(
    data: cython.const[cython.uchar][::1],
    end: cython.longlong,
    functions: cython.const[Function][::1],
    arguments: cython.const[Argument][::1],
    status: cython.int,
    start: cython.longlong,
    value: cython.longlong[::1],
    threads: Threads[::1],
    meanings: Meaning[::1],
    changes: Change[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    handles: Handle[::1],
    posts: Post[::1],
    actions: Action[::1],
    op: cython.ushort[::1],
    peer: cython.int[::1],
    tag: cython.int[::1],
    comm: cython.int[::1],
    root: cython.int[::1],
    enter: cython.longlong[::1],
    leave: cython.longlong[::1],
    sent: cython.longlong[::1],
    received: cython.longlong[::1],
    walk: Walk[::1],
) -> cython.longlong:
    """Write the calls of a process to the columns, and what they do to `actions`, in the order of the records; return the room in
    `actions` that the next record needs when it is full, and `posts` as much, or 0 at the end.

    `start` is the time that is 0 in the columns, less the second that the times of the process count from, ns. `threads` says which is the
    next call of each, and when its last returned. Calls whose times run backwards are moved, and counted.
    """
    needed: cython.longlong = 0
    with cython.nogil:
        while walk[0].at < end:
            behind = _decode(data, end, functions, arguments, status, value, walk)
            needed = 2 + value[LISTED] if behind >= 0 else 0
            if behind < 0 or walk[0].actions + needed > actions.shape[0] or walk[0].posts + needed > posts.shape[0]:
                break
            needed = 0
            function = functions[value[FUNCTION_OF]]
            at = walk[0].at
            walk[0].at = behind
            if value[TIMED] == 0 or function.does == REGION_ENTER or function.does == REGION_ENTER + 1:
                _change(at, changes, meanings, -1, walk)
                continue
            thread = value[THREAD]
            call = threads[thread].calls
            threads[thread].calls = call + 1
            _place(start, value, threads, walk)
            op[call] = cython.cast(cython.ushort, function.op)
            enter[call] = value[ENTER]
            leave[call] = value[LEAVE]
            known: cython.int = meanings[value[COMM]].comm if value[COMM] >= 0 else -1
            peer[call] = tag[call] = root[call] = comm[call] = -1
            does: cython.int = function.does
            if does == ON_WINDOW and value[WINDOW] >= 0:
                known = meanings[value[WINDOW]].window_comm
                tag[call] = meanings[value[WINDOW]].window
                peer[call] = _world(communicators, members, known, max(-1, value[PEER]))
            if does == MEETS:
                known = meanings[WORLD].comm
            if known >= 0:
                comm[call] = communicators[known].row
            if does == ROOTED:
                root[call] = max(-1, _world(communicators, members, known, value[ROOT]))
            elif SEND <= does <= RECV_INIT or does == PROBE:
                receives: cython.bint = does in (RECV, IRECV, RECV_INIT, PROBE)
                partner: cython.longlong = _sender(value[PEER]) if receives else max(-1, value[PEER])
                peer[call] = _world(communicators, members, known, partner)
                walk[0].strangers += peer[call] == STRANGER
                peer[call] = ANYBODY if peer[call] == STRANGER else peer[call]
                tag[call] = ANYBODY if receives and value[TAG] == -1 else cython.cast(cython.int, value[TAG])
            if function.moves:
                _moved(data, function.moves, value, meanings, communicators, walk)
            elif SEND <= does <= RECV_INIT:
                value[SUM] = value[SUM2] = 0
                _act_on_message(data, function, status, call, known, value, meanings, handles, posts, actions, communicators, members, walk)
            elif START <= does <= FREE:
                value[SUM] = _act_on_requests(data, does, status, call, value, handles, posts, actions, communicators, members, walk)
                value[SUM2] = 0
            sent[call] = value[SUM]
            received[call] = value[SUM2]
            _change(at, changes, meanings, call, walk)
    return needed
