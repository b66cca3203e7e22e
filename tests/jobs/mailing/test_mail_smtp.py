"""Mails through a server: a small one of our own on the loopback, that takes, refuses, or hangs up."""

from __future__ import annotations

import email
import email.policy
import socket
import threading

import pytest

from mails import RECORDS, WEEK, Server
from perwiz.cli import main
from perwiz.errors import MailError
from perwiz.jobs.mailing import post
from perwiz.jobs.store import database, ingest


@pytest.fixture
def server():
    """Return a running server."""
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def perwiz(server, tmp_path, capsys):
    """Return perwiz(): exit code, output and complaint of `perwiz jobs mail --send` through the server."""
    place = str(tmp_path / "jobs.sqlite")
    link = database.open_database(place, write=True)
    ingest.ingest(link, RECORDS[:5])
    link.close()
    (tmp_path / "out").write_text("# none yet\n")

    def run(*words):
        port = server.server_address[1]
        given = ["jobs", "mail", "--db", place, "--week", WEEK.label, "--domain", "example.org", "--opt-out", str(tmp_path / "out")]
        code = main([*given, "--smtp", f"127.0.0.1:{port}", "--send", *words])
        return code, *capsys.readouterr()

    return run


def test_sends(server, perwiz):
    code, out, err = perwiz()
    assert (code, err) == (0, "")
    assert out.startswith(f"{WEEK.label}: 3 mails sent\n")
    assert [to for to, _ in server.taken] == [f"rcpt to:<{name}@example.org>".encode() for name in ("anna", "bert", "carl")]
    message = email.message_from_bytes(server.taken[0][1], policy=email.policy.default)
    assert message["To"] == "anna@example.org"
    assert message["Subject"].endswith("3 jobs, 2 wait for most of their MPI time")
    assert "imbalance" in message.get_body(("plain",)).get_content()
    assert all(len(line) <= 998 for _, data in server.taken for line in data.split(b"\r\n"))


def test_refused__the_others_are_sent_and_the_next_run_tries_again(server, perwiz):
    server.refuse = b"bert"
    code, out, err = perwiz()
    assert (code, err) == (4, "")
    assert out.startswith(f"{WEEK.label}: 2 mails sent, 1 refused\n")
    assert "bert  bert@example.org  refused     1    2.00 h  1 job, none is critical: 550 5.1.1 no such \\x1b[31m user\n" in out
    server.refuse = b""
    assert perwiz()[1].startswith(f"{WEEK.label}: 1 mail sent, 2 sent before\n")
    assert [to for to, _ in server.taken][-1] == b"rcpt to:<bert@example.org>"


def test_hangs_up__the_rest_is_not_sent(server, perwiz):
    server.hang = b"bert"
    code, out, err = perwiz()
    assert (code, err) == (4, "")
    assert out.startswith(f"{WEEK.label}: 1 mail sent, 2 not sent\n")
    assert "connection unexpectedly closed" in out
    server.hang = b""
    assert perwiz()[1].startswith(f"{WEEK.label}: 2 mails sent, 1 sent before\n")
    assert len(server.taken) == 3


def test_no_server(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused = rf"^127\.0\.0\.1:{port}: connection refused, must be a mail server that can be reached; nothing was sent$"
        with pytest.raises(MailError, match=refused), post.smtp(f"127.0.0.1:{port}"):
            pass


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("localhost", ("localhost", 25)),
        ("mail.example.org:587", ("mail.example.org", 587)),
        ("[::1]:26", ("::1", 26)),
        ("::1", ("::1", 25)),
    ],
)
def test_server(place, found):
    assert post.server(place) == found
