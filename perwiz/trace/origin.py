"""Where a timeline comes from, and what a file says of that."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import Literal

_SHOWN = 400
"""Characters of a list of hypotheses that people are shown."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a timeline comes from; `str` says it in words, a long list of hypotheses cut with a mark."""

    kind: Literal["measured", "corrected", "predicted", "untimed"] = "measured"
    """Untimed: nobody knows how long calls take, and they are shown as if they took no time; what makes them times is a machine."""
    by: str = ""
    """What else made it, in words; that of a prediction stands behind its hypotheses."""
    hypotheses: tuple[str, ...] = ()
    """The texts of those that it was predicted under, in the order asked."""
    effects_may_precede_causes: bool = False
    """Waits or calls were zeroed, so an effect before its cause is no fault of the clocks."""

    def __str__(self) -> str:
        if self.kind != "predicted":
            return self.by or self.kind
        if not self.hypotheses:
            return self.by
        under = textwrap.shorten("predicted under " + "; ".join(self.hypotheses), _SHOWN, placeholder=" ...")
        return f"{under}, {self.by}" if self.by else under

    @property
    def measured(self) -> bool:
        """Whether nothing was done to the times since they were measured."""
        return self == MEASURED

    @property
    def predicted(self) -> bool:
        """Whether the times are those of a prediction."""
        return self.kind == "predicted"

    def with_offsets(self) -> Origin:
        """Return the origin of the same timeline with its measured clock offsets applied."""
        return dataclasses.replace(self, by=self._behind("clock offsets applied"))

    def corrected(self, by: str) -> Origin:
        """Return the origin of the same timeline after a correction, after which no effect precedes its cause."""
        step = f"corrected by {by}"
        return Origin("predicted" if self.predicted else "corrected", step if self.measured else self._behind(step), self.hypotheses)

    def _behind(self, step: str) -> str:
        before = self.by if self.predicted else str(self)
        return f"{before}, {step}" if before else step


MEASURED = Origin()
UNTIMED = Origin("untimed", "computation alone")


def to_json(origin: Origin) -> str:
    """Return all that there is to an origin as JSON, in ASCII and without blanks, so that no file breaks it."""
    text = json.dumps(dataclasses.asdict(origin), separators=(",", ":"))
    return text.replace(" ", "\\u0020").replace("\x7f", "\\u007f")


def from_json(text: str) -> Origin:
    """Return the origin that `to_json` wrote. Raises ValueError for another text."""
    match json.loads(text):
        case {"kind": "measured" | "corrected" | "predicted" as kind, "by": str(by), "hypotheses": list(asked)} as fields:
            if all(isinstance(hypothesis, str) for hypothesis in asked):
                return Origin(kind, by, tuple(asked), fields.get("effects_may_precede_causes") is True)
    raise ValueError(f"'{text[:40]}' is no origin")


def from_words(words: str) -> Origin:
    """Return the origin that a file names in words alone, as perwiz wrote them before it wrote JSON, and others may.

    A list of hypotheses may have been cut there, and a name in it may hold what parts them: what was cut is not known, and whether an
    effect may precede its cause is read off what is left.
    """
    under = words.removeprefix("predicted under ")
    if under != words:
        under, corrected, by = under.partition(", corrected by ")
        asked = tuple(under.split("; "))
        return Origin(
            "predicted",
            f"corrected by {by}" if corrected else "",
            asked,
            not corrected and any(text.startswith(("zero-wait ", "zero-time ")) for text in asked),
        )
    if "corrected by " in words:
        return Origin("corrected", words)
    return Origin("measured", "" if words == "measured" else words)
