"""Threads of recorded runs, written by hand as the recorder would: teams, barriers, locks and tasks, and what nobody can know."""

import json

import pytest

from perwiz.formats.recorded import read as recorded
from perwiz.trace import defects, operations
from perwiz.trace.tables import LINKS
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict
from recorded_runs import OPERATIONS, RECEIVES, SENDS, Run, call

REGION = {"region": 0, "parallel": False, "placed": True, "name": "omp parallel"}
MODULE = {"module": "/app", "bias": 0, "build_id": "b", "begin": 0, "end": 4096}


def at(name, enter, leave=None, number=0, **more):
    """A record of a team, task or lock of this number."""
    return call(name, enter, enter if leave is None else leave, request=number, **more)


def shown(trace):
    """Return per location its calls: routine, entered, returned."""
    times = trace.timeline.calls
    rows = zip(trace.calls.location.tolist(), trace.calls.op.tolist(), times.enter.tolist(), times.leave.tolist(), strict=True)
    out = [[] for _ in range(len(trace.locations))]
    for location, op, enter, leave in rows:
        out[location].append((operations.OPS[op].removeprefix("omp_"), enter, leave))
    return out


def links(trace):
    found = sorted(zip(*(getattr(trace.links, name).tolist() for name in ("kind", "cause", "effect")), strict=True))
    return [(LINKS[kind], cause, effect) for kind, cause, effect in found]


@pytest.fixture
def read(tmp_path):
    """Return read(records of each thread): the trace of a process that begins at 1000, which both engines replay to the nanosecond."""

    def made(first, *others, more=(), places=()):
        run = Run(tmp_path / "run", 1)
        run.process(0, first, (), more, others, threads=True)
        (run.path / "sites.json").write_text(json.dumps([{"module": "/app", "build_id": "b", "places": dict(places)}]))
        trace = recorded.read(str(run.path))
        check(trace)
        for engine in ("sweep", "replay"):
            prediction = predict(trace, [], engine=engine)
            assert prediction.predicted.calls == prediction.recorded.calls
        return trace

    return made


def test_team__idle_outside_of_it(read):
    """The worker is told at 1900 of the end at 1600; its file says that it was idle from its own begin, 1190, on."""
    first = [at("omp_fork", 1100, 1110, 1), at("omp_implicit_barrier", 1500, 1620, 1), at("omp_join", 1620, 1630, 1)]
    first += [
        at("omp_fork", 1890, 1895, 2),
        at("omp_implicit_barrier", 2000, 2010, 2),
        at("omp_join", 2010, 2020, 2),
        call("MPI_Unknown", 2050, 2060),
    ]
    worker = [at("omp_idle", 1190, 1200, 1), at("omp_implicit_barrier", 1600, 1900, 1), at("omp_idle", 1900, 1901, 2)]
    worker += [at("omp_implicit_barrier", 1950, 1955, 2), at("omp_idle", 1955, 2070)]
    trace = read(first, worker)
    assert shown(trace) == [
        [
            *(("fork", 100, 110), ("implicit_barrier", 500, 620), ("join", 620, 630)),
            *(("fork", 890, 895), ("implicit_barrier", 1000, 1010), ("join", 1010, 1020), ("MPI_other", 1050, 1060)),
        ],
        [("idle", 0, 200), ("implicit_barrier", 600, 600), ("idle", 600, 901), ("implicit_barrier", 950, 1000), ("idle", 1000, 1050)],
    ]
    assert links(trace) == [("fork", 0, 7), ("fork", 3, 9), ("join", 9, 2), ("join", 11, 5), ("end", 6, 11)]
    assert (trace.collectives.comm.tolist(), trace.collectives.first_member.tolist()) == ([-1, -1], [0, 2])
    assert (trace.members.call.tolist(), trace.members.done.tolist()) == ([1, 8, 4, 10], [1, 8, 4, 10])
    assert (trace.timeline.locations.enter.tolist(), trace.timeline.locations.leave.tolist()) == ([0, 0], [1060, 1050])
    assert (trace.counts.unmatched_collectives, trace.counts.incomplete_collectives, trace.counts.lacking) == (0, 0, {})


