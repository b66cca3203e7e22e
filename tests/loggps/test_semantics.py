"""Small programs under the semantics of LogGOPSim: what it printed is the truth.

Printed by LogGOPSim of spcl/LogGOPSim 76451de, its schedules made by the txt2bin beside it, both built by g++ 12 with libcgraph:
`LogGOPSim -f x.bin --LogGOPS_L .. --LogGOPS_o .. --LogGOPS_g .. --LogGOPS_G .. --LogGOPS_O .. --LogGOPS_S ..`, its lines `Host N: T`.
"""

import pytest

import build
import goals
from perwiz.errors import TraceError
from perwiz.loggps import semantics

DEFAULT = {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 0, "S": 65535}
"""Its own, of its command line."""
SMALL = {"L": 10, "o": 3, "g": 5, "G": 1, "O": 2, "S": 50}
PROGRAMS = {
    "one eager message": ([["l1: send 100b to 1"], ["l1: recv 100b from 0"]], [1500, 6094], [201, 214]),
    "two sends in a row": (
        [
            ["l1: send 100b to 1 tag 1", "l2: send 100b to 1 tag 2", "l2 requires l1", "l3: calc 10", "l3 requires l2"],
            ["l1: recv 100b from 0 tag 1", "l2: recv 100b from 0 tag 2", "l2 requires l1"],
        ],
        [3104, 8188],
        [412, 415],
    ),
    "late receiver, eager": (
        [
            ["l1: send 100b to 1", "l2: calc 10", "l2 requires l1"],
            ["l1: calc 9000", "l2: recv 100b from 0", "l2 requires l1", "l3: calc 1", "l3 requires l2"],
        ],
        [1510, 11095],
        [9010, 9202],
    ),
    "late receiver, rendezvous": (
        [
            ["l1: send 70000b to 1", "l2: calc 10", "l2 requires l1"],
            ["l1: calc 900000", "l2: recv 70000b from 0", "l2 requires l1", "l3: calc 1", "l3 requires l2"],
        ],
        [900010, 1321495],
        [900010, 1040002],
    ),
    "early receiver, rendezvous": (
        [
            ["l1: calc 5000", "l2: send 70000b to 1", "l2 requires l1", "l3: calc 10", "l3 requires l2"],
            ["l1: recv 70000b from 0", "l2: calc 1", "l2 requires l1"],
        ],
        [9010, 430495],
        [145011, 145015],
    ),
    "computation beside a receive": (
        [
            ["l1: calc 3000", "l2: send 8b to 1", "l2 requires l1"],
            ["l1: recv 8b from 0", "l2: calc 10000", "l3: calc 5", "l3 requires l1", "l3 requires l2"],
        ],
        [4500, 11547],
        [3017, 10022],
    ),
    "two processors": (
        [
            ["l1: calc 3000", "l2: send 8b to 1 cpu 1", "l3: calc 100 cpu 1", "l3 requires l1"],
            ["l1: recv 8b from 0", "l2: calc 10000 cpu 1", "l3: calc 5", "l3 requires l1"],
        ],
        [3000, 11542],
        [3000, 10017],
    ),
    "any source, any tag": (
        [
            ["l1: recv 8b from -1 tag -1", "l2: recv 8b from -1 tag 4", "l2 requires l1", "l3: calc 1", "l3 requires l2"],
            ["l1: calc 4000", "l2: send 8b to 0 tag 4", "l2 requires l1"],
            ["l1: send 8b to 0 tag 4"],
        ],
        [9543, 5500, 1500],
        [4031, 4017, 17],
    ),
    "no bytes": (
        [["l1: send 0b to 1", "l2: calc 1", "l2 requires l1"], ["l1: recv 0b from 0", "l2: calc 1", "l2 requires l1"]],
        [1501, 5495],
        [2, 16],
    ),
    "begun, not done": (
        [["l1: send 70000b to 1", "l2: calc 500", "l2 irequires l1"], ["l1: recv 70000b from 0", "l2: calc 500", "l2 irequires l1"]],
        [4000, 425494],
        [140501, 140501],
    ),
    "two interfaces": (
        [
            ["l1: send 1000b to 1 tag 1", "l2: send 1000b to 1 tag 2 nic 1"],
            ["l1: recv 1000b from 0 tag 1", "l2: recv 1000b from 0 tag 2"],
        ],
        [3000, 18988],
        [4002, 4015],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("letters", "which"), [(DEFAULT, 1), (SMALL, 2)], ids=["default", "small"])
def test_loggopsim__printed(name, letters, which):
    found = semantics.simulate(goals.read(goals.text_of(PROGRAMS[name][0])), build.hand_model(**letters), "loggopsim")
    assert (found.end.tolist(), found.stuck, found.unreceived) == (PROGRAMS[name][which], 0, 0)


def test_loggopsim__refused():
    schedule = goals.read(goals.text_of([[f"calc {1 << 50}"] * 1025]))
    with pytest.raises(TraceError, match=r"operations take 1.15e\+18 ns together, must take less than 2\^60$"):
        semantics.simulate(schedule, build.hand_model(), "loggopsim")
