"""Where causes and effects contradict each other no clock can help: what the graph had to leave out, and a cycle by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from perwiz.clock.roles import roles
from perwiz.graph.graph import COLLECTIVE, LINK, MESSAGE, ORDER, START, Graph
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace, named_call


class Lost(NamedTuple):
    """What a graph leaves out because it lies on a cycle: rows of the tables of messages, members and links."""

    messages: I8
    entries: I8
    """Members that send, whose entry binds nobody."""
    returns: I8
    """Members that receive, whose return is not bound."""
    links: I8


def lost(trace: Trace, graph: Graph) -> Lost:
    """Return what a graph leaves out because it lies on a cycle."""
    kept, linked = np.zeros(len(trace.messages), bool), np.zeros(len(trace.links), bool)
    kept[graph.cause[graph.kind == MESSAGE]] = True
    linked[graph.cause[np.isin(graph.kind, (LINK, ORDER, START))]] = True
    edge = np.flatnonzero(graph.kind == COLLECTIVE)
    bound = np.zeros(graph.vertices, bool)
    bound[graph.source[edge]] = True
    bound[np.searchsorted(graph.start, edge, side="right") - 1] = True
    sends, receives = roles(trace)
    members = trace.members
    return Lost(
        messages=np.flatnonzero(~kept),
        entries=np.flatnonzero(sends & ~bound[graph.entered[members.call]]),
        returns=np.flatnonzero(receives & ~bound[graph.returned[members.done]]),
        links=np.flatnonzero(~linked),
    )


def cycle(trace: Trace, graph: Graph) -> list[tuple[int, int]]:
    """Return a cycle of causes and effects as (call entered, call that returns only then), each entered after the one before returned.

    Empty if there is none.
    """
    out = lost(trace, graph)
    effects = {int(trace.messages.send[m]): int(trace.messages.receive_done[m]) for m in out.messages[::-1]}
    effects |= {int(trace.links.cause[row]): int(trace.links.effect[row]) for row in out.links[::-1]}
    leaves = {int(trace.members.collective[row]): int(trace.members.done[row]) for row in out.returns}
    for row in out.entries:
        effect = leaves.get(int(trace.members.collective[row]))
        if effect is not None:
            effects[int(trace.members.call[row])] = effect
    return _walk(trace, effects)


def named(trace: Trace, steps: Iterable[tuple[int, int]]) -> str:
    """Return a cycle in words."""
    return ", then ".join(
        f"{named_call(trace, cause)} must be entered before {named_call(trace, effect)} returns" for cause, effect in steps
    )


def _walk(trace: Trace, effects: dict[int, int]) -> list[tuple[int, int]]:
    """Return the steps from cause to effect to the next cause of that location, from where they repeat."""
    causes = np.array(sorted(effects), "i8")
    step_of: dict[int, int] = {}
    steps: list[tuple[int, int]] = []
    cause = int(causes[0]) if len(causes) else -1
    while cause >= 0 and cause not in step_of:
        step_of[cause] = len(steps)
        steps.append((cause, effects[cause]))
        cause = _following(trace, causes, effects[cause])
    return steps[step_of[cause] :] if cause >= 0 else []


def _following(trace: Trace, causes: I8, call: int) -> int:
    """Return the first of these calls behind a call on its location, or -1."""
    row = int(np.searchsorted(causes, call, side="right"))
    if row == len(causes) or trace.calls.location[causes[row]] != trace.calls.location[call]:
        return -1
    return int(causes[row])
