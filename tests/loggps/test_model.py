"""The LogGPS model: costs worked by hand, the shipped files, and every refusal with its full message."""

import dataclasses
import pathlib
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.errors import ModelError
from perwiz.loggps import model_file
from perwiz.loggps.model import Costs, Limit, Model, Sent
from perwiz.loggps.model_file import load, names
from perwiz.trace.operations import COLLECTIVE, OP, OPS
from perwiz.trace.tables import BUFFERED, READY, STANDARD, SYNCHRONOUS

ROW = Costs(L=1000.0, o_s=200.0, o_r=200.0, g=50.0, G=2.0, O_s=0.5, O_r=0.5, s=40)
HAND = Model(
    name="hand",
    source="made up",
    assumed=("s_bytes",),
    costs=(ROW,),
    limits=(Limit(100),),
    request_overheads=1,
    acknowledge_overheads=2,
    gap="sending call",
    progress="always",
)
"""Round numbers: every sum below can be checked in the head."""

ALL_PARAMETERS = "L_ns, o_s_ns, o_r_ns, g_ns, G_ns_per_byte, O_s_ns_per_byte, O_r_ns_per_byte, S_bytes, s_bytes"
OF_PAIRS = f"{ALL_PARAMETERS}, S_blocking_bytes, S_nonblocking_bytes, S_sendrecv_bytes"
ALL_CONVENTIONS = "request_overheads, acknowledge_overheads, gap, progress"
ALL_KEYS = f"{ALL_PARAMETERS}, {ALL_CONVENTIONS}"
CHANGES = f"{OF_PAIRS}, o_ns, O_ns_per_byte"
CLASSES = "within-node, between-nodes, between-metahosts"

FILE = """
name = "mine"
source = "measured"
assumed = ["g_ns"]

[parameters]
L_ns = 1000
o_s_ns = 200.0
o_r_ns = 200.0
g_ns = 50.0
G_ns_per_byte = 2.0
O_s_ns_per_byte = 0.5
O_r_ns_per_byte = 0.5
S_bytes = 100
s_bytes = 40

[conventions]
request_overheads = 1
acknowledge_overheads = 2
gap = "sending call"
progress = "always"
"""


def ns(*values):
    """Return the int64 array the cost functions must give."""
    return np.array(values, np.int64)


def same(actual, *expected):
    """Assert equal values and dtype."""
    np.testing.assert_array_equal(actual, ns(*expected), strict=True)


def sent(*sizes, mode=STANDARD, **columns):
    """Return messages of these sizes."""
    return Sent(ns(*sizes), mode, **columns)


def long(*sizes):
    """Return synchronous messages of these sizes."""
    return sent(*sizes, mode=SYNCHRONOUS)


def test_ready():
    """o_s + Os + L + (k - 1) G + (packets - 1) g.

    k = 0: 200 + 0 + 1000; k = 1: 200 + 0.5 + 1000 = 1200.5, rounded to even; k = 3: 200 + 1.5 + 1000 + 4 = 1205.5;
    k = 40, one packet: 200 + 20 + 1000 + 78; k = 41, two: 200 + 20.5 + 1000 + 80 + 50 = 1350.5;
    k = 100, three: 200 + 50 + 1000 + 198 + 100. Synchronous: 200 + 1000.
    """
    same(HAND.ready(sent(0, 1, 3, 40, 41, 100)), 1200, 1200, 1206, 1298, 1350, 1548)
    same(HAND.ready(long(0, 1, 3, 40, 41, 100)), 1200, 1200, 1200, 1200, 1200, 1200)


def test_request_and_post():
    """o + L = 200 + 1000 and o = 200."""
    same(HAND.request(long(0, 5)), 1200, 1200)
    for cost in HAND.post_work(long(0, 5)):
        same(cost, 200, 200)


def test_send_work():
    """Eager: 200 + 100 * 0.5. Synchronous: (2 * 200 + 1000) + 200 + 100 * 0.5."""
    same(HAND.send_work(sent(100, 100, mode=ns(STANDARD, SYNCHRONOUS))), 250, 1650)


def test_receive_work():
    """Eager: 200 + 50. Synchronous: REQ 200, ACK 1400, message 250 + (1000 + 198 + 100) + 250."""
    same(HAND.receive_work(sent(100, 100, mode=ns(STANDARD, SYNCHRONOUS))), 250, 200 + 1400 + 250 + 1298 + 250)


