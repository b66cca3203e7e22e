"""What a recorded run tells of itself in words: calls that processes were still in when it ended, processors that they shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from perwiz import words
from perwiz.formats.recorded.files import Process
from perwiz.formats.recorded.sites import Sites

_MOST = 4
"""Places of calls, or nodes, that are named."""
_RANKS = 8
"""Ranks that are named of each."""


class Call(NamedTuple):
    """A call that a process was still in when the run ended."""

    routine: str
    place: str


def still_in(processes: list[Process], sites: Sites) -> dict[int, Call]:
    """Return the calls of MPI or OpenSHMEM that ranks were still in when the run ended."""
    return {process.rank: call for process in processes if (call := _open(process, sites))}


def unreturned(still: Mapping[int, Call], heard: int, silent: int = 0) -> str:
    """Return which ranks were still in a call, given these, when the run of so many processes that were heard of ended, and in which, most
    of them first; nothing if none.

    If all were, and none of the run is `silent`, it may be a deadlock.
    """
    inside: dict[Call, list[int]] = {}
    for rank, call in sorted(still.items()):
        inside.setdefault(call, []).append(rank)
    if not inside:
        return ""
    count, several = len(still), heard + silent
    every = count == several > 1
    ended = not any(routine == "MPI_Abort" for routine, _ in inside)
    doubt = ": deadlock?" if every and ended else ""
    (first, ranks), *more = sorted(inside.items(), key=lambda found: -len(found[1]))
    if not more:
        who = f"all {several} ranks" if every else _listed(ranks)
        return f"{who} {'was' if count == 1 else 'were'} still in {_named(first)} when the run ended{doubt}"
    named = [f"{_listed(those)} in {_named(call)}" for call, those in [(first, ranks), *more][:_MOST]]
    others = [f"others at {len(more) + 1 - _MOST} more places"] if len(more) >= _MOST else []
    who = f"all {several} ranks" if every else f"{count} of {several} ranks"
    return f"{who} were still in MPI when the run ended{doubt or ':'} {'; '.join(named + others)}"


def _open(process: Process, sites: Sites) -> Call | None:
    """Return the call that a process never returned from, of its first thread that is in one; None if there is none."""
    names = process.about.operations
    for calls in process.calls:
        if len(calls) and not calls[-1]["leave"]:
            routine = names[op] if (op := int(calls[-1]["op"])) < len(names) else ""
            if routine.startswith(("MPI_", "shmem_")):
                return Call(routine, sites.of(process, calls["site"][-1:])[0])
    return None


def _named(call: Call) -> str:
    routine, place = call
    return f"{routine} ({place})" if place else routine


def _listed(ranks: list[int]) -> str:
    first = ", ".join(map(str, ranks[:_RANKS]))
    return f"rank{'s' * (len(ranks) > 1)} {first}{f' and {len(ranks) - _RANKS} more' if len(ranks) > _RANKS else ''}"


def shared_processors(processes: list[Process]) -> str:
    """Return on which nodes more processes ran than there were processors for them; nothing if on none, or the recorder did not tell."""
    nodes: dict[str, Counter[int]] = {}
    for process in processes:
        if allowed := process.about.allowed:
            nodes.setdefault(process.about.host, Counter())[allowed] += 1
    told = [f"{shared} of node {host}" for host, allowed in nodes.items() if (shared := _crowded(allowed))]
    others = [f"likewise on {words.several(len(told) - _MOST, 'more node')}"] if len(told) > _MOST else []
    return "; ".join(told[:_MOST] + others)


def _crowded(allowed: Counter[int]) -> str:
    """Return how many processes of a node share how many processors, the largest set of them that is too small; nothing if none is.

    `allowed` counts the processes by the processors that each may run on, one bit each.
    """
    whole = 0
    for processors in allowed:
        whole |= processors
    for processors in sorted({whole, *allowed}, key=int.bit_count, reverse=True):
        inside = sum(count for own, count in allowed.items() if own & processors == own)
        if inside > processors.bit_count():
            return f"{inside} processes shared {words.several(processors.bit_count(), 'processor')}"
    return ""
