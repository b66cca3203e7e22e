"""Delay costs: oracle 8 of the definitions, what is compared since when."""

import numpy as np

from build import Builder
from naive_delays import causes_of, chain
from perwiz.patterns.analysis import delays
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.search import search


def test_oracle_8():
    """The delay is 4 in f on rank 0; it costs 4 in the short term and, through the wait of rank 1, 4 in the long term."""
    _, tree, waits, _, found = causes_of(chain())
    f = tree.name.index("f")
    expected = np.zeros((1, 2, 3, len(tree)))
    expected[0, 0, 0, f] = expected[0, 1, 0, f] = 4000
    assert waits.kinds == ("mpi_latesender",)
    assert np.array_equal(found.cost, expected)
    assert (found.indirect.tolist(), found.propagating.tolist()) == ([0, 4000], [4000, 0])
    assert found.cost.sum() == waits.instances.severity.sum() == 8000


def test_oracle_8__metrics():
    """Half of the waiting is indirect, half of it propagating; the rest is direct, and terminal."""
    cube = explain(search(chain())).findings.severity
    split = {name: cube.by_location(f"mpi_wait_{name}").tolist() for name in ("direct", "indirect", "propagating", "terminal")}
    assert split == {"direct": [0, 4000, 0], "indirect": [0, 0, 4000], "propagating": [0, 4000, 0], "terminal": [0, 0, 4000]}
    assert cube.by_location("delay_latesender").tolist() == cube.by_location("delay_latesender_longterm").tolist() == [4000, 0, 0]
    assert cube.total("delay") == 8000


def test_two_causes_share():
    """Rank 1 waits 4 for rank 0, which spent 3 more in f and 3 more in g but 2 less in h: D = 6, so each of f and g costs 2."""
    b = Builder(2)
    for rank, lengths in enumerate(((4000, 4000, 1000), (1000, 1000, 3000))):
        for name, length in zip("fgh", lengths, strict=True):
            with b.region(rank, name):
                b.compute(rank, length)
    b.send(0, 1, at=(9000, 9000))
    b.recv(1, 0, at=(5000, 9000))
    _, tree, _, _, found = causes_of(b.trace())
    assert {tree.name[node]: found.cost[0, 0, 0, node] for node in np.flatnonzero(found.cost[0, 0, 0])} == {"f": 2000, "g": 2000}


def test_interval_begins_when_both_were_last_together():
    """A barrier that nobody left before 5 ends the comparison: what rank 0 did less before it does not make up for its 3 more in g."""
    b = Builder(2)
    for rank, length in enumerate((1000, 4000)):
        with b.region(rank, "g"):
            b.compute(rank, length)
    b.barrier(at=[(1000, 5000), (4000, 5000)])
    for rank, length in enumerate((4000, 1000)):
        with b.region(rank, "g"):
            b.compute(rank, length)
    b.send(0, 1, at=(9000, 9000))
    b.recv(1, 0, at=(6000, 9000))
    _, tree, waits, _, found = causes_of(b.trace())
    late = waits.kinds.index("mpi_latesender")
    assert found.cost[late, 0, 0, tree.name.index("g")] == found.cost[late].sum() == 3000


def partly(*after):
    """Rank 2 leaves an MPI_Alltoall at 3, before rank 1 comes at 8; rank 0 does at 9. Rank 1 is 8 in f before it, rank 0 is 1.

    Then those two of `after` meet in g: the first sends what it has made in 2, the second waits for that.
    """
    b = Builder(3)
    for rank, length in enumerate((1000, 8000, 0)):
        with b.region(rank, "f"):
            b.compute(rank, length)
    b.everyone("Alltoall", bytes=8, at=[(1000, 9000), (8000, 9000), (0, 3000)])
    sender, receiver = after
    begin = [9000, 9000, 3000]
    with b.region(sender, "g"):
        b.compute(sender, 11_000 - begin[sender])
    b.send(sender, receiver, at=(11_000, 11_000))
    b.recv(receiver, sender, at=(begin[receiver], 11_000))
    _, tree, waits, _, found = causes_of(b.trace())
    cost = found.cost[waits.kinds.index("mpi_latesender"), 0, sender]
    return {tree.name[node]: cost[node] for node in np.flatnonzero(cost)}


