"""What the callbacks write into rows, called as the OTF2 library calls them."""

import ctypes

import numpy as np
import pytest

from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.buffer import User
from perwiz.kernels import otf2_records, records

WORDS = {name: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name) for name in row.CALLBACKS}
ADDRESSES = dict(zip(row.CALLBACKS, otf2_records.addresses(), strict=False))
PREFIX = [*[ctypes.c_uint64] * 3, ctypes.POINTER(User), ctypes.c_void_p]
COLUMNS = ["kind", "time", *records.ARGUMENTS]
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
    ("BufferFlush", [77], [77, 0, 0, 0, 0, 0]),
    ("RmaPut", [1, NONE, BIG, 4], [1, NONE, -1, 4, 0, 0]),
    ("RmaGet", [NONE, 2, 3, 4], [-1, 2, 3, 4, 0, 0]),
    ("RmaOpCompleteBlocking", [1, 2], [1, 2, 0, 0, 0, 0]),
    ("RmaOpCompleteNonBlocking", [NONE, BIG], [-1, -1, 0, 0, 0, 0]),
    ("ThreadFork", [3, 4], [3, 4, 0, 0, 0, 0]),
    ("ThreadJoin", [3], [3, 0, 0, 0, 0, 0]),
    ("ThreadTeamBegin", [NONE], [-1, 0, 0, 0, 0, 0]),
    ("ThreadTeamEnd", [5], [5, 0, 0, 0, 0, 0]),
    ("ThreadAcquireLock", [7, NONE, 2], [7, NONE, 2, 0, 0, 0]),
    ("ThreadReleaseLock", [3, 1, NONE], [3, 1, NONE, 0, 0, 0]),
    ("ThreadTaskCreate", [1, 2, 3], [1, 2, 3, 0, 0, 0]),
    ("ThreadTaskSwitch", [NONE, 2, 3], [-1, 2, 3, 0, 0, 0]),
    ("ThreadTaskComplete", [1, 2, NONE], [1, 2, NONE, 0, 0, 0]),
    ("ThreadCreate", [1, 2], [1, 2, 0, 0, 0, 0]),
    ("ThreadBegin", [NONE, 2], [-1, 2, 0, 0, 0, 0]),
    ("ThreadWait", [1, BIG], [1, -1, 0, 0, 0, 0]),
    ("ThreadEnd", [1, 0], [1, 0, 0, 0, 0, 0]),
]
"""Record, arguments, what its row says."""


class Room:
    """Space for so many rows, behind a spare one and before one that must stay as it is."""

    def __init__(self, rows, fewest=0):
        self.rows = np.full(rows + 2, np.array(99, "i8").astype(records.RECORD))
        self.user = User.of(self.rows[:-1], fewest)

    def call(self, name, *arguments, time=50):
        """Call a callback and return what it returns."""
        types = ctypes.CFUNCTYPE(ctypes.c_int, *PREFIX, *row.EVENTS[name].values())
        function = types(ADDRESSES[name]) if ADDRESSES else types(getattr(otf2_records, WORDS[name]))
        return function(1, time, 2, self.user, None, *arguments)

    def filled(self):
        assert {*self.rows[-1].tolist()} == {99}
        return [list(line) for line in self.rows[COLUMNS][1 : 1 + self.user.used].tolist()]

    def counts(self):
        return self.user.used, self.user.room, self.user.dropped


def test_every_kind_has_its_case():
    assert {name for name, *_ in CASES} | {"Metric"} == set(row.CALLBACKS)
    assert list(row.COMPILED.values()) == list(range(24))
    assert len(ADDRESSES) in {0, len(row.CALLBACKS)}


@pytest.mark.parametrize(("name", "arguments", "fields"), CASES)
def test_row(name, arguments, fields):
    room = Room(2)
    assert room.call(name, *arguments) == 0
    assert room.call(name, *arguments, time=BIG - 1) == 0
    kind = row.COMPILED[name] if name in row.COMPILED else records.OTHER_KIND + row.OTHERS.index(name)
    assert room.filled() == [[kind, 50, *fields], [kind, -2, *fields]]
    assert room.counts() == (2, 2, 0)


def test_attributes__a_row_each_behind_the_record():
    """Attributes 7 and 8, and one between them that the library cannot give; without its functions there are no rows."""
    told = [(7, 1 << 40), None, (8, 5)]

    def get(notes, number, attribute, kind, value):
        if told[number]:
            attribute[0], value[0] = told[number]
        return not told[number]

    room = Room(7)
    attribute, kind, value = ctypes.c_uint32(), ctypes.c_uint8(), ctypes.c_uint64(99)
    fields = dict(User._fields_)
    room.user.count, room.user.get = fields["count"](lambda notes: len(told)), fields["get"](get)
    room.user.attribute, room.user.type, room.user.value = map(ctypes.pointer, (attribute, kind, value))
    room.call("Enter", 3)
    room.call("MpiIsendComplete", 4)
    room.call("Leave", 3, time=60)
    rows = [[records.ATTRIBUTE, 50, 7, 0, 0, 1 << 40, 0, 0], [records.ATTRIBUTE, 50, 8, 0, 0, 5, 0, 0]]
    assert room.filled()[:3] == [[records.ENTER, 50, 3, 0, 0, 0, 0, 0], *rows]
    assert [line[0] for line in room.filled()[3:]] == [records.ISEND_COMPLETE, records.LEAVE, records.ATTRIBUTE, records.ATTRIBUTE]


def test_metric__one_row_per_value():
    room = Room(2)
    room.call("Metric", 6, 2, BYTES, BITS)
    assert room.filled() == [[records.METRIC, 50, 6, 0, 4, -1, 0, 0], [records.METRIC, 50, 6, 1, 10, 3, 0, 0]]


def test_metric__none():
    room = Room(1)
    assert room.call("Metric", 6, 0, None, None) == 0
    assert room.filled() == []


@pytest.mark.parametrize("rows", [0, 1])
def test_full__counts_what_has_no_place(rows):
    room = Room(rows)
    room.call("Metric", 6, 2, BYTES, BITS)
    assert room.counts() == (rows, rows, 2 - rows)
    assert len(room.filled()) == rows


def test_full__stops_when_few_rows_are_free():
    room = Room(10, fewest=8)
    assert [room.call("Enter", 1) for _ in range(4)] == [0, 0, 1, 1]
