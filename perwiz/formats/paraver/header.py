"""What the first lines of a Paraver trace say: who takes part, and who talks to whom."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace.arrays import I4

MAGIC = b"#Paraver ("
MOST_LOCATIONS = 1 << 18
"""Most threads of all applications together."""
MOST_RANKS = 1 << 22
"""Most members of all communicators together."""
_HEAD = re.compile(r"#Paraver \([^)]{0,64}\):(\d{1,18})(_ns)?:(\d{1,9})(?:\([\d,]*\))?:(\d{1,9}):(.*)")
_APPLICATION = re.compile(r"(\d{1,9})\(([\d:,]*)\)(?:,(\d{1,9}))?(?::|$)")
_TASK = re.compile(r"(\d{1,9}):(\d{1,9})(?:,|$)")
_MUST = "must be '#Paraver (day at hour):end:nodes(processors):applications:tasks(threads:node,...),communicators'"


class Communicator(NamedTuple):
    """A communicator of an application, its tasks in order of their ranks, both from 1."""

    application: int
    id: int
    tasks: list[int]


class Header:
    """The first line. Tasks are numbered over all applications, from 0."""

    def __init__(self, line: str, path: str) -> None:
        """Raises TraceError for a line that is no header, or one of more than MOST_LOCATIONS threads."""
        found = _HEAD.fullmatch(line.rstrip("\r\n"))
        if not found:
            raise TraceError(f"{path}:1: {line[:60].rstrip()!r}, {_MUST}")
        self.path = path
        self.scale = 1 if found[2] else 1000
        """Nanoseconds of the unit of time."""
        applications, rest, at = int(found[4]), found[5], 0
        tasks, threads, nodes = [0], [0], []
        while len(tasks) <= applications and (one := _APPLICATION.match(rest, at)):
            listed = [(int(task[1]), int(task[2])) for task in _TASK.finditer(one[2])]
            if len(listed) != int(one[1]) or "".join(f"{count}:{node}," for count, node in listed)[:-1].count(",") != one[2].count(","):
                raise TraceError(f"{path}:1: {one[1]} tasks with threads of {len(listed)}, must be as many")
            tasks.append(tasks[-1] + len(listed))
            for count, node in listed:
                threads.append(threads[-1] + count)
                nodes.append(node)
            at = one.end()
        if len(tasks) <= applications or at < len(rest):
            raise TraceError(f"{path}:1: {len(tasks) - 1} applications before {rest[at : at + 20]!r}, must be {applications}: {_MUST}")
        if threads[-1] > MOST_LOCATIONS:
            raise TraceError(f"{path}:1: {threads[-1]} threads, must be at most {MOST_LOCATIONS}")
        self.tasks: I4 = np.array(tasks, "i4")
        """Tasks before each application, and all."""
        self.threads: I4 = np.array(threads, "i4")
        """Locations before each task, and all."""
        self.nodes: I4 = np.array(nodes, "i4")
        """Node of each task, from 1."""
        self.communicators: list[Communicator] = []
        self._ranks = 0

    def take(self, line: bytes) -> bool:
        """Return whether a line behind the first is one of a communicator that can be used; it is kept."""
        kind, *words = line.decode("latin-1").strip().split(":")
        if kind in "iI":
            return True
        if len(words) < 3 or not all(re.fullmatch(r"\d{1,9}", word) for word in words):
            return False
        application, number, size, *tasks = map(int, words)
        known = 1 <= application < len(self.tasks)
        most = int(self.tasks[application] - self.tasks[application - 1]) if known else 0
        self._ranks += len(tasks)
        if not known or len(tasks) != size or len(set(tasks)) != size or not all(1 <= task <= most for task in tasks):
            return False
        if self._ranks > MOST_RANKS:
            raise TraceError(f"{self.path}: communicators of more than {MOST_RANKS} ranks together, must be fewer")
        self.communicators.append(Communicator(application, number, tasks))
        return True
