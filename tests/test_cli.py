"""What cli.py itself answers: exit codes, and each message in full."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import perwiz
from perwiz import cli
from perwiz.commands import tables
from perwiz.errors import TraceError, UsageError


@pytest.fixture
def failing(monkeypatch):
    """Return failing(error), which makes `perwiz tables` raise it."""

    def replace(error):
        def run(args):
            raise error

        monkeypatch.setattr(tables, "run", run)

    return replace


def spawn(*words, stdout):
    """Run perwiz in a process of its own, with buffered output as users have it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-P", "-m", "perwiz", *words]
    return subprocess.run(command, text=True, stdout=stdout, stderr=subprocess.PIPE, check=False, env=environment)


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr() == (f"perwiz {perwiz.__version__}\n", "")


def test_module_run():
    done = spawn("--version", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"perwiz {perwiz.__version__}\n", "")


def test_help__lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.partition("commands:\n")[2].partition("\n\n")[0].splitlines()] == list(cli.COMMANDS)
    assert err == ""


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help__of_a_command(command, capsys):
    assert cli.main([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: perwiz {command} ")
    assert err == ""


def test_no_command__prints_help(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: perwiz [--help] [--version] command ...\n")


def test_words_from_the_process(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["perwiz", "--version"])
    assert cli.main() == 0
    assert capsys.readouterr().out == f"perwiz {perwiz.__version__}\n"


def _unknown(told, command):
    return f"perwiz: unrecognized arguments: {told} see perwiz {command} --help\n"


def test_choice__with_the_one_that_is_meant(capsys):
    assert cli.main(["domino", "x", "--question", "zero-wat"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("perwiz: argument --question: invalid choice: 'zero-wat' (choose from ")
    assert err.endswith("; did you mean zero-wait? see perwiz domino --help\n")


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], ["--help"]),
        (["help", "help"], ["--help"]),
        (["help", "predict"], ["predict", "--help"]),
        (["help", "jobs", "top"], ["jobs", "top", "--help"]),
        (["-V"], ["--version"]),
    ],
)
def test_help__other_words_for_it(words, same, capsys):
    assert (cli.main(words), capsys.readouterr()) == (cli.main(same), capsys.readouterr())


def test_help__begins_with_what_to_type_first(capsys):
    cli.main(["--help"])
    start = capsys.readouterr().out.partition("\nstart here:\n")[2].partition("\n\n")[0]
    assert [line.split()[:2] for line in start.splitlines()] == [["perwiz", "record"], ["perwiz", "domino"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["guess"], f"perwiz: unknown command 'guess', must be one of {', '.join(cli.COMMANDS)}; see perwiz --help\n"),
        (["predct", "x"], "perwiz: unknown command 'predct'; did you mean predict? see perwiz --help\n"),
        (["hlp"], "perwiz: unknown command 'hlp'; did you mean help? see perwiz --help\n"),
        (["predict", "x", "--zero-wiat=e1"], _unknown("--zero-wiat=e1; did you mean --zero-wait?", "predict")),
        (["jobs", "top", "--progam", "x"], _unknown("--progam x; did you mean --program?", "jobs top")),
        (["help", "predct"], "perwiz: unknown command 'predct'; did you mean predict? see perwiz --help\n"),
        (["--guess"], "perwiz: unrecognized arguments: --guess; see perwiz --help\n"),
        (["--vers"], "perwiz: unrecognized arguments: --vers; did you mean --version? see perwiz --help\n"),
        (["tables", "--js"], "perwiz: unrecognized arguments: --js; did you mean --json? see perwiz tables --help\n"),
        (["tables", "a\nb"], "perwiz: unrecognized arguments: a b; see perwiz tables --help\n"),
    ],
)
def test_usage_error(words, message, capsys):
    assert cli.main(words) == 2
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (TraceError("late.alog:17: e123 (rank 3) returns"), 3, "perwiz: late.alog:17: e123 (rank 3) returns\n"),
        (TraceError("a\r\nb\x1b[2J\u2028c\n"), 3, "perwiz: a b [2J c\n"),
        (UsageError("no call e9"), 2, "perwiz: no call e9\n"),
        (FileNotFoundError(2, "No such file or directory", "out/x.svg"), 2, "perwiz: out/x.svg: No such file or directory\n"),
        (OSError(28, "No space left on device"), 2, "perwiz: tables --json: No space left on device\n"),
        (OSError("Not a gzipped file"), 2, "perwiz: tables --json: Not a gzipped file\n"),
        (MemoryError(), 3, "perwiz: tables --json: out of memory\n"),
        (MemoryError("Unable to allocate 8 EiB"), 3, "perwiz: tables --json: out of memory: Unable to allocate 8 EiB\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
)
def test_error__one_line_and_its_code(error, code, message, failing, capsys):
    failing(error)
    assert cli.main(["tables", "--json"]) == code
    assert capsys.readouterr() == ("", message)


def test_bug__traceback_and_a_line(failing, capsys):
    failing(ZeroDivisionError("division by zero"))
    assert cli.main(["tables"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\nZeroDivisionError: division by zero\nperwiz: this is a bug of perwiz; please report it with the lines above\n")


def test_exit_code__is_what_the_command_returns(monkeypatch):
    monkeypatch.setattr(tables, "run", lambda args: 4)
    assert cli.main(["tables"]) == 4


@pytest.mark.parametrize("words", [["tables"], ["--help"]])
def test_closed_pipe__is_quiet(words):
    read, write = os.pipe()
    os.close(read)
    try:
        done = spawn(*words, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_full_disk__is_one_line():
    with open("/dev/full", "w") as full:
        done = spawn("--version", stdout=full)
    assert (done.returncode, done.stderr) == (2, "perwiz: standard output: No space left on device\n")


def test_no_standard_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["tables"]) == 0
    assert capsys.readouterr().err == ""


def test_tables__text(capsys):
    assert cli.main(["tables"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\ntimes           The times of one run, beside calls, regions or locations.\n" in out
    assert out.partition("\n\ntimes\n")[2].partition("\n\n")[0] == "  enter  i8  ns  entered\n  leave  i8  ns  left"


def test_tables__json(capsys):
    assert cli.main(["tables", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["version"] == 1
    assert {t["name"] for t in printed["tables"]} >= {"locations", "calls", "messages", "collectives", "defects"}
    times = next(t for t in printed["tables"] if t["name"] == "times")
    assert times["columns"][0] == {"name": "enter", "type": "i8", "unit": "ns", "meaning": "entered"}


def test_help__of_record_says_what_calibrate_does(capsys):
    assert cli.main(["record", "--help"]) == 0
    assert " --calibrate measure the machine first, " in " ".join(capsys.readouterr().out.split())
