"""What this process may use of the machine: how many processors and how much memory, which PERWIZ_THREADS and PERWIZ_MEMORY,
affinity, limits and control groups tell; and where it may keep what can be made again."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import resource
from collections.abc import Iterator

from perwiz.errors import UsageError

VARIABLE = "PERWIZ_THREADS"
"""Says how many threads and processes to use at most."""
MEMORY = "PERWIZ_MEMORY"
"""Says how much memory to use at most."""
_SIZE = re.compile(r"([0-9]{1,15})([KMG]?)")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30}
_STATUS = "/proc/self/status"
"""What the system says this process has."""
_LIMITS = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
"""Limits of a process (ulimit -v, -d), and what of it they are about."""
_MOST = 1024
_ROOT, _GROUPS_OF, _SYSTEM = "/sys/fs/cgroup", "/proc/self/cgroup", "/proc/meminfo"
"""Where control groups are, which ones this process is in, and what the system says of memory."""
_NAMES = {2: ("max", "current", "inactive_file"), 1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file")}
"""By version: the files with limit and use of memory, and the line of its statistics with what caches files and is not used."""
_UNLIMITED = 1 << 60
"""Bytes from which a limit of memory is none: version 1 of control groups has numbers like that for no limit."""


def cache() -> str:
    """Return the folder in which programs of this user keep what they can make again."""
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


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


@functools.cache
def _quotas() -> tuple[tuple[int, int], ...]:
    """Return what each control group above this process may use, microseconds of all processors in so many of time (cgroups(7)).

    They are read once: each of the smallest steps asks how many threads it may take, and reading takes longer than such a step.
    """
    return tuple(_read_quotas())


def _read_quotas() -> Iterator[tuple[int, int]]:
    for folder, version in _groups("cpu"):
        with contextlib.suppress(OSError, ValueError):
            if version == 2:
                quota, period = _text(folder, "cpu.max").split()
            else:
                quota, period = (_text(folder, f"cpu.cfs_{what}_us") for what in ("quota", "period"))
            yield (int(quota), int(period))


def memory() -> int | None:
    """Return how many bytes of memory this process may still take; None if nothing tells.

    PERWIZ_MEMORY says it; else limits of the process, the system and its control groups do. What only caches files counts as free. Raises
    UsageError for a PERWIZ_MEMORY that is no size such as 4G.
    """
    told = [_asked()] if MEMORY in os.environ else [*_limited(), *_free(), *_left()]
    return max(min(told), 0) if told else None


def addresses() -> int | None:
    """Return how many bytes this process may still map, files or memory, as a limit tells (ulimit -v); None without one."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else max(most - _has().get("VmSize", 0), 0)


def _asked() -> int:
    """Return what PERWIZ_MEMORY leaves."""
    asked = os.environ[MEMORY]
    match = _SIZE.fullmatch(asked)
    if not match or not asked.isascii() or not int(match[1]):
        raise UsageError(f"{MEMORY}={asked}: must be a size in bytes, or in K, M or G, such as 4G")
    return (int(match[1]) << _UNITS[match[2]]) - _has().get("VmRSS", 0)


def _limited() -> Iterator[int]:
    """Yield what the limits of this process leave."""
    for limit, what in _LIMITS:
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - _has().get(what, 0)


def _has() -> dict[str, int]:
    """Return what this process has of memory, bytes, by the words of the system; nothing if that does not tell."""
    try:
        with open(_STATUS) as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    return {row[0].rstrip(":"): int(row[1]) << 10 for row in rows if len(row) == 3 and row[2] == "kB"}


def _free() -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError), open(_SYSTEM) as file:
        yield from (int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


def _left() -> Iterator[int]:
    """Yield what the limits of control groups leave, bytes."""
    for folder, version in _groups("memory"):
        limit, used, cached = _NAMES[version]
        with contextlib.suppress(OSError, ValueError):
            most = int(_text(folder, f"memory.{limit}"))
            if most < _UNLIMITED:
                counts = dict(line.split() for line in _text(folder, "memory.stat").splitlines())
                yield most - int(_text(folder, f"memory.{used}")) + int(counts.get(cached, 0))


def _groups(controller: str) -> Iterator[tuple[str, int]]:
    """Yield the directories of the control groups that limit this process, the innermost first, and their version, 1 or 2.

    In a container the group's own directory may be the root: what is not there is looked for further up.
    """
    with contextlib.suppress(OSError), open(_GROUPS_OF) as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controllers == "" or controller in controllers.split(","):
                root, version = os.path.join(_ROOT, *([controller] if controllers else [])), 1 if controllers else 2
                inside = [part for part in path.split("/") if part]
                yield from ((os.path.join(root, *inside[:depth]), version) for depth in range(len(inside), -1, -1))


def _text(folder: str, name: str) -> str:
    with open(os.path.join(folder, name)) as file:
        return file.read()
