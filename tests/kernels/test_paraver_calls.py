"""Events of Paraver to calls, regions and counters: small traces by hand."""

from __future__ import annotations

import pytest

from paraver_files import calls, links, reading, reasons
from perwiz.kernels import paraver

ONE = "1(1:1)"
TEAM = "1(3:1)"


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def events(*told, thread=1, task=1):
    """Return lines of events of a thread, given as (time, type, value, ...)."""
    return "".join(f"2:1:1:{task}:{thread}:{time}:{':'.join(map(str, pairs))}\n" for time, *pairs in told)


def test_calls__one_after_the_other():
    """A routine that is not known is one of MPI that is not known; an event that is none of a routine is kept."""
    trace = reading(events((5, 50000003, 31), (7, 50000003, 0), (7, 50000003, 9999), (9, 50000003, 0), (9, 777, 3)), ONE)
    assert calls(trace) == [(0, "MPI_Init", 5, 7), (0, "MPI_other", 7, 9)]
    assert (trace.texts, trace.values.tolist(), trace.records.call.tolist()) == (("777",), [3], [2])


def test_calls__inside_others_are_counted():
    trace = reading(events((5, 50000005, 141), (6, 50000001, 1), (7, 50000001, 0), (9, 50000005, 0)), ONE)
    assert (calls(trace), trace.counts.internal_calls) == ([(0, "MPI_File_open", 5, 9)], 1)


def test_calls__that_do_not_end():
    """The next call of the same type ends the one before; the last ends with its location. Neither is silent."""
    trace = reading(events((5, 50000001, 1), (8, 50000001, 1), (9, 60000019, 4), (10, 777, 1)), ONE)
    assert calls(trace) == [(0, "MPI_Send", 5, 8), (0, "MPI_Send", 8, 10)]
    assert reasons(trace) == [(-1, "state that never ends")] * 2 + [(3, "state that never ends")]


def test_calls__ends_without_begin_and_times_that_run_backwards():
    trace = reading(events((5, 50000001, 0), (8, 50000001, 1), (7, 50000001, 0), (9, 60000019, 0)), ONE)
    assert calls(trace) == [(0, "MPI_Send", 8, 8)]
    assert reasons(trace) == [
        (2, "end of a state that is not open"),
        (4, "time runs backwards on its process"),
        (5, "end of a state that is not open"),
    ]


def test_values_of_routines_that_are_none():
    """A value of a type of threads that stands for no routine is kept; a large one is no routine either."""
    trace = reading(events((5, 61000002, 77), (8, 50000001, 10**12), (9, 50000001, 0)), ONE)
    assert calls(trace) == [(0, "MPI_other", 8, 9)]
    assert trace.values.tolist() == [77]


def test_collectives():
    """Bytes, communicator and root stand behind the event of the call; those outside of calls and impossible ones say nothing."""
    body = events((1, 50100001, 4), (5, 50000002, 7, 50100001, 8, 50100002, 16, 50100003, 1, 50100004, 1), (6, 50000002, 0)) + events(
        (5, 50000002, 7, 50100001, -8, 50100002, 2**60, 50100003, 0, 50100004, 1), (7, 50000002, 0), task=2
    )
    trace = reading("c:1:1:2:1:2\n" + body)
    assert trace.calls.bytes_sent.tolist() == [8, 0]
    assert trace.calls.bytes_received.tolist() == [16, 0]
    assert (trace.collectives.root.tolist(), trace.members.call.tolist()) == ([0], [0, 1])


def test_regions__nest_and_end_what_is_inside():
    """The end of another type ends what is inside too, and says so; calls between their begin and end are theirs."""
    body = events((1, 60000019, 4), (2, 60000020, 5), (3, 50000001, 1), (4, 50000001, 0), (6, 60000019, 0), (9, 60000020, 0))
    pcf = "EVENT_TYPE\n0 60000019 User function\nVALUES\n4 solve\n0 End\nEVENT_TYPE\n0 60000119 Lines\nVALUES\n4 12 (a.c, app)\n"
    trace = reading(body, ONE, pcf=pcf)
    assert ([*trace.names], [*trace.sources]) == (["solve", "5"], ["a.c:12", ""])
    assert trace.regions.parent.tolist() == [-1, 0]
    assert [trace.timeline.regions.enter.tolist(), trace.timeline.regions.leave.tolist()] == [[1, 2], [6, 6]]
    assert [trace.regions.first_call.tolist(), trace.regions.end_call.tolist()] == [[0, 0], [1, 1]]
    assert trace.calls.path.tolist() == [1]
    assert reasons(trace) == [(6, "state that never ends"), (7, "end of a state that is not open")]


