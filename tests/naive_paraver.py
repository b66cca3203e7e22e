"""The slow, obvious twins of the kernels that read Paraver: regular expressions and loops."""

from __future__ import annotations

import re

LARGEST = 2**63 - 1
LAST_TIME, MOST_BYTES, MOST_TAG = 2**60, 2**50, 2**31 - 1
HEADER, OUT_OF_RANGE, NO_RECORD = -1, 1, 15
_RECORD = re.compile(rb"[123](:-?[0-9]+)+")


def lines(text, threads, scale):
    """Return (pairs, messages, other lines) of a text; `threads` holds a list per application of a number per task."""
    places = {}
    for application, tasks in enumerate(threads, 1):
        for task, count in enumerate(tasks, 1):
            for thread in range(1, count + 1):
                places[application, task, thread] = len(places)
    pairs, messages, others, start = [], [], [], 0
    for number, raw in enumerate(text.removesuffix(b"\n").split(b"\n") if text else [], 1):
        line = raw.removesuffix(b"\r")
        what = record(line, number, places, scale, pairs, messages)
        if what:
            others.append((number, start, start + len(line), what))
        start += len(raw) + 1
    return pairs, messages, others


def record(line, number, places, scale, pairs, messages):
    """Take a line; return 0 or what is wrong."""
    if not line or line[:1] == b"#":
        return 0
    if len(line) < 2 or line[:1] not in b"123" or line[1:2] != b":":
        return HEADER if line[:1] in b"cCiI" else NO_RECORD
    kind, *words = line.split(b":")
    if kind == b"2":
        return events(words, number, places, scale, pairs)
    if not _RECORD.fullmatch(line) or len(words) != (7 if kind == b"1" else 14):
        return NO_RECORD
    values = [max(-LARGEST, min(int(word), LARGEST)) for word in words]
    sender = places.get(tuple(values[1:4]), -1)
    if kind == b"1":
        begin, end, state = values[4:]
        if sender < 0 or not 0 <= begin <= end <= LAST_TIME // scale:
            return OUT_OF_RANGE
        if state == 0:
            pairs.append((begin * scale, -1, end * scale, number, sender, 1))
        return 0
    receiver = places.get(tuple(values[7:10]), -1)
    times, (size, tag) = (values[4], values[10], values[11]), values[12:]
    if min(sender, receiver) < 0 or not all(0 <= time <= LAST_TIME // scale for time in times):
        return OUT_OF_RANGE
    if not (0 <= size <= MOST_BYTES and -1 <= tag <= MOST_TAG):
        return OUT_OF_RANGE
    messages.append((*(time * scale for time in times), size, tag, sender, receiver))
    return 0


def events(words, number, places, scale, pairs):
    """Take the numbers of a line of events: the first thing that is wrong with them, from left to right, counts."""
    values = [max(-LARGEST, min(int(word), LARGEST)) if re.fullmatch(rb"-?[0-9]+", word) else None for word in words]
    if len(values) < 6 or None in values[:5]:
        return NO_RECORD
    place = places.get(tuple(values[1:4]), -1)
    if place < 0 or not 0 <= values[4] <= LAST_TIME // scale:
        return OUT_OF_RANGE
    found = []
    for at in range(5, len(values), 2):
        pair = values[at : at + 2]
        if len(pair) < 2 or None in pair:
            return NO_RECORD
        if pair[0] < 0:
            return OUT_OF_RANGE
        found.append((values[4] * scale, *pair, number, place, 0))
    pairs += [*found[:-1], (*found[-1][:-1], 1)]
    return 0


def spread(made, row):
    """Return where each call stands among those of all, sorted by the number of its location."""
    order = sorted(range(len(made)), key=lambda k: row[made[k]["location"]])
    return [order.index(k) for k in range(len(made))]


def arranged(messages, placed, process):
    """Return (send, receive, done, tag, bytes, sender, receiver) of the messages that have their calls, in the order of sends."""
    rows = [(*calls, *one[4:2:-1], *(process[end] for end in one[5:])) for one, calls in zip(messages, placed, strict=True)]
    return sorted((row for row in rows if min(row[:2]) >= 0 and row[2] >= row[1]), key=lambda row: row[0])
