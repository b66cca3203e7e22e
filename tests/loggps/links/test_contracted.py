"""Fewer edges and vertices for messages at interfaces: worked by hand."""

import numpy as np

from perwiz.graph.graph import INJECTION, QUEUE
from perwiz.graph.interfaces import Queue, Ways
from perwiz.loggps.links.contracted import contracted
from perwiz.loggps.weigh import CUT

NOBODY = Queue(np.zeros(0, "i8"), np.zeros(0, bool), np.full(4, -1))


def test_contracted():
    """Vertices 0 to 6, behind them messages 0 to 3, of 10, 20, 30 and 40 ns, in one queue: they are 7 to 10.

    Vertex 0 sends message 0 and 1, 1 sends 2, 2 sends 3. Vertex 3 waits for 1, 4 for 1 and 0, 5 for 3; for 2 nobody waits.

        0 --2--> 7   0 --12--> 8: no later than behind 7, 2 + 10
        7 --9--> 4   8 --0--> 4: no later than 7 and 9; so 9 stays
        1 --3--> 9 comes 30 later to 10, and has no vertex
        8 --5--> 3 begins at 7, where nobody comes in between: 5 + 10
        8 --0--> 4 begins at 7: 10, and then 9 would say nothing; but it is longer than the last, so that is known only behind
    """
    source, target = [0, 0, 1, 2, 7, 8, 8, 10, 7, 8, 9], [7, 8, 9, 10, 4, 3, 4, 5, 8, 9, 10]
    kind, cause = [INJECTION] * 8 + [QUEUE] * 3, [0, 1, 2, 3, 0, 1, 1, 3, 0, 1, 2]
    weight = np.array([2, 12, 3, 4, 9, 5, 0, 6, 10, 20, 30])
    edges = Ways(np.array(source), np.array(target), np.array(kind, "u1"), np.array(cause))
    queue = Queue(np.arange(4), np.array([False, True, True, True]), np.array([0, 1, -1, 3]))
    made, ns = contracted(edges, weight, 7, (queue, NOBODY), np.array([10, 20, 30, 40]), 0)
    assert listed(made, ns) == [(0, 7, 2), (1, 10, 33), (2, 10, 4), (7, 3, 15), (7, 4, 10), (7, 10, 60), (10, 5, 6)]
    between, own = contracted(edges, weight, 7, (queue, NOBODY), np.array([10, 20, 30, 40]), 4)
    assert listed(between, own) == sorted(zip(source, target, weight.tolist(), strict=True))


def test_contracted__what_messages_tell_themselves():
    """Vertices 0 to 3 each send a message of 10 ns, for which 4 to 7 wait; they are 8 to 11, one behind the other.

    How long the first and the third take alone they say themselves. So 0 comes where the second is, 2 where the fourth is, and who waits
    for the third waits behind the second; nothing is ahead of the first. If 5 waits for the first, too, that stays, and the second goes.
    """
    queue = Queue(np.arange(4), np.array([False, True, True, True]), np.arange(4))
    source, target = [0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10], [8, 9, 10, 11, 4, 5, 6, 7, 9, 10, 11]
    kind, cause = np.array([INJECTION] * 8 + [QUEUE] * 3, "u1"), np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2])
    edges = Ways(np.array(source), np.array(target), kind, cause)
    weight = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 10])
    asked = 8, (queue, NOBODY), np.full(4, 10)
    made, ns = contracted(edges, weight, *asked, 0)
    assert listed(made, ns) == [(0, 9, 11), (1, 9, 2), (2, 11, 13), (3, 11, 4), (9, 5, 6), (9, 6, 17), (9, 11, 20), (11, 7, 8)]
    more = Ways(*(np.insert(column, 8, value) for column, value in zip(edges, (8, 5, INJECTION, 1), strict=True)))
    made, ns = contracted(more, np.insert(weight, 8, 50), *asked, 0)
    assert [edge for edge in listed(made, ns) if 8 in edge[:2]] == [(0, 8, 1), (8, 4, 5), (8, 5, 16), (8, 5, 50), (8, 10, 20)]


def test_contracted__binds_nobody():
    edges = Ways(np.array([0, 1]), np.array([4, 4]), np.array([INJECTION] * 2, "u1"), np.array([0, 0]))
    queue = Queue(np.array([0]), np.array([False]), np.full(4, -1))
    made, ns = contracted(edges, np.array([3, CUT]), 4, (queue, NOBODY), np.full(4, 10), 0)
    assert listed(made, ns) == []
    assert listed(*contracted(edges, np.array([3, CUT]), 4, (queue, NOBODY), np.full(4, 10), 1)) == [(0, 4, 3), (1, 4, CUT)]


def listed(edges, ns):
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), ns.tolist(), strict=True))
