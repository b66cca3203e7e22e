"""The kernel that writes OTF2 events: what reaches the library's functions, and where records between region boundaries lie."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_otf2_write as naive
from perwiz.formats.otf2.library import events as row
from perwiz.kernels import otf2_write as kernel
from perwiz.kernels import records

WRITER, REFUSED = 4711, 3
POINTERS = (row.BYTES, row.NUMBERS, row.BITS)


class Library:
    """The functions of a library that notes what it is called with, and refuses calls at one time."""

    def __init__(self, refused=-1):
        self.calls = []
        self.keep = [self.function(name, refused) for name in row.COMPILED]
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in self.keep]
        self.functions = np.array(addresses, "u8") if kernel.COMPILED else [*map(interpreted, row.COMPILED, addresses)]

    def function(self, name, refused):
        types = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, *row.EVENTS[name].values()]

        def write(writer, attributes, time, *arguments):
            if time == refused:
                return REFUSED
            values = [
                (argument[:1] if argument else []) if kind in POINTERS else argument
                for argument, kind in zip(arguments, types[3:], strict=True)
            ]
            self.calls.append((writer, attributes, time, name, values))
            return 0

        return ctypes.CFUNCTYPE(ctypes.c_int, *types)(write)


def interpreted(name, address):
    """Return the function at an address as one that takes addresses for pointers."""
    types = [ctypes.c_void_p if kind in POINTERS else kind for kind in row.EVENTS[name].values()]
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, *types)(address)


def events(cells):
    """Return rows of (kind, time, what it says)."""
    columns = np.array(cells, "i8").reshape(-1, 8).T
    rows = np.zeros(columns.shape[1], records.RECORD).view(np.recarray)
    for name, column in zip(("kind", "time", *records.ARGUMENTS), columns, strict=True):
        rows[name] = column
    return rows


def write(library, cells, begin=0):
    """Return where writing stopped, and the code."""
    rows, code = events(cells), np.zeros(1, "i4")
    done = kernel.events(library.functions, WRITER, rows, begin, rows.ctypes.data, code)
    return done, int(code[0])


def expected(cells):
    """Return the call that a row must become, its arguments as C makes them."""
    record = dict(zip(("kind", "time", *records.ARGUMENTS), cells, strict=True))
    name, values = naive.arguments(record)
    types = row.EVENTS[name].values()
    narrow = [
        [item % 256 if kind is row.BYTES else item % (1 << 64) for item in value] if kind in POINTERS else kind(value).value
        for value, kind in zip(values, types, strict=True)
    ]
    return WRITER, None, record["time"], name, narrow


@pytest.mark.parametrize("kind", row.COMPILED.values())
@pytest.mark.parametrize("values", [(1, 2, 3, 4, 5, 6), (-1, -1, -1, -1, -1, -1), (255, 2**31, 2**31 - 1, 2**63 - 1, 2**62, -(2**63))])
def test_events__every_kind(kind, values):
    library, cells = Library(), [kind, 2**62, *values]
    assert write(library, cells) == (1, 0)
    assert library.calls == [expected(cells)]


def test_events__in_order_from_where_asked():
    cells = [[kind, time, *range(10 * kind, 10 * kind + 6)] for time, kind in enumerate([0, 2, 14, 14, 1, 6, 7, 20])]
    library = Library()
    assert write(library, cells, begin=2) == (8, 0)
    assert library.calls == [expected(line) for line in cells[2:]]


def test_events__stop_at_a_kind_without_function():
    library = Library()
    assert write(library, [[0, 1] + [0] * 6, [records.OTHER_KIND, 2] + [0] * 6, [1, 3] + [0] * 6]) == (1, 0)
    assert len(library.calls) == 1
    assert write(library, [[0, 1] + [0] * 6, [records.OTHER_KIND, 2] + [0] * 6, [1, 3] + [0] * 6], begin=2) == (3, 0)


def test_events__stop_where_the_library_refuses():
    library = Library(refused=2)
    assert write(library, [[0, 1] + [0] * 6, [0, 2] + [0] * 6, [0, 3] + [0] * 6]) == (1, REFUSED)
    assert len(library.calls) == 1


@st.composite
def boundaries(draw):
    """Draw region boundaries in order, the gap of each, and the parents: regions may overlap, and all end."""
    region, leaves, parent, open_ = [], [], [], []
    for step in draw(st.lists(st.integers(0, 4), max_size=12)):
        if step < 2 or not open_:
            parent.append(open_[-1] if open_ else -1)
            open_.append(len(parent) - 1)
            region.append(open_[-1])
            leaves.append(0)
        else:
            region.append(open_.pop(-1 if step < 4 else draw(st.integers(0, len(open_) - 1))))
            leaves.append(1)
    region += open_[::-1]
    leaves += [1] * len(open_)
    gap = np.cumsum(draw(st.lists(st.integers(0, 1), min_size=len(region), max_size=len(region))))
    return region, leaves, parent, gap.tolist()


def innermost(region, leaves, parent):
    out = np.empty(len(region), "i4")
    kernel.innermost(np.array(region, "i4"), np.array(leaves, "u1"), np.array(parent, "i4"), np.zeros(len(parent), "u1"), out)
    return out.tolist()


@given(boundaries())
def test_innermost__as_the_twin(drawn):
    region, leaves, parent, _ = drawn
    assert innermost(region, leaves, parent) == naive.innermost(region, leaves, parent)


@given(boundaries(), st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 6)), max_size=8))
def test_place__as_the_twin(drawn, items):
    region, leaves, parent, gap = drawn
    items.sort(key=lambda item: item[0])
    inner = innermost(region, leaves, parent)
    wanted, inside = [item[0] for item in items], [item[1] for item in items]
    out = np.empty(len(items), "i8")
    kernel.place(np.array(gap, "i8"), np.array(inner, "i4"), np.array(wanted, "i8"), np.array(inside, "i8").astype("i4"), out)
    assert out.tolist() == naive.place(gap, inner, wanted, inside)


def test_place__by_hand():
    """Two parameters in `a`, one before and one behind its child `b`, one outside."""
    inner = innermost([0, 1, 1, 0], [0, 0, 1, 1], [-1, 0])
    out = np.empty(4, "i8")
    kernel.place(np.zeros(4, "i8"), np.array(inner, "i4"), np.zeros(4, "i8"), np.array([0, 1, 0, -1], "i4"), out)
    assert (inner, out.tolist()) == ([0, 1, 0, -1], [0, 1, 2, 3])
