# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""ALOG text to rows: a row per line, `type process task data cycle time`, then tag and bytes; a row per value behind its `@`."""

from __future__ import annotations

import cython

from perwiz.kernels import alog

if cython.compiled:
    from cython.cimports.perwiz.kernels.alog import Line

EVENT = cython.declare(cython.int, alog.EVENT)
HEADER = cython.declare(cython.int, alog.HEADER)
BLANK = cython.declare(cython.int, alog.BLANK)
INTERNAL = cython.declare(cython.int, alog.INTERNAL)
NOT_INTEGERS = cython.declare(cython.int, alog.NOT_INTEGERS)
OUT_OF_RANGE = cython.declare(cython.int, alog.OUT_OF_RANGE)
NO_TAG_AND_BYTES = cython.declare(cython.int, alog.NO_TAG_AND_BYTES)
NOBODY = cython.declare(cython.int, alog.NOBODY)
UNKNOWN = cython.declare(cython.int, alog.UNKNOWN)
NONE = cython.declare(cython.int, alog.NONE)
MESSAGE_SENT = cython.declare(cython.int, alog.MESSAGE_SENT)
MESSAGE_RECEIVED = cython.declare(cython.int, alog.MESSAGE_RECEIVED)
LAST_HEADER = cython.declare(cython.int, alog.LAST_HEADER)
STATE_EVENT = cython.declare(cython.int, alog.STATE_EVENT)
MOST_DIGITS = cython.declare(cython.int, 18)
MOST_MICROSECONDS = cython.declare(cython.longlong, 10**15 - 1)
MOST_BYTES = cython.declare(cython.longlong, 2**50)
MOST_SMALL = cython.declare(cython.longlong, 2**31 - 1)
LOW_HASH = cython.declare(cython.longlong, 2**50 - 1)
HASH = cython.declare(cython.longlong, 2**61 - 1)

I8 = cython.typedef(cython.longlong)

Note = cython.struct(line=I8, key=I8, value=I8, text=I8, word_end=I8)
Number = cython.struct(value=I8, end=cython.Py_ssize_t)
"""A number of a line and the place behind it, or minus the status of damage."""


@cython.cfunc
def _blank(letter: cython.uchar) -> cython.bint:
    return letter == ord(" ") or letter == ord("\t")


@cython.cfunc
def _digit(letter: cython.uchar) -> cython.bint:
    return ord("0") <= letter <= ord("9")


