"""What `scripts/bench` measures of OTF2: writing, then every stage from archive to answer, on one core and on all.

`python scripts/measure_otf2.py PATTERN RANKS EVENTS [--regions]` measures one archive. Seconds are those on the wall and, behind them,
those of processors used, which other work on the machine disturbs less. Memory is the peak of each stage in the process that answers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))

_MIB = 1 << 20
_PART = 1_000_000
"""Events of the archive that the Python bindings of OTF2 read."""


class Nothing:
    """Takes the rows of a location and keeps nothing: what is left is what the OTF2 library and its callbacks take."""

    def __init__(self, definitions: Any, ref: int) -> None:
        """Like those in whose place it stands."""

    def add(self, rows: Any) -> None:
        """Forget the rows."""

    def result(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def spent() -> float:
    """Return the processor seconds used so far by this process and those it started that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def peak() -> int:
    """Return the bytes of memory this process had at most since `forget_peak`, or since its start where the system cannot forget."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def forget_peak() -> None:
    """Begin a new peak."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/clear_refs").write_text("5")


def stage(name: str, action: Callable[..., Any], *arguments: Any, count: int = 0) -> Any:
    """Return what an action returns, after printing what it took; `count` are the events it goes through."""
    forget_peak()
    begin, used = time.perf_counter(), spent()
    out = action(*arguments)
    wall, used = time.perf_counter() - begin, spent() - used
    rate = f"{count / wall / 1e6:6.1f} M events/s" if count else ""
    print(f"    {name:36}{wall:8.2f} s{used:8.2f} s of processors{peak() / _MIB:8.0f} MiB {rate}", flush=True)
    return out


def stages(path: str) -> None:
    """Print what each stage takes, from an archive to the times if nobody waited."""
    from perwiz.engines.sweep import sweep
    from perwiz.formats.otf2.read import record
    from perwiz.formats.otf2.tables import Builder
    from perwiz.graph.build import build
    from perwiz.loggps.model_file import load
    from perwiz.loggps.progress import movers
    from perwiz.loggps.weigh import synchronous, weigh
    from perwiz.whatif.predict import predict

    events = sum(one.records for one in record(path).locations)
    print(f"  {events / 1e6:.1f} M events on {len(os.sched_getaffinity(0))} cores")
    with contextlib.suppress(AttributeError, KeyError):  # nothing is left to make a recording of
        stage("OTF2 library and its callbacks", record, path, None, "measure_otf2:Nothing", count=events)
    found = [stage("events to columns", record, path, count=events)]
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"    {'largest of its worker processes':36}{workers:38.0f} MiB")
    trace = stage("columns to tables, matching", lambda: Builder(found.pop(), path).trace())
    model = load("default")
    graph = stage("graph", build, trace, synchronous(trace, model), model.gap != "none", movers(trace, trace.timeline, model))
    weighted = stage("weights", weigh, trace, trace.timeline, graph, model)
    stage("sweep", sweep, graph, weighted.weight)
    del weighted, graph
    stage("all stages behind reading", predict, trace, ["zero-wait all"], model)


def whole(path: str) -> None:
    """Print what one `perwiz predict` takes, and what of it each call and each instance of a region takes."""
    from measure import launched

    from perwiz.formats.files import read

    wall, most, used = launched("predict", path, "--zero-wait", "all", "-n", "0")
    trace = read(path)
    calls, regions = len(trace.calls), len(trace.regions)
    share = f"{most / calls:.0f} bytes per call, {most / (250 * calls + 20 * regions):.0%} of 250 for each and 20 for each region instance"
    print(f"    {'perwiz predict, file to answer':36}{wall:8.2f} s{used:8.2f} s of processors{most / _MIB:8.0f} MiB  {share}", flush=True)


def bindings(path: str, events: int) -> None:
    """Print how fast the Python bindings of OTF2 go through all events, which must be few."""
    try:
        import otf2
    except ImportError:
        print("    no Python package otf2")
        return

    def count() -> int:
        with otf2.reader.open(path) as archive:
            return sum(1 for _ in archive.events)

    stage("Python package otf2, all events", count, count=events)


def measure(pattern: str, ranks: int, events: int, regions: bool) -> None:
    """Print all figures of one archive, which is made and removed."""
    from patterns import pattern as made
    from perwiz.formats.files import write

    print(f"--- {pattern}, {ranks} ranks, {events / 1e6:.0f} M events{', with user regions' * regions}")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run.otf2"
        trace = made(pattern, ranks, events, regions)
        stage("write", write, trace, path, count=events)
        del trace
        every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        for cores in (every.split(",")[0], every):
            for what in ("--stages", "--whole"):
                subprocess.run(["taskset", "-c", cores, sys.executable, "-P", __file__, what, path], check=True)


def main() -> None:
    """Print the figures of one archive, or of all."""
    parser = argparse.ArgumentParser(description="Measure reading OTF2.")
    parser.add_argument("pattern", nargs="?")
    parser.add_argument("ranks", nargs="?", type=int, default=64)
    parser.add_argument("events", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--regions", action="store_true")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    for name, help_ in (("--stages", "of an archive that exists"), ("--whole", "of an archive that exists")):
        parser.add_argument(name, metavar="PATH", help=help_)
    asked = parser.parse_args()
    if asked.stages or asked.whole:
        (stages if asked.stages else whole)(asked.stages or asked.whole)
    elif asked.pattern:
        measure(asked.pattern, asked.ranks, asked.events, asked.regions)
    else:
        everything(100 if asked.small else 1)


def everything(less: int) -> None:
    """Print the figures of all patterns, of the two largest archives, and of the Python bindings."""
    from patterns import PATTERNS, pattern
    from perwiz.formats.files import write

    with tempfile.TemporaryDirectory() as folder:
        write(pattern("halo", 64, _PART // less), f"{folder}/run.otf2")
        print(f"--- halo, 64 ranks, {_PART / less / 1e6:.2f} M events")
        bindings(f"{folder}/run.otf2", _PART // less)
    for name in PATTERNS:
        for ranks in (64, 1024):
            measure(name, ranks, 10_000_000 // less, False)
    measure("ring", 64, 10_000_000 // less, True)
    measure("halo", 64, 50_000_000 // less, False)
    measure("wavefront", 1024, 50_000_000 // less, True)


if __name__ == "__main__":
    main()
