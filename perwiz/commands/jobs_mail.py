"""`perwiz jobs mail`: mail to users about their jobs of a week or month."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.jobs.benchmark import Benchmark
    from perwiz.jobs.mailing.addressees import Settings
    from perwiz.jobs.period import Period

_MOST = 1e12
_ENDING = """
Each user with jobs in the period gets one mail, text and HTML: the answer, how the jobs compare with the period before and with other
users, the critical jobs, and the table of 13 columns. Without --send nothing is sent: who would get what is printed. What was sent is kept
in the database, by period, machine and user, so that running it again sends what is missing and nothing twice.

The server is spoken to without encryption or login: name a relay on this host. An address is that of --addresses, else the user's name at
--domain; for a number out of a record, the name that this machine knows. Users without either are listed as `no address`.

examples:
  perwiz jobs mail --db jobs.sqlite --week 2026-W43 --domain example.org
  perwiz jobs mail --db jobs.sqlite --domain example.org --opt-out quiet.txt --smtp localhost --send

exit codes: 0 done, 2 usage, 3 the database cannot be read or the server not be reached: nothing was sent, 4 some mails were refused or not
sent, or have no address: those are listed, the others were sent
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz jobs mail`."""
    parser.add_argument("--week", metavar="WEEK", help="about jobs that ended in this week, as 2026-W43 (default: the last that is over)")
    parser.add_argument("--month", metavar="MONTH", help="or in this month, as 2026-10")
    parser.add_argument("--machine", metavar="NAME", help="jobs of this machine")
    parser.add_argument("--mbox", metavar="FILE", help="append the mails to this mailbox")
    parser.add_argument("--smtp", metavar="HOST[:PORT]", help="or give them to this mail server (default port 25)")
    parser.add_argument("--send", action="store_true", help="send them; otherwise only print what would be sent")
    parser.add_argument("--again", action="store_true", help="also to those who were sent the mail of this period before")
    parser.add_argument("--domain", metavar="DOMAIN", default="", help="mail goes to NAME@DOMAIN")
    parser.add_argument("--addresses", metavar="FILE", help="lines USER ADDRESS: number or name as in records, and where its mail goes")
    parser.add_argument("--opt-out", metavar="FILE", help="users or addresses, one a line, that get none")
    least = "users with less CPU time in the period get none, in hours (default 1)"
    parser.add_argument("--least-hours", type=_hours, default=1.0, metavar="H", help=least)
    parser.add_argument("--least-size", type=options.count, default=2, metavar="N", help="jobs of fewer processes do not count (default 2)")
    parser.add_argument("--critical", action="store_true", help="only users with a critical job")
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", help="the sender (default: perwiz@ and DOMAIN, or this host's name)")
    parser.add_argument("--contact", metavar="TEXT", default="", help="whom to ask, in the last line (default: the sender)")
    options.ending(parser, _ENDING)


def _hours(text: str) -> float:
    """Return a number of hours. Raises argparse.ArgumentTypeError for other texts."""
    try:
        hours = float(text)
    except ValueError:
        hours = -1.0
    if not 0 <= hours <= _MOST:
        raise argparse.ArgumentTypeError(f"'{text}', must be a number of hours from 0 to {_MOST:g}")
    return hours


def run(args: argparse.Namespace, benchmark: Benchmark) -> int:
    """Return the exit code, after sending, or saying what would be sent."""
    from perwiz.jobs.mailing import document as report
    from perwiz.jobs.mailing import mail
    from perwiz.jobs.store.database import open_database
    from perwiz.jobs.store.query import Choice

    settings, span = _settings(args), _period(args)
    choice = Choice(machine=args.machine, least_size=args.least_size)
    open_database(args.db).close()  # one that is not there is none to be made
    database = open_database(args.db, write=args.send)
    try:
        letters = list(mail.letters(database, span, choice, benchmark, settings, args.again))
        if args.send:
            with _post(args) as post:
                letters = list(mail.send(database, span, choice, letters, post, args.again))
        document = report.document(database, span, letters, args.send)
    finally:
        database.close()
    failed = any(letter.state in ("no address", "refused", "not sent") for letter in letters)
    return files.finish(args, document, report.text, failed)


def _post(args: argparse.Namespace):  # type: ignore[no-untyped-def]
    from perwiz.jobs.mailing import post

    return post.mbox(args.mbox) if args.mbox else post.smtp(args.smtp)


def _settings(args: argparse.Namespace) -> Settings:
    """Return the settings. Raises UsageError, before anything is opened."""
    import socket

    from perwiz.errors import UsageError
    from perwiz.jobs.mailing import addressees, post

    if args.mbox and args.smtp:
        raise UsageError("--mbox and --smtp: must be one of them")
    if args.send and not (args.mbox or args.smtp):
        raise UsageError("--send: needs --mbox FILE or --smtp HOST")
    if not (args.domain or args.addresses):
        raise UsageError("no addresses: needs --domain DOMAIN, --addresses FILE or both")
    if args.smtp:
        post.server(args.smtp)
    if args.domain:
        addressees.checked(f"user@{args.domain}", "--domain")
    sender = addressees.checked(args.sender or f"perwiz@{args.domain or socket.gethostname()}", "--from")
    if not args.contact.isprintable():
        raise UsageError(f"--contact {args.contact!r}: must be one line")
    addresses = addressees.addresses(args.addresses) if args.addresses else {}
    out = addressees.silent(args.opt_out) if args.opt_out else frozenset()
    return addressees.Settings(sender, args.contact, args.domain, addresses, out, 3600 * args.least_hours, args.critical)


def _period(args: argparse.Namespace) -> Period:
    """Return the period asked for, or the last week that is over."""
    import time

    from perwiz.jobs import period

    return period.chosen(args.week, args.month, None, None) or period.week_of(int(time.time()) - 7 * 86_400)
