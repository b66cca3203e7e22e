"""`perwiz balance`: which parallel step pays most if it were balanced."""

from __future__ import annotations

import argparse
from functools import partial

from perwiz.commands import files, options

HELP = "which parallel step to balance: the run predicted for each of them"
_ENDING = """
A step is the k-th instance of a region on every process. Regions are the parallel ones; --region names others. Where none is marked: all,
the whole program; between-collectives, each stretch between two collectives in which all processes wait for each other; and the regions
whose processes differ most, of at most 16384 steps each.
Each step is asked what perwiz predict --balance-time REGION#K and --balance-messages REGION#K answer, and steps are sorted by the
predicted gain: the step whose processes differ most (largest sigma) is often not the one that pays. A step that holds 95 % of all
computation is the whole program: it stands apart.
Percentages are of the time after MPI_Init, where the trace shows it.

examples:
  perwiz balance run.alog
  perwiz balance run.otf2 --region timestep -n 20 --plot steps.png

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz balance`."""
    options.trace(parser)
    meaning = (
        "balance the steps of these regions, or of all or between-collectives, joined by commas or given one by one"
        " (default: all parallel regions)"
    )
    parser.add_argument("--region", dest="regions", action="append", default=[], metavar="NAME", help=meaning)
    options.rows(parser, 10, "steps that gain most")
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the computation of each process in each step, and what balancing it gains")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after drawing what was asked for and printing the steps."""
    from perwiz.progress import Progress
    from perwiz.report.balance import document as report
    from perwiz.report.balance.plot import plot
    from perwiz.whatif.limits.balance import balance

    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    trace, machine = files.part(args.trace, args.iterations, model)
    with Progress(f"balancing {args.trace}", noun="prediction") as progress:
        balanced = balance(trace, args.regions, machine, args.clock, progress)
    document = report.document(balanced, args.rows)
    return files.finish(args, document, report.text, document.health.incomplete, {args.plot: partial(plot, balanced, width=args.size)})
