"""What `scripts/bench` says of the readers of other tools' traces: speed, and memory at the peak, of large traces that are made for it.

`python scripts/measure_readers.py [--calls 3000000] [--formats dumpi,goal]`

Ranks in a ring post a receive and a send, compute and wait for both, again and again; in CLOG-2, which knows no requests, they send and
receive. Records are those of the format: of DUMPI and liballprof calls, of CLOG-2 and Paraver also messages and where states begin or end,
of GOAL operations. Memory is the peak while reading, less what the process had before it.
"""

from __future__ import annotations

import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
from numpy.typing import NDArray

RANKS = 64
_STEP, _LASTS = 40_000, 1_000
"""ns from one step to the next, and of a call."""
_BYTES = 800
Rows = NDArray[np.void]


def rows(steps: int, fields: list[tuple[str, str]], values: dict[str, object]) -> Rows:
    """Return so many packed rows with these values, one for all or one for each."""
    out = np.zeros(steps, np.dtype(fields))
    for name, value in values.items():
        out[name] = value
    return out


def interleaved(*parts: Rows) -> bytes:
    """Return the bytes of one row of each part in turn."""
    columns = [part.view("u1").reshape(len(part), part.dtype.itemsize) for part in parts]
    return np.concatenate(columns, 1).tobytes()


