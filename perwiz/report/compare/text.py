"""The text of `perwiz compare`, made from its JSON document. What the makespan differs by comes first."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from perwiz import words
from perwiz.report import blocks, counts, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.blocks import Facts
from perwiz.report.compare.records import Calls, CompareDocument, FurthestCall, OtherCalls, PlaceReason, Reason, Run, Unasked
from perwiz.whatif.compare.compare import share

_CALL = re.compile("e[0-9]+")
_MUCH = 0.5
"""Part of a difference from which on something is said to be behind it."""
_OTHER = {"start": "the time before the first process of the path begins", "replay": "what replaying the runs does not explain"}
_TIMES = 48
"""Columns of the times in a table of reasons."""
_HARDLY = 0.1
"""Part of the calls that are the same, below which the programs are perhaps not."""
_LONGEST = 16
"""Rows of the longest table but that of calls."""
_REGION, _RENAMED, _CALLED = 30, 2, 3
Row = tuple[str, int, int, int]
"""What is compared, its time in both runs, and the difference, ns."""


class _Words(NamedTuple):
    """What is said of two runs: an error of a prediction, or a change from one to the other."""

    first: str
    second: str
    difference: str
    reference: int
    """Which of both, 0 or 1, differences are parts of."""


def text(comparison: CompareDocument) -> str:
    """Return the document as text for a terminal."""
    said, whole = _words(comparison), comparison.shares_of_ns
    lines = [*_title(comparison), "", *words.facts(_answer(comparison, said)), *_reasons(comparison, said)]
    lines += ["", *_call_differences(comparison.calls, said)] if comparison.calls.compared else []
    ends = [(words.rank(row.rank, row.thread), row.end_first_ns, row.end_second_ns, row.end_difference_ns) for row in comparison.processes]
    lines += _table("rank", ends, said, "ends of processes", whole) if comparison.stop == "end" else []
    regions = [(words.shown(row.region, 50), row.first_ns, row.second_ns, row.difference_ns) for row in comparison.regions]
    lines += _table("region", regions, said, "regions, time of all processes")
    steps = [
        (f"{words.shown(row.region, 50)}#{row.step}", row.first_ns, row.second_ns, row.difference_ns)
        for row in comparison.steps
        if row.first_ns is not None and row.second_ns is not None and row.difference_ns is not None
    ]
    lines += _table("step", steps, said, "parallel steps", whole)
    routines = [(row.routine, row.first_ns, row.second_ns, row.difference_ns) for row in comparison.routines]
    lines += _table("routine", routines, said, "routines, time of all processes")
    lines += _furthest(comparison.furthest, said)
    lines += counts.scaling_lines(comparison.scaling, (said.first, said.second))
    sends = comparison.first.health.counts.sends + comparison.second.health.counts.sends
    if comparison.machine and comparison.model:
        lines += ["", *words.facts(machines.facts(comparison.machine, comparison.model, sends))]
    return "\n".join([*lines, *_health(comparison, said)])


def too_far(comparison: CompareDocument, most: float) -> str:
    """Return in one line that the makespan is further off than asked for."""
    part = share(comparison.difference_ns, comparison.shares_of_ns)
    names = ", ".join(words.shown(run.trace) for run in (comparison.first, comparison.second))
    return f"{names}: the makespan is off by {signed(comparison.difference_ns)} ({100 * part:+.2f} %), must be at most {100 * most:g} %"


def _words(comparison: CompareDocument) -> _Words:
    if comparison.difference_is == "change":
        return _Words("first", "second", "change", 0)
    if comparison.reference == "second":
        return _Words("predicted", "measured", "error", 1)
    return _Words("measured", "predicted", "error", 0)


def _title(comparison: CompareDocument) -> list[str]:
    first, second = comparison.first, comparison.second
    mark = blocks.mark(first.health) or blocks.mark(second.health)
    return words.wrapped(f"{_name(first)} against {_name(second)}{mark}", 2)


def _name(run: Run) -> str:
    made = f" ({words.shown(run.made_by)})" if run.made_by.startswith("predicted") else ""
    return f"{words.shown(run.trace)}{made}"


def _answer(comparison: CompareDocument, said: _Words) -> Facts:
    first, second, calls, whole = comparison.first, comparison.second, comparison.calls, comparison.shares_of_ns
    facts = [*_record_again(comparison, said), *blocks.lacking(first.health, f"{said.first} run: ")]
    facts += blocks.lacking(second.health, f"{said.second} run: ")
    fewer = calls.same + min(calls.only_first, calls.only_second)
    if calls.same < _HARDLY * fewer:
        facts.append(("unlike", f"hardly any call is the same, {calls.same} of {fewer}: perhaps these are two programs"))
    changed = [*called(comparison.other_calls), *([otherwise(comparison.unasked)] if comparison.unasked else [])]
    facts += [("" if k else "not as asked", told) for k, told in enumerate(changed)]
    facts.append((said.first, words.duration(first.makespan_ns)))
    off = relative(comparison.difference_ns, whole)
    facts.append((said.second, f"{words.duration(second.makespan_ns)}, {said.difference} {off}"))
    if comparison.max_error:
        verdict = "missed" if comparison.max_error.missed else "kept"
        facts.append(("", f"the error asked for, at most {100 * comparison.max_error.asked:g} %, is {verdict}"))
    facts += [*_range(comparison), *_chance(comparison, said)]
    if comparison.difference_ns and comparison.reasons.places and not _within_chance(comparison):
        facts += [("because" if not k else "", fact) for k, fact in enumerate(_because(comparison, said))]
    lacks = [f"{run}: {told}" for run, side in zip(said[:2], (first, second), strict=True) for _, told in blocks.left_out(side.health)]
    facts += [("" if k else "left out", told) for k, told in enumerate(lacks)]
    begin = beginning(comparison.start)
    if comparison.start == "start":
        facts.append(("from", begin))
    else:
        starts = f"{words.duration(first.start_ns)} and {words.duration(second.start_ns)} after {beginning('start')}"
        facts.append(("from", f"{begin}, {starts}"))
    if comparison.stop != "end":
        facts.append(("to", ending(comparison.stop)))
    if (comparison.start, comparison.stop) != ("start", "end"):
        reference, other = (first, second) if said.reference == 0 else (second, first)
        change = f"{said.difference} {signed(other.whole_ns - reference.whole_ns)}"
        facts.append(("", f"whole runs {words.duration(first.whole_ns)} and {words.duration(second.whole_ns)}, {change}"))
        run = (said.first, said.second)[said.reference]
        facts.append(("", f"percentages are of the {words.duration(whole)} compared of the {run} run"))
    kinds = ((calls.moved, "at another place"), (calls.elsewhere, "in another region"))
    unlike = " and ".join(f"{number} {meaning}" for number, meaning in kinds if number)
    moved = f", of which {unlike}" if unlike else ""
    gone, new = _oftener(comparison)
    only = f"{calls.only_first} only in the {said.first} run{gone}, {calls.only_second} only in the {said.second} run{new}"
    facts.append(("calls", f"{calls.same} the same{moved}; {only}"))
    if comparison.renamed:
        named = [f"{words.shown(row.second, _REGION)} is {words.shown(row.first, _REGION)}" for row in comparison.renamed[:_RENAMED]]
        more = f" and {len(comparison.renamed) - _RENAMED} more (--json)" if len(comparison.renamed) > _RENAMED else ""
        facts.append(("regions", f"called otherwise in the {said.second} run, told by their order: {', '.join(named)}{more}"))
    if comparison.locations.only_first or comparison.locations.only_second:
        places = comparison.locations
        many = (places.both + places.only_first, places.both + places.only_second)
        label = "processes" if many == (first.processes, second.processes) else "threads"
        of = ["" if label == "processes" else f" of {words.several(run.processes, 'process')}" for run in (first, second)]
        facts.append((label, f"{many[0]}{of[0]} and {many[1]}{of[1]}: calls are the same only on those of both"))
    return facts


def _oftener(comparison: CompareDocument) -> tuple[str, str]:
    """Return in words which routines the first run calls more often than the second, and which the second, by how much, most first."""
    more = sorted(((row.first_calls - row.second_calls, row.routine) for row in comparison.routines), key=lambda row: -abs(row[0]))
    out = list[str]()
    for sign in (1, -1):
        named = [f"{routine} {words.several(abs(number), 'time')}" for number, routine in more if number * sign > 0]
        rest = f" and {words.several(len(named) - _CALLED, 'routine')} more" if len(named) > _CALLED else ""
        out.append(f" ({', '.join(named[:_CALLED])}{rest})" if named else "")
    return out[0], out[1]


def _record_again(comparison: CompareDocument, said: _Words) -> Facts:
    """Return which run should be recorded again as its processes shared processors; of both in one line if they shared them alike."""
    first, second = comparison.first.health, comparison.second.health
    if first.shared == second.shared:
        runs = [("both runs", first)]
    else:
        runs = [(f"{said.first} run", first), (f"{said.second} run", second)]
    told = [f"{run}: {fact}" for run, health in runs for _, fact in misfit.record_again(health, "compare")]
    return [("" if k else "record again", line) for k, line in enumerate(told)]


def otherwise(found: Unasked) -> str:
    """Return in words where the program changed otherwise than it was asked, or seems to, so that no prediction is tested there."""
    region = f"in {words.shown(found.region, _REGION)}" if found.region else "outside of regions"
    times = [words.duration(time) for time in (found.measured_ns, found.recorded_ns, found.predicted_ns)]
    where = f"computation {region} on rank {words.rank(found.rank, found.thread)}"
    does = "leaves it at" if found.changed else "makes it"
    fact = f"{where} takes {times[0]}, recorded {times[1]}, and the question {does} {times[2]}"
    if found.chance:
        return f"{fact}: the program {'changed there' if found.changed else 'did not change so'}, or another program had the processor"
    return f"the program {'changed elsewhere' if found.changed else 'did not change so'}: {fact}"


def called(found: Sequence[OtherCalls]) -> list[str]:
    """Return in words what the measured program calls more or less often than it was to; nothing if it does not."""
    if not found:
        return []
    told = [f"{one.routine} {words.several(one.predicted, 'time')}, measured {one.measured or 'never'}" for one in found[:_CALLED]]
    more = f" and {words.several(len(found) - _CALLED, 'routine')} more" if len(found) > _CALLED else ""
    return [f"the program was changed otherwise, as it makes other calls: {', '.join(told)}{more}"]


def _range(comparison: CompareDocument) -> Facts:
    """Return between which times the run was predicted to lie, and whether the measured one does; or where that is told."""
    found = comparison.predicted
    if found is None:
        untold = comparison.difference_is == "error" and not comparison.hypotheses
        return [("range", "not in a trace: compare the recorded run with the measured one, under the hypotheses")] if untold else []
    off = found.outside_ns
    verdict = "the range is too wide to check that" if spans.says_nothing(found.span, found.predicted_ns) else "inside"
    if off:
        far, end = ("above", found.span.most_ns) if off > 0 else ("below", found.span.least_ns)
        verdict = f"outside, {words.duration(abs(off))} ({words.percent(share(abs(off), end), 1)}) {far} it"
    times = f"{words.duration(found.predicted_ns)} predicted, {words.duration(found.measured_ns)} measured"
    facts = [("range", spans.text(found.span, found.predicted_ns)), ("", f"{times}: {verdict}")]
    part = (found.predicted_ns, found.measured_ns)
    if part != (comparison.first.whole_ns, comparison.second.whole_ns):
        facts.append(("", "both without the start of processes and MPI_Finalize: no range is about these"))
    return facts


def _within_chance(comparison: CompareDocument) -> bool:
    """Return whether two runs differ by no more than runs of the same do, so that there is no cause to name."""
    return comparison.apart is not None and comparison.apart.within


def _chance(comparison: CompareDocument, said: _Words) -> Facts:
    """Return in words whether two runs differ by more than runs of the same do; nothing of a prediction, and if they do not differ."""
    found, whole = comparison.apart, comparison.shares_of_ns
    if comparison.difference_is == "error" or comparison.first.made_by.startswith("predicted") or not comparison.difference_ns:
        return []
    if found is None:
        return [("chance", "not known: too little repeats in these runs to tell how far two of the same lie apart")]
    most = f"runs of the same lie up to {words.duration(found.most_ns)} ({words.percent(found.most_ns, whole)}) apart"
    shared = comparison.first.health.shared or comparison.second.health.shared
    more = ", more where processes share processors" if shared else ""
    apart = f"by what repeats in these, and {words.percent(found.differ, 1)} between recordings (assumed)"
    told = [f"{'may be all of it' if found.within else 'not all of it'}: {most} {apart}{more}"]
    off = comparison.difference_ns
    if abs(off - found.difference_ns) > found.most_ns or (abs(off) <= found.most_ns) != found.within:
        part = f"between MPI_Init and MPI_Finalize the {said.difference} is {signed(found.difference_ns)}"
        told.append(f"{part}: how long processes take to start and to end varies by itself")
    return [("" if k else "chance", line) for k, line in enumerate(told)]


def _because(comparison: CompareDocument, said: _Words) -> list[str]:
    """Return in words what differs most, whether it takes another time itself or other work goes on beside it, and in which step."""
    off, steps, moved = comparison.difference_ns, comparison.reasons.steps, comparison.calls.moved
    reason = max(comparison.reasons.places, key=lambda row: row.difference_ns * (1 if off > 0 else -1))
    both = f"{words.duration(reason.first_ns)} and {words.duration(reason.second_ns)}"
    facts = [f"{_place(reason)} makes up {both} of the critical path, {said.difference} {signed(reason.difference_ns)}"]
    if reason.rank is not None and reason.kind != "start":
        there = f"{words.duration(reason.there_first_ns)} and {words.duration(reason.there_second_ns)}"
        beside = ""
        if reason.itself_ns < _MUCH * abs(reason.difference_ns):
            beside = ": what goes on beside it differs" + (f"; calls at another place: {moved}" if moved else "")
        facts.append(f"on rank {words.rank(reason.rank, reason.thread or 0)}, where most of that is, it takes {there} in all{beside}")
    largest = steps[0] if len(steps) > 1 else None
    if largest and largest.region and largest.difference_ns / off >= _MUCH:
        step = f"{words.shown(largest.region, _REGION)}#{largest.step}"
        facts.append(f"by parallel step, most is in {step}: {said.difference} {signed(largest.difference_ns)}")
    return facts


def _place(reason: PlaceReason) -> str:
    """Return in words what of the program a part of a path is."""
    region = f" in {words.shown(reason.region, _REGION)}" if reason.region else ""
    if reason.kind == "computation":
        return f"computation{region or ' outside of regions'}"
    site = f"{reason.routine or ''}{region}{f' at {words.shown(reason.source, _REGION)}' if reason.source else ''}"
    return {"calls": site, "transfer": f"messages to {site}", "gap": f"gaps before {site}"}.get(reason.kind, _OTHER.get(reason.kind, ""))


def _reasons(comparison: CompareDocument, said: _Words) -> list[str]:
    """Return tables of what the makespans are made of: places, processes and steps that differ, largest difference first; none if chance
    may be all of it.
    """
    if _within_chance(comparison):
        return []
    whole, lines, found = comparison.shares_of_ns, list[str](), comparison.reasons
    ranks = [(words.rank(row.rank, row.thread or 0) if row.rank is not None else "-", row) for row in found.processes]
    steps = [(f"{words.shown(row.region, 50)}#{row.step}" if row.region else "(outside)", row) for row in found.steps]
    title = f"what the {said.difference} is made of, along the critical path of each run"
    tables: list[tuple[str, str, Sequence[tuple[str, Reason]], int]] = [
        ("place", title, [(_place(row), row) for row in found.places], 8),
        ("rank", "the same by process", ranks, 4),
        ("step", "the same by parallel step", steps if len(steps) > 1 else [], 4),
    ]
    for head, heading, rows, most in tables:
        differing: list[Row] = [(label, row.first_ns, row.second_ns, row.difference_ns) for label, row in rows if row.difference_ns]
        if not differing:
            continue
        shown, left = differing[:most], differing[most:]
        if left:
            one, other, off = (sum(column) for column in zip(*(row[1:] for row in left), strict=True))
            shown.append((f"{len(left)} more", one, other, off))
        cells = [
            [words.shown(label, words.columns() - _TIMES), words.duration(one), words.duration(other), relative(off, whole)]
            for label, one, other, off in shown
        ]
        lines += ["", heading, *words.table([head, said.first, said.second, said.difference], cells, spare=(2, 1))]
    return lines


def relative(value: int, whole: int) -> str:
    """Return a difference with its sign, and as a part of the whole: `+3.100 ms (+0.8 %)`, `-2 ns (<0.1 %)`, `0 ns`."""
    part = share(value, whole)
    if not value or not math.isfinite(part):
        return signed(value)
    return f"{signed(value)} ({f'{100 * part:+.1f}' if abs(part) >= 0.0005 else '<0.1'} %)"


def beginning(start: str) -> str:
    """Return in words the instant from which both runs are compared."""
    known = {
        "start": "the first instant of each run",
        "begun": "the instant when the last process of each run has begun",
        "init": "the end of the last MPI_Init",
        "common": "the first call of both runs",
    }
    return known.get(start) or _named(start, "when the first process enters")


def ending(stop: str) -> str:
    """Return in words the instant up to which both runs are compared."""
    known = {"end": "the last instant of each run", "common": "the return of the last call of both runs"}
    return known.get(stop) or _named(stop, "when the last process leaves")


def _named(word: str, meaning: str) -> str:
    return f"the return of {word}" if _CALL.fullmatch(word) else f"{meaning} {words.shown(word)}"


def signed(ns: int) -> str:
    """Return a time with its sign, none for 0."""
    return f"{'+' if ns > 0 else ''}{words.duration(ns)}"


def _call_differences(calls: Calls, said: _Words) -> list[str]:
    spreads = {"enter": calls.enter, "leave": calls.leave, "duration": calls.duration}
    rows = [[name, *map(words.duration, (row.median_ns, row.percentile_95_ns, row.worst_ns))] for name, row in spreads.items()]
    title = f"{said.difference}s of {words.several(calls.compared, 'call')}"
    return [title, *words.table(["", "median", "95 %", "worst" if said.difference == "error" else "largest"], rows)]


def _table(name: str, rows: Sequence[Row], said: _Words, title: str, whole: int = 0) -> list[str]:
    """Return the table of what differs most, in the order of `rows`, with parts of the whole if there is one; none if nothing differs."""
    rows = [row for row in rows if row[3]]
    if not rows:
        return []
    cells = [
        [label, words.duration(first), words.duration(second), relative(off, whole) if whole else signed(off)]
        for label, first, second, off in blocks.foremost(rows, _LONGEST, lambda row: -abs(row[3]))
    ]
    head = [name, said.first, said.second, said.difference]
    return ["", title, *words.table(head, cells), *blocks.more(rows, len(cells), ", which differ less")]


def _furthest(calls: list[FurthestCall], said: _Words) -> list[str]:
    if not calls:
        return []
    first, second, difference, _ = said
    head = ["call", f"{second} as", "rank", "routine", "region", first, second, difference, f"{first} at", f"{second} at"]
    cells = [
        [
            *(call.call, call.second_call + (" moved" if call.moved else ""), words.rank(call.rank, call.thread)),
            *(call.routine, words.shown(call.region, _REGION) or "-"),
            *(words.duration(call.first_ns), words.duration(call.second_ns), signed(call.difference_ns)),
            *(words.duration(call.enter_first_ns), words.duration(call.enter_second_ns)),
        ]
        for call in calls
    ]
    return ["", "calls whose durations differ most", *words.table(head, cells, left=(0, 1, 3, 4))]


def _health(comparison: CompareDocument, said: _Words) -> list[str]:
    """Return the health of both runs; that of complete ones is one line."""
    runs = (comparison.first, comparison.second)
    if not any(run.health.incomplete for run in runs):
        return ["", *words.facts([("health", "both traces complete")])]
    lines = []
    for run, head in zip(runs, (said.first, said.second), strict=True):
        lines += ["", f"{head}: {words.shown(run.trace)}", *blocks.health_lines(run.health, shared=False)]
    return lines
