"""The pages of `perwiz jobs` in a real browser: drawn in light, dark and on paper, without a request, and whatever names say."""

from __future__ import annotations

import pytest

from browser.chromium import PATH
from mails import RECORDS, waiting
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.store import database, ingest, query
from perwiz.jobs.store.query import Choice
from perwiz.jobs.views import document as report
from perwiz.jobs.views import html

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PATH is None, reason="there is no Chromium here")]
BENCHMARK = Benchmark("test", {"recv": 1.0}, {})
HOSTILE = "</style></title><script>document.title = 'hacked'</script><img src=x onerror=\"document.title = 'hacked'\">"


@pytest.fixture
def opened(browser, tmp_path):
    """Return opened(records, which): the browser with a page about them."""

    def show(records, which):
        link = database.open_database(str(tmp_path / "jobs.sqlite"), write=True)
        ingest.ingest(link, records)
        last = query.jobs(link, Choice(), 1)[0]
        if which == "job":
            page = html.of_job(link, last, report.job(link, last, BENCHMARK))
        else:
            choice = Choice(user=last.user if which == "user" else None)
            page = html.period(report.period(link, which, None, choice, BENCHMARK), html.more(link, choice))
        link.close()
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        browser.go((tmp_path / "page.html").as_uri())
        browser.until("document.readyState === 'complete' && document.querySelector('h1') !== null")
        return browser

    return show


@pytest.mark.parametrize("which", ["job", "user", "month"])
def test_page__is_drawn_and_asks_for_nothing(opened, which):
    page = opened(RECORDS, which)
    assert page.complaints() == []
    assert page.requests() == []
    assert page.run("[...document.querySelectorAll('svg rect')].filter((one) => one.getBBox().width > 0).length") > 5
    wide = "[...document.querySelectorAll('svg text')].filter((one) => one.getBBox().x + one.getBBox().width > 561 || one.getBBox().x < -1)"
    assert page.run(f"{wide}.map((one) => one.textContent)") == []
    assert page.run("document.documentElement.scrollWidth") <= 1440


@pytest.mark.parametrize("which", ["job", "user", "month"])
def test_hostile_names__run_nothing(opened, which):
    names = dict.fromkeys(("program", "host", "machine", "user", "mpi"), HOSTILE)
    page = opened([waiting(k, "a")._replace(**names, environment={HOSTILE: HOSTILE}) for k in range(2)], which)
    assert page.run("document.title") != "hacked"
    assert page.run("document.querySelectorAll('script, img').length") == 0
    assert page.complaints() == []
    assert page.requests() == []


def test_dark_and_paper(opened):
    page = opened(RECORDS, "month")
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('rect.c1')).fill]"
    light = page.run(colours)
    with page.dark():
        dark = page.run(colours)
    with page.dark("print"):
        paper = page.run(colours)
    assert light == ["rgb(255, 255, 255)", "rgb(0, 114, 178)"]
    assert dark == ["rgb(20, 23, 27)", "rgb(79, 163, 224)"]
    assert paper == light
