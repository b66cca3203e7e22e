"""The events of one run as Trace Event JSON, column by column."""

from __future__ import annotations

import json

import numpy as np

from perwiz import words
from perwiz.formats.templates import ABSENT, Templates
from perwiz.report.perfetto.events import CALL, CAUSE, REGION, SEND, Events
from perwiz.report.perfetto.tracks import Tracks
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.tables import LINKS, NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.waits import Waits

LONGEST = 300
"""Characters of a name; the middle of a longer one is left out."""
_TRACK = ("pid", "tid", "time")
_VALUES = (
    *("name", "kind", "number", "partner", "tag", "window", "comm", "root"),
    *("sent", "received", "wait", "cause", "instance", "site", "bytes"),
)
_COLUMNS = _TRACK + _VALUES
_PLACE = '"pid":%(pid)d,"tid":%(tid)d,"ts":%(time)u'
_TAIL = ',\n{"ph":"s",' + _PLACE + ',"cat":"message","name":"message","id":%(number)d,"args":{"bytes":%(bytes)d,"tag":%(tag)d}}'
_HEAD = ',\n{"ph":"f","bp":"e",' + _PLACE + ',"cat":"message","name":"message","id":%(number)d}'
_EARLY = '"received no later than sent","id"'
_OUT = ',\n{"ph":"s",' + _PLACE + ',"cat":"link","name":"%(name)s","id":%(number)d}'
_IN = ',\n{"ph":"f","bp":"e",' + _PLACE + ',"cat":"link","name":"%(name)s","id":%(number)d}'
_TOO_EARLY = "%(name)s, no later than what it waits for"
_TEMPLATES = (
    ',\n{"ph":"E",' + _PLACE + "}",
    ',\n{"ph":"B",' + _PLACE + ',"cat":"region","name":"%(name)s","args":{"instance":%(instance)d}}',
    ',\n{"ph":"B",' + _PLACE + ',"cat":"%(kind)s","name":"%(name)s","args":{"call":"e%(number)d"'
    '%(partner)[,"partner":"rank %(partner)d"%]%(tag)[,"tag":%(tag)d%]'
    '%(window)[,"window":%(window)d%]%(comm)[,"comm":"%(comm)s"%]%(root)[,"root":"rank %(root)d"%]'
    '%(sent)[,"bytes_sent":%(sent)d%]%(received)[,"bytes_received":%(received)d%]%(wait)[,"wait_ns":%(wait)d%]'
    '%(cause)[,"waits_for":"e%(cause)d"%]%(instance)[,"collective":%(instance)d%]%(site)[,"site":"%(site)s"%]}}',
    ',\n{"ph":"B",' + _PLACE + ',"cat":"wait","name":"wait"}',
    ',\n{"ph":"B",' + _PLACE + ',"cat":"receive","name":"receive"}',
    ',\n{"ph":"B",' + _PLACE + ',"cat":"released","name":"released"}',
    _TAIL,
    _HEAD,
    _HEAD.replace('"message","id"', _EARLY),
    _TAIL.replace('"message","id"', _EARLY),
    _OUT,
    _IN,
    _IN.replace("%(name)s", _TOO_EARLY),
    _OUT.replace("%(name)s", _TOO_EARLY),
)
"""Per kind of event, each behind the comma and the line of the one before."""


def quoted(text: str) -> str:
    """Return a name of at most LONGEST characters as JSON, in ASCII."""
    return json.dumps(words.shown(text, LONGEST))


class Calls:
    """What the calls of one trace show, whatever the run: their names, partners, collectives."""

    def __init__(self, trace: Trace) -> None:
        kinds = [name.partition("_")[0].lower() for name in operations.OPS]
        several = (operations.OPS, trace.names, trace.communicators.names, trace.sites, LINKS, kinds)
        self.op, self.name, self.comm, self.site, self.link, self.kind = np.cumsum([0, *map(len, several)])[:6].tolist()
        pool = [quoted(text)[1:-1].encode("ascii") for texts in several for text in texts]
        self.templates = Templates(_COLUMNS, _TEMPLATES, pool)
        calls, messages = trace.calls, trace.messages
        self.partner = calls.peer.copy()
        anybody = np.flatnonzero(calls.peer[messages.receive] < -1)
        self.partner[messages.receive[anybody]] = trace.processes_of_calls[messages.send[anybody]]
        self.collective = np.full(len(calls), -1, "i4")
        self.collective[trace.members.call] = trace.members.collective


