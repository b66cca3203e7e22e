"""The panel of efficiency: POP efficiencies, where the critical path lies, lower bounds, and steps that could be balanced."""

from __future__ import annotations

from perwiz import words
from perwiz.patterns.analysis import efficiency
from perwiz.report import counts
from perwiz.report.balance import document as balances
from perwiz.report.balance.document import Step
from perwiz.report.blocks import as_recorded, whole_of
from perwiz.report.bound import document as bounds
from perwiz.report.bound.document import BoundDocument
from perwiz.report.critical import document as criticals
from perwiz.report.critical.document import CriticalDocument, Part
from perwiz.report.page.analyses import WaitStates
from perwiz.report.page.tables import Cell, PanelData, bar, fewer, table
from perwiz.report.patterns import hybrid as hybrids
from perwiz.report.patterns.causes import part_name
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.limits.balance import balance
from perwiz.whatif.limits.bound import bound_of
from perwiz.whatif.limits.critical import KINDS, Critical
from perwiz.whatif.run import Run

_ROWS = 15
_PIECES = 20
_REGIONS = 20
_NAME = 80
_ENOUGH = 0.8
_COLOURS = tuple("idle" if kind == "computation" else kind for kind in KINDS)
"""Names in the palette, per kind of pieces of the path."""
MOST = 300_000_000
"""Steps times edges of the graph up to which steps are balanced: some seconds."""


def document(states: WaitStates, critical: Critical) -> PanelData:
    """Return blocks, each with a title, a line of words and tables side by side."""
    run = states.run
    path = criticals.document(critical, _PIECES)
    blocks = [_efficiencies(states), *_hybrid(run)] if len(run.trace.locations) else []
    blocks += [_critical(path), _block("", "", [_pieces(path)]), _bounds(bounds.document(bound_of(run)))]
    return {"blocks": blocks + _balance(run)}


def _block(title: str, note: str, tables: list[PanelData], legend: PanelData | None = None) -> PanelData:
    return {"title": title, "note": note, "tables": tables, "legend": legend}


def _efficiencies(states: WaitStates) -> PanelData:
    regions = efficiency.efficiencies(states.run, states.findings.severity)
    keys = ("load_balance", "serialisation", "transfer", "parallel")
    whole = regions[0].work
    rows = [
        [
            words.shown(part_name(row.name, row.region, regions[0].name), _NAME),
            words.duration(row.time),
            *(_part(getattr(row, key)) for key in keys),
            *counts.rates(row.work, whole),
        ]
        for row in regions[:_REGIONS]
    ]
    note = (
        "load balance x serialisation x transfer = parallel; transfer: against a replay on an ideal network, above 100 % where a region"
        " waits longer there; below 80 %: !"
    )
    head = ["part", "time", "load balance", "serialisation", "transfer", "parallel", *counts.heads(whole)]
    return _block("Parallel efficiency", note, [table(head, rows, caption=fewer(len(rows), len(regions)))])


def _hybrid(run: Run) -> list[PanelData]:
    """Return the efficiencies by ranks and threads; nothing if no process has several threads."""
    found = hybrids.document(run)
    if found is None:
        return []
    columns, ranks = (found.whole, found.mpi, found.threads), "MPI" if operations.MPI[run.trace.calls.op].any() else "ranks"
    rows = [[title, *(_part(getattr(column, name)) for column in columns)] for title, name in hybrids.MULTIPLIED]
    tables = [table(["factor", "all threads", ranks, "threads"], rows)]
    if found.added:
        cells = [[title, _part(getattr(found.added, name))] for title, name in hybrids.ADDED]
        tables.append(table(["losses added", "efficiency"], cells))
    note = f"{found.name}: all threads = {ranks} x threads; what first threads do outside of calls is useful to {ranks}; below 80 %: !"
    return [_block(f"Efficiency of {ranks} and threads", note, tables)]


def _part(value: float) -> Cell:
    return bar(f"{100 * value:.1f} %{' !' if value < _ENOUGH else ''}", value, width=40)


