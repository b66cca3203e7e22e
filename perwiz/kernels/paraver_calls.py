# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Events of Paraver to calls, regions and counters: one pass in file order."""

from __future__ import annotations

import cython

from perwiz.kernels import paraver

if cython.compiled:
    from cython.cimports.perwiz.kernels.paraver import Made, Pair

NO_KIND = cython.declare(cython.int, 0)
IDLES = cython.declare(cython.int, paraver.IDLES)
NOT_OPEN = cython.declare(cython.int, paraver.NOT_OPEN)
NEVER_ENDS = cython.declare(cython.int, paraver.NEVER_ENDS)
BACKWARDS = cython.declare(cython.int, paraver.BACKWARDS)
CALL = cython.declare(cython.int, paraver.CALL)
PARALLEL = cython.declare(cython.int, paraver.PARALLEL)
TEAM = cython.declare(cython.int, paraver.TEAM)
TASK = cython.declare(cython.int, paraver.TASK)
COUNTER = cython.declare(cython.int, paraver.COUNTER)
SENT = cython.declare(cython.int, paraver.SENT)
RECEIVED = cython.declare(cython.int, paraver.RECEIVED)
ROOT = cython.declare(cython.int, paraver.ROOT)
COMM = cython.declare(cython.int, paraver.COMM)
STREAM = cython.declare(cython.int, paraver.STREAM)
EVENT = cython.declare(cython.int, paraver.EVENT)
CALLER = cython.declare(cython.int, paraver.CALLER)
CALLER_LINE = cython.declare(cython.int, paraver.CALLER_LINE)
VALUES = cython.declare(cython.int, paraver.VALUES)
FIRST_COUNTER = cython.declare(cython.int, paraver.FIRST_COUNTER)
BEHIND_COUNTERS = cython.declare(cython.int, paraver.BEHIND_COUNTERS)
COUNTERS = cython.declare(cython.int, paraver.COUNTERS)
COUNTED_REGIONS = cython.declare(cython.int, paraver.COUNTED_REGIONS)
OF_DEVICES = cython.declare(cython.int, paraver.OF_DEVICES)
NOT_TOLD = cython.declare(cython.int, -1)
MOST_LOOKED = cython.declare(cython.int, 1000)
TEAM_BEGINS = cython.declare(cython.int, paraver.TEAM_BEGINS)
TEAM_ENDS = cython.declare(cython.int, paraver.TEAM_ENDS)
IS_ROOT = cython.declare(cython.int, paraver.IS_ROOT)
CLOSES = cython.declare(cython.int, paraver.CLOSES)
MOST_SMALL = cython.declare(cython.longlong, 2**31 - 1)
MOST_STREAMS = cython.declare(cython.longlong, 2**16 - 1)
MOST_BYTES = cython.declare(cython.longlong, 2**50)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)
U2 = cython.typedef(cython.ushort)
F8 = cython.typedef(cython.double)

Kind = cython.struct(type=I8, what=I4, number=I4)
Place = cython.struct(
    clock=I8,
    first=I8,
    busy=I8,
    calls=I8,
    current=I8,
    latest=I8,
    inside=I8,
    told=I8,
    since=I8,
    read=I8,
    kind=I4,
    ignored=I4,
    waits=U1,
    teams=U1,
    resumes=U1,
    begun=U1,
)
Instance = cython.struct(
    enter=I8, leave=I8, name=I8, counted=I8, location=I4, parent=I4, number=I4, first_call=I4, end_call=I4, counters=I4
)
Keep = cython.struct(time=I8, type=I8, value=I8, location=I4, call=I4)
Counted = cython.struct(entered=F8, returned=F8, call=I4, counter=I4)
Defect = cython.struct(line=I8, location=I4, reason=I4)
Rows = cython.struct(calls=I8, regions=I8, kept=I8, counted=I8, around=I8, defects=I8, inner=I8, unended=I8)
Ops = cython.struct(fork=I4, join=I4, idle=I4, barrier=I4, taskwait=I4)
"""The routines of teams, which no event has."""


