# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Lines of Paraver to rows: numbers between colons, `1:` a state, `2:` events, `3:` a message."""

from __future__ import annotations

import cython

from perwiz.kernels import paraver

if cython.compiled:
    from cython.cimports.perwiz.kernels.paraver import Message, Pair

HEADER = cython.declare(cython.int, paraver.HEADER)
OUT_OF_RANGE = cython.declare(cython.int, paraver.OUT_OF_RANGE)
NO_RECORD = cython.declare(cython.int, paraver.NO_RECORD)
IDLES = cython.declare(cython.int, paraver.IDLES)
FULL = cython.declare(cython.int, 0)
"""Instead of what is wrong: there is no room for the line."""
MOST_DIGITS = cython.declare(cython.int, 18)
IDLE = cython.declare(cython.int, 0)
LARGEST = cython.declare(cython.longlong, 2**63 - 1)
LAST_TIME = cython.declare(cython.longlong, 2**60)
MOST_BYTES = cython.declare(cython.longlong, 2**50)
MOST_SMALL = cython.declare(cython.longlong, 2**31 - 1)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)

Other = cython.struct(line=I8, begin=I8, end=I8, what=I8)
Lines = cython.struct(states=I8, events=I8, pairs=I8, messages=I8, others=I8, lines=I8, following=I8)
Number = cython.struct(value=I8, end=cython.Py_ssize_t)
"""A number and the place behind it and its colon, or -1 as its end if there is none."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _over(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.bint:
    """Return whether the line ends at i: the text does, or here is a newline, or a carriage return before either."""
    if i >= len(text):
        return True
    if text[i] > ord("\r"):
        return False
    return text[i] == ord("\n") or (text[i] == ord("\r") and (i + 1 == len(text) or text[i + 1] == ord("\n")))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _number(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> Number:
    """Return the number at i, that and the colon behind it passed; one beyond 2**63 - 1 as that; behind no number, none."""
    value: I8 = 0
    if i < 0:
        return Number(value=0, end=-1)
    negative: cython.bint = i < len(text) and text[i] == ord("-")
    if negative:
        i += 1
    first = i
    while i < len(text) and ord("0") <= text[i] <= ord("9"):
        value = value * 10 + (text[i] - ord("0"))
        i += 1
    if i == first:
        return Number(value=0, end=-1)
    if i - first > MOST_DIGITS:
        value = _large(text, first, i)
    if i < len(text) and text[i] == ord(":"):
        i += 1
        if _over(text, i):
            return Number(value=0, end=-1)
    elif not _over(text, i):
        return Number(value=0, end=-1)
    return Number(value=-value if negative else value, end=i)


@cython.cfunc
@cython.exceptval(check=False)
def _large(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> I8:
    """Return the number of many digits at i, or the largest there is."""
    value: I8 = 0
    while i < end:
        digit: I8 = text[i] - ord("0")
        value = value * 10 + digit if value <= (LARGEST - digit) // 10 else LARGEST
        i += 1
    return value


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _place(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    tasks: cython.const[cython.int][::1],
    threads: cython.const[cython.int][::1],
) -> Number:
    """Return the location of `cpu:application:task:thread:` at i, -1 for one that the header does not declare."""
    number = _number(text, i)
    application = _number(text, number.end)
    task = _number(text, application.end)
    thread = _number(text, task.end)
    location: I8 = -1
    if thread.end >= 0 and 1 <= application.value < len(tasks):
        application_tasks: I8 = tasks[application.value] - tasks[application.value - 1]
        if 1 <= task.value <= application_tasks:
            row = tasks[application.value - 1] + task.value - 1
            of_task: I8 = threads[row + 1] - threads[row]
            if 1 <= thread.value <= of_task:
                location = threads[row] + thread.value - 1
    return Number(value=location, end=thread.end)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _state(text: cython.const[cython.uchar][::1], begin: Number, scale: I8, pairs: Pair[::1], counts: Lines[::1]) -> cython.Py_ssize_t:
    """Read a state behind its place; return where the line ends, or minus what is wrong."""
    since = _number(text, begin.end)
    until = _number(text, since.end)
    state = _number(text, until.end)
    if state.end < 0 or not _over(text, state.end):
        return -NO_RECORD
    if begin.value < 0 or since.value < 0 or until.value < since.value or until.value > LAST_TIME // scale:
        return -OUT_OF_RANGE
    counts[0].states += 1
    if state.value == IDLE:
        k = counts[0].pairs
        pairs[k].time, pairs[k].type, pairs[k].value, pairs[k].last = since.value * scale, IDLES, until.value * scale, 1
        pairs[k].line, pairs[k].location = counts[0].lines, cython.cast(I4, begin.value)
        counts[0].pairs += 1
    return state.end


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _events(text: cython.const[cython.uchar][::1], begin: Number, scale: I8, pairs: Pair[::1], counts: Lines[::1]) -> cython.Py_ssize_t:
    """Read the events of a line behind its place; return where it ends, minus what is wrong, or FULL."""
    k = counts[0].pairs
    time = _number(text, begin.end)
    at = time.end
    if at < 0 or _over(text, at):
        return -NO_RECORD
    if begin.value < 0 or time.value < 0 or time.value > LAST_TIME // scale:
        return -OUT_OF_RANGE
    while not _over(text, at):
        kind = _number(text, at)
        value = _number(text, kind.end)
        if value.end < 0:
            return -NO_RECORD
        if k == len(pairs):
            return FULL
        pairs[k].time, pairs[k].type, pairs[k].value, pairs[k].last = time.value * scale, kind.value, value.value, 0
        pairs[k].line, pairs[k].location = counts[0].lines, cython.cast(I4, begin.value)
        if kind.value < 0:
            return -OUT_OF_RANGE
        k += 1
        at = value.end
    pairs[k - 1].last = 1
    counts[0].events += 1
    counts[0].pairs = k
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _message(
    text: cython.const[cython.uchar][::1],
    sender: Number,
    tasks: cython.const[cython.int][::1],
    threads: cython.const[cython.int][::1],
    scale: I8,
    messages: Message[::1],
    counts: Lines[::1],
) -> cython.Py_ssize_t:
    """Read a message behind the place of its sender; return where the line ends, or minus what is wrong."""
    posted = _number(text, sender.end)
    gone = _number(text, posted.end)
    receiver = _place(text, gone.end, tasks, threads)
    awaited = _number(text, receiver.end)
    came = _number(text, awaited.end)
    size = _number(text, came.end)
    tag = _number(text, size.end)
    if tag.end < 0 or not _over(text, tag.end):
        return -NO_RECORD
    latest = max(awaited.value, came.value)
    latest = max(latest, posted.value)
    early = min(awaited.value, posted.value)
    early = min(early, came.value)
    if sender.value < 0 or receiver.value < 0 or early < 0 or latest > LAST_TIME // scale:
        return -OUT_OF_RANGE
    if size.value < 0 or size.value > MOST_BYTES or tag.value < -1 or tag.value > MOST_SMALL:
        return -OUT_OF_RANGE
    k = counts[0].messages
    messages[k].posted, messages[k].awaited, messages[k].came = posted.value * scale, awaited.value * scale, came.value * scale
    messages[k].bytes, messages[k].tag = size.value, tag.value
    messages[k].sender, messages[k].receiver = cython.cast(I4, sender.value), cython.cast(I4, receiver.value)
    counts[0].messages += 1
    return tag.end


def parse(
    text: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    tasks: cython.const[cython.int][::1],
    threads: cython.const[cython.int][::1],
    scale: I8,
    pairs: Pair[::1],
    messages: Message[::1],
    others: Other[::1],
    counts: Lines[::1],
) -> None:
    """Read lines of `text` from `start` on until a buffer is full; `counts` holds the number of lines before, and no rows.

    `tasks` are those before each application, `threads` the locations before each task; `scale` is the unit of time in ns.
    """
    i = start
    while i < len(text):
        if counts[0].messages == len(messages) or counts[0].others == len(others) or counts[0].pairs == len(pairs):
            break
        counts[0].lines += 1
        end: cython.Py_ssize_t = i
        what: cython.int = 0
        if i + 1 < len(text) and text[i + 1] == ord(":") and ord("1") <= text[i] <= ord("3"):
            place = _place(text, i + 2, tasks, threads)
            if text[i] == ord("1"):
                end = _state(text, place, scale, pairs, counts)
            elif text[i] == ord("2"):
                end = _events(text, place, scale, pairs, counts)
                if end == FULL:
                    counts[0].lines -= 1
                    break
            else:
                end = _message(text, place, tasks, threads, scale, messages, counts)
            if end < 0:
                what = cython.cast(cython.int, -end)
                end = i
        elif text[i] != ord("#") and not _over(text, i):
            header: cython.bint = text[i] == ord("c") or text[i] == ord("C") or text[i] == ord("i") or text[i] == ord("I")
            what = HEADER if header else NO_RECORD
        while end < len(text) and text[end] != ord("\n"):
            end += 1
        if what != 0:
            k = counts[0].others
            others[k].line, others[k].begin, others[k].end, others[k].what = counts[0].lines, i, end, what
            if text[end - 1] == ord("\r"):
                others[k].end -= 1
            counts[0].others += 1
        i = end + 1
    counts[0].following = min(i, len(text))
