"""How mpi4py programs use MPI, in small. Prints `tally RANK ROUTINE CALLS BYTES_SENT BYTES_RECEIVED` as workloads.c does.

Lower-case methods send pickled objects of sizes the program does not see, so it uses buffers where it counts bytes.
"""

import collections
import os

import numpy as np
from mpi4py import MPI

try:
    from perwiz.record.regions import parallel_region, region
except ImportError:
    import contextlib

    region = parallel_region = contextlib.nullcontext

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size
tallies = collections.defaultdict(lambda: [0, 0, 0])


def tally(name, sent=0, received=0):
    row = tallies[f"MPI_{name}"]
    for k, more in enumerate((1, sent, received)):
        row[k] += more


out, here = np.full(100, rank, "i8"), np.empty(100, "i8")
for step in range(4):
    with parallel_region("step"):
        requests = [world.Irecv(here, left, step), world.Isend(out, right, step)]
        tally("Irecv")
        tally("Isend", 800)
        MPI.Request.Waitall(requests)
        tally("Waitall", 0, 800)
with region("collectives"):
    world.Allreduce(MPI.IN_PLACE, out)
    tally("Allreduce", 800, 800)
    world.Bcast(out[:10], 1 % size)
    tally("Bcast", *((80, 0) if rank == 1 % size else (0, 80)))
    parts = [k + 1 for k in range(size)]
    world.Allgatherv(out[: rank + 1], [np.empty(sum(parts), "i8"), parts])
    tally("Allgatherv", 8 * (rank + 1), 8 * sum(parts))
half = world.Split(rank % 2, rank)
tally("Comm_split")
half.Barrier()
tally("Barrier")
half.Free()
tally("Comm_free")
if rank == 0:
    for _ in range(size - 1):
        status = MPI.Status()
        message = world.Mprobe(MPI.ANY_SOURCE, 9, status)
        tally("Mprobe")
        message.Recv(here)
        tally("Mrecv", 0, 8 * status.source)
else:
    world.Send(out[:rank], 0, 9)
    tally("Send", 8 * rank)
persistent = [world.Recv_init(here, left, 5), world.Send_init(out, right, 5)]
tally("Recv_init")
tally("Send_init")
MPI.Prequest.Startall(persistent)
tally("Startall", 800)
MPI.Request.Waitall(persistent)
tally("Waitall", 0, 800)
for one in persistent:
    one.Free()
    tally("Request_free")
world.Barrier()
tally("Barrier")
tally("Init_thread")
tally("Finalize")
lines = "".join(f"tally {rank} {name} {' '.join(map(str, row))}\n" for name, row in tallies.items())
os.write(1, lines.encode())  # at once, or the lines of several processes mix
