"""Strict readers of what is written for viewers, which know nothing of how it is written."""

from __future__ import annotations

import collections
import dataclasses
import json
import re


@dataclasses.dataclass
class Slice:
    """A slice of a track; times in ns."""

    group: str
    track: str
    name: str
    category: str
    args: dict
    enter: int
    leave: int = -1
    parent: Slice | None = None


def ns(number):
    """Return a time in us, as it stands in the file, in ns."""
    whole, _, part = number.partition(".")
    assert re.fullmatch(r"\d+", whole)
    assert re.fullmatch(r"(\d{3})?", part)
    return int(whole) * 1000 + int(part or 0)


def trace_events(text):
    """Return (slices, arrows {id: (name, slice of the tail, its time, slice of the head, its time)}) of Trace Event JSON.

    Asks more than the format does: the events of a track are in order of time, and all fields are there; the tail of an arrow comes
    before its head, in time, or in the file where their times are the same.
    """
    document = json.loads(text, parse_float=str, parse_constant=lambda word: 1 / 0)
    assert document["displayTimeUnit"] == "ns"
    groups, tracks = {}, {}
    for event in document["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            assert groups.setdefault(event["pid"], event["args"]["name"]) == event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            assert (event["pid"], event["tid"]) not in tracks
            tracks[event["pid"], event["tid"]] = event["args"]["name"]
    assert len({tid for _, tid in tracks}) == len(tracks)
    assert not {tid for _, tid in tracks} & groups.keys()
    slices, around, last, ends = [], collections.defaultdict(list), collections.Counter(), {"s": {}, "f": {}}
    for number, event in enumerate(document["traceEvents"]):
        if event["ph"] == "M":
            continue
        place, time = (event["pid"], event["tid"]), ns(str(event["ts"]))
        assert time >= last[place]
        last[place] = time
        if event["ph"] == "B":
            parent = around[place][-1] if around[place] else None
            new = Slice(groups[place[0]], tracks[place], event["name"], event["cat"], event.get("args", {}), time, parent=parent)
            slices.append(new)
            around[place].append(new)
        elif event["ph"] == "E":
            around[place].pop().leave = time
        else:
            assert event["ph"] in "sf"
            assert event["ph"] == "s" or event["bp"] == "e"
            assert event["id"] not in ends[event["ph"]]
            ends[event["ph"]][event["id"]] = event["name"], event["cat"], around[place][-1], time, number
    assert not any(around.values())
    assert all(s.parent is None or s.parent.enter <= s.enter <= s.leave <= s.parent.leave for s in slices)
    assert ends["s"].keys() == ends["f"].keys()
    assert all(ends["s"][row][:2] == ends["f"][row][:2] for row in ends["s"])
    assert all(ends["s"][row][3:] < ends["f"][row][3:] for row in ends["s"])
    return slices, {row: (ends["s"][row][0], *ends["s"][row][2:4], *ends["f"][row][2:4]) for row in ends["s"]}


_HEADER = re.compile(r"#Paraver \(\d\d/\d\d/\d{2,4} at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]*)\):1:(\d+)\(([\d:,]*)\),(\d+)")


@dataclasses.dataclass
class Paraver:
    """A Paraver trace: numbers as they stand in it."""

    end: int
    cpus: list
    tasks: list
    """(threads, node) per task."""
    comms: dict
    """Tasks per communicator."""
    states: dict
    """(begin, end, state) per (cpu, task, thread), in order."""
    events: dict
    """(time, type, value) per (task, thread), in order."""
    messages: list
    """The 14 numbers of each."""


def paraver(text):
    """Return what is in the records of a Paraver trace, each checked against the header and in order of time."""
    head, *lines = text.splitlines()
    end, nodes, cpus, count, tasks, comms = _HEADER.fullmatch(head).groups()
    found = Paraver(int(end), numbers(cpus), [tuple(map(int, one.split(":"))) for one in tasks.split(",") if one], {}, {}, {}, [])
    assert len(found.cpus) == int(nodes)
    assert len(found.tasks) == int(count)
    while lines and lines[0].startswith("c:1:"):
        comm, size, *members = map(int, lines.pop(0).split(":")[2:])
        assert len(members) == size
        assert comm not in found.comms
        found.comms[comm] = members
    assert len(found.comms) == int(comms)
    last = 0
    for line in lines:
        kind, *values = map(int, line.split(":"))
        at = values[4] if kind in (1, 2) else values[5]
        assert last <= at <= found.end
        last = at
        _place(found, *values[:4])
        if kind == 1:
            assert values[4] < values[5] <= found.end
            found.states.setdefault((values[0], values[2], values[3]), []).append(tuple(values[4:7]))
        elif kind == 2:
            pairs = values[5:]
            assert pairs
            assert len(pairs) % 2 == 0
            own = found.events.setdefault((values[2], values[3]), [])
            own += [(values[4], *pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
        else:
            assert kind == 3
            assert len(values) == 14
            _place(found, *values[6:10])
            found.messages.append(values)
    return found


def numbers(text):
    """Return numbers separated by commas."""
    return [int(word) for word in text.split(",") if word]


def _place(found, cpu, application, task, thread):
    assert 0 <= cpu <= sum(found.cpus)
    assert application == 1
    assert 1 <= thread <= found.tasks[task - 1][0]
    assert task >= 1


def names(text):
    """Return the names per level of a .row file."""
    lines, out = iter(text.splitlines()), {}
    for line in lines:
        if line:
            level, count = re.fullmatch(r"LEVEL (CPU|NODE|THREAD) SIZE (\d+)", line).groups()
            out[level] = [next(lines) for _ in range(int(count))]
    return out


_OTHERS = ("DEFAULT_OPTIONS", "DEFAULT_SEMANTIC", "GRADIENT_COLOR", "GRADIENT_NAMES")


def values(text):
    """Return {type: (label, {value: label})} of a .pcf file."""
    out, state, own = {}, None, []
    for line in text.splitlines():
        if not line:
            continue
        if line in ("EVENT_TYPE", "VALUES", "STATES", "STATES_COLOR", *_OTHERS):
            own = [] if line == "EVENT_TYPE" else own
            state = line
        elif state == "EVENT_TYPE":
            _, number, label = line.split(None, 2)
            own.append(out.setdefault(int(number), (label, {})))
        elif state == "VALUES":
            number, label = line.split(None, 1)
            for _, labels in own:
                labels[int(number)] = label
    return out
