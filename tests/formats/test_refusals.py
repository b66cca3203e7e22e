"""What reading a trace refuses, each with its full message; and that nothing else comes out of it."""

import gzip
import io
import os
import pathlib
import re
import sys
import threading

import pytest
import zstandard

import perwiz
from perwiz.errors import UNREADABLE, PerwizError, TraceError
from perwiz.formats import source
from perwiz.formats.alog import headers as alog_headers
from perwiz.formats.format import readable

SRTEST = (pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog").read_bytes()
EVENT = b"1 0 0 0 0 0\n"
MUST = f"must be {readable()}"


@pytest.fixture
def refused(tmp_path):
    """Return refused(content), the message about a file, its folder left out."""

    def read(data, name="a.alog"):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(TraceError) as info:
            perwiz.read(str(path))
        assert info.value.exit_code == UNREADABLE
        return str(info.value).replace(f"{tmp_path}/", "")

    return read


class Stdin:
    """Standard input with these bytes."""

    def __init__(self, data):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file, must be a trace"),
        (b"\n\n", f"'', {MUST}"),
        (b"hello\r\nworld\n", f"'hello', {MUST}"),
        (b"1 2 3 4 5\n", f"'1 2 3 4 5', {MUST}"),
        (b"x" * 10_000, f"'{'x' * 40}', {MUST}"),
        (b"\x1b[31mred\n", f"unprintable text, {MUST}"),
        (b"\x00\x01\x02", f"binary data, {MUST}"),
        (b"\x89PNG\r\n\x1a\n", f"a PNG image, {MUST}"),
        (b"\x7fELF\x02", f"a program, {MUST}"),
        (b"%PDF-1.5\n", f"a PDF document, {MUST}"),
        (gzip.compress(b"hello", mtime=0), f"'hello', {MUST}"),
        (gzip.compress(b"", mtime=0), "an empty file, must be a trace"),
        (zstandard.compress(b""), "an empty file, must be a trace"),
        (b"-1 0 0 0 0 0 Me\n-13 0 1 2 0 0 red: work\n", "no event record, must have at least one"),
        (b"-11 0 0 0 0 4294967295\n1 0 0 0 2147483647 0\n", "no event record, must have at least one"),
        (b"\x1f\x8b", "packed data is damaged or cut off (Compressed file ended before the end-of-stream marker was reached)"),
        (
            gzip.compress(SRTEST, mtime=0)[:12],
            "packed data is damaged or cut off (Compressed file ended before the end-of-stream marker was reached)",
        ),
        (
            zstandard.compress(SRTEST)[:12],
            "packed data is damaged or cut off (Compressed file ended before the end-of-stream marker was reached)",
        ),
        (b"\x1f\x8b\x07" + b"\0" * 20, "packed data is damaged or cut off (Unknown compression method)"),
    ],
)
def test_content(refused, content, what):
    assert refused(content) == f"a.alog: {what}"


def test_zstd_damaged(refused):
    packed = bytearray(zstandard.compress(SRTEST))
    packed[4] |= 0x08
    assert refused(bytes(packed)).startswith("a.alog: packed data is damaged or cut off (zstd decompress")


def test_long_line(refused):
    message = "a.alog: a line of more than 1048576 bytes, must be text"
    assert refused(SRTEST + b"x" * 3_000_000) == message
    assert refused(gzip.compress(SRTEST + b"x" * 10_000_000 + b"\n")) == message
    assert refused(zstandard.compress(SRTEST + b"x" * 10_000_000 + b"\n")) == message


def test_too_many_definitions(refused, monkeypatch):
    monkeypatch.setattr(alog_headers, "MOST_RECORDS", 5)
    assert refused(b"-36 0 0 0 0 0 a=b\n" * 6 + EVENT) == "a.alog: more than 5 definitions, must be fewer"
    assert refused(EVENT + b"-36 0 0 0 0 0 a=b\n" * 6) == "a.alog: more than 5 definitions, must be fewer"


