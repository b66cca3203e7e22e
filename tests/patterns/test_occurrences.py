"""How often patterns occur, worked by hand: under names of their own, and under those of Scalasca by whether messages have bytes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.patterns.search import search


def exchange():
    """Rank 1 waits for an empty message, then for one of 10 bytes while one of rank 2 is there; rank 2 waits to send to rank 0.

    Rank 0 also sends rank 2 an empty message that nobody waits for, and all meet in collectives: two without bytes, two with.
    """
    b = Builder(3)
    b.send(0, 1, 0, at=(100, 110))
    b.recv(1, 0, at=(50, 120))
    b.send(0, 1, 10, tag=1, at=(300, 310))
    b.recv(1, 0, tag=1, at=(200, 320))
    b.send(2, 1, 10, at=(150, 160))
    b.recv(1, 2, at=(400, 410))
    b.send(2, 0, 70_000, at=(400, 600))
    b.recv(0, 2, at=(500, 600))
    b.send(0, 2, 0, at=(610, 620))
    b.recv(2, 0, at=(650, 660))
    b.barrier(at=[(700, 720)] * 3)
    b.everyone("Allreduce", bytes=0, at=[(730, 740)] * 3)
    b.everyone("Allreduce", bytes=8, at=[(750, 760)] * 3)
    for call in b.everyone("Bcast", root=0, bytes=8, at=[(770, 780)] * 3).values():
        call.columns["received" if call.rank == 0 else "sent"] = 0
    return b.trace()


def counts(trace):
    cube = search(trace).severity
    parents = {metric.name: metric.parent for metric in cube.metrics}
    return {metric.name: cube.by_location(metric.name).tolist() for metric in cube.metrics if metric.unit == "occ"}, parents


def test_by_pattern():
    """By process, in the tree of the patterns; the root has what is the special case of no other."""
    found, parents = counts(exchange())
    assert (found["mpi_latesender_count"], found["mpi_latereceiver_count"]) == ([0, 2, 0], [0, 0, 1])
    assert (found["mpi_latesender_wo_count"], found["mpi_lswo_different_count"], found["mpi_lswo_same_count"]) == (
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 0],
    )
    assert found["instances"] == [0, 2, 1]
    above = [parents[name] for name in ("mpi_latesender_count", "mpi_latesender_wo_count", "mpi_barrier_wait_count", "instances")]
    assert above == ["instances", "mpi_latesender_count", "instances", ""]


def test_as_scalasca():
    """Empty messages and collectives are synchronisation; late ones count below those sent or received."""
    found, parents = counts(exchange())
    assert (found["syncs_send"], found["syncs_recv"], found["syncs_coll"], found["syncs"]) == ([2, 0, 0], [0, 1, 1], [2, 2, 2], [4, 3, 3])
    assert (found["comms_send"], found["comms_recv"]) == ([1, 0, 2], [1, 2, 0])
    assert (found["mpi_sls_count"], found["mpi_cls_count"], found["mpi_slr_count"], found["mpi_clr_count"]) == (
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 1],
    )
    assert (found["mpi_slswo_count"], found["mpi_clswo_count"]) == ([0, 0, 0], [0, 1, 0])
    assert (found["comms_cxch"], found["comms_csrc"], found["comms_cdst"]) == ([1, 1, 1], [1, 0, 0], [0, 1, 1])
    assert (parents["mpi_clswo_count"], parents["mpi_slr_count"]) == ("mpi_cls_count", "syncs_send")


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_instances(name):
    """Per call path, as many as there are instances; those of messages are Scalasca's two together."""
    trace = build.CATALOGUE[name]()
    found = search(trace)
    tree = found.severity.tree
    for pattern, some in found.instances.items():
        wanted = np.bincount(tree.of_calls(trace, some.call), minlength=len(tree)).tolist()
        assert found.severity.by_node(f"{pattern}_count").tolist() == wanted
    for pattern, short in (("mpi_latesender", "ls"), ("mpi_latesender_wo", "lswo"), ("mpi_latereceiver", "lr")):
        assert sum(found.severity.total(f"mpi_{kind}{short}_count") for kind in "sc") == len(found.instances[pattern])


def test_metahosts():
    """Twins have a tree of their own; both together are all."""
    trace = exchange()
    apart = dataclasses.replace(trace.locations, metahost=np.array([0, 1, 1], "i4"))
    found, parents = counts(dataclasses.replace(trace, locations=apart))
    assert (found["grid_count"], found["ngrid_count"]) == ([0, 2, 1], [0, 0, 0])
    assert (parents["grid_mpi_latesender_wo_count"], parents["grid_mpi_latesender_count"]) == ("grid_mpi_latesender_count", "grid_count")
    assert (parents["grid_count"], found["instances"]) == ("", [0, 2, 1])
