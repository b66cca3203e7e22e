"""What the edges of a shape cost under the letters of a model, and how long they are by a measure of no model."""

from __future__ import annotations

import numpy as np

from perwiz.kernels.names import METAHOST, NODE
from perwiz.loggps.algorithms.shape import EXCHANGE, FREE, HELD, LATE, MESSAGE, PASS, POST, RECEIVE, SEND, TAKE
from perwiz.loggps.keys import POSTED
from perwiz.loggps.model import Model, Sent
from perwiz.trace.arrays import F8, I8, U1


def costs(model: Model, kind: I8, size: I8, pairs: U1, flowing: bool = False) -> F8:
    """Return the ns of edges of a shape, float64, by what they cost (MESSAGE to POST), for messages of so many bytes between such pairs.

    A message between processes that wait for each other is as long as any of the model, see `rounds`. What a process has to do that
    waits for nobody leaves out the latency; its link is busy for all bytes that it sends or takes. Where messages move once posted, what
    is late is late by all of it. Where those between nodes are `flowing` through links, these keep whoever takes several of them, and who
    sends several that move once posted; a synchronous one that does keeps its sender until it is there.
    """
    sent = Sent(size, pairs=pairs)
    row, synchronous = model.letters(sent), model.is_synchronous(sent)
    receives, moves = model.receive_work(sent), model.ready(sent)
    message = moves + receives
    wire = np.maximum(size - 1, 0) * row.G
    free = flowing & (pairs >= METAHOST)
    posts, takes = row.o_s + size * row.O_s, row.o_r + size * row.O_r + np.where(free, 0, wire)
    sends = posts + np.where(free & (model.progress == POSTED), 0, wire)
    if flowing and model.progress == POSTED:
        sends = np.where(synchronous, moves, sends)
    passes = posts + row.o_r + size * row.O_r + wire
    held, late, exchanges = model.send_work(sent), np.where(synchronous, receives, takes), message - row.L
    if model.progress == POSTED:
        held, late, exchanges = held + moves, message, message
    else:
        exchanges = np.where(synchronous, receives + row.o_s, exchanges)
    exchanges = np.minimum(exchanges, message)
    by_kind = {MESSAGE: message, HELD: held, SEND: sends, RECEIVE: late, TAKE: takes, EXCHANGE: exchanges, PASS: passes}
    by_kind[LATE], by_kind[POST] = message - exchanges, passes - wire
    out = np.zeros(len(kind))
    for what, ns in by_kind.items():
        out[kind == what] = np.broadcast_to(ns, kind.shape)[kind == what]
    return out


def length(cost: I8, part: F8, pairs: U1) -> F8:
    """Return how long edges are where an overhead, a latency on a node and sending all bytes take 1 each, other latencies 8.

    The same under all models, so that costs are lines in each letter. Nobody is held by a synchronous message.
    """
    messages, overheads = cost == MESSAGE, np.where(np.isin(cost, (MESSAGE, EXCHANGE, PASS)), 2, 1)
    ns = overheads + part + messages * np.where(pairs > NODE, 8, 1)
    return np.where(cost == HELD, -np.inf, np.where(cost == FREE, 0, ns))
