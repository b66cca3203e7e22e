"""Whatever a file holds, reading it gives a trace or one PerwizError: files cut, changed and made up."""

import gzip
import random
import re
import tracemalloc

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import perwiz
from perwiz.errors import PerwizError
from perwiz.trace import operations

HEADS = b"""\
-1 0 0 0 0 0 Me
-3 0 0 2 0 0
-11 0 0 0 0 0
-13 0 1 2 0 0 blue:gray3 MPI_Send
-13 0 3 4 0 0 green:gray MPI_Irecv
-13 0 5 6 0 0 red:gray MPI_Waitall
-13 0 7 8 0 0 red:gray MPI_Bcast
-13 0 9 10 0 0 red:gray work
-30 0 0 1 0 0 perwiz-ext 1
-31 0 2 0 0 0 world 0-1
-31 0 1 4 0 0 self 1
-32 0 0 3 0 0 host=n cpu=1
-33 0 5 6 0 0 MPI_Waitall
-34 0 9 10 0 0 PRGN work
-35 1 0 0 0 5 off=1 drift=2 err=3
-36 0 0 0 0 0 L=5
"""
EVENTS = b"""\
9 0 0 1 0 0 @ i=1
1 0 0 1 0 1 @ c=0 k=y
-101 0 0 1 0 1.5 7 100 @ c=0 m=1 b=100
2 0 0 2 0 4
3 1 0 1 0 2 @ c=0 p=-2 t=-1 q=5,6
4 1 0 1 0 3
5 1 0 1 0 4
-102 1 0 0 0 5 7 100 @ m=1 q=5
6 1 0 1 0 5 @ q=5,6
7 0 0 1 0 6 @ c=0 s=0 r=0 sb=8 o=MPI_INT
8 0 0 1 0 7
7 1 0 1 0 6 @ c=0 s=0 r=0 rb=8
8 1 0 1 0 8
10 0 0 2 0 9
"""
SMALL = HEADS + EVENTS
NUMBERS = ["-1", "0", "1", "4", "2147483647", "2147483648", "-2147483648", "9" * 18, "9" * 19, "-" + "9" * 17, "1e9", "nan", "0.5", "", "-"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def outcome(folder):
    """Yield outcome(data), the checked trace, or None for a file refused in one line."""

    def read(data):
        path = folder / "a.alog"
        path.write_bytes(data)
        try:
            trace = perwiz.read(str(path))
        except PerwizError as error:
            refusals.append(str(error))
            return None
        sound(trace)
        return trace

    refusals: list[str] = []
    yield read
    assert [message for message in refusals if "\n" in message] == []


def sound(trace):
    """Ids are rows of their tables, calls are in order, what is counted adds up."""
    calls, requests, messages = len(trace.calls), trace.requests, trace.messages
    for ids, least, size in (
        *(
            (trace.calls.location, 0, len(trace.locations)),
            (trace.calls.path, -1, len(trace.paths)),
            (trace.calls.op, 0, len(operations.OPS)),
        ),
        *((trace.calls.comm, -1, len(trace.communicators)), (trace.calls.peer, -2, 1 << 31), (trace.calls.root, -1, 1 << 31)),
        *((requests.posted_by, 0, calls), (requests.completed_by, -1, calls), (messages.send, 0, calls), (messages.receive, 0, calls)),
        *((messages.send_done, -1, calls), (messages.receive_done, 0, calls), (messages.comm, -1, len(trace.communicators))),
        *((trace.regions.path, 0, len(trace.paths)), (trace.regions.first_call, 0, calls + 1), (trace.regions.end_call, 0, calls + 1)),
        *((trace.members.call, 0, calls), (trace.members.done, -1, calls), (trace.locations.node, -1, len(trace.nodes))),
        *((trace.labels.call, 0, calls), (trace.labels.text, 0, len(trace.texts)), (trace.paths.region, 0, len(trace.names))),
    ):
        assert ((ids >= least) & (ids < size)).all()
    assert (messages.bytes >= 0).all()
    assert (trace.calls.bytes_sent >= 0).all()
    assert ((requests.completed_by < 0) | (requests.completed_by >= requests.posted_by)).all()
    assert (messages.receive_done >= messages.receive).all()
    assert (trace.regions.parent < np.arange(len(trace.regions))).all()
    for times in (trace.timeline.calls, trace.timeline.regions, trace.timeline.locations):
        assert (times.enter <= times.leave).all()
    counts = trace.counts
    assert counts.sends - counts.unmatched_sends == counts.receives - counts.unmatched_receives == len(messages)


def test_small_file_uses_everything(outcome):
    trace = outcome(SMALL)
    assert (len(trace.messages), len(trace.requests), len(trace.members), len(trace.labels), len(trace.offsets)) == (1, 2, 2, 1, 1)
    assert (len(trace.defects), len(trace.regions), len(trace.communicators), trace.nodes) == (0, 1, 2, ("n",))


@pytest.mark.slow
def test_cut_at_every_byte(outcome):
    for end in range(len(SMALL)):
        outcome(SMALL[:end])


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_cut_at_every_byte(outcome, pack):
    """Never more than there was, and never without a word."""
    packed = pack(SMALL)
    for end in range(len(packed)):
        trace = outcome(packed[:end])
        assert trace is None or len(trace.defects) > 0


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_bytes_flipped(outcome, pack):
    rng, packed = random.Random(1), pack(SMALL)
    for _ in range(400):
        data = bytearray(packed)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        outcome(bytes(data))


@pytest.mark.slow
def test_lines_lost_doubled_and_moved(outcome):
    rng, lines = random.Random(2), SMALL.splitlines(keepends=True)
    for _ in range(400):
        some = list(lines)
        for _ in range(rng.randrange(1, 5)):
            at, to = rng.randrange(len(some)), rng.randrange(len(some))
            some[at : at + rng.choice([0, 1])] = [some[to]] * rng.choice([0, 1, 2])
        outcome(b"".join(some))


@pytest.mark.slow
def test_every_number_replaced(outcome):
    rng = random.Random(3)
    for place in re.finditer(rb"(?<![\w.])-?\d+", SMALL):
        for number in rng.sample(NUMBERS, 4):
            outcome(SMALL[: place.start()] + number.encode() + SMALL[place.end() :])


@pytest.mark.slow
def test_every_word_replaced(outcome):
    rng = random.Random(4)
    words = [b"@", b"q=", b"c=9", b"n=1", b"q=1,,2", b"o=", b"k=\xff", b"m=x", b"=", b"p=99999", b"r=7", b"0-999999999", b"\0", b"\xc3\x28"]
    for place in re.finditer(rb"[^ \n]+", SMALL):
        for word in rng.sample(words, 4):
            outcome(SMALL[: place.start()] + word + SMALL[place.end() :])


@st.composite
def files(draw):
    """Draw lines that are nearly right."""
    integer = st.one_of(st.integers(-4, 12), st.sampled_from([-101, -102, -13, -31, -11, 2**31 - 1, 2**31, 10**15, 70_000]))
    words = st.sampled_from(
        ["7 100", "@ q=1", "@ c=4", "@ m=1 q=2", "world 0-1", "red: MPI_Wait", "@ s=1 r=1", "@ p=0 t=1 q=1,1", "@ n=1", "x"]
    )
    line = st.builds(lambda numbers, word: " ".join([*map(str, numbers), word]), st.lists(integer, min_size=6, max_size=6), words)
    event = st.builds("{} {} 0 {} 0 {} {}".format, st.integers(-102, 10), st.integers(0, 2), st.integers(-1, 2), st.integers(0, 20), words)
    return HEADS.decode() + "\n".join(draw(st.lists(st.one_of(event, event, line), max_size=20)))


@pytest.mark.slow
@settings(max_examples=300)
@given(text=files())
def test_made_up(outcome, text):
    outcome(text.encode("latin-1"))


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.binary(max_size=200))
def test_anything(outcome, data):
    outcome(data)
    outcome(SMALL + data)


BOMBS = {
    "newlines": b"\n" * 400_000,
    "states never closed": b"".join(b"9 0 0 0 0 %d\n" % time for time in range(8_000)),
    "processes": b"".join(b"9 %d 0 0 0 5\n" % process for process in range(8_000)),
    "processes that would share a place in a table": b"".join(b"9 %d %d 0 0 5\n" % (task << 7, task) for task in range(8_000)),
    "ranks": b"".join(b"-31 0 0 %d 0 0 c 0-4194303\n" % number for number in range(5, 105)),
    "one long list": b"6 0 0 0 0 9 @ q=" + b"," * 200_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_memory_is_bounded(folder, pack, name):
    """What reading takes follows the bytes of the file, not the numbers in it."""
    data = HEADS + BOMBS[name] + EVENTS
    (folder / "bomb").write_bytes(pack(data))
    tracemalloc.start()
    try:
        trace = perwiz.read(str(folder / "bomb"))
        assert tracemalloc.get_traced_memory()[1] < 70_000_000 + 20 * len(data)
    finally:
        tracemalloc.stop()
    assert len(trace.messages) <= 1
