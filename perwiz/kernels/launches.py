# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Which of the launches of its kind each activity of a device takes."""

import cython


def oldest(
    launched: cython.const[cython.longlong][::1],
    entered: cython.const[cython.longlong][::1],
    over: cython.const[cython.longlong][::1],
    ran: cython.const[cython.longlong][::1],
    begun: cython.const[cython.longlong][::1],
    out: cython.int[::1],
) -> None:
    """Write per activity, in the order in which they began, the oldest launch left that was entered by then and not over before, or -1.

    It is one of the same kind: `launched` and `ran` are the kinds of either, sorted. In each kind `entered`, `over` and `begun` rise; what
    a launch began has begun when it is over.
    """
    launch: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    for k in range(begun.shape[0]):
        while launch < entered.shape[0] and (launched[launch] < ran[k] or (launched[launch] == ran[k] and over[launch] < begun[k])):
            launch += 1
        out[k] = -1
        if launch < entered.shape[0] and launched[launch] == ran[k] and entered[launch] <= begun[k]:
            out[k] = cython.cast(cython.int, launch)
            launch += 1
