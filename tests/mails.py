"""Jobs of a week about which tests send mails, and a mail server on the loopback."""

from __future__ import annotations

import socketserver

from counters import NOON, job
from perwiz.jobs import period
from perwiz.jobs.record import Counts

WEEK = period.week_of(NOON)
HOUR = 3600.0


def waiting(number, user, **more):
    """A job of 2 hours, half of it in 7 receives that should take 7 us: it waits."""
    return job(number, user=user, size=2, all=2 * HOUR, inside=HOUR, routines={"recv": Counts(7, HOUR, 7, 56, 56)}, **more)


def fine(number, user, **more):
    """A job of 2 hours, a hundredth of it in MPI."""
    return job(number, user=user, size=2, all=2 * HOUR, inside=72, routines={"recv": Counts(7, 72, 7, 56, 56)}, **more)


RECORDS = [waiting(1, "anna"), waiting(2, "anna"), fine(3, "anna"), fine(4, "bert"), waiting(5, "carl"), waiting(6, "nobody")]


class Session(socketserver.StreamRequestHandler):
    """One connection, RFC 5321 as far as a client of ours goes."""

    timeout = 20

    def handle(self):
        """Answer until the client is done."""
        self.wfile.write(b"220 test\r\n")
        to = b""
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            if verb == b"RCPT":
                to = line.strip().lower()
                if self.server.hang and self.server.hang in to:
                    return
            if verb == b"RCPT" and self.server.refuse and self.server.refuse in to:
                self.wfile.write(b"550 5.1.1 no such \x1b[31m user\r\n")
            elif verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                self.server.taken.append((to, self._data()))
                self.wfile.write(b"250 taken\r\n")
            else:
                self.wfile.write(b"250 ok\r\n")

    def _data(self):
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return b"".join(lines)


class Server(socketserver.TCPServer):
    """A server with what it has taken."""

    allow_reuse_address = True
    refuse = hang = b""

    def __init__(self):
        self.taken = []
        super().__init__(("127.0.0.1", 0), Session)
