"""Questions about threads and streams, worked by hand on the traces `threads` and `device` of the catalogue.

threads, ns, L + o as recorded between the send at 9500 and the return of the receive at 13608:
    rank 0     fork 500-600, 2000, critical 2600-2700, 6000, release 8700-8800, barrier 8800-9400, join 9400-9500, send 9500-9600
    rank 0.1   idle 0-600, 5000, critical 5600-8800 (100 behind the release), 400, release 9200-9300, barrier 9300-9400, idle 9400-9500
    rank 1     receive 0-13608, fork 13608-13708, 700, barrier 14408-14708, join 14708-14808
    rank 1.1   idle 0-13708, 900, barrier 14608-14708, idle 14708-14808
device:
    rank 0     launch 0-100, 300, launch 400-500, 1000, synchronize 1500-6700 (100 behind the kernel's end), send 6700-6800
    rank 0.1   idle 0-50, kernel 50-4050, idle 4050-4100, kernel 4100-6600, idle 6600-6700
    rank 1     receive 0-10808
"""

import dataclasses

import numpy as np
import pytest

import build
from chakras import Rank, put
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.trace.tables import STREAM
from perwiz.whatif import selectors
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.limits.balance import balance
from perwiz.whatif.limits.bound import bound
from perwiz.whatif.limits.critical import KINDS, critical
from perwiz.whatif.limits.curve import curve
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.timed import timed
from perwiz.whatif.worth.domino import domino
from perwiz.whatif.worth.singles import singles


def makespan(name, *texts):
    return predict(build.CATALOGUE[name](), texts, "default", clock="none").predicted.makespan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The second to have the lock goes on at 5700 and meets the first at its barrier at 8800: 8900 instead of 9400.
        ("zero-wait op:omp_critical", 14808 - 500),
        ("zero-wait e11", 14808 - 500),
        ("zero-wait rank:0.1", 14808 - 500),
        # 8000 and 5400 become 6700 each, 1675 + 5025 and 6204 + 496: the lock is free at 7400, the last is in the barrier at 8096, not at
        # 9300; and 700 and 900 become 800.
        ("balance-threads all", 14808 - 1204 - 100),
        # One does 13400, and the other finds the lock free at 14100 only, in the barrier at 14300; then 1600 instead of 900.
        ("threads all=1", 14808 + 5000 + 700),
        ("threads all=2", 14808),
        # Half of the 500 before the first team; rank 1 computes nothing alone.
        ("parallel all", 14808 - 250),
        # Not 500, but 250; in the team 1000 and 3000, so the lock is free at 4450 and the barrier left at 4450 + 100 + 200 + 200.
        ("speed rank:0=2", 14808 - 9400 + 4950),
        # Alone: its 5000 become 2500, but the lock is held; 400 become 200.
        ("speed rank:0.1=2", 14808 - 200),
        # A team that begins at once where the fork is entered: its first call is not on the path.
        ("zero-time e10", 14808),
    ],
)
def test_threads(text, expected):
    assert makespan("threads", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The receive returns 5100 earlier, but the stream ends at 6700.
        ("zero-wait op:device_synchronize", 6700),
        # 2000 and 1250 behind one another: the second ends at 50 + 2000 + 50 + 1250, 3250 earlier.
        ("scale kernel=0.5", 10808 - 3250),
        ("speed rank:0.1=2", 10808 - 3250),
        # The device is not faster with its process, and the process waits for it.
        ("speed rank:0=2", 10808),
        ("balance-time all", 10808),
        # A kernel that begins when it is launched.
        ("zero-time e5", 10808 - 50),
        # A launch that takes no time has its kernel begin no earlier; the second is waited for by nobody.
        ("zero-time op:device_launch", 10808),
    ],
)
def test_device(text, expected):
    assert makespan("device", text) == expected


def test_waits():
    """The lock 3100, the last in the barrier 500, the messages; who begins in a team, and a kernel that is launched, waits for nobody."""
    run = replayed(build.threads(), "default", "none")
    waits = {e: (int(run.waits.time[e]), int(run.waits.partner[e])) for e in np.flatnonzero(run.waits.time).tolist()}
    assert waits == {3: (500, 13), 6: (13542, 5), 8: (200, 16), 11: (3100, 2)}
    run = replayed(build.device(), "default", "none")
    waits = {e: (int(run.waits.time[e]), int(run.waits.partner[e])) for e in np.flatnonzero(run.waits.time).tolist()}
    assert waits == {2: (5100, 7), 4: (10742, 3)}


