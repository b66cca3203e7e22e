"""Recorded runs read by several processes, each its calls alone: the parts are those cut out of what one process reads."""

import dataclasses
import os
import pathlib
import re
import shutil

import pytest

import threaded
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.trace.spread import cut as cutting
from recorded_runs import ANY_SOURCE, DONE, MANY, POSTS, RECEIVES, SENDS, Run, call, part


def ring(path, **token):
    """Return a run of three ranks: a ring of requests, a wildcard, regions of other names on each, barriers, and a send nobody receives."""
    run = Run(path, 3, **token)
    for rank in range(3):
        right, left, shift = (rank + 1) % 3, (rank + 2) % 3, 1000 + 7 * rank
        names = [{"region": 1, "name": f"step {rank % 2}", "parallel": False}, {"region": 2, "name": "all", "parallel": True}]
        calls = [
            call("begin", shift, shift, peer=2),
            call("begin", shift + 1, shift + 1, peer=1),
            call("MPI_Irecv", shift + 5, shift + 6, peer=left, tag=4, comm=0, request=0, bits=RECEIVES | POSTS),
            call("MPI_Isend", shift + 7, shift + 8, peer=right, tag=4, comm=0, sent=80, request=1, bits=SENDS | POSTS),
            call("MPI_Waitall", shift + 20, shift + 40, bits=MANY, received=80),
            call("end", shift + 41, shift + 41, peer=1),
            call("MPI_Barrier", shift + 50, 1100, comm=0),
        ]
        parts = [part(4, 0, peer=left, tag=4, bytes=80, comm=0, bits=DONE | RECEIVES), part(4, 1, bits=DONE | SENDS)]
        if rank:
            calls.append(call("MPI_Send", 1110 + rank, 1120, peer=0, tag=rank, comm=0, sent=4, bits=SENDS))
        else:
            calls.append(call("MPI_Recv", 1105, 1130, peer=2, tag=2, comm=0, received=4, bits=RECEIVES | ANY_SOURCE))
        calls += [call("MPI_Barrier", 1140, 1150, comm=0), call("end", 1160, 1160, peer=2)]
        run.process(rank, calls, parts, names)
    return str(run.path)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_parts__as_cut(tmp_path, monkeypatch, size):
    path = ring(tmp_path / "run")
    parts = threaded.together(size, lambda team: files.read_part(path, team))
    whole, bounds = files.read(path), parts[0].share.bounds
    assert (len(whole.messages), len(whole.collectives), whole.counts.unmatched_sends) == (4, 2, 1)
    assert whole.names == ("step 0", "all", "step 1")
    monkeypatch.setattr(cutting, "bounds_of", lambda *_: bounds)
    cuts = threaded.parts(size, whole, lambda part: part)
    assert [threaded.differing(*pair) for pair in zip(parts, cuts, strict=True)] == [[]] * size


def divided(path, owners):
    """Let the ranks of a run be in several directories; return these."""
    out = [f"{path}.{owner}" for owner in sorted(set(owners))]
    for folder in out:
        os.mkdir(folder)
        shutil.copy(f"{path}/run.json", folder)
    for file in sorted(pathlib.Path(path).glob("*-*")):
        file.rename(f"{path}.{owners[int(re.findall('[0-9]+', file.name)[0])]}/{file.name}")
    return out


@pytest.mark.parametrize(("owners", "given"), [((0, 1, 0), (0, 1, 0)), ((0, 0, 1), (1, 0, 1, 0, 0))])
def test_parts__a_directory_per_machine(tmp_path, monkeypatch, owners, given):
    """Each process is told its own directory, in any order: the parts are those of one that is told all. Rank 1 never came back."""
    path = ring(tmp_path / "run")
    last = Run(tmp_path / "other", 3).process(1, [call("MPI_Barrier", 1010, 1020, comm=0), call("MPI_Recv", 1030, 0, comm=0, peer=0)])
    shutil.copy(last.path / "calls-000001.0.npy", path)
    folders = divided(path, owners)
    (tmp_path / f"run.{owners[1]}" / "sites.json").write_text("[", encoding="utf-8")
    whole = files.read(":".join(folders))
    assert whole.properties["unreturned"] == "rank 1 was still in MPI_Recv when the run ended"
    parts = threaded.together(len(given), lambda team: files.read_part(folders[given[team.rank]], team))
    parts = [dataclasses.replace(part, path=whole.path) for part in sorted(parts, key=lambda part: part.share.team.rank)]
    monkeypatch.setattr(cutting, "bounds_of", lambda *_: parts[0].share.bounds)
    cuts = threaded.parts(len(given), whole, lambda part: part)
    assert [threaded.differing(*pair) for pair in zip(parts, cuts, strict=True)] == [[]] * len(given)