def test_interval_begins_where_a_part_was_together():
    """Ranks 0 and 1 left after the last had come: they are compared since 9, and what rank 1 did more in f before does not count.

    Rank 2 is not among them: it waits 8 for rank 1, which spent 8 in f, 1 in the MPI_Alltoall and 2 in g, from the beginning; 3 of the
    MPI_Alltoall were a wait.
    """
    assert partly(1, 0) == {"g": 2000}
    assert partly(1, 2) == {"f": 8000 * 8 / 11, "MPI_Alltoall": 1000 * 8 / 11, "g": 2000 * 8 / 11}


def test_nobody_to_blame():
    """Rank 0 begins at 5 and sends at once; rank 1, there since 0, waits 5: no work of rank 0 explains it."""
    b = Builder(2)
    b.begin = {0: 5000, 1: 0}
    b.send(0, 1, at=(5000, 5000))
    b.recv(1, 0, at=(0, 5000))
    *_, waits, _, found = causes_of(b.trace())
    assert (len(waits), found.cost.sum()) == (1, 0)


def test_one_wait_per_call():
    """Of two waits that one call is booked with, the longer counts."""
    found = search(chain()).instances
    twice = {**found, "mpi_barrier_wait": found["mpi_latesender"].severe(found["mpi_latesender"].severity + 1)}
    waits = delays.wait_states(twice)
    assert (len(waits), waits.instances.severity.tolist()) == (2, [4001, 4001])
    assert {waits.kinds[kind] for kind in waits.kind} == {"mpi_barrier_wait"}


def test_late_start_is_not_booked():
    """Rank 0 begins at 5 and computes 2; rank 1 has waited for it since 1. Of these 6 the computation explains 2, the rest nobody."""
    b = Builder(2)
    b.begin = {0: 5000, 1: 0}
    b.compute(0, 2000)
    b.send(0, 1, at=(7000, 7000))
    b.recv(1, 0, at=(1000, 7000))
    *_, waits, _, found = causes_of(b.trace())
    assert (waits.instances.severity.tolist(), found.cost.sum()) == ([6000], 2000)


def test_meeting_in_the_same_call_is_none():
    """Rank 0 waits in MPI_Recv from 3 for the MPI_Sendrecv of rank 1, entered at 5; that in turn waits 3 for what rank 0 sends at 8.

    The two meet in this very call, so its interval begins at 0. Rank 0 has 1 more in MPI_Recv, 2 in f and 2 of waiting: of each, 3/5
    counts. Its wait is 1.2 of the cause, by 2 more that rank 1 computed before.
    """
    b = Builder(2)
    b.recv(0, 1, at=(3000, 6000))
    with b.region(0, "f"):
        b.compute(0, 2000)
    b.send(0, 1, at=(8000, 8000))
    b.sendrecv(1, 0, 0, at=(5000, 9000))
    _, tree, _, _, found = causes_of(b.trace())
    places = zip(*np.nonzero(found.cost[0]), strict=True)
    costs = {(term, int(x), tree.name[node]): round(found.cost[0, term, x, node]) for term, x, node in places}
    assert costs == {(0, 0, "MPI_Recv"): 600, (0, 0, "f"): 1200, (0, 1, "program"): 2000, (1, 1, "program"): 1200}
    assert [round(part) for part in found.indirect] == [0, 1200]


def costs_of(trace):
    """Return (metric, location, call path): ns, of all costs that are not 0."""
    cube = explain(search(trace)).findings.severity
    names = [name for name in cube.cells if name.startswith("delay_") and name.removesuffix("_longterm") in delays.KINDS.values()]
    out = {}
    for name in names:
        cells = cube.cells[name]
        for row, x in zip(*np.nonzero(cells.value), strict=True):
            out[name, int(x), cube.tree.full_name(int(cells.node[row]))] = int(cells.value[row, x])
    return out


def test_late_thread_delays_another_process():
    """The first thread is 1000 in f, its other one 4000: it waits 3000 in their barrier, then sends; process 1 waits for that since 500.

    Of these 3500, a quarter comes from f of the first thread, and three from its waiting: that is booked on the other thread.
    """
    b = Builder(2)
    worker = b.thread(0)
    for location, length in ((0, 1000), (worker, 4000)):
        with b.region(location, "f"):
            b.compute(location, length)
    b.team("omp_implicit_barrier", (0, worker), at={0: (1000, 4000), worker: (4000, 4000)})
    b.send(0, 1, at=(4000, 4000))
    with b.region(1, "g"):
        b.compute(1, 500)
    b.recv(1, 0, at=(500, 4000))
    assert costs_of(b.trace()) == {
        ("delay_latesender", 0, "f"): 875,
        ("delay_ompbarrier", worker, "f"): 3000,
        ("delay_latesender_longterm", worker, "f"): 2625,
    }


