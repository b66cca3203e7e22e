"""Which of several changes stands first: what gains most, of changes that gain nearly the same what is sure to gain most, and before what
may be a loss a smaller gain that is sure, if it is worth its work and a tenth of that.

Two gain nearly the same if what each gains lies within the span of what the other does:

    A  gains 24, 0 to 53      nothing of it is sure
    B  gains 22, 11 to 25     nearly the same as A, for 24 lies within 11 to 25, and 22 within 0 to 53; 11 of it are sure
    C  gains 13, 12 to 14     less than A, for 24 does not lie within 12 to 14, though 12 of it are sure

So they stand in the order B, C, A, for A may gain nothing and C gains a tenth of it for sure; if C gained less than 2.4, or than is worth
its work, in the order B, A, C.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

_LESS = 0.1
"""Part of what a change gains that may gain nothing from which on another that is sure stands before it."""


@dataclasses.dataclass(frozen=True)
class Worth:
    """What a change gains, ns, and between what the true gain lies as far as the trace tells."""

    gain: int
    least: int
    most: int
    supposes: bool = False
    """Whether it can be made only if processes need nothing of what they receive before, which no trace tells."""

    @property
    def sure(self) -> int:
        """What it gains for sure, ns; 0 if it may gain nothing, or cannot be made."""
        return 0 if self.supposes else max(self.least, 0)

    def near(self, other: Worth) -> bool:
        """Return whether another gains nearly the same."""
        return self.least <= other.gain <= self.most and other.least <= self.gain <= other.most


def order(worths: Sequence[Worth], least: float = 0) -> list[int]:
    """Return the rows of changes in the order they stand, given from which gain on, ns, one is worth its work; of what is alike in all the
    earlier row first.
    """
    rest, out = sorted(range(len(worths)), key=lambda row: -worths[row].gain), list[int]()
    while rest:
        top = worths[rest[0]]
        first = max((row for row in rest if top.near(worths[row]) or row == rest[0]), key=lambda row: worths[row].sure)
        if worths[first].least <= 0:
            enough = max(_LESS * worths[first].gain, least)
            first = next((row for row in rest if worths[row].sure > 0 and worths[row].gain >= enough), first)
        out.append(first)
        rest.remove(first)
    return out
