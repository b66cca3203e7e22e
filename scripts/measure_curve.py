"""What `scripts/bench` runs too: the critical path with all slacks, a latency curve of 100 points, and the search for its segments."""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measure import best, row

from patterns import pattern, ring
from perwiz.trace.trace import Trace
from perwiz.whatif.limits.critical import critical
from perwiz.whatif.limits.curve import curve, lines_of
from perwiz.whatif.run import replayed


def measured(name: str, trace: Trace, exact: bool) -> None:
    """Measure one trace, read already."""
    run = replayed(trace, "default", "none")
    size = f"{name}, {run.graph.vertices / 1e6:.1f} M vertices"
    row(f"critical path and slacks  {size}", f"{best(lambda: critical(trace, 'default', 'none'), 2):.2f} s")
    lines = lines_of(run, "L_ns")
    at = np.linspace(0, 25_000, 100)
    begin = time.perf_counter()
    for x in at.tolist():
        lines.makespan(x)
    row(f"latency curve, 100 points {size}", f"{time.perf_counter() - begin:.2f} s", "at most 1 (0.8 M vertices)")
    for whole in (False, True)[: 1 + exact]:
        begin = time.perf_counter()
        found = curve(trace, "L_ns", model="default", clock="none", exact=whole)
        text = f"{len(found.slope)} segments, {found.lines.sweeps} sweeps, {found.gap:.0f} ns above at most"
        row(f"  trace to curve{' (--exact)' * whole}", f"{time.perf_counter() - begin:.2f} s", text)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure perwiz critical and perwiz curve.")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    calls = 4_000 if parser.parse_args().small else 400_000
    measured("ring", ring(64, calls), True)
    for name in ("halo", "wavefront", "collectives"):
        measured(name, pattern(name, 64, 2 * calls), True)


if __name__ == "__main__":
    main()
