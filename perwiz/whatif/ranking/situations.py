"""The situation that a change is for, by what is changed and what waits there: the key of what a programmer does about it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perwiz.formats.kineto.names import GRADIENT_READY, LOADING, UNUSED
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.parts.course import course
from perwiz.trace.parts.iterations import find
from perwiz.trace.tables import NONE, THREAD
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import missing
from perwiz.whatif.hypotheses.order import RECEIVE
from perwiz.whatif.hypotheses.parts import BEHIND
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.hypotheses.teams import phases
from perwiz.whatif.limits.between import between
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.rematch.rematched import handed_out
from perwiz.whatif.run import Run

SERVING = "serving in turn"
POSTED_LATE, NOT_MOVED = ", posted late", ", not moved"
"""Behind the situation of held senders: their receives are posted by MPI_Irecv, which comes late, or which was there in time."""
_OF_KIND = {
    "serving": SERVING,
    "pauses": "pauses",
    "accumulation": "needless sums",
    "balance": "imbalance",
    "threads": "thread imbalance",
    "slowest": "slow process",
    "order": "wrong order",
    "pipeline": "pipeline bubble",
    "protocol": "held sender",
    "algorithm": "algorithm",
    "placement": "placement",
    "collective": "collective",
    "messages": "messages",
    "network": "transfer",
    "launches": "launches",
    "overlap": "overlap",
}
_OF_TRANSFER = ("collective", "network", "algorithm")
"""Kinds of changes of what collectives take to transfer data."""
_SENDS = (operations.SEND, operations.ISEND)
_RECEIVES = (operations.RECV, operations.IRECV, operations.SENDRECV)
_CHAINED = 0.25
"""Part of the waiting in which what is waited for waits itself from which on that is a chain."""
_BY_KIND = {
    operations.ONE_TO_N: "late broadcast",
    operations.N_TO_ONE: "early reduce",
    operations.PREFIX: "wait in prefix",
    operations.PROBE: "late probe",
}
_OF_OTHERS = {
    **dict.fromkeys(("shmem_set_lock", "shmem_test_lock"), "lock"),
    **dict.fromkeys(("shmem_wait_until", "shmem_test"), "late put"),
    **dict.fromkeys(("omp_critical", "omp_lock", "omp_ordered", "pthread_mutex_lock"), "lock"),
    **dict.fromkeys(("device_synchronize", "device_copy", "device_offload"), "device wait"),
    **dict.fromkeys(("omp_barrier", "omp_implicit_barrier", "omp_join", "omp_taskwait"), "thread imbalance"),
    **dict.fromkeys(("pthread_barrier_wait", "pthread_join"), "thread imbalance"),
}
_ALONE = 0.05
"""Part of what a team computes that is left for all threads but the busiest of each stretch where that one is as good as alone."""
_NEARLY = 0.9
"""Part of what a process computes behind some calls from which on it is behind one of them."""
_LITTLE = 0.1
"""Part of what calls gain that do not wait below which what is said to make them wait does not."""
_LONG = 10
"""By the median of launches, from which on one does more than launch."""
_ENDS = operations.FINALIZES
_OF_WINDOWS = {
    "MPI_Win_post": "late post",
    "MPI_Win_complete": "early wait",
    "MPI_Win_fence": "wait at fence",
    **dict.fromkeys(("MPI_Win_unlock", "MPI_Win_unlock_all"), "window lock"),
}
"""What a call on a window waits for; anything else lets MPI of its target make progress."""
BARRIERS = [operations.OP[name] for name in ("MPI_Barrier", "MPI_Ibarrier")]
BARRIERS += [operations.OP[f"shmem_{name}"] for name in ("barrier_all", "barrier", "sync_all", "sync")]
BARRIERS.append(operations.OP["dist_barrier"])


def situation(run: Run, change: Change) -> str:
    """Return the situation that a change is for, a key of the remedies; of calls that wait, that in which they wait longest.

    Of senders that are held it says if most of that is for receives that are posted without waiting for them: MPI_Irecv comes late, or has
    been there and the message did not move.
    """
    found = _situation(run, change)
    calls = _held(run, change, found)
    posts = operations.KIND[run.trace.calls.op[run.waits.partner[calls]]] == operations.IRECV
    late, never = (run.waits.time[calls[chosen]].sum() for chosen in (posts, ~_takes(run, calls)))
    half = run.waits.time[calls].sum() / 2
    return f"{found}{POSTED_LATE * bool(late > half)}{NOT_MOVED * bool(never > half)}"


def _situation(run: Run, change: Change) -> str:
    """Return that without what is said of the receives of held senders."""
    if change.kind in _OF_TRANSFER and _lacks_members(run.trace, change.calls):
        return "missing members"
    if change.kind == "collective" and change.calls is not None and np.isin(run.trace.calls.op[change.calls], BARRIERS).all():
        return "wait at barrier"
    if change.word == "zero-poll":
        return "polling"
    if change.word == "parallel":
        return "serial part"
    if change.word == "balance-threads" and _one_alone(run, change.question.partition(" ")[2]):
        return "one thread alone"
    if change.by == "setting":
        return "progress" if change.word == "progress" else "eager limit"
    if change.kind == "balance" and change.by == "step" and _stand_out(run.trace, change.question.partition(" ")[2]):
        return "iteration that stands out"
    if change.kind == "launches" and change.word == "zero-time" and change.calls is not None and _few_long(run, change.calls):
        return "first launches"
    if change.kind in ("balance", "slowest") and _hands_out(run.trace):
        return "work of a farm"
    if change.kind == "balance" and change.by == "stretch" and _once(run, change.question.partition("#")[2]):
        return "imbalance that is there once"
    if change.kind == "balance" and change.by == "site":
        return "imbalance that is there once" if _behind_one(run.trace, change.question.partition(BEHIND)[2]) else "work of one process"
    if change.kind == "slowest" and change.by in ("class", "node"):
        return "slow processes"
    if change.kind == "slowest" and change.word == "scale":
        return "process slow in a region"
    if change.kind == "threads" and change.word == "scale":
        return _of_region(change.question.partition(" ")[2])
    if change.word == "overlap":
        return "one thread communicates"
    if change.kind == "balance" and change.by != "stretch" and (run.trace.locations.kind == THREAD).any():
        return "imbalance of threads" if np.ptp(run.trace.locations.process) else "thread imbalance"
    if change.kind == "order" and change.calls is not None and _posts_late(run, change.calls):
        return "late post"
    if change.kind == "order" and change.question.endswith(f" before {RECEIVE}") and RECEIVE not in run.trace.names:
        return "late send behind a receive"
    if change.kind == "order" and " before " in change.question:
        return "late sender"
    if change.kind != "wait" or change.calls is None:
        return _OF_KIND.get(change.kind, "other wait")
    calls = change.calls[run.waits.time[change.calls] > 0]
    if not len(calls):
        return "other wait"
    key = run.trace.calls.op[calls].astype("i8") * len(operations.OPS) + run.trace.calls.op[run.waits.partner[calls]]
    keys, which = np.unique(key, return_inverse=True)
    longest = int(keys[np.bincount(which.reshape(-1), run.waits.time[calls]).argmax()])
    found = _of_wait(*divmod(longest, len(operations.OPS)))
    return "serialisation" if found == "late sender" and in_chains(run, calls) else found


def _of_region(scaled: str) -> str:
    """Return the situation of a region whose computation others could do, or nobody, given as `REGION=0`."""
    if scaled.startswith(LOADING):
        return "data loader"
    if scaled.startswith(UNUSED):
        return "unused parameters"
    return "gradient hooks" if scaled.startswith(GRADIENT_READY) else "device copy"


def cured(found: str, beside: Iterable[Change]) -> str:
    """Return the situation of a change beside which others say the same: of late receivers held senders, if it helps not to hold these."""
    return found.replace("late receiver", "held sender") if any(change.kind == "protocol" for change in beside) else found


def freed(now: int, changes: Iterable[Change]) -> int:
    """Return what a run of this makespan, ns, gains at most with changes under which messages move while their receivers compute, whatever
    limit the library has.
    """
    moving = (change for change in changes if change.kind == "protocol" and (change.by != "setting" or change.word == "progress"))
    return max((now - change.makespan for change in moving), default=0)


def moved(found: str, gain: int, alone: int) -> str:
    """Return the situation of calls that gain so much if they do not wait: of those that wait for progress that of late senders, where
    messages that move gain `alone` less than a tenth of it.
    """
    return "late sender" if found == "progress" and alone < _LITTLE * gain else found


def _hands_out(trace: Trace) -> bool:
    """Return whether processes get their work as they ask for it."""
    return bool(len(handed_out(trace).tasks.home))


def _stand_out(trace: Trace, steps: str) -> bool:
    """Return whether steps of a region, such as `item#3`, are all in iterations that take far longer than the others."""
    found = find(trace)
    if trace.part or not len(found):
        return False
    which, rows = list(course(found).exceptions), selectors.steps(trace, steps)[0]
    rows = rows[np.isin(trace.regions.location[rows], found.processes)]
    location, times = trace.regions.location[rows], trace.timeline.regions
    middle = (times.enter[rows] + times.leave[rows]) // 2
    inside = (found.begin[which][:, location] <= middle) & (middle < found.stop[which][:, location])
    return bool(len(rows)) and bool(inside.any(axis=0).all())


def _once(run: Run, number: str) -> bool:
    """Return whether a stretch between collectives, such as `3`, is there once and has much of what is uneven."""
    return number.isdigit() and int(number) - 1 in between(segments_of(run.weighted)).once()


def _behind_one(trace: Trace, calls: str) -> bool:
    """Return whether nearly all of what the process computes that computes longest behind calls, which a selector names, is behind one."""
    times, row = trace.timeline.calls, np.flatnonzero(selectors.calls(trace, calls))
    location, later = trace.calls.location[row], np.minimum(row + 1, len(trace.calls) - 1)
    ends = np.where(row + 1 < trace.first_calls[location + 1], times.enter[later], trace.timeline.locations.leave[location])
    took = ends - times.leave[row]
    longest = location == np.bincount(location, took).argmax()
    return bool(took[longest].max() >= _NEARLY * took[longest].sum())


def _few_long(run: Run, calls: I8) -> bool:
    """Return whether half of the time that some calls take is in those that take more than ten times as long as most do."""
    took = (run.trace.timeline.calls.leave - run.trace.timeline.calls.enter)[calls]
    return bool(2 * took[took > _LONG * np.median(took)].sum() >= took.sum() > 0)


def _lacks_members(trace: Trace, calls: I8 | None) -> bool:
    """Return whether among some calls, all if None, are those of collectives of which ranks are missing."""
    lacking = missing(trace)[1]
    return bool(len(lacking) and (calls is None or np.isin(calls, lacking).any()))


def _posts_late(run: Run, calls: I8) -> bool:
    """Return whether calls wait mostly for windows to be posted."""
    waits = run.waits.time[calls]
    post = run.trace.calls.op[run.waits.partner[calls]] == operations.OP["MPI_Win_post"]
    return bool(2 * waits[post & (waits > 0)].sum() > waits.sum())


def _one_alone(run: Run, region: str) -> bool:
    """Return whether in the teams of a region one thread computes nearly everything from barrier to barrier."""
    segments = segments_of(run.weighted)
    chosen = phases(segments, region)
    total, most = np.zeros(len(chosen.part), "i8"), np.zeros(int(chosen.part.max(initial=-1)) + 1, "i8")
    np.add.at(total, chosen.group, segments.length[chosen.segment])
    np.maximum.at(most, chosen.part, total)
    return bool(total.sum() - most.sum() <= _ALONE * total.sum())


def in_chains(run: Run, calls: I8) -> bool:
    """Return whether calls wait in chains: for a good part of the time what they wait for waits itself, for a third process.

        0 |--compute--| Send
        1 |   Recv (waits)   |--compute--| Send
        2 |             Recv (waits)         |      the first half while 1 waits, too: 100 of all 300 that are waited

    So it is in a third of the time of three processes in a chain, and in more of longer ones; never of two.
    """
    partner, times, waits = run.waits.partner[calls], run.trace.timeline.calls, run.waits.time
    waiting = np.flatnonzero(waits > 0)
    before = waiting[np.maximum(np.searchsorted(waiting, partner) - 1, 0)]
    location = run.trace.calls.location
    chained = (before < partner) & (location[before] == location[partner]) & (run.waits.partner[before] >= 0)
    both = np.minimum(times.leave[before], times.enter[calls] + waits[calls]) - times.enter[calls]
    return bool(both[chained & (both > 0)].sum() >= _CHAINED * waits[calls].sum())


def posted(run: Run, change: Change) -> str | None:
    """Return the call site that posts the receives that the senders among the changed calls are held by longest; None if none is."""
    calls = _held(run, change, _situation(run, change))
    calls = calls[_takes(run, calls)]
    if not len(calls):
        return None
    site_of, sites = selectors.sites(run.trace)
    return selectors.site(*sites[np.bincount(site_of[run.waits.partner[calls]], run.waits.time[calls]).argmax()])


def _held(run: Run, change: Change, found: str) -> I8:
    """Return the calls, rows, in which senders are held that a change is about, given the situation that it is for; none of others, and of
    waits none for anything but receives.
    """
    if found in ("held sender", "eager limit"):
        messages, every = run.trace.messages, change.by == "setting"
        own = None if every else selectors.calls(run.trace, change.question.partition(" ")[2])
        sent = np.ones(len(messages), bool) if own is None else own[messages.send]
        calls = np.unique(messages.send_done[sent]).astype("i8")
    else:
        calls = change.calls if found == "late receiver" and change.calls is not None else np.zeros(0, "i8")
    calls = calls[calls != NONE]
    calls = calls[(run.waits.time[calls] > 0) & (run.waits.partner[calls] >= 0)]
    return calls[_takes(run, calls)] if found == "late receiver" else calls


def _takes(run: Run, calls: I8) -> Mask:
    """Return of calls, rows, whether they wait for one that receives."""
    return np.isin(operations.KIND[run.trace.calls.op[run.waits.partner[calls]]], _RECEIVES)


def _of_wait(op: int, partner: int) -> str:
    """Return the situation of a call that waits for another, by their routines."""
    kind, other = int(operations.KIND[op]), int(operations.KIND[partner])
    if op in BARRIERS:
        return "wait at barrier"
    if op in _ENDS:
        return "wait at end"
    if operations.OPS[op] in _OF_OTHERS or not operations.OF_PROCESSES[op]:
        return _OF_OTHERS.get(operations.OPS[op], "other wait")
    if operations.ON_WINDOWS[op] and (kind == operations.OTHER or operations.OPS[op] == "MPI_Win_fence"):
        return _OF_WINDOWS.get(operations.OPS[partner], "no progress")
    if kind == operations.N_TO_N or (kind == operations.COMPLETE and other == operations.N_TO_N):
        return "wait at N x N"
    if kind in _BY_KIND or other in _BY_KIND:
        return _BY_KIND[kind] if kind in _BY_KIND else _BY_KIND[other]
    if kind in _SENDS:
        return "late receiver" if other in _RECEIVES else "progress"
    if other in (*_SENDS, operations.SENDRECV):
        return "late sender"
    if kind == other == operations.COMPLETE:
        return "progress"
    return "late receiver" if other in _RECEIVES else "other wait"
