"""Which call is which: worked by hand, and laws."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest
from hypothesis import given

from build import CATALOGUE, Builder, communicators, renamed, traces
from perwiz.whatif.compare import align as module
from perwiz.whatif.compare.align import align


def program(letters, processes=1):
    """Return a program of one process that sends itself a message per letter, which is the tag."""
    b = Builder(processes)
    for letter in letters:
        b.send(0, 0, tag=ord(letter))
    return b.trace()


def pairs(one, other):
    """Return the pairs as (row, row), with an m behind what moved."""
    found = align(program(one), program(other)) if isinstance(one, str) else align(one, other)
    rows = zip(found.first.tolist(), found.second.tolist(), found.moved.tolist(), strict=True)
    return [f"{i}-{j}{'m' * moved}" for i, j, moved in rows]


def test_nothing_changed():
    assert pairs("abcabc", "abcabc") == ["0-0", "1-1", "2-2", "3-3", "4-4", "5-5"]


def test_inserted_call():
    """a was put in front of a loop over a and b: the later ones keep their partners, they do not slip by one."""
    assert pairs("ababab", "aababab") == ["0-0", "1-2", "2-3", "3-4", "4-5", "5-6"]
    assert pairs("ababab", "xababab") == ["0-1", "1-2", "2-3", "3-4", "4-5", "5-6"]


def test_removed_call():
    assert pairs("abcabc", "abcbc") == ["0-0", "1-1", "2-2", "4-3", "5-4"]


def test_moved_call():
    """x went from the front to the end."""
    assert pairs("xabcabc", "abcabcx") == ["0-6m", "1-0", "2-1", "3-2", "4-3", "5-4", "6-5"]


def test_other_programs():
    assert pairs("abc", "xyz") == []
    assert pairs("", "xyz") == []


def test_many_changes(monkeypatch):
    """The inner loop over a runs twice as long, more than the script allows: b, which is as often in both, fixes the rest."""
    monkeypatch.setattr(module, "MOST", 3)
    one, other = "x" + "aaaab" * 3 + "y", "z" + "aaaaaaaab" * 3 + "y" + "x"
    found = pairs(one, other)
    assert "5-9" in found
    assert "10-18" in found
    assert "15-27" in found
    assert found[0] == "0-29m"
    assert [pair for pair in found if "m" in pair] == ["0-29m"]
    assert len(found) == 17


def test_many_new_calls(monkeypatch):
    """Calls that only one run has cost no edits, however many they are."""
    monkeypatch.setattr(module, "MOST", 1)
    assert pairs("abab", "axyzbxyzxyzaxyzb") == ["0-0", "1-4", "2-11", "3-15"]


def communicating(*names):
    """Return a trace of two processes with a barrier in each of some communicators, which have these names and members."""
    b = Builder(2)
    for name, members in names:
        b.everyone("Barrier", comm=b.comm(name, members))
    b.barrier()
    return b.trace()


def test_renamed_communicators():
    """Rows of communicators differ, and names: members decide, and of several with equal members the name, then the order."""
    one = communicating(("row", [0]), ("copy", [0, 1]), ("other", [0, 1]))
    other = communicating(("other", [0, 1]), ("COPY", [0, 1]), ("ROW", [0]))
    found = align(one, other)
    assert found.second.tolist() == [2, 1, 0, 3, 5, 4, 6]
    assert found.moved.sum() == 3


def test_other_members_are_another_communicator():
    assert pairs(communicating(("row", [0])), communicating(("row", [1]))) == ["1-0", "2-2"]


def test_more_processes():
    """Those of both are aligned, and the world is the world."""
    b = Builder(3)
    b.barrier()
    found = align(communicating(), b.trace())
    assert found.first.tolist() == found.second.tolist() == [0, 1]
    assert [side.tolist() for side in found.locations] == [[0, 1], [0, 1]]
    assert found.places[1].tolist() == [0, 1, 4]


def test_locations_in_another_order():
    """Ranks 1 and 0 are rows 0 and 1 of the second trace."""
    b = Builder(2)
    b.send(0, 1)
    b.recv(1, 0)
    one = b.trace()
    other = renamed(one, [1, 0])[0]
    swapped = dataclasses.replace(other.locations, process=np.array([1, 0], "i4"))
    calls = dataclasses.replace(other.calls, peer=one.calls.peer[::-1].copy())
    other = dataclasses.replace(other, locations=swapped, calls=calls)
    found = align(one, other)
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1], [1, 0])
    assert [side.tolist() for side in found.locations] == [[0, 1], [1, 0]]


def sending(*names):
    """Return a trace in which a process sends itself a message in each of some regions."""
    b = Builder(1)
    for name in names:
        with b.region(0, name):
            b.send(0, 0)
    return b.trace()


def test_regions_by_name():
    """The rows of names differ, the names do not; a call in another region is another call."""
    result = align(sending("a", "b"), sending("b", "a"))
    assert (result.second.tolist(), result.moved.sum()) == ([1, 0], 1)
    assert result.path_names == (("a",), ("b",))
    assert [side.tolist() for side in result.paths] == [[0, 1, -1], [1, 0, -1]]


@pytest.mark.parametrize("name", CATALOGUE)
def test_law__a_trace_is_itself(name):
    trace = CATALOGUE[name]()
    found = align(trace, trace)
    assert found.first.tolist() == found.second.tolist() == [*range(len(trace.calls))]
    assert not found.moved.any()


def test_renamed_region():
    """What is in no region of its own name is paired with what is left, in order."""
    found = align(sending("a", "x", "x", "c"), sending("a", "y", "y", "d"))
    assert found.first.tolist() == found.second.tolist() == [0, 1, 2, 3]
    assert found.elsewhere.tolist() == [False, True, True, True]
    assert not found.moved.any()


def keys(trace):
    """Return how often each location makes calls of each kind."""
    calls = trace.calls
    columns = (calls.location, calls.op, calls.peer, calls.tag, calls.comm, calls.root)
    return collections.Counter(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.slow
@given(traces(), traces())
def test_law__as_many_as_both_have(one, other):
    """Each kind of call has as many pairs as the run with fewer of them has calls, in either direction."""
    same = communicators([("world", [0, 1, 2, 3]), ("some", [3, 2, 1, 0])])
    one, other = (dataclasses.replace(trace, communicators=same) for trace in (one, other))
    found, back = align(one, other), align(other, one)
    assert len(found.first) == len(back.first) == (keys(one) & keys(other)).total()
    assert len({*found.first.tolist()}) == len({*found.second.tolist()}) == len(found.first)
    assert (np.diff(found.first) > 0).all()
    stay, location = ~found.moved, one.calls.location[found.first]
    rows, where = found.second[stay], location[stay]
    assert (np.diff(rows)[np.diff(where) == 0] > 0).all()


@pytest.mark.slow
@given(traces())
def test_law__names_of_ranks(trace):
    """Renaming the ranks of both runs renames the pairs."""
    new = np.roll(np.arange(len(trace.locations)), 1)
    other, call, *_ = renamed(trace, new)
    found = align(other, other)
    assert found.first.tolist() == found.second.tolist() == sorted(call.tolist())