def test_singles():
    """As one question each; of the 18 calls these are on the critical path, and pay."""
    found = singles(replayed(build.threads(), "default", "none"))
    assert {e: value for e, value in enumerate(found.zero_wait.tolist()) if value < 14808} == {6: 9600, 11: 14308}
    assert {e for e, value in enumerate(found.zero_time.tolist()) if value == 14708} == {0, 1, 4, 12, 15}


def pieces(found):
    rows = zip(found.kind.tolist(), found.begin.tolist(), found.length.tolist(), found.location.tolist(), strict=True)
    return [(KINDS[kind], begin, length, location) for kind, begin, length, location in rows]


def test_critical__threads():
    """It goes over to rank 0.1 (row 2) with the lock, back with the barrier, and on rank 1 to the thread that computes longer."""
    found = critical(build.threads(), "default", "none")
    assert found.changes == 5
    assert pieces(found.pieces) == [
        ("computation", 0, 500, 0),
        ("calls", 500, 100, 0),
        ("computation", 600, 2000, 0),
        ("calls", 2600, 100, 0),
        ("computation", 2700, 6000, 0),
        ("calls", 8700, 100, 2),
        ("computation", 8800, 400, 2),
        ("calls", 9200, 100, 2),
        ("calls", 9300, 100, 0),
        ("calls", 9400, 100, 0),
        ("transfer", 9500, 4042, 1),
        ("calls", 13542, 66, 1),
        ("calls", 13608, 100, 3),
        ("computation", 13708, 900, 3),
        ("calls", 14608, 100, 1),
        ("calls", 14708, 100, 1),
    ]


def test_critical__device():
    """The stream (row 2), then the wait for it, and the message; the process could be 3650 later with its first launch returned."""
    found = critical(build.device(), "default", "none")
    assert pieces(found.pieces) == [
        ("calls", 0, 50, 2),
        ("computation", 50, 4000, 2),
        ("calls", 4050, 50, 2),
        ("computation", 4100, 2500, 2),
        ("calls", 6600, 100, 0),
        ("transfer", 6700, 4042, 1),
        ("calls", 10742, 66, 1),
    ]
    assert found.slack.tolist() == [3650, 5100, 0, 4008, 0, 0, 0, 4108]


def test_bound():
    """A thread that waits for a team, and a stream for a kernel, do no work: of the stream's three idle calls 50, 50 and none are work.

    Without waits the longest is rank 0 with 8500 + 6 * 100 and 6500 + 200. Balanced and without waits, a third of 7800 + 400 and 66.
    """
    found = bound(build.threads(), (), "default", "none").regions[0]
    assert found.parts.sum(axis=0).tolist() == [9600, 14808, 9500, 14808]
    assert found.time((0,)) == 9100
    found = bound(build.device(), (), "default", "none").regions[0]
    assert found.parts[0].tolist() == [1300, 0, 6500]
    assert found.parts[1].tolist() == [300, 0, 100]
    assert found.parts[5].tolist() == [5100, 10742, 100]
    assert found.time((0,)) == 6600
    assert found.time((0, 1)) == (7800 + 400) // 3 + 100


def test_balance():
    """Teams make no stretches of all processes; the whole program has threads, but no streams: no processor takes over a kernel."""
    found = balance(build.threads(), (), "default", "none")
    assert [(region.name, region.computation.tolist()) for region in found.regions] == [("all", [8500, 700, 5400, 900])]
    found = balance(build.device(), (), "default", "none")
    assert [(region.name, region.computation.tolist()) for region in found.regions] == [("all", [1300, 0])]


def test_domino():
    """The longest wait hides the lock; without it, process 0 alone is left, whose lock then pays."""
    found = domino(build.threads(), "default", "none")
    assert (found.run.makespan, str(found)) == (14808, "<Domino of built: zero-wait e6: 14808 ns becomes 9600 ns>")
    assert str(domino(build.device(), "default", "none")) == "<Domino of built: zero-wait e2: 10808 ns becomes 6700 ns>"


