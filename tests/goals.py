"""Small schedules in GOAL: random ones, and the binary form that txt2bin makes of them."""

import functools
import operator
import os
import struct
import tempfile

import numpy as np
from hypothesis import strategies as st

from perwiz.formats.goal import text
from perwiz.formats.goal.schedule import CALC, Schedule
from perwiz.kernels.semantics_events import COLLECTIVE
from perwiz.loggps.schedules import Meetings, behind


def text_of(blocks):
    """Return the text of a schedule, given the lines of each rank."""
    body = "".join(f"rank {rank} {{\n" + "".join(f"{line}\n" for line in lines) + "}\n" for rank, lines in enumerate(blocks))
    return f"num_ranks {len(blocks)}\n{body}"


def read(content):
    """Return the schedule of a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.goal")
        with open(path, "w") as file:
            file.write(content)
        return text.read(path)


@st.composite
def texts(draw, units=1, wild=True, chained=False):
    """Draw a schedule whose messages all have both ends; of `units` processors and network interfaces; each one needs the one before it."""
    ranks = draw(st.integers(2, 4))
    blocks, last = [[] for _ in range(ranks)], [0] * ranks

    def add(rank, what):
        last[rank] += 1
        of = last[rank]
        unit = draw(st.integers(0, 2 * units))
        where = "" if unit >= units else f" cpu {unit}" if what.startswith("calc") else f" cpu {unit} nic {units - 1 - unit}"
        blocks[rank].append(f"l{of}: {what}{where}")
        if chained and of > 1:
            blocks[rank].append(f"l{of} requires l{of - 1}")
        for _ in range(draw(st.integers(0, min(2, of - 1)))):
            how = draw(st.sampled_from(["requires", "requires", "irequires"]))
            blocks[rank].append(f"l{of} {how} l{draw(st.integers(max(1, of - 3), of - 1))}")

    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            add(draw(st.integers(0, ranks - 1)), f"calc {draw(st.sampled_from([0, 1, 100, 7000]))}")
            continue
        sender, receiver = draw(st.permutations(range(ranks)))[:2]
        size, tag = draw(st.sampled_from([1, 8, 100, 1000])), draw(st.integers(0, 1))
        any_of = wild and draw(st.integers(0, 9)) == 0
        add(sender, f"send {size}b to {receiver} tag {tag}")
        add(receiver, f"recv {size}b from {-1 if any_of else sender} tag {-1 if any_of else tag}")
    return text_of(blocks)


def binary_of(schedule):
    """Return a schedule as txt2bin writes it."""
    ranks, at, bodies = schedule.ranks, 6 + 16 * schedule.ranks, []
    for rank in range(ranks):
        rows = [k for k in range(len(schedule)) if schedule.rank[k] == rank]
        first = rows[0] if rows else 0
        needs = {k: [] for k in rows}
        listed = {(k, starts): [] for k in rows for starts in (0, 1)}
        for op, on, starts in zip(schedule.op.tolist(), schedule.on.tolist(), schedule.starts.tolist(), strict=True):
            if op in needs:
                needs[op].append(on)
                listed[on, starts].append(op - first)
        free = [k - first for k in rows if not needs[k]]
        head = struct.pack(f"<II{len(free)}I", len(rows), len(free), *free)
        appendix, nodes = [], b""
        for k in rows:
            cells = []
            for starts in (0, 1):
                cells += [len(listed[k, starts]), len(appendix) if listed[k, starts] else 999]
                appendix += listed[k, starts]
            kind = int(schedule.kind[k])
            peer, tag = (0, 0) if kind == CALC else (int(schedule.peer[k]), int(schedule.tag[k]))
            peer, tag = (2**32 - 1 if value == -2 else value for value in (peer, tag))
            units = int(schedule.cpu[k]), int(schedule.nic[k])
            nodes += struct.pack("<IBIQIBB4I", len(needs[k]), kind, peer, int(schedule.size[k]), tag, *units, *cells)
        bodies.append(head + nodes + struct.pack(f"<{len(appendix)}I", *appendix))
    places = b""
    for body in bodies:
        places += struct.pack("<QQ", at, at + len(body))
        at += len(body)
    return struct.pack("<QIBB", 4223, ranks, 0, 0) + places + b"".join(bodies)


def met(program, ranks):
    """Return a schedule of (ns before it, what, members, bytes), each a collective, and what is known of these.

    The first of the members is the root of a `reduce`.
    """
    rows = [[] for _ in range(ranks)]
    for number, (before, what, members, size) in enumerate(program):
        for r in members:
            rows[r] += [(CALC, before, -1, 0), (COLLECTIVE, size, members[0] if what == "reduce" else -1, number)]
    rank = np.repeat(np.arange(ranks, dtype="i4"), [len(each) for each in rows])
    kind, size, peer, tag = (np.array(column) for column in zip(*functools.reduce(operator.iadd, rows, []), strict=True))
    zero, op = np.zeros(len(rank), "i4"), np.flatnonzero(np.diff(rank, prepend=-1) == 0).astype("i4")
    columns = (kind.astype("u1"), rank, size, peer.astype("i4"), tag.astype("i4"), zero, zero, op, op - 1, np.zeros(len(op), "u1"))
    processes = np.array([len(members) for _, _, members, _ in program])
    comms = [frozenset(members) for _, _, members, _ in program]
    comm, reduces = np.array([comms.index(one) for one in comms]), np.array([what == "reduce" for _, what, _, _ in program])
    posts = np.array([what == "posted" for _, what, _, _ in program])
    return Schedule("x", ranks, *columns), Meetings(processes, posts, behind(comm, reduces))
