"""A pattern is a compound event: what it is a special case of, which calls, messages and collectives make it up, and how severe it is."""

from __future__ import annotations

import abc
import dataclasses
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.severity import Cells, cells
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.spread.instances import whole_instances
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """The instances of a pattern, one per row, in the order of the calls they are booked on."""

    call: I4
    """Call whose time is lost; the severity is booked on its call path and location."""
    severity: I8
    """ns, above 0."""
    cause: I4
    """Call that is to blame: the partner that came late; -1 if none."""
    message: I4
    """Row of messages, -1 if none."""
    collective: I4
    """Row of collectives, -1 if none."""

    def __len__(self) -> int:
        return len(self.call)

    def where(self, chosen: Mask | I8 | slice) -> Instances:
        """Return some of the instances: a mask, or rows."""
        return Instances(*(getattr(self, f.name)[chosen] for f in dataclasses.fields(self)))

    def severe(self, severity: I8) -> Instances:
        """Return the instances with other severities; those that are not above 0 are none."""
        return dataclasses.replace(self, severity=severity).where(severity > 0)


def instances(call: Ints, severity: I8, cause: Ints | int = NONE, message: Ints | int = NONE, collective: Ints | int = NONE) -> Instances:
    """Return the instances with a severity above 0, in the order of calls."""
    rows = np.flatnonzero(severity > 0)
    columns = [np.broadcast_to(np.asarray(column, "i4"), len(call))[rows] for column in (call, cause, message, collective)]
    out = Instances(columns[0], severity[rows].astype("i8"), *columns[1:])
    return out if (np.diff(out.call) >= 0).all() else out.where(np.argsort(out.call, kind="stable"))


NOTHING = instances(np.empty(0, "i4"), np.empty(0, "i8"))
"""No instance."""


