"""The slow, obvious twins of the kernels that read ALOG: regular expressions, dictionaries and lists."""

from __future__ import annotations

import dataclasses
import re

EVENT, HEADER, BLANK, INTERNAL = range(4)
NOT_INTEGERS, OUT_OF_RANGE, NO_TAG_AND_SIZE, NOT_OPEN, BACKWARDS, TOO_DEEP = 16, 17, 18, 19, 21, 25
NOBODY, CALL_BEGIN, CALL_END, MESSAGE, REGION_BEGIN, SINGLE = range(6)
DEEPEST = 1000
LARGEST, MOST_BYTES, MOST_TIME, MOST_SUM = 2**31 - 1, 2**50, 4 * 10**18, 2**60
SEND, ISEND, RECV, SENDRECV, FIRST_COLLECTIVE = 1, 2, 3, 5, 9


class Damaged(Exception):
    """With the status of the line."""


def lines(text):
    """Return per line (status, its numbers, place of the string, of its end, of its attributes); None for what the status leaves open."""
    out, start = [], 0
    for raw in text.removesuffix(b"\n").split(b"\n") if text else []:
        line = raw.removesuffix(b"\r")
        out.append(record(line, start) if not re.fullmatch(rb"[ \t]*(#.*)?", line, re.DOTALL) else (BLANK, None, None, None, None))
        start += len(raw) + 1
    return out


def record(line, start):
    try:
        numbers, place = head(line)
        if numbers[0] in (-101, -102):
            numbers += tag_and_size(line[place:])
        status = judged(*numbers)
    except Damaged as damage:
        return (*damage.args, None, None, None, None)
    if status > HEADER:
        return status, None, None, None, None
    extra = re.search(rb"(?:^|(?<=[ \t]))@(?=[ \t]|$)(?!\n)", line[place:])
    return status, numbers, start + place, start + len(line), start + place + extra.end() if extra else -1


def head(line):
    numbers, at = [], 0
    for column in range(6):
        at = re.compile(rb"[ \t]*").match(line, at).end()
        sign, digits, decimals, rest = re.compile(rb"([-+]?)([0-9]*)((?:\.[0-9]*)?)([^ \t]*)", re.DOTALL).match(line, at).groups()
        value = integer(digits, NOT_INTEGERS)
        if column == 5:
            if value >= 10**15:
                raise Damaged(OUT_OF_RANGE)
            fourth = (decimals[1:] + b"0000")[:4]
            value = value * 1000 + int(fourth[:3]) + (fourth[3:] >= b"5")
        if rest or (decimals and column < 5):
            raise Damaged(NOT_INTEGERS)
        numbers.append(-value if sign == b"-" else value)
        at += len(sign + digits + decimals)
    return numbers, re.compile(rb"[ \t]*").match(line, at).end()


def tag_and_size(string):
    found = re.match(rb"([-+]?)([0-9]*)[ \t]*([-+]?)([0-9]*)", string)
    pairs = ((found[1], found[2]), (found[3], found[4]))
    return [(-1 if sign == b"-" else 1) * integer(digits, NO_TAG_AND_SIZE) for sign, digits in pairs]


def integer(digits, otherwise):
    if not digits or len(digits) > 18:
        raise Damaged(OUT_OF_RANGE if digits else otherwise)
    return int(digits)


def judged(kind, process, task, data, cycle, time, tag=0, size=0):
    small = all(-LARGEST - 1 <= value <= LARGEST for value in (kind, process, task, cycle, tag, *([data] if kind < 0 else [])))
    if small and -100 <= kind < 0:
        return HEADER
    return EVENT if small and min(process, task, cycle, time, size) >= 0 and size <= MOST_BYTES else OUT_OF_RANGE


def attributes(strings):
    """Return (row, key, value, first and last place in the string) of strings behind `@`, and the rows with n=1."""
    found = []
    for row, string in enumerate(strings):
        for word in re.finditer(rb"[^ \t]+", string):
            key, equals, values = word[0].partition(b"=")
            place = word.start() + len(key) + 1
            for value in ([values] if key == b"o" else values.split(b",")) if equals else []:
                found.append((row, int.from_bytes(key, "big") if len(key) < 3 else 0, valued(value), place, word.end()))
                place += len(value) + 1
    return found, {row for row, key, value, *_ in found if (key, value) == (ord("n"), 1)}


def valued(text):
    if re.fullmatch(rb"-?[0-9]+", text) and len(text) <= 18:
        return int(text)
    hashed = 0
    for letter in text:
        hashed = (hashed % 2**50 * 1021 + letter + 1) % 2**61
    return -(2**61) - hashed


@dataclasses.dataclass
class Entry:
    """A state that is open: a call has an op, a region a number, a state inside a call neither."""

    end: int
    number: int = -1
    op: int = -1
    row: tuple = ()


@dataclasses.dataclass
class Place:
    """One location."""

    clock: int = 0
    wraps: int = 0
    first: int | None = None
    calls: int = 0
    stack: list = dataclasses.field(default_factory=list)
    call: dict | None = None

    def inside(self):
        """Return how many MPI states are open beside the call."""
        return sum(entry.op >= 0 and not (self.call and entry is self.call["entry"]) for entry in self.stack)

    def innermost(self):
        return next((entry.number for entry in reversed(self.stack) if entry.number >= 0), -1)


