"""Operators, annotations and kernels as instances of regions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.device import Device
from perwiz.formats.kineto.events import ANNOTATION, OPERATOR
from perwiz.formats.kineto.rank import Rank
from perwiz.kernels import inside
from perwiz.trace.arrays import I4, I8


class Instances(NamedTuple):
    """Instances of a rank, in order of (location, entry): names are numbers in `Names`, parents rows."""

    location: I4
    name: I4
    enter: I8
    leave: I8
    parent: I4


class Names:
    """The names of regions, over all ranks."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def all(self) -> tuple[str, ...]:
        """Return the names by their numbers."""
        return tuple(self._rows)

    def of(self, texts: list[str]) -> I4:
        """Return the number of each name."""
        return np.array([self._rows.setdefault(text, len(self._rows)) for text in texts], "i4")


def instances(rank: Rank, device: Device, hidden: I8, known: Names) -> Instances:
    """Return the operators and annotations of a rank, but those that are calls, and what its streams compute and copy."""
    at = rank.chosen(OPERATOR, ANNOTATION)
    at = at.take(~np.isin(at.row, hidden))
    ran, computes = device.ran, np.flatnonzero(device.ran.op < 0)
    of_host, of_device = (np.unique(name, return_inverse=True) for name in (at.name, ran.at.name[computes]))
    host = known.of([names.region(rank.texts.text(int(k))) for k in of_host[0].tolist()])[of_host[1].ravel()]
    kernels = known.of([names.kernel(rank.texts.text(int(k))) for k in of_device[0].tolist()])[of_device[1].ravel()]
    location = np.concatenate([at.location, ran.at.location[computes]])
    name = np.concatenate([host, kernels])
    enter = np.concatenate([at.enter, ran.begin[computes]])
    leave = np.concatenate([at.leave, ran.end[computes]])
    parent = np.empty(len(location), "i4")
    inside.parents(location, enter, leave, np.empty(len(location), "i4"), parent)
    return Instances(location, name, enter, leave, parent)
