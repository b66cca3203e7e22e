"""The same question about several recordings, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.sure.recordings import recordings


def loop(*lengths):
    """One process that computes so long up to each of its barriers."""
    b = Builder(1)
    with b.region(0, "step"):
        for length in lengths:
            b.compute(0, length)
            b.barrier()
    return b.trace()


def asked(*traces, question="scale step=0.5"):
    first, *others = traces
    return recordings(predict(first, [question], hand_model(), clock="none"), others, hand_model(), "none")


def test_what_lies_between():
    """Steps of 80 to 120 ns, those of other recordings twice and three times as long: nearly all that varies lies between them."""
    lengths = [80, 120, 100] * 4
    several = asked(*(loop(*(factor * length for length in lengths)) for factor in (1, 2, 3)))
    assert several.gains == (600, 1200, 1800)
    told = predict(loop(*lengths), ["scale step=0.5"], hand_model(), clock="none").span.gain.deviation
    assert several.between == pytest.approx(1 - told**2 / 600**2)
    assert several.between > 0.9


def test_no_more_than_in_one():
    """Recordings that differ by less than runs drawn of one: nothing lies between them."""
    several = asked(*(loop(*[80, 120, 100] * 4, last) for last in (100, 102, 104)))
    assert (several.gains, several.between) == ((650, 651, 652), 0)


def test_two_do_not_tell():
    assert asked(loop(*[80, 120, 100] * 4), loop(*[160, 240, 200] * 4)).between is None


def test_equal_ones_do_not_vary():
    assert asked(*[loop(*[80, 120, 100] * 4)] * 3).between is None


def test_nothing_repeats():
    assert asked(loop(10), loop(20), loop(30)).between is None


def test_refusal():
    """A call that only the first has."""
    with pytest.raises(UsageError) as error:
        asked(loop(10, 20), loop(10), question="zero-wait e1")
    assert str(error.value) == "built: e1: no such call, the trace has calls e0 to e0"
