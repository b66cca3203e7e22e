"""Mails to users about their jobs of a week or month: to whom, what they say, and what became of each."""

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
from perwiz.jobs.views.document import Document
from perwiz.jobs.views.html_parts import PARTS

VERSION = 1
_JUDGED, _LISTED = 1000, 20
"""Critical jobs that the subject counts, and that the mail lists."""
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
    for one in query.shares(database, within, "user"):
        if one.cpu < settings.least_cpu or not one.cpu > 0:
            continue
        to = address(one.name, settings)
        state, reason = _state(one.name, to, settings, before)
        if state != "to send":
            yield Letter(one.name, to, state, one.jobs, one.cpu, reason=reason)
            continue
        yield _letter(database, span, choice, benchmark, settings, one, to, everyone)


def _state(user: str, to: str, settings: Settings, before: dict[str, float]) -> tuple[str, str]:
    if not settings.silent.isdisjoint({user, login(user), to} - {""}):
        return "opted out", ""
    if user in before:
        return "sent before", date(before[user]) if before[user] else "a run began to and did not end; --again sends it"
    return ("to send", "") if to else ("no address", "")


def _letter(
    database: Database, span: Period, choice: Choice, benchmark: Benchmark, settings: Settings, one: Share, to: str, everyone: list[Share]
) -> Letter:
    own = dataclasses.replace(choice, user=one.name)
    block = report.period(database, "user", span, own, benchmark, most=_JUDGED)
    if settings.critical and not block["critical"]:
        return Letter(one.name, to, "nothing critical", one.jobs, one.cpu)
    message = compose(block, span, series.others(everyone, one.name), settings, to)
    return Letter(one.name, to, "to send", one.jobs, one.cpu, message)


def key(span: Period, choice: Choice) -> str:
    """Return the name by which the database knows the mails of a period, of one machine or all."""
    return f"{span.label} {choice.machine}" if choice.machine else span.label


def named(span: Period) -> str:
    """Return the period as subjects name it: week 43, or 2026-10."""
    return f"week {int(span.label[-2:])}" if "-W" in span.label else span.label


def subject(block: Document, span: Period) -> str:
    """Return one line with the number of jobs and what most of the time in MPI of the critical ones goes into."""
    head = f"MPI jobs of {named(span)}: {words.several(block['jobs'], 'job')}"
    seconds: collections.Counter[str] = collections.Counter()
    count: collections.Counter[str] = collections.Counter()
    for row in block["critical"]:
        seconds[row["diagnosis"]["kind"]] += row["mpi_s"]
        count[row["diagnosis"]["kind"]] += 1
    if not count:
        return f"{head}, none is critical"
    kind = seconds.most_common(1)[0][0]
    more = "at least " if len(block["critical"]) >= _JUDGED else ""
    return f"{head}, {more}{count[kind]} {_TOLD[kind][count[kind] != 1]}"


def compose(block: Document, span: Period, others: Others | None, settings: Settings, to: str) -> EmailMessage:
    """Return a mail with a text and an HTML part. No name out of a record stands in its header."""
    shown = block | {"critical": block["critical"][:_LISTED], "database": "MPI", "unusable": 0}
    shown["least_size"] = block["choice"].get("least_size", 0)
    shown["choice"] = {name: value for name, value in block["choice"].items() if name in ("user", "machine")}
    message = EmailMessage()
    message["Subject"] = subject(block, span)
    message["From"] = settings.sender
    message["To"] = to
    message["Date"] = format_datetime(datetime.datetime.fromtimestamp(int(time.time()), datetime.UTC))
    number = hashlib.blake2b(f"{time.time()}\0{block['choice']}".encode(errors="replace"), digest_size=10).hexdigest()
    message["Message-ID"] = f"<{span.label}.{number}@{settings.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(_text(shown, span, others, settings)) + "\n")
    message.add_alternative(_html(shown, span, others, settings), subtype="html")
    return message


def _first(block: Document, span: Period) -> str:
    days = f"{date(span.since)[:10]} to {date(span.until - 1)[:10]}"
    share = words.percent(block["mpi_s"], block["cpu_s"])
    only = f" of {least} processes or more" if (least := block["least_size"]) > 1 else ""
    told = f"{words.several(block['jobs'], 'job')}{only}, {text.seconds(block['cpu_s'])} of CPU time, {share} in MPI"
    return f"Your MPI jobs of {named(span)} ({days}): {told}."


