"""What senders show of the protocol, worked by hand: every 100 us of rank 0 one message, late receivers 50 us late."""

from __future__ import annotations

import dataclasses

import pytest

from build import Builder, table
from perwiz.loggps.fit.senders import senders
from perwiz.trace import tables

PERIOD, LATE = 100_000, 50_000
SHOWN = ("gone", "called", "kept", "waited", "computed", "passed", "moved")


def shown(trace):
    """Return the names of what each message shows."""
    seen = senders(trace)
    return [" ".join(name for name in SHOWN if getattr(seen, name)[k]) for k in range(len(seen.bytes))]


def late_receiver(let_go, at=0, poke=None):
    """Add a blocking send that returns after so long, whose receiver comes late, and is in a probe at `poke` if that is given."""

    def add(b):
        b.call(1, "Wtime", at=(at, at + 1))
        b.send(0, 1, 8, at=(at, at + let_go))
        if poke is not None:
            b.call(1, "Iprobe", at=(at + poke, at + poke + 10))
        b.recv(1, 0, at=(at + LATE, at + LATE + 100))

    return add


def early_receiver(let_go, at=0, asked=0):
    """Add an Isend whose Wait is entered after `asked` and returns after `let_go`; its Irecv is posted before, waited for after 50 us."""

    def add(b):
        b.call(1, "Wtime", at=(at + 0, at + 1))
        got = b.irecv(1, 0, at=(at + 1, at + 2))
        sent = b.isend(0, 1, 8, at=(at + 10, at + 11))
        b.wait(0, sent, at=(at + asked + 20, at + let_go))
        b.wait(1, got, at=(at + LATE, at + LATE + 100))

    return add


def run(*adds):
    b = Builder(2)
    for add in adds:
        add(b)
    return b.trace()


@pytest.mark.parametrize(
    ("add", "expected"),
    [
        (late_receiver(1_000), "gone"),
        (late_receiver(LATE + 50), "kept"),
        (late_receiver(2 * LATE - 1), "kept"),
        (late_receiver(2 * LATE + 1), ""),  # something else held it for longer than the receiver did
        (late_receiver(25_001), ""),  # neither soon nor held
        (late_receiver(20_020, poke=20_000), "gone called"),
        (late_receiver(45_050, poke=45_000), "gone called"),
        (late_receiver(LATE + 50, poke=20_000), "kept"),
        (early_receiver(1_000), "computed passed"),
        (early_receiver(LATE + 50), "moved"),
        (early_receiver(LATE + 50, asked=49_900), ""),  # nobody asked before the receiver came
    ],
)
def test_one_message(add, expected):
    assert shown(run(add)) == [expected]


def test_calls_of_the_receiver_since_the_message_was_sent():
    """It passed, but not while the receiver computed all the time."""
    b = Builder(2)
    got = b.irecv(1, 0, at=(1, 2))
    sent = b.isend(0, 1, 8, at=(10, 11))
    b.call(1, "Iprobe", at=(500, 501))
    b.wait(0, sent, at=(600, 700))
    b.wait(1, got, at=(LATE, LATE + 100))
    assert shown(b.trace()) == ["passed"]


@pytest.mark.parametrize(("last", "expected"), [(49_000, "kept"), (20_000, ""), (None, "gone")])
def test_tests(last, expected):
    """Tests at 1000 and `last` find the send unfinished, one behind the receiver's entry, or at once if there is none, finds it done."""
    b = Builder(2)
    sent = b.isend(0, 1, 8, at=(0, 10))
    failed = [b.call(0, "Test", at=(when, when + 10)) for when in (1_000, last)] if last else []
    b.wait(0, sent, at=(LATE + 1_000, LATE + 1_010) if last else (1_000, 1_010))
    b.recv(1, 0, at=(LATE, LATE + 100))
    trace = b.trace()
    rows = table(tables.Unfinished, call=[call.row for call in failed], request=[0] * len(failed))
    assert shown(dataclasses.replace(trace, unfinished=rows)) == [expected]


@pytest.mark.parametrize(("source_came", "expected"), [(1_000, "kept"), (49_990, "")])
def test_sendrecv__which_received_long_before_its_send_was_taken(source_came, expected):
    b = Builder(3)
    b.sendrecv(0, 1, 2, at=(0, LATE + 50))
    b.recv(1, 0, at=(LATE, LATE + 100))
    b.send(2, 0, 8, at=(source_came, source_came + 10))
    assert shown(b.trace())[0] == expected


