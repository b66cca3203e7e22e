"""A blocking probe waits for the message that its process receives next."""

import numpy as np

from build import Builder, hand_model
from perwiz.graph.build import probes
from perwiz.trace.tables import ANY, NONE
from perwiz.whatif.health import health
from perwiz.whatif.predict import predict


def master():
    """Rank 0 probes from 0 to 130 and receives until 150; rank 1 computes 100 and sends. o + L = 12: the message is there at 112.

    0 |--probe----------------|--recv--|
    1 |--compute 100--|send 110|
    """
    b = Builder(2)
    b.call(0, "Probe", at=(0, 130), peer=ANY)
    b.recv(0, 1, at=(130, 150))
    b.compute(1, 100)
    b.send(1, 0, at=(100, 110))
    return b


def test_probe__waits_for_the_message_received_next():
    trace = master().trace()
    found = predict(trace, model=hand_model())
    assert found.replay_error == 0
    assert found.waits_before.time.tolist() == [112, 0, 0]
    assert found.waits_before.partner.tolist() == [2, -1, -1]
    assert found.health.not_modelled == 0


def test_probe__a_sender_twice_as_fast_is_waited_for_half_as_long():
    """The send moves from 100 to 50, the probe's return from 130 to 80, the receive's from 150 to 100: all work is kept."""
    found = predict(master().trace(), "speed rank:1=2", hand_model()).predicted.calls
    assert (found.enter.tolist(), found.leave.tolist()) == ([0, 80, 50], [80, 100, 60])


def test_probe__zero_wait_leaves_its_work():
    """130 less 112."""
    assert predict(master().trace(), "zero-wait op:MPI_Probe", hand_model()).predicted.calls.leave[0] == 18


def test_probe__returned_before_the_message_was_sent():
    """It found another: no edge binds it, and the clocks are not to blame."""
    b = Builder(2)
    b.call(0, "Probe", at=(0, 50), peer=ANY)
    b.recv(0, 1, at=(130, 150))
    b.send(1, 0, at=(100, 110))
    found = predict(b.trace(), model=hand_model())
    assert found.waits_before.time[0] == 0
    assert (found.misfit.violations, found.misfit.eager_after_all, found.replay_error) == (0, 0, 0)


def test_probes__which():
    """Of nobody, of another source than the next receive, without one, and a probe that does not block: none of them waits."""
    b = Builder(3)
    b.call(0, "Probe", peer=NONE, tag=1)
    b.call(0, "Probe", peer=2)
    b.call(0, "Iprobe", peer=ANY)
    b.call(0, "Mprobe", peer=1)
    b.recv(0, 1)
    b.call(0, "Probe", peer=ANY)
    b.send(1, 0)
    call, message = probes(b.trace())
    assert (call.tolist(), message.tolist()) == ([3], [0])
    assert np.isclose(health(b.trace()).not_modelled, spent(b.trace(), [0, 1, 5]))


def spent(trace, calls):
    """Return the share of all locations' time in some calls."""
    times, whole = trace.timeline.calls, trace.timeline.locations
    return (times.leave - times.enter)[calls].sum() / (whole.leave - whole.enter).sum()
