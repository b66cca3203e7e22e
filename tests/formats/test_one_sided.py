"""What one-sided calls wait for, worked by hand: windows, groups, locks and progress. Times in units of 1000 ns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Builder
from perwiz.formats import one_sided
from perwiz.trace.tables import LINKS


class Program(Builder):
    """Calls on the windows of the world, of which the first is the one that nothing else is said of."""

    def __init__(self, processes, nodes=None, clocks=None):
        super().__init__(processes)
        self.groups, self.exclusive = [], []
        self.nodes, self.clocks = nodes or [0] * processes, clocks or [0] * processes

    def on(self, rank, name, enter, leave, to=-1, window=0):
        """A call on a window; `to` is its target."""
        return self.call(rank, name, at=(enter * 1000, leave * 1000), peer=to, tag=window, comm=0)

    def opens(self, rank, name, enter, leave, *group, window=0):
        call = self.on(rank, f"Win_{name}", enter, leave, window=window)
        self.groups += [(call, process) for process in group]
        return call

    def lock(self, rank, enter, leave, to, exclusive=True, window=0):
        call = self.on(rank, "Win_lock", enter, leave, to, window)
        self.exclusive += [call] * exclusive
        return call

    def tied(self, *named):
        """Return the links, kind and names of both calls; `named` are the calls that have names here, in the order of the alphabet."""
        trace = self.trace()
        places = one_sided.Places(*(np.array(column, "i4") for column in (trace.locations.process, self.nodes, self.clocks)))
        call, process = zip(*self.groups, strict=True) if self.groups else ((), ())
        groups = one_sided.Groups(np.array([one.row for one in call], "i4"), np.array(process, "i4"))
        exclusive = np.array([one.row for one in self.exclusive], "i4")
        found = one_sided.links(trace.calls, trace.timeline.calls, places, groups, exclusive)
        name = {call.row: chr(ord("a") + k) for k, call in enumerate(named)}
        rows = zip(found.kind.tolist(), found.cause.tolist(), found.effect.tolist(), strict=True)
        return sorted((LINKS[kind], name.get(cause, cause), name.get(effect, effect)) for kind, cause, effect in rows)


def exposure(blocked, clocks=None, accesses=True):
    """Rank 1 posts at 20 what rank 0 opens at 1; `blocked` is the call of rank 0 that returns at 21. Returns what there is."""
    b = Program(2, clocks=clocks)
    late = ("Win_start", "Put", "Win_complete").index(blocked)
    leave = [2 * k + 2 if k < late else 21 + 2 * (k - late) for k in range(3)]
    enter = [1, *(time + 1 for time in leave[:2])]
    start = b.opens(0, "start", enter[0], leave[0], 1)
    put = b.on(0, "Put", enter[1], leave[1], to=1) if accesses else start
    complete = b.on(0, "Win_complete", enter[2], leave[2])
    post = b.opens(1, "post", 20, 21, 0)
    wait = b.on(1, "Win_wait", 22, 40)
    return b.tied(post, start, put, complete, wait)


def test_post__the_call_that_was_open():
    """a posts at 20: b (start), c (put) or d (complete) is open then. The wait e returns behind d."""
    assert exposure("Win_start") == [("complete", "d", "e"), ("post", "a", "b")]
    assert exposure("Put") == [("complete", "d", "e"), ("post", "a", "c")]
    assert exposure("Win_complete") == [("complete", "d", "e"), ("post", "a", "d")]


def test_post__where_clocks_differ():
    """Nobody knows which call was open: where something was accessed it is the last that can be; else none need be."""
    assert exposure("Win_start", clocks=[0, 1]) == [("complete", "d", "e"), ("post", "a", "d")]
    assert ("post", "a", "d") not in exposure("Win_start", clocks=[0, 1], accesses=False)


def test_post__contradicted_by_the_times():
    """All calls of rank 0 returned before rank 1 posts: an access makes it sure that the clocks are wrong; without one it is open."""
    for accesses, expected in ((True, [("complete", "b", "c"), ("post", "a", "b")]), (False, [("complete", "b", "c")])):
        b = Program(2)
        b.opens(0, "start", 1, 2, 1)
        if accesses:
            b.on(0, "Put", 3, 4, to=1)
        complete = b.on(0, "Win_complete", 5, 6)
        post, wait = b.opens(1, "post", 20, 21, 0), b.on(1, "Win_wait", 22, 23)
        assert b.tied(post, complete, wait) == expected


def test_groups__of_several_and_again():
    """Rank 0 opens to 1 and 2, then to 2 alone: the second post of 2 goes with the second start, that of 1 with the first."""
    b = Program(3)
    one, done = b.opens(0, "start", 1, 12, 1, 2), b.on(0, "Win_complete", 13, 14)
    two, over = b.opens(0, "start", 30, 31, 2), b.on(0, "Win_complete", 32, 33)
    first, wait = b.opens(1, "post", 10, 11, 0), b.on(1, "Win_wait", 12, 15)
    second, waits = b.opens(2, "post", 5, 6, 0), b.on(2, "Win_wait", 7, 15)
    third, last = b.opens(2, "post", 25, 26, 0), b.on(2, "Win_wait", 27, 34)
    found = b.tied(one, done, two, over, first, wait, second, waits, third, last)
    assert found == [
        *(("complete", "b", "f"), ("complete", "b", "h"), ("complete", "d", "j")),
        *(("post", "e", "a"), ("post", "g", "a"), ("post", "i", "c")),
    ]


def test_groups__windows_apart():
    """Rank 0 has two windows open at once; each post goes with the start on its own, whichever comes first."""
    b = Program(2)
    b.opens(0, "start", 1, 2, 1, window=0), b.opens(0, "start", 3, 4, 1, window=1)
    other, one = b.on(0, "Win_complete", 5, 21, window=1), b.on(0, "Win_complete", 22, 31, window=0)
    posts, later = b.opens(1, "post", 20, 21, 0, window=1), b.opens(1, "post", 30, 31, 0, window=0)
    wait, last = b.on(1, "Win_wait", 32, 33, window=0), b.on(1, "Win_wait", 34, 35, window=1)
    found = b.tied(other, one, posts, later, wait, last)
    assert found == [("complete", "a", "f"), ("complete", "b", "e"), ("post", "c", "a"), ("post", "d", "b")]


def test_wait__that_tests():
    """The test that found the exposure over is the last one before the next post; without an end there is nothing to tie."""
    b, complete = Program(2), []
    for begin in (0, 20, 40):
        b.opens(0, "start", begin + 1, begin + 2, 1)
        complete.append(b.on(0, "Win_complete", begin + 3, begin + 10))
    b.opens(1, "post", 0, 1, 0), b.on(1, "Win_test", 2, 3)
    tests = b.on(1, "Win_test", 11, 12)
    b.opens(1, "post", 20, 21, 0)
    waits = b.on(1, "Win_wait", 22, 31)
    b.opens(1, "post", 40, 41, 0)
    assert [link for link in b.tied(*complete, tests, waits) if link[0] == "complete"] == [("complete", "a", "d"), ("complete", "b", "e")]


def locked(kinds, blocks="Win_lock"):
    """Rank k < 3 locks the window of rank 3, exclusively where kinds has an X: 0 from 1 to 20, 1 and 2 come at 5 and have it in turn."""
    b, named = Program(4), []
    b.call(3, "Barrier", at=(0, 100_000))
    for rank, (begin, has, releases) in enumerate(((1, 2, 20), (5, 21, 30), (5, 31, 40))):
        waits = blocks == "Win_lock"
        lock = b.lock(rank, begin, has if waits else begin + 1, 3, kinds[rank] == "X")
        put = b.on(rank, "Put", has + 1 if waits else begin + 2, has + 2, to=3)
        named += [lock, put, b.on(rank, "Win_unlock", releases, releases + 1, to=3)]
    return b.tied(*named)


def test_lock__handed_over():
    """Calls a b c of rank 0, d e f of 1, g h i of 2: the release c to the lock d, f to g; the put where that is what waits."""
    assert locked("XXX") == [("lock", "c", "d"), ("lock", "f", "g")]
    assert locked("XXX", "Put") == [("lock", "c", "e"), ("lock", "f", "h")]


def test_lock__shared():
    """Those who share wait for the exclusive one before them, the exclusive one for all before it; who share do not conflict."""
    assert locked("XSS") == [("lock", "c", "d"), ("lock", "c", "g")]
    assert locked("SSX") == [("lock", "c", "g"), ("lock", "f", "g")]
    assert locked("SXS") == [("lock", "c", "d"), ("lock", "f", "g")]
    assert locked("SSS") == []


def test_lock__of_all_targets():
    """A lock of all, which is shared, counts at the targets that are accessed: 2 is, 1 is not."""
    b = Program(4)
    b.call(1, "Barrier", at=(0, 100_000)), b.call(2, "Barrier", at=(0, 100_000))
    b.on(0, "Win_lock_all", 1, 2), b.on(0, "Get", 3, 4, to=2)
    released = b.on(0, "Win_unlock_all", 20, 21)
    b.lock(3, 5, 6, 1), b.on(3, "Win_unlock", 7, 8, to=1)
    lock = b.lock(3, 9, 21, 2)
    b.on(3, "Win_unlock", 22, 23, to=2)
    assert b.tied(released, lock) == [("lock", "a", "b")]


def test_lock__windows_and_clocks_apart():
    for window, clocks, expected in ((0, [0, 0, 0], [("lock", "a", "b")]), (1, [0, 0, 0], []), (0, [0, 1, 0], [])):
        b = Program(3, clocks=clocks)
        b.call(2, "Barrier", at=(0, 100_000))
        b.lock(0, 1, 2, 2), b.on(0, "Put", 2, 3, to=2)
        released = b.on(0, "Win_unlock", 20, 21, to=2)
        lock = b.lock(1, 5, 21, 2, window=window)
        b.on(1, "Win_unlock", 22, 23, to=2, window=window)
        assert b.tied(released, lock) == expected


@st.composite
def epochs(draw):
    """Programs of three processes that lock, access and unlock windows of each other, at any times and in any order."""
    b, time = Program(3, nodes=draw(st.sampled_from([None, [0, 1, 1]]))), st.integers(0, 9)
    b.epochs = []
    for rank in range(3):
        now = 0
        for _ in range(draw(st.integers(0, 4))):
            target, window, exclusive = draw(st.integers(0, 2)), draw(st.integers(0, 1)), draw(st.booleans())
            stamps = np.cumsum([now + 1, *(draw(time) for _ in range(5))]).tolist()
            lock = b.lock(rank, *stamps[:2], target, exclusive, window)
            get = b.on(rank, "Get", *stamps[2:4], target, window)
            unlock = b.on(rank, "Win_unlock", *stamps[4:], target, window)
            b.epochs.append((rank, (window, target), exclusive, (lock, get, unlock)))
            now = stamps[-1]
            if draw(st.booleans()):
                b.call(rank, "Barrier", at=((now + 1) * 1000, (now + 3) * 1000))
                now += 3
    return b


def handed_over(epochs):
    """Return the links of locks, epoch by epoch: each with those before it that it conflicts with, back to the last exclusive one."""
    found = set()
    for _, where, exclusive, calls in epochs:
        release = calls[2].at[1], calls[2].row
        before = sorted(
            (
                (other[3][2].at[1], other[3][2].row, other)
                for other in epochs
                if other[1] == where and (other[3][2].at[1], other[3][2].row) < release
            ),
            key=lambda one: one[:2],
        )
        last = next((k for k in reversed(range(len(before))) if before[k][2][2]), 0)
        conflicting = [one[2] for one in before[last:] if one[2][2] or exclusive]
        shared = [one for one in conflicting if not one[2]]
        for other in shared if exclusive and shared else conflicting:
            effect = next((call for call in calls if call.at[1] >= other[3][2].at[0]), None)
            if other[3][2].rank != calls[0].rank and effect is not None:
                found.add((other[3][2].row, effect.row))
    return found


@pytest.mark.slow
@given(epochs())
def test_lock__as_by_hand(b):
    """Whatever waits for a lock does so as epochs one by one tell; no link says what the times do not."""
    links = b.tied()
    assert {(cause, effect) for kind, cause, effect in links if kind == "lock"} == handed_over(b.epochs)
    times = b.trace().timeline.calls
    assert all(times.enter[cause] <= times.leave[effect] for _, cause, effect in links)


def helped(target, *more, nodes=None):
    """Rank 0 gets from rank 1, which is in a barrier at `target`: lock a, get b, unlock c from 10 to 31. `more` are gets before."""
    b = Program(2, nodes)
    barriers = [b.call(1, "Barrier", at=(enter * 1000, leave * 1000)) for enter, leave in target]
    for enter, leave in more:
        b.lock(0, enter, enter, 1, False), b.on(0, "Get", enter, enter, to=1), b.on(0, "Win_unlock", enter, leave, to=1)
    lock, get = b.lock(0, 10, 11, 1, False), b.on(0, "Get", 12, 13, to=1)
    unlock = b.on(0, "Win_unlock", 14, 31, to=1)
    return b.tied(lock, get, unlock, *barriers)


def test_progress__until_the_target_calls():
    """The unlock c cannot return before the target comes to its barrier e at 30; a and b can, so they never need it."""
    assert helped([(0, 5), (30, 40)]) == [("progress", "e", "c")]
    assert helped([(0, 40)]) == []
    assert helped([(0, 5), (50, 60)]) == []


def test_progress__of_its_own():
    """An unlock returned at 8, when the target was outside since 5: here it needs nobody. One that waits says nothing against it."""
    assert helped([(0, 5), (30, 40)], (6, 8)) == []
    assert helped([(0, 5), (8, 9), (30, 40)], (6, 9)) == [("progress", "e", 2), ("progress", "f", "c")]


def test_progress__not_while_a_lock_is_held():
    """The lock b waits for the release a at 30, later than the target calls MPI at 20: that is what it waits for."""
    b = Program(3)
    b.call(2, "Barrier", at=(0, 1000)), b.call(2, "Barrier", at=(20_000, 50_000))
    b.lock(0, 1, 1, 2), b.on(0, "Put", 1, 1, to=2)
    released, lock = b.on(0, "Win_unlock", 30, 31, to=2), b.lock(1, 5, 31, 2)
    b.on(1, "Win_unlock", 32, 33, to=2)
    assert b.tied(released, lock) == [("lock", "a", "b")]


def test_progress__flush_all():
    """Rank 0 accesses 1 and 2 under a lock of all; the flush a waits for both targets: b at 20, c at 30. The unlock waits for none."""
    b = Program(3)
    b.on(0, "Win_lock_all", 6, 6)
    b.on(0, "Put", 7, 7, to=1), b.on(0, "Put", 8, 8, to=2)
    flush = b.on(0, "Win_flush_all", 10, 31)
    b.on(0, "Win_unlock_all", 32, 33)
    for rank in (1, 2):
        b.call(rank, "Barrier", at=(0, 5000))
    one, other = (b.call(rank, "Barrier", at=(10_000 * rank + 10_000, 40_000)) for rank in (1, 2))
    assert b.tied(flush, one, other) == [("progress", "b", "a"), ("progress", "c", "a")]


def test_unknown_windows():
    """Calls whose window no file tells, and traces without one, have no links."""
    b = Program(2)
    b.opens(0, "start", 1, 12, 1, window=-1), b.opens(1, "post", 10, 11, 0, window=-1)
    assert b.tied() == []
