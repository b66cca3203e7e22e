"""Messages inside of collectives that share links or interfaces: exits by hand, fixed point, passes and simulation, what shares none."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from perwiz.engines.fluid import simulate
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep, swept_makespan
from perwiz.loggps.keys import POSTED
from perwiz.loggps.links import flows
from perwiz.loggps.links.shapes import Torus, fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.weigh import CUT, lags
from perwiz.report.predict.document import document
from perwiz.report.predict.text import text
from perwiz.whatif.hypotheses.base import apply, join, parse
from perwiz.whatif.hypotheses.collectives import Collective
from perwiz.whatif.links import settled
from perwiz.whatif.overload import on_links
from perwiz.whatif.predict import possible, predict
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.rounds import shared, unchanged
from perwiz.whatif.run import replayed
from perwiz.whatif.sharing import last, swapped, whole

POSTED_MODEL = build.hand_model(o=0, G=1, S=10**9, progress=POSTED)
EAGER = build.hand_model(o=0, G=1, S=10**9)
RENDEZVOUS = build.hand_model(o=0, G=1, S=0)
ONE, TWO = (dataclasses.replace(POSTED_MODEL, interfaces=several) for several in (1, 2))
TREE = 'kind = "fat tree"\nports = [2, 2]\noversubscription = {over}\nnode_GB_per_s = 1\n'


def links(over):
    return Topology("t", fat_tree([2, 2], 1.0, [over]), 1.0, 0.0, 0.0, ())


def collective(routine, ends, size, entry=(0, 0, 0, 0), times=1, nodes=(0, 1, 2, 3), **more):
    """Return a run of four processes on such nodes that do this so many times, each after 1000 ns, and come back at these times."""
    b = build.Builder(4)
    for k in range(times):
        at = [(1000 * k + begin, 1000 * k + end) for begin, end in zip(entry, ends, strict=True)]
        b.everyone(routine, bytes=size, at=at, **more)
    return build.placed(b.trace(routine), list(nodes))


def leaves(trace, model, *asked):
    found = predict(trace, list(asked), model, clock="none", draws=0)
    return found.predicted.calls.leave.tolist()


@pytest.fixture
def tree(tmp_path):
    def made(over):
        (tmp_path / f"{over}.toml").write_text(TREE.format(over=over))
        return f"links {tmp_path}/{over}.toml"

    return made


@pytest.mark.parametrize(("over", "end"), [(1, 313), (2, 413), (4, 813)])
def test_alltoall_at_once(tree, over, end):
    """Three messages of 101 bytes of each take 100 ns of its link, so all are there at 300 + 10 and an envelope.

    At 4:1 four times 100 cross each trunk of half a byte per ns and take 800; at 2:1 one of 1 byte, and take 400.
    """
    trace = collective("Alltoall", (313,) * 4, 404)
    assert leaves(trace, POSTED_MODEL, tree(over)) == [end] * 4


def test_what_was_recorded_on_narrow_links(tree):
    """The other way: recorded at 4:1, the trunk gone."""
    trace = collective("Alltoall", (810, 820, 810, 810), 404)
    assert leaves(trace, POSTED_MODEL.on(links(4.0)), tree(1)) == [310, 320, 310, 310]
    assert leaves(trace, POSTED_MODEL.on(links(4.0)), tree(4)) == [810, 820, 810, 810]


@pytest.mark.parametrize("model", [POSTED_MODEL, EAGER, RENDEZVOUS])
@pytest.mark.parametrize("routine", ["Alltoall", "Allreduce", "Bcast", "Allgather", "Reduce", "Barrier", "Scan"])
def test_the_recorded_run_is_given_back(tree, model, routine):
    """To the ns, whatever the exits are, also behind others."""
    trace = collective(routine, (900, 850, 930, 840), 4000, (5, 0, 9, 70), times=3, root=1 if routine in ("Bcast", "Reduce") else None)
    assert leaves(trace, model.on(links(4.0)), tree(4)) == trace.timeline.calls.leave.tolist()
    assert leaves(trace, model, tree(1)) == trace.timeline.calls.leave.tolist()


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.sampled_from(["Alltoall", "Allreduce", "Bcast", "Allgather", "Reduce", "Gather"]),
    st.sampled_from([POSTED_MODEL, EAGER, RENDEZVOUS]),
    st.lists(st.integers(0, 400), min_size=4, max_size=4),
    st.sampled_from([fat_tree([2, 2], 1.0, [4.0]), Torus((2, 2), 0.5)]),
    st.integers(1, 4),
)
def test_the_simulation_is_come_to(routine, model, entry, shape, times):
    """One process of simpy for each vertex and message, against the compiled run and the passes."""
    trace = collective(routine, (900,) * 4, 808, tuple(entry), times, root=0 if routine in ("Bcast", "Reduce", "Gather") else None)
    weighted = unchanged(replayed(trace, model.on(Topology("t", shape, 1.0, 0.0, 0.0, ())), clock="none").weighted)
    assert weighted.rounds is not None
    was = weighted.inside
    asked = weighted.placed, weighted.graph, weighted.network, weighted.size
    bare = flows.shifted(*asked, weighted.weight, flows.Delays(was, 0 * was), CUT, weighted.rounds)
    bare = np.where(bare == CUT, CUT, np.maximum(bare, 0))
    found = settled(dataclasses.replace(weighted, weight=bare, delayed=-was), enough=0)
    assert np.abs(sweep(found.graph, found.weight) - simulate(weighted, bare)).max() <= 50


def test_of_alltoallv_each_gets_its_part(tree):
    """Rank 0 alone sends, 404 bytes to each: 1209 ns on its link. At 4:1 the two that cross have half of it, and take 1612, the other 806.

    Rank 0, which takes nothing, does as long as an exchange of 404 bytes with one that is ready: 413.
    """
    trace = collective("Alltoallv", (413, 1219, 1219, 1219), 404)
    calls = dataclasses.replace(trace.calls, bytes_sent=np.array([1616, 0, 0, 0]))
    assert leaves(dataclasses.replace(trace, calls=calls), POSTED_MODEL, tree(4)) == [413, 816, 1622, 1622]


def test_what_shares_none_is_told(monkeypatch, tree):
    monkeypatch.setattr("perwiz.whatif.rounds.MOST", 23)
    trace = collective("Alltoall", (310,) * 4, 404, times=3)
    found = predict(trace, [tree(4)], POSTED_MODEL, clock="none", draws=0)
    assert (found.links.shared, found.links.beyond, found.links.collectives) == (1, 2, 0)
    told = text(document(found, 1))
    assert "the messages inside of 1 collective are among those on them" in told
    assert "those inside of 2 collectives share none, as they would be too many" in told


def test_too_small_to_matter():
    """A barrier sends no bytes: it stays a hub, and nothing is said of it."""
    run = replayed(collective("Barrier", (40,) * 4, 0), POSTED_MODEL.on(links(4.0)), clock="none")
    assert unchanged(run.weighted) is run.weighted
    found = on_links(run.weighted, run.time)
    assert (found.shared, found.collectives) == (0, 0)


def test_a_guess_is_told(tree):
    trace = collective("Allreduce", (90000, 91000, 97000, 90050), 4000)
    found = predict(trace, [tree(4)], EAGER, clock="none", draws=0)
    assert found.links.guessed == ("MPI_Allreduce",)
    assert "by which messages MPI_Allreduce was made is a guess: its times fit no known algorithm" in text(document(found, 1))


def test_another_algorithm_shares_them_too(tree):
    """A pairwise exchange has one message of each at a time: three rounds of 110. At 4:1 ranks 0 and 2 send within their switch first.

    1>2 and 3>0 have all of a trunk, 0.5 bytes per ns, until 1>3 and 3>1 come at 110; they are done at 290, 1>3 and 3>1 have 45 then. Behind
    0>2 and 2>0, from 300 on, they share again, and are done at 500, these at 600. The last round is at 720 within, at 820 between switches.
    """
    trace = collective("Alltoall", (310,) * 4, 404)
    asked = "collective alltoall=pairwise was linear"
    assert leaves(trace, POSTED_MODEL.on(links(1.0)), asked) == [330] * 4
    assert leaves(trace, POSTED_MODEL, tree(4), asked) == [720, 820, 720, 820]


def test_synchronous_ones_that_move_once_posted_keep_their_sender():
    """Until each is there, 110 ns from its begin, though the receivers wait since 0 for rank 0, who comes at 1000.

    binomial   0>2 at 1110, then 0>1 and 2>3 at 1220      chain   0>1 at 1110, 1>2 at 1220, 2>3 at 1330
    linear     all three share the link of rank 0, as libraries post them at once: 10 + 3 * 100 behind its begin
    """
    trace = collective("Bcast", (1220,) * 4, 101, (1000, 0, 0, 0), root=0)
    model = build.hand_model(o=0, G=1, S=0, progress=POSTED).on(links(1.0))
    assert leaves(trace, model, "collective bcast=chain was binomial") == [1110, 1220, 1330, 1330]
    assert leaves(trace, model, "collective bcast=linear was binomial") == [1310] * 4


def test_what_else_they_may_have_been__on_shared_interfaces():
    """The other end of the span is the answer if somebody said that they were made so."""
    trace = collective("Bcast", (700,) * 4, 404, root=0, times=2)
    told = predict(trace, "collective bcast=chain", ONE, clock="none", draws=0)
    other = predict(trace, "collective bcast=chain was scatter-ring", ONE, clock="none", draws=0)
    assert [possible.makespan for possible in told.span.others] == [other.predicted.makespan] != [told.predicted.makespan]


def test_ranked_algorithms__put_rounds_in_once():
    """Asked of the run whose messages are in rounds already, for how sure they are, an algorithm has the answers of `predict`."""
    trace = collective("Bcast", (700,) * 4, 404, root=0, times=2)
    asker, asked = Asker(replayed(trace, ONE, "none")), parse("collective bcast=chain")
    assert asker.run.weighted.rounds is not None
    told = predict(trace, "collective bcast=chain", ONE, clock="none", draws=0)
    (question,) = asker.questions([asked])
    assert swept_makespan(question(asker.run.weighted)) == told.predicted.makespan
    assert possible(asker.recorded, [asked], asker.changed([asked])) == told.span.others != ()


@pytest.mark.parametrize("model", [ONE, POSTED_MODEL])
def test_alltoall_at_once__on_shared_interfaces(model):
    """Two processes a node send two messages of 101 bytes each to the other node: 400 ns of its interface, 10 and 3 behind that."""
    trace = collective("Alltoall", (313,) * 4, 404)
    asked = ["placement block:2x2"] if model is ONE else ["placement block:2x2", "network interfaces=1"]
    assert leaves(trace, model, *asked) == [413] * 4
    assert leaves(trace, model, asked[0], "network interfaces=2") == [213] * 4


def test_simulated_messages_take_of_the_links_the_other_way():
    """Two processes a node send two messages of 101 bytes each way: 400 ns, a twentieth more for those the other way, and 10."""
    trace = collective("Allgather", (430,) * 4, 404, nodes=(0, 0, 1, 1))
    (way,) = shared(trace, ONE, False).ways.values()
    assert (way.way.algorithm, way.says, way.misfit) == ("at-once", "SMPI", 0)


def test_collectives_of_one_node_on_several():
    """Three rounds of exchanges in pairs within the node, 110 ns each. Of ranks dealt to two nodes two have messages between these: 210."""
    trace = collective("Alltoall", (330,) * 4, 404, nodes=(0, 0, 0, 0))
    found = predict(trace, ["placement cyclic:2x2"], ONE, clock="none", draws=0)
    assert (found.predicted.calls.leave.tolist(), found.links.shared, found.links.beyond) == ([530] * 4, 1, 0)


def test_rounds_on_shared_interfaces():
    """Of a pairwise exchange the middle round has two messages out of each node: 110 + 210 + 110. Alone on the nodes 110 each."""
    trace = collective("Alltoall", (430,) * 4, 404, nodes=(0, 0, 1, 1))
    assert leaves(trace, ONE, "collective alltoall=pairwise was pairwise", "placement cyclic:4x1") == [330] * 4
    assert leaves(trace, ONE, "collective alltoall=linear was pairwise") == [410] * 4


def test_receives_posted_at_once():
    """Rank 0 comes at 100, when the others' messages move at once, for 10; then it lets them go. By dissemination all are done at 120."""
    trace = collective("Barrier", (120,) * 4, 0, (100, 0, 0, 0))
    assert leaves(trace, ONE, "collective barrier=linear was dissemination") == [110, 120, 120, 120]


