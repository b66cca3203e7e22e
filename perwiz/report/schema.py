"""The shipped JSON Schemas (2020-12), made from the records of the documents; what several reports share is in common.schema.json.

A document is described in the folder of its module, in a file named by its command, else by the folder; one that alone there is one of a
command's reports, by both; several of one command are in one file. Descriptions are the docstrings of classes and fields.
`pytest tests/report/test_schema.py --regold` writes the files.
"""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import textwrap
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any

import msgspec

from perwiz.report.records import Record, Versioned

Schema = dict[str, Any]
_WIDTH = 140
_BLOCKS = ("properties", "$defs")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def documents(package: ModuleType) -> list[list[type[Versioned]]]:
    """Return the documents that the folders of a package make in their modules `document`, those of one module together."""
    folders = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    modules = [import_module(f"{package.__name__}.{folder}.document") for folder in folders if _has_document(package, folder)]
    made = [[value for value in vars(module).values() if _is_document(value, str(module.__package__))] for module in modules]
    return [group for group in made if group]


def _has_document(package: ModuleType, folder: str) -> bool:
    return "document" in {module.name for module in pkgutil.iter_modules([f"{path}/{folder}" for path in package.__path__])}


def _is_document(value: object, package: str) -> bool:
    """Return whether it is a document of the package, and none that others narrow."""
    return (
        isinstance(value, type)
        and issubclass(value, Versioned)
        and value.__module__.startswith(f"{package}.")
        and not value.__subclasses__()
    )


def files(package: ModuleType, common: str = "") -> dict[str, str]:
    """Return the text of the schemas of a package's documents by their paths, from the folder of perwiz on.

    What folders share is in a file of this name, in the folder of the package; without one, in the schemas of all that hold it.
    """
    texts, shared = dict[str, str](), Schema()
    for group in documents(package):
        values = {field.name: field.default for field in msgspec.structs.fields(group[0])}
        words = [values.get("command", _folder(group[0]).rpartition("/")[2])]
        words += [values["report"]] if len(group) == 1 and "report" in values else []
        schema, outside = described(group, f"perwiz {' '.join(words)} --json, version {values['version']}", common)
        texts[f"{_folder(group[0])}/{'_'.join(words)}.schema.json"] = layout(schema)
        shared |= outside
    if common:
        head = {"$schema": _DIALECT, "title": "What several documents of perwiz hold"}
        texts[f"{package.__name__.replace('.', '/')}/{common}"] = layout(head | {"$defs": dict(sorted(shared.items()))})
    return texts


def _folder(record: type) -> str:
    return record.__module__.rpartition(".")[0].replace(".", "/")


def described(documents: Sequence[type[Record]], title: str, common: str = "") -> tuple[Schema, Schema]:
    """Return the schema of one of these documents, with the records of their folder as `$defs`; and the others, as `common` has them.

    Without the name of a common file all records are in the schema.
    """
    _, schemas = msgspec.json.schema_components(documents, ref_template="{name}")
    records = {record.__name__: record for document in documents for record in _records(msgspec.inspect.type_info(document))}
    complete = {name: _completed(schemas[name], record) for name, record in records.items()}
    own = [name for name, record in records.items() if not common or _folder(record) == _folder(documents[0])]
    inside = {name: f"#/$defs/{name}" for name in records}
    places = {name: inside[name] if name in own else f"../{common}{inside[name]}" for name in records}
    root = _root(documents, complete)
    defs = {name: _placed(complete[name], places) for name in sorted(own) if complete[name] is not root}
    schema = {"$schema": _DIALECT, "title": title} | _placed(root, places) | ({"$defs": defs} if defs else {})
    return schema, {name: _placed(complete[name], inside) for name in records if name not in own}


def _root(documents: Sequence[type[Record]], complete: Schema) -> Schema:
    """Return the schema of the document, or what says that it is one of several, which the class above them describes."""
    if len(documents) == 1:
        return complete[documents[0].__name__]
    meaning = _line(inspect.getdoc(documents[0].__base__) or "")
    return {"description": meaning, "oneOf": [{"$ref": document.__name__} for document in documents]}


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
