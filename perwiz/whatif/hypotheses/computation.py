"""Computation that takes more or less time, or is spread evenly."""

from __future__ import annotations

import math
import re
from typing import ClassVar

import numpy as np

from perwiz.errors import UsageError
from perwiz.formats.kineto.names import ADDS_UP, ASKS, BUCKETS, GRADIENT_READY, LOADING
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, chunks
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.parts import between_init_and_finalize, parts, spans_of, steps_of_processes
from perwiz.whatif.hypotheses.stretch import Segments, level, segments_of, shares
from perwiz.whatif.hypotheses.waits import ZeroTime
from perwiz.whatif.limits.accumulation import GRADIENTS, Needless, needless, paths_into, paths_through
from perwiz.whatif.limits.serving import Rounds, mutual, rounds, works_first
from perwiz.whatif.rematch.farms import TOLD_BY_ONE, farm_of, handed_out_by_one

NEEDLESS, NEEDED = "messages=needless", "messages=needed"
"""Who prepares its own piece needs no message that brings it; it needs it for what else that brings."""
OWN_WORK = "hooks=all"
"""When a gradient is ready nothing takes time, not even what autograd and DistributedDataParallel do themselves."""
TAKEN_OVER = "loading=taken over"
"""A batch that workers have loaded takes up to _TAKES_OVER."""
_TAKES_OVER = 5_000_000
"""ns: of four ranks on two cores, each with two workers, batches of two tensors took 1 to 9 ms that were there, 3 in the mean."""
_SLOWEST, _LONGEST = 1e-30, 2.0**60


class Computation(Hypothesis):
    """What makes computation longer or shorter, as its `lengths` say. MPI calls keep their work, others unless it says so, too."""

    stage, priced = 2, False
    of_calls: ClassVar[bool] = False
    """Whether it changes what calls take, too (`in_calls`)."""

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return what the hypothesis makes of the lengths of segments, ns. Raises UsageError if it does not fit the trace."""
        raise NotImplementedError

    def gaps(self, segments: Segments, length: I8) -> I8:
        """Return what the hypothesis makes of the weights of the edges that hold computation, given the lengths of segments, ns."""
        return segments.gaps(self.lengths(segments, length))

    def in_calls(self, weighted: Weighted) -> None:
        """Change what calls take, in place: nothing, if the hypothesis is about computation alone."""

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with computation and region boundaries moved."""
        segments = segments_of(weighted)
        changed = segments.stretched(weighted, self.lengths(segments, segments.length))
        self.in_calls(changed)
        return changed


class OfSegments(Computation):
    """What changes some segments of computation alone, as its `changed` says."""

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return (which segments, how long they then are), given the lengths of all, ns. Raises UsageError if it does not fit the trace."""
        raise NotImplementedError

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those of some segments changed."""
        out = length.copy()
        rows, changed = self.changed(segments, length)
        out[rows] = changed
        return out

    def gaps(self, segments: Segments, length: I8) -> I8:
        """Return the weights, changed by as much as what they hold: no length of another segment is looked at."""
        rows, changed = self.changed(segments, length)
        return segments.gaps_with(rows, length, changed)


class Scale(OfSegments):
    """`REGION=0.5`: computation inside a region, calls made from it included, takes that part of its time; `REGION@rank:3=0.5`,
    `REGION@node:NAME=0.5`, ...: on those processes, threads or streams.
    """

    word, example, of_parts, of_windows, keeps_calls = "scale", "NAME=0.5", True, True, True

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of the region, scaled, rounded per segment to ns."""
        instances, factor = self._chosen(segments.trace)
        return _times(self, segments, length, segments.inside(instances)[0], factor)

    def meant(self) -> Hypothesis:
        """Return this; of batches that are to take no time that they are loaded ahead, and of hooks of gradients that nothing is called."""
        which, _, factor = self.argument.rpartition("=")
        if factor != "0" or type(self) is not Scale:
            return self
        if which.startswith(LOADING):
            return LoadedAhead(self.argument)
        return WithoutHooks(self.argument) if which.startswith(GRADIENT_READY) else self

    def _chosen(self, trace: Trace) -> tuple[I8, float]:
        """Return the instances of the region on those processes, rows, and the factor."""
        which, factor = number(self, self.argument)
        name, place = selectors.placed(which, trace.names)
        instances = selectors.instances(trace, name)
        if place:
            there = selectors.locations(trace, place)[trace.regions.location[instances]]
            if not trace.share.asked(there.any()):
                raise UsageError(f"{self}: region '{name}' is never entered there, must be where it is")
            instances = instances[there]
        return instances, factor


class LoadedAhead(Scale):
    """`enumerate(DataLoader)#...=0`: batches of a training job take no time, as others load them ahead.

    Taking one over from a worker does: its tensors are unpickled, and their memory is mapped. No trace of a job without workers tells what
    that takes, and of one with workers none how long a batch was waited for.
    """

    varied = TAKEN_OVER

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return that each batch takes as long as taking it over may."""
        return [_TakenOver(self.argument)]


