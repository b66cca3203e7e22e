"""The machine of made-up traces: found again whatever the clocks are apart, and what a trace cannot tell named with its ends."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Builder
from perwiz.kernels.names import METAHOST, NODE
from perwiz.loggps import model_file
from perwiz.loggps.collectives import CollectiveCost
from perwiz.loggps.fit.fit import fit, fitted
from perwiz.loggps.fit.ways import with_right_clocks
from perwiz.loggps.keys import ALL_PAIRS, CONVENTIONS, PARAMETERS
from perwiz.loggps.model import Costs, Limit, Model, Sent
from perwiz.whatif.predict import predict

SIZES = (1, 64, 512, 4096, 16384, 65536)
EAGER = 4096


def conversation(shift=0, sizes=SIZES, noise=True, both=True):
    """Return a trace of two processes in turns: L 1000, o_s 200, o_r 300, O 0.1 at both ends, G 0.5, a handshake of 4 us above 4096 bytes.

    The second clock is ahead by `shift`. Receivers are early, then late. Two sends follow each other at once, 450 ns apart.
    """
    random = np.random.default_rng(5)
    build, now = Builder(2), 10**8
    for turn in range(240):
        k, late = sizes[turn % len(sizes)], turn % 5 == 2
        a = (turn // len(sizes)) % 2 if both else 0
        disturbed = int(random.exponential(400)) * (random.random() < 0.7) * noise
        ahead = (0, shift)
        waits = k > EAGER
        send, receive, wire = round(200 + 0.1 * k), round(300 + 0.1 * k), round(1000 + 0.5 * (k - 1)) + disturbed
        posted = now + 10**6 if late else now - 5000
        arrived = (max(posted, now) + 4000 if waits else now) + send + wire
        left = max(arrived, posted) + receive
        returned = (max(posted, now) + 4000 if waits else now) + send
        build.send(a, 1 - a, bytes=k, tag=turn, at=(now + ahead[a], returned + ahead[a]))
        build.recv(1 - a, a, tag=turn, at=(posted + ahead[1 - a], left + ahead[1 - a]))
        if k == 1:
            at = returned + 250
            build.send(a, 1 - a, bytes=1, tag=turn, at=(at + ahead[a], at + 200 + ahead[a]))
            build.recv(1 - a, a, tag=turn, at=(left + 10**5 + ahead[1 - a], left + 10**5 + 300 + ahead[1 - a]))
        now = max(left, returned) + 2 * 10**6
    return build.trace()


def uncompared(trace):
    """Return a trace whose clocks nobody compared."""
    return dataclasses.replace(trace, clocks_compared=False)


def way(machine, k, pairs=ALL_PAIRS):
    message = Sent(k, pairs=pairs)
    return float(machine.model.ready(message) + machine.model.receive_work(message))


def unknown(machine):
    return {each.key: each for each in machine.unknown}


EXPECTED = {"L": 1000, "o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.1, "G": 0.5}


def letters(machine, pairs=""):
    row = machine.model.rows_of(pairs)[0]
    return {letter: getattr(row, letter) for letter in EXPECTED}


def test_fitted__found_again():
    machine = fitted(conversation(noise=False))
    assert letters(machine) == pytest.approx(EXPECTED, rel=0.03)
    assert (machine.model.S, machine.model.gap) == (EAGER, "none")
    assert [way(machine, k) for k in (16384, 65536)] == [pytest.approx(5500 + 0.7 * k, rel=0.02) for k in (16384, 65536)]
    told = {each.key: (each.telling, each.against) for each in machine.estimates}
    assert told["L_ns"][1] == 0
    assert told["L_ns"][0] > 100


def test_fitted__noise_only_makes_times_longer():
    quiet, loud = (fitted(conversation(noise=noise)) for noise in (False, True))
    assert all(way(quiet, k) <= way(loud, k) * 1.01 for k in SIZES)
    assert [way(loud, k) for k in SIZES] == [pytest.approx(way(quiet, k), rel=0.1) for k in SIZES]


@pytest.mark.parametrize("shift", [-(10**7), 777, 10**7])
def test_fitted__clocks_apart_by_a_constant_change_nothing(shift):
    expected, found = (fitted(uncompared(conversation(ahead))) for ahead in (0, shift))
    assert letters(found) == pytest.approx(letters(expected), rel=1e-3)


def test_fitted__clocks_that_nobody_compared():
    """From one process to the other it may take nothing, and all the time back: that is 2 us there and back."""
    trace = conversation(10**7, noise=False)
    found = fitted(uncompared(trace))
    assert unknown(found)["L_ns"].ends == (f"L_ns={2 * found.model.costs[0].L:.1f}", "L_ns=0.0")
    both = "messages there and back tell no more than that it takes 2.001 us both ways together"
    assert unknown(found)["L_ns"].why == f"nobody compared the clocks, or they are wrong: {both}"
    assert "L_ns" in found.model.assumed
    assert "L_ns" not in unknown(fitted(conversation(noise=False)))
    assert "L_ns" not in unknown(fitted(placed(uncompared(conversation(noise=False)), [0, 0], [0, 0])))


def test_fitted__clocks_of_one_node_are_one():
    """From 1 to 0 all messages take ten times as long, for another reason than clocks: the shorter direction counts."""
    build = Builder(2)
    for turn in range(100):
        now, a = turn * 10**7, turn % 2
        build.send(a, 1 - a, bytes=64, tag=turn, at=(now, now + 200))
        build.recv(1 - a, a, tag=turn, at=(max(now - 1000, 0), now + 1500 + 13500 * a))
    one = dataclasses.replace(build.trace(), nodes=("n",))
    one = dataclasses.replace(one, locations=dataclasses.replace(one.locations, node=np.zeros(2, "i4")))
    apart = uncompared(build.trace())
    assert [way(fitted(trace), 64) for trace in (one, build.trace(), apart)] == [1500, 1500, pytest.approx(8250)]


def test_fitted__a_direction_that_always_waited_is_no_clock():
    """What goes back waits for 10 ms of computing. Nothing comes before it is sent: the clocks are right, and one direction tells."""
    build = Builder(2)
    for turn in range(40):
        now = turn * 10**8
        build.send(0, 1, bytes=64, at=(now, now + 200))
        build.recv(1, 0, at=(max(now - 1000, 0), now + 1500))
        build.send(1, 0, bytes=64, at=(now + 2000, now + 2200))
        build.recv(0, 1, at=(now + 10**7, now + 10**7 + 300))
    assert way(fitted(build.trace()), 64) == pytest.approx(1500, rel=0.01)


def test_fitted__a_single_reversed_message_is_no_clock():
    """Rank 0 always receives 100 us late, 1 in time; one of 50 comes 1 us before it is sent: no clock is 50 us off."""
    b = Builder(2)
    for k in range(50):
        at = 1_000_000 * k
        b.send(0, 1, 8, at=(at, at + 100))
        b.recv(1, 0, at=(at - 2_000, at - 1_000) if k == 7 else (at + 200, at + 3_000))
        b.send(1, 0, 8, at=(at + 10_000, at + 10_100))
        b.recv(0, 1, at=(at + 110_000, at + 110_200))
    trace = b.trace()
    assert with_right_clocks(trace) is trace


def placed(trace, nodes, metahosts):
    """Return a trace whose locations are in these places."""
    places = dataclasses.replace(trace.locations, node=np.array(nodes, "i4"), metahost=np.array(metahosts, "i4"))
    names = tuple(f"n{row}" for row in range(max(nodes) + 1))
    return dataclasses.replace(trace, locations=places, nodes=names, metahosts=tuple(map(str, range(max(metahosts) + 1))))


def ring(latency):
    """Return messages of several sizes between four ranks, to the next and back; `latency` by pair."""
    build, now = Builder(4), 10**6
    for turn in range(240):
        k = SIZES[turn % 4]
        a, step = turn % 4, 1 if turn % 8 < 4 else 3
        b = (a + step) % 4
        arrives = now + 200 + round(latency(a, b) + 0.5 * (k - 1))
        build.recv(b, a, tag=turn, at=(now - 1000, arrives + 300))
        build.send(a, b, bytes=k, tag=turn, at=(now, now + 200))
        now += 10**6
    return build.trace()


def test_fitted__classes_of_pairs():
    """Ranks 0 and 1 are on one node, 2 and 3 on another: 1000 ns inside, 9000 between."""
    trace = placed(ring(lambda a, b: 1000 if a // 2 == b // 2 else 9000), [0, 0, 1, 1], [0] * 4)
    machine = fitted(trace)
    assert {row.pairs for row in machine.model.costs} == {"", "within-node", "between-nodes"}
    assert [way(machine, 1, pairs) for pairs in (NODE, METAHOST)] == [pytest.approx(1500, rel=0.01), pytest.approx(9500, rel=0.01)]
    assert {each.pairs for each in machine.estimates if each.key == "L_ns"} == {"within-node", "between-nodes"}


def test_fitted__places_that_cost_the_same_are_no_classes():
    machine = fitted(placed(ring(lambda a, b: 1000), [0, 0, 1, 1], [0] * 4))
    assert [row.pairs for row in machine.model.costs] == [""]


def test_fitted__pieces_by_size():
    """Up to 2048 bytes a byte takes 1 ns, above a message takes 8 us more and a byte 0.1 ns."""
    build, now = Builder(2), 10**6
    sizes = [2**exponent for exponent in range(4, 16)]
    for turn in range(40 * len(sizes)):
        k, a = sizes[turn % len(sizes)], (turn // len(sizes)) % 2
        wire = round(1000 + k if k <= 2048 else 9000 + 0.1 * k)
        build.recv(1 - a, a, tag=turn, at=(now - 1000, now + 200 + wire + 300))
        build.send(a, 1 - a, bytes=k, tag=turn, at=(now, now + 200))
        now += 10**6
    machine = fitted(build.trace())
    rows = [(row.from_bytes, row.G) for row in machine.model.costs]
    assert rows == [(0, pytest.approx(1, rel=0.01)), (4096, pytest.approx(0.1, rel=0.01))]
    assert [way(machine, k) for k in (16, 2**15)] == [pytest.approx(1516, rel=0.01), pytest.approx(9500 + 0.1 * 2**15, rel=0.01)]


def sent(build, count, size=64, took=5000):
    for turn in range(count):
        now = (turn + 1) * 10**6
        build.send(0, 1, bytes=size, tag=turn, at=(now, now + 200))
        build.recv(1, 0, tag=turn, at=(now - 1000, now + took))
    return build.trace()


def test_fitted__one_message():
    """It took 5000 ns: so long at most, and L is between 0 and that less its overheads."""
    machine = fitted(sent(Builder(2), 1))
    assert way(machine, 64) == pytest.approx(5000)
    assert unknown(machine)["L_ns"].ends == ("L_ns=3300.0", "L_ns=0.0")
    assert unknown(machine)["L_ns"].why == "no evidence: 1 message, must be 20 or more to tell"
    assert {"S_bytes", "progress", "G_ns_per_byte", "o_r_ns"} < unknown(machine).keys()


def told(machine):
    """Return the ends of all that is unknown."""
    return [end for found in unknown(machine).values() for end in found.ends]


@pytest.mark.parametrize("count", [1, 40])
def test_fitted__clocks_further_apart_than_any_message_takes(count):
    """A way of an hour is no cost that a model may have: the longest latency of one stands for it."""
    build, hour = Builder(2), 3600 * 10**9
    for turn in range(count):
        now = (turn + 1) * 10**6
        build.send(0, 1, bytes=64, tag=turn, at=(now, now + 200))
        build.recv(1, 0, tag=turn, at=(hour + now - 1000, hour + now + 5000))
    machine = fitted(build.trace())
    assert max(machine.model.costs[0].L, *(machine.model.with_changes(end).costs[0].L for end in told(machine))) == 10**12


def test_fitted__a_receiver_of_few_messages():
    """The first takes 8000 ns. Five had come when they were received, in 7000: that is work, or waiting for something else."""
    build = Builder(2)
    for turn in range(6):
        now = (turn + 1) * 10**6
        build.send(0, 1, bytes=64, tag=turn, at=(now, now + 200))
        build.recv(1, 0, tag=turn, at=(now + 10**5, now + 107_000) if turn else (now - 1000, now + 8000))
    machine = fitted(build.trace())
    assert machine.model.costs[0].o_r == 7000
    found = unknown(machine)["o_r_ns"]
    assert (found.values, found.why) == (("7000.0", "0.0"), "no evidence: 6 messages, must be 20 or more to tell")
    assert "o_r_ns" in machine.model.assumed


def test_fitted__one_size():
    machine = fitted(sent(Builder(2), 40))
    assert way(machine, 64) == pytest.approx(5000)
    assert "L_ns" not in unknown(machine)
    found = unknown(machine)["G_ns_per_byte"]
    assert found.why == "no evidence: all messages that tell are of about one size"
    assert [machine.model.with_changes(end).ready(Sent(64)) for end in found.ends] == [machine.model.ready(Sent(64))] * 2


def test_fitted__only_collectives():
    """The last comes at 3000, the last leaves at 9000: two rounds of four processes take no longer. One alone waits for nobody."""
    build = Builder(4)
    build.everyone("Barrier", comm=build.comm("alone", [0]), at={0: (0, 10)})
    for turn in range(3):
        now = (turn + 1) * 10**5
        build.barrier(at=[(now + 1000 * rank, now + 9000 + 100 * turn) for rank in range(4)])
    machine = fitted(build.trace())
    assert unknown(machine)["L_ns"].ends == ("L_ns=3000.0", "L_ns=0.0")
    assert unknown(machine)["L_ns"].why == "no evidence: no process sends to another; a round of the fastest collective took no longer"
    assert (machine.model.costs[0].L, "L_ns" in machine.model.assumed) == (2500, True)


def test_fitted__only_barriers_of_threads():
    """What the threads of a process wait for each other bounds no latency."""
    build = Builder(2)
    worker = build.thread(0)
    build.team("omp_barrier", (0, worker), at={0: (0, 50), worker: (40, 50)})
    machine = fitted(build.trace())
    assert unknown(machine)["L_ns"].why == "no evidence: no process sends to another, nor do all wait for each other"


def test_fitted__nothing_at_all():
    build = Builder(2)
    build.call(0, "Comm_rank", at=(0, 10))
    machine = fitted(build.trace())
    assert unknown(machine)["L_ns"].why == "no evidence: no process sends to another, nor do all wait for each other"


def test_fitted__a_collective_bounds_what_messages_do_not_tell():
    """Rank 0 sends whenever rank 1 has 15 us to compute, so any latency up to that would explain it; but a barrier of two takes 700 ns."""
    build = Builder(2)
    for turn in range(40):
        now = 10**6 * (turn + 1)
        build.send(0, 1, bytes=5000, tag=turn, at=(now, now + 15_100))
        build.recv(1, 0, tag=turn, at=(now + 15_000, now + 15_090))
        build.barrier(at=[(now + 50_000, now + 50_700)] * 2)
    assert unknown(fitted(build.trace()))["L_ns"].values == ("700.0", "0.0")


def test_fitted__without_messages_nothing_tells_any_cost():
    """Nothing of the default model is said to be fitted: what nothing tells is listed, and its source named."""
    build = Builder(2)
    build.barrier(at=[(0, 3000), (1000, 3000)])
    machine = fitted(build.trace())
    assert {"L_ns", "o_s_ns", "o_r_ns", "G_ns_per_byte", "S_bytes", "progress", "gap"} <= unknown(machine).keys()
    assert set(machine.model.assumed) == {*PARAMETERS, *CONVENTIONS}
    assert machine.model.source == (
        "fitted to a run without messages; where a change makes some, their costs are assumed, at most those of: LogGOPSim, defaults of"
        " its command line (simulator.ggo)"
    )


def test_fitted__what_no_message_tells_is_assumed():
    """Of one size, each received at once: no byte's cost, no receiving, no limit. All else is told."""
    machine = fitted(sent(Builder(2), 40))
    told = {"L_ns", "o_s_ns"}
    assert set(machine.model.assumed) == {*PARAMETERS, *CONVENTIONS} - told


