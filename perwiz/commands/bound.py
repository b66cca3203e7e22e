"""`perwiz bound`: how long regions take at least, from sums of what their processes do."""

from __future__ import annotations

import argparse

from perwiz.commands import files, options

HELP = "lower bounds on regions: nobody waits, computation or messages are balanced"
_ENDING = """
Regions are the parallel ones, or if there are none those at the top; --region names others. The whole program comes first.
A bound sums what each process does and takes the largest sum. It knows no order of calls: no program of this work is faster,
but a program may not reach it. What one would reach with its present order, perwiz predict says.
Without Q1 the recorded waits are part of the sums: Q2 and Q3 by themselves can lie above the recorded time.

examples:
  perwiz bound run.alog
  perwiz bound run.otf2 --region solve --region exchange --json

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz bound`."""
    options.trace(parser)
    meaning = "bound these regions, joined by commas or given one by one (default: all parallel regions)"
    parser.add_argument("--region", dest="regions", action="append", default=[], metavar="NAME", help=meaning)
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the bounds."""
    from perwiz.report.bound import document as report
    from perwiz.whatif.limits.bound import bound

    model = options.machine(args)
    trace, machine = files.part(args.trace, args.iterations, model)
    document = report.document(bound(trace, args.regions, machine, args.clock))
    return files.finish(args, document, report.text, document.health.incomplete)
