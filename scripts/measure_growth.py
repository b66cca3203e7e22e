"""What `scripts/bench` says of growth: processor time and peak memory of each command per call more, and per instance of a region.

`python scripts/measure_growth.py [--calls 10000,100000,1000000] [--ranks 4,64,1024] [--commands info,predict] [--pattern halo] [--regions]`

Told is what a trace of one size takes more than one of the size before, by what it has more: what a command takes of any trace is left out.
Time is that of processors, user and system, of all processes: other work on the machine disturbs it less than that on the wall. With
regions the same is asked of traces that have three instances a step: one call of `ring`, nine of `halo`.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

COMMANDS = {
    "info": ("info", "TRACE"),
    "predict": ("predict", "TRACE", "--zero-wait", "all"),
    "domino": ("domino", "TRACE"),
    "patterns": ("patterns", "TRACE"),
    "report": ("report", "TRACE", "-o", "PAGE"),
}
_CALL, _REGION = 250, 60
"""Bytes at peak that are asked for, per call and per instance of a region."""
_FEWEST = 4
"""Calls of each rank from which on a trace is worth measuring."""


def numbers(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    return [int(float(part)) for part in text.split(",")]


def made(pattern: str, ranks: int, calls: int, regions: bool, path: str) -> tuple[int, int]:
    """Return how many calls and instances of regions a trace has that is written to `path`, in a process of its own."""
    code = (
        "import sys; from patterns import PATTERNS, pattern; from perwiz.formats.files import write\n"
        "name, ranks, calls, regions, path = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]\n"
        "few = pattern(name, ranks, 1, bool(regions))\n"
        "events = max(int(calls / len(few.calls) * few.counts.records), few.counts.records)\n"
        "trace = pattern(name, ranks, events, bool(regions)); write(trace, path); print(len(trace.calls), len(trace.regions))"
    )
    command = [sys.executable, "-P", "-c", code, pattern, str(ranks), str(calls), str(int(regions)), path]
    environment = {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
    told = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout.split()
    return int(told[0]), int(told[1])


@dataclasses.dataclass(frozen=True)
class _Taken:
    """What commands took of a trace."""

    calls: int
    regions: int
    """Instances of regions."""
    peak: dict[str, int]
    """Memory per command, bytes."""
    used: dict[str, float]
    """Seconds of processors per command."""


def _taken(asked: argparse.Namespace, ranks: int, count: int, regions: bool) -> _Taken:
    """Return what the commands take of a trace that is made."""
    from measure import launched

    with tempfile.TemporaryDirectory() as folder:
        paths = {"TRACE": f"{folder}/run.otf2", "PAGE": f"{folder}/page.html"}
        calls, instances = made(asked.pattern, ranks, count, regions, paths["TRACE"])
        told = {name: launched(*(paths.get(word, word) for word in COMMANDS[name]))[1:] for name in asked.commands.split(",")}
    return _Taken(calls, instances, {name: one[0] for name, one in told.items()}, {name: one[1] for name, one in told.items()})


def _line(ranks: int, small: _Taken, large: _Taken, within: tuple[_Taken, _Taken] | None) -> str:
    """Return a line of the table: what a call more takes, and if traces with regions are given, `within`, an instance of one more."""
    calls = large.calls - small.calls
    line = f"{small.calls:10}{large.calls:10}{ranks:8}"
    for name in large.peak:
        each = (large.peak[name] - small.peak[name]) / calls
        line += f"{(large.used[name] - small.used[name]) / calls * 1e6:14.2f}{each:8.0f}"
        if within:
            few, many = within
            more = many.peak[name] - few.peak[name] - each * (many.calls - few.calls)
            line += f"{more / (many.regions - few.regions):8.0f}"
    return line


def measure(asked: argparse.Namespace) -> None:
    """Print the table."""
    of_regions = f", and per instance of a region (asked {_REGION})" if asked.regions else ""
    print(
        f"{asked.pattern}: microseconds of processors per call, bytes at peak per call (asked {_CALL}){of_regions}, from a size to the next"
    )
    columns = f"{'bytes':>8}" + f"{'region':>8}" * asked.regions
    print(f"{'calls':>10}{'to':>10}{'ranks':>8}" + "".join(f"{name + ' us':>14}{columns}" for name in asked.commands.split(",")))
    for ranks in numbers(asked.ranks):
        before: list[_Taken] | None = None
        for count in numbers(asked.calls):
            if count < _FEWEST * ranks:
                continue
            now = [_taken(asked, ranks, count, regions) for regions in (False, True)[: 1 + asked.regions]]
            if before and now[0].calls == before[0].calls:
                continue  # both counts make the same trace
            if before:
                within = (before[1], now[1]) if asked.regions else None
                print(_line(ranks, before[0], now[0], within), flush=True)
            before = now


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description="Measure time and memory over calls and ranks.")
    parser.add_argument("--calls", default="1e4,1e5,1e6,1e7")
    parser.add_argument("--ranks", default="4,64,1024,4096,65536")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--pattern", default="halo")
    parser.add_argument("--regions", action="store_true", help="measure what an instance of a region takes, too")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    asked = parser.parse_args()
    if asked.small:
        asked.calls, asked.ranks = "1e4,3e4", "4,64"
    measure(asked)


if __name__ == "__main__":
    main()
