"""What SQL sums up is what a loop over the records sums up, whatever is chosen, on both databases."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict

import pytest

from counters import NOON, job
from perwiz.jobs.record import Counts
from perwiz.jobs.routines import GROUPS, group
from perwiz.jobs.store import ingest, overview, query
from perwiz.jobs.store.ingest import cpu_class, size_class
from perwiz.jobs.store.query import Choice, Reference, Share

DAY = 86_400
NAMES = ["send", "irecv", "waitall", "bcast", "comm_dup", "init", "frobnicate"]


def made(number=60):
    draw = random.Random(4)
    out = []
    for k in range(number):
        size, cpu = draw.choice([1, 2, 3, 4, 7, 48]), draw.choice([0.0, 0.5, 9.0, 10.0, 99_999.0])
        routines = {name: Counts(*(float(draw.randrange(100)) for _ in range(5))) for name in draw.sample(NAMES, draw.randrange(5))}
        ended = NOON - draw.randrange(40) * DAY
        changes = {"user": draw.choice("abc"), "program": draw.choice(["./a", "/opt/a", "/opt/b_c", "/opt/bxc"]), "size": size, "all": cpu}
        changes |= {"inside": cpu * draw.choice([0, 0.15, 0.5]), "began": ended - 10, "ended": ended, "routines": routines}
        changes |= {"language": draw.choice(["C", "Fortran", ""]), "machine": draw.choice(["hawk", "t3e"]), "pmpi": k % 5 == 0}
        out.append(job(k, **changes, environment={name: "1" for name in "XYZ" if draw.random() < 0.3}))
    return out


RECORDS = made()
CHOICES = [
    Choice(),
    Choice(since=NOON - 20 * DAY),
    Choice(since=NOON - 20 * DAY, until=NOON - 5 * DAY),
    Choice(user="a"),
    Choice(user="a", since=NOON - 20 * DAY),
    Choice(machine="hawk", language="C"),
    Choice(program="a"),
    Choice(program="b_c"),
    Choice(program="./a", size=4),
    Choice(cpu=10),
    Choice(critical=0.15),
    Choice(user="nobody"),
]


def kept(choice):
    """Return the records chosen, one by one."""
    out = []
    for one in RECORDS:
        equal = all(
            wanted is None or wanted == value
            for wanted, value in zip(
                (choice.machine, choice.user, choice.language, choice.size), (one.machine, one.user, one.language, one.size), strict=True
            )
        )
        program = choice.program is None or one.program == choice.program or one.program.endswith("/" + choice.program)
        since = (choice.since or 0) <= one.ended and (choice.until is None or one.ended < choice.until)
        critical = not choice.critical or (one.all > 0 and one.inside >= choice.critical * one.all)
        out += [one] if equal and program and since and critical and one.all >= choice.cpu else []
    return out


@pytest.fixture
def filled(jobs):
    assert ingest.ingest(jobs, RECORDS).added == len(RECORDS)
    return jobs


@pytest.mark.slow
def test_law__as_a_loop_sums_up(filled):
    for choice in CHOICES:
        check(filled, choice)


def check(jobs, choice):
    wanted = kept(choice)
    sums = defaultdict(lambda: [0, Counts(0, 0, 0, 0, 0)])
    for one in wanted:
        for name, counts in one.routines.items():
            sums[name][0] += 1
            sums[name][1] = Counts(*(a + b for a, b in zip(sums[name][1], counts, strict=True)))
    assert {one.name: [one.jobs, one.counts] for one in query.used(jobs, choice)} == sums, choice
    cells = query.cells(jobs, choice)
    check_overview(cells, wanted, query.switches(jobs))
    users = {one.name: one for one in query.shares(jobs, choice, "user")}
    for name in {one.user for one in wanted}:
        own = [one for one in wanted if one.user == name]
        figures = (len(own), sum(one.size for one in own), sum(one.all for one in own), pytest.approx(sum(one.inside for one in own)))
        assert users.pop(name) == Share(name, *figures)
    assert users == {}
    found = query.jobs(jobs, choice, 9)
    assert [one.ended for one in found] == sorted((one.ended for one in wanted), reverse=True)[:9]
    longest = query.jobs(jobs, choice, 9, by="mpi")
    assert [one.mpi for one in longest] == sorted((one.inside for one in wanted), reverse=True)[:9]


def check_overview(cells, wanted, switches):
    total = overview.total(cells)
    assert (total.jobs, total.processes) == (len(wanted), sum(one.size for one in wanted))
    figures = (sum(one.all for one in wanted), sum(one.inside for one in wanted), sum(one.size * one.all for one in wanted))
    assert (total.cpu, total.mpi, total.weighted) == pytest.approx(figures)
    assert sum(cell.pmpi for cell in cells) == sum(one.pmpi for one in wanted)
    for name, sums in overview.by_language(cells).items():
        assert sums.jobs == sum((one.language or "unknown") == name for one in wanted)
    by_group = overview.by_group(cells)
    for name in GROUPS:
        assert (by_group[name].jobs if name in by_group else 0) == sum(any(group(r) == name for r in one.routines) for one in wanted)
    found = overview.by_switch(cells, switches)
    assert found == {name: count for name in "XYZ" if (count := sum(name in one.environment for one in wanted))}
    assert sum(sums.jobs for sums in overview.by_size(cells).values()) == sum(sums.jobs for sums in overview.by_cpu(cells).values())


def test_reference(jobs):
    # Of a program on 4 processes: shares of MPI 0.1, 0.5, 0.5 and 0.9, and one of another size and one of another program.
    shares = {1: 10, 2: 50, 3: 50, 4: 90}
    records = [job(pid, inside=mpi, all=100 + pid) for pid, mpi in shares.items()]
    ingest.ingest(jobs, [*(r._replace(inside=r.inside * r.all / 100) for r in records), job(5, size=8), job(6, program="./ice")])
    found = {one.pid: query.reference(jobs, one) for one in query.jobs(jobs, Choice(), 9)}
    assert dataclasses.astuple(found[3]) == pytest.approx((3, 1, 2, 0.1, 0.5, 0.9))
    assert found[5] == found[6] == Reference(0, 0, 0, 0, 0, 0)


def test_interval(jobs):
    assert query.interval(jobs) is None
    ingest.ingest(jobs, [job(1), job(2, began=NOON, ended=NOON + 7)])
    assert query.interval(jobs) == (NOON, NOON + 7)


def test_classes():
    assert [overview.size_name(size_class(size)) for size in (1, 2, 3, 4, 5, 7, 8, 9, 64, 65, 127, 512)] == [
        *("1", "2", "3", "4", "5-7", "5-7", "8", "9-15", "64", "65-127", "65-127", "512")
    ]
    assert [overview.cpu_name(cpu_class(s)) for s in (0, 0.1, 9.9, 10, 99, 100, 1e5)] == ["< 10 s"] * 3 + ["10^1 s"] * 2 + [
        "10^2 s",
        "10^5 s",
    ]


def test_top_users():
    users = [Share(str(k), 1, 1, cpu, 0) for k, cpu in enumerate([80, 12, 4, 4])]
    assert overview.top(users) == [(0.96, 3), (1.0, 4)]
    assert overview.top([Share("a", 1, 1, 5, 0)]) == [(1.0, 1)]
    assert overview.top([]) == overview.top([Share("a", 1, 1, 0, 0)]) == []
