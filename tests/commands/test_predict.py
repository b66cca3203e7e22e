"""`perwiz predict` from the command line, and the files it writes: whole, or not at all."""

from __future__ import annotations

import json
import os
import pathlib
import shutil

import pytest

import perwiz
from documents import valid
from perwiz.cli import main
from perwiz.commands import files
from perwiz.errors import UsageError

SRTEST = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


@pytest.fixture
def predict(capsys):
    """Return predict(*words): exit code, output and complaint of `perwiz predict traces/srtest.alog`."""

    def run(*words, trace=SRTEST):
        code = main(["predict", trace, "--model", "default", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def document(predict):
    """Return document(*words): the JSON document, valid by its schema."""

    def run(*words, **settings):
        code, out, err = predict(*words, "--json", **settings)
        assert (code, err) == (0, "")
        return valid(json.loads(out), "predict")

    return run


def test_text(predict):
    code, out, err = predict("--zero-wait", "e25")
    assert (code, err) == (0, "")
    assert out.startswith(
        f"{SRTEST}: zero-wait e25\n\n"
        "doubtful      15 of 15 messages took more than twice as long as the model says (16.5 % of the recorded run): see how\n"
        "              sure\n"
        "recorded      412.6 ms\n"
        "predicted     403.1 ms (394.7 ms to 411.6 ms), gain 9.437 ms (2.3 %), between 6.779 ms and 12.07 ms\n"
    )
    assert (
        "\n\nhow sure\n"
        "predicted     394.7 ms to 411.6 ms: another recording may take 2.0 % more or less (assumed; --runs tells); work in calls\n"
        "              that repeats varies by 14.3 %, judged by 5 parts of the run; 5 iterations are too few to tell how much the\n"
        "              gain varies\n"
        "doubtful      most messages contradict the model, so take the answer with care: "
    ) in out


def test_model__changes_of_the_fit(document):
    """S is known then; the other keys are those of the fit, not of the default model."""
    fitted, block = document(), document("--model", "S_bytes=4040")
    assert block["model"]["name"] == "fitted with S_bytes=4040"
    assert block["model"]["parameters"]["S_bytes"] == 4040
    assert block["model"]["parameters"]["gap"] == "none"
    assert (fitted["machine"]["given"], block["machine"]["given"]) == (True, False)
    assert "S_bytes" not in [row["key"] for row in block["machine"]["unknown"]]


def test_model__changes_refused_before_the_trace_is_read(predict):
    code, out, err = predict("--model", "between-node:S_bytes=4040", trace="missing.alog")
    assert (code, out) == (2, "")
    assert err == (
        "perwiz: change of model fitted to the trace: has 'between-node', must be one of within-node, between-nodes, between-metahosts;"
        " did you mean between-nodes?\n"
    )


def test_json(document):
    block = document("--zero-wait", "e25", "-n", "2")
    assert (block["recorded_ns"], block["predicted_ns"], block["gain_ns"]) == (412_568_000, 403_130_934, 9_437_066)
    assert block["hypotheses"] == ["zero-wait e25"]
    assert [row["call"] for row in block["waits_before"]] == ["e0", "e12"]


@pytest.fixture
def steps(tmp_path):
    """Return a trace of two ranks and two steps, in us: computation of 100 and 300, then of 600 and 100."""
    path = tmp_path / "steps.alog"
    path.write_text(
        "-3 0 0 2 0 0\n-13 0 1 2 0 0 red:gray step\n-13 0 3 4 0 0 red:gray MPI_Barrier\n"
        "1 0 0 0 0 0\n1 1 0 0 0 0\n2 0 0 0 0 100\n2 1 0 0 0 300\n"
        "3 0 0 0 0 100\n3 1 0 0 0 300\n4 0 0 0 0 300\n4 1 0 0 0 300\n"
        "1 0 0 0 0 300\n1 1 0 0 0 300\n2 1 0 0 0 400\n2 0 0 0 0 900\n"
    )
    return str(path)


def test_hypotheses__kept_in_the_order_asked(document, steps):
    words = ["--speed", "rank:1=2", "--zero-wait", "e0", "--zero-time", "e1", "--speed", "rank:0=2", "--network", "L_ns=1"]
    block = document(*words, "--scale", "step=1", trace=steps)
    assert block["hypotheses"] == ["speed rank:1=2", "zero-wait e0", "zero-time e1", "speed rank:0=2", "network L_ns=1", "scale step=1"]


@pytest.mark.parametrize(("region", "ends"), [("step#1", [800_000, 300_000]), ("step", [550_000, 550_000])])
def test_balance(document, steps, region, ends):
    block = document("--balance-time", region, trace=steps)
    assert [row["recorded_end_ns"] for row in block["processes"]] == [900_000, 400_000]
    assert [row["predicted_end_ns"] for row in block["processes"]] == ends


def test_waits_0__no_table(predict):
    assert "longest waits" not in predict("--zero-wait", "e25", "-n", "0")[1]


def test_engines_agree(document):
    one, other = (document("--zero-wait", "e0,e25", "--engine", engine) for engine in ("sweep", "replay"))
    assert one | {"engine": "replay"} == other


def test_model__is_told(predict):
    out = predict("--model", "cray-t3e")[1]
    assert "\nmodel         cray-t3e: o_ns=" in out
    assert "\nassumed       L_ns=5000 " in out
    assert "\nsource        " in out


def test_model__own_file(document, tmp_path):
    path = tmp_path / "mine.toml"
    text = (pathlib.Path(SRTEST).parents[1] / "models" / "default.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('name = "default"', 'name = "mine"').replace("L_ns = 2500.0", "L_ns = 2600"))
    block = document("--model", str(path))
    assert (block["model"]["name"], block["model"]["parameters"]["L_ns"]) == ("mine", 2600)


@pytest.mark.parametrize("name", ["out.alog", "out.alog.gz", "out.alog.zst"])
def test_output__is_the_predicted_run(predict, tmp_path, name):
    path = tmp_path / name
    assert predict("--zero-wait", "e25", "-o", str(path))[0] == 0
    assert os.listdir(tmp_path) == [name]
    assert perwiz.read(str(path)).timeline.makespan == 403_130_934


def test_output__says_what_its_format_does_not_hold(predict, tmp_path):
    """Of a recorded run OTF2 does not hold the processors; a store holds all."""
    source = str(pathlib.Path(SRTEST).with_name("farm.alog.gz"))
    lost = "perwiz: {}: written without processors that locations are on: 4; a store (NAME.perwiz) holds all\n"
    for name, said in (("out.alog", ""), ("out.otf2", lost), ("out.perwiz", "")):
        path = str(tmp_path / name)
        code, _, err = predict("-o", path, trace=source)
        assert (code, err) == (0, said.format(path))


def test_output__replaces_an_old_one(predict, tmp_path):
    path = tmp_path / "out.alog"
    path.write_text("old")
    assert predict("-o", str(path))[0] == 0
    assert perwiz.read(str(path)).timeline.makespan == 412_568_000


@pytest.mark.slow
def test_plot(predict, tmp_path):
    path = tmp_path / "out.svg"
    assert predict("--zero-wait", "e25", "--plot", str(path))[0] == 0
    assert os.listdir(tmp_path) == ["out.svg"]
    assert path.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("failing", ["perwiz.report.picture.timeline.plot", "perwiz.formats.files.write"])
@pytest.mark.slow
def test_outputs__none_when_one_fails(predict, tmp_path, monkeypatch, failing):
    (tmp_path / "out.alog").write_text("old")

    def fail(*arguments, **_):
        path = next(word for word in arguments if isinstance(word, str))
        pathlib.Path(path).write_text("half")
        raise UsageError(f"{path}: cannot be written: no space left on device")

    monkeypatch.setattr(failing, fail)
    code, out, err = predict("-o", str(tmp_path / "out.alog"), "--plot", str(tmp_path / "out.png"))
    name = "out.png" if failing.endswith("plot") else "out.alog"
    assert (code, out, err) == (2, "", f"perwiz: {tmp_path}/{name}: cannot be written: no space left on device\n")
    assert os.listdir(tmp_path) == ["out.alog"]
    assert (tmp_path / "out.alog").read_text() == "old"


def test_outputs__none_when_interrupted(tmp_path):
    def interrupt(path):
        pathlib.Path(path).write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write({str(tmp_path / "out.alog"): interrupt})
    assert os.listdir(tmp_path) == []


def test_outputs__a_place_that_vanishes(tmp_path):
    with pytest.raises(UsageError, match=r"gone/x: cannot be written: no such file or directory$"):
        files.write({str(tmp_path / "gone" / "x"): print})


def test_outputs__in_the_folder_we_are_in(predict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert predict("-o", "out.alog")[0] == 0
    assert os.listdir(tmp_path) == ["out.alog"]


def test_nothing_is_printed_off_a_terminal_but_the_answer(predict):
    _, out, err = predict()
    assert err == ""
    assert out.isascii()
    assert "\x1b" not in out
    assert "\r" not in out


def test_help__says_what_a_zero_wait_is(predict):
    code, out, _ = predict("--help")
    assert code == 0
    assert "they go on as if their partners had come; the partners come when they did" in " ".join(out.split())
    assert out.partition("examples:\n")[2].startswith("  perwiz predict run.alog --zero-wait e25\n")


@pytest.mark.parametrize("drop", ["-101 0 0 1 0 326954 99 12", "162 2 0 10 0 407966", "12 1 0 4 0 411332"])
def test_a_missing_record_is_no_clock_error(predict, tmp_path, drop):
    """Pairs behind a lost record shift, and a state that never ends seems to end early: incomplete, not refused."""
    text = pathlib.Path(SRTEST).read_text()
    assert drop in text
    (tmp_path / "holes.alog").write_text(text.replace(drop, "#", 1))
    code, out, err = predict("--zero-wait", "e0", trace=str(tmp_path / "holes.alog"))
    assert (code, err) == (4, "")
    assert "INCOMPLETE" in out


def test_network_file_is_an_input(predict, tmp_path):
    file = tmp_path / "net.toml"
    file.write_text((pathlib.Path(SRTEST).parents[1] / "models" / "default.toml").read_text())
    assert predict("--network", str(file), "-o", str(file)) == (2, "", f"perwiz: {file}: is read by this command, must be another file\n")
    assert "LogGOPSim" in file.read_text()


def test_replay_unchanged_stays_measured(predict, tmp_path):
    """A copy written without hypothesis does not hide that its clocks disagree."""
    trace, copy = str(pathlib.Path(SRTEST).parent / "sync.log"), str(tmp_path / "copy.alog")
    assert predict("--clock", "none", "-o", copy, trace=trace)[0] == 4
    code, out, _ = predict(trace=copy)
    assert code == 4
    assert "corrected     by the controlled logical clock" in out


def test_advance_and_move(document, predict):
    """e25 waits for e14, which answers e13 in a ring: only the person who asks can know that it needs what e13 brings."""
    block = document("--advance", "e25")
    assert [(move["first"], move["before"], move["receives_passed"]) for move in block["order"]] == [("e14", "e13", 1)]
    assert document("--move", "e14 before e13")["predicted_ns"] == block["predicted_ns"]
    code, out, err = predict("--move", "e3 before e1")
    why = "they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5); move the receives as well"
    assert (code, out, err) == (2, "", f"perwiz: move e3 before e1: e3 must not run before e1 (rank 0): {why}\n")


@pytest.mark.parametrize("asked", ["advance site:MPI_Recv", "advance e3", "move e2 before e1"])
def test_an_order__refused_of_a_schedule(predict, tmp_path, capsys, asked):
    """Rank 1 passes on what it receives, and a schedule says so; written in another format it still does."""
    ranks = (["send 8b to 1"], ["l1: recv 8b from 0", "l2: send 8b to 2", "l2 requires l1"], ["recv 8b from 1"])
    blocks = "".join(f"rank {rank} {{\n{chr(10).join(lines)}\n}}\n" for rank, lines in enumerate(ranks))
    (tmp_path / "x.goal").write_text(f"num_ranks 3\n{blocks}")
    assert main(["convert", str(tmp_path / "x.goal"), str(tmp_path / "x.alog")]) == 0
    capsys.readouterr()
    why = "a schedule in GOAL tells which operations need which: no call is moved ahead of another"
    word, _, what = asked.partition(" ")
    for name in ("x.goal", "x.alog"):
        assert predict(f"--{word}", what, trace=str(tmp_path / name)) == (2, "", f"perwiz: {asked}: {why}\n")


def test_an_advanced_run_is_written(predict, tmp_path):
    """Written with its calls in the new order, and read again: the same run."""
    path = tmp_path / "moved.alog"
    assert predict("--advance", "e25", "-o", str(path), "--plot", str(tmp_path / "moved.png"))[0] == 0
    trace = perwiz.read(str(path))
    assert trace.timeline.makespan == perwiz.predict(perwiz.read(SRTEST), ["advance e25"], "default").predicted.makespan
    assert len(trace.messages) == 15


def test_runs__and_the_log(predict, tmp_path):
    """Three times the same recording: nothing varies. An empty log has no pairs."""
    log, copies = tmp_path / "log", [str(tmp_path / f"{number}.alog") for number in (2, 3)]
    log.touch()
    for copy in copies:
        shutil.copy(SRTEST, copy)
    code, out, _ = predict("--zero-wait", "e25", "--log", str(log), "--runs", *copies)
    assert code == 0
    assert "recordings    gain 9.437 ms to 9.437 ms in 3 recordings; nothing else tells how much it varies; the range holds" in out
    assert "log           0 of 0 earlier predictions held what was measured; from 20 on the range is as wide" in out


def test_runs__given_twice(predict):
    told = f"perwiz: --runs: {SRTEST}: given twice, must be another recording\n"
    assert predict("--zero-wait", "e25", "--runs", SRTEST) == (2, "", told)


def test_draws__none(document):
    """Nothing is drawn: what varies is not told."""
    span = document("--zero-wait", "e25", "--draws", "0")["predicted_span"]
    assert (span["sooner_ns"], span["later_ns"], span["gain"]) == (0, 0, None)


def test_draws__too_few(capsys):
    """Of one run nothing varies."""
    assert main(["predict", SRTEST, "--zero-wait", "e25", "--draws", "1"]) == 2
    assert "argument --draws: '1', must be 0, or a whole number from 20 to 1000000" in capsys.readouterr().err


def test_draws__none_is_said(capsys):
    """Nothing varied, and that is not because nothing varies."""
    main(["predict", str(pathlib.Path(SRTEST).with_name("halo-before")), "--balance-time", "all", "--draws", "0", "-q"])
    assert "\npredicted     1.494 s, gain 222.8 ms (33.7 %); how much it varies is not told\n" in capsys.readouterr().out


def test_output__no_schedule(predict, tmp_path, monkeypatch):
    """Said before the trace is read."""
    monkeypatch.setattr("perwiz.commands.files.read", lambda *_: pytest.fail("read"))
    told = f"perwiz: {tmp_path}/x.goal: a schedule in GOAL is made under a model, must be written by perwiz convert\n"
    assert predict("-o", f"{tmp_path}/x.goal") == (2, "", told)


def test_shares__of_a_change_of_init(predict):
    """What gains before the end of MPI_Init is no part of what lies behind it."""
    source = str(pathlib.Path(SRTEST).with_name("halo-before"))
    out = predict("--zero-time", "op:MPI_Init", "-q", trace=source)[1]
    assert "; percentages are of the whole run, as the change moves the end of MPI_Init\n" in out
    assert "gain 1.040 s (60.5 %), between 1.039 s and 1.040 s\n" in out
    assert "doubtful" not in out
