"""Bytes of a trace file, whatever it is packed in: `.gz` and `.zst` are told by content, `-` is standard input."""

from __future__ import annotations

import contextlib
import gzip
import mmap
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TypeVar

from perwiz import allowed
from perwiz.errors import TraceError
from perwiz.formats.foreign import inside
from perwiz.trace.resources import map_threads, thread_count

CHUNK = 1 << 20
"""Bytes read at a time."""
_READ = 1 << 24
"""Bytes that a thread reads at a time, of a file that several read."""
LONGEST_LINE = 1 << 20
"""A line longer than this is no text."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SHARE, _SMALL = 4, 1 << 26
"""Of so many bytes of memory that may be used packed data may fill one, as it is copied and makes tables; and what it always may."""
_Content = TypeVar("_Content")
_ZSTD_BITE = 1 << 10
"""Packed bytes unpacked at a time: of the most repetitive data they make 32 MiB."""


class Source:
    """A trace file that can be read several times, in chunks of whole lines; a pipe is kept in a temporary file for that.

    Raises TraceError when there is no such file, it is a directory, a device or empty, or its packing is damaged.
    """

    def __init__(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        """`progress`, if given, is told after every piece how many bytes of how many were read, 0 for unknown."""
        self.path = path
        self._progress = progress or (lambda done, total: None)
        self.cut_off = False
        """Whether the packed data ended or broke before its end; the whole lines before that were delivered."""
        self.part = 0.0
        """Which part of the file was delivered, as it is packed."""
        self._pipe: IO[bytes] | None = self._opened()
        self._spool: IO[bytes] | None = None
        if self._pipe:
            with self._failing():
                self._spool = tempfile.TemporaryFile()  # noqa: SIM115 closed by __exit__
            self._take(2 * CHUNK)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._spool, self._pipe):
            if file and file is not getattr(sys.stdin, "buffer", None):
                file.close()

    def _opened(self) -> IO[bytes] | None:
        """Return the stream to keep, or None for a file that can be read again."""
        if self.path == "-":
            if sys.stdin is None:
                raise TraceError("-: standard input is closed, must be a trace")
            return sys.stdin.buffer
        with self._failing():
            mode = os.stat(self.path).st_mode
        if stat.S_ISDIR(mode):
            raise TraceError(f"{self.path}: a directory, {inside(self.path)}")
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise TraceError(f"{self.path}: a device, must be a trace file")
        with self._failing():
            file = open(self.path, "rb")  # noqa: SIM115 closed by __exit__
        if stat.S_ISFIFO(mode):
            return file
        file.close()
        return None

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TraceError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None
        except ValueError as error:
            raise TraceError(f"{self.path!r}: {error}") from None

    def _take(self, most: int) -> None:
        """Move so many bytes from the pipe to the spool, or all there are."""
        assert self._pipe
        assert self._spool
        with self._failing():
            self._spool.seek(0, os.SEEK_END)
            while most > 0 and (data := self._pipe.read(min(most, CHUNK))):
                self._spool.write(data)
                most -= len(data)
                self._progress(self._spool.tell(), 0)

    @contextlib.contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self._spool:
            self._spool.seek(0)
            yield self._spool
            return
        with self._failing():
            file = open(self.path, "rb")  # noqa: SIM115 closed below
        with file:
            yield file

    def pieces(self) -> Iterator[bytes]:
        """Yield the unpacked bytes. Raises TraceError where the packing is damaged from the start; later that sets `cut_off`."""
        begun = False
        with self._raw() as file:
            try:
                size = os.fstat(file.fileno()).st_size
                magic = file.read(4)
                file.seek(0)
                for piece in _unpacked(file, magic):
                    begun = True
                    done = file.tell()
                    self.part = min(done / size, 1.0) if size else 1.0
                    self._progress(done, size)
                    yield piece
            except _errors() as error:
                if not begun:
                    raise TraceError(f"{self.path}: packed data is damaged or cut off ({str(error).rstrip('.')})") from None
                self.cut_off = True

    def head(self) -> bytes:
        """Return the first 4 KiB, unpacked. Raises TraceError for an empty file."""
        data = b""
        for piece in self.pieces():
            data += piece[:4096]
            if len(data) >= 4096:
                break
        if not data:
            raise TraceError(f"{self.path}: an empty file, must be a trace")
        return data[:4096]

    def chunks(self) -> Iterator[bytes]:
        """Yield the file in pieces of whole lines; only the last may lack its newline."""
        if self._pipe:
            self._take(sys.maxsize)
        self.cut_off = False
        parts: list[bytes] = []
        size = 0
        for piece in self.pieces():
            parts.append(piece)
            size += len(piece)
            if size < CHUNK:
                continue
            if b"\n" not in piece:
                piece = b"".join(parts)
                parts = [piece]
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*parts[:-1], memoryview(piece)[:cut]))
            parts, size = [piece[cut:]], len(piece) - cut
            if size > LONGEST_LINE:
                raise TraceError(f"{self.path}: a line of more than {LONGEST_LINE} bytes, must be text")
        data = b"".join(parts)
        if self.cut_off:
            data = data[: data.rfind(b"\n") + 1]
        if data:
            yield data


def content(path: str, most: int, what: str) -> bytes:
    """Return the bytes of a file, unpacked, which is to be `what`, in words.

    Raises TraceError if it cannot be read, its packing is damaged, it has more than `most` bytes, or unpacks to much of the memory.
    """
    return bytes(_content(path, most, what, lambda file, size: file.read()))


def padded(path: str, most: int, what: str, pad: bytes) -> mmap.mmap:
    """Return the same with some bytes behind it, which is not copied for that; a file that is not packed is read by several threads."""

    def filled(file: IO[bytes], size: int) -> mmap.mmap:
        out = _room(size + len(pad))
        room, reads = memoryview(out), range(0, size, _READ)

        def read(begin: int) -> int:
            return os.preadv(file.fileno(), [room[begin : min(begin + _READ, size)]], begin)

        there = sum(map_threads(read, reads, thread_count(size)))
        if there < size:
            raise OSError("became shorter while it was read")
        out[size:] = pad
        return out

    found = _content(path, most, what, filled)
    if isinstance(found, mmap.mmap):
        return found
    out = _room(len(found) + len(pad))
    out[:] = found + pad
    return out


def _room(size: int) -> mmap.mmap:
    """Return memory, in large pages if the system has them: each is made ready when it is first written to."""
    out = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a system that has none
            out.madvise(mmap.MADV_HUGEPAGE)
    return out


def _content(path: str, most: int, what: str, read: Callable[[IO[bytes], int], _Content]) -> bytearray | _Content:
    """Return the same: what `read` makes of a file that is not packed, given its size."""
    try:
        file = open(path, "rb")  # noqa: SIM115 closed below
    except OSError as error:
        raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}, must be {what}") from None
    out = bytearray()
    try:
        with file:
            magic = file.read(4)
            file.seek(0)
            about = os.fstat(file.fileno())
            if stat.S_ISREG(about.st_mode) and about.st_size <= most and not magic.startswith((_GZIP, _ZSTD)):
                return read(file, about.st_size)
            free = allowed.memory()
            room = most if free is None else max(free // _SHARE, _SMALL)
            for piece in _unpacked(file, magic):
                out += piece
                if len(out) > most:
                    raise TraceError(f"{path}: more than {most} bytes, must be {what} of less")
                if len(out) > room:
                    must = f"must be {what} that takes at most a quarter of the memory that may be used"
                    raise TraceError(f"{path}: unpacks to more than {room >> 20} MiB, {must}")
    except _errors():
        raise TraceError(f"{path}: packed data is damaged or cut off, must be whole") from None
    return out


def _unpacked(file: IO[bytes], magic: bytes) -> Iterator[bytes]:
    if magic.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as unpacked:
            while data := unpacked.read1(CHUNK):
                yield data
    elif magic == _ZSTD:
        yield from _unzstd(file)
    else:
        while data := file.read(CHUNK):
            yield data


def _unzstd(file: IO[bytes]) -> Iterator[bytes]:
    import zstandard

    unpack = zstandard.ZstdDecompressor()
    frame, begun = unpack.decompressobj(), False
    while data := file.read(_ZSTD_BITE):
        while data:
            begun = True
            if piece := frame.decompress(data):
                yield piece
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame, begun = unpack.decompressobj(), False
    if begun:
        raise EOFError("Compressed file ended before the end-of-stream marker was reached")


def _errors() -> tuple[type[Exception], ...]:
    """Return what reading damaged data raises."""
    module = sys.modules.get("zstandard")
    return (OSError, EOFError, zlib.error, *((module.ZstdError,) if module else ()))


def head_of(path: str) -> bytes:
    """Return the first bytes of a file, unpacked; none of what is no file or cannot be read."""
    try:
        if not os.path.isfile(path):
            return b""
        with Source(path) as source:
            return source.head()
    except (OSError, ValueError, TraceError):
        return b""


MOST_FILES = 1 << 14
"""Files of a directory that are looked at."""


def names_in(folder: str, most: int) -> list[str]:
    """Return the names of what is in a directory, sorted, at most so many; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))[:most]
    except OSError:
        return []


def files_in(folder: str, most: int) -> list[str]:
    """Return the files among them."""
    return [file for name in names_in(folder, most) if os.path.isfile(file := os.path.join(folder, name))]


def files_of(path: str, named: Callable[[str], object], is_trace: Callable[[str], bool]) -> list[str]:
    """Return the files that a name stands for, none if there are none: itself, several joined by colons, or those of a directory.

    Of a directory only files that are `named` so are opened, to see whether each `is_trace`.
    """
    if os.path.isdir(path):
        return [file for file in (os.path.join(path, name) for name in names_in(path, MOST_FILES) if named(name)) if is_trace(file)]
    for files in ([path], path.split(os.pathsep)):
        if all(map(is_trace, files)):
            return files
    return []
