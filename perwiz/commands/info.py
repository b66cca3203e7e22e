"""`perwiz info`: what a trace is."""

from __future__ import annotations

import argparse

HELP = "say what a trace is: processes, calls, messages, regions, clocks, waits"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz info`."""
    parser.add_argument("trace", metavar="TRACE", help="trace file; - is standard input")
    parser.add_argument("--waits", type=int, default=0, metavar="N", help="list the N longest waits with their calls")
    parser.add_argument("--regions", action="store_true", help="list the user regions")
    parser.add_argument("--model", metavar="NAME|FILE", default="default", help="LogGPS model that tells waiting from work")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the overview."""
    import json

    from perwiz.engines.sweep import sweep
    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.loggps.model import load
    from perwiz.report import overview
    from perwiz.trace.files import read
    from perwiz.whatif.health import health
    from perwiz.whatif.predict import waiting, weighted_graph

    model = load(args.model)
    trace = read(args.trace)
    weighted = weighted_graph(trace, model, clock="none")
    waits = waiting(weighted, sweep(weighted.graph, weighted.weight))
    state = health(trace, weighted.graph.contradictions)
    block = overview.document(trace, state, waits, args.waits)
    print(json.dumps(block, indent=2) if args.json else overview.text(block, args.regions))
    return INCOMPLETE if state.incomplete else DONE
