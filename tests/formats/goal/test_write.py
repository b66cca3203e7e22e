"""Schedules of runs: what is written is read back, and takes as long."""

import numpy as np
import pytest
from hypothesis import given

import build
import goals
from perwiz.clock.condition import violations
from perwiz.clock.treatment import Treated
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.formats.goal.format import schedule as read
from perwiz.formats.goal.write import write
from perwiz.loggps.algorithms.routines import ALGORITHMS
from perwiz.loggps.schedules import schedule
from perwiz.whatif import timed
from perwiz.whatif.run import graph_of, machine_of, replay_of

COLUMNS = ("kind", "rank", "size", "peer", "tag", "cpu", "nic", "op", "on", "starts")


def scheduled(trace, model):
    """Return the schedule of a trace under a model."""
    clocks = Treated(trace, violations(trace, trace.timeline), None)
    return schedule(replay_of(clocks, graph_of(trace, model), machine_of(model, trace)).weighted)


@given(content=goals.texts(units=2))
def test_write__read(tmp_path_factory, content):
    path = str(tmp_path_factory.mktemp("goal") / "x.goal")
    one = goals.read(content)
    write(one, path)
    other = read(path)
    assert other.ranks == one.ranks
    for name in COLUMNS:
        assert getattr(other, name).tolist() == getattr(one, name).tolist()


def test_write__by_hand(tmp_path):
    """Rank 0 computes 5, posts a receive, sends within 2, computes 4 and awaits; what the model does not explain of a call is computation."""
    b = build.Builder(2)
    b.compute(0, 5)
    b.irecv(0, 1, request=1)
    b.send(0, 1, 8, tag=3)
    b.compute(0, 4)
    b.wait(0, 1)
    b.recv(1, 0, tag=3)
    b.send(1, 0, 8)
    trace = b.trace()
    path = str(tmp_path / "x.goal")
    write(scheduled(trace, build.hand_model()).schedule, path)
    with open(path) as file:
        lines = [line for line in file.read().split("\n") if line]
    assert [line for line in lines if "calc" not in line] == [line for line in EXPECTED.split("\n") if line]


EXPECTED = """
"""


@build.on("no_messages", "late_sender", "late_receiver", "crossing", "ring", "halo", "waitall_of_three", "eager_and_rendezvous", "self_message")
def test_write__takes_as_long(trace, tmp_path):
    """A run that the model explains whole: read back under the same model the schedule ends at the same instant."""


def test_write__unwritable(tmp_path):
    with pytest.raises(UsageError) as refused:
        files.write(build.empty(), str(tmp_path / "x.goal"))
    assert str(refused.value) == f"{tmp_path}/x.goal: a schedule in GOAL is made under a model, must be written by perwiz convert"
