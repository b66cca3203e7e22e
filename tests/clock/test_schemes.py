"""The flat and the hierarchical scheme (Becker et al. 2007, section 4), and the order of its Table 2 from a simulation of VIOLA."""

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.clock.condition import violations
from perwiz.clock.offsets import apply
from perwiz.clock.schemes import Readings, combine, flat, hierarchical, leaders, read_remote
from perwiz.errors import ClockError
from perwiz.trace import tables


def places(nodes, metahosts):
    """Return locations, one process each."""
    count = len(nodes)
    return build.table(
        tables.Locations, metahost=metahosts, node=nodes, process=range(count), thread=[0] * count, cpu=[tables.NONE] * count
    )


def readings(*rows):
    """Return a table of (location, master, time, offset)."""
    names = ("location", "master", "time", "offset", "error")
    columns = dict(zip(names, zip(*((*row, 0) for row in rows), strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    return build.table(Readings, **columns)


TWO_METAHOSTS = places([3, 3, 4, 7, 8, 8], [1, 1, 1, 0, 0, 0])
"""Metahost 1 with nodes 3 (locations 0, 1) and 4; metahost 0 with nodes 7 and 8 (locations 4, 5)."""


def test_read_remote():
    """The second ping-pong is the shortest, 20 ns: its answer was stamped at 500 when the master's clock was half way, at 210."""
    found = read_remote(np.array([100, 200, 300]), np.array([400, 500, 600]), np.array([150, 220, 321]))
    assert found == (500, -290, 10)
    assert read_remote(np.array([0]), np.array([7]), np.array([5])) == (7, -5, 3)


def test_leaders():
    clock, local = leaders(TWO_METAHOSTS)
    assert clock.tolist() == [0, 0, 2, 3, 4, 4]
    assert local.tolist() == [0, 0, 0, 3, 3, 3]
    assert leaders(places([-1, -1], [0, 0]))[0].tolist() == [0, 1]


def test_who_reads_whom():
    """Flat: location 0 reads all clocks. Hierarchical: that of metahost 0 is the metamaster."""
    assert flat(TWO_METAHOSTS) == [(2, 0), (3, 0), (4, 0)]
    assert hierarchical(TWO_METAHOSTS) == [(0, 3), (2, 0), (4, 3)]
    assert hierarchical(TWO_METAHOSTS, global_clock=[1]) == [(0, 3), (4, 3)]


def test_combine__worked_by_hand():
    """PATTERNS 8.11: node to local master +3, local master to metamaster -10, so -7."""
    found = combine(places([0, 1, 2], [0, 1, 1]), readings((1, 0, 1000, -10_000), (2, 1, 1500, 3_000)))
    assert found.location.tolist() == [0, 1, 2]
    assert found.offset.tolist() == [0.0, -10.0, -7.0]
    assert found.time.tolist() == [0, 1000, 1500]


def test_combine__nodes_share_a_clock():
    found = combine(TWO_METAHOSTS, readings((0, 3, 0, 100_000), (2, 0, 0, 7_000), (4, 3, 0, -1_000)))
    assert found.offset.tolist() == [100.0, 100.0, 107.0, 0.0, -1.0, -1.0]
    found = combine(TWO_METAHOSTS, readings((0, 3, 0, 100_000), (4, 3, 0, -1_000)), global_clock=[1])
    assert found.offset.tolist() == [100.0, 100.0, 100.0, 0.0, -1.0, -1.0]


def test_combine__drift_of_the_master():
    """The local master gains 1 in 1000; its node was read in between, at 500 and 2500 of its own time, 100 ahead."""
    found = combine(places([0, 1, 2], [0, 1, 1]), readings((1, 0, 0, 0), (1, 0, 4000, 4), (2, 1, 500, -100), (2, 1, 2500, -100)))
    rows = found.location == 2
    assert found.time[rows].tolist() == [500, 2500]
    assert found.offset[rows].tolist() == [-0.1, -0.098]


def test_combine__one_clock():
    found = combine(places([0, 0], [0, 0]), readings())
    assert (found.location.tolist(), found.offset.tolist()) == ([0, 1], [0.0, 0.0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(2, 0, 0, 5)], "location 3: its clock was never read; it must be, or that of another location of its node"),
        ([(2, 0, 0, 5), (4, 3, 0, 1)], "the clocks of locations 0 and 3 were read by nobody; only one can be that of all"),
        ([(2, 3, 0, 5), (3, 2, 0, 1)], "location 2: its clock was never read; it must be, or that of another location of its node"),
    ],
)
def test_combine__refused(rows, message):
    with pytest.raises(ClockError) as error:
        combine(TWO_METAHOSTS, readings(*rows))
    assert str(error.value) == message


# VIOLA: 8 nodes of the Cray XD1 at FZJ, 6 of the Opteron cluster at FH-BRS, two processes on each node.

EXTERNAL, FZJ, FH_BRS = (988_000, 3_860), (21_500, 814), (44_400, 360)
"""Latency, standard deviation, ns (Table 1)."""
ASYMMETRY = 60_000
"""A way across may take so much longer, and the way back so much shorter: a round trip does not show it. Supposed; each node has its own
adapter to the external network, and other traffic comes and goes. ns."""
RUN = 60 * 10**9
NODES = np.repeat(np.arange(14), 2)
METAHOSTS = np.where(NODES < 8, 0, 1)


class Viola:
    """Clocks with offset and drift, and what messages take."""

    def __init__(self):
        self.rng = np.random.default_rng(2007)
        self.offset = self.rng.integers(-(10**9), 10**9, 14)
        self.drift = self.rng.normal(0, 5e-6, 14)

    def clock(self, location, true):
        """Return what the clock of a location shows, ns."""
        node = NODES[location]
        return int(true + self.offset[node] + true * self.drift[node])

    def takes(self, a, b):
        """Return the time a message from a to b takes, ns."""
        if NODES[a] == NODES[b]:
            return 2_000
        mean, deviation = EXTERNAL if METAHOSTS[a] != METAHOSTS[b] else (FZJ, FH_BRS)[METAHOSTS[a]]
        return int(max(mean / 2, self.rng.normal(mean, deviation)))

    def read(self, slave, master, true):
        """Return a reading of the slave's clock by ten ping-pongs."""
        uneven = int(self.rng.uniform(-ASYMMETRY, ASYMMETRY)) if METAHOSTS[slave] != METAHOSTS[master] else 0
        rows = []
        for turn in range(10):
            begin = true + 10_000_000 * turn
            there = begin + self.takes(master, slave) + uneven
            back = there + self.takes(slave, master) - uneven
            rows.append((self.clock(master, begin), self.clock(slave, there), self.clock(master, back)))
        time, offset, error = read_remote(*(np.array(column, "i8") for column in zip(*rows, strict=True)))
        return slave, master, time, offset, error

    def measured(self, pairs, times):
        """Return the offsets that follow when these pairs are read at these times."""
        rows = sorted((self.read(*pair, true) for pair in pairs for true in times), key=lambda row: row[:3])
        names = ("location", "master", "time", "offset", "error")
        table = build.table(Readings, **dict(zip(names, zip(*rows, strict=True), strict=True)))
        return combine(self.locations(), table)

    def locations(self):
        return places(NODES.tolist(), METAHOSTS.tolist())

    def benchmark(self, rounds=250):
        """Return the trace of short messages between varying pairs, in local times."""
        b = Builder(28)
        for turn in range(rounds):
            order = self.rng.permutation(28)
            for a, c in zip(order[::2].tolist(), order[1::2].tolist(), strict=True):
                true = 10**9 + turn * (RUN - 2 * 10**9) // rounds
                done = true + self.takes(a, c)
                b.send(a, c, at=(self.clock(a, true), self.clock(a, true + 1_000)))
                b.recv(c, a, at=(self.clock(c, true - 5_000), self.clock(c, done)))
        for rank in range(28):
            b.begin[rank], b.end[rank] = self.clock(rank, 0), self.clock(rank, RUN)
        return dataclasses.replace(b.trace(), locations=self.locations())


@pytest.mark.slow
def test_viola():
    """Table 2: 7560 violations with one flat measurement, 2179 with two, none with two hierarchical ones."""
    viola = Viola()
    trace = viola.benchmark()
    found = []
    for scheme, times in ((flat, [0]), (flat, [0, RUN - 10**9]), (hierarchical, [0, RUN - 10**9])):
        measured = dataclasses.replace(trace, offsets=viola.measured(scheme(trace.locations), times), offsets_applied=False)
        found.append(violations(trace, apply(measured)).messages)
    assert found[0] > 2 * found[1] > 0
    assert found[2] == 0
