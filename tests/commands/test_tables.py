"""`perwiz tables`: every table and column, as text and as JSON."""

from __future__ import annotations

import json

from documents import valid
from perwiz.cli import main
from perwiz.trace.tables import TABLES


def test_text(capsys):
    assert main(["tables"]) == 0
    out = capsys.readouterr().out
    blocks = out.split("\n\n")
    names = [table.__name__.lower() for table in TABLES]
    assert [block.partition("\n")[0] for block in blocks] == ["tables of a trace", blocks[1].partition("\n")[0], *names]
    assert [line.split()[0] for line in blocks[1].split("\n") if line[:1].strip()] == names
    assert blocks[1].split("\n")[-1].endswith(" A record that could not be used, or a place where records are missing.")
    assert blocks[-1] == (
        "defects\n"
        "  line      i8    line of the file, from 1, or -1\n"
        "  location  i4    row of locations, or -1\n"
        "  reason    u1    row of perwiz.trace.defects.REASONS\n"
    )


def test_json__is_what_the_schema_says(capsys):
    assert main(["tables", "--json"]) == 0
    block = json.loads(capsys.readouterr().out)
    valid(block, "tables")
    assert [(row["name"], len(row["columns"])) for row in block["tables"]] == [
        (table.__name__.lower(), len(table.schema())) for table in TABLES
    ]
