"""`perwiz explain`: what the words in reports mean."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from perwiz.commands import options

if TYPE_CHECKING:
    from perwiz.terms import Term

HELP = "explain a word of a report, such as lag, slack or late sender; without one, list them all"
_ENDING = """
examples:
  perwiz explain
  perwiz explain lag
  perwiz explain late sender
  perwiz explain L o G S

exit codes: 0 done, 2 no such word
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz explain`."""
    parser.add_argument("terms", nargs="*", metavar="TERM", help="words or letters of a report; several are explained one after the other")
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after printing a line for each word."""
    from perwiz import terms, words
    from perwiz.errors import DONE

    asked = terms.find(" ".join(args.terms)) or [term for word in args.terms for term in _found(word)] or list(terms.TERMS)
    label = max(len(term.name) for term in asked) + 2
    with words.fitted(words.width(sys.stdout)):
        print("\n".join(line for term in asked for line in words.wrapped(f"{term.name:{label}}{term.meaning}", label)))
    return DONE


def _found(word: str) -> list[Term]:
    """Return the terms of a word. Raises UsageError for one that is none."""
    from perwiz import terms, words
    from perwiz.errors import UsageError

    found = terms.find(word)
    if not found:
        guess = words.meant(word, (name for term in terms.TERMS for name in (term.name, *term.also)))
        raise UsageError(f"explain {words.shown(word)}: no word of a report{guess or ';'} perwiz explain lists them")
    return found
