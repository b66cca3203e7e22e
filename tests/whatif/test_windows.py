"""A run asked window by window of time: nothing may differ from what is told of it as a whole."""

import dataclasses
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder
from perwiz import allowed
from perwiz.cli import main
from perwiz.commands import files
from perwiz.errors import NotInWindowsError, TraceError, UsageError
from perwiz.formats.store.columns import sum_of
from perwiz.formats.store.large import read_large
from perwiz.formats.store.store import write
from perwiz.report.info import document as report_info
from perwiz.report.records import to_json
from perwiz.report.together import document as report_together
from perwiz.spilling import folders
from perwiz.trace.windows.cuts import cuts_of
from perwiz.trace.windows.large import large
from perwiz.whatif import of_parts, windows
from perwiz.whatif.run import replayed
from perwiz.whatif.waits import Waits

ALIKE = {
    "halo": ["zero-wait all", "speed rank:0=2"],
    "all_collectives": ["zero-wait op:MPI_Bcast"],
    "nonblocking_collectives": ["zero-transfer all"],
    "kept_apart": ["zero-time op:MPI_Recv"],
    "eager_and_rendezvous": ["zero-wait e3,rank:1"],
    "waitall_of_three": ["zero-wait all"],
    "nested_regions": ["scale solve=0.5"],
}
HELD = {"threads", "device", "two_streams", "small_team"}
"""Those with threads or streams, which are not asked about in windows."""


def told(found):
    """Return all that is said of a prediction but how sure it is, as JSON, and when locations end."""
    bare = dataclasses.replace(found, span=None, doubts=(), held=None)
    return to_json(report_together.document(bare, 1)), found.predicted.locations.leave.tolist()


def check(trace, asked, most, model="default"):
    whole = told(of_parts.predict(trace, asked, model, "linear"))
    assert told(windows.predict(large(trace), asked, model, "linear", most)) == whole


@pytest.mark.parametrize("name", ALIKE)
def test_predict__as_of_the_whole(name):
    trace = build.CATALOGUE[name]()
    assert cuts_of(large(trace), 4).count > 1
    check(trace, ALIKE[name], 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(build.CATALOGUE.keys() - HELD))
def test_predict__catalogue(name):
    trace = build.CATALOGUE[name]()
    for asked, most in (([], 2), (["zero-wait all"], 5)) if len(trace.calls) else ():
        check(trace, asked, most)


@pytest.mark.slow
@settings(max_examples=25)
@given(build.traces(), st.integers(1, 9), st.sampled_from([{}, {"S": 5000}, {"gap": "sending call", "g": 700}]))
def test_predict__random(trace, most, costs):
    check(trace, ["zero-wait all"] if len(trace.calls) else [], most, build.hand_model(**costs))


def test_predict__gap_that_the_recording_contradicts():
    """In one window no send follows too soon, in all of them a tenth: the gap is applied in none, as of the whole."""
    b = Builder(2)
    for step in range(6):
        for _ in range(2):
            b.send(0, 1, 10)
            b.recv(1, 0)
        b.compute(0, 5000 * step)
    trace = b.trace()
    model = build.hand_model(gap="sending call", g=4000)
    assert told(of_parts.predict(trace, [], model, "linear"))[0].count("none")
    check(trace, ["zero-wait all"], 3, model)


def test_info__as_of_the_whole():
    trace = build.CATALOGUE["nested_regions"]()
    run = replayed(trace, "default", "linear")
    whole = report_info.document(run.trace, run.health(), run.waits, 0, run.machine)
    found = windows.passed(large(trace), lambda run: report_info.tally(run.trace, run.waits), (), "default", "linear", 3)
    assert to_json(report_info.document(found.trace, found.health, Waits.of_none(), 0, found.machine, told=found.tally)) == to_json(whole)


@pytest.mark.parametrize("command", [["info"], ["predict", "--draws", "0", "--keep-matches", "--zero-wait", "all"]])
def test_commands__a_store_larger_than_memory(command, tmp_path, capsys, monkeypatch):
    path = str(tmp_path / "halo.perwiz")
    write(build.CATALOGUE["halo"](), path)
    asked = [command[0], path, "--model", "default", "--json", *command[1:]]
    assert main(asked) == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(files, "OF_WINDOWS", files.Needs(call=1000, location=0, all=0, least=1))
    monkeypatch.setattr(allowed, "memory", lambda: 10_000)
    assert main(asked) == 0
    said = capsys.readouterr()
    part = json.loads(said.out)
    for said_of_all in (whole, part) if "misfit" in part else ():
        said_of_all["misfit"].pop("doubts")
    names = part.keys() & whole.keys() - {"predicted_span"}
    assert {name: part[name] for name in names} == {name: whole[name] for name in names}
    assert part.get("predicted_span") is None
    assert re.fullmatch(
        r"perwiz: .*: an answer takes some .* of memory, .* are left: it is asked about in windows of some 10 calls\n", said.err
    )


