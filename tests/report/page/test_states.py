"""The data of the panel of wait states, read back as its script does."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest
from hypothesis import given

import build
import naive_panels
import perwiz
from perwiz.report.page.analyses import wait_states
from perwiz.report.page.panels import states as html_states
from perwiz.report.page.tables import size
from perwiz.trace.trace import Topology
from perwiz.whatif.run import replayed


def data_of(trace, **settings):
    found = wait_states(replayed(trace))
    return found, html_states.document(found, **settings)


def inclusive(data, values):
    """Return values by metric with all that each metric contains."""
    parents = [metric["parent"] for metric in data["metrics"]]
    return [sum(values[row] for row in naive_panels.below(parents, k)) for k in range(len(parents))]


def names(found):
    return [metric.name for metric in html_states._present(found.findings.severity)]


def check(found, data):
    """Assert that the data are the cube: sums by call path, and values by process."""
    cube = found.findings.severity
    sums, values = naive_panels.cube(data)
    for name, total, value in zip(names(found), inclusive(data, sums), inclusive(data, values), strict=True):
        assert total.tolist() == cube.by_node(name).tolist(), name
        assert value.sum(axis=0).tolist() == cube.by_location(name)[data["system"]["row"]].tolist(), name
        if name in cube.cells and not data["left"]:
            assert value[cube.cells[name].node].tolist() == cube.cells[name].value[:, data["system"]["row"]].tolist()
    check_gains(found, naive_panels.gains(data), data["start"])


def check_gains(found, gains, start):
    """Assert that a gain is told of every pattern that waits and each of its call paths, with the worst call; first is the largest."""
    tree, metrics, makespan = found.findings.severity.tree, names(found), found.run.makespan
    for (metric, node), (gain, call) in gains.items():
        some = found.findings.instances[metrics[metric]]
        mine = some.where(np.isin(tree.of_calls(found.run.trace, some.call), [node] if node < len(tree) else range(node)))
        sites = found.worth.whole[metrics[metric]] if node == len(tree) else found.worth.by_node[metrics[metric], node]
        assert gain == makespan - sites.makespan
        assert call == mine.call[mine.severity.argmax()]
    if any(gain for gain, _ in gains.values()):
        assert gains[start[0], len(tree)][0] == max(gain for (_, node), (gain, _) in gains.items() if node == len(tree))
        assert gains[tuple(start)][0] == max(gain for (metric, node), (gain, _) in gains.items() if metric == start[0] and node < len(tree))


@pytest.mark.parametrize("name", sorted(build.CATALOGUE))
def test_document__is_the_cube(name):
    check(*data_of(build.CATALOGUE[name]()))


@pytest.mark.slow
@given(build.traces())
def test_document__is_the_cube_of_any_trace(trace):
    check(*data_of(trace))


def test_document__too_large__whole_metrics_are_still_told_by_process():
    """What has no room are cells of call paths: sums by call path stay, and values by process of whole metrics."""
    trace = build.all_collectives()
    whole = sum(size(data_of(trace)[1][key]) for key in ("rows", "cells"))
    for budget, some in ((0, False), (whole - 1, True)):
        found, data = data_of(trace, budget=budget)
        assert 0 < data["left"] <= data["all_rows"]
        assert (data["left"] < data["all_rows"]) == some
        check(found, data)


def test_document__late_sender():
    """Rank 0 computes 50 us and sends; rank 1 waits for it from 0 on: 50 us, which is what the run gains at most.

    0  |------50 us------|send|
    1  |recv.................|-|
    """
    found, data = data_of(build.late_sender())
    late = names(found).index("mpi_latesender")
    gains = naive_panels.gains(data)
    nodes = len(found.findings.severity.tree)
    assert data["start"] == [late, found.findings.severity.tree.name.index("MPI_Recv")]
    whole = found.run.makespan - found.worth.whole["mpi_latesender"].makespan
    assert gains[late, nodes] == gains[late, data["start"][1]] == (whole, 1)
    assert whole > 0
    sums, values = naive_panels.cube(data)
    assert values[late, data["start"][1]].tolist() == [0, 50_000]
    assert sums[late].sum() == 50_000


def test_document__nothing_gains__mpi_or_computation_first():
    found, data = data_of(build.one_process())
    assert names(found)[data["start"][0]] == "mpi"
    assert data_of(build.empty())[1]["start"] == [0, 0]


def test_metrics__without_words_of_mpi():
    """A training job calls none: what Scalasca calls after MPI and POSIX is told as what it is."""
    trace = perwiz.read(str(pathlib.Path(__file__).parents[3] / "traces" / "training-slow"))
    titles = [metric["title"] for metric in data_of(trace)[1]["metrics"]]
    assert {"Between ranks", "Threads", "Communications", "Bytes transferred"} <= set(titles)
    assert not [title for title in titles if "MPI" in title or "POSIX" in title]


def test_system__one_level_of_ranks():
    system = data_of(build.halo())[1]["system"]
    count = len(system["row"])
    assert system["names"] == ("all processes", *(f"rank {k}" for k in range(count)))
    assert system["parent"] == (-1, *[0] * count)
    assert system["place"] == (-1, *range(count))


def test_system__metahosts_nodes_and_threads():
    """Locations 0 to 3: rank 0 with two threads on the second node of metahost 1, ranks 1 and 2 on the first one's nodes."""
    trace = build.ring()
    columns = {"metahost": [1, 1, 0, 0], "node": [2, 2, 0, 1], "process": [0, 0, 1, 2], "thread": [0, 1, 0, 0]}
    where = dataclasses.replace(trace.locations, **{key: np.array(value, "i4") for key, value in columns.items()})
    changed = dataclasses.replace(trace, locations=where, nodes=("a", "", "c\n"), metahosts=("here",))
    order, block = html_states._order(changed)
    system = html_states._system(changed, order, block)
    assert order.tolist() == [2, 3, 0, 1]
    labels = [("all processes", -1, -1), ("here", 0, -1), ("a", 1, -1), ("rank 1", 2, -1), ("thread 0", 3, 0), ("node 1", 1, -1)]
    labels += [("rank 2", 5, -1), ("thread 0", 6, 1), ("metahost 1", 0, -1), ("c\\n", 8, -1), ("rank 0", 9, -1)]
    labels += [("thread 0", 10, 2), ("thread 1", 10, 3)]
    assert list(zip(system["names"], system["parent"], system["place"], strict=True)) == labels


