"""Threads in OTF2: teams, barriers, locks and tasks of small archives, each worked by hand."""

import dataclasses

import _otf2 as c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otf2_archive import OPENMP, PTHREAD, USER, Archive, calls, links, recorded
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.formats.files import write
from perwiz.formats.otf2.hybrid.routines import routine
from perwiz.formats.otf2.hybrid.threads import endings
from perwiz.formats.otf2.tables import Builder
from perwiz.loggps.model_file import load
from perwiz.loggps.weigh import timeline_of
from perwiz.trace import operations, tables
from perwiz.whatif.run import replayed

ATOMIC, BARRIER, CRITICAL, IMPLICIT_BARRIER, ORDERED, CREATE_TASK, TASK_WAIT = 14, 15, 12, 16, 18, 21, 22
MODEL = c.Paradigm(OPENMP)
TEAM, INNER = 7, 8


@pytest.fixture
def archive(tmp_path):
    """Return archive(threads, ...), an archive of one process to be written: its threads are locations 0, 100, 200 ..."""
    return lambda threads=2, **more: Program(tmp_path / "t", 1, threads, world=False, **more)


class Program(Archive):
    """An archive with shorthands for what threads do."""

    def fork(self, location, time):
        self.at(location, time, "ThreadFork", MODEL, 2)

    def join(self, location, time):
        self.at(location, time, "ThreadJoin", MODEL)

    def begin(self, location, time, team=TEAM):
        self.at(location, time, "ThreadTeamBegin", team)

    def end(self, location, time, team=TEAM):
        self.at(location, time, "ThreadTeamEnd", team)

    def inside(self, location, enter, leave, name, role=0, paradigm=OPENMP, work=()):
        """A region of a paradigm; `work` are records in it as `at` takes them."""
        self.enter(location, enter, name, paradigm=paradigm, role=role)
        for time, kind, *arguments in work:
            self.at(location, time, kind, *arguments)
        self.leave(location, leave, name)

    def barrier(self, location, enter, leave):
        self.inside(location, enter, leave, "!$omp barrier @a.c:5", BARRIER)

    def lock(self, location, time, kind, order, lock=0, model=MODEL):
        self.at(location, time, f"Thread{kind}Lock", model, lock, order)

    def task(self, location, time, kind, generation, creator=0):
        self.at(location, time, f"ThreadTask{kind}", TEAM, creator, generation)


def columns(table):
    return [getattr(table, field.name) for field in dataclasses.fields(table)]


def barriers(trace):
    """Return the calls of each barrier of threads."""
    rows = np.flatnonzero(trace.collectives.comm == tables.NONE)
    return [trace.members.call[trace.members.collective == row].tolist() for row in rows]


def test_team(archive):
    """Fork at 10, both meet in a barrier that the worker reaches at 50, joined at 70. The worker is idle before and behind.

    0    0 main  10 fork  12 begin  30 [barrier ]52  60 end  70 join  80
    100          15 begin  50 [barrier ]55  65 end
    """
    a = archive()
    a.enter(0, 0, "main")
    a.fork(0, 10), a.begin(0, 12), a.barrier(0, 30, 52), a.end(0, 60), a.join(0, 70)
    a.leave(0, 80, "main")
    a.begin(100, 15), a.barrier(100, 50, 55), a.end(100, 65)
    trace = a.trace()
    assert calls(trace) == [
        *((0, "omp_fork", 10, 10), (0, "omp_barrier", 30, 52), (0, "omp_join", 60, 70)),
        *((1, "omp_idle", 0, 15), (1, "omp_barrier", 50, 55), (1, "omp_idle", 65, 65)),
    ]
    assert links(trace) == [("fork", 0, 3), ("join", 5, 2)]
    assert (barriers(trace), trace.counts.untied_waits, trace.timeline.locations.enter.tolist()) == ([[1, 4]], 0, [0, 0])
    assert {*trace.calls.comm.tolist(), *trace.calls.peer.tolist(), *trace.calls.tag.tolist(), *trace.calls.root.tolist()} == {-1}
    assert trace.counts.unmatched_collectives == 0


def test_team__the_latest_fork_before(archive):
    """A team comes again, and the second time before the first could: its fork is the second one."""
    a = archive()
    for start in (0, 100):
        a.fork(0, start), a.begin(0, start + 1), a.end(0, start + 20), a.join(0, start + 30)
        a.begin(100, start + 5), a.end(100, start + 25)
    trace = a.trace()
    assert [row[1:] for row in calls(trace) if row[0]] == [("omp_idle", 0, 5), ("omp_idle", 25, 105), ("omp_idle", 125, 125)]
    assert links(trace) == [("fork", 0, 4), ("fork", 2, 5), ("join", 5, 1), ("join", 6, 3)]


