"""OTF2 archives made by hand: definitions and records one by one, written by the Python bindings of OTF2, and read in this process."""

from __future__ import annotations

import dataclasses
import os

import _otf2 as c
import numpy as np

from perwiz.formats.otf2 import tables as otf2_tables
from perwiz.formats.otf2.definitions import definitions
from perwiz.formats.otf2.library.archive import Archive as Opened
from perwiz.formats.otf2.library.packed import in_memory
from perwiz.formats.otf2.location import Location
from perwiz.formats.otf2.read import Recorded, Recording
from perwiz.trace import operations
from perwiz.trace.tables import LINKS

NOTHING = 0xFFFFFFFF
USER, OPENMP, MPI, PTHREAD = 1, 3, 4, 7


class Archive:
    """An archive in the making: definitions, and the records of each location.

    Process p is location p, and threads 100 + p, 200 + p ...; they run on node0 and node1 in turn, of one machine.
    """

    def __init__(self, folder, processes=2, threads=1, resolution=10**9, world=True, start=0):
        self.folder, self.processes, self.resolution, self.start = str(folder), processes, resolution, start
        self.texts, self.regions, self.refs = {"": 0}, {}, {}
        self.definitions, self.anchor, self.kinds = [], {}, {}
        self.events, self.offsets = {}, {}
        self.realtime = (1 << 64) - 1
        self.define("SystemTreeNode", 0, self.text("cluster"), self.text("machine"), NOTHING)
        for number in range(2):
            self.define("SystemTreeNode", 1 + number, self.text(f"node{number}"), self.text("node"), 0)
        for process in range(processes):
            self.define("LocationGroup", process, self.text("process"), c.LocationGroupType(1), 1 + process % 2, NOTHING)
        for thread in range(threads):
            for process in range(processes):
                self.location(100 * thread + process, process)
        if world:
            self.group(4, range(processes))
            self.comm("world", range(processes))

    # Definitions.

    def text(self, text):
        """Return the number of a string."""
        return self.texts.setdefault(text, len(self.texts))

    def define(self, kind, *arguments):
        self.definitions.append((kind, arguments))

    def new(self, kind):
        """Return the next number of a kind of definition."""
        self.refs[kind] = self.refs.get(kind, -1) + 1
        return self.refs[kind]

    def location(self, ref, group, kind=1, name="thread"):
        self.events[ref] = []
        self.define("Location", ref, self.text(name), c.LocationType(kind), ref, group)

    def group(self, kind, members, paradigm=MPI):
        ref = self.new("Group")
        self.define("Group", ref, self.text(""), c.GroupType(kind), c.Paradigm(paradigm), c.GroupFlag(0), list(members))
        return ref

    def comm(self, name, members=None, group=None, paradigm=MPI):
        """Return the number of a communicator; without members it is everybody's own."""
        if group is None:
            group = self.group(6 if members is None else 5, members or [], paradigm)
        ref = self.new("Comm")
        self.define("Comm", ref, self.text(name), group, NOTHING, c.CommFlag(0))
        return ref

    def inter(self, name, one, other):
        ref = self.new("Comm")
        self.define("InterComm", ref, self.text(name), self.group(5, one), self.group(5, other), 0, c.CommFlag(0))
        return ref

    def region(self, name, paradigm=None, file="", line=0, role=1, again=False):
        """Return the number of a region, a new one if `again`."""
        if again or name not in self.regions:
            paradigm = (MPI if name.startswith("MPI_") else USER) if paradigm is None else paradigm
            self.regions[name] = ref = self.new("Region")
            names = (self.text(name), self.text(name), 0)
            self.define("Region", ref, *names, c.RegionRole(role), c.Paradigm(paradigm), c.RegionFlag(0), self.text(file), line, line + 5)
        return self.regions[name]

    def metric(self, name, unit="", kind=4, exponent=0, base=1, mode=0):
        """Return the number of a counter."""
        ref = self.new("MetricMember")
        kinds = (c.MetricType(1), c.MetricMode(mode), c.Type(kind), c.Base(base))
        self.define("MetricMember", ref, self.text(name), 0, *kinds, exponent, self.text(unit))
        return ref

    def metrics(self, *members, occurrence=0):
        """Return the number of a class of counters."""
        ref = self.new("MetricClass")
        self.define("MetricClass", ref, list(members), c.MetricOccurrence(occurrence), c.RecorderKind(2))
        return ref

    def parameter(self, name, kind):
        ref = self.new("Parameter")
        self.define("Parameter", ref, self.text(name), c.ParameterType(kind))
        return ref

    def attribute(self, name, kind):
        """Return the number of an attribute: kind 4 is a number, 13 a location."""
        ref = self.new("Attribute")
        self.define("Attribute", ref, self.text(name), 0, c.Type(kind))
        self.kinds[ref] = kind
        return ref

    def topology(self, comm, sizes, coordinates=(), periodic=True):
        """Return the number of a topology; dimensions are named d0, d1 ..., the first is periodic if told so, the others are not."""
        dimensions = []
        for number, size in enumerate(sizes):
            dimensions.append(self.new("CartDimension"))
            self.define("CartDimension", dimensions[-1], self.text(f"d{number}"), size, c.CartPeriodicity(int(periodic and not number)))
        ref = self.new("CartTopology")
        self.define("CartTopology", ref, self.text("grid"), comm, dimensions)
        for rank, place in coordinates:
            self.define("CartCoordinate", ref, rank, place)
        return ref

    # What a location does.

    def at(self, location, time, kind, *arguments, notes=None):
        """A record; `notes` are values of attributes, by their numbers."""
        self.events[location].append((kind, time, arguments, notes or {}))

    def enter(self, location, time, name, notes=None, **region):
        self.at(location, time, "Enter", name if isinstance(name, int) else self.region(name, **region), notes=notes)

    def leave(self, location, time, name, notes=None):
        self.at(location, time, "Leave", name if isinstance(name, int) else self.regions[name], notes=notes)

    def call(self, location, name, enter, leave, *records):
        """A routine, its records at its end."""
        self.enter(location, enter, name)
        for kind, *arguments in records:
            self.at(location, leave, kind, *arguments)
        self.leave(location, leave, name)

    def everyone(self, name, *records, start=0, members=None):
        """All processes call a routine, process p from start + p to start + 10 + p; `records` are for each, or made from the process."""
        for process in members or range(self.processes):
            mine = [record(process) if callable(record) else record for record in records]
            self.call(process, name, start + process, start + 10 + process, *mine)

    # The archive and what becomes of it.

    def write(self):
        """Write the archive and return the path of its anchor file."""
        handle = c.Archive_Open(self.folder, "traces", c.FILEMODE_WRITE, 1 << 20, 1 << 18, c.SUBSTRATE_POSIX, c.COMPRESSION_NONE)
        flush = c.FlushCallbacks(pre_flush=lambda *_: c.FLUSH, post_flush=None)
        c.Archive_SetFlushCallbacks(handle, flush, None)
        c.Archive_SetSerialCollectiveCallbacks(handle)
        for name, text in self.anchor.items():
            getattr(c, f"Archive_Set{name}")(handle, text)
        c.Archive_OpenEvtFiles(handle)
        for ref, records in self.events.items():
            writer = c.Archive_GetEvtWriter(handle, ref)
            for kind, time, arguments, notes in records:
                getattr(c, f"EvtWriter_{kind}")(writer, self._noted(notes), self.start + time, *arguments)
            c.Archive_CloseEvtWriter(handle, writer)
        c.Archive_CloseEvtFiles(handle)
        c.Archive_OpenDefFiles(handle)
        for ref in self.events:
            writer = c.Archive_GetDefWriter(handle, ref)
            for offset in self.offsets.get(ref, ()):
                c.DefWriter_WriteClockOffset(writer, *offset)
            c.Archive_CloseDefWriter(handle, writer)
        c.Archive_CloseDefFiles(handle)
        writer = c.Archive_GetGlobalDefWriter(handle)
        c.GlobalDefWriter_WriteClockProperties(writer, self.resolution, self.start, 1000, self.realtime)
        for text, ref in self.texts.items():
            c.GlobalDefWriter_WriteString(writer, ref, text)
        for kind, arguments in self.definitions:
            if kind == "Location":
                ref, name, place, _, group = arguments
                arguments = (ref, name, place, len(self.events[ref]), group)
            getattr(c, f"GlobalDefWriter_Write{kind}")(writer, *arguments)
        c.Archive_CloseGlobalDefWriter(handle, writer)
        c.Archive_Close(handle)
        return f"{self.folder}/traces.otf2"

    def _noted(self, notes):
        """Return a list of attributes, None without any."""
        listed = c.AttributeList_New() if notes else None
        for ref, value in notes.items():
            {4: c.AttributeList_AddUint64, 13: c.AttributeList_AddLocationRef}[self.kinds[ref]](listed, ref, value)
        return listed

    def trace(self):
        """Return the trace, read in this process."""
        path = self.write()
        return otf2_tables.Builder(recorded(path), path).trace()


