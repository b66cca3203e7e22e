"""A machine as a question starts from it: its model, what told it, and what nothing tells."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from perwiz.errors import ModelError
from perwiz.loggps.keys import CHOICES, LIMITS, NO_LIMIT, OF_ALL, OF_PAIRS, checked_pairs, of_class, shown
from perwiz.loggps.model import Model

_KEYS = ("key", "pairs", "ends", "why")


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What was found for one key of the model."""

    key: str
    """As in a model file."""
    pairs: str
    """Class of pairs, "" for all."""
    value: float | int | str
    telling: int
    """Messages, or instances of collectives, that tell it."""
    against: int
    """Those that contradict it."""
    error: float | None = None
    """Standard error of a cost, ns or ns per byte, if they tell it."""

    @property
    def place(self) -> str:
        """The key as changes of a model name it, with its class of pairs."""
        return of_class(self.pairs, self.key)


@dataclasses.dataclass(frozen=True)
class Unknown:
    """What the evidence does not tell about the machine."""

    key: str
    """As in a model file."""
    pairs: str
    """Class of pairs, "" for all."""
    ends: tuple[str, ...]
    """What is possible at most and at least: changes as `Model.with_changes` takes them; the model's own value is one between."""
    why: str
    """In words, such as: no receiver came late for a message of more than 4040 bytes."""

    @property
    def place(self) -> str:
        """The key as changes of a model name it, with its class of pairs."""
        return of_class(self.pairs, self.key)

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the key itself at the ends."""
        changes = (change.partition("=") for end in self.ends for change in end.split(","))
        return tuple(value for key, _, value in changes if key == self.place)

    @property
    def between(self) -> str:
        """Between which values the key lies, in words; empty if nothing bounds it."""
        if self.key in CHOICES:
            return " or ".join(sorted(self.values))
        ends = sorted(self.values, key=float)
        return f"from {ends[0]} to {'any size' if float(ends[1]) >= NO_LIMIT else ends[1]}" if ends else ""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A model and where it comes from. One that was given whole has no estimates; its file may say what is unknown."""

    model: Model
    estimates: tuple[Estimate, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    given: bool = False
    """The model was given whole: the trace may contradict it."""
    off: tuple[Model, ...] = ()
    """The model if one of the costs that were fitted were smaller by its standard error, for each."""

    def with_changes(self, changes: str) -> Machine:
        """Return a machine whose model is changed; what is changed has no estimate, and is not unknown. Raises ModelError."""
        model = self.model.with_changes(changes)
        given = [_kind(*part.partition("=")[0].strip().rpartition(":")[::2]) for part in changes.split(",")]

        def told(known: Estimate | Unknown) -> bool:
            pairs, key = _kind(known.pairs, known.key)
            return any(of in ("", pairs) and key.startswith(name) for of, name in given)

        return dataclasses.replace(
            self,
            model=model,
            estimates=tuple(known for known in self.estimates if not told(known)),
            unknown=tuple(unknown for unknown in self.unknown if not told(unknown)),
            off=tuple(other for each in self.off if (other := each.with_changes(changes)).costs != model.costs),
        )


def _kind(pairs: str, key: str) -> tuple[str, str]:
    """Return the class of pairs and how all keys begin that a change of this one settles: S of S_blocking_bytes, o_ of o_s_ns."""
    key = key.replace("_bytes", "") if key in LIMITS else key
    return pairs, {"o_ns": "o_", "O_ns_per_byte": "O_"}.get(key, key)


def written(unknown: Iterable[Unknown]) -> list[str]:
    """Return the lines of a model file that say what is unknown, tables [[unknown]]."""
    lines = []
    for each in unknown:
        values = dataclasses.asdict(each)
        lines += ["", "[[unknown]]", *(f"{key} = {json.dumps(values[key], ensure_ascii=False)}" for key in _KEYS)]
    return lines


def parsed(tables: Any, model: Model) -> tuple[Unknown, ...]:
    """Return what the tables [[unknown]] of a parsed file of a model say. Raises ModelError."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ModelError(f"unknown is {shown(tables)}, must be tables [[unknown]]")
    out: list[Unknown] = []
    for number, table in enumerate(tables, start=1):
        try:
            out.append(_parsed(table, model, {(each.pairs, each.key) for each in out if each.ends}))
        except ModelError as error:
            raise ModelError(f"[[unknown]] {number}: {error}") from None
    return tuple(out)


def _parsed(table: dict[str, Any], model: Model, before: set[tuple[str, str]]) -> Unknown:
    if sorted(table) != sorted(_KEYS):
        raise ModelError(f"has {', '.join(sorted(table)) or 'nothing'}, must have {', '.join(_KEYS)}")
    key, pairs, ends, why = (table[name] for name in _KEYS)
    checked_pairs(pairs, also="")
    known = (*OF_PAIRS, *OF_ALL, "collectives")
    if not isinstance(key, str) or key not in known:
        raise ModelError(f"key is {shown(key)}, must be one of {', '.join(known)}")
    if not isinstance(why, str):
        raise ModelError(f"why is {shown(why)}, must be text")
    if not isinstance(ends, list) or len(ends) not in (0, 2) or not all(isinstance(end, str) for end in ends):
        raise ModelError(f"ends is {shown(ends)}, must be none or two changes of the model")
    if (pairs, key) in before:
        raise ModelError(f"{key} is there twice, must be there once")
    for end in ends:
        model.with_changes(end)
    return Unknown(key, pairs, tuple(ends), why)
