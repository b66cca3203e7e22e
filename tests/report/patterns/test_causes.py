"""Causes and efficiencies in the report of `perwiz patterns`: text, document, and what leaves them out."""

import json

import pytest

from build import Builder
from documents import valid
from naive_delays import chain
from perwiz.cli import main
from perwiz.formats import files


@pytest.fixture
def patterns(tmp_path, monkeypatch, capsys):
    """Return patterns(*words): the output of `perwiz patterns` on a wait of 4 us that causes another one of 4 us."""
    monkeypatch.chdir(tmp_path)
    files.write(chain(), "in.alog")

    def run(*words):
        assert main(["patterns", "in.alog", *words]) == 0
        return capsys.readouterr().out

    return run


def document(patterns, *words):
    block = json.loads(patterns("--json", *words))
    valid(block, "patterns")
    return block


def section(text, title):
    """Return the lines of a table, given how its title begins."""
    return text.split(f"\n{title}")[1].split("\n\n")[0].splitlines()[1:]


def test_causes(patterns):
    lines = section(patterns(), "causes, by delay cost")
    assert lines == [
        "call path, on the late side  delay cost  of waiting  short term  long term   worst rank  mostly as",
        "f                              8.000 us     100.0 %    4.000 us   4.000 us  0: 8.000 us  Late Sender 100.0 %",
        "critical path, recorded times: 7.000 us, goes 1 time to another process, 42.9 % of it above the mean of all",
    ]
    assert "\nmain cause    f on rank 0: 8.000 us (100.0 %) of the waiting is for a process that spends more time there than" in patterns()


def test_causes__document(patterns):
    causes = document(patterns)["causes"]
    assert (causes["waiting_ns"], causes["explained_ns"], causes["indirect_ns"], causes["propagating_ns"]) == (8000, 8000, 4000, 4000)
    assert (causes["critical_path_ns"], causes["critical_path_changes"], causes["critical_path_imbalance_ns"]) == (7000, 1, 3000)
    assert causes["call_paths"] == [
        {
            "call_path": "f",
            "cost_ns": 8000,
            "short_term_ns": 4000,
            "long_term_ns": 4000,
            "worst": {"rank": 0, "thread": 0},
            "worst_ns": 8000,
            "patterns": {"mpi_latesender": 8000},
        }
    ]


def test_efficiencies(patterns):
    """u = (6, 3, 3), mean 4, in 7: the calls take no time, so the ideal run is the run."""
    assert section(patterns(), "parallel efficiencies")[:2] == [
        "part         time     ideal   balance  serialisation   transfer  communication  parallel",
        "program  7.000 us  7.000 us  66.7 % !       85.7 %    100.0 %         85.7 %    57.1 % !",
    ]
    assert [line.split()[0] for line in section(patterns("--efficiencies"), "parallel efficiencies")] == [
        "part",
        "program",
        "f",
        "g",
        "ideal:",
    ]


def test_efficiencies__document(patterns):
    whole, *regions = document(patterns)["efficiencies"]
    assert (whole["time_ns"], whole["ideal_ns"], whole["estimated_ideal_ns"], whole["max_useful_ns"]) == (7000, 7000, 7000, 6000)
    assert [row["name"] for row in regions] == ["f", "g"]


def test_no_causes(patterns):
    text = patterns("--no-causes")
    assert "delay cost" not in text
    assert "efficienc" not in text
    block = document(patterns, "--no-causes")
    assert (block["causes"], block["efficiencies"]) == (None, [])
    assert not any(row["name"].startswith("delay") for row in block["metrics"])


def test_tree_shows_time_only(patterns):
    """The metrics of causes are in the document; the tree of the text keeps to time."""
    assert {"delay_latesender", "critical_path", "imbalance"} <= {row["name"] for row in document(patterns)["metrics"]}
    assert "Short-term" not in patterns()


def test_waiting_for_nobody(tmp_path, monkeypatch, capsys):
    """Rank 0 begins at 5 us, computes 2 and sends; rank 1 has waited for it since 1: of 6, 4 stay."""
    monkeypatch.chdir(tmp_path)
    b = Builder(2)
    b.begin = {0: 5000, 1: 0}
    b.compute(0, 2000)
    b.send(0, 1, at=(7000, 7000))
    b.recv(1, 0, at=(1000, 7000))
    files.write(b.trace(), "in.alog")
    assert main(["patterns", "in.alog"]) == 0
    out = capsys.readouterr().out
    assert "\n4.000 us of waiting is for nothing recorded: for processes that began late, or clocks are wrong\n" in out


def test_short_regions_are_counted(tmp_path, monkeypatch, capsys):
    """Of f and g one takes 10 us, the other 50 ns."""
    monkeypatch.chdir(tmp_path)
    b = Builder(1)
    for name, length in (("f", 50), ("g", 10_000)):
        with b.region(0, name):
            b.compute(0, length)
    b.call(0, "Comm_rank", work=10)
    files.write(b.trace(), "in.alog")
    assert main(["patterns", "in.alog", "--efficiencies"]) == 0
    lines = section(capsys.readouterr().out, "parallel efficiencies")
    assert [line.split()[0] for line in lines[1:3]] == ["program", "g"]
    assert lines[3] == "and 1 region shorter than 1 % of it (--json lists all)"


def test_reference(patterns):
    """The reference computes 6 us on one process, the run 6 + 3 + 3 on three: 50 %, times 57.1 %."""
    b = Builder(1)
    b.compute(0, 6000)
    b.call(0, "Comm_rank", work=10)
    files.write(b.trace(), "one.alog")
    line = section(patterns("--reference", "one.alog"), "parallel efficiencies")[-1]
    assert line == "against one.alog of 1 process: computation scaling 50.0 % !, global efficiency 28.6 % !"
    found = document(patterns, "--reference", "one.alog")["reference"]
    assert (found["computation_ns"], found["computation_scaling"]) == (6000, 0.5)


def test_reference__standard_input_twice(capsys):
    assert main(["patterns", "-", "--reference", "-"]) == 2
    assert capsys.readouterr().err == "perwiz: -: standard input holds one trace, must be named once\n"


def test_reference__refused(patterns, capsys):
    assert main(["patterns", "in.alog", "--reference", "in.alog", "--no-causes"]) == 2
    assert capsys.readouterr().err == "perwiz: --reference: needs the efficiencies, which --no-causes leaves out\n"
