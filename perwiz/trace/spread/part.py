"""The part of a trace that one of several processes has: the calls of its locations, and behind these those of their partners elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.parts.rows import ENDS
from perwiz.trace.spread.share import ALONE, Part, Peers
from perwiz.trace.spread.team import Team
from perwiz.trace.tables import NONE, Calls, Links, Messages, Times
from perwiz.trace.trace import Timeline, Trace

LINK_ENDS = ("cause", "effect")


@dataclasses.dataclass(frozen=True, eq=False)
class Tied:
    """Rows of messages or links with an end here, in the order of the whole trace: numbers there of their calls, and the other columns."""

    calls: Mapping[str, Ints]
    others: Mapping[str, NDArray[Any]]
    rows: Ints
    """Their numbers in the whole trace."""


@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """What a process has before it knows the calls of others."""

    own: Trace
    """Calls of its locations alone, and what is about these; no messages, no links."""
    bounds: I8
    first: I8
    messages: Tied
    links: Tied
    instances: I8
    sizes: I8
    places: I8
    count: dict[str, int]
    """As in `Part`."""
    more: I8 = dataclasses.field(default_factory=lambda: np.zeros(0, "i8"))
    """Numbers of calls to be known beside those that messages and links tie to its own."""


def joined(team: Team, piece: Piece) -> Trace:
    """Return the part of a trace that a process has, given what all of them have before they know the calls of others."""
    own, first, bounds = piece.own, piece.first, piece.bounds
    locations = slice(int(bounds[team.rank]), int(bounds[team.rank + 1]))
    begin, end = int(first[locations.start]), int(first[locations.stop])
    every = (piece.more, *piece.messages.calls.values(), *piece.links.calls.values())
    elsewhere = distinct(np.concatenate([_NO_ROWS, *(call[(call >= 0) & ((call < begin) | (call >= end))] for call in every)]))
    low = int(np.searchsorted(elsewhere, begin))
    calls = slice(low, low + end - begin)
    process = np.searchsorted(bounds, np.searchsorted(first, elsewhere, "right") - 1, "right") - 1
    asked = team.exchange([elsewhere[process == other] for other in range(team.size)])
    row = np.arange(len(elsewhere)) + np.where(np.arange(len(elsewhere)) < low, 0, calls.stop - low)
    shown = Peers(team, [numbers - begin + low for numbers in asked], [row[process == other] for other in range(team.size)])
    members = np.diff(np.append(own.collectives.first_member, len(own.members))).astype("i8")
    share = Part(
        team=team,
        locations=locations,
        bounds=bounds,
        first=first,
        calls=calls,
        elsewhere=elsewhere,
        messages=np.zeros(0, bool),
        message_rows=piece.messages.rows,
        instances=piece.instances,
        sizes=piece.sizes,
        members=members,
        places=piece.places,
        home=homes(team, piece.instances, piece.sizes, members),
        links=np.zeros(0, bool),
        count=piece.count,
        ends=(shown, shown, shown),
    )
    messages = Messages(**piece.messages.others, **{name: share.here(piece.messages.calls[name]).astype("i4", copy=False) for name in ENDS})
    linked = share.process_of(piece.links.calls["effect"]) == team.rank
    share = dataclasses.replace(_with_messages(share, piece.messages), links=linked)
    links = Links(**piece.links.others, **{name: share.here(piece.links.calls[name]).astype("i4", copy=False) for name in LINK_ENDS})
    return _with_others(own, share, messages, links)


def _with_messages(share: Part, messages: Tied) -> Part:
    """Return the share that knows which messages are received here, and who tells whom about them, given those with an end here."""
    sender, receiver = (share.process_of(messages.calls[name]) for name in ("send", "receive_done"))
    ends = share.ends[0], *_both_ways(share.team, sender, receiver)
    return dataclasses.replace(share, messages=receiver == share.team.rank, ends=ends)


def with_calls(trace: Trace, more: I8) -> Trace:
    """Return the part of a trace that knows more calls of others, given their numbers; all processes ask."""
    share = trace.share
    if not isinstance(share, Part) or not share.any(share.lacks(more)):
        return trace
    messages = _as_tied(trace.messages, ENDS, share, share.message_rows)
    links = _as_tied(trace.links, LINK_ENDS, share, np.arange(len(trace.links)))
    known = np.concatenate([share.elsewhere, more])
    rest = share.instances, share.sizes, share.places, share.count
    return joined(share.team, Piece(_alone(trace, share), share.bounds, share.first, messages, links, *rest, more=known))


def fewer(whole: Trace, kept: Trace, calls: Mask, messages: Mask, links: Mask, collectives: Mask) -> Trace:
    """Return what is kept of the part of a trace as a part of what is kept of it all, given which rows of the `whole` part stay.

    Of the calls of each location those stay that are before one of them.
    """
    share = whole.share
    assert isinstance(share, Part)
    own, elsewhere = np.zeros(len(calls), bool), share.elsewhere[np.delete(calls, share.calls)]
    own[share.calls] = calls[share.calls]
    count, begin = int(own.sum()), int(calls[: share.calls.start].sum())
    stay = share.of_locations(np.bincount(whole.calls.location[own], minlength=len(whole.locations)).astype("i8"))
    first, location = np.append(0, np.cumsum(stay)), np.searchsorted(share.first, elsewhere, "right") - 1
    less = dataclasses.replace(
        share,
        calls=slice(begin, begin + count),
        first=first,
        elsewhere=elsewhere - share.first[location] + first[location],
        places=share.places[collectives[whole.members.collective]],
    )
    counted = {
        "calls": count,
        "messages": int(messages[share.messages].sum()),
        "collectives": len(less.leading(kept.collectives.first_member)),
        "members": len(kept.members),
        "regions": len(kept.regions),
        "links": int(links[share.links].sum()),
    }
    piece = Piece(
        own=_alone(kept, less),
        bounds=share.bounds,
        first=first,
        messages=_as_tied(kept.messages, ENDS, less, share.message_rows[messages]),
        links=_as_tied(kept.links, LINK_ENDS, less, np.arange(len(kept.links))),
        instances=share.instances[collectives],
        sizes=share.sizes[collectives],
        places=less.places,
        count={name: share.total(value) for name, value in counted.items()},
    )
    return joined(share.team, piece)


def _as_tied(table: Messages | Links, ends: tuple[str, ...], share: Part, rows: I8) -> Tied:
    others = {field.name: getattr(table, field.name) for field in dataclasses.fields(table) if field.name not in ends}
    return Tied({name: share.named(getattr(table, name)) for name in ends}, others, rows)


def _alone(trace: Trace, share: Part) -> Trace:
    """Return what a process has without the calls of others, and what is about them."""
    own, shift, times = share.calls, share.calls.start, trace.timeline
    calls = Calls(**{field.name: getattr(trace.calls, field.name)[own] for field in dataclasses.fields(Calls)})
    return dataclasses.replace(
        trace,
        share=ALONE,
        calls=calls,
        site=trace.site[own],
        **_moved(trace, -shift),
        timeline=Timeline(Times(times.calls.enter[own], times.calls.leave[own]), times.regions, times.locations, times.origin),
    )


_ABOUT_CALLS = {
    "requests": ("posted_by", "completed_by"),
    "unfinished": ("call",),
    "regions": ("first_call", "end_call"),
    "members": ("call", "done"),
    "labels": ("call",),
    "counters": ("call",),
    "parameters": ("call",),
    "records": ("call",),
}
"""Tables that are about calls of a process alone, and their columns that are rows of calls."""


def _less(rows: I4, less: int) -> I4:
    return np.where(rows == NONE, NONE, rows - less).astype("i4")


def _moved(trace: Trace, by: int) -> dict[str, Any]:
    """Return the tables about calls of a process when these move so many rows; -1 stays."""
    out: dict[str, Any] = {}
    for name, columns in _ABOUT_CALLS.items():
        table = getattr(trace, name)
        moved = {column: _less(getattr(table, column), -by) for column in columns}
        out[name] = dataclasses.replace(table, **moved)
    return out


def homes(team: Team, instances: I8, sizes: I8, members: I8) -> I8:
    """Return the home of each instance, given how many members it has and how many are here: here, or one process after the other."""
    return np.where(members == sizes, team.rank, instances % team.size)


def _both_ways(team: Team, sender: I8, receiver: I8) -> tuple[Peers, Peers]:
    """Return what receivers tell senders, and what senders tell receivers; both have the rows that they share in one order."""
    received = [
        np.flatnonzero((receiver == team.rank) & (sender == other)) if other != team.rank else _NO_ROWS for other in range(team.size)
    ]
    sent = [np.flatnonzero((sender == team.rank) & (receiver == other)) if other != team.rank else _NO_ROWS for other in range(team.size)]
    return Peers(team, received, sent), Peers(team, sent, received)


_NO_ROWS = np.zeros(0, "i8")


def _with_others(own: Trace, share: Part, messages: Messages, links: Links) -> Trace:
    """Return the trace with rows for the calls of others around its own, and all rows that are calls behind those before."""
    shift, peers = share.calls.start, share.ends[0]

    def wider(values: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(len(share.elsewhere) + len(values), values.dtype)
        out[share.calls] = values
        peers.tell(out)
        return out

    times = own.timeline
    calls = Calls(**{field.name: wider(getattr(own.calls, field.name)) for field in dataclasses.fields(own.calls)})
    return dataclasses.replace(
        own,
        share=share,
        calls=calls,
        site=wider(own.site) if share.any(len(own.site)) else own.site,
        **_moved(own, shift),
        messages=messages,
        links=links,
        timeline=Timeline(Times(wider(times.calls.enter), wider(times.calls.leave)), times.regions, times.locations, times.origin),
    )
