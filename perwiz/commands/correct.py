"""`perwiz correct`: a trace with clocks that can be true, and how far they were wrong."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.clock.logical import Correction
    from perwiz.report.correct.document import CorrectDocument
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Timeline, Trace

HELP = "correct clocks that disagree, and say how far they did"
_ENDING = """
Events are only put forward, as far as effects need that were recorded before their causes; what lies around them follows by degrees.

examples:
  perwiz correct run.alog                                      how wrong the clocks are, and what it takes to correct them
  perwiz correct run.otf2 -o fixed.otf2 --plot fixed.png       the corrected run as a trace, and as a picture beside the recorded one
  perwiz correct run.alog --mu 500,2000,50000                  no message faster than that in a node, in a metahost, across
  perwiz correct dir1:dir2 --clock linear --offsets flat       a run of two metahosts, as offsets to rank 0 alone would have it
  mpiexec -n 4 perwiz correct run.otf2                         the same, computed by four processes, each with its part of the run

exit codes: 0 done, 2 usage, 3 the trace cannot be read, or its clock offsets make no sense, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz correct`."""
    options.trace(parser)
    meaning = "clc: the controlled logical clock, after measured offsets (default); linear: interpolate measured offsets, no more"
    parser.add_argument("--clock", choices=("linear", "clc"), default="clc", help=meaning)
    meaning = (
        "measured offsets of a recorded run: flat at the start only, flat at start and end, hierarchical"
        " (default: the last of these that was measured)"
    )
    parser.add_argument("--offsets", choices=("single", "flat", "hierarchical"), help=meaning)
    meaning = (
        "least time from a cause to its effect, whole ns: one number, or one each for pairs of a node, of a metahost and across"
        " (default: the shortest that the trace shows of each, at most 1000)"
    )
    parser.add_argument("--mu", type=_latencies, metavar="NS|NODE,METAHOST,ACROSS", help=meaning)
    meaning = (
        "rate of a clock that was put forward, above 0, at most 1, until it is back at recorded time (default: tried from 0.99999 down)"
    )
    parser.add_argument("--gamma", type=_rate, metavar="G", help=meaning)
    options.answer(parser)
    options.output(parser, "corrected")
    options.plot(parser, "draw the recorded run, the corrected one below it, and how far they are apart")
    options.ending(parser, _ENDING)


def _latencies(text: str) -> tuple[int, int, int]:
    numbers = [int(word) if word.isascii() and word.isdigit() and len(word) < 13 else -1 for word in text.split(",")]
    several = numbers * 3 if len(numbers) == 1 else numbers
    if len(several) != 3 or not 0 <= several[0] <= several[1] <= several[2]:
        raise argparse.ArgumentTypeError(f"'{text}', must be whole ns, or three of them that do not fall, such as 500,2000,50000")
    return several[0], several[1], several[2]


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1:
        raise argparse.ArgumentTypeError(f"'{text}', must be a number above 0, at most 1")
    return rate


def run(args: argparse.Namespace, team: Team | None = None) -> int:
    """Return the exit code, after writing what was asked for and printing the figures; each process of a team takes part."""
    from perwiz.clock.schemes import chosen
    from perwiz.report.correct.text import text
    from perwiz.trace.resources import give_back

    files.refuse({"--output": args.output, "--plot": args.plot}, team)
    _check(args)
    whole = chosen(files.read(args.trace, team=team, command="correct"), args.offsets)
    document, incomplete, outputs = _answered(whole, args)
    give_back(len(whole.calls))
    return files.finish(args, document, text, incomplete, outputs, team)


def _answered(whole: Trace, args: argparse.Namespace) -> tuple[CorrectDocument, bool, dict[str | None, Callable[[str], None]]]:
    """Return what is told of a trace, whether it is incomplete, and what writes: a trace without the graph that corrected it."""
    from perwiz.clock import offsets
    from perwiz.clock.figures import figures
    from perwiz.report.correct import document as report
    from perwiz.trace.tied import tied_part

    trace = tied_part(whole)
    correction = _corrected(trace, args)
    fixed, state = report.examined(trace, correction)
    document = report.document(trace, correction, figures(correction), args.clock, state)
    outputs: dict[str | None, Callable[[str], None]] = {
        args.output: partial(_write, offsets.apply(whole), (correction.before, correction.timeline), args.output)
    }
    if args.plot is not None:
        outputs[args.plot] = partial(_plot, fixed, correction, args.size)
    return document, state.incomplete, outputs


def _check(args: argparse.Namespace) -> None:
    """Raise UsageError for options that contradict each other, or an output that cannot be written, before anything is read."""
    from perwiz.errors import UsageError

    if args.gamma is not None and args.clock != "clc":
        raise UsageError(f"--gamma {args.gamma:g}: belongs to --clock clc, must not be given with --clock {args.clock}")
    files.check([args.output], [args.trace], args.plot)


def _corrected(trace: Trace, args: argparse.Namespace) -> Correction:
    """Return the correction asked for. Raises UsageError for a predicted run in which effects may come before causes."""
    from perwiz.clock.condition import violations
    from perwiz.clock.logical import correct
    from perwiz.clock.treatment import treat
    from perwiz.errors import UsageError

    if trace.timeline.origin.effects_may_precede_causes:
        raise UsageError(f"{trace.path}: {trace.timeline.origin}, where effects may come before causes; must be a recorded run")
    linear = treat(trace, "linear").trace
    if args.clock == "clc":
        return correct(linear, mu=args.mu, gamma=args.gamma)
    correction = correct(linear, mu=args.mu, gamma=1.0)
    left = violations(correction.trace, linear.timeline)
    correction = dataclasses.replace(correction, before=trace.timeline, timeline=linear.timeline, left=left)
    return dataclasses.replace(correction, passes=0, by_message=0, by_collective=0, by_link=0, slope=0.0)


def _write(whole: Trace, timelines: tuple[Timeline, Timeline], name: str, path: str) -> None:
    """Write a run, recorded and corrected, with all locations of its trace, offsets applied; those that nothing ties keep their times."""
    from perwiz.formats import files as formats
    from perwiz.report.perfetto.write import View, write
    from perwiz.trace.tied import widened

    before, after = (widened(whole, timeline) for timeline in timelines)
    if formats.is_view(name):
        write(whole, [View("recorded", before), View(str(after.origin), after)], path)
    else:
        files.write_trace(dataclasses.replace(whole, timeline=after), name, path)


def _plot(fixed: Trace, correction: Correction, width: float | None, path: str) -> None:
    from perwiz.report.correct.plot import plot_corrected

    plot_corrected(fixed, correction, path, width)
