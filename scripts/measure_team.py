"""What a command costs several processes: `mpiexec -n N python scripts/measure_team.py correct TRACE ...`.

Prints per stage what all processes sent to each other together, how often they waited for each other, and the most processor time that one
of them took beside waiting, which MPI does without letting go of the processor; what the busiest took so from its start on, with its
readers; and the processor time and the memory of all, with what they read, for that is mapped.
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz import cli
from perwiz.engines import team as teams
from perwiz.trace.resources import launched
from perwiz.trace.spread.team import How, Team, gathered

_MEGA = 1e6


Work = Callable[[Team | None], int]


def _measured(work: Work) -> Work:
    """Return work that prints what it took, and nothing else."""

    def done(team: Team | None) -> int:
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            code = work(team)
        _print(team, time.perf_counter() - begin)
        return code

    return done


class Timed(teams.Mpi):
    """Counts the processor time by stage, without that of waiting for others."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.spent: dict[str, float] = collections.defaultdict(float)
        self._since = 0.0  # its start is of the first stage

    def _waiting(self, wait: Callable[..., Any], *asked: Any) -> Any:
        self.spent[self.stage] += time.process_time() - self._since
        out = wait(*asked)
        self._since = time.process_time()
        return out

    def exchange(self, data: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what each process has for this one."""
        return list(self._waiting(super().exchange, data))

    def reduce(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return the sums or extremes of the values of all."""
        return np.asarray(self._waiting(super().reduce, values, how))

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array, and fill it."""
        self._waiting(super().receive, source, data)

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""
        self._waiting(super().wait_for_sends)


def _print(team: Team | None, spent: float) -> None:
    own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = [use.ru_utime + use.ru_stime for use in own]
    told = np.array([spent, sum(used), *(use.ru_maxrss * 1024 / _MEGA for use in own), used[1]])
    rows = np.stack(gathered(team, told)) if team else told[None]
    if isinstance(team, Timed):
        stages, by_stage = dict(team.counts), dict(team.spent)
        counts = {stage: np.sum(gathered(team, np.array(row, "i8")), axis=0) for stage, row in stages.items()}
        own_time = [by_stage.get(stage, 0.0) for stage in stages]
        *beside, busiest = team.reduce(np.array([*own_time, sum(own_time) + used[1]]), "max").tolist()
        if team.rank == 0:
            for (stage, (messages, size, waits)), work in zip(counts.items(), beside, strict=True):
                sent = f"{messages:10} messages {size / _MEGA:10.3f} MB {waits // team.size:8} times all wait for all"
                print(f"{stage:12} {sent} {work:8.2f} s at most of one beside waiting")
            print(f"{busiest:.2f} s of the busiest beside waiting, its start and its readers included")
    if team is None or team.rank == 0:
        wall, most, memory, readers, reading = rows.max(axis=0)
        told_by = f"{wall:.2f} s, {rows[:, 1].sum():.2f} s of processors, at most {most:.2f} s of one, {reading:.2f} s of its readers"
        print(f"{len(rows)} processes: {told_by}; {memory:.0f} MB at most ({rows[:, 2].sum():.0f} MB all), readers {readers:.0f} MB")


if __name__ == "__main__":
    together = teams.together
    teams.Mpi = Timed  # type: ignore[misc]
    teams.together = lambda work, asked: together(_measured(work), asked)
    work: Work = lambda team: cli.main(sys.argv[1:])  # noqa: E731
    code = _measured(work)(None) if launched()[0] == 1 else work(None)
    sys.exit(os.EX_OK if code in (0, 4) else os.EX_SOFTWARE)
