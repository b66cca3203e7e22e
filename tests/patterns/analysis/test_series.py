"""Series of runs: the factors of POP against what BSC's tools print, worked by hand, and their laws."""

import dataclasses
import math
import pathlib

import hypothesis
import pytest
from hypothesis import strategies as st

import perwiz
from build import Builder, hand_model, table
from perwiz.errors import TraceError, UsageError
from perwiz.patterns.analysis.series import HISTORY, MULTIPLIED, STRONG, WEAK, Figures, cost, doubt, lost, measured, series, step
from perwiz.trace import tables
from perwiz.whatif.run import replayed

TRACES = pathlib.Path(__file__).parents[3] / "traces"
EPOCH = """
Number of processes;1;2;4;8;16
Parallel efficiency;99.925583;99.378252;97.349953;95.707736;95.151184
Load balance;100.000000;99.760930;98.687584;98.280683;99.248259
Communication efficiency;99.925583;99.616405;98.644580;97.382042;95.871892
Serialization efficiency;100.000000;99.842359;99.203493;98.282015;97.952863
Transfer efficiency;99.925583;99.773690;99.436599;99.084296;97.875538
Computation scalability;100.000000;95.500319;92.390414;81.340933;61.436394
Global efficiency;99.925583;94.906548;89.942024;77.849566;58.457456
IPC scalability;100.000000;99.916598;99.745711;93.982492;82.262861
Instruction scalability;100.000000;96.748633;95.788940;94.145829;91.017467
Frequency scalability;100.000000;98.792129;96.697961;91.930815;82.053509
Speedup;1.000000;1.899545;3.600360;6.232603;9.360158
Average IPC;1.871993;1.870432;1.867233;1.759346;1.539955
Average frequency (GHz);2.069905;2.044904;2.001556;1.902881;1.698430
Runtime (us);21898659.14;11528373.56;6082352.21;3513565.33;2339560.72
Runtime (ideal);21884758.97;11504370.09;6051059.08;3486349.43;2310335.96
Useful duration (maximum);21882362.82;11484151.34;5999910.80;3421581.67;2242981.13
Useful duration (total);21882362.82;22913392.37;23684668.07;26902030.73;35617915.65
Useful duration (ideal, max);21884758.97;11486234.50;6002862.00;3426454.46;2263040.22
Useful instructions (total);84790848422.00;87640358419.00;88518412143.00;90063308642.00;93158874793.00
Useful cycles (total);45294421893.00;46855679955.00;47406198069.00;51191361663.00;60494538119.00
"""
"""EPOCH on 1 to 16 processes, as basicanalysis and Dimemas of the Barcelona Supercomputing Center have it (pypop, modelfactors.csv)."""
ROWS = {name: values for name, *values in (line.split(";") for line in EPOCH.strip().split("\n"))}


def epoch(column):
    """Return the figures of a run, times in us, and what is printed of it by name."""
    told = {name: float(values[column]) for name, values in ROWS.items()}
    used = (
        "Useful duration (total)",
        "Useful duration (maximum)",
        "Runtime (ideal)",
        "Useful instructions (total)",
        "Useful cycles (total)",
    )
    return Figures(int(told["Number of processes"]), told["Runtime (us)"], *(told[name] for name in used)), told


@pytest.mark.parametrize("column", range(5))
def test_epoch__to_the_printed_digits(column):
    """Dimemas' own computation is up to 0.9 % longer than measured, and serialisation is of that; transfer is what remains."""
    (figures, told), (reference, _) = epoch(column), epoch(0)
    found = step(figures, reference)
    percents = {
        "Parallel efficiency": figures.parallel,
        "Load balance": figures.load_balance,
        "Communication efficiency": figures.communication,
        "Serialization efficiency": dataclasses.replace(figures, longest=told["Useful duration (ideal, max)"]).serialisation,
        "Computation scalability": found.computation,
        "Global efficiency": found.global_efficiency,
        "IPC scalability": found.ipc,
        "Instruction scalability": found.instructions,
        "Frequency scalability": found.frequency,
    }
    assert {name: f"{100 * value:.6f}" for name, value in percents.items()} == {name: ROWS[name][column] for name in percents}
    assert figures.communication / percents["Serialization efficiency"] == pytest.approx(told["Transfer efficiency"] / 100, abs=1e-8)
    assert f"{found.speedup:.6f} {figures.ipc:.6f}" == f"{ROWS['Speedup'][column]} {ROWS['Average IPC'][column]}"
    assert f"{figures.ghz / 1000:.6f}" == ROWS["Average frequency (GHz)"][column]