def test_barriers__by_their_number_in_the_team(read):
    """Of one team both threads come to the first barrier, then to the second, at whatever time."""
    first = [at("omp_fork", 1000, 1010, 7), at("omp_barrier", 1100, 1200, 7), at("omp_barrier", 1210, 1300, 7)]
    first += [at("omp_implicit_barrier", 1310, 1320, 7), at("omp_join", 1320, 1320, 7)]
    worker = [at("omp_idle", 1000, 1020, 7), at("omp_barrier", 1200, 1205, 7, site=100), at("omp_barrier", 1290, 1300, 7)]
    worker += [at("omp_implicit_barrier", 1310, 1310, 7), at("omp_idle", 1310, 1330)]
    trace = read(first, worker, more=[MODULE], places={100: "a.c:5 f"}.items())
    assert trace.members.call.tolist() == [1, 6, 2, 7, 3, 8]
    assert [trace.site[call] for call in (1, 6, 2)] == [0, 0, -1]
    assert trace.sites == ("a.c:5 f",)


def test_barriers__of_other_routines_stay_apart(read):
    """Where records are missing, what one thread calls a barrier is another's end of a loop: no instance, and it is told."""
    first = [
        at("omp_fork", 1000, 1010, 1),
        at("omp_barrier", 1100, 1200, 1),
        at("omp_implicit_barrier", 1310, 1320, 1),
        at("omp_join", 1320, 1320, 1),
    ]
    worker = [
        at("omp_idle", 1000, 1020, 1),
        at("omp_implicit_barrier", 1190, 1200, 1),
        at("omp_implicit_barrier", 1300, 1310, 1),
        at("omp_idle", 1320, 1330),
    ]
    trace = read(first, worker)
    assert trace.members.call.tolist() == [2, 6]
    assert trace.counts.unmatched_collectives == 2


def test_lock__handed_over(read):
    """In the order in which they had it, not in which they asked. The second has it at 1250; the first tells of its release at 1255."""
    first = [
        at("omp_fork", 1000, 1010, 1),
        at("omp_critical", 1100, 1101, 9),
        at("omp_release", 1255, 1255, 9),
        at("omp_critical", 1260, 1400, 9),
    ]
    first += [at("omp_release", 1450, 1450, 9), at("omp_implicit_barrier", 1500, 1501, 1), at("omp_join", 1501, 1501, 1)]
    worker = [at("omp_idle", 1000, 1020, 1), at("omp_critical", 1090, 1250, 9), at("omp_release", 1390, 1390, 9)]
    worker += [
        at("omp_critical", 1391, 1391, 8),
        at("omp_release", 1392, 1392, 8),
        at("omp_implicit_barrier", 1480, 1480, 1),
        at("omp_idle", 1480, 1510),
    ]
    trace = read(first, worker)
    assert [link for link in links(trace) if link[0] == "lock"] == [("lock", 2, 8), ("lock", 9, 3)]
    assert shown(trace)[0][2] == ("release", 250, 250)


def test_lock__released_by_another_thread(read):
    """The first thread has lock 9 from 1100 on; the second, which waits for it no more than the third, gives it back at 1200."""
    first = [at("pthread_mutex_lock", 1100, 1101, 9)]
    second = [at("pthread_idle", 1000, None, 1), at("pthread_release", 1200, None, 9), at("pthread_release", 1290, None, 8)]
    third = [at("pthread_idle", 1000, None, 2), at("pthread_mutex_lock", 1110, 1210, 9), at("pthread_mutex_lock", 1250, 1300, 8)]
    assert [link for link in links(read(first, second, third)) if link[0] == "lock"] == [("lock", 2, 5), ("lock", 3, 6)]


