"""`--iterations`: what repeats, and questions about some of it, from the command line."""

from __future__ import annotations

import json
import pathlib

import pytest

from documents import valid
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
CPILOG, HALO, AFTER = (str(TRACES / name) for name in ("cpilog.alog", "halo-before", "halo-after"))
_PLOT = "--plot: draws how long iterations take, or ranks over steps, must be given with --iterations or with --devices"
MONTE = str(TRACES / "monte.log")
EARLY = str(TRACES / "early_send.log.gz")


@pytest.fixture
def asked(capsys):
    """Return asked(line): exit code, output and errors of a command line."""

    def run(line):
        code = main(line.split())
        return code, *capsys.readouterr()

    return run


def test_info__json(asked):
    code, out, err = asked(f"info {HALO} --iterations --json")
    document = valid(json.loads(out), "info")
    assert (code, err) == (0, "")
    assert (document["iterations"]["found"], document["iterations"]["body"]) == (50, ["MPI_Isend", "MPI_Recv", "MPI_Waitall"])
    assert "iterations" not in json.loads(asked(f"info {HALO} --json")[1])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "predict", "domino", "patterns", "balance", "critical", "bound", "curve"])
def test_every_question__of_some_iterations(asked, command):
    """Each is about the same part, as exactly as about the whole."""
    code, out, err = asked(f"{command} {HALO} --iterations 10..12 --json")
    document = json.loads(out)
    assert (code, err, document["trace"]) == (0, "", f"{HALO} iterations 10..12")
    assert 48_206_982 in (document.get("makespan_ns"), document.get("recorded_ns"))
    assert document.get("replay_error_ns", 0) == 0


@pytest.mark.slow
def test_machine__is_that_of_the_whole_run(asked):
    """Of one iteration hardly a message tells anything; what all tell is known."""
    whole, part = (json.loads(asked(f"predict {HALO} {word} --json")[1]) for word in ("", "--iterations 12"))
    assert part["model"]["parameters"] == whole["model"]["parameters"]
    assert part["model"]["source"] == whole["model"]["source"].replace("400 messages", "400 messages of the whole run")
    assert (part["part"], "part" in whole) == ("iterations 12..12", False)


@pytest.mark.slow
def test_compare__both_runs(asked):
    """From when the last process has begun: that 12 ms lie between the first and the last is no part of what they take."""
    document = valid(json.loads(asked(f"compare {HALO} {AFTER} --iterations 10..12 --json")[1]), "compare")
    assert [(document[side]["part"], document[side]["calls"]) for side in ("first", "second")] == [("iterations 10..12", 60)] * 2
    assert (document["from"], document["first"]["whole_ns"], document["first"]["makespan_ns"]) == (
        "begun",
        48_206_982,
        48_206_982 - 12_046_833,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict --zero-wait all", "domino", "patterns", "phases", "info", "critical", "balance"])
def test_all(asked, command):
    """All is the whole run, also what is before and behind its iterations; what is to be asked next says so, too."""
    word, *options = command.split()
    told = [asked(f"{word} {MONTE} {' '.join(options)} {more} --json") for more in ("", "--iterations all")]
    assert [code for code, *_ in told] == [0, 0]
    assert told[0][1] == told[1][1].replace(" --iterations all", "")


@pytest.mark.slow
def test_cube_and_report(asked, tmp_path):
    document = json.loads(asked(f"cube diff {HALO} {AFTER} --iterations 10..12 --json")[1])
    visits = next(row for row in document["metrics"] if row["name"] == "visits")
    assert (document["operands"], visits["operands"]) == ([f"{path} iterations 10..12" for path in (HALO, AFTER)], [60, 60])
    assert asked(f"report {HALO} --iterations 10..12 --against {AFTER} -o {tmp_path}/a.html -q")[0] == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"perwiz report {HALO} --against {AFTER} --iterations 10..12 -o" in page
    assert asked(f"patterns {HALO} --cube {tmp_path}/a.cubex -q")[0] == 0
    message = f"perwiz: --iterations 2: {tmp_path}/a.cubex is a Cube file, which has none, must be a trace\n"
    assert asked(f"cube show {tmp_path}/a.cubex --iterations 2") == (2, "", message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"predict {CPILOG} --iterations 2..9", f"--iterations 2..9: {CPILOG} has 5, must be within 1..5"),
        (f"info {CPILOG} --plot a.png", _PLOT),
        (f"info {CPILOG} --iterations 2..3 --plot a.png", _PLOT),
        (f"info {EARLY} --devices --plot a.png", f"a.png: {EARLY} has no steps of several ranks to draw, must repeat something"),
        *(
            (
                f"predict {CPILOG} --iterations {word}",
                f"argument --iterations: '{word}', {why}must be numbers of iterations from 1, such as 10..90, 10.. or 12, or all;"
                " see perwiz predict --help",
            )
            for why, words in (
                ("iterations count from 1, ", ("0", "0..3")),
                ("the last comes before the first, ", ("3..2", "1..0")),
                ("", ("..4", "a..b", "1...3", "2,3", "12345678901")),
            )
            for word in words
        ),
    ],
)
def test_refused(asked, line, message):
    assert asked(line) == (2, "", f"perwiz: {message}\n")


@pytest.mark.slow
def test_plot(asked, tmp_path):
    code, out, _ = asked(f"info {HALO} --iterations --plot {tmp_path}/it.png -q")
    assert (code, "iterations    50, " in out, (tmp_path / "it.png").stat().st_size > 1000) == (0, True, True)
    assert asked(f"info {TRACES}/training-job --devices --plot {tmp_path}/heat.png -q")[0] == 0
    assert (tmp_path / "heat.png").stat().st_size > 1000


def test_plot__of_none(asked, tmp_path):
    trace = str(TRACES / "fpilog.log")
    why = f"{tmp_path}/it.png: {trace} has no iterations to draw, nothing that lasts repeats 3 times or more"
    assert asked(f"info {trace} --iterations --plot {tmp_path}/it.png") == (2, "", f"perwiz: {why}\n")


@pytest.mark.slow
def test_written__and_read_again(asked, tmp_path):
    """The part is a run that can be written, with its makespan."""
    for name in ("part.alog", "part.otf2"):
        assert asked(f"predict {HALO} --iterations 3 -o {tmp_path}/{name}")[0] == 0
        document = json.loads(asked(f"info {tmp_path}/{name} --json")[1])
        whole = json.loads(asked(f"info {HALO} --iterations 3 --json")[1])
        assert (document["makespan_ns"], document["calls"]) == (whole["makespan_ns"], whole["calls"])
