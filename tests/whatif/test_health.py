"""What makes a trace incomplete."""

import dataclasses
import tracemalloc

import pytest

import build
from build import Builder, hand_model
from perwiz.clock.treatment import treat
from perwiz.formats import files
from perwiz.report import blocks
from perwiz.trace import operations
from perwiz.trace.trace import Counts
from perwiz.whatif.health import health
from perwiz.whatif.predict import predict, predicted_trace

OWN_CLOCKS = {"processes whose clocks nobody compared: waits between them are not to be trusted": 2}


def test_untied__nothing_happens_between_them():
    """Ranks 0 and 1 talk, 2 sends to itself, 3 only computes."""
    b = Builder(4)
    b.send(0, 1)
    b.recv(1, 0)
    b.send(2, 2, mode="B")
    b.recv(2, 2)
    b.compute(3, 10)
    assert health(b.trace()).holes == {"processes that nothing ties to another": 2}


def test_untied__ranks_cost_nothing():
    """Memory follows the processes there are, not their ranks."""
    trace = build.far(build.CATALOGUE["all_collectives"]())
    tracemalloc.start()
    try:
        assert health(trace).holes == {}
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_untied__a_barrier_ties_all():
    b = Builder(4)
    b.barrier()
    assert health(b.trace()).holes == {}


def test_untied__one_process_is_complete():
    assert health(build.CATALOGUE["one_process"]()).holes == {}


def test_coarse_clock__no_duration_is_no_hole():
    b = Builder(2)
    b.send(0, 1, at=(10, 10))
    b.recv(1, 0, at=(5, 20))
    assert health(b.trace()).holes == {}


def test_bare__waits_were_not_recorded():
    trace = build.CATALOGUE["ring"]()
    assert health(dataclasses.replace(trace, counts=Counts(bare=3))).holes == {
        "sends and receives logged outside MPI states, their waits not recorded": 3
    }


def test_endless__a_wait_for_nobody_knows_what():
    """Of two waits one completes a request of the trace, though nobody receives its message; the other may be for a send without one."""
    b = Builder(2)
    b.barrier()
    b.wait(0, b.isend(0, 1))
    b.call(0, "Isend", peer=1, tag=0, comm=0)
    b.call(0, "Wait")
    assert health(b.trace()).holes["waits for requests that the trace does not name"] == 1


def test_endless__nothing_to_wait_for():
    """Where every request is completed elsewhere, a wait that completes none had none to wait for (MPI 3.1, 3.7.3)."""
    b = Builder(2)
    b.barrier()
    b.wait(0, b.isend(0, 1))
    b.recv(1, 0)
    b.call(0, "Wait")
    assert health(b.trace()).holes == {}


def test_not_modelled__what_waits_for_others_unknown():
    """A file opened together takes 30 of 100 ns; MPI_Finalize waits for all."""
    b = Builder(1)
    b.call(0, "File_open", at=(0, 30))
    b.compute(0, 70)
    assert health(b.trace()).not_modelled == pytest.approx(0.3)
    assert operations.KIND[operations.OP["MPI_Finalize"]] == operations.N_TO_N


