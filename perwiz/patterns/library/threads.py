"""Patterns of threads: waits in barriers, for locks, tasks and the ends of threads, and threads with nothing to do (Scalasca 2.6, KOJAK).

They need no clock correction between processes: the threads of a process share its clock. Those of barriers look at each team for itself,
nested ones too; tasks that run in a barrier are no wait, for a thread comes to it when its last task has ended.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.idle import OF_TEAMS, OF_THREADS, idle, parallel_time, routines, spread
from perwiz.patterns.library.collectives import WaitForLast
from perwiz.patterns.pattern import NOTHING, Instances, Pattern, View, instances, longest
from perwiz.patterns.severity import Cells, cells
from perwiz.trace import operations
from perwiz.trace.arrays import Mask
from perwiz.trace.tables import NONE


class WaitForLink(Pattern):
    """Time in a call until what it waits for has come about: the longest, of several."""

    awaits: ClassVar[Mask]
    """Which routines wait so, bool per op."""

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per call that waits."""
        links = view.trace.links
        row = np.flatnonzero(self.awaits[view.op[links.effect]])
        cause, call = links.cause[row], links.effect[row]
        return longest(view, call, np.minimum(view.enter[cause], view.leave[call]) - view.enter[call], cause)


class ExplicitBarrierWait(WaitForLast):
    """Time in a barrier of a team until the last thread comes."""

    name, title, of, routines = "omp_ebarrier_wait", "Wait at Barrier", "omp_ebarrier", routines("omp_barrier")
    meaning = "waiting for the last thread of the team to enter a barrier"


class ImplicitBarrierWait(WaitForLast):
    """Time in the barrier at the end of a construct until the last thread comes."""

    name, title, of, routines = "omp_ibarrier_wait", "Wait at Barrier", "omp_ibarrier", routines("omp_implicit_barrier")
    meaning = "waiting for the last thread of the team to end a construct: threads have unequal work"


class PosixBarrierWait(WaitForLast):
    """Time in a barrier of POSIX threads until the last comes."""

    name, title, of, routines = "pthread_barrier_wait", "Wait at Barrier", "pthread_barrier", routines("pthread_barrier_wait")
    meaning = "waiting for the last thread to enter a barrier"


class CriticalContention(WaitForLink):
    """Time until another thread has left a critical section."""

    name, title, of, awaits = "omp_lock_contention_critical", "Lock Contention", "omp_critical", routines("omp_critical")
    meaning = "waiting for another thread to leave a critical section"


class LockContention(WaitForLink):
    """Time until another thread has released a lock."""

    name, title, of, awaits = "omp_lock_contention_api", "Lock Contention", "omp_lock_api", routines("omp_lock")
    meaning = "waiting for another thread to release a lock"


class OrderedWait(WaitForLink):
    """Time until the iteration before has left its ordered section."""

    name, title, of, awaits = "omp_ordered_wait", "Wait for Order", "omp_ordered", routines("omp_ordered")
    meaning = "waiting for the iteration before to leave its ordered section"


class TaskWait(WaitForLink):
    """Time until the last task waited for is done."""

    name, title, of, awaits = "omp_taskwait_wait", "Wait for Tasks", "omp_taskwait", routines("omp_taskwait")
    meaning = "waiting for tasks that other threads still execute"


class TaskStart(WaitForLink):
    """Time with nothing to do until a task is created."""

    name, title, of, awaits = "omp_task_wait", "Lack of Tasks", "omp_task", routines("omp_task")
    meaning, waits = "threads with nothing to do until a task is created", False


class JoinWait(WaitForLink):
    """Time until the last thread of a team has ended its part."""

    name, title, of, awaits = "omp_join_wait", "Wait at Join", "omp_management", routines("omp_join")
    meaning = "waiting for the last thread of a team that no barrier ends"


class PosixJoinWait(WaitForLink):
    """Time until a thread has ended."""

    name, title, of, awaits = "pthread_join_wait", "Wait at Join", "pthread_management", routines("pthread_join")
    meaning = "waiting for the end of a thread"


class WorkerWait(WaitForLink):
    """Time until another thread of the process has done what it was given."""

    name, title, of, awaits = "thread_wait_for_work", "Wait for Thread", "pthread_management", routines("thread_wait")
    meaning = "waiting for work that was given to another thread of the process"


class MutexContention(WaitForLink):
    """Time until another thread has released a mutex."""

    name, title, of = "pthread_lock_contention_mutex_lock", "Lock Contention", "pthread_lock_api"
    awaits, meaning = routines("pthread_mutex_lock"), "waiting for another thread to release a mutex"


class ConditionWait(WaitForLink):
    """Time until a condition is signalled."""

    name, title, of = "pthread_lock_contention_conditional", "Lock Contention", "pthread_conditional"
    awaits, meaning = routines("pthread_cond_wait"), "waiting for another thread to signal a condition"


class Started(Pattern):
    """Time from the call that starts work to its beginning; it stands at the call path of that call."""

    idles: ClassVar[Mask]
    """Which routines what is started idles in, bool per op."""
    waits = False

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per start."""
        found = idle(view, self.idles)
        return instances(found.call, view.leave[found.call] - found.let, found.cause)

    def severity(self, view: View, tree: CallTree, found: Instances) -> Cells:
        """Return the severity by the call paths of the starting calls, on the locations of what they start."""
        at = np.where((found.cause == NONE) | ~self.idles[view.op[found.call]], found.call, found.cause)
        size = len(tree), len(view.trace.locations)
        return cells(tree.of_calls(view.trace, at), view.location[found.call], found.severity, size)


class Fork(Started):
    """Time from a fork to the beginning of each thread of the team, that of the thread that forks too."""

    name, title, of, idles = "omp_fork", "Fork", "omp_management", OF_TEAMS
    meaning = "from the fork of a team to the beginning of its threads"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per thread of each team that begins later than it is forked."""
        begun = super().instances(view, parent)
        call = np.flatnonzero(view.op == operations.OP["omp_fork"])
        severity = np.concatenate((begun.severity, view.leave[call] - view.enter[call]))
        return instances(np.concatenate((begun.call, call)), severity, np.concatenate((begun.cause, np.full(len(call), NONE))))


class IdleThreads(Pattern):
    """Time of threads that have nothing to do; it stands at what the first thread of the process does meanwhile."""

    name, title, of = "omp_idle_threads", "Idle threads", "time"
    meaning, waits = "threads without work, by what the first thread of their process does meanwhile", False
    idles: ClassVar[Mask] = OF_THREADS

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per time without work."""
        found = idle(view, self.idles)
        return instances(found.call, found.begun - found.joined, found.cause)

    def severity(self, view: View, tree: CallTree, found: Instances) -> Cells:
        """Return the severity by the call paths of the first thread, on the locations of those that are idle."""
        return spread(view, tree, idle(view, self.idles))


class LimitedParallelism(Pattern):
    """The part of it in which the first thread is in a parallel region: of a team that the idle thread is not in."""

    name, title, of = "omp_limited_parallelism", "Limited parallelism", "omp_idle_threads"
    meaning, waits = "threads without work beside a team that they are not in", False

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per time without work that a parallel region of others lies in."""
        found = idle(view, OF_THREADS)
        return instances(found.call, parallel_time(view, found), found.cause) if len(parent) else NOTHING

    def severity(self, view: View, tree: CallTree, found: Instances) -> Cells:
        """Return the severity by the call paths of the first thread, on the locations of those that are idle."""
        return spread(view, tree, idle(view, OF_THREADS), parallel=True)
