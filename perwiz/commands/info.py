"""`perwiz info`: what a trace is."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perwiz.loggps.machine import Machine
    from perwiz.report.info.document import InfoDocument
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Trace
    from perwiz.whatif.health import Health
    from perwiz.whatif.run import Run
    from perwiz.whatif.waits import Waits

HELP = "say what a trace is: processes, calls, messages, regions, clocks, waits"
_ENDING = """
A call waits while a partner that it needs has not come. What else it takes is work. Which is which, the model says.

examples:
  perwiz info run.alog                what is in it, and what could not be used
  perwiz info run.alog --waits 20     the longest waits, with the ids that perwiz predict takes
  perwiz info run.alog --regions      the regions perwiz predict can balance or scale
  perwiz info run.alog --iterations   what the program does again and again, how long each time
  perwiz info run.alog --iterations 10..90        what is in these
  perwiz info ranks/ --devices        which ranks of a training job are slow, and what their devices wait for
  perwiz info ranks/ --devices --plot ranks.png   ranks over steps as a picture
  perwiz info run.otf2 --counters     instructions, cycles, cache misses ... where they were counted
  mpiexec -n 4 perwiz info run.otf2   by four processes, each with its part of the run

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz info`."""
    options.trace(parser)
    parser.add_argument("--waits", type=options.count, default=0, metavar="N", help="list the N longest waits with their calls")
    parser.add_argument("--regions", action="store_true", help="list the user regions")
    meaning = "list what repeats, with its warm-up and trend; with A..B, such as 10..90, 10.. or 12: only what is in these iterations"
    parser.add_argument("--iterations", type=options.chosen, nargs="?", const=True, metavar="A..B", help=meaning)
    parser.add_argument("--counters", action="store_true", help="list what hardware counters counted, by call path and by process")
    meaning = "list what the device of each rank does: kernels, communication that none hides, nothing; and who is slowest how often"
    parser.add_argument("--devices", action="store_true", help=meaning)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw how long each iteration takes (--iterations), or ranks over steps (--devices)")
    options.ending(parser, f"{options.formats()}\n\n{_ENDING.lstrip()}")


def _in_windows(args: argparse.Namespace, asked: Mapping[str, object], windows: files.Windows) -> int:
    """Return the exit code, after telling of a run that is not held as a whole."""
    files.refuse(asked, windows=windows)
    from perwiz.report.info import document as report
    from perwiz.whatif.waits import Waits
    from perwiz.whatif.windows import passed

    found = passed(
        windows.large, lambda run: report.tally(run.trace, run.waits), (), options.machine(args), args.clock, windows.most, windows.folder
    )
    info = report.document(found.trace, found.health, Waits.of_none(), 0, found.machine, told=found.tally)
    return files.finish(args, info, partial(report.text, regions=args.regions, waits=False), info.health.incomplete)


def _told(run: Run) -> tuple[Trace, Health, Waits, Machine]:
    """Return what is told of a run: without its graph and weights, which nobody asks for any more."""
    return run.trace, run.health(), run.waits, run.machine


def run(args: argparse.Namespace, team: Team | None = None) -> int:
    """Return the exit code, after printing the overview; each process of a team takes part."""
    from perwiz.errors import UsageError
    from perwiz.patterns.analysis.devices import devices
    from perwiz.report.info import document as report
    from perwiz.report.info.devices import DevicesOf
    from perwiz.report.info.heat import plot as heat
    from perwiz.report.info.plot import plot
    from perwiz.trace.parts.iterations import find
    from perwiz.whatif.run import replayed

    listed = args.iterations is True
    if args.plot and listed == args.devices:
        raise UsageError("--plot: draws how long iterations take, or ranks over steps, must be given with --iterations or with --devices")
    asked = {
        "--waits": args.waits,
        "--iterations": args.iterations,
        "--counters": args.counters,
        "--devices": args.devices,
        "--plot": args.plot,
    }
    model = options.machine(args)
    files.check([], [args.trace, args.model], args.plot)
    files.refuse(asked, team)
    code = None if team else files.in_windows(args.trace, "info", partial(_in_windows, args, asked))
    if code is not None:
        return code
    asks = not listed and (args.iterations or args.devices or args.waits)
    part = files.part(args.trace, args.iterations, model, team, "info") if asks else files.whole(args.trace, model, team, "info")
    trace, state, waits, machine = _told(replayed(*part, args.clock))
    found = find(trace) if listed else None
    used = devices(trace, found or find(trace)) if args.devices else None
    info = report.document(trace, state, waits, args.waits, machine, found, args.counters, used)
    over = info.devices if isinstance(info.devices, DevicesOf) else None
    draw = partial(plot, trace, found) if found is not None else partial(heat, trace, over)
    outputs = {args.plot: partial(draw, width=args.size)}

    def text(info: InfoDocument) -> str:
        return report.text(info, args.regions, args.waits > 0, args.counters)

    return files.finish(args, info, text, info.health.incomplete, outputs, team)
