"""The page of `perwiz report` in a real browser: what it shows, what it does when asked, and that it does nothing else.

With PERWIZ_SCREENSHOTS=FOLDER pictures of what was tested are left there, to be looked at.
"""

from __future__ import annotations

import dataclasses

import pytest

import build
import perwiz
from browser.chromium import PATH
from browser.conftest import SRTEST
from browser.pages import QUESTIONS, asked, dots, quiet, seen
from farms import farm, lengths
from perwiz import words
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PATH is None, reason="there is no Chromium here")]
TRACES = SRTEST.parent
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"'`&amp;${window.hacked = 1}\udcff\u202e\n\x00 --> ]]> <!--",
)


def written(path, trace, *words, **settings):
    path.write_text(html_report.page(gathered(trace, *words, **settings)), encoding="utf-8")
    return path


def view(browser):
    """Return begin and end of what the timeline shows, in ms."""
    low, high = browser.run("[perwiz.view.from * perwiz.view.data.unit / 1e6, perwiz.view.to * perwiz.view.data.unit / 1e6]")
    return round(low, 3), round(high, 3)


def detail(browser):
    return browser.run("document.getElementById('detail').innerText")


def test_opens(browser, srtest):
    browser.look_at(srtest)
    head = browser.run("document.getElementById('head').innerText")
    assert "412.6 ms recorded" in head
    assert "393.8 ms predicted, gain 18.72 ms (4.5 %) by the first change" in head
    first = "first change\n--advance site:MPI_Recv (what the 15 calls of MPI_Recv wait for runs earlier): gain 18.72 ms (4.5 %), between "
    assert first in head
    assert "at best\n--zero-time site:MPI_Barrier: gain 89.67 ms (21.7 %); all of it if nothing needs the barrier" in head
    assert head.count("what to do") == 1
    shown = browser.run("[...document.querySelectorAll('.bar select')].map((one) => one.selectedOptions[0].textContent)")
    assert shown == ["recorded", "predicted under the first change: --advance site:MPI_Recv"]
    assert browser.run("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.textContent)")[:1] == ["Fixes"]
    assert browser.run("document.querySelector('[role=tabpanel]').innerText").startswith("Fixes\nlimited by\nlate start")
    assert view(browser) == (0, 412.568)
    seen(browser, "opened")
    quiet(browser)


def test_opens__re_measured(browser, tmp_path):
    """The prediction stands above the run that was measured afterwards; what is chosen in one is chosen in the other."""
    trace, path = perwiz.read(str(SRTEST)), str(tmp_path / "after.alog")
    perwiz.write(perwiz.predicted_trace(perwiz.predict(trace, "advance e25", model="default")), path)
    browser.open(written(tmp_path / "page.html", trace, "advance e25", against=perwiz.read(path), model="default"))
    assert "re-measured 403.1 ms, exactly as predicted" in browser.run("document.getElementById('head').innerText")
    shown = browser.run("[...document.querySelectorAll('.bar select')].map((one) => one.selectedOptions[0].textContent)")
    assert shown == ["predicted under advance e25", f"re-measured: {path}"]
    browser.run("perwiz.show({call: 14})")
    assert f"re-measured: {path}\ncall\ne13\n" in detail(browser)
    trace, model = build.late_sender(), build.hand_model()
    after = perwiz.predicted_trace(perwiz.predict(trace, "zero-wait all", model=model, clock="none"))
    browser.open(written(tmp_path / "unasked.html", trace, against=after, model=model, clock="none"))
    assert "recorded \u2192 75.59 us re-measured, shorter by 50.01 us (39.8 %)" in browser.run("document.getElementById('head').innerText")
    quiet(browser)


def test_opens__matched_anew(browser, tmp_path):
    """A run with its own order is a run of its own: what is chosen in the recorded one is chosen where it is made then."""
    trace = farm(lengths(6), regions=("task",))
    browser.open(written(tmp_path / "page.html", trace, "speed rank:1=0.25", model=build.hand_model(), clock="none"))
    twins = perwiz.predict(trace, "speed rank:1=0.25", build.hand_model(), clock="none", draws=0).written.entry.tolist()
    moved = next(old for old, new in enumerate(twins) if trace.calls.location[old] == 1 and new != old)
    browser.run(f"perwiz.show({{call: {moved}}})")
    assert f"predicted under speed rank:1=0.25\ncall\ne{twins[moved]}\n" in detail(browser)
    seen(browser, "matched-anew")
    quiet(browser)


