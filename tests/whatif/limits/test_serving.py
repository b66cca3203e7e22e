"""One process that serves the others in turn: what is a round, who waits, and what it is worth. Times in ns; messages take 12."""

from __future__ import annotations

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.computation import NEEDED, NEEDLESS
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.limits.serving import rounds, serving
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.run import replayed
from perwiz.whatif.sure.answers import Possible


def served(others=3, turns=1, late=0, own=0, idle=0, barrier=True):
    """Rank 0 prepares 100 for each and sends it, `own` more ahead of the first, then works for 60; the others work for 50.

    0  |= own =|=100= send|=100= send|=100= send|=60=|
    1  recv ~~~~~~~~~~~~~~~~|=50=|
    2  recv ~~~~~~~~~~~~~~~~~~~~~~~~~~~|=50=|
    3  |= late =| recv ~~~~~~~~~~~~~~~~~~~~~~~~~~~|=50=|
    """
    b = Builder(1 + others + idle, latency=12, per_byte=0, work=0)
    for _ in range(turns):
        b.compute(0, own)
        b.compute(others, late)
        for other in range(1, others + 1):
            b.compute(0, 100)
            b.send(0, other)
            b.recv(other, 0)
            b.compute(other, 50)
        b.compute(0, 60)
        if barrier:
            b.barrier()
    return b.trace()


def found(trace):
    """Return (process, others, rounds, sends, ns waited) of each process that serves."""
    run = replayed(trace, hand_model(), clock="none")
    return [(one.process, one.others, one.rounds, len(one.sends), one.waited) for one in serving(run)]


@pytest.mark.parametrize("turns", [1, 2])
def test_who_waits_from_one_send_to_the_next(turns):
    """From the first send to the second rank 2 waits, to the third rank 3."""
    assert found(served(turns=turns)) == [(0, 3, turns, 3 * turns, 200 * turns)]


@pytest.mark.parametrize(
    ("trace", "serves"),
    [
        (served(late=200), True),
        (served(late=201), False),
        (served(others=2), True),
        (served(others=2, idle=1), False),
        (served(others=1), False),
        (served(others=4, late=301), True),
    ],
)
def test_who_is_served_in_turn(trace, serves):
    """Rank 3 must wait when rank 2 is sent to, at 200; two are enough if there are no others. Of four 2 of 3 behind the first do."""
    assert bool(found(trace)) == serves


def test_a_round_ends_where_the_one_served_first_comes_again_or_something_is_heard():
    alone, apart = served(turns=2, barrier=False), served(turns=2)
    for trace in (alone, apart):
        pieces = rounds(trace, np.ones(len(trace.calls), bool))
        assert pieces.process.tolist() == [1, 2, 3, 1, 2, 3]
        assert np.flatnonzero(pieces.leads).tolist() == [0, 3]
        assert len(np.unique(pieces.round)) == 2


def test_several_messages_for_one_are_one_visit():
    """A length and then the data, for 1 and 2; for 3 the length alone."""
    b = Builder(4, latency=12, per_byte=0, work=0)
    for other, tag in ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0)):
        b.compute(0, 10)
        b.send(0, other, tag=tag)
        b.recv(other, 0, tag=tag)
    trace = b.trace()
    pieces = rounds(trace, np.ones(len(trace.calls), bool))
    assert np.diff(pieces.visit).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("own", "stay"), [(0, 12 + 100 + 50), (70, 70 + 12 + 100 + 50)])
def test_distribute(own, stay):
    """Who prepares its own piece needs no message: the others have done at 150, and rank 0 at 70 + 60 at most. What is more ahead of the
    first send stays. With messages all is sent at once; each receives, 12 later, prepares for 100 and works for 50.
    """
    trace = served(own=own)
    asked = predict(trace, "distribute op:MPI_Send", hand_model(), clock="none")
    assert (asked.recorded.makespan, asked.predicted.makespan) == (own + 360 + 2, 150)
    assert asked.span.others == (Possible((NEEDED,), stay),)
    segments = Segments(replayed(trace, hand_model(), clock="none").weighted)
    assert parse("distribute op:MPI_Send").lengths(segments, segments.length).sum() == segments.length.sum() == own + 360 + 3 * 50


def test_distribute__a_call_that_completes_more_than_a_piece():
    """Rank 1 waits for its piece and for what rank 2 sends at 500: that it still needs."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    piece, other = b.irecv(1, 0), b.irecv(1, 2, tag=1)
    for to in (1, 2):
        b.compute(0, 100)
        b.send(0, to)
    b.recv(2, 0)
    b.compute(2, 500)
    b.send(2, 1, tag=1)
    b.wait(1, piece, other)
    found = predict(b.trace(), "distribute op:MPI_Send", hand_model(), clock="none")
    assert (found.predicted.makespan, found.span.others) == (712, (Possible((NEEDED,), 724),))


@pytest.mark.parametrize(("back", "stay"), [(2, False), (3, True)])
def test_distribute__neighbours_exchange_more_than_pieces(back, stay):
    """Rank 0 serves 1 to 4, of whom 2 or 3 serve it and one more: of these half make no difference, three quarters do."""
    b = Builder(5, latency=12, per_byte=0, work=0)
    for other in range(1, 5):
        b.compute(0, 100)
        b.send(0, other)
        b.recv(other, 0)
    for other in range(1, back + 1):
        for to in (0, 5 - other if other < 3 else 4):
            b.send(other, to)
            b.recv(to, other)
    found = predict(b.trace(), "distribute rank:0", hand_model(), clock="none")
    assert [other.changes for other in found.span.others] == [(NEEDLESS if stay else NEEDED,)]


@pytest.mark.parametrize(("own", "stay"), [(300, False), (301, True)])
def test_distribute__who_works_first(own, stay):
    """Rank 0 computes 300 for the others: what it computes for itself before, and they wait for, may be what it sends if it is more."""
    found = predict(served(own=own), "distribute op:MPI_Send", hand_model(), clock="none")
    assert [other.changes for other in found.span.others] == [(NEEDLESS if stay else NEEDED,)]
    assert found.predicted.makespan == (own + 12 + 100 + 50 if stay else own + 60)


def test_distribute__of_some_sends():
    """What belongs to those to 1 and 2 moves; the send to 3 is at 100, as what is ahead of it stays."""
    trace = served()
    asked = predict(trace, "distribute e0,e1", hand_model(), clock="none")
    assert asked.predicted.makespan == 100 + 60 + 2


def test_ranked__first_and_instead_of_the_speed_of_who_serves():
    """As fast as the mean of 360, 50, 50 and 50 rank 0 gains, too; that it prepares for the others is why it is slow."""
    ranking = rank(replayed(served(turns=2), hand_model(), clock="none"))
    assert ranking.lines[0].change.question == "distribute site:MPI_Send"
    assert "slowest" not in {change.kind for change in ranking.changes}
    assert "slowest" in {change.kind for change in rank(replayed(served(late=201), hand_model(), clock="none")).changes}
