"""Recorded runs, written by hand as the recorder would."""

import json
import pathlib

import numpy as np

from perwiz.kernels.recorded import CALL, PART

OPERATIONS = ["", "flush", "begin", "end", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall", "MPI_Barrier"]
OPERATIONS += ["MPI_Bcast", "MPI_Test", "MPI_Sendrecv", "MPI_Startall", "MPI_Ineighbor_allgather", "MPI_Unknown"]
OPERATIONS += ["MPI_Isendrecv_replace", "MPI_Start", "MPI_Pready_range", "MPI_Parrived", "MPI_Ibarrier", "MPI_Comm_spawn_multiple"]
OPERATIONS += ["task end", "task needs"]
OPERATIONS += ["omp_fork", "omp_idle", "omp_join", "omp_barrier", "omp_implicit_barrier", "omp_critical", "omp_release"]
OPERATIONS += ["omp_task_create", "omp_task", "omp_taskwait"]
OPERATIONS += ["pthread_create", "pthread_idle", "pthread_join", "pthread_mutex_lock", "pthread_release", "pthread_cond_wait"]
OPERATIONS += ["pthread_cond_signal", "pthread_barrier_wait"]
OPERATIONS += ["MPI_Win_create", "MPI_Win_fence", "MPI_Win_free", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_post", "MPI_Win_wait"]
OPERATIONS += ["MPI_Win_lock", "MPI_Win_unlock", "MPI_Put", "process_end"]
OPERATIONS += ["shmem_init", "shmem_put", "shmem_get", "shmem_atomic", "shmem_wait_until", "shmem_test", "shmem_barrier_all"]
OPERATIONS += ["shmem_set_lock", "shmem_test_lock", "shmem_clear_lock", "shmem_broadcast"]
SENDS, RECEIVES, POSTS, DONE, ANY_SOURCE, ANY_TAG, FAILED, CANCELLED, MANY = (1 << k for k in range(9))
EXCLUSIVE = 1 << 13
FOUND = 1 << 11
WORLD = {"comm": 0, "parent": -1, "nth": 0, "how": "world"}


def call(name, enter, leave, **more):
    row = np.zeros((), CALL)
    row["enter"], row["leave"], row["op"] = enter, leave, OPERATIONS.index(name)
    row["peer"] = row["tag"] = row["comm"] = -1
    for key, value in more.items():
        row[key] = value
    return row


def part(row, request, **more):
    out = np.zeros((), PART)
    out["call"], out["request"], out["peer"], out["tag"] = row, request, -1, -1
    for key, value in more.items():
        out[key] = value
    return out


class Run:
    """A directory of a run of so many processes."""

    def __init__(self, path, size, token="t"):
        self.path, self.size = pathlib.Path(path), size
        self.path.mkdir()
        self.marker(format="perwiz run", version=1, token=token)

    def marker(self, **about):
        (self.path / "run.json").write_text(json.dumps(about), encoding="utf-8")

    def process(self, rank, calls, parts=(), more=(), others=(), **about):
        """`others`: the records of its other threads."""
        known = {"process": rank, "processes": self.size, "begun": 1000, "real": [1000, 5_000_000_000], "clock": "a", "cpu": 0}
        known |= {"metahost": 0, "metahost_name": "", "host": "node", "mpi": "MPI", "program": ["app"], "operations": OPERATIONS}
        lines = [known | about, WORLD | {"ranks": [0, 1, self.size]}, *more]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (self.path / f"definitions-{rank:06}.jsonl").write_text(text, encoding="utf-8")
        every = [(f"calls-{rank:06}.{k}", rows, CALL) for k, rows in enumerate([calls, *others])]
        every += [(f"parts-{rank:06}.{k}", [] if k else parts, PART) for k in range(len(others) + 1)]
        for name, rows, dtype in every:
            name = self.path / f"{name}.npy"
            data = np.array(list(rows), dtype)
            header = b"\x93NUMPY\x01\x00" + b" " * 376
            name.write_bytes(header + data.tobytes())
        return self
