# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The rows of one OTF2 location to calls, regions, message records and requests: one pass, with a stack of open regions.

Rows must be in the order of the file. A call of MPI or of a device goes on whatever is entered in it. One of threads gives way: a lock is
had when something is done under it, and a wait in which a task is run is cut into a wait for the task and, behind it, the wait itself.
"""

from __future__ import annotations

import cython

from perwiz.kernels import records

if cython.compiled:
    from cython.cimports.perwiz.kernels.otf2_messages import Messages
    from cython.cimports.perwiz.kernels.otf2_rows import Call, Frame, Message, Region, Request, State, Team
    from cython.cimports.perwiz.kernels.records import Record
else:
    from perwiz.kernels.otf2_messages import Messages

NO_CALL = cython.declare(cython.int, records.NO_CALL)
ENTER = cython.declare(cython.int, records.ENTER)
LEAVE = cython.declare(cython.int, records.LEAVE)
COLLECTIVE_BEGIN = cython.declare(cython.int, records.COLLECTIVE_BEGIN)
COLLECTIVE_END = cython.declare(cython.int, records.COLLECTIVE_END)
METRIC = cython.declare(cython.int, records.METRIC)
OTHER_KIND = cython.declare(cython.int, records.OTHER_KIND)
BARE = cython.declare(cython.int, records.BARE)
A_CALL = cython.declare(cython.int, records.A_CALL)
INSIDE_A_CALL = cython.declare(cython.int, records.INSIDE_A_CALL)
UNSAID = cython.declare(cython.longlong, records.UNSAID)
DEEPEST = cython.declare(cython.int, records.DEEPEST)
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
TASK_SWITCH = cython.declare(cython.int, records.TASK_SWITCH)
TASK_COMPLETE = cython.declare(cython.int, records.TASK_COMPLETE)
THREAD_BEGIN = cython.declare(cython.int, records.THREAD_BEGIN)
KINDS = cython.declare(cython.int, records.KINDS)
OVER = cython.declare(cython.int, records.OVER)
INTERRUPTED = cython.declare(cython.int, records.INTERRUPTED)
WHOLE = cython.declare(cython.int, records.WHOLE)
NAMED = cython.declare(cython.int, records.NAMED)
TAKES = cython.declare(cython.int, records.TAKES)
GIVES_WAY = cython.declare(cython.int, records.GIVES_WAY)
WAITS = cython.declare(cython.int, records.WAITS)
FORKS = cython.declare(cython.int, records.FORKS)
BEGINS = cython.declare(cython.int, records.BEGINS)
FROM_START = cython.declare(cython.int, records.FROM_START)


@cython.cfunc
@cython.exceptval(check=False)
def _open_call(state: State[::1], calls: Call[::1], op: cython.int, time: cython.longlong, bits: cython.int) -> cython.void:
    """Begin a call; it is open from now on."""
    row = state[0].calls
    calls[row].enter = calls[row].leave = time
    calls[row].sent = calls[row].received = 0
    calls[row].region = cython.cast(cython.int, state[0].innermost)
    calls[row].peer = calls[row].tag = calls[row].comm = calls[row].root = -1
    calls[row].op = cython.cast(cython.ushort, op)
    calls[row].bits = cython.cast(cython.uchar, bits)
    state[0].open = row
    state[0].calls += 1


@cython.cfunc
@cython.exceptval(check=False)
def _make(state: State[::1], calls: Call[::1], op: cython.int, since: cython.longlong, bits: cython.int) -> cython.longlong:
    """Make a call that lasts from a time, or from when the one before returned, until now; return its row."""
    row = state[0].calls
    if row > 0:
        since = max(since, calls[row - 1].leave)
    _open_call(state, calls, op, since, bits)
    calls[row].leave = state[0].clock
    state[0].open = -1
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _make_idle(state: State[::1], calls: Call[::1], op: cython.int) -> cython.longlong:
    """Make the call in which a thread or stream had nothing to do until now; return its row."""
    state[0].idle = op
    if state[0].quiet == UNSAID and state[0].calls == 0:
        return _make(state, calls, op, state[0].clock, FROM_START)
    return _make(state, calls, op, state[0].quiet, 0)


@cython.cfunc
@cython.exceptval(check=False)
def _interrupt(
    state: State[::1], stack: Frame[::1], calls: Call[::1], manner: cython.const[cython.uchar][::1], task: cython.int
) -> cython.void:
    """End the open call, which something comes into: it has what it asked for, or it was a wait for a task and waits on behind that."""
    row = state[0].open
    level = state[0].depth - 1
    while stack[level].stands_for != A_CALL:
        level -= 1
    stack[level].stands_for = OVER
    if manner[calls[row].op] == WAITS:
        stack[level].stands_for = INTERRUPTED
        calls[row].op = cython.cast(cython.ushort, task)
    calls[row].leave = state[0].clock
    state[0].open = -1


@cython.cfunc
@cython.exceptval(check=False)
def _resume(state: State[::1], stack: Frame[::1], calls: Call[::1], op_of_region: cython.const[cython.int][::1]) -> cython.void:
    """Let a wait go on in which nothing is done any more."""
    top = state[0].depth - 1
    if state[0].open < 0 and top >= 0 and stack[top].stands_for == INTERRUPTED:
        stack[top].stands_for = A_CALL
        _open_call(state, calls, op_of_region[stack[top].name], state[0].clock, 0)


@cython.cfunc
@cython.exceptval(check=False)
def _enter(
    state: State[::1],
    stack: Frame[::1],
    calls: Call[::1],
    regions: Region[::1],
    op_of_region: cython.const[cython.int][::1],
    manner: cython.const[cython.uchar][::1],
    task: cython.int,
    name: cython.int,
) -> cython.void:
    """Open a call if the region stands for one and none is open, an internal call inside one, else an instance of a user region."""
    op = op_of_region[name]
    inside = INSIDE_A_CALL
    if state[0].open >= 0:
        around: cython.int = manner[calls[state[0].open].op]
        if around >= GIVES_WAY:
            inside = OVER
            if op != calls[state[0].open].op and (op == NO_CALL or manner[op] != WAITS or around != WAITS):
                _interrupt(state, stack, calls, manner, task)
    top = state[0].depth
    row = state[0].regions
    stack[top].name = name
    stack[top].stands_for = A_CALL
    state[0].depth += 1
    state[0].quiet = state[0].clock
    if op != NO_CALL and state[0].open >= 0:
        stack[top].stands_for = inside
    elif op != NO_CALL:
        _open_call(state, calls, op, state[0].clock, 0)
        if manner[op] == NAMED:
            calls[state[0].open].root = name
    else:
        stack[top].stands_for = cython.cast(cython.int, row)
        regions[row].enter = regions[row].leave = state[0].clock
        regions[row].name = name
        regions[row].parent = cython.cast(cython.int, state[0].innermost)
        regions[row].first_call = regions[row].end_call = cython.cast(cython.int, state[0].calls)
        state[0].innermost = row
        state[0].regions += 1


@cython.cfunc
@cython.exceptval(check=False)
def _return(state: State[::1], calls: Call[::1], teams: Team[::1], manner: cython.const[cython.uchar][::1]) -> cython.void:
    """Let the open call return; one of threads belongs to the team that its thread is in."""
    row = state[0].open
    calls[row].leave = state[0].clock
    state[0].open = -1
    if manner[calls[row].op] >= GIVES_WAY and state[0].teams > 0:
        calls[row].comm = teams[state[0].teams - 1].call


@cython.cfunc
@cython.exceptval(check=False)
def _close(
    state: State[::1],
    stack: Frame[::1],
    teams: Team[::1],
    calls: Call[::1],
    regions: Region[::1],
    op_of_region: cython.const[cython.int][::1],
    manner: cython.const[cython.uchar][::1],
    level: cython.longlong,
) -> cython.void:
    """Take one frame off the stack and end what it stands for now; a wait that it interrupted goes on."""
    ended = stack[level].stands_for
    if ended == INTERRUPTED and state[0].open < 0:
        _open_call(state, calls, op_of_region[stack[level].name], state[0].clock, 0)
        ended = A_CALL
    above: cython.longlong
    for above in range(level, state[0].depth - 1):
        stack[above] = stack[above + 1]
    state[0].depth -= 1
    state[0].quiet = state[0].clock
    if ended == A_CALL:
        _return(state, calls, teams, manner)
    elif ended == INSIDE_A_CALL:
        state[0].internal += 1
    elif ended >= 0:
        regions[ended].leave = state[0].clock
        regions[ended].end_call = cython.cast(cython.int, state[0].calls)
        top = state[0].depth - 1
        while top >= 0 and stack[top].stands_for < 0:
            top -= 1
        state[0].innermost = stack[top].stands_for if top >= 0 else -1
    _resume(state, stack, calls, op_of_region)


@cython.cfunc
@cython.exceptval(check=False)
def _left(state: State[::1], stack: Frame[::1], name: cython.int) -> cython.longlong:
    """Return the level of the innermost open region of this name, looked for in the upper DEEPEST; count whether there is one, else -1."""
    level = state[0].depth - 1
    lowest = max(state[0].depth - DEEPEST, 0)
    while level >= lowest and stack[level].name != name:
        level -= 1
    if level < lowest:
        state[0].not_open += 1
        return -1
    state[0].pairs += 1
    return level


@cython.cfunc
@cython.exceptval(check=False)
def _free(state: State[::1], stack: Frame[::1], calls: Call[::1], manner: cython.const[cython.uchar][::1], task: cython.int) -> cython.bint:
    """Return whether a call can be made now: none is open, or one that gives way and does so."""
    if state[0].open >= 0 and manner[calls[state[0].open].op] >= GIVES_WAY:
        _interrupt(state, stack, calls, manner, task)
    return state[0].open < 0


@cython.cfunc
@cython.exceptval(check=False)
def _begin_team(state: State[::1], teams: Team[::1], calls: Call[::1], op: cython.int) -> cython.longlong:
    """Begin in a team, the one that the thread has opened itself, or another, up to which it was idle; return the call that began it."""
    team = state[0].teams
    teams[team].own = state[0].forked >= 0
    row = state[0].forked
    if row < 0:
        row = _make_idle(state, calls, op)
        calls[row].comm = cython.cast(cython.int, row)
    teams[team].call = cython.cast(cython.int, row)
    state[0].teams += 1
    state[0].forked = -1
    state[0].quiet = state[0].clock
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _end_team(state: State[::1], teams: Team[::1]) -> cython.void:
    """End in the innermost team."""
    if state[0].teams == 0:
        state[0].not_open += 1
        return
    state[0].teams -= 1
    if teams[state[0].teams].own:
        state[0].ended = teams[state[0].teams].call
    state[0].quiet = state[0].clock


@cython.cfunc
@cython.exceptval(check=False)
def _join(state: State[::1], teams: Team[::1], calls: Call[::1], op: cython.int) -> cython.longlong:
    """Make the call in which a thread waits for the end of the team it has opened, since it ended in that itself; return its row."""
    since = state[0].quiet
    if state[0].ended < 0:
        since = state[0].clock
        if state[0].teams > 0 and teams[state[0].teams - 1].own:
            _end_team(state, teams)
    row = _make(state, calls, op, since, 0)
    calls[row].comm = cython.cast(cython.int, state[0].ended)
    state[0].ended = -1
    state[0].quiet = state[0].clock
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _lock(
    state: State[::1],
    stack: Frame[::1],
    calls: Call[::1],
    manner: cython.const[cython.uchar][::1],
    op_of_kind: cython.const[cython.int][::1],
    kind: cython.int,
) -> cython.longlong:
    """Return the call that gets or gives away a lock or creates something: the open one if that is about this, else one made now."""
    row = state[0].open
    op = op_of_kind[kind]
    if row >= 0:
        around: cython.int = manner[calls[row].op]
        if around == TAKES:
            return row
        if kind == ACQUIRE_LOCK and around == GIVES_WAY:
            _interrupt(state, stack, calls, manner, op)
            return row
        if calls[row].op == op:
            return row
    return _make(state, calls, op, state[0].clock, 0) if _free(state, stack, calls, manner, op_of_kind[TASK_SWITCH]) else -1


@cython.cfunc
@cython.exceptval(check=False)
def _of_thread(
    state: State[::1],
    record: Record,
    stack: Frame[::1],
    teams: Team[::1],
    calls: Call[::1],
    op_of_region: cython.const[cython.int][::1],
    manner: cython.const[cython.uchar][::1],
    op_of_kind: cython.const[cython.int][::1],
) -> cython.longlong:
    """Return the call that a record of threads makes or belongs to, -1 for none."""
    kind: cython.int = record.kind
    if kind == TEAM_END:
        _end_team(state, teams)
        return -1
    if TEAM_END < kind < TASK_SWITCH or (kind > TASK_COMPLETE and kind != THREAD_BEGIN):
        return _lock(state, stack, calls, manner, op_of_kind, kind)
    if kind == TASK_SWITCH and record.tag == 0:
        _resume(state, stack, calls, op_of_region)
        return -1
    if kind == TASK_COMPLETE:
        _resume(state, stack, calls, op_of_region)
    if kind in (TASK_SWITCH, TASK_COMPLETE) and state[0].open >= 0 and manner[calls[state[0].open].op] == WAITS:
        row = state[0].open
        if kind == TASK_SWITCH:
            _interrupt(state, stack, calls, manner, op_of_kind[TASK_SWITCH])
        return row
    if not _free(state, stack, calls, manner, op_of_kind[TASK_SWITCH]):
        return -1
    if kind == TEAM_BEGIN:
        return _begin_team(state, teams, calls, op_of_kind[kind])
    if kind == THREAD_JOIN:
        return _join(state, teams, calls, op_of_kind[kind])
    if kind == THREAD_BEGIN:
        row = _make_idle(state, calls, op_of_kind[kind])
        state[0].idle = -1
        return row
    row = _make(state, calls, op_of_kind[kind], state[0].clock, 0)
    if kind == THREAD_FORK:
        state[0].forked = row
    return row


@cython.cfunc
@cython.exceptval(check=False)
def _begun(state: State[::1], calls: Call[::1]) -> cython.longlong:
    """Return when a collective outside any call began, not before the last call returned; now, if nobody said. Forgets it."""
    time = state[0].clock if state[0].collective_time == UNSAID else state[0].collective_time
    state[0].collective_time = UNSAID
    if state[0].calls > 0:
        time = max(time, calls[state[0].calls - 1].leave)
    return time


@cython.cfunc
@cython.exceptval(check=False)
def _copy(
    state: State[::1],
    stack: Frame[::1],
    teams: Team[::1],
    calls: Call[::1],
    regions: Region[::1],
    op_of_region: cython.const[cython.int][::1],
    manner: cython.const[cython.uchar][::1],
    kind: cython.int,
    idle: cython.int,
) -> cython.longlong:
    """Begin or end a copy on a stream, an instance of one of the last two regions; return the idle call before it, -1 if there is none."""
    row: cython.longlong = -1
    names: cython.int = cython.cast(cython.int, op_of_region.shape[0]) - 2
    if kind <= RMA_GET:
        if state[0].depth == 0:
            row = _make_idle(state, calls, idle)
        _enter(state, stack, calls, regions, op_of_region, manner, idle, names + (kind == RMA_GET))
        return row
    level = state[0].depth - 1
    while level >= 0 and stack[level].name < names:
        level -= 1
    if level >= 0:
        _close(state, stack, teams, calls, regions, op_of_region, manner, level)
    return row


def calls(
    rows: Record[::1],
    op_of_region: cython.const[cython.int][::1],
    part_of_region: cython.const[cython.uchar][::1],
    manner: cython.const[cython.uchar][::1],
    op_of_kind: cython.const[cython.int][::1],
    op_of_operation: cython.const[cython.int][::1],
    state: State[::1],
    stack: Frame[::1],
    teams: Team[::1],
    calls: Call[::1],
    regions: Region[::1],
    messages: Message[::1],
    requests: Request[::1],
    open_requests: cython.int[::1],
) -> None:
    """Turn the rows into calls, region instances, message records and requests; all have room for one more per row, calls for two.

    `op_of_region` is NO_CALL for user regions, the last two of which are copies of devices; `part_of_region` is FORKS, BEGINS or 0 and
    `manner` is per op. `op_of_kind`, and `op_of_operation` of collectives, are the ops of records outside any call, NO_CALL for those that
    make none; that of RMA_PUT is so but on a stream. Rows from METRIC on get the number of calls entered so far, whether one is open, and,
    below OTHER_KIND, the innermost region, above the call that they make or belong to, or -1; METRIC that of regions entered, as `request`.
    `open_requests` is the row of the request that is open under each number, -1 for none.
    """
    said = Messages(state, calls, messages, requests, open_requests)
    idle = op_of_kind[RMA_PUT]
    task = op_of_kind[TASK_SWITCH]
    name: cython.int
    for i in range(rows.shape[0]):
        record = rows[i]
        kind = record.kind
        if record.time < state[0].clock:
            state[0].backwards += 1
        else:
            state[0].clock = record.time
        if kind == ENTER:
            name = cython.cast(cython.int, record.reference)
            if idle != NO_CALL and state[0].depth == 0:
                _make_idle(state, calls, idle)
            if part_of_region[name] and _free(state, stack, calls, manner, task):
                if part_of_region[name] == BEGINS:
                    _begin_team(state, teams, calls, op_of_kind[TEAM_BEGIN])
                else:
                    state[0].forked = _make(state, calls, op_of_kind[THREAD_FORK], state[0].clock, 0)
            _enter(state, stack, calls, regions, op_of_region, manner, task, name)
        elif kind == LEAVE:
            name = cython.cast(cython.int, record.reference)
            if part_of_region[name] == FORKS and _free(state, stack, calls, manner, task):
                _join(state, teams, calls, op_of_kind[THREAD_JOIN])
            level = _left(state, stack, name)
            if level >= 0:
                _close(state, stack, teams, calls, regions, op_of_region, manner, level)
            if part_of_region[name] == BEGINS:
                _end_team(state, teams)
        elif kind == COLLECTIVE_BEGIN:
            state[0].collective_time = state[0].clock
        elif kind < METRIC:
            bare = _free(state, stack, calls, manner, task)
            if bare and kind == COLLECTIVE_END:
                _open_call(state, calls, op_of_operation[record.reference], _begun(state, calls), BARE)
            elif bare:
                _open_call(state, calls, op_of_kind[kind], state[0].clock, BARE)
            if kind == COLLECTIVE_END:
                said.collective(record, state[0].open)
            else:
                said.point_to_point(record)
            if bare:
                calls[state[0].open].leave = state[0].clock
                state[0].open = -1
                _resume(state, stack, calls, op_of_region)
        else:
            row = state[0].innermost if kind < OTHER_KIND else -1
            if OTHER_KIND < kind < KINDS and op_of_kind[kind] != NO_CALL:
                if kind < THREAD_FORK:
                    row = _copy(state, stack, teams, calls, regions, op_of_region, manner, kind, idle)
                else:
                    row = _of_thread(state, record, stack, teams, calls, op_of_region, manner, op_of_kind)
            rows[i].calls = cython.cast(cython.int, state[0].calls)
            rows[i].inside = state[0].open >= 0
            rows[i].region = cython.cast(cython.int, row)
            if kind == METRIC:
                rows[i].request = state[0].regions


def close(
    state: State[::1],
    stack: Frame[::1],
    teams: Team[::1],
    calls: Call[::1],
    regions: Region[::1],
    op_of_region: cython.const[cython.int][::1],
    manner: cython.const[cython.uchar][::1],
) -> None:
    """End what is still open at the last instant, and count it; calls have room for one more, and for each region and team open."""
    state[0].never_ends = state[0].depth + state[0].teams
    while state[0].depth > 0:
        _close(state, stack, teams, calls, regions, op_of_region, manner, state[0].depth - 1)
    if state[0].idle >= 0 and state[0].teams == 0:
        _make_idle(state, calls, cython.cast(cython.int, state[0].idle))