def test_fitted__a_bound_of_nothing_is_no_bound():
    """All calls are instants and all messages come late: between 0 and 0 there is nothing to vary."""
    build = Builder(2)
    for turn in range(3):
        build.send(0, 1, bytes=8, tag=turn, at=(1000 * turn, 1000 * turn))
        build.recv(1, 0, tag=turn, at=(1000 * turn, 1000 * turn))
    assert unknown(fitted(build.trace()))["L_ns"].ends == ()


def exchange(latency, turns, hold=12_000_000, begin=0, build=None):
    """Two processes exchange messages that move only when both are in MPI again: posted, `hold` ns of computing, a wait of 5000 + L."""
    build = build or Builder(2)
    for turn in range(turns):
        now = begin + turn * (hold + 10**6)
        for rank in (0, 1):
            receive = build.irecv(rank, 1 - rank, at=(now, now + 100))
            send = build.isend(rank, 1 - rank, bytes=100_000, at=(now + 150, now + 250))
            build.waitall(rank, receive, send, at=(now + hold, now + hold + 5000 + latency))
    return build


def test_fitted__a_halo_that_waited_for_its_receivers():
    """All 80 messages came when their receivers had computed for 12 ms: that is no latency, but the evidence is bad."""
    machine = fitted(exchange(1000, 40).trace())
    assert machine.model.costs[0].L <= 2500
    found = unknown(machine)["L_ns"]
    expected = "bad evidence: 80 of 80 messages waited for a process that computed, or for another request of the same call"
    assert (found.why, found.ends) == (expected, ("L_ns=12005850.0", "L_ns=0.0"))


