"""The LogGPS model: costs worked by hand, the shipped files, and every refusal with its full message."""

import dataclasses
import pathlib
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.errors import ModelError
from perwiz.loggps import model as module
from perwiz.loggps.model import Model, load, names
from perwiz.trace.operations import COLLECTIVE, OP, OPS
from perwiz.trace.tables import BUFFERED, READY, STANDARD, SYNCHRONOUS

HAND = Model(
    name="hand",
    source="made up",
    assumed=("s_bytes",),
    L=1000.0,
    o=200.0,
    g=50.0,
    G=2.0,
    O=0.5,
    S=100,
    s=40,
    request_overheads=1,
    acknowledge_overheads=2,
    gap="sending call",
    progress="always",
    per_byte="both ends",
)
"""Round numbers: every sum below can be checked in the head."""

ALL_PARAMETERS = "L_ns, o_ns, g_ns, G_ns_per_byte, O_ns_per_byte, S_bytes, s_bytes"
ALL_CONVENTIONS = "request_overheads, acknowledge_overheads, gap, progress, per_byte"
ALL_KEYS = f"{ALL_PARAMETERS}, {ALL_CONVENTIONS}"

FILE = """
name = "mine"
source = "measured"
assumed = ["g_ns"]

[parameters]
L_ns = 1000
o_ns = 200.0
g_ns = 50.0
G_ns_per_byte = 2.0
O_ns_per_byte = 0.5
S_bytes = 100
s_bytes = 40

[conventions]
request_overheads = 1
acknowledge_overheads = 2
gap = "sending call"
progress = "always"
per_byte = "both ends"
"""


def ns(*values):
    """Return the int64 array the cost functions must give."""
    return np.array(values, np.int64)


def same(actual, *expected):
    """Assert equal values and dtype."""
    np.testing.assert_array_equal(actual, ns(*expected), strict=True)


def test_ready():
    """o + Os + L + (k - 1) G + (packets - 1) g.

    k = 0: 200 + 0 + 1000; k = 1: 200 + 0.5 + 1000 = 1200.5, rounded to even; k = 3: 200 + 1.5 + 1000 + 4 = 1205.5;
    k = 40, one packet: 200 + 20 + 1000 + 78; k = 41, two: 200 + 20.5 + 1000 + 80 + 50 = 1350.5;
    k = 100, three: 200 + 50 + 1000 + 198 + 100. Synchronous: 200 + 1000.
    """
    k = ns(0, 1, 3, 40, 41, 100)
    same(HAND.ready(k, np.zeros(6, bool)), 1200, 1200, 1206, 1298, 1350, 1548)
    same(HAND.ready(k, np.ones(6, bool)), 1200, 1200, 1200, 1200, 1200, 1200)


def test_request_and_post():
    """o + L = 200 + 1000 and o = 200."""
    assert HAND.request() == 1200
    assert HAND.post_work() == 200


def test_send_work():
    """Eager: 200 + 100 * 0.5. Synchronous: (2 * 200 + 1000) + 200 + 100 * 0.5."""
    same(HAND.send_work(ns(100, 100), np.array([False, True])), 250, 1650)


def test_receive_work():
    """Eager: 200 + 50. Synchronous: REQ 200, ACK 1400, message 250 + (1000 + 198 + 100) + 250."""
    same(HAND.receive_work(ns(100, 100), np.array([False, True])), 250, 200 + 1400 + 250 + 1298 + 250)


def test_overheads_of_the_rendezvous():
    """Without any o for REQ and ACK: the sender pays 1000 + 250, the receiver 1000 + 250 + 1298 + 250."""
    bare = dataclasses.replace(HAND, request_overheads=0, acknowledge_overheads=0)
    same(bare.send_work(ns(100), np.array([True])), 1250)
    same(bare.receive_work(ns(100), np.array([True])), 2798)


