"""Chakra execution traces that are cut off or changed: read as far as they go, or refused in one line."""

import contextlib
import random

import pytest

from chakras import put, two_ranks
from naive_chakra import message
from perwiz.errors import TraceError
from perwiz.formats import files
from perwiz.whatif.timed import timed
from soundness import sound


def test_read__cut_off(tmp_path):
    """A file that ends anywhere is read as far as it goes, and that is said."""
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "job.1.et"
    data = file.read_bytes()
    whole = [len(data[: data.index(name.encode())]) for name in ("launch", "gemm")]
    for end in (*whole, len(data) - 1):
        file.write_bytes(data[:end])
        trace = files.read(path)
        sound(trace)
        assert trace.faults == (f"{file}: ends in the middle: read as far as it goes",)


def test_read__node_that_is_none(tmp_path):
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "job.0.et"
    file.write_bytes(file.read_bytes() + message(b"\x0b") + message(b"\x12\x7f"))
    trace = files.read(path)
    sound(trace)
    assert trace.faults == (f"{file}: 2 nodes that cannot be read: left out",)


@pytest.mark.parametrize("seed", range(2))
def test_read__mutated(tmp_path, seed):
    """Bytes changed, left out and repeated: a sound trace that has times, or an error of perwiz's own."""
    draw = random.Random(seed)
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "job.1.et"
    data = file.read_bytes()
    for _ in range(20):
        changed = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(data))
            changed[at : at + draw.randint(0, 3)] = draw.choice([bytes([draw.randrange(256)]), b"", data[at : at + 30] * 2, b"\xff" * 9])
        file.write_bytes(changed)
        with contextlib.suppress(TraceError):
            trace = files.read(path)
            sound(trace)
            timed(trace)
