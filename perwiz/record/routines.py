"""The one table of recorded MPI routines. Wrappers, Fortran entry points and large-count variants are generated from it.

A line is a shape (what the recorder notes, see shapes.py), the routines that have it, and their arguments. The name of an argument says
its type, see `ARGUMENTS`.
"""

from __future__ import annotations

from typing import NamedTuple

TABLE = """
send: Send Ssend Bsend Rsend: sbuf count type dest tag comm
send: Isend Issend Ibsend Irsend: sbuf count type dest tag comm request
send_init: Send_init Ssend_init Bsend_init Rsend_init: sbuf count type dest tag comm request
recv: Recv: rbuf count type source tag comm status
irecv: Irecv: rbuf count type source tag comm request
recv_init: Recv_init: rbuf count type source tag comm request
sendrecv: Sendrecv: sbuf scount stype dest tag rbuf rcount rtype source rtag comm status
sendrecv_replace: Sendrecv_replace: rbuf count type dest tag source rtag comm status
isendrecv: Isendrecv: sbuf scount stype dest tag rbuf rcount rtype source rtag comm request
isendrecv_replace: Isendrecv_replace: rbuf count type dest tag source rtag comm request
probe: Probe: source tag comm status
iprobe: Iprobe: source tag comm flag status
mprobe: Mprobe: source tag comm message status
improbe: Improbe: source tag comm flag message status
mrecv: Mrecv: rbuf count type old_message status
imrecv: Imrecv: rbuf count type old_message request

psend_init: Psend_init: sbuf partitions wide type dest tag comm info request
precv_init: Precv_init: rbuf partitions wide type source tag comm info request
pready: Pready: partition active
pready_range: Pready_range: first last active
pready_list: Pready_list: n parts active
parrived: Parrived: active partition flag

start: Start: old_request
startall: Startall: n requests
wait: Wait: old_request status
test: Test: old_request flag status
waitall: Waitall: n requests statuses
testall: Testall: n requests flag statuses
waitany: Waitany: n requests index status
testany: Testany: n requests index flag status
waitsome: Waitsome: n requests outcount indices statuses
testsome: Testsome: n requests outcount indices statuses
cancel: Cancel: old_request
request_free: Request_free: old_request

barrier: Barrier: comm
barrier: Ibarrier: comm request
bcast: Bcast: rbuf count type root comm
bcast: Ibcast: rbuf count type root comm request
gather: Gather: sbuf scount stype rbuf rcount rtype root comm
gather: Igather: sbuf scount stype rbuf rcount rtype root comm request
gatherv: Gatherv: sbuf scount stype rbuf rcounts rdispls rtype root comm
gatherv: Igatherv: sbuf scount stype rbuf rcounts rdispls rtype root comm request
scatter: Scatter: sbuf scount stype rbuf rcount rtype root comm
scatter: Iscatter: sbuf scount stype rbuf rcount rtype root comm request
scatterv: Scatterv: sbuf scounts sdispls stype rbuf rcount rtype root comm
scatterv: Iscatterv: sbuf scounts sdispls stype rbuf rcount rtype root comm request
allgather: Allgather: sbuf scount stype rbuf rcount rtype comm
allgather: Iallgather: sbuf scount stype rbuf rcount rtype comm request
allgatherv: Allgatherv: sbuf scount stype rbuf rcounts rdispls rtype comm
allgatherv: Iallgatherv: sbuf scount stype rbuf rcounts rdispls rtype comm request
alltoall: Alltoall: sbuf scount stype rbuf rcount rtype comm
alltoall: Ialltoall: sbuf scount stype rbuf rcount rtype comm request
alltoallv: Alltoallv: sbuf scounts sdispls stype rbuf rcounts rdispls rtype comm
alltoallv: Ialltoallv: sbuf scounts sdispls stype rbuf rcounts rdispls rtype comm request
alltoallw: Alltoallw: sbuf scounts sdispls stypes rbuf rcounts rdispls rtypes comm
alltoallw: Ialltoallw: sbuf scounts sdispls stypes rbuf rcounts rdispls rtypes comm request
reduce: Reduce: sbuf rbuf count type op root comm
reduce: Ireduce: sbuf rbuf count type op root comm request
allreduce: Allreduce Scan Exscan: sbuf rbuf count type op comm
allreduce: Iallreduce Iscan Iexscan: sbuf rbuf count type op comm request
reduce_scatter: Reduce_scatter: sbuf rbuf rcounts type op comm
reduce_scatter: Ireduce_scatter: sbuf rbuf rcounts type op comm request
reduce_scatter_block: Reduce_scatter_block: sbuf rbuf count type op comm
reduce_scatter_block: Ireduce_scatter_block: sbuf rbuf count type op comm request

n_allgather: Neighbor_allgather: sbuf scount stype rbuf rcount rtype comm
n_allgather: Ineighbor_allgather: sbuf scount stype rbuf rcount rtype comm request
n_allgatherv: Neighbor_allgatherv: sbuf scount stype rbuf rcounts rdispls rtype comm
n_allgatherv: Ineighbor_allgatherv: sbuf scount stype rbuf rcounts rdispls rtype comm request
n_alltoall: Neighbor_alltoall: sbuf scount stype rbuf rcount rtype comm
n_alltoall: Ineighbor_alltoall: sbuf scount stype rbuf rcount rtype comm request
n_alltoallv: Neighbor_alltoallv: sbuf scounts sdispls stype rbuf rcounts rdispls rtype comm
n_alltoallv: Ineighbor_alltoallv: sbuf scounts sdispls stype rbuf rcounts rdispls rtype comm request
n_alltoallw: Neighbor_alltoallw: sbuf scounts saints stypes rbuf rcounts raints rtypes comm
n_alltoallw: Ineighbor_alltoallw: sbuf scounts saints stypes rbuf rcounts raints rtypes comm request

comm: Comm_dup: comm newcomm
comm: Comm_dup_with_info: comm info newcomm
comm_idup: Comm_idup: comm newcomm request
comm_idup: Comm_idup_with_info: comm info newcomm request
comm: Comm_create: comm group newcomm
comm_group: Comm_create_group: comm group tag newcomm
comm: Comm_split: comm color key newcomm
comm: Comm_split_type: comm kind key info newcomm
intercomm: Intercomm_create: comm leader peer_comm remote_leader tag newcomm
comm: Intercomm_merge: comm high newcomm
comm_free: Comm_free Comm_disconnect: old_comm
comm_name: Comm_set_name: comm name
from_group: Comm_create_from_group: group name info errhandler newcomm
from_group: Intercomm_create_from_groups: group leader other_group remote_leader name info errhandler newcomm
spawn: Comm_spawn: name argv n info root comm newcomm codes
spawn: Comm_spawn_multiple: n names argvs ints infos root comm newcomm codes
port: Comm_accept Comm_connect: name info root comm newcomm
join: Comm_join: n newcomm
comm: Cart_create: comm ndims ints periods reorder newcomm
comm: Cart_sub: comm logicals newcomm
comm: Graph_create: comm ndims ints edges reorder newcomm
comm: Dist_graph_create: comm n ints degrees targets weights info reorder newcomm
comm: Dist_graph_create_adjacent: comm n ints weights m targets more_weights info reorder newcomm

win: Win_create: base bytes unit info comm newwin
win: Win_allocate Win_allocate_shared: bytes unit info comm baseptr newwin
win: Win_create_dynamic: info comm newwin
win_free: Win_free: old_win
on_win: Win_fence: assert win
win_group: Win_start Win_post: group assert win
on_win: Win_complete Win_wait: win
win_test: Win_test: win flag
win_lock: Win_lock: kind rank assert win
win_rank: Win_unlock Win_flush Win_flush_local: rank win
on_win: Win_lock_all: assert win
on_win: Win_unlock_all Win_flush_all Win_flush_local_all Win_sync: win
put: Put: sbuf scount stype dest disp rcount rtype win
put: Accumulate: sbuf scount stype dest disp rcount rtype op win
put: Rput: sbuf scount stype dest disp rcount rtype win request
put: Raccumulate: sbuf scount stype dest disp rcount rtype op win request
get: Get: rbuf rcount rtype dest disp scount stype win
get: Rget: rbuf rcount rtype dest disp scount stype win request
get_accumulate: Get_accumulate: sbuf scount stype rbuf rcount rtype dest disp tcount ttype op win
get_accumulate: Rget_accumulate: sbuf scount stype rbuf rcount rtype dest disp tcount ttype op win request
fetch_and_op: Fetch_and_op: sbuf rbuf type dest disp op win
compare_and_swap: Compare_and_swap: sbuf cbuf rbuf type dest disp win
"""