class _TakenOver(LoadedAhead):
    """The same; each batch takes what it took, but no longer than taking it over may."""

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of the region, those of each instance shortened alike."""
        instances, _ = self._chosen(segments.trace)
        rows, place = segments.inside(instances)
        took = np.zeros(len(instances), "i8")
        np.add.at(took, place, length[rows])
        return rows, shares(length[rows], place, np.minimum(took, _TAKES_OVER))

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return nothing else."""
        return []


class WithoutHooks(Scale):
    """`autograd::engine::evaluate_function: torch::autograd::AccumulateGrad=0`: what is called when a gradient is ready takes no time.

    But for what autograd and DistributedDataParallel do there themselves, which is needed: add it up, copy it and ask for its sum.
    """

    varied = OWN_WORK

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of the region that lie in no region of these, of no length."""
        rows, changed = super().changed(segments, length)
        own = paths_through(segments.trace, paths_into(segments.trace, ADDS_UP, ASKS, *BUCKETS))
        kept = ~own[segments.path[rows]]
        return rows[kept], changed[kept]

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return that all of it takes no time, as a hook may stand for what they do."""
        return [_AllOfIt(self.argument)]


class _AllOfIt(Scale):
    """The same, with what autograd and DistributedDataParallel do themselves."""

    varied = OWN_WORK


class Speed(OfSegments):
    """`rank:3=2.0`: that process computes twice as fast, with its threads; `rank:0-7=2.0`, `node:NAME=2.0`: those processes.

    `rank:3.1=2.0`: that thread or stream. What streams of devices do for a process is not faster with it.
    What is before MPI_Init or behind MPI_Finalize keeps its time: there a process starts.
    """

    word, example, of_parts, of_windows, keeps_calls = "speed", "rank:3=2", True, True, True

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of the processes, divided by the factor, rounded per segment to ns."""
        which, factor = number(self, self.argument)
        if factor == 0:
            raise UsageError(f"{self}: a speed of 0, must be above 0")
        own = selectors.processors(segments.trace, which)[segments.location] & between_init_and_finalize(segments)
        return _times(self, segments, length, np.flatnonzero(own), 1 / max(factor, _SLOWEST))


class Accumulate(OfSegments):
    """`gradients`: micro-batches add theirs up on each rank, and all ranks sum them once before a step of the optimizer.

    Of several backward passes all but the last ask for no sum, nor copy what is summed (`limits.accumulation`).
    """

    word, example, of_calls, effects_may_precede_causes = "accumulate", GRADIENTS, True, True

    def changed(self, segments: Segments, length: I8) -> tuple[I8, I8]:
        """Return the segments of what needless sums take beside the collectives, of no length."""
        found = self._found(segments.trace)
        gap = found.launched + segments.trace.calls.location[found.launched] + 1
        first, end = (segments.bounds[gap + more].astype("i8") for more in (0, 1))
        behind = np.repeat(first - np.cumsum(end - first) + end - first, end - first) + np.arange((end - first).sum())
        rows = np.union1d(segments.inside(found.instances)[0], behind)
        return rows, np.zeros(len(rows), "i8")

    def in_calls(self, weighted: Weighted) -> None:
        """Let needless collectives, and what launches them, take no time."""
        ZeroTime.of(weighted, self._found(weighted.trace).calls)

    def _found(self, trace: Trace) -> Needless:
        if self.argument != GRADIENTS:
            raise UsageError(f"{self}: must be {GRADIENTS}")
        found = needless(trace)
        if found is None:
            raise UsageError(f"{self}: no rank sums the same gradients again before its optimizer takes a step, must be a job that does")
        return found


class BalanceTime(Computation):
    """In every one of some parts of the program (`parts`) each process that takes part computes the mean (PerWiz paper, 3.2).

    Instances of a region in tasks that processes ask for (`rematch.farms`) all take the mean of those of their farm: the k-th task of one
    process has nothing to do with the k-th of another.
    """

    word, of_parts = "balance-time", True

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those of the parts balanced; the sum of each part is conserved to the ns."""
        chosen = parts(segments, self.argument)
        out = length.copy()
        part, share = self._farmed(segments.trace, chosen.part), segments.trace.share
        out[chosen.segment] = level(length[chosen.segment], chosen.group, part, share)
        return out

    def gaps(self, segments: Segments, length: I8) -> I8:
        """Return the weights without the length of each segment: what lies together is rounded on the running sum, too."""
        spans, part = spans_of(segments, self.argument)
        return segments.levelled(spans, self._farmed(segments.trace, part), length, segments.trace.share)

    def _farmed(self, trace: Trace, part: I8) -> I8:
        """Return parts, those of tasks that processes ask for by their farm."""
        if self.argument not in trace.names:
            return part
        if trace.share.team:
            if handed_out_by_one(trace):
                raise UsageError(f"{self}: {TOLD_BY_ONE}, must be asked of it (without mpiexec)")
            return part
        farm = farm_of(trace, steps_of_processes(trace, self.argument)[0])
        return np.where(farm >= 0, int(part.max(initial=0)) + 1 + farm, part)


