"""`perwiz predict`: how fast the program would be, if ..."""

from __future__ import annotations

import argparse

HELP = "predict the run under hypotheses: zero waits, balance steps, scale regions, another network"
_QUESTIONS = (
    ("zero-wait", "CALLS", "these calls do not wait; CALLS: e12,e34, region:NAME, rank:3, op:MPI_Recv or all"),
    ("zero-time", "CALLS", "these calls take no time"),
    ("balance-time", "REGION[#k]", "every process computes the mean of the (k-th) parallel step"),
    ("balance-messages", "REGION[#k]", "every process that sends passes the mean bytes of the (k-th) parallel step"),
    ("scale", "REGION=FACTOR", "computation in a region takes FACTOR of its time"),
    ("speed", "rank:R=FACTOR", "a process computes FACTOR times as fast"),
    ("network", "MODEL", "another network: a model's name or file, or L_ns=..,G_ns_per_byte=.."),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz predict`."""
    parser.add_argument("trace", metavar="TRACE", help="trace file; - is standard input")
    for word, name, meaning in _QUESTIONS:
        parser.add_argument(f"--{word}", dest="hypotheses", action=_Ask, word=word, metavar=name, help=meaning, default=[])
    parser.add_argument("--model", metavar="NAME|FILE", default="default", help="LogGPS model of the machine the run was recorded on")
    parser.add_argument("--engine", choices=("sweep", "replay"), default="sweep", help="compiled sweep, or simulation with simpy")
    parser.add_argument("--clock", choices=("none",), help="none: take timestamps that break the clock condition as they are")
    parser.add_argument("--waits", type=int, default=5, metavar="N", help="list the N longest waits before and after (default 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the predicted run as ALOG (.gz, .zst: packed)")
    parser.add_argument("--plot", metavar="FILE", help="draw recorded above predicted (.png, .svg, .pdf)")


class _Ask(argparse.Action):
    """Collects the questions in the order they are asked."""

    def __init__(self, word: str, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # argparse passes its own settings through
        self._word = word

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        """Add one question."""
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), f"{self._word} {values}"])


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the prediction and writing what was asked for."""
    import json

    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.loggps.model import load
    from perwiz.report import prediction as report
    from perwiz.trace.files import read, write
    from perwiz.whatif.hypotheses import parse
    from perwiz.whatif.predict import predict

    hypotheses, model = [parse(text) for text in args.hypotheses], load(args.model)
    trace = read(args.trace)
    prediction = predict(trace, hypotheses, model, args.engine, args.clock or "refuse")
    if args.output:
        write(trace, args.output, prediction.predicted)
    if args.plot:
        from perwiz.report.timeline import Row, plot

        rows = [Row("recorded", prediction.recorded), Row("predicted", prediction.predicted)]
        waited = prediction.zeroed[prediction.waits_before.time[prediction.zeroed] > 0]
        plot(trace, rows, args.plot, waited)
    block = report.document(prediction, args.waits)
    print(json.dumps(block, indent=2) if args.json else report.text(block))
    return INCOMPLETE if prediction.health.incomplete else DONE
