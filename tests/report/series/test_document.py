"""The report of a series: its document, text, page and picture, of records made by hand."""

import dataclasses
import html.parser
import re

import pytest

from documents import valid
from perwiz.patterns.analysis.series import Figures, Recording, series
from perwiz.report.series.document import Asked, document
from perwiz.report.series.page import page
from perwiz.report.series.plot import places, plot
from perwiz.report.series.text import longer, text, too_much


@dataclasses.dataclass
class Whole:
    """The health of a complete trace."""

    incomplete = False
    holes = {}  # noqa: RUF012


def recording(name, processes, *told, regions=("f",)):
    """`told`: time, computation of all, the most of any, ideal time, instructions and cycles; all computation is in f."""
    figures = Figures(processes, *told)
    paths = {"f": figures.useful, "MPI_Barrier": processes * figures.time - figures.useful}
    return Recording(name, processes, figures, True, paths, frozenset(regions), {"MPI_Barrier": 4}, name.encode(), Whole())


ONE = recording("r1", 1, 8_000_000, 8_000_000, 8_000_000, 8_000_000, 8e6, 16e6)
FOUR = recording("r4", 4, 4_000_000, 10_000_000, 4_000_000, 4_000_000, 10e6, 20e6)
"""Eight ms of one process; four compute 10 ms, one of them 4: speed-up 2 of 4, 5/8 by balance and 4/5 by instructions."""


def found(*runs, asked=None, names="abcdef", unread=None, **settings):
    return document(series(runs, names[: len(runs)], **settings), 8, asked or Asked(), (None, None), unread or {})


def test_document():
    block = valid(found(ONE, FOUR, asked=Asked(0.5, 0.6)), "series")
    assert [(row["name"], row["factor"]) for row in block["factors"]] == [
        ("load_balance", 0.625),
        ("serialisation", 1),
        ("transfer", 1),
        ("computation", 0.8),
        ("instructions", 0.8),
        ("ipc", 1),
        ("frequency", 1),
    ]
    assert [(row["call_path"], row["expected_ns"], row["time_ns"]) for row in block["call_paths"]] == [
        ("MPI_Barrier", 0, 1_500_000),
        ("f", 2_000_000, 2_500_000),
    ]
    four = block["points"][1]
    assert (four["speedup"], four["ideal_speedup"], four["global_efficiency"], four["parallel"]) == (2, 4, 0.5, 0.625)
    assert (block["max_loss"]["missed"], block["min_efficiency"]["missed"], block["noise"]) == (True, False, None)


def test_text__of_threads_that_hardly_compute():
    """Two processes have four threads, of which two do not compute: the ideal speed-up is of four."""
    last = dataclasses.replace(FOUR, processes=2, idle=2)
    block = found(ONE, last)
    assert [(point.threads, point.idle) for point in block.points] == [(1, 0), (4, 2)]
    told = " ".join(text(block).split())
    assert "threads all are counted, whatever teams they form: 2 of 4 in 2x2 compute less than a tenth of the busiest" in told
    assert "threads all are counted" not in " ".join(text(found(ONE, FOUR)).split())


def test_text__of_a_scaling_series():
    lines = text(found(ONE, FOUR, asked=Asked(2.0, 0.8))).split("\n")
    assert lines[:10] == [
        "r1 to r4: strong scaling, 2 runs",
        "",
        "speed-up      2 where 4 is ideal (50.0 %), from 1 process to 4 processes: 8.000 ms and 4.000 ms",
        "noise         not known: recorded too seldom, and too little repeats in one recording",
        "lost most     load balance 0.625: the run is 60 % longer for it",
        "most in       MPI_Barrier: 1.500 ms of a process, 0 ns with the ideal speed-up",
        "ask next      perwiz balance r4",
        "threshold     the loss asked for, at most 200 %, is kept",
        "              the parallel efficiency asked for, at least 80 %, is missed: 62.5 %",
        "",
    ]
    assert lines[13] == (
        "4          4.000 ms     2.000   50.0 %    62.5 %   62.5 %    100.0 %   100.0 %   80.0 %   80.0 %  100.0 %  100.0 %"
    )
    assert lines[20:25] == [
        "computation      8.000 ms     10.00 ms   0.800    +25.0 %",
        "  instructions      8e+06        1e+07   0.800    +25.0 %",
        "  IPC                 0.5          0.5   1.000     +0.0 %",
        "  frequency     2.000 GHz    2.000 GHz   1.000     +0.0 %",
        "product          8.000 ms     4.000 ms   0.500   +100.0 %",
    ]


def test_text__of_weak_scaling():
    """Four do 32 ms of work, four times that of one, in 10 ms: 8 would be ideal."""
    shown = text(found(ONE, recording("x", 4, 10_000_000, 32_000_000, 8_000_000, 10_000_000), weak=True)).split("\n")
    assert shown[0] == "r1 to x: weak scaling, 2 runs"
    assert shown[2] == "speed-up      3.2 of the work done where 4 is ideal (80.0 %), from 1 process to 4 processes: 8.000 ms and 10.00 ms"
    assert shown[4] == "lost most     serialisation 0.800: the run is 25 % longer for it"