def test_lock__which_it_is(tmp_path):
    """Each process has locks of its own, whatever they are called; numbers are in order of first occurrence."""
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        calls = [at("omp_critical", 1000, 1010, 9), at("omp_release", 1020, None, 9), at("omp_critical", 1030, 1031, 8 + rank)]
        run.process(rank, [*calls, at("omp_release", 1040, None, 8 + rank), at("omp_task_create", 1050, None, 4)], threads=True)
    trace = recorded.read(str(run.path))
    assert trace.calls.tag.tolist() == [0, 0, 1, 1, -1, 2, 2, 2, 2, -1]


def test_messages__of_threads_in_order_of_time(tmp_path):
    """Rank 0's second thread sends 16 bytes before the first sends 8, and so they come; back likewise, as the threads have posted."""

    def send(enter, leave, size, to):
        return call("MPI_Send", enter, leave, peer=to, tag=5, comm=0, bits=SENDS, sent=size)

    def receive(enter, leave, size, source):
        return call("MPI_Recv", enter, leave, peer=source, tag=5, comm=0, bits=RECEIVES, received=size)

    run = Run(tmp_path / "run", 2)
    others = [[send(1050, 1060, 16, 1), receive(1220, 1410, 16, 1)]]
    run.process(0, [send(1100, 1110, 8, 1), receive(1230, 1420, 8, 1)], others=others, threads=True)
    calls = [receive(1010, 1060, 16, 0), receive(1070, 1110, 8, 0), send(1400, 1410, 16, 0), send(1410, 1420, 8, 0)]
    run.process(1, calls, threads=True)
    trace = recorded.read(str(run.path))
    messages = trace.messages
    assert (messages.send.tolist(), messages.receive.tolist(), messages.bytes.tolist()) == ([0, 2, 6, 7], [5, 4, 3, 1], [8, 16, 16, 8])
    assert trace.counts.size_differs == 0


def test_tasks__created_done_and_waited_for(read):
    """Task 4 creates 8 and 12; the worker does 8 while it waits at the barrier, its creator 12 and then waits for both."""
    create, done = (
        (lambda time, task: at("omp_task_create", time, None, task, received=4, site=200)),
        (lambda time, task: at("task end", time, None, task)),
    )
    first = [at("omp_fork", 1000, 1010, 1), create(1100, 8), create(1110, 12), at("omp_task", 1120, 1121, 12), done(1300, 12)]
    first += [at("omp_taskwait", 1300, 1405, 4), at("omp_implicit_barrier", 1450, 1451, 1), at("omp_join", 1451, 1451, 1)]
    worker = [
        at("omp_idle", 1000, 1020, 1),
        at("omp_task", 1030, 1130, 8),
        done(1400, 8),
        at("omp_implicit_barrier", 1400, 1452, 1),
        at("omp_idle", 1452, 1452),
    ]
    trace = read(first, worker, more=[MODULE], places={200: "a.c:7 f"}.items())
    assert [link for link in links(trace) if link[0].startswith("task")] == [("task", 1, 9), ("taskwait", 10, 5)]
    assert shown(trace)[1][1:] == [("task", 30, 130), ("release", 400, 400), ("implicit_barrier", 400, 450), ("idle", 450, 451)]
    assert (trace.sites, [trace.site[call] for call in (3, 9)]) == (("a.c:7 f",), [0, 0])
    assert trace.calls.bytes_received.sum() == 0


@pytest.mark.parametrize(("since", "waited"), [(1095, [("taskwait", 10, 5)]), (1105, [])], ids=["in the group", "before it"])
def test_task_group__waits_for_all_made_in_it(read, since, waited):
    """Task 8 of task 4 creates 16, which the worker does: the group of 4 waits for that if 8 was made since the group began."""
    first = [at("omp_fork", 1000, 1010, 1), at("omp_task_create", 1100, None, 8, received=4), at("omp_task", 1110, 1111, 8)]
    first += [
        at("omp_task_create", 1120, None, 16, received=8),
        at("task end", 1200, None, 8),
        at("omp_taskwait", 1200, 1405, 4, sent=since),
    ]
    first += [at("omp_implicit_barrier", 1450, 1451, 1), at("omp_join", 1451, 1451, 1)]
    worker = [
        at("omp_idle", 1000, 1020, 1),
        at("omp_task", 1030, 1130, 16),
        at("task end", 1400, None, 16),
        at("omp_implicit_barrier", 1400, 1450, 1),
    ]
    trace = read(first, [*worker, at("omp_idle", 1452, 1452)])
    assert [link for link in links(trace) if link[0] == "taskwait"] == waited


