"""The timeline picture: the numbers it draws, and the file it leaves behind."""

import dataclasses
import re
import subprocess
import sys
from itertools import chain, pairwise

import numpy as np
import pytest

import build
from perwiz.errors import UsageError
from perwiz.report import palette
from perwiz.report.page import html
from perwiz.report.picture import bars as lanes_bars
from perwiz.report.picture import choice as lanes_choice
from perwiz.report.picture import lanes
from perwiz.report.picture.marks import COLOURS, COMPUTATION
from perwiz.report.picture.timeline import Row, plot
from perwiz.trace import tables as tb
from perwiz.trace.operations import OP
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
    return tb.Locations(none * 0, none, i4(process), i4(thread), none, np.minimum(thread, tb.THREAD).astype("u1"))


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
        calls=tb.Calls(i4(location), np.array([OP[r] for r in routine], "u2"), *[none] * 5, *[i8(none * 0)] * 2),
        requests=tb.Requests.empty(),
        regions=tb.Regions(i4(where), zero, zero - 1, i4(range(1, len(zero) + 1)), zero, zero),
        messages=tb.Messages(send, send, receive, receive, send * 0, send * 0, (send * 0).astype("u1"), *[i8(send * 0)] * 3),
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
    return lanes_bars.bars(lane, group, left.astype(float), right.astype(float), columns)


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
        ("MPI_Waitall", "calls that wait or test"),
        ("MPI_Test", "calls that wait or test"),
        ("MPI_Bcast", "collective"),
        ("MPI_Scan", "collective"),
        ("MPI_other", "other calls"),
        ("omp_fork", "other calls"),
        ("device_launch", "other calls"),
        ("omp_barrier", "collective"),
        ("omp_critical", "calls that wait or test"),
        ("device_synchronize", "calls that wait or test"),
        ("omp_idle", "idle thread or device"),
        ("pthread_idle", "idle thread or device"),
        ("device_idle", "idle thread or device"),
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


def test_bars__the_share_of_a_column_that_calls_cover():
    bars = drawn([(0, 1, 2.0, 3.5), (0, 1, 3.7, 4.6), (0, 1, 5.0, 5.2), (0, 1, 5.9, 5.9), (0, 1, 6.0, 6.26)])
    expected = [(0, 1, 2, 3.5), (0, 1, 4, 5), (0, 1, 5, 6), (0, 1, 6, 7)]
    assert table(bars) == expected
    assert bars.share.tolist() == [1, 0.75, 0.25, 0.5]


def test_bars__nothing_of_what_is_cut_off():
    bars = drawn([(0, 0, -5.0, 2.0), (2, 1, -3.0, 0.0), (0, 2, -0.5, 0.5), (0, 3, -4.0, -4.0), (1, 3, 0.0, 0.0)])
    assert table(bars) == [(0, 0, 0, 2), (0, 2, 0, 1), (1, 3, 0, 1)]


def test_bars__bounded_by_the_picture():
    left = np.sort(np.random.default_rng(7).uniform(0, 100, 20_000))
    bars = lanes_bars.bars(np.zeros(20_000, int), np.arange(20_000) % 6, left, left + 0.001, 100)
    assert len(bars) <= 100
    assert bars.left.min() == 0
    assert bars.right.max() == 100


def test_bars__none():
    empty = np.empty(0)
    assert len(lanes_bars.bars(empty.astype(int), empty.astype(int), empty, empty, 10)) == 0


def test_boxes():
    corners = lanes_bars.boxes(np.array([2]), np.array([1.0]), np.array([4.0]), 0.5)
    assert corners.tolist() == [[[1, 1.75], [1, 2.25], [4, 2.25], [4, 1.75]]]


def test_lanes__by_rank_and_thread():
    where = locations([1, 0, 1, 0], [0, 1, 1, 0])
    assert lanes.lanes(where).tolist() == [2, 1, 3, 0]
    assert lanes.labels(where) == ["rank 0", "rank 0.1", "rank 1", "rank 1.1"]
    assert lanes.labels(build.CATALOGUE["device"]().locations) == ["rank 0", "stream 0.1", "rank 1"]
    assert lanes.labels(locations([1, 0], [0, 0])) == ["rank 0", "rank 1"]


@pytest.mark.parametrize(("lane", "step"), [(0.32, 1), (0.15, 1), (0.149, 2), (0.0068, 32)])
def test_label_step(lane, step):
    assert lanes.label_step(lane, 0.15) == step


def choose(wait, length=10, place=0.5, area=1e9):
    wait = np.asarray(wait, np.int64)
    return lanes_choice.messages(wait, np.full(len(wait), float(length)), np.zeros(len(wait)) + place, area).tolist()


