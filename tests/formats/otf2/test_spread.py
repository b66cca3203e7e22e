"""Archives read by several processes, each its locations alone: the parts are those cut out of what one process reads."""

import dataclasses
import pathlib
import re
import shutil

import numpy as np
import pytest

import threaded
from build import Builder, table
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.trace import tables
from perwiz.trace.spread import cut as cutting

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def check_parts(monkeypatch, path, size, path_of=None):
    """Check that each of so many processes has its part, told `path_of(rank)` or all the same; return the whole."""
    parts = threaded.together(size, lambda team: files.read_part(path_of(team.rank) if path_of else path, team))
    if path_of:
        parts = [dataclasses.replace(part, path=path) for part in sorted(parts, key=lambda part: part.share.team.rank)]
    whole, bounds = files.read(path), parts[0].share.bounds
    monkeypatch.setattr(cutting, "bounds_of", lambda *_: bounds)
    cuts = threaded.parts(size, whole, lambda part: part)
    assert [threaded.differing(*pair) for pair in zip(parts, cuts, strict=True)] == [[]] * size
    assert sum(part.share.calls.stop - part.share.calls.start for part in parts) == len(whole.calls)
    return whole


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("npb-mg.S_timens-4", 1), ("npb-mg.S_timens-4", 3), ("npb-is.S-4", 2)])
def test_parts__as_cut(monkeypatch, name, size):
    check_parts(monkeypatch, str(TRACES / name), size)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("npb-is.S-4", "npb-mg.S_timens-4"), ("halo-before", "halo-after")])
def test_refused__another_archive(names):
    """Of as many locations, one with files of other sizes, one of the same program."""
    one, other = (TRACES / name for name in names)
    why = f"{other}: process 1 sees another run than process 0 in {one}, must be a part of the same"
    with pytest.raises(TraceError, match=f"^{re.escape(why)}$"):
        threaded.together(3, lambda team: files.read_part(str(TRACES / names[team.rank % 2]), team))


def divided(folder, archive, owners):
    """Return copies of an archive, each with the event files of its locations alone."""
    anchor = next(archive.glob("*.otf2"))
    out = []
    for owner in sorted(set(owners)):
        path = folder / f"host{owner}"
        shutil.copytree(archive, path)
        for location, holds in enumerate(owners):
            if holds != owner:
                for kind in ("def", "evt"):
                    (path / anchor.stem / f"{location}.{kind}").unlink()
        out.append(str(path))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("given", [(0, 1), (1, 0, 1), (0, 1, 1, 0, 0, 0, 0)])
def test_parts__a_directory_per_machine(monkeypatch, tmp_path, given):
    """Ranks 0 to 2 recorded on one machine, rank 3 on another; processes of these in any order, and more than locations."""
    archive = TRACES / "npb-is.S-4"
    paths = divided(tmp_path, archive, [0, 0, 0, 1])
    check_parts(monkeypatch, str(archive), len(given), lambda rank: paths[given[rank]])


@pytest.mark.slow
def test_refused__ranks_by_turns(tmp_path):
    paths = divided(tmp_path, TRACES / "npb-is.S-4", [0, 1, 0, 1])
    why = f"{paths[0]}: its ranks are in 2 rows, from 0, 2 on: read by 1 of perwiz, must be by 2 at least"
    with pytest.raises(TraceError, match=f"^{re.escape(why)}$"):
        threaded.together(2, lambda team: files.read_part(paths[team.rank], team))


def told_beside():
    """Return a trace of which OTF2 does not hold the mode of its message, who posted its receive, and who completes another of rank 1."""
    b = Builder(2)
    b.call(0, "Comm_rank")
    b.send(0, 1)
    b.call(1, "Comm_rank")
    b.recv(1, 0)
    b.call(1, "Irecv", peer=-1)
    b.call(1, "Wait")
    trace = b.trace()
    requests = table(tables.Requests, posted_by=[4], completed_by=[5], cancelled=[0])
    messages = dataclasses.replace(trace.messages, mode=np.array([tables.SYNCHRONOUS], "u1"), receive=np.array([2], "i4"))
    return dataclasses.replace(trace, requests=requests, messages=messages)


@pytest.mark.slow
def test_parts__written_by_perwiz(monkeypatch, tmp_path):
    files.write(told_beside(), str(tmp_path / "run.otf2"))
    whole = check_parts(monkeypatch, str(tmp_path / "run.otf2"), 2)
    assert (whole.messages.mode.tolist(), whole.messages.receive.tolist()) == ([tables.SYNCHRONOUS], [2])
    assert whole.requests.completed_by.tolist() == [5]


@pytest.mark.slow
def test_parts__whole_where_perwiz_ties_processes(tmp_path):
    trace = told_beside()
    linked = dataclasses.replace(trace, links=table(tables.Links, kind=[tables.LINKS.index("fork")], cause=[0], effect=[5]))
    files.write(linked, str(tmp_path / "linked.otf2"))
    assert threaded.together(2, lambda team: files.read_part(str(tmp_path / "linked.otf2"), team)) == [None, None]


@pytest.mark.slow
def test_parts__values_read_at_any_time(monkeypatch, tmp_path):
    """Power and heat at a location of metrics alone, heat at that of the process, too: each is told of all, changes are added."""
    from otf2_archive import Archive, c

    a = Archive(tmp_path / "t", 2)
    power, heat = (a.metrics(a.metric(name), occurrence=2) for name in ("power", "heat"))
    for rank in range(2):
        a.location(70 + rank, rank, kind=3)
        a.call(rank, "MPI_Comm_rank", 0, 10)
        read = (70 + rank, 1, power, 200), (70 + rank, 5, power, 240), (70 + rank, 6, heat, 60), (rank, 11, heat, 30)
        for reader, time, metric, value in read:
            a.at(reader, time, "Metric", metric, [c.Type(4)], [c.MetricValue(unsigned_int=value + rank)])
    whole = check_parts(monkeypatch, a.write(), 2)
    assert [dataclasses.astuple(one) for one in whole.sampled] == [
        ("heat", 0, 2, 30, 45, 60, 0),
        ("heat", 1, 2, 31, 46, 61, 0),
        ("power", 0, 2, 200, 220, 240, 40),
        ("power", 1, 2, 201, 221, 241, 40),
    ]
