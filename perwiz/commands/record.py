"""`perwiz record`: a trace of an MPI program, or a record of its counters, with one command."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from perwiz.commands import options

if TYPE_CHECKING:
    from perwiz.loggps.fit.fit import Fit

HELP = "run an MPI program and record what it does"
_ENDING = """
The program needs no preparation: the recorder is put in front of its MPI with LD_PRELOAD. It is compiled with the program's own mpicc when
it is first used, and kept in ~/.cache/perwiz. A statically linked program is linked with it:
  mpicc app.o $(perwiz record --print-flags) -o app
For nodes without compiler, or with no place to write to, build it once per MPI, where all nodes see it:
  perwiz record --build /opt/perwiz --mpicc /opt/mpi/bin/mpicc     and there: export PERWIZ_RECORDERS=/opt/perwiz
It is looked for in lib/perwiz of the prefixes of PERWIZ_RECORDERS (A:B), of the prefix perwiz is installed in, of /usr/local and of /usr.

examples:
  perwiz record -o run -- mpiexec -n 16 ./app args     then: perwiz info run
  perwiz record -o run --mpicc /opt/mpi/bin/mpicc -- srun -n 16 ./app
  perwiz record -o run --calibrate -- mpiexec -n 16 ./app     what perwiz asks of the run then uses the model measured here
  perwiz record -o run -- mpiexec -n 4 python3 app.py
  perwiz record -o run --openmp -- mpiexec -n 2 ./app     its threads, too
  perwiz record -o run --openmp -- ./app     a program of threads without MPI, from its beginning to its end
  perwiz record -o run -- oshrun -np 16 ./app     OpenSHMEM, too
  perwiz record -o run --counters instructions,cycles -- mpiexec -n 16 ./app     then: perwiz info run --counters
  perwiz record -o run -- smpirun -np 64 ... ./app     after: smpicc app.c $(perwiz record --print-flags --mpicc smpicc) -o app

With --openmp the threads of OpenMP are locations of their own, with their teams, barriers, critical sections, locks and tasks; loops,
sections and single are regions. LLVM's and Intel's runtimes tell of them (OMPT); GCC's libgomp does not: LLVM's libomp takes its place.
A command without launcher whose files load no MPI is a program without it: any C compiler compiles what it is recorded with. If that
uses MPI after all: --mpicc FILE.

A program marks its regions with PRGN_BEGIN("name") and PRGN_END from perwiz.h (perwiz record --print-include), in Python with
`perwiz.record.regions.parallel_region("name")`, or anywhere with MPI_Pcontrol(N) and MPI_Pcontrol(-N), N > 1.
PERWIZ_METAHOST_ID and PERWIZ_METAHOST_NAME, set on each of several machines, tell which one a process runs on.

With --profile calls are counted, and nothing is written until MPI_Finalize, which combines what the processes have counted and appends
one record to a file (-o, default perwiz-profile.txt), sends it to syslog line by line, or both. All of it comes from rank 0:
  Nov 28 22:09:57 host perwiz: B <56770>                             it begins, with the number of rank 0's process; E <56770> ends it
  size = n = 4 uid=843 Open MPI v5.0.1 / avg. on each PE:            processes, user, MPI; numbers below are averages of the processes
  send      1344 calls 2.94e+00 sec cnt= 9.4e+08 lng= 9.40e+08       calls, time, sum of count arguments, bytes
    total 5376 calls cnt= 3760000000 sent= 3760000000 received= 0 sizes= 512:5000 1024:376      exact sums over all processes
  time [sec]          mpi= 9.32e+01 / all= 1.13e+02 = 8.3e-01        from MPI_Init until all are in MPI_Finalize
  time * size         mpi= 3.73e+02 / all= 4.51e+02                  the same summed over the processes
  profiling overhead= 1.54e-01 sec = time_all* 1.4e-03 (25 ns a call, 15 more with a request)
  environment OMPI_MCA_btl=self,sm                                   every switch of the MPI that is set
  subtotal level 2                                                   what the region has of all this, without regions inside it
cnt is the count argument of what is sent, else received, or the number of requests. lng is, per call, the larger of the bytes sent and
received; bytes received are those that came, counted where the receive is completed. sizes are numbers of calls by that: 512:5000 are
5000 calls with 512 to 1023 bytes. The overhead is what a call cost in a loop at the start, times the calls, and the measured time of the
start and end. Of --counters the kernel's part is left out; they cost some microseconds a call; where the kernel or the processor does
not allow them the record says so. Routines that only ask (MPI_Comm_rank, MPI_Wtime ...) are not counted. A region is its thread's own; 63
are kept apart, 31 deep: what is in others belongs to the region around them. A program that does not come to MPI_Finalize leaves no record.
  perwiz record --profile -- mpiexec -n 16 ./app args
  perwiz record --profile --to both -o jobs.txt --counters instructions,cycles -- mpiexec -n 16 ./app
To count every job without this command, set PERWIZ_PROFILE (file, syslog or both), PERWIZ_PROFILE_FILE and PERWIZ_COUNTERS for programs
that have the recorder linked or preloaded. PERWIZ_SYSLOG is the socket of syslog (default: /dev/log).

