"""One change of `perwiz domino` in words: its option, what it gains, what it does, and what gains a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from perwiz import words
from perwiz.report import spans
from perwiz.report.blocks import negligible
from perwiz.report.domino.records import Change, DominoDocument, HotSpot, Line, Ranked, Worth
from perwiz.report.records import Span

WHOLE = 4000
"""Columns of what is to be pasted."""
CURE = 0.1
"""Part of a gain from which on a larger eager limit is named first, and of a bound a change."""
INDENT = "     "
"""Of what is said below a row."""
_OTHERS = 2
"""Others that say the same that are named."""


class Listing(Protocol):
    """A document that lists changes, of one process or of several."""

    replayed_ns: int
    shares_of_ns: int


class Listed(Protocol):
    """A line of it."""

    span: Span | None

    @property
    def head(self) -> Worth:
        """The change."""


def parts_of(line: Line) -> list[Ranked]:
    """Return what somebody can do and what gains a good part of a bound."""
    return [row for row in line.part if row.gain_ns >= CURE * line.head.gain_ns]


def if_shared(domino: DominoDocument, line: Line) -> str:
    """Return what it gains to share with the others what a slow process has more of, of a line that says so; empty of others, and if it
    gains hardly anything.
    """
    shared = next((row for row in (*line.more, *line.includes) if row.kind == "balance"), None)
    if line.head.kind != "slowest" or shared is None or negligible(shared.gain_ns, domino.shares_of_ns):
        return ""
    gain = f"{words.duration(shared.gain_ns)} ({words.percent(shared.gain_ns, domino.shares_of_ns)})"
    return f"if it has more work than others, sharing that gains {gain}: {shown(shared)}"


def falls(domino: DominoDocument, line: Line) -> str:
    """Return where calls then wait less, and where receives are posted that hold senders; empty if nowhere."""
    return f"{_falls(domino, line)}{_posted(line.head)}".removeprefix("; ")


def over_all(domino: DominoDocument) -> str:
    """Return over whom waits are added up, behind them; nothing if there is but one."""
    kinds = domino.waiting_of
    if not kinds:
        return ""
    *others, last = kinds
    number = f"{domino.limits.processes} " if domino.limits and kinds == ["processes"] else ""
    return f" over all {number}{', '.join(others)}{' and ' * bool(others)}{last}"


def most_above(domino: DominoDocument, row: Ranked) -> str:
    """Return who computes longest beyond the mean, and where, of a change that evens it out, and whether for those it serves; that
    processes do so in turn where what one of them has more is far from the gain; empty of others.
    """
    found = row.uneven
    if found is None:
        return ""
    told = f"rank {found.rank} computes {words.duration(found.excess_ns)} more than the mean"
    if 2 * found.excess_ns < row.gain_ns:
        return f"ranks compute longest in turn ({told} in all), and are waited for each time"
    if not found.region:
        return told
    served = ", part of it for those it serves in turn" if domino.serving and domino.serving.rank == found.rank else ""
    return f"{told} in {words.shown(found.region, 60)}{', which no other rank runs' * found.only}{served}"


def who_is_late(row: Ranked) -> str:
    """Return what who is waited for does meanwhile, of a change of waits; empty of others, and where that is many things."""
    found = row.late
    if found is None:
        return ""
    who = "others" if found.rank is None else f"rank {found.rank}"
    where = words.shown(found.where, 60)
    does = (
        f"compute{'' if found.rank is None else 's'}{f' in {where}' if where else ''}"
        if found.computes
        else f"{'are' if found.rank is None else 'is'} in {where}"
    )
    chain = ", first of a chain of waits" if found.chained else ""
    return f"{who} {does} meanwhile{chain} ({words.percent(round(1000 * found.part), 1000)} of that waiting)"


def shown(row: Worth) -> str:
    """Return the option that asks for a change."""
    return words.shown(row.change, WHOLE)


def _falls(domino: DominoDocument, line: Line) -> str:
    if line.waits_less is None:
        return ""
    before, then = words.duration(line.waiting_ns), words.duration(line.waiting_then_ns)
    return f"; waiting in {words.shown(line.waits_less, 60)} falls from {before} to {then}{over_all(domino)}" if before != then else ""


def gain_of(domino: Listing, row: Worth) -> tuple[str, str]:
    """Return what a change gains, and as a share."""
    return words.duration(row.gain_ns), words.percent(row.gain_ns, domino.shares_of_ns)


def between(domino: Listing, line: Listed) -> tuple[str, str]:
    """Return what a change gains at least and at most, as far as the trace tells; empty if it leaves nothing open, or nothing tells."""
    return spans.ends(spans.worth(line.span, domino.replayed_ns, line.head.makespan_ns)) if line.span else ("", "")


def counted(line: Listed) -> int:
    """Return the gain by which a line stands, ns: that of the recorded run, or with a processor for each process where they shared some."""
    return line.head.gain_ns if line.span is None or line.span.alone_ns is None else line.span.alone_ns


def unshared(line: Listed) -> str:
    """Return what a change gains with a processor for each process; empty where each had one."""
    return "" if line.span is None or line.span.alone_ns is None else words.duration(line.span.alone_ns)


def descheduled(line: Listed) -> bool:
    """Return whether most of what a change gains in the recorded run is waiting for a processor."""
    return 2 * counted(line) < line.head.gain_ns


def worth_of(domino: DominoDocument, row: Ranked | HotSpot) -> tuple[str, str, str]:
    """Return what a change gains, as a share, and the makespan with it."""
    return words.duration(row.gain_ns), words.percent(row.gain_ns, domino.shares_of_ns), words.duration(row.makespan_ns)


def _posted(row: Ranked) -> str:
    return f"; the receives are posted in {words.shown(row.posted, 60)}" if row.posted else ""


def only_if(row: Ranked) -> str:
    """Return under which condition calls may run ahead of receives; empty where they do not."""
    return f"; only if it needs nothing of the {receives(row)} it then runs ahead of" if row.receives_passed else ""


def named(domino: Listing, rows: Sequence[Worth]) -> str:
    """Return the first of several changes by name, each with its gain."""
    named = ", ".join(f"{row.kind} {shown(row)} ({words.percent(row.gain_ns, domino.shares_of_ns)})" for row in rows[:_OTHERS])
    return f"{named} and {len(rows) - _OTHERS} more" if len(rows) > _OTHERS else named


def gained(domino: DominoDocument, makespan: int) -> str:
    """Return a makespan and what it gains."""
    return f"{words.duration(makespan)}, {gains(domino, makespan)}"


def gains(domino: Listing, makespan: int) -> str:
    """Return what a makespan gains."""
    gain = domino.replayed_ns - makespan
    return f"gain {words.duration(gain)} ({words.percent(gain, domino.shares_of_ns)})"


def gains_of(domino: Listing, line: Listed) -> str:
    """Return what a change gains, and what with a processor for each process where processes shared them."""
    return f"{gains(domino, line.head.makespan_ns)}{f', {unshared(line)} {spans.OWN}' * bool(unshared(line))}"


def receives(row: Change | Ranked) -> str:
    """Return how many receives calls run ahead of."""
    return words.several(row.receives_passed, "receive")
