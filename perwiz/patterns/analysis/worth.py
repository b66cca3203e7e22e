"""What findings are worth: the makespan, replayed, if no call waited where a pattern occurs.

The question is that of `perwiz predict --zero-wait`: all calls of the call sites at which a pattern occurs, on one call path or on all. A
call there that did not wait in the recording would begin to, if only the calls beside it no longer did. So all patterns of the same call
sites are worth the same, together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.patterns.library import BUILT_IN
from perwiz.patterns.search import Findings
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.run import Run
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.sets import makespans
from perwiz.whatif.worth.worth import bound


@dataclasses.dataclass(frozen=True)
class Sites:
    """All calls of some call sites."""

    hypothesis: str | None
    """That none of them waits, as `predict` takes it: `zero-wait site:MPI_Recv@solve,site:MPI_Wait`; None if no text says it."""
    makespan: int
    """ns, if so."""
    waiting: int
    """ns that they wait under the model, in all patterns: what the gain is of."""


@dataclasses.dataclass(frozen=True, eq=False)
class Worth:
    """Makespans, each the same as that of `perwiz predict --zero-wait` with those calls."""

    whole: dict[str, Sites]
    """Per pattern: the call sites where it occurs."""
    by_node: dict[tuple[str, int], Sites]
    """Per pattern and call path (a row of the call tree): the call sites of that path where it occurs."""
    every: int
    """ns, if no call waited: `zero-wait all`."""
    waiting: int
    """ns that the calls of all built-in patterns wait, all together: of several waits in one call the longest."""


def worth(run: Run, findings: Findings, tell: Callable[[int, int], object] | None = None) -> Worth:
    """Return what the waits of every pattern that has some are worth; `tell` is told how many sets of call sites of how many are done."""
    named = [name for name, count in findings.counts.items() if count and name in findings.waits]
    share, (site_of, sites) = run.trace.share, selectors.sites(run.trace)
    share.at("asking")
    rows, width = dict[tuple[int, ...], int](), np.int64(max(len(sites), 1))
    whole, by_node = dict[str, int](), dict[tuple[str, int], int]()
    for name in named:
        call = findings.instances[name].call
        node, site = np.divmod(share.distinct(findings.severity.tree.of_calls(run.trace, call) * width + site_of[call]), width)
        whole[name] = rows.setdefault(tuple(np.unique(site).tolist()), len(rows))
        for path in np.unique(node).tolist():
            by_node[name, path] = rows.setdefault(tuple(site[node == path].tolist()), len(rows))
    texts = [selectors.joined([f"site:{selectors.site(*sites[k])}" for k in members]) for members in rows]
    row = np.repeat(np.arange(len(rows)), [len(members) for members in rows])
    member = np.array([k for members in rows for k in members], "i4")
    family = Family(tuple(map(str, texts)), tuple(texts), site_of, row, member)
    after = makespans(run.weighted, run.time, family, "zero-wait", tell=tell).tolist()
    waits, own = np.zeros(len(sites), "i8"), share.calls
    np.add.at(waits, site_of[own], run.waits.time[own])
    waits = share.reduced(waits, "sum")
    waiting = [int(waits[list(members)].sum()) for members in rows]
    of = [Sites(text and f"zero-wait {text}", *told) for text, *told in zip(texts, after, waiting, strict=True)]
    return Worth(
        {name: of[k] for name, k in whole.items()},
        {key: of[k] for key, k in by_node.items()},
        bound(run, "zero-wait"),
        _waiting(run.trace, findings, named),
    )


def _waiting(trace: Trace, findings: Findings, named: list[str]) -> int:
    lost = np.zeros(len(trace.calls), "i8")
    for pattern in BUILT_IN:
        if pattern.name in named:
            instances = findings.instances[pattern.name]
            np.maximum.at(lost, instances.call, instances.severity)
    return trace.share.total(int(lost.sum()))