def test_counters__sum_what_was_counted_since():
    """10 before the call, 5 in it; the second counter comes first behind it."""
    body = events((1, 42000050, 4), (3, 50000001, 1, 42000050, 6), (4, 50000001, 0, 42000050, 5, 42000059, 7))
    trace = reading(body, ONE, pcf="EVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n")
    assert trace.counter_names == ("PAPI_TOT_INS", "42000059")
    assert [trace.counters.counter.tolist(), trace.counters.entered.tolist(), trace.counters.returned.tolist()] == [
        [0, 1],
        [10, 0],
        [15, 7],
    ]


def around(trace):
    """Return (region, counter, entered, left) of each counter around a region."""
    table = trace.region_counters
    return [*zip(*(column.tolist() for column in (table.region, table.counter, table.entered, table.left)), strict=True)]


def test_counters__around_regions():
    """Those read where a region begins and ends: 42000050 of the first, not 42000059; none of the second, in which only a call has it."""
    body = events((1, 60000019, 4, 42000050, 3), (2, 60000019, 5, 42000059, 1), (3, 50000001, 1, 42000050, 6))
    body += events((4, 50000001, 0, 42000050, 5), (5, 60000019, 0), (6, 60000019, 0, 42000050, 2, 42000059, 7))
    trace = reading(body, ONE)
    assert around(trace) == [(0, 0, 3, 16)]
    assert [trace.counters.call.tolist(), trace.counters.counter.tolist(), trace.counters.returned.tolist()] == [[0], [0], [14]]


def test_counters__of_a_call_that_did_not_read_them():
    """A value belongs to the call in which it was read; a call without one has none."""
    body = events((1, 50000001, 1, 42000050, 3), (2, 50000001, 0, 42000050, 4), (5, 50000001, 2), (6, 50000001, 0))
    trace = reading(body, ONE)
    assert (trace.counters.call.tolist(), trace.counters.returned.tolist()) == ([0], [7])


def test_counters__of_regions_that_begin_on_one_line():
    """No more than four have them: a line may name regions without end."""
    many = [60000019, 1] * 6
    trace = reading(events((1, *many, 42000050, 3), (2, *[60000019, 0] * 6, 42000050, 4)), ONE)
    assert around(trace) == [(region, 0, 3, 7) for region in range(paraver.COUNTED_REGIONS)]


def test_counters__those_behind_the_62nd_are_kept_as_they_are():
    body = events((3, 50000001, 1)) + "".join(events((3, 42000000 + k, k)) for k in range(64)) + events((4, 50000001, 0))
    trace = reading(body, ONE)
    assert (len(trace.counters), len(trace.records)) == (paraver.COUNTERS, 2)


def test_callers():
    """The lowest level counts: the function that called MPI, and the line in it."""
    told = (3, 50000001, 1, 70000002, 9, 80000002, 9, 70000001, 5, 80000001, 6, 70000003, 9)
    pcf = "EVENT_TYPE\n0 70000001 Caller\nVALUES\n5 exchange_a_lo.. [mod_exchange_a_long_name]\n"
    pcf += "EVENT_TYPE\n0 80000001 Line\nVALUES\n6 112 (solver.c, app)\n"
    trace = reading(events(told, (4, 50000001, 0), (5, 50000001, 1), (6, 50000001, 0)), ONE, pcf=pcf)
    assert (trace.sites, trace.site.tolist()) == (("solver.c:112 mod_exchange_a_long_name",), [0, -1])


