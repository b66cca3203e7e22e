"""Bytes of a trace file, whatever it is packed in: `.gz` and `.zst` are told by content, `-` is standard input."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

from perwiz.errors import TraceError

CHUNK = 1 << 21
"""Bytes read at a time."""
LONGEST_LINE = 1 << 24
"""A line longer than this is no text."""
_KINDS = (
    (b"\x89PNG", "a PNG image"),
    (b"\x7fELF", "a program"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF document"),
    (b"CLOG-", "a CLOG2 file"),
    (b"SLOG", "a SLOG file"),
)


def describe(head: bytes) -> str:
    """Return in a few words what a file that begins with `head` is."""
    for magic, words in _KINDS:
        if head.startswith(magic):
            return words
    if b"\0" in head:
        return "binary data"
    line = head.split(b"\n", 1)[0][:40].decode("latin-1")
    return f"'{line}'" if line.isprintable() else "unprintable text"


class Source:
    """A trace file that can be read several times, in chunks of whole lines; standard input is kept in a temporary file for that.

    Raises TraceError when there is no such file, it is a directory or empty, or its packing is damaged.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.cut_off = False
        """Whether the packed data ended or broke before its end; what came before was delivered."""
        self._spool: IO[bytes] | None = None
        if path == "-":
            self._spool = _spooled(sys.stdin.buffer)
        elif os.path.isdir(path):
            raise TraceError(f"{path}: a directory, must be a trace file")

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()

    @contextlib.contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self._spool is not None:
            self._spool.seek(0)
            yield self._spool
            return
        try:
            file = open(self.path, "rb")  # noqa: SIM115 closed by the caller's with
        except OSError as error:
            raise TraceError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None
        with file:
            yield file

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Return the unpacked bytes from the beginning, as a context manager."""
        with self._raw() as file:
            magic = file.read(4)
            file.seek(0)
            if magic[:2] == b"\x1f\x8b":
                with gzip.open(file) as unpacked:
                    yield cast("IO[bytes]", unpacked)
            elif magic == b"\x28\xb5\x2f\xfd":
                with _zstd(file) as unpacked:
                    yield unpacked
            else:
                yield file

    def head(self) -> bytes:
        """Return the first 4 KiB, unpacked. Raises TraceError for an empty file."""
        with self.open() as file:
            data = self._read(file, 4096)
        if not data:
            raise TraceError(f"{self.path}: an empty file, must be a trace")
        return data

    def chunks(self) -> Iterator[bytes]:
        """Yield the file in pieces of whole lines; only the last may lack its newline."""
        rest = b""
        with self.open() as file:
            while data := self._read(file, CHUNK, started=True):
                cut = data.rfind(b"\n") + 1
                if cut:
                    yield rest + data[:cut]
                    rest = data[cut:]
                else:
                    rest += data
                if len(rest) > LONGEST_LINE:
                    raise TraceError(f"{self.path}: a line of more than {LONGEST_LINE} bytes, must be text")
        if rest:
            yield rest

    def _read(self, file: IO[bytes], size: int, started: bool = False) -> bytes:
        try:
            return file.read(size)
        except (OSError, EOFError, zlib.error, *_zstd_errors()) as error:
            if started:
                self.cut_off = True
                return b""
            raise TraceError(f"{self.path}: packed data is damaged or cut off ({error})") from None


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    spool = tempfile.TemporaryFile()  # noqa: SIM115 closed by Source
    while data := stream.read(CHUNK):
        spool.write(data)
    return spool


def _zstd(file: IO[bytes]) -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)


def _zstd_errors() -> tuple[type[Exception], ...]:
    module = sys.modules.get("zstandard")
    return (module.ZstdError,) if module else ()
