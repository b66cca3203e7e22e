"""What a person at a terminal sees: lines that fit, the answer in colour, `-q`, and where words are explained."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import io
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

import numpy as np
import pytest

import build
from perwiz import words
from perwiz.cli import main
from perwiz.commands import COMMANDS, parser
from perwiz.engines import team
from perwiz.formats import files
from perwiz.whatif import timed

ROOT = pathlib.Path(__file__).resolve().parents[2]
RING, SORT, LONG = "traces/srtest.alog", "traces/npb-is.S-4", "LONG"
NAME = "a_module::of_a_program::exchange_with_all_neighbours_of_"
QUESTIONS = (
    *("info {} --waits 5 --regions", "predict {} --zero-wait all", "predict {} --network L_ns=1000", "domino {} --greedy 2 --target 1.3x"),
    *("domino {} --question advance", "domino {} --by pair", "critical {}", "curve {} --points 3", "curve {} --of rank:0", "bound {}"),
    *("balance {}", "patterns {} --statistics --locations --efficiencies", "compare {} {} --zero-wait all", "cube show {} --metric time"),
    *("cube diff {} {}", "correct {}", "convert {} OUT.alog", "report {} -o OUT.html", "calibrate -o OUT.toml --from {}"),
)
"""Every command that tells something of a trace."""
REPORTS = [line for line in QUESTIONS if not line.startswith(("cube", "report"))]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return an archive whose regions have long names."""
    trace = build.nested_regions()
    names = tuple(f"{NAME}{name}" for name in trace.names)
    path = str(tmp_path_factory.mktemp("names") / "long.otf2")
    files.write(dataclasses.replace(trace, names=names, parallel=np.ones(len(names), bool)), path)
    return path


@pytest.fixture(scope="module")
def read():
    """Return what reads each file once, as `timed.read`: what is asked here is how an answer looks."""
    once = functools.cache(timed.read)
    return lambda path, progress=None, model=None, whole=False: once(path, whole=whole)


