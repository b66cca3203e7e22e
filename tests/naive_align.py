"""The slow, obvious twins of the kernel align: all pairs, and a table of all prefixes."""

from __future__ import annotations


def chain(position):
    """Return the length of a longest ascending part."""
    longest = []
    for i, value in enumerate(position):
        longest.append(1 + max((longest[k] for k in range(i) if position[k] < value), default=0))
    return max(longest, default=0)


def common(a, b):
    """Return the length of a longest common part of two sequences, in order."""
    row = [0] * (len(b) + 1)
    for one in a:
        before = row
        row = [0]
        for j, other in enumerate(b):
            row.append(before[j] + 1 if one == other else max(row[j], before[j + 1]))
    return row[-1]
