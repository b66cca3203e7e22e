"""What ALOG is written reads back as the same tables: the catalogue, real files, random traces with holes; and single causes by hand."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import equal
from perwiz.formats import files
from perwiz.formats.alog.format import ALOG
from perwiz.trace import tables
from perwiz.trace.defects import REASONS
from perwiz.whatif.health import health
from perwiz.whatif.predict import predict
from samples import SAMPLES, name_of

TIMED = [path for path in SAMPLES if path.name != "ring-ti"]
"""Without the one that has no times until its platform gives it some."""
UNREADABLE = {
    "empty": "nothing is recorded",
    "rootless_and_incomplete": "its instances mix routines, which no reader ties together",
}


def back(trace, folder, name="back.alog"):
    """Return the trace that is read where this one was written."""
    files.write(trace, str(folder / name))
    return files.read(str(folder / name))


def differences(one, other):
    """Return the names of the tables that differ."""
    names = [field.name for field in dataclasses.fields(one) if field.name not in ("path", "format", "counts")]
    return [name for name in names if not equal(getattr(one, name), getattr(other, name))]


def plain(trace):
    """Return a trace without the texts that ALOG does not hold as they are."""
    comms = dataclasses.replace(trace.communicators, names=("",) * len(trace.communicators))
    return dataclasses.replace(trace, communicators=comms, sources=(), metahosts=())


@pytest.mark.parametrize("name", [name for name in build.CATALOGUE if name not in UNREADABLE])
def test_law__catalogue(tmp_path, name):
    trace = build.CATALOGUE[name]()
    other = back(trace, tmp_path)
    assert differences(trace, other) == []
    assert predict(trace, clock="none").predicted.makespan == predict(other, clock="none").predicted.makespan


@pytest.mark.slow
@settings(max_examples=40)
@given(st.one_of(build.traces(), build.holed()))
def test_law__random_traces(tmp_path_factory, trace):
    """Awkward names are written otherwise, but stay different."""
    other = back(trace, tmp_path_factory.mktemp("random"))
    assert len({*other.names}) == len(trace.names)
    assert differences(plain(trace), plain(dataclasses.replace(other, names=trace.names))) == []


@pytest.mark.slow
@settings(max_examples=20)
@given(build.holed())
def test_law__nothing_changes_once_it_was_written(tmp_path_factory, trace):
    """Not the holes of the trace either, nor the answer."""
    folder = tmp_path_factory.mktemp("random")
    once = back(trace, folder)
    twice = back(once, folder, "again.alog.gz")
    assert (differences(once, twice), once.counts.lacking) == ([], twice.counts.lacking)
    assert health(once).holes == health(twice).holes
    assert predict(once, clock="none").predicted.makespan == predict(twice, clock="none").predicted.makespan


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in TIMED if path.is_dir() and path.name != "training-job"], ids=name_of)
def test_law__the_same_answer_from_an_archive_and_from_alog(tmp_path, path):
    """What a change is worth does not depend on the format: nothing that decides it is lost, nothing is made up."""
    archive = files.read(str(path))
    (tmp_path / "packed").mkdir()
    for other in (back(archive, tmp_path), back(archive, tmp_path / "packed", "back.alog.gz")):
        for question in ("zero-wait all", "zero-wait e100", "zero-wait rank:1"):
            if question != "zero-wait e100" or len(archive.calls) > 100:
                one, two = (predict(trace, [question]) for trace in (archive, other))
                assert (one.recorded.makespan, one.gain) == (two.recorded.makespan, two.gain)
                assert (one.health.holes, one.health.violations) == (two.health.holes, two.health.violations)


@pytest.mark.slow
@pytest.mark.parametrize("path", TIMED, ids=name_of)
def test_law__samples(tmp_path, path):
    """But for what is said not to be written; ALOG counts processes up to the last, a table of operations those that it has."""
    trace = files.read(str(path))
    other = back(trace, tmp_path)
    ranks = trace.locations.process
    without = int(ranks.max()) + 1 - len(np.unique(ranks)) - trace.counts.silent_processes
    announced = {"defects": len(trace.defects), "counters": len(trace.counters), "region_counters": len(trace.region_counters)}
    announced["counter_names"] = len(trace.counter_names)
    assert differences(plain(trace), plain(other)) == [name for name, number in announced.items() if number]
    told = {"processes that logged nothing": without} if without else {}
    assert announced["defects"] or health(trace).holes | told == health(other).holes


def test_ends__that_lost_each_other_find_no_other(tmp_path):
    """A send and a receive of one key: others took theirs, so neither is the other's, and no number of a message is taken for a tag."""
    b = build.Builder(2)
    for tag in (1, 0, 0):
        b.send(0, 1, 8, tag=tag)
    for tag in (1, 0, 0):
        b.recv(1, 0, tag=tag)
    trace = b.trace()
    rows = [field.name for field in dataclasses.fields(tables.Messages)]
    first = tables.Messages(*(getattr(trace.messages, name)[:1] for name in rows))
    crossed = dataclasses.replace(first, send=first.send + 2, send_done=first.send_done + 2, receive_done=first.receive_done + 1)
    for messages in (first, dataclasses.replace(crossed, receive=crossed.receive_done, tag=first.tag - 1)):
        holed = dataclasses.replace(trace, messages=messages)
        other = back(holed, tmp_path)
        assert (differences(holed, other), other.counts.unmatched_sends, other.counts.unmatched_receives) == ([], 2, 2)


