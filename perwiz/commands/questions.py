"""The hypotheses as options, for every command that asks questions."""

from __future__ import annotations

import argparse

from perwiz.whatif.hypotheses import KINDS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare an option per kind of hypothesis; all that are given end in one list, `hypotheses`, in their order."""
    for kind in KINDS:
        parser.add_argument(
            f"--{kind.word}", dest="hypotheses", action=_Ask, word=kind.word, metavar=kind.argument, help=kind.meaning, default=[]
        )


def networks(texts: list[str]) -> list[str]:
    """Return the arguments of the hypotheses on networks, which may be files."""
    return [text.removeprefix("network ") for text in texts if text.startswith("network ")]


class _Ask(argparse.Action):
    """Collects the questions in the order they are asked."""

    def __init__(self, word: str, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # argparse passes its own settings through
        self._word = word

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        """Add one question."""
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), f"{self._word} {values}"])
