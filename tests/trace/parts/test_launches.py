"""How long launches are under way to an idle stream, worked by hand."""

import numpy as np

from kinetos import Rank, put
from perwiz.formats import files
from perwiz.trace.parts import launches
from perwiz.trace.tables import LAUNCH


def delays(folder, rank):
    """Return those of the launches, in order of time, us."""
    trace = files.read(put(folder / "job", rank))
    row = np.flatnonzero(trace.links.kind == LAUNCH)
    row = row[np.argsort(trace.timeline.calls.enter[trace.links.cause[row]])]
    out = launches.delays(trace)
    assert not out[trace.links.kind != LAUNCH].any()
    return (out[row] / 1000).tolist()


def test_delays__of_an_idle_stream(tmp_path):
    """Launched at 10 and 20, begun at 16 and 24, while nothing runs: 6 and 4 under way, less 1 that lies between 40 and 41 anyway.

    The third, of 30, is launched while the second runs, until 40, and follows it at once; so does a fourth. The fifth, launched at 49, is
    launched before the fourth ends, at 50, and begins 3 later: it takes what is usual of the first two, the less of 5 and 3.
    """
    rank = Rank(0, 1).launch("a", 10, 16, 2).launch("b", 20, 24, 16).launch("c", 30, 41, 3).launch("d", 33, 45, 5).launch("e", 49, 53, 1)
    assert delays(tmp_path, rank) == [5, 3, 0, 0, 3]


def test_delays__nothing_was_queued(tmp_path):
    """Nothing tells what lies between two kernels anyway: all that is recorded is the launch."""
    assert delays(tmp_path, Rank(0, 1).launch("a", 10, 16, 2).launch("b", 20, 24, 4)) == [6, 4]


def test_delays__a_stream_waits_for_another(tmp_path):
    """What begins 1 behind an event of another stream was launched long before: no launch holds it up. So it is 1 between any two here."""
    rank = Rank(0, 1).launch("a", 10, 14, 30).call("cudaEventRecord", 13, 1, stream=7, event=1)
    rank.call("cudaStreamWaitEvent", 15, 1, stream=9, event=1).launch("b", 17, 45, 5, stream=9)
    assert delays(tmp_path, rank) == [3, 0]


def test_delays__streams_apart(tmp_path):
    """Both take 6 to begin; 1 lies between two kernels of one stream, and 2 between those of the other."""
    rank = Rank(0, 1).launch("a", 10, 16, 10).launch("b", 12, 27, 3).launch("c", 14, 20, 10, stream=9).launch("d", 22, 32, 3, stream=9)
    assert delays(tmp_path, rank) == [5, 0, 4, 0]
