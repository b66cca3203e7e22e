"""Schedules in GOAL: what the calls of a rank are, text and binary, and what is refused. Times are those of LogGOPSim 76451de."""

import gzip
import random

import numpy as np
import pytest
from hypothesis import given, settings

import build
import goals
from perwiz.errors import PerwizError, TraceError
from perwiz.formats import files
from perwiz.formats.goal import binary, calls
from perwiz.formats.goal import text as goal_text
from perwiz.formats.goal.format import GOAL, schedule
from perwiz.trace import operations
from perwiz.trace.tables import SIGNAL, THREAD
from perwiz.whatif import timed


@pytest.fixture
def put(tmp_path):
    """Return what writes a file and says its name."""

    def write(content, name="x.goal"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def told(trace):
    """Return the calls of each location, as `routine>partner`."""
    names = [operations.OPS[op].removeprefix("MPI_") for op in trace.calls.op]
    words = [f"{name}>{peer}" if peer != -1 else name for name, peer in zip(names, trace.calls.peer.tolist(), strict=True)]
    return [[words[e] for e in np.flatnonzero(trace.calls.location == k)] for k in range(len(trace.locations))]


def test_read__blocks_and_posts(put):
    """What is awaited right behind its post blocks; what is awaited later, or by nobody, is posted and completed there, or at the end."""
    lines = ["a: recv 8b from 1", "b: send 8b to 1 tag 3", "b requires a", "c: calc 50", "c irequires b", "d: calc 5", "d requires b"]
    other = ["a: send 8b to 0", "b: recv 9b from 0 tag 3"]
    trace = files.read(put(goals.text_of([[*lines, "d requires c"], other])))
    assert told(trace) == [["Recv>1", "Isend>1", "Wait"], ["Isend>0", "Irecv>0", "Waitall"]]
    assert trace.timeline.calls.enter.tolist() == [0, 0, 50, 0, 0, 0]
    assert trace.timeline.locations.leave.tolist() == [55, 0]
    assert (trace.messages.send.tolist(), trace.messages.receive.tolist()) == ([1, 3], [4, 0])
    assert (trace.messages.send_done.tolist(), trace.messages.receive_done.tolist()) == ([2, 5], [5, 0])
    assert trace.messages.bytes.tolist() == [8, 8]
    assert trace.counts.size_differs == 1


def test_read__independent_operations(put):
    """Who needs the second message alone does not wait for the first: a thread of its own, which signals when it is done.

    The sends are done at 2 and 4, their messages there at 12 and 14, received by 14 and 16: x ends at 19, y at 21, z at 26.
    """
    lines = ["a: recv 8b from 1 tag 1", "b: recv 8b from 1 tag 2", "x: calc 5", "x requires a", "y: calc 5", "y requires b"]
    lines += ["z: calc 5", "z requires x", "z requires y"]
    trace = files.read(put(goals.text_of([lines, ["a: send 8b to 0 tag 1", "b: send 8b to 0 tag 2"]])))
    assert told(trace) == [
        ["Irecv>1", "Irecv>1", "Wait", "pthread_cond_wait"],
        ["Wait", "pthread_cond_signal"],
        ["Isend>0", "Isend>0", "Waitall"],
    ]
    assert trace.locations.kind.tolist() == [0, THREAD, 0]
    assert (trace.links.kind.tolist(), trace.links.cause.tolist(), trace.links.effect.tolist()) == ([SIGNAL], [5], [3])
    made = timed.timed(trace, build.hand_model())
    late = made.timeline.locations.leave
    assert late.tolist() == [26, 21, 4]


def test_read__binary_tree(put):
    """32 processes: LogGOPSim says 27500 with its own letters, which are those of the default model."""
    blocks = [[] for _ in range(32)]
    for rank in range(32):
        step = 1
        while step <= rank:
            step *= 2
        if rank:
            blocks[rank].append(f"l0: recv 1b from {rank - step // 2} tag 0")
        while rank + step < 32:
            blocks[rank].append(f"l{step}: send 1b to {rank + step} tag 0")
            blocks[rank] += [f"l{step} requires l0"] if rank else []
            step *= 2
    assert timed.read(put(goals.text_of(blocks))).timeline.makespan == 27500


@given(content=goals.texts(units=3))
def test_read__binary(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("goal")
    (folder / "x.goal").write_text(content)
    one = schedule(str(folder / "x.goal"))
    (folder / "x.bin").write_bytes(goals.binary_of(one))
    other = schedule(str(folder / "x.bin"))
    for name in ("kind", "rank", "size", "peer", "tag", "cpu", "nic"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    needs = [sorted(zip(of.op.tolist(), of.on.tolist(), of.starts.tolist(), strict=True)) for of in (one, other)]
    assert needs[0] == needs[1]
    assert all(GOAL.looks_like(str(folder / name)) for name in ("x.bin", "x.goal"))


@settings(max_examples=15)
@given(content=goals.texts())
def test_read__in_pieces(content):
    """A text cut before blocks is the schedule that it is as a whole."""
    whole = vars(goals.read(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perwiz.formats.goal.text._PIECE", 1 + len(content) // 4)
        pieces = vars(goals.read(content))
    assert {name: np.array(column).tolist() for name, column in whole.items() if name != "path"} == {
        name: np.array(column).tolist() for name, column in pieces.items() if name != "path"
    }


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n", [0, 22, 34]),
        ("num_ranks 2\nrank 0 {\n}\n/*\n} of old\n*/\nrank 1 {\n}\n", [0, 34, 49]),
        ("num_ranks 1\nrank 0 {\ncalc 1\ncalc 2\n}", [0, 36]),
    ],
)
def test_cuts(text, cuts, put):
    """At line ends behind blocks, and behind what looks like the end of one in a comment, too."""
    assert goal_text._Text(put(text)).cuts(2) == cuts


@pytest.mark.parametrize(
    "content",
    [
        "num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\n}\n",
        "num_ranks 1\nrank 0 {\n}\nnum_ranks 2\nrank 1 {\n}\n",
        "num_ranks 2\nrank 0 {\ncalc 3\n}\n/* of old\nrank 1 {\ncalc 4\n}\n*/\nrank 1 {\ncalc 5\n}\n",
        "num_ranks 2\nrank 0 {\ncalc 33333 /* of old\nrank 1 {\ncalc 4\n*/ cpu 1\n}\nrank 1 {\n}\n",
        "num_ranks 2\nrank 1 {\ncalc 33333\n}\n/* of old\nrank 1 {\ncalc 4\n}\n",
        "num_ranks 2\nrank 0 {\ncalc 3\n}\n/* of old\nrank 1 {\ncalc 4\n}\n// */\n",
        "num_ranks 2\nrank 0 {\ncalc 3\n// a }\ncalc 4 }\nrank 1 {\ncalc 5\n}\n\n\n\n\n\n\n\n\n",
        "num_ranks 2\nrank 0 { calc 3 } rank 1 {\ncalc 4\ncalc 5\n}\n",
    ],
)
def test_read__cut_where_a_block_is_open(put, monkeypatch, content):
    """What a piece could not be without the others is told, or read, as of the whole."""
    path = put(content)
    expected = _outcome(path)
    monkeypatch.setattr("perwiz.formats.goal.text._PIECE", len(content) // 2)
    assert _outcome(path) == expected


def _outcome(path):
    try:
        told = goal_text.read(path)
        return told.ranks, told.size.tolist(), told.cpu.tolist()
    except TraceError as error:
        return str(error)


def test_read__later_label(put):
    """A label may stand below what needs it; ranks in any order, packed."""
    content = "// of nobody\nnum_ranks 2\nrank 1 {\n}\nrank 0 {\nb requires a\nb: calc 5\na: calc 7\n}\n"
    one = schedule(put(gzip.compress(content.encode()), "x.goal.gz"))
    assert (one.size.tolist(), one.op.tolist(), one.on.tolist()) == ([7, 5], [1], [0])
    assert files.read(put(content)).timeline.locations.leave.tolist() == [12, 0]


def test_read__wildcards(put):
    """Receives of any take, in their order, what those that name their sender leave."""
    first = ["a: recv 1b from -1 tag -1", "b: recv 1b from 2 tag 5", "c: recv 1b from -1 tag 5", "d: recv 1b from 1 tag -1"]
    trace = files.read(put(goals.text_of([first, [*["send 1b to 0 tag 5"] * 2], ["send 1b to 0 tag 5", "send 1b to 0 tag 6"]])))
    pairs = dict(zip(trace.messages.receive.tolist(), trace.calls.location[trace.messages.send].tolist(), strict=True))
    assert pairs == {0: 2, 1: 2, 2: 1, 3: 1}
    assert trace.counts.unmatched_receives == 0


RANKS = "num_ranks 2\nrank 0 {\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (RANKS + "l1: calk 5\n}\n", "{}:3: 'calk', must be num_ranks, rank, calc, send, recv, a label or }"),
        (RANKS + "l1: calc 5", "{}:3: the block of rank 0 is open, must end with }"),
        (RANKS + "calc 5\n}\n", "{}: no block of rank 1, must have one of each of the 2"),
        (RANKS + "}\nrank 0 {\n}\n", "{}:4: a second block of rank 0, must be one block"),
        (RANKS + "}\nrank 2 {\n}\n", "{}:4: rank 2, must be less than num_ranks, 2"),
        (RANKS + "send 1b to 2\n}\n", "{}:3: partner 2, must be less than num_ranks, 2"),
        (RANKS + "send 1b to 1 tag 2147483648\n}\n", "{}:3: tag 2147483648, must be at most 2147483647"),
        (RANKS + "calc 1125899906842625\n}\n", "{}:3: size 1125899906842625, must be at most 1125899906842624"),
        (RANKS + "calc 1 cpu 256\n}\n", "{}:3: cpu 256, must be at most 255"),
        (RANKS + "send 1b to 1 nic 256\n}\n", "{}:3: nic 256, must be at most 255"),
        (RANKS + "a: calc 1\na: calc 2\n}\nrank 1 {\n}\n", "{}:4: label 'a' once more in rank 0, must be there once"),
        (RANKS + "a: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}\n", "{}:7: label 'a', must be that of an operation of rank 1"),
        (
            RANKS + "a: calc 1\na requires a\n}\nrank 1 {\n}\n",
            "{}: operations of rank 0 need each other in a circle, must have one that can begin",
        ),
        (
            RANKS + "send 1b to 1 nic 1\n}\nrank 1 {\n}\n",
            "{}: an operation of rank 0 on network interface 1, must be on 0: a process has one",
        ),
        ("num_ranks 0\n", "{}:1: num_ranks 0, must be a number from 1 to 1048576"),
        ("num_ranks 5 /* x", "{}:1: '/', must end with */"),
        (
            (2342).to_bytes(8, "little"),
            "{}: a binary schedule that a simulation with --save-mem has used up, must be made again by txt2bin",
        ),
        (binary.MAGIC, "{}: 8 bytes, must have a header of 14"),
        (binary.MAGIC + b"\xff\xff\0\0\0\0", "{}: 65535 ranks in 14 bytes, must be from 1 to 1048576 and have a place each"),
    ],
)
def test_read__refused(put, content, message):
    path = put(content)
    with pytest.raises(TraceError) as refused:
        files.read(path)
    assert str(refused.value) == message.replace("{}", path, 1)


