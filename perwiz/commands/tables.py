"""`perwiz tables`: the schema of all tables, printed from their declarations."""

from __future__ import annotations

import argparse

from perwiz.commands import files, options

HELP = "print the columns of every table: name, type, unit, meaning"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz tables`."""
    options.answer(parser)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the schema."""
    from perwiz.report.tables import document as report
    from perwiz.trace.tables import TABLES

    return files.finish(args, report.document(TABLES), report.text, incomplete=False)