def test_messages__all_of_few():
    assert choose(np.zeros(60, int), length=1000, area=1) == list(range(60))
    assert choose(np.zeros(2000, int)) == list(range(2000))


def test_messages__longest_waits_first():
    wait = np.zeros(9052, int)
    wait[[3, 5000, 9051]] = 7
    rows = choose(wait, place=np.linspace(0, 1, 9052))
    assert len(rows) == 2000
    assert {3, 5000, 9051} <= set(rows)
    assert rows == sorted(rows)


def test_messages__evenly_among_equals():
    rows = choose(np.zeros(10_000, int), place=np.linspace(0, 1, 10_000))
    assert np.abs(np.histogram(rows, 10, (0, 10_000))[0] - 200).max() <= 2


@pytest.mark.parametrize(("length", "drawn"), [(99, 400), (399, 100), (3999, 10)])
def test_messages__cover_little_of_the_panel(length, drawn):
    assert len(choose(np.arange(1200), length, np.arange(1200) % 12 / 12, 1e6)) == drawn


def test_messages__not_all_in_one_place():
    wait, place = np.arange(1000), np.repeat([0.1, 0.9], 500)
    rows = choose(wait, 99, place, 1e6)
    assert rows == [*range(434, 500), *range(934, 1000)]


def test_messages__none_of_what_is_cut_off():
    assert choose([9, 1, 2], place=np.array([-0.1, 0.0, 1.0])) == [1, 2]


@pytest.mark.parametrize(
    ("lane", "place", "crowded"),
    [
        ([], [], False),
        ([0, 0, 0], [0, 14, 28], False),
        ([0, 0, 0, 0], [28, 0, 27, 60], False),
        ([0, 0, 0], [0, 13, 40], True),
        ([0, 1, 2], [5, 5, 5], False),
        ([0] * 400, range(0, 40_000, 100), False),
        ([0] * 401, range(0, 40_100, 100), True),
    ],
)
def test_crowded(lane, place, crowded):
    assert lanes_choice.crowded(i8(lane), np.array(place, float)) == crowded


SIZE = lanes.Size(width=150.0, lane=48.0, columns=100)


def test_scene__axis_of_the_longest_run_and_bands_of_parallel_regions():
    trace = make([(0, "MPI_Send", 5, 6)], regions=[(0, 0, 4), (0, 4, 8)], ends=[10])
    trace = dataclasses.replace(trace, regions=dataclasses.replace(trace.regions, path=i4([1, 0])))
    scene = lanes.scene(trace, [trace.timeline, timeline(((2,), (3,)), ends=[40])], i8([0, 0]), SIZE)
    assert (scene.recorded, scene.origin, scene.span, scene.unit, scene.marks) == (10, 0, 40, (1000, "us"), "frames")
    assert scene.times(np.array([0.0, 100.0])).tolist() == [0, 0.04]
    assert scene.bands.tolist() == [1]
    assert scene.zeroed.tolist() == [0]


def test_scene__begins_where_the_last_process_leaves_a_long_init():
    trace = make([(0, "MPI_Init", 1, 11), (1, "MPI_Init_thread", 5, 9)], ends=[100, 90])
    scene = lanes.scene(trace, [trace.timeline, timeline(((1, 5), (8, 9)), ends=[80, 70])], i8([]), SIZE)
    assert (scene.origin, scene.span) == (9, 91)
    assert scene.times(np.array([0.0, 100.0])).tolist() == [0.009, 0.1]
    assert scene.columns(trace.timeline, i8([0, 9, 100])).round(3).tolist() == [-9.89, 0, 100]


@pytest.mark.parametrize(("leave", "end"), [(10, 100), (100, 100)])
def test_scene__keeps_a_short_init_and_one_that_is_all(leave, end):
    trace = make([(0, "MPI_Init", 0, leave)], ends=[end])
    assert lanes.scene(trace, [trace.timeline], i8([]), SIZE).origin == 0


def test_scene__messages_received_too_early_come_first():
    """Of 200 messages that take 9, and one that comes 1 too early, room is for a few."""
    calls = [(0, "MPI_Send", 10 * k, 10 * k) for k in range(201)]
    calls += [(1, "MPI_Recv", 10 * k, 10 * k + 9) for k in range(201)]
    calls[77] = (0, "MPI_Send", 780, 780)
    trace = make(calls, messages=[(k, 201 + k) for k in range(201)], ends=[3000, 3000])
    scene = lanes.scene(trace, [trace.timeline], i8([]), SIZE)
    assert scene.early
    assert 77 in scene.messages
    assert len(scene.messages) < 60
    assert lanes.early(trace, trace.timeline, scene.messages).tolist() == [77]
    note = f"{len(scene.messages)} of 201 messages drawn, those received before they were sent, then those with the longest waits"
    assert lanes.notes(trace, scene, 0) == [note]


