"""The command line: a list of subcommands, and a try around the chosen one.

A problem of the user's is one line on stderr and an exit code; a traceback is always a bug of perwiz.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from perwiz import __version__
from perwiz.errors import BUG, DONE, UNREADABLE, USAGE, PerwizError, UsageError

COMMANDS = (
    "info",
    "predict",
    "domino",
    "critical",
    "curve",
    "compare",
    "bound",
    "balance",
    "patterns",
    "report",
    "cube",
    "correct",
    "convert",
    "record",
    "calibrate",
    "jobs",
    "tables",
)
INTERRUPTED, PIPE_CLOSED = 130, 141
"""Exit codes of a process that SIGINT or SIGPIPE ended, as a shell reports them."""
_SIGNALLED = 128
"""Plus the number of the signal, likewise."""


class Parser(argparse.ArgumentParser):
    """Reports a usage error as UsageError, and takes no abbreviated options: a new option must not change an old command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line, by default that of this process."""
    words = sys.argv[1:] if argv is None else list(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not in the main thread of a program that calls main()
            signal.signal(number, _leave)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files and regions need not fit the terminal's encoding
    try:
        code = dispatch(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else DONE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except PerwizError as error:
        code = complain(str(error), error.exit_code)
    except OSError as error:
        code = complain(f"{error.filename or shlex.join(words)}: {error.strerror or error}", USAGE)
    except MemoryError as error:
        code = complain(f"{shlex.join(words)}: out of memory{f': {error}' if str(error) else ''}", UNREADABLE)
    except Exception:
        traceback.print_exc()
        code = complain("this is a bug of perwiz; please report it with the lines above", BUG)
    return close(code)


def _leave(number: int, _: object) -> NoReturn:
    """End as a signal asks for, but clear away what is half written."""
    raise SystemExit(_SIGNALLED + number)


def dispatch(words: list[str]) -> int:
    """Return the exit code of the subcommand that the first word names. Only its module is imported."""
    if not words:
        overview().print_help(sys.stderr)
        return USAGE
    name, *rest = words
    if name in COMMANDS:
        command = import_module(f"perwiz.commands.{name}")
        parser = Parser(prog=f"perwiz {name}", description=command.HELP)
        command.arguments(parser)
        return int(command.run(parser.parse_args(rest)))
    if not name.startswith("-"):
        raise UsageError(f"unknown command {name!r}, must be one of {', '.join(COMMANDS)}; see perwiz --help")
    overview().parse_args(words)
    return DONE


def overview() -> Parser:
    """Return the parser of `perwiz` without a command, which lists the commands."""
    lines = [f"  {name:10}{import_module(f'perwiz.commands.{name}').HELP}" for name in COMMANDS]
    parser = Parser(
        prog="perwiz",
        usage="perwiz [--help] [--version] command ...",
        description="Predict how fast an MPI program would be, if ..., from one recorded run.",
        epilog="\n".join(["commands:", *lines, "", "`perwiz command --help` explains a command."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"perwiz {__version__}")
    return parser


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
