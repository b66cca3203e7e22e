"""What messages cost: another network, senders that are not held, and settings of the library: its eager limit, and its progress."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from perwiz.clock.latency import distance
from perwiz.kernels.names import NODE
from perwiz.loggps.keys import PAIRS
from perwiz.loggps.machine import Machine
from perwiz.loggps.pairs import classes, sent
from perwiz.loggps.progress import moving
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import distinct
from perwiz.trace.spread.share import ALONE, Share
from perwiz.trace.tables import NONE, READY, STANDARD
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.waits import held
from perwiz.whatif.ranking.change import CLOSE, Asker, Change, NotTriedError

_WIRE = {"L_ns": "L", "G_ns_per_byte": "G"}
_HALVED = {"L_ns": "half the latency", "G_ns_per_byte": "twice the bandwidth"}
_FREE = {"L_ns": "no latency", "G_ns_per_byte": "infinite bandwidth"}
_LIBRARY = operations.MPI | operations.SHMEM
"""Per op: a routine of a library whose messages perwiz measures."""
_SITES = 8
"""Call sites that are tried: those whose sends wait longest."""
_FREED = (0.5, CLOSE, 1.0)
"""Parts of the waiting of held senders that eager limits which are tried would free."""
_UNITS = ("", "KiB", "MiB", "GiB")


def network(asker: Asker) -> list[Change]:
    """Return what gains if the network between pairs of a class were twice as fast, where one number that the trace tells says that, or
    infinitely fast.

    Raises NotTriedError with what gains at best, if of a class nothing tells what could be halved.
    """
    out, untold, share = list[Change](), list[str](), asker.run.trace.share
    for wire in _wires(asker.run.trace, asker.run.machine):
        untold += [f"{wire.prefix}{key}" for key in wire.unsure]
        if wire.halves:
            out.append(asker.change("network", "pairs", f"network {wire.halved}", f"{_named(_HALVED, wire.halves)}{wire.where}"))
        guess = f" (how much {' and '.join(wire.unsure)} is the trace does not tell)" if wire.unsure else ""
        out.append(asker.change("network", "pairs", f"network {wire.none}", f"{_named(_FREE, wire.some)}{wire.where}{guess}", at_most=True))
    gaining = [change for change in out if change.makespan < asker.run.makespan]
    if untold and gaining and all(change.at_most for change in gaining):
        measure = ": measure with perwiz calibrate" if share.any(_LIBRARY[asker.run.trace.calls.op[share.calls]].any()) else ""
        raise NotTriedError(f"half of {' and '.join(untold)}, which the trace does not tell{measure}", gaining)
    return gaining


@dataclasses.dataclass(frozen=True)
class _Wire:
    """What the network between pairs of a class costs, keys of the model, and what stands for it."""

    prefix: str
    """Before keys, empty if no other class is there; and"""
    where: str
    """behind words."""
    some: list[str]
    """What is not nothing."""
    unsure: list[str]
    """What of that the trace does not tell."""
    halves: dict[str, float]
    """Half of what of that is one number, and told."""

    @property
    def halved(self) -> str:
        """The changes of the model that halve it."""
        return ",".join(f"{self.prefix}{key}={value!r}" for key, value in self.halves.items())

    @property
    def none(self) -> str:
        """Those that leave nothing of it."""
        return ",".join(f"{self.prefix}{key}=0" for key in self.some)


def _wires(trace: Trace, machine: Machine) -> list[_Wire]:
    """Return what networks cost, of the classes of pairs where they cost anything."""
    have, out = classes(trace), list[_Wire]()
    for pairs in have:
        rows = machine.model.rows_of(pairs)
        costs = {key: {getattr(row, letter) for row in rows} for key, letter in _WIRE.items()}
        some = [key for key, values in costs.items() if max(values) > 0]
        open_ = {one.key for one in machine.unknown if one.pairs in ("", pairs)}
        halves = {key: min(costs[key]) / 2 for key in some if key not in open_ and len(costs[key]) == 1}
        prefix, where = (f"{pairs}:", f" {pairs.replace('-', ' ')}") if len(have) > 1 else ("", "")
        out += [_Wire(prefix, where, some, [key for key in some if key in open_], halves)] if some else []
    return out


def let_move(trace: Trace, machine: Machine) -> I8:
    """Return the numbers of the calls that let messages move on the networks that are asked about here, with any eager limit: of a part of
    a run other processes are to know them.
    """
    model, wires = machine.model, _wires(trace, machine)
    largest = trace.share.most(int(trace.messages.bytes.max(initial=0)))
    networks = ("", ",".join(wire.halved for wire in wires if wire.halves), ",".join(wire.none for wire in wires))
    asked = [",".join(filter(None, each)) for each in itertools.product(networks, ("", f"S_bytes={largest}"))]
    return np.concatenate([moving(trace, model.with_changes(changes) if changes else model, model) for changes in asked])


def _named(words: Mapping[str, str], keys: Iterable[str]) -> str:
    """Return in words what becomes of the costs of a network."""
    return ", ".join(words[key] for key in keys)


def protocol(asker: Asker) -> list[Change]:
    """Return what gains if messages of a call site, or of all, did not hold their sender; if the library had another eager limit, or let
    messages move while their receiver computes.
    """
    run, table = asker.run, asker.run.trace.messages
    messages = distinct(run.graph.cause[held(run.weighted, np.ones(len(table), bool))])
    messages = messages[table.send_done[messages] != NONE]
    share = run.trace.share
    if not share.any(len(messages)):
        return []
    out = [asker.change("protocol", "program", "eager all", "no message holds its sender"), *_limits(asker, messages)]
    if run.weighted.model.progress == "in calls":
        what = "messages move while their receiver computes, as with a thread or hardware that makes progress"
        out.append(asker.change("protocol", "setting", "progress always", what))
    site_of, sites = selectors.sites(run.trace)
    waits = np.zeros(len(sites), "i8")
    np.add.at(waits, site_of[table.send[messages]], run.waits.time[table.send_done[messages]])
    waits = share.reduced(waits, "sum")
    for site in np.argsort(-waits, kind="stable")[:_SITES].tolist():
        question = selectors.joined([f"site:{selectors.site(*sites[site])}"])
        if waits[site] and question:
            out.append(asker.change("protocol", "site", f"eager {question}", f"messages of {selectors.site(*sites[site])} hold nobody"))
    return [change for change in out if change.makespan < run.makespan]


def _limits(asker: Asker, messages: I8) -> list[Change]:
    """Return, of each class of pairs, the smallest power of two of an eager limit that gains about as much as any, of messages, rows, that
    hold their senders.
    """
    trace, model, out = asker.run.trace, asker.run.weighted.model, list[Change]()
    table, location, have = trace.messages, trace.calls.location, classes(trace)
    for pairs in have:
        of_pairs = np.full(len(table), len(have) == 1)
        if not of_pairs.any():
            apart = distance(trace.locations, location[table.send], location[table.receive_done])
            of_pairs = np.maximum(apart, NODE) == NODE + PAIRS.index(pairs)
        every = sent(trace, model, np.flatnonzero(of_pairs))
        rows = messages[of_pairs[messages] & np.isin(table.mode[messages], (STANDARD, READY))]
        rows = rows[model.is_synchronous(sent(trace, model, rows))]
        prefix, where = (f"{pairs}:", f" {pairs.replace('-', ' ')}") if len(have) > 1 else ("", "")
        waits, limit = asker.run.waits.time[table.send_done[rows]], np.array([np.max(model.limit(every), initial=0)])
        largest = trace.share.reduced(limit, "max")[0]
        found = list[Change]()
        for power in _powers(np.maximum(table.bytes[rows], largest), waits, trace.share):
            size = _size(power)
            what = f"messages of up to {size}{' bytes' * size.isdigit()}{where} are eager"
            found.append(asker.change("protocol", "setting", f"eager {prefix}{size}", what))
        least = min((change.makespan for change in found), default=0)
        enough = asker.run.makespan - CLOSE * (asker.run.makespan - least)
        out += [change for change in found if change.makespan <= enough][:1]
    return out


def _powers(size: I8, waits: I8, share: Share = ALONE) -> list[int]:
    """Return the least powers of two that are no less than the sizes, bytes, behind which parts of the waiting stand, ascending.

    Of 3000, 5000 and 70000 bytes that wait 60, 30 and 10: 4096 is half, 8192 nine tenths, and 131072 all.
    """
    sizes, which = np.unique(size, return_inverse=True)
    waits = share.rows(np.bincount(which, waits, minlength=len(sizes)))
    sizes, which = np.unique(share.rows(sizes), return_inverse=True)
    powers, row = np.unique(np.array([1 << (max(one, 1) - 1).bit_length() for one in sizes.tolist()], "i8"), return_inverse=True)
    which = row[which]
    upto = np.cumsum(np.bincount(which, waits, minlength=len(powers)))
    return sorted({int(powers[np.searchsorted(upto, part * upto[-1])]) for part in _FREED}) if len(upto) and upto[-1] else []


def _size(power: int) -> str:
    """Return a power of two as a limit is asked for: 512, 64KiB."""
    steps = min((power.bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{power >> 10 * steps}{_UNITS[steps]}"
