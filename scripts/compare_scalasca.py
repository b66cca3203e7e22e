"""What `scripts/compare-scalasca` runs: the severity of every pattern of MPI as perwiz and as Scalasca 2.6 find it, side by side.

Scalasca makes two choices that a trace shows and perwiz does not share: it pairs messages of one channel in the order their receives
complete (MPI pairs them in the order they are posted), and it leaves MPI_Alltoallv and MPI_Alltoallw out. `as Scalasca` is what perwiz
finds with these two. What is left is that Scalasca takes the time of the record where perwiz takes that of the call: the end of a
collective (completion), the send (wrong order); the trace that perwiz makes has no record times.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import pathlib
import sys

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.clock.treatment import treat
from perwiz.errors import PerwizError
from perwiz.formats.files import read
from perwiz.patterns.library import OF_MPI
from perwiz.patterns.search import Findings, search
from perwiz.trace import operations
from perwiz.trace.trace import Trace

Floats = NDArray[np.float64]
ByPath = dict[tuple[str, ...], Floats]
"""Seconds per location, by the names of a call path."""
LEFT_OUT = [operations.OP[name] for name in ("MPI_Alltoallv", "MPI_Alltoallw")]
NAMES = tuple(pattern.name for pattern in OF_MPI)


def paired_by_completion(trace: Trace) -> Trace:
    """Return a trace whose messages of one channel go with receives in the order these complete."""
    table, location = trace.messages, trace.calls.location
    channel = (location[table.send], location[table.receive], table.tag, table.comm)
    by_receive, by_send = np.lexsort((table.receive, table.receive_done, *channel)), np.lexsort((table.send, *channel))
    columns = {name: getattr(table, name).copy() for name in ("send", "send_done", "mode")}
    for name, column in columns.items():
        column[by_receive] = getattr(table, name)[by_send]
    return dataclasses.replace(trace, messages=dataclasses.replace(table, **columns))


def without(findings: Findings, routines: list[int]) -> dict[str, ByPath]:
    """Return what was found, seconds, without collectives of some routines."""
    trace, out = findings.severity.trace, dict[str, ByPath]()
    for name, some in findings.instances.items():
        kept = some.where(~((some.collective >= 0) & np.isin(trace.collectives.op[some.collective], routines)))
        out[name] = {}
        node = findings.severity.tree.of_calls(trace, kept.call)
        for at in np.unique(node).tolist():
            on = node == at
            sums = np.bincount(trace.calls.location[kept.call[on]], kept.severity[on], len(trace.locations)) / 1e9
            out[name][tuple(findings.severity.tree.full_name(at).split("/"))] = sums
    return out


def total(found: ByPath) -> float:
    """Return the sum over call paths and locations."""
    return float(sum(values.sum() for values in found.values()))


def theirs(folder: pathlib.Path) -> dict[str, ByPath]:
    """Return what Scalasca found, per pattern; only on the path () if there is no scout.cubex but totals."""
    cube = folder / "truth" / "scout.cubex"
    if cube.exists():
        return _of_cube(cube)
    with open(folder / "truth" / "scout-totals.csv", newline="") as file:
        head, row = list(csv.reader(file))[:2]
    return {name: {(): np.array([float(value)])} for name, value in zip(head, row, strict=True) if name in NAMES}


def _of_cube(path: pathlib.Path) -> dict[str, ByPath]:
    from pycubexr import CubexParser
    from pycubexr.utils.exceptions import MissingMetricError

    with CubexParser(str(path)) as cube:
        names, out = dict[int, tuple[str, ...]](), dict[str, ByPath]()
        open_nodes = [(node, (node.region.name,)) for node in cube.get_root_cnodes()]
        while open_nodes:
            node, names[node.id] = open_nodes.pop()
            open_nodes += [(child, (*names[node.id], child.region.name)) for child in node.get_children()]
        for name in NAMES:
            try:
                found = cube.get_metric_values(cube.get_metric_by_name(name))
            except (MissingMetricError, AssertionError):  # The latter for one without any value.
                continue
            values = np.asarray(found.values, float).reshape(-1, len(cube.get_locations()))
            out[name] = {}
            for at, row in zip(found.cnode_indices, values, strict=False):
                out[name][names[at]] = out[name].get(names[at], 0) + row
    return out


def rooted(found: dict[str, ByPath], roots: set[str]) -> dict[str, ByPath]:
    """Return call paths without the program's name in front, unless it is one of the regions perwiz has at the top."""
    return {
        name: {path[1:] if len(path) > 1 and path[0] not in roots else path: values for path, values in paths.items()}
        for name, paths in found.items()
    }


def furthest(ours: ByPath, its: ByPath) -> tuple[float, tuple[str, ...]]:
    """Return the largest difference of any location and call path, seconds, and that call path; of the sums if there are no call paths."""
    if () in its:
        return abs(total(ours) - total(its)), ()
    zero = np.zeros(len(next(iter([*ours.values(), *its.values()]), np.zeros(1))))
    return max(((float(np.abs(ours.get(path, zero) - its.get(path, zero)).max()), path) for path in {*ours, *its}), default=(0.0, ()))


def compared(folder: pathlib.Path) -> tuple[dict[str, ByPath], dict[str, ByPath], dict[str, ByPath]]:
    """Return what perwiz finds, what it finds as Scalasca chooses, and what Scalasca found, of an archive."""
    trace = treat(read(str(folder / "traces.otf2")), "linear").trace
    plain = without(search(trace), [])
    same = without(search(paired_by_completion(trace)), LEFT_OUT)
    top = {trace.names[region] for region, parent in zip(trace.paths.region, trace.paths.parent, strict=True) if parent < 0}
    return plain, same, rooted(theirs(folder), top)


def lines(folder: pathlib.Path) -> list[str]:
    """Return the table of an archive."""
    plain, same, its = compared(folder)
    rows = []
    for name in NAMES:
        if total(plain[name]) == 0 == total(its.get(name, {})):
            continue
        sums = [total(found.get(name, {})) for found in (plain, same, its)]
        worst, path = furthest(same[name], its.get(name, {}))
        off = f"{(sums[1] - sums[2]) / sums[2]:+.4%}" if sums[2] else "-"
        rows.append(
            [name, *(f"{value:.9f}" for value in sums), off, f"{worst:.1e}", words.shown("/".join(path), 40) if worst > 1e-6 else ""]
        )
    head = ["pattern", "perwiz s", "as Scalasca", "Scalasca s", "off", "worst place", ""]
    return [str(folder), *words.table(head, rows, left=(0, 6)), ""]


def main() -> int:
    """Return the exit code, after printing a table per archive."""
    parser = argparse.ArgumentParser(prog="compare-scalasca", description="wait states beside those Scalasca 2.6 found")
    parser.add_argument("archives", nargs="+", type=pathlib.Path, help="folder with traces.otf2, and truth/scout.cubex or scout-totals.csv")
    for folder in parser.parse_args().archives:
        try:
            print("\n".join(lines(folder)))
        except (PerwizError, OSError) as error:
            print(f"compare-scalasca: {error}", file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
