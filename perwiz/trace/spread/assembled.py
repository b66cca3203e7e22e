"""The part of a trace, put together from what a process has read of its locations and what it knows from others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from perwiz.trace.arrays import I8
from perwiz.trace.defects import in_order
from perwiz.trace.resources import give_back
from perwiz.trace.spread.matched import Instances, Places
from perwiz.trace.spread.part import LINK_ENDS, Piece, Tied, joined
from perwiz.trace.spread.team import Team, gathered, texts
from perwiz.trace.tables import Defects, Links, Messages
from perwiz.trace.trace import Counts, Trace

_APART = "\0"
_OF_INSTANCES = ("incomplete", "unmatched", "rootless")
"""What is counted of instances; told for all processes as soon as they are matched."""
_OF_TEAMS = 1 << 61
"""Numbers of the barriers of threads begin here: they stand behind the instances of processes."""


class AskedWholeError(Exception):
    """All processes must read all locations, and come to know it together."""


def assembled(places: Places, own: Trace, messages: Tied, found: Instances) -> Trace:
    """Return the part of a trace, given what is about the locations of this process: calls that count from 0, and no messages.

    Its first instances are those `found`; behind them stand barriers of threads, which are here alone.
    """
    team = places.team
    links = Tied(
        {name: getattr(own.links, name).astype("i8") + places.begin for name in LINK_ENDS},
        {"kind": own.links.kind},
        np.arange(len(own.links)) + _before(team, len(own.links)),
    )
    instances, sizes, order = _instances(team, own, found)
    here = int(places.has(messages.calls["receive_done"]).sum())
    counted = {
        "messages": here,
        "regions": len(own.regions),
        "links": len(own.links),
        "collectives": int((found.places == 0).sum()) + len(own.collectives) - len(found.rows),
        "members": len(own.members),
        "calls": len(own.calls),
    }
    totals = team.reduce(np.array([*counted.values()], "i8"), "sum").tolist()
    faults = (fault for each in texts(team, _APART.join(own.faults)) for fault in each.split(_APART) if fault)
    columns = (np.concatenate(gathered(team, getattr(own.defects, field.name))) for field in dataclasses.fields(Defects))
    own = dataclasses.replace(
        own, links=Links.empty(), messages=Messages.empty(), defects=in_order(Defects(*columns)), faults=tuple(faults)
    )
    count = dict(zip(counted, totals, strict=True))
    give_back(len(own.calls))
    return joined(team, Piece(own, places.bounds, places.first, messages, links, instances, sizes, order, count))


def _instances(team: Team, own: Trace, found: Instances) -> tuple[I8, I8, I8]:
    """Return the numbers of instances in the whole trace, how many members they have there, and the place of each member here."""
    table, members, known = own.collectives, own.members, len(found.rows)
    sizes = np.diff(np.append(table.first_member, len(members))).astype("i8")
    teams = len(table) - known
    rows = _OF_TEAMS + _before(team, teams) + np.arange(teams)
    order = np.arange(len(members)) - table.first_member[members.collective]
    order[: len(found.places)], sizes[:known] = found.places, found.sizes
    return np.concatenate([found.rows, rows]), sizes, order.astype("i8")


def totals(team: Team, own: Counts, found: Instances, known: Mapping[str, int]) -> Counts:
    """Return what readers met together, given what this one did; some counts are `known` for all."""
    names = [field.name for field in dataclasses.fields(Counts)]
    sums = dict(zip(names, team.reduce(np.array([getattr(own, name) for name in names], "i8"), "sum").tolist(), strict=True))
    for name in _OF_INSTANCES:
        sums[f"{name}_collectives"] -= (team.size - 1) * getattr(found, name)
    return Counts(**sums | dict(known))


def _before(team: Team, count: int) -> int:
    """Return how many of something the processes before this one have."""
    return sum(int(each[0]) for each in gathered(team, np.array([count]))[: team.rank])


def alike(team: Team, own: tuple[str, ...]) -> tuple[I8, tuple[str, ...]]:
    """Return which number each of some texts has among those of all processes, in the order of these, and all texts."""
    every = dict.fromkeys(text for each in texts(team, _APART.join(own)) for text in (each.split(_APART) if each else ()))
    number = {text: row for row, text in enumerate(every)}
    return np.array([number[text] for text in own], "i8"), tuple(every)
