"""Where calls were made: return addresses, resolved to functions and lines right after the run, while the program is still there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.recorded_files import Process, Rows, processes

FILE = "sites.json"
_PIECE = 1 << 20
_Module = tuple[str, str]
"""Path and build id."""


def _used(calls: Rows) -> NDArray[np.uint64]:
    """Return the addresses that occur."""
    parts = [np.unique(calls["site"][at : at + _PIECE]) for at in range(0, len(calls), _PIECE)]
    return np.unique(np.concatenate([np.empty(0, "u8"), *parts]))


def places(process: Process, addresses: NDArray[np.uint64]) -> list[tuple[_Module, int] | None]:
    """Return the module of each address, and its offset in that, as other processes have it too; None for an address in no module."""
    modules = process.of("module")
    out: list[tuple[_Module, int] | None] = []
    for address in addresses.tolist():
        found = next((one for one in modules if one["begin"] <= address < one["end"]), None)
        out.append(((found["module"], found["build_id"]), address - found["bias"]) if found else None)
    return out


def resolve(folder: str) -> int:
    """Write the places of all calls of a run into its directory; return how many there are. Without addr2line only modules are told."""
    wanted: dict[_Module, set[int]] = {}
    for process in processes([folder]):
        for calls in process.calls:
            for place in places(process, _used(calls)):
                if place:
                    wanted.setdefault(place[0], set()).add(place[1])
    listed: list[dict[str, Any]] = []
    for (path, build_id), offsets in sorted(wanted.items()):
        order = sorted(offsets)
        lines = dict(zip(map(str, order), _lines(path, order), strict=True))
        listed.append({"module": path, "build_id": build_id, "places": lines})
    with open(os.path.join(folder, FILE), "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(listed, file, indent=1)
    return sum(map(len, wanted.values()))


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
    return function if file in ("", "??") or line in ("", "?", "0") else f"{function} ({file}:{line})"


def sites(path: str, *more: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the call site of every call of a recorded run, int32, and the text of each; -1 where it is not known."""
    known: dict[tuple[str, str, str], str] = {}
    for folder in (path, *more):
        if os.path.exists(os.path.join(folder, FILE)):
            with open(os.path.join(folder, FILE), encoding="utf-8", errors="surrogateescape") as file:
                known |= {(one["module"], one["build_id"], at): text for one in json.load(file) for at, text in one["places"].items()}
    numbers: dict[str, int] = {}
    parts = [_of(process, calls, known, numbers) for process in processes([path, *more]) for calls in process.calls]
    return np.concatenate([np.empty(0, "i4"), *parts]), tuple(numbers)


def _of(process: Process, calls: Rows, known: dict[tuple[str, str, str], str], numbers: dict[str, int]) -> NDArray[np.int32]:
    """Return the number of the text of each call of one location, as the trace has them."""
    names = process.about["operations"]
    kept = np.array([name.startswith("MPI_") for name in names], bool)[calls["op"]] & (calls["leave"] != 0)
    addresses = _used(calls)
    text = [known.get((*place[0], str(place[1]))) if place else None for place in places(process, addresses)]
    number = np.array([-1 if one is None else numbers.setdefault(one, len(numbers)) for one in text], "i4")
    return number[np.searchsorted(addresses, calls["site"][kept])] if len(addresses) else np.empty(0, "i4")
