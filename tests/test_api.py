"""The Python API as the README shows it, and what must hold around it."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perwiz
from build import CATALOGUE
from perwiz.errors import UsageError
from perwiz.trace.tables import Offsets

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRTEST = str(ROOT / "traces" / "srtest.alog")


@pytest.fixture(scope="module")
def trace():
    """Return the sample trace of the README."""
    return perwiz.read(SRTEST)


def test_readme__its_python_runs(monkeypatch, tmp_path, capsys):
    code = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    said = [line.partition("# ")[2] for line in code.splitlines() if line.startswith("print(")]
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == said
    assert len(said) > 2


def test_read__calls_are_numpy_columns(trace):
    assert len(trace.calls) == 36
    assert trace.calls.location.dtype == np.int32
    assert trace.calls.bytes_sent.sum() == 180
    times = trace.timeline.calls
    assert (times.leave - times.enter).max() == 326_394_000
    with pytest.raises(ValueError, match="read-only"):
        trace.calls.op[0] = 1


def test_predict__as_in_the_readme(trace):
    result = perwiz.predict(trace, [perwiz.ZeroWait("e25")], model="default")
    assert (result.recorded.makespan, result.predicted.makespan, result.gain) == (412_568_000, 403_130_934, 9_437_066)
    assert result.replay_error == 0
    assert result.waits_before.time[25] == 9_437_066
    assert result.waits_after.time[25] == 0
    assert str(result.predicted.origin) == "predicted under zero-wait e25"


def test_predict__nothing_asked_is_the_recorded_run(trace):
    result = perwiz.predict(trace)
    assert result.gain == 0
    assert result.predicted.calls == trace.timeline.calls


def test_predict__a_model_by_name_by_file_or_as_it_is(trace):
    file = str(ROOT / "models" / "cray-t3e.toml")
    gains = {perwiz.predict(trace, [perwiz.ZeroWait("all")], model=m).gain for m in ("cray-t3e", file, perwiz.load_model("cray-t3e"))}
    assert len(gains) == 1


def test_predict__engines_agree(trace):
    hypotheses = [perwiz.ZeroWait("op:MPI_Barrier"), perwiz.Speed("rank:2=3"), perwiz.Network("L_ns=100000")]
    one, other = (perwiz.predict(trace, hypotheses, engine=engine).predicted for engine in ("sweep", "replay"))
    assert one == dataclasses.replace(other, origin=one.origin)


@pytest.mark.parametrize(
    "hypothesis",
    [
        *(perwiz.ZeroWait("rank:0"), perwiz.ZeroTime("e3"), perwiz.BalanceTime("step"), perwiz.BalanceMessages("step#1")),
        *(perwiz.Scale("step=0.5"), perwiz.Speed("rank:1=2"), perwiz.Network("G_ns_per_byte=0.5")),
    ],
    ids=str,
)
def test_predict__every_hypothesis_and_the_trace_stays(hypothesis):
    halo = CATALOGUE["halo"]()
    before = [column.copy() for column in (halo.timeline.calls.enter, halo.messages.bytes)]
    result = perwiz.predict(halo, [hypothesis])
    assert result.hypotheses == (hypothesis,)
    assert all(np.array_equal(a, b) for a, b in zip(before, (halo.timeline.calls.enter, halo.messages.bytes), strict=True))


def test_predict__refusals(trace):
    with pytest.raises(UsageError, match=r"^engine 'guess': must be one of sweep, replay$"):
        perwiz.predict(trace, engine="guess")
    with pytest.raises(UsageError, match=r"^clock 'sundial': must be one of none, linear, clc$"):
        perwiz.predict(trace, clock="sundial")


def test_write__gives_the_predicted_timeline_back(trace, tmp_path):
    path = str(tmp_path / "out.alog.gz")
    result = perwiz.predict(trace, [perwiz.ZeroWait("e25"), perwiz.Speed("rank:0=3")])
    perwiz.write(trace, path, result.predicted)
    back = perwiz.read(path)
    assert back.timeline.calls == result.predicted.calls
    assert back.timeline.locations == result.predicted.locations
    assert back.messages == trace.messages
    assert str(back.timeline.origin) == "predicted under zero-wait e25; speed rank:0=3"


def test_predictions_on_predictions(trace, tmp_path):
    """Asked one after the other, with the run written and read in between, or kept in memory."""
    path = str(tmp_path / "out.alog")
    first = perwiz.predict(trace, [perwiz.Speed("rank:0=3")])
    perwiz.write(trace, path, first.predicted)
    kept = dataclasses.replace(trace, timeline=first.predicted)
    read, memory = (perwiz.predict(source, [perwiz.Speed("rank:1=2")]) for source in (perwiz.read(path), kept))
    assert read.recorded.makespan == first.predicted.makespan
    assert read.predicted.calls == memory.predicted.calls
    assert perwiz.predict(trace, [perwiz.Speed("rank:0=3"), perwiz.Speed("rank:1=2")]).predicted.calls == memory.predicted.calls


@pytest.mark.slow
@given(st.sets(st.integers(0, 35), min_size=1), st.integers(0, 35))
def test_zero_wait__more_of_it_is_never_later(trace, some, one):
    def ask(calls):
        return perwiz.predict(trace, [perwiz.ZeroWait(",".join(f"e{e}" for e in sorted(calls)))]).predicted.makespan

    assert ask(some | {one}) <= ask(some)


def test_write__refuses_times_without_their_clock_offsets(trace, tmp_path):
    """A run recorded on several nodes: its local times would be taken for global ones."""
    one = np.ones(1)
    local = dataclasses.replace(
        trace, path="run", offsets=Offsets(np.zeros(1, "i4"), np.zeros(1, "i8"), one, one, one), offsets_applied=False
    )
    with pytest.raises(UsageError) as error:
        perwiz.write(local, str(tmp_path / "x.alog"))
    assert str(error.value) == "run: its clock offsets are not applied, must be written with a timeline they are applied to"
    assert list(tmp_path.iterdir()) == []


def test_repr__is_short(trace):
    """Nobody wants the columns on the screen."""
    assert repr(trace.calls) == "<Calls: 36 rows>"
    assert repr(trace) == f"<Trace {SRTEST}: 3 locations, 36 calls, 15 messages>"
    assert repr(perwiz.predict(trace)) == f"<Prediction of {SRTEST} under no hypothesis: 412568000 ns becomes 412568000 ns>"
