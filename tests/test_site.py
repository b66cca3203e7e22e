"""The docs as a site: built without a warning, every page there, every link and picture found from disk."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest

import perwiz
from perwiz.commands import COMMANDS
from perwiz.trace.tables import TABLES

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return where the site is, built by what scripts/site calls."""
    folder = tmp_path_factory.mktemp("site")
    command = f"{sys.executable} -P -m sphinx -W --keep-going -q -d {folder}/read -c docs/site . {folder}/out"
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=False, env=settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "out"


@pytest.mark.slow
def test_site__has_every_page(site):
    """A page that no list of contents names is a warning, and stops the build."""
    assert [page for page in PAGES if not (site / page.relative_to(ROOT)).with_suffix(".html").exists()] == []


@pytest.mark.slow
def test_site__is_whole_on_disk(site):
    """What pages load or point to is a file, and nothing is fetched from elsewhere."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link)\b[^>]*?(?:src|href)="([^"#?]+)', text)
        pointed = re.findall(r'<a\b[^>]*?href="([^"#?]+)', text)
        here = [*loaded, *(target for target in pointed if not re.match(r"\w+:", target))]
        assert [target for target in here if not (page.parent / urllib.parse.unquote(target)).exists()] == [], page


@pytest.mark.slow
def test_site__lists_commands_tables_and_names(site):
    """The reference is written from the code."""
    pages = {name: site / f"docs/reference/{name}.html" for name in ("commands", "tables", "api")}
    listed = {name: re.findall(r"<h[23]>([^<]+)<", page.read_text(encoding="utf-8")) for name, page in pages.items()}
    assert [name for name in COMMANDS if f"perwiz {name}" not in listed["commands"]] == []
    assert listed["tables"] == [table.__name__.lower() for table in TABLES]
    assert [name for name in perwiz.__all__ if f"perwiz.{name}" not in listed["api"]] == []