def test_team__only_some_threads_and_one_in_another(archive):
    """The third thread is in the inner team alone, which the second opens while both of the outer one wait for nobody.

    0     0 fork 1 begin(7)                                     80 [barrier ]90  91 end  95 join
    100        5 begin(7)  10 fork 11 begin(8) 40 [barrier ]45 50 end 60 join  82 [barrier ]91 92 end
    200                               20 begin(8)  42 [barrier ]44 55 end
    """
    a = archive(3)
    a.fork(0, 0), a.begin(0, 1), a.barrier(0, 80, 90), a.end(0, 91), a.join(0, 95)
    a.begin(100, 5), a.fork(100, 10), a.begin(100, 11, INNER), a.barrier(100, 40, 45), a.end(100, 50, INNER), a.join(100, 60)
    a.barrier(100, 82, 91), a.end(100, 92)
    a.begin(200, 20, INNER), a.barrier(200, 42, 44), a.end(200, 55, INNER)
    trace = a.trace()
    assert [f"{where} {routine}" for where, routine, *_ in calls(trace)] == [
        *("0 omp_fork", "0 omp_barrier", "0 omp_join"),
        *("1 omp_idle", "1 omp_fork", "1 omp_barrier", "1 omp_join", "1 omp_barrier", "1 omp_idle"),
        *("2 omp_idle", "2 omp_barrier", "2 omp_idle"),
    ]
    assert links(trace) == [("fork", 0, 3), ("fork", 4, 9), ("join", 8, 2), ("join", 11, 6)]
    assert (barriers(trace), trace.counts.untied_waits) == ([[1, 7], [5, 10]], 0)


def test_team__records_missing(archive):
    """No fork: the idle call of the worker is untied, and so are the barriers of its team. A team that never ends: no join."""
    a = archive()
    a.begin(100, 15), a.barrier(100, 50, 55), a.end(100, 65)
    a.inside(0, 0, 80, "main", paradigm=USER)
    trace = a.trace()
    assert (links(trace), barriers(trace), trace.counts.untied_waits) == ([], [], 2)
    b = archive()
    b.fork(0, 10), b.begin(0, 12), b.end(0, 60), b.join(0, 70)
    b.begin(100, 15)
    b.folder += "b"
    trace = b.trace()
    assert (links(trace), trace.counts.untied_waits, len(trace.defects)) == ([("fork", 0, 2)], 1, 1)


def test_team__begun_twice_after_one_fork(archive):
    """The fork between is missing: the second beginning is untied. The first worker never ends, which is not the end of the second."""
    a = archive(3)
    a.fork(0, 10), a.begin(0, 12), a.end(0, 60), a.join(0, 70)
    a.begin(100, 15)
    a.begin(200, 16), a.end(200, 20), a.begin(200, 30), a.end(200, 40)
    trace = a.trace()
    assert [row[:2] for row in calls(trace)] == [(0, "omp_fork"), (0, "omp_join"), (1, "omp_idle"), *[(2, "omp_idle")] * 3]
    assert links(trace) == [("fork", 0, 2), ("fork", 0, 3), ("join", 4, 1)]
    assert trace.counts.untied_waits == 2


def test_team__a_barrier_that_contradicts_the_clock(archive):
    """One leaves before the other enters: they did not wait for each other, whatever the records say."""
    a = archive()
    a.fork(0, 10), a.begin(0, 12), a.barrier(0, 30, 40), a.barrier(0, 50, 60), a.end(0, 60), a.join(0, 70)
    a.begin(100, 15), a.barrier(100, 45, 46), a.barrier(100, 55, 61), a.end(100, 65)
    trace = a.trace()
    assert (barriers(trace), trace.counts.untied_waits) == ([[2, 6]], 2)


