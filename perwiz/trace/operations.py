"""The routines perwiz knows, of MPI, of OpenSHMEM, of threads and of devices, and what each does to the processes that call it.

An op is a row number of `OPS`. Row 0 stands for MPI routines not listed here. What threads and devices do to each other is named by what
it is, not by who says so: a lock of OpenMP is `omp_lock` in any file. So are those of OpenSHMEM, without the types in their names. What
the process groups of training jobs do is named as in torch.distributed, whichever library does it.
"""

from __future__ import annotations

import numpy as np

OTHER, SEND, ISEND, RECV, IRECV, SENDRECV, COMPLETE, TEST, PROBE, N_TO_N, ONE_TO_N, N_TO_ONE, PREFIX, LETS, AWAITS = range(15)
"""Kinds of routines: what they send, receive, complete or synchronise. PREFIX: a rank waits for the ranks below it. LETS and AWAITS are
the two ends of links: a call that lets others go on, and one that goes on when it is let."""

_ROUTINES = {
    SEND: "Send Ssend Bsend Rsend",
    ISEND: "Isend Issend Ibsend Irsend Start Startall Isendrecv Pready",
    RECV: "Recv Mrecv",
    IRECV: "Irecv Imrecv",
    SENDRECV: "Sendrecv Sendrecv_replace",
    COMPLETE: "Wait Waitall Waitany Waitsome",
    TEST: "Test Testall Testany Testsome",
    PROBE: "Probe Iprobe Mprobe Improbe",
    N_TO_N: """Barrier Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block
        Ibarrier Iallreduce Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw Ireduce_scatter Ireduce_scatter_block
        Comm_dup Comm_create Comm_split Comm_split_type Comm_idup Cart_create Graph_create Cart_sub Dist_graph_create
        Intercomm_merge Finalize Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free Win_fence""",
    ONE_TO_N: "Bcast Scatter Scatterv Ibcast Iscatter Iscatterv",
    N_TO_ONE: "Reduce Gather Gatherv Ireduce Igather Igatherv",
    PREFIX: "Scan Exscan Iscan Iexscan",
    OTHER: """Init Init_thread Abort Initialized Finalized Query_thread Pcontrol Wtime Wtick Get_processor_name
        Send_init Bsend_init Ssend_init Rsend_init Recv_init Request_free Cancel Test_cancelled Request_get_status Get_count Get_elements
        Buffer_attach Buffer_detach Pack Unpack Pack_size Address Op_create Op_free Reduce_local
        Comm_create_group Attr_delete Attr_get Attr_put Keyval_create Keyval_free Comm_compare Comm_free Comm_group Comm_rank Comm_size
        Comm_remote_group Comm_remote_size Comm_test_inter Comm_set_name Comm_get_name Intercomm_create Comm_spawn
        Group_compare Group_difference Group_excl Group_free Group_incl Group_intersection Group_rank Group_range_excl
        Group_range_incl Group_size Group_translate_ranks Group_union
        Error_class Error_string Errhandler_create Errhandler_free Errhandler_get Errhandler_set
        Type_commit Type_contiguous Type_extent Type_free Type_hindexed Type_hvector Type_indexed Type_lb Type_size Type_struct
        Type_ub Type_vector Type_create_struct Type_get_extent
        Cart_coords Cart_get Cart_map Cart_shift Cart_rank Cartdim_get Dims_create Graph_get Graph_map Graph_neighbors
        Graph_neighbors_count Graphdims_get Topo_test Recv_idle
        Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
        Put Get Accumulate Get_accumulate Rput Rget Raccumulate Fetch_and_op Compare_and_swap
        Win_start Win_complete Win_post Win_wait Win_test Win_lock Win_unlock Win_lock_all Win_unlock_all Win_flush Win_flush_all Win_sync
        File_open File_close File_delete File_sync File_set_view File_get_view File_get_size File_set_size File_preallocate
        File_seek File_seek_shared File_get_position File_get_position_shared File_get_byte_offset File_get_group File_get_amode
        File_get_info File_set_info File_get_atomicity File_set_atomicity File_get_type_extent File_get_errhandler
        File_set_errhandler File_create_errhandler
        File_read File_read_all File_read_at File_read_at_all File_read_shared File_read_ordered File_read_all_begin
        File_read_all_end File_read_at_all_begin File_read_at_all_end File_read_ordered_begin File_read_ordered_end
        File_write File_write_all File_write_at File_write_at_all File_write_shared File_write_ordered File_write_all_begin
        File_write_all_end File_write_at_all_begin File_write_at_all_end File_write_ordered_begin File_write_ordered_end
        File_iread File_iread_at File_iread_shared File_iwrite File_iwrite_at File_iwrite_shared""",
}