class Distribute(Computation):
    """What a process computes ahead of each of these sends, to several others in turn, is computed by who receives, behind that.

    What belongs to a message is said in `limits.serving`. Who prepares its own piece needs no message that brings it: the sends take no
    time, nor do calls that complete nothing but their receives. Only where most of those who are served so serve the process that serves
    them, as in an exchange with neighbours, or most of what is computed ahead of the sends is for none of the pieces, they bring something
    else, too, and cost what they did.
    """

    word, example, of_parts, varied = "distribute", "op:MPI_Send", True, NEEDED
    of_calls, effects_may_precede_causes = True, True
    stay: ClassVar[bool | None] = None
    """Whether the messages stay; None where the trace tells."""

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those ahead of the sends moved behind the receives; their sum is conserved."""
        trace, share, table = segments.trace, segments.trace.share, segments.trace.messages
        pieces = self._pieces(trace)
        send = table.send[pieces.message]
        gap = send + trace.calls.location[send]
        first, end = (segments.bounds[gap + more].astype("i8") for more in (0, 1))
        before = np.zeros(len(length) + 1, "i8")
        np.cumsum(length, out=before[1:])
        part = pieces.prepared(before[end] - before[first])
        out, count, stays = length.copy(), end - first, before[end] - part
        for some in chunks(len(gap)):
            several = count[some]
            row = np.arange(several.sum()) + np.repeat(first[some] - np.cumsum(several) + several, several)
            out[row] = np.clip(np.repeat(stays[some], several) - before[row], 0, length[row])
        moved, here = np.zeros(len(table), "i8"), np.zeros(len(table), bool)
        moved[pieces.message], here[share.messages] = part, True
        moved = share.told_by_senders(moved)
        got = np.flatnonzero(here & (moved > 0))
        done = table.receive_done[got]
        np.add.at(out, segments.bounds[done + trace.calls.location[done] + 1], moved[got])
        return out

    def in_calls(self, weighted: Weighted) -> None:
        """Let calls that nobody needs any more take no time."""
        trace, share, table = weighted.trace, weighted.trace.share, weighted.trace.messages
        if self.stays(trace):
            return
        pieces = self._pieces(trace)
        own, here = np.zeros(len(table), bool), np.zeros(len(table), bool)
        own[pieces.message], here[share.messages] = True, True
        gone = np.zeros(len(trace.calls), bool)
        gone[table.send[own]] = True
        piece = share.told_by_senders(own.astype("i8")) > 0
        done = table.receive_done[here & piece]
        gone[done[~np.isin(done, table.receive_done[here & ~piece])]] = True
        ZeroTime.of(weighted, gone)

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return the same with messages that stay, or do not."""
        return [(_WithoutMessages if self.stays(weighted.trace) else WithMessages)(self.argument)]

    def stays(self, trace: Trace) -> bool:
        """Return whether the messages stay: most of those who are served serve who serves them, or that computes for itself first."""
        if self.stay is not None:
            return self.stay
        pieces = self._pieces(trace)
        exchanged, first = mutual(trace, pieces), works_first(trace, pieces)  # whatever the one is, all processes of a team ask the other
        return exchanged or first

    def _pieces(self, trace: Trace) -> Rounds:
        """Return the pieces that the sends bring. Raises UsageError if there are none."""
        own = np.zeros(len(trace.calls), bool)
        own[trace.share.chosen(selectors.calls(trace, self.argument))] = True
        pieces = rounds(trace, own)
        if not trace.share.asked(len(pieces)):
            raise UsageError(f"{self}: no process sends these to several others in turn")
        return pieces


class WithMessages(Distribute):
    """The same, the messages as they were."""

    stay = True


class _WithoutMessages(Distribute):
    """The same without them."""

    varied, stay = NEEDLESS, False


def number(hypothesis: Hypothesis, text: str) -> tuple[str, float]:
    """Return what is before the last `=` of a text, and the number from 0 to 1e9 behind it. Raises UsageError that names it."""
    name, mark, value = text.rpartition("=")
    factor = float(value) if re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", value) else math.nan
    if not mark or not 0 <= factor <= 1e9:
        raise UsageError(f"{hypothesis}: must be like {hypothesis.word} {hypothesis.example} with a number from 0 to 1e9")
    return name, factor


def _times(hypothesis: Hypothesis, segments: Segments, length: I8, rows: I8, factor: float) -> tuple[I8, I8]:
    """Return some segments and their lengths times a factor, rounded to ns. Raises UsageError if all then add up to more than 2**60 ns."""
    changed = length[rows]
    took = int(changed.sum())
    total = float(segments.trace.share.reduced(np.array([float(length.sum() - took) + took * factor]), "sum")[0])
    if total > _LONGEST:
        raise UsageError(f"{hypothesis}: computation of {total / 1e9:.3g} s in all, must be below {_LONGEST / 1e9:.3g} s")
    for some in chunks(len(rows)):
        changed[some] = np.rint(changed[some] * factor)
    return rows, changed
