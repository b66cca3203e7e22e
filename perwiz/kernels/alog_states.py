# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""ALOG lines to calls, messages and region instances: one pass in file order, with a stack of open states per location."""

from __future__ import annotations

import cython

from perwiz.kernels import alog

if cython.compiled:
    from cython.cimports.perwiz.kernels.alog import Line

EVENT = cython.declare(cython.int, alog.EVENT)
INTERNAL = cython.declare(cython.int, alog.INTERNAL)
OUT_OF_RANGE = cython.declare(cython.int, alog.OUT_OF_RANGE)
NOT_OPEN = cython.declare(cython.int, alog.NOT_OPEN)
BACKWARDS = cython.declare(cython.int, alog.BACKWARDS)
TOO_DEEP = cython.declare(cython.int, alog.TOO_DEEP)
CALL_BEGIN = cython.declare(cython.int, alog.CALL_BEGIN)
CALL_END = cython.declare(cython.int, alog.CALL_END)
MESSAGE_RECORD = cython.declare(cython.int, alog.MESSAGE_RECORD)
REGION_BEGIN = cython.declare(cython.int, alog.REGION_BEGIN)
SINGLE = cython.declare(cython.int, alog.SINGLE)
MESSAGE_SENT = cython.declare(cython.int, alog.MESSAGE_SENT)
MESSAGE_RECEIVED = cython.declare(cython.int, alog.MESSAGE_RECEIVED)
NONE = cython.declare(cython.int, alog.NONE)
UNKNOWN = cython.declare(cython.int, alog.UNKNOWN)
SENT_INSIDE = cython.declare(cython.int, alog.SENT_INSIDE)
RECEIVED_INSIDE = cython.declare(cython.int, alog.RECEIVED_INSIDE)
NULL_PARTNER = cython.declare(cython.int, alog.NULL_PARTNER)
BARE = cython.declare(cython.int, alog.BARE)
LAST_TIME = cython.declare(cython.longlong, 4 * 10**18)
MOST_SUM = cython.declare(cython.longlong, 2**60)
DEEPEST = cython.declare(cython.int, alog.DEEPEST)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)

State = cython.struct(end_state=I4, op=I4, name=I4, ends=U1, begins=U1)
Routine = cython.struct(collective=U1, says_receiver=U1, says_sender=U1)
Location = cython.struct(clock=I8, wraps=I8, first=I8, calls=I8, call_entry=I8, top=I8, depth=I8, inner=I8, innermost=I8)
Call = cython.struct(leave=I8, enter=I8, sent=I8, received=I8, location=I4, region=I4, peer=I4, tag=I4, op=cython.ushort, internal=U1)
Region = cython.struct(leave=I8, enter=I8, location=I4, number=I4, parent=I4, name=I4, first_call=I4, end_call=I4)
Message = cython.struct(bytes=I8, time=I8, location=I4, call=I4, peer=I4, tag=I4, type=cython.schar)
Entry = cython.struct(enter=I8, below=I4, end_state=I4, region=I4, name=I4, parent=I4, first_call=I4)
Counts = cython.struct(
    free_entry=I8,
    entries=I8,
    calls_out=I8,
    regions_out=I8,
    messages_out=I8,
    regions=I8,
    messages=I8,
    states=I8,
    internal_calls=I8,
    singles=I8,
    to_nobody=I8,
    internal_messages=I8,
)


@cython.cfunc
def _advance_clock(lines: Line[::1], k: I4, locations: Location[::1], rollover: I8) -> cython.bint:
    """Set the clock of a line's location to its time, wraps undone, never before the line before; False beyond 4e18 ns."""
    location = lines[k].location
    t = lines[k].time
    if rollover > 0:
        if lines[k].cycle + locations[location].wraps >= (LAST_TIME - t) // rollover:
            return False
        t += (lines[k].cycle + locations[location].wraps) * rollover
        if t < locations[location].clock - rollover // 2:
            locations[location].wraps += 1
            t += rollover
    if locations[location].first < 0:
        locations[location].first = locations[location].clock = t
    if t < locations[location].clock:
        lines[k].status = BACKWARDS
    else:
        locations[location].clock = t
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _open_call(open_calls: Call[::1], locations: Location[::1], location: I4, op: I4) -> cython.void:
    """Begin a call of a location now."""
    open_calls[location].location, open_calls[location].enter, open_calls[location].op = location, locations[location].clock, op
    open_calls[location].region, open_calls[location].peer, open_calls[location].tag = locations[location].innermost, NONE, NONE
    open_calls[location].sent = open_calls[location].received = open_calls[location].internal = 0


