"""Traces made in memory: a builder, a catalogue of awkward traces, and strategies for random traces and graphs.

    b = Builder(2)
    b.compute(0, 500)
    b.send(0, 1, 100)
    b.recv(1, 0)
    trace = b.trace()

A call that is not given `at=(enter, leave)` gets its times from a small simulation: it returns `work` ns after the last thing it
needs. Matching is done here a second time, with dictionaries, so that the builder is a witness of its own.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses

import numpy as np
import pytest
from hypothesis import strategies as st

from perwiz.formats import files
from perwiz.formats.alog.writing import cells
from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.writing import cells as otf2_cells
from perwiz.formats.otf2.writing.plain import Extras
from perwiz.graph import graph as g
from perwiz.kernels import sets
from perwiz.loggps.keys import LETTERS, OF_PAIRS, PAIRS, SENDS
from perwiz.loggps.model import Costs, Limit, Model
from perwiz.trace import operations, tables
from perwiz.trace.table import dtypes
from perwiz.trace.trace import SHARED, Communicators, Counts, Timeline, Trace

ANY, NONE = tables.ANY, tables.NONE
MODES = {"": tables.STANDARD, "R": tables.READY, "B": tables.BUFFERED, "S": tables.SYNCHRONOUS}


def hand_model(**changes):
    """Return a model of small round numbers: o + L = 12, messages above 100 bytes are synchronous, everything else is free.

    `o` and `O` are those of both ends; `costs` and `limits` are rows beside those of all messages.
    """
    values = {"L": 10, "o": 2, "g": 0, "G": 0, "O": 0, "s": 0, "S": 100, "request_overheads": 1, "acknowledge_overheads": 2}
    values |= {"gap": "none", "progress": "always", "costs": (), "limits": ()} | changes
    o, big_o = values.pop("o"), values.pop("O")
    ends = {"o_s": o, "o_r": o, "O_s": big_o, "O_r": big_o}
    row = {letter: values.pop(letter, ends.get(letter)) for letter in LETTERS.values()}
    values["costs"] = (Costs(**row), *values["costs"])
    values["limits"] = (Limit(values.pop("S")), *values["limits"])
    return Model(name="by hand", source="the test", assumed=(), **values)


def placed(trace, node, metahost=None):
    """Return a trace with its processes on these nodes, by number, and in these metahosts, by default one."""
    metahost = [0] * len(node) if metahost is None else metahost
    node, metahost = np.array(node, "i4"), np.array(metahost, "i4")
    process = trace.locations.process
    locations = dataclasses.replace(trace.locations, node=node[process], metahost=metahost[process])
    return dataclasses.replace(trace, locations=locations, nodes=tuple(f"n{k}" for k in range(node.max(initial=-1) + 1)))


def shared(trace):
    """Return a trace whose processes shared processors."""
    return dataclasses.replace(trace, properties={SHARED: "2 processes shared 1 processor of node a"})


def held_by_chance():
    """Return a trace whose rank 0 ten times computes 500, sends what waits for its receiver, and computes 500 again; then both meet in a
    barrier, from which rank 1 is back late: it posts its next receive 1000 after rank 0 is back.
    """
    b = Builder(2)
    for begin in range(0, 16_000, 1600):
        met = begin + (1036 if begin else 536)
        b.send(0, 1, 200, at=(begin + 500, met))
        b.recv(1, 0, at=(begin + 1000 * bool(begin), met))
        b.barrier(at=[(met + 500, begin + 1600), (met, begin + 1600 + 1000)])
    return b.trace()


_SEEDS = st.integers(0, 2**32 - 1)
"""What numpy draws arrays from: quick, but a failing example of theirs is no small one."""
_KEYS = st.sampled_from(OF_PAIRS)
_CHOICES = st.fixed_dictionaries(
    {
        "gap": st.sampled_from(["none", "sending call"]),
        "progress": st.sampled_from(["always", "in calls"]),
        "request_overheads": st.integers(0, 3),
        "acknowledge_overheads": st.integers(0, 3),
        "assumed": st.lists(st.one_of(_KEYS, st.builds("{}:{}".format, st.sampled_from(PAIRS), _KEYS)), unique=True, max_size=3).map(tuple),
    }
)
_PLACES = st.sets(st.tuples(st.sampled_from(["", *PAIRS]), st.integers(0, 120)), max_size=5).map(lambda places: places | {("", 0)})
_KINDS = st.sets(st.tuples(st.sampled_from(["", *PAIRS]), st.sampled_from(["", *SENDS])), max_size=5).map(lambda kinds: kinds | {("", "")})
_COSTS = st.tuples(*(st.integers(0, 90 if letter == "s" else 900) for letter in LETTERS.values()))
_LIMIT = st.integers(0, 2000)


@st.composite
def models(draw, whole=False):
    """Draw a model with rows of classes and sizes, and with eager limits of classes and kinds of send; costs are small."""
    rows = []
    for pairs, size in sorted(draw(_PLACES)):
        costs = dict(zip(LETTERS.values(), draw(_COSTS), strict=True))
        parts = {letter: cost if letter == "s" else float(cost) if whole else cost / 8 for letter, cost in costs.items()}
        rows.append(Costs(**parts, pairs=pairs, from_bytes=size))
    limits = tuple(Limit(draw(_LIMIT), *kind) for kind in sorted(draw(_KINDS)))
    return Model(name="drawn", source='a "test"', costs=tuple(rows), limits=limits, **draw(_CHOICES))


_ROW = Costs(L=800, o_s=90, o_r=120, g=500, G=0.3, O_s=0.1, O_r=0.2, s=10)
ODD = dataclasses.replace(
    hand_model(gap="sending call", progress="in calls", inline_bytes=20),
    costs=(
        _ROW,
        dataclasses.replace(_ROW, pairs="within-node", L=700),
        dataclasses.replace(_ROW, pairs="within-node", from_bytes=900, g=650),
    ),
    limits=(Limit(50), Limit(1000, sends="nonblocking"), Limit(20, "between-nodes")),
)
"""A model with all its parameters in use, by class of pairs, size and kind of send."""


def table(kind, /, **columns):
    """Return a table from lists."""
    return kind(**{name: np.array(columns[name], dtype) for name, dtype in dtypes(kind).items()})


def equal(one, other):
    """Return whether two arrays, tables, or traces, or what they hold, are equal in type and value."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.tolist() == other.tolist()
    if dataclasses.is_dataclass(one):
        return all(equal(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return one == other


@dataclasses.dataclass(eq=False)
class Half:
    """One end of a message."""

    peer: int
    tag: int
    comm: int
    bytes: int
    mode: int
    call: Call
    done: Call | None


@dataclasses.dataclass(eq=False)
class Call:
    """One MPI call of the program; `enter` and `leave` are None until simulated."""

    rank: int
    routine: str
    columns: dict
    at: tuple[int, int] | None
    work: int
    path: int
    posts: list = dataclasses.field(default_factory=list)
    row: int = -1
    enter: int | None = None
    leave: int | None = None


@dataclasses.dataclass(eq=False)
class Request:
    """What a non-blocking call posts: a Half, or the call itself if that is a collective."""

    posted: Call
    what: Half | Call
    done: Call | None = None


class Builder:
    """Writes a program down call by call, then makes a consistent Trace of it. Ranks are those of the world; behind them come what
    `thread` and `stream` return: further locations of a process."""

    def __init__(self, processes, latency=4000, per_byte=1, eager=65535, work=1500, record=0):
        """`record` is how far inside their calls the records of messages are, ns; several take turns by the row of the sending call."""
        self.places = [(rank, tables.PROCESS) for rank in range(processes)]
        self.links = []
        self.processes, self.latency, self.per_byte, self.eager, self.work = processes, latency, per_byte, eager, work
        self.record = record if isinstance(record, tuple) else (record,)
        self.steps = [[] for _ in range(processes)]
        self.comms = [("world", list(range(processes)))]
        self.sends, self.receives, self.requests = [], [], []
        self.instances = collections.defaultdict(list)
        self.counted = collections.Counter()
        self.collective_done = {}
        self.names, self.paths = [], []
        self.regions = [[] for _ in range(processes)]
        self.open = [[] for _ in range(processes)]
        self.begin, self.end = {}, {}

    # What a rank does.

    def thread(self, process, kind=tables.THREAD):
        """Return the number of a new thread of a process."""
        self.places.append((process, kind))
        for of_locations in (self.steps, self.regions, self.open):
            of_locations.append([])
        return len(self.places) - 1

    def stream(self, process):
        """Return the number of a new stream of a device that a process has."""
        return self.thread(process, tables.STREAM)

    def link(self, kind, cause, effect):
        """Let one call return only after another is entered: `kind` is one of `tables.LINKS`."""
        self.links.append((tables.LINKS.index(kind), cause, effect))

    def team(self, routine, locations, at=None):
        """Threads of a process meet in a barrier; `at` gives (enter, leave) per location. Returns the calls, by location."""
        calls = {location: self.call(location, routine, at=at and at[location]) for location in locations}
        self.instances[NONE, len(self.instances)] = list(calls.values())
        self.collective_done |= {call: call for call in calls.values()}
        return calls

    def compute(self, rank, ns):
        """Let a rank compute."""
        self.steps[rank].append(ns)

    def call(self, rank, routine, at=None, work=None, **columns):
        """Write down a call, without partners."""
        path = self.regions[rank][self.open[rank][-1]]["path"] if self.open[rank] else NONE
        new = Call(rank, routine if routine in operations.OP else f"MPI_{routine}", columns, at, self.work if work is None else work, path)
        self.steps[rank].append(new)
        return new

    def _send(self, call, to, bytes, tag, comm, mode, done):
        if to is None:
            return None
        self.sends.append(Half(to, tag, comm, bytes, MODES[mode], call, done))
        return self.sends[-1]

    def _receive(self, call, source, tag, comm, done):
        if source is None:
            return None
        self.receives.append(Half(source, tag, comm, 0, 0, call, done))
        return self.receives[-1]

    def send(self, rank, to, bytes=8, tag=0, comm=0, mode="", **more):
        """A blocking send; `to` None is MPI_PROC_NULL, `mode` one of "", S, B, R."""
        name = f"{mode}send" if mode else "Send"
        call = self.call(rank, name, peer=NONE if to is None else to, tag=tag, comm=comm, **more)
        self._send(call, to, bytes, tag, comm, mode, call)
        return call

    def recv(self, rank, source, tag=0, comm=0, wildcard=False, **more):
        """A blocking receive of what `source` sends, asked for by name or as a wildcard."""
        peer = ANY if wildcard else NONE if source is None else source
        call = self.call(rank, "Recv", peer=peer, tag=ANY if wildcard else tag, comm=comm, **more)
        self._receive(call, source, tag, comm, call)
        return call

    def sendrecv(self, rank, to, source, bytes=8, tag=0, comm=0, **more):
        """Both at once."""
        call = self.call(rank, "Sendrecv", peer=NONE if to is None else to, tag=tag, comm=comm, **more)
        self._send(call, to, bytes, tag, comm, "", call)
        self._receive(call, source, tag, comm, call)
        return call

    def isend(self, rank, to, bytes=8, tag=0, comm=0, mode="", **more):
        """Post a send; the request goes to `wait`."""
        call = self.call(rank, f"I{mode.lower()}send", peer=to, tag=tag, comm=comm, **more)
        return self._request(call, self._send(call, to, bytes, tag, comm, mode, None))

    def irecv(self, rank, source, tag=0, comm=0, **more):
        """Post a receive; the request goes to `wait`."""
        call = self.call(rank, "Irecv", peer=source, tag=tag, comm=comm, **more)
        return self._request(call, self._receive(call, source, tag, comm, None))

    def _request(self, call, what):
        self.requests.append(Request(call, what))
        call.posts.append(self.requests[-1])
        return self.requests[-1]

    def wait(self, rank, *requests, **more):
        """Wait for one request, or all of several."""
        call = self.call(rank, "Wait" if len(requests) == 1 else "Waitall", **more)
        for request in requests:
            request.done = call
            if isinstance(request.what, Half):
                request.what.done = call
            else:
                self.collective_done[request.what] = call
        return call

    waitall = wait

    def join(self, rank, routine, comm=0, root=None, bytes=0, done=True, at=None, work=None):
        """One rank's part in its next collective of a communicator; returns the request if the routine is non-blocking."""
        columns = {"comm": comm, "root": NONE if root is None else root, "sent": bytes, "received": bytes}
        call = self.call(rank, routine, at=at, work=work, **columns)
        self.instances[comm, self.counted[rank, comm]].append(call)
        self.counted[rank, comm] += 1
        self.collective_done[call] = None if routine[0] == "I" else call
        return self._request(call, call) if routine[0] == "I" else call

    def everyone(self, routine, comm=0, root=None, bytes=0, missing=(), at=None):
        """All ranks of a communicator join; `at` gives (enter, leave) per rank. Returns what each `join` returns, by rank."""
        ranks = [rank for rank in self.comms[comm][1] if rank not in missing]
        return {rank: self.join(rank, routine, comm, root, bytes, at=at and at[rank]) for rank in ranks}

    def barrier(self, **more):
        """A barrier of all ranks."""
        return self.everyone("Barrier", **more)

    def bcast(self, root, **more):
        """A broadcast to all ranks."""
        return self.everyone("Bcast", root=root, **more)

    def reduce(self, root, **more):
        """A reduction of all ranks."""
        return self.everyone("Reduce", root=root, **more)

    def scan(self, **more):
        """A prefix sum over all ranks."""
        return self.everyone("Scan", **more)

    def comm(self, name, ranks):
        """Return the number of a new communicator, its ranks in this order."""
        self.comms.append((name, list(ranks)))
        return len(self.comms) - 1

    def enter(self, rank, name, at=None):
        """Enter a user region."""
        if name not in self.names:
            self.names.append(name)
        number = self.names.index(name)
        parent = self.open[rank][-1] if self.open[rank] else NONE
        path = (self.regions[rank][parent]["path"] if parent >= 0 else NONE, number)
        if path not in self.paths:
            self.paths.append(path)
        instance = 1 + sum(region["name"] == number for region in self.regions[rank])
        self.open[rank].append(len(self.regions[rank]))
        self.regions[rank].append({"name": number, "path": self.paths.index(path), "parent": parent, "instance": instance})
        self.steps[rank].append(("enter", len(self.regions[rank]) - 1, at))

    def leave(self, rank, name, at=None):
        """Leave the user region of this name entered last; what was entered in between may stay open."""
        at_row = next(row for row in reversed(self.open[rank]) if self.names[self.regions[rank][row]["name"]] == name)
        self.open[rank].remove(at_row)
        self.steps[rank].append(("leave", at_row, at))

    @contextlib.contextmanager
    def region(self, rank, name, at=(None, None)):
        """Inside `with`, a rank is in a user region."""
        self.enter(rank, name, at[0])
        yield
        self.leave(rank, name, at[1])

    # From the program to the trace.

    def trace(self, path="built"):
        """Return the trace."""
        for rank in range(len(self.places)):
            for row in reversed(self.open[rank].copy()):
                self.leave(rank, self.names[self.regions[rank][row]["name"]])
        calls = [step for steps in self.steps for step in steps if isinstance(step, Call)]
        for row, call in enumerate(calls):
            call.row = row
        messages = self._match()
        self._simulate(messages)
        return self._tables(path, calls, messages)

    def _match(self):
        waiting = collections.defaultdict(collections.deque)
        for half in sorted(self.sends, key=lambda half: half.call.row):
            waiting[half.call.rank, half.peer, half.tag, half.comm].append(half)
        pairs = []
        for half in sorted(self.receives, key=lambda half: half.call.row):
            queue = waiting[half.peer, half.call.rank, half.tag, half.comm]
            taken = queue.popleft() if queue else None
            if taken and half.done is not None:
                pairs.append((taken, half))
        return sorted(pairs, key=lambda pair: pair[0].call.row)

    def _causes(self, messages):
        """Return per call [(call that must be entered, ns until it can go on)]."""
        causes = collections.defaultdict(list)
        for send, receive in messages:
            late = send.mode == tables.SYNCHRONOUS or (send.bytes > self.eager and send.mode != tables.BUFFERED)
            wire = self.latency + send.bytes * self.per_byte
            causes[receive.done] += [(send.call, wire)] + ([(receive.call, wire)] if late else [])
            if late and send.done is not None:
                causes[send.done].append((receive.call, 0))
        for members in self.instances.values():
            kind, root = operations.KIND[operations.OP[members[0].routine]], members[0].columns.get("root", NONE)
            order = sorted(members, key=self._place)
            for place, call in enumerate(order):
                needed = {
                    operations.N_TO_N: members,
                    operations.ONE_TO_N: [m for m in members if m.rank == root],
                    operations.N_TO_ONE: members if call.rank == root else [],
                    operations.PREFIX: order[: place + 1],
                }[int(kind)]
                causes[self.collective_done[call]] += [(other, 0) for other in needed]
        for _, cause, effect in self.links:
            causes[effect].append((cause, 0))
        return causes

    def _place(self, call):
        """Return where a member comes in its collective: its rank in the communicator; of a team its location."""
        comm = call.columns.get("comm", NONE)
        return call.rank if comm == NONE else self.comms[comm][1].index(call.rank)

    def _simulate(self, messages):
        causes = self._causes(messages)
        clock, place, stuck = [0] * len(self.places), [0] * len(self.places), 0
        self.times = {}
        while stuck < 2:  # calls that are entered in one round, and wait, may let others return in the next
            stuck += 1
            for rank, steps in enumerate(self.steps):
                while place[rank] < len(steps) and self._step(rank, steps[place[rank]], clock, causes):
                    place[rank] += 1
                    stuck = 0
        assert all(place[rank] == len(steps) for rank, steps in enumerate(self.steps)), "this program never ends"
        self.clock = clock

    def _step(self, rank, step, clock, causes):
        """Do one step of a rank if what it waits for is known; tell whether."""
        if isinstance(step, int):
            clock[rank] += step
        elif isinstance(step, tuple):
            kind, row, at = step
            clock[rank] = clock[rank] if at is None else at
            self.times[rank, row, kind] = clock[rank]
        elif step.at is not None:
            step.enter, step.leave = step.at
            clock[rank] = step.leave
        else:
            step.enter = clock[rank]
            if any(other.enter is None for other, _ in causes[step]):
                return False
            step.leave = max([step.enter, *(other.enter + ns for other, ns in causes[step])]) + step.work
            clock[rank] = step.leave
        return True

    def _tables(self, path, calls, messages):
        def row(call):
            return NONE if call is None else call.row

        sent, received = collections.Counter(), collections.Counter()
        for half in self.sends:
            sent[half.call] += half.bytes
        for send, receive in messages:
            received[receive.done] += send.bytes
        names = ("peer", "tag", "comm", "root")
        path_rows = self._path_rows()
        call_table = table(
            tables.Calls,
            location=[call.rank for call in calls],
            op=[operations.OP[call.routine] for call in calls],
            path=[NONE if call.path < 0 else path_rows[call.path] for call in calls],
            **{name: [call.columns.get(name, NONE) for call in calls] for name in names},
            bytes_sent=[call.columns.get("sent", sent[call]) for call in calls],
            bytes_received=[call.columns.get("received", received[call]) for call in calls],
        )
        message_table = table(
            tables.Messages,
            send=[row(send.call) for send, _ in messages],
            send_done=[row(send.done) for send, _ in messages],
            receive=[row(receive.call) for _, receive in messages],
            receive_done=[row(receive.done) for _, receive in messages],
            **{name: [getattr(send, name) for send, _ in messages] for name in ("tag", "comm", "mode", "bytes")},
            sent_after=[self._inside(send.call, send.call) for send, _ in messages],
            received_before=[self._inside(receive.done, send.call) for send, receive in messages],
        )
        requests = sorted(self.requests, key=lambda request: request.posted.row)
        collectives, members = self._collective_tables()
        regions, region_times = self._region_tables(path_rows)
        links = sorted((effect.row, cause.row, kind) for kind, cause, effect in self.links)
        return Trace(
            path=path,
            format="built",
            locations=table(
                tables.Locations,
                **{name: [0 if name == "metahost" else NONE] * len(self.places) for name in ("metahost", "node", "cpu")},
                process=[process for process, _ in self.places],
                thread=[sum(other == place[0] for other, _ in self.places[:row]) for row, place in enumerate(self.places)],
                kind=[kind for _, kind in self.places],
            ),
            communicators=communicators(self.comms),
            names=tuple(self.names),
            parallel=np.zeros(len(self.names), bool),
            paths=table(
                tables.Paths,
                parent=[NONE if self.paths[old][0] < 0 else path_rows[self.paths[old][0]] for old in path_rows],
                region=[self.paths[old][1] for old in path_rows],
            ),
            calls=call_table,
            requests=table(
                tables.Requests,
                posted_by=[r.posted.row for r in requests],
                completed_by=[row(r.done) for r in requests],
                cancelled=[0] * len(requests),
            ),
            regions=regions,
            messages=message_table,
            collectives=collectives,
            members=members,
            links=table(
                tables.Links,
                kind=[kind for *_, kind in links],
                cause=[cause for _, cause, _ in links],
                effect=[effect for effect, *_ in links],
            ),
            timeline=Timeline(
                table(tables.Times, enter=[call.enter for call in calls], leave=[call.leave for call in calls]),
                region_times,
                table(
                    tables.Times,
                    enter=[self.begin.get(rank, 0) for rank in range(len(self.places))],
                    leave=[self.end.get(rank, self.clock[rank]) for rank in range(len(self.places))],
                ),
            ),
            labels=tables.Labels.empty(),
            texts=(),
            nodes=(),
            offsets=tables.Offsets.empty(),
            defects=tables.Defects.empty(),
            counts=Counts(),
            properties={},
        )

    def _inside(self, call, send):
        """Return how far inside a call the record of a message is, but no farther than it is long."""
        return min(self.record[send.row % len(self.record)], call.leave - call.enter)

    def _collective_tables(self):
        keys = sorted(self.instances, key=lambda key: (key[0] == NONE, *key))
        instances = [sorted(self.instances[key], key=self._place) for key in keys]
        heads = [members[0] for members in instances]
        first = np.cumsum([0, *map(len, instances)])[:-1] if instances else []
        pairs = [(number, call) for number, members in enumerate(instances) for call in members]
        done = [self.collective_done[call] for _, call in pairs]
        return (
            table(
                tables.Collectives,
                op=[operations.OP[call.routine] for call in heads],
                comm=[call.columns.get("comm", NONE) for call in heads],
                root=[call.columns.get("root", NONE) for call in heads],
                first_member=first,
            ),
            table(
                tables.Members,
                collective=[number for number, _ in pairs],
                call=[call.row for _, call in pairs],
                done=[NONE if call is None else call.row for call in done],
            ),
        )

    def _path_rows(self):
        """Return the row of each path: in the order in which the instances of one rank after the other come."""
        paths = dict.fromkeys(region["path"] for regions in self.regions for region in regions)
        return {path: row for row, path in enumerate(paths)}

    def _region_tables(self, path_rows):
        """Return the regions and their times; first_call and end_call count the calls before each boundary."""
        before, base, offset = {}, 0, []
        for rank, steps in enumerate(self.steps):
            calls, own = base, len([row for row, _ in enumerate(self.regions[rank])])
            offset.append(sum(len(regions) for regions in self.regions[:rank]))
            for step in steps:
                calls += isinstance(step, Call)
                if isinstance(step, tuple):
                    before[rank, step[1], step[0]] = calls
            base = calls
            assert own == len(self.regions[rank])
        keys = [(rank, row) for rank, regions in enumerate(self.regions) for row in range(len(regions))]
        rows = [self.regions[rank][row] for rank, row in keys]
        return (
            table(
                tables.Regions,
                location=[rank for rank, _ in keys],
                path=[path_rows[row["path"]] for row in rows],
                parent=[NONE if row["parent"] < 0 else row["parent"] + offset[rank] for (rank, _), row in zip(keys, rows, strict=True)],
                instance=[row["instance"] for row in rows],
                first_call=[before[rank, row, "enter"] for rank, row in keys],
                end_call=[before[rank, row, "leave"] for rank, row in keys],
            ),
            table(
                tables.Times,
                enter=[self.times[rank, row, "enter"] for rank, row in keys],
                leave=[self.times[rank, row, "leave"] for rank, row in keys],
            ),
        )


def communicators(comms):
    """Return communicators from (name, ranks)."""
    first = np.cumsum([0, *(len(ranks) for _, ranks in comms)])
    return Communicators(tuple(name for name, _ in comms), first, np.array([r for _, ranks in comms for r in ranks], "i4"))


# Teams of threads.


def teams(*of, work=6000, begin=100, cost=lambda n: 10 * n):
    """Return a process whose teams, of these sizes, share `work` evenly.

    A fork takes 50, a thread begins 100 after it, a barrier is left `cost(n)` behind the last that comes, a join takes 30.
    """
    b = Builder(1)
    others, idle = [b.thread(0) for _ in range(max(of) - 1)], {}
    for n in of:
        workers = others[: n - 1]
        with b.region(0, f"loop of {n}"):
            fork = b.call(0, "omp_fork", work=50)
            for worker in workers:
                if worker not in idle:
                    idle[worker] = b.call(worker, "omp_idle")
                idle[worker].work = begin
                b.link("fork", fork, idle[worker])
            for thread in (0, *workers):
                b.compute(thread, work // n)
            for call in b.team("omp_implicit_barrier", (0, *workers)).values():
                call.work = cost(n)
            join = b.call(0, "omp_join", work=30)
            for worker in workers:
                idle[worker] = b.call(worker, "omp_idle", work=0)
                b.link("join", idle[worker], join)
    return b.trace()


def of_team(works, ordered=False):
    """A process whose threads work for so long in one team, in their order if `ordered`, as the programs of OTF-CPT."""
    b = Builder(1, work=0)
    workers = [b.thread(0) for _ in works[1:]]
    fork = b.call(0, "omp_fork")
    for worker in workers:
        b.link("fork", fork, b.call(worker, "omp_idle"))
    release = None
    for location, work in zip((0, *workers), works, strict=True):
        if ordered:
            asked = b.call(location, "omp_ordered")
            if release:
                b.link("lock", release, asked)
        b.compute(location, work)
        release = b.call(location, "omp_release") if ordered else None
    b.team("omp_implicit_barrier", (0, *workers))
    join = b.call(0, "omp_join")
    for worker in workers:
        b.link("join", b.call(worker, "omp_idle"), join)
    return b.trace()


def of_processes(first, second, waits=0, transfer=0, idle=0):
    """Two processes whose threads work for so long in a team, then meet in an MPI_Barrier that takes `transfer`; then they compute `waits`.

    One after the other: the second waits for the first by a message. Threads of the first process are there for `idle` behind the team.
    """
    b = Builder(2, work=0, latency=0)
    for process, works in ((0, first), (1, second)):
        workers = [b.thread(process) for _ in works[1:]]
        fork = b.call(process, "omp_fork")
        for worker in workers:
            b.link("fork", fork, b.call(worker, "omp_idle"))
        for location, work in zip((process, *workers), works, strict=True):
            b.compute(location, work)
        b.team("omp_implicit_barrier", (process, *workers))
        join = b.call(process, "omp_join")
        for worker in workers:
            b.link("join", b.call(worker, "omp_idle", work=0 if process else idle), join)
    for process in (0, 1):
        b.join(process, "Barrier", work=transfer)
    if waits:
        b.compute(0, waits)
        b.send(0, 1, bytes=0)
        b.recv(1, 0)
        b.compute(1, waits)
    return b.trace()


# As others write it.


def untold(trace):
    """Return a trace as of a format that does not tell which receives take any source or tag."""
    table, peer, tag = trace.messages, trace.calls.peer.copy(), trace.calls.tag.copy()
    peer[table.receive], tag[table.receive] = trace.processes_of_calls[table.send], table.tag
    return dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, peer=peer, tag=tag), wildcards_told=False)


def plain_alog(trace, path):
    """Write a trace as ALOG without perwiz-ext: states and message records, none of what perwiz adds."""
    files.write(trace, str(path))
    kept = []
    for line in path.read_text().splitlines():
        kind = int(line.split()[0])
        if not -39 <= kind <= -30 and not cells.LINK <= kind <= cells.COMPLETED:
            kept.append(line.partition(" @")[0])
    path.write_text("\n".join([*kept, ""]))


def plain_otf2(trace, path):
    """Write a trace as an OTF2 archive of another program: nothing that perwiz adds to the records."""
    none = np.empty(0, "i4")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extra, "CREATOR", "another program")
        patch.setattr(otf2_cells, "extras", lambda partners, timeline: Extras(none, none.astype("u1"), none.astype("i8")))
        files.write(trace, str(path))


