"""Arguments that several commands take, and the examples at the end of their help."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import math
import os
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perwiz.errors import UsageError
from perwiz.loggps import PROFILES
from perwiz.whatif.hypotheses import KINDS

if TYPE_CHECKING:
    from perwiz.loggps.machine import Machine
    from perwiz.trace.parts.cut import Chosen
    from perwiz.trace.trace import Trace
    from perwiz.whatif.run import Start

MOST_WAITS = 1_000_000
"""Waits that can be asked for: nobody reads more."""
_FEWEST = 20
"""Runs drawn that tell anything."""


class _Ranks(argparse.Action):
    """Takes a trace, or those of the ranks of a training job, as one name: joined by colons."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        """Raise UsageError for several traces that are not of one job."""
        from perwiz.formats.kineto import files

        traces: Sequence[str] = values
        if len(traces) > 1 and (lost := next((file for file in traces if not os.path.exists(file)), None)):
            parser.error(f"{lost}: no such file")
        if len(traces) > 1 and not all(map(files.is_trace, traces)):
            parser.error(f"{' '.join(traces)}: must be one trace, or ranks of one training job; perwiz compare takes two")
        setattr(namespace, self.dest, os.pathsep.join(traces))


def trace(parser: argparse.ArgumentParser) -> None:
    """Declare the trace."""
    meaning = (
        "trace file, also packed (gzip, zstd), or those of all ranks of a training job; - is ALOG on standard input;"
        " TRACE:FILE.xml is one of SimGrid on another platform"
    )
    parser.add_argument("trace", metavar="TRACE", nargs="+", action=_Ranks, help=meaning)


def iterations(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Declare --iterations, which part of the run is asked about; `of` says of which if there are several."""
    meaning = (
        f"ask about these iterations alone{of}, as if they were the run: 10..90, 10.. or 12 (perwiz info --iterations counts them);"
        " all: about the whole run, where some would be chosen or left out"
    )
    parser.add_argument("--iterations", type=chosen, metavar="A..B|all", help=meaning)


def chosen(text: str) -> Chosen:
    """Return the iterations that a text names. Raises argparse.ArgumentTypeError for one that names none."""
    from perwiz.trace.parts.cut import ALL, Chosen

    if text == str(ALL):
        return ALL
    match = re.fullmatch(r"([0-9]{1,9})(?:(\.\.)([0-9]{0,9}))?", text)
    first, last = (int(match[1]), int(match[3] or 0) if match[2] else int(match[1])) if match else (0, 0)
    if first < 1 or (match and match[3] and last < first):
        why = "the last comes before the first, " if first > 0 else "iterations count from 1, " if match else ""
        raise argparse.ArgumentTypeError(f"'{text}', {why}must be numbers of iterations from 1, such as 10..90, 10.. or 12, or all")
    return Chosen(first, last or None)


def model(parser: argparse.ArgumentParser) -> None:
    """Declare --model."""
    meaning = (
        "LogGPS model of the machine the run was recorded on (default: fitted to the trace): a shipped name, a TOML file or a"
        " platform of SimGrid, or changes of the fit such as S_bytes=4040 or between-nodes:L_ns=2000,progress='in calls'"
    )
    parser.add_argument("--model", metavar="NAME|FILE|KEY=VALUE,...", help=meaning)


def topology(parser: argparse.ArgumentParser) -> None:
    """Declare --topology."""
    meaning = "the links between the nodes that the run was recorded on (TOML): messages share those that are overloaded"
    parser.add_argument("--topology", metavar="FILE", help=meaning)


def on_topology(args: argparse.Namespace, model: Start, trace: Trace) -> Start:
    """Return what questions on a trace start from, with the links of --topology. Raises ModelError."""
    if args.topology is None:
        return model
    from perwiz.loggps.links.topology import load
    from perwiz.whatif.hypotheses.placement import on_links
    from perwiz.whatif.run import machine_of

    links = load(args.topology)
    return on_links(machine_of(model, trace), links)


def semantics(parser: argparse.ArgumentParser) -> None:
    """Declare --semantics."""
    meaning = "say beside the answer what another simulator does that reads the same model in its own way (default: perwiz, none)"
    parser.add_argument("--semantics", choices=("perwiz", *PROFILES), default="perwiz", help=meaning)
    configured = "what a configuration of Dimemas says, too: buses=4, and which bytes count in collectives, in=max,allreduce:out=min"
    parser.add_argument("--dimemas", metavar="KEY=VALUE,...", default="", help=configured)


def machine(args: argparse.Namespace) -> Machine | str | None:
    """Return what was asked for: a machine; changes of the fitted one; None if nothing was. Raises ModelError."""
    from dataclasses import replace

    from perwiz.loggps import model_file
    from perwiz.loggps.keys import is_changes

    if args.model is None or not is_changes(args.model):
        return args.model and model_file.machine(args.model)
    replace(model_file.load("default"), name="fitted to the trace").with_changes(args.model)
    return str(args.model)


def draws(parser: argparse.ArgumentParser) -> None:
    """Declare how many runs are drawn to tell how much an answer varies."""
    meaning = "runs resampled from what repeats in this one, to tell how much gains vary (default 200; 0: none; at least 20)"
    parser.add_argument("--draws", type=_drawn, default=200, metavar="N", help=meaning)


def _drawn(text: str) -> int:
    """Return how many runs are drawn: none, or so many that they tell something. Raises argparse.ArgumentTypeError for other texts."""
    number = count(text)
    if 0 < number < _FEWEST:
        raise argparse.ArgumentTypeError(f"'{text}', must be 0, or a whole number from {_FEWEST} to {MOST_WAITS}")
    return number


