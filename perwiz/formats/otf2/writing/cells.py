"""The cells of the rows that become OTF2 events: kind, time, and what each kind says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.library.codes import INT64, SIGNED, STRING, UNSIGNED
from perwiz.formats.otf2.writing import gaps
from perwiz.formats.otf2.writing.definitions import OPERATION, Definitions
from perwiz.formats.otf2.writing.partners import Partners, Side
from perwiz.formats.otf2.writing.plain import extras, known_root
from perwiz.kernels import records
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.resources import give_back
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

Events = NDArray[Any]
"""Rows of the dtype RECORD."""
_RANGES = {SIGNED: (-(1 << 63), 1 << 63), UNSIGNED: (1 << 63, 1 << 64)}


class Cells:
    """Fills the rows of one trace under one timeline: `places` in the matrix with what the rows `which` of a table say."""

    def __init__(self, trace: Trace, timeline: Timeline, definitions: Definitions, shift: int) -> None:
        """Times are written later by `shift`."""
        self._trace, self._definitions, self._shift = trace, definitions, shift
        self._name = trace.region_names
        self._times = timeline.calls
        rows = len(trace.calls) + len(trace.regions)
        self.partners = Partners(trace, timeline)
        give_back(rows)  # what each of these needs meanwhile is as large as what it tells
        self.gaps = gaps.Gaps(trace, timeline)
        give_back(rows)
        self.extras = extras(self.partners, timeline)
        give_back(rows)
        self.collective = np.flatnonzero(self.partners.collective)
        """Calls with a blocking collective record."""
        used = {*np.unique(self.extras.name).tolist()}
        self._extra_refs = np.array(
            [
                definitions.parameter(f"{extra.PREFIX}{event.name}", SIGNED) if number in used else 0
                for number, event in enumerate(extra.EVENTS)
            ]
        )
        self._parameter_cells = self._parameters()
        self._record_kinds = gaps.kinds(trace)
        self._value_ends = np.append(trace.records.first_value, len(trace.values))[1:]

    def _parameters(self) -> NDArray[np.int64]:
        """Return kind, reference and value of each parameter, one row each."""
        table, texts, definitions = self._trace.parameters, self._trace.texts, self._definitions
        pairs, which = np.unique(np.stack([table.name, table.value], 1), axis=0, return_inverse=True)
        cells = np.empty((len(pairs), 3), "i8")
        for k, (name, value) in enumerate(pairs.tolist()):
            kind, number = _value(texts[value])
            own = extra.PREFIX if texts[name].startswith(extra.PREFIX) else ""
            cells[k] = (
                (records.PARAMETER_STRING, records.PARAMETER_INT, records.PARAMETER_UNSIGNED)[kind],
                definitions.parameter(own + texts[name], kind),
                definitions.strings.of(texts[value]) if kind == STRING else number,
            )
        return cells[which.ravel()]

    def _entered(self, calls: Ints | slice) -> I8:
        """Return when calls are entered as it is written, ns."""
        return self._times.enter[calls] + self._shift

    def _left(self, calls: Ints | slice) -> I8:
        """Return when they are left."""
        return self._times.leave[calls] + self._shift

    def enter(self, rows: Events, places: Ints, which: slice) -> None:
        """Enter of calls."""
        rows["kind"][places], rows["time"][places] = records.ENTER, self._entered(which)
        rows["reference"][places] = self._definitions.routine[self._trace.calls.op[which]]

    def leave(self, rows: Events, places: Ints, which: slice) -> None:
        """Leave of calls."""
        rows["kind"][places], rows["time"][places] = records.LEAVE, self._left(which)
        rows["reference"][places] = self._definitions.routine[self._trace.calls.op[which]]

    def counters_before(self, rows: Events, places: Ints, which: slice) -> None:
        """Values of counters before the Enter of calls."""
        table = self._trace.counters
        self._metrics(rows, places, table.counter[which], table.entered[which])
        rows["time"][places] = self._entered(table.call[which])

    def counters_behind(self, rows: Events, places: Ints, which: slice) -> None:
        """Values of counters before the Leave of calls."""
        table = self._trace.counters
        self._metrics(rows, places, table.counter[which], table.returned[which])
        rows["time"][places] = self._left(table.call[which])

    def _metrics(self, rows: Events, places: Ints, counter: Ints, values: NDArray[np.float64]) -> None:
        kind = self._definitions.counter_types[counter]
        bits, whole = values.view("i8").copy(), kind == INT64
        bits[whole] = values[whole].astype("i8")
        rows["kind"][places], rows["reference"][places], rows["tag"][places], rows["amount"][places] = records.METRIC, counter, kind, bits

    def extra(self, rows: Events, places: Ints, which: slice) -> None:
        """Extras of calls, behind their Enter."""
        rows["kind"][places], rows["reference"][places] = records.PARAMETER_INT, self._extra_refs[self.extras.name[which]]
        rows["amount"][places] = self.extras.value[which]
        rows["time"][places] = self._entered(self.extras.call[which])

    def _message(self, rows: Events, places: Ints, side: Side, record: Ints) -> None:
        rows["reference"][places], rows["communicator"][places], rows["tag"][places] = (
            side.rank[record],
            side.comm[record],
            side.tag[record],
        )
        rows["amount"][places], rows["request"][places] = side.bytes[record], side.request[record] + 1
        rows["time"][places] = side.time[record] + self._shift

    def posts(self, rows: Events, places: Ints, which: slice) -> None:
        """Sends, and requests that calls post."""
        items = self.partners.posts
        kind, record = items.kind[which], items.row[which]
        rows["kind"][places], rows["time"][places] = kind, self._entered(items.call[which])
        sends = (kind == records.SEND) | (kind == records.ISEND)
        self._message(rows, places[sends], self.partners.sends, record[sends])
        rows["request"][places[~sends]] = record[~sends] + 1

    def begins(self, rows: Events, places: Ints, which: slice) -> None:
        """Begins of collectives."""
        rows["kind"][places], rows["time"][places] = records.COLLECTIVE_BEGIN, self._entered(self.collective[which])

    def _collectives(self, rows: Events, places: Ints, call: Ints) -> None:
        calls = self._trace.calls
        root = self.partners.ranks.of(calls.comm[call], known_root(self.partners, call))
        rows["reference"][places], rows["communicator"][places], rows["tag"][places] = OPERATION[calls.op[call]], calls.comm[call], root
        rows["amount"][places], rows["received"][places] = calls.bytes_sent[call], calls.bytes_received[call]

    def ends(self, rows: Events, places: Ints, which: slice) -> None:
        """Ends of collectives."""
        call = self.collective[which]
        rows["kind"][places], rows["time"][places] = records.COLLECTIVE_END, self._left(call)
        self._collectives(rows, places, call)

    def tests(self, rows: Events, places: Ints, which: slice) -> None:
        """Requests found not complete."""
        items = self.partners.tests
        rows["kind"][places], rows["request"][places], rows["time"][places] = (
            records.REQUEST_TEST,
            items.row[which] + 1,
            self._entered(items.call[which]),
        )

    def dones(self, rows: Events, places: Ints, which: slice) -> None:
        """Receives, and requests that calls complete."""
        items = self.partners.dones
        kind, record = items.kind[which], items.row[which]
        rows["kind"][places], rows["time"][places] = kind, self._left(items.call[which])
        receives, collectives = (kind == records.RECV) | (kind == records.IRECV), kind == records.NONBLOCKING_COMPLETE
        rows["request"][places[~receives]] = record[~receives] + 1
        self._message(rows, places[receives], self.partners.receives, record[receives])
        self._collectives(rows, places[collectives], self._trace.requests.posted_by[record[collectives]])

    def between(self, rows: Events, places: Ints, which: slice) -> None:
        """Region boundaries, parameters and records between calls."""
        items = self.gaps.between
        what, record = items.what[which], items.row[which]
        rows["time"][places] = np.maximum(items.time[which] + self._shift, 0)
        self._regions(rows, places[what == gaps.BOUNDARY], record[what == gaps.BOUNDARY])
        for column, name in enumerate(("kind", "reference", "amount")):
            rows[name][places[what == gaps.PARAMETER]] = self._parameter_cells[record[what == gaps.PARAMETER], column]
        self._others(rows, places[what == gaps.RECORD], record[what == gaps.RECORD])
        table, read = self._trace.region_counters, what == gaps.COUNTER
        row = record[read] % max(len(table), 1)
        values = np.where(record[read] < len(table), table.entered[row], table.left[row])
        self._metrics(rows, places[read], table.counter[row], values)

    def _regions(self, rows: Events, places: Ints, boundary: Ints) -> None:
        count = len(self._trace.regions)
        leaves = boundary >= count
        rows["kind"][places] = np.where(leaves, records.LEAVE, records.ENTER)
        rows["reference"][places] = self._definitions.first_name + self._name[np.where(leaves, boundary - count, boundary)]

    def inside(self, rows: Events, places: Ints, which: slice) -> None:
        """Records inside calls."""
        items = self.gaps.inside
        rows["time"][places] = items.time[which] + self._shift
        self._others(rows, places, items.row[which])

    def _others(self, rows: Events, places: Ints, record: Ints) -> None:
        """Fill in records with their raw values."""
        table, values = self._trace.records, self._trace.values
        kind = self._record_kinds[table.kind[record]]
        rows["kind"][places] = kind
        first, size = table.first_value[record], self._value_ends[record] - table.first_value[record]
        for number, name in enumerate(records.ARGUMENTS[: int(size.max(initial=0))]):
            has = size > number
            rows[name][places[has]] = values[first[has] + number]
        flush = places[kind == records.BUFFER_FLUSH]
        rows["reference"][flush] += self._shift


def _value(text: str) -> tuple[int, int]:
    """Return the type of a parameter's value, and the value if it is a number: one that is written just so."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 21 and str(int(text)) == text:
        for kind, (low, high) in _RANGES.items():
            if low <= int(text) < high:
                return kind, int(text) if kind == SIGNED else int(text) - (1 << 64)
    return STRING, NONE
