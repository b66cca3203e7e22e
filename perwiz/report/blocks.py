"""Parts that several reports share: title, waits, health, model, what shares are of. Each is a record, or lines of text made from it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.clock.condition import Violations
from perwiz.loggps import keys
from perwiz.loggps import model as loggps
from perwiz.report.records import Call, CallPlace, ComparedWait, Health, Location, Model, PairClass, Parameters, Wait
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Counts, Trace
from perwiz.whatif import health as whatif
from perwiz.whatif import selectors
from perwiz.whatif.waits import Waits

R = TypeVar("R")
Part = str | msgspec.UnsetType
Facts = list[tuple[str, str]]
"""Labels, and what is to be said under them."""
_FAULTS = 8
"""Lines on what could not be read."""
_NAMED, _MUCH = 8, 0.01
"""Ranks named in a line; part of the processes' time from which on it is said that no change alters it."""
_TOLD = 1000
"""Columns of what a run tells of itself."""
_REGION = 30
"""Columns of a region in a table of waits."""
NEEDED = "only as far as its data are there before all is computed"
"""Why nobody can keep what hidden communication promises."""


def head(trace: Trace) -> dict[str, Any]:
    """Return what a document on a trace begins with, the fields of TraceDocument."""
    return {"trace": trace.path, "format": trace.format, "made_by": str(trace.timeline.origin), "part": trace.part or msgspec.UNSET}


def title(trace: str, subject: str, state: Health) -> list[str]:
    """Return the lines of a title: the trace, what is told of it, and whether it is incomplete."""
    return words.wrapped(f"{words.shown(trace)}: {subject}{mark(state)}", 2)


def mark(state: Health | whatif.Health) -> str:
    """Return what a title ends with: nothing if the trace is complete; else that it is not, and what threads and streams it lacks."""
    counts = state.counts
    left_out = [
        words.several(number, noun)
        for number, noun in ((counts.untied_threads, "thread"), (counts.untied_streams, "device stream"))
        if number
    ]
    without = f", its {' and '.join(left_out)} left out" if left_out else ""
    loose = f", {words.several(counts.loose_threads, 'thread')} without start and end" if counts.loose_threads else ""
    inferred = ", completed by inference" if _only_inferred(state) else ""
    return f"  (INCOMPLETE trace{without}{loose}{inferred})" if state.incomplete else ""


def _only_inferred(state: Health | whatif.Health) -> bool:
    """Return whether all that an incomplete trace lacks is inferred from what it has."""
    return not (state.holes or state.faults or state.ends_early)


def lacking(state: Health, run: str = "") -> Facts:
    """Return in words what an incomplete trace lacks, the ranks first, to be said before any answer; nothing if it is complete.

    `run` says of which run that is, where there are several.
    """
    told = missing(state)
    if several := "; ".join(f"{name}: {number}" for name, number in (state.holes or state.repairs).items()):
        told.append(several if state.holes else f"what is inferred may be otherwise: {several}")
    more = f" (and {len(state.faults) - 1} more)" if len(state.faults) > 1 else ""
    told += [f"{words.shown(state.faults[0], _TOLD)}{more}"] if state.faults else []
    share = f"{words.percent(state.not_modelled, 1)} of the processes' time is in calls whose partners are unknown: no change alters it"
    told += [share] if told and not state.missing_ranks and state.not_modelled >= _MUCH else []
    return [("" if k else "incomplete", f"{'' if k else run}{line}") for k, line in enumerate(told)]


def missing(state: Health) -> list[str]:
    """Return in a line each what is not there of a run: the returns of calls, its end, ranks."""
    told, ranks = [*unreturned(state), *([state.ends_early] if state.ends_early else [])], state.missing_ranks
    if ranks:
        who, them, traces = ("ranks", "them", "their traces") if len(ranks) > 1 else ("rank", "it", "its trace")
        nothing = f"nothing of {who} {listed(ranks)}: waiting for {them} in collectives cannot be told from transfer"
        told.append(f"{nothing}; bring {traces} first")
    return told


def before(state: Health) -> str:
    """Return in words before which traces are there an answer is not known, of a run whose ranks are missing."""
    ranks = state.missing_ranks
    return f"before the traces of ranks {listed(ranks)} are there" if len(ranks) > 1 else f"before the trace of rank {ranks[0]} is there"


