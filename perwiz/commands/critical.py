"""`perwiz critical`: where the makespan is spent, along one critical path, and how much slack calls have."""

from __future__ import annotations

import argparse
from functools import partial

from perwiz.commands import files, options

HELP = "where the makespan is spent, along one critical path, and how much slack calls have"
_ENDING = """
The critical path is a longest chain of computation, calls and messages from the first instant of the run to the last: its pieces add up
to the makespan, and no wait lies on it. The slack of a call says how much later it may return without delaying the end;
its percentages are of the time after MPI_Init, where the trace shows it, all others of the makespan.

examples:
  perwiz critical run.alog
  perwiz critical run.alog -n 30 --plot path.png
  perwiz critical run.alog --json --slacks

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz critical`."""
    options.trace(parser)
    options.rows(parser, 10, "longest pieces of the path")
    parser.add_argument("--slacks", action="store_true", help="with --json: the slack of every call, in the order of their numbers")
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the recorded run with the path over it")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after drawing the path if asked for and printing it."""
    from perwiz.errors import UsageError
    from perwiz.report.critical import document as report
    from perwiz.report.critical.plot import plot
    from perwiz.report.critical.text import text
    from perwiz.whatif.limits.critical import critical

    if args.slacks and not args.json:
        raise UsageError("--slacks: as text there is only a summary of slack, must be given with --json")
    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    path = critical(*files.part(args.trace, args.iterations, model), args.clock)
    document = report.document(path, args.rows, args.slacks)
    return files.finish(args, document, text, document.health.incomplete, {args.plot: partial(plot, path, width=args.size)})
