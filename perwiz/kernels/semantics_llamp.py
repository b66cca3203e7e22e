# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The longest path through a schedule, as LLAMP has it: nothing shares anything."""

from __future__ import annotations

import cython

from perwiz.kernels import goal_lines

if cython.compiled:
    from cython.cimports.perwiz.kernels.semantics_events import Events
else:
    from perwiz.kernels.semantics_events import Events

_SEND = cython.declare(cython.int, goal_lines.SEND)
_CALC = cython.declare(cython.int, goal_lines.CALC)
_NONE = cython.declare(cython.int, -1)


def longest(run: Events, partner: cython.const[cython.int][::1], end: cython.longlong[::1]) -> None:
    """Leave in `end` of each rank, which comes with 0, when the last computation that nothing needs is done, ns.

    `partner` names the receive of a message and the message of a receive, -1 if there is none; a receive needs its message, beside what
    other operations it needs. Of a receive, `busy` is what it takes behind both.
    """
    for op in range(run.count):
        if run.ops[op].needs == 0:
            run.ready[run.readied] = op
            run.readied += 1
    at: cython.Py_ssize_t = 0
    while at < run.readied:
        k: cython.Py_ssize_t = run.ready[at]
        at += 1
        time = run.ops[k].since + run.ops[k].busy
        other: cython.int = _NONE
        if run.ops[k].kind != _CALC:
            other = partner[k]
        elif run.ops[k].first_done == run.ops[k].end_done:
            end[run.ops[k].rank] = max(end[run.ops[k].rank], time)
        if run.ops[k].kind == _SEND and other != _NONE:
            run.ops[other].since = max(run.ops[other].since, run.ops[k].since + run.ops[k].flight)
            run.ops[other].needs -= 1
            if run.ops[other].needs == 0:
                run.ready[run.readied] = other
                run.readied += 1
            if run.ops[k].waits and run.ops[other].waits:
                continue
        elif run.ops[k].kind != _SEND and other != _NONE and run.ops[k].waits and run.ops[other].waits:
            run.finish(other, time)
        run.finish(k, time)
