"""Writes a trace, with any of its timelines, as an OTF2 archive laid out as Score-P does, that reads back with the same answers."""

from __future__ import annotations

import os

from perwiz import __version__
from perwiz.errors import UsageError
from perwiz.formats import losses
from perwiz.formats.otf2 import extras as extra
from perwiz.formats.otf2.library.binding import Failure
from perwiz.formats.otf2.writing import gaps
from perwiz.formats.otf2.writing.archive import Archive
from perwiz.formats.otf2.writing.definitions import Definitions, known
from perwiz.formats.otf2.writing.locations import ordered_otherwise
from perwiz.formats.otf2.writing.partners import UNKNOWN, Partners
from perwiz.formats.otf2.writing.rows import Rows
from perwiz.trace.trace import Timeline, Trace


def write(trace: Trace, timeline: Timeline, path: str) -> int:
    """Return how many events could not have their time, after writing the trace with the times of `timeline` to a new archive.

    Those are region boundaries and records that would lie inside or behind a call, or another record, that they stand before. `path` is
    that of the anchor file. Raises UsageError when the archive cannot be written, LibraryError without the OTF2 library.
    """
    try:
        return _write(trace, timeline, os.path.dirname(path), os.path.basename(path).removesuffix(".otf2"))
    except Failure as error:
        raise UsageError(f"{path}: cannot be written: {error}") from None


def _write(trace: Trace, timeline: Timeline, folder: str, name: str) -> int:
    archive = Archive(folder, name, f"{extra.CREATOR} {__version__}")
    definitions = Definitions(trace)
    rows = Rows(trace, timeline, definitions)
    with archive.events():
        events = [archive.location(ref, rows.of(ref)) for ref in range(len(trace.locations))]
        for ref in range(len(events), len(events) + len(definitions.locations.silent)):
            archive.location(ref, iter(()))
    with archive.definitions() as define:
        for kind, *arguments in definitions.all(rows.end, events):
            define(kind, *arguments)
    for key, value in definitions.properties(timeline, rows.start or 0).items():
        archive.set(f"{extra.NAMESPACE}{key}", value)
    archive.close()
    return rows.moved


def missing(trace: Trace) -> list[tuple[str, int]]:
    """Return what an archive of a trace does not hold, and how many of each."""
    partners = Partners(trace, trace.timeline)
    known_in_part = (int((~known(topology) & (topology.coordinates >= 0).any(1)).sum()) for topology in trace.topologies)
    unshown = (trace.requests.cancelled > 0) & (partners.completed < 0)
    others = (
        ("requests that no record posts", int((partners.kind == UNKNOWN).sum())),
        (losses.CANCELLED, int((unshown & (partners.kind != UNKNOWN)).sum())),
        (losses.UNFINISHED, len(trace.unfinished) - len(partners.tests.row)),
        ("numbers and kinds of threads that their order does not give", ordered_otherwise(trace)),
        ("coordinates known in part", sum(known_in_part)),
        ("records of unknown kind", int((gaps.kinds(trace)[trace.records.kind] < 0).sum())),
    )
    kinds = (
        losses.SAMPLED,
        losses.SITES,
        losses.LABELS,
        losses.OFFSETS,
        losses.PROCESSORS,
        losses.INSTANCES,
        losses.BETWEEN_GROUPS,
        losses.DEFECTS,
    )
    return losses.counted(trace, kinds, others)
