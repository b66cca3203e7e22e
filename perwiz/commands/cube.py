"""`perwiz cube`: look at severity cubes, compare them and put them together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.formats.cube.cube import Cube
    from perwiz.trace.parts.cut import Chosen

HELP = "show, subtract, average and merge severity cubes: Cube files of perwiz, Scalasca or Score-P, or traces"
_ENDING = """
An operand is a Cube 4 file (.cubex) or a trace, which is searched as by `perwiz patterns`. Results are cubes again: -o writes them, the
Cube tools show them. Values that an operand does not have are 0. Metrics are the same by name and unit, call paths by the names of their
regions and files, processes by rank.

examples:
  perwiz cube show run.cubex --metric mpi_latesender
  perwiz cube diff before.cubex after.cubex -o gained.cubex
  perwiz cube diff before.otf2 after.otf2 --percent           times in percent of all the run's time, for runs of other lengths
  perwiz cube mean run1.cubex run2.cubex run3.cubex -o mean.cubex
  perwiz cube cmp ours.cubex theirs.cubex

exit codes: 0 done, 2 usage, 3 an operand cannot be read, 4 done but a trace is incomplete, 5 cmp: the cubes are not equal
"""
_ACTIONS = {
    "show": "the totals of a cube, and the call paths with most of a metric",
    "diff": "first less second",
    "mean": "the mean of cubes",
    "merge": "the metrics of all cubes; of one in several the values of the first",
    "cmp": "whether two cubes are equal in names and values",
}
_SUFFIX = ".cubex"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz cube`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, meaning in _ACTIONS.items():
        sub = actions.add_parser(action, help=meaning, description=meaning)
        count = {"show": 1, "diff": 2, "cmp": 2}.get(action, "+")
        sub.add_argument("operands", nargs=count, metavar="CUBE|TRACE", help="Cube file or trace; - is a trace on standard input")
        if action in ("diff", "mean", "merge"):
            sub.add_argument("-o", dest="output", metavar="FILE.cubex", help="write the result")
        if action == "diff":
            sub.add_argument("--percent", action="store_true", help="times in percent of all time of their run; counts and gains stay")
        if action != "cmp":
            sub.add_argument("--metric", metavar="NAME", help="list the call paths with most of this metric")
            options.rows(sub, 10, "call paths")
        options.iterations(sub, ", of every trace")
        options.clock(sub)
        options.answer(sub)
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the result and printing it."""
    from perwiz.errors import MISSED
    from perwiz.formats.cube import algebra as cube_algebra
    from perwiz.report.cube import document as report

    output = getattr(args, "output", None)
    check_output(output, args.operands)
    cubes = [_read(path, args.iterations, args.clock) for path in args.operands]
    names = [f"{path} iterations {args.iterations}" if args.iterations else path for path in args.operands]
    operands = [cube_algebra.percent(cube) for cube in cubes] if getattr(args, "percent", False) else cubes
    cube = _result(args.action, operands, names)
    for fault in cube.faults:
        print(f"perwiz: {fault}", file=sys.stderr)
    shown = [] if args.action == "show" else operands
    differences = cube_algebra.differences(*operands) if args.action == "cmp" else None
    metric, rows = getattr(args, "metric", None), getattr(args, "rows", 0)
    document = report.document(args.action, names, cube, shown, metric, rows, differences)
    code = files.finish(args, document, report.text, cube.incomplete, {output: partial(write, cube)})
    return MISSED if differences else code


def check_output(path: str | None, inputs: Iterable[str | None], plot: str | None = None) -> None:
    """Raise UsageError if a Cube file (None: none) cannot be written, or has a name that the Cube tools do not take; see `files.check`."""
    from perwiz.errors import UsageError

    if path is not None and not path.endswith(_SUFFIX):
        raise UsageError(f"{path}: no name for a Cube file, must end in {_SUFFIX}")
    files.check([path], inputs, plot)


def write(cube: Cube, path: str) -> None:
    """Write a cube to a file."""
    from perwiz.formats.cube import write as cube_write

    cube_write.write(cube, path)


def _read(path: str, chosen: Chosen | None, clock: str) -> Cube:
    """Return the cube in a file, or that of a trace or of some of its iterations. Raises UsageError for those of a Cube file."""
    from perwiz.errors import UsageError
    from perwiz.formats.cube import read as cube_read
    from perwiz.patterns.analysis.causes import explain
    from perwiz.patterns.analysis.worth import worth
    from perwiz.patterns.search import search
    from perwiz.report.cube import findings as cube_findings
    from perwiz.whatif.run import replayed

    if path.endswith(_SUFFIX) or cube_read.is_cube(path):
        if chosen is not None:
            raise UsageError(f"--iterations {chosen}: {path} is a Cube file, which has none, must be a trace")
        cube = cube_read.read(path)
        for fault in cube.faults:
            print(f"perwiz: {path}: {fault}", file=sys.stderr)
        return cube
    replay = replayed(*files.part(path, chosen), clock)
    findings = explain(search(replay.trace)).findings
    return cube_findings.cube(replay, findings, worth(replay, findings))


def _result(action: str, operands: list[Cube], names: list[str]) -> Cube:
    """Return the cube that was asked for; it says what it was made of."""
    import dataclasses

    from perwiz.formats.cube import algebra as cube_algebra
    from perwiz.formats.cube.cube import OPERATION

    if action == "show":
        return dataclasses.replace(operands[0], faults=())
    if action == "cmp":
        return dataclasses.replace(cube_algebra.diff(*operands), faults=())
    made = {"diff": lambda: cube_algebra.diff(*operands), "mean": lambda: cube_algebra.mean(operands)}
    cube = made.get(action, lambda: cube_algebra.merge(operands))()
    return dataclasses.replace(cube, attributes={**cube.attributes, OPERATION: " ".join((action, *names))})
