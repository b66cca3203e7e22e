"""Sizes and times of the page of `perwiz report` in Chromium: how large it is, how soon it is drawn, how long it takes to draw again,
and how long a drag takes: the sweep of the graph in the page, and the run that it gives drawn.

python scripts/measure_page.py [CALLS]
python scripts/measure_page.py drag [CALLS]
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser.chromium import Chromium
from browser.pages import small
from patterns import pattern, ring
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered
from perwiz.whatif.run import replayed

CASES = (("ring", 64), ("ring", 1024), ("halo", 64), ("halo", 1024), ("wavefront", 64), ("collectives", 64))
_EVENTS = {"halo": 4.5, "wavefront": 4.5, "collectives": 6}
"""Event records per call."""


_DRAGS = 16
_DRAG = """(async () => {
  const slider = document.querySelector('#panel-live input[type=range][aria-label="%s"]'), box = document.getElementById("panel-live");
  for (let k = 0; slider && k < %d; k++) {
    const done = new Promise((then) => {
      new MutationObserver((_, one) => { one.disconnect(); then(); }).observe(box, {attributeFilter: ["data-tick"]});
    });
    slider.value = 0.25 * (1 + k %% 8);
    slider.dispatchEvent(new Event("input"));
    await done;
  }
  return slider !== null;
})()"""
"""Drags a slider so many times, each time until what it gives is drawn."""


def main() -> None:
    """Print one line per synthetic trace."""
    if sys.argv[1:2] == ["drag"]:
        drags(int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
        return
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


def drags(calls: int) -> None:
    """Print what dragging takes per trace and slider, ms of the page's processor time, of them those of its script, and the first drag."""
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        browser.call("Performance.enable", timeDomain="threadTicks")
        for name in _EVENTS:
            trace = pattern(name, 64, int(_EVENTS[name] * calls))
            browser.open(small(pathlib.Path(folder), replayed(trace, clock="none")))
            browser.until("perwiz.live && perwiz.live.rehearsed()")
            for slider in ("bandwidth", "latency", "speed of rank 2"):
                before = processor(browser)
                if not browser.run(_DRAG % (slider, 1)):
                    continue
                first = processor(browser)
                browser.run(_DRAG % (slider, _DRAGS))
                task, script = ((now - then) / _DRAGS for now, then in zip(processor(browser), first, strict=True))
                told = f"{slider:16}{task:7.1f} ms, script {script:5.1f} ms, the first {first[0] - before[0]:5.1f} ms"
                print(f"{name:12}{len(trace.calls):8} calls   {told}", flush=True)


def processor(browser: Chromium) -> tuple[float, float]:
    """Return the processor time that the page has taken, and its script, ms."""
    told = {one["name"]: one["value"] for one in browser.call("Performance.getMetrics")["metrics"]}
    return told["TaskDuration"] * 1e3, told["ScriptDuration"] * 1e3


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
