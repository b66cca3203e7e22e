"""Running an MPI program with the recorder in front of it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import shlex
import shutil
import signal
import subprocess
import time

from perwiz.errors import INCOMPLETE, UsageError
from perwiz.record import programs

MARKER, VERSION = "run.json", 1


def open_folder(path: str) -> tuple[str, str]:
    """Make the directory of a run, and those that it is in; return its absolute name and the token by which the processes know it.

    Raises UsageError when there is something of that name, or it cannot be made.
    """
    folder, token = os.path.abspath(path), secrets.token_hex(8)
    try:
        if not os.path.isdir(os.path.dirname(folder)):
            os.makedirs(os.path.dirname(folder))
    except OSError as error:
        raise UsageError(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}: {error.filename}") from None
    try:
        os.mkdir(folder)
        text = json.dumps({"format": "perwiz run", "version": VERSION, "token": token})
        pathlib.Path(folder, MARKER).write_text(f"{text}\n", encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"{path}: is there already, must be a new directory") from None
    except OSError as error:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        raise UsageError(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}") from None
    return folder, token


def variables(folder: str, token: str, library: str, options: dict[str, str]) -> dict[str, str]:
    """Return the environment variables that the recorder needs in every process; no `library` to preload if it is linked in."""
    out = {"PERWIZ_DIR": folder, "PERWIZ_TOKEN": token}
    if options.get("PERWIZ_CLOCK_ERRORS"):
        out["PERWIZ_CLOCK_START"] = str(time.monotonic_ns())
    return inherited() | preloaded(library) | out | options


def inherited() -> dict[str, str]:
    """Return the variables the user has set for the recorder."""
    return {name: value for name, value in os.environ.items() if name.startswith("PERWIZ_")}


def preloaded(library: str) -> dict[str, str]:
    """Return the variable that puts a library in front of a program, before those that are there already; nothing for no library."""
    before = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": f"{library}:{before}" if before else library} if library else {}


def command_line(command: list[str], settings: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment it is to run in.

    A launcher hands the variables to the program only: the recorder has no business in the launcher itself, and on other nodes the
    launcher's environment would not be there.
    """
    style = programs.launcher_style(command[0])
    if style is None:
        return command, os.environ | settings
    given = [word for pair in settings.items() for word in ([style, "=".join(pair)] if style == "-x" else [style, *pair])]
    out = [command[0], *given]
    for word in command[1:]:
        out += [word, *given] if word == ":" and style == "-x" else [word]
    return out, dict(os.environ)


def run(command: list[str], settings: dict[str, str]) -> int:
    """Return the exit code of a command, negative for a signal. Signals that are to end this process go to the command, too."""
    words, environment = command_line(command, settings)
    try:
        child = subprocess.Popen(words, env=environment)
    except OSError as error:
        raise UsageError(f"{command[0]}: cannot be run: {(error.strerror or str(error)).lower()}") from None
    try:
        return child.wait()
    except BaseException as why:
        if not isinstance(why, KeyboardInterrupt):  # that one it has got itself
            child.send_signal(signal.SIGTERM)
        child.wait()
        raise


def check(command: list[str]) -> None:
    """Raise UsageError for a command that is not there, or a program that cannot be recorded by preloading."""
    if not shutil.which(command[0]):
        raise UsageError(f"{command[0]}: not found, must be a command such as mpiexec")
    for word in command:
        program = shutil.which(word)
        if program and programs.is_static(program) and not programs.has_recorder(program):
            flags = "perwiz record --print-flags"
            raise UsageError(f"{word}: linked statically, so the recorder cannot get in front of it; link it with $({flags})")


def exit_code(code: int, recorded: bool) -> int:
    """Return the exit code that stands for how a command ended, as a shell does: 128 + N for one that signal N ended.

    If it ended well but nothing was recorded, that of an incomplete trace.
    """
    return INCOMPLETE if code == 0 and not recorded else code if code >= 0 else 128 - code


def outcome(folder: str, stopped: dict[int, list[int]], threads: bool = False, of_mpi: bool = True, counters: bool = False) -> list[str]:
    """Return what is to be said after a run: a line for everything that makes the recording incomplete.

    `stopped` are, per error number, the ranks of which a thread had to stop recording; `threads`: those of OpenMP were asked for;
    `of_mpi`: it is a program of MPI; `counters`: values of counters were asked for.
    """
    lines = []
    for number, ranks in stopped.items():
        why = f"{os.strerror(number).lower()}: {_ranks(ranks)} stopped recording" if number else f"nothing was recorded of {_ranks(ranks)}"
        lines.append(f"{folder}: {why}")
    stopped_ranks = {rank for ranks in stopped.values() for rank in ranks}
    files = {int(path.stem.partition("-")[2]): path for path in sorted(pathlib.Path(folder).glob("definitions-*.jsonl"))}
    unfinished = [rank for rank, path in files.items() if rank not in stopped_ranks and b'{"ended":' not in path.read_bytes()[-64:]]
    if unfinished:
        who = f"{_ranks(unfinished)} did not come to MPI_Finalize" if of_mpi else "the program did not come to its end"
        lines.append(f"{who}; what was recorded until then is there")
    uncounted = [rank for rank in files if counters and not pathlib.Path(folder, f"counts-{rank:06}.0.npy").exists()]
    if uncounted:
        lines.append(f"no counters of {_ranks(uncounted)}: the kernel there does not allow them (perwiz record --profile tells why)")
    silent = [rank for rank, path in files.items() if threads and rank not in unfinished and b'{"runtime":' not in path.read_bytes()]
    if silent:
        lines.append(f"no OpenMP runtime told of threads on {_ranks(silent)}; LLVM's and Intel's do (--openmp-runtime)")
    return lines


def ended(code: int, command: list[str]) -> list[str]:
    """Return a line that says how a command failed, if it did."""
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return [f"{shlex.join(command)} {how}"] if code else []


def _ranks(ranks: list[int]) -> str:
    first = ", ".join(map(str, ranks[:8]))
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {first}{' and more' if len(ranks) > 8 else ''}"


def recorded(folder: str) -> bool:
    """Return whether a process has recorded something; if not the directory goes away."""
    if any(pathlib.Path(folder).glob("definitions-*.jsonl")):
        return True
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, MARKER))
        os.rmdir(folder)
    return False
