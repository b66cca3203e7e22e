# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""GOAL text to rows, one per operation or dependence."""

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
ROW = np.dtype(
    [("kind", "i4"), ("rank", "i4"), *((name, "i8") for name in ("peer", "tag", "amount", "cpu", "nic", "label", "other", "place"))]
)
"""A statement: SEND, RECV and CALC as in binary files, REQUIRES and IREQUIRES, or RANK that opens a block of `amount`. Labels are
the places of their words, -1 none; of a dependence `label` needs `other`. A peer or tag of -2 is any."""
Scan = cython.struct(at=I8, end=I8, rank=cython.int, wanted=cython.int, ranks=I8)
SCAN = np.dtype([("at", "i8"), ("end", "i8"), ("rank", "i4"), ("wanted", "i4"), ("ranks", "i8")])
"""Where reading goes on, the line end where it is to end, the rank whose block is open or -1, what had to stand at `at` (0: nothing is
wrong), and num_ranks, -1 unknown."""

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


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _letter(c: cython.uchar) -> cython.bint:
    return ord("a") <= c | ord(" ") <= ord("z") or c == ord("_")


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _digit(c: cython.uchar) -> cython.bint:
    return ord("0") <= c <= ord("9")


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _past(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the first place from i on that is no blank, nor the end of a line in a comment; -1 - k if a comment at k has no end."""
    if text[i] == ord(" "):
        i += 1
    if text[i] > ord("/"):
        return i
    return _past_all(text, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _past_all(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the same, whatever stands there."""
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
                    return -1 - first
                i += 1
            i += 2
        else:
            return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number_end(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the end of the number at i, i if there is none or it is too long."""
    end = i
    while _digit(text[end]):
        end += 1
    return i if end - i > _DIGITS else end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _value(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> I8:
    value: I8 = 0
    while i < end:
        value = value * 10 + (cython.cast(cython.longlong, text[i]) - ord("0"))
        i += 1
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _word_end(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the end of the word at i, i if there is none."""
    if _letter(text[i]) and text[i] != ord("_"):
        while _letter(text[i]) or _digit(text[i]):
            i += 1
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    word: cython.const[cython.uchar][::1],
    k: cython.Py_ssize_t,
) -> cython.bint:
    while i < end:
        if text[i] != word[k]:
            return False
        i += 1
        k += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keyword(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    words: cython.const[cython.uchar][::1],
    first: cython.int,
    last: cython.int,
) -> cython.int:
    """Return which of `words`, as long as KEYWORDS has them, from `first` to `last` is at i up to `end`, 0 if none."""
    if end - i <= _LONGEST:
        for number in range(first, last + 1):
            k: cython.Py_ssize_t = (number - 1) * (_LONGEST + 1)
            if words[k] == text[i] and words[k + end - i] == ord(" ") and _is(text, i, end, words, k):
                return number
    return 0


KEYWORDS = b"".join(word.ljust(10) for word in b"send recv calc requires irequires rank num_ranks to from tag cpu nic b".split())
"""In the order of SEND to BYTES, all as long as the longest and a blank."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wrong(scan: Scan[::1], i: cython.Py_ssize_t, wanted: cython.int) -> cython.Py_ssize_t:
    """Return -1, after noting what had to stand at i, or at -1 - i, where a comment without end begins."""
    scan[0].at = i if i >= 0 else -1 - i
    scan[0].wanted = wanted
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _opening(
    text: cython.const[cython.uchar][::1], scan: Scan[::1], rows: Row[::1], n: cython.Py_ssize_t, i: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return the place behind `0 {`, the rest of what opens a block, or -1."""
    size = rows[n].amount
    while i >= 0 and text[i] == ord("\n") and i < scan[0].end:
        i = _past(text, i + 1)
    if i < 0 or text[i] != ord("{"):
        return _wrong(scan, i, _BRACE)
    scan[0].rank = cython.cast(cython.int, min(size, 2147483647))
    rows[n].rank = scan[0].rank
    return i + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(text: cython.const[cython.uchar][::1], scan: Scan[::1], i: cython.Py_ssize_t, wanted: cython.int) -> cython.Py_ssize_t:
    """Return the end of the number at i, or -1."""
    end = _number_end(text, i) if i >= 0 else i
    return _wrong(scan, i, wanted) if i < 0 or end == i else end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _partner(
    text: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    scan: Scan[::1],
    rows: Row[::1],
    n: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the place behind `b to 1` or `b from 1`, or -1."""
    receives: cython.bint = rows[n].kind == _RECV
    if i < 0 or text[i] != ord("b"):
        return _wrong(scan, i, _BYTE_MARK)
    i = _past(text, i + 1)
    end = _word_end(text, i) if i >= 0 else i
    if i < 0 or _keyword(text, i, end, words, _TO, _FROM) != (_FROM if receives else _TO):
        return _wrong(scan, i, _DIRECTION)
    i = _past(text, end)
    if i >= 0 and receives and _is_any(text, i):
        rows[n].peer = _ANY
        return _past(text, i + 2)
    end = _number(text, scan, i, _PEER)
    if end < 0:
        return -1
    rows[n].peer = _value(text, i, end)
    return _past(text, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_any(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.bint:
    return text[i] == ord("-") and text[i + 1] == ord("1") and not _digit(text[i + 2])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _options(
    text: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    scan: Scan[::1],
    rows: Row[::1],
    n: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the place behind `tag 5 cpu 1 nic 1`, or -1."""
    while i >= 0 and _letter(text[i]):
        end = _word_end(text, i)
        word = _keyword(text, i, end, words, _TAG, _NIC)
        if word == 0 or (word == _TAG and rows[n].kind == _CALC):
            return _wrong(scan, i, _OPTION)
        i = _past(text, end)
        if i >= 0 and word == _TAG and _is_any(text, i):
            rows[n].tag = _ANY
            i = _past(text, i + 2)
            continue
        end = _number(text, scan, i, _NUMBER)
        if end < 0:
            return -1
        value = _value(text, i, end)
        if word == _TAG:
            rows[n].tag = value
        elif word == _CPU:
            rows[n].cpu = value
        else:
            rows[n].nic = value
        i = _past(text, end)
    return i if i >= 0 else _wrong(scan, i, _COMMENT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _operation(
    text: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    scan: Scan[::1],
    rows: Row[::1],
    n: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the place behind an operation whose size is at i, or -1."""
    end = _number(text, scan, i, _NUMBER)
    if end < 0:
        return -1
    rows[n].amount = _value(text, i, end)
    i = _past(text, end)
    if rows[n].kind != _CALC:
        i = _partner(text, words, scan, rows, n, i)
        if i == -1:
            return -1
    return _options(text, words, scan, rows, n, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _labelled(
    text: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    scan: Scan[::1],
    rows: Row[::1],
    n: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the place behind the keyword that follows the label at i, or -1."""
    rows[n].label = i
    i = _past(text, _word_end(text, i))
    colon: cython.bint = i >= 0 and text[i] == ord(":")
    if colon:
        i = _past(text, i + 1)
    if i < 0:
        return _wrong(scan, i, _COMMENT)
    end = _word_end(text, i)
    kind = _keyword(text, i, end, words, _SEND, _IREQUIRES)
    if kind < _SEND:
        return _wrong(scan, i, _STATEMENT)
    rows[n].kind = kind
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _statement(
    text: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    scan: Scan[::1],
    rows: Row[::1],
    n: cython.Py_ssize_t,
    i: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the place behind the statement at i, or -1."""
    end = _word_end(text, i)
    if end == i:
        return _wrong(scan, i, _STATEMENT)
    kind = 0 if text[i] == ord("l") else _keyword(text, i, end, words, _SEND, _NUM_RANKS)
    rows[n].kind, rows[n].rank, rows[n].place = kind, scan[0].rank, i
    rows[n].label = rows[n].other = rows[n].peer = -1
    rows[n].amount = rows[n].tag = rows[n].cpu = rows[n].nic = 0
    if _RANK <= kind <= _NUM_RANKS:
        if scan[0].rank >= 0:
            return _wrong(scan, i, _CLOSED)
        i = _past(text, end)
        end = _number(text, scan, i, _NUMBER)
        if end < 0:
            return -1
        rows[n].amount = _value(text, i, end)
        if kind == _RANK:
            return _opening(text, scan, rows, n, _past(text, end))
        scan[0].ranks = rows[n].amount
        return end
    if scan[0].rank < 0:
        return _wrong(scan, i, _BLOCK)
    if kind < _SEND or kind > _CALC:
        end = _labelled(text, words, scan, rows, n, i)
        if end < 0:
            return -1
    i = _past(text, end)
    if rows[n].kind <= _CALC:
        i = _operation(text, words, scan, rows, n, i)
    else:
        end = _word_end(text, i) if i >= 0 else i
        if i < 0 or end == i:
            return _wrong(scan, i, _LABEL)
        rows[n].other = i
        i = _past(text, end)
        if i < 0:
            return _wrong(scan, i, _COMMENT)
    if i >= 0 and text[i] != ord("\n") and text[i] != ord("}"):
        return _wrong(scan, i, _OPTION)
    return i


def parse(text: cython.const[cython.uchar][::1], words: cython.const[cython.uchar][::1], scan: Scan[::1], rows: Row[::1]) -> int:
    """Fill `rows` with the statements from `scan[0].at` on and return how many; `text` ends with three line ends, `words` is KEYWORDS.

    At the end, or where something is wrong, `scan[0]` says where; a comment that begins before `scan[0].end` and ends behind it is.
    """
    n: cython.Py_ssize_t = 0
    with cython.nogil:
        i: cython.Py_ssize_t = scan[0].at
        while n < len(rows):
            i = _past(text, i)
            if i < 0 or i > scan[0].end:
                _wrong(scan, i, _COMMENT)
                break
            if text[i] == ord("\n"):
                if i >= scan[0].end:
                    scan[0].at = scan[0].end
                    break
                i += 1
            elif text[i] == ord("}") and scan[0].rank >= 0:
                scan[0].rank = -1
                i += 1
            else:
                i = _statement(text, words, scan, rows, n, i)
                if i < 0:
                    break
                if i > scan[0].end:
                    _wrong(scan, i, _COMMENT)
                    break
                if rows[n].kind != _NUM_RANKS:
                    n += 1
        else:
            scan[0].at = i
    return n