def dumpi(folder: pathlib.Path, steps: int) -> str:
    """Write files of DUMPI, one for each process, and return the name of their list."""
    from perwiz.formats.dumpi import functions

    magic, begin = b"\xff\xaa\xddDUMPI", np.arange(steps, dtype="i8") * _STEP
    head = [("function", ">u2"), ("mask", "u1"), ("thread", ">u2")]
    head += [(f"{name}_{unit}", of) for name in ("enter", "leave") for unit, of in (("s", ">u2"), ("ns", ">u4"))]
    moves = [("count", ">i4"), ("type", ">i2"), ("peer", ">i4"), ("tag", ">i4"), ("comm", ">i2"), ("request", ">i4")]
    waits = [("count", ">i4"), ("length", ">i4"), ("first", ">i4"), ("second", ">i4"), ("statuses", ">i4")]
    status = [("bytes", ">i4"), ("from", ">i4"), ("cancelled", "i1"), ("error", "i1"), ("tag", ">i4")]
    waits += [(f"{name}_{each}", of) for each in "ab" for name, of in status]

    def call(name: str, nth: int, more: list[tuple[str, str]], **values: object) -> Rows:
        at = {"enter": begin + nth * 5 * _LASTS, "leave": begin + nth * 5 * _LASTS + _LASTS}
        times = {f"{key}_s": ns // 10**9 for key, ns in at.items()} | {f"{key}_ns": ns % 10**9 for key, ns in at.items()}
        return rows(steps, head + more, {"function": functions.NAMES.index(name), "mask": 0x4B, **times, **values})

    for rank in range(RANKS):
        message = {"count": _BYTES, "type": 5, "tag": 7, "comm": 2}
        receive = call("Irecv", 0, moves, peer=(rank - 1) % RANKS, request=2, **message)
        send = call("Isend", 1, moves, peer=(rank + 1) % RANKS, request=3, **message)
        received = {"statuses": 2, "bytes_a": _BYTES, "from_a": (rank - 1) % RANKS, "tag_a": 7}
        wait = call("Waitall", 4, waits, count=2, length=2, first=2, second=3, **received)
        body = magic + struct.pack(">ii", 0, 0) + interleaved(receive, send, wait)
        header = len(body) + 2
        body += struct.pack(">H3sQH2sHII", 293, bytes((1, 0, 0)), 0, 2, b"n1", 0, 0, 0)
        index = (0, 0, 0, header, 8, len(body), len(body))
        (folder / f"run-{rank:04d}.bin").write_bytes(body + bytes(8) + magic + struct.pack(">7Q", *index))
    (folder / "run.meta").write_text(f"hostname=n1\nnumprocs={RANKS}\nfileprefix=run\n")
    return str(folder / "run.meta")


def clog(folder: pathlib.Path, steps: int) -> str:
    """Write a CLOG-2 file, and return its name."""
    block = 1 << 16
    head = [("time", ">f8"), ("comm", ">i4"), ("rank", ">i4"), ("thread", ">i4"), ("kind", ">i4")]
    states = {10: "MPI_Send", 12: "MPI_Recv"}
    records = b"".join(
        struct.pack(">diiiiiiii24s32s", 0, 0, 0, 0, 2, k // 2, k, k + 1, 0, b"red", name.encode()).ljust(136, b"\0")
        for k, name in states.items()
    )
    told = f"is_big_endian=\0TRUE \0is_finalzed=\0TRUE \0block_size=\0{block}\0num_buffered_blocks=\x00128\0"
    told += f"max_comm_world_size=\0{RANKS}\0max_thread_count=\x001\0"
    out = bytearray(f"CLOG-02.44\0{told}".encode().ljust(1024, b"\0"))
    end = struct.pack(">diiii", 0, 0, 0, 0, 1)
    out += (records + end).ljust(block, b"\0")
    seconds = np.arange(steps) * _STEP / 1e9

    def state(rank: int, at: int, event: int) -> Rows:
        return rows(steps, [*head, ("event", ">i4"), ("pad", ">i4")], {"time": seconds + at / 1e9, "rank": rank, "kind": 5, "event": event})

    def moved(rank: int, at: int, sends: bool) -> Rows:
        more = [(name, ">i4") for name in ("event", "on", "partner", "tag", "size", "pad")]
        values = {"event": -101 if sends else -102, "partner": (rank + (1 if sends else -1)) % RANKS, "tag": 7, "size": _BYTES}
        return rows(steps, [*head, *more], {"time": seconds + at / 1e9, "rank": rank, "kind": 7, **values})

    parts = [state(rank, 0, 10) for rank in range(RANKS)] + [moved(rank, 500, True) for rank in range(RANKS)]
    parts += [state(rank, at, event) for at, event in ((1_000, 11), (20_000, 12)) for rank in range(RANKS)]
    parts += [moved(rank, 25_000, False) for rank in range(RANKS)] + [state(rank, 26_000, 13) for rank in range(RANKS)]
    data, each = interleaved(*parts), (block - 24) // (size := sum(part.dtype.itemsize for part in parts)) * size
    for begin in range(0, len(data), each):
        out += (data[begin : begin + each] + end).ljust(block, b"\0")
    out += struct.pack(">diiii", 0, 0, 0, 0, 0).ljust(block, b"\0")
    (folder / "run.clog2").write_bytes(out)
    return str(folder / "run.clog2")


def allprof(folder: pathlib.Path, steps: int) -> str:
    """Write files of liballprof, one for each process, and return the name of the first."""
    for rank in range(RANKS):
        comm, lines = f"94000000,{rank},{RANKS}", []
        for begin in range(1_000_010, 1_000_010 + steps * _STEP // 1000, _STEP // 1000):
            lines.append(f"MPI_Irecv:{begin}:5:{_BYTES}:1,1,1:{(rank - 1) % RANKS}:7:{comm}:800:{begin + 1}\n")
            lines.append(f"MPI_Isend:{begin + 5}:5:{_BYTES}:1,1,1:{(rank + 1) % RANKS}:7:{comm}:808:{begin + 6}\n")
            lines.append(f"MPI_Waitall:{begin + 20}:2:800:9:{begin + 26}\n")
        head = "# htor's PMPI Tracer 1.0 Output File\n# hostname: n1\n\nMPI_Init:-:1:2:1000000\n"
        head += f"MPI_Comm_rank:1000001:{comm}:99:1000002\n"
        with open(folder / f"pmpi-trace-rank-{rank}.txt", "w", encoding="ascii") as file:
            file.write(head)
            file.writelines(lines)
            file.write(f"MPI_Finalize:{1_000_100 + steps * _STEP // 1000}:-\n")
    return str(folder / "pmpi-trace-rank-0.txt")


def converted(suffix: str, folder: pathlib.Path, steps: int) -> str:
    """Write what perwiz makes of the same run in a format that it writes, and return its name."""
    made, out = dumpi(folder, steps), str(folder / f"out{suffix}")
    subprocess.run([str(pathlib.Path(sys.executable).with_name("perwiz")), "convert", made, out], check=True, capture_output=True)
    for file in folder.glob("run*"):
        file.unlink()
    return out


FORMATS = {
    "DUMPI": dumpi,
    "CLOG-2": clog,
    "liballprof": allprof,
    "Paraver": lambda folder, steps: converted(".prv", folder, steps),
    "GOAL": lambda folder, steps: converted(".goal", folder, steps),
}
_READ = """
import resource, sys, time
from measure_otf2 import forget_peak, peak, spent
from perwiz.formats.files import read
from perwiz.trace.resources import one_heap
one_heap()
forget_peak()
before, used, begin = peak(), spent(), time.perf_counter()
trace = read(sys.argv[1])
wall, used, most = time.perf_counter() - begin, spent() - used, peak()
print(len(trace.calls), trace.counts.records, wall, used, most - before)
"""


def measure(name: str, calls: int) -> None:
    """Print what reading a trace of a format takes."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        path = FORMATS[name](folder, max(calls // 3 // RANKS, 1))
        size = sum(file.stat().st_size for file in folder.iterdir())
        command = [sys.executable, "-P", "-c", _READ, path]
        environment = {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
        runs = [subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout.split() for _ in range(3)]
    count, records, wall, used, most = map(float, min(runs, key=lambda run: float(run[3])))
    rates = f"{count / wall / 1e6:6.2f} M calls/s {records / wall / 1e6:6.2f} M records/s"
    took = f"{wall:6.2f} s {used:6.2f} s of processors"
    print(f"{name:11}{count / 1e6:6.2f} M calls {size >> 20:5} MiB {took} {rates} {most / count:5.0f} bytes a call", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the readers of other tools' traces.")
    parser.add_argument("--calls", type=int, default=3_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes, to try the script itself")
    asked = parser.parse_args()
    for name in asked.formats.split(","):
        measure(name, asked.calls // 100 if asked.small else asked.calls)


if __name__ == "__main__":
    main()
