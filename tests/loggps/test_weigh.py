"""Recorded durations split by hand. L = 10, o = 2, so o + L = 12; messages above 100 bytes are synchronous; times in ns.

"PerWiz" is Ino, Kanbe, Okita, Hagihara: PerWiz (2004). Oracles are numbered as in section 8 of PATTERNS.md.
"""

import dataclasses

import numpy as np
import pytest

from build import Builder, hand_model
from perwiz.loggps.weigh import CUT
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def leaves(trace, *hypotheses, model=None, engine="sweep", clock="clc"):
    """Return the predicted return of every call."""
    found = predict(trace, [parse(text) for text in hypotheses], model or hand_model(), engine, clock)
    assert found.replay_error == 0
    return found.predicted.calls.leave.tolist()


def waits(trace, model=None, hypotheses=()):
    """Return (ns waited, call waited for) of every call."""
    found = predict(trace, [parse(text) for text in hypotheses], model or hand_model()).waits_after
    return list(zip(found.time.tolist(), found.partner.tolist(), strict=True))


def message(sender, receiver, bytes=200, **more):
    """Return the trace of one message, sent by rank 0 and received by rank 1 at these (enter, leave)."""
    b = Builder(2)
    b.send(0, 1, bytes, at=sender, **more)
    b.recv(1, 0, at=receiver)
    return b.trace()


def test_late_receiver():
    """PerWiz, section 4: t_wait = max(t_v - t_u - (o + L), 0), t_send = t_all - t_wait.

    rank 0  u=0 |== Send ==================| 70        t_wait = 50 - 0 - 12 = 38, t_send = 70 - 38 = 32
    rank 1            v=50 |== Recv ===========| 80    does not wait: it works 30
    """
    trace = message((0, 70), (50, 80))
    assert waits(trace) == [(38, 1), (0, -1)]
    assert leaves(trace, "zero-wait e0") == [32, 80]
    assert leaves(trace, "zero-wait e1") == [70, 80]
    # t'_all = max(t'_v - t'_u - 12, 0) + 32, with the receiver at 25, 100 and 5; the receiver works 30 after max(t'_v, t'_u + 12).
    assert leaves(trace, "speed rank:1=2") == [25 - 12 + 32, 25 + 30]
    assert leaves(trace, "speed rank:1=0.5") == [100 - 12 + 32, 130]
    assert leaves(trace, "speed rank:1=10") == [32, 12 + 30]


def test_late_sender__synchronous():
    """PerWiz, sections 2.2 and 4: a receive waits from its call until the message arrives, here its REQ at u + o + L.

    rank 0             u=50 |== Send ===| 80           does not wait: t_send = 30, of which 12 are the REQ
    rank 1  v=20 |== Recv ==================| 95       t_wait = 50 + 12 - 20 = 42, t_recv = 75 - 42 = 33
    """
    trace = message((50, 80), (20, 95))
    assert waits(trace) == [(0, -1), (42, 0)]
    assert leaves(trace, "zero-wait e1") == [80, 20 + 33]
    assert leaves(trace, "speed rank:0=2") == [25 + 30, 37 + 33]
    # The receiver comes at 100: the REQ has waited since 62, so the sender now works its other 18 ns after 100.
    assert leaves(trace, "speed rank:1=0.2") == [100 + 18, 100 + 33]


def test_late_sender__eager():
    """A message of 5 bytes at G = 1 arrives o + L + 4 G = 16 after the sender entered (PATTERNS 6.3, T1 + T2).

    rank 0             50 |Send| 53
    rank 1  20 |== Recv ==========| 75                 waits 66 - 20 = 46, works 9
    """
    trace, model = message((50, 53), (20, 75), bytes=5), hand_model(G=1)
    assert waits(trace, model) == [(0, -1), (46, 0)]
    assert leaves(trace, "zero-wait e1", model=model) == [53, 29]
    assert leaves(trace, "speed rank:0=2", model=model) == [28, 25 + 16 + 9]
    assert leaves(trace, "speed rank:1=0.1", model=model) == [53, 200 + 9]


def test_zero_time_of_a_rendezvous_send():
    """The send of the late-receiver case returns when it is entered, whenever the receiver comes; the receiver is not touched."""
    trace = message((0, 70), (50, 80))
    assert leaves(trace, "zero-time e0") == [0, 80]
    assert leaves(trace, "zero-time e0", "speed rank:1=0.5") == [0, 130]
    assert leaves(trace, "zero-time e1") == [70, 50]