@cython.cfunc
@cython.exceptval(check=False)
def _return_call(open_calls: Call[::1], locations: Location[::1], location: I4, calls: Call[::1], counts: Counts[::1]) -> cython.void:
    """Write the open call of a location, which returns now."""
    open_calls[location].leave = locations[location].clock
    calls[counts[0].calls_out] = open_calls[location]
    counts[0].calls_out += 1
    locations[location].calls += 1
    locations[location].call_entry = NONE


@cython.cfunc
def _pull(stack: Entry[::1], counts: Counts[::1], locations: Location[::1], location: I4, end_state: I4) -> I4:
    """Unlink the most recent entry that ends with this state and return it; UNKNOWN if it is none of the upper DEEPEST, NONE of all.

    It stays readable until the next push.
    """
    above: I4 = NONE
    passed: I4 = 0
    entry = locations[location].top
    while entry >= 0 and stack[entry].end_state != end_state:
        passed += 1
        if passed == DEEPEST:
            return UNKNOWN
        above = entry
        entry = stack[entry].below
    if entry < 0:
        return NONE
    if above < 0:
        locations[location].top = stack[entry].below
    else:
        stack[above].below = stack[entry].below
    stack[entry].below = counts[0].free_entry
    counts[0].free_entry = entry
    locations[location].depth -= 1
    locations[location].inner -= stack[entry].region == NONE and entry != locations[location].call_entry
    return entry


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    lines: Line[::1], k: I4, states: State[::1], locations: Location[::1], open_calls: Call[::1], stack: Entry[::1], counts: Counts[::1]
) -> cython.void:
    """Open the state of a line: a call if it is MPI and no call is open, else an internal call or a region instance."""
    location = lines[k].location
    state = lines[k].state
    in_call: cython.bint = locations[location].call_entry >= 0
    inner: cython.bint = in_call and states[state].op != NONE
    if inner and locations[location].inner == DEEPEST:
        lines[k].status = TOO_DEEP
        return
    entry = counts[0].free_entry
    if entry >= 0:
        counts[0].free_entry = stack[entry].below
    else:
        entry = counts[0].entries
        counts[0].entries += 1
    stack[entry].below, stack[entry].end_state, stack[entry].region = locations[location].top, states[state].end_state, NONE
    locations[location].top = entry
    locations[location].depth += 1
    if states[state].op == NONE:
        stack[entry].region, stack[entry].name, stack[entry].enter = counts[0].regions, states[state].name, locations[location].clock
        stack[entry].parent, stack[entry].first_call = locations[location].innermost, locations[location].calls + in_call
        locations[location].innermost = counts[0].regions
        lines[k].owner, lines[k].owner_number = REGION_BEGIN, counts[0].regions
        counts[0].regions += 1
    elif inner:
        locations[location].inner += 1
        counts[0].internal_calls += 1
    else:
        _open_call(open_calls, locations, location, states[state].op)
        locations[location].call_entry = entry
        lines[k].owner, lines[k].owner_number = CALL_BEGIN, locations[location].calls


@cython.cfunc
@cython.exceptval(check=False)
def _leave(regions: Region[::1], stack: Entry[::1], entry: I4, locations: Location[::1], location: I4, counts: Counts[::1]) -> cython.void:
    """Write the region instance of an entry, left now."""
    out = counts[0].regions_out
    regions[out].location, regions[out].leave, regions[out].enter = location, locations[location].clock, stack[entry].enter
    regions[out].number, regions[out].parent, regions[out].name = stack[entry].region, stack[entry].parent, stack[entry].name
    regions[out].first_call = stack[entry].first_call
    regions[out].end_call = locations[location].calls + (locations[location].call_entry >= 0)
    counts[0].regions_out += 1
    if locations[location].innermost == stack[entry].region:
        entry = locations[location].top
        while entry >= 0 and stack[entry].region < 0:
            entry = stack[entry].below
        locations[location].innermost = stack[entry].region if entry >= 0 else NONE