def test_fitted__some_evidence_is_enough():
    """Thirty turns in which nobody computes tell the latency; the others do not change it."""
    mixed = fitted(exchange(1000, 40, begin=10**9, build=exchange(1000, 30, hold=300)).trace())
    alone = fitted(exchange(1000, 30, hold=300).trace())
    assert way(mixed, 100_000) == way(alone, 100_000)


OWN = Model(
    name="own",
    source="measured",
    assumed=("s_bytes",),
    costs=(Costs(L=700, o_s=100, o_r=100, g=10, G=0.25, O_s=0, O_r=0, s=0),),
    limits=(Limit(8192),),
    request_overheads=3,
    acknowledge_overheads=2,
    gap="sending call",
    progress="in calls",
)


def test_fitted__what_was_measured_tells_the_rest():
    machine = fitted(sent(Builder(2), 1), OWN)
    assert machine.unknown == ()
    assert dataclasses.replace(machine.model, name="own", source="measured", assumed=OWN.assumed) == OWN


def test_fitted__the_trace_goes_before_what_was_measured():
    """Its limit of 8192 bytes the trace does not rule out: there 4096 are let go, 16384 held."""
    machine = fitted(conversation(noise=False), OWN)
    assert letters(machine) == pytest.approx(EXPECTED, rel=0.03)
    assert (machine.model.S, machine.model.inline_bytes, machine.model.source[-8:]) == (8192, 10**12, "measured")
    small = fitted(conversation(noise=False), dataclasses.replace(OWN, limits=(Limit(64),)))
    assert small.model.S == EAGER