def test_teams():
    """Extrae says when threads begin and end the function of a team; they are idle before, and from the join at 40 on.

    0: fork [5, 8] function [8, 30] barrier [30, 40] join
    1: idle [0, 9] function [9, 25] barrier [25, 40] idle, until the next begins at 50; there it waits from 55 to 70
    """
    body = events((0, 777, 1), (5, 60000001, 3), (8, 60000018, 2)) + events((9, 60000018, 2), (25, 60000018, 0), thread=2)
    body += events((30, 60000018, 0), (40, 60000001, 0), (48, 60000001, 3), (49, 60000018, 2))
    body += events((50, 60000018, 2), (55, 60000018, 0), thread=2) + events((60, 60000018, 0), (70, 60000001, 0), (80, 777, 0))
    trace = reading(body, "1(2:1)")
    assert calls(trace) == [
        (0, "omp_fork", 5, 8),
        (0, "omp_implicit_barrier", 30, 40),
        (0, "omp_join", 40, 40),
        (0, "omp_fork", 48, 49),
        (0, "omp_implicit_barrier", 60, 70),
        (0, "omp_join", 70, 70),
        (1, "omp_idle", 0, 9),
        (1, "omp_implicit_barrier", 25, 40),
        (1, "omp_idle", 40, 50),
        (1, "omp_implicit_barrier", 55, 55),
        (1, "omp_idle", 55, 55),
    ]
    assert links(trace) == [("join", 8, 2), ("join", 10, 5), ("fork", 0, 6), ("fork", 3, 8)]
    assert trace.members.call.tolist() == [1, 7, 4, 9]


def nested(second=""):
    """Return a team of 0 and 1 from 5 to 60, in which 1 opens one from 20 to 50, which 2 comes to at 25."""
    body = events((5, 60000001, 3), (8, 60000018, 2)) + events((9, 60000018, 2), (20, 60000001, 3), (22, 60000018, 7), thread=2)
    body += events((25, 60000018, 7), (40, 60000018, 0), thread=3) + second
    body += events((45, 60000018, 0), (50, 60000001, 0), (52, 60000018, 0), thread=2)
    return reading(body + events((55, 60000018, 0), (60, 60000001, 0), (70, 777, 0)), "1(4:1)")


def test_teams__inside_others():
    """2 was called by 1, and waits with it for the end of the inner team; 1 waits with 0 for that of the outer one."""
    trace = nested()
    what = {call: (where, name, enter) for call, (where, name, enter, _) in enumerate(calls(trace))}
    told = [(kind, what[cause], what[effect]) for kind, cause, effect in links(trace)]
    assert told == [
        ("join", (1, "omp_idle", 52), (0, "omp_join", 60)),
        ("fork", (0, "omp_fork", 5), (1, "omp_idle", 5)),
        ("join", (2, "omp_idle", 40), (1, "omp_join", 50)),
        ("fork", (1, "omp_fork", 20), (2, "omp_idle", 5)),
    ]
    barriers = [[what[call][:1] + what[call][2:] for call in trace.members.call[trace.members.collective == row]] for row in range(2)]
    assert barriers == [[(0, 55), (1, 52)], [(1, 45), (2, 40)]]
    assert trace.counts.untied_waits == 0


def test_teams__several_inside_another():
    """3 opens a team as well, from 24 to 48: of who comes at 25, and whom waits from 40 to 45 belong to, nobody tells."""
    second = events((10, 60000018, 2), (24, 60000001, 3), (26, 60000018, 7), (44, 60000018, 0), (48, 60000001, 0), thread=4)
    trace = nested(second + events((51, 60000018, 0), thread=4))
    assert [kind for kind, *_ in links(trace)].count("fork") == 2
    assert trace.counts.untied_waits == 5


def test_teams__tasks_in_the_barrier():
    """A thread at the end of its team runs a task from 30 to 35, then waits again, until MPI is called or the team closed."""
    body = events((5, 60000001, 3), (6, 60000018, 2), (20, 60000018, 0), (30, 60000023, 7), (35, 60000023, 0), (40, 60000001, 0))
    trace = reading(body + events((45, 60000018, 2), (50, 60000018, 0), (60, 50000001, 1), (61, 50000001, 0)), ONE)
    assert calls(trace) == [
        (0, "omp_fork", 5, 6),
        (0, "omp_taskwait", 20, 30),
        (0, "omp_implicit_barrier", 35, 40),
        (0, "omp_join", 40, 40),
        (0, "omp_implicit_barrier", 50, 60),
        (0, "MPI_Send", 60, 61),
    ]


