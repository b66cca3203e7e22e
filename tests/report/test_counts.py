"""What reports say of counters beside their own tables: columns of rates, factors of scaling, the efficiencies that have them."""

import dataclasses

import numpy as np
import pytest

from build import Builder, hand_model, table
from perwiz.patterns.analysis.causes import explain
from perwiz.patterns.analysis.counters import NOT_COUNTED, Scaling, Work
from perwiz.patterns.search import search
from perwiz.report import counts
from perwiz.report.patterns import causes
from perwiz.trace import tables
from perwiz.whatif.run import replayed


def run(names=("instructions", "cycles")):
    """Return the run of two processes that compute 100 ns each between two calls: 300 and 100 instructions, 200 cycles each."""
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "Comm_rank", at=(0, 10))
        b.call(rank, "Comm_rank", at=(110, 120))
    values = [0, 0, 300, 200, 0, 0, 100, 200]
    columns = {"call": [0, 0, 1, 1, 2, 2, 3, 3], "counter": [0, 1] * 4, "entered": values, "returned": values}
    return replayed(dataclasses.replace(b.trace(), counters=table(tables.Counters, **columns), counter_names=names), hand_model())


def test_rates__only_those_that_are_known():
    work = Work(np.array([300.0, 100.0]), np.array([200.0, 200.0]), np.array([100.0, 100.0]))
    assert counts.heads(work) == ["IPC", "GHz", "instruction balance"]
    assert counts.rates(work, work) == ["1.00", "2.00", "66.7 %"]
    assert (counts.heads(NOT_COUNTED), counts.rates(work, NOT_COUNTED)) == ([], [])
    assert counts.rates(NOT_COUNTED, work) == ["-", "-", "-"]


def test_factors():
    scaling = Scaling(0.5, 0.8, 1.25, 0.5, 1.0, 1.25, 2.0, 1.0)
    assert counts.factors(scaling) == "instructions 80.0 % x IPC 125.0 % x frequency 50.0 %"


@pytest.mark.parametrize(("names", "known"), [(("instructions", "cycles"), True), (("a", "b"), False)])
def test_efficiencies__have_columns_of_rates(names, known):
    replay = run(names)
    rows = causes.efficiencies(replay, explain(search(replay.trace)))
    assert (rows[0].ipc, rows[0].frequency_ghz, rows[0].instruction_balance) == ((1, 2, 200 / 300) if known else (None, None, None))
    head, line = causes.efficiency_lines(rows, regions=False)[:2]
    assert head.endswith("parallel   IPC   GHz  instruction balance") == known
    assert line.endswith("1.00  2.00               66.7 %") == known
