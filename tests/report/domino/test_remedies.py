"""Which situation a change is for, and that each has a remedy."""

from __future__ import annotations

import pytest

from build import CATALOGUE, Builder, hand_model
from perwiz.report.domino.remedies import REMEDIES, situation
from perwiz.whatif.ranking import WORDS, ranking
from perwiz.whatif.run import replayed


def situations(trace, kind, by="site"):
    """Return the situations of the changes of a kind."""
    found = ranking.rank(replayed(trace, hand_model(), clock="none"), [kind], by)
    return {situation(found.run, change) for change in found.changes}


def late(routine, root=None):
    """Return a run of two in which one process comes 1000 late to a collective; who waited for it ends last."""
    b = Builder(2, work=0)
    b.compute(0 if root == 0 and routine == "Bcast" else 1, 1000)
    b.everyone(routine, root=root)
    for rank in (0, 1):
        b.compute(rank, 500 if rank == 0 else 10)
    b.compute(1 if routine == "Bcast" else 0, 1000)
    return b.trace()


@pytest.mark.parametrize(
    ("routine", "root", "said"),
    [
        ("Barrier", None, "wait at barrier"),
        ("Allreduce", None, "wait at N x N"),
        ("Bcast", 0, "late broadcast"),
        ("Reduce", 0, "early reduce"),
    ],
)
def test_waits_in_collectives(routine, root, said):
    assert situations(late(routine, root), "wait") == {said}


def test_waits_for_messages():
    assert situations(CATALOGUE["late_sender"](), "wait") == {"late sender"}
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.recv(1, 0)
    assert situations(b.trace(), "wait") == {"late receiver"}
    assert situations(b.trace(), "protocol") == {"eager limit"}


def test_other_kinds():
    b = Builder(2, work=40)
    b.compute(1, 1000)
    b.barrier()
    assert situations(b.trace(), "balance", "program") == {"imbalance"}
    assert situations(b.trace(), "slowest", "rank") == {"slow process"}
    assert situations(b.trace(), "collective") == {"wait at barrier"}
    assert situations(late("Allreduce"), "collective") == {"collective"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_change_has_a_remedy(name):
    found = ranking.rank(replayed(CATALOGUE[name]()))
    for change in found.changes:
        assert change.kind in WORDS
        assert situation(found.run, change) in REMEDIES
