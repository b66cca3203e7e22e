"""The makespan as a function of a parameter: by hand, laws, and beside `predict`, which rounds."""

import contextlib
import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings

import build
from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.hypotheses.computation import Scale
from perwiz.whatif.hypotheses.network import Network
from perwiz.whatif.limits.curve import NETWORK, curve, lines_of, parameter
from perwiz.whatif.predict import predict
from questions import Questions

WHOLE = hand_model(G=3, g=500, O=1, S=5000, s=100, L=800, o=90, gap="sending call", progress="in calls")
"""All costs are whole ns."""


def late_sender():
    """Rank 1 waits for rank 0. A message takes o + L = 12, the receive works 30 more.

    rank 0  ====== send ==            0 .. 1000 .. 1010 .. 1095
    rank 1  recv ~~~~~~~  ==          0 .. 1042 .. 1100
    """
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 1, at=(1000, 1010))
    b.compute(0, 85)
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 1042))
        b.compute(1, 58)
    return b.trace("late.alog")


def segments(found):
    """Return (x, makespan) of all corners, and the slopes."""
    return list(zip(found.x.tolist(), found.value.tolist(), strict=True)), found.slope.tolist()


@pytest.mark.parametrize(
    ("of", "corners", "slopes"),
    [
        # Rank 0 alone: 1095. Through the message: 1000 + o + L + 30 + 58.
        ("L_ns", [(0, 1095), (5, 1095), (100, 1190)], [0, 1]),
        # Rank 0: 1085 + 8 of unknown work + o; the message: o before, o behind it, and 28 unknown.
        ("o", [(0, 1096), (100, 1296)], [2]),
        ("rank:0", [(0, 100), (90 / 85, 100 + 1000 * 90 / 85), (10, 10860)], [1000, 1085]),
        ("rank:1", [(0, 1095), (53 / 58, 1095), (10, 1042 + 580)], [0, 58]),
        ("region:solve", [(0, 1095), (53 / 58, 1095), (10, 1042 + 580)], [0, 58]),
    ],
)
def test_by_hand(of, corners, slopes):
    most = 100.0 if of in ("L_ns", "o") else None
    found = curve(late_sender(), of, most=most, model=hand_model())
    points, found_slopes = segments(found)
    assert points == [pytest.approx(pair, abs=1e-6) for pair in corners]
    assert found_slopes == slopes
    assert found.gap == 0
    assert [found.at(x) for x, _ in corners] == pytest.approx([y for _, y in corners], abs=1e-6)


def test_a_class_by_hand():
    """L is 10 within the node, where all are, and o_s is half of o_r: per ns of o_r the path through the message grows by 1.5."""
    model = hand_model().with_changes("between-nodes:L_ns=40,o_r_ns=4")
    found = {of: curve(late_sender(), of, most=100.0, model=model) for of in ("L", "within-node:L", "o", "within-node:o_r")}
    assert [each.recorded for each in found.values()] == [10, 10, 4, 4]
    assert [each.recorded_slope for each in found.values()] == [1, 1, 1.5, 1]
    assert segments(found["L"]) == segments(found["within-node:L"])


def test_tolerance__by_hand():
    """The run of 1100 ns is 1 % slower 11 ns later: at L = 21. Of rank 0 both paths count: 1000 x + 100 and 1085 x + 10 reach 1111."""
    found = curve(late_sender(), "L", model=hand_model())
    assert (found.tolerance(0.01), found.tolerance(0.1)) == (pytest.approx(21), pytest.approx(120))
    assert curve(late_sender(), "rank:0", model=hand_model()).tolerance(0.01) == pytest.approx(1.011)
    assert curve(late_sender(), "rank:0", model=hand_model()).tolerance(0.1) == pytest.approx(1200 / 1085)
    assert curve(late_sender(), "g_ns", most=9, model=hand_model()).tolerance(0.01) is None
    assert curve(late_sender(), "O", most=9, model=hand_model()).tolerance(1e10) is None
    assert "<Curve of late.alog over rank:0: 2 segments from 0 to 10>" in repr(curve(late_sender(), "rank:0", model=hand_model()))