def recorded(path, piece=1 << 30):
    """Return what an archive holds as `read.record` does, without processes of its own; `piece` rows are taken at a time."""
    opened = Opened(path)
    found = definitions(opened.anchor(), opened.found(os.stat(f"{path.removesuffix('.otf2')}.def").st_size, lambda: None))
    opened.select([place.ref for place in found.locations])
    offsets, locations = [], []
    for place in found.locations:
        offsets += [(place.ref, *offset) for offset in opened.clock(place.ref)]
        consumer = Location(found, place.ref)
        for rows in opened.events(place.ref) if place.events else ():
            for first in range(0, len(rows), piece):
                consumer.add(rows[first : first + piece])
        locations.append(Recorded(place.ref, opened.records, None, in_memory(consumer.result()), 0))
    opened._library.call("Reader_Close", opened._reader)
    return Recording(found, offsets, locations)


def calls(trace):
    """Return (location, routine, enter, leave) per call."""
    times = trace.timeline.calls
    columns = (trace.calls.location, trace.calls.op, times.enter, times.leave)
    return [(where, operations.OPS[op], enter, leave) for where, op, enter, leave in zip(*map(np.ndarray.tolist, columns), strict=True)]


def every_link(trace):
    """Return the links as (kind, cause, effect)."""
    columns = (getattr(trace.links, field.name) for field in dataclasses.fields(trace.links))
    return sorted((LINKS[kind], cause, effect) for kind, cause, effect in zip(*map(np.ndarray.tolist, columns), strict=True))


def links(trace):
    """Return the links but those to idleness at the end, which the first thread of the process always ends."""
    location, process, last = trace.calls.location, trace.locations.process, trace.first_calls[1:] - 1
    for _, cause, effect in (ends := [link for link in every_link(trace) if link[0] == "end"]):
        assert location[cause] == np.searchsorted(process, process[location[effect]])
        assert effect == last[location[effect]]
    return [link for link in every_link(trace) if link not in ends]
