"""Writing whole or not at all: beside the place first, moved there when all is written; one file or several that belong together."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from perwiz.errors import PerwizError, UsageError

Files = Callable[[str], tuple[str, ...]]
"""Tells all files of what is named by the first of them."""


def alone(path: str) -> tuple[str, ...]:
    """Return the files of what is one file."""
    return (path,)


@contextlib.contextmanager
def replacing(path: str, files: Files = alone) -> Iterator[str]:
    """Yield a path to write to, in a folder of its own; at the end all files of that name replace those of `path`, links followed.

    When something fails before, nothing is left behind and what was there stays. Errors that name the path yielded name `path` instead.
    Raises UsageError when something cannot be written.
    """
    made = ""
    try:
        target = os.path.realpath(path)
        with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=os.path.dirname(target)) as folder:
            made = os.path.join(folder, os.path.basename(path))
            yield made
            _move(files(made), files(target))
    except PerwizError as error:
        raise type(error)(str(error).replace(made or path, path)) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


@contextlib.contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """Yield a file to write that takes the name `path` at the end, packed if that ends in .gz or .zst. Raises what `replacing` raises."""
    with replacing(path) as made, packed(made) as file:
        yield file


@contextlib.contextmanager
def packed(path: str) -> Iterator[IO[bytes]]:
    """Yield a new file to write, packed if its name ends in .gz or .zst."""
    with open(path, "xb") as file:
        if path.endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as pack:
                yield cast("IO[bytes]", pack)
        elif path.endswith(".zst"):
            with _zstd(file) as pack:
                yield pack
        else:
            yield file


def _zstd(file: IO[bytes]) -> Any:
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(file, closefd=False)


def _move(sources: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Move files to other places of the same file system, the first one last; what is there is replaced, all of it or nothing."""
    if os.path.exists(targets[0]):
        shutil.copymode(targets[0], sources[0])
    if len(targets) == 1 and not os.path.isdir(sources[0]):
        os.replace(sources[0], targets[0])
        return
    with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=os.path.dirname(targets[0])) as aside:
        moved: list[tuple[str, str]] = []
        replaced = [(target, os.path.join(aside, str(number))) for number, target in enumerate(targets) if os.path.lexists(target)]
        try:
            for source, target in (*replaced, *reversed([*zip(sources, targets, strict=True)])):
                os.rename(source, target)
                moved.append((source, target))
        except BaseException:
            for source, target in reversed(moved):
                with contextlib.suppress(OSError):
                    os.rename(target, source)
            raise
