"""Small OTF2 archives, written by the Python bindings of OTF2, and classes that take the rows of their locations."""

from __future__ import annotations

import os
import signal
import time

import _otf2 as c
import numpy as np

from perwiz.kernels.records import ARGUMENTS

STRINGS = ["", "node", "machine", "process", "thread", "main", "MPI_Send", "world", "/src/main.c", "load", "MPI", "x", "é"]
EVERYTHING = [
    ("ProgramBegin", 5, [5]),
    ("Enter", 0),
    ("MpiSend", 1, 0, 7, 10),
    ("MpiIsend", 1, 0, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1),
    ("MpiIsendComplete", (1 << 64) - 1),
    ("MpiIrecvRequest", 4),
    ("MpiRecv", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0),
    ("MpiIrecv", 1, 0, 2, 3, 4),
    ("MpiRequestTest", 5),
    ("MpiRequestCancelled", 5),
    ("MpiCollectiveBegin",),
    ("MpiCollectiveEnd", c.CollectiveOp(11), 0, c.CollectiveRoot(0xFFFFFFFE), 8, 16),
    ("NonBlockingCollectiveRequest", 6),
    ("NonBlockingCollectiveComplete", c.CollectiveOp(0), 0, c.CollectiveRoot(0), 1, 2, 6),
    ("Metric", 0, [c.Type(4), c.Type(8)], [c.MetricValue(unsigned_int=(1 << 64) - 1), c.MetricValue(signed_int=-5)]),
    ("ParameterInt", 0, -3),
    ("ParameterUnsignedInt", 0, (1 << 64) - 2),
    ("ParameterString", 0, 11),
    ("CommCreate", 0),
    ("CommDestroy", 0),
    ("MpiProbe", 1, 0, 9, 77),
    ("MpiMrecv", 77, 100),
    ("MpiProbe", 0, 0, 8, 78),
    ("MpiImrecvRequest", 78, 12),
    ("MpiImrecv", 12, 200),
    ("MpiMrecv", 79, 300),
    ("ThreadFork", c.Paradigm(3), 4),
    ("RmaCollectiveEnd", c.CollectiveOp(0), c.RmaSyncLevel(1), 0, 0xFFFFFFFF, 3, 4),
    ("IoSeek", 0, -8, c.IoSeekOption(2), 9),
    ("MeasurementOnOff", c.MeasurementMode(2)),
    ("BufferFlush", 99),
    ("Leave", 0),
    ("ProgramEnd", -1),
]
"""One record of each kind that has a callback of its own, and some others: name, arguments."""


def timed(records, start=100):
    """Return the records with their times, one tick apart."""
    return [(name, start + k, *arguments) for k, (name, *arguments) in enumerate(records)]


def calls(count, start=100):
    """Return the events of so many calls."""
    return timed([("Enter", 1), ("Leave", 1)] * count, start)


def archive(folder, locations, *, resolution=10**9, offsets=None, maps=None, groups=(), events=None, inter=True):
    """Write an archive and return the path of its anchor file.

    `locations`: reference -> events; `offsets`: reference -> [(time, offset, deviation)]; `maps`: reference -> regions of its own numbers;
    `groups`: (reference, type, members); `events`: how many the definition of each location says it has, for those it says wrongly;
    `inter`: whether there is a communicator between two groups, which the Python bindings cannot read.
    """
    handle = c.Archive_Open(str(folder), "traces", c.FILEMODE_WRITE, 1 << 20, 1 << 18, c.SUBSTRATE_POSIX, c.COMPRESSION_NONE)
    flush = c.FlushCallbacks(pre_flush=lambda *_: c.FLUSH, post_flush=None)
    c.Archive_SetFlushCallbacks(handle, flush, None)
    c.Archive_SetSerialCollectiveCallbacks(handle)
    c.Archive_SetCreator(handle, "tests")
    c.Archive_SetProperty(handle, "TESTS::SMALL", "yes", True)
    c.Archive_OpenEvtFiles(handle)
    for ref, records in locations.items():
        writer = c.Archive_GetEvtWriter(handle, ref)
        for name, when, *arguments in records:
            getattr(c, f"EvtWriter_{name}")(writer, None, when, *arguments)
        c.Archive_CloseEvtWriter(handle, writer)
    c.Archive_CloseEvtFiles(handle)
    _local(handle, locations, offsets or {}, maps or {})
    _global(handle, locations, resolution, groups, events or {}, inter)
    c.Archive_Close(handle)
    return f"{folder}/traces.otf2"


def _local(handle, locations, offsets, maps):
    c.Archive_OpenDefFiles(handle)
    for ref in locations:
        writer = c.Archive_GetDefWriter(handle, ref)
        for offset in offsets.get(ref, ()):
            c.DefWriter_WriteClockOffset(writer, *offset)
        if ref in maps:
            table = c.IdMap_CreateFromUint64Array(maps[ref], False)
            c.DefWriter_WriteMappingTable(writer, c.MAPPING_REGION, table)
            c.IdMap_Free(table)
        c.Archive_CloseDefWriter(handle, writer)
    c.Archive_CloseDefFiles(handle)


