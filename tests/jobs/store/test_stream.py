"""Lines of files and of syslog: records are put together again, interleaved jobs told apart, what is broken is kept."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counters import NOON, NOW, OURS, T3E, job, tagged
from documents import valid
from perwiz.errors import TraceError
from perwiz.jobs import record
from perwiz.jobs.record import Record
from perwiz.jobs.store import stream
from perwiz.jobs.store.stream import Fault


def found(lines):
    lines = lines.splitlines(keepends=True) if isinstance(lines, str) else lines
    return list(stream.Reader("log", NOW).read(lines))


def one(lines):
    (only,) = found(lines)
    assert isinstance(only, Record), only
    return only


def test_forms__side_by_side():
    other = "Oct 26 12:00:00 n017 sshd[12]: Accepted publickey for alice\n"
    records = found(other + T3E + other + OURS + other + record.to_json(job()) + "\n")
    assert [type(r) for r in records] == [Record] * 3
    assert [r.program for r in records] == ["./mpi_bench2", "./heat", "./heat"]


def test_same_job__in_every_form_is_one():
    whole = one(OURS)
    line_by_line = one(tagged(OURS, 4711))
    assert line_by_line._replace(host="n017") == whole
    nameless = one(tagged(OURS, 4711, "Oct 26 12:00:09"))
    assert (nameless.host, nameless.identity()) == ("", whole.identity())
    assert whole.identity() == line_by_line.identity() == one(record.to_json(whole) + "\n").identity()


@pytest.mark.slow
@given(st.data())
def test_syslog__interleaved_jobs(data):
    # Lines of three jobs, in any order that keeps each job's own.
    queues = [tagged(OURS, pid) for pid in (11, 22, 33)]
    order = data.draw(st.permutations([k for k, lines in enumerate(queues) for _ in lines]))
    sources = [iter(lines) for lines in queues]
    records = found([next(sources[k]) for k in order])
    assert sorted(r.pid for r in records) == [11, 22, 33]
    assert all(r._replace(pid=4711) == one(OURS) for r in records)


def test_syslog__a_line_in_several_pieces():
    lines = tagged(OURS, 7)
    at = next(k for k, line in enumerate(lines) if "sizes= 0:3" in line)
    head, tail = lines[at].rstrip("\n").split(" 1:1", 1)
    prefix = lines[at].partition("]: ")[0] + "]: "
    lines[at : at + 1] = [f"{head}\\\n", f"{prefix} 1:1{tail}\n"]
    assert one(lines).more["sizes"]["isend"] == "0:3 1:1 4:62"


def test_syslog__json_in_several_pieces():
    text = record.to_json(job(7))
    parts = ["".join(part) for part in itertools.zip_longest(*[iter(text)] * 100, fillvalue="")]
    lines = [f"<14>Oct 26 12:00:01 n017 perwiz[7]: {part}{'' if part is parts[-1] else chr(92)}\n" for part in parts]
    assert one(lines) == job(7)


def test_json__back_and_forth_and_by_its_schema():
    for text in (T3E, OURS):
        line = record.to_json(one(text))
        valid(json.loads(line), "jobs_record")
        assert one(line + "\n")._replace(began=0, dated=True) == one(text)._replace(began=0, dated=True)


BROKEN = {
    "no end": (OURS.rpartition("Oct 26")[0], "log:1", "half a record: no end, must be E <4711>"),
    "no beginning": (OURS.partition("\n")[2], "log:1", "half a record, its beginning is missing"),
    "cut": (OURS[:300], "log:1", "half a record: no end, must be E <4711>"),
    "another's end": (
        OURS.replace("E <4711>", "E <4712>"),
        "log:1",
        "no end of the record, must be E <4711> of n017, but is E <4712> of n017",
    ),
    "cut in the middle": (
        "\n".join([*OURS.splitlines()[:6], OURS.splitlines()[-1], ""]),
        "log:1",
        "no line 'time * size', must be a whole record",
    ),
    "second half of syslog": ("".join(tagged(OURS, 5)[9:]), "log:1", "half a record, its beginning is missing"),
    "first half of syslog": ("".join(tagged(OURS, 5)[:9]), "log:1", "half a record: no end, must be E <5>"),
    "no processes": (OURS.replace("n = 4 ", "n = 0 "), "log:1", "0 processes, must be at least 1"),
    "negative processes": (OURS.replace("n = 4 ", "n = -4 "), "log:1", "-4 processes, must be at least 1"),
    "negative time": (OURS.replace("mpi= 2.17e+01", "mpi= -2.17e+01"), "log:1", "time of mpi is -21.7 s, must be a number from 0 to 1e+18"),
    "no number": (OURS.replace("all= 4.00e+01", "all= nan"), "log:1", "time of all is nan s, must be a number from 0 to 1e+18"),
    "negative calls": (OURS.replace(" 5.00e+00 sec", " -5.0e+00 sec"), "log:1", "time of waitall is -20, must be a number from 0 to 1e+18"),
    "the future": (
        OURS.replace("2026-10-26T14", "2036-10-26T14"),
        "log:1",
        "ended at 2036-10-26T12:00:01Z, must be before now, 2026-11-05T12:00:00Z",
    ),
    "backwards": (
        OURS.replace("init= 2026", "init= 2027"),
        "log:1",
        "finalize at 2026-10-26T12:00:01Z, before init at 2027-10-26T11:59:51Z",
    ),
    "no JSON": ('{"perwiz_record": 1, "host"\n', "log:1", "Expecting ':' delimiter: line 2 column 1 (char 28), must be JSON"),
    "JSON of others": ('{"level": "info"}\n', "log:1", 'no "perwiz_record": 1, must be a record of this version'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name):
    text, place, reason = BROKEN[name]
    assert [(f.place, f.reason) for f in found(text)] == [(place, reason)]
    assert found(text)[0].text


def test_broken__json_of_wrong_types():
    good = json.loads(record.to_json(job()))
    for key, value, reason in (
        ("size", "4", 'size is "4", must be an integer'),
        ("pid", True, "pid is true, must be an integer"),
        ("all_s", "much", 'all_s is "much", must be a number'),
        ("all_s", -1, "all_s is -1, must be a number >= 0.0"),
        ("routines", {"send": [1]}, "routines[...]: must be a list of length 5"),
        ("routines", {"send": [1, 2, "0", 4, 5]}, "routines[...][2] is a text, must be a number"),
        ("routines", {"Send": [1, 2, 3, 4, 5]}, "a key of routines: must be a text matching regex '^[a-z][a-z0-9_]{0,62}$'"),
        ("routines", [], "routines is [], must be an object"),
        ("mpi_s", 10**400, "mpi_s: Number out of range"),
        ("host", None, "host is null, must be a text"),
        ("threads", "x", 'threads is "x", must be an integer'),
    ):
        (fault,) = found(json.dumps({**good, key: value}) + "\n")
        assert fault.reason == reason
    (fault,) = found(json.dumps({**good, "flops": 1}) + "\n")
    assert fault.reason.startswith("has 'flops', must be one of perwiz_record, machine, host, pid")
    del good["size"], good["host"]
    (fault,) = found(json.dumps(good) + "\n")
    assert fault.reason == "lacks 'host', must have it"


def test_broken__the_others_are_read():
    lines = OURS.rpartition("Oct 26")[0] + OURS.replace("4711", "4712") + T3E
    assert [type(r) for r in found(lines)] == [Fault, Record, Record]


def test_unknown_routine__is_one():
    assert one(OURS.replace("barrier ", "frobnicate ")).routines["frobnicate"].calls == 4


@given(st.lists(st.sampled_from([*OURS.splitlines(keepends=True), *T3E.splitlines(keepends=True), *tagged(OURS, 3)]), max_size=60))
def test_law__any_lines_give_records_or_faults(lines):
    for each in found(lines):
        assert isinstance(each, Record) or (each.place.startswith("log:") and "must be" in each.reason + "must be")


@given(st.binary(max_size=300))
def test_law__any_bytes(noise):
    text = io.TextIOWrapper(io.BytesIO(OURS.encode()[:200] + noise + OURS.encode()[200:]), encoding="utf-8", errors="replace")
    assert len(found(text.readlines())) >= 1


def test_standard_input__pauses_are_told(monkeypatch):
    # The second job comes only after the pause has been told; without that this test would wait forever.
    monkeypatch.setattr(stream, "_PAUSE", 0.01)
    go = threading.Event()

    def lines():
        yield from OURS.splitlines(keepends=True)
        go.wait(20)
        yield from T3E.splitlines(keepends=True)

    monkeypatch.setattr("sys.stdin", lines())
    seen = []
    for each in stream.read("-", NOW):
        seen.append(type(each))
        if each is None:
            go.set()
    assert [kind for kind in seen if kind is Record] == [Record] * 2
    assert seen.index(type(None)) == 1


def test_standard_input__its_failure_is_ours(monkeypatch):
    def lines():
        yield OURS.splitlines(keepends=True)[0]
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stdin", lines())
    with pytest.raises(TraceError, match=r"^-: cannot be read: Input/output error, must be records of jobs$"):
        list(stream.read("-", NOW))


def test_files__directories_packed_and_missing(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.txt").write_text(OURS, encoding="utf-8")
    (tmp_path / "b" / ".hidden").write_text("x", encoding="utf-8")
    (tmp_path / "b" / "1.gz").write_bytes(gzip.compress(T3E.encode()))
    names = stream.files([str(tmp_path)])
    assert [name.removeprefix(str(tmp_path)) for name in names] == ["/b/1.gz", "/b/2.txt"]
    assert [r.size for name in names for r in stream.read(name, NOW)] == [4, 4]
    with pytest.raises(TraceError, match="nowhere: no such file or directory, must be records of jobs"):
        stream.files(["nowhere"])
    (tmp_path / "cut.gz").write_bytes(gzip.compress(T3E.encode())[:60])
    with pytest.raises(TraceError, match=r"cut.gz: cannot be read: .*, must be records of jobs"):
        list(stream.read(str(tmp_path / "cut.gz"), NOW))


def test_noon():
    assert record.date(NOON) == "2026-10-26T12:00:00Z"