class Rows:
    """Makes text of the events of one run."""

    def __init__(self, trace: Trace, calls: Calls, tracks: Tracks, run: int, waits: Waits | None, size: I8) -> None:
        self._trace, self._calls, self._tracks, self._run, self._waits, self._size = trace, calls, tracks, run, waits, size
        self._arrows, more = len(trace.messages) + len(trace.links), size - trace.messages.bytes
        self._sent, self._received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
        np.add.at(self._sent, trace.messages.send, more)
        np.add.at(self._received, trace.messages.receive_done, more)

    def text(self, events: Events, later: int) -> memoryview:
        """Return some events as text, their times so many ns later."""
        cells = np.full((len(events), len(_COLUMNS)), ABSENT)
        self._put(cells, np.arange(len(events)), "pid", self._tracks.pid(self._run, events.location))
        self._put(cells, np.arange(len(events)), "tid", self._tracks.tid(self._run, events.location, events.track))
        self._put(cells, np.arange(len(events)), "time", events.time + later)
        for kind, fill in ((REGION, self._regions), (CALL, self._called)):
            lines = np.flatnonzero(events.kind == kind)
            fill(cells, lines, events.row[lines])
        for first, end, fill in ((SEND, CAUSE, self._messages), (CAUSE, len(_TEMPLATES), self._links)):
            lines = np.flatnonzero((events.kind >= first) & (events.kind < end))
            fill(cells, lines, events.row[lines])
        return self._calls.templates.fill(events.kind, cells)

    def _put(self, cells: I8, lines: I8, column: str, values: Ints, least: int | None = None) -> None:
        """Fill in a column; values below the least one are none."""
        values = values.astype("i8")
        cells[lines, _COLUMNS.index(column)] = values if least is None else np.where(values >= least, values, ABSENT)

    def _regions(self, cells: I8, lines: I8, row: I4) -> None:
        trace = self._trace
        self._put(cells, lines, "name", self._calls.name + trace.paths.region[trace.regions.path[row]])
        self._put(cells, lines, "instance", trace.regions.instance[row])

    def _called(self, cells: I8, lines: I8, row: I4) -> None:
        calls, pool = self._trace.calls, self._calls
        self._put(cells, lines, "name", pool.op + calls.op[row].astype("i8"))
        self._put(cells, lines, "kind", pool.kind + calls.op[row].astype("i8"))
        self._put(cells, lines, "number", row)
        for column, values in (("partner", pool.partner), ("root", calls.root), ("instance", pool.collective)):
            self._put(cells, lines, column, values[row], 0)
        on_window = operations.ON_WINDOWS[calls.op[row]]
        self._put(cells, lines, "tag", np.where(on_window, NONE, calls.tag[row]), 0)
        self._put(cells, lines, "window", np.where(on_window, calls.tag[row], NONE), 0)
        self._put(cells, lines, "comm", pool.comm + calls.comm[row].astype("i8"), pool.comm)
        self._put(cells, lines, "sent", self._sent[row], 1)
        self._put(cells, lines, "received", self._received[row], 1)
        if len(self._trace.site):
            self._put(cells, lines, "site", pool.site + self._trace.site[row].astype("i8"), pool.site)
        if self._waits is not None:
            self._put(cells, lines, "wait", self._waits.time[row], 1)
            self._put(cells, lines, "cause", np.where(self._waits.time[row] > 0, self._waits.partner[row], -1), 0)

    def _messages(self, cells: I8, lines: I8, row: I4) -> None:
        messages = self._trace.messages
        self._put(cells, lines, "number", self._run * self._arrows + row.astype("i8"))
        self._put(cells, lines, "bytes", self._size[row])
        self._put(cells, lines, "tag", messages.tag[row])

    def _links(self, cells: I8, lines: I8, row: I4) -> None:
        self._put(cells, lines, "number", self._run * self._arrows + len(self._trace.messages) + row.astype("i8"))
        self._put(cells, lines, "name", self._calls.link + self._trace.links.kind[row].astype("i8"))