@pytest.mark.parametrize(("payer", "sender", "receiver"), [("both ends", 250, 250), ("sender", 250, 200), ("receiver", 200, 250)])
def test_who_pays_per_byte(payer, sender, receiver):
    """100 bytes cost 50 ns at each end that pays; on its way a message meets only what its sender pays."""
    changed = dataclasses.replace(HAND, per_byte=payer)
    k, eager = ns(100), np.array([False])
    same(changed.send_work(k, eager), sender)
    same(changed.receive_work(k, eager), receiver)
    same(changed.ready(k, eager), sender + 1298)


def test_gap_after():
    """50 + (k - 1) * 2: 50 for nothing and one byte, 248 for 100 bytes; 0 if nothing keeps sends apart."""
    same(HAND.gap_after(ns(0, 1, 100)), 50, 50, 248)
    same(dataclasses.replace(HAND, gap="none").gap_after(ns(0, 1, 100)), 0, 0, 0)


def test_never_split():
    """s = 0: 200 + 5000 + 1000 + 9999 * 2, however long."""
    same(dataclasses.replace(HAND, s=0).ready(ns(10_000), np.array([False])), 26198)


def test_is_synchronous():
    """Above S = 100 for standard and ready sends, always for synchronous, never for buffered ones."""
    modes = np.array([STANDARD, READY, BUFFERED, SYNCHRONOUS], "u1")
    for size, expected in ((0, [0, 0, 0, 1]), (100, [0, 0, 0, 1]), (101, [1, 1, 0, 1])):
        found = HAND.is_synchronous(np.full(4, size), modes)
        np.testing.assert_array_equal(found, np.array(expected, bool), strict=True)


def test_perwiz_cluster_synchronous_send():
    """PerWiz paper, section 4 and 5: REQ o + L = 2.15 + 9.11 us; then ACK 2 * 2.15 + 9.11 us and o."""
    cluster = load("perwiz-cluster")
    assert cluster.request() == 11260
    assert list(cluster.is_synchronous(ns(16383, 16384), ns(STANDARD, STANDARD))) == [False, True]
    same(cluster.send_work(ns(16384), np.array([True])), 4300 + 9110 + 2150)


def test_cray_t3e_routines():
    """Fig. 12 of Rabenseifner 1999: send and recv of nothing 10 us, ssend 50 us; send moves 100 MB, 1 MB = 2^20 bytes, in a second."""
    t3e = load("cray-t3e")
    same(t3e.send_work(ns(0), np.array([False])), 10_000)
    same(t3e.receive_work(ns(0), np.array([False])), 10_000)
    assert t3e.request() + t3e.send_work(ns(0), np.array([True]))[0] == 50_000
    assert t3e.send_work(ns(100 * 2**20), np.array([False]))[0] == pytest.approx(1e9, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "latency"),
    [
        ("viola-fzj", 21_500),
        ("viola-fh-brs", 44_400),
        ("viola-external", 988_000),
        ("marenostrum", 7_700),
        ("marenostrum-node", 1_300),
        ("cacau", 4_700),
        ("cacau-node", 1_000),
    ],
)
def test_measured_latency(name, latency):
    """L + 2 o is the latency the source prints: what lies between the entry of a send and the return of a waiting receive."""
    machine = load(name)
    nothing, eager = ns(0), np.array([False])
    same(machine.ready(nothing, eager) + machine.receive_work(nothing, eager), latency)
    assert {"L_ns", "o_ns"} <= set(machine.assumed)


