"""`perwiz series`: how a program scales, or what its commits cost, and where that is lost."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.patterns.analysis.series import Recording, Series
    from perwiz.patterns.analysis.threshold import Drawn
    from perwiz.report.series.records import SeriesDocument
    from perwiz.whatif.run import Run

HELP = "compare runs of several sizes or commits: speed-up, efficiencies, where they are lost; thresholds for CI"
_ENDING = """
Runs of several numbers of processes or threads are a scaling series, the smallest first: of one problem, or with --weak of one that grows
with the processes. Runs of one size are a history, in the order given. All are compared with the first, or --against another. Several
recordings of one size, or under one label, are one run, for which the one of median time stands; a directory of recordings is all of
them, under its name. Efficiencies are those of POP: the speed-up is the ideal one times what load balance, serialisation, transfer and
computation became, and each tells how much longer the run takes for it.

--max-loss asks of the last run that neither its time nor any of these takes more than so much longer than with the ideal speed-up, in a
history than in the reference. What recordings of one run differ by chance is no loss: with four or more of both together these tell it,
else runs drawn of what repeats in one each, which know nothing of what differs between recordings. Record each three times or more.

examples:
  perwiz series run-1 run-2 run-4 run-8                       how does it scale, and where is that lost?
  perwiz series run-1 run-2 run-4 run-8 --plot scaling.png    drawn
  perwiz series --weak run-1 run-2 run-4                      the problem grows with the processes
  perwiz series v1 v2 v3 -o history.html                      what did versions cost, as a page
  perwiz series a b c d --labels old,old,new,new              two recordings of each
  perwiz series baseline new --max-loss 2%                    in CI: directories with recordings; exit code 5 if it got slower

