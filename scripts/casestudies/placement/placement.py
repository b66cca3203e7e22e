"""Ranks on other nodes, predicted from a run of one placement and measured under another: under SimGrid's SMPI, whose messages share links.

    python3 scripts/casestudies/placement/placement.py --out /tmp/placement [--processes 32] [--slots 4]

It needs perwiz installed, smpicc and smpirun. A halo exchange and an all to all of messages are recorded with ranks in blocks on the nodes,
one by one, and each on a node of its own; from each run another is predicted, told the platform, with interfaces that messages share and
without. SMPI's MPI_Finalize waits for nobody unless it is told to: here it is. Errors are parts of the measured makespan. Exit code 5: one
with interfaces is above 5 %.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import subprocess
import sys

import numpy as np

import perwiz
from perwiz.loggps import model_file
from perwiz.loggps.interfaces import swapped
from perwiz.loggps.keys import NO_LIMIT
from perwiz.record import build
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.placement import Placement
from perwiz.whatif.run import replayed, under

HERE = pathlib.Path(__file__).parent
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="1250MBps" lat="5us" loopback_bw="5000MBps" loopback_lat="1us"
           core="{slots}"/>
</platform>
"""
PROGRAMS = {"halo": (200_000, 6), "alltoall": (40_000, 3), "transpose": (40_000, 3), "gather": (100_000, 3), "sum": (2_000_000, 3)}
"""Bytes of a message, and steps."""
PLACEMENTS = ("block", "cyclic", "apart")
CHANGES = (("block", "cyclic"), ("cyclic", "block"), ("apart", "block"))
"""Apart: each rank has a node."""
WELL, MISSED = 0.05, 5


def nodes(placement: str, processes: int, slots: int) -> list[str]:
    """Return the host of each rank."""
    count = processes // slots
    node = {"block": [rank // slots for rank in range(processes)], "cyclic": [rank % count for rank in range(processes)]}
    return [f"n{number}" for number in node.get(placement, range(processes))]


def recorded(out: pathlib.Path, program: str, placement: str, processes: int, slots: int) -> Trace:
    """Return the recorded run, made if it is not there; SMPI's hosts all tell the name of this machine, so the nodes are put in."""
    folder, hosts = out / f"{program}-{placement}-{processes}", out / f"hosts-{placement}-{processes}"
    home = nodes(placement, processes, slots)
    if not folder.exists():
        hosts.write_text("".join(f"{host}\n" for host in home), encoding="utf-8")
        words = ["smpirun", "-np", str(processes), "-platform", str(out / "cluster.xml"), "-hostfile", str(hosts)]
        words += ["--log=root.thres:critical", "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"]
        words += ["--cfg=smpi/finalization-barrier:yes", str(out / "placed")]
        words += [program, *map(str, PROGRAMS[program])]
        subprocess.run([sys.executable, "-m", "perwiz", "record", "-o", str(folder), "--", *words], check=True)
    trace = perwiz.read(str(folder))
    names = tuple(dict.fromkeys(home))
    node = np.array([names.index(host) for host in home], "i4")[trace.locations.process]
    return dataclasses.replace(trace, nodes=names, locations=dataclasses.replace(trace.locations, node=node))


def main() -> int:
    """Record and predict all, and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--slots", type=int, default=4)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    platform = asked.out / "cluster.xml"
    platform.write_text(PLATFORM.format(last=asked.processes - 1, slots=asked.slots), encoding="utf-8")
    recorder = str(build.built("smpicc", build.OBJECT))
    subprocess.run(["smpicc", "-O1", "-w", str(HERE / "placed.c"), recorder, "-pthread", "-o", str(asked.out / "placed")], check=True)
    one = model_file.load(str(platform))
    worst = 0.0
    for program in PROGRAMS:
        runs = {
            placement: recorded(asked.out, program, placement, asked.processes, asked.slots) for placement in ("block", "cyclic", "apart")
        }
        for placement, other in CHANGES:
            question = Placement(f"{other}:{asked.processes // asked.slots}x{asked.slots}")
            truth, errors = runs[other].timeline.makespan, []
            for model in (one, dataclasses.replace(one, interfaces=NO_LIMIT)):
                found = under(replayed(runs[placement], model, clock="none"), [question])
                errors.append(found.makespan / truth - 1)
                if model is one:
                    queues, makespan = swapped(found.graph, found.weighted.weight, found.time), found.makespan
            worst = max(worst, abs(errors[0]))
            was = runs[placement].timeline.makespan
            print(f"{program}: {placement} {was / 1e6:.2f} ms, {other} {truth / 1e6:.2f} ms, predicted {makespan / 1e6:.2f} ms", end="")
            print(f" ({errors[0]:+.1%}), without interfaces {errors[1]:+.1%}; {queues.swapped} of {queues.pairs} neighbours swap")
    return 0 if worst <= WELL else MISSED


if __name__ == "__main__":
    sys.exit(main())