def test_messages_beside_a_collective_share_its_interfaces():
    """Ranks 0 and 1 of a node send two messages of 101 bytes each to 3 and 4 of another, in an alltoall, and 2 sends 201 bytes to 5.

    Each has a fifth of the interface until 500 ns; then 2 has it alone for the other 100 bytes. Behind that 10, and 3 in the alltoall. The
    messages of 3 and 4 to 0 and 1 have another interface: 400 ns for all four.
    """
    b = build.Builder(6)
    b.everyone("Alltoall", comm=b.comm("four", [0, 1, 3, 4]), bytes=404, at=dict.fromkeys((0, 1, 3, 4), (0, 313)))
    b.send(2, 5, 201, at=(0, 2))
    b.recv(5, 2, at=(0, 210))
    trace = build.placed(b.trace("beside"), range(6))
    assert leaves(trace, ONE, "placement block:2x3") == [413, 413, 2, 513, 513, 610]


def test_lags_of_a_message_that_is_done_with_one_inside_a_collective():
    """As above, recorded so: its receiver goes on 10 behind the last message of the alltoall, of 100 ns, which is 100 behind its begin."""
    b = build.Builder(6)
    b.everyone("Alltoall", comm=b.comm("four", [0, 1, 3, 4]), bytes=404, at=dict.fromkeys((0, 1, 3, 4), (0, 413)))
    b.send(2, 5, 201, at=(0, 2))
    b.recv(5, 2, at=(0, 610))
    base = replayed(build.placed(b.trace("beside"), [0, 0, 0, 1, 1, 1]), ONE, clock="none")
    found = unchanged(base.weighted)
    edge, (side, _, message) = last(found)
    own = edge[message == 0]
    assert side[message == 0].tolist() == [0, 1]
    assert lags(found.trace, found.graph, ONE, inside=found.rounds)[own].tolist() == [100 + 10, 100]


