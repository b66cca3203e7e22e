# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Which stretches of time lie in which, of each location."""

import cython


def parents(
    location: cython.const[cython.int][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.longlong[::1],
    stack: cython.int[::1],
    parent: cython.int[::1],
) -> None:
    """Write per stretch the innermost one that is open when it is entered, or -1; they are in order of (location, enter, leave backwards).

    One that outlives the one around it ends with that. `stack` is space for as many as there are.

        enter    0 1 2 5 9        0 [0, 9], 1 [1, 4], 2 [2, 6] that is cut to [2, 4], 3 [5, 8], 4 [9, 9]
        leave    9 4 6 8 9
        parent  -1 0 1 0 -1
    """
    top: cython.Py_ssize_t = 0
    for i in range(len(enter)):
        while top > 0 and (location[stack[top - 1]] != location[i] or leave[stack[top - 1]] <= enter[i]):
            top -= 1
        parent[i] = -1
        if top > 0:
            parent[i] = stack[top - 1]
            leave[i] = min(leave[i], leave[parent[i]])
        stack[top] = cython.cast(cython.int, i)
        top += 1
