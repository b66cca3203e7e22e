"""What `perwiz info --iterations` tells: worked by hand, and the picture."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest
from msgspec import to_builtins

from build import Builder
from perwiz import words
from perwiz.errors import UsageError
from perwiz.report.info import iterations as report
from perwiz.report.info.plot import plot
from perwiz.trace.parts.iterations import find


def steps(*times, also=()):
    """Return the trace of two ranks with so long steps, that of rank 1 10 ns longer; behind them another loop of rank 0."""
    b = Builder(2, latency=0)
    for ns in times:
        for rank in (0, 1):
            with b.region(rank, "step"):
                b.compute(rank, ns + 10 * rank)
    for ns in also:
        for rank in (0, 1):
            with b.region(rank, "write"):
                b.compute(rank, ns)
    return b.trace("run.alog")


def told(trace):
    return report.iterations_of(trace, find(trace))


def text(trace):
    its = told(trace)
    return words.facts(report.facts(its, trace.timeline.makespan)), report.lines(its)


def test_document__by_hand():
    assert to_builtins(told(steps(300, 100, 102, 98))) == {
        "found": 4,
        "why": "",
        "kind": "regions",
        "body": ["step"],
        "begin_ns": 0,
        "end_ns": 640,
        "fewest": 4,
        "most": 4,
        "shares_of_ns": 640,
        "incomplete": 0,
        "warm_up": 1,
        "told": 4,
        "interrupted": 0,
        "between": [],
        "trend": None,
        "median_ns": 105,
        "exceptions": [],
        "iterations": [
            {"number": k + 1, "time_ns": ns + 5, "shortest_ns": ns, "longest_ns": ns + 10, "slowest": {"rank": 1, "thread": 0}}
            for k, ns in enumerate((300, 100, 102, 98))
        ],
        "others": [],
    }


def test_text__by_hand():
    facts, table = text(steps(300, 100, 102, 98, 96, 94, 92, 90, also=(90, 90, 90)))
    assert facts == [
        "iterations    8, 1.052 us, 79.6 % of the makespan: step again and again",
        "warm-up       the first, 305 ns; the others 101 ns (median)",
        "trend         each iteration takes about 2 ns less than the one before, 105 ns to 97 ns; perwiz phases tells where they",
        "              change",
        "other loops   write, 3 times, 270 ns",
    ]
    assert table == [
        "iteration  number    mean  fastest process  slowest process  which",
        "first           1  305 ns           300 ns           310 ns      1",
        "median          5  101 ns            96 ns           106 ns      1",
        "last            8   95 ns            90 ns           100 ns      1",
        "shortest        8   95 ns            90 ns           100 ns      1",
        "longest         3  107 ns           102 ns           112 ns      1",
        "median, shortest and longest without the first",
    ]


def test_text__a_shorter_first_is_no_warm_up():
    facts, table = text(steps(50, 52, *[100] * 8))
    assert facts[1:] == [
        "warm-up       none, the first 2 take less: 56 ns on average; the others 105 ns (median)",
        "trend         none: times go up or down no more than by chance",
    ]
    assert table[-1] == "median, shortest and longest without the first 2"


def test_text__interrupted():
    """A query behind the third, tenth and twentieth of 30 steps: it is in three of them."""
    b = Builder(1)
    for number in range(30):
        with b.region(0, "step"):
            b.compute(0, 1000)
        if number in (2, 9, 19):
            with b.region(0, "query"):
                b.compute(0, 1)
    assert text(b.trace())[0][1] == "interrupted   3 have more in them: query"


def calls(times):
    """Return the trace of so many barriers, 1000 ns from one to the next, 10 ns long; and 500 ns behind the last."""
    b = Builder(2, latency=0)
    for number in range(times):
        b.barrier(at=[(1000 * number, 1000 * number + 10)] * 2)
    b.compute(0, 500)
    return b.trace("run.alog")


def test_text__the_last_of_calls_is_left_out():
    """Whether the 500 ns behind the last of six barriers are its own nobody knows."""
    assert told(calls(6)).told == 5
    assert text(calls(6))[0][0] == "iterations    6, 5.010 us, 90.9 % of the makespan: MPI_Barrier repeats"
    assert text(calls(6))[1][1:] == [
        "first           1  1.000 us         1.000 us         1.000 us      0",
        "median          3  1.000 us         1.000 us         1.000 us      0",
        "last            5  1.000 us         1.000 us         1.000 us      0",
        "shortest        1  1.000 us         1.000 us         1.000 us      0",
        "longest         5  1.000 us         1.000 us         1.000 us      0",
        "without number 6: how long it takes behind its last call is not known",
    ]


def test_text__steps():
    its = dataclasses.replace(find(calls(6)), kind="steps")
    assert report.facts(report.iterations_of(calls(6), its), 1)[0][1].endswith(": each ends with MPI_Barrier of all processes")


def test_text__few_and_many_names():
    b = Builder(1)
    for _ in range(3):
        for name in "abcdef":
            with b.region(0, name):
                b.compute(0, 100)
    facts, _ = text(b.trace())
    assert facts == [
        "iterations    3, 1.800 us, 100.0 % of the makespan: a, b, c, d and 2 more again and again",
        "warm-up       not told by so few",
        "trend         not told by so few",
    ]


def test_text__unequal_and_incomplete():
    its = dataclasses.replace(find(steps(100, 100, 100)), counts=np.array([3, 4]), incomplete=1)
    facts = report.facts(report.iterations_of(steps(100, 100, 100), its), 1)
    assert ("unequal", "processes iterate 3 to 4 times; listed are those that all have") in facts
    assert ("incomplete", "1 process ends within one more, which is left out") in facts


def test_text__none():
    facts, table = text(steps(100))
    assert (facts, table) == (["iterations    none: nothing that lasts repeats 3 times or more"], [])


def test_text__fits_a_narrow_terminal():
    with words.fitted(80):
        facts, table = text(steps(300, 100, 102, 98, 96))
    assert max(map(len, facts + table)) <= 80


@pytest.mark.slow
def test_plot__says_what_it_shows(tmp_path):
    """Its texts are shapes in the file, but its band, its lines and the grey behind the warm-up are there; the same each time."""
    trace = steps(*[300, 100, 102] + [100] * 1500)
    for name in ("a.svg", "b.svg"):
        plot(trace, find(trace), str(tmp_path / name), 3.5)
    first, second = (pathlib.Path(tmp_path / name).read_text(encoding="utf-8") for name in ("a.svg", "b.svg"))
    assert first == second
    assert ("#dddddd" in first, "FillBetween" in first) == (True, True)


@pytest.mark.slow
def test_plot__draws_what_the_table_tells(monkeypatch, tmp_path):
    """The line goes through the means of the five whose end is known, and the dashes lie at their median."""
    from matplotlib.axes import Axes

    drawn = {}
    monkeypatch.setattr(Axes, "plot", lambda _, x, y, *more, **kept: drawn.update(line=(x.tolist(), y.tolist())))
    monkeypatch.setattr(Axes, "axhline", lambda _, y, **kept: drawn.update(dashes=y))
    plot(calls(6), find(calls(6)), str(tmp_path / "it.png"))
    assert drawn == {"line": ([1, 2, 3, 4, 5], [1] * 5), "dashes": 1}


def test_plot__nothing_to_draw(tmp_path):
    trace = steps(100)
    with pytest.raises(UsageError) as error:
        plot(trace, find(trace), str(tmp_path / "it.png"))
    message = str(error.value).replace(str(tmp_path), "")
    assert message == "/it.png: run.alog has no iterations to draw, nothing that lasts repeats 3 times or more"