def log(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Declare the log of predictions and what was measured then."""
    parser.add_argument("--log", metavar="FILE", help=meaning)


def rows(parser: argparse.ArgumentParser, default: int, listed: str) -> None:
    """Declare -n, how many rows a list has."""
    parser.add_argument("-n", dest="rows", type=count, default=default, metavar="N", help=f"list N {listed} (default {default})")


def clock(parser: argparse.ArgumentParser) -> None:
    """Declare --clock."""
    meaning = (
        "what to do about clocks that disagree: clc, correct them with the controlled logical clock where effects precede their causes"
        " (default); linear, interpolate measured offsets; none, take the times as they are"
    )
    parser.add_argument("--clock", choices=("none", "linear", "clc"), default="clc", help=meaning)


def json(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def answer(parser: argparse.ArgumentParser) -> None:
    """Declare --json and --quiet, of a report with an answer."""
    json(parser)
    quiet(parser)


def quiet(parser: argparse.ArgumentParser) -> None:
    """Declare --quiet."""
    parser.add_argument("-q", "--quiet", action="store_true", help="of the text only the answer: no title, tables, model and health")


def output(parser: argparse.ArgumentParser, kind: str) -> None:
    """Declare -o, a trace of some kind of run."""
    names = ".otf2 as an OTF2 archive, .prv for Paraver, .json for Perfetto with the recorded run above it, else as ALOG"
    meaning = f"write the {kind} run: {names} (.gz, .zst: packed)"
    parser.add_argument("-o", dest="output", metavar="FILE", help=meaning)


def plot(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Declare --plot."""
    parser.add_argument("--plot", metavar="FILE", help=f"{meaning} (.png, .svg, .pdf)")
    parser.add_argument("--size", type=_inches, metavar="WIDTH", help="how wide the picture is, such as 3.5in or 9cm; text stays readable")


def _inches(text: str) -> float:
    match = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,4})?) ?(in|cm|mm)", text)
    width = float(match[1]) / {"in": 1, "cm": 2.54, "mm": 25.4}[match[2]] if match else 0.0
    if not 3 <= width <= 40:
        raise argparse.ArgumentTypeError(f"'{text}', must be a width from 3in to 40in, such as 3.5in, 9cm or 90mm")
    return width


def ending(parser: argparse.ArgumentParser, text: str) -> None:
    """Put sentences and examples behind the help."""
    parser.epilog = text.strip("\n")


def formats() -> str:
    """Return a sentence on the formats that are read, for what stands behind a help."""
    import textwrap

    from perwiz.formats.files import FORMATS
    from perwiz.formats.format import join

    names = sorted(form.name for form in FORMATS if form.is_read)
    return "\n".join(textwrap.wrap(f"Traces are read in these formats, told by content: {join(names, 'and')}.", 140))


def settings(args: argparse.Namespace) -> list[str]:
    """Return the words that ask another command about the same part of the run, on the same machine, with the same clocks."""
    given = {
        "--iterations": None if args.iterations is None else str(args.iterations),
        "--model": args.model,
        "--topology": getattr(args, "topology", None),
        "--clock": args.clock if args.clock != "clc" else None,
    }
    return [word for name, value in given.items() if value is not None for word in (name, value)]


def asked(args: argparse.Namespace, given: Sequence[str]) -> tuple[str, str]:
    """Return what a command asks, alike where any trace is asked the same, and the words that ask it, without those that name the trace.

    Where a file is named, what is in it counts, not its name. Raises UsageError for a trace on standard input, which only one process has.
    """
    if args.trace == "-":
        raise UsageError("-: only one of several processes has the standard input, must be a file that all see")
    networked = {f"network {name}": name for name in networks(getattr(args, "hypotheses", []))}

    def told(value: object) -> object:
        if isinstance(value, list):
            return [told(each) for each in value]
        path = networked.get(value, value) if isinstance(value, str) else ""
        if not os.path.isfile(path):
            return value
        with contextlib.suppress(OSError), open(path, "rb") as file:  # what cannot be read says so when it is
            return hashlib.file_digest(file, "sha256").hexdigest()
        return value

    traces = {args.trace, *args.trace.split(os.pathsep)}
    what = sorted((name, told(value)) for name, value in vars(args).items() if name != "trace")
    return f"{given[0]} {what}", shlex.join(word for word in given if word not in traces)


def count(text: str, least: int = 0) -> int:
    """Return a whole number from `least` to MOST_WAITS. Raises argparse.ArgumentTypeError for other texts."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= MOST_WAITS:
        raise argparse.ArgumentTypeError(f"'{text}', must be a whole number from {least} to {MOST_WAITS}")
    return number


def percentage(text: str) -> float:
    """Return a percentage as a part of 1. Raises argparse.ArgumentTypeError for other texts, and below 0."""
    try:
        number = float(text.removesuffix("%").strip())
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}', must be a percentage from 0 on, such as 2%")
    return number / 100


def hypotheses(parser: argparse.ArgumentParser) -> None:
    """Declare an option per kind of hypothesis; all that are given end in one list, `hypotheses`, in their order."""
    for kind in KINDS:
        parser.add_argument(
            f"--{kind.word}", dest="hypotheses", action=_Ask, word=kind.word, metavar=kind.argument, help=kind.meaning, default=[]
        )


def networks(texts: list[str]) -> list[str]:
    """Return the arguments of the hypotheses on networks, which may be files."""
    return [text.removeprefix("network ") for text in texts if text.startswith("network ")]


class _Ask(argparse.Action):
    """Collects the questions in the order they are asked."""

    def __init__(self, word: str, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # argparse passes its own settings through
        self._word = word

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        """Add one question."""
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), f"{self._word} {values}"])
