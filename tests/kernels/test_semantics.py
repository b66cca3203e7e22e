"""The simulation of schedules, against the naive twin."""

import collections
import dataclasses

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

import build
import goals
import naive_goal
from perwiz.formats.goal.schedule import CALC, RECV, SEND
from perwiz.loggps import semantics
from perwiz.loggps.keys import NO_LIMIT
from perwiz.loggps.schedules import behind

COSTS = st.fixed_dictionaries(
    {"L": st.sampled_from([0, 10, 2500]), "o": st.sampled_from([0, 3, 1500]), "g": st.sampled_from([0, 5, 1000])}
    | {"G": st.sampled_from([0, 1, 6]), "O": st.sampled_from([0, 2]), "S": st.sampled_from([0, 50, 10**6])}
)


@given(goals.texts(units=2), COSTS)
def test_simulate__twin(content, cost):
    schedule = goals.read(content)
    found = semantics.simulate(schedule, build.hand_model(**cost), "loggopsim")
    assert (found.end.tolist(), len(schedule) - found.stuck) == naive_goal.simulate(schedule, cost)


def met(early, late):
    """Return a schedule of one message, whose sender and receiver each begin with a computation."""
    sender = f"rank 0 {{\nl0: calc {early}\nl1: send 8b to 1 tag 0\nl1 requires l0\nl2: calc 1\nl2 requires l1\n}}\n"
    receiver = f"rank 1 {{\nl0: calc {late}\nl1: recv 8b from 0 tag 0\nl1 requires l0\nl2: calc 5\n}}\n"
    return f"num_ranks 2\n{sender}{receiver}"


AT_ONCE = {"L": 10, "o": 3, "g": 5, "G": 1, "O": 2, "S": 10**6}


@given(goals.texts(units=2), COSTS)
@example(met("0", "5000"), AT_ONCE)
@example(met("5000", "0"), AT_ONCE)
@example(met("0", "5000"), AT_ONCE | {"S": 0})
@example(met("5000", "0"), AT_ONCE | {"S": 0})
@example(met("0", "12"), AT_ONCE)
def test_simulate_atlahs__twin(content, cost):
    schedule = goals.read(content)
    found = semantics.simulate(schedule, build.hand_model(**cost), "atlahs")
    assert (found.end.tolist(), len(schedule) - found.stuck) == naive_goal.atlahs(schedule, cost)


INNER = st.fixed_dictionaries({"L": st.sampled_from([0, 7, 900]), "G": st.sampled_from([0, 2])})


def with_inner(cost, inner):
    """Return a model with other costs within a node."""
    model = build.hand_model(**cost)
    return dataclasses.replace(model, costs=(*model.costs, dataclasses.replace(model.costs[0], pairs="within-node", **inner)))


@given(goals.texts(units=2), COSTS, st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2]), INNER, st.data())
def test_simulate_dimemas__twin(content, cost, links, buses, inner, data):
    schedule = goals.read(content)
    model = dataclasses.replace(with_inner(cost, inner), interfaces=links or NO_LIMIT)
    node = data.draw(st.lists(st.integers(0, 2), min_size=schedule.ranks, max_size=schedule.ranks))
    found = semantics.simulate(schedule, model, "dimemas", node=np.array(node, "i4"), buses=buses)
    assert (found.end.tolist(), len(schedule) - found.stuck) == naive_goal.dimemas(schedule, cost, links, node, inner, buses)


MET = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.sampled_from(["all", "reduce", "posted"]),
        st.lists(st.integers(0, 4), min_size=2, unique=True),
        st.sampled_from([0, 8, 100]),
    ),
    min_size=1,
    max_size=6,
)
TIMES = {"dimemas": lambda n: 1, "dimemas-linear": lambda n: n - 1, "dimemas-log": lambda n: (n - 1).bit_length()}


