"""What this process may use of the machine: how many processors and how much memory; PERWIZ_THREADS, affinity and control groups tell."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator

from perwiz.errors import UsageError

VARIABLE = "PERWIZ_THREADS"
"""Says how many threads and processes to use at most."""
_MOST = 1024
_ROOT, _GROUPS_OF, _SYSTEM = "/sys/fs/cgroup", "/proc/self/cgroup", "/proc/meminfo"
"""Where control groups are, which ones this process is in, and what the system says of memory."""
_NAMES = {2: ("max", "current", "inactive_file"), 1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file")}
"""By version: the files with limit and use of memory, and the line of its statistics with what caches files and is not used."""
_UNLIMITED = 1 << 60
"""Bytes from which a limit of memory is none: version 1 of control groups has numbers like that for no limit."""


def processors() -> int:
    """Return how many processors this process may use, at least 1: so many threads, or processes that it starts, run at a time.

    PERWIZ_THREADS says it; else as many as affinity and the quota of a control group, rounded up, allow. Raises UsageError for a
    PERWIZ_THREADS that is no whole number from 1 to 1024.
    """
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return _allowed()
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 8 else 0
    if not 1 <= number <= _MOST:
        raise UsageError(f"{VARIABLE}={asked}: must be a whole number from 1 to {_MOST}")
    return number


def _allowed() -> int:
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([there, *(-(-quota // period) for quota, period in _quotas() if quota > 0 and period > 0)]))


def _quotas() -> Iterator[tuple[int, int]]:
    """Yield what each control group above this process may use, microseconds of all processors in so many of time (cgroups(7))."""
    for folder, version in _groups("cpu"):
        with contextlib.suppress(OSError, ValueError):
            if version == 2:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{what}_us").read_text() for what in ("quota", "period"))
            yield (int(quota), int(period))


def memory() -> int | None:
    """Return how many bytes of memory this process may still take, as far as the system and its control groups tell; None if they do not.

    What only caches files counts as free.
    """
    told = [*_free(), *_left()]
    return max(min(told), 0) if told else None


def _free() -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError), open(_SYSTEM) as file:
        yield from (int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


def _left() -> Iterator[int]:
    """Yield what the limits of control groups leave, bytes."""
    for folder, version in _groups("memory"):
        limit, used, cached = _NAMES[version]
        with contextlib.suppress(OSError, ValueError):
            most = int((folder / f"memory.{limit}").read_text())
            if most < _UNLIMITED:
                counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                yield most - int((folder / f"memory.{used}").read_text()) + int(counts.get(cached, 0))


def _groups(controller: str) -> Iterator[tuple[pathlib.Path, int]]:
    """Yield the directories of the control groups that limit this process, the innermost first, and their version, 1 or 2.

    In a container the group's own directory may be the root: what is not there is looked for further up.
    """
    with contextlib.suppress(OSError), open(_GROUPS_OF) as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controllers == "" or controller in controllers.split(","):
                root, version = pathlib.Path(_ROOT, *([controller] if controllers else [])), 1 if controllers else 2
                inside = pathlib.PurePosixPath(path.lstrip("/"))
                yield from ((root / part, version) for part in (inside, *inside.parents))
