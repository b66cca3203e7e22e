"""What `scripts/bench` says of growth: processor time and peak memory per call of each command, over calls and ranks.

`python scripts/measure_growth.py [--calls 10000,100000,1000000] [--ranks 4,64,1024] [--commands info,predict] [--pattern halo]`

Time is that of processors, user and system, of all processes: other work on the machine disturbs it less than that on the wall. What a
command takes of a trace of two ranks that do nearly nothing is left out of both, and printed first.
"""

from __future__ import annotations

import argparse
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


def _taken(name: str, folder: str) -> tuple[int, float]:
    """Return peak memory, bytes, and processor seconds of a command on the trace in a folder."""
    from measure import launched

    words = [{"TRACE": f"{folder}/run.otf2", "PAGE": f"{folder}/page.html"}.get(word, word) for word in COMMANDS[name]]
    _, peak, used = launched(*words)
    return peak, used


def measure(asked: argparse.Namespace) -> None:
    """Print the table."""
    names = asked.commands.split(",")
    with tempfile.TemporaryDirectory() as folder:
        made(asked.pattern, 2, 1, asked.regions, f"{folder}/run.otf2")
        start = {name: _taken(name, folder) for name in names}
    told = ", ".join(f"{name} {used:.2f} s, {peak >> 20} MiB" for name, (peak, used) in start.items())
    print(f"--- {asked.pattern}; least of all: {told}")
    print(
        f"{asked.pattern}: microseconds of processors per call, and bytes per call at peak (asked {_CALL}, {_REGION} per region instance)"
    )
    print(f"{'calls':>10}{'ranks':>8}" + "".join(f"{name + ' us':>14}{'bytes':>8}" for name in names))
    for count in numbers(asked.calls):
        for ranks in numbers(asked.ranks):
            if count < _FEWEST * ranks:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/run.otf2"
                calls, regions = made(asked.pattern, ranks, count, asked.regions, path)
                line = f"{calls:10}{ranks:8}"
                for name in names:
                    peak, used = (now - least for now, least in zip(_taken(name, folder), start[name], strict=True))
                    line += f"{used / calls * 1e6:14.2f}{(peak - _REGION * regions) / calls:8.0f}"
                print(line, flush=True)


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description="Measure time and memory over calls and ranks.")
    parser.add_argument("--calls", default="1e4,1e5,1e6,1e7")
    parser.add_argument("--ranks", default="4,64,1024,4096,65536")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--pattern", default="halo")
    parser.add_argument("--regions", action="store_true")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    asked = parser.parse_args()
    if asked.small:
        asked.calls, asked.ranks = "1e4", "4,64"
    measure(asked)


if __name__ == "__main__":
    main()
