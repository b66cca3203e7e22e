"""`perwiz compare`: how far a prediction is from the measured run, or what changed from one run to another."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.whatif.compare.compare import Comparison

HELP = "compare a predicted run with the measured one, or two runs of the same or a changed program"
_ENDING = """
Where one run is a prediction, its file tells, and the difference is an error: predicted minus measured, + is predicted too long. With
hypotheses FIRST is a recorded run, and what it becomes under them is compared; the range it was predicted to lie in is told, and whether
SECOND lies inside, if it is narrow enough to tell, both from MPI_Init to MPI_Finalize: how long processes take to start and to end is
predicted by nothing. Two measured runs have no error: what is told is the change from FIRST to SECOND. Why the makespans differ is read
off the critical path of each run: the differences of its parts add up to that of the makespans. Calls of a process are the same if they
have the same routine, partner, tag, communicator, user region and place in the order; what is left is the same in another place, or in
another region.

examples:
  perwiz compare predicted.alog measured.alog                     a run that perwiz predict -o wrote, and the real one
  perwiz compare before.alog after.alog                           what a change of the program changed
  perwiz compare before.alog after.alog --zero-wait e12           the same in one step: was the gain what was promised?
  perwiz compare before.alog after.alog --zero-wait e12 --log pairs.jsonl   and keep it, to tell how good predictions are here
  perwiz compare before.alog after.alog --from MPI_Barrier --to solve   from the first barrier to the end of the last solve
  perwiz compare before.alog after.alog --iterations 10..90       these iterations of both, from when the last process has begun them
  perwiz compare predicted.alog measured.alog --max-error 5%      exit code 5 if the makespan is further off

exit codes: 0 done, 2 usage or model, 3 a trace cannot be read, or no call of the two is the same, 4 done but a trace is incomplete,
5 done but the error is larger than --max-error, whether or not a trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz compare`."""
    meaning = "trace, of any format and also packed; - is ALOG on standard input"
    parser.add_argument("first", metavar="FIRST", help=f"predicted or earlier {meaning}")
    parser.add_argument("second", metavar="SECOND", help=f"measured or later {meaning}")
    meaning = (
        "the instant from which both runs are compared: when the first process enters this user region or routine, NAME#3 its third"
        " instance on each process; e12, the return of this call of FIRST; start, the first instant; begun, when the last process has"
        " begun; init, when it has left MPI_Init; common, the first call of both runs (default: init; start if neither run shows MPI_Init,"
        " common if only one does; begun with --iterations)"
    )
    parser.add_argument("--from", dest="start", metavar="INSTANT", help=meaning)
    meaning = (
        "the instant up to which: when the last process leaves this region or routine; the return of this call; end, the last instant;"
        " common, the return of the last call of both runs (default: end; common if only one run shows MPI_Finalize)"
    )
    parser.add_argument("--to", dest="stop", metavar="INSTANT", help=meaning)
    meaning = "exit with 5 if the predicted makespan is further off than this part of the measured one"
    parser.add_argument("--max-error", type=options.percentage, metavar="PERCENT", help=meaning)
    options.rows(parser, 5, "calls whose durations differ most")
    options.hypotheses(parser)
    options.log(parser, "write what was predicted under the hypotheses, and measured, behind the pairs there (see perwiz predict --log)")
    options.iterations(parser, ", of both runs")
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw both runs above each other, and below them the differences of the processes that differ most")
    options.ending(parser, _ENDING)


def _log(args: argparse.Namespace, comparison: Comparison) -> None:
    """Write a pair of the log."""
    from perwiz.errors import UsageError
    from perwiz.whatif.sure.logged import Pair, append

    verdict = comparison.verdict
    if verdict is None:
        raise UsageError(
            f"--log: no range is known of {args.first}, must be a recorded run under hypotheses, whole, in which something repeats"
        )
    asked, span = tuple(map(str, comparison.hypotheses)), verdict.span
    paths = comparison.first.trace.path, comparison.second.trace.path
    append(args.log, Pair(*paths, asked, verdict.predicted, verdict.measured, span.least, span.most))


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the picture and printing the comparison."""
    from perwiz.errors import MISSED, UsageError
    from perwiz.report.compare import document as report
    from perwiz.report.compare.plot import plot
    from perwiz.report.compare.text import text, too_far
    from perwiz.whatif.compare.compare import compare
    from perwiz.whatif.compare.reasons import reasons
    from perwiz.whatif.compare.unasked import unasked
    from perwiz.whatif.hypotheses.base import parse

    hypotheses, model = [parse(text) for text in args.hypotheses], options.machine(args)
    inputs = [args.first, args.second, args.model, *options.networks(args.hypotheses)]
    files.check([], inputs, args.plot)
    (first, machine), (second, other) = files.parts([args.first, args.second], args.iterations, model)
    comparison = compare(first, second, args.start, hypotheses, machine, args.clock, args.stop)
    if args.max_error is not None and comparison.kind != "error":
        both = "predictions" if comparison.first.timeline.origin.predicted else "measured"
        raise UsageError(f"--max-error: {args.first} and {args.second} are both {both}, so there is no error; one must be a prediction")
    if args.log is not None:
        _log(args, comparison)
    found = reasons(comparison, machine, other)
    elsewhere = unasked(comparison, first, second, machine, args.clock)
    document = report.document(comparison, found, args.rows, args.max_error, elsewhere)
    incomplete = any(side.health.incomplete for side in comparison.sides)
    code = files.finish(args, document, text, incomplete, {args.plot: partial(plot, comparison, found, calls=args.rows, width=args.size)})
    if document.max_error and document.max_error.missed:
        print(f"perwiz: {too_far(document, args.max_error)}", file=sys.stderr)
        return MISSED
    return code
