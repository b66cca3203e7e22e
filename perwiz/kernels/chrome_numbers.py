# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Numbers of JSON, in decimals, to whole ones."""

import cython

from perwiz.kernels import chrome

LAST = cython.declare(cython.longlong, 2**61)
NO_NUMBER = cython.declare(cython.longlong, chrome.NO_NUMBER)
MOST_SMALL = cython.declare(cython.longlong, 2**31 - 1)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scaled(text: cython.const[cython.uchar][::1], i: I8, end: I8, shift: I8) -> I8:
    """Return the number from i to `end` times 10 ** shift, what is less than 1 left off; NO_NUMBER for what is none, or beyond 2 ** 61."""
    total: I8 = 0
    digits: I8 = 0
    point: cython.bint = False
    negative: cython.bint = i < end and text[i] == ord("-")
    if negative:
        i += 1
    while i < end and (ord("0") <= text[i] <= ord("9") or (text[i] == ord(".") and not point)):
        if text[i] == ord("."):
            point = True
        else:
            digits += 1
            if point and shift <= 0:
                pass
            elif total > LAST // 10:
                return NO_NUMBER
            else:
                total = total * 10 + (text[i] - ord("0"))
                if point:
                    shift -= 1
        i += 1
    if digits == 0:
        return NO_NUMBER
    if i < end:
        if text[i] != ord("e") and text[i] != ord("E"):
            return NO_NUMBER
        exponent: I8 = _exponent(text, i + 1, end)
        if exponent < -99 or exponent > 99:
            return NO_NUMBER
        shift += exponent
    while shift > 0:
        if total > LAST // 10:
            return NO_NUMBER
        total *= 10
        shift -= 1
    while shift < 0:
        total //= 10
        shift += 1
    return -total if negative else total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exponent(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I8:
    """Return the exponent at i, 100 for one that is none or too large."""
    negative: cython.bint = i < end and text[i] == ord("-")
    if i < end and (negative or text[i] == ord("+")):
        i += 1
    if i == end or end - i > 2:
        return 100
    value: I8 = 0
    while i < end:
        if not ord("0") <= text[i] <= ord("9"):
            return 100
        value = value * 10 + (text[i] - ord("0"))
        i += 1
    return -value if negative else value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def small(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I4:
    """Return the number from i to `end` if it is from 0 to below 2 ** 31, -1 for anything else."""
    number: I8 = scaled(text, i, end, 0)
    return cython.cast(cython.int, number) if 0 <= number <= MOST_SMALL else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count(text: cython.const[cython.uchar][::1], i: I8, end: I8) -> I8:
    """Return the number from i to `end` if it is from 0 on, -1 for anything else."""
    number: I8 = scaled(text, i, end, 0)
    return number if number >= 0 else -1
