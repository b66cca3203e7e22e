"""`perwiz correct` from the command line: figures, the corrected run as a file, pictures, refusals."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re

import numpy as np
import pytest

import perwiz
from build import CATALOGUE, Builder, table
from documents import valid
from perwiz.cli import main
from perwiz.clock.condition import Violations, violations
from perwiz.clock.treatment import treat
from perwiz.commands import correct as command
from perwiz.formats import files
from perwiz.trace.tables import Offsets, Readings

TRACES = pathlib.Path(__file__).parents[2] / "traces"


def early():
    """Rank 1 receives at 45 us what rank 0 sends at 60 us; later both meet in a barrier."""
    b = Builder(2)
    b.send(0, 1, 10, at=(60_000, 63_000))
    with b.region(1, "solve"):
        b.recv(1, 0, at=(20_000, 45_000))
    b.barrier(at=[(100_000, 120_000), (100_000, 120_000)])
    return b.trace()


@pytest.fixture
def correct(tmp_path, monkeypatch, capsys):
    """Return correct(*words): exit code, output and complaint of `perwiz correct` where in.alog is a trace with a violation."""
    monkeypatch.chdir(tmp_path)
    files.write(early(), "in.alog")

    def run(*words):
        code = main(["correct", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def document(correct):
    """Return document(*words): the JSON document, valid by its schema."""

    def run(*words, expected=0):
        code, out, err = correct(*words, "--json")
        assert (code, err) == (expected, "")
        block = json.loads(out)
        valid(block, "correct")
        return block

    return run


def test_text__the_answer_first(correct):
    code, out, err = correct("in.alog")
    assert (code, err) == (0, "")
    assert out.startswith(
        "in.alog: controlled logical clock\n\n"
        "recorded      received before they were sent: 1 of 1 messages (100.0 %), by 15.00 us at most\n"
        "corrected     every effect comes after its cause\n"
    )


def test_json(document):
    block = document("in.alog")
    assert (block["command"], block["clock"], block["format"]) == ("correct", "clc", "ALOG, perwiz-ext 1")
    assert block["messages"]["recorded"]["worst_ns"] == 15_000
    assert block["messages"]["corrected"]["reversed"] == 0
    assert block["corrected_explicitly"] == {"messages": 1, "collectives": 0, "links": 0}
    assert block["health"]["recorded_clock"]["messages"] == 1
    assert block["health"]["clock"]["messages"] == 0
    assert block["health"]["correction"]["jumps"] == 1


@pytest.mark.parametrize(("words", "mu"), [(["--mu", "700"], (700, 700, 700)), (["--mu", "5,60,700"], (5, 60, 700))])
def test_mu(document, words, mu):
    block = document("in.alog", *words)
    assert tuple(block["minimum_latency_ns"].values()) == mu


def test_mu__puts_the_return_as_far(document):
    assert [document("in.alog", "--mu", str(mu))["largest_displacement_ns"] for mu in (0, 700)] == [15_000, 15_700]


def test_gamma(document):
    block = document("in.alog", "--gamma", "0.5")
    assert (block["gamma"], block["passes"]) == (0.5, 1)


@pytest.mark.parametrize("name", ["out.alog", "out.alog.gz", pytest.param("out.otf2", marks=pytest.mark.slow)])
def test_output__is_the_corrected_run(correct, tmp_path, name):
    code, _, err = correct("in.alog", "-o", name)
    assert (code, err) == (0, "")
    back, expected = perwiz.read(name), perwiz.correct(perwiz.read("in.alog"))
    assert back.timeline.calls == expected.timeline.calls
    assert back.timeline.regions == expected.timeline.regions
    assert not violations(back, back.timeline)
    assert len(back.collectives) == 1
    assert correct(name)[1].startswith(f"{name}: controlled logical clock\n\nrecorded      nothing is received before it was sent\n")


def test_output__of_a_consistent_trace_is_a_copy(correct):
    source = str(TRACES / "srtest.alog")
    assert correct(source, "-o", "out.alog")[0] == 0
    one, other = perwiz.read(source), perwiz.read("out.alog")
    assert one.timeline.calls == other.timeline.calls
    assert str(other.timeline.origin) == "measured"


@pytest.mark.slow
def test_plot(correct, tmp_path):
    assert correct("in.alog", "--plot", "out.svg")[0] == 0
    assert sorted(os.listdir()) == ["in.alog", "out.svg"]
    assert (tmp_path / "out.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_plot__shows_waiting(tmp_path):
    """As the pictures of other commands do: before and after the correction."""
    path = tmp_path / "a.svg"
    assert main(["correct", str(TRACES / "srtest.alog"), "--plot", str(path)]) == 0
    assert "waiting" in re.findall(r"<!-- (.*?) -->", path.read_text())


@pytest.fixture
def local(monkeypatch):
    """Let the trace read be one in local time: rank 1 is 16 us behind at its begin and 18 us at its end, as was measured."""
    trace = early()
    ends = trace.timeline.locations
    at = np.stack((ends.enter, ends.leave), 1).ravel()
    zero = np.zeros(4)
    offsets = Offsets(np.array([0, 0, 1, 1], "i4"), at, np.array([0.0, 0, 16, 18]), zero, zero)
    trace = dataclasses.replace(trace, offsets=offsets, offsets_applied=False)
    monkeypatch.setattr("perwiz.commands.files.read", lambda path, _=None, team=None, command="": trace)
    return trace


def test_linear__interpolates_offsets(document, local):
    block = document("in.alog", "--clock", "linear")
    assert (block["clock"], block["gamma"], block["passes"], block["slope"]) == ("linear", None, 0, 0)
    assert (block["made_by"], block["corrected_by"]) == ("measured", "measured, clock offsets applied")
    assert block["offsets"] == {"measured": 4, "scheme": None, "in_the_recorded_times": False}
    assert block["messages"]["recorded"]["reversed"] == 1
    assert block["messages"]["corrected"]["reversed"] == 0
    assert block["corrected_explicitly"] == {"messages": 0, "collectives": 0, "links": 0}
    assert block["processes"][1]["largest_ns"] == 18_000
    assert block["health"]["correction"] is None


def test_linear__text(correct, local):
    _, out, _ = correct("in.alog", "--clock", "linear")
    assert out.startswith("built: measured clock offsets\n")
    assert "\noffsets       4 measured, interpolated here\n" in out
    assert "gamma" not in out


def test_linear__written_times_are_global(correct, local):
    assert correct("in.alog", "--clock", "linear", "-o", "out.otf2")[0] == 0
    back = perwiz.read("out.otf2")
    assert back.offsets_applied
    assert back.timeline.calls == treat(local, "linear").trace.timeline.calls
    assert not violations(back, back.timeline)


def test_clc__after_measured_offsets(document, local):
    """The offsets alone put everything right, and are what the corrected times are compared with."""
    block = document("in.alog")
    assert block["made_by"] == block["corrected_by"] == "measured, clock offsets applied"
    assert block["messages"]["recorded"]["reversed"] == block["moved"] == 0


@pytest.mark.parametrize(
    ("words", "reversed_messages", "told"),
    [
        ([], 0, "3 measured, flat at start and end, interpolated here"),
        (["--offsets", "flat"], 0, "3 measured, flat at start and end, interpolated here"),
        (["--offsets", "single"], 1, "2 measured, flat at the start, constant"),
    ],
)
def test_offsets__of_a_scheme(correct, local, monkeypatch, words, reversed_messages, told):
    """Rank 1 is 10 us behind when it begins and 18 us later, 10 of which are too few."""
    columns = {"location": [0, 1, 1], "master": [-1, 0, 0], "time": [0, 0, 45_000], "offset": [0, 10_000, 18_000], "error": [0] * 3}
    trace = dataclasses.replace(local, offsets=Offsets.empty(), readings=table(Readings, **columns))
    monkeypatch.setattr("perwiz.commands.files.read", lambda path, _=None, team=None, command="": trace)
    code, out, _ = correct("in.alog", "--clock", "linear", *words, "-o", "out.alog")
    assert code == 0
    assert f"\noffsets       {told}\n" in out
    assert ("still received before they were sent: 1 message, by 5.000 us at most" in out) == bool(reversed_messages)
    back = perwiz.read("out.alog")
    assert (len(back.offsets), back.offsets_applied) == (3 - reversed_messages, True)


def test_refused__offsets_of_no_recorded_run(correct):
    why = "no clocks were compared; --offsets flat must be asked of a recorded run of several clocks"
    assert correct("in.alog", "--offsets", "flat") == (2, "", f"perwiz: in.alog: {why}\n")


def test_linear__what_is_left_is_told(correct):
    code, out, _ = correct("in.alog", "--clock", "linear")
    assert code == 0
    assert "\ncorrected     still received before they were sent: 1 message, by 15.00 us at most\n" in out


def test_cycle(correct):
    files.write(CATALOGUE["cycle_of_messages"](), "cycle.alog")
    code, out, err = correct("cycle.alog")
    assert (code, err) == (4, "")
    assert out.startswith("cycle.alog: controlled logical clock  (INCOMPLETE trace)\n")
    assert "\ncorrected     still received before they were sent: 2 messages, by 10 ns at most\ncycle         no clock can help: e" in out


def test_incomplete(document):
    files.write(CATALOGUE["unmatched"](), "holes.alog")
    assert document("holes.alog", expected=4)["health"]["incomplete"] is True


@pytest.mark.parametrize(("name", "expected"), [("empty", 0), ("one_process", 0), ("no_messages", 4)])
def test_nothing_to_correct(monkeypatch, correct, name, expected):
    trace = CATALOGUE[name]()
    monkeypatch.setattr("perwiz.commands.files.read", lambda path, _=None, team=None, command="": trace)
    code, out, err = correct("in.alog")
    assert (code, err) == (expected, "")
    assert "\ncorrected     nothing to correct\n" in out


@pytest.mark.slow
def test_real__everything_is_put_right(document):
    """1780 of 9052 messages are received before they were sent."""
    block = document(str(TRACES / "p_m3.alog.gz"), expected=4)
    assert block["messages"]["recorded"]["pairs"] == 9052
    assert block["messages"]["recorded"]["reversed"] > 1700
    assert block["messages"]["corrected"]["violating"] == 0
    assert not any(block["left"].values())


@pytest.mark.parametrize("output", ["out.alog", "out.otf2"])
def test_real__by_records(document, output):
    """One of 41 messages is received before it was sent by its records alone; neither is, once corrected, nor in what was written."""
    found = document(str(TRACES / "monte.log"), "-o", output)
    assert [found["messages"]["recorded"][key] for key in ("pairs", "reversed")] == [41, 0]
    assert [found["records"]["recorded"][key] for key in ("reversed", "worst_ns")] == [1, 235_000]
    assert [found[by]["corrected"]["violating"] for by in ("messages", "records")] == [0, 0]
    back = files.read(output)
    assert (back.messages.received_before > 0).all()
    assert violations(back, back.timeline) == Violations(0, 0, 0, 0, 0, 0)


MU = "whole ns, or three of them that do not fall, such as 500,2000,50000; see perwiz correct --help"
RATE = "must be a number above 0, at most 1; see perwiz correct --help"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("in.alog --mu many", 2, f"argument --mu: 'many', must be {MU}"),
        ("in.alog --mu=-5", 2, f"argument --mu: '-5', must be {MU}"),
        ("in.alog --mu 0.5", 2, f"argument --mu: '0.5', must be {MU}"),
        ("in.alog --mu 5,6", 2, f"argument --mu: '5,6', must be {MU}"),
        ("in.alog --mu 5,6,4", 2, f"argument --mu: '5,6,4', must be {MU}"),
        ("in.alog --mu 9999999999999", 2, f"argument --mu: '9999999999999', must be {MU}"),
        ("in.alog --gamma 0", 2, f"argument --gamma: '0', {RATE}"),
        ("in.alog --gamma 1.01", 2, f"argument --gamma: '1.01', {RATE}"),
        ("in.alog --gamma nan", 2, f"argument --gamma: 'nan', {RATE}"),
        ("in.alog --gamma fast", 2, f"argument --gamma: 'fast', {RATE}"),
        ("in.alog --clock linear --gamma 0.5", 2, "--gamma 0.5: belongs to --clock clc, must not be given with --clock linear"),
        ("in.alog -o in.alog", 2, "in.alog: is read by this command, must be another file"),
        ("in.alog -o none/out.alog", 2, "none/out.alog: there is no directory none, must be in one that exists"),
        ("in.alog --plot out.bmp", 2, "out.bmp: a picture of type '.bmp', must be one of .png .svg .pdf"),
        ("in.alog --plot out.png -o out.png", 2, "out.png: to be written twice, must be two files"),
        ("none.alog", 3, "none.alog: no such file or directory"),
        ("none.alog -o -", 2, "'-': no file to write to, must be the name of one"),
    ],
)
def test_refused(correct, words, code, message):
    assert correct(*words.split()) == (code, "", f"perwiz: {message}\n")
    assert os.listdir() == ["in.alog"]


def test_refused__clock_none(correct):
    code, out, err = correct("in.alog", "--clock", "none")
    assert (code, out) == (2, "")
    assert err.startswith("perwiz: argument --clock: invalid choice: 'none' (choose from ")


def test_refused__a_prediction(correct, capsys):
    assert main(["predict", "in.alog", "--zero-wait", "all", "-o", "out.alog"]) == 0
    capsys.readouterr()
    why = "predicted under zero-wait all, where effects may come before causes; must be a recorded run"
    assert correct("out.alog") == (2, "", f"perwiz: out.alog: {why}\n")


def test_refused__offsets_missing(correct, local, monkeypatch):
    offsets = Offsets(*(getattr(local.offsets, f.name)[:2] for f in dataclasses.fields(Offsets)))
    trace = dataclasses.replace(local, offsets=offsets)
    monkeypatch.setattr("perwiz.commands.files.read", lambda path, _=None, team=None, command="": trace)
    assert correct("in.alog") == (3, "", "perwiz: built: rank 1 (location 1) has no clock offset; each location must have one\n")


def test_help__says_what_is_not_done():
    assert "Events are only put forward" in command._ENDING
