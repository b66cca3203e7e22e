"""What `scripts/bench` says of all cores: which part of each stage from an archive to an answer runs in threads or processes.

Each stage runs on one core. What would be spread over threads if there were many is measured there, and what processes of their own read,
too; the rest is serial. By Amdahl's law a stage takes `serial + parallel / n` on n cores, no less than the longest of its parts: a law
on paper, which leaves out that threads wait for memory and for each other's lock.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ["PERWIZ_THREADS"] = "1"

CORES = (1, 2, 4, 8, 16)


@dataclasses.dataclass
class Stage:
    """What a stage took, processor seconds."""

    name: str
    serial: float = 0.0
    parts: list[tuple[float, float]] = dataclasses.field(default_factory=list)
    """What was spread, and the longest of it, which one core does."""

    def on(self, cores: int) -> float:
        """Return what it takes on so many cores."""
        return self.serial + sum(max(spent / cores, longest) for spent, longest in self.parts)

    @property
    def share(self) -> float:
        """Which part of it is spread."""
        return 1 - self.serial / max(self.on(1), 1e-9)


def used(who: int = resource.RUSAGE_SELF) -> float:
    """Return the processor seconds used so far."""
    spent = resource.getrusage(who)
    return spent.ru_utime + spent.ru_stime


class Watched:
    """Takes the place of `map_threads` and `thread_count`: as if there were many cores, but one after the other."""

    def __init__(self) -> None:
        """Begin with no stage."""
        from perwiz.trace import resources

        self.stage, self._depth = Stage(""), 0
        self._least, self._map = resources.LEAST, resources.map_threads
        for module in [module for name, module in sys.modules.items() if name.startswith("perwiz.")]:
            for name, own in (("map_threads", self.map), ("thread_count", self.count)):
                if hasattr(module, name):
                    setattr(module, name, own)

    def count(self, rows: int) -> int:
        """Return how many threads were used on many cores."""
        return max(1, min(max(CORES), rows // self._least))

    def map(self, function: Callable[[Any], Any], items: Any, threads: int) -> list[Any]:
        """Return what the function returns for every item."""
        if threads == 1 or self._depth:
            return self._map(function, items, 1)
        self._depth, out, each = 1, [], []
        for item in items:
            begin = used()
            out.append(function(item))
            each.append(used() - begin)
        self._depth = 0
        self.stage.parts.append((sum(each), max(each, default=0.0)))
        return out


@contextmanager
def stage(name: str, stages: list[Stage], watched: Watched) -> Iterator[None]:
    """Measure what is done inside as a stage."""
    watched.stage = now = Stage(name)
    begin, children = used(), used(resource.RUSAGE_CHILDREN)
    yield
    read = used(resource.RUSAGE_CHILDREN) - children
    now.serial = used() - begin - sum(spent for spent, _ in now.parts)
    if read > 0.01:
        now.parts.append((read, read / max(CORES)))
    stages.append(now)


def measured(path: str, draws: int) -> list[Stage]:
    """Return the stages from an archive to an answer with so many runs drawn."""
    from perwiz.formats.otf2.read import record
    from perwiz.formats.otf2.tables import Builder
    from perwiz.trace.parts.iterations import find
    from perwiz.trace.resources import EDGES_OF_CALL, graphs_at_once
    from perwiz.whatif.hypotheses.base import apply, parse
    from perwiz.whatif.matching import matching
    from perwiz.whatif.ranking.instead import balanced
    from perwiz.whatif.run import graph_of, machine_of, replay_of, treated, under
    from perwiz.whatif.sure.answers import answered
    from perwiz.whatif.sure.doubts import doubts_of
    from perwiz.whatif.sure.noise import noise_ahead
    from perwiz.whatif.sure.span import found_ahead, spans

    out, watched, asked = list[Stage](), Watched(), [parse("zero-wait all")]
    with stage("reading", out, watched):
        recording = record(path)
    with stage("tables, matching", out, watched):
        trace = Builder(recording, path).trace()
    with stage("clocks", out, watched):
        clocks = treated(trace)
    with stage("fitting", out, watched):
        machine = machine_of(None, clocks.trace)
    with stage("graphs, iterations", out, watched):
        tasks: list[Callable[[], Any]] = [
            lambda: found_ahead(clocks.trace, machine, asked),
            lambda: replay_of(clocks, graph_of(clocks.trace, machine.model), machine),
            lambda: find(clocks.trace) if draws else None,
        ]
        ahead, run, _ = graphs_at_once(tasks, EDGES_OF_CALL * len(trace.calls))
    with stage("told, what repeats", out, watched):
        told = lambda: noise_ahead(run, draws), lambda: doubts_of(run), lambda: balanced(run)
        graphs_at_once(told, run.graph.edges)
    with stage("draws", out, watched):
        answers = answered(run, [lambda weighted: apply(weighted, asked)], draws)
    with stage("as the machine may be", out, watched):
        spans(run, dataclasses.replace(answers, of=tuple(dataclasses.replace(one, ahead=ahead) for one in answers.of)), asked)
    with stage("the answer", out, watched):
        matching(run, under(run, asked))
    return out


def main() -> None:
    """Print a line per stage, and what all take on several cores."""
    parser = argparse.ArgumentParser(description="Measure which part of each stage is spread over cores.")
    parser.add_argument("pattern", nargs="?", default="halo")
    parser.add_argument("ranks", nargs="?", type=int, default=64)
    parser.add_argument("events", nargs="?", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--draws", type=int, default=200, help="runs that are drawn: 200 as by default, or none with 0")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    asked = parser.parse_args()
    from patterns import pattern
    from perwiz.formats.files import write

    with tempfile.TemporaryDirectory() as folder:
        trace = pattern(asked.pattern, asked.ranks, asked.events // (100 if asked.small else 1))
        write(trace, f"{folder}/run.otf2")
        size = f"{asked.pattern}, {asked.ranks} ranks, {trace.counts.records / 1e6:.1f} M events"
        print(f"--- {size}; processor seconds, and by Amdahl's law on {', '.join(map(str, CORES))} cores")
        del trace
        found = measured(f"{folder}/run.otf2", asked.draws)
    print(f"{'stage':20}{'spread':>8}" + "".join(f"{cores:8}" for cores in CORES))
    for one in found:
        print(f"{one.name:20}{one.share:8.0%}" + "".join(f"{one.on(cores):8.2f}" for cores in CORES))
    whole = [sum(one.on(cores) for one in found) for cores in CORES]
    print(f"{'all':20}{1 - sum(one.serial for one in found) / whole[0]:8.0%}" + "".join(f"{each:8.2f}" for each in whole))


if __name__ == "__main__":
    main()
