"""What stands first in the report of `perwiz patterns`, and what its shares are of; worked by hand."""

from __future__ import annotations

import dataclasses

import pytest

from build import Builder, hand_model
from perwiz.loggps.model_file import load
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import search
from perwiz.report.patterns import document as patterns
from perwiz.report.patterns import text as patterns_text
from perwiz.trace.trace import Counts
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.worth import makespan_after


def document(trace, model=None, rows=10):
    run = replayed(trace, model)
    findings = search(run.trace)
    return patterns.document(run, findings, worth(run, findings), None, rows, explain(findings))


def shown(made):
    return patterns_text.text(made, False).splitlines()


def late():
    """Two processes of 1000 ns, 900 of them in MPI_Init; rank 1 receives from 900 to 950 and waits for rank 0, which sends at 938.

    A message takes o + L = 12 ns. By the pattern it waits 38 ns, for the send; by the model 50, for the message.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 900))
    b.compute(0, 38)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 50)
    return b.trace("late.alog")


def test_answer():
    """Without the wait rank 0 ends at 938 and rank 1 at 950."""
    made = document(late(), hand_model())
    assert (made.waiting_ns, made.model_waiting_ns, made.bound_ns, made.shares_of_ns) == (38, 50, 950, 100)
    assert shown(made)[:9] == [
        "late.alog: wait states",
        "",
        "recorded      1.000 us",
        "waiting       38 ns in these patterns, 50 ns under the model, over all 2 processes",
        "              percentages are of the 100 ns after MPI_Init; `of all` is of that of all processes",
        "no waits      950 ns, gain 50 ns (50.0 %), if no call waited: --zero-wait all",
        "best pattern  Late Sender in MPI_Recv: gain 50 ns (50.0 %) if no call there waited; waiting 38 ns in 1 call, of 50 ns",
        "              that all calls there wait",
        "main cause    program on rank 0: 38 ns (100.0 %) of the waiting is for a process that spends more time there than others",
    ]


def test_shares():
    """Of both 100 ns are left behind MPI_Init: 88 of computation, 50 of the receive, 62 in which rank 0 has ended. MPI_Init has none."""
    share = {row.name: row.share for row in document(late(), hand_model()).metrics if row.unit == "ns"}
    assert (share["time"], share["execution"]) == (1, 138 / 200)
    assert (share["comp"], share["mpi"], share["mpi_latesender"]) == (88 / 200, 50 / 200, 38 / 200)
    assert (share["mpi_management"], share["mpi_init_exit"]) == (0, 0)
    assert share["delay"] is None, "causes are no part of the time"


def test_no_waits():
    b = Builder(1)
    b.compute(0, 10)
    made = document(b.trace("one.alog"))
    assert shown(made)[2] == "recorded      10 ns; no wait states"
    assert (made.waiting_ns, made.bound_ns) == (0, 10)


def test_waits_that_were_not_recorded():
    b = Builder(1)
    b.compute(0, 10)
    lacking = Counts(bare=1)
    made = document(dataclasses.replace(b.trace("one.alog"), counts=lacking))
    assert shown(made)[2] == "recorded      10 ns; no wait states as far as recorded"
    made = document(dataclasses.replace(late(), counts=lacking), hand_model())
    assert "no waits      950 ns, gain 50 ns (50.0 %), if no call waited as far as recorded: --zero-wait all" in shown(made)


def wrong_order():
    """Rank 0 receives from 0 to 60 what rank 1 sends at 50, then what rank 2 sent at 10; then a barrier, which rank 0 leaves late."""
    b = Builder(3)
    b.recv(0, 1, at=(0, 60))
    b.recv(0, 2, at=(70, 80))
    b.send(1, 0, at=(50, 55))
    b.send(2, 0, at=(10, 15))
    b.barrier(at=[(90, 120), (85, 100), (85, 100)])
    return b.trace()


def test_every__one_wait_per_call():
    """A call in two patterns counts once, and the makespan without waits is that of all calls at once."""
    run = replayed(wrong_order(), hand_model())
    found = worth(run, search(run.trace))
    assert {"mpi_latesender", "mpi_latesender_wo", "mpi_lswo_different", "mpi_barrier_wait"} == set(found.whole)
    assert (found.every, found.waiting) == (makespan_after(run, "zero-wait", range(7)), 50 + 5 + 5)


def test_longest_waits():
    """Time after the first has left a barrier is no wait: neither among the longest, nor before what waits among the call paths."""
    made = document(wrong_order(), hand_model())
    assert [row.pattern for row in made.instances] == ["mpi_latesender", "mpi_barrier_wait", "mpi_barrier_wait"]
    assert made.call_paths[-1].pattern == "mpi_barrier_completion"
    assert made.call_paths[-1].severity_ns > made.call_paths[-2].severity_ns
    assert made.call_paths[-2].gain_ns == 0


def test_longest_waits__of():
    """Those of the pattern asked for, not once more for each special case."""
    run = replayed(wrong_order(), hand_model())
    findings = search(run.trace)
    made = patterns.document(run, findings, worth(run, findings), "mpi_latesender", 10)
    assert [row.pattern for row in made.instances] == ["mpi_latesender"]
    assert {row.pattern for row in made.call_paths} == {"mpi_latesender", "mpi_latesender_wo", "mpi_lswo_different"}


@pytest.mark.parametrize(("size", "eager"), [(65_535, 1), (65_536, 0)])
def test_eager(size, eager):
    """Rank 0 sends at 0 until 90, rank 1 receives from 50: up to S bytes the model has no wait, and says so."""
    b = Builder(2)
    b.send(0, 1, size, at=(0, 90))
    b.recv(1, 0, at=(50, 90))
    made = document(b.trace(), load("default"))
    assert made.eager_late_receivers == eager
    assert next(row.total for row in made.metrics if row.name == "mpi_latereceiver") == 50
    assert any(line.startswith("eager         1 of 1 late receivers: by the model") for line in shown(made)) == bool(eager)


def test_rows():
    """No rows asked for: what stands first is told all the same, but for the best and the worst row."""
    lines = shown(document(late(), hand_model(), 0))
    assert [line.split("  ")[0] for line in lines[2:6]] == ["recorded", "waiting", "", "no waits"]
    assert lines[6] == ""


@pytest.mark.parametrize(("name", "shown_as"), [("f", "--zero-wait site:MPI_Recv@f"), ("f" * 80, "(--json)"), ("f\n", "(--json)")])
def test_change(name, shown_as):
    """The option that has the gain stands behind it, ready to be pasted, unless it is long or cannot be printed as it is."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 50)
    b.send(0, 1)
    with b.region(1, name):
        b.recv(1, 0)
    line = next(line for line in shown(document(b.trace())) if line.startswith("Late Sender "))
    assert line.split("  ")[-1] == shown_as


