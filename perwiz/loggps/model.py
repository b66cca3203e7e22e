"""The LogGPS model of one machine: what messages cost by class of pairs and by size, and four readings of the model.

Costs are added up as floats and rounded once to int64 ns. `model_file` reads and writes models.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perwiz.errors import ModelError
from perwiz.kernels.names import NODE
from perwiz.loggps import collectives
from perwiz.loggps.collectives import CollectiveCost
from perwiz.loggps.keys import (
    ALL_PAIRS,
    BOTH_ENDS,
    CHOICES,
    CONVENTIONS,
    LETTERS,
    LIMITS,
    NO_LIMIT,
    OF_ALL,
    OF_PAIRS,
    PAIRS,
    POSTED,
    SENDS,
    checked,
    checked_pairs,
    shown,
    unknown,
)
from perwiz.loggps.links.topology import Topology
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.tables import READY, STANDARD, SYNCHRONOUS

Nanoseconds = I8


_CLASSES = (*["within-node"] * NODE, *PAIRS, "")
"""The class of pairs that each pair class of the kernels belongs to: locations of one process are within a node."""
_LONGEST = 2.0**53


@dataclasses.dataclass(frozen=True)
class Costs:
    """What messages of a class of pairs cost from a size on: L, o_s, o_r, g in ns, G, O_s, O_r in ns per byte, s in bytes.

    Sending costs o_s and O_s per byte, receiving what has arrived o_r and O_r per byte. Raises ModelError when a value has another type
    or range than its key allows.
    """

    L: float
    o_s: float
    o_r: float
    g: float
    G: float
    O_s: float
    O_r: float
    s: int
    """Packet size, or 0: messages are never split."""
    pairs: str = ""
    """One of PAIRS, "" for all."""
    from_bytes: int = 0

    def __post_init__(self) -> None:
        checked_pairs(self.pairs, also="")
        for key, field in {**LETTERS, "from_bytes": "from_bytes"}.items():
            object.__setattr__(self, field, checked(key, getattr(self, field)))

    @property
    def place(self) -> str:
        """What the row is for, in words; empty for all messages."""
        size = f"from {self.from_bytes} bytes" if self.from_bytes else ""
        return " ".join(filter(None, (self.pairs, size)))

    def times(self, factor: float) -> Costs:
        """Return the row with all costs times a factor; the packet size stays."""
        return dataclasses.replace(self, **{letter: getattr(self, letter) * factor for letter in LETTERS.values() if letter != "s"})


@dataclasses.dataclass(frozen=True)
class Limit:
    """The eager limit: larger messages of a class of pairs and a kind of send wait for their receiver. Raises ModelError."""

    S: int
    pairs: str = ""
    """One of PAIRS, "" for all."""
    sends: str = ""
    """One of SENDS, "" for all."""

    def __post_init__(self) -> None:
        checked_pairs(self.pairs, also="")
        key = next((key for key, kind in LIMITS.items() if kind == self.sends), None)
        if key is None:
            raise ModelError(f"sends is {shown(self.sends)}, must be one of {', '.join(SENDS)}")
        object.__setattr__(self, "S", checked(key, self.S))


@dataclasses.dataclass(frozen=True, eq=False)
class Sent:
    """Messages as their costs see them: columns, or one value for all."""

    bytes: ArrayLike
    mode: ArrayLike = STANDARD
    """As in Messages.mode."""
    sends: ArrayLike = 0
    """Kind of the sending call, row of SENDS."""
    pairs: ArrayLike = ALL_PAIRS
    """Pair class as in perwiz.clock.latency.distance, or ALL_PAIRS."""

    def __getitem__(self, rows: slice | Mask | I8) -> Sent:
        columns = {field.name: np.asarray(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return Sent(**{name: column[rows] if column.ndim else column for name, column in columns.items()})


@dataclasses.dataclass(frozen=True)
class Model:
    """A machine under LogGPS; letters as in Ino et al., PPoPP 2001, overheads apart for both ends.

    The costs of a message are the row of its class of pairs, else of all pairs, with the largest `from_bytes` that it reaches. A message
    of k bytes costs its sender o_s + k O_s and its receiver o_r + k O_r, and is on the wire for L + (k - 1) G, with g between packets of
    s bytes. Cost functions give int64 ns, one per message. Raises ModelError for values and rows that cannot be, or if `assumed` names
    something else than a key, or `CLASS:KEY`.
    """

    name: str
    source: str
    assumed: tuple[str, ...]
    """Keys whose value the source does not give."""
    costs: tuple[Costs, ...]
    """By class and size; the first is of all pairs and from 0 bytes."""
    limits: tuple[Limit, ...]
    """The first is of all pairs and sends. That of a class and a kind goes before one of the class, and that before one of the kind."""
    request_overheads: int
    """How many o_r it takes to handle a REQ."""
    acknowledge_overheads: int
    """How many overheads an ACK takes at both ends together: one o_s and one o_r are two."""
    gap: str
    """What keeps consecutive sends of a process apart: the sending call waits, or nothing."""
    progress: str
    """When messages that hold their sender may move: always, or only while the receiver is in calls. Once posted: see POSTED."""
    inline_bytes: int = NO_LIMIT
    """Larger eager messages are sent in place: where messages move in calls only, they hold their sender until the receiver is in one."""
    interfaces: int = NO_LIMIT
    """Of each node: messages between nodes share them, see `loggps.interfaces`. Where there are as many as messages, nothing is shared."""
    collectives: tuple[CollectiveCost, ...] = ()
    """What collectives were found to cost; others cost the rounds of their likely algorithm."""
    topology: Topology | None = None
    """The links between nodes, which messages share where they are overloaded, see `loggps.links`; None: nothing is shared there."""

    def __post_init__(self) -> None:
        for key in OF_ALL:
            object.__setattr__(self, key, checked(key, getattr(self, key)))
        for key in ("name", "source"):
            text = getattr(self, key)
            if not isinstance(text, str) or not text or not text.isprintable():
                raise ModelError(f"{key} is {shown(text)}, must be a line of text")
        object.__setattr__(self, "assumed", _checked_keys(self.assumed))
        costs = sorted(self.costs, key=lambda row: (("", *PAIRS).index(row.pairs), row.from_bytes))
        limits = sorted(self.limits, key=lambda row: (("", *PAIRS).index(row.pairs), ("", *SENDS).index(row.sends)))
        _check_rows("costs", [(row.pairs, row.from_bytes) for row in costs], ("", 0))
        _check_rows("eager limits", [(row.pairs, row.sends) for row in limits], ("", ""))
        object.__setattr__(self, "costs", tuple(costs))
        object.__setattr__(self, "limits", tuple(limits))
        object.__setattr__(self, "collectives", collectives.checked(self.collectives))

    @property
    def S(self) -> int:
        """The eager limit of all pairs and sends that have none of their own, bytes."""
        return self.limits[0].S

    def parameters(self) -> dict[str, float | int | str]:
        """Return the parameters of all pairs and the conventions, under the keys of the model file."""
        costs = {key: getattr(self.costs[0], letter) for key, letter in LETTERS.items()}
        own = {**costs, **self._own_limits("")}
        of_all = {key: getattr(self, key) for key in OF_ALL if key in CONVENTIONS or getattr(self, key) < NO_LIMIT}
        return {**{key: own[key] for key in OF_PAIRS if key in own}, **of_all}

    def classes(self) -> list[dict[str, float | int | str]]:
        """Return the tables [[classes]] of the model file: `pairs` if not all, `from_bytes` if not 0, and what differs.

        A row says what differs from the row that held for its messages without it; `Model.rows_of` gives whole rows.
        """
        out = []
        rows = {(row.pairs, row.from_bytes): row for row in self.costs[1:]}
        places = {*rows, *((limit.pairs, 0) for limit in self.limits if limit.pairs)}
        for pairs, from_bytes in sorted(places, key=lambda place: (("", *PAIRS).index(place[0]), place[1])):
            table: dict[str, float | int | str] = {"pairs": pairs} if pairs else {}
            table |= {"from_bytes": from_bytes} if from_bytes or not pairs else {}
            if row := rows.get((pairs, from_bytes)):
                before = inherited(self.costs, pairs, from_bytes)
                values = {key: (getattr(row, letter), getattr(before, letter)) for key, letter in LETTERS.items()}
                table |= {key: value for key, (value, old) in values.items() if value != old}
            out.append(table | (self._own_limits(pairs) if pairs and not from_bytes else {}))
        return out

    def _own_limits(self, pairs: str) -> dict[str, int]:
        return {key: limit.S for limit in self.limits if limit.pairs == pairs for key, kind in LIMITS.items() if kind == limit.sends}

    def rows_of(self, pairs: str) -> tuple[Costs, ...]:
        """Return the rows that messages of a class of pairs meet, by size, the first from 0 bytes; "" is a pair of no class."""
        return tuple(self.costs[row] for row in _steps(self.costs, pairs)[1].tolist())

    def with_changes(self, text: str) -> Model:
        """Return a copy changed by `KEY=VALUE,CLASS:KEY=VALUE`, keys as in the model file; its name tells the changes.

        A change holds for all classes, sizes and kinds of send, with `CLASS:` for those of one class of pairs, and that goes before one
        without; so does an eager limit of a kind. o_ns and O_ns_per_byte are those of both ends. A changed key is no longer `assumed`.
        Raises ModelError naming the first part that cannot be used.
        """
        place = f"change of model {self.name}"
        changes = _parse_changes(place, text)
        asked = ",".join(f"{pairs}:{key}={value}" if pairs else f"{key}={value}" for (pairs, key), value in changes.items())
        model = dataclasses.replace(self, name=f"{self.name} with {asked}")
        try:
            for (pairs, key), value in sorted(changes.items(), key=lambda change: (change[0][0] != "", LIMITS.get(change[0][1], "") != "")):
                for end in BOTH_ENDS.get(key, (key,)):
                    model = model._with(pairs, end, checked(key, _number_or_text(key, value)))
        except ModelError as error:
            raise ModelError(f"{place}: {error}") from None
        return model

    def _with(self, pairs: str, key: str, value: Any) -> Model:
        """Return the model with another value of one key, for one class of pairs or all."""
        changed = [f"{pairs}:{key}"] if pairs else [key, *(f"{each}:{key}" for each in PAIRS)]
        fields: dict[str, Any] = {"assumed": tuple(old for old in self.assumed if old not in changed)}
        if key in OF_ALL:
            fields[key] = value
        elif key in LIMITS:
            fields["limits"] = self._with_limit(Limit(value, pairs, LIMITS[key]))
        else:
            rows = self.rows_of(pairs) if pairs else self.costs
            kept = [row for row in self.costs if pairs and row.pairs != pairs]
            fields["costs"] = (*kept, *(dataclasses.replace(row, **{"pairs": pairs or row.pairs, LETTERS[key]: value}) for row in rows))
        return dataclasses.replace(self, **fields)

    def _with_limit(self, new: Limit) -> tuple[Limit, ...]:
        """Return the limits, those of the class and kind of a new one replaced by it."""
        kept = [old for old in self.limits if new.pairs not in ("", old.pairs) or new.sends not in ("", old.sends)]
        above = [dataclasses.replace(new, pairs=old.pairs) for old in kept if old.pairs and not old.sends and not new.pairs]
        return (*kept, new, *above)

    def on(self, topology: Topology | None) -> Model:
        """Return the model of a machine of these links. Those of nodes are among them, so that its interfaces share nothing besides."""
        return dataclasses.replace(self, topology=topology, interfaces=NO_LIMIT if topology else self.interfaces)

    def letters(self, sent: Sent) -> Any:
        """Return the costs of messages: L, o_s, ... as attributes, one value for all or one per message."""
        return self.costs[0] if len(self.costs) == 1 else _table(self.costs)[self.row_of(sent)]

    def row_of(self, sent: Sent) -> I8:
        """Return the row of costs that each message meets."""
        size, pairs = np.broadcast_arrays(np.asarray(sent.bytes), np.asarray(sent.pairs))
        out = np.zeros(size.shape, "i8")
        for code, name in enumerate(_CLASSES) if len(self.costs) > 1 else ():
            which = pairs == code
            begin, row = _steps(self.costs, name)
            out[which] = row[np.searchsorted(begin, size[which], "right") - 1]
        return out

    def limit(self, sent: Sent) -> int | I8:
        """Return the eager limit of messages, bytes: one for all or one per message."""
        return self.S if len(self.limits) == 1 else _limits(self.limits)[np.asarray(sent.pairs), np.asarray(sent.sends)]

    def is_synchronous(self, sent: Sent) -> Mask:
        """Return which messages wait for their receiver.

        Standard and ready sends above the eager limit, every synchronous send, no buffered send.
        """
        mode = np.asarray(sent.mode)
        return ((np.asarray(sent.bytes) > self.limit(sent)) & ((mode == STANDARD) | (mode == READY))) | (mode == SYNCHRONOUS)

    def _handshakes(self, sent: Sent) -> Mask:
        """Return for which messages a REQ and an ACK travel."""
        return self.is_synchronous(sent) & (self.progress != POSTED)

    def is_in_place(self, sent: Sent) -> Mask:
        """Return which messages wait for their receiver to be in some call: eager ones above inline_bytes, if they move in calls only."""
        mode = np.asarray(sent.mode)
        usual = ((mode == STANDARD) | (mode == READY)) & (np.asarray(sent.bytes) <= self.limit(sent))
        return usual & (np.asarray(sent.bytes) > self.inline_bytes) & (self.progress == "in calls")

    def ready(self, sent: Sent) -> Nanoseconds:
        """Return the ns from the entry of a sending call until its receiver can go on.

        Eager: the message has arrived, o_s + k O_s + wire. Synchronous: its REQ has arrived, o_s + L. Once posted: as if eager, from when
        both ends are posted.
        """
        costs = self.letters(sent)
        return _rounded(np.where(self._handshakes(sent), costs.o_s + costs.L, _way(costs, sent.bytes)))

    def request(self, sent: Sent) -> Nanoseconds:
        """Return the ns a synchronous sender spends until its REQ has arrived: o_s + L (PerWiz paper, section 4).

        Once posted: until its message has arrived, and so does a receiver.
        """
        if self.progress == POSTED:
            return self.ready(sent)
        costs = self.letters(sent)
        return _rounded(costs.o_s + costs.L + np.zeros(np.shape(sent.bytes)))

    def send_work(self, sent: Sent) -> Nanoseconds:
        """Return the ns a sender works, waiting and `request` left out.

        Eager: o_s + k O_s. Synchronous: the ACK, then the same.
        """
        costs = self.letters(sent)
        eager = costs.o_s + np.asarray(sent.bytes) * costs.O_s
        return _rounded(np.where(self._handshakes(sent), self._acknowledgement(costs) + eager, eager))

    def receive_work(self, sent: Sent) -> Nanoseconds:
        """Return the ns a receiver works once it can go on, see `ready`.

        Eager: o_r + k O_r. Synchronous: the REQ is handled, the ACK travels, then the message: o_s + k O_s + wire + o_r + k O_r.
        """
        costs = self.letters(sent)
        eager = costs.o_r + np.asarray(sent.bytes) * costs.O_r
        message = _way(costs, sent.bytes) + eager
        handshake = self.request_overheads * costs.o_r + self._acknowledgement(costs)
        return _rounded(np.where(self._handshakes(sent), handshake + message, eager))

    def post_work(self, sent: Sent) -> tuple[Nanoseconds, Nanoseconds]:
        """Return the ns of calls that only post a send, o_s, and of those that only post its receive, o_r."""
        costs, none = self.letters(sent), np.zeros(np.shape(sent.bytes))
        return _rounded(costs.o_s + none), _rounded(costs.o_r + none)

    def gap_after(self, sent: Sent, k: ArrayLike) -> Nanoseconds:
        """Return the ns that must lie between the return of a sending call and that of the next one of its process.

        g + (k - 1) G for a call that sends k bytes in all, its largest message `sent`, or 0 if the model has no gap.
        """
        costs = self.letters(sent)
        return _rounded((costs.g + costs.G * _after_first(k)) * (self.gap == "sending call"))

    def leaves_after(self, sent: Sent) -> Nanoseconds:
        """Return the ns from the entry of a sending call until its message may leave the node, if its receive is posted.

        Eager: o_s + k O_s. Synchronous: the REQ has arrived and was handled, the ACK came back, then the same.
        """
        costs = self.letters(sent)
        return _rounded(np.where(self._handshakes(sent), costs.o_s + costs.L, 0) + self._behind_post(costs, sent))

    def leaves_after_post(self, sent: Sent) -> Nanoseconds:
        """Return the ns from the entry of the call that posts its receive until a message may leave the node of its sender."""
        return _rounded(self._behind_post(self.letters(sent), sent))

    def _behind_post(self, costs: Any, sent: Sent) -> Any:
        handshake = self.request_overheads * costs.o_r + self._acknowledgement(costs)
        return np.where(self._handshakes(sent), handshake, 0) + costs.o_s + np.asarray(sent.bytes) * costs.O_s

    def passage(self, sent: Sent) -> Nanoseconds:
        """Return the ns from when a message begins to leave a node until it begins to come in at another one: L."""
        return _rounded(self.letters(sent).L + np.zeros(np.shape(sent.bytes)))

    def occupancy(self, sent: Sent) -> Nanoseconds:
        """Return the ns for which a message has an interface of a node for itself: g + (k - 1) G."""
        costs = self.letters(sent)
        return _rounded(costs.g + costs.G * _after_first(sent.bytes))

    def _acknowledgement(self, costs: Any) -> Any:
        return self.acknowledge_overheads * (costs.o_s + costs.o_r) / 2 + costs.L


def inherited(costs: Iterable[Costs], pairs: str, from_bytes: int) -> Costs:
    """Return the row that holds for messages of a class and size where no row begins there; `costs` are sorted as in Model."""
    rows = [row for row in costs if (row.pairs == pairs and row.from_bytes < from_bytes) or (pairs and not row.pairs)]
    own = [row for row in rows if row.pairs == pairs]
    return own[-1] if own else [row for row in rows if row.from_bytes <= from_bytes][-1]


def _check_rows(what: str, places: list[tuple[str, Any]], first: tuple[str, Any]) -> None:
    if first not in places:
        raise ModelError(f"{what} lack a row of all messages, must have one")
    for place in places:
        if places.count(place) > 1:
            raise ModelError(f"{what} have several rows of {' '.join(filter(None, map(str, place)))}, must have one")


def _checked_keys(assumed: object) -> tuple[str, ...]:
    if not isinstance(assumed, list | tuple) or not all(isinstance(key, str) for key in assumed):
        raise ModelError(f"assumed is {shown(assumed)}, must be a list of keys")
    for key in assumed:
        pairs, colon, of_class = key.partition(":")
        if not (colon and pairs in PAIRS and of_class in OF_PAIRS) and key not in (*OF_PAIRS, *OF_ALL):
            raise ModelError(f"assumed has {unknown(key, (*OF_PAIRS, *OF_ALL))}")
    return tuple(assumed)


def _parse_changes(place: str, text: str) -> dict[tuple[str, str], str]:
    """Return the values of changes by (class of pairs, key)."""
    changes: dict[tuple[str, str], str] = {}
    for part in text.split(","):
        asked, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ModelError(f"{place}: {shown(part)}, must be KEY=VALUE,CLASS:KEY=VALUE")
        pairs, colon, key = asked.rpartition(":")
        if colon and pairs not in PAIRS:
            raise ModelError(f"{place}: has {unknown(pairs, PAIRS)}")
        keys = (*OF_PAIRS, *BOTH_ENDS)
        if colon and key in OF_ALL:
            raise ModelError(f"{place}: {key} is of all pairs, must be without {pairs}:")
        if key not in keys and key not in OF_ALL:
            raise ModelError(f"{place}: has {unknown(key, keys if colon else (*keys, *OF_ALL))}")
        if (pairs, key) in changes:
            raise ModelError(f"{place}: {asked} is {shown(changes[pairs, key])} and {shown(value)}, must be given once")
        changes[pairs, key] = value
    return changes


def _number_or_text(key: str, text: str) -> float | str:
    """Return the number a text stands for, or else the text, for `checked` to refuse."""
    try:
        return text if key in CHOICES else float(text)
    except ValueError:
        return text


@functools.lru_cache(maxsize=256)
def _table(costs: tuple[Costs, ...]) -> np.recarray[Any, Any]:
    names = [*LETTERS.values()]
    rows = [tuple(getattr(row, letter) for letter in names) for row in costs]
    return np.array(rows, [(letter, "i8" if letter == "s" else "f8") for letter in names]).view(np.recarray)


@functools.lru_cache(maxsize=256)
def _steps(costs: tuple[Costs, ...], pairs: str) -> tuple[I8, I8]:
    """Return the sizes from which the rows hold that messages of a class of pairs meet, and those rows."""
    own = [row for row in range(len(costs)) if costs[row].pairs == pairs]
    below = [row for row in range(len(costs)) if pairs and not costs[row].pairs]
    rows = [*(row for row in below if not own or costs[row].from_bytes < costs[own[0]].from_bytes), *own]
    return np.array([costs[row].from_bytes for row in rows], "i8"), np.array(rows, "i8")


@functools.lru_cache(maxsize=256)
def _limits(limits: tuple[Limit, ...]) -> I8:
    """Return the eager limit by pair class, as the rows of _CLASSES, and kind of send."""
    out = np.zeros((len(_CLASSES), len(SENDS)), "i8")
    for limit in sorted(limits, key=lambda limit: (limit.pairs != "", limit.sends != "")):
        rows = [limit.pairs in ("", pairs) for pairs in _CLASSES]
        out[np.ix_(rows, [limit.sends in ("", sends) for sends in SENDS])] = limit.S
    return out


def _way(costs: Any, k: ArrayLike) -> F8:
    """Return the ns from the entry of a sending call until its eager message has arrived."""
    after = _after_first(k)
    gaps = np.where(np.asarray(costs.s) > 0, after // np.maximum(costs.s, 1), 0)
    return np.asarray(costs.o_s + np.asarray(k) * costs.O_s + (costs.L + costs.G * after + costs.g * gaps))


def _after_first(k: ArrayLike) -> I8:
    return np.maximum(np.asarray(k, np.int64) - 1, 0)


def _rounded(cost: ArrayLike) -> Nanoseconds:
    """Return whole ns. Raises ModelError when that is beyond 2^53 (104 days), where floats no longer tell single ns."""
    whole = np.rint(cost)
    if np.any(whole > _LONGEST):
        raise ModelError(f"a message would cost {np.max(whole):.3g} ns, must be at most 2^53")
    return np.asarray(whole, np.int64)