def test_locks(archive):
    """In the order of the lock, which is not that of the threads: 0 has it, then 100, then 0 again; MPI under it is a call of its own.

    0    10 [critical  12 had] 13 [MPI_Send ]20 25 released ]26     30 [critical  60 had] 61 released ]62
    100             11 [critical             28 had]  50 released ]51
    """
    a = archive()
    name = "!$omp critical @a.c:9"
    a.enter(0, 10, name, paradigm=OPENMP, role=CRITICAL)
    a.lock(0, 12, "Acquire", 1), a.call(0, "MPI_Send", 13, 20), a.lock(0, 25, "Release", 1)
    a.leave(0, 26, name)
    for where, enter, had, released, order in ((100, 11, 28, 50, 2), (0, 30, 60, 61, 3)):
        a.enter(where, enter, name)
        a.lock(where, had, "Acquire", order), a.lock(where, released, "Release", order)
        a.leave(where, released + 1, name)
    trace = a.trace()
    assert calls(trace) == [
        *((0, "omp_critical", 0, 2), (0, "MPI_Send", 3, 10), (0, "omp_release", 15, 15)),
        *((0, "omp_critical", 20, 50), (0, "omp_release", 51, 51), (1, "omp_critical", 1, 18), (1, "omp_release", 40, 40)),
    ]
    assert (links(trace), trace.counts.untied_waits) == ([("lock", 2, 5), ("lock", 6, 3)], 0)


def test_locks__routines_other_locks_and_who_releases(archive):
    """A lock set by one thread and unset by another; another lock and one of pthreads of the same number have orders of their own."""
    a = archive()
    a.inside(0, 0, 5, "omp_set_lock", work=[(4, "ThreadAcquireLock", MODEL, 3, 7)])
    a.inside(100, 10, 12, "omp_unset_lock", work=[(11, "ThreadReleaseLock", MODEL, 3, 7)])
    a.lock(0, 20, "Acquire", 8, lock=3), a.lock(0, 21, "Acquire", 8, lock=4), a.lock(0, 22, "Acquire", 8, lock=3, model=c.Paradigm(PTHREAD))
    a.lock(0, 23, "Release", 8, lock=3, model=c.Paradigm(PTHREAD))
    trace = a.trace()
    assert calls(trace) == [
        *((0, "omp_lock", 0, 4), (0, "omp_lock", 20, 20), (0, "omp_lock", 21, 21)),
        *((0, "pthread_mutex_lock", 22, 22), (0, "pthread_release", 23, 23), (1, "omp_release", 10, 12)),
    ]
    assert (links(trace), trace.counts.untied_waits) == ([("lock", 5, 1)], 0)
    assert trace.calls.tag.tolist() == [0, 0, 1, 2, 2, 0]


def test_locks__records_missing_or_twice(archive):
    """The release before is missing, or there are two, or it comes too late: each acquisition is untied and counted."""
    a = archive()
    for order, time in ((1, 10), (2, 20), (3, 30), (4, 40)):
        a.lock(0, time, "Acquire", order)
    for order, time in ((2, 25), (2, 26), (3, 45)):
        a.lock(100, time, "Release", order)
    trace = a.trace()
    assert (links(trace), trace.counts.untied_waits) == ([], 3)


def test_tasks(archive):
    """0 creates two tasks; 100 runs one from its barrier, 0 the other from its taskwait, in which it also waits for the first.

    0    0 fork 1 begin 10 [create 11 1]12 13 [create 14 2]15 20 [taskwait 22 2: [work ]30 done 31 back  50] 60 [barrier ]70 72 end 75 join
    100         5 begin  6 [barrier 16 1: [work ]40 done 41 back                                                    ]71 73 end
    """
    a = archive()
    a.fork(0, 0), a.begin(0, 1)
    for start, generation in ((10, 1), (13, 2)):
        a.inside(0, start, start + 2, "!$omp create task @a.c:7", CREATE_TASK, work=[(start + 1, "ThreadTaskCreate", TEAM, 0, generation)])
    a.enter(0, 20, "!$omp taskwait @a.c:8", paradigm=OPENMP, role=TASK_WAIT)
    a.task(0, 22, "Switch", 2), a.inside(0, 22, 30, "work", paradigm=USER), a.task(0, 30, "Complete", 2), a.task(0, 31, "Switch", 0)
    a.leave(0, 50, "!$omp taskwait @a.c:8")
    a.barrier(0, 60, 70), a.end(0, 72), a.join(0, 75)
    a.begin(100, 5)
    a.enter(100, 6, "!$omp barrier @a.c:5")
    a.task(100, 16, "Switch", 1), a.inside(100, 16, 40, "work", paradigm=USER), a.task(100, 40, "Complete", 1), a.task(100, 41, "Switch", 0)
    a.leave(100, 71, "!$omp barrier @a.c:5"), a.end(100, 73)
    trace = a.trace()
    assert calls(trace) == [
        *((0, "omp_fork", 0, 0), (0, "omp_task_create", 10, 12), (0, "omp_task_create", 13, 15)),
        *((0, "omp_task", 20, 22), (0, "omp_taskwait", 30, 50), (0, "omp_barrier", 60, 70), (0, "omp_join", 72, 75)),
        *((1, "omp_idle", 0, 5), (1, "omp_task", 6, 16), (1, "omp_barrier", 40, 71), (1, "omp_idle", 73, 73)),
    ]
    assert links(trace) == [("fork", 0, 7), ("join", 10, 6), ("task", 1, 8), ("task", 2, 3), ("taskwait", 9, 4)]
    assert (barriers(trace), trace.counts.untied_waits) == ([[5, 9]], 0)


