"""Sizes and times of the page of `perwiz report` in Chromium: how large it is, how soon it is drawn, how long it takes to draw again.

python scripts/measure_page.py [CALLS]
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser.chromium import Chromium
from patterns import pattern, ring
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered

CASES = (("ring", 64), ("ring", 1024), ("halo", 64), ("halo", 1024), ("wavefront", 64), ("collectives", 64))
_EVENTS = {"halo": 4.5, "wavefront": 4.5, "collectives": 6}
"""Event records per call."""


def main() -> None:
    """Print one line per synthetic trace."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{'':18}{'calls':>9}{'page':>10}{'unit':>8}{'drawn after':>13}{'drawn again: whole run, /4, /16, ... (ms, two timelines)':>60}")
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        for name, ranks in CASES:
            trace = ring(ranks, calls) if name == "ring" else pattern(name, ranks, int(_EVENTS[name] * calls))
            page = html_report.page(gathered(trace, "zero-wait rank:3", clock="none"))
            path = pathlib.Path(folder) / "page.html"
            path.write_text(page, encoding="utf-8")
            browser.open(path)
            shown = browser.run("document.documentElement.dataset.ready")
            times = [repaint(browser, 4**k) for k in range(7)]
            unit = browser.run("perwiz.view.data.unit")
            row = f"{name}, {ranks} ranks"
            print(f"{row:18}{len(trace.calls):9}{len(page) / 1e6:7.2f} MB{unit:5} ns{shown:>10} ms   {times}", flush=True)


def repaint(browser: Chromium, zoom: int) -> float:
    """Return the milliseconds that drawing takes with that part of the run in sight, the longest of several."""
    spent = []
    for _ in range(3):
        browser.run(f"perwiz.show({{from: 0, to: perwiz.view.data.timelines[0].makespan / {zoom}}})")
        browser.frame()
        spent.append(float(str(browser.run("document.getElementById('timeline').dataset.paint"))))
    return max(spent)


if __name__ == "__main__":
    main()
