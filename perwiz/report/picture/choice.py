"""Which of too many things a timeline picture shows, so that what it shows stays readable. All lengths are in dots."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import F8, I8

FEW_MESSAGES, MOST_MESSAGES, MOST_MARKS = 60, 2000, 400
_INK = 0.04
"""Share of a panel that message lines may cover."""
_STROKE = 1.0
"""Width of a message line."""
_APART = 14
"""Marks closer together than this overlap."""
_GOLDEN = 0.6180339887498949
_STRIPES = 12


def messages(wait: I8, length: F8, place: F8, area: float) -> I8:
    """Return the messages to draw, ascending rows: all, or of more than a few those with the longest waits, spread evenly among equal ones.

    Lines together cover at most a small share of the panel, and of each twelfth of it at most twice that share.
    wait, length of the line, place: rows of a message; places go from 0 to 1 along the axis, those before 0 are not drawn.
    """
    rows = np.arange(len(wait))
    ink = (length + 1) * _STROKE
    seen = rows[place >= 0]
    if len(seen) <= FEW_MESSAGES or (len(seen) <= MOST_MESSAGES and ink[seen].sum() <= _INK * area):
        return seen
    order = seen[np.lexsort((seen * _GOLDEN % 1, -wait[seen]))]
    stripe = (place[order] * _STRIPES).astype(np.int64)
    fits = np.zeros(len(order), np.bool_)
    for number in np.unique(stripe):
        own = np.flatnonzero(stripe == number)
        fits[own] = np.cumsum(ink[order[own]]) <= 2 * _INK * area / _STRIPES
    order = order[fits]
    return np.sort(order[np.cumsum(ink[order]) <= _INK * area][:MOST_MESSAGES])


def crowded(lane: I8, place: F8) -> bool:
    """Return whether marks at these places would hide each other: very many, or over a quarter closer than a mark is wide."""
    if len(lane) > MOST_MARKS:
        return True
    order = np.lexsort((place, lane))
    near = (np.diff(lane[order]) == 0) & (np.diff(place[order]) < _APART)
    return bool(4 * near.sum() > len(lane))
