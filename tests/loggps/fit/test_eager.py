"""Eager limits from what senders show by size, worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import Builder, hand_model
from perwiz.kernels.names import ACROSS, METAHOST
from perwiz.loggps.fit.eager import NO_LIMIT, Held, by_size, held_senders, limits, separated, told, untold
from perwiz.loggps.fit.senders import senders
from perwiz.loggps.machine import Estimate, Unknown
from shown import sizes

ALWAYS = Estimate("progress", "", "always", 9, 0)
IN_CALLS = Estimate("progress", "", "in calls", 9, 0)


def found(*rows, progress=ALWAYS):
    """Return the limits of rows as (class of pairs, key, value) and the ends of what is unknown."""
    out = limits(sizes(*rows))
    return [(e.pairs, e.key, e.value, e.telling, e.against) for e in told(out)], [u.ends for u in untold(out, progress, False)]


def why(*rows, progress=ALWAYS):
    """Return why limits are unknown."""
    return [u.why for u in untold(limits(sizes(*rows)), progress, False)]


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ([40, 12, 9, 0, 1], [0, 0, 0, 30, 70], (512, 4096, 1)),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], (0, NO_LIMIT + 1, 0)),
        ([1, 0, 0, 0, 0], [0, 0, 0, 0, 0], (8, NO_LIMIT + 1, 0)),
        ([0, 0, 0, 0, 0], [0, 3, 0, 0, 0], (0, 64, 0)),
        ([0, 0, 9, 0, 0], [0, 3, 0, 0, 0], (512, NO_LIMIT + 1, 3)),
    ],
)
def test_separated(below, above, expected):
    assert separated(np.array([8, 64, 512, 4096, 65536]), np.array(below), np.array(above)) == expected


def test_limit__between_the_largest_let_go_and_the_smallest_held():
    assert found((8, 40, 0), (64, 12, 0), (4096, 0, 30)) == ([("", "S_bytes", 64, 82, 0)], [])
    assert found((8, 40, 0), (64, 12, 0), (100, 0, 0), (4096, 0, 30)) == ([("", "S_bytes", 64, 82, 0)], [("S_bytes=64", "S_bytes=4095")])


def test_limit__three_must_be_held_and_one_let_go():
    assert found((8, 1, 0), (4096, 0, 2)) == ([], [("S_bytes=8", f"S_bytes={NO_LIMIT}")])
    assert found((8, 1, 0), (4096, 0, 3)) == ([("", "S_bytes", 8, 4, 0)], [])
    below = [("S_bytes=0", "S_bytes=7")]
    assert found((8, 1, 101), (4096, 0, 3)) == ([("", "S_bytes", 7, 104, 0)], below)  # one of more than a hundred is chance


def test_limit__nothing_let_go__all_below_what_is_held():
    """Where in between nothing tells, though the trace has no message there: its model may be asked about others."""
    assert found((4096, 0, 30)) == ([("", "S_bytes", 4095, 30, 0)], [("S_bytes=0", "S_bytes=4095")])
    assert found((8, 0, 0), (4096, 0, 30)) == ([("", "S_bytes", 4095, 30, 0)], [("S_bytes=0", "S_bytes=4095")])


def test_limit__nothing_seen():
    assert limits(sizes()) == ()
    (unknown,) = untold((), ALWAYS, False)
    nothing = "no message between processes is seen to be completed by its sender"
    assert unknown == Unknown("S_bytes", "", ("S_bytes=0", f"S_bytes={NO_LIMIT}"), nothing)
    assert why((8, 0, 0)) == ["no receiver came late for messages"]
    assert why((8, 3, 0)) == ["no message is larger than 8 bytes, and none held its sender until it was received"]
    assert why((8, 3, 0), (9, 0, 0)) == ["no receiver came late for messages of more than 8 bytes"]
    assert why((8, 3, 0), (9, 0, 0), (11, 0, 5)) == ["no receiver came late for messages of more than 8 bytes and at most 10"]


@pytest.mark.parametrize(
    ("refused", "ends"),
    [
        (0, ["S_bytes=8", "S_bytes=262144,inline_bytes=511"]),
        (4, ["S_bytes=8", "S_bytes=262144,inline_bytes=511"]),
        (5, ["S_bytes=8", "S_bytes=4095,inline_bytes=511"]),
    ],
)
def test_limit__or_in_place(refused, ends):
    """Of 512 and 4096 bytes all were held; of ten of 4096 five and more in spite of calls in which what is in place would have gone on."""
    rows = (8, 40, 0), (512, 0, 30), (4096, 0, 10, {"refused": refused})
    assert found(*rows) == ([("", "S_bytes", 8, 80, 0)], [])
    assert found(*rows, progress=IN_CALLS)[1] == [tuple(ends)]
    unknown = Unknown("progress", "", ("progress=always", "progress=in calls"), "")
    assert found(*rows, progress=unknown)[1] == [(ends[0], f"{ends[1]},progress=in calls")]
    these = "messages of more than 511 bytes that held their senders may have been sent in place"
    assert why(*rows, progress=IN_CALLS) == [f"{these}: hardly any receiver waited in other calls meanwhile"]


def test_limit__not_in_place():
    """Of 512 bytes 15 of 30 were held though they would have gone on; what is larger than 256 KiB nobody sends so."""
    assert found((8, 40, 0), (512, 0, 30, {"refused": 15}), progress=IN_CALLS)[1] == []
    assert found((8, 40, 0), (262_145, 0, 30), progress=IN_CALLS)[1] == []


def test_limit__chance_and_contradiction():
    """Some held by chance count for little against many that went on; where they are as many, nothing is told."""
    assert found((8, 40, 9), (64, 0, 3), (512, 60, 0), (4096, 0, 30)) == ([("", "S_bytes", 512, 130, 3)], [])
    assert found((8, 0, 20), (64, 20, 0))[0] == []
    assert why((8, 0, 20), (64, 20, 0)) == ["20 of 40 senders of late receivers contradict any limit"]


def test_limit__what_passed_is_not_held():
    """Five went on while their receiver computed, four are held until it came back: by chance."""
    assert found((8, 0, 0, {"moved": 4, "passed": 5})) == ([], [("S_bytes=0", f"S_bytes={NO_LIMIT}")])
    assert found((8, 0, 0, {"moved": 5, "passed": 5})) == ([("", "S_bytes", 7, 5, 0)], [("S_bytes=0", "S_bytes=7")])


def test_limit__in_place():
    """Of 50 of 512 bytes 10 went on as the receiver waited, 40 did not: of the 10 and 20 larger ones 6 would have, of the 10 only 2."""
    rows = (8, 40, 0), (512, 10, 40, {"taken": 10, "refused": 40}), (1024, 0, 10, {"refused": 10}), (4096, 0, 20, {"refused": 20})
    seen = sizes(*rows)
    assert seen.in_place.tolist() == [False, True, False, False]
    (limit,) = limits(seen)
    assert (limit.low, limit.high, limit.value) == (512, 4095, 512)
    assert limit.why == "messages of more than 512 bytes that held their senders may have been sent in place, as smaller ones were"
    assert found((8, 40, 0), (16, 0, 30), rows[1], rows[3]) == ([], [("S_bytes=512", f"S_bytes={NO_LIMIT}")])  # 20: four would have
    never = (512, 10, 40, {"refused": 40})
    assert found((8, 40, 0), never, *rows[2:]) == ([], [("S_bytes=512", f"S_bytes={NO_LIMIT}")])


def test_limit__kinds_of_send():
    pooled = found((8, 40, 0), (512, 9, 0), (4096, 0, 30, {"sends": 1}))
    assert pooled == ([("", "S_bytes", 512, 79, 0)], [])
    apart = found((8, 40, 0), (512, 0, 30), (512, 40, 0, {"sends": 2}), (4096, 0, 30, {"sends": 2}))
    assert apart == ([("", "S_blocking_bytes", 8, 70, 0), ("", "S_sendrecv_bytes", 512, 70, 0)], [])


def test_limit__classes_of_pairs():
    near, far = {"pairs": METAHOST}, {"pairs": ACROSS}
    pooled = found((8, 40, 0), (512, 9, 0, near), (4096, 0, 30, far))
    assert pooled == ([("", "S_bytes", 512, 79, 0)], [])
    apart, unknown = found((512, 9, 0, near), (4096, 0, 30, near), (4096, 40, 0, far), (4097, 0, 0, far))
    assert apart == [("between-nodes", "S_bytes", 512, 39, 0)]
    assert unknown == [("between-metahosts:S_bytes=4096", f"between-metahosts:S_bytes={NO_LIMIT}")]


def test_by_size():
    trace = program([(8, 0, 50_000), (8, 0, 50_000), (200, 1, 50_000)], 100)
    seen = by_size(senders(trace))
    assert [seen.bytes.tolist(), seen.sends.tolist(), seen.gone.tolist(), seen.kept.tolist()] == [[8, 200], [0, 1], [2, 0], [0, 1]]


def test_held_senders():
    """Three of 200 and two of 300 bytes were held, none of 8; a model that lets all go is contradicted, one that holds them is not."""
    trace = program([(8, 0, 50_000)] * 3 + [(200, 0, 50_000)] * 3 + [(300, 0, 50_000)] * 3, 100)
    assert held_senders(trace, hand_model(S=1000)) == Held(200, 6, 6)
    assert held_senders(trace, hand_model(S=250)) == Held(200, 3, 3)
    assert held_senders(trace, hand_model(S=100)) is None
    assert held_senders(trace, hand_model(S=1000, progress="in calls", inline_bytes=100)) is None


def program(steps, eager):
    """Return a run of messages (bytes, kind of send, ns that the receiver computes more than the sender) of a machine with this limit."""
    b = Builder(2, eager=eager)
    for size, kind, late in steps:
        b.barrier()
        b.compute(0, max(-late, 0))
        b.compute(1, max(late, 0))
        if kind == 0:
            b.send(0, 1, size)
        elif kind == 1:
            b.wait(0, b.isend(0, 1, size))
        else:
            b.sendrecv(0, 1, None, size)
        b.recv(1, 0)
    return b.trace()


STEP = st.tuples(st.sampled_from([1, 8, 64, 100, 101, 1000]), st.integers(0, 2), st.integers(-90_000, 90_000))
STEPS = st.lists(STEP, min_size=1, max_size=20)


@settings(max_examples=20)
@given(STEPS, st.sampled_from([0, 8, 100, 500, 1000]))
def test_law__finds_the_limit_of_the_machine(steps, eager):
    """What lets a sender go in the model never shows it held, and the limit lies between the ends."""
    trace = program(steps, eager)
    seen = senders(trace)
    assert not (seen.kept | seen.moved)[seen.bytes <= eager].any()
    assert not (seen.gone | seen.computed)[seen.bytes > eager].any()
    for limit in limits(by_size(seen)):
        assert limit.low <= eager <= (NO_LIMIT if limit.high is None else limit.high)


def test_other_ranks__change_nothing():
    trace = program([(8, 0, 50_000), (200, 1, 50_000)] * 3, 100)
    other = dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, process=trace.locations.process[::-1].copy()))
    assert limits(by_size(senders(other))) == limits(by_size(senders(trace)))
    assert told(limits(by_size(senders(trace)))) == (Estimate("S_bytes", "", 8, 6, 0),)
