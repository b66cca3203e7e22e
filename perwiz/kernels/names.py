"""The numbers that kernels and their callers share, by name: plain Python, never compiled.

A kernel takes what it needs as a constant of C: `GAP = cython.declare(cython.int, names.GAP)`.
"""

LOCAL, MESSAGE, RENDEZVOUS, COLLECTIVE, PROBE, LINK, ORDER, INJECTION, EJECTION, QUEUE, GAP, TRANSFER, START, BORDER = range(14)
"""Kinds of edges of the happened-before graph. From GAP on no wait for a partner is behind them: GAP and TRANSFER lead from calls of the
process itself, START begins what there would not be without it, BORDER leads into what another process has. An ORDER is a link of one
stream behind another: that binds what a call lets go on that takes no time, too."""
NONE = -1
"""No row: of a call, a send, a parent, a region around."""
NOBODY = -2
"""No rank, where -1 is one that the trace does not know."""

CHAINED = -1
"""Where the row of a listed edge is asked for: the edge of a chain, which is not listed."""
UNNUMBERED = -1
"""A vertex whose component is to be numbered."""
SKIPPED = -2
"""A vertex that components do not go through."""

SAME, WITHIN, NODE, METAHOST, ACROSS = range(5)
"""Pair classes: a location with itself, two of one process, two of one node, two nodes of one metahost, two metahosts."""
PAIR_CLASSES = 5
UNBOUND, HUB = 0, 5
"""How an edge binds clocks, if not as a message between locations of a pair class: not at all, or into or out of a collective's hub."""
FREE = 1 << 62
"""A time nobody reaches: no limit, no delay seen."""

STRIDE = 64
"""Sums of what a location did are kept for every so many intervals of it, or more if a row of sums is longer."""
WAITING = -1
"""Node of the call tree of an interval in which a location waits."""
SHORT, LONG = range(2)
"""Terms of the costs of delays."""

VERTEX, COMES, READY, SERVED = range(4)
"""What happens in a run whose receives are matched anew: a vertex, a message that can be taken, a receive that can complete, a fetch from a
counter that is served."""
