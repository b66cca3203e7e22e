"""The report of `perwiz jobs mail`: a JSON document, and the text made from it."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import field

from perwiz import words
from perwiz.jobs.mailing.mail import Letter
from perwiz.jobs.period import Period
from perwiz.jobs.record import date
from perwiz.jobs.store.database import Database
from perwiz.jobs.views.records import JobsDocument
from perwiz.jobs.views.table import Seconds
from perwiz.jobs.views.text import seconds
from perwiz.report.records import Positive, Record, choice

State = Annotated[str, choice("to send", "sent", "sent before", "no address", "opted out", "nothing critical", "refused", "not sent")]


class MailPeriod(Record):
    """The week or month that mails are about."""

    label: str
    begin: str = field(name="from")
    end: str = field(name="to")
    """No longer in it."""


class Mail(Record):
    """A user's mail, and what became of it."""

    user: str
    """As in records."""
    address: str
    """Empty: none."""
    state: State
    jobs: Positive
    cpu_s: Seconds
    reason: str
    """The server's answer, or when it was sent before."""
    subject: str
    """Empty: no mail was made."""


class MailDocument(JobsDocument, kw_only=True):
    """What was sent, or would be."""

    report: Literal["mail"] = "mail"
    period: MailPeriod
    dry_run: bool
    """Nothing was sent."""
    mails: list[Mail]
    """Users with enough CPU time, most first."""


def document(database: Database, span: Period, letters: Sequence[Letter], send: bool) -> MailDocument:
    """Return what was sent, or would be."""
    return MailDocument(
        database=database.place,
        period=MailPeriod(label=span.label, begin=date(span.since), end=date(span.until)),
        dry_run=not send,
        mails=[
            Mail(
                user=letter.user,
                address=letter.address,
                state=letter.state,
                jobs=letter.jobs,
                cpu_s=letter.cpu,
                reason=letter.reason,
                subject=str(letter.message["Subject"]) if letter.message else "",
            )
            for letter in letters
        ],
    )


def text(document: MailDocument) -> str:
    """Return the document as text: how many of each, then a line per user."""
    count = collections.Counter(mail.state for mail in document.mails)
    number = count.pop("to send", 0) if document.dry_run else count.pop("sent", 0)
    rest = "".join(f", {many} {state}" for state, many in sorted(count.items()))
    done = f"{words.several(number, 'mail')} {'would be ' if document.dry_run else ''}sent{rest}"
    head = f"{document.period.label}: {done}{'; --send sends' if document.dry_run and number else ''}"
    if not document.mails:
        return head
    rows = [
        (
            words.shown(mail.user, 20),
            mail.address or "-",
            mail.state,
            str(mail.jobs),
            seconds(mail.cpu_s),
            ": ".join(filter(None, (mail.subject.partition(": ")[2], mail.reason))),
        )
        for mail in document.mails
    ]
    table = words.table(("user", "address", "state", "jobs", "CPU time", "subject or reason"), rows, left=(0, 1, 2, 5))
    return "\n".join([head, *table])