exit codes: that of the command (of mpiexec, 128 + N if signal N ended it), 4 if that is 0 but nothing was recorded; 2 if perwiz could not
start it. What could not be recorded is said on standard error
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz record`."""
    parser.add_argument("-o", "--output", metavar="PATH", help="directory to record to, must not be there yet; of --profile: a file")
    parser.add_argument("--profile", action="store_true", help="count only: no trace, one record of the whole run")
    parser.add_argument("--to", choices=("file", "syslog", "both"), help="where that record goes (default: file)")
    names = "instructions, cycles, cache-misses, branch-misses, task-clock, page-faults, context-switches"
    parser.add_argument("--counters", metavar="NAMES", help=f"count up to four of these as calls and regions begin and end, too: {names}")
    parser.add_argument(
        "--mpicc", metavar="FILE", help="compiler wrapper of the program's MPI (default: the one beside mpiexec; of OpenSHMEM oshcc)"
    )
    parser.add_argument("--openmp", action="store_true", help="record the threads of OpenMP, too")
    parser.add_argument("--pthreads", action="store_true", help="record POSIX threads that the program begins, too")
    meaning = "the OpenMP runtime to run on: LLVM's libomp.so or Intel's libiomp5.so (default: the program's own, LLVM's for libgomp)"
    parser.add_argument("--openmp-runtime", metavar="FILE", help=meaning)
    meaning = "measure the machine first, with the same launcher, and keep the model with the run (as perwiz calibrate -o PATH/model.toml)"
    parser.add_argument("--calibrate", action="store_true", help=meaning)
    meaning = (
        "how clocks are compared. flat: each with that of rank 0; single: that at the start only; hierarchical: each with that of its"
        " metahost's first process, only these with rank 0 (default); all: flat and hierarchical, for perwiz correct --offsets to compare"
    )
    parser.add_argument("--offsets", choices=("single", "flat", "hierarchical", "all"), help=meaning)
    meaning = "add errors to the clocks, for tests: RANK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]];..."
    parser.add_argument("--clock-errors", metavar="ERRORS", help=meaning)
    parser.add_argument("--uneven-links", metavar="NS", help=argparse.SUPPRESS)  # makes comparing clocks of metahosts worse, for tests
    parser.add_argument("--print-flags", action="store_true", help="print what to link the recorder into a program with, and end")
    parser.add_argument("--print-include", action="store_true", help="print the option by which a compiler finds perwiz.h, and end")
    meaning = "build the recorder of an MPI (--mpicc), and that of programs without, into PREFIX/lib/perwiz, for nodes that cannot, and end"
    parser.add_argument("--build", metavar="PREFIX", help=meaning)
    parser.add_argument("command", metavar="-- COMMAND", nargs=argparse.REMAINDER, help="what to run, such as mpiexec -n 4 ./app")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after running the command."""
    import os

    from perwiz.errors import DONE, UsageError
    from perwiz.record import ahead, build, programs

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    alone = not args.mpicc and not os.environ.get("PERWIZ_MPICC") and bool(command) and programs.without_mpi(command)
    mpicc = args.mpicc or ahead.mpicc_for(command)
    if args.build:
        return _build(args.build, mpicc, command)
    if args.print_include:
        print(f"-I{build.HERE}")
        return DONE
    if args.print_flags:
        print(build.built(mpicc, build.OBJECT), "-pthread")
        return DONE
    if args.profile and command:
        of_traces = "--openmp", "--openmp-runtime", "--pthreads", "--calibrate", "--offsets", "--clock-errors", "--uneven-links"
        _refuse(args, *of_traces, because="is not for --profile: nothing is timed against other processes")
        return _profile(args, command, mpicc)
    _refuse(args, "--to", because="is only for --profile")
    if not command or not args.output:
        missing = "a directory (-o)" if command else "a command (-- mpiexec ...)"
        raise UsageError(f"{missing} is missing; see perwiz record --help")
    if alone and (args.openmp or args.pthreads):
        of_mpi = "--calibrate", "--offsets", "--clock-errors", "--uneven-links"
        _refuse(args, *of_mpi, because=f"is for programs of MPI, which {command[0]} is not (if it is: --mpicc FILE)")
        return _record(args, command, None)
    return _record(args, command, mpicc)


def _build(prefix: str, mpicc: str, command: list[str]) -> int:
    """Return the exit code, after building recorders into a prefix and saying how they are found."""
    from perwiz.errors import DONE, UsageError
    from perwiz.record import ahead, build

    if command:
        raise UsageError(f"--build runs nothing, must be without {command[0]}; see perwiz record --help")
    for folder in build.into(prefix, mpicc):
        print(folder)
    if ahead.inside(prefix) not in ahead.places():
        _say([f"found where {ahead.VARIABLE} has {os.path.abspath(prefix)}"])
    return DONE


def _refuse(args: argparse.Namespace, *names: str, because: str) -> None:
    from perwiz.errors import UsageError

    for name in names:
        if getattr(args, name.removeprefix("--").replace("-", "_")):
            raise UsageError(f"{name} {because}")


def _profile(args: argparse.Namespace, command: list[str], mpicc: str) -> int:
    from perwiz.record import launch, profile

    launch.check(command)
    library = _library(command, mpicc)
    target = profile.open_target(args.to or "file", args.output, args.counters)
    try:
        code = launch.run(command, profile.variables(target, library))
    finally:
        noted = profile.close_target(target)
    lines = profile.outcome(target, noted) if noted else [f"{target.file or 'syslog'}: {_nothing(mpicc)}"]
    _say(launch.ended(code, command) + lines)
    return launch.exit_code(code, bool(noted))


def _library(command: list[str], mpicc: str | None) -> str:
    from perwiz.record import build, programs

    return "" if programs.simulates(command[0]) else str(build.built(mpicc))


def _nothing(mpicc: str | None, openmp: bool = False) -> str:
    if not mpicc:
        runtimes = "no OpenMP runtime told of threads, as LLVM's and Intel's do (--openmp-runtime)"
        who = runtimes if openmp else "the program began no POSIX thread"
        return f"nothing was recorded: {who}; if it is a program of MPI: --mpicc FILE"
    return f"nothing was recorded: no process came through the MPI_Init of the MPI of {mpicc}"


def _say(lines: list[str]) -> None:
    for line in lines:
        print(f"perwiz: {line}", file=sys.stderr)


def _settings(args: argparse.Namespace) -> dict[str, str]:
    import re

    from perwiz.errors import UsageError

    number = r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?"
    for error in filter(None, (args.clock_errors or "").split(";")):
        if not re.fullmatch(rf"\d+:{number}(:{number}(:{number}:{number})?)?", error):
            raise UsageError(f"--clock-errors {error}: must be RANK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]]")
    if args.uneven_links and not re.fullmatch(r"\d{1,9}", args.uneven_links):
        raise UsageError(f"--uneven-links {args.uneven_links}: must be whole ns below a second")
    given = {"PERWIZ_OFFSETS": args.offsets, "PERWIZ_CLOCK_ERRORS": args.clock_errors, "PERWIZ_UNEVEN_LINKS": args.uneven_links}
    given |= {"PERWIZ_OPENMP": "1" if args.openmp else None, "PERWIZ_PTHREADS": "1" if args.pthreads else None}
    return {name: value for name, value in given.items() if value}


def _measured(place: str, command: list[str], mpicc: str) -> Fit:
    """Return what the launcher of a command measures, named after the model file of its run."""
    from perwiz.commands import calibrate
    from perwiz.record import programs

    return calibrate.measured(programs.launcher(command), mpicc, place)


def _record(args: argparse.Namespace, command: list[str], mpicc: str | None) -> int:
    import os

    from perwiz.commands import calibrate
    from perwiz.errors import PerwizError, UsageError
    from perwiz.formats.recorded import files as recorded_files
    from perwiz.formats.recorded import sites as recorded_sites
    from perwiz.formats.recorded.read import MODEL
    from perwiz.record import build, counters, launch, openmp, programs

    launch.check(command)
    if args.openmp_runtime and not args.openmp:
        raise UsageError("--openmp-runtime is only for --openmp")
    if (args.openmp or args.pthreads) and programs.simulates(command[0]):
        raise UsageError("--openmp and --pthreads are not for smpirun: it runs processes as threads of its own")
    if args.openmp and args.pthreads:
        raise UsageError("--pthreads is not for --openmp: its threads are those of POSIX, too")
    if args.counters and programs.simulates(command[0]):
        raise UsageError("--counters is not for smpirun: it runs processes as threads of its own")
    wanted = counters.asked(args.counters)
    counters.check(wanted)
    settings = _settings(args) | ({"PERWIZ_COUNTERS": ",".join(wanted)} if wanted else {})
    runtime, why = openmp.runtime(command, args.openmp_runtime) if args.openmp else ("", "")
    front = str(build.built(mpicc, build.PTHREADS)) if args.pthreads else ""
    library = ":".join(filter(None, (front, _library(command, mpicc), runtime)))
    folder, token = launch.open_folder(args.output)
    place = os.path.join(args.output, MODEL)
    try:
        measured = _measured(place, command, mpicc) if args.calibrate and mpicc else None
        code = launch.run(command, launch.variables(folder, token, library, settings))
    finally:
        any_recorded = launch.recorded(folder)
        if any_recorded:
            with contextlib.suppress(OSError, PerwizError):  # on a full disk, or after a crash, call sites stay addresses
                recorded_sites.resolve(folder)
    nothing = [f"{args.output}: {_nothing(mpicc, args.openmp)}"]
    stopped = recorded_files.stopped(folder)
    lines = launch.outcome(args.output, stopped, args.openmp, bool(mpicc), bool(wanted)) if any_recorded else nothing
    _say([why] * bool(why) + launch.ended(code, command) + lines)
    if any_recorded and measured:
        calibrate.write(place, measured)
    return launch.exit_code(code, any_recorded)
