"""Algorithms of collectives, predicted from a run of another one and measured: under SimGrid's SMPI, which takes the one it is told.

    python3 scripts/casestudies/collectives/collectives.py --out /tmp/collectives [--processes 16] [--fitted] [ROUTINE ...]

It needs perwiz installed, smpicc and smpirun. Each routine is recorded by each algorithm and size, eight times behind a barrier; from each
run all others are predicted, told neither the algorithm it was made by nor, with --fitted, the machine, else the platform. Errors are
parts of the measured time of the loop. Exit code 5: `best` names an algorithm that takes 5 % longer than the best in more than one run of
ten.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

import numpy as np

import perwiz
from perwiz.engines.sweep import sweep
from perwiz.loggps.weigh import Weighted
from perwiz.record import build
from perwiz.trace import operations
from perwiz.whatif.hypotheses.collectives import Collective
from perwiz.whatif.run import replayed

HERE = pathlib.Path(__file__).parent
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="1250MBps" lat="5us"/>
</platform>
"""
SMPI = {
    "allreduce": {"ring": "lr", "recursive-doubling": "rdb", "rabenseifner": "rab_rdb", "reduce-bcast": "redbcast"},
    "bcast": {
        "linear": "flattree",
        "binomial": "binomial_tree",
        "scatter-ring": "scatter_LR_allgather",
        "scatter-doubling": "scatter_rdb_allgather",
    },
    "reduce": {"linear": "flat_tree", "binomial": "binomial", "rabenseifner": "scatter_gather"},
    "allgather": {"ring": "ring", "recursive-doubling": "rdb", "bruck": "bruck", "neighbour": "ompi_neighborexchange"},
    "alltoall": {"bruck": "bruck", "pairwise": "ring", "linear": "basic_linear"},
    "barrier": {
        "linear": "ompi_basic_linear",
        "tree": "ompi_tree",
        "double-ring": "ompi_doublering",
        "recursive-doubling": "ompi_recursivedoubling",
        "dissemination": "ompi_bruck",
    },
}
"""What SMPI calls each algorithm. Those that come to a barrier and those inside of others are fixed below."""
FIXED = ("barrier:ompi_recursivedoubling", "reduce:binomial", "bcast:binomial_tree")
SIZES = {"allgather": (8, 1024, 32768), "alltoall": (8, 1024, 32768), "barrier": (8,)}
SMALLEST_TO_LARGEST = (8, 2048, 32768, 262144)
WELL, MISSED = 1.05, 5


def recorded(out: pathlib.Path, processes: int, routine: str, algorithm: str, size: int) -> pathlib.Path:
    """Return the folder of the recorded run, made if it is not there."""
    folder = out / f"{routine}-{algorithm}-{size}"
    if folder.exists():
        return folder
    fixed = [f"--cfg=smpi/{one}" for one in FIXED if not one.startswith(f"{routine}:")]
    words = ["smpirun", "-np", str(processes), "-platform", str(out / "cluster.xml"), "-hostfile", str(out / "hosts")]
    words += ["--log=root.thres:critical", "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0", *fixed]
    words += [f"--cfg=smpi/{routine}:{SMPI[routine][algorithm]}", str(out / "loop"), routine, str(size)]
    subprocess.run([sys.executable, "-m", "perwiz", "record", "-o", str(folder), "--", *words], check=True)
    return folder


def prepared(out: pathlib.Path, processes: int) -> None:
    """Write the platform and build the program."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "cluster.xml").write_text(PLATFORM.format(last=processes - 1), encoding="utf-8")
    (out / "hosts").write_text("".join(f"n{k}\n" for k in range(processes)), encoding="utf-8")
    recorder = str(build.built("smpicc", build.OBJECT))
    subprocess.run(["smpicc", "-O1", "-w", str(HERE / "loop.c"), recorder, "-pthread", "-o", str(out / "loop")], check=True)


def loop(weighted: Weighted, routine: str) -> int:
    """Return how long the eight collectives take, from the first entry of rank 0 on, ns: MPI_Init makes some of its own."""
    calls, time = weighted.trace.calls, sweep(weighted.graph, weighted.weight)
    own = (calls.op == operations.OP[f"MPI_{routine.capitalize()}"]) & (calls.location == 0)
    return int(time.max() - time[weighted.graph.entered[np.flatnonzero(own)[-8]]])


def study(out: pathlib.Path, processes: int, routine: str, size: int, model: str | None) -> tuple[list[float], list[bool]]:
    """Print what is predicted from each run of a routine; return the errors, and whether what is best comes out well."""
    folders = {algorithm: recorded(out, processes, routine, algorithm, size) for algorithm in SMPI[routine]}
    runs = {algorithm: replayed(perwiz.read(str(folder)), model, clock="none") for algorithm, folder in folders.items()}
    took = {algorithm: loop(run.weighted, routine) for algorithm, run in runs.items()}
    print(f"{routine} of {size} bytes: " + ", ".join(f"{algorithm} {ns / 1e3:.0f} us" for algorithm, ns in took.items()))
    errors, well = [], []
    for algorithm, run in runs.items():
        found = {other: loop(Collective(f"{routine}={other}").apply(run.weighted), routine) for other in runs}
        off = {other: found[other] / took[other] - 1 for other in runs if other != algorithm}
        best = min(found, key=lambda other: found[other])
        errors += off.values()
        well.append(took[best] <= WELL * min(took.values()))
        print(f"  from {algorithm}: " + ", ".join(f"{other} {error:+.1%}" for other, error in off.items()) + f"; best {best}")
    return [abs(error) for error in errors], well


def main() -> int:
    """Run all, and print the errors of each routine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--fitted", action="store_true", help="fit the machine to each run instead of taking the platform")
    parser.add_argument("routine", nargs="*", default=list(SMPI))
    asked = parser.parse_args()
    prepared(asked.out, asked.processes)
    table, good = [], []
    for routine in asked.routine:
        errors, well = list[float](), list[bool]()
        for size in SIZES.get(routine, SMALLEST_TO_LARGEST):
            more, right = study(asked.out, asked.processes, routine, size, None if asked.fitted else str(asked.out / "cluster.xml"))
            errors += more
            well += right
        table.append(f"{routine:10} {len(errors):3} predictions, median {np.median(errors):.1%}, 90 % {np.quantile(errors, 0.9):.1%}")
        table[-1] += f", worst {max(errors):.1%}; best named in {sum(well)} of {len(well)} runs"
        good += well
    print("\n".join(table))
    return 0 if np.mean(good) >= 0.9 else MISSED


if __name__ == "__main__":
    sys.exit(main())
