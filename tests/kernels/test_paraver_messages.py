"""Messages of Paraver to calls: small ones by hand, and a law."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_paraver as naive
from perwiz.formats.paraver.read import ROLES
from perwiz.kernels import paraver, paraver_messages
from perwiz.trace import operations

SENDS, POSTS, RECEIVES, COMPLETES, SEVERAL = paraver.SENDS, paraver.POSTS, paraver.RECEIVES, paraver.COMPLETES, paraver.SEVERAL


def placed(messages, calls, sizes):
    """Return (send, receive, done) of messages (posted, awaited, came, sender, receiver) and calls (enter, leave, role)."""
    rows = np.array([(*times, 1, 1, *ends) for *times, one, its in messages for ends in [(one, its)]], paraver.MESSAGE).view(np.recarray)
    enter, leave, roles = (np.array([call[k] for call in calls], dtype) for k, dtype in enumerate(("i8", "i8", "u1")))
    out = [np.full(len(rows), 77, "i4") for _ in range(3)]
    paraver_messages.place(rows, np.cumsum([0, *sizes]), enter, leave, roles, np.zeros(len(calls), "u1"), *out)
    return list(zip(*(column.tolist() for column in out), strict=True))


def test_place__by_hand():
    """Touching calls: a send that begins where one ends, a wait that ends where the next begins.

    0: send [5, 6], send [6, 6], send [6, 9]
    1: posts [0, 2], posts [2, 2], waits [3, 8], waits [8, 8], receives [8, 12]
    """
    calls = [(5, 6, SENDS), (6, 6, SENDS), (6, 9, SENDS)]
    calls += [(0, 2, POSTS), (2, 2, POSTS), (3, 8, COMPLETES), (8, 8, COMPLETES), (8, 12, RECEIVES)]
    messages = [(5, 2, 8, 0, 1), (6, 2, 8, 0, 1), (6, 8, 12, 0, 1)]
    assert placed(messages, calls, [3, 5]) == [(0, 3, 5), (1, 4, 6), (2, 7, 7)]


def test_place__several_and_none():
    """One wait completes two; a third has nothing that posted it, a fourth is sent by nobody, a fifth comes inside a receive."""
    calls = [(5, 6, SENDS | SEVERAL), (0, 1, POSTS), (1, 2, POSTS), (3, 8, COMPLETES | SEVERAL), (9, 12, RECEIVES)]
    messages = [(5, 1, 8, 0, 1), (5, 2, 8, 0, 1), (5, 2, 8, 0, 1), (50, 9, 12, 0, 1), (5, 10, 11, 0, 1)]
    assert placed(messages, calls, [1, 4]) == [(0, 1, 3), (0, 2, 3), (0, -1, -1), (-1, 4, 4), (0, -1, -1)]
    assert placed([(5, 10, 11, 0, 1)], calls, [1, 4]) == [(0, 4, 4)]


@st.composite
def halves(draw):
    """Draw sends, and receives that block, one behind the other on two locations, and their messages in any order."""
    count = draw(st.integers(1, 6))
    out = []
    for role in (SENDS, RECEIVES):
        now = 0
        for _ in range(count):
            enter = now + draw(st.integers(0, 2))
            now = enter + draw(st.integers(0, 2))
            out.append((enter, now, role))
    order = draw(st.permutations(range(count)))
    return out, count, [(out[k][0], *out[count + k][:2], 0, 1) for k in order], order


@given(halves())
def test_place__takes_calls_of_the_right_times(drawn):
    """Each call is taken once, by a message of its times."""
    calls, count, messages, _ = drawn
    found = placed(messages, calls, [count, count])
    assert sorted(send for send, _, _ in found) == list(range(count))
    assert sorted(done for _, _, done in found) == list(range(count, 2 * count))
    for (posted, awaited, came, *_), (send, receive, done) in zip(messages, found, strict=True):
        assert (calls[send][0], calls[receive][:2], receive) == (posted, (awaited, came), done)


@given(st.lists(st.tuples(*[st.integers(-1, 4)] * 3), max_size=8))
def test_arrange__twin(placed):
    """Of five calls on two processes; what each is told is what the messages in their order tell it, the last of them last."""
    messages = np.array([(k, k, k, 10 + k, 20 + k, k % 3, (k + 1) % 3) for k in range(len(placed))], paraver.MESSAGE).view(np.recarray)
    process, ends = np.array([0, 1, 1], "i4"), [np.array([row[k] for row in placed], "i4") for k in range(3)]
    wanted = naive.arranged(messages.tolist(), placed, process)
    made = np.recarray(len(wanted), paraver.PLACED)
    peer, tag, comm = (np.full(5, -1, "i4") for _ in range(3))
    sent, received = np.zeros(5, "i8"), np.zeros(5, "i8")
    paraver_messages.arrange(messages, process, *ends, np.zeros(5, "i8"), made, peer, tag, comm, sent, received)
    assert [tuple(row[name] for name in ("send", "receive", "done", "tag", "bytes", "sender", "receiver")) for row in made] == wanted
    for call in range(5):
        told = [(row[5], row[3]) for row in wanted if row[1] == call] + [(row[6], row[3]) for row in wanted if row[0] == call]
        assert [(peer[call], tag[call])] == (told[-1:] or [(-1, -1)])
        assert (comm[call] == 0) == bool(told)
        assert (sent[call], received[call]) == tuple(sum(row[4] for row in wanted if row[end] == call) for end in (0, 2))


def test_roles__of_routines():
    names = ("Send", "Isend", "Irecv", "Sendrecv", "Wait", "Waitall", "Start", "Bcast")
    told = {name: int(ROLES[operations.OP[f"MPI_{name}"]]) for name in names}
    assert told == {
        "Send": SENDS,
        "Isend": SENDS,
        "Irecv": POSTS,
        "Sendrecv": SENDS | RECEIVES,
        "Wait": COMPLETES,
        "Waitall": COMPLETES | SEVERAL,
        "Start": SENDS | POSTS | SEVERAL,
        "Bcast": 0,
    }
