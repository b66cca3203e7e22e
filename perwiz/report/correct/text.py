"""The text of `perwiz correct`, made from its document. The answer comes first."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.correct.document import CLOCKS, BothPairs, CorrectDocument

_PROCESSES = 4
"""Processes told by name, those moved furthest."""
_SCHEMES = {
    "single": "flat at the start, constant",
    "flat": "flat at start and end, interpolated here",
    "hierarchical": "hierarchical at start and end, interpolated here",
    None: "interpolated here",
}


def text(document: CorrectDocument) -> str:
    """Return the document as text for a terminal."""
    title = f"{words.shown(document.trace)}: {CLOCKS[document.clock]}{blocks.mark(document.health)}"
    lines = [title, "", *words.facts(_answer(document)), "", *_pair_lines(document)]
    if document.moved:
        lines += ["", *_deviation_lines(document)]
    return "\n".join([*lines, "", *words.facts(_means(document)), "", *blocks.health_lines(document.health, clocks=False)])


def _answer(document: CorrectDocument) -> Facts:
    facts = [("recorded", _broken(document)), ("corrected", _left(document))]
    if document.cycle:
        facts.append(("cycle", f"no clock can help: {document.cycle.words}"))
    if document.moved:
        moved = f"{document.moved} of {words.several(document.events, 'event')} ({words.percent(document.moved, document.events)})"
        average, largest = (words.duration(round(ns)) for ns in (document.average_displacement_ns, document.largest_displacement_ns))
        facts += [("moved", f"{moved}, by {average} on average, {largest} at most"), ("", _furthest(document))]
        facts.append(("makespan", f"{words.duration(document.recorded_ns)} recorded, {words.duration(document.corrected_ns)} corrected"))
    return facts


def _left(document: CorrectDocument) -> str:
    """Return what is still reversed."""
    left, still = document.left, []
    for count, by, worst in blocks.by_calls_and_records(left):
        still.append(f"{words.several(count, 'message')}{by}, by {words.duration(worst)} at most")
    if left.collective_calls:
        calls = words.several(left.collective_calls, "call")
        still.append(f"{calls} that left a collective too early, by {words.duration(left.worst_collective)} at most")
    if left.links:
        calls = words.several(left.links, "call")
        still.append(f"{calls} that others let go too late, by {words.duration(left.worst_link)} at most")
    if still:
        return f"still received before they were sent: {'; '.join(still)}"
    return "every effect comes after its cause" if document.moved else "nothing to correct"


def _both(document: CorrectDocument) -> dict[str, BothPairs]:
    """Return the pairs by what they are; messages by their records where these say something else."""
    records = {"messages by their records": document.records} if document.records != document.messages else {}
    links = {"threads, streams, windows": document.links} if document.links.recorded.pairs else {}
    return {"messages": document.messages, **records, "logical messages of collectives": document.collectives, **links}


def _broken(document: CorrectDocument) -> str:
    """Return what is reversed in the recorded run."""
    broken = []
    for what, both in _both(document).items():
        pairs = both.recorded
        if pairs.reversed:
            share = words.percent(pairs.reversed, pairs.pairs)
            broken.append(f"{pairs.reversed} of {pairs.pairs} {what} ({share}), by {words.duration(pairs.worst_ns)} at most")
    return f"received before they were sent: {'; '.join(broken)}" if broken else "nothing is received before it was sent"


def _furthest(document: CorrectDocument) -> str:
    """Return the processes moved furthest."""
    rows = sorted((row for row in document.processes if row.largest_ns), key=lambda row: (-row.largest_ns, row.rank, row.thread))
    names = [f"rank {words.rank(row.rank, row.thread)} by {words.duration(row.largest_ns)}" for row in rows[:_PROCESSES]]
    more = f" and {len(rows) - _PROCESSES} more by less" if len(rows) > _PROCESSES else ""
    still = len(document.processes) - len(rows)
    return f"{', '.join(names)}{more}{f'; {still} not at all' if still else ''}"


def _pair_lines(document: CorrectDocument) -> list[str]:
    """Return the table of reversed and violating messages, before and after."""
    head = ["", "all", "reversed", "of all", "too early", "of all", "reversed by", "at most"]
    cells = []
    for what, both in _both(document).items():
        for run, row in (("recorded", both.recorded), ("corrected", both.corrected)):
            counts = [text for number in (row.reversed, row.violating) for text in (str(number), words.percent(number, row.pairs))]
            times = [words.duration(round(row.average_ns)), words.duration(row.worst_ns)] if row.reversed else ["-", "-"]
            cells.append([f"{what}, {run}", str(row.pairs), *counts, *times])
    return words.table(head, [row for row in cells if row[1] != "0"] or cells[:2])


def _deviation_lines(document: CorrectDocument) -> list[str]:
    """Return the tables of how far intervals of processes were changed."""
    above = [f">{100 * threshold:g} %" for threshold in document.thresholds]
    kinds = {"event position": document.event_position, "event distance": document.event_distance}
    first = [[name, _share(change.average), _share(change.mean), _share(change.maximum)] for name, change in kinds.items()]
    second = [
        [f"{name}, {unit}", *map(_share, shares)]
        for name, change in kinds.items()
        for unit, shares in (("share of intervals", change.intervals_above), ("share of time", change.time_above))
    ]
    head = ["local intervals changed by", "in all", "on average", "at most"]
    return [*words.table(head, first), "", *words.table([head[0], *above], second)]


def _share(value: float) -> str:
    """Return a share in percent with two decimals, as small ones matter here."""
    if not value:
        return "0 %"
    return "<0.01 %" if value < 0.00005 else f"{100 * value:.2f} %"


def _means(document: CorrectDocument) -> Facts:
    """Return by what means the times were corrected."""
    least, offsets = document.minimum_latency_ns, document.offsets
    how = "in the recorded times already" if offsets.in_the_recorded_times else _SCHEMES[offsets.scheme]
    facts = [("offsets", f"{offsets.measured} measured, {how}" if offsets.measured else "none measured")]
    taken = f"{least.node} ns in a node, {least.metahost} ns in a metahost, {least.across} ns across"
    facts.append(("least time", f"{taken}; what takes less is too early"))
    explicit = document.corrected_explicitly
    if explicit.messages or explicit.collectives or explicit.links:
        returns = f"{words.several(explicit.messages, 'return')} by messages, {explicit.collectives} by collectives"
        returns += f", {explicit.links} by links" if explicit.links else ""
        facts.append(("put forward", f"{returns}; the others moved with them"))
        facts.append(("gamma", f"{document.gamma:g}, found in {words.several(document.passes, 'pass')}"))
        facts.append(("steepest", f"before a return was put forward, a clock runs fast by at most {_share(document.slope)}"))
    return facts
