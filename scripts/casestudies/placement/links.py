"""A run on another tree of switches, and on other nodes of one, predicted and measured: under SimGrid's SMPI with its contention.

    python3 scripts/casestudies/placement/links.py --out /tmp/links [--processes 32] [--slots 2] [--leaf 4] [--cfg network/crosstraffic:0]
        [--also NAME=FILE ...]

It needs perwiz installed, smpicc and smpirun. A halo exchange and an all to all of messages are recorded on two levels of switches with
full bisection and at 4:1, ranks in blocks and one by one. From each run another is predicted, told the platform of its nodes and the two
topologies; beside that without links. Errors are parts of the measured makespan. Exit code 5: one with links is above 5 %. `--also` takes
programs in place of these, linked with `perwiz record`'s object for smpicc (printed first), such as those of NPB.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import subprocess
import sys

import numpy as np
from placement import HERE, MISSED, PLATFORM, PROGRAMS, WELL, nodes

import perwiz
from perwiz.loggps import model_file
from perwiz.loggps.links.topology import load
from perwiz.loggps.model import Model
from perwiz.record import build
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.placement import Links, Placement
from perwiz.whatif.run import replayed, under

OVER = {"full": 1, "over": 4}
"""Oversubscription of each tree."""
HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
"""
TOPOLOGY = """kind = "fat tree"
ports = [{leaf}, {switches}]
oversubscription = {over}
node_GB_per_s = 1.25
reverse = {reverse}
hosts = ["n[0-{last}]"]
"""


