"""The flat and the hierarchical scheme (Becker et al. 2007, section 4), and the order of its Table 2 from a simulation of VIOLA."""

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.clock.condition import violations
from perwiz.clock.offsets import apply
from perwiz.clock.schemes import SCHEMES, chosen, combined, scheme_of
from perwiz.errors import ClockError, UsageError
from perwiz.trace import tables


def places(nodes, metahosts):
    """Return locations, one process each."""
    count = len(nodes)
    columns = {"metahost": metahosts, "node": nodes, "process": range(count), "thread": [0] * count, "cpu": [tables.NONE] * count}
    return build.table(tables.Locations, **columns, kind=[tables.PROCESS] * count)


def readings(*rows):
    """Return a table of (location, master, time, offset), each at most 4 ns wrong, and the clock of all at its master, if none has -1."""
    names = ("location", "master", "time", "offset", "error")
    columns = zip(*((*row, 4) for row in rows), strict=True) if rows else [()] * 5
    return build.table(tables.Readings, **dict(zip(names, columns, strict=True)))


def trace_with(*rows, metahosts=(1, 1, 0)):
    """Return a trace of three processes, one on a node, whose clocks were compared so."""
    trace = dataclasses.replace(Builder(3).trace(), locations=places([0, 1, 2], list(metahosts)))
    return dataclasses.replace(trace, readings=readings(*rows), offsets_applied=False)


ROOT = (0, tables.NONE, 0, 0)
FLAT = [ROOT, (1, 0, 10, 5), (1, 0, 90, 6), (2, 0, 10, 7), (2, 0, 90, 8)]
"""Locations 1 and 2 compare their clocks with that of 0, which is that of all, at start and end."""
NEAR = [(2, 1, 20, 3), (2, 1, 80, 4)]
"""Location 2 compares its clock with that of 1, too."""


def rows_of(trace):
    return list(zip(*(getattr(trace.readings, name).tolist() for name in ("location", "master", "time", "offset")), strict=True))


@pytest.mark.parametrize(
    ("scheme", "expected", "name"),
    [
        (None, [*FLAT[:3], *NEAR], "hierarchical"),
        ("hierarchical", [*FLAT[:3], *NEAR], "hierarchical"),
        ("flat", FLAT, "flat"),
        ("single", [ROOT, FLAT[1], FLAT[3]], "single"),
    ],
)
def test_chosen(scheme, expected, name):
    found = chosen(trace_with(*FLAT, *NEAR), scheme)
    assert (rows_of(found), scheme_of(found.readings)) == (expected, name)


def test_chosen__one_metahost_is_flat():
    """There all compare with the same process, whatever was asked for."""
    found = chosen(trace_with(*FLAT, metahosts=(0, 0, 0)), "hierarchical")
    assert (rows_of(found), scheme_of(found.readings)) == (FLAT, "flat")


def test_chosen__nothing_to_choose():
    trace = trace_with()
    assert chosen(trace) is trace


@pytest.mark.parametrize(
    ("rows", "scheme", "message"),
    [
        (FLAT, "metahosts", "offsets 'metahosts': must be one of single, flat, hierarchical"),
        ([], "flat", "built: no clocks were compared; --offsets flat must be asked of a recorded run of several clocks"),
        (FLAT, "hierarchical", "built: clocks were compared by the scheme flat; for --offsets hierarchical they must be"),
        ([ROOT, *FLAT[1:3], *NEAR], "flat", "built: clocks were compared by the scheme hierarchical; for --offsets flat they must be"),
        ([ROOT, *FLAT[1:3], *NEAR], "single", "built: clocks were compared by the scheme hierarchical; for --offsets single they must be"),
        ([ROOT, FLAT[1], FLAT[3]], "flat", "built: clocks were compared by the scheme single; for --offsets flat they must be"),
    ],
)
def test_chosen__refused(rows, scheme, message):
    with pytest.raises(UsageError) as error:
        chosen(trace_with(*rows), scheme)
    assert str(error.value).removesuffix(" by that one, or all (perwiz record --offsets)") == message


def test_combined__worked_by_hand():
    """PATTERNS 8.11: node to local master +3, local master to metamaster -10, so -7. What each is wrong by adds up."""
    found = combined(readings(ROOT, (1, 0, 1000, -10_000), (2, 1, 1500, 3_000)))
    assert found.location.tolist() == [0, 1, 2]
    assert found.offset.tolist() == [0.0, -10.0, -7.0]
    assert found.time.tolist() == [0, 1000, 1500]
    assert found.error.tolist() == [0.004, 0.008, 0.012]


def test_combined__drift_of_the_master():
    """The local master gains 1 in 1000; its node was read in between, at 500 and 2500 of its own time, 100 ahead."""
    found = combined(readings(ROOT, (1, 0, 0, 0), (1, 0, 4000, 4), (2, 1, 500, -100), (2, 1, 2500, -100)))
    rows = found.location == 2
    assert found.time[rows].tolist() == [500, 2500]
    assert found.offset[rows].tolist() == [-0.1, -0.098]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROOT, (2, 1, 0, 5)], "location 2: its clock was compared with that of location 1, and that with no other; it must be"),
        (
            [ROOT, (1, 2, 0, 5), (2, 1, 0, 1)],
            "location 1: its clock was compared in a circle, by way of location 1; one must be that of all",
        ),
    ],
)
def test_combined__refused(rows, message):
    with pytest.raises(ClockError) as error:
        combined(readings(*rows))
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

    def compare(self, slave, master, true):
        """Return a reading by ten ping-pongs of a slave: (slave, master, time, offset), that with the shortest round trip."""
        uneven = int(self.rng.uniform(-ASYMMETRY, ASYMMETRY)) if METAHOSTS[slave] != METAHOSTS[master] else 0
        trips = []
        for turn in range(10):
            begin = true + 10_000_000 * turn
            there = begin + self.takes(slave, master) + uneven
            back = there + self.takes(master, slave) - uneven
            sent, came = self.clock(slave, begin), self.clock(slave, back)
            middle = sent + (came - sent) // 2
            trips.append((came - sent, middle, self.clock(master, there) - middle))
        return slave, master, *min(trips)[1:]

    def readings(self):
        """Return the comparisons of all schemes: each node with the first, and with the first of its metahost. Processes share them."""
        rows = [(0, tables.NONE, 0, 0), (1, tables.NONE, 0, 0)]
        for node in range(1, 14):
            near = 0 if node < 8 else 16
            found = [
                self.compare(2 * node, master, true)
                for master in dict.fromkeys([0, near if 2 * node != near else 0])
                for true in (0, RUN - 10**9)
            ]
            rows += [(2 * node + more, *row[1:]) for more in (0, 1) for row in found]
        return readings(*rows)

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
    trace = dataclasses.replace(viola.benchmark(), readings=viola.readings(), offsets_applied=False)
    found = [violations(trace, apply(chosen(trace, scheme)).timeline).messages for scheme in SCHEMES]
    assert found[0] > 2 * found[1] > 0
    assert found[2] == 0
