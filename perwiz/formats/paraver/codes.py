"""The numbers that Extrae gives to routines of MPI, OpenSHMEM, threads and devices, and to what a process does, for Paraver.

Those of threads and devices are in its src/common/events.h and src/merger/paraver/{omp,pthread,cuda}_prv_*.c.
"""

from __future__ import annotations

import numpy as np

from perwiz.kernels import paraver
from perwiz.trace import operations

APPLICATION, REGION = 40000001, 60000019
"""Types of events: the program runs; a user function is entered, or with value 0 left."""
SENT, RECEIVED, ROOT, COMMUNICATOR = 50100001, 50100002, 50100003, 50100004
"""Types of events that come with the begin of a collective call."""
LABELS = {
    50000001: "MPI Point-to-point",
    50000002: "MPI Collective Comm",
    50000003: "MPI Other",
    50000004: "MPI One-sided",
    50000005: "MPI I/O",
    52000000: "OpenSHMEM calls",
    60000001: "Parallel (OMP)",
    60000005: "OpenMP barrier",
    60000007: "OpenMP unnamed-Lock",
    60000011: "OpenMP Worksharing work dispatcher",
    60000016: "OpenMP Worksharing join",
    60000022: "OMP task wait",
    60000024: "Instantiated OpenMP task function",
    60000033: "OpenMP ordered",
    61000002: "pthread_create",
    61000003: "pthread_join",
    61000008: "pthread_mutex_lock",
    61000009: "pthread_mutex_unlock",
    61000010: "pthread_cond_signal",
    61000012: "pthread_cond_wait",
    61000013: "pthread_barrier_wait",
    63000001: "CUDA library call",
}
"""Types of events that begin, or with the value of `ENDED` end, a call."""
PARALLEL = 60000001
"""The type of events that open a parallel region, where its threads are called, and close it, where they have ended."""
NAMED_LOCK, LOCK_ADDRESS = 60000006, 60000032
"""Types of events of locks with a name, and of the address of a lock, which comes with the end of its call."""
DEVICE_CALLS = (63000000, 63000001, 63500000)
"""Types of events that begin and end calls of routines of CUDA, of newer and older versions of Extrae, and of HIP."""
TRANSFERS = (63000001, 63500001)
"""Types of events in which a stream copies; the first is that of routines in older versions."""
DEVICE_STREAM, DEVICE_EVENT = (63000008, 63500008), (63000014, 63500014)
"""Types of events of the stream, as a thread, and of the event that a routine of devices names."""
CALLS = (*(kind for kind in LABELS if kind != PARALLEL), NAMED_LOCK, 63000000, 63500000)
"""Types of events that begin and end calls."""
OF_MPI = tuple(kind for kind in LABELS if kind < 51000000)
ALSO = {
    (NAMED_LOCK, 3): "omp_critical",
    (NAMED_LOCK, 5): "omp_release",
    (60000005, 1): "omp_barrier",
}
"""Types and values that Extrae writes for routines that are written with others."""
TASK_CREATED = 60000024
"""The type of events in which a task is created, as their value its function."""
REGIONS = {
    REGION: "REGION",
    60000018: "TEAM",
    60000023: "TASK",
    60000020: "REGION",
    63000006: "REGION",
    63500006: "REGION",
    **dict.fromkeys(TRANSFERS, "REGION"),
}
"""Types of events in which a function runs, as their value: one of the user, of a team, of a task, of a thread; a kernel; a copy."""
ROUTINES_OF_DEVICES = {
    1: "Launch",
    3: "Memcpy",
    4: "DeviceSynchronize",
    5: "StreamSynchronize",
    7: "MemcpyAsync",
    **dict.fromkeys(range(19, 27), "Memcpy"),
    **dict.fromkeys(range(27, 34), "MemcpyAsync"),
    34: "Memset",
    35: "MemsetAsync",
    36: "EventRecord",
    37: "EventSynchronize",
    38: "StreamWaitEvent",
}
"""The values of events of routines of CUDA and HIP, where the configuration does not name them (src/common/events.h)."""
COUNTERS = range(paraver.FIRST_COUNTER, paraver.BEHIND_COUNTERS)
"""Types of hardware counters: what they counted since they were read last."""
CALLER, CALLER_LINE, DEEPEST_CALLER = 70000000, 80000000, 100
"""Types of events of who called and from where, plus the level of the stack, from 1."""
SWITCHED = 40000012
"""The type of events that say that tracing is on, or with value 0 off."""
LOCKED = 6
"""The value that says that a lock is held."""
IDLE, RUNNING, NOT_CREATED, WAITING, SENDING, SYNCHRONIZATION, TEST, FORK, WAIT, BLOCKED, ISEND, IRECV, IO, GROUP = range(14)
"""States of a process."""
OTHERS, SENDRECV, TRANSFER, REMOTE = 15, 16, 17, 25
STATES = {
    IDLE: ("Idle", (117, 195, 255)),
    RUNNING: ("Running", (0, 0, 255)),
    NOT_CREATED: ("Not created", (255, 255, 255)),
    WAITING: ("Waiting a message", (255, 0, 0)),
    SENDING: ("Blocking Send", (255, 0, 174)),
    SYNCHRONIZATION: ("Synchronization", (179, 0, 0)),
    TEST: ("Test/Probe", (0, 255, 0)),
    FORK: ("Scheduling and Fork/Join", (255, 255, 0)),
    WAIT: ("Wait/WaitAll", (235, 0, 0)),
    BLOCKED: ("Blocked", (0, 162, 0)),
    ISEND: ("Immediate Send", (255, 0, 255)),
    IRECV: ("Immediate Receive", (100, 100, 177)),
    IO: ("I/O", (172, 174, 41)),
    GROUP: ("Group Communication", (255, 144, 26)),
    14: ("Tracing Disabled", (2, 255, 177)),
    OTHERS: ("Others", (192, 224, 0)),
    SENDRECV: ("Send Receive", (66, 66, 66)),
    TRANSFER: ("Memory transfer", (255, 0, 96)),
    REMOTE: ("One-sided op", (116, 116, 116)),
}
"""Name and colour of each state, those of Extrae."""
_OF_KIND = {
    operations.OTHER: OTHERS,
    operations.SEND: SENDING,
    operations.ISEND: ISEND,
    operations.RECV: WAITING,
    operations.IRECV: IRECV,
    operations.SENDRECV: SENDRECV,
    operations.COMPLETE: WAIT,
    operations.TEST: TEST,
    operations.PROBE: TEST,
}
_OWN = 1000
"""Routines that Extrae has no number for begin here."""
_VALUES = {
    50000001: """Send 1 Recv 2 Isend 3 Irecv 4 Wait 5 Waitall 6 Bsend 33 Ssend 34 Rsend 35 Ibsend 36 Issend 37 Irsend 38 Cancel 40
        Sendrecv 41 Sendrecv_replace 42 Waitany 59 Waitsome 60 Probe 61 Iprobe 62 Bsend_init 112 Recv_init 116 Send_init 117
        Rsend_init 121 Ssend_init 122 Mprobe 190 Improbe 191 Mrecv 192 Imrecv 193""",
    50000002: """Bcast 7 Barrier 8 Reduce 9 Allreduce 10 Alltoall 11 Alltoallv 12 Gather 13 Gatherv 14 Scatter 15 Scatterv 16
        Allgather 17 Allgatherv 18 Scan 30 Reduce_scatter 80 Ireduce 154 Iallreduce 155 Ibarrier 156 Ibcast 157 Ialltoall
        158 Ialltoallv 159 Iallgather 160 Iallgatherv 161 Igather 162 Igatherv 163 Iscatter 164 Iscatterv 165
        Ireduce_scatter 166 Iscan 167 Reduce_scatter_block 168 Ireduce_scatter_block 169 Alltoallw 170 Ialltoallw 171
        Neighbor_allgather 174 Ineighbor_allgather 175 Neighbor_allgatherv 176 Ineighbor_allgatherv 177 Neighbor_alltoall
        178 Ineighbor_alltoall 179 Neighbor_alltoallv 180 Ineighbor_alltoallv 181 Neighbor_alltoallw 182 Ineighbor_alltoallw
        183 Exscan 214 Iexscan 215""",
    50000003: """Comm_rank 19 Comm_size 20 Comm_create 21 Comm_dup 22 Comm_split 23 Comm_group 24 Comm_free 25 Comm_remote_group 26
        Comm_remote_size 27 Comm_test_inter 28 Comm_compare 29 Init 31 Finalize 32 Test 39 Cart_create 43 Cart_shift 44
        Cart_coords 45 Cart_get 46 Cart_map 47 Cart_rank 48 Cart_sub 49 Cartdim_get 50 Dims_create 51 Graph_get 52 Graph_map
        53 Graph_create 54 Graph_neighbors 55 Graphdims_get 56 Graph_neighbors_count 57 Topo_test 58 Pack 76 Unpack 77
        Op_create 78 Op_free 79 Attr_delete 81 Attr_get 82 Attr_put 83 Group_difference 84 Group_excl 85 Group_free 86
        Group_incl 87 Group_intersection 88 Group_rank 89 Group_range_excl 90 Group_range_incl 91 Group_size 92
        Group_translate_ranks 93 Group_union 94 Group_compare 95 Intercomm_create 96 Intercomm_merge 97 Keyval_free 98
        Keyval_create 99 Abort 100 Error_class 101 Errhandler_create 102 Errhandler_free 103 Errhandler_get 104 Error_string
        105 Errhandler_set 106 Get_processor_name 107 Initialized 108 Wtick 109 Wtime 110 Address 111 Buffer_attach 113
        Buffer_detach 114 Request_free 115 Get_count 118 Get_elements 119 Pack_size 120 Start 123 Startall 124 Testall 125
        Testany 126 Test_cancelled 127 Testsome 128 Type_commit 129 Type_contiguous 130 Type_extent 131 Type_free 132
        Type_hindexed 133 Type_hvector 134 Type_indexed 135 Type_lb 136 Type_size 137 Type_struct 138 Type_ub 139
        Type_vector 140 Comm_spawn 151 Comm_spawn_multiple 152 Request_get_status 153 Dist_graph_create 173 Comm_split_type
        194 Comm_dup_with_info 211 Dist_graph_create_adjacent 212 Comm_create_group 213""",
    50000004: """Win_create 63 Win_free 64 Put 65 Get 66 Accumulate 67 Win_fence 68 Win_complete 69 Win_start 70 Win_post 71 Win_wait
        72 Win_test 73 Win_lock 74 Win_unlock 75 Get_accumulate 172 Fetch_and_op 184 Compare_and_swap 185 Win_flush 186
        Win_flush_all 187 Win_flush_local 188 Win_flush_local_all 189""",
    50000005: """File_open 141 File_close 142 File_read 143 File_read_all 144 File_write 145 File_write_all 146 File_read_at 147
        File_read_at_all 148 File_write_at 149 File_write_at_all 150 File_write_all_begin 195 File_write_all_end 196
        File_read_all_begin 197 File_read_all_end 198 File_write_at_all_begin 199 File_write_at_all_end 200
        File_read_at_all_begin 201 File_read_at_all_end 202 File_read_ordered 203 File_read_ordered_begin 204
        File_read_ordered_end 205 File_read_shared 206 File_write_ordered 207 File_write_ordered_begin 208
        File_write_ordered_end 209 File_write_shared 210""",
}
_KNOWN = {
    f"MPI_{name}": (kind, int(value)) for kind, text in _VALUES.items() for name, value in zip(*[iter(text.split())] * 2, strict=True)
}


