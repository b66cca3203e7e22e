"""Which of several changes stands first: what gains most, and of changes that gain nearly the same what is sure to gain most.

Two gain nearly the same if what each gains lies within the span of what the other does:

    A  gains 24, 0 to 53      nothing of it is sure
    B  gains 22, 11 to 25     nearly the same as A, for 24 lies within 11 to 25, and 22 within 0 to 53; 11 of it are sure
    C  gains 13, 12 to 14     less than A, for 24 does not lie within 12 to 14, though 12 of it are sure

So they stand in the order B, A, C.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


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


def order(worths: Sequence[Worth]) -> list[int]:
    """Return the rows of changes in the order they stand; of what is alike in all the earlier row first."""
    rest, out = sorted(range(len(worths)), key=lambda row: -worths[row].gain), list[int]()
    while rest:
        top = worths[rest[0]]
        out.append(max((row for row in rest if top.near(worths[row]) or row == rest[0]), key=lambda row: worths[row].sure))
        rest.remove(out[-1])
    return out
