"""The table of 13 columns against the paper's Fig. 12 and 13, its notation, and what it adds up to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.jobs import benchmark
from perwiz.jobs.record import Counts
from perwiz.jobs.store.query import Used
from perwiz.jobs.views import table
from perwiz.jobs.views.table import Split

PROCESSES = 333_323
RECEIVED = {"recv": 841e4, "irecv": 344e4}
"""Column 12 of receives, whose column 7 is the length of buffers."""
FIG_12 = [
    # calls, per PE, time [s], per call [us], count, bytes, per call, latency, bandwidth, latency [s], transfer [s], idle [s]
    ("recv", 544e8, 163091, 271e5, 498, 695e13, 556e14, 102e4, 10, 300, 543e3, 841e4, 181e5),
    ("wait", 217e9, 650230, 150e5, 69, 0, 0, 0, 16, None, 344e4, None, 116e5),
    ("ssend", 421e7, 12636, 149e5, 3537, 265e11, 212e12, 50449, 50, 300, 209e3, 662e3, 140e5),
    ("waitall", 290e8, 86974, 775e4, 267, 626e8, 0, 0, 20, None, 580e3, None, 717e4),
    ("isend", 130e9, 390022, 622e4, 48, 553e11, 408e12, 3142, 10, 100, 130e4, 390e4, 102e4),
    ("send", 670e8, 200887, 427e4, 64, 496e11, 397e12, 5925, 10, 100, 650e3, 373e4, -10e4),
    ("sendrecv", 111e8, 33222, 391e4, 353, 125e11, 998e11, 9010, 20, 140, 221e3, 680e3, 301e4),
    ("irecv", 151e9, 452074, 333e4, 22, 140e12, 108e13, 7185, 10, 300, 149e4, 344e4, -16e5),
    ("probe", 150e6, 451, 331e4, 22052, 0, 0, 0, 8, None, 120e1, None, 331e4),
    ("bsend", 387e7, 11624, 170e3, 44, 161e10, 129e11, 3331, 23, 100, 891e2, 123e3, -42e3),
    ("waitany", 292e5, 87, 124e3, 4255, 482e6, 0, 0, 20, None, 583e0, None, 123e3),
    ("ibsend", 747194, 2, 209e0, 280, 189e7, 189e7, 2530, 23, 100, 172e-1, 180e-1, 174e0),
    ("allreduce", 213e8, 63861, 375e5, 1761, 654e9, 904e10, 425, 70, 6, 148e4, 143e4, 346e5),
]
"""Thirteen rows; benchmarks are printed with one or two digits, so what follows from them is right to 3.5 %."""


@pytest.mark.parametrize("printed", FIG_12, ids=lambda row: row[0])
def test_fig_12(printed):
    name, calls, per_process, seconds, per_call, counted, amount, long, latency, bandwidth, late, transfer, idle = printed
    moved = RECEIVED[name] * 300 * 2**20 if name in RECEIVED else amount
    (row,) = table.rows([Used(name, 10289, Counts(calls, seconds, counted, amount, moved))], PROCESSES, benchmark.read("cray-t3e"))
    assert (row.latency_us, row.bandwidth_MB_per_s) == (latency, bandwidth)
    assert row.calls_per_process == pytest.approx(per_process, rel=0.005, abs=1)  # cut, not rounded
    assert row.us_per_call == pytest.approx(per_call, rel=0.007, abs=1)
    assert row.bytes_per_call == pytest.approx(long, rel=0.007)
    assert row.latency_s == pytest.approx(late, rel=0.035)
    assert row.transfer_s == (None if transfer is None else pytest.approx(transfer, rel=0.035))
    assert (row.idle_s if idle > 0 else -row.hidden_s) == pytest.approx(idle, abs=0.006 * seconds + 0.035 * (late + (transfer or 0)))
    assert min(row.idle_s, row.hidden_s) == 0


def test_fig_4__the_row_of_the_oracle():
    # 703e5 calls, 292e8 bytes, 10 us, 300 MB/s, 2630 s: 37.4 us and 415 bytes a call, 703 s, 92.8 s and 1834 s.
    (row,) = table.rows([Used("recv", 7, Counts(703e5, 2630, 403e7, 292e8, 292e8))], 232, benchmark.read("cray-t3e"))
    found = (row.us_per_call, row.bytes_per_call, row.latency_s, row.transfer_s, row.idle_s)
    assert found == pytest.approx((37.41, 415.36, 703.0, 92.8, 1834.2), rel=1e-3)
    assert " ".join(table.lines([row])[2].split()) == "recv 703e+5 303017 263e+1 37 403e+7 292e+8 415 10 300 703e+0 928e-1 183e+1"


def test_negative_idle_is_hidden__no_benchmark_is_latency():
    used = [Used("isend", 1, Counts(137e6, 3890, 0, 0, 0)), Used("comm_rank", 1, Counts(464, 685e-6, 0, 0, 0))]
    isend, rank = table.rows(used, 232, benchmark.Benchmark("", {"isend": 100}, {}))
    assert (isend.latency_s, isend.transfer_s, isend.idle_s, isend.hidden_s) == pytest.approx((13700, None, 0, 9810))
    assert (rank.latency_us, rank.latency_s, rank.transfer_s, rank.idle_s, rank.hidden_s) == (None, 685e-6, None, None, 0)


def test_order__by_section_then_time():
    names = ["init", "bcast", "barrier", "type_free", "send", "recv_init", "waitall", "frobnicate", "pack", "iallreduce", "win_fence"]
    found = table.rows([Used(name, 1, Counts(1, k, 0, 0, 0)) for k, name in enumerate(names)], 1, benchmark.Benchmark("", {}, {}))
    order = "waitall recv_init send type_free pack iallreduce barrier bcast win_fence init frobnicate"
    assert [row.name for row in found] == order.split()
    assert [line for line in table.lines(found) if line.startswith("- ")] == [
        "- point-to-point",
        "- derived datatype",
        "- pack and unpack",
        "- collective",
        "- one-sided",
        "- environment",
        "- other",
    ]


def test_split__adds_up():
    used = [
        Used("send", 1, Counts(1e6, 100, 0, 100 * 2**20, 1000 * 2**20)),  # 10 s latency, 10 s transfer
        Used("scan", 1, Counts(1, 7, 0, 0, 0)),
        Used("init", 1, Counts(1, 3, 0, 0, 0)),
        Used("barrier", 1, Counts(1e6, 20, 0, 0, 0)),  # 30 s latency, of which 10 s are hidden
    ]
    found = table.split(table.rows(used, 4, benchmark.read("cray-t3e")))
    assert found == Split(other=3, latency=30, transfer=10, idle=80, rough=7, hidden=10)
    assert found.all == 130


COSTS = st.dictionaries(st.sampled_from(["send", "barrier", "wait"]), st.floats(1e-6, 1e9), max_size=3)


@given(
    st.lists(st.tuples(*[st.floats(0, 1e17)] * 5), min_size=3, max_size=3),
    st.builds(benchmark.Benchmark, st.just(""), COSTS, COSTS, st.sampled_from([(), ("barrier",)])),
)
def test_law__no_part_is_negative_and_all_add_up_to_the_time(counts, best):
    """Whatever records say, and whatever calls and bytes are said to take at best."""
    used = [Used(name, 1, Counts(*one)) for name, one in zip(("send", "barrier", "wait"), counts, strict=True)]
    rows = table.rows(used, 4, best)
    found = table.split(rows)
    assert min([*found.parts.values(), found.hidden, *(row.idle_s or 0 for row in rows)]) >= 0
    assert found.all == pytest.approx(sum(one[1] for one in counts))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((70_300_000, "703e+5"), (263e1, "263e+1"), (36.8, "368e-1"), (703.0, "703e+0"), (685e-6, "685e-6"), (243e10, "243e10")),
        *((-1400, "-14e+2"), (-104_000, "-10e+4"), (-20e0, "-20e+0"), (0, "0"), (999.6, "100e+1"), (1.53e9, "153e+7"), (1e-12, "100e-14")),
    ],
)
def test_notation(value, text):
    assert table.real(value) == text
    assert len(text) <= 7


@pytest.mark.parametrize(
    ("value", "text"), [(346176, "346176"), (999_999, "999999"), (1_000_000, "100e+4"), (0.4, "0"), (1_220_000, "122e+4")]
)
def test_notation__whole(value, text):
    assert table.whole(value) == text
