"""Completions that were not recorded, put where the program must have waited, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_otf2 as naive
from perwiz.kernels import completions

KINDS = {"post": 0, "wait": 1, "all": 2, "work": 0}


def later(location, kind, first):
    left = np.full(len(kind), 77, "i4")
    completions.later_waits(np.array(location, "i4"), np.array(kind, "u1"), np.array(first, "i4"), left)
    return left.tolist()


def inferred(location, kind, first, left, sends):
    by, waiting = np.full(len(sends), -1, "i4"), np.full(len(sends), 77, "i4")
    columns = (np.array(values, dtype) for values, dtype in ((location, "i4"), (kind, "u1"), (first, "i4"), (left, "i4"), (sends, "u1")))
    completions.infer(*columns, by, waiting)
    return by.tolist()


def program(text):
    """Return the calls that complete the requests of a program: s posts a send, r a receive, W waits for one, A for all, | next process."""
    location, kind, posts = [], [], []
    process = 0
    for letter in text:
        if letter == "|":
            process += 1
            continue
        location.append(process)
        kind.append({"W": 1, "A": 2}.get(letter, 0))
        posts.append(int(letter in "sr"))
    sends = [int(letter == "s") for letter in text if letter in "sr"]
    first = [0, *np.cumsum(posts).tolist()]
    return inferred(location, kind, first, later(location, kind, first), sends)


@st.composite
def programs(draw):
    """Draw (location, kind, first, sends) of up to 25 calls, each of which may post several requests, even those that wait."""
    kind = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2]), max_size=25))
    location = sorted(draw(st.lists(st.integers(0, 2), min_size=len(kind), max_size=len(kind))))
    posts = draw(st.lists(st.sampled_from([0, 0, 1, 1, 3]), min_size=len(kind), max_size=len(kind)))
    first = [0, *np.cumsum(posts, dtype=int).tolist()]
    return location, kind, first, draw(st.lists(st.integers(0, 1), min_size=first[-1], max_size=first[-1]))


@pytest.mark.slow
@given(programs())
def test_later_waits__twin(drawn):
    location, kind, first, _ = drawn
    assert later(location, kind, first) == naive.later_waits(location, kind, np.diff(first).tolist())


@pytest.mark.slow
@given(programs(), st.data())
def test_infer__twin(drawn, data):
    """Whatever number is to be left over."""
    location, kind, first, sends = drawn
    left = data.draw(st.lists(st.integers(0, 3), min_size=len(kind), max_size=len(kind)))
    assert inferred(location, kind, first, left, sends) == naive.infer(location, kind, first, left, sends)


@pytest.mark.slow
@given(programs())
def test_both__twin(drawn):
    location, kind, first, sends = drawn
    left = later(location, kind, first)
    assert inferred(location, kind, first, left, sends) == naive.infer(location, kind, first, left, sends)


@pytest.mark.parametrize(
    ("text", "by"),
    [
        # In order: each Wait takes the oldest.
        ("rsWW", [2, 3]),
        # A Waitall takes all there are.
        ("rsrA", [3, 3, 3]),
        # One is left for the Wait behind it, and the two that go are the receives.
        ("rsrAW", [3, 4, 3]),
        # All of one kind, and not all go: the oldest.
        ("rrrAW", [3, 3, 4]),
        ("ssA", [2, 2]),
        # Two sends are left, as many as are taken: the sends, which is how halo exchanges end.
        ("rrssAWW", [5, 6, 4, 4]),
        # Three of four go: three receives, one send.
        ("rrrsAW", [4, 4, 4, 5]),
        ("srrrAW", [5, 4, 4, 4]),
        # Behind a post a Wait is for that one; behind a Waitall too.
        ("rrArW", [2, 2, 4]),
        ("rAAW", [1]),
        # Nothing to wait for; never waited for.
        ("WAr", [-1]),
        ("Wrr", [-1, -1]),
        # More Waits than requests: the Waitall leaves all to them.
        ("rAWW", [2]),
        # What another process does is of no concern.
        ("rr|WA|rW", [-1, -1, 5]),
        ("sr|rrA", [-1, -1, 4, 4]),
    ],
)
def test_infer__by_hand(text, by):
    """Calls are numbered from 0."""
    assert program(text) == by


def test_later_waits__by_hand():
    """Two Waits behind the Waitall, none of them behind the post; the next process has one of its own."""
    assert later([0] * 5 + [1] * 2, [2, 1, 1, 0, 1, 2, 1], [0, 0, 0, 0, 1, 1, 1, 1]) == [2, 1, 0, 1, 0, 1, 0]


def test_nothing():
    assert later([], [], [0]) == []
    assert inferred([], [], [0], [], []) == []