def test_idle_threads_for_another_process():
    """A thread is idle for 60 until a fork: 20 of them the first thread is in f, 40 it waits for process 1, which is 50 in g."""
    b = Builder(2)
    worker = b.thread(0)
    with b.region(0, "f", at=(0, 10)):
        pass
    with b.region(1, "g", at=(0, 50)):
        pass
    b.send(1, 0, at=(50, 50))
    b.recv(0, 1, at=(10, 50))
    with b.region(0, "f", at=(50, 60)):
        pass
    b.link("fork", b.call(0, "omp_fork", at=(60, 60)), b.call(worker, "omp_idle", at=(0, 60)))
    assert costs_of(b.trace()) == {
        ("delay_ompidle", 0, "f"): 20,
        ("delay_latesender", 1, "g"): 40,
        ("delay_ompidle_longterm", 1, "g"): 40,
    }


def test_threads_are_compared_since_their_team_met():
    """After a barrier of their team that nobody left before 50, two threads are compared since then; what was before does not count."""
    b = Builder(2)
    worker, other = b.thread(0), b.thread(1)
    for process, thread in ((0, worker), (1, other)):
        with b.region(process, "f", at=(0, 10)):
            pass
        with b.region(thread, "f", at=(0, 50)):
            pass
        b.team("omp_barrier", (process, thread), at={process: (10, 51), thread: (50, 51)})
        with b.region(process, "f", at=(51, 90)):
            pass
        with b.region(thread, "f", at=(51, 80)):
            pass
        b.team("omp_barrier", (process, thread), at={process: (90, 90), thread: (80, 90)})
    costs = {("delay_ompbarrier", location, "f"): cost for location, cost in ((worker, 40), (other, 40), (0, 10), (1, 10))}
    assert costs_of(b.trace()) == costs


def test_several_patterns_of_one_metric():
    """Waits in both kinds of barriers are one metric."""
    b = Builder(1)
    worker = b.thread(0)
    for routine, time in (("omp_barrier", 50), ("omp_implicit_barrier", 100)):
        b.team(routine, (0, worker), at={0: (time - 10, time), worker: (time, time)})
    assert costs_of(b.trace()) == {("delay_ompbarrier", worker, "program"): 20}


def test_device_and_host():
    """A stream that has nothing to do waits for the host, the host in turn for the kernel."""
    b = Builder(1)
    stream = b.stream(0)
    with b.region(0, "f", at=(0, 30)):
        pass
    b.link("launch", b.call(0, "device_launch", at=(30, 30)), b.call(stream, "device_idle", at=(0, 30)))
    with b.region(stream, "kernel", at=(30, 90)):
        pass
    done = b.call(stream, "device_idle", at=(90, 90))
    b.link("done", done, b.call(0, "device_synchronize", at=(40, 90)))
    assert costs_of(b.trace()) == {("delay_deviceidle", 0, "f"): 30, ("delay_device", stream, "kernel"): 50}


def test_teams_of_two_processes_are_two():
    """Each process has a barrier of its own threads: what process 0 did before that of process 1, 50 in f beside 50 in h, counts."""
    b = Builder(2)
    workers = [b.thread(0), b.thread(1)]
    b.team("omp_barrier", (0, workers[0]), at=dict.fromkeys((0, workers[0]), (0, 2)))
    b.team("omp_barrier", (1, workers[1]), at=dict.fromkeys((1, workers[1]), (50, 52)))
    with b.region(0, "f", at=(2, 52)):
        pass
    with b.region(0, "h", at=(52, 102)):
        pass
    b.send(0, 1, at=(102, 102))
    with b.region(1, "g", at=(0, 50)):
        pass
    b.recv(1, 0, at=(52, 102))
    assert costs_of(b.trace()) == {("delay_latesender", 0, "f"): 25, ("delay_latesender", 0, "h"): 25}


def test_threads_are_compared_since_their_process_began():
    """Processes are compared since all have left MPI_Init; a thread is idle during it, because of it."""
    b = Builder(1)
    worker = b.thread(0)
    b.call(0, "Init", at=(0, 100))
    with b.region(0, "f", at=(100, 150)):
        pass
    b.link("fork", b.call(0, "omp_fork", at=(150, 150)), b.call(worker, "omp_idle", at=(0, 150)))
    assert costs_of(b.trace()) == {("delay_ompidle", 0, "MPI_Init"): 100, ("delay_ompidle", 0, "f"): 50}
