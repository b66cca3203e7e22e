"""`perwiz phases`: what a run does over time, and where that changes."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.trace.parts.cut import Chosen

HELP = "behaviour over time: efficiencies, waiting and worth of each iteration, and the phases they make"
MOST = 500
"""Windows that can be asked for."""
_ENDING = """
The run is split into the program's iterations (perwiz info --iterations tells of them), or into windows of equal time between MPI_Init and
MPI_Finalize where it has none that last half of the time. A phase is what lies between two changes: of the time of an iteration, of load
balance, serialisation or transfer, of the process that computes most. parallel = balance x serialisation x transfer; the ideal network is
replayed. What each phase is worth is exact: the run with its computation balanced, and with no wait in it.

examples:
  perwiz phases run.otf2
  perwiz phases run.otf2 --plot phases.png
  perwiz phases run.otf2 --windows 50 --json
  perwiz domino run.otf2 --iterations 40..100          what to change in a phase

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz phases`."""
    options.trace(parser)
    meaning = f"windows of equal time instead of iterations, at most {MOST} (default: iterations; 100 windows where there are none)"
    parser.add_argument("--windows", type=_windows, metavar="N", help=meaning)
    meaning = "only the first iterations, as if they were the run: 1..90; or all where the last ones would be left out"
    parser.add_argument("--iterations", type=_from_first, metavar="1..B|all", help=meaning)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the efficiencies, and where the time goes, over iterations or windows")
    options.ending(parser, _ENDING)


def _windows(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"'{text}', must be a whole number from 1 to {MOST}")
    return number


def _from_first(text: str) -> Chosen:
    """Return the iterations that a text names. Raises argparse.ArgumentTypeError unless the first is one of them: they are numbered."""
    chosen = options.chosen(text)
    if chosen.first > 1:
        told = "perwiz phases tells of iterations from the first on; perwiz domino, patterns and others answer for any of them"
        raise argparse.ArgumentTypeError(f"'{text}': {told}")
    return chosen


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after drawing what was asked for and printing the phases."""
    from perwiz.patterns.overtime.overtime import over_time
    from perwiz.patterns.search import search
    from perwiz.report.phases import document as report
    from perwiz.report.phases.plot import plot
    from perwiz.report.phases.text import text
    from perwiz.whatif.run import replayed

    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    replay = replayed(*files.part(args.trace, args.iterations, model), args.clock)
    document = report.document(over_time(replay, search(replay.trace), args.windows))
    drawing = partial(plot, replay.trace, document, width=args.size)
    return files.finish(args, document, text, document.health.incomplete, {args.plot: drawing})
