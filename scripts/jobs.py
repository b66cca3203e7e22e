"""Measure `perwiz jobs`: fill a database with synthetic jobs of one month, and time writing and asking.

python3 scripts/jobs.py 1000000 /tmp/jobs.sqlite
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

from perwiz.jobs.record import Counts, Record
from perwiz.jobs.store import database, ingest

MONTH = 1_790_812_800  # 2026-10-01
NAMES = "send recv isend irecv waitall wait bcast allreduce reduce barrier alltoall gather comm_split init finalize"
ROUTINES = NAMES.split()


def jobs(number: int, seed: int = 1) -> Iterator[Record]:
    """Yield jobs in the order in which they end, each with 10 routines on the average."""
    draw = random.Random(seed)
    for k in range(number):
        ended = MONTH + k * 31 * 86_400 / number
        size, hours = 2 ** draw.randrange(12), draw.expovariate(2)
        all_ = size * hours * 3600
        used = ["init", "finalize", *draw.sample(ROUTINES[:-2], draw.randrange(4, 13))]
        share = draw.random() ** 3 / len(used)
        counts = {name: Counts(draw.randrange(1, 10**6) * size, all_ * share, 1e6, 1e9 * size, 1e9 * size) for name in used}
        user = str(1000 + int(draw.paretovariate(1)) % 400)
        program = f"./app{user[-1]}{draw.randrange(3)}"
        rest = ("Open MPI v5.0.1", ended - hours * 3600, ended, all_, all_ * share * len(used), all_ * 1e-4, counts, {"UCX_TLS": "rc"}, {})
        yield Record("", f"node{k % 500}", 1000 + k, user, program, size, "C" if k % 3 else "Fortran", *rest)


def main(number: int, place: str) -> None:
    """Print how long each step takes."""
    link = database.open_database(place, write=True)
    made = list(jobs(min(number, 100_000)))
    begun = time.perf_counter()
    ingest.ingest(link, iter(made), "big")
    took = time.perf_counter() - begun
    print(f"{len(made)} made records written in {took:.2f} s: {len(made) / took:.0f} records/s")
    if number > len(made):
        begun = time.perf_counter()
        ingest.ingest(link, jobs(number, 2), "big")
        print(f"{number} more made and written in {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
