"""`perwiz predict`: how fast the program would be, if ..."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options
from perwiz.errors import NotInWindowsError, UsageError
from perwiz.whatif.hypotheses import NOTES

if TYPE_CHECKING:
    from perwiz.trace.spread.team import Team
    from perwiz.whatif.predict import Prediction
    from perwiz.whatif.semantics import Told

HELP = "predict the run under hypotheses: zero waits, balance steps, scale regions, another order or network"
_ENDING = f"""
CALLS is e12 (see perwiz info --waits), region:NAME, step:NAME#3 (the third instance of a region on every process),
step:NAME#3..7, site:MPI_Recv@REGION/INNER (the calls of a routine made there; a place in the source, where known, follows behind
another @), rank:3, rank:3.1 (a thread or stream of it), rank:0-7, node:NAME, group:NAME (the ranks of a communicator), pair:0>1 and
tag:3 (what sends, receives or completes such messages), lock:0 (what takes or gives back that lock), op:MPI_Recv, all, or several
joined by commas.
Options of a region, and --speed, take several names, too, as in --balance-time solve,exchange#2.
Hypotheses can be given several times; all are asked together, as one changed program. Without any the run is replayed unchanged.
{NOTES}
Where other times let another message come first, wildcard receives and calls for some of several requests take that, and tasks that a
master hands out, or that processes take from a counter (MPI_Fetch_and_op), go to whoever asks next, each with its own computation;
--keep-matches keeps who got which message. Which receives are
wildcards runs of perwiz record tell. OTF2 and ALOG of others do not: there receives may have been of a call site whose sources come as
their messages were sent and in no order of the program, and the answer tells both readings.
Percentages are of the time after MPI_Init, where the trace shows it.

