"""Recorded instances of collectives as costs look at them: who takes part, where, with how many bytes; and what a model says of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.loggps import collectives, rounds
from perwiz.loggps.collectives import ALL, OTHERS, ROOT
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model
from perwiz.loggps.rounds import Collectives
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, U1, U2, Mask
from perwiz.trace.numbers import Numbers, places
from perwiz.trace.resources import remembered
from perwiz.trace.trace import Trace

_PARTS = np.array(["gather" in name.lower() or "scatter" in name.lower() or "alltoall" in name.lower() for name in operations.OPS])
"""Per op: each process has its part of the bytes, and somebody has all."""


_ALLREDUCE = operations.OP["MPI_Allreduce"]
_ONE_VECTOR = [operations.OP["MPI_Bcast"], operations.OP["MPI_Reduce"]]
"""Of which one end has the vector, and the other, as some formats count, as many as there are processes."""


class Parts(NamedTuple):
    """Members of collectives, rows of Members."""

    row: I8
    collective: I8
    op: U2
    processes: I8
    members: U1
    """Row of `collectives.MEMBERS`."""
    size: I8
    """Bytes: of the parts of all where each has its own, such as an alltoall or gather; else of the one vector."""


def parts(trace: Trace, row: I8) -> Parts:
    """Return what is known of some members."""
    table = trace.collectives
    collective = trace.members.collective[row].astype("i8")
    op, call = table.op[collective], trace.members.call[row]
    kind = operations.KIND[op]
    rooted = ((kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)) & (table.root[collective] >= 0)
    is_root = trace.locations.process[trace.calls.location[call]] == table.root[collective]
    members = np.where(rooted, np.where(is_root, ROOT, OTHERS), ALL).astype("u1")
    return Parts(row, collective, op, processes(trace)[collective], members, sizes(trace)[collective])


def processes(trace: Trace) -> I8:
    """Return of how many processes each instance is, int64: of one if it is a barrier of the threads of a process, which send nothing."""
    return np.append(trace.communicators.sizes(), 1)[trace.collectives.comm]


@remembered(2)
def sizes(trace: Trace) -> I8:
    """Return the bytes of each instance.

    Formats differ in what the two ends of a collective count, so of the most that a member sends and the most that one receives the
    larger counts where each process has its part of the bytes, and else the smaller, unless that is 0.

                  most sent  most received
    MPI_Bcast           800            100  of 100 bytes: one format says what all get together
    MPI_Gather          100            800  of 800 bytes
    MPI_Allreduce       800            800  of 100 bytes, where a broadcast or reduction says what all get together; else of 800
    """
    table, members, calls, share = trace.collectives, trace.members, trace.calls, trace.share
    if not share.any(len(table)):
        return np.zeros(0, "i8")
    most_of = (np.maximum.reduceat(column[members.call], table.first_member) for column in (calls.bytes_sent, calls.bytes_received))
    sent, received = (share.over_instances(column, "max") for column in most_of)
    most, least = np.maximum(sent, received), np.minimum(sent, received)
    size = np.where(_PARTS[table.op] | (least == 0), most, least)
    count = processes(trace)
    one = np.isin(table.op, _ONE_VECTOR) & (least > 0) & (count > 1)
    summed = (table.op == _ALLREDUCE) & (size % count == 0)
    contradicted = share.any((most != count * least)[one].any())
    return np.where(summed, size // count, size) if share.any(one.any()) and not contradicted else size


def work(trace: Trace, row: I8, model: Model, network: Model | None = None, placed: Trace | None = None) -> I8:
    """Return the ns of the parts of some members (rows of Members): under the model of the run, or that on another network.

    `placed` is the trace with its locations elsewhere.

    What the model found for the routine, or else what the likely algorithm costs under its letters; on another network the former
    times what that costs there, over what it costs here. What was found beyond the most that messages take stays.
    """
    if not trace.share.any(len(row)):
        return np.zeros(0, "i8")
    kind, kinds = alike(trace)
    fitted = _found(model, kinds)
    of = parts(trace, row)
    kind = kind[of.collective]
    known = ~np.isnan(fitted)
    there, here = np.zeros((2, len(kinds.op), 1), "i8")
    needed = np.unique(kind[~known[kind, of.members]] if network is None else kind)
    some = kinds.take(needed)
    likely_ones = _chosen(model, some, fitted[needed])
    elsewhere = some if placed is None else alike(placed)[1].take(needed)
    there[needed, 0] = rounds.cost(network or model, elsewhere, likely_ones)
    if network is None:
        return np.where(known, np.rint(fitted), there).astype("i8")[kind, of.members]
    here[needed, 0] = rounds.cost(model, some, likely_ones)
    explained = np.minimum(fitted, np.maximum(rounds.at_most(model, kinds)[:, None], here))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = fitted - explained + np.where(here > 0, explained * (there / here), there)
    return np.where(known, np.rint(scaled), there).astype("i8")[kind, of.members]


class Forms(NamedTuple):
    """What `work` says of members of collectives on any network of the same limits, made of what is alike."""

    group: I8
    """Per member: its row of the columns below."""
    kind: I8
    """Row of `sums`."""
    known: Mask
    """Whether the model found what it costs."""
    now: I8
    """ns on the network of the run."""
    stays: F8
    """ns that no network changes."""
    explained: F8
    """ns that grow as `sums` do."""
    here: I8
    """ns of `sums` on the network of the run."""
    sums: rounds.Sums


def forms(trace: Trace, row: I8, model: Model) -> Forms:
    """Return how the parts of some members (rows of Members) depend on the letters, where messages do not move once posted."""
    kind, kinds = alike(trace)
    fitted = _found(model, kinds)
    of = parts(trace, row)
    alone, group = np.unique(kind[of.collective] * len(collectives.MEMBERS) + of.members, return_inverse=True)
    kind_of, members = np.divmod(alone, len(collectives.MEMBERS))
    chosen_ones = _chosen(model, kinds, fitted)
    here, most = rounds.cost(model, kinds, chosen_ones)[kind_of], rounds.at_most(model, kinds)[kind_of]
    found = fitted[kind_of, members]
    known = ~np.isnan(found)
    found = np.where(known, found, 0.0)
    explained = np.minimum(found, np.maximum(most, here))
    now = np.where(known, np.rint(found), here).astype("i8")
    return Forms(group.ravel(), kind_of, known, now, found - explained, explained, here, rounds.sums(kinds, chosen_ones))


def likely(trace: Trace, model: Model) -> list[str]:
    """Return the likely algorithm per routine, processes and bytes of a trace's collectives that move data, in words."""
    if model.progress == POSTED and len(trace.collectives):
        return ["as SMPI makes them by default: all messages at once, broadcasts along a binomial tree"]
    kinds = alike(trace)[1]
    kinds = kinds.take(rounds.MOVES[kinds.op] & (kinds.processes > 1))
    of_kind = chosen(model, kinds)
    lines: dict[tuple[int, int, int], list[int]] = {}
    for row in np.lexsort((kinds.size, kinds.processes, kinds.op)).tolist():
        lines.setdefault((int(kinds.op[row]), int(kinds.processes[row]), int(of_kind[row])), []).append(int(kinds.size[row]))
    return [_line(*key, sizes) for key, sizes in lines.items()]


