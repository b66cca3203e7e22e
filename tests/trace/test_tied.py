"""Which locations take part in the answer, and the trace of these alone."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder, table
from perwiz.trace import tables
from perwiz.trace.tables import NONE, PROCESS, STREAM, THREAD
from perwiz.trace.tied import tied, tied_part, widened
from perwiz.trace.trace import Timeline


def placed(trace, *places):
    """Return a trace with these (process, kind) of its locations."""
    process, kind = zip(*places, strict=True)
    thread = [process[:k].count(process[k]) for k in range(len(process))]
    columns = {"process": np.array(process, "i4"), "thread": np.array(thread, "i4"), "kind": np.array(kind, "u1")}
    return dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **columns))


def talking(*ends, locations=4):
    """Return a trace in which the first location of each pair sends to the second."""
    b = Builder(locations)
    for sender, receiver in ends:
        b.send(sender, receiver)
        b.recv(receiver, sender)
    return b.trace()


def rows(table):
    return list(zip(*(getattr(table, field.name).tolist() for field in dataclasses.fields(table)), strict=True))


TWO = ((0, PROCESS), (0, THREAD), (1, PROCESS), (1, STREAM))


@pytest.mark.parametrize(
    ("ends", "places", "expected"),
    [
        ([(0, 2)], TWO, [True, False, True, False]),
        ([(0, 2), (1, 3)], TWO, [True, True, True, True]),
        ([(1, 2)], TWO, [False, True, True, False]),
        ([], TWO, [True, False, True, False]),
        ([], ((0, PROCESS), (0, THREAD), (0, STREAM), (0, THREAD)), [True, False, False, False]),
        ([(0, 1)], ((0, PROCESS), (1, PROCESS), (2, STREAM), (3, PROCESS)), [True, True, False, True]),
        ([(2, 3)], TWO, [True, False, True, True]),
    ],
    ids=["processes", "threads too", "a thread in place of its process", "nobody", "one process", "a device alone", "to itself"],
)
def test_tied__by_messages(ends, places, expected):
    assert tied(placed(talking(*ends), *places)).tolist() == expected


@pytest.mark.parametrize(
    ("ends", "team", "places", "expected"),
    [
        ([(0, 2), (1, 3)], [], ((0, PROCESS), (0, THREAD), (1, PROCESS), (1, THREAD)), 2),
        ([(0, 2), (1, 3)], [0, 1], ((0, PROCESS), (0, THREAD), (1, PROCESS), (1, THREAD)), 1),
        ([(0, 2), (1, 3)], [1, 3], ((0, PROCESS), (0, THREAD), (1, PROCESS), (1, THREAD)), 2),
        ([(0, 2)], [], TWO, 0),
        ([(1, 2)], [], TWO, 0),
        ([(0, 2), (1, 3)], [], TWO, 1),
    ],
    ids=["two", "a barrier with its process", "a barrier with another's", "left out", "alone", "beside a stream"],
)
def test_tied_part__counts_threads_without_start_and_end(ends, team, places, expected):
    b = Builder(4)
    for sender, receiver in ends:
        b.send(sender, receiver)
        b.recv(receiver, sender)
    if team:
        b.everyone("Barrier", comm=b.comm("team", team))
    assert tied_part(placed(b.trace(), *places)).counts.loose_threads == expected


def test_tied__by_requests_and_collectives():
    """Location 1 waits for what location 0 posts, location 3 joins a barrier with 2; location 4 asks for its rank alone."""
    b = Builder(5)
    two = b.comm("two", [2, 3])
    posted = b.isend(0, 2)
    b.recv(2, 0)
    b.everyone("Barrier", comm=two)
    b.call(4, "Comm_rank", at=(0, 5))
    wait = b.call(1, "Wait", at=(50, 60))
    posted.done = posted.what.done = wait
    trace = b.trace()
    assert tied(placed(trace, (0, PROCESS), *((0, THREAD),) * 4)).tolist() == [True, True, True, True, False]


def test_tied_part__of_processes_alone_is_the_trace():
    trace = talking((0, 1), (2, 3))
    assert tied_part(trace) is trace


def mixed():
    """Return a trace of two processes, a thread and a stream, with rows in every table. Its calls are:

    e0 Isend, e1 Wait (process 0); e2 Comm_rank, e3 Isend (its thread); e4 Irecv, e5 Wait (process 1); none of the stream.
    """
    b = Builder(4)
    b.enter(0, "main", at=0)
    b.wait(0, b.isend(0, 2, 8, at=(10, 20)), at=(20, 30))
    b.leave(0, "main", at=40)
    b.enter(1, "work", at=0)
    b.call(1, "Comm_rank", at=(5, 6))
    b.isend(1, 2, 8, tag=7, at=(6, 7))
    b.leave(1, "work", at=500)
    b.enter(2, "main", at=0)
    b.enter(2, "work", at=1)
    b.wait(2, b.irecv(2, 0, at=(3, 4)), at=(4, 45))
    b.leave(2, "work", at=46)
    b.leave(2, "main", at=50)
    b.enter(3, "kernel", at=100)
    b.leave(3, "kernel", at=900)
    trace = placed(b.trace(), *TWO)
    count = (np.arange(4), [9, 9, 8, 9])
    return dataclasses.replace(
        trace,
        sources=("m.c:1", "w.c:2", "k.cu:3"),
        parallel=np.array([False, True, False]),
        texts=("a", "b", "c"),
        labels=table(tables.Labels, call=[1, 2, 5], text=[0, 1, 2]),
        unfinished=table(tables.Unfinished, call=[1, 3, 5], request=[0, 1, 2]),
        offsets=table(tables.Offsets, location=[0, 1, 2], time=[1, 2, 3], offset=[0, 0, 0], drift=[0, 0, 0], error=[0, 0, 0]),
        readings=table(tables.Readings, location=[0, 2, 3], master=[NONE, 0, 2], time=[1, 2, 3], offset=[0, 4, 5], error=[0, 0, 0]),
        counters=table(tables.Counters, call=[0, 2, 4], counter=[0, 0, 0], entered=[1, 2, 3], returned=[4, 5, 6]),
        counter_names=("cycles",),
        parameters=table(
            tables.Parameters, location=[0, 1, 2, 2], region=[0, 1, NONE, 3], call=[2, 3, 4, 6], name=[0, 0, 0, 0], value=[1, 1, 1, 1]
        ),
        records=table(
            tables.Records, location=[0, 1, 2, 3], kind=[0, 1, 2, 0], call=[2, 2, 6, 6], time=[1, 2, 3, 4], first_value=[0, 1, 3, 3]
        ),
        values=np.array([10, 11, 12, 13], "i8"),
        defects=table(tables.Defects, line=[*count[0]], location=[NONE, 0, 1, 2], reason=count[1]),
        site=np.array([5, 4, 3, 2, 1, 0], "i4"),
        sites=tuple("uvwxyz"),
    )


def test_tied_part__every_table():
    """The calls of process 1 are e2 and e3 now, its region instances rows 1 and 2, its request row 1."""
    whole = mixed()
    part = tied_part(whole)
    assert (part.counts.untied_threads, part.counts.untied_streams) == (1, 1)
    assert (part.locations.process.tolist(), part.locations.kind.tolist()) == ([0, 1], [PROCESS, PROCESS])
    assert (part.calls.location.tolist(), part.calls.op.tolist()) == ([0, 0, 1, 1], whole.calls.op[[0, 1, 4, 5]].tolist())
    assert [row[:2] for row in rows(part.requests)] == [(0, 1), (2, 3)]
    assert rows(part.unfinished) == [(1, 0), (3, 1)]
    assert (whole.names, part.names, part.sources) == (("main", "work", "kernel"), ("main", "work"), ("m.c:1", "w.c:2"))
    assert (rows(whole.paths), rows(part.paths)) == ([(NONE, 0), (NONE, 1), (0, 1), (NONE, 2)], [(NONE, 0), (0, 1)])
    assert (part.calls.path.tolist(), part.parallel.tolist()) == ([0, 0, 1, 1], [False, True])
    assert rows(part.regions) == [(0, 0, NONE, 1, 0, 2), (1, 0, NONE, 1, 2, 4), (1, 1, 1, 1, 2, 4)]
    assert [row[:4] for row in rows(part.messages)] == [(0, 1, 2, 3)]
    assert rows(part.timeline.calls) == [(10, 20), (20, 30), (3, 4), (4, 45)]
    assert rows(part.timeline.regions) == [(0, 40), (0, 50), (1, 46)]
    assert (part.timeline.locations.leave.tolist(), part.timeline.makespan, whole.timeline.makespan) == ([40, 50], 50, 900)
    assert rows(part.labels) == [(1, 0), (3, 2)]
    assert [row[:2] for row in rows(part.offsets)] == [(0, 1), (1, 3)]
    assert [row[:3] for row in rows(part.readings)] == [(0, NONE, 1), (1, 0, 2)]
    assert rows(part.counters) == [(0, 0, 1, 4), (2, 0, 3, 6)]
    assert rows(part.parameters) == [(0, 0, 2, 0, 1), (1, NONE, 2, 0, 1), (1, 2, 4, 0, 1)]
    assert (rows(part.records), part.values.tolist()) == ([(0, 0, 2, 1, 0), (1, 2, 4, 3, 1)], [10])
    assert part.defects.location.tolist() == [NONE, 0, NONE, 1]
    assert part.site.tolist() == [5, 4, 1, 0]


def test_tied_part__names_that_nobody_enters_stay():
    """A name without instances, and a path below one that only a stream has."""
    whole = mixed()
    paths = table(tables.Paths, parent=[*whole.paths.parent, 3], region=[*whole.paths.region, 3])
    more = {"names": (*whole.names, "never"), "sources": (*whole.sources, ""), "parallel": np.array([False] * 4)}
    part = tied_part(dataclasses.replace(whole, paths=paths, **more))
    assert (part.names, rows(part.paths)) == (("main", "work", "kernel", "never"), [(NONE, 0), (0, 1), (NONE, 2), (2, 3)])


def test_tied_part__counts_what_was_left_out_before():
    """As in a trace that was predicted of such a part and written."""
    whole = mixed()
    before = dataclasses.replace(whole.counts, untied_threads=3)
    assert tied_part(dataclasses.replace(whole, counts=before)).counts.untied_threads == 4


def test_tied_part__a_clock_compared_by_a_process_that_is_left_out():
    """Its thread takes part in its place, and has its clock."""
    trace = placed(talking((1, 2)), *TWO)
    readings = table(tables.Readings, location=[0, 2], master=[NONE, 0], time=[1, 2], offset=[0, 4], error=[0, 0])
    part = tied_part(dataclasses.replace(trace, readings=readings))
    assert (part.locations.thread.tolist(), [row[:2] for row in rows(part.readings)]) == ([1, 0], [(0, NONE), (1, 0)])


def test_widened__what_is_left_out_stays():
    whole = mixed()
    part = tied_part(whole)
    moved = Timeline(
        *(type(times)(times.enter + 1000, times.leave + 1000) for times in (part.timeline.calls, part.timeline.regions)),
        part.timeline.locations,
    )
    timeline = widened(whole, moved)
    assert rows(timeline.calls) == [(1010, 1020), (1020, 1030), (5, 6), (6, 7), (1003, 1004), (1004, 1045)]
    assert rows(timeline.regions) == [(1000, 1040), (0, 500), (1000, 1050), (1001, 1046), (100, 900)]
    assert timeline.locations == whole.timeline.locations


@pytest.mark.slow
@given(build.traces(), st.data())
def test_law__lanes_beside_the_processes_change_nothing(trace, data):
    """Threads that only compute, put in anywhere, are left out again: the part is the trace as it was."""
    first = [*trace.first_calls.tolist()]
    kinds = [data.draw(st.lists(st.sampled_from([THREAD, STREAM]), max_size=2)) for _ in range(len(trace.locations))]
    place = np.cumsum([0, *(1 + len(more) for more in kinds)])[:-1]
    places = [pair for rank, more in enumerate(kinds) for pair in ((rank, PROCESS), *((rank, kind) for kind in more))]

    def moved(rows):
        return dataclasses.replace(rows, location=place[rows.location].astype("i4"))

    def stretched(column):
        return np.repeat(column, [1 + len(more) for more in kinds])

    times = trace.timeline
    ends = tables.Times(stretched(times.locations.enter), stretched(times.locations.leave) + 10**9)
    locations = type(trace.locations)(*(stretched(getattr(trace.locations, field.name)) for field in dataclasses.fields(trace.locations)))
    more = dataclasses.replace(
        trace,
        locations=locations,
        calls=moved(trace.calls),
        regions=moved(trace.regions),
        timeline=Timeline(times.calls, times.regions, ends),
    )
    part = tied_part(placed(more, *places))
    assert part.first_calls.tolist() == first
    for name in ("calls", "requests", "regions", "messages", "members", "collectives"):
        assert getattr(part, name) == getattr(trace, name)
    assert (part.timeline.calls, part.timeline.regions) == (times.calls, times.regions)
    assert part.counts.untied_threads + part.counts.untied_streams == sum(map(len, kinds))
