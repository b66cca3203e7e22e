"""One-sided communication in OTF2, as Score-P writes it: windows, groups and locks of small archives, worked by hand."""

import _otf2 as c
import pytest

from otf2_archive import NOTHING, Archive
from perwiz.trace import operations
from perwiz.trace.tables import LINKS

EXCLUSIVE, SHARED = c.LOCK_EXCLUSIVE, c.LOCK_SHARED
PROCESS = c.RmaSyncLevel(1)


@pytest.fixture
def archive(tmp_path):
    """Return archive(processes): an archive to be written, with two windows of the world."""

    def made(processes):
        a = Archive(tmp_path / "t", processes, start=100)
        for ref in range(2):
            a.define("RmaWin", ref, a.text("win"), 0, c.RmaWinFlag(0))
        return a

    return made


def meet(win):
    return "RmaCollectiveEnd", c.CollectiveOp(0), PROCESS, win, NOTHING, 0, 0


def links(trace):
    rows = zip(*(getattr(trace.links, name).tolist() for name in ("kind", "cause", "effect")), strict=True)
    return sorted((LINKS[kind], cause, effect) for kind, cause, effect in rows)


def test_groups(archive):
    """Rank 1 posts at 20 what rank 0 opened at 2, on window 1: calls 0 to 3 of rank 0, 4 to 6 of rank 1."""
    a = archive(2)
    of = [a.group(5, [1]), a.group(5, [0])]
    a.everyone("MPI_Win_create", meet(1), start=-20)
    a.call(0, "MPI_Win_start", 2, 21, ("RmaGroupSync", PROCESS, 1, of[0]))
    a.call(0, "MPI_Put", 22, 23, ("RmaPut", 1, 1, 4096, 7), ("RmaOpCompleteNonBlocking", 1, 7))
    a.call(0, "MPI_Win_complete", 24, 25, ("RmaGroupSync", PROCESS, 1, of[0]))
    a.call(1, "MPI_Win_post", 20, 21, ("RmaGroupSync", PROCESS, 1, of[1]))
    a.call(1, "MPI_Win_wait", 22, 26, ("RmaGroupSync", PROCESS, 1, of[1]))
    trace = a.trace()
    assert links(trace) == [("complete", 3, 6), ("post", 5, 1)]
    assert trace.calls.tag.tolist() == [1] * 7
    assert (trace.calls.comm.tolist(), trace.calls.peer.tolist()) == ([0] * 7, [-1, -1, 1, -1, -1, -1, -1])
    assert (int(trace.calls.bytes_sent[2]), len(trace.collectives), trace.counts.unmatched_collectives) == (4096, 1, 0)


def test_locks(archive):
    """Rank 0 has the lock of rank 2 until 20, rank 1 asks for it at 5; each says of its lock what kind it is."""
    a = archive(3)
    a.call(0, "MPI_Win_lock", 1, 2, ("RmaRequestLock", 0, 2, 0, EXCLUSIVE))
    a.call(0, "MPI_Get", 3, 4, ("RmaGet", 0, 2, 64, 7), ("RmaOpCompleteBlocking", 0, 7))
    a.call(0, "MPI_Win_unlock", 20, 21, ("RmaReleaseLock", 0, 2, 0))
    a.call(1, "MPI_Win_lock", 5, 21, ("RmaAcquireLock", 0, 2, 0, SHARED))
    a.call(1, "MPI_Win_unlock", 22, 23, ("RmaReleaseLock", 0, 2, 0))
    a.call(2, "MPI_Barrier", 0, 30)
    trace = a.trace()
    assert links(trace) == [("lock", 2, 3)]
    labels = [trace.texts[text] for text in trace.labels.text.tolist()]
    assert (trace.labels.call.tolist(), labels) == ([0, 3], ["exclusive", "shared"])
    assert trace.calls.peer[:5].tolist() == [2] * 5
    assert int(trace.calls.bytes_received[1]) == 64


def test_fences(archive):
    """Fences meet on the communicator of their window, which no other record of the call tells."""
    a = archive(2)
    a.everyone("MPI_Win_fence", meet(0), start=5)
    trace = a.trace()
    assert trace.collectives.op.tolist() == [operations.OP["MPI_Win_fence"]]
    assert trace.collectives.comm.tolist() == [0]


def test_undefined(archive):
    """A window or a group that nobody defines ties nothing."""
    a = archive(2)
    a.call(0, "MPI_Win_start", 2, 21, ("RmaGroupSync", PROCESS, 0, 77))
    a.call(1, "MPI_Win_post", 20, 21, ("RmaGroupSync", PROCESS, 5, 0))
    trace = a.trace()
    assert (links(trace), trace.calls.tag.tolist()) == ([], [0, -1])
