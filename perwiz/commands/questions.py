"""The hypotheses as options, for every command that asks questions."""

from __future__ import annotations

import argparse

QUESTIONS = (
    ("zero-wait", "CALLS", "these calls do not wait: they go on as if their partners had come; the partners come when they did"),
    ("zero-time", "CALLS", "these calls return when they are entered"),
    ("balance-time", "REGION[#K]", "in every instance of the region, or the K-th, every process computes for the mean of their times"),
    (
        "balance-messages",
        "REGION[#K]",
        "in every instance of the region, or the K-th, every process that sends passes the mean of bytes",
    ),
    ("scale", "REGION=FACTOR", "computation inside the region takes FACTOR of its time; MPI calls keep theirs"),
    ("speed", "rank:R=FACTOR", "the process computes FACTOR times as fast"),
    ("network", "MODEL", "another network: a shipped model, a TOML file, or changes such as L_ns=1000,G_ns_per_byte=0.1"),
    (
        "advance",
        "CALL",
        "what this call (e12, or several: e12,e17) waits for runs earlier on its own process, no further than the wait asks: the one call"
        " with the computation before it, or with 'e12 by REGION' the whole instance of the region that it lies in",
    ),
    ("move", "'CALLS before CALL'", "calls of a process run earlier, each with the computation before it, such as 'e40..e44 before e30'"),
)
"""Word, name of the argument and meaning of each."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare an option per kind of hypothesis; all that are given end in one list, `hypotheses`, in their order."""
    for word, name, meaning in QUESTIONS:
        parser.add_argument(f"--{word}", dest="hypotheses", action=_Ask, word=word, metavar=name, help=meaning, default=[])


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
