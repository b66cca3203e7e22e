"""Patterns of the user's, from files and from installed packages."""

import importlib.metadata
import sys
import types

import pytest

from perwiz.errors import UsageError
from perwiz.patterns import own
from perwiz.patterns.search import BUILT_IN

HEAD = "from perwiz.patterns.pattern import Pattern\n"
GOOD = """
class {name}(Pattern):
    name, title, of = "{name}", "Title", "{of}"
    def instances(self, view, parent):
        return parent
"""


def collect(tmp_path, *texts):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"own{number}.py")
        files[-1].write_text(text)
    return own.collect(map(str, files), BUILT_IN)


def test_parents_first(tmp_path):
    """A special case may stand before its pattern, and in another file."""
    child, parent = GOOD.format(name="child", of="parent"), GOOD.format(name="parent", of="mpi_latesender")
    assert [pattern.name for pattern in collect(tmp_path, HEAD + child + parent)] == ["parent", "child"]
    assert [pattern.name for pattern in collect(tmp_path, HEAD + child, HEAD + parent)] == ["parent", "child"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def\n", "{path}:1: invalid syntax"),
        ("x = 1\n\n1 / 0\n", "{path}:3: ZeroDivisionError: division by zero"),
        (HEAD, "{path}: no pattern in it, must have a subclass of perwiz.patterns.pattern.Pattern"),
        (
            HEAD + GOOD.format(name="a", of="nothing"),
            "{path}: pattern a is one of 'nothing', must be one of a metric or pattern that there is",
        ),
        (
            HEAD + GOOD.format(name="mpi_latesender", of="time"),
            "{path}: pattern mpi_latesender: there is one of that name, must be another",
        ),
        (
            HEAD + GOOD.format(name="a", of="b") + GOOD.format(name="b", of="a"),
            "patterns a, b: special cases of each other, must lead to a metric",
        ),
        (
            HEAD + "class A(Pattern):\n    name = 'a'\n    def instances(self, view, parent):\n        return parent\n",
            "{path}: pattern A: must say its name, title and of, as texts",
        ),
    ],
)
def test_refused(tmp_path, text, message):
    with pytest.raises(UsageError) as refused:
        collect(tmp_path, text)
    assert str(refused.value) == message.format(path=tmp_path / "own0.py")


def test_refused__no_python_file(tmp_path):
    (tmp_path / "own.txt").write_text(HEAD)
    with pytest.raises(UsageError) as refused:
        own.collect([str(tmp_path / "own.txt")], BUILT_IN)
    assert str(refused.value) == f"{tmp_path / 'own.txt'}: no Python file, must end in .py"


def test_refused__not_there(tmp_path):
    with pytest.raises(UsageError, match=r"gone.py: no such file"):
        own.collect([str(tmp_path / "gone.py")], BUILT_IN)


def test_installed(monkeypatch):
    """An entry point of the group names a module."""
    module = types.ModuleType("their_patterns")
    exec(HEAD + GOOD.format(name="theirs", of="time"), module.__dict__)
    module.theirs.__module__ = "their_patterns"
    monkeypatch.setitem(sys.modules, "their_patterns", module)
    point = importlib.metadata.EntryPoint("theirs", "their_patterns", own.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point] if group == own.GROUP else [])
    assert [pattern.name for pattern in own.collect([], BUILT_IN)] == ["theirs"]
