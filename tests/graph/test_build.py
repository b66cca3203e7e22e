"""What had to come before what: edges by hand, and laws of the graph on all traces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build as traces
from build import Builder
from perwiz.graph.build import build
from perwiz.graph.graph import COLLECTIVE, GAP, KINDS, LOCAL, MESSAGE, RENDEZVOUS, TRANSFER


def names(trace, graph):
    """Return a name per vertex: `e3<` entered, `e3>` returned, `p0<` first instant, `p0>` last, `0` origin, `h1`... hubs."""
    out = {0: "0"}
    for letter, enter, leave in (("e", graph.entered, graph.returned), ("p", graph.begun, graph.ended)):
        for row in range(len(enter)):
            out |= {int(enter[row]): f"{letter}{row}<", int(leave[row]): f"{letter}{row}>"}
    hubs = [v for v in range(graph.vertices) if v not in out]
    # By what leads into them, since their order among each other is free.
    hubs.sort(key=lambda v: sorted(int(s) for s in graph.source[graph.start[v] : graph.start[v + 1]]))
    return out | {v: f"h{number}" for number, v in enumerate(hubs, 1)}


def edges(trace, kind, **options):
    """Return the edges of one kind as `source -> target`, sorted."""
    options.setdefault("synchronous", np.ones(len(trace.messages), bool))
    graph = build(trace, **options)
    name = names(trace, graph)
    target = np.repeat(np.arange(graph.vertices), np.diff(graph.start))
    return sorted(f"{name[int(graph.source[k])]} -> {name[int(target[k])]}" for k in np.flatnonzero(graph.kind == kind))


def test_kinds_are_numbered_as_named():
    kinds = [KINDS[kind] for kind in (LOCAL, MESSAGE, RENDEZVOUS, COLLECTIVE, GAP, TRANSFER)]
    assert kinds == ["local", "message", "rendezvous", "collective", "gap", "transfer"]


def test_one_message():
    b = Builder(2)
    b.send(0, 1)
    b.recv(1, 0)
    trace = b.trace()
    chains = ["0 -> p0<", "0 -> p1<", "e0< -> e0>", "e0> -> p0>", "e1< -> e1>", "e1> -> p1>", "p0< -> e0<", "p1< -> e1<"]
    assert edges(trace, LOCAL) == chains
    assert edges(trace, MESSAGE) == ["e0< -> e1>"]
    assert edges(trace, RENDEZVOUS) == ["e1< -> e0>"]
    assert edges(trace, RENDEZVOUS, synchronous=None) == []
    assert edges(trace, RENDEZVOUS, synchronous=np.zeros(1, bool)) == []


def nonblocking():
    """Return e0 Isend, e1 Wait; e2 Irecv, e3 Wait."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1))
    b.wait(1, b.irecv(1, 0))
    return b.trace()


def test_transfers__what_a_posting_lets_begin():
    """Once posted: the wait for a receive waits for its own transfer, that for a send if the send is synchronous."""
    both, none = np.ones(1, bool), np.zeros(1, bool)
    assert edges(nonblocking(), TRANSFER, transfers=True, synchronous=both) == ["e0< -> e1>", "e2< -> e3>"]
    assert edges(nonblocking(), TRANSFER, transfers=True, synchronous=none) == ["e2< -> e3>"]
    supposed = np.array([0]), np.array([2])
    assert edges(nonblocking(), TRANSFER, transfers=True, synchronous=none, supposed=supposed) == ["e0< -> e1>", "e2< -> e3>"]
    assert edges(nonblocking(), TRANSFER) == []


def test_nonblocking():
    """The message goes from the Isend to the Wait of the Irecv, the rendezvous from the Irecv, or a mover, to that of the Isend."""
    assert edges(nonblocking(), MESSAGE) == ["e0< -> e3>"]
    assert edges(nonblocking(), RENDEZVOUS) == ["e2< -> e1>"]
    assert edges(nonblocking(), RENDEZVOUS, movers=np.array([3])) == ["e3< -> e1>"]
    assert edges(nonblocking(), RENDEZVOUS, movers=np.array([-1])) == []
    supposed = np.array([0, 0]), np.array([2, 3])
    assert edges(nonblocking(), RENDEZVOUS, synchronous=np.zeros(1, bool), supposed=supposed) == ["e2< -> e1>", "e3< -> e1>"]


