"""A log of predictions and what was measured: ranges as wide as it asks for, by hand; and what is no log."""

from __future__ import annotations

import json

import pytest

from perwiz.errors import UsageError
from perwiz.whatif.sure.logged import Pair, Widened, append, pairs, widened
from perwiz.whatif.sure.noise import Around
from perwiz.whatif.sure.span import Span


def pair(measured, least=990, most=1010):
    return Pair("a", "b", ("balance-time all",), 1000, measured, least, most)


def span(least=1900, most=2100):
    return Span(least, most, Around(100, 100), None, (), ())


def test_twenty_pairs():
    """0 to 19 of 1000 above the range: nine of ten of these and one more miss by no more than the 19th of them, 18 of 1000, 36 of 2000."""
    found, log = widened(span(), [pair(1010 + miss) for miss in range(20)], 2000)
    assert (found.least, found.most) == (1864, 2136)
    assert log == Widened(20, 1, 0.018)


def test_below_the_range():
    found, _ = widened(span(), [pair(990 - miss) for miss in range(20)], 1000)
    assert (found.least, found.most) == (1882, 2118)


def test_no_narrower_than_before():
    """All were measured well inside: nothing is taken away."""
    found, log = widened(span(), [pair(1000)] * 30, 2000)
    assert (found, log) == (span(), Widened(30, 30, 0.0))


def test_too_few():
    found, log = widened(span(), [pair(2000)] * 19, 2000)
    assert (found, log) == (span(), Widened(19, 0, 0.0))


def test_never_below_nothing():
    assert widened(span(10, 30), [pair(2000)] * 20, 1000)[0].least == 0


def test_written_and_read(tmp_path):
    path = str(tmp_path / "log.jsonl")
    for measured in (1000, 1020):
        append(path, pair(measured))
    assert pairs(path) == [pair(1000), pair(1020)]
    assert [round(one.missed, 3) for one in pairs(path)] == [-0.01, 0.01]


def test_empty_lines_are_none(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n")
    append(str(path), pair(1000))
    assert pairs(str(path)) == [pair(1000)]


BROKEN = {
    "words": (b"not json\n", "line 1: no JSON, must be as perwiz compare --log writes it"),
    "cut": (b'{"trace": "a"', "line 1: no JSON, must be as perwiz compare --log writes it"),
    "other": (b'{"trace": "a"}', "line 1: lacks 'measured_trace', must have it"),
    "text": (b"\xff\n", "line 1: no JSON, must be as perwiz compare --log writes it"),
    "list": (b"[]\n", "line 1: is [], must be an object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_refusals(tmp_path, name):
    path = tmp_path / "log.jsonl"
    path.write_bytes(BROKEN[name][0])
    with pytest.raises(UsageError) as error:
        pairs(str(path))
    assert str(error.value) == f"{path}: {BROKEN[name][1]}"
    with pytest.raises(UsageError):
        append(str(path), pair(1000))
    assert path.read_bytes() == BROKEN[name][0]


@pytest.mark.parametrize("change", [{"predicted_ns": 0}, {"least_ns": 1001}, {"most_ns": 999}, {"measured_ns": -1}, {"least_ns": -1}])
def test_times_that_cannot_be(tmp_path, change):
    path = tmp_path / "log.jsonl"
    append(str(path), pair(1000))
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        pairs(str(path))
    told = "line 1: times must be 0 <= least_ns <= predicted_ns <= most_ns, predicted_ns and measured_ns no less than 1 and 0"
    assert str(error.value) == f"{path}: {told}"


def test_no_file(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: no such file or directory"):
        pairs(str(tmp_path / "none"))
    with pytest.raises(UsageError, match="cannot be written: no such file or directory"):
        append(str(tmp_path / "no" / "log"), pair(1000))


def test_too_large(tmp_path):
    path = tmp_path / "log"
    with open(path, "wb") as file:
        file.truncate((1 << 24) + 1)
    with pytest.raises(UsageError, match="has 16777217 bytes, must be a log of at most 16777216"):
        pairs(str(path))
