"""The LogGPS model of one machine: seven parameters, five readings of the model, and what messages cost under them.

One TOML file per machine, every key mandatory, units in the keys. Costs are added up as floats and rounded once to int64 ns.
"""

from __future__ import annotations

import dataclasses
import difflib
import numbers
import pathlib
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perwiz.errors import ModelError
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.operations import COLLECTIVE, OPS
from perwiz.trace.tables import READY, STANDARD, SYNCHRONOUS

Nanoseconds = I8

PARAMETERS = {"L_ns": "L", "o_ns": "o", "g_ns": "g", "G_ns_per_byte": "G", "O_ns_per_byte": "O", "S_bytes": "S", "s_bytes": "s"}
"""Keys of the table [parameters], and the letter each stands for."""
CONVENTIONS = ("request_overheads", "acknowledge_overheads", "gap", "progress", "per_byte")
"""Keys of the table [conventions]."""
CHOICES = {"gap": ("sending call", "none"), "progress": ("always", "in calls"), "per_byte": ("both ends", "sender", "receiver")}
"""Values of the conventions that are words."""

_FIELD = {**PARAMETERS, **{key: key for key in CONVENTIONS}}
_WHOLE = ("S_bytes", "s_bytes", "request_overheads", "acknowledge_overheads")
_LARGEST = 1e12
_LONGEST = 2.0**53
_BARRIER = np.array([name.lower().endswith("barrier") for name in OPS])
_ALLTOALL = np.array(["alltoall" in name.lower() for name in OPS])


