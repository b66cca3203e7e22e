"""Hypotheses by hand, their texts, and their refusals. Times in ns; o + L = 12, messages above 100 bytes are synchronous."""

import contextlib
import dataclasses
import itertools
import re

import numpy as np
import pytest

import build
from build import Builder, hand_model
from kinetos import devices_in_stages, put
from perwiz.engines.sweep import sweep, swept_makespan
from perwiz.errors import ModelError, UsageError
from perwiz.formats import files
from perwiz.formats.kineto.names import ADDS_UP, ASKS, BUCKETS, GRADIENT_READY
from perwiz.graph.graph import MESSAGE
from perwiz.loggps.weigh import CUT
from perwiz.trace import operations
from perwiz.trace.origin import MEASURED, Origin
from perwiz.trace.parts.pipeline import NO_PIPELINE
from perwiz.whatif.hypotheses import KINDS
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.computation import OWN_WORK, TAKEN_OVER
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.hypotheses.waits import in_vain
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.run import replayed


def predicted(trace, *texts, model=None, engine="sweep"):
    """Return the prediction."""
    return predict(trace, [parse(text) for text in texts], model or hand_model(), engine)


def leaves(trace, *texts, **more):
    """Return the predicted return of every call."""
    return predicted(trace, *texts, **more).predicted.calls.leave.tolist()


def spans(trace, *texts):
    """Return the predicted (enter, leave) of every region."""
    times = predicted(trace, *texts).predicted.regions
    return list(zip(times.enter.tolist(), times.leave.tolist(), strict=True))


def compositing(apart):
    """Return image compositing on four processes in two steps, in the manner of PerWiz, section 5.2.

    Each step computes, then exchanges with a partner: 0-1 and 2-3 in the first, 0-2 and 1-3 in the second. Computation is
    100, 20, 20, 20 in the first and 10, 210, 10, 10 in the second. An exchange returns 3 after max(own entry, partner's + 12).
    `apart` lies between the end of a step and the beginning of the next.
    """
    b = Builder(4)
    clock = [0] * 4
    for computation, partner in (((100, 20, 20, 20), (1, 0, 3, 2)), ((10, 210, 10, 10), (2, 3, 0, 1))):
        enter = [clock[rank] + computation[rank] for rank in range(4)]
        for rank in range(4):
            b.enter(rank, "step", at=clock[rank])
            leave = max(enter[rank], enter[partner[rank]] + 12) + 3
            b.sendrecv(rank, partner[rank], partner[rank], 1, at=(enter[rank], leave))
            b.leave(rank, "step", at=leave)
            clock[rank] = leave + apart
            b.compute(rank, apart)
    return b.trace()


@pytest.mark.parametrize(
    ("hypothesis", "makespan"),
    [
        # 100 -> 115 on rank 1, there 210 more -> 325, rank 3 hears of it at 337 and returns at 340.
        ([], 340),
        # All 40 in the first step: 55; rank 1 enters the second at 265, rank 3 returns at 280.
        (["balance-time step#1"], 280),
        # All 60 in the second: ranks 0, 1 leave the first at 103, 115; rank 1 at 175, rank 3 returns at 190.
        (["balance-time step#2"], 190),
        # 40 + 15 + 60 + 15.
        (["balance-time step#1", "balance-time step#2"], 130),
        (["balance-time step"], 130),
    ],
)
@pytest.mark.parametrize("apart", [1, 0])
def test_balance_time__compositing(apart, hypothesis, makespan):
    """Like Table 3 of PerWiz: one step pays little, another much, all of them most."""
    assert predicted(compositing(apart), *hypothesis).predicted.makespan == makespan + 2 * apart


@pytest.mark.parametrize(
    ("hypothesis", "makespan"),
    [
        # The mean of the 8 instances is 50. Beside waiting for the partner exchanges take 3 or, where that came last, 15: in the median 15.
        ("typical all", 130),
        ("typical step", 130),
        # Rank 1 leaves the first step at 65, enters the exchange of the second at 275, and rank 3 hears of it 15 later.
        ("typical rank:0=all", 290),
        # The same, as what it computes is not changed; rank 3 is there at 115.
        ("typical all but rank:1", 290),
        # Rank 1 computes 50 in each: ranks 0 and 1 leave the first step at 115, it is there at 165, and the others take what they took.
        ("typical rank:1=all", 180),
        # As the six of the others, 170 / 6: 28, and exchanges 15 as theirs: it leaves the first step at 115, is in the second at 143.
        ("typical rank:1", 158),
        # 290 / 6: 48. Rank 1 leaves the first step at 63, enters the exchange of the second at 273.
        ("typical rank:0", 288),
        # Nothing is left out, so all stays.
        ("typical all but step", 340),
        ("typical rank:0,rank:1,group:world", 130),
    ],
)
def test_typical__compositing(hypothesis, makespan):
    assert predicted(compositing(0), hypothesis).predicted.makespan == makespan


def test_typical__what_no_other_does_stays():
    """Both load, 70 and 10, and only rank 1 saves, 5: it is as long as rank 0 but for that, and its mean over both ranks is 40."""
    b = Builder(2)
    for rank, ns in ((0, 10), (1, 70)):
        with b.region(rank, "load"):
            b.compute(rank, ns)
    with b.region(1, "save"):
        b.compute(1, 5)
    assert spans(b.trace(), "typical rank:1") == [(0, 10), (0, 10), (10, 15)]
    assert spans(b.trace(), "typical rank:1=all") == [(0, 10), (0, 40), (40, 45)]


