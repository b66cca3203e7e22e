"""Counters only: where the record of a run goes, and what is to be said when there is none."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import NamedTuple

from perwiz.errors import UsageError
from perwiz.record import counters, launch

DEFAULT_FILE = "perwiz-profile.txt"


class Target(NamedTuple):
    """Where one record goes."""

    to: str
    """file, syslog or both."""
    file: str
    """As the user named it; empty: none."""
    counters: str
    note: str
    """A file by which the program says how far it came."""
    fresh: bool
    """Whether the record's file was not there before."""


def open_target(to: str, file: str | None, given: str | None) -> Target:
    """Return where the record goes, after making sure that it can. Raises UsageError if not."""
    wanted = counters.asked(given)
    if to == "syslog" and file:
        raise UsageError(f"{file}: nothing is written to a file with --to syslog; it must be --to file or --to both")
    name = "" if to == "syslog" else file or DEFAULT_FILE
    fresh = bool(name) and not os.path.exists(name)
    try:
        if name:
            with open(name, "ab"):
                pass
        handle, note = tempfile.mkstemp(prefix=".perwiz-", dir=os.path.dirname(os.path.abspath(name)) if name else None)
        os.close(handle)
    except OSError as error:
        _forget(name if fresh else "")
        raise UsageError(f"{name or 'a temporary file'}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return Target(to, name, ",".join(wanted), note, fresh)


def variables(target: Target, library: str) -> dict[str, str]:
    """Return the environment variables by which the recorder knows in every process that it is to count, and where the record goes."""
    os.environ.pop("PERWIZ_DIR", None)  # would ask for a trace
    own = {"PERWIZ_PROFILE": target.to, "PERWIZ_NOTE": target.note}
    more = {"PERWIZ_PROFILE_FILE": os.path.abspath(target.file) if target.file else "", "PERWIZ_COUNTERS": target.counters}
    return launch.inherited() | launch.preloaded(library) | own | {name: value for name, value in more.items() if value}


def close_target(target: Target) -> list[str]:
    """Return what the program has noted, and leave nothing behind that is no record."""
    with open(target.note, encoding="utf-8", errors="replace") as file:
        noted = file.read().splitlines()
    _forget(target.note)
    with contextlib.suppress(OSError):
        if target.fresh and target.file and not os.path.getsize(target.file):
            _forget(target.file)
    return noted


def outcome(target: Target, noted: list[str]) -> list[str]:
    """Return a line for everything that was asked for and is not there."""
    wanted = {"file", "syslog"} if target.to == "both" else {target.to}
    failed = [line for line in noted if line not in {"begun", "file", "syslog"}]
    if failed or wanted <= set(noted):
        return failed
    return [f"{target.file or 'syslog'}: no record: the program did not come through MPI_Finalize, and its counters are lost with it"]


def _forget(path: str) -> None:
    with contextlib.suppress(OSError):
        if path:
            os.unlink(path)
