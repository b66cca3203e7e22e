"""Tables of operations: small ones whose traces are known, a real one beside the analyser of those who recorded it, and refusals."""

import sys
import tracemalloc

import numpy as np
import pytest

import perwiz
from perwiz.cli import main
from perwiz.errors import UNREADABLE, ReaderError, TraceError, UsageError
from perwiz.formats import files
from perwiz.formats.jobtable.read import last_before
from perwiz.report.predict import document as predict_document
from perwiz.report.predict.text import text as predict_text
from perwiz.trace import operations, tables
from perwiz.trace.parts.iterations import find
from perwiz.trace.parts.pipeline import bubbles, pipelines
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import without_launches
from perwiz.whatif.run import replayed, under
from samples import TRACES
from soundness import sound

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id", "gmc")


def put(folder, rows, **columns):
    """Return the path of a table of rows (replica, stage, rank, step, type, begin, end, number), in s."""
    listed = [(d, s, r, k, t, b, e - b, n, 0, -1, s if "compute" in t else -1) for d, s, r, k, t, b, e, n in rows]
    held = {name: [row[k] for row in listed] for k, name in enumerate(COLUMNS)} | columns
    path = folder / "job.parquet"
    parquet.write_table(pyarrow.table({name: values for name, values in held.items() if values is not None}), path)
    return str(path)


def pipeline(step=3):
    """Return the rows of two stages of one replica, which pass one batch forth and back, and end with clipping and the optimizer.

    Stage 0 computes from 1 to 3; stage 1 waits for that from 0.5 to 3.25, computes from 3.5 to 5 and from 5 to 7; stage 0 then from 7.5.
    """
    first, second = (0, 0, 0, step), (0, 1, 2, step)
    return [
        (*first, "forward-compute", 1, 3, 0),
        (*first, "forward-send", 3, 3.25, 0),
        (*second, "forward-recv", 0.5, 3.25, 0),
        (*second, "forward-compute", 3.5, 5, 0),
        (*second, "backward-compute", 5, 7, 0),
        (*second, "backward-send", 7, 7.25, 0),
        (*first, "backward-recv", 3.25, 7.25, 0),
        (*first, "backward-compute", 7.5, 9, 0),
        (*first, "optimizer-clip-main-grad", 9, 9.5, 0),
        (*second, "optimizer-clip-main-grad", 7.25, 9.5, 0),
        (*first, "optimizer", 9.5, 10, 0),
        (*second, "optimizer", 9.5, 10, 0),
    ]


def read(folder, rows, **columns):
    trace = files.read(put(folder, rows, **columns))
    sound(trace)
    return trace


def calls(trace, rank, thread):
    """Return (routine, enter, leave) of the calls of a stream, s."""
    place = np.flatnonzero((trace.locations.process == rank) & (trace.locations.thread == thread))
    times = trace.timeline.calls
    rows = np.flatnonzero(trace.calls.location == place[0])
    return [(operations.OPS[trace.calls.op[k]], times.enter[k] / 1e9, times.leave[k] / 1e9) for k in rows]


def test_read__streams_of_a_rank(tmp_path):
    """It computes on the first one, and sends and receives on others; between it idles. What it computes are regions."""
    trace = read(tmp_path, pipeline())
    assert trace.locations.process.tolist() == [0, 0, 0, 2, 2, 2]
    assert trace.locations.kind.tolist() == [tables.PROCESS, tables.STREAM, tables.STREAM] * 2
    idle = [("device_idle", *t) for t in ((0, 0.5), (2.5, 7), (8.5, 8.5), (9, 9), (9.5, 9.5))]
    assert calls(trace, 0, 0) == [*idle[:3], ("dist_all_reduce", 8.5, 9), *idle[3:]]
    assert calls(trace, 0, 1) == [("device_idle", 0, 2.5), ("dist_send", 2.5, 2.75), ("device_idle", 2.75, 2.75)]
    names = [trace.names[name] for name in trace.region_names]
    assert sorted(names) == sorted([*["step"] * 6, *(row[4] for row in pipeline())])
    assert trace.communicators.names == ("world", "stage-0", "stage-1", "replica-0", "embedding-0", "rank-0", "rank-2")


