"""Whether a recording contradicts the model's S: senders that the model lets go on, and that stood still until their receiver came."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.loggps.model import Model
from perwiz.loggps.pairs import sent
from perwiz.loggps.weigh import synchronous
from perwiz.trace import operations
from perwiz.trace.trace import Timeline, Trace

_LATE = 4
"""A receiver is late if it comes so many times L + o_s after the sender."""
_LEAST = 5
"""Messages that must tell the same."""
_SHARE = 0.9
"""Part of them that must."""


@dataclasses.dataclass(frozen=True)
class Held:
    """Blocking sends of at most S bytes whose receiver came late, from the smallest size on from which nearly all were held."""

    bytes: int
    """That size."""
    messages: int
    """How many of that size and larger stood still until their receiver came."""
    late: int
    """Of so many whose receiver came late."""


def held_senders(trace: Trace, timeline: Timeline, model: Model) -> Held | None:
    """Return what says that S of the model is too large for the machine of a run; None if nothing does.

    Only MPI_Send and MPI_Rsend count: other calls wait for more than one message, or always for their receiver. A sender that came
    earlier than its receiver by more than its costs and is still there when it comes was held; by chance a few are, as where
    processes share a processor, so the messages from some size on must nearly all say so.

        size, largest first         80 80 64 64 64 64  8  8
        held                         1  1  1  1  1  1  0  0
        held of late, size by size      2/2         6/6   6/8    so from 64 bytes on
    """
    table, times = trace.messages, timeline.calls
    blocking = np.isin(trace.calls.op[table.send], (operations.OP["MPI_Send"], operations.OP["MPI_Rsend"])) & (table.receive >= 0)
    rows = np.flatnonzero(blocking & ~synchronous(trace, model))
    sender_came, receiver_came = times.enter[table.send[rows]], times.enter[table.receive[rows]]
    costs = model.letters(sent(trace, model, rows))
    margin = _LATE * (costs.L + costs.o_s) + np.ceil((costs.O_s + costs.G) * table.bytes[rows])
    late = receiver_came - sender_came > margin
    rows, receiver_came = rows[late], receiver_came[late]
    held = times.leave[table.send[rows]] >= receiver_came
    order = np.argsort(-table.bytes[rows], kind="stable")
    size, held_so_far, late_so_far = table.bytes[rows][order], np.cumsum(held[order]), np.arange(1, len(rows) + 1)
    last = np.append(size[1:] != size[:-1], True)[: len(size)]  # all of a size, or none
    enough = np.flatnonzero(last & (held_so_far >= _SHARE * late_so_far) & (held_so_far >= _LEAST))
    return Held(int(size[enough[-1]]), int(held_so_far[enough[-1]]), int(late_so_far[enough[-1]])) if len(enough) else None
