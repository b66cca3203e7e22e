"""A store as a whole: a directory with the file store.json, which says what is in it, and the columns that this names."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from typing import Any, TypeVar

from perwiz import __version__
from perwiz.errors import TraceError
from perwiz.formats.store import MARKER
from perwiz.formats.store.bounds import check_bounds
from perwiz.formats.store.checked import Checked
from perwiz.formats.store.columns import Column, Columns, Unfit
from perwiz.formats.store.records import Packer, Unpacker
from perwiz.formats.typed import NoJson, parsed
from perwiz.trace.operations import OPS
from perwiz.trace.resources import remembered
from perwiz.trace.tables import LINKS
from perwiz.trace.trace import Trace

_FORMAT, _VERSION = "perwiz store", 3
_SHOWN = 40
_MAKERS = ("kernels", "trace", "graph", "clock", "loggps", "engines", "whatif")
"""Folders whose code makes what is kept beside a trace."""
_T = TypeVar("_T")


@functools.cache
def made_by() -> str:
    """Return what tells this perwiz from one that could make other numbers of the same trace: its version, and a sum of its code."""
    house, code = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir), hashlib.sha256()
    for folder in _MAKERS:
        for inside, _, names in sorted(os.walk(os.path.join(house, folder))):
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(inside, name), "rb", buffering=0) as file:
                        code.update(file.readall())
    return f"{__version__} {code.hexdigest()[:16]}"


class Store:
    """A store that is open: its trace, and what else is kept beside that, by name."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.checked = Checked(path, made_by())
        self._content = content(path)
        sums = self._content.get("sums")
        self._columns = Columns(path, sums if isinstance(sums, dict) else {}, self.checked.before)
        self._unpacker = Unpacker(self._columns, {Trace: {"path": path, "format": "perwiz store"}})
        self.trace = self._unpacked(Trace, "trace")
        """The trace as it was written."""
        if not self.checked.before:
            check_bounds(self.trace)

    def head(self, name: str, fields: tuple[str, ...]) -> list[Any] | None:
        """Return some fields of what is kept beside the trace under a name, as JSON has them; None if nothing is, as `beside` says."""
        match self._content.get(name):
            case {"fields": dict(packed)} if self._content.get("perwiz") == made_by():
                return [packed.get(field) for field in fields]
        return None

    def outdated(self, name: str) -> bool:
        """Return whether another perwiz made what is kept beside the trace under a name, so that it is of no use to this one."""
        return name in self._content and self._content.get("perwiz") != made_by()

    def beside(self, kind: type[_T], name: str) -> _T | None:
        """Return what is kept beside the trace under a name; None if nothing is, or if another perwiz made it.

        Its numbers are of the types of its fields, and not checked any further. It is to be read in the order written, each once. Raises
        TraceError for anything else.
        """
        if name not in self._content or self.outdated(name):
            return None
        return self._unpacked(kind, name)

    def again(self, column: Column) -> Column:
        """Return a column of this store once more, for somebody who writes to it. Raises TraceError."""
        return self._columns.again(column)

    def _unpacked(self, kind: type[_T], name: str) -> _T:
        try:
            self._columns.ahead(f"{name}.")
            return self._unpacker.unpacked(kind, self._content.get(name))
        except Unfit as error:
            raise unfit(self.path, self._content, error) from None
        except TraceError as error:
            raise TraceError(str(error) if str(error).startswith(self.path) else f"{self.path}: {error}") from None
        except RecursionError:
            raise TraceError(f"{os.path.join(self.path, MARKER)}: lists in lists without end, must be what perwiz wrote") from None


def content(path: str) -> dict[str, Any]:
    """Return what is written in the file that says what is in a store. Raises TraceError."""
    name = os.path.join(path, MARKER)
    try:
        with open(name, encoding="utf-8", errors="surrogateescape") as file:
            told = parsed(file.read())
    except OSError as error:
        raise TraceError(f"{name}: {(error.strerror or str(error)).lower()}") from None
    except NoJson:
        raise TraceError(f"{name}: no JSON, must be what perwiz wrote") from None
    match told:
        case {"format": "perwiz store", "version": int(version), "numbers": str(numbers)} if (version, numbers) == (_VERSION, _numbers()):
            return dict(told)
        case {"format": "perwiz store"}:
            raise unfit(path, told, None)
    raise TraceError(f"{name}: of no store, must be what perwiz wrote")


def unfit(path: str, told: Mapping[str, Any], why: Unfit | None) -> TraceError:
    """Return the error of a store that is not what this perwiz writes: another one made it, which names itself and the trace; or `why`."""
    name, maker = os.path.join(path, MARKER), str(told.get("perwiz"))[:_SHOWN]
    if why is not None and maker == made_by():
        return TraceError(f"{name}: {why}")
    match told:
        case {"trace": {"fields": {"path": str(trace)}}}:
            again = f"perwiz convert {shlex.quote(trace)} {shlex.quote(path)}"
        case _:
            again = f"perwiz convert TRACE {shlex.quote(path)}"
    return TraceError(f"{name}: made by perwiz {maker}, this is {made_by()}, which keeps runs otherwise; must be made anew: {again}")


@functools.cache
def _numbers() -> str:
    """Return what tells what numbers of routines and kinds of links mean from what they mean to another perwiz."""
    return hashlib.sha256(repr((OPS, LINKS)).encode()).hexdigest()[:16]


@remembered(4)
def store_of(trace: Trace) -> Store | None:
    """Return the store that a trace was read from; None if it was not, or is another trace by now."""
    return None


def read(path: str) -> Trace:
    """Return the trace of a store, its columns mapped. Raises TraceError."""
    store = Store(path)
    store_of.tell(store, store.trace)
    return store.trace


def head() -> dict[str, Any]:
    """Return what the file that says what is in a store begins with."""
    return {"format": _FORMAT, "version": _VERSION, "numbers": _numbers(), "perwiz": made_by()}


def write(trace: Trace, path: str, beside: Mapping[str, Any] = {}) -> None:
    """Write a trace, and what else is to be kept beside it, by name, to a new directory."""
    os.mkdir(path)
    packer = Packer(path)
    told = {**head(), "trace": packer.packed(trace, "trace")}
    told |= {name: packer.packed(value, name) for name, value in beside.items()}
    told["sums"] = packer.sums
    with open(os.path.join(path, MARKER), "x", encoding="utf-8", newline="\n") as file:
        json.dump(told, file, separators=(",", ":"))
        file.write("\n")
