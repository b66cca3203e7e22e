"""What the commands print about the sample traces, in full: `scripts/test --regold` rewrites it, and a person reads the difference."""

from __future__ import annotations

import pathlib

import pytest

from perwiz.cli import main
from perwiz.errors import DONE, INCOMPLETE

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRACES = sorted(path.name for path in (ROOT / "traces").iterdir() if path.name.removesuffix(".gz").endswith(("alog", "log")))
ARCHIVES = sorted(path.parent.name for path in (ROOT / "traces").glob("*/*.otf2"))
LARGE = {"grid.log.gz", "p_m3.alog.gz", "pmandel.alog.gz"}
ASKED = {
    "predict": "predict {} --waits 5",
    "zero-wait": "predict {} --waits 3 --zero-wait all",
    "network": "predict {} --waits 3 --network cray-t3e --model perwiz-cluster",
}
"""Questions to the traces with messages."""


def cases():
    """Yield (name of the golden, command line), marked slow where the trace is large."""
    for trace in TRACES:
        lines = {"info": "info {} --waits 5 --regions"} | (ASKED if trace in {"srtest.alog", "monte.log", *LARGE} - {"grid.log.gz"} else {})
        for name, line in lines.items():
            marks = [pytest.mark.slow] if trace in LARGE else []
            golden = f"{trace.removesuffix('.gz').replace('.', '-')}-{name}"
            yield pytest.param(golden, line.format(f"traces/{trace}"), marks=marks, id=golden)
    for trace in ARCHIVES:
        for name, line in {"info": "info {} --waits 5 --regions", "zero-wait": "predict {} --waits 3 --zero-wait all"}.items():
            yield pytest.param(f"{trace}-{name}", line.format(f"traces/{trace}"), marks=[pytest.mark.slow], id=f"{trace}-{name}")
    yield pytest.param("srtest-alog-e25", "predict traces/srtest.alog --zero-wait e25", id="srtest-alog-e25")


CASES = list(cases())


@pytest.mark.parametrize(("name", "line"), CASES)
def test_golden(name, line, golden, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    code = main(line.split())
    out, err = capsys.readouterr()
    golden(name, f"$ perwiz {line}\n{out}{err}exit code {code}\n")


def test_goldens__none_is_left_over():
    names = {path.stem for path in (ROOT / "tests" / "golden").glob("*.txt")}
    assert names == {case.values[0] for case in CASES}


@pytest.mark.slow
def test_readme__shows_what_is_printed(monkeypatch, capsys, tmp_path):
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```\n$ perwiz ")[1:]
    for block in blocks:
        line, _, output = block.partition("```")[0].partition("\n")
        assert main(line.split()) == (INCOMPLETE if "INCOMPLETE" in output else DONE)
        assert capsys.readouterr() == (output, "")
    assert len(blocks) == 4
