"""Mails to users about their jobs of a week or month: to whom, what they say, and how they are sent."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import hashlib
import time
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import format_datetime
from typing import NamedTuple

from msgspec.structs import replace

from perwiz import words
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.mailing import post
from perwiz.jobs.mailing.addressees import Settings, address, login
from perwiz.jobs.mailing.post import Gone, Post, Refused
from perwiz.jobs.period import Period
from perwiz.jobs.record import date
from perwiz.jobs.store import query, series
from perwiz.jobs.store.database import Database
from perwiz.jobs.store.query import Choice, Share
from perwiz.jobs.store.series import Others
from perwiz.jobs.views import document as report
from perwiz.jobs.views import html, html_parts, text
from perwiz.jobs.views.records import PeriodDocument

_JUDGED, _LISTED = 1000, 20
"""Critical jobs that the subject counts, and that the mail lists."""
_WIDTH = 140
"""Columns of a mail: all of the table of 13 columns."""
_TOLD = {
    "imbalance": ("waits for most of its MPI time", "wait for most of their MPI time"),
    "set-up": ("spends most of its MPI time in set-up", "spend most of their MPI time in set-up"),
    "latency-bound": ("is latency-bound", "are latency-bound"),
    "transfer-bound": ("is transfer-bound", "are transfer-bound"),
}


class Letter(NamedTuple):
    """One user's mail."""

    user: str
    address: str
    state: str
    """to send, sent, sent before, no address, opted out, nothing critical, refused, or not sent."""
    jobs: int
    cpu: float
    message: EmailMessage | None = None
    reason: str = ""


def letters(
    database: Database, span: Period, choice: Choice, benchmark: Benchmark, settings: Settings, again: bool = False
) -> Iterator[Letter]:
    """Yield what each user with enough CPU time is to get, most CPU time first; no other is named."""
    within = report.within(choice, span)
    everyone, before = series.users(database, within), {} if again else post.sent(database, key(span, choice))
    for user in query.shares(database, within, "user"):
        if user.cpu < settings.least_cpu or not user.cpu > 0:
            continue
        to = address(user.name, settings)
        state, reason = _state(user.name, to, settings, before)
        if state != "to send":
            yield Letter(user.name, to, state, user.jobs, user.cpu, reason=reason)
            continue
        yield _letter(database, span, choice, benchmark, settings, user, to, everyone)


def _state(user: str, to: str, settings: Settings, before: dict[str, float]) -> tuple[str, str]:
    if not settings.silent.isdisjoint({user, login(user), to} - {""}):
        return "opted out", ""
    if user in before:
        return "sent before", date(before[user]) if before[user] else "a run began to and did not end; --again sends it"
    return ("to send", "") if to else ("no address", "")


def _letter(
    database: Database, span: Period, choice: Choice, benchmark: Benchmark, settings: Settings, user: Share, to: str, everyone: list[Share]
) -> Letter:
    own = dataclasses.replace(choice, user=user.name)
    document = report.period(database, "user", span, own, benchmark, most=_JUDGED)
    if settings.critical and not document.critical:
        return Letter(user.name, to, "nothing critical", user.jobs, user.cpu)
    message = compose(document, span, series.others(everyone, user.name), settings, to)
    return Letter(user.name, to, "to send", user.jobs, user.cpu, message)


def key(span: Period, choice: Choice) -> str:
    """Return the name by which the database knows the mails of a period, of one machine or all."""
    return f"{span.label} {choice.machine}" if choice.machine else span.label


def named(span: Period) -> str:
    """Return the period as subjects name it: week 43, or 2026-10."""
    return f"week {int(span.label[-2:])}" if "-W" in span.label else span.label


def subject(document: PeriodDocument, span: Period) -> str:
    """Return one line with the number of jobs and what most of the time in MPI of the critical ones goes into."""
    head = f"MPI jobs of {named(span)}: {words.several(document.jobs, 'job')}"
    seconds: dict[str, float] = collections.defaultdict(float)
    count: collections.Counter[str] = collections.Counter()
    for job in document.critical:
        seconds[job.diagnosis.kind] += job.mpi_s
        count[job.diagnosis.kind] += 1
    if not count:
        return f"{head}, none is critical"
    kind = max(seconds, key=lambda kind: seconds[kind])
    more = "at least " if len(document.critical) >= _JUDGED else ""
    return f"{head}, {more}{count[kind]} {_TOLD[kind][count[kind] != 1]}"