@pytest.mark.parametrize(("lane", "marks"), [(48.0, "strips"), (8.0, "strips"), (7.9, "none")])
def test_scene__crowded_zeroed_waits(lane, marks):
    trace = make([(0, "MPI_Wait", k, k + 1) for k in range(0, 40, 2)], ends=[100])
    scene = lanes.scene(trace, [trace.timeline], np.arange(20), dataclasses.replace(SIZE, lane=lane))
    assert scene.marks == marks


def test_colours__differ_in_grey():
    grey = sorted(int(np.dot([0.299, 0.587, 0.114], list(bytes.fromhex(colour[1:])))) for colour in (*COLOURS, COMPUTATION))
    assert min(b - a for a, b in pairwise(grey)) >= 14


def test_colours__of_the_page():
    """One palette: what is send in a picture is send in the page."""
    page = html.page("", {}, [])
    assert all(f"--{name}:{colour};" in page for name, colour in zip((*palette.GROUPS, "wait"), COLOURS, strict=True))


def test_calls__begin_with_waiting():
    """Of a call of 100 the first 30 are waiting, in a colour of its own; one that waits to its end is all of it."""
    trace = make([(0, "MPI_Recv", 0, 100), (0, "MPI_Recv", 200, 300), (0, "MPI_Send", 400, 500)], ends=[1000])
    scene = lanes.scene(trace, [trace.timeline], i8([]), SIZE)
    bars = lanes.calls(trace, trace.timeline, scene, i8([30, 100, 0]))
    found = sorted(zip(bars.left.tolist(), bars.right.tolist(), [lanes.GROUPS[k] for k in bars.group], strict=True))
    assert [row for row in found if row[1] > row[0] + 0.5] == [
        (0.0, 3.0, "waiting"),
        (3.0, 10.0, "receive"),
        (20.0, 30.0, "waiting"),
        (40.0, 50.0, "send"),
    ]
    assert bars.merged == 0
    assert lanes.WAITING not in lanes.calls(trace, trace.timeline, scene).group


def test_calls__that_are_idle_do_not_wait():
    """A stream that waits for another one has nothing to do: its wait is not shown as one."""
    trace = build.CATALOGUE["device"]()
    scene, wait = lanes.scene(trace, [trace.timeline], i8([]), SIZE), np.full(len(trace.calls), 40)
    bars = lanes.calls(trace, trace.timeline, scene, wait)
    assert [{lanes.GROUPS[k] for k in bars.group[bars.lane == lane]} for lane in range(3)] == [
        {"waiting", "calls that wait or test", "other calls", "send"},
        {"idle thread or device"},
        {"waiting", "receive"},
    ]


def test_links__between_lanes_if_few():
    """The link that program order has anyway is not drawn; of more than 60 none is, which is said."""
    b = build.Builder(1)
    worker = b.thread(0)
    releases = [b.call(0, "omp_release") for _ in range(60)]
    for release in releases:
        b.link("lock", release, b.call(worker, "omp_lock"))
    b.link("lock", releases[0], b.call(0, "omp_lock"))
    trace = b.trace()
    scene = lanes.scene(trace, [trace.timeline], i8([]), SIZE)
    assert (len(trace.links), len(scene.links), lanes.notes(trace, scene, 0)) == (61, 60, [])
    b.link("lock", releases[0], b.call(worker, "omp_lock"))
    trace = b.trace()
    scene = lanes.scene(trace, [trace.timeline], i8([]), SIZE)
    assert (len(scene.links), lanes.notes(trace, scene, 0)) == (0, ["61 links of threads, devices and windows are not drawn"])


# Words


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("folder/ring.alog", "ring.alog: 1 process, 0 MPI calls"),
        ("data/lulesh-8/traces.otf2", "lulesh-8/traces.otf2: 1 process, 0 MPI calls"),
        ("/traces.otf2", "traces.otf2: 1 process, 0 MPI calls"),
    ],
)
def test_title(path, text):
    assert lanes.title(make(ends=[5], path=path)) == text


def test_title__of_an_archive_in_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "snap-8").mkdir()
    monkeypatch.chdir(tmp_path / "snap-8")
    assert lanes.title(make(ends=[5], path="traces.otf2")).startswith("snap-8/traces.otf2: ")


