"""Parts of a program that can be balanced by themselves: parallel steps, the whole program, stretches between collectives of all."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import distinct_pairs, running
from perwiz.trace.parts.pipeline import NO_PIPELINE, pipelines
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE, STREAM
from perwiz.trace.tied import processors
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.stretch import Segments, Spans

WHOLE, STRETCHES, STAGES = "all", "between-collectives", "stages"
"""Words for the whole program, for its stretches and for the stages of its pipelines, unless a region is called so."""
BEHIND = "behind "
"""Before calls, for what is computed behind each of them, unless a region is called so."""


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """The computation of some parts of a program, process by process: `group` is a process in a part, and `part` the part of each group.

    segment   0 1 4 5    group   0 0 1 2    part   0 0 1    (groups 0 and 1 are two processes in one part, group 2 is alone in another)
    """

    segment: Ints
    """Rows of segments, ascending."""
    group: Ints
    """Per row, ascending from 0."""
    part: I8
    """Per group, from 0."""


def parts(segments: Segments, text: str) -> Parts:
    """Return the parts of `REGION`, `REGION#3`, `REGION#3..7`, `all`, `between-collectives`, `between-collectives#3`, `behind CALLS`.

    The k-th instance of a region on every process is a part; so is what every process computes up to its k-th blocking collective in which
    all processes wait for each other; and what the stages of a pipeline compute of micro-batches, on each of their streams or threads;
    and what each process computes from the k-th of its calls that a selector names to the next one.
    Of the words what is before MPI_Init or behind MPI_Finalize is no part: there a process starts.
    What streams of devices do is no part of the whole program, nor of a region that processes are in as well: no processor takes it over.
    Nor is what processes compute for devices, and what threads do that they keep for one purpose, part of the whole program.
    A region called like one of the words goes before it. Raises UsageError for another name, and for stages where there are none.
    """
    spans, part = spans_of(segments, text)
    return Parts(*spans.rows(), part)


def spans_of(segments: Segments, text: str) -> tuple[Spans, I8]:
    """Return what `parts` does as (spans of segments, whose groups are those of processes in a part; the part of each group)."""
    if _names_region(segments.trace, text):
        instances, step = steps_of_processes(segments.trace, text)
        return segments.spans(instances), step
    return _spans_of_word(segments, text)


@remembered(2)
def _spans_of_word(segments: Segments, text: str) -> tuple[Spans, I8]:
    """Return the spans of the whole program, of its stretches or stages, or of what is behind calls, found once."""
    trace = segments.trace
    word, number = selectors.numbered(text, trace.names)
    if _names_calls(trace, text):
        return _behind(segments, text.removeprefix(BEHIND))
    if word == WHOLE and number not in ("", "1"):
        raise UsageError(f"'{text}': no such step, the whole program is step 1")
    if word == WHOLE:
        computes = processors(trace)
        spans = Spans.of(_own(segments) & computes[segments.location], segments.begins)
        group = np.cumsum(computes, dtype="i4") - np.int32(1)
        return dataclasses.replace(spans, group=group[spans.group]), np.zeros(len(group[computes]), "i8")
    return _stages(segments, text, number) if word == STAGES else _stretches(segments, text, number)


def _names_region(trace: Trace, text: str) -> bool:
    """Return whether a text names a region, or steps of one, and not the whole program, its stretches or stages."""
    word = selectors.numbered(text, trace.names)[0]
    return text in trace.names or word in trace.names or not (word in (WHOLE, STRETCHES, STAGES) or _names_calls(trace, text))


def _names_calls(trace: Trace, text: str) -> bool:
    """Return whether a text names what is computed behind calls."""
    return text.startswith(BEHIND) and text not in trace.names and selectors.numbered(text, trace.names)[0] not in trace.names


def steps_of_processes(trace: Trace, text: str) -> tuple[I8, I8]:
    """Return as `selectors.steps` the instances of a region and the step of each; without those of streams, if processes have some.

    Raises UsageError for another name.
    """
    word = selectors.numbered(text, trace.names)[0]
    if not trace.names and (guess := words.meant(word, (WHOLE, STRETCHES, STAGES))):
        raise UsageError(f"'{text}': no such part of the program{guess}")
    instances, step = selectors.steps(trace, text)
    on_stream = trace.locations.kind[trace.regions.location[instances]] == STREAM
    share = trace.share
    if not share.any(on_stream.any()) or not share.any(not on_stream.all()):
        return instances, step
    step = step[~on_stream]
    return instances[~on_stream], share.placed(step)[1]


def _stages(segments: Segments, text: str, number: str) -> tuple[Spans, I8]:
    trace, found = segments.trace, pipelines(segments.trace)
    if found is None or number not in ("", "1"):
        raise UsageError(f"'{text}': {NO_PIPELINE if found is None else 'no such step, the whole run is step 1'}")
    computes = np.zeros(len(segments.edge), bool)
    computes[found.computations()] = True
    spans, locations = Spans.of(segments.of_gaps(computes), segments.begins).numbered()
    process = trace.locations.process[locations]
    pipeline_of = {rank: row for row, ranks in enumerate(found.ranks) for rank in ranks}
    part = distinct_pairs(np.array([pipeline_of[rank] for rank in process.tolist()]), running(process, process))[1]
    return spans, part.astype("i8")


def _stretches(segments: Segments, text: str, number: str) -> tuple[Spans, I8]:
    stretch, count = stretch_of(segments)
    chosen, share = (stretch >= 0) & _own(segments), segments.trace.share
    if number:
        first, last = selectors.bounds(number)
        chosen &= (stretch + 1 >= first) & (stretch + 1 <= last)
        if not share.asked(chosen.any()):
            raise UsageError(f"'{text}': no such step, there are stretches 1 to {count}")
    calls = synchronisations(segments.trace)
    behind = segments.bounds[calls + segments.trace.calls.location[calls] + 1]
    divided = np.sort(np.append(segments.begins, behind))
    spans, which = Spans.of(chosen, divided).numbered()
    return spans, share.placed(stretch[divided[which]].astype("i8"))[1]


def _behind(segments: Segments, calls: str) -> tuple[Spans, I8]:
    """Return what is computed behind calls that a selector names."""
    trace = segments.trace
    chosen = np.flatnonzero(selectors.calls(trace, calls))
    location = trace.calls.location[chosen]
    gap, number = chosen + location + 1, np.arange(len(chosen)) - np.searchsorted(location, location)
    behind = np.zeros(len(segments.edge), bool)
    behind[gap] = True
    divided = np.append(0, segments.bounds[gap])
    spans, which = Spans.of(segments.of_gaps(behind) & _own(segments), divided).numbered()
    return spans, trace.share.placed(number[which - 1])[1]


def _own(segments: Segments) -> Mask:
    """Return which segments are of locations of this process, between MPI_Init and MPI_Finalize, and not for devices."""
    own = segments.trace.share.has(segments.location)
    return own & between_init_and_finalize(segments) & ~for_devices(segments)


@remembered(1)
def between_init_and_finalize(segments: Segments) -> Mask:
    """Return which segments are neither before MPI_Init nor behind MPI_Finalize of their process; all where the trace does not show it."""
    trace = segments.trace
    begins, ends = (selectors.last_calls(trace, rows) for rows in (selectors.init_calls(trace), selectors.finalize_calls(trace)))
    ends[ends == NONE] = len(trace.calls)
    location = segments.location_of_gap
    behind = np.arange(len(location), dtype="i4") - location
    return segments.of_gaps((behind > begins[location]) & (behind <= ends[location]))


def stretch_of(segments: Segments) -> tuple[I4, int]:
    """Return which stretch each segment lies in, from 0, -1 of locations that take no part in these collectives, and how many there are.

    Raises UsageError if no collective makes all processes wait for each other.
    """
    trace = segments.trace
    calls = synchronisations(trace)
    location = trace.calls.location[calls]
    first = np.searchsorted(location, np.arange(len(trace.locations) + 1))
    count = trace.share.most(int(np.diff(first).max(initial=0)))
    if not count:
        raise UsageError(f"{trace.path}: no collective makes all processes wait for each other, so there is nothing to balance between")
    synchronises = np.zeros(len(trace.calls), bool)
    synchronises[calls] = True
    before, location = np.append(np.int32(0), np.cumsum(synchronises, dtype="i4")), segments.location_of_gap
    out = before[np.arange(len(location), dtype="i4") - location] - first.astype("i4")[location]
    out[(np.diff(first) != count)[location]] = NONE
    return segments.of_gaps(out), count + 1


@remembered(2)
def synchronisations(trace: Trace) -> I8:
    """Return the calls, rows ascending, with which processes join blocking collectives in which all of them wait for each other."""
    members, table, share = trace.members, trace.collectives, trace.share
    ends_later = np.zeros(len(table), "i8")
    np.maximum.at(ends_later, members.collective, members.call != members.done)
    whole = share.over_instances(ends_later, "max") == 0
    every = len(np.unique(trace.locations.process))
    whole &= share.of_instances(np.bincount(members.collective, minlength=len(table))) == every
    whole &= (operations.KIND[table.op] == operations.N_TO_N) & operations.OF_PROCESSES[table.op]
    return np.sort(members.call[whole[members.collective]]).astype("i8")