# The catalogue.

CATALOGUE = {}
"""Awkward traces by name: functions, so that only what a test asks for is made."""
VIOLATING = {"clock_violation_message", "clock_violation_collective", "cycle_of_messages"}
"""Those whose clocks cannot be true."""


def listed(function):
    CATALOGUE[function.__name__] = function
    return function


def one_of(count, first=0):
    """Return the name of one awkward trace in so many, from a first on: laws that cost much share the catalogue out."""
    return [*CATALOGUE][first::count]


@listed
def empty():
    """Return a trace without processes."""
    return Builder(0).trace()


@listed
def one_process():
    b = Builder(1)
    b.compute(0, 700)
    b.barrier()
    b.compute(0, 300)
    return b.trace()


@listed
def no_messages():
    b = Builder(3)
    for rank in range(3):
        with b.region(rank, "work"):
            b.compute(rank, 100 * rank)
    b.call(1, "Comm_rank", work=10)
    return b.trace()


@listed
def self_message():
    b = Builder(2)
    b.send(0, 0, 100)
    b.compute(0, 10)
    b.recv(0, 0)
    b.sendrecv(1, 1, 1, 100_000)
    return b.trace()


@listed
def unmatched():
    """A send nobody receives, a receive nobody serves, a request nobody completes."""
    b = Builder(2)
    b.send(0, 1, 100, tag=1)
    b.recv(1, 0, tag=2)
    b.isend(0, 1, 100)
    b.recv(1, 0)
    b.irecv(1, 0, tag=3)
    b.compute(1, 10)
    return b.trace()