def test_send_that_nobody_completes_waits_for_nobody():
    b = Builder(2)
    b.isend(0, 1)
    b.recv(1, 0)
    assert edges(b.trace(), RENDEZVOUS) == []


def test_gaps():
    """Between the returns of consecutive sending calls of a location, receives left out; none to the next location."""
    b = Builder(2)
    for _ in range(3):
        b.send(0, 1)
        b.recv(1, 0)
    b.sendrecv(1, 0, None)
    b.recv(0, 1)
    trace = b.trace()
    assert edges(trace, GAP, gaps=True) == ["e0> -> e1>", "e1> -> e2>"]
    assert edges(trace, GAP) == []
    graph = build(trace, gaps=True)
    assert graph.cause[graph.kind == GAP].tolist() == [0, 1]


def collective(routine, root=None, **more):
    b = Builder(3)
    b.everyone(routine, root=root, **more)
    return edges(b.trace(), COLLECTIVE)


def test_collectives():
    """N to N through a hub; from the root; to the root; each rank after those below it. The origin leads into each hub."""
    everyone = ["0 -> h1", "e0< -> h1", "e1< -> h1", "e2< -> h1", "h1 -> e0>", "h1 -> e1>", "h1 -> e2>"]
    assert collective("Allreduce") == everyone
    assert collective("Bcast", 1) == ["0 -> h1", "e1< -> h1", "h1 -> e0>", "h1 -> e2>"]
    assert collective("Gather", 1) == ["0 -> h1", "e0< -> h1", "e2< -> h1", "h1 -> e1>"]
    chain = ["0 -> h1", "0 -> h2", "0 -> h3", "e0< -> h1", "e1< -> h2", "e2< -> h3", "h1 -> e1>", "h1 -> h2", "h2 -> e2>", "h2 -> h3"]
    assert collective("Scan") == chain
    assert collective("Exscan") == chain


def test_collectives__holes():
    """Without a known root nobody is tied; without the root's call nobody knows when it came; without a middle rank the chain goes on."""
    assert collective("Bcast") == ["0 -> h1"]
    assert collective("Bcast", 1, missing=(1,)) == ["0 -> h1", "h1 -> e0>", "h1 -> e1>"]
    assert collective("Reduce", 1, missing=(1,)) == ["0 -> h1", "e0< -> h1", "e1< -> h1"]
    assert collective("Scan", missing=(1,)) == ["0 -> h1", "0 -> h2", "e0< -> h1", "e1< -> h2", "h1 -> e1>", "h1 -> h2"]


def test_collectives__nonblocking():
    """The arrival is the start, the return that of the call that completes it, if there is one."""
    b = Builder(2)
    requests = b.everyone("Ibarrier")
    b.wait(0, requests[0])
    assert edges(b.trace(), COLLECTIVE) == ["0 -> h1", "e0< -> h1", "e2< -> h1", "h1 -> e1>"]


def test_collectives__nonblocking_prefix():
    """Rank 1 never completes its Iscan: nothing leads into another call instead."""
    b = Builder(2)
    b.wait(0, b.everyone("Iscan")[0])
    b.call(1, "Comm_rank")
    assert edges(b.trace(), COLLECTIVE) == ["0 -> h1", "0 -> h2", "e0< -> h1", "e2< -> h2", "h1 -> h2"]


def test_collectives__of_a_communicator_in_its_own_rank_order():
    b = Builder(3)
    b.everyone("Scan", comm=b.comm("back", [2, 0]))
    assert edges(b.trace(), COLLECTIVE) == ["0 -> h1", "0 -> h2", "e0< -> h1", "e1< -> h2", "h2 -> e0>", "h2 -> h1"]


def test_cycle_of_rendezvous():
    """Both send first, so one cannot have waited: that returned before its receive began. The other may have, the messages stay."""
    trace = traces.CATALOGUE["crossing"]()
    graph = build(trace, np.ones(2, bool))
    assert (graph.contradictions, graph.let_go) == (0, 1)
    assert len(edges(trace, RENDEZVOUS)) == 1
    assert len(edges(trace, MESSAGE)) == 2


def test_cycle_of_rendezvous__no_time_tells():
    """Each returned when its receive began: all that may contradict program order go."""
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, at=(10, 20))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(20, 30))
    graph = build(b.trace(), np.ones(2, bool))
    assert (graph.contradictions, graph.let_go) == (2, 0)
    assert not (graph.kind == RENDEZVOUS).any()


