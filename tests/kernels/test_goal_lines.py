"""Statements of GOAL as rows, against the naive twin and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goals
import naive_goal
from perwiz.kernels import goal_lines as kernel

BLANKS = st.sampled_from([" ", "  ", "\t", " /* x */ "])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " // y\n", "/* a\nb */\n"])


def word(text, place):
    """Return the label at a place, None at none."""
    end = place
    while place >= 0 and (text[end : end + 1].isalnum() or text[end : end + 1] == b"_"):
        end += 1
    return text[place:end].decode() if place >= 0 else None


def parsed(text, room=1 << 10):
    """Return (what the twin returns, what had to be where reading ended, that place)."""
    data = text.encode() + b"\n\n\n"
    scan = np.array([(0, len(text.encode()), -1, 0, -1)], kernel.SCAN).view(np.recarray)
    rows = np.zeros(room, kernel.ROW).view(np.recarray)
    out = []
    while True:
        count = kernel.parse(np.frombuffer(data, "u1"), np.frombuffer(kernel.KEYWORDS, "u1"), scan, rows)
        for row in rows[:count]:
            ends = word(data, int(row.label)), word(data, int(row.other))
            out.append(tuple(int(row[n]) for n in ("kind", "rank", "amount", "peer", "tag", "cpu", "nic")) + ends)
        if count < room:
            return out, int(scan[0].wanted), int(scan[0].at)


@given(goals.texts(units=2), BLANKS, ENDS, st.integers(1, 5))
def test_parse__twin(text, blank, end, room):
    text = text.replace(" ", blank).replace("\n", end)
    rows, wanted, _ = parsed(text, room)
    assert (rows, wanted) == (naive_goal.statements(text), 0)


def test_parse__by_hand():
    text = "num_ranks 2\nrank 0\n{ l_1: send 10 b to 1 nic 2 tag 5 cpu 1\nb: calc 7\nb requires l_1\nto irequires b }"
    assert parsed(text)[0] == [
        (kernel.RANK, 0, 0, -1, 0, 0, 0, None, None),
        (kernel.SEND, 0, 10, 1, 5, 1, 2, "l_1", None),
        (kernel.CALC, 0, 7, -1, 0, 0, 0, "b", None),
        (kernel.REQUIRES, 0, 0, -1, 0, 0, 0, "b", "l_1"),
        (kernel.IREQUIRES, 0, 0, -1, 0, 0, 0, "to", "b"),
    ]


@pytest.mark.parametrize(
    ("text", "wanted", "at"),
    [
        ("%", kernel.STATEMENT, "%"),
        ("}", kernel.STATEMENT, "}"),
        ("calc 1", kernel.BLOCK, "calc"),
        ("num_ranks x", kernel.NUMBER, "x"),
        ("num_ranks 1234567890123456789", kernel.NUMBER, "1234567890123456789"),
        ("rank /* x", kernel.NUMBER, "/* x"),
        ("rank 0 [", kernel.BRACE, "["),
        ("rank 0 /* x", kernel.BRACE, "/* x"),
        ("rank 0 {\nrank 1", kernel.CLOSED, "rank 1"),
        ("rank 0 {\nl1 calcs 5", kernel.STATEMENT, "calcs"),
        ("rank 0 {\nl1: requires", kernel.LABEL, "\n"),
        ("rank 0 {\nl1: rank 5", kernel.STATEMENT, "rank 5"),
        ("rank 0 {\nl1 /* x", kernel.COMMENT, "/* x"),
        ("rank 0 {\nl1 requires 5", kernel.LABEL, "5"),
        ("rank 0 {\nl1 requires /* x", kernel.LABEL, "/* x"),
        ("rank 0 {\nl1 requires l2 /* x", kernel.COMMENT, "/* x"),
        ("/* x", kernel.COMMENT, "/* x"),
        ("rank 0 {\ncalc x", kernel.NUMBER, "x"),
        ("rank 0 {\ncalc 5 tag 1", kernel.OPTION, "tag"),
        ("rank 0 {\ncalc 5 cpu x", kernel.NUMBER, "x"),
        ("rank 0 {\ncalc 5 5", kernel.OPTION, "5\n"),
        ("rank 0 {\ncalc 5 /* x", kernel.COMMENT, "/* x"),
        ("rank 0 {\nsend 5 to 1", kernel.BYTE_MARK, "to"),
        ("rank 0 {\nsend 5b from 1", kernel.DIRECTION, "from"),
        ("rank 0 {\nrecv 5b to 1", kernel.DIRECTION, "to"),
        ("rank 0 {\nsend 5b to -1", kernel.PEER, "-1"),
        ("rank 0 {\nrecv 5b from -12", kernel.PEER, "-12"),
    ],
)
def test_parse__wrong(text, wanted, at):
    _, found, place = parsed(text)
    assert (found, (text + "\n")[place : place + len(at)]) == (wanted, at)


@pytest.mark.parametrize(("text", "before"), [("rank 0 {\ncalc 5 /* x\n*/\ncalc 6\n}", 1), ("rank 0 {\ncalc 5\n/* x\n*/\ncalc 6\n}", 2)])
def test_parse__piece_that_ends_in_a_comment(text, before):
    """A piece ends with a line; where that is in a comment, what is before that is read, but no statement that it is behind."""
    end = [place for place, letter in enumerate(text) if letter == "\n"][before]
    scan = np.array([(0, end, -1, 0, -1)], kernel.SCAN).view(np.recarray)
    rows = np.zeros(9, kernel.ROW).view(np.recarray)
    count = kernel.parse(np.frombuffer(text.encode() + b"\n\n\n", "u1"), np.frombuffer(kernel.KEYWORDS, "u1"), scan, rows)
    assert rows[:count].kind.tolist() == [kernel.RANK, kernel.CALC][:before]
    assert scan[0].wanted == kernel.COMMENT
