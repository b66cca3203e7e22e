"""The engine for programs, against the simulation that defines it: farms, messages that wait, receives that wait, calls that choose."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import ANY, NONE, Builder, hand_model
from farms import counter, farm, farm_of_requests, fixed_farm, growth, lengths, queueing
from perwiz.engines.rematch import rematch, simulate
from perwiz.trace import operations
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.rematch.programs import opened
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import replayed, under


def programs(trace, *texts):
    """Return the programs of a trace under hypotheses, tasks elsewhere as long as they were, and on location 2 three times."""
    asked = parse_all(list(texts), trace)
    base = replayed(trace, hand_model(), "none", asked)
    changed, of = under(base, asked), handed_out(trace)
    slowness = np.where(np.arange(len(trace.locations)) == 2, 3.0, 1.0)
    return opened(changed.weighted, base.time, of.choices, of.tasks, of.turns, (changed.weighted.weight, slowness)).programs


def agree(program):
    """Return what both engines say."""
    compiled, defined = rematch(program), simulate(program)
    for field in dataclasses.fields(compiled):
        assert getattr(compiled, field.name).tolist() == getattr(defined, field.name).tolist()
    return compiled


@pytest.mark.parametrize("unasked", [True, False])
@pytest.mark.parametrize("hears", ["recv", "probe", "ahead"])
@pytest.mark.parametrize("speed", [0.2, 1, 3])
def test_farm(unasked, hears, speed):
    program = programs(farm([500, 9000, 20, 4000, 4000, 7, 700, 3000], unasked=unasked, hears=hears), f"speed rank:1={speed}")
    assert (agree(program).seat != program.home).any() == (speed != 1)


@pytest.mark.parametrize("made", [farm_of_requests, counter, lambda length: counter(length, rounds=2, locks=True)])
def test_farm__of_requests_or_a_counter(made):
    """Whose receive is posted again is who was heard; who fetches first takes the next task, in rounds and behind locks, too."""
    program = programs(made(lengths(12)), "speed rank:1=0.2")
    assert (agree(program).seat != program.home).any()


@pytest.mark.parametrize("hears", ["recv", "probe", "waitany"])
def test_fixed_farm(hears):
    """What the master does goes with whom it hears."""
    program = programs(fixed_farm([[400, 9000, 70], [60, 50, 300, 40], [5000]], hears), "speed rank:1=0.2")
    found = agree(program)
    assert len(found.order) == program.graph.vertices
    assert (np.diff(found.order) < 0).any()


def test_many_wait():
    """Messages of tag 1, 2 and 3 wait; receives take the last, the middle and the first. Then receives wait, and messages come likewise."""
    b = Builder(2)
    for tag in (1, 2, 3):
        b.send(0, 1, tag=tag)
    b.compute(1, 90_000)
    for tag in (3, 2, 1):
        b.recv(1, 0, tag=tag)
    requests = [b.irecv(1, 0, tag=tag) for tag in (4, 5, 6)]
    b.compute(0, 900_000)
    for tag in (6, 5, 4):
        b.send(0, 1, tag=tag)
    for request in requests:
        b.wait(1, request)
    trace = b.trace()
    op, peer = trace.calls.op.copy(), trace.calls.peer.copy()
    op[op == operations.OP["MPI_Wait"]] = operations.OP["MPI_Waitany"]
    peer[np.isin(operations.KIND[op], (operations.RECV, operations.IRECV))] = ANY
    found = agree(programs(dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, op=op, peer=peer)), "speed rank:0=9"))
    assert found.taken.tolist() == [2, 1, 0, 5, 4, 3]
    assert found.completed.tolist() == [NONE, NONE, NONE, 0, 1, 2]  # the recorded order, though all had come


def test_some_wait():
    """A sender is held until its message is taken; on another communicator nobody is; what is complete before is chosen in its order."""
    b = Builder(3, eager=100)
    other = b.comm("other", [0, 1, 2])
    b.send(1, 0, 500)
    b.send(2, 0, 8)
    b.send(2, 0, 8, comm=other)
    requests = [b.irecv(0, 2, comm=other), b.irecv(0, 1), b.irecv(0, 2)]
    b.compute(0, 90_000)
    for request in requests:
        b.wait(0, request)
    trace = b.trace()
    op, peer = trace.calls.op.copy(), trace.calls.peer.copy()
    op[op == operations.OP["MPI_Wait"]] = operations.OP["MPI_Waitany"]
    peer[operations.KIND[op] == operations.IRECV] = ANY
    found = agree(programs(dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, op=op, peer=peer)), "speed rank:1=2"))
    assert sorted(found.completed.tolist()) == [0, 1, 2]


def test_a_message_that_came_later_than_it_was_sent():
    """Rank 2 sends first, but the first receive took what rank 1 sent at 9000: the other message came no earlier, its sender went on."""
    b = Builder(3, eager=100)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 500)
    requests = [b.irecv(0, 1), b.irecv(0, 2)]
    for request in requests:
        b.wait(0, request)
    trace = b.trace()
    peer = trace.calls.peer.copy()
    peer[operations.KIND[trace.calls.op] == operations.IRECV] = ANY
    found = agree(programs(dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, peer=peer))))
    assert found.taken.tolist() == [0, 1]


messages = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(0, 900), st.integers(8, 200)), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=60)
@given(messages, st.data())
def test_laws(sent, data):
    """Rank 0 receives messages of three others in any order, each by name, tag or for anybody, blocking or not, and completes them.

    So messages wait in the middle of others, receives in the middle of others, and calls choose among what is complete.
    """
    b = Builder(4)
    order = data.draw(st.permutations(range(len(sent))))
    for rank, tag, ns, size in sent:
        b.compute(rank, ns)
        b.send(rank, 0, size, tag=tag, mode="B")
    requests = []
    for k in order:
        rank, tag = sent[k][:2]
        if data.draw(st.booleans()):
            requests.append(b.irecv(0, rank, tag=tag))
        else:
            b.recv(0, rank, tag=tag)
    for request in data.draw(st.permutations(requests)):
        b.wait(0, request)
    trace = b.trace()
    calls = trace.calls
    peer, tag, op = calls.peer.copy(), calls.tag.copy(), calls.op.copy()
    for row in np.flatnonzero(np.isin(operations.KIND[op], (operations.RECV, operations.IRECV))).tolist():
        peer[row] = ANY if data.draw(st.booleans()) else peer[row]
        tag[row] = ANY if data.draw(st.booleans()) else tag[row]
    for row in np.flatnonzero(op == operations.OP["MPI_Wait"]).tolist():
        op[row] = operations.OP["MPI_Waitany"] if data.draw(st.booleans()) else op[row]
    trace = dataclasses.replace(trace, calls=dataclasses.replace(calls, peer=peer, tag=tag, op=op))
    for texts in ([], [f"speed rank:{rank}={data.draw(st.sampled_from([0.2, 1, 5]))}" for rank in (1, 2, 3)]):
        agree(programs(trace, *texts))


@pytest.mark.parametrize("speed", [0.2, 1, 3])
def test_queue(speed):
    """Whose master lets tasks and workers wait; where one waits for more than comes the engines say so alike."""
    program = programs(queueing(lengths(9), growth(9), start=2), f"speed rank:1={speed}")
    found = agree(program)
    assert len(found.order) == program.graph.vertices
    assert (found.seat != program.home).any() == (speed != 1)
    program.pieces["heard"][program.desks["rest"][0] - 1] = 99
    assert len(agree(program).order) < program.graph.vertices
