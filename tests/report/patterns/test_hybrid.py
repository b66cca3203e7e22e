"""Threads in the report of `perwiz patterns`: efficiencies of MPI and threads, and the words for those who wait."""

import msgspec
import pytest

from build import CATALOGUE, Builder, hand_model, of_processes
from documents import valid
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.patterns import document as report
from perwiz.report.patterns.text import text
from perwiz.whatif.run import replayed


def document(trace, causes=True):
    run = replayed(trace, hand_model())
    findings = search(run.trace)
    found = report.document(run, findings, worth(run, findings), None, 10, explain(findings) if causes else None)
    valid(msgspec.to_builtins(found), "patterns")
    return found


def uneven(forks):
    """Two processes of two threads: the first threads compute 6000 and 3000, the others a third of that; then all processes meet."""
    b = Builder(2, work=0, latency=0)
    for process, work in ((0, 6000), (1, 3000)):
        worker = b.thread(process)
        if forks:
            b.link("fork", b.call(process, "omp_fork"), b.call(worker, "omp_idle"))
        b.compute(process, work)
        b.compute(worker, work // 3)
        b.team("omp_implicit_barrier", (process, worker))
    b.barrier()
    return b.trace()


def test_tables():
    """Balance of all (6 + 2 + 3 + 1) / 4 of 6, of MPI 4.5 of 6; nothing else is lost. Added: 25 % between processes, 25 % in regions."""
    lines = text(document(uneven(forks=True)), False).split("\nMPI and threads, ")[1].split("\n\nlongest waits")[0].splitlines()
    assert lines == [
        "program: all threads = MPI x threads; MPI sees what first threads do outside of its calls as useful",
        "factor             all threads        MPI    threads",
        "parallel              50.0 % !   75.0 % !   66.7 % !",
        "  balance             50.0 % !   75.0 % !   66.7 % !",
        "  communication      100.0 %    100.0 %    100.0 %",
        "    serialisation    100.0 %    100.0 %    100.0 %",
        "    transfer         100.0 %    100.0 %    100.0 %",
        "",
        "the same added: what an efficiency loses is the sum of what those below it lose",
        "efficiency            of the time",
        "parallel                 50.0 % !",
        "  processes              75.0 % !",
        "    balance              75.0 % !",
        "    communication       100.0 %",
        "      serialisation     100.0 %",
        "      transfer          100.0 %",
        "  threads                75.0 % !",
        "    serial parts        100.0 %",
        "    parallel regions     75.0 % !",
    ]


def test_talp_and_teams():
    """12000 useful of 24000, as in tests/patterns/analysis/test_talp.py; nothing where no team, or no device, is told."""
    found = document(uneven(forks=True))
    assert (found.talp, found.teams) == (None, None)
    found = document(of_processes((3000, 1000), (6000, 2000), idle=3000))
    assert [found.talp[name] for name in ("parallel", "mpi_parallel", "omp_parallel", "device_offload")] == [0.5, 0.75, 0.625, 1.0]
    assert "device_parallel" not in found.talp
    assert found.teams == {"parallel": 2 / 3, "load_balance": 2 / 3, "serialisation": 1.0, "management": 1.0}
    assert document(CATALOGUE["device"]()).talp["device_load_balance"] == 1
    assert document(CATALOGUE["late_sender"]()).talp is None


def test_no_parallel_regions():
    """Without forks nothing tells serial parts from others: only the product is told."""
    found = document(uneven(forks=False))
    assert (found.hybrid.added, found.hybrid.whole.load_balance, found.hybrid.mpi.load_balance) == (None, 0.5, 0.75)
    assert "the same added" not in text(found, False)


def test_left_out():
    assert document(CATALOGUE["late_sender"]()).hybrid is None
    assert document(uneven(forks=True), causes=False).hybrid is None


@pytest.mark.parametrize(("name", "who"), [("threads", "process or thread"), ("late_sender", "process")])
def test_words(name, who):
    told = " ".join(text(document(CATALOGUE[name]()), False).split())
    assert f"is for a {who} that spends more time there" in told
    assert f"because a {who} spent more time here" in told
    assert f" to another {who}, " in told


def test_call_paths():
    """Idle threads stand where their process was meanwhile; their calls are elsewhere."""
    found = document(CATALOGUE["threads"]())
    rows = {(row.pattern, row.call_path): (row.severity_ns, row.instances) for row in found.call_paths}
    assert rows["omp_idle_threads", "MPI_Recv"][1] == 0
    assert rows["omp_lock_contention_critical", "omp_critical"] == (3100, 1)
    line = next(line for line in text(found, False).splitlines() if line.startswith("Idle threads") and "MPI_Recv" in line)
    assert line.split()[5:6] == ["-"]


@pytest.mark.parametrize(("idle", "listed"), [("pthread_idle", True), ("thread_idle", False)])
def test_call_paths__threads_that_get_other_work(idle, listed):
    """Of 1000 that a thread is idle while its process computes: told of all, by call path where it could have had a part of that work."""
    b = Builder(1, work=0)
    begins = b.call(b.thread(0), idle)
    b.compute(0, 1000)
    b.link("fork", b.call(0, "pthread_create"), begins)
    found = document(b.trace(), causes=False)
    assert next(row.total for row in found.metrics if row.name == "omp_idle_threads") == 1000
    assert [row.pattern for row in found.call_paths] == ["omp_idle_threads"] * listed
