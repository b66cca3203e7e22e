"""Receives matched anew: by hand, against farms made with the change, and laws on random programs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import ANY, Builder, hand_model
from farms import WORK, anew, counter, farm, farm_of_requests, fixed_farm, growth, lengths, queueing
from perwiz.engines import rematch as engines
from perwiz.engines.sweep import sweep
from perwiz.trace import operations
from perwiz.trace.tables import Links
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.matching import matching
from perwiz.whatif.predict import predict
from perwiz.whatif.rematch.choices import choices
from perwiz.whatif.rematch.counters import counters
from perwiz.whatif.rematch.farms import tasks
from perwiz.whatif.rematch.programs import opened, rewired
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import replayed, under

HEARS = ("recv", "probe", "wait", "ahead")
"""How the master of a farm hears its workers."""


def two_senders(**how):
    """Rank 1 sends at 9000, rank 2 at 4500; messages take 12, calls 1000 beyond. Rank 0 receives twice from anybody.

    rank 0    e0 0 .. 5512    from rank 2: 4500 + 12 + 1000
              e1 5512 .. 10012    from rank 1: 9000 + 12 + 1000
    """
    b = Builder(3, latency=12, per_byte=0, work=1000)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    for rank in (2, 1):
        b.recv(0, rank, wildcard=True)
    return b.trace()


@pytest.mark.parametrize("engine", ["sweep", "replay"])
def test_by_hand(engine):
    """Rank 1 sends at 3000. Kept, e0 returns at 5512, e1, whose message is there, 1000 later. Anew:

    e0 takes that of rank 1: 3000 + 12 + 1000;  e1, entered at 4012, that of rank 2: 4500 + 12 + 1000
    """
    _, run, found = anew(two_senders(), "speed rank:1=3", engine=engine)
    assert (found.kept, run.makespan, found.receives.tolist()) == (6512, 5512, [0, 1])
    assert run.time[run.graph.returned[[0, 1]]].tolist() == [4012, 5512]
    assert (found.tasks, found.moved, found.masters.tolist()) == (0, 0, [])


@pytest.mark.parametrize("routine", ["MPI_Waitany", "MPI_Waitsome", "MPI_Testany", "MPI_Testsome"])
def test_any_of_several_requests(routine):
    """As above, but the receives are posted in e0 (rank 1) and e1 (rank 2), 0 to 1000 to 2000, and e2 and e3 complete one each.

    recorded   e2 2000 .. 5512 (rank 2)   e3 5512 .. 10012 (rank 1)
    kept       e3 5512 .. 6512
    anew       e2 2000 .. 4012 (rank 1)   e3 4012 .. 5512 (rank 2)
    """
    b = Builder(3, latency=12, per_byte=0, work=1000)
    requests = [b.irecv(0, rank) for rank in (1, 2)]
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    for request in requests[::-1]:
        b.wait(0, request)
    trace = b.trace()
    op = trace.calls.op.copy()
    op[[2, 3]] = operations.OP[routine]
    trace = dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, op=op))
    _, run, found = anew(trace, "speed rank:1=3")
    assert (found.kept, run.makespan) == (6512, 5512)
    assert run.time[run.graph.returned[[2, 3]]].tolist() == [4012, 5512]
    assert run.graph.cause[run.graph.start[run.graph.returned[2]] + 1] == 0


def test_what_waits_for_ever_is_not_answered():
    """Rank 0 answers whom it heard first, as recorded: rank 2, which it then hears second. Rank 1 sends only if it was answered."""
    b = Builder(3, latency=12, per_byte=0, work=1000)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.recv(0, 2, wildcard=True)
    b.recv(0, 1)
    changed, run, found = anew(b.trace(), "speed rank:1=3")
    assert changed.makespan == run.makespan == 6512
    assert "wait for each other" in found.reason


@pytest.mark.parametrize("unasked", [True, False])
@pytest.mark.parametrize("hears", HEARS)
def test_farm__unchanged_stays(unasked, hears):
    trace = farm(lengths(24), unasked=unasked, hears=hears)
    changed, run, found = anew(trace)
    assert (found.tasks, found.moved, found.receives.tolist()) == (24, 0, [])
    assert run.makespan == changed.makespan == trace.timeline.makespan
    assert run.replay_error == 0


@pytest.mark.parametrize("unasked", [True, False])
@pytest.mark.parametrize("hears", HEARS)
@pytest.mark.parametrize("takes", ["recv", "wait"])
@pytest.mark.parametrize("speed", [0.25, 5])
def test_farm__a_worker_of_another_speed(unasked, hears, takes, speed):
    """What is predicted is the farm that has it: tasks go to whoever asks, each as long as it is."""
    how = {"unasked": unasked, "hears": hears, "takes": takes}
    length = lengths(40)
    truth = farm(length, factor=(1 / speed, 1, 1), **how).timeline.makespan
    changed, run, found = anew(farm(length, **how), f"speed rank:1={speed}")
    assert found.moved > 0
    assert run.makespan == pytest.approx(truth, rel=0.02)
    assert changed.makespan != pytest.approx(truth, rel=0.1) or speed > 1


def test_balance_time__of_tasks():
    """All of them take the mean, as in the farm so made: the k-th one of a process has nothing to do with the k-th of another."""
    length = lengths(31, spread=90_000)
    truth = farm([sum(length) // 31] * 31).timeline.makespan
    _, run, _ = anew(farm(length, regions=("task",)), "balance-time task")
    assert run.makespan == pytest.approx(truth, rel=0.001)


def test_farm__what_is_none(monkeypatch):
    """A worker that meets others in the middle of a task keeps its tasks."""
    b = Builder(3)
    for worker in (1, 2):
        b.send(0, worker)
    for worker in (1, 2):
        b.recv(worker, 0)
    b.barrier()
    for worker in (1, 2):
        b.send(worker, 0)
        b.recv(0, worker, wildcard=True)
        b.send(0, worker)
        b.recv(worker, 0)
    trace = b.trace()
    found = tasks(trace)
    assert (len(found.farms), len(found.answer)) == (0, 0)


@pytest.mark.parametrize("takes", ["early", "prefetch"])
@pytest.mark.parametrize(("hears", "speed"), [("recv", 0.25), ("ahead", 5)])
def test_farm__whose_workers_work_between_post_and_wait(takes, hears, speed):
    """It is the farm so made, to the nanosecond; unchanged it stays. With the recorded choices it is far off."""
    how = {"takes": takes, "hears": hears, "unasked": False}
    length = lengths(24)
    trace, truth = farm(length, **how), farm(length, factor=(1 / speed, 1, 1), **how).timeline.makespan
    changed, run, found = anew(trace, f"speed rank:1={speed}")
    assert (found.tasks, run.makespan) == (24, truth)
    assert found.moved > 0
    assert changed.makespan > 1.5 * truth
    assert anew(trace)[1].makespan == trace.timeline.makespan


@pytest.mark.parametrize("speed", [0.25, 5])
def test_farm__whose_master_has_three_receives_posted(speed):
    """It is the farm so made, to the nanosecond; unchanged it stays. With the recorded choices it is far off."""
    trace, truth = (farm(lengths(24), hears="three ahead", factor=(factor, 1, 1)) for factor in (1, 1 / speed))
    changed, run, found = anew(trace, f"speed rank:1={speed}")
    assert (found.tasks, run.makespan) == (24, truth.timeline.makespan)
    assert changed.makespan > 1.5 * run.makespan
    assert anew(trace)[1].makespan == trace.timeline.makespan


@pytest.mark.parametrize(("sent", "late", "returns"), [(13, 0, 40), (13, 100, 140), (0, 0, 40), (0, 100, 140)])
def test_polls__by_hand(sent, late, returns):
    """A message sent at 13 comes at 25, one at 0 at 12, in the middle of tests in vain. The one behind them returns at 40, as it does if it
    waits, from 0 on; `late` later, if the message is sent so much later."""
    b = Builder(2)
    request = b.irecv(0, 1, tag=ANY, at=(0, 0))
    request.what.tag = 0
    for begin in (0, 10, 20):
        b.call(0, "Test", at=(begin, begin + 10))
    b.wait(0, request, at=(30, 40)).routine = "MPI_Test"
    b.send(1, 0, at=(sent, sent + 2))
    run = replayed(b.trace(), hand_model(), "none")
    weight = run.weighted.weight.copy()
    weight[run.graph.start[run.graph.entered[5]]] += late
    waits = handed_out(run.trace).waiting(dataclasses.replace(run.weighted, weight=weight), run.time, run.weighted.weight)
    assert sweep(waits.graph, waits.weight)[waits.graph.returned].tolist() == [0, 0, 0, 0, returns, sent + 2 + late]


@pytest.mark.parametrize(("hears", "takes", "speed"), [("test", "recv", 0.25), ("iprobe", "test", 0.25), ("recv", "test", 5)])
def test_farm__of_processes_that_poll(hears, takes, speed):
    """They poll as often as it takes then, so it is the farm so made but for what is left of the last loop; unchanged it stays."""
    how = {"hears": hears, "takes": takes, "unasked": False}
    length = lengths(14)
    trace, truth = farm(length, **how), farm(length, factor=(1 / speed, 1, 1), **how).timeline.makespan
    changed, run, found = anew(trace, f"speed rank:1={speed}")
    assert (found.tasks, found.reason) == (14, "")
    assert run.makespan == pytest.approx(truth, rel=0.003)
    assert changed.makespan > 1.5 * truth
    assert anew(trace)[1].makespan == trace.timeline.makespan


@pytest.mark.parametrize("polling", ["some of several", "own tasks", "queue"])
def test_farm__whose_master_polls(polling):
    """For one of a receive for each worker, with its own tasks for each, or if it keeps a queue."""
    length, of, brings = lengths(14), [lengths(count, seed=count) for count in (3, 6, 5)], growth(14)

    def made(factor=()):
        if polling == "queue":
            return queueing(length, brings, 2, hears="iprobe", factor=factor)
        return farm_of_requests(length, factor=factor, polls=True) if polling == "some of several" else fixed_farm(of, "test", factor)

    changed, run, found = anew(made(), "speed rank:1=0.25")
    truth = made((4, 1, 1)).timeline.makespan
    assert (found.reason, run.makespan) == ("", pytest.approx(truth, rel=0.003))
    assert changed.makespan > 1.05 * truth
    assert anew(made())[1].makespan == made().timeline.makespan


@pytest.mark.parametrize(("ahead", "farms"), [(0, 1), (1, 0)])
def test_farm__of_tasks_that_are_waited_for(ahead, farms):
    """Calls between posting a receive and waiting for it are of the task before; but not the post of a receive behind the next answer."""
    b = Builder(3)
    posted = {worker: [b.irecv(worker, 0) for _ in range(ahead)] for worker in (1, 2)}
    for k in range(6):
        worker = 1 + k % 2
        b.send(worker, 0)
        b.recv(0, worker, wildcard=True)
        b.send(0, worker)
        if k < 6 - 2 * ahead:
            posted[worker].append(b.irecv(worker, 0))
        b.call(worker, "Comm_rank")
        b.wait(worker, posted[worker].pop(0))
    assert len(tasks(b.trace()).farms) == farms


def drawn(trace, data):
    """Return a trace in which some receives are wildcards, and some completions choose."""
    calls = trace.calls
    peer, tag, op = calls.peer.copy(), calls.tag.copy(), calls.op.copy()
    receives = np.isin(operations.KIND[op], (operations.RECV, operations.IRECV))
    for row in np.flatnonzero(receives).tolist():
        asks = data.draw(st.sampled_from(["", "source", "tag", "both"]))
        peer[row] = ANY if asks in ("source", "both") else peer[row]
        tag[row] = ANY if asks in ("tag", "both") else tag[row]
    waits = np.flatnonzero(np.isin(op, [operations.OP["MPI_Wait"], operations.OP["MPI_Waitall"]]))
    for row in waits.tolist():
        op[row] = data.draw(st.sampled_from([op[row], operations.OP["MPI_Waitsome"], operations.OP["MPI_Testany"]]))
    return dataclasses.replace(trace, calls=dataclasses.replace(calls, peer=peer, tag=tag, op=op))


@pytest.mark.slow
@settings(max_examples=40)
@given(build.programs(regions=False), st.data())
def test_laws(trace, data):
    """The engines agree; the graph of what became has its times; unchanged it is the sweep, and so where no choice changes."""
    trace = drawn(trace, data)
    speeds = data.draw(st.lists(st.sampled_from([0.25, 0.5, 2, 4, 8]), max_size=len(trace.locations)))
    asked = parse_all([f"speed rank:{trace.locations.process[k]}={speed}" for k, speed in enumerate(speeds)], trace)
    base = replayed(trace, hand_model(), "none", asked)
    recorded = base.time
    handed = handed_out(base.trace)
    for hypotheses in ((), asked):
        changed = under(base, hypotheses)
        weighted = changed.weighted
        found = opened(weighted, recorded, handed.choices, handed.tasks, handed.turns, (weighted.weight, np.ones(len(trace.locations))))
        compiled, defined = engines.rematch(found.programs), engines.simulate(found.programs)
        for column in ("time", "order", "taken", "completed", "seat"):
            assert getattr(compiled, column).tolist() == getattr(defined, column).tolist(), column
        same = not matching(base, changed).changed
        assert len(compiled.order) == changed.graph.vertices or not same
        if len(compiled.order) < changed.graph.vertices:
            continue
        again = rewired(weighted, found, compiled)
        assert sweep(again.graph, again.weight).tolist() == compiled.time[compiled.order].tolist()
        if same:
            assert compiled.time.tolist() == changed.time.tolist()
        if not len(found.programs.choices):
            table, taken = trace.messages, found.message[compiled.taken]
            location = trace.calls.location
            channel = np.stack([location[table.send], location[table.receive], table.tag, table.comm], 1)
            for one in np.unique(channel, axis=0):
                of = [m for m in taken.tolist() if m >= 0 and (channel[m] == one).all()]
                assert of == sorted(of)


def test_farm__of_a_format_that_does_not_tell():
    """Its receives may have been wildcards: that is what their order says, and the tasks move as if they were."""
    trace = farm(lengths(40))
    _, told, known = anew(trace, "speed rank:1=0.5")
    _, run, found = anew(build.untold(trace), "speed rank:1=0.5")
    assert (found.tasks, found.moved, found.kept) == (known.tasks, known.moved, known.kept)
    assert run.makespan == told.makespan


@pytest.mark.parametrize("speed", [0.25, 1, 5])
def test_farm__of_a_receive_for_each_worker(speed):
    """Whom the master then posts a receive for again, and answers, is whom it heard: unchanged it stays, else it is the farm so made."""
    length = lengths(40)
    truth = farm_of_requests(length, factor=(1 / speed, 1, 1)).timeline.makespan
    for engine in ("sweep", "replay"):
        _, run, found = anew(farm_of_requests(length), f"speed rank:1={speed}", engine=engine)
        assert (found.tasks, found.fetched, found.moved > 0, found.reason) == (40, 0, speed != 1, "")
        assert run.makespan == pytest.approx(truth, rel=0.02 if speed != 1 else 0)


@pytest.mark.parametrize("engine", ["sweep", "replay"])
def test_queue__by_hand(engine):
    """Task 0, of rank 1, brings two when half of it is done; rank 2 waits for them. Recorded, and with rank 1 at 1/4, rank 2 at 20 times:

    rank 1   gets task 0 until 1024, brings 1524 .. 2024, asks 2524      1024, brings 3024 .. 3524, asks 5524
    rank 0   hears of two until 2036, rank 2 gets task 1 until 2548      3536                       4048
    rank 2   asks behind 9000, at 11548                                  behind 450, at 4498: before rank 1
    rank 0   hears rank 1 until 3036, which gets task 2 until 3548       hears rank 2 until 5010, which gets task 2 until 5522
             rank 1 asks at 3948, is heard until 4460                    rank 2 asks at 5542; rank 1 is heard until 6036, it until 6536
             rank 2 is heard until 12060                                 ends are sent until 7036 and 7536
             ends are sent until 12560 and 13060, the last one           comes until 7548
             comes until 12560 + 12 + 500
    """
    trace = queueing([1000, 9000, 400], [2, 0, 0], workers=2)
    _, run, found = anew(trace, "speed rank:1=0.25", "speed rank:2=20", engine=engine)
    assert (trace.timeline.makespan, run.makespan, found.tasks, found.moved, found.reason) == (13072, 7548, 3, 1, "")


def without(trace, row):
    """Return a trace without one message."""
    table = trace.messages
    kept = np.arange(len(table)) != row
    columns = {field.name: getattr(table, field.name)[kept] for field in dataclasses.fields(table)}
    return dataclasses.replace(trace, messages=type(table)(**columns))


def test_queue__what_is_none():
    """Messages whose bytes do not tell how many tasks they bring, one that is missing, and a master that also waits for something else."""
    trace = queueing(lengths(12), growth(12), start=2)
    table = trace.messages
    brings, asks = (np.flatnonzero(table.tag == tag)[2] for tag in (4, 2))
    size = table.bytes.copy()
    size[brings] += 20
    linked = Links.in_order(np.zeros(1, "u1"), table.send[[asks]], table.send[[asks]] * 0 + table.receive[brings])
    others = {
        "bytes": dataclasses.replace(trace, messages=dataclasses.replace(table, bytes=size)),
        "missing": without(trace, asks),
        "linked": dataclasses.replace(trace, links=linked),
    }
    found = {name: len(tasks(other).farms) for name, other in {"as it is": trace, **others}.items()}
    assert found == {"as it is": 1, "bytes": 0, "missing": 0, "linked": 0}


@pytest.mark.parametrize("hears", ["recv", "probe"])
@pytest.mark.parametrize("speed", [0.25, 1, 5])
@pytest.mark.parametrize("start", [2, 40])
def test_farm__whose_master_keeps_a_queue(hears, speed, start):
    """Tasks bring tasks, and workers wait for them; or two of three messages of a worker bring none: it is the farm so made."""
    length, brings = lengths(40), growth(40) if start == 2 else [k % 2 for k in range(40)]
    truth = queueing(length, brings, start, hears=hears, factor=(1 / speed, 1, 1)).timeline.makespan
    trace = queueing(length, brings, start, hears=hears)
    for engine in ("sweep", "replay"):
        changed, run, found = anew(trace, f"speed rank:1={speed}", engine=engine)
        assert (found.tasks, found.masters.tolist(), found.serving.tolist(), found.reason) == (40, [0], [], "")
        assert run.makespan == pytest.approx(truth, rel=0.02 if speed != 1 else 0)
        assert speed != 1 or run.replay_error == 0
    assert speed != 0.25 or changed.makespan > 1.1 * truth


@pytest.mark.parametrize("hears", ["recv", "probe", "wait", "waitany"])
@pytest.mark.parametrize("speed", [0.25, 1, 5])
def test_farm__of_fixed_tasks(hears, speed):
    """Each worker has its own tasks, and the master answers it with its own next one: who is slow holds nobody but itself."""
    of = [lengths(count, seed=count) for count in (7, 12, 10)]
    truth = fixed_farm(of, hears, factor=(1 / speed, 1, 1))
    for engine in ("sweep", "replay"):
        changed, run, found = anew(fixed_farm(of, hears), f"speed rank:1={speed}", engine=engine)
        assert (found.tasks, found.serving.tolist(), found.reason) == (0, [0], "")
        assert run.makespan == truth.timeline.makespan
    assert speed != 0.25 or changed.makespan > 1.05 * truth.timeline.makespan


@pytest.mark.parametrize("speed", [0.25, 1, 5])
def test_farm__of_fixed_tasks_heard_ahead(speed):
    """Which turn posts the receive that another one waits for does not matter: the last one posts none, wherever it moves."""
    of = [lengths(count, seed=count) for count in (7, 12, 10)]
    truth = fixed_farm(of, "ahead", factor=(1 / speed, 1, 1)).timeline.makespan
    for engine in ("sweep", "replay"):
        changed, run, found = anew(fixed_farm(of, "ahead"), f"speed rank:1={speed}", engine=engine)
        assert (found.serving.tolist(), found.reason) == ([0], "")
        assert abs(run.makespan - truth) <= (WORK if speed < 1 else 0)
    assert speed != 0.25 or changed.makespan > 1.05 * truth


def test_waited_for__in_the_order_posted():
    """Rank 0 posts two receives for anybody and waits for the first and the second one, or the other way round, which chooses nothing."""
    for order, told in ((1, [0, 1]), (-1, [])):
        b = Builder(3)
        requests = [b.irecv(0, rank) for rank in (1, 2)]
        for rank in (1, 2):
            b.send(rank, 0)
        for request in requests[::order]:
            b.wait(0, request)
        trace = b.trace()
        peer = np.where(trace.calls.op == operations.OP["MPI_Irecv"], ANY, trace.calls.peer).astype("i4")
        trace = dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, peer=peer))
        assert np.flatnonzero(choices(trace).chosen).tolist() == told


@pytest.mark.parametrize("locks", [False, True])
@pytest.mark.parametrize("speed", [0.25, 1, 5])
def test_counter(locks, speed):
    """Tasks go to whoever fetches next, round by round: unchanged they stay, else it is what a process of that speed gives."""
    length = lengths(30)
    truth = counter(length, factor=(1, 1 / speed, 1), rounds=2, locks=locks).timeline.makespan
    trace = counter(length, rounds=2, locks=locks)
    for engine in ("sweep", "replay"):
        changed, run, found = anew(trace, f"speed rank:1={speed}", engine=engine)
        assert (found.tasks, found.fetched, found.moved > 0, found.reason) == (60, 60, speed != 1, "")
        assert run.makespan == pytest.approx(truth, rel=0.001 if speed != 1 else 0)
    assert speed == 1 or changed.makespan != pytest.approx(truth, rel=0.05)


def test_counter__what_is_none():
    """Tickets that each process draws once, and tasks in the middle of which processes meet, move nowhere."""
    b = Builder(3)
    for _ in range(4):
        for rank in range(3):
            b.call(rank, "Fetch_and_op", peer=0, tag=0, comm=0)
            b.compute(rank, 900 * rank)
        b.barrier()
    trace = b.trace()
    assert len(counters(trace).fetch) == 0
    assert len(counters(counter(lengths(9))).fetch) == 12
    b = Builder(2)  # rank 1 found none left before rank 0 got its second task
    for rank, works in enumerate(([90_000, 90_000], [100])):
        for ns in [*works, 0]:
            b.call(rank, "Fetch_and_op", peer=0, tag=0, comm=0)
            b.compute(rank, ns)
    assert len(counters(b.trace()).fetch) == 0


def test_drawn_runs_are_matched_anew():
    """A farm whose tasks vary: kept choices would make every drawn run wait for the unlucky, and its interval lie later and wider."""
    trace = counter(lengths(120, spread=60_000))
    anew_, kept = (predict(trace, ["speed rank:1=0.5"], hand_model(), clock="none", keep_matches=keep) for keep in (False, True))
    assert anew_.span.least <= anew_.predicted.makespan <= anew_.span.most
    assert anew_.span.most - anew_.span.least < kept.span.most - kept.span.least
    truth = counter(lengths(120, spread=60_000), factor=(1, 2, 1)).timeline.makespan
    assert anew_.span.least <= truth <= anew_.span.most < kept.span.least
