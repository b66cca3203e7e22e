"""The panel of what-ifs: what can be ticked, the graph that the page answers from, and runs that are predicted already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.report import blocks
from perwiz.report.page.analyses import Other
from perwiz.report.page.panels import live_graph
from perwiz.report.page.tables import PanelData, column
from perwiz.trace import nesting
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.matching import matching
from perwiz.whatif.rematch.rematched import Rematched
from perwiz.whatif.run import Run

SITES, REGIONS = 250, 60
"""Call sites and regions that can be ticked, those that wait longest."""
_NAME = 120
_DIFFERS = "perwiz predict, without --keep-matches, lets them take what then comes first, and may answer otherwise"


def document(run: Run, ask: str, others: Sequence[Other] = ()) -> PanelData:
    """Return what can be ticked, and the graph; without it why the page has none.

    `ask` is the command that asks further questions of the run, `others` are what it becomes under changes that are timelines of the page.
    """
    why = live_graph.why_not(run)
    out: PanelData = {"why": why, "command": ask, "changes": _changes(run, others)}
    if not len(run.trace.calls):
        return out
    trace = run.trace
    at, sites = _sites(run)
    table = trace.messages
    location = trace.calls.location
    order = np.lexsort((table.send, location[table.receive_done], location[table.send]))
    return out | {
        "keep": _kept(run),
        "unrecorded": blocks.waits_of_bare(trace.counts.bare),
        "site_of": column(at),
        "sites": sites,
        "regions": _regions(run),
        "computing": _computing(trace),
        "ranks": np.unique(trace.locations.process).tolist(),
        "streams": np.flatnonzero(trace.locations.kind == STREAM).tolist(),
        "bounded": live_graph.bounded(run),
        "graph": None if why else live_graph.document(run, order),
    }


def _changes(recorded: Run, others: Sequence[Other]) -> list[PanelData]:
    """Return what the runs under changes gain; `timeline` counts from the end."""
    return [
        {
            "option": words.shown(blocks.option(other.change.question), 300),
            "gain": recorded.makespan - other.makespan,
            "makespan": other.makespan,
            "timeline": k - len(others),
        }
        for k, other in enumerate(others)
    ]


def _sites(run: Run) -> tuple[I8, list[PanelData]]:
    """Return (per call 0, or which of the call sites from 1, the sites), by what their calls wait, the longest first."""
    which, parts = selectors.sites(run.trace)
    texts = [selectors.site(*names) for names in parts]
    waits, count = np.zeros(len(texts), "i8"), np.bincount(which, minlength=len(texts))
    np.add.at(waits, which, run.waits.time)
    chosen = [k for k in np.lexsort((np.arange(len(texts)), -waits)).tolist() if waits[k] and _told(texts[k])][:SITES]
    number = np.zeros(len(texts), "i8")
    number[chosen] = np.arange(1, len(chosen) + 1)
    rows = [{"name": words.shown(texts[k], _NAME), "text": texts[k], "calls": int(count[k]), "waits": int(waits[k])} for k in chosen]
    return number[which], rows


def _regions(run: Run) -> list[PanelData]:
    """Return the regions inside which calls wait, the longest first; `name` is the row of names."""
    trace = run.trace
    waits = _inside(trace, trace.calls.path, run.waits.time)
    rows = [k for k in np.argsort(-waits, kind="stable").tolist() if waits[k] and _told(trace.names[k])][:REGIONS]
    named = [(k, trace.names[k]) for k in rows]
    return [{"row": k, "name": words.shown(name, _NAME), "text": name, "waits": int(waits[k])} for k, name in named]


def _computing(trace: Trace) -> list[PanelData]:
    """Return the regions that last longest, all instances together, without what they call; `name` is the row of names.

    Behind one in which a rank takes half as long again as all do on average, that rank in it.
    """
    regions, times = trace.regions, trace.timeline.regions
    lasts = times.leave - times.enter
    own, inner = lasts.copy(), np.flatnonzero(regions.parent >= 0)
    np.subtract.at(own, regions.parent[inner], lasts[inner])
    ranks, rank = np.unique(trace.locations.process[regions.location], return_inverse=True)
    each = np.zeros((len(trace.names), len(ranks)), "i8")
    np.add.at(each, (trace.region_names, rank), own)
    total, longest = each.sum(axis=1), each.argmax(axis=1) if len(ranks) else np.zeros(len(each), "i8")
    rows = [k for k in np.argsort(-total, kind="stable").tolist() if total[k] > 0 and _told(trace.names[k])][:REGIONS]
    shown = [(k, trace.names[k]) for k in rows if "," not in trace.names[k]]
    out = list[PanelData]()
    for k, name in shown:
        out.append({"row": k, "name": words.shown(name, _NAME), "text": name})
        if 2 * len(ranks) * int(each[k, longest[k]]) > 3 * int(total[k]) and len(ranks) > 1:
            one = int(ranks[longest[k]])
            out.append({"row": k, "rank": one, "name": f"{out[-1]['name']} on rank {one}", "text": f"{name}@rank:{one}"})
    return out


def _inside(trace: Trace, path: Ints, value: I8) -> I8:
    """Return the sum of what calls have, per region inside which they were made at any depth, each call once."""
    out = np.zeros(len(trace.names), "i8")
    by_path = np.zeros(len(trace.paths) + 1, "i8")
    np.add.at(by_path, path, value)
    region, inner = nesting.inside(trace.paths)
    np.add.at(out, region, by_path[inner])
    return out


def _told(name: str) -> bool:
    """Return whether a name can be copied to a shell as it stands."""
    return name.isprintable()


def _kept(run: Run) -> str:
    """Return what a page that answers itself keeps of the recorded run and `perwiz predict` does not; empty if that is nothing."""
    found = matching(run, run)
    kinds = (
        (found.wildcards, "wildcard receive", ""),
        (found.possible, "receive", " that may be wildcards"),
        (found.waits, "wait", " for some of several requests"),
        (found.fetches, "call", " that take tasks from a counter"),
    )
    told = " and ".join(f"{words.several(number, noun)}{which}" for number, noun, which in kinds if number)
    return f"{told} keep here what they got; {_DIFFERS}" if told else ""


def taken(anew: Rematched) -> str:
    """Return in words what receives take in a run whose receives are matched anew."""
    if anew.reason:
        return f"receives keep what they got: {anew.reason}"
    receives = f"{words.several(len(anew.receives), 'receive')} take another message, which then comes first" if len(anew.receives) else ""
    moved = f"{anew.moved} of {words.several(anew.tasks, 'task')} go to another process (drawn where they were recorded)"
    tasks = moved if anew.moved else ""
    return "; ".join(filter(None, (receives, tasks, f"with what was recorded: {words.duration(anew.kept)}")))
