"""The page answers what-ifs itself: to the nanosecond what `perwiz predict` says, on the samples, and as fast as one drags."""

from __future__ import annotations

import json
import pathlib
import shlex
import threading

import numpy as np
import pytest

import perwiz
from browser.chromium import PATH
from browser.pages import QUESTIONS, asked, small
from perwiz import cli
from perwiz import words as telling
from perwiz.report.page import page as pages
from perwiz.report.page.analyses import Other
from perwiz.report.page.panels import live_graph
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.run import changed, replayed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PATH is None, reason="there is no Chromium here")]
TRACES = pathlib.Path(__file__).parents[2] / "traces"


def opened(browser, *page):
    """Show a page of the timeline of a run and its what-ifs."""
    browser.open(small(*page))
    browser.until("!!(perwiz.live || document.querySelector('#panel-live p'))")


@pytest.mark.parametrize("name", ["srtest.alog", "halo-before", "team-static.alog.gz", "farm.alog.gz", "ping-pong-otf2-papi"])
def test_questions__as_predict(browser, tmp_path, name):
    trace = perwiz.read(str(TRACES / name))
    run = replayed(trace)
    opened(browser, tmp_path, run)
    for question in QUESTIONS:
        asked(browser, run, question)
    used = np.unique(run.trace.region_names).tolist()
    for row in used[:1]:
        words = f"speeds: [{{rank: 1, factor: 1.5}}], scales: [{{row: {row}, factor: 0.37}}]"
        asked(browser, run, (["speed rank:1=1.5", f"scale {trace.names[row]}=0.37"], words))
        words = f"speeds: [], scales: [{{row: {row}, rank: 1, factor: 0.37}}]"
        asked(browser, run, ([f"scale {trace.names[row]}@rank:1=0.37"], words))
    assert browser.complaints() == []


