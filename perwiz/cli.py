"""The command line: the subcommand that the first word names, and a try around it.

A problem of the user's is one line on stderr and an exit code; a traceback is always a bug of perwiz.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from perwiz import words
from perwiz.commands import COMMANDS, RUNNING, TOGETHER, parser
from perwiz.errors import BUG, DONE, UNREADABLE, USAGE, PerwizError, UsageError

INTERRUPTED, PIPE_CLOSED = 130, 141
"""Exit codes of a process that SIGINT or SIGPIPE ended, as a shell reports them."""
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables that launchers of MPI programs set."""
_ALGEBRA = "OPENBLAS_NUM_THREADS", "1"
"""Keeps what numpy has for large matrices from starting a thread on each processor when it is imported: there are none here."""
_SIGNALLED = 128
"""Plus the number of the signal, likewise."""


def program() -> NoReturn:
    """End this process with the exit code of its command line, without looking for what is no longer needed in the memory that ends too."""
    code = main()
    gc.freeze()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line, by default that of this process."""
    given = sys.argv[1:] if argv is None else list(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not in the main thread of a program that calls main()
            signal.signal(number, _leave)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files and regions need not fit the terminal's encoding
    try:
        code = dispatch(given)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else DONE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except PerwizError as error:
        code = complain(str(error), error.exit_code)
    except OSError as error:
        code = complain(f"{error.filename or shlex.join(given)}: {error.strerror or error}", USAGE)
    except MemoryError as error:
        code = complain(f"{shlex.join(given)}: out of memory{f': {error}' if str(error) else ''}", UNREADABLE)
    except Exception:
        traceback.print_exc()
        code = complain("this is a bug of perwiz; please report it with the lines above", BUG)
    return close(code)


def _leave(number: int, _: object) -> NoReturn:
    """End as a signal asks for, but clear away what is half written."""
    raise SystemExit(_SIGNALLED + number)


def dispatch(given: list[str]) -> int:
    """Return the exit code of the subcommand that the first word names. Only its module is imported."""
    if not given:
        parser.overview().print_help(sys.stderr)
        return USAGE
    name, *rest = [*(word for word in given if word != "help"), "--help"] if given[0] == "help" else given
    if name in COMMANDS:
        _check_alone(name)
        if name not in RUNNING:
            os.environ.setdefault(*_ALGEBRA)
        return int(import_module(f"perwiz.commands.{name}").run(parser.of(name).parse_args(rest)))
    if not name.startswith("-"):
        guess = words.meant(name, (*COMMANDS, "help")) or f", must be one of {', '.join(COMMANDS)};"
        raise UsageError(f"unknown command {name!r}{guess} see perwiz --help")
    parser.overview().parse_args([name, *rest])
    return DONE


def _check_alone(name: str) -> None:
    """Raise UsageError, or end all processes but the first, where mpiexec started several for a command that is done by one."""
    if name in TOGETHER or not any(variable in os.environ for variable in _LAUNCHERS):
        return
    from perwiz.trace.resources import launched

    size, rank = launched()
    if size > 1 and rank:
        raise SystemExit(DONE)
    if size > 1:
        raise UsageError(
            f"{name}: is not done by {size} processes together, must be started once (without mpiexec); {', '.join(TOGETHER)} are"
        )


def complain(message: str, code: int) -> int:
    """Return `code`, after printing the message as one line on stderr."""
    print("perwiz:", re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", message).strip(), file=sys.stderr)
    return code


def close(code: int) -> int:
    """Return `code`, after flushing standard output.

    If that takes nothing any more it is pointed at nothing, or Python would complain when it exits.
    """
    if sys.stdout is None:  # the process was started without
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return code or PIPE_CLOSED
        return code or complain(f"standard output: {error.strerror}", USAGE)
    return code
