"""Algorithms of collectives, predicted from a run of another one and measured, where the MPI takes the one it is told.

    python3 scripts/casestudies/collectives/collectives.py --out /tmp/collectives [--processes 16] [--fitted] [ROUTINE ...]
    python3 scripts/casestudies/collectives/collectives.py --out /tmp/collectives --mpiexec mpiexec --processes 4 [ROUTINE ...]

That is SimGrid's SMPI (smpicc and smpirun) or, by its launcher, Open MPI, mpicc beside it; perwiz has to be installed. Each routine is
recorded by each algorithm and size, each time behind a barrier; from each run all others are predicted, told neither the algorithm it was
made by nor, with --fitted and under Open MPI, the machine, else the platform. Errors are parts of the measured time of a collective, from
the last that enters it to the last that leaves it, the median of all. Exit code 5: `best` names an algorithm that takes 5 % longer than the
best in more than one run of ten.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import shutil
import subprocess
import sys

import numpy as np

import perwiz
from perwiz.engines.sweep import sweep
from perwiz.loggps.weigh import Weighted
from perwiz.record import build
from perwiz.trace import operations
from perwiz.trace.trace import Trace
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
FIXED = {"barrier": "recursive-doubling", "reduce": "binomial", "bcast": "binomial"}
OPEN_MPI = {
    "allreduce": {"ring": 4, "recursive-doubling": 3, "rabenseifner": 6, "reduce-bcast": 2},
    "bcast": {"linear": 1, "binomial": 6, "scatter-ring": 9, "scatter-doubling": 8},
    "reduce": {"linear": 1, "binomial": 5, "rabenseifner": 7},
    "allgather": {"ring": 4, "recursive-doubling": 3, "bruck": 2, "neighbour": 5},
    "alltoall": {"bruck": 3, "pairwise": 2, "linear": 1},
    "barrier": {"linear": 1, "tree": 6, "double-ring": 2, "recursive-doubling": 3, "dissemination": 4},
}
"""The numbers of the same in Open MPI, coll_tuned_*_algorithm."""
SIZES = {"allgather": (8, 1024, 32768), "alltoall": (8, 1024, 32768), "barrier": (8,)}
SMALLEST_TO_LARGEST = (8, 2048, 32768, 262144)
WELL, MISSED = 1.05, 5


class Smpi:
    """SimGrid's MPI on a cluster: every run of a program is the same, so eight collectives say it."""

    times, pings, compiler = 8, 1, "smpicc"

    def __init__(self, out: pathlib.Path, processes: int) -> None:
        self.platform = out / "cluster.xml"
        self.platform.write_text(PLATFORM.format(last=processes - 1), encoding="utf-8")
        (out / "hosts").write_text("".join(f"n{k}\n" for k in range(processes)), encoding="utf-8")
        self._launch = ["smpirun", "-np", str(processes), "-platform", str(self.platform), "-hostfile", str(out / "hosts")]
        self._launch += ["--log=root.thres:critical", "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"]

    def launch(self, algorithms: dict[str, str]) -> list[str]:
        """Return how to launch a program whose routines are made by these algorithms."""
        return [*self._launch, *(f"--cfg=smpi/{routine}:{SMPI[routine][name]}" for routine, name in algorithms.items())]


class OpenMpi:
    """Open MPI, where runs differ: the median of many collectives counts."""

    times, pings = 100, 60

    def __init__(self, mpiexec: str, processes: int) -> None:
        self._launch = [mpiexec, "--oversubscribe", "-n", str(processes), "--mca", "coll", "tuned,basic,libnbc,self,inter"]
        self._launch += ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "mpi_yield_when_idle", "1"]
        self.compiler = str(pathlib.Path(shutil.which(mpiexec) or mpiexec).with_name("mpicc"))

    def launch(self, algorithms: dict[str, str]) -> list[str]:
        """Return how to launch a program whose routines are made by these algorithms."""
        told = ([f"coll_tuned_{routine}_algorithm", str(OPEN_MPI[routine][name])] for routine, name in algorithms.items())
        return [*self._launch, *(word for one in told for word in ("--mca", *one))]


