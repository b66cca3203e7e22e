"""What `scripts/bench` measures of threads: an event of OpenMP beside one of MPI, from archives of as many events of either.

`python scripts/measure_threads.py [EVENTS]`. The archives are made here, event by event as Score-P writes them: four processes of four
threads that open teams, share a loop, take turns with a lock, run tasks and meet at barriers; and as many processes that exchange messages
and reduce. Times are those of processors in user mode, the median of five runs that take turns, per event; reading does not count what it
takes to read an archive of one step, which is to start other processes.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from perwiz.formats.otf2.library import codes
from perwiz.formats.otf2.library.events import COMPILED, OTHERS
from perwiz.formats.otf2.writing.archive import UNDEFINED, Archive, numbers
from perwiz.kernels.records import ARGUMENTS, OTHER_KIND, RECORD

PROCESSES, THREADS = 4, 4
LOCATIONS = PROCESSES * THREADS
_STEP, _STEPS = 100_000, 4096
"""Length of a step, ns; steps written at a time."""
_TIMES = 5
_OF_OPENMP = {
    "parallel @a.c:1": codes.PARALLEL,
    "for @a.c:2": codes.FUNCTION,
    "barrier @a.c:3": codes.BARRIER,
    "implicit barrier @a.c:9": codes.IMPLICIT_BARRIER,
    "critical @a.c:4": codes.CRITICAL,
    "critical sblock @a.c:4": codes.FUNCTION,
    "create task @a.c:5": codes.TASK_CREATE,
    "task @a.c:5": codes.FUNCTION,
}
_REGIONS = {"main": (codes.FUNCTION, codes.USER)}
_REGIONS |= {f"!$omp {name}": (role, codes.OPENMP) for name, role in _OF_OPENMP.items()}
_REGIONS |= {f"MPI_{name}": (codes.POINT_TO_POINT, codes.MPI) for name in ("Irecv", "Isend", "Waitall")}
_REGIONS["MPI_Allreduce"] = (codes.ALL_TO_ALL, codes.MPI)
_FOR, _BARRIER, _CRITICAL, _TASK = "!$omp for @a.c:2", "!$omp barrier @a.c:3", "!$omp critical @a.c:4", "!$omp task @a.c:5"
Event = tuple[int, str, dict[str, Any]]
"""When in a step, what, and its columns: a number, or one at the first step and how much more it is at each."""


def _says(*values: Any) -> dict[str, Any]:
    """Return the first columns of an event."""
    return dict(zip(ARGUMENTS, values, strict=False))


def _in(name: str, begin: int, end: int, *events: Event) -> list[Event]:
    """Return a region with events in it."""
    number = list(_REGIONS).index(name)
    return [(begin, "Enter", _says(number)), *events, (end, "Leave", _says(number))]


def _team(location: int) -> list[Event]:
    """Return the step of a thread: in a team it shares a loop, has its turn with a lock, and runs a task that its first thread created."""
    process, thread = divmod(location, THREADS)
    turn = 20_000 + 2_000 * thread
    lock = [(turn + 10, "ThreadAcquireLock", _says(codes.OPENMP, 0, (thread, THREADS)))]
    lock += [*_in("!$omp critical sblock @a.c:4", turn + 20, turn + 900)]
    lock += [(turn + 1_000, "ThreadReleaseLock", _says(codes.OPENMP, 0, (thread, THREADS)))]
    tasks = [_says(process, 0, (1 + number, THREADS)) for number in range(THREADS)]
    within = [(2_000 + thread, "ThreadTeamBegin", _says(process)), *_in(_FOR, 3_000, 18_000 - 100 * thread)]
    within += [*_in(_BARRIER, 18_500, 19_000), *_in(_CRITICAL, 20_000, turn + 1_100, *lock)]
    for number, task in enumerate(tasks if thread == 0 else ()):
        at = 40_000 + 1_000 * number
        within += _in("!$omp create task @a.c:5", at, at + 200, (at + 100, "ThreadTaskCreate", task))
    run = [(60_000, "ThreadTaskSwitch", tasks[thread]), *_in(_TASK, 60_010, 70_000), (70_010, "ThreadTaskComplete", tasks[thread])]
    run += [(70_020, "ThreadTaskSwitch", _says(process, thread, 0))]
    within += [*_in("!$omp implicit barrier @a.c:9", 50_000, 80_000, *run), (81_000, "ThreadTeamEnd", _says(process))]
    if thread:
        return within
    fork, join = (1_000, "ThreadFork", _says(codes.OPENMP, THREADS)), (90_000, "ThreadJoin", _says(codes.OPENMP))
    return _in("!$omp parallel @a.c:1", 900, 91_000, fork, *within, join)


def _exchange(rank: int) -> list[Event]:
    """Return the step of a process: it sends to the right, receives from the left, and all reduce."""
    left, right = (rank - 1) % LOCATIONS, (rank + 1) % LOCATIONS
    posts = [*_in("MPI_Irecv", 20_000, 20_200, (20_100, "MpiIrecvRequest", {"request": (0, 2)}))]
    posts += [*_in("MPI_Isend", 21_000, 21_200, (21_100, "MpiIsend", _says(right, 0, 7, 64, (1, 2))))]
    done = [(30_000, "MpiIrecv", _says(left, 0, 7, 64, (0, 2))), (30_010, "MpiIsendComplete", {"request": (1, 2)})]
    all_ = _says(codes.OPERATIONS.index("Allreduce"), 0, -1, 8) | {"received": 8}
    reduced = [(40_010, "MpiCollectiveBegin", _says()), (50_000, "MpiCollectiveEnd", all_)]
    calls = [*posts, *_in("MPI_Waitall", 22_000, 30_100, *done), *_in("MPI_Allreduce", 40_000, 50_100, *reduced)]
    return _in("main", 10_000 + rank, 60_000, *calls)


PROGRAMS = {"OpenMP": (_team, PROCESSES), "MPI": (_exchange, LOCATIONS)}


def make(path: str, program: str, events: int) -> int:
    """Return how many events an archive of about as many has, after writing it."""
    step, processes = PROGRAMS[program]
    steps = max(events // sum(len(step(location)) for location in range(LOCATIONS)), 1)
    archive = Archive(os.path.dirname(path), "traces", "benchmark")
    with archive.events():
        counts = [archive.location(location, _rows(step(location), steps)) for location in range(LOCATIONS)]
    texts = ["", "machine", "node", *_REGIONS]
    with archive.definitions() as define:
        define("ClockProperties", 10**9, 0, steps * _STEP, (1 << 64) - 1)
        for number, text in enumerate(texts):
            define("String", number, text.encode())
        define("SystemTreeNode", 0, 1, 2, UNDEFINED)
        for process in range(processes):
            define("LocationGroup", process, 1, codes.PROCESS, 0, UNDEFINED)
        for location, count in enumerate(counts):
            define("Location", location, 1, codes.CPU_THREAD, count, location * processes // LOCATIONS)
        for number, (name, (role, paradigm)) in enumerate(_REGIONS.items()):
            text = texts.index(name)
            define("Region", number, text, text, 0, role, paradigm, 0, UNDEFINED, 0, 0)
        define("Group", 0, 0, codes.COMM_LOCATIONS, codes.MPI, 0, *numbers([*range(0, LOCATIONS, LOCATIONS // processes)], wide=True))
        define("Group", 1, 0, codes.COMM_GROUP, codes.MPI, 0, *numbers([*range(processes)], wide=True))
        define("Comm", 0, 0, 1, UNDEFINED, 0)
    archive.close()
    return sum(counts)


def _rows(step: list[Event], steps: int) -> Iterator[np.ndarray]:
    """Yield the events of a location, some steps at a time."""
    for first in range(0, steps, _STEPS):
        number = np.arange(first, min(first + _STEPS, steps))
        rows = np.zeros((len(number), len(step)), RECORD)
        for k, (time, name, columns) in enumerate(step):
            rows["kind"][:, k] = COMPILED[name] if name in COMPILED else OTHER_KIND + OTHERS.index(name)
            rows["time"][:, k] = number * _STEP + time
            for column, value in columns.items():
                start, more = value if isinstance(value, tuple) else (value, 0)
                rows[column][:, k] = start + number * more
        yield rows.ravel()


_MEASURED = """
import resource, sys
sys.path.insert(0, sys.argv[3])
from measure_otf2 import forget_peak, peak
from perwiz.formats.otf2.read import record
from perwiz.formats.otf2.tables import Builder
from perwiz.graph.build import build

