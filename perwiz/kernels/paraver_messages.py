# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Messages of Paraver to the calls that they belong to, by their times."""

from __future__ import annotations

import cython

from perwiz.kernels import paraver

if cython.compiled:
    from cython.cimports.perwiz.kernels.paraver import Message

SENDS = cython.declare(cython.int, paraver.SENDS)
POSTS = cython.declare(cython.int, paraver.POSTS)
RECEIVES = cython.declare(cython.int, paraver.RECEIVES)
COMPLETES = cython.declare(cython.int, paraver.COMPLETES)
SEVERAL = cython.declare(cython.int, paraver.SEVERAL)
NOT_TOLD = cython.declare(cython.int, -1)
MOST_LOOKED = cython.declare(cython.int, 1000)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)
U1 = cython.typedef(cython.uchar)

Placed = cython.struct(bytes=I8, send=I4, receive=I4, done=I4, tag=I4, sender=I4, receiver=I4)


@cython.cfunc
def _call(
    time: I8,
    wanted: cython.int,
    first: I8,
    end: I8,
    enter: cython.const[I8][::1],
    leave: cython.const[I8][::1],
    roles: cython.const[U1][::1],
    taken: U1[::1],
    began: I8,
) -> I8:
    """Return the call that does what is wanted at a time, -1 if there is none.

    The first that began at another, `began`, and ends then, or if they are the same begins then; else one that ends then, else one
    around it. One that is for a single message is taken once.
    """
    low = first
    high = end
    while low < high:
        middle = (low + high) // 2
        if leave[middle] < time:
            low = middle + 1
        else:
            high = middle
    around: I8 = -1
    ends: I8 = -1
    e = low
    while e < end and enter[e] <= time and e - low < MOST_LOOKED:
        free: cython.bint = (roles[e] & wanted) != 0 and ((taken[e] & wanted) == 0 or (roles[e] & SEVERAL) != 0)
        if free and enter[e] == began and (began == time or leave[e] == time):
            return e
        if free and ends < 0 and leave[e] == time:
            ends = e
        if free and around < 0:
            around = e
        e += 1
    return ends if ends >= 0 and began != time else around


def place(
    messages: cython.const[Message][::1],
    first: cython.const[I8][::1],
    enter: cython.const[I8][::1],
    leave: cython.const[I8][::1],
    roles: cython.const[U1][::1],
    taken: U1[::1],
    send: I4[::1],
    receive: I4[::1],
    done: I4[::1],
) -> None:
    """Write the calls that send, receive or post the receive, and complete it, of each message; -1 where there is none.

    `first` is per location, and one more, the first of its calls; `roles` and `taken`, all 0 before, are per call.
    """
    for k in range(len(messages)):
        one, its, posted = messages[k].sender, messages[k].receiver, messages[k].posted
        e = _call(posted, SENDS, first[one], first[one + 1], enter, leave, roles, taken, posted)
        if e >= 0:
            taken[e] |= SENDS
        send[k] = cython.cast(I4, e)
        came, awaited = messages[k].came, messages[k].awaited
        e = _call(came, RECEIVES, first[its], first[its + 1], enter, leave, roles, taken, awaited)
        if e < 0 or leave[e] != came or not enter[e] <= awaited <= came:
            wait = _call(came, COMPLETES, first[its], first[its + 1], enter, leave, roles, taken, NOT_TOLD)
            post = _call(awaited, POSTS, first[its], first[its + 1], enter, leave, roles, taken, NOT_TOLD)
            if wait >= 0 and post >= 0:
                taken[wait] |= COMPLETES
                taken[post] |= POSTS
                receive[k], done[k] = cython.cast(I4, post), cython.cast(I4, wait)
                continue
        if e >= 0:
            taken[e] |= RECEIVES
        receive[k] = done[k] = cython.cast(I4, e)


def arrange(
    messages: cython.const[Message][::1],
    process: cython.const[I4][::1],
    send: cython.const[I4][::1],
    receive: cython.const[I4][::1],
    done: cython.const[I4][::1],
    begins: I8[::1],
    placed: Placed[::1],
    peer: I4[::1],
    tag: I4[::1],
    comm: I4[::1],
    sent: I8[::1],
    received: I8[::1],
) -> None:
    """Write the messages that have a send and a receive in the order of their sends to `placed`, and to the calls what they tell.

    `begins` has 0 per call, `process` is that of each location; of a call with several messages the last tells the partner, and a send
    before a receive.
    """
    count: I8 = 0
    for k in range(len(messages)):
        if send[k] >= 0 and receive[k] >= 0 and done[k] >= receive[k]:
            begins[send[k]] += 1
    for e in range(len(begins)):
        of_call = begins[e]
        begins[e] = count
        count += of_call
    for k in range(len(messages)):
        if send[k] >= 0 and receive[k] >= 0 and done[k] >= receive[k]:
            n = begins[send[k]]
            begins[send[k]] += 1
            placed[n].send, placed[n].receive, placed[n].done = send[k], receive[k], done[k]
            placed[n].tag, placed[n].bytes = cython.cast(I4, messages[k].tag), messages[k].bytes
            placed[n].sender, placed[n].receiver = process[messages[k].sender], process[messages[k].receiver]
            sent[send[k]] += messages[k].bytes
            received[done[k]] += messages[k].bytes
    for n in range(count):
        e = placed[n].receive
        peer[e], tag[e], comm[e] = placed[n].sender, placed[n].tag, 0
    for n in range(count):
        e = placed[n].send
        peer[e], tag[e], comm[e] = placed[n].receiver, placed[n].tag, 0
