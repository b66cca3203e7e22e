"""Mails to users: who gets one, what it says, and that no name out of a record gets into a header."""

from __future__ import annotations

import dataclasses
import json
import mailbox
import stat

import pytest

from counters import NOON
from documents import valid
from mails import HOUR, RECORDS, WEEK, fine, waiting
from perwiz.cli import main
from perwiz.errors import MailError, UsageError
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.mailing import addressees, mail, post
from perwiz.jobs.mailing.addressees import Settings
from perwiz.jobs.store import database, ingest
from perwiz.jobs.store.query import Choice

BENCHMARK = Benchmark("test", {"recv": 1.0, "send": 1.0}, {"send": 100.0})
SETTINGS = Settings("perwiz@example.org", addresses={name: f"{name}@example.org" for name in ("anna", "bert", "carl")})
HOSTILE = "x\r\nBcc: everybody@example.org\r\n\r\n<script>alert(1)</script>"


@pytest.fixture
def filled(jobs):
    ingest.ingest(jobs, RECORDS)
    return jobs


@pytest.fixture
def file(tmp_path):
    """Return the name of a database with RECORDS."""
    place = str(tmp_path / "jobs.sqlite")
    link = database.open_database(place, write=True)
    ingest.ingest(link, RECORDS)
    link.close()
    return place


@pytest.fixture
def perwiz(file, tmp_path, capsys):
    """Return perwiz(*words): exit code, output and complaint of `perwiz jobs mail`."""
    (tmp_path / "addresses").write_text("anna anna@example.org\nbert  bert@example.org # moved\n\ncarl carl@example.org\n")

    def run(*words):
        given = ["jobs", "mail", "--db", file, "--week", WEEK.label, "--addresses", str(tmp_path / "addresses")]
        code = main([*given, *words])
        out, err = (text.replace(str(tmp_path), "DIR") for text in capsys.readouterr())
        return code, out, err

    return run


def made(link, settings=SETTINGS, choice=None):
    return {one.user: one for one in mail.letters(link, WEEK, choice or Choice(), BENCHMARK, settings)}


def states(found):
    return {user: one.state for user, one in found.items()}


def received(path):
    """Return the addresses of the mails in an mbox."""
    box = mailbox.mbox(path)
    try:
        return [one["To"] for one in box]
    finally:
        box.close()


def test_letters__one_per_user(filled):
    found = made(filled)
    assert list(found) == ["anna", "bert", "carl", "nobody"]
    assert states(found) == {"anna": "to send", "bert": "to send", "carl": "to send", "nobody": "no address"}
    assert (found["anna"].jobs, found["anna"].cpu) == (3, 6 * HOUR)


def test_subject(filled):
    number = int(WEEK.label[-2:])
    subjects = [one.message["Subject"] for one in made(filled).values() if one.message]
    assert subjects == [
        f"MPI jobs of week {number}: 3 jobs, 2 wait for most of their MPI time",
        f"MPI jobs of week {number}: 1 job, none is critical",
        f"MPI jobs of week {number}: 1 job, 1 waits for most of its MPI time",
    ]


def test_message__has_text_and_html(filled):
    message = made(filled)["anna"].message
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert (message["From"], message["To"], message["Auto-Submitted"]) == ("perwiz@example.org", "anna@example.org", "auto-generated")
    plain, page = (part.get_content() for part in message.iter_parts())
    first = plain.splitlines()[0]
    assert first.endswith("3 jobs, 6.00 h of CPU time, 33.7 % in MPI.")  # 2 * 3600 s and 72 s of 21600 s
    assert "2 of 3 other users spent a smaller part in MPI" not in plain
    assert "1 of 3 other users spent a smaller part in MPI; theirs: least 1.0 %, mean 33.7 %, most 50.0 %" in " ".join(plain.split())
    assert plain.splitlines()[-1] == "Questions, or no more of these mails: perwiz@example.org"
    assert "imbalance" in plain
    assert "imbalance" in page
    assert "<script" not in page


def test_thresholds(filled):
    ingest.ingest(filled, [fine(7, "anna", program="./one")._replace(size=1)])
    assert set(made(filled, dataclasses.replace(SETTINGS, least_cpu=2 * HOUR + 1))) == {"anna"}
    assert made(filled)["anna"].jobs == 4
    assert made(filled, choice=Choice(least_size=2))["anna"].jobs == 3
    assert states(made(filled, dataclasses.replace(SETTINGS, critical=True)))["bert"] == "nothing critical"