def test_read__too_long(put):
    path = put(goals.text_of([[f"calc {1 << 50}"] * 1025]))
    with pytest.raises(TraceError, match=r"operations take 2\^60 ns and more together, must take less$"):
        files.read(path)


SAMPLE = goals.text_of(
    [
        ["l1: calc 100", "l2: send 10b to 1 tag 5", "l2 requires l1", "l3: recv 7b from 1 cpu 1", "l4: calc 8 cpu 1", "l4 requires l3"],
        ["l1: recv 10b from 0 tag 5", "l2: send 7b to 0", "l2 irequires l1", "l3: recv 1b from -1 tag -1", "l4: calc 1", "l4 requires l1"],
    ]
)
WORDS = (*b"-1 0 1 5 send recv calc requires irequires l1 l9 b to from tag cpu nic { } : rank num_ranks 4294967296 // /* \xff".split(), b"")


def reworded(rng, data):
    """Return text with a word put for another, or cut, or a line doubled elsewhere."""
    lines = data.split(b"\n")
    k, what = rng.randrange(len(lines)), rng.randrange(3)
    words = lines[k].split(b" ")
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    if what == 0:
        lines[k] = b" ".join(words)
    elif what == 1:
        lines[k] = lines[k][: rng.randrange(len(lines[k]) + 1)]
    else:
        lines.insert(rng.randrange(len(lines)), lines[k])
    return b"\n".join(lines)


def flipped(rng, data):
    """Return data with a byte changed, or its end cut off."""
    at, out = rng.randrange(len(data)), bytearray(data)
    out[at] = rng.choice([0, 1, 2, 3, 255, rng.randrange(256)])
    return bytes(out[: rng.randrange(len(out))]) if rng.random() < 0.2 else bytes(out)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "binary"])
def test_read__damaged(put, form):
    """Damage is a refusal of one line, or another schedule; never anything else."""
    rng, read, bad = random.Random(11), 0, 0
    data = SAMPLE.encode() if form == "text" else goals.binary_of(schedule(put(SAMPLE)))
    for _ in range(300):
        path = put(rng.choice([reworded, flipped] if form == "text" else [flipped])(rng, data), "y")
        if not GOAL.looks_like(path):
            continue
        try:
            read += len(timed.timed(calls.trace(schedule(path))).calls) > 0
        except PerwizError as error:
            bad += not str(error).startswith(path) or "must" not in str(error) or "\n" in str(error)
    assert bad == 0
    assert read > 22
