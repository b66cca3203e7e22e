"""`perwiz curve`: the makespan as a function of one parameter of the network, or of how long a process, node or region computes."""

from __future__ import annotations

import argparse
import math
import re
from functools import partial

from perwiz.commands import files, options

HELP = "the makespan as a function of latency, bandwidth, overhead, or of one rank's computation"
_ENDING = """
WHAT is a parameter of the network: L_ns, o_ns, g_ns, G_ns_per_byte, O_ns_per_byte, or just its letter; o_s, o_r, O_s, O_r are those of
one end, between-nodes:L those of a class of pairs (where the model has classes, L is that of the slowest, and the others change in
proportion); or rank:3, node:NAME, region:NAME, a factor on the time of its computation. The curve is found exactly, segment by segment,
not sampled: every weight of the graph is a line in the parameter, and the slope says how often the critical path pays it. Which messages
are synchronous does not change.
Percentages are of the time after MPI_Init, where the trace shows it.

examples:
  perwiz curve run.alog --of L
  perwiz curve run.alog --of G_ns_per_byte --to 20 --plot bandwidth.png
  perwiz curve run --of between-nodes:L
  perwiz curve run.alog --of rank:3 --from 0.5 --to 2 --points 16 --json

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz curve`."""
    options.trace(parser)
    parser.add_argument("--of", metavar="WHAT", default="L_ns", help="the parameter (default L_ns)")
    parser.add_argument("--from", dest="least", type=_number, metavar="X", help="where the curve begins (default 0)")
    most = "where it ends (default 10 times the recorded value; of one that is 0, 10 times that of the model default)"
    parser.add_argument("--to", dest="most", type=_number, metavar="X", help=most)
    parser.add_argument("--points", type=options.count, default=0, metavar="N", help="print N samples too, evenly spaced, each exact")
    parser.add_argument("--exact", action="store_true", help="find all segments, however long it takes")
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the curve")
    options.ending(parser, _ENDING)


def _number(text: str) -> float:
    value = float(text) if re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", text) else math.nan
    if not 0 <= value <= 1e12:
        raise argparse.ArgumentTypeError(f"'{text}', must be a number from 0 to 1e12")
    return value


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after drawing the curve if asked for and printing it."""
    from perwiz.progress import Progress
    from perwiz.report.curve import document as report
    from perwiz.report.curve.plot import plot
    from perwiz.whatif.limits.curve import curve, parameter

    parameter(args.of)
    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    trace, machine = files.part(args.trace, args.iterations, model)
    with Progress(f"searching for segments of the curve over {args.of}", noun="sweep") as progress:
        makespan = curve(trace, args.of, args.least, args.most, machine, args.clock, args.exact, progress)
        document = report.document(makespan, args.points)
    return files.finish(args, document, report.text, document.health.incomplete, {args.plot: partial(plot, makespan, width=args.size)})
