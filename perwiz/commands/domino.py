"""`perwiz domino`: what to change first."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options
from perwiz.whatif.ranking import KINDS, WORDS

if TYPE_CHECKING:
    from perwiz.report.domino.records import DominoDocument
    from perwiz.trace.spread.team import Team
    from perwiz.whatif.ranking.change import Change
    from perwiz.whatif.ranking.ranking import Ranking
    from perwiz.whatif.run import Start
    from perwiz.whatif.worth.domino import Domino

HELP = "say what to change first: every kind of change by what it gains, the waits that pay, and how far that goes"
_ENDING = """
One list over every kind of change: calls that do not wait, computation balanced, the slowest process as fast as the mean, another order of
calls, messages that hold nobody, calls that take no time, a faster network. Each is predicted exactly; what says the same as another
is one line with it, the cause first, and each line says what to do. A change that begins with -- can be given to perwiz predict as it
stands. Percentages are of the time after MPI_Init, where the trace shows it.

Calls that do not wait or take no time, and a network for free, are bounds: nobody gets all of that. They stand in a list of their own, at
best, each with the changes that gain a part of it. Hot spots are the regions whose computation is worth most: what the run gains if that
takes half of its time, nothing where others are waited for.

Of a run of many calls the list is about some of its iterations in a row, if there are any that stand for all, which it says;
--iterations all asks of the whole run, as --target does.

Most waits are worth nothing, often the longest: their processes would only wait later. A short wait can topple many. Below the list perwiz
follows the single waits that pay back from process to process (the domino path).

--question advance asks the same of single calls for the fix itself, another order of calls. What runs ahead of a receive may need what
that brings, which no trace tells: the list says how many receives each change passes.

