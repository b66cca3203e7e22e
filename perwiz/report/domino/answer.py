"""The first screen of `perwiz domino`: what was recorded, what limits it, the first change, and what there is to gain at best."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.domino.change import gained, meaning, named, parts_of, shown
from perwiz.report.domino.records import DominoDocument, Limits, Line, Spending, first_bound, first_line, hidden, pays
from perwiz.report.info import iterations
from perwiz.report.records import Span

_PATH, _REGION, _MUCH = 60, 80, 0.05
"""Columns of a region path, and of the name of a region; part of what shares are of: what is less is not told."""
_SPOTS, _NAMED = 3, 3
"""Hot spots that are told, and iterations that stand out that are named."""
_TALKING, _UNEXPLAINED = ("MPI", "OpenSHMEM"), "unexplained"
"""Callers that use the network; what is inside of calls and no cost of the model."""
_WHY = "by no cost of the model; waiting for a processor, copies, the library, or a slower network"
_BOUND = {
    "zero-wait": "a wait goes only as far as what it waits for comes earlier",
    "zero-time": "calls always take some time",
    "network": "no network is for free",
    "hide": "only as far as nobody needs what it brings before",
    "scale": "only as far as kernels are there to hide it",
}
"""Why nobody can keep what is promised at best, by what is asked."""


def answer(domino: DominoDocument) -> Facts:
    """Return the first screen: what was recorded, what limits it, and the first change."""
    recorded = blocks.recorded(domino.recorded_ns, domino.health)
    if not domino.calls:
        facts = [("recorded", f"{recorded}; there are no MPI calls to change")]
    else:
        waits = f"{_everybody(domino.waiting_of)} {words.duration(domino.waiting_ns)} in {domino.waiting_calls} of"
        facts = [("recorded", f"{recorded}; {waits} {words.several(domino.calls, 'call')}{blocks.as_recorded(domino.health)}")]
    facts += blocks.share_facts(domino.shares_of_ns, domino.replayed_ns, domino.part)
    facts += limits(domino.limits, domino.part) if domino.limits else []
    facts += stands_out(domino) + for_devices(domino) + serving(domino) + handed(domino)
    return blocks.lacking(domino.health) + misfit.beside([*facts, *best(domino), *hot_spots(domino)], domino, domino.shares_of_ns)


def _everybody(kinds: Sequence[str]) -> str:
    """Return who waits."""
    *others, last = kinds or [""]
    return f"all {', '.join(others)}{' and ' * bool(others)}{last} together wait" if last else "it waits"


def _who(limits: Limits) -> str:
    """Return which process computes most, or which thread where several do."""
    if limits.lanes == limits.processes:
        return f"rank {limits.rank}"
    if limits.thread:
        return f"thread {words.rank(limits.rank, limits.thread)}"
    return "the first thread" if limits.processes == 1 else f"the first thread of rank {limits.rank}"


def limits(limits: Limits, part: blocks.Part) -> Facts:
    """Return in words what the time is made of, what matters most first, parts below 0.1 % left out.

    `part` is that of the run that is asked about, if not all is.
    """
    turns = "waiting in turn, also in teams of threads" if limits.lanes > limits.processes else "waiting in turn"
    parts = {
        f"imbalance ({_who(limits)} computes most)": limits.imbalance_ns,
        f"serialisation ({turns})": limits.serialisation_ns,
        "devices (waiting for kernels and copies)": limits.devices_ns,
        **_transfer(limits),
        "late start (others began before)": limits.start_ns,
        "MPI_Finalize and what follows": limits.end_ns,
    }
    largest = [(name, _share(spent, limits.time_ns)) for name, spent in sorted(parts.items(), key=lambda row: -row[1]) if spent]
    told = ", ".join(f"{name} {share}" for name, share in largest if share != "<0.1 %")
    of = f"of {blocks.whole_of(limits.time_ns, part) if limits.after_init or part else f'the {words.duration(limits.time_ns)} recorded'}"
    computation = f"computation {_share(limits.computation_ns, limits.time_ns)}" if limits.computation_ns else ""
    facts = [("limited by", f"{'; '.join(filter(None, (told, computation))) or 'nothing'}, {of}")]
    if _UNEXPLAINED in told:
        facts.append(("", f"{_UNEXPLAINED}: {_WHY}"))
    if limits.polling_ns >= _MUCH * limits.time_ns:
        polling = f"{_share(limits.polling_ns, limits.time_ns)} is polling (tests and probes in vain)"
        facts.append(("", f"{polling}: --zero-poll all says what is left if the processes waited instead"))
    return facts


def stands_out(domino: DominoDocument) -> Facts:
    """Return in words which iterations take far longer than the others, if that is much: what gains with them may gain less in another run,
    or more.
    """
    found = domino.stands_out
    if not found or found.excess_ns < _MUCH * domino.shares_of_ns:
        return []
    lasts = dict(zip(found.numbers, found.times_ns, strict=True))
    excess = f"{_share(found.excess_ns, domino.shares_of_ns)} of the time is what they take more"
    told = [("stands out", f"{iterations.stands_out(lasts, found.median_ns, most=_NAMED)}: {excess}")]
    alone = f"those alike alone: --iterations {found.alike}; " if found.alike else ""
    return [*told, ("", f"{alone}if other work disturbed them, record again")]


def hot_spots(domino: DominoDocument) -> Facts:
    """Return in words what the first hot spots are worth, which is no change by itself; nothing if none is worth a hundredth."""
    spots = [spot for spot in domino.hot_spots if 100 * spot.gain_ns >= domino.shares_of_ns]
    if not spots:
        return []
    worth = [f"{words.duration(spot.gain_ns)} ({_share(spot.gain_ns, domino.shares_of_ns)})" for spot in spots]
    on = ["" if spot.rank is None else f" on rank {spot.rank}" for spot in spots]
    gains = [f"{words.shown(spot.region, _REGION)}{rank} gains {gain}" for spot, rank, gain in zip(spots[:_SPOTS], on, worth, strict=False)]
    more = f" and {len(spots) - _SPOTS} more" if len(spots) > _SPOTS else ""
    asked = "NAME@rank:R=0.5" if any(on[:_SPOTS]) else "NAME=0.5"
    told = [("hot spots", f"if it could be made twice as fast (--scale {asked}), {'; '.join(gains)}{more}")]
    if domino.outside_ns < _MUCH * domino.shares_of_ns:
        return told
    outside = f"{_share(domino.outside_ns, domino.shares_of_ns)} of the time is computation on the critical path outside of regions"
    return [*told, ("", f"{outside}: mark some there to see which of it pays")]


def for_devices(domino: DominoDocument) -> Facts:
    """Return in words what is computed for devices, if that is much: it is in no change of what threads or processes compute."""
    found = domino.for_devices
    if not found or found.time_ns < _MUCH * domino.shares_of_ns:
        return []
    spent = f"rank {found.rank} computes {words.duration(found.time_ns)} to start its device and give it data"
    where = f", most of it in {words.shown(found.region, _PATH)}" if found.region else ""
    return [("for devices", f"{spent}{where}: no work for other threads or processes, no change below counts it")]


def serving(domino: DominoDocument) -> Facts:
    """Return in words which process serves the others in turn, if they wait long for that, and what to do, unless that is said below."""
    found = domino.serving
    if not found or found.waited_ns < _MUCH * domino.shares_of_ns or not domino.answerable:
        return []
    where = f" ({', '.join(words.shown(site, _PATH) for site in found.sites[:1])})" if found.sites else ""
    waits = f"{words.duration(found.waited_ns)} ({_share(found.waited_ns, domino.shares_of_ns)})"
    served = f"rank {found.rank} serves {found.others} others in turn: it prepares a piece for one and sends it{where}, then for the next"
    told = [("serving", f"{served}; who is not yet served waits, {waits} in {words.several(found.rounds, 'round')}")]
    line = first_line(domino)
    return told if line and line.head.remedy == found.remedy else [*told, ("", f"to do: {found.remedy}")]


def handed(domino: DominoDocument) -> Facts:
    """Return in words what work processes get as they come for it: whoever hands it out waits, and that is no work to share."""
    found = domino.handed_out
    if not found or not domino.answerable:
        return []
    masters = f"{_ranks(found.masters)} {'gives' if len(found.masters) == 1 else 'give'}"
    serving = f"{_ranks(found.serving)} {'answers whoever it hears' if len(found.serving) == 1 else 'answer whoever they hear'}"
    given, workers = words.several(found.tasks - found.fetched, "task"), words.several(found.workers, "process")
    told = [f"{masters} {given} to whoever asks, of {workers}"] if found.masters else []
    told += [f"{serving}, of {workers}"] if found.serving else []
    told += [f"{words.several(found.fetched, 'task')} are taken from a counter"] if found.fetched else []
    several = len(found.masters + found.serving) > 1
    counted = f"; imbalance counts {'them' if several else 'it'} like the others, --speed below does not"
    return [("tasks", "; ".join(told) + (counted if found.masters or found.serving else ""))]


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank {blocks.listed(ranks)}"


def _transfer(limits: Limits) -> dict[str, int]:
    """Return what calls and the network cost, ns, by whose they are, if that is known; where that is much, by what the model explains."""
    talking = [caller for caller in limits.transfer_of if caller in _TALKING]
    unexplained = limits.transfer_ns - limits.network_ns
    if not talking:
        name = f"overhead (in calls of {_named(limits.transfer_of)})" if limits.transfer_of else "transfer"
    elif unexplained < _MUCH * limits.time_ns:
        name = f"transfer ({_named([*talking, 'network', *(caller for caller in limits.transfer_of if caller not in _TALKING)])})"
    else:
        calls = f"inside calls of {_named(limits.transfer_of)}"
        inside = f"mostly polling ({calls})" if 2 * limits.polling_ns > unexplained else f"{_UNEXPLAINED} ({calls})"
        return {inside: unexplained, "transfer (network and overheads, by the model)": limits.network_ns}
    return {name: limits.transfer_ns}


def _named(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _share(part: int, whole: int) -> str:
    return f"-{words.percent(-part, whole)}" if part < 0 else words.percent(part, whole)


def best(domino: DominoDocument) -> Facts:
    """Return the first change, what to do for it, and how sure that is, or why there is none; then what there is to gain at best."""
    if not domino.answerable:
        return [("first change", "cannot be answered: the waits were not recorded, they count as computation; see perwiz record")]
    kinds_of: dict[str, list[str]] = {}
    for row in domino.not_tried:
        kinds_of.setdefault(row.why, []).append(row.kind)
    not_tried = [("not tried", f"{', '.join(kinds)}: {why}") for why, kinds in kinds_of.items()]
    line, bound = first_line(domino), first_bound(domino)
    if line and not pays(domino):
        return [*_none_pays(domino, line, bound), *not_tried]
    if line is None and not domino.at_best and {row.kind for row in domino.not_tried} >= set(domino.kinds):
        return [("first change", "none was tried"), *not_tried]
    if line is None:
        told = [("first change", _no_change(domino, "that was tried" if not_tried else "of these kinds"))]
    else:
        sure = sure_to_gain(domino)
        told = [*_promised(domino, "first change", line, domino.ranked_span, "" if sure else "not sure to gain: ")]
        told += [("what to do", line.head.remedy), *([] if sure else _surest(domino))]
    if bound is not None:
        told += [*_promised(domino, "at best", bound, domino.at_best_span), ("", _kept(domino, bound))]
        told += [("what to do", bound.head.remedy)] if line is None else _towards(line, bound)
    if domino.turned:
        told.append(("matching", "receives of any source keep what they took here; perwiz predict lets them take what then comes first"))
    return [*told, *_launches(domino), *not_tried]


def sure_to_gain(domino: DominoDocument) -> bool:
    """Return whether the first change gains in all that the trace leaves open."""
    return spans.sure(domino.ranked_span, domino.replayed_ns)


def _surest(domino: DominoDocument) -> Facts:
    """Return the change of the largest gain that is sure, of the best of each kind, beside a first one that is not."""
    for row, span in zip(domino.best, domino.best_spans, strict=True):
        if not row.bound and not blocks.negligible(row.gain_ns, domino.shares_of_ns) and spans.sure(span, domino.replayed_ns):
            return [("sure to gain", f"{shown(row)}: {gained(domino, row.makespan_ns)}"), ("", row.remedy)]
    return [("sure to gain", "none: no change that was tried gains whatever the trace leaves open")]


def _towards(line: Line, bound: Line) -> Facts:
    """Return what may gain a part of what there is at best, if that is another thing than the first change."""
    return [("", f"toward it: {bound.head.remedy}")] if bound.head.remedy != line.head.remedy else []


def _launches(domino: DominoDocument) -> Facts:
    """Return the command that says what a straggler costs if no launch is late, and what it answers."""
    if domino.launches is None:
        return []
    asked = f"{domino.predict} {' '.join(domino.launches.changes)}"
    return [("launches", blocks.without_launches(asked, domino.replayed_ns, domino.launches.makespan_ns, domino.shares_of_ns))]


def _none_pays(domino: DominoDocument, line: Line, bound: Line | None) -> Facts:
    """Return that no change that was tried pays, where the time goes, and what kind of change may gain a part of what there is at best."""
    head, span = line.head, domino.ranked_span
    gain = f"{words.duration(head.gain_ns)} ({words.percent(head.gain_ns, domino.shares_of_ns)})"
    most = f"of what was tried and can be done {shown(head)} gains most, {gain}"
    if span and hidden(domino, line):
        ends = f"{words.duration(span.least_ns)} to {words.duration(span.most_ns)}"
        facts = [("first change", f"none is sure: {most}, less than runs of the same differ by ({ends})")]
    else:
        facts = [("first change", f"none that pays: {most}, less than a tenth of what there is at best")]
    sites = [f"{words.shown(row.site, 60)} {_spent(domino, row)}" for row in domino.spending if not _few(domino, row.time_ns)]
    facts += [("time goes to", f"{'; '.join(sites)}; on average of all processes")] if sites else []
    if bound is None:
        every = f"--{'zero-time' if domino.question == 'zero-time' else 'zero-wait'} all"
        return [*facts, ("at best", f"{every}: {gained(domino, domino.bound_ns)}"), *spans.facts(domino.bound_span, domino.bound_ns)]
    facts += [*_promised(domino, "at best", bound, domino.at_best_span), ("", _kept(domino, bound))]
    return [*facts, ("what to do", f"what may gain a part of that, by how much no trace tells: {bound.head.remedy}")]


def _few(domino: DominoDocument, time: int) -> bool:
    return time < _MUCH * domino.shares_of_ns


def _spent(domino: DominoDocument, row: Spending) -> str:
    """Return how much time is spent at a call site, and how much of that waiting."""
    waiting = f", {words.duration(row.waiting_ns)} of it waiting" if row.waiting_ns else ""
    return f"{words.duration(row.time_ns)} ({words.percent(row.time_ns, domino.shares_of_ns)}){waiting}"


def _no_change(domino: DominoDocument, which: str) -> str:
    """Return why there is no first change."""
    if not domino.ranked and not domino.at_best:
        return f"none: no change {which} gains anything"
    little = "0.1 %" if domino.ranked else "anything"
    return f"none: nothing {which} that somebody can do as it stands gains {little}"


def _promised(domino: DominoDocument, label: str, line: Line, span: Span | None, how: str = "") -> Facts:
    """Return what a line promises, and how, between what that lies, and what it means."""
    head = line.head
    return [(label, f"{how}{shown(head)}: {gained(domino, head.makespan_ns)}"), *spans.facts(span, head.makespan_ns), ("", meaning(line))]


def _kept(domino: DominoDocument, line: Line) -> str:
    """Return why nobody can keep a bound, and what of it can be had."""
    why = _BOUND[line.head.change.removeprefix("--").partition(" ")[0]]
    if part := parts_of(line):
        return f"{why}; a part of it: {named(domino, part)}"
    return f"{why}; nothing that was tried makes a tenth of it true"
