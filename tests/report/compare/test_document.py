"""The report of a comparison: one worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from build import CATALOGUE, Builder, hand_model, one_of, table
from documents import valid
from perwiz import words
from perwiz.report import blocks
from perwiz.report.compare import document as report
from perwiz.report.compare.text import relative, text, too_far
from perwiz.report.records import Varies
from perwiz.trace import tables
from perwiz.trace.origin import Origin
from perwiz.trace.trace import SHARED
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons


def late_sender(work=1000, extra=False, path="late.alog"):
    """Rank 1 waits for rank 0, which computes; then it computes 58 ns, all in a parallel region. A barrier follows if `extra`.

    rank 0  ========= send              work .. work + 10
    rank 1  recv ~~~~~~~~~ ===          0 .. work + 42 .. + 58
    """
    b = Builder(2)
    b.send(0, 1, 1, at=(work, work + 10))
    with b.region(1, "solve", at=(0, work + 100)):
        b.recv(1, 0, at=(0, work + 42))
    if extra:
        b.barrier(at=[(work + 100, work + 110)] * 2)
    return dataclasses.replace(b.trace(path), parallel=np.array([True]))


def document(*arguments, calls=5, most=None, **settings):
    found = compare(*arguments, **settings)
    block = report.document(found, reasons(found, hand_model()), calls, most)
    valid(block, "compare")
    return block


def times(first, second, prefix=""):
    return {f"{prefix}first_ns": first, f"{prefix}second_ns": second, f"{prefix}difference_ns": second - first}


def spread(*values):
    return dict(zip(("median_ns", "percentile_95_ns", "worst_ns"), values, strict=True))


def reason(first, second, **what):
    return {**what, **times(first, second)}


def place(kind, first, second, at, there=(0, 0), region="", routine=None):
    where = {"rank": at, "thread": 0, "there_first_ns": there[0], "there_second_ns": there[1], "itself_ns": abs(there[1] - there[0])}
    return reason(first, second, kind=kind, routine=routine, region=region, source=None, **where)


REASONS = {
    "places": [
        place("computation", 1000, 490, 0, (1000, 490)),
        place("computation", 58, 0, 1, (58, 58), region="solve"),
        place("calls", 30, 0, 1, (1042, 442), region="solve", routine="MPI_Recv"),
        place("transfer", 12, 0, 1, (1042, 442), region="solve", routine="MPI_Recv"),
        place("calls", 0, 10, 0, (0, 10), routine="MPI_Barrier"),
        place("calls", 0, 10, 0, (10, 10), routine="MPI_Send"),
    ],
    "processes": [reason(1000, 510, rank=0, thread=0), reason(100, 0, rank=1, thread=0)],
    "steps": [reason(1000, 510, region=None, step=None), reason(100, 0, region="solve", step=1)],
}
"""Of what the test by hand compares: the path of the first run is work of 1000, a message of 12, 30 of the receive and 58 behind it; that
of the second is on rank 0 alone: work of 400, the send, 90 of work, the barrier."""


def test_document__by_hand():
    """The work shrinks from 1000 to 400, a barrier is new; see the test of the same name of whatif/compare."""
    block = valid(document(late_sender(), late_sender(400, extra=True, path="after.alog")), "compare")
    runs = [block.pop(name) for name in ("first", "second")]
    assert [run.pop("health")["incomplete"] for run in runs] == [False, False]
    same = {"format": "built", "made_by": "measured", "start_ns": 0, "processes": 2}
    assert runs == [
        {**same, "trace": "late.alog", "makespan_ns": 1100, "whole_ns": 1100, "calls": 2},
        {**same, "trace": "after.alog", "makespan_ns": 510, "whole_ns": 510, "calls": 4},
    ]
    places = [{"rank": rank, "thread": 0} for rank in (0, 1)]
    instances = {"first_instances": 1, "second_instances": 1}
    assert block == {
        "version": 1,
        "command": "compare",
        "hypotheses": [],
        "model": None,
        "machine": None,
        "from": "start",
        "to": "end",
        "shares_of_ns": 1100,
        "renamed": [],
        "reasons": REASONS,
        "difference_is": "change",
        "reference": "first",
        "difference_ns": -590,
        "difference": -0.536364,
        "max_error": None,
        "predicted": None,
        "apart": None,
        "unasked": None,
        "other_calls": [],
        "locations": {"both": 2, "only_first": 0, "only_second": 0},
        "calls": {
            "same": 2,
            "moved": 0,
            "elsewhere": 0,
            "only_first": 0,
            "only_second": 2,
            "compared": 2,
            "enter": spread(0, 600, 600),
            "leave": spread(600, 600, 600),
            "duration": spread(0, 600, 600),
        },
        "processes": [
            {**places[0], **times(1010, 510, "end_"), **times(1010, 510, "span_")},
            {**places[1], **times(1100, 510, "end_"), **times(1100, 510, "span_")},
        ],
        "regions": [{"region": "solve", **times(1100, 500), **instances, "processes": [{**places[1], **times(1100, 500), **instances}]}],
        "steps": [{"region": "solve", "step": 1, **times(1100, 500)}],
        "routines": [
            {"routine": "MPI_Send", "first_calls": 1, "second_calls": 1, **times(10, 10)},
            {"routine": "MPI_Recv", "first_calls": 1, "second_calls": 1, **times(1042, 442)},
            {"routine": "MPI_Barrier", "first_calls": 0, "second_calls": 2, **times(0, 20)},
        ],
        "scaling": None,
        "furthest": [
            {
                "call": "e1",
                "second_call": "e2",
                "routine": "MPI_Recv",
                "region": "solve",
                "moved": False,
                "leave_difference_ns": -600,
                **(places[1] | times(1042, 442) | times(0, 0, "enter_")),
            }
        ],
    }


def test_text__by_hand():
    block = document(late_sender(), late_sender(400, extra=True, path="after.alog"))
    assert text(block).splitlines() == [
        "late.alog against after.alog",
        "",
        "first         1.100 us",
        "second        510 ns, change -590 ns (-53.6 %)",
        "chance        not known: too little repeats in these runs to tell how far two of the same lie apart",
        "because       computation outside of regions makes up 1.000 us and 490 ns of the critical path, change -510 ns",
        "              on rank 0, where most of that is, it takes 1.000 us and 490 ns in all",
        "from          the first instant of each run",
        "calls         2 the same; 0 only in the first run, 2 only in the second run (MPI_Barrier 2 times)",
        "",
        "what the change is made of, along the critical path of each run",
        "place                              first  second             change",
        "computation outside of regions  1.000 us  490 ns  -510 ns (-46.4 %)",
        "computation in solve               58 ns    0 ns    -58 ns (-5.3 %)",
        "MPI_Recv in solve                  30 ns    0 ns    -30 ns (-2.7 %)",
        "messages to MPI_Recv in solve      12 ns    0 ns    -12 ns (-1.1 %)",
        "MPI_Barrier                         0 ns   10 ns    +10 ns (+0.9 %)",
        "MPI_Send                            0 ns   10 ns    +10 ns (+0.9 %)",
        "",
        "the same by process",
        "rank     first  second             change",
        "0     1.000 us  510 ns  -490 ns (-44.5 %)",
        "1       100 ns    0 ns   -100 ns (-9.1 %)",
        "",
        "the same by parallel step",
        "step          first  second             change",
        "(outside)  1.000 us  510 ns  -490 ns (-44.5 %)",
        "solve#1      100 ns    0 ns   -100 ns (-9.1 %)",
        "",
        "changes of 2 calls",
        "          median    95 %  largest",
        "enter       0 ns  600 ns   600 ns",
        "leave     600 ns  600 ns   600 ns",
        "duration    0 ns  600 ns   600 ns",
        "",
        "ends of processes",
        "rank     first  second             change",
        "0     1.010 us  510 ns  -500 ns (-45.5 %)",
        "1     1.100 us  510 ns  -590 ns (-53.6 %)",
        "",
        "regions, time of all processes",
        "region     first  second   change",
        "solve   1.100 us  500 ns  -600 ns",
        "",
        "parallel steps",
        "step        first  second             change",
        "solve#1  1.100 us  500 ns  -600 ns (-54.5 %)",
        "",
        "routines, time of all processes",
        "routine         first  second   change",
        "MPI_Recv     1.042 us  442 ns  -600 ns",
        "MPI_Barrier      0 ns   20 ns   +20 ns",
        "",
        "calls whose durations differ most",
        "call  second as  rank  routine   region     first  second   change  first at  second at",
        "e1    e2            1  MPI_Recv  solve   1.042 us  442 ns  -600 ns      0 ns       0 ns",
        "",
        "health        both traces complete",
    ]


def predicted(trace):
    """Return a trace as if its times were a prediction."""
    origin = Origin("predicted", hypotheses=("zero-wait e9",))
    return dataclasses.replace(trace, timeline=dataclasses.replace(trace.timeline, origin=origin))


@pytest.mark.parametrize(
    ("second", "is_", "difference", "said"),
    [
        (False, "error", 600, "predicted     1.100 us\nmeasured      500 ns, error +600 ns (+120.0 %)\n"),
        (True, "change", -600, "first         1.100 us\nsecond        500 ns, change -600 ns (-54.5 %)\n"),
    ],
)
def test_text__an_error_is_that_of_a_prediction(second, is_, difference, said):
    """Of two predictions neither is the truth. An error is predicted minus measured, in whatever order they stand."""
    before, after = late_sender(), late_sender(400, path="after.alog")
    block = document(predicted(before), predicted(after) if second else after)
    assert (block.difference_is, block.difference_ns) == (is_, difference)
    assert f"\n{said}" in text(block)
    assert "after.alog (predicted under zero-wait e9)" in text(block) or not second


def test_text__a_prediction_that_comes_second():
    block = document(late_sender(), predicted(late_sender(400, path="after.alog")))
    assert (block.difference_is, block.reference, block.difference_ns, block.steps[0].difference_ns) == ("error", "first", -600, -600)
    assert "\nmeasured      1.100 us\npredicted     500 ns, error -600 ns (-54.5 %)\n" in text(block)
    assert too_far(block, 0.5) == "late.alog, after.alog: the makespan is off by -600 ns (-54.55 %), must be at most 50 %"


def test_text__a_change_of_the_whole_runs():
    """From the return of e0 on 90 and 100 are left, of 1100 and 500."""
    shown = text(document(late_sender(), late_sender(400, path="after.alog"), start="e0"))
    assert "whole runs 1.100 us and 500 ns, change -600 ns\n" in shown


def test_text__of_a_prediction():
    """What is predicted is called so, and the model is told."""
    settings = {"hypotheses": ["zero-wait e1"], "model": hand_model(), "clock": "none", "start": "e0"}
    block = document(late_sender(), late_sender(path="after.alog"), calls=0, most=1, **settings)
    lines = text(block).splitlines()
    assert lines[0] == "late.alog (predicted under zero-wait e1) against after.alog"
    assert lines[2:10] == [
        "predicted     0 ns",
        "measured      90 ns, error -90 ns (-100.0 %)",
        "              the error asked for, at most 100 %, is kept",
        "because       computation in solve makes up 0 ns and 58 ns of the critical path, error -58 ns",
        "              on rank 1, where most of that is, it takes 0 ns and 58 ns in all",
        "from          the return of e0, 1.010 us and 1.010 us after the first instant of each run",
        "              whole runs 1.010 us and 1.100 us, error -90 ns",
        "              percentages are of the 90 ns compared of the measured run",
    ]
    assert any(line.startswith("model         by hand: L_ns=10 ") for line in lines)
    assert not any(line.startswith("calls whose") for line in lines)


def barriers(times, init=50):
    """Both ranks compute so long before each of their barriers, which take 10 ns; MPI_Init returns after `init`."""
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, init))
    for time in times:
        b.barrier(at=[(init + time, init + time + 10)] * 2)
        init += time + 10
    return b.trace()


@pytest.mark.parametrize(
    ("times", "outside", "told"),
    [
        ((100,) * 6, 0, "660 ns predicted, 660 ns measured: inside"),
        ((170, *(100,) * 5), 70, "660 ns predicted, 730 ns measured: outside, 70 ns (10.6 %) above it"),
        ((34, *(100,) * 5), -66, "660 ns predicted, 594 ns measured: outside, 66 ns (10.0 %) below it"),
    ],
)
def test_text__range_of_a_prediction(times, outside, told):
    """It is told of the runs after MPI_Init, and whether the measured one lies inside."""
    asked = {"hypotheses": ["speed rank:0=1"], "model": hand_model(), "clock": "none", "start": "start"}
    block = document(barriers((100,) * 6), barriers(times, 500), **asked)
    assert (block.predicted.predicted_ns, block.predicted.outside_ns) == (660, outside)
    assert (block.predicted.span.least_ns, block.predicted.span.most_ns) == (660, 660)
    assert text(block).splitlines()[4:7] == [
        "range         nothing that the trace leaves open changes it",
        f"              {told}",
        "              both without the start of processes and MPI_Finalize: no range is about these",
    ]


def compared(first, second, **settings):
    """Return what is told of two runs but for their times, up to what both are compared from."""
    return " ".join(text(document(first, second, calls=0, **settings)).split()).partition(" change ")[2].partition(" from ")[0]


EVEN, UNEVEN = (100,) * 12, (100, 130, 80, 110, 70, 120) * 2


def test_text__causes_of_what_is_no_more_than_chance():
    """Even runs of the same are alike. Uneven ones of 1280 and 1340 ns may differ so by chance: no cause is named. Three times as long is
    more than that.
    """
    even, uneven = barriers(EVEN), barriers(UNEVEN)
    told = compared(even, barriers((101, *EVEN[1:])))
    assert told.startswith("+1 ns (+0.1 %) chance not all of it: runs of the same lie up to 0 ns (0.0 %) apart")
    told = compared(uneven, barriers((*UNEVEN[:-1], 140, 40)))
    assert told.startswith("+70 ns (+5.2 %) chance may be all of it: runs of the same lie up to ")
    assert "because" not in told
    assert "what the change is made of" not in text(document(uneven, barriers((*UNEVEN[:-1], 140))))
    told = compared(uneven, barriers([3 * time for time in UNEVEN]))
    assert "chance not all of it: runs of the same lie up to " in told
    assert "because computation outside of regions makes up " in told


def test_text__chance_without_start_and_end():
    """What runs differ by at their end is told apart from what is between MPI_Init and MPI_Finalize, of which chance tells."""
    told = compared(finalized(100), finalized(9100))
    assert " between MPI_Init and MPI_Finalize the change is 0 ns: how long processes take to start and to end varies by itself" in told
    assert "because" not in told


def test_text__chance_where_processors_were_shared():
    shared = dataclasses.replace(barriers(UNEVEN), properties={SHARED: "a"})
    told = compared(shared, barriers([3 * time for time in UNEVEN]))
    assert "apart by what repeats in these, and 2.0 % between recordings (assumed), more where processes share processors" in told


def finalized(time):
    """Return the uneven run, whose MPI_Finalize takes so long."""
    b = Builder(2)
    b.call(0, "Init", at=(0, 50))
    b.call(1, "Init", at=(0, 50))
    now = 50
    for work in UNEVEN:
        b.barrier(at=[(now + work, now + work + 10)] * 2)
        now += work + 10
    for rank in (0, 1):
        b.call(rank, "Finalize", at=(now, now + time))
    return b.trace()


def test_text__range_of_a_prediction_in_a_file():
    """A trace does not hold it; and of two measured runs there is none."""
    block = document(predicted(late_sender()), late_sender(path="after.alog"))
    assert block.predicted is None
    assert "\nrange         not in a trace: compare the recorded run with the measured one, under the hypotheses\n" in text(block)
    assert "\nrange " not in text(document(late_sender(), late_sender(path="after.alog")))


@pytest.mark.parametrize(
    ("later", "outside", "told"),
    [
        (560, 0, "660 ns predicted, 660 ns measured: inside"),
        (561, 0, "660 ns predicted, 660 ns measured: the range is too wide to check that"),
        (561, -5, "660 ns predicted, 660 ns measured: outside, 5 ns (0.9 %) below it"),
    ],
)
def test_text__range_that_is_too_wide(later, outside, told):
    """100 sooner and 560 later than 660 are as wide as the run is long: to lie inside of more says nothing, beyond it does."""
    block = document(barriers((100,) * 6), barriers((100,) * 6, 500), None, ["speed rank:0=1"], hand_model(), "none")
    varies = Varies("computation", 0.5, 6, 6)
    span = replace(block.predicted.span, least_ns=560, most_ns=660 + later, sooner_ns=100, later_ns=later, varies=varies)
    lines = text(replace(block, predicted=replace(block.predicted, span=span, outside_ns=outside))).splitlines()
    at = lines.index(f"              {told}")
    said = " ".join("\n".join(lines[:at]).split()).partition(" range ")[2]
    assert said.startswith("not known, anything from 560 ns to 1.221 us: " if later == 561 else "560 ns to 1.220 us: computation")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("a", "a", ["both runs: a: {}"]),
        ("a", "", ["first run: a: {}"]),
        ("", "b", ["second run: b: {}"]),
        ("a", "b", ["first run: a: {}", "second run: b: {}"]),
        ("", "", []),
    ],
)
def test_text__shared_processors_are_said_first(first, second, told):
    """Of whichever recording, and that an incomplete one lacks something after it, not again in its health."""
    runs = (dataclasses.replace(CATALOGUE["unmatched"](), properties={SHARED: said}) for said in (first, second))
    block = " ".join(text(document(*runs)).partition("\n\n")[2].split())
    why = "waits and computation include waiting for a processor; record with a core for each before you compare"
    said = " ".join(["record again"] * bool(told) + [line.format(why) for line in told] + ["incomplete first run: "])
    assert block.startswith(said.rstrip())
    assert block.count("waiting for a processor") == len(told)


def test_text__moved_and_more_processes():
    one, other = Builder(1), Builder(2)
    for b, tags in ((one, (1, 2, 3)), (other, (2, 3, 1))):
        for tag in tags:
            b.send(0, 0, tag=tag, work=1500 if tag > 1 else tags[0] * 10)
    shown = text(document(one.trace(), other.trace()))
    assert "calls         3 the same, of which 1 at another place; 0 only in the first run, 0 only in the second run\n" in shown
    assert "processes     1 and 2: calls are the same only on those of both\n" in shown
    assert "e0    e2 moved      0  MPI_Send  -" in shown


@pytest.mark.parametrize(("alike", "said"), [(1, True), (2, False)])
def test_text__two_programs_are_said_first(alike, said):
    """Of eleven calls one is the same: less than a tenth; two are more."""
    one, other = Builder(1), Builder(1)
    for b, routine in ((one, "Comm_rank"), (other, "Comm_size")):
        for call in range(11):
            b.call(0, routine if call >= alike else "Wtime")
    told = text(document(one.trace(), other.trace())).splitlines()
    assert told[2].startswith("unlike        hardly any call is the same, 1 of 11: perhaps these are two programs") is said
    assert told[2 + said].startswith("first ")


def test_text__what_is_gone_is_named_and_no_other_program():
    """Without its barriers, most of its calls, a program is no other one: all that the second run calls is in the first, too."""
    one, other = Builder(2), Builder(2)
    for b in (one, other):
        b.send(0, 1)
        b.recv(1, 0)
        for _ in range(20 if b is one else 0):
            b.barrier()
    told = text(document(one.trace(), other.trace())).splitlines()
    assert told[2].startswith("first ")
    assert "calls         2 the same; 40 only in the first run (MPI_Barrier 40 times), 0 only in the second run" in told


def test_text__routines_that_only_one_run_calls():
    """Four routines are gone, of which three are named; one is new."""
    one, other = Builder(1), Builder(1)
    for k, routine in enumerate(("Wtime", "Comm_rank", "Comm_size", "Initialized")):
        for _ in range(4 - k):
            one.call(0, routine)
    other.call(0, "Finalized")
    for b in (one, other):
        b.call(0, "Wtick")
    gone = "MPI_Wtime 4 times, MPI_Comm_rank 3 times, MPI_Comm_size 2 times and 1 routine more"
    told = " ".join(text(document(one.trace(), other.trace())).split())
    assert f"calls 1 the same; 10 only in the first run ({gone}), 1 only in the second run (MPI_Finalized 1 time)" in told


def test_text__incomplete():
    shown = text(document(CATALOGUE["unmatched"](), CATALOGUE["unmatched"]()))
    assert shown.splitlines()[0] == "built against built  (INCOMPLETE trace)"
    assert shown.count("\nhealth        INCOMPLETE") == 2
    assert "\nfirst: built\n" in shown


def step_of(works, path="before.alog", late=False):
    """Return a run of a parallel step per row of `works`, of three processes; in each, rank 2 waits for a message of rank 1.

    If it is `late`, rank 2 computes behind its receive instead of before it.
    """
    b, now = Builder(3), 0
    for row in works:
        for rank in range(3):
            b.enter(rank, "step", at=now)
        b.send(1, 2, 1, at=(now + row[1], now + row[1]))
        b.recv(2, 1, at=(now + row[2] * (not late), now + row[1] + 12))
        end = now + max(row[0], row[1] + 12 + row[2] * late)
        b.barrier(at=[(now + row[0], end), (now + row[1], end), (now + row[1] + 12 + row[2] * late, end)])
        for rank in range(3):
            b.leave(rank, "step", at=end)
        now = end
    return dataclasses.replace(b.trace(path), parallel=np.array([True]))


def test_text__most_of_it_is_in_a_step():
    before, after = step_of([(900, 10, 0), (900, 10, 0)]), step_of([(900, 10, 0), (500, 10, 0)], "after.alog")
    assert (
        "because       computation in step makes up 1.800 us and 1.400 us of the critical path, change -400 ns\n"
        "              on rank 0, where most of that is, it takes 1.800 us and 1.400 us in all\n"
        "              by parallel step, most is in step#2: change -400 ns\n"
    ) in text(document(before, after))


def test_text__what_goes_on_beside_it():
    """Rank 2 computes 400 behind its receive, then before it: it takes as long, and is on the path no more."""
    before, after = step_of([(10, 600, 400)], late=True), step_of([(10, 600, 400)], "after.alog")
    assert "it takes 400 ns and 400 ns in all: what goes on beside it differs\n" in text(document(before, after))


def test_text__long_tables():
    """Of 40 processes those that are furthest off are shown."""
    runs = []
    for factor in (1, 2):
        b = Builder(40)
        for rank in range(40):
            b.call(rank, "Comm_rank", work=factor * rank * 100 + 10)
        runs.append(b.trace())
    lines = text(document(*runs)).splitlines()
    at = lines.index("ends of processes")
    assert [line.split()[0] for line in lines[at + 2 : at + 18]] == [str(rank) for rank in range(24, 40)]
    assert lines[at + 18] == "and 23 more, which differ less (--json lists all)"


@pytest.mark.parametrize(
    ("value", "whole", "text"), [(0, 0, "0 ns"), (5, 0, "+5 ns"), (-1, 10_000, "-1 ns (<0.1 %)"), (-12_340, 100_000, "-12.34 us (-12.3 %)")]
)
def test_relative(value, whole, text):
    assert relative(value, whole) == text


def test_largest_errors():
    """Errors of 0 3 -5 5 1: the largest first, equal ones by row, none that is 0."""
    off = np.array([0, 3, -5, 5, 1])
    assert [blocks.largest(np.abs(off), most).tolist() for most in (0, 1, 3, 9)] == [[], [2], [2, 3, 1], [2, 3, 1, 4]]


def test_missed():
    found = compare(predicted(late_sender()), late_sender(400))
    assert [report.missed(found, most) for most in (0, 1.19, 1.2, 1.21)] == [True, True, False, False]
    assert report.finite(float("inf")) is None


@pytest.mark.parametrize("name", one_of(3, 1))
def test_every_trace(name):
    trace = CATALOGUE[name]()
    block = document(trace, trace)
    assert (block.difference_ns, block.furthest) == (0, [])
    shown = text(block)
    assert shown.isascii()
    assert max(map(len, shown.splitlines())) <= 140


def test_text__of_80_columns():
    """The name of a place gives way, not the change."""
    before, after = step_of([(900, 10, 0)]), step_of([(500, 10, 0)], "after.alog")
    names = ("a_region_whose_name_is_rather_long_and_says_much_of_what_the_program_does_in_it",)
    block = document(*(dataclasses.replace(trace, names=names) for trace in (before, after)))
    with words.fitted(80):
        lines = text(block).splitlines()
    rows = lines[lines.index("what the change is made of, along the critical path of each run") + 1 :][:2]
    assert [row.split()[-1] for row in rows] == ["change", "%)"]
    assert max(map(len, rows)) <= 80


def counting(scale, instructions, cycles):
    """Return a run of one process that computes `scale` ns between two calls, with so many instructions and cycles."""
    b = Builder(1)
    b.call(0, "Comm_rank", at=(0, 10))
    b.call(0, "Comm_rank", at=(10 + scale, 20 + scale))
    columns = {
        "call": [0, 0, 1, 1],
        "counter": [0, 1, 0, 1],
        "entered": [0, 0, instructions, cycles],
        "returned": [0, 0, instructions, cycles],
    }
    names = ("instructions", "cycles")
    return dataclasses.replace(b.trace("run"), counters=table(tables.Counters, **columns), counter_names=names)


def test_scaling__is_the_product_of_its_factors():
    """1000 ns, 2000 instructions, 1000 cycles become 500 ns, 1600 instructions, 1000 cycles: 2 = 1.25 * 0.8 * 2."""
    block = document(counting(1000, 2000, 1000), counting(500, 1600, 1000))
    found = block.scaling
    assert (found.computation, found.instructions, found.ipc, found.frequency) == (2, 1.25, 0.8, 2)
    assert (found.reference_ipc, found.own_ipc, found.reference_ghz, found.own_ghz) == (2, 1.6, 1, 2)
    lines = text(block).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("how computation scales"))
    assert lines[begin : begin + 6] == [
        "how computation scales from the first to the second run: the product of the three below, above 100 % is faster",
        "                  first  second  scaling",
        "computation                      200.0 %",
        "  instructions                   125.0 %",
        "  IPC              2.00    1.60   80.0 %",
        "  frequency, GHz   1.00    2.00  200.0 %",
    ]


def test_scaling__only_where_both_counted():
    first = dataclasses.replace(counting(1000, 2000, 1000), counter_names=("instructions", "faults"))
    assert document(first, counting(500, 1600, 1000)).scaling is None


def test_text__regions_that_are_called_otherwise():
    def loop(line):
        b = Builder(2, work=0)
        for rank in range(2):
            with b.region(rank, f"loop @a.c:{line}"):
                b.compute(rank, 10 * line)
        b.barrier()
        return b.trace()

    block = document(loop(10), loop(12), clock="none")
    valid(block, "compare")
    told = text(block)
    assert "\nregions       called otherwise in the second run, told by their order: loop @a.c:12 is loop @a.c:10\n" in told
    assert "\nbecause       computation in loop @a.c:10 makes up 100 ns and 120 ns of the critical path" in told


def test_text__other_threads_of_as_many_processes():
    def team(threads):
        b = Builder(1, work=0)
        others = [b.thread(0) for _ in range(threads - 1)]
        b.compute(0, 100)
        b.team("omp_barrier", (0, *others))
        return b.trace()

    told = text(document(team(2), team(3), clock="none"))
    assert "\nthreads       2 of 1 process and 3 of 1 process: calls are the same only on those of both\n" in told
