"""Quantiles of many weighted values, of which few are sorted."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import F8, I8, U2, chunks

_BINS = 1 << 16
"""Bins into which values are sorted roughly."""
_SOME = 4096
"""So many values tell, by these quantiles, between which bins are alike: at least so far apart."""
_MOST = 0.001, 0.999
_LEAST = 1e-9


def weighted_quantiles(values: F8, weight: I8, wanted: I8) -> F8:
    """Return the least of some values up to which their weights add up to as much as each that is wanted, no more than all weigh.

    Sorted are those in bins with one that is wanted, and of each bin those equal to one of it as one value: many may be alike.

    values 5 1 3   weights 2 4 1   wanted 1 4 5 7   out 1 1 3 5
    """
    bins, one, added, asked = _bins(values), np.zeros(_BINS), np.zeros(_BINS, "i8"), np.zeros(_BINS, bool)
    one[bins] = values
    np.add.at(added, bins, weight)
    reached = added.cumsum()
    asked[np.searchsorted(reached, wanted)] = True
    others = [some.start + np.flatnonzero(asked[bins[some]] & (values[some] != one[bins[some]])) for some in chunks(len(values))]
    other = np.concatenate(others)
    np.subtract.at(added, bins[other], weight[other])
    bins = np.concatenate([np.flatnonzero(asked), bins[other]])
    values, weight = np.concatenate([one[asked], values[other]]), np.concatenate([added[asked], weight[other]])
    order = np.argsort(values)
    bins, up_to = bins[order], weight[order].cumsum()
    last = np.searchsorted(bins, bins, "right") - 1
    up_to += reached[bins] - up_to[last]
    return values[order[np.searchsorted(up_to, wanted)]]


def _bins(values: F8) -> U2:
    """Return a bin per value, larger values in no lower one: alike where most of some thousand values are, all beyond in first and last."""
    low, high = np.quantile(values[:: max(len(values) // _SOME, 1)], _MOST)
    out, scale = np.empty(len(values), "u2"), (_BINS - 1) / max(high - low, _LEAST)
    for some in chunks(len(values)):
        out[some] = np.clip((values[some] - low) * scale, 0, _BINS - 1)
    return out
