"""The first screen of `perwiz domino`: how long the run took, what limits it, the first change, and what there is to gain at best."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks, misfit, pipelines, spans
from perwiz.report.blocks import Facts
from perwiz.report.domino.change import (
    CURE,
    between,
    counted,
    descheduled,
    gains,
    gains_of,
    if_shared,
    most_above,
    parts_of,
    shown,
    unshared,
    who_is_late,
)
from perwiz.report.domino.first import FAR, first_bound, first_line, hidden, pays, untold, worthless
from perwiz.report.domino.records import EVEN, DominoDocument, HotSpot, Limits, Line, Spending
from perwiz.report.domino.remedies import OF_BARRIERS, OF_MISSING
from perwiz.trace.parts import course

_PATH, _REGION, _MUCH = 60, 80, 0.05
"""Columns of a region path, and of the name of a region; part of what shares are of: what is less is not told."""
_SITE, _LITTLE = 0.1, 0.01
"""Part of it from which on a call site is named, and what is no part of a sum."""
_SPOTS, _NAMED, _SITES = 3, 2, 2
"""Hot spots that are told, iterations that stand out that are named, and call sites."""
_WHAT, _OPTION = 70, 60
"""Columns of what a change does, and of an option that stands before that."""
SHORT = 10_000_000
"""ns below which a run, without its MPI_Init, is too short to say anything about a longer one: starting a process takes as long."""
_TALKING, UNEXPLAINED = ("MPI", "OpenSHMEM"), "unexplained"
"""Callers that use the network; what is inside of calls and no cost of the model."""
_LEFT_OUT = ("messages", "collective")
"""Kinds of changes at best that a program may gain more of than calls which take no time do: it does not make them."""
_ASIDE = re.compile(r" \([^()]*\)")
"""What a sentence says aside."""


def answer(domino: DominoDocument) -> Facts:
    """Return the first screen."""
    facts = [*_recorded(domino), *_too_short(domino), *(limits(domino.limits) if domino.limits else [])]
    facts += [
        *_not_gained(domino),
        *goes_to(domino),
        *stands_out(domino),
        *for_devices(domino),
        *serving(domino),
        *pipeline(domino),
        *handed(domino),
    ]
    facts += [*best(domino), *hot_spots(domino)]
    return blocks.lacking(domino.health) + misfit.beside(facts, domino, domino.shares_of_ns, doubts(domino))


def _recorded(domino: DominoDocument) -> Facts:
    """Return how long the run took, of what shares are, what it stands for, and what is left out."""
    of = blocks.share_notes(domino.shares_of_ns, domino.replayed_ns, domino.part)
    more = [*of, *([] if domino.calls else ["there are no MPI calls to change"])]
    state = domino.health
    return [*blocks.recorded(domino.recorded_ns, state, *more), *blocks.stands_for(state), *blocks.left_out(state)]


def _too_short(domino: DominoDocument) -> Facts:
    """Return that a run is too short to say anything about a longer one; nothing if it is not."""
    if not domino.calls or domino.shares_of_ns >= SHORT:
        return []
    behind = "" if domino.shares_of_ns == domino.replayed_ns else " after MPI_Init"
    told = f"only {words.duration(domino.shares_of_ns)}{behind}, and starting a process takes longer"
    return [("too short", f"{told}: what gains here says little about a longer run; record that")]


def doubts(domino: DominoDocument) -> list[str]:
    """Return in short what puts the first change in doubt beside what contradicts the model."""
    line = first_line(domino)
    if line is None or not pays(domino):
        return []
    told = ["the first change may stop the program for good"] if line.span and line.span.stops else []
    told += ["what the trace lacks may be why"] if domino.health.holes or domino.health.faults else []
    told += [_other_messages(domino, line)] if line.turned else []
    passed = line.head.receives_passed
    return [*told, *([f"the first change runs ahead of {words.several(passed, 'receive')} that it may need"] if passed else [])]


def _other_messages(domino: DominoDocument, line: Line) -> str:
    """Return that other messages come first with a change, and what it is worth if that is not so."""
    if line.kept_ns is None:
        return "other messages come first then, and calls that take what comes first keep what they took"
    return f"other messages come first then; if each call takes what it took, {gains(domino, line.kept_ns)}"


def _who(limits: Limits) -> str:
    """Return which process computes most, or which thread where several do."""
    if limits.lanes == limits.processes:
        return f"rank {limits.rank}"
    if limits.thread:
        return f"thread {words.rank(limits.rank, limits.thread)}"
    return "the first thread" if limits.processes == 1 else f"the first thread of rank {limits.rank}"


def parts(limits: Limits) -> list[tuple[str, int]]:
    """Return what the time is made of beside computation, what matters most first: names and ns; parts below 0.1 % are left out."""
    turns = "waiting in turn, also in teams of threads" if limits.lanes > limits.processes else "waiting in turn"
    parts = {
        f"imbalance ({_who(limits)} computes most)": limits.imbalance_ns,
        turns: limits.waiting_in_turn_ns,
        "devices (waiting for kernels and copies)": limits.devices_ns,
        **_network(limits),
        f"late start (others {'left MPI_Init' if limits.after_init else 'began'} before)": limits.start_ns,
        "MPI_Finalize": limits.end_ns - limits.exit_ns,
        "after MPI_Finalize": limits.exit_ns,
    }
    told = [(name, spent) for name, spent in parts.items() if spent and _share(spent, limits.time_ns) != "<0.1 %"]
    return sorted(told, key=lambda row: -row[1])


def _large(limits: Limits) -> int:
    """Return how many of the parts are told on the first screen: the first, and those that are much."""
    return max(sum(spent >= _MUCH * limits.time_ns for _, spent in parts(limits)), 1)


def limits(limits: Limits) -> Facts:
    """Return in words what the time is made of, the large parts by name."""
    every, large = parts(limits), _large(limits)
    told = [f"{name} {_share(spent, limits.time_ns)}" for name, spent in every[:large]]
    other = sum(spent for _, spent in every[large:])
    told += [f"other {_share(other, limits.time_ns)}"] if other >= _LITTLE * limits.time_ns else []
    computation = f"computation {_share(limits.computation_ns, limits.time_ns)}" if limits.computation_ns else ""
    return [("limited by", "; ".join(filter(None, (", ".join(told), computation))) or "nothing")]


def other(limits: Limits) -> Facts:
    """Return in words the parts that the first screen has no names of."""
    told = ", ".join(f"{name} {_share(spent, limits.time_ns)}" for name, spent in parts(limits)[_large(limits) :])
    return [("other", told)] if told else []


def _not_gained(domino: DominoDocument) -> Facts:
    """Return in words that balancing does not gain the imbalance, and why; nothing where it does.

    Of processes that shared processors only what was recorded is told: how long they computed is not only theirs.
    """
    if domino.hidden is None or domino.limits is None:
        return []
    gain, all_of = (_share(part, domino.shares_of_ns) for part in (domino.hidden.gain_ns, domino.limits.imbalance_ns))
    others = "calls of the others take as long meanwhile: shorten those first"
    if 2 * domino.hidden.free_ns < domino.limits.imbalance_ns:
        others = "others compute longest at other times, and are waited for then"
    if domino.health.shared:
        why = "others take as long, or wait for a processor"
        return [("hidden", f"evened out it gains {gain} of the run as recorded, not {all_of}: {why}")]
    return [("hidden", f"evened out it gains {gain}, not {all_of}: {others}")]


def goes_to(domino: DominoDocument) -> Facts:
    """Return the call sites in which most time is spent, where it is not told otherwise what to look at: no change pays, or most of what
    limits the run is unexplained, and it is not that processes shared processors.
    """
    first = parts(domino.limits)[:1] if domino.limits and not domino.health.shared else []
    if not domino.answerable or not (any(name.startswith(UNEXPLAINED) for name, _ in first) or (first_line(domino) and not pays(domino))):
        return []
    sites = [_spent(domino, row) for row in domino.spending[: 1 if pays(domino) else _SITES] if row.time_ns >= _SITE * domino.shares_of_ns]
    return [("time goes to", "; ".join(sites))] if sites else []


def stands_out(domino: DominoDocument) -> Facts:
    """Return in words which iterations take far longer than the others, if that is much: what gains with them may gain less in another run,
    or more.
    """
    found = domino.stands_out
    if not found or found.excess_ns < _MUCH * domino.shares_of_ns:
        return []
    lasts = dict(zip(found.numbers, found.times_ns, strict=True))
    excess = f"what they take more is {_share(found.excess_ns, domino.shares_of_ns)}"
    return [("stands out", f"{course.stands_out(lasts, found.median_ns, most=_NAMED)}: {excess}")]


def hot_spots(domino: DominoDocument) -> Facts:
    """Return in words what the first hot spots are worth, which is no change by itself; nothing if none is worth a hundredth."""
    spots = [spot for spot in domino.hot_spots if 100 * spot.gain_ns >= domino.shares_of_ns]
    if not spots:
        return []
    on = ["" if spot.rank is None else f" on rank {spot.rank}" for spot in spots[:_SPOTS]]
    told = [
        f"{words.shown(spot.region, _REGION)}{rank}{'' if k else ' gains'} {_share(spot.gain_ns, domino.shares_of_ns)}"
        for k, (spot, rank) in enumerate(zip(spots, on, strict=False))
    ]
    told[0] += ", the imbalance seen again" if _is_imbalance(domino, spots[0]) else ""
    more = f" and {len(spots) - _SPOTS} more" if len(spots) > _SPOTS else ""
    asked = "NAME@rank:R=0.5" if any(on) else "NAME=0.5"
    alone = ", each alone" if len(spots) > 1 else ""
    return [("hot spots", f"twice as fast{alone} (--scale {asked}) {', '.join(told)}{more}")]


def _is_imbalance(domino: DominoDocument, spot: HotSpot) -> bool:
    """Return whether a hot spot is what the rank that computes most has more than others: evening that out gains about as much."""
    line, limits = first_line(domino), domino.limits
    if line is None or limits is None or line.head.kind not in EVEN or spot.rank is None or spot.rank != limits.rank:
        return False
    return 2 * min(line.head.gain_ns, spot.gain_ns) >= max(line.head.gain_ns, spot.gain_ns)


def for_devices(domino: DominoDocument) -> Facts:
    """Return in words what is computed for devices, if that is much: it is in no change of what threads or processes compute."""
    found = domino.for_devices
    if not found or found.time_ns < _MUCH * domino.shares_of_ns:
        return []
    spent = f"rank {found.rank} computes {words.duration(found.time_ns)} to start its device and give it data"
    where = f", most of it in {words.shown(found.region, _PATH)}" if found.region else ""
    return [("for devices", f"{spent}{where}: no work for other threads or processes, no change below counts it")]


def waits_in_turn(domino: DominoDocument) -> bool:
    """Return whether processes wait long for one that serves them in turn."""
    return bool(domino.serving and domino.answerable and domino.serving.waited_ns >= _MUCH * domino.shares_of_ns)


def serving(domino: DominoDocument) -> Facts:
    """Return in words which process serves the others in turn, if they wait long for that and the first change does not say so."""
    found = domino.serving
    line = first_line(domino)
    if not found or not waits_in_turn(domino) or (line and line.head.kind == "serving"):
        return []
    where = f" ({', '.join(words.shown(site, _PATH) for site in found.sites[:1])})" if found.sites else ""
    waits = f"{words.duration(found.waited_ns)} ({_share(found.waited_ns, domino.shares_of_ns)})"
    return [("serving", f"rank {found.rank} serves {found.others} others in turn{where}: those not yet served wait {waits}")]


def pipeline(domino: DominoDocument) -> Facts:
    """Return in words what the pipelines of a training job lose as they fill and drain, and as stages are uneven."""
    return pipelines.facts(domino.pipeline) if domino.answerable else []


def handed(domino: DominoDocument) -> Facts:
    """Return in words what work processes get as they come for it: whoever hands it out waits, and that is no work to share."""
    found = domino.handed_out
    if not found or not domino.answerable:
        return []
    given, workers = words.several(found.tasks - found.fetched, "task"), words.several(found.workers, "process")
    gives, answers = ("give" if len(found.masters) > 1 else "gives"), ("answer" if len(found.serving) > 1 else "answers")
    told = [f"{_ranks(found.masters)} {gives} {given} to {workers} as they ask"] if found.masters else []
    told += [f"{_ranks(found.serving)} {answers} {workers} as they ask"] if found.serving else []
    told += [f"{words.several(found.fetched, 'task')} are taken from a counter"] if found.fetched else []
    whom = "them" if len(found.masters + found.serving) > 1 else "it"
    counted = f"; imbalance counts {whom} like the others, --speed does not"
    return [("tasks", "; ".join(told) + (counted if found.masters or found.serving else ""))]


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank {blocks.listed(ranks)}"


def _network(limits: Limits) -> dict[str, int]:
    """Return what calls and the network cost, ns, by whose they are, if that is known, and where the network is much of it by what it is
    paid for; what no cost of the model explains, where that is much, apart. What was waited for missing ranks is in the first.
    """
    (name, spent), *rest = _transfer(limits).items()
    return {f"{name}{', or waiting for missing ranks' if limits.missing_ranks else ''}": spent, **dict(rest)}


def _transfer(limits: Limits) -> dict[str, int]:
    """Return that where no rank is missing."""
    talking = [caller for caller in limits.calls_of if caller in _TALKING]
    unexplained, paid = limits.calls_and_network_ns - limits.network_ns, _paid(limits)
    if not talking:
        name = f"overhead (in calls of {_named(limits.calls_of)})" if limits.calls_of else "network"
    elif unexplained < _MUCH * limits.time_ns:
        of = [*talking, "network", *(caller for caller in limits.calls_of if caller not in _TALKING)]
        name = f"network ({paid})" if paid else _named(of)
    else:
        calls = f"inside {_named(limits.calls_of)}"
        inside = f"mostly polling ({calls})" if 2 * limits.polling_ns > unexplained else f"{UNEXPLAINED} ({calls})"
        return {inside: unexplained, f"network ({paid})" if paid else "network and overheads": limits.network_ns}
    return {name: limits.calls_and_network_ns}


def _paid(limits: Limits) -> str:
    """Return how much of the run the network takes per message and per byte, the larger first; empty where nothing tells, or little is."""
    if limits.per_byte_ns is None or limits.network_ns < _MUCH * limits.time_ns:
        return ""
    parts = {"per message": limits.network_ns - limits.per_byte_ns, "per byte": limits.per_byte_ns}
    first, second = sorted(parts.items(), key=lambda part: -part[1])
    if blocks.negligible(second[1], limits.time_ns):
        return first[0]
    return ", ".join(f"{_share(spent, limits.time_ns)} {name}" for name, spent in (first, second))


def _named(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _share(part: int, whole: int) -> str:
    return f"-{words.percent(-part, whole)}" if part < 0 else words.percent(part, whole)


def best(domino: DominoDocument) -> Facts:
    """Return the first change and what to do for it, or why there is none; then what there is to gain at best, if that is far more."""
    if not domino.answerable:
        return [("first change", "cannot be answered: the waits were not recorded, they count as computation; see perwiz record")]
    line, missing = first_line(domino), untold(domino)
    if missing:
        return [("first change", _complete(domino, missing))]
    if line is None and not domino.at_best and {row.kind for row in domino.not_tried} >= set(domino.kinds):
        return [("first change", f"none was tried: see {misfit.SURE}")]
    if line is None:
        told = [("first change", _no_change(domino, "that was tried" if domino.not_tried else "of these kinds"))]
    else:
        told = _first(domino, line) if pays(domino) else [("first change", _none_pays(domino, line))]
    return [*told, *_at_best(domino), *_launches(domino)]


def far_bound(domino: DominoDocument) -> Line | None:
    """Return the line of what there is to gain at best where the first screen has it: it is far more than the first change, or more and
    can be had, or there is no first change that is sure to gain.
    """
    line, bound = first_line(domino) if pays(domino) else None, first_bound(domino)
    line = line if line and sure_to_gain(domino, line) else None
    return bound if bound and (line is None or counted(bound) >= (1 if can_go(bound) else FAR) * counted(line)) else None


def can_go(bound: Line) -> bool:
    """Return whether somebody can have what a bound promises: it takes barriers away, which only messages may need."""
    return bound.head.remedy in OF_BARRIERS


def _first(domino: DominoDocument, line: Line) -> Facts:
    """Return the first change, what to do for it, and beside one that is not sure to gain one that is, else one that may gain far more."""
    sure = sure_to_gain(domino, line)
    told = [("first change", f"{'' if sure else 'not sure to gain: '}{_promised(domino, line)}")]
    to_do = ": ".join(filter(None, (most_above(domino, line.head), in_short(line.head.remedy))))
    to_do = "; ".join(filter(None, (to_do, if_shared(domino, line))))
    return [*told, ("what to do", to_do), *(_may_gain_more(domino, line) if sure else _surest(domino))]


def _promised(domino: DominoDocument, line: Line) -> str:
    """Return what the first change promises: what it gains, between what that lies, and how long the run then takes."""
    least, most = between(domino, line)
    ends = f", between {least} and {most}" if least else ""
    takes = f"{words.duration(line.head.makespan_ns)}{spans.in_another(line.span, line.head.makespan_ns)}"
    once = spans.once(line.span, domino.replayed_ns, line.head.makespan_ns)
    return f"{_asked(line)}: {gains_of(domino, line)}{ends}{once}; the run then takes {takes}"


def _asked(line: Line) -> str:
    """Return a change as an option and in words, these first if the option is long, and of long ones what is before the details."""
    option, what = shown(line.head), line.head.what
    what = words.shown(what if len(what) <= _WHAT else what.split(": ")[0], _WHAT)
    return f"{what} ({option})" if len(option) > _OPTION else f"{option} ({what})"


def in_short(remedy: str) -> str:
    """Return what to do without what is said aside: how each library is told."""
    return _ASIDE.sub("", remedy)


def sure_to_gain(domino: DominoDocument, line: Line) -> bool:
    """Return whether a change gains in all that the trace leaves open."""
    return line.span is None or _sure(domino, line) > 0


def below(domino: DominoDocument, line: Line, first: Line) -> str:
    """Return why a change that gains more, here or in resampled runs, stands below another; empty if nothing says."""
    if descheduled(line):
        return "most of that is waiting for a processor"
    if not sure_to_gain(domino, line):
        return "may gain nothing"
    return "less of that is sure" if _sure(domino, line) < _sure(domino, first) else ""


def _sure(domino: DominoDocument, line: Line) -> int:
    """Return what a change gains for sure, ns."""
    return spans.worth(line.span, domino.replayed_ns, line.head.makespan_ns).sure if line.span else line.head.gain_ns


def _surest(domino: DominoDocument) -> Facts:
    """Return the change of the largest gain that is sure, beside a first one that is not."""
    for line in domino.ranked:
        if not blocks.negligible(counted(line), domino.shares_of_ns) and sure_to_gain(domino, line):
            return [("sure to gain", f"{_asked(line)}: {gains_of(domino, line)}")]
    return [("sure to gain", "none: no change that was tried gains whatever the trace leaves open")]


def _may_gain_more(domino: DominoDocument, first: Line) -> Facts:
    """Return the foremost of the changes that gain far more than the first one, but are not sure to; nothing if there is none."""
    for line in domino.ranked:
        if counted(line) >= FAR * counted(first) and not descheduled(line) and not sure_to_gain(domino, line):
            return [("may gain more", f"{_asked(line)}: {gains_of(domino, line)}, not sure to gain")]
    return []


def _at_best(domino: DominoDocument) -> Facts:
    """Return what there is to gain at best, and what may gain a part of that, if it is far more than the first change, or there is none."""
    line, bound = first_line(domino), far_bound(domino)
    if bound is None:
        every = f"--{'zero-time' if domino.question == 'zero-time' else 'zero-wait'} all"
        return [("at best", f"{every}: {gains(domino, domino.bound_ns)}")] if line and not pays(domino) else []
    tenth = any(row.head.gain_ns >= CURE * bound.head.gain_ns for row in domino.ranked)
    had = "nobody gets it all" if parts_of(bound) or tenth else "no change tried gains a tenth of that"
    had = f"{had}; a program without these calls may gain more" if bound.head.kind in _LEFT_OUT else had
    had = "all of it if nothing needs the barrier" if can_go(bound) else had
    told = [("at best", f"{shown(bound.head)}: {gains_of(domino, bound)}; {had}")]
    same = line is not None and pays(domino) and bound.head.remedy == line.head.remedy
    helps = ": ".join(filter(None, (who_is_late(bound.head), "" if same else in_short(bound.head.remedy))))
    helps = "; ".join(filter(None, (helps, _earlier(domino, bound))))
    return [*told, *([("what helps", helps)] if helps else [])]


def _earlier(domino: DominoDocument, bound: Line) -> str:
    """Return what sends that run earlier gain of a bound, if what they send is ready; empty where that is little of it, or none do."""
    order = next((row for row in bound.includes if row.kind == "order" and row.gain_ns >= CURE * bound.head.gain_ns), None)
    return f"{shown(order)} gains {words.percent(order.gain_ns, domino.shares_of_ns)} if what is sent is ready then" if order else ""


def _launches(domino: DominoDocument) -> Facts:
    """Return the command that says what a straggler costs if no launch is late, and what it answers."""
    if domino.launches is None:
        return []
    asked = f"{domino.predict} {' '.join(domino.launches.changes)}"
    return [("launches", blocks.without_launches(asked, domino.replayed_ns, domino.launches.makespan_ns, domino.shares_of_ns))]


def _complete(domino: DominoDocument, missing: Line) -> str:
    """Return that the traces of ranks come first that are not there, what may be waiting for them, and what gains of what is."""
    line, them = first_line(domino), "them" if len(domino.health.missing_ranks) > 1 else "it"
    spent = f"{words.duration(missing.head.gain_ns)} ({words.percent(missing.head.gain_ns, domino.shares_of_ns)})"
    asked = shown(missing.head).partition(" ")[2]
    told = f"none {blocks.before(domino.health)}: {spent} in {asked} may be waiting for {them}"
    told += f", and whatever makes {them} late pays most"
    if line is None or line.head.remedy == OF_MISSING:
        return told
    return f"{told}; of the rest {_asked(line)} gains most, {gains_of(domino, line).removeprefix('gain ')}"


def _none_pays(domino: DominoDocument, line: Line) -> str:
    """Return that no change that was tried pays, and why."""
    head, span = line.head, line.span
    gain = f"{shown(head)} gains {words.duration(head.gain_ns)} ({words.percent(head.gain_ns, domino.shares_of_ns)})"
    if descheduled(line):
        return f"none that pays: {gain} as recorded, but most of that is waiting for a processor: {unshared(line)} {spans.OWN}"
    if span and hidden(domino, line):
        ends = f"{words.duration(span.least_ns)} to {words.duration(span.most_ns)}"
        return f"none that would show: {gain}, less than two runs of the same differ by ({ends})"
    if worthless(domino, line):
        return f"none worth changing: {gain}, less than 0.1 % of the whole run of {words.duration(domino.replayed_ns)}"
    return f"none that pays: {gain}, less than a tenth of what there is at best"


def _spent(domino: DominoDocument, row: Spending) -> str:
    """Return how much time is spent at a call site, and how much of that waiting."""
    waiting = f" ({words.percent(row.waiting_ns, domino.shares_of_ns)} waiting)" if row.waiting_ns else ""
    return f"{words.shown(row.site, _PATH)} {words.percent(row.time_ns, domino.shares_of_ns)}{waiting}"


def _no_change(domino: DominoDocument, which: str) -> str:
    """Return why there is no first change."""
    if not domino.ranked and not domino.at_best:
        return f"none: no change {which} gains anything"
    little = "0.1 %" if domino.ranked else "anything"
    return f"none: nothing {which} that somebody can do as it stands gains {little}"
