"""`perwiz domino`: what to change first."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.report.domino.records import DominoDocument
    from perwiz.whatif.worth.domino import Domino
    from perwiz.whatif.worth.greedy import Chooser, Plan

HELP = "say what to change first: the waits that pay, what falls with them, and how far that goes"
_ENDING = """
Most waits are worth nothing, often the longest: their processes would only wait later. A short wait can topple many. For every
call perwiz predicts the run without its wait, follows the waits that pay back from process to process (the domino path) and
lists the calls and groups of calls by what the whole run gains. A change that begins with -- can be given to perwiz predict as it
stands. Percentages are of the time after MPI_Init, where the trace shows it.

--question advance asks for the fix itself, another order of calls. What runs ahead of a receive may need what that brings, which no
trace tells: the list says how many receives each change passes.

examples:
  perwiz domino run.alog                    what to change first
  perwiz domino run.alog --by routine       groups of calls: routine, region, step, rank, pair, partner-region
  perwiz domino run.alog --greedy 7         seven fixes, each chosen in the program that the ones before it make
  perwiz domino run.alog --target 1.3x      the fewest fixes found that make the run 1.3 times as fast
  perwiz domino run.alog --question advance  the waits whose partners can run earlier on their own processes
  perwiz domino run.alog --plot domino.png  the domino path in the timeline

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete,
5 done but --target is missed, whether or not the trace is incomplete
"""


FAMILIES = ("site", "routine", "region", "step", "rank", "pair", "partner-region")
"""Words of `perwiz.whatif.worth.families`."""
QUESTIONS = ("zero-wait", "zero-time", "advance")
"""Words of `perwiz.whatif.worth.worth`."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz domino`."""
    options.trace(parser)
    parser.add_argument(
        "-n", dest="rows", type=partial(options.count, least=1), default=10, metavar="N", help="rows of a list (default 10)"
    )
    meaning = "sets of calls to rank beside single ones (default site)"
    parser.add_argument("--by", choices=FAMILIES, metavar="|".join(FAMILIES), help=meaning)
    meaning = (
        "what is done to a call: zero-wait, it does not wait (default); zero-time, it takes no time; advance, what it waits for runs"
        " earlier on its own process, as far as the program allows (tried for the waits that are worth most)"
    )
    parser.add_argument("--question", choices=QUESTIONS, default="zero-wait", help=meaning)
    parser.add_argument(
        "--block",
        metavar="REGION",
        help="what runs earlier is the whole instance of this region, inside the one around it (--question advance)",
    )
    parser.add_argument("--greedy", type=options.count, default=0, metavar="K", help="K fixes, each chosen behind the ones before it")
    meaning = "the fewest fixes found that reach a makespan: 1.3x (times as fast), 80%% (of the time now) or 2.5s (s, ms, us, ns)"
    parser.add_argument("--target", metavar="T", help=f"{meaning}; with --by also from its sets")
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the domino path into the recorded run, above the run with its calls changed")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing what to change first and drawing the picture if that was asked for."""
    from perwiz.errors import MISSED, UsageError
    from perwiz.progress import Progress
    from perwiz.report.domino.plot import plot
    from perwiz.report.domino.text import text
    from perwiz.whatif.worth.domino import domino
    from perwiz.whatif.worth.greedy import target

    if args.target is not None:
        target(args.target, 1)
    if args.block and args.question != "advance":
        raise UsageError("--block: only what is moved has one, --question must be advance")
    if args.by and args.question == "advance":
        raise UsageError("--by: sets of calls are ranked for zero-wait and zero-time, --question must be one of these")
    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    args.question += f" by {args.block}" if args.block else ""
    trace = files.read(args.trace)
    with Progress("moving calls", noun="call") as progress:
        ranked = domino(trace, model, args.clock, args.question, progress)
    document = _document(args, ranked)
    code = files.finish(args, document, text, document.health.incomplete, {args.plot: partial(plot, ranked, width=args.size)})
    return MISSED if document.target and not document.target.reached else code


def _document(args: argparse.Namespace, ranked: Domino) -> DominoDocument:
    """Return the report, with the fixes and the target that were asked for."""
    from perwiz.progress import Progress
    from perwiz.report.domino import document as report
    from perwiz.whatif.worth import greedy

    choose = greedy.by_gain(args.question, args.by)
    with Progress("ranking sets of calls", noun="set") as progress:
        document = report.document(ranked, args.rows, args.by or "site", progress)
    if args.greedy:
        by_gain = greedy.greedy(ranked.run, args.greedy, args.question, choose)
        by_wait = greedy.greedy(ranked.run, args.greedy, choose=greedy.by_wait)
        document.fixes = report.fixes(ranked, by_gain, by_wait)
    if args.target is not None:
        document.target = report.target(ranked, args.target, _plan(args, ranked, choose))
    return document


def _plan(args: argparse.Namespace, ranked: Domino, choose: Chooser) -> Plan:
    """Return the fixes that reach the target; if nothing can, the first rows of how far they go."""
    from perwiz.progress import Progress
    from perwiz.whatif.worth import greedy

    wanted = greedy.target(args.target, ranked.run.makespan)
    with Progress("searching for fixes", noun="fix") as progress:
        most = greedy.MOST if ranked.bound <= wanted else args.rows
        return greedy.plan(ranked.run, wanted, args.question, choose, most, progress)
