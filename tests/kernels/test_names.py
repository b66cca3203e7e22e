"""Kernels with names: no cell by its number, no bare mask, no kind compared with a number; rows as their structs say."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re

import numpy as np
import pytest

from perwiz.formats.otf2.library.buffer import User

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "perwiz" / "kernels"
KERNELS = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.py")}
WORDS = ("kind", "code", "lane", "binding", "type", "state", "op", "event", "record")
"""Columns of numbers that each stand for something."""
FORMATS = {
    "cython.longlong": "i8",
    "cython.ulonglong": "u8",
    "cython.Py_ssize_t": "i8",
    "cython.double": "f8",
    "cython.int": "i4",
    "cython.short": "i2",
    "cython.ushort": "u2",
    "cython.uchar": "u1",
    "cython.schar": "i1",
}


def number(node):
    """Return the whole number that stands there, with or without sign, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
        node = node.operand
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def subscripts(tree):
    """Return (line, array, position, number) of each subscript of an array of which a part is a number; slices are none."""
    parts = [
        (node.lineno, ast.unparse(node.value), place, number(part))
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        for place, part in enumerate(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
    ]
    return [part for part in parts if part[-1] is not None and not part[1].startswith("cython.") and not part[1].endswith(".shape")]


def told(node):
    """Return the column that a side of a comparison names: `kind` of `kind[k]` and of `edges[k].kind`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "attr", getattr(node, "id", ""))


def nameless(tree):
    """Return (line, what) where a number stands for a cell, a bit or a kind. A 0 is a cell where the array has others by number.

    A kind that was put into a variable of another name is not seen.
    """
    cells = subscripts(tree)
    packed = {(array, place) for _, array, place, cell in cells if cell > 0}
    out = [(line, f"{array}[{cell}]") for line, array, place, cell in cells if (array, place) in packed]
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
            shifted = isinstance(sides[0], ast.BinOp) and isinstance(sides[0].op, ast.RShift) and number(sides[-1]) == 1
            out += [(node.lineno, ast.unparse(node)) for side in sides if number(side) is not None and not shifted]
        if isinstance(node, ast.Compare):
            sides = [part for side in (node.left, *node.comparators) for part in (side.elts if isinstance(side, ast.Tuple) else [side])]
            if any(told(side).rstrip("_") in WORDS for side in sides) and any(number(side) is not None for side in sides):
                out.append((node.lineno, ast.unparse(node)))
    return sorted(set(out))


def structs(tree):
    """Yield (name, {field: type}) of each struct a kernel declares, names of its own for types replaced."""
    own = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "cython.typedef":
            own[node.targets[0].id] = node.value.args[0]
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "cython.struct":
            yield node.targets[0].id, {field.arg: own.get(ast.unparse(field.value), field.value) for field in node.value.keywords}


def row(fields):
    """Return the aligned dtype of the fields of a struct."""
    pairs = [(node.value, (node.slice.value,)) if isinstance(node, ast.Subscript) else (node, ()) for node in fields.values()]
    return np.dtype([(field, FORMATS[ast.unparse(type_)], shape) for field, (type_, shape) in zip(fields, pairs, strict=True)], align=True)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_names(kernel):
    assert nameless(KERNELS[kernel]) == []


@pytest.mark.parametrize("kernel", sorted(kernel for kernel in KERNELS if any(structs(KERNELS[kernel]))))
def test_rows(kernel):
    """A struct that rows of arrays have is beside its dtype, or that in a module for several kernels, of the same name in capitals.

    A field named as an attribute of arrays would hide behind it when the kernel is interpreted.
    """
    module = importlib.import_module(f"perwiz.kernels.{kernel}")
    known = {name: value for shared in (*shared_with(module), module) for name, value in vars(shared).items()}
    text = ast.unparse(KERNELS[kernel])
    rows = {name: row(fields) for name, fields in structs(KERNELS[kernel]) if f"{name}[" in text or f"rows=cython.pointer({name})" in text}
    assert {name: known[name.upper()] for name in rows} == rows
    assert {field for dtype in rows.values() for field in dtype.names} & {*dir(np.recarray), *dir(np.record)} == set()


DECLARED = re.compile(r"cdef struct (\w+):\n((?:    [\w ]+\n)+)")
"""A struct of a .pxd, and its fields."""
TYPES = {"double": "f8", "long long": "i8", "int": "i4", "short": "i2", "unsigned char": "u1", "unsigned short": "u2"}


SHARED = {path.stem: found for path in FOLDER.glob("*.pxd") if (found := DECLARED.findall(path.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("kernel", sorted(SHARED))
def test_rows__that_several_kernels_share(kernel):
    """A struct in a .pxd is as the dtype of its name in capitals, which its kernel, or a module of rows of that kernel, has."""
    module = importlib.import_module(f"perwiz.kernels.{kernel}")
    known = {name: value for shared in (module, *shared_with(module)) for name, value in vars(shared).items()}
    for name, body in SHARED[kernel]:
        fields = [line.rpartition(" ") for line in body.splitlines()]
        assert known[name.upper()] == np.dtype([(field, TYPES[type_.strip()]) for type_, _, field in fields], align=True)


def shared_with(module):
    """Return the modules of rows and names that a kernel imports."""
    return [value for value in vars(module).values() if getattr(value, "__name__", "").startswith("perwiz.kernels.")]


def test_buffer__as_the_callbacks_take_it():
    (fields,) = (fields for name, fields in structs(KERNELS["otf2_records"]) if name == "Buffer")
    assert [*fields] == [name for name, _ in User._fields_]
    assert [ast.unparse(c_type) for c_type in fields.values()] == [
        *["cython.longlong"] * 4,
        *("cython.pointer(Record)", "Count", "Get", "cython.p_uint", "cython.p_uchar", "cython.p_ulonglong"),
    ]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("state[4] += 1", ["state[4]"]),
        ("x = work[0, v] + work[3, v] + work[v, 0]", ["work[0]", "work[3]"]),
        ("x = head[0]", []),
        ("x = table[i, -1]", ["table[1]"]),
        ("if flags & 768 == 2: pass", ["flags & 768"]),
        ("flags |= 4", ["flags |= 4"]),
        ("x = (lanes >> j) & 1", []),
        ("x = low & 1", ["low & 1"]),
        ("if kind[k] == 4 or edges[k].kind != GAP: pass", ["kind[k] == 4"]),
        ("if -1 < rows[i].code: pass", ["-1 < rows[i].code"]),
        ("if rows[i].code in (SEND, 3): pass", ["rows[i].code in (SEND, 3)"]),
        ("width = sums.shape[1]", []),
        ("def f(a: cython.longlong[4]) -> None: return a[low - 1]", []),
    ],
)
def test_nameless__by_hand(code, what):
    assert [text for _, text in nameless(ast.parse(code))] == what
