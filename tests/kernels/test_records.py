"""Rows and names of the kernels that read and write files: structs and dtypes agree, and so do the flags and what the recorder writes."""

import ast
import importlib
import pathlib
import re

import numpy as np
import pytest

import perwiz
from perwiz.formats.otf2.library.buffer import User
from perwiz.kernels import recorded, records

ROOM = pathlib.Path(perwiz.__file__).parent
SOURCES = [path for path in sorted((ROOM / "kernels").glob("*.py")) if "cython.struct(" in path.read_text(encoding="utf-8")]
RECORDER = (ROOM / "record" / "recorder.h").read_text(encoding="utf-8")
C_TYPES = {"uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "longlong": "i8", "ulonglong": "u8"}


def structs(path):
    """Yield name and fields (name, dtype) of the structs that a kernel declares."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "cython.struct":
            yield (
                ast.unparse(node.targets[0]),
                [(field.arg, ast.unparse(field.value).removeprefix("cython.")) for field in node.value.keywords],
            )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_structs__as_the_dtypes_beside_them(path):
    """The dtype of `Call` is CALL, or in records.py; numpy's own names cannot be fields: interpreted, they would come first."""
    kernel = importlib.import_module(f"perwiz.kernels.{path.stem}")
    found = dict(structs(path))
    assert found
    if path.stem == "otf2_records":
        assert found.pop("Buffer") == [(name, "pointer(Record)" if name == "rows" else "longlong") for name, _ in User._fields_]
    for name, fields in found.items():
        dtype = getattr(kernel, name.upper(), None) or getattr(records, name.upper())
        assert dtype == np.dtype([(field, C_TYPES[c_type]) for field, c_type in fields], align=True)
        assert not {field for field, _ in fields} & {*dir(np.record)}


def enum(after):
    """Return the constants of an enum of recorder.h, the one behind a comment."""
    body = re.sub(r"/\*.*?\*/", "", RECORDER.partition(after)[2].partition("{")[2].partition("}")[0])
    return {name: eval(value) for name, value in re.findall(r"(\w+) = ([-\d< ]+)", body)}


def test_flags__as_the_recorder_has_them():
    flags = enum("/* Flags of a record. */")
    assert list(flags) == [
        *("SENDS", "RECEIVES", "POSTS", "DONE", "ANY_SOURCE", "ANY_TAG", "FAILED", "CANCELLED", "MANY", "MODE", "FOUND", "FREED"),
        *("PERSISTENT", "ACTIVE", "CANCELLING"),
    ]
    known = {name: value for name, value in flags.items() if hasattr(records, name)}
    assert len(known) == 10
    assert {name: getattr(records, name) for name in known} == known
    assert sum(flags.values()) == records.RECORDED
    assert f"#define SYNCHRONOUS (3 << {records.MODE_SHIFT})" in RECORDER


def test_partners__as_the_recorder_has_them():
    partners = enum("/* Partners in a record")
    assert partners == {name: getattr(records, name) for name in ("NOBODY", "ANYBODY", "MYSELF")}
    assert min(partners.values()) > records.STRANGER


@pytest.mark.parametrize("name", ["Call", "Part"])
def test_rows__as_the_recorder_writes_them(name):
    """A field `flags` is called `bits` here; the union in a call is its request."""
    body = re.sub(r"/\*.*?\*/", "", next(text for text in RECORDER.split("typedef struct {")[1:] if f"}} {name};" in text))
    body = re.sub(r"union \{\s+(.*?;).*?\} u;", r"\1", body.partition(f"}} {name};")[0], flags=re.DOTALL)
    types = {"int64_t": "i8", "uint64_t": "u8", "int32_t": "i4", "uint16_t": "u2"}
    fields = [
        (field.replace("flags", "bits"), types[kind]) for kind, names in re.findall(r"(\w+) ([^;]+);", body) for field in names.split(", ")
    ]
    assert getattr(recorded, name.upper()) == np.dtype(fields, align=True)
