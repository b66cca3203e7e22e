"""Runs that are matched anew, written: tasks stand where they run, and the file is a recording of the predicted run."""

import functools
import pathlib

import numpy as np
import pytest

import perwiz
from build import hand_model
from farms import counter, farm, farm_of_requests, fixed_farm, growth, lengths, queueing
from perwiz.cli import main
from perwiz.errors import UsageError
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.run import replayed

SPEED = 0.25
SAMPLE = str(pathlib.Path(__file__).parents[3] / "traces" / "farm.alog.gz")


def _fixed(length, **how):
    """Return a farm in which each worker has its own tasks: the first one fewer than the others."""
    return fixed_farm([length[:6], length[6:18], length[18:]], **how)


def made(trace, *texts):
    """Return a prediction that matches anew, and its trace."""
    prediction = predict(trace, list(texts), hand_model(), draws=0)
    assert prediction.rematched.moved > 0 or len(prediction.rematched.serving)
    return prediction, predicted_trace(prediction)


def conversation(trace):
    """Return of each location what it calls, with whom, and with what tag, in order."""
    calls, table = trace.calls, trace.messages
    other = np.full(len(calls), -1)
    other[table.send], other[table.receive_done] = calls.location[table.receive], calls.location[table.send]
    return [
        list(zip(*(column[calls.location == rank].tolist() for column in (calls.op, calls.peer, calls.tag, other)), strict=True))
        for rank in range(len(trace.locations))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "factor"),
    [
        (farm, (1 / SPEED, 1, 1)),
        (functools.partial(farm, unasked=False, hears="probe"), (1 / SPEED, 1, 1)),
        (functools.partial(farm, hears="wait"), (1 / SPEED, 1, 1)),
        (functools.partial(farm, hears="ahead", takes="wait"), (1 / SPEED, 1, 1)),
        (functools.partial(farm, takes="prefetch"), (1 / SPEED, 1, 1)),
        (farm_of_requests, (1 / SPEED, 1, 1)),
        (_fixed, (1 / SPEED, 1, 1)),
        (functools.partial(_fixed, hears="probe"), (1 / SPEED, 1, 1)),
        (functools.partial(_fixed, hears="wait"), (1 / SPEED, 1, 1)),
        (functools.partial(_fixed, hears="waitany"), (1 / SPEED, 1, 1)),
        (functools.partial(queueing, brings=growth(30), start=2), (1 / SPEED, 1, 1)),
        (functools.partial(queueing, brings=growth(30), start=2, hears="probe"), (1 / SPEED, 1, 1)),
        (counter, (1, 1 / SPEED, 1)),
        (functools.partial(counter, rounds=2, locks=True), (1, 1 / SPEED, 1)),
    ],
)
def test_predicted_trace__is_the_run_that_was_predicted(make, factor, tmp_path):
    """It is the farm with such a worker, call by call; read back and replayed it is itself."""
    length = lengths(30)
    prediction, trace = made(make(length), f"speed rank:1={SPEED}")
    check(trace)
    assert conversation(trace) == conversation(make(length, factor=factor))
    assert replayed(trace, hand_model(), "none").replay_error == 0
    perwiz.write(trace, str(tmp_path / "farm.alog"))
    again = perwiz.read(str(tmp_path / "farm.alog"))
    assert again.timeline.makespan == prediction.predicted.makespan
    assert conversation(again) == conversation(trace)
    assert replayed(again, hand_model()).replay_error == 0


def task_times(trace):
    """Return of every task, in the order in which rank 0 gives them, the location that runs it and the ns in its region."""
    table, regions, times = trace.messages, trace.regions, trace.timeline.regions
    answers = np.flatnonzero(trace.calls.location[table.send] == 0)
    answers = answers[np.argsort(table.send[answers])]
    row = {call: k for k, call in enumerate(regions.first_call.tolist())}
    rows = [row[call + 1] for call in table.receive_done[answers].tolist() if call + 1 in row]
    return regions.location[rows], (times.leave - times.enter)[rows]


def test_predicted_trace__has_regions_where_their_tasks_run():
    before = perwiz.read(SAMPLE)
    trace = predicted_trace(predict(before, ["speed rank:1=0.5"], draws=0))
    check(trace)
    (was, recorded), (now, predicted) = task_times(before), task_times(trace)
    assert len(was) == len(now) == 48
    assert (was != now).sum() == 35
    assert np.abs(predicted - recorded * np.where(now == 1, 2, 1)).max() <= 2
    for rank in (1, 2, 3):
        assert trace.regions.instance[trace.regions.location == rank].tolist() == list(range(1, (now == rank).sum() + 1))


@pytest.mark.slow
def test_compare__a_farm():
    """What was predicted is measured: nothing differs."""
    before = perwiz.read(SAMPLE)
    trace = predicted_trace(predict(before, ["speed rank:1=0.5"], draws=0))
    found = perwiz.compare(before, trace, hypotheses=["speed rank:1=0.5"])
    assert len(found.alignment.first) == len(trace.calls)
    assert found.verdict.predicted == found.verdict.measured


@pytest.mark.slow
def test_predict__writes_and_draws(tmp_path, capsys):
    ask = ["predict", SAMPLE, "--speed", "rank:1=0.5", "-q"]
    assert main([*ask, "-o", str(tmp_path / "x.alog"), "--plot", str(tmp_path / "x.svg")]) == 0
    assert main([*ask, "-o", str(tmp_path / "x.json")]) == 0
    assert "predicted     1.829 s" in capsys.readouterr().out
    assert main(["info", str(tmp_path / "x.alog")]) == 0
    assert "waiting       628.4 ms" in capsys.readouterr().out
    assert (tmp_path / "x.json").stat().st_size > 0 < (tmp_path / "x.svg").stat().st_size


def test_regions__around_receives_of_tasks():
    """They are left by who entered them: the receive is the process', the task is not. Where names differ by task nobody knows which."""
    trace = farm(lengths(30), regions=("item",))
    _, anew = made(trace, f"speed rank:1={SPEED}")
    check(anew)
    truth = farm(lengths(30), factor=(1 / SPEED, 1, 1), regions=("item",))
    for table in (anew, truth):
        inside = table.calls.location[table.regions.first_call] == table.regions.location
        assert inside.all()
        assert (table.regions.end_call - table.regions.first_call == 2).sum() == 30
    assert anew.regions.first_call.tolist() == truth.regions.first_call.tolist()
    with pytest.raises(UsageError, match="tasks that move begin in other calls or regions"):
        made(farm(lengths(30), regions=("odd", "even")), f"speed rank:1={SPEED}")