def unreturned(state: Health) -> list[str]:
    """Return in a line who was still in which calls when the run ended; nothing if nobody was."""
    return [words.shown(state.unreturned, _TOLD)] if state.unreturned else []


def shared_processors(state: Health) -> Facts:
    """Return in words how many processes shared how many processors, and what that does to an answer; nothing if none did."""
    told = "waiting and message times include waiting for a processor; record with one each"
    return [("shared", f"{words.shown(state.shared, _TOLD)}: {told}")] if state.shared else []


def listed(ranks: Sequence[int]) -> str:
    """Return the first of some ranks."""
    return f"{', '.join(map(str, ranks[:_NAMED]))}{', ...' if len(ranks) > _NAMED else ''}"


def negligible(gain: int, whole: int) -> bool:
    """Return whether a gain is so small a part, less than a thousandth, that a line of its own would only be in the way."""
    return 1000 * gain < whole


def longest(trace: Trace, waits: Waits, most: int) -> list[Wait]:
    """Return the longest waits of a run, longest first, ties by call."""
    return [_wait(trace, waits, row) for row in largest(waits.time, most).tolist()]


def compared(trace: Trace, waits: Waits, others: Waits, most: int) -> list[ComparedWait]:
    """Return the same, each with the wait of the same call in another run."""
    rows = largest(waits.time, most).tolist()
    return [ComparedWait(**asdict(_wait(trace, waits, row)), other_wait_ns=int(others.time[row])) for row in rows]


def _wait(trace: Trace, waits: Waits, row: int) -> Wait:
    return Wait(**asdict(call(trace, row)), partner=place(trace, int(waits.partner[row])), wait_ns=int(waits.time[row]))


def largest(value: I8, most: int) -> I8:
    """Return the rows of the largest values above 0, at most so many, largest first, ties by row."""
    rows = np.flatnonzero(value > 0)
    if 0 < most < len(rows):
        least = np.partition(value[rows], -most)[-most]
        rows = rows[value[rows] >= least]
    return np.asarray(rows[np.lexsort((rows, -value[rows]))][:most], np.int64)


def foremost(rows: Sequence[R], most: int, key: Callable[[R], Any]) -> list[R]:
    """Return the `most` rows with the least keys, ties by place, in the order in which they stand."""
    return [rows[k] for k in sorted(sorted(range(len(rows)), key=lambda k: key(rows[k]))[:most])]


def more(rows: Sequence[object], shown: int, what: str = "") -> list[str]:
    """Return the line below a table that shows so many of some rows: how many more there are, and what is said of them; none if all."""
    return [f"and {len(rows) - shown} more{what} (--json lists all)"] if len(rows) > shown else []


def wait_lines(waits: Sequence[Wait], *times: str) -> list[str]:
    """Return the table of some waits; `times` names its columns of times, one, or two of compared waits."""
    lines = [
        [
            row.call,
            words.rank(row.rank, row.thread),
            row.routine,
            partner(row.partner),
            words.shown(row.region, _REGION) or "-",
            *(words.duration(time) for time in _times(row)[: len(times)]),
        ]
        for row in waits
    ]
    return words.table(["call", "rank", "routine", "waits for", "region", *times], lines, left=(0, 2, 3, 4), spare=(4, 2))


def partner(call: CallPlace | None) -> str:
    """Return in words the call that another waits for."""
    return f"{call.call} (rank {words.rank(call.rank, call.thread)})" if call else "-"


def _times(wait: Wait) -> list[int]:
    return [wait.wait_ns, wait.other_wait_ns] if isinstance(wait, ComparedWait) else [wait.wait_ns]


def health(value: whatif.Health) -> Health:
    """Return the health of a trace as a report tells it."""
    return Health(
        incomplete=value.incomplete,
        counts=value.counts,
        defects=value.defects,
        holes=value.holes,
        repairs=value.repairs,
        predicted=value.predicted,
        clock=value.violations,
        recorded_clock=value.recorded,
        correction=value.correction,
        off_ns=value.off_time,
        own_clocks=value.own_clocks,
        missing_ranks=list(value.missing_ranks),
        faults=list(value.faults),
        not_modelled=round(value.not_modelled, 6),
        not_modelled_most=round(value.not_modelled_most, 6),
        calls_not_modelled=value.calls_not_modelled,
        unreturned=value.unreturned or msgspec.UNSET,
        ends_early=value.ends_early or msgspec.UNSET,
        left_out=value.left_out or msgspec.UNSET,
        stands_for=value.stands_for or msgspec.UNSET,
        shared=value.shared or msgspec.UNSET,
    )


