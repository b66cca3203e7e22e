"""How a report is shown: in lines that fit, on a terminal with its answer in colour and a line on where its words are explained."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable

from perwiz import terms, words

_COLOUR, _PLAIN = "\x1b[1;35m", "\x1b[0m"
_ANSWERS = (r"first change", r"best ", r".*, (?:error|change) [-+\d]", r"predicted", r"tolerance", r"at least")
"""How the answer begins, the first that is there."""


def show(made: Callable[[], str], quiet: bool | None = None, titled: bool = False) -> None:
    """Print a text, made for the width it is shown at.

    With `quiet` False or True it is a report, whose title, answer and other parts have empty lines between them; one without is the answer.
    True prints the answer alone, under the title if that says that the trace is incomplete, or if it must be `titled`.
    """
    from perwiz.trace.resources import launched

    # Open MPI gives each process a terminal, also where its own output goes into a file.
    terminal = sys.stdout is not None and sys.stdout.isatty() and launched()[0] == 1
    with words.fitted(words.width(sys.stdout if terminal else None)):
        text = words.folded(made())
        if quiet is not None:
            title, answer, *rest = text.split("\n\n") if "\n\n" in text else ("", text)
            told = coloured(answer) if terminal and _has_colours() else answer
            above = [title] if title and ("(INCOMPLETE" in title or titled or not quiet) else []
            below = [] if quiet else [*rest, *(pointer(text) if terminal else [])]
            text = "\n\n".join([*above, told, *below])
    print(text)


def _has_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(facts: str) -> str:
    """Return facts with the answer among them in colour: the fact labelled so, else the first."""
    lines = facts.split("\n")
    starts = [k for k, line in enumerate(lines) if line[:1].strip()]
    named = [k for label in _ANSWERS for k in starts if re.match(label, lines[k])]
    first = next(iter([*named, *starts]), 0)
    end = next((k for k in starts if k > first), len(lines))
    return "\n".join([*lines[:first], *(f"{_COLOUR}{line}{_PLAIN}" for line in lines[first:end]), *lines[end:]])


def pointer(report: str) -> list[str]:
    """Return the line on where the terms of a report are explained, the first that it uses, as many as fit; none if it uses none."""
    asked = [shlex.quote(term.name) for term in terms.used(report) if not term.plain]
    lines = [f"what the words mean: perwiz explain {' '.join(asked[:number])}" for number in range(1, len(asked) + 1)]
    return [line for line in lines if len(line) <= words.columns()][-1:]
