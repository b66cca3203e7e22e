"""Settings of the MPI library as lines of the list: its eager limit and its progress, by hand. Times in ns; o + L = 12."""

from __future__ import annotations

import numpy as np
import pytest

from build import Builder, hand_model, placed
from perwiz.loggps.machine import Machine, Unknown
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import change as asking
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.messages import _powers, _size
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.ranking.situations import freed, moved, posted, situation
from perwiz.whatif.run import graph_of, replayed
from perwiz.whatif.sure import span as sure
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.sure.variations import varied

IN_CALLS = hand_model(progress="in calls")
IN_PLACE = hand_model(progress="in calls", inline_bytes=100)


def ranked(trace, model, **asked):
    """Return the list of one kind, each of whose lines is what `predict` says."""
    found = rank(replayed(trace, model, clock="none"), kinds=["protocol"], **asked)
    for change in found.changes:
        assert predict(trace, change.question, model, clock="none").predicted.makespan == change.makespan
    return found


def told(trace, model, by="setting"):
    return [(change.question, change.makespan) for change in ranked(trace, model, by=by).changes]


def late(size=200):
    """Rank 1 is in a receive of a word from rank 2 at 1000 .. 3020, and receives from rank 0 only at 9000; rank 0 then computes 30000.

    rank 0  e0(isend) 100 .. 110   e1(wait) 200 ~~~~~~~~~~~~~~~~~~ 9030 == 39030
    rank 1  ========= 1000 e2(recv a word) 3020 ======= 9000 e3(recv) 9060
    rank 2  ================ 3000 e4(send)
    """
    b = Builder(3)
    b.wait(0, b.isend(0, 1, size, at=(100, 110)), at=(200, 9030))
    b.recv(1, 2, tag=1, at=(1000, 3020))
    b.recv(1, 0, at=(9000, 9060))
    b.send(2, 1, 8, tag=1, at=(3000, 3010))
    b.compute(0, 30_000)
    return b.trace()


@pytest.mark.parametrize(
    ("model", "found"),
    [
        # Above the limit of 100. Eager, the wait ends at 214: of 30 of work 14 are left that no handshake explains.
        (hand_model(), [("eager 256", 30_214)]),
        (IN_CALLS, [("eager 256", 30_214)]),
        # Sent in place it still waits for a call of rank 1, at 1000: an edge that the run itself does not have.
        (IN_PLACE, [("eager 256", 31_014)]),
        # Below the limit it is held in place; no limit frees it, but progress does.
        (hand_model(S=300, progress="in calls", inline_bytes=100), [("progress always", 30_230)]),
        (hand_model(S=300), []),
    ],
)
def test_lines_of_the_list(model, found):
    assert told(late(), model) == found


