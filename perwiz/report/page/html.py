"""One self-contained HTML page of panels: the shell, and how data and names get into it without ever being taken for code.

The contract of a panel, Python side:

- A panel is `Panel(id, title, data)`. `id` is a word of a-z; `data` is whatever `json.dumps` takes: numbers, texts, lists, dicts, and
  columns made by `tables.column`, for what is longer than some thousand numbers. Times are integers in ns.
- Names from a trace go through `words.shown` first, so that nothing unprintable (line breaks, text directions) reaches a reader.
- `panels.PANELS` lists the panels of `perwiz report` in the order of their tabs; each has a module `panels/<id>.py` that makes it.

JavaScript side (`panels/<id>.js`, and what its name begins; strict mode, all modules share one scope, so prefix global names with the id):

- `page.panel("<id>", {draw(box, data) {...}})` registers it. `draw` may be async and is called once, when its tab is first opened (or
  the page is printed), with an empty element and the panel's data. `{draw, resized() {...}}`: called when its size or the colours change.
- `await page.column(c)` gives the numbers of a column (Float64Array); `await page.columns({a: c, b: d})` those of several.
- `page.node("td", {class: "x", title: t, onclick: f}, "text", child, ...)` makes an element; texts become text nodes. Never innerHTML.
- `page.table(head, rows, options)` makes a table that can be read by keyboard: a row with a `go` function is chosen by click or Enter.
- `page.time(ns)`, `page.share(part, whole)` write numbers as the reports do; `page.colour("--name")` reads a colour of page.css.
- `page.show({call: 12})` chooses e12 and moves the timeline there; `page.show({from, to, location})` moves it to ns from..to, row
  of locations.
- `page.on("select", f)` calls f({run, id} or null) when a call is chosen anywhere: e<id> of the recorded (run 0) or re-measured run (1).
- `charts.js` has what panels share: `chTables` draws the tables of `tables`, `chPicture` a canvas with a description, `chScale` tells
  colours from little to much.
- Canvas pictures: `page.canvas(box, height, paint)` makes one of the right resolution; `paint(context, width, height)` is called again
  on every resize and change of colours. Say in words beside it what it shows: a reader may not see it.

Nothing is loaded: the policy in the page forbids any request and any script or style but the two of this page, known by their hashes.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any

from perwiz.report import palette

_FOLDER = resources.files("perwiz.report.page")
MODULES = (
    "shell.js",
    "search.js",
    "charts.js",
    *sorted(f"panels/{file.name}" for file in _FOLDER.joinpath("panels").iterdir() if file.name.endswith(".js")),
)
"""The scripts of the page in the order they are put together."""

_TEXT, _PATTERN = r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", r"(?<=[(=,:!] )/(?:\\.|[^/\\\n])+/|(?<=[(!])/(?:\\.|[^/\\\n])+/)"
_BLANKS = re.compile(rf"{_TEXT}|{_PATTERN}| *([{{}}()\[\],;:?=<>&|*]+) *")
"""What is kept as it is (texts, patterns), or punctuation with blanks around it."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """One tab of the page."""

    id: str
    title: str
    data: Any


def page(title: str, head: dict[str, Any], panels: Sequence[Panel], served: bool = False) -> str:
    """Return the page: `head` is the data of its top (see `page.head`), `title` the name of the window.

    One that is `served` may ask whoever sent it, nobody else.
    """
    script = '(function () {\n"use strict";\n' + "\n".join(_file(name) for name in MODULES) + "\npage.start();\n})();\n"
    style = palette.style() + _file("page.css")
    return Template(_file("page.html")).substitute(
        title=html.escape(title),
        policy=_policy(digest(script), digest(style), served),
        style=style,
        script=script,
        data="\n".join(block(f"data-{name}", value) for name, value in _data(head | {"served": served}, panels)),
    )


def _policy(script: str, style: str, served: bool) -> str:
    """Return the policy of the page, which keeps its browser from any request and from any code but these two."""
    asks = "connect-src 'self'; " if served else ""
    return f"default-src 'none'; {asks}script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"


def _data(head: dict[str, Any], panels: Sequence[Panel]) -> list[tuple[str, Any]]:
    tabs = [{"id": panel.id, "title": panel.title} for panel in panels]
    return [("head", head | {"panels": tabs}), *((panel.id, panel.data) for panel in panels)]


def block(id: str, value: Any) -> str:
    """Return data as an element that a browser does not run; nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{html.escape(id)}">{safe}</script>'


def digest(text: str) -> str:
    """Return the hash of an inline script or style, as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@functools.cache
def _file(name: str) -> str:
    """Return a file of this folder without what only its readers need: indentation, lines that are comments, blanks around punctuation."""
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    text = "\n".join(text for text in map(str.strip, lines) if text and not text.startswith("//")) + "\n"
    return _BLANKS.sub(lambda blank: blank[1] or blank[2], text) if name.endswith(".js") else text
