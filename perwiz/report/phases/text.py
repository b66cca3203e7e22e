"""The text of `perwiz phases`, made from its document: where behaviour changes and what is worth most first."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks, misfit
from perwiz.report.blocks import Facts
from perwiz.report.info import iterations
from perwiz.report.phases.document import Change, PhaseOf, PhasesDocument, Trending, best
from perwiz.trace.parts.course import stands_out

_ROWS, _CHANGES, _NAMES, _NAME = 12, 4, 4, 24
"""Phases in the table, changes told, names of what repeats, and columns of one."""
_WORTH = 0.01
"""Part of the time from which on a gain is worth another question."""
_WAITING = "waiting: part of the time but that of threads without work"
NOTE = (
    f"most: rank that computes longest; {_WAITING}; "
    "balanced, no waits: what the whole run gains if computation here was, if calls here did not wait"
)
ALONE = f"{_WAITING}; no waits: what the whole run gains if calls here did not wait"
_AMONG = ("balance", "most", "balanced")
"""Columns that compare processes."""
_SPARE = ("parallel", "most", "begins", "region", "balanced", "longest waits")
"""Columns that go where there is no room: first what others tell, too."""
TIME = {
    "iterations": "time: MPI_Finalize is in no phase; where processes are in different iterations at a time, their phases overlap",
    "windows": "time: MPI_Finalize is in no phase",
}
LOSS = "below 0: balanced there, or without waits, the run would take longer, as others then wait for what comes later"
TITLES = {"load_balance": "load balance", "serialisation": "serialisation", "transfer": "transfer"}


def text(document: PhasesDocument) -> str:
    """Return the document as text."""
    lines = [*blocks.title(document.trace, "behaviour over time", document.health), "", *words.facts(answer(document)), ""]
    return "\n".join([*lines, *_lines(document), *misfit.sure(document, document.shares_of_ns), "", *misfit.closing(document)])


def answer(document: PhasesDocument) -> Facts:
    """Return the phases, what differs between them, and what is worth most."""
    facts = blocks.recorded(document.recorded_ns, document.health)
    facts += blocks.share_facts(document.shares_of_ns, document.recorded_ns, document.part)
    facts += blocks.left_out(document.health)
    facts += [("phases", phases_found(document))]
    facts += [("", f"{document.count} windows of equal time, as {document.why}")] * bool(document.why)
    if document.by == "windows" and not document.shown:
        facts.append(("", "the trace does not show MPI_Init and MPI_Finalize: windows of the whole run"))
    inner = [phase for phase in document.phases if phase.kind == "phase"]
    changed = [phase for phase in inner if phase.changes]
    facts += [(f"from {phase.first}", changes(document, phase)) for phase in changed[:_CHANGES]]
    rest = len(changed) - _CHANGES
    facts += [("", f"and {words.several(rest, 'more change')}")] * (rest > 0)
    facts += _course(document)
    trends = [(phase, trend) for phase in inner for trend in phase.trends if len(inner) > 1 or trend.of != "time"]
    for k, (phase, trend) in enumerate(trends[:_CHANGES]):
        facts.append(("" if k else "in a phase", f"{_span(phase)}: {trending(document, trend)}{who(phase, trend.of)}"))
    facts += _exceptions(inner)
    return misfit.beside([*facts, *_worth(document)], document, document.shares_of_ns)


def phases_found(document: PhasesDocument) -> str:
    """Return how many phases there are, and where they begin."""
    inner = [phase for phase in document.phases if phase.kind == "phase"]
    body = ""
    if document.body:
        each = list(dict.fromkeys(document.body))
        named = ", ".join(words.shown(name, _NAME) for name in each[:_NAMES])
        body = f" of {named}{f' and {len(each) - _NAMES} more' if len(each) > _NAMES else ''}"
    of = f"{words.several(document.count, document.by[:-1])}{body}"
    if len(inner) < 2:
        nothing = "" if any(phase.trends for phase in inner) else ": nothing changes"
        return f"one{nothing} in {of}"
    begins = [str(phase.first) for phase in inner[1:]]
    shown = ", ".join(begins[:_ROWS]) + (" ..." if len(begins) > _ROWS else "")
    where = f"{document.by if len(begins) > 1 else document.by[:-1]} {shown}"
    return f"{len(inner)} in {of}: behaviour changes at {where}"


def _longer(document: PhasesDocument) -> bool:
    """Return whether iterations of the warm-up take longer than the others."""
    return document.course is not None and document.course.warm_up_ns > document.course.median_ns


def _course(document: PhasesDocument) -> Facts:
    """Return what perwiz info --iterations tells of all iterations, too: their warm-up, and whether later ones take longer."""
    its = document.course
    if its is None:
        return []
    facts = [("warm-up", iterations.warm_up(its.warm_up, its.warm_up_ns, its.median_ns))] if its.warm_up else []
    return [*facts, *([("trend", iterations.trend(its.trend))] if its.trend and its.trend.told else [])]


def changes(document: PhasesDocument, phase: PhaseOf) -> str:
    """Return what differs from the phase before in words, and which process is to be looked at."""
    parts = [_change(document, change) for change in phase.changes if change.of != "who"]
    moved = next((change for change in phase.changes if change.of == "who"), None)
    which = [change.of for change in phase.changes].index("load_balance") if any(c.of == "load_balance" for c in phase.changes) else -1
    if moved is not None:
        rank = words.rank(phase.slowest.rank, phase.slowest.thread)
        parts.append(f"rank {rank} computes most, {phase.slowest_share:.2f} times the mean, before that rank {round(moved.before)}")
    elif which >= 0:
        parts[which] += who(phase, "load_balance")
    return "; ".join(parts)


def who(phase: PhaseOf, of: str) -> str:
    """Return which process computes most, where load balance is told of and one does; nothing else."""
    if of != "load_balance" or phase.slowest_share < 1.02:
        return ""
    return f" (rank {words.rank(phase.slowest.rank, phase.slowest.thread)} computes most, {phase.slowest_share:.2f} times the mean)"


def _change(document: PhasesDocument, change: Change) -> str:
    if change.of == "time":
        after, before = (words.duration(round(value)) for value in (change.after, change.before))
        return f"an iteration takes {after} instead of {before}"
    way = "rises" if change.after > change.before else "falls"
    return f"{TITLES[change.of]} {way} from {100 * change.before:.1f} % to {100 * change.after:.1f} %"


def trending(document: PhasesDocument, trend: Trending) -> str:
    """Return in words what goes up or down."""
    way = "rises" if trend.slope > 0 else "falls"
    if trend.of == "time":
        return iterations.drifting(document.by[:-1], trend.slope, trend.begins, trend.ends)
    return f"{TITLES[trend.of]} {way} from {100 * trend.begins:.1f} % to {100 * trend.ends:.1f} %"


def _span(phase: PhaseOf) -> str:
    return f"{phase.first}..{phase.last}" if phase.first < phase.last else str(phase.first)


def _name(document: PhasesDocument, phase: PhaseOf) -> str:
    if phase.kind in ("before", "after"):
        return phase.kind
    return _span(phase) + ("" if phase.kind == "phase" else " warm-up" if _longer(document) else " shorter")


def _exceptions(phases: list[PhaseOf]) -> Facts:
    """Return which iterations take far longer than the others of their phase; of the phases that have any the first few."""
    having = [phase for phase in phases if phase.exceptions]
    facts = []
    for k, phase in enumerate(having[:_CHANGES]):
        where = "" if len(phases) == 1 else f" in {_span(phase)}"
        told = stands_out({int(number): ns for number, ns in phase.exceptions.items()}, phase.median_ns, where)
        facts.append(("" if k else "stands out", told))
    return facts


def _worth(document: PhasesDocument) -> Facts:
    """Return which phase is worth most, and what to ask about it."""
    found = best([phase for phase in document.phases if phase.kind == "phase"])
    if found is None:
        return [("worth", f"no phase gains if it was balanced or did not wait{blocks.as_recorded(document.health)}")]
    gain, what = max((found.balanced_gain_ns, f"computation of {_span(found)} balanced"), (found.unwaiting_gain_ns, ""))
    what = what or f"no waits in {_span(found)}"
    now = document.recorded_ns
    facts = [("worth", f"{what}: {words.duration(now - gain)}, {blocks.gained(now, now - gain, document.shares_of_ns)}")]
    pays = document.next and gain >= _WORTH * (document.shares_of_ns or now)
    return [*facts, *[("ask next", document.next)] * bool(pays)]


def table(document: PhasesDocument, most: int) -> tuple[list[str], list[list[str]], int]:
    """Return the heads, the cells of the first phases, and how many of the last columns are names, set flush left.

    Of one process nothing is said of balance.
    """
    counted = any(phase.ipc is not None for phase in document.phases)
    regions = any(phase.region for phase in document.phases)
    columns = [_cells(document, phase) for phase in document.phases[:most]]
    without = {*_AMONG} if document.processes == 1 else set()
    without |= {"IPC"} if not counted else set()
    without |= {"region"} if not regions else set()
    head = [name for name in (columns[0] if columns else {}) if name not in without]
    return head, [[cells[name] for name in head] for cells in columns], 1 + regions


def _cells(document: PhasesDocument, phase: PhaseOf) -> dict[str, str]:
    """Return what is said of a phase, by the head of the column."""
    whole, count = document.shares_of_ns or document.recorded_ns, phase.last - phase.first + 1 if phase.first else 0
    windows = document.by == "windows"
    longest = max(phase.waits_ns, key=lambda name: phase.waits_ns[name], default="")
    each = words.duration(phase.begin_ns) if windows else words.duration(phase.time_ns // count) if count else "-"
    return {
        document.by: _name(document, phase),
        "begins" if windows else "each": each,
        "time": words.percent(phase.time_ns, whole),
        "parallel": _percent(phase.parallel),
        "balance": _percent(phase.load_balance),
        "serial.": _percent(phase.serialisation),
        "transfer": _percent(phase.transfer),
        "waiting": words.percent(phase.waiting_ns, max(1, phase.computation_ns + phase.calls_ns)),
        "most": words.rank(phase.slowest.rank, phase.slowest.thread),
        "balanced": _gain(phase.balanced_gain_ns, whole),
        "no waits": _gain(phase.unwaiting_gain_ns, whole),
        "IPC": "-" if phase.ipc is None else f"{phase.ipc:.2f}",
        "longest waits": document.titles.get(longest, "-"),
        "region": words.shown(phase.region, 40) or "-",
    }


def _lines(document: PhasesDocument) -> list[str]:
    """Return the phases, one a line."""
    head, rows, names = table(document, _ROWS)
    spare = [head.index(name) for name in _SPARE if name in head]
    lines = words.table(head, rows, left=(0, *range(len(head) - names, len(head))), spare=spare)
    loss = words.wrapped(LOSS) if any(cell.startswith("-") and len(cell) > 1 for row in rows for cell in row) else []
    notes = [*words.wrapped(NOTE if "most" in head else ALONE), *words.wrapped(TIME[document.by])]
    return [*lines, *blocks.more(document.phases, _ROWS), *notes, *loss]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _gain(gain: int, whole: int) -> str:
    """Return a gain as a share, with a sign if it is a loss."""
    share = words.percent(abs(gain), whole)
    return f"-{share}" if gain < 0 and not share.startswith("<") else share
