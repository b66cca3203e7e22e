"""What parts of a run are worth: the makespan if the computation of one was balanced, or if its calls did not wait; each exactly.

A change of a part is swept over what it touches, not over the run: all parts together cost little more than a few sweeps.
"""

from __future__ import annotations

import numpy as np

from perwiz.patterns.overtime.split import Pieces
from perwiz.trace.arrays import I4, I8, before, places
from perwiz.trace.tables import STREAM
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.parts import between_init_and_finalize
from perwiz.whatif.hypotheses.stretch import Segments, level
from perwiz.whatif.run import Run
from perwiz.whatif.worth import local_changes, sets
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.local_changes import Changes


class Asked:
    """Answers of a run about sets of parts."""

    def __init__(self, run: Run, segments: Segments, cut: Pieces, cuts: I8) -> None:
        self._run, self._segments = run, segments
        shared = between_init_and_finalize(segments) & (run.trace.locations.kind != STREAM)[segments.location] & ~for_devices(segments)
        kept = (cut.part >= 0) & shared[cut.segment]
        self.shared = cut if kept.all() else Pieces(*(column[kept] for column in (cut.segment, cut.part, cut.length, cut.location)))
        self.part_of_call = _part_of_call(run, cuts)
        """Part in which each call begins, int32, -1 of none."""

    def balanced(self, of_part: I8, count: int) -> I8:
        """Return the makespan, ns, if in one set of parts each process computed the mean; of each of `count` sets, given that of a part.

        Processes that compute nothing in it take none; what is before MPI_Init, behind MPI_Finalize and for devices stays.
        """
        if not len(self.shared.part):
            return np.full(count, self._run.makespan, "i8")
        return local_changes.makespans(self._run.graph, self._run.weighted.weight, self._evened(of_part), count)

    def _evened(self, of_part: I8) -> Changes:
        """Return what computation becomes, of each set a change."""
        cut, segments, weight = self.shared, self._segments, self._run.weighted.weight
        which = of_part[cut.part]
        order = np.lexsort((cut.location, which))
        which, length, location = which[order], cut.length[order], cut.location[order]
        gap = segments.gap[cut.segment[order]]
        group = np.cumsum(np.append(False, (which[1:] != which[:-1]) | (location[1:] != location[:-1])))
        step = which[np.searchsorted(group, np.arange(group[-1] + 1))]
        more = level(length, group, step) - length
        fresh = np.flatnonzero(np.append(True, (which[1:] != which[:-1]) | (gap[1:] != gap[:-1])))
        edge, more = segments.edge[gap[fresh]], np.add.reduceat(more, fresh)
        differs = more != 0
        return Changes(which[fresh][differs], edge[differs], weight[edge[differs]] + more[differs])

    def unwaiting(self, of_part: I8, count: int) -> I8:
        """Return the makespan, ns, if no call that begins in one set of parts waited; of each of `count` sets, given that of a part."""
        call = np.append(of_part, -1)[self.part_of_call].astype("i4")
        names, each = tuple(map(str, range(count))), np.arange(count, dtype="i4")
        return sets.makespans(self._run.weighted, self._run.time, Family(names, (None,) * count, call, each, each), "zero-wait")


def _part_of_call(run: Run, cuts: I8) -> I4:
    """Return the part in which each call begins, -1 of none."""
    trace = run.trace
    enter, first = trace.timeline.calls.enter, trace.first_calls
    part = places(before(enter, first, cuts), first) - 1
    return np.where(part >= len(cuts) - 1, -1, part)
