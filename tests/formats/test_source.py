"""Small files read whole, and what is said of those that are not small."""

import pytest

from perwiz.errors import TraceError
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
