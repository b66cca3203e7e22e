"""From a weighted graph to programs whose receives are matched anew, and from what became of them back to a weighted graph."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from perwiz.engines.rematch import CHOICE, MESSAGE, PLACE, RECEIVE, Matched, Programs
from perwiz.graph.graph import GAP, LOCAL, PROBE, RENDEZVOUS, Graph
from perwiz.graph.graph import MESSAGE as TO_RECEIVER
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Ints, Mask
from perwiz.trace.tables import ANY, NONE
from perwiz.whatif.rematch.choices import Choices
from perwiz.whatif.rematch.counters import latest
from perwiz.whatif.rematch.desks import desks_of, rows_of, stops_of, vertex_behind
from perwiz.whatif.rematch.farms import Tasks
from perwiz.whatif.rematch.turns import Turns


@dataclasses.dataclass(frozen=True, eq=False)
class Open:
    """What of a weighted graph is decided anew: the k-th message and its recorded receive belong together. Edges are rows of the graph."""

    programs: Programs
    message: I8
    """Row of messages per row of Programs.messages."""
    received: I8
    """Row of messages that took it in the recorded run, per row of Programs.receives; NONE of fetches, and of what counters give."""
    choosing: I4
    """Row of calls per row of Programs.choices."""
    along: I8
    """Per row of Programs.messages, the edge by which it tells when something goes on, or NONE of what counters give."""
    edge: I8
    """Per row of messages: the edge to the call that completes its receive, or NONE."""
    held: I8
    """The edge from the call that receives it to its sender, or NONE."""
    found: I8
    """The edge to the probe that finds it, or NONE."""
    carries: Mask
    """It brings a task, or the end: its receiver goes on with that."""
    stays: Mask
    """A probe hears it, and a turn goes with it: the receive behind the probe takes it, whenever that is."""

    def drawn(self, weight: I8, elsewhere: I8) -> Programs:
        """Return the programs if edges have other weights: those of another run, and those of tasks on a location of slowness 1."""
        programs, first = self.programs, self.programs.graph.start
        messages, places = programs.messages.copy(), programs.places.copy()
        messages["arrives"] = np.where(self.along >= 0, weight[self.along], messages["arrives"])
        pieces = programs.pieces.copy()
        for rows, name in ((messages, "goes_on"), (places, "end"), (pieces, "first")):
            there = rows[name] >= 0
            rows["own"][there] = weight[first[rows[name][there]]]
        fixed = np.where(programs.weight == CUT, CUT, weight)
        computes = np.where(programs.computes >= 0, np.append(elsewhere, 0)[first[:-1]], NONE)
        return dataclasses.replace(programs, weight=fixed, messages=messages, places=places, pieces=pieces, computes=computes)


def opened(weighted: Weighted, recorded: I8, choices: Choices, tasks: Tasks, turns: Turns, others: tuple[I8, F8]) -> Open:
    """Return the programs of a weighted graph whose recorded run has these `recorded` times, per vertex.

    `others` are the weights that computation of tasks has on a location of slowness 1, per edge, and the slowness of each location.
    """
    graph, weight, table = weighted.graph, weighted.weight, weighted.trace.messages
    count = len(table)
    edge = _edges(graph, count, graph.kind == TO_RECEIVER)
    of_tasks = _numbered(tasks, count)[0]
    m = np.flatnonzero((choices.anew | of_tasks) & (edge != NONE) & (weight[edge] != CUT))
    posts = np.where(choices.probe >= 0, choices.probe, table.receive)
    held, found = _held_and_found(weighted, choices, graph.entered[posts])
    posted = graph.entered[np.where(of_tasks | _ahead(weighted, choices, turns, held), table.receive_done, posts)]
    turn = _turns(weighted, turns, m, np.where(choices.probe >= 0, found, edge))
    into = np.append(weight, 0)
    receives = _posted(weighted, recorded, choices, tasks, m, (posted, edge))
    receives["probed"] = np.where(found[m] >= 0, graph.targets(found[m]), NONE)
    receives["returned"][turn.row] = receives["probed"][turn.row] = NONE
    fetches, given = _fetched(weighted, recorded, tasks, len(m))
    next_turns, ended_turns = _chained(weighted, tasks, turn, len(m) + len(fetches))
    receives = np.concatenate([receives, fetches, next_turns])
    in_turn = np.argsort(receives["posted"], kind="stable")
    of = np.append(m, np.full(len(receives) - len(m), NONE))
    row = np.full(count + 1, NONE)
    row[of[in_turn]] = np.arange(len(in_turn))
    row[NONE] = NONE
    receives["follows"][: len(m)] = row[_followed(weighted, tasks, choices, m)]

    pieces, desks, slots = desks_of(weighted, tasks.queues, len(receives))
    messages = _sent(weighted, recorded, choices, tasks, m, row, (held[m], found[m]))
    messages["answers"] = np.where(slots[m] >= 0, slots[m], messages["answers"])
    messages["goes_on"][turn.row], messages["own"][turn.row] = turn.begins, weight[graph.start[turn.begins]]
    along = edge[m]
    along[turn.row] = turn.comes
    along = np.concatenate([along, np.full(len(given), NONE), turn.behind[turn.chained]])
    messages = np.concatenate([messages, given, ended_turns])
    messages["arrives"] = np.where(along >= 0, into[along], messages["arrives"])
    sent = np.argsort(messages["send"], kind="stable")
    stops = stops_of(weighted, tasks.queues, of[sent])

    told = m[turn.found]  # a probe tells of them, and the receive behind it stays
    comes = (np.setdiff1d(edge[m], edge[told]), held[m][held[m] >= 0], found[m][found[m] >= 0])
    begins = graph.returned[np.append(table.receive_done[m[of_tasks[m]]], tasks.counters.fetch)], turn.begins, pieces["first"]
    fixed = _fixed(weighted, tasks, turn, (*comes, turn.behind, *(graph.start[vertices] for vertices in begins)))
    choosing, choice, order = _choosing(weighted, m[choices.chosen[m]], turns)
    by_entry = np.argsort(choice["entered"], kind="stable")

    block, computes = _blocks(graph, tasks, others[0])
    programs = Programs(
        graph=graph,
        weight=fixed,
        messages=messages[sent],
        receives=receives[in_turn],
        choices=choice[by_entry],
        turns=row[order].astype("i4"),
        places=_places(weighted, tasks, others[1]),
        pieces=pieces,
        desks=desks,
        stops=stops,
        block=block,
        home=tasks.home.astype("i4"),
        computes=computes,
    )
    stays = np.isin(np.arange(count), told)
    return Open(programs, of[sent], of[in_turn], choosing[by_entry], along[sent], edge, held, found, of_tasks, stays)


def _ahead(weighted: Weighted, choices: Choices, turns: Turns, held: I8) -> Mask:
    """Return which messages a receive for anybody takes that was posted in the turn of another: it counts as posted where it is waited for.

    Not those that hold their sender until it is posted: `held` is that edge per message, or NONE.
    """
    location = weighted.trace.calls.location[weighted.trace.messages.receive]
    return choices.chosen & choices.wild & (held == NONE) & np.isin(location, turns.serving)


class _Turns(NamedTuple):
    """Turns that go with what is heard; vertices and edges are those of the graph."""

    row: I8
    """Per turn, the row of the message that is heard among those that are matched anew."""
    found: I8
    """Rows of those that a probe hears."""
    location: I8
    asks: I4
    """Vertex where the call is entered that hears it."""
    begins: I4
    """Vertex where that returns."""
    ends: I4
    """Vertex where the last call of the turn returns."""
    behind: I8
    """Edge from there to what is entered behind the turn."""
    comes: I8
    """Edge over which the message gets to where the turn begins."""
    chained: I8
    """Turns behind which the next one is due, rows of these; behind others what a queue says."""


def _turns(weighted: Weighted, turns: Turns, m: I8, comes: I8) -> _Turns:
    """Return the turns that go with one of the messages m, given the edge per message over which it is heard."""
    graph, calls, first = weighted.graph, weighted.trace.calls, weighted.trace.first_calls
    kept = np.isin(turns.request, m)
    request, hears, last, location = (column[kept] for column in (turns.request, turns.hears, turns.last, turns.location))
    row = np.searchsorted(m, request)
    behind = vertex_behind(graph, first, last, location)
    probes = operations.KIND[calls.op[hears]] == operations.PROBE
    return _Turns(
        row=row,
        found=row[probes],
        location=location,
        asks=graph.entered[hears],
        begins=graph.returned[hears],
        ends=graph.returned[last],
        behind=graph.start[behind].astype("i8"),
        comes=comes[request],
        chained=np.flatnonzero(~turns.queued[kept]),
    )


def _posted(weighted: Weighted, recorded: I8, choices: Choices, tasks: Tasks, m: I8, of: tuple[I4, I8]) -> np.ndarray[Any, Any]:
    """Return the rows of RECEIVE of some messages; `of` are the vertex where each of all is posted, and the edge it is completed over."""
    trace, graph, table = weighted.trace, weighted.graph, weighted.trace.messages
    posted, edge = of
    of_tasks = _numbered(tasks, len(table))[0]
    receives = rows_of(RECEIVE, len(m))
    receives["posted"], receives["location"] = posted[m], trace.calls.location[table.receive[m]]
    receives["block"] = np.where(of_tasks[m], tasks.goes_on[table.receive_done[m]], NONE)
    receives["source"], receives["comm"] = choices.source[m], table.comm[m]
    receives["tag"] = np.where(of_tasks[m], ANY, choices.tag[m])
    receives["chosen"] = choices.chosen[m]
    receives["returned"] = np.where(of_tasks[m] | choices.chosen[m], NONE, graph.returned[table.receive_done[m]])
    receives["rank"][np.lexsort((table.receive[m], table.receive_done[m]))] = np.arange(len(m))
    receives["later"] = _completed_later(weighted, recorded, choices, m, weighted.weight[edge[m]])
    return receives


def _chained(weighted: Weighted, tasks: Tasks, turn: _Turns, rank: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return what lets who takes turns go on with the next one when one is over, whichever that is: rows of RECEIVE and MESSAGE.

    Where it hears somebody it waits, too, for the end of that turn, which comes like a message: through a counter of its own.
    """
    of = turn.chained
    receives, messages = rows_of(RECEIVE, len(of)), rows_of(MESSAGE, len(of))
    counter = len(weighted.trace.locations) + int(tasks.counters.round.max(initial=-1)) + 1 + turn.location[of]
    receives["posted"], receives["location"] = turn.asks[of], turn.location[of]
    receives["returned"] = weighted.graph.targets(turn.behind[of])
    receives["source"], receives["tag"] = ANY, ANY
    receives["counter"] = messages["target"] = counter
    receives["rank"] = messages["rank"] = rank + np.arange(len(of))
    messages["send"], messages["source"] = turn.ends[of], turn.location[of]
    return receives, messages


