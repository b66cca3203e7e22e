"""The generator of clock errors in scripts/: what it does to a trace is known, and can be undone."""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import perwiz
from build import CATALOGUE, VIOLATING
from perwiz.clock.condition import violations
from perwiz.clock.treatment import treat
from perwiz.errors import UsageError

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRTEST = str(ROOT / "traces" / "srtest.alog")


@pytest.fixture(scope="module")
def script():
    """Return the module behind scripts/clock-errors."""
    spec = importlib.util.spec_from_file_location("clock_errors", ROOT / "scripts" / "clock_errors.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["clock_errors"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["clock_errors"]


@pytest.mark.parametrize(
    ("shape", "eighth"),
    [("sine", 707), ("steps", 500)],
)
def test_error__offset_drift_and_wander(script, shape, eighth):
    error = script.Error(offset=5000, drift=10, wander=1000, period=1, shape=shape)
    time = np.array([0, 125, 250, 500, 750, 1000, 1250]) * 1_000_000
    drift = time // 100_000
    assert (error.at(time) - 5000 - drift).tolist() == [0, eighth, 1000, 0, -1000, 0, 1000]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((0, 0, 1e9, 1), "a clock that could run backwards, drift and wander must be smaller"),
        ((0, -6e5), "a clock that could run backwards, drift and wander must be smaller"),
        ((0, 0, 5, 0), "must have finite numbers, a period above 0, and a shape of sine, steps"),
        ((float("nan"),), "must have finite numbers, a period above 0, and a shape of sine, steps"),
    ],
)
def test_error__refused(script, values, why):
    with pytest.raises(UsageError) as caught:
        script.Error(*values)
    assert str(caught.value).startswith("clock error ")
    assert str(caught.value).endswith(why)


def test_parsed__as_printed(script):
    text = "0:1000:2.5:3e4:0.125;7:-5"
    errors = script.parsed(text, "steps")
    assert errors == {0: script.Error(1000, 2.5, 3e4, 0.125, "steps"), 7: script.Error(-5, shape="steps")}
    assert script.parsed(";".join(f"{k}:{error}" for k, error in errors.items()), "steps") == errors


@pytest.mark.parametrize("part", ["x:5", "1", "1:a", "1:1:1:1:1:sine", "1:1:1:1:1:1:1"])
def test_parsed__refused(script, part):
    with pytest.raises(UsageError) as caught:
        script.parsed(f"0:1;{part}", "sine")
    assert str(caught.value) == f"clock error '{part}': must be like CLOCK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]]"


def test_drawn__the_same_again_and_within_bounds(script):
    most = script.Error(1e6, 50, 2e4, 0.2, "steps")
    errors = script.drawn([3, 0, 3], 7, most)
    assert errors == script.drawn([0, 3], 7, most)
    assert list(errors) == [0, 3]
    assert all(abs(e.offset) <= 1e6 and abs(e.drift) <= 50 and abs(e.wander) <= 2e4 for e in errors.values())
    assert {(e.period, e.shape) for e in errors.values()} == {(0.2, "steps")}


def test_clocks__of_nodes(script):
    locations = CATALOGUE["halo"]().locations
    node = np.full(len(locations), -1, "i4")
    node[:2] = 0
    shared = script.clocks(dataclasses.replace(locations, node=node), "node").tolist()
    assert shared[:2] == [0, 0]
    assert len(set(shared)) == len(locations) - 1
    assert script.clocks(locations, "process").tolist() == locations.process.tolist()


def columns(trace, timeline):
    """Yield (location, times) of every kind of event."""
    every = np.arange(len(trace.locations))
    for at, times in ((trace.calls.location, timeline.calls), (trace.regions.location, timeline.regions), (every, timeline.locations)):
        yield at, times.enter
        yield at, times.leave


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - VIOLATING))
def test_disturbed__by_the_errors_and_nothing_else(script, name):
    trace = CATALOGUE[name]()
    errors = script.drawn(trace.locations.process.tolist(), 3, script.Error(1e5, 1e4, 2e3, 1e-4))
    wrong = script.disturbed(trace, errors)
    pairs = list(zip(columns(trace, trace.timeline), columns(wrong, wrong.timeline), strict=True))
    start = trace.timeline.locations.enter.min(initial=0)
    shifts = set()
    for (at, true), (_, local) in pairs:
        for location, t, shown in zip(at.tolist(), true.tolist(), local.tolist(), strict=True):
            error = errors[int(trace.locations.process[location])]
            shifts.add(shown - t - int(error.at(np.array([t - start]))[0]))
    assert len(shifts) <= 1
    assert wrong.timeline.locations.enter.min(initial=0) == start
    assert not wrong.offsets_applied