def crossing_and_a_message():
    """Two long sends that cross, e0 and e3, received by e4 and e1; then rank 0 sends to rank 1, e2 to e5."""
    b = Builder(2, eager=10**9)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 100)
    for rank in (0, 1):
        b.recv(rank, 1 - rank)
    b.send(0, 1)
    b.recv(1, 0)
    return b.trace()


def test_cycle_of_rendezvous__messages_behind_it_stay():
    assert edges(crossing_and_a_message(), MESSAGE) == ["e0< -> e4>", "e2< -> e5>", "e3< -> e1>"]


def test_cycle_of_a_rendezvous_and_a_message__the_message_stays():
    """Rank 0 sends A, then B; rank 1 receives B, then A: fine if A is buffered, so not the message B but the rendezvous of A goes."""
    b = Builder(2)
    b.send(0, 1, tag=1)
    b.send(0, 1, tag=2)
    b.recv(1, 0, tag=2)
    b.recv(1, 0, tag=1)
    trace = b.trace()
    assert edges(trace, MESSAGE) == ["e0< -> e3>", "e1< -> e2>"]
    assert edges(trace, RENDEZVOUS, synchronous=np.array([True, False])) == []


def test_cycle_of_messages():
    trace = traces.CATALOGUE["cycle_of_messages"]()
    assert build(trace).contradictions == 2
    assert edges(trace, MESSAGE) == []


def test_what_follows_a_cycle_stays_tied():
    """After a crossing of long sends, a message between the same ranks: its own rendezvous edge closes no cycle."""
    assert edges(crossing_and_a_message(), RENDEZVOUS) == ["e5< -> e2>"]


def check(trace, graph):
    """Check what the docstring of graph.py promises."""
    target = np.repeat(np.arange(graph.vertices), np.diff(graph.start))
    assert (graph.source < target).all(), "sources have smaller positions"
    first = graph.start[:-1][np.diff(graph.start) > 0]
    of_locations = np.concatenate([graph.entered, graph.returned, graph.begun, graph.ended])
    assert len(set(of_locations.tolist())) == 2 * (len(trace.calls) + len(trace.locations))
    assert (graph.kind[graph.start[of_locations]] == LOCAL).all(), "the first edge into a vertex of a location is the local one"
    assert (graph.kind == LOCAL).sum() == len(of_locations), "and it is the only one"
    assert set(np.flatnonzero(graph.kind == LOCAL)) <= set(first.tolist())
    assert (graph.start[0], graph.start[1], graph.start[-1], graph.edges) == (0, 0, len(graph.source), len(graph.source))
    local = graph.source[graph.start[graph.returned]]
    assert local.tolist() == graph.entered.tolist()
    before = np.concatenate(([-1], graph.returned[:-1])) if len(trace.calls) else graph.entered
    opens = np.concatenate(([True], np.diff(trace.calls.location) > 0))[: len(trace.calls)]
    expected = np.where(opens, graph.begun[trace.calls.location], before)
    assert graph.source[graph.start[graph.entered]].tolist() == expected.tolist()
    for kind, column in ((MESSAGE, trace.messages), (RENDEZVOUS, trace.messages), (COLLECTIVE, trace.collectives), (GAP, trace.calls)):
        cause = graph.cause[graph.kind == kind]
        assert ((cause >= 0) & (cause < len(column))).all()
    assert (graph.cause[graph.kind == LOCAL] == -1).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", traces.CATALOGUE)
@pytest.mark.parametrize("how", ["always", "in calls", "once posted"])
def test_graph_keeps_its_promises__catalogue(name, how):
    trace = traces.CATALOGUE[name]()
    for synchronous in (None, np.ones(len(trace.messages), bool)):
        movers = trace.messages.receive_done if how == "in calls" else None
        check(trace, build(trace, synchronous, gaps=True, movers=movers, transfers=how == "once posted"))


@pytest.mark.slow
@settings(max_examples=20)
@given(traces.traces(), st.booleans())
def test_graph_keeps_its_promises__random(trace, gaps):
    graph = build(trace, np.arange(len(trace.messages)) % 2 == 0, gaps)
    check(trace, graph)
    assert build(trace).contradictions == 0, "a run that ended without clock errors has no cycle of messages and collectives"
