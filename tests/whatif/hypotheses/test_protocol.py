"""Another eager limit and another progress, worked by hand, and against the same program on a machine that has them. o + L = 12 ns."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model, placed
from perwiz.errors import ModelError, UsageError
from perwiz.loggps.machine import Estimate, Machine, Unknown
from perwiz.whatif.hypotheses.base import parse, parse_all
from perwiz.whatif.hypotheses.network import EagerLimit
from perwiz.whatif.hypotheses.waits import Eager
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.sure.span import span_under

IN_CALLS = hand_model(progress="in calls")
IN_PLACE = hand_model(progress="in calls", inline_bytes=100)


def predicted(trace, *texts, model=IN_CALLS, engine="sweep"):
    return predict(trace, list(texts), model, engine, "none")


def leaves(trace, *texts, model=IN_CALLS):
    """Return when the calls return, ns, the same with both engines."""
    first, second = (predicted(trace, *texts, model=model, engine=engine).predicted.calls.leave.tolist() for engine in ("sweep", "replay"))
    assert first == second
    return first


def late(then=0):
    """Rank 1 is in a receive of a word from rank 2 at 1000 .. 3020, and receives 200 bytes of rank 0 only at 9000.

    rank 0  e0(isend) 100 .. 110   e1(wait) 200 ~~~~~~~~~~~~~~~~~~ 9030
    rank 1  ========= 1000 e2(recv a word) 3020 ======= 9000 e3(recv) 9060
    rank 2  ================ 3000 e4(send)

    Rank 0 computes for so long behind that.
    """
    b = Builder(3)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(200, 9030))
    b.recv(1, 2, tag=1, at=(1000, 3020))
    b.recv(1, 0, at=(9000, 9060))
    b.send(2, 1, 8, tag=1, at=(3000, 3010))
    b.compute(0, then)
    return b.trace()


@pytest.mark.parametrize(
    ("text", "model", "wait", "receive"),
    [
        # Recorded: held until the receive, then 30 of work: an ACK, 14, o_s, 2, and 14 that no model explains.
        ("eager 199", IN_CALLS, 9030, 9060),
        # Eager: only what nothing explains is left, from 200 on. The receive: 60, of which 30 were explained, now 2.
        ("eager 200", IN_CALLS, 214, 9032),
        ("eager 1kB", IN_CALLS, 214, 9032),
        ("eager 1K", hand_model(), 214, 9032),
        ("eager 1G", hand_model(), 214, 9032),
        ("eager within-node:0.2KiB", None, 0, 0),
        # Sent in place: until rank 1 is in its first call, at 1000.
        ("eager 1KiB", IN_PLACE, 1014, 9032),
        ("eager 1KiB", hand_model(), 214, 9032),
        # If messages move always, none is held in place, but a message above the limit is, until it is posted.
        ("progress always", IN_PLACE, 9030, 9060),
    ],
)
def test_a_higher_limit(text, model, wait, receive):
    if model is None:
        with pytest.raises(UsageError, match=rf"^{re.escape(text)}: must be a size such as 65536, 64K or 64KiB \(65536\) or "):
            predicted(late(), text)
        return
    found = leaves(late(), text, model=model)
    assert (found[1], found[3]) == (wait, receive)
    assert (found[0], found[2], found[4]) == (110, 3020, 3010)


def computing(let_go=130):
    """Rank 1 has posted its receive when rank 0 sends, and computes until 10000; rank 0 waits until `let_go`.

    rank 0  e0(isend) 100 .. 110   e1(wait) 120 .. 130
    rank 1  e2(irecv) 0 .. 10 =========================== 10000 e3(wait) 10040
    """
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(120, let_go))
    b.wait(1, b.irecv(1, 0, at=(0, 10)), at=(10_000, 10_040))
    return b.trace()


@pytest.mark.parametrize(
    ("text", "progress", "let_go", "wait"),
    [
        # Eager as recorded, 10 of work. Not eager: 16 more, and with progress in calls until rank 1 is in its MPI_Wait.
        ("eager 100", "in calls", 130, 10_026),
        ("eager 100", "always", 130, 146),
        ("eager 200", "in calls", 130, 130),
        # Above the limit as recorded, 30 of work behind the call of rank 1 that let it go, or behind its own entry.
        ("progress always", "in calls", 10_030, 150),
        ("progress in calls", "always", 150, 10_030),
        ("network progress=always", "in calls", 10_030, 150),
        ("progress in calls", "in calls", 10_030, 10_030),
    ],
)
def test_a_lower_limit__or_another_progress(text, progress, let_go, wait):
    model = hand_model(S=5000 if text.startswith("eager") else 100, progress=progress)
    assert leaves(computing(let_go), text, model=model)[1] == wait


@pytest.mark.parametrize(
    ("text", "assumed", "wait"),
    [
        # Nobody knows whether messages move while rank 1 computes: those that hold their sender now do not, unless it is said.
        ("eager 100", ("progress",), 10_026),
        ("eager within-node:100", ("progress",), 10_026),
        ("eager 100", (), 146),
        ("network S_bytes=100", ("progress",), 146),
        ("eager 5000", ("progress",), 130),
    ],
)
def test_a_lower_limit__where_nothing_tells_when_messages_move(text, assumed, wait):
    model = dataclasses.replace(hand_model(S=5000), assumed=assumed)
    assert leaves(computing(), text, model=model)[1] == wait


def test_both():
    """Held in its MPI_Wait until rank 1 comes back; lower than the message, the limit changes nothing; progress does."""
    assert leaves(computing(10_030), "eager 0", "progress always")[1] == 150
    assert leaves(computing(10_030), "progress always", "eager 1MiB")[1] == 120 + 14


def test_a_sender_that_was_let_go_stays_so():
    """Above the limit, but done at 130, before rank 1 posts at 5000: it is not held under any other progress or lower limit."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(120, 130))
    b.wait(1, b.irecv(1, 0, at=(5000, 5010)), at=(10_000, 10_040))
    for model, text in ((hand_model(), "progress in calls"), (IN_CALLS, "progress always"), (IN_CALLS, "eager 50")):
        found = predicted(b.trace(), text, model=model)
        assert (found.predicted.calls.leave[1], found.misfit.eager_after_all) == (130, 1)
        assert [doubt.messages for doubt in found.doubts if doubt.what == "free"] == [1]


