"""The jobs of docs/questions/ci.md: YAML and shell that are understood, and, run here, an alarm where one is due."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import mpis
from perwiz.commands import parser

ROOT = pathlib.Path(__file__).resolve().parents[1]
JOBS = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "questions" / "ci.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
GITHUB, GITLAB = JOBS
BLOCK = r"^( *)(- )?{}\|\n((?:\1 +.*\n|\n)+)"
"""A key, or an item, whose value are the lines below it that are further in."""


def shell(job):
    """Return the shell of a job in its order: blocks to run, and items of lists that are commands."""
    block, item = BLOCK.format("(?:run: )?"), r"^ +- ((?:apt-get|python3|\. |pip|export|make).*)$"
    found = re.finditer(rf"{block}|{item}", job, re.MULTILINE)
    return "\n".join(match[4] or re.sub("^ +", "", match[3], flags=re.MULTILINE) for match in found)


@pytest.mark.parametrize("job", JOBS, ids=["github", "gitlab"])
def test_yaml__keys_and_items_only(job):
    """Outside of blocks: a key, a key and its value, or an item; two blanks a level, no tab, no key twice in one mapping."""
    plain = re.sub(BLOCK.format("(?:[a-z]+: )?"), lambda block: f"{block[1]}{block[2] or ''}block: x\n", job, flags=re.MULTILINE)
    keys = [set()]
    for line in plain.splitlines():
        match = re.fullmatch(r"((?:  )*)((?:- )?)(?:([a-z_A-Z]+|[a-z]+-[a-z]+):(?: (.+))?|([^:]*))", line)
        assert match, line
        level = len(match[1] + match[2]) // 2
        assert level < len(keys) + 2, line
        keys[level + (not match[2]) :] = []
        keys += [set() for _ in range(level + 1 - len(keys))]
        if match[2]:
            keys[level] = set()
        assert match[3] is None or match[3] not in keys[level], line
        keys[level].add(match[3])
        assert not re.match(r"[&*!%@`]|\[[^\]]*$|\{[^}]*$", match[4] or ""), line


@pytest.mark.parametrize("job", JOBS, ids=["github", "gitlab"])
def test_shell__is_understood(job):
    text = shell(job)
    assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).stderr == ""
    asked = re.findall(r"^ *perwiz (record|series) (.*?)(?: \|\| exit)?$", text, re.MULTILINE)
    assert [command for command, _ in asked] == ["record", "series"]
    for command, words in asked:
        parser.of(command).parse_args(words.split())


def ran(script, folder, **variables):
    """Run what records and compares of a job in a folder, with perwiz of this tree, once each instead of five times."""
    own = script[script.index("mkdir -p ") :].replace("1 2 3 4 5", "1")
    tool = folder / "bin"
    tool.mkdir(exist_ok=True)
    (tool / "perwiz").write_text(f'#!/bin/sh\nexec {sys.executable} -m perwiz "$@"\n')
    (tool / "perwiz").chmod(0o755)
    path = os.pathsep.join([str(tool), os.path.dirname(mpis.installed()[0].mpiexec), os.environ["PATH"]])
    settings = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path), "OMPI_MCA_mpi_yield_when_idle": "1"} | variables
    return subprocess.run(["bash", "-e", "-c", own], cwd=folder, env=settings, capture_output=True, text=True, check=False)


def built(folder, slower=0):
    """Put the program whose scaling is known there as `app`, so much slower, in percent."""
    mpis.compiled(mpis.installed()[0].mpicc, "../casestudies/scaling.c", folder)
    (program,) = folder.glob("scaling-*")
    program.rename(folder / "scaling")
    (folder / "app").write_text(f'#!/bin/sh\nexec "$(dirname "$0")/scaling" slower:{slower}\n')
    (folder / "app").chmod(0o755)


OPEN_MPI = pytest.mark.skipif(not (mpis.installed() and mpis.installed()[0].is_open), reason="the jobs are written for Open MPI")


@pytest.mark.slow
@OPEN_MPI
def test_github__run_here(tmp_path):
    """Three times the work is found."""
    for name, slower in (("old", 0), ("new", 200)):
        (tmp_path / name).mkdir()
        built(tmp_path / name, slower)
    done = ran(shell(GITHUB), tmp_path)
    assert done.returncode == 5, done.stderr
    assert "is missed" in done.stdout
    assert (tmp_path / "series.html").exists()


@pytest.mark.slow
@OPEN_MPI
def test_gitlab__run_here(tmp_path):
    """The default branch leaves its baseline, against which three times the work is found."""
    built(tmp_path)
    done = ran(shell(GITLAB), tmp_path, CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main")
    assert (done.returncode, sorted(os.listdir(tmp_path / "baseline"))) == (0, ["1"]), done.stderr
    shutil.rmtree(tmp_path / "new")
    (tmp_path / "scaling").unlink()
    built(tmp_path, 200)
    done = ran(shell(GITLAB), tmp_path, CI_COMMIT_BRANCH="", CI_DEFAULT_BRANCH="main")
    assert done.returncode == 5, done.stderr
    assert (tmp_path / "series.html").exists()