def test_notes():
    calls = [(0, "MPI_Init", 0, 600_000), *((0, "MPI_Wait", 600_000 + k, 600_000 + k) for k in range(20))]
    trace = make(calls, ends=[1_000_000])
    scene = lanes.scene(trace, [trace.timeline], np.arange(1, 21), SIZE)
    thin = dataclasses.replace(scene, marks="none", size=dataclasses.replace(SIZE, lane=4.0))
    assert lanes.notes(trace, scene, 0) == [
        "0 to 600.0 us, until the last process left MPI_Init, is not drawn",
        "20 zeroed waits marked by strips above the bars, pale where they cover little of a dot",
    ]
    assert lanes.notes(trace, thin, 20)[1:] == [
        "20 zeroed waits not marked, as lanes are too thin",
        "20 of 21 calls are shorter than a dot: per dot the colour is the kind that lasts longest, the strength the share of time in calls",
    ]


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
        "makespan 750 ns, gain 250 ns (25.0 %)",
        "time since the start of the run [us]",
        "send",
        "receive",
        "calls that wait or test",
        "computation",
        "region a $step_1",
        "message",
        "zeroed wait",
        "end of the run",
        "end of the upper run",
        "1 of 3 calls are shorter than a dot: per dot the colour is the kind that lasts longest, the height the share of time in calls",
    ):
        assert text in texts
    assert not {"collective", "send-receive", "other calls"} & set(texts)


def test_plot__messages_received_too_early(tmp_path):
    """Early in the second run only: the legend tells, and nothing is said of a gain that is not meant as one."""
    trace = make([(0, "MPI_Send", 100, 300), (1, "MPI_Recv", 50, 500)], messages=[(0, 1)], ends=[600, 1000])
    other = timeline(((100, 20), (300, 90)), ends=[600, 700])
    plot(trace, [Row("recorded", trace.timeline), Row("other", other, rival=False)], str(tmp_path / "a.svg"))
    texts = words(tmp_path / "a.svg")
    assert {"message", "received before it was sent", "makespan 700 ns"} <= set(texts)
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"))
    assert "received before it was sent" not in words(tmp_path / "a.svg")


def test_plot__a_device(tmp_path):
    """Kernels have their names, the stream its own; what is idle and the links are told."""
    trace = build.CATALOGUE["device"]()
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"))
    texts = words(tmp_path / "a.svg")
    assert {"built: 2 processes, 1 stream, 8 calls", "stream 0.1", "idle thread or device", "launch, done"} <= set(texts)
    assert texts.count("kernel") == 2


def test_plot__threads(tmp_path):
    trace = build.CATALOGUE["threads"]()
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"))
    texts = words(tmp_path / "a.svg")
    assert {"built: 2 processes, 2 more threads, 18 calls", "rank 0.1", "idle thread or device", "fork, join, lock"} <= set(texts)


def test_plot__legend_only_of_what_occurs(tmp_path):
    trace = make(ends=[5000])
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"))
    assert words(tmp_path / "a.svg")[-2:] == ["computation", "end of the run"]


def test_plot__begins_after_a_long_init(tmp_path):
    trace = make([(0, "MPI_Init", 0, 800_000), (0, "MPI_Barrier", 850_000, 900_000)], ends=[1_000_000])
    plot(trace, [Row("recorded", trace.timeline)], str(tmp_path / "a.svg"), [1])
    texts = words(tmp_path / "a.svg")
    assert {"0.800", "1.000", "makespan 1.000 ms", "collective", "zeroed wait"} <= set(texts)
    assert not {"0.000", "0.600", "other calls"} & set(texts)
    assert "0 to 800.0 us, until the last process left MPI_Init, is not drawn" in texts


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
def test_plot__many_calls(tmp_path):
    trace = ring(64, 80)
    path = tmp_path / "a.svg"
    plot(trace, [Row("recorded", trace.timeline), Row("predicted", trace.timeline)], str(path), [2, 6])
    assert 20_000 < path.stat().st_size < 6_000_000
    assert "145 of 5120 messages drawn, those with the longest waits" in words(path)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_plot__same_input_same_bytes(tmp_path, suffix, magic):
    trace = make([(0, "MPI_Barrier", 1, 5)], ends=[9])
    files = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    for file in files:
        plot(trace, [Row("recorded", trace.timeline)], str(file))
    data = files[0].read_bytes()
    assert data == files[1].read_bytes()
    assert (data.startswith(magic), b"CreationDate" in data or b"dc:date" in data) == (True, False)


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
        ("none/a.png", ["recorded"], [], "none/a.png: cannot be written: no such file or directory"),
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
    code = "import sys, perwiz.report.picture.timeline; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