def _line(op: int, processes: int, algorithm: int, sizes: list[int]) -> str:
    low, high = sizes[0], sizes[-1]
    many = f" of {low} bytes" if low == high else f" of {low} to {high} bytes"
    return f"{operations.OPS[op]}{many if high else ''} of {processes} processes: {rounds.words(algorithm)}"


def _found(model: Model, kinds: Collectives) -> F8:
    """Return the ns that the model found, per kind and, as columns, members."""
    columns = [np.full(len(kinds.op), members, "u1") for members in (ALL, ROOT, OTHERS)]
    return np.stack([collectives.found(model.collectives, kinds.op, kinds.processes, members, kinds.size) for members in columns], 1)


def chosen(model: Model, kinds: Collectives) -> I8:
    """Return the likely algorithm of each kind, as `rounds.choose` numbers them."""
    return _chosen(model, kinds, _found(model, kinds))


def _chosen(model: Model, kinds: Collectives, fitted: F8) -> I8:
    """Return the likely algorithms; the members that take longest tell them."""
    return rounds.choose(model, kinds, np.fmax(fitted[:, ALL], np.fmax(fitted[:, ROOT], fitted[:, OTHERS])))


@remembered(2)
def alike(trace: Trace) -> tuple[I8, Collectives]:
    """Return (the kind of each instance, the kinds): instances of one routine, communicator and size are alike."""
    table = trace.collectives
    values, size = np.unique(sizes(trace), return_inverse=True)
    comms = len(trace.communicators) + 1
    keys, kind = np.unique((size.ravel() * comms + table.comm + 1) * len(operations.OPS) + table.op, return_inverse=True)
    pair, op = np.divmod(keys, len(operations.OPS))
    value, comm = np.divmod(pair, comms)
    nodes, metahosts, count = (np.append(1, of_comm)[comm] for of_comm in (*spread(trace), trace.communicators.sizes()))
    return kind.ravel(), Collectives(op.astype("u2"), count, values[value], nodes, metahosts)


def spread(trace: Trace) -> tuple[I8, I8]:
    """Return on how many nodes and metahosts the processes of each communicator are, at least 1."""
    comms, locations = trace.communicators, trace.locations
    comm = np.repeat(np.arange(len(comms)), comms.sizes())
    ranks, first = np.unique(locations.process, return_index=True)
    there = np.isin(comms.ranks, ranks)
    comm, place = comm[there], first[places(ranks, comms.ranks[there])]
    metahost = locations.metahost[place]
    return _distinct(comm, len(comms), Numbers().number(metahost, locations.node[place])), _distinct(comm, len(comms), metahost)


def _distinct(comm: I8, comms: int, place: I4) -> I8:
    """Return at how many places each communicator is, at least 1, given a row for each of its processes."""
    numbers = Numbers()
    numbers.number(comm, place)
    return np.maximum(np.bincount(numbers.pairs[:, 0], minlength=comms), 1)
