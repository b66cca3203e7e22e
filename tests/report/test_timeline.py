"""The timeline picture: the numbers it draws, and the file it leaves behind."""

import dataclasses
import re
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest

from perwiz.errors import UsageError
from perwiz.report import lanes
from perwiz.report.timeline import Row, plot
from perwiz.trace import tables as tb
from perwiz.trace.ops import OP
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace


@pytest.fixture(autouse=True, scope="module")
def _matplotlib():
    """Import it once, outside the time of any test."""
    import matplotlib.backends.backend_svg  # noqa: F401


def i4(values):
    return np.asarray(values, np.int32)


def i8(values):
    return np.asarray(values, np.int64)


def locations(process, thread):
    none = i4([-1] * len(process))
    return tb.Locations(none * 0, none, i4(process), i4(thread), none)


def timeline(trace_calls=((), ()), regions=((), ()), ends=()):
    return Timeline(*(tb.Times(i8(a), i8(b)) for a, b in (trace_calls, regions, (np.zeros(len(ends)), ends))))


def make(calls=(), messages=(), regions=(), ends=(), threads=None, path="folder/ring.alog"):
    """Return a trace of calls (location, routine, enter, leave), messages (call, call) and regions (location, enter, leave)."""
    location, routine, enter, leave = zip(*calls, strict=True) if len(calls) else ((), (), (), ())
    none = i4([-1] * len(location))
    send, receive = (i4([pair[k] for pair in messages]) for k in (0, 1))
    where, entered, left = ([region[k] for region in regions] for k in (0, 1, 2))
    zero = i4([0] * len(regions))
    return Trace(
        path=path,
        format="alog",
        locations=locations(np.arange(len(ends)), threads if threads is not None else np.zeros(len(ends))),
        communicators=Communicators(("MPI_COMM_WORLD",), i8([0, len(ends)]), i4(np.arange(len(ends)))),
        names=("a $step_1", "serial"),
        parallel=np.array([True, False]),
        paths=tb.Paths(i4([-1, -1]), i4([0, 1])),
        calls=tb.Calls(i4(location), np.array([OP[r] for r in routine], "u1"), *[none] * 5, none.astype("i8"), none.astype("i8")),
        requests=tb.Requests.empty(),
        regions=tb.Regions(i4(where), zero, zero - 1, i4(range(1, len(zero) + 1)), zero, zero),
        messages=tb.Messages(send, send, receive, receive, send * 0, send * 0, (send * 0).astype("u1"), i8(send)),
        collectives=tb.Collectives.empty(),
        members=tb.Members.empty(),
        timeline=timeline((enter, leave), (entered, left), ends),
        labels=tb.Labels.empty(),
        texts=(),
        nodes=(),
        offsets=tb.Offsets.empty(),
        defects=tb.Defects.empty(),
        counts=Counts(),
        properties={},
    )


