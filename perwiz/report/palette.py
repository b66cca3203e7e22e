"""The colours of calls, waiting and computation: one palette for the page and for pictures.

No two are equally light, so they can be told apart in grey, and by the colour-blind.
"""

from __future__ import annotations

GROUPS = ("send", "receive", "both", "complete", "collective", "other")
"""Groups of MPI routines, in the order of `picture.lanes.GROUPS`, by their names in the page."""
LIGHT = {
    "send": "#08418C",
    "receive": "#5DB8EC",
    "both": "#008F68",
    "complete": "#B978A4",
    "collective": "#E9BB2B",
    "other": "#4A4F55",
    "wait": "#C8501E",
    "idle": "#D6D6D6",
}
"""On white; idle is computation."""
DARK = {
    "send": "#3D9BDB",
    "receive": "#8FCDF2",
    "both": "#2BB98D",
    "complete": "#CF93BD",
    "collective": "#E3B94A",
    "other": "#77808A",
    "wait": "#E2693A",
    "idle": "#343B43",
}
"""On black, where the system asks the page for it."""
MESSAGE, CHOSEN = "#222222", "#D4002A"
"""In pictures: lines of messages, and what is pointed at: a path, calls that are marked, messages that come too early."""
SHADES = ("#F3F3FA", "#E0E4F4")
"""Parallel regions in pictures, one instance after the other."""


def style() -> str:
    """Return the palette as variables of a style sheet."""
    light, dark = (":root{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}" for colours in (LIGHT, DARK))
    return f"{light}\n@media (prefers-color-scheme: dark){{{dark}}}\n"
