"""What the commands print about the sample traces, in full: `scripts/test --regold` rewrites it, and a person reads the difference."""

from __future__ import annotations

import pathlib

import pytest

from perwiz.cli import main

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRACES = sorted(path.name for path in (ROOT / "traces").iterdir() if path.name.removesuffix(".gz").endswith(("alog", "log")))
ARCHIVES = sorted(path.parent.name for path in (ROOT / "traces").glob("*/*.otf2"))
LARGE = {"grid.log.gz", "p_m3.alog.gz", "pmandel.alog.gz"}
ASKED = {
    "predict": "predict {} -n 5",
    "zero-wait": "predict {} -n 3 --zero-wait all",
    "network": "predict {} -n 3 --network cray-t3e --model perwiz-cluster",
}
"""Questions to the traces with messages."""
MORE = {
    "srtest-alog-e25": "predict traces/srtest.alog --zero-wait e25",
    "srtest-alog-advance": "predict traces/srtest.alog --advance e25 -n 2",
    "srtest-alog-domino": "domino traces/srtest.alog -n 1 --kind order --draws 0",
    "srtest-alog-domino-advance": "domino traces/srtest.alog --question advance -n 1 --kind order --draws 0",
    "monte-log-greedy": "domino traces/monte.log -n 1 --greedy 2 --kind protocol",
    "monte-log-target": "domino traces/monte.log -n 1 --target 1.03x --kind wait --by call --draws 0 -q",
    "cpilog-alog-domino": "domino traces/cpilog.alog -n 1 --kind balance --draws 0",
    "srtest-alog-semantics": "predict traces/srtest.alog --semantics dimemas --network L_ns=2000000 -n 1",
    "srtest-alog-critical": "critical traces/srtest.alog -n 5",
    "npb-is-critical": "critical traces/npb-is.S-4 -n 3",
    "srtest-alog-curve": "curve traces/srtest.alog",
    "monte-log-curve-rank": "curve traces/monte.log --of rank:0 --to 3 --points 2",
    "srtest-alog-bound": "bound traces/srtest.alog",
    "npb-is-bound": "bound traces/npb-is.S-4",
    "srtest-alog-balance": "balance traces/srtest.alog",
    "srtest-alog-compare": "compare traces/srtest.alog traces/srtest.alog --zero-wait e25 --max-error 1%",
    "npb-is-compare": "compare traces/npb-is.S-4 traces/npb-is.S-4 --zero-wait op:MPI_Alltoallv -n 0",
    "early-late-compare": "compare traces/early_send.log.gz traces/late_send.log.gz",
    "scaling-series": "series traces/scaling",
    "srtest-alog-patterns": "patterns traces/srtest.alog -n 1 --no-causes",
    "npb-is-patterns": "patterns traces/npb-is.S-4 --of mpi_wait_nxn -n 1 --no-causes",
    "halo-iterations": "info traces/halo-before --iterations",
    "pmandel-iterations": "info traces/pmandel.alog.gz --iterations -q",
    "team-iterations": "predict traces/team-static.alog.gz --iterations 3..5 -n 2",
    "team-phases": "phases traces/team-static.alog.gz",
    "npb-mg-iterations": "info traces/npb-mg.S_timens-4 --iterations -q",
    "ring-ti-info": "info traces/ring-ti/trace --waits 3",
    "ring-ti-speed": "predict traces/ring-ti --speed rank:0=2 -n 2",
    "npb-is-cube": "cube show traces/npb-is.S-4 --metric mpi_wait_nxn -n 5",
    "ping-pong-counters": "info traces/ping-pong-otf2-papi --counters",
}
"""Command lines with a golden of their own."""
SLOW = {name for name in MORE if name.startswith(("npb", "ping"))}


def cases():
    """Yield (name of the golden, command line), marked slow where the trace is large."""
    for trace in TRACES:
        lines = {"info": "info {} --waits 5 --regions"} | (ASKED if trace in {"srtest.alog", "monte.log", *LARGE} - {"grid.log.gz"} else {})
        for name, line in lines.items():
            marks = [pytest.mark.slow] if trace in LARGE else []
            golden = f"{trace.removesuffix('.gz').replace('.', '-')}-{name}"
            yield pytest.param(golden, line.format(f"traces/{trace}"), marks=marks, id=golden)
    for trace in ARCHIVES:
        for name, line in {"info": "info {} --waits 5 --regions", "zero-wait": "predict {} -n 3 --zero-wait all"}.items():
            yield pytest.param(f"{trace}-{name}", line.format(f"traces/{trace}"), marks=[pytest.mark.slow], id=f"{trace}-{name}")
    for name, line in MORE.items():
        yield pytest.param(name, line, marks=[pytest.mark.slow] if name in SLOW else [], id=name)


CASES = list(cases())


@pytest.mark.parametrize(("name", "line"), CASES)
def test_golden(name, line, golden, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    code = main(line.split())
    out, err = capsys.readouterr()
    golden(name, f"$ perwiz {line}\n{out}{err}exit code {code}\n")


CALIBRATE = "npb-mg.S_timens-4-calibrate"
STRAGGLERS = "stragglers_of_a_table"
"""Written where what it shows is tested."""


@pytest.mark.slow
def test_golden__calibrate(golden, capsys, monkeypatch, tmp_path):
    """It says the day, and writes a file: not here."""
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("perwiz.commands.calibrate._today", lambda: "2026-11-22")
    line = "calibrate --from traces/npb-mg.S_timens-4 -o m.toml"
    code = main(line.split())
    out, err = capsys.readouterr()
    golden(CALIBRATE, f"$ perwiz {line}\n{out}{err}exit code {code}\n")


def test_goldens__none_is_left_over():
    names = {path.stem for path in (ROOT / "tests" / "golden").glob("*.txt")}
    assert names == {CALIBRATE, STRAGGLERS, *(case.values[0] for case in CASES)}
