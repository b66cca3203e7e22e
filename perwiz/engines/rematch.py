"""The engine for programs instead of fixed orders: receives take what comes first, and a task goes to whoever asks next.

`simulate` (simpy) is the definition, `rematch` the compiled engine; both return the same, to the nanosecond.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.graph.layout import counts, starts
from perwiz.kernels import order as grouping
from perwiz.kernels import rematch as kernel
from perwiz.kernels.names import COMES, READY, SERVED, VERTEX
from perwiz.loggps.weigh import CUT
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.tables import ANY, NONE

MESSAGE, RECEIVE, CHOICE, PLACE = kernel.MESSAGE, kernel.RECEIVE, kernel.CHOICE, kernel.PLACE
PIECE, DESK, STOP = kernel.PIECE, kernel.DESK, kernel.STOP


@dataclasses.dataclass(frozen=True, eq=False)
class Programs:
    """The programs of all locations: a weighted graph, and what is decided anew in place of some of its edges. Times are int64 ns.

    A message that can be taken goes to the first posted receive that fits, a receive takes the first message that fits and can be taken;
    so messages of one sender do not overtake (MPI 3.1, 3.5). A task is a block of vertices that goes on where its message is received.
    """

    graph: Graph
    weight: I8
    """Per edge; those that are decided anew have CUT."""
    messages: np.ndarray[Any, Any]
    """Rows of MESSAGE, sorted by `send`, the vertex where they are sent from the location `source` (or that which runs `block`) to the
    location `target`, or to the sender of what came in the turn of the receive `answers`, or, behind all of these, is in that slot of a
    desk. They can be taken `later` ns after; what completes their receive returns `arrives` after they are sent and a probe that finds
    them `found`; the vertex `held` is not before they are received, and `holds` after that is posted. With one that carries a task the
    receiver goes on at the vertex `goes_on` with block `begins`, or, where its turn goes with it, with none, `own` after the receive was
    posted or the call entered that chooses; with one that `ends` its tasks, at the `end` of row `ends` + location of places. `rank` is
    their turn in the recorded run. NONE is none. One sent NONE is there from the start: what a counter gives."""
    receives: np.ndarray[Any, Any]
    """Rows of RECEIVE, sorted by `posted`, the vertex where they are posted by a location, or that which runs `block`: for the location
    `source`, `tag` and `comm`, each perhaps ANY. One that `follows` another is for whoever sent what came in its turn.
    The vertex `returned` is not before they are complete (NONE: one that is chosen, or that the message tells), `probed` not before what
    they take is found. `rank` is their turn to be completed in the recorded run; one that is `chosen` (1), by a call that completes some of
    several, can complete `later` than its message. A fetch takes what is at its `counter`, a number behind those of locations, so long
    after it is posted; so does what waits for the end of a turn."""
    choices: np.ndarray[Any, Any]
    """Rows of CHOICE, sorted by `entered`: calls that complete `needs` of the receives that can be completed, the first ones, and then
    return at `returned`, or NONE, where what they complete tells where. They come in the turns of the receives
    `turns[turn:turn + needs]`, which they completed in the recorded run."""
    turns: I4
    places: np.ndarray[Any, Any]
    """Rows of PLACE, per farm and location: the vertex where it goes on when there is no more to do (NONE: no such), `own` after it asked,
    and by what computation of tasks that others ran is multiplied here."""
    pieces: np.ndarray[Any, Any]
    """Rows of PIECE: what masters do that keep tasks and processes waiting, desk by desk: the pieces that hear, those that answer, and what
    comes behind. Each begins at the vertex `first`, `own` after the end of the one before. One that answers is next if `ready` processes
    have asked, `made` tasks are there, and `heard` messages were; else the next one that hears."""
    desks: np.ndarray[Any, Any]
    """Rows of DESK: the first piece that hears, `ask`, one behind the last, `asks`, the first that answers, `answer`, and what comes behind
    all, `rest`; the first `slot`, where those are kept who ask, and how many tasks are there from the start, `made`."""
    stops: np.ndarray[Any, Any]
    """Rows of STOP, sorted by `vertex`, where a piece of a `desk` ends. One that heard a `message` brings so many tasks as it `makes`, and
    `asks` for one (1)."""
    block: I4
    """Block per vertex, or NONE."""
    home: I4
    """Location per block that ran it."""
    computes: I8
    """Per vertex: computation of its block before it, ns on a location of slowness 1, or NONE."""


@dataclasses.dataclass(frozen=True, eq=False)
class Matched:
    """What became of programs."""

    time: I8
    """Per vertex, by position."""
    order: I4
    """The vertices that happened, in their order: fewer than all if some wait for each other."""
    taken: I4
    """Row of messages per receive, or NONE."""
    completed: I4
    """Row of choices per receive that one completes, else NONE."""
    seat: I4
    """Location per block."""
    behind: I4
    """Vertex per row of pieces behind which it comes, or NONE."""


def rematch(programs: Programs) -> Matched:
    """Return what becomes of programs, compiled."""
    graph, messages, receives, choices = programs.graph, programs.messages, programs.receives, programs.choices
    size, queues = graph.vertices, max(len(graph.begun), int(receives["counter"].max(initial=NONE)) + 1)
    binds = np.flatnonzero(programs.weight != CUT)
    source, target = graph.source[binds], graph.targets(binds).astype("i4")
    first = starts(counts(source, size))
    edge = np.empty(len(binds), "i4")
    grouping.group(source, first[:-1].copy(), edge)
    time, seat = np.zeros(size, "i8"), programs.home.copy()
    taken, completed = np.full((2, len(receives)), NONE, "i4")
    got = np.full(len(receives) + int(programs.stops["asks"].sum()), NONE, "i4")
    pieces, desks = programs.pieces.copy(), programs.desks.copy()
    order = np.empty(size, "i4")
    lacking = choices["needs"].copy()
    came, (posted, ready) = np.full(len(messages), NONE, "i4"), np.full((2, len(receives)), NONE, "i4")
    heap = np.zeros(size + len(messages) + len(receives), kernel.INSTANT)
    matcher = kernel.Matcher(
        (first, edge, target, programs.block, programs.home),
        np.ascontiguousarray(programs.weight[binds]),
        programs.computes,
        messages.view(np.recarray),
        receives.view(np.recarray),
        choices.view(np.recarray),
        programs.places.view(np.recarray),
        pieces.view(np.recarray),
        desks.view(np.recarray),
        programs.stops.view(np.recarray),
        programs.turns,
        seat,
        _awaited(programs, target),
        time,
        heap.view(np.recarray),
        (taken, completed, order),
        (came, posted, ready, lacking, got),
        tuple(np.full((7, queues), NONE, "i4")),
    )
    there = (messages["send"], receives["posted"], choices["entered"], programs.stops["vertex"])
    happened = matcher.run(*(_first_at(rows, size) for rows in there))
    return Matched(time, order[:happened], taken, completed, seat, pieces["behind"].copy())


def _awaited(programs: Programs, target: I4) -> I4:
    """Return for how many things each vertex waits: edges, and what is decided anew."""
    out = counts(target, programs.graph.vertices)
    messages, receives = programs.messages, programs.receives
    ends = programs.places["end"], programs.pieces["first"]
    for vertex in (messages["held"], messages["goes_on"], receives["returned"], receives["probed"], *ends):
        np.add.at(out, vertex[vertex != NONE], 1)
    own = programs.choices["returned"] != NONE
    np.add.at(out, programs.choices["returned"][own], programs.choices["needs"][own])
    return out


def _first_at(vertex: Ints, size: int) -> I4:
    """Return per vertex the first of some rows that are there, or NONE; vertices ascend."""
    out = np.full(size, NONE, "i4")
    rows = np.flatnonzero(vertex != NONE)[::-1]
    out[vertex[rows]] = rows
    return out


def simulate(programs: Programs) -> Matched:
    """Return what becomes of programs, as a simulation spells it out; the same as `rematch`."""
    import simpy

    env = simpy.Environment()
    return _Simulation(programs, env).run()


class _Simulation:
    """Messages that came, receives that wait, and who goes on where."""

    def __init__(self, programs: Programs, env: Any) -> None:
        self.programs, self.env = programs, env
        self.messages, self.receives, self.choices = programs.messages, programs.receives, programs.choices
        graph = programs.graph
        binds = programs.weight != CUT
        self.waiting = _awaited(programs, graph.target[binds]).tolist()
        self.time = [0] * graph.vertices
        self.order: list[int] = []
        self.edges: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)
        for edge in np.flatnonzero(binds).tolist():
            self.edges[int(graph.source[edge])].append((int(graph.targets(np.array([edge]))[0]), int(programs.weight[edge])))
        self.seat = programs.home.tolist()
        self.taken, self.completed = ([NONE] * len(self.receives) for _ in range(2))
        self.got = [NONE] * (len(self.receives) + int(programs.stops["asks"].sum()))
        self.pieces, self.desks = programs.pieces, programs.desks.copy()
        self.behind = [NONE] * len(self.pieces)
        self.lacking = self.choices["needs"].tolist()
        self.came: dict[int, list[int]] = collections.defaultdict(list)
        self.posted: dict[int, list[int]] = collections.defaultdict(list)
        self.ready: dict[int, list[int]] = collections.defaultdict(list)
        self.choosing: dict[int, int] = {}

    def run(self) -> Matched:
        """Let everything happen."""
        for vertex, waiting in enumerate(self.waiting):
            if not waiting:
                self._at(0, VERTEX, vertex, self._happen, vertex)
        for m in np.flatnonzero(self.messages["send"] == NONE).tolist():
            self.came[int(self.messages["target"][m])].append(m)
        self.env.run()
        return Matched(
            *(np.array(self.time, "i8"), np.array(self.order, "i4")),
            *(np.array(column, "i4") for column in (self.taken, self.completed, self.seat, self.behind)),
        )

    def _at(self, time: int, what: int, rank: int, do: Callable[[int], None], row: int) -> None:
        """Do something at a time, or now if that is past; at the same time vertices come first, then messages, then completions."""
        event = self.env.event()
        event.callbacks.append(lambda _: do(row))
        event._ok, event._value = True, None  # as simpy's own Timeout does
        self.env.schedule(event, priority=(what, rank), delay=max(0, time - self.env.now))

    def _reach(self, vertex: int, time: int) -> None:
        self.time[vertex] = max(self.time[vertex], time)
        self.waiting[vertex] -= 1
        if not self.waiting[vertex]:
            self._at(self.time[vertex], VERTEX, vertex, self._happen, vertex)

    def _happen(self, vertex: int) -> None:
        """A vertex happens: messages are sent, receives posted, requests chosen, and what waits for it goes on."""
        self.order.append(vertex)
        for m in np.flatnonzero(self.messages["send"] == vertex).tolist():
            self._at(self.time[vertex] + int(self.messages["later"][m]), COMES, int(self.messages["rank"][m]), self._come, m)
        for r in np.flatnonzero(self.receives["posted"] == vertex).tolist():
            if self.receives["counter"][r] == NONE:
                self._post(r)
            else:
                self._at(self.time[vertex] + int(self.receives["later"][r]), SERVED, int(self.receives["rank"][r]), self._post, r)
        for c in np.flatnonzero(self.choices["entered"] == vertex).tolist():
            self.choosing[int(self.choices["location"][c])] = c
            self._choose(int(self.choices["location"][c]))
        for stop in self.programs.stops[self.programs.stops["vertex"] == vertex]:
            self._go_on(stop, self.desks[stop["desk"]])
        for into, weight in self.edges[vertex]:
            block, computes = int(self.programs.block[into]), int(self.programs.computes[into])
            if block != NONE and computes >= 0 and self.seat[block] != self.programs.home[block]:
                weight = int(computes * float(self.programs.places["slowness"][self.seat[block]]) + 0.5)
            self._reach(into, self.time[vertex] + weight)

    def _sender(self, m: int) -> int:
        block = int(self.messages["block"][m])
        return int(self.messages["source"][m]) if block == NONE else self.seat[block]

    def _receiver(self, r: int) -> int:
        block = int(self.receives["block"][r])
        return int(self.receives["location"][r]) if block == NONE else self.seat[block]

    def _fits(self, r: int, m: int) -> bool:
        receive, message = self.receives[r], self.messages[m]
        source = receive["source"] if receive["follows"] == NONE else self._sender(self.got[receive["follows"]])
        asked = (source in (ANY, self._sender(m)), receive["tag"] in (ANY, message["tag"]), receive["comm"] == message["comm"])
        return all(asked)

    def _come(self, m: int) -> None:
        answers = int(self.messages["answers"][m])
        location = int(self.messages["target"][m]) if answers == NONE else self._sender(self.got[answers])
        found = next((r for r in self.posted[location] if self._fits(r, m)), None)
        if found is None:
            self.came[location].append(m)
        else:
            self.posted[location].remove(found)
            self._take(found, m)

    def _post(self, r: int) -> None:
        counter = int(self.receives["counter"][r])
        location = self._receiver(r) if counter == NONE else counter
        found = next((m for m in self.came[location] if self._fits(r, m)), None)
        if found is None:
            self.posted[location].append(r)
        else:
            self.came[location].remove(found)
            self._take(r, found)

    def _take(self, r: int, m: int) -> None:
        """A receive takes a message: its sender goes on, and the receiver, with the task that it carries."""
        message, receive, location = self.messages[m], self.receives[r], self._receiver(r)
        sent, posted = 0 if message["send"] == NONE else self.time[message["send"]], self.time[receive["posted"]]
        arrives = sent + int(message["arrives"])
        self.taken[r] = m
        if message["held"] != NONE:
            self._reach(int(message["held"]), posted + int(message["holds"]))
        if receive["probed"] != NONE:
            self._reach(int(receive["probed"]), sent + int(message["found"]))
        if receive["chosen"] > 0:
            self._at(arrives + int(receive["later"]), READY, int(receive["rank"]), self._can_complete, r)
            return
        self.got[r] = m
        if message["ends"] != NONE:
            place = self.programs.places[message["ends"] + location]
            self._reach(int(place["end"]), max(arrives, posted + int(place["own"])))
        elif message["goes_on"] != NONE:
            if message["begins"] != NONE:
                self.seat[message["begins"]] = location
            self._reach(int(message["goes_on"]), max(arrives, posted + int(message["own"])))
        else:
            self._reach(int(receive["returned"]), arrives)

    def _can_complete(self, r: int) -> None:
        location = int(self.receives["location"][r])
        self.ready[location].append(r)
        self._choose(location)

    def _choose(self, location: int) -> None:
        """A call that chooses completes what can be completed, the first ones."""
        c = self.choosing.get(location)
        while c is not None and self.lacking[c] and self.ready[location]:
            r = self.ready[location].pop(0)
            self.completed[r] = c
            self.got[self.programs.turns[self.choices["turn"][c] + self.choices["needs"][c] - self.lacking[c]]] = self.taken[r]
            self.lacking[c] -= 1
            message = self.messages[self.taken[r]]
            arrives = self.time[message["send"]] + int(message["arrives"])
            if message["goes_on"] == NONE:
                self._reach(int(self.choices["returned"][c]), arrives)
            else:
                self._reach(int(message["goes_on"]), max(arrives, self.time[self.choices["entered"][c]] + int(message["own"])))
        if c is not None and not self.lacking[c]:
            del self.choosing[location]

    def _go_on(self, stop: Any, desk: Any) -> None:
        """A piece of a master's work is done: next it answers, if it has a task and somebody for it, else it hears whoever comes."""
        if stop["message"] != NONE:
            desk["heard"] += 1
            desk["made"] += stop["makes"]
            if stop["asks"]:
                self.got[desk["slot"] + desk["ready"]] = int(stop["message"])
                desk["ready"] += 1
        answer = self.pieces[desk["answer"]]
        left = desk["answer"] < desk["rest"]
        if left and all(desk[name] >= answer[name] for name in ("ready", "made", "heard")):
            next_, desk["answer"] = int(desk["answer"]), desk["answer"] + 1
        elif desk["ask"] < desk["asks"]:
            next_, desk["ask"] = int(desk["ask"]), desk["ask"] + 1
        elif left:
            return
        else:
            next_ = int(desk["rest"])
        vertex = int(stop["vertex"])
        self.behind[next_] = vertex
        self._reach(int(self.pieces["first"][next_]), self.time[vertex] + int(self.pieces["own"][next_]))
