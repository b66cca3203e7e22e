"""Where a timeline comes from: what people are told, and what stands in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.trace.origin import MEASURED, Origin, from_json, from_words, to_json

ZERO_WAIT = Origin("predicted", "", ("zero-wait e1",), True)
OFFSETS = MEASURED.with_offsets()


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (MEASURED, "measured"),
        (OFFSETS, "measured, clock offsets applied"),
        (MEASURED.corrected("hand"), "corrected by hand"),
        (OFFSETS.corrected("hand"), "measured, clock offsets applied, corrected by hand"),
        (ZERO_WAIT, "predicted under zero-wait e1"),
        (Origin("predicted", "", ("a b", "c d")), "predicted under a b; c d"),
        (ZERO_WAIT.corrected("hand"), "predicted under zero-wait e1, corrected by hand"),
        (Origin(by="a guess"), "a guess"),
    ],
)
def test_words(origin, words):
    assert str(origin) == words
    assert str(from_words(words)) == words


def test_words__a_long_list_is_cut_with_a_mark():
    words = str(Origin("predicted", "", ("zero-wait e1",) * 50))
    assert words.endswith("zero-wait e1; ...")
    assert len(words) <= 400


def test_corrected__no_effect_precedes_its_cause():
    assert ZERO_WAIT.corrected("hand") == Origin("predicted", "corrected by hand", ("zero-wait e1",), False)
    assert OFFSETS.corrected("hand").kind == "corrected"


@pytest.mark.parametrize(
    ("words", "reversing"),
    [
        ("measured", False),
        ("zero-wait e1", False),
        ("predicted under speed rank:0=2", False),
        ("predicted under zero-wait e1", True),
        ("predicted under speed rank:0=2; zero-time all", True),
        ("predicted under scale zero-wait x=0.5", False),
    ],
)
def test_from_words__only_a_prediction_that_zeroed_something(words, reversing):
    """Not a timeline whose maker, or region, is called so."""
    assert from_words(words).effects_may_precede_causes is reversing


def test_from_words__a_corrected_prediction():
    assert from_words("predicted under speed rank:0=2; zero-wait e1, corrected by hand") == Origin(
        "predicted", "corrected by hand", ("speed rank:0=2", "zero-wait e1"), effects_may_precede_causes=False
    )


texts = st.text(max_size=8)
origins = st.builds(Origin, st.sampled_from(["measured", "corrected", "predicted"]), texts, st.lists(texts).map(tuple), st.booleans())


@given(origins)
def test_json__gives_it_back(origin):
    text = to_json(origin)
    assert from_json(text) == origin
    assert all("!" <= letter <= "~" for letter in text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "7", "[]", "{}", '{"kind":"guessed","by":"","hypotheses":[]}', '{"kind":"measured","by":1,"hypotheses":[]}'),
        *('{"kind":"measured","by":"","hypotheses":"a"}', '{"kind":"predicted","by":"","hypotheses":[1]}'),
    ],
)
def test_json__refused(text):
    with pytest.raises(ValueError, match=r"Expecting|no origin"):
        from_json(text)
