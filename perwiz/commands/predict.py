"""`perwiz predict`: how fast the program would be, if ..."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import options, outputs

if TYPE_CHECKING:
    from perwiz.whatif.predict import Prediction

HELP = "predict the run under hypotheses: zero waits, balance steps, scale regions, another network"
_QUESTIONS = (
    ("zero-wait", "CALLS", "these calls do not wait: they go on as if their partners had come; the partners come when they did"),
    ("zero-time", "CALLS", "these calls return when they are entered"),
    ("balance-time", "REGION[#K]", "in every instance of the region, or the K-th, every process computes for the mean of their times"),
    (
        "balance-messages",
        "REGION[#K]",
        "in every instance of the region, or the K-th, every process that sends passes the mean of bytes",
    ),
    ("scale", "REGION=FACTOR", "computation inside the region takes FACTOR of its time; MPI calls keep theirs"),
    ("speed", "rank:R=FACTOR", "the process computes FACTOR times as fast"),
    ("network", "MODEL", "another network: a shipped model, a TOML file, or changes such as L_ns=1000,G_ns_per_byte=0.1"),
)
_ENDING = """
CALLS is e12 (see perwiz info --waits), region:NAME, rank:3, op:MPI_Recv, all, or several joined by commas.
Hypotheses can be given several times; all are asked together, as one changed program. Without any the run is replayed unchanged.

examples:
  perwiz predict run.alog --zero-wait e25
  perwiz predict run.alog --zero-wait op:MPI_Barrier --speed rank:3=1.5
  perwiz predict run.alog --balance-time solve --model cluster.toml -o balanced.alog --plot balanced.png

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz predict`."""
    options.trace(parser)
    for word, name, meaning in _QUESTIONS:
        parser.add_argument(f"--{word}", dest="hypotheses", action=_Ask, word=word, metavar=name, help=meaning, default=[])
    options.model(parser)
    parser.add_argument("--engine", choices=("sweep", "replay"), default="sweep", help="compiled sweep (default), or simulation with simpy")
    options.clock(parser)
    options.waits(parser, 5, "list the N longest waits before and after")
    options.json(parser)
    options.output(parser, "predicted")
    options.plot(parser, "draw the recorded run above the predicted one")
    options.ending(parser, _ENDING)


class _Ask(argparse.Action):
    """Collects the questions in the order they are asked."""

    def __init__(self, word: str, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # argparse passes its own settings through
        self._word = word

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        """Add one question."""
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), f"{self._word} {values}"])


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing what was asked for and printing the prediction."""
    import json

    from perwiz.commands.reading import read
    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.loggps.model import load
    from perwiz.report import prediction as report
    from perwiz.whatif.hypotheses import parse
    from perwiz.whatif.predict import predict

    hypotheses, model = [parse(text) for text in args.hypotheses], load(args.model)
    _check_outputs(args)
    prediction = predict(read(args.trace), hypotheses, model, args.engine, args.clock)
    block = report.document(prediction, args.waits)
    shown = json.dumps(block, indent=2) if args.json else report.text(block)
    outputs.write(_jobs(args, prediction))
    print(shown)
    return INCOMPLETE if prediction.health.incomplete else DONE


def _check_outputs(args: argparse.Namespace) -> None:
    """Raise UsageError if an output cannot be written, before anything is read."""
    networks = [text.removeprefix("network ") for text in args.hypotheses if text.startswith("network ")]
    outputs.check([path for path in (args.output, args.plot) if path is not None], [args.trace, args.model, *networks])
    outputs.check_picture(args.plot)


def _jobs(args: argparse.Namespace, prediction: Prediction) -> dict[str, Callable[[str], None]]:
    """Return what writes each file that was asked for."""
    jobs: dict[str, Callable[[str], None]] = {}
    if args.output is not None:
        jobs[args.output] = partial(_write, prediction, args.output)
    if args.plot is not None:
        jobs[args.plot] = partial(_plot, prediction)
    return jobs


def _write(prediction: Prediction, name: str, path: str) -> None:
    from perwiz.whatif.predict import predicted_trace

    outputs.write_trace(predicted_trace(prediction), name, path)


def _plot(prediction: Prediction, path: str) -> None:
    from perwiz.report.timeline import Row, plot

    recorded = "recorded, its clocks corrected" if prediction.health.correction else "recorded"
    rows = [Row(recorded, prediction.recorded), Row(prediction.predicted.made_by, prediction.predicted)]
    waited = prediction.zeroed[prediction.waits_before.time[prediction.zeroed] > 0]
    plot(prediction.trace, rows, path, waited)