def recorded(out: pathlib.Path, mpi: Smpi | OpenMpi, routine: str, algorithm: str, size: int) -> pathlib.Path:
    """Return the folder of the recorded run, made if it is not there."""
    folder = out / f"{routine}-{algorithm}-{size}"
    if not folder.exists():
        words = [*mpi.launch(FIXED | {routine: algorithm}), str(out / "loop"), routine, str(size), str(mpi.times), str(mpi.pings)]
        compiler = [] if isinstance(mpi, Smpi) else ["--mpicc", mpi.compiler]
        subprocess.run([sys.executable, "-m", "perwiz", "record", "-o", str(folder), *compiler, "--", *words], check=True)
    return folder


def compiled(out: pathlib.Path, mpi: Smpi | OpenMpi) -> None:
    """Build the program; SMPI has to have the recorder in it."""
    recorder = [str(build.built("smpicc", build.OBJECT)), "-pthread"] if isinstance(mpi, Smpi) else []
    subprocess.run([mpi.compiler, "-O1", "-w", str(HERE / "loop.c"), *recorder, "-o", str(out / "loop")], check=True)


def on_hosts(folder: str) -> Trace:
    """Return a recorded run with a node for each process: SMPI's hosts all tell the name of this machine."""
    trace = perwiz.read(folder)
    places = dataclasses.replace(trace.locations, node=trace.locations.process)
    return dataclasses.replace(trace, nodes=tuple(f"n{number}" for number in range(len(places))), locations=places)


def took(weighted: Weighted, routine: str, times: int) -> float:
    """Return the median time of the collectives of the loop, ns: MPI_Init makes some of its own before."""
    calls, time = weighted.trace.calls, sweep(weighted.graph, weighted.weight)
    own = np.flatnonzero(calls.op == operations.OP[f"MPI_{routine.capitalize()}"])
    own = np.stack([own[calls.location[own] == rank][-times:] for rank in range(len(weighted.trace.locations))])
    return float(np.median(time[weighted.graph.returned[own]].max(0) - time[weighted.graph.entered[own]].max(0)))


def study(out: pathlib.Path, mpi: Smpi | OpenMpi, routine: str, size: int, model: str | None) -> tuple[list[float], list[bool]]:
    """Print what is predicted from each run of a routine; return the errors, and whether what is best comes out well."""
    folders = {algorithm: recorded(out, mpi, routine, algorithm, size) for algorithm in SMPI[routine]}
    read = on_hosts if isinstance(mpi, Smpi) else perwiz.read
    runs = {algorithm: replayed(read(str(folder)), model, clock="none") for algorithm, folder in folders.items()}
    measured = {algorithm: took(run.weighted, routine, mpi.times) for algorithm, run in runs.items()}
    print(f"{routine} of {size} bytes: " + ", ".join(f"{algorithm} {ns / 1e3:.0f} us" for algorithm, ns in measured.items()))
    errors, well = [], []
    for algorithm, run in runs.items():
        found = {other: took(Collective(f"{routine}={other}").apply(run.weighted), routine, mpi.times) for other in runs}
        off = {other: found[other] / measured[other] - 1 for other in runs if other != algorithm}
        best = min(found, key=lambda other: found[other])
        errors += off.values()
        well.append(measured[best] <= WELL * min(measured.values()))
        print(f"  from {algorithm}: " + ", ".join(f"{other} {error:+.1%}" for other, error in off.items()) + f"; best {best}")
    return [abs(error) for error in errors], well


def main() -> int:
    """Run all, and print the errors of each routine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--mpiexec", help="launcher of an Open MPI, mpicc beside it (default: SMPI)")
    parser.add_argument("--fitted", action="store_true", help="fit the machine to each run instead of taking the platform")
    parser.add_argument("routine", nargs="*", default=list(SMPI))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    mpi = OpenMpi(asked.mpiexec, asked.processes) if asked.mpiexec else Smpi(asked.out, asked.processes)
    model = str(mpi.platform) if isinstance(mpi, Smpi) and not asked.fitted else None
    compiled(asked.out, mpi)
    table, good = [], []
    for routine in asked.routine:
        errors, well = list[float](), list[bool]()
        for size in SIZES.get(routine, SMALLEST_TO_LARGEST):
            more, right = study(asked.out, mpi, routine, size, model)
            errors += more
            well += right
        table.append(f"{routine:10} {len(errors):3} predictions, median {np.median(errors):.1%}, 90 % {np.quantile(errors, 0.9):.1%}")
        table[-1] += f", worst {max(errors):.1%}; best named in {sum(well)} of {len(well)} runs"
        good += well
    print("\n".join(table))
    return 0 if np.mean(good) >= 0.9 else MISSED


if __name__ == "__main__":
    sys.exit(main())
