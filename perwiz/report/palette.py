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
    "mark": "#0072B2",
    "start": "#9A8F84",
    "calls": "#009E73",
    "transfer": "#8A2275",
    "gap": "#B98A00",
}
"""On white; idle is computation, mark a bar or line that is no call; start, calls, transfer and gap are other pieces of a critical path."""
DARK = {
    "send": "#3D9BDB",
    "receive": "#8FCDF2",
    "both": "#2BB98D",
    "complete": "#CF93BD",
    "collective": "#E3B94A",
    "other": "#77808A",
    "wait": "#E2693A",
    "idle": "#343B43",
    "mark": "#4FB0E8",
    "start": "#8C847B",
    "calls": "#35C49A",
    "transfer": "#C77DBB",
    "gap": "#D8B23C",
}
"""On black, where the system asks the page for it."""
MESSAGE, CHOSEN = "#222222", "#D4002A"
"""In pictures: lines of messages, and what is pointed at: a path, calls that are marked, messages that come too early."""
SERIES = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"),
    *("#000000", "#8A7A00", "#6A3D9A", "#5C2E0B", "#8C8C8C", "#A6004B"),
)
"""Curves and bars of pictures that are no calls: processes, parameters, classes of pairs."""
SHADES = ("#F3F3FA", "#E0E4F4")
"""Parallel regions in pictures, one instance after the other."""


def style() -> str:
    """Return the palette as variables of a style sheet, and as backgrounds of what has such a class."""
    light, dark = (":root{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}" for colours in (LIGHT, DARK))
    classes = "".join(f"i.{name}{{background:var(--{name})}}" for name in LIGHT)
    return f"{light}\n@media (prefers-color-scheme: dark){{{dark}}}\n{classes}\n"
