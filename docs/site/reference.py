"""A Sphinx extension that writes the pages of `docs/reference/` from the code: where a page has `<!-- NAME -->` the part of that name."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import perwiz
from perwiz import words
from perwiz.commands import COMMANDS, parser
from perwiz.report.tables import document as tables_report
from perwiz.trace.tables import TABLES

WIDTH = 100
"""Columns of a help, as a page is wide."""
RETURNED = {
    "Trace": "perwiz.trace.trace",
    "Timeline": "perwiz.trace.trace",
    "Prediction": "perwiz.whatif.predict",
    "Span": "perwiz.whatif.sure.span",
    "Model": "perwiz.loggps.model",
    "Hypothesis": "perwiz.whatif.hypotheses.base",
}
"""What the public functions take or return, and where it lives."""


def commands() -> Iterator[str]:
    """Yield the help of every command, and of each of its actions."""
    with words.fitted(WIDTH):
        for name in COMMANDS:
            yield f"## perwiz {name}\n"
            yield _block(parser.of(name).format_help())
            for choice, action in _actions(parser.of(name)):
                yield f"### perwiz {name} {choice}\n"
                yield _block(action.format_help())


def _actions(of: parser.Parser) -> Iterator[tuple[str, parser.Parser]]:
    for action in of.actions():
        if isinstance(action.choices, dict):
            yield from action.choices.items()


def tables() -> Iterator[str]:
    """Yield what the columns of every table are, as `perwiz tables` does."""
    for table in tables_report.document(TABLES).tables:
        yield f"## {table.name}\n\n{table.meaning}\n\n| column | type | unit | meaning |\n|---|---|---|---|"
        yield from (f"| `{column.name}` | {column.type} | {column.unit} | {_cell(column.meaning)} |" for column in table.columns)
        yield ""


def schemas() -> Iterator[str]:
    """Yield what the documents of `--json` hold, as the shipped schemas say it."""
    for folder in ("report", "jobs"):
        for file in _schemas_of(resources.files("perwiz").joinpath(folder)):
            schema = json.loads(file.read_text(encoding="utf-8"))
            yield f"## {file.name.partition('.')[0]}\n\n{schema.get('description', '')}\n\nInstalled as `perwiz/{folder}/…/{file.name}`.\n"
            yield from _fields(schema)
            for name, part in schema.get("$defs", {}).items():
                yield f"### {name}\n\n{part.get('description', '')}\n"
                yield from _fields(part)


def _schemas_of(folder: Any) -> Iterator[Any]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _schemas_of(entry)
        elif entry.name.endswith(".schema.json"):
            yield entry


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    fields = schema.get("properties", {})
    if fields:
        yield "| key | type | meaning |\n|---|---|---|"
    needed = schema.get("required", [])
    for name, field in fields.items():
        yield f"| `{name}`{'' if name in needed else ', may be left out'} | {_cell(_type(field))} | {_cell(field.get('description', ''))} |"
    yield ""


def _type(field: dict[str, Any] | bool) -> str:
    """Return in words what a value may be.

    {"type": "array", "items": {"type": "integer"}} is "list of integer", {"const": 1} is "1", {"$ref": "x#/$defs/Span"} is "Span".
    """
    if isinstance(field, bool):  # a schema that takes everything
        return "anything"
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    kinds = field.get("type", "anything")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def api() -> Iterator[str]:
    """Yield the public functions and hypotheses, and what they take and return, each as its docstring has it."""
    named = {name: getattr(perwiz, name) for name in perwiz.__all__}
    parts: dict[str, Callable[[Any], bool]] = {
        "Functions": inspect.isfunction,
        "Hypotheses": lambda one: inspect.isclass(one) and not issubclass(one, Exception),
        "Errors": lambda one: inspect.isclass(one) and issubclass(one, Exception),
    }
    for title, belongs in parts.items():
        yield f"## {title}\n"
        for name in sorted(name for name, one in named.items() if belongs(one)):
            yield from _described(f"perwiz.{name}", named[name])
    yield "## What they take and return\n"
    for name, module in RETURNED.items():
        yield from _described(name, getattr(importlib.import_module(module), name))


def _described(name: str, one: Any) -> Iterator[str]:
    """Yield the heading, the signature, the docstring, and of a class its public properties and methods."""
    yield f"### {name}\n"
    if not (inspect.isclass(one) and issubclass(one, Exception)):
        yield _block(f"{name}{_signature(one)}", "python")
    yield f"{inspect.getdoc(one) or ''}\n"
    if inspect.isclass(one):
        for key, member in vars(one).items():
            if not key.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
                shown = "" if isinstance(member, property) else _signature(member)
                yield f"- `{key}{shown}`: {' '.join((inspect.getdoc(member) or '').split())}"
        yield ""


def _signature(one: Any) -> str:
    """Return the parameters and what comes back without the paths of modules, a parameter to a line if one is not enough."""
    signature = inspect.signature(one)
    parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
    result = "" if signature.return_annotation is signature.empty else f" -> {_plain(signature.return_annotation)}"
    line = f"({', '.join(parameters)}){result}"
    return line if len(line) < WIDTH else "(\n    " + ",\n    ".join(parameters) + f",\n){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    """Return a parameter with its type, whose annotation is a text in this project, and its default."""
    name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
    kind = "" if parameter.annotation is parameter.empty else f": {_plain(parameter.annotation)}"
    return f"{name}{kind}{'' if parameter.default is parameter.empty else f' = {parameter.default!r}'}"


def _plain(annotation: object) -> str:
    return re.sub(r"\b(?:perwiz|collections|numpy|typing)\.(?:\w+\.)*|'", "", str(annotation))


def _block(text: str, language: str = "text") -> str:
    return f"````{language}\n{text.strip()}\n````\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


PARTS: dict[str, Callable[[], Iterator[str]]] = {"commands": commands, "tables": tables, "schemas": schemas, "api": api}


def fill(app: Any, page: str, source: list[str]) -> None:
    """Put the parts that a page names in their places."""
    source[0] = re.sub(r"^<!-- (\w+) -->$", lambda place: "\n".join(PARTS[place[1]]()), source[0], flags=re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to ask."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