def test_tasks__created_by_nobody(archive):
    a = archive(1)
    a.task(0, 5, "Switch", 1), a.task(0, 9, "Complete", 1)
    trace = a.trace()
    assert (calls(trace), links(trace)) == ([(0, "omp_task", 0, 0), (0, "omp_release", 4, 4)], [])
    assert trace.counts.untied_waits == 1


def test_pthreads(archive):
    """Created and waited for by number: 0 creates at 10 what begins at 20 and ends at 50, and waits for it from 30 on."""
    a = archive()
    a.inside(0, 10, 12, "pthread_create", paradigm=PTHREAD, work=[(11, "ThreadCreate", 5, 1)])
    a.inside(0, 30, 55, "pthread_join", paradigm=PTHREAD, work=[(54, "ThreadWait", 5, 1)])
    a.at(100, 20, "ThreadBegin", 5, 1), a.at(100, 50, "ThreadEnd", 5, 1)
    trace = a.trace()
    assert calls(trace) == [
        *((0, "pthread_create", 0, 2), (0, "pthread_join", 20, 45), (1, "pthread_idle", 0, 10), (1, "pthread_idle", 40, 40)),
    ]
    assert (links(trace), trace.counts.untied_waits) == ([("fork", 0, 2), ("join", 3, 1)], 0)


def test_tasks__numbered_however(archive):
    """Numbers of two tasks agree but for the team, and those of a third are as large as can be: no product of what there may be holds."""
    a, largest = archive(1), (1 << 32) - 1
    tasks = [(TEAM, 0, 1), (INNER, 0, 1), (TEAM, largest, largest)]
    for at, task in zip((10, 20, 30), tasks, strict=True):
        a.inside(0, at, at + 2, "!$omp create task @a.c:7", CREATE_TASK, work=[(at + 1, "ThreadTaskCreate", *task)])
    for at, task in zip((40, 50, 60), tasks, strict=True):
        a.at(0, at, "ThreadTaskSwitch", *task), a.at(0, at + 5, "ThreadTaskComplete", *task)
    assert [link for link in links(a.trace()) if link[0] == "task"] == [("task", 0, 3), ("task", 1, 5), ("task", 2, 7)]


@pytest.mark.parametrize("other", [2, 4_000_000_000, (1 << 63) + 5])
def test_pthreads__numbered_however(archive, other):
    """Two threads, of which the other has a number next to that of the first, far from it, or as far as can be."""
    a = archive(3)
    for number, at in ((1, 10), (other, 20)):
        a.inside(0, at, at + 2, "pthread_create", paradigm=PTHREAD, work=[(at + 1, "ThreadCreate", 5, number)])
    for place, number in ((100, other), (200, 1)):
        a.at(place, 30, "ThreadBegin", 5, number), a.at(place, 50, "ThreadEnd", 5, number)
    trace = a.trace()
    assert (links(trace), trace.counts.untied_waits) == ([("fork", 0, 4), ("fork", 1, 2)], 0)


def test_pthreads__nobody_created_the_first(archive):
    """Some recorders say that it begins and ends: it was idle for nobody, and its records stay what they are."""
    a = archive(1)
    a.at(0, 0, "ThreadBegin", 5, 0), a.call(0, "MPI_Barrier", 10, 20), a.at(0, 30, "ThreadEnd", 5, 0)
    trace = a.trace()
    assert (calls(trace), trace.counts.untied_waits, len(trace.records)) == ([(0, "MPI_Barrier", 10, 20)], 0, 2)


