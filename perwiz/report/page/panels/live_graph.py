"""The weighted graph as columns that the page sweeps itself: what binds calls beside the order of their process, and what that costs.

Vertices are numbered along the program, as in `graph.layout`: 0 is the origin, then per location its first instant, its calls (entered,
returned) and its last instant; hubs of collectives behind them. Their times are those of the first timeline, so weights need not be
written: the page splits the recorded times into lags and work as `weigh` does, from the lags that the model says. Edges of messages go with
the messages of the timeline, in its order.
"""

from __future__ import annotations

import numpy as np

from perwiz.graph.graph import GAP, LOCAL, MESSAGE, PROBE, Graph, hubs
from perwiz.loggps import instances, interfaces
from perwiz.loggps.algorithms.shape import FREE
from perwiz.loggps.keys import LETTERS, POSTED
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import sent
from perwiz.loggps.rounds import Sums
from perwiz.loggps.weigh import CUT, Gaps, holding, lags, synchronous
from perwiz.report.page.analyses import MANY
from perwiz.report.page.tables import PanelData, column
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.run import Run


def why_not(run: Run) -> str:
    """Return why the page cannot answer questions on a run itself; empty if it can."""
    model, calls = run.weighted.model, len(run.trace.calls)
    if not calls:
        return "the run has no calls"
    if calls > MANY:
        return f"the run has {calls} calls; a page answers by itself for up to {MANY}"
    if model.topology is not None or interfaces.shared(model):
        return "messages share links here, and what they lose there another run changes"
    if run.replay_error:
        return f"the replayed run is up to {run.replay_error} ns off the recorded one"
    return ""


def document(run: Run, order: I8) -> PanelData:
    """Return the columns of the graph of a run; `order` are the rows of messages in the order of the timeline."""
    trace, graph, model = run.trace, run.graph, run.weighted.model
    number, table = numbers(trace, graph), trace.messages
    edge = _listed(graph, number)
    target, source = number[graph.targets(edge)], number[graph.source[edge]]
    lag = lags(trace, graph, model)[edge]
    kind = graph.kind[edge]
    place = np.empty(len(table), "i8")
    place[order] = np.arange(len(order))
    bound = np.zeros(len(table), bool)
    bound[graph.cause[graph.kind == MESSAGE]] = True
    done = table.send_done.astype("i8")
    begins, ends = selectors.last_calls(trace, selectors.init_calls(trace)), selectors.last_calls(trace, selectors.finalize_calls(trace))
    return {
        "hubs": len(hubs(graph)),
        "source": column(source, running=True),
        "target": column(target, running=True),
        "kind": column(kind),
        "lag": column(np.where(lag == CUT, -1, lag)),
        "probed": column(place[graph.cause[edge[kind == PROBE]]]),
        "unbound": column(np.flatnonzero(~bound[order])),
        "done": column(np.where(done == NONE, -1, done - table.send)[order]),
        "posted": column((table.receive_done - table.receive)[order]),
        "waits": column(synchronous(trace, model)[order].astype("i8")),
        "row": column(_rows(model, sent(trace, model, order))),
        "begins": begins.tolist(),
        "ends": np.where(ends == NONE, len(trace.calls), ends).tolist(),
        "model": _model(model),
        "network": _network(run, edge[kind == GAP]),
    }


def numbers(trace: Trace, graph: Graph) -> I8:
    """Return the number along the program of each vertex, by position."""
    first, places, calls = trace.first_calls, np.arange(len(trace.locations)), np.arange(len(trace.calls))
    number = np.zeros(graph.vertices, "i8")
    number[graph.entered] = 2 * calls + 2 * trace.calls.location + 2
    number[graph.returned] = number[graph.entered] + 1
    number[graph.begun] = 2 * first[:-1] + 2 * places + 1
    number[graph.ended] = 2 * first[1:] + 2 * places + 2
    rest = hubs(graph)
    number[rest] = 2 * (len(calls) + len(places)) + 1 + np.arange(len(rest))
    return number


def _listed(graph: Graph, number: I8) -> I8:
    """Return the edges that are written, by the vertex they lead into: neither local ones, nor those of messages, nor the origin's."""
    edge = np.flatnonzero((graph.kind != LOCAL) & (graph.kind != MESSAGE) & (graph.source != 0))
    return edge[np.argsort(number[graph.targets(edge)], kind="stable")]


def _rows(model: Model, messages: Sent) -> I8:
    return np.broadcast_to(model.row_of(messages), np.shape(messages.bytes))


def _model(model: Model) -> PanelData:
    return {
        "costs": [[getattr(row, letter) for letter in LETTERS.values()] for row in model.costs],
        "requests": model.request_overheads,
        "acknowledgements": model.acknowledge_overheads,
        "posted": model.progress == POSTED,
    }


def _network(run: Run, gaps: I8) -> PanelData:
    """Return what else there is to know on another network, and which of L and G may change there without another graph."""
    trace, model, graph = run.trace, run.weighted.model, run.graph
    if model.progress == POSTED:
        return {"why": "messages move once posted here: perwiz predict --network answers"}
    rows = np.flatnonzero(trace.members.done != NONE)
    forms = instances.forms(trace, rows, model)
    order = np.argsort(trace.members.done[rows], kind="stable")
    keep = forms.sums.what != FREE
    sums = Sums(*(values[keep] for values in forms.sums))
    of = Sent(sums.size, pairs=sums.pairs)
    cause = graph.cause[gaps]
    largest, passed = Gaps(trace, model, trace.messages.bytes).sent_by(cause)
    groups = {name: getattr(forms, name).tolist() for name in ("kind", "known", "now", "stays", "explained", "here")}
    return {
        "why": "",
        "latency": not (model.progress == "in calls" and holding(trace, model).any()),
        "member": column(trace.members.done[rows][order], running=True),
        "group": column(forms.group[order]),
        "groups": groups,
        "sums": {name: column(getattr(sums, name).astype("i8"), running=name == "row") for name in ("row", "times", "what", "size")}
        | {"costs": column(_rows(model, of)), "waits": column(np.broadcast_to(model.is_synchronous(of), sums.size.shape).astype("i8"))},
        "gap_row": column(_rows(model, largest)),
        "gap_bytes": column(passed),
    }


def bounded(run: Run) -> bool:
    """Return whether each region boundary lies in time where it lies among the calls of its location: then times tell computation apart."""
    trace = run.trace
    regions, first, calls = trace.regions, trace.first_calls, trace.timeline.calls
    for times, behind in ((trace.timeline.regions.enter, regions.first_call), (trace.timeline.regions.leave, regions.end_call)):
        at = regions.location
        before, after = behind > first[at], behind < first[at + 1]
        early = calls.enter[behind[before] - 1] > times[before]
        late = calls.enter[behind[after]] < times[after]
        if early.any() or late.any():
            return False
    return True
