# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Calls of Paraver, as they come in the file, to columns in which those of a location stand together."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import paraver

if cython.compiled:
    from cython.cimports.perwiz.kernels.paraver import Made

MORE = np.dtype(
    [(name, paraver.MADE[name]) for name in ("sent", "comm", "region", "caller", "line", "stream", "bits", "level", "line_level")],
    align=True,
)
"""What a call of Paraver has beside what every call has, and the bytes it sent or the event it names, of a routine of devices."""

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)
U2 = cython.typedef(cython.ushort)

More = cython.struct(sent=I8, comm=I8, region=I4, caller=I4, line=I4, stream=U2, bits=U1, level=U1, line_level=U1)


def spread(
    made: cython.const[Made][::1],
    row: cython.const[I4][::1],
    following: I8[::1],
    new: I4[::1],
    more: More[::1],
    location: I4[::1],
    op: U2[::1],
    enter: I8[::1],
    leave: I8[::1],
    sent: I8[::1],
    received: I8[::1],
) -> None:
    """Write each call behind those of its location that came before; `new` is where it stands.

    `row` is the number of each location, `following` where its next call belongs.
    """
    for k in range(len(made)):
        place = row[made[k].location]
        n = following[place]
        following[place] += 1
        new[k] = cython.cast(I4, n)
        location[n], op[n], enter[n], leave[n] = place, made[k].op, made[k].enter, made[k].leave
        sent[n], received[n] = made[k].sent, made[k].received
        more[n].sent = made[k].sent
        more[n].comm, more[n].region, more[n].caller, more[n].line = made[k].comm, made[k].region, made[k].caller, made[k].line
        more[n].stream, more[n].bits, more[n].level, more[n].line_level = made[k].stream, made[k].bits, made[k].level, made[k].line_level
