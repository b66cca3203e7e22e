"""What all locations of an OTF2 archive recorded, as whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.otf2_location import CALLS, MESSAGES, REGIONS, REQUESTS
from perwiz.trace.otf2_places import Places

_COUNT = {"call": CALLS, "region": REGIONS, "message": MESSAGES, "request": REQUESTS}


class Columns:
    """Takes the arrays of the locations, in their order, and gives each away once, joined."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def state(self, key: int) -> NDArray[np.int64]:
        """Return one number of each location's state."""
        return np.array([one.arrays["state"][key] for one in self._places.recorded], "i8")

    def sizes(self, prefix: str) -> NDArray[np.int64]:
        """Return how many rows of a kind each location has."""
        return self.state(_COUNT[prefix])

    def starts(self, prefix: str) -> NDArray[np.int64]:
        """Return where the rows of each location begin, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.sizes(prefix))]).astype("i8")

    def locations(self, prefix: str) -> NDArray[np.int32]:
        """Return the location of each row of a kind."""
        sizes = self.sizes(prefix)
        return np.repeat(np.arange(len(sizes), dtype="i4"), sizes)

    def take(self, name: str) -> NDArray[Any]:
        """Return a column of all locations."""
        parts = [one.arrays.pop(name) for one in self._places.recorded]
        return np.concatenate(parts) if parts else np.empty(0, "i8")

    def shifted(self, name: str, by: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return a column of rows that count from 0 on each location, as rows of the whole; -1 stays. `by` as `starts` returns it."""
        out = self.take(name).astype("i4", copy=False)
        sizes = self.sizes(name.partition(".")[0])
        out += np.repeat(by[: len(sizes)].astype("i4"), sizes) * (out >= 0)
        return out

    def times(self, name: str) -> NDArray[np.int64]:
        """Return a column of ticks as ns since the start of the trace."""
        return self._places.nanoseconds(self.take(name))
