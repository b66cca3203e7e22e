"""The report of a correction, and its picture: one worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from build import CATALOGUE, Builder
from documents import valid
from perwiz.clock.figures import figures
from perwiz.clock.logical import correct
from perwiz.clock.treatment import Treated
from perwiz.report.correct import document as report
from perwiz.report.correct import plot as picture
from perwiz.report.correct import text as correct_text
from perwiz.report.picture import lanes
from perwiz.trace.tables import Times
from perwiz.whatif.health import health


@pytest.fixture(autouse=True, scope="module")
def _matplotlib():
    """Import it once, outside the time of any test."""
    import matplotlib.backends.backend_svg  # noqa: F401


def early(record=0):
    """Rank 0 sends at 6000 and 8000 what rank 1 has received at 5000 and 9000; they run for 10 000 and 20 000."""
    b = Builder(2, record=record)
    b.begin, b.end = {0: 0, 1: 0}, {0: 10_000, 1: 20_000}
    b.send(0, 1, at=(6_000, 7_000))
    b.send(0, 1, at=(8_000, 8_500))
    b.recv(1, 0, at=(4_900, 5_000))
    b.recv(1, 0, at=(8_000, 9_000))
    return b.trace("early.alog")


def document(trace, found=None, clock="clc"):
    found = correct(trace, mu=0, gamma=1.0) if found is None else found
    fixed = dataclasses.replace(trace, timeline=found.timeline)
    state = health(fixed, found.graph.contradictions, Treated(fixed, found.left, found if found.by_message else None))
    made = report.document(trace, found, figures(found), clock, state)
    valid(made, "correct")
    return made


def test_document__by_hand():
    """The entry before the jump of 1000 at 5000 moves by 4900/5000 of it, all behind it by 1000."""
    corrected = valid(document(early()), "correct")
    assert corrected.pop("health")["incomplete"] is False
    none = {"pairs": 0, "reversed": 0, "reversed_percent": 0, "violating": 0, "violating_percent": 0, "average_ns": 0, "worst_ns": 0}
    position = corrected.pop("event_position")
    assert position["average"] == pytest.approx((980 + 4 * 1000) / (39_500 + 46_900))
    distance = corrected.pop("event_distance")
    assert distance == {
        "average": 1000 / 30_000,
        "mean": pytest.approx(0.04),
        "maximum": pytest.approx(0.2),
        "intervals_above": [0.2, 0.2, 0.2, 0.2, 0.2, 0],
        "time_above": [*[5000 / 30_000] * 5, 0],
    }
    assert corrected.pop("records") == corrected["messages"]
    assert corrected == {
        "version": 1,
        "command": "correct",
        "trace": "early.alog",
        "format": "built",
        "made_by": "measured",
        "corrected_by": "corrected by the controlled logical clock",
        "clock": "clc",
        "offsets": {"measured": 0, "scheme": None, "in_the_recorded_times": True},
        "recorded_ns": 20_000,
        "corrected_ns": 21_000,
        "minimum_latency_ns": {"node": 0, "metahost": 0, "across": 0},
        "gamma": 1.0,
        "passes": 1,
        "slope": pytest.approx(0.2),
        "messages": {
            "recorded": none
            | {"pairs": 2, "reversed": 1, "reversed_percent": 50, "violating": 1, "violating_percent": 50}
            | {"average_ns": 1000, "worst_ns": 1000},
            "corrected": none | {"pairs": 2},
        },
        "collectives": {"recorded": none, "corrected": none},
        "links": {"recorded": none, "corrected": none},
        "corrected_explicitly": {"messages": 1, "collectives": 0, "links": 0},
        "events": 8,
        "moved": 4,
        "average_displacement_ns": pytest.approx(995),
        "largest_displacement_ns": 1000,
        "thresholds": [0.0, 0.0001, 0.001, 0.01, 0.1, 1.0],
        "left": dict.fromkeys(("messages", "collective_calls", "records", "links"), 0)
        | dict.fromkeys(("worst_message", "worst_collective", "worst_record", "worst_link"), 0),
        "cycle": None,
        "processes": [
            {"rank": 0, "thread": 0, "largest_ns": 0, "end_ns": 0},
            {"rank": 1, "thread": 0, "largest_ns": 1000, "end_ns": 1000},
        ],
    }


def test_text__by_hand():
    assert correct_text.text(document(early())) == (
        "early.alog: controlled logical clock\n"
        "\n"
        "recorded      received before they were sent: 1 of 2 messages (50.0 %), by 1.000 us at most\n"
        "corrected     every effect comes after its cause\n"
        "moved         4 of 8 events (50.0 %), by 995 ns on average, 1.000 us at most\n"
        "              rank 1 by 1.000 us; 1 not at all\n"
        "makespan      20.00 us recorded, 21.00 us corrected\n"
        "\n"
        "                     all  reversed  of all  too early  of all  reversed by   at most\n"
        "messages, recorded     2         1  50.0 %          1  50.0 %     1.000 us  1.000 us\n"
        "messages, corrected    2         0   0.0 %          0   0.0 %            -         -\n"
        "\n"
        "local intervals changed by  in all  on average  at most\n"
        "event position              5.76 %      6.86 %  20.00 %\n"
        "event distance              3.33 %      4.00 %  20.00 %\n"
        "\n"
        "local intervals changed by             >0 %  >0.01 %   >0.1 %     >1 %    >10 %  >100 %\n"
        "event position, share of intervals  50.00 %  50.00 %  50.00 %  50.00 %  40.00 %     0 %\n"
        "event position, share of time       54.28 %  54.28 %  54.28 %  54.28 %  31.13 %     0 %\n"
        "event distance, share of intervals  20.00 %  20.00 %  20.00 %  20.00 %  20.00 %     0 %\n"
        "event distance, share of time       16.67 %  16.67 %  16.67 %  16.67 %  16.67 %     0 %\n"
        "\n"
        "offsets       none measured\n"
        "least time    0 ns in a node, 0 ns in a metahost, 0 ns across; what takes less is too early\n"
        "put forward   1 return by messages, 0 by collectives; the others moved with them\n"
        "gamma         1, found in 1 pass\n"
        "steepest      before a return was put forward, a clock runs fast by at most 20.00 %\n"
        "\n"
        "health        complete; 0 records read"
    )


def test_text__by_records():
    """600 inside each call but one of 100 and one of 500: reversed by 1700, and by 100 the message that is not, by its calls."""
    text = correct_text.text(document(early(600)))
    said = " ".join(text.split())
    assert "1 of 2 messages (50.0 %), by 1.000 us at most; 2 of 2 messages by their records (100.0 %), by 1.700 us at most" in said
    assert [line for line in text.splitlines() if line.startswith("messages")] == [
        "messages, recorded                      2         1   50.0 %          1   50.0 %     1.000 us  1.000 us",
        "messages, corrected                     2         0    0.0 %          0    0.0 %            -         -",
        "messages by their records, recorded     2         2  100.0 %          2  100.0 %       900 ns  1.700 us",
        "messages by their records, corrected    2         0    0.0 %          0    0.0 %            -         -",
    ]


def test_text__nothing_to_correct():
    text = correct_text.text(document(CATALOGUE["halo"]()))
    assert "\nrecorded      nothing is received before it was sent\ncorrected     nothing to correct\n\n" in text
    assert "intervals" not in text
    assert "gamma" not in text


def test_cycle__is_named():
    corrected = document(CATALOGUE["cycle_of_messages"]())
    assert corrected.cycle.calls == [("e1", "e2"), ("e3", "e0")]
    assert corrected.left.messages == 2
    assert corrected.health.incomplete is True
    text = " ".join(correct_text.text(corrected).split())
    first, second = "e1 (rank 0) must be entered before e2 (rank 1) returns", "e3 (rank 1) must be entered before e0 (rank 0) returns"
    assert "corrected still received before they were sent: 2 messages, by 10 ns at most" in text
    assert f"cycle no clock can help: {first}, then {second}" in text


def test_cycle__long_ones_are_cut():
    b = Builder(9)
    for rank in range(9):
        b.recv(rank, (rank - 1) % 9, at=(10, 20))
        b.send(rank, (rank + 1) % 9, at=(30, 40))
    corrected = document(b.trace())
    assert len(corrected.cycle.calls) == 9
    assert corrected.cycle.words.count("must be entered") == 6
    assert corrected.cycle.words.endswith(" returns, and so on, 9 steps in all")


def test_text__calls_left_too_early():
    b = Builder(2)
    b.barrier(at=[(0, 10), (50, 60)])
    trace = b.trace()
    found = dataclasses.replace(correct(trace, mu=0), timeline=trace.timeline, by_collective=0)
    found = dataclasses.replace(found, left=dataclasses.replace(found.left, collective_calls=1, worst_collective=40))
    corrected = document(trace, found, "linear")
    assert corrected.cycle is None
    text = correct_text.text(corrected)
    assert text.startswith(
        "built: measured clock offsets\n\nrecorded      received before they were sent: 1 of 2 logical messages of collectives ("
    )
    assert "\ncorrected     still received before they were sent: 1 call that left a collective too early, by 40 ns at most\n" in text


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_awkward_trace(name):
    trace = CATALOGUE[name]()
    text = correct_text.text(document(trace, correct(trace)))
    assert all(len(line) <= 120 and line.isprintable() and line == line.rstrip() for line in text.splitlines())
    assert "None" not in text
    assert "nan" not in text


def test_shifts__either_direction_and_every_event():
    b = Builder(3)
    for rank in range(3):
        with b.region(rank, "a", at=(100, 900)):
            b.call(rank, "Wtime", at=(400, 500))
    trace = b.trace()
    line = trace.timeline
    moved = dataclasses.replace(
        line,
        calls=Times(line.calls.enter - np.array([7, 0, 0]), line.calls.leave),
        regions=Times(line.regions.enter, line.regions.leave + np.array([0, 3, 0])),
    )
    assert report.shifts(trace, line, moved).tolist() == [7, 3, 0]


# The picture


def test_thinned__first_last_smallest_and_largest_of_a_column():
    column = np.array([0, 0, 0, 0, 0, 0, 3, 3, 4])
    value = np.array([5, 6, 9, 1, 6, 5, 2, 2, 7])
    assert picture.thinned(column, value).tolist() == [0, 2, 3, 5, 6, 7, 8]
    assert picture.thinned(column[:0], value[:0]).tolist() == []


def test_curve():
    trace = early()
    found = correct(trace, mu=0, gamma=1.0)
    scene = lanes.scene(trace, [trace.timeline, found.timeline], np.zeros(0, "i8"), lanes.Size(width=150.0, lane=48.0, columns=21))
    x, y = picture.curve(trace, found.before, found.timeline, 1, scene)
    assert x.tolist() == pytest.approx([0, 4.9, 5, 8, 9, 20])
    assert y.tolist() == [0, 980, 1000, 1000, 1000, 1000]


def ladder(ranks, moved):
    """Return a trace in which rank 0 sends to all others, of which some receive too early, later ones more."""
    b = Builder(ranks)
    for rank in range(1, ranks):
        b.send(0, rank, at=(10_000 * rank, 10_000 * rank + 10))
        b.recv(
            rank, 0, at=(10_000 * rank - (100 * rank if rank <= moved else -100), 10_000 * rank + (-90 * rank if rank <= moved else 200))
        )
    return b.trace()


@pytest.mark.parametrize(
    ("ranks", "moved", "notes"),
    [
        (20, 15, ["corrections of 12 of 15 corrected processes drawn, those moved furthest", "5 of 20 processes not moved"]),
        (3, 1, ["2 of 3 processes not moved"]),
        (3, 0, []),
    ],
)
def test_curves__of_those_moved_furthest(ranks, moved, notes):
    trace = ladder(ranks, moved)
    curves = picture.Curves(trace, trace.timeline, correct(trace, mu=0).timeline)
    assert curves.drawn.tolist() == list(range(max(1, moved - 11), moved + 1))
    assert curves.notes() == notes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["empty", "one_process", "cycle_of_messages"])
def test_plot__nothing_to_draw(tmp_path, name):
    trace = CATALOGUE[name]()
    found = correct(trace)
    picture.plot(trace, found.before, found.timeline, (waits := np.zeros(len(trace.calls), "i8"), waits), str(tmp_path / "a.svg"))
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "a.svg").read_text())
    assert {"nothing to correct", "corrected minus recorded time [us], by rank"} <= set(texts)


def test_plot__says_what_it_shows(tmp_path):
    trace = early()
    found = correct(trace, mu=0, gamma=1.0)
    picture.plot(trace, found.before, found.timeline, (waits := np.zeros(len(trace.calls), "i8"), waits), str(tmp_path / "a.svg"))
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "a.svg").read_text())
    for text in (
        "recorded",
        "makespan 20.00 us",
        "corrected by the controlled logical clock",
        "makespan 21.00 us",
        "corrected minus recorded time [us], by rank",
        "1",
        "received before it was sent",
        "1 of 2 processes not moved",
    ):
        assert text in texts
    assert texts.count("time since the start of the run [us]") == 1
