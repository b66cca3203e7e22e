# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Rows of the recorder to columns, requests and the two ends of messages; the nesting of its regions.

Nothing here holds Python's global lock: processes are handled by several threads at once, each with its own rows of what is written to.
"""

import cython
import numpy as np

from perwiz.kernels import records

STRANGER = cython.declare(cython.int, records.STRANGER)
ANYBODY = cython.declare(cython.int, records.ANYBODY)
MYSELF = cython.declare(cython.int, records.MYSELF)
SENDS = cython.declare(cython.int, records.SENDS)
RECEIVES = cython.declare(cython.int, records.RECEIVES)
POSTS = cython.declare(cython.int, records.POSTS)
DONE = cython.declare(cython.int, records.DONE)
ANY_SOURCE = cython.declare(cython.int, records.ANY_SOURCE)
ANY_TAG = cython.declare(cython.int, records.ANY_TAG)
FAILED = cython.declare(cython.int, records.FAILED)
CANCELLED = cython.declare(cython.int, records.CANCELLED)
MANY = cython.declare(cython.int, records.MANY)
MODE = cython.declare(cython.int, records.MODE)
MODE_SHIFT = cython.declare(cython.int, records.MODE_SHIFT)
ACTS = cython.declare(cython.int, records.ACTS)
RECORDED = cython.declare(cython.int, records.RECORDED)
UNSUCCESSFUL_TEST = cython.declare(cython.int, records.UNSUCCESSFUL_TEST)
ROOTED = cython.declare(cython.int, records.ROOTED)
COMPLETES = cython.declare(cython.int, records.COMPLETES)
TESTS = cython.declare(cython.int, records.TESTS)
TALKS = cython.declare(cython.int, records.TALKS)
NO_CALL = cython.declare(cython.int, records.NO_CALL)

CALL = np.dtype(
    [
        *((name, "<i8") for name in ("enter", "leave")),
        ("site", "<u8"),
        *((name, "<i8") for name in ("sent", "received", "request")),
        *((name, "<i4") for name in ("peer", "tag", "comm")),
        *((name, "<u2") for name in ("op", "bits")),
    ],
    align=True,
)
"""A record of one MPI call, as recorder.h has it; `bits` are its flags."""
Call = cython.struct(
    enter=cython.longlong,
    leave=cython.longlong,
    site=cython.ulonglong,
    sent=cython.longlong,
    received=cython.longlong,
    request=cython.longlong,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    op=cython.ushort,
    bits=cython.ushort,
)
PART = np.dtype(
    [*((name, "<i8") for name in ("call", "request", "bytes")), *((name, "<i4") for name in ("peer", "tag", "comm", "bits"))], align=True
)
"""One of several requests of a call, as recorder.h has it; `call` is the row of its call."""
Part = cython.struct(
    call=cython.longlong,
    request=cython.longlong,
    bytes=cython.longlong,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    bits=cython.int,
)
OPERATION = np.dtype([("op", "i2"), ("bits", "u2")], align=True)
"""What an operation of the recorder is: an op of perwiz, or NO_CALL; ROOTED, COMPLETES, TESTS, TALKS."""
Operation = cython.struct(op=cython.short, bits=cython.ushort)
COMMUNICATOR = np.dtype([("row", "i4"), ("first", "i4"), ("ranks", "i4")], align=True)
"""A communicator of a process: its row in the trace, where its ranks begin among the members, how many there are."""
Communicator = cython.struct(row=cython.int, first=cython.int, ranks=cython.int)
SITE = np.dtype([("address", "u8"), ("number", "i8")], align=True)
"""A slot of the hash table of addresses that calls return to: address (0: free), number."""
Site = cython.struct(address=cython.ulonglong, number=cython.longlong)
ACTION = np.dtype([("request", "i8"), ("bytes", "i8"), *((name, "i4") for name in ("call", "peer", "tag", "comm", "bits"))], align=True)
"""What a call does to one message or request: `peer` is a rank of the world, `comm` a row of the trace, `bits` are flags."""
Action = cython.struct(
    request=cython.longlong,
    bytes=cython.longlong,
    call=cython.int,
    peer=cython.int,
    tag=cython.int,
    comm=cython.int,
    bits=cython.int,
)
OTHER = np.dtype([("row", "i8"), ("calls", "i8")], align=True)
"""A record that is no call: its row, and the number of the next call."""
Other = cython.struct(row=cython.longlong, calls=cython.longlong)
SLOT = np.dtype([("request", "i4"), ("receive", "i4")], align=True)
"""What a number of a request stands for: the row of the request and of its receive, -1 none."""
Slot = cython.struct(request=cython.int, receive=cython.int)
PROGRESS = np.dtype([(name, "i8") for name in ("row", "part", "sites", "calls", "actions", "others", "strangers", "to_nobody")], align=True)
"""How far one location is read: the row where the piece begins, the next part, how many addresses were numbered, the next call, action and
other record, how many partners were strangers, how many calls talked to nobody."""
Progress = cython.struct(
    row=cython.longlong,
    part=cython.longlong,
    sites=cython.longlong,
    calls=cython.longlong,
    actions=cython.longlong,
    others=cython.longlong,
    strangers=cython.longlong,
    to_nobody=cython.longlong,
)
TRAFFIC = np.dtype([(name, "i8") for name in ("sends", "receives", "requests", "tests", "last_request", "strangers")], align=True)
"""How many sends, receives, requests and unsuccessful tests there are, or which is the next; the largest number of a request that was
posted; how many partners were strangers."""
Traffic = cython.struct(
    sends=cython.longlong,
    receives=cython.longlong,
    requests=cython.longlong,
    tests=cython.longlong,
    last_request=cython.longlong,
    strangers=cython.longlong,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _world(
    communicators: cython.const[Communicator][::1], members: cython.const[cython.int][::1], comm: cython.int, peer: cython.int
) -> cython.int:
    """Return the world rank of a partner, STRANGER for one outside of its communicator; what is below 0 stays."""
    if peer < 0:
        return peer
    if comm < 0 or comm >= communicators.shape[0] or peer >= communicators[comm].ranks:
        return STRANGER
    return members[communicators[comm].first + peer]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _site(address: cython.ulonglong, sites: Site[::1], progress: Progress[::1]) -> cython.int:
    """Return the number of an address in the hash table, -1 of none; those that are new get -2, -3 ..."""
    mask = sites.shape[0] - 1
    slot: cython.Py_ssize_t = (address ^ (address >> 7) ^ (address >> 17)) & mask
    if address == 0:
        return -1
    while sites[slot].address != 0 and sites[slot].address != address:
        slot = (slot + 1) & mask
    if sites[slot].address == 0:
        sites[slot].address = address
        progress[0].sites += 1
        sites[slot].number = -1 - progress[0].sites
    return cython.cast(cython.int, sites[slot].number)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _act(
    actions: Action[::1],
    progress: Progress[::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    request: cython.longlong,
    bytes_: cython.longlong,
    peer: cython.int,
    tag: cython.int,
    comm: cython.int,
    bits: cython.int,
) -> cython.void:
    """Add an action of the next call."""
    k = progress[0].actions
    actions[k].call = cython.cast(cython.int, progress[0].calls)
    actions[k].request = request
    actions[k].bytes = bytes_
    actions[k].peer = _world(communicators, members, comm, peer)
    actions[k].tag = tag
    actions[k].comm = communicators[comm].row if 0 <= comm < communicators.shape[0] else -1
    actions[k].bits = bits
    progress[0].actions = k + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _count(traffic: Traffic[::1], bits: cython.int, request: cython.longlong) -> cython.void:
    """Count what an action with these flags adds."""
    traffic[0].sends += bits & (SENDS | DONE) == SENDS
    traffic[0].receives += bits & (RECEIVES | DONE) == RECEIVES
    if bits & (POSTS | DONE) == POSTS:
        traffic[0].requests += 1
        traffic[0].last_request = max(traffic[0].last_request, request)


def survey(
    rows: cython.const[Call][::1],
    parts: cython.const[Part][::1],
    operations: cython.const[Operation][::1],
    sites: Site[::1],
    progress: Progress[::1],
    traffic: Traffic[::1],
) -> cython.Py_ssize_t:
    """Count what `split` and `tie` will write of rows of one location, and number its addresses; return how many rows were handled.

    It ends early when the table of addresses is half full. `traffic.tests` is how many there are at most.
    """
    done: cython.Py_ssize_t = rows.shape[0]
    with cython.nogil:
        for i in range(rows.shape[0]):
            operation = operations[rows[i].op]
            if operation.op == NO_CALL:
                continue
            if 2 * (progress[0].sites + 1) > sites.shape[0]:
                done = i
                break
            _site(rows[i].site, sites, progress)
            bits: cython.int = rows[i].bits
            progress[0].calls += 1
            _count(traffic, bits, rows[i].request)
            traffic[0].tests += operation.bits & TESTS != 0 and not bits & (ACTS | MANY) and rows[i].request >= 0
            while progress[0].part < parts.shape[0] and parts[progress[0].part].call <= progress[0].row + i:
                if parts[progress[0].part].call == progress[0].row + i:
                    _count(traffic, parts[progress[0].part].bits & RECORDED, parts[progress[0].part].request)
                progress[0].part += 1
    return done


def split(
    rows: cython.const[Call][::1],
    parts: cython.const[Part][::1],
    operations: cython.const[Operation][::1],
    communicators: cython.const[Communicator][::1],
    members: cython.const[cython.int][::1],
    rank: cython.int,
    start: cython.longlong,
    op: cython.ushort[::1],
    peer: cython.int[::1],
    tag: cython.int[::1],
    comm: cython.int[::1],
    root: cython.int[::1],
    site: cython.int[::1],
    enter: cython.longlong[::1],
    leave: cython.longlong[::1],
    sent: cython.longlong[::1],
    received: cython.longlong[::1],
    actions: Action[::1],
    others: Other[::1],
    sites: Site[::1],
    progress: Progress[::1],
) -> None:
    """Write the calls among rows of one location to the columns `op` to `received`, and their actions and other records, in program order.

    `rank` is that of the process, `start` the time that is 0 in the columns. `operations` are indexed by what rows name as their op,
    `communicators` by what they name as theirs.
    """
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            operation = operations[row.op]
            call = progress[0].calls
            if operation.op == NO_CALL:
                others[progress[0].others].row = progress[0].row + i
                others[progress[0].others].calls = call
                progress[0].others += 1
                continue
            bits: cython.int = row.bits
            traits: cython.int = operation.bits
            partner = _world(communicators, members, row.comm, row.peer)
            op[call] = cython.cast(cython.ushort, operation.op)
            if traits & (ROOTED | COMPLETES):
                peer[call] = -1
            else:
                peer[call] = ANYBODY if bits & ANY_SOURCE or partner < -1 else partner
                progress[0].strangers += partner == STRANGER and not bits & ANY_SOURCE
            if traits & COMPLETES:
                tag[call] = comm[call] = -1
            else:
                tag[call] = ANYBODY if bits & ANY_TAG else row.tag
                comm[call] = communicators[row.comm].row if 0 <= row.comm < communicators.shape[0] else -1
            root[call] = -1 if not traits & ROOTED else rank if partner == MYSELF else max(-1, partner)
            site[call] = _site(row.site, sites, progress)
            enter[call] = row.enter - start
            leave[call] = row.leave - start
            sent[call] = 0 if bits & FAILED else row.sent
            received[call] = row.received
            progress[0].to_nobody += traits & TALKS != 0 and not bits & (SENDS | RECEIVES | CANCELLED | MANY)
            if bits & ACTS == SENDS | RECEIVES:
                _act(actions, progress, communicators, members, -1, row.sent, row.peer, row.tag, row.comm, bits - RECEIVES)
                # The word of a request holds who sent what came, and its tag above.
                source = cython.cast(cython.int, (row.request << 32) >> 32)
                tag_received = cython.cast(cython.int, row.request >> 32)
                _act(actions, progress, communicators, members, -1, row.received, source, tag_received, row.comm, bits - SENDS)
            elif bits & ACTS:
                bytes_ = row.sent if bits & (SENDS | DONE) == SENDS else row.received
                request = row.request if bits & (POSTS | DONE) else -1
                _act(actions, progress, communicators, members, request, bytes_, row.peer, row.tag, row.comm, bits)
            elif traits & TESTS and not bits & MANY and row.request >= 0:
                _act(actions, progress, communicators, members, row.request, 0, -1, -1, -1, UNSUCCESSFUL_TEST)
            while progress[0].part < parts.shape[0] and parts[progress[0].part].call <= progress[0].row + i:
                part = parts[progress[0].part]
                bits = part.bits & RECORDED
                if part.call == progress[0].row + i and bits:
                    _act(actions, progress, communicators, members, part.request, part.bytes, part.peer, part.tag, part.comm, bits)
                progress[0].part += 1
            progress[0].calls = call + 1


def tie(
    actions: Action[::1],
    slots: Slot[::1],
    send_call: cython.int[::1],
    send_request: cython.int[::1],
    send_peer: cython.int[::1],
    send_tag: cython.int[::1],
    send_comm: cython.int[::1],
    send_mode: cython.uchar[::1],
    send_bytes: cython.longlong[::1],
    receive_call: cython.int[::1],
    receive_done: cython.int[::1],
    receive_peer: cython.int[::1],
    receive_tag: cython.int[::1],
    receive_comm: cython.int[::1],
    receive_bytes: cython.longlong[::1],
    posted_by: cython.int[::1],
    completed_by: cython.int[::1],
    cancelled: cython.uchar[::1],
    test_call: cython.int[::1],
    test_request: cython.int[::1],
    traffic: Traffic[::1],
) -> cython.Py_ssize_t:
    """Write requests, tests and the ends of messages; return how many actions name requests not posted yet: they are moved to the front.

    Sends are in program order, `send_request` is the row of the request or -1. Receives are in the order they are posted; `receive_done`
    is the call that completes one, or -1, and the columns behind are written then. `completed_by` of a request is a call or -1. `test_call`
    found the request in the row `test_request` not complete. `slots` are indexed by the number of a request.
    """
    left: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(actions.shape[0]):
            action = actions[i]
            bits = action.bits
            slot: cython.longlong = action.request if action.request < slots.shape[0] else -1
            if bits & (DONE | UNSUCCESSFUL_TEST) and (slot < 0 or slots[slot].request < 0):
                actions[left] = action
                left += 1
                continue
            if bits & (SENDS | DONE) == SENDS:
                send = traffic[0].sends
                send_call[send] = action.call
                send_request[send] = cython.cast(cython.int, traffic[0].requests) if bits & POSTS else -1
                send_peer[send] = action.peer
                send_tag[send] = action.tag
                send_comm[send] = action.comm
                send_mode[send] = (bits & MODE) >> MODE_SHIFT
                send_bytes[send] = action.bytes
                traffic[0].sends += 1
                traffic[0].strangers += action.peer == STRANGER
            if bits & (RECEIVES | DONE) == RECEIVES:
                receive_call[traffic[0].receives] = action.call
                receive_done[traffic[0].receives] = -1
                traffic[0].receives += 1
            receive: cython.longlong = traffic[0].receives - 1
            if bits & (POSTS | DONE) == POSTS:
                request = traffic[0].requests
                posted_by[request] = action.call
                completed_by[request] = -1
                cancelled[request] = 0
                if slot >= 0:
                    slots[slot].request = cython.cast(cython.int, request)
                    slots[slot].receive = cython.cast(cython.int, receive) if bits & RECEIVES else -1
                traffic[0].requests += 1
            elif bits & DONE:
                completed_by[slots[slot].request] = action.call
                cancelled[slots[slot].request] = bits & CANCELLED != 0
                receive = slots[slot].receive
            elif bits & UNSUCCESSFUL_TEST:
                test_call[traffic[0].tests] = action.call
                test_request[traffic[0].tests] = slots[slot].request
                traffic[0].tests += 1
            if bits & (RECEIVES | POSTS | CANCELLED) == RECEIVES and receive >= 0:
                receive_done[receive] = action.call
                receive_peer[receive] = action.peer
                receive_tag[receive] = action.tag
                receive_comm[receive] = action.comm
                receive_bytes[receive] = action.bytes
                traffic[0].strangers += action.peer == STRANGER
    return left


def nest(begins: cython.const[cython.uchar][::1], stack: cython.int[::1], parent: cython.int[::1], end: cython.int[::1]) -> cython.int:
    """Write, per region begun in a sequence of boundaries, the one around it or -1, and the boundary that ends it or -1.

    `begins` is 1 where a region begins, 0 where the innermost one ends. Regions are numbered in the order in which they begin. Returns
    how many ends have no region to end.
    """
    depth: cython.int = 0
    count: cython.int = 0
    lost: cython.int = 0
    for i in range(begins.shape[0]):
        if begins[i]:
            parent[count] = stack[depth - 1] if depth > 0 else -1
            end[count] = -1
            stack[depth] = count
            depth += 1
            count += 1
        elif depth > 0:
            depth -= 1
            end[stack[depth]] = cython.cast(cython.int, i)
        else:
            lost += 1
    return lost
