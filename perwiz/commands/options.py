"""Arguments that several commands take, and the examples at the end of their help."""

from __future__ import annotations

import argparse

MOST_WAITS = 1_000_000
"""Waits that can be asked for: nobody reads more."""


def trace(parser: argparse.ArgumentParser) -> None:
    """Declare the trace."""
    parser.add_argument("trace", metavar="TRACE", help="trace file, also packed (gzip, zstd); - is standard input")


def model(parser: argparse.ArgumentParser) -> None:
    """Declare --model."""
    meaning = "LogGPS model of the machine the run was recorded on: a shipped name or a TOML file (default: default)"
    parser.add_argument("--model", metavar="NAME|FILE", default="default", help=meaning)


def waits(parser: argparse.ArgumentParser, default: int, meaning: str) -> None:
    """Declare --waits."""
    parser.add_argument("--waits", type=_count, default=default, metavar="N", help=f"{meaning} (default {default})")


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


def output(parser: argparse.ArgumentParser, kind: str) -> None:
    """Declare -o, a trace of some kind of run."""
    meaning = f"write the {kind} run: .otf2 as an OTF2 archive, else as ALOG (.gz, .zst: packed)"
    parser.add_argument("-o", dest="output", metavar="FILE", help=meaning)


def plot(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Declare --plot."""
    parser.add_argument("--plot", metavar="FILE", help=f"{meaning} (.png, .svg, .pdf)")


def ending(parser: argparse.ArgumentParser, text: str) -> None:
    """Put lines behind the help, as they are."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = text.strip("\n")


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not 0 <= number <= MOST_WAITS:
        raise argparse.ArgumentTypeError(f"'{text}', must be a whole number from 0 to {MOST_WAITS}")
    return number