@listed
def wildcard():
    b = Builder(3)
    for rank in (1, 2):
        b.compute(rank, 9000 // rank)
        b.send(rank, 0, 50)
    b.recv(0, 2, wildcard=True)
    b.recv(0, 1, wildcard=True)
    return b.trace()


@listed
def to_nobody():
    b = Builder(2)
    b.send(0, None, 100)
    b.recv(0, None)
    b.sendrecv(0, 1, None)
    b.sendrecv(1, None, 0)
    return b.trace()


@listed
def eager_and_rendezvous():
    b = Builder(2)
    kinds = [(0, ""), (1, ""), (16383, ""), (16384, ""), (65536, ""), (10, "S"), (70_000, "B"), (70_000, "R")]
    for number, (size, mode) in enumerate(kinds):
        b.compute(number % 2, 20_000)
        b.send(0, 1, size, mode=mode)
        b.compute(1, 500)
        b.recv(1, 0)
    return b.trace()


@listed
def late_sender():
    b = Builder(2)
    b.compute(0, 50_000)
    b.send(0, 1, 70_000)
    b.recv(1, 0)
    b.compute(1, 100)
    return b.trace()


@listed
def kept_apart():
    """Rank 0 sends 4 bytes to 1, each of the others computes 300 and sends on: the round takes until 948; rank 0 sends 4 bytes again.

    A message takes 12 ns, calls do no work; rank 0 computes 10 and ends at 958, rank 1 at 960. Nobody computes longer than 300.
    """
    b = Builder(4, latency=12, per_byte=0, work=0)
    b.send(0, 1, 4)
    for rank in (1, 2, 3):
        b.recv(rank, rank - 1)
        b.compute(rank, 300)
        b.send(rank, (rank + 1) % 4, 4)
    b.recv(0, 3)
    b.send(0, 1, 4)
    b.compute(0, 10)
    b.recv(1, 0)
    return b.trace("apart.alog")


@listed
def late_receiver():
    b = Builder(2)
    b.send(0, 1, 70_000)
    b.compute(0, 100)
    b.compute(1, 200_000)
    b.recv(1, 0)
    return b.trace()


@listed
def crossing():
    """Both send before they receive, and the messages are long: fine only because this machine buffered them."""
    b = Builder(2, eager=10**9)
    for rank in (0, 1):
        b.compute(rank, 10_000 * rank)
        b.send(rank, 1 - rank, 100_000)
        b.recv(rank, 1 - rank)
    return b.trace()


@listed
def ring():
    b = Builder(4)
    for turn in range(3):
        for rank in range(4):
            b.compute(rank, 1000 * ((rank * 7 + turn * 3) % 5))
            b.sendrecv(rank, (rank + 1) % 4, (rank - 1) % 4, 100 << (5 * turn))
    return b.trace()


@listed
def halo():
    b = Builder(4, latency=1000)
    for turn in range(2):
        for rank in range(4):
            near = [r for r in (rank - 1, rank + 1) if 0 <= r < 4]
            with b.region(rank, "step"):
                requests = [b.irecv(rank, r, work=100) for r in near] + [b.isend(rank, r, 90_000 * turn + 10, work=100) for r in near]
                b.compute(rank, 5000 * (rank + 1))
                b.waitall(rank, *requests)
                b.compute(rank, 300)
    return b.trace()


@listed
def waitall_of_three():
    b = Builder(4)
    requests = [b.irecv(0, rank) for rank in (1, 2, 3)]
    for rank in (1, 2, 3):
        b.compute(rank, [0, 11_000, 44_000, 33_000][rank])
        b.send(rank, 0, 1000)
    b.waitall(0, *requests)
    return b.trace()


@listed
def all_collectives():
    b = Builder(3)
    for number, routine in enumerate(
        ["Barrier", "Allreduce", "Bcast", "Reduce", "Gather", "Scatter", "Scan", "Exscan", "Alltoall", "Reduce_scatter"]
    ):
        for rank in range(3):
            b.compute(rank, 700 * ((rank + number) % 3))
        rooted = operations.KIND[operations.OP[f"MPI_{routine}"]] in (operations.ONE_TO_N, operations.N_TO_ONE)
        b.everyone(routine, root=number % 3 if rooted else None, bytes=100 * number)
    return b.trace()


@listed
def rootless_and_incomplete():
    b = Builder(3)
    b.everyone("Bcast", bytes=10)
    b.everyone("Reduce", bytes=10)
    b.everyone("Bcast", root=2, missing=(2,))
    b.everyone("Reduce", root=1, missing=(1,))
    b.everyone("Allreduce", missing=(0,))
    b.everyone("Scan", missing=(1,))
    return b.trace()


@listed
def nonblocking_collectives():
    b = Builder(3)
    for routine, root in [("Ibarrier", None), ("Ibcast", 1), ("Ireduce", 0), ("Iscan", None)]:
        requests = b.everyone(routine, root=root, bytes=64)
        for rank in range(3):
            b.compute(rank, 2000 * (3 - rank))
            if (routine, rank) != ("Ibarrier", 2):
                b.wait(rank, requests[rank])
    return b.trace()


@listed
def subcommunicators():
    b = Builder(4)
    odd, back = b.comm("odd", [3, 1]), b.comm("back", [3, 2, 1, 0])
    b.compute(1, 8000)
    b.everyone("Scan", comm=back)
    b.everyone("Bcast", comm=odd, root=1, bytes=10)
    b.barrier(comm=odd)
    b.send(3, 1, 10, comm=odd)
    b.recv(1, 3, comm=odd)
    b.barrier()
    return b.trace()


@listed
def nested_regions():
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "main"):
            b.compute(rank, 11)
            for turn in range(3):
                with b.region(rank, "solve"):
                    b.compute(rank, 1000 * (turn + rank + 1))
                    with b.region(rank, "exchange"):
                        b.compute(rank, 5)
                        b.sendrecv(rank, 1 - rank, 1 - rank, 500)
                    with b.region(rank, "solve"):
                        b.compute(rank, 77)
                b.compute(rank, 3)
    return b.trace()