def test_overheads_of_the_rendezvous():
    """Without any o for REQ and ACK: the sender pays 1000 + 250, the receiver 1000 + 250 + 1298 + 250."""
    bare = dataclasses.replace(HAND, request_overheads=0, acknowledge_overheads=0)
    same(bare.send_work(long(100)), 1250)
    same(bare.receive_work(long(100)), 2798)


def test_overheads_apart():
    """o_s 200 and O_s 0.5 at the sender, o_r 8060 and O_r 0.25 at the receiver (LogGPS: Ino, Fujimoto, Hagihara, PPoPP 2001, Fig. 2).

    100 bytes. Eager: 200 + 50 of sending, 1298 on the wire, 8060 + 25 of receiving. Synchronous: the REQ 200 + 1000, handled in 8060,
    the ACK sent in 200, 1000 on its way, taken in 8060, then the message.
    """
    apart = HAND.with_changes("o_r_ns=8060,O_r_ns_per_byte=0.25")
    same(apart.ready(sent(100)), 250 + 1298)
    same(apart.send_work(sent(100)), 250)
    same(apart.receive_work(sent(100)), 8085)
    same(apart.request(long(100)), 1200)
    same(apart.send_work(long(100)), 200 + 1000 + 8060 + 250)
    same(apart.receive_work(long(100)), 8060 + (200 + 1000 + 8060) + (250 + 1298) + 8085)
    same(np.concatenate(apart.post_work(long(100))), 200, 8060)
    barrier = np.array([OP["MPI_Barrier"]], "u1")
    same(apart.collective_work(barrier, ns(8), ns(0)), 3 * (200 + 8060 + 1000))


def test_gap_after():
    """50 + (k - 1) * 2: 50 for nothing and one byte, 248 for 100 bytes; 0 if nothing keeps sends apart."""
    k = ns(0, 1, 100)
    same(HAND.gap_after(Sent(k), k), 50, 50, 248)
    same(dataclasses.replace(HAND, gap="none").gap_after(Sent(k), k), 0, 0, 0)


def test_never_split():
    """s = 0: 200 + 5000 + 1000 + 9999 * 2, however long."""
    same(HAND.with_changes("s_bytes=0,S_bytes=10000").ready(sent(10_000)), 26198)


def test_is_synchronous():
    """Above S = 100 for standard and ready sends, always for synchronous, never for buffered ones."""
    modes = np.array([STANDARD, READY, BUFFERED, SYNCHRONOUS], "u1")
    for size, expected in ((0, [0, 0, 0, 1]), (100, [0, 0, 0, 1]), (101, [1, 1, 0, 1])):
        found = HAND.is_synchronous(Sent(np.full(4, size), modes))
        np.testing.assert_array_equal(found, np.array(expected, bool), strict=True)


def test_perwiz_cluster_synchronous_send():
    """PerWiz paper, section 4 and 5: REQ o + L = 2.15 + 9.11 us; then ACK 2 * 2.15 + 9.11 us and o."""
    cluster = load("perwiz-cluster")
    assert list(cluster.is_synchronous(sent(16383, 16384))) == [False, True]
    same(cluster.request(sent(16384)), 11260)
    same(cluster.send_work(sent(16384)), 4300 + 9110 + 2150)


def test_cray_t3e_routines():
    """Fig. 12 of Rabenseifner 1999: send and recv of nothing 10 us, ssend 50 us; send moves 100 MB, 1 MB = 2^20 bytes, in a second."""
    t3e = load("cray-t3e")
    same(t3e.send_work(sent(0)), 10_000)
    same(t3e.receive_work(sent(0)), 10_000)
    same(t3e.request(long(0)) + t3e.send_work(long(0)), 50_000)
    assert t3e.send_work(sent(100 * 2**20, mode=BUFFERED))[0] == pytest.approx(1e9, rel=1e-4)
    assert (t3e.costs[0].O_s, t3e.costs[0].O_r) == (9.5367, 0)


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
    same(machine.ready(sent(0)) + machine.receive_work(sent(0)), latency)
    assert {"L_ns", "o_s_ns", "o_r_ns"} <= set(machine.assumed)


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
    mode = np.array([SYNCHRONOUS if flag else BUFFERED for _, flag in rows], "u1")
    for cost in (HAND.ready, HAND.send_work, HAND.receive_work):
        same(cost(Sent(k, mode)), *(int(cost(Sent(ns(size), np.array([mode])))[0]) for size, mode in zip(k, mode, strict=True)))
        assert (cost(Sent(k + 1, mode)) >= cost(Sent(k, mode))).all()


