"""Patterns of threads and devices, worked by hand on the definitions of Scalasca 2.6; idle ones also ns by ns."""

import collections

import numpy as np
import pytest

import build
from build import Builder
from perwiz.patterns.idle import first_threads
from perwiz.patterns.library.basics import metric_of
from perwiz.patterns.pattern import View
from perwiz.patterns.search import search
from perwiz.trace import operations
from perwiz.trace.tables import JOIN


def counted(cells):
    """Return the values of cells by node and location, what is not 0."""
    return {(int(cells.node[i]), int(x)): int(cells.value[i, x]) for i, x in zip(*np.nonzero(cells.value), strict=True)}


def told(trace, name):
    """Return a metric by call path and location, what is not 0."""
    cube = search(trace).severity
    return {(cube.tree.full_name(node), x): value for (node, x), value in counted(cube.cells[name]).items()}


def found(trace, name):
    """Return the instances of a pattern: (location, ns, routine of the cause or None)."""
    some = search(trace).instances[name]
    routines = [None if cause < 0 else build.operations.OPS[trace.calls.op[cause]] for cause in some.cause.tolist()]
    return list(zip(trace.calls.location[some.call].tolist(), some.severity.tolist(), routines, strict=True))


def two_teams():
    """A thread beside the first one, which sets up until 20 and writes from 66 to 90 alone; between and behind both work in a team."""
    b = Builder(1)
    worker = b.thread(0)
    with b.region(0, "setup", at=(0, 20)):
        pass
    fork, idle = b.call(0, "omp_fork", at=(20, 22)), b.call(worker, "omp_idle", at=(0, 25))
    b.link("fork", fork, idle)
    b.team("omp_implicit_barrier", (0, worker), at={0: (40, 62), worker: (60, 61)})
    join = b.call(0, "omp_join", at=(62, 66))
    with b.region(0, "write", at=(66, 90)):
        pass
    fork, idle = b.call(0, "omp_fork", at=(90, 91)), b.call(worker, "omp_idle", at=(61, 93))
    b.link("join", idle, join)
    b.link("fork", fork, idle)
    b.team("omp_barrier", (0, worker), at={0: (110, 112), worker: (100, 113)})
    b.team("omp_implicit_barrier", (0, worker), at={0: (120, 125), worker: (120, 125)})
    ended = b.call(worker, "omp_idle", at=(125, 130))
    b.link("join", ended, b.call(0, "omp_join", at=(125, 127)))
    b.end = {0: 130, worker: 130}
    return b.trace()


def test_idle_threads():
    """Idle until the fork, and from the join to the next one, by what the first thread does; behind the last join to the end."""
    assert told(two_teams(), "omp_idle_threads") == {("setup", 1): 20, ("write", 1): 24, ("program", 1): 3}
    assert told(two_teams(), "omp_limited_parallelism") == {}
    assert found(two_teams(), "omp_idle_threads") == [(1, 20, "omp_fork"), (1, 24, "omp_fork"), (1, 3, "omp_join")]


def test_management():
    """From the fork to the begin of each thread, at the fork; from a thread's end to the join, there; and the calls themselves."""
    assert told(two_teams(), "omp_fork") == {("omp_fork", 0): 3, ("omp_fork", 1): 5 + 3}
    assert told(two_teams(), "omp_management") == {
        ("omp_fork", 0): 3,
        ("omp_join", 0): 4 + 2,
        ("omp_fork", 1): 5 + 3,
        ("omp_idle", 1): 5 + 2,
    }


def test_barriers():
    assert found(two_teams(), "omp_ibarrier_wait") == [(0, 20, "omp_implicit_barrier")]
    assert found(two_teams(), "omp_ebarrier_wait") == [(1, 10, "omp_barrier")]
    assert told(two_teams(), "omp_ibarrier") == {("omp_implicit_barrier", 0): 22 + 5, ("omp_implicit_barrier", 1): 1 + 5}
    assert told(two_teams(), "mpi_barrier_wait") == {}


def test_limited_parallelism():
    """Of the 60 that the third is idle 40 are beside a team: 20 while the first thread works, 20 while that is in its barrier."""
    assert found(build.CATALOGUE["small_team"](), "omp_limited_parallelism") == [(2, 40, "omp_fork")]
    assert told(build.CATALOGUE["small_team"](), "omp_limited_parallelism") == {("program", 2): 20, ("omp_implicit_barrier", 2): 20}
    idle = {("program", 1): 10 + 10, ("program", 2): 10 + 20 + 10, ("omp_implicit_barrier", 2): 20}
    assert told(build.CATALOGUE["small_team"](), "omp_idle_threads") == idle


