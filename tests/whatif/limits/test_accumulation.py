"""Sums of gradients that are summed again before the optimizer takes a step: of several backward passes all but the last."""

import numpy as np
import pytest

import perwiz
from kinetos import Rank, put
from perwiz.errors import UsageError
from perwiz.formats.kineto.names import GRADIENT_READY
from perwiz.report.domino.remedies import remedy
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.limits.accumulation import _repeated, needless
from perwiz.whatif.ranking import devices
from perwiz.whatif.ranking.change import Asker, NoneThereError
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed

SGD = "Optimizer.step#SGD.step"
MODEL = "DistributedDataParallel.forward"


def passes(rank, sizes=(25, 25), between=None, model=MODEL, optimizer=SGD, checkpoint=False):
    """Return a rank of Gloo that makes a pass in 60 for each size, and a step of the optimizer in 10 behind the last.

        0  forward  10  backward (12 copies, 16 asks, 20)  30  waits for the sum, from 20 on  50  copies  56     60 ...

    `between` is what else is there behind the first pass, for 2.
    """
    one = Rank(rank).note("ProfilerStep#1", 0, 60 * len(sizes) + 10)
    for at, size in zip(range(0, 60 * len(sizes), 60), sizes, strict=True):
        one.note(model, at, 10).op(GRADIENT_READY, at + 10, 20)
        one.op("torch::distributed::reducer::mul_out", at + 12, 4).op("c10d::allreduce_", at + 16, 4)
        one.note("gloo:all_reduce", at + 20, 30, 2, **{"Input Dims": [[size]], "Input type": ["float"]})
        one.op("torch.distributed.ddp.reducer::copy_bucket_to_grad", at + 50, 6)
        if checkpoint:
            one.note(model, at + 20, 5).op("c10d::allreduce_", at + 26, 3)
            one.note("gloo:all_reduce", at + 30, 20, 3, **{"Input Dims": [[size]], "Input type": ["float"]})
    if between:
        one.note(between, 57, 2)
    return one.note(optimizer, 60 * len(sizes), 10)


def job(folder, *ranks):
    return perwiz.read(put(folder / "job", *ranks))


def test_accumulate(tmp_path):
    """Of 130 the first pass leaves out 8 in the backward, 20 of its wait and 6 of copies; the second keeps all."""
    trace = job(tmp_path, passes(0), passes(1))
    asker = Asker(replayed(trace, clock="none"))
    [change] = devices.accumulation(asker)
    assert (change.question, change.makespan, change.bound) == ("accumulate gradients", 96_000, False)
    assert change.what == "gradients summed over the ranks once in 2 backward passes, not in each"
    assert remedy(trace, situation(asker.run, change)).startswith("sum gradients once a step of the optimizer: with model.no_sync():")
    assert perwiz.predict(trace, ["accumulate gradients"], clock="none").gain == 34_000


def test_accumulate__of_three_passes_two_go(tmp_path):
    trace = job(tmp_path, passes(0, (25, 25, 25)), passes(1, (25, 25, 25)))
    assert perwiz.predict(trace, ["accumulate gradients"], clock="none").gain == 68_000
    assert needless(trace).passes == 3


def test_accumulate__more_is_computed_again_in_a_backward(tmp_path):
    """A forward inside of a backward between two sums, as of checkpoints of activations, begins no pass."""
    trace = job(tmp_path, *(passes(rank, checkpoint=True) for rank in range(2)))
    assert needless(trace).passes == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"between": SGD}, {"between": SGD}),
        ({"between": "Optimizer.zero_grad#SGD.zero_grad"}, {"between": "Optimizer.zero_grad#SGD.zero_grad"}),
        ({"sizes": (25, 26)}, {"sizes": (25, 26)}),
        ({"sizes": (25,)}, {"sizes": (25,)}),
        ({"between": SGD}, {}),
        ({"optimizer": "Optimizer.zero_grad#SGD.zero_grad"}, {"optimizer": "Optimizer.zero_grad#SGD.zero_grad"}),
        ({"optimizer": "step"}, {"optimizer": "step"}),
        ({"model": "forward"}, {"model": "forward"}),
    ],
    ids=["used", "set to none", "other sums", "one pass", "used on one rank", "never used", "no optimizer", "no forward"],
)
def test_accumulate__what_is_needed_stays(tmp_path, first, second):
    trace = job(tmp_path, passes(0, **first), passes(1, **second))
    assert needless(trace) is None
    with pytest.raises(NoneThereError, match=r"^no gradients are summed again before they are used$"):
        devices.accumulation(Asker(replayed(trace, clock="none")))
    with pytest.raises(UsageError, match=r"^accumulate gradients: no rank sums the same gradients again before its optimizer takes a step"):
        parse("accumulate gradients").apply(replayed(trace, clock="none").weighted)


def test_accumulate__other_words(tmp_path):
    with pytest.raises(UsageError, match=r"^accumulate batches: must be gradients$"):
        parse("accumulate batches").apply(replayed(job(tmp_path, passes(0), passes(1)), clock="none").weighted)


def on_a_device(rank):
    """Return a rank that launches a copy of gradients and their sum on two streams, twice, and waits for the device at last.

    launches at     14   17                74   77            132
    stream 7           20 copy 28             80 copy 88
    stream 20                   30 sum 50              90 sum 110
    """
    one = Rank(rank).note("ProfilerStep#1", 0, 140)
    for at in (0, 60):
        one.note(MODEL, at, 10).op(GRADIENT_READY, at + 10, 20).op("torch::distributed::reducer::mul_out", at + 13, 4)
        one.launch("copy", at + 14, at + 20, 8)
        one.op("c10d::allreduce_", at + 18, 9).nccl("AllReduce", at + 20, at + 30, 20, at)
    return one.note(SGD, 120, 10).call("cudaDeviceSynchronize", 131, 4)


def test_accumulate__on_a_device(tmp_path):
    """The first sum goes, what launches it and the copy, and what that takes on the stream."""
    trace = job(tmp_path, on_a_device(0), on_a_device(1))
    found = needless(trace)
    op = [perwiz.trace.operations.OPS[row] for row in trace.calls.op[found.calls].tolist()]
    assert sorted(op) == ["device_launch"] * 4 + ["dist_all_reduce"] * 2
    assert trace.timeline.calls.leave[found.launched].tolist() == [20_000, 30_000] * 2
    assert [trace.names[row] for row in trace.region_names[found.instances].tolist()] == [
        "torch::distributed::reducer::mul_out",
        "c10d::allreduce_",
    ] * 2


def test_repeated():
    """The example of the docstring."""
    unit, number, kind = np.array([4, 4, 4, 4, 4, 4, 5, 5]), np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([7, 8, 7, 9, 7, 8, 7, 8])
    again, most = _repeated(unit, number, kind)
    assert (again.nonzero()[0].tolist(), most) == ([0, 1], 3)