@pytest.mark.parametrize(("bytes", "mode", "leave"), [(100, "", 70), (101, "", 120), (8, "S", 120), (101, "R", 120), (101, "B", 70)])
def test_synchronous_above_the_threshold_and_by_mode(bytes, mode, leave):
    """Only who waits for the receiver is later when that one is, from 50 to 100."""
    assert leaves(message((0, 70), (50, 80), bytes, mode=mode), "speed rank:1=0.5")[0] == leave


def test_waitall():
    """Oracle 3: Waitall from 0 to 5, three receives whose sends are entered at 1, 4 and 3: it waits 4, not 8, and works 1."""
    b = Builder(4)
    requests = [b.irecv(0, rank, at=(0, 0)) for rank in (1, 2, 3)]
    b.waitall(0, *requests, at=(0, 5))
    for rank, enter in ((1, 1), (2, 4), (3, 3)):
        b.send(rank, 0, at=(enter, enter))
    trace, model = b.trace(), hand_model(L=0, o=0)
    assert waits(trace, model)[3] == (4, 5)
    assert leaves(trace, "zero-wait e3", model=model)[3] == 1
    # Rank 2 at 2: rank 3 is the last, at 3.
    assert leaves(trace, "speed rank:2=2", model=model)[3] == 4
    assert waits(trace, model, ["speed rank:2=2"])[3] == (3, 6)


def test_barrier():
    """Oracle 5, times ten: entered at 10, 40, 20, left at 60, 50, 55: waits 30, 0, 20; work 20, 10, 15."""
    b = Builder(3)
    b.barrier(at=[(10, 60), (40, 50), (20, 55)])
    trace = b.trace()
    assert waits(trace) == [(30, 1), (0, -1), (20, 1)]
    assert leaves(trace, "zero-wait e0") == [30, 50, 55]
    assert leaves(trace, "zero-wait all") == [30, 50, 35]
    assert leaves(trace, "speed rank:1=2") == [20 + 20, 20 + 10, 20 + 15]
    assert leaves(trace, "speed rank:2=0.25") == [80 + 20, 80 + 10, 80 + 15]


def test_n_to_n__left_before_the_last_entered():
    """Oracle 6, times ten: rank 0 leaves at 30 though rank 1 enters at 40; its edge binds at the recorded times, 10 before."""
    b = Builder(3)
    b.everyone("Allreduce", at=[(10, 30), (40, 50), (20, 55)])
    trace = b.trace()
    assert leaves(trace, clock="none") == [30, 50, 55]
    assert leaves(trace, "speed rank:1=0.5", clock="none") == [80 - 10, 90, 95]
    assert leaves(trace, "zero-wait e0", clock="none") == [10, 50, 55]


def test_bcast():
    """Oracle 7, times ten: root 1, entered at 10, 40, 60: only who is earlier than the root waits, and only for the root."""
    b = Builder(3)
    b.bcast(1, at=[(10, 45), (40, 48), (60, 62)])
    trace = b.trace()
    assert waits(trace) == [(30, 1), (0, -1), (0, -1)]
    assert leaves(trace, "speed rank:1=2") == [25, 28, 62]
    assert leaves(trace, "speed rank:1=0.5") == [85, 88, 82]
    assert leaves(trace, "speed rank:2=0.1") == [45, 48, 602]


def test_reduce():
    """Oracle 7, times ten: root 0 waits for the last, 60 - 10 = 50, and works 10; nobody waits for the root."""
    b = Builder(3)
    b.reduce(0, at=[(10, 70), (40, 42), (60, 63)])
    trace = b.trace()
    assert waits(trace) == [(50, 2), (0, -1), (0, -1)]
    assert leaves(trace, "zero-wait e0") == [20, 42, 63]
    assert leaves(trace, "speed rank:2=2") == [50, 42, 33]
    assert leaves(trace, "speed rank:0=0.1") == [110, 42, 63]


def test_scan():
    """Oracle 7, times ten: entered at 50, 10, 30, left at 60, 70, 70: a rank waits for the ranks below it: 0, 40, 20."""
    b = Builder(3)
    b.scan(at=[(50, 60), (10, 70), (30, 70)])
    trace = b.trace()
    assert waits(trace) == [(0, -1), (40, 0), (20, 0)]
    assert leaves(trace, "zero-wait e1") == [60, 30, 70]
    assert leaves(trace, "speed rank:0=2") == [35, 45, 50]
    assert leaves(trace, "speed rank:2=0.1") == [60, 70, 320]


