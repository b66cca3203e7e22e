"""What all tests share: golden files with `--regold`, laws that draw the same examples every time, and readers that start fast."""

from __future__ import annotations

import gc
import os
import pathlib
from collections.abc import Callable, Generator, Iterator

import hypothesis
import pytest

import forked
import perwiz.formats.files  # noqa: F401  what can be read is in words once it is loaded

GOLDEN = pathlib.Path(__file__).parent / "golden"
LONGEST = 60
"""Lines of a golden file: more than that nobody reads."""

hypothesis.settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    max_examples=20,
    # Interpreted kernels under coverage are slow; a law must not fail for that.
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("deterministic")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let what finds garbage not look at what is imported and collected: that is most objects there are, and they stay."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --regold."""
    parser.addoption("--regold", action="store_true", help="rewrite the golden files with what the tests see now")


@pytest.fixture(scope="session", autouse=True)
def _forked() -> Iterator[None]:
    """Fork what reads OTF2 archives."""
    with pytest.MonkeyPatch.context() as patch:
        forked.use(patch)
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return where programs and recorders of this session are kept, those of all workers of xdist in one place."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built"
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return golden(name, text), which compares the text with tests/golden/<name>.txt, or writes it there under --regold."""

    def compare(name: str, text: str) -> None:
        text = text.rstrip("\n") + "\n"
        lines = text.count("\n")
        assert lines <= LONGEST, f"golden {name}: {lines} lines, at most {LONGEST}: test less of it"
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--regold"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; if this is what it should hold, run pytest --regold:\n{text}"
        assert text == path.read_text(encoding="utf-8")

    return compare
