"""`perwiz calibrate`: what it refuses, with its full message; what it writes, with a launcher that only pretends, and under real MPIs."""

import json
import os
import pathlib

import pytest

import mpis
import time_independent
from build import Builder
from documents import valid
from perwiz import cli
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.loggps.model_file import load
from perwiz.record import programs

PAIR = [f"{kind} {size} {' '.join([str(time)] * 5)}" for kind, times in {
    "one": (3000, 3100, 3400, 4600, 9400, 28600),
    "many": (12000, 12550, 14200, 20800, 47200, 152800),
    "spaced": (4800, 4900, 5200, 6400, 11200, 30400),
    "receive": (300, 300, 300, 300, 300, 300),
}.items() for size, time in zip((1, 101, 401, 1601, 6401, 25601), times, strict=True)] + [
    "late 1 200000 90 90 90", "late 1601 200000 90 90 90", "late 6401 200000 200900 200900 200900",
    "asleep 1 200000 90 90 90", "asleep 1601 200000 90 90 90", "asleep 6401 200000 200900 200900 200900",
    "overlap 25601 9000 9000 9000 9000 9000",
]  # fmt: skip
"""A machine with L 1000, o 250, O 0 and G 0.5: one way takes 1500 + 0.5 (k - 1)."""


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PERWIZ_MPICC", raising=False)


def script(name, text):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path.absolute())


@pytest.fixture
def pretend():
    """Return pretend(lines, code), which makes a launcher and an mpicc that print lines and do nothing."""

    def make(lines, code=0, said=""):
        script("bin/mpicc", 'for word; do case $last in -o) : > "$word";; esac; last=$word; done')
        pathlib.Path("bin/lines").write_text("".join(f"@perwiz {line}\n" for line in lines), encoding="utf-8")
        return script("bin/mpiexec", f"cat {os.path.abspath('bin/lines')}; echo '{said}' >&2; exit {code}")

    return make


def measured(*pairs):
    lines = ["processes 2", "mpi Open MPI v9.9, of a test", "host here", "other there"]
    return [*lines, *(f"{pair} {line}" for pair in pairs for line in PAIR), "done"]


