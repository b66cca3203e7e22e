"""Arrays in files hold what arrays in memory do, and every answer from them is the same."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from perwiz.cli import main
from perwiz.formats.files import read, write
from perwiz.formats.store.columns import Columns, written
from perwiz.spilling import folders
from perwiz.trace.resources import map_threads
from samples import TRACES

memory = pytest.importorskip("perwiz.spilling.memory")


@pytest.fixture
def spilled(tmp_path, monkeypatch):
    """Arrays of a hundred bytes or more are in files."""
    monkeypatch.setattr(folders, "LEAST", 100)
    assert folders.spill([str(tmp_path)], 1000) == str(tmp_path)
    yield memory
    folders.end()


def test_arrays__in_files(spilled):
    """100 numbers of 8 bytes are in a file, 10 are not; what is made anew, larger or smaller, keeps what it has room for."""
    before = spilled.used()[0]
    small, large, zeros = np.arange(10), np.arange(100), np.zeros(50, "i8")
    assert spilled.used()[0] == before + 800 + 400
    assert large.tolist() == list(range(100))
    assert not zeros.any()
    large.resize(300, refcheck=False)
    assert large.tolist() == [*range(100), *[0] * 200]
    assert spilled.used()[0] == before + 2400 + 400
    large.resize(2, refcheck=False)
    small.resize(20, refcheck=False)
    assert (large.tolist(), small.tolist()) == ([0, 1], [*range(10), *[0] * 10])
    assert spilled.used()[0] == before + 400 + 160
    del small, zeros
    assert spilled.used()[0] == before
    assert spilled.used()[1] >= before + 2400 + 400


def test_arrays__of_threads(spilled):
    """What threads make that are started for parts of some work is in files, too; arrays outlive the threads and the handler."""
    before = spilled.used()[0]
    made = map_threads(lambda number: np.full(1000, number), range(8), 4)
    assert spilled.used()[0] == before + 8 * 8000
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda number: int(made[number].sum()), range(8))) == [1000 * number for number in range(8)]
        list(pool.map(lambda _: [np.empty(1000) for _ in range(50)], range(8)))
    made.clear()
    assert spilled.used()[0] == before


def test_spill__arrays_that_are_little_of_what_is_left(tmp_path):
    """Of 1 GiB that is left a 256th, 4 MiB, stays in memory; never more than 1 MiB if there is less."""
    for left, least in ((1 << 30, 1 << 22), (0, 1 << 20)):
        folders.spill([str(tmp_path)], 1, left)
        before = memory.used()[0]
        below, from_ = np.empty(least - 1, "u1"), np.empty(least, "u1")
        assert memory.used()[0] == before + least
        folders.end()
        del below, from_


def test_columns__that_are_written_to(spilled, tmp_path):
    """A column that somebody writes to is in a file of its own then, no private page of the mapping."""
    path = tmp_path / "run.perwiz"
    path.mkdir()
    file, found = written(str(path), "column", np.arange(100))
    columns = Columns(str(path), {file: found})
    before = spilled.used()[0]
    known = columns.column(file, np.dtype("i8"))
    again = columns.again(known)
    again[:] = 0
    assert spilled.used()[0] == before + 800
    assert known.tolist() == list(range(100))
    del again


def test_spill__in_the_first_folder_with_room(tmp_path, monkeypatch):
    """Not where there is none, no room, or memory."""
    there = str(tmp_path)
    disk = os.statvfs(there)
    assert folders.spill([there], disk.f_blocks * disk.f_frsize + 1) is None
    assert folders.spill([str(tmp_path / "none"), "/proc"], 1) is None
    if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
        with pytest.raises(OSError, match="No such device"):
            memory.begin("/dev/shm", 100)
    assert not folders.spills()
    assert folders.spill([str(tmp_path / "none"), there], 1) == there
    assert folders.spills()
    folders.end()
    assert not folders.spills()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["patterns", "correct"])
def test_commands__as_from_memory(command, tmp_path, capsys, monkeypatch):
    path = str(tmp_path / "run.perwiz")
    write(read(str(TRACES / "halo-before")), path)
    whole = main([command, path]), capsys.readouterr().out
    monkeypatch.setattr(folders, "LEAST", 8000)
    folders.spill([str(tmp_path)], 0)
    try:
        assert (main([command, path]), capsys.readouterr().out) == whole
    finally:
        folders.end()
    assert memory.used()[1] > 8000
