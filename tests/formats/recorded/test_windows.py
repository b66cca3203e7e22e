"""One-sided calls of recorded runs, written by hand as the recorder would: windows, groups and locks, and what becomes of them in files."""

import pytest

from perwiz.formats import files
from perwiz.formats.losses import LINKS as TIES
from perwiz.formats.losses import counted
from perwiz.formats.otf2.format import OTF2
from perwiz.formats.recorded import read as recorded
from perwiz.trace import operations
from perwiz.trace.tables import LINKS, NONE
from perwiz.whatif.health import health
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from recorded_runs import EXCLUSIVE, Run, call, part


def on(name, enter, leave, to=NONE, window=0, **more):
    """A call on a window of the world."""
    return call(f"MPI_{name}", enter, leave, comm=0, tag=window, peer=to, **more)


def links(trace):
    rows = zip(*(getattr(trace.links, name).tolist() for name in ("kind", "cause", "effect")), strict=True)
    return sorted((LINKS[kind], cause, effect) for kind, cause, effect in rows)


@pytest.fixture
def epochs(tmp_path):
    """Rank 1 posts at 1500 what rank 0 opened at 1200; then rank 0 locks the window of rank 2 until 3000, rank 1 asks for it at 2500."""
    first = [on("Win_create", 1100, 1110), on("Win_start", 1200, 1510), on("Put", 1520, 1530, 1, sent=8), on("Win_complete", 1540, 1550)]
    first += [on("Win_lock", 2000, 2010, 2, bits=EXCLUSIVE), on("Put", 2020, 2030, 2), on("Win_unlock", 3000, 3010, 2)]
    second = [on("Win_create", 1100, 1110), on("Win_post", 1500, 1505), on("Win_wait", 1506, 1560)]
    second += [on("Win_lock", 2500, 3020, 2), on("Win_unlock", 3030, 3040, 2)]
    third = [on("Win_create", 1100, 1110), call("MPI_Recv", 1120, 4000)]
    run = Run(tmp_path / "run", 3)
    run.process(0, first, [part(1, -1, peer=1)])
    run.process(1, second, [part(1, -1, peer=0)])
    return recorded.read(str(run.process(2, third).path))


def test_links(epochs):
    """Calls of rank 0 are 0 to 6, those of rank 1 from 7 on: the post 8, the wait 9, the lock 10."""
    assert links(epochs) == [("complete", 3, 9), ("lock", 6, 10), ("post", 8, 1)]
    assert epochs.calls.tag.tolist() == [0] * 12 + [0, NONE]
    texts = [epochs.texts[text] for text in epochs.labels.text.tolist()]
    assert (epochs.labels.call.tolist(), texts) == ([4, 10], ["exclusive", "shared"])
    assert len(epochs.requests) == len(epochs.messages) == 0


def test_what_if(epochs):
    """Both engines leave the run as it is; without the waits rank 0 comes 300 earlier, rank 1 then 300 and 500."""
    for engine in ("sweep", "replay"):
        same = predict(epochs, [], engine=engine)
        assert same.predicted.calls == same.recorded.calls
    assert replayed(epochs).waits.time[[1, 9, 10]].tolist() == [300, 34, 500]


def test_health(epochs):
    """Whom calls on windows wait for is known: only of the receive that nobody sends to it is not."""
    assert health(epochs).calls_not_modelled == 1


@pytest.mark.parametrize("name", ["x.alog", "x.otf2"])
def test_files(epochs, tmp_path, name):
    path = str(tmp_path / name)
    files.write(epochs, path)
    back = files.read(path)
    assert links(back) == links(epochs)
    for column in ("tag", "peer", "comm", "op"):
        assert getattr(back.calls, column).tolist() == getattr(epochs.calls, column).tolist()
    if name == "x.alog":
        assert [back.texts[text] for text in back.labels.text.tolist()] == ["exclusive", "shared"]
        assert back.labels.call.tolist() == epochs.labels.call.tolist()
    else:
        assert dict(OTF2.missing(epochs))["operations and datatypes of reductions, kinds of locks"] == 2


def test_losses(epochs):
    assert counted(epochs, (TIES,)) == [(TIES, 3)]


def test_fences__of_two_windows(tmp_path):
    """Each window has its own order: rank 0 fences window 0 first, rank 1 window 1; that is no disagreement."""
    run = Run(tmp_path / "run", 2)
    for rank in range(2):
        both = [on("Win_fence", 1200, 1210, window=rank), on("Win_fence", 1300, 1310, window=1 - rank)]
        run.process(rank, [on("Win_create", 1100, 1110), on("Win_create", 1120, 1130, window=1), *both])
    trace = recorded.read(str(run.path))
    fences = trace.collectives.op == operations.OP["MPI_Win_fence"]
    assert (len(trace.collectives), trace.counts.unmatched_collectives) == (4, 0)
    together = [trace.members.call[trace.members.collective == row].tolist() for row in range(4) if fences[row]]
    assert together == [[2, 7], [3, 6]]
