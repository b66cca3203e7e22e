"""`perwiz tables`: the schema of all tables, printed from their declarations."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perwiz.trace.table import Table

HELP = "print the columns of every table: name, type, unit, meaning"
VERSION = 1
"""Version of the output of `--json`."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz tables`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the schema."""
    from perwiz.trace.tables import TABLES

    tables = [describe(table) for table in TABLES]
    if args.json:
        print(json.dumps({"version": VERSION, "tables": tables}, indent=2))
    else:
        print("\n\n".join(text(table) for table in tables))
    return 0


def describe(table: type[Table]) -> dict[str, Any]:
    """Return the declaration of one table, ready for JSON."""
    keys = ("name", "type", "unit", "meaning")
    meaning = (table.__doc__ or "").partition("\n")[0]
    columns = [dict(zip(keys, column, strict=True)) for column in table.schema()]
    return {"name": table.__name__.lower(), "meaning": meaning, "columns": columns}


def text(table: dict[str, Any]) -> str:
    """Return one described table as lines: its meaning, then a line per column."""
    columns = table["columns"]
    width = max(len(c["name"]) for c in columns)
    unit = max(len(c["unit"]) for c in columns)
    lines = [f"  {c['name']:{width}}  {c['type']}  {c['unit']:{unit}}  {c['meaning']}" for c in columns]
    return "\n".join([f"{table['name']}: {table['meaning']}", *lines])
