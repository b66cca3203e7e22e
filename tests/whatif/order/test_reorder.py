"""Another order of calls: laws on the catalogue and on random traces; the trace that comes out by hand."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.engines.replay import replay
from perwiz.engines.sweep import makespan, sweep, swept_makespan
from perwiz.errors import UsageError
from perwiz.graph.graph import GAP
from perwiz.graph.rechain import Cycle
from perwiz.trace import tables
from perwiz.trace.trace import check
from perwiz.whatif.hypotheses.base import apply, parse
from perwiz.whatif.limits.message_sizes import Resized
from perwiz.whatif.order.advance import move_earlier
from perwiz.whatif.order.blocks import Blocks, Torn
from perwiz.whatif.order.program import Program
from perwiz.whatif.order.reorder import in_order_of, reorder, stays
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.run import replayed


def same_trace(one, other):
    """Check that two traces are the same in every table."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b, field.name


def times(weighted):
    """Return the times of calls and locations in a sweep."""
    time, graph = sweep(weighted.graph, weighted.weight), weighted.graph
    return [time[v].tolist() for v in (graph.entered, graph.returned, graph.begun, graph.ended)]


def check_identity(trace):
    weighted = replayed(trace, build.ODD, "none").weighted
    program = Program(weighted)
    same = reorder(program, np.arange(len(program.length)))
    same_trace(same.trace, trace)
    assert times(same) == times(weighted)
    assert same.region_enter.tolist() == weighted.region_enter.tolist()
    assert same.region_leave.tolist() == weighted.region_leave.tolist()
    assert same.size.tolist() == weighted.size.tolist()
    for rows in (same.call, same.region, same.message):
        assert rows.tolist() == list(range(len(rows)))


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_the_same_order_changes_nothing__catalogue(name):
    check_identity(build.CATALOGUE[name]())


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_the_same_order_changes_nothing__random(trace):
    check_identity(trace)


@st.composite
def orders(draw):
    """Draw a trace, weighted, and it with two neighbouring blocks of a location swapped; None if that cannot be."""
    trace = draw(st.one_of(build.programs(), st.sampled_from(sorted(build.CATALOGUE)).map(lambda name: build.CATALOGUE[name]())))
    weighted = replayed(trace, build.ODD, "none").weighted
    if len(trace.calls) < 2:
        return weighted, None
    last = draw(st.integers(1, len(trace.calls) - 1))
    before = draw(st.integers(0, last - 1))
    first = draw(st.integers(before + 1, last))
    program = Program(weighted)
    location = trace.calls.location
    if location[before] != location[last]:
        return weighted, None
    blocks = Blocks(program, int(location[last]), np.arange(len(program.length)))
    with contextlib.suppress(Torn, Cycle):
        behind = blocks.block(first, last, past=before)
        ahead = blocks.block(before, behind.first - 1, past=behind.first)
        return weighted, reorder(program, blocks.swapped(ahead, behind))
    return weighted, None


@pytest.mark.slow
@settings(max_examples=40)
@given(orders())
def test_another_order(drawn):
    """Engines agree, the new trace is sound, nests, and its rows are the old ones; and the inverse order gives all back."""
    weighted, other = drawn
    if other is None:
        return
    assert sweep(other.graph, other.weight).tolist() == replay(other.graph, other.weight).tolist()
    check(other.trace)
    old, new = weighted.trace, other.trace
    calls = [getattr(old.calls, f.name)[np.argsort(other.call)].tolist() for f in dataclasses.fields(old.calls)]
    assert calls == [getattr(new.calls, f.name).tolist() for f in dataclasses.fields(new.calls)]
    assert (np.diff(new.messages.send) >= 0).all()
    assert (np.diff(new.requests.posted_by) >= 0).all()
    assert (np.diff(new.links.effect) >= 0).all()
    took = [t.timeline.calls.leave - t.timeline.calls.enter for t in (old, new)]
    assert took[0].tolist() == took[1][other.call].tolist()
    assert old.timeline.locations == new.timeline.locations
    check_regions(new)
    back = Program(other)
    original = Program(weighted)
    order = np.empty(len(back.length), "i8")
    order[original.call], order[original.ended] = back.call[other.call], back.ended
    order[original.entered], order[original.left] = back.entered[other.region], back.left[other.region]
    again = reorder(back, order)
    same_trace(again.trace, old)
    if not weighted.misfit.gaps_lowered:  # a gap that the recording lowered is the network's when it is made anew
        assert times(again) == times(weighted)
    assert again.region_enter.tolist() == weighted.region_enter.tolist()
    assert again.region_leave.tolist() == weighted.region_leave.tolist()
    if not (weighted.graph.kind == GAP).any():
        assert sorted(again.weight.tolist()) == sorted(weighted.weight[stays(weighted)].tolist())
    assert again.call.tolist() == list(range(len(old.calls)))