@pytest.mark.parametrize(("arrives", "told", "left"), [(1310, 1500, 310), (1290, 1291, 300)], ids=["told late", "told early"])
def test_region__named_by_its_place(read, arrives, told, left):
    """It lies around the barrier at its end, whose end, of a worker, is when all have arrived, not when the worker is told."""
    begin, done = at("begin", 1010, None, 1, peer=0, site=300), at("end", 1330, None)
    first = [at("omp_fork", 1000, 1010, 1), begin, at("omp_implicit_barrier", 1300, 1320, 1), done, at("omp_join", 1330, 1330, 1)]
    worker = [at("omp_idle", 1000, 1020, 1), at("begin", 1020, None, 1, peer=0, site=301), at("omp_implicit_barrier", arrives, told, 1)]
    worker += [at("end", told), at("omp_idle", told, 1500)]
    trace = read(first, worker, more=[REGION, MODULE], places={300: "a.c:7 f", 301: "app+0x9 g"}.items())
    assert trace.names == ("omp parallel a.c:7", "omp parallel g")
    assert (trace.timeline.regions.enter.tolist(), trace.timeline.regions.leave.tolist()) == ([10, 20], [330, left])


def test_killed__as_far_as_it_goes(read):
    """The program ends in its second team, which never ends: the worker is still idle, and nothing joins the first team."""
    first = [
        at("omp_fork", 1000, 1010, 1),
        at("omp_implicit_barrier", 1300, 1320, 1),
        at("omp_join", 1320, 1321, 1),
        at("omp_fork", 1400, 1410, 2),
    ]
    worker = [at("omp_idle", 1000, 1020, 1), at("omp_implicit_barrier", 1310, 1320, 1), at("omp_idle", 1320, 0)]
    trace = read(first, worker)
    assert links(trace) == [("fork", 0, 4)]
    assert (trace.defects.reason.tolist(), trace.defects.location.tolist()) == ([defects.NEVER_ENDS] * 2, [0, 1])


def test_damaged__numbers_of_nobody(read):
    """Joins, releases, tasks and their ends that belong to nothing make no link."""
    first = [at("omp_join", 1000, 1010, 5), at("omp_release", 1020, None, 6), at("omp_task", 1030, 1040, 7), at("task end", 1050, None, 7)]
    first += [at("omp_taskwait", 1060, 1070, -3), at("task end", 1080, None, 99), at("omp_idle", 1090, 1100, 12)]
    trace = read(first, [at("omp_idle", 1000, 1001, 1)])
    assert links(trace) == []


def test_posix__created_and_joined(read):
    """There since its process began, idle until it is created; joined when it has ended."""
    first = [at("pthread_create", 1100, 1120, 1), at("pthread_join", 1200, 1420, 1), call("MPI_Unknown", 1500, 1510)]
    trace = read(first, [at("pthread_idle", 1150, None, 1), at("pthread_idle", 1400, None, 1)])
    assert shown(trace)[1] == [("pthread_idle", 0, 150), ("pthread_idle", 400, 400)]
    assert links(trace) == [("fork", 0, 3), ("join", 4, 1)]
    assert (trace.timeline.locations.enter.tolist(), trace.timeline.locations.leave.tolist()) == ([0, 0], [510, 400])


