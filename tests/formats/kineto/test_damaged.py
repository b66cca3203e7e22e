"""Traces of the PyTorch profiler that are cut off or changed: read as far as they go, or refused in one line."""

import contextlib
import gzip
import json
import random

import pytest

from kinetos import Rank, put, two_ranks
from perwiz.errors import TraceError
from perwiz.formats import files
from soundness import sound


def test_read__cut_off(tmp_path):
    """A file that ends anywhere behind its first event is read as far as it goes, and that is said."""
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "rank1.json"
    text = file.read_text()
    for end in range(text.index("cuda_runtime") + 200, len(text) - 1, 97):
        file.write_text(text[:end])
        trace = files.read(path)
        sound(trace)
        assert trace.faults == (f"{file}: ends in the middle: read as far as it goes",)


def test_read__cut_off_without_numbers(tmp_path):
    """Collectives go by their order: of a rank that is cut off some may be missing in front of those that are there."""
    path = put(tmp_path / "job", *two_ranks(numbers=(None, None)))
    file = tmp_path / "job" / "rank1.json"
    file.write_text(file.read_text()[:-30])
    assert files.read(path).properties["inferred"] == (
        "which 2 parts of collectives belong together: by their order, as no numbers are recorded; "
        "those of rank 1, cut off, likewise: what is missing in front of others shifts them"
    )


def test_read__cut_off_before_it_says_what_times_count_from(tmp_path):
    """The profiler says behind its events from which instant they count, here 2 ** 60 ns: a file without its end counts as the others."""
    path = put(tmp_path / "job", *(Rank(rank).note("ProfilerStep#1", 10 * rank, 50) for rank in range(2)))
    for rank in range(2):
        file = tmp_path / "job" / f"rank{rank}.json"
        told = json.loads(file.read_text())
        told["baseTimeNanoseconds"] = told.pop("baseTimeNanoseconds") + (1 << 60)
        text = json.dumps(told)
        file.write_text(text[: text.index("baseTime") - 3] if rank else text)
    trace = files.read(path)
    assert trace.timeline.regions.enter.tolist() == [0, 10_000]
    assert trace.faults == (f"{file}: ends in the middle: read as far as it goes",)


def test_read__packing_cut_off(tmp_path):
    rank = Rank(0, 1)
    for k in range(3000):
        rank.op(f"op{k}", 10 * k, 5 + k % 3)
    packed = gzip.compress(rank.text().encode())
    file = tmp_path / "rank0.json.gz"
    file.write_bytes(packed[: len(packed) // 2])
    trace = files.read(str(file))
    assert 0 < len(trace.regions) < 3000
    assert trace.faults == (f"{file}: cut off in the middle of its packing: read as far as it goes",)


@pytest.mark.parametrize("seed", range(4))
def test_read__mutated(tmp_path, seed):
    """Bytes changed, left out and repeated: a sound trace, or an error of perwiz's own."""
    draw = random.Random(seed)
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "rank1.json"
    text = file.read_bytes()
    for _ in range(25):
        data = bytearray(text)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            what = draw.choice([bytes([draw.randrange(256)]), b"", data[at : at + 40] * 2, b"9" * draw.randint(1, 25), b"]", b'"', b"-"])
            data[at : at + draw.randint(0, 3)] = what
        file.write_bytes(data)
        with contextlib.suppress(TraceError):
            sound(files.read(path))