def _critical(path: CriticalDocument) -> PanelData:
    """Return the critical path by kind, and by rank, region and routine."""
    whole = path.shares_of_ns
    after = whole != path.makespan_ns
    kinds = [f"{words.percent(path.path.of(kind), whole)} {kind}" for kind in KINDS[after:] if path.path.of(kind)]
    who = words.location(part.thread for part in path.processes)
    ways = f"{words.several(path.pieces, 'piece')}, {words.several(path.changes, 'change')} of {who}"
    groups: list[tuple[str, list[tuple[str, Part]]]] = [
        ("rank", [(f"rank {words.rank(part.rank, part.thread)}", part) for part in path.processes]),
        ("region", [(words.shown(part.region, _NAME) or "(outside)", part) for part in path.regions]),
        ("routine", [(part.routine, part) for part in path.routines]),
    ]
    tables = [_group(name, parts, whole) for name, parts in groups if len(parts) > (name == "region")]
    note = f"{whole_of(whole, path.part).removeprefix('the ') if after else words.duration(whole)} in {ways}: {', '.join(kinds)}"
    return _block("Critical path", note, tables, {"names": list(KINDS), "colours": list(_COLOURS)})


def _group(name: str, parts: list[tuple[str, Part]], whole: int) -> PanelData:
    """Return the largest parts of the path."""
    order = sorted(((label, part) for label, part in parts if part.total_ns), key=lambda labelled: -labelled[1].total_ns)
    cells: list[list[Cell]] = [
        [
            label,
            words.duration(part.total_ns),
            bar(words.percent(part.total_ns, whole), *(part.of(kind) / max(1, whole) for kind in KINDS), width=120, colours=_COLOURS),
        ]
        for label, part in order[:_ROWS]
    ]
    return table([name, "on the path", ""], cells, (0, 2), fewer(len(cells), len(order)))


def _pieces(path: CriticalDocument) -> PanelData:
    rows, go = [], list[PanelData | None]()
    for piece in path.longest:
        begin, length, call = piece.begin_ns, piece.length_ns, piece.call
        rank, where = words.rank(piece.rank, piece.thread), words.shown(piece.region, _NAME) or "-"
        made = f"{piece.routine} {call}" if call else "-"
        rows.append([words.duration(begin), words.duration(length), piece.kind, rank, made, where])
        go.append({"call": int(call[1:])} if call else {"from": begin - length, "to": begin + 2 * length})
    return table(["begins", "length", "what", "rank", "call", "where"], rows, (2, 4, 5), "its longest pieces, in the order of time", go)


def _bounds(document: BoundDocument) -> PanelData:
    """Return what each combination of questions bounds."""
    regions = document.regions
    head = ["part", "longest process", *(" + ".join(bound.questions) for bound in regions[0].bounds)]
    rows = [
        [
            words.shown(region.region or "whole program", _NAME),
            *map(words.duration, (region.longest_ns, *(bound.time_ns for bound in region.bounds))),
        ]
        for region in regions[:_REGIONS]
    ]
    known = as_recorded(document.health)
    note = f"from sums of what each process does: no program of this work is faster than a bound with zero-wait{known}"
    return _block("Lower bounds", note, [table(head, rows, caption=fewer(len(rows), len(regions)))])


def _balance(run: Run) -> list[PanelData]:
    """Return the steps that gain most if balanced; nothing if no region is marked as parallel."""
    count, title = steps(run.trace), "Steps to balance"
    if not count:
        return []
    if count * run.graph.edges > MOST:
        return [_block(title, f"{count} steps are too many to predict each for this page; perwiz balance does.", [])]
    balanced = balances.document(balance(run.trace, (), run.weighted.model, "none"), _ROWS)
    head = ["step", "balanced computation gains", "balanced messages gain", "largest / mean", "rank by spread"]
    note = f"all steps balanced gain {words.duration(balanced.gain_ns)}"
    return [_block(title, note, [table(head, [_step(step) for step in balanced.steps], caption=fewer(len(balanced.steps), count))])]


def _step(step: Step) -> list[str]:
    imbalance, messages = step.computation_ns.imbalance, step.balance_messages
    return [
        f"{words.shown(step.region, _NAME)}#{step.step}",
        words.duration(step.balance_time.gain_ns),
        words.duration(messages.gain_ns) if messages else "-",
        "-" if imbalance is None else f"{imbalance:.3f}",
        str(step.sigma_rank),
    ]


def steps(trace: Trace) -> int:
    """Return the number of steps of all parallel regions."""
    marked = trace.parallel[trace.region_names]
    key = trace.region_names[marked].astype("i8") << 32 | trace.regions.instance[marked]
    return len(set(key.tolist()))