def test_run_that_begins_late():
    """The makespan counts from the first instant of any process, here 300."""
    b = Builder(2)
    b.begin |= {0: 400, 1: 300}
    b.compute(0, 600)
    b.send(0, 1, 1, at=(1000, 1010))
    b.recv(1, 0, at=(300, 1042))
    assert segments(curve(b.trace(), model=hand_model())) == ([(0, 732), (100, 832)], [1])


def test_tolerance__flat_at_first():
    """Rank 1 ends 50 before rank 0: its latency may grow by that, and by 1 % of 1150 = 11.5 more."""
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 1, at=(1000, 1010))
    b.compute(0, 140)
    b.recv(1, 0, at=(0, 1042))
    b.compute(1, 58)
    assert curve(b.trace(), model=hand_model()).tolerance(0.01) == pytest.approx(10 + 50 + 11.5)


def test_progress():
    told = []
    found = curve(late_sender(), model=hand_model(), progress=told.append)
    assert told == [1, 2, 3, 4]
    assert found.lines.sweeps == 4  # two ends, the corner, and the recorded value


def test_node():
    trace = late_sender()
    location = dataclasses.replace(trace.locations, node=np.array([0, 1], "i4"))
    trace = dataclasses.replace(trace, nodes=("fast", "slow"), locations=location)
    for node, rank in (("fast", 0), ("slow", 1)):
        one, other = (curve(trace, of, model=hand_model()) for of in (f"node:{node}", f"rank:{rank}"))
        assert segments(one) == segments(other)
    with pytest.raises(UsageError, match=r"^node:big: no such node, the trace has fast, slow$"):
        curve(trace, "node:big")


LETTERS = "must be one of L, o, o_s, o_r, g, G, O, O_s, O_r, or like between-nodes:L, rank:3, node:NAME or region:NAME"


