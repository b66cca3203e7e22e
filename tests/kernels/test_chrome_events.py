"""Events of Trace Event JSON as rows, against the naive twin and by hand."""

import json
import pathlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_chrome as naive
from perwiz.kernels import chrome, chrome_events

WORDS = st.sampled_from(["cpu_op", "kernel", "user_annotation", "aten::mm", "c10d::send", "c10d::recv_", 'a"b', "ä", "", "7", "x" * 60])
NUMBERS = st.one_of(st.integers(-5, 10**13), st.sampled_from([1.5, 4458676522690.655, 0.0004, 1e15, True, None, "12", "0x0", 2**70]))
ARGUMENTS = st.dictionaries(st.sampled_from([*chrome.KEYS[8:-3], "External id"]), NUMBERS | WORDS | st.just([[3, 4], []]), max_size=5)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "X", "X", "s", "M", ""]), "cat": WORDS, "name": WORDS},
    optional={"pid": WORDS | st.integers(0, 9), "tid": st.integers(0, 9), "ts": NUMBERS, "dur": NUMBERS, "args": ARGUMENTS, "id": NUMBERS},
)


class Reader:
    """Calls the kernel with little room, as its callers do."""

    def __init__(self, rows=4, texts=64):
        self.table = np.full(4 * texts, -1, "i4")
        self.known = np.zeros(2 * texts, chrome.TEXT).view(np.recarray)
        self.bytes = np.zeros(1 << 14, "u1")
        self.events, self.details = (np.zeros(rows, dtype).view(np.recarray) for dtype in (chrome.EVENT, chrome.DETAIL))
        self.state = np.zeros(1, chrome.STATE).view(np.recarray)
        keys = [key.encode() for key in chrome.KEYS]
        chrome_events.number(b"".join(keys), np.cumsum([len(key) for key in keys]), 7, self.table, self.known, self.bytes, self.state)
        self.found = []

    def text(self, number):
        row = self.known[number]
        return self.bytes[row.begin : row.begin + row.length].tobytes().decode() if number >= 0 else ""

    def parse(self, text, last=False):
        """Return the status, after taking what is found."""
        status = chrome.ROOM
        while status == chrome.ROOM:
            self.state.events = self.state.details = 0
            chrome_events.parse(text, last, 7, self.table, self.known, self.bytes, self.events, self.details, self.state)
            status = int(self.state.status[0])
            self.found += [self.row(k) for k in range(int(self.state.events[0]))]
            assert self.state.events[0] or status != chrome.ROOM
        return status

    def row(self, k):
        event = self.events[k]
        texts = [self.text(event[name]) for name in ("category", "name", "process", "thread")]
        told = None
        if event.detail >= 0:
            row = self.details[event.detail]
            told = {name: self.text(row[name]) if name in naive.TEXTS else int(row[name]) for name in chrome.DETAIL.names}
        return (*(int(event[name]) for name in ("time", "duration", "correlation", "bytes")), *texts, told)


def compacted(value):
    """Return a text without the space between its parts."""
    return value.replace(", ", ",").replace(",\n", ",") if isinstance(value, str) else value


@given(st.lists(EVENTS, max_size=6), st.sampled_from([(",", ":"), (", ", ": "), (",\n", " :\t")]), st.integers(0, 300))
def test_parse__twin(events, separators, cut):
    """Read in two pieces, the second from where the first had to stop."""
    reader = Reader()
    text = json.dumps(events, separators=separators)[1:].encode()
    compact = [json.loads(json.dumps(one)) for one in events]
    assert reader.parse(text[:cut]) in (chrome.MORE, chrome.DONE)
    if reader.state.status[0] == chrome.MORE:
        rest = text[int(reader.state.at[0]) :]
        reader.state.at = 0
        assert reader.parse(rest, last=True) == chrome.DONE
    found = [(*row[:8], row[8] and {name: compacted(value) for name, value in row[8].items()}) for row in reader.found]
    expected, bad = naive.events(compact, "user_annotation")
    assert found == expected
    assert (reader.state.records[0], reader.state.bad[0]) == (len(events), bad)


@pytest.mark.parametrize(
    ("struct", "dtype"),
    [("Event", chrome.EVENT), ("Detail", chrome.DETAIL), ("Text", chrome.TEXT), ("State", chrome.STATE)],
)
def test_structs(struct, dtype):
    """The structs of the kernel have the fields of the dtypes, in order."""
    source = pathlib.Path(chrome_events.__file__).with_suffix("").with_suffix("").with_suffix(".py").read_text(encoding="utf-8")
    fields = re.search(rf"(?s)^{struct} = cython\.struct\((.*?)\)", source, re.MULTILINE)[1]
    kinds = {"I8": "i8", "I4": "i4"}
    assert [(name, np.dtype(kinds[kind])) for name, kind in re.findall(r"(\w+)=(\w+)", fields)] == [
        (name, dtype[name]) for name in dtype.names
    ]


