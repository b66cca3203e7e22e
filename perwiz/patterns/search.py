"""The search: every pattern on one run, parents before their special cases, and the severity cube of what was found."""

from __future__ import annotations

import dataclasses
import inspect
import traceback
from collections.abc import Sequence
from functools import partial

import numpy as np

from perwiz.errors import UsageError
from perwiz.patterns import occurrences
from perwiz.patterns.callpaths import CallTree, call_tree
from perwiz.patterns.library import OF_MPI, OF_SHMEM, OF_THREADS, grid
from perwiz.patterns.library.basics import counts, times
from perwiz.patterns.library.collectives import OfCollectives
from perwiz.patterns.metrics import COUNT_METRICS, NS, Metric, in_order, time_metrics
from perwiz.patterns.own import checked
from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View, booked
from perwiz.patterns.severity import Cells, Severity, of_all
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import distinct
from perwiz.trace.spread.share import Part
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Findings:
    """What a search found, of a part of a run in it; its severity is that of all."""

    severity: Severity
    instances: dict[str, Instances]
    """Per name of a pattern, in the order searched."""
    counts: dict[str, int]
    """How many there are, of a part of a run in all of it."""
    waits: frozenset[str]
    """Names of the patterns whose calls wait for others."""
    failures: tuple[str, ...]
    """Patterns of the user's that raised: file, line and reason."""


def search(trace: Trace, own: Sequence[type[Pattern]] = ()) -> Findings:
    """Return the instances of all built-in patterns and the user's own in a run, and their severity.

    A pattern of the user's that raises is left out with its special cases, and named; the others go on.
    """
    trace.share.at("searching")
    view, instances, failures, left_out = View(trace), dict[str, Instances](), list[str](), set[str]()
    built_in = OF_MPI + OF_SHMEM * view.has_shmem + OF_THREADS * view.has_threads
    searched = (*built_in, *own, *(grid.TWINS if grid.several(trace) else ()))
    for pattern in searched:
        if pattern.of in left_out:
            left_out.add(pattern.name)
            continue
        try:
            result = pattern().instances(view, instances.get(pattern.of, NOTHING))
            instances[pattern.name] = _here(checked(result, trace) if pattern in own else result, trace)
        except Exception as error:
            if pattern not in own:
                raise
            failures.append(_failure(pattern, error))
            left_out.add(pattern.name)
    patterns = [pattern for pattern in searched if pattern.name in instances]
    waits = frozenset(pattern.name for pattern in patterns if pattern.waits)
    counts = trace.share.reduced(np.array([len(found) for found in instances.values()], "i8"), "sum").tolist()
    counted = dict(zip(instances, counts, strict=True))
    return Findings(severity(view, patterns, instances), instances, counted, waits, tuple(failures))


def causes_elsewhere(trace: Trace) -> I8:
    """Return the numbers of the calls that `search` names as causes of waits in collectives, which may be those of other processes.

    Raises UsageError for what is searched in a whole run alone.
    """
    view = View(trace)
    if trace.share.any(operations.ON_WINDOWS[view.op].any()):
        alone = "is not searched for waits by several processes together, must be by one (without mpiexec)"
        raise UsageError(f"{trace.path}: its one-sided communication {alone}")
    searched = [p() for p in (*OF_MPI, *OF_SHMEM * view.has_shmem, *OF_THREADS * view.has_threads) if issubclass(p, OfCollectives)]
    causes = np.concatenate([view.homes.causes(pattern.at_home(view)) for pattern in searched])
    return distinct(causes[causes >= 0])


def _here(found: Instances, trace: Trace) -> Instances:
    """Return the instances of the calls of this process."""
    if not isinstance(trace.share, Part):
        return found
    return found.where(slice(*np.searchsorted(found.call, [trace.share.calls.start, trace.share.calls.stop])))


def severity(view: View, patterns: Sequence[type[Pattern]], instances: dict[str, Instances]) -> Severity:
    """Return the severity cube of times, counts and the instances of patterns."""
    tree = call_tree(view.trace)
    searched = [Metric(p.name, p.title, p.under or p.of, NS, p.meaning) for p in patterns]
    severe = {p.name: p().severity(view, tree, instances[p.name]) for p in patterns}
    counted = {name: _counted(view, tree, several) for name, several in instances.items()}
    locations = len(view.trace.locations)
    if grid.several(view.trace):
        searched += grid.ROOTS
        severe |= grid.totals(severe, locations)
        counted |= grid.totals(counted, locations)
    metrics = [*time_metrics(view.has_shmem, view.has_threads), *searched, *occurrences.metrics(searched), *COUNT_METRICS]
    values = {**times(view, tree), **severe, **occurrences.occurrences(counted, searched, locations), **counts(view, tree)}
    values |= occurrences.by_bytes(instances, view.trace.messages, partial(_counted, view, tree))
    return Severity(view.trace, tree, in_order(metrics), of_all(values, metrics, view.trace.share))


def _counted(view: View, tree: CallTree, instances: Instances) -> Cells:
    return booked(view, tree, instances, np.ones(len(instances), "i8"))


def _failure(pattern: type[Pattern], error: Exception) -> str:
    code = inspect.unwrap(pattern.instances).__code__
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    return f"{code.co_filename}:{lines[-1] if lines else code.co_firstlineno}: pattern {pattern.name}: {type(error).__name__}: {error}"
