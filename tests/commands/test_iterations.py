"""`--iterations`: what repeats, and questions about some of it, from the command line."""

from __future__ import annotations

import json
import pathlib

import pytest

from documents import valid
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
CPILOG, HALO = str(TRACES / "cpilog.alog"), str(TRACES / "halo-before")


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"predict {CPILOG} --iterations 2..9", f"--iterations 2..9: {CPILOG} has 5, must be within 1..5"),
        (f"info {CPILOG} --plot a.png", "--plot: draws how long iterations take, must be given with --iterations"),
        (f"info {CPILOG} --iterations 2..3 --plot a.png", "--plot: draws how long iterations take, must be given with --iterations"),
        *(
            (
                f"predict {CPILOG} --iterations {word}",
                f"argument --iterations: '{word}', must be numbers of iterations from 1, such as 10..90, 10.. or 12;"
                " see perwiz predict --help",
            )
            for word in ("0", "3..2", "..4", "a..b", "1...3", "2,3", "1..0", "12345678901")
        ),
    ],
)
def test_refused(asked, line, message):
    assert asked(line) == (2, "", f"perwiz: {message}\n")


@pytest.mark.slow
def test_plot(asked, tmp_path):
    code, out, _ = asked(f"info {HALO} --iterations --plot {tmp_path}/it.png -q")
    assert (code, "iterations    50, " in out, (tmp_path / "it.png").stat().st_size > 1000) == (0, True, True)


@pytest.mark.slow
def test_written__and_read_again(asked, tmp_path):
    """The part is a run that can be written, with its makespan."""
    for name in ("part.alog", "part.otf2"):
        assert asked(f"predict {HALO} --iterations 3 -o {tmp_path}/{name}")[0] == 0
        document = json.loads(asked(f"info {tmp_path}/{name} --json")[1])
        whole = json.loads(asked(f"info {HALO} --iterations 3 --json")[1])
        assert (document["makespan_ns"], document["calls"]) == (whole["makespan_ns"], whole["calls"])