def test_endings__the_call_of_their_process_that_was_entered_last():
    """Threads 1 and 2 idle until 20 and 5, process 0 comes to its calls at 0, 10, 20 and 30; thread 4 idles until 45 beside process 3.

    Thread 5 idles since before its process came to anything, and nothing ties thread 6.
    """
    first = [0, 10, 20, 30], [40, 50]
    enter = np.array([*first[0], 12, 2, *first[1], 41, 30, 60])
    location = np.array([0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 6], "i4")
    op = np.full(len(enter), operations.OP["omp_idle"], "u2")
    op[location % 3 == 0] = operations.OP["MPI_Send"]
    op[-1] = operations.OP["omp_idle"]
    leave = np.array([5, 15, 25, 35, 20, 5, 45, 55, 45, 35, 70])
    process = np.array([0, 0, 0, 1, 1, 1, 1], "i4")
    tied = tables.Links.in_order(np.full(4, tables.JOIN, "u1"), np.array([4, 5, 8, 9], "i4"), np.array([3, 3, 7, 7], "i4"))
    ends = endings(location, op, enter, leave, process, tied)
    assert [ends.kind.tolist(), ends.cause.tolist(), ends.effect.tolist()] == [[tables.END] * 3, [2, 0, 6], [4, 5, 8]]


def test_written_again(archive, tmp_path):
    """An archive of perwiz has its calls as regions, on streams too; its records of threads make no further ones."""
    a = archive()
    a.location(300, 0, kind=2)
    a.fork(0, 10), a.begin(0, 12), a.barrier(0, 30, 52), a.end(0, 60), a.join(0, 70)
    a.begin(100, 15), a.barrier(100, 50, 55), a.end(100, 65)
    a.inside(300, 20, 30, "kernel", paradigm=USER), a.at(300, 40, "RmaGet", 0, 0, 8, 1), a.at(300, 50, "RmaOpCompleteBlocking", 0, 1)
    trace = a.trace()
    assert [row for row in calls(trace) if row[0] == 2] == [(2, "device_idle", *times) for times in ((0, 10), (20, 30), (40, 40))]
    assert trace.names == ("kernel", "copy to device")
    path = str(tmp_path / "again.otf2")
    write(trace, path)
    again = Builder(recorded(path), path).trace()
    assert (calls(again), again.names, again.records) == (calls(trace), trace.names, trace.records)


def test_teams_by_regions_alone(archive):
    """Where one parallel region is open as a thread begins in a team, it is in that one; where two are, nobody knows.

    So a barrier of one thread may have had others in it: it is untied.
    """
    a = archive(4)
    parallel, implicit = "!$omp parallel@0x4021", "!$omp implicit_task"
    a.enter(0, 0, parallel, paradigm=OPENMP, role=0)
    a.enter(0, 5, implicit, paradigm=OPENMP, role=5)
    a.inside(100, 10, 30, implicit)
    a.enter(0, 40, "!$omp parallel@0x4024", paradigm=OPENMP, role=0)
    a.inside(200, 50, 60, implicit)
    a.inside(0, 50, 55, implicit)
    a.leave(0, 70, "!$omp parallel@0x4024")
    a.inside(300, 75, 77, implicit)
    a.barrier(0, 76, 78)
    a.leave(0, 78, implicit)
    a.leave(0, 80, parallel)
    trace = a.trace()
    assert calls(trace) == [
        *((0, "omp_fork", 0, 0), (0, "omp_fork", 40, 40), (0, "omp_join", 55, 70)),
        *((0, "omp_barrier", 76, 78), (0, "omp_join", 78, 80)),
        *((1, "omp_idle", 0, 10), (1, "omp_idle", 30, 30), (2, "omp_idle", 0, 50), (2, "omp_idle", 60, 60)),
        *((3, "omp_idle", 0, 75), (3, "omp_idle", 77, 77)),
    ]
    assert links(trace) == [("fork", 0, 5), ("fork", 0, 9), ("join", 6, 4), ("join", 10, 4)]
    assert (barriers(trace), trace.counts.untied_waits) == ([], 2)


