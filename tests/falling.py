"""A run worked by hand in which a short wait makes longer ones fall."""

from __future__ import annotations

from build import Builder


def falling():
    """Return a run in which a short wait makes two longer ones fall, and the longest wait is worth nothing (PerWiz paper, 3.1, Fig. 4).

    A message takes o + L = 12 ns; calls do no work, so sending takes no time and receiving ends when the message is there.

        rank 0  computes 100, e0 sends to 1 at 100, computes 10, e1 receives from 1: 110 to 424, waits 314; computes 400, ends at 824
        rank 1  computes 50, e2 receives from 0: 50 to 112, waits 62; computes 300, e3 sends to 2 and e4 to 0 at 412; computes 400: 812
        rank 2  computes 200, e5 receives from 1: 200 to 424, waits 224; computes 410, ends at 834, the makespan

    e2 not waiting: rank 1 sends at 350 and ends at 750, the messages are there at 362, rank 0 ends at 762 and rank 2 at 772.
    e5 not waiting: rank 2 ends at 610, rank 0 still at 824. e1 not waiting: rank 2 still at 834. None: 510, 750, 610.
    """
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.compute(0, 10)
    b.recv(0, 1)
    b.compute(0, 400)
    b.compute(1, 50)
    b.recv(1, 0)
    b.compute(1, 300)
    b.send(1, 2)
    b.send(1, 0)
    b.compute(1, 400)
    b.compute(2, 200)
    b.recv(2, 1)
    b.compute(2, 410)
    return b.trace("falling.alog")