@pytest.mark.parametrize(
    ("op", "ranks", "size", "expected"),
    [
        ("MPI_Barrier", 8, 0, 3 * 1400),
        ("MPI_Ibarrier", 9, 0, 4 * 1400),
        ("MPI_Barrier", 8, 10, 3 * 1400),
        ("MPI_Allreduce", 8, 10, 3 * (1400 + 20)),
        ("MPI_Allgather", 5, 10, 3 * (1400 + 20)),
        ("MPI_Bcast", 2, 10, 1400 + 20),
        ("MPI_Reduce", 1024, 10, 10 * (1400 + 20)),
        ("MPI_Scan", 1025, 10, 11 * (1400 + 20)),
        ("MPI_Alltoall", 8, 10, 7 * 1400 + 20),
        ("MPI_Ialltoallv", 3, 10, 2 * 1400 + 20),
        ("MPI_Alltoallw", 2, 0, 1400),
        ("MPI_Allreduce", 1, 10, 0),
        ("MPI_Alltoall", 1, 10, 0),
        ("MPI_Alltoall", 0, 10, 0),
        ("MPI_Send", 8, 10, 0),
        ("MPI_Neighbor_alltoall", 8, 10, 0),
    ],
)
def test_collective_work(op, ranks, size, expected):
    """a = 2 * 200 + 1000 = 1400 and 2 ns a byte, in ceil(log2 ranks) rounds or ranks - 1 exchanges."""
    same(HAND.collective_work(np.array([OP[op]], "u1"), ns(ranks), ns(size)), expected)


def test_collective_work_of_many():
    """One row per call; every collective of more than one rank costs something."""
    ops = np.arange(len(OPS)).astype("u1" if len(OPS) <= 256 else "u2")
    cost = HAND.collective_work(ops, np.full(len(ops), 4), np.zeros(len(ops), np.int64))
    np.testing.assert_array_equal(cost > 0, COLLECTIVE)


@given(st.lists(st.tuples(st.integers(0, 2**40), st.booleans()), max_size=8))
def test_vectors_are_rows(rows):
    """A cost depends on its own row only, and more bytes never cost less."""
    k = np.array([size for size, _ in rows], np.int64)
    synchronous = np.array([flag for _, flag in rows], bool)
    for cost in (HAND.ready, HAND.send_work, HAND.receive_work):
        same(cost(k, synchronous), *(int(cost(ns(size), np.array([flag]))[0]) for size, flag in rows))
        assert (cost(k + 1, synchronous) >= cost(k, synchronous)).all()


def test_a_cost_beyond_float_precision():
    with pytest.raises(ModelError) as caught:
        HAND.gap_after(ns(2**62))
    assert str(caught.value) == "a message or collective would cost 9.22e+18 ns, must be at most 2^53"


# Files