def check_regions(trace):
    """Check that region rows are in the order of entry, and that each holds the calls it did, or nests at least."""
    regions = trace.regions
    assert (np.diff(regions.location) >= 0).all()
    same = regions.location[1:] == regions.location[:-1]
    assert (np.diff(regions.first_call)[same] >= 0).all()
    assert (regions.first_call <= regions.end_call).all()
    for name in np.unique(trace.paths.region[regions.path]):
        for location in range(len(trace.locations)):
            numbers = regions.instance[(trace.paths.region[regions.path] == name) & (regions.location == location)]
            assert (np.diff(numbers) > 0).all()
    inner = np.flatnonzero(regions.parent >= 0)
    assert (regions.parent[inner] < inner).all()
    assert (regions.first_call[inner] >= regions.first_call[regions.parent[inner]]).all()


def questions(trace, draw):
    call = draw(st.integers(0, len(trace.calls) - 1))
    return [f"advance e{call}", f"advance e{call} by {trace.names[0]}"] if trace.names else [f"advance e{call}"]


@pytest.mark.slow
@settings(max_examples=12)
@given(build.programs(), st.data())
def test_advance_of_anything(trace, data):
    """It never fails but for a missing region, never deadlocks, and its call waits less; both engines agree; the written trace replays."""
    if not len(trace.calls):
        return
    for text in questions(trace, data.draw):
        with contextlib.suppress(UsageError):
            found = [predict(trace, [text], build.ODD, engine, clock="none") for engine in ("sweep", "replay")]
            assert found[0].predicted.calls == found[1].predicted.calls
            assert found[0].predicted.regions == found[1].predicted.regions
            one = found[0]
            call = int(text.split()[1][1:])
            if any(move.end >= move.before for move in one.order.moves):
                assert one.waits_after.time[call] < one.waits_before.time[call]
            else:
                assert one.predicted.calls == trace.timeline.calls
            out = predicted_trace(one)
            check(out)
            again = predict(out, (), build.ODD, clock="none")
            assert (again.replay_error, again.recorded.makespan) == (0, one.predicted.makespan)


@settings(max_examples=20)
@given(build.programs(), st.data())
def test_law__in_the_order_that_was_found(trace, data):
    """Under the weights that it was found with it is what was found; and it is no search: not what those computations alone would ask."""
    if not len(trace.calls):
        return
    run = replayed(trace, build.ODD, "none")
    found = move_earlier(run.weighted, data.draw(st.integers(0, len(trace.calls) - 1)))
    if found is not None:
        again = in_order_of(run.weighted, found[0], run.weighted)
        assert again is not None
        assert times(again) == times(found[0])


