"""The eager limit per class of pairs and kind of send, from senders that were held and senders that were let go."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from perwiz.kernels.names import NODE
from perwiz.loggps.fit.senders import Senders, senders
from perwiz.loggps.keys import LIMITS, NO_LIMIT, PAIRS
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.model import Model, Sent
from perwiz.trace.arrays import I8, U1, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import Share
from perwiz.trace.trace import Trace

KEYS = tuple(key for key, kind in LIMITS.items() if kind)
_LEAST = 3
"""Messages that must tell that a size is held, or that groups have limits of their own."""
_FEW = 0.01
"""Part of the senders of late receivers of an eager size that go on without them, at least."""
_OFTEN = 0.25
"""Part of them that is held where messages are sent in place; of those that are copied fewer seem to be, by chance."""
_SURE = 5
"""How many would have been let go by what was sent in place, were larger messages, none of which was, sent so too."""
_MOST = 0.5
"""Part of held senders whose receiver waited in calls meanwhile, where none is known to be sent in place, from which on these are not."""
_IN_PLACE = "that held their senders may have been sent in place: hardly any receiver waited in other calls meanwhile"
COUNTS = ("gone", "called", "kept", "taken", "refused", "computed", "passed", "moved")
"""What is counted by size."""
CLEAR = 0.1
"""Part of the messages that may contradict a limit."""
_LARGEST = 256 << 10
"""Bytes up to which a library may send in place: the largest eager limit that one has by default (Intel MPI, I_MPI_EAGER_THRESHOLD)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sizes:
    """What the senders of one class of pairs, kind of send and size show together; a row each, numbers of messages."""

    pairs: U1
    sends: U1
    bytes: I8
    gone: I8
    called: I8
    kept: I8
    taken: I8
    """Let go well before the receive was posted, the receiver waiting in calls before that for long."""
    refused: I8
    """Held though it did."""
    computed: I8
    passed: I8
    moved: I8

    def __getitem__(self, rows: Mask) -> Sizes:
        return Sizes(**{field.name: getattr(self, field.name)[rows] for field in dataclasses.fields(self)})

    @property
    def eager(self) -> Mask:
        """Which sizes went on before their receive was posted."""
        return np.asarray(self.gone >= np.maximum(1, _FEW * (self.gone + self.kept + self.moved)))

    @property
    def in_place(self) -> Mask:
        """Which of these were held as well: sent in place, and let go as soon as the receiver was in some call."""
        held = self.kept + self.called + self.moved
        return self.eager & (held >= np.maximum(_LEAST, _OFTEN * (self.gone + self.kept + self.moved)))

    def together(self) -> Sizes:
        """Return them by size alone, the class of pairs and the kind of send that of the first."""
        size, first, row = np.unique(self.bytes, return_index=True, return_inverse=True)
        counts = {name: np.bincount(row, getattr(self, name), len(size)).astype("i8") for name in COUNTS}
        return Sizes(self.pairs[first], self.sends[first], size, **counts)

    def moving_in_calls(self) -> Sizes:
        """Return them where messages that hold their sender move only in calls: what was let go while the receiver computed is eager."""
        return dataclasses.replace(self, gone=self.gone + self.computed)

    @property
    def held(self) -> Mask:
        """Which sizes waited for their receive, more than went on while it computed.

        Not below one that is sent in place: what waited there may have been so, too.
        """
        waited = self.kept + self.moved
        enough = (waited >= _LEAST) & (waited >= self.passed) & (waited >= self.computed)
        return ~self.eager & enough & (self.bytes > self.bytes[self.in_place].max(initial=0))


@dataclasses.dataclass(frozen=True)
class Limit:
    """A size up to which messages of some sends are let go, and from which on they are held."""

    pairs: str
    """A class of pairs, "" for all."""
    key: str
    low: int
    """The largest size seen let go, 0 if none."""
    high: int | None
    """The smallest size seen held less one byte; None if none was."""
    in_place: int
    """The largest size up to which those above `high` may have been sent in place; `high` if none may."""
    telling: int
    """Messages that tell it."""
    against: int
    """Messages of sizes that contradict it."""
    open: bool
    """Whether there are messages of sizes between both."""
    why: str
    """Why nothing is known between both, in words."""

    def includes(self, pairs: U1, sends: U1) -> Mask:
        """Return which messages of these pair classes and kinds of send it is for."""
        out = np.ones(len(pairs), bool)
        if self.pairs:
            out &= pairs == PAIRS.index(self.pairs) + NODE
        return out & (sends == KEYS.index(self.key)) if self.key in KEYS else out

    @property
    def value(self) -> int | None:
        """The limit to work with: the largest size let go; where none was, all below those that were held; None if none was held."""
        return self.high if self.high is None or not self.low else self.low