@dataclasses.dataclass(frozen=True)
class Machine:
    """Nodes at leaf switches of `leaf` nodes."""

    out: pathlib.Path
    processes: int
    slots: int
    leaf: int
    settings: tuple[str, ...]
    also: dict[str, str]
    """File of each program that was brought."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.processes // self.slots

    def platform(self, over: int) -> str:
        """Return the platform of SimGrid whose leaf switches have one link upward each, so much narrower than those of their nodes."""
        out = [HEAD]
        out += [f'<host id="n{node}" speed="1Gf" core="{self.slots}"/>\n' for node in range(self.nodes)]
        out += [
            f'<link id="l{node}" bandwidth="1250MBps" latency="5us" sharing_policy="SPLITDUPLEX"/>\n'
            f'<link id="b{node}" bandwidth="5000MBps" latency="1us" sharing_policy="FATPIPE"/>\n'
            for node in range(self.nodes)
        ]
        wide = 1250 * self.leaf / over
        for switch in range(self.nodes // self.leaf):
            out.append(f'<link id="t{switch}" bandwidth="{wide}MBps" latency="0us" sharing_policy="SPLITDUPLEX"/>\n')
        for a in range(self.nodes):
            out.append(f'<route src="n{a}" dst="n{a}"><link_ctn id="b{a}"/></route>\n')
            for b in range(self.nodes):
                if a != b:
                    trunks = [f"t{a // self.leaf}", f"t{b // self.leaf}"] if a // self.leaf != b // self.leaf else []
                    way = [(f"l{a}", "UP"), *zip(trunks, ("UP", "DOWN"), strict=False), (f"l{b}", "DOWN")]
                    links = "".join(f'<link_ctn id="{name}" direction="{side}"/>' for name, side in way)
                    out.append(f'<route src="n{a}" dst="n{b}" symmetrical="NO">{links}</route>\n')
        return "".join([*out, "</zone></platform>\n"])

    @property
    def reverse(self) -> float:
        """What messages take of links the other way: SimGrid's 5 %, if it is not told otherwise."""
        return 0.0 if "network/crosstraffic:0" in self.settings else 0.05

    def topology(self, tree: str) -> str:
        """Return the name of the topology file of a tree."""
        return str(self.out / f"{tree}.toml")

    def prepare(self) -> None:
        """Write platforms and topologies, and compile the programs."""
        (self.out / "nodes.xml").write_text(PLATFORM.format(last=self.nodes - 1, slots=self.slots), encoding="utf-8")
        for tree, over in OVER.items():
            text = TOPOLOGY.format(leaf=self.leaf, switches=self.nodes // self.leaf, over=over, last=self.nodes - 1, reverse=self.reverse)
            pathlib.Path(self.topology(tree)).write_text(text, encoding="utf-8")
            (self.out / f"{tree}.xml").write_text(self.platform(over), encoding="utf-8")
        recorder = str(build.built("smpicc", build.OBJECT))
        print(recorder)
        subprocess.run(["smpicc", "-O1", "-w", str(HERE / "placed.c"), recorder, "-pthread", "-o", str(self.out / "placed")], check=True)

    def recorded(self, program: str, tree: str, placement: str) -> Trace:
        """Return the recorded run, made if it is not there; SMPI's hosts all tell the name of this machine, so the nodes are put in."""
        name = f"{program}-{tree}-{placement}"
        folder, hosts = self.out / name, self.out / f"{name}.hosts"
        home = nodes(placement, self.processes, self.slots)
        if not folder.exists():
            hosts.write_text("".join(f"{host}\n" for host in home), encoding="utf-8")
            words = ["smpirun", "-np", str(self.processes), "-platform", str(self.out / f"{tree}.xml"), "-hostfile", str(hosts)]
            words += ["--log=root.thres:critical", "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"]
            words += [f"--cfg={setting}" for setting in self.settings]
            words += [self.also[program]] if program in self.also else [str(self.out / "placed"), program, *map(str, PROGRAMS[program])]
            subprocess.run([sys.executable, "-m", "perwiz", "record", "-o", str(folder), "--", *words], check=True)
        trace = perwiz.read(str(folder))
        names = tuple(dict.fromkeys(home))
        node = np.array([names.index(host) for host in home], "i4")[trace.locations.process]
        return dataclasses.replace(trace, nodes=names, locations=dataclasses.replace(trace.locations, node=node))


def predicted(trace: Trace, model: Model, asked: list[Hypothesis]) -> int:
    """Return the makespan that a run is predicted to have, ns."""
    return under(replayed(trace, model, clock="none", hypotheses=asked), asked).makespan


def main() -> int:
    """Record and predict all, and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=lambda path: pathlib.Path(path).resolve(), required=True)
    for name, usual in (("--processes", 32), ("--slots", 2), ("--leaf", 4)):
        parser.add_argument(name, type=int, default=usual)
    parser.add_argument("--cfg", nargs="*", default=[])
    parser.add_argument("--also", nargs="*", default=[], metavar="NAME=FILE")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    machine = Machine(
        asked.out, asked.processes, asked.slots, asked.leaf, tuple(asked.cfg), dict(each.split("=", 1) for each in asked.also)
    )
    machine.prepare()
    alone = model_file.load(str(asked.out / "nodes.xml"))
    cyclic = Placement(f"cyclic:{machine.nodes}x{machine.slots}")
    worst = 0.0
    for program in machine.also or PROGRAMS:
        runs = {
            (tree, how): machine.recorded(program, tree, how) for tree, how in (("full", "block"), ("over", "block"), ("over", "cyclic"))
        }
        for was, now in ((0, 1), (1, 0), (1, 2)):
            (tree, how), (other, there) = ([*runs][row] for row in (was, now))
            trace, truth = runs[tree, how], runs[other, there].timeline.makespan
            recorded = trace.timeline.makespan
            on = alone.on(load(machine.topology(tree)))
            found = predicted(trace, on, [Links(machine.topology(other))] if other != tree else [cyclic])
            without = predicted(trace, alone, [cyclic] if other == tree else [])
            worst = max(worst, abs(found / truth - 1))
            print(f"{program}: {tree} {how} {recorded / 1e6:.2f} ms, {other} {there} {truth / 1e6:.2f} ms, predicted", end="")
            print(f" {found / 1e6:.2f} ms ({found / truth - 1:+.1%}), without links {without / truth - 1:+.1%}")
    return 0 if worst <= WELL else MISSED


if __name__ == "__main__":
    sys.exit(main())
