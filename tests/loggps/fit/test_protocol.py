"""Progress, what is sent in place, the gap, and all of the protocol together, worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import Builder
from perwiz.loggps.fit import progress as fit
from perwiz.loggps.fit.eager import limits
from perwiz.loggps.fit.gap import gap
from perwiz.loggps.fit.protocol import protocol
from perwiz.loggps.machine import Estimate, Unknown
from shown import sizes

ENDS = ("progress=always", "progress=in calls")


@pytest.mark.parametrize(
    ("moved", "computed", "expected"),
    [
        (9, 1, Estimate("progress", "", "in calls", 9, 1)),
        (1, 9, Estimate("progress", "", "always", 9, 1)),
        (2, 0, "no receiver is seen to compute while a message that it had asked for held its sender"),
        (8, 2, "8 of 10 messages moved only while their receiver was in a call, 2 before"),
    ],
)
def test_progress(moved, computed, expected):
    """Of 4096 bytes, above the limit of 8 bytes that 30 held ones tell."""
    seen = sizes((8, 40, 0, {"computed": 7}), (4096, 0, 30, {"moved": moved, "computed": computed}))
    expected = expected if isinstance(expected, Estimate) else Unknown("progress", "", ENDS, expected)
    assert fit.progress(seen, limits(seen)) == expected


def test_progress__of_what_is_sent_in_place():
    """Of 512 bytes 10 went on and 40 and 5 did not, though none needs its receive."""
    seen = sizes((8, 40, 0), (512, 10, 40, {"moved": 5}))
    assert fit.progress(seen, limits(seen)) == Estimate("progress", "", "in calls", 45, 0)
    assert fit.in_place(seen) == (Estimate("inline_bytes", "", 8, 80, 0),)


def test_in_place__none():
    assert fit.in_place(sizes((8, 40, 0), (4096, 0, 30))) == ()


def test_in_place__all():
    """From which smaller size on nothing tells."""
    found, left = fit.in_place(sizes((512, 10, 40)))
    assert found == Estimate("inline_bytes", "", 511, 40, 0)
    assert (left.key, left.values, left.why) == (
        "inline_bytes",
        ("0", "511"),
        "no message of less than 512 bytes is seen to be done at once",
    )


def sends(lasts, idle, count=30):
    """Return bursts of four sends of 8 bytes, the first of each of 100 ns, the others so long and so far apart."""
    b, now = Builder(2), 0
    for k in range(count):
        now += idle if k % 4 else 1000
        length = lasts if k % 4 else 100
        b.send(0, 1, 8, at=(now, now + length))
        now += length
    for k in range(count):
        b.recv(1, 0, at=(now + 200 * k, now + 200 * k + 100))
    return b.trace()


def test_gap():
    """22 of 30 follow one that returned no longer before than it lasted."""
    assert gap(sends(100, 20), 100) == (Estimate("g_ns", "", 120.0, 22, 0), Estimate("gap", "", "none", 30, 0))
    assert gap(sends(149, 20), 100)[1].value == "none"
    assert gap(sends(150, 20), 100) == (Estimate("g_ns", "", 170.0, 22, 0), Estimate("gap", "", "sending call", 30, 0))


def test_gap__not_told():
    none = (Unknown("gap", "", ("gap=none", "gap=sending call"), "no process sends 20 times one message right behind another"),)
    assert gap(sends(100, 101), 100) == gap(sends(100, 20, 26), 100) == gap(sends(100, 20), 7) == gap(Builder(2).trace(), 100) == none


def halo(size, length, steps=10, held=True):
    """Return a halo of two with computation between posting and waiting, of rank 1 longer; `held`: rank 0 waits until rank 1 does."""
    b, now = Builder(2), 0
    for _ in range(steps):
        waits = {}
        for rank in (0, 1):
            waits[rank] = [b.irecv(rank, 1 - rank, at=(now, now + 10)), b.isend(rank, 1 - rank, size, at=(now + 10, now + 20))]
        end = now + 20 + 2 * length
        b.wait(0, *waits[0], at=(now + 20 + length, end + 30 if held else now + 50 + length))
        b.wait(1, *waits[1], at=(end, end + 40))
        now = end + 100
    return b.trace()


def test_halo__that_moves_only_in_calls():
    """Ten messages of rank 0 are held for as long as rank 1 computes; ten of rank 1 are not seen to be."""
    shown = protocol(halo(5000, 12_000))
    assert shown.estimates == (Estimate("S_bytes", "", 4999, 10, 0), Estimate("progress", "", "in calls", 10, 0))
    assert [u.key for u in shown.unknown] == ["S_bytes", "gap"]
    assert shown.unknown[0].ends == ("S_bytes=0", "S_bytes=262144,inline_bytes=4999")


def test_halo__that_moves_meanwhile():
    """Whether it is eager or moves by itself no such trace tells."""
    shown = protocol(halo(5000, 12_000, held=False))
    assert shown.estimates == ()
    assert [u.key for u in shown.unknown] == ["S_bytes", "progress", "gap"]


def test_progress_tells_what_is_eager():
    """Of 5000 bytes is held until rank 1 comes back; so what is not, of 8 bytes, is eager."""
    b = Builder(2)
    for k, size in enumerate([5000, 8] * 5):
        at = 100_000 * k
        got, sent = b.irecv(1, 0, at=(at, at + 1)), b.isend(0, 1, size, at=(at + 10, at + 11))
        b.wait(0, sent, at=(at + 20, at + (50_050 if size > 8 else 100)))
        b.wait(1, got, at=(at + 50_000, at + 50_100))
    shown = protocol(b.trace())
    assert shown.estimates == (Estimate("S_bytes", "", 8, 10, 0), Estimate("progress", "", "in calls", 5, 0))


@st.composite
def runs(draw):
    """Draw what messages cost, the limit, and how long receivers compute, ns."""
    latency, limit = draw(st.integers(100, 3000)), draw(st.sampled_from((64, 1000, 8192)))
    return latency, limit, draw(st.lists(st.integers(60_000, 500_000), min_size=4, max_size=8)), draw(st.integers(0, 1))


@settings(max_examples=20)
@given(runs(), st.sampled_from(("always", "in calls")))
def test_law__the_protocol_that_a_run_was_made_under(made, moves):
    """Receivers are late, or have posted in time and compute: larger messages are held until then, or move meanwhile.

    Where they move in calls only, they may as well be sent in place: no receiver is in another call meanwhile.
    """
    shown, limit = protocol(random_run(made, moves)), made[1]
    told = {each.key: (each.value, each.against) for each in shown.estimates}
    assert told["progress"] == (moves, 0)
    assert told["S_bytes"] == (limit, 0)
    in_place = (f"S_bytes={limit}", f"S_bytes=262144,inline_bytes={2 * limit - 1}")
    assert [each.ends for each in shown.unknown if each.key != "gap"] == ([in_place] if moves == "in calls" else [])


def random_run(made, moves):
    """Return messages of the limit and larger, each to a receiver that is late, and to one that computes behind posting its receive."""
    latency, limit, computes, sender = made
    b, now = Builder(2), 10**6
    for length in computes:
        for k, late in ((limit, 1), (2 * limit, 1), (limit, 0), (2 * limit, 0)):
            a, back, waits = sender, now + length, k > limit
            posted = back if late else now - 1000
            begins = back if late or moves == "in calls" else now
            done = max(begins + 3 * latency, now + 210) if waits else now + 210
            send = b.isend(a, 1 - a, k, at=(now, now + 100))
            b.wait(a, send, at=(now + 110, done))
            got = b.irecv(1 - a, a, at=(posted, posted + 50))
            b.wait(1 - a, got, at=(back + 60, max(done, back + 60) + 100))
            now = max(done, back) + 10**6
    return b.trace()


def test_no_message():
    shown = protocol(Builder(1).trace())
    assert (shown.estimates, [u.key for u in shown.unknown]) == ((), ["S_bytes", "progress", "gap"])


def test_other_ranks__change_nothing():
    trace = halo(5000, 12_000)
    other = dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, process=np.array([7, 3], "i4")))
    assert protocol(other).estimates == protocol(trace).estimates