def test_missing(refused):
    assert refused(None) == "a.alog: no such file or directory"
    assert refused(None, "a\nb") == "a\nb: no such file or directory"
    assert refused(None, "x" * 300) == f"{'x' * 300}: file name too long"


def test_no_file_name():
    for path, what in (("a\0b", r"'a\x00b': embedded null byte"), ("", ": no such file or directory")):
        with pytest.raises(TraceError) as info:
            perwiz.read(path)
        assert str(info.value).replace("stat: ", "").replace("null character in path", "null byte") == what


def test_directory(tmp_path):
    with pytest.raises(TraceError) as info:
        perwiz.read(str(tmp_path))
    must = "must be a trace file, or hold an OTF2 archive, a recorded run, a DUMPI trace or a time-independent trace"
    assert str(info.value) == f"{tmp_path}: a directory, {must}"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_device(path):
    with pytest.raises(TraceError) as info:
        perwiz.read(path)
    assert str(info.value) == f"{path}: a device, must be a trace file"


def test_unreadable(refused, monkeypatch):
    """As if the permissions forbade it: who runs the tests as root may read everything."""

    def forbidden(path, *_):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(source, "open", forbidden, raising=False)
    assert refused(SRTEST) == "a.alog: permission denied"


def test_gone_while_reading(tmp_path):
    (tmp_path / "a.alog").write_bytes(SRTEST)
    with source.Source(str(tmp_path / "a.alog")) as file:
        (tmp_path / "a.alog").unlink()
        with pytest.raises(TraceError) as info:
            file.head()
    assert str(info.value) == f"{tmp_path}/a.alog: no such file or directory"


def test_no_room_for_a_pipe(monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdin", Stdin(SRTEST))
    monkeypatch.setattr(source.tempfile, "TemporaryFile", full)
    with pytest.raises(TraceError) as info:
        perwiz.read("-")
    assert str(info.value) == "-: no space left on device"


def test_standard_input_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TraceError) as info:
        perwiz.read("-")
    assert str(info.value) == "-: standard input is closed, must be a trace"


@pytest.mark.parametrize("data", [b"", b"hello\n"])
def test_standard_input_refused(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    with pytest.raises(TraceError) as info:
        perwiz.read("-")
    what = f"'hello', {MUST}" if data else "an empty file, must be a trace"
    assert str(info.value) == f"-: {what}"


def test_endless_input_that_is_no_trace(monkeypatch):
    """Only its beginning is read."""

    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size=-1):
            assert size > 0
            self.taken += size
            return b"y\n" * (size // 2)

    stdin = Stdin(b"")
    stdin.buffer = Endless()
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(TraceError, match=f"^-: 'y', {re.escape(MUST)}$"):
        perwiz.read("-")
    assert stdin.buffer.taken == 2 * source.CHUNK


@pytest.mark.parametrize("data", [SRTEST, gzip.compress(SRTEST, mtime=0), SRTEST.replace(b"-11 ", b"-12 ") + b"-11 0 0 0 0 0\n"])
def test_standard_input(monkeypatch, data):
    """Read twice where definitions come last."""
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    assert len(perwiz.read("-").messages) == 15
    assert not sys.stdin.buffer.closed


@pytest.mark.slow
def test_standard_input_of_several_pieces(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(SRTEST + (b"#" * 100_000 + b"\n") * 25 + b"11 0 0 1 0 500000\n12 0 0 1 0 500000\n"))
    assert perwiz.read("-").counts.records == 104


def test_named_pipe(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    feeder = threading.Thread(target=pathlib.Path(path).write_bytes, args=(SRTEST + b"-11 0 0 0 0 0\n",), daemon=True)
    feeder.start()
    assert len(perwiz.read(path).messages) == 15
    feeder.join()


def test_all_are_one_family():
    assert issubclass(TraceError, PerwizError)