def test_progress_where_the_receiver_computes():
    """Posted at 0, and rank 1 computes until 10000, then lets rank 0 go, which computes 5000: always moving, or eager, it goes at once."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(120, 10_030))
    b.wait(1, b.irecv(1, 0, at=(0, 10)), at=(10_000, 10_040))
    b.compute(0, 5000)
    assert told(b.trace(), IN_CALLS) == [("eager 256", 10_012), ("progress always", 10_040)]
    assert told(b.trace(), hand_model()) == []


def test_what_is_said_of_them():
    """A limit is a setting, and goes before what says the same of a site; who posts late is said with it, of progress nobody does."""
    found = ranked(late(), hand_model())
    line = found.lines[0]
    assert (line.change.question, [change.question for change in line.includes]) == ("eager 256", ["eager site:MPI_Isend", "eager all"])
    assert (situation(found.run, line.change), posted(found.run, line.change)) == ("eager limit", "MPI_Recv")
    assert situation(found.run, line.includes[0]) == "held sender"
    found = ranked(late(), hand_model(S=300, progress="in calls", inline_bytes=100))
    progress = found.lines[0].change
    assert (situation(found.run, progress), posted(found.run, progress)) == ("progress", None)


@pytest.mark.parametrize("bytes_kept", [1 << 26, 0])
def test_with_other_changes(monkeypatch, bytes_kept):
    """Together with other questions it keeps the edges that it supposes: another order of calls, or faster computation. So it does where
    graphs are too large to be kept for what is asked next.
    """
    built = list[object]()
    monkeypatch.setattr(asking, "_AGAIN", bytes_kept)
    monkeypatch.setattr(asking, "graph_of", lambda *asked: built.append(asked) or graph_of(*asked))
    run = replayed(late(), IN_PLACE, clock="none")
    asker = Asker(run)
    for other in ("scale", "advance"):
        question = {"scale": "speed rank:0=2", "advance": "advance e1"}[other]
        both = ["eager 256", question]
        assert asker.makespan(*map(parse, both)) == predict(late(), both, IN_PLACE, clock="none").predicted.makespan
    assert asker.makespan(parse("eager 256")) == 31_014
    assert asker.makespan(parse("speed rank:0=2")) == predict(late(), "speed rank:0=2", IN_PLACE, clock="none").predicted.makespan
    assert len(built) == (1 if bytes_kept else 3)


def test_spans_are_those_of_predict():
    """Also where it is not known how large eager messages must be to be sent in place."""
    machine = Machine(IN_CALLS, (), (Unknown("inline_bytes", "", ("inline_bytes=100", "inline_bytes=300"), "nothing tells"),))
    run, question = replayed(late(), machine, clock="none"), parse("eager 256")
    answers = answered(run, Asker(run).questions([question]), 0)
    found = sure.spans(run, answers, [question])
    assert found == [sure.span_under(replayed(late(), machine, clock="none", hypotheses=[question]), [question], 0)]
    assert (found[0].least, found[0].most) == (30_214, 31_014)


def test_graph_of_an_end_serves_its_questions(monkeypatch):
    """Made for the questions that are asked there it has all edges that they suppose: else each builds a graph of its own."""
    run, question, built = replayed(late(), IN_PLACE, clock="none"), parse("eager 256"), list[object]()

    def building(*asked):
        built.append(asked)
        return graph_of(*asked)

    monkeypatch.setattr(asking, "graph_of", building)
    ends = [varied(run, ("S_bytes=0",), questions).weighted for questions in ((), (question,))]
    alone, together = (Asker(run, end, once=True).makespan(question) for end in ends)
    model = hand_model(S=0, progress="in calls", inline_bytes=100)
    assert alone == together == predict(late(), "eager 256", model, clock="none").predicted.makespan
    assert [asked[2] for asked in built] == [(question,)]


def test_by_class_of_pairs():
    """Rank 1 is on the node of rank 0 and receives at 5000, rank 2 is not and receives at 9000: a limit for each; then rank 0 computes."""
    b = Builder(3)
    requests = [b.isend(0, other, 200 * other, at=(other, other)) for other in (1, 2)]
    b.wait(0, requests[0], at=(100, 5100))
    b.wait(0, requests[1], at=(5200, 9100))
    b.recv(1, 0, at=(5000, 5060))
    b.recv(2, 0, at=(9000, 9060))
    b.compute(0, 20_000)
    found = dict(told(placed(b.trace(), [0, 0, 1]), hand_model()))
    assert list(found) == ["eager between-nodes:512"]  # within the node it would wait as long for the other
    assert dict(told(b.trace(), hand_model())).keys() == {"eager 512"}


def test_no_limit_below_another():
    """Blocking sends are held from 101 bytes on, others from 5001: one limit for all must be 8192, or those would be held."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.wait(0, b.isend(0, 1, 4000))
    for _ in range(2):
        b.recv(1, 0)
    model = hand_model().with_changes("S_nonblocking_bytes=5000")
    assert [question for question, _ in told(b.trace(), model)] == ["eager 8KiB"]


def test_no_limit_frees_a_synchronous_send():
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200, mode="S")
    b.compute(0, 1000)
    b.recv(1, 0)
    assert told(b.trace(), hand_model()) == []
    assert told(b.trace(), hand_model(), by="program") != []


def test_the_smallest_limit_that_gains_about_as_much():
    """Of two that are held for 900 each the second waits 10 for its receive if only the first is eager."""
    assert _powers(np.array([3000, 5000, 70_000]), np.array([60, 30, 10])) == [4096, 8192, 131_072]
    assert _powers(np.array([4096, 0]), np.array([10, 0])) == [4096]
    assert _powers(np.array([4096]), np.array([0])) == _powers(np.zeros(0, "i8"), np.zeros(0, "i8")) == []
    assert _powers(np.array([200, 3000]), np.array([50, 50])) == [256, 4096]  # half, to the byte
    assert _powers(np.array([200, 3000]), np.array([49, 51])) == [4096]
    assert _powers(np.array([200, 3000, 9000]), np.array([50, 41, 9])) == [256, 4096, 16_384]
    assert _powers(np.array([257, 256, 1]), np.array([1, 1, 2])) == [1, 512]
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 980)
    b.send(0, 1, 3000)
    b.compute(0, 1000)
    for _ in range(2):
        b.recv(1, 0)
    questions = [question for question, _ in told(b.trace(), hand_model())]
    assert questions == ["eager 256"]


@pytest.mark.parametrize(("power", "size"), [(1, "1"), (512, "512"), (1 << 10, "1KiB"), (1 << 19, "512KiB"), (1 << 33, "8GiB")])
def test_sizes(power, size):
    assert _size(power) == size
    assert _size(1 << 41) == "2048GiB"


def test_waits_for_progress__that_messages_do_not_explain():
    """Who waits for progress is told to let the library make some, unless that gains next to nothing; then others come late."""
    said = {gain: moved("progress", 1000, gain) for gain in (99, 100)}
    assert said == {99: "late sender", 100: "progress"}
    assert moved("held sender", 1000, 0) == "held sender"
    found = ranked(late(), IN_PLACE)
    now, gains = found.run.makespan, {change.question: found.run.makespan - change.makespan for change in found.changes}
    assert {"eager 256", "eager all"} <= gains.keys()
    assert freed(now, found.changes) == max(gain for question, gain in gains.items() if question != "eager 256")
    assert freed(now, [change for change in found.changes if change.by == "setting"]) == 0