@cython.cfunc
def _past_blanks(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < end and _blank(text[i]):
        i += 1
    return i


@cython.cfunc
@cython.exceptval(check=False)
def _integer(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Number:
    """Return the integer at i, behind blanks; after damage, that damage."""
    value: I8 = 0
    if i < 0:
        return Number(value=0, end=i)
    i = _past_blanks(text, i, end)
    negative: cython.bint = i < end and text[i] == ord("-")
    if negative or (i < end and text[i] == ord("+")):
        i += 1
    first = i
    while i < end and _digit(text[i]):
        if i - first >= MOST_DIGITS:
            return Number(value=0, end=-OUT_OF_RANGE)
        value = value * 10 + (text[i] - ord("0"))
        i += 1
    return Number(value=-value if negative else value, end=i if i > first else -NOT_INTEGERS)


@cython.cfunc
@cython.exceptval(check=False)
def _cell(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Number:
    """Return the integer at i, with a blank or nothing behind it."""
    number = _integer(text, i, end)
    if 0 <= number.end < end and not _blank(text[number.end]):
        number.end = -NOT_INTEGERS
    return number


@cython.cfunc
@cython.exceptval(check=False)
def _time(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Number:
    """Return the us at i in ns, rounded at the fourth decimal, with a blank or nothing behind them."""
    weight: cython.int = 100
    number = _integer(text, i, end)
    if number.end < 0:
        return number
    negative: cython.bint = text[_past_blanks(text, i, end)] == ord("-")
    ns: I8 = -number.value if negative else number.value
    if ns > MOST_MICROSECONDS:
        return Number(value=0, end=-OUT_OF_RANGE)
    i = number.end
    ns *= 1000
    if i < end and text[i] == ord("."):
        i += 1
        for decimal in range(4):
            if i + decimal == end or not _digit(text[i + decimal]):
                break
            if decimal < 3:
                ns += weight * (text[i + decimal] - ord("0"))
                weight = weight // 10
            elif text[i + decimal] >= ord("5"):
                ns += 1
        while i < end and _digit(text[i]):
            i += 1
    return Number(value=-ns if negative else ns, end=i if i == end or _blank(text[i]) else -NOT_INTEGERS)


@cython.cfunc
def _numbers(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, lines: Line[::1], k: cython.Py_ssize_t
) -> cython.int:
    """Read the first six numbers of a line, of a message two more, and find its string; return EVENT or what is wrong."""
    number = _cell(text, i, end)
    lines[k].type = number.value
    number = _cell(text, number.end, end)
    lines[k].process = number.value
    number = _cell(text, number.end, end)
    lines[k].task = number.value
    number = _cell(text, number.end, end)
    lines[k].int_data = number.value
    number = _cell(text, number.end, end)
    lines[k].cycle = number.value
    number = _time(text, number.end, end)
    lines[k].time = number.value
    if number.end < 0:
        return -number.end
    lines[k].text = _past_blanks(text, number.end, end)
    if lines[k].type == MESSAGE_SENT or lines[k].type == MESSAGE_RECEIVED:
        number = _integer(text, number.end, end)
        lines[k].tag = number.value
        number = _integer(text, number.end, end)
        lines[k].bytes = number.value
        if number.end < 0:
            return NO_TAG_AND_BYTES if number.end == -NOT_INTEGERS else OUT_OF_RANGE
    return EVENT


@cython.cfunc
def _small(value: I8) -> cython.bint:
    return -MOST_SMALL - 1 <= value <= MOST_SMALL


@cython.cfunc
def _judge(lines: Line[::1], k: cython.Py_ssize_t) -> cython.int:
    """Return what the numbers of a line make: EVENT, HEADER or OUT_OF_RANGE."""
    kind = lines[k].type
    small: cython.bint = _small(kind) and _small(lines[k].process) and _small(lines[k].task) and _small(lines[k].cycle)
    if not small or (kind < STATE_EVENT and not _small(lines[k].int_data)):
        return OUT_OF_RANGE
    if LAST_HEADER <= kind < STATE_EVENT:
        return HEADER
    if lines[k].process < 0 or lines[k].task < 0 or lines[k].cycle < 0 or lines[k].time < 0:
        return OUT_OF_RANGE
    if kind != MESSAGE_SENT and kind != MESSAGE_RECEIVED:
        return EVENT
    return EVENT if _small(lines[k].tag) and 0 <= lines[k].bytes <= MOST_BYTES else OUT_OF_RANGE


@cython.cfunc
def _past_at_sign(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the place behind the word `@` in [i, end), or NONE."""
    for k in range(i, end):
        if text[k] == ord("@") and (k == i or _blank(text[k - 1])):
            if k + 1 == end or _blank(text[k + 1]):
                return k + 1
    return NONE


def parse(text: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, lines: Line[::1]) -> tuple:
    """Fill `lines` with those of `text` from `start` on; return how many were filled and where the next one starts."""
    k: cython.Py_ssize_t = 0
    i = start
    while i < len(text) and k < len(lines):
        end = i
        while end < len(text) and text[end] != ord("\n"):
            end += 1
        following = end + 1
        if end > i and text[end - 1] == ord("\r"):
            end -= 1
        lines[k].text, lines[k].text_end, lines[k].attributes, lines[k].owner = i, end, NONE, NOBODY
        i = _past_blanks(text, i, end)
        if i == end or text[i] == ord("#"):
            lines[k].status = BLANK
        else:
            lines[k].status = _numbers(text, i, end, lines, k)
            if lines[k].status == EVENT:
                lines[k].status = _judge(lines, k)
            if lines[k].status == EVENT and lines[k].text < end:
                lines[k].attributes = _past_at_sign(text, lines[k].text, end)
        k += 1
        i = following
    return k, i


def look_up(lines: Line[::1], states: cython.const[cython.int][::1], locations: cython.const[cython.int][::1]) -> int:
    """Write state and location of events with a type, and task 0 of a process, in the tables; return how many have UNKNOWN in one."""
    left: cython.Py_ssize_t = 0
    for k in range(len(lines)):
        if lines[k].status != EVENT:
            continue
        lines[k].location = lines[k].state = UNKNOWN
        if lines[k].type < STATE_EVENT:
            lines[k].state = NONE
        elif lines[k].type < len(states):
            lines[k].state = states[lines[k].type]
        if lines[k].task == 0 and lines[k].process < len(locations):
            lines[k].location = locations[lines[k].process]
        if lines[k].location == UNKNOWN or lines[k].state == UNKNOWN:
            left += 1
    return left


@cython.cfunc
def _value(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> I8:
    """Return the integer at [i, end), or for other text a 61-bit hash of it, negated and not above -2**61."""
    value: I8 = 0
    hashed: I8 = 0
    plain: cython.bint = end - i <= MOST_DIGITS
    negative: cython.bint = i < end and text[i] == ord("-")
    if negative:
        hashed = ord("-") + 1
        i += 1
    plain = plain and i < end
    while i < end:
        plain = plain and _digit(text[i])
        if plain:
            value = value * 10 + (text[i] - ord("0"))
        hashed = ((hashed & LOW_HASH) * 1021 + text[i] + 1) & HASH
        i += 1
    if plain:
        return -value if negative else value
    return -HASH - 1 - hashed


@cython.cfunc
def _word(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, notes: Note[::1], count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Write the values of one word [i, end) to `notes` from row `count` on; return the new count. No `=`, no value; `o` has no list."""
    key: I8 = 0
    first = i
    while i < end and text[i] != ord("="):
        key = key * 256 + text[i] if i - first < 2 else 0
        i += 1
    while i < end:
        i += 1
        k = i
        while k < end and (text[k] != ord(",") or key == ord("o")):
            k += 1
        notes[count].key, notes[count].value, notes[count].text, notes[count].word_end = key, _value(text, i, k), i, end
        count += 1
        i = k
    return count


def parse_attributes(text: cython.const[cython.uchar][::1], lines: Line[::1], notes: Note[::1]) -> int:
    """Fill `notes` with the attributes of all events; return their number.

    A key is the number of its one or two letters, 256 * first + second; 0 for a longer one. n=1 makes a line INTERNAL.
    """
    count: cython.Py_ssize_t = 0
    for k in range(len(lines)):
        if lines[k].attributes < 0 or lines[k].status != EVENT:
            continue
        i = lines[k].attributes
        while i < lines[k].text_end:
            end = i
            while end < lines[k].text_end and not _blank(text[end]):
                end += 1
            note = count
            count = _word(text, i, end, notes, count)
            while note < count:
                notes[note].line = k
                if notes[note].key == ord("n") and notes[note].value == 1:
                    lines[k].status = INTERNAL
                note += 1
            i = end + 1
    return count