@pytest.mark.parametrize(
    ("pattern", "routine", "release", "kind"),
    [
        ("omp_lock_contention_critical", "omp_critical", "omp_release", "lock"),
        ("omp_lock_contention_api", "omp_lock", "omp_release", "lock"),
        ("omp_ordered_wait", "omp_ordered", "omp_release", "lock"),
        ("omp_taskwait_wait", "omp_taskwait", "omp_idle", "taskwait"),
        ("omp_task_wait", "omp_task", "omp_task_create", "task"),
        ("omp_join_wait", "omp_join", "omp_idle", "join"),
        ("pthread_lock_contention_mutex_lock", "pthread_mutex_lock", "pthread_release", "lock"),
        ("pthread_lock_contention_conditional", "pthread_cond_wait", "pthread_cond_signal", "signal"),
        ("pthread_join_wait", "pthread_join", "pthread_idle", "join"),
        ("thread_wait_for_work", "thread_wait", "thread_idle", "join"),
        ("device_early_wait", "device_synchronize", "device_idle", "done"),
        ("device_early_wait", "device_offload", "device_idle", "done"),
        ("device_copy_wait", "device_copy", "device_idle", "done"),
    ],
)
def test_links(pattern, routine, release, kind):
    """Who asks at 10 and has it at 45 waits 30 for what comes at 40; who asks at 50 has it at once, who leaves at 74 waits no longer."""
    b = Builder(1)
    other = b.thread(0)
    causes = [b.call(other, release, at=at) for at in ((40, 41), (44, 46), (75, 75))]
    calls = [b.call(0, routine, at=at) for at in ((10, 45), (50, 60), (70, 74))]
    for cause, call in zip(causes, calls, strict=True):
        b.link(kind, cause, call)
    assert found(b.trace(), pattern) == [(0, 30, release), (0, 4, release)]


def test_links__several():
    """Of several the longest."""
    b = Builder(1)
    others = [b.thread(0), b.thread(0)]
    join = b.call(0, "omp_join", at=(10, 45))
    for other, time in zip(others, (40, 30), strict=True):
        b.link("join", b.call(other, "omp_idle", at=(time, 45)), join)
    assert found(b.trace(), "omp_join_wait") == [(0, 30, "omp_idle")]


def test_devices():
    """The second stream has work since 40, waits for the first until 70 and begins at 73; kernels are computation."""
    trace = build.CATALOGUE["two_streams"]()
    assert found(trace, "device_early_wait") == [(0, 30, "device_idle")]
    assert found(trace, "device_stream_wait") == [(2, 30, "device_idle")]
    assert found(trace, "device_launch_latency") == [(1, 5, "device_launch"), (1, 1, "device_launch"), (2, 3, "device_launch")]
    assert told(trace, "device_launch_latency") == {("device_launch", 1): 6, ("device_launch", 2): 3}
    assert told(trace, "device_comp") == {("kernel", 1): 35 + 19, ("copy", 2): 17}
    assert told(trace, "device_starts") == {("device_launch", 1): 6, ("device_launch", 2): 3, ("device_idle", 2): 30}


def test_idle_devices():
    """By what the host does: it launches at 10, 30 and 40 for 2 each, waits from 60 to 92, and computes between."""
    idle = {
        ("program", 1): 10 + 28,
        ("device_synchronize", 1): 22,
        ("program", 2): 10 + 18 + 8 + 28,
        ("device_launch", 2): 2 + 2,
        ("device_synchronize", 2): 2,
    }
    assert told(build.CATALOGUE["two_streams"](), "device_idle") == idle


def test_no_first_thread():
    """Where nobody recorded it, idleness stands at the calls themselves."""
    b = Builder(1)
    worker = b.thread(0)
    b.call(worker, "omp_idle", at=(0, 10))
    trace = b.trace()
    trace.locations.kind.flags.writeable = True
    trace.locations.kind[0] = 1
    assert told(trace, "omp_idle_threads") == {("omp_idle", 1): 10}


@pytest.mark.parametrize(
    "name", [name for name in build.CATALOGUE if not build.operations.OF_PROCESSES[build.CATALOGUE[name]().calls.op].all()]
)
def test_law__idle(name):
    """Looked at ns by ns: what each idle call loses is what the first thread of its process is in."""
    trace = build.CATALOGUE[name]()
    view, result = View(trace), search(trace)
    first, cells = first_threads(trace), [result.severity.cells[pattern] for pattern in ("omp_idle_threads", "device_idle")]
    seen, wanted = collections.Counter(), sum((collections.Counter(counted(some)) for some in cells), collections.Counter())
    for pattern in ("omp_idle_threads", "device_idle"):
        some = result.instances[pattern]
        for call, severity in zip(some.call.tolist(), some.severity.tolist(), strict=True):
            x, links = int(view.location[call]), trace.links
            joined = view.leave[links.effect[(links.kind == JOIN) & (links.cause == call)]].tolist()
            begin = max([int(view.enter[call]), *joined])
            seen.update((node_at(view, result.severity.tree, int(first[x]), time), x) for time in range(begin, begin + severity))
    assert seen == wanted


def node_at(view, tree, x, time):
    """Return the node that a location is in at a time."""
    trace, regions = view.trace, view.trace.timeline.regions
    calls = np.flatnonzero((view.location == x) & (view.enter <= time) & (time < view.leave))
    if len(calls):
        return int(tree.of_calls(trace, calls[-1:])[0])
    open_ = np.flatnonzero((trace.regions.location == x) & (regions.enter <= time) & (time < regions.leave))
    return int(tree.of_path[trace.regions.path[open_[-1]]]) if len(open_) else 0


def test_every_call_but_idle_ones_has_a_metric():
    without = {name for op, name in enumerate(operations.OPS) if not operations.MPI[op] and not metric_of(op)}
    assert without == {"omp_idle", "pthread_idle", "device_idle", "thread_idle", "process_end"}
