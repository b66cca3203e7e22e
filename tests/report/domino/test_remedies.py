"""Which situation a change is for, and that each has a remedy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model
from perwiz.formats import files
from perwiz.report.domino import remedies
from perwiz.report.domino.remedies import OF_TRAINING, REMEDIES, remedy, straggler
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.ranking import WORDS, ranking, waits
from perwiz.whatif.ranking.asked import change_of
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.situations import posted, situation
from perwiz.whatif.run import replayed
from samples import TRACES


def situations(trace, kind, by="site"):
    """Return the situations of the changes of a kind."""
    found = ranking.rank(replayed(trace, hand_model(), clock="none"), [kind], by)
    return {situation(found.run, change) for change in found.changes}


def late(routine, root=None):
    """Return a run of two in which one process comes 1000 late to a collective; who waited for it ends last."""
    b = Builder(2, work=0)
    b.compute(0 if root == 0 and routine == "Bcast" else 1, 1000)
    b.everyone(routine, root=root)
    for rank in (0, 1):
        b.compute(rank, 500 if rank == 0 else 10)
    b.compute(1 if routine == "Bcast" else 0, 1000)
    return b.trace()


@pytest.mark.parametrize(
    ("routine", "root", "said"),
    [
        ("Barrier", None, "wait at barrier"),
        ("Allreduce", None, "wait at N x N"),
        ("Bcast", 0, "late broadcast"),
        ("Reduce", 0, "early reduce"),
    ],
)
def test_waits_in_collectives(routine, root, said):
    assert situations(late(routine, root), "wait") == {said}


def test_waits_for_messages():
    assert situations(CATALOGUE["late_sender"](), "wait") == {"late sender"}
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.recv(1, 0)
    assert situations(b.trace(), "wait") == {"late receiver"}
    assert situations(b.trace(), "protocol") == {"held sender"}


@pytest.mark.parametrize(
    ("waits", "kind", "partner", "said"),
    [
        ("Win_start", "post", "Win_post", "late post"),
        ("Put", "post", "Win_post", "late post"),
        ("Win_wait", "complete", "Win_complete", "early wait"),
        ("Win_lock", "lock", "Win_unlock", "window lock"),
        ("Win_unlock", "progress", "Barrier", "no progress"),
    ],
)
def test_waits_on_windows(waits, kind, partner, said):
    b = Builder(2, work=0)
    b.compute(1, 1000)
    b.link(kind, b.call(1, partner), b.call(0, waits))
    b.compute(0, 1000)
    assert situations(b.trace(), "wait") == {said}


def test_waits_at_fences():
    assert situations(late("Win_fence"), "wait") == {"wait at fence"}


def chain(processes, steps=3):
    """Return a run in which each process needs what the one before it has computed for 100, step by step."""
    b = Builder(processes, latency=12, per_byte=0, work=0)
    for _ in range(steps):
        for rank in range(processes):
            if rank:
                b.recv(rank, rank - 1)
            b.compute(rank, 100)
            if rank < processes - 1:
                b.send(rank, rank + 1)
        b.barrier()
    return b.trace()


def in_turn():
    """Return a run of two that wait for each other in turn: that an earlier send cures."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(3):
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 100)
        b.send(1, 0)
        b.recv(0, 1)
    return b.trace()


def test_a_chain_is_to_be_cut_into_pieces():
    """Of three processes the third waits 224 a step, in 112 of which the second waits itself: of 336 a third. Of two nobody does."""
    found = ranking.rank(replayed(chain(3), hand_model(), clock="none"), ["wait"])
    change = next(change for change in found.changes if change.question == "zero-wait site:MPI_Recv")
    assert situation(found.run, change) == "serialisation"
    assert REMEDIES["serialisation"].startswith("cut the work into pieces, and send each")
    assert "serialisation" not in situations(chain(2), "wait")
    assert situations(in_turn(), "wait") == {"late sender"}


def held():
    """Return a run whose rank 0 sends 200 bytes from its region `give`, which rank 1 posts the receive of 1000 later, in `take`."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    with b.region(0, "give"):
        b.send(0, 1, 200)
    b.compute(0, 1000)
    with b.region(1, "take"):
        b.recv(1, 0)
    return b.trace()


def test_where_the_receive_is_posted():
    found = ranking.rank(replayed(held(), hand_model(), clock="none"))
    told = {change.question: posted(found.run, change) for change in found.changes}
    assert told["zero-wait e0"] == told["eager site:MPI_Send@give"] == told["eager all"] == "MPI_Recv@take"
    found = ranking.rank(replayed(chain(3), hand_model(), clock="none"), ["wait"])
    assert {posted(found.run, change) for change in found.changes} == {None}


@pytest.mark.parametrize(
    ("computes", "model", "said"),
    [
        ((1000, 0), {}, ("late receiver, posted late", "held sender, posted late", "eager limit, posted late", "MPI_Irecv")),
        ((0, 1000), {"progress": "in calls", "inline_bytes": 100}, ("progress", "held sender, not moved", "eager limit, not moved", None)),
    ],
)
def test_receives_that_are_posted_without_waiting(computes, model, said):
    """Rank 1 computes before MPI_Irecv, which holds the sender until then; or behind it, where it moves in calls alone."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, computes[0])
    b.send(0, 1, 200, at=(0, 1012))
    b.compute(0, 1000)
    request = b.irecv(1, 0)
    b.compute(1, computes[1])
    b.wait(1, request, at=(1000, 1012))
    found = ranking.rank(replayed(b.trace(), hand_model(**model), clock="none"))
    told = {change.question: (situation(found.run, change), posted(found.run, change)) for change in found.changes}
    asked = ("zero-wait e0", "eager site:MPI_Send", "eager 256")
    assert [told[text] for text in asked] == [(one, None if one == "progress" else said[-1]) for one in said[:-1]]
    assert all(one in REMEDIES and REMEDIES[one] != REMEDIES[one.partition(",")[0]] for one in said[:-1] if "," in one)