@remembered(1)
def sizes_of(trace: Trace) -> Sizes:
    """Return what the senders of a trace show by class of pairs, kind of send and size; its clocks must be treated."""
    return _together(trace.share, by_size(senders(trace)))


def _together(share: Share, own: Sizes) -> Sizes:
    """Return what all processes have seen, given what this one has."""
    columns = {field.name: share.rows(getattr(own, field.name)) for field in dataclasses.fields(own)}
    keys = [columns.pop(name).astype("i8") for name in ("pairs", "sends", "bytes")]
    rows, row = np.unique(np.stack(keys, 1), axis=0, return_inverse=True)
    out: dict[str, Any] = {name: np.zeros(len(rows), "i8") for name in columns}
    for name, column in columns.items():
        np.add.at(out[name], row.ravel(), column)
    return Sizes(rows[:, 0].astype("u1"), rows[:, 1].astype("u1"), np.ascontiguousarray(rows[:, 2]), **out)


def by_size(seen: Senders) -> Sizes:
    """Return what senders show by class of pairs, kind of send and size, in this order."""
    order = np.lexsort((seen.bytes, seen.sends, seen.pairs))
    pairs, sends, size = seen.pairs[order], seen.sends[order], seen.bytes[order]
    first = np.ones(len(order), bool)
    first[1:] = (pairs[1:] != pairs[:-1]) | (sends[1:] != sends[:-1]) | (size[1:] != size[:-1])
    start = np.flatnonzero(first)
    waited = {"taken": seen.gone & seen.waited, "refused": (seen.kept | seen.moved) & seen.waited}
    shown = {name: (waited[name] if name in waited else getattr(seen, name))[order].astype("i8") for name in COUNTS}
    counts: dict[str, Any] = {name: np.add.reduceat(which, start) if len(start) else start for name, which in shown.items()}
    return Sizes(pairs[start], sends[start], size[start], **counts)


def limits(sizes: Sizes) -> tuple[Limit, ...]:
    """Return the eager limits: one for all, or one per class of pairs where they contradict each other, and so per kind of send."""
    classes = np.unique(sizes.pairs).tolist()
    by_kind = {pair: _apart(sizes[sizes.pairs == pair], "sends") for pair in classes}
    if all(len(parts) == 1 for parts in by_kind.values()) and len(_apart(sizes, "pairs")) == 1:
        return (_limit(sizes, "", "S_bytes"),) if classes else ()
    out = []
    for pair, parts in by_kind.items():
        name = PAIRS[pair - NODE] if len(classes) > 1 else ""
        keys = [KEYS[int(part.sends[0])] for part in parts] if len(parts) > 1 else ["S_bytes"]
        out += [_limit(part, name, key) for part, key in zip(parts, keys, strict=True)]
    return tuple(out)


def _apart(sizes: Sizes, column: str) -> list[Sizes]:
    """Return sizes by class of pairs or kind of send if these have limits of their own, else together."""
    number = getattr(sizes, column)
    parts = [sizes[number == one] for one in np.unique(number)]
    less = _contradicted(sizes) - sum(map(_contradicted, parts))
    return parts if less >= _LEAST else [sizes]


def _contradicted(sizes: Sizes) -> int:
    """Return how many senders of late receivers contradict the limit that fewest do; computing receivers tell no kinds apart."""
    size, row = np.unique(sizes.bytes, return_inverse=True)
    below, above = (np.bincount(row, which, len(size)) for which in (sizes.gone * sizes.eager, sizes.kept * sizes.held))
    return separated(size, below.astype("i8"), above.astype("i8"))[2]


def separated(size: I8, below: I8, above: I8) -> tuple[int, int, int]:
    """Return the largest size with messages `below`, the smallest with messages `above` and how many are on the wrong side of the best cut.

    Sizes rise. 0 where there is none below, NO_LIMIT + 1 where none above.

        size          8    64   512  4096  65536
        below        40    12     9     -      1
        above         -     -     -    30     70     low 512, high 4096, 1 on the wrong side
    """
    wrong = np.append(0, np.cumsum(above)) + below.sum() - np.append(0, np.cumsum(below))
    best = int(np.argmin(wrong))
    low = int(size[:best][below[:best] > 0].max(initial=0))
    high = int(size[best:][above[best:] > 0].min(initial=NO_LIMIT + 1))
    return low, high, int(wrong.min())


def _limit(sizes: Sizes, pairs: str, key: str) -> Limit:
    sizes = sizes.together()
    below, above = sizes.gone * sizes.eager, (sizes.kept + sizes.moved) * sizes.held
    low, high, against = separated(sizes.bytes, below, above)
    total = int((below + above).sum())
    unclear = against > CLEAR * total
    if unclear:
        low, high = 0, NO_LIMIT + 1
    some = bool(sizes.in_place.any())
    most = max(high, _surely_held(sizes, low))
    high = most if some else high
    end = None if high > NO_LIMIT else high - 1
    between = sizes.bytes[(sizes.bytes > low) & (sizes.bytes < high)]
    why = f"{against} of {total} senders of late receivers contradict any limit" if unclear else _why(sizes, low, end)
    return Limit(pairs, key, low, end, max(high - 1, min(most - 1, _LARGEST)), total - against, against, bool(len(between)), why)


