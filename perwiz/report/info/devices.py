"""What `perwiz info --devices` tells: how well the devices of processes are used, and whose kernels take longest."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.patterns.analysis.devices import Devices
from perwiz.report.info import stragglers
from perwiz.report.info.stragglers import StragglersOf
from perwiz.report.pipelines import Pipeline, facts, pipeline
from perwiz.report.records import Natural, Positive, Record, Share
from perwiz.trace.trace import Trace

_MOST = 40
"""Rows of a table."""


class DeviceOf(Record):
    """The device of a process: all of its streams."""

    rank: Natural
    kernels_ns: Natural
    """A kernel or copy is under way."""
    exposed_ns: Natural
    """Communication, and no kernel."""
    idle_ns: Natural
    """Neither."""
    unlaunched_ns: Natural
    """Of it, until what comes next is launched."""
    slowest: Natural
    """Steps in which its kernels take longest of all."""


class GroupOf(Record):
    """The ranks of a communicator, or process group."""

    name: str
    ranks: Positive
    kernels_ns: Natural
    """Mean of them."""


class DevicesOf(Record):
    """What devices do; efficiency is the product of the three below it."""

    devices: bool
    """Whether there are; else threads are counted, whose computation are the kernels."""
    efficiency: Share
    """Mean of kernels by the time."""
    load_balance: Share
    """Mean of kernels by the most."""
    communication: Share
    """Most kernels by the most of kernels and exposed communication."""
    supply: Share
    """That by the time."""
    steps: Natural
    """Of training, or else iterations."""
    ranks: list[DeviceOf]
    groups: list[GroupOf]
    """Of several ranks, but not of all."""
    stragglers: StragglersOf | None
    """Null of one rank, or without steps."""
    pipeline: Pipeline | None
    """What stages lose; null if there are none."""


def devices_of(trace: Trace, found: Devices) -> DevicesOf:
    """Return what is told of devices."""
    slowest = np.bincount(found.steps.argmax(axis=1), minlength=len(found.rank)) if len(found.steps) else np.zeros(len(found.rank), "i8")
    columns = (found.rank, found.kernels, found.exposed, found.idle, found.unlaunched, slowest)
    comms, groups = trace.communicators, []
    for row, name in enumerate(comms.names):
        own = np.isin(found.rank, comms.members(row))
        if 1 < own.sum() < len(own):
            groups.append(GroupOf(name=name, ranks=int(own.sum()), kernels_ns=int(found.kernels[own].mean())))
    shares = {name: round(getattr(found, name), 6) for name in ("efficiency", "load_balance", "communication", "supply")}
    ranks = [DeviceOf(*map(int, row)) for row in zip(*columns, strict=True)]
    over = stragglers.stragglers_of(found.rank, found.steps, comms)
    return DevicesOf(
        devices=found.told, steps=len(found.steps), ranks=ranks, groups=groups, stragglers=over, pipeline=pipeline(trace), **shares
    )


def lines(told: DevicesOf) -> list[str]:
    """Return the factors, the ranks by their kernels, longest first, and the groups likewise."""
    mean = sum(one.kernels_ns for one in told.ranks) / len(told.ranks)
    what, kernels = ("devices", "kernels") if told.devices else ("threads", "computation")
    parts = {"load balance": told.load_balance, "communication": told.communication, "supply": told.supply}
    factors = ", ".join(f"{name} {value:.3f}" for name, value in parts.items())
    none = [] if told.devices else [("devices", "none in this trace; below is what its processes compute")]
    out = words.facts([*none, (what, f"efficiency {told.efficiency:.3f}, the product of {factors}"), *facts(told.pipeline)])
    launched = any(one.unlaunched_ns for one in told.ranks)
    head = ["rank", kernels, "of mean", "slowest in", "not hidden", "idle", *(["not launched"] if launched else [])]
    rows = []
    for one in sorted(told.ranks, key=lambda one: (-one.kernels_ns, one.rank))[:_MOST]:
        often = f"{one.slowest} of {told.steps}" if told.steps else "-"
        times = map(words.duration, (one.exposed_ns, one.idle_ns, *([one.unlaunched_ns] if launched else [])))
        rows.append([str(one.rank), words.duration(one.kernels_ns), _share(one.kernels_ns, mean), often, *times])
    out += ["", *words.table(head, rows)]
    out += [f"and {len(told.ranks) - _MOST} more (--json lists all)"] * (len(told.ranks) > _MOST)
    if told.groups:
        listed = sorted(told.groups, key=lambda one: -one.kernels_ns)[:_MOST]
        cells = [
            [words.shown(g.name), str(g.ranks), words.duration(g.kernels_ns), f"{g.kernels_ns / mean:.2f}" if mean else "-"] for g in listed
        ]
        out += ["", *words.table(["group", "ranks", f"{kernels} of one", "of mean"], cells)]
    if told.stragglers:
        out += ["", *stragglers.lines(told.stragglers, told.steps, kernels)]
    return out


def _share(value: int, mean: float) -> str:
    return f"{value / mean:.2f}" if mean else "-"