def test_opens__one_process(browser, tmp_path):
    browser.open(written(tmp_path / "one.html", perwiz.read(str(TRACES / "nesttest.alog.gz"))))
    head = browser.run("document.getElementById('head').innerText")
    assert "1 process \u00b7 0 MPI calls \u00b7 waiting 0 ns" in head
    quiet(browser)


def test_numbers__are_written_as_the_commands_write_them(browser, srtest):
    """Half to even, and the unit of the rounded number: 11125 ns are 11.12 us, 999960 ns 1.000 ms."""
    browser.look_at(srtest)
    amounts = (0, 7, 999, 1000, 11_125, 11_135, 999_949, 999_950, 999_960, 20_812_500, 3 * 10**12, 10**13 + 5)
    values = [sign * amount for amount in amounts for sign in (1, -1)]
    assert browser.run(f"{values}.map(perwiz.time)") == [words.duration(value) for value in values]
    assert browser.run("perwiz.time(11125)") == "11.12 us"
    assert browser.run(f"{values[::2]}.map(perwiz.size)") == [words.size(value) for value in values[::2]]


def test_canvas__is_painted(browser, srtest):
    """Rank 0 waits in its first barrier from the start (vermilion, #c8501e), and rank 2 has not begun (white)."""
    browser.look_at(srtest)
    found = [browser.run(dots(".area canvas", "perwiz.view.gutter + 30", f"20 + perwiz.view.rows()[{row}].y + 3")) for row in (0, 2)]
    assert found == [[200, 80, 30, 255], [255, 255, 255, 255]]


def test_wheel__zooms_at_the_pointer(browser, srtest):
    browser.open(srtest)
    left, top, width = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(), g = perwiz.view.gutter;"
        " return [r.x + g, r.y, r.width - g]; })()"
    )
    browser.mouse("mouseWheel", left + width / 2, top + 40, deltaX=0, deltaY=-300)
    browser.frame()
    low, high = view(browser)
    assert high - low == pytest.approx(412.568 / 2.718281828, abs=0.1)
    assert (low + high) / 2 == pytest.approx(412.568 / 2, abs=0.5)
    quiet(browser)


def test_drag__pans(browser, srtest):
    browser.open(srtest, "#t=100000000-200000000")
    x, y = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(); return [r.x + 400, r.y + 60]; })()"
    )
    width = browser.run("document.querySelector('.area canvas').clientWidth - perwiz.view.gutter")
    browser.mouse("mousePressed", x, y)
    browser.mouse("mouseMoved", x + width / 10, y, buttons=1)
    browser.mouse("mouseReleased", x + width / 10, y)
    browser.frame()
    assert view(browser) == pytest.approx((90, 190), abs=0.3)


def test_hover__tells_the_call(browser, srtest):
    browser.open(srtest)
    x, y = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(); return [r.x + 200, r.y + 32]; })()"
    )
    browser.mouse("mouseMoved", x, y)
    browser.frame()
    tip = browser.run("document.getElementById('tip').innerText")
    assert tip.startswith("e0 MPI_Barrier")
    assert "for\ne24 MPI_Barrier, rank 2" in tip
    assert "the run gains nothing" in tip
    seen(browser, "hover")


def test_search__id_routine_and_nothing(browser, srtest):
    browser.open(srtest)
    browser.click_on("input[type=search]")
    browser.type("e25")
    browser.key("Enter")
    assert detail(browser).startswith("e25 MPI_Recv")
    assert "the run gains 9.437 ms (2.3 %)" in detail(browser)
    for text, said in (("barrier", "1 of 6"), ("no such thing", "nothing found"), ("rank 7", "no such rank")):
        browser.run("document.querySelector('input[type=search]').value = ''")
        browser.type(text)
        browser.key("Enter")
        assert browser.run("document.querySelector('.search [role=status]').textContent") == said
    quiet(browser)


def test_search__shows_all_it_takes(browser, srtest):
    """The example in the field is not cut off: a copy of its text is no wider than the field without the button that empties it."""
    browser.look_at(srtest)
    width = browser.run("""(() => {
      const input = document.querySelector("input[type=search]"), style = getComputedStyle(input);
      const context = document.createElement("canvas").getContext("2d");
      context.font = style.font;
      const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      return [context.measureText(input.placeholder).width, room];
    })()""")
    assert width[0] < width[1] - 12


