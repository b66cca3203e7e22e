"""Looking around in the page: ranges, functions, tables, search by time, what is alike, keys without focus, a phone, paper."""

from __future__ import annotations

import pytest

import build
import perwiz
from browser.chromium import PATH
from browser.conftest import SRTEST
from browser.pages import dots, small
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import Other, gathered
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.run import replayed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PATH is None, reason="there is no Chromium here")]
DETAIL = "document.getElementById('detail').innerText"


@pytest.fixture(scope="module")
def run():
    """Return the run of srtest.alog."""
    return replayed(perwiz.read(str(SRTEST)), "default")


@pytest.fixture(scope="module")
def srtest(run, tmp_path_factory):
    """Return the page of srtest.alog."""
    return small(tmp_path_factory.mktemp("srtest"), run)


def place(browser, moment, row=0, down=8):
    """Return where a moment, ns, of a row is on the screen."""
    return browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(), v = perwiz.view, w = r.width - v.gutter;"
        f" return [r.x + v.gutter + ({moment} - v.from) / (v.to - v.from) * w, r.y + 20 + v.rows()[{row}].y + {down}]; }})()"
    )


def test_range__its_profile(browser, srtest):
    """From 100 to 150 ms ranks 0 waits in its barrier, and the others are not there yet."""
    browser.open(srtest)
    (a, y), (b, _) = place(browser, 100e6), place(browser, 150e6)
    browser.mouse("mousePressed", a, y, modifiers=8)
    browser.mouse("mouseMoved", b, y, buttons=1, modifiers=8)
    browser.mouse("mouseReleased", b, y, modifiers=8)
    browser.frame()
    told = browser.run(DETAIL)
    assert told.startswith("In the range\nof\nmeasured\nfrom\n")
    low, high = browser.run("perwiz.view.range")
    assert (low, high) == (pytest.approx(100e6, abs=1e6), pytest.approx(150e6, abs=1e6))
    assert "in calls\n" in told
    assert "(100.0 %)\nwaiting" in told
    assert browser.run("document.querySelector('#detail table').innerText").split("\n")[-1].startswith("MPI_Barrier\t1\t")
    browser.key("Escape")
    assert browser.run("perwiz.view.range") is None
    assert browser.complaints() == []


def test_keys__without_focus_and_back(browser, srtest):
    browser.open(srtest)
    span = "perwiz.view.to - perwiz.view.from"
    whole = browser.run(span)
    browser.key("+")
    assert browser.run(span) == pytest.approx(whole / 2, rel=0.02)
    browser.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Backspace', bubbles: true}))")
    assert browser.run(span) == pytest.approx(whole, rel=0.02)
    browser.key("n")
    assert browser.run(DETAIL).startswith("e0 MPI_Barrier")


def test_times__to_the_nanosecond(browser, run, srtest):
    browser.open(srtest)
    browser.run("perwiz.show({call: 25})")
    times = run.trace.timeline
    entered = int(times.calls.enter[25] - times.locations.enter.min())
    assert f" = {entered:_} ns".replace("_", "\u202f") in browser.run(DETAIL)


def test_search__by_time(browser, run, srtest):
    """As many as wait so long; all are listed beside, and a click goes there."""
    browser.open(srtest)
    recv = [row for row in range(36) if run.waits.time[row] > 10_000_000]
    browser.click_on("input[type=search]")
    browser.type("wait>10ms")
    browser.key("Enter")
    assert browser.run("document.querySelector('.search [role=status]').textContent") == f"1 of {len(recv)}"
    assert browser.run("document.querySelectorAll('.hits tr.go').length") == len(recv)
    browser.click_on(".hits tr.go", 1)
    assert browser.run("document.querySelector('.hits') === null")


def test_tables__sort_filter_copy(browser, srtest):
    browser.open(srtest)
    rows = [["e2", "9.5 ms"], ["e10", "412.6 us"], ["e1", "-"], *([f"e{k}", f"{k} ns"] for k in range(20, 27))]
    browser.run(
        f"(() => {{ const t = perwiz.table(['call', 'time'], {rows!r}.map((cells) => ({{cells}}))); t.id = 'made';"
        " document.getElementById('panel-live').prepend(t); })()"
    )
    cells = "[...document.querySelectorAll('#made tbody tr:not([hidden])')].map((row) => row.cells[0].textContent)"
    browser.click_on("#made th", 1)
    assert browser.run(cells)[:3] == ["e2", "e10", "e26"]
    browser.click_on("#made th", 0)
    assert browser.run(cells)[::9] == ["e26", "e1"]
    browser.click_on("#made .filter")
    browser.type("e2")
    assert browser.run(cells) == [*(f"e{k}" for k in range(26, 19, -1)), "e2"]
    browser.run("window.copied = ''; document.addEventListener('copy', () => { window.copied = document.activeElement.value; })")
    browser.click_on("#made .tabletools button")
    assert browser.run("window.copied").split("\n")[:2] == ["call\ttime", "e26\t26 ns"]


def test_functions__a_stack_and_told_where_nothing_is_called(browser, tmp_path):
    """Thick rows have the functions below the calls; where only computation is the innermost is told."""
    run = replayed(build.nested_regions(), build.hand_model())
    browser.open(small(tmp_path, run))
    regions, times = run.trace.regions, run.trace.timeline.regions
    inner = int((regions.parent >= 0).argmax())
    browser.run("perwiz.view.lane = 60; document.body.dispatchEvent(new KeyboardEvent('keydown', {key: ']', bubbles: true}))")
    browser.frame()
    assert browser.run("perwiz.view.rows()[0].bar") == 20
    moment = int(times.enter[inner] + times.leave[inner]) // 2 - int(run.trace.timeline.locations.enter.min())
    depth = browser.run(f"perwiz.view.data.runs[0].depth[{int(regions.path[inner])}]")
    browser.mouse("mouseMoved", *place(browser, moment, int(regions.location[inner]), 20 + 12 * depth + 5))
    browser.frame()
    tip = browser.run("document.getElementById('tip').innerText").split("\n")
    assert tip[0] == browser.run(f"perwiz.view.data.runs[0].regions[{int(regions.path[inner])}]")
    assert tip[1:5] == ["rank", str(int(regions.location[inner])), "instance", str(int(regions.instance[inner]))]