def _sent(weighted: Weighted, recorded: I8, choices: Choices, tasks: Tasks, m: I8, row: I8, of: tuple[I8, I8]) -> np.ndarray[Any, Any]:
    """Return the rows of MESSAGE of some messages, but for when they arrive.

    `row` is the recorded receive of each of all messages, NONE last; `of` are the edges of these to their senders, and to probes, or NONE.
    """
    into, (held, found) = np.append(weighted.weight, 0), of
    trace, graph, table = weighted.trace, weighted.graph, weighted.trace.messages
    location, receive, done = trace.calls.location, table.receive[m], table.receive_done[m]
    _, task, answers = _numbered(tasks, len(table))
    messages = rows_of(MESSAGE, len(m))
    messages["send"], messages["source"], messages["target"] = graph.entered[table.send[m]], location[table.send[m]], location[receive]
    messages["answers"], messages["block"] = row[answers[m]], tasks.goes_on[table.send[m]]
    messages["begins"] = task[m]
    messages["goes_on"] = np.where(task[m] >= 0, graph.returned[done], NONE)
    for number, farm in enumerate(tasks.farms):
        messages["ends"][np.isin(m, farm.answer[-len(farm.workers) :])] = number * len(trace.locations)
    messages["tag"], messages["comm"] = table.tag[m], table.comm[m]
    messages["rank"][np.lexsort((m, receive))] = np.arange(len(m))
    messages["own"] = weighted.weight[graph.start[graph.returned[done]]]
    messages["held"] = np.where(held >= 0, graph.targets(held), NONE)
    messages["later"] = _later(weighted, recorded, choices, m)
    messages["found"], messages["holds"] = into[found], into[held]
    return messages


