"""The slow, obvious twins of the kernel curve: one line per vertex, and the lines of all paths."""

from __future__ import annotations

from fractions import Fraction

from naive import into


def height(line, at):
    """Return how high a line (value, slope) is at a point."""
    return line[0] + line[1] * Fraction(at)


def sweep(start, source, weight, slope, at, floor):
    """Return the highest line of each vertex at a point, of equally high ones the steepest."""
    lines = []
    for v, least in enumerate(floor):
        there = [(lines[source[k]][0] + weight[k], lines[source[k]][1] + slope[k]) for k in into(start, v)]
        lines.append(max([least, *there], key=lambda line: (height(line, at), line[1])))
    return lines


def paths(start, source, weight, slope, vertices):
    """Return the lines of all paths to all vertices; a path may begin anywhere, at (0, 0)."""
    lines = []
    for v in range(vertices):
        lines.append({(0, 0)} | {(line[0] + weight[k], line[1] + slope[k]) for k in into(start, v) for line in lines[source[k]]})
    return set().union(*lines)
