"""What the files beside the records say: what types and values of events mean (.pcf), how nodes and threads are called (.row)."""

from __future__ import annotations

import os
import re

from perwiz.formats.paraver import codes
from perwiz.formats.source import content

_MOST = 1 << 26
"""Bytes of a file beside the records, at most."""
_TYPE = re.compile(r"\s*\d+\s+(\d{1,18})\s+(.*)")
_VALUE = re.compile(r"\s*(-?\d{1,18})\s+(.*)")
_LEVEL = re.compile(r"LEVEL\s+(\w+)\s+SIZE\s+(\d{1,9})")


class Labels:
    """The names of types of events, of their values, and of nodes and threads; none of what the files do not say, or are not there."""

    def __init__(self, configuration: str, names: str) -> None:
        self.types: dict[int, str] = {}
        self.values: dict[int, dict[int, str]] = {}
        self.rows: dict[str, list[str]] = {}
        self._read_types(_lines(configuration))
        self._read_rows(_lines(names))

    def value(self, kind: int, value: int) -> str:
        """Return the name of a value of a type, that number if it has none."""
        return self.values.get(kind, {}).get(value) or str(value)

    def routine(self, value: int) -> str:
        """Return the name of the routine of CUDA or HIP whose calls begin with a value; empty for one that is not known."""
        named = (self.values.get(kind, {}).get(value) for kind in codes.DEVICE_CALLS)
        known = codes.ROUTINES_OF_DEVICES.get(value)
        return next(filter(None, named), f"cuda{known}" if known else "")

    @property
    def calls_of_devices(self) -> tuple[int, ...]:
        """Types of events of their routines: what older versions of Extrae call so, newer ones call a copy."""
        copies = "transfer" in self.types.get(codes.TRANSFERS[0], "")
        return tuple(kind for kind in codes.DEVICE_CALLS if not (copies and kind in codes.TRANSFERS))

    def _read_types(self, lines: list[str]) -> None:
        """Take the types of each block, and the values that all types of a block share."""
        kinds: list[int] = []
        section = ""
        for line in lines:
            word = line.strip()
            if word.isupper() and word.replace("_", "").isalpha():
                section, kinds = word, kinds if word == "VALUES" else []
            elif section == "EVENT_TYPE" and (found := _TYPE.fullmatch(line)):
                kinds.append(int(found[1]))
                self.types[int(found[1])] = found[2].strip()
            elif section == "VALUES" and (found := _VALUE.fullmatch(line)):
                for kind in kinds:
                    self.values.setdefault(kind, {})[int(found[1])] = found[2].strip()

    def _read_rows(self, lines: list[str]) -> None:
        level: list[str] = []
        left = 0
        for line in lines:
            if found := _LEVEL.match(line):
                level, left = self.rows.setdefault(found[1], []), int(found[2])
            elif left:
                level.append(line.strip())
                left -= 1


def _lines(path: str) -> list[str]:
    """Return the lines of a file; none if it is not there. Raises TraceError for one that cannot be read or is too large."""
    if not os.path.exists(path):
        return []
    return content(path, _MOST, "text").decode("utf-8", "replace").splitlines()
