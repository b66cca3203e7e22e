"""What every trace is checked for, and where processes are in communicators."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from build import Builder, communicators
from perwiz.errors import TraceError
from perwiz.trace import arrays
from perwiz.trace.tables import Links, Times
from perwiz.trace.trace import Ranks


def test_array_types__their_elements():
    """Whichever way numpy says NDArray[int32]; what is no array type has none."""
    types = [arrays.I1, arrays.I4, arrays.I8, arrays.U1, arrays.U2, arrays.U8, arrays.F8, arrays.Mask, arrays.Ints]
    elements = [np.int8, np.int32, np.int64, np.uint8, np.uint16, np.uint64, np.float64, np.bool_, Any]
    assert [arrays.element(kind) for kind in types] == elements
    assert [arrays.element(kind) for kind in (int, tuple[int, ...], dict[str, int], int | None)] == [None] * 4
    assert arrays.dtype("I4") == np.dtype("i4")


def hybrid():
    """Return a trace of process 4, which calls e0 and e1, and of process 7, whose thread 1 sends in e3 what it receives in e2 itself."""
    b = Builder(3)
    b.call(0, "Comm_rank", at=(10, 20))
    b.call(0, "Comm_rank", at=(30, 40))
    b.send(2, 1, at=(10, 20))
    b.recv(1, 2, at=(10, 40))
    trace = b.trace("hybrid.otf2")
    places = {"process": np.array([4, 7, 7], "i4"), "thread": np.array([0, 0, 1], "i4")}
    return dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **places))


@pytest.mark.parametrize(
    ("enter", "leave", "said"),
    [
        ([10, 30, 10, 10], [20, 40, 40, 9], "e3 (rank 7.1) returns at 9 ns, before it was entered at 10 ns"),
        ([10, 19, 10, 10], [20, 40, 40, 20], "e1 (rank 4) is entered at 19 ns, before e0 returned at 20 ns"),
    ],
)
def test_times_that_contradict_program_order(enter, leave, said):
    trace = hybrid()
    times = Times(np.array(enter, "i8"), np.array(leave, "i8"))
    with pytest.raises(TraceError) as caught:
        dataclasses.replace(trace, timeline=dataclasses.replace(trace.timeline, calls=times))
    assert str(caught.value) == f"hybrid.otf2: {said}"


def test_links__in_order():
    """By effect, then cause, then kind."""
    kind, cause, effect = (np.array(column, dtype) for column, dtype in (([4, 0, 2, 1], "u1"), ([5, 5, 7, 3], "i4"), ([9, 9, 6, 9], "i4")))
    links = Links.in_order(kind, cause, effect)
    assert (links.kind.tolist(), links.cause.tolist(), links.effect.tolist()) == ([2, 1, 0, 4], [7, 3, 5, 5], [6, 9, 9, 9])


def test_less_than_no_bytes():
    trace = hybrid()
    messages = dataclasses.replace(trace.messages, bytes=np.array([-8], "i8"))
    with pytest.raises(TraceError) as caught:
        dataclasses.replace(trace, messages=messages)
    assert str(caught.value) == "hybrid.otf2: e3 (rank 7.1) sends -8 bytes, must be at least 0"


def test_ranks_of_processes():
    """A communicator of 5 and 3 in that order, one of nobody, and one of 4 alone; -1 is the world, which process 9 is not in."""
    ranks = Ranks(communicators([("MPI_COMM_WORLD", [3, 4, 5]), ("turned", [5, 3]), ("empty", []), ("alone", [4])]))
    asked = np.array([(-1, 3), (0, 5), (0, 9), (1, 5), (1, 3), (1, 4), (2, 3), (3, 4), (3, 5)], "i4")
    assert ranks.of(asked[:, 0], asked[:, 1]).tolist() == [0, 2, -1, 0, 1, -1, -1, 0, -1]
    assert Ranks(communicators([])).of(np.array([0]), np.array([0])).tolist() == [-1]
