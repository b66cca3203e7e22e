"""Hot spots: by hand, and what each is worth as `predict` says it. Times in ns; messages take 12."""

from __future__ import annotations

import pytest

import build
from build import Builder, hand_model
from perwiz.whatif.limits.critical import critical_of
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.hotspots import hot_spots


def found(trace, most=5):
    """Return (region, its own computation on the path, makespan with half of it) of the hot spots of a trace."""
    run = replayed(trace, hand_model(), clock="none")
    spots = hot_spots(Asker(run), critical_of(run).pieces, most)
    return [(spot.region, spot.on_path, spot.makespan) for spot in spots]


def solved(setup):
    """Rank 0 solves for 600 and sends; rank 1 sets up, waits, and then writes for 100. All of rank 0 is in `main`.

    rank 0  main(solve ======) send       0 .. 600
    rank 1  setup == recv ~~~~ write =    0 .. setup, waits until 612, .. 712
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.enter(0, "main")
    for rank, region, length in ((0, "solve", 600), (1, "setup", setup)):
        b.enter(rank, region)
        b.compute(rank, length)
        b.leave(rank, region)
    b.send(0, 1)
    b.recv(1, 0)
    b.enter(1, "write")
    b.compute(1, 100)
    b.leave(1, "write")
    b.leave(0, "main")
    return b.trace()


def test_half_of_what_holds_the_path():
    """Half of 600 ends it at 300 + 12 + 100, half of write at 612 + 50; setup is waited for by nobody, and main computes nothing itself."""
    assert found(solved(100)) == [("solve", 600, 412), ("write", 100, 662)]
    assert found(solved(100), 1) == [("solve", 600, 412)]


@pytest.mark.parametrize(
    ("lengths", "rank", "makespan"),
    [((300, 600, 300), 1, 300), ((310, 600, 300), 1, 310), ((340, 600, 300), None, 300), ((600, 600, 600), None, 300)],
)
def test_of_one_process_where_the_others_add_hardly_anything(lengths, rank, makespan):
    """Half of 600 alone gains up to the next one's time; half of all gains 300, and 270 is nine tenths of that. No messages."""
    b = Builder(3, work=0)
    for process, length in enumerate(lengths):
        with b.region(process, "solve"):
            b.compute(process, length)
    run = replayed(b.trace(), hand_model(), clock="none")
    [spot] = hot_spots(Asker(run), critical_of(run).pieces, 3)
    where = "" if rank is None else f"@rank:{rank}"
    assert (spot.rank, str(spot.hypothesis), spot.makespan) == (rank, f"scale solve{where}=0.5", makespan)


def test_who_is_waited_for_then():
    """With solve at 300 its message comes at 312, but rank 1 sets up until 500: 600, not 412."""
    assert found(solved(500)) == [("solve", 600, 600), ("write", 100, 662)]


def test_a_region_counts_if_half_of_it_is_its_own():
    """Of main 400 are its own and 600 in dot, so main is none; with 600 of its own it is one, all in it halved."""

    def nested(own):
        b = Builder(1, work=0)
        b.enter(0, "main")
        b.compute(0, own)
        b.enter(0, "dot")
        b.compute(0, 600)
        b.leave(0, "dot")
        b.leave(0, "main")
        return b.trace()

    assert found(nested(400)) == [("dot", 600, 700)]
    assert found(nested(600)) == [("main", 600, 600), ("dot", 600, 900)]


def test_none_without_regions():
    assert found(build.late_sender()) == []


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_each_is_worth_what_predict_says(name):
    trace = build.CATALOGUE[name]()
    run = replayed(trace, hand_model())
    for spot in hot_spots(Asker(run), critical_of(run).pieces, 3):
        assert predict(trace, str(spot.hypothesis), hand_model()).predicted.makespan == spot.makespan < run.makespan