class States:
    """Runs events through stacks. `definitions`: per slot (ends?, end slot, op or -1, name, begins?); `kinds`: per op."""

    def __init__(self, definitions, kinds, receive, rollover):
        self.definitions, self.kinds, self.receive, self.rollover = definitions, kinds, receive, rollover
        self.places, self.calls, self.regions, self.messages = {}, [], [], []
        self.count = dict.fromkeys(("regions", "states", "internal_calls", "singles", "to_nobody", "internal_messages"), 0)

    def event(self, location, slot, kind, data, cycle, time, tag=0, size=0, internal=False):
        """Return (status, owner, number) of one record."""
        place = self.places.setdefault(location, Place())
        status, t = self.now(place, time, cycle, EVENT if not internal else INTERNAL)
        if t is None:
            return OUT_OF_RANGE, NOBODY, None
        if slot >= 0:
            return self.state(place, location, slot, status, t)
        if kind not in (-101, -102):
            self.count["singles"] += 1
            return (status, SINGLE, place.calls) if place.call else (status, NOBODY, None)
        return status, *self.message(place, location, kind, data, tag, size, internal, status)

    def now(self, place, time, cycle, status):
        if self.rollover:
            if cycle + place.wraps >= (MOST_TIME - time) // self.rollover:
                return OUT_OF_RANGE, None
            time += (cycle + place.wraps) * self.rollover
            if time < place.clock - self.rollover // 2:
                place.wraps, time = place.wraps + 1, time + self.rollover
        if place.first is None:
            place.first = place.clock = time
        if time < place.clock:
            return BACKWARDS, place.clock
        place.clock = time
        return status, time

    def state(self, place, location, slot, status, t):
        ends, end, op, name, begins = self.definitions[slot]
        owner = number = None
        upper = place.stack[: -DEEPEST - 1 : -1] if ends else []
        ended = next((entry for entry in upper if entry.end == slot), None)
        if ended:
            owner, number = self.leave(place, location, ended)
            self.count["states"] += 1
        if begins and op >= 0 and place.call and place.inside() == DEEPEST:
            return TOO_DEEP, owner or NOBODY, number
        if begins:
            mine = self.enter(place, Entry(end, op=op), name, t)
            owner, number = mine if mine[0] else (owner, number)
        elif not ended:
            status = TOO_DEEP if len(upper) == DEEPEST else NOT_OPEN
        return status, owner or NOBODY, number

    def enter(self, place, entry, name, t):
        region = place.innermost()
        place.stack.append(entry)
        if entry.op >= 0:
            if place.call:
                self.count["internal_calls"] += 1
                return NOBODY, None
            place.call = self.opened(entry.op, region, t, entry)
            return CALL_BEGIN, place.calls
        entry.number = self.count["regions"]
        entry.row = (entry.number, name, t, region, place.calls + (place.call is not None))
        self.count["regions"] += 1
        return REGION_BEGIN, entry.number

    def opened(self, op, region, t, entry):
        return {
            "entry": entry,
            "row": {"enter": t, "op": op, "region": region, "peer": -1, "tag": -1, "sent": 0, "received": 0, "traffic": 0},
        }

    def leave(self, place, location, entry):
        place.stack = [other for other in place.stack if other is not entry]
        if place.call and entry is place.call["entry"]:
            self.calls.append((location, place.clock, *place.call["row"].values()))
            place.call = None
            place.calls += 1
            return CALL_END, place.calls - 1
        if entry.number >= 0:
            self.regions.append((location, place.clock, place.calls + (place.call is not None), *entry.row))
        return None, None

    def message(self, place, location, kind, data, tag, size, internal, status):
        bare, sends = place.call is None, kind == -101
        internal = internal and status == INTERNAL
        if bare and internal:
            self.count["internal_messages"] += 1
            return NOBODY, None
        call = place.call or self.opened(SEND if sends else self.receive, place.innermost(), place.clock, None)
        if bare:
            call["row"]["traffic"] = 8
        number = self.into(call["row"], place, location, kind, data, tag, size, internal)
        if bare:
            self.calls.append((location, place.clock, *call["row"].values()))
            place.calls += 1
        return (NOBODY, None) if number is None else (MESSAGE, number)

    def into(self, call, place, location, kind, data, tag, size, internal):
        sends, what = kind == -101, self.kinds[call["op"]]
        if what >= FIRST_COLLECTIVE or internal:
            call["traffic"] |= 1 if sends else 2
            self.count["to_nobody" if data < 0 else "internal_messages"] += 1
            return None
        if data < 0:
            call["traffic"] |= 4
            self.count["to_nobody"] += 1
            return None
        side = "sent" if sends else "received"
        call[side] += size if call[side] < MOST_SUM else 0
        if call["peer"] < 0 and what in ((SEND, ISEND, SENDRECV) if sends else (RECV,)):
            call["peer"], call["tag"] = data, tag
        self.messages.append((kind, location, place.calls, data, tag, size, place.clock))
        return len(self.messages) - 1

    def close(self):
        for location, place in sorted(self.places.items()):
            for entry in reversed(list(place.stack)):
                self.leave(place, location, entry)