def test_opt_out__by_user_and_by_address(filled):
    settings = dataclasses.replace(SETTINGS, silent=frozenset({"anna", "carl@example.org"}))
    assert states(made(filled, settings)) == {"anna": "opted out", "bert": "to send", "carl": "opted out", "nobody": "no address"}


def test_hostile_names__no_header_has_them(jobs):
    """A name of a user with line ends gets no address of a domain, and names of programs, hosts and machines stand in no header."""
    hostile = {"program": HOSTILE, "host": HOSTILE, "machine": HOSTILE, "environment": {HOSTILE: HOSTILE}, "mpi": HOSTILE}
    ingest.ingest(jobs, [waiting(1, "anna")._replace(**hostile), waiting(2, HOSTILE), waiting(3, "x@evil.org"), waiting(4, "..")])
    found = made(jobs, Settings("perwiz@example.org", domain="example.org"))
    assert sorted(states(found).values()) == ["no address", "no address", "no address", "to send"]
    message = found["anna"].message
    assert message.keys() == ["Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
    head = message.as_bytes().partition(b"\n\n")[0]
    assert b"everybody" not in head
    plain, page = (part.get_content() for part in message.iter_parts())
    assert "<script" not in page
    assert "\nBcc" not in plain
    assert "\\r\\nBcc" in plain


def test_address__only_what_is_one():
    for hostile in (
        "a\nb@example.org",
        "a b@example.org",
        "<a@example.org>",
        "a@b@c",
        "a@",
        "@example.org",
        "a@example.org\n",
        "ä@example.org",
    ):
        with pytest.raises(UsageError, match=r"must be a mail address"):
            addressees.checked(hostile, "--from")
        assert addressees.address("u", Settings("s@s", addresses={"u": hostile})) == ""


def test_address__number_of_a_user_that_this_machine_knows():
    settings = Settings("s@s", domain="example.org")
    assert addressees.address("0", settings) == "root@example.org"
    assert addressees.address("4123456789", settings) == ""
    assert addressees.address("root", dataclasses.replace(settings, addresses={"root": "admin@example.org"})) == "admin@example.org"


def test_dry_run__sends_nothing(perwiz, tmp_path):
    code, out, err = perwiz("--mbox", str(tmp_path / "box"))
    assert (code, err) == (4, "")
    assert out.splitlines() == [
        f"{WEEK.label}: 3 mails would be sent, 1 no address; --send sends",
        "user    address           state       jobs  CPU time  subject or reason",
        "anna    anna@example.org  to send        3    6.00 h  3 jobs, 2 wait for most of their MPI time",
        "bert    bert@example.org  to send        1    2.00 h  1 job, none is critical",
        "carl    carl@example.org  to send        1    2.00 h  1 job, 1 waits for most of its MPI time",
        "nobody  -                 no address     1    2.00 h",
    ]
    assert not (tmp_path / "box").exists()


def test_mbox__a_second_run_sends_nothing_twice(perwiz, tmp_path):
    box = str(tmp_path / "box")
    assert perwiz("--mbox", box, "--send")[1].startswith(f"{WEEK.label}: 3 mails sent, 1 no address\n")
    assert perwiz("--mbox", box, "--send")[1].startswith(f"{WEEK.label}: 0 mails sent, 1 no address, 3 sent before\n")
    assert received(box) == ["anna@example.org", "bert@example.org", "carl@example.org"]
    assert perwiz("--mbox", box, "--send", "--again")[1].startswith(f"{WEEK.label}: 3 mails sent")
    assert len(received(box)) == 6


def test_mbox__a_refused_mail_may_be_sent_later(filled):
    found = list(made(filled).values())

    class Full:
        def deliver(self, message):
            if message["To"] == "anna@example.org":
                raise post.Refused("452 full")
            if message["To"] == "bert@example.org":
                raise post.Gone("broken pipe")

    states = [(one.user, one.state, one.reason) for one in mail.send(filled, WEEK, Choice(), found, Full(), again=False)]
    assert states == [
        ("anna", "refused", "452 full"),
        ("bert", "not sent", "broken pipe"),
        ("carl", "not sent", "broken pipe"),
        ("nobody", "no address", ""),
    ]
    assert post.sent(filled, WEEK.label) == {}


def test_claim__one_of_two_runs(jobs):
    assert post.claim(jobs, "2026-W43", "anna", "a@b", again=False)
    assert not post.claim(jobs, "2026-W43", "anna", "a@b", again=False)
    assert post.sent(jobs, "2026-W43") == {"anna": 0}
    assert post.claim(jobs, "2026-W43 hawk", "anna", "a@b", again=False)
    assert post.claim(jobs, "2026-W43", "anna", "a@b", again=True)
    post.settle(jobs, "2026-W43", "anna", done=True)
    assert post.sent(jobs, "2026-W43")["anna"] > NOON - 10**9


def test_json(perwiz, tmp_path):
    code, out, err = perwiz("--json", "--mbox", str(tmp_path / "box"), "--send")
    assert (code, err) == (4, "")
    found = json.loads(out)
    valid(found, "jobs_mail")
    assert [one["state"] for one in found["mails"]] == ["sent", "sent", "sent", "no address"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--send"], "--send: needs --mbox FILE or --smtp HOST"),
        (["--mbox", "a", "--smtp", "b"], "--mbox and --smtp: must be one of them"),
        (["--smtp", "a b"], "--smtp a b: must be HOST or HOST:PORT, as localhost:25"),
        (["--smtp", "localhost:0"], "--smtp localhost:0: must be HOST or HOST:PORT, as localhost:25"),
        (["--smtp", "localhost:99999999999"], "--smtp localhost:99999999999: must be HOST or HOST:PORT, as localhost:25"),
        (["--domain", "a\nb"], "--domain user@a\\nb: must be a mail address, as user@example.org"),
        (["--from", "me"], "--from me: must be a mail address, as user@example.org"),
        (["--contact", "a\nb"], "--contact 'a\\nb': must be one line"),
        (["--least-hours", "nan"], "argument --least-hours: 'nan', must be a number of hours from 0 to 1e+12; see perwiz jobs mail --help"),
        (["--opt-out", "DIR/none"], "DIR/none: cannot be read: no such file or directory, must be a file with one user or address a line"),
        (["--addresses", "DIR/bad"], "DIR/bad:2: 'anna', must be USER ADDRESS, as 1012 user@example.org"),
    ],
)
def test_refusals(perwiz, tmp_path, words, message):
    (tmp_path / "bad").write_text("# who\nanna\n")
    assert perwiz(*(word.replace("DIR", str(tmp_path)) for word in words)) == (2, "", f"perwiz: {message}\n")