_OTHERS = {
    "omp_fork": (PARALLEL, 3, FORK),
    "omp_join": (60000016, 1, SYNCHRONIZATION),
    "omp_barrier": (60000005, 1, SYNCHRONIZATION),
    "omp_implicit_barrier": (60000005, _OWN, SYNCHRONIZATION),
    "omp_critical": (60000007, 3, SYNCHRONIZATION),
    "omp_lock": (60000007, _OWN, SYNCHRONIZATION),
    "omp_release": (60000007, 5, SYNCHRONIZATION),
    "omp_ordered": (60000033, 3, SYNCHRONIZATION),
    "omp_task_create": (60000024, _OWN, FORK),
    "omp_task": (60000011, 1, FORK),
    "omp_taskwait": (60000022, 1, SYNCHRONIZATION),
    "pthread_create": (61000002, 1, FORK),
    "pthread_join": (61000003, 1, FORK),
    "pthread_mutex_lock": (61000008, 1, SYNCHRONIZATION),
    "pthread_release": (61000009, 1, SYNCHRONIZATION),
    "pthread_cond_signal": (61000010, 1, SYNCHRONIZATION),
    "pthread_cond_wait": (61000012, 1, SYNCHRONIZATION),
    "pthread_barrier_wait": (61000013, 1, SYNCHRONIZATION),
    **{
        f"shmem_{name}": (52000000, _OWN, state)
        for state, names in (
            (OTHERS, "init finalize malloc realloc free team_split global_exit"),
            (SYNCHRONIZATION, "barrier_all barrier sync_all sync fence quiet set_lock clear_lock"),
            (TEST, "test test_lock"),
            (WAITING, "wait_until"),
            (GROUP, "broadcast collect fcollect alltoall reduce"),
            (REMOTE, "put put_nbi put_signal put_signal_nbi get get_nbi atomic atomic_fetch"),
        )
        for name in names.split()
    },
    "device_launch": (63000001, 1, FORK),
    "device_copy": (63000001, 3, TRANSFER),
    "device_synchronize": (63000001, 4, SYNCHRONIZATION),
}
"""Type, value and state of the calls of OpenSHMEM, threads and devices; from _OWN on values of kinds that Extrae does not tell apart."""


