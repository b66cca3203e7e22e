"""How many bytes a collective has, by what formats count of it: every number by hand."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest

import build
import perwiz
from build import Builder
from perwiz.loggps import instances
from perwiz.loggps.algorithms.edges import costs
from perwiz.loggps.collectives import CollectiveCost
from perwiz.loggps.instances import sizes

SRTEST = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


def counted(*routines):
    """Return the sizes of collectives of four, each (routine, what rank 0 sends, the others send, rank 0 receives, the others receive)."""
    b = Builder(4)
    for routine, *_ in routines:
        b.everyone(routine, root=0 if routine in ("Bcast", "Reduce") else None)
    trace = b.trace()
    sent, received = trace.calls.bytes_sent.copy(), trace.calls.bytes_received.copy()
    for row, (_, first_sends, others_send, first_receives, others_receive) in enumerate(routines):
        calls = trace.members.call[trace.members.collective == row]
        first = trace.calls.location[calls] == 0
        sent[calls] = np.where(first, first_sends, others_send)
        received[calls] = np.where(first, first_receives, others_receive)
    return sizes(dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received))).tolist()


ALL = ("Allreduce", 32, 32, 32, 32)


@pytest.mark.parametrize(
    ("routines", "found"),
    [
        ([ALL], [32]),  # nothing says how it is counted
        ([ALL, ("Bcast", 8, 0, 0, 8)], [32, 8]),
        ([ALL, ("Bcast", 32, 0, 0, 8)], [8, 8]),  # the root counts what all get together: so does everybody of an allreduce
        ([ALL, ("Reduce", 8, 8, 32, 0)], [8, 8]),
        ([ALL, ("Reduce", 8, 8, 32, 0), ("Bcast", 8, 0, 0, 8)], [32, 8, 8]),  # they do not agree
        ([("Allreduce", 30, 30, 30, 30), ("Bcast", 32, 0, 0, 8)], [30, 8]),  # of nobody
        ([("Allgather", 32, 32, 32, 32), ("Bcast", 32, 0, 0, 8)], [32, 8]),  # parts of all
        ([("Bcast", 0, 0, 0, 0), ALL], [0, 32]),
    ],
)
def test_sizes(routines, found):
    assert counted(*routines) == found


def test_sizes__of_one_process():
    b = Builder(1)
    b.everyone("Allreduce", bytes=32)
    b.everyone("Bcast", root=0, bytes=8)
    assert sizes(b.trace()).tolist() == [32, 8]


@pytest.mark.parametrize("trace", [perwiz.read(SRTEST), build.CATALOGUE["nonblocking_collectives"]()], ids=["srtest", "nonblocking"])
def test_forms__add_up_to_work(trace):
    """What a page adds up from `forms` on another network is what `work` says there; of kinds the model knows, and of others."""
    known = CollectiveCost("MPI_Barrier", 3, "all", 0, 70_000.0, 0.0)
    model = dataclasses.replace(build.hand_model(), collectives=(known,))
    rows = np.flatnonzero(trace.members.done >= 0)
    of = instances.forms(trace, rows, model)
    assert of.now[of.group].tolist() == instances.work(trace, rows, model).tolist()
    for changes in ("L_ns=0", "L_ns=9123,G_ns_per_byte=0.0371"):
        network = model.with_changes(changes)
        ns = of.sums.times * costs(network, of.sums.what, of.sums.size, of.sums.pairs)
        there = np.rint(np.bincount(of.sums.row, ns, int(of.kind.max()) + 1))[of.kind]
        grown = np.where(of.here > 0, of.explained * there / np.maximum(of.here, 1), there)
        then = np.where(of.known, np.rint(of.stays + grown), there)[of.group]
        assert then.tolist() == instances.work(trace, rows, model, network).tolist()