examples:
  perwiz predict run.alog --zero-wait e25
  perwiz predict run.alog --zero-wait e25 --log pairs.jsonl       a range as wide as earlier predictions were off
  perwiz predict run.alog --balance-time all --runs run2.alog run3.alog   what it gains in other recordings, too
  perwiz predict run.alog --advance e25
  perwiz predict run.alog --advance 'e25 by step'
  perwiz predict run.alog --move 'e12..e14 before e9' -o moved.alog
  perwiz predict run.alog --zero-wait e25 -o both.json            the recorded and the predicted run, for ui.perfetto.dev
  perwiz predict run.alog --zero-wait op:MPI_Barrier --speed rank:3=1.5
  mpiexec -n 4 perwiz predict run.otf2 --zero-wait e25            each with its part of the run
  perwiz predict run.alog --balance-time solve --model cluster.toml -o balanced.alog --plot balanced.png

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz predict`."""
    options.trace(parser)
    options.hypotheses(parser)
    meaning = "other recordings of the same run: what it would gain in each, how much of that lies between them, and a range that holds all"
    parser.add_argument("--runs", nargs="+", default=[], metavar="TRACE", help=meaning)
    options.draws(parser)
    options.log(parser, "make the range as wide as predictions were off that perwiz compare --log has written there (from 20 pairs on)")
    options.iterations(parser)
    options.model(parser)
    options.topology(parser)
    options.semantics(parser)
    parser.add_argument("--engine", choices=("sweep", "replay"), default="sweep", help="compiled sweep (default), or simulation with simpy")
    meaning = "keep who got which message, also where another would come first"
    parser.add_argument("--keep-matches", action="store_true", help=meaning)
    options.clock(parser)
    options.rows(parser, 5, "longest waits before and after")
    options.answer(parser)
    options.output(parser, "predicted")
    options.plot(parser, "draw the recorded run above the predicted one")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace, team: Team | None = None) -> int:
    """Return the exit code, after writing what was asked for and printing the prediction; each process of a team takes part."""
    if team is not None:
        return _together(args, team, None)
    code = files.in_windows(args.trace, "predict", partial(_together, args, None))
    return _alone(args) if code is None else code


def _together(args: argparse.Namespace, team: Team | None, windows: files.Windows | None) -> int:
    """Return the exit code, after asking what several processes, or windows, can tell. Raises UsageError for what they cannot."""
    from perwiz.report.together import document as report
    from perwiz.whatif.hypotheses.base import parse
    from perwiz.whatif.of_parts import predict
    from perwiz.whatif.windows import predict as predict_in_windows

    asked = {f"--{name}": getattr(args, name) for name in ("iterations", "runs", "log", "topology", "dimemas", "output", "plot")}
    asked |= {f"--engine {args.engine}": args.engine != "sweep", f"--semantics {args.semantics}": args.semantics != "perwiz"}
    files.refuse(asked, team, windows)
    if windows is not None and (args.draws or not args.keep_matches):
        told = "windows of a run draw no runs and keep who got which message"
        raise NotInWindowsError(f"predict: {told}, must be asked so (--draws 0 --keep-matches)")
    hypotheses, model = [parse(text) for text in args.hypotheses], options.machine(args)
    files.check([], [args.trace, args.model, *options.networks(args.hypotheses)])
    if windows is None:
        trace = files.part(args.trace, None, model, team)[0]
        prediction = predict(trace, hypotheses, model, args.clock, args.draws, args.keep_matches)
    else:
        prediction = predict_in_windows(windows.large, hypotheses, model, args.clock, windows.most, windows.folder)
    document = report.document(prediction, 1 if team is None else team.size)
    return files.finish(args, document, report.text, document.health.incomplete, {}, team)


def _alone(args: argparse.Namespace) -> int:
    from perwiz.report.predict import document as report
    from perwiz.report.predict.text import text
    from perwiz.whatif.hypotheses.base import parse
    from perwiz.whatif.predict import UNTOLD, predict
    from perwiz.whatif.sure.logged import pairs
    from perwiz.whatif.sure.recordings import recordings

    hypotheses, model = [parse(text) for text in args.hypotheses], options.machine(args)
    inputs = [args.trace, *args.runs, args.model, args.topology, args.log, *options.networks(args.hypotheses)]
    files.check([args.output], inputs, args.plot)
    _check_others(args.trace, args.runs)
    known = pairs(args.log) if args.log else None
    (trace, machine), *runs = files.parts([args.trace, *args.runs], args.iterations, model, command="predict")
    machine = options.on_topology(args, machine, trace)
    prediction = predict(trace, hypotheses, machine, args.engine, args.clock, args.draws, args.keep_matches)
    anew = prediction.rematched
    if anew and not anew.reason and not anew.written and (args.output or args.plot):
        raise UsageError(f"{args.output or args.plot}: {UNTOLD}; see --keep-matches")
    several = recordings(prediction, [other for other, _ in runs], machine, args.clock, args.draws) if runs else None
    other = _told(prediction, args.semantics, args.dimemas) if args.semantics != "perwiz" or args.dimemas else None
    document = report.document(prediction, args.rows, known, several, other)
    outputs = {args.output: partial(_write, prediction, args.output), args.plot: partial(_plot, prediction, args.size)}
    return files.finish(args, document, text, document.health.incomplete, outputs)


def _told(prediction: Prediction, profile: str, said: str) -> Told:
    from perwiz.whatif.semantics import told

    return told(prediction, profile, said)


def _check_others(trace: str, others: list[str]) -> None:
    """Raise UsageError if a recording is given twice."""
    from perwiz.errors import UsageError

    real = [os.path.realpath(path) for path in (trace, *others)]
    for k, path in enumerate(others):
        if real[k + 1] in real[: k + 1]:
            raise UsageError(f"--runs: {path}: given twice, must be another recording")


def _plot(prediction: Prediction, width: float | None, path: str) -> None:
    from perwiz.report.predict.plot import plot

    plot(prediction, path, width=width)


def _write(prediction: Prediction, name: str, path: str) -> None:
    from perwiz.formats import files as formats
    from perwiz.report.predict.plot import view
    from perwiz.whatif.predict import predicted_trace

    if formats.is_view(name):
        view(prediction, path)
    else:
        files.write_trace(predicted_trace(prediction), name, path)
