"""The rules of the house, as programs: layers, homes, sizes, docstrings, what is packaged and what is imported when.

The rules on text read the source tree; the rest asks the package that the tests import.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import gc
import graphlib
import importlib
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import perwiz
from perwiz import cli

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = pathlib.Path(perwiz.__path__[0])
"""Where the perwiz lies that the tests import: installed, or in the source tree."""
MODULES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted((ROOT / "perwiz").rglob("*.py"))}
KERNELS = [path for path, text in MODULES.items() if text.startswith("# cython: ")]
"""The modules that meson.build compiles."""
LAYERS = [
    {"errors", "words", "terms", "shown", "kernels"},
    {"progress", "allowed", "spilling"},
    {"trace"},
    {"formats", "record"},
    *({name} for name in ("graph", "clock", "loggps", "engines", "whatif", "patterns", "report", "jobs", "commands", "cli")),
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
HOMES = {
    "numpy": "perwiz/",
    "nanoarrow": "perwiz/trace/table.py",
    "pyarrow": "perwiz/formats/jobtable/columns.py",
    "cython": "perwiz/kernels/",
    "zstandard": "perwiz/formats/",
    "otf2": "perwiz/formats/otf2/library/",
    "networkx": "perwiz/graph/",
    "simpy": "perwiz/engines/",
    "matplotlib": "perwiz/report/",
    "msgspec": ("perwiz/report/", "perwiz/jobs/", "perwiz/formats/recorded/definitions.py", "perwiz/formats/typed.py"),
    "mpi4py": "perwiz/engines/team.py",
    "sqlalchemy": "perwiz/jobs/store/database.py",
    "shtab": "perwiz/commands/completion.py",
}
LATE = {"matplotlib", "nanoarrow", "networkx", "mpi4py", "otf2", "pyarrow", "sqlalchemy", "shtab"}
"""Slow to import or not always there: imported inside the function that needs it."""
HEAVY = {"numpy", *LATE, "simpy", "zstandard", "msgspec"}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Import(NamedTuple):
    """One imported name and where; late when inside a function."""

    path: str
    line: int
    name: str
    late: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}"


@functools.cache
def tree(path: str) -> ast.Module:
    """Return the tree of a module; parsing them all takes seconds, which a run of other tests need not wait for.

    Most of them went into looking for garbage among trees, which stay.
    """
    gc.disable()
    try:
        return ast.parse(MODULES[path])
    finally:
        gc.enable()


def room(path: str) -> str:
    return path.removesuffix(".py").split("/")[1]


def names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]


def imports_below(node: ast.AST, path: str, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield from (Import(path, child.lineno, name, late) for name in names(child))
        only_types = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
        yield from imports_below(child, path, late or only_types or isinstance(child, FUNCTION))


@functools.cache
def imports() -> tuple[Import, ...]:
    """Return all imports of all modules."""
    return tuple(found for path in MODULES for found in imports_below(tree(path), path, late=False))


def against_layers(found: Import) -> bool:
    parts = found.name.split(".")
    if parts[0] != "perwiz" or found.name == "perwiz.__version__" or room(found.path) in ("__init__", "__main__"):
        return False
    if len(parts) < 2 or parts[1] not in RANK or room(found.path) not in RANK:
        return True
    return room(found.path) != parts[1] and RANK[room(found.path)] <= RANK[parts[1]]


def away_from_home(found: Import) -> bool:
    package = found.name.split(".")[0]
    if package == "perwiz" or package in sys.stdlib_module_names:
        return False
    return not found.path.startswith(HOMES.get(package, "nowhere"))


def functions(path: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, FUNCTION))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of its body, docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def undocumented(node: ast.AST, where: str) -> Iterator[str]:
    """Yield the public classes and functions without docstring, methods included, functions inside functions not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, *FUNCTION)) and not child.name.startswith("_"):
            if not ast.get_docstring(child):
                yield f"{where}:{child.lineno}: {child.name}"
            if isinstance(child, ast.ClassDef):
                yield from undocumented(child, where)


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of code in a fresh interpreter that sees the same perwiz as the tests."""
    return subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)


def test_layers__import_only_from_those_before():
    assert [str(found) for found in imports() if against_layers(found)] == []


def test_layers__every_room_has_one():
    assert {room(path) for path in MODULES} - set(RANK) == {"__init__", "__main__"}


def test_homes__third_party_imports_stay_there():
    assert [str(found) for found in imports() if away_from_home(found)] == []


def test_homes__mpi4py_in_one_module():
    assert len({found.path for found in imports() if found.name.split(".")[0] == "mpi4py"}) <= 1


def test_homes__slow_packages_are_imported_late():
    assert [str(found) for found in imports() if found.name.split(".")[0] in LATE and not found.late] == []


def test_help__imports_nothing_heavy():
    """One interpreter asks all: of those that are named, the first imports it."""
    asked = [[], ["--help"], ["--version"], *([command, "--help"] for command in cli.COMMANDS)]
    done = python(f"""
import sys
from perwiz.cli import main
heavy = []
for words in {asked!r}:
    main(words)
    heavy += [words] if {HEAVY!r} & {{*sys.modules}} else []
print("\\n|", *heavy)""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "|"


