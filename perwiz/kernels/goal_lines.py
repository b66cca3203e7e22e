# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""GOAL text to rows, one per operation or dependence, and labels to the rows of their operations."""

import cython
import numpy as np

I8 = cython.typedef(cython.longlong)

Row = cython.struct(
    kind=cython.int,
    rank=cython.int,
    peer=I8,
    tag=I8,
    amount=I8,
    cpu=I8,
    nic=I8,
    label=I8,
    other=I8,
    place=I8,
)
ROW = np.dtype([("kind", "i4"), ("rank", "i4"), *((name, "i8") for name in ("peer", "tag", "amount", "cpu", "nic", "label", "other", "place"))])
"""A statement: SEND, RECV and CALC as in binary files, REQUIRES and IREQUIRES, or RANK that opens a block of `amount`. Labels are the places
of their words, -1 none; of a dependence `label` needs `other`. A peer or tag of -2 is any."""
Scan = cython.struct(at=I8, rank=cython.int, wanted=cython.int, ranks=I8)
SCAN = np.dtype([("at", "i8"), ("rank", "i4"), ("wanted", "i4"), ("ranks", "i8")])
"""Where reading goes on, the rank whose block is open or -1, what had to stand at `at` (0: nothing is wrong), and num_ranks, -1 unknown."""

SEND, RECV, CALC, REQUIRES, IREQUIRES, RANK, NUM_RANKS, TO, FROM, TAG, CPU, NIC, BYTES = range(1, 14)
STATEMENT, NUMBER, BYTE_MARK, DIRECTION, PEER, OPTION, LABEL, BRACE, BLOCK, CLOSED, COMMENT = range(1, 12)
"""What must stand somewhere."""

_SEND = cython.declare(cython.int, SEND)
_RECV = cython.declare(cython.int, RECV)
_CALC = cython.declare(cython.int, CALC)
_REQUIRES = cython.declare(cython.int, REQUIRES)
_IREQUIRES = cython.declare(cython.int, IREQUIRES)
_RANK = cython.declare(cython.int, RANK)
_NUM_RANKS = cython.declare(cython.int, NUM_RANKS)
_TO = cython.declare(cython.int, TO)
_FROM = cython.declare(cython.int, FROM)
_TAG = cython.declare(cython.int, TAG)
_CPU = cython.declare(cython.int, CPU)
_NIC = cython.declare(cython.int, NIC)
_STATEMENT = cython.declare(cython.int, STATEMENT)
_NUMBER = cython.declare(cython.int, NUMBER)
_BYTE_MARK = cython.declare(cython.int, BYTE_MARK)
_DIRECTION = cython.declare(cython.int, DIRECTION)
_PEER = cython.declare(cython.int, PEER)
_OPTION = cython.declare(cython.int, OPTION)
_LABEL = cython.declare(cython.int, LABEL)
_BRACE = cython.declare(cython.int, BRACE)
_BLOCK = cython.declare(cython.int, BLOCK)
_CLOSED = cython.declare(cython.int, CLOSED)
_COMMENT = cython.declare(cython.int, COMMENT)
_ANY = cython.declare(cython.int, -2)
_DIGITS = cython.declare(cython.int, 18)
_LONGEST = cython.declare(cython.int, 9)
_HASH = cython.declare(I8, 2**61 - 1)
_LOW = cython.declare(I8, 2**50 - 1)


@cython.cfunc
@cython.inline
def _letter(c: cython.uchar) -> cython.bint:
    return ord("a") <= c <= ord("z") or ord("A") <= c <= ord("Z") or c == ord("_")


@cython.cfunc
@cython.inline
def _digit(c: cython.uchar) -> cython.bint:
    return ord("0") <= c <= ord("9")


