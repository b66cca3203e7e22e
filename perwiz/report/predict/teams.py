"""Parts of the report of `perwiz predict`: what teams of another number of threads cost by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Natural, Record, choice
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses import overheads
from perwiz.whatif.hypotheses.teams import members
from perwiz.whatif.hypotheses.threads import Schedule, Threads, added, taken_away

_WHOLE = 4000


class Overhead(Record):
    """What a part of each team takes, fitted to teams of several sizes."""

    part: Annotated[str, choice(*overheads.PARTS)]
    form: Annotated[str, choice(*overheads.FORMS)]
    """linear: a + b n, logarithmic: a + b log2 n, in the number n of threads."""
    ns: float
    least_ns: float
    most_ns: float


class Team(Record):
    """Teams of another number of threads."""

    threads: Natural
    sizes: list[Natural]
    """Threads of the teams recorded that follow one of the same size."""
    overheads: list[Overhead]
    """Empty if these have one size: what teams take stays."""
    fewer_calls: Natural
    """Calls of threads that are taken away: they wait no longer."""
    added: bool
    """Whether teams get threads they did not have: of these no wait is known."""


def team(trace: Trace, hypothesis: Threads) -> Team:
    """Return what forks, barriers and joins of teams of so many threads take."""
    found = overheads.samples(trace, members(trace))
    fitted = overheads.overheads(found, hypothesis.number())
    parts = [Overhead(one.part, one.form, round(one.ns, 1), round(one.least, 1), round(one.most, 1)) for one in fitted]
    sizes = sorted(set(found.threads[found.steady].tolist()))
    gone = int(taken_away(trace, hypothesis).sum())
    return Team(hypothesis.number(), sizes, parts, gone, added(trace, hypothesis))


def facts(team: Team) -> Facts:
    """Return what forks, barriers and joins are taken to take in teams of another size."""
    seen = ", ".join(map(str, team.sizes))
    if not team.overheads:
        why = f"teams that follow one of their size have {seen} threads" if team.sizes else "no team follows one of its size"
        return [("teams", f"what forks, barriers and joins take stays as recorded: {why}"), *_waits(team)]
    told = ", ".join(f"{one.part} {words.duration(round(one.ns))}" for one in team.overheads)
    least, most = (round(sum(ends)) for ends in zip(*((one.least_ns, one.most_ns) for one in team.overheads), strict=True))
    between = f"{words.duration(least)} to {words.duration(most)} together, fitted to teams of {seen} threads"
    return [("teams", f"of {words.several(team.threads, 'thread')}: {told}"), ("", between), *_waits(team)]


def _waits(team: Team) -> Facts:
    """Return whose waits the predicted sum counts."""
    said = []
    if team.fewer_calls:
        said.append(f"the predicted waiting is without {words.several(team.fewer_calls, 'call')} of threads that are taken away")
    if team.added:
        said.append("the predicted waiting is that of the recorded threads: what added ones wait is not known")
    return [("", text) for text in said]


def pieces(hypotheses: Sequence[str]) -> Facts:
    """Return the hint for work dealt out in the pieces that were recorded, which gains nothing: these may be too large."""
    asked = [text for text in hypotheses if text.startswith(f"{Schedule.word} ") and text.endswith("=dynamic")]
    hint = "those that the recording tells apart, often all of a thread's work; in N pieces of each thread's work:"
    return [("pieces", f"{hint} {words.shown(blocks.option(f'{text},N'), _WHOLE)}") for text in asked]
