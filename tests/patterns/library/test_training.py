"""Wait states of training jobs whose threads reduce, by hand; times in us of a profile."""

from __future__ import annotations

import numpy as np
import pytest

import perwiz
from build import hand_model
from kinetos import Rank, put
from perwiz.cli import main
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.analysis.hybrid import hybrid
from perwiz.patterns.overtime.overtime import over_time
from perwiz.patterns.search import search
from perwiz.report.domino.limits import spending
from perwiz.trace import operations
from perwiz.whatif.run import replayed


def gloo(rank, loads):
    """Return a rank that loads so long and then asks for a reduction, which is over at 80 on all and waited for."""
    one = Rank(rank).note("ProfilerStep#0", 0, 120).op("load", 2, loads - 2).op("c10d::allreduce_", loads, 5)
    shapes = {"Input Dims": [[25]], "Input type": ["float"]}
    return one.note("gloo:all_reduce", loads + 6, 74 - loads, 2, **shapes).op("aten::add", 85, 5)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = put(tmp_path_factory.mktemp("training") / "job", gloo(0, 10), gloo(1, 40))
    return explain(search(perwiz.read(str(folder))))


def told(found, name):
    """Return (process, ns, routine of the cause) of the instances of a pattern."""
    some, trace = found.findings.instances[name], found.findings.severity.trace
    routines = [operations.OPS[trace.calls.op[cause]] for cause in some.cause.tolist()]
    return list(zip(trace.processes_of_calls[some.call].tolist(), some.severity.tolist(), routines, strict=True))


def test_waits(found):
    """Rank 0 reduces since 16, rank 1 since 46; both wait for their threads, since 15 and 45, until these are done at 80."""
    assert told(found, "mpi_wait_nxn") == [(0, 30_000, "dist_all_reduce")]
    assert told(found, "thread_wait_for_work") == [(0, 65_000, "thread_idle"), (1, 35_000, "thread_idle")]
    assert sorted(told(found, "omp_idle_threads")) == [(0, 10_000, "thread_start"), (1, 40_000, "thread_start")]


def test_who_has_no_work_is_not_to_blame(found):
    """The thread of rank 1 is late as the first one loads: that costs most, and who has no work no more than starting takes, 6 of each."""
    tree, cost = found.findings.severity.tree, found.causes.cost.sum(axis=(0, 1, 2))
    by_name = {tree.full_name(node): cost[node] for node in np.flatnonzero(cost).tolist()}
    assert max(by_name, key=by_name.__getitem__).endswith("load")
    assert by_name["thread_idle"] <= 2 * 6000


@pytest.mark.slow
def test_words__none_of_mpi(found, capsys):
    """Costs of messages are no question of a run that sends none; threads that idle are in the sums, and in no call path."""
    assert main(["info", found.findings.severity.trace.path]) == 0
    assert "under model fitted\n" in capsys.readouterr().out
    assert main(["patterns", found.findings.severity.trace.path]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[2] for line in out if line.startswith("    ") and line.strip().startswith(("Between", "Threads"))] == [
        "Between ranks",
        "Threads",
    ]
    assert [line.split()[:4] for line in out if line.strip().startswith("Idle threads")] == [["Idle", "threads", "50.00", "us"]]


def test_threads_of_one_purpose__have_no_share_of_the_time(found):
    """Of 240 that two first threads take they are 70 and 40 in calls and wait 65 and 35, in which are 30 of a thread that reduces."""
    run = replayed(found.findings.severity.trace, hand_model())
    assert over_time(run, found.findings, 1).waiting.sum() == 100_000
    assert hybrid(run) is None
    [row] = spending(run)
    assert (row.site.partition("@")[0], row.time_ns, row.waiting_ns) == ("thread_wait", 55_000, 50_000)
