"""Recipes, wheels and the container: they name the version and what pyproject.toml names, and build for the Pythons it allows."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import tomllib

import pytest

import perwiz

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD, RUN = PROJECT["build-system"]["requires"], PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
SPACK = ROOT / "packaging" / "spack" / "spack_repo" / "perwiz" / "packages" / "perwiz" / "package.py"
CONDA = ROOT / "packaging" / "conda" / "recipe.yaml"
EASYBUILD = ROOT / "packaging" / "easybuild" / f"perwiz-{perwiz.__version__}-foss-2025b.eb"
CONTAINER = ROOT / "packaging" / "Containerfile"
WORKFLOW = ROOT / ".github" / "workflows" / "wheels.yml"


def least(requirement):
    """Return (name, least version) of a requirement, with numbers as few as they can be: (numpy, 2) of numpy>=2.0."""
    name, _, version = requirement.partition(">=")
    return re.sub(r"\[.*\]", "", name), re.sub(r"(\.0)+$", "", version)


def read(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [SPACK, CONDA, EASYBUILD, CONTAINER], ids=lambda path: path.name)
def test_recipes__name_the_version(path):
    assert set(re.findall(r"\b\d+\.\d+\.\d+\b", re.sub(r"(?m)^ .*(depends_on|'\)|': |\('|>=).*$", "", read(path)))) == {perwiz.__version__}


def test_spack__depends_on_the_same():
    calls = [
        node for node in ast.walk(ast.parse(read(SPACK))) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "depends_on"
    ]
    asked = {node.args[0].value.removeprefix("py-").partition("@")[::2] for node in calls}
    names = {(name, version.removesuffix(":")) for name, version in asked}
    assert {*map(least, [*BUILD, *RUN, *EXTRAS["mpi"], *EXTRAS["jobs"]])} - names == set()
    assert ("python", PROJECT["project"]["requires-python"].removeprefix(">=")) in names
    assert names - {*map(least, [*BUILD, *RUN, *EXTRAS["mpi"], *EXTRAS["jobs"], *EXTRAS["otf2"]])} == {
        *(("c", ""), ("meson", "1.4"), ("python", "3.11"), ("mpi", ""))
    }


def test_spack__has_what_spack_lacks():
    """Packages beside that of perwiz: with a sum, and as new as is asked."""
    others = [path for path in SPACK.parents[1].glob("*/package.py") if path != SPACK]
    assert sorted(path.parent.name for path in others) == ["py_msgspec", "py_psycopg", "py_psycopg_c", "py_shtab"]
    asked = dict(map(least, [*RUN, *EXTRAS["jobs"]]))
    for path in others:
        ((version, total),) = re.findall(r'version\("([\d.]+)", sha256="(\w+)"\)', read(path))
        assert len(total) == 64
        name = path.parent.name.removeprefix("py_").removesuffix("_c")
        assert [int(part) for part in version.split(".")] >= [int(part) for part in asked[name].split(".")]


def test_conda__depends_on_the_same():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(read(CONDA))
    other = {"msgspec": "python-msgspec", "matplotlib": "matplotlib-base"}
    plain = {part: {least(text.replace(" ", "")) for text in recipe["requirements"][part]} for part in ("host", "run", "run_constraints")}

    def wanted(requirements):
        return {(other.get(name, name), version) for name, version in map(least, requirements)}

    assert wanted(BUILD) - plain["host"] == set()
    assert plain["run"] == wanted(RUN) | {("python", "")}
    assert plain["run_constraints"] <= wanted([*EXTRAS["graph"], *EXTRAS["mpi"], *EXTRAS["jobs"]])
    assert recipe["context"]["version"] == perwiz.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["project"]["requires-python"]


def test_easybuild__depends_on_the_same():
    names = {node.targets[0].id: node.value for node in ast.parse(read(EASYBUILD)).body if isinstance(node, ast.Assign)}
    pairs = [entry.elts for key in ("builddependencies", "dependencies", "exts_list") for entry in names[key].elts]
    given = {ast.unparse(entry[0]).strip("'").lower(): ast.unparse(entry[1]).strip("'") for entry in pairs}
    given["numpy"] = "2.3"  # in SciPy-bundle 2025.07
    for requirement in [*BUILD, *RUN, *EXTRAS["otf2"]]:
        name, version = least(requirement)
        numbers = [[int(part) for part in text.split(".")] for text in (given[name], version or "0")]
        assert numbers[0] >= numbers[1], requirement


def test_workflow__builds_what_the_project_allows():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(read(WORKFLOW))["jobs"]
    assert {row["arch"] for row in jobs["wheels"]["strategy"]["matrix"]["include"]} == {"x86_64", "aarch64"}
    settings = PROJECT["tool"]["cibuildwheel"]
    assert settings["build"].split() == [f"cp3{minor}-*" for minor in range(11, 15)]
    named = re.findall(r"scripts/[\w-]+", f"{read(WORKFLOW)} {settings['test-command']} {read(CONTAINER)}")
    assert {"scripts/wheel", "scripts/test-wheel"} <= {*named}
    for path in named:
        assert os.access(ROOT / path, os.X_OK), path
        assert subprocess.run(["bash", "-n", str(ROOT / path)], capture_output=True, check=False).returncode == 0


def test_container__is_a_user_without_rights_and_says_what_it_is():
    text = read(CONTAINER).replace("\\\n", "")
    last = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER (\d+)$", last, re.MULTILINE)[1] == "1000"
    assert {"title", "description", "version", "licenses"} <= {*re.findall(r"org\.opencontainers\.image\.(\w+)=", last)}
    assert "ENTRYPOINT" in last
