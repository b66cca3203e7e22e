"""What repeats back to back: worked by hand, and against a search of all squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perwiz.trace.parts.fold import fold


def folded(*lanes, late=""):
    """Return (text of the first word, where each begins, end, rest) of what repeats in some texts, in the order in which it was folded."""
    text = "".join(lanes)
    lane = np.repeat(np.arange(len(lanes), dtype="i4"), [len(one) for one in lanes])
    found = fold(np.array([*map(ord, text)], "i4"), lane, np.array([letter in late for letter in text], bool))
    out = []
    for row, (first, end) in enumerate(zip(found.first[:-1].tolist(), found.first[1:].tolist(), strict=True)):
        begin = found.begin[first:end].tolist()
        out.append((text[begin[0] : [*begin, int(found.end[row])][1]], begin, int(found.end[row]), int(found.rest[row])))
    return out


@pytest.mark.parametrize(
    ("lanes", "late", "expected"),
    [
        ([""], "", []),
        (["abc"], "", []),
        (["abbcabcabbbc"], "", [("b", [1, 2], 3, 3), ("b", [8, 9, 10], 11, 11), ("abbc", [0, 4, 7], 12, 12)]),
        (["cabcabcab"], "", [("cab", [0, 3, 6], 9, 9)]),
        (["cabcabcab"], "c", [("cab", [0, 3, 6], 9, 9)]),
        (["cabcabcabc"], "c", [("abc", [1, 4, 7], 10, 10)]),
        (["xabcdabcdab"], "", [("abcd", [1, 5], 9, 11)]),
        (["ab", "ab"], "", []),
        (["aba", "baba"], "", [("ba", [3, 5], 7, 7)]),
        (["ababxabyabab"], "", [("ab", [0, 2], 4, 4), ("ab", [5], 7, 7), ("ab", [8, 10], 12, 12)]),
    ],
    ids=["nothing", "once", "inside another", "as early as it can", "too late", "late", "rest", "two lanes", "never across", "one alone"],
)
def test_fold(lanes, late, expected):
    assert folded(*lanes, late=late) == expected


def left(found, length):
    """Return what is left of a sequence when each stretch that repeats is one place: pairs of (kind, word or place)."""
    out = list(range(length))
    for row in range(len(found.word)):
        begin, end = int(found.begin[found.first[row]]), int(found.end[row])
        out[begin] = ("word", int(found.word[row]))
        out[begin + 1 : end] = [None] * (end - begin - 1)
    return [one for one in out if one is not None]


texts = st.one_of(
    st.lists(st.integers(0, 2), max_size=40),
    st.builds(lambda body, more, times: (body * times + more) * times, *[st.lists(st.integers(0, 3), max_size=5)] * 2, st.integers(1, 6)),
)


@given(texts, st.integers(0, 40), st.sets(st.integers(0, 3), max_size=2))
@example([0, 1, 2, 0, 2, 1] * 4, 40, set())
def test_law__no_two_words_in_a_row_are_left(text, border, late):
    """Folded letters stand for the same wherever they are the same, and of what is left nothing repeats within a lane."""
    lane = (np.arange(len(text)) >= border).astype("i4")
    found = fold(np.array(text, "i4"), lane, np.isin(text, list(late)))
    rest = [one if isinstance(one, tuple) else ("letter", text[one], one) for one in left(found, len(text))]
    sides: list[list[tuple]] = [[], []]
    at = 0
    ends = {int(found.begin[found.first[row]]): int(found.end[row]) for row in range(len(found.word))}
    for one in rest:
        single = ("word", one[1]) if one[0] == "letter" or one[1] in text else one
        sides[int(lane[at])].append(single)
        at = ends.get(at, at + 1)
    for side in sides:
        halves = [(side[k : k + p], side[k + p : k + 2 * p]) for p in range(1, len(side) // 2 + 1) for k in range(len(side) - 2 * p + 1)]
        assert [one for one, other in halves if one == other] == []


@given(st.permutations(range(6)), st.integers(1, 6), st.integers(2, 9))
def test_law__a_word_without_repetitions_is_found_as_often_as_it_stands(letters, length, times):
    word = "".join("abcdef"[k] for k in letters[:length])
    assert folded(f"x{word * times}y") == [(word, [1 + k * length for k in range(times)], 1 + times * length, 1 + times * length)]
