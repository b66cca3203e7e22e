"""Links that messages share: passes of the sweep come to what the simulation of calls and flows defines."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from perwiz.engines.fluid import simulate
from perwiz.engines.sweep import sweep, swept_makespan
from perwiz.errors import ModelError, UsageError
from perwiz.loggps.keys import POSTED
from perwiz.loggps.links import flows
from perwiz.loggps.links.shapes import Torus, fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.weigh import CUT, Passes
from perwiz.report.predict.document import document
from perwiz.report.predict.text import text
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.links import settled
from perwiz.whatif.overload import OnLinks, on_links
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, under

SHAPES = [fat_tree([2, 2], 1.0, [4.0]), fat_tree([1, 4], 1.0, [2.0]), Torus((2, 2), 0.5)]


def pairs(steps=1):
    """Return a run of four processes on four nodes, where 0 sends to 2 and 1 to 3 at once: 101 bytes, 100 ns of a link alone."""
    b = build.Builder(4, latency=10, eager=10**9)
    for _ in range(steps):
        for sender in (0, 1):
            b.send(sender, sender + 2, 101)
        for receiver in (2, 3):
            b.recv(receiver, receiver - 2)
    return build.placed(b.trace("pairs"), [0, 1, 2, 3])


def links(over):
    return Topology("t", fat_tree([2, 2], 1.0, [over]), 1.0, 0.0, 0.0, ())


def test_links__worked_by_hand():
    """At 2:1 the trunk carries one message of two at a time: both take 200 ns instead of 100, and so both receivers go on 100 ns later."""
    model = build.hand_model(o=0, G=1, S=10**9)
    run = replayed(pairs(), model.on(links(1.0)), clock="none")
    assert run.replay_error == 0
    slower = dataclasses.replace(run.weighted, network=model.on(links(2.0)))
    found = settled(slower)
    later = sweep(run.graph, found.weight)[run.graph.ended] - run.time[run.graph.ended]
    assert later.tolist() == [0, 0, 100, 100]


@pytest.mark.slow
@settings(max_examples=20)
@given(build.traces(), st.sampled_from(SHAPES), st.sampled_from(["always", POSTED]), st.sampled_from([0.0, 0.25]))
def test_links__passes_come_to_the_simulation(trace, shape, progress, reverse):
    """Twelve passes, until no delay changes: less than 50 ns of rounding, of calls that follow one another, are between them."""
    node = np.arange(int(trace.locations.process.max(initial=0)) + 1)
    model = build.hand_model(o=0, G=1, S=1000, progress=progress).on(Topology("t", shape, 1.0, 0.0, reverse, ()))
    weighted = replayed(build.placed(trace, node), model, clock="none").weighted
    message = flows.recorded_delays(weighted.trace, weighted.graph, model)
    none = flows.shifted(trace, weighted.graph, model, weighted.size, weighted.weight, flows.Delays(message, 0 * message), CUT)
    none = np.where(none == CUT, CUT, np.maximum(none, 0))
    edge, of = flows.carriers(weighted.trace, weighted.graph, model, weighted.size)
    alone = np.where(none[edge] == CUT, CUT, weighted.size[of] + 10)
    np.maximum.at(none, edge, alone)  # no message is there before it has flowed, whatever was recorded
    start = dataclasses.replace(weighted, weight=none, delayed=-message)
    found = settled(start, passes=12, enough=0)
    assert np.abs(sweep(found.graph, found.weight) - simulate(start, none)).max(initial=0) <= 50


def test_links__full_needs_a_topology():
    with pytest.raises(UsageError, match=r"^links full: the run has that if nothing else is said, must be asked with --topology$"):
        replayed(pairs(), build.hand_model(), "none", ["links full"])


def test_links__of_an_unchanged_question_change_nothing(tmp_path):
    (tmp_path / "t.toml").write_text('kind = "fat tree"\nports = [2, 2]\noversubscription = 4\nnode_GB_per_s = 1\n')
    model = build.hand_model(o=0, G=1, S=10**9)
    asked = [f"links {tmp_path}/t.toml"]
    base = replayed(pairs(3), model, "none", asked)
    assert base.replay_error == 0
    changed = under(base, parse_all(asked, base.trace))
    assert changed.makespan > base.makespan


def test_on_links__says_which_are_overloaded(tmp_path):
    """At 2:1 both messages are on the trunk up from switch 0, and on that down to switch 1, for the 200 ns that they take."""
    (tmp_path / "t.toml").write_text('kind = "fat tree"\nports = [2, 2]\noversubscription = 2\nnode_GB_per_s = 1\n')
    found = predict(pairs(), [f"links {tmp_path}/t.toml"], build.hand_model(o=0, G=1, S=10**9), clock="none").links
    assert [(link.name, link.time, link.messages) for link in found.overloaded] == [
        ("up from switch 0", 200, 2),
        ("down to switch 1", 200, 2),
    ]
    assert found.passes.moved is None
    assert on_links(replayed(pairs(), build.hand_model(), "none").weighted, np.zeros(0, "i8")) == OnLinks([], None)


def test_on_links__no_longer_than_messages_were_under_way():
    """Recorded in 150 ns, where links of 4:1 take 400 for both: these are overloaded while the messages were there."""
    b = build.Builder(4)
    for sender in (0, 1):
        b.send(sender, sender + 2, 101, at=(0, 5))
        b.recv(sender + 2, sender, at=(0, 150))
    trace = build.placed(b.trace("pairs"), [0, 1, 2, 3])
    run = replayed(trace, build.hand_model(o=0, G=1, S=10**9).on(links(4.0)), clock="none")
    found = on_links(run.weighted, run.time).overloaded
    assert [(link.name, link.time) for link in found] == [("up from switch 0", 150), ("down to switch 1", 150)]


def test_settled__in_one_pass():
    """Calls and flows in one run: the pass behind that finds all delays as they are, however many steps follow one another."""
    model = build.hand_model(o=0, G=1, S=10**9)
    run = replayed(pairs(30), model.on(links(1.0)), clock="none")
    slower = dataclasses.replace(run.weighted, network=model.on(links(4.0)))
    found = settled(slower, enough=0)
    assert found.passes == Passes(1, None)
    assert swept_makespan(found) > run.makespan


def test_settled__says_how_far_it_is(monkeypatch):
    """By passes alone, as where calls wait in a cycle: one is not enough, and moved the end by what the run is longer then."""
    monkeypatch.setattr("perwiz.whatif.links.delayed", lambda weighted, was: None)
    model = build.hand_model(o=0, G=1, S=10**9)
    run = replayed(pairs(3), model.on(links(1.0)), clock="none")
    slower = dataclasses.replace(run.weighted, network=model.on(links(4.0)))
    one = settled(slower, passes=1)
    assert one.passes == Passes(1, swept_makespan(one) - run.makespan)
    assert one.passes.moved > 0


def test_settled__simulated_where_passes_do_not_come_closer():
    """Twice there and back, recorded in 20 ns a way of which each takes 110 alone: from what is simulated passes go away, and back."""
    b = build.Builder(4)
    for begin, back in ((0, 0), (20, 2), (40, 0), (60, 2)):
        for sender in (back, back + 1):
            b.send(sender, (sender + 2) % 4, 101, at=(begin, begin + 1))
            b.recv((sender + 2) % 4, sender, at=(begin, begin + 20))
    model = build.hand_model(o=0, G=1, S=10**9)
    run = replayed(build.placed(b.trace("pairs"), [0, 1, 2, 3]), model.on(links(1.0)), clock="none")
    slower = dataclasses.replace(run.weighted, network=model.on(links(4.0)))
    found, alone = settled(slower), settled(slower, passes=0)
    assert found.weight.tolist() == alone.weight.tolist()
    assert found.passes == Passes(2, abs(swept_makespan(alone) - _once_more(slower, alone)), simulated=True)


def _once_more(recorded, simulated):
    """Return the makespan with the delays that messages have at the times of a run."""
    asked = recorded.placed, recorded.graph, recorded.network, recorded.size
    now = flows.delays(flows.flows(*asked), len(recorded.size), sweep(recorded.graph, simulated.weight))
    was = flows.recorded_delays(recorded.trace, recorded.graph, recorded.model)
    weight = flows.shifted(*asked, recorded.weight, flows.Delays(was, now), CUT)
    return swept_makespan(dataclasses.replace(recorded, weight=weight))


def test_links__of_one_node_pass_nothing(tmp_path):
    """All ranks on one node: no link is passed, and the answer says so. Dealt out to four, three of them new, it is that of four."""
    (tmp_path / "t.toml").write_text('kind = "fat tree"\nports = [2, 2]\noversubscription = 4\nnode_GB_per_s = 1\n')
    asked, model = [f"links {tmp_path}/t.toml"], build.hand_model(o=0, G=1, S=10**9)
    together = build.placed(pairs(), [0, 0, 0, 0])
    told = text(document(predict(together, asked, model, clock="none"), 1))
    assert "links         no message passes one: all ranks are on one node; --placement cyclic:4x8 puts them on others" in told
    moved = [predict(each, [*asked, "placement cyclic:4x1"], model, clock="none") for each in (together, pairs())]
    assert moved[0].links == moved[1].links
    assert moved[0].links.nodes == 4
    assert [link.name for link in moved[0].links.overloaded] == ["up from switch 0", "down to switch 1"]
    full = model.on(Topology("t", fat_tree([1, 2], 1.0, [1.0]), 1.0, 0.0, 0.0, ()))
    with pytest.raises(ModelError, match=r"^t: places for 2 nodes, must be for 4: so many the run has$"):
        predict(together, ["placement cyclic:4x1"], full, clock="none")


def test_links__that_still_move_are_told():
    made = document(predict(pairs(), [], build.hand_model(o=0, G=1, S=10**9).on(links(4.0)), clock="none"), 1)
    made.links.passes, made.links.moved_ns = 12, 5000
    assert "delays on them still change after 12 passes: the last one moved the end by 5.000 us" in text(made)
    made.links.simulated = True
    said = "delays on them are simulated, as they do not settle in passes over the recorded order: the first moves the end by 5.000 us"
    assert said in " ".join(text(made).split())


@pytest.mark.parametrize("over", [2, 4])
def test_links__of_another_order_are_those_of_the_program_in_it(tmp_path, over):
    """Sends of different sizes change places: other messages share the trunk, and rows of messages are others."""
    (tmp_path / "t.toml").write_text(f'kind = "fat tree"\nports = [2, 2]\noversubscription = {over}\nnode_GB_per_s = 1\n')
    model, asked = build.hand_model(o=0, G=1, S=10**9), f"links {tmp_path}/t.toml"
    moved = predict(swapped(False), [asked, "move e1 before e0"], model, clock="none")
    written = predict(swapped(True), [asked], model, clock="none")
    assert abs(moved.predicted.makespan - written.predicted.makespan) <= 1  # 1 ns as without links
    assert sorted((link.name, link.time) for link in moved.links.overloaded) == sorted(
        (link.name, link.time) for link in written.links.overloaded
    )


def test_interfaces__of_another_order_are_those_of_the_program_in_it():
    """On shared interfaces, too, whether there were so many or are asked for."""
    model, asked = build.hand_model(o=0, G=1, S=10**9), ["placement block:2x2", "network interfaces=1"]
    for one, several in ((dataclasses.replace(model, interfaces=1), asked[:1]), (model, asked)):
        moved = predict(swapped(False), [*several, "move e1 before e0"], one, clock="none", draws=0)
        written = predict(swapped(True), several, one, clock="none", draws=0)
        assert abs(moved.predicted.makespan - written.predicted.makespan) <= 1  # 1 ns as without interfaces
        assert moved.sharing.pairs == written.sharing.pairs == 4


def swapped(other):
    """Return a run of four processes where 0 sends 101 and then 901 bytes to 2, or the other way, while 1 sends 501 to 3."""
    b = build.Builder(4, latency=10, eager=10**9)
    for tag, size in [(2, 901), (1, 101)] if other else [(1, 101), (2, 901)]:
        b.send(0, 2, size, tag)
    b.send(1, 3, 501)
    for tag in (1, 2):
        b.recv(2, 0, tag)
    b.recv(3, 1)
    return build.placed(b.trace("swapped"), [0, 1, 2, 3])


def test_on_links__says_what_shares_none():
    """Where others than the recorded messages are sent, none is delayed."""
    b = build.Builder(4)
    b.everyone("Allreduce", bytes=400)
    trace, model = build.placed(b.trace("allreduce"), [0, 1, 2, 3]), build.hand_model(o=0, G=1, S=10**9).on(links(4.0))
    run = replayed(trace, model, clock="none")
    other = dataclasses.replace(run.weighted, size=np.ones(1, "i8"))
    assert on_links(other, run.time) == OnLinks([], None, 4, True, 1)
    assert settled(other) is other
    made = document(predict(trace, [], model, clock="none"), 1)
    made.links.left_alone = True
    assert "links         no message is slowed down on them: others than the recorded ones are sent" in text(made)
