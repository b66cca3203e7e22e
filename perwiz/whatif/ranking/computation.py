"""Computation spread evenly over processes or threads, a process or node that computes longer as fast as all are on average, and no
pauses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.formats.devices import COPIES
from perwiz.formats.kineto.names import GRADIENT_READY, LOADING, UNUSED
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.numbers import distinct, numbered
from perwiz.trace.parts.pipeline import pipelines
from perwiz.trace.tables import PROCESS, STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.devices import mostly_for_devices
from perwiz.whatif.hypotheses.overlap import before_teams
from perwiz.whatif.hypotheses.parts import BEHIND, STAGES, STRETCHES, WHOLE, between_init_and_finalize, synchronisations
from perwiz.whatif.hypotheses.stretch import Spans
from perwiz.whatif.hypotheses.teams import EVERY, members
from perwiz.whatif.hypotheses.threads import Parallel
from perwiz.whatif.limits.alone import alone
from perwiz.whatif.limits.balance import MOST_OF_ALL
from perwiz.whatif.limits.between import asked_between
from perwiz.whatif.limits.pauses import ITERATIONS, pauses
from perwiz.whatif.limits.uneven import uneven
from perwiz.whatif.ranking.change import CLOSE, Asker, Change, NoneThereError, NotTriedError
from perwiz.whatif.ranking.serving import explains
from perwiz.whatif.rematch.farms import TOLD_BY_ONE, handed_out_by_one
from perwiz.whatif.rematch.rematched import handed_out

_REGIONS, _STEPS = 12, 24
"""Regions and single steps that are tried: those whose slowest processes compute longest beyond the mean, or that open most teams."""
_TRIED = 6
"""Processes, and nodes, that are tried: the slowest."""
_MOST = 1e9
"""The largest factor that can be asked for."""
_ALONE, _FEW, _NAME = 2, 2, 20
"""Times the longest of the others, beyond which a process is alone in a region; regions in which one is that are tried; columns of one."""
_SERIAL = 50
"""Times what others compute in a region on average, beyond which they do not do there what one does."""
_IDLE = 0.1
"""Part of the mean of all below which a process computes next to nothing."""
NEVER_LATE = "zero-time op:device_idle"
"""The question that lets no launch of a device be late."""
OF_STAGES = f"balance-time {STAGES}"
"""The question that lets the stages of a pipeline compute the same."""


def pauses_of_some(asker: Asker) -> list[Change]:
    """Return what gains if processes that pause now and then computed as long as they usually do. Raises NoneThereError if nothing tells
    what is usual.
    """
    segments, locations = asker.segments, asker.run.trace.locations
    if len(distinct(locations.process)) < 2:
        return []
    try:
        found = pauses(segments, segments.length, ITERATIONS)
    except UsageError as why:
        raise NoneThereError(str(why).removeprefix(f"{asker.run.trace.path}: ")) from None
    steps, ranks = np.count_nonzero(found.paused.any(axis=1)), np.unique(locations.process[found.paused.any(axis=0)]).tolist()
    if not ranks:
        return []
    who = f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks" if len(ranks) > _TRIED else f"ranks {', '.join(map(str, ranks))}"
    when = f"in {steps} of {words.several(len(found.took), 'iteration')}"
    return asker.gaining("pauses", [("program", f"usual {ITERATIONS}", f"no pauses of {who}, now {when}")])


def balance(asker: Asker) -> list[Change]:
    """Return what gains if the processes computed the mean of their times.

    Raises NotTriedError, with what gains in regions, if processes hand out tasks: of all together the mean is no measure of a task.
    """
    trace, asked = asker.run.trace, list[tuple[str, str, str]]()
    one = len(distinct(trace.locations.process)) < 2
    if one:
        _tied(trace)
        if trace.share.any(len(members(trace).fork)):
            return []  # nothing but `threads`
    masters = np.unique(_masters(trace)).tolist()
    if WHOLE not in trace.names and len(trace.locations) > 1 and not masters:
        asked.append(("program", WHOLE, "computation of the whole program"))
    if STRETCHES not in trace.names and not one and trace.share.any(len(synchronisations(trace))) and not masters:
        asked += [("stretch", text, what) for text, what in asked_between(asker.segments)]
    if STAGES not in trace.names and not trace.share.team and pipelines(trace) is not None:
        asked.append(("program", STAGES, "what the stages of each pipeline compute of micro-batches"))
    steps = uneven(trace)
    shared = [name for name in steps.regions(_REGIONS) if not mostly_for_devices(asker.segments, asker.for_devices, name)]
    asked += [("region", name, f"computation in each {name}") for name in shared]
    single = [step for step in steps.steps(_STEPS) if not mostly_for_devices(asker.segments, asker.for_devices, step)]
    asked += [("step", step, f"computation of step {step}") for step in single]
    asked += [] if masters else _of_one(asker)
    found = asker.gaining("balance", [(by, f"balance-time {text}", what) for by, text, what in asked])
    if masters:
        gives = f"rank {', '.join(map(str, masters))} {'gives' if len(masters) == 1 else 'give'} tasks to whoever asks"
        raise NotTriedError(f"all computation together, as {gives}: only regions, such as that around a task, can be balanced", found)
    return found


def _of_one(asker: Asker) -> list[tuple[str, str, str]]:
    """Return what to ask of that which one process computes alone behind a call site; of none whose name would be read as several."""
    found = (one for one in alone(asker.segments, _FEW) if "," not in one.site)
    what = "what rank {} computes alone behind {}, by all of them"
    return [("site", f"{BEHIND}site:{one.site}", what.format(one.rank, one.site.partition("@")[0])) for one in found]


def threads(asker: Asker) -> list[Change]:
    """Return what gains if the threads of teams computed the mean of their team, or all threads what the first does alone, or computed
    while it makes MPI calls; if kernels hid the copies of devices, workers loaded the batches of a training job ahead, and hooks of
    gradients took no time.
    """
    trace = asker.run.trace
    _tied(trace)
    forks = members(trace).fork
    out = _copies(asker) + _of_job(asker)
    if len(forks) and EVERY not in trace.names:
        asked = _teams(asker, forks) + _overlaps(asker)
        out += [asker.change("threads", by, question, what) for by, question, what in asked]
    return [change for change in out if change.makespan < asker.run.makespan]


def _copies(asker: Asker) -> list[Change]:
    """Return what copies of devices are worth that kernels could hide: at most it is as if they took no time."""
    names, hidden = asker.run.trace.names, "hidden behind kernels of another stream"
    asked = [(f"scale {name}=0", f"each {name}, {hidden}") for name in COPIES if name in names]
    return [asker.change("threads", "region", question, what, at_most=True) for question, what in asked]


def _of_job(asker: Asker) -> list[Change]:
    """Return what loading batches is worth that workers could load ahead, and what is called when a gradient is ready, such as a hook that
    passes it on; not where one rank alone is slow in that (`slowest`). Both at most: a batch that others loaded is taken over in no time,
    and a gradient added up. And what looking for parameters without gradients is worth, at least: all ranks tell each other of them, too.
    """
    known = asker.run.trace.names
    said = {name: "batches loaded ahead by workers, at most" for name in known if name.startswith(LOADING)}
    said |= {name: "hooks of gradients (DDP, comm hooks) take no time, at most" for name in known if name == GRADIENT_READY}
    said |= {name: "no search for unused parameters (find_unused_parameters), at least" for name in known if name == UNUSED}
    slow = {one.name for one in _alone_in_regions(asker)} if said else set()
    return [asker.change("threads", "region", f"scale {name}=0", what) for name, what in said.items() if name not in slow]


def _teams(asker: Asker, forks: I8) -> list[tuple[str, str, str]]:
    """Return what to ask of teams, and of what first threads do outside of them."""
    trace = asker.run.trace
    asked = [
        ("program", f"balance-threads {EVERY}", "computation of each team of threads"),
        ("program", f"parallel {EVERY}", "what the first thread of a process computes alone, by all of its threads"),
    ]
    path = trace.calls.path[forks]
    region, count = np.unique(trace.paths.region[path[path >= 0]], return_counts=True)
    names = [trace.names[row] for row in region[np.argsort(-count, kind="stable")][:_REGIONS].tolist()]
    asked += [("region", f"balance-threads {name}", f"computation of each team in {name}") for name in names]
    alone = "what the first thread of a process computes alone in"
    return asked + [("region", f"parallel {name}", f"{alone} {name}, by all of its threads") for name in _alone(asker)]


def _overlaps(asker: Asker) -> list[tuple[str, str, str]]:
    """Return what to ask of MPI calls that first threads make before they open a team: of all, and of the sites that take longest."""
    trace, times = asker.run.trace, asker.run.trace.timeline.calls
    rows = np.flatnonzero(before_teams(asker.segments))
    site_of, sites = selectors.sites(trace)
    took = np.bincount(site_of[rows], times.leave[rows] - times.enter[rows], minlength=len(sites))
    longest = [selectors.site(*sites[row]) for row in np.argsort(-took, kind="stable")[:_REGIONS].tolist() if took[row]]
    beside = "of first threads run beside the team opened next"
    asked = [("program", "overlap all", f"all MPI calls {beside}")] if len(longest) > 1 else []
    named = ((name, selectors.joined([f"site:{name}"])) for name in longest)
    return asked + [("site", f"overlap {text}", f"the calls of {name} {beside}") for name, text in named if text]


def _tied(trace: Trace) -> None:
    """Raise NotTriedError if there are threads of which the trace does not tell what they did in which team."""
    counts = trace.counts
    if counts.untied_threads and counts.untied_waits:
        several = words.several(counts.untied_threads, "thread")
        raise NotTriedError(f"the trace does not tell in which teams {several} took part (teams inside of teams, or missing events)")


def _alone(asker: Asker) -> list[str]:
    """Return the regions, of those that first threads are in longest, in which these compute outside of teams.

    What nearly all lies in is one only if no other region inside of it holds any of that: `solve`, but not `main` around it.
    """
    trace, segments, spans = asker.run.trace, asker.segments, asker.run.trace.timeline.regions
    saved = segments.length - Parallel(EVERY).lengths(segments, segments.length)
    first = trace.locations.kind[trace.regions.location] == PROCESS
    spent = np.bincount(trace.region_names[first], (spans.leave - spans.enter)[first], len(trace.names))
    rows = [row for row in np.argsort(-spent, kind="stable").tolist() if spent[row] and trace.names.index(trace.names[row]) == row]
    names = [trace.names[row] for row in rows[:_REGIONS]]
    inside = {name: segments.within(selectors.instances(trace, name)) & (saved > 0) for name in names}
    part = {name: int(saved[within].sum()) for name, within in inside.items()}
    whole = [name for name in names if part[name] >= MOST_OF_ALL * saved.sum() > 0]
    others = [name for name in names if part[name] and name not in whole]
    around = any((inside[whole[-1]] >= inside[name]).all() for name in others) if whole else True
    return others if around else [*others, whole[-1]]


def slowest(asker: Asker) -> list[Change]:
    """Return what gains of what `as_the_mean` returns, but of processes that serve the others in turn."""
    return [change for change in asker.gaining("slowest", as_the_mean(asker)) if not serves(asker, change)]


def serves(asker: Asker, change: Change) -> bool:
    """Return whether a change of what one process computes is of one that serves the others in turn (`serving.explains`)."""
    return change.by == "rank" and explains(asker, _rank(change), change.makespan)


def as_the_mean(asker: Asker) -> list[tuple[str, str, str]]:
    """Return what to ask of a process, those next to each other that are slow together, and those of a node: that they compute the mean of
    all, or what the others do in a region; each (what it is about, question, in words).

    Slow together are at most two thirds of all: more of them as fast as the mean is what balancing says (`balance`).
    Of all but those that hand out work to others (`rematch.rematched.Handed`): what they compute is no measure of a task; and but those
    that compute next to nothing, such as one that only deals out pieces and collects results.
    """
    trace = asker.run.trace
    ranks, computed = computing(asker)
    asked = [
        ("rank", f"speed rank:{ranks[row]}={factor}", f"rank {ranks[row]}, {factor} times as fast")
        for row, factor in _slow(computed, np.ones(len(ranks), "i8"))
    ]
    first, end = _class(computed)
    if 1 < end - first <= 2 * len(ranks) // 3 and np.array_equal(ranks[first:end], np.arange(ranks[first], ranks[first] + end - first)):
        sums = np.array([computed[first:end].sum(), computed.sum() - computed[first:end].sum()])
        for row, factor in _slow(sums, np.array([end - first, len(ranks) - end + first])):
            if row == 0:
                named = f"{ranks[first]}-{ranks[end - 1]}"
                asked.append(("class", f"speed rank:{named}={factor}", f"ranks {named}, {factor} times as fast"))
    node_of, own = np.zeros(len(ranks), "i8"), np.isin(trace.locations.process, ranks)
    node_of[np.searchsorted(ranks, trace.locations.process[own])] = trace.locations.node[own]
    if (node_of >= 0).all() and 1 < len(np.unique(node_of)) < len(ranks) and not _ambiguous(trace.nodes):
        sums, count = np.zeros(len(trace.nodes)), np.bincount(node_of, minlength=len(trace.nodes))
        np.add.at(sums, node_of, computed)
        for row, factor in _slow(sums, count):
            asked.append(("node", f"speed node:{trace.nodes[row]}={factor}", f"node {trace.nodes[row]}, {factor} times as fast"))
    asked += [("rank", str(one), one.what) for one in _alone_in_regions(asker)]
    as_others = "each operation as long as those of the others"
    return asked + [(by, f"typical {text}", f"{what}, {as_others}") for by, text, what in _stragglers(asker)]


def _rank(change: Change) -> int:
    """Return the rank that `speed rank:3=2`, `scale solve@rank:3=0.5` or `typical rank:3` is about."""
    return int(change.question.rpartition("rank:")[2].partition("=")[0])


@dataclasses.dataclass(frozen=True)
class _AloneInRegion:
    """A process that computes far longer than each of the others in a region, by how much, ns, and how many times their mean."""

    name: str
    rank: int
    excess: float
    times: float

    def __str__(self) -> str:
        return f"scale {self.name}@rank:{self.rank}={1 / self.times:.4g}"

    @property
    def what(self) -> str:
        """In words."""
        return f"rank {self.rank} as long as others, not {self.times:.1f} times, in {words.shown(self.name, _NAME)}"

    def inside(self, other: _AloneInRegion) -> bool:
        """Return whether it says more exactly where another is slow."""
        return self.rank == other.rank and self.excess >= CLOSE * other.excess and self.times > other.times


def _alone_in_regions(asker: Asker) -> list[_AloneInRegion]:
    """Return processes that are alone in a region, in most of its instances, those first that are furthest above the others.

    Not those that do there what no other does, such as writing results: that is to be shared, and nobody does it in no time. None of one
    process, beside which there are no others.
    """
    segments, trace = asker.segments, asker.run.trace
    masters, ranks = _masters(trace), np.unique(trace.locations.process)
    place, names = np.searchsorted(ranks, trace.locations.process), uneven(trace).regions(_REGIONS) if len(ranks) > 1 else []
    if not names:
        return []
    own = trace.share.has(segments.location) & (trace.locations.kind != STREAM)[segments.location] & ~asker.for_devices
    worked, owned = np.zeros(len(own) + 1, "i8"), np.zeros(len(own) + 1, "i4")
    np.multiply(own, segments.length, out=worked[1:])
    for one, column in ((worked[1:], worked[1:]), (own, owned[1:])):
        np.cumsum(one, out=column)
    found = list[_AloneInRegion]()
    for name in names:
        instances = selectors.instances(trace, name)
        _, number, step = selectors.all_steps(trace, instances)
        first, end, outer = segments.outermost(instances)
        does = owned[end] > owned[first]
        first, end, outer = first[does], end[does], outer[does]
        cell, which = numbered(place[segments.location[first]] * len(number) + step[outer])
        spent, (rank, at) = np.bincount(which, worked[end] - worked[first], len(cell)), np.divmod(cell, max(len(number), 1))
        total = trace.share.reduced(np.bincount(rank, spent, len(ranks)), "sum")
        row = int(total.argmax())
        others, its = np.delete(total, row), rank == row
        longest = np.zeros(len(number))
        np.maximum.at(longest, at[~its], spent[~its])
        longest = trace.share.reduced(longest, "max")
        ahead = int((spent[its] > longest[at[its]]).sum())
        often = 2 * trace.share.total(ahead) > len(number) > 1
        if often and others.min(initial=np.inf) > 0 and total[row] > _ALONE * others.max(initial=0) and ranks[row] not in masters:
            mean = float(others.mean())
            if total[row] > _SERIAL * mean:
                continue
            found.append(_AloneInRegion(name, int(ranks[row]), float(total[row]) - mean, float(total[row]) / mean))
    exact = [one for one in found if not any(other.inside(one) for other in found)]
    return sorted(exact, key=lambda one: -one.excess)[:_FEW]


def computing(asker: Asker) -> tuple[I8, F8]:
    """Return (processes that compute, but those that hand out work to others, ascending; how long each does, not for devices, ns)."""
    segments, trace = asker.segments, asker.run.trace
    masters = _masters(trace)
    ranks = np.setdiff1d(trace.locations.process, masters)
    own = ~np.isin(trace.locations.process, masters)
    within = between_init_and_finalize(segments) & (own & (trace.locations.kind != STREAM))[segments.location] & ~asker.for_devices
    within &= trace.share.has(segments.location)
    spent, of = segments.totals(Spans.of(within, segments.begins), len(own))[own], np.searchsorted(ranks, trace.locations.process[own])
    computed = trace.share.reduced(np.bincount(of, spent, len(ranks)).astype("f8"), "sum")
    working = _working(computed)
    return ranks[working].astype("i8"), computed[working]


def _working(computed: F8) -> Mask:
    """Return which processes compute, and not next to nothing; all where those that do are not most.

    Of 0 3 3 6: the last three, so the mean is 4; of 9 0 0 0: all.
    """
    works = computed >= _IDLE * computed.sum() / max(len(computed), 1)
    return works if 2 * works.sum() > len(works) else np.ones(len(works), bool)


def _masters(trace: Trace) -> I4:
    """Return the processes that hand out work to others, one for each location that does. Raises NotTriedError if one alone tells."""
    if trace.share.team is None:
        return trace.locations.process[handed_out(trace).masters]
    if handed_out_by_one(trace):
        raise NotTriedError(TOLD_BY_ONE)
    return trace.locations.process[:0]


def without_launches(asker: Asker) -> tuple[str, str, int] | None:
    """Return two questions and the makespan with both, ns: launches of a training job are never late, and of ranks the devices of which
    compute longest each operation takes what is usual. None if that gains nothing.

    Of one rank, if that gains nearly as much as any group; late launches alone hide a straggler: all else waits for them as recorded. None
    where launches are recorded: what waits for them is tied to them.
    """
    if launches_recorded(asker.run.trace):
        return None
    asked = [f"typical {text}" for _, text, _ in _stragglers(asker)]
    gain = [asker.run.makespan - asker.makespan(parse(NEVER_LATE), parse(text)) for text in asked]
    most = max(gain, default=0)
    enough = ((NEVER_LATE, text, asker.run.makespan - one) for text, one in zip(asked, gain, strict=True) if one >= CLOSE * most > 0)
    return next(enough, None)


def launches_recorded(trace: Trace) -> bool:
    """Return whether a trace has the calls that launch what devices do."""
    return bool((trace.calls.op == operations.OP["device_launch"]).any())


def training_devices(trace: Trace) -> Mask:
    """Return the locations, bool each, that are devices of a training job: streams that are launched to; none of other programs."""
    device = np.zeros(len(trace.locations), bool)
    device[trace.calls.location[trace.calls.op == operations.OP["device_idle"]]] = True
    return device & operations.DIST[trace.calls.op].any()


def _stragglers(asker: Asker) -> list[tuple[str, str, str]]:
    """Return (by, selector, in words) of the ranks of a training job whose devices compute longest, and of its process groups, nodes, and
    those that are slow together.
    """
    segments, trace = asker.segments, asker.run.trace
    device = training_devices(trace)
    if not trace.share.any(device.any()):
        return []
    if trace.share.team:
        raise NotTriedError("what is usual of operations of a training job is told by one process alone")
    within = device[segments.location]
    process = trace.locations.process[segments.location[within]]
    ranks, place = numbered(process)
    computed = np.bincount(place, segments.length[within]).astype("f8")
    one = np.ones(len(ranks), "i8")
    asked = [("rank", f"rank:{ranks[row]}", f"rank {ranks[row]}") for row, _ in _slow(computed, one)] if len(ranks) > 1 else []
    several = [part for part in _parts_of_job(trace, ranks, computed) if 1 < part.ranks.sum() < len(ranks)]
    beyond = np.array([(computed[part.ranks] - computed.mean()).sum() for part in several])
    longest = [several[k] for k in np.argsort(-beyond, kind="stable")[:_TRIED].tolist() if beyond[k] > 0]
    return asked + [(part.by, part.text, part.what) for part in longest]


@dataclasses.dataclass(frozen=True, eq=False)
class _PartOfJob:
    """Some ranks of a training job: a word of families.FAMILIES, as it is asked for, and in words."""

    by: str
    text: str
    what: str
    ranks: Mask


def _parts_of_job(trace: Trace, ranks: I4, computed: F8) -> list[_PartOfJob]:
    """Return process groups, nodes, and the ranks that compute longer than the middle between the longest and the shortest."""
    comms, out = trace.communicators, list[_PartOfJob]()
    for row, name in enumerate(comms.names):
        if comms.names.count(name) == 1:
            own = np.isin(ranks, comms.members(row))
            out.append(_PartOfJob("class", f"group:{name}", f"the {own.sum()} ranks of {name}", own))
    if not _ambiguous(trace.nodes):
        for row, name in enumerate(trace.nodes):
            out.append(
                _PartOfJob("node", f"node:{name}", f"node {name}", np.isin(ranks, trace.locations.process[trace.locations.node == row]))
            )
    slow = computed > (computed.max() + computed.min()) / 2
    if 0 < 3 * slow.sum() <= 2 * len(ranks):
        first, last = ranks[slow][0], ranks[slow][-1]
        runs = [f"{first}-{last}"] if last - first + 1 == slow.sum() else list(map(str, ranks[slow].tolist()))
        if len(runs) <= _TRIED:
            out.append(_PartOfJob("class", ",".join(f"rank:{run}" for run in runs), f"ranks {', '.join(runs)}", slow))
    return out


def _slow(computed: F8, count: I8) -> list[tuple[int, str]]:
    """Return which compute longer than the mean of all, each of so many processes, and how many times, the slowest first.

    Of 6 3 3 3, one process each: the first, 1.6 times.
    """
    mean = computed.sum() / max(int(count.sum()), 1)
    factor = computed / np.maximum(count, 1) / mean if mean else np.zeros(len(computed))
    order = np.argsort(-factor, kind="stable")[:_TRIED].tolist()
    return [(row, f"{factor[row]:.4g}") for row in order if 1 < float(f"{factor[row]:.4g}") <= _MOST]


def _class(computed: F8) -> tuple[int, int]:
    """Return the first and the end of the neighbours that together compute longest beyond the mean.

    Of 3 7 6 2 2, mean 4: the second and the third, 5 beyond it -> (1, 3).
    """
    beyond = np.concatenate(([0.0], np.cumsum(computed - computed.mean()))) if len(computed) else np.zeros(1)
    least = np.minimum.accumulate(beyond)
    end = int(np.argmax(beyond - least))
    return int(np.argmin(beyond[: end + 1])), end


def _ambiguous(nodes: Sequence[str]) -> bool:
    """Return whether a node cannot be told by its name: several have it, or it would be read as a list."""
    return len(set(nodes)) < len(nodes) or any("," in node for node in nodes)