def user():
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

at = user()
record(sys.argv[2])
start = user()
found = [record(sys.argv[1])]
read = user() - start - (start - at)
forget_peak()
at = user()
trace = Builder(found.pop(), sys.argv[1]).trace()
tables, most = user() - at, peak()
at = user()
build(trace)
print(read, tables, user() - at, most, len(trace.calls), len(trace.regions))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure reading events of threads.")
    parser.add_argument("events", nargs="?", type=int, default=4_000_000)
    parser.add_argument("--small", action="store_true", help="a hundredth of the size, to try the script itself")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(folder, asked.events // (100 if asked.small else 1))


def report(folder: str, size: int) -> None:
    """Print a line per program."""
    events: dict[str, int] = {}
    found: dict[str, list[list[float]]] = {program: [] for program in PROGRAMS}
    for program in PROGRAMS:
        events[program] = make(f"{folder}/{program}/traces.otf2", program, size)
        make(f"{folder}/{program}-step/traces.otf2", program, 0)
    for program in [*PROGRAMS] * _TIMES:
        paths = [f"{folder}/{name}/traces.otf2" for name in (program, f"{program}-step")]
        command = [sys.executable, "-P", "-c", _MEASURED, *paths, os.path.dirname(__file__)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        found[program].append([float(word) for word in done.stdout.split()])
    for program, count in events.items():
        read, tables, graph, most, calls, regions = map(statistics.median, zip(*found[program], strict=True))
        ns = [f"{name} {spent / count * 1e9:.0f}" for name, spent in (("reading", read), ("tables", tables), ("graph", graph))]
        size_ = f"{count / 1e6:.2f} M events, {calls / 1e6:.2f} M calls, {regions / 1e6:.2f} M regions"
        print(f"{program:8}{size_}: {', '.join(ns)} ns an event; tables at most {most / count:.0f} bytes an event", flush=True)


if __name__ == "__main__":
    main()
