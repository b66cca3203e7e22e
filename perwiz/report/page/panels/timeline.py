"""The data of the timeline: runs with their calls, and timelines over them, as columns small enough to be mailed.

Times are counted in a unit, 1 ns where that fits the budget, else as many powers of two of it as needed; the page says so. Within a
location what is written is the gap before each call and how long it lasts, and of regions how far they begin and end behind the call
before that, or end behind their begin; of a second timeline over the same calls only by how much these differ. Messages and waits are
sorted by the two processes they tie, so that their rows go on in small steps.
Of a run with more calls than CALLS those are kept that last or wait longest, and those that an overlay names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from perwiz import words
from perwiz.report.page.analyses import Other
from perwiz.report.page.tables import PanelData, column, size
from perwiz.report.picture.lanes import GROUP, GROUPS, WAITING, origin
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import LINKS
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.predict import forwards
from perwiz.whatif.run import Run
from perwiz.whatif.waits import Waits

BUDGET = 3_800_000
"""Characters of all columns of the timeline; what is needed at 1 ns may be less."""
CALLS = 1_000_000
"""Calls of a run that are kept."""
BANDS = 150_000
"""Instances of user regions that are kept, those that last longest."""
_NAME = 300


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """A timeline over the calls of a run, and what to call it."""

    name: str
    timeline: Timeline
    waits: Waits | None = None
    order: I8 | None = None
    """Rows of calls by location and time; None: they are in this order."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """A run, and all timelines over its calls."""

    trace: Trace
    moments: Sequence[Moments | Other]
    pairs: tuple[Ints, Ints] | None = None
    """Calls of the first run, ascending, and the same ones here; None of the first run itself."""


@dataclasses.dataclass(frozen=True, eq=False)
class Overlays:
    """What is drawn over the first timeline."""

    path: tuple[int, ...] = ()
    """Calls of the domino path."""
    worth: I8 | None = None
    """ns that the run gains, per call, if that one does not wait."""
    critical: tuple[I8, I8, I8] | None = None
    """Location, begin and length, ns, of stretches of the critical path."""
    panes: tuple[int, int] = (0, -1)
    """Timelines shown at first; -1 is none."""


def document(runs: Sequence[Shown], overlays: Overlays, budget: int = BUDGET) -> PanelData:
    """Return the data of the timeline panel, in the finest unit of time that fits the budget."""
    tables = [_Run(shown, _kept(shown, overlays if not k else Overlays())) for k, shown in enumerate(runs)]
    fixed = [run.tables() for run in tables]
    calls = sum(len(run.keep) * len(run.shown.moments) for run in tables)
    unit, span = 1, max((moments.timeline.makespan for shown in runs for moments in shown.moments), default=0)
    while True:
        times = [_timelines(run, k, unit) for k, run in enumerate(tables)]
        over = size(fixed) + size(times) - budget
        if over <= 0 or unit > span >> 10:
            break
        unit <<= max(1, min(8, round(over * 6 / (2 * calls))))
    return {
        "groups": list(GROUPS[:WAITING]),
        "unit": unit,
        "panes": list(overlays.panes),
        "origin": origin(runs[0].trace, (moments.timeline for moments in runs[0].moments)),
        "runs": fixed,
        "timelines": [timeline for timelines in times for timeline in timelines],
        **_overlays(tables, overlays),
    }


class Answered:
    """Makes timelines of a page that is there: of the first run, as differences from its first timeline, in the unit of the page."""

    def __init__(self, shown: Shown, overlays: Overlays, unit: int) -> None:
        self._run, self._unit = _Run(shown, _kept(shown, overlays)), unit

    def of(self, run: Run) -> PanelData:
        """Return the timeline of another run of these calls."""
        order = None if run.order is None else np.argsort(run.order.call)
        first, then = self._run.shown.moments[0], Moments("asked", forwards(run.recorded_rows()), run.waits, order)
        return _timelines(self._run.over([first, then]), 0, self._unit)[1]


def _kept(shown: Shown, overlays: Overlays) -> I8:
    """Return the rows of the calls that are kept, ascending."""
    count = len(shown.trace.calls)
    if count <= CALLS:
        return np.arange(count)
    weight = np.zeros(count, "i8")
    for moments in shown.moments:
        times = moments.timeline.calls
        np.maximum(weight, times.leave - times.enter, out=weight)
    weight[list(overlays.path)] = np.iinfo("i8").max
    if overlays.worth is not None:
        weight[overlays.worth > 0] = np.iinfo("i8").max
    return np.sort(np.argpartition(weight, count - CALLS)[count - CALLS :])


class _Run:
    """A run, and which of its calls are kept."""

    def __init__(self, shown: Shown, keep: I8) -> None:
        self.shown, self.trace, self.keep = shown, shown.trace, keep
        self.place = np.full(len(self.trace.calls) + 1, -1, "i8")
        self.place[keep] = np.arange(len(keep))
        self.location = self.trace.calls.location[keep].astype("i8")
        self.bands = _bands(self.trace)
        regions = self.trace.regions
        self.calls_before = np.searchsorted(keep, regions.first_call[self.bands]), np.searchsorted(keep, regions.end_call[self.bands])
        """Kept calls of all locations before each region begins, and before it ends."""

    def over(self, moments: Sequence[Moments | Other]) -> _Run:
        """Return the run with other timelines, the same of its calls kept."""
        return _Run(Shown(self.trace, moments), self.keep)

    def tables(self) -> PanelData:
        """Return what does not depend on times."""
        trace, keep = self.trace, self.keep
        used, op = np.unique(trace.calls.op[keep], return_inverse=True)
        places = trace.locations
        return {
            "name": words.shown(trace.path, _NAME),
            "calls": len(trace.calls),
            "processes": places.process.tolist(),
            "threads": places.thread.tolist() if places.thread.any() else None,
            "kinds": places.kind.tolist() if places.kind.any() else None,
            "nodes": places.node.tolist(),
            "node_names": [words.shown(name, _NAME) for name in trace.nodes],
            "metahosts": places.metahost.tolist(),
            "metahost_names": [words.shown(name, _NAME) for name in trace.metahosts],
            "ops": [operations.OPS[k] for k in used.tolist()],
            "op_groups": GROUP[used].tolist(),
            "names": [words.shown(name, _NAME) for name in trace.names],
            "path_parents": trace.paths.parent.tolist(),
            "path_names": trace.paths.region.tolist(),
            "sites": [words.shown(name, _NAME) for name in trace.sites],
            "counts": np.bincount(self.location, minlength=len(places)).tolist(),
            "id": column(keep, running=True) if len(keep) < len(trace.calls) else None,
            "op": column(op),
            "path": column(trace.calls.path[keep]),
            "site": column(trace.site[keep]) if len(trace.site) else None,
            "messages": self._messages(),
            "links": self._links() if len(trace.links) else None,
            "parallel": np.flatnonzero(trace.parallel).tolist(),
            "bands": self._bands(),
        }

    def _messages(self) -> PanelData:
        table = self.trace.messages
        send, receive = (self.place[rows] for rows in (table.send, table.receive_done))
        rows = np.flatnonzero((send >= 0) & (receive >= 0))
        rows = rows[self.sorted(send[rows], receive[rows])]
        return {
            "all": len(table),
            "send": column(send[rows], running=True),
            "receive": column(receive[rows], running=True),
            "bytes": column(table.bytes[rows]),
        }

    def _links(self) -> PanelData:
        """Return the links between two locations."""
        table, location = self.trace.links, self.trace.calls.location
        cause, effect = self.place[table.cause], self.place[table.effect]
        rows = np.flatnonzero((cause >= 0) & (effect >= 0) & (location[table.cause] != location[table.effect]))
        rows = rows[self.sorted(cause[rows], effect[rows])]
        used, kind = np.unique(table.kind[rows], return_inverse=True)
        return {
            "kinds": [LINKS[k] for k in used.tolist()],
            "kind": column(kind),
            "cause": column(cause[rows], running=True),
            "effect": column(effect[rows], running=True),
        }

    def sorted(self, first: I8, second: I8) -> I8:
        """Return the order of pairs of calls by their locations, then by the first call; -1 is no call."""
        location = np.append(self.location, -1)
        return np.lexsort((first, location[second], location[first]))

    def _bands(self) -> PanelData:
        regions, rows = self.trace.regions, self.bands
        begins, ends = self.calls_before
        return {
            "all": len(regions),
            "location": column(regions.location[rows], running=True),
            "begins": column(begins, running=True),
            "inside": column(ends - begins),
            "path": column(regions.path[rows]),
            "instance": column(regions.instance[rows], running=True),
        }


def _bands(trace: Trace) -> I8:
    """Return the instances of regions that are kept: all, or of too many the longest."""
    times = trace.timeline.regions
    length = times.leave - times.enter
    count = len(length)
    return np.arange(count) if count <= BANDS else np.sort(np.argpartition(length, count - BANDS)[count - BANDS :])


def _timelines(run: _Run, number: int, unit: int) -> list[PanelData]:
    """Return the timelines of a run in some unit, those behind the first as differences from it where their calls have its order."""
    out: list[PanelData] = []
    first = None
    for moments in run.shown.moments:
        timeline = moments.timeline
        ends, gap, length, order = _steps(run, timeline, moments.order, unit)
        if order is None and first is not None:
            written = gap - first[0], length - first[1]
        else:
            written = gap, length
        relative = order is None and first is not None
        first = first or ((gap, length) if order is None else None)
        out.append(
            {
                "run": number,
                "name": words.shown(moments.name, _NAME),
                "makespan": timeline.makespan,
                "relative": relative,
                "order": None if order is None else column(order, running=True),
                "enter": ends[0].tolist(),
                "leave": ends[1].tolist(),
                "gap": column(written[0]),
                "length": column(written[1]),
                "waits": _waits(run, moments.waits, unit, run.shown.moments[0].waits if out else None),
                "bands": _band_times(run, timeline, unit, run.shown.moments[0].timeline if out else None),
            }
        )
    return out


def _units(timeline: Timeline, moments: I8, unit: int) -> I8:
    """Return moments in units since the first instant of a timeline."""
    begin = int(timeline.locations.enter.min(initial=np.iinfo("i8").max)) if len(timeline.locations) else 0
    return np.asarray((moments - begin + unit // 2) // unit, "i8")


def _steps(run: _Run, timeline: Timeline, calls: I8 | None, unit: int) -> tuple[tuple[I8, I8], I8, I8, I8 | None]:
    """Return the ends of locations, the gap before each call and its length, and the order of those kept if calls have another one."""
    rows, order = run.keep, None
    if calls is not None:
        order = run.place[calls]
        order = order[order >= 0]
        rows = run.keep[order]
    enter, leave = (_units(timeline, times[rows], unit) for times in (timeline.calls.enter, timeline.calls.leave))
    ends = _units(timeline, timeline.locations.enter, unit), _units(timeline, timeline.locations.leave, unit)
    before = np.concatenate([[0], leave[:-1]])[: len(leave)]
    new = np.flatnonzero(np.diff(run.location, prepend=-1))
    before[new] = ends[0][run.location[new]]
    return ends, enter - before, leave - enter, order


def _waits(run: _Run, waits: Waits | None, unit: int, first: Waits | None) -> PanelData | None:
    """Return the calls that wait, for which call and how long; behind a first timeline those that wait otherwise than there."""
    if waits is None:
        return None
    time, partner = _waiting(run, waits, unit)
    before = _waiting(run, first, unit) if first else (np.zeros(len(time), "i8"), np.full(len(time), -1))
    rows = np.flatnonzero((time != before[0]) | (partner != before[1]))
    rows = rows[run.sorted(rows, partner[rows])]
    return {"call": column(rows, running=True), "partner": column(partner[rows], running=True), "time": column(time[rows])}


def _waiting(run: _Run, waits: Waits, unit: int) -> tuple[I8, I8]:
    """Return how long each call waits, in units, and for which; waits of less than half a unit are none."""
    time = (waits.time[run.keep] + unit // 2) // unit
    return time, np.where(time > 0, run.place[waits.partner[run.keep]], -1)


def _band_times(run: _Run, timeline: Timeline, unit: int, first: Timeline | None) -> PanelData:
    """Return how far regions begin and end behind the call before that; behind a first timeline by how much that differs from there."""
    enter, leave = _behind(run, timeline, unit)
    if first is not None:
        before = _behind(run, first, unit)
        enter, leave = enter - before[0], leave - before[1]
    return {"enter": column(enter, running=True), "leave": column(leave)}


def _behind(run: _Run, timeline: Timeline, unit: int) -> tuple[I8, I8]:
    """Return how far regions begin, and end, behind the call before that; behind the first instant of their location without one.

    The end of a region without calls is that far behind its begin.
    """
    location = run.trace.regions.location[run.bands]
    returned = _units(timeline, timeline.calls.leave[run.keep], unit)
    first, begun = np.searchsorted(run.location, location), _units(timeline, timeline.locations.enter, unit)[location]

    def before(calls: I8) -> I8:
        out = begun.copy()
        some = calls > first
        out[some] = returned[calls[some] - 1]
        return out

    begins, ends = run.calls_before
    enter, leave = (_units(timeline, times[run.bands], unit) for times in (timeline.regions.enter, timeline.regions.leave))
    return enter - before(begins), leave - np.where(ends > begins, before(ends), enter)


def _overlays(runs: Sequence[_Run], overlays: Overlays) -> dict[str, Any]:
    first = runs[0]
    out: dict[str, Any] = {"path": first.place[list(overlays.path)].tolist(), "worth": None, "critical": None}
    out["pairs"] = [_pairs(first, run) for run in runs]
    if overlays.worth is not None:
        gain = overlays.worth[first.keep]
        rows = np.flatnonzero(gain > 0)
        out["worth"] = {"call": column(rows, running=True), "gain": column(gain[rows])}
    if overlays.critical is not None:
        location, begin, length = overlays.critical
        out["critical"] = {"location": column(location), "begin": column(begin, running=True), "length": column(length)}
    return out


def _pairs(first: _Run, run: _Run) -> PanelData | None:
    """Return the kept calls of the first run, and the same ones of another; None of the first itself."""
    if run.shown.pairs is None:
        return None
    before, after = first.place[run.shown.pairs[0]], run.place[run.shown.pairs[1]]
    both = (before >= 0) & (after >= 0)
    return {"first": column(before[both], running=True), "second": column(after[both], running=True)}