def _last(settings: Settings) -> str:
    return f"Questions, or no more of these mails: {settings.contact or settings.sender}"


def _text(block: Document, span: Period, others: Others | None, settings: Settings) -> list[str]:
    facts = [("since before", html.before(block))] if html.before(block) else []
    facts += [("other users", html.compared(others))] if others else []
    return [_first(block, span), *words.facts(facts), "", *text.lines(block), "", "-- ", _last(settings)]


def _html(block: Document, span: Period, others: Others | None, settings: Settings) -> str:
    """Return the HTML part: what mail readers show without pictures and scripts."""
    mpi, found = sum(block["split"].values()), block["diagnosis"]
    split = [(name, html_parts.signed(value), _part(value, mpi)) for k, name in PARTS.items() if (value := block["split"][f"{k}_s"])]
    next_ = f"of {html.whose(block)}: {found['step']}" if found["step"] else ""
    facts = [("Next", next_), ("Before", html.before(block)), ("Other users", html.compared(others) if others else "")]
    body = [
        f"<p>{html_parts.escaped(_first(block, span), 300)}</p>",
        f"<p><strong>{html_parts.escaped(found['text'], 300)}</strong></p>",
        html_parts.facts(facts),
        html_parts.section("Time in MPI", html_parts.table(("part", "time", "of MPI"), split)) if split else "",
        html_parts.section("Critical jobs", html_parts.jobs(block["critical"])) if block["critical"] else "",
        html_parts.statistics(block),
        f"<p>{html_parts.escaped(_last(settings), 200)}</p>",
    ]
    return html_parts.page(f"MPI jobs of {named(span)}", body)


def _part(value: float, whole: float) -> str:
    return f"{'-' if value < 0 else ''}{words.percent(abs(value), whole)}"


def send(database: Database, span: Period, choice: Choice, found: list[Letter], to: Post, again: bool) -> Iterator[Letter]:
    """Yield each mail with what became of it; one that another run sends meanwhile is not sent again."""
    gone, period = "", key(span, choice)
    for one in found:
        if one.message is None:
            yield one
        elif gone:
            yield one._replace(state="not sent", reason=gone)
        elif not post.claim(database, period, one.user, one.address, again):
            yield one._replace(state="sent before")
        else:
            state, reason = _delivered(to, one.message)
            post.settle(database, period, one.user, state == "sent")
            gone = reason if state == "not sent" else ""
            yield one._replace(state=state, reason=reason)


def _delivered(to: Post, message: EmailMessage) -> tuple[str, str]:
    try:
        to.deliver(message)
    except Refused as error:
        return "refused", str(error)
    except Gone as error:
        return "not sent", str(error)
    return "sent", ""


def document(database: Database, span: Period, found: list[Letter], send: bool) -> Document:
    """Return what was sent, or would be (jobs_mail.schema.json)."""
    return {
        **report.header("mail", database),
        "version": VERSION,
        "period": {"label": span.label, "from": date(span.since), "to": date(span.until)},
        "dry_run": not send,
        "mails": [
            {
                **dict(zip(("user", "address", "state", "jobs", "cpu_s"), one, strict=False)),
                "reason": one.reason,
                "subject": str(one.message["Subject"]) if one.message else "",
            }
            for one in found
        ],
    }


def lines(block: Document) -> list[str]:
    """Return the document as text: how many of each, then a line per user."""
    count = collections.Counter(one["state"] for one in block["mails"])
    number = count.pop("to send", 0) if block["dry_run"] else count.pop("sent", 0)
    rest = "".join(f", {many} {state}" for state, many in sorted(count.items()))
    done = f"{words.several(number, 'mail')} {'would be ' if block['dry_run'] else ''}sent{rest}"
    head = f"{block['period']['label']}: {done}{'; --send sends' if block['dry_run'] and number else ''}"
    rows = [
        (
            *(words.shown(one["user"], 20), one["address"] or "-", one["state"], str(one["jobs"]), text.seconds(one["cpu_s"])),
            ": ".join(filter(None, (one["subject"].partition(": ")[2], one["reason"]))),
        )
        for one in block["mails"]
    ]
    return [
        head,
        *(words.table(("user", "address", "state", "jobs", "CPU time", "subject or reason"), rows, left=(0, 1, 2, 5)) if rows else []),
    ]
