"""Calls that do not wait, take no time at all, none but waiting or none where they poll in vain, or whose messages do not hold them."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import GraphError, UsageError
from perwiz.formats.kineto.names import BACKWARD
from perwiz.graph.anew import Anew, carried, numbers
from perwiz.graph.graph import GAP, LINK, ORDER, RENDEZVOUS, START
from perwiz.kernels import weigh as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints, Mask, chunks
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.tables import EVENT, JOIN, LAUNCH, NONE, STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.network import EagerLimit

SLOWED = "beside=slowed"
"""What computes beside communication takes as much longer as there is of that."""


def release(weighted: Weighted, calls: Mask, spared: int) -> None:
    """Let no partner bind the return of these calls any more, in place; edges of kind `spared` and behind it stay."""
    graph = weighted.graph
    for some in chunks(len(calls)):
        kernel.cut_incoming(graph.start, graph.kind, graph.returned[some][calls[some]], spared, CUT, weighted.weight)


class ZeroWait(Hypothesis):
    """The selected calls do not wait: partners' times no longer bind them (PerWiz paper, 2.2). The partners stay where they are."""

    word, stage, priced, effects_may_precede_causes, of_parts, of_windows = "zero-wait", 3, False, True, True, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which no partner binds the return of a selected call."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which no partner binds the return of these calls; overwrites its weights."""
        release(weighted, calls, GAP)
        return weighted


class ZeroTime(Hypothesis):
    """The selected calls take no time: they return when they are entered, or when what they begin is begun elsewhere; a stream that idles
    goes on when what it is ordered behind on other streams has ended.
    """

    word, stage, priced, effects_may_precede_causes, of_parts, of_windows = "zero-time", 3, False, True, True, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls return at once."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which these calls return at once; overwrites its weights."""
        graph = weighted.graph
        stays = np.flatnonzero((graph.kind == START) | (graph.kind == ORDER))
        stays = stays[calls[graph.returning[graph.targets(stays)]]]
        weight = np.minimum(weighted.weight[stays], 0)
        release(weighted, calls, START)
        weighted.weight[graph.start[graph.returned[calls]]] = 0
        weighted.weight[stays] = weight
        return weighted


class ZeroTransfer(Hypothesis):
    """The selected calls take no time themselves, and wait as before: they return when the last of those they wait for has come, as on an
    ideal network. So a collective still holds everybody until its last process is there.
    """

    word, stage, priced, of_parts, of_windows = "zero-transfer", 3, False, True, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls do nothing but wait."""
        return self.of(weighted, selectors.calls(weighted.trace, self.argument))

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which these calls do nothing but wait; overwrites its weights."""
        graph = weighted.graph
        returns = np.zeros(graph.vertices, bool)
        returns[graph.returned[calls]] = True
        edge = np.flatnonzero(np.repeat(returns, np.diff(graph.start)) & (weighted.weight != CUT) & (graph.kind != GAP))
        weighted.weight[edge] = np.minimum(weighted.weight[edge], 0)
        return weighted


class ZeroPoll(Hypothesis):
    """The selected tests and probes take no time where they find nothing.

    A process that polls is there earlier then, at the test that succeeds or the receive behind a probe, and that call still waits for its
    message: the process goes on when what it polls for is there, as if it had waited in MPI_Wait. So, other than under zero-time, no
    effect comes before its cause. What it computes between two tests stays, as it may be work; a test that completes a request keeps its
    time.
    """

    word, stage, priced, of_parts, of_windows = "zero-poll", 3, False, True, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which selected calls that poll in vain return at once. Raises UsageError if none does."""
        calls = selectors.calls(weighted.trace, self.argument) & in_vain(weighted.trace)
        if not weighted.trace.share.asked(calls.any()):
            raise UsageError(f"{self}: these calls do not test or probe in vain")
        return self.of(weighted, calls)

    @staticmethod
    def of(weighted: Weighted, calls: Mask) -> Weighted:
        """Return the graph in which these calls, which poll in vain, return at once; overwrites its weights."""
        weighted.weight[weighted.graph.start[weighted.graph.returned[calls]]] = 0
        return weighted


_PROBES = [operations.OP[name] for name in ("MPI_Iprobe", "MPI_Improbe")]


def in_vain(trace: Trace) -> Mask:
    """Return which calls test, and complete nothing that the trace knows, or probe without waiting, bool per call."""
    mask = (operations.KIND[trace.calls.op] == operations.TEST) | np.isin(trace.calls.op, _PROBES)
    for completing in (trace.requests.completed_by, trace.messages.send_done, trace.messages.receive_done, trace.members.done):
        mask[completing[completing != NONE]] = False
    return mask


class Eager(Hypothesis):
    """Messages sent by the selected calls do not hold their sender until the receiver is there, as if they were below the eager limit.

    What they cost stays. With a size instead of calls it is `EagerLimit`.
    """

    word, stage, keeps_calls, of_parts = "eager", 3, True, True

    def meant(self) -> Hypothesis:
        """Return this, or of a size another limit."""
        return EagerLimit(self.argument) if EagerLimit.is_size(self.argument) else self

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which no receiver binds the sender of these messages. Raises UsageError if these calls send none."""
        sent = selectors.calls(weighted.trace, self.argument)[weighted.trace.messages.send]
        if not weighted.trace.share.asked(sent.any()):
            raise UsageError(f"{self}: these calls send no message")
        weighted.weight[held(weighted, sent)] = CUT
        return weighted


