"""Traces of the PyTorch profiler that are cut off or changed: read as far as they go, or refused in one line."""

import contextlib
import gzip
import json
import random

import pytest

from kinetos import Rank, put, two_ranks
from perwiz.errors import TraceError
from perwiz.formats import files
from soundness import sound


@pytest.mark.parametrize("steps", [True, False])
def test_read__cut_off(tmp_path, steps):
    """A file that ends anywhere behind its first event is read as far as it goes; not if it has steps, none of them whole."""
    ranks = two_ranks()
    for rank in ranks:
        rank.events = rank.events[0 if steps else 1 :]
    path = put(tmp_path / "job", *ranks)
    file = tmp_path / "job" / "rank1.json"
    text = file.read_text()
    end_of_list = text.rindex("]")
    for end in range(text.index("cuda_runtime") + 200, len(text) - 1, 193):
        file.write_text(text[:end])
        trace = files.read(path)
        sound(trace)
        left_out = (f"{file}: no step of it is whole: left out",) if steps and end <= end_of_list else ()
        assert trace.faults == (f"{file}: ends in the middle: read as far as it goes", *left_out)


def test_read__all_cut_off_without_numbers(tmp_path):
    """Collectives go by their order: of ranks that are cut off some may be missing in front of those that are there."""
    path = put(tmp_path / "job", *two_ranks(numbers=(None, None)))
    for rank in range(2):
        file = tmp_path / "job" / f"rank{rank}.json"
        file.write_text(file.read_text()[:-30])
    assert files.read(path).properties["inferred"] == (
        "which 2 parts of collectives belong together: by their order, as no numbers are recorded; "
        "those of rank 0, 1, cut off, likewise: what is missing in front of others shifts them"
    )


def of_gloo(rank, late, steps=3, world=2):
    """Return a rank that asks for two sums in each step of 100 us, `late` behind 10 and 20; they end at 60 and 70, on threads 2 and 3."""
    one = Rank(rank, world)
    for at in range(0, 100 * steps, 100):
        one.note("gloo:all_reduce", at + 12 + late, 48 - late, 2)
    for at in range(0, 100 * steps, 100):
        one.note(f"ProfilerStep#{at // 100 + 1}", at, 90)
        one.op("c10d::allreduce_", at + 10 + late, 4).op("c10d::allreduce_", at + 20 + late, 4).op("aten::add", at + 75, 5)
    for at in range(0, 100 * steps, 100):
        one.note("gloo:all_reduce", at + 22 + late, 48 - late, 3)
    return one


