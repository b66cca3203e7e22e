"""The real OTF2 archives: their counts, and calls, messages and counters as the Python reader of OTF2 shows the records."""

import collections
import functools
import pathlib
from fractions import Fraction

import numpy as np
import otf2
import pytest
from otf2 import events

import perwiz
from perwiz.trace import operations

TRACES = pathlib.Path(__file__).parents[3] / "traces"

# As in traces/README.md: processes, event records, states, messages, stand-alone events.
REAL = {
    "npb-is.S-4": (4, 675, 169, 3, 24),
    "npb-mg.S_timens-4": (4, 17708, 5756, 1776, 28),
    "ping-pong-otf2-papi": (2, 204, 42, 16, 4),
}
OWN = dict.fromkeys(("halo-before", "halo-after"), (4, 3272, 1020, 400, 0))
"""Written by perwiz."""


@functools.cache
def read(name):
    return perwiz.read(str(TRACES / name))


@functools.cache
def recorded(name):
    """Return ticks per second and (process, record) of all records, clock offsets applied."""
    with otf2.reader.open(str(TRACES / name / "traces.otf2")) as archive:
        ranks = {location.group.name: int(location.group.name.rsplit(" ", 1)[1]) for location in archive.definitions.locations}
        return archive.timer_resolution, [(ranks[location.group.name], event) for location, event in archive.events]


def of(name, kind):
    """Return (process, record) of one kind of records, in program order of each process."""
    return sorted(((rank, event) for rank, event in recorded(name)[1] if type(event) is kind), key=lambda pair: pair[0])


def nanoseconds(name):
    """Return a function from ticks to ns since the first record."""
    per_tick = Fraction(10**9, recorded(name)[0])
    start = min(event.time for _, event in recorded(name)[1])
    return lambda ticks: ((ticks - start) * per_tick + Fraction(1, 2)).__floor__()


