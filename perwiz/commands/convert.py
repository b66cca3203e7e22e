"""`perwiz convert`: the same trace in another format."""

from __future__ import annotations

import argparse

from perwiz.commands import options, outputs

HELP = "write a trace in another format: ALOG or OTF2"
_ENDING = """
The format read is told by content, the format written by the name of FILE: .otf2 is an OTF2 archive (x.otf2, x.def and the folder x),
anything else ALOG (.gz, .zst: packed). Says what the format written does not hold.

examples:
  perwiz convert run.alog run.otf2             for Vampir, Scalasca, otf2-print
  perwiz convert traces.otf2 run.alog.gz       for Jumpshot
  perwiz convert run.log.gz run.log            unpack

exit codes: 0 done, 2 usage, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz convert`."""
    options.trace(parser)
    parser.add_argument("output", metavar="FILE", help="file to write; its name tells the format")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the trace and printing what was written."""
    from perwiz.clock.treatment import treat
    from perwiz.commands.reading import read
    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.report import conversion
    from perwiz.trace import files
    from perwiz.whatif.health import health

    outputs.check([args.output], [args.trace])
    trace = treat(read(args.trace), "linear").trace
    kind, moved = files.format_of(args.output), 0

    def write(path: str) -> None:
        nonlocal moved
        moved = files.write(trace, path)

    outputs.write({args.output: write})
    state = health(trace)
    print(conversion.text(trace, args.output, kind, files.missing(trace, kind), moved, state))
    return INCOMPLETE if state.incomplete else DONE
