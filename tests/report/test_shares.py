"""What percentages are of, worked by hand; each report says so, and counts by it."""

from __future__ import annotations

import pathlib

import pytest

import perwiz
from build import Builder, hand_model
from perwiz import words
from perwiz.report import blocks
from perwiz.report.balance import document as balance
from perwiz.report.bound import document as bound
from perwiz.report.critical import document as critical
from perwiz.report.critical import text as critical_text
from perwiz.report.curve import document as curve
from perwiz.report.curve import plot as curve_plot
from perwiz.report.domino import document as domino
from perwiz.report.domino import text as domino_text
from perwiz.report.page import page
from perwiz.report.page.analyses import gathered
from perwiz.report.page.panels import fixes, states
from perwiz.report.patterns import document as patterns
from perwiz.report.picture import timeline
from perwiz.report.predict import document as prediction
from perwiz.report.predict.text import text as predict_text
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.limits.balance import balance as balanced
from perwiz.whatif.limits.bound import bound_of
from perwiz.whatif.limits.critical import critical as path_of
from perwiz.whatif.limits.curve import curve as curve_of
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import ranking
from perwiz.whatif.worth.domino import domino as paths_of

TRACES = pathlib.Path(__file__).parents[2] / "traces"


def late():
    """Return a run of 1000 ns, 900 of them in MPI_Init, in which a receiver then waits 50 of 90 ns for its message.

    A message takes o + L = 12 ns; rank 0 computes 38 and sends at 938, rank 1 receives from 900 to 950 and computes 50.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 900))
    with b.region(0, "step"):
        b.compute(0, 38)
    b.send(0, 1)
    with b.region(1, "step"):
        b.recv(1, 0)
        b.compute(1, 50)
    return b.trace("late.alog")


def ranked(found):
    return domino.document(found, ranking.rank(found.run), 1)


def test_of():
    """Whatever is gained: one base for all that is said of a run."""
    assert blocks.shares_of(late(), 1000) == 100
    b = Builder(1)
    b.compute(0, 10)
    assert blocks.shares_of(b.trace(), 10) == 10, "no MPI_Init is shown"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            lambda: predict_text(prediction.document(predict(late(), "zero-wait e3", hand_model()), 1)),
            ["950 ns, gain 50 ns (50.0 %); how much it varies is not known"],
        ),
        (lambda: domino_text.text(ranked(paths_of(late(), hand_model())), 1), ["gain 50 ns (50.0 %)", "50 ns  50.0 %"]),
        (lambda: balance.text(balance.document(balanced(late(), ["step"], hand_model()), 1)), ["percentages are of the 100 ns"]),
        (lambda: curve.text(curve.document(curve_of(late(), "L", 0, 20, hand_model()))), ["1 %         +1 ns"]),
    ],
)
def test_reports(text, facts):
    shown = text()
    assert "percentages are of the 100 ns after MPI_Init\n" in shown
    for fact in facts:
        assert fact in shown


def test_limits():
    """What limits the run is of the time that gains are of; no process computes before the last has left MPI_Init in it."""
    block = ranked(paths_of(late(), hand_model()))
    limits = block.limits
    calls = limits.calls_and_network_ns
    parts = (limits.computation_ns, limits.imbalance_ns, limits.start_ns, limits.waiting_in_turn_ns, calls, limits.end_ns)
    assert (limits.time_ns, sum(parts), block.shares_of_ns) == (100, 100, 100)
    assert "of the 100 ns after MPI_Init" in " ".join(domino_text.text(block).partition("\nfirst change")[0].split())


def test_limits__who_leaves_mpi_init_first_computes_before():
    """Rank 1 leaves MPI_Init 700 before rank 0, and computes 800, 100 of that behind it; rank 0 computes 300 then, and nobody waits.

    That rank 0 computes 100 more than the mean then is no imbalance: on average both have computed 350 by then, and it nothing.
    """
    b = Builder(2, work=0)
    b.call(0, "Init", at=(0, 900))
    b.compute(0, 300)
    b.call(1, "Init", at=(0, 200))
    b.compute(1, 800)
    limits = ranked(paths_of(b.trace(), hand_model())).limits
    parts = (limits.time_ns, limits.computation_ns, limits.imbalance_ns, limits.start_ns, limits.waiting_in_turn_ns)
    assert parts == (300, 200, 0, 100, 0)


def test_limits__who_leaves_mpi_init_last_may_have_more_work_too():
    """Rank 1 leaves it 50 earlier and computes 150, 100 of it behind; rank 0 then 300: 100 above the mean, of which 25 as it came later."""
    b = Builder(2, work=0)
    b.call(0, "Init", at=(0, 900))
    b.compute(0, 300)
    b.call(1, "Init", at=(0, 850))
    b.compute(1, 150)
    block = ranked(paths_of(b.trace(), hand_model()))
    assert (block.limits.computation_ns, block.limits.imbalance_ns, block.limits.start_ns) == (200, 75, 25)
    assert "late start (others left MPI_Init before) 8.3 %" in domino_text.text(block)


def test_limits__mpi_finalize_is_no_transfer():
    """Both compute 100 behind MPI_Init, then they are in MPI_Finalize for 50, and rank 0 exits 10 later."""
    b = Builder(2, work=0)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 900))
        b.compute(rank, 100)
        b.call(rank, "Finalize", at=(1000, 1050))
    b.compute(0, 10)
    block = ranked(paths_of(b.trace(), hand_model()))
    assert (block.limits.time_ns, block.limits.computation_ns, block.limits.calls_and_network_ns) == (160, 100, 0)
    assert (block.limits.end_ns, block.limits.exit_ns) == (60, 10)
    assert "limited by    MPI_Finalize 31.2 %, after MPI_Finalize 6.2 %; computation 62.5 %\n" in domino_text.text(block)


def test_critical__slack():
    """Counts are by parts of the 100 ns: 0.1, 1, 5 and 10."""
    block = critical.document(path_of(late(), hand_model()), 1)
    assert block.shares_of_ns == 100
    assert [row.calls for row in block.slack.within] == [int((path_of(late(), hand_model()).slack <= n).sum()) for n in (0, 0, 1, 5, 10)]
    assert "\n              percentages are of the 100 ns after MPI_Init\n" in critical_text.text(block)


def test_critical__parts_add_up_to_what_shares_are_of():
    """Of the path the 900 ns until both have left MPI_Init are one line; its other parts are 100 % of the 100 ns behind them."""
    block = critical.document(path_of(late(), hand_model()), 9)
    assert (block.path.start_ns, block.path.total_ns) == (900, 1000)
    for parts in (block.processes, block.regions, block.longest):
        assert sum(getattr(part, "total_ns", 0) + getattr(part, "length_ns", 0) for part in parts) == 100
    lines = critical_text.text(block).splitlines()
    assert "              900 ns until the last process has left MPI_Init" in lines
    assert "              88 ns (88.0 %) computation: between calls" in lines


@pytest.mark.slow
def test_curve__the_picture_marks_what_the_text_says(monkeypatch):
    """1 % of the 100 ns after MPI_Init is a latency more of 1 ns, 2 and 5 % are 2 and 5 ns; of the 1000 ns they would be 10, 20 and 50."""
    figures = []
    monkeypatch.setattr("perwiz.report.curve.plot.save", lambda draw, path: figures.append(draw()))
    found = curve_of(late(), "L", most=16, model=hand_model(), clock="none")
    curve_plot.plot(found, "curve.svg")
    drawn = [line.get_xydata().tolist() for line in figures[0].axes[0].lines if line.get_linestyle() == "--"]
    assert [(x, top) for (_, _), (x, top) in drawn] == [(11, 1.001), (12, 1.002), (15, 1.005)]
    assert [row.at for row in curve.tolerances(found)] == [11, 12, 15, 20]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["late", "npb-is.S-4", "npb-mg.S_timens-4", "srtest.alog"])
def test_law__one_base_in_text_json_page_and_picture(tmp_path, name):
    """What all waits are worth, and the best call: the same share wherever it is told."""
    trace = late() if name == "late" else perwiz.read(str(TRACES / name))
    answer = predict(trace, "zero-wait all", hand_model())
    told = prediction.document(answer, 1)
    share = f"{words.duration(told.gain_ns)} ({words.percent(told.gain_ns, told.shares_of_ns)})"
    assert f"gain {share}" in predict_text(told)
    picture = tmp_path / "run.svg"
    timeline.plot(answer.trace, [timeline.Row("recorded", answer.recorded), timeline.Row("then", answer.predicted)], str(picture))
    assert f"gain {share}" in picture.read_text()
    report = gathered(trace, "zero-wait all", hand_model())
    run, listed = report.run, report.ranked
    base = page.head(report)["shares_of"]
    whole = "" if base == run.makespan else f"percentages are of the {words.duration(base)} after MPI_Init"
    assert whole in picture.read_text()
    bases = [
        *(told.shares_of_ns, listed.shares_of_ns, critical.document(report.critical, 1).shares_of_ns),
        *(bound.document(bound_of(run)).shares_of_ns, curve.document(curve_of(trace, "L", 0, 9000, hand_model())).shares_of_ns),
        patterns.document(report.states.run, report.states.findings, report.states.worth, None, 1).shares_of_ns,
        states.document(report.states)["whole"],
        compare(trace, trace).first.makespan,
    ]
    assert bases == [base] * len(bases)
    fixed = dict(map(tuple, fixes.document(report)["answer"]))
    assert f" ({words.percent(listed.replayed_ns - listed.bound_ns, base)}), if no call waited" in fixed["no waits"]
    if listed.ranked:
        gained = listed.ranked[0].head.gain_ns
        share = f"{words.duration(gained)} ({words.percent(gained, base)})"
        assert share in page.head(report)["best"][0][1]
        assert share in domino_text.text(listed)