def compose(document: PeriodDocument, span: Period, others: Others | None, settings: Settings, to: str) -> EmailMessage:
    """Return a mail with a text and an HTML part. No name out of a record stands in its header."""
    choice = {name: value for name, value in document.choice.items() if name in ("user", "machine")}
    shown = replace(document, critical=document.critical[:_LISTED], database="MPI", unusable=0, choice=choice)
    first = _first(document, span)
    message = EmailMessage()
    message["Subject"] = subject(document, span)
    message["From"] = settings.sender
    message["To"] = to
    message["Date"] = format_datetime(datetime.datetime.fromtimestamp(int(time.time()), datetime.UTC))
    number = hashlib.blake2b(f"{time.time()}\0{document.choice}".encode(errors="replace"), digest_size=10).hexdigest()
    message["Message-ID"] = f"<{span.label}.{number}@{settings.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(_text(shown, first, others, settings)) + "\n")
    message.add_alternative(_html(shown, f"MPI jobs of {named(span)}", first, others, settings), subtype="html")
    return message


def _first(document: PeriodDocument, span: Period) -> str:
    days = f"{date(span.since)[:10]} to {date(span.until - 1)[:10]}"
    share = words.percent(document.mpi_s, document.cpu_s)
    only = f" of {least} processes or more" if (least := document.choice.get("least_size", 0)) > 1 else ""
    told = f"{words.several(document.jobs, 'job')}{only}, {text.seconds(document.cpu_s)} of CPU time, {share} in MPI"
    return f"Your MPI jobs of {named(span)} ({days}): {told}."


def _last(settings: Settings) -> str:
    return f"Questions, or no more of these mails: {settings.contact or settings.sender}"


def _text(document: PeriodDocument, first: str, others: Others | None, settings: Settings) -> list[str]:
    facts = [("since before", html.before(document))] if html.before(document) else []
    facts += [("other users", html.compared(others))] if others else []
    with words.fitted(_WIDTH):
        return [first, *words.facts(facts), "", *text.period(document), "", "-- ", _last(settings)]


def _html(document: PeriodDocument, title: str, first: str, others: Others | None, settings: Settings) -> str:
    """Return the HTML part: what mail readers show without pictures and scripts."""
    split, diagnosis = document.split, document.diagnosis
    parts = [(name, text.seconds(value), words.percent(value, split.all)) for name, value in split.parts.items() if value]
    step = f"of {html.whose(document)}: {diagnosis.step}" if diagnosis.step else ""
    facts = [("Next", step), ("Before", html.before(document)), ("Other users", html.compared(others) if others else "")]
    body = [
        f"<p>{html_parts.escaped(first, 300)}</p>",
        f"<p><strong>{html_parts.escaped(diagnosis.text, 300)}</strong></p>",
        html_parts.facts(facts),
        html_parts.section("Time in MPI", html_parts.table(("part", "time", "of MPI"), parts)) if parts else "",
        html_parts.section("Critical jobs", html_parts.jobs(document.critical)) if document.critical else "",
        html_parts.statistics(document),
        f"<p>{html_parts.escaped(_last(settings), 200)}</p>",
    ]
    return html_parts.page(title, body)


def send(database: Database, span: Period, choice: Choice, letters: list[Letter], to: Post, again: bool) -> Iterator[Letter]:
    """Yield each mail with what became of it; one that another run sends meanwhile is not sent again."""
    gone, period = "", key(span, choice)
    for letter in letters:
        if letter.message is None:
            yield letter
        elif gone:
            yield letter._replace(state="not sent", reason=gone)
        elif not post.claim(database, period, letter.user, letter.address, again):
            yield letter._replace(state="sent before")
        else:
            state, reason = _delivered(to, letter.message)
            post.settle(database, period, letter.user, state == "sent")
            gone = reason if state == "not sent" else ""
            yield letter._replace(state=state, reason=reason)


def _delivered(to: Post, message: EmailMessage) -> tuple[str, str]:
    try:
        to.deliver(message)
    except Refused as error:
        return "refused", str(error)
    except Gone as error:
        return "not sent", str(error)
    return "sent", ""