def recorded(makespan: int, state: Health, *more: str) -> Facts:
    """Return the makespan of the recorded run in words, that its clocks were corrected if they were, and `more`."""
    now, before = words.duration(makespan), words.duration(state.correction.makespan if state.correction else makespan)
    corrected = ", its clocks corrected" if state.correction else ""
    told = f"{now}{corrected}{f'; {before} before that' if before != now else ''}"
    return [("recorded", "; ".join([told, *more]))]


def left_out(state: Health | whatif.Health) -> Facts:
    """Return in words which last steps of a training job were left out, and why; nothing if none was."""
    return [("left out", words.shown(state.left_out, _TOLD))] if state.left_out else []


def stands_for(state: Health | whatif.Health) -> Facts:
    """Return in words what the iterations that are asked stand for, where they were chosen unasked; nothing if none were."""
    return [("stands for", words.shown(state.stands_for, _TOLD))] if state.stands_for else []


def as_recorded(state: Health) -> str:
    """Return what a statement on waits ends with if some were not recorded; nothing if all were."""
    return " as far as recorded" if state.counts.bare else ""


def unrecorded_waits(state: Health) -> Facts:
    """Return in words where waits are that were not recorded; nothing if all were."""
    told = waits_of_bare(state.counts.bare)
    return [("", told)] if told else []


def waits_of_bare(calls: int) -> str:
    """Return in words where the waits of so many calls are, which were not recorded; empty if all were."""
    return f"the waits of {words.several(calls, 'call')} were not recorded: they count as computation" if calls else ""


def health_lines(state: Health, clocks: bool = True, shared: bool = True) -> list[str]:
    """Return the health of a trace in words, with or without what it says of reversed messages and their correction, and of shared
    processors.
    """
    return words.facts(health_facts(state, clocks, shared))


def health_facts(state: Health, clocks: bool = True, shared: bool = True) -> Facts:
    """Return the same as labels and what is to be said under them."""
    counts, told = state.counts, "complete"
    if state.incomplete:
        lost = "what is left out or missing waits for nobody here and delays nobody"
        told = f"INCOMPLETE: {'nothing is left out, but what is inferred may be otherwise' if _only_inferred(state) else lost}"
    facts = [("health", f"{told}; {words.several(counts.records, 'record')} read")]
    facts += [("left out", f"{reason}: {number}") for reason, number in state.defects.items()]
    facts += [("", words.shown(fault)) for fault in state.faults[:_FAULTS]]
    facts += [("", f"and {len(state.faults) - _FAULTS} more")] if len(state.faults) > _FAULTS else []
    facts += [("missing", f"{name}: {number}") for name, number in state.holes.items() if name not in whatif.OF_RECORDS]
    facts += [("inferred", f"{name}: {number}") for name, number in state.repairs.items()]
    if state.off_ns:
        facts.append(("not recorded", f"{words.duration(state.off_ns)}, all processes together, as measurement was switched off"))
    facts += [("not modelled", _not_modelled(state))] if state.calls_not_modelled or counts.silent_processes else []
    facts += shared_processors(state) if shared else []
    if lost := _cut(counts):
        what = "end of the run as it is cut" if state.ends_early else "iterations"
        facts.append(("cut off", f"{lost} reach beyond the {what}: what waited for them counts as work"))
    if counts.size_differs:
        facts.append(("sizes", f"messages whose ends name different ones: {counts.size_differs}; the receiver's counts"))
    if counts.placed_streams:
        streams, moved = words.several(counts.placed_streams, "stream"), words.duration(counts.placed_ns)
        facts.append(("devices", f"times of {streams} put on the clock of their process by a straight line, moved by at most {moved}"))
    if state.own_clocks:
        facts.append(("clocks", "no clock offsets were recorded: each process has a clock of its own, times between processes mean little"))
    return [*facts, *(_clocks(state) if clocks else [])]


def _cut(counts: Counts) -> str:
    """Return what a trace that is restricted to iterations has lost at their ends, in words; nothing if nothing."""
    lost = ((counts.cut_messages, "message"), (counts.cut_collectives, "collective"), (counts.cut_links, "link"))
    return ", ".join(words.several(number, noun) for number, noun in lost if number)