def held(sizes):
    """Return messages that held their sender until its receiver came, or did not, if they are short."""
    build = Builder(2)
    for turn in range(40):
        now, k = 10**6 * (turn + 1), sizes[turn % len(sizes)]
        build.send(0, 1, bytes=k, tag=turn, at=(now, now + (10**5 + 500 if k > 100 else 200)))
        build.recv(1, 0, tag=turn, at=(now + 10**5, now + 10**5 + 900))
    return build.trace()


@pytest.mark.parametrize("sizes", [(10**6,), (64, 10**6, 9000, 20000)])
def test_fitted__a_measured_limit_survives_what_does_not_contradict_it(sizes):
    """Senders of 20000 bytes and of a million are held, those of 64 not: 8192 was measured, and may be."""
    machine = fitted(held(sizes), OWN)
    assert machine.model.S == 8192
    assert "S_bytes" not in unknown(machine)
    assert [each.value for each in machine.estimates if each.key == "S_bytes"] == [8192]


def test_fitted__a_measured_size_of_what_is_sent_in_place_survives():
    """Of 512 bytes most are held until their receiver is in some call: 256 was measured, and nothing is shorter here."""
    build = Builder(2)
    for turn in range(40):
        now = 10**6 * (turn + 1)
        build.send(0, 1, bytes=512, tag=turn, at=(now, now + (50_300 if turn % 4 else 200)))
        build.call(1, "Iprobe", at=(now + 50_000, now + 50_100))
        build.recv(1, 0, tag=turn, at=(now + 10**5, now + 10**5 + 900))
    machine = fitted(build.trace(), OWN.with_changes("inline_bytes=256"))
    assert (machine.model.inline_bytes, "inline_bytes" in unknown(machine)) == (256, False)
    machine = fitted(build.trace())
    assert unknown(machine)["inline_bytes"].values == ("0", "511")
    assert "inline_bytes" in machine.model.assumed


