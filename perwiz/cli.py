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
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from perwiz import words
from perwiz.commands import COMMANDS, RUNNING, TOGETHER, options, parser
from perwiz.errors import BUG, DONE, UNREADABLE, USAGE, PerwizError, UsageError

if TYPE_CHECKING:
    from perwiz.engines.team import Asked
    from perwiz.trace.spread.team import Team

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
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
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
    """Return the exit code of a command line. Where mpiexec started several processes, they answer together."""
    if not any(variable in os.environ for variable in _LAUNCHERS):
        return _answer(given)
    from perwiz.trace.resources import launched

    if launched()[0] == 1:
        return _answer(given)
    _end_at_once()
    from perwiz.engines.team import together

    return together(partial(_answer, given), partial(_asked, given))


def _end_at_once() -> None:
    """Let signals end this process at once: of several none writes, and who waits inside MPI does not hear of them.

    Launchers see that, and end the others, also those that wait for this one to begin.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _answer(given: list[str], team: Team | None = None) -> int:
    """Return the exit code of the subcommand that the first word names. Only its module is imported."""
    if not given:
        parser.overview().print_help(sys.stderr)
        return USAGE
    name, rest = _command(given)
    if name not in COMMANDS:
        parser.overview().parse_args([name, *rest])
        return DONE
    if name not in RUNNING:
        os.environ.setdefault(*_ALGEBRA)
    args = parser.of(name).parse_args(rest)
    run = import_module(f"perwiz.commands.{name}").run
    return int(run(args) if team is None else run(args, team))


def _command(given: list[str]) -> tuple[str, list[str]]:
    """Return the word that names a subcommand, or an option instead of one, and the words behind it. Raises UsageError for others."""
    name, *rest = [*(word for word in given if word != "help"), "--help"] if given[0] == "help" else given
    if name not in COMMANDS and not name.startswith("-"):
        guess = words.meant(name, (*COMMANDS, "help")) or f", must be one of {', '.join(COMMANDS)};"
        raise UsageError(f"unknown command {name!r}{guess} see perwiz --help")
    return name, rest


def _asked(given: list[str], size: int) -> Asked:
    """Return what a command line asks of so many processes, whatever its trace. Raises UsageError for what they do not do together."""
    from perwiz.engines.team import Asked

    if not given:
        raise UsageError("no command; see perwiz --help")
    name, rest = _command(given)
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):  # where help is all that is asked for
        args = (parser.of(name) if name in COMMANDS else parser.overview()).parse_args(rest if name in COMMANDS else given)
        if name not in TOGETHER:
            once = f"must be started once (without mpiexec); {', '.join(TOGETHER)} are"
            raise UsageError(f"{name}: is not done by {size} processes together, {once}")
        return Asked(*options.asked(args, [name, *rest]))
    return Asked(shlex.join(given), shlex.join(given))


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