class Alone(Hypothesis):
    """Nothing runs on other streams of a process while these calls of its streams do: what would run beside one begins behind it, or it
    begins behind that, whichever was launched first. So communication does not overlap with computation.
    """

    word, stage = "alone", 3

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which streams wait for each other. Raises UsageError if these calls are on no streams, or would deadlock."""
        trace, graph = weighted.trace, weighted.graph
        ends = _beside(trace, selectors.calls(trace, self.argument))
        if not len(ends[0]):
            raise UsageError(f"{self}: must be calls of a stream, such as collectives, with others of their process beside it")
        none = np.zeros(graph.vertices, bool)
        anew = Anew(trace, graph, none, np.zeros(graph.edges, bool), 0)
        source, target = anew.layout.entered[ends[0]], anew.layout.entered[ends[1]] + 1
        try:
            made, edge = anew.graph(source, target, np.full(len(source), START, "u1"), np.full(len(source), NONE))
        except GraphError as error:
            raise UsageError(f"{self}: {error}") from None
        rounds = None if weighted.rounds is None else weighted.rounds.at(numbers(edge, graph.edges))
        weight = carried(graph, made, edge, weighted.weight, np.zeros(len(source), "i8"))
        return dataclasses.replace(weighted, graph=made, weight=weight, rounds=rounds)


def _beside(trace: Trace, calls: Mask) -> tuple[I8, I8]:
    """Return (call entered when something has ended, call that returns when what must not run beside it begins), rows.

    Between two calls that idle a stream does something, or calls: on stream 1 a call runs from 4 to 9, on stream 2 kernels from 2 to 6 and
    from 6 to 8. The call begins at 6, when the first kernel has ended, and the second one when the call has.
    """
    location, first = trace.calls.location, trace.first_calls
    idles = trace.calls.op == operations.OP["device_idle"]
    turn = _turns(trace, idles)
    row = np.flatnonzero(calls & ~idles & (trace.locations.kind == STREAM)[location])
    row = row[(row > first[location[row]]) & (row + 1 < first[location[row] + 1])]
    row = row[idles[row - 1] & idles[row + 1]]
    pairs = [np.empty((2, 0), "i8")]
    for stream in np.flatnonzero(trace.locations.kind == STREAM).tolist():
        other = first[stream] + np.flatnonzero(idles[first[stream] : first[stream + 1]])
        mine = row[(trace.locations.process[location[row]] == trace.locations.process[stream]) & (location[row] != stream)]
        place = np.searchsorted(turn[other], turn[mine - 1])
        mine, place = mine[place < len(other)], place[place < len(other)]
        before = other[place]
        pairs += [np.stack([mine + 1, before])[:, place + 1 < len(other)], np.stack([before, mine - 1])[:, place > 0]]
    found = np.concatenate(pairs, axis=1)
    return found[0], found[1]


def _turns(trace: Trace, idles: Mask) -> I8:
    """Return which comes first of what is done behind calls that idle, a number per call: what is launched first, of one launch what begins
    first. A collective that waits for a late rank begins before much that is launched before the next one.

    On a process of which not all launches were recorded what begins first comes first.
    """
    begin, links, location = trace.timeline.calls.leave, trace.links, trace.calls.location
    launched = np.full(len(begin), NONE, "i8")
    launch = links.kind == LAUNCH
    launched[links.effect[launch]] = trace.timeline.calls.enter[links.cause[launch]]
    process, last = trace.locations.process[location], np.append(location[1:] != location[:-1], True)
    untold = np.unique(process[idles & ~last & (launched == NONE)])
    turn = distinct_pairs(np.where(np.isin(process, untold), begin, launched), begin)[1].astype("i8")
    turn[last] = len(turn)
    return turn


def held(weighted: Weighted, messages: Mask) -> I8:
    """Return the edges by which some messages, bool per message, hold their senders, those left out that bind nobody."""
    edge = np.flatnonzero((weighted.graph.kind == RENDEZVOUS) & (weighted.weight != CUT))
    return edge[messages[weighted.graph.cause[edge]]]


class Hide(Hypothesis):
    """What these calls of a stream, or of a thread of its own, do runs beside all else of their process, as soon as it could: other streams
    and threads wait for it until it is done if it is begun with what computes the data, but who waits for the whole device, as recorded. So
    communication overlaps with computation, at best: it begins behind what was waited for before, in training jobs with the backward; it
    takes as long; and who comes late to a collective still lets the others wait.

        computes 6 | communicates 4, waited for | computes 2        becomes 6 + 2, as 4 of the 6 run beside
        computes 3 | communicates 4, waited for | computes 2        becomes 4 + 2
    """

    word, stage, priced, effects_may_precede_causes, varied = "hide", 3, False, True, SLOWED

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph in which less is waited for these calls. Raises UsageError if nothing does."""
        trace, graph = weighted.trace, weighted.graph
        calls = selectors.calls(trace, self.argument)
        links = hidden(trace, calls)
        if not links.any():
            raise UsageError(f"{self}: no other stream or thread of their process waits for these calls, must be some that one does")
        edge = np.flatnonzero(((graph.kind == LINK) | (graph.kind == ORDER)) & (weighted.weight != CUT))
        edge = edge[links[graph.cause[edge]]]
        weighted.weight[edge] -= _sooner(weighted, calls, links)[trace.links.cause[graph.cause[edge]].astype("i8") - 1]
        return weighted

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return that nothing is gained, as computation and communication slow each other down."""
        return [_Slowed(self.argument)]


class _Slowed(Hide):
    """The same; what computes beside takes as much longer as it hides."""

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph as it is."""
        return weighted

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return nothing else."""
        return []


def _sooner(weighted: Weighted, calls: Mask, links: Mask) -> I8:
    """Return per call by how much sooner it could end, ns, if links wait for some calls: what is done since the last that was waited for,
    or since the backward has begun, fits into the time of its location in which none of the calls is.
    """
    trace, times = weighted.trace, weighted.timeline.calls
    waited = np.unique(trace.links.cause[links].astype("i8") - 1)
    location = trace.calls.location[waited].astype("i8")
    again = np.append(False, location[1:] == location[:-1])
    last = np.append(0, waited[:-1])
    since = np.where(again, times.leave[last], weighted.timeline.locations.enter[location])
    since = _backward(weighted, trace.locations.process[location], since, times.enter[waited])
    first = np.where(again, last + 1, trace.first_calls[location])
    took, moving = (np.append(0, np.cumsum(np.where(calls, times.leave - begin, 0))) for begin in (times.enter, _moving(weighted)))
    idle = times.leave[waited] - since - (took[waited + 1] - took[first])
    out = np.zeros(len(calls), "i8")
    out[waited] = np.maximum(np.minimum(moving[waited + 1] - moving[first], idle), 0)
    return out


def _moving(weighted: Weighted) -> I8:
    """Return per call, ns, when all are there whom it does something with: from then on it moves data."""
    trace, enter = weighted.trace, weighted.timeline.calls.enter
    out, members, messages = enter.copy(), trace.members, trace.messages
    last = np.full(len(trace.collectives), NONE, "i8")
    np.maximum.at(last, members.collective, enter[members.call])
    np.maximum.at(out, members.done, last[members.collective])
    np.maximum.at(out, messages.receive_done, enter[messages.send])
    return np.minimum(out, weighted.timeline.calls.leave)


def _backward(weighted: Weighted, process: Ints, since: I8, until: I8) -> I8:
    """Return when on some processes the first gradient is computed between two times, ns; the first of these where none is."""
    trace = weighted.trace
    named = np.array([name.startswith(BACKWARD) for name in trace.names], bool)
    rows = np.flatnonzero(named[trace.region_names]) if named.any() else np.zeros(0, "i8")
    begins, of = weighted.timeline.regions.enter[rows], trace.locations.process[trace.regions.location[rows]]
    out = since.copy()
    for one in np.unique(of).tolist():
        own, here = np.sort(begins[of == one]), np.flatnonzero(process == one)
        first = np.append(own, np.iinfo("i8").max)[np.searchsorted(own, since[here])]
        out[here] = np.where(first < until[here], first, since[here])
    return out


def hidden(trace: Trace, calls: Mask) -> Mask:
    """Return which links let another stream, or thread, of the process wait for the end of calls, bool per link.

    They lead from the idle call right behind such a call, which begins when it ends.
    """
    links = trace.links
    before = np.maximum(links.cause.astype("i8") - 1, 0)
    location = trace.calls.location
    same = (location[before] == location[links.cause]) & (location[links.effect] != location[links.cause])
    return np.asarray(np.isin(links.kind, (EVENT, JOIN)) & same & calls[before] & (links.cause > 0))