def test_read__messages_and_what_comes_first(tmp_path):
    """What is received is computed behind that; both ends of a message name each other.

    No rule says why rank 0 begins to receive at 3.25, which it could at once: behind what it computed last.
    """
    trace = read(tmp_path, pipeline())
    ends = zip(trace.messages.send, trace.messages.receive, strict=True)
    peers = [tuple(trace.processes_of_calls[[a, b]].tolist()) for a, b in ends]
    assert sorted(peers) == [(0, 2), (2, 0)]
    assert set(trace.messages.mode.tolist()) == {3}
    at = {(int(trace.processes_of_calls[c]), int(trace.locations.thread[trace.calls.location[c]])) for c in trace.links.effect}
    assert at == {(0, 0), (0, 1), (0, 2), (2, 0), (2, 2)}
    guessed = np.flatnonzero(trace.links.kind == tables.DONE)
    times, cause, effect = trace.timeline.calls, trace.links.cause[guessed], trace.links.effect[guessed]
    assert (times.enter[cause].tolist(), times.leave[effect].tolist()) == ([2_500_000_000], [2_750_000_000])
    assert len(trace.collectives) == 1
    assert len(trace.members) == 2


def test_predict__a_stage_faster(tmp_path):
    """Stage 1 computes 1.5 s and 2 s; in half of that the other one is there 1.75 s earlier, and the rest as long as it was."""
    trace = read(tmp_path, pipeline())
    found = perwiz.predict(trace, "speed rank:2=2", clock="none")
    assert (found.recorded.makespan, found.gain) == (9_500_000_000, 1_750_000_000)


def test_read__steps_follow_each_other(tmp_path):
    """Time between steps is left out, and said so; each begins on all ranks together."""
    later = [(*row[:3], 9, row[4], row[5] + 100, row[6] + 100, row[7]) for row in pipeline()]
    trace = read(tmp_path, [*later, *pipeline()])
    assert trace.timeline.makespan == 19_000_000_000
    assert [op for op, *_ in calls(trace, 2, 0)].count("dist_barrier") == 1
    said = "the times between 2 steps (3 to 9): each begins on all ranks when the one before has ended; what 2 operations that"
    said += " begin late wait for, as no rule tells: what their rank, stage or replica computed last; what forward-compute (1.500 s),"
    said += " backward-compute (500.0 ms), optimizer-clip-main-grad (500.0 ms) waits for, as no rule tells: delays of launches, without"
    assert trace.properties == {"inferred": f"{said} which it is --zero-time op:device_idle"}
    step = trace.regions.instance[trace.region_names == 0]
    assert sorted(step.tolist()) == [*[1] * 6, *[2] * 6]


def test_read__other_types_are_left_out(tmp_path):
    """They are counted and named, and the rest is answered."""
    trace = files.read(put(tmp_path, [*pipeline(), (0, 0, 0, 3, "data-load", 0.5, 0.75, 0)]))
    assert trace.faults == (f"{tmp_path}/job.parquet: 1 operation of type data-load: not known, left out",)


def test_read__the_end_of_a_message_is_missing(tmp_path):
    """Its other end waits for nobody; it is counted."""
    trace = read(tmp_path, [row for row in pipeline() if row[4] != "forward-send"])
    assert (len(trace.messages), trace.counts.unmatched_receives) == (1, 1)


def test_read__gradients_apart(tmp_path):
    """Where some are reduced apart, those of each part of the model are reduced beside what is computed."""
    rows = [row for row in pipeline() if row[1] == 0 and "compute" in row[4]]
    rows += [(0, 0, 0, 3, "grads-reduce-scatter", 9, 9.25, 0), (0, 0, 0, 3, "separate-grads-all-reduce", 9.5, 9.75, 0)]
    rows += [(0, 0, 0, 3, "params-all-gather", 0.5, 0.75, 0)]
    trace = read(tmp_path, rows)
    ops = [operations.OPS[op] for op in trace.collectives.op]
    assert sorted(ops) == ["dist_all_gather", "dist_all_reduce", "dist_reduce_scatter"]
    assert len(trace.links) == 3


ANALYSED = {
    "zero-time op:device_idle": 45.658360,
    "typical all": 23.152060,
    "typical all but group:replica-0": 1.972106 * 23.152060,
    "typical all but group:stage-3": 1.034010 * 23.152060,
    "typical all but backward-compute": 1.577464 * 23.152060,
    "typical all but backward-send,backward-recv": 1.000887 * 23.152060,
    "typical group:stage-3=all": 45.692947,
    "typical rank:0=all": 23.468643,
}
"""Mean seconds of a step of the sample, each without delays of launches, as the analyser of ByteDance says (github.com/
ByteDance-Seed/StragglerAnalysis @ 57b56c4)."""


@pytest.mark.slow
def test_predict__a_straggler_alone():
    """Delays of launches kept: what begins late waits for what else is late, so nearly all of what rank 0 costs goes with it."""
    trace = files.read(str(TRACES / "training-job" / "steps.parquet"))
    found = perwiz.predict(trace, "typical rank:0", clock="none", draws=0)
    assert found.gain / found.recorded.makespan == pytest.approx(0.48, abs=0.03)