@listed
def ties():
    """Calls and regions that take no time, all at the same instants."""
    b = Builder(2, latency=0, per_byte=0, work=0)
    for _ in range(2):
        for rank in (0, 1):
            with b.region(rank, "nothing"):
                pass
            with b.region(rank, "nothing"):
                b.sendrecv(rank, 1 - rank, 1 - rank, 0)
            b.join(rank, "Barrier")
    b.compute(0, 5)
    b.send(0, 1, 200_000)
    b.recv(1, 0)
    return b.trace()


@listed
def clock_violation_message():
    b = Builder(2)
    b.send(0, 1, 10, at=(50_000, 53_000))
    b.send(0, 1, 90_000, at=(60_000, 90_000))
    b.recv(1, 0, at=(20_000, 40_000))
    b.recv(1, 0, at=(40_000, 45_000))
    return b.trace()


@listed
def clock_violation_collective():
    b = Builder(3)
    b.barrier(at=[(1000, 3000), (4000, 5000), (2000, 5500)])
    b.bcast(1, at=[(3000, 5500), (6000, 6500), (5500, 7000)])
    b.reduce(0, at=[(5500, 7500), (6500, 7000), (8000, 8500)])
    b.scan(at=[(9000, 9100), (7500, 8600), (8600, 9200)])
    return b.trace()


