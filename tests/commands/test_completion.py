"""What shells complete: the script, run by the shells that are there."""

from __future__ import annotations

import contextlib
import os
import pty
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


def in_bash(path, folder, line):
    """Return what bash offers for the last word of a command line."""
    listed = line.split(" ")
    words = " ".join(f"'{word}'" for word in listed)
    function = "$(complete -p perwiz | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    code = f"source {path}; COMP_WORDS=({words}); COMP_CWORD={len(listed) - 1}; {function}"
    return run(["bash", "-c", f"{code}; printf '%s\\n' \"${{COMPREPLY[@]}}\""], folder).split()


def in_fish(path, folder, line):
    """Return what fish offers."""
    offered = run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], folder)
    return [told.partition("\t")[0] for told in offered.splitlines()]


ZSH = """\
fpath=({folder} $fpath); autoload -U compinit; compinit -D -u; PS1=READY
compadd() {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a offered; builtin compadd -A offered "$@"; print -rl -- $offered >> {folder}/offered; builtin compadd "$@"
}}
"""
"""Completes as the documented place in fpath makes it, and keeps what is offered."""


def in_zsh(path, folder, line):
    """Return what zsh offers. It completes on a terminal alone: it is given one, and a tabulator when it asks for a command."""
    places = folder / "zsh"
    places.mkdir(exist_ok=True)
    shutil.copy(path, places / "_perwiz")
    (places / "setup").write_text(ZSH.format(folder=places))
    (places / "offered").write_text("")
    terminal, inside = pty.openpty()
    settings = {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "BEGIN"}
    child = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=inside, stdout=inside, stderr=inside, cwd=folder, env=settings, start_new_session=True
    )
    os.close(inside)
    seen = b""
    for asked, typed in ((b"BEGIN", f"source {places}/setup\n"), (b"READY", f"{line}\t\x15exit\n")):
        while asked not in seen:
            seen += os.read(terminal, 4096)
        os.write(terminal, typed.encode())
    with contextlib.suppress(OSError):  # the terminal is gone when the shell is
        while os.read(terminal, 4096):
            pass
    child.wait()
    os.close(terminal)
    return (places / "offered").read_text().split()


def run(words, folder):
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=True)
    assert done.stderr == ""
    return done.stdout


OFFERED = {
    "perwiz dom": ["domino"],
    "perwiz predict --zero": ["--zero-wait", "--zero-time", "--zero-transfer", "--zero-poll"],
    "perwiz predict ru": ["run.alog"],
    "perwiz predict run.alog --model ru": ["run.alog"],
    "perwiz domino run.alog --question zero": ["zero-wait", "zero-time"],
    "perwiz jobs in": ["ingest"],
    "perwiz jobs top --al": ["--all"],
    "perwiz jobs top --sin": [],
    "perwiz help bal": ["balance"],
    "perwiz completion f": ["fish"],
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", [in_bash, in_zsh, in_fish])
def test_completes(script, tmp_path, shell):
    name = shell.__name__.removeprefix("in_")
    if not shutil.which(name):
        pytest.skip(f"no {name}")
    path, folder = script(name), tmp_path / "here"
    folder.mkdir()
    (folder / "run.alog").touch()
    assert {line: sorted(shell(path, folder, line)) for line in OFFERED} == {line: sorted(words) for line, words in OFFERED.items()}
    assert {*shell(path, folder, "perwiz ")} >= {*COMMANDS, "help"}


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