def _why(sizes: Sizes, low: int, high: int | None) -> str:
    """Return why nothing is known of messages above `low` and up to `high` bytes."""
    if low >= sizes.bytes.max(initial=0):
        return f"no message is larger than {low} bytes, and none held its sender until it was received"
    if not low and high is not None and sizes.bytes[0] > high:
        return f"no message is of at most {high} bytes"
    these = f"messages of more than {low} bytes" if low else "messages"
    if sizes.in_place.any():
        return f"{these} that held their senders may have been sent in place, as smaller ones were"
    return f"no receiver came late for {these}" + ("" if high is None else f" and at most {high}" if low else f" of at most {high} bytes")


def _surely_held(sizes: Sizes, low: int) -> int:
    """Return the smallest size above `low` that cannot have been sent in place, NO_LIMIT + 1 if any may.

    Of what is, some senders up to that size would have gone on as their receivers waited in other calls: as many as of the sizes that are
    known to be sent in place; where none is known to be, at least one of two.

        size             8    64   512  1024  4096  8192
        taken           40    12    10     -     -     -
        refused          -     -    40    10    20    30     of 50 in place 10 went on; of 25 five would have: 4096
    """
    rows = np.flatnonzero((sizes.bytes > low) & sizes.held)
    refused, held = sizes.refused[rows], (sizes.kept + sizes.moved)[rows]
    if sizes.in_place.any():
        taken, not_taken = (int(column[sizes.in_place].sum()) for column in (sizes.taken, sizes.refused))
        sure = np.cumsum(refused) * taken >= _SURE * (taken + not_taken) if taken else refused < 0
    else:
        sure = refused >= np.maximum(_LEAST, _MOST * held)
    return int(sizes.bytes[rows][sure].min(initial=NO_LIMIT + 1))


def told(limits: Sequence[Limit]) -> tuple[Estimate, ...]:
    """Return the limits that held senders tell."""
    return tuple(Estimate(limit.key, limit.pairs, limit.value, limit.telling, limit.against) for limit in limits if limit.value is not None)


def untold(limits: Sequence[Limit], progress: Estimate | Unknown, in_place: bool) -> tuple[Unknown, ...]:
    """Return the limits that nothing tells, that lie between or below sizes of which the trace has messages, or that may let
    more be sent in place.

    `in_place`: some messages are known to be sent in place.
    """
    if not limits:
        return (_unknown("", "S_bytes", 0, [str(NO_LIMIT)], "no message between processes is seen to be completed by its sender"),)
    at_once, out = max(limit.low for limit in limits), []
    for limit in limits:
        most, why = [str(NO_LIMIT if limit.high is None else limit.high)], limit.why
        doubtful = limit.high is not None and limit.in_place > limit.high and getattr(progress, "value", "") != "always"
        if limit.high is not None and doubtful:
            most = [str(limit.in_place)]
            most += [] if in_place else [f"inline_bytes={max(limit.high, at_once)}"]
            most += [] if isinstance(progress, Estimate) else ["progress=in calls"]
            why = f"messages of more than {limit.high} bytes {_IN_PLACE}"
        if limit.high is None or limit.open or not limit.low or doubtful:
            out.append(_unknown(limit.pairs, limit.key, limit.low, most, why))
    return tuple(out)


def _unknown(pairs: str, key: str, low: int, high: Sequence[str], why: str) -> Unknown:
    place = f"{pairs}:{key}" if pairs else key
    return Unknown(key, pairs, (f"{place}={low}", f"{place}={','.join(high)}"), why)


@dataclasses.dataclass(frozen=True)
class Held:
    """Sends that the eager limit of a model lets go, and that were held until their receiver came."""

    bytes: int
    """The smallest size of which so many were."""
    messages: int
    """How many of that size and larger were."""
    late: int
    """Of so many whose receiver came late."""


def held_senders(trace: Trace, model: Model) -> Held | None:
    """Return what says that S of the model is too large for the machine of a run; None if nothing does."""
    sizes = sizes_of(trace)
    sent = Sent(sizes.bytes, sends=sizes.sends, pairs=sizes.pairs)
    wrong = sizes.held & ~model.is_synchronous(sent) & ~model.is_in_place(sent)
    if not wrong.any():
        return None
    held = int((sizes.kept + sizes.moved)[wrong].sum())
    return Held(int(sizes.bytes[wrong].min()), held, held + int(sizes.gone[wrong].sum()))
