"""What cannot be added up is refused before anything is asked of it; and what questions need is made anew, nothing else."""

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model
from perwiz.engines.sweep import sweep
from perwiz.errors import TraceError
from perwiz.graph.graph import RENDEZVOUS
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.limits.balance import balance
from perwiz.whatif.run import based, changed, replayed


def lasting(ns):
    """Return two processes, of which one waits for a message that the other sends after so many ns, in a region step."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step"):
            b.compute(rank, ns * (1 - rank))
            b.send(0, 1, 1) if rank == 0 else b.recv(1, 0)
    return b.trace()


def test_treated__times_that_cannot_be_added_up():
    """Two processes of 2^60 ns wait and compute longer than 2^60 ns together; of 2^58 they do not."""
    assert replayed(lasting(2**58), hand_model()).makespan > 2**58
    with pytest.raises(TraceError) as caught:
        replayed(lasting(2**60), hand_model())
    assert str(caught.value) == "built: 1152921505 s of 2 processes add up to more than 2^60 ns, must be less"


def test_treated__bytes_that_cannot_be_added_up():
    """Balancing messages of 2^62 bytes each would overflow their sum."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step"):
            for k in range(3):
                b.send(0, 1, 2**62, at=(k, k + 1)) if rank == 0 else b.recv(1, 0, at=(k, k + 1))
    with pytest.raises(TraceError) as caught:
        balance(b.trace(), ["step"], hand_model())
    assert str(caught.value) == "built: its messages add up to 1.38e+19 bytes, must be at most 2^60"


def test_check__a_message_of_less_than_no_bytes():
    b = Builder(2)
    b.send(0, 1, -7)
    b.recv(1, 0)
    with pytest.raises(TraceError) as caught:
        b.trace()
    assert str(caught.value) == "built: e0 (rank 0) sends -7 bytes, must be at least 0"


@pytest.mark.parametrize("name", CATALOGUE)
def test_time__of_what_is_as_recorded_made_anew(name):
    """Calls and locations have the times of the trace, hubs those that were swept; they stay so when the weights are another run's."""
    run = replayed(CATALOGUE[name](), hand_model())
    expected, calls = sweep(run.graph, run.weighted.weight), np.arange(len(run.trace.calls))
    run.weighted.weight[:] = 0
    assert (run.as_recorded, run.makespan, run.replay_error) == (True, run.trace.timeline.makespan, 0)
    assert np.array_equal(run.time, expected)
    assert np.array_equal(run.left(calls), expected[run.graph.returned])


def test_time__of_a_changed_run():
    run = replayed(lasting(100), hand_model())
    other = changed(run, parse_all(["zero-wait all"], run.trace))
    assert not other.as_recorded
    assert np.array_equal(other.time, sweep(other.graph, other.weighted.weight))
    assert other.left(np.array([1])) == other.time[other.graph.returned[1]] < run.left(np.array([1]))


def test_based__another_graph_only_where_edges_are_missing():
    """Another network costs otherwise, so the graph is that of the run; but with a smaller S senders wait that did not as recorded."""
    b = Builder(2)
    b.send(0, 1, 60, at=(10, 20))
    b.recv(1, 0, at=(0, 50))
    run = replayed(b.trace(), hand_model(), "none")
    same, other = (based(run, parse_all([f"network {change}"], run.trace)) for change in ("L_ns=7", "S_bytes=50"))
    assert same.graph is run.graph
    assert same.weighted.weight is not run.weighted.weight
    assert same.weighted.weight.tolist() == run.weighted.weight.tolist()
    assert [np.count_nonzero(one.graph.kind == RENDEZVOUS) for one in (run, other)] == [0, 1]