def _global(handle, locations, resolution, groups, events, inter):
    w = c.Archive_GetGlobalDefWriter(handle)
    if resolution:
        c.GlobalDefWriter_WriteClockProperties(w, resolution, 100, 50, (1 << 64) - 1)
    for ref, text in enumerate(STRINGS):
        c.GlobalDefWriter_WriteString(w, ref, text)
    c.GlobalDefWriter_WriteSystemTreeNode(w, 0, 1, 2, 0xFFFFFFFF)
    c.GlobalDefWriter_WriteSystemTreeNodeProperty(w, 0, 11, c.TYPE_STRING, c.AttributeValue(stringRef=12))
    c.GlobalDefWriter_WriteLocationGroup(w, 0, 3, c.LOCATION_GROUP_TYPE_PROCESS, 0, 0xFFFFFFFF)
    for ref, records in locations.items():
        c.GlobalDefWriter_WriteLocation(w, ref, 4, c.LOCATION_TYPE_CPU_THREAD, events.get(ref, len(records)), 0)
    for ref, name in ((0, 5), (1, 6), (2, 9)):
        c.GlobalDefWriter_WriteRegion(w, ref, name, name, 0, c.RegionRole(1), c.Paradigm(4), c.RegionFlag(0), 8, 10, 20)
    for ref, kind, members in groups or [(0, 4, list(locations))]:
        c.GlobalDefWriter_WriteGroup(w, ref, 7, c.GroupType(kind), c.Paradigm(4), c.GroupFlag(0), members)
    c.GlobalDefWriter_WriteComm(w, 0, 7, 0, 0xFFFFFFFF, c.CommFlag(0))
    if inter:
        c.GlobalDefWriter_WriteInterComm(w, 1, 7, 0, 0, 0, c.CommFlag(0))
    c.GlobalDefWriter_WriteParameter(w, 0, 11, c.ParameterType(1))
    c.GlobalDefWriter_WriteMetricMember(
        *(w, 0, 9, 0, c.MetricType(1), c.MetricMode(0), c.Type(4), c.Base(1), -3, 11),
    )
    c.GlobalDefWriter_WriteMetricClass(w, 0, [0, 0], c.MetricOccurrence(0), c.RecorderKind(2))
    c.GlobalDefWriter_WriteMetricInstance(w, 1, 0, next(iter(locations), 0), c.MetricScope(0), next(iter(locations), 0))
    c.GlobalDefWriter_WriteCartDimension(w, 0, 11, 3, c.CartPeriodicity(1))
    c.GlobalDefWriter_WriteCartTopology(w, 0, 7, 0, [0])
    c.GlobalDefWriter_WriteCartCoordinate(w, 0, 1, [2])
    c.GlobalDefWriter_WriteRmaWin(w, 0, 11, 0, c.RmaWinFlag(0))
    c.Archive_CloseGlobalDefWriter(handle, w)


class Keep:
    """Keeps the rows as 8 integers each, in one column."""

    def __init__(self, definitions, ref):
        self.ref = ref
        self.parts = [np.empty((0, 8), "i8")]

    def add(self, rows):
        self.parts.append(np.stack([rows[name].astype("i8") for name in ("kind", "time", *ARGUMENTS)], 1))

    def result(self):
        return {"rows": np.concatenate(self.parts).ravel()}


class CrashAtTwo(Keep):
    """Ends its process as a crash would, when location 2 is read."""

    def add(self, rows):
        super().add(rows)
        if self.ref == 2:
            os.kill(os.getpid(), signal.SIGSEGV)


class CrashAlways(Keep):
    """Ends its process whatever is read."""

    def add(self, rows):
        os.kill(os.getpid(), signal.SIGABRT)


class HangAtTwo(Keep):
    """Does not come back from location 2."""

    def add(self, rows):
        super().add(rows)
        if self.ref == 2:
            time.sleep(1000)


class LeaveAtTwo(Keep):
    """Ends its process without a word at location 2."""

    def add(self, rows):
        super().add(rows)
        if self.ref == 2:
            os._exit(3)


class Wrong(Keep):
    """Has a bug."""

    def add(self, rows):
        raise ZeroDivisionError


class Greedy(Keep):
    """Needs too much memory for location 2."""

    def add(self, rows):
        super().add(rows)
        if self.ref == 2:
            self.parts.append(np.ones((1 << 40, 8), "i8"))


def __getattr__(name):
    if name == "CRASH_ON_SIGHT":
        os.kill(os.getpid(), signal.SIGBUS)
    if name == "WithoutLibrary":
        from perwiz.formats.otf2.library import binding as otf2_library

        otf2_library._candidates = lambda: iter(())
        return Keep
    raise AttributeError(name)
