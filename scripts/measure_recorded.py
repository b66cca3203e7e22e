"""What `scripts/bench` measures of recorded runs: `perwiz record`'s files to a Trace, seconds and memory.

`python scripts/measure_recorded.py [--small] [PATTERN ...]` measures some patterns only. The runs are made here: rows as the recorder
writes them, of a ring of processes that send and receive, a halo exchange with requests, collectives, and receives from any source.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measure import row

from perwiz.formats.recorded.files import VERSION
from perwiz.kernels.recorded import CALL, PART

RANKS = 64
THREADS = 4
"""Of each of fewer processes, in the pattern of threads."""
OPERATIONS = ["", "flush", "begin", "end", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Wait"]
OPERATIONS += ["task end", "omp_fork", "omp_idle", "omp_join", "omp_barrier", "omp_implicit_barrier", "omp_critical", "omp_release"]
OPERATIONS += ["omp_task_create", "omp_task"]
SENDS, RECEIVES, POSTS, DONE, ANY = 1, 2, 4, 8, 16
_HEADER = b"\x93NUMPY\x01\x00".ljust(384)
Line = tuple[str, dict[str, int]]
_MEASURED = """
import resource, sys, time
from perwiz.formats.recorded import read as recorded
begin = time.perf_counter()
trace = recorded.read(sys.argv[1])
spent = time.perf_counter() - begin
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, len(trace.calls), len(trace.messages), trace.counts.unmatched_sends)
"""


def _line(name: str, partner: int, flags: int = 0, **more: int) -> Line:
    return name, {"peer": partner, "tag": 7, "comm": 0, "bits": flags, **more}


def steps(pattern: str, left: int, right: int) -> tuple[list[Line], list[Line]]:
    """Return the calls of one step of a process with these neighbours, and the parts of the last of them."""
    send, receive = _line("MPI_Send", right, SENDS, sent=64), _line("MPI_Recv", left, RECEIVES, received=64)
    if pattern == "collectives":
        return [_line("MPI_Allreduce", -1, sent=8, received=8)], []
    if pattern == "ring":
        return [send, receive], []
    if pattern == "wildcard":
        return [send, _line("MPI_Recv", left, RECEIVES | ANY, received=64)], []
    posts = [_line("MPI_Irecv", peer, RECEIVES | POSTS, request=k) for k, peer in enumerate((left, right))]
    posts += [_line("MPI_Isend", peer, SENDS | POSTS, sent=64, request=k + 2) for k, peer in enumerate((right, left))]
    ends = [_line("", peer, RECEIVES | DONE, bytes=64, request=k) for k, peer in enumerate((left, right))]
    ends += [_line("", peer, SENDS | DONE, bytes=64, request=k + 2) for k, peer in enumerate((right, left))]
    if pattern == "halo":
        return [*posts, ("MPI_Waitall", {"peer": -1, "tag": -1, "comm": -1, "received": 128, "bits": 1 << 8})], ends
    waits = [("MPI_Wait", {**{key: value for key, value in more.items() if key != "bytes"}, "received": 64}) for _, more in ends]
    return [*posts, *waits], []


PATTERNS = ("ring", "wildcard", "collectives", "halo", "waits", "threads")


def team(thread: int) -> list[tuple[str, int, int, str]]:
    """Return the step of a thread as (name, entered, left, what it names): barriers, a lock, a task that the first one created."""
    step = [("omp_barrier", 10_000 + thread, 11_000, "team"), ("omp_critical", 12_000, 13_000 + 1_000 * thread, "lock")]
    step += [("omp_release", 13_500 + 1_000 * thread, 13_500 + 1_000 * thread, "lock")]
    step += [("omp_task_create", 20_000 + 100 * number, 20_050 + 100 * number, f"{number}") for number in range(THREADS) if not thread]
    step += [("omp_task", 30_000, 31_000, f"{thread}"), ("task end", 40_000, 40_000, f"{thread}")]
    step += [("omp_implicit_barrier", 50_000 + thread, 51_000, "team")]
    if thread:
        return [("omp_idle", 0, 1_000, "team"), *step]
    return [("omp_fork", 0, 500, "team"), *step, ("omp_join", 51_500, 52_000, "team")]


def _teams(thread: int, count: int) -> np.ndarray:
    """Return the records of so many steps of a thread."""
    lines, step = team(thread), np.arange(count)
    rows = np.zeros((count, len(lines)), CALL)
    for k, (name, enter, leave, what) in enumerate(lines):
        rows["op"][:, k], rows["site"][:, k] = OPERATIONS.index(name), 8192 + 64 * k
        rows["enter"][:, k], rows["leave"][:, k] = 60_000 * step + 1_000 + enter, 60_000 * step + 1_000 + leave
        task = count + 1 + THREADS * step + (int(what) if what.isdecimal() else 0)
        rows["request"][:, k] = {"team": step + 1, "lock": -5}.get(what, task)
    for name in ("peer", "tag", "comm"):
        rows[name] = -1
    return rows.ravel()


def make(folder: pathlib.Path, pattern: str, calls: int) -> None:
    """Write the run of so many calls of all processes together."""
    (folder / "run.json").write_text(json.dumps({"format": "perwiz run", "version": VERSION, "token": "t"}))
    threaded = pattern == "threads"
    ranks = RANKS // THREADS if threaded else RANKS
    for rank in range(ranks):
        if threaded:
            count = calls // ranks // sum(len(team(thread)) for thread in range(THREADS))
            files = [(_teams(thread, count), np.empty(0, PART)) for thread in range(THREADS)]
        else:
            lines, ends = steps(pattern, (rank - 1) % RANKS, (rank + 1) % RANKS)
            count = calls // RANKS // len(lines)
            files = [(_calls(lines, count), _parts(ends, count, len(lines)))]
        for thread, (rows, parts) in enumerate(files):
            _write(folder / f"calls-{rank:06}.{thread}.npy", rows)
            _write(folder / f"parts-{rank:06}.{thread}.npy", parts)
        about = {"process": rank, "processes": ranks, "begun": 0, "real": [0, 10**18], "clock": "a", "cpu": rank, "metahost": 0}
        about |= {"metahost_name": "", "host": "node", "mpi": "MPI", "program": ["app"], "operations": OPERATIONS, "threads": threaded}
        world = {"comm": 0, "parent": -1, "nth": 0, "how": "world", "ranks": [0, 1, ranks]}
        module = {"module": "/bin/app", "build_id": "b", "begin": 4096, "end": 1 << 20, "bias": 0}
        text = "".join(f"{json.dumps(line)}\n" for line in (about, world, module))
        (folder / f"definitions-{rank:06}.jsonl").write_text(text)


def _calls(lines: list[Line], count: int) -> np.ndarray:
    one = np.zeros(len(lines), CALL)
    for k, (name, more) in enumerate(lines):
        one[k]["op"], one[k]["site"] = OPERATIONS.index(name), 8192 + 64 * k
        for key, value in more.items():
            one[k][key] = value
    rows = np.tile(one, count)
    rows["enter"] = 1000 + 2000 * np.arange(len(rows))
    rows["leave"] = rows["enter"] + 1000
    requests = sum((more["bits"] & POSTS) != 0 for _, more in lines)
    rows["request"] += np.repeat(np.arange(count) * requests, len(lines))
    return rows


def _parts(lines: list[Line], count: int, calls: int) -> np.ndarray:
    one = np.zeros(len(lines), PART)
    for k, (_, more) in enumerate(lines):
        for key, value in more.items():
            one[k][key] = value
    rows = np.tile(one, count)
    rows["call"] = np.repeat(np.arange(count) * calls + calls - 1, len(lines))
    rows["request"] += np.repeat(np.arange(count) * len(lines), len(lines))
    return rows


def _write(name: pathlib.Path, rows: np.ndarray) -> None:
    with open(name, "wb") as file:
        file.write(_HEADER)
        rows.tofile(file)


def measured(folder: str) -> tuple[float, int, int, int, int]:
    """Return seconds, peak memory (bytes), calls, messages and sends unmatched of reading a run in a process of its own, best of three."""
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-P", "-c", _MEASURED, folder], capture_output=True, check=True, text=True)
        spent, *whole = done.stdout.split()
        found.append((float(spent), *map(int, whole)))
    return min(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure reading recorded runs.")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    parser.add_argument("--calls", type=int, nargs="*", default=[1_000_000, 10_000_000], help="sizes of the runs")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help=", ".join(PATTERNS))
    args = parser.parse_args()
    if strange := set(args.patterns) - set(PATTERNS):
        parser.error(f"no pattern {', '.join(sorted(strange))}, must be among {', '.join(PATTERNS)}")
    for pattern in args.patterns or PATTERNS:
        for calls in [size // 100 for size in args.calls] if args.small else args.calls:
            with tempfile.TemporaryDirectory() as folder:
                make(pathlib.Path(folder), pattern, calls)
                mapped = sum(entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(".npy"))
                spent, peak, count, messages, lost = measured(folder)
                assert not lost
                size = f"{pattern}, {count / 1e6:.1f} M calls, {messages / 1e6:.1f} M messages"
                memory = f"{(peak - mapped) / count:.0f} bytes per call beside the {mapped / count:.0f} mapped"
                row(f"read run     {size}", f"{count / spent / 1e6:.2f} M calls/s", f"at least 20; {memory}")


if __name__ == "__main__":
    main()