def test_step__by_hand():
    """One process computes 80 of 80; four 40 20 20 20 of 60, ideally 50.

    speed-up 80 / 60 of 4: balance 25 / 40, serialisation 40 / 50, transfer 50 / 60, computation 80 / 100; 4 * 5/8 * 4/5 * 5/6 * 4/5 = 4/3
    """
    one, four = Figures(1, 80, 80, 80, 80), Figures(4, 60, 100, 40, 50)
    found = step(four, one)
    assert (found.ideal, found.speedup, found.load_balance, found.serialisation) == (4, 80 / 60, 0.625, 0.8)
    assert (found.transfer, found.computation, found.instructions) == (50 / 60, 0.8, None)
    assert found.global_efficiency == pytest.approx(1 / 3)
    weak = step(four, one, weak=True)
    assert (weak.ideal, weak.speedup, weak.computation) == (4, 4 * 80 / 60, 3.2)
    assert cost(0.8) == 0.25


AMOUNTS = st.floats(1, 1e4)
FIGURES = st.builds(Figures, st.integers(1, 512), *[AMOUNTS] * 6)


@hypothesis.given(FIGURES, FIGURES, st.booleans())
def test_law__the_factors_make_up_the_speedup(run, reference, weak):
    found = step(run, reference, weak)
    assert found.reached == pytest.approx(math.prod(getattr(found, name) for name in MULTIPLIED))
    assert found.computation == pytest.approx(found.instructions * found.ipc * found.frequency)
    assert math.prod(1 + cost(getattr(found, name)) for name in MULTIPLIED) == pytest.approx(1 / found.reached)


@hypothesis.given(FIGURES, st.booleans())
def test_law__of_itself_nothing_is_lost(run, weak):
    found = step(run, run, weak)
    assert (found.speedup, found.ideal, *(getattr(found, name) for name in MULTIPLIED)) == (1, 1, 1, 1, 1, 1)


def program(*computed, region="f", late=0, early=0):
    """Processes that leave MPI_Init at 1000, the last so much earlier, compute so long from then on in a region, and meet in a barrier.

    It lasts until `late` after the last enters, then comes MPI_Finalize. What is before 1000 and behind that entry does not count.
    """
    b, ranks, end = Builder(len(computed)), range(len(computed)), 1000 + max(computed) + late
    for rank, ns in enumerate(computed):
        b.compute(rank, 500)
        b.call(rank, "Init", at=(500, 1000 - early * (rank > 0)))
        with b.region(rank, region, at=(1000, 1000 + ns)):
            pass
    b.everyone("Barrier", at=[(1000 + ns, end) for ns in computed])
    for rank in ranks:
        b.call(rank, "Finalize", at=(end, end + 700))
    return b


def of(*computed, path="run", **more):
    return measured(replayed(program(*computed, **more).trace(path), hand_model()))


def test_measured__by_hand():
    """Four compute 40 20 20 20 and are through the barrier 10 after the first is there: without transfer it takes 40 of these 50."""
    found = of(40, 20, 20, 20, late=10)
    assert (found.processes, found.size, found.init, found.health.incomplete) == (4, (4, 4), True, False)
    assert found.figures == Figures(4, 50, 100, 40, 40)
    assert found.call_paths == {"f": 100, "MPI_Barrier": 10 + 30 * 3}
    assert (found.regions, found.routines) == ({"f"}, {"MPI_Init": 4, "MPI_Barrier": 4, "MPI_Finalize": 4})


def test_measured__nothing_computed():
    with pytest.raises(TraceError, match=r"^run: no process computes after MPI_Init, must be a run that does$"):
        of(0, 0, late=10)


def test_lost__adds_up_to_the_distance_from_the_ideal():
    """One takes 80; four 50, ideally 20: 30 lost, of which 100 / 4 - 80 / 4 in f and the rest in the barrier."""
    one, four = of(80), of(40, 20, 20, 20, late=10)
    rows = lost(four, one)
    assert [(row.call_path, row.reference, row.run, row.lost) for row in rows] == [("MPI_Barrier", 0, 25, 25), ("f", 20, 25, 5)]
    assert sum(row.lost for row in rows) == four.figures.time - one.figures.time / 4
    weak = {row.call_path: row.lost for row in lost(four, one, weak=True)}
    assert weak == {"MPI_Barrier": 25, "f": 25 - 80}


TWO, FOUR = ((40, 20), (30, 20, 20, 20))


def test_series__sizes_are_sorted_and_grouped():
    runs = [of(*FOUR, path="a"), of(80, path="b"), of(*TWO, path="c"), of(90, path="d"), of(70, path="e")]
    found = series(runs, "abcde")
    assert (found.kind, [point.label for point in found.points], found.reference.label) == (STRONG, ["1", "2", "4"], "1")
    assert [[each.path for each in point.recordings] for point in found.points] == [["b", "d", "e"], ["c"], ["a"]]
    assert [point.middle.path for point in found.points] == ["b", "c", "a"]
    assert (found.step(found.newest).speedup, series(runs, "abcde", weak=True).kind) == (80 / 30, WEAK)


def test_series__of_an_even_number_the_sooner_of_both_in_the_middle():
    runs = [of(ns, path=str(ns)) for ns in (90, 70, 100, 80)] + [of(50)]
    assert series(runs, ["a"] * 4 + ["b"]).points[0].middle.path == "80"