@listed
def improper_regions():
    b = Builder(2)
    for rank in (0, 1):
        b.enter(rank, "a")
        b.compute(rank, 400)
        b.enter(rank, "b")
        b.compute(rank, 600)
        b.sendrecv(rank, 1 - rank, 1 - rank, 10)
        b.leave(rank, "a")
        b.compute(rank, 800)
        b.leave(rank, "b")
    return b.trace()


@listed
def master_worker():
    b = Builder(4)
    for task in range(6):
        worker = 1 + task % 3
        b.send(0, worker, 100, tag=1)
        b.recv(worker, 0, tag=1)
        with b.region(worker, "task"):
            b.compute(worker, 20_000 + 3000 * task)
        b.send(worker, 0, 70_000, tag=2)
    for task in range(6):
        b.recv(0, 1 + task % 3, tag=2, wildcard=True)
    return b.trace()


@listed
def cycle_by_equal_stamps():
    """Rendezvous edges close a cycle though no time runs backwards: everything happens at one instant."""
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 200_000, at=(10, 10))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(10, 10))
    b.send(0, 1, 200_000, at=(10, 90_000))
    b.recv(1, 0, at=(60_000, 95_000))
    return b.trace()


@listed
def cycle_of_messages():
    """Each receives first what the other sends later: message edges themselves close a cycle."""
    b = Builder(2)
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(10, 20))
        b.send(rank, 1 - rank, 8, at=(30, 40))
    return b.trace()


# Random ones.


