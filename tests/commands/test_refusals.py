"""What perwiz refuses, in full: the message, the exit code, and that nothing was written."""

from __future__ import annotations

import os
import pathlib

import pytest

from perwiz.cli import main
from perwiz.formats.format import readable

ROOT = pathlib.Path(__file__).parents[2]
HEAD = "-3 0 0 2 0 0\n-13 0 1 2 0 0 red:gray step\n-13 0 3 4 0 0 blue:gray MPI_Send\n-13 0 5 6 0 0 green:gray MPI_Recv\n"
EVENTS = (
    "1 0 0 0 0 0\n1 1 0 0 0 0\n2 0 0 0 0 90\n3 0 0 0 0 100\n-101 0 0 1 0 101 7 8\n4 0 0 0 0 110\n"
    "5 1 0 0 0 50\n-102 1 0 0 0 119 7 8\n6 1 0 0 0 120\n2 1 0 0 0 200\n"
)
FILES = {
    "good.alog": HEAD + EVENTS,
    "empty.alog": "",
    "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "words.txt": "It was a dark and stormy night.\n",
    "headers.alog": HEAD,
    "backwards.alog": HEAD + EVENTS.replace("-102 1 0 0 0 119", "-102 1 0 0 0 59").replace("6 1 0 0 0 120", "6 1 0 0 0 60"),
    "cut.alog": HEAD + EVENTS[: -len("0 0 200\n")],
    "nan.alog": HEAD + EVENTS + "1 0 0 0 0 nan\n",
    "huge.alog": HEAD + EVENTS + "1 0 0 0 0 99999999999999999999999\n",
    "negative.alog": HEAD + EVENTS + "1 0 0 0 0 -5\n",
    "misspelt.toml": (ROOT / "models" / "default.toml").read_text(encoding="utf-8").replace("G_ns_per_byte", "G_ns_per_bite"),
    "nan.toml": (ROOT / "models" / "default.toml").read_text(encoding="utf-8").replace("2500.0", "nan"),
}
MODELS = "cacau, cacau-node, cray-t3e, default, marenostrum, marenostrum-node, perwiz-cluster, viola-external, viola-fh-brs, viola-fzj"
HYPOTHESES = "e12, region:NAME, step:NAME#3, site:MPI_Recv@NAME, rank:3, rank:0-7, node:NAME, group:NAME, pair:0>1, tag:3, lock:0"
HYPOTHESES += ", op:MPI_Recv or all"
KEYS = (
    "L_ns, o_s_ns, o_r_ns, g_ns, G_ns_per_byte, O_s_ns_per_byte, O_r_ns_per_byte, S_bytes, s_bytes, "
    "S_blocking_bytes, S_nonblocking_bytes, S_sendrecv_bytes"
)
CONVENTIONS = "o_ns, O_ns_per_byte, request_overheads, acknowledge_overheads, gap, progress, inline_bytes, interfaces"


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Return refused(command line): (exit code, message); there must be nothing on standard output and no file written."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.alog")
    monkeypatch.chdir(tmp_path)

    def run(line):
        code = main(line.split())
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("perwiz: ")
        assert err.endswith("\n")
        assert {*os.listdir()} == {*FILES, "folder", "pipe.alog"}
        assert os.listdir("folder") == []
        assert (tmp_path / "good.alog").read_text() == FILES["good.alog"]
        return code, err.removeprefix("perwiz: ").removesuffix("\n")

    return run


@pytest.mark.parametrize("command", ["info", "predict"])
@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("none.alog", "none.alog: no such file or directory"),
        ("empty.alog", "empty.alog: an empty file, must be a trace"),
        (
            "folder",
            "folder: a directory, must be a trace file, or hold an OTF2 archive, a recorded run, a DUMPI trace or a time-independent trace",
        ),
        ("picture.png", f"picture.png: a PNG image, must be {readable()}"),
        ("words.txt", f"words.txt: 'It was a dark and stormy night.', must be {readable()}"),
        ("headers.alog", "headers.alog: no event record, must have at least one"),
    ],
)
def test_trace_that_is_none(refused, command, trace, message):
    assert refused(f"{command} {trace}") == (3, message)


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ("cut.alog", "cut off in the middle of a line: 1"),
        ("nan.alog", "not six integers: 1"),
        ("huge.alog", "number out of range: 1"),
        ("negative.alog", "number out of range: 1"),
    ],
)
def test_record_that_cannot_be_used__is_left_out_and_told(tmp_path, monkeypatch, capsys, trace, reason):
    (tmp_path / trace).write_text(FILES[trace])
    monkeypatch.chdir(tmp_path)
    assert main(["predict", trace]) == 4
    out, err = capsys.readouterr()
    assert out.startswith(f"{trace}: no hypothesis  (INCOMPLETE trace)\n")
    assert f"\nleft out      {reason}\n" in out
    assert err == ""