@cython.cfunc
@cython.exceptval(check=False)
def _add_message(
    lines: Line[::1],
    k: I4,
    routines: Routine[::1],
    locations: Location[::1],
    open_calls: Call[::1],
    messages: Message[::1],
    counts: Counts[::1],
) -> cython.void:
    """Put a message record into the open call of its location; nobody's and those inside a collective are only counted."""
    location = lines[k].location
    op = open_calls[location].op
    sends: cython.bint = lines[k].type == MESSAGE_SENT
    inside: cython.bint = routines[op].collective or lines[k].status == INTERNAL
    if inside:
        open_calls[location].internal |= SENT_INSIDE if sends else RECEIVED_INSIDE
    elif lines[k].int_data < 0:
        open_calls[location].internal |= NULL_PARTNER
    if lines[k].int_data < 0:
        counts[0].to_nobody += 1
        return
    if inside:
        counts[0].internal_messages += 1
        return
    if sends and open_calls[location].sent < MOST_SUM:
        open_calls[location].sent += lines[k].bytes
    elif not sends and open_calls[location].received < MOST_SUM:
        open_calls[location].received += lines[k].bytes
    if open_calls[location].peer < 0 and (routines[op].says_receiver if sends else routines[op].says_sender):
        open_calls[location].peer, open_calls[location].tag = lines[k].int_data, lines[k].tag
    out = counts[0].messages_out
    messages[out].type, messages[out].location, messages[out].peer = lines[k].type, location, lines[k].int_data
    messages[out].tag, messages[out].bytes, messages[out].call = lines[k].tag, lines[k].bytes, locations[location].calls
    messages[out].time = locations[location].clock
    lines[k].owner, lines[k].owner_number = MESSAGE_RECORD, counts[0].messages + out
    counts[0].messages_out += 1


def read(
    lines: Line[::1],
    states: State[::1],
    routines: Routine[::1],
    send: I4,
    receive: I4,
    rollover: I8,
    locations: Location[::1],
    open_calls: Call[::1],
    stack: Entry[::1],
    counts: Counts[::1],
    calls: Call[::1],
    regions: Region[::1],
    messages: Message[::1],
) -> None:
    """Turn event lines into calls, regions and messages. An event of a state first ends what it can end, then begins what it can begin.

    `routines` has a row per op, `send` and `receive` are the ops of messages outside of any call, `rollover` the period of the clock or 0.
    `locations`, `open_calls`, `stack` and `counts` (one row) go on from call to call of this; the outputs have room for a row a line.
    """
    k: cython.Py_ssize_t
    ended: cython.bint
    for k in range(len(lines)):
        if lines[k].status != EVENT and lines[k].status != INTERNAL:
            continue
        location = lines[k].location
        state = lines[k].state
        if not _advance_clock(lines, k, locations, rollover):
            lines[k].status = OUT_OF_RANGE
        elif state != NONE:
            ended = False
            entry = NONE
            if states[state].ends:
                entry = _pull(stack, counts, locations, location, state)
                ended = entry >= 0
                counts[0].states += ended
                if ended and entry == locations[location].call_entry:
                    lines[k].owner, lines[k].owner_number = CALL_END, locations[location].calls
                    _return_call(open_calls, locations, location, calls, counts)
                elif ended and stack[entry].region >= 0:
                    _leave(regions, stack, entry, locations, location, counts)
            if states[state].begins:
                _begin(lines, k, states, locations, open_calls, stack, counts)
            elif not ended:
                lines[k].status = TOO_DEEP if entry == UNKNOWN else NOT_OPEN
        elif lines[k].type != MESSAGE_SENT and lines[k].type != MESSAGE_RECEIVED:
            counts[0].singles += 1
            if locations[location].call_entry >= 0:
                lines[k].owner, lines[k].owner_number = SINGLE, locations[location].calls
        elif locations[location].call_entry < 0 and lines[k].status == INTERNAL:
            counts[0].internal_messages += 1
        else:
            outside: cython.bint = locations[location].call_entry < 0
            if outside:
                _open_call(open_calls, locations, location, send if lines[k].type == MESSAGE_SENT else receive)
                open_calls[location].internal = BARE
            _add_message(lines, k, routines, locations, open_calls, messages, counts)
            if outside:
                _return_call(open_calls, locations, location, calls, counts)


def close(
    locations: Location[::1], open_calls: Call[::1], stack: Entry[::1], counts: Counts[::1], calls: Call[::1], regions: Region[::1]
) -> None:
    """End what is still open on every location at its last instant; the outputs have room for all."""
    location: I4
    for location in range(len(locations)):
        while locations[location].top >= 0:
            entry = locations[location].top
            locations[location].top = stack[entry].below
            if entry == locations[location].call_entry:
                _return_call(open_calls, locations, location, calls, counts)
            elif stack[entry].region >= 0:
                _leave(regions, stack, entry, locations, location, counts)
