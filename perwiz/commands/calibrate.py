"""`perwiz calibrate`: a model file of one's own machine."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.loggps.calibrate import Calibration

HELP = "measure the parameters of a machine, or take them from a trace, and write them as a model"
_WHERE = {"node": "on one node", "across": "on two nodes"}
ROUNDS, LARGEST = 30, 1 << 20
"""Repetitions of a measurement, and bytes of the largest message."""
_ENDING = """
A program of perwiz is compiled with the mpicc of the MPI, kept in ~/.cache/perwiz, and put at the end of the launcher's command line.
Rank 0 measures with one process on its node and one on another, if there are any. If there are both, so are two models: mine.toml is
that across nodes, mine-node.toml that inside one. Times are quartiles of repeated round trips, for noise only makes them longer.

From a trace the shortest times of its own messages are taken; what they do not tell is listed as assumed. A message that waited for a
process that computed, or whose call waited for another, tells nothing of the network; where none is left, L is not known and no model is
written.

examples:
  perwiz calibrate -o mine.toml -- mpiexec -n 2                       then: perwiz predict run --model mine.toml
  perwiz calibrate -o mine.toml -- mpiexec -n 2 --map-by node         two processes on two nodes (Open MPI)
  perwiz calibrate -o mine.toml --mpicc /opt/mpi/bin/mpicc -- srun -n 2
  perwiz calibrate -o mine.toml --from run
  perwiz calibrate -o run/model.toml -- mpiexec -n 2                  the recorded run's own model: taken where no --model is given

exit codes: 0 done, 2 usage, or nothing could be measured, 3 the trace cannot be read, or too few of its messages tell
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz calibrate`."""
    parser.add_argument("-o", "--output", metavar="FILE", help="model file to write, such as mine.toml")
    parser.add_argument("--from", dest="trace", metavar="TRACE", help="take the parameters from the messages of a trace")
    meaning = "clocks of the trace: linear, interpolate measured offsets (default); clc, correct them; none, take the times as they are"
    parser.add_argument("--clock", choices=("none", "linear", "clc"), default="linear", help=meaning)
    parser.add_argument("--mpicc", metavar="FILE", help="compiler wrapper of the MPI (default: the one beside mpiexec)")
    parser.add_argument(
        "--rounds", type=partial(_number, 3), default=ROUNDS, metavar="N", help=f"repeat each measurement N times (default {ROUNDS})"
    )
    meaning = f"size of the largest message (default {LARGEST})"
    parser.add_argument("--largest", type=partial(_number, 64), default=LARGEST, metavar="BYTES", help=meaning)
    options.json(parser)
    parser.add_argument("command", metavar="-- LAUNCHER", nargs=argparse.REMAINDER, help="what starts two processes, such as mpiexec -n 2")
    options.ending(parser, _ENDING)


def _number(least: int, text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else -1
    if not least <= number <= 1 << 30:
        raise argparse.ArgumentTypeError(f"'{text}', must be a whole number from {least} to {1 << 30}")
    return number


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the model and printing its parameters."""
    from perwiz.errors import UsageError
    from perwiz.report.calibrate import document as report

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not args.output:
        raise UsageError("perwiz calibrate: a model file (-o) is missing; see perwiz calibrate --help")
    if not args.output.endswith(".toml"):
        raise UsageError(f"{args.output}: must end in .toml, as model files do")
    if bool(command) == (args.trace is not None):
        wrong = "a launcher and --from TRACE, must be one of them" if command else "a launcher (-- mpiexec -n 2) or --from TRACE is missing"
        raise UsageError(f"perwiz calibrate: {wrong}; see perwiz calibrate --help")
    files.check([args.output], [args.trace] if args.trace and not _belongs(args.output, args.trace) else [])
    models = _from_trace(args) if args.trace else measured(command, args.mpicc, args.output, args.rounds, args.largest)
    write(models)
    return files.finish(args, report.document(models), report.text, incomplete=False)


def _belongs(output: str, trace: str) -> bool:
    """Return whether a file is the place for the model of a recorded run."""
    import os

    from perwiz.formats.recorded.read import MODEL

    return os.path.basename(output) == MODEL and os.path.realpath(os.path.dirname(output)) == os.path.realpath(trace)


def write(models: dict[str, Calibration]) -> None:
    """Write model files: what each has, by its name."""
    from perwiz.report.calibrate import document as report

    files.write({path: partial(files.write_text, report.toml(model)) for path, model in models.items()})


def _path(output: str, pair: str, pairs: int) -> str:
    """Return the file of a pair's model: if there are several, that inside a node has a name of its own."""
    return f"{output.removesuffix('.toml')}-node.toml" if pairs > 1 and pair == "node" else output


def _name(output: str, pair: str, pairs: int) -> str:
    import os

    path = os.path.abspath(_path(output, pair, pairs))
    stem = os.path.basename(path).removesuffix(".toml")
    if stem.startswith("model"):  # in the directory of a recorded run; that says more
        stem = os.path.basename(os.path.dirname(path)) + stem.removeprefix("model")
    return stem if stem.isprintable() and stem else "calibrated"


def _from_trace(args: argparse.Namespace) -> dict[str, Calibration]:
    from perwiz import words
    from perwiz.clock.treatment import treat
    from perwiz.loggps import calibrate_trace

    trace = treat(files.read(args.trace), args.clock).trace
    which = calibrate_trace.classes(trace)
    models = {}
    for pair, rows in which.items():
        used = f"from {words.several(int(rows.sum()), 'message')} {_WHERE[pair]} of {words.shown(args.trace)} ({trace.format})"
        source = f"{used}, clocks {args.clock}, by perwiz calibrate on {_today()}"
        name = _name(args.output, pair, len(which))
        models[_path(args.output, pair, len(which))] = calibrate_trace.calibrated(trace, rows, name, source)
    return models


def measured(command: list[str], mpicc: str | None, output: str, rounds: int = ROUNDS, largest: int = LARGEST) -> dict[str, Calibration]:
    """Return what was measured with a launcher, by the file it is to be written to: `output`, and one beside it if there are two.

    Raises UsageError when nothing can be measured.
    """
    from perwiz.errors import UsageError
    from perwiz.loggps import calibrate_rounds
    from perwiz.progress import Progress
    from perwiz.record import calibrate, launch, programs

    launch.check(command)
    if programs.simulates(command[0]):
        raise UsageError(f"{command[0]}: its network is simulated, must be a real one; the platform file says what it costs")
    mpicc = mpicc or programs.mpicc_for(command)
    with Progress("measuring round trips") as progress:
        lines = calibrate.measured(command, mpicc, rounds, largest, progress)
    told = {line[0]: " ".join(line[1:]) for line in lines if line[0] in ("mpi", "host", "other")}
    samples = calibrate_rounds.parsed(lines)
    models = {}
    for pair, sample in samples.items():
        hosts = told["host"] if pair == "node" else f"{told['host']} and {told['other']}"
        source = f"measured between two processes {_WHERE[pair]}, {hosts}, {_short(told['mpi'])}, by perwiz calibrate on {_today()}"
        name = _name(output, pair, len(samples))
        models[_path(output, pair, len(samples))] = calibrate_rounds.calibrated(sample, name, source)
    return models


def _short(library: str) -> str:
    """Return the name and version of an MPI from the first line it says about itself."""
    plain = "".join(c for c in library if c.isprintable())
    return plain.partition(",")[0].replace("MPICH Version: ", "MPICH ")[:60]


def _today() -> str:
    import datetime

    return datetime.date.today().isoformat()