def _not_modelled(state: Health) -> str:
    """Return what the calls whose partners are unknown take, and what they do to an answer: on one process they weigh more than on all."""
    share = f"{words.percent(state.not_modelled, 1)} of the processes' time"
    if state.counts.silent_processes:
        ranks, silent = state.missing_ranks, words.several(state.counts.silent_processes, "process")
        named = f"{'ranks' if len(ranks) > 1 else 'rank'} {listed(ranks)}" if len(ranks) == state.counts.silent_processes else silent
        share += f", with all of that of {named} that logged nothing"
    if not state.calls_not_modelled:
        return share
    most, calls = words.percent(state.not_modelled_most, 1), words.several(state.calls_not_modelled, "call")
    return f"{share}, {most} of one's at most, in {calls} whose partners are unknown, which take as long as recorded whatever changes"


def _clocks(state: Health) -> Facts:
    facts = _clock(state.recorded_clock, state.predicted)
    if state.correction:
        returns = f"{words.several(state.correction.jumps, 'return')} put forward"
        moved = words.duration(state.correction.largest)
        facts.append(("corrected", f"by the controlled logical clock: {returns}, calls moved by at most {moved}"))
        facts += [("left", text) for _, text in _clock(state.clock, state.predicted)] if state.clock else []
    return facts


def _clock(reversed: Violations, predicted: bool) -> Facts:
    facts = []
    why = ", as waits were zeroed" if predicted else ""
    if reversed.records:
        counts = "; ".join(f"{count}{by}, worst {words.duration(worst)}" for count, by, worst in by_calls_and_records(reversed))
        facts.append(("clocks", f"messages received before they were sent: {counts}{why}"))
    if reversed.collective_calls:
        calls, worst = reversed.collective_calls, words.duration(reversed.worst_collective)
        facts.append(("clocks", f"calls that left a collective before its last member came: {calls}, worst {worst}{why}"))
    if reversed.links:
        calls, worst = reversed.links, words.duration(reversed.worst_link)
        facts.append(("clocks", f"calls that returned before others let them: {calls}, worst {worst}{why}"))
    return facts or [("clocks", "consistent: nothing is received before it was sent")]


def by_calls_and_records(reversed: Violations) -> list[tuple[int, str, int]]:
    """Return (messages, by what, largest reversal, ns): from entry to return, if any, and from record to record, if these differ."""
    differ = (reversed.messages, reversed.worst_message) != (reversed.records, reversed.worst_record)
    by_calls = [(reversed.messages, "", reversed.worst_message)] if reversed.messages else []
    return [*by_calls, *([(reversed.records, " by their records", reversed.worst_record)] if differ else [])]


def model(value: loggps.Model) -> Model:
    """Return a model as a report tells it."""
    parameters = msgspec.convert(value.parameters(), Parameters)
    classes = msgspec.convert(value.classes(), list[PairClass])
    return Model(name=value.name, source=value.source, assumed=list(value.assumed), parameters=parameters, classes=classes)


def model_facts(machine: Model, label: str = "model") -> Facts:
    """Return a model in words: name, what its source tells in the units of the keys, and what is only assumed."""
    told, *classes = told_facts(machine)
    facts = [(label, f"{words.shown(machine.name)}: {told or 'nothing'}"), *(("", each) for each in classes), ("source", machine.source)]
    return [*facts, ("assumed", f"{assumed(machine)} (not in the source)")] if machine.assumed else facts


def told_facts(machine: Model, unknown: Collection[str] = ()) -> list[str]:
    """Return what the source of a model tells: of all pairs, then what differs by class of pairs and size.

    What is only assumed is so of the smallest sizes, what is `unknown`, keys with their class, of all.
    """
    out = [" ".join(_letters({key: value for key, value in asdict(machine.parameters).items() if key not in machine.assumed}))]
    for row in machine.classes:
        differs = {key: value for key, value in asdict(row).items() if key in keys.OF_PAIRS and value is not None}
        told = {
            key: value
            for key, value in differs.items()
            if keys.of_class(row.pairs, key) not in (unknown if row.from_bytes else machine.assumed)
        }
        size = f"from {row.from_bytes} bytes" if row.from_bytes else ""
        if told or not differs:
            out.append(f"{' '.join(filter(None, (row.pairs, size)))}: {' '.join(_letters(told)) or 'as all'}")
    return out


