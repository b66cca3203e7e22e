"""What a recorded run tells of itself: calls that it ended in, and processors that its processes shared."""

import pytest

import threaded
from perwiz.formats import files
from perwiz.report.info import document as info
from perwiz.trace.trace import SHARED, UNRETURNED
from perwiz.whatif.run import replayed
from recorded_runs import Run, call

MODULE = {"module": "/bin/app", "build_id": "b", "begin": 1000, "end": 1100, "bias": 1000}


def told(path, of, calls):
    """Return a property of a run whose ranks end in these calls: name and site of each, or None."""
    run = Run(path, len(calls))
    for rank, ended in enumerate(calls):
        rows = [call("MPI_Barrier", 1010, 1020, comm=0)]
        run.process(rank, rows + ([call(ended[0], 1030, 0, site=ended[1])] if ended else []), more=[MODULE])
    return files.read(str(run.path)).properties.get(of)


SEND, RECEIVE = ("MPI_Send", 1010), ("MPI_Recv", 1020)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([None, None], None),
        ([("begin", 0), None], None),
        ([SEND, SEND], "all 2 ranks were still in MPI_Send (app+0xa) when the run ended: deadlock?"),
        ([None, SEND], "rank 1 was still in MPI_Send (app+0xa) when the run ended"),
        ([("MPI_Send", 5)], "rank 0 was still in MPI_Send when the run ended"),
        ([None, *[SEND] * 9], "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 1 more were still in MPI_Send (app+0xa) when the run ended"),
        (
            [SEND, RECEIVE, RECEIVE],
            "all 3 ranks were still in MPI when the run ended: deadlock? ranks 1, 2 in MPI_Recv (app+0x14); rank 0 in MPI_Send (app+0xa)",
        ),
        (
            [None, SEND, RECEIVE],
            "2 of 3 ranks were still in MPI when the run ended: rank 1 in MPI_Send (app+0xa); rank 2 in MPI_Recv (app+0x14)",
        ),
    ],
)
def test_unreturned(tmp_path, calls, words):
    assert told(tmp_path / "run", UNRETURNED, calls) == words


def test_unreturned__most_places_are_counted(tmp_path):
    said = told(tmp_path / "run", UNRETURNED, [("MPI_Send", 1010 + k) for k in range(6)])
    assert said.endswith("rank 3 in MPI_Send (app+0xd); others at 2 more places")


def test_unreturned__a_silent_rank_may_be_anywhere(tmp_path):
    run = Run(tmp_path / "run", 2).process(0, [call("MPI_Recv", 1010, 0)])
    assert files.read(str(run.path)).properties[UNRETURNED] == "rank 0 was still in MPI_Recv when the run ended"


def crowd(path, *processes):
    """Return what is told of processes, each given as its node and the runs of its processors."""
    run = Run(path, len(processes))
    for rank, (host, processors) in enumerate(processes):
        run.process(rank, [call("MPI_Barrier", 1010, 1020, comm=0)], host=host, processors=processors)
    return run


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        ([("a", [])] * 3, None),
        ([("a", [0, 1, 2])] * 2, None),
        ([("a", [0, 1, 2]), ("b", [0, 1, 2])] * 2, None),
        ([("a", [0, 1, 2])] * 4, "4 processes shared 2 processors of node a"),
        ([("a", [0, 1, 1]), ("a", [1, 1, 1])], None),
        ([("a", [0, 1, 1]), ("a", [1, 1, 1]), ("a", [0, 2, 3])], None),
        ([("a", [3, 1, 1]), ("a", [3, 1, 1]), ("a", [0, 1, 8])], "2 processes shared 1 processor of node a"),
        ([("a", [0, 1, 1]), ("a", [0, 1, 2]), ("a", [1, 1, 1])], "3 processes shared 2 processors of node a"),
        (
            [("a", [0, 1, 1]), ("b", [0, 2, 1])] * 2,
            "2 processes shared 1 processor of node a; 2 processes shared 1 processor of node b",
        ),
    ],
)
def test_shared(tmp_path, processes, words):
    assert files.read(str(crowd(tmp_path / "run", *processes).path)).properties.get(SHARED) == words


def test_shared__most_nodes_are_counted(tmp_path):
    run = crowd(tmp_path / "run", *[(node, [0, 1, 1]) for node in "abcdef" for _ in range(2)])
    assert files.read(str(run.path)).properties[SHARED].endswith(" of node d; likewise on 2 more nodes")


def test_parts__tell_the_same(tmp_path):
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        run.process(rank, [call("MPI_Barrier", 1010, 1020, comm=0), call("MPI_Send", 1030, 0)], processors=[0, 1, 1])
    whole = files.read(str(run.path)).properties
    assert {UNRETURNED, SHARED} <= whole.keys()
    assert threaded.together(2, lambda team: files.read_part(str(run.path), team).properties) == [whole, whole]


def test_info__says_it(tmp_path):
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        run.process(rank, [call("MPI_Barrier", 1010, 1020, comm=0), call("MPI_Send", 1030, 0)], processors=[0, 1, 1])
    found = replayed(files.read(str(run.path)))
    document = info.document(found.trace, found.health(), found.waits, 0, found.machine)
    lines = info.text(document, regions=False, waits=False).splitlines()
    assert lines[2] == "incomplete    all 2 ranks were still in MPI_Send when the run ended: deadlock?"
    assert "shared        2 processes shared 1 processor of node node: waiting and message times include waiting for a" in "\n".join(lines)
