"""What is written is read back: every run of the catalogue, and random ones, as far as the format holds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import build
from perwiz.formats import files
from perwiz.formats.paraver import codes
from perwiz.formats.paraver.format import PARAVER
from perwiz.trace import operations
from perwiz.trace.tables import DONE, EVENT, LAUNCH

HELD = [name for name in build.CATALOGUE if len(build.CATALOGUE[name]().locations)]
"""Those that have a location: a file without events is none."""


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def back(trace, path="out.prv"):
    """Return a trace written and read again."""
    PARAVER.write(trace, trace.timeline, path)
    return files.read(path)


def calls(trace):
    """Return where and when each call was, but of idle threads and streams; of collectives of MPI their bytes and communicators."""
    table, times = trace.calls, trace.timeline.calls
    shown = codes.TYPE[table.op] > 0
    of_mpi = operations.COLLECTIVE & operations.MPI
    process, thread = trace.locations.process[table.location], trace.locations.thread[table.location]
    comm = np.where(of_mpi[table.op] & (table.comm >= 0), table.comm, -1)
    sent, received = (np.where(of_mpi[table.op], column, 0) for column in (table.bytes_sent, table.bytes_received))
    columns = (process, thread, times.enter, times.leave, table.op, comm, sent, received)
    return sorted(zip(*(column[shown].tolist() for column in columns), strict=True))


def messages(trace):
    """Return the messages: sender, receiver, when sent and completed, size, tag and whether the receive blocked."""
    table, times, process = trace.messages, trace.timeline.calls, trace.processes_of_calls
    ends = process[table.send], process[table.receive_done], times.enter[table.send], times.leave[table.receive_done]
    return sorted(zip(*(column.tolist() for column in (*ends, table.bytes, table.tag, table.receive == table.receive_done)), strict=True))


def boundaries(trace):
    """Return where and when regions are entered, by name, and when one is left: the file does not say which."""
    table, times = trace.regions, trace.timeline.regions
    process, names = trace.locations.process[table.location].tolist(), [trace.names[row] for row in trace.region_names]
    return sorted(zip(process, times.enter.tolist(), names, strict=True)), sorted(zip(process, times.leave.tolist(), strict=True))


def instances(trace):
    """Return the collectives of processes: routine, communicator, root and members."""
    table, out = trace.collectives, []
    ends = np.append(table.first_member[1:], len(trace.members))
    for row in np.flatnonzero(table.comm >= 0).tolist():
        members = trace.members.call[table.first_member[row] : ends[row]]
        ranks = tuple(trace.processes_of_calls[members].tolist())
        out.append((operations.OPS[table.op[row]], int(table.comm[row]), int(table.root[row]), ranks, int(members.min())))
    return [one[:-1] for one in sorted(out, key=lambda one: (one[1], one[-1]))]


def ties(trace):
    """Return what lets streams of devices go on, and what they let go on: kind, where, when the cause is entered and the effect left.

    A stream that idles for no time has no record.
    """
    table, times = trace.links, trace.timeline.calls
    shown = (codes.TYPE[trace.calls.op] > 0) | (times.leave > times.enter)
    told = np.flatnonzero(np.isin(table.kind, (LAUNCH, DONE, EVENT)) & shown[table.cause] & shown[table.effect])
    cause, effect = table.cause[told], table.effect[told]
    where = [column[trace.calls.location[end]] for end in (cause, effect) for column in (trace.locations.process, trace.locations.thread)]
    columns = (table.kind[told], *where, times.enter[cause], times.leave[effect])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def same(trace, other):
    """Check that what the format holds is the same."""
    assert calls(other) == calls(trace)
    assert messages(other) == messages(trace)
    assert boundaries(other) == boundaries(trace)
    assert ties(other) == ties(trace)
    assert other.locations.process.tolist() == sorted(trace.locations.process.tolist())
    assert other.nodes == trace.nodes
    assert len(other.defects) == 0


@pytest.mark.parametrize("name", HELD)
def test_catalogue(name):
    trace = build.CATALOGUE[name]()
    other = back(trace)
    same(trace, other)
    assert other.communicators == trace.communicators
    if name not in ("rootless_and_incomplete", "threads", "shmem"):
        assert instances(other) == instances(trace)


@pytest.mark.slow
@given(trace=build.traces())
def test_law(trace):
    same(trace, back(trace))


@pytest.mark.slow
@given(trace=build.traces(threads=True))
def test_law__threads(trace):
    same(trace, back(trace))


def test_packed():
    trace = build.late_sender()
    same(trace, back(trace, "out.prv.gz"))