def test_waitall__tells_of_the_receiver_that_came_last():
    b = Builder(3)
    sends = [b.isend(0, to, 8, at=(to, to)) for to in (1, 2)]
    b.wait(0, *sends, at=(10, LATE + 50))
    b.recv(1, 0, at=(40_000, 40_100))
    b.recv(2, 0, at=(LATE, LATE + 100))
    assert shown(b.trace()) == ["", "kept"]


@pytest.mark.parametrize(("lasts", "expected"), [(150, "kept"), (30_000, "kept waited")])
def test_a_receiver_that_waits_in_another_call(lasts, expected):
    """What is sent in place would have been let go then, if the call lasts longer than 100: twice what the sender took to go on."""
    b = Builder(3)
    b.send(0, 1, 8, at=(0, LATE + 100))
    b.recv(1, 2, at=(10_000, 10_000 + lasts))
    b.recv(1, 0, at=(LATE, LATE + 100))
    b.send(2, 1, 8, at=(9_000, 9_010))
    assert shown(b.trace())[0] == expected


@pytest.mark.parametrize(("size", "expected"), [(8, "kept"), (9, "")])
def test_waitall__what_is_smaller_than_another_of_its_sends_tells_nothing(size, expected):
    """The one that is held last may be gone long ago."""
    b = Builder(3)
    sends = [b.isend(0, to, k, at=(to, to)) for to, k in ((1, size), (2, 8))]
    b.wait(0, *sends, at=(10, LATE + 50))
    b.recv(1, 0, at=(LATE - 5000, LATE))
    b.recv(2, 0, at=(LATE, LATE + 100))
    assert shown(b.trace())[1] == expected


@pytest.mark.parametrize(("routine", "expected"), [("Iprobe", "gone called"), ("Wtime", "")])
def test_calls_that_let_nothing_move(routine, expected):
    """The sender goes on 50 ns behind a call of the receiver, long before its receive: that may have let it go, or cannot have."""
    b = Builder(2)
    b.call(1, "Wtime", at=(0, 1))
    b.send(0, 1, 8, at=(0, 45_050))
    b.call(1, routine, at=(45_000, 45_010))
    b.recv(1, 0, at=(LATE, LATE + 100))
    assert shown(b.trace()) == [expected]


def test_calls_that_only_post():
    """The sender is let go neither by the Irecv at 20 us nor by the Isend then, but by the Wait at 50 us."""
    b = Builder(2)
    b.call(1, "Wtime", at=(0, 1))
    b.send(0, 1, 8, at=(0, LATE + 50))
    got = b.irecv(1, 0, at=(20_000, 20_001))
    other = b.isend(1, 0, 8, at=(20_002, 20_003))
    b.wait(1, got, other, at=(LATE, LATE + 100))
    b.recv(0, 1, at=(LATE + 50, LATE + 150))
    assert shown(b.trace())[0] == "moved"


def test_modes_and_what_nobody_completes_tell_nothing():
    b = Builder(2)
    for k, mode in enumerate("SRB"):
        b.send(0, 1, 8, mode=mode, at=(k * PERIOD, k * PERIOD + LATE + 50))
        b.recv(1, 0, at=(k * PERIOD + LATE, k * PERIOD + LATE + 100))
    b.isend(0, 1, 8, at=(3 * PERIOD, 3 * PERIOD + 1))
    b.recv(1, 0, at=(3 * PERIOD + LATE, 3 * PERIOD + LATE + 100))
    assert len(senders(b.trace()).bytes) == 0


def test_no_message():
    seen = senders(Builder(2).trace())
    assert all(len(getattr(seen, field.name)) == 0 for field in dataclasses.fields(seen))


def test_other_ranks__show_the_same():
    adds = [late_receiver(1_000), late_receiver(LATE + 50, PERIOD), early_receiver(LATE + 50, 2 * PERIOD)]
    trace = run(*adds)
    other = dataclasses.replace(trace.locations, process=trace.locations.process[::-1].copy())
    assert shown(dataclasses.replace(trace, locations=other)) == shown(trace) == ["gone", "kept", "moved"]
