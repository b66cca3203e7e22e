"""Waits, health and model: the documents, and their lines."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from build import Builder, hand_model
from perwiz.clock.condition import Violations
from perwiz.loggps.keys import OF_PAIRS
from perwiz.report import blocks
from perwiz.report.records import CallPlace
from perwiz.trace.trace import Counts
from perwiz.whatif.health import Correction, Health
from perwiz.whatif.waits import Waits

SOUND = Health(Counts(records=9), {}, Violations(0, 0, 0, 0, 0, 0), Violations(0, 0, 0, 0, 0, 0), None, 0, 0, 0, 0, 0.0)


@pytest.fixture
def pair():
    """Return a trace of three calls and their waits: e2 waits for e0, e1 for nobody known."""
    b = Builder(2)
    b.send(0, 1)
    with b.region(1, "solve"):
        b.recv(1, 0)
        b.recv(1, 0)
    return b.trace(), Waits(np.array([0, 7, 5]), np.array([-1, -1, 0]))


def test_longest__longest_first(pair):
    trace, waits = pair
    place = {"rank": 1, "thread": 0, "routine": "MPI_Recv", "region": "solve"}
    assert to_builtins(blocks.longest(trace, waits, 5)) == [
        {"call": "e1", **place, "partner": None, "wait_ns": 7},
        {"call": "e2", **place, "partner": {"call": "e0", "rank": 0, "thread": 0}, "wait_ns": 5},
    ]


def test_longest__beside_another_run(pair):
    trace, waits = pair
    other = Waits(np.array([1, 2, 3]), np.array([-1, -1, -1]))
    assert [row.other_wait_ns for row in blocks.compared(trace, waits, other, 5)] == [2, 3]


@pytest.mark.parametrize("most", [0, 1])
def test_longest__at_most(pair, most):
    assert len(blocks.longest(*pair, most)) == most


@given(st.lists(st.integers(0, 4)), st.integers(0, 8))
def test_largest__as_sorting_all_says(values, most):
    rows = sorted((row for row, value in enumerate(values) if value > 0), key=lambda row: (-values[row], row))
    assert blocks.largest(np.array(values, "i8"), most).tolist() == rows[:most]


def test_wait_lines(pair):
    trace, waits = pair
    assert blocks.wait_lines(blocks.longest(trace, waits, 5), "wait") == [
        "call  rank  routine   waits for    region  wait",
        "e1       1  MPI_Recv  -            solve   7 ns",
        "e2       1  MPI_Recv  e0 (rank 0)  solve   5 ns",
    ]


def test_wait_lines__of_two_runs_and_odd_regions(pair):
    (wait,) = blocks.compared(*pair, pair[1], 1)
    rows = [replace(wait, region="\x1b[2J" + "x" * 90, thread=2, partner=CallPlace(call="e9", rank=1023, thread=1))]
    assert blocks.wait_lines(rows, "recorded", "predicted") == [
        "call  rank  routine   waits for         region                          recorded  predicted",
        "e1     1.2  MPI_Recv  e9 (rank 1023.1)  \\x1b[2Jxxxxxxx...xxxxxxxxxxxxx      7 ns       7 ns",
    ]


def lines(**changes):
    return blocks.health_lines(blocks.health(dataclasses.replace(SOUND, **changes)))


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (399_500_000, "399.5 ms, its clocks corrected"),
        (399_500_017, "399.5 ms, its clocks corrected"),
        (399_700_000, "399.5 ms, its clocks corrected; 399.7 ms before that"),
    ],
)
def test_recorded__says_what_was_before_if_words_differ(before, said):
    corrected = dataclasses.replace(SOUND, correction=Correction(1, 1, before))
    assert blocks.recorded(399_500_000, blocks.health(corrected)) == [("recorded", said)]
    assert blocks.recorded(399_500_000, blocks.health(SOUND), "more") == [("recorded", "399.5 ms; more")]


def test_health__sound():
    assert lines() == [
        "health        complete; 9 records read",
        "clocks        consistent: nothing is received before it was sent",
    ]


def test_health__everything_wrong():
    counts = Counts(
        records=9,
        unmatched_sends=1,
        unmatched_receives=2,
        incomplete_collectives=3,
        silent_processes=4,
        size_differs=5,
        bare=16,
        untied_threads=17,
        untied_streams=18,
        loose_threads=20,
        repaired_sizes=19,
    )
    found = lines(
        counts=counts,
        defects={"not six integers": 6},
        violations=Violations(7, 8000, 9, 10_000_000, 7, 8000),
        recorded=Violations(7, 8000, 9, 10_000_000, 7, 8000),
        contradictions=11,
        partnerless=15,
        untied=13,
        off=2,
        off_time=3000,
        endless=14,
        not_modelled=0.25,
        not_modelled_most=0.5,
        calls_not_modelled=3,
    )
    assert found == [
        "health        INCOMPLETE: what is left out or missing waits for nobody here and delays nobody; 9 records read",
        "left out      not six integers: 6",
        "missing       unmatched sends: 1",
        "missing       unmatched receives: 2",
        "missing       sends and receives without a message record: 12",
        "missing       collectives with members missing: 3",
        "missing       sends and receives logged outside MPI states, their waits not recorded: 16",
        "missing       waits for requests that the trace does not name: 14",
        "missing       processes that logged nothing: 4",
        "missing       processes that nothing ties to another: 13",
        "missing       threads that nothing ties to the processes, left out: 17",
        "missing       threads whose start and end nothing ties to their process: gains may be understated: 20",
        "missing       device streams that nothing ties to the processes, left out: 18",
        "missing       intervals with measurement switched off: waits and computation across them are not to be trusted: 2",
        "missing       edges left out of the graph (cycles): 11",
        "inferred      sizes of receives, taken from their sends: some are larger than any message: 19",
        "not recorded  3.000 us, all processes together, as measurement was switched off",
        "not modelled  25.0 % of the processes' time, with all of that of 4 processes that logged nothing, 50.0 % of one's at",
        "              most, in 3 calls whose partners are unknown, which take as long as recorded whatever changes",
        "sizes         messages whose ends name different ones: 5; the receiver's counts",
        "clocks        messages received before they were sent: 7, worst 8.000 us",
        "clocks        calls that left a collective before its last member came: 9, worst 10.00 ms",
    ]


@pytest.mark.parametrize(
    ("reversed", "told"),
    [
        (Violations(7, 8000, 0, 0, 9, 8500), "7, worst 8.000 us; 9 by their records, worst 8.500 us"),
        (Violations(7, 8000, 0, 0, 7, 8500), "7, worst 8.000 us; 7 by their records, worst 8.500 us"),
        (Violations(0, 0, 0, 0, 2, 500), "2 by their records, worst 500 ns"),
    ],
)
def test_health__messages_by_calls_and_by_records(reversed, told):
    assert lines(violations=reversed, recorded=reversed)[-1] == f"clocks        messages received before they were sent: {told}"


def test_model__units_source_and_what_is_assumed():
    block = blocks.model(dataclasses.replace(hand_model(G=0.25), assumed=("g_ns", "s_bytes")))
    assert blocks.model_facts(block) == [
        (
            "model",
            "by hand: L_ns=10 o_ns=2 G_ns_per_byte=0.25 O_ns_per_byte=0 S_bytes=100 request_overheads=1 acknowledge_overheads=2"
            " gap='none' progress='always'",
        ),
        ("source", "the test"),
        ("assumed", "g_ns=0 s_bytes=0 (not in the source)"),
    ]
    assert block.parameters.gap == "none"


def test_model__classes():
    """A row says what differs, one that differs in nothing that it does not; what both ends have alike is said once."""
    model = dataclasses.replace(
        hand_model().with_changes("between-nodes:L_ns=40,o_r_ns=4,within-node:S_blocking_bytes=1048576,between-metahosts:O_ns_per_byte=0"),
        assumed=("o_s_ns", "o_r_ns", "within-node:o_s_ns"),
        name="by hand",
    )
    block = blocks.model(model)
    assert blocks.model_facts(block) == [
        (
            "model",
            "by hand: L_ns=10 g_ns=0 G_ns_per_byte=0 O_ns_per_byte=0 S_bytes=100 s_bytes=0 request_overheads=1"
            " acknowledge_overheads=2 gap='none' progress='always'",
        ),
        ("", "within-node: S_blocking_bytes=1048576"),
        ("", "between-nodes: L_ns=40"),
        ("", "between-metahosts: as all"),
        ("source", "the test"),
        ("assumed", "o_s_ns=2 o_r_ns=4 within-node:o_s_ns=2 (not in the source)"),
    ]
    assert to_builtins(block.classes[1]) == {"pairs": "between-nodes", "from_bytes": 0, "L_ns": 40.0} | dict.fromkeys(
        key for key in OF_PAIRS if key != "L_ns"
    )


def test_model__what_is_unknown_of_all_sizes():
    """L of no size is told; G of long messages is, of short ones it is assumed."""
    rows = (hand_model().costs[0], dataclasses.replace(hand_model().costs[0], from_bytes=64, L=7, G=0.5))
    block = blocks.model(dataclasses.replace(hand_model(), costs=rows, assumed=("L_ns", "G_ns_per_byte")))
    assert blocks.told_facts(block, ["L_ns"])[1:] == ["from 64 bytes: G_ns_per_byte=0.5"]
    assert blocks.told_facts(block)[1:] == ["from 64 bytes: L_ns=7 G_ns_per_byte=0.5"]


def test_model__nothing_assumed():
    assert [label for label, _ in blocks.model_facts(blocks.model(hand_model()))] == ["model", "source"]


def test_call__names_rank_routine_and_region():
    b = Builder(2)
    with b.region(1, "outer"), b.region(1, "in/ner"):
        b.send(1, 0)
    b.recv(0, 1)
    trace = b.trace()
    assert to_builtins(blocks.call(trace, 1)) == {"call": "e1", "rank": 1, "thread": 0, "routine": "MPI_Send", "region": "outer/in/ner"}
    assert blocks.call(trace, 0).region == ""


def test_gained():
    assert blocks.gained(1000, 875, 250) == "gain 125 ns (50.0 %)"
    assert blocks.gained(1000, 1030, 1000) == "loss 30 ns (3.0 %)"
    assert blocks.gained(0, 0, 0) == "gain 0 ns"


def test_health__says_that_times_of_devices_were_moved():
    """It leaves nothing out, so the trace is complete; said also where the rest of what clocks do is said elsewhere."""
    state = blocks.health(dataclasses.replace(SOUND, counts=Counts(records=9, placed_streams=2, placed_ns=80_000)))
    said = "devices       times of 2 streams put on the clock of their process by a straight line, moved by at most 80.00 us"
    for clocks in (True, False):
        assert said in blocks.health_lines(state, clocks)
    assert not state.incomplete