def late_send(size):
    """Rank 0 computes for rank 2, then for rank 1, and sends last what rank 1 waits for.

    rank 0  == 30 e0 send to 2 == 50 e1 send to 1
    rank 1  == 10 e2 recv ~~~~~~~~~~~~~~~~~~~~ 62
    rank 2  e3 recv ~~~~~~~ 42
    """
    b = Builder(3, latency=12, per_byte=0, eager=5000, work=0)
    b.compute(0, 30)
    b.send(0, 2, size)
    b.compute(0, 20)
    b.send(0, 1, size)
    b.compute(1, 10)
    b.recv(1, 0)
    b.recv(2, 0)
    return b.trace()


@pytest.mark.parametrize(
    ("question", "size", "before", "after"),
    [("speed rank:0=0.5", 8, [112, 72], [52, 112]), ("speed rank:1=0.1", 9000, [100, 42], [100, 62])],
)
def test_in_the_order_that_was_found__under_other_weights(question, size, before, after):
    """e2 returns at 62 and e3 at 42: in the order that is found at 32 and 62, and so it is twice as late if rank 0 computes twice as long.

    If rank 1 comes at 100, what was sent to it holds nobody in that order, as MPI_Isend: e3 returns at 62 as well.
    """
    run = replayed(late_send(size), hand_model(S=5000), clock="none")
    found, other = (apply(run.weighted, [parse(text)]) for text in ("advance e2", question))
    again = in_order_of(other, found, run.weighted)
    assert [times(weighted)[1][2:4] for weighted in (run.weighted, other)] == [[62, 42], before]
    assert [[times(weighted)[1][row] for row in weighted.call[2:4]] for weighted in (found, again)] == [[32, 62], after]
    assert again.moves == found.moves


