"""What an OTF2 archive written by perwiz says beside OTF2's own records: the extras that `extras` lists, as they are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.other_records import OtherRecords
from perwiz.trace.arrays import I8, U1
from perwiz.trace.matching import Ends
from perwiz.trace.origin import MEASURED, Origin, from_json, from_words
from perwiz.trace.tables import LINKS, NONE, Links, Requests
from perwiz.trace.trace import Counts

_OF_SEVERAL = (extra.SEQUENCE, extra.LINK, extra.MESSAGE, extra.RECEIVED)
"""Extras that tie calls of several processes to each other."""
_OF_CALLS = (extra.COMPLETED_BY, extra.RECEIVE)
"""Extras whose values are rows of calls of the same process."""
_COLUMN = {
    extra.PEER: "peer",
    extra.TAG: "tag",
    extra.COMM: "comm",
    extra.ROOT: "root",
    extra.BYTES_SENT: "sent",
    extra.BYTES_RECEIVED: "received",
}
_NOWHERE = np.empty(0, "i8"), np.empty(0, "i8")
"""Calls and values of an extra that no call has."""


class Extras:
    """The extras of an archive, none for one that perwiz did not write. What lies outside its range is left out and counted in `bad`."""

    def __init__(self, definitions: Definitions) -> None:
        self.written = definitions.creator.startswith(extra.CREATOR)
        self.bad = 0
        self._definitions = definitions
        self._rows: dict[int, tuple[I8, I8]] = {}

    def take(self, other_records: OtherRecords, begin: int = 0) -> None:
        """Take the records of extras from the other records; rows of calls count from the first one here, which has the row `begin`."""
        if self.written:
            self._rows = {number: other_records.extras(extra.PREFIX + event.name) for number, event in enumerate(extra.EVENTS)}
        for number in _OF_CALLS if begin else ():
            rows, values = self._rows.get(number, _NOWHERE)
            self._rows[number] = rows, np.where(values == NONE, NONE, values - begin)

    def ties_processes(self) -> bool:
        """Return whether some tie calls of several processes to each other."""
        return any(len(self._rows.get(number, _NOWHERE)[0]) for number in _OF_SEVERAL)

    def property(self, name: str, otherwise: Any, make: Callable[[str], Any] = json.loads) -> Any:
        """Return a property of the anchor file made of its text, or `otherwise` if there is none that can be used."""
        text = self._definitions.properties.get(extra.NAMESPACE + name) if self.written else None
        if text is None:
            return otherwise
        try:
            value = make(text)
        except (ValueError, RecursionError):
            self.bad += 1
            return otherwise
        good = otherwise is None or isinstance(value, type(otherwise))
        self.bad += not good
        return value if good else otherwise

    def origin(self) -> Origin:
        """Return where the timeline comes from; archives that say it in words alone are of an older perwiz."""
        words = self.property("MADE_BY", MEASURED, from_words)
        return cast(Origin, self.property("ORIGIN", words, from_json))

    def counts(self, met: Counts) -> Counts:
        """Return what the reader met, with what the source of the archive lacked."""
        return met.with_lacking(self.property("COUNTS", {}))

    def _get(self, number: int, low: int, high: int) -> tuple[I8, I8]:
        """Return the calls that have an extra, and its values from `low` to below `high`."""
        rows, values = self._rows.get(number, _NOWHERE)
        good = (values >= low) & (values < high)
        self.bad += int((~good).sum())
        return rows[good], values[good]

    def calls(self, column: dict[str, NDArray[Any]], processes: int, comms: int) -> None:
        """Put the extras of calls into their columns."""
        high = {extra.PEER: processes, extra.ROOT: processes, extra.COMM: comms, extra.TAG: 1 << 31}
        for number, name in _COLUMN.items():
            rows, values = self._get(number, -2 if number in (extra.PEER, extra.TAG) else -1, high.get(number, 1 << 62))
            column[name][rows] = values

    def requests(self, table: Requests, calls: int) -> Requests:
        """Return the requests with what the extras say of them."""
        done = table.completed_by.copy()
        self._each(extra.COMPLETED_BY, table.posted_by, done, -1, calls)
        return Requests(table.posted_by, done, table.cancelled)

    def sends(self, ends: Ends, mode: U1, number: I8) -> None:
        """Put the extras of send records into their modes and message numbers."""
        self._each(extra.MODE, ends.call, mode, 0, 4)
        self._each(extra.MESSAGE, ends.call, number, -1, 1 << 62)

    def receives(self, ends: Ends, number: I8, calls: int) -> None:
        """Put the extras of receive records into them, and their message numbers."""
        self._each(extra.RECEIVE, ends.done, ends.call, 0, calls)
        self._each(extra.RECEIVED, ends.done, number, -1, 1 << 62)

    def _each(self, which: int, call: NDArray[Any], out: NDArray[Any], low: int, high: int) -> None:
        """Put values that come one per record of a call into `out`, a row per record; `call` is the call of each.

        call  3 5 3   extras  (3, 70) (3, 80)   out  70 . 80
        """
        rows, values = self._get(which, low, high)
        if not len(rows):
            return
        records = np.flatnonzero(np.isin(call, rows))
        records = records[np.argsort(call[records], kind="stable")]
        if len(records) == len(rows) and np.array_equal(call[records], rows):
            out[records] = values
        else:
            self.bad += len(rows)

    def sequence(self, calls: int) -> I8:
        """Return the instance of each of so many calls, -1 where it is not told."""
        rows, values = self._get(extra.SEQUENCE, -1, 1 << 62)
        out = np.full(calls, -1, "i8")
        out[rows] = values
        return out

    def links(self, calls: int) -> Links:
        """Return the links."""
        effect, value = self._get(extra.LINK, 0, calls * extra.LINK_KINDS)
        cause, kind = np.divmod(value, extra.LINK_KINDS)
        good = kind < len(LINKS)
        self.bad += int((~good).sum())
        return Links.in_order(kind[good].astype("u1"), cause[good].astype("i4"), effect[good].astype("i4"))

    def apart(self) -> I8:
        """Return the calls of collectives that take part in no instance."""
        rows, values = self._rows.get(extra.SEQUENCE, _NOWHERE)
        return rows[values == -1]
