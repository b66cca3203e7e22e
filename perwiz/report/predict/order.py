"""What a prediction changes but times: which calls run in another order, and which choices among messages would be others."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Trace
from perwiz.whatif.matching import Matching
from perwiz.whatif.order.reorder import Moved

_MOVES = 12
"""Lines on blocks that run earlier."""
_NAMED = 8
"""Calls named in a line."""


def moved(trace: Trace, move: Moved) -> Document:
    """Return a block that runs earlier, or that stays."""
    goes = move.end >= move.before
    return {
        "hypothesis": move.asked,
        **blocks.location(trace, move.location),
        "first": f"e{move.first}",
        "last": f"e{move.last}",
        "before": f"e{move.before}" if goes else None,
        "ahead_of": f"e{move.end}" if goes else None,
        "receives_passed": move.receives(trace),
        "reason": move.note or None,
    }


def matching(found: Matching) -> Document:
    """Return the choices that would be others."""
    return {
        "wildcards": found.wildcards,
        "receives": [f"e{call}" for call in found.receives.tolist()],
        "waits": found.waits,
        "completions": [f"e{call}" for call in found.completions.tolist()],
        "contradicting": found.already,
    }


def move_facts(block: Document) -> Facts:
    """Return in words which calls run earlier and which cannot, of a prediction's document."""
    moves = block["order"]
    lines = [_move(move, k > 0) for k, move in enumerate(moves)]
    told = {move["hypothesis"] for move in moves}
    idle = [text for text in block["hypotheses"] if text.startswith("advance ") and text not in told]
    lines += [f"{words.shown(text)}: nothing moves, it waits for nobody" for text in idle]
    if len(lines) > _MOVES:
        lines[_MOVES - 1 :] = [f"and {len(lines) - _MOVES + 1} more (--json lists all)"]
    if any(move["before"] for move in moves):
        passed = sum(move["receives_passed"] for move in moves)
        past = f", {words.several(passed, 'receive')} among them," if passed else ""
        lines.append(f"assumed: what runs earlier needs nothing that the calls it passes{past} have brought or computed")
    return _labelled("order", lines)


def _move(move: Document, again: bool) -> str:
    what = f"{_span(move['first'], move['last'])} (rank {words.rank(move['rank'], move['thread'])})"
    if move["before"] is None:
        return f"{what} is {'still ' if again else ''}waited for and runs no earlier: {move['reason']}"
    return f"{what} {'runs' if move['first'] == move['last'] else 'run'} ahead of {_span(move['before'], move['ahead_of'])}"


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"


def choice_facts(block: Document) -> Facts:
    """Return in words which choices among messages the predicted run would make otherwise; nothing if the program makes none."""
    found, lines = block["matching"], []
    if found["wildcards"]:
        lines.append(_others(found["wildcards"], "wildcard receive", found["receives"], "would have got another message"))
    if found["waits"]:
        lines.append(_others(found["waits"], "wait for some of several", found["completions"], "would have ended with another request"))
    if found["receives"] or found["completions"]:
        lines.append("the prediction keeps the recorded choices; from the first of these on the run could go another way")
    if found["contradicting"]:
        lines.append(f"not counted: {words.several(found['contradicting'], 'choice')} that the recorded times contradict already")
    return _labelled("matching", lines)


def _others(count: int, noun: str, calls: list[str], what: str) -> str:
    many = f"{count} {noun}" if count == 1 else f"{count} {noun.replace('wait', 'waits') if 'wait' in noun else noun + 's'}"
    return f"{len(calls)} of {many} {what}{': ' + ', '.join(calls[:_NAMED]) if calls else ''}{', ...' if len(calls) > _NAMED else ''}"


def _labelled(label: str, lines: list[str]) -> Facts:
    return [("" if k else label, line) for k, line in enumerate(lines)]
