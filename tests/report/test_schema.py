"""The shipped schemas: what the records say, with and without their fields, and as short as they are meant to be."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Annotated, Literal

import jsonschema
import msgspec
import pytest

from documents import DIALECT
from perwiz import jobs, report
from perwiz.jobs import record
from perwiz.report import schema
from perwiz.report.records import RESERVED, Document, Natural, Record, choice

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Part(Record, kw_only=True):
    """A part."""

    label: Annotated[str | msgspec.UnsetType, RESERVED] = msgspec.UNSET
    size_ns: Natural
    """How large
    it is."""
    begin: float | None = msgspec.field(name="from")
    """Where it begins."""


class Labelled(Part, kw_only=True):
    """A part with a label."""

    label: Annotated[str, choice("a", "b")]


@dataclasses.dataclass(frozen=True)
class Counted:
    """What was counted."""

    calls: int = 0
    """So many calls."""


class Example(Document, kw_only=True):
    """An example."""

    command: Literal["example"] = "example"
    parts: list[Part]
    best: Labelled
    counted: Counted | None
    """Null if nothing was."""
    word: Annotated[str, msgspec.Meta(pattern="^a")] | msgspec.UnsetType = msgspec.UNSET


def test_described():
    described, shared = schema.described([Example], "example")
    assert shared == {}
    assert {name: described[name] for name in described.keys() - {"properties", "$defs"}} == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "example",
        "description": "An example.",
        "type": "object",
        "required": ["version", "command", "parts", "best", "counted"],
        "additionalProperties": False,
    }
    assert described["properties"] == {
        "version": {"const": 1},
        "command": {"const": "example"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        "best": {"$ref": "#/$defs/Labelled"},
        "counted": {"anyOf": [{"$ref": "#/$defs/Counted"}, {"type": "null"}], "description": "Null if nothing was."},
        "word": {"type": "string", "pattern": "^a"},
    }
    size = {"type": "integer", "minimum": 0, "description": "How large it is."}
    begin = {"anyOf": [{"type": "number"}, {"type": "null"}], "description": "Where it begins."}
    label = {"type": "string", "enum": ["a", "b"]}
    calls = {"type": "integer", "minimum": 0, "description": "So many calls."}
    closed = {"type": "object", "additionalProperties": False}
    assert described["$defs"] == {
        "Counted": closed | {"description": "What was counted.", "properties": {"calls": calls}, "required": ["calls"]},
        "Labelled": closed
        | {
            "description": "A part with a label.",
            "properties": {"label": label, "size_ns": size, "from": begin},
            "required": ["label", "size_ns", "from"],
        },
        "Part": closed | {"description": "A part.", "properties": {"size_ns": size, "from": begin}, "required": ["size_ns", "from"]},
    }


def test_described__is_a_schema_of_what_is_encoded():
    example = Example(parts=[Part(size_ns=3, begin=0.5)], best=Labelled(label="a", size_ns=3, begin=None), counted=Counted(4))
    document = msgspec.to_builtins(example)
    assert list(document["best"]) == ["label", "size_ns", "from"]
    described, _ = schema.described([Example], "example")
    DIALECT.check_schema(described)
    jsonschema.validate(document, described)
    for change in (
        {"more": 1},
        {"parts": [{"size_ns": -1, "from": None}]},
        {"version": 2},
        {"best": {"label": "c", "size_ns": 3, "from": None}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | change, described)


class OneOf(Document, kw_only=True):
    """One of two."""

    command: Literal["one"] = "one"
    report: str


class First(OneOf, kw_only=True):
    """The first."""

    report: Literal["first"] = "first"
    part: Part


class Second(OneOf, kw_only=True):
    """The second."""

    report: Literal["second"] = "second"


def test_described__one_of_several():
    described, _ = schema.described([First, Second], "one")
    assert (described["description"], described["oneOf"]) == ("One of two.", [{"$ref": "#/$defs/First"}, {"$ref": "#/$defs/Second"}])
    assert list(described["$defs"]) == ["First", "Part", "Second"]
    DIALECT.check_schema(described)
    jsonschema.validate(msgspec.to_builtins(First(part=Part(size_ns=3, begin=None))), described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(msgspec.to_builtins(First(part=Part(size_ns=3, begin=None))) | {"report": "second"}, described)


@functools.cache
def files():
    """Return the text of each schema by its path, as the records say it; making them takes seconds."""
    line, _ = schema.described([record.Line], "a record of one job that perwiz jobs ingest reads, version 1")
    of_jobs = schema.files(jobs) | {"perwiz/jobs/jobs_record.schema.json": schema.layout(line)}
    return schema.files(report, common="common.schema.json") | of_jobs


@pytest.mark.slow
def test_files__are_what_the_records_say(request):
    if request.config.getoption("--regold"):
        for path, text in files().items():
            (ROOT / path).write_text(text, encoding="utf-8")
    other = [path for path, text in files().items() if (ROOT / path).read_text(encoding="utf-8") != text]
    assert other == [], "the records say something else: run pytest --regold"


@pytest.mark.slow
def test_files__all_are_made_from_records_and_short():
    shipped = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "perwiz").rglob("*.schema.json")}
    assert shipped.keys() == files().keys()
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in shipped.values()) <= 110 * len(shipped)
