"""Progress of reading, on a terminal."""

from __future__ import annotations

import gzip
import io
import sys

import pytest

from perwiz import progress, words
from perwiz.commands import files


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