def test_a_cost_beyond_float_precision():
    with pytest.raises(ModelError) as caught:
        HAND.gap_after(sent(1), ns(2**62))
    assert str(caught.value) == "a message or collective would cost 9.22e+18 ns, must be at most 2^53"


# Files


def shipped():
    return sorted(pathlib.Path(model_file._folder()).glob("*.toml"))


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
    assert (default.costs, default.S) == ((Costs(L=2500, o_s=1500, o_r=1500, g=1000, G=6, O_s=0, O_r=0, s=0),), 65535)
    assert default.assumed == ("s_bytes",)


def test_models_inside_the_package(tmp_path, monkeypatch):
    """An installed package has its models inside; a source tree beside it."""
    for folder in ("perwiz/loggps", "models"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(model_file, "__file__", str(tmp_path / "perwiz/loggps/model_file.py"))
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
    assert [type(value) for value in load(str(path)).parameters().values()] == [float] * 7 + [int] * 4 + [str] * 2


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
        HAND.gap = "none"


# Changes


def test_with_changes():
    """Values change, their keys are no longer assumed, the name tells."""
    changed = HAND.with_changes(" L_ns = 1e3 ,s_bytes=0,gap=none")
    costs = (dataclasses.replace(ROW, s=0),)
    assert changed == dataclasses.replace(HAND, costs=costs, gap="none", assumed=(), name="hand with L_ns=1e3,s_bytes=0,gap=none")
    assert changed.with_changes("o_ns=1").name == "hand with L_ns=1e3,s_bytes=0,gap=none with o_ns=1"


@pytest.mark.parametrize("key", ALL_KEYS.split(", "))
def test_with_changes_back_and_forth(key):
    """Setting a key to the value it has changes nothing but the name and what is assumed."""
    changed = HAND.with_changes(f"{key}={HAND.parameters()[key]}")
    assert changed.parameters() == HAND.parameters()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "change of model hand: '', must be KEY=VALUE,CLASS:KEY=VALUE"),
        ("L_ns", "change of model hand: 'L_ns', must be KEY=VALUE,CLASS:KEY=VALUE"),
        ("L_ns=1,", "change of model hand: '', must be KEY=VALUE,CLASS:KEY=VALUE"),
        ("L=1", f"change of model hand: has 'L', must be one of {CHANGES}, {ALL_CONVENTIONS}"),
        ("L_n=1", f"change of model hand: has 'L_n', must be one of {CHANGES}, {ALL_CONVENTIONS}; did you mean L_ns?"),
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
        ("L_ns = 1000", "L_us = 1.0", f"[parameters] has 'L_us', must be one of {OF_PAIRS}; did you mean L_ns?"),
        ("L_ns = 1000", "L_ns = 1\nxyz = 1", f"[parameters] has 'xyz', must be one of {OF_PAIRS}"),
        ('gap = "sending call"\nprogress = "always"', "", f"[conventions] lacks gap, progress, must have all of {ALL_CONVENTIONS}"),
        ("gap =", "gaps =", f"[conventions] has 'gaps', must be one of {ALL_CONVENTIONS}; did you mean gap?"),
        ('source = "measured"', "", "top level lacks source, must have all of name, source, assumed, parameters, conventions"),
        (
            "[conventions]",
            "[convention]",
            "top level has 'convention', must be one of name, source, assumed, parameters, conventions, classes; did you mean conventions?",
        ),
        ('name = "mine"', "name = 5", "name is 5, must be a line of text"),
        ('name = "mine"', 'name = "a\\nb"', "name is 'a\\nb', must be a line of text"),
        ('source = "measured"', 'source = ""', "source is '', must be a line of text"),
        ('assumed = ["g_ns"]', 'assumed = "g_ns"', "assumed is 'g_ns', must be a list of keys"),
        ('assumed = ["g_ns"]', "assumed = [1]", "assumed is [1], must be a list of keys"),
        ('assumed = ["g_ns"]', 'assumed = ["g"]', f"assumed has 'g', must be one of {OF_PAIRS}, {ALL_CONVENTIONS}"),
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