@pytest.mark.parametrize(
    ("idle", "cause"),
    [
        ("omp_idle", "program: 90 ns (100.0 %) of waits and idle threads"),
        ("thread_idle", "program on rank 0.1: 40 ns (100.0 %) of the waiting"),
    ],
)
def test_main_cause__is_not_mpi_init(idle, cause):
    """The thread idles 900 in MPI_Init, 50 until it is forked, and is 40 late in the barrier. That of a library is given no work."""
    b = Builder(1, work=0)
    thread = b.thread(0)
    b.call(0, "Init", at=(0, 900))
    b.compute(0, 50)
    fork = b.call(0, "omp_fork", at=(950, 950))
    b.link("fork", fork, b.call(thread, idle, at=(0, 950)))
    b.team("omp_implicit_barrier", (0, thread), at={0: (960, 1000), thread: (1000, 1000)})
    told = [line for line in shown(document(b.trace("idle.alog"), hand_model())) if line.startswith("main cause")]
    assert [line.partition(" is for ")[0] for line in told] == [f"main cause    {cause}"]


def started_with_a_thread():
    """MPI_Init to 100; a thread idle until 120 computes to 200 as its process does."""
    b = Builder(1, work=0)
    thread = b.thread(0)
    b.call(0, "Init", at=(0, 100))
    fork = b.call(0, "omp_fork", at=(120, 120))
    b.link("fork", fork, b.call(thread, "omp_idle", at=(0, 120)))
    b.team("omp_implicit_barrier", (0, thread), at={0: (200, 200), thread: (200, 200)})
    join = b.call(0, "omp_join", at=(200, 200))
    b.link("join", b.call(thread, "omp_idle", at=(200, 200)), join)
    b.call(0, "Finalize", at=(200, 250))
    return b.trace()


def test_shares__idle_threads_while_mpi_starts():
    """Of 450 ns of both 200 are in MPI_Init or idle meanwhile; 20 of the other 250 are idle before the fork, 50 in MPI_Finalize."""
    made = document(started_with_a_thread(), hand_model())
    share = {row.name: row.share for row in made.metrics if row.unit == "ns"}
    assert (share["time"], share["omp_idle_threads"], share["comp"], share["mpi"]) == (1, 20 / 250, 180 / 250, 50 / 250)


def test_efficiencies__without_mpi_init_first():
    lines = shown(document(started_with_a_thread(), hand_model()))
    row = lines.index("parallel efficiencies")
    assert [line[:24].strip() for line in lines[row + 2 : row + 4]] == ["MPI_Init to MPI_Finalize", "program, MPI_Init in it"]


def test_causes__idle_threads_while_mpi_starts():
    """Of 120 idle 100 are in MPI_Init, which is nobody's cause: all that is left is for the 20 before the fork."""
    lines = shown(document(started_with_a_thread(), hand_model()))
    row = next(k for k, line in enumerate(lines) if line.startswith("call path, on the late side"))
    assert [line.split()[:4] for line in lines[row + 1 : row + 3]] == [["MPI_Init", "100", "ns", "-"], ["program", "20", "ns", "100.0"]]


def test_what_lists_leave_out():
    """Two call sites of late senders: of one row each list says how to see both."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for name in ("one", "two"):
        b.compute(0, 50)
        b.send(0, 1)
        with b.region(1, name):
            b.recv(1, 0)
    made = document(b.trace(), hand_model(), rows=1)
    assert (made.more_call_paths, made.more_instances) == (1, 1)
    assert shown(made).count("and 1 more (-n 2 lists all)") >= 2
    assert not any("lists all)" in line for line in shown(document(b.trace(), hand_model(), rows=4)))


@pytest.mark.parametrize(("waits", "causes"), [((1000, 1000, 1000, 1000, 20, 20), 4), ((4000, 20, 20, 20, 20, 20), 3)])
def test_short(waits, causes):
    """Six causes, of which one in 50 of the waiting matters, and six waits: three are listed of either, or the causes that matter."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for row, ns in enumerate(waits):
        with b.region(0, f"work {row}"):
            b.compute(0, ns)
        b.send(0, 1)
        b.recv(1, 0)
    made = document(b.trace(), hand_model())
    lines = patterns_text.text(made, False, short=True).splitlines()
    row = next(k for k, line in enumerate(lines) if line.startswith("call path, on the late side"))
    assert lines[row + causes + 1] == f"and {len(made.causes.call_paths) - causes} more (-n {len(made.causes.call_paths)} lists all)"
    row = lines.index("longest waits")
    assert lines[row + 5] == f"and {len(made.instances) - 3} more (-n {len(made.instances)} lists all)"
    assert not any("lists all" in line for line in shown(made))
