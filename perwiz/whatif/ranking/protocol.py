"""Messages that hold their sender until the receiver is there, and would not if they were eager."""

from __future__ import annotations

import numpy as np

from perwiz.trace.tables import NONE
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.waits import held
from perwiz.whatif.ranking.change import Asker, Change

_SITES = 8
"""Call sites that are tried: those whose sends wait longest."""


def changes(asker: Asker) -> list[Change]:
    """Return what gains if messages of a call site, or of all, did not hold their sender."""
    run, table = asker.run, asker.run.trace.messages
    edges = held(run.weighted, np.ones(len(table), bool))
    messages = np.unique(run.graph.cause[edges])
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
