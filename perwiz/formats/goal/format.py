"""Schedules in GOAL, as text or binary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from perwiz.errors import UsageError
from perwiz.formats.format import MODEL, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.formats.goal.schedule import Schedule
    from perwiz.trace.trace import Timeline, Trace


def schedule(path: str, progress: Progress | None = None) -> Schedule:
    """Return the schedule in a file, text or binary. Raises TraceError."""
    from perwiz.formats.goal import binary, text
    from perwiz.formats.source import head_of

    return binary.read(path) if head_of(path)[:8] in (binary.MAGIC, binary.SPENT) else text.read(path, progress)


class Goal(Format):
    """A schedule: it has no times, and is written by perwiz.loggps.schedules, which knows the model."""

    name = "GOAL"
    noun = "a schedule in GOAL"
    suffixes = (".goal",)
    holds = Holds(times=MODEL, requests=YES, wildcards=YES, threads=YES)
    written = MODEL

    def looks_like(self, path: str) -> bool:
        """Return whether a file is a schedule, text or binary."""
        from perwiz.formats.goal import binary, text
        from perwiz.formats.source import head_of

        head = head_of(path)
        return head[:8] in (binary.MAGIC, binary.SPENT) or text.is_text(head)

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return what every rank calls, at the times at which it would if calls took none. Raises TraceError."""
        from perwiz.formats.goal.calls import trace
        from perwiz.trace.resources import give_back

        told = schedule(path, progress)
        give_back(len(told.kind))
        return trace(told)

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return nothing: what is lost depends on the model, and perwiz.loggps.schedules tells it."""
        return []

    def write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        """Raise UsageError."""
        self.refuse(path)

    def refuse(self, path: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{path}: a schedule in GOAL is made under a model, must be written by perwiz convert")


GOAL = Goal()
