"""Records of a store: any frozen dataclass as JSON, its columns as files, and back, told by the annotations of its fields.

What is there twice is kept once, so that what was the same object is the same again: a table of two traces, a column of two records.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from perwiz.formats.store.columns import Column, Columns, Unfit, written
from perwiz.trace import arrays

_T = TypeVar("_T")
_SHOWN = 40
EMPTY = "no rows: "
"""Begins what stands for a column without rows, which has no file."""


class Packer:
    """Writes the columns of records to a directory, and makes JSON of all else."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._records: dict[int, tuple[Any, int]] = {}
        self._columns: dict[int, tuple[Column, str]] = {}
        self.sums: dict[str, int] = {}
        """Of the columns that were written, by the names of their files."""

    def packed(self, value: Any, place: str) -> Any:
        """Return what stands for a value in JSON; the files of its columns are named by its place, such as `trace`, and that in it."""
        if isinstance(value, np.generic):
            return value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray):
            return self._column(value, place)
        if isinstance(value, tuple):
            return [self.packed(each, f"{place}.{number}") for number, each in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: self.packed(each, f"{place}.{number}") for number, (key, each) in enumerate(value.items())}
        return self._record(value, place)

    def _record(self, value: Any, place: str) -> Any:
        if id(value) in self._records:
            return {"same": self._records[id(value)][1]}
        fields = {field.name: self.packed(getattr(value, field.name), f"{place}.{field.name}") for field in kept(type(value))}
        self._records[id(value)] = value, len(self._records)
        return {"fields": fields}

    def _column(self, values: Column, place: str) -> str:
        if id(values) not in self._columns:
            file = f"{EMPTY}{place}"
            if values.size or values.ndim > 1:
                file, found = written(self._folder, place, values)
                self.sums[file] = found
            self._columns[id(values)] = values, file
        return self._columns[id(values)][1]


class Unpacker:
    """Makes records of what `Packer` made of them."""

    def __init__(self, columns: Columns, told: Mapping[type, Mapping[str, Any]]) -> None:
        """`told` are fields, by kind of record, that have these values, whatever was written."""
        self._columns, self._told = columns, told
        self._records: list[Any] = []
        self._empty: dict[tuple[str, np.dtype[Any] | None], Column] = {}

    def unpacked(self, kind: type[_T], packed: Any) -> _T:
        """Return a value of a kind: one of those that fields of records are annotated with. Raises TraceError, and Unfit for another."""
        return typing.cast("_T", self._value(kind, packed, kind.__name__.lower()))

    def _value(self, kind: Any, packed: Any, place: str) -> Any:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if kind in (bool, int, float, str, types.NoneType):
            return _plain(kind, packed, place)
        if (element := arrays.element(kind)) is not None:
            return self._column(element, packed, place)
        if origin in (types.UnionType, typing.Union):
            fits = (one for one in arguments if type(packed) is one)
            return self._value(next(fits, arguments[0]), packed, place)
        if origin is typing.Literal:
            return packed if packed in arguments else _refuse(packed, f"one of {', '.join(map(str, arguments))}", place)
        if origin is tuple:
            return self._tuple(arguments, packed, place)
        if origin in (dict, Mapping):
            if not isinstance(packed, dict):
                _refuse(packed, "names and values", place)
            return {key: self._value(arguments[1], each, f"{place}.{key}") for key, each in packed.items()}
        return self._record(kind, packed, place)

    def _tuple(self, kinds: tuple[Any, ...], packed: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(packed, list):
            _refuse(packed, "a list", place)
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(packed)
        if len(kinds) != len(packed):
            _refuse(packed, f"a list of {len(kinds)}", place)
        return tuple(self._value(kind, each, place) for kind, each in zip(kinds, packed, strict=True))

    def _record(self, kind: Any, packed: Any, place: str) -> Any:
        match packed:
            case {"same": int(number)} if 0 <= number < len(self._records) and type(self._records[number]) is kind:
                return self._records[number]
            case {"fields": dict(fields)} if fields.keys() == (hints := _hints(kind)).keys():
                values = {name: self._value(hints[name], fields[name], f"{place}.{name}") for name in hints}
                made = kind(**{**values, **self._told.get(kind, {})})
                self._records.append(made)
                return made
        return _refuse(packed, f"the fields of {kind.__name__}", place)

    def _column(self, element: Any, packed: Any, place: str) -> Column:
        dtype = None if element is Any else np.dtype(element)
        if not isinstance(packed, str):
            _refuse(packed, "the name of a column", place)
        try:
            if packed.startswith(EMPTY):
                return self._empty.setdefault((packed, dtype), np.empty(0, dtype or "i8"))
            return self._columns.column(packed, dtype)
        except Unfit as error:
            raise Unfit(f"{place}: {error}") from None


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Return what the fields of a dataclass are annotated with."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        hints |= {name: _hint(base.__module__, text) for name, text in inspect.get_annotations(base).items()}
    return {field.name: hints[field.name] for field in kept(kind)}


@functools.cache
def _hint(module: str, text: str) -> Any:
    """Return what an annotation of a module says: as typing.get_type_hints, which compiles each as often as it occurs."""
    return eval(text, vars(sys.modules[module]))


def kept(kind: type) -> list[dataclasses.Field[Any]]:
    """Return the fields of a record that a store keeps: all but those declared to be of this process alone."""
    return [field for field in dataclasses.fields(kind) if field.metadata.get("kept", True)]


def _plain(kind: type, packed: Any, place: str) -> Any:
    if kind is float and type(packed) is int:
        return float(packed) if abs(packed) < 1 << 1000 else _refuse(packed, "a number", place)
    return packed if type(packed) is kind else _refuse(packed, kind.__name__, place)


def _refuse(packed: Any, must: str, place: str) -> Any:
    raise Unfit(f"{place} is {repr(packed)[:_SHOWN]}, must be {must}")