def test_series__history_keeps_its_order():
    runs = [of(ns, 10, path=name) for ns, name in ((40, "old"), (44, "new"), (41, "old2"))]
    found = series(runs, ["v9", "v10", "v9"], named=True)
    assert (found.kind, [point.label for point in found.points]) == (HISTORY, ["v9", "v10"])
    three = series(runs, ["x", "y", "z"])
    assert [series(runs, ["x", "y", "z"], against=name).reference.label for name in ("", "x", "y", "previous")] == ["x", "x", "y", "y"]
    assert cost(three.step(three.points[1]).reached) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        ([(40,), (30, 20)], {"named": True}, "--labels: these runs are named by their sizes, 1, 2; labels are for runs of one size"),
        ([(40, 10), (30, 20)], {"weak": True}, "--weak: all runs have 2 processes, must be several sizes"),
        ([(40,), (30, 20)], {"against": "8"}, "--against 8: no such run, must be previous or one of 1"),
        ([(40,), (30, 20)], {"against": "2"}, "--against 2: is the last of the series itself, must be another one"),
        ([(40,), (30, 20), (30, 20)], {}, "r2: the same recording as r1, must be another one"),
    ],
)
def test_series__refusals(runs, settings, message):
    with pytest.raises(UsageError) as caught:
        series([of(*run, path=f"r{k}") for k, run in enumerate(runs)], [f"r{k}" for k in range(len(runs))], **settings)
    assert str(caught.value) == message


def test_series__one_label():
    with pytest.raises(UsageError) as caught:
        series([of(40, path="a"), of(41, path="b")], ["x", "x"], named=True)
    assert str(caught.value) == "a: all runs are of one size and label, x; must be two or more to compare"


def test_series__other_programs():
    with pytest.raises(TraceError) as caught:
        series([of(40, path="a"), of(30, 20, path="b", region="g")], "ab")
    assert str(caught.value) == "a, b: no region is in both, f and g; must be runs of one program"


def test_doubt():
    """Of two programs; of sizes that compute as much together, taken for weak scaling; of ones that grow, taken for strong."""
    one, two, four = of(80, path="a"), of(40, 40, path="b"), of(40, 40, 40, 40, path="c")
    told = "all processes together compute 1.00 times as much, where 2 times as many do: is the problem the same? then without --weak"
    assert [doubt(series([one, two], "ab", weak=weak)) for weak in (False, True)] == ["", told]
    told = "all processes together compute 2.00 times as much, where 2 times as many do: does the problem grow? then with --weak"
    assert [doubt(series([two, four], "bc", weak=weak)) for weak in (True, False)] == ["", told]
    other = dataclasses.replace(of(41, 40, path="d"), routines={"MPI_Init": 2, "MPI_Send": 9, "MPI_Recv": 5})
    told = "perhaps two programs: 66.7 % of the calls of b are MPI_Barrier, MPI_Finalize, which the other never calls"
    assert doubt(series([two, other], "bd")) == told
    assert doubt(series([two, of(41, 40, path="e")], "be")) == ""


def test_series__threads_are_counted_as_processes():
    """Two processes of two threads each, and the same if these had one: ideally half as fast."""
    both = measured(replayed(perwiz.read(str(TRACES / "team-static.alog.gz"))))
    assert both.size == (4, 2)
    half = dataclasses.replace(both, figures=dataclasses.replace(both.figures, locations=2, time=3 * both.figures.time))
    found = series([both, half], "ab")
    assert [point.label for point in found.points] == ["2x1", "2x2"]
    assert (found.step(found.newest).ideal, found.step(found.newest).speedup) == (2, 3)


def test_measured__counters_of_the_same_part():
    """Two compute 40 and 20 from 1000 on: one instruction and two cycles a ns. What is counted in calls does not count.

    Nor do the 100 and 200 in the 100 ns that the second is out of MPI_Init before the first.
    """
    calls = [(0, 0, 3, 5), (1, 0, 45, 46), (2, 0, 46, 90), (3, 0, 0, 7), (4, 0, 127, 130), (5, 0, 130, 190)]
    cycles = [(0, 1, 3, 5), (1, 1, 85, 86), (2, 1, 86, 90), (3, 1, 0, 7), (4, 1, 247, 250), (5, 1, 250, 290)]
    call, counter, entered, returned = zip(*sorted([*calls, *cycles]), strict=True)
    trace = dataclasses.replace(
        program(40, 20, early=100).trace(),
        counters=table(tables.Counters, call=call, counter=counter, entered=entered, returned=returned),
        counter_names=("PAPI_TOT_INS", "PAPI_TOT_CYC"),
    )
    figures = measured(replayed(trace, hand_model())).figures
    assert (figures.instructions, figures.cycles, figures.ipc, figures.ghz) == (60, 120, 0.5, 2)
