"""The report of `perwiz tables`: a JSON document, and the text made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from perwiz import words
from perwiz.report.records import Record, Versioned, choice
from perwiz.trace import table


class Column(Record):
    """A column of a table."""

    name: str
    type: Annotated[str, choice("i1", "i2", "i4", "i8", "u1", "u2", "f8")]
    unit: str
    meaning: str


class Table(Record):
    """A table of a trace."""

    name: str
    meaning: str
    columns: Annotated[list[Column], Meta(min_length=1)]


class TablesDocument(Versioned, kw_only=True):
    """The columns of every table."""

    tables: Annotated[list[Table], Meta(min_length=1)]


def document(tables: Sequence[type[table.Table]]) -> TablesDocument:
    """Return the declarations of tables."""
    return TablesDocument(tables=[_table(declared) for declared in tables])


def _table(declared: type[table.Table]) -> Table:
    meaning = (declared.__doc__ or "").partition("\n")[0]
    columns = [Column(name=name, type=kind, unit=unit, meaning=told) for name, kind, unit, told in declared.schema()]
    return Table(name=declared.__name__.lower(), meaning=meaning, columns=columns)


def text(document: TablesDocument) -> str:
    """Return the document as text: the tables and their meanings, then of each a line per column."""
    label = max(len(table.name) for table in document.tables) + 2
    tables = "\n".join(line for table in document.tables for line in words.wrapped(f"{table.name:{label}}{table.meaning}", label))
    return "\n\n".join(
        ["tables of a trace", tables, *("\n".join([table.name, *_column_lines(table.columns)]) for table in document.tables)]
    )


def _column_lines(columns: Sequence[Column]) -> list[str]:
    name, unit = max(len(column.name) for column in columns), max(len(column.unit) for column in columns)
    return [f"  {column.name:{name}}  {column.type}  {column.unit:{unit}}  {column.meaning}" for column in columns]
