"""What `scripts/bench` runs: each stage on synthetic rings, beside simpy where it applies. Times are the best of several runs.

Machines are shared and noisy: compare figures of one run, not of two.
"""

from __future__ import annotations

import argparse
import gc
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from patterns import pattern, ring
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.formats.files import read, write
from perwiz.graph.build import build
from perwiz.loggps.model_file import load
from perwiz.loggps.weigh import synchronous, weigh
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.sets import makespans
from perwiz.whatif.worth.singles import singles


def best(action: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of several durations of an action, seconds."""
    spent = []
    for _ in range(times):
        gc.collect()
        begin = time.perf_counter()
        action()
        spent.append(time.perf_counter() - begin)
    return min(spent)


def row(what: str, value: str, target: str = "") -> None:
    """Print one line of the table."""
    print(f"{what:58}{value:>22}  {target}", flush=True)


def graph(ranks: int, calls: int) -> None:
    """Measure build, weigh and one what-if, and simpy on a part."""
    trace, model = ring(ranks, calls), load("perwiz-cluster")
    waits = synchronous(trace.messages, model)
    spent = best(lambda: build(trace, waits), 2)
    built = build(trace, waits)
    size = f"{built.vertices / 1e6:.1f} M vertices, {built.edges / 1e6:.1f} M edges, {ranks} ranks"
    row(f"build        {size}", f"{len(trace.calls) / spent / 1e6:.2f} M calls/s", "at least 3")
    spent = best(lambda: weigh(trace, trace.timeline, built, model), 2)
    row(f"weigh        {size}", f"{len(trace.calls) / spent / 1e6:.2f} M calls/s")
    weight = weigh(trace, trace.timeline, built, model).weight
    spent = best(lambda: sweep(built, weight), 5)
    row(f"one what-if  {size}", f"{spent:.4f} s", "at most 0.05 (64 ranks), 0.1 (1024)")
    few = ring(ranks, 40 * ranks)
    small = build(few, synchronous(few.messages, model))
    light = weigh(few, few.timeline, small, model).weight
    slow = best(lambda: replay(small, light), 1) / small.vertices
    ratio = slow * built.vertices / spent
    row(f"  simpy, {small.vertices} vertices", f"{1 / slow / 1e3:.0f} k vertices/s", f"sweep is {ratio:.0f} times faster")


def whatifs(name: str, ranks: int, calls: int) -> None:
    """Measure all single what-ifs of a run, and 1000 sets of its calls, spread over the whole run and each in one part of it."""
    trace = ring(ranks, calls) if name == "ring" else pattern(name, ranks, 3 * calls)
    run = replayed(trace, "perwiz-cluster", "none")
    count = len(trace.calls)
    size = f"{name}, {count / 1e6:.1f} M calls, {run.graph.edges / 1e6:.1f} M edges, {ranks} ranks"
    row(f"all singles  {size}", f"{best(lambda: singles(run)):.3f} s", f"at most {0.5 * calls / 1e6:.2f}")
    if calls > 1_000_000:
        return
    each, none = np.arange(1000, dtype="i4"), (None,) * 1000
    spread = np.random.default_rng(1).integers(0, 1000, count).astype("i4")
    for where, of in (("spread", spread), ("apart", (np.arange(count) * 1000 // count).astype("i4"))):
        family = Family(("",) * 1000, none, of, each, each)
        spent = best(lambda family=family: makespans(run.weighted, run.time, family, "zero-wait", prune=False), 1)
        row(f"  1000 sets, {where}", f"{spent:.2f} s", f"at most {10 * calls / 1e6:.1f}")


def files(ranks: int, calls: int, split: bool) -> None:
    """Measure reading and writing ALOG, with and without the extension, and the memory of one whole prediction."""
    trace = ring(ranks, calls, 10_000 if split else 100_000, split=split)
    count = len(trace.calls)
    names = "MPI_Send and MPI_Recv" if split else "MPI_Sendrecv"
    print(f"--- {names}, {count / 1e6:.1f} M calls, {len(trace.messages) / 1e6:.1f} M messages")
    with tempfile.TemporaryDirectory() as folder:
        extended, plain = f"{folder}/extended.alog", f"{folder}/plain.alog"
        spent = best(lambda: write(trace, extended), 1)
        row(f"write ALOG   {count / 1e6:.1f} M calls", f"{count / spent / 1e6:.2f} M calls/s")
        text = pathlib.Path(extended).read_bytes()
        pathlib.Path(plain).write_bytes(re.sub(rb"(?m) ?@ .*$|^-3[0-6] .*\n", b"", text))
        del text
        for name, file in (("plain", plain), ("perwiz-ext 1", extended)):
            lines = int(subprocess.run(["wc", "-l", file], capture_output=True, check=True, text=True).stdout.split()[0])
            spent = best(lambda file=file: read(file), 2)
            row(f"read ALOG    {name}, {lines / 1e6:.1f} M lines", f"{lines / spent / 1e6:.2f} M lines/s", "at least 3, stretch 5")
        for name, file in (("plain", plain), ("perwiz-ext 1", extended)):
            spent, peak = whole("predict", file, "--zero-wait", "all", "-n", "0")
            size = f"{name}, file to answer, {count / 1e6:.1f} M calls"
            row(f"predict      {size}", f"{spent:.2f} s", f"{peak / count:.0f} bytes per call at peak (at most 250)")


_LAUNCH = """
import os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = time.perf_counter() - begin
print(seconds, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status))
"""
"""Run by a small process: a child is billed for the memory its parent had when it was started."""


def whole(*words: str) -> tuple[float, int]:
    """Return seconds and peak memory (bytes) of one run of the command line."""
    return launched(*words)[:2]


def launched(*words: str) -> tuple[float, int, float]:
    """Return seconds, peak memory (bytes) and processor seconds, those of processes it starts included, of one run of the command line."""
    perwiz = os.path.join(os.path.dirname(sys.executable), "perwiz")
    command = [sys.executable, "-S", "-c", _LAUNCH, perwiz, *words]
    seconds, peak, used, code = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    if code not in ("0", "4"):
        raise SystemExit(f"perwiz {' '.join(words)}: exit code {code}")
    return float(seconds), int(peak), float(used)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure perwiz.")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    calls = 50_000 if parser.parse_args().small else 5_000_000
    sample = str(pathlib.Path(__file__).parent.parent / "traces" / "srtest.alog")
    row("perwiz --help", f"{min(whole('--help')[0] for _ in range(7)) * 1e3:.0f} ms", "at most 60")
    row("perwiz predict, small trace", f"{min(whole('predict', sample, '--zero-wait', 'e25')[0] for _ in range(7)):.3f} s", "at most 0.4")
    for ranks in (64, 1024):
        graph(ranks, calls)
    for name, ranks in (("ring", 2), ("ring", 64), ("halo", 64), ("wavefront", 64), ("collectives", 64)):
        whatifs(name, ranks, calls // 5)
    whatifs("halo", 64, 2 * calls)
    for split in (True, False):
        files(64, calls * 4 // 5, split)
    row("peak memory of this script", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB", f"numpy {np.__version__}")


if __name__ == "__main__":
    main()
