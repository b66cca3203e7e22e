"""`perwiz compare` from the command line."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from documents import valid
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
SRTEST, MONTE = (str(TRACES / name) for name in ("srtest.alog", "monte.log"))


@pytest.fixture
def compare(capsys):
    """Return compare(*words): exit code, output and complaint of `perwiz compare`."""

    def run(*words):
        code = main(["compare", "--model", "default", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def predicted(tmp_path, capsys):
    """Return the trace of srtest without the wait of e25."""
    path = str(tmp_path / "predicted.alog")
    assert main(["predict", SRTEST, "--model", "default", "--zero-wait", "e25", "-o", path]) == 0
    capsys.readouterr()
    return path


def block(compare, *words, code=0):
    """Return the JSON document, valid by its schema."""
    found, out, _ = compare(*words, "--json")
    assert found == code
    document = json.loads(out)
    valid(document, "compare")
    return document


def test_text(compare, predicted):
    code, out, err = compare(predicted, SRTEST)
    assert (code, err) == (0, "")
    title, _, rest = out.partition("\n\n")
    assert " ".join(title.split()) == f"{predicted} (predicted under zero-wait e25) against {SRTEST}"
    assert rest.startswith(
        "predicted     403.1 ms\n"
        "measured      412.6 ms, error -9.437 ms (-2.3 %)\n"
        "range         not in a trace: compare the recorded run with the measured one, under the hypotheses\n"
        "because       MPI_Recv makes up 58.84 ms and 68.27 ms of the critical path, error -9.437 ms\n"
        "              on rank 2, where most of that is, it takes 42.42 ms and 51.85 ms in all\n"
        "from          the first instant of each run\n"
        "calls         36 the same; 0 only in the predicted run, 0 only in the measured run\n"
    )


@pytest.mark.slow
def test_hypotheses__as_if_predicted_before(compare, predicted):
    one, other = block(compare, predicted, SRTEST), block(compare, SRTEST, SRTEST, "--zero-wait", "e25")
    assert (other["hypotheses"], other["model"]["name"], one["model"]) == (["zero-wait e25"], "default", None)
    assert one["first"]["made_by"] == other["first"]["made_by"] == "predicted under zero-wait e25"
    left = ("first", "hypotheses", "model", "machine", "predicted")
    assert (one["predicted"], other["predicted"]["measured_ns"]) == (None, other["second"]["makespan_ns"])
    assert {key: one[key] for key in one if key not in left} == {key: other[key] for key in other if key not in left}


def test_from_and_to(compare):
    document = block(compare, SRTEST, SRTEST, "--from", "e4", "--to", "MPI_Barrier")
    assert (document["from"], document["to"]) == ("e4", "MPI_Barrier")


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--max-error", "3%"], 0), (["--max-error", "2"], 5), (["--max-error", "0 %"], 5)])
def test_max_error(compare, predicted, words, code):
    found, out, err = compare(predicted, SRTEST, *words)
    assert found == code
    assert ("the error asked for, at most" in out) == bool(words)
    asked = words[1].removesuffix("%").strip() if words else ""
    message = f"perwiz: {predicted}, {SRTEST}: the makespan is off by -9.437 ms (-2.29 %), must be at most {asked} %\n"
    assert err == (message if code else "")


def test_incomplete(compare, tmp_path):
    """A missing record makes it 4; a missed threshold is the stronger statement."""
    text = pathlib.Path(SRTEST).read_text()
    holes = str(tmp_path / "holes.alog")
    pathlib.Path(holes).write_text(text.replace("-101 0 0 1 0 326954 99 12", "#", 1))
    code, out, err = compare(SRTEST, holes)
    assert (code, err) == (4, "")
    assert "(INCOMPLETE trace)" in " ".join(out.split())
    assert compare(SRTEST, holes, "--zero-wait", "e25", "--max-error", "1%")[0] == 5


def test_calls(compare, predicted):
    assert "calls whose" not in compare(predicted, SRTEST, "-n", "0")[1]
    assert len(block(compare, predicted, SRTEST, "-n", "2")["furthest"]) == 2


@pytest.mark.slow
def test_plot(compare, predicted, tmp_path):
    path = tmp_path / "both.png"
    assert compare(predicted, SRTEST, "--plot", str(path))[0] == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert {*os.listdir(tmp_path)} == {"both.png", "predicted.alog"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([SRTEST, MONTE], 3, f"{SRTEST}, {MONTE}: none of 36 and 82 calls is the same, must be runs of one program"),
        ([SRTEST, "none.alog"], 3, "none.alog: no such file or directory"),
        (["-", "-"], 2, "-: standard input holds one trace, must be named once"),
        ([SRTEST, SRTEST, "--from", "init"], 2, f"--from init: {SRTEST} shows no MPI_Init, must be start, a call, a region or a routine"),
        ([SRTEST, SRTEST, "--plot", SRTEST], 2, f"{SRTEST}: is read by this command, must be another file"),
        (
            [SRTEST, SRTEST, "--max-error", "-1"],
            2,
            "argument --max-error: '-1', must be a percentage from 0 on, such as 2%; see perwiz compare --help",
        ),
        (
            [SRTEST, SRTEST, "--max-error", "5%"],
            2,
            f"--max-error: {SRTEST} and {SRTEST} are both measured, so there is no error; one must be a prediction",
        ),
        (
            [SRTEST, SRTEST, "--max-error", "few"],
            2,
            "argument --max-error: 'few', must be a percentage from 0 on, such as 2%; see perwiz compare --help",
        ),
        (
            [SRTEST, SRTEST, "--max-error", "nan"],
            2,
            "argument --max-error: 'nan', must be a percentage from 0 on, such as 2%; see perwiz compare --help",
        ),
    ],
)
def test_refusals(compare, words, code, message):
    assert compare(*words) == (code, "", f"perwiz: {message}\n")


def test_help(compare):
    code, out, _ = compare("--help")
    assert code == 0
    assert out.partition("examples:\n")[2].startswith("  perwiz compare predicted.alog measured.alog ")


def test_log__read_by_predict(compare, capsys, tmp_path):
    """Twenty times the same pair of runs, measured 5 ms behind the range: predict makes it so much wider."""
    path, before, after = str(tmp_path / "log"), *(str(TRACES / name) for name in ("halo-before", "halo-after"))
    code, out, err = compare(before, after, "--balance-time", "all", "--log", path)
    assert (code, err) == (0, "")
    assert ": inside\n" in out
    pair = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    line = json.dumps(pair | {"measured_ns": pair["most_ns"] + 5_000_000}) + "\n"
    assert json.loads(line)["hypotheses"] == ["balance-time all"]
    told = []
    for pairs in (19, 20):
        pathlib.Path(path).write_text(line * pairs, encoding="utf-8")
        assert main(["predict", before, "--model", "default", "--balance-time", "all", "--log", path, "--json"]) == 0
        told.append(valid(json.loads(capsys.readouterr().out), "predict"))
    few, enough = told
    assert few["widened"] == {"pairs": 19, "inside": 0, "part": 0}
    assert enough["widened"] == {"pairs": 20, "inside": 0, "part": round(5_000_000 / pair["predicted_ns"], 6)}
    assert enough["predicted_span"]["most_ns"] - few["predicted_span"]["most_ns"] == pytest.approx(5_000_000, rel=0.2)


def test_log__without_a_range(compare, tmp_path):
    code, out, err = compare(SRTEST, SRTEST, "--log", str(tmp_path / "log"))
    assert (code, out) == (2, "")
    said = f"no range is known of {SRTEST}, must be a recorded run under hypotheses, whole, in which something repeats"
    assert err == f"perwiz: --log: {said}\n"
    assert not (tmp_path / "log").exists()
