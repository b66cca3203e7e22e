"""`perwiz record`: a trace of an MPI program, with one command."""

from __future__ import annotations

import argparse
import contextlib
import sys

from perwiz.commands import options

HELP = "run an MPI program and record what it does"
_ENDING = """
The program needs no preparation: the recorder is put in front of its MPI with LD_PRELOAD. It is compiled with the program's own mpicc when
it is first used, and kept in ~/.cache/perwiz. A statically linked program is linked with it:
  mpicc app.o $(perwiz record --print-flags) -o app

examples:
  perwiz record -o run -- mpiexec -n 16 ./app args     then: perwiz info run
  perwiz record -o run --mpicc /opt/mpi/bin/mpicc -- srun -n 16 ./app
  perwiz record -o run -- mpiexec -n 4 python3 app.py
  perwiz record -o run -- smpirun -np 64 ... ./app     after: smpicc app.c $(perwiz record --print-flags --mpicc smpicc) -o app

A program marks its regions with PRGN_BEGIN("name") and PRGN_END from perwiz.h (perwiz record --print-include), in Python with
`perwiz.record.regions.parallel_region("name")`, or anywhere with MPI_Pcontrol(N) and MPI_Pcontrol(-N), N > 1.
PERWIZ_METAHOST_ID and PERWIZ_METAHOST_NAME, set on each of several machines, tell which one a process runs on.

exit codes: 0 done, 2 usage, or nothing could be recorded, 4 done but the recording is incomplete: the program failed, or the disk was full
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz record`."""
    parser.add_argument("-o", "--output", metavar="DIRECTORY", help="directory to record to; must not be there yet")
    parser.add_argument("--mpicc", metavar="FILE", help="compiler wrapper of the program's MPI (default: the one beside mpiexec)")
    parser.add_argument("--offsets", choices=("hierarchical", "flat"), help="how clocks are compared (default: hierarchical)")
    meaning = "add errors to the clocks, for tests: RANK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]];..."
    parser.add_argument("--clock-errors", metavar="ERRORS", help=meaning)
    parser.add_argument("--print-flags", action="store_true", help="print what to link the recorder into a program with, and end")
    parser.add_argument("--print-include", action="store_true", help="print the option by which a compiler finds perwiz.h, and end")
    parser.add_argument("command", metavar="-- COMMAND", nargs=argparse.REMAINDER, help="what to run, such as mpiexec -n 4 ./app")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after running the command."""
    from perwiz.errors import DONE, UsageError
    from perwiz.record import build, programs

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    mpicc = args.mpicc or programs.mpicc_for(command)
    if args.print_include:
        print(f"-I{build.HERE}")
        return DONE
    if args.print_flags:
        print(build.built(mpicc, build.OBJECT), "-pthread")
        return DONE
    if not args.output or not command:
        missing = "a directory (-o)" if not args.output else "a command (-- mpiexec ...)"
        raise UsageError(f"perwiz record: {missing} is missing; see perwiz record --help")
    return _record(args, command, mpicc)


def _settings(args: argparse.Namespace) -> dict[str, str]:
    given = {"PERWIZ_OFFSETS": args.offsets, "PERWIZ_CLOCK_ERRORS": args.clock_errors}
    return {name: value for name, value in given.items() if value}


def _record(args: argparse.Namespace, command: list[str], mpicc: str) -> int:
    from perwiz.errors import DONE, INCOMPLETE, PerwizError, UsageError
    from perwiz.record import build, launch, programs
    from perwiz.trace import recorded_files, recorded_sites

    launch.check(command)
    library = "" if programs.simulates(command[0]) else str(build.built(mpicc))
    folder, token = launch.open_folder(args.output)
    code = launch.run(command, launch.variables(folder, token, library, _settings(args)))
    if not launch.recorded(folder):
        why = f"it ended with exit code {code} before" if code else "no process came through"
        raise UsageError(f"{args.output}: nothing was recorded: {why} the MPI_Init of the MPI of {mpicc}")
    lines = launch.outcome(args.output, code, command, recorded_files.stopped(folder))
    with contextlib.suppress(OSError, PerwizError):  # on a full disk, or after a crash, call sites stay addresses
        recorded_sites.resolve(folder)
    for line in lines:
        print(f"perwiz: {line}", file=sys.stderr)
    return INCOMPLETE if lines else DONE
