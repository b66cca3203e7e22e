"""Late sender, late receiver and wrong order, worked by hand: the oracles 1 to 4 of the definitions, in units of 1000 ns."""

import build
from build import Builder
from perwiz.patterns.library import point_to_point as patterns
from perwiz.patterns.pattern import NOTHING, View


def found(trace, *kinds):
    """Return {call: severity} of the last of some patterns, each a special case of the one before."""
    some = NOTHING
    for kind in kinds:
        some = kind().instances(View(trace), some)
    return dict(zip(some.call.tolist(), some.severity.tolist(), strict=True))


def one_message(send, receive):
    """Rank 0 sends in the interval `send`, rank 1 receives in the interval `receive`."""
    b = Builder(2)
    b.send(0, 1, at=send)
    b.recv(1, 0, at=receive)
    return b.trace()


def test_late_sender():
    """From the entry of the receive, 2, to that of the send, 5: 3. A send at 8 is clipped to the receive's return, 7. One at 1 is early."""
    assert found(one_message((5000, 6000), (2000, 7000)), patterns.LateSender) == {1: 3000}
    assert found(one_message((8000, 9000), (2000, 7000)), patterns.LateSender) == {1: 5000}
    assert found(one_message((1000, 6000), (2000, 7000)), patterns.LateSender) == {}


def test_late_receiver():
    """From the entry of the send, 1, to that of the receive, 6: 5. A send that left at 4 did not wait for it."""
    assert found(one_message((1000, 9000), (6000, 9000)), patterns.LateReceiver) == {0: 5000}
    assert found(one_message((1000, 4000), (6000, 9000)), patterns.LateReceiver) == {}


def test_late_receiver__modes():
    """Ready and buffered sends do not wait for receivers; a synchronous one that completes in a wait does."""
    for mode, severity in (("R", {}), ("B", {}), ("S", {0: 5000}), ("", {0: 5000})):
        b = Builder(2)
        b.send(0, 1, mode=mode, at=(1000, 9000))
        b.recv(1, 0, at=(6000, 9000))
        assert found(b.trace(), patterns.LateReceiver) == severity
    b = Builder(2)
    request = b.isend(0, 1, mode="S", at=(0, 500))
    b.wait(0, request, at=(1000, 9000))
    b.recv(1, 0, at=(6000, 9000))
    assert found(b.trace(), patterns.LateReceiver) == {1: 5000}


def waitall(senders):
    """Rank 0 waits in (0, 5) for messages of ranks 1.., sent when `senders` says."""
    b = Builder(1 + len(senders))
    requests = [b.irecv(0, rank, at=(-1000, -1000)) for rank in range(1, 1 + len(senders))]
    b.waitall(0, *requests, at=(0, 5000))
    for rank, sent in enumerate(senders, start=1):
        b.send(rank, 0, at=(sent, sent + 100))
    return b.trace()


def test_waitall__longest_counts_once():
    """Three receives, sent at 1, 4 and 3: 4, not 8."""
    assert found(waitall([1000, 4000, 3000]), patterns.LateSender) == {3: 4000}


def test_waitall__late_sender_before_late_receiver():
    """One call completes a receive that waits 1 and a send whose receiver is late by 3: it counts as late sender only."""
    b = Builder(2)
    requests = [b.irecv(0, 1, at=(-2000, -2000)), b.isend(0, 1, at=(-1000, -1000))]
    b.waitall(0, *requests, at=(0, 5000))
    b.send(1, 0, at=(1000, 1500))
    b.recv(1, 0, at=(3000, 5000))
    trace = b.trace()
    assert found(trace, patterns.LateSender) == {2: 1000}
    assert found(trace, patterns.LateReceiver) == {}


def two_receives(source, sent):
    """Rank 0 receives from rank 1 what is sent at 10 in (4, 11), then what `source` sent at `sent` in (11, 12)."""
    b = Builder(3)
    b.recv(0, 1, tag=1, at=(4000, 11_000))
    b.recv(0, source, tag=2, at=(11_000, 12_000))
    first, second = ((1, 1, 10_000), (source, 2, sent))
    for rank, tag, at in sorted((first, second), key=lambda send: send[2]):
        b.send(rank, 0, tag=tag, at=(at, at + 100))
    return b.trace()


def test_wrong_order():
    """The message sent at 5 was on its way while rank 0 waited 6 for the other. Sent at 11, it was not."""
    both = patterns.LateSender, patterns.WrongOrder
    assert found(two_receives(2, 5000), *both) == {0: 6000}
    assert found(two_receives(2, 5000), *both, patterns.FromDifferent) == {0: 6000}
    assert found(two_receives(2, 5000), *both, patterns.FromSame) == {}
    assert found(two_receives(1, 5000), *both, patterns.FromSame) == {0: 6000}
    assert found(two_receives(1, 5000), *both, patterns.FromDifferent) == {}
    assert found(two_receives(2, 11_000), *both) == {}


def test_wrong_order__not_within_one_waitall():
    """What the same call completes could not have been received instead."""
    trace = waitall([4000, 1000])
    assert found(trace, patterns.LateSender, patterns.WrongOrder) == {}


def test_messages_to_oneself_are_no_pattern():
    assert found(build.CATALOGUE["self_message"](), patterns.LateSender) == {}
    assert found(build.CATALOGUE["self_message"](), patterns.LateReceiver) == {}
