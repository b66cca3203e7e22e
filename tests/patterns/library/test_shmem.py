"""Patterns of OpenSHMEM, worked by hand on the trace `shmem` of the catalogue, and what their waits are worth.

ns:
    PE 0   3000, put 3000-3100, set_lock 3100-3200, 2000, clear_lock 5200-5300, 4000, barrier 9300-12800, 1000, broadcast 13800-13900
    PE 1   wait_until 0-3100, 200, set_lock 3300-5300, 300, clear_lock 5600-5700, 7000, barrier 12700-12800, broadcast 12800-13900
"""

import pytest

import build
from build import Builder
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.library import OF_SHMEM, OF_THREADS
from perwiz.patterns.search import search
from perwiz.whatif.predict import predict


def found(trace):
    """Return per pattern that has instances: (call, ns, cause)."""
    rows = {
        name: zip(some.call.tolist(), some.severity.tolist(), some.cause.tolist(), strict=True)
        for name, some in search(trace).instances.items()
    }
    return {name: listed for name, row in rows.items() if (listed := list(row))}


def test_patterns():
    assert found(build.CATALOGUE["shmem"]()) == {
        "shmem_wait_until_wait": [(5, 3000, 0)],
        "shmem_lock_competition": [(6, 1900, 2)],
        "shmem_barrier_wait": [(3, 3400, 8)],
        "shmem_latebroadcast": [(9, 1000, 4)],
    }


def test_times():
    """Each call once, those that contain them all of them: two PEs to 13900, of which they compute 10000 and 7500."""
    cube = search(build.CATALOGUE["shmem"]()).severity
    assert {name: cube.total(name) for name in ("time", "comp", "mpi", "shmem_time", "shmem_synchronization", "shmem_collective")} == {
        "time": 27800,
        "comp": 17500,
        "mpi": 0,
        "shmem_time": 10300,
        "shmem_synchronization": 9000,
        "shmem_collective": 1200,
    }
    assert {name: cube.total(name) for name in ("shmem_point", "shmem_lock", "shmem_barrier", "shmem_rma")} == {
        "shmem_point": 3100,
        "shmem_lock": 2300,
        "shmem_barrier": 3600,
        "shmem_rma": 100,
    }


def test_collectives_of_all():
    """In the N x N operation all wait for the last; what allocates and ends does so, too."""
    b = Builder(2)
    b.everyone("shmem_malloc", at={0: (0, 50), 1: (40, 50)})
    b.everyone("shmem_reduce", bytes=8, at={0: (100, 130), 1: (120, 130)})
    b.everyone("shmem_finalize", at={0: (200, 260), 1: (250, 260)})
    assert found(b.trace()) == {
        "shmem_memory_wait": [(0, 40, 3)],
        "shmem_wait_nxn": [(1, 20, 4)],
        "shmem_finalize_wait": [(2, 50, 5)],
    }


def test_causes():
    """The barrier is late as PE 1 computes longer since both were together for the lock, and all but that as PE 0 does."""
    cube = explain(search(build.CATALOGUE["shmem"]())).findings.severity
    costs = {name: cube.total(f"delay_shmem{name}_aggregate") for name in ("collective", "put", "lock")}
    assert costs == {"collective": 4400, "put": 3000, "lock": 1900}


def test_searched__only_where_there_are_calls():
    names = {pattern.name for pattern in OF_SHMEM}
    assert not names & search(build.CATALOGUE["threads"]()).instances.keys()
    instances = search(build.CATALOGUE["shmem"]()).instances.keys()
    assert names <= instances
    assert not {pattern.name for pattern in OF_THREADS} & instances


@pytest.mark.parametrize("engine", ["sweep", "replay"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zero-wait op:shmem_set_lock", 13900 - 1900),
        # The lock is held all the same.
        ("zero-wait op:shmem_wait_until", 13900),
        # PE 1 would be in the barrier at 7800; now PE 0 is last.
        ("zero-wait op:shmem_set_lock,op:shmem_wait_until", 10500),
        # PE 1 comes to the broadcast at 12800, its root did at 10400.
        ("zero-wait op:shmem_barrier_all", 13900 - 1000),
        ("speed rank:1=2", 10500),
    ],
)
def test_worth(text, expected, engine):
    assert predict(build.CATALOGUE["shmem"](), [text], "default", engine, clock="none").predicted.makespan == expected
