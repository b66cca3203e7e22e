"""What a command costs several processes: `mpiexec -n N python scripts/measure_team.py correct TRACE ...`.

Prints per stage what all processes sent to each other together, and how often they waited for each other; the processor time of each, and
the most memory that one of them, and all together, had at a time (with what they read, for that is mapped).
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from perwiz import cli
from perwiz.engines import team as teams
from perwiz.trace.spread.team import Team, gathered

_MEGA = 1e6


def _measured(together: Callable[[Callable[[Team | None], int]], int], work: Callable[[Team | None], int]) -> int:
    """Return the exit code of work, after printing what it took."""

    def done(team: Team | None) -> int:
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            code = work(team)
        _print(team, time.perf_counter() - begin)
        return code

    return together(done)


def _print(team: Team | None, spent: float) -> None:
    own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    told = np.array([spent, sum(use.ru_utime + use.ru_stime for use in own), *(use.ru_maxrss * 1024 / _MEGA for use in own)])
    rows = np.stack(gathered(team, told)) if team else told[None]
    if isinstance(team, teams.Counted):
        stages = dict(team.counts)
        counts = {stage: np.sum(gathered(team, np.array(row, "i8")), axis=0) for stage, row in stages.items()}
        if team.rank == 0:
            for stage, (messages, size, waits) in counts.items():
                print(f"{stage:20} {messages:10} messages {size / _MEGA:10.3f} MB {waits // team.size:8} times all wait for all")
    if team is None or team.rank == 0:
        wall, used, memory, readers = rows.max(axis=0)
        told_by = f"{wall:.2f} s, {rows[:, 1].sum():.2f} s of processors, at most {used:.2f} s of one"
        print(f"{len(rows)} processes: {told_by}; {memory:.0f} MB at most ({rows[:, 2].sum():.0f} MB all), readers {readers:.0f} MB")


if __name__ == "__main__":
    together = teams.together
    teams.together = lambda work: _measured(together, work)
    sys.exit(os.EX_OK if cli.main(sys.argv[1:]) in (0, 4) else os.EX_SOFTWARE)