@pytest.mark.parametrize("model", [ONE, dataclasses.replace(EAGER, interfaces=2), dataclasses.replace(RENDEZVOUS, interfaces=1)])
@pytest.mark.parametrize("routine", ["Alltoall", "Allreduce", "Bcast", "Scan"])
def test_the_recorded_run_is_given_back__on_shared_interfaces(model, routine):
    """To the ns, whatever the exits are, also of messages between calls behind them."""
    b = build.Builder(4)
    for k in range(3):
        at = [(1000 * k + begin, 1000 * k + end) for begin, end in zip((5, 0, 9, 70), (900, 850, 930, 840), strict=True)]
        b.everyone(routine, bytes=4000, at=at, root=1 if routine == "Bcast" else None)
    for sender, end in ((0, 3700), (1, 4000)):
        b.send(sender, sender + 2, 500, at=(3000, 3100))
        b.recv(sender + 2, sender, at=(2950, end))
    trace = build.placed(b.trace(routine), [0, 0, 1, 1])
    assert leaves(trace, model, "network G_ns_per_byte=1") == trace.timeline.calls.leave.tolist()


@pytest.mark.parametrize("model", [ONE, dataclasses.replace(EAGER, interfaces=2), dataclasses.replace(RENDEZVOUS, interfaces=1)])
@pytest.mark.parametrize("routine", ["Alltoall", "Allreduce", "Bcast"])
def test_fewer_vertices_are_reached_at_the_same_times(model, routine):
    """By each engine, whatever calls weigh, as with a vertex for each message on both sides; as many would change places."""
    b = build.Builder(6)
    for sender, more in ((0, 100), (1, 300)):
        b.send(sender, sender + 3, 2000, at=(more, 3000))
        b.recv(sender + 3, sender, at=(0, 3100))
    for k in range(1, 4):
        at = [(5000 * k + begin, 5000 * k + 3000) for begin in (5, 0, 900, 70, 2, 40)]
        b.everyone(routine, bytes=4000, at=at, root=1 if routine == "Bcast" else None)
    base = replayed(build.placed(b.trace(routine), [0, 0, 0, 1, 1, 1]), model, clock="none")
    few = unchanged(base.weighted)
    assert (few.queues is None) == (few.rounds is None)
    slower = few.weight.copy()
    slower[few.graph.start[few.graph.entered]] *= np.resize([1, 3, 2, 5], len(few.graph.entered))
    for weighted in (few, dataclasses.replace(few, weight=slower)):
        every = whole(weighted)
        assert every.graph.edges - few.graph.edges >= (few.graph.edges // 4 if routine == "Alltoall" else 0)
        time, all_times = (sweep(each.graph, each.weight) for each in (weighted, every))
        for vertex in ("entered", "returned", "ended"):
            assert time[getattr(few.graph, vertex)].tolist() == all_times[getattr(every.graph, vertex)].tolist()
        assert replay(weighted.graph, weighted.weight).tolist() == time.tolist()
        assert swapped(weighted, time) == swapped(every, all_times) != (0, 0)


def test_what_passes_interfaces_is_told(monkeypatch):
    monkeypatch.setattr("perwiz.whatif.rounds.MOST", 23)
    found = predict(collective("Alltoall", (313,) * 4, 404, times=3), ["placement block:2x2"], ONE, clock="none", draws=0)
    told = text(document(found, 1))
    assert "interfaces    the messages inside of 1 collective are among those on them" in told
    assert "those inside of 2 collectives share none, as they would be too many" in told


def test_rounds_are_put_in_once():
    """A question asked on top of other algorithms finds their rounds there; put in once more they ended in a kernel that wrote outside."""
    run = replayed(collective("Alltoall", [9000] * 4, 1000), ONE, clock="none")
    made = apply(run.weighted, [Collective("alltoall=pairwise")])
    again = apply(made, [])
    assert made.rounds is not None
    assert (again.graph, again.weight.tolist()) == (made.graph, made.weight.tolist())


def test_algorithms_are_asked_together():
    """Those of two routines are one question, also if one is of a kind that knows its answer; alone that one stays."""

    class Known(Collective):
        """The same."""

    linear, ring = Known("alltoall=linear"), Collective("allreduce=ring")
    assert join([linear])[0] is linear
    assert [(type(one), one.argument) for one in join([linear, ring])] == [(Collective, "alltoall=linear, allreduce=ring")]
