"""The manual pages: one for each command and action, which man and mandoc read without a complaint, and which say what the help says."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import perwiz
from perwiz import words
from perwiz.commands import COMMANDS, parser

pytest.importorskip("argparse_manpage", reason="no argparse-manpage, which makes the manual pages")
FILE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "man" / "pages.py"


@pytest.fixture(scope="module")
def sources():
    """Return the source of each page by its name."""
    spec = importlib.util.spec_from_file_location("pages", FILE)
    pages = importlib.util.module_from_spec(spec)
    path = [*sys.path]
    spec.loader.exec_module(pages)
    sys.path[:] = path
    with words.fitted(pages.WIDTH):
        found = pages.pages()
        return {name: pages.page(name, source, pages.near(name, found)) for name, source in found.items()}


def test_pages__of_commands_and_actions(sources):
    assert [name for name in sources if name.count("-") < 2] == ["perwiz", *(f"perwiz-{name}" for name in COMMANDS)]
    assert {name for name in sources if name.startswith("perwiz-cube-")} == {
        f"perwiz-cube-{action}" for action in ("show", "diff", "mean", "merge", "cmp")
    }


def test_page__of_a_command(sources):
    lines = sources["perwiz-explain"].split("\n")
    assert re.fullmatch(rf'\.TH PERWIZ-EXPLAIN "1" "20\d\d-\d\d-\d\d" "perwiz {re.escape(perwiz.__version__)}" "perwiz"', lines[0])
    assert [line for line in lines if line.startswith(".SH")] == [
        *(".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES", ".SH EXIT STATUS", ".SH SEE ALSO")
    ]
    assert lines[lines.index(".SH EXIT STATUS") + 1] == "0 done, 2 no such word"
    assert lines[-3:] == [".SH SEE ALSO", ".BR perwiz (1)", ""]


@pytest.mark.parametrize("name", ["predict", "jobs", "record"])
def test_page__has_every_option_and_sentence_of_the_help(sources, name):
    text = re.sub(r"\\f[A-Z]|\\[,/&]", "", sources[f"perwiz-{name}"]).replace("\\-", "-").replace("\\e", "\\")
    shown = " ".join(line for line in text.split() if line not in (".EX", ".EE", ".PP", ".TP", ".B"))
    of = parser.of(name)
    options = [
        option for action in of.actions() for option in action.option_strings if action.help != "==SUPPRESS==" and option != "--help"
    ]
    assert [option for option in options if option not in shown] == []
    sentences = [" ".join(line.split()) for line in (of.epilog or "").partition("exit codes")[0].split("\n")]
    assert [line for line in sentences if line not in shown and line not in ("examples:", "")] == []


def test_pages__mandoc_has_nothing_to_say(sources, tmp_path):
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    for name, text in sources.items():
        (tmp_path / f"{name}.1").write_text(text, encoding="utf-8")
    pages = sorted(tmp_path.glob("*.1"))
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *map(str, pages)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shown = subprocess.run(
        ["mandoc", "-T", "utf8", "-O", "width=200", str(tmp_path / "perwiz-tables.1")], capture_output=True, text=True, check=True
    )
    plain = re.sub(".\b", "", shown.stdout)
    assert re.search("perwiz-tables . print the columns of every table: name, type, unit, meaning", plain)


@pytest.mark.skipif(pathlib.Path(perwiz.__path__[0]) == FILE.parents[2] / "perwiz", reason="this is the source tree, nothing is installed")
def test_pages__are_installed(sources):
    place = pathlib.Path(sys.prefix, "share", "man", "man1")
    assert sorted(path.stem for path in place.glob("perwiz*.1")) == sorted(sources)
    dated = re.compile(r'"20\d\d-\d\d-\d\d"')
    assert dated.sub("", (place / "perwiz-predict.1").read_text(encoding="utf-8")) == dated.sub("", sources["perwiz-predict"])


def test_page__nothing_is_taken_for_markup(sources):
    """No line of a page begins with a dot or an apostrophe but those that are requests."""
    requests = {*textwrap.dedent(".TH .SH .B .BR .I .TP .PP .EX .EE .ad").split()}
    lines = [line for text in sources.values() for line in text.split("\n") if line.startswith((".", "'"))]
    assert {line.split()[0] for line in lines} - requests == set()