def test_refusal__no_addresses(file, capsys):
    assert main(["jobs", "mail", "--db", file]) == 2
    assert capsys.readouterr() == ("", "perwiz: no addresses: needs --domain DOMAIN, --addresses FILE or both\n")


def test_refusal__no_database_is_made(tmp_path, capsys):
    place = tmp_path / "none.sqlite"
    assert main(["jobs", "mail", "--db", str(place), "--domain", "example.org", "--mbox", str(tmp_path / "box"), "--send"]) == 2
    assert capsys.readouterr()[1].startswith(f"perwiz: {place}: no database of jobs yet")
    assert not place.exists()


def test_refusal__not_an_mbox(perwiz, tmp_path):
    (tmp_path / "box").write_text("precious data\n")
    code, out, err = perwiz("--mbox", str(tmp_path / "box"), "--send")
    assert (code, out, err) == (3, "", "perwiz: DIR/box: begins with b'preci', must be an mbox\n")
    assert (tmp_path / "box").read_text() == "precious data\n"
    with pytest.raises(MailError, match=r"is a directory, must be an mbox that can be written"), post.mbox(str(tmp_path)):
        pass
    assert stat.S_ISDIR(tmp_path.stat().st_mode)


def test_default__the_last_week_that_is_over(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("time.time", lambda: NOON + 7 * 86_400)
    assert main(["jobs", "mail", "--db", file, "--domain", "example.org"]) == 0
    assert capsys.readouterr()[0].startswith(f"{WEEK.label}: 4 mails would be sent")