def test_teams__a_fork_lasts_until_anything_else():
    """A call ends it, a region, or its own end, which perwiz writes; a parallel region inside a call is not kept."""
    body = events((5, 60000001, 3), (7, 50000001, 1), (8, 60000001, 3), (8, 60000001, 0), (9, 50000001, 0), (10, 60000001, 0))
    body += events((15, 60000001, 3), (17, 60000001, 3), (17, 60000001, 0), (18, 60000001, 3), (19, 60000019, 0))
    body += events((21, 60000001, 3), (23, 60000001, 0))
    trace = reading(body, ONE)
    assert calls(trace) == [
        (0, "omp_fork", 5, 7),
        (0, "MPI_Send", 7, 9),
        (0, "omp_join", 10, 10),
        (0, "omp_fork", 15, 17),
        (0, "omp_join", 17, 17),
        (0, "omp_fork", 18, 19),
        (0, "omp_fork", 21, 23),
        (0, "omp_join", 23, 23),
    ]


def test_idle_states__are_calls_of_threads_that_say_no_more():
    body = "1:1:1:1:1:0:9:0\n1:2:1:1:2:0:9:0\n1:2:1:1:2:9:9:0\n" + events((12, 777, 1), thread=2)
    trace = reading(body, "1(2:1)")
    assert calls(trace) == [(1, "omp_idle", 0, 9)]


def test_locks():
    """Named when they are had; 1 gives it back at 20, and 2 has it at 21."""
    body = events((5, 60000006, 3), (6, 60000006, 6, 60000032, 4096)) + events((8, 60000006, 3), thread=2)
    body += events((20, 60000006, 5), (20, 60000006, 0, 60000032, 0)) + events((21, 60000006, 6, 60000032, 4096), thread=2)
    body += events((30, 60000006, 5), (31, 60000006, 0), thread=2)
    trace = reading(body, "1(2:1)")
    assert calls(trace) == [
        (0, "omp_critical", 5, 6),
        (0, "omp_release", 20, 20),
        (1, "omp_critical", 8, 21),
        (1, "omp_release", 30, 31),
    ]
    assert trace.calls.tag.tolist() == [0] * 4
    assert links(trace) == [("lock", 1, 2)]


def test_devices__named_streams_and_events():
    """The second stream waits for an event in the first: its kernel begins behind that of the first."""
    told = "1:2:1:1:2:0:10:0\n1:2:1:1:2:20:60:0\n1:3:1:1:3:0:20:0\n1:3:1:1:3:30:60:0\n"
    for time, value, more in ((1, 1, ""), (3, 36, ":63000014:9:63000008:2"), (5, 38, ":63000014:9:63000008:3"), (7, 1, "")):
        told += f"2:1:1:1:1:{time}:63000000:{value}{more}\n2:1:1:1:1:{time + 1}:63000000:0\n"
    for thread, begin, launched in ((2, 10, 1), (3, 20, 7)):
        told += f"3:1:1:1:1:{launched}:{launched}:1:1:1:{thread}:{begin}:{begin}:0:1\n"
        told += f"2:{thread}:1:1:{thread}:{begin}:63000006:77\n2:{thread}:1:1:{thread}:{begin + 10}:63000006:0\n"
    body = "".join(sorted(told.splitlines(keepends=True), key=lambda line: int(line.split(":")[5])))
    trace = reading(body, "1(3:1)", row="LEVEL THREAD SIZE 3\nTHREAD 1.1.1\nGPU-D1.S1\nGPU-D1.S2\n")
    assert links(trace) == [("launch", 0, 4), ("launch", 3, 6), ("event", 5, 6)]


def test_unended__teams_and_regions():
    """A wait at the end of a team is no defect at the end of the file; an open region is one."""
    body = events((1, 60000019, 1), (2, 60000018, 2), (5, 60000018, 0), (9, 777, 1), thread=2) + events((0, 777, 1))
    trace = reading(body, "1(2:1)")
    assert calls(trace) == [(1, "omp_idle", 0, 2), (1, "omp_implicit_barrier", 5, 9), (1, "omp_idle", 9, 9)]
    assert reasons(trace) == [(-1, "state that never ends")]


def test_deep():
    """A region more than a thousand levels up is not looked for."""
    body = events((1, 60000020, 1), *((2, 60000019, 1) for _ in range(1001)), (3, 60000020, 0))
    assert (1004, "end of a state that is not open") in reasons(reading(body, ONE))
