"""Who gets mail, and at what address: a file of addresses, a domain, those who want none."""

from __future__ import annotations

import dataclasses
import pwd
import re
from collections.abc import Iterator

from perwiz import words
from perwiz.errors import UsageError

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,253}\Z")
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Who gets mail, and from whom."""

    sender: str
    contact: str = ""
    """Whom to ask, and to tell that no more mails are wanted."""
    domain: str = ""
    """Mail goes to login@domain, where `addresses` has none."""
    addresses: dict[str, str] = dataclasses.field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    """Users, numbers or names, and addresses that want none."""
    least_cpu: float = 0
    """Users with less CPU time in the period get none, in s."""
    critical: bool = False
    """Whether only users with critical jobs get one."""


def checked(address: str, what: str) -> str:
    """Return an address. Raises UsageError if it is none."""
    if not _ADDRESS.match(address):
        raise UsageError(f"{what} {words.shown(address)}: must be a mail address, as user@example.org")
    return address


def _lines(path: str, what: str) -> Iterator[tuple[str, list[str]]]:
    """Yield place and words of each line that is not empty or a comment."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if found := line.partition("#")[0].split():
                    yield f"{path}:{number}", found
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}, must be {what}") from None


def addresses(path: str) -> dict[str, str]:
    """Return the addresses in a file with lines `USER ADDRESS`, USER the number or name that records have. Raises UsageError."""
    out = {}
    for place, found in _lines(path, "a file of lines USER ADDRESS"):
        if len(found) != 2 or not _ADDRESS.match(found[1]):
            raise UsageError(f"{place}: {words.shown(' '.join(found))!r}, must be USER ADDRESS, as 1012 user@example.org")
        out[found[0]] = found[1]
    return out


def silent(path: str) -> frozenset[str]:
    """Return the users and addresses in a file with one a line. Raises UsageError."""
    return frozenset(found[0] for _, found in _lines(path, "a file with one user or address a line"))


def login(user: str) -> str:
    """Return the name of a user of whom records have the number, if this machine knows it; else what records have."""
    try:
        return pwd.getpwuid(int(user)).pw_name if user.isascii() and user.isdigit() else user
    except (KeyError, OverflowError, ValueError):
        return user


def address(user: str, settings: Settings) -> str:
    """Return the address of a user, empty if there is none that is one."""
    name = login(user)
    found = settings.addresses.get(user) or settings.addresses.get(name)
    if found is None and settings.domain and _LOGIN.match(name) and not name.isdigit():
        found = f"{name}@{settings.domain}"
    return found if found and _ADDRESS.match(found) else ""
