"""The tables of a trace whose calls and region boundaries come in another order on some locations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.tables import Counters, Links, RegionCounters, Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.order.program import Program


def sort_rows(place: I8) -> I8:
    """Return the new row of each old row when rows are sorted by these places; of equal ones the order stays: 30 10 20 -> 2 0 1."""
    out = np.empty(len(place), "i8")
    out[np.argsort(place, kind="stable")] = np.arange(len(place))
    return out


def scatter(column: Ints, new: I8) -> Ints:
    """Return a column with each row at its new place: 7 8 9 to 2 0 1 -> 8 9 7."""
    out = np.empty_like(column)
    out[new] = column
    return out


def move_rows(table: Any, new: I8, **changes: Ints) -> Any:
    """Return a table with some columns changed, and then each row at its new place."""
    columns = {f.name: np.asarray(changes.get(f.name, getattr(table, f.name))) for f in dataclasses.fields(table)}
    return type(table)(**{name: scatter(column, new).astype(getattr(table, name).dtype) for name, column in columns.items()})


def _behind(new: I8, row: I4) -> I8:
    """Return the new rows of calls; -1, and the row behind the last, stay."""
    return np.append(new, [len(new), -1])[row]


def trace_in_order(program: Program, place: I8, rows: tuple[I8, I8, I8], changed: Mask) -> Trace:
    """Return the trace of a program whose steps go to new places; `rows` are the new rows of calls, regions and messages.

    On the locations that changed every step takes what it took in the recording, so its times are in order, but nobody waits. Counters are
    left out: they counted in the recorded order.
    """
    old = program.weighted.trace
    call, region, message = rows
    requests = old.requests
    request = sort_rows(_behind(call, requests.posted_by))
    tested = _behind(call, old.unfinished.call)
    count = len(old.regions)
    ahead = np.searchsorted(np.sort(place[program.call]), np.concatenate([place[program.entered], place[program.left]]))
    messages = {name: _behind(call, getattr(old.messages, name)) for name in ("send", "send_done", "receive", "receive_done")}
    return dataclasses.replace(
        old,
        calls=move_rows(old.calls, call),
        requests=move_rows(
            requests, request, posted_by=_behind(call, requests.posted_by), completed_by=_behind(call, requests.completed_by)
        ),
        unfinished=move_rows(old.unfinished, sort_rows(tested), call=tested, request=request[old.unfinished.request]),
        messages=move_rows(old.messages, message, **messages),
        members=dataclasses.replace(
            old.members, call=_behind(call, old.members.call).astype("i4"), done=_behind(call, old.members.done).astype("i4")
        ),
        links=Links.in_order(old.links.kind, *(_behind(call, ends).astype("i4") for ends in (old.links.cause, old.links.effect))),
        regions=move_rows(
            old.regions,
            region,
            parent=np.append(region, -1)[old.regions.parent],
            instance=_instances(old, region),
            first_call=ahead[:count],
            end_call=ahead[count:],
        ),
        timeline=_timeline(program, place, (call, region), changed),
        labels=move_rows(old.labels, sort_rows(call[old.labels.call]), call=call[old.labels.call]),
        counters=Counters.empty(),
        region_counters=RegionCounters.empty(),
        counter_names=(),
        levels=(),
        **_attached(old, call, region, ahead),
    )


def _instances(old: Trace, region: I8) -> I8:
    """Return the numbers of region instances, given out anew in the new order: the k-th of a region on a location has the k-th number."""
    name = old.region_names
    before = np.lexsort((np.arange(len(region)), name, old.regions.location))
    after = np.lexsort((region, name, old.regions.location))
    out = np.empty(len(region), "i8")
    out[after] = old.regions.instance[before]
    return out


def _attached(old: Trace, call: I8, region: I8, ahead: I8) -> dict[str, Any]:
    """Return the tables of what was recorded between calls: it stays before the call it preceded, in a region behind the one before."""
    first, count = old.first_calls, len(old.regions)

    def moved(table: Any) -> I8:
        last = table.call >= first[table.location + 1]
        return np.where(last, table.call, _behind(call, table.call))

    parameters, records = old.parameters, old.records
    before, inside = moved(parameters), np.append(region, -1)[parameters.region]
    within = np.flatnonzero(parameters.region >= 0)
    row, previous = parameters.region[within], parameters.call[within] - 1
    behind = previous >= old.regions.first_call[row]
    before[within] = np.where(behind, _behind(call, previous) + 1, ahead[:count][row])
    new = np.lexsort((moved(records), records.location))
    size = np.diff(np.append(records.first_value, len(old.values)))[new]
    begin = np.cumsum(size) - size
    values = old.values[np.repeat(records.first_value[new] - begin, size) + np.arange(size.sum())]
    place = np.argsort(new)
    return {
        "parameters": move_rows(parameters, np.argsort(np.lexsort((before, parameters.location))), call=before, region=inside),
        "records": move_rows(records, place, call=moved(records), first_value=begin[place]),
        "values": values if len(records) else old.values,
    }


def _timeline(program: Program, place: I8, rows: tuple[I8, I8], changed: Mask) -> Timeline:
    """Return times for the new order in which every step takes what it took in the recording, on the locations that changed."""
    trace, recorded = program.weighted.trace, program.weighted.timeline
    time = np.empty(len(place), "i8")
    took = np.zeros(len(place), "i8")
    time[program.call], took[program.call] = recorded.calls.enter, recorded.calls.leave - recorded.calls.enter
    time[program.ended] = recorded.locations.leave
    time[program.entered], time[program.left] = recorded.regions.enter, recorded.regions.leave
    moment = time.copy()
    for location in np.flatnonzero(changed):
        steps = slice(program.first[location], program.ended[location] + 1)
        new = place[steps] - steps.start
        moment[steps] = _retimed((time[steps], took[steps], program.is_call[steps]), new, int(recorded.locations.enter[location]))
    calls = Times(moment[program.call], moment[program.call] + took[program.call])
    regions = Times(moment[program.entered], moment[program.left])
    return dataclasses.replace(trace.timeline, calls=move_rows(calls, rows[0]), regions=move_rows(regions, rows[1]))


def _retimed(steps: tuple[I8, I8, Mask], place: I8, begin: int) -> I8:
    """Return the times of a location's steps at their new places, each as long behind the one before as it was in the recording.

    Steps are (time, duration, whether a call); a boundary recorded outside the computation it belongs to stays as far outside.

        call 10 to 15, call 20 to 30, end 40; places 1 0 2 from 0 on   ->   25 5 40: the second call from 5 to 15, the first from 25 to 30
    """
    time, took, call = steps
    low = np.maximum.accumulate(np.where(call, time + took, begin))
    high = np.minimum.accumulate(np.where(call, time, time[-1])[::-1])[::-1]
    before = np.concatenate(([begin], low[:-1]))
    clipped = np.clip(time, before, np.maximum(high, before))
    clipped = np.maximum.accumulate(clipped)
    since = clipped - np.maximum(np.concatenate(([begin], (clipped + took)[:-1])), begin)
    order = np.argsort(place)
    moved = np.empty_like(time)
    moved[order] = begin + np.cumsum(since[order]) + np.cumsum(took[order]) - took[order]
    return np.asarray(moved + time - clipped)