def sums(trace):
    """Return per sum the times of its members in order of ranks, us."""
    call, done = trace.members.call, trace.members.done
    times = zip(trace.timeline.calls.enter[call] // 1000, trace.timeline.calls.leave[done] // 1000, strict=True)
    rows = zip(trace.members.collective.tolist(), ((int(enter), int(leave)) for enter, leave in times), strict=True)
    out = {}
    for collective, span in rows:
        out.setdefault(collective, []).append(span)
    return sorted(out.values())


@pytest.mark.parametrize(("place", "steps", "lost"), [(-3, 2, 2), (-2, 3, 2), (-1, 3, 1), (-7, 1, 1)])
def test_read__cut_off_between_threads(tmp_path, place, steps, lost):
    """Threads of Gloo behind the first one are lost: what they did begins when it is asked for, and ends with that of the other rank.

    place   cut before this event: thread 3; its second one, its third one; the second sum of step 2 is asked for
    steps   those that are whole: the last event of the first thread that is told begins behind them
    lost    sums on thread 3 in them
    """
    path = put(tmp_path / "job", of_gloo(0, 0), of_gloo(1, 30))
    file = tmp_path / "job" / "rank1.json"
    event = json.dumps(of_gloo(1, 30).events[place])
    text = file.read_text()
    file.write_text(text[: text.index(event) + 9])
    trace = files.read(path)
    sound(trace)
    of_thread_2 = [[(100 * k + 12, 100 * k + 60), (100 * k + 42, 100 * k + 60)] for k in range(steps)]
    of_thread_3 = [[(100 * k + 22, 100 * k + 70), (100 * k + (50 if k >= steps - lost else 52), 100 * k + 70)] for k in range(steps)]
    assert sums(trace) == sorted(of_thread_2 + of_thread_3)
    assert trace.timeline.regions.leave.max() == 1000 * (100 * steps - 10)
    span, alone = ("1", "step 1 alone is") if steps == 1 else (f"1 to {steps}", f"steps 1 to {steps} alone are")
    others = f"{alone} read, of 1 to 3: rank 1 has {span}"
    assert trace.faults == (
        *([others] if steps < 3 else []),
        f"{file}: ends in the middle: read as far as it goes",
        f"{file}: {lost} of what it did with others: as the first thread asked for it, until others were done",
    )


@pytest.mark.parametrize(("places", "rounds", "begins", "shorter"), [((None, 9), 2, 12, [0, 2]), ((7, 9), 1, 10, [1, 2])])
def test_read__cut_off_without_steps(tmp_path, places, rounds, begins, shorter):
    """Ranks 0, 1 and 2 ask for sums at 10 and 20, 40 and 50, 10 and 20, and so each 100 later, twice.

    places   of files 0 and 1, cut before this event: where the third round is asked for, behind 175; the second sum of the second one
    rounds   that all tell: others end where they ask for more, at 210, or rank 1 at 140 and rank 2 at 110 as rank 0 at 110
    begins   the second sum of rank 0, behind the first at 10 from which times count: on thread 3, or as it is asked for, as that is lost
    shorter  ranks that end before what their file tells
    """
    ranks = of_gloo(0, 0, world=3), of_gloo(1, 30, world=3), of_gloo(2, 0, world=3)
    for rank in ranks:
        rank.events = [event for event in rank.events if "Step" not in event["name"]]
    path = put(tmp_path / "job", *ranks)
    cut = [(tmp_path / "job" / f"rank{rank}.json", place) for rank, place in enumerate(places) if place]
    for rank, (file, place) in zip(ranks if len(cut) > 1 else ranks[1:], cut, strict=False):
        text = file.read_text()
        file.write_text(text[: text.index(json.dumps(rank.events[place])) + 9])
    trace = files.read(path)
    sound(trace)
    first = [[(at + 2, at + 50), (at + 32, at + 50), (at + 2, at + 50)] for at in range(0, 100 * rounds, 100)]
    second = [[(at + begins, at + 60), (at + 40, at + 60), (at + 12, at + 60)] for at in range(0, 100 * rounds, 100)]
    assert sums(trace) == sorted(first + second)
    why = "no steps: read until it does with others what another file, which was cut off, does not tell"
    assert [fault for fault in trace.faults if "no steps" in fault] == [f"{path}/rank{rank}.json: {why}" for rank in shorter]


@pytest.mark.parametrize(("place", "said"), [(10, "step 2 alone is read, of 1 to 2: rank 1 has 2"), (6, None)])
def test_read__cut_off_among_launches(tmp_path, place, said):
    """What devices do stands in pieces of any order behind all operators: a step is whole if as much of it is there as in a whole file."""
    ranks = []
    for rank in range(2):
        one = Rank(rank).note("ProfilerStep#1", 0, 90).op("aten::mm", 5, 20).note("ProfilerStep#2", 100, 90).op("aten::mm", 105, 20)
        for at in (100, 0):
            one.launch("gemm", at + 10, at + 20, 30).launch("gemm", at + 15, at + 50, 30)
        ranks.append(one)
    path = put(tmp_path / "job", *ranks)
    file = tmp_path / "job" / "rank1.json"
    text = file.read_text()
    file.write_text(text[: text.index(json.dumps(ranks[1].events[place])) + 9])
    trace = files.read(path)
    sound(trace)
    cut = f"{path}/rank1.json: ends in the middle: read as far as it goes"
    assert trace.faults == ((said, cut) if said else (cut, f"{path}/rank1.json: no step of it is whole: left out"))


def test_read__cut_off_before_it_says_what_times_count_from(tmp_path):
    """The profiler says behind its events from which instant they count, here 2 ** 60 ns: a file without its end counts as the others."""
    path = put(tmp_path / "job", *(Rank(rank).note("ProfilerStep#1", 10 * rank, 50) for rank in range(2)))
    for rank in range(2):
        file = tmp_path / "job" / f"rank{rank}.json"
        told = json.loads(file.read_text())
        told["baseTimeNanoseconds"] = told.pop("baseTimeNanoseconds") + (1 << 60)
        text = json.dumps(told)
        file.write_text(text[: text.index("baseTime") - 3] if rank else text)
    trace = files.read(path)
    assert trace.timeline.regions.enter.tolist() == [0, 10_000]
    assert trace.faults == (f"{file}: ends in the middle: read as far as it goes",)


def test_read__packing_cut_off(tmp_path):
    rank = Rank(0, 1)
    for k in range(3000):
        rank.op(f"op{k}", 10 * k, 5 + k % 3)
    packed = gzip.compress(rank.text().encode())
    file = tmp_path / "rank0.json.gz"
    file.write_bytes(packed[: len(packed) // 2])
    trace = files.read(str(file))
    assert 0 < len(trace.regions) < 3000
    assert trace.faults == (f"{file}: cut off in the middle of its packing: read as far as it goes",)


@pytest.mark.parametrize("seed", range(4))
def test_read__mutated(tmp_path, seed):
    """Bytes changed, left out and repeated: a sound trace, or an error of perwiz's own."""
    draw = random.Random(seed)
    path = put(tmp_path / "job", *two_ranks())
    file = tmp_path / "job" / "rank1.json"
    text = file.read_bytes()
    for _ in range(12):
        data = bytearray(text)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            what = draw.choice([bytes([draw.randrange(256)]), b"", data[at : at + 40] * 2, b"9" * draw.randint(1, 25), b"]", b'"', b"-"])
            data[at : at + draw.randint(0, 3)] = what
        file.write_bytes(data)
        with contextlib.suppress(TraceError):
            sound(files.read(path))