def _numbered(tasks: Tasks, count: int) -> tuple[Mask, I8, I8]:
    """Return per message whether it is an answer, the task that it brings, and the request that it answers, or NONE."""
    of_tasks, (task, answers) = np.zeros(count, bool), np.full((2, count), NONE)
    of_tasks[tasks.answer] = of_tasks[tasks.last] = True
    task[tasks.answer] = np.arange(len(tasks.answer))
    for farm in tasks.farms:
        answers[farm.answer] = farm.to
    return of_tasks, task, answers


def _held_and_found(weighted: Weighted, choices: Choices, posted: I4) -> tuple[I8, I8]:
    """Return per message the edge from where it is received to its sender, and that to the probe that finds it, or NONE."""
    graph, weight, count = weighted.graph, weighted.weight, len(weighted.trace.messages)
    own = (graph.kind == RENDEZVOUS) & (weight != CUT)
    own[own] = graph.source[own] == posted[graph.cause[own]]
    held, found = _edges(graph, count, own), _edges(graph, count, graph.kind == PROBE)
    found[choices.probe < 0] = NONE
    return held, found


def _fixed(weighted: Weighted, tasks: Tasks, turn: _Turns, anew: tuple[Ints, ...]) -> I8:
    """Return the weights without those of edges that are decided anew, and without gaps between sends of workers, and of other turns."""
    trace, graph, weight = weighted.trace, weighted.graph, weighted.weight
    location = trace.calls.location
    fixed = weight.copy()
    for edges in anew:
        fixed[edges] = CUT
    changing = np.concatenate([turn.location, *(farm.workers for farm in tasks.farms)])
    gap = np.flatnonzero(graph.kind == GAP)
    fixed[gap[np.isin(location[graph.cause[gap]], changing)]] = CUT
    return fixed