@pytest.mark.slow
def test_info__of_processes_and_streams(capsys):
    """Waits of both are all that domino tells, 1504 s; no share is above 100 %, and what was inferred is printed."""
    assert main(["info", str(TRACES / "training-job" / "steps.parquet")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "282.0 s (18.9 %) of the processes, 1222 s of the streams," in out
    assert "streams idle 4278 s (86.1 % of theirs)" in out
    assert "device_idle 5424 4957 s 45.6 % 696.0 s" in out
    assert "inferred the times between 2 steps (16 to 21): each begins on all ranks when the one before has ended; what 1445" in out


@pytest.mark.slow
def test_domino__asks_as_the_page_does():
    """Launches late no more: 46.79 s of 93.07 s, where the best of the list gains 41.81 s."""
    run = replayed(files.read(str(TRACES / "training-job" / "steps.parquet")), clock="none")
    never, typical, makespan = without_launches(Asker(run))
    assert (never, typical) == ("zero-time op:device_idle", "typical rank:0")
    assert makespan == under(run, parse_all([never, typical], run.trace)).makespan
    assert (run.makespan - makespan) / run.makespan == pytest.approx(0.503, abs=0.001)


def test_predict__usual_operations_and_launches_that_are_never_late(tmp_path):
    """Beside the one question stands what both give, once no launch is late; asked together they are the answer."""
    trace = read(tmp_path, pipeline())
    alone, both = (predict(trace, [*more, "typical all"], clock="none", draws=0) for more in ([], ["zero-time op:device_idle"]))
    assert (alone.launched, both.launched) == (both.predicted.makespan, None)
    assert alone.predicted.makespan > both.predicted.makespan
    told = " ".join(predict_text(predict_document.document(alone, 0)).split())
    why = "launches late launches (device_idle) may hide what a straggler costs; without them: --zero-time op:device_idle beside: gain"
    assert why in told
    assert predict(trace, ["speed rank:2=2"], clock="none", draws=0).launched is None


@pytest.mark.slow
@pytest.mark.parametrize("asked", ANALYSED)
def test_predict__as_the_analyser_of_the_job(asked):
    trace = files.read(str(TRACES / "training-job" / "steps.parquet"))
    run = under(replayed(trace, clock="none"), parse_all(["zero-time op:device_idle", asked], trace))
    assert run.makespan / 2e9 == pytest.approx(ANALYSED[asked], rel=2e-4)


REFUSED = {
    "no rank": (
        {"rank": None},
        "a table without rank, must be one of operations with dp_rank, stage, rank, step, seq_id, mc, gmc, start_ts, duration, optype",
    ),
    "texts": ({"rank": ["a"] * 12}, "column rank has string, must be numbers"),
    "nowhere": ({"start_ts": [0.5] * 11 + [float("nan")]}, "row 11 has start_ts nan, must be a number from -1 to 100000000"),
    "backwards": ({"duration": [-0.5] * 12}, "an operation with duration -0.5, must be at least 0"),
    "two stages": ({"stage": [0] * 11 + [1]}, "rank 0 has stage 0 and 1, must have one"),
    "one place": ({"stage": [0] * 12}, "2 ranks have stage 0 and dp_rank 0, must be one"),
    "numbers": ({"optype": [3] * 12}, "column optype has int64, must be texts"),
    "unknown": ({"optype": ["x"] * 12}, "no operation of a known type, must have some of forward-compute, backward-compute, ..."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_read__refused(tmp_path, case):
    columns, message = REFUSED[case]
    rows = sorted(pipeline(), key=lambda row: -row[2]) if case == "two stages" else pipeline()
    path = put(tmp_path, rows, **({"stage": [*[1] * 6, *[0] * 5, 1]} if case == "two stages" else columns))
    with pytest.raises(TraceError) as error:
        files.read(path)
    assert str(error.value) == f"{path}: {message}"


def test_read__a_rank_far_beyond_the_others(tmp_path):
    """What it takes follows the ranks that are there, not their numbers."""
    path = put(tmp_path, [(*row[:2], row[2] << 23, *row[3:]) for row in pipeline()])
    tracemalloc.start()
    try:
        trace = files.read(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    sound(trace)
    assert set(trace.locations.process.tolist()) == {0, 1 << 24}


def test_read__cut(tmp_path):
    """What is no whole table is refused, and said by whom."""
    path = tmp_path / "job.parquet"
    path.write_bytes((TRACES / "training-job" / "steps.parquet").read_bytes()[:9000])
    with pytest.raises(TraceError, match=r"job.parquet: no Parquet that can be read \(.*\)$"):
        files.read(str(path))


def test_read__without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = str(TRACES / "training-job" / "steps.parquet")
    with pytest.raises(ReaderError) as error:
        files.read(path)
    assert str(error.value) == f"{path}: a table of operations is read with pyarrow, which is missing: pip install pyarrow"
    assert error.value.exit_code == UNREADABLE


def test_last_before():
    key, end = np.array([1, 1, 2]), np.array([5, 9, 4])
    assert last_before(key, end, np.array([1, 2, 1]), np.array([8, 3, 9])).tolist() == [0, -1, 1]


STAGES, BATCHES = 4, 8


def one_f_one_b(step=3, forward=1, backward=2):
    """Return the rows of a step of four stages of one replica that pass eight micro-batches by 1F1B; messages take no time."""
    ends, rows, orders, done = {}, [], [], [[] for _ in range(STAGES)]
    for s in range(STAGES):
        warm = min(STAGES - s, BATCHES)
        order = [("f", k) for k in range(warm)]
        for k in range(BATCHES):
            order.append(("b", k))
            if k + warm < BATCHES:
                order.append(("f", k + warm))
        orders.append(order)
    free, places = [1.0] * STAGES, [0] * STAGES
    while any(place < len(order) for place, order in zip(places, orders, strict=True)):
        for s in range(STAGES):
            while places[s] < len(orders[s]):
                kind, k = orders[s][places[s]]
                before = (kind, k, s - 1) if kind == "f" else (kind, k, s + 1)
                first = s == 0 if kind == "f" else s == STAGES - 1
                if not first and before not in ends:
                    break
                came = 1.0 if first else ends[before]
                begin = max(free[s], came)
                end = begin + (forward if kind == "f" else backward)
                name, key = ("forward" if kind == "f" else "backward"), (0, s, s, step)
                if not first:
                    ahead = ends.get((kind, k - 1, s), done[s][-2] if kind == "b" and len(done[s]) > 1 else 1.0)
                    rows.append((*key, f"{name}-recv", ahead, max(ahead, came), k))
                rows.append((*key, f"{name}-compute", begin, end, k))
                last = s == STAGES - 1 if kind == "f" else s == 0
                if not last:
                    rows.append((*key, f"{name}-send", end, end, k))
                ends[kind, k, s] = free[s] = end
                done[s].append(end)
                places[s] += 1
    return rows


def test_bubble__of_equal_stages(tmp_path):
    """They compute 8 (1 + 2) = 24 s each, of (8 + 4 - 1) (1 + 2) = 33: the bubble is 3 / 11."""
    trace = perwiz.read(put(tmp_path, one_f_one_b() + one_f_one_b(4)))
    found = pipelines(trace)
    assert found.ranks == ((0, 1, 2, 3),)
    told = bubbles(trace, found, find(trace))
    columns = (told.stages, told.micro_batches, told.time, told.most, told.mean)
    assert [column.tolist() for column in columns] == [[4] * 2, [8] * 2, [33 * 10**9] * 2, [24 * 10**9] * 2, [24 * 10**9] * 2]
    assert (told.bubble, told.uneven, told.ideal) == pytest.approx((3 / 11, 0, 3 / 11))


def test_bubble__in_the_answer(tmp_path, capsys):
    path = put(tmp_path, one_f_one_b() + one_f_one_b(4))
    assert main(["domino", path, "--draws", "0", "-q"]) == 0
    said = "pipeline      stages of 1 pipeline of 4 idle 27.3 % of each step as they fill and drain (of equal stages 27.3 %)\n"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("argument", "seconds"), [("1", 33), ("2", 28.5), ("3", 27), ("many", 24)])
def test_micro_batches__of_equal_stages(tmp_path, argument, seconds):
    """In k times as many pieces the bubble of 9 s is 9 / k."""
    trace = perwiz.read(put(tmp_path, one_f_one_b()))
    run = under(replayed(trace, clock="none"), parse_all([f"micro-batches {argument}"], trace))
    assert run.makespan == pytest.approx(seconds * 1e9, abs=20)


def test_micro_batches__refusals(tmp_path):
    trace = perwiz.read(put(tmp_path, one_f_one_b()))
    for argument in ("0", "x", "2.5"):
        with pytest.raises(UsageError) as error:
            perwiz.predict(trace, f"micro-batches {argument}")
        assert str(error.value) == f"micro-batches {argument}: must be how many times as many there are, 1 to 1000000, or many"
    rows = [row for row in one_f_one_b() if "recv" not in row[4]]
    with pytest.raises(UsageError) as error:
        perwiz.predict(perwiz.read(put(tmp_path, rows)), "micro-batches 2")
    told = "no pipeline of stages that send and receive micro-batches, or not told what computes them"
    assert str(error.value) == f"micro-batches 2: {told}"