def _code(op: int, name: str) -> tuple[int, int]:
    """Return type and value of the event that begins a call of a routine; those of idle threads and devices have none."""
    if not operations.MPI[op]:
        kind, value, _ = _OTHERS.get(name, (0, op, IDLE))
        return kind, value if value != _OWN else _OWN + op
    window = name.startswith(("MPI_Win_", "MPI_Rput", "MPI_Rget", "MPI_Raccumulate"))
    own = 50000005 if name.startswith("MPI_File_") else 50000004 if window else 50000003
    return _KNOWN.get(name, (own, _OWN + op))


def _state(op: int) -> int:
    """Return what a process, thread or stream does in a call of a routine."""
    if not operations.MPI[op]:
        return _OTHERS.get(operations.OPS[op], (0, 0, IDLE))[2]
    of_type = {50000002: GROUP, 50000004: REMOTE, 50000005: IO}
    kind = int(operations.KIND[op])
    return _OF_KIND[kind] if kind != operations.OTHER and kind in _OF_KIND else of_type.get(int(TYPE[op]), OTHERS)


TYPE, VALUE = (np.array(column, "i8") for column in zip(*(_code(op, name) for op, name in enumerate(operations.OPS)), strict=True))
"""Per op: type and value of the event that begins a call."""
ENDED = np.zeros(len(operations.OPS), "i8")
"""Per op: value of the event that ends a call: a parallel region stays open behind its fork, and a lock is held."""
ENDED[[operations.OP[name] for name in ("omp_fork", "omp_critical", "omp_lock")]] = 3, LOCKED, LOCKED
STATE = np.array([_state(op) for op in range(len(operations.OPS))], "i8")
"""Per op: what a process does in a call."""
