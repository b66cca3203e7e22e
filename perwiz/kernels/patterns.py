# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Searches of patterns that depend on the order of a location's receives."""

import cython


def wrong_order(
    location: cython.const[cython.int][::1],
    sent: cython.const[cython.longlong][::1],
    ends: cython.const[cython.int][::1],
    late_sent: cython.const[cython.longlong][::1],
    kept_sent: cython.longlong[::1],
    kept: cython.int[::1],
    earlier: cython.int[::1],
) -> None:
    """Write into `earlier`, per late sender, the last message received later but sent earlier than its own; others stay.

    Messages in the order of receipt, location by location; `ends` is the late sender whose call ends with each, -1 none; `late_sent`
    says when its message was sent. The `kept` arrays hold the last late senders of a location, as many as they are long.
    """
    count: cython.Py_ssize_t = 0
    for i in range(len(location)):
        if i > 0 and location[i] != location[i - 1]:
            count = 0
        left = 0
        for j in range(count):
            if kept_sent[j] > sent[i]:
                earlier[kept[j]] = i
            else:
                kept_sent[left] = kept_sent[j]
                kept[left] = kept[j]
                left += 1
        count = left
        if ends[i] < 0:
            continue
        if count == len(kept):
            for j in range(1, count):
                kept_sent[j - 1] = kept_sent[j]
                kept[j - 1] = kept[j]
            count -= 1
        kept_sent[count] = late_sent[ends[i]]
        kept[count] = ends[i]
        count += 1