def shipped():
    return sorted(pathlib.Path(module._folder()).glob("*.toml"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_shipped(path):
    """Each loads by name and by path, is named like its file, begins with a comment of one to four lines, and lies on 140 columns."""
    assert load(path.stem) == load(str(path))
    assert load(path.stem).name == path.stem
    lines = path.read_text(encoding="utf-8").splitlines()
    assert 1 <= next(i for i, line in enumerate(lines) if not line.startswith("#")) <= 4
    assert max(map(len, lines)) <= 140


def test_names():
    expected = "cacau cacau-node cray-t3e default marenostrum marenostrum-node perwiz-cluster viola-external viola-fh-brs viola-fzj"
    assert names() == expected.split()


def test_default_is_that_of_loggopsim():
    default = load("default")
    assert (default.L, default.o, default.g, default.G, default.O, default.S) == (2500, 1500, 1000, 6, 0, 65535)
    assert default.assumed == ("s_bytes",)


def test_models_inside_the_package(tmp_path, monkeypatch):
    """An installed package has its models inside; a source tree beside it."""
    for folder in ("perwiz/loggps", "models"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "perwiz/loggps/model.py"))
    (tmp_path / "models/beside.toml").write_text(FILE)
    assert names() == ["beside"]
    (tmp_path / "perwiz/models").mkdir()
    (tmp_path / "perwiz/models/inside.toml").write_text(FILE)
    assert names() == ["inside"]
    assert load("inside").source == "measured"


def test_load_a_file(tmp_path):
    """A whole number stands for a float and a float without fraction for a whole number."""
    path = tmp_path / "mine.toml"
    path.write_text(FILE.replace("S_bytes = 100", "S_bytes = 100.0"))
    assert load(str(path)) == dataclasses.replace(HAND, name="mine", source="measured", assumed=("g_ns",))
    assert [type(value) for value in load(str(path)).parameters().values()] == [float] * 5 + [int] * 4 + [str] * 3


def test_load_in_this_folder(tmp_path, monkeypatch):
    """Without a slash, the ending tells a file from a name."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mine.toml").write_text(FILE)
    pathlib.Path("mine").write_text(FILE)
    assert load("mine.toml") == load("./mine")
    with pytest.raises(ModelError, match="no model 'mine'"):
        load("mine")


def test_parameters():
    """The two tables of the file in one, in order."""
    content = tomllib.loads(FILE)
    assert HAND.parameters() == {**content["parameters"], **content["conventions"]}
    assert list(HAND.parameters()) == ALL_KEYS.split(", ")


def test_a_model_is_a_value():
    assert hash(HAND) == hash(dataclasses.replace(HAND))
    with pytest.raises(dataclasses.FrozenInstanceError):
        HAND.L = 1.0


# Changes


def test_with_changes():
    """Values change, their keys are no longer assumed, the name tells."""
    changed = HAND.with_changes(" L_ns = 1e3 ,s_bytes=0,gap=none")
    assert changed == dataclasses.replace(HAND, s=0, gap="none", assumed=(), name="hand with L_ns=1e3,s_bytes=0,gap=none")
    assert changed.with_changes("o_ns=1").name == "hand with L_ns=1e3,s_bytes=0,gap=none with o_ns=1"


@pytest.mark.parametrize("key", ALL_KEYS.split(", "))
def test_with_changes_back_and_forth(key):
    """Setting a key to the value it has changes nothing but the name and what is assumed."""
    changed = HAND.with_changes(f"{key}={HAND.parameters()[key]}")
    assert changed.parameters() == HAND.parameters()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "change of model hand: '', must be KEY=VALUE,KEY=VALUE"),
        ("L_ns", "change of model hand: 'L_ns', must be KEY=VALUE,KEY=VALUE"),
        ("L_ns=1,", "change of model hand: '', must be KEY=VALUE,KEY=VALUE"),
        ("L=1", f"change of model hand: has 'L', must be one of {ALL_KEYS}"),
        ("L_n=1", f"change of model hand: has 'L_n', must be one of {ALL_KEYS}; did you mean L_ns?"),
        ("L_ns=1,L_ns=2", "change of model hand: L_ns is '1' and '2', must be given once"),
        ("L_ns=fast", "change of model hand: L_ns is 'fast', must be a number from 0 to 1e+12"),
        ("L_ns=", "change of model hand: L_ns is '', must be a number from 0 to 1e+12"),
        ("L_ns=-1", "change of model hand: L_ns is -1.0, must be a number from 0 to 1e+12"),
        ("L_ns=nan", "change of model hand: L_ns is nan, must be a number from 0 to 1e+12"),
        ("L_ns=1e999", "change of model hand: L_ns is inf, must be a number from 0 to 1e+12"),
        ("S_bytes=0.5", "change of model hand: S_bytes is 0.5, must be a whole number from 0 to 1e+12"),
        ("gap=1", "change of model hand: gap is '1', must be 'sending call' or 'none'"),
    ],
)
def test_changes_refused(text, message):
    with pytest.raises(ModelError) as caught:
        HAND.with_changes(text)
    assert str(caught.value) == message


# Refusals


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L_ns = 1000", "", f"[parameters] lacks L_ns, must have all of {ALL_PARAMETERS}"),
        ("L_ns = 1000", "L_us = 1.0", f"[parameters] has 'L_us', must be one of {ALL_PARAMETERS}; did you mean L_ns?"),
        ("L_ns = 1000", "L_ns = 1\nxyz = 1", f"[parameters] has 'xyz', must be one of {ALL_PARAMETERS}"),
        ('gap = "sending call"\nprogress = "always"', "", f"[conventions] lacks gap, progress, must have all of {ALL_CONVENTIONS}"),
        ("gap =", "gaps =", f"[conventions] has 'gaps', must be one of {ALL_CONVENTIONS}; did you mean gap?"),
        ('source = "measured"', "", "top level lacks source, must have all of name, source, assumed, parameters, conventions"),
        (
            "[conventions]",
            "[convention]",
            "top level has 'convention', must be one of name, source, assumed, parameters, conventions; did you mean conventions?",
        ),
        ('name = "mine"', "name = 5", "name is 5, must be a line of text"),
        ('name = "mine"', 'name = "a\\nb"', "name is 'a\\nb', must be a line of text"),
        ('source = "measured"', 'source = ""', "source is '', must be a line of text"),
        ('assumed = ["g_ns"]', 'assumed = "g_ns"', "assumed is 'g_ns', must be a list of keys"),
        ('assumed = ["g_ns"]', "assumed = [1]", "assumed is [1], must be a list of keys"),
        ('assumed = ["g_ns"]', 'assumed = ["g"]', f"assumed has 'g', must be one of {ALL_KEYS}"),
        ("L_ns = 1000", 'L_ns = "1000"', "L_ns is '1000', must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = true", "L_ns is True, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = -1", "L_ns is -1, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = nan", "L_ns is nan, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = inf", "L_ns is inf, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = 1.1e12", "L_ns is 1100000000000.0, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = 0x" + 5000 * "f", "L_ns is an integer of thousands of digits, must be a number from 0 to 1e+12"),
        ("S_bytes = 100", "S_bytes = 0.5", "S_bytes is 0.5, must be a whole number from 0 to 1e+12"),
        ("S_bytes = 100", "S_bytes = false", "S_bytes is False, must be a whole number from 0 to 1e+12"),
        ("request_overheads = 1", "request_overheads = []", "request_overheads is [], must be a whole number from 0 to 1e+12"),
        ('gap = "sending call"', 'gap = "some"', "gap is 'some', must be 'sending call' or 'none'"),
        ('progress = "always"', "progress = 1", "progress is 1, must be 'always' or 'in calls'"),
        ('per_byte = "both ends"', 'per_byte = "both"', "per_byte is 'both', must be 'both ends' or 'sender' or 'receiver'"),
    ],
)
def test_file_refused(tmp_path, old, new, message):
    path = tmp_path / "mine.toml"
    assert FILE.count(old) == 1
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_a_value_where_a_table_must_be(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"\nsource = "b"\nassumed = []\nparameters = 5\nconventions = 6\n')
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: parameters is 5, must be a table [parameters]"


def test_an_unknown_name():
    with pytest.raises(ModelError) as caught:
        load("cray-t3d")
    assert str(caught.value) == (
        "no model 'cray-t3d', must be one of cacau, cacau-node, cray-t3e, default, marenostrum, marenostrum-node, perwiz-cluster, "
        "viola-external, viola-fh-brs, viola-fzj, or a path to a .toml file"
    )


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelError) as caught:
        load(str(tmp_path / "none.toml"))
    assert str(caught.value) == f"{tmp_path}/none.toml: cannot be read: No such file or directory, must be a model file"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name\n", "Expected '=' after a key in a key/value pair (at line 1, column 5), must be TOML"),
        (b"name = '\xff'\n", "'utf-8' codec can't decode byte 0xff in position 8: invalid start byte, must be TOML"),
    ],
)
def test_not_toml(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_nested_beyond_reason(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("a = " + 100_000 * "[")
    with pytest.raises(ModelError, match=r"recursion depth exceeded.*, must be TOML"):
        load(str(path))
