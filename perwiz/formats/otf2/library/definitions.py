"""The arguments of each kind of definition, as its callback takes them behind the user data and its writer behind itself."""

from __future__ import annotations

import ctypes
from typing import Any

from perwiz.formats.otf2.library.binding import INT64, TEXT, UINT8, UINT32, UINT64

_NUMBERS, _WIDE = ctypes.POINTER(UINT32), ctypes.POINTER(UINT64)
LISTS = (_NUMBERS, _WIDE)
"""Types of lists; their length is the argument before."""
DEFINITIONS: dict[str, tuple[Any, ...]] = {
    "ClockProperties": (UINT64, UINT64, UINT64, UINT64),
    "String": (UINT32, TEXT),
    "Attribute": (UINT32, UINT32, UINT32, UINT8),
    "Paradigm": (UINT8, UINT32, UINT8),
    "SystemTreeNode": (UINT32, UINT32, UINT32, UINT32),
    "SystemTreeNodeProperty": (UINT32, UINT32, UINT8, UINT64),
    "LocationGroup": (UINT32, UINT32, UINT8, UINT32, UINT32),
    "Location": (UINT64, UINT32, UINT8, UINT64, UINT32),
    "Region": (UINT32, UINT32, UINT32, UINT32, UINT8, UINT8, UINT32, UINT32, UINT32, UINT32),
    "Group": (UINT32, UINT32, UINT8, UINT8, UINT32, UINT32, _WIDE),
    "Comm": (UINT32, UINT32, UINT32, UINT32, UINT32),
    "InterComm": (UINT32, UINT32, UINT32, UINT32, UINT32, UINT32),
    "Parameter": (UINT32, UINT32, UINT8),
    "MetricMember": (UINT32, UINT32, UINT32, UINT8, UINT8, UINT8, UINT8, INT64, UINT32),
    "MetricClass": (UINT32, UINT8, _NUMBERS, UINT8, UINT8),
    "MetricInstance": (UINT32, UINT32, UINT64, UINT8, UINT64),
    "CartDimension": (UINT32, UINT32, UINT32, UINT8),
    "CartTopology": (UINT32, UINT32, UINT32, UINT8, _NUMBERS),
    "CartCoordinate": (UINT32, UINT32, UINT8, _NUMBERS),
    "RmaWin": (UINT32, UINT32, UINT32, UINT32),
}
"""As in the tuples of perwiz.formats.otf2.definitions, but for a list and its length."""