def test_scan__waits_for_the_last_of_many_below():
    """Rank 99 of 100 waits for rank 0, though 98 hubs lie in between."""
    b = Builder(100)
    b.scan(at=[(1000, 1010)] + [(rank, 1020) for rank in range(1, 100)])
    assert waits(b.trace())[99] == (1000 - 99, 0)


def test_gap():
    """g = 100, G = 1, 5 bytes: 104 ns must lie between the returns of two sends; at 0-10 and 200-210 there are 200.

    The wait for the network's gap is no wait for a partner.
    """
    b = Builder(2)
    b.send(0, 1, 5, at=(0, 10))
    b.send(0, 1, 5, at=(200, 210))
    for _ in range(2):
        b.recv(1, 0, at=(500, 500))
    trace, model = b.trace(), hand_model(g=100, G=1, gap="sending call")
    assert leaves(trace, "speed rank:0=2", model=model)[1] == 10 + 95 + 10
    assert leaves(trace, "speed rank:0=4", model=model)[1] == 10 + 104
    assert leaves(trace, "speed rank:0=1000", model=model)[1] == 114
    assert leaves(trace, "speed rank:0=1000", "zero-wait e1", model=model)[1] == 114
    assert leaves(trace, "speed rank:0=1000", "zero-time e1", model=model)[1] == 10
    assert leaves(trace, "speed rank:0=1000", model=hand_model(g=100, G=1))[1] == 20
    assert waits(trace, model, ["speed rank:0=1000"])[1] == (0, -1)


def spaced(second):
    """Return a trace of 12 sends: the second returns at `second`, the others 150 after the one before; each takes 10."""
    b = Builder(2)
    leave = [10, second, *(second + 150 * k for k in range(1, 11))]
    for time in leave:
        b.send(0, 1, 5, at=(time - 10, time))
    for _ in leave:
        b.recv(1, 0, at=(5000, 5000))
    return b.trace()


def test_gap__lowered():
    """The second send returns 50 after the first, so the gap is 50 at most; this is counted. One of eleven is less than a tenth."""
    trace, model = spaced(60), hand_model(g=100, gap="sending call")
    assert leaves(trace, "speed rank:0=1000", model=model)[1:3] == [10 + 50, 10 + 50 + 100]
    found = predict(trace, model=model)
    assert (found.misfit.gaps, found.misfit.gaps_lowered, found.model.gap) == (11, 1, "sending call")


def test_gap__contradicted_is_not_applied():
    """A gap of 151 is contradicted by all: ten sends return 150 after the one before."""
    trace, model = spaced(60), hand_model(g=151, gap="sending call")
    assert leaves(trace, "speed rank:0=1000", model=model)[1:3] == [20, 30]
    found = predict(trace, model=model)
    assert (found.misfit.gaps, found.misfit.gaps_lowered, found.model.gap) == (11, 11, "none")
    assert found.model.name == "by hand with gap=none"


def test_packets():
    """31 bytes in packets of 10: L + 30 G with 3 gaps of 7 between them; arrival 2 + 10 + 30 + 21 = 63 after 100."""
    trace, model = message((100, 104), (0, 170), bytes=31), hand_model(G=1, g=7, s=10)
    assert waits(trace, model)[1] == (163, 0)
    assert leaves(trace, "zero-wait e1", model=model)[1] == 7


def test_lowered_lag():
    """The receive returns 5 after the send was entered: the message cannot have taken 12; it takes 5, and that is counted."""
    trace = message((50, 53), (0, 55), bytes=1)
    found = predict(trace, model=hand_model()).misfit
    assert (found.messages, found.messages_lowered, found.violations, found.eager_after_all) == (1, 1, 0, 0)
    assert waits(trace)[1] == (55, 0)
    assert leaves(trace, "speed rank:0=2") == [28, 30]
    assert leaves(trace, "zero-wait e1") == [53, 0]


def test_eager_after_all():
    """A message above S whose send returned at 5, before its receiver came at 50: nobody waited, and nobody ever does."""
    trace = message((0, 5), (50, 80))
    found = predict(trace, model=hand_model()).misfit
    assert (found.eager_after_all, found.violations, found.messages_lowered) == (1, 0, 0)
    assert leaves(trace, "speed rank:1=0.5") == [5, 130]
    assert waits(trace) == [(0, -1), (0, -1)]


