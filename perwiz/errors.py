"""Everything that can go wrong for a user, on one page.

A `PerwizError` becomes one line on stderr and its exit code; any other exception is a bug of ours and shows a traceback.
"""

DONE, BUG, USAGE, UNREADABLE, INCOMPLETE, MISSED = range(6)
"""Exit codes: done, our bug, usage, unreadable input, done but the trace is incomplete, a threshold was missed."""


class PerwizError(Exception):
    """Names the place, what is there and what must be."""

    exit_code = UNREADABLE


class UsageError(PerwizError):
    """The command or call asks for something that does not exist or cannot be."""

    exit_code = USAGE


class NotInWindowsError(UsageError):
    """Windows of a run do not tell what is asked: all of it must be held."""


class LibraryError(PerwizError):
    """A library that is needed for what was asked is missing, too old or does not load."""

    exit_code = USAGE


class ReaderError(LibraryError):
    """A library without which a trace cannot be read is missing."""

    exit_code = UNREADABLE


class TraceError(PerwizError):
    """The trace cannot be read, or breaks a rule of its tables."""


class ModelError(PerwizError):
    """The model file is missing a key, has an unknown one, or a value out of range."""

    exit_code = USAGE


class ClockError(PerwizError):
    """The clock offsets of the trace are missing in part, or make no sense."""


class GraphError(PerwizError):
    """What had to come before what contradicts itself."""


class DatabaseError(PerwizError):
    """The database of jobs cannot be opened, is locked, read-only or none."""


class MailError(PerwizError):
    """The mail server cannot be reached, or the mailbox is none."""