def test_in_the_order_that_was_found__of_computation_that_moved_alone():
    """Rank 1 sends on before it receives and unpacks: what it computed before the send stays behind, which no order of calls says."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.send(0, 1, 8)
    b.recv(1, 0)
    b.compute(1, 20)
    b.send(1, 2, 8)
    b.recv(2, 1)
    run = replayed(b.trace(), hand_model(), clock="none")
    found = apply(run.weighted, [parse("advance e3 before receive")])
    assert swept_makespan(found) < run.makespan
    assert in_order_of(run.weighted, found, run.weighted) is None


def test_advance__without_a_wait_changes_nothing():
    trace = build.CATALOGUE["ring"]()
    run = replayed(trace, build.ODD, "none")
    still = int(np.flatnonzero(run.waits.time == 0)[0])
    assert move_earlier(run.weighted, still) is None
    assert predict(trace, [f"advance e{still}"], build.ODD).predicted.calls == trace.timeline.calls


def ordered_program():
    """Return rank 0 posting a receive in a region, testing and waiting for it, with a label, a counter and a record before each call."""
    b = Builder(2, work=5)
    b.send(1, 0, 8, tag=1)
    b.send(1, 0, 8, tag=2)
    with b.region(0, "one"):
        b.compute(0, 10)
        one = b.irecv(0, 1, tag=1)
        b.compute(0, 1)
    with b.region(0, "two"):
        b.compute(0, 20)
        two = b.irecv(0, 1, tag=2)
        b.compute(0, 2)
    b.wait(0, one, two)
    trace = b.trace()
    rows = [0, 1, 2]
    made = {
        "labels": build.table(tables.Labels, call=rows, text=[5, 6, 7]),
        "counters": build.table(tables.Counters, call=rows, counter=[0] * 3, entered=[1, 2, 3], returned=[4, 5, 6]),
        "unfinished": build.table(tables.Unfinished, call=[2, 2], request=[0, 1]),
        "parameters": build.table(tables.Parameters, location=[0, 0], region=[0, 1], call=[1, 2], name=[0, 0], value=[1, 2]),
        "records": tables.Records(*(np.array(c, "i4") for c in ([0] * 3, [0] * 3, [0, 1, 3])), np.array([1, 2, 3]), np.array([0, 2, 3])),
        "values": np.array([1, 2, 3, 4]),
        "texts": ("a", "b"),
    }
    return dataclasses.replace(trace, **made)


def test_tables_by_hand():
    """`two` moves ahead of `one`, with its 20 and 2 ns: e1 becomes row 0, e0 row 1; what was recorded before a call stays before it.

    recorded  one[ 10 e0 1 ] two[ 20 e1 2 ] e2     0 .. 10 .. 15 .. 16 .. 36 .. 41 .. 43
    moved     two[ 20 e1 2 ] one[ 10 e0 1 ] e2     0 .. 20 .. 25 .. 27 .. 37 .. 42 .. 43
    """
    trace = ordered_program()
    moved = parse("move e1 before e0").apply(replayed(trace, hand_model(), "none").weighted)
    new = moved.trace
    assert moved.call.tolist() == [1, 0, 2, 3, 4]
    assert moved.region.tolist() == [1, 0]
    assert [new.names[new.paths.region[path]] for path in new.regions.path] == ["two", "one"]
    assert new.regions.first_call.tolist() == [0, 1]
    assert new.regions.end_call.tolist() == [1, 2]
    assert new.calls.tag.tolist()[:2] == [2, 1]
    assert new.requests.posted_by.tolist() == [0, 1]
    assert sorted(zip(new.unfinished.call.tolist(), new.unfinished.request.tolist(), strict=True)) == [(2, 0), (2, 1)]
    assert new.unfinished.request.tolist() == [1, 0]
    assert new.labels.text.tolist() == [6, 5, 7]
    assert (len(new.counters), new.counter_names) == (0, ())
    assert new.messages.receive.tolist() == [1, 0]
    assert new.parameters.value.tolist() == [2, 1]
    assert new.parameters.region.tolist() == [0, 1]
    assert new.parameters.call.tolist() == [1, 2]
    assert new.records.time.tolist() == [2, 1, 3]
    assert new.values.tolist() == [3, 1, 2, 4]
    assert new.records.first_value.tolist() == [0, 1, 3]
    assert new.timeline.calls.enter.tolist()[:3] == [20, 37, 43]
    assert new.timeline.regions.enter.tolist() == [0, 27]
    assert new.timeline.regions.leave.tolist() == [27, 43]


def test_predicted_rows_are_the_recorded_ones():
    """The same, predicted: the timeline has the recorded rows, so a comparison is a subtraction; the written trace has new ones."""
    trace = ordered_program()
    found = predict(trace, ["move e1 before e0"], hand_model())
    assert found.predicted.calls.enter.tolist()[:2] == [37, 20]
    assert found.predicted.regions.enter.tolist() == [27, 0]
    out = predicted_trace(found)
    assert out.timeline.calls.enter.tolist()[:2] == [20, 37]
    assert out.timeline.makespan == found.predicted.makespan
    assert out.calls.tag.tolist()[:2] == [2, 1]


def test_gaps_are_made_anew():
    """Gap of g = 50 between sends: e0 at 0 and e1 at 100 become neighbours the other way round; 50 ns lie between their returns again.

    recorded  e0 at 0 returns at 5, e1 at 100; moved: e1 is entered at 95, returns at 100, e0 is entered at once, returns not before 150.
    With 20 bytes more in e1, at 1 ns each, not before 170.
    """
    b = Builder(2, work=5)
    b.send(0, 1, 1, tag=1)
    b.compute(0, 95)
    b.send(0, 1, 1, tag=2)
    b.recv(1, 0, tag=1)
    b.recv(1, 0, tag=2)
    weighted = replayed(b.trace(), hand_model(g=50, G=1, gap="sending call", o=1, L=1), "none").weighted
    for size, returned in ((1, 150), (21, 170)):
        longer = Resized("e1", np.array([1, size])).apply(weighted)
        moved = parse("move e1 before e0").apply(longer)
        time = sweep(moved.graph, moved.weight)
        assert time[moved.graph.entered[:2]].tolist() == [95, 100]
        assert time[moved.graph.returned[:2]].tolist() == [100, returned]
        assert makespan(moved.graph, time) > 0