def test_violating_message_binds_at_its_recorded_time():
    """Received at 40, sent at 50 (Becker et al. 2009, section 2: clocks disagree): its edge weighs -10.

    A sender at 25 lets the receiver, there since 20, return at 20; one at 100 makes it return at 90.
    """
    trace = message((50, 53), (20, 40), bytes=1)
    assert predict(trace, model=hand_model(), clock="none").misfit.violations == 1
    assert leaves(trace, clock="none") == [53, 40]
    assert leaves(trace, "speed rank:0=2", clock="none") == [28, 20]
    assert leaves(trace, "speed rank:0=0.5", clock="none") == [103, 90]
    assert leaves(trace, "speed rank:0=0.5", clock="none", engine="replay") == [103, 90]


@pytest.mark.parametrize(("progress", "wait", "leave"), [("always", 0, 120), ("in calls", 88, 71)])
def test_rendezvous__progress(progress, wait, leave):
    """A long send from 0 to 120 meets an Irecv at 10-12, completed by a Wait at 100-130.

    If the message moves by itself, the sender works 108 after its REQ. If only in calls, it waits until 100 and works 20;
    with the receiver twice as fast, in its Wait at 5 + 2 + 44 = 51, the send returns at 71.
    """
    b = Builder(2)
    b.send(0, 1, 200, at=(0, 120))
    request = b.irecv(1, 0, at=(10, 12))
    b.wait(1, request, at=(100, 130))
    trace, model = b.trace(), hand_model(progress=progress)
    assert waits(trace, model)[0][0] == wait
    assert leaves(trace, "speed rank:1=2", model=model)[0] == leave


def test_isend_of_a_long_message__the_wait_waits():
    """The request of an Isend is not in its Wait: that waits from 30 for the Irecv at 50, and works 10; the Isend only posts."""
    b = Builder(2)
    request = b.isend(0, 1, 200, at=(0, 3))
    b.wait(0, request, at=(30, 60))
    other = b.irecv(1, 0, at=(50, 51))
    b.wait(1, other, at=(70, 90))
    trace = b.trace()
    assert waits(trace) == [(0, -1), (20, 2), (0, -1), (0, -1)]
    assert leaves(trace, "zero-wait e1") == [3, 40, 51, 90]
    assert leaves(trace, "speed rank:1=2") == [3, 40, 26, 26 + 10 + 20]


# Another network: what the model explains of a lag or of work changes by the ratio of the two models.


def test_network__latency_of_an_eager_message():
    """L from 10 to 110: the lag 12 becomes 112; the receiver's other 13 ns, o among them, stay."""
    trace = message((50, 53), (20, 75), bytes=1)
    assert leaves(trace, "network L_ns=110") == [53, 50 + 112 + 13]
    assert leaves(trace, "network L_ns=10") == [53, 75]
    assert leaves(trace, "network L_ns=0") == [53, 50 + 2 + 13]


def test_network__overhead_of_an_eager_message():
    """o from 2 to 4: the lag 12 becomes 14, and one o of the 3 ns of the send and of the 13 ns of the receive doubles."""
    assert leaves(message((50, 53), (20, 75), bytes=1), "network o_ns=4") == [55, 50 + 14 + 15]


def test_network__message_faster_than_the_model_stays_so():
    """The lag was 6, half of the model's 12, and no work is left: under the model's 112 it is 56."""
    assert leaves(message((50, 53), (20, 56), bytes=1), "network L_ns=110") == [53, 50 + 56]


def test_network__work_shorter_than_the_model_scales_as_a_whole():
    """The send took 1 ns of the model's o = 2: with o = 6 it takes 3."""
    assert leaves(message((50, 51), (0, 75), bytes=1), "network o_ns=6")[0] == 53


def test_network__eager_becomes_synchronous():
    """With S = 0 the sender of one byte at 50 asks first (PATTERNS 6.3).

    Sender: o + L = 12, then its 3 ns, of which o = 2 turn into ACK 2 o + L = 14 and o: 17.  50 + 12 + 17 = 79.
    Receiver: REQ 12, then its 13 ns, of which o = 2 turn into o + 14 + (o + L) + o = 30: 41.  50 + 12 + 41 = 103.
    """
    trace = message((50, 53), (20, 75), bytes=1)
    assert leaves(trace, "network S_bytes=0") == [79, 103]
    # And now the sender does wait for a late receiver: at 200, 17 more; the receiver works 41.
    assert leaves(trace, "network S_bytes=0", "speed rank:1=0.1") == [217, 241]


