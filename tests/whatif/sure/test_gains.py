"""How much gains vary from run to run, and which change gains most how often, by hand and as laws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.report import spans
from perwiz.whatif.hypotheses.base import apply, parse
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.sure import parts
from perwiz.whatif.sure.answers import CLEAR, Answer, Answers, answered, clear_ends, paired
from perwiz.whatif.sure.first import Worth
from perwiz.whatif.sure.noise import Around, noise_of
from perwiz.whatif.sure.pieces import Varies
from perwiz.whatif.sure.places import Place, places
from perwiz.whatif.sure.span import Span


def loop(*lengths, even=100):
    """One process, per step: `varied` takes as long as said, `even` always the same, each up to a barrier of its own."""
    b = Builder(1)
    for length in lengths:
        for name, time in (("varied", length), ("even", even)):
            with b.region(0, name):
                b.compute(0, time)
                b.barrier()
    return b.trace()


def between(trace, *asked, **more):
    found = predict(trace, asked, hand_model(), **more)
    return found.gain, found.span.gain


def test_what_disturbs_both_falls_out():
    """Of 12 steps 80 to 120 ns long, half the time of what never varies is 600 ns in every run, 2 % more or less as recordings differ;
    makespans differ by far more.
    """
    trace = loop(*[80, 120, 100] * 4)
    gain, told = between(trace, "scale even=0.5")
    assert (gain, told.least, told.most, told.draws) == (600, 588, 612, 200)
    assert predict(trace, ["scale even=0.5"], hand_model()).span.around.later > 100


@pytest.mark.parametrize("count", [1, 2, 3, 20, 21, 96, 200])
def test_clear_ends__quantiles(count):
    drawn = np.random.default_rng(count).normal(1e9, 1e6, count)
    assert clear_ends(drawn) == pytest.approx(np.quantile(drawn, (CLEAR, 1 - CLEAR)), rel=1e-14)
    assert clear_ends(np.arange(count)[::-1] * 20.0) == pytest.approx((count - 1, 19 * (count - 1)))


def test_what_varies_gains_more_or_less():
    """Half the time of what varies is 600 ns as recorded, and half of what drawn runs make of its 1200 ns; two steps in a row are drawn as
    one, and gain 100 90 110 100 90 110, which varies less; 2.015 is Student's quantile of 95 % for the degrees of freedom of six.
    """
    trace = loop(*[80, 120, 100] * 4)
    run = replayed(trace, hand_model())
    noise = noise_of(run)
    gains = noise.drawn(run.weighted) - noise.drawn(apply(run.weighted, [parse("scale varied=0.5")]))
    gain, told = between(trace, "scale varied=0.5")
    deviation = gains.std(ddof=1)
    assert deviation > np.std([100, 90, 110] * 2, ddof=1) * 6**0.5
    assert gain == 600
    assert told.mean == pytest.approx(gains.mean(), abs=1)
    assert told.deviation == pytest.approx(deviation, abs=1)
    assert told.least == pytest.approx(min(600, told.mean) - 2.015 * 2**0.5 * deviation, abs=2)
    assert told.most == pytest.approx(max(600, told.mean) + 2.015 * 2**0.5 * deviation, abs=2)


def test_what_differs_inside_of_steps():
    """Eight steps of two pieces that are alike and take 10 and 30, or 30 and 10: 40 in each, so drawn runs do not differ. Without the first
    piece each gains 10 or 30, and another run, in which these come otherwise, 80 to 240.
    """
    b = Builder(1)
    for step in range(8):
        with b.region(0, "step"):
            for time in (10, 30) if step % 2 else (30, 10):
                b.compute(0, time)
                b.barrier()
    run = replayed(b.trace(), hand_model())
    first = np.arange(len(run.graph.entered))[::2]
    weighted = dataclasses.replace(run.weighted, weight=run.weighted.weight.copy())
    weighted.weight[run.graph.start[run.graph.entered[first]]] = 0
    answers = answered(run, [lambda _: weighted])
    answer = answers.of[0]
    assert answers.recorded.makespan - answer.makespan == 160
    assert (np.diff(answers.recorded.ends) - np.diff(answer.ends)).tolist() == [30, 10] * 4
    assert answers.deviation(answer) == pytest.approx(np.std([30, 10] * 4, ddof=1) * 8**0.5)
    assert answers.gains(answer).std() < 1


def test_what_acts_in_one_step():
    """One call of twelve: how its gain differs from that of none in other steps says nothing of another run."""
    run = replayed(loop(*[80, 120, 100] * 4), hand_model())
    weighted = dataclasses.replace(run.weighted, weight=run.weighted.weight.copy())
    weighted.weight[run.graph.start[run.graph.entered[0]]] = 0
    answers = answered(run, [lambda _: weighted])
    assert answers.deviation(answers.of[0]) == answers.gains(answers.of[0]).std(ddof=1)


@pytest.mark.slow
def test_law__nine_of_ten_other_runs():
    """Forty programs of eight steps of 1000 ns, 100 more or less by chance: without half of that another such run gains half of its own."""
    inside, random = 0, np.random.default_rng(1)
    for _ in range(40):
        here, there = np.rint(random.normal(1000, 100, (2, 8))).astype("i8").tolist()
        told = between(loop(*here), "scale varied=0.5", draws=40)[1]
        inside += told.least <= sum(there) / 2 <= told.most
    assert 35 <= inside < 40


def test_balanced_steps_wait_for_the_latest_on_average():
    """Two processes meet after every step, each as long on average: balanced, none waits; in another run one or the other comes later."""
    b = Builder(2)
    for step in range(12):
        for process in range(2):
            with b.region(process, "step"):
                b.compute(process, (90, 110)[(process + step) % 2])
        b.barrier()
    gain, told = between(b.trace(), "balance-time step")
    assert gain == 120
    assert told.mean < gain


def test_too_few_repetitions():
    """Seven iterations are not enough; eight are."""
    assert between(loop(*[80, 120, 100, 90, 110, 120, 80]), "scale varied=0.5")[1] is None
    assert between(loop(*[80, 120, 100, 90, 110, 120, 80, 100]), "scale varied=0.5")[1] is not None


def test_no_runs_drawn():
    found = predict(loop(*[80, 120, 100] * 4), ["scale varied=0.5"], hand_model(), draws=0)
    assert (found.gain, found.span.gain, found.span.varies, found.span.drawn) == (600, None, None, False)
    assert found.span.least == found.predicted.makespan == found.span.most


def test_the_same_again():
    trace = loop(*[80, 120, 100] * 4)
    assert between(trace, "scale varied=0.5") == between(trace, "scale varied=0.5")


def test_graphs_of_other_sizes():
    assert paired(np.array([9.0, 8.0, 7.0]), np.array([1.0, 2.0])).tolist() == [8, 6]


def asked(recorded, *changes):
    """Return answers whose drawn makespans are given."""
    noise = noise_of(replayed(loop(*[80, 120, 100] * 4), hand_model()))
    answers = [Answer(lambda weighted: weighted, round(np.mean(drawn)), np.array(drawn, "f8")) for drawn in (recorded, *changes)]
    return Answers(noise, answers[0], tuple(answers[1:]), 20)


def test_gains__of_runs_unlike_the_recorded_one():
    """Recorded 20, changed 18, a gain of 2; drawn runs gain 9 to 11, by a width of 1.9: theirs lie around 2.95 then, not 10."""
    answers = asked([20] * 20, [*range(9, 11), *[10] * 18])
    answer = dataclasses.replace(answers.of[0], makespan=18)
    gains = answers.gains(answer)
    drawn = paired(answers.recorded.drawn, answer.drawn)
    least, most = np.quantile(drawn, (0.05, 0.95))
    assert gains == pytest.approx(drawn - drawn.mean() + 2 + (most - least) / 2)
    told, wide = answers.gain(answer, [18], (0, 40)), 2.015 * 2**0.5 * drawn.std(ddof=1)
    assert (told.least, told.most) == (round(2 - wide), round(2 + (most - least) / 2 + wide))
    told = answers.gain(answer, [18], (18, 18))
    assert (told.least, told.most, told.mean) == (2, 2, 2)


def test_gains__where_no_drawn_run_loses():
    """Recorded 20, drawn 11 to 19 with the change: wide enough to lose, which none does; without it likewise the other way round."""
    answers = asked([20] * 4, [11, 19, 19, 19], [29, 21, 21, 21], [11, 19, 19, 21])
    least, most = zip(*((told.least, told.most) for answer in answers.of for told in [answers.gain(answer, [20], (0, 40))]), strict=True)
    assert least[0] == 0 < most[0]
    assert least[1] < 0 == most[1]
    assert least[2] < 0 < most[2]


def test_gains__of_runs_that_last_longer():
    """Recorded 20, drawn 40 without the change and 20 with it: the gain of 20 is that of twice as long a run, 10 of this one."""
    answers = asked([20] * 4, [40] * 2 + [20] * 18)
    recorded = dataclasses.replace(answers.recorded, drawn=np.full(20, 40.0))
    answers = dataclasses.replace(answers, recorded=recorded)
    answer = dataclasses.replace(answers.of[0], makespan=11)
    assert answers.gains(answer).tolist() == [0] * 2 + [10] * 18


def test_places():
    """Recorded 20 in four runs. Gains: 9 9 9 9, 8 8 8 10, and 1 in all; the second is first in one of four, the third never."""
    answers = asked([20] * 4, [11] * 4, [12, 12, 12, 10], [19] * 4)
    assert places(answers, answers.of) == [Place(0.75, 1, False), Place(0.25, 1, True), Place(0, 1, False)]


def test_places__behind_the_first_three():
    answers = asked([20] * 4, [11] * 4, [12] * 4, [13] * 4, [14, 14, 14, 12])
    assert [place.three for place in places(answers, answers.of)] == [1, 1, 0.75, 0.25]


def test_places__nothing_tells():
    answers = answered(replayed(loop(80, 120), hand_model()), [lambda weighted: weighted])
    assert places(answers, answers.of) == []


@given(build.programs(), st.sampled_from(["speed rank:0=2", "speed rank:0=0.3", "network L_ns=9000"]))
def test_interval_holds_the_answer(trace, question):
    gain, told = between(trace, question)
    if told is not None:
        assert told.least <= gain <= told.most
        assert told.least_open <= gain <= told.most_open


def test_few_is_what_the_report_says():
    assert parts.FEW == 8


@pytest.mark.parametrize(("runs", "least", "most"), [(400, 1950, 2050), (0, 1970, 2030)])
def test_too_few_repetitions_to_draw_runs(runs, least, most):
    """What repeats puts the answer of 1000 off by 30, and recordings differ by 2 % of the gain of 2000 to it, 40: 50 by both in squares."""
    around = Around(30, 30, runs)
    varies = Varies("computation", 0.1, 5, 5)
    told = spans.span(Span(1000 - around.least, 1000 + around.most, around, varies, (), ()))
    assert spans.worth(told, 3000, 1000) == Worth(2000, least, most)
