# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Labels of GOAL text to the rows of their operations: a table by rank and word, of places in the text."""

import cython

I8 = cython.typedef(cython.longlong)

_LOW = cython.declare(I8, 2**50 - 1)
_SPREAD = cython.declare(I8, 1640531527)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _in_word(c: cython.uchar) -> cython.bint:
    return ord("a") <= c <= ord("z") or ord("A") <= c <= ord("Z") or ord("0") <= c <= ord("9") or c == ord("_")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _home(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, rank: cython.int) -> I8:
    """Return where a label of a rank is looked for first: those of one stem whose numbers follow each other stand side by side."""
    stem: I8 = (cython.cast(cython.longlong, rank) * _SPREAD) & _LOW
    number: I8 = 0
    while _in_word(text[i]):
        if ord("0") <= text[i] <= ord("9"):
            number = ((number & _LOW) * 10 + cython.cast(cython.longlong, text[i]) - ord("0")) & _LOW
        else:
            stem = ((stem ^ number) * 1021 + cython.cast(cython.longlong, text[i])) & _LOW
            number = 0
        i += 1
    return (stem ^ (stem >> 17)) + number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _same(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.bint:
    """Return whether the words at i and k are the same."""
    while _in_word(text[i]):
        if text[i] != text[k]:
            return False
        i += 1
        k += 1
    return not _in_word(text[k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slot(
    text: cython.const[cython.uchar][::1],
    place: cython.const[I8][::1],
    rank: cython.const[cython.int][::1],
    slots: cython.const[cython.int][::1],
    word: cython.Py_ssize_t,
    of: cython.int,
) -> cython.Py_ssize_t:
    """Return the slot that has the label at `word` of a rank, or the free one that it is to have.

    Where one is another's, the next lies far away, for beside it the run of the other goes on; that way all are come by once.
    """
    k: cython.Py_ssize_t = _home(text, word, of) & (len(slots) - 1)
    while slots[k] >= 0 and not (rank[slots[k]] == of and _same(text, place[slots[k]], word)):
        k = (k * 1021 + 1) & (len(slots) - 1)
    return k


def number(
    text: cython.const[cython.uchar][::1],
    place: cython.const[I8][::1],
    rank: cython.const[cython.int][::1],
    slots: cython.int[::1],
) -> int:
    """Put the rows whose label is at `place` (-1: none) into `slots`, which come as -1, more than there are rows and a power of two.

    Return the first row whose label its rank has already, -1 if there is none.
    """
    twice: cython.Py_ssize_t = -1
    with cython.nogil:
        for row in range(len(place)):
            if place[row] < 0:
                continue
            k = _slot(text, place, rank, slots, place[row], rank[row])
            if slots[k] >= 0:
                twice = row
                break
            slots[k] = row
    return twice


def find(
    text: cython.const[cython.uchar][::1],
    place: cython.const[I8][::1],
    rank: cython.const[cython.int][::1],
    slots: cython.const[cython.int][::1],
    wanted: cython.const[I8][::1],
    of: cython.const[cython.int][::1],
    out: cython.int[::1],
) -> None:
    """Write to `out` the row of each label, by place of a word and rank, -1 where there is none."""
    with cython.nogil:
        for i in range(len(wanted)):
            out[i] = slots[_slot(text, place, rank, slots, wanted[i], of[i])]
