"""What the tests in a browser share: one browser for all of them, and the page of traces/srtest.alog."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

import perwiz
from browser.chromium import Chromium
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import Report, gathered

SRTEST = pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog"


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """Return one browser for all tests."""
    with Chromium() as found:
        yield found


@pytest.fixture(scope="session")
def report() -> Report:
    """Return what the page of srtest.alog tells, under the default model."""
    return gathered(perwiz.read(str(SRTEST)), model="default")


@pytest.fixture(scope="session")
def srtest(report: Report, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return the page of srtest.alog."""
    path = tmp_path_factory.mktemp("page") / "srtest.html"
    path.write_text(html_report.page(report), encoding="utf-8")
    return path
