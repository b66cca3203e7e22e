"""The simulation of schedules, against the naive twin."""

from hypothesis import given
from hypothesis import strategies as st

import build
import goals
import naive_goal
from perwiz.loggps import semantics

COSTS = st.fixed_dictionaries(
    {"L": st.sampled_from([0, 10, 2500]), "o": st.sampled_from([0, 3, 1500]), "g": st.sampled_from([0, 5, 1000])}
    | {"G": st.sampled_from([0, 1, 6]), "O": st.sampled_from([0, 2]), "S": st.sampled_from([0, 50, 10**6])}
)


@given(goals.texts(units=2), COSTS)
def test_simulate__twin(content, cost):
    schedule = goals.read(content)
    found = semantics.simulate(schedule, build.hand_model(**cost))
    assert (found.end.tolist(), len(schedule) - found.stuck) == naive_goal.simulate(schedule, cost)


def test_simulate__nobody_receives():
    schedule = goals.read("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nl1: recv 1b from 0 tag 7\nl2: calc 5\nl2 requires l1\n}\n")
    found = semantics.simulate(schedule, build.hand_model())
    assert (found.stuck, found.unreceived, found.end.tolist()) == (2, 1, [2, 14])
