# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Operations of a schedule on streams, each in a fixed order that waits for nothing which an operation behind the wait does not need.

A stream is cut into segments by what it awaits; those of a stream are linked, and the first awaits nothing. An operation goes to the last
segment all of whose waits it needs, itself or through others on the stream, and opens segments behind it for what else it awaits. Where
others wait there already for something that it does not need, it opens a stream of its own.
"""

import cython

from perwiz.kernels import goal_lines

_CALC = cython.declare(cython.int, goal_lines.CALC)
_NONE = cython.declare(cython.int, -1)
_TRIES = cython.declare(cython.int, 8)
"""Streams of needed operations that are looked at."""


@cython.cfunc
@cython.exceptval(check=False)
def _reached(
    following: cython.const[cython.int][::1],
    need: cython.const[cython.int][::1],
    mark: cython.const[cython.int][::1],
    op: cython.int,
    s: cython.int,
) -> cython.int:
    """Return the last segment from s on that is awaited by what `op` needs too."""
    while following[s] != _NONE and mark[need[following[s]]] == op:
        s = following[s]
    return s


@cython.cfunc
@cython.exceptval(check=False)
def _open(
    op: cython.int,
    s: cython.int,
    kind: cython.const[cython.uchar][::1],
    first: cython.const[cython.int][::1],
    on: cython.const[cython.int][::1],
    starts: cython.const[cython.uchar][::1],
    segment: cython.const[cython.int][::1],
    done: cython.const[cython.int][::1],
    stream: cython.const[cython.int][::1],
    index: cython.const[cython.int][::1],
) -> cython.int:
    """Return the first dependence of `op`, in segment s, that is still to be awaited, -1 if there is none."""
    for k in range(first[op], first[op + 1]):
        r = on[k]
        of = segment[r]
        if kind[r] != _CALC and not starts[k] and done[r] != _NONE:
            of = done[r]
        if stream[of] != stream[s] or index[of] > index[s]:
            return k
        if kind[r] != _CALC and not starts[k] and done[r] == _NONE:
            return k
    return _NONE


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    following: cython.int[::1],
    need: cython.int[::1],
    opener: cython.int[::1],
    stream: cython.int[::1],
    index: cython.int[::1],
    s: cython.int,
    number: cython.int,
) -> cython.void:
    """Let a segment be the first of a stream: it awaits nothing."""
    following[s] = need[s] = opener[s] = _NONE
    stream[s] = number
    index[s] = 0


@cython.cfunc
@cython.exceptval(check=False)
def _follow(following: cython.int[::1], stream: cython.int[::1], index: cython.int[::1], s: cython.int, new: cython.int) -> cython.void:
    """Let a new segment follow one."""
    following[s] = new
    following[new] = _NONE
    stream[new] = stream[s]
    index[new] = index[s] + 1


def place(
    processors: cython.int,
    kind: cython.const[cython.uchar][::1],
    home: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    on: cython.const[cython.int][::1],
    starts: cython.const[cython.uchar][::1],
    mark: cython.int[::1],
    segment: cython.int[::1],
    done: cython.int[::1],
    following: cython.int[::1],
    need: cython.int[::1],
    opener: cython.int[::1],
    stream: cython.int[::1],
    index: cython.int[::1],
    owner: cython.int[::1],
) -> int:
    """Place the operations, in an order in which those that one needs (on[first[op]:first[op + 1]], `starts`: their start) come before.

    `home` is the processor of each, numbered from 0; the first segments are their first streams. Write per operation its `segment` and
    the one that awaits its completion (`done`, -1 none); per segment `following`, what it awaits (`need`, twice the operation, plus 1 for
    its start), `opener`, `stream`, and its `index` there, -1 where there is none; per stream its `owner`, a processor. Those with a row per
    operation and `mark`, two, come as -1; others have room for processors, dependences and operations. Return the number of segments.
    """
    streams: cython.int = processors
    segments: cython.int = processors
    for p in range(processors):
        owner[p] = cython.cast(cython.int, p)
        _begin(following, need, opener, stream, index, owner[p], owner[p])
    for op in range(len(kind)):
        for k in range(first[op], first[op + 1]):
            mark[2 * on[k] + starts[k]] = cython.cast(cython.int, op)
        chosen: cython.int = _NONE
        missing: cython.int = _NONE
        tries: cython.int = 0
        k = first[op]
        while tries <= _TRIES:
            s: cython.int = home[op]
            if tries > 0:
                while k < first[op + 1] and owner[stream[segment[on[k]]]] != home[op]:
                    k += 1
                if k == first[op + 1]:
                    break
                s = segment[on[k]]
                k += 1
            for j in range(first[op], min(first[op + 1], first[op] + 64)):
                of = segment[on[j]]
                if stream[of] == stream[s] and index[of] > index[s]:
                    s = of
            s = _reached(following, need, mark, cython.cast(cython.int, op), s)
            awaited = _open(cython.cast(cython.int, op), s, kind, first, on, starts, segment, done, stream, index)
            if awaited == _NONE or (following[s] == _NONE and chosen == _NONE):
                chosen = s
                missing = awaited
            if awaited == _NONE:
                break
            tries += 1
        if chosen == _NONE:
            chosen = segments
            segments += 1
            _begin(following, need, opener, stream, index, chosen, streams)
            owner[streams] = home[op]
            streams += 1
            missing = _open(cython.cast(cython.int, op), chosen, kind, first, on, starts, segment, done, stream, index)
        if missing != _NONE:
            for k in range(first[op], first[op + 1]):
                r = on[k]
                of = segment[r]
                ends: cython.bint = kind[r] != _CALC and not starts[k]
                if ends and done[r] != _NONE:
                    of = done[r]
                if stream[of] == stream[chosen] and index[of] <= index[chosen] and not (ends and done[r] == _NONE):
                    continue
                _follow(following, stream, index, chosen, segments)
                chosen = segments
                segments += 1
                need[chosen] = 2 * r + starts[k]
                opener[chosen] = cython.cast(cython.int, op)
                if ends and done[r] == _NONE:
                    done[r] = chosen
        segment[op] = chosen
    return segments