def test_fix__a_click_shows_its_place(browser, srtest):
    """Of a line that is about many calls that which waits longest, of a single call itself."""
    browser.open(srtest)
    browser.click_on("#panel-fixes .columns > div:nth-child(2) tr.go")
    assert detail(browser).startswith("e0 MPI_Barrier")
    browser.click_on("#panel-fixes .columns > div:nth-child(3) tr.go")
    assert detail(browser).startswith("e25 MPI_Recv")
    low, high = view(browser)
    assert 0 < low < 345 < 352 < high
    seen(browser, "fix")


def test_fragment__goes_there_and_follows(browser, srtest):
    browser.open(srtest, "#t=300000000-400000000&panes=1,-1&call=e12")
    assert view(browser) == (300, 400)
    assert detail(browser).startswith("e12 MPI_Barrier")
    assert browser.run("[...document.querySelectorAll('.bar select')].map((one) => one.value)") == ["1", "-1"]
    browser.run("document.querySelector('.area canvas').focus()")
    browser.key("0")
    browser.until("location.hash.includes('call=e12') && !location.hash.includes('t=300000000')")


def test_keys__go_from_call_to_call(browser, srtest):
    browser.open(srtest)
    browser.run("document.querySelector('.area canvas').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowDown")
    browser.key("n")
    assert detail(browser).startswith("e12 ")
    browser.key("n")
    assert detail(browser).startswith("e13 ")
    browser.key("p")
    assert detail(browser).startswith("e12 ")
    browser.key("+")
    assert view(browser)[1] - view(browser)[0] == pytest.approx(206.284, abs=0.1)
    browser.key("Escape")
    assert detail(browser).startswith("Choose a call")
    quiet(browser)


def test_tabs__all_open_without_complaint(browser, srtest):
    browser.open(srtest)
    for number in range(browser.run("document.querySelectorAll('[role=tab]').length")):
        browser.click_on("[role=tab]", number)
        name = browser.run("document.querySelector('[role=tab][aria-selected=true]').id.slice(4)")
        browser.until(f"document.getElementById('panel-{name}').innerText.length > 40")
        seen(browser, f"tab-{name}")
    quiet(browser)


@pytest.mark.slow
def test_opens__where_no_change_pays(browser, tmp_path):
    """Worked in tests/report/page (test_head__what_does_not_pay_is_not_predicted): the first line promises no run."""
    b = build.Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1010)
    b.compute(1, 1000)
    for _ in range(20):
        b.send(0, 1, work=50)
        b.recv(1, 0)
    browser.look_at(written(tmp_path / "page.html", b.trace(), model=build.hand_model()))
    told = browser.run("document.querySelector('#head .answer').innerText")
    assert told.startswith("2.010 us recorded; no change that pays was found, there is ")
    assert told.endswith(" to gain at best")
    assert "predicted" not in told
    quiet(browser)


def test_dark(browser, srtest):
    browser.look_at(srtest)
    pixel = dots(".area canvas", 2, 2)
    with browser.dark():
        browser.frame()
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        seen(browser, "dark")
        browser.until(f"{pixel}.join() === '20,23,27,255'")
    browser.until(f"{pixel}.join() !== '20,23,27,255'")
    quiet(browser)


def test_paper__is_painted_as_wide_as_it_is(browser, srtest):
    """Two dots of the canvas for one of the paper, both ways; three lanes of 18; then everything is as before."""
    browser.look_at(srtest)
    sizes = "[...document.querySelectorAll('.area canvas')].map((one) => [one.width, one.height, one.clientWidth, one.clientHeight])"
    before = browser.run(sizes)
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    for width, height, wide, high in browser.run(sizes):
        assert (width, height) == (2 * wide, 2 * high)
        assert 600 < wide < 718
    assert browser.run("perwiz.view.rows().map((row) => row.height)") == [18, 18, 18]
    named = browser.run("[...document.querySelectorAll('.bar')].map((one) => one.querySelector('.print').textContent)")
    assert named == ["recorded", "predicted under the first change: --advance site:MPI_Recv"]
    assert browser.run("document.getElementById('panels').clientWidth") == 700
    assert browser.call("Page.printToPDF")["data"]
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    browser.frame()
    assert browser.run(sizes) == before
    quiet(browser)