def test_links__of_every_kind_and_several_to_a_call(tmp_path):
    """More threads than the file has order for: the rows of locations are told."""
    b = build.Builder(2)
    places = [b.thread(1), b.stream(0), b.thread(0)]
    causes = [b.call(place, "omp_release") for place in places for _ in tables.LINKS]
    effects = [b.call(rank, "omp_taskwait") for rank in (1, 0)]
    for number, cause in enumerate(causes):
        b.link(tables.LINKS[number % len(tables.LINKS)], cause, effects[number % 2])
    trace = b.trace()
    other = back(trace, tmp_path)
    assert len(other.links) == 3 * len(tables.LINKS)
    assert (other.locations.process.tolist(), other.locations.kind.tolist()) == ([0, 1, 1, 0, 0], [0, 0, 1, 2, 1])
    assert differences(trace, other) == []


def test_links__to_a_call_that_is_not_there(tmp_path):
    """Lines that say who let them go on are damaged, and so is the row of a location: all are as if they were not told."""
    path = tmp_path / "threads.alog"
    files.write(build.CATALOGUE["threads"](), str(path))
    path.write_text(path.read_text().replace("0.500 @ l=0", "0.500").replace("9.400 @ l=14", "9.400").replace("row=2", "row=3"))
    other = files.read(str(path))
    assert (other.locations.process.tolist(), other.locations.thread.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
    assert [tables.LINKS[kind] for kind in other.links.kind] == ["lock", "join", "fork"]
    assert [REASONS[reason] for reason in other.defects.reason] == ["extension attribute that cannot be used"] * 2


def test_communicators__unknown_is_not_the_world(tmp_path):
    """A collective of unknown communicator joins no instance of the world's."""
    b = build.Builder(2)
    for rank in (0, 1):
        b.call(rank, "Allreduce")
    b.barrier()
    trace = b.trace()
    other = back(trace, tmp_path)
    assert (other.calls.comm.tolist(), len(other.collectives)) == ([-1, 0, -1, 0], 1)
    assert differences(trace, other) == []


def test_ranks__of_any_size(tmp_path):
    trace = build.far(build.CATALOGUE["subcommunicators"]())
    assert differences(trace, back(trace, tmp_path)) == []


def test_partner__of_a_started_request(tmp_path):
    b = build.Builder(2)
    b.call(0, "Startall", peer=1, tag=7, comm=0)
    trace = b.trace()
    other = back(trace, tmp_path)
    assert (other.calls.peer.tolist(), other.calls.tag.tolist(), other.counts.unmatched_sends) == ([1], [7], 1)


@pytest.mark.slow
def test_regions__nested_deeper_than_any_number(tmp_path):
    b = build.Builder(1)
    for depth in range(3000):
        b.enter(0, f"r{depth % 7}")
    b.compute(0, 5)
    trace = b.trace()
    assert differences(trace, back(trace, tmp_path)) == []


@pytest.mark.slow
def test_regions__of_more_names_than_a_table_of_events_has_rows(tmp_path):
    count = (1 << 16) + 1
    trace = build.CATALOGUE["no_messages"]()
    rows, zeros = np.arange(count, dtype="i4"), np.zeros(count, "i4")
    trace = dataclasses.replace(
        trace,
        names=tuple(f"r{row}" for row in range(count)),
        parallel=np.zeros(count, bool),
        paths=tables.Paths(zeros - 1, rows),
        timeline=dataclasses.replace(trace.timeline, regions=tables.Times(*np.full((2, count), 5))),
        regions=tables.Regions(zeros, rows, zeros - 1, zeros + 1, zeros, zeros),
    )
    assert back(trace, tmp_path).names == trace.names


def everything():
    """Return a trace with texts that ALOG cannot hold."""
    trace = build.CATALOGUE["nested_regions"]()
    names = ("Größe \U0001f600", "MPI_Send", "x" * 2000)
    return dataclasses.replace(
        trace,
        names=names,
        sources=("/src/ä b.c:3", "", "b.c:4"),
        communicators=dataclasses.replace(trace.communicators, names=("",)),
        locations=dataclasses.replace(trace.locations, node=np.array([2, 0], "i4")),
        nodes=("a b", "unused", "n"),
        metahosts=("Jülich", ""),
        properties={"key": "välue " * 200, "plain": "a value", "k e y": "1"},
        counts=dataclasses.replace(trace.counts, silent_processes=3, bare=2, inferred_completions=1),
    )


def test_offsets__measured_before_the_first_record(tmp_path):
    offsets = build.table(tables.Offsets, location=[0, 0], time=[-5408, -7], offset=[0.5, -1.25], drift=[0, 0], error=[0, 0])
    trace = dataclasses.replace(build.CATALOGUE["no_messages"](), offsets=offsets)
    assert differences(trace, back(trace, tmp_path)) == []


def test_texts__that_no_line_holds(tmp_path):
    """What was named otherwise is still there, and said."""
    trace = everything()
    other = back(trace, tmp_path)
    assert other.names == ("Gr??e ?", "user_MPI_Send", "x" * 880)
    assert (other.communicators.names, other.nodes, other.sources, other.metahosts) == (("unnamed",), ("a_b", "n"), (), ())
    assert other.properties == {"plain": "a value", "k e y": "1"}
    assert other.counts.lacking == trace.counts.lacking
    assert ALOG.missing(trace) == [
        ("places where regions are defined", 2),
        ("names of metahosts", 2),
        ("names that are shortened or written otherwise", 5),
        ("properties that no line holds", 1),
    ]
    assert max(map(len, (tmp_path / "back.alog").read_bytes().splitlines())) < 1000
