"""How a result shows itself in a notebook. What tells and draws it lies in `report`, far above: it is loaded by name when it is asked."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from importlib import import_module
from typing import Any

_ABOVE = "perwiz.report.notebook"


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows."""

    svg: str = dataclasses.field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


class Shown:
    """A result that a notebook shows as its report, and that can be drawn."""

    def _repr_html_(self) -> str:
        return str(_above().html(self))

    def plot(self, path: str | None = None, width: float | None = None) -> Picture:
        """Return the picture that `--plot` draws, `width` inches wide, which a notebook shows; it is written to `path`, if that is given.

        Raises UsageError for another suffix than .png, .svg and .pdf, and for a result that no command draws.
        """
        if path:
            _above().plot(self, path, width)
        with tempfile.TemporaryDirectory() as folder:
            drawn = os.path.join(folder, "picture.svg")
            _above().plot(self, drawn, width)
            with open(drawn, encoding="utf-8") as file:
                return Picture(file.read())


def _above() -> Any:
    return import_module(_ABOVE)