def test_fitted__measured_collectives_survive_a_run_without_them():
    """Of the barrier the run tells another cost, gathering it does not do."""
    build = Builder(2)
    for turn in range(8):
        build.barrier(at=[(10**6 * turn, 10**6 * turn + 700)] * 2)
    costs = tuple(CollectiveCost(name, 2, "all", 0, 5000.0, 0.0) for name in ("MPI_Allgather", "MPI_Barrier"))
    found = fitted(build.trace(), dataclasses.replace(OWN, collectives=costs)).model.collectives
    assert [(each.routine, each.first_ns) for each in found] == [("MPI_Allgather", 5000), ("MPI_Barrier", 700)]


def test_fitted__measured_sizes_survive_messages_that_are_shorter():
    """From 50000 bytes on a byte was measured to take 0.1 ns: messages of at most 4096 tell nothing of that."""
    row = dataclasses.replace(OWN.costs[0], from_bytes=50_000, G=0.1, L=9000)
    machine = fitted(conversation(sizes=(1, 64, 512, 4096), noise=False), dataclasses.replace(OWN, costs=(*OWN.costs, row)))
    assert [(each.from_bytes, each.G) for each in machine.model.costs] == [(0, 0.5), (4097, 0.25), (50_000, 0.1)]
    assert letters(machine) == pytest.approx(EXPECTED, rel=0.03)


