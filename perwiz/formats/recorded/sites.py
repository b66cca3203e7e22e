"""Where calls were made: return addresses, resolved to functions and lines right after the run, while the program is still there."""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.recorded.definitions import Communicator, Module, Places
from perwiz.formats.recorded.files import Process, Rows, processes
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.kernels.recorded import SITE
from perwiz.trace.tables import NONE

FILE = "sites.json"
_PIECE = 1 << 20
_Module = tuple[str, str]
"""Path and build id."""


def _used(calls: Rows) -> NDArray[np.uint64]:
    """Return the addresses that occur."""
    parts = [np.unique(calls["site"][start : start + _PIECE]) for start in range(0, len(calls), _PIECE)]
    return np.unique(np.concatenate([np.empty(0, "u8"), *parts]))


def places(process: Process, addresses: NDArray[np.uint64]) -> list[tuple[_Module, int] | None]:
    """Return the module of each address, and its offset in that, as other processes have it too; None for an address in no module."""
    modules = sorted(process.of(Module), key=lambda module: module.begin)
    begins = [module.begin for module in modules]
    out: list[tuple[_Module, int] | None] = []
    for address in addresses.tolist():
        module = modules[k] if (k := bisect.bisect_right(begins, address) - 1) >= 0 else None
        out.append(((module.module, module.build_id), address - module.bias) if module and address < module.end else None)
    return out


def resolve(folder: str) -> int:
    """Write the places of all calls of a run into its directory; return how many there are. Without addr2line only modules are told."""
    wanted: dict[_Module, set[int]] = {}
    recorded = processes([folder], without=Communicator)
    for process in recorded:
        for calls in process.calls:
            for place in places(process, _used(calls)):
                if place:
                    wanted.setdefault(place[0], set()).add(place[1])
    listed: list[dict[str, Any]] = []
    for (path, build_id), offsets in sorted(wanted.items()):
        order = sorted(offsets)
        lines = dict(zip(map(str, order), _lines(_file(path, recorded[0].about.program), order), strict=True))
        listed.append({"module": path, "build_id": build_id, "places": lines})
    with open(os.path.join(folder, FILE), "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(listed, file, indent=1)
    return sum(map(len, wanted.values()))


def _file(path: str, program: list[str]) -> str:
    """Return the file of a module; SMPI runs copies of a program that are gone afterwards, named after it."""
    gone = re.fullmatch(r"(.+)_\d+_\d+\.so", os.path.basename(path)) if not os.path.exists(path) else None
    return next((word for word in program if gone and os.path.basename(word) == gone[1]), path)


def _lines(path: str, offsets: list[int]) -> list[str]:
    """Return `function (file:line)` for each offset. A return address stands behind its call, hence the byte less."""
    plain = [f"{os.path.basename(path)}+{offset:#x}" for offset in offsets]
    tool = shutil.which("addr2line")
    if not tool or not os.path.exists(path):
        return plain
    asked = "".join(f"{offset - 1:#x}\n" for offset in offsets)
    done = subprocess.run([tool, "-f", "-C", "-e", path], input=asked, capture_output=True, text=True, errors="replace", check=False)
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 2 * len(offsets):
        return plain
    return [_words(*both) for both in zip(lines[::2], lines[1::2], plain, strict=True)]


def _words(function: str, place: str, plain: str) -> str:
    file, _, line = place.partition(" (disc")[0].rpartition(":")
    if function == "??":
        return plain
    return f"{plain} {function}" if file in ("", "??") or line in ("", "?", "0") else f"{os.path.basename(file)}:{line} {function}"


class Sites:
    """Numbers the places that calls were made from, in order of first occurrence. What differs in nothing that is known is one place."""

    def __init__(self, told: Mapping[str, str]) -> None:
        """`told`: the texts of the files that were written right after the run, by path."""
        self._known: dict[tuple[_Module, int], str] = {}
        self.faults: list[str] = []
        """What could not be read, in words."""
        for file, text in told.items():
            try:
                self._known |= _places(text)
            except NoJson:
                self.faults.append(f"{file}: no JSON, must be what perwiz record wrote")
            except Mistyped as error:
                self.faults.append(f"{file}: {error}")
        self._number: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each."""
        return tuple(self._number)

    def place(self, process: Process, sites: Rows) -> None:
        """Number the addresses in the kernel's table, which are in the order in which the process met them; -1 for an unknown place."""
        numbers = sites["number"]
        new = np.flatnonzero(numbers < NONE)
        new = new[np.argsort(-numbers[new])]
        numbers[new] = [NONE if place is None else self._of(*place) for place in places(process, sites["address"][new])]

    def of(self, process: Process, addresses: NDArray[np.uint64]) -> list[str]:
        """Return the text of some addresses, nothing for an unknown place."""
        return ["" if place is None else self._text(*place) for place in places(process, addresses)]

    def _text(self, module: _Module, offset: int) -> str:
        return self._known.get((module, offset)) or f"{os.path.basename(module[0])}+{offset:#x}"

    def _of(self, module: _Module, offset: int) -> int:
        return self._number.setdefault(self._text(module, offset), len(self._number))


def told_of(folders: list[str]) -> dict[str, str]:
    """Return the texts of the files in directories that tell places, by path."""
    out = {}
    for file in (os.path.join(folder, FILE) for folder in folders):
        with contextlib.suppress(FileNotFoundError), open(file, encoding="utf-8", errors="surrogateescape") as stream:
            out[file] = stream.read()
    return out


def _places(text: str) -> dict[tuple[_Module, int], str]:
    """Return the texts of places. Raises what `parsed` and `typed` raise."""
    modules = typed(parsed(text), list[Places])
    return {((module.module, module.build_id), offset): text for module in modules for offset, text in module.places.items()}


def roomy(sites: Rows) -> Rows:
    """Return the kernel's table of addresses with twice the room."""
    out = np.zeros(2 * len(sites), SITE).view(np.recarray)
    mask = len(out) - 1
    for address, number in sites[sites["address"] > 0].tolist():
        slot = (address ^ address >> 7 ^ address >> 17) & mask
        while out["address"][slot]:
            slot = (slot + 1) & mask
        out[slot] = address, number
    return out
