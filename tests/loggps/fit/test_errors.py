"""How far fitted costs may be off, by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import hand_model
from perwiz.loggps.fit.errors import errors, others
from perwiz.loggps.fit.shortest import Points, points


def of(size, time, off):
    return Points(np.array(size), np.array(time, "f8"), np.full(len(size), 9), np.array(off, "f8"), 0.0)


NONE = of([], [], [])
ROW = hand_model().costs[0]


def test_points__the_next_shortest():
    """One place: 20 and 23 for 8 bytes, so 3 off; 50 and 50 for 64. Size 256 has one message: off as others are, in the middle."""
    found = points(np.zeros(5, "i4"), np.array([8, 8, 64, 64, 256]), np.array([23.0, 20, 50, 50, 100]))
    assert (found.time.tolist(), found.off.tolist()) == ([20, 50, 100], pytest.approx([3, 0, 7.5]))


def test_points__places_that_differ():
    """Four places, each as fast twice: the shortest is 100, they differ from it by 0, 10, 20 and 30 %, in logs."""
    found = points(np.repeat(np.arange(4, dtype="i4"), 2), np.full(8, 8), np.repeat([100.0, 110, 120, 130], 2))
    spread = (np.log(1.1) + np.log(1.2)) / 2
    assert found.off.tolist() == pytest.approx([1.4826 * spread / 2 * 100])


def test_one_message_alone_is_as_it_is():
    assert points(np.zeros(1, "i4"), np.array([8]), np.array([10.0])).off.tolist() == [0]


def test_errors():
    """o + L + o = 14 for each size, as the model says: 3 and 4 ns off over 101 - 1 bytes."""
    found = errors(of([1, 101], [14, 14], [3, 4]), 1, of([1], [2], [0.5]), NONE, [ROW])
    assert found == {"L": 3, "G": 5 / 100, "o_s": 0.5}


def test_errors__of_three_latencies():
    assert errors(of([1], [14], [3]), 3, NONE, NONE, [ROW]) == {"L": 1}


def test_errors__beside_the_line():
    """14 by the line, 21 and 7 seen: half as much too long and too short, over the root of two sizes."""
    found = errors(of([1, 2], [21, 7], [0, 0]), 1, NONE, NONE, [ROW])
    assert found == {"L": pytest.approx(21 * 0.5 / 2**0.5)}


def test_points__a_longer_message_that_was_faster():
    """One place: 40 and 90 for 8 bytes, but 30 and 31 for 64: the shorter takes the time of the longer, 1 off."""
    found = points(np.zeros(4, "i4"), np.array([8, 8, 64, 64]), np.array([40.0, 90, 30, 31]))
    assert (found.time.tolist(), found.off.tolist()) == ([30, 30], pytest.approx([1, 1]))


def test_others():
    """What a call takes less the latency is more; nothing is below nothing; half a nanosecond changes nothing."""
    model = hand_model()
    assert [each.costs[0] for each in others(model, {"": {"L": 3, "o_s": 1, "o_r": 99, "G": 0}})] == [
        dataclasses.replace(ROW, L=7),
        dataclasses.replace(ROW, o_s=1, L=11),
        dataclasses.replace(ROW, o_r=0, L=12),
    ]
    assert list(others(model, {"": {"L": 0.4}, "within-node": {"L": 9}})) == []