@st.composite
def machines(draw):
    whole = st.integers(100, 5000)
    return draw(whole), draw(whole), draw(whole), draw(st.sampled_from((0.0, 0.05, 0.4))), draw(st.integers(0, 20))


@pytest.mark.parametrize(("limit", "expected"), [(4040, (4040, 511)), (500, (500, 10**12))])
def test_fitted__what_was_measured_tells_what_is_sent_in_place(limit, expected):
    """All of 512 bytes are held until their receivers come back: by a limit below, or in place if the measured one is above."""
    b = Builder(2)
    for k in range(10):
        at = 100_000 * k
        got, sent = b.irecv(1, 0, at=(at, at + 1)), b.isend(0, 1, 512, at=(at + 10, at + 11))
        b.wait(0, sent, at=(at + 20, at + 50_050))
        b.wait(1, got, at=(at + 50_000, at + 50_100))
    machine = fitted(b.trace(), model_file.load("default").with_changes(f"S_bytes={limit}"))
    assert (machine.model.S, machine.model.inline_bytes) == expected
    assert "S_bytes" not in [each.key for each in machine.unknown]


@given(machines(), st.permutations(range(4)))
def test_fitted__law__the_model_a_run_was_made_under(made, rank):
    """Runs of early and late receivers under L, o_s, o_r, G and a limit give these back; renaming ranks changes nothing."""
    latency, o_s, o_r, slope, _ = made
    found = [fitted(random_run(made, order)) for order in (range(4), rank)]
    assert found[0].model == found[1].model
    row = found[0].model.costs[0]
    assert (row.o_s, row.o_r) == (pytest.approx(o_s, abs=1), pytest.approx(o_r, abs=1))
    assert way(found[0], 1) == pytest.approx(latency + o_s + o_r, rel=0.03, abs=3)
    assert way(found[0], 4000) == pytest.approx(latency + o_s + o_r + slope * 3999, rel=0.03, abs=3)