class View:
    """The columns of a run as patterns look at them: times, what each call does, and pointers from one to another.

    `enter` and `leave` are int64 ns per call, `kind` is what its routine does (`perwiz.trace.operations`), `location` where it ran.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.enter = trace.timeline.calls.enter
        self.leave = trace.timeline.calls.leave
        self.location = trace.calls.location
        self.op = trace.calls.op
        self._homes: Homes | None = None  # no cached_property: those of threads that ask each other would wait for its lock

    @cached_property
    def kind(self) -> U1:
        """What the routine of each call does."""
        return np.asarray(operations.KIND[self.op])

    @property
    def has_threads(self) -> bool:
        """Whether the trace has calls of threads or devices."""
        return self.trace.share.any(not operations.OF_PROCESSES[self.op].all())

    @property
    def has_shmem(self) -> bool:
        """Whether the trace has calls of OpenSHMEM."""
        return self.trace.share.any(operations.SHMEM[self.op].any())

    @property
    def homes(self) -> Homes:
        """The collectives that are at home here, whole, of a part of a run; of a whole run all. Found once."""
        self._homes = self._homes or Homes(self)
        return self._homes

    @cached_property
    def size(self) -> I8:
        """Members of each collective."""
        return np.diff(np.append(self.trace.collectives.first_member, len(self.trace.members)))

    @cached_property
    def done(self) -> I4:
        """Per member of a collective the call in which it waits: the one that completes the operation, where that is known."""
        members = self.trace.members
        return np.where(members.done == NONE, members.call, members.done)

    @cached_property
    def sends(self) -> Mask:
        """Per member of a collective: whether it sends bytes."""
        return self.trace.calls.bytes_sent[self.trace.members.call] > 0

    @cached_property
    def receives(self) -> Mask:
        """Per member of a collective: whether it receives bytes."""
        return self.trace.calls.bytes_received[self.trace.members.call] > 0

    @cached_property
    def waits_for_collective(self) -> Mask:
        """Per call: it completes a non-blocking collective, and no message. One that completes both counts as point-to-point."""
        messages, members = self.trace.messages, self.trace.members
        out = np.zeros(len(self.enter) + 1, bool)
        out[members.done[members.done != members.call]] = True
        out[messages.send_done] = out[messages.receive_done] = False
        return out[:-1]


_TOLD = np.dtype([(name, "i8") for name in ("call", "severity", "cause", "collective")])


class Homes:
    """Where whole collectives are looked at: of a part of a run each at its home, of a whole run all in the run itself."""

    def __init__(self, view: View) -> None:
        self._view, self._share = view, view.trace.share
        self.view = view
        """Of a part: of the calls of the collectives at home here, and nothing else."""
        if isinstance(self._share, Part):
            self._found = whole_instances(view.trace, view.trace.timeline)
            self.view = View(self._found.trace)

    def told(self, found: Instances) -> Instances:
        """Return the instances of the calls of this process, given those among the collectives at home here. Causes must be known here."""
        if not isinstance(self._share, Part):
            return found
        share, came = self._share, self._came(found)
        row = np.argsort(share.instances, kind="stable")
        collective = row[np.searchsorted(share.instances[row], came["collective"])].astype("i4")
        call = share.here(came["call"]).astype("i4")
        order = np.lexsort((came["collective"], call))
        cause = share.here(came["cause"]).astype("i4")
        here = Instances(call, came["severity"].copy(), cause, np.full(len(call), NONE, "i4"), collective).where(order)
        return here.where(_waits_for_it(self._view)[here.call])

    def causes(self, found: Instances) -> I8:
        """Return the numbers in the whole trace of the calls that are to blame for instances of the calls of this process."""
        return np.ascontiguousarray(self._came(found)["cause"])

    def _came(self, found: Instances) -> NDArray[Any]:
        """Return, by numbers of the whole trace, the instances of the calls of this process."""
        assert isinstance(self._share, Part)
        number, told = np.append(self._found.calls, NONE), np.empty(len(found), _TOLD)
        told["call"], told["severity"], told["cause"] = number[found.call], found.severity, number[found.cause]
        told["collective"] = self._found.rows[found.collective]
        process = self._share.process_of(told["call"])
        return np.concatenate(self._share.team.exchange([told[process == peer] for peer in range(self._share.team.size)]))


def _waits_for_it(view: View) -> Mask:
    """Return which calls wait in a collective, bool per call: those that are one, and those that wait for nothing else."""
    out, members = view.waits_for_collective.copy(), view.trace.members
    out[members.call[view.done == members.call]] = True
    return out


def longest(view: View, call: I4, wait: I8, cause: I4, message: Ints | int = NONE) -> Instances:
    """Return one instance per call, that of its longest wait; of equally long ones the first.

    call      4  4  2  4
    wait      5  9  7  9
    message   0  1  2  3      instances of call 2 with 7 ns and message 2, of call 4 with 9 ns and message 1
    """
    most = np.zeros(len(view.enter), "i8")
    np.maximum.at(most, call, wait)
    rows = np.flatnonzero((wait > 0) & (wait == most[call]))[::-1]
    first = np.full(len(most), NONE, "i4")
    first[call[rows]] = rows
    rows = first[first != NONE]
    return instances(call[rows], wait[rows], cause[rows], np.broadcast_to(message, len(call))[rows])


class Pattern(abc.ABC):
    """One pattern. Subclasses say what it is called and find its instances.

    `instances` gets the instances of the pattern it is a special case of (NOTHING if that is a plain metric), which need not be
    searched again: a special case tests only what else must hold.
    """

    name: ClassVar[str]
    """Unique: that of Scalasca where it has the pattern."""
    title: ClassVar[str]
    of: ClassVar[str]
    """Name of the pattern or metric this is a special case of."""
    under: ClassVar[str] = ""
    """Name of the metric that contains it in the tree of metrics, if that is another."""
    meaning: ClassVar[str] = ""
    waits: ClassVar[bool] = True
    """Whether the calls wait for others, so that it can be asked what they would be worth without."""

    @abc.abstractmethod
    def instances(self, view: View, parent: Instances) -> Instances:
        """Return the instances in a run."""

    def severity(self, view: View, tree: CallTree, found: Instances) -> Cells:
        """Return what the instances lose by call path and location, ns: by default that of the calls whose time is lost."""
        return booked(view, tree, found, found.severity)


def booked(view: View, tree: CallTree, found: Instances, value: I8) -> Cells:
    """Return values of instances by call path and location of their calls."""
    size = len(tree), len(view.trace.locations)
    return cells(tree.of_calls(view.trace, found.call), view.location[found.call], value, size)
