"""Progress of reading, on a terminal."""

from __future__ import annotations

import gzip
import io
import sys

import pytest

import build
from perwiz import progress, words
from perwiz.commands import files
from perwiz.spilling import folders


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("packed", [False, True])
def test_read__tells_how_far_it_is(monkeypatch, tmp_path, packed):
    data = b"-3 0 0 1 0 0\n" + b"7 0 0 0 0 5\n" * 20_000
    path = tmp_path / "run.alog"
    path.write_bytes(gzip.compress(data) if packed else data)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "_NEXT", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    files.read(str(path))
    shown = stream.getvalue().split("\r")
    size = words.size(path.stat().st_size)
    assert shown[-3].strip() == f"100 % of {size}: reading {path}"
    assert shown[-2:] == [" " * len(shown[-3].strip()), ""]


@pytest.mark.parametrize(("left", "said"), [(579, True), (580, False), (None, False)])
@pytest.mark.parametrize(
    ("command", "helps"),
    [
        ("domino", "parts on several machines (mpiexec), "),
        ("predict", "a store, asked about in windows of time (perwiz convert), parts on several machines (mpiexec), "),
    ],
)
def test_read__says_what_memory_it_needs_if_there_is_less(command, helps, left, said, monkeypatch, tmp_path, capsys):
    """An ALOG file of 200 bytes, as two calls have, of 290 bytes of memory each."""
    path = tmp_path / "run.alog"
    path.write_bytes((b"-3 0 0 1 0 0\n" + b"7 0 0 0 0 5\n" * 20)[:133] + b"\n" * 67)
    monkeypatch.setitem(files.OF_COMMANDS, command, files.OF_COMMANDS[command]._replace(call=290))
    monkeypatch.setattr("perwiz.allowed.memory", lambda: left)
    monkeypatch.setattr("perwiz.allowed.addresses", lambda: 579)
    files.read(str(path), command=command)
    line = (
        f"perwiz: {path}: an answer takes some 580 B of memory, 579 B are left: {helps}a machine with more, a higher limit or a shorter"
        " recording would help, PERWIZ_THREADS=1 a little\n"
    )
    assert capsys.readouterr().err == line * said


def test_read__has_arrays_in_files_if_there_is_less_memory(monkeypatch, tmp_path, capsys):
    """Beside the trace, and said once."""
    pytest.importorskip("perwiz.spilling.memory")
    path = str(tmp_path / "run.alog")
    files.write_trace(build.CATALOGUE["halo"](), path, path)
    monkeypatch.setattr("perwiz.allowed.memory", lambda: 579)
    read = [files.read(path, command="domino") for _ in range(2)]
    assert folders.spills()
    folders.end()
    slower = f"what there is no room for is in files in {tmp_path} meanwhile, which takes several times as long"
    said = capsys.readouterr().err
    assert said.startswith(f"perwiz: {path}: an answer takes some ")
    assert said.endswith(f" are left: {slower}; parts on several machines (mpiexec), a machine with more or a higher limit would help\n")
    assert said.count("\n") == 1
    assert read[0].calls.op.tolist() == read[1].calls.op.tolist()
