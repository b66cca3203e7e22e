"""The functions whose arguments are needed, and what the fields of their lines are, between the times."""

from __future__ import annotations

import functools

CALL, SEND, RECV, EXCHANGE, ISEND, IRECV, COLLECTIVE, INIT_SEND, INIT_RECV, START, WAIT, MAYBE, TEST, MAKES, FREES = range(15)
"""What a function does to messages, requests and communicators: `WAIT` completes what it names, `MAYBE` some of it, `TEST` perhaps none."""
_LAYOUTS = {
    "- count type peer tag comm": "Send Bsend Ssend Rsend",
    "- count type peer tag comm -": "Recv",
    "- count type peer tag comm request": "Isend Ibsend Issend Irsend Irecv Send_init Bsend_init Ssend_init Rsend_init Recv_init",
    "- count type peer tag - count2 type2 peer2 tag2 comm -": "Sendrecv",
    "- count type peer tag peer2 tag2 comm -": "Sendrecv_replace",
    "request -": "Wait",
    "request - -": "Test",
    "listed request": "Startall",
    "listed request -": "Waitall",
    "listed request - -": "Testall Waitany",
    "listed request - - -": "Testany Waitsome Testsome",
    "peer tag comm -": "Probe",
    "peer tag comm - -": "Iprobe",
    "comm": "Barrier",
    "comm -": "Comm_size Comm_rank",
    "comm - request": "Comm_create Cart_sub",
    "comm peer tag request": "Comm_split",
    "comm - - - - request": "Cart_create Graph_create",
    "request": "Start Comm_free",
    "- count type root comm": "Bcast",
    "- - count type - root comm": "Reduce",
    "- - count type - comm": "Allreduce Scan Exscan",
    "- count type - count2 type2 root comm": "Gather Scatter",
    "- count type - count2 type2 comm": "Allgather Alltoall",
    "- count type - - sum2 - - type2 root comm": "Gatherv",
    "- - sum - - type - count2 type2 root comm": "Scatterv",
    "- count type - - sum2 - - type2 comm": "Allgatherv",
    "- - sum - - type - - sum2 - - type2 comm": "Alltoallv",
    "- - - sum type - comm": "Reduce_scatter",
    "- - - - - - - - - - - - comm": "Alltoallw",
    "comm request": "Ibarrier Comm_dup",
    "- count type root comm request": "Ibcast",
    "- - count type - root comm request": "Ireduce",
    "- - count type - comm request": "Iallreduce",
    "- count type - count2 type2 comm request": "Iallgather Ialltoall",
}
"""Arrays of counts are an address and, in a field of its own, the counts."""
_DOES = {
    SEND: "Send Bsend Ssend Rsend",
    RECV: "Recv",
    EXCHANGE: "Sendrecv Sendrecv_replace",
    ISEND: "Isend Ibsend Issend Irsend",
    IRECV: "Irecv",
    COLLECTIVE: "Ibarrier Ibcast Ireduce Iallreduce Iallgather Ialltoall",
    INIT_SEND: "Send_init Bsend_init Ssend_init Rsend_init",
    INIT_RECV: "Recv_init",
    START: "Start Startall",
    WAIT: "Wait Waitall",
    MAYBE: "Waitany Waitsome",
    TEST: "Test Testall Testany Testsome",
    MAKES: "Comm_dup Comm_create Cart_sub Comm_split Cart_create Graph_create",
    FREES: "Comm_free",
}


@functools.lru_cache(1)
def layouts() -> dict[str, tuple[str, ...]]:
    """Return what the fields of each function are; those that are not here have fields that nobody needs."""
    return {f"MPI_{name}": tuple(text.split()) for text, names in _LAYOUTS.items() for name in names.split()}


@functools.lru_cache(1)
def does() -> dict[str, int]:
    """Return what each function does, where it does something."""
    return {f"MPI_{name}": what for what, names in _DOES.items() for name in names.split()}
