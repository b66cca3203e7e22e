"""How command lines are read, and what their help looks like: one parser for each command, and one of all of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from perwiz import __version__, words
from perwiz.commands import COMMANDS
from perwiz.errors import UsageError

_START = """
start here:
  perwiz record -o run -- mpiexec -n 16 ./app   record your program
  perwiz domino run                             what to change first, and what it is worth
"""
_END = """
`perwiz help COMMAND` explains a command, `perwiz explain WORD` a word of its report. On a terminal lines fit its width, the answer is
coloured unless NO_COLOR is set, and the last line names words to explain; elsewhere lines have at most 120 columns.
"""


class Formatter(argparse.HelpFormatter):
    """Help that fits the terminal: sentences are wrapped, examples stay as they are, no word is broken."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, width=words.width(sys.stdout), **settings)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        with words.fitted(width):
            return "\n".join(words.paragraphs(text))

    def _split_lines(self, text: str, width: int) -> list[str]:
        with words.fitted(width):
            return words.wrapped(" ".join(text.split()))


class Parser(argparse.ArgumentParser):
    """Reports a usage error as UsageError, and takes no abbreviated options: a new option must not change an old command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Formatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{message}{'' if message.endswith('?') else ';'} see {self.prog} --help")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Return the arguments, and nothing that is left. Raises UsageError if something is; of an option with the one that is meant."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            option = next((word.partition("=")[0] for word in rest if word.startswith("-")), "")
            self.error(f"unrecognized arguments: {' '.join(rest)}{words.meant(option, self._option_string_actions)}")
        return found, rest

    def actions(self) -> list[argparse.Action]:
        """Return what was declared, in this order."""
        return self._actions

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += words.meant(str(value), map(str, action.choices or ()))
            raise


def of(name: str) -> Parser:
    """Return the parser of a command. Only its module is imported."""
    command = import_module(f"perwiz.commands.{name}")
    parser = Parser(prog=f"perwiz {name}", description=command.HELP)
    command.arguments(parser)
    return parser


def overview() -> Parser:
    """Return the parser of `perwiz` without a command, which lists the commands."""
    lines = [f"  {name:11} {import_module(f'perwiz.commands.{name}').HELP}" for name in COMMANDS]
    parser = Parser(
        prog="perwiz",
        usage="perwiz [--help] [--version] command ...",
        description="Predict how fast an MPI program would be, if ..., from one recorded run.",
        epilog="\n".join([_START, "commands:", *lines, _END]),
    )
    parser.add_argument("-V", "--version", action="version", version=f"perwiz {__version__}")
    return parser


def whole() -> Parser:
    """Return the parser of `perwiz` with all commands."""
    parser = overview()
    commands = parser.add_subparsers(metavar="command")
    for name in COMMANDS:
        command = import_module(f"perwiz.commands.{name}")
        command.arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    commands.add_parser("help", help="explain a command").add_argument("command", nargs="?", choices=COMMANDS)
    return parser
