"""`perwiz convert` to a store, and what others say of one."""

import os

import pytest

from perwiz.cli import main
from perwiz.errors import UsageError
from perwiz.formats import whole
from samples import TRACES

SAMPLE = str(TRACES / "srtest.alog")


def said(capsys, *words):
    code = main([*words])
    out, error = capsys.readouterr()
    return code, out, error


@pytest.mark.slow
def test_convert__the_next_question(tmp_path, capsys, monkeypatch):
    """The same answer, but for the name; a store is replaced, read and written in other formats."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = said(capsys, "convert", SAMPLE, "run.perwiz")
    assert (code, out.split("\n")[0]) == (0, f"run.perwiz: perwiz store, from {SAMPLE} (ALOG)")
    for words in (["predict", "--zero-wait", "e25"], ["info"]):
        before, after = (said(capsys, words[0], trace, *words[1:])[1].split("\n", 1)[1] for trace in (SAMPLE, "run.perwiz"))
        assert before == after
    assert said(capsys, "predict", "run.perwiz", "--zero-wait", "e25", "-o", "then.perwiz")[0] == 0
    assert "predicted under zero-wait e25" in said(capsys, "info", "then.perwiz")[1]
    assert said(capsys, "convert", "then.perwiz", "run.perwiz")[0] == 0
    assert sorted(os.listdir()) == ["run.perwiz", "then.perwiz"]
    assert said(capsys, "convert", "run.perwiz", "run.perwiz")[2] == ("perwiz: run.perwiz: is read by this command, must be another file\n")


def test_replacing__a_directory_whole_or_not_at_all(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")

    def fails():
        with whole.replacing(str(tmp_path / "a")) as made:
            os.mkdir(made)
            raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match=r"cannot be written: no space left on device$"):
        fails()
    assert os.listdir(tmp_path / "a") == ["old"]
    with whole.replacing(str(tmp_path / "a")) as made:
        os.mkdir(made)
    assert (os.listdir(tmp_path), os.listdir(tmp_path / "a")) == (["a"], [])
