"""How a correction by several processes scales: `mpiexec -n N python scripts/measure_replay.py PATTERN RANKS EVENTS`.

Clocks are off by up to a millisecond. Prints how long the whole correction takes on rank 0, and of it the replay: all passes forward,
and backward. Started alone it prints also what crosses in a pass between 1, 2, 4 and 8 processes.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from patterns import pattern
from perwiz.clock import logical
from perwiz.clock.clock_graph import bind
from perwiz.clock.spread import mpi as distributed
from perwiz.clock.spread import replay
from perwiz.clock.spread.partition import cut
from perwiz.clock.spread.processes import Processes
from perwiz.formats.files import read
from perwiz.graph.build import build
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace

_TIMES = 5


def wrong(trace: Trace) -> Trace:
    """Return the trace with clocks that are off by up to 1 ms, each by another number."""
    off = np.random.default_rng(1).integers(0, 1_000_000, len(trace.locations))
    line, every = trace.timeline, np.arange(len(trace.locations))
    pairs = (line.calls, trace.calls.location), (line.regions, trace.regions.location), (line.locations, every)
    return dataclasses.replace(trace, timeline=Timeline(*(Times(t.enter + off[at], t.leave + off[at]) for t, at in pairs)))


def volume(trace: Trace) -> None:
    """Print what crosses in one pass, forward or backward."""
    clock_graph = bind(trace, trace.timeline, build(trace))
    for size in (1, 2, 4, 8):
        begin = time.perf_counter()
        found = cut(trace, clock_graph, size)
        spent = time.perf_counter() - begin
        stamps, hubs = found.stamps, found.hubs
        ways = [(c.round.astype("i8") * size + c.giver) * size + c.taker for c in (stamps, hubs)]
        sent, crossing = len(np.union1d(*ways)), 8 * len(stamps.copy) + 40 * len(hubs.copy)
        print(
            f"{size} processes  {found.rounds:8} rounds  {len(stamps.copy):8} stamps  {len(hubs.copy):8} hubs  {sent:8} messages"
            f"  {crossing / 1e3:10.1f} kB  cut in {spent:.2f} s",
            flush=True,
        )


def measured(processes: Processes | None) -> int:
    """Print how long a correction takes, the best of some."""
    name, *numbers = sys.argv[1:]
    trace = wrong(pattern(name, *(int(number) for number in numbers))) if numbers else read(name)
    spent: list[float] = []
    once = replay.Replayer.run if processes else logical.amortize_alone

    def watched(*words: object) -> object:
        begin = time.perf_counter()
        out = once(*words)  # type: ignore[arg-type]
        spent.append(time.perf_counter() - begin)
        return out

    if processes:
        replay.Replayer.run = watched  # type: ignore[method-assign, assignment]
    else:
        logical.amortize_alone = watched  # type: ignore[assignment]
    total = []
    for _ in range(_TIMES):
        begin = time.perf_counter()
        found = logical.correct(trace, processes=processes)
        total.append(time.perf_counter() - begin)
    size = processes.size if processes else 1
    print(
        f"{size} processes  {2 * len(trace.calls) / 1e6:.1f} M events  correction {min(total):.2f} s  replay {min(spent):.3f} s"
        f"  {found.passes} passes  {found.by_message + found.by_collective} jumps",
        flush=True,
    )
    if processes is None:
        volume(trace)
    return 0


if __name__ == "__main__":
    raise SystemExit(distributed.together(measured))