def test_balance_time__each_step_by_itself():
    """Steps of 10 and 30, then of 50 and 10: all 20, then all 30; not 25 throughout."""
    b = Builder(2)
    for rank, computation in enumerate([(10, 50), (30, 10)]):
        for ns in computation:
            with b.region(rank, "step"):
                b.compute(rank, ns)
            b.compute(rank, 1)
    assert spans(b.trace(), "balance-time step") == [(0, 20), (21, 51)] * 2
    assert spans(b.trace(), "balance-time step#2") == [(0, 10), (11, 41), (0, 30), (31, 61)]


def test_balance_time__remainder_and_share_of_segments():
    """Rank 0 computes 3 + 4 + 0 around two calls, rank 1 nothing: of 7 ns rank 0 gets 4, split 2 and 2, rank 1 gets 3 at once."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step"):
            b.compute(rank, 3 * (rank == 0))
            b.call(rank, "Comm_rank", work=10)
            b.compute(rank, 4 * (rank == 0))
            b.call(rank, "Comm_rank", work=10)
    trace = b.trace()
    times = predicted(trace, "balance-time step").predicted
    assert times.calls.enter.tolist() == [2, 14, 3, 13]
    assert times.regions.leave.tolist() == [24, 23]
    assert times.locations.leave.tolist() == [24, 23]


def test_balance_time__only_who_takes_part():
    """Three processes, the region on two of them, 10 and 30 ns: both 20, the third is not asked."""
    b = Builder(3)
    for rank, ns in ((0, 10), (2, 30)):
        with b.region(rank, "step"):
            b.compute(rank, ns)
    b.compute(1, 5)
    assert predicted(b.trace(), "balance-time step").predicted.locations.leave.tolist() == [20, 5, 20]


def imbalanced(names=()):
    """Two stretches of 10 and 30, then of 50 and 10, a barrier between, each in a region of these names; then 2 and 4."""
    b = Builder(2, work=1)
    for turn, both in enumerate([(10, 30), (50, 10)]):
        for rank in (0, 1):
            with b.region(rank, names[turn]) if names else contextlib.nullcontext():
                b.compute(rank, both[rank])
        b.barrier()
    for rank in (0, 1):
        b.compute(rank, (2, 4)[rank])
    return b.trace()


@pytest.mark.parametrize(
    ("asked", "makespan"),
    [
        ("balance-time between-collectives", 20 + 1 + 30 + 1 + 3),
        ("balance-time between-collectives#1", 20 + 1 + 50 + 1 + 4),
        ("balance-time between-collectives#2", 30 + 1 + 30 + 1 + 4),
        ("balance-time between-collectives#2..3", 30 + 1 + 30 + 1 + 3),
        # 62 and 44 become 53 each: 10 50 2 become 9 42 2, and 30 10 4 become 36 12 5.
        ("balance-time all", 36 + 1 + 42 + 1 + 5),
    ],
)
def test_balance_time__without_regions(asked, makespan):
    trace = imbalanced()
    assert predicted(trace).predicted.makespan == 30 + 1 + 50 + 1 + 4
    assert predicted(trace, asked).predicted.makespan == makespan


@pytest.mark.parametrize("asked", ["all", "between-collectives"])
def test_balance_time__what_is_outside_of_mpi_stays(asked):
    """100 and 300 before MPI_Init, 10 and 30 behind it, then 5 and 7 behind MPI_Finalize: 20 each between."""
    b = Builder(2, work=0)
    for rank in (0, 1):
        b.compute(rank, (100, 300)[rank])
        b.call(rank, "Init")
        b.compute(rank, (10, 30)[rank])
    b.everyone("Finalize")
    for rank in (0, 1):
        b.compute(rank, (5, 7)[rank])
    found = predicted(b.trace(), f"balance-time {asked}").predicted
    assert found.calls.enter.tolist() == [100, 120, 300, 320]
    assert found.locations.leave.tolist() == [325, 327]


def test_balance_time__a_region_called_so_goes_before():
    trace = imbalanced(["all", "between-collectives"])
    assert predicted(trace, "balance-time all").predicted.makespan == 20 + 1 + 50 + 1 + 4
    assert predicted(trace, "balance-time all#1").predicted.makespan == 20 + 1 + 50 + 1 + 4
    assert predicted(trace, "balance-time between-collectives").predicted.makespan == 30 + 1 + 30 + 1 + 4


def test_balance_time__only_blocking_collectives_of_all_part():
    """Rank 2 is not in the first barrier, a broadcast makes nobody wait for all, the third is not blocking: 40 70 40 in one stretch."""
    b = Builder(3, work=0)
    b.everyone("Barrier", comm=b.comm("pair", [0, 1]))
    b.bcast(0)
    requests = b.everyone("Ibarrier")
    for rank in (0, 1, 2):
        b.compute(rank, (40, 70, 40)[rank])
        b.wait(rank, requests[rank])
    b.barrier()
    assert predicted(b.trace()).predicted.makespan == 70
    assert predicted(b.trace(), "balance-time between-collectives").predicted.makespan == 50
    assert predicted(b.trace(), "balance-time between-collectives#1").predicted.makespan == 50
    with pytest.raises(UsageError, match=r"^'between-collectives#3': no such step, there are stretches 1 to 2$"):
        predicted(b.trace(), "balance-time between-collectives#3")


def test_balance_time__several_steps():
    """Steps of 10 and 30, of 50 and 10, of 0 and 8: the first stays."""
    b = Builder(2)
    for rank, computation in enumerate([(10, 50, 0), (30, 10, 8)]):
        for ns in computation:
            with b.region(rank, "step"):
                b.compute(rank, ns)
            b.compute(rank, 1)
    assert spans(b.trace(), "balance-time step#2..3") == [(0, 10), (11, 41), (42, 46), (0, 30), (31, 61), (62, 66)]


def test_speed__of_several_processes():
    trace = build.placed(imbalanced(), [1, 0])
    assert predicted(trace, "speed rank:0-1=2").predicted.makespan == 15 + 1 + 25 + 1 + 2
    assert predicted(trace, "speed rank:1-7=2").predicted.makespan == 15 + 1 + 50 + 1 + 2
    assert predicted(trace, "speed node:n0=2").predicted.makespan == 15 + 1 + 50 + 1 + 2
    with pytest.raises(UsageError, match=r"^node:n: no such node, the trace has n1, n0; did you mean n1\?$"):
        predicted(trace, "speed node:n=2")


def test_eager():
    """Rank 0 sends 200 bytes, then 300, to who comes at 1000 and 2000; held until then, each send works 50 more.

    Not held it returns o + L = 12 and 50 behind its entry; the receiver still comes late.
    """
    b = Builder(2)
    b.send(0, 1, 200, at=(0, 1050))
    b.send(0, 1, 300, tag=1, at=(1050, 2050))
    b.recv(1, 0, at=(1000, 1060))
    b.recv(1, 0, tag=1, at=(2000, 2060))
    trace = b.trace()
    assert leaves(trace, "eager e0") == [62, 2050, 1060, 2060]
    assert leaves(trace, "eager tag:1") == [1050, 1112, 1060, 2060]
    assert leaves(trace, "eager op:MPI_Send") == [62, 124, 1060, 2060] == leaves(trace, "eager all", engine="replay")
    with pytest.raises(UsageError, match=r"^eager op:MPI_Recv: these calls send no message$"):
        predicted(trace, "eager op:MPI_Recv")


def test_balance_messages():
    """Rank 0 sends 41 and 20 bytes, rank 1 sends 9: both 35, rank 0 as 23.5.. and 11.5..; G = 1, so arrivals move by the bytes.

    41, 20 scaled to 35 in all on the running sum: round(41 * 35 / 61) = 24, so 24 and 11.
    A message of k bytes has a lag of 12 + k - 1: 24 bytes 35, 11 bytes 22, 35 bytes 46.
    """
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step", at=(0, None)):
            if rank == 0:
                b.send(0, 1, 41, at=(10, 13))
                b.send(0, 1, 20, tag=1, at=(20, 23))
                b.recv(0, 1, at=(30, 50))
            else:
                b.send(1, 0, 9, at=(15, 18))
                b.recv(1, 0, at=(20, 70))
                b.recv(1, 0, tag=1, at=(70, 75))
    trace, model = b.trace(), hand_model(G=1)
    # Before: 10 + 52 = 62, 8 ns of work; 20 + 31 = 51 is past, 5 of work; 15 + 20 = 35, 15 of work, at rank 0.
    assert leaves(trace, "balance-messages step", model=model) == [13, 23, 15 + 46 + 15, 18, 10 + 35 + 8, 58]


def test_balance_messages__only_who_sends():
    """Of three in the region two send, 40 and 11 bytes: 26 and 25; the third has no part in it."""
    b = Builder(3)
    for rank, size in enumerate([40, 11, 0]):
        with b.region(rank, "step"):
            if size:
                b.send(rank, 2, size)
            else:
                b.recv(2, 0)
                b.recv(2, 1)
    weighted = parse("balance-messages step").apply(replayed(b.trace(), hand_model(), "none").weighted)
    assert weighted.size.tolist() == [26, 25]


@pytest.mark.parametrize(
    ("hypothesis", "times", "ends"),
    [
        ("scale inner=0.5", [(10, 105), (30, 60), (60, 65)], 115),
        ("scale inner=0", [(10, 70), (30, 30), (30, 30)], 80),
        ("scale outer=2", [(10, 270), (50, 170), (170, 190)], 280),
        ("speed rank:0=2", [(5, 70), (15, 45), (45, 50)], 75),
        ("scale inner=1", [(10, 140), (30, 90), (90, 100)], 150),
    ],
)
def test_scale_and_speed(hypothesis, times, ends):
    """Before 10, outer 20, inner 60, inner again 10 with no time in between, outer 40 (0 of it in a call), after 10."""
    b = Builder(1)
    b.compute(0, 10)
    with b.region(0, "outer"):
        b.compute(0, 20)
        with b.region(0, "inner"):
            b.compute(0, 60)
        with b.region(0, "inner"):
            b.compute(0, 10)
        b.call(0, "Comm_rank", work=0)
        b.compute(0, 40)
    b.compute(0, 10)
    found = predicted(b.trace(), hypothesis).predicted
    assert list(zip(found.regions.enter.tolist(), found.regions.leave.tolist(), strict=True)) == times
    assert found.locations.leave.tolist() == [ends]


def stages(work, last):
    """Return two stages of a training job: the first computes 100 for a micro-batch and sends it, the second computes `last` for each."""
    b = Builder(2, latency=0, per_byte=0, work=work)
    for length in last:
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, length)
    return of_training(b.trace())


def of_training(trace):
    """Return a trace whose sends and receives are those of a training job."""
    op = np.where(trace.calls.op == operations.OP["MPI_Send"], operations.OP["dist_send"], operations.OP["dist_recv"]).astype("u2")
    return dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, op=op))


@pytest.mark.parametrize(
    ("work", "last", "times", "makespan", "most"),
    [
        (0, (100, 100), 2, 4 * 50 + 50, None),
        (10, (100, 100), 1, 2 * (100 + 10) + 100, None),
        (10, (100, 100), 2, 4 * (50 + 10) + 50, None),
        (10, (100, 100), 3, 6 * (100 / 3 + 10) + 100 / 3, None),
        (0, (100, 140), 2, 50 + 100 + 140, 50 + (100 + 20) + (140 + 20)),
        (0, (100, 140), "many", 100 + 140, None),
    ],
)
def test_micro_batches__calls_are_made_for_each_piece(work, last, times, makespan, most):
    """Of 100 and 140 each is held up for 20 on average: so may each piece be, one of two more than is recorded."""
    prediction = predict(stages(work, last), f"micro-batches {times}", clock="none")
    assert prediction.predicted.makespan == pytest.approx(makespan, abs=1)
    assert [(one.changes, one.makespan) for one in prediction.span.others] == ([(("pieces=disturbed",), most)] if most else [])


@pytest.mark.parametrize(("before", "behind", "makespan"), [(4, 6, 2 * 110 - 50 + 100), (9, 1, 2 * 101 - 50 + 100), (10, 0, 250)])
def test_micro_batches__what_is_short_takes_as_long_in_each_piece(before, behind, makespan):
    """Two stages compute 100 for each of two micro-batches, the first 90 of it in an operator: short is what takes less than 9.

    In two pieces, each half as long, the second stage begins 50 sooner than behind all of the first: at 2 * 100 - 50, if nothing is short.
    """
    b = Builder(2, latency=0, per_byte=0, work=0)
    for _ in range(2):
        b.compute(0, before)
        with b.region(0, "aten::mm"):
            b.compute(0, 90)
        b.compute(0, behind)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 100)
    prediction = predict(of_training(b.trace()), "micro-batches 2", clock="none")
    assert prediction.predicted.makespan == makespan
    found = [(one.changes, one.makespan) for one in prediction.span.others]
    assert found == ([(("pieces=in proportion",), 250)] if makespan > 250 else [])


@pytest.mark.parametrize(("times", "makespan"), [("1", 660), ("2", 630), ("4", 615), ("many", 600)])
def test_micro_batches__the_last_stage_turns(times, makespan):
    """Of two micro-batches the first stage computes 100 each forward, and 200 each backward, the last 20 and 40.

    It computes the second forward and the first backward without a call in between: 20 and 40 of 60. In two pieces it has done the first
    of these at 200 + 10 + 20 instead of 200 + 20 + 40.
    """
    b = Builder(2, latency=0, per_byte=0, work=0)
    for _ in range(2):
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 20)
    for _ in range(2):
        b.compute(1, 40)
        b.send(1, 0)
        b.recv(0, 1)
        b.compute(0, 200)
    prediction = predict(of_training(b.trace()), f"micro-batches {times}", clock="none", draws=0)
    assert (prediction.recorded.makespan, prediction.predicted.makespan) == (660, makespan)


def test_balance_time__stages():
    """They compute 200 and 280, on average 240: the second begins at 120."""
    trace = stages(0, (140, 140))
    assert (trace.timeline.makespan, predict(trace, "balance-time stages", clock="none").predicted.makespan) == (100 + 280, 120 + 240)
    with pytest.raises(UsageError, match=r"^'stages#2': no such step, the whole run is step 1$"):
        predict(trace, "balance-time stages#2")
    with pytest.raises(UsageError, match=f"^'stages': {NO_PIPELINE}$"):
        predict(compositing(0), "balance-time stages")


@pytest.mark.parametrize(("asked", "makespan"), [("balance-time stages", 140), ("micro-batches 2", 150), ("micro-batches many", 140)])
def test_pipeline__of_devices(asked, makespan, tmp_path):
    """Micro-batches of two kernels each, 20 and 60 us: the second stage begins when one is sent, at 40, and ends at 160.

    Both compute 40 of each: 20 + 40 + 2 * 40. Of halves the second stage begins 10 sooner, of as many as there may be 20.
    """
    trace = files.read(put(tmp_path / "job", *devices_in_stages()))
    assert trace.timeline.makespan == 160_000
    assert predict(trace, asked, clock="none", draws=0).predicted.makespan == makespan * 1000


def test_scale__instances_apart():
    """Two instances of 10 ns, 1 ns apart, in one computation: 5 + 1 + 5."""
    b = Builder(1)
    for _ in range(2):
        with b.region(0, "inner"):
            b.compute(0, 10)
        b.compute(0, 1)
    assert spans(b.trace(), "scale inner=0.5") == [(0, 5), (6, 11)]


@pytest.mark.parametrize(("factor", "predicted", "others"), [("0", 2, [(TAKEN_OVER, 8_000_002)]), ("0.5", 11_500_002, [])])
def test_scale__loaded_ahead(factor, predicted, others):
    """Batches of 20 and 3 ms, each before 1 ns: taking them over takes up to 5 and 3 ms. Half of each is just that."""
    b = Builder(1)
    for parts in ((15_000_000, 5_000_000), (3_000_000,)):
        with b.region(0, "enumerate(DataLoader)#next"):
            for ns in parts:
                with b.region(0, "decode"):
                    b.compute(0, ns)
        b.compute(0, 1)
    found = predict(b.trace(), f"scale enumerate(DataLoader)#next={factor}", hand_model(), clock="none")
    assert found.predicted.makespan == predicted
    assert [(*other.changes, other.makespan) for other in found.span.others] == others


def test_scale__hooks_of_gradients():
    """Of 100 when a gradient is ready 20 add it up, 10 copy it and 5 ask for its sum; 65 are of others, and 30 lie behind."""
    b = Builder(1)
    with b.region(0, GRADIENT_READY):
        for name, ns in ((ADDS_UP, 20), (f"{BUCKETS[0]}mul_out", 10), (f"{ASKS}allreduce_", 5)):
            with b.region(0, name):
                b.compute(0, ns)
        b.compute(0, 65)
    b.compute(0, 30)
    found = predict(b.trace(), f"scale {GRADIENT_READY}=0", hand_model(), clock="none")
    assert found.predicted.makespan == 65
    assert [(*other.changes, other.makespan) for other in found.span.others] == [(OWN_WORK, 30)]


@pytest.mark.parametrize(
    ("text", "makespan"),
    [
        ("scale work=0.5", 25 + 1 + 25 + 1),
        ("scale work@rank:1=0.5", 50 + 1 + 25 + 1),
        ("scale work@node:n1=0.5", 30 + 1 + 50 + 1),
        ("scale work@rank:0-1=0", 1 + 1),
        ("scale b@rank:0=2", 50 + 1 + 50 + 1),
    ],
)
def test_scale__on_some_processes(text, makespan):
    """Rank 0, on n1, works for 50 and 10, rank 1, on n0, for 30 and 50; behind each a barrier. `b@rank:0`, of 10, is a name."""
    b = Builder(2, work=1)
    for turn, lengths in enumerate([(50, 30), (10, 50)]):
        for rank, length in enumerate(lengths):
            with b.region(rank, "work"), b.region(rank, "b@rank:0") if rank == 0 and turn else contextlib.nullcontext():
                b.compute(rank, length)
        b.barrier()
    assert predicted(build.placed(b.trace(), [1, 0]), text).predicted.makespan == makespan


def test_scale__of_each_process_is_that_of_all():
    """Each rounded by itself, 0.37 of some ns."""
    trace = build.CATALOGUE["nested_regions"]()
    each = [f"scale solve@rank:{rank}=0.37" for rank in range(len(trace.locations))]
    assert spans(trace, *each) == spans(trace, "scale solve=0.37") != spans(trace, each[0])
    assert leaves(trace, *each) == leaves(trace, "scale solve=0.37")


OF_SEGMENTS = ["scale solve=0.37", "scale solve@rank:1=1.9", "speed rank:1=0.7", "typical all", "typical all but rank:1"]


@pytest.mark.parametrize("text", OF_SEGMENTS)
def test_of_segments__weights_are_those_of_the_lengths(text):
    """Whether all lengths are made, or only those that change are looked at, and also of lengths that were changed before."""
    segments = segments_of(replayed(build.CATALOGUE["nested_regions"](), hand_model()).weighted)
    for length in (segments.length, segments.length * 3):
        weights = parse(text).gaps(segments, length)
        assert weights.tolist() == segments.gaps(parse(text).lengths(segments, length)).tolist() != segments.gaps(length).tolist()


def test_scale__recursion_counts_once():
    """f in f: the inner instance is part of the outer one, and is not scaled twice."""
    b = Builder(1)
    with b.region(0, "f"):
        b.compute(0, 10)
        with b.region(0, "f"):
            b.compute(0, 20)
        b.compute(0, 30)
    assert spans(b.trace(), "scale f=0.1") == [(0, 6), (1, 3)]


def test_scale__calls_keep_their_work():
    """A call of 100 in a region of 40 + 60: 20 + 100 + 30."""
    b = Builder(1)
    with b.region(0, "f"):
        b.compute(0, 40)
        b.call(0, "Comm_rank", work=100)
        b.compute(0, 60)
    assert spans(b.trace(), "scale f=0.5") == [(0, 150)]


def test_zero_wait__partners_stay():
    """Rank 1 waits in its receive for 88; without that everything behind it is 88 earlier, and rank 0 no longer waits 2 for it."""
    b = Builder(2)
    b.send(0, 1, 1, at=(100, 105))
    b.recv(1, 0, at=(24, 120))
    b.send(1, 0, 1, at=(150, 155))
    b.recv(0, 1, at=(160, 190))
    trace = b.trace()
    assert leaves(trace) == [105, 190, 120, 155]
    # Waits 112 - 24 = 88, works 8.
    assert leaves(trace, "zero-wait e2") == [105, 188, 32, 67]
    # The other receive has waited 162 - 160 = 2 before it works 28.
    assert leaves(trace, "zero-wait e1") == [105, 188, 120, 155]
    assert leaves(trace, "zero-wait e1,e2") == [105, 188, 32, 67]


def test_order_of_questions_does_not_matter():
    """Network and messages come first, then computation, then single calls: with o = 4 a call of no time still takes none.

    Rank 1: computes 20 / 2, and its receive, not waiting, works 13 + 2.
    """
    b = Builder(2)
    b.send(0, 1, 1, at=(50, 53))
    b.recv(1, 0, at=(20, 75))
    trace, texts = b.trace(), ["zero-time e0", "zero-wait e1", "speed rank:1=2", "network o_ns=4"]
    for order in itertools.permutations(texts):
        assert leaves(trace, *order) == [50, 10 + 15]


def test_network_after_others_keeps_what_they_changed():
    """Applied by hand in the other order: the wait stays cut, the computation of rank 1 stays halved."""
    b = Builder(2)
    b.send(0, 1, 1, at=(50, 53))
    b.recv(1, 0, at=(20, 75))
    weighted = replayed(b.trace(), hand_model(), "none").weighted
    for text in ("zero-wait e1", "speed rank:1=2", "network L_ns=110"):
        weighted = parse(text).apply(weighted)
    assert sweep(weighted.graph, weighted.weight)[weighted.graph.returned].tolist() == [53, 10 + 13]
    assert weighted.weight[weighted.graph.kind == MESSAGE].tolist() == [CUT]


def test_a_cycle_does_not_untie_what_follows_it():
    """Two long sends cross at the same instant, buffered; much later a long send waits for its receiver, 38 of its 70 ns.

    The rendezvous edges of the crossing would close a cycle, but its senders returned before: the model is wrong there, nothing is missing.
    """
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 200, at=(10, 20))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(30, 40))
    b.send(0, 1, 200, at=(1000, 1070))
    b.recv(1, 0, at=(1050, 1080))
    found = predicted(b.trace(), "zero-wait e2")
    assert (found.health.contradictions, found.health.incomplete) == (0, False)
    assert found.misfit.eager_after_all == 2
    assert found.waits_before.time.tolist()[2] == 38
    assert found.predicted.calls.leave.tolist()[2] == 1032


@pytest.mark.parametrize(
    "text",
    [
        "zero-wait e12",
        "zero-wait region:a b,rank:3,op:MPI_Recv",
        "zero-time all",
        "balance-time solve",
        "balance-time solve#3",
        "balance-time solve#3..7",
        "balance-time between-collectives#2",
        "eager op:MPI_Isend",
        "eager within-node:4096, between-nodes:64KiB",
        "progress in calls",
        "balance-messages a#b#1",
        "dynamic solve",
        "distribute site:MPI_Send@main",
        "scale solve=0.5",
        "scale a=b=2",
        "scale a@rank:3=0.5",
        "typical all but rank:3,step",
        "typical rank:3,node:n1=all",
        "usual iterations@rank:3",
        "accumulate gradients",
        "scale enumerate(DataLoader)#next=0",
        "alone op:dist_all_reduce",
        "hide op:dist_all_reduce",
        "nccl allreduce=tree:LL128",
        "speed rank:3=2.0",
        "speed node:a=b=2.0",
        "zero-poll op:MPI_Test",
        "zero-transfer op:MPI_Allreduce",
        "network perwiz-cluster",
        "network L_ns=1000,G_ns_per_byte=0.1",
        "network ./a model.toml",
        "advance e12",
        "advance e12,e14 by a solve",
        "advance site:MPI_Recv@main",
        "move e40..e44 before e30, e7 before e5",
        "collective allreduce=ring",
        "placement swap:3-17",
        "collective bcast@solve.c:112=chain:64KiB was linear, allreduce=best",
    ],
)
def test_parse__gives_back_what_str_says(text):
    h = parse(text)
    assert (str(h), parse(str(h)), type(h).word) == (text, h, text.partition(" ")[0])


def test_zero_transfer():
    """Of 100 and 300, then 200 and 150, each before 60 that the last to come takes in MPI_Allreduce, 300 and 200 are left. Without any
    time in it, nor a wait, 100 and 200. Where that is so of the calls of rank 0 alone, rank 1 takes its 60, and is waited for.
    """
    b = Builder(2, work=60)
    for works in ((100, 300), (200, 150)):
        for process, length in enumerate(works):
            b.compute(process, length)
        b.everyone("Allreduce")
    trace = b.trace()
    assert leaves(trace) == [360, 620, 360, 620]
    assert leaves(trace, "zero-transfer op:MPI_Allreduce") == [300, 500, 300, 500]
    assert leaves(trace, "zero-time op:MPI_Allreduce") == [100, 300, 300, 450]
    assert leaves(trace, "zero-transfer rank:0") == [300, 510, 360, 570]


def test_zero_poll__what_found_something_keeps_its_time():
    """Rank 1 tests once in vain, 40, and probes 30; the test that completes its receive works 7, and the one of MPI_Probe waits."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 10)
    b.send(0, 1)
    request = b.irecv(1, 0)
    b.call(1, "Test", work=40)
    b.call(1, "Iprobe", work=30)
    request.done = request.what.done = b.call(1, "Test", work=7)
    weighted = replayed(b.trace(), hand_model(), "none").weighted
    assert np.flatnonzero(in_vain(weighted.trace)).tolist() == [2, 3]
    assert swept_makespan(weighted) == 77
    assert swept_makespan(parse("zero-poll all").apply(weighted)) == 29
    assert swept_makespan(parse("zero-poll op:MPI_Test").apply(weighted)) == 37
    with pytest.raises(UsageError, match=r"^zero-poll rank:0: these calls do not test or probe in vain$"):
        parse("zero-poll rank:0").apply(weighted)