def test_ticks__read_as_a_command(browser, tmp_path, capsys):
    """What is ticked and dragged is copied as words that the command line takes; it prints the same makespan."""
    path = str(TRACES / "srtest.alog")
    opened(browser, tmp_path, replayed(perwiz.read(path)), f"perwiz predict {path}")
    browser.run("document.querySelector('[aria-label=\"MPI_Recv does not wait\"]').click()")
    browser.run(
        "(() => { const s = document.querySelector('[aria-label=\"speed of rank 2\"]'); s.value = 1;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    browser.until("document.querySelector('#panel-live code.command').textContent.includes('speed')")
    command = browser.run("document.querySelector('#panel-live code.command').textContent")
    assert command == f"perwiz predict {path} --speed rank:2=2 --zero-wait site:MPI_Recv"
    assert cli.main([*shlex.split(command)[1:], "--json", "--draws", "0"]) == 0
    makespan = json.loads(capsys.readouterr().out)["predicted_ns"]
    assert browser.run("+document.getElementById('panel-live').dataset.makespan") == makespan
    head = browser.run("document.querySelector('#panel-live .answer').innerText")
    assert f"{perwiz.predict(perwiz.read(path), ['speed rank:2=2', 'zero-wait site:MPI_Recv']).predicted.makespan / 1e6:.1f} ms" in head
    second = browser.run("document.querySelectorAll('.bar select')[1].selectedOptions[0].textContent")
    assert second == "predicted: --speed rank:2=2 --zero-wait site:MPI_Recv"
    browser.run("[...document.querySelectorAll('#panel-live button')].find((one) => one.textContent === 'nothing').click()")
    assert browser.run("+document.getElementById('panel-live').dataset.makespan") == 412_568_000
    assert browser.complaints() == []


def test_rehearsal__makes_what_ticks_need_and_shows_nothing(browser, tmp_path):
    """What the first tick would wait for is there before it; the recorded run stays as it is, and no other timeline comes."""
    run = replayed(perwiz.read(str(TRACES / "srtest.alog")))
    opened(browser, tmp_path, run)
    browser.until("perwiz.live.rehearsed()")
    kept = "['segments', 'owner', 'work', 'before', 'reweighed', 'computed']"
    assert browser.run(f"{kept}.filter((one) => !perwiz.live.graph[one])") == []
    assert browser.run("perwiz.view.data.timelines.length") == 1
    times = run.trace.timeline.calls
    first = times.enter.min()
    assert browser.run("[...perwiz.view.data.timelines[0].leave]") == (times.leave - first).tolist()
    assert browser.run("+document.getElementById('panel-live').dataset.makespan") == run.makespan


def test_rehearsal__ends_where_a_tick_comes_first(browser, tmp_path):
    """What is rehearsed later does not write over the run that is shown."""
    run = replayed(perwiz.read(str(TRACES / "srtest.alog")))
    opened(browser, tmp_path, run)
    answered = "new Promise((done) => { perwiz.live.question.ticked.calls.add(25); perwiz.live.update(); done(perwiz.live.rehearsed()); })"
    assert browser.run(answered) is False
    browser.until("perwiz.live.rehearsed()")
    said = predict(run.trace, ["zero-wait e25"], clock="none", draws=0, keep_matches=True)
    times = said.predicted.calls
    shown = browser.run("[...perwiz.view.data.timelines[1].leave]")
    assert shown == (times.leave - run.trace.timeline.locations.enter.min()).tolist()


def test_choices__keep_what_receives_took(browser, tmp_path):
    """A farm hears whoever comes first: perwiz predict would match anew, the page does not, and its command says so."""
    path = str(TRACES / "farm.alog.gz")
    opened(browser, tmp_path, replayed(perwiz.read(path)))
    browser.run("document.querySelector('[aria-label=\"rank 1 does not wait\"]').click()")
    browser.until("document.querySelector('#panel-live code.command').textContent")
    assert browser.run("document.querySelector('#panel-live code.command').textContent").endswith("--zero-wait rank:1 --keep-matches")
    kept = browser.run("document.querySelector('#panel-live .matches').textContent")
    assert kept.startswith("51 wildcard receives keep here what they got; perwiz predict, without --keep-matches, lets them take")


def test_names__are_quoted_for_a_shell(browser, tmp_path):
    """As shlex.quote of Python has it; a region of such a name is asked about under its own name."""
    opened(browser, tmp_path, replayed(perwiz.read(str(TRACES / "srtest.alog"))))
    texts = ["a", "a b", "it's", '"$x"', "rank:2=0.5", "é", "", "<b>", "a\\b", "x;rm"]
    found = browser.run(f"{json.dumps(texts[:-4] + texts[-3:])}.map((text) => perwiz.live.quoted(text))")
    assert found == [shlex.quote(text) for text in texts[:-4] + texts[-3:]]
    assert browser.run('perwiz.live.quoted("é")') == shlex.quote("é")


def test_large__says_who_answers(browser, tmp_path, monkeypatch):
    """Beyond the size the page has runs predicted already, to switch between, and names the command that answers."""
    monkeypatch.setattr(live_graph, "MANY", 20)
    run = replayed(perwiz.read(str(TRACES / "srtest.alog")), "default")
    change = Change("wait", "call", "zero-wait e25", "", 403_130_934)
    opened(browser, tmp_path, run, "perwiz predict srtest.alog", [Other.of(change, changed(run, [change.hypothesis]))])
    told = browser.run("document.getElementById('panel-live').innerText")
    assert "the run has 36 calls; a page answers by itself for up to 20" in told
    assert "perwiz report srtest.alog --serve" in told
    browser.click_on("#panel-live tr.go")
    assert browser.run("document.querySelectorAll('.bar select')[1].selectedOptions[0].textContent") == "zero-wait e25"
    assert "403.1 ms, 9.437 ms shorter" in browser.run("document.querySelectorAll('.bar')[1].innerText")
    assert [cell.strip() for cell in browser.run("document.querySelector('#panel-live tr.go').innerText").split("\t")] == [
        *("--zero-wait e25", "9.437 ms", "2.3 %", "403.1 ms")
    ]


@pytest.fixture
def served(report):
    """Return the page of a run that is served, and closed behind the test."""
    made = pages.server(report, pages.panels(report))
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_served__asks_the_engine_what_the_page_cannot_sweep(browser, report, served):
    """A question in words goes to the server, whose answer is what `predict` says; one that it refuses is told, and the page goes on."""
    said = predict(report.run.trace, ["balance-time all"], "default", clock="none", draws=0, keep_matches=True)
    browser.visit(served.address)
    browser.until("!!perwiz.live")

    def ask(question):
        box = "document.querySelector('.further')"
        browser.run(f"{box}.value = {json.dumps(question)}; {box}.dispatchEvent(new Event('change'));")

    ask("balance-time all")
    answer = "document.querySelector('#panel-live .answer').textContent"
    browser.until(f"{answer}.includes('predicted')")
    assert f"{telling.duration(said.predicted.makespan)} predicted" in browser.run(answer)
    assert browser.run("document.querySelector('#panel-live .command').textContent").endswith("--balance-time all")
    ask("balance-time nowhere")
    browser.until("!!document.querySelector('#panel-live [role=alert]')")
    assert "nowhere" in browser.run(answer)
    assert {address.rpartition("/")[2] for address in browser.requests()} <= {"ask", "favicon.ico", ""}
