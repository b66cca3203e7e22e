"""The traces that ship with the project, one path each."""

from __future__ import annotations

import pathlib

TRACES = pathlib.Path(__file__).parents[1] / "traces"


def _traces(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the trace at a path, or those in a directory that is none itself."""
    return sorted(path.glob("*.alog.gz")) or [path]


SAMPLES = [trace for path in sorted(TRACES.iterdir()) if path.suffix != ".md" for trace in _traces(path)]


def name_of(path: pathlib.Path) -> str:
    """Return what a test of a sample is called."""
    return str(path.relative_to(TRACES))
