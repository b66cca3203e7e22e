"""The page that is served: who is answered, and who is refused."""

from __future__ import annotations

import http.client
import json
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import naive_html
import perwiz
from perwiz import words
from perwiz.errors import UsageError
from perwiz.report.page.panels import live
from perwiz.report.page.panels.timeline import Answered, Moments, Overlays, Shown, document
from perwiz.report.page.serve import Answers, Server
from perwiz.whatif.run import replayed

SRTEST = str(pathlib.Path(__file__).parents[3] / "traces" / "srtest.alog")


@pytest.fixture(scope="module")
def answers():
    run = replayed(perwiz.read(SRTEST), "default")
    shown = Shown(run.trace, [Moments("measured", run.trace.timeline, run.waits)])
    return Answers(run, Answered(shown, Overlays(), 1))


@pytest.fixture
def server(answers):
    """Return a server that runs in a thread, and is closed behind the test."""
    made = Server("<p>the page</p>", answers.answer)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def sent(server, method="GET", path=None, body=None, **headers):
    """Return the status and the text of an answer."""
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    link.request(method, f"/{server.token}/" if path is None else path.format(server.token), body, named)
    reply = link.getresponse()
    text = reply.read().decode()
    link.close()
    return reply.status, text


def asked(server, question, **headers):
    return sent(server, "POST", "/{}/ask", json.dumps(question), **{"content-type": "application/json"} | headers)


def test_page__for_who_has_the_address(server):
    assert sent(server) == (200, "<p>the page</p>")
    assert server.address.startswith(f"http://127.0.0.1:{server.server_port}/{server.token}")
    assert len(server.token) >= 32
    assert sent(server, origin=f"http://127.0.0.1:{server.server_port}")[0] == 200


@pytest.mark.parametrize("path", ["/", "/x/", "/{}", "/{}x/", "/{}/../", "/{}/ask", "/favicon.ico", "/%00\u00e9"])
def test_other_addresses__are_refused(server, path):
    assert sent(server, path=path.encode("latin-1").decode("latin-1") if path.isascii() else "/%C3")[0] == 404


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"host": "localhost:1"}, {"origin": "http://evil.example"}, {"origin": "null"}]
)
def test_other_hosts_and_origins__are_refused(server, headers):
    assert sent(server, **headers) == (403, "another host or origin\n")
    assert asked(server, ["zero-wait all"], **headers) == (403, "another host or origin\n")


def test_question__as_predict(server, answers):
    """Makespan and times of all calls, as differences from the recorded run."""
    status, text = asked(server, ["zero-wait e25", "speed rank:2=2"])
    said = perwiz.predict(answers.run.trace, ["zero-wait e25", "speed rank:2=2"], model="default")
    assert (status, json.loads(text)["makespan"]) == (200, said.predicted.makespan)
    shown = document([Shown(answers.run.trace, [Moments("measured", answers.run.trace.timeline, answers.run.waits)])], Overlays())
    shown["timelines"].append(json.loads(text)["timeline"])
    enter = [both[0] for both in naive_html.timelines(shown)[1].values()]
    np.testing.assert_array_equal(enter, said.predicted.calls.enter - said.predicted.locations.enter.min())
    assert asked(server, ["speed rank:2=2"])[0] == asked(server, [])[0] == 200
    assert json.loads(asked(server, [])[1])["makespan"] == answers.run.makespan


def test_answer__receives_take_what_comes_first():
    """Of a farm as `perwiz predict` says: its tasks go to whoever asks next; a page that answers itself says what it keeps."""
    run = replayed(perwiz.read(f"{SRTEST.removesuffix('srtest.alog')}farm.alog.gz"))
    shown = Shown(run.trace, [Moments("measured", run.trace.timeline, run.waits)])
    found = Answers(run, Answered(shown, Overlays(), 1)).answer(["speed rank:1=0.5"])
    said = perwiz.predict(run.trace, ["speed rank:1=0.5"], draws=0)
    assert found["makespan"] == said.predicted.makespan != said.rematched.kept
    moved, kept = said.rematched.moved, words.duration(said.rematched.kept)
    told = f"{moved} of 48 tasks go to another process (drawn where they were recorded); with what was recorded: {kept}"
    assert found["note"] == f"{len(said.rematched.receives)} receives take another message, which then comes first; {told}"
    assert live.document(run, "")["keep"] == (
        "51 wildcard receives keep here what they got; perwiz predict, without --keep-matches, lets them take what then comes first, "
        "and may answer otherwise"
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (["zero-wait e99"], "e99: no such call, the trace has calls e0 to e35"),
        ([1], "a question must be a list of texts"),
        ({}, "a question must be a list of texts"),
    ],
)
def test_question__that_cannot_be_answered(server, question, said):
    assert asked(server, question) == (400, json.dumps({"error": said}))


def test_question__of_another_kind(server):
    refusal = (400, "a question must be JSON of at most 65536 bytes\n")
    assert asked(server, ["zero-wait all"], **{"content-type": "text/plain"}) == refusal
    assert sent(server, "POST", "/{}/ask", "x" * 70_000, **{"content-type": "application/json"}) == refusal
    assert sent(server, "POST", "/{}/ask", "[" * 60_000, **{"content-type": "application/json"})[0] == 400
    assert sent(server, "POST", "/{}/ask", "{", **{"content-type": "application/json"}) == (400, '{"error": "a question must be JSON"}')
    assert sent(server, "PUT", "/{}/ask", "[]")[0] == 501


@pytest.mark.parametrize("text", ["network /etc/passwd", "network x.toml", "network default", "links /etc/passwd", "placement /etc/passwd"])
def test_files__a_page_asks_for_none(answers, text):
    with pytest.raises(UsageError, match="a page asks for no file, must be asked with perwiz predict"):
        answers.answer([text])


@pytest.mark.slow
def test_command__serves_until_interrupted():
    words = [sys.executable, "-m", "perwiz", "report", SRTEST, "--serve", "-q"]
    served = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
    lines = iter(served.stdout.readline, "")
    address = next(line.split()[1] for line in lines if line.startswith("open "))
    link = http.client.HTTPConnection(address.split("/")[2], timeout=60)
    link.request("GET", "/" + address.split("/")[3] + "/")
    page = link.getresponse().read().decode()
    assert "connect-src 'self'; script-src" in page
    served.send_signal(signal.SIGINT)
    out, errors = served.communicate(timeout=60)
    assert (served.returncode, out, errors) == (0, "", "")