def test_curve():
    """Of the 8500 that rank 0 and the 5400 that its thread computes 8500 and 400 are on the path; a device is not part of its process.

    With the thread half as fast it asks for the lock at 10600 only, has it 100 later, and comes to the barrier at 11600, not at 9300.
    """
    found = curve(build.threads(), "rank:0", model="default", clock="none")
    assert [found.at(x) for x in (0, 1, 2)] == [14808 - 8900, 14808, 14808 + 8900]
    found = curve(build.threads(), "rank:0.1", model="default", clock="none")
    assert [found.at(x) for x in (0, 1, 2)] == [14808 - 400, 14808, 14808 + 2300]
    assert curve(build.device(), "rank:0", model="default", clock="none").at(0) == 10808


@pytest.mark.parametrize("name", ["threads", "device"])
def test_compare(name):
    """With itself every call is paired, and nothing differs; half the computation of rank 0.1 shows there."""
    trace = build.CATALOGUE[name]()
    found = compare(trace, trace)
    assert str(found) == f"<Comparison of built ({trace.timeline.makespan} ns) with built ({trace.timeline.makespan} ns)>"


def test_selectors():
    trace = build.threads()
    assert np.flatnonzero(selectors.locations(trace, "rank:0.1")).tolist() == [2]
    assert np.flatnonzero(selectors.locations(trace, "rank:0.0")).tolist() == [0]
    assert np.flatnonzero(selectors.locations(trace, "rank:0")).tolist() == [0, 2]
    assert np.flatnonzero(selectors.calls(trace, "rank:1.1")).tolist() == [15, 16, 17]
    device = build.device()
    assert np.flatnonzero(selectors.processors(device, "rank:0")).tolist() == [0]
    assert device.locations.kind[selectors.processors(device, "rank:0.1")].tolist() == [STREAM]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank:0.2", "rank:0.2: no such thread or stream, the trace has rank:0.0, rank:0.1"),
        ("rank:2.1", "rank:2.1: no such thread or stream, the trace has no rank 2"),
    ],
)
def test_selectors__refusals(text, message):
    with pytest.raises(UsageError) as error:
        selectors.locations(build.threads(), text)
    assert str(error.value) == message


def test_only_threads():
    """A program without MPI, which may have no communicator at all."""
    trace = build.threads()
    assert predict(trace, ["zero-wait all"]).gain > 0
    b = build.Builder(1, work=0)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork"), b.call(other, "omp_idle"))
    b.compute(other, 500)
    b.team("omp_implicit_barrier", (0, other))
    join, ended = b.call(0, "omp_join"), b.call(other, "omp_idle")
    b.link("join", ended, join)
    trace = dataclasses.replace(b.trace(), communicators=build.communicators([]))
    assert predict(trace, ["balance-threads all"]).predicted.makespan == 250
    assert predict(trace, ["zero-wait all"]).predicted.makespan == 500
    assert balance(trace).run.makespan == 500


def test_bound__while_mpi_starts_nobody_is_idle():
    """MPI_Init from 0 to 100; a thread idle until 120 could work from 100 on: of 300 and 280 busy ns the mean, and no less than 100."""
    b = build.Builder(1)
    thread = b.thread(0)
    b.call(0, "Init", at=(0, 100))
    fork = b.call(0, "omp_fork", at=(120, 120))
    b.link("fork", fork, b.call(thread, "omp_idle", at=(0, 120)))
    b.compute(0, 180)
    b.compute(thread, 180)
    found = bound(b.trace(), (), "default", "none").regions[0]
    assert found.parts.sum(axis=0).tolist() == [300, 300]
    assert found.parts[5].tolist() == [0, 20]
    assert found.time((0, 1)) == 290


def test_balance_time__streams_of_processes(tmp_path):
    """Of a region that processes and their streams are in each process computes the mean of processes, 20 us; streams keep their 2 us."""
    ranks = [Rank(k).compute(1, "part", took, cpu=True).compute(2, "part", 2, [1]) for k, took in ((0, 10), (1, 30))]
    trace = timed(files.read(put(tmp_path / "job", *ranks)))
    assert predict(trace, ["balance-time part"]).predicted.locations.leave.tolist() == [20_000, 22_000, 20_000, 22_000]
