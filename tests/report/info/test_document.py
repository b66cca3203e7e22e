"""The report of `perwiz info`: one worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses
import json

import pytest

from build import CATALOGUE, Builder, hand_model, table
from documents import valid
from perwiz.engines.sweep import sweep
from perwiz.loggps.machine import Machine, Unknown
from perwiz.report.counts import lines
from perwiz.report.info import document as overview
from perwiz.report.records import to_json
from perwiz.trace import tables
from perwiz.trace.trace import Sampled
from perwiz.whatif.health import health
from perwiz.whatif.run import replayed
from perwiz.whatif.waits import waiting


def document(trace, most=5, machine=None, counters=False):
    machine = machine or Machine(hand_model(), given=True)
    weighted = replayed(trace, hand_model(), "none").weighted
    waits = waiting(weighted, sweep(weighted.graph, weighted.weight))
    block = overview.document(trace, health(trace, weighted.graph.contradictions), waits, most, machine, None, counters)
    valid(block, "info")
    return block


def program():
    """Rank 0 solves for 100 and sends; rank 1 solves for 300, of which it waits 112 for the message and works 38 in the receive."""
    b = Builder(2)
    with b.region(0, "solve"):
        b.compute(0, 100)
    b.send(0, 1, 2000, mode="B", at=(100, 110))
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 150))
        b.compute(1, 150)
    return b.trace("run.alog")


def test_document__by_hand():
    block = valid(document(program()), "info")
    assert block.pop("health")["incomplete"] is False
    place = {"rank": 1, "thread": 0, "routine": "MPI_Recv", "region": "solve", "partner": {"call": "e0", "rank": 0, "thread": 0}}
    assert block == {
        "version": 1,
        "command": "info",
        "trace": "run.alog",
        "format": "built",
        "made_by": "measured",
        "properties": {},
        "makespan_ns": 300,
        "processes_ns": 410,
        "init_ns": 0,
        "after_init_ns": 410,
        "shares_of_ns": 300,
        "exit_ns": 0,
        "processes": 2,
        "locations": 2,
        "streams": 0,
        "communicators": [{"name": "world", "ranks": 2}],
        "calls": 2,
        "time_ns": 160,
        "waiting_ns": 112,
        "waiting_after_init_ns": 112,
        "streams_ns": 0,
        "idle_ns": 0,
        "model": "by hand",
        "unknown": [],
        "messages": {"matched": 1, "bytes": 2000},
        "collectives": 0,
        "other_records": {},
        "single_events": 0,
        "values_left_out": 0,
        "values_read": 0,
        "routines": [
            {"routine": "MPI_Recv", "calls": 1, "time_ns": 150, "init_ns": 0, "streams_ns": 0, "waiting_ns": 112, "bytes_sent": 0},
            {"routine": "MPI_Bsend", "calls": 1, "time_ns": 10, "init_ns": 0, "streams_ns": 0, "waiting_ns": 0, "bytes_sent": 2000},
        ],
        "regions": [
            {"region": "solve", "parallel": False, "instances": 2, "steps": 1, "time_ns": 400, "mean_ns": 200, "largest_ns": 300},
        ],
        "waits": [{"call": "e1", **place, "wait_ns": 112}],
        "counters": None,
    }


def test_text__by_hand():
    assert overview.text(document(program()), regions=True, waits=True).splitlines() == [
        "run.alog: built",
        "",
        "makespan      300 ns",
        "processes     2",
        "calls         2, 160 ns in them (39.0 % of the processes' time)",
        "waiting       112 ns over all processes (27.3 %) under model by hand",
        "messages      1, 2.000 kB",
        "collectives   none",
        "regions       1, 2 instances",
        "",
        "health        complete; 0 records read",
        "clocks        consistent: nothing is received before it was sent",
        "",
        "routine    calls    time  of all  waiting      sent",
        "MPI_Recv       1  150 ns  36.6 %   112 ns       0 B",
        "MPI_Bsend      1   10 ns   2.4 %     0 ns  2.000 kB",
        "",
        "region  parallel  instances  steps    time  mean of a process  largest  largest/mean",
        "solve   -                 2      1  400 ns             200 ns   300 ns          1.50",
        "",
        "longest waits",
        "call  rank  routine   waits for    region    wait",
        "e1       1  MPI_Recv  e0 (rank 0)  solve   112 ns",
    ]


def test_routines__those_with_most_time_first():
    """The probes take longest and wait for nobody."""
    b = Builder(2)
    b.call(0, "Probe", work=90_000)
    b.barrier()
    b.call(1, "Probe", work=90_000)
    rows = document(b.trace()).routines
    assert [(row.routine, row.waiting_ns > 0) for row in rows] == [("MPI_Probe", False), ("MPI_Barrier", True)]


def test_routines__idle_in_init_is_of_init():
    """A thread idles from 0 to 1500, to 1000 while its process is in MPI_Init: 500 of the 3000 ns of all from then on to 2000."""
    b = Builder(2)
    thread = b.thread(0)
    b.call(0, "Init", at=(0, 1000))
    b.call(1, "Init", at=(0, 800))
    b.compute(0, 500)
    b.link("fork", b.call(0, "omp_fork", at=(1500, 1500)), b.call(thread, "omp_idle", at=(0, 1500)))
    for location, length in ((0, 500), (1, 1200), (thread, 500)):
        b.compute(location, length)
    block = document(b.trace())
    assert [(row.routine, row.time_ns, row.init_ns) for row in block.routines[:2]] == [("MPI_Init", 1800, 1800), ("omp_idle", 1500, 1000)]
    assert (block.after_init_ns, block.init_ns, block.shares_of_ns, block.exit_ns) == (3000, 2800, 1000, 0)
    line = next(line for line in overview.text(block, regions=False, waits=False).splitlines() if line.startswith("omp_idle"))
    assert line.split()[1:6] == ["1", "500", "ns", "16.7", "%"]


def test_text__what_nothing_tells_of_the_model():
    left = (Unknown("S_bytes", "between-nodes", (), ""), Unknown("progress", "", (), ""), Unknown("collectives", "", (), ""))
    block = document(program(), machine=Machine(hand_model(), unknown=left, given=True))
    assert block.unknown == ["between-nodes:S_bytes", "progress"]
    assert "under model by hand; not told: between-nodes:S_bytes, progress\n" in overview.text(block, regions=False, waits=False)


def told(trace, word):
    """Return what the line of a word says."""
    lines = overview.text(document(trace), regions=False, waits=False).splitlines()
    return next((line.removeprefix(word).strip() for line in lines if line.startswith(word)), None)


def test_text__what_is_kept_beside_calls_or_left_out():
    """Kinds of which most are there come first; four are named."""
    trace, kinds = program(), ("ThreadFork", "IoSeek", "RmaPut", "OmpFork", "BufferFlush", "never")
    number = [3, 1, 1, 3, 2, 2, 4, 3, 0, 0]
    beside = table(tables.Records, location=[0] * 10, kind=number, call=[0] * 10, time=[0] * 10, first_value=[0] * 10)
    assert told(trace, "other records") is told(trace, "left out") is None
    trace = dataclasses.replace(trace, records=beside, texts=kinds)
    assert told(trace, "other records") == "10 kept: OmpFork 3, ThreadFork 2, IoSeek 2, RmaPut 2 and 1 kind more"
    for single, loose, line in (
        (1, 0, "1 stand-alone record"),
        (0, 2, "2 values of counters not known, or read where nothing begins or ends"),
        (3, 1, "3 stand-alone records and 1 value of counters not known, or read where nothing begins or ends"),
    ):
        counts = dataclasses.replace(trace.counts, single_events=single, loose_counters=loose)
        assert told(dataclasses.replace(trace, counts=counts), "left out") == line


def test_text__sizes_that_are_perhaps_not_told():
    b = Builder(2)
    b.send(0, 1, 0)
    b.recv(1, 0)
    assert told(b.trace(), "messages") == "1, their sizes 0 or not told"


def test_text__collectives_of_threads_are_told_apart():
    b = Builder(1)
    team = [0, b.thread(0)]
    b.team("omp_barrier", team)
    assert told(b.trace(), "collectives") == "1, barriers of teams of threads"
    b.barrier()
    assert told(b.trace(), "collectives") == "2, barriers of teams of threads among them"


def test_text__only_what_was_asked_for():
    text = overview.text(document(program()), regions=False, waits=False)
    assert "regions       1, 2 instances; --regions lists them\n" in text
    assert text.endswith("MPI_Bsend      1   10 ns   2.4 %     0 ns  2.000 kB")


def counting():
    """Rank 1, in its receive from 0 to 150: 75 instructions and 300 cycles; then, to 300, 900 instructions, 600 cycles. Memory is no count.

    Rank 0, from 0 to 100 in solve, 300 instructions, 200 cycles. One value was of nobody.
    """
    trace = program()
    readings = [(1, 0, 0, 75), (1, 1, 0, 300), (1, 2, 5, 6)]
    regions = [(0, 0, 0, 300), (0, 1, 0, 200), (1, 0, 0, 975), (1, 1, 0, 900)]
    call, counter, entered, returned = zip(*readings, strict=True)
    region, of_region, begun, left = zip(*regions, strict=True)
    return dataclasses.replace(
        trace,
        counters=table(tables.Counters, call=call, counter=counter, entered=entered, returned=returned),
        region_counters=table(tables.RegionCounters, region=region, counter=of_region, entered=begun, left=left),
        counter_names=("instructions", "PAPI_TOT_CYC", "memory [B]"),
        levels=(2,),
        counts=dataclasses.replace(trace.counts, loose_counters=1),
    )


def test_counters__read_at_any_time():
    """Power of two processes, also without counters of calls; beside nothing the first lines name them."""
    power = (Sampled("power [W]", 0, 2, 250, 275.5, 301, -51), Sampled("power [W]", 1, 2_000_000, 90, 100, 110, 20))
    trace = dataclasses.replace(program(), sampled=power)
    info = document(trace, counters=True)
    assert json.loads(to_json(info))["counters"]["read"][1] == {
        "name": "power [W]",
        "process": 1,
        "values": 2_000_000,
        "least": 90,
        "mean": 100,
        "most": 110,
        "change": 20,
    }
    assert told(trace, "counters") == "2000002 values read at any time; --counters lists them"
    assert lines(info.counters)[-4:] == [
        "read at any time, or for other locations",
        "counter    rank   values  least   mean  most  change",
        "power [W]     0        2    250  275.5   301     -51",
        "power [W]     1  2000000     90    100   110      20",
    ]
    one = dataclasses.replace(trace, sampled=power[:1])
    assert lines(document(one, counters=True).counters)[-2:] == [
        "counter    values  least   mean  most  change",
        "power [W]       2    250  275.5   301     -51",
    ]


def test_counters__by_hand():
    found = json.loads(to_json(document(counting(), counters=True)))["counters"]
    assert (found["ipc"], found["frequency_ghz"], found["instruction_balance"]) == (1200 / 800, 800 / 250, 600 / 900)
    assert (found["levels"], found["left_out"]) == (["memory [B]"], 1)
    assert found["names"] == ["instructions", "PAPI_TOT_CYC"]
    rows = [
        (row["call_path"], row["rank"], row["thread"], row["mpi"], row["time_ns"], list(row["counts"].values())) for row in found["counted"]
    ]
    assert rows == [
        ("solve", 0, 0, False, 100, [300, 200]),
        ("solve", 1, 0, False, 150, [900, 600]),
        ("solve/MPI_Recv", 1, 0, True, 150, [75, 300]),
    ]


def test_text__counters():
    text = overview.text(document(counting(), counters=True), regions=False, waits=False, counters=True)
    assert text[text.index("counters by call path") :].splitlines() == [
        "counters by call path, those below left out",
        "call path         time  instructions    per s  PAPI_TOT_CYC    per s   IPC   GHz",
        "solve           250 ns          1200  4.8e+09           800  3.2e+09  1.50  3.20",
        "solve/MPI_Recv  150 ns            75    5e+08           300    2e+09  0.25  2.00",
        "",
        "computation by process",
        "rank    time  instructions  PAPI_TOT_CYC   IPC   GHz",
        "0     100 ns           300           200  1.50  2.00",
        "1     150 ns           900           600  1.50  4.00",
        "",
        "IPC           1.50 instructions per cycle of computation",
        "GHz           3.20 cycles per ns of computation",
        "instructions  66.7 % balanced: mean of a process by the most of any",
        "levels        memory [B]: no counts, not added up",
        "left out      1 value of no known counter, or read where nothing begins or ends",
    ]
    without = overview.text(document(program(), counters=True), regions=False, waits=False, counters=True)
    assert without.splitlines()[-1] == "no counters"


def test_text__nothing_there():
    text = overview.text(document(Builder(1).trace("x")), regions=True, waits=True)
    assert text.startswith(
        "x: built\n\nmakespan      0 ns\nprocesses     1\n"
        "calls         none of MPI, so nothing waits; only regions can be asked about\nregions       none\n\nhealth "
    )
    assert text.endswith("\n\nno user regions\n\nno call waits")


def test_text__threads_communicators_and_who_made_it():
    b = Builder(3)
    b.comm("odd", [1])
    b.barrier()
    trace = b.trace("x")
    locations = dataclasses.replace(trace.locations, process=trace.locations.process // 2, thread=trace.locations.process % 2)
    trace = dataclasses.replace(trace, locations=locations, properties={"made_by": "predicted_under_\x1b[1m"})
    lines = overview.text(document(trace), regions=False, waits=False).splitlines()
    assert lines[2] == "incomplete    nothing of rank 2: waiting for it in collectives cannot be told from transfer; bring its trace first"
    assert lines[3] == "made by       predicted_under_\\x1b[1m"
    assert lines[5] == "processes     2, 3 threads"
    assert lines[11] == "communicators 2"


def test_text__measured_is_not_worth_a_line():
    trace = dataclasses.replace(program(), properties={"made_by": "measured"})
    assert "made by" not in overview.text(document(trace), regions=False, waits=False)


def test_regions__inside_one_of_the_same_name_count_once():
    b = Builder(1)
    with b.region(0, "solve"):
        b.compute(0, 100)
        with b.region(0, "part"), b.region(0, "solve"):
            b.compute(0, 40)
    rows = document(b.trace()).regions
    assert [(row.region, row.instances, row.steps, row.time_ns) for row in rows] == [("solve", 2, 2, 140), ("part", 1, 1, 40)]


def test_regions__parallel_ones_and_odd_names():
    b = Builder(1)
    for name in ("\x1b]0;title\x07" + "x" * 90, "tab\there"):
        with b.region(0, name):
            pass
    trace = b.trace()
    trace = dataclasses.replace(trace, parallel=~trace.parallel)
    assert overview.text(document(trace), regions=True, waits=False).splitlines()[-3:] == [
        "region                                    parallel  instances  steps  time  mean of a process  largest  largest/mean",
        "\\x1b]0;title\\x07xxx...xxxxxxxxxxxxxxxxxx  yes               1      1  0 ns               0 ns     0 ns             -",
        "tab\\there                                 yes               1      1  0 ns               0 ns     0 ns             -",
    ]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_awkward_trace(name):
    text = overview.text(document(CATALOGUE[name]()), regions=True, waits=True)
    assert all(len(line) <= 120 and line.isprintable() and line == line.rstrip() for line in text.splitlines())
    assert "None" not in text
    assert "nan" not in text


def test_text__streams_are_no_threads():
    trace = CATALOGUE["device"]()
    made = document(trace)
    assert (made.processes, made.locations, made.streams) == (2, 3, 1)
    assert "processes     2, 1 device stream\n" in overview.text(made, regions=False, waits=False)


def test_text__what_is_before_and_behind_mpi_is_told_apart():
    """The run is from 1000 to 1500 on both ranks: 100 in the barrier are 20 %, 300 of it are behind MPI_Finalize; before are 1000."""
    b = Builder(2)
    for rank in range(2):
        b.compute(rank, 600)
        b.call(rank, "Init", at=(600, 1000))
    b.barrier(at=[(1050, 1150)] * 2)
    for rank in range(2):
        b.call(rank, "Finalize", at=(1190, 1200))
        b.compute(rank, 300)
    block = document(b.trace())
    assert (block.after_init_ns, block.shares_of_ns, block.exit_ns) == (1000, 500, 300)
    lines = overview.text(block, regions=False, waits=False).splitlines()
    assert lines[2] == "makespan      1.500 us, 1.000 us until the last process has left MPI_Init and 300 ns after MPI_Finalize"
    assert lines[4] == "calls         6, 220 ns in them (22.0 % of the processes' time after MPI_Init)"
    assert next(line for line in lines if line.startswith("MPI_Barrier")).split()[1:6] == ["2", "200", "ns", "20.0", "%"]
