"""Between which times an answer lies: unknowns varied one at a time and together, by hand and as laws."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.loggps.machine import Machine, Unknown
from perwiz.report import spans
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, starting
from perwiz.whatif.sure.answers import Possible
from perwiz.whatif.sure.noise import Around
from perwiz.whatif.sure.span import found_ahead, span_under
from perwiz.whatif.sure.variations import AWAITED, HELD, LATE, single, varied
from perwiz.whatif.worth import worth

S = Unknown("S_bytes", "", ("S_bytes=0", "S_bytes=1000000"), "no receiver came late")
PROGRESS = Unknown("progress", "", ("progress=in calls", "progress=always"), "nothing shows it")
LATENCY = Unknown("L_ns", "", ("L_ns=0", "L_ns=50"), "every message waited")
OPEN = Machine(hand_model(), unknown=(S, PROGRESS, LATENCY))


def in_time():
    """Rank 1 is there at 40, before rank 0 sends at 100; behind that rank 0 computes 500, to 610. The receive works 8 behind o + L = 12."""
    b = Builder(2)
    b.compute(0, 100)
    b.send(0, 1, 50, at=(100, 110))
    b.compute(0, 500)
    b.compute(1, 40)
    b.recv(1, 0, at=(40, 120))
    return b.trace()


def posted():
    """Behind a short message rank 1 posts a receive, computes 100 and waits; rank 0 sends 200 bytes at 1000, and computes, to 1550."""
    b = Builder(2)
    b.send(0, 1, 1, at=(0, 5))
    b.compute(0, 995)
    b.send(0, 1, 200, at=(1000, 1050))
    b.compute(0, 500)
    b.recv(1, 0, at=(0, 10))
    request = b.irecv(1, 0, at=(10, 11))
    b.compute(1, 100)
    b.wait(1, request, at=(111, 1100))
    return b.trace()


def crossed():
    """Rank 1 receives two messages in the order they are sent."""
    b = Builder(2)
    b.send(0, 1, 50, tag=1, at=(0, 10))
    b.send(0, 1, 50, tag=2, at=(10, 40))
    b.recv(1, 0, tag=1, at=(0, 30))
    b.recv(1, 0, tag=2, at=(30, 50))
    return b.trace()


def span(trace, *asked, unknown=(S,), **changes):
    found = predict(trace, asked, Machine(hand_model(**changes), unknown=unknown), clock="none")
    return found.predicted.makespan, found.span


def test_eager_limit():
    """Ten times slower, rank 1 comes at 400. An eager sender is at 610 all the same; a held one goes on at 400, to 900."""
    makespan, found = span(in_time(), "speed rank:1=0.1")
    assert (makespan, found.least, found.most) == (610, 610, 900)
    assert (found.others, found.around, found.stops) == ((Possible(("S_bytes=0",), 900),), Around(0, 0), ())


def test_eager_limit__of_a_model_by_which_it_is_held():
    makespan, found = span(in_time(), "speed rank:1=0.1", S=10)
    assert (makespan, found.least, found.most) == (900, 610, 900)
    assert found.others == (Possible(("S_bytes=1000000",), 610),)


def test_progress():
    """100 times slower, rank 1 waits at 10011, to 10011 + 88. If messages move only then, rank 0 goes on at 10011 + 38, to 10549."""
    makespan, found = span(posted(), "speed rank:1=0.01", unknown=(PROGRESS,))
    assert (makespan, found.least, found.most) == (10_099, 10_099, 10_549)
    assert found.others == (Possible(("progress=in calls",), 10_549),)


def test_together():
    """On a network of L = 500 a sender that is held waits for 1018 at most, an eager one is at 610; with a recorded latency of 0 the
    receiver is at 620. Both: 1620, more than either.
    """
    for unknown, most in (((S,), 1018), ((LATENCY,), 620), ((S, LATENCY), 1620)):
        makespan, found = span(in_time(), "network L_ns=500", unknown=unknown)
        assert (makespan, found.least, found.most) == (610, 610, most)
    assert found.others == (Possible(("L_ns=0", "S_bytes=0"), 1620),)


def test_another_network_has_a_span():
    """The latency of the other network is 500 whatever the recorded one was: the less that was, the longer the receiver works."""
    makespan, found = span(in_time(), "network L_ns=500", "speed rank:0=10", unknown=(LATENCY,))
    assert (makespan, found.least, found.most) == (520, 203, 530)


def test_costs():
    """On a network of L = 500 the message comes at 520: what the recorded L is more, the work behind it is less, 3 or 4 ns.

    Together 5, in squares, and nine of ten times 1.645 times as much at most.
    """
    model = hand_model()
    off = tuple(model.with_changes(change) for change in ("L_ns=13", "L_ns=14"))
    asked = ["network L_ns=500", "speed rank:0=10"]
    assert [predict(in_time(), asked, each).predicted.makespan for each in (model, *off)] == [520, 517, 516]
    assert predict(in_time(), asked, Machine(model, off=off)).span.costs == 8
    assert predict(in_time(), (), Machine(model, off=off)).span.costs == 0


def test_costs__of_changes_of_the_fit():
    """A key that is given is as sure as it is given."""
    model = hand_model()
    machine = Machine(model, off=tuple(model.with_changes(change) for change in ("L_ns=13", "o_r_ns=6")))
    assert [other.costs for other in machine.with_changes("L_ns=9").off] == [model.with_changes("L_ns=9,o_r_ns=6").costs]


def test_no_hypothesis():
    """What was recorded is known."""
    makespan, found = span(in_time(), unknown=(S, PROGRESS, LATENCY))
    assert (makespan, found.least, found.most, found.others) == (610, 610, 610, ())


def test_missing_ranks():
    """Rank 0 computes 200 and 60, twice as fast 100 and 30; between them a collective with rank 1, of which there is no trace, takes 200.

    Rank 1 may come as late as recorded: nothing gains. All 200 may be waiting for it, and end.
    """
    b = Builder(1)
    everyone = b.comm("everyone", range(2))
    b.compute(0, 200)
    b.join(0, "Allreduce", comm=everyone, work=200)
    b.compute(0, 60)
    makespan, found = span(b.trace(), "speed rank:0=2", unknown=())
    assert (makespan, found.least, found.most) == (330, 130, 460)
    assert found.others == (Possible((AWAITED,), 130), Possible((LATE,), 460))
    assert span(b.trace(), unknown=())[1].others == ()
    told = ["330 ns to 460 ns: 460 ns if ranks whose traces are missing come as late as recorded"]
    assert spans.texts(spans.span(dataclasses.replace(found, least=330, others=found.others[1:])), 330) == told


def test_missing_ranks__calls_as_usual():
    """Rank 0 computes 200 and 60, each before a collective with rank 1, of which there is no trace, that takes 200: as usual it takes none
    if all of it was waiting.
    """
    b = Builder(1)
    everyone = b.comm("everyone", range(2))
    for ns in (200, 60):
        b.compute(0, ns)
        b.join(0, "Allreduce", comm=everyone, work=200)
    makespan, found = span(b.trace(), "typical all", unknown=())
    assert (makespan, found.others) == (660, (Possible((AWAITED,), 260),))


def test_a_change_that_would_stop_the_program():
    """Rank 0 sends e0, then e1; if they wait for their receiver, e1 cannot come first: rank 1 receives e0 first."""
    makespan, found = span(crossed(), "move e1 before e0")
    assert (makespan, found.least, found.most) == (80, 80, 80)
    assert found.stops == ("S_bytes=0",)


def test_given__is_varied_where_the_recording_contradicts_it():
    """Five senders of 50 bytes were held until their receiver came, 500 later each time; the model says they are eager."""
    b = Builder(2)
    for k in range(5):
        b.send(0, 1, 50, at=(1000 * k, 1000 * k + 510))
        b.recv(1, 0, at=(1000 * k + 500, 1000 * k + 520))
    found = predict(b.trace(), "speed rank:1=2", hand_model(), clock="none")
    (other,) = found.span.others
    assert other.changes == ("S_bytes=49",)
    assert found.span.least == other.makespan < found.predicted.makespan
    assert next((doubt.what, doubt.messages, doubt.of, doubt.change) for doubt in found.doubts) == ("held", 5, 5, "S_bytes=49")


def test_variations__only_what_concerns_a_message():
    b = Builder(2)
    b.call(0, "Barrier", at=(0, 10))
    none = replayed(b.trace(), Machine(hand_model(), unknown=(S, PROGRESS)))
    assert [unknown for unknown, end in single(none.machine) if varied(none, (end,))] == []
    run = replayed(in_time(), Machine(hand_model(), unknown=(S, PROGRESS)))
    told = [unknown for unknown, end in single(run.machine) if varied(run, (end,))]
    assert told == [":S_bytes"]  # its receive is posted by the call that waits for it


def test_variations__weights_by_no_model():
    """Without messages weights are those of the recording: all that is otherwise has the same, whatever was asked of those of the run."""
    b = Builder(2)
    for _ in range(3):
        b.compute(0, 1000)
        b.barrier()
    run = replayed(b.trace(), None, clock="none")
    latency, overhead = (varied(run, (change,)) for change in ("L_ns=7", "o_s_ns=5"))
    assert (latency.weighted.network.costs[0].L, overhead.weighted.network.costs[0].o_s) == (7, 5)
    assert latency.weighted.weight is overhead.weighted.weight
    assert latency.weighted.weight.tolist() == run.weighted.weight.tolist()
    run.weighted.weight[:] += 1
    assert latency.alike(run)
    b.send(0, 1)
    b.recv(1, 0)
    run = replayed(b.trace(), None, clock="none")
    latency, overhead = (varied(run, (change,)) for change in ("L_ns=7", "o_s_ns=5"))
    assert latency.weighted.weight is not overhead.weighted.weight


def test_found_ahead__what_has_a_graph_of_its_own():
    """Only with S = 0 does the message hold its sender, until 400 if rank 1 is slower; latency changes no edge."""

    def ahead(trace, question):
        basis = starting(trace, Machine(hand_model(), unknown=(S, LATENCY)), "none", question)
        return found_ahead(basis.clocks.trace, basis.machine, basis.hypotheses)

    assert ahead(in_time(), "speed rank:1=0.1") == {"S_bytes=0": Possible(("S_bytes=0",), 900)}
    assert ahead(crossed(), "move e1 before e0") == {"S_bytes=0": ("S_bytes=0",)}


def test_found_ahead__iterations_where_runs_are_drawn(monkeypatch):
    """They are looked for while no run is held."""
    looked, basis = [], starting(in_time(), hand_model(), "none", "zero-wait all")
    monkeypatch.setattr("perwiz.whatif.sure.span.find", looked.append)
    for draws in (0, 200):
        found_ahead(basis.clocks.trace, basis.machine, basis.hypotheses, draws)
    assert looked == [basis.clocks.trace]


def test_found_ahead__is_not_asked_again(monkeypatch):
    """Nothing is weighed under S = 0 while the recorded run is held."""
    monkeypatch.setattr("perwiz.whatif.sure.span.varied", lambda run, changes, *_: pytest.fail(changes) if "S_bytes=0" in changes else None)
    assert span(in_time(), "speed rank:1=0.1")[1].most == 900


@pytest.mark.slow
@given(build.programs(), st.sampled_from(["zero-wait all", "zero-time e0", "speed rank:0=2", "network L_ns=9000", "zero-wait e0"]))
def test_law__the_answer_lies_inside(trace, question):
    if not len(trace.calls):
        return
    found = predict(trace, question, OPEN)
    assert found.span.least <= found.predicted.makespan <= found.span.most
    assert all(found.span.least <= other.makespan <= found.span.most for other in found.span.others)


@pytest.mark.slow
@given(build.programs())
def test_law__the_recording_is_known(trace):
    found = predict(trace, (), OPEN).span
    assert (found.least, found.most) == (trace.timeline.makespan,) * 2 or predict(trace, (), OPEN).health.correction


def test_sent_in_place__another_order_may_hold_as_recorded():
    """The send of rank 1 comes behind its receive: rank 0 goes on at once, 1020, or waits for a call of rank 1 as recorded."""
    b = Builder(2)
    b.call(1, "Wtime", at=(0, 0))
    b.call(1, "Wtime", at=(3999, 4000))
    b.send(0, 1, 200, at=(1000, 4020))
    b.send(1, 0, 8, at=(4000, 4040))
    b.recv(1, 0, at=(4040, 4080))
    b.compute(0, 20000)
    b.recv(0, 1, at=(24020, 24060))
    trace, model = b.trace(), hand_model(S=5000, progress="in calls", inline_bytes=100)
    moved = predict(trace, ["move e5 before e4"], model)
    other = moved.span.others[0]
    assert (other.changes, moved.span.stops) == ((HELD,), ())
    assert moved.span.least <= moved.predicted.makespan < other.makespan <= moved.span.most
    assert predict(trace, ["speed rank:1=2"], model).span.others == ()
    both = predict(trace, ["speed rank:1=2", "move e5 before e4"], model)
    assert both.span.others[0].makespan == other.makespan - 1999  # rank 1 comes at 2001 instead of 4000, not at 1001


def test_sent_in_place__moves_of_domino_too():
    """The receive of rank 0 waits for the last send, which can run before the receive of e0: that may then hold e0 until 4000, or not."""
    b = Builder(2)
    b.call(1, "Wtime", at=(3999, 4000))
    b.send(0, 1, 200, at=(1000, 4020))
    b.recv(0, 1, tag=2, at=(4020, 9070))
    b.send(1, 0, 4, tag=1, at=(4000, 4010))
    b.recv(1, 0, at=(9000, 9010))
    b.send(1, 0, 8, tag=2, at=(9010, 9020))
    b.recv(0, 1, tag=1, at=(9070, 9090))
    b.compute(0, 20000)
    run = replayed(b.trace(), hand_model(S=5000, progress="in calls", inline_bytes=100))
    makespan = worth.makespan_after(run, "advance", [1])
    found = span_under(run, [parse("advance e1")])
    assert (found.least, found.most, [other.changes for other in found.others]) == (makespan, makespan + 46, [(HELD,)])
    waits = span_under(run, [parse("zero-wait e1")])
    assert waits.others == ()