def test_circles__no_module_imports_itself_through_others():
    """Imports inside functions and for types alone count too. graphlib names the circle."""
    dotted = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in MODULES}
    imported: dict[str, set[str]] = {}
    for found in imports():
        module = found.name if found.name in dotted else found.name.rpartition(".")[0]
        if module in dotted and module != "perwiz":
            imported.setdefault(found.path, set()).add(dotted[module])
    graphlib.TopologicalSorter(imported).prepare()


def test_sizes__folders():
    """Kernels and commands are lists; any other folder with more than 16 modules has more than one idea."""
    folders = collections.Counter(path.rpartition("/")[0] for path in MODULES if not path.endswith("/__init__.py"))
    assert {folder for folder, count in folders.items() if count > 16} <= {"perwiz/kernels", "perwiz/commands"}


def test_sizes__modules():
    """A module below 40 lines is not worth finding, unless it is data. Kernels and commands each have a file of their own."""
    kept_apart = {"kernels", "commands"}
    lines = {path: text.count("\n") for path, text in MODULES.items() if room(path) not in kept_apart and any(functions(path))}
    assert {path: count for path, count in lines.items() if count < 40 and not path.endswith(("/__init__.py", "/__main__.py"))} == {}


def private_of_others(path: str) -> Iterator[str]:
    """Yield the private names of other modules that a module imports, or takes off one that it has imported."""
    nodes = list(ast.walk(tree(path)))
    aliases = [alias for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
    yield from (f"{path}: {alias.name}" for alias in aliases if re.search(r"(^|\.)_[A-Za-z]", alias.name))
    imported = {alias.asname or alias.name for alias in aliases}
    taken = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported]
    yield from (f"{path}:{node.lineno}: {ast.unparse(node)}" for node in taken if re.match("_[A-Za-z]", node.attr))


def test_private_names__stay_in_their_file():
    assert [name for path in MODULES for name in private_of_others(path)] == []


def test_helpers_of_tests__imported_under_one_name():
    """As `build`, not as `tests.build`: two names make two modules, and two classes of each."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    assert [path for path, text in texts.items() if re.search(r"^\s*(from|import) tests\b", text, re.MULTILINE)] == []


def test_sizes__functions():
    lengths = {f"{path}:{f.lineno}: {f.name}": length(f) for path in MODULES for f in functions(path)}
    assert {where: lines for where, lines in lengths.items() if lines > 60} == {}


def test_docstrings():
    missing = [path for path in MODULES if not ast.get_docstring(tree(path))]
    assert missing + [where for path in MODULES for where in undocumented(tree(path), path)] == []


def test_kernels__begin_with_their_directives():
    directives = "# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True"
    first = {path: MODULES[path].partition("\n")[0].removesuffix(", infer_types=True") for path in KERNELS}
    assert {path: line for path, line in first.items() if line != directives} == {}


def test_kernels__whatever_imports_cython_is_one():
    """Without the directives a module is not compiled, and Cython is not there when perwiz runs."""
    assert {found.path for found in imports() if found.name.split(".")[0] == "cython"} == set(KERNELS)


def test_kernels__loaded_as_expected():
    """Compiled in the run on the installed package, interpreted in the run under coverage (scripts/test); never some of each."""
    modules = [importlib.import_module(path.removesuffix(".py").replace("/", ".")) for path in KERNELS]
    loaded = {module.__name__: "interpreted" if str(module.__file__).endswith(".py") else "compiled" for module in modules}
    expected = os.environ.get("PERWIZ_EXPECT") or next(iter(loaded.values()))
    assert loaded == dict.fromkeys(loaded, expected)


def content(folder: pathlib.Path, prefix: str = "") -> dict[str, bytes]:
    """Return the bytes of each file in a folder by its path there; without what Python and compilers leave."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so"))
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.skipif(PACKAGE == ROOT / "perwiz", reason="this is the source tree, nothing is installed")
def test_installed__every_file_of_the_source_tree():
    source, installed = content(ROOT / "perwiz") | content(ROOT / "models", "models/"), content(PACKAGE)
    assert sorted(source) == sorted(installed)
    assert [path for path in source if source[path] != installed[path]] == []


def test_packages__every_folder_of_modules_is_one():
    folders = {path.rpartition("/")[0] for path in MODULES}
    assert [folder for folder in folders if f"{folder}/__init__.py" not in MODULES] == []


def test_public_names__resolve():
    assert [name for name in perwiz.__all__ if getattr(perwiz, name, None) is None] == []
    assert set(perwiz.__all__) <= set(dir(perwiz))


def test_public_names__unknown():
    with pytest.raises(AttributeError, match=r"^module 'perwiz' has no attribute 'guess'$"):
        _ = perwiz.guess


def test_readme__its_commands_are_what_ci_runs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = readme.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert len(commands) == 2
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in run if line in commands] == commands
    assert run[-1] == commands[-1]


def _taken(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of all that a script takes from perwiz."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "perwiz":
            yield from ((node.module, name.name) for name in node.names)


@pytest.mark.slow
def test_scripts__take_only_what_there_is():
    """No test runs all of them, so what they take could be renamed without anybody noticing."""
    taken = {(module, name): path for path in sorted((ROOT / "scripts").rglob("*.py")) for module, name in _taken(path)}
    assert len(taken) > 50
    lacking = [f"{path.relative_to(ROOT)}: {module}.{name}" for (module, name), path in taken.items() if not _there(module, name)]
    assert not lacking


def _there(module: str, name: str) -> bool:
    if not hasattr(importlib.import_module(module), name):
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{module}.{name}")
    return hasattr(importlib.import_module(module), name)