@listed
def threads():
    """Two processes with a thread each: a parallel region each, in which a lock is handed over, and a message between the masters.

    Process 0 computes 500, forks; it computes 2000 and its thread 5000 ns, both add under one lock.
    """
    b = Builder(2, work=100)
    mine, other = b.thread(0), b.thread(1)
    b.compute(0, 500)
    fork, idle = b.call(0, "omp_fork"), b.call(mine, "omp_idle")
    b.link("fork", fork, idle)
    b.compute(0, 2000)
    b.call(0, "omp_critical", tag=3)
    b.compute(0, 6000)
    release = b.call(0, "omp_release", tag=3)
    b.compute(mine, 5000)
    critical = b.call(mine, "omp_critical", tag=3)
    b.link("lock", release, critical)
    b.compute(mine, 400)
    b.call(mine, "omp_release", tag=3)
    b.team("omp_implicit_barrier", (0, mine))
    join, ended = b.call(0, "omp_join"), b.call(mine, "omp_idle")
    b.link("join", ended, join)
    b.send(0, 1)
    b.recv(1, 0)
    fork, idle = b.call(1, "omp_fork"), b.call(other, "omp_idle")
    b.link("fork", fork, idle)
    b.compute(1, 700)
    b.compute(other, 900)
    b.team("omp_implicit_barrier", (1, other))
    join, ended = b.call(1, "omp_join"), b.call(other, "omp_idle")
    b.link("join", ended, join)
    return b.trace()


@listed
def device():
    """A process gives two kernels to a stream, computes, waits for the second and sends; the other process waits for it."""
    b = Builder(2, work=100)
    stream = b.stream(0)
    first = b.call(0, "device_launch")
    b.compute(0, 300)
    second = b.call(0, "device_launch")
    for launch, ns in ((first, 4000), (second, 2500)):
        idle = b.call(stream, "device_idle", work=50)
        b.link("launch", launch, idle)
        with b.region(stream, "kernel"):
            b.compute(stream, ns)
    ended = b.call(stream, "device_idle")
    b.compute(0, 1000)
    wait = b.call(0, "device_synchronize")
    b.link("done", ended, wait)
    b.send(0, 1)
    b.recv(1, 0)
    return b.trace()


@listed
def windows():
    """Three processes and two windows: 1 posts late what 0 accesses, 2 waits for a lock that 0 has, 0 for the help of 1; then a fence.

    Process 1 computes 3000 before it posts; process 0 computes 5000 while it has the lock.
    """
    b = Builder(3, work=100)
    b.everyone("Win_create")
    start = b.call(0, "Win_start", tag=0, comm=0)
    b.compute(1, 3000)
    post = b.call(1, "Win_post", tag=0, comm=0)
    b.link("post", post, start)
    b.call(0, "Put", peer=1, tag=0, comm=0, sent=64)
    b.compute(0, 700)
    complete, wait = b.call(0, "Win_complete", tag=0, comm=0), b.call(1, "Win_wait", tag=0, comm=0)
    b.link("complete", complete, wait)
    b.call(0, "Win_lock", peer=1, tag=1, comm=0)
    b.compute(0, 5000)
    release = b.call(0, "Win_unlock", peer=1, tag=1, comm=0)
    lock = b.call(2, "Win_lock", peer=1, tag=1, comm=0)
    b.link("lock", release, lock)
    b.call(2, "Get", peer=1, tag=1, comm=0, received=64)
    b.call(2, "Win_unlock", peer=1, tag=1, comm=0)
    helped = b.call(0, "Win_flush", peer=1, tag=1, comm=0)
    b.compute(1, 9000)
    fences = b.everyone("Win_fence")
    b.link("progress", fences[1], helped)
    return b.trace()


@listed
def shmem():
    """Two PEs: the second waits for a put and for a lock, comes late to a barrier, and waits for what the first broadcasts."""
    b = Builder(2, work=100)
    b.compute(0, 3000)
    put = b.call(0, "shmem_put", peer=1, comm=0, sent=8)
    b.link("put", put, b.call(1, "shmem_wait_until"))
    b.call(0, "shmem_set_lock")
    b.compute(1, 200)
    lock = b.call(1, "shmem_set_lock")
    b.compute(0, 2000)
    b.link("lock", b.call(0, "shmem_clear_lock"), lock)
    b.compute(1, 300)
    b.call(1, "shmem_clear_lock")
    b.compute(0, 4000)
    b.compute(1, 7000)
    b.everyone("shmem_barrier_all")
    b.compute(0, 1000)
    b.everyone("shmem_broadcast", root=0, bytes=16)
    return b.trace()


@listed
def small_team():
    """Of three threads one is in no team of two, from 10 to 50; afterwards it is in one of three."""
    b = Builder(1)
    second, third = b.thread(0), b.thread(0)
    fork = b.call(0, "omp_fork", at=(10, 10))
    b.link("fork", fork, b.call(second, "omp_idle", at=(0, 10)))
    b.team("omp_implicit_barrier", (0, second), at={0: (30, 50), second: (50, 50)})
    join, idle = b.call(0, "omp_join", at=(50, 50)), b.call(second, "omp_idle", at=(50, 60))
    b.link("join", idle, join)
    fork = b.call(0, "omp_fork", at=(60, 60))
    b.link("fork", fork, idle)
    b.link("fork", fork, b.call(third, "omp_idle", at=(0, 60)))
    b.team("omp_implicit_barrier", (0, second, third), at=dict.fromkeys((0, second, third), (80, 80)))
    join = b.call(0, "omp_join", at=(80, 80))
    for worker in (second, third):
        b.link("join", b.call(worker, "omp_idle", at=(80, 80)), join)
    return b.trace()


@listed
def two_streams():
    """Two streams: the first is given kernels at 10 and 30, the second at 40 one that waits for what the first does until 70."""
    b = Builder(1)
    first, second = b.stream(0), b.stream(0)
    one, two = b.call(0, "device_launch", at=(10, 12)), b.call(0, "device_launch", at=(30, 32))
    other = b.call(0, "device_launch", at=(40, 42))
    b.link("launch", one, b.call(first, "device_idle", at=(0, 15)))
    with b.region(first, "kernel", at=(15, 50)):
        pass
    b.link("launch", two, b.call(first, "device_idle", at=(50, 51)))
    with b.region(first, "kernel", at=(51, 70)):
        pass
    ended = b.call(first, "device_idle", at=(70, 120))
    begun = b.call(second, "device_idle", at=(0, 73))
    b.link("launch", other, begun)
    b.link("event", ended, begun)
    with b.region(second, "copy", at=(73, 90)):
        pass
    done = b.call(second, "device_idle", at=(90, 120))
    b.link("done", done, b.call(0, "device_synchronize", at=(60, 92)))
    b.end = {0: 120, first: 120, second: 120}
    return b.trace()


