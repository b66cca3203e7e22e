"""Files a command writes: checked before it works, written all or none, never left half written."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping

from perwiz.errors import PerwizError, UsageError


def check(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise UsageError if one of the outputs cannot be written, is one of the inputs, or is named twice."""
    read = [os.stat(path) for path in inputs if os.path.exists(path)]
    if "-" in inputs:
        with contextlib.suppress(OSError):
            read.append(os.fstat(0))
    known: set[str] = set()
    for path in outputs:
        _check_place(path)
        if os.path.realpath(path) in known:
            raise UsageError(f"{path}: to be written twice, must be two files")
        known.add(os.path.realpath(path))
        if os.path.exists(path) and any(os.path.samestat(os.stat(path), other) for other in read):
            raise UsageError(f"{path}: is read by this command, must be another file")


def _check_place(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path) or "."
    if path in ("", "-"):
        raise UsageError(f"'{path}': no file to write to, must be the name of one")
    if os.path.isdir(path) or path.endswith("/"):
        raise UsageError(f"{path}: a directory, must be the name of a file")
    if os.path.abspath(path).startswith(("/dev/", "/proc/")) or (os.path.exists(path) and not os.path.isfile(path)):
        raise UsageError(f"{path}: no regular file, must be the name of one")
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no directory {folder}, must be in one that exists")
    if not os.access(folder, os.W_OK | os.X_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: cannot be written: permission denied")


def write(jobs: Mapping[str, Callable[[str], None]]) -> None:
    """Let every job write its file, named by its key, in a directory of its own beside the place; move all of them when all are done.

    Raises what a job raises, with the name the file was to have, and UsageError when a file cannot be written; then nothing is left.
    """
    with contextlib.ExitStack() as stack:
        done = {}
        for path, job in jobs.items():
            target = os.path.realpath(path)
            with _naming(path):
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix=".perwiz-", dir=os.path.dirname(target)))
            part = os.path.join(place, os.path.basename(path))
            with _naming(path, part):
                job(part)
            done[path] = part, target
        for path, (part, target) in done.items():
            with _naming(path):
                if os.path.exists(target):
                    shutil.copymode(target, part)
                os.replace(part, target)


@contextlib.contextmanager
def _naming(path: str, part: str = "") -> Iterator[None]:
    """Let errors name the file that was asked for."""
    try:
        yield
    except PerwizError as error:
        raise type(error)(str(error).replace(part, path) if part else str(error)) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