BY_HAND = ("Init", "Init_thread", "Finalize", "Session_init", "Session_finalize", "Abort", "Pcontrol")
"""Routines whose wrappers are written out, in wrappers_special.c."""
COLLECTIVE = frozenset(
    [
        *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"),
        *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block"),
        *("n_allgather", "n_allgatherv", "n_alltoall", "n_alltoallv", "n_alltoallw"),
    ]
)
"""Shapes whose routines that return a request have a persistent twin, which takes an Info more: Ibcast and Bcast_init."""

ARGUMENTS = {
    "sbuf cbuf": "buffer const void *",
    "rbuf base baseptr": "buffer void *",
    "count scount rcount tcount": "count",
    "scounts rcounts": "counts",
    "sdispls rdispls": "displs",
    "type stype rtype ttype": "handle Datatype",
    "stypes rtypes": "handles Datatype",
    "dest source tag rtag root rank n m color key kind leader remote_leader high ndims reorder assert": "int",
    "partitions partition first last": "int",
    "wide": "wide",
    "unit": "unit",
    "ints periods logicals edges degrees targets weights more_weights": "ints",
    "parts": "parts",
    "saints raints": "aints",
    "bytes disp": "aint",
    "flag index outcount": "int out",
    "indices": "ints out",
    "name": "string",
    "argv names": "strings",
    "argvs": "lists",
    "codes": "ints out",
    "infos": "handles Info",
    "comm peer_comm": "handle Comm",
    "op": "handle Op",
    "group other_group": "handle Group",
    "info": "handle Info",
    "win": "handle Win",
    "errhandler": "handle Errhandler",
    "active": "handle Request",
    "request": "new Request",
    "newcomm": "new Comm",
    "newwin": "new Win",
    "message": "new Message",
    "old_request": "old Request",
    "old_comm": "old Comm",
    "old_win": "old Win",
    "old_message": "old Message",
    "requests": "requests",
    "status": "status",
    "statuses": "statuses",
}
"""Kind of each argument, and its variant: of a handle what it is a handle of, of numbers `out` if they come back."""


