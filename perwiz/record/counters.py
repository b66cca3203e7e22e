"""Counters of the processor and of the kernel: which can be counted, and why one cannot be here."""

from __future__ import annotations

import ctypes
import errno
import os
import pathlib
import platform
import struct
from typing import NamedTuple

from perwiz.errors import UsageError


class Event(NamedTuple):
    """What perf_event_open is asked for, as in events.c."""

    type: int
    """0 of the processor, 1 of the kernel."""
    config: int
    kernel: bool = False
    """Those of the kernel count, too."""


EVENTS = {
    "instructions": Event(0, 1),
    "cycles": Event(0, 0),
    "cache-misses": Event(0, 3),
    "branch-misses": Event(0, 5),
    "task-clock": Event(1, 1),
    "page-faults": Event(1, 2),
    "context-switches": Event(1, 3, kernel=True),
}
"""What can be counted."""
_ALIKE = {"papi_tot_ins": "instructions", "papi_tot_cyc": "cycles", "papi_br_msp": "branch-misses"}
"""Names of PAPI for the same."""
MOST = 4
_CALL = {"x86_64": 298, "aarch64": 241}
"""Number of perf_event_open."""
_USER_ONLY = 1 << 5 | 1 << 6
"""Bits of its attributes: neither the kernel nor the hypervisor."""
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def asked(text: str | None) -> list[str]:
    """Return the events of a list of names. Raises UsageError for one that is not known, and for too many."""
    given = [name for name in (text or "").split(",") if name]
    wanted = list(dict.fromkeys(_ALIKE.get(name.lower(), name) for name in given))
    unknown = [name for name in wanted if name not in EVENTS]
    if unknown or len(wanted) > MOST:
        raise UsageError(f"--counters {unknown[0] if unknown else text}: must be at most {MOST} of {', '.join(EVENTS)}")
    return wanted


def check(names: list[str]) -> None:
    """Raise UsageError, saying why and what helps, for the first event that cannot be counted on this machine."""
    for name in names:
        number = _refused(EVENTS[name])
        if number:
            raise UsageError(f"--counters {name}: cannot be counted: {_why(EVENTS[name], number)}")


def _refused(event: Event) -> int:
    """Return the error with which the kernel refuses an event, 0 if it does not, or on a machine that perwiz does not know."""
    call = _CALL.get(platform.machine())
    if call is None:
        return 0
    flags = 0 if event.kernel else _USER_ONLY
    attributes = struct.pack("=IIQQQQQIIQ", event.type, 64, event.config, 0, 0, 0, flags, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    handle: int = library.syscall(call, attributes, 0, -1, -1, ctypes.c_ulong(0))
    if handle < 0:
        return ctypes.get_errno()
    os.close(handle)
    return 0


def _why(event: Event, number: int) -> str:
    if number in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP) and not event.type:
        return "no such counter of the processor here, as in most virtual machines; task-clock and page-faults are the kernel's own"
    if number in (errno.EACCES, errno.EPERM):
        try:
            level = pathlib.Path(_PARANOID).read_text(encoding="ascii").strip()
        except OSError:
            level = "unknown"
        return f"perf_event_paranoid is {level}, must be at most {1 if event.kernel else 2}: sysctl kernel.perf_event_paranoid"
    return f"perf_event_open: {os.strerror(number).lower()}"
