"""One-sided communication in OTF2: what its records say of the MPI calls they stand in, as Score-P writes them.

Calls that make, free or fence a window have a RmaCollectiveEnd; MPI_Win_start, MPI_Win_post and those that end their epochs a RmaGroupSync;
those that lock a RmaRequestLock or RmaAcquireLock, those that release a RmaReleaseLock; accesses RmaPut, RmaGet or RmaAtomic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats import one_sided
from perwiz.formats.otf2.communicators import Comms, narrow
from perwiz.formats.otf2.definitions import Definitions, Texts
from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.other_records import OtherRecords
from perwiz.kernels import records
from perwiz.trace import operations
from perwiz.trace.arrays import I4, Ints, Mask
from perwiz.trace.tables import NONE, Calls, Labels, Links, Locations, Times

_KINDS = {name: records.OTHER_KIND + number for number, name in enumerate(row.OTHERS) if name.startswith("Rma")}
_COLLECTIVE_END, _GROUP_SYNC, _RELEASE = (_KINDS[name] for name in ("RmaCollectiveEnd", "RmaGroupSync", "RmaReleaseLock"))
_LOCKS = [_KINDS[name] for name in ("RmaRequestLock", "RmaAcquireLock")]
_PUT, _GET, _ATOMIC = _ACCESSES = [_KINDS[name] for name in ("RmaPut", "RmaGet", "RmaAtomic")]
_USED = (_COLLECTIVE_END, _GROUP_SYNC, _RELEASE, *_LOCKS, *_ACCESSES)
_EXCLUSIVE = 0
"""OTF2_LOCK_EXCLUSIVE."""


class Windows:
    """What the records of an archive say of windows, groups and locks."""

    def __init__(self, other_records: OtherRecords, definitions: Definitions, op: Ints) -> None:
        """`op` is the routine of each call."""
        call, kind, values = other_records.within_calls(_USED)
        mine = operations.ON_WINDOWS[op[call]]
        self._call, self._kind = call[mine], kind[mine]
        first, second, third, self._fourth = (value[mine] for value in values)
        self._window = np.where(self._is(_COLLECTIVE_END), third, np.where(self._is(_GROUP_SYNC), second, first))
        self._second, self._third = second, third
        self._definitions = definitions

    def _is(self, *kinds: int) -> Mask:
        return np.isin(self._kind, kinds)

    def tell(self, column: dict[str, NDArray[Any]], comms: Comms, process: I4) -> None:
        """Put communicator, window, target and bytes of the calls into their columns; `process` is the rank of each location."""
        if not len(self._call):
            return
        of_comm, numbers = self._numbers()
        rank, call = process[column["location"][self._call]], self._call
        comm = comms.rows(np.array([of_comm.get(ref, NONE) for ref in self._window.tolist()], "i4"), rank)
        column["comm"][call] = comm
        column["tag"][call] = [numbers.get(ref, NONE) for ref in self._window.tolist()]
        aimed = self._is(_RELEASE, *_LOCKS, *_ACCESSES)
        column["peer"][call[aimed]] = comms.processes_of(comms.table(), comm[aimed], self._second[aimed], rank[aimed])
        for name, kind, size in (("sent", _PUT, self._third), ("received", _GET, self._third), ("sent", _ATOMIC, self._fourth)):
            column[name][call[self._is(kind)]] = size[self._is(kind)]

    def _numbers(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return, per reference of a window, that of its communicator, and its number among the windows of that."""
        of_comm, numbers, count = dict[int, int](), dict[int, int](), dict[int, int]()
        for ref in sorted(self._definitions.windows):
            comm = self._definitions.windows[ref].comm
            of_comm[ref], numbers[ref] = narrow(comm), count.get(comm, 0)
            count[comm] = numbers[ref] + 1
        return of_comm, numbers

    def links(self, calls: Calls, times: Times, locations: Locations, comms: Comms) -> Links:
        """Return the links."""
        opens = np.flatnonzero(self._is(_GROUP_SYNC) & np.isin(calls.op[self._call], one_sided.OPENS))
        members = [comms.groups.get(ref, []) for ref in self._third[opens].tolist()]
        call = np.repeat(self._call[opens], [len(group) for group in members])
        process = np.array([rank for group in members for rank in group], "i4")
        places = one_sided.Places(locations.process, locations.node, np.zeros(len(locations), "i4"))
        found = one_sided.Groups(call[process >= 0].astype("i4"), process[process >= 0])
        return one_sided.links(calls, times, places, found, self._call[self._exclusive()])

    def _exclusive(self) -> Mask:
        return self._is(*_LOCKS) & (self._fourth == _EXCLUSIVE)

    def labels(self, op: Ints, texts: Texts) -> Labels:
        """Return which locks are exclusive and which are shared; `op` is the routine of each call, `texts` get what the labels say."""
        locks = np.flatnonzero(self._is(*_LOCKS) & (op[self._call] == one_sided.LOCK))
        text = [texts.of(one_sided.EXCLUSIVE if alone else one_sided.SHARED) for alone in self._exclusive()[locks].tolist()]
        return Labels(self._call[locks].astype("i4"), np.array(text, "i4"))