@given(MET, COSTS, st.sampled_from(sorted(TIMES)), INNER, st.sampled_from([[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [0] * 5]))
def test_simulate_dimemas__collectives_twin(program, cost, profile, inner, node):
    schedule, meetings = goals.met(program, 5)
    found = semantics.simulate(schedule, with_inner(cost, inner), profile, meetings, np.array(node, "i4"))
    assert found.end.tolist() == naive_goal.collectives(program, cost, TIMES[profile], node, inner)
    assert found.stuck == 0


def test_simulate_dimemas__by_hand():
    """L 10, G 1, S 50. A held message looks beyond a receive of another tag; a root that comes last in MPI_Reduce goes on at once.

    Rank 0 posts two receives until 20; rank 1 sends tag 6 until 60, there 100 later, and tag 5 until 70, there 100 later.
    Ranks 0 and 3 meet at 40 and go on 2 L + 100 G later; rank 0 is ready 10 later, the messages of ranks 1 and 2 come at 18.
    """
    content = goals.text_of(
        [
            ["l1: recv 100b from 1 tag 5", "l2: recv 100b from -1 tag -1"],
            ["l1: calc 50", "l2: send 100b to 0 tag 6", "l2 requires l1", "l3: send 100b to 0 tag 5", "l3 requires l2"],
        ]
    )
    model = build.hand_model(L=10, G=1, S=50)
    found = semantics.simulate(goals.read(content), model, "dimemas")
    assert (found.end.tolist(), found.stuck) == ([170, 70], 0)
    schedule, meetings = goals.met([(40, "all", [0, 3], 100), (0, "reduce", [0, 1, 2], 8)], 4)
    assert semantics.simulate(schedule, model, "dimemas", meetings).end.tolist() == [170, 18, 18, 160]


def test_behind__by_hand():
    """Of communicator 3 r r a a r b, of 5 one to a root between them."""
    comm, to_root = np.array([3, 3, 5, 3, 3, 3, 3]), np.array([True, True, True, False, False, True, False])
    assert behind(comm, to_root).tolist() == [0, 1, 0, 2, 0, 0, 1]
    assert behind(comm[:0], to_root[:0]).tolist() == []


@given(goals.texts(wild=False, chained=True), COSTS)
def test_longest__twin(content, cost):
    """Messages of a pair and tag meet their receives in order."""
    schedule = goals.read(content)
    found = semantics.simulate(schedule, build.hand_model(**cost), "llamp")
    assume(found.stuck == 0)
    ends = {SEND: collections.defaultdict(list), RECV: collections.defaultdict(list)}
    for k in np.flatnonzero(schedule.kind != CALC).tolist():
        own, other = (int(schedule.rank[k]), int(schedule.peer[k]))
        pair = (own, other) if schedule.kind[k] == SEND else (other, own)
        ends[int(schedule.kind[k])][*pair, int(schedule.tag[k])].append(k)
    partner = {}
    for key, sends in ends[SEND].items():
        for send, receive in zip(sends, ends[RECV][key], strict=True):
            partner[send], partner[receive] = receive, send
    assert found.end.tolist() == naive_goal.llamp(schedule, cost, partner)


def test_simulate__a_receive_posted_second_matches_first():
    """Receives of tags 1 and 2, and one from anybody with tag 3, are there when tag 2 comes, then 1, then 3."""
    sends = "a: send 1b to 1 tag 2\nb: send 1b to 1 tag 1\nc: send 1b to 1 tag 3\nb requires a\nc requires b\n"
    receives = "recv 1b from 0 tag 1\nrecv 1b from 0 tag 2\nrecv 1b from -1 tag 3\n"
    schedule = goals.read(f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
    cost = {"L": 10, "o": 3, "g": 5, "G": 1, "O": 2, "S": 50}
    found = semantics.simulate(schedule, build.hand_model(**cost), "loggopsim")
    assert (found.end.tolist(), len(schedule) - found.stuck) == naive_goal.simulate(schedule, cost)
    assert found.stuck == 0


def test_simulate__nobody_receives():
    schedule = goals.read("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nl1: recv 1b from 0 tag 7\nl2: calc 5\nl2 requires l1\n}\n")
    found = semantics.simulate(schedule, build.hand_model(), "loggopsim")
    assert (found.stuck, found.unreceived, found.end.tolist()) == (2, 1, [2, 14])