def test_file_that_is_cut_off__is_told_first(tmp_path, monkeypatch, capsys):
    (tmp_path / "cut.alog").write_text(FILES["cut.alog"])
    monkeypatch.chdir(tmp_path)
    assert main(["predict", "cut.alog", "--zero-wait", "all"]) == 4
    told = "incomplete    files cut off in the middle of a line, what came behind is missing: 1"
    assert capsys.readouterr().out.startswith(f"cut.alog: zero-wait all  (INCOMPLETE trace)\n\n{told}")


def test_clock__corrected(refused, capsys):
    assert main(["predict", "backwards.alog"]) == 0
    out = capsys.readouterr().out
    assert "clocks        messages received before they were sent: 1, worst 40.00 us; 1 by their records, worst 42.00 us\n" in out
    assert "corrected     by the controlled logical clock: 1 return put forward, calls moved by at most 43.00 us\n" in out


def test_clock__taken_as_it_is(refused, capsys):
    assert main(["predict", "backwards.alog", "--clock", "none"]) == 0
    out = capsys.readouterr().out
    assert "clocks        messages received before they were sent: 1, worst 40.00 us; 1 by their records, worst 42.00 us\n" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--zero-wait e999999", "e999999: no such call, the trace has calls e0 to e1"),
        ("--zero-wait region:stop", "region 'stop': no such region, the trace has step; did you mean step?"),
        ("--zero-wait op:MPI_Bcast", "op:MPI_Bcast: no such routine in the trace, it has MPI_Send, MPI_Recv"),
        ("--zero-wait op:Recv", "op:Recv: no such routine in the trace, it has MPI_Send, MPI_Recv; did you mean MPI_Recv?"),
        ("--zero-wait rank:7", "rank:7: no such rank, the trace has ranks 0 to 1"),
        ("--zero-wait rank:-1", "'rank:-1' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME"),
        ("--zero-wait 12", f"'12' selects nothing, must be like {HYPOTHESES}"),
        ("--zero-wait e0,e1,", f"'e1,' selects nothing, must be like {HYPOTHESES}"),
        ("--zero-wait e-1", f"'e-1' selects nothing, must be like {HYPOTHESES}"),
        ("--zero-time e2", "e2: no such call, the trace has calls e0 to e1"),
        ("--balance-time stop", "region 'stop': no such region, the trace has step; did you mean step?"),
        ("--balance-time step#2", "'step#2': no such step, region 'step' has steps 1 to 1"),
        ("--balance-time step#x", "'step#x': no such step, region 'step' has steps 1 to 1"),
        ("--scale step", "scale step: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=", "scale step=: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=half", "scale step=half: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=nan", "scale step=nan: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=inf", "scale step=inf: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=-1", "scale step=-1: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--scale step=1e300", "scale step=1e300: must be like scale NAME=0.5 with a number from 0 to 1e9"),
        ("--speed rank:0=0", "speed rank:0=0: a speed of 0, must be above 0"),
        ("--speed step=2", "'step' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME"),
        ("--speed rank:5=2", "rank:5: no such rank, the trace has ranks 0 to 1"),
        ("--network moon", f"no model 'moon', must be one of {MODELS}, or a path to a .toml file, or a platform (.xml)"),
        ("--network L=5", f"change of model fitted: has 'L', must be one of {KEYS}, {CONVENTIONS}; did you mean L_ns, the latency?"),
        (
            "--network between-nodes:L_ns=1000",
            "network between-nodes:L_ns=1000: no message or collective of good.alog is between-nodes, all are within-node",
        ),
        (
            "--network between-node:L_ns=5",
            "change of model fitted: has 'between-node', must be one of within-node, between-nodes, between-metahosts; "
            "did you mean between-nodes?",
        ),
        ("--network L_ns=-5", "change of model fitted: L_ns is -5.0, must be a number from 0 to 1e+12"),
        ("--network gap=never", "change of model fitted: gap is 'never', must be 'sending call' or 'none'"),
        ("--model moon", f"no model 'moon', must be one of {MODELS}, or a path to a .toml file, or a platform (.xml)"),
        ("--model moon.toml", "moon.toml: cannot be read: No such file or directory, must be a model file"),
        (
            "--model misspelt.toml",
            f"misspelt.toml: [parameters] has 'G_ns_per_bite', must be one of {KEYS}; did you mean G_ns_per_byte?",
        ),
        ("--model nan.toml", "nan.toml: L_ns is nan, must be a number from 0 to 1e+12"),
        ("-n -1", "argument -n: '-1', must be a whole number from 0 to 1000000; see perwiz predict --help"),
        ("-n 1000001", "argument -n: '1000001', must be a whole number from 0 to 1000000; see perwiz predict --help"),
        ("-n many", "argument -n: 'many', must be a whole number from 0 to 1000000; see perwiz predict --help"),
        ("-n ³", "argument -n: '³', must be a whole number from 0 to 1000000; see perwiz predict --help"),
        ("-n 1e3", "argument -n: '1e3', must be a whole number from 0 to 1000000; see perwiz predict --help"),
        ("--zero-wait", "argument --zero-wait: expected one argument; see perwiz predict --help"),
        ("another.alog", "unrecognized arguments: another.alog; see perwiz predict --help"),
    ],
)
def test_question(refused, words, message):
    assert refused(f"predict good.alog -o folder/out.alog {words}") == (2, message)


