"""`perwiz explain`: what the words in reports mean."""

from __future__ import annotations

import argparse
import sys

from perwiz.commands import options

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
    from perwiz.errors import DONE, UsageError

    whole = terms.find(" ".join(args.terms))
    found = {word: terms.find(word) for word in args.terms}
    asked = whole or [term for one in found.values() for term in one] if args.terms else terms.TERMS
    label = max((len(term.name) for term in asked), default=0) + 2
    with words.fitted(words.width(sys.stdout)):
        for line in (line for term in asked for line in words.wrapped(f"{term.name:{label}}{term.meaning}", label)):
            print(line)
    unknown = next((word for word, one in found.items() if not one and not whole), None)
    if unknown is not None:
        guess = words.meant(unknown, (name for term in terms.TERMS for name in (term.name, *term.also)))
        raise UsageError(f"explain {words.shown(unknown)}: no word of a report{guess or ';'} perwiz explain lists them")
    return DONE
