"""What the callbacks write into rows, called as the OTF2 library calls them."""

import ctypes

import numpy as np
import pytest

from perwiz.formats.otf2.library import events as row
from perwiz.kernels import otf2_records

WORDS = {name: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name) for name in row.COMPILED}
ADDRESSES = dict(zip(row.COMPILED, otf2_records.addresses(), strict=False))
PREFIX = [ctypes.c_uint64] * 3 + [ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p]
NONE, BIG = 0xFFFFFFFF, (1 << 64) - 1
BYTES, NUMBERS, BITS = (ctypes.c_uint8 * 2)(4, 10), (ctypes.c_uint32 * 1)(5), (ctypes.c_uint64 * 2)(BIG, 3)
CASES = [
    ("Enter", [3], [3, 0, 0, 0, 0, 0]),
    ("Enter", [NONE], [-1, 0, 0, 0, 0, 0]),
    ("Leave", [NONE - 1], [NONE - 1, 0, 0, 0, 0, 0]),
    ("MpiSend", [1, 2, 3, 4], [1, 2, 3, 4, 0, 0]),
    ("MpiSend", [NONE, NONE, -1, BIG], [-1, -1, -1, -1, 0, 0]),
    ("MpiIsend", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]),
    ("MpiIsendComplete", [BIG - 1], [0, 0, 0, 0, -2, 0]),
    ("MpiIrecvRequest", [6], [0, 0, 0, 0, 6, 0]),
    ("MpiRecv", [1, 2, -5, 4], [1, 2, -5, 4, 0, 0]),
    ("MpiIrecv", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]),
    ("MpiRequestTest", [7], [0, 0, 0, 0, 7, 0]),
    ("MpiRequestCancelled", [8], [0, 0, 0, 0, 8, 0]),
    ("MpiCollectiveBegin", [], [0, 0, 0, 0, 0, 0]),
    ("MpiCollectiveEnd", [11, 2, -3, 8, 9], [11, 2, -3, 8, 0, 9]),
    ("NonBlockingCollectiveRequest", [9], [0, 0, 0, 0, 9, 0]),
    ("NonBlockingCollectiveComplete", [255, NONE, -1, 8, 9, 10], [255, -1, -1, 8, 10, 9]),
    ("ParameterInt", [1, -2], [1, 0, 0, -2, 0, 0]),
    ("ParameterUnsignedInt", [1, BIG], [1, 0, 0, -1, 0, 0]),
    ("ParameterString", [1, NONE], [1, 0, 0, -1, 0, 0]),
    ("CommCreate", [4], [0, 4, 0, 0, 0, 0]),
    ("CommDestroy", [NONE], [0, -1, 0, 0, 0, 0]),
    ("ProgramBegin", [4, 1, NUMBERS], [4, 0, 0, 0, 0, 0]),
    ("ProgramEnd", [-1], [-1, 0, 0, 0, 0, 0]),
    ("MeasurementOnOff", [2], [2, 0, 0, 0, 0, 0]),
    ("BufferFlush", [77], [0, 0, 0, 77, 0, 0]),
]
"""Record, arguments, columns A to F."""


def call(cells, name, *arguments, time=50):
    """Call a callback and return what it returns."""
    types = ctypes.CFUNCTYPE(ctypes.c_int, *PREFIX, *row.EVENTS[name].values())
    function = types(ADDRESSES[name]) if ADDRESSES else types(getattr(otf2_records, WORDS[name]))
    return function(1, time, 2, cells.ctypes.data_as(PREFIX[3]), None, *arguments)


def room(rows, fewest=0):
    """Return the array that callbacks fill, with space for so many rows and a guard behind them."""
    cells = np.full(18 + 10 * (rows + 1), 99, "i8")
    cells[:4] = 0, rows, 0, fewest
    return cells


def filled(cells):
    return cells[18:].reshape(-1, 10)[: cells[0], :8].tolist()


def test_every_kind_has_its_case():
    assert {name for name, *_ in CASES} | {"Metric"} == set(row.COMPILED)
    assert list(row.COMPILED.values()) == list(range(24))
    assert len(ADDRESSES) in {0, 24}


@pytest.mark.parametrize(("name", "arguments", "fields"), CASES)
def test_row(name, arguments, fields):
    cells = room(2)
    assert call(cells, name, *arguments) == 0
    assert call(cells, name, *arguments, time=BIG - 1) == 0
    assert filled(cells) == [[row.COMPILED[name], 50, *fields], [row.COMPILED[name], -2, *fields]]
    assert cells[:4].tolist() == [2, 2, 0, 0]
    assert cells[-10:].tolist() == [99] * 10


def test_metric__one_row_per_value():
    cells = room(2)
    call(cells, "Metric", 6, 2, BYTES, BITS)
    assert filled(cells) == [[row.METRIC, 50, 6, 0, 4, -1, 0, 0], [row.METRIC, 50, 6, 1, 10, 3, 0, 0]]


def test_metric__none():
    cells = room(1)
    assert call(cells, "Metric", 6, 0, None, None) == 0
    assert cells[0] == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_full__counts_what_has_no_place(rows):
    cells = room(rows)
    call(cells, "Metric", 6, 2, BYTES, BITS)
    assert cells[:3].tolist() == [rows, rows, 2 - rows]
    assert cells[-10:].tolist() == [99] * 10


def test_full__stops_when_few_rows_are_free():
    cells = room(10, fewest=8)
    assert [call(cells, "Enter", 1) for _ in range(4)] == [0, 0, 1, 1]