def test_two_traces(refused):
    told = "good.alog good.alog: must be one trace, or ranks of one training job; perwiz compare takes two; see perwiz predict --help"
    assert refused("predict good.alog good.alog") == (2, told)
    assert refused("predict good.alog none.json.gz") == (2, "none.json.gz: no such file; see perwiz predict --help")


@pytest.mark.parametrize("words", ["--engine guess", "--clock guess"])
def test_choice(refused, words):
    code, message = refused(f"predict good.alog {words}")
    assert code == 2
    assert message.startswith(f"argument {words.split()[0]}: invalid choice: 'guess' (choose from ")


@pytest.mark.parametrize("words", ["--zero-wait all", "--zero-wait region:step"])
def test_question__that_selects_nothing(tmp_path, capsys, words):
    path = tmp_path / "still.alog"
    path.write_text(HEAD + "1 0 0 0 0 0\n2 0 0 0 0 9\n")
    assert main(["predict", str(path), *words.split()]) == 2
    assert capsys.readouterr() == ("", f"perwiz: '{words.split()[1]}' selects no call\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o folder", "folder: a directory, must be the name of a file"),
        ("-o new/", "new/: a directory, must be the name of a file"),
        ("-o none/out.alog", "none/out.alog: there is no directory none, must be in one that exists"),
        ("-o good.alog/x", "good.alog/x: there is no directory good.alog, must be in one that exists"),
        ("-o pipe.alog", "pipe.alog: no regular file, must be the name of one"),
        ("-o -", "'-': no file to write to, must be the name of one"),
        ("-o good.alog", "good.alog: is read by this command, must be another file"),
        ("-o ./folder/../good.alog", "./folder/../good.alog: is read by this command, must be another file"),
        ("--model nan.toml -o nan.toml", "nan.toml: L_ns is nan, must be a number from 0 to 1e+12"),
        ("--plot out.bmp", "out.bmp: a picture of type '.bmp', must be one of .png .svg .pdf"),
        ("--plot out", "out: a picture of type '', must be one of .png .svg .pdf"),
        ("--plot none/out.png", "none/out.png: there is no directory none, must be in one that exists"),
        ("--plot out.png -o ./out.png", "out.png: to be written twice, must be two files"),
        (f"-o folder/{'x' * 260}", f"folder/{'x' * 260}: cannot be written: file name too long"),
    ],
)
def test_output(refused, words, message):
    assert refused(f"predict good.alog {words}") == (2, message)


def test_output__to_the_model(refused, tmp_path):
    (tmp_path / "nan.toml").write_bytes((ROOT / "models" / "default.toml").read_bytes())
    assert refused("predict good.alog --model nan.toml -o nan.toml") == (2, "nan.toml: is read by this command, must be another file")


def test_output__refused_before_anything_is_read(refused):
    assert refused("predict none.alog -o none/out.alog")[1].startswith("none/out.alog: ")


@pytest.mark.parametrize("closed", [".", "words.txt"])
def test_output__not_permitted(refused, monkeypatch, closed):
    """Root may write anywhere, so what the system answers is replaced."""
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and asked(path, mode))
    assert refused("predict good.alog -o words.txt") == (2, "words.txt: cannot be written: permission denied")