@pytest.fixture
def perwiz(monkeypatch, tmp_path, long, read):
    """Return perwiz(line, columns), which gives the exit code and what is on a terminal of so many columns; 0: on none."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(timed, "read", read)

    def run(line, columns=0):
        line = line.replace("OUT", str(tmp_path / "out")).replace(LONG, long)
        stream = Terminal() if columns else io.StringIO()
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stdout", stream)
        return main(line.split()), stream.getvalue()

    return run


def too_long(text, columns):
    """Return the lines that do not fit, but for single words, an option of a usage and what is to be copied."""
    long = (line for line in text.splitlines() if len(line) > columns)
    return [line for line in long if len(line.split()) > 1 and not re.match(r" *(perwiz|--|mpiexec|\[--?[^]]*\]$)", line)]


@pytest.mark.slow
@pytest.mark.parametrize(("trace", "columns"), [(RING, 60), (SORT, 80)])
@pytest.mark.parametrize("line", QUESTIONS)
def test_lines_fit(perwiz, line, trace, columns):
    code, text = perwiz(line.replace("{}", trace), columns)
    assert code in ((0, 2) if line.startswith("balance") else (0, 4, 5))
    assert too_long(text, columns) == []


@pytest.mark.slow
@pytest.mark.parametrize("line", QUESTIONS)
def test_lines_fit__in_colour_one_fact_of_every_report(perwiz, monkeypatch, line):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    _, text = perwiz(line.replace("{}", LONG), 60)
    assert too_long(re.sub(r"\x1b\[[\d;]*m", "", text), 60) == []
    assert line not in REPORTS or len(re.findall(r"^\x1b\[1;35m\S", text, re.MULTILINE)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("line", QUESTIONS)
def test_lines_fit__off_a_terminal(perwiz, line):
    """And what `-q` says is the beginning of every report."""
    line = line.replace("{}", LONG)
    whole = perwiz(line)[1]
    assert too_long(whole, words.WIDTH) == []
    assert line.startswith(("cube", "report")) or whole.split("\n\n")[1].strip() == perwiz(f"{line} --quiet")[1].strip()


ENDINGS = "\n".join(parser.of(name).epilog or "" for name in COMMANDS)
ACTIONS = {"cube": ("show", "diff", "mean", "merge", "cmp"), "jobs": ("ingest", "job", "user", "month", "top", "faults", "mail")}
PARTS = [f"{name} {part}" for name, parts in ACTIONS.items() for part in parts]
HELPS = ["--help", *(f"{name} --help" for name in (*COMMANDS, *PARTS))]


@pytest.mark.parametrize("columns", [60, 80, 0])
@pytest.mark.parametrize("line", [*HELPS, "tables", "explain"])
def test_help_fits(perwiz, line, columns):
    code, text = perwiz(line, columns)
    assert code == 0
    samples = [line for line in too_long(text, columns or words.WIDTH) if re.search(rf"{re.escape(line)}(  |$)", ENDINGS, re.MULTILINE)]
    assert [line for line in too_long(text, columns or words.WIDTH) if line not in samples] == []


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("line", HELPS)
def test_help__breaks_no_word(perwiz, line, columns):
    """Wherever it is wrapped, its words are those that it has where nothing needs to be."""
    assert perwiz(line, columns)[1].split() == perwiz(line, 1000)[1].split()


@pytest.mark.parametrize("name", [*COMMANDS, *PARTS])
def test_quiet__is_taken_by_whatever_reports(name):
    command, _, part = name.partition(" ")
    actions = parser.of(command).actions()
    inner = next((action.choices[part].actions() for action in actions if part and action.choices), actions)
    options = {option for action in inner for option in action.option_strings}
    assert ("--json" in options) == ("-q" in options) or name in ("convert", "report")
    assert ("--quiet" in options) == ("-q" in options)


QUIET = {
    "tables": "locations       A process,",
    "cube show {}": "metric ",
    "cube cmp {} {}": "equal\n",
    "cube diff {} {} --metric time": "metric ",
    "predict {}": "recorded ",
}


@pytest.mark.parametrize("line", QUIET)
def test_quiet__is_the_answer_alone(perwiz, line):
    whole, quiet = (perwiz(f"{line.replace('{}', RING)}{more}")[1] for more in ("", " -q"))
    assert quiet.startswith(QUIET[line])
    assert "\n\n" not in quiet
    assert whole.split("\n\n")[1].rstrip("\n") == quiet.rstrip("\n")


FIRST = "traces/srtest.alog: zero-wait e25\n\n"
ANSWER = """\
recorded      412.6 ms
predicted     403.1 ms (393.0 ms to 411.6 ms), gain 9.433 ms (2.3 %), between 6.692 ms and 13.67 ms
what to do    send earlier: MPI_Isend as soon as the data are there; or compute between MPI_Irecv and MPI_Wait instead
              of waiting
doubtful      2 of 15 messages took more than twice as long as the model says (9.7 % of the recorded run): see how sure
waits for     rank 1; a wait goes only as far as that comes earlier
instead       --advance e25: 403.1 ms, gain 9.433 ms (2.3 %), only if it needs nothing of the 1 receive it then runs
              ahead of
              --speed rank:1-2=1.429: 408.4 ms, gain 4.149 ms (1.0 %)
