"""Benchmark files: shipped, refused, and derived from a LogGPS model."""

from __future__ import annotations

import pytest

from perwiz.errors import ModelError
from perwiz.jobs import benchmark

GOOD = 'name = "x"\nsource = "y"\nassumed = []\nrough = []\n[latency_us]\nsend = 10\n[bandwidth_MB_per_s]\nsend = 100\n'


def test_t3e__reduce_is_that_of_fig_4():
    # Fig. 4: 346176 calls, 181e9 bytes, 51 us, 6 MB/s: 17.7 s latency, 288e+2 s transfer, of 1040000 s.
    late, transfer, idle = benchmark.read("cray-t3e").split("reduce", 346176, 104e4, 181e9)
    assert (late, transfer, idle) == pytest.approx((17.7, 28800, 101e4), rel=0.01)


def test_derived__cray_t3e_gives_its_benchmark_back():
    # models/cray-t3e.toml was made from it: send 10 us at 100 MB/s, recv 300 MB/s, ssend 50 us.
    found, measured = benchmark.derived("cray-t3e"), benchmark.read("cray-t3e")
    for name in ("send", "recv", "isend", "irecv", "sendrecv"):
        assert found.latency[name] == measured.latency[name]
    for name in ("send", "recv", "isend", "irecv"):
        assert found.bandwidth[name] == pytest.approx(measured.bandwidth[name], rel=1e-4)
    assert found.latency["ssend"] == 50
    # A barrier of 48 processes: 6 rounds of 2 o + L = 25 us; an allreduce moves its bytes
    # 2 * 31 / 32 + 2 times (reduce-scatter and allgather of 32, the other 16 before and after), each time at 100 and then at 300 MB/s.
    assert found.latency["barrier"] == 150
    assert found.bandwidth["allreduce"] == pytest.approx(1 / (3.9375 * (1 / 100 + 1 / 300)), rel=0.02)
    assert found.label.startswith("derived from the LogGPS model cray-t3e, ")
    assert {"init", "finalize", "comm_dup", "cart_create"}.isdisjoint(found.latency)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("send = 10\n", "send = -1\n", "[latency_us] send is -1, must be a number above 0, at most 1e+12"),
        ("send = 100", "send = nan", "[bandwidth_MB_per_s] send is nan, must be a number above 0, at most 1e+12"),
        ("send = 100", "send = true", "[bandwidth_MB_per_s] send is True, must be a number above 0, at most 1e+12"),
        ("assumed = []", 'assumed = ["recv"]', "assumed is ['recv'], must be a list of routines of [latency_us]"),
        (
            'name = "x"\n',
            "",
            "has assumed, bandwidth_MB_per_s, latency_us, rough, source,"
            " must have name, source, assumed, rough, latency_us, bandwidth_MB_per_s",
        ),
        ("[latency_us]\nsend = 10", "latency_us = 3", "latency_us is '3', must be a table [latency_us]"),
    ],
)
def test_refused(tmp_path, monkeypatch, old, new, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        benchmark.read("my.toml")
    assert str(caught.value) == f"my.toml: {message}"


def test_refused__nested_beyond_reason(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text("a = " + 100_000 * "[")
    with pytest.raises(ModelError, match=r"deep.toml: maximum recursion depth exceeded.*, must be TOML"):
        benchmark.read(str(path))


def test_refused__no_such_one():
    with pytest.raises(ModelError, match=r"^no benchmark 'vax', must be one of cray-t3e, or a path to a .toml file$"):
        benchmark.read("vax")
    with pytest.raises(ModelError, match=r"^no.toml: cannot be read: No such file or directory, must be a benchmark file$"):
        benchmark.read("no.toml")