@pytest.mark.parametrize(("size", "mean"), [((10, 30), 20), ((7, 8), 8)])
def test_predicted_trace__has_the_balanced_sizes(size, mean):
    """Two ranks exchange; what is left over of an odd sum goes to the first."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step"):
            b.sendrecv(rank, 1 - rank, 1 - rank, size[rank])
    prediction = predict(b.trace(), "balance-messages step", hand_model())
    trace = predicted_trace(prediction)
    assert trace.messages.bytes.tolist() == [mean, sum(size) - mean]
    assert trace.calls.bytes_sent.tolist() == [mean, sum(size) - mean]
    assert trace.calls.bytes_received.tolist() == [sum(size) - mean, mean]
    assert trace.timeline == prediction.predicted


def test_own_clocks__make_a_trace_incomplete():
    """An archive without clock offsets whose messages are reversed: each process has a clock of its own."""
    trace = dataclasses.replace(build.CATALOGUE["clock_violation_message"](), clocks_compared=False)
    assert health(trace).holes == OWN_CLOCKS
    assert health(dataclasses.replace(build.CATALOGUE["ring"](), clocks_compared=False)).holes == {}


def test_own_clocks__are_no_better_after_a_correction(tmp_path):
    trace = dataclasses.replace(build.CATALOGUE["clock_violation_message"](), clocks_compared=False)
    files.write(treat(trace).trace, str(tmp_path / "a.alog"))
    assert health(files.read(str(tmp_path / "a.alog"))).holes == OWN_CLOCKS


@pytest.mark.parametrize("names", [("a.alog", "b.otf2"), ("a.otf2", "b.alog")])
def test_own_clocks__stay_a_hole_in_every_format(tmp_path, names):
    """Clocks that nobody compared are no better once their trace is written, in which format ever; those not at fault do not become so."""
    for name, clocks_compared, holes in (("own", False, OWN_CLOCKS), ("good", True, {})):
        trace = dataclasses.replace(build.CATALOGUE["clock_violation_message"](), clocks_compared=clocks_compared)
        for form in names:
            files.write(trace, str(tmp_path / f"{name}-{form}"))
            trace = files.read(str(tmp_path / f"{name}-{form}"))
            assert (trace.clocks_compared, health(trace).holes) == (clocks_compared, holes)


def test_not_modelled__of_one_process_more_than_of_all():
    """A broadcast of unknown root takes 10 of 100 ns of rank 0, and 60 of 300 ns of rank 1: a tenth and a fifth of one, 70/400 of both."""
    b = Builder(2)
    b.everyone("Bcast", at=[(0, 10), (0, 60)])
    b.end = {0: 100, 1: 300}
    found = health(b.trace())
    assert (found.not_modelled, found.not_modelled_most, found.calls_not_modelled) == (pytest.approx(70 / 400), pytest.approx(0.2), 2)


def test_not_modelled__all_of_a_process_that_logged_nothing():
    """Of 200 ns that two processes take 70 are in calls without partners; a third that logged nothing has 100 more, a fourth too."""
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "Send", at=(0, 35), peer=1 - rank, tag=3, comm=0)
        b.call(rank, "Comm_rank", at=(35, 100))
    trace = b.trace()
    counts = dataclasses.replace(trace.counts, silent_processes=2)
    found = health(dataclasses.replace(trace, counts=counts))
    assert (found.not_modelled, found.not_modelled_most) == (pytest.approx(270 / 400), pytest.approx(0.35))


def test_not_modelled__a_wait_that_completes_a_request_without_message():
    """Of two receives completed by one Waitall (50 of 100 ns) one has no message: nobody knows how long it waited for that."""
    b = Builder(2)
    requests = [b.irecv(0, 1, tag=tag, at=(tag, tag + 1)) for tag in (0, 1)]
    b.waitall(0, *requests, at=(50, 100))
    b.send(1, 0, tag=0, at=(0, 10))
    b.end = {0: 100, 1: 100}
    assert health(b.trace()).not_modelled == pytest.approx(51 / 200)


def test_not_modelled__requests_to_nobody():
    """Of two receives completed by one Waitall one is from MPI_PROC_NULL: that has no message, and nobody waits for it (MPI 3.1, 3.11)."""
    b = Builder(2)
    requests = [b.irecv(0, peer, tag=7, at=(k, k + 1)) for k, peer in enumerate((-1, 1))]
    b.waitall(0, *requests, at=(50, 100))
    b.send(1, 0, tag=7, at=(0, 10))
    b.end = {0: 100, 1: 100}
    found = health(b.trace())
    assert (found.not_modelled, found.calls_not_modelled) == (0, 0)
    sent = health(build.CATALOGUE["to_nobody"]())
    assert (sent.counts.to_nobody, sent.partnerless, sent.holes) == (0, 0, {})


def test_incomplete__of_files_that_are_read_in_part():
    """Nothing is missing in what was read, but something was left out: the title and the health block say so alike."""
    b = Builder(2)
    b.barrier()
    trace = b.trace()
    part = dataclasses.replace(trace, faults=("step 2 alone is read, of 1 to 2: rank 1 has 2",))
    assert [health(one).incomplete for one in (trace, part)] == [False, True]
    told = blocks.health(health(part))
    assert blocks.mark(told) == "  (INCOMPLETE trace)"
    assert blocks.lacking(told) == [("incomplete", part.faults[0])]
    complaint = "INCOMPLETE: what is left out or missing waits for nobody here and delays nobody; 0 records read"
    assert blocks.health_facts(told)[0] == ("health", complaint)
