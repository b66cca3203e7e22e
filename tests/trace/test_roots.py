"""Roots of collectives from times: worked by hand, and on random programs never one that did not send or receive all."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder
from perwiz.formats import files
from perwiz.trace import operations, roots
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.tables import NONE
from perwiz.whatif.health import health


def found(trace):
    """Return the roots that times tell of a trace whose roots are forgotten, how many are inferred, assumed and still unknown."""
    out = told(trace)
    return out.instances.collectives.root.tolist(), out.inferred + out.adopted, out.assumed, out.instances.rootless


def told(trace):
    table = trace.collectives
    forgotten = dataclasses.replace(table, root=np.full(len(table), NONE, "i4"))
    rooted = np.isin(operations.KIND[table.op], (operations.ONE_TO_N, operations.N_TO_ONE))
    instances = CollectiveInstances(forgotten, trace.members, 0, 0, int(rooted.sum()))
    return roots.inferred(instances, trace.calls, trace.timeline.calls, trace.locations.process, trace.messages, trace.communicators)


def program(*instances):
    """Return a trace of three ranks: per instance a routine and (enter, leave) per rank."""
    b = Builder(3)
    for routine, *at in instances:
        b.everyone(routine, root=0, at=at)
    return b.trace()


def later(at, ns):
    return [(enter + ns, leave + ns) for enter, leave in at]


LOOSE = [(0, 50), (1, 51), (2, 52)]
"""Any rank may be the root, and none was waited for."""
WAITED = [(10, 90), (20, 90), (70, 80)]
"""Any may be, but of the 80 + 70 + 10 spent 60 + 50 lie before rank 2 enters."""


@pytest.mark.parametrize(
    ("routine", "at", "root", "assumed"),
    [
        ("Bcast", [(50, 95), (10, 60), (90, 96)], 0, 0),  # rank 2 comes when 1 has left; 0 was waited for, not 1
        ("Bcast", [(50, 95), (10, 20), (90, 96)], 1, 0),  # 1 left before the others came
        ("Bcast", [(51, 60), (10, 50), (30, 55)], 2, 0),  # rank 1 left 1 ns before 0 came
        ("Scatter", WAITED, 2, 0),
        ("Bcast", LOOSE, 0, 1),
        ("Bcast", [(50, 60), (10, 20), (30, 40)], 1, 0),
        ("Bcast", [(50, 60), (10, 20), (50, 55)], 1, 0),
        ("Reduce", [(10, 95), (20, 60), (90, 97)], 0, 1),  # 0 or 2
        ("Reduce", [(10, 85), (20, 60), (90, 97)], 2, 0),
        ("Gather", [(20, 60), (10, 95), (90, 92)], -1, 0),  # 1 or 2: nothing tells, and not the first
        ("Reduce", [(10, 11), (90, 91), (50, 51)], 1, 0),
    ],
)
def test_one_instance(routine, at, root, assumed):
    told = root >= 0
    assert found(program((routine, *at))) == ([root], told - assumed, assumed, 1 - told)


def test_instances_of_one_place_tell_each_other():
    """The second leaves only rank 1, which the first allows; the gather has a place of its own."""
    trace = program(("Bcast", *LOOSE), ("Bcast", *later([(50, 60), (10, 20), (30, 40)], 100)), ("Gather", *later(LOOSE, 200)))
    assert found(trace) == ([1, 1, 0], 2, 1, 0)
    assert (told(trace).inferred, told(trace).adopted) == (1, 1)


def test_the_only_possible_root_counts_more_than_who_was_waited_for():
    """Rank 2 was waited for in the first, but the second leaves only rank 1."""
    assert found(program(("Bcast", *WAITED), ("Bcast", *later([(50, 60), (10, 20), (30, 40)], 100)))) == ([1, 1], 2, 0, 0)


def test_what_is_possible_in_all_of_one_place():
    """0 or 1, then 1 or 2: rank 1."""
    trace = program(("Reduce", (10, 90), (80, 91), (20, 30)), ("Reduce", *later([(10, 30), (20, 95), (80, 90)], 100)))
    assert found(trace) == ([1, 1], 2, 0, 0)


def test_changing_roots_are_each_told_on_their_own():
    """Rank 1, then rank 2 are the only ones; nothing tells the third."""
    one, two = [(50, 60), (10, 20), (30, 40)], [(50, 60), (30, 40), (10, 20)]
    assert found(program(("Bcast", *one), ("Bcast", *later(two, 100)), ("Bcast", *later(LOOSE, 200)))) == ([1, 2, -1], 2, 0, 1)


def test_nothing_is_assumed_where_roots_change():
    """Rank 2, then rank 1 are waited for. The first rank is possible in all three, but the third is any."""
    waited = [WAITED[0], WAITED[2], WAITED[1]]
    trace = program(("Bcast", *WAITED), ("Bcast", *later(waited, 100)), ("Bcast", *later(LOOSE, 200)))
    assert found(trace) == ([2, 1, -1], 2, 0, 1)


def test_places_are_told_apart_by_user_regions():
    """Two places in the program, one of them with root 1, the other unknown: no vote across."""
    b = Builder(3)
    for name, at in (("a", [(50, 60), (10, 20), (30, 40)]), ("b", later(LOOSE, 100))):
        for rank in range(3):
            b.enter(rank, name)
        b.everyone("Bcast", root=0, at=at)
        for rank in range(3):
            b.leave(rank, name)
    assert found(b.trace()) == ([1, 0], 1, 1, 0)


def test_clocks_that_messages_show_to_be_apart_tell_nothing():
    """A message that arrives 100 ns before it is sent: that rank 1 left 30 ns before rank 0 came proves nothing."""
    b = Builder(3)
    b.send(0, 1, at=(500, 510))
    b.recv(1, 0, at=(390, 400))
    b.everyone("Bcast", root=0, at=later([(50, 60), (10, 20), (30, 40)], 1000))
    assert found(b.trace()) == ([0], 0, 1, 0)


def test_clocks_that_barriers_show_to_be_apart_tell_nothing():
    b = Builder(3)
    b.barrier(at=[(500, 510), (390, 400), (450, 460)])
    b.everyone("Bcast", root=0, at=later([(50, 60), (10, 20), (30, 40)], 1000))
    assert found(b.trace())[0] == [-1, 0]


def test_a_small_error_of_the_clocks_in_one_instance_is_outvoted():
    """Rank 0 left the second reduction 5 ns before rank 1 entered, of 1000 that it was there: that rules nobody out."""
    once = [(0, 1010), (900, 905), (1000, 1005)]
    trace = program(("Reduce", *once), ("Reduce", *later([(0, 1000), (1005, 1006), (900, 950)], 2000)), ("Reduce", *later(once, 4000)))
    assert found(trace) == ([0, 0, 0], 3, 0, 0)


def test_a_member_missing():
    """The root may be the one whose call was not recorded."""
    b = Builder(3)
    b.everyone("Bcast", root=0, missing=(2,), at=WAITED)
    assert found(b.trace()) == ([-1], 0, 0, 1)


def test_a_call_that_nothing_completes():
    """Nobody knows when rank 2 has its part: that rules nobody out. What is only posted waits for nobody."""
    b = Builder(3)
    requests = b.everyone("Ibcast", root=0, at=[(50, 51), (10, 11), (90, 91)])
    b.wait(0, requests[0], at=(95, 96))
    b.wait(1, requests[1], at=(55, 60))
    assert found(b.trace()) == ([0], 0, 1, 0)


def test_who_posted_last_was_not_waited_for():
    """The times of WAITED, but nobody waits between the post and the wait behind it."""
    b = Builder(3)
    requests = b.everyone("Ibcast", root=0, at=[(enter, enter + 1) for enter, _ in WAITED])
    for rank, (_, leave) in enumerate(WAITED):
        b.wait(rank, requests[rank], at=(leave - 1, leave))
    assert found(b.trace()) == ([0], 0, 1, 0)


def test_a_recorded_root_stays():
    trace = program(("Bcast", *WAITED))
    instances = CollectiveInstances(trace.collectives, trace.members, 0, 0, 0)
    out = roots.inferred(instances, trace.calls, trace.timeline.calls, trace.locations.process, trace.messages, trace.communicators)
    assert (out.instances.collectives.root.tolist(), out.inferred, out.assumed) == ([0], 0, 0)


def test_one_process_alone():
    b = Builder(1)
    b.everyone("Bcast", root=0)
    assert found(b.trace()) == ([0], 1, 0, 0)


def test_no_collectives_and_none_of_one_root():
    assert found(build.CATALOGUE["no_messages"]()) == ([], 0, 0, 0)
    b = Builder(2)
    b.barrier()
    assert found(b.trace()) == ([-1], 0, 0, 0)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_no_root_that_times_rule_out(data):
    """Programs of one root: it is never ruled out. Whatever the times: what is told is possible, up to what clocks are apart."""
    b, root = Builder(4), data.draw(st.integers(0, 3))
    for _ in range(data.draw(st.integers(1, 5))):
        for rank in range(4):
            b.compute(rank, data.draw(st.integers(0, 20_000)))
        b.everyone(data.draw(st.sampled_from(["Bcast", "Reduce", "Scatter", "Gather"])), root=root)
    trace = b.trace()
    told = found(trace)[0]
    for instance, first in enumerate(trace.collectives.first_member):
        call = trace.members.call[first : first + 4]
        enter, leave = trace.timeline.calls.enter[call], trace.timeline.calls.leave[call]
        if told[instance] < 0:
            continue
        others = np.arange(4) != told[instance]
        slack = (leave - enter).max() // 100
        if operations.KIND[trace.collectives.op[instance]] == operations.ONE_TO_N:
            assert enter[told[instance]] <= leave[others].min() + slack
        else:
            assert leave[told[instance]] + slack >= enter[others].max()


@pytest.mark.parametrize(("form", "write"), [("x.alog", build.plain_alog), ("x.otf2", build.plain_otf2)])
def test_files_of_others(tmp_path, form, write):
    """A file that does not name roots: inferred, tied, and the trace is incomplete for that; what perwiz writes of it names them."""
    b = Builder(3)
    for turn in range(3):
        for rank in range(3):
            b.compute(rank, 9000 * ((rank + turn) % 3))
        b.everyone("Bcast", root=1)
    trace = b.trace()
    none = dataclasses.replace(trace.collectives, root=np.full(3, NONE, "i4"))
    calls = dataclasses.replace(trace.calls, root=np.full(9, NONE, "i4"))
    write(dataclasses.replace(trace, collectives=none, calls=calls), tmp_path / form)
    read = files.read(str(tmp_path / form))
    assert read.collectives.root.tolist() == [1, 1, 1] == read.calls.root[:3].tolist()
    assert (read.counts.inferred_roots, read.counts.assumed_roots, read.counts.rootless_collectives) == (3, 0, 0)
    assert health(read).repairs == {"roots of collectives, inferred from times": 3}
    files.write(read, str(tmp_path / f"again.{form}"))
    assert files.read(str(tmp_path / f"again.{form}")).collectives == read.collectives
