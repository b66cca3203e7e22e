"""Whether messages move while their receiver is outside MPI calls, and from which size on they are sent in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz.loggps.fit.eager import CLEAR, Limit, Sizes, separated
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.trace.arrays import Mask

_LEAST = 3
"""Messages that must tell it."""
ENDS = ("progress=always", "progress=in calls")


def progress(sizes: Sizes, limits: Sequence[Limit]) -> Estimate | Unknown:
    """Return whether messages that hold their sender are seen to move only while their receiver is in calls.

    For it are those whose receive was posted in time and whose sender was held until the receiver entered a call, and what was held though
    it was sent in place; against it those of more than the eager limit that were done before.
    """
    synchronous = _synchronous(sizes, limits)
    held = sizes.moved + sizes.kept + sizes.called
    whole = sizes.together()
    in_place = np.isin(sizes.bytes, whole.bytes[whole.in_place]) & ~synchronous
    moved = int(sizes.moved[synchronous].sum()) + int(held[in_place].sum())
    meanwhile = int(sizes.computed[synchronous].sum())
    told = moved + meanwhile
    if told < _LEAST:
        return Unknown("progress", "", ENDS, "no receiver is seen to compute while a message that it had asked for held its sender")
    if min(moved, meanwhile) > CLEAR * told:
        both = f"{moved} of {told} messages moved only while their receiver was in a call, {meanwhile} before"
        return Unknown("progress", "", ENDS, both)
    return Estimate("progress", "", "in calls" if moved > meanwhile else "always", max(moved, meanwhile), min(moved, meanwhile))


def in_place(sizes: Sizes) -> tuple[Estimate | Unknown, ...]:
    """Return the size up to which messages are done at once: the largest below those sent in place; nothing if none is seen to be.

    Where none is done at once it is unknown: some size below those.
    """
    sizes = sizes.together()
    if not sizes.in_place.any():
        return ()
    at_once, held = sizes.gone * (sizes.eager & ~sizes.in_place), (sizes.kept + sizes.called) * sizes.in_place
    low, high, against = separated(sizes.bytes, at_once, held)
    found = Estimate("inline_bytes", "", low or high - 1, int((at_once + held).sum()) - against, against)
    ends, why = ("inline_bytes=0", f"inline_bytes={high - 1}"), f"no message of less than {high} bytes is seen to be done at once"
    return (found,) if low else (found, Unknown("inline_bytes", "", ends, why))


def _synchronous(sizes: Sizes, limits: Sequence[Limit]) -> Mask:
    """Return which sizes are above an eager limit that held senders tell."""
    out = np.zeros(len(sizes.bytes), bool)
    for limit in limits:
        if limit.high is not None:
            out |= limit.includes(sizes.pairs, sizes.sends) & (sizes.bytes > limit.high)
    return out