def test_refused__what_is_one_sided_in_several_directories(tmp_path):
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        run.process(rank, [call("MPI_Win_fence", 1010, 1020 + rank, comm=0, tag=0)])
    folders = divided(str(run.path), (0, 1))
    what = "one-sided communication, or collectives in no one order, are matched where all directories are seen"
    why = {f"{folder}: {what}; must be asked of one process (without mpiexec)" for folder in folders}
    assert refused(2, lambda rank: folders[rank]) == why


@pytest.mark.parametrize("models", [("a", ""), ("a", "b")])
def test_refused__other_models(tmp_path, models):
    folders = divided(ring(tmp_path / "run"), (0, 0, 1))
    for folder, model in zip(folders, models, strict=True):
        if model:
            pathlib.Path(folder, "model.toml").write_text(model, encoding="utf-8")
    what = "process 1 sees another model.toml in its directory than process 0, or only one of them sees one"
    assert refused(2, lambda rank: folders[rank]) == {f"{folder}: {what}; must lie in the directories of all" for folder in folders}


def test_refused__ranks_by_turns(tmp_path):
    folders = divided(ring(tmp_path / "run"), (0, 1, 0))
    why = f"{folders[0]}: its ranks are in 2 rows, from 0, 2 on: read by 1 of perwiz, must be by 2 at least"
    assert refused(2, lambda rank: folders[rank]) == {why}


def test_parts__what_is_one_sided_is_read_whole(tmp_path):
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        run.process(rank, [call("MPI_Win_fence", 1010, 1020 + rank, comm=0, tag=0)])
    assert threaded.together(2, lambda team: files.read_part(str(run.path), team)) == [None, None]


def refused(size, path_of):
    """Return what each of some processes says of a run that they do not read, given the path that each is told."""
    told = []

    def read(team):
        with pytest.raises(TraceError) as error:
            files.read_part(path_of(team.rank), team)
        told.append(str(error.value))

    threaded.together(size, read)
    return set(told)


def test_refused__directories_of_other_runs(tmp_path):
    """All say the same, so that one line is said of it."""
    one, other = ring(tmp_path / "one"), ring(tmp_path / "other", token="u")
    assert refused(3, lambda rank: f"{one}:{other}") == {f"{other}: another run than {one}, must be a part of the same"}


def test_refused__what_one_process_does_not_see(tmp_path):
    one, none = ring(tmp_path / "one"), str(tmp_path / "none")
    why = f"{none}: nothing as process 1 sees it, {one} recorded run as process 0 does; must be parts of one run"
    assert refused(3, lambda rank: none if rank == 1 else one) == {why}


def test_refused__another_run(tmp_path):
    one, other = ring(tmp_path / "one"), ring(tmp_path / "other", token="u")
    why = f"{other}: process 1 sees another run than process 0 in {one}, must be a part of the same"
    assert refused(2, lambda rank: other if rank else one) == {why}


def test_refused__files_that_one_process_does_not_see(tmp_path):
    one, other = ring(tmp_path / "one"), ring(tmp_path / "other")
    next(path for path in (tmp_path / "other").iterdir() if "2" in path.name).rename(tmp_path / "away")
    why = f"{other}: process 2 sees some of the files that one before it sees, and not the same; must see the same, or none of them"
    assert refused(3, lambda rank: other if rank == 2 else one) == {why}
