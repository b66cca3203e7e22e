"""`perwiz calibrate`: a model file of one's own machine."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.loggps.fit.fit import Fit

HELP = "measure the parameters of a machine, or take them from a trace, and write them as a model"
ROUNDS, LARGEST = 30, 1 << 20
"""Repetitions of a measurement, and bytes of the largest message."""
_SIMULATED = "its network is simulated, must be a real one; the platform file says what it costs"
_ENDING = """
A program of perwiz is put at the end of the launcher's command line: compiled with the mpicc of the MPI and kept in ~/.cache/perwiz, or
built ahead of time (perwiz record --build).
Rank 0 measures with one process on its node and one on another, if there are any. If there are both, the model has costs for each class
of pairs. Times are quartiles of repeated round trips, for noise only makes them longer.

From a trace the shortest times of its own messages are taken, as every command does that is given no --model: with the file it answers
the same. A message that waited for a process that computed, or whose call waited for another, tells nothing of the network. What nothing
tells is listed as unknown: for want of evidence (nothing of the kind is in the trace), or because the evidence is bad (it was disturbed).

examples:
  perwiz calibrate -o mine.toml -- mpiexec -n 2                       then: perwiz predict run --model mine.toml
  perwiz calibrate -o mine.toml -- mpiexec -n 2 --map-by node         two processes on two nodes (Open MPI)
  perwiz calibrate -o mine.toml --mpicc /opt/mpi/bin/mpicc -- srun -n 2
  perwiz calibrate -o mine.toml --from run
  perwiz calibrate -o run/model.toml -- mpiexec -n 2                  the recorded run's own model: taken where no --model is given

exit codes: 0 done, 2 usage, or nothing could be measured, 3 the trace cannot be read
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz calibrate`."""
    parser.add_argument("-o", "--output", metavar="FILE", help="model file to write, such as mine.toml")
    parser.add_argument("--from", dest="trace", metavar="TRACE", help="take the parameters from the messages of a trace")
    meaning = "clocks of the trace: linear, interpolate measured offsets (default); none, take the times as they are"
    parser.add_argument("--clock", choices=("none", "linear"), default="linear", help=meaning)
    parser.add_argument("--mpicc", metavar="FILE", help="compiler wrapper of the MPI (default: the one beside mpiexec)")
    parser.add_argument(
        "--rounds", type=partial(_number, 3), default=ROUNDS, metavar="N", help=f"repeat each measurement N times (default {ROUNDS})"
    )
    meaning = f"size of the largest message (default {LARGEST})"
    parser.add_argument("--largest", type=partial(_number, 64), default=LARGEST, metavar="BYTES", help=meaning)
    options.answer(parser)
    options.plot(parser, "draw times over sizes, the model's lines, residuals, and senders that were held or free")
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
        raise UsageError("a model file (-o) is missing; see perwiz calibrate --help")
    if not args.output.endswith(".toml"):
        raise UsageError(f"{args.output}: must end in .toml, as model files do")
    if bool(command) == (args.trace is not None):
        wrong = "a launcher and --from TRACE, must be one of them" if command else "a launcher (-- mpiexec -n 2) or --from TRACE is missing"
        raise UsageError(f"{wrong}; see perwiz calibrate --help")
    files.check([args.output], [args.trace] if args.trace and not _belongs(args.output, args.trace) else [], args.plot)
    fit = _from_trace(args) if args.trace else measured(command, args.mpicc, args.output, args.rounds, args.largest)
    write(args.output, fit)
    outputs = {args.plot: partial(_plot, fit, args.size)}
    return files.finish(args, report.document(fit, args.output), report.text, incomplete=False, outputs=outputs)


def _plot(fit: Fit, width: float | None, path: str) -> None:
    from perwiz.report.calibrate.plot import plot

    plot(fit, path, width)


def _belongs(output: str, trace: str) -> bool:
    """Return whether a file is the place for the model of a recorded run."""
    import os

    from perwiz.formats.recorded.read import MODEL

    return os.path.basename(output) == MODEL and os.path.realpath(os.path.dirname(output)) == os.path.realpath(trace)


def write(output: str, fit: Fit) -> None:
    """Write a model file."""
    from perwiz.report.calibrate import document as report

    files.write({output: partial(files.write_text, report.toml(fit))})


def _name(output: str) -> str:
    import os

    path = os.path.abspath(output)
    stem = os.path.basename(path).removesuffix(".toml")
    if stem.startswith("model"):  # in the directory of a recorded run; that says more
        stem = os.path.basename(os.path.dirname(path)) + stem.removeprefix("model")
    return stem if stem.isprintable() and stem else "calibrated"


def _from_trace(args: argparse.Namespace) -> Fit:
    import dataclasses

    from perwiz import words
    from perwiz.clock.treatment import treat
    from perwiz.errors import UsageError
    from perwiz.loggps import model_file
    from perwiz.loggps.fit.fit import fit

    read = files.read(args.trace)
    if read.model and read.timeline.origin.predicted:
        raise UsageError(f"{args.trace}: {_SIMULATED}")
    trace = treat(read, args.clock).trace
    found = fit(trace, model_file.load(trace.model) if trace.model else None)
    model = found.machine.model
    source = f"{words.shown(args.trace)} ({trace.format}), clocks {args.clock}, by perwiz calibrate on {_today()}: {model.source}"
    model = dataclasses.replace(model, name=_name(args.output), source=source)
    return dataclasses.replace(found, machine=dataclasses.replace(found.machine, model=model))


def measured(command: list[str], mpicc: str | None, output: str, rounds: int = ROUNDS, largest: int = LARGEST) -> Fit:
    """Return what was measured with a launcher, named after the file it is to be written to. Raises UsageError when nothing can be."""
    from perwiz.errors import UsageError
    from perwiz.loggps.fit import rounds as trips
    from perwiz.progress import Progress
    from perwiz.record import ahead, calibrate, launch, programs

    launch.check(command)
    if programs.simulates(command[0]):
        raise UsageError(f"{command[0]}: {_SIMULATED}")
    mpicc = mpicc or ahead.mpicc_for(command)
    with Progress("measuring round trips") as progress:
        lines = calibrate.measured(command, mpicc, rounds, largest, progress)
    told = {line[0]: " ".join(line[1:]) for line in lines if line[0] in ("mpi", "host", "other")}
    samples = trips.parsed(lines)
    where = {"within-node": f"on one node, {told['host']}", "between-nodes": f"on two nodes, {told['host']} and {told.get('other')}"}
    between = ", and ".join(where[pairs] for pairs in samples)
    source = f"measured between two processes {between}, {_short(told['mpi'])}, by perwiz calibrate on {_today()}"
    return trips.measured(samples, _name(output), source)


def _short(library: str) -> str:
    """Return the name and version of an MPI from the first line it says about itself."""
    plain = "".join(c for c in library if c.isprintable())
    return plain.partition(",")[0].replace("MPICH Version: ", "MPICH ")[:60]


def _today() -> str:
    import datetime

    return datetime.date.today().isoformat()
