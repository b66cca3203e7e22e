# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Objects of Trace Event JSON to rows. Texts have numbers, by an open hash table (-1 empty, size a power of two)."""

from __future__ import annotations

import cython

from perwiz.kernels import chrome

if cython.compiled:
    from cython.cimports.perwiz.kernels.chrome_numbers import count, scaled, small
else:
    from perwiz.kernels.chrome_numbers import count, scaled, small

PH = cython.declare(cython.int, chrome.PH)
CAT = cython.declare(cython.int, chrome.CAT)
NAME = cython.declare(cython.int, chrome.NAME)
PID = cython.declare(cython.int, chrome.PID)
TID = cython.declare(cython.int, chrome.TID)
TS = cython.declare(cython.int, chrome.TS)
DUR = cython.declare(cython.int, chrome.DUR)
ARGS = cython.declare(cython.int, chrome.ARGS)
CORRELATION = cython.declare(cython.int, chrome.CORRELATION)
BYTES = cython.declare(cython.int, chrome.BYTES)
COLLECTIVE = cython.declare(cython.int, chrome.COLLECTIVE)
GROUP = cython.declare(cython.int, chrome.GROUP)
RANKS = cython.declare(cython.int, chrome.RANKS)
SENT = cython.declare(cython.int, chrome.SENT)
RECEIVED = cython.declare(cython.int, chrome.RECEIVED)
DTYPE = cython.declare(cython.int, chrome.DTYPE)
SEQUENCE = cython.declare(cython.int, chrome.SEQUENCE)
SOURCE = cython.declare(cython.int, chrome.SOURCE)
TARGET = cython.declare(cython.int, chrome.TARGET)
FIRST = cython.declare(cython.int, chrome.FIRST)
STRIDE = cython.declare(cython.int, chrome.STRIDE)
SIZE = cython.declare(cython.int, chrome.SIZE)
SHAPES = cython.declare(cython.int, chrome.SHAPES)
TYPES = cython.declare(cython.int, chrome.TYPES)
INPUTS = cython.declare(cython.int, chrome.INPUTS)
AWAITED = cython.declare(cython.int, chrome.AWAITED)
RECORD = cython.declare(cython.int, chrome.RECORD)
SHAPED = cython.declare(cython.int, chrome.SHAPED)
SENDS = cython.declare(cython.int, chrome.SENDS)
RECEIVES = cython.declare(cython.int, chrome.RECEIVES)
MORE = cython.declare(cython.int, chrome.MORE)
DONE = cython.declare(cython.int, chrome.DONE)
ROOM = cython.declare(cython.int, chrome.ROOM)
BROKEN = cython.declare(cython.int, chrome.BROKEN)
LONGEST_TEXT = cython.declare(cython.longlong, chrome.LONGEST_TEXT)
NO_NUMBER = cython.declare(cython.longlong, chrome.NO_NUMBER)
BITS = cython.declare(cython.longlong, 2**40 - 1)
MIX = cython.declare(cython.longlong, 4194301)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)

