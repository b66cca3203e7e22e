"""Records of jobs that tests make."""

from __future__ import annotations

from perwiz.jobs.record import Counts, Record

NOON = 1_793_016_000
"""2026-10-26 12:00 UTC, a Monday."""
NOW = NOON + 10 * 86_400

T3E = """\
Nov 28 22:09:57 hwwt3e syslog: B <56770>
size = n =              4 uid=843 mpt.1.2.1.0 / avg. on each PE:
argv[0] = ./mpi_bench2
send                1344 calls 2.94e+00 sec cnt= 9.4e+08 lng= 9.40e+08
recv                1344 calls 8.73e+00 sec cnt= 9.4e+08 lng= 9.60e+08
barrier              149 calls 1.29e+01 sec
bcast                 40 calls 5.36e+01 sec cnt= 4.3e+01 lng= 3.44e+02
alltoall               8 calls 1.00e-01 sec cnt= 1.0e+02 lng= 8.00e+02
reduce              1682 calls 1.49e+01 sec cnt= 7.7e+07 lng= 6.15e+08
comm_size              2 calls 6.21e-06 sec
init                   1 calls 5.96e-03 sec
finalize               1 calls 2.07e-05 sec
time         [sec] mpi=   9.32e+01 / all= 1.13e+02 = 8.3e-01
time * size        mpi=   3.73e+02 / all= 4.51e+02
profiling overhead=   1.54e-01 sec = time_all* 1.4e-03
"""
"""Fig. 3 as the paper describes it (its columns have slipped in print); alltoall added, recv's buffers made longer than what was sent."""

OURS = """\
Oct 26 12:00:01 n017 perwiz: B <4711>
size = n = 4 uid=1012 Open MPI v5.0.1 / avg. on each PE:
argv[0] = ./heat
language= Fortran
isend                         16.5 calls 1.21e-01 sec cnt= 1.1e+04 lng= 1.06e+04
  total 66 calls cnt= 42258 sent= 42357 received= 0 sizes= 0:3 1:1 4:62
waitall                          5 calls 5.00e+00 sec cnt= 4.0e+01 lng= 1.06e+04
  total 20 calls cnt= 160 sent= 0 received= 42357 sizes= 1024:20
barrier                          1 calls 2.61e-02 sec
  total 4 calls
init                             1 calls 2.74e-01 sec
  total 4 calls
time [sec]          mpi= 5.42e+00 / all= 1.00e+01 = 5.4e-01
time * size         mpi= 2.17e+01 / all= 4.00e+01
profiling overhead= 1.60e-01 sec = time_all* 1.6e-02 (19 ns a call, 14 more with a request)
threads= 8 on all PEs; times of MPI are sums over threads
time of day         init= 2026-10-26T13:59:51+0200 / finalize= 2026-10-26T14:00:01+0200
instructions       outside mpi= 2.000e+09 / inside mpi= 1.000e+09 / all= 3.00e+08 per sec
environment UCX_TLS=rc,sm
environment OMP_NUM_THREADS=2
subtotal outside
barrier                          1 calls 2.61e-02 sec
  total 4 calls
time [sec]          mpi= 3.27e-01 / all= 4.11e-01 = 7.9e-01
time * size         mpi= 1.31e+00 / all= 1.64e+00
Oct 26 12:00:01 n017 perwiz: E <4711>
"""


def tagged(text: str, pid: int, date: str = "Oct 26 12:00:01 n017") -> list[str]:
    """Return a record as syslog has it, a line a message."""
    body = text.splitlines()
    inner = body[1:-1] if ": E <" in body[-1] else body[1:]
    return [f"<14>{date} perwiz[{pid}]: {line}\n" for line in (f"B <{pid}>", *inner, f"E <{pid}>")]


def job(pid: int = 1, **changes: object) -> Record:
    """Return a job of 4 processes and 100 s CPU time, half of it in MPI, most of that in waits; times of routines add up to that."""
    part = changes.get("inside", 50) / 50  # type: ignore[operator]
    times = Counts(400, part, 400, 4e6, 4e6), Counts(40, 48 * part, 400, 0, 0), Counts(4, part, 0, 0, 0)
    routines = dict(zip(("isend", "waitall", "init"), times, strict=True))
    one = Record("", "n017", pid, "1012", "./heat", 4, "C", "Open MPI", NOON - 25, NOON, 100, 50, 0.5, routines, {"UCX_TLS": "rc"}, {})
    return one._replace(**changes)  # type: ignore[arg-type]
