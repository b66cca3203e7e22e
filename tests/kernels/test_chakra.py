"""Nodes of Chakra execution traces as rows and back, against the naive twin."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_chakra as naive
from perwiz.kernels import chakra, chakra_nodes, chakra_write

KEYS = b"".join(chakra.KEYS)
ENDS = np.cumsum([len(key) for key in chakra.KEYS])
NUMBERS = st.integers(-2, 300) | st.sampled_from([2**31, 2**62, 2**63 - 1, -(2**63)])
TEXTS = st.sampled_from([b"", b"gemm", b"x" * 130, "ä".encode()])
VALUES = st.tuples(st.sampled_from([7, 9, 15, 17, 25, 27]), NUMBERS) | st.tuples(st.sampled_from([29, 28, 4]), TEXTS)
ATTRIBUTES = st.tuples(st.sampled_from([*(key.decode() for key in chakra.KEYS), "num_ops"]), VALUES).map(
    lambda one: naive.said(one[0], one[1][1], one[1][0] if one[1][0] != 4 else 30)
)
FIELDS = st.one_of(
    st.builds(naive.field, st.sampled_from([1, 3, 4, 5, 6, 7]), NUMBERS),
    st.builds(naive.field, st.sampled_from([2, 4, 9, 12]), TEXTS),
    st.builds(naive.field, st.just(5), st.lists(st.integers(0, 300), max_size=4).map(lambda ids: b"".join(map(naive.varint, ids)))),
    st.builds(naive.field, st.just(8), TEXTS.map(lambda text: naive.field(1, text) + naive.field(2, b"[]"))),
    ATTRIBUTES,
)
NODES = st.lists(st.lists(FIELDS, max_size=5).map(b"".join), max_size=4)


def parse(data):
    """Return what the kernel finds, as the twin does."""

    def taken(nodes, needs):
        state = np.zeros(1, chakra.STATE).view(np.recarray)
        rows, before = np.zeros(nodes + 1, chakra.NODE).view(np.recarray), np.zeros(needs, chakra.NEED).view(np.recarray)
        chakra_nodes.parse(data, KEYS, ENDS, state, rows, before)
        return state[0], rows, before

    state = taken(0, 0)[0]
    state, rows, before = taken(int(state.nodes), int(state.needs))
    out = []
    for k in range(int(state.nodes)):
        row = {name: int(rows[name][k]) for name in chakra.NODE.names}
        for name in ("name", "told", "group"):
            row[name] = data[row[name] : row[name] + row.pop(f"{name}_length")]
        out.append(row | {"needs": before.id[before.row == k].tolist()})
    return out, int(state.bad), bool(state.cut)


@settings(max_examples=30)
@given(NODES, st.integers(0, 40), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2))
def test_parse__twin(nodes, cut, changes):
    """Also cut off, and with bytes changed."""
    data = bytearray(naive.HEAD + b"".join(map(naive.message, nodes)))
    data = data[: len(data) - cut] if cut < 10 else data
    for at, byte in changes:
        if at < len(data):
            data[at] = byte
    assert parse(bytes(data)) == naive.parse(bytes(data))


def test_parse__number_without_end():
    """Of more than ten bytes, and of a field that says how it is held by a number that there is not."""
    wrong = b"\x08" + b"\xff" * 10 + b"\x01", b"\x0b", b"\x12\x7f", naive.field(10, b"\x48\xff")
    assert parse(naive.HEAD + b"".join(map(naive.message, wrong))) == ([], 4, False)


def test_parse__all_that_is_understood():
    said = naive.said("is_cpu_op", 0, 27) + naive.said("comm_type", 5) + naive.said("comm_size", 4096) + naive.said("comm_src", 2, 7)
    said += naive.said("comm_dst", 3, 17) + naive.said("comm_tag", 7, 25) + naive.said("tid", 14) + naive.said("stream", 20)
    said += naive.said("pg_name", b"tp", 29) + naive.said("involved_dim", [1, 0, 1], 28) + naive.said("rf_id", -1)
    node = naive.field(1, 8) + naive.field(2, b"nccl") + naive.field(3, 7) + naive.field(4, b"\x01") + naive.field(5, b"\x07\x80\x01")
    node += naive.field(5, 9) + naive.field(6, 50) + naive.field(7, 3) + naive.field(8, naive.field(1, b"[4]")) + b"\x65\0\0\0\0"
    expected = {"id": 8, "start": 50, "duration": 3, "name": b"nccl", "told": b"[4]", "group": b"tp", "amount": 4096, "source": 2}
    expected |= {"target": 3, "tag": 7, "thread": 14, "stream": 20, "type": 7, "collective": 5, "cpu": 0, "narrow": 1}
    assert parse(naive.HEAD + naive.message(node + said)) == ([expected | {"needs": [7, 128, 9]}], 0, False)


def test_parse__number_of_no_sense():
    """A size below -1, and a time of more than 2^62 us: neither node can be used."""
    wrong = naive.field(1, 1) + naive.said("comm_size", -2), naive.field(7, 2**63 - 1)
    assert parse(naive.HEAD + b"".join(map(naive.message, wrong))) == ([], 2, False)


WRITTEN = {"is_cpu_op": 27, "tid": 9, "comm_size": 9, "comm_type": 9, "comm_src": 7, "comm_dst": 7, "comm_tag": 7}
"""Attributes in the order in which they are written, and as what."""
ROWS = st.lists(
    st.tuples(
        st.sampled_from([4, 5, 6, 7]),
        st.sampled_from([0, 1, 127, 128, 2**40]),
        st.lists(st.integers(0, 20_000), max_size=3),
        st.lists(st.sampled_from([-1, 0, 1, 300]), min_size=6, max_size=6).map(lambda row: [min(row[0], 1), *row[1:]]),
        st.sampled_from([-1, 0, 1]),
    ),
    max_size=5,
)


@settings(max_examples=15)
@given(ROWS)
def test_write__twin(given_rows):
    texts = [b"compute", b"tp-2"]
    made = np.zeros(len(given_rows), chakra.MADE).view(np.recarray)
    expected = b""
    for k, (kind, number, needs, others, group) in enumerate(given_rows):
        made[k] = (k, number, k % 2, number, kind, *others[:6], group)
        amount = number if kind != chakra.COMPUTES else -1
        values = [others[0], others[1], amount, *others[2:6]]
        held = dict(zip(WRITTEN, values, strict=True))
        said = b"".join(naive.said(name, value, WRITTEN[name]) for name, value in held.items() if value >= 0)
        said += naive.said("pg_name", texts[group], 29) if group >= 0 else b""
        expected += naive.written(k, texts[k % 2], kind, needs, number, said)
    on = np.array([need for row in given_rows for need in row[2]], "i8")
    first = np.cumsum([0, *(len(row[2]) for row in given_rows)])
    out, body = np.zeros(10_000, "u1"), np.zeros(400, "u1")
    said = np.frombuffer(b"".join(texts), "u1"), np.cumsum([len(text) for text in texts]), np.frombuffer(KEYS, "u1"), ENDS
    size = chakra_write.write(made, first, on, *said, body, out)
    assert out[:size].tobytes() == expected
