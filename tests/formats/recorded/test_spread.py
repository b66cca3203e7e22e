"""Recorded runs read by several processes, each its calls alone: the parts are those cut out of what one process reads."""

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
    why = "recorded run as process 0 sees it, ALOG as process 1 does; all must see the same files"
    assert {line.partition(": ")[2] for line in refused(3, lambda rank: none if rank == 1 else one)} == {why}


def test_refused__another_run(tmp_path):
    one, other = ring(tmp_path / "one"), ring(tmp_path / "other", token="u")
    told = refused(2, lambda rank: other if rank else one)
    assert {line.partition(": ")[2] for line in told} == {"process 1 sees other files of it than process 0; all must see the same"}


def test_refused__files_that_one_process_does_not_see(tmp_path):
    one, other = ring(tmp_path / "one"), ring(tmp_path / "other")
    next(path for path in (tmp_path / "other").iterdir() if "2" in path.name).rename(tmp_path / "away")
    told = refused(3, lambda rank: other if rank == 2 else one)
    assert {line.partition(": ")[2] for line in told} == {"process 2 sees other files of it than process 0; all must see the same"}