def test_all_listed():
    assert {path.name for path in TRACES.iterdir() if [*path.glob("*.otf2")]} == {*REAL, *OWN}
    lines = [line.split("|")[1:7] for line in (TRACES / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    listed = {name.strip(" `"): tuple(map(int, counts)) for name, *counts in lines}
    archives = {f"{name}/": counts for name, counts in (REAL | OWN).items()}
    assert {name: listed[name] for name in archives} == archives


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_counts(name):
    """Everything finds its partner, and nothing is put right."""
    counts = read(name).counts
    assert (len(read(name).locations), counts.records, counts.states, len(read(name).messages)) == REAL[name][:4]
    assert (counts.sends, counts.receives, counts.unmatched_collectives, counts.incomplete_collectives) == (*REAL[name][3:4] * 2, 0, 0)
    assert (counts.size_differs, counts.inferred_completions, counts.repaired_communicators, counts.silent_processes) == (0, 0, 0, 0)
    assert (counts.rootless_collectives, counts.internal_calls, counts.bare, len(read(name).defects)) == (0, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("npb-is.S-4", "npb-mg.S_timens-4"),
        pytest.param("ping-pong-otf2-papi"),
    ],
)
def test_counts__stand_alone_events(name):
    assert read(name).counts.single_events == REAL[name][4]


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_calls__are_pairs_of_records(name):
    """Routine, enter and leave of every call and of every region, to the ns; none of these programs calls MPI inside MPI."""
    trace, ns = read(name), nanoseconds(name)
    expected = collections.defaultdict(list)
    open_at = {}
    for rank, event in recorded(name)[1]:
        if type(event) is events.Enter:
            open_at[rank, event.region.name] = event.time
        elif type(event) is events.Leave:
            expected[rank].append((ns(open_at.pop((rank, event.region.name))), ns(event.time), event.region.name))
    for table, times, name_of in (
        (trace.calls, trace.timeline.calls, [operations.OPS[op] for op in trace.calls.op]),
        (trace.regions, trace.timeline.regions, [trace.names[trace.paths.region[path]] for path in trace.regions.path]),
    ):
        found = list(zip(table.location.tolist(), times.enter.tolist(), times.leave.tolist(), name_of, strict=True))
        mpi = table is trace.calls
        assert found == [(rank, *line) for rank in sorted(expected) for line in sorted(expected[rank]) if line[2].startswith("MPI_") == mpi]


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_messages__are_pairs_of_records(name):
    """Sent and received: process, partner, tag, size and, as all are over the whole world, the same order on both sides."""
    trace = read(name)
    sent = collections.defaultdict(list)
    for rank, event in of(name, events.MpiSend):
        sent[rank, event.receiver, event.msg_tag].append(event.msg_length)
    found = collections.defaultdict(list)
    location, messages = trace.calls.location, trace.messages
    for row in range(len(messages)):
        key = location[messages.send[row]], location[messages.receive_done[row]], messages.tag[row]
        found[tuple(map(int, key))].append(int(messages.bytes[row]))
    assert found == sent
    assert sum(map(len, sent.values())) == REAL[name][3]
    assert (location[messages.receive] == location[messages.receive_done]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_collectives__are_as_recorded(name):
    """Routine and sizes of all but MPI_Finalize, which has no record in one of the archives, and MPI_Init, which is none to perwiz."""
    trace = read(name)
    inside, expected = {}, collections.defaultdict(list)
    for rank, event in recorded(name)[1]:
        if type(event) is events.Enter:
            inside[rank] = event.region.name
        elif type(event) is events.MpiCollectiveEnd and inside[rank] not in ("MPI_Init", "MPI_Finalize"):
            expected[rank].append((inside[rank], event.size_sent, event.size_received))
    found = collections.defaultdict(list)
    for location, op, sent, received in zip(
        trace.calls.location, trace.calls.op, trace.calls.bytes_sent, trace.calls.bytes_received, strict=True
    ):
        if operations.COLLECTIVE[op] and operations.OPS[op] != "MPI_Finalize":
            found[int(location)].append((operations.OPS[op], int(sent), int(received)))
    assert found == expected
    sizes = np.bincount(trace.members.collective)
    assert sizes.tolist() == trace.communicators.sizes()[trace.collectives.comm].tolist()
    assert len(trace.collectives) == {"npb-is.S-4": 37, "npb-mg.S_timens-4": 104, "ping-pong-otf2-papi": 1}[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_requests__are_posted_and_completed(name):
    trace = read(name)
    assert len(trace.requests) == len(of(name, events.MpiIrecvRequest)) == len(of(name, events.MpiIrecv))
    assert (trace.requests.completed_by > trace.requests.posted_by).all()
    assert set(operations.KIND[trace.calls.op[trace.requests.completed_by]]) <= {operations.COMPLETE, operations.TEST}


@pytest.mark.slow
def test_clocks__without_their_offsets_most_messages_would_arrive_before_they_were_sent():
    """The clocks of npb-mg.S_timens-4 are seconds apart; with the offsets, which the tables hold, none arrives so much as 50 us early."""
    trace = read("npb-mg.S_timens-4")
    calls, messages = trace.timeline.calls, trace.messages
    apart = np.zeros(len(trace.locations))
    np.maximum.at(apart, trace.offsets.location, np.abs(trace.offsets.offset))
    assert (len(trace.offsets), apart[0]) == (8, 0)
    assert (apart[1:] > 1e6).all()
    first = np.unique(trace.offsets.location, return_index=True)[1]
    local = np.rint(trace.offsets.offset[first] * 1e3).astype("i8")
    sender, receiver = (trace.calls.location[column] for column in (messages.send, messages.receive_done))
    took = calls.leave[messages.receive_done] - calls.enter[messages.send]
    assert took.min() > -50_000
    uncorrected = took - local[receiver] + local[sender]
    assert (uncorrected < 0).mean() > 0.3
    assert trace.timeline.makespan < 10**9


@pytest.mark.slow
def test_counters__of_the_ping_pong():
    """Three counters before and at the end of every MPI call: those of the metric records at these times."""
    trace = read("ping-pong-otf2-papi")
    ns = nanoseconds("ping-pong-otf2-papi")
    at = {(rank, ns(event.time)): event.values for rank, event in of("ping-pong-otf2-papi", events.Metric)}
    members = ("PAPI_TOT_CYC", "PAPI_L2_TCM", "PAPI_BR_MSP")
    assert set(trace.counter_names) == set(members)
    times, location = trace.timeline.calls, trace.calls.location
    rows = zip(trace.counters.call, trace.counters.counter, trace.counters.entered, trace.counters.returned, strict=True)
    for call, counter, entered, returned in rows:
        place = members.index(trace.counter_names[counter])
        ends = (int(times.enter[call]), entered), (int(times.leave[call]), returned)
        assert all(at[int(location[call]), time][place] == value for time, value in ends)
    assert len(trace.counters) == 3 * len(trace.calls) == 120


@pytest.mark.slow
def test_regions__of_the_ping_pong():
    """`main` is entered once on both processes, around all calls."""
    trace = read("ping-pong-otf2-papi")
    assert (trace.names, trace.regions.instance.tolist()) == (("int main(int, char**)",), [1, 1])
    assert (trace.regions.first_call.tolist(), trace.regions.end_call.tolist()) == ([0, 20], [20, 40])
    assert [source.rpartition("/")[2] for source in trace.sources] == ["ping-pong.c:5"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recorder", "node"),
    [("npb-is.S-4", "Score-P 8.4", "vm"), ("npb-mg.S_timens-4", "Score-P 8.4", "vm"), ("ping-pong-otf2-papi", "Score-P 7.1", "quartz10")],
)
def test_places(name, recorder, node):
    trace = read(name)
    assert (trace.properties["recorder"], trace.nodes, trace.metahosts) == (recorder, (node,), ("Linux",))
    assert trace.locations.process.tolist() == list(range(REAL[name][0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_communicators__the_world_is_that_of_mpi(name):
    """Score-P defines a communicator of measurement, `Process x Threads CPU Locations`, before it."""
    trace = read(name)
    assert trace.communicators.names[0] == "MPI_COMM_WORLD"
    assert {*trace.calls.comm[trace.messages.send].tolist()} == ({1} if name == "npb-mg.S_timens-4" else {0})  # 1 is a duplicate of it
