"""The report of a critical path: one worked by hand, every awkward trace against the schema, and the picture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model
from documents import valid
from perwiz.report.critical import document as report
from perwiz.report.critical import plot as critical_plot
from perwiz.report.critical.text import text
from perwiz.report.picture import lanes
from perwiz.trace.trace import Counts
from perwiz.whatif.limits.critical import critical


def late_sender():
    """Rank 1 waits from 0 to 1000 for rank 0; the message takes 12 ns (o + L), the receive works 30 ns more.

    rank 0  ========= send              0 .. 1000 .. 1010
    rank 1  recv ~~~~~~~~~ ==           0 .. 1042 .. 1100
    """
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 1, at=(1000, 1010))
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 1042))
        b.compute(1, 58)
    return b.trace("late.alog")


def document(trace, pieces=10, slacks=False, model=None):
    block = report.document(critical(trace, model or hand_model(), "none"), pieces, slacks)
    valid(block, "critical")
    return block


def kinds(start, computation, calls, transfer):
    return {
        "start_ns": start,
        "computation_ns": computation,
        "calls_ns": calls,
        "transfer_ns": transfer,
        "gap_ns": 0,
        "total_ns": start + computation + calls + transfer,
    }


def slack(least, tight):
    names = ("calls", "calls_without_slack", "calls_within_1_percent", "least_slack_ns", "median_slack_ns")
    return dict(zip(names, (1, tight, tight, least, least), strict=True))


def test_document__by_hand():
    block = valid(document(late_sender(), slacks=True), "critical")
    for part in ("health", "model", "misfit"):
        block.pop(part)
    first, second = slack(90, 0), slack(0, 1)
    assert block == {
        "version": 1,
        "command": "critical",
        "trace": "late.alog",
        "format": "built",
        "made_by": "measured",
        "machine": {"given": True, "estimates": [], "unknown": []},
        "makespan_ns": 1100,
        "changes": 1,
        "path": kinds(0, 1058, 30, 12),
        "processes": [
            {"rank": 0, "thread": 0, **kinds(0, 1000, 0, 0), **first},
            {"rank": 1, "thread": 0, **kinds(0, 58, 30, 12), **second},
        ],
        "regions": [{"region": "", **kinds(0, 1000, 0, 0), **first}, {"region": "solve", **kinds(0, 58, 30, 12), **second}],
        "routines": [{"routine": "MPI_Send", **kinds(0, 0, 0, 0), **first}, {"routine": "MPI_Recv", **kinds(0, 0, 30, 12), **second}],
        "pieces": 4,
        "longest": [
            piece("computation", 0, "", None, 0, 1000),
            piece("transfer", 1, "solve", "e1", 1000, 12),
            piece("calls", 1, "solve", "e1", 1012, 30),
            piece("computation", 1, "solve", None, 1042, 58),
        ],
        "slack": {
            "calls": 2,
            "within": [{"share": share, "calls": calls} for share, calls in ((0, 1), (0.001, 1), (0.01, 1), (0.05, 1), (0.1, 2))],
        },
        "slacks_ns": [90, 0],
        "shares_of_ns": 1100,
        "replay_error_ns": 0,
    }


def piece(kind, rank, region, call, begin, length):
    routine = "MPI_Recv" if call else None
    names = ("kind", "rank", "thread", "region", "call", "routine", "begin_ns", "length_ns")
    return dict(zip(names, (kind, rank, 0, region, call, routine, begin, length), strict=True))


def test_document__longest_pieces_only():
    block = document(late_sender(), 2)
    assert [row.length_ns for row in block.longest] == [1000, 58]
    assert (block.pieces, block.slacks_ns) == (4, None)


def test_text__by_hand():
    lines = text(document(late_sender(), 2)).splitlines()
    assert lines[:10] == [
        "late.alog: critical path",
        "",
        "doubtful      1 of 1 messages took more than twice as long as the model says (2.5 % of the recorded run): see how sure",
        "recorded      1.100 us; along 4 pieces",
        "              1.058 us (96.2 %) computation: between calls",
        "              30 ns (2.7 %) in calls: work inside MPI calls, no waiting",
        "              12 ns (1.1 %) transfer: messages under way, from the entry of the call that sends",
        "path          goes 1 time from one process to another",
        "slack         of 2 calls 1 none, 1 at most 0.1 %, 1 at most 1 %, 1 at most 5 %, 2 at most 10 % of the makespan",
        "",
    ]
    assert lines[10:13] == [
        "rank  on the path   share  computation  in calls  transfer  calls  no slack  < 1 %  least slack  median",
        "0        1.000 us  90.9 %     1.000 us      0 ns      0 ns      1         0      0        90 ns   90 ns",
        "1          100 ns   9.1 %        58 ns     30 ns     12 ns      1         1      1         0 ns    0 ns",
    ]
    assert "and 2 shorter pieces" in lines


def test_text__waits_that_were_not_recorded():
    lines = text(document(dataclasses.replace(late_sender(), counts=Counts(bare=1)))).splitlines()
    assert lines[7:9] == [
        "              the waits of 1 call were not recorded: they count as computation",
        "path          goes 1 time from one process to another",
    ]


def test_slack__per_group():
    """Rank 0 makes a call on the path, and sends, which may return 90 later: of two slacks the median is the lower one."""
    b = Builder(2)
    b.call(0, "Comm_rank", at=(0, 10))
    b.send(0, 1, 1, at=(1000, 1010))
    b.recv(1, 0, at=(0, 1042))
    b.compute(1, 58)
    rows = document(b.trace()).processes
    keys = ("calls", "calls_without_slack", "calls_within_1_percent", "least_slack_ns", "median_slack_ns")
    assert [[getattr(row, key) for key in keys] for row in rows] == [[2, 1, 1, 0, 0], [1, 1, 1, 0, 0]]


def test_text__many_rows():
    b = Builder(12)
    for rank in range(12):
        with b.region(rank, f"region {rank}"):
            b.compute(rank, 100 * rank)
        b.call(rank, "Comm_rank")
    shown = text(document(b.trace()))
    assert shown.count("and 2 more (--json lists all)") == 1  # processes
    assert shown.count("and 3 more (--json lists all)") == 0
    assert max(map(len, shown.splitlines())) <= 140


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_document__catalogue(name):
    block = document(CATALOGUE[name](), slacks=True)
    shown = text(block)
    assert max(map(len, shown.splitlines())) <= 140
    assert ("INCOMPLETE" in shown) == block.health.incomplete
    for rows in (block.processes, block.regions):
        assert sum(row.total_ns for row in rows) == block.makespan_ns == block.path.total_ns


def test_points__by_hand():
    """Along rank 0 to 1000, across to rank 1 at 1012, along it to the end."""
    found = critical(late_sender(), hand_model(), "none")
    timeline = found.run.trace.timeline
    scene = lanes.scene(found.run.trace, [timeline], np.zeros(0, "i8"), lanes.Size(width=1100, lane=10, columns=1100))
    x, lane = critical_plot.points(found, timeline, scene)
    assert list(zip(x.tolist(), lane.tolist(), strict=True)) == [
        (0, 0),
        (1000, 0),
        (1000, 0),
        (1012, 1),
        (1012, 1),
        (1042, 1),
        (1042, 1),
        (1100, 1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["late_sender", "all_collectives", "empty"])
def test_plot(name, tmp_path):
    found = critical(CATALOGUE[name](), hand_model(), "none")
    critical_plot.plot(found, str(tmp_path / "path.svg"))
    assert "critical path" in (tmp_path / "path.svg").read_text(encoding="utf-8")