class Argument(NamedTuple):
    """One argument of a routine."""

    name: str
    kind: str
    variant: str


class Routine(NamedTuple):
    """One line of the table, for one routine."""

    name: str
    shape: str
    arguments: tuple[Argument, ...]


def counted(routine: Routine) -> str:
    """Return the argument that says how much a call is asked to do, or 0: how many elements it sends, else receives, or requests."""
    counts = [argument.name for argument in routine.arguments if argument.kind == "count"]
    if counts:
        return counts[-1 if routine.shape == "scatter" else 0]
    return "n" if any(argument.kind == "requests" for argument in routine.arguments) else "0"


def _kinds() -> dict[str, tuple[str, str]]:
    pairs = [(name, *kind.partition(" ")[::2]) for names, kind in ARGUMENTS.items() for name in names.split()]
    return {name: (kind, variant) for name, kind, variant in pairs}


def _line(line: str) -> list[Routine]:
    kinds = _kinds()
    shape, names, words = (part.strip() for part in line.split(":"))
    arguments = tuple(Argument(word, *kinds[word]) for word in words.split())
    info = Argument("info", *kinds["info"])
    lasting = (*arguments[:-1], info, *arguments[-1:])
    twins = names.split() if shape in COLLECTIVE and words.endswith("request") else []
    out = [Routine(name, shape, arguments) for name in names.split()]
    return out + [Routine(f"{name[1:].capitalize()}_init", shape, lasting) for name in twins]


def routines() -> list[Routine]:
    """Return all routines of the table."""
    return [routine for line in TABLE.split("\n") if line for routine in _line(line)]
