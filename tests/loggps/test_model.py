"""The LogGPS model: costs worked by hand, and changes with every refusal."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from perwiz.errors import ModelError
from perwiz.kernels.names import ACROSS, METAHOST, NODE, SAME
from perwiz.loggps.keys import ALL_PAIRS, CONVENTIONS, LETTERS, OF_ALL, OF_PAIRS, PARAMETERS, SENDS
from perwiz.loggps.model import Costs, Limit, Model, Sent
from perwiz.loggps.model_file import load
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

ALL_KEYS = ", ".join((*PARAMETERS, *CONVENTIONS))
CHANGES = ", ".join((*OF_PAIRS, "o_ns", "O_ns_per_byte"))
CLASSES = "within-node, between-nodes, between-metahosts"


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


def test_gap_after():
    """50 + (k - 1) * 2: 50 for nothing and one byte, 248 for 100 bytes; 0 if nothing keeps sends apart."""
    k = ns(0, 1, 100)
    same(HAND.gap_after(Sent(k), k), 50, 50, 248)
    same(dataclasses.replace(HAND, gap="none").gap_after(Sent(k), k), 0, 0, 0)


def test_never_split():
    """s = 0: 200 + 5000 + 1000 + 9999 * 2, however long."""
    same(HAND.with_changes("s_bytes=0,S_bytes=10000").ready(sent(10_000)), 26198)


def test_is_in_place():
    """Standard and ready sends above 50 bytes that are eager; none where messages move always."""
    model = dataclasses.replace(HAND, inline_bytes=50, progress="in calls")
    sent = Sent(ns(50, 51, model.S, model.S + 1, 51, 51, 51), ns(0, 0, 0, 0, 1, 2, 3))
    assert model.is_in_place(sent).tolist() == [False, True, True, False, True, False, False]
    assert not dataclasses.replace(model, progress="always").is_in_place(sent).any()


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
    assert str(caught.value) == "a message would cost 9.22e+18 ns, must be at most 2^53"


def test_parameters():
    assert list(HAND.parameters()) == ALL_KEYS.split(", ")
    assert list(HAND.parameters().values()) == [1000, 200, 200, 50, 2, 0.5, 0.5, 100, 40, 1, 2, "sending call", "always"]


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
        ("L=1", f"change of model hand: has 'L', must be one of {CHANGES}, {', '.join(OF_ALL)}; did you mean L_ns, the latency?"),
        ("L_n=1", f"change of model hand: has 'L_n', must be one of {CHANGES}, {', '.join(OF_ALL)}; did you mean L_ns?"),
        ("L_ns=1,L_ns=2", "change of model hand: L_ns is '1' and '2', must be given once"),
        ("L_ns=fast", "change of model hand: L_ns is 'fast', must be a number from 0 to 1e+12"),
        ("L_ns=", "change of model hand: L_ns is '', must be a number from 0 to 1e+12"),
        ("L_ns=-1", "change of model hand: L_ns is -1.0, must be a number from 0 to 1e+12"),
        ("L_ns=nan", "change of model hand: L_ns is nan, must be a number from 0 to 1e+12"),
        ("L_ns=1e999", "change of model hand: L_ns is inf, must be a number from 0 to 1e+12"),
        ("S_bytes=0.5", "change of model hand: S_bytes is 0.5, must be a whole number from 0 to 1e+12"),
        ("gap=1", "change of model hand: gap is '1', must be 'sending call' or 'none'"),
        (
            "between-nodes:bandwidth=2",
            f"change of model hand: has 'bandwidth', must be one of {CHANGES}; did you mean G_ns_per_byte, one over the bandwidth?",
        ),
        ("between-node:L_ns=1", f"change of model hand: has 'between-node', must be one of {CLASSES}; did you mean between-nodes?"),
        (":L_ns=1", f"change of model hand: has '', must be one of {CLASSES}"),
        ("between-nodes:L=1", f"change of model hand: has 'L', must be one of {CHANGES}; did you mean L_ns, the latency?"),
        ("between-nodes:gap=none", "change of model hand: gap is of all pairs, must be without between-nodes:"),
        ("within-node:o_ns=x", "change of model hand: o_ns is 'x', must be a number from 0 to 1e+12"),
        ("within-node:L_ns=1,within-node:L_ns=2", "change of model hand: within-node:L_ns is '1' and '2', must be given once"),
    ],
)
def test_changes_refused(text, message):
    with pytest.raises(ModelError) as caught:
        HAND.with_changes(text)
    assert str(caught.value) == message


def cost(model, key, pairs, size=0):
    """Return a parameter of messages of a pair class."""
    return float(np.atleast_1d(getattr(model.letters(sent(size, pairs=ns(pairs))), LETTERS[key]))[0])


def test_changes_of_a_class():
    """A class prefix holds for its own key, and goes before a change of all, in whatever order they come."""
    changed = HAND.with_changes("between-nodes:L_ns=7,L_ns=5,o_ns=3")
    assert [cost(changed, "L_ns", pairs) for pairs in (SAME, NODE, METAHOST, ACROSS, ALL_PAIRS)] == [5, 5, 7, 5, 5]
    assert [cost(changed, key, METAHOST) for key in ("o_s_ns", "o_r_ns", "g_ns")] == [3, 3, 50]
    assert [row.place for row in changed.costs] == ["", "between-nodes"]
    assert changed.name == "hand with between-nodes:L_ns=7,L_ns=5,o_ns=3"


def test_changes_keep_sizes():
    """A class that had none of its own takes over the rows of all pairs; a later change of all changes those of classes, too."""
    pieces = dataclasses.replace(HAND, costs=(ROW, dataclasses.replace(ROW, L=4000.0, from_bytes=64)))
    changed = pieces.with_changes("between-nodes:G_ns_per_byte=9")
    assert [cost(changed, key, METAHOST, size) for key in ("L_ns", "G_ns_per_byte") for size in (63, 64)] == [1000, 4000, 9, 9]
    assert [cost(changed, key, NODE, size) for key in ("L_ns", "G_ns_per_byte") for size in (63, 64)] == [1000, 4000, 2, 2]
    assert [row.place for row in changed.costs] == ["", "from 64 bytes", "between-nodes", "between-nodes from 64 bytes"]
    assert {row.G for row in changed.with_changes("G_ns_per_byte=1").costs} == {1}


def test_changes_of_what_is_assumed():
    """Of all: also of classes. Of a class: only that."""
    model = dataclasses.replace(HAND, assumed=("L_ns", "between-nodes:L_ns", "within-node:L_ns"))
    assert model.with_changes("L_ns=1").assumed == ()
    assert model.with_changes("between-nodes:L_ns=1").assumed == ("L_ns", "within-node:L_ns")


KINDS = [(pairs, sends) for pairs in (NODE, METAHOST, ACROSS) for sends in range(len(SENDS))]


def limits(model):
    """Return the eager limit of every class and kind of send, those of a class together."""
    pairs, sends = np.array(KINDS).T
    return np.broadcast_to(model.limit(Sent(ns(*[0] * 9), sends=sends, pairs=pairs)), 9).reshape(3, 3).tolist()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ("S_bytes=7", [[7, 7, 7], [7, 7, 7], [7, 7, 7]]),
        ("S_nonblocking_bytes=7", [[100, 7, 100], [100, 7, 100], [100, 7, 100]]),
        ("between-nodes:S_bytes=7", [[100, 100, 100], [7, 7, 7], [100, 100, 100]]),
        ("between-nodes:S_bytes=7,S_nonblocking_bytes=8", [[100, 8, 100], [7, 7, 7], [100, 8, 100]]),
        ("within-node:S_sendrecv_bytes=7,S_blocking_bytes=8,S_bytes=9", [[8, 9, 7], [8, 9, 9], [8, 9, 9]]),
        ("S_blocking_bytes=8,S_bytes=9", [[8, 9, 9], [8, 9, 9], [8, 9, 9]]),
    ],
)
def test_changes_of_eager_limits(changes, expected):
    """What is said of a class and of a kind goes before what is said of less, wherever in a change it stands."""
    assert limits(HAND.with_changes(changes)) == expected


def test_eager_limits_of_classes_and_kinds():
    """A class goes before a kind; of a kind changed later for all, the classes follow."""
    model = dataclasses.replace(
        HAND, limits=(Limit(100), Limit(1, sends="blocking"), Limit(2, "between-nodes"), Limit(3, "between-metahosts", "sendrecv"))
    )
    assert limits(model) == [[1, 100, 100], [2, 2, 2], [1, 100, 3]]
    assert limits(model.with_changes("S_blocking_bytes=5")) == [[5, 100, 100], [5, 2, 2], [5, 100, 3]]
    found = model.is_synchronous(Sent(ns(2, 2, 3), sends=ns(0, 1, 0), pairs=ns(NODE, NODE, METAHOST)))
    np.testing.assert_array_equal(found, [True, False, True])


@pytest.mark.slow
@given(build.models(), st.lists(st.tuples(st.integers(0, 200), st.integers(SAME, ALL_PAIRS), st.integers(0, 2)), min_size=1))
def test_law_rows_and_limits(model, messages):
    """By the definition: the rows of its class, else of all pairs; of those the one with the largest from_bytes that it reaches.

    A limit of its class and kind, else of its class, else of its kind, else of all.
    """
    size, pairs, sends = np.array(messages).T
    asked = Sent(size, sends=sends, pairs=pairs)
    letters = {letter: np.broadcast_to(getattr(model.letters(asked), letter), size.shape) for letter in LETTERS.values()}
    limit = np.broadcast_to(model.limit(asked), size.shape)
    for k, (bytes_, code, kind) in enumerate(messages):
        name = ("within-node", "within-node", "within-node", "between-nodes", "between-metahosts", "")[code]
        rows = [row for row in model.costs if row.from_bytes <= bytes_]
        row = max([row for row in rows if row.pairs == name] or [row for row in rows if not row.pairs], key=lambda row: row.from_bytes)
        assert {letter: column[k] for letter, column in letters.items()} == {letter: getattr(row, letter) for letter in letters}
        told = {(row.pairs, row.sends): row.S for row in model.limits}
        order = [(name, SENDS[kind]), (name, ""), ("", SENDS[kind]), ("", "")]
        assert limit[k] == next(told[place] for place in order if place in told)


def test_rows_refused():
    for costs, limits, message in (
        ((dataclasses.replace(ROW, pairs="within-node"),), (Limit(1),), "costs lack a row of all messages, must have one"),
        ((ROW, ROW), (Limit(1),), "costs have several rows of 0, must have one"),
        ((ROW,), (), "eager limits lack a row of all messages, must have one"),
        (
            (ROW,),
            (Limit(1), Limit(1, "within-node"), Limit(2, "within-node")),
            "eager limits have several rows of within-node, must have one",
        ),
    ):
        with pytest.raises(ModelError) as caught:
            dataclasses.replace(HAND, costs=costs, limits=limits)
        assert str(caught.value) == message
    with pytest.raises(ModelError) as caught:
        Limit(1, sends="slow")
    assert str(caught.value) == "sends is 'slow', must be one of blocking, nonblocking, sendrecv"
    with pytest.raises(ModelError) as caught:
        dataclasses.replace(ROW, pairs="far")
    assert str(caught.value) == f"pairs is 'far', must be one of {CLASSES}"
