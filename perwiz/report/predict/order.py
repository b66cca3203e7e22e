"""What a prediction changes but times: which calls run in another order, and which choices among messages would be others."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import CallId, Natural, Record
from perwiz.trace.trace import Trace
from perwiz.whatif import matching
from perwiz.whatif.order import reorder
from perwiz.whatif.rematch.rematched import Rematched

_MOVES = 12
"""Lines on blocks that run earlier."""
_NAMED = 8
"""Calls named in a line."""
_FEW = 3
"""Blocks of which the same is said that are named one by one."""


class Moved(Record):
    """A block of calls that runs earlier, or that stays though it is waited for; recorded calls."""

    hypothesis: str
    rank: Natural
    thread: Natural
    first: CallId
    last: CallId
    before: CallId | None
    """Call it runs before; null if it stays where it is."""
    ahead_of: CallId | None
    """Last of the calls it passes."""
    receives_passed: Natural
    """Calls it passes that receive a message, which it is assumed not to need."""
    region: str | None
    """Region ahead of which a send runs that passes no call, which it is assumed not to need; else null."""
    reason: str | None
    """Why it stays where it is."""


class Matching(Record):
    """Choices among messages that the predicted run would make otherwise, were they not kept as recorded."""

    wildcards: Natural
    """Receives and probes of any source or tag."""
    receives: list[CallId]
    """Those that another message would have reached first."""
    waits: Natural
    """Calls that complete one or some of several requests, a receive among them."""
    completions: list[CallId]
    """Those that would have completed another receive first."""
    contradicting: Natural
    """Choices that the recorded times contradict themselves; not counted above."""
    possible: Natural
    """Receives that may have been wildcards: the format does not tell, and no order in the program explains their sources."""
    possible_receives: list[CallId]
    """Those that another message would have reached first."""
    fetches: Natural
    """Calls that take the next task from a counter."""
    fetches_turned: list[CallId]
    """Those that would come before one that came before them."""
    recorded_choices_ns: Natural | None
    """The makespan if all these choices stay as recorded, where the prediction makes them anew; null where it keeps them."""
    tasks: Natural
    """Tasks that go to whoever comes for the next one, where the prediction makes choices anew."""
    tasks_fetched: Natural
    """Those that are taken from a counter; masters hand out the others."""
    tasks_moved: Natural
    """Those that another process runs than in the recorded run."""
    masters: list[Natural]
    """Ranks that hand out tasks."""
    serving: list[Natural]
    """Ranks, none of these, that do for each process what they did for it, in the order in which they hear from them."""
    kept_because: str | None
    """Why choices that would change are kept; null if none are, or they were to be."""


def moved(trace: Trace, move: reorder.Moved) -> Moved:
    """Return a block that runs earlier, or that stays."""
    goes, place = move.end >= move.before, blocks.location(trace, move.location)
    return Moved(
        hypothesis=move.asked,
        rank=place.rank,
        thread=place.thread,
        first=f"e{move.first}",
        last=f"e{move.last}",
        before=f"e{move.before}" if goes else None,
        ahead_of=f"e{move.end}" if goes else None,
        receives_passed=move.receives(trace),
        region=move.region or None,
        reason=move.note or None,
    )


def choices(trace: Trace, others: matching.Matching, anew: Rematched | None) -> Matching:
    """Return the choices that would be others, and what became of them."""
    made = anew is not None and not anew.reason
    return Matching(
        recorded_choices_ns=anew.kept if anew is not None and made else None,
        tasks=anew.tasks if anew is not None and made else 0,
        tasks_fetched=anew.fetched if anew is not None and made else 0,
        tasks_moved=anew.moved if anew is not None and made else 0,
        masters=trace.locations.process[anew.masters].tolist() if anew is not None and made else [],
        serving=trace.locations.process[anew.serving].tolist() if anew is not None and made else [],
        kept_because=anew.reason or None if anew is not None else None,
        wildcards=others.wildcards,
        receives=[f"e{call}" for call in others.receives.tolist()],
        waits=others.waits,
        completions=[f"e{call}" for call in others.completions.tolist()],
        contradicting=others.already,
        fetches=others.fetches,
        fetches_turned=[f"e{call}" for call in others.turned.tolist()],
        possible=others.possible,
        possible_receives=[f"e{call}" for call in others.possible_receives.tolist()],
    )


def move_facts(moves: list[Moved], hypotheses: list[str]) -> Facts:
    """Return in words which calls run earlier and which cannot."""
    ahead = [move for move in moves if move.region is not None]
    lines = [*_aheads(ahead), *_blocks([move for move in moves if move.region is None])]
    idle = {text for text in hypotheses if text.startswith("advance ")} - {move.hypothesis for move in moves}
    lines += [f"{words.shown(text)}: nothing moves, it waits for nobody" for text in hypotheses if text in idle]
    if len(lines) > _MOVES:
        lines[_MOVES - 1 :] = [f"and {len(lines) - _MOVES + 1} more (--json lists all)"]
    lines += [f"assumed: what is sent is ready before {_regions(ahead)}"] if ahead else []
    if any(move.before for move in moves if move.region is None):
        passed = sum(move.receives_passed for move in moves)
        past = f", {words.several(passed, 'receive')} among them," if passed else ""
        lines.append(f"assumed: what runs earlier needs nothing that the calls it passes{past} have brought or computed")
    return _labelled("order", lines)


def _aheads(ahead: list[Moved]) -> list[str]:
    """Return which sends run ahead of a region; nothing if none does."""
    if not ahead:
        return []
    named = ", ".join(move.first for move in ahead[:_NAMED]) + (", ..." if len(ahead) > _NAMED else "")
    calls = f"{words.several(len(ahead), 'send')} ({named}, rank {_ranks(sorted({move.rank for move in ahead}))})"
    goes, holds = ("runs", "holds") if len(ahead) == 1 else ("run", "hold")
    return [f"{calls} {goes} ahead of {_regions(ahead)}, and {holds} nobody, as MPI_Isend"]


def _regions(ahead: list[Moved]) -> str:
    return " and ".join(dict.fromkeys(words.shown(move.region or "") for move in ahead))


def _blocks(moves: list[Moved]) -> list[str]:
    """Return which blocks run ahead of calls, and which stay; more than a few of the same words in one line."""
    alike: dict[str, list[Moved]] = {}
    for move in moves:
        alike.setdefault(_manner(move), []).append(move)
    few = {id(move) for some in alike.values() if len(some) <= _FEW for move in some}
    singly = [_move(move, k > 0) for k, move in enumerate(moves) if id(move) in few]
    return [_many(manner, some) for manner, some in alike.items() if len(some) > _FEW] + singly


def _manner(move: Moved) -> str:
    """Return what becomes of a block, without the calls that it is about."""
    if move.before is None:
        return f"waited for and runs no earlier: {(move.reason or '').rpartition(': ')[2]}"
    return "ahead of the computation before it" if move.before == move.first else "ahead of calls before it"


def _many(manner: str, moves: list[Moved]) -> str:
    calls = ", ".join(_span(move.first, move.last) for move in moves[:_FEW])
    ranks = _ranks(sorted({move.rank for move in moves}))
    verb = "is" if moves[0].before is None else "runs"
    return f"each of {len(moves)} ({calls}, ...; rank {ranks}) {verb} {manner}"


def _move(move: Moved, again: bool) -> str:
    calls = f"{_span(move.first, move.last)} (rank {words.rank(move.rank, move.thread)})"
    if move.before is None or move.ahead_of is None:
        return f"{calls} is {'still ' if again else ''}waited for and runs no earlier: {move.reason}"
    if move.before == move.first:
        return f"{calls} runs ahead of the computation before it"
    return f"{calls} {'runs' if move.first == move.last else 'run'} ahead of {_span(move.before, move.ahead_of)}"


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"


def choice_facts(others: Matching) -> Facts:
    """Return in words which choices among messages the predicted run would make otherwise; nothing if the program makes none."""
    lines = []
    if others.wildcards:
        lines.append(_others(words.several(others.wildcards, "wildcard receive"), others.receives, "would have got another message"))
    if others.waits:
        many = f"{words.several(others.waits, 'wait')} for some of several"
        lines.append(_others(many, others.completions, "would have ended with another request"))
    if others.fetches:
        many = f"{words.several(others.fetches, 'call')} that take tasks from a counter"
        lines.append(_others(many, others.fetches_turned, "would come before one that came before"))
    if others.possible_receives:
        many = f"{words.several(others.possible, 'receive')} that may be wildcards (the format does not tell)"
        lines.append(_others(many, others.possible_receives, "would see messages arrive in another order"))
    if others.receives or others.completions or others.possible_receives or others.fetches_turned:
        lines.append(_made(others))
    if others.contradicting:
        lines.append(f"not counted: {words.several(others.contradicting, 'choice')} that the recorded times contradict already")
    return _labelled("matching", lines)


def _made(others: Matching) -> str:
    """Return in words whether choices are made anew, and what the answer would be if they were kept."""
    if others.recorded_choices_ns is None:
        why = f": {others.kept_because}" if others.kept_because else ""
        return f"the prediction keeps the recorded choices{why}; from the first of these on the run could go another way"
    givers = [f"of rank {_ranks(others.masters)}"] if others.masters else []
    givers += ["of a counter"] if others.tasks_fetched else []
    tasks = (
        f"; {others.tasks_moved} of {words.several(others.tasks, 'task')} {' and '.join(givers)} move to whoever asks"
        if others.tasks
        else ""
    )
    if others.serving:
        many = "does" if len(others.serving) == 1 else "do"
        tasks += f"; rank {_ranks(others.serving)} {many} for each process what was done for it, in the order in which they come"
    kept = "if these are no wildcards, so that what they got stays" if others.possible_receives else "with the recorded choices"
    return f"the prediction takes what comes first{tasks}; {kept}: {words.duration(others.recorded_choices_ns)}"


def _ranks(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks[:_NAMED])) + (", ..." if len(ranks) > _NAMED else "")


def _others(many: str, calls: list[str], what: str) -> str:
    return f"{len(calls)} of {many} {what}{': ' + ', '.join(calls[:_NAMED]) if calls else ''}{', ...' if len(calls) > _NAMED else ''}"


def _labelled(label: str, lines: list[str]) -> Facts:
    return [("" if k else label, line) for k, line in enumerate(lines)]