exit codes: 0 done, 2 usage or model, 3 a trace cannot be read (the others are compared, but no threshold is checked), or they are no runs
of one program, 4 done but a trace is incomplete, 5 done but a threshold is missed, whether or not a trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz series`."""
    meaning = "two recorded runs or more: traces of any format, or directories of several recordings of one run"
    parser.add_argument("traces", nargs="+", metavar="TRACE", help=meaning)
    meaning = "the problem grows with the processes: work is to be as much for each, not in all (weak scaling)"
    parser.add_argument("--weak", action="store_true", help=meaning)
    meaning = "names of the traces given, in their order, for runs of one size: equal ones are recordings of one run (default: their files)"
    parser.add_argument("--labels", metavar="A,B,...", help=meaning)
    meaning = "the run that all are compared with: its label or size, or previous, the one before the last (default: the first)"
    parser.add_argument("--against", default="", metavar="LABEL", help=meaning)
    meaning = "exit with 5 if the last run takes more than this longer, as a whole or for one factor, and more than chance"
    parser.add_argument("--max-loss", type=options.percentage, metavar="PERCENT", help=meaning)
    meaning = "exit with 5 if the parallel efficiency of the last run is below this, such as 0.8 or 80%%"
    parser.add_argument("--min-efficiency", type=_part, metavar="PART", help=meaning)
    options.rows(parser, 8, "call paths")
    parser.add_argument("-o", dest="output", metavar="FILE.html", help="write a page with the table and its pictures")
    options.draws(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.plot(parser, "draw the speed-up or the times, and the efficiencies")
    options.ending(parser, _ENDING)


def _part(text: str) -> float:
    percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"'{text}', must be a part from 0 to 1, or of 100 %, such as 0.8 or 80%")
    return number


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing picture and page and printing the series."""
    from perwiz.errors import MISSED, UNREADABLE, TraceError, UsageError
    from perwiz.patterns.analysis.series import series
    from perwiz.report.series import document as report
    from perwiz.report.series import text as texts
    from perwiz.report.series.plot import plot

    paths, labels = _recordings(args.traces, args.labels)
    _check(args, paths)
    recordings, unread = _measured(args, paths)
    for why in unread.values():
        print(f"perwiz: {why}", file=sys.stderr)
    if len(recordings) < 2:
        if unread:
            raise TraceError(f"{len(recordings)} of {len(paths)} runs can be read, must be two or more")
        raise UsageError(f"{paths[0]}: one run, must be two or more")
    kept = [label for path, label in zip(paths, labels, strict=True) if path not in unread]
    found = series(recordings, kept, args.labels is not None, args.weak, args.against)
    single = _drawn(args, found)
    document = report.document(found, args.rows, report.Asked(args.max_loss, args.min_efficiency), single, unread, args.draws > 0)
    outputs = {args.output: partial(_write_page, document), args.plot: partial(plot, document, width=args.size)}
    incomplete = any(each.health.incomplete for each in recordings)
    code = files.finish(args, document, texts.text, incomplete, outputs)
    if missed := texts.too_much(document):
        print(f"perwiz: {missed}", file=sys.stderr)
        return MISSED
    if unread and (args.max_loss is not None or args.min_efficiency is not None):
        print("perwiz: no threshold was checked, as not all runs could be read", file=sys.stderr)
    return UNREADABLE if unread else code


def _write_page(document: SeriesDocument, path: str) -> None:
    from perwiz.report.series.page import page

    files.write_text(page(document), path)


def _recordings(traces: Sequence[str], labels: str | None) -> tuple[list[str], list[str]]:
    """Return the paths of all recordings, and the label of each. Raises UsageError for labels that are not as many as traces."""
    from perwiz.errors import UsageError

    names = _names(traces) if labels is None else [name.strip() for name in labels.split(",")]
    if len(names) != len(traces) or not all(names):
        raise UsageError(f"--labels {labels}: {len([*filter(None, names)])} names, must be {len(traces)}, one for each trace given")
    found = [(path, name) for trace, name in zip(traces, names, strict=True) for path in _inside(trace)]
    return [path for path, _ in found], [name for _, name in found]


def _names(traces: Sequence[str]) -> list[str]:
    """Return what traces are called: by their last part, where two would be called the same by all of it."""
    short = [os.path.basename(os.path.normpath(path)) or path for path in traces]
    return [path if short.count(name) > 1 else name for path, name in zip(traces, short, strict=True)]


def _inside(path: str) -> list[str]:
    """Return the recordings that a path stands for: those in a directory that is none itself, else itself."""
    from perwiz.formats.files import FORMATS

    def known(place: str) -> bool:
        return place.endswith((".alog", ".alog.gz", ".alog.zst")) or any(form.looks_like(place) for form in FORMATS[:-1])

    if not os.path.isdir(path) or known(path):
        return [path]
    inside = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    return [place for place in inside if known(place) and f"{place}.otf2" not in inside] or [path]


def _check(args: argparse.Namespace, paths: Sequence[str]) -> None:
    """Raise UsageError if an output cannot be written, or a recording is given twice."""
    from perwiz.errors import UsageError

    if args.output is not None and not args.output.lower().endswith((".html", ".htm")):
        raise UsageError(f"{args.output}: no name for a page, must end in .html")
    files.check([args.output], [*paths, args.model], args.plot)
    real = [os.path.realpath(path) for path in paths]
    twice = next((path for k, path in enumerate(paths) if real[k] in real[:k]), None)
    if twice is not None:
        raise UsageError(f"{twice}: given twice, must be another recording")


def _measured(args: argparse.Namespace, paths: Sequence[str]) -> tuple[list[Recording], dict[str, str]]:
    """Return what a series keeps of each recording, and of those that cannot be read why."""
    from perwiz.errors import UNREADABLE, PerwizError
    from perwiz.patterns.analysis.series import measured
    from perwiz.progress import Progress

    found: list[Recording] = []
    unread: dict[str, str] = {}
    with Progress("measuring", noun="run") as progress:
        for number, path in enumerate(paths):
            progress(number, len(paths))
            try:
                found.append(measured(_replayed(args, path)))
            except PerwizError as error:
                if error.exit_code != UNREADABLE:
                    raise
                unread[path] = str(error)
    return found, unread


def _replayed(args: argparse.Namespace, path: str) -> Run:
    from perwiz.whatif.run import replayed

    return replayed(*files.part(path, None, options.machine(args)), args.clock)


def _drawn(args: argparse.Namespace, series: Series) -> tuple[Drawn | None, Drawn | None]:
    """Return how much the reference and the last run vary, as runs drawn of each tell; nothing where recordings tell it."""
    from perwiz.patterns.analysis.threshold import drawn, repeated

    if repeated(series) or not args.draws:
        return None, None
    one, two = (drawn(_replayed(args, point.middle.path), point.figures.time, args.draws) for point in (series.reference, series.newest))
    return one, two
