"""Where mails go, and which were sent: an mbox or a mail server, and the table `mails`, so that no period is sent twice."""

from __future__ import annotations

import contextlib
import mailbox
import os
import smtplib
import socket
import time
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Protocol

from perwiz import words
from perwiz.errors import MailError, UsageError
from perwiz.jobs.record import Amount
from perwiz.jobs.store.database import Database, rows

PORT = 25
_PATIENCE = 60.0
"""Seconds to wait for an answer of the server."""


class Refused(Exception):
    """The server has not taken this mail; it may take the next."""


class Gone(Exception):
    """The server is gone; the rest is not sent."""


class Post(Protocol):
    """Takes mails."""

    def deliver(self, message: EmailMessage) -> None:
        """Send one mail to the address in it. Raises Refused or Gone."""


class _Mbox:
    def __init__(self, box: mailbox.mbox) -> None:
        self._box = box

    def deliver(self, message: EmailMessage) -> None:
        """See Post."""
        try:
            self._box.add(message)
            self._box.flush()
        except OSError as error:
            raise Gone(_said(error)) from None


@contextlib.contextmanager
def mbox(path: str) -> Iterator[Post]:
    """Return a mailbox file, made if there is none, locked meanwhile. Raises MailError."""
    try:
        if os.path.exists(path):
            with open(path, "rb") as file:
                start = file.read(5)
            if start and start != b"From ":
                raise MailError(f"{path}: begins with {start!r}, must be an mbox")
        box = mailbox.mbox(path)
        box.lock()
    except (OSError, mailbox.Error) as error:
        raise MailError(f"{path}: {_said(error)}, must be an mbox that can be written") from None
    try:
        yield _Mbox(box)
    finally:
        box.close()  # also unlocks


class _Smtp:
    def __init__(self, link: smtplib.SMTP) -> None:
        self._link = link

    def deliver(self, message: EmailMessage) -> None:
        """See Post."""
        try:
            self._link.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            raise Refused(_answer(*next(iter(error.recipients.values())))) from None
        except smtplib.SMTPResponseException as error:
            raise (Gone if error.smtp_code == 421 else Refused)(_answer(error.smtp_code, error.smtp_error)) from None
        except (OSError, smtplib.SMTPException) as error:
            raise Gone(_said(error)) from None


@contextlib.contextmanager
def smtp(place: str) -> Iterator[Post]:
    """Return a mail server HOST[:PORT], spoken to without encryption or login. Raises UsageError, MailError if it cannot be reached."""
    host, port = server(place)
    try:
        link = smtplib.SMTP(host, port, local_hostname=socket.gethostname(), timeout=_PATIENCE)
    except (OSError, smtplib.SMTPException) as error:
        raise MailError(f"{place}: {_said(error)}, must be a mail server that can be reached; nothing was sent") from None
    try:
        yield _Smtp(link)
    finally:
        with contextlib.suppress(OSError, smtplib.SMTPException):
            link.quit()
        link.close()


def server(place: str) -> tuple[str, int]:
    """Return host and port of HOST[:PORT], [ADDRESS]:PORT of IPv6. Raises UsageError."""
    host, _, port = place.rpartition(":") if place.count(":") == 1 or "]:" in place else (place, "", str(PORT))
    host = host.strip("[]")
    if not host or not host.isprintable() or " " in host or not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536:
        raise UsageError(f"--smtp {words.shown(place)}: must be HOST or HOST:PORT, as localhost:25")
    return host, int(port)


def _answer(code: int, text: bytes | str) -> str:
    told = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    return words.shown(f"{code} {told}", 100)


def _said(error: Exception) -> str:
    return words.shown((getattr(error, "strerror", None) or str(error) or type(error).__name__).lower(), 100)


def sent(database: Database, period: str) -> dict[str, float]:
    """Return when each user was sent the mail of a period, seconds since 1970; 0: a run began to and did not end."""
    return dict(rows(database, tuple[str, Amount], "SELECT login, sent FROM mails WHERE period = :period", {"period": period}))


def claim(database: Database, period: str, login: str, address: str, again: bool) -> bool:
    """Return whether this run is the one to send a mail; no other will then. With `again` it always is."""
    key = {"period": period, "login": login}
    with database.writing():
        if not again and database.ask("SELECT 1 FROM mails WHERE period = :period AND login = :login", key):
            return False
        database.ask("DELETE FROM mails WHERE period = :period AND login = :login", key)
        database.add("mails", "period, login, address, sent", [(period, login, address, 0.0)])
    return True


def settle(database: Database, period: str, login: str, done: bool) -> None:
    """Record that a mail was sent, or that it was not and may be."""
    key = {"period": period, "login": login}
    with database.writing():
        if done:
            database.ask("UPDATE mails SET sent = :now WHERE period = :period AND login = :login", key | {"now": time.time()})
        else:
            database.ask("DELETE FROM mails WHERE period = :period AND login = :login", key)
