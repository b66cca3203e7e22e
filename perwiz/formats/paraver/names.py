"""What stands beside the records of a Paraver trace: who takes part (header, .row) and what the numbers mean (.pcf)."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

import numpy as np

from perwiz import words
from perwiz.formats.losses import ascii_text
from perwiz.formats.paraver import codes, counters
from perwiz.trace import operations
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace

_OPTIONS = """DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC          State As Is

"""
_COLLECTIVE = {
    codes.SENT: "Send Size in MPI Global OP",
    codes.RECEIVED: "Recv Size in MPI Global OP",
    codes.ROOT: "Root in MPI Global OP",
}
_DATE = "%d/%m/%Y at %H:%M"
"""Of the header, in UTC."""


def _began(trace: Trace) -> datetime.datetime:
    """Return when a run began, in UTC: what the trace tells; 1970 if that is no date, as a file written twice is to be the same."""
    try:
        began = datetime.datetime.fromisoformat(trace.properties.get("started", ""))
        return began.astimezone(datetime.UTC) if began.tzinfo else began
    except (ValueError, OverflowError):
        return datetime.datetime.fromtimestamp(0, datetime.UTC)


class LocationNumbers:
    """Numbers, all from 1: a task per process, a processor per location, node by node."""

    def __init__(self, trace: Trace) -> None:
        locations = trace.locations
        self._trace = trace
        self._keys, node = np.unique(np.stack([locations.metahost, locations.node], 1), axis=0, return_inverse=True)
        self.node = node.reshape(-1) + 1
        self._processes, task = locations.processes()
        self.task = task + 1
        self._order = np.lexsort((locations.thread, locations.process))
        self.thread, self.cpu = np.ones(len(locations), "i8"), np.empty(len(locations), "i8")
        ordered = self.task[self._order]
        self.thread[self._order] = np.arange(len(locations)) - np.searchsorted(ordered, ordered) + 1
        by_node = np.lexsort((locations.thread, locations.process, self.node))
        self.cpu[by_node] = np.arange(len(locations)) + 1

    def header(self, end: int) -> Iterator[str]:
        """Yield the lines before the records, in ASCII, without newlines; `end` is that of the trace, ns."""
        comms = self._trace.communicators
        cpus = ",".join(map(str, np.bincount(self.node - 1, minlength=len(self._keys)).tolist()))
        first = self._order[self.thread[self._order] == 1]
        threads = np.bincount(self.task - 1, minlength=len(self._processes)).tolist()
        tasks = ",".join(f"{count}:{node}" for count, node in zip(threads, self.node[first].tolist(), strict=True))
        yield f"#Paraver ({_began(self._trace):{_DATE}}):{end}_ns:{len(self._keys)}({cpus}):1:{len(self._processes)}({tasks}),{len(comms)}"
        for comm in range(len(comms)):
            ranks = comms.members(comm)
            tasks_of_comm = np.searchsorted(self._processes, ranks[np.isin(ranks, self._processes)]) + 1
            yield ":".join(map(str, ["c:1", comm + 1, len(tasks_of_comm), *tasks_of_comm.tolist()]))

    def rows(self) -> str:
        """Return the file of names."""
        trace, locations = self._trace, self._trace.locations
        nodes = [ascii_text(trace.nodes[node], "_") or "unnamed" if node >= 0 else "unknown" for _, node in self._keys.tolist()]
        columns = (column[self._order].tolist() for column in (locations.process, locations.thread, locations.kind))
        places = zip(*columns, strict=True)
        names = [f"{'stream' if kind == STREAM else 'rank'} {words.rank(process, thread)}" for process, thread, kind in places]
        cpus = [f"{cpu}.{nodes[node - 1]}" for cpu, node in sorted(zip(self.cpu.tolist(), self.node.tolist(), strict=True))]
        levels = (("CPU", cpus), ("NODE", nodes), ("THREAD", names))
        return "\n".join(f"LEVEL {level} SIZE {len(names)}\n" + "".join(f"{name}\n" for name in names) for level, names in levels)


def configuration(trace: Trace) -> str:
    """Return the file that says what the numbers of states and events mean."""
    states = "".join(f"{state}    {name}\n" for state, (name, _) in codes.STATES.items())
    colours = "".join(f"{state}    {{{red},{green},{blue}}}\n" for state, (_, (red, green, blue)) in codes.STATES.items())
    return "\n\n".join([f"{_OPTIONS}\nSTATES\n{states}", f"STATES_COLOR\n{colours}", *_events(trace)]) + "\n"


def _events(trace: Trace) -> Iterator[str]:
    """Yield what each type of events that occurs means."""
    used = np.unique(trace.calls.op).tolist()
    for kind, label in codes.LABELS.items():
        own = [op for op in used if codes.TYPE[op] == kind]
        if own:
            values = [(int(codes.VALUE[op]), operations.OPS[op]) for op in own]
            values += [(codes.LOCKED, "locked")] * bool((codes.ENDED[own] == codes.LOCKED).any())
            yield _event(9, kind, label, [*values, (0, "Outside MPI" if operations.MPI[own[0]] else "End")])
    if (operations.COLLECTIVE & operations.MPI)[used].any():
        yield "EVENT_TYPE\n" + "".join(f"1    {kind}    {label}\n" for kind, label in _COLLECTIVE.items())
        names = [(row + 1, ascii_text(name) or "unnamed") for row, name in enumerate(trace.communicators.names)]
        yield _event(1, codes.COMMUNICATOR, "Communicator in MPI Global OP", names)
    if len(trace.regions):
        rows = np.unique(trace.region_names).tolist()
        yield _event(
            4, codes.REGION, "User function", [(0, "End"), *((row + 1, ascii_text(trace.names[row]) or "unnamed") for row in rows)]
        )
    for kind, name in counters.kinds(trace).items():
        yield f"EVENT_TYPE\n7    {kind}    {ascii_text(name) or 'unnamed'}\n"
    yield _event(6, codes.APPLICATION, "Application", [(0, "End"), (1, "Begin")])


def _event(gradient: int, kind: int, label: str, values: Iterable[tuple[int, str]]) -> str:
    return f"EVENT_TYPE\n{gradient}    {kind}    {label}\nVALUES\n" + "".join(f"{value}   {name}\n" for value, name in values)
