"""Schedules of runs: what is written is read back, and takes as long."""

import numpy as np
import pytest
from hypothesis import assume, given

import build
import goals
from perwiz.clock.condition import violations
from perwiz.clock.treatment import Treated
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.formats.goal import calls
from perwiz.formats.goal.format import schedule as read
from perwiz.formats.goal.write import write
from perwiz.loggps.schedules import schedule
from perwiz.whatif import timed
from perwiz.whatif.run import graph_of, machine_of, replay_of

COLUMNS = ("kind", "rank", "size", "peer", "tag", "cpu", "nic", "op", "on", "starts")
FREE = build.hand_model(L=0, o=0, S=10**9)
LOSES = {"empty", "eager_and_rendezvous", "clock_violation_collective", "windows", "shmem"}
"""Of the catalogue, what GOAL cannot say: no rank at all, modes of sends, effects before causes, and links between processes."""


def scheduled(trace, model):
    """Return the schedule of a trace under a model."""
    clocks = Treated(trace, violations(trace, trace.timeline), None)
    return schedule(replay_of(clocks, graph_of(trace, model), machine_of(model, trace)).weighted)


def again(trace, model):
    """Return how long the schedule of a trace takes under the same model, ns."""
    return timed.timed(calls.trace(scheduled(trace, model).schedule), model).timeline.makespan


@given(content=goals.texts(units=2))
def test_write__read(tmp_path_factory, content):
    path = str(tmp_path_factory.mktemp("goal") / "x.goal")
    one = goals.read(content)
    write(one, path)
    other = read(path)
    assert other.ranks == one.ranks
    for name in COLUMNS:
        assert getattr(other, name).tolist() == getattr(one, name).tolist()


@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - {"empty"}))
def test_write__read_catalogue(name, tmp_path):
    """The schedule of every run is read back as it was written."""
    one, path = scheduled(build.CATALOGUE[name](), build.hand_model()).schedule, str(tmp_path / "x.goal")
    write(one, path)
    other = read(path)
    assert other.ranks == one.ranks
    assert [getattr(other, name).tolist() for name in COLUMNS] == [getattr(one, name).tolist() for name in COLUMNS]


def test_schedule__of_ranks_far_beyond_the_processes():
    """Each rank has a block, so one that a damaged trace names would take 2 GiB of them."""
    said = r"^built: rank 2147483647 though 4 processes recorded, must be below 1280 in a schedule, which lists every rank$"
    with pytest.raises(UsageError, match=said):
        scheduled(build.far(build.CATALOGUE["ring"]()), FREE)


def test_write__by_hand(tmp_path):
    """Calls of rank 0, o = 2: what a call takes beyond that is computation, as is what is between calls.

    0   5      7    9     13     14        40
    |   |Irecv |Send |    |Wait            |        rank 1 sends at 24: the message is there at 36, received by 38
    """
    b = build.Builder(2)
    posted = b.irecv(0, 1, at=(5, 7))
    b.send(0, 1, 8, tag=3, at=(7, 9))
    b.wait(0, posted, at=(13, 40))
    b.recv(1, 0, tag=3, at=(0, 24))
    b.send(1, 0, 8, at=(24, 26))
    path = str(tmp_path / "x.goal")
    write(scheduled(b.trace(), build.hand_model()).schedule, path)
    with open(path) as file:
        assert file.read() == EXPECTED


EXPECTED = """num_ranks 2

rank 0 {
l1: calc 5
l2: recv 8b from 1 tag 0
l2 requires l1
l3: send 8b to 1 tag 3
l3 irequires l2
l4: calc 4
l4 requires l3
l5: calc 2
l5 requires l4
l5 requires l2
}
rank 1 {
l1: recv 8b from 0 tag 3
l2: calc 3
l2 requires l1
l3: send 8b to 0 tag 0
l3 requires l2
}
"""


@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - LOSES))
def test_write__takes_as_long(name):
    """Where messages and collectives take no time, whatever a run does is computation and waiting: the schedule takes as long."""
    trace = build.CATALOGUE[name]()
    assert again(trace, FREE) == trace.timeline.makespan


@given(build.traces())
def test_write__takes_no_longer(trace):
    """The same of random programs, but for what the modes of sends held, and what a root need not wait for."""
    assert again(trace, FREE) <= trace.timeline.makespan + 1


@given(goals.texts(wild=False))
def test_write__within_overheads(content):
    """A schedule that was read and is written again: other calls complete together, by overheads of each message at most.

    Where a process has several streams their waits may come in another order: no law is known for these.
    """
    model = build.hand_model(L=10, o=2, G=1, S=50)
    trace = timed.timed(calls.trace(goals.read(content)), model)
    assume(len(np.unique(trace.locations.process)) == len(trace.locations))
    assert abs(again(trace, model) - trace.timeline.makespan) <= 8 * len(trace.messages)


def test_write__losses():
    told = dict(scheduled(build.CATALOGUE["all_collectives"](), build.hand_model()).missing)
    assert told["collectives as such: they are the messages of their likely algorithm"] == 10
    told = dict(scheduled(build.CATALOGUE["eager_and_rendezvous"](), build.hand_model()).missing)
    assert told["synchronous and buffered sends: they are standard ones"] == 2


def test_write__unwritable(tmp_path):
    with pytest.raises(UsageError) as refused:
        files.write(build.one_process(), str(tmp_path / "x.goal"))
    assert str(refused.value) == f"{tmp_path}/x.goal: a schedule in GOAL is made under a model, must be written by perwiz convert"
