"""`perwiz report`: everything there is to say of a run, as one page to look at."""

from __future__ import annotations

import argparse
import shlex
from functools import partial

from perwiz import words
from perwiz.commands import files, options, terminal

HELP = "write one HTML page to look at: timelines, what to change first, health"
_ENDING = """
The page is one file without any network access: it can be opened from disk, kept and mailed. Its timeline shows the measured run and,
where there are, the one with corrected clocks, the one predicted under the hypotheses (without any: under the first change of perwiz
domino if it pays, else under what is at best) and the re-measured one, two at a time above each other; the fixes are ranked by what the
whole run gains. In its panel "What if" waits, call sites, regions and ranks are ticked, speeds and the network dragged: it answers by
itself for up to 200000 calls. With --serve a browser on this machine, given the address that is printed, asks the same of any trace, and
whatever else perwiz predict does; the address holds a token, and requests of other hosts and origins are refused.

Of a run of many calls the page is about some of its iterations in a row, if there are any that stand for all, which it says; where
hypotheses or --against are given, and with --iterations all, it is about the whole run.

examples:
  perwiz report run.alog -o run.html
  perwiz report run.alog --zero-wait op:MPI_Barrier -o run.html
  perwiz report run.otf2 --serve
  perwiz report before.alog --advance e25 --against after.alog -o both.html

exit codes: 0 done, 2 usage or model, 3 a trace cannot be read, or no call of the two is the same, 4 done but a trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz report`."""
    options.trace(parser)
    parser.add_argument("-o", dest="output", metavar="FILE", help="the page to write (.html)")
    meaning = "serve the page to a browser on this machine until Ctrl-C, and answer its questions, however large the trace is"
    parser.add_argument("--serve", action="store_true", help=meaning)
    parser.add_argument("--against", metavar="MEASURED", help="a trace of the changed program, to hold the prediction against")
    options.hypotheses(parser)
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.quiet(parser)
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the page and printing what it says first."""
    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.progress import Progress
    from perwiz.report.page import page as pages
    from perwiz.report.page.analyses import gathered
    from perwiz.whatif.hypotheses.base import parse

    hypotheses, model = [parse(text) for text in args.hypotheses], options.machine(args)
    _check(args)
    if hypotheses or args.against:
        (trace, machine), *others = files.parts([args.trace, *filter(None, [args.against])], args.iterations, model, command="report")
    else:
        (trace, machine), others = files.listed(args, model, "report"), []
    against = others[0][0] if others else None
    with Progress("analysing", noun="step") as progress:
        report = gathered(trace, hypotheses, machine, args.clock, against, _command(args), _ask(args), progress)
    with Progress("making the page", noun="panel") as progress:
        tabs = pages.panels(report, progress)
    page = pages.page(report, tabs) if args.output else ""
    server = pages.server(report, tabs) if args.serve else None
    if args.output:
        files.write({args.output: partial(files.write_text, page)})
    written = "" if args.quiet or not page else f"{words.shown(args.output)}, {words.size(len(page))}: "
    terminal.show(partial(pages.line, report, written))
    if server:
        print(f"open {server.address} (Ctrl-C ends)", flush=True)
        server.until_interrupted()
    return INCOMPLETE if report.incomplete else DONE


def _check(args: argparse.Namespace) -> None:
    """Raise UsageError if the page cannot be written, or both traces are standard input, before anything is read."""
    from perwiz.errors import UsageError

    if args.output is None and not args.serve:
        raise UsageError("nowhere to write the page to, must be -o FILE.html, or --serve")
    if args.output is not None and not args.output.lower().endswith((".html", ".htm")):
        raise UsageError(f"{args.output}: no name for a page, must end in .html")
    files.check([args.output] if args.output else [], [args.trace, args.against, args.model, *options.networks(args.hypotheses)])


def _command(args: argparse.Namespace) -> str:
    """Return the command line that makes the same page."""
    from perwiz.report import blocks

    settings = [*(["--against", args.against] if args.against else []), *options.settings(args)]
    asked = map(blocks.option, args.hypotheses)
    output = ["-o", args.output] if args.output else ["--serve"]
    return " ".join([shlex.join(["perwiz", "report", args.trace]), *asked, shlex.join([*settings, *output])])


def _ask(args: argparse.Namespace) -> str:
    """Return the command line that asks further questions of the same run."""
    return shlex.join(["perwiz", "predict", args.trace, *options.settings(args)])
