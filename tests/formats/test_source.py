"""Small files read whole, and what is said of those that are not small."""

import gzip

import pytest

from perwiz.errors import TraceError
from perwiz.formats import source
from perwiz.formats.source import content


def test_content(tmp_path):
    path = tmp_path / "p.xml"
    path.write_bytes(b"12345")
    assert content(str(path), 5, "a platform") == b"12345"
    with pytest.raises(TraceError) as raised:
        content(str(path), 4, "a platform")
    assert str(raised.value) == f"{path}: more than 4 bytes, must be a platform of less"
    with pytest.raises(TraceError) as raised:
        content(str(tmp_path), 4, "a platform")
    assert str(raised.value) == f"{tmp_path}: is a directory, must be a platform"


def test_content__packed_more_than_memory_holds(tmp_path, monkeypatch):
    """Stops at a quarter of the memory there is, and at 64 MiB at least."""
    path = tmp_path / "p.xml"
    path.write_bytes(gzip.compress(bytes(9 << 20), 1))
    monkeypatch.setattr(source, "_SMALL", 1 << 20)
    monkeypatch.setattr(source.allowed, "memory", lambda: 32 << 20)
    with pytest.raises(TraceError) as raised:
        content(str(path), 1 << 30, "a platform")
    must = "must be a platform that takes at most a quarter of the memory that may be used"
    assert str(raised.value) == f"{path}: unpacks to more than 8 MiB, {must}"
    for memory in (36 << 20, None):
        monkeypatch.setattr(source.allowed, "memory", lambda memory=memory: memory)
        assert len(content(str(path), 1 << 30, "a platform")) == 9 << 20