def test_edges_that_only_a_hypothesis_asks_for_are_no_doubt():
    found = predicted(computing(10_030), "progress always")
    assert [doubt.what for doubt in found.doubts] == []
    assert found.misfit.eager_after_all == 0


def test_by_class_of_pairs():
    """Rank 1 is on the node of rank 0, rank 2 on another; they receive at 5000 and 9000 what rank 0 sent, which waits for one, then two."""
    b = Builder(3)
    requests = [b.isend(0, other, 200, at=(other, other)) for other in (1, 2)]
    b.wait(0, requests[0], at=(100, 5100))
    b.wait(0, requests[1], at=(5200, 9100))
    b.recv(1, 0, at=(5000, 5060))
    b.recv(2, 0, at=(9000, 9060))
    trace = placed(b.trace(), [0, 0, 1])

    def waits(*texts):
        return predicted(trace, *texts).waits_after.time[[2, 3]].tolist()

    assert waits() == [4900, 3800]
    assert waits("eager between-nodes:1KiB") == waits("eager 100,between-nodes:1KiB") == [4900, 0]
    # Sooner in its second wait by the 5000 of the first, but for the 84 of work left of 100.
    assert waits("eager within-node:1KiB") == [0, 9000 - (5200 - 5000 + 84)] == [0, 8716]
    assert waits("eager 1KiB") == [0, 0]


def test_a_deadlock_is_said():
    """Both send 50 bytes, then receive: not eager, each waits for the other."""
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 50, at=(0, 10))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(20, 40))
    assert predicted(b.trace(), "eager 49", model=hand_model()).deadlocks == 2
    assert predicted(b.trace(), "eager 50", model=hand_model()).deadlocks == 0


