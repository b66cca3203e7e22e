"""The strings of an OTF2 archive that is written."""

from __future__ import annotations


class Strings:
    """Gives every text a number; the empty one has 0."""

    def __init__(self) -> None:
        self._number = {"": 0}

    def of(self, text: str) -> int:
        """Return the number of a text."""
        return self._number.setdefault(text, len(self._number))

    def all(self) -> tuple[str, ...]:
        """Return all texts in order of their numbers."""
        return tuple(self._number)
