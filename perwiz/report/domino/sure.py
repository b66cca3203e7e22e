"""How sure the answer of `perwiz domino` is: spans and how they came about, what first words leave out, what was not tried."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.domino.answer import UNEXPLAINED, below, far_bound, in_short, other, parts, stands_out, waits_in_turn
from perwiz.report.domino.change import named, only_if, parts_of, shown
from perwiz.report.domino.first import first_line, pays
from perwiz.report.domino.records import DominoDocument, Line

_WHY = "by no cost of the model; waiting for a processor, copies, the library, or a slower network"
_NEXT = "measure its costs with perwiz calibrate (--model FILE); a sampling profiler shows the rest"
"""What to do about what no cost of the model explains, unless processes shared processors: then to record again comes first."""
_ON = "let those who have it send it on, or call MPI_Bcast or MPI_Scatter, which do"
"""What to do where nothing is prepared."""
_FIRST, _BEST, _MUCH = "first change", "at best", 0.05
"""Labels; part of what shares are of: what is less is not told."""
_ALWAYS = (
    "calls always take some time; a program without them may gain more: what they copy, and push out of caches, costs the computation of"
    " both sides, and no trace tells how much"
)
_BOUND = {
    "zero-wait": "a wait goes only as far as what it waits for comes earlier",
    "zero-time": _ALWAYS,
    "zero-transfer": _ALWAYS,
    "network": "no network is for free",
    "hide": blocks.NEEDED,
    "advance": "only as far as what is sent is ready before that is computed, which no trace tells",
    "scale": "only as far as kernels are there to hide it",
    "micro-batches": "pieces may be only so small",
}
"""Why nobody can keep what is promised at best, by what is asked."""


def section(domino: DominoDocument) -> list[str]:
    """Return the section, an empty line before it; nothing if there is nothing to say."""
    return misfit.sure(domino, domino.shares_of_ns, reasons(domino))


def reasons(domino: DominoDocument) -> Facts:
    """Return what is said there beside what contradicts the model."""
    facts = [*_first(domino), *_at_best(domino), *limited(domino)]
    if stands_out(domino) and domino.stands_out:
        alone = f"those alike alone: --iterations {domino.stands_out.alike}; " if domino.stands_out.alike else ""
        facts.append(("stands out", f"{alone}if other work disturbed them, record again"))
    if served := _served(domino):
        facts.append(("serving", served))
    return [*facts, *_not_tried(domino)]


def _first(domino: DominoDocument) -> Facts:
    """Return between what the first change lies, and what it takes for granted."""
    line = first_line(domino) if domino.answerable else None
    if line is None:
        return []
    told = [*spans.facts(line.span, line.head.makespan_ns, _FIRST), *_places(domino, line)]
    granted = only_if(line.head).removeprefix("; ")
    return [*told, *([("" if told else _FIRST, granted)] if granted and pays(domino) else [])]


def _places(domino: DominoDocument, line: Line) -> Facts:
    """Return how often the first change gains most in resampled runs, and what does more often; nothing if nothing does."""
    places = [(row.place.first, row) for row in domino.ranked if row.place]
    often = max(places, key=lambda place: place[0], default=None)
    if often is None or often[1] is line or line.place is None or not line.place.first < often[0]:
        return []
    mine, most = (words.percent(part, 1) for part in (line.place.first, often[0]))
    why = below(domino, often[1], line)
    but = f", but {why}" if why else ""
    return [("", f"{shown(often[1].head)} gains most in {most} of {domino.draws} resampled runs, this in {mine}{but}")]


def _at_best(domino: DominoDocument) -> Facts:
    """Return why nobody can keep the first bound, where the first screen has it, and what gains a part of it, the first change first."""
    bound, line = far_bound(domino) if domino.answerable else None, first_line(domino)
    if bound is None:
        return []
    why = _BOUND[bound.head.change.removeprefix("--").partition(" ")[0]]
    part = sorted(parts_of(bound), key=lambda row: line is None or row.change != line.head.change)
    return [(_BEST, f"{why}; a part of it: {named(domino, part)}" if part else why)]


def limited(domino: DominoDocument) -> Facts:
    """Return what the words of what limits the run mean, and its small parts."""
    limits = domino.limits
    if limits is None:
        return []
    facts = [*other(limits), *_outside(domino)]
    if domino.hidden is not None and 2 * domino.hidden.free_ns >= limits.imbalance_ns:
        gain, free = (words.percent(part, domino.shares_of_ns) for part in (domino.hidden.gain_ns, domino.hidden.free_ns))
        told = f"evened out it gains {gain}; {free} if calls and messages took no time ({domino.hidden.change})"
        facts.append(("hidden", told))
    if any(name.startswith(UNEXPLAINED) for name, _ in parts(limits)):
        facts.append((UNEXPLAINED, f"{_WHY}; to do: {'record with a core for each process first' if domino.health.shared else _NEXT}"))
    if limits.polling_ns >= _MUCH * limits.time_ns:
        polling = f"{words.percent(limits.polling_ns, limits.time_ns)} is polling (tests and probes in vain)"
        facts.append(("polling", f"{polling}: --zero-poll all says what is left if the processes waited instead"))
    return facts


def _outside(domino: DominoDocument) -> Facts:
    """Return how much of the critical path is in no region, if that is much."""
    if domino.outside_ns < _MUCH * domino.shares_of_ns:
        return []
    outside = f"{words.percent(domino.outside_ns, domino.shares_of_ns)} of the time is computation on the critical path outside of regions"
    return [("hot spots", f"{outside}: mark some there to see which of it pays")]


def _served(domino: DominoDocument) -> str:
    """Return what a process that serves the others does, and what to do unless that is said of the first change; empty if none does."""
    found, line = domino.serving, first_line(domino)
    if not found or not waits_in_turn(domino):
        return ""
    rounds = words.several(found.rounds, "round")
    if domino.limits and not domino.limits.computation_ns:
        return f"it sends to one, then to the next, in {rounds}; to do: {_ON}"
    told = f"it prepares a piece for one and sends it, then for the next, in {rounds}"
    return told if line and line.head.remedy == found.remedy else f"{told}; to do: {in_short(found.remedy)}"


def _not_tried(domino: DominoDocument) -> Facts:
    kinds_of: dict[str, list[str]] = {}
    for row in domino.not_tried:
        kinds_of.setdefault(row.why, []).append(row.kind)
    return [("not tried", f"{', '.join(kinds)}: {why}") for why, kinds in kinds_of.items()]
