"""What every pass of the controlled logical clock goes by: control variables, latencies, and when to stop (Becker et al. 2009, 5.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels import clock_backward
from perwiz.trace.arrays import I8

STRETCH = 100
"""A jump is worked off over so many times its height before it: a clock error rate of 1 %."""
GAMMAS = (0.99999, 0.9999, 0.999, 0.8991, 0.80919)
"""Control variable pass by pass."""
_ERROR = 0.01
"""Part of its location's run a clock may be put forward by before the next control variable is tried: more may be an avalanche, in which
corrections push each other. (Scalasca's 5 % of the last event let the makespan of traces/p_m3 grow by 4 %.)"""


@dataclasses.dataclass(frozen=True)
class Amortized:
    """What the passes came to, beside the corrected times."""

    gamma: float
    passes: int
    by_message: int
    by_collective: int
    by_link: int
    slope: float

    @property
    def jumps(self) -> int:
        """How often clocks were put forward."""
        return self.by_message + self.by_collective + self.by_link


def chosen(once: Callable[[float], float], gammas: tuple[float, ...]) -> tuple[float, int]:
    """Return (gamma, passes) after passes until the error is small; `once` does one and returns the error.

    If it never is small: the largest gamma that is nearly as good as any, of which the last pass is.
    """
    errors: list[float] = []
    for gamma in gammas:
        errors.append(once(gamma))
        if errors[-1] <= _ERROR:
            return gamma, len(errors)
    good = next(gamma for gamma, error in zip(gammas, errors, strict=True) if error <= 1.1 * min(errors))
    if good != gammas[-1]:
        once(good)
    return good, len(errors)


def room_for_hull(first: I8) -> np.recarray[Any, Any]:
    """Return room for the corners of the backward amortization of locations whose calls begin at `first`."""
    return np.empty(int(np.diff(first).max(initial=0)) + 2, clock_backward.CORNER).view(np.recarray)


def decay(gamma: float) -> int:
    """Return the ns that a second takes off the lead of a clock. Raises UsageError for a gamma that is none."""
    if not 0 < gamma <= 1:
        raise UsageError(f"a control variable gamma of {gamma}; must be above 0, at most 1")
    return round((1 - gamma) * 1e9)
