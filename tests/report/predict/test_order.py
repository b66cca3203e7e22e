"""What a prediction says of another order of calls and of other choices among messages."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict

from build import Builder, hand_model, untold
from documents import NO_CHOICES, valid
from farms import counter, farm, fixed_farm, lengths
from perwiz import words
from perwiz.report.predict import document as report
from perwiz.report.predict import order
from perwiz.report.predict.text import text as predict_text
from perwiz.whatif.predict import predict


def document(trace, *texts):
    """Return the document of a prediction, valid by its schema."""
    block = report.document(predict(trace, list(texts), hand_model(), clock="none"), 0)
    valid(block, "predict")
    return block


def move_facts(block):
    return order.move_facts(block.order, block.hypotheses)


def blocks():
    """Rank 0 receives e0, then computes and sends e1, for which rank 1 waits in e3; e2 feeds e0."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 10)
    b.recv(0, 1)
    b.compute(0, 30)
    b.send(0, 1, 8)
    b.compute(1, 50)
    b.send(1, 0, 8)
    b.recv(1, 0)
    return b.trace()


ASSUMED = "assumed: what runs earlier needs nothing that the calls it passes, 1 receive among them, have brought or computed"


def test_advance():
    """e1 is sent at 30 instead of 92, and rank 1 has it at 50 without waiting."""
    block = document(blocks(), "advance e3")
    assert [asdict(move) for move in block.order] == [
        {
            "hypothesis": "advance e3",
            "rank": 0,
            "thread": 0,
            "first": "e1",
            "last": "e1",
            "before": "e0",
            "ahead_of": "e0",
            "receives_passed": 1,
            "region": None,
            "reason": None,
        }
    ]
    assert move_facts(block) == [("order", "e1 (rank 0) runs ahead of e0"), ("", ASSUMED)]
    assert "\norder         e1 (rank 0) runs ahead of e0\n" in predict_text(block)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["advance e2"], ["advance e2: nothing moves, it waits for nobody"]),
        (["advance e0"], ["e2 (rank 1) is waited for and runs no earlier: nothing is before it on its process"]),
        (["move e0 before e1"], []),
        (["zero-wait e3"], []),
        (["advance e3", "advance e2"], ["e1 (rank 0) runs ahead of e0", "advance e2: nothing moves, it waits for nobody", ASSUMED]),
    ],
)
def test_what_is_said(texts, said):
    facts = move_facts(document(blocks(), *texts))
    assert [fact for _, fact in facts] == said
    assert [label for label, _ in facts] == ["order", "", ""][: len(said)]


def test_several_calls_and_a_wait_that_remains():
    b = Builder(2, latency=12, per_byte=0, work=0)
    for ns in (100, 50):
        b.compute(0, ns)
        b.call(0, "Comm_rank")
    b.compute(0, 30)
    b.send(0, 1, 8)
    b.recv(1, 0)
    assert [fact for _, fact in move_facts(document(b.trace(), "advance e3"))] == [
        "e2 (rank 0) runs ahead of e0..e1",
        "e2 (rank 0) is still waited for and runs no earlier: nothing is before it on its process",
        "assumed: what runs earlier needs nothing that the calls it passes have brought or computed",
    ]
    facts = move_facts(document(b.trace(), "move e1..e2 before e0"))
    assert facts[0] == ("order", "e1..e2 (rank 0) run ahead of e0")


def test_ahead_of_a_region():
    """The send of rank 0 runs ahead of the 30 ns, that of rank 1 has no region before it."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank, name in ((0, "work"), (1, "rest")):
        with b.region(rank, name):
            b.compute(rank, 30 - 10 * rank)
        b.send(rank, 1 - rank, 8)
    b.recv(0, 1)
    b.recv(1, 0)
    why = "between 'work' and it is something that brings data, or 'work' is not before it or holds calls"
    assert move_facts(document(b.trace(), "advance e1,e3 before work")) == [
        ("order", "1 send (e0, rank 0) runs ahead of work, and holds nobody, as MPI_Isend"),
        ("", "e2 (rank 1) is waited for and runs no earlier: " + why),
        ("", "assumed: what is sent is ready before work"),
    ]


def test_many_moves_are_counted():
    b = Builder(1)
    for _ in range(60):
        b.call(0, "Comm_rank")
    texts = [f"move e{k + 1} before e{k}" for k in range(0, 40, 2)]
    facts = move_facts(document(b.trace(), *texts))
    assert facts[0] == ("order", "each of 20 (e1, e3, e5, ...; rank 0) runs ahead of calls before it")
    assert len(facts) == 2


def test_many_that_stay_are_counted():
    """Rank 0 has nothing before its first send, and no send but the one before ahead of the others: as often as that is waited for."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(5):
        b.compute(0, 30)
        b.send(0, 1, 8)
        b.recv(1, 0)
    first, second = (fact for _, fact in move_facts(document(b.trace(), "advance site:MPI_Recv")))
    why = "they send to the same process with the same tag, and messages must not overtake (MPI 3.1, 3.5)"
    assert first == f"each of 4 (e1, e2, e3, ...; rank 0) is waited for and runs no earlier: {why}"
    assert second == "e0 (rank 0) is waited for and runs no earlier: nothing is before it on its process"


