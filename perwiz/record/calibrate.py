"""Running the program that measures round trips (calibrate.c) at the end of a launcher's command line."""

from __future__ import annotations

import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from typing import IO

from perwiz.errors import UsageError
from perwiz.record import build

_MARK = "@perwiz "


def measured(command: list[str], mpicc: str, rounds: int, largest: int, progress: Callable[[int, int], None]) -> list[list[str]]:
    """Return the words of each line that the program printed, what it said about its progress left out.

    Raises UsageError when the command cannot be run, fails, or does not run the program in two processes or more.
    """
    program = build.measuring(mpicc)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        lines, code = _run([*command, str(program), str(rounds), str(largest)], progress, errors)
        errors.seek(0)
        complaints = errors.read().splitlines()
    _check(command, mpicc, code, lines, complaints)
    return lines


def _run(words: list[str], progress: Callable[[int, int], None], errors: IO[str]) -> tuple[list[list[str]], int]:
    try:
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True, errors="replace")
    except OSError as error:
        raise UsageError(f"{words[0]}: cannot be run: {(error.strerror or str(error)).lower()}") from None
    try:
        return _read(child.stdout or [], progress), child.wait()
    except BaseException as why:
        if not isinstance(why, KeyboardInterrupt):  # that one it has got itself
            child.send_signal(signal.SIGTERM)
        child.wait()
        raise
    finally:
        if child.stdout:
            child.stdout.close()


def _read(out: Iterable[str], progress: Callable[[int, int], None]) -> list[list[str]]:
    lines = []
    for line in out:
        words = line.partition(_MARK)[2].split()
        if words[:1] == ["progress"]:
            progress(int(words[1]), int(words[2]))
        elif words:
            lines.append(words)
    return lines


def _check(command: list[str], mpicc: str, code: int, lines: list[list[str]], complaints: list[str]) -> None:
    shown, sizes = shlex.join(command), [int(line[1]) for line in lines if line[0] == "processes"]
    if ["done"] in lines:
        return
    if code:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        why = next((text for line in complaints if len(text := line.strip(" -")) > 1), "")
        raise UsageError(f"{shown}: {how}{f': {why}' if why else ''}")
    if len(sizes) > 1:
        why = f"{mpicc} belongs to another MPI, must be that of the launcher (--mpicc)"
        raise UsageError(f"{shown}: ran {len(sizes)} times 1 process: {why}")
    if sizes:
        raise UsageError(f"{shown}: runs 1 process, must run 2 or more")
    raise UsageError(f"{shown}: measured nothing, must be a launcher and its options, without a program")