@dataclasses.dataclass(frozen=True)
class Model:
    """A machine under LogGPS. L, o, g in ns, G and O in ns per byte, S and s in bytes; letters as in Ino et al., PPoPP 2001.

    Costs take `k`, the bytes of each message, and give an int64 array of ns as long. A message of k bytes costs its sender Os = k O and
    its receiver Or = k O if `per_byte` says so, and is on the wire for L + (k - 1) G, with g between packets of s bytes.
    Raises ModelError when a value has another type or range than its key allows, or `assumed` names something else than a key.
    """

    name: str
    source: str
    assumed: tuple[str, ...]
    """Keys whose value the source does not give."""
    L: float
    o: float
    g: float
    G: float
    O: float  # noqa: E741 - the letter of LogGOPS
    S: int
    s: int
    """Packet size, or 0: messages are never split."""
    request_overheads: int
    """How many o it takes to handle a REQ."""
    acknowledge_overheads: int
    """How many o an ACK takes at both ends together."""
    gap: str
    """What keeps consecutive sends of a process apart: the sending call waits, or nothing."""
    progress: str
    """When a rendezvous may proceed: always, or only while the receiver is in calls."""
    per_byte: str
    """Who pays O."""

    def __post_init__(self) -> None:
        for key, field in _FIELD.items():
            object.__setattr__(self, field, _checked(key, getattr(self, field)))
        for key in ("name", "source"):
            text = getattr(self, key)
            if not isinstance(text, str) or not text or not text.isprintable():
                raise ModelError(f"{key} is {_shown(text)}, must be a line of text")
        object.__setattr__(self, "assumed", _checked_keys(self.assumed))

    def parameters(self) -> dict[str, float | int | str]:
        """Return all parameters and conventions under the keys of the model file."""
        return {key: getattr(self, field) for key, field in _FIELD.items()}

    def with_changes(self, text: str) -> Model:
        """Return a copy changed by `KEY=VALUE,KEY=VALUE`, keys as in the model file; its name tells the changes.

        A changed key is no longer `assumed`. Raises ModelError naming the first part that cannot be used.
        """
        place = f"change of model {self.name}"
        changes = _parse_changes(place, text)
        shown = ",".join(f"{key}={value}" for key, value in changes.items())
        values = {_FIELD[key]: _number_or_text(key, value) for key, value in changes.items()}
        kept = tuple(key for key in self.assumed if key not in changes)
        return _placed(place, {**vars(self), **values, "assumed": kept, "name": f"{self.name} with {shown}"})

    def is_synchronous(self, k: ArrayLike, mode: ArrayLike) -> Mask:
        """Return which messages wait for their receiver; `mode` as in Messages.mode.

        Standard and ready sends above S, every synchronous send, no buffered send.
        """
        mode = np.asarray(mode)
        return ((np.asarray(k) > self.S) & ((mode == STANDARD) | (mode == READY))) | (mode == SYNCHRONOUS)

    def ready(self, k: ArrayLike, synchronous: ArrayLike) -> Nanoseconds:
        """Return the ns from the entry of a sending call until its receiver can go on.

        Eager: the message has arrived, o + Os + wire. Synchronous: its REQ has arrived, o + L.
        """
        eager = self.o + self._per_byte(k, "sender") + self._wire(k)
        return _rounded(np.where(synchronous, self.o + self.L, eager))

    def request(self) -> int:
        """Return the ns a synchronous sender spends until its REQ has arrived: o + L (PerWiz paper, section 4)."""
        return int(_rounded(self.o + self.L))

    def send_work(self, k: ArrayLike, synchronous: ArrayLike) -> Nanoseconds:
        """Return the ns a sender works, waiting and `request` left out.

        Eager: o + Os. Synchronous: the ACK, then o + Os.
        """
        eager = self.o + self._per_byte(k, "sender")
        return _rounded(np.where(synchronous, self._acknowledgement() + eager, eager))

    def receive_work(self, k: ArrayLike, synchronous: ArrayLike) -> Nanoseconds:
        """Return the ns a receiver works once it can go on, see `ready`.

        Eager: o + Or. Synchronous: the REQ is handled, the ACK travels, then the message: o + Os + wire + o + Or.
        """
        eager = self.o + self._per_byte(k, "receiver")
        message = self.o + self._per_byte(k, "sender") + self._wire(k) + eager
        return _rounded(np.where(synchronous, self.request_overheads * self.o + self._acknowledgement() + message, eager))

    def post_work(self) -> int:
        """Return the ns of a call that only posts a request: o."""
        return int(_rounded(self.o))

    def gap_after(self, k: ArrayLike) -> Nanoseconds:
        """Return the ns that must lie between the return of a sending call and that of the next one of its process.

        g + (k - 1) G for a message of k bytes, or 0 if the model has no gap.
        """
        return _rounded((self.g + self.G * _after_first(k)) * (self.gap == "sending call"))

    def collective_work(self, op: ArrayLike, size: ArrayLike, k: ArrayLike) -> Nanoseconds:
        """Return the ns of one rank's part of collectives; `op` a row of OPS, `size` ranks, `k` the larger of bytes sent and received.

        With a = 2 o + L and lg = ceil(log2 size): barriers lg a; alltoall, alltoallv, alltoallw (size - 1) a + k G (pairwise exchange);
        all others lg (a + k G) (a tree that moves all bytes each round, too much where rounds split them). Alone, or no collective: 0.
        """
        op, ranks = np.asarray(op), np.asarray(size)
        alpha = 2 * self.o + self.L
        moved = np.where(_BARRIER[op], 0.0, np.asarray(k) * self.G)
        rounds = np.frexp(ranks - 1.0)[1]
        cost = np.where(_ALLTOALL[op], (ranks - 1) * alpha + moved, rounds * (alpha + moved))
        return _rounded(np.where(COLLECTIVE[op] & (ranks > 1), cost, 0.0))

    def _wire(self, k: ArrayLike) -> F8:
        gaps = _after_first(k) // self.s if self.s else 0
        return self.L + self.G * _after_first(k) + self.g * gaps

    def _acknowledgement(self) -> float:
        return self.acknowledge_overheads * self.o + self.L

    def _per_byte(self, k: ArrayLike, end: str) -> F8:
        return np.asarray(k) * (self.O if self.per_byte in ("both ends", end) else 0.0)