@pytest.mark.parametrize(
    ("for_all", "woken"),
    [(0, [("signal", 0, 5), ("signal", 1, 7), ("signal", 3, 9)]), (1, [("signal", 0, 5), ("signal", 0, 7), ("signal", 3, 9)])],
    ids=["one each", "for all"],
)
def test_posix__signals(read, for_all, woken):
    """Three wait for condition 50 from 1010, 1020 and 1080 on, signals come at 1030, 1050 and 1090; one more, at 1060, is for 51."""
    first = [at("pthread_cond_signal", 1030, None, 50, sent=for_all), at("pthread_cond_signal", 1050, None, 50)]
    first += [at("pthread_cond_signal", 1060, None, 51), at("pthread_cond_signal", 1090, None, 50)]
    waits = [(1010, 1100), (1020, 1110), (1080, 1120)]
    others = [[at("pthread_idle", 1000, None, k), at("pthread_cond_wait", *wait, 60 + k, sent=50)] for k, wait in enumerate(waits)]
    trace = read(first, *others)
    assert [link for link in links(trace) if link[0] == "signal"] == woken


def test_posix__a_wait_has_its_mutex_again(read):
    """The first had mutex 9 until 1010, waits without it while the second has it, from 1020 to 1060, and has it again at 1070."""
    first = [at("pthread_mutex_lock", 1000, None, 9), at("pthread_release", 1010, None, 9), at("pthread_cond_wait", 1010, 1070, 9, sent=50)]
    second = [at("pthread_idle", 1000, None, 1), at("pthread_mutex_lock", 1005, 1020, 9), at("pthread_cond_signal", 1050, None, 50)]
    trace = read(first, [*second, at("pthread_release", 1060, None, 9)])
    assert links(trace) == [("lock", 1, 4), ("lock", 6, 2), ("signal", 5, 2)]


def test_posix__rounds_of_a_barrier(read):
    """A barrier of two that three threads come to, at 1000 1010, 1020 1030, 1040 1050; of another nobody is told that he was the one."""

    def waits(enter, leave, one=0, barrier=70):
        return at("pthread_barrier_wait", enter, leave, barrier, sent=one)

    second = [at("pthread_idle", 1000, None, 1), waits(1010, 1011), waits(1020, 1031), waits(1040, 1051)]
    third = [at("pthread_idle", 1000, None, 2), waits(1030, 1031, 1), waits(1050, 1051, 1), waits(1060, 1061, 0, 71)]
    trace = read([waits(1000, 1011, 1)], second, third)
    assert (trace.members.collective.tolist(), trace.members.call.tolist()) == ([0, 0, 1, 1, 2, 2], [0, 2, 3, 6, 4, 7])
    assert trace.counts.unmatched_collectives == 1


def test_tasks__that_need_others(read):
    """Task 12 needs 8, which the worker does until 1400; it begins then, which is told at 1410."""
    first = [
        at("omp_fork", 1000, 1010, 1),
        at("omp_task_create", 1100, None, 8, received=4),
        at("omp_task_create", 1110, None, 12, received=4),
    ]
    first += [at("task needs", 1110, None, 12, received=8), at("task needs", 1110, None, 12, received=99), at("omp_task", 1120, 1400, 12)]
    first += [at("task end", 1440, None, 12), at("omp_implicit_barrier", 1450, 1451, 1), at("omp_join", 1451, 1451, 1)]
    worker = [
        at("omp_idle", 1000, 1020, 1),
        at("omp_task", 1030, 1130, 8),
        at("task end", 1410, None, 8),
        at("omp_implicit_barrier", 1420, 1450, 1),
    ]
    trace = read(first, [*worker, at("omp_idle", 1450, 1450)])
    assert [link for link in links(trace) if link[0] == "taskwait"] == [("taskwait", 9, 3)]
    assert shown(trace)[1][2] == ("release", 400, 400)


def test_tasks__that_move(read):
    """Untied task 8 is left at 1200 and goes on with the worker from 1220 to 1300; the taskwait waits for that."""
    first = [at("omp_fork", 1000, 1010, 1), at("omp_task_create", 1100, None, 8, received=4), at("omp_task", 1110, 1111, 8)]
    first += [at("task end", 1200, None, 8), at("omp_taskwait", 1200, 1310, 4)]
    first += [at("omp_implicit_barrier", 1450, 1451, 1), at("omp_join", 1451, 1451, 1)]
    worker = [at("omp_idle", 1000, 1020, 1), at("omp_task", 1030, 1220, 8), at("task end", 1300, None, 8)]
    trace = read(first, [*worker, at("omp_implicit_barrier", 1300, 1450, 1), at("omp_idle", 1452, 1452)])
    assert [link for link in links(trace) if link[0].startswith("task")] == [("task", 1, 8), ("task", 3, 8), ("taskwait", 9, 4)]


