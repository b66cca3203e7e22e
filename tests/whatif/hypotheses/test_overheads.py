"""What forks, barriers and joins take by the size of the team, and teams of another size with that. Every number by hand."""

import dataclasses

import pytest

from build import teams
from perwiz.errors import UsageError
from perwiz.loggps import model_file
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.overheads import PARTS, overheads, samples
from perwiz.whatif.hypotheses.teams import members
from perwiz.whatif.hypotheses.threads import FITTED
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.sure.answers import Possible


def told(trace, threads):
    return {one.part: one for one in overheads(samples(trace, members(trace)), threads)}


def test_samples():
    """Of a team of two: the fork 50; its thread 100 from there, both leave the barrier 20 behind the one, the join takes 30."""
    trace = teams(2)
    found = samples(trace, members(trace))
    kept = zip(found.part.tolist(), found.ns.tolist(), found.threads.tolist(), strict=True)
    assert not found.steady.any()
    assert [(PARTS[part], ns, size) for part, ns, size in kept] == [
        ("fork", 50, 2),
        ("begin", 100, 2),
        ("barrier", 20, 2),
        ("barrier", 20, 2),
        ("join", 30, 2),
    ]


@pytest.mark.parametrize(
    ("cost", "form", "at_6"),
    [
        (lambda n: 10 * n, "linear", 60),
        (lambda n: 100 * (n.bit_length() - 1), "logarithmic", 258),
        (lambda n: 70, "linear", 70),
    ],
)
def test_fitted(cost, form, at_6):
    """Of 2, 4 and 8 threads; 100 log2 6 is 258. The other form tells how far it may be off."""
    found = told(teams(2, 2, 4, 4, 8, 8, work=8000, cost=cost), 6)
    assert (found["barrier"].form, round(found["barrier"].ns)) == (form, at_6)
    assert found["barrier"].least <= found["barrier"].ns <= found["barrier"].most
    assert [round(found[part].ns) for part in ("fork", "begin", "join")] == [50, 100, 30]


def test_fitted__two_sizes():
    """20 and 40 of 2 and 4 threads: 80 of 8 threads if linear, which is taken, 60 if logarithmic."""
    found = told(teams(2, 2, 4, 4), 8)["barrier"]
    assert (found.form, round(found.ns), round(found.least), round(found.most)) == ("linear", 80, 60, 80)


def test_fitted__points_beside_the_line():
    """Barriers of 2: 20 20 40 900, of 4: all 60. The medians are 30 and 60; the quartiles 20 and 255 tell how far the one may be off."""
    trace = teams(2, 2, 2, 4, 4, 4)
    found = samples(trace, members(trace))
    ns = found.ns.copy()
    ns[found.steady & (found.part == PARTS.index("barrier"))] = [20, 20, 40, 900, *[60] * 8]
    told = overheads(dataclasses.replace(found, ns=ns), 2)[PARTS.index("barrier")]
    assert (told.part, round(told.ns, 9)) == ("barrier", 30)
    assert told.most - told.ns == pytest.approx(1.96 * 1.2533 / 1.349 * 235 / 2)


def test_one_size():
    assert told(teams(2, 2), 4) == {}


def makespan(trace, *texts):
    return predict(trace, texts, "default", clock="none").predicted.makespan


def test_threads():
    """A team of n: 100 to begin, 6000 / n, 10 n in the barrier, 30 in the join. If 3 threads do what 2 did: 1000 less, 10 more, twice."""
    trace = teams(2, 2, 3, 3)
    before = 2 * (100 + 3000 + 20 + 30) + 2 * (100 + 2000 + 30 + 30)
    assert trace.timeline.makespan == before
    assert makespan(trace, "threads loop of 2=3") == before + 2 * (-1000 + 10)
    assert makespan(trace, "threads loop of 2#1=3") == before - 1000 + 10
    assert makespan(trace, "threads all=3") == before + 2 * (-1000 + 10)
    assert makespan(trace, "threads all=2") == before + 2 * (1000 - 10)
    assert makespan(trace, "threads loop of 2=2") == before


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 3, 3, 2)])
def test_threads__one_size_stays(sizes):
    """The barrier of 3 threads takes what it took of 2 if nothing tells more: teams that follow others of their size are of one."""
    trace = teams(*sizes)
    assert makespan(trace, "threads loop of 2=3") == trace.timeline.makespan - 1000 * sizes.count(2)


def test_threads__never_less_than_nothing():
    """Barriers of 1000, 500 and nothing; of 5 threads they would take -500."""
    trace = teams(2, 2, 3, 3, 4, 4, work=12000, cost=lambda n: 2000 - 500 * n)
    assert makespan(trace, "threads loop of 4=5") == trace.timeline.makespan - 2 * 600


def test_span():
    """8 threads do what 4 did: the barrier takes 80 or, if logarithmic, 60, in both teams."""
    found = predict(teams(2, 2, 4, 4), "threads loop of 4=8", "default", clock="none")
    assert found.span.others == (Possible((FITTED,), found.predicted.makespan - 40),)
    assert found.predicted.makespan - found.span.least == 40 + found.span.around.least


def test_weights_of_the_run_stay():
    weighted = replayed(teams(2, 4), model_file.load("default"), "none").weighted
    before = weighted.weight.copy()
    parse("threads all=8").apply(weighted)
    assert weighted.weight.tolist() == before.tolist()


def test_refusal():
    with pytest.raises(UsageError, match=r"^threads all=0: must be like threads REGION=8 with 1 to 4096 threads$"):
        makespan(teams(2, 4), "threads all=0")
