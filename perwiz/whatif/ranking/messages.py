"""What messages cost: another network, and senders that are not held."""

from __future__ import annotations

import numpy as np

from perwiz.loggps.pairs import classes
from perwiz.trace.numbers import distinct
from perwiz.trace.tables import NONE
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.waits import held
from perwiz.whatif.ranking.change import Asker, Change

_WIRE = {"L_ns": "L", "G_ns_per_byte": "G"}
_SITES = 8
"""Call sites that are tried: those whose sends wait longest."""


def network(asker: Asker) -> list[Change]:
    """Return what gains if the network between pairs of a class were twice as fast, where one number says that, or infinitely fast."""
    have, model, out = classes(asker.run.trace), asker.run.weighted.model, []
    for pairs in have:
        prefix, where = (f"{pairs}:", f" {pairs.replace('-', ' ')}") if len(have) > 1 else ("", "")
        rows = model.rows_of(pairs)
        costs = {key: {getattr(row, letter) for row in rows} for key, letter in _WIRE.items()}
        if not any(max(values) for values in costs.values()):
            continue
        if all(len(values) == 1 for values in costs.values()):
            halved = ",".join(f"{prefix}{key}={min(values) / 2!r}" for key, values in costs.items())
            out.append(asker.change("network", "pairs", f"network {halved}", f"half the latency, twice the bandwidth{where}"))
        none = ",".join(f"{prefix}{key}=0" for key in costs)
        out.append(asker.change("network", "pairs", f"network {none}", f"no latency, infinite bandwidth{where}"))
    return [change for change in out if change.makespan < asker.run.makespan]


def protocol(asker: Asker) -> list[Change]:
    """Return what gains if messages of a call site, or of all, did not hold their sender."""
    run, table = asker.run, asker.run.trace.messages
    edges = held(run.weighted, np.ones(len(table), bool))
    messages = distinct(run.graph.cause[edges])
    messages = messages[table.send_done[messages] != NONE]
    if not len(messages):
        return []
    out = [asker.change("protocol", "program", "eager all", "no message holds its sender")]
    site_of, sites = selectors.sites(run.trace)
    waits = np.bincount(site_of[table.send[messages]], run.waits.time[table.send_done[messages]], minlength=len(sites))
    for site in np.argsort(-waits, kind="stable")[:_SITES].tolist():
        question = selectors.joined([f"site:{selectors.site(*sites[site])}"])
        if waits[site] and question:
            out.append(asker.change("protocol", "site", f"eager {question}", f"messages of {selectors.site(*sites[site])} hold nobody"))
    return [change for change in out if change.makespan < run.makespan]
