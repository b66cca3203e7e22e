"""Archives read by several processes, each its locations alone: the parts are those cut out of what one process reads."""

import pathlib

import pytest

import threaded
from perwiz.formats import files
from perwiz.trace.spread import cut as cutting

TRACES = pathlib.Path(__file__).parents[3] / "traces"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("npb-mg.S_timens-4", 1), ("npb-mg.S_timens-4", 3), ("npb-is.S-4", 2)])
def test_parts__as_cut(monkeypatch, name, size):
    path = str(TRACES / name)
    parts = threaded.together(size, lambda team: files.read_part(path, team))
    whole, bounds = files.read(path), parts[0].share.bounds
    monkeypatch.setattr(cutting, "bounds_of", lambda *_: bounds)
    cuts = threaded.parts(size, whole, lambda part: part)
    assert [threaded.differing(*pair) for pair in zip(parts, cuts, strict=True)] == [[]] * size
    assert sum(part.share.calls.stop - part.share.calls.start for part in parts) == len(whole.calls)