@pytest.mark.parametrize(
    ("of", "settings", "message"),
    [
        ("S", {}, f"'S': {LETTERS}"),
        ("rank:", {}, f"'rank:': {LETTERS}"),
        ("bandwidth", {}, f"'bandwidth': {LETTERS}; bandwidth is G, ns per byte, the inverse of it"),
        ("within-node:latency", {}, f"'within-node:latency': {LETTERS}; latency is within-node:L"),
        ("between-nodes:L", {}, "between-nodes:L_ns: no message or collective of late.alog is between-nodes, all are within-node"),
        ("between-nodes:S", {}, f"'between-nodes:S': {LETTERS}"),
        ("rank:9", {}, "rank:9: no such rank, the trace has ranks 0 to 1"),
        ("node:x", {}, "node:x: no such node, the trace tells of no nodes"),
        ("regoin:solve", {}, f"'regoin:solve': {LETTERS}; did you mean region:solve?"),
        ("region:x", {}, "region 'x': no such region, the trace has solve"),
        ("region:solve,solve", {}, "region 'solve,solve': 2 regions, must be one"),
        ("rank:0,1", {}, "'rank:0,1': several ranks, must be one like rank:3"),
        ("O", {}, "O_ns_per_byte is 0 in the model: ten times that is no interval, must be given an end"),
        ("L", {"most": 0}, "L_ns from 0 to 0: must rise, from 0 to at most 1e+12"),
        ("L", {"least": -1, "most": 5}, "L_ns from -1 to 5: must rise, from 0 to at most 1e+12"),
        ("L", {"most": 1e13}, "L_ns from 0 to 1e+13: must rise, from 0 to at most 1e+12"),
    ],
)
def test_refusals(of, settings, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        curve(late_sender(), of, model=hand_model(), **settings)


def test_empty_trace():
    found = curve(build.empty(), model=hand_model())
    assert segments(found) == ([(0, 0), (100, 0)], [0])
    assert found.tolerance(0.01) is None


def test_parameter():
    assert [parameter(text) for text in ("L", "G_ns_per_byte", "rank:3")] == ["L_ns", "G_ns_per_byte", "rank:3"]
    assert [parameter(letter) for letter in ["L", "o", "o_s", "o_r", "g", "G", "O", "O_s", "O_r"]] == list(NETWORK)
    assert [parameter(f"between-nodes:{text}") for text in ("L", "o_s_ns")] == ["between-nodes:L_ns", "between-nodes:o_s_ns"]


def asked(trace):
    """Return parameters that fit a trace."""
    return [*"LogGO", *(f"rank:{rank}" for rank in trace.locations.process[:2]), *(f"region:{name}" for name in trace.names)]


def check(trace, model=WHOLE):
    """Convex, rising, through the recorded run, and never below a sweep at any point."""
    for of in asked(trace):
        found = curve(trace, of, most=5000 if len(of) == 1 else 10, model=model, clock="none")
        assert found.gap == 0
        assert (np.diff(found.slope) > 0).all()
        assert (np.diff(found.x) > 0).all()
        assert (found.slope >= 0).all()
        assert (found.at(found.recorded), found.run.makespan) == (trace.timeline.makespan, trace.timeline.makespan)
        for x in np.linspace(found.x[0], found.x[-1], 7):
            assert found.at(x) == pytest.approx(np.interp(x, found.x, found.value), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_laws__catalogue(name):
    check(build.CATALOGUE[name]())


@pytest.mark.slow
@settings(max_examples=15)
@given(build.programs())
def test_laws__random(trace):
    check(trace)


def beside_predict(questions, of, x):
    """Return how far the curve is from the prediction at a point, ns."""
    if len(of) == 1:
        asked = Network(f"{parameter(of)}={x}")
    else:
        asked = Scale(f"{of.removeprefix('region:')}={x}")
    return abs(lines_of(questions.run(()), parameter(of)).makespan(x) - questions.makespan(asked))


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(3, 2))
def test_predict_is_as_close_as_it_rounds__catalogue(name):
    """Two numbers are rounded for every call, lag and work, and one for every segment of computation."""
    trace = build.CATALOGUE[name]()
    regions, questions = [f"region:{name}" for name in trace.names], Questions(trace, WHOLE, "none")
    for of, x in itertools.product([*"LogGO", *regions], (0, 3, 4000)):
        with contextlib.suppress(UsageError):
            assert beside_predict(questions, of, x) <= len(trace.calls) + len(trace.regions)


def test_long_runs_are_searched_for_a_while_only(monkeypatch):
    monkeypatch.setattr("perwiz.whatif.limits.curve._SWEEPS", 1)
    monkeypatch.setattr("perwiz.whatif.limits.curve._EDGES", 1)
    b, time = Builder(3), np.random.default_rng(1)
    for _ in range(20):
        for rank in range(3):
            b.compute(rank, int(time.integers(1000, 9000)))
            b.sendrecv(rank, (rank + 1) % 3, (rank - 1) % 3)
    trace = b.trace()
    short, whole = (curve(trace, "rank:0", model=hand_model(), exact=exact) for exact in (False, True))
    assert whole.gap == 0 < short.gap
    assert len(short.slope) < len(whole.slope)
    for x in np.linspace(0, 10, 50):
        lower = float(np.interp(x, short.x, short.value))
        assert lower - 1e-4 <= whole.at(x) <= lower + short.gap + 1e-4


def test_ends__have_the_spans_of_predict():
    """A rank that computes 20 times 10 or 14 is to take half or twice as long, each weight rounded to ns."""
    b = Builder(1, work=0)
    for k in range(20):
        b.compute(0, (10, 14)[k * k % 7 % 2])
        b.call(0, "Wtime")
    trace = b.trace()
    found = curve(trace, "rank:0", 0.5, 2, hand_model())
    for (answer, span), factor in zip(found.ends(), ("2", "0.5"), strict=True):
        predicted = predict(trace, f"speed rank:0={factor}", hand_model())
        assert (answer.makespan, span) == (predicted.predicted.makespan, predicted.span)
        assert span.least < answer.makespan < span.most