"""
COLOURED = """\
recorded      412.6 ms
\x1b[1;35mpredicted     403.1 ms (393.0 ms to 411.6 ms), gain 9.433 ms (2.3 %), between 6.692 ms and 13.67 ms\x1b[0m
what to do    send earlier: MPI_Isend as soon as the data are there; or compute between MPI_Irecv and MPI_Wait instead
              of waiting
doubtful  """
QUESTION = "predict traces/srtest.alog --zero-wait e25"


def test_quiet__the_answer_alone(perwiz):
    assert perwiz(f"{QUESTION} -q") == (0, ANSWER)


def test_quiet__under_the_title_if_the_trace_is_incomplete(perwiz, tmp_path):
    (tmp_path / "cut.alog").write_bytes((ROOT / RING).read_bytes()[:-40])
    code, text = perwiz(f"info -q {tmp_path}/cut.alog")
    assert code == 4
    assert "(INCOMPLETE trace)\n\nincomplete  " in text.replace("\n  (", " (")
    assert text.count("\n\n") == 1


def test_colour__on_a_terminal_only(perwiz, monkeypatch):
    assert "\x1b" not in perwiz(QUESTION, 120)[1]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    assert perwiz(QUESTION, 120)[1].startswith(FIRST + COLOURED)
    assert perwiz(QUESTION)[1].startswith(FIRST + ANSWER)
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in perwiz(QUESTION, 120)[1]


@pytest.mark.parametrize("size", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_colour__none_under_mpiexec(perwiz, monkeypatch, size):
    """Open MPI gives each process a terminal of 80 columns, whatever its own output goes to: neither that nor colour is meant."""
    monkeypatch.setattr(team, "together", lambda work, asked: work(None))
    plain = perwiz(QUESTION)[1]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(size, "2")
    monkeypatch.setenv(size.replace("SIZE", "RANK"), "0")
    assert perwiz(QUESTION, 80)[1] == plain


@pytest.mark.parametrize(
    ("line", "said"),
    [("compare {} {} --zero-wait e25", "measured      412.6 ms, error -9.433 ms"), ("domino {} -q", "first change  --")],
)
def test_colour__of_the_answer(perwiz, monkeypatch, line, said):
    """Of a comparison what both differ by, of a list of changes the first."""
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    assert f"\n\x1b[1;35m{said}" in perwiz(line.replace("{}", RING), 120)[1]


def test_colour__names_of_a_trace_bring_none(perwiz, tmp_path):
    path = tmp_path / "odd.alog"
    path.write_bytes(b"-3 0 0 1 0 0\n-13 0 1 2 0 0 red:gray a\x1b[31mb\n1 0 0 0 0 5\n2 0 0 0 0 9\n")
    assert "\x1b" not in perwiz(f"info {path} --regions", 80)[1]


def test_words__a_line_at_the_end_on_a_terminal(perwiz):
    last = "\n\nwhat the words mean: perwiz explain {}\n"
    assert perwiz(QUESTION, 80)[1].endswith(last.format("zero-wait doubtful varies 'judged by'"))
    assert perwiz(QUESTION, 60)[1].endswith(last.format("zero-wait doubtful"))
    assert "perwiz explain" not in perwiz(QUESTION)[1]


@pytest.mark.slow
def test_terminal__a_real_one_of_70_columns():
    """The width is that of the terminal itself where COLUMNS does not say."""
    environment = {**os.environ, "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    there, here = pty.openpty()
    fcntl.ioctl(here, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 70, 0, 0))
    command = [sys.executable, "-P", "-m", "perwiz", *f"{QUESTION} -q".split()]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=here, stdout=here, stderr=here) as run:
        os.close(here)
        text = b""
        with contextlib.suppress(OSError):  # the other side is closed
            while part := os.read(there, 65536):
                text += part
    os.close(there)
    assert run.returncode == 0
    lines = text.decode().splitlines()
    assert lines[6] == "doubtful      2 of 15 messages took more than twice as long as the"
    assert too_long(text.decode(), 70) == []


def test_quiet__says_which_trace_of_a_directory(perwiz):
    """Of one that is an archive itself it does not."""
    quiet = perwiz("predict traces/allreduce-ring -q --draws 0")[1]
    assert quiet.startswith("traces/allreduce-ring/trace.alog.gz: no hypothesis\n\nrecorded ")
    assert perwiz("predict traces/npb-is.S-4 -q --draws 0")[1].startswith("recorded ")
