"""Balancing each step by itself (PerWiz, sections 3.2 and 5.2, Table 3). Times in ns; o + L = 12, messages above 100 are synchronous."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.limits import balance as module
from perwiz.whatif.limits.balance import balance
from questions import Questions


def compositing():
    """Return image compositing on four processes in two steps, as in PerWiz, 5.2: each computes, then exchanges with a partner.

    Computation is 100, 20, 20, 20 in the first and 10, 210, 10, 10 in the second, pairs are 0-1 and 2-3, then 0-2 and 1-3.
    An exchange returns 3 after max(own entry, partner's + 12).
    """
    b, clock = Builder(4), [0] * 4
    for computation, partner in (((100, 20, 20, 20), (1, 0, 3, 2)), ((10, 210, 10, 10), (2, 3, 0, 1))):
        enter = [clock[rank] + computation[rank] for rank in range(4)]
        for rank in range(4):
            leave = max(enter[rank], enter[partner[rank]] + 12) + 3
            with b.region(rank, "step", at=(clock[rank], leave)):
                b.sendrecv(rank, partner[rank], partner[rank], 1, at=(enter[rank], leave))
            clock[rank] = leave
    return b.trace()


def test_compositing():
    """340; all 40 in the first step 280; all 60 in the second 190; both 40 + 15 + 60 + 15. All messages are of one byte."""
    found = balance(compositing(), ["step"], hand_model())
    (step,) = found.regions
    assert (found.run.makespan, step.time.tolist(), step.all_time, found.everything) == (340, [280, 190], 130, 130)
    assert (step.messages.tolist(), step.all_messages) == ([-1, -1], -1)
    spread = step.spread(step.computation)
    assert (spread.processes.tolist(), spread.least.tolist(), spread.largest.tolist()) == ([4, 4], [20, 10], [100, 210])
    assert spread.mean.tolist() == [40, 60]
    assert spread.sigma.tolist() == [pytest.approx(1200**0.5), pytest.approx(7500**0.5)]
    assert step.sent.tolist() == [1] * 8
    assert repr(found) == "<Balance of step in built: 340 ns recorded, 130 ns if all were balanced>"


def test_a_step_at_a_time(monkeypatch):
    """Where a step has as many pieces of computation as are levelled at a time, the next begins anew."""
    monkeypatch.setattr(module, "_SEGMENTS", 1)
    for trace, names in ((compositing(), ["step"]), (sigma_misleads(), ["a", "b"]), (build.all_collectives(), ["between-collectives"])):
        with monkeypatch.context() as patch:
            patch.setattr(module, "_SEGMENTS", 1 << 20)
            whole = balance(trace, names, hand_model())
        found = balance(trace, names, hand_model())
        for one, other in zip(found.regions, whole.regions, strict=True):
            assert (one.time.tolist(), one.computation.tolist()) == (other.time.tolist(), other.computation.tolist())


def test_all__of_those_that_logged_anything():
    """Ranks 0 and 1 compute 100 and 300, then exchange: 315. Both with 200: 215. What rank 2 did nobody knows; it takes nothing over."""
    b = Builder(3)
    for rank, leave in ((0, 315), (1, 303)):
        b.sendrecv(rank, 1 - rank, 1 - rank, 1, at=((100, 300)[rank], leave))
    found = balance(b.trace(), ["all"], hand_model())
    assert (found.run.makespan, found.regions[0].time.tolist()) == (315, [215])
    assert found.regions[0].spread(found.regions[0].computation).mean.tolist() == [200]


def sigma_misleads():
    """In a, ranks 1 and 2 compute 100 and 0; in b, ranks 0 and 3 compute 110 and 30: sigma 50 and 40, but rank 0 ends last."""
    b = Builder(4)
    for rank, name, ns in ((0, "b", 110), (1, "a", 100), (2, "a", 0), (3, "b", 30)):
        with b.region(rank, name):
            b.compute(rank, ns)
    return b.trace()


def test_sigma_misleads():
    """Balancing a gains nothing, 110; balancing b makes it 100, which rank 1 takes; both 70."""
    found = balance(sigma_misleads(), ["a", "b"], hand_model())
    assert [region.spread(region.computation).sigma.tolist() for region in found.regions] == [[50], [40]]
    assert [region.time.tolist() for region in found.regions] == [[110], [100]]
    assert found.everything == 70


def test_messages():
    """Rank 0 sends 41 bytes, rank 1 sends 9, both 25: at G = 1 a message of k bytes needs 11 + k, of 25 36.

    Rank 0 sends at 10 and waits for what is sent at 15: it has come at 35, then 51. Rank 1 waits for 62, then 46. Works 15 and 8.
    """
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step", at=(0, None)):
            b.send(rank, 1 - rank, (41, 9)[rank], at=((10, 13), (15, 18))[rank])
            b.recv(rank, 1 - rank, at=((30, 50), (20, 70))[rank])
    (step,) = balance(b.trace(), ["step"], hand_model(G=1)).regions
    assert (step.sent.tolist(), step.messages.tolist()) == ([41, 9], [max(51 + 15, 46 + 8)])


def same_as_predicted(trace, names, model):
    """Assert that all answers are those of `predict`."""
    found = balance(trace, names, model)
    both, asked = [], Questions(trace, model).makespan

    for region in found.regions:
        name = region.name
        for k, number in enumerate(region.number.tolist()):
            assert region.time[k] == asked(f"balance-time {name}#{number}")
            sends = region.sent[region.first[k] : region.first[k + 1]].any()
            if region.messages[k] >= 0:
                assert region.messages[k] == asked(f"balance-messages {name}#{number}")
            elif sends:
                assert found.run.makespan == asked(f"balance-messages {name}#{number}")
        assert region.all_time == asked(f"balance-time {name}")
        one = [*([f"balance-messages {name}"] if region.all_messages >= 0 else []), f"balance-time {name}"]
        if len(one) > 1:
            assert region.all_messages == asked(one[0])
        assert region.all_both == asked(*one)
        both += one
    assert found.everything == asked(*both)
    return found


MODELS = (hand_model(G=1), hand_model(S=0, G=0.5, gap="sending call", g=30), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, make in build.CATALOGUE.items() if make().names])
def test_same_as_predicted__catalogue(name):
    trace = build.CATALOGUE[name]()
    for model in MODELS:
        same_as_predicted(trace, trace.names, model)


@st.composite
def stepping(draw):
    """Draw a program of steps, some in steps, whose requests are completed steps later, with probes and collectives between."""
    b = Builder(draw(st.integers(2, 4)), latency=1000)
    pending = [[] for _ in range(b.processes)]
    size, compute = st.sampled_from([0, 1, 50, 101, 4000, 70_000]), st.integers(0, 9000)
    for _ in range(draw(st.integers(1, 4))):
        deep = draw(st.booleans())
        for rank in range(b.processes):
            b.enter(rank, "step")
            b.compute(rank, draw(compute))
        for rank in range(b.processes * deep):
            b.enter(rank, "step")
            b.compute(rank, draw(compute))
        for rank in range(b.processes):
            other = (rank + draw(st.integers(1, b.processes - 1))) % b.processes
            way = draw(st.sampled_from(["post", "post", "send", "probe", "none"]))
            if way == "post":
                pending[rank].append(b.isend(rank, other, draw(size), tag=1))
                pending[other].append(b.irecv(other, rank, tag=1))
            elif way != "none":
                b.send(rank, other, draw(size), tag=2)
                if way == "probe":
                    b.call(other, "Probe", peer=rank, tag=2)
                b.recv(other, rank, tag=2)
        for rank in range(b.processes):
            if draw(st.booleans()) and pending[rank]:
                b.waitall(rank, *pending[rank])
                pending[rank].clear()
            for _ in range(1 + deep):
                b.leave(rank, "step")
        if draw(st.booleans()):
            b.barrier()
    for rank in range(b.processes):
        if pending[rank]:
            b.waitall(rank, *pending[rank])
    return b.trace()


@pytest.mark.slow
@settings(max_examples=12)
@given(stepping(), st.sampled_from(MODELS))
def test_same_as_predicted(trace, model):
    same_as_predicted(trace, ["step"], model)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from(MODELS))
def test_same_as_predicted__random(trace, model):
    if trace.names:
        same_as_predicted(trace, trace.names, model)
    same_as_predicted(trace, [], model)


def test_deadlock():
    """Both send before they receive, 190 and 20 bytes; of 105 each is synchronous, and the program would stop."""
    b = Builder(2, eager=100)
    for turn in range(2):
        for rank in (0, 1):
            with b.region(rank, "step"):
                b.compute(rank, 100 * turn + 50 * rank)
                b.send(rank, 1 - rank, (190, 20)[rank])
                b.recv(rank, 1 - rank)
    found = same_as_predicted(b.trace(), ["step"], hand_model(G=1))
    assert found.run.graph.deadlocks == 2


def test_deadlock__only_of_two_steps_together():
    """In step 1 rank 0 sends 20 bytes, in step 2 rank 1, each before it receives the other's: if one waits it works, if both do it stops.

    The other process sends 190 bytes in that step, so that balanced messages of 105 are synchronous.
    """
    b = Builder(2, eager=100)
    with b.region(1, "step"):
        b.send(1, 0, 190)
    b.recv(0, 1)
    with b.region(0, "step"):
        b.send(0, 1, 20)
    b.compute(1, 300_000)
    with b.region(1, "step"):
        b.send(1, 0, 20)
    b.recv(0, 1)
    b.recv(1, 0)
    with b.region(0, "step"):
        b.send(0, 1, 190)
    b.recv(1, 0)
    found = same_as_predicted(b.trace(), ["step"], hand_model(G=1))
    assert found.run.graph.deadlocks == 2
    assert (found.regions[0].messages != found.run.makespan).any()


def test_step_in_a_step__becomes_synchronous_by_itself():
    """190 bytes each in the outer step, 190 and 20 in the inner one: only balancing that makes rank 1 wait for its receiver."""
    b = Builder(2, latency=10, per_byte=0, eager=100, work=1)
    with b.region(0, "step"):
        with b.region(0, "step"):
            b.send(0, 1, 190)
        b.compute(0, 500)
        b.recv(0, 1)
        b.recv(0, 1)
    with b.region(1, "step"):
        b.recv(1, 0)
        with b.region(1, "step"):
            b.send(1, 0, 20)
        b.compute(1, 700)
        b.send(1, 0, 170)
    found = same_as_predicted(b.trace(), ["step"], hand_model())
    assert found.regions[0].messages[0] == -1
    assert found.regions[0].messages[1] > found.run.makespan


def test_progress__is_told_of_all_steps():
    said = []
    balance(compositing(), ["step"], hand_model(), report=lambda done, total: said.append((done, total)))
    assert said == [(0, 4)]


def test_default__without_marked_regions():
    """10 and 30, then 50 and 10, a barrier between, the second in a region: each stretch by itself, the region, and all.

    All: 50 each, in the parts that they were: 8 and 42, 38 and 12, of which 38 and 42 bind.
    """
    b = Builder(2, work=0)
    for rank in (0, 1):
        b.compute(rank, (10, 30)[rank])
    b.barrier()
    for rank in (0, 1):
        with b.region(rank, "late"):
            b.compute(rank, (50, 10)[rank])
    found = same_as_predicted(b.trace(), [], hand_model())
    assert found.run.makespan == 80
    names = [(region.name, region.number.tolist(), region.time.tolist(), region.all_time) for region in found.regions]
    assert names == [
        ("all", [1], [80], 80),
        ("between-collectives", [1, 2], [70, 60], 50),
        ("late", [1], [60], 60),
    ]
    assert [region.computation.tolist() for region in found.regions] == [[60, 40], [10, 30, 50, 10], [50, 10]]
    assert found.whole().tolist() == [True, False, False, False]
    assert [region.name for region in balance(b.trace(), ["between-collectives"], hand_model()).regions] == ["between-collectives"]


def test_default__no_region_of_very_many_steps(monkeypatch):
    """Two regions differ; one has three steps, the other one."""
    b = Builder(2)
    for name in ("often", "often", "often", "once"):
        for rank in range(2):
            with b.region(rank, name):
                b.compute(rank, 100 + 100 * rank)
        b.barrier()
    assert [region.name for region in balance(b.trace(), (), hand_model()).regions][2:] == ["often", "once"]
    monkeypatch.setattr(module, "_STEPS", 2)
    assert [region.name for region in balance(b.trace(), (), hand_model()).regions][2:] == ["once"]
    assert [region.name for region in balance(b.trace(), ("often",), hand_model()).regions] == ["often"]


def test_default__parallel_regions():
    trace = dataclasses.replace(sigma_misleads(), parallel=np.array([True, False]))
    assert [region.name for region in balance(trace).regions] == [trace.names[0]]


@pytest.mark.parametrize(
    ("trace", "names", "message"),
    [
        ("nested_regions", ["main,solv"], "region 'solv': no such region, the trace has solve ...; did you mean solve?"),
        ("nested_regions", ["main", "solv"], "region 'solv': no such region, the trace has solve ...; did you mean solve?"),
        ("empty", [], "built: no processes, so there is nothing to balance"),
        (
            "ring",
            ["between-collectives"],
            "built: no collective makes all processes wait for each other, so there is nothing to balance between",
        ),
        (
            "ring",
            ["main"],
            "region 'main': the trace has no user regions, must be marked in the program: PRGN_BEGIN"
            " (perwiz record --print-include), or functions that other tools record",
        ),
    ],
)
def test_refusals(trace, names, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        balance(build.CATALOGUE[trace](), names)


def test_default__what_is_for_devices_is_not_balanced():
    """Of 50, 0 and 900 | 100, 100 before a barrier the 900 that start the device stay: 125 each beside them. `init` is not offered."""
    b = Builder(2, work=0)
    streams = b.stream(0), b.stream(1)
    for process in range(2):
        b.compute(process, 50 * process)
        with b.region(process, "init"):
            b.compute(process, 900 * process)
            first = b.call(process, "device_launch")
        b.compute(process, 100 * (1 + process))
        for launch in (first, b.call(process, "device_launch")):
            b.link("launch", launch, b.call(streams[process], "device_idle"))
    b.barrier()
    found = same_as_predicted(b.trace(), [], hand_model())
    assert found.run.makespan == 1150
    assert [(region.name, region.computation.tolist()) for region in found.regions] == [
        ("all", [100, 250]),
        ("between-collectives", [100, 250, 0, 0]),
    ]
    assert [region.time[0] for region in found.regions] == [1075, 1075]
    assert [region.name for region in balance(b.trace(), ["init"], hand_model()).regions] == ["init"]


def test_default__one_process_has_no_stretches():
    b = Builder(1, work=0)
    b.compute(0, 10)
    b.barrier()
    assert [region.name for region in balance(b.trace(), (), hand_model()).regions] == ["all"]
