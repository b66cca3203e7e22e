"""Templates as they are written: fields, optional parts, texts, and no room too little."""

import numpy as np
import pytest

from perwiz.formats.templates import ABSENT, Templates


def fill(templates, kind, *rows):
    return bytes(templates.fill(np.array(kind, "u1"), np.array(rows, "i8").reshape(len(kind), -1)))


def test_fill():
    """Two templates over three columns: a number, a time and a text; one part is left out where there is no number."""
    made = Templates(("n", "t", "s"), ["<%(t)u%(n)[ n=%(n)d%]>", "%(s)s!\n"], [b"no", b"yes, very"])
    assert fill(made, [0, 1, 0], (7, 1_500, 0), (0, 0, 1), (ABSENT, 12, ABSENT)) == b"<1.500 n=7>yes, very!\n<0.012>"


def test_fill__two_optional_parts():
    made = Templates(("a", "b"), ["%(a)[(%(a)d)%]%(b)[[%(b)d]%]."], [])
    cells = [(1, 2), (ABSENT, 2), (1, ABSENT), (ABSENT, ABSENT)]
    assert fill(made, [0] * 4, *cells) == b"(1)[2].[2].(1).."


def test_fill__lists_and_short_times():
    made = Templates(("t", "first", "count"), ["%(t)v%{ @%(first)[ q=%(first,count)l%]%}\n"], [], np.array([4, 50, 6], "i4"))
    assert fill(made, [0, 0], (2_000, 1, 2), (2_001, ABSENT, ABSENT)) == b"2 @ q=50,6\n2.001\n"


@pytest.mark.parametrize("count", [1, 100])
def test_fill__room_for_the_longest(count):
    made = Templates(("n", "t", "s"), ["%(n)d%(t)u%(s)s"], [b"x" * 1000])
    wanted = b"-4611686018427387903" + b"4611686018427387.904" + b"x" * 1000
    assert fill(made, [0] * count, *[(-(2**62) + 1, 2**62, 0)] * count) == wanted * count


def test_fill__unknown_column():
    with pytest.raises(KeyError):
        Templates(("n",), ["%(m)d"], [])