def assumed(machine: Model) -> str:
    """Return what the source of a model does not tell, with the values taken; empty if it tells all."""
    out = []
    for pairs in ("", *keys.PAIRS):
        rows = [machine.parameters, *(row for row in machine.classes if row.pairs == pairs and not row.from_bytes)]
        said = {key: value for row in rows for key, value in asdict(row).items() if value is not None}
        open_ = {key: value for key, value in said.items() if keys.of_class(pairs, key) in machine.assumed}
        out += [keys.of_class(pairs, letter) for letter in _letters(open_)]
    return " ".join(out)


def _letters(said: Mapping[str, Any]) -> list[str]:
    """Return keys of a model and their values, once where both ends have the same."""
    said = {key: said[key] for key in (*keys.OF_PAIRS, *keys.OF_ALL) if said.get(key) is not None}
    both = {end: key for key, ends in keys.BOTH_ENDS.items() if len({said.get(end) for end in ends}) == 1 for end in ends}
    told = {both.get(key, key): value for key, value in said.items()}
    return [f"{key}={f'{value:g}' if isinstance(value, float) else repr(value)}" for key, value in told.items()]


def region_path(trace: Trace, path: int) -> str:
    """Return the names of a region path from the outside in, joined by `/`; empty at the top."""
    names = []
    while path >= 0:
        names.append(trace.names[trace.paths.region[path]])
        path = int(trace.paths.parent[path])
    return "/".join(reversed(names))


def location(trace: Trace, row: int) -> Location:
    """Return the rank and thread of a location."""
    return Location(rank=int(trace.locations.process[row]), thread=int(trace.locations.thread[row]))


def place(trace: Trace, row: int) -> CallPlace | None:
    """Return a call and where it ran; None of a row below 0."""
    return CallPlace(call=_number(trace, row), **asdict(location(trace, int(trace.calls.location[row])))) if row >= 0 else None


def call(trace: Trace, row: int) -> Call:
    """Return a call, where it ran and where in the program it was made."""
    calls = trace.calls
    where = asdict(location(trace, int(calls.location[row])))
    return Call(call=_number(trace, row), **where, routine=operations.OPS[calls.op[row]], region=region_path(trace, int(calls.path[row])))


def _number(trace: Trace, row: int) -> str:
    """Return how a call is called, in the whole run if this is a part of it."""
    return f"e{trace.share.named(np.array([row]))[0]}"


def option(hypothesis: str) -> str:
    """Return a hypothesis as an option of `perwiz predict`, ready for a shell."""
    word, _, argument = hypothesis.partition(" ")
    return f"--{word} {shlex.quote(argument)}"


def shares_of(trace: Trace, makespan: int) -> int:
    """Return the ns that all shares of a run are of, wherever they are told: those after MPI_Init if the trace shows it, else the makespan.

    The program has no hand in MPI_Init, which makes up most of a short run.
    """
    after = selectors.after_init(trace)
    return after if after is not None and 0 < after < makespan else makespan


def without_launches(asked: str, recorded: int, makespan: int, whole: int) -> str:
    """Return what a question gains that lets no launch of a device be late, ns, as part of `whole`."""
    why = "late launches (device_idle) may hide what a straggler costs; without them"
    return f"{why}: {asked}: {gained(recorded, makespan, whole)}"


def gained(recorded: int, predicted: int, whole: int) -> str:
    """Return how much shorter a makespan is: `gain 12.50 ms (12.5 %)`, `loss 3 ns (3.0 %)`; the share is of the whole, none of nothing."""
    gain = recorded - predicted
    share = f" ({words.percent(abs(gain), whole)})" if whole else ""
    return f"{'gain' if gain >= 0 else 'loss'} {words.duration(abs(gain))}{share}"


def share_facts(whole: int, makespan: int, part: Part) -> Facts:
    """Return in words what shares are of; nothing if it is the makespan. `part` is that of the run that is asked about, if not all is."""
    return [("", note) for note in share_notes(whole, makespan, part)]


def share_notes(whole: int, makespan: int, part: Part) -> list[str]:
    """Return the same as a line."""
    return [f"percentages are of {whole_of(whole, part)}"] if whole != makespan else []


def whole_of(whole: int, part: Part) -> str:
    """Return in words what shares are of if it is not the makespan."""
    return f"the {words.duration(whole)} {'that a process takes' if part else 'after MPI_Init'}"