def test_parse__each_kind_is_tested_above():
    assert [kind.word for kind in KINDS] == [type(parse(f"{kind.word} x")).word for kind in KINDS]
    assert [kind.name for kind in KINDS] == [type(parse(f"{kind.word} x")).__name__ for kind in KINDS]
    assert len(KINDS) == len(set(KINDS)) == 30


@pytest.mark.parametrize("text", ["zero-wait", "zero-wait "])
def test_parse__nothing_to_be_about(text):
    with pytest.raises(UsageError, match=r"^zero-wait: must say what it is about, see perwiz predict --help$"):
        parse(text)


@pytest.mark.parametrize("text", ["", "magic e1", "Zero-wait e1"])
def test_parse__refusals(text):
    kinds = "zero-wait, zero-time, zero-transfer, zero-poll, alone, hide, eager, progress, balance-time, balance-messages, balance-threads"
    kinds += ", threads, schedule, parallel, overlap, dynamic, distribute, micro-batches, scale, typical, usual, accumulate, speed, network"
    kinds += ", links, placement, collective, nccl, advance, move"
    told = f"{text!r} is no hypothesis, must be one of {kinds} and what it is about{'; did you mean zero-wait?' if 'wait' in text else ''}"
    with pytest.raises(UsageError, match=f"^{re.escape(told)}$"):
        parse(text)