def test_system__streams_beside_threads():
    trace = build.CATALOGUE["device"]()
    names = html_states._system(trace, *html_states._order(trace))["names"]
    assert names == ("all processes", "rank 0", "thread 0", "stream 1", "rank 1", "thread 0")


def test_system__too_many_processes_are_put_together(monkeypatch):
    monkeypatch.setattr(html_states, "PLACES", 3)
    found, data = data_of(build.ring())
    count = len(found.run.trace.locations)
    assert count == 4
    assert data["system"]["names"] == ("all processes", "ranks 0 to 1", "ranks 2 to 3")
    cube = found.findings.severity
    _, values = naive_panels.cube(data)
    time = inclusive(data, values)[names(found).index("time")].sum(axis=0)
    assert time.tolist() == cube.by_location("time").reshape(2, 2).sum(axis=1).tolist()
    assert data["topologies"] == []


def test_topology__where_each_place_is():
    trace = build.ring()
    where = np.array([[1, 0], [0, 0], [0, 1], [1, 1]], "i4")
    small = Topology("line", 0, (2,), (False,), ("x",), where[:2, :1])
    changed = dataclasses.replace(trace, topologies=(small, Topology("grid\n", 0, (2, 2), (True, False), ("y", "x"), where)))
    data = data_of(changed)[1]
    (found,) = data["topologies"]
    assert (found["name"], found["sizes"], data["ranks"]) == ("grid\\n", [2, 2], [0, 1, 2, 3])
    assert naive_panels.naive_html.column(found["at"]) == [1, 0, 0, 1, 0, 0, 1, 1]