def test_other_kinds():
    b = Builder(2, work=40)
    b.compute(1, 1000)
    b.barrier()
    assert situations(b.trace(), "balance", "program") == {"imbalance"}
    assert situations(b.trace(), "slowest", "rank") == {"slow process"}
    assert situations(b.trace(), "collective") == {"wait at barrier"}
    b = Builder(2, work=40)
    b.everyone("Allreduce")
    assert situations(b.trace(), "collective") == {"collective"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_change_has_a_remedy(name):
    found = ranking.rank(replayed(CATALOGUE[name]()))
    for change in found.changes:
        assert change.kind in WORDS
        assert situation(found.run, change) in REMEDIES


def test_threads():
    """Process 0 alone: its thread has 8000 to do, the other 5400; and a lock that holds up the last to come to the barrier."""
    b = Builder(1, work=0)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork"), b.call(other, "omp_idle"))
    b.compute(0, 100)
    b.call(0, "omp_critical")
    b.compute(0, 6000)
    release = b.call(0, "omp_release")
    b.compute(other, 500)
    b.link("lock", release, b.call(other, "omp_critical"))
    b.compute(other, 400)
    b.team("omp_implicit_barrier", (0, other))
    b.link("join", b.call(other, "omp_idle"), b.call(0, "omp_join"))
    assert situations(b.trace(), "wait", "call") == {"lock"}
    assert situations(b.trace(), "threads", "program") == {"thread imbalance"}
    assert situations(CATALOGUE["device"](), "wait", "call") == {"device wait", "serialisation"}


def test_threads__by_kind():
    """What one thread does alone is no loop to deal out; where threads differ, another decomposition is not all there is."""
    found = ranking.rank(replayed(CATALOGUE["threads"](), hand_model(), clock="none"), ["threads", "balance"])
    told = {change.question: situation(found.run, change) for change in found.changes}
    balanced = {"balance-threads all": "thread imbalance", "parallel all": "serial part", "balance-time all": "imbalance of threads"}
    assert told == {**balanced, "overlap site:MPI_Recv": "one thread communicates"}


def test_copies_of_devices():
    b = Builder(1, work=0)
    stream = b.stream(0)
    b.link("launch", b.call(0, "device_launch"), b.call(stream, "device_idle"))
    with b.region(stream, "copy from device"):
        b.compute(stream, 700)
    b.link("done", b.call(stream, "device_idle"), b.call(0, "device_synchronize"))
    assert situations(b.trace(), "threads", "region") == {"device copy"}


def test_threads__of_one_process():
    b = Builder(1, work=0)
    other = b.thread(0)
    b.compute(0, 100)
    b.compute(other, 500)
    b.team("omp_barrier", (0, other))
    assert situations(b.trace(), "balance", "program") == {"thread imbalance"}


def test_threads__between_collectives():
    """Only processes take part in these stretches."""
    b = Builder(2, work=0)
    b.thread(0)
    b.compute(1, 1000)
    b.barrier()
    assert situations(b.trace(), "balance", "stretch") == {"imbalance"}


def test_threads__one_alone():
    """In an omp master, 1000 and 10; but not where another has more than a little of it. Kinds of a team by its barriers."""

    def of_team(*work):
        b = Builder(1, work=0)
        workers = [b.thread(0) for _ in work[1:]]
        fork = b.call(0, "omp_fork")
        for worker in workers:
            b.link("fork", fork, b.call(worker, "omp_idle"))
        for thread, ns in zip((0, *workers), work, strict=True):
            b.compute(thread, ns)
        b.team("omp_implicit_barrier", (0, *workers))
        join = b.call(0, "omp_join")
        for worker in workers:
            b.link("join", b.call(worker, "omp_idle"), join)
        return situations(b.trace(), "threads", "program")

    assert of_team(1000, 10, 40) == of_team(0, 1000, 0) == {"one thread alone"}
    assert of_team(1000, 10, 50) == {"thread imbalance"}


def test_waits_at_the_end():
    """MPI_Finalize has no non-blocking form to compute in."""
    b = Builder(2, work=0)
    b.compute(0, 1000)
    b.everyone("Finalize")
    found = replayed(b.trace(), hand_model(), clock="none")
    assert situation(found, Change("wait", "site", "zero-wait site:MPI_Finalize", "", 0, np.arange(2))) == "wait at end"


def test_imbalance_of_an_iteration_that_stands_out():
    """Rank 0 computes 1000 in the fourth of 14 steps, 120 in the ninth, else as rank 1 100: all but the fourth are alike."""
    b = Builder(2, work=0)
    for step in range(14):
        for rank in range(2):
            with b.region(rank, "step"), b.region(rank, "work"):
                b.compute(rank, 100 if rank else {3: 1000, 8: 120}.get(step, 100))
                b.call(rank, "Comm_rank")
        b.everyone("Barrier")
    found = ranking.rank(replayed(b.trace(), hand_model(), clock="none"), ["balance"], "step")
    said = {change.question: situation(found.run, change) for change in found.changes}
    assert (said["balance-time work#4"], said["balance-time work#9"]) == ("iteration that stands out", "imbalance")
    texts = ("work#4", "work#4..9", "work", "between-collectives#4", "all#1")
    asked = {text: change_of(found.run, parse(f"balance-time {text}")) for text in texts}
    assert {text: situation(found.run, change) for text, change in asked.items()} == {
        "work#4": "iteration that stands out",
        "work#4..9": "imbalance",
        "work": "imbalance",
        "between-collectives#4": "imbalance that is there once",
        "all#1": "imbalance",
    }


@pytest.mark.parametrize(
    ("first", "others", "said"), [(20, 5, "launches"), (21, 5, "first launches"), (59, 30, "launches"), (60, 30, "first launches")]
)
def test_launches__of_which_one_takes_longest(first, others, said):
    """All others take 2: one of more than 20 does more than launch, if it takes half of all."""
    b = Builder(1, work=0)
    stream = b.stream(0)
    for took in [first] + [2] * others:
        b.link("launch", b.call(0, "device_launch", work=took), b.call(stream, "device_idle"))
        b.compute(stream, 5)
    found = replayed(b.trace(), hand_model(), clock="none")
    assert situation(found, change_of(found, parse("zero-time op:device_launch"))) == said


def test_waits_for_an_offloaded_region():
    b = Builder(1, work=0)
    stream = b.stream(0)
    offload = b.call(0, "device_offload")
    b.link("launch", offload, b.call(stream, "device_idle"))
    b.compute(stream, 500)
    b.link("done", b.call(stream, "device_idle"), offload)
    b.compute(0, 900)
    assert situations(b.trace(), "wait", "call") == {"device wait"}


def test_remedy__of_training_in_the_words_of_its_library():
    """Ranks of torch.distributed are not told to call MPI; what is no different there stays."""
    training, other = (files.read(str(TRACES / name)) for name in ("training-slow", "srtest.alog"))
    assert remedy(other, "wait at N x N") == REMEDIES["wait at N x N"]
    assert remedy(training, "wait at N x N") == OF_TRAINING["wait at N x N"]
    assert remedy(training, "device wait") == REMEDIES["device wait"]
    assert set(OF_TRAINING) <= set(REMEDIES)
    assert not [text for text in OF_TRAINING.values() if "MPI" in text]


def test_waits__of_a_thread_for_its_own_process():
    """The first thread waits for the backward pass, which another one computes: no change takes that wait away."""
    run = replayed(files.read(str(TRACES / "training-slow")), clock="none")
    asked = [change.question for change in waits.changes(Asker(run))]
    assert asked
    assert not [question for question in asked if "thread_wait" in question]


def test_a_straggler_is_named_first():
    """Of a job in which rank 0 was made slow, where work is to be balanced; else, and of other remedies, nothing is."""
    job = files.read(str(TRACES / "training-job" / "steps.parquet"))
    first = "rank 0 computes 2.17 times the mean, longest in every step: replace or drain it, see --typical rank:0 and "
    first += "info --devices; else "
    assert remedy(job, "imbalance") == f"{first}{OF_TRAINING['imbalance']}"
    assert remedy(job, "messages") == OF_TRAINING["messages"]
    assert straggler(files.read(str(TRACES / "training-slow"))) == ""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([[30, 10, 10, 10]] * 2, "2.00 times the mean, longest in every step"),
        ([[30, 10, 10, 10]] * 3 + [[10, 12, 10, 10]], "1.80 times the mean, longest in 3 of 4 steps"),
        ([[30, 10, 10, 10], [10, 12, 10, 10]], ""),
        ([[20, 18, 10, 10]] * 2, ""),
        ([[11, 10, 10, 10]] * 2, ""),
    ],
)
def test_who_is_a_straggler(monkeypatch, steps, said):
    """Rank 0, where it is longest in more than half of the steps, twice as far above the mean as the next, and a tenth above it."""
    trace = Builder(2).trace()
    monkeypatch.setattr(remedies, "training_devices", lambda trace: np.ones(1, bool))
    used = SimpleNamespace(rank=np.arange(4), steps=np.array(steps))
    monkeypatch.setattr("perwiz.patterns.analysis.devices.devices", lambda trace, found: used)
    told = straggler(trace)
    assert told == (f"rank 0 computes {said}: replace or drain it, see --typical rank:0 and info --devices; else " if said else "")
