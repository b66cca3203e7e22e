"""What shells complete: the script, run by the shells that are there."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from perwiz.cli import main
from perwiz.commands import COMMANDS
from perwiz.commands.completion import SHELLS


@pytest.fixture
def script(capsys, tmp_path):
    """Return script(shell), a file of what `perwiz completion` prints."""

    def write(shell):
        assert main(["completion", shell]) == 0
        path = tmp_path / f"perwiz.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


def completed(path, folder, *line):
    """Return what bash offers for the last word of a command line."""
    words = " ".join(f"'{word}'" for word in line)
    code = f"source {path}; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; $(complete -p perwiz | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    done = subprocess.run(
        ["bash", "-c", f"{code}; printf '%s\\n' \"${{COMPREPLY[@]}}\""], capture_output=True, text=True, cwd=folder, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash(script, tmp_path):
    path = script("bash")
    (tmp_path / "run.alog").touch()
    assert set(completed(path, tmp_path, "perwiz", "")) >= {*COMMANDS, "help"}
    assert completed(path, tmp_path, "perwiz", "dom") == ["domino"]
    assert completed(path, tmp_path, "perwiz", "predict", "--zero") == ["--zero-wait", "--zero-time"]
    assert completed(path, tmp_path, "perwiz", "predict", "run") == ["run.alog"]
    assert completed(path, tmp_path, "perwiz", "predict", "run.alog", "--model", "run") == ["run.alog"]
    assert completed(path, tmp_path, "perwiz", "domino", "run.alog", "--question", "zero") == ["zero-wait", "zero-time"]
    assert completed(path, tmp_path, "perwiz", "jobs", "in") == ["ingest"]
    assert completed(path, tmp_path, "perwiz", "jobs", "top", "--sin") == []
    assert completed(path, tmp_path, "perwiz", "help", "bal") == ["balance"]
    assert completed(path, tmp_path, "perwiz", "completion", "f") == ["fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_no_mistake_in_the_script(script, shell):
    path = script(shell)
    assert "--zero-wait" in path.read_text() or "-l zero-wait" in path.read_text()
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    assert subprocess.run([shell, "-n", path], capture_output=True, text=True, check=True).stderr == ""


def test_no_such_shell(capsys):
    assert main(["completion", "fsh"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("perwiz: argument SHELL: invalid choice: 'fsh' (choose from ")
    assert err.endswith("; did you mean fish? see perwiz completion --help\n")
