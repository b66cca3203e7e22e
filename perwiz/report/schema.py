"""The shipped JSON Schemas (2020-12), made from the records of the documents; what several share is in common.schema.json.

A document is described in the folder of its module, in a file named by its command. Descriptions are the docstrings of classes and fields.
`pytest tests/report/test_schema.py --regold` writes the files.
"""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import textwrap
from importlib import import_module
from itertools import pairwise
from typing import Any

import msgspec

from perwiz import report
from perwiz.report.records import Document

Schema = dict[str, Any]
_WIDTH = 140
_BLOCKS = ("properties", "$defs")
_COMMON = "common.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def documents() -> list[type[Document]]:
    """Return the documents of the reports, in the order of their folders: of each what its module `document` makes."""
    folders = [module.name for module in pkgutil.iter_modules(report.__path__) if module.ispkg]
    modules = [import_module(f"{report.__name__}.{folder}.document") for folder in folders if _has_document(folder)]
    return [value for module in modules for value in vars(module).values() if _is_document(value, str(module.__package__))]


def _has_document(folder: str) -> bool:
    return "document" in {module.name for module in pkgutil.iter_modules([f"{path}/{folder}" for path in report.__path__])}


def _is_document(value: object, package: str) -> bool:
    return isinstance(value, type) and issubclass(value, Document) and value.__module__.startswith(f"{package}.")


def files() -> dict[str, str]:
    """Return the text of every schema by its path, from the folder of the package on."""
    texts, common = dict[str, str](), Schema()
    for document in documents():
        schema, shared = described(document)
        path = f"{_folder(document)}/{schema['properties']['command']['const']}.schema.json"
        texts[path] = layout(schema)
        common |= shared
    texts[f"{report.__name__.replace('.', '/')}/{_COMMON}"] = layout(
        {"$schema": _DIALECT, "title": "What several documents of perwiz hold", "$defs": dict(sorted(common.items()))}
    )
    return texts


def _folder(record: type) -> str:
    return record.__module__.rpartition(".")[0].replace(".", "/")


def described(document: type[Document]) -> tuple[Schema, Schema]:
    """Return the schema of a document, with the records of its folder as `$defs`; and the other records, as the common file has them."""
    _, schemas = msgspec.json.schema_components([document], ref_template="{name}")
    records = {record.__name__: record for record in _records(msgspec.inspect.type_info(document))}
    complete = {name: _completed(schemas[name], record) for name, record in records.items()}
    own = [name for name, record in records.items() if _folder(record) == _folder(document)]
    here = {name: f"#/$defs/{name}" for name in records}
    places = {name: here[name] if name in own else f"../{_COMMON}{here[name]}" for name in records}
    root = _placed(complete[document.__name__], places)
    command, version = (root["properties"][name]["const"] for name in ("command", "version"))
    defs = {name: _placed(complete[name], places) for name in sorted(own) if name != document.__name__}
    head = {"$schema": _DIALECT, "title": f"perwiz {command} --json, version {version}"}
    return head | root | ({"$defs": defs} if defs else {}), {name: _placed(complete[name], here) for name in records if name not in own}


def _records(node: object) -> dict[type, None]:
    """Return the records that a type holds, itself included, in the order of their fields."""
    if isinstance(node, tuple):
        return {record: None for part in node for record in _records(part)}
    if not isinstance(node, msgspec.Struct):
        return {}
    itself = {node.cls: None} if isinstance(node, msgspec.inspect.StructType | msgspec.inspect.DataclassType) else {}
    return itself | _records(tuple(msgspec.structs.asdict(node).values()))


def _completed(schema: Schema, record: type) -> Schema:
    """Return the schema of a record, closed, with what its docstrings say. Integers in dataclasses count, or are ns: none is negative."""
    fields = {name: field for name, field in schema["properties"].items() if "reserved" not in field}
    meanings, least = _meanings(record), {} if issubclass(record, msgspec.Struct) else {"minimum": 0}
    required = [name for name, field in fields.items() if name in schema["required"] or "default" in field]
    properties = {}
    for name, field in fields.items():
        kind = {key: value for key, value in field.items() if key != "default"}
        kind |= least if kind.get("type") == "integer" else {}
        kind = {"const": kind["enum"][0]} if len(kind.get("enum", ())) == 1 else kind
        properties[name] = kind | ({"description": meanings[name]} if name in meanings else {})
    head = {"description": _line(inspect.getdoc(record) or ""), "type": "object", "properties": properties}
    return head | {"required": required, "additionalProperties": False}


def _meanings(record: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class and of those it extends, by the names in the JSON."""
    meanings = {}
    for base in reversed(record.__mro__):
        if base is not object and not base.__module__.startswith("msgspec"):
            (body,) = (node.body for node in ast.parse(textwrap.dedent(inspect.getsource(base))).body if isinstance(node, ast.ClassDef))
            for field, text in pairwise(body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                    meanings[ast.unparse(field.target)] = _line(str(text.value.value))
    names = {field.name: field.encode_name for field in msgspec.structs.fields(record)} if issubclass(record, msgspec.Struct) else {}
    return {names.get(name, name): text for name, text in meanings.items()}


def _line(text: str) -> str:
    return " ".join(text.split())


def _placed(schema: Any, places: dict[str, str]) -> Any:
    """Return a schema whose references lead to where the records are described."""
    if isinstance(schema, list):
        return [_placed(part, places) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: places[value] if key == "$ref" else _placed(value, places) for key, value in schema.items()}


def layout(schema: Schema) -> str:
    """Return a schema as text: a line for what it says of itself, for each property and for each definition that has room in one."""
    lines = [f"  {json.dumps(key)}: {_block(value, '  ') if key in _BLOCKS else json.dumps(value)}" for key, value in schema.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(schemas: Schema, indent: str) -> str:
    """Return schemas by their names, one a line; of a record without room in a line its properties."""
    lines = []
    for name, schema in schemas.items():
        line = f"{indent}  {json.dumps(name)}: {json.dumps(schema)}"
        if len(line) > _WIDTH and "properties" in schema:
            keys = (
                f"{json.dumps(key)}: {_block(value, indent + '  ') if key in _BLOCKS else json.dumps(value)}"
                for key, value in schema.items()
            )
            line = f"{indent}  {json.dumps(name)}: {{{', '.join(keys)}}}"
        lines.append(line)
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