Event = cython.struct(time=I8, duration=I8, correlation=I8, bytes=I8, category=I4, name=I4, process=I4, thread=I4, detail=I4)
Detail = cython.struct(
    sent=I8, received=I8, sequence=I8, record=I8, collective=I4, group=I4, ranks=I4, element=I4, shapes=I4, source=I4, target=I4, first=I4,
    stride=I4, members=I4, awaited=I4, inputs=I4,
)  # fmt: skip
Text = cython.struct(mixed=I8, begin=I8, length=I8)
Span = cython.struct(begin=I8, end=I8)
"""Where the bytes of a value stand, those of a text without its quotes."""
State = cython.struct(at=I8, events=I8, details=I8, texts=I8, used=I8, records=I8, bad=I8, status=I4)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _behind_space(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I8:
    """Return the next place with something else than space, commas and colons."""
    while i < end and (text[i] <= 32 or text[i] == ord(",") or text[i] == ord(":")):
        i += 1
    return i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _behind_text(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I8:
    """Return the place behind the text whose opening quote is at i, -1 if it does not end."""
    i += 1
    while i < end:
        if text[i] == ord('"'):
            return i + 1
        i += 2 if text[i] == ord("\\") else 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _behind(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I8:
    """Return the place behind the value at i, which is not behind its last one, -1 if it does not end."""
    depth: I8 = 0
    while i < end:
        c = text[i]
        if c == ord('"'):
            i = _behind_text(text, i, end)
            if i < 0:
                return -1
            if depth == 0:
                return i
            continue
        if c == ord("{") or c == ord("["):
            depth += 1
        elif c == ord("}") or c == ord("]"):
            depth -= 1
            if depth == 0:
                return i + 1
        elif depth == 0 and (c <= 32 or c == ord(",") or c == ord(":")):
            return i
        i += 1
    return -1 if depth > 0 else i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _span(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> Span:
    """Return what the value at i, before `end`, holds: a text without its quotes, else the value as it stands."""
    if text[i] == ord('"'):
        return Span(begin=i + 1, end=end - 1)
    return Span(begin=i, end=end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slot(
    text: cython.const[cython.uchar][::1],
    value: Span,
    table: I4[::1],
    known: Text[::1],
    bytes: cython.const[cython.uchar][::1],
    mixed: I8,
) -> I8:
    """Return the slot of a text: that of its number, or the empty one where it belongs."""
    last: I8 = len(table) - 1
    slot: I8 = mixed & last
    while table[slot] >= 0:
        row: I4 = table[slot]
        if known[row].mixed == mixed and known[row].length == value.end - value.begin:
            k: I8 = 0
            while k < known[row].length and bytes[known[row].begin + k] == text[value.begin + k]:
                k += 1
            if k == known[row].length:
                return slot
        slot = (slot + 1) & last
    return slot


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _mixed(text: cython.const[cython.uchar][::1], value: Span, seed: I8) -> I8:
    """Return the bytes mixed, in 40 bits so that interpreted runs agree."""
    mixed: I8 = seed & BITS
    i: I8 = value.begin
    while i < value.end:
        mixed = ((mixed ^ text[i]) * MIX) & BITS
        mixed ^= mixed >> 17
        i += 1
    return mixed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(
    text: cython.const[cython.uchar][::1],
    value: Span,
    seed: I8,
    table: I4[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    state: State[::1],
) -> I4:
    """Return the number of a text, a new one if it has none; -1 for one that is too long, or if there is no room for a new one."""
    length: I8 = value.end - value.begin
    if length > LONGEST_TEXT:
        return -1
    mixed: I8 = _mixed(text, value, seed)
    slot: I8 = _slot(text, value, table, known, bytes, mixed)
    if table[slot] < 0:
        row: I8 = state[0].texts
        if row >= len(known):
            return -1
        table[slot] = cython.cast(cython.int, row)
        known[row].mixed, known[row].begin, known[row].length = mixed, state[0].used, length
        k: I8 = 0
        while k < length:
            bytes[state[0].used + k] = text[value.begin + k]
            k += 1
        state[0].used += length
        state[0].texts += 1
    return table[slot]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _blank(details: Detail[::1], row: I8) -> cython.void:
    """Let a detail tell nothing."""
    details[row].sent = details[row].received = details[row].sequence = details[row].record = -1
    details[row].collective = details[row].group = details[row].ranks = details[row].element = details[row].shapes = -1
    details[row].source = details[row].target = details[row].first = details[row].stride = details[row].members = -1
    details[row].awaited = details[row].inputs = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _detail(
    text: cython.const[cython.uchar][::1],
    key: I4,
    value: Span,
    seed: I8,
    table: I4[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    events: Event[::1],
    details: Detail[::1],
    state: State[::1],
) -> cython.void:
    """Take what one of the arguments of the event at hand tells."""
    event: I8 = state[0].events
    if key == CORRELATION:
        events[event].correlation = count(text, value.begin, value.end)
        return
    if key == BYTES:
        events[event].bytes = count(text, value.begin, value.end)
        return
    if events[event].detail < 0:
        events[event].detail = cython.cast(cython.int, state[0].details)
        _blank(details, state[0].details)
    row: I8 = state[0].details
    if key == COLLECTIVE:
        details[row].collective = _number(text, value, seed, table, known, bytes, state)
    elif key == GROUP:
        details[row].group = _number(text, value, seed, table, known, bytes, state)
    elif key == RANKS:
        details[row].ranks = _number(text, value, seed, table, known, bytes, state)
    elif key in (DTYPE, TYPES):
        details[row].element = _number(text, value, seed, table, known, bytes, state)
    elif key == SHAPES:
        details[row].shapes = _number(text, value, seed, table, known, bytes, state)
    elif key == INPUTS:
        details[row].inputs = _number(text, value, seed, table, known, bytes, state)
    elif key == SENT:
        details[row].sent = count(text, value.begin, value.end)
    elif key == RECEIVED:
        details[row].received = count(text, value.begin, value.end)
    elif key == SEQUENCE:
        details[row].sequence = count(text, value.begin, value.end)
    elif key == RECORD:
        details[row].record = count(text, value.begin, value.end)
    elif key == SOURCE:
        details[row].source = small(text, value.begin, value.end)
    elif key == TARGET:
        details[row].target = small(text, value.begin, value.end)
    elif key == FIRST:
        details[row].first = small(text, value.begin, value.end)
    elif key == STRIDE:
        details[row].stride = small(text, value.begin, value.end)
    elif key == SIZE:
        details[row].members = small(text, value.begin, value.end)
    elif key == AWAITED:
        details[row].awaited = small(text, value.begin, value.end)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _tells(event: Event[::1], row: I8, key: I4) -> cython.bint:
    """Return whether an argument of an event is one to take: of shapes and inputs, which every operator has, not all are."""
    if key in (SHAPES, TYPES):
        return event[row].category == SHAPED
    if key == INPUTS:
        return event[row].name in (SENDS, RECEIVES)
    return CORRELATION <= key <= RECORD


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fields(
    text: cython.const[cython.uchar][::1],
    begin: I8,
    end: I8,
    inside: cython.bint,
    seed: I8,
    table: I4[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    events: Event[::1],
    details: Detail[::1],
    state: State[::1],
) -> I4:
    """Take the fields of an object, those of its arguments if `inside`; return its phase, 0 for none, -1 where that is no object.

    In an object that ends, as this one does, brackets and texts end, too.
    """
    phase: I4 = 0
    event: I8 = state[0].events
    i: I8 = _behind_space(text, begin, end)
    while i < end:
        if text[i] != ord('"'):
            return -1
        behind: I8 = _behind_text(text, i, end)
        name = Span(begin=i + 1, end=behind - 1)
        key: I4 = -1
        if name.end - name.begin <= 40:
            key = table[_slot(text, name, table, known, bytes, _mixed(text, name, seed))]
        i = _behind_space(text, behind, end)
        if i >= end:
            return -1
        behind = _behind(text, i, end)
        value = _span(text, i, behind)
        if inside:
            if _tells(events, event, key):
                _detail(text, key, value, seed, table, known, bytes, events, details, state)
        elif key == PH:
            phase = text[value.begin] if value.end - value.begin == 1 else 0
        elif key == CAT:
            events[event].category = _number(text, value, seed, table, known, bytes, state)
        elif key == NAME:
            events[event].name = _number(text, value, seed, table, known, bytes, state)
        elif key == PID:
            events[event].process = _number(text, value, seed, table, known, bytes, state)
        elif key == TID:
            events[event].thread = _number(text, value, seed, table, known, bytes, state)
        elif key == TS:
            events[event].time = scaled(text, value.begin, value.end, 3)
        elif key == DUR:
            events[event].duration = scaled(text, value.begin, value.end, 3)
        elif key == ARGS and text[i] == ord("{"):
            if _fields(text, i + 1, behind - 1, True, seed, table, known, bytes, events, details, state) < 0:
                return -1
        i = _behind_space(text, behind, end)
    return phase


def number(
    text: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    seed: cython.longlong,
    table: cython.int[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    state: State[::1],
) -> None:
    """Give numbers to texts that stand one behind the other, each to its end."""
    begin: I8 = 0
    for k in range(len(ends)):
        _number(text, Span(begin=begin, end=ends[k]), seed, table, known, bytes, state)
        begin = ends[k]


def spread(known: cython.const[Text][::1], table: cython.int[::1]) -> None:
    """Put the numbers of texts into an empty table."""
    last: I8 = len(table) - 1
    for k in range(len(known)):
        slot: I8 = known[k].mixed & last
        while table[slot] >= 0:
            slot = (slot + 1) & last
        table[slot] = cython.cast(cython.int, k)


def parse(
    text: cython.const[cython.uchar][::1],
    last: cython.bint,
    seed: cython.longlong,
    table: cython.int[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    events: Event[::1],
    details: Detail[::1],
    state: State[::1],
) -> None:
    """Take the objects of a list of events from `state[0].at` on, until the text, the list or the room ends; the status says which.

    Kept are complete events (`X`); of others it counts that there are some. The text may be cut anywhere: what is cut is left, or is bad
    if the text is the `last`.
    """
    with cython.nogil:
        _objects(text, last, seed, table, known, bytes, events, details, state)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _objects(
    text: cython.const[cython.uchar][::1],
    last: cython.bint,
    seed: cython.longlong,
    table: cython.int[::1],
    known: Text[::1],
    bytes: cython.uchar[::1],
    events: Event[::1],
    details: Detail[::1],
    state: State[::1],
) -> cython.void:
    """Take objects, as `parse` says."""
    end: I8 = len(text)
    while True:
        i: I8 = _behind_space(text, state[0].at, end)
        state[0].at = i
        if i >= end:
            state[0].status = MORE
            return
        if text[i] == ord("]"):
            state[0].at, state[0].status = i + 1, DONE
            return
        if text[i] != ord("{"):
            state[0].status = BROKEN
            return
        behind: I8 = _behind(text, i, end)
        if behind < 0:
            if last:
                state[0].bad += 1
            state[0].status = MORE
            return
        row: I8 = state[0].events
        full: cython.bint = row >= len(events) or state[0].details >= len(details)
        if full or 2 * (state[0].texts + 16) > len(table) or state[0].used + behind - i > len(bytes):
            state[0].status = ROOM
            return
        events[row].time = events[row].duration = NO_NUMBER
        events[row].correlation = events[row].bytes = -1
        events[row].category = events[row].name = events[row].process = events[row].thread = events[row].detail = -1
        state[0].records += 1
        phase: I4 = _fields(text, i + 1, behind - 1, False, seed, table, known, bytes, events, details, state)
        if phase == ord("X"):
            if events[row].time > NO_NUMBER and events[row].duration >= 0 and events[row].name >= 0:
                state[0].events += 1
                if events[row].detail >= 0:
                    state[0].details += 1
            else:
                state[0].bad += 1
        elif phase <= 0:
            state[0].bad += 1
        state[0].at = behind