def names() -> list[str]:
    """Return the names of the shipped models, sorted."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def load(name_or_file: str) -> Model:
    """Return a shipped model by its name, or the one in a TOML file (anything with a slash or ending in .toml).

    Raises ModelError naming the file, the key, what is there and what must be.
    """
    if "/" in name_or_file or name_or_file.endswith(".toml"):
        return _placed(name_or_file, _flattened(name_or_file, _parsed(name_or_file)))
    if name_or_file not in names():
        raise ModelError(f"no model {_shown(name_or_file)}, must be one of {', '.join(names())}, or a path to a .toml file")
    return load(str(_folder() / f"{name_or_file}.toml"))


def _folder() -> pathlib.Path:
    """Return the folder of the shipped models: inside the installed package, or beside it in a source tree."""
    package = pathlib.Path(__file__).resolve().parents[1]
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def _parsed(file: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror}, must be a model file") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file}: {error}, must be TOML") from error


def _flattened(file: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a parsed model file by field of Model, its keys checked."""
    _check_keys(f"{file}: top level", content, ("name", "source", "assumed", "parameters", "conventions"))
    for table, keys in (("parameters", tuple(PARAMETERS)), ("conventions", CONVENTIONS)):
        if not isinstance(content[table], dict):
            raise ModelError(f"{file}: {table} is {_shown(content[table])}, must be a table [{table}]")
        _check_keys(f"{file}: [{table}]", content[table], keys)
    values = {_FIELD[key]: value for table in ("parameters", "conventions") for key, value in content[table].items()}
    return {**values, **{key: content[key] for key in ("name", "source", "assumed")}}


def _placed(place: str, values: Mapping[str, Any]) -> Model:
    """Return the model of these values; an error names the place they come from."""
    try:
        return Model(**values)
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from None


def _check_keys(place: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise ModelError(f"{place} has {_unknown(key, keys)}")
    lacking = [key for key in keys if key not in table]
    if lacking:
        raise ModelError(f"{place} lacks {', '.join(lacking)}, must have all of {', '.join(keys)}")


def _checked_keys(assumed: object) -> tuple[str, ...]:
    if not isinstance(assumed, list | tuple) or not all(isinstance(key, str) for key in assumed):
        raise ModelError(f"assumed is {_shown(assumed)}, must be a list of keys")
    for key in assumed:
        if key not in _FIELD:
            raise ModelError(f"assumed has {_unknown(key, _FIELD)}")
    return tuple(assumed)


def _checked(key: str, value: Any) -> float | int | str:
    """Return the value in the type of its key."""
    if key in CHOICES:
        if value not in CHOICES[key]:
            raise ModelError(f"{key} is {_shown(value)}, must be {' or '.join(map(repr, CHOICES[key]))}")
        return str(value)
    whole = key in _WHOLE
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= _LARGEST or (whole and value % 1):
        raise ModelError(f"{key} is {_shown(value)}, must be a {'whole ' if whole else ''}number from 0 to {_LARGEST:g}")
    return int(value) if whole else float(value)


def _parse_changes(place: str, text: str) -> dict[str, str]:
    changes: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ModelError(f"{place}: {_shown(part)}, must be KEY=VALUE,KEY=VALUE")
        if key not in _FIELD:
            raise ModelError(f"{place}: has {_unknown(key, _FIELD)}")
        if key in changes:
            raise ModelError(f"{place}: {key} is {_shown(changes[key])} and {_shown(value)}, must be given once")
        changes[key] = value
    return changes


def _number_or_text(key: str, text: str) -> float | str:
    """Return the number a text stands for, or else the text, for `_checked` to refuse."""
    try:
        return text if key in CHOICES else float(text)
    except ValueError:
        return text


def _unknown(key: str, keys: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, list(keys), n=1)
    return f"{_shown(key)}, must be one of {', '.join(keys)}" + (f"; did you mean {close[0]}?" if close else "")


def _shown(value: object) -> str:
    """Return a short text for a value of any type."""
    try:
        return reprlib.repr(value)
    except ValueError:
        return "an integer of thousands of digits"


def _after_first(k: ArrayLike) -> I8:
    return np.maximum(np.asarray(k, np.int64) - 1, 0)


def _rounded(cost: ArrayLike) -> Nanoseconds:
    """Return whole ns. Raises ModelError when that is beyond 2^53 (104 days), where floats no longer tell single ns."""
    whole = np.rint(cost)
    if np.any(whole > _LONGEST):
        raise ModelError(f"a message or collective would cost {np.max(whole):.3g} ns, must be at most 2^53")
    return np.asarray(whole, np.int64)