ROUTINES = {
    ("!$omp barrier @a.c:5", OPENMP, BARRIER): "omp_barrier",
    ("!$omp implicit barrier @a.c:5", OPENMP, IMPLICIT_BARRIER): "omp_implicit_barrier",
    ("!$omp wait_barrier", OPENMP, IMPLICIT_BARRIER): "omp_barrier",
    ("!$omp critical @a.c:5", OPENMP, CRITICAL): "omp_critical",
    ("!$omp wait_nest_lock", OPENMP, CRITICAL): "omp_lock",
    ("!$omp ordered @a.c:5", OPENMP, ORDERED): "omp_ordered",
    ("!$omp create task @a.c:5", OPENMP, CREATE_TASK): "omp_task_create",
    ("!$omp taskwait @a.c:5", OPENMP, TASK_WAIT): "omp_taskwait",
    ("!$omp taskgroup @a.c:5", OPENMP, TASK_WAIT): None,
    ("!$omp atomic @a.c:5", OPENMP, ATOMIC): None,
    ("!$omp for @a.c:5", OPENMP, 3): None,
    ("omp_set_lock", OPENMP, 2): "omp_lock",
    ("omp_unset_nest_lock", OPENMP, 2): "omp_release",
    ("omp_test_lock", OPENMP, 2): None,
    ("pthread_mutex_lock", PTHREAD, 2): "pthread_mutex_lock",
    ("pthread_mutex_unlock", PTHREAD, 2): "pthread_release",
    ("pthread_self", PTHREAD, 2): None,
    ("omp_set_lock", USER, BARRIER): None,
}


@pytest.mark.parametrize(("region", "name"), ROUTINES.items())
def test_routine(region, name):
    op = routine(*region)
    assert (None if op < 0 else operations.OPS[op]) == name


RECORDS = [
    *(("Fork", "Thread"), ("Join", "Thread"), ("begin", ""), ("end", ""), ("Acquire", "lock"), ("Release", "lock")),
    *(("Create", "task"), ("Switch", "task"), ("Complete", "task")),
    *(("Create", "thread"), ("Begin", "thread"), ("Wait", "thread"), ("End", "thread")),
]
REGIONS = [
    *(("!$omp barrier @a.c:5", BARRIER), ("!$omp critical @a.c:5", CRITICAL), ("!$omp taskwait @a.c:5", TASK_WAIT), ("work", 0)),
    *(("omp_unset_lock", 0), ("!$omp parallel@0x4021", 0), ("!$omp implicit_task", 5), ("!$omp create task @a.c:5", CREATE_TASK)),
]


@st.composite
def records(draw):
    """Draw a record that makes sense by itself, not always where it stands: (location, ticks since the one before, kind, number)."""
    kinds = [*RECORDS, *((kind, region) for region in REGIONS for kind in ("Enter", "Leave"))]
    return draw(st.sampled_from([0, 100, 200])), draw(st.integers(0, 3)), draw(st.sampled_from(kinds)), draw(st.integers(0, 2))


def put(a, where, time, kind, what, number):
    """Add a drawn record to an archive."""
    if kind in ("Enter", "Leave"):
        a.at(where, time, kind, a.region(what[0], OPENMP, role=what[1]))
    elif what == "Thread":
        a.at(where, time, f"Thread{kind}", MODEL, *([2] if kind == "Fork" else []))
    elif what == "lock":
        a.lock(where, time, kind, number)
    elif what == "task":
        a.task(where, time, kind, number)
    elif what == "thread":
        a.at(where, time, f"Thread{kind}", 5, number)
    else:
        getattr(a, kind)(where, time, TEAM + number % 2)


@pytest.mark.slow
@given(st.lists(records(), min_size=1, max_size=40))
def test_whatever_is_recorded(tmp_path_factory, drawn):
    """Calls follow each other, links and barriers agree with the clock, and the run unchanged is the recorded one in both engines."""
    a, time = Program(tmp_path_factory.mktemp("a") / "t", 1, 3, world=False), 0
    for where, ticks, (kind, what), number in drawn:
        time += ticks
        put(a, where, time, kind, what, number)
    trace = a.trace()
    enter, leave = trace.timeline.calls.enter, trace.timeline.calls.leave
    assert (enter <= leave).all()
    same = trace.calls.location[1:] == trace.calls.location[:-1]
    assert (leave[:-1] <= enter[1:])[same].all()
    assert (enter[trace.links.cause] <= leave[trace.links.effect]).all()
    for calls_of in barriers(trace):
        assert enter[calls_of].max() <= leave[calls_of].min()
    run = replayed(trace, load("default"), "none", [])
    measured, weighted = run.trace.timeline, run.weighted
    for engine in (sweep, replay):
        again = timeline_of(weighted, engine(weighted.graph, weighted.weight), "measured")
        assert (again.calls, again.regions, again.locations) == (measured.calls, measured.regions, measured.locations)