examples:
  perwiz domino run.alog                    what to change first
  perwiz domino run.alog --kind balance     only computation spread evenly
  perwiz domino run.alog --by site          only what is about call sites
  perwiz domino run.alog --greedy 7         seven fixes, each chosen in the program that the ones before it make
  perwiz domino run.alog --target 1.3x      the fewest changes found that make the run 1.3 times as fast
  perwiz domino run.alog --question advance  the waits whose partners can run earlier on their own processes
  mpiexec -n 4 perwiz domino run.otf2       by four processes, each with its part of the run
  perwiz domino run.alog --plot domino.png  the run under the first change, and the domino path

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete,
5 done but what can be done misses --target, whether or not the trace is incomplete
"""


FAMILIES = ("site", "routine", "region", "step", "rank", "pair", "lock")
"""Words of `perwiz.whatif.worth.families`."""
BY = ("call", *FAMILIES, "program", "stretch", "class", "node", "pairs", "setting")
"""Words of `perwiz.whatif.ranking.ranking`."""
QUESTIONS = ("zero-wait", "zero-time", "advance")
"""Words of `perwiz.whatif.worth.worth`."""


_ROWS = 10
"""Rows of a list in the JSON, unless others are asked for."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz domino`."""
    options.trace(parser)
    parser.add_argument(
        "-n", dest="rows", type=partial(options.count, least=1), metavar="N", help="rows of a list (default: few; 10 in the JSON)"
    )
    meaning = f"only changes of this kind, can be given several times: {'; '.join(f'{kind.word}, {kind.meaning}' for kind in KINDS)}"
    parser.add_argument("--kind", dest="kinds", choices=WORDS, action="append", metavar="KIND", help=meaning)
    parser.add_argument(
        "--by", choices=BY, metavar="|".join(BY), help="only changes that are about this; for calls, also what --greedy joins"
    )
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
    meaning = (
        "the fewest changes found, of the kinds asked for, that reach a makespan, that of the whole run with MPI_Init, bounds only where"
        " what can be done does not: 1.3x (times as fast), 80%% (of the time now) or"
    )
    parser.add_argument("--target", metavar="T", help=f"{meaning} 2.5s (s, ms, us, ns)")
    options.draws(parser)
    options.iterations(parser)
    options.model(parser)
    options.topology(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the recorded run above the one under the first change and the one with the calls of the domino path changed")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace, team: Team | None = None) -> int:
    """Return the exit code, after printing what to change first and drawing the picture; each process of a team takes part."""
    from perwiz.errors import UsageError
    from perwiz.whatif.ranking.plan import target
    from perwiz.whatif.ranking.ranking import check

    check(args.kinds or WORDS, args.by)
    if args.target is not None:
        target(args.target, 1)
    if args.block and args.question != "advance":
        raise UsageError("--block: only what is moved has one, --question must be advance")
    model = options.machine(args)
    files.check([], [args.trace, args.model, args.topology], args.plot)
    return _alone(args, model) if team is None else _together(args, model, team)


def _together(args: argparse.Namespace, model: Start, team: Team) -> int:
    """Return the exit code, after printing what several processes find. Raises UsageError for what one alone finds."""
    from perwiz.report.domino_together import document as report
    from perwiz.whatif.ranking import OF_PARTS
    from perwiz.whatif.ranking.messages import let_move
    from perwiz.whatif.ranking.ranking import rank
    from perwiz.whatif.run import replayed

    asked = {f"--{name}": getattr(args, name) for name in ("greedy", "target", "iterations", "topology", "plot")}
    asked |= {f"--question {args.question}": args.question != "zero-wait"}
    files.refuse(asked | {f"--kind {kind}": kind not in OF_PARTS for kind in args.kinds or ()}, team)
    replay = replayed(*files.part(args.trace, None, model, team), args.clock, also=let_move)
    ranking = rank(replay, args.kinds or OF_PARTS, args.by)
    document = report.document(ranking, args.rows or _ROWS, team.size, args.draws, _predict(args))
    return files.finish(args, document, report.text, document.health.incomplete, {}, team)


def _alone(args: argparse.Namespace, model: Start) -> int:
    from perwiz.errors import MISSED
    from perwiz.progress import Progress
    from perwiz.report.domino.document import ordered
    from perwiz.report.domino.first import pays
    from perwiz.report.domino.text import text
    from perwiz.trace.resources import keep_freed
    from perwiz.whatif.worth.domino import domino

    args.question += f" by {args.block}" if args.block else ""
    if args.target is None:
        trace, machine = files.listed(args, model, "domino")
    else:  # which is a time of the whole run
        trace, machine = files.part(args.trace, args.iterations, model, command="domino")
    machine = options.on_topology(args, machine, trace)
    keep_freed()
    with Progress("moving calls", noun="call") as progress:
        ranked = domino(trace, machine, args.clock, args.question, progress)
    ranking = _ranking(args, ranked)
    document = _document(args, ranked, ranking)
    first = ordered(ranking, document).lines[0].change if pays(document) else None
    code = files.finish(
        args, document, partial(text, rows=args.rows), document.health.incomplete, {args.plot: partial(_plot, ranked, first, args.size)}
    )
    return MISSED if document.target and not document.target.reached else code


def _plot(ranked: Domino, first: Change | None, width: float | None, path: str) -> None:
    from perwiz.report.domino.plot import plot

    plot(ranked, path, width, first)


def _ranking(args: argparse.Namespace, ranked: Domino) -> Ranking:
    from perwiz.progress import Progress
    from perwiz.whatif.ranking.ranking import rank

    with Progress("ranking changes", noun="kind") as progress:
        return rank(ranked.run, args.kinds or WORDS, args.by, progress)


def _predict(args: argparse.Namespace) -> str:
    """Return the command that asks for a change as it was asked here, the change left out."""
    return shlex.join(["perwiz", "predict", args.trace, *options.settings(args)])


def _document(args: argparse.Namespace, ranked: Domino, ranking: Ranking) -> DominoDocument:
    """Return the report, with the fixes and the target that were asked for."""
    from perwiz.progress import Progress
    from perwiz.report.domino import document as report
    from perwiz.whatif.ranking.plan import plan, target
    from perwiz.whatif.worth import greedy

    document = report.document(ranked, ranking, args.rows or _ROWS, args.draws, _predict(args))
    if args.greedy:
        choose = greedy.by_gain(args.question, args.by if args.by in FAMILIES else None)
        by_gain = greedy.greedy(ranked.run, args.greedy, args.question, choose)
        by_wait = greedy.greedy(ranked.run, args.greedy, choose=greedy.by_wait)
        document.fixes = report.fixes(ranked, by_gain, by_wait)
    if args.target is not None:
        with Progress("searching for changes", noun="change") as progress:
            found = plan(ranking, target(args.target, ranked.run.makespan), progress)
        document.target = report.target(ranking, args.target, found)
    return document
