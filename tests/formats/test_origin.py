"""Where a timeline comes from stays known in files, whatever made it: their clocks are treated alike before and behind."""

from __future__ import annotations

import dataclasses
import re

import pytest

from build import Builder, hand_model
from perwiz.clock.condition import violations
from perwiz.clock.logical import correct
from perwiz.clock.treatment import treat
from perwiz.formats.files import read, write
from perwiz.formats.otf2.writing.definitions import Definitions
from perwiz.trace.origin import Origin
from perwiz.whatif.predict import predict, predicted_trace

FORMATS = pytest.mark.parametrize("name", ["t.alog", "t.alog.gz", "t.otf2"])


def late_and_movable():
    """Rank 1 waits for a message that rank 0 sends behind 60 other calls, in pairs that may change places."""
    b = Builder(2)
    for _ in range(60):
        b.compute(0, 1000)
        b.call(0, "Comm_rank")
    b.send(0, 1)
    b.recv(1, 0)
    return b.trace()


def there_and_back(trace, path, **changes):
    write(dataclasses.replace(trace, timeline=dataclasses.replace(trace.timeline, **changes)), str(path))
    return read(str(path))


@FORMATS
def test_many_hypotheses__keep_the_clock_treatment(name, tmp_path):
    """30 moves before the zero-wait: the list is longer than people are shown, and the calls return before their causes."""
    moves = [f"move e{k + 1} before e{k}" for k in range(0, 60, 2)]
    trace = late_and_movable()
    prediction = predict(trace, [*moves, f"zero-wait e{len(trace.calls) - 1}"], hand_model())
    predicted = predicted_trace(prediction)
    assert "zero-wait" not in str(predicted.timeline.origin)
    back = there_and_back(predicted, tmp_path / name)
    assert back.timeline.origin == predicted.timeline.origin
    assert back.timeline.origin.hypotheses == tuple(map(str, prediction.hypotheses))
    treated = treat(back)
    assert treated.recorded
    assert treated.correction is None
    assert treated.trace.timeline.calls == predicted.timeline.calls


@FORMATS
def test_prediction__records_are_no_reason_to_correct_it(name, tmp_path):
    """On a network that takes no time a message takes less than its records are inside its calls, with which they move."""
    b = Builder(2, record=100)
    b.send(0, 1, at=(1000, 5000))
    b.recv(1, 0, at=(900, 1205))
    prediction = predict(b.trace(), ["network L_ns=0,o_ns=0"], hand_model())
    predicted = predicted_trace(prediction)
    back = there_and_back(predicted, tmp_path / name)
    assert back.messages == predicted.messages
    assert (back.timeline.calls.leave[1] - back.timeline.calls.enter[0]) < 200
    assert treat(back).correction is None


@FORMATS
def test_correction__holds_for_records_too(name, tmp_path):
    """The receive is too short, once corrected, for its record to lie 600 before its return."""
    b = Builder(2, record=600)
    b.send(0, 1, at=(6_000, 7_000))
    b.recv(1, 0, at=(4_300, 5_000))
    b.send(1, 0, at=(5_000, 5_700))
    b.recv(0, 1, at=(7_000, 8_000))
    trace = b.trace()
    assert dataclasses.astuple(violations(trace, trace.timeline)) == (1, 1000, 0, 0, 1, 2200, 0, 0)
    back = there_and_back(dataclasses.replace(trace, timeline=correct(trace).timeline), tmp_path / name)
    assert not violations(back, back.timeline)
    assert treat(back).trace is back


@FORMATS
@pytest.mark.parametrize(
    "origin",
    [
        Origin(),
        Origin(by="a guess"),
        Origin().with_offsets().corrected("hand"),
        Origin("predicted", "", ("scale zero-wait x=0.5",)),
        Origin(
            "predicted", "corrected by hand", ("zero-wait " + ",".join(f"e{call}" for call in range(500)), "scale a; b\t\x7f é =1"), True
        ),
    ],
    ids=["measured", "foreign", "corrected", "named so", "long"],
)
def test_every_origin__is_read_as_written(name, origin, tmp_path):
    assert there_and_back(late_and_movable(), tmp_path / name, origin=origin).timeline.origin == origin


@pytest.mark.parametrize(
    ("words", "origin"),
    [
        ("measured", Origin()),
        ("measured, clock offsets applied", Origin().with_offsets()),
        ("predicted under zero-wait e3; speed rank:0=2", Origin("predicted", "", ("zero-wait e3", "speed rank:0=2"), True)),
        ("somebody", Origin(by="somebody")),
    ],
)
@pytest.mark.parametrize("more", ["", "\n-36 0 0 0 0 0 perwiz_origin={"])
def test_alog__words_alone(words, origin, more, tmp_path):
    """As older versions wrote it; so is what stands where the origin should, but is none."""
    path = tmp_path / "t.alog"
    write(late_and_movable(), str(path))
    path.write_text(re.sub("made_by=measured", f"made_by={words}{more}", path.read_text()))
    assert read(str(path)).timeline.origin == origin


@pytest.mark.parametrize("said", [{}, {"ORIGIN": "{"}])
def test_otf2__words_alone(said, tmp_path, monkeypatch):
    """As older versions wrote it; so is what stands where the origin should, but is none."""
    whole = Definitions.properties

    def older(definitions, timeline, start):
        return {key: value for key, value in whole(definitions, timeline, start).items() if key != "ORIGIN"} | said

    monkeypatch.setattr(Definitions, "properties", older)
    origin = Origin("predicted", "", ("zero-wait e3", "speed rank:0=2"), True)
    assert there_and_back(late_and_movable(), tmp_path / "t.otf2", origin=origin).timeline.origin == origin
