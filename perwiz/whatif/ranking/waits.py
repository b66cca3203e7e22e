"""Calls that do not wait: the single ones that pay most, of each family the sets of calls that do, and calls that poll in vain."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.spread.share import Share
from perwiz.trace.trace import named_call
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.waits import in_vain
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.run import Run
from perwiz.whatif.worth.domino import ranked
from perwiz.whatif.worth.families import FAMILIES
from perwiz.whatif.worth.groups import Group, gaining
from perwiz.whatif.worth.singles import singles

_SINGLE, _SETS, _TRIED, _POLLED = 20, 10, 32, 8
"""Single calls, and sets of a family, that are told; sets that are tried; call sites that poll in vain longest and are tried."""

_OWN = operations.OP["thread_wait"]
"""Here a thread waits for what its process computes in another one: nobody can go on without that. Sets that mostly do are no change."""


def changes(asker: Asker) -> list[Change]:
    """Return the calls and sets of calls that gain without their waits, but for sets that are about every wait, or that no text names."""
    run, out = asker.run, []
    own = run.trace.calls.op == _OWN
    share, value = run.trace.share, np.where(own, run.makespan, singles(run).zero_wait)
    for makespan, _, _, number, named in sorted(share.listed(_single(run, value)))[:_SINGLE]:
        rows = np.array(share.own(number), "i8")
        out.append(Change("wait", "call", f"zero-wait e{number}", f"the one call {named}", makespan, rows, total=1))
    waiting = share.total(int(run.waits.time[share.calls].sum()))
    for family in FAMILIES:
        out += [
            _set(share, family, group, group.choice.hypothesis)
            for group in gaining(run, family, "zero-wait", _SETS, tried=_TRIED)
            if group.choice.hypothesis and (group.wait < waiting or family in ("site", "routine", "pair"))
            if 2 * share.total(int(run.waits.time[group.choice.calls][own[group.choice.calls]].sum())) <= group.wait
        ]
    return asker.as_predicted(out) + _polls(asker)


def _single(run: Run, value: I8) -> list[tuple[int, int, int, int, str]]:
    """Return the calls here that are worth most, each with what tells it from others: makespan, wait, when it returns, number, and name."""
    calls = ranked(run, value, _SINGLE)
    numbers, returned = run.trace.share.named(calls).tolist(), run.left(calls).tolist()
    names = [f"{named_call(run.trace, call)}, {operations.OPS[run.trace.calls.op[call]]}" for call in calls.tolist()]
    return list(zip(value[calls].tolist(), run.waits.time[calls].tolist(), returned, numbers, names, strict=True))


def _polls(asker: Asker) -> list[Change]:
    """Return what gains if what tests and probes in vain, at a call site or anywhere, waited for what it polls for instead."""
    trace, share, out = asker.run.trace, asker.run.trace.share, list[Change]()
    rows = share.chosen(in_vain(trace))
    if not share.any(len(rows)):
        return out
    site_of, sites = selectors.sites(trace)
    times = trace.timeline.calls
    took = np.zeros(len(sites), "i8")
    np.add.at(took, site_of[rows], times.leave[rows] - times.enter[rows])
    took = share.reduced(took, "sum")
    longest = [site for site in np.argsort(-took, kind="stable")[:_POLLED].tolist() if took[site]]
    asked = [("program", "all", "all sites", rows)] if len(longest) > 1 else []
    for site in longest:
        name = selectors.site(*sites[site])
        asked += [("site", text, name, rows[site_of[rows] == site]) for text in [selectors.joined([f"site:{name}"])] if text]
    for by, text, name, calls in asked:
        count = share.total(len(calls))
        what = f"the {words.several(count, 'call')} of {name} that find nothing take no time"
        change = Change("wait", by, f"zero-poll {text}", what, 0, calls, total=count)
        out.append(dataclasses.replace(change, makespan=asker.makespan(change.hypothesis)))
    return [change for change in out if change.makespan < asker.run.makespan]


def _set(share: Share, family: str, group: Group, question: str) -> Change:
    name, count = group.choice.name, share.total(len(group.choice.calls))
    what = f"the {words.several(count, 'call')} of {'step ' if family == 'step' else ''}{name}"
    return Change("wait", family, question, name if family == "pair" else what, group.makespan, group.choice.calls, total=count)