def _places(weighted: Weighted, tasks: Tasks, slowness: F8) -> np.ndarray[Any, Any]:
    """Return the rows of PLACE: those of farms, then those of counters; without any, one per location."""
    trace, graph, weight = weighted.trace, weighted.graph, weighted.weight
    table, location, fetched = trace.messages, trace.calls.location, tasks.counters
    farms, size = len(tasks.farms), len(trace.locations)
    count = farms + int(fetched.round.max(initial=-1)) + 1
    places = rows_of(PLACE, max(count, 1) * size)
    places["slowness"] = np.tile(slowness, max(count, 1))
    lasts = [table.receive_done[farm.answer[-len(farm.workers) :]].astype("i8") for farm in tasks.farms]
    last = np.concatenate([*lasts, fetched.fetch[fetched.ends]])
    of = np.repeat(np.arange(farms), [len(rows) for rows in lasts])
    place = np.append(of, farms + fetched.round[fetched.ends]) * size + location[last]
    places["end"][place] = graph.returned[last]
    places["own"][place] = weight[graph.start[graph.returned[last]]]
    return places


def _fetched(weighted: Weighted, recorded: I8, tasks: Tasks, rank: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return fetches from counters as rows of RECEIVE, their ranks from `rank` on, and what they get as rows of MESSAGE, row by row."""
    trace, graph, fetched = weighted.trace, weighted.graph, tasks.counters
    location, farms, size = trace.calls.location[fetched.fetch], len(tasks.farms), len(trace.locations)
    receives, messages = rows_of(RECEIVE, len(fetched.fetch)), rows_of(MESSAGE, len(fetched.fetch))
    receives["posted"], receives["location"] = graph.entered[fetched.fetch], location
    receives["block"], receives["source"], receives["tag"] = tasks.goes_on[fetched.fetch], ANY, ANY
    receives["counter"] = messages["target"] = size + fetched.round
    receives["rank"] = messages["rank"] = rank + np.arange(len(location))
    receives["later"] = fetched.later(recorded[graph.entered[fetched.fetch]])
    returned = graph.returned[fetched.fetch]
    messages["source"], messages["begins"] = location, tasks.begins[fetched.fetch]
    messages["begins"][fetched.ends] = NONE
    messages["goes_on"] = np.where(fetched.ends, NONE, returned)
    messages["ends"] = np.where(fetched.ends, (farms + fetched.round) * size, NONE)
    messages["own"] = weighted.weight[graph.start[returned]]
    return receives, messages


def _followed(weighted: Weighted, tasks: Tasks, choices: Choices, m: I8) -> I8:
    """Return the message in whose turn a master heard the worker that it posts a receive for again, or NONE; of messages that are chosen.

    worker of the receives, as posted   1 2 3 2 1    completed (time)   4 1 5 6 7
    the 4th is posted once the 2nd came, the 5th once the 1st did: they follow these
    """
    table = weighted.trace.messages
    out = np.full(len(m), NONE)
    for farm in tasks.farms:
        of = np.flatnonzero(np.isin(m, farm.request) & choices.chosen[m] & (choices.source[m] != ANY))
        of = of[np.lexsort((table.receive[m[of]], choices.source[m[of]]))]
        before, behind = m[of[:-1]], m[of[1:]]
        follows = (choices.source[before] == choices.source[behind]) & (table.receive_done[before] < table.receive[behind])
        out[of[1:][follows]] = before[follows]
    return out


def _choosing(weighted: Weighted, chosen: I8, turns: Turns) -> tuple[I4, np.ndarray[Any, Any], I8]:
    """Return the calls that choose among these messages, the rows of CHOICE, and the messages in the order of their turns.

    Where they hear somebody whose turn it is then they return as that turn says.
    """
    graph, table, location = weighted.graph, weighted.trace.messages, weighted.trace.calls.location
    choosing, needs = np.unique(table.receive_done[chosen], return_counts=True)
    choice = rows_of(CHOICE, len(choosing))
    choice["entered"] = graph.entered[choosing]
    choice["returned"] = np.where(np.isin(choosing, turns.hears), NONE, graph.returned[choosing])
    choice["location"], choice["needs"] = location[choosing], needs
    choice["turn"] = np.cumsum(needs) - needs
    return choosing, choice, chosen[np.lexsort((table.receive[chosen], table.receive_done[chosen]))]


def _completed_later(weighted: Weighted, recorded: I8, choices: Choices, m: I8, arrives: I8) -> I8:
    """Return how long after its message is there each receive that is chosen can complete, as recorded."""
    table, graph = weighted.trace.messages, weighted.graph
    chosen = np.flatnonzero(choices.chosen[m])
    chosen = chosen[np.lexsort((table.receive[m[chosen]], table.receive_done[m[chosen]]))]
    there = np.maximum(recorded[graph.entered[table.send[m[chosen]]]] + arrives[chosen], recorded[graph.entered[table.receive[m[chosen]]]])
    out = np.zeros(len(m), "i8")
    out[chosen] = latest(there, weighted.trace.calls.location[table.receive[m[chosen]]].astype("i8")) - there
    return out


def _blocks(graph: Graph, tasks: Tasks, computes_there: I8) -> tuple[I4, I8]:
    """Return per vertex its block, and its computation on a location of slowness 1."""
    block, computes = np.full(graph.vertices, NONE, "i4"), np.full(graph.vertices, NONE)
    block[graph.entered], block[graph.returned] = tasks.goes_on, tasks.begins
    entered = graph.entered[tasks.goes_on >= 0]
    computes[entered] = computes_there[graph.start[entered]]
    return block, computes


def _edges(graph: Graph, messages: int, which: Mask) -> I8:
    """Return per message the edge of some edges that it causes, or NONE."""
    out = np.full(messages, NONE)
    edge = np.flatnonzero(which)
    out[graph.cause[edge]] = edge
    return out


def _later(weighted: Weighted, recorded: I8, choices: Choices, m: I8) -> I8:
    """Return how long after it is sent each message can be taken, so that the recorded times give the recorded order, ns.

    Where a wildcard took a message that was sent later than one that another took behind it, the earlier one came later.

        sent, in the order they were taken   10 30 20 40   ->   later 0 0 10 0
    """
    trace, graph = weighted.trace, weighted.graph
    table, location = trace.messages, trace.calls.location
    sent = recorded[graph.entered[table.send[m]]]
    tag = np.where(np.isin(location[table.receive[m]], location[table.receive[m[choices.tag[m] == ANY]]]), 0, table.tag[m])
    order = np.lexsort((table.receive[m], tag, table.comm[m], location[table.receive[m]]))
    keys = np.stack([column[order] for column in (location[table.receive[m]], table.comm[m], tag)])
    fresh = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)]
    of_wild = np.where(choices.wild[m[order]], sent[order], 0)
    span = int(sent.max(initial=0)) + 1
    group = np.cumsum(fresh) - 1
    latest = np.maximum.accumulate(of_wild + group * span) - group * span
    out = np.empty(len(m), "i8")
    out[order] = np.maximum(latest - sent[order], 0)
    return out


def rewired(weighted: Weighted, found: Open, matched: Matched) -> Weighted:
    """Return the weighted graph of the run that programs became: a sweep gives back its times. All rows stay."""
    graph, programs = weighted.graph, found.programs
    source, weight, cause = graph.source.copy(), weighted.weight.copy(), graph.cause.copy()
    weight[(graph.kind == GAP) & (programs.weight == CUT)] = CUT
    receive, rows = programs.receives, programs.messages[matched.taken]
    carried = (rows["goes_on"] >= 0) | (rows["ends"] >= 0)
    ends = programs.places["end"][np.maximum(rows["ends"], 0) + _taker(receive, matched.seat)]
    goes_on = np.where(rows["goes_on"] >= 0, rows["goes_on"], ends)
    asks = np.append(programs.choices["entered"], NONE)[matched.completed]
    source[graph.start[goes_on[carried]]] = np.where(asks >= 0, asks, receive["posted"])[carried]
    over = (receive["counter"] >= 0) & (rows["send"] >= 0)
    behind = graph.start[receive["returned"][over]]
    source[behind], weight[behind] = rows["send"][over], rows["arrives"][over]
    at = graph.start[programs.pieces["first"]]
    source[at] = matched.behind
    real = np.flatnonzero(found.received >= 0)
    slot = _slots(weighted, found, matched, real)
    receive, rows, message = receive[real], rows[real], found.message[matched.taken[real]]
    source[slot], weight[slot], cause[slot] = rows["send"], rows["arrives"], message
    holds = rows["held"] >= 0
    source[found.held[message[holds]]] = receive["posted"][holds]
    probed = receive["probed"] >= 0
    edge = found.found[found.received[real[probed]]]
    source[edge], weight[edge], cause[edge] = rows["send"][probed], rows["found"][probed], message[probed]
    block = programs.block[graph.target]
    moved = np.flatnonzero((graph.kind == LOCAL) & (block >= 0) & (programs.computes[graph.target] >= 0))
    moved = moved[matched.seat[block[moved]] != programs.home[block[moved]]]
    slowness = programs.places["slowness"][matched.seat[block[moved]]]
    weight[moved] = (programs.computes[graph.targets(moved)] * slowness + 0.5).astype("i8")
    enter, leave = _boundaries(weighted, np.append(moved, behind), weight)
    made = dataclasses.replace(graph, source=source, cause=cause)
    return _in_order(dataclasses.replace(weighted, weight=weight, graph=made, region_enter=enter, region_leave=leave), matched.order)


def _boundaries(weighted: Weighted, moved: I8, weight: I8) -> tuple[I8, I8]:
    """Return the distances of region boundaries from the vertices before them, where computation of moved edges has other weights."""
    graph, table, ends = weighted.graph, weighted.trace.regions, weighted.trace.first_calls[1:]
    factor = np.ones(graph.edges)
    factor[moved] = weight[moved] / np.maximum(weighted.weight[moved], 1)
    entered, out = np.append(graph.entered, 0), []
    for distance, call in ((weighted.region_enter, table.first_call), (weighted.region_leave, table.end_call)):
        behind = np.where(call < ends[table.location], entered[call], graph.ended[table.location])
        out.append(np.where(distance >= 0, np.rint(distance * factor[graph.start[behind]]), distance).astype("i8"))
    return out[0], out[1]


def _slots(weighted: Weighted, found: Open, matched: Matched, real: I8) -> I8:
    """Return the edge over which what each receive takes comes: its own, that of the task, or one of the call that chooses it.

    `real` are the receives that take a message, rows.
    """
    graph, table, programs = weighted.graph, weighted.trace.messages, found.programs
    received, taken, receive = found.received[real], matched.taken[real], programs.receives[real]
    out, message = found.edge[received], found.message[taken]
    goes_on = programs.messages["goes_on"][taken] >= 0
    carried = goes_on | found.carries[message]
    out[carried] = found.along[taken[carried]]
    last = np.full(graph.vertices, NONE)
    own = found.message[(programs.messages["ends"] >= 0) & (found.message >= 0)]
    last[graph.returned[table.receive_done[own]]] = found.edge[own]
    ends = programs.messages["ends"][taken] >= 0
    out[ends] = last[programs.places["end"][programs.messages["ends"][taken[ends]] + _taker(receive[ends], matched.seat)]]
    chosen = np.flatnonzero((matched.completed[real] >= 0) & ~goes_on)
    before = table.receive_done[received[chosen]]
    now = found.choosing[matched.completed[real[chosen]]]
    out[chosen[np.argsort(now, kind="stable")]] = out[chosen[np.argsort(before, kind="stable")]]
    return out


def _taker(receive: np.ndarray[Any, Any], seat: I4) -> I8:
    """Return the location that posted each of some rows of RECEIVE."""
    return np.where(receive["block"] >= 0, np.append(seat, NONE)[receive["block"]], receive["location"]).astype("i8")


def _in_order(weighted: Weighted, order: I4) -> Weighted:
    """Return a weighted graph with its vertices in another order, the edges into each in theirs."""
    graph = weighted.graph
    count = np.diff(graph.start)[order]
    start = np.concatenate([[0], np.cumsum(count)]).astype("i4")
    edge = np.repeat(graph.start[order] - start[:-1], count) + np.arange(graph.edges)
    position = np.empty(graph.vertices, "i4")
    position[order] = np.arange(graph.vertices, dtype="i4")
    vertices = {name: position[getattr(graph, name)] for name in ("entered", "returned", "begun", "ended")}
    made = dataclasses.replace(
        graph, start=start, source=position[graph.source[edge]], kind=graph.kind[edge], cause=graph.cause[edge], **vertices
    )
    return dataclasses.replace(weighted, graph=made, weight=weighted.weight[edge])
