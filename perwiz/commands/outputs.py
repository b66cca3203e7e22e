"""What a command puts out: files, checked before it works, written all or none, never left half written; and its answer."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from perwiz.errors import DONE, INCOMPLETE, PerwizError, UsageError
from perwiz.formats.otf2.writing import files as archive
from perwiz.formats.paraver import files as paraver

if TYPE_CHECKING:
    from perwiz.report.records import Document
    from perwiz.trace.trace import Trace

D = TypeVar("D", bound="Document")


def check(outputs: Iterable[str | None], inputs: Iterable[str | None], plot: str | None = None) -> None:
    """Raise UsageError if one of the outputs cannot be written, is one of the inputs or a part of one, or is named twice; None is none.

    `plot` is an output too, and must be a picture in a format that perwiz draws.
    """
    from perwiz.formats import files

    given = [path for path in inputs if path is not None]
    parts = [part for path in given for part in archive.found(path)]
    folders = [os.path.realpath(part) for part in parts if os.path.isdir(part)]
    read = [os.stat(part) for part in parts if os.path.exists(part)]
    if "-" in given:
        with contextlib.suppress(OSError):
            read.append(os.fstat(0))
    known: set[str] = set()
    for path in (path for path in (*outputs, plot) if path is not None):
        _check_place(path)
        if ".otf2" in path.lower() and path.lower().endswith((".otf2", ".otf2.gz", ".otf2.zst")) and not _is_archive(path):
            raise UsageError(f"{path}: no name for an OTF2 archive, must end in .otf2")
        if path.lower().endswith((".prv", ".prv.gz", ".prv.zst")) and not paraver.is_paraver(path):
            raise UsageError(f"{path}: no name for a Paraver trace, must end in .prv or .prv.gz")
        if files.is_view(path.lower()) and not files.is_view(path):
            raise UsageError(f"{path}: no name for Trace Event JSON, must end in .json, .json.gz or .json.zst")
        own = _own(path)
        if not known.isdisjoint(own):
            raise UsageError(f"{path}: to be written twice, must be two files")
        known.update(own)
        there = [os.stat(part) for part in own if os.path.exists(part)]
        if os.path.dirname(own[0]) in folders or any(os.path.samestat(one, other) for one in there for other in read):
            raise UsageError(f"{path}: {_clash(own, given)}is read by this command, must be another file")
        if _is_archive(path):
            archive.check(path)
        if paraver.is_paraver(path):
            paraver.check(path)
    _check_picture(plot)


def _clash(own: list[str], given: list[str]) -> str:
    """Return the name of the recorded run among the inputs that lies where an archive has its folder, as the beginning of a message."""
    runs = [path for path in given if os.path.isfile(os.path.join(path, "run.json")) and os.path.realpath(path) in own]
    return f"its folder {runs[0]} " if runs else ""


def _is_archive(path: str) -> bool:
    return path.endswith(".otf2")


def _own(path: str) -> list[str]:
    """Return all that is written for one output."""
    real, parts = os.path.realpath(path), _parts(path)
    return [real] if parts is None else [*parts(real)]


def _parts(path: str) -> Callable[[str], tuple[str, ...]] | None:
    """Return what tells the parts of an output of several, None if it is one file."""
    return archive.parts if _is_archive(path) else paraver.parts if paraver.is_paraver(path) else None


def _check_place(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path) or "."
    if path in ("", "-"):
        raise UsageError(f"'{path}': no file to write to, must be the name of one")
    if os.path.isdir(path) or path.endswith("/"):
        raise UsageError(f"{path}: a directory, must be the name of a file")
    there = os.path.abspath(path)
    device = os.path.dirname(there) in ("/dev", "/dev/fd") or there.startswith("/proc/")
    if device or (os.path.exists(path) and not os.path.isfile(path)):
        raise UsageError(f"{path}: no regular file, must be the name of one")
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no directory {folder}, must be in one that exists")
    if not os.access(folder, os.W_OK | os.X_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: cannot be written: permission denied")


def _check_picture(path: str | None) -> None:
    from perwiz.report.picture.timeline import SUFFIXES

    suffix = os.path.splitext(path or "")[1]
    if path is not None and suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: a picture of type '{suffix}', must be one of {' '.join(SUFFIXES)}")


def write_trace(trace: Trace, name: str, path: str) -> None:
    """Write a trace to `path`, as a job that is to become the file `name`; say so if events do not have their time."""
    from perwiz.formats import files

    moved = files.write(trace, path)
    if moved:
        print(f"perwiz: {name}: {moved} region boundaries or records moved, so that no time runs backwards", file=sys.stderr)


def write(jobs: Mapping[str | None, Callable[[str], None]]) -> None:
    """Let every job write its file, named by its key (None: none), in a directory of its own beside the place; move all when all are done.

    Raises what a job raises, with the name the file was to have, and UsageError when a file cannot be written; then nothing is left.
    """
    with contextlib.ExitStack() as stack:
        done = {}
        for path, job in ((path, job) for path, job in jobs.items() if path is not None):
            target = os.path.realpath(path)
            with _naming(path):
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix=".perwiz-", dir=os.path.dirname(target)))
            part = os.path.join(place, os.path.basename(path))
            with _naming(path, part):
                job(part)
            done[path] = part, target
        for path, (part, target) in done.items():
            with _naming(path):
                _move(part, target)


def _move(part: str, target: str) -> None:
    parts = _parts(part)
    if parts is not None:
        archive.move(part, target, parts)
        return
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


def tell(args: argparse.Namespace, document: D, text: Callable[[D], str], incomplete: bool) -> int:
    """Return the exit code, after printing a document, as JSON if `args` say so, else as text."""
    from perwiz.report.records import to_json

    print(to_json(document) if args.json else text(document))
    return INCOMPLETE if incomplete else DONE
