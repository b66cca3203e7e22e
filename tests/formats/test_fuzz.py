"""Whatever a file holds, reading it gives what it is for or one PerwizError: files cut, changed and made up."""

import gzip
import json
import pathlib
import random
import re
import shutil
import tracemalloc

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import cubes
import perwiz
from counters import NOW, OURS, T3E, job
from perwiz.errors import PerwizError
from perwiz.formats.cube.read import read as read_cube
from perwiz.jobs.record import Record, to_json
from perwiz.jobs.store import stream
from perwiz.jobs.store.stream import Fault
from perwiz.loggps import model_file
from recorded_runs import ANY_SOURCE, DONE, MANY, POSTS, RECEIVES, SENDS, Run, call, part
from soundness import sound

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


def test_small_file_uses_everything(outcome):
    trace = outcome(SMALL)
    assert (len(trace.messages), len(trace.requests), len(trace.members), len(trace.labels), len(trace.offsets)) == (1, 2, 2, 1, 1)
    assert (len(trace.defects), len(trace.regions), len(trace.communicators), trace.nodes) == (0, 1, 2, ("n",))


@pytest.mark.slow
def test_cut_at_every_third_byte(outcome):
    for end in range(0, len(SMALL), 3):
        outcome(SMALL[:end])


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_cut_at_every_third_byte(outcome, pack):
    """Never more than there was, and never without a word."""
    packed = pack(SMALL)
    for end in range(0, len(packed), 3):
        trace = outcome(packed[:end])
        assert trace is None or len(trace.defects) > 0


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_bytes_flipped(outcome, pack):
    rng, packed = random.Random(1), pack(SMALL)
    for _ in range(150 if pack is bytes else 50):  # most of those packed are refused for their checksum
        data = bytearray(packed)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        outcome(bytes(data))


@pytest.mark.slow
def test_lines_lost_doubled_and_moved(outcome):
    rng, lines = random.Random(2), SMALL.splitlines(keepends=True)
    for _ in range(100):
        some = list(lines)
        for _ in range(rng.randrange(1, 5)):
            at, to = rng.randrange(len(some)), rng.randrange(len(some))
            some[at : at + rng.choice([0, 1])] = [some[to]] * rng.choice([0, 1, 2])
        outcome(b"".join(some))


@pytest.mark.slow
def test_every_number_replaced(outcome):
    rng = random.Random(3)
    for place in re.finditer(rb"(?<![\w.])-?\d+", SMALL):
        for number in rng.sample(NUMBERS, 1):
            outcome(SMALL[: place.start()] + number.encode() + SMALL[place.end() :])


@pytest.mark.slow
def test_every_word_replaced(outcome):
    rng = random.Random(4)
    words = [b"@", b"q=", b"c=9", b"n=1", b"q=1,,2", b"o=", b"k=\xff", b"m=x", b"=", b"p=99999", b"r=7", b"0-999999999", b"\0", b"\xc3\x28"]
    for place in re.finditer(rb"[^ \n]+", SMALL):
        for word in rng.sample(words, 1):
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
@settings(max_examples=100)
@given(text=files())
def test_made_up(outcome, text):
    outcome(text.encode("latin-1"))


@pytest.mark.slow
@settings(max_examples=100)
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


EXTREMES = [-1, 0, 1, 2**24, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)]
VALUES = [*EXTREMES, None, True, 1.5, float("nan"), float("inf"), "", "x", "\x1b[31m", "\udcff", [], [1], [None], {}, {"a": 1}]
WORDS = [b"-1", b"4294967296", b"9" * 30, b"1e308", b"nan", b"inf", b"", b"\xff", b"\0", b'"', b"<", b"x" * 300]


def flipped(rng, data):
    """Return bytes with a few bits turned, a piece lost or doubled, a number put in, or their end cut off."""
    out = bytearray(data)
    at, kind = rng.randrange(len(out)), rng.randrange(6)
    if kind < 2:
        for _ in range(rng.choice([1, 3])):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        out[at : at + 8] = (rng.choice(EXTREMES) % 2**64).to_bytes(8, "little")
    elif kind == 3:
        out[at : at + rng.choice([1, 8])] = b""
    elif kind == 4:
        out[at:at] = out[rng.randrange(len(out)) :][:16]
    else:
        del out[at:]
    return bytes(out)


