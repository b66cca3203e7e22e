"""Pages for the tests in a browser, and what is asked of each."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence

import numpy as np

from browser.chromium import Chromium
from perwiz.report.page import html
from perwiz.report.page.analyses import Other
from perwiz.report.page.html import Panel
from perwiz.report.page.panels import live, timeline
from perwiz.report.page.panels.timeline import Moments, Overlays, Shown
from perwiz.whatif.predict import predict
from perwiz.whatif.run import Run

ALL = "waits: new Uint8Array(perwiz.live.graph.calls).fill(1), "
QUESTIONS = (
    (["zero-wait all"], ALL + "speeds: [], scales: []"),
    (["speed rank:1=1.7"], "speeds: [{rank: 1, factor: 1.7}], scales: []"),
    (["network G_ns_per_byte=13.7"], "G: 13.7, speeds: [], scales: []"),
    (["network L_ns=0"], "L: 0, speeds: [], scales: []"),
    (
        ["network L_ns=9123,G_ns_per_byte=0.0371", "speed rank:1=0.59", "zero-wait all"],
        f"L: 9123, G: 0.0371, {ALL} speeds: [{{rank: 1, factor: 0.59}}], scales: []",
    ),
)
"""Hypotheses, and the same in the words of the page."""
_SHOWN = """(() => {
  const g = perwiz.live.graph, {enter, length} = g.line.bands, swept = perwiz.live.ask({%s});
  const line = {enter: [], leave: [], begin: [], end: [], wait: [], partner: [], bands: {enter: enter.slice(), length: length.slice()}};
  perwiz.live.show(swept, line);
  return [line.enter, line.leave, line.wait, [...line.bands.enter], line.makespan];
})()"""


def small(path: pathlib.Path, run: Run, ask: str = "perwiz predict x", others: Sequence[Other] = ()) -> pathlib.Path:
    """Return a page of the timeline of a run and its what-ifs alone, written into a folder."""
    moments = [Moments("measured", run.trace.timeline, run.waits)]
    moments += [Moments(other.change.question, other.timeline) for other in others]
    panels = [
        Panel("timeline", "Timeline", timeline.document([Shown(run.trace, moments)], Overlays())),
        Panel("live", "What if", live.document(run, ask, others)),
    ]
    head = {
        "trace": "x",
        "asked": [],
        "predicted": None,
        "comparison": None,
        "span": None,
        "shares": [],
        "doubts": [],
        "best": [],
        "sure": [],
    }
    head |= {"recorded": run.makespan, "shares_of": run.makespan, "lanes": "", "calls": 36, "noun": "call", "messages": 0, "waiting": 0}
    page = path / "page.html"
    page.write_text(html.page("x", head | {"incomplete": False}, panels), encoding="utf-8")
    return page


def asked(browser: Chromium, run: Run, question: tuple[list[str], str], model: object = None) -> None:
    """Assert that the page says what `predict` says of a question, for every call."""
    texts, words = question
    said = predict(run.trace, texts, model, clock="none", draws=0, keep_matches=True)
    enter, leave, wait, bands, makespan = browser.run(_SHOWN % words)
    begin, calls = int(run.trace.timeline.locations.enter.min()), said.predicted.calls
    np.testing.assert_array_equal(enter, calls.enter - begin)
    np.testing.assert_array_equal(leave, calls.leave - begin)
    np.testing.assert_array_equal(wait, said.waits_after.time)
    np.testing.assert_array_equal(bands, said.predicted.regions.enter - begin)
    assert makespan == said.predicted.makespan


def dots(canvas: str, x: object, y: object, width: object = 1, height: object = 1) -> str:
    """Return the words that tell red, green, blue and opacity of dots of a canvas: of a copy, as two readings are complained of."""
    place = f"{json.dumps(canvas)}, {x}, {y}, {width}, {height}"
    return f"""((found, x, y, width, height) => {{
      const canvas = document.querySelector(found), paper = new OffscreenCanvas(width || canvas.width, height || canvas.height);
      const copy = paper.getContext("2d");
      copy.drawImage(canvas, -x, -y);
      return [...copy.getImageData(0, 0, paper.width, paper.height).data];
    }})({place})"""


def quiet(browser: Chromium) -> None:
    """Assert that the page complained of nothing and asked for nothing."""
    said, sent = browser.complaints(), browser.requests()
    assert (said, sent) == ([], []), (said, sent)


def seen(browser: Chromium, name: str) -> None:
    """Leave a picture, if somebody wants to look at them."""
    folder = os.environ.get("PERWIZ_SCREENSHOTS")
    if folder:
        browser.frame()
        browser.screenshot(pathlib.Path(folder) / f"{name}.png")