def test_phone__changes_are_no_wider_than_it(browser, srtest):
    """What a change is and what to do for it stand below its gain, from edge to edge."""
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.look_at(srtest)
    assert browser.run("[...document.querySelectorAll('table.stacked')].map((one) => one.scrollWidth)") == [358, 358]
    cells = "[...document.querySelector('table.stacked tbody tr').children].map((one) => one.getBoundingClientRect())"
    gain, *_, change, remedy = browser.run(f"{cells}.map((r) => [r.left, r.top, r.right, r.bottom])")
    assert change[:1] == remedy[:1] == gain[:1] == [16]
    assert gain[3] <= change[1] < change[3] <= remedy[1]
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)


def test_low_window__the_page_scrolls_to_the_panel_that_is_opened(browser, srtest):
    """Panels keep 360 dots; a tab that is opened brings all of them into sight, with what is drawn above them."""
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=600, deviceScaleFactor=1, mobile=False)
    browser.open(srtest)
    high, bottom = "document.getElementById('panels').clientHeight", "document.getElementById('panels').getBoundingClientRect().bottom"
    assert browser.run(high) == 359
    assert browser.run(bottom) > 600
    browser.run("document.getElementById('tab-live').click()")
    assert browser.run(bottom) == pytest.approx(600, abs=1)
    browser.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)


def test_paper__its_keys_draw_every_panel_first(browser, srtest):
    browser.open(srtest)
    undrawn = "document.querySelectorAll('[role=tabpanel] > h2:only-child').length"
    browser.run(f"window.print = () => {{ window.printed = [...(window.printed || []), {undrawn}]; }}")
    assert browser.run(undrawn) > 1
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="p", modifiers=2)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="p", modifiers=2)
    assert browser.until("window.printed") == [0]
    quiet(browser)


def test_hostile_names__run_nothing(browser, tmp_path):
    trace = perwiz.read(str(TRACES / "cpilog.alog"))
    assert len(trace.names) == len(HOSTILE)
    zeros = trace.locations.node * 0
    hostile = dataclasses.replace(
        trace,
        path=f"{HOSTILE[0]}/{HOSTILE[1]}",
        names=HOSTILE,
        parallel=trace.parallel | True,
        nodes=(HOSTILE[1], HOSTILE[0]),
        locations=dataclasses.replace(trace.locations, node=zeros + (trace.locations.process % 2)),
        faults=HOSTILE,
        site=trace.calls.path * 0,
        sites=(HOSTILE[2],),
    )
    page = written(tmp_path / "hostile.html", hostile, command=HOSTILE[0])
    browser.open(page)
    for number in range(browser.run("document.querySelectorAll('[role=tab]').length")):
        browser.click_on("[role=tab]", number)
    browser.run("perwiz.show({call: 5})")
    browser.frame()
    assert "&amp;${window.hacked = 1}\\udcff\\u202e\\n\\x00 --> ]]> <!--" in detail(browser)
    assert HOSTILE[0] in browser.run("document.querySelector('h1').textContent")
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.run("document.images.length") == 0
    seen(browser, "hostile")
    quiet(browser)


def test_policy__forbids_what_a_page_could_do(browser, srtest):
    """Neither scripts made later nor requests go through; the browser says so in the console."""
    browser.open(srtest)
    added = "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)"
    browser.run(f"(() => {{ {added}; }})()")
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert any("Content Security Policy" in text for text in browser.complaints())


def test_device__kernels_by_name_beneath_their_process(browser, tmp_path):
    """What the stream does is told where the pointer is; the process closes; idle is lighter than computation."""
    browser.open(written(tmp_path / "device.html", build.CATALOGUE["device"]()))
    rows = "perwiz.view.rows().map((row) => row.kind + ' ' + row.label)"
    opened = ["open process 0", "lane rank 0", "lane stream 0.1", "open process 1", "lane rank 1"]
    assert browser.run(rows) == opened
    assert "idle thread or device" in browser.run("document.querySelector('.legend').innerText")
    assert "8 calls" in browser.run("document.getElementById('head').innerText")
    x, y, per = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(), v = perwiz.view, row = v.rows()[2];"
        " return [r.x + v.gutter, r.y + 20 + row.y + row.height / 2, (r.width - v.gutter) / (v.to - v.from)]; })()"
    )
    browser.mouse("mouseMoved", x + 5000 * per, y)
    browser.frame()
    assert browser.run("document.getElementById('tip').innerText").split("\n") == [
        *("kernel", "stream", "0.1", "instance", "2", "begins", "4.100 us = 4\u202f100 ns", "lasts", "2.500 us = 2\u202f500 ns")
    ]
    browser.run("document.querySelector('.area canvas').focus()")
    seen(browser, "device")
    browser.key("g")
    browser.frame()
    assert browser.run(rows) == ["closed process 0", "closed process 1"]
    quiet(browser)