def reworded(rng, text):
    """Return a text with a number or word replaced, or a line lost, doubled or moved."""
    if rng.random() < 0.6:
        place = rng.choice(list(re.finditer(rb"-?[\d.]+|[^ \n,=\"<>]+", text)))
        return text[: place.start()] + rng.choice(WORDS) + text[place.end() :]
    lines = text.splitlines(keepends=True)
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[at : at + rng.choice([0, 1])] = [lines[to]] * rng.choice([0, 1, 2])
    return b"".join(lines)


def spots(value, at=()):
    """Yield the places in a JSON value, as keys."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from spots(value[key], (*at, key))


def retyped(rng, text):
    """Return lines of JSON of which one value is of another type, or lost."""
    lines = text.decode().splitlines()
    line = rng.randrange(len(lines))
    value = json.loads(lines[line])
    *above, key = rng.choice([at for at in spots(value) if at])
    inner = value
    for step in above:
        inner = inner[step]
    if rng.random() < 0.2:
        del inner[key]
    else:
        inner[key] = rng.choice(VALUES)
    lines[line] = json.dumps(value)
    return "".join(f"{line}\n" for line in lines).encode()


def refusal(error):
    assert "\n" not in str(error)


@pytest.fixture
def whole(tmp_path):
    """Return the directory of a run of two processes that has everything."""
    run = Run(tmp_path / "whole", 2)
    cart = {"comm": 1, "parent": 0, "nth": 0, "how": "Cart_create", "ranks": [0, 1, 2], "sizes": [2], "periodic": [0]}
    inter = {"comm": 2, "parent": 0, "nth": 1, "how": "Intercomm_create"}
    module = {"module": "/bin/app", "build_id": "b", "begin": 1000, "end": 2000, "bias": 1000}
    for rank in (0, 1):
        row = {"peer": 1 - rank, "tag": 5, "comm": 1, "site": 1200}
        calls = [
            call("begin", 1001, 1001, peer=0),
            call("MPI_Irecv", 1010, 1011, request=0, bits=RECEIVES | POSTS | ANY_SOURCE, **row),
            call("MPI_Isend", 1012, 1013, request=1, sent=8, bits=SENDS | POSTS, **row),
            call("MPI_Test", 1014, 1015, request=0),
            call("MPI_Waitall", 1020, 1030, bits=MANY, received=8),
            call("MPI_Bcast", 1040, 1050, comm=0),
            call("flush", 1060, 1061),
            call("end", 1070, 1070),
        ]
        parts = [part(4, 0, peer=1 - rank, tag=5, bytes=8, comm=1, bits=DONE | RECEIVES), part(4, 1, comm=1, bits=DONE | SENDS)]
        more = [cart | {"place": [rank]}, inter | {"ranks": [rank, 1, 1], "remote": [1 - rank, 1, 1]}, module]
        more += [{"named": 1, "name": "grid"}, {"region": 0, "parallel": True, "name": "step"}]
        more += [{"offset": 3, "time": 1500, "round_trip": 9, "master": 0, "when": "init"}] if rank else []
        run.process(rank, calls, parts, more, clock=f"c{rank}", metahost=rank, metahost_name=f"m{rank}")
    places = [{"module": "/bin/app", "build_id": "b", "places": {"200": "app.c:7 solve"}}]
    (run.path / "sites.json").write_text(json.dumps(places), encoding="utf-8")
    trace = perwiz.read(str(run.path))
    assert (len(trace.messages), len(trace.collectives), len(trace.topologies), len(trace.readings), trace.sites) == (
        2,
        1,
        1,
        2,
        ("app.c:7 solve",),
    )
    assert (len(trace.regions), len(trace.records), trace.faults, len(trace.defects)) == (2, 2, (), 0)
    return run.path


@pytest.mark.slow
def test_recorded_runs(whole):
    rng, files, read = random.Random(5), sorted(whole.iterdir()), 0
    for _ in range(150):
        file = rng.choice(files)
        data = file.read_bytes()
        change = rng.choice([retyped, retyped, retyped, reworded, flipped]) if file.suffix in (".json", ".jsonl") else flipped
        file.write_bytes(change(rng, data))
        try:
            sound(perwiz.read(str(whole)))
            read += 1
        except PerwizError as error:
            refusal(error)
        file.write_bytes(data)
    assert read > 25


@pytest.mark.slow
def test_cubes(tmp_path):
    rng, read, files = random.Random(6), 0, cubes.solver(**{"anchor.xml": cubes.SOLVER.encode()})
    for _ in range(300):
        some = dict(files)
        name = rng.choice(["anchor.xml", *sorted(some)])
        some[name] = (reworded if name == "anchor.xml" else flipped)(rng, some[name])
        data = cubes.archive(some)
        (tmp_path / "t.cubex").write_bytes(flipped(rng, data) if rng.random() < 0.3 else data)
        try:
            read += len(read_cube(str(tmp_path / "t.cubex")).metrics) > 0
        except PerwizError as error:
            refusal(error)
    assert read > 30


@pytest.mark.slow
def test_models(tmp_path):
    rng, read = random.Random(7), 0
    text = (pathlib.Path(__file__).resolve().parents[2] / "models" / "viola-fzj.toml").read_bytes()
    text += b'[[classes]]\npairs = "between-nodes"\nL_ns = 5e4\nS_bytes = 16384\n[[classes]]\nfrom_bytes = 1024\ng_ns = 5.0\n'
    for _ in range(400):
        (tmp_path / "m.toml").write_bytes(rng.choice([reworded, flipped])(rng, text))
        try:
            read += model_file.load(str(tmp_path / "m.toml")).name != ""
        except PerwizError as error:
            refusal(error)
    assert read > 30


@pytest.mark.slow
def test_records_of_jobs(tmp_path):
    rng, found = random.Random(8), []
    forms = [(OURS.encode(), reworded), (T3E.encode(), reworded), (f"{to_json(job(1))}\n{to_json(job(2))}\n".encode(), retyped)]
    for k in range(600):
        text, change = rng.choice([*forms, (gzip.compress(OURS.encode()), flipped)])
        (tmp_path / "records").write_bytes(change(rng, text))
        try:
            found += stream.read(str(tmp_path / "records"), NOW + k)
        except PerwizError as error:
            refusal(error)
    assert {type(one) for one in found} == {Record, Fault}
    assert all(json.loads(to_json(one)) for one in found if isinstance(one, Record))


WORDS = (*b"-1 0 -333 -444 -555 1e9 1e30 nan inf 99999999999999999999 x \xff waitall wait test bcast gatherv isend location".split(), b"")
"""What words of time-independent traces are replaced with."""


def resaid(rng, data):
    """Return lines of actions, one of them cut, doubled elsewhere, or with another word."""
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    words, what = lines[k].split(b" "), rng.randrange(3)
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    if what == 0:
        lines[k] = b" ".join(words)
    elif what == 1:
        lines[k] = lines[k][: rng.randrange(len(lines[k]) + 1)]
    else:
        lines.insert(rng.randrange(len(lines)), lines[k])
    return b"\n".join(lines)


@pytest.mark.slow
def test_time_independent(tmp_path):
    rng, read = random.Random(9), 0
    sample = pathlib.Path(__file__).resolve().parents[2] / "traces" / "ring-ti"
    for path in sample.iterdir():
        shutil.copy(path, tmp_path)
    for _ in range(200):
        file = rng.choice(sorted(tmp_path.iterdir()))
        data = file.read_bytes()
        file.write_bytes(rng.choice([resaid, resaid, flipped, reworded])(rng, data))
        try:
            sound(perwiz.read(str(tmp_path / "trace"), whole=True))
            read += 1
        except PerwizError as error:
            refusal(error)
        file.write_bytes(data)
    assert read > 40