_OF_THREADS = {
    N_TO_N: "omp_barrier omp_implicit_barrier pthread_barrier_wait",
    LETS: """omp_fork omp_release omp_task_create pthread_create pthread_release pthread_cond_signal device_launch process_end""",
    AWAITS: """omp_idle omp_join omp_critical omp_lock omp_ordered omp_task omp_taskwait
        pthread_idle pthread_join pthread_mutex_lock pthread_cond_wait device_idle device_synchronize device_copy
        device_offload""",
}
_OF_SHMEM = {
    N_TO_N: """shmem_finalize shmem_barrier_all shmem_barrier shmem_sync_all shmem_sync shmem_malloc shmem_realloc shmem_free
        shmem_collect shmem_fcollect shmem_alltoall shmem_reduce shmem_team_split""",
    ONE_TO_N: "shmem_broadcast",
    LETS: "shmem_put shmem_put_nbi shmem_put_signal shmem_put_signal_nbi shmem_atomic shmem_clear_lock",
    AWAITS: "shmem_wait_until shmem_test shmem_set_lock shmem_test_lock",
    OTHER: "shmem_init shmem_get shmem_get_nbi shmem_atomic_fetch shmem_fence shmem_quiet shmem_global_exit",
}
_OF_TRAINING = {
    N_TO_N: "dist_all_reduce dist_all_gather dist_reduce_scatter dist_all_to_all dist_barrier",
    ONE_TO_N: "dist_broadcast dist_scatter",
    N_TO_ONE: "dist_reduce dist_gather",
    SEND: "dist_send",
    RECV: "dist_recv",
    SENDRECV: "dist_send_recv",
    LETS: "thread_start",
    AWAITS: "thread_idle thread_wait",
}
_LISTED = [(f"MPI_{name}", kind) for kind, names in _ROUTINES.items() for name in names.split()]
_LISTED += [(name, kind) for kind, names in _OF_THREADS.items() for name in names.split()]
_LISTED += [(name, kind) for kind, names in _OF_SHMEM.items() for name in names.split()]
_LISTED += [(name, kind) for kind, names in _OF_TRAINING.items() for name in names.split()]
OPS: tuple[str, ...] = ("MPI_other", *(name for name, _ in _LISTED))
"""Routine names; an op is a row of this."""
KIND = np.array([OTHER, *(kind for _, kind in _LISTED)], "u1")
"""Kind per op."""
OP = {name: op for op, name in enumerate(OPS)}
"""Op per routine name."""
MPI = np.array([name.startswith("MPI_") for name in OPS])
"""Per op: a routine of MPI."""
TAKES_LOCK = np.isin(OPS, ("omp_critical", "omp_lock", "omp_ordered", "pthread_mutex_lock"))
"""Per op: returns when its thread has a lock, of which the call's tag is the number."""
GIVES_LOCK = np.isin(OPS, ("omp_release", "pthread_release"))
"""Per op: gives a lock back; likewise."""
SHMEM = np.array([name.startswith("shmem_") for name in OPS])
"""Per op: a routine of OpenSHMEM, which calls processes PEs."""
DIST = np.array([name.startswith("dist_") for name in OPS])
"""Per op: what a process group of a training job does, be it by NCCL, RCCL or Gloo."""
OF_PROCESSES = MPI | SHMEM | DIST
"""Per op: a routine of processes. The others are of threads and devices."""
INITS = [OP[name] for name in ("MPI_Init", "MPI_Init_thread", "shmem_init")]
FINALIZES = [OP[name] for name in ("MPI_Finalize", "shmem_finalize")]
"""Ops that begin the communication of processes, and that end it."""
POINT_TO_POINT = (KIND >= SEND) & (KIND <= PROBE)
"""Per op: sends, receives, or completes or looks for what does."""
COLLECTIVE = (KIND >= N_TO_N) & (KIND <= PREFIX)
"""Per op: a collective operation, of processes over a communicator or of threads over their team."""
ROOTED = (KIND == ONE_TO_N) | (KIND == N_TO_ONE)
"""Per op: a collective with a root."""
_POSTS = {"MPI_Start", "MPI_Startall", "MPI_Pready", "MPI_Comm_idup"}
TALKS = (COLLECTIVE & OF_PROCESSES) | (POINT_TO_POINT & (KIND <= SENDRECV))
"""Per op: is on a communicator, which is the world where a file names none."""
SHOWS_RECEIVER = np.isin(KIND, (SEND, ISEND, SENDRECV))
"""Per op: the first message sent in it tells its partner and tag."""
SHOWS_SENDER = KIND == RECV
"""Per op: the first message received in it tells its partner and tag."""
NONBLOCKING = np.array(
    [name in _POSTS or (name.startswith("MPI_I") and not name.startswith("MPI_In") and kind != PROBE) for name, kind in [("", 0), *_LISTED]]
)
"""Per op: returns a request."""
MODE = np.zeros(len(OPS), "u1")
"""Send mode per op, as `Messages.mode` numbers them: what the routine implies."""
for _mode, _names in ((1, "Rsend Irsend"), (2, "Bsend Ibsend"), (3, "Ssend Issend")):
    MODE[[OP[f"MPI_{name}"] for name in _names.split()]] = _mode
