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


def rounds(
    rank: cython.const[cython.int][::1],
    comm: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    members: cython.const[cython.int][:, ::1],
    seen: cython.int[:, ::1],
    step: cython.int[::1],
    place: cython.int[::1],
) -> None:
    """Write, per collective call, how many on its communicator the rank made before it, and its rank there; -1 if it is no member.

    Calls of one rank come one behind the other. `members[:, first[r]:first[r + 1]]` are the communicators of rank r, and its rank in each.
    `seen` has four cells per communicator, the first -2, the others 0; the last will tell the most calls of any rank.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.int
    last: cython.int = -2
    for i in range(len(rank)):
        if rank[i] != last:
            last = rank[i]
            k = first[last] if last >= 0 else 0
            while last >= 0 and k < first[last + 1]:
                c = members[0, k]
                if seen[0, c] != last:
                    seen[0, c] = last
                    seen[1, c] = 0
                    seen[2, c] = members[1, k]
                k += 1
        c = comm[i]
        place[i] = seen[2, c] if seen[0, c] == last else -1
        step[i] = seen[1, c]
        seen[1, c] += 1
        if seen[1, c] > seen[3, c]:
            seen[3, c] = seen[1, c]
