"""The panels of the page in a real browser: what they show, and that all of it can be had by keyboard."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib

import numpy as np
import pytest

import build
import perwiz
from browser.chromium import PATH
from browser.pages import dots, quiet
from perwiz.report.page import html
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered
from perwiz.report.page.panels import states as html_states
from perwiz.trace.trace import Topology

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PATH is None, reason="there is no Chromium here")]
ROWS = "[...document.querySelectorAll('.tree')[{}].children].map((row) => row.textContent)"


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    """Return the page of a small run with regions and a topology."""
    run = build.nested_regions()
    count = len(run.locations)
    where = np.stack([np.zeros(count, "i4"), np.arange(count)], 1).astype("i4")
    grid = Topology("grid", 0, (1, count), (False, False), ("y", "x"), where)
    page = tmp_path_factory.mktemp("panels") / "regions.html"
    page.write_text(html_report.page(gathered(dataclasses.replace(run, topologies=(grid,)), model="default")), encoding="utf-8")
    return page


def opened(browser, page, panel):
    browser.open(page)
    turned(browser, panel)


def looked_at(browser, page, panel):
    """Show a panel of a page that may have been looked at before."""
    browser.look_at(page)
    turned(browser, panel)


def turned(browser, panel):
    browser.run(f"perwiz.open('{panel}')")
    browser.frame()


def said(browser, panel):
    return browser.run(f"document.querySelector('#panel-{panel} [aria-live]').innerText")


def test_states__begins_with_what_is_worth_most(browser, srtest):
    """110.1 ms of Late Sender in MPI_Recv; as `perwiz patterns traces/srtest.alog` says, worth 18.72 ms."""
    looked_at(browser, srtest, "states")
    assert said(browser, "states").startswith(
        "Late Sender in MPI_Recv: 110.1 ms (13.8 % of Time); if nobody waited there, the run gains 18.72 ms (4.5 %)"
    )
    assert "110.1 ms18.72 msLate Sender" in browser.run(ROWS.format(0))
    assert browser.run(ROWS.format(1)) == ["0 ns\u25beprogram", "110.1 ms18.72 msMPI_Recv"]
    assert browser.run(ROWS.format(2)) == ["0 ns\u25beall processes", "64.65 msrank 0", "27.37 msrank 1", "18.09 msrank 2"]
    quiet(browser)


def test_states__by_keyboard(browser, srtest):
    """Left closes Time or goes up; closed it counts all below; its call paths and processes follow."""
    opened(browser, srtest, "states")
    browser.run("document.querySelector('.tree [aria-selected=true]').focus()")
    focus = "[document.activeElement.textContent, document.activeElement.ariaExpanded, document.activeElement.ariaLevel]"
    browser.key("Home")
    assert browser.run(focus) == ["0 ns\u2265 18.72 ms\u25beTime", "true", "1"]
    browser.key("ArrowLeft")
    assert browser.run(focus) == ["798.6 ms\u2265 18.72 ms\u25b8Time", "false", "1"]
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert browser.run(focus)[0] == "0 ns\u2265 18.72 ms\u25beExecution"
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert browser.run(focus)[0] == "0 ns\u2265 18.72 ms\u25beTime"
    browser.key("ArrowDown")
    browser.key("ArrowUp")
    browser.key("ArrowLeft")
    browser.run("document.querySelectorAll('.tree')[1].querySelector('[aria-selected=true]').focus()")
    browser.key("Home")
    browser.key("ArrowLeft")
    assert browser.run(focus)[0] == "798.6 ms\u2265 18.72 ms\u25b8program"
    assert said(browser, "states").startswith("Time in the program: 798.6 ms (100.0 % of Time)")
    quiet(browser)


def test_states__percent(browser, srtest):
    opened(browser, srtest, "states")
    select = "(() => { const s = document.querySelector('#panel-states select'); s.value = %d; s.dispatchEvent(new Event('change')); })()"
    browser.run(select % 1)
    assert browser.run(ROWS.format(2))[1] == "8.1 %rank 0"
    browser.run(select % 2)
    assert browser.run(ROWS.format(2))[1] == "58.7 %rank 0"


def test_states__the_most_severe_is_shown(browser, srtest):
    opened(browser, srtest, "states")
    browser.click_on("#panel-states button")
    assert browser.run("document.getElementById('detail').innerText").startswith("e2 MPI_Recv")
    browser.click_on(".tree [role=treeitem]", 0)
    assert said(browser, "states").startswith("Time (itself) in the program (itself): 0 ns"), "MPI_Recv has none of it, so is not listed"
    quiet(browser)


def test_states__topology(browser, regions):
    """Every process has a square; the pointer over it tells its value."""
    looked_at(browser, regions, "states")
    x, y = browser.run(
        "(() => { const r = document.querySelector('#panel-states canvas').getBoundingClientRect(); return [r.x + 4, r.y + 4]; })()"
    )
    browser.mouse("mouseMoved", x, y)
    browser.frame()
    notes = browser.run("[...document.querySelectorAll('#panel-states p')].map((one) => one.textContent)")
    assert any(text.startswith("rank 0: ") and text.endswith(" at (0, 0)") for text in notes), notes
    quiet(browser)


def test_states__closing_chooses_what_is_closed(browser, srtest):
    opened(browser, srtest, "states")
    browser.click_on(".tree .turn", 0)
    assert said(browser, "states").startswith("Time in MPI_Recv: 178.4 ms")


def test_states__what_is_left_out_is_told(browser, report, tmp_path):
    """Without room for cells a call path has no processes, but the whole program has: 110.1 ms of Late Sender."""
    small = html_states.document(report.states, budget=0)
    panels = [dataclasses.replace(panel, data=small) if panel.id == "states" else panel for panel in html_report.panels(report)]
    (tmp_path / "page.html").write_text(html.page("small", html_report.head(report), panels), encoding="utf-8")
    opened(browser, tmp_path / "page.html", "states")
    assert "; 110.1 ms of it are not told by process in this page, which keeps the largest call paths" in said(browser, "states")
    assert browser.run(ROWS.format(2)) == ["?\u25beall processes", "?rank 0", "?rank 1", "?rank 2"]
    browser.run("document.querySelectorAll('.tree')[1].querySelector('.turn').click()")
    assert "not told" not in said(browser, "states")
    assert browser.run(ROWS.format(2)) == ["0 ns\u25beall processes", "64.65 msrank 0", "27.37 msrank 1", "18.09 msrank 2"]
    quiet(browser)


def test_messages__the_most_is_dark_on_paper_and_bright_in_the_dark(browser, srtest):
    """Rank 0 waits longest for rank 2: the square in the third row, first column."""
    looked_at(browser, srtest, "messages")
    pixel = dots("#panel-messages canvas", 36 + 15, 18 + 95)
    assert browser.run(pixel) == [0, 32, 77, 255]
    with browser.dark():
        browser.until(f"{pixel}.join() === '255,234,70,255'")


def test_messages__by_keyboard(browser, srtest):
    opened(browser, srtest, "messages")
    browser.run("document.querySelector('#panel-messages canvas').focus()")
    browser.key("ArrowDown")
    assert said(browser, "messages") == "0 \u2192 0: nothing"
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        browser.key(key)
    assert said(browser, "messages").startswith("2 \u2192 0: 5 messages, 60 B; 0 waits 64.67 ms for what 2 sends, 0 ns for it to receive, ")
    browser.key("Enter")
    assert browser.run("document.getElementById('detail').innerText").startswith("e0 MPI_Barrier")
    quiet(browser)


def test_waits_curve_efficiency__rows_lead_to_the_timeline(browser, srtest):
    opened(browser, srtest, "waits")
    browser.click_on("#panel-waits tr.go", 4)
    assert browser.run("document.getElementById('detail').innerText").startswith("e25 MPI_Recv")
    turned(browser, "efficiency")
    browser.click_on("#panel-efficiency tr.go", 1)
    assert browser.run("document.getElementById('detail').innerText").startswith("e12 MPI_Barrier")
    turned(browser, "curve")
    assert said(browser, "curve").startswith("latency L is 2.500 us; it may grow to 231.7 us")
    browser.run("(() => { const s = document.querySelector('#panel-curve select'); s.value = 1; s.dispatchEvent(new Event('change')); })()")
    assert said(browser, "curve").startswith("time per byte G is ")
    quiet(browser)


def test_phases__rows_lead_to_the_timeline(browser, srtest):
    """The second phase of srtest is from window 79 on, 3.0 % of 412.6 ms long."""
    looked_at(browser, srtest, "phases")
    panel = browser.run("document.getElementById('panel-phases').innerText")
    assert "6 in 100 windows: behaviour changes at windows 79, 82, 86, 92, 97" in panel
    assert browser.run("document.querySelectorAll('#panel-phases canvas').length") == 2
    browser.click_on("#panel-phases tr.go", 2)
    assert browser.run("[...document.querySelectorAll('#panel-phases tr.go')].length") == 6
    quiet(browser)


@pytest.mark.parametrize("panel", ["states", "waits", "messages", "curve", "phases"])
def test_canvas__is_painted_in_the_dark_too(browser, regions, panel):
    """Something of a picture differs from its empty paper, and other colours are used in the dark."""
    looked_at(browser, regions, panel)
    kinds = (
        f"(() => {{ const d = {dots(f'#panel-{panel} canvas', 0, 0, 0, 0)}, out = new Set();"
        " for (let k = 0; k < d.length; k += 4) if (d[k + 3] === 255) out.add(d.slice(k, k + 3).join()); return [...out]; })()"
    )
    light = browser.run(kinds)
    assert light
    with browser.dark():
        browser.until(f"{kinds}.sort().join() !== {json.dumps(','.join(sorted(light)))}")


def test_stragglers__a_cell_leads_to_its_step(browser, tmp_path):
    """Rank 1 loads its batches slowly; its map is painted, and the third step of eight shown on a click."""
    page, slow = tmp_path / "slow.html", pathlib.Path(__file__).parents[2] / "traces" / "training-slow"
    page.write_text(html_report.page(gathered(perwiz.read(str(slow)))), encoding="utf-8")
    opened(browser, page, "stragglers")
    assert "rank 1: computation 1.47 times the mean" in browser.run("document.getElementById('panel-stragglers').innerText")
    colours = browser.run(dots("#panel-stragglers canvas", 160, 5))
    assert colours[2] > colours[0]
    click = "Object.defineProperties(new Event('click'), {offsetX: {value: 150 + (c.clientWidth - 160) * 2.5 / 8}, offsetY: {value: 5}})"
    browser.run(f"(() => {{ const c = document.querySelector('#panel-stragglers canvas'); c.dispatchEvent({click}); }})()")
    assert browser.run("perwiz.view.to - perwiz.view.from") < 130e6
    quiet(browser)


def test_headings__none_is_skipped(browser, srtest):
    """As who reads the page aloud goes through them: what is hidden by `display` is left out, what is only out of sight is not."""
    looked_at(browser, srtest, "health")
    there = "[...document.querySelectorAll('h1,h2,h3')].filter((one) => one.getClientRects().length)"
    levels = browser.run(f"{there}.map((one) => +one.tagName[1])")
    assert levels[:1] == [1]
    assert {after - before for before, after in itertools.pairwise(levels)} <= {-2, -1, 0, 1}
    assert len({*levels}) == 3
    assert browser.run(f"{there}.filter((one) => one.className === 'print').every((one) => one.getBoundingClientRect().width <= 1)")


def test_health__is_scrolled_by_keys_and_leaves_the_others_to_the_timeline(browser, srtest):
    opened(browser, srtest, "health")
    browser.run("document.querySelector('#panel-health').focus()")
    assert browser.run("document.activeElement.id") == "panel-health"
    before = browser.run("perwiz.view.from")
    browser.key("ArrowRight")
    assert browser.run("perwiz.view.from") == before
    browser.key("n")
    assert browser.run("perwiz.view.chosen !== null")