MODE[[OP["dist_send"], OP["dist_send_recv"]]] = 3
_ALSO_WAITS = ("MPI_Neighbor_", "MPI_Win_", "MPI_File_open", "MPI_File_close", "MPI_Comm_free", "MPI_Comm_spawn", "MPI_Intercomm_create")
UNMODELLED = np.array(
    [
        KIND[op] == OTHER and (name.startswith(_ALSO_WAITS) or ("File_" in name and ("_all" in name or "_ordered" in name)))
        for op, name in enumerate(OPS)
    ]
)
"""Per op: may wait for other processes, but perwiz does not know for which."""

_ACCESSES = ("Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget", "Raccumulate", "Fetch_and_op", "Compare_and_swap")
ACCESSES = np.isin(OPS, [f"MPI_{name}" for name in _ACCESSES])
"""Per op: accesses the memory of another process through a window."""
ON_WINDOWS = ACCESSES | np.array([name.startswith("MPI_Win_") for name in OPS])
"""Per op: makes, frees, synchronises or accesses a window."""

PROGRESSES = MPI & ~NONBLOCKING & ((KIND != OTHER) | UNMODELLED)
"""Per op: lets messages of its process move, as calls that only post, or ask the library for something, do in no MPI that we know."""

_OP_IN_CAPITALS = {name[4:].upper(): op for name, op in OP.items() if op and MPI[op]}
_CLOG_LENGTH = 15


def find(name: str) -> int | None:
    """Return the op a state name stands for, or None for a user region. Those of threads and devices go by their own name.

    `MPI_Send`, `Send`, `SEND` and, cut to 15 characters, `SENDRECV_REPLAC` are MPI; of names without `MPI_` that are not all
    capitals only the communication routines count, so a user's `Pack` stays a user region.
    """
    stem = name[4:] if name[:4].upper() == "MPI_" else name
    key = stem.upper()
    op = _OP_IN_CAPITALS.get(key)
    if op is None and len(stem) == _CLOG_LENGTH:
        op = next((op for capitals, op in _OP_IN_CAPITALS.items() if capitals.startswith(key)), None)
    if stem is not name:
        return op or 0
    if name in OP:
        return OP[name]
    if op is not None and (stem == key or KIND[op] != OTHER):
        return op
    return None
