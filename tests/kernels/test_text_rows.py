"""The structs of the kernels that read and write text have the dtypes they share with their callers; codes are those of the tables."""

import ast
import pathlib

import numpy as np
import pytest

import perwiz.kernels
from perwiz.kernels import alog, number, steps
from perwiz.trace import defects

TYPES = {"longlong": "i8", "int": "i4", "uchar": "u1", "schar": "i1"}
KERNELS = pathlib.Path(perwiz.kernels.__file__).parent
INSIDE = {"Number"}
"""Structs of a kernel alone, of which there are no arrays."""


def structs(kernel):
    """Return fields and dtypes of each struct that a kernel declares."""
    types, found = dict(TYPES), {}
    for node in ast.parse((KERNELS / f"{kernel}.py").read_text(encoding="utf-8")).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        made, name = ast.unparse(node.value.func), ast.unparse(node.targets[0])
        if made == "cython.typedef":
            types[name] = types[node.value.args[0].attr]
        elif made == "cython.struct" and name not in INSIDE:
            found[name] = [(field.arg, types[ast.unparse(field.value).removeprefix("cython.")]) for field in node.value.keywords]
    return found


@pytest.mark.parametrize(("kernel", "shared"), [("alog_lines", alog), ("alog_states", alog), ("templates", steps), ("number", number)])
def test_structs__are_the_dtypes(kernel, shared):
    """Names, types and padding; a field named as an attribute of arrays would hide it when the kernel is interpreted."""
    found = structs(kernel)
    assert {name: np.dtype(fields, align=True) for name, fields in found.items()} == {name: getattr(shared, name.upper()) for name in found}
    assert found
    assert {field for fields in found.values() for field, _ in fields} & {*dir(np.recarray), *dir(np.record)} == set()


def test_reasons__as_the_trace_numbers_them():
    """The kernels know them as statuses."""
    found = (alog.NOT_INTEGERS, alog.OUT_OF_RANGE, alog.NO_TAG_AND_BYTES, alog.NOT_OPEN, alog.BACKWARDS, alog.TOO_DEEP)
    reasons = (
        *(defects.NOT_INTEGERS, defects.OUT_OF_RANGE, defects.NO_TAG_AND_SIZE),
        *(defects.NOT_OPEN, defects.BACKWARDS, defects.TOO_DEEP),
    )
    assert tuple(status - alog.DAMAGED for status in found) == reasons