def test_who_is_held_in_a_call_lets_messages_move():
    """200 bytes each way: no deadlock, though as recorded both come back to MPI only behind their own send, in the wait.

    rank 0  e0(irecv) 0 .. 10   e1(send) 16 .. 20                            e2(wait) 200 .. 240
    rank 1             e3(send) 15 .. 25                e4(irecv) 90 .. 95   e5(wait) 200 .. 240

    Above the limit e3 has asked for its receive at 27, which is posted, and works for 10 - 2 + 16: e4 comes 26 later, at 116. Then e1
    goes on, for 4 - 2 + 16.
    """
    b = Builder(2)
    request = b.irecv(0, 1, at=(0, 10))
    b.send(0, 1, 200, at=(16, 20))
    b.wait(0, request, at=(200, 240))
    b.send(1, 0, 200, at=(15, 25))
    b.wait(1, b.irecv(1, 0, at=(90, 95)), at=(200, 240))
    found = predicted(b.trace(), "eager 100", model=hand_model(S=5000, progress="in calls"))
    assert found.deadlocks == 0
    assert found.predicted.calls.leave.tolist() == [10, 134, 382, 51, 121, 294]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("eager 4096", EagerLimit), ("eager between-nodes:64KiB", EagerLimit), ("eager e12", Eager), ("eager region:4", Eager)],
)
def test_what_is_meant(text, kind):
    assert type(parse(text)) is kind
    assert parse_all(Eager(text.removeprefix("eager ")), computing()) == (parse(text),)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "eager 64KB",
            UsageError,
            "eager 64KB: must be a size such as 65536, 64K or 64KiB (65536) or 64kB (64000), or between-nodes:64KiB, several joined by",
        ),
        ("eager 64KiB,e3", UsageError, "eager 64KiB,e3: must be a size such as 65536, 64K or 64KiB (65536) or 64kB (64000), or between"),
        ("eager 1,2", ModelError, "change of model by hand: S_bytes is '1' and '2', must be given once"),
        (
            "eager between-nodes:1",
            UsageError,
            "eager between-nodes:1: no message or collective of built is between-nodes, all are within-node",
        ),
        ("progress never", ModelError, "change of model by hand: progress is 'never', must be 'always' or 'in calls' or 'once posted'"),
    ],
)
def test_refusals(text, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        predicted(computing(), text)


HELD = Unknown("S_bytes", "", ("S_bytes=99", "S_bytes=199"), "no message of less is long enough")
NEVER = Unknown("S_bytes", "", ("S_bytes=0", "S_bytes=199"), "no message is seen to be eager")
MOVES = Estimate("progress", "", "always", 9, 0)


@pytest.mark.parametrize(
    ("known", "others"),
    [
        ((NEVER,), [(("progress=in calls,inline_bytes=0",), 31_014)]),
        ((NEVER, MOVES), []),
        ((HELD,), []),
        ((NEVER, Estimate("inline_bytes", "", 100, 3, 0)), []),
    ],
)
def test_open__how_eager_messages_are_sent(known, others):
    """If nothing is seen to be eager, 200 bytes may be sent in place, and wait until 1000 for any call of rank 1: 30,000 behind 1014."""
    machine = Machine(IN_CALLS, tuple(k for k in known if isinstance(k, Estimate)), tuple(k for k in known if isinstance(k, Unknown)))
    found = span_under(replayed(late(30_000), machine, "none"), [parse("eager 1KiB")], 0)
    assert [(other.changes, other.makespan) for other in found.others] == others


CALM = {"L": 1000, "o": 0, "request_overheads": 0, "acknowledge_overheads": 0}


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from([0, 1000, 10**9]))
def test_the_limit_of_the_model_changes_nothing(trace, limit):
    model = hand_model(S=limit, progress="in calls", inline_bytes=20, **CALM)
    for text in (f"eager {limit}", "progress in calls"):
        assert predicted(trace, text, model=model).predicted.calls == trace.timeline.calls


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000), st.sampled_from([10, 500, 3000])), min_size=1, max_size=4), st.data())
def test_law__as_on_a_machine_with_that_limit(steps, data):
    """A process computes and sends, another computes and receives: recorded under one limit and asked for another, it is as recorded there.

    Costs are none but the latency, and what an ACK and a REQ take is left out of both.
    """
    before, after = data.draw(st.permutations([0, 100, 1000, 10**6]))[:2]

    def program(limit):
        b = Builder(2, latency=0, per_byte=0, eager=limit, work=0)
        for sender, receiver, size in steps:
            b.compute(0, sender)
            b.compute(1, receiver)
            b.send(0, 1, size)
            b.recv(1, 0)
        return b.trace()

    model = hand_model(S=before, L=0, o=0, request_overheads=0, acknowledge_overheads=0)
    assert predicted(program(before), f"eager {after}", model=model).predicted.calls == program(after).timeline.calls


def test_a_thread_that_polls_takes_half_of_a_processor():
    """Rank 0 sends at 100 and computes 9000, rank 1 computes 9000 before it waits: held 9026, else 9100 or so; or computing twice as long.

    The span holds both, where messages did not move always as recorded.
    """
    b = Builder(2, latency=12, per_byte=0, work=10)
    request = b.irecv(1, 0)
    b.compute(0, 100)
    b.send(0, 1, 500)
    b.compute(0, 9000)
    b.compute(1, 9000)
    b.wait(1, request)
    trace = b.trace()
    found, slow = (predicted(trace, "progress always", *more) for more in ((), ("speed rank:0-1=0.5",)))
    assert slow.predicted.makespan > 1.9 * found.predicted.makespan
    assert [(other.changes, other.makespan) for other in found.span.others] == [(("progress=polled",), slow.predicted.makespan)]
    assert found.span.most == slow.predicted.makespan
    assert not predicted(trace, "progress always", model=hand_model(progress="always")).span.others
    assert not predicted(trace, "progress in calls", model=hand_model(progress="always")).span.others