def random_run(made, rank):
    """Return messages of ranks that are renamed, under L, o_s, o_r and G."""
    latency, o_s, o_r, slope, seed = made
    random, build, now = np.random.default_rng(seed), Builder(4), 10**6
    for turn in range(240):
        a, b = random.choice(4, 2, replace=False).tolist()
        k = int(random.choice((1, 10, 200, 1000, 4000)))
        late = int(random.choice((0, 0, 10**5)))
        posted = now - 5000 if not late else now + late
        left = max(posted, now + o_s + latency + round(slope * (k - 1))) + o_r
        build.send(rank[a], rank[b], bytes=k, tag=turn, at=(now, now + o_s))
        build.recv(rank[b], rank[a], tag=turn, at=(posted, left))
        now += 10**6
    return build.trace()


def test_fit__senders_and_what_was_seen():
    found = fit(conversation(noise=False))
    assert [(each.bytes, bool(each.free), bool(each.held)) for each in found.senders] == [(k, k <= EAGER, k > EAGER) for k in SIZES]
    assert (found.seen[0].eager.size.tolist(), found.seen[0].waiting.size.tolist()) == ([1, 64, 512, 4096], [16384, 65536])


def test_fit__the_file_of_its_model_answers_the_same(tmp_path):
    model = fitted(conversation()).model
    path = tmp_path / "m.toml"
    path.write_text(model_file.text(model), encoding="utf-8")
    one, other = (predict(conversation(), ["zero-wait all"], each) for each in (model, str(path)))
    assert one.predicted.makespan == other.predicted.makespan
    assert model_file.load(str(path)) == model


def test_fitted__without_waits():
    """All messages had come long before they were received, in 300 ns: o_r is known, L is less than any way.

    Of the first nobody knows what its receiver did before.
    """
    build = Builder(2)
    for turn in range(40):
        now = turn * 10**7
        build.send(0, 1, bytes=64, tag=turn, at=(now, now + 200))
        build.recv(1, 0, tag=turn, at=(now + 10**6, now + 10**6 + 300))
    machine = fitted(build.trace())
    assert letters(machine)["o_r"] == 300
    assert (unknown(machine)["L_ns"].ends, letters(machine)["L"]) == (("L_ns=1000300.0", "L_ns=0.0"), 2500)
    assert unknown(machine)["L_ns"].why.startswith("bad evidence: 39 of 40 messages waited for a process that computed")


@given(st.integers(2, 4), st.integers(0, 3), st.integers(0, 99))
def test_fitted__never_refuses(processes, messages, seed):
    """Few messages of any sizes, clocks that disagree by anything, calls in any order."""
    random, build = np.random.default_rng(seed), Builder(processes)
    ahead = random.integers(0, 10 ** int(random.integers(1, 9)), processes).tolist()
    for turn in range(messages):
        a, b = random.choice(processes, 2, replace=False).tolist()
        now = 10**10 + turn * 10**6
        build.send(a, b, bytes=int(random.integers(0, 10**6)), tag=turn, at=(now + ahead[a], now + ahead[a] + 10))
        build.recv(b, a, tag=turn, at=(now + ahead[b] - 5, now + ahead[b] + int(random.integers(0, 1000))))
    machine = fitted(build.trace())
    keys = unknown(machine)
    assert {"S_bytes", "progress"} <= keys.keys()
    assert "L_ns" in keys
    for each in machine.unknown:
        for end in each.ends:
            assert len(machine.model.with_changes(end).costs) == len(machine.model.costs)


def test_ways_that_get_much_longer():
    """Ways of 100 ns for 1000 bytes, of a ns a byte beyond: the line is 899 below 0 at one byte, but there is no time less than none."""
    b = Builder(2)
    for k in range(80):
        begin, size, way = 10_000 * k, *((1000, 100), (2000, 2000), (3000, 3000), (4000, 4000))[k % 4]
        b.send(0, 1, bytes=size, at=(begin, begin + 50))
        b.recv(1, 0, at=(begin, begin + way))
    row = fitted(b.trace()).model.costs[0]
    assert min(row.o_s, row.o_r, row.O_s, row.O_r, row.L, row.G) >= 0
