"""What perwiz does not read, told by how it begins or by its name, and what to do with it: a list in the order it is looked through."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from perwiz.formats.format import readable

_MUST = "must be one that is read"
_RECORD = "which perwiz does not read: must be one that is read"
"""What stands for the formats that are read, whose names `refusal` puts there."""
_UNPACK = {how: f"must be unpacked by {how}" for how in ("gzip -d", "bunzip2", "unxz", "unzip", "tar xf")}
_HEAD, _MOST = 4096, 100
"""Bytes of a file and files of a directory that are looked at."""
ALOG_NAMED = re.compile(r"\.a?log(\.gz|\.zst)?$")
"""How files of ALOG are named that stand in a directory."""


class Foreign(NamedTuple):
    """A kind of files: what begins like it, and is named like it where only the name tells."""

    name: str
    advice: str = _MUST
    begins: bytes = b""
    """Regular expression for the first bytes."""
    named: str = ""
    """Regular expression for the end of the name."""

    def is_it(self, head: bytes, path: str) -> bool:
        """Return whether a file that begins with `head` is of this kind."""
        return bool(re.match(self.begins, head) and re.search(f"({self.named})$", path))


FOREIGN = (
    Foreign("packed by compress", _UNPACK["gzip -d"], rb"\x1f\x9d"),
    Foreign("packed by bzip2", _UNPACK["bunzip2"], rb"BZh[1-9]"),
    Foreign("packed by xz", _UNPACK["unxz"], rb"\xfd7zXZ\0"),
    Foreign("a zip archive", _UNPACK["unzip"], rb"PK\x03\x04"),
    Foreign("a Cube file", "which holds sums and no trace: see perwiz cube show", rb"(anchor\.xml|remapping\.spec|\d+\.(data|index))\0"),
    Foreign("a Cube file", "which holds sums and no trace: see perwiz cube show", named=r"\.cubex?"),
    Foreign("a tar archive", _UNPACK["tar xf"], rb"(?s).{257}ustar"),
    Foreign("a part of an OTF2 archive", "must be its anchor file (.otf2)", rb"\x03B(?!OTF2)"),
    Foreign("a CLOG-2 log of MPE2", "must be a file: from standard input only ALOG is read", rb"CLOG-"),
    Foreign("a CLOG log of MPICH 1", "must be ALOG: clog2alog of MPICH 1 converts it", named=r"\.clog"),
    Foreign("a SLOG-2 file of Jumpshot", "which holds what is drawn: must be the CLOG-2 log (.clog2) it was made of", rb"(?s)\0.SLOG 2"),
    Foreign("a SLOG file of Jumpshot", _RECORD, rb"SLOG"),
    Foreign("a DUMPI trace", "must be named as a file: from standard input only ALOG is read", rb"\xff\xaa\xddDUMPI"),
    Foreign("the list of a DUMPI trace", "must say numprocs and fileprefix, and be a file", rb"(?s).*\bfileprefix=", r"\.meta"),
    Foreign("a Paraver trace", "must be named as a file: from standard input only ALOG is read", rb"#Paraver "),
    Foreign("a part of a Paraver trace", "must be its records (.prv)", rb"DEFAULT_OPTIONS\s|LEVEL \w+ SIZE \d"),
    Foreign("a Dimemas trace", _RECORD, rb"#DIMEMAS:"),
    Foreign("a schedule in GOAL", "must be a file: from standard input only ALOG is read", rb"(\s|//.*\n)*num_ranks\s+\d"),
    Foreign(
        "a trace of the PyTorch profiler",
        "must be named as a file: from standard input only ALOG is read",
        rb'(?s)\s*\{.*"(deviceProperties|distributedInfo)"',
    ),
    Foreign("Trace Event JSON", "which is for viewers: must be the trace it was made of", rb'(?s)\s*(\{.*"traceEvents"|\[\s*\{.*"ph")'),
    Foreign("an HPCToolkit database", _RECORD, rb"HPCTOOLKIT"),
    Foreign("an Nsight Systems report", _RECORD, named=r"\.(nsys-rep|qdrep|qdstrm)"),
    Foreign("an SQLite database", "no trace: " + _MUST, rb"SQLite format 3\0"),
    Foreign(
        "a trace of liballprof",
        "must be named as a file: from standard input only ALOG is read",
        rb"# htor's PMPI Tracer |# collprof ",
    ),
    Foreign("a TAU trace", "must be merged by tau_merge and converted by tau2otf2", named=r"\.(trc|edf)"),
    Foreign("a trace in OTF of version 1", _RECORD, named=r"\.otf|\.(def|events)\.z"),
    Foreign("a Vampir trace in VTF", _RECORD, named=r"\.vtf"),
    Foreign("a PNG image", begins=rb"\x89PNG"),
    Foreign(
        "a time-independent trace of SimGrid",
        "must be a file, with its platform beside it: from standard input only ALOG is read",
        rb"((#.*)?\s)*\d+[ \t]+(init|compute|send|recv|isend|irecv)\b",
    ),
    Foreign("a program", begins=rb"\x7fELF"),
    Foreign("a PDF document", begins=rb"%PDF"),
)


def refusal(head: bytes, path: str, must: str = "") -> str:
    """Return what a file that begins with `head` is and what must be: `must`, or one of all formats, where the list says nothing else."""
    return _refusal(head, path, must or _MUST).replace(_MUST, f"must be {readable()}")


def _refusal(head: bytes, path: str, must: str) -> str:
    kind = _kind(head, path)
    if kind:
        return f"{kind.name}, {must if kind.advice == _MUST else kind.advice}"
    if b"\0" in head:
        return f"binary data, {must}"
    line = head.split(b"\n", 1)[0][:40].decode("latin-1").rstrip("\r")
    return f"'{line}', {must}" if line.isprintable() else f"unprintable text, {must}"


def inside(path: str) -> str:
    """Return why a directory is no trace, and what must be, as far as what is in it tells."""
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        return f"{(error.strerror or str(error)).lower()}, must be readable"
    anchors = [name for name in names if name.endswith(".otf2")]
    if len(anchors) > 1:
        return f"with {len(anchors)} OTF2 archives, {anchors[0]} and {anchors[1]} among them: must be one of these files"
    if anchors:
        return f"whose {anchors[0]} is no anchor file, must be that of an OTF2 archive"
    logs = [name for name in names if ALOG_NAMED.search(name)]
    if len(logs) > 1:
        return f"with {len(logs)} files named like ALOG, {logs[0]} and {logs[1]} among them: must be one of these"
    for name in names[:_MOST]:
        kind = _kind(_begin(os.path.join(path, name)), name)
        if kind and kind.advice not in (_MUST, *_UNPACK.values()):
            return f"whose {name} is {kind.name}, {kind.advice.replace(_MUST, f'must be {readable()}')}"
    return "must be a trace file, or hold an OTF2 archive, a recorded run, a DUMPI trace or a time-independent trace"


def _kind(head: bytes, path: str) -> Foreign | None:
    """Return the kind of a file, None if it begins and is named like none."""
    name = path.removesuffix(".gz").removesuffix(".zst")
    return next((kind for kind in FOREIGN if kind.is_it(head, name)), None)


def _begin(path: str) -> bytes:
    """Return the first bytes of a file; none of what is no file or cannot be read."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""
