"""Archives read by several processes, each its locations alone: the parts are those cut out of what one process reads."""

import dataclasses
import pathlib

import numpy as np
import pytest

import threaded
from perwiz.formats import files
from perwiz.trace.spread import cut as cutting

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def differing(part, cut):
    """Return in what two parts differ."""
    fields = [field.name for field in dataclasses.fields(part) if field.name not in ("share", "timeline")]
    pairs = [(name, getattr(part, name), getattr(cut, name)) for name in fields]
    pairs += [(name, getattr(part.timeline, name), getattr(cut.timeline, name)) for name in ("calls", "regions", "locations", "origin")]
    names = ("first", "sizes", "members", "places", "messages", "links", "count")
    pairs += [(name, getattr(part.share, name), getattr(cut.share, name)) for name in names]
    return [name for name, one, other in pairs if not (np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("npb-mg.S_timens-4", 1), ("npb-mg.S_timens-4", 3), ("npb-is.S-4", 2)])
def test_parts__as_cut(monkeypatch, name, size):
    path = str(TRACES / name)
    parts = threaded.together(size, lambda team: files.read_part(path, team))
    whole, bounds = files.read(path), parts[0].share.bounds
    monkeypatch.setattr(cutting, "bounds_of", lambda *_: bounds)
    cuts = threaded.parts(size, whole, lambda part: part)
    assert [differing(*pair) for pair in zip(parts, cuts, strict=True)] == [[]] * size
    assert sum(part.share.calls.stop - part.share.calls.start for part in parts) == len(whole.calls)