REFUSED = [
    ("distribute all", "distribute all: no process sends these to several others in turn"),
    ("scale exchange", "scale exchange: must be like scale NAME=0.5 with a number from 0 to 1e9"),
    ("scale exchange=fast", "scale exchange=fast: must be like scale NAME=0.5 with a number from 0 to 1e9"),
    ("scale exchange=-1", "scale exchange=-1: must be like scale NAME=0.5 with a number from 0 to 1e9"),
    ("scale exchange=nan", "scale exchange=nan: must be like scale NAME=0.5 with a number from 0 to 1e9"),
    ("scale exchange=1.1e9", "scale exchange=1.1e9: must be like scale NAME=0.5 with a number from 0 to 1e9"),
    ("scale =2", "region '': no such region, the trace has main, solve, exchange"),
    ("scale solv=2", "region 'solv': no such region, the trace has solve ...; did you mean solve?"),
    ("scale solve@rank:7=2", "rank:7: no such rank, the trace has ranks 0 to 1"),
    ("scale solve@rank=2", "region 'solve@rank': no such region, the trace has solve ...; did you mean solve?"),
    ("balance-time exchanges", "region 'exchanges': no such region, the trace has exchange ...; did you mean exchange?"),
    ("typical solv", "region 'solv': no such region, the trace has solve ...; did you mean solve?"),
    ("typical all but rank:7", "rank:7: no such rank, the trace has ranks 0 to 1"),
    ("speed rank:1=0", "speed rank:1=0: a speed of 0, must be above 0"),
    ("speed 1=2", "'1' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME"),
    ("speed rank:2=2", "rank:2: no such rank, the trace has ranks 0 to 1"),
    ("speed rank:1-0=2", "rank:1-0: no such rank, the trace has ranks 0 to 1"),
    ("speed node:a=2", "node:a: no such node, the trace tells of no nodes"),
    ("balance-time all#2", "'all#2': no such step, the whole program is step 1"),
    (
        "balance-time between-collectives",
        "built: no collective makes all processes wait for each other, so there is nothing to balance between",
    ),
    ("balance-time solve#7..9", "'solve#7..9': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#2..1", "'solve#2..1': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#7", "'solve#7': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#", "'solve#': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#-1", "'solve#-1': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#0", "'solve#0': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#²", "'solve#²': no such step, region 'solve' has steps 1 to 6"),
    ("balance-time solve#99999999999999999999", "'solve#99999999999999999999': no such step, region 'solve' has steps 1 to 6"),
    ("balance-messages solve#2", "balance-messages solve#2: no message is sent in that region"),
    ("zero-wait e6", "e6: no such call, the trace has calls e0 to e5"),
    ("zero-time op:MPI_Recv", "op:MPI_Recv: no such routine in the trace, it has MPI_Sendrecv; did you mean MPI_Sendrecv?"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals(text, message):
    """A hypothesis that does not fit, or selects nothing, says so; it is never silently without effect."""
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        predicted(build.CATALOGUE["nested_regions"](), text)


def test_refusals__network():
    with pytest.raises(ModelError, match=r"^no model 'fast', must be one of "):
        predicted(build.CATALOGUE["ring"](), "network fast")


def test_refusals__engine():
    with pytest.raises(UsageError, match=r"^engine 'guess': must be one of sweep, replay$"):
        predict(build.CATALOGUE["ring"](), engine="guess")


@pytest.mark.parametrize("text", ["speed rank:0=1e-300", "scale solve=1e9"])
def test_refusals__times_beyond_64_bits(text):
    """Such a factor is refused, or gives a time that fits; never a number that has wrapped round."""
    b = Builder(1)
    with b.region(0, "solve"):
        b.compute(0, 3600 * 10**9)
    trace = b.trace()
    with contextlib.suppress(UsageError):
        assert predicted(trace, text).predicted.locations.leave[0] > 3600 * 10**9


def test_selecting_nothing_in_a_trace_without_calls():
    trace = build.CATALOGUE["empty"]()
    with pytest.raises(UsageError, match=r"^'all' selects no call$"):
        predicted(trace, "zero-wait all")
    with pytest.raises(UsageError, match=r"^region 'a': the trace has no user regions, must be marked in the program"):
        predicted(trace, "scale a=2")


def test_balance_time__a_word_misspelt_in_a_trace_without_regions():
    with pytest.raises(UsageError, match=r"^'alll': no such part of the program; did you mean all\?$"):
        predicted(build.CATALOGUE["ring"](), "balance-time alll")


def test_apply_changes_nothing_in_its_argument():
    trace = build.CATALOGUE["nested_regions"]()
    weighted = replayed(trace, hand_model(), "none").weighted
    before = weighted.weight.copy(), weighted.size.copy(), weighted.region_enter.copy(), weighted.region_leave.copy()
    for text in ("zero-wait all", "zero-time e1", "scale solve=0.5", "speed rank:0=2", "balance-time solve", "balance-messages exchange"):
        parse(text).apply(weighted)
    after = weighted.weight, weighted.size, weighted.region_enter, weighted.region_leave
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_balance_messages__gaps_follow_the_sizes():
    """Rank 0 sends 10 and 30 bytes in the step, 20 ns apart, rank 1 sends 80: balanced, each sends 60."""
    b = Builder(2)
    with b.region(0, "step"):
        b.send(0, 1, 10, at=(0, 10))
        b.send(0, 1, 30, at=(20, 30))
    with b.region(1, "step"):
        b.recv(1, 0, at=(100, 100))
        b.recv(1, 0, at=(100, 100))
        b.send(1, 0, 80, at=(110, 120))
    b.recv(0, 1, at=(200, 300))
    model = hand_model(G=1, gap="sending call")
    # 40 and 80 bytes become 60 each: 15 and 45. The gap behind the first message grows from 9 (of 20 recorded) to 14.
    assert leaves(b.trace(), "balance-messages step", model=model)[1] == 30
    model = hand_model(G=10, gap="sending call")
    # With G = 10 the gap would be 90, which the recording contradicts: it is not applied.
    assert leaves(b.trace(), "balance-messages step", model=model)[1] == 30


def test_balance_messages__below_S_nobody_waits_any_more():
    """150 and 10 bytes become 80 each, S is 100: the sender that was held until 1000 goes on at once, its receiver comes late as before."""
    b = Builder(2)
    with b.region(0, "step"):
        b.send(0, 1, 150, at=(0, 1050))
    with b.region(1, "step"):
        b.recv(1, 0, at=(1000, 1060))
        b.send(1, 0, 10, at=(1100, 1110))
    b.recv(0, 1, at=(1200, 1210))
    found = predicted(b.trace(), "balance-messages step")
    assert found.waits_before.time[0] == 1000 - 12
    assert found.waits_after.time[0] == 0
    assert found.predicted.calls.leave[0] < 1000


def head_to_head():
    """Both send 50 bytes, then receive: with S below that each send waits for the other's receive."""
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 50, at=(0, 10))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(20, 40))
    return b.trace()


