"""Patterns of the user's, from files and from installed packages."""

import importlib.metadata
import pathlib
import sys
import types

import pytest

from perwiz.errors import UsageError
from perwiz.formats.files import read
from perwiz.patterns import own
from perwiz.patterns.library import BUILT_IN
from perwiz.patterns.search import search

SAMPLE = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")

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


def wrong(tmp_path, result):
    """Return what is said of a pattern that returns this, given 14 late senders in a run of 36 calls."""
    path = tmp_path / "own.py"
    head = "import numpy as np\nfrom perwiz.patterns.pattern import Instances, Pattern, instances\n"
    path.write_text(head + GOOD.format(name="a", of="mpi_latesender").replace("return parent", f"return {result}"))
    found = search(read(SAMPLE), own.collect([str(path)], BUILT_IN))
    assert "a" not in found.instances
    (failure,) = found.failures
    assert failure.startswith(f"{path}:")
    return failure.split(": pattern a: ")[1]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("None", "TypeError: instances returned NoneType, must return perwiz.patterns.pattern.Instances"),
        (
            "parent.severe(parent.severity / 2)",
            "TypeError: the column severity of its instances must be an array of integers, one per instance",
        ),
        (
            "Instances(parent.call, parent.severity[1:], parent.cause, parent.message, parent.collective)",
            "TypeError: the column severity of its instances must be an array of integers, one per instance",
        ),
        ("instances(np.array([36]), np.array([5]))", "ValueError: the column call of its instances must have numbers from 0 to 35"),
        (
            "instances(np.array([0]), np.array([5]), message=15)",
            "ValueError: the column message of its instances must have numbers from -1 to 14",
        ),
        (
            "Instances(parent.call, parent.severity * 0, parent.cause, parent.message, parent.collective)",
            "ValueError: an instance of 0 ns, must be above 0: see Instances.severe",
        ),
        (
            "parent.where(slice(None, None, -1))",
            "ValueError: its instances must be in the order of their calls: see perwiz.patterns.pattern.instances",
        ),
    ],
)
def test_wrong_instances(tmp_path, result, message):
    assert wrong(tmp_path, result) == message


def test_documented(tmp_path):
    """The pattern of docs/patterns.md, on a ring whose messages have 12 bytes."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "patterns.md").read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(page.split("```python\n")[1].split("```")[0])
    found = search(read(SAMPLE), own.collect([str(tmp_path / "own.py")], BUILT_IN))
    late = found.instances["mpi_latesender"].severity
    assert found.failures == ()
    assert found.instances["late_for_long"].severity.tolist() == late[late >= 1_000_000].tolist()
    assert 0 < len(found.instances["late_for_long"]) < len(late)


def test_special_cases_of_one_that_raises(tmp_path):
    """They are left out, and theirs; one message says why."""
    texts = HEAD + GOOD.format(name="a", of="mpi_latesender").replace("return parent", "return 1 / 0")
    texts += GOOD.format(name="b", of="a") + GOOD.format(name="c", of="b") + GOOD.format(name="d", of="mpi_latesender")
    found = search(read(SAMPLE), collect(tmp_path, texts))
    assert [name for name in found.instances if len(name) == 1] == ["d"]
    assert len(found.failures) == 1


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
        ("raise SystemExit('bye')\n", "{path}:1: SystemExit: bye"),
        (HEAD, "{path}: no pattern in it, must have a subclass of perwiz.patterns.pattern.Pattern"),
        (
            HEAD + GOOD.format(name="a", of="nothing"),
            "{path}: pattern a is one of 'nothing', must be one of a metric of time or pattern that there is",
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
