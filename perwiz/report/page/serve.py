"""The page of a run on this machine alone, with the compiled engine behind it: for traces of any size.

It listens on the loopback interface. Whoever asks must know the token in the address, and name this host and port as the page does: a page
of another origin, or of another name for this address, is refused. Nothing is read or written for a question but the trace.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from perwiz.errors import PerwizError, UsageError
from perwiz.report.page.analyses import predicted
from perwiz.report.page.panels import live
from perwiz.report.page.panels.timeline import Answered
from perwiz.whatif.hypotheses.base import Hypothesis, parse_all
from perwiz.whatif.run import Run

LOOPBACK = "127.0.0.1"
_MOST = 1 << 16
"""Bytes of a question."""
_FILES = {"network": "=", "links": "full", "placement": "block cyclic swap"}
"""Words whose argument may name a file, and how one begins, or what it holds, that names none."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """What a page that is served asks: a run, and its timeline as the page has it."""

    run: Run
    timeline: Answered

    def answer(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return what the run becomes under hypotheses, as `perwiz predict` says: makespan, ns, its timeline, and what receives take.

        Raises PerwizError, and UsageError for one that names a file.
        """
        asked = [checked(one) for one in parse_all(list(texts), self.run.trace)]
        run, anew = predicted(self.run, asked)
        return {"makespan": run.makespan, "timeline": self.timeline.of(run), "note": live.taken(anew) if anew else ""}


def checked(hypothesis: Hypothesis) -> Hypothesis:
    """Return a hypothesis. Raises UsageError if it names a file: a page has no business there."""
    harmless, text = _FILES.get(hypothesis.word), hypothesis.argument
    plain = harmless is None or (harmless == "=" and "=" in text) or any(text.split(":")[0] == word for word in (harmless or "").split())
    if not plain or (harmless and ("/" in text or text.endswith(".toml"))):
        raise UsageError(f"{hypothesis}: a page asks for no file, must be asked with perwiz predict")
    return hypothesis


class Server(ThreadingHTTPServer):
    """Serves one page, and answers its questions one by one; `address` is what a browser opens."""

    daemon_threads = True

    def __init__(self, page: str, answer: Callable[[Sequence[str]], dict[str, Any]], port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self.page, self.answer, self.turn = page.encode(), answer, threading.Lock()
        super().__init__((LOOPBACK, port), _Handler)
        self.host = f"{LOOPBACK}:{self.server_port}"
        self.address = f"http://{self.host}/{self.token}/"

    def until_interrupted(self) -> None:
        """Serve until somebody presses Ctrl-C, then close the port."""
        try:
            self.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30
    """Seconds until a connection on which nothing comes is closed."""

    def do_GET(self) -> None:
        """Send the page."""
        if self._allowed("/"):
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        """Send the answer to a question: a JSON list of hypotheses."""
        if not self._allowed("/ask"):
            return
        size = self.headers.get("content-length", "")
        if self.headers.get("content-type") != "application/json" or not size.isdigit() or int(size) > _MOST:
            self._refuse(HTTPStatus.BAD_REQUEST, f"a question must be JSON of at most {_MOST} bytes")
            return
        try:
            texts = json.loads(self.rfile.read(int(size)))
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise UsageError("a question must be a list of texts")
            with self.server.turn:
                answer, status = self.server.answer(texts), HTTPStatus.OK
        except (ValueError, RecursionError):
            answer, status = {"error": "a question must be JSON"}, HTTPStatus.BAD_REQUEST
        except PerwizError as error:
            answer, status = {"error": str(error)}, HTTPStatus.BAD_REQUEST
        self._send(status, "application/json", json.dumps(answer).encode())

    def _allowed(self, path: str) -> bool:
        """Return whether a request is one of the page's own; else it is refused."""
        own = f"http://{self.server.host}"
        if self.headers.get("host") != self.server.host or self.headers.get("origin", own) != own:
            self._refuse(HTTPStatus.FORBIDDEN, "another host or origin")
        elif not secrets.compare_digest(self.path.encode("utf-8", "replace"), f"/{self.server.token}{path}".encode()):
            self._refuse(HTTPStatus.NOT_FOUND, "no such address")
        else:
            return True
        return False

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{why}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(body)),
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
            "referrer-policy": "no-referrer",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal has the address, and the token is in every line."""