def _rich():
    """Two teams with a barrier, a lock, tasks and regions; per thread its records."""
    begin, end = at("begin", 1010, None, 1, peer=0), at("end", 1600)
    first = [at("omp_fork", 1000, 1010, 1), begin, at("omp_critical", 1020, 1021, 9), at("omp_release", 1040, None, 9)]
    first += [at("omp_barrier", 1100, 1200, 1), at("omp_task_create", 1210, None, 8, received=4), at("omp_taskwait", 1220, 1400, 4)]
    first += [at("omp_implicit_barrier", 1500, 1600, 1), end, at("omp_join", 1610, 1620, 1), at("omp_fork", 1700, 1710, 2)]
    first += [at("omp_implicit_barrier", 1800, 1810, 2), at("omp_join", 1810, 1820, 2), call("MPI_Unknown", 1850, 1860)]
    second = [at("omp_idle", 1000, 1015, 1), at("begin", 1015, None, 1, peer=0), at("omp_critical", 1019, 1041, 9)]
    second += [
        at("omp_release", 1060, None, 9),
        at("omp_barrier", 1200, 1201, 1),
        at("omp_task", 1230, 1240, 8),
        at("task end", 1390, None, 8),
    ]
    second += [at("omp_implicit_barrier", 1390, 1600, 1), at("end", 1600), at("omp_idle", 1600, 1712, 2)]
    return first, [*second, at("omp_implicit_barrier", 1805, 1806, 2), at("omp_idle", 1806, 1900)]


@pytest.mark.parametrize("thread", [0, 1])
@pytest.mark.parametrize("missing", range(14))
def test_missing__any_record(read, thread, missing):
    """Whatever record a runtime does not tell, the rest is read and replayed to the nanosecond."""
    threads = list(_rich())
    threads[thread] = [record for row, record in enumerate(threads[thread]) if row != missing]
    trace = read(*threads, more=[REGION])
    assert len(trace.calls) == sum(OPERATIONS[record["op"]] not in ("begin", "end") for records in threads for record in records)


@pytest.mark.parametrize(("missing", "found"), [(4, (1, 2)), (7, (1, 0)), (5, (0, 0))], ids=["barrier", "implicit barrier", "task"])
def test_missing__a_barrier_that_not_all_came_to(read, missing, found):
    """The team has two threads; the records of the second are missing, one at a time. Of barriers the second is then the first."""
    first, second = _rich()
    trace = read(first, second[:missing] + second[missing + 1 :], more=[REGION])
    counts = trace.counts
    assert (counts.incomplete_collectives, counts.unmatched_collectives) == found


@pytest.mark.parametrize(("ends", "found"), [(True, []), (False, [0])], ids=["ends", "does not"])
def test_alone__without_mpi(tmp_path, ends, found):
    """A process without MPI says by its last call that it has ended: until then its thread is idle."""
    run = Run(tmp_path / "run", 1)
    first = [at("omp_fork", 1000, 1010, 1), at("omp_implicit_barrier", 1100, 1110, 1), at("omp_join", 1110, 1120, 1)]
    worker = [at("omp_idle", 1000, 1020, 1), at("omp_implicit_barrier", 1090, 1110, 1), at("omp_idle", 1110, 1310)]
    run.process(0, [*first, at("process_end", 1300)] if ends else first, others=[worker], threads=True, mpi="")
    trace = recorded.read(str(run.path))
    check(trace)
    assert trace.defects.location.tolist() == found
    assert trace.timeline.locations.leave.tolist() == ([300, 300] if ends else [120, 110])
    assert "mpi" not in trace.properties
