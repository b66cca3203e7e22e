"""On every sample trace: the recorded run is a fixed point of both engines, and they agree under random weights and cuts."""

import numpy as np
import pytest

from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.formats.files import read
from perwiz.loggps.model_file import load
from perwiz.loggps.weigh import CUT, timeline_of
from perwiz.whatif.hypotheses.network import Network
from perwiz.whatif.run import replayed
from samples import SAMPLES, name_of


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_sample(path):
    """Under one of two models, in turn."""
    trace, model = read(str(path)), ("default", "perwiz-cluster")[SAMPLES.index(path) % 2]
    weighted = replayed(trace, load(model), "none", [Network("S_bytes=8")]).weighted
    for engine in (sweep, replay):
        found = timeline_of(weighted, engine(weighted.graph, weighted.weight), "measured")
        assert (found.calls, found.regions, found.locations) == (trace.timeline.calls, trace.timeline.regions, trace.timeline.locations)
    random = np.random.default_rng(len(trace.calls))
    weight = random.integers(-1000, 100_000, weighted.graph.edges)
    weight[random.random(len(weight)) < 0.2] = CUT
    assert (sweep(weighted.graph, weight) == replay(weighted.graph, weight)).all()