def times(ts, dur="1"):
    """Return the times of an event with these numbers, none if it is no good."""
    reader = Reader()
    reader.parse(f'{{"ph":"X","name":"a","ts":{ts},"dur":{dur}}}]'.encode(), True)
    return [row[:2] for row in reader.found]


@pytest.mark.parametrize(
    ("ts", "ns"),
    [
        ("1e3", 10**6),
        ("1.5E-3", 1),
        ("-2.25", -2250),
        ("12.3456", 12345),
        ("25e+1", 250_000),
        ("1e99", None),
        ("1e-99", 0),
        ("1e", None),
        ("1e1x", None),
        ("1e+-", None),
        ("1e100", None),
        ("1x", None),
        ("-", None),
        (".", None),
        ("9" * 25, None),
        ("1.2.3", None),
    ],
)
def test_times(ts, ns):
    """Microseconds as nanoseconds, what is less left off; beyond 2 ** 61 ns and what is no number is not read."""
    assert times(ts) == ([] if ns is None else [(ns, 1000)])


def test_parse__damaged():
    """What is no field ends its object, that is bad; what is no object ends the list."""
    reader = Reader()
    damaged = [b'{"ph":"X" 7:1}', b'{"ph"}', b'{"ph":}', b'{"ph":"X","args":{1}}', b'{"a":"b"}', b"{}", b'{"ph":"X","args":{"b":2,"c":}}']
    text = b",".join([*damaged, b'{"ph":"X","name":"n","ts":1,"dur":-1}', b'{"ph":"i"}', b"7"])
    assert reader.parse(text) == chrome.BROKEN
    assert (reader.found, reader.state.records[0], reader.state.bad[0]) == ([], 9, 8)


@pytest.mark.parametrize("text", [b'{"ph":"X"', b'{"ph":"X', b'{"a\\', b'{"a":[{"b":"', b'{"a":{"b":1}', b"  "])
def test_parse__cut(text):
    """What is cut is left where it stands, and is bad if nothing more comes."""
    reader = Reader()
    assert reader.parse(text) == chrome.MORE
    assert (reader.state.at[0], reader.state.bad[0]) == (2 if text == b"  " else 0, 0)
    reader.parse(text, last=True)
    assert reader.state.bad[0] == (text != b"  ")


def test_parse__many_and_long_texts():
    """A text that is too long has no number, nor has one where there is no room for more: an event without a name is bad."""
    reader = Reader()
    long = "x" * (chrome.LONGEST_TEXT + 1)
    reader.bytes = np.append(reader.bytes, np.zeros(4 * chrome.LONGEST_TEXT, "u1"))
    reader.known = reader.known[: len(chrome.KEYS) + 2]
    names = ",".join(f'"name":"{k}"' for k in range(9))
    text = f'{{"ph":"X","name":"{long}","ts":1,"dur":1}},{{"ph":"X",{names},"ts":1,"dur":1}}]'
    events, details = reader.events, reader.details
    chrome_events.parse(text.encode(), True, 7, reader.table, reader.known, reader.bytes, events, details, reader.state)
    assert (reader.state.status[0], reader.state.bad[0], reader.state.texts[0]) == (chrome.DONE, 2, len(chrome.KEYS) + 2)


def test_parse__all_that_communication_tells():
    """Each argument goes to its field; values that are none are -1."""
    told = {key: k + 1 for k, key in enumerate(naive.DETAILS)}
    reader = Reader(rows=1)
    event = {"ph": "X", "cat": "user_annotation", "name": "c10d::send", "ts": 1, "dur": 1}
    event["args"] = {**told, "Input Dims": [[2]], "Concrete Inputs": ["", "1"], "Seq": -3}
    text = json.dumps([{**event, "args": {}}, event, event])[1:].encode()
    assert reader.parse(text) == chrome.DONE
    fields = {field: str(told[key]) if field in naive.TEXTS else told[key] for key, field in naive.DETAILS.items()}
    assert [row[8] for row in reader.found] == [None, *[{**fields, "shapes": "[[2]]", "inputs": '["", "1"]', "sequence": -1}] * 2]


def test_spread():
    """Numbers are found again in a larger table."""
    reader = Reader()
    assert reader.parse(b'{"ph":"X","name":"one","ts":1,"dur":1}') == chrome.MORE
    reader.table = np.full(128, -1, "i4")
    chrome_events.spread(reader.known[: int(reader.state.texts[0])], reader.table)
    before, reader.state.at = int(reader.state.texts[0]), 0
    reader.parse(b'{"ph":"X","name":"one","ts":2,"dur":1}')
    assert int(reader.state.texts[0]) == before
    assert [row[5] for row in reader.found] == ["one", "one"]
