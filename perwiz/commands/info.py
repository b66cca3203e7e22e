"""`perwiz info`: what a trace is."""

from __future__ import annotations

import argparse

from perwiz.commands import files, options

HELP = "say what a trace is: processes, calls, messages, regions, clocks, waits"
_ENDING = """
A call waits while a partner that it needs has not come. What else it takes is work. Which is which, the model says.

examples:
  perwiz info run.alog                what is in it, and what could not be used
  perwiz info run.alog --waits 20     the longest waits, with the ids that perwiz predict takes
  perwiz info run.alog --regions      the regions perwiz predict can balance or scale

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz info`."""
    options.trace(parser)
    options.waits(parser, 0, "list the N longest waits with their calls")
    parser.add_argument("--regions", action="store_true", help="list the user regions")
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the overview."""
    from perwiz.report.info import document as report
    from perwiz.whatif.run import replayed

    model = options.machine(args)
    replay = replayed(files.read(args.trace), model, args.clock)
    info = report.document(replay.trace, replay.health(), replay.waits, args.waits, replay.machine)
    return files.finish(args, info, lambda info: report.text(info, args.regions, args.waits > 0), info.health.incomplete)