class Threads:
    """Lets the processes of a builder have threads that take part in teams, and streams: what each does next, at random."""

    KINDS = ("fork", "join", "barrier", "lock", "task", "launch", "event", "wait", "work")

    def __init__(self, b, draw):
        self.b, self.draw = b, draw
        self.workers = [[b.thread(rank) for _ in range(draw(st.integers(0, 2)))] for rank in range(b.processes)]
        self.streams = [[b.stream(rank) for _ in range(draw(st.integers(0, 2)))] for rank in range(b.processes)]
        self.idle = {}
        for kind, places in (("omp_idle", self.workers), ("device_idle", self.streams)):
            self.idle |= {place: b.call(place, kind, work=draw(self.works)) for of_process in places for place in of_process}
        self.teams = {}
        self.released = {}

    works = st.sampled_from([0, 1, 40, 2000])
    launches, regions = st.sampled_from(["device_launch", "device_copy"]), st.sampled_from(["a", "loop"])

    def one(self, places):
        return places[self.draw(st.integers(0, len(places) - 1))]

    def call(self, place, routine, **columns):
        return self.b.call(place, routine, work=self.draw(self.works), **columns)

    def step(self, kind, rank):
        """Let a process take a step if it can."""
        b, team, streams = self.b, self.teams.get(rank), self.streams[rank]
        places = team or [rank]
        if kind == "fork" and not team and self.workers[rank]:
            fork = self.call(rank, "omp_fork")
            self.teams[rank] = [rank, *self.workers[rank][: self.draw(st.integers(1, 2))]]
            for worker in self.teams[rank][1:]:
                b.link("fork", fork, self.idle[worker])
        elif kind == "join" and team:
            b.team("omp_implicit_barrier", team)
            join = self.call(rank, "omp_join")
            for worker in team[1:]:
                self.idle[worker] = self.call(worker, "omp_idle")
                b.link("join", self.idle[worker], join)
            del self.teams[rank]
        elif kind == "barrier" and team:
            b.team("omp_barrier", team)
        elif kind == "lock":
            place = self.one(places)
            acquire = self.call(place, "omp_critical", tag=rank)
            if rank in self.released:
                b.link("lock", self.released[rank], acquire)
            b.compute(place, self.draw(st.integers(0, 9000)))
            self.released[rank] = self.call(place, "omp_release", tag=rank)
        elif kind == "task":
            maker, place = self.one(places), self.one(places)
            b.link("task", self.call(maker, "omp_task_create"), self.call(place, "omp_task"))
            b.compute(place, self.draw(st.integers(0, 9000)))
            b.link("taskwait", self.call(place, "omp_task"), self.call(maker, "omp_taskwait"))
        elif kind == "launch" and streams:
            stream = self.one(streams)
            b.link("launch", self.call(self.one(places), self.draw(self.launches)), self.idle[stream])
            with b.region(stream, "kernel"):
                b.compute(stream, self.draw(st.integers(0, 60_000)))
            self.idle[stream] = self.call(stream, "device_idle")
        elif kind == "event" and len(streams) > 1:
            b.link("event", self.idle[streams[0]], self.idle[streams[1]])
        elif kind == "wait" and streams:
            b.link("done", self.idle[self.one(streams)], self.call(self.one(places), "device_synchronize"))
        elif kind == "work":
            place = self.one(places)
            with b.region(place, self.draw(self.regions)):
                b.compute(place, self.draw(st.integers(0, 60_000)))

    def end(self):
        """End the teams, and let each process wait for its threads and streams."""
        for rank in range(self.b.processes):
            self.step("join", rank)
            for kind, routine, places in (("join", "pthread_join", self.workers), ("done", "device_synchronize", self.streams)):
                for place in places[rank]:
                    self.b.link(kind, self.idle[place], self.call(rank, routine))


_LATENCIES, _EAGER = st.sampled_from([0, 100, 4000]), st.sampled_from([0, 1000, 10**9])
_WORKS, _SIZES = st.sampled_from([0, 1, 700, 1500, 30_000]), st.sampled_from([0, 1, 999, 20_000, 100_000])
_MODES, _NAMES = st.sampled_from(["", "", "S", "B"]), st.sampled_from(["a", "b"])
_ROUTINES = st.sampled_from(["Barrier", "Allreduce", "Bcast", "Reduce", "Scan", "Exscan", "Ialltoall", "Ibcast"])
_STEPS = ["compute", "region", "send", "post", "region", "exchange", "wait", "collective", "compute", "region", "send", "lost"]
_PROGRAM = {others: st.lists(st.sampled_from([*_STEPS, *(Threads.KINDS if others else ())]), max_size=22) for others in (False, True)}


@st.composite
def traces(draw, regions=True, threads=False):
    """Draw the trace of a random program that ends: its steps are in one order for all, and none needs a later one.

    With `threads` its processes may have threads in teams, locks, tasks and streams.
    """
    processes, latency = draw(st.integers(1, 4)), draw(_LATENCIES)
    b = Builder(processes, latency=latency, eager=draw(_EAGER), record=(latency // 4, 0, latency // 12))
    others = Threads(b, draw) if threads else None
    half = b.comm("some", list(range(b.processes))[::-1][: max(1, b.processes - 1)])
    pending, inside = [], []
    rank = st.integers(0, b.processes - 1)
    for kind in draw(_PROGRAM[threads]):
        one, other, work, size = draw(rank), draw(rank), draw(_WORKS), draw(_SIZES)
        if kind == "compute":
            b.compute(one, draw(st.integers(0, 60_000)))
        elif kind == "send" and one != other:
            b.send(one, other, size, mode=draw(_MODES), work=work)
            b.recv(other, one, wildcard=draw(st.booleans()))
        elif kind == "exchange":
            b.sendrecv(one, other, other, size, tag=5, work=work)
            if one != other:
                b.sendrecv(other, one, one, size, tag=5)
        elif kind == "post":
            pending += [b.isend(one, other, size, tag=1, work=work), b.irecv(other, one, tag=1)]
        elif kind == "wait" and others and draw(st.booleans()):
            others.step(kind, one)
        elif kind == "wait" and pending:
            request = pending.pop(draw(st.integers(0, len(pending) - 1)))
            b.wait(request.posted.rank, request, work=work)
        elif kind == "collective":
            routine = draw(_ROUTINES)
            rooted = operations.KIND[operations.OP[f"MPI_{routine}"]] in (operations.ONE_TO_N, operations.N_TO_ONE)
            comm = draw(st.sampled_from([0, half]))
            root = draw(st.sampled_from([None, *b.comms[comm][1]])) if rooted else None
            made = b.everyone(routine, comm=comm, root=root, bytes=size)
            pending += [request for request in made.values() if isinstance(request, Request)]
        elif kind == "region" and regions:
            if inside and draw(st.booleans()):
                b.leave(*inside.pop())
            else:
                inside.append((one, draw(_NAMES)))
                b.enter(*inside[-1])
        elif kind == "lost":
            b.send(one, other, size, tag=9, work=work)
        elif others and kind in others.KINDS:
            others.step(kind, one)
    for request in pending:
        if draw(st.booleans()):
            b.wait(request.posted.rank, request)
    if others:
        others.end()
    return b.trace("random")


def programs(regions=True):
    """Return a strategy for traces of random programs, of processes alone or with threads and streams."""
    return st.one_of(traces(regions), traces(regions, threads=True))


AWKWARD_NAMES = ["", " ", "MPI_Send", "SEND", "Send", "a b", "ünï\tcode \U0001f600", "x" * 1000, "user_SEND", "PRGN", "a_1", "=", "0-3"]
"""Names that a format of lines cannot hold as they are, or that others take for something else."""


@st.composite
def holed(draw):
    """Draw a random trace of which records are missing or awkward, as recorders, cut files and converters leave them.

    Ends of messages have lost their other end though one of the same key is there; communicators and completions are unknown, partners
    and tags of calls are not those of their messages, modes not those of the routine, sizes beyond four bytes, names of any kind; messages
    are recorded anywhere in their calls; only what a location sends to itself is sent before it is received.
    """
    trace = draw(traces())
    messages, calls, requests = trace.messages, trace.calls, trace.requests
    rng = np.random.default_rng(draw(_SEEDS))
    some = lambda size: rng.random(size) < 0.5  # noqa: E731
    number = lambda size, low, high: rng.integers(low, high, size, endpoint=True)  # noqa: E731
    kept = some(len(messages)) | some(len(messages))
    messages = tables.Messages(*(getattr(messages, field.name)[kept] for field in dataclasses.fields(messages)))
    large = some(len(messages)) & some(len(messages))
    lasts = trace.timeline.calls.leave - trace.timeline.calls.enter
    inside = lambda call: number(len(call), 0, 8) * lasts[call] // 8  # noqa: E731
    sent_after, received_before = inside(messages.send), inside(messages.receive_done)
    left = trace.timeline.calls.leave[messages.receive_done] - trace.timeline.calls.enter[messages.send] - sent_after
    alone = calls.location[messages.send] == calls.location[messages.receive_done]
    messages = dataclasses.replace(
        messages,
        sent_after=sent_after,
        received_before=np.where(alone, np.minimum(received_before, left), received_before),
        mode=np.where(some(len(messages)), messages.mode, number(len(messages), 0, 3)).astype("u1"),
        bytes=np.where(large, 2**31 + 5, messages.bytes),
    )
    free = operations.POINT_TO_POINT[calls.op] & some(len(calls)) & some(len(calls))
    lone = free.copy()
    lone[messages.send] = lone[messages.receive] = lone[messages.receive_done] = lone[messages.send_done] = False
    last = len(trace.locations) - 1
    calls = dataclasses.replace(
        calls,
        comm=np.where(free, np.int32(NONE), calls.comm),
        peer=np.where(free & some(len(calls)), number(len(calls), -2, last), calls.peer).astype("i4"),
        tag=np.where(free & some(len(calls)), number(len(calls), -2, 3), calls.tag).astype("i4"),
        op=np.where(lone & (operations.KIND[calls.op] == operations.ISEND), operations.OP["MPI_Startall"], calls.op).astype("u2"),
    )
    regions = dataclasses.replace(trace.regions, instance=np.where(some(len(trace.regions)), 7, trace.regions.instance).astype("i4"))
    names = st.lists(st.sampled_from(AWKWARD_NAMES), unique=True, min_size=len(trace.names), max_size=len(trace.names))
    comm_names = st.lists(st.sampled_from(AWKWARD_NAMES), min_size=len(trace.communicators), max_size=len(trace.communicators))
    return dataclasses.replace(
        trace,
        names=tuple(draw(names)),
        communicators=dataclasses.replace(trace.communicators, names=tuple(draw(comm_names))),
        calls=calls,
        messages=messages,
        regions=regions,
        requests=requests,
    )


_WAYS = st.sampled_from(["chain", "chain", "chain", "begin", "hub"])
_EDGES = st.sampled_from([g.MESSAGE, g.RENDEZVOUS, g.COLLECTIVE, g.LINK, g.ORDER, g.GAP, g.TRANSFER, g.START])


@st.composite
def graphs(draw):
    """Draw a random graph: chains from the origin, hubs, and edges of all kinds from earlier vertices."""
    size = draw(st.integers(1, 25))
    start, source, kind, ends = [0], [], [], []
    start.append(0)
    for v in range(1, size):
        way = draw(_WAYS)
        if way == "chain" and ends:
            source.append(ends.pop(draw(st.integers(0, len(ends) - 1))))
            kind.append(g.LOCAL)
        else:
            source.append(0)
            kind.append(g.COLLECTIVE if way == "hub" else g.LOCAL)
        if way != "hub":
            ends.append(v)
        for _ in range(draw(st.integers(0, 3))):
            source.append(draw(st.integers(0, v - 1)))
            kind.append(draw(_EDGES))
        start.append(len(source))
    none = np.empty(0, "i4")
    cause = np.full(len(source), NONE, "i4")
    columns = np.array(start, "i4"), np.array(source, "i4"), np.array(kind, "u1"), cause
    return g.Graph(*columns, entered=none, returned=none, begun=none, ended=none, contradictions=0)


def slots(graph, own, ends, into, out, uses):
    """Return the slots of a graph swept in rounds from vertex `own` on, and how many there are; `into` and `out` are vertices per round."""
    slot, crossing = np.full(graph.vertices, -7, "i4"), []
    for rounds in (into, out):
        crossing += [np.array([v for each in rounds for v in each], "i4"), np.cumsum([len(each) for each in rounds], dtype="i4")]
    room = np.array(uses, "i4"), np.empty(graph.vertices, "i4")
    return slot, sets.assign_slots(graph.start, graph.source, own, np.array(ends, "i4"), *crossing, *room, slot)


def weights(graph, cut, least=-1000):
    """Return a strategy for weights of a graph's edges, a half of them cut; of every other seed the rest are few values, so many ties."""

    def of(seed):
        rng = np.random.default_rng(seed)
        low, high = (max(least, -3), 3) if seed % 2 else (least, 1000)
        return np.where(rng.random(graph.edges) < 0.5, np.int64(cut), rng.integers(low, high, graph.edges, endpoint=True))

    return _SEEDS.map(of)


def counted(trace, draw):
    """Return a trace with two counters around some calls and regions, the second of fractions."""
    columns = []
    for rows in (len(trace.calls), len(trace.regions)):
        keys = sorted(draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, 1)), max_size=40))) if rows else []
        values = [[draw(st.integers(0, 1 << 50)) * (0.5 if counter else 1) for _, counter in keys] for _ in range(2)]
        columns.append(([row for row, _ in keys], [counter for _, counter in keys], *values))
    (call, counter, entered, returned), (region, of_region, begun, left) = columns
    return dataclasses.replace(
        trace,
        counters=table(tables.Counters, call=call, counter=counter, entered=entered, returned=returned),
        region_counters=table(tables.RegionCounters, region=region, counter=of_region, entered=begun, left=left),
        counter_names=("cycles", "energy [J]"),
    )


