"""Parts of the report of `perwiz predict`: what teams of another number of threads cost by themselves."""

from __future__ import annotations

from typing import Annotated

from perwiz import words
from perwiz.report.blocks import Facts
from perwiz.report.records import Natural, Record, choice
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses import overheads
from perwiz.whatif.hypotheses.teams import members
from perwiz.whatif.hypotheses.threads import Threads


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


def team(trace: Trace, hypothesis: Threads) -> Team:
    """Return what forks, barriers and joins of teams of so many threads take."""
    found = overheads.samples(trace, members(trace))
    fitted = overheads.overheads(found, hypothesis.number())
    parts = [Overhead(one.part, one.form, round(one.ns, 1), round(one.least, 1), round(one.most, 1)) for one in fitted]
    return Team(hypothesis.number(), sorted(set(found.threads[found.steady].tolist())), parts)


def facts(team: Team) -> Facts:
    """Return what forks, barriers and joins are taken to take in teams of another size."""
    seen = ", ".join(map(str, team.sizes))
    if not team.overheads:
        why = f"teams that follow one of their size have {seen} threads" if team.sizes else "no team follows one of its size"
        return [("teams", f"what forks, barriers and joins take stays as recorded: {why}")]
    told = ", ".join(f"{one.part} {words.duration(round(one.ns))}" for one in team.overheads)
    least, most = (round(sum(ends)) for ends in zip(*((one.least_ns, one.most_ns) for one in team.overheads), strict=True))
    between = f"{words.duration(least)} to {words.duration(most)} together, fitted to teams of {seen} threads"
    return [("teams", f"of {words.several(team.threads, 'thread')}: {told}"), ("", between)]
