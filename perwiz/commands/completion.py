"""`perwiz completion`: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from perwiz.commands import options

if TYPE_CHECKING:
    from perwiz.commands.parser import Parser

HELP = "print what bash, zsh or fish needs to complete commands, options and files"
SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "TRACE", "PATH", "FIRST", "SECOND", "MEASURED", "CUBE")
"""Words of arguments that name files."""
_ENDING = """
Put it where the shell looks for it, and start a new one:
  perwiz completion bash > ~/.local/share/bash-completion/completions/perwiz
  perwiz completion zsh > ~/.zfunc/_perwiz          with fpath+=~/.zfunc before compinit in ~/.zshrc
  perwiz completion fish > ~/.config/fish/completions/perwiz.fish

exit codes: 0 done, 2 no such shell
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing the script; it is made from the parsers of all commands."""
    import shtab

    from perwiz.commands.parser import whole
    from perwiz.errors import DONE

    parser = whole()
    _name_files(parser)
    print(shtab.complete(parser, args.shell))
    return DONE


def _name_files(parser: Parser) -> None:
    """Mark the arguments that name files, those of subcommands too."""
    import shtab

    for action in parser.actions():
        for inner in action.choices.values() if isinstance(action.choices, dict) else ():
            _name_files(inner)
        if not action.choices and any(word in str(action.metavar) for word in _FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
