"""In several threads each command answers what it answers in one, to the nanosecond."""

from __future__ import annotations

import pytest

from perwiz.cli import main
from perwiz.trace import resources

ASKED = {
    "info": ("info", "traces/halo-before"),
    "predict": ("predict", "traces/halo-before", "--zero-wait", "all", "--draws", "24"),
    "domino": ("domino", "traces/srtest.alog", "--draws", "0"),
    "patterns": ("patterns", "traces/halo-before"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ASKED)
def test_answers__the_same_in_several_threads(command, monkeypatch, capsys):
    """With as few rows as these a thread is worth starting; 3 share the work unevenly; of a large run graphs are made one by one."""
    monkeypatch.setattr(resources, "LEAST", 1)
    told, large = [], resources._LARGE
    for threads, least in (("1", large), ("2", large), ("3", large), ("2", 1)):
        monkeypatch.setenv("PERWIZ_THREADS", threads)
        monkeypatch.setattr(resources, "_LARGE", least)
        assert main([*ASKED[command], "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told == [told[0]] * 4