def test_network__synchronous_becomes_eager():
    """The late-receiver case with S = 1000: no request and no waiting; of the 20 ns after the receiver came 16 shrink to o = 2.

    The receiver's 30 ns are all the model's (2 + 14 + 12 + 2): o = 2 is left. The message arrives at 12.
    """
    assert leaves(message((0, 70), (50, 80)), "network S_bytes=1000") == [6, 52]


def test_network__posts_and_their_completions():
    """A long message by Isend 0-3, Wait 30-60, Irecv 50-51, Wait 70-90. The posts take o, the rest is in the Waits.

    L = 110: the sender's Wait works 10 after 50, short of the model's ACK 2 o + L and o = 16, which become 116: 72.5, even 72.
    The receiver's Wait works 20 of o + 14 + (o + L) + o = 30, which become 2 + 114 + 112 + 2 = 230: 153, after the REQ at 112.
    o = 4: Isend 3 - 2 + 4 = 5; Irecv, of half the model's o, 2. Wait entered 32: after 51 - 1 = 50, 10 * (18 + 4) / 16 = 13.75.
    Wait entered 71: after that 20 * (4 + 18 + 14 + 4) / 30 = 26.7.
    """
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(0, 3)), at=(30, 60))
    b.wait(1, b.irecv(1, 0, at=(50, 51)), at=(70, 90))
    assert leaves(b.trace(), "network L_ns=110") == [3, 50 + 72, 51, 112 + 153]
    assert leaves(b.trace(), "network o_ns=4") == [5, 50 + 14, 52, 71 + 27]


def test_network__bytes_of_a_collective():
    """Allreduce of 3: 0 hands rank 1 its 5 bytes, 2 o + L + 4 G, for 2 nobody waits, and 0 gets the sum: 14 + 4 + 14 become 26 + 16 + 26.

    So what takes 28 takes 60.
    """
    b = Builder(3)
    b.everyone("Allreduce", bytes=5, at=[(0, 28), (0, 28), (0, 30)])
    trace = b.trace()
    trace = dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, bytes_sent=0 * trace.calls.bytes_sent))
    assert leaves(trace, "network G_ns_per_byte=3") == [60, 60, 64]


def test_network__gap_of_its_own():
    """The recorded machine has no gap, the other one 300: the returns of two sends, 200 apart, move apart to 300."""
    b = Builder(2)
    b.send(0, 1, 5, at=(0, 10))
    b.send(0, 1, 5, at=(200, 210))
    for _ in range(2):
        b.recv(1, 0, at=(500, 500))
    assert leaves(b.trace(), "network g_ns=300,gap=sending call")[:2] == [10, 310]


def test_network__collective_work():
    """Barrier of 4: 2 rounds of 2 o + L = 14, 28 ns of a rank's work of 30; with L = 24, 56 and the other 2."""
    b = Builder(4)
    b.barrier(at=[(rank, 40 if rank else 33) for rank in range(4)])
    assert leaves(b.trace(), "network L_ns=24") == [3 + 56 + 2] + [3 + 56 + 9] * 3


def test_network__violations_stay_what_they_are():
    """Received 10 before it was sent: no latency explains that, and none changes it."""
    assert leaves(message((50, 53), (20, 40), bytes=1), "network L_ns=110", clock="none") == [53, 40]


def test_network__eager_after_all_stays_eager():
    trace = message((0, 20), (50, 80))
    weighted = parse("network L_ns=110").apply(replayed(trace, hand_model(), "none").weighted)
    assert weighted.weight[weighted.graph.kind == 2].tolist() == [CUT]


def test_edges_of_messages_that_are_eager_now_but_not_there_are_cut():
    trace = message((0, 5), (50, 80), bytes=50)
    weighted = replayed(trace, hand_model(), "none", [parse("network S_bytes=0")]).weighted
    rendezvous = weighted.graph.kind == 2
    assert rendezvous.sum() == 1
    assert (weighted.weight[rendezvous] == CUT).all()
    assert not np.any(weighted.weight[~rendezvous] == CUT)
