"""What is said of files that perwiz does not read, each with its full message."""

import bz2
import contextlib
import gzip
import io
import lzma
import pathlib
import sqlite3
import tarfile
import zipfile

import pytest

import perwiz
from perwiz.errors import TraceError

MUST = (
    "must be a trace: ALOG, CLOG-2, Chakra, DUMPI, GOAL, OTF2, Paraver, PyTorch profiler, liballprof, perwiz store, recorded run, "
    "table of operations or time-independent trace (perwiz info --help)"
)
RECORD = f"which perwiz does not read: {MUST}"
CUBE = "a Cube file, which holds sums and no trace: see perwiz cube show"


def tar(*names):
    """Return a tar archive of empty files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return out.getvalue()


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("run.alog", "")
    return out.getvalue()


def database():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table x (y)")
        return connection.serialize()


FILES = [
    ("run.alog.Z", b"\x1f\x9d\x90abc", "packed by compress, must be unpacked by gzip -d"),
    ("run.alog.bz2", bz2.compress(b"1 0 0 0 0 0\n"), "packed by bzip2, must be unpacked by bunzip2"),
    ("run.alog.xz", lzma.compress(b"1 0 0 0 0 0\n"), "packed by xz, must be unpacked by unxz"),
    ("run.zip", zipped(), "a zip archive, must be unpacked by unzip"),
    ("run.tar", tar("run.alog"), "a tar archive, must be unpacked by tar xf"),
    ("profile.cubex", tar("anchor.xml"), CUBE),
    ("profile", tar("remapping.spec", "0.data"), CUBE),
    ("profile.cube", b"<?xml version='1.0'?><cube version='3.0'>", CUBE),
    ("0.evt", b"\x03B\x01\0\0\0", "a part of an OTF2 archive, must be its anchor file (.otf2)"),
    ("cpi.clog", b"\0\0\0\0\0\0\0\0\0\0\0\6", "a CLOG log of MPICH 1, must be ALOG: clog2alog of MPICH 1 converts it"),
    (
        "cpi.slog2",
        b"\0\nSLOG 2.0.6\0\2",
        "a SLOG-2 file of Jumpshot, which holds what is drawn: must be the CLOG-2 log (.clog2) it was made of",
    ),
    ("cpi.slog", b"SLOG", f"a SLOG file of Jumpshot, {RECORD}"),
    ("dumpi.meta", b"hostname=n0\nfileprefix=dumpi\n", "the list of a DUMPI trace, must say numprocs and fileprefix, and be a file"),
    ("run.pcf", b"DEFAULT_OPTIONS\n\nLEVEL               THREAD\n", "a part of a Paraver trace, must be its records (.prv)"),
    ("run.row", b"LEVEL CPU SIZE 4\n1.n\n", "a part of a Paraver trace, must be its records (.prv)"),
    ("run.dim", b'#DIMEMAS:"run":1:2(1,1),0\n', f"a Dimemas trace, {RECORD}"),
    ("worker.json", b'{\n "schemaVersion": 1,\n "deviceProperties": [', "ends in the middle, must be a trace of the PyTorch profiler"),
    ("run.json", b'{"displayTimeUnit": "ns", "traceEvents": [', "Trace Event JSON, which is for viewers: must be the trace it was made of"),
    ("events.json", b'[{"name": "a", "ph": "X", "ts": 1}]', "Trace Event JSON, which is for viewers: must be the trace it was made of"),
    ("meta.db", b"HPCTOOLKITmeta\4\0", f"an HPCToolkit database, {RECORD}"),
    ("report.nsys-rep", b"\x01\x02\0", f"an Nsight Systems report, {RECORD}"),
    ("report.sqlite", database(), f"an SQLite database, no trace: {MUST}"),
    ("tautrace.0.0.0.trc", b"\x01\0\0", "a TAU trace, must be merged by tau_merge and converted by tau2otf2"),
    ("events.0.edf", b"# FunctionId Group\n", "a TAU trace, must be merged by tau_merge and converted by tau2otf2"),
    ("run.otf", b"00000001:1\n", f"a trace in OTF of version 1, {RECORD}"),
    ("run.0.def.z", b"x\x9c\0", f"a trace in OTF of version 1, {RECORD}"),
    ("run.vtf", b"VTF\n", f"a Vampir trace in VTF, {RECORD}"),
    ("a.dat", b"\0\1\2", f"binary data, {MUST}"),
]


def said(path):
    """Return what reading a path is refused with, its folder left out."""
    with pytest.raises(TraceError) as refused:
        perwiz.read(str(path))
    return str(refused.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=[name for name, *_ in FILES])
def test_file(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert said(tmp_path / name) == f"{name}: {message}"


def test_anchor__what_is_none(tmp_path):
    (tmp_path / "run.otf2").write_bytes(tar("anchor.xml"))
    assert said(tmp_path / "run.otf2") == f"run.otf2: {CUBE}"


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ({"profile.cubex": tar("anchor.xml"), "scorep.cfg": b""}, f"whose profile.cubex is {CUBE}"),
        ({"meta.db": b"HPCTOOLKITmeta", "src": None}, f"whose meta.db is an HPCToolkit database, {RECORD}"),
        ({"0.def": b"\x03B\1\0", "0.evt": b"\x03B\1\0"}, "whose 0.def is a part of an OTF2 archive, must be its anchor file (.otf2)"),
        (
            {"old.zip": zipped(), "notes": b"hello"},
            "must be a trace file, or hold an OTF2 archive, a recorded run, a DUMPI trace or a time-independent trace",
        ),
        ({"r1/run.json": b"", "x.alog": b""}, "with 1 inside that holds a run, r1: must be one of these"),
        (
            {"1.alog": b"", "2.alog.gz": b"", "3.log": b""},
            "with 3 files named like ALOG, 1.alog and 2.alog.gz among them: must be one of these",
        ),
        (
            {"r1/run.json": b"", "r2/traces.otf2": b"", "r3/run.json": b""},
            "with 3 inside that hold runs, r1, r2 and r3: must be one of these",
        ),
        (
            {"r1/run.json": b"", "r2/run.json": b"", "stray.otf2": b"\0\1"},
            "with 2 inside that hold runs, r1 and r2: must be one of these",
        ),
        (
            {f"r{k}/run.json": b"" for k in range(10, 20)},
            "with 10 inside that hold runs, r10, r11, r12, r13, r14, r15, r16, r17 and 2 more: must be one of these",
        ),
        (
            {"job/rank0.json": b'{"schemaVersion": 1, "traceEvents": []}', "r1/run.json": b""},
            "with 2 inside that hold runs, job and r1: must be one of these",
        ),
    ],
)
def test_directory(inside, message, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, content in inside.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).mkdir() if content is None else (folder / name).write_bytes(content)
    assert said(folder) == f"runs: a directory, {message}"


@pytest.mark.parametrize("name", ["run.alog.gz", "run.log", "inner/run.alog"])
def test_directory__of_one_trace(name, tmp_path):
    """It is that trace, whatever else lies beside it, which is what errors name; of directories only the first is looked into."""
    trace = tmp_path / "runs" / name
    trace.parent.mkdir(parents=True)
    trace.with_name("notes").write_bytes(b"hello")
    trace.write_bytes(b"no trace")
    folder = tmp_path / "runs"
    if name.startswith("inner"):
        assert said(folder).startswith("runs: a directory, must be a trace file")
    else:
        assert said(folder).startswith(f"runs/{name}: ")
        source = tmp_path / "whole.alog"
        source.write_bytes((pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog").read_bytes())
        trace.write_bytes(gzip.compress(source.read_bytes()) if name.endswith("gz") else source.read_bytes())
        assert perwiz.read(str(folder)).path == str(trace)
