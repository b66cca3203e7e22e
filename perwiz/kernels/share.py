# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Servers that share themselves equally among all that is there: when each is done (processor sharing, in virtual time)."""

import cython


def share(
    server: cython.const[cython.longlong][::1],
    ready: cython.const[cython.longlong][::1],
    work: cython.const[cython.longlong][::1],
    heap: cython.longlong[::1],
    goal: cython.double[::1],
    done: cython.longlong[::1],
) -> None:
    """Write to `done` when each job is done, rounded, that comes to a server when it is `ready` and alone takes `work`.

    Jobs stand by server, then by time. `heap` and `goal` have a cell per job: the jobs that are there, next to be done first, and at
    what share of each job they are done.
    """
    there: cython.Py_ssize_t = 0
    now: cython.double = 0.0
    shared: cython.double = 0.0
    count: cython.Py_ssize_t = len(server)
    for i in range(count + 1):
        while there > 0:
            top = heap[0]
            end: cython.double = now + (goal[top] - shared) * there
            if i < count and server[i] == server[top] and ready[i] < end:
                break
            now = end
            shared = goal[top]
            done[top] = cython.cast(cython.longlong, end + 0.5)
            there -= 1
            _sink(heap, goal, there)
        if i == count:
            break
        if there > 0:
            shared += (ready[i] - now) / there
        else:
            shared = 0.0
        now = ready[i]
        goal[i] = shared + work[i]
        _rise(heap, goal, there, i)
        there += 1


@cython.cfunc
def _rise(heap: cython.longlong[::1], goal: cython.double[::1], place: cython.Py_ssize_t, job: cython.Py_ssize_t) -> cython.void:
    """Put a job into the heap, its last place free."""
    while place > 0 and goal[job] < goal[heap[(place - 1) // 2]]:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = job


@cython.cfunc
def _sink(heap: cython.longlong[::1], goal: cython.double[::1], count: cython.Py_ssize_t) -> cython.void:
    """Take the first job out of a heap, which then has `count`."""
    job = heap[count]
    place: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 1
    while below < count:
        if below + 1 < count and goal[heap[below + 1]] < goal[heap[below]]:
            below += 1
        if goal[job] <= goal[heap[below]]:
            break
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = job
