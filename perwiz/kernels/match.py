# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""First in, first out within numbered channels."""

import cython


def match(
    sent: cython.const[cython.int][::1],
    received: cython.const[cython.int][::1],
    head: cython.int[::1],
    following: cython.int[::1],
    out: cython.int[::1],
) -> None:
    """Write to `out`, per receive, the send it takes: the first one left in its channel, or -1.

    `sent` and `received` hold the channel of each, in order; `head` has a cell per channel, `following` one per send.
    """
    i: cython.Py_ssize_t
    for i in range(len(head)):
        head[i] = -1
    for i in range(len(sent) - 1, -1, -1):
        following[i] = head[sent[i]]
        head[sent[i]] = cython.cast(cython.int, i)
    for i in range(len(received)):
        out[i] = head[received[i]]
        if out[i] >= 0:
            head[received[i]] = following[out[i]]