def test_network__a_deadlock_is_said_and_is_no_hole_of_the_trace():
    found = predicted(head_to_head(), "network S_bytes=0")
    assert (found.deadlocks, found.health.holes) == (2, {})
    assert predicted(head_to_head(), "network L_ns=9").deadlocks == 0


@pytest.mark.parametrize("text", ["network progress=once posted", "progress once posted"])
def test_network__the_progress_of_simgrid_is_refused(text):
    """It has no requests, and what receives wait for is another thing: no graph has both."""
    message = f"{text}: progress is 'once posted', must be that of --model, 'always'"
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        predicted(head_to_head(), text)


def test_origin__without_hypothesis_that_of_the_run():
    assert predicted(head_to_head()).predicted.origin == MEASURED


def test_origin__names_the_hypotheses():
    assert predicted(head_to_head(), "zero-wait e1").predicted.origin == Origin("predicted", "", ("zero-wait e1",), True)
    asked = ["speed rank:0=2", "network L_ns=9"]
    assert predicted(head_to_head(), *asked).predicted.origin == Origin("predicted", "", tuple(asked), False)


def test_origin__a_region_may_have_the_name_of_a_hypothesis():
    b = build.Builder(1)
    b.enter(0, "zero-wait x", at=0)
    b.leave(0, "zero-wait x", at=100)
    found = predict(b.trace(), "scale zero-wait x=0.5").predicted
    assert (str(found.origin), found.makespan) == ("predicted under scale zero-wait x=0.5", 50)
    assert not found.origin.effects_may_precede_causes


def test_origin__effects_that_precede_their_causes_do_so_in_a_prediction_on_the_prediction():
    trace = predicted_trace(predicted(head_to_head(), "zero-wait all"))
    assert predicted(trace, "speed rank:0=2").predicted.origin == Origin("predicted", "", ("speed rank:0=2",), True)