def far(trace, rank=2**31 - 1):
    """Return the trace with its last process called by a rank that is far beyond the others."""
    last = len(trace.locations) - 1

    def ranks(values):
        return np.where(values == last, rank, values).astype("i4")

    return dataclasses.replace(
        trace,
        locations=dataclasses.replace(trace.locations, process=ranks(trace.locations.process)),
        communicators=dataclasses.replace(trace.communicators, ranks=ranks(trace.communicators.ranks)),
        calls=dataclasses.replace(trace.calls, peer=ranks(trace.calls.peer), root=ranks(trace.calls.root)),
        collectives=dataclasses.replace(trace.collectives, root=ranks(trace.collectives.root)),
    )


def renamed(trace, new):
    """Return the trace with rank r called new[r] everywhere, and the new row of each old call, region and location.

    Locations behind those of the processes keep their places.
    """
    new = np.asarray(new, "i4")
    place = np.append(new, np.arange(len(new), len(trace.locations), dtype="i4"))
    old_place = np.argsort(place)
    call_order = np.argsort(place[trace.calls.location], kind="stable")
    call = np.append(np.argsort(call_order), NONE)
    region_order = np.argsort(place[trace.regions.location], kind="stable")
    region = np.append(np.argsort(region_order), NONE)
    first_old, first_new = trace.first_calls, np.searchsorted(np.sort(place[trace.calls.location]), np.arange(len(place) + 1))

    def ranks(values):
        return np.where(values >= 0, np.append(new, NONE)[np.maximum(values, -1)], values).astype("i4")

    def take(kind, rows, order, **changes):
        columns = {f.name: changes.get(f.name, getattr(rows, f.name)) for f in dataclasses.fields(kind)}
        return kind(**{name: np.asarray(values, getattr(rows, name).dtype)[order] for name, values in columns.items()})

    def boundary(calls):
        return calls - first_old[trace.regions.location] + first_new[place[trace.regions.location]]

    requests, messages, members = trace.requests, trace.messages, trace.members
    by_post, by_send = np.argsort(call[requests.posted_by]), np.argsort(call[messages.send], kind="stable")
    comms = [(name, new[trace.communicators.members(c)]) for c, name in enumerate(trace.communicators.names)]
    swapped = dataclasses.replace(
        trace,
        locations=dataclasses.replace(trace.locations, process=new[trace.locations.process][old_place]),
        links=dataclasses.replace(trace.links, cause=call[trace.links.cause].astype("i4"), effect=call[trace.links.effect].astype("i4")),
        communicators=communicators(comms),
        calls=take(
            tables.Calls,
            trace.calls,
            call_order,
            location=place[trace.calls.location],
            peer=ranks(trace.calls.peer),
            root=ranks(trace.calls.root),
        ),
        requests=take(tables.Requests, requests, by_post, posted_by=call[requests.posted_by], completed_by=call[requests.completed_by]),
        messages=take(
            tables.Messages,
            messages,
            by_send,
            **{name: call[getattr(messages, name)] for name in ("send", "send_done", "receive", "receive_done")},
        ),
        collectives=dataclasses.replace(trace.collectives, root=ranks(trace.collectives.root)),
        members=dataclasses.replace(members, call=call[members.call].astype("i4"), done=call[members.done].astype("i4")),
        regions=take(
            tables.Regions,
            trace.regions,
            region_order,
            location=place[trace.regions.location],
            parent=region[trace.regions.parent],
            first_call=boundary(trace.regions.first_call),
            end_call=boundary(trace.regions.end_call),
        ),
        timeline=Timeline(
            take(tables.Times, trace.timeline.calls, call_order),
            take(tables.Times, trace.timeline.regions, region_order),
            take(tables.Times, trace.timeline.locations, old_place),
        ),
    )
    return swapped, call[:-1], region[:-1], place