def test_many_ranks__are_grouped(browser, tmp_path):
    """Blocks of ranks are closed at first; a click on one opens it."""
    page = written(tmp_path / "ring.html", ring(256))
    browser.open(page)
    kinds = "perwiz.view.rows().map((row) => row.kind)"
    assert browser.run(kinds) == ["closed"] * 16
    assert browser.run(
        "(() => { const c = document.createElement('canvas').getContext('2d'); c.font = '11px system-ui, sans-serif';"
        " return perwiz.view.rows().every((row) => c.measureText('\u25b8 ' + row.label).width + 10 <= perwiz.view.gutter); })()"
    )
    x, y = browser.run(
        "(() => { const r = document.querySelector('.area canvas').getBoundingClientRect(); return [r.x + 20, r.y + 28]; })()"
    )
    browser.click(x, y)
    assert browser.run(kinds) == ["open", *["lane"] * 16, *["closed"] * 15]
    seen(browser, "many-ranks")
    assert float(browser.run("document.getElementById('timeline').dataset.paint")) > 0
    quiet(browser)


def ring(ranks):
    b = build.Builder(ranks)
    for turn in range(3):
        for rank in range(ranks):
            b.compute(rank, 1000 * ((rank * 7 + turn * 3) % 5))
            b.sendrecv(rank, (rank + 1) % ranks, (rank - 1) % ranks, 100)
    return b.trace()


@pytest.mark.parametrize("name", build.one_of(3, 1))
def test_awkward_traces(browser, tmp_path, name):
    """All panels are drawn, and what is asked is answered as `predict` does: rendezvous, probes, devices, gaps between sends."""
    model = build.hand_model()
    report = gathered(build.CATALOGUE[name](), model=model)
    (tmp_path / "page.html").write_text(html_report.page(report), encoding="utf-8")
    browser.open(tmp_path / "page.html")
    browser.run("(async () => { for (const tab of document.querySelectorAll('[role=tab]')) await perwiz.open(tab.id.slice(4)); })()")
    browser.run("document.querySelector('.area canvas').focus()")
    for key in "n+p-g0":
        browser.press(key)
    browser.frame()
    quiet(browser)
    ranks = report.run.trace.locations.process
    if not browser.run("!!perwiz.live"):
        assert not len(report.run.trace.calls) or report.run.replay_error
    elif len(ranks) > 1:
        for question in QUESTIONS[:4] if 1 in ranks else QUESTIONS[:1]:
            asked(browser, report.run, question, model)


def test_broken_data__is_said(browser, srtest, tmp_path):
    page = tmp_path / "broken.html"
    text = srtest.read_text(encoding="utf-8")
    page.write_text(text.replace('id="data-timeline">{', 'id="data-timeline">{,', 1), encoding="utf-8")
    browser.go(page.as_uri())
    assert browser.until("document.querySelector('.warning') && document.querySelector('.warning').innerText").startswith(
        "This page cannot be drawn here: SyntaxError"
    )
    assert len(browser.complaints()) == 1


def test_complaints__are_of_the_page_that_made_them(browser, tmp_path):
    """A page that never stops to complain and to ask says nothing of the one after it, and one that has just begun to is heard."""
    (tmp_path / "loud.html").write_text("<script>setInterval(() => { fetch('x:'); Promise.reject(new Error('loud')); });</script>")
    (tmp_path / "still.html").write_text("still")
    browser.go((tmp_path / "loud.html").as_uri())
    browser.until("performance.now() > 30")
    assert any("loud" in text for text in browser.complaints())
    browser.go((tmp_path / "still.html").as_uri())
    quiet(browser)
    browser.run("void Promise.reject(new Error('mine'))")
    assert "mine" in " ".join(browser.complaints())