def ring(ranks, steps, work=1_000_000):
    """Return a trace where each rank computes, sends to the next and waits for the one before; the middle rank is slow."""
    clock = np.zeros(ranks, np.int64)
    calls, regions = [[] for _ in range(ranks)], [[] for _ in range(ranks)]
    for step in range(steps):
        begun, sent = clock.copy(), clock + work * (1 + (np.arange(ranks) == ranks // 2)) + 977 * np.arange(ranks) * (step % 7)
        done = np.maximum(sent, np.roll(sent, 1)) + 100_000
        for r in range(ranks):
            calls[r] += [(r, "MPI_Irecv", sent[r], sent[r]), (r, "MPI_Send", sent[r], sent[r] + 40_000)]
            calls[r] += [(r, "MPI_Wait", sent[r] + 50_000, done[r]), (r, "MPI_Allreduce", done[r], done.max() + 9000)]
            regions[r].append((r, begun[r], done[r]))
        clock[:] = done.max() + 9000
    at = [[4 * (steps * r + s) for s in range(steps)] for r in range(ranks)]
    messages = [(at[r - 1][s] + 1, at[r][s] + 2) for r in range(ranks) for s in range(steps)]
    return make(list(chain.from_iterable(calls)), messages, list(chain.from_iterable(regions)), clock)


def table(bars):
    return list(zip(*(getattr(bars, name).tolist() for name in ("lane", "group", "left", "right")), strict=True))


def drawn(rows, columns=10):
    lane, group, left, right = (np.array(c) for c in zip(*rows, strict=True))
    return lanes.bars(lane, group, left.astype(float), right.astype(float), columns)


def size(path):
    """Return width and height as the PNG header tells."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def words(path):
    """Return the texts of an SVG file, which matplotlib leaves as comments beside the glyphs."""
    return re.findall(r"<!-- (.*?) -->", path.read_text())


# What is drawn


@pytest.mark.parametrize(
    ("routine", "group"),
    [
        ("MPI_Send", "send"),
        ("MPI_Irecv", "receive"),
        ("MPI_Sendrecv", "send-receive"),
        ("MPI_Waitall", "wait, test, probe"),
        ("MPI_Test", "wait, test, probe"),
        ("MPI_Bcast", "collective"),
        ("MPI_Scan", "collective"),
        ("MPI_other", "other MPI"),
    ],
)
def test_group(routine, group):
    assert lanes.GROUPS[lanes.GROUP[OP[routine]]] == group


def test_bars__wide_ones_stay_as_they_are():
    bars = drawn([(1, 3, 2.25, 3.25), (0, 2, 0.5, 9.75)])
    assert table(bars) == [(1, 3, 2.25, 3.25), (0, 2, 0.5, 9.75)]
    assert bars.merged == 0


def test_bars__a_call_of_no_duration_gets_a_column():
    assert table(drawn([(0, 1, 4.5, 4.5)])) == [(0, 1, 4.0, 5.0)]


def test_bars__the_last_instant_stays_inside():
    assert table(drawn([(0, 1, 10.0, 10.0)])) == [(0, 1, 9.0, 10.0)]


def test_bars__a_column_shows_what_covers_most_of_it():
    bars = drawn([(0, 0, 3.0, 3.1), (0, 2, 3.1, 3.35), (0, 0, 3.4, 3.6), (0, 5, 3.7, 3.7)])
    assert table(bars) == [(0, 0, 3.0, 4.0)]
    assert bars.merged == 4


def test_bars__runs_end_with_group_gap_and_lane():
    rows = [(0, 4, c + 0.2, c + 0.4) for c in (0, 1, 2, 5, 8, 9)] + [(0, 1, 6.0, 6.5), (1, 4, 0.0, 0.5)]
    expected = [(0, 4, 0, 3), (0, 4, 5, 6), (0, 1, 6, 7), (0, 4, 8, 10), (1, 4, 0, 1)]
    assert table(drawn(rows)) == expected


def test_bars__narrow_ones_lie_on_top():
    assert table(drawn([(0, 0, 4.0, 4.1), (0, 3, 4.0, 8.0)])) == [(0, 3, 4, 8), (0, 0, 4, 5)]


def test_bars__bounded_by_the_picture():
    left = np.sort(np.random.default_rng(7).uniform(0, 100, 20_000))
    bars = lanes.bars(np.zeros(20_000, int), np.arange(20_000) % 6, left, left + 0.001, 100)
    assert len(bars) <= 100
    assert bars.left.min() == 0
    assert bars.right.max() == 100


def test_bars__none():
    empty = np.empty(0)
    assert len(lanes.bars(empty.astype(int), empty.astype(int), empty, empty, 10)) == 0


def test_boxes():
    corners = lanes.boxes(np.array([2]), np.array([1.0]), np.array([4.0]), 0.5)
    assert corners.tolist() == [[[1, 1.75], [1, 2.25], [4, 2.25], [4, 1.75]]]


def test_lanes__by_rank_and_thread():
    where = locations([1, 0, 1, 0], [0, 1, 1, 0])
    assert lanes.lanes(where).tolist() == [2, 1, 3, 0]
    assert lanes.labels(where) == ["rank 0.0", "rank 0.1", "rank 1.0", "rank 1.1"]
    assert lanes.labels(locations([1, 0], [0, 0])) == ["rank 0", "rank 1"]


@pytest.mark.parametrize(("lane", "step"), [(0.32, 1), (0.15, 1), (0.149, 2), (0.0068, 32)])
def test_label_step(lane, step):
    assert lanes.label_step(lane, 0.15) == step


def test_choose__all_of_few():
    assert lanes.choose(np.zeros(4000, int)).tolist() == list(range(4000))


def test_choose__longest_waits_first():
    wait = np.zeros(9052, int)
    wait[[3, 5000, 9051]] = 7
    rows = lanes.choose(wait)
    assert len(rows) == 2000
    assert {3, 5000, 9051} <= set(rows.tolist())
    assert (np.diff(rows) > 0).all()


def test_choose__evenly_among_equals():
    rows = lanes.choose(np.zeros(10_000, int))
    assert np.abs(np.histogram(rows, 10, (0, 10_000))[0] - 200).max() <= 2


def test_scene__axis_of_the_longest_run_and_bands_of_parallel_regions():
    trace = make([(0, "MPI_Send", 5, 6)], regions=[(0, 0, 4), (0, 4, 8)], ends=[10])
    trace = dataclasses.replace(trace, regions=dataclasses.replace(trace.regions, path=i4([1, 0])))
    scene = lanes.scene(trace, [trace.timeline, timeline(((2,), (3,)), ends=[40])], i8([0, 0]), 1.0, 100)
    assert (scene.recorded, scene.span, scene.column) == (10, 40, 0.0004)
    assert scene.bands.tolist() == [1]
    assert scene.zeroed.tolist() == [0]


# Words


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0.000 us"),
        (40, "0.040 us"),
        (999_999, "1000.0 us"),
        (12_345_678, "12.35 ms"),
        (1_250_000_000, "1.250 s"),
        (86_400_000_000_000, "86400 s"),
    ],
)
def test_duration(time, text):
    assert lanes.duration(time) == text


def test_gain():
    assert lanes.gain(1000, 875) == "gain 12.5 %"
    assert lanes.gain(1000, 1030) == "loss 3.0 %"
    assert lanes.gain(0, 5) == ""


def test_shorten():
    assert lanes.shorten("four", 4) == "four"
    assert lanes.shorten("a long title", 9) == "a long..."


# The file


def test_plot__says_what_it_shows(tmp_path):
    trace = make(
        [(0, "MPI_Send", 100, 300), (1, "MPI_Recv", 50, 500), (1, "MPI_Wait", 500, 500)],
        messages=[(0, 1)],
        regions=[(0, 0, 90)],
        ends=[600, 1000],
    )
    faster = timeline(((100, 50, 400), (300, 400, 400)), ((0,), (90,)), [600, 750])
    plot(trace, [Row("recorded", trace.timeline), Row("without e2_$x", faster)], str(tmp_path / "a.svg"), [2])
    texts = words(tmp_path / "a.svg")
    for text in (
        "ring.alog: 2 processes, 3 MPI calls",
        "recorded",
        "without e2_$x",
        "rank 0",
        "rank 1",
        "makespan 1.000 us",
        "makespan 0.750 us, gain 25.0 %",
        "time since the start of the run [us]",
        "send",
        "receive",
        "wait, test, probe",
        "computation",
        "region a $step_1",
        "message",
        "zeroed wait",
        "end of the run",
        "end of recorded",
        "1 of 3 calls, shorter than a dot, drawn one dot wide (per dot the kind that lasts longest)",
    ):
        assert text in texts
    assert not {"collective", "send-receive", "other MPI"} & set(texts)


def test_plot__legend_only_of_what_occurs(tmp_path):
    trace = make(ends=[5000])
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"))
    assert words(tmp_path / "a.svg")[-2:] == ["computation", "end of the run"]


@pytest.mark.parametrize(("ends", "ranks"), [([], 0), ([0], 1), ([0, 0], 2), ([70], 1)])
def test_plot__nothing_happened(tmp_path, ends, ranks):
    trace = make(ends=ends)
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.png"))
    width, height = size(tmp_path / "a.png")
    assert width == 1800
    assert 300 < height < 600


@pytest.mark.slow
def test_plot__grows_with_the_lanes_up_to_a_bound(tmp_path):
    heights = []
    for ranks in (4, 16, 600):
        trace = ring(ranks, 2)
        plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.png"), np.arange(2, len(trace.calls), 4))
        heights.append(size(tmp_path / "a.png")[1])
    assert heights[0] < heights[1] < heights[2] < 2600


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "PDF"])
def test_plot__many_calls(tmp_path, suffix):
    trace = ring(64, 80)
    path = tmp_path / f"a.{suffix}"
    plot(trace, [Row("recorded", trace.timeline), Row("predicted", trace.timeline)], str(path), [2, 6])
    assert 20_000 < path.stat().st_size < 6_000_000
    if suffix == "svg":
        assert any(text.startswith("2000 of 5120 messages drawn, those with the longest waits") for text in words(path))


def test_plot__same_input_same_bytes(tmp_path):
    trace = make([(0, "MPI_Barrier", 1, 5)], ends=[9])
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        plot(trace, [Row("recorded", trace.timeline)], str(file))
    assert files[0].read_bytes() == files[1].read_bytes()


def test_plot__replaces_a_file_and_leaves_nothing_else(tmp_path):
    trace = make(ends=[9])
    (tmp_path / "a.png").write_text("old")
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.png"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]
    assert size(tmp_path / "a.png")[0] == 1800


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_plot__nothing_left_on_error(tmp_path, monkeypatch, error):
    def fail(self, file, **options):
        file.write(b"half")
        raise error

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    trace = make(ends=[9])
    (tmp_path / "a.png").write_text("old")
    with pytest.raises((UsageError, KeyboardInterrupt)):
        plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.png"))
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.png", "old")]


@pytest.mark.parametrize(
    ("path", "titles", "zeroed", "message"),
    [
        ("a.gif", ["recorded"], [], "a.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
        ("a", ["recorded"], [], "a: a picture of type '', must be one of .png .svg .pdf"),
        ("a.png", [], [], "a.png: no timeline to draw, must be one or more"),
        ("a.png", ["recorded"], [0, 2], "folder/ring.alog: no call e2, must be one of the 1 calls from e0 on"),
        ("none/a.png", ["recorded"], [], "none/a.png: cannot be written: No such file or directory"),
    ],
)
def test_plot__refuses(tmp_path, monkeypatch, path, titles, zeroed, message):
    monkeypatch.chdir(tmp_path)
    trace = make([(0, "MPI_Wait", 1, 5)], ends=[9])
    with pytest.raises(UsageError) as caught:
        plot(trace, [Row(title, trace.timeline) for title in titles], path, zeroed)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_import__without_matplotlib():
    code = "import sys, perwiz.report.timeline; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