@cython.cfunc
@cython.exceptval(check=False)
def _past(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the first place from i on that is no blank, nor the end of a line in a comment; of a comment without end its negative."""
    while True:
        c = text[i]
        if c == ord(" ") or c == ord("\t") or c == ord("\r"):
            i += 1
        elif c == ord("/") and text[i + 1] == ord("/"):
            while text[i] != ord("\n"):
                i += 1
        elif c == ord("/") and text[i + 1] == ord("*"):
            first = i
            i += 2
            while not (text[i] == ord("*") and text[i + 1] == ord("/")):
                if i + 2 >= len(text):
                    return -first
                i += 1
            i += 2
        else:
            return i


@cython.cfunc
@cython.exceptval(check=False)
def _number_end(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the end of the number at i, i if there is none or it is too long."""
    end = i
    while _digit(text[end]):
        end += 1
    return i if end - i > _DIGITS else end


@cython.cfunc
@cython.exceptval(check=False)
def _value(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> I8:
    value: I8 = 0
    while i < end:
        value = value * 10 + (text[i] - ord("0"))
        i += 1
    return value


@cython.cfunc
@cython.exceptval(check=False)
def _word_end(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the end of the word at i, i if there is none."""
    if _letter(text[i]) and text[i] != ord("_"):
        while _letter(text[i]) or _digit(text[i]):
            i += 1
    return i


@cython.cfunc
@cython.exceptval(check=False)
def _is(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, word: cython.const[cython.uchar][::1], k: cython.Py_ssize_t) -> cython.bint:
    while word[k] != ord(" "):
        if text[i] != word[k]:
            return False
        i += 1
        k += 1
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _keyword(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t, words: cython.const[cython.uchar][::1]
) -> cython.int:
    """Return which of `words` (each followed by a blank) is at i up to `end`, from 1 on, 0 if none: none begins with l, as labels mostly do."""
    k: cython.Py_ssize_t = 0
    number: cython.int = 1
    if text[i] == ord("l") or end - i > _LONGEST:
        return 0
    while k < len(words):
        first = k
        while words[k] != ord(" "):
            k += 1
        if k - first == end - i and words[first] == text[i] and _is(text, i, words, first):
            return number
        number += 1
        k += 1
    return 0


KEYWORDS = b"send recv calc requires irequires rank num_ranks to from tag cpu nic b "
"""In the order of SEND to BYTES, each with a blank behind it."""


def parse(text: cython.const[cython.uchar][::1], words: cython.const[cython.uchar][::1], scan: Scan[::1], rows: Row[::1]) -> int:
    """Fill `rows` with the statements from `scan[0].at` on and return how many; `text` ends with three line ends, `words` is KEYWORDS.

    At the end of the text, or where something is wrong, `scan[0]` says where.
    """
    i: cython.Py_ssize_t = scan[0].at
    n: cython.Py_ssize_t = 0
    wanted: cython.int = 0
    last: cython.Py_ssize_t = len(text) - 3
    while n < len(rows) and wanted == 0:
        i = _past(text, i)
        if i < 0:
            i, wanted = -i, _COMMENT
            break
        if text[i] == ord("\n"):
            if i >= last:
                i = last
                break
            i += 1
            continue
        if text[i] == ord("}"):
            if scan[0].rank < 0:
                wanted = _STATEMENT
                break
            scan[0].rank = -1
            i += 1
            continue
        place = i
        end = _word_end(text, i)
        if end == i:
            wanted = _STATEMENT
            break
        kind = _keyword(text, i, end, words)
        label: I8 = -1
        other: I8 = -1
        size: I8 = 0
        peer: I8 = -1
        tag: I8 = 0
        cpu: I8 = 0
        nic: I8 = 0
        if kind == _NUM_RANKS or kind == _RANK:
            if scan[0].rank >= 0:
                wanted = _CLOSED
                break
            i = _past(text, end)
            end = _number_end(text, i) if i >= 0 else i
            if i < 0 or end == i:
                i = max(i, -i)
                wanted = _NUMBER
                break
            size = _value(text, i, end)
            if kind == _NUM_RANKS:
                scan[0].ranks = size
                i = end
                continue
            i = _past(text, end)
            while i >= 0 and text[i] == ord("\n") and i < last:
                i = _past(text, i + 1)
            if i < 0 or text[i] != ord("{"):
                i = max(i, -i)
                wanted = _BRACE
                break
            i += 1
            scan[0].rank = cython.cast(cython.int, min(size, 2147483647))
        else:
            if scan[0].rank < 0:
                wanted = _BLOCK
                break
            if kind < _SEND or kind > _CALC:
                label = i
                i = _past(text, end)
                if i >= 0 and text[i] == ord(":"):
                    i = _past(text, i + 1)
                if i < 0:
                    i, wanted = -i, _COMMENT
                    break
                end = _word_end(text, i)
                kind = _keyword(text, i, end, words)
                if end == i or kind < _SEND or kind > _IREQUIRES:
                    wanted = _STATEMENT
                    break
            i = _past(text, end)
            if kind == _REQUIRES or kind == _IREQUIRES:
                end = _word_end(text, i) if i >= 0 else i
                if i < 0 or end == i or label < 0:
                    i = max(i, -i)
                    wanted = _LABEL
                    break
                other = i
                i = _past(text, end)
            else:
                end = _number_end(text, i) if i >= 0 else i
                if i < 0 or end == i:
                    i = max(i, -i)
                    wanted = _NUMBER
                    break
                size = _value(text, i, end)
                i = _past(text, end)
                if kind != _CALC:
                    if i < 0 or text[i] != ord("b"):
                        i = max(i, -i)
                        wanted = _BYTE_MARK
                        break
                    i = _past(text, i + 1)
                    end = _word_end(text, i) if i >= 0 else i
                    word = _keyword(text, i, end, words) if i >= 0 else 0
                    if (kind == _SEND and word != _TO) or (kind == _RECV and word != _FROM):
                        i = max(i, -i)
                        wanted = _DIRECTION
                        break
                    i = _past(text, end)
                    if i >= 0 and kind == _RECV and text[i] == ord("-") and text[i + 1] == ord("1") and not _digit(text[i + 2]):
                        peer = _ANY
                        end = i + 2
                    else:
                        end = _number_end(text, i) if i >= 0 else i
                        if i < 0 or end == i:
                            i = max(i, -i)
                            wanted = _PEER
                            break
                        peer = _value(text, i, end)
                    i = _past(text, end)
                while i >= 0 and _letter(text[i]):
                    end = _word_end(text, i)
                    word = _keyword(text, i, end, words)
                    if word < _TAG or word > _NIC or (word == _TAG and kind == _CALC):
                        wanted = _OPTION
                        break
                    i = _past(text, end)
                    if i >= 0 and word == _TAG and text[i] == ord("-") and text[i + 1] == ord("1") and not _digit(text[i + 2]):
                        tag = _ANY
                        end = i + 2
                    else:
                        end = _number_end(text, i) if i >= 0 else i
                        if i < 0 or end == i:
                            i = max(i, -i)
                            wanted = _NUMBER
                            break
                        if word == _TAG:
                            tag = _value(text, i, end)
                        elif word == _CPU:
                            cpu = _value(text, i, end)
                        else:
                            nic = _value(text, i, end)
                    i = _past(text, end)
                if wanted != 0:
                    break
            if i < 0:
                i, wanted = -i, _COMMENT
                break
            if text[i] != ord("\n") and text[i] != ord("}"):
                wanted = _OPTION
                break
        rows[n].kind = kind
        rows[n].rank = scan[0].rank
        rows[n].peer = peer
        rows[n].tag = tag
        rows[n].amount = size
        rows[n].cpu = cpu
        rows[n].nic = nic
        rows[n].label = label
        rows[n].other = other
        rows[n].place = place
        n += 1
    scan[0].at = i
    scan[0].wanted = wanted
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _hash(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, rank: cython.int) -> I8:
    value: I8 = rank
    while _letter(text[i]) or _digit(text[i]):
        value = ((value & _LOW) * 1021 + text[i]) & _HASH
        i += 1
    return value ^ (value >> 17)


@cython.cfunc
@cython.exceptval(check=False)
def _same(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.bint:
    """Return whether the words at i and k are the same."""
    while _letter(text[i]) or _digit(text[i]):
        if text[i] != text[k]:
            return False
        i += 1
        k += 1
    return not (_letter(text[k]) or _digit(text[k]))


@cython.cfunc
@cython.exceptval(check=False)
def _slot(
    text: cython.const[cython.uchar][::1],
    place: cython.const[I8][::1],
    rank: cython.const[cython.int][::1],
    slots: cython.const[cython.int][::1],
    word: cython.Py_ssize_t,
    of: cython.int,
) -> cython.Py_ssize_t:
    """Return the slot that has the label at `word` of a rank, or the free one that it is to have."""
    k: cython.Py_ssize_t = _hash(text, word, of) & (len(slots) - 1)
    while slots[k] >= 0 and not (rank[slots[k]] == of and _same(text, place[slots[k]], word)):
        k = (k + 1) & (len(slots) - 1)
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
    for row in range(len(place)):
        if place[row] < 0:
            continue
        k = _slot(text, place, rank, slots, place[row], rank[row])
        if slots[k] >= 0:
            return row
        slots[k] = row
    return -1


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
    for i in range(len(wanted)):
        out[i] = slots[_slot(text, place, rank, slots, wanted[i], of[i])]