def refused(words, message, capsys, code=2):
    assert cli.main(["calibrate", *words]) == code
    assert capsys.readouterr() == ("", f"perwiz: {message}\n")
    assert not os.path.exists("mine.toml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "mpiexec"], "a model file (-o) is missing; see perwiz calibrate --help"),
        (["-o", "mine", "--", "mpiexec"], "mine: must end in .toml, as model files do"),
        (
            ["-o", "mine.toml"],
            "a launcher (-- mpiexec -n 2) or --from TRACE is missing; see perwiz calibrate --help",
        ),
        (
            ["-o", "mine.toml", "--from", "run", "--", "mpiexec"],
            "a launcher and --from TRACE, must be one of them; see perwiz calibrate --help",
        ),
        (["-o", "mine.toml", "--", "./nowhere", "-n", "2"], "./nowhere: not found, must be a command such as mpiexec"),
        (["-o", "no/mine.toml", "--", "ls"], "no/mine.toml: there is no directory no, must be in one that exists"),
        (
            ["-o", "mine.toml", "--mpicc", "./nocc", "--", "ls"],
            f"./nocc: not found, must be the compiler wrapper of the program's MPI (--mpicc); {mpis.AHEAD}",
        ),
        (
            ["-o", "mine.toml", "--rounds", "2", "--", "ls"],
            "argument --rounds: '2', must be a whole number from 3 to 1073741824; see perwiz calibrate --help",
        ),
    ],
)
def test_refused(words, message, capsys):
    refused(words, message, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_refused__no_permission_to_write(capsys):
    pathlib.Path("closed").mkdir(mode=0o500)
    refused(["-o", "closed/mine.toml", "--", "ls"], "closed/mine.toml: cannot be written: permission denied", capsys)


def test_refused__no_permission_to_write__as_a_system_says_it(monkeypatch, capsys):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    refused(["-o", "mine.toml", "--", "ls"], "mine.toml: cannot be written: permission denied", capsys)


def test_refused__compiler_that_fails(capsys):
    mpicc = script("bin/mpicc", "echo 'x.c:1: fatal error: mpi.h: No such file or directory' >&2; exit 1")
    why = "x.c:1: fatal error: mpi.h: No such file or directory"
    message = f"{mpicc}: cannot compile calibrate.c: {why}; {mpis.AHEAD}"
    refused(["-o", "mine.toml", "--mpicc", mpicc, "--", "ls"], message, capsys)


@pytest.mark.parametrize(
    ("lines", "code", "said", "message"),
    [
        (["processes 1"], 0, "", "runs 1 process, must run 2 or more"),
        ([], 0, "", "measured nothing, must be a launcher and its options, without a program"),
        ([], 3, "------\nno such host: there", "ended with exit code 3: no such host: there"),
        ([], 3, "", "ended with exit code 3"),
    ],
)
def test_refused__launcher_that_measures_nothing(pretend, capsys, lines, code, said, message):
    mpiexec = pretend(lines, code, said)
    refused(["-o", "mine.toml", "--", mpiexec, "-n", "2"], f"{mpiexec} -n 2: {message}", capsys)


def test_refused__compiler_of_another_mpi(pretend, capsys):
    mpiexec = pretend(["processes 1", "processes 1"])
    mpicc = os.path.join(os.path.dirname(mpiexec), "mpicc")
    why = f"{mpicc} belongs to another MPI, must be that of the launcher (--mpicc)"
    refused(["-o", "mine.toml", "--", mpiexec, "-n", "2"], f"{mpiexec} -n 2: ran 2 times 1 process: {why}", capsys)


def trace(messages, computing=2):
    """Write a trace of messages there and back; of four of them so many arrive while their receiver computes."""
    build = Builder(2)
    for turn in range(messages):
        build.send(turn % 2, 1 - turn % 2, bytes=2 ** (turn % 12))
        if turn % 4 < computing:
            build.compute(1 - turn % 2, 10000)
        build.recv(1 - turn % 2, turn % 2)
    files.write(build.trace(), "run.alog")


def test_from_trace__too_few_messages_are_no_evidence(capsys):
    trace(7)
    assert cli.main(["calibrate", "-o", "mine.toml", "--from", "run.alog"]) == 0
    why = "no evidence: 7 messages, must be 20 or more to tell"
    assert f"L_ns (from 0.0 to {load('mine.toml').costs[0].L}): {why}" in " ".join(capsys.readouterr().out.split())


def test_from_trace__receivers_that_compute_are_bad_evidence(capsys):
    """A ring in which nearly all messages wait for a receiver that computes; nearly, for the first is received at once."""
    trace(120, computing=4)
    assert cli.main(["calibrate", "-o", "mine.toml", "--from", "run.alog"]) == 0
    why = "bad evidence: 119 of 120 messages waited for a process that computed, or for another request of the same call"
    assert why in " ".join(capsys.readouterr().out.split())
    assert "L_ns" in load("mine.toml").assumed


def test_from_trace__the_file_answers_as_the_trace(capsys):
    """Its span too: what is unknown is in the file."""
    trace(7)
    assert cli.main(["calibrate", "-o", "mine.toml", "--from", "run.alog"]) == 0
    capsys.readouterr()
    told = []
    for model in ([], ["--model", "mine.toml"]):
        assert cli.main(["predict", "run.alog", "--network", "L_ns=9000", "--json", *model]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["predicted_span"]["others"]
    for key in told[0].keys() - {"model", "machine", "networks"}:
        assert told[0][key] == told[1][key]
    assert told[0]["machine"]["unknown"] == told[1]["machine"]["unknown"]


def test_from_trace__of_computed_times_is_refused(capsys, tmp_path):
    index = time_independent.written(tmp_path)
    why = "its network is simulated, must be a real one; the platform file says what it costs"
    refused(["-o", "mine.toml", "--from", index], f"{index}: {why}", capsys)


def test_from_trace__writes_a_model(capsys):
    trace(120)
    assert cli.main(["calibrate", "-o", "mine.toml", "--from", "run.alog", "--plot", "mine.png"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = " ".join(out.split())
    assert "mine.toml: run.alog (ALOG, perwiz-ext 1), clocks linear, by perwiz calibrate on " in told
    assert ": fitted to 61 of 120 messages; the rest is assumed, " in told
    assert pathlib.Path("mine.png").stat().st_size > 1000
    model = load("mine.toml")
    assert "S_bytes" in model.assumed
    assert cli.main(["predict", "run.alog", "--model", "mine.toml"]) == 0


@pytest.mark.slow
def test_measured__writes_a_model(pretend, capsys):
    assert cli.main(["calibrate", "-o", "mine.toml", "--", pretend(measured("node")), "-n", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("mine.toml: measured between two processes on one node, here, Open MPI v9.9, by perwiz calibrate on ")
    model = load("mine.toml")
    assert (model.name, model.S, model.progress) == ("mine", 1601, "in calls")
    (row,) = [row for row in model.costs if not row.from_bytes]
    assert (row.L, row.g, row.s) == (pytest.approx(1000, rel=0.01), pytest.approx(1000, rel=0.01), 0)
    assert (row.o_s, row.o_r) == (pytest.approx(200, rel=0.01), pytest.approx(300, rel=0.01))
    assert (row.G, row.O_s, row.O_r) == (pytest.approx(0.5, rel=0.01), 0, 0)


@pytest.mark.slow
def test_measured__two_nodes_make_two_classes(pretend, capsys):
    assert cli.main(["calibrate", "-o", "mine.toml", "--", pretend(measured("node", "across")), "-n", "3"]) == 0
    where = "measured between two processes on one node, here, and on two nodes, here and there, Open MPI v9.9, by perwiz calibrate on "
    assert " ".join(capsys.readouterr().out.split()).startswith(f"mine.toml: {where}")
    model = load("mine.toml")
    assert {row.pairs for row in model.costs} == {"", "within-node", "between-nodes"}
    assert not os.path.exists("mine-node.toml")


@pytest.mark.slow
@mpis.in_turn()
def test_mpi__writes_a_model_that_predicts(mpi, capfd):
    words = ["--rounds", "5", "--largest", "65536", "--", *mpi.command(2)]
    assert cli.main(["calibrate", "-o", "mine.toml", *words]) == 0
    assert "mine.toml: measured between two processes on one node" in capfd.readouterr().out
    model = load("mine.toml")
    # Any machine: a message takes from 50 ns to 1 ms, and its protocol changes somewhere.
    assert 50 < model.costs[0].o_s + model.costs[0].o_r + model.costs[0].L < 10**6
    assert 0 < model.S < 65536
    assert "S_bytes" not in model.assumed
    trace(30)
    assert cli.main(["predict", "run.alog", "--model", "mine.toml"]) == 0


@pytest.mark.slow
def test_mpi__one_process(mpi, capfd):
    assert cli.main(["calibrate", "-o", "mine.toml", "--", *mpi.command(1)]) == 2
    assert capfd.readouterr().err.endswith(": runs 1 process, must run 2 or more\n")


@pytest.mark.slow
@mpis.in_turn(first=1)
def test_mpi__more_processes_than_two(mpi, capfd):
    assert cli.main(["calibrate", "-o", "mine.toml", "--rounds", "3", "--largest", "4096", "--", *mpi.command(4)]) == 0
    assert load("mine.toml").source.startswith("measured between two processes on one node")


def test_program__compiled_once(mpi):
    from perwiz.record import build

    program = build.measuring(mpi.mpicc)
    made = program.stat().st_mtime_ns
    assert build.measuring(mpi.mpicc).stat().st_mtime_ns == made


def checked(text):
    """Return the document, if it is what its schema says."""
    block = json.loads(text)
    valid(block, "calibrate")
    return block


@pytest.mark.slow
def test_json__is_what_the_schema_says(pretend, capsys):
    """The machine of PAIR: L 1000, and messages of more than 1601 bytes wait for their receiver."""
    assert cli.main(["calibrate", "-o", "mine.toml", "--json", "--", pretend(measured("node", "across")), "-n", "3"]) == 0
    told = checked(capsys.readouterr().out)
    assert (told["file"], told["model"]["name"], told["unknown"]) == ("mine.toml", "mine", [])
    found = {(each["pairs"], each["key"]): each["value"] for each in told["estimates"]}
    assert found["within-node", "S_bytes"] == found["between-nodes", "S_bytes"] == told["model"]["parameters"]["S_bytes"] == 1601
    assert found["between-nodes", "L_ns"] == pytest.approx(1000, rel=0.01)
    ends = {(each["pairs"], each["key"]): (each["low"], each["high"]) for each in told["intervals"]}
    assert ends["within-node", "L_ns"] == pytest.approx((1000, 1000), rel=0.01)
    assert [(each["bytes"], each["free"]) for each in told["senders"][:3]] == [(1, 1), (1601, 1), (6401, 0)]
    assert [each["bytes"] for each in told["points"] if each["pairs"] == "within-node" and each["waits"]] == [6401, 25601]


def test_json__from_a_trace(capsys):
    trace(120)
    assert cli.main(["calibrate", "-o", "mine.toml", "--from", "run.alog", "--json"]) == 0
    told = checked(capsys.readouterr().out)
    assert "S_bytes" in told["model"]["assumed"]
    assert "S_bytes" in [each["key"] for each in told["unknown"]]
    assert told["intervals"] == []


def test_run__its_model_has_its_name(capsys):
    trace(120)
    os.mkdir("job7")
    assert cli.main(["calibrate", "-o", "job7/model.toml", "--from", "run.alog"]) == 0
    assert load("job7/model.toml").name == "job7"


def test_refused__simulated(capsys):
    script("bin/smpirun", "")
    why = "its network is simulated, must be a real one; the platform file says what it costs"
    refused(["-o", "mine.toml", "--", "bin/smpirun", "-np", "2"], f"bin/smpirun: {why}", capsys)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("mpiexec -n 4 ls -l", 3),
        ("mpirun --map-by env -np 4 ls ls", 5),
        ("mpirun --mca env ls -np 2 ls", 6),
        ("mpiexec --oversubscribe -n 4 -x ls env A=1 ls", 6),
        ("srun -N 2 ls", 3),
    ],
)
def test_launcher__ends_where_the_program_begins(command, words):
    assert programs.launcher(command.split()) == command.split()[:words]


def test_launcher__without_a_program():
    with pytest.raises(UsageError) as error:
        programs.launcher(["mpiexec", "-n", "2", "./nowhere"])
    what = "what of it starts programs cannot be told; use perwiz calibrate, and put its model into the run"
    assert str(error.value) == f"mpiexec -n 2 ./nowhere: {what}"