def senders(number):
    """Rank 0 receives from rank 2 and rank 1 in turn, as they come."""
    b = Builder(3)
    for _ in range(number):
        for rank in (1, 2):
            b.compute(rank, 9000 // rank)
            b.send(rank, 0, 50)
        b.recv(0, 2, wildcard=True)
        b.recv(0, 1, wildcard=True)
        b.barrier()
    return b.trace()


KEPT = "the prediction keeps the recorded choices; from the first of these on the run could go another way"


def test_choices():
    block = document(senders(1), "speed rank:1=3")
    assert asdict(block.matching) == NO_CHOICES | {"wildcards": 2, "receives": ["e0"], "recorded_choices_ns": 16_050}
    assert block.predicted_ns == 13_512
    turned = "1 of 2 wildcard receives would have got another message: e0"
    anew = "the prediction takes what comes first; with the recorded choices: 16.05 us"
    assert order.choice_facts(block.matching) == [("matching", turned), ("", anew)]
    assert "\nmatching      1 of 2 wildcard receives" in predict_text(block)


def test_choices__of_tasks():
    """Worker 1 computes twice as long: tasks go to the others."""
    block = document(farm(lengths(24)), "speed rank:1=0.5")
    moved = block.matching.tasks_moved
    assert (block.matching.tasks, block.matching.masters) == (24, [0])
    kept = words.duration(block.matching.recorded_choices_ns)
    said = f"the prediction takes what comes first; {moved} of 24 tasks of rank 0 move to whoever asks; with the recorded choices: {kept}"
    assert order.choice_facts(block.matching)[-1] == ("", said)
    assert 0 < moved < 24
    assert block.predicted_ns < block.matching.recorded_choices_ns


def test_choices__of_fixed_tasks():
    block = document(fixed_farm([lengths(9), lengths(15, seed=2)]), "speed rank:1=0.25")
    assert (block.matching.serving, block.matching.masters, block.matching.tasks) == ([0], [], 0)
    said = order.choice_facts(block.matching)[1][1]
    assert "; rank 0 does for each process what was done for it, in the order in which they come; with the recorded choices: " in said


def test_choices__of_a_counter():
    block = document(counter(lengths(24)), "speed rank:1=0.5")
    matching = block.matching
    assert (matching.fetches, matching.tasks, matching.tasks_fetched, matching.masters) == (27, 24, 24, [])
    turned = f"{len(matching.fetches_turned)} of 27 calls that take tasks from a counter would come before one that came before"
    assert order.choice_facts(matching)[0][1].startswith(f"{turned}: e")
    said = f"the prediction takes what comes first; {matching.tasks_moved} of 24 tasks of a counter move to whoever asks; with"
    assert order.choice_facts(matching)[-1][1].startswith(said)
    assert 0 < matching.tasks_moved < 24


def test_choices__kept():
    found = predict(senders(1), ["speed rank:1=3"], hand_model(), clock="none", keep_matches=True)
    block = report.document(found, 0)
    assert (block.predicted_ns, found.rematched) == (16_050, None)
    assert order.choice_facts(block.matching)[-1] == ("", KEPT)
    assert (
        predict(senders(1), ["speed rank:1=3", "move e2 before e1"], hand_model(), clock="none").rematched.reason
        == "calls come in another order"
    )
    told = order.choice_facts(order.Matching(**NO_CHOICES | {"wildcards": 1, "receives": ["e0"], "kept_because": "of this"}))
    assert told[-1] == ("", KEPT.replace("choices;", "choices: of this;"))


def test_choices__many():
    facts = order.choice_facts(document(senders(10), "speed rank:1=3").matching)
    named = ", ".join(f"e{3 * k}" for k in range(8))
    assert facts[0] == ("matching", f"10 of 20 wildcard receives would have got another message: {named}, ...")


def test_choices__none():
    assert order.choice_facts(document(blocks(), "zero-wait e3").matching) == []
    assert order.choice_facts(document(senders(1), "speed rank:0=2").matching) == [
        ("matching", "0 of 2 wildcard receives would have got another message")
    ]
    assert "matching" not in predict_text(document(senders(1)))


def test_choices__all_kinds():
    found = NO_CHOICES | {"wildcards": 1, "receives": [], "waits": 4, "completions": ["e5"], "contradicting": 1}
    assert [fact for _, fact in order.choice_facts(order.Matching(**found))] == [
        "0 of 1 wildcard receive would have got another message",
        "1 of 4 waits for some of several would have ended with another request: e5",
        KEPT,
        "not counted: 1 choice that the recorded times contradict already",
    ]
    found = NO_CHOICES | {"waits": 1, "contradicting": 3}
    assert [fact for _, fact in order.choice_facts(order.Matching(**found))] == [
        "0 of 1 wait for some of several would have ended with another request",
        "not counted: 3 choices that the recorded times contradict already",
    ]


def test_choices__of_a_format_that_does_not_tell():
    """Nothing is said of receives that may have been wildcards where their messages arrive in the order recorded."""
    assert order.choice_facts(order.Matching(**NO_CHOICES | {"possible": 7})) == []
    facts = order.choice_facts(document(untold(senders(10)), "speed rank:1=3").matching)
    rows = ", ".join(f"e{3 * k}" for k in range(8))
    turned = "10 of 20 receives that may be wildcards (the format does not tell) would see messages arrive in another order"
    both = "the prediction takes what comes first; if these are no wildcards, so that what they got stays: 160.5 us"
    assert facts == [("matching", f"{turned}: {rows}, ..."), ("", both)]