def refused(trace, asked=(), model="default", clock="clc", most=4):
    with pytest.raises(UsageError) as error:
        windows.predict(large(trace), list(asked), model, clock, most)
    return str(error.value)


def test_refused():
    """What windows do not tell, each in a line."""
    halo = build.CATALOGUE["halo"]()
    where = "must be where all of it can be held"
    assert refused(halo, model=None) == "built: the machine is not fitted in windows of a run, must be told (--model NAME or FILE)"
    why = "is not asked in windows of a run, must be asked where all of it can be held"
    assert refused(halo, ["balance-time all"]) == f"--balance-time: {why}"
    assert refused(halo, ["zero-wait e999"]) == "e999: no such call, the trace has calls e0 to e31"
    assert refused(halo, ["zero-wait op:MPI_Scan"]).startswith("op:MPI_Scan: no such routine in the trace, it has ")
    assert refused(halo, ["zero-poll all"]) == "zero-poll all: these calls do not test or probe in vain"
    held = f"model by hand: progress=in calls is not asked about in windows of a run, {where}"
    assert refused(halo, model=build.hand_model(progress="in calls")) == held
    assert refused(build.CATALOGUE["threads"]()) == f"built: its threads and streams are not asked about in windows of a run, {where}"
    clocks = "must be where all of it can be held, or asked about with --clock linear"
    assert (
        refused(build.CATALOGUE["clock_violation_message"]())
        == f"built: its clocks disagree, and are not corrected in windows of a run; {clocks}"
    )


def test_refused__too_little_memory(tmp_path, monkeypatch):
    path = str(tmp_path / "halo.perwiz")
    write(build.CATALOGUE["halo"](), path)
    monkeypatch.setattr(allowed, "memory", lambda: 10_000)
    monkeypatch.setattr(allowed, "addresses", lambda: 10_000)
    with pytest.raises(NotInWindowsError, match=r"windows of it take 84\.\d+ MB: a higher limit would help$"):
        files.in_windows(path, "predict", lambda windows: 0)


def test_held__what_windows_do_not_tell(tmp_path, capsys, monkeypatch):
    """All of the run is then held, its large arrays in files, and the answer is the same; where they may not be it is refused."""
    pytest.importorskip("perwiz.spilling.memory")
    path = str(tmp_path / "halo.perwiz")
    write(build.CATALOGUE["halo"](), path)
    asked = ["info", path, "--waits", "3", "--json"]
    assert main(asked) == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(files, "OF_WINDOWS", files.Needs(call=1000, location=0, all=0, least=1))
    monkeypatch.setattr(allowed, "memory", lambda: 10_000)
    assert main(asked) == 0
    folders.end()
    said = capsys.readouterr()
    assert said.out == whole
    why = "perwiz: --waits: is not done in windows of a run, must be asked where all of it can be held"
    assert [line.partition(" takes some ")[0] for line in said.err.splitlines()[1:]] == [why, f"perwiz: {path}: an answer"]
    monkeypatch.setattr(allowed, "addresses", lambda: 10_000)
    assert main(asked) == 2
    assert capsys.readouterr().err.splitlines()[-1] == why


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("messages.receive", 99, r"messages\.receive\[0\] is 99, must be from 0 to 31"),
        ("calls.location", 3, r"calls\.location falls, must rise"),
        ("regions.parent", 5, r"regions\.parent\[0\] is 5, must be a row before it, or -1"),
    ],
)
def test_large__hostile_columns(column, value, why, tmp_path):
    path = str(tmp_path / "halo.perwiz")
    write(build.CATALOGUE["halo"](), path)
    file = tmp_path / "halo.perwiz" / f"trace.{column}.npy"
    values = np.load(file)
    values[0] = value
    np.save(file, values)
    with pytest.raises(TraceError, match=r"other content than was written, must be written anew$"):
        read_large(path)
    told = json.loads((marker := tmp_path / "halo.perwiz" / "store.json").read_text())
    told["sums"][file.name] = sum_of(values)
    marker.write_text(json.dumps(told))
    with pytest.raises(TraceError, match=why):
        read_large(path)