@pytest.mark.parametrize(("ranks", "marked"), [(64, False), (4, True)])
def test_rows__are_all_in_sight(browser, tmp_path, ranks, marked):
    """Of 64 ranks every one; of few that mark functions the outer two: the timeline takes more of a low window, the panels keep some."""
    b = build.Builder(ranks)
    for rank in range(ranks):
        for name in ("outer", "inner") if marked else ():
            b.enter(rank, name)
        b.compute(rank, 1000)
        for name in ("inner", "outer") if marked else ():
            b.leave(rank, name)
    b.everyone("Barrier")
    run = replayed(b.trace(), build.hand_model())
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=700, deviceScaleFactor=1, mobile=False)
    browser.open(small(tmp_path, run, others=[Other.of(Change("wait", "call", "zero-wait e1", "", 0), run)]), "#panes=0,1")
    rows = browser.run("perwiz.view.rows().map((row) => [row.y + row.height, row.height - row.bar])")
    assert len(rows) == ranks
    assert max(bottom for bottom, _ in rows) <= browser.run("document.querySelector('.area canvas').clientHeight - 20")
    assert {below >= 2 * 12 for _, below in rows} == {marked}
    assert browser.run("document.getElementById('panels').clientHeight") >= 359
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)


def test_alike__ranks_by_what_they_do(browser, tmp_path):
    """Every third of twelve ranks computes three times as long as the others, which wait for it."""
    b = build.Builder(12)
    for _ in range(6):
        for rank in range(12):
            b.compute(rank, 3000 if rank % 3 == 0 else 1000)
        b.everyone("Barrier")
    browser.open(small(tmp_path, replayed(b.trace(), build.hand_model())))
    browser.run("[...document.querySelectorAll('button')].find((one) => one.textContent === 'alike').click()")
    browser.until("perwiz.view.rows().length < 12")
    rows = browser.run("perwiz.view.rows().map((row) => [row.label, row.members])")
    assert [label for label, _ in rows] == ["4 \u2248 rank 0", "8 \u2248 rank 1"]
    assert sorted(rows[0][1]) == [0, 3, 6, 9]
    x, y = browser.run("[perwiz.view.gutter + 500 / perwiz.view.to * 800, 20 + perwiz.view.rows()[0].y]")
    computation, outline = (browser.run(dots(".area canvas", x, y + down)) for down in (0, 12))
    assert (computation, outline) == ([134, 141, 149, 255], [214, 214, 214, 255])


def test_phone__lanes_are_as_wide_as_it_and_two_fingers_zoom(browser, srtest):
    """Fingers that go from 60 to 180 dots apart show a third of the time, with the moment between them where it was."""
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    browser.open(srtest)
    assert browser.run("document.querySelector('.area canvas').clientWidth") > 300
    assert browser.run("document.documentElement.scrollWidth") <= 390
    x, y = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(); return [r.x + 230, r.y + 40]; })()"
    )
    shown = (
        "(() => { const v = perwiz.view, span = v.to - v.from, plot = document.querySelector('.area canvas').clientWidth - v.gutter;"
        " return [span, v.from + (230 - v.gutter) / plot * span]; })()"
    )
    span, middle = browser.run(shown)
    for kind, apart in (("touchStart", 60), ("touchMove", 100), ("touchMove", 180), ("touchEnd", None)):
        points = [{"x": x + side * apart / 2, "y": y, "id": k} for k, side in enumerate((-1, 1))] if apart else []
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        browser.frame()
    assert browser.run(shown) == [pytest.approx(span / 3, rel=0.02), pytest.approx(middle, abs=span / 60)]
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)


def test_narrow__lanes_are_high_enough_to_be_named(browser, tmp_path):
    """On 500 dots each lane of a training job has room for its name; those of threads without functions have none for functions."""
    path = tmp_path / "page.html"
    path.write_text(html_report.page(gathered(perwiz.read(str(SRTEST.parent / "training-slow")))), encoding="utf-8")
    browser.call("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(path)
    rows = browser.run("perwiz.view.rows().map(({kind, label, height, bar}) => [kind, label, height, bar])")
    lanes = [row for row in rows if row[0] == "lane"]
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
    assert [label for _, label, *_ in lanes] == [f"rank {rank}{thread}" for rank in (0, 1) for thread in ("", ".1", ".2")]
    assert [(height, height == bar) for *_, height, bar in lanes if height < 26] == 4 * [(14, True)]


def test_old_browser__is_told(browser, srtest, tmp_path):
    """One that cannot inflate is told why; one that cannot even read the script finds a sentence."""
    text = srtest.read_text(encoding="utf-8")
    assert '<header id="head"><p id="old">Nothing is drawn yet. If this stays, the browser is too old' in text
    made = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")["identifier"]
    browser.go(srtest.as_uri())
    said = browser.until("document.querySelector('.warning[role=alert]') && document.querySelector('.warning[role=alert]').innerText")
    assert said == "This page cannot be drawn here: the browser is too old (it has no DecompressionStream)"
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=made)