@pytest.mark.parametrize("name", ["halo", "nested_regions", "all_collectives"])
def test_disturbed__measured_offsets_undo_offset_and_drift(script, name):
    trace = CATALOGUE[name]()
    wrong = script.disturbed(trace, script.drawn(trace.locations.process.tolist(), 3, script.Error(1e6, 1e3)))
    assert violations(trace, wrong.timeline)
    back = treat(wrong, "linear").trace.timeline
    off = np.concatenate([b - a for (_, a), (_, b) in zip(columns(trace, trace.timeline), columns(trace, back), strict=True)])
    assert off.max() - off.min() <= 2


def test_disturbed__readings_are_off_by_at_most_that(script):
    trace = CATALOGUE["halo"]()
    exact, blurred = (script.disturbed(trace, {0: script.Error(5e4, 10)}, reading=reading).offsets for reading in (0, 300))
    off = np.abs(blurred.offset - exact.offset) * 1e3
    assert 0 < off.max() <= 300.001


def test_left__what_all_have_in_common_does_not_count(script):
    trace = CATALOGUE["halo"]()
    later = script.disturbed(trace, {rank: script.Error(777) for rank in range(len(trace.locations))})
    assert script.left(trace, later.timeline) == script.Left(0.0, 0, 0.0, 0, 0, 0)


def test_evaluate__as_the_paper_says(script, capsys):
    """Linear interpolation takes offset and drift away and leaves wander; the logical clock leaves no message reversed, but more error."""
    assert script.main(["evaluate", SRTEST, "--offset", "2e8", "--drift", "100", "--wander", "3e6"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["trace", "wander", "scheme"]
    found = {tuple(row.split()[1:3]): row.split() for row in rows}
    assert list(found) == [(shape, scheme) for shape in script.SHAPES for scheme in script.SCHEMES]
    for shape in script.SHAPES:
        removed = {scheme: float(found[shape, scheme][7]) for scheme in script.SCHEMES}
        reversals = {scheme: int(found[shape, scheme][-2]) + int(found[shape, scheme][-1]) for scheme in script.SCHEMES}
        assert removed["none"] == 0 < removed["clc"] < removed["linear"]
        assert removed["linear"] > 95
        assert reversals["none"] > 0 == reversals["clc"] == reversals["both"]


@pytest.mark.parametrize("name", ["out.alog", "out.otf2"])
def test_disturb__writes_what_the_clocks_show(script, tmp_path, capsys, name):
    errors = "0:0;1:-2000000:100:5000:0.1;2:3000000"
    assert script.main(["disturb", SRTEST, str(tmp_path / name), "--errors", errors, "--shape", "steps"]) == 0
    assert script.parsed(capsys.readouterr().out.strip(), "steps") == script.parsed(errors, "steps")
    trace, back = perwiz.read(SRTEST), perwiz.read(str(tmp_path / name))
    assert back.timeline.calls == script.disturbed(trace, script.parsed(errors, "steps")).timeline.calls
    assert not len(back.offsets)


def test_refused(script, tmp_path, capsys):
    out = str(tmp_path / "out.alog")
    assert script.main(["disturb", SRTEST, out, "--errors", "9:5"]) == 2
    assert capsys.readouterr() == ("", f"clock-errors: clock 9: no process of {SRTEST} has it, must be one of 0, 1, 2\n")
    assert script.main(["disturb", SRTEST, out]) == 0
    capsys.readouterr()
    assert script.main(["evaluate", out, "--offset", "1e9"]) in (0, 2)
    capsys.readouterr()
    assert script.main(["evaluate", str(ROOT / "traces" / "sync.log")]) == 2
    message = f"clock-errors: {ROOT / 'traces' / 'sync.log'}: its own clocks are wrong already, must be a consistent trace\n"
    assert capsys.readouterr() == ("", message)