@pytest.mark.parametrize(
    ("told", "most", "asks"),
    [
        ((4e6, 8e6, 4e6, 4e6), "load balance 0.500", "perwiz balance x"),
        ((4e6, 8e6, 2e6, 4e6), "serialisation 0.500", "perwiz domino x"),
        ((4e6, 8e6, 2e6, 2e6), "transfer 0.500", "perwiz curve x"),
        ((4e6, 16e6, 4e6, 4e6), "computation 0.500", "perwiz info x --regions"),
        (
            (4e6, 16e6, 4e6, 4e6, 16e6, 32e6),
            "computation 0.500, of which instructions 0.500, IPC 1.000, frequency 1.000",
            "perwiz info x --counters",
        ),
    ],
)
def test_largest_loss__and_what_to_ask(told, most, asks):
    shown = text(found(ONE, recording("x", 4, *told)))
    assert f"\nlost most     {most}: the run is 100 % longer for it\n" in shown
    assert f"\nask next      {asks}\n" in shown


def test_history__says_what_was_gained():
    block = found(FOUR, recording("better", 4, 3_000_000, 10_000_000, 2_500_000, 3_000_000, 10e6, 20e6))
    assert text(block).split("\n")[2:6] == [
        "time          25 % shorter than a: 4.000 ms and 3.000 ms",
        "noise         not known: recorded too seldom, and too little repeats in one recording",
        "gained most   load balance 1.600: the run is 37.5 % shorter for it",
        "lost most     serialisation 0.833: the run is 20 % longer for it",
    ]
    assert block.next == "perwiz compare r4 better"


def test_nothing_lost():
    block = found(FOUR, dataclasses.replace(FOUR, path="same", digest=b""))
    assert (block.next, text(block).split("\n")[4]) == ("", "lost most     nothing: no factor costs half a percent of the time")


def test_notes__what_differs():
    other = recording("x", 4, 4e6, 8e6, 4e6, 4e6, regions=("f", "g", "h", "i", "j"))
    assert text(found(FOUR, other, unread={"y": "y: no such file"})).partition("\nmeasured")[2].split("\n")[1:] == [
        "counters      not both instructions and cycles counted in b: their factors are unknown there",
        "differ        4 regions only in b: g, h, i and 1 more",
        "not read      y: no such file",
    ]


def test_thresholds__not_checked_if_something_could_not_be_read():
    block = found(ONE, FOUR, asked=Asked(0.0, 1.0), unread={"y": "y: no such file"})
    assert (block.max_loss, block.min_efficiency, too_much(block)) == (None, None, "")


def test_too_much():
    assert too_much(found(ONE, FOUR, asked=Asked(0.3))) == (
        "r4 against r1: 100 % longer than ideal, 60 % longer for load balance, must be at most 30 %"
    )
    assert too_much(found(ONE, FOUR, asked=Asked(1.0))) == ""


@pytest.mark.parametrize(("share", "said"), [(0.051, "5.1 % longer"), (-0.03, "3 % shorter"), (0.0004, "as long"), (0, "as long")])
def test_longer(share, said):
    assert longer(share) == said


def test_page__loads_nothing_and_shows_names_as_they_are():
    """Names come from files and traces: none becomes markup, and no bytes of them reach a reader as they are."""
    evil = dataclasses.replace(FOUR, path="<script>\x1b", call_paths={"<b>\u202e": 1.0})
    shown = page(found(FOUR, evil, names=["<i>", "b\n"], asked=Asked(0.1)))
    parser = html.parser.HTMLParser()
    tags = set()
    parser.handle_starttag = lambda tag, attributes: tags.add((tag, *(name for name, _ in attributes if name in ("src", "href"))))
    parser.feed(shown)
    assert {tag for tag, *_ in tags}.isdisjoint({"script", "i ", "b", "img", "link", "iframe"})
    assert all(len(tag) == 1 for tag in tags)
    assert "default-src 'none'" in shown
    assert re.findall("[\x00-\x09\x0b-\x1f\u202e]", shown) == []


def test_page__draws_every_recording():
    """Two points, one of three recordings; of each figure a dot per point."""
    more = [
        dataclasses.replace(FOUR, path=f"r{k}", digest=bytes([k]), figures=dataclasses.replace(FOUR.figures, time=4e6 + k))
        for k in range(3)
    ]
    shown = page(found(ONE, *more))
    assert shown.count("<polyline") == 2 + 9
    assert shown.count("<circle") == 2 + 9 * 2
    assert page(found(*more, FOUR, names="aaab", named=True)).count("<circle") == 4 + 9 * 2


def test_places__the_ideal_speed_up_is_a_line():
    assert places(found(ONE, recording("two", 2, 4e6, 8e6, 4e6, 4e6), FOUR)) == [0, 1, 2]
    assert places(found(FOUR, dataclasses.replace(FOUR, path="b", digest=b""))) == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, 3.5])
def test_plot(width, tmp_path):
    plot(found(ONE, FOUR), str(tmp_path / "a.svg"), width)
    plot(found(FOUR, dataclasses.replace(FOUR, path="b", digest=b"")), str(tmp_path / "b.png"), width)
    drawn = (tmp_path / "a.svg").read_text()
    assert all(f"<!-- {name} -->" in drawn for name in ("speed-up", "load balance", "processes", "r1 to r4: strong scaling, 2 runs"))
    assert (tmp_path / "b.png").read_bytes()[:4] == b"\x89PNG"