@cython.cfunc
def _kind(kinds: cython.const[Kind][::1], wanted: I8) -> cython.Py_ssize_t:
    """Return the row of a type among `kinds`, sorted by it, or -1."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(kinds)
    while low < high:
        middle = (low + high) // 2
        if kinds[middle].type < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(kinds) and kinds[low].type == wanted else -1


@cython.cfunc
@cython.exceptval(check=False)
def _wrong(pair: Pair, reason: I4, defects: Defect[::1], rows: Rows[::1]) -> cython.void:
    k = rows[0].defects
    defects[k].line, defects[k].location, defects[k].reason = pair.line, pair.location, reason
    rows[0].defects += 1


@cython.cfunc
@cython.exceptval(check=False)
def _begin(places: Place[::1], location: I4, op: I4, calls: Made[::1], rows: Rows[::1], sums: F8[::1], entered: F8[::1]) -> cython.void:
    """Begin a call of a location now, or when the call before it has ended."""
    k = rows[0].calls
    now = places[location].clock
    calls[k].enter = max(places[location].busy, now)
    calls[k].leave, calls[k].sent, calls[k].received, calls[k].comm = calls[k].enter, 0, 0, 0
    calls[k].location, calls[k].region = location, cython.cast(I4, places[location].inside - 1)
    calls[k].caller = calls[k].line = 0
    calls[k].op, calls[k].stream, calls[k].bits, calls[k].level, calls[k].line_level = cython.cast(U2, op), 0, 0, 0, 0
    rows[0].calls += 1
    places[location].calls += 1
    places[location].current = places[location].latest = k + 1
    places[location].since = 0
    told = places[location].told
    counter: I8 = 0
    base: I8 = cython.cast(I8, location) * COUNTERS
    while told >> counter != 0:
        if told >> counter & 1:
            entered[base + counter] = sums[base + counter]
        counter += 1


@cython.cfunc
@cython.exceptval(check=False)
def _return(
    places: Place[::1], location: I4, calls: Made[::1], counted: Counted[::1], rows: Rows[::1], sums: F8[::1], entered: F8[::1]
) -> cython.void:
    """Let the open call of a location return now; it has the counters that were read since it was entered."""
    k = places[location].current - 1
    if places[location].clock > calls[k].enter:
        calls[k].leave = places[location].clock
    places[location].busy = calls[k].leave
    places[location].current, places[location].kind, places[location].waits, places[location].ignored = 0, 0, 0, 0
    since = places[location].since
    counter: I4 = 0
    base: I8 = cython.cast(I8, location) * COUNTERS
    while since >> counter != 0:
        if since >> counter & 1:
            n = rows[0].counted
            counted[n].call, counted[n].counter = cython.cast(I4, k), counter
            counted[n].entered, counted[n].returned = entered[base + counter], sums[base + counter]
            rows[0].counted += 1
        counter += 1


@cython.cfunc
@cython.exceptval(check=False)
def _count(
    pairs: cython.const[Pair][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    kinds: cython.const[Kind][::1],
    places: Place[::1],
    sums: F8[::1],
) -> cython.void:
    """Add the counters of a line to those of its location: what they counted since they were read last."""
    location = pairs[first].location
    one: I8 = 1
    places[location].read = places[location].begun = 0
    for k in range(first, end):
        if not FIRST_COUNTER <= pairs[k].type < BEHIND_COUNTERS:
            continue
        row = _kind(kinds, pairs[k].type)
        if row >= 0 and kinds[row].what == COUNTER:
            places[location].read |= one << cython.cast(I8, kinds[row].number)
            sums[cython.cast(I8, location) * COUNTERS + kinds[row].number] += pairs[k].value
    places[location].told |= places[location].read
    places[location].since |= places[location].read


@cython.cfunc
@cython.exceptval(check=False)
def _keep(pair: Pair, places: Place[::1], kept: Keep[::1], rows: Rows[::1]) -> cython.void:
    """Keep an event as it is; the first call entered after it has the number of those that began."""
    k = rows[0].kept
    kept[k].time, kept[k].type, kept[k].value, kept[k].location = places[pair.location].clock, pair.type, pair.value, pair.location
    kept[k].call = cython.cast(I4, places[pair.location].calls)
    rows[0].kept += 1


@cython.cfunc
@cython.exceptval(check=False)
def _describe(pair: Pair, what: I4, number: I4, places: Place[::1], calls: Made[::1]) -> cython.void:
    """Say more of the call that is open, or of the latest one: a lock is named when it is had."""
    value = pair.value
    current = places[pair.location].current - 1
    if what > CALLER_LINE:
        current = places[pair.location].latest - 1
    if current < 0 or places[pair.location].ignored or value < 0:
        return
    small: I4 = cython.cast(I4, value) if value <= MOST_SMALL else 0
    if what == SENT and value <= MOST_BYTES:
        calls[current].sent = value
    elif what == RECEIVED and value <= MOST_BYTES:
        calls[current].received = value
    elif what == ROOT and value > 0:
        calls[current].bits |= IS_ROOT
    elif what == COMM or (what > CALLER_LINE and value > 0):
        calls[current].comm = value
    elif what == STREAM and value <= MOST_STREAMS:
        calls[current].stream = cython.cast(U2, value)
    elif what == EVENT:
        calls[current].sent = value
    elif what == CALLER and small > 0 and (calls[current].level == 0 or number < calls[current].level):
        calls[current].caller, calls[current].level = small, cython.cast(U1, number)
    elif what == CALLER_LINE and small > 0 and (calls[current].line_level == 0 or number < calls[current].line_level):
        calls[current].line, calls[current].line_level = small, cython.cast(U1, number)


@cython.cfunc
def _settle(
    pair: Pair,
    what: I4,
    teams: Ops,
    works: cython.bint,
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    counted: Counted[::1],
    rows: Rows[::1],
) -> cython.bint:
    """End a wait at the end of a team, and a fork, if this event does; return whether it does nothing else. `works`: it is of a worker."""
    location, value = pair.location, pair.value
    current = places[location].current - 1
    if CALL <= what <= TASK and current >= 0 and places[location].waits and (value > 0 or what == PARALLEL):
        resumes: cython.bint = what == TASK
        if resumes:
            calls[current].op = cython.cast(U2, teams.taskwait)
        _return(places, location, calls, counted, rows, sums, entered)
        if resumes:
            places[location].resumes = 1
        elif works and what != PARALLEL:
            _begin(places, location, teams.idle, calls, rows, sums, entered)
            _return(places, location, calls, counted, rows, sums, entered)
    if CALL < what <= TASK and current >= 0 and places[location].kind == TEAM_BEGINS and (value > 0 or what != PARALLEL):
        _return(places, location, calls, counted, rows, sums, entered)
        if what == PARALLEL:
            return True
    return False


@cython.cfunc
@cython.exceptval(check=False)
def _call_event(
    pair: Pair,
    number: I4,
    ops: cython.const[I4][:, ::1],
    ends: cython.const[I4][::1],
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    kept: Keep[::1],
    counted: Counted[::1],
    defects: Defect[::1],
    rows: Rows[::1],
) -> cython.void:
    """Begin or end a call, as an event of the type with this number says."""
    location, value, current = pair.location, pair.value, places[pair.location].current - 1
    op: I4 = 0
    if value != 0:
        op = ops[number, value] if 0 < value < VALUES else ops[number, VALUES]
    if current >= 0 and places[location].kind == number + 1 and ends[calls[current].op] == value:
        _return(places, location, calls, counted, rows, sums, entered)
    elif value == 0 or op <= NOT_TOLD:
        if current >= 0 and places[location].ignored == number + 1:
            places[location].ignored = 0
        elif value == 0:
            _wrong(pair, NOT_OPEN, defects, rows)
        else:
            _keep(pair, places, kept, rows)
    elif current >= 0 and places[location].kind > NO_KIND and places[location].kind != number + 1:
        places[location].ignored = number + 1
        rows[0].inner += 1
    else:
        if current >= 0:
            if places[location].kind > NO_KIND:
                _wrong(pair, NEVER_ENDS, defects, rows)
            _return(places, location, calls, counted, rows, sums, entered)
        _begin(places, location, op, calls, rows, sums, entered)
        places[location].kind = number + 1
        if ops[number, 0] == OF_DEVICES:
            calls[places[location].current - 1].comm = value


@cython.cfunc
@cython.exceptval(check=False)
def _parallel_event(
    location: I4,
    value: I8,
    teams: Ops,
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    counted: Counted[::1],
    rows: Rows[::1],
) -> cython.void:
    """Begin a fork where a parallel region opens, and join where it closes."""
    current = places[location].current - 1
    latest = places[location].latest - 1
    if value != 0 and current < 0:
        _begin(places, location, teams.fork, calls, rows, sums, entered)
        places[location].kind = TEAM_BEGINS
    elif value == 0:
        if current >= 0 and places[location].kind == TEAM_BEGINS:
            _return(places, location, calls, counted, rows, sums, entered)
            current = -1
        if current < 0 and (latest < 0 or calls[latest].op != teams.join or calls[latest].leave < places[location].clock):
            _begin(places, location, teams.join, calls, rows, sums, entered)
            _return(places, location, calls, counted, rows, sums, entered)
            latest = places[location].latest - 1
        if latest >= 0:
            calls[latest].bits |= CLOSES


@cython.cfunc
@cython.exceptval(check=False)
def _count_region(region: Instance, n: I8, places: Place[::1], sums: F8[::1], around: Counted[::1], rows: Rows[::1]) -> I4:
    """Return how many counters are read on the line where region `n` begins, after writing what they are at."""
    read = places[region.location].read
    if places[region.location].begun == COUNTED_REGIONS:
        return 0
    places[region.location].begun += read != 0
    counter: I4 = 0
    base: I8 = cython.cast(I8, region.location) * COUNTERS
    while read >> counter != 0:
        if read >> counter & 1:
            k = rows[0].around
            around[k].call, around[k].counter = cython.cast(I4, n), ~counter
            around[k].entered = around[k].returned = sums[base + counter]
            rows[0].around += 1
        counter += 1
    return cython.cast(I4, rows[0].around - region.counted)


@cython.cfunc
@cython.exceptval(check=False)
def _leave(n: I8, places: Place[::1], sums: F8[::1], calls_inside: I4, regions: Instance[::1], around: Counted[::1]) -> cython.void:
    """Leave a region now; it has the counters that are read on this line and were read where it began."""
    location = regions[n].location
    regions[n].leave = places[location].clock
    regions[n].end_call = calls_inside
    places[location].inside = regions[n].parent + 1
    for k in range(regions[n].counted, regions[n].counted + regions[n].counters):
        counter = ~around[k].counter
        if places[location].read >> counter & 1:
            around[k].counter = counter
            around[k].returned = sums[cython.cast(I8, location) * COUNTERS + counter]


@cython.cfunc
@cython.exceptval(check=False)
def _region_event(
    pair: Pair,
    what: I4,
    number: I4,
    teams: Ops,
    works: cython.bint,
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    regions: Instance[::1],
    counted: Counted[::1],
    around: Counted[::1],
    defects: Defect[::1],
    rows: Rows[::1],
) -> cython.void:
    """Begin or end a function; a worker that comes to its first team was idle before, and who ends that of a team waits for the others."""
    location, value, current = pair.location, pair.value, places[pair.location].current - 1
    inside = places[location].inside - 1
    if value != 0:
        if what == TEAM:
            if works and not places[location].teams and current < 0:
                _begin(places, location, teams.idle, calls, rows, sums, entered)
                if places[location].busy == 0:
                    calls[places[location].current - 1].enter = places[location].first - 1
                _return(places, location, calls, counted, rows, sums, entered)
            places[location].teams = 1
        n = rows[0].regions
        regions[n].enter, regions[n].leave, regions[n].name = places[location].clock, -1, value
        regions[n].location, regions[n].parent, regions[n].number = location, cython.cast(I4, inside), number
        regions[n].first_call = regions[n].end_call = cython.cast(I4, places[location].calls)
        regions[n].counted = rows[0].around
        regions[n].counters = _count_region(regions[n], n, places, sums, around, rows)
        rows[0].regions += 1
        places[location].inside = n + 1
    else:
        found = inside
        looked: cython.int = 0
        while found >= 0 and regions[found].number != number and looked < MOST_LOOKED:
            found = regions[found].parent
            looked += 1
        if found < 0 or looked == MOST_LOOKED:
            _wrong(pair, NOT_OPEN, defects, rows)
            return
        while True:
            _leave(inside, places, sums, cython.cast(I4, places[location].calls), regions, around)
            if inside == found:
                break
            _wrong(pair, NEVER_ENDS, defects, rows)
            inside = regions[inside].parent
        if (what == TEAM or (what == TASK and places[location].resumes)) and places[location].current == 0:
            places[location].resumes = 0
            _begin(places, location, teams.barrier, calls, rows, sums, entered)
            places[location].kind, places[location].waits = TEAM_ENDS, 1


def run(
    pairs: cython.const[Pair][::1],
    kinds: cython.const[Kind][::1],
    ops: cython.const[I4][:, ::1],
    ends: cython.const[I4][::1],
    teams: Ops,
    workers: cython.const[U1][::1],
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    regions: Instance[::1],
    kept: Keep[::1],
    counted: Counted[::1],
    around: Counted[::1],
    defects: Defect[::1],
    rows: Rows[::1],
) -> None:
    """Add what whole lines of events tell to the outputs; each has room for four more rows an event, `counted` for one and `around`
    for COUNTED_REGIONS per counter that was ever read.

    `ops` is the routine per number of a type and value, -1 none; the last column is that of other values, and column 0 says OF_DEVICES
    of a type of their routines. `ends` is per routine the value that ends it.
    """
    until: cython.Py_ssize_t = 0
    for k in range(len(pairs)):
        if k == until:
            until = k + 1
            while until < len(pairs) and not pairs[until - 1].last:
                until += 1
            _count(pairs, k, until, kinds, places, sums)
        location = pairs[k].location
        value = pairs[k].value
        if places[location].first == 0:
            places[location].first = pairs[k].time + 1
        if pairs[k].time < places[location].clock:
            _wrong(pairs[k], BACKWARDS, defects, rows)
        else:
            places[location].clock = pairs[k].time
        if pairs[k].type == IDLES:
            if workers[location] and not places[location].teams and places[location].current == 0 and value > pairs[k].time:
                _begin(places, location, teams.idle, calls, rows, sums, entered)
                calls[places[location].current - 1].leave = value
                _return(places, location, calls, counted, rows, sums, entered)
            continue
        row = _kind(kinds, pairs[k].type)
        what: I4 = kinds[row].what if row >= 0 else 0
        if CALL <= what <= TASK:
            works: cython.bint = workers[location] != 0
            if _settle(pairs[k], what, teams, works, places, sums, entered, calls, counted, rows):
                continue
        if what == CALL:
            _call_event(pairs[k], kinds[row].number, ops, ends, places, sums, entered, calls, kept, counted, defects, rows)
        elif what == PARALLEL:
            _parallel_event(location, value, teams, places, sums, entered, calls, counted, rows)
        elif PARALLEL < what <= TASK:
            _region_event(
                pairs[k], what, kinds[row].number, teams, works, places, sums, entered, calls, regions, counted, around, defects, rows
            )
        elif what == COUNTER:
            continue
        elif what >= SENT:
            _describe(pairs[k], what, kinds[row].number, places, calls)
        else:
            _keep(pairs[k], places, kept, rows)


def close(
    teams: Ops,
    workers: cython.const[U1][::1],
    places: Place[::1],
    sums: F8[::1],
    entered: F8[::1],
    calls: Made[::1],
    regions: Instance[::1],
    counted: Counted[::1],
    rows: Rows[::1],
) -> None:
    """End what is open at the last instant of its location; `calls` has room for two rows of each, `counted` for all that was read."""
    for location in range(len(places)):
        if places[location].current > 0:
            waits: cython.bint = places[location].waits != 0
            rows[0].unended += not waits
            _return(places, location, calls, counted, rows, sums, entered)
            if waits and workers[location]:
                _begin(places, location, teams.idle, calls, rows, sums, entered)
                _return(places, location, calls, counted, rows, sums, entered)
        inside = places[location].inside - 1
        while inside >= 0:
            regions[inside].leave = places[location].clock
            regions[inside].end_call = cython.cast(I4, places[location].calls)
            rows[0].unended += 1
            inside = regions[inside].parent
        places[location].inside = 0
