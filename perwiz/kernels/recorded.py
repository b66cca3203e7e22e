# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Rows of the recorder to columns, requests and the two ends of messages; the nesting of its regions.

Nothing here holds Python's global lock: processes are handled by several threads at once, each with its own rows of what is written to.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _world(process: cython.const[cython.int][::1], comm: cython.int, peer: cython.int) -> cython.int:
    """Return the world rank of a partner, -4 of one outside of its communicator; what is below 0 stays."""
    if peer < 0:
        return peer
    if comm < 0 or comm >= process[65536] or peer >= process[65540 + 3 * comm]:
        return -4
    return process[process[65539 + 3 * comm] + peer]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _site(address: cython.longlong, state: cython.longlong[::1]) -> cython.int:
    """Return the number of an address in the hash table, which begins at cell 16 of `state`; -2, -3 ... for those that are new."""
    mask: cython.longlong = (state.shape[0] - 16) // 2 - 1
    at: cython.longlong = (address ^ (address >> 7) ^ (address >> 17)) & mask
    if address == 0:
        return -1
    while state[16 + 2 * at] != 0 and state[16 + 2 * at] != address:
        at = (at + 1) & mask
    if state[16 + 2 * at] == 0:
        state[16 + 2 * at] = address
        state[2] += 1
        state[17 + 2 * at] = -1 - state[2]
    return cython.cast(cython.int, state[17 + 2 * at])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _entry(
    process: cython.const[cython.int][::1],
    entries: cython.longlong[:, ::1],
    state: cython.longlong[::1],
    request: cython.longlong,
    bytes_: cython.longlong,
    partner: cython.longlong,
    comm: cython.int,
    flags: cython.longlong,
) -> cython.longlong:
    """Add an entry of the next call, and return how many there are then: `partner` is peer | tag << 32."""
    k: cython.Py_ssize_t = state[1]
    entries[k, 0] = state[0]
    entries[k, 1] = request
    entries[k, 2] = bytes_
    entries[k, 3] = _world(process, comm, cython.cast(cython.int, (partner << 32) >> 32))
    entries[k, 4] = partner >> 32
    entries[k, 5] = process[65538 + 3 * comm] if 0 <= comm < process[65536] else -1
    entries[k, 6] = flags
    state[1] = k + 1
    return state[1]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _count(state: cython.longlong[::1], flags: cython.longlong, request: cython.longlong) -> cython.longlong:
    """Count an entry with these flags; return the largest number of a request posted so far; what is 2^28 or more is none."""
    state[4] += flags & 9 == 1
    state[5] += flags & 10 == 2
    if flags & 12 == 4:
        state[6] += 1
        if request < 268435456:
            state[8] = max(state[8], request)
    return state[8]


def survey(
    rows: cython.const[cython.longlong][:, ::1],
    parts: cython.const[cython.longlong][:, ::1],
    process: cython.const[cython.int][::1],
    state: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Count what `split` and `tie` will write of rows of one location, and number its addresses; return how many rows were handled.

    It ends early when the table of addresses is half full. The arguments are those of `split`. `state`: row where `rows` begin, next part,
    addresses, then counts: calls, sends, receives, requests, tests at most, and the largest number of a request that is posted; from 16 on
    the table of addresses.
    """
    i: cython.Py_ssize_t
    code: cython.int
    flags: cython.longlong
    done: cython.Py_ssize_t = rows.shape[0]
    with cython.nogil:
        for i in range(rows.shape[0]):
            code = process[(rows[i, 7] >> 32) & 65535]
            if code < 0:
                continue
            if 4 * (state[2] + 1) > state.shape[0] - 16:
                done = i
                break
            _site(rows[i, 2], state)
            flags = (rows[i, 7] >> 48) & 65535
            state[3] += 1
            _count(state, flags, rows[i, 5])
            state[7] += code & 1024 != 0 and not flags & 271 and rows[i, 5] >= 0
            while state[1] < parts.shape[0] and parts[state[1], 0] <= state[0] + i:
                if parts[state[1], 0] == state[0] + i:
                    _count(state, (parts[state[1], 4] >> 32) & 65535, parts[state[1], 1])
                state[1] += 1
    return done


def split(
    rows: cython.const[cython.longlong][:, ::1],
    parts: cython.const[cython.longlong][:, ::1],
    process: cython.const[cython.int][::1],
    op: cython.uchar[::1],
    ints: cython.int[:, ::1],
    longs: cython.longlong[:, ::1],
    entries: cython.longlong[:, ::1],
    state: cython.longlong[::1],
) -> None:
    """Write the calls among rows of one location to the columns, and what they and their parts do to messages and requests to `entries`.

    `rows` are the eight words of each record: enter, leave, site, sent, received, request, peer | tag << 32, comm | op << 32 | flags << 48;
    `parts` the five of one of several requests: row of its call, request, bytes, peer | tag << 32, comm | flags << 32. `process` holds, for
    each operation of the recorder, its op (more: 256, the peer is a root; 512, it only completes; 1024, it tests one request; 2048, it
    talks to one partner), or -1 for what is no call; from 65536 on the number of communicators, the rank, per communicator its row, where
    its members begin, and their number; then members. `ints`: peer, tag, comm, root, site. `longs`: enter, leave, sent, received.
    `entries`: call, request, bytes, peer, tag, comm, flags, in program order; flags 0 for what is no call: its row is the
    request, the call that of the next. `state`: next call, next entry, addresses, partners that are strangers, calls to nobody, row of the
    location where `rows` begin, next part, start; from 16 on a hash table of addresses (0: free) and their numbers.
    """
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    code: cython.int
    flags: cython.longlong
    peer: cython.int
    comm: cython.int
    bytes_: cython.longlong
    k: cython.Py_ssize_t
    with cython.nogil:
        for i in range(rows.shape[0]):
            code = process[(rows[i, 7] >> 32) & 65535]
            at = state[0]
            if code < 0:
                _entry(process, entries, state, -1, state[5] + i, 0, -1, 0)
                continue
            flags = (rows[i, 7] >> 48) & 65535
            comm = cython.cast(cython.int, (rows[i, 7] << 32) >> 32)
            peer = _world(process, comm, cython.cast(cython.int, (rows[i, 6] << 32) >> 32))
            op[at] = code & 255
            ints[0, at] = -1 if code & 768 else -2 if flags & 16 or peer < -1 else peer
            ints[1, at] = -1 if code & 512 else -2 if flags & 32 else cython.cast(cython.int, rows[i, 6] >> 32)
            ints[2, at] = -1 if code & 512 or comm < 0 or comm >= process[65536] else process[65538 + 3 * comm]
            ints[3, at] = -1 if not code & 256 else process[65537] if peer == -3 else max(-1, peer)
            ints[4, at] = _site(rows[i, 2], state)
            longs[0, at] = rows[i, 0] - state[7]
            longs[1, at] = rows[i, 1] - state[7]
            longs[2, at] = 0 if flags & 64 else rows[i, 3]
            longs[3, at] = rows[i, 4]
            state[3] += peer == -4 and not flags & 16 and not code & 768
            state[4] += code & 2048 != 0 and not flags & 451
            if flags & 15 == 3:
                _entry(process, entries, state, -1, rows[i, 3], rows[i, 6], comm, flags - 2)
                _entry(process, entries, state, -1, rows[i, 4], rows[i, 5], comm, flags - 1)
            elif flags & 15:
                bytes_ = rows[i, 3] if flags & 9 == 1 else rows[i, 4]
                _entry(process, entries, state, rows[i, 5] if flags & 12 else -1, bytes_, rows[i, 6], comm, flags)
            elif code & 1024 and not flags & 256 and rows[i, 5] >= 0:
                _entry(process, entries, state, rows[i, 5], 0, -1, -1, 65536)
            while state[6] < parts.shape[0] and parts[state[6], 0] <= state[5] + i:
                if parts[state[6], 0] == state[5] + i and (parts[state[6], 4] >> 32) & 65535:
                    k = state[6]
                    comm = cython.cast(cython.int, (parts[k, 4] << 32) >> 32)
                    _entry(process, entries, state, parts[k, 1], parts[k, 2], parts[k, 3], comm, (parts[k, 4] >> 32) & 65535)
                state[6] += 1
            state[0] = at + 1


def tie(
    entries: cython.longlong[:, ::1],
    slots: cython.int[:, ::1],
    ends: cython.int[:, ::1],
    sizes: cython.longlong[:, ::1],
    requests: cython.int[:, ::1],
    state: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write requests and the two ends of messages; return how many entries name requests not posted yet: they are moved to the front.

    `entries` are those of `split`. `slots` holds, per number of a request, its row in `requests` and the row of its receive, -1 none.
    `ends`: sends (call, request, peer, tag, comm, mode), then receives in the order they are posted (call, completing call or -1, peer,
    tag, comm). `sizes`: bytes sent, bytes received. `requests`: posting call, completing call or -1, cancelled; then calls that found a
    request not complete, and that. `state`: sends, receives, requests, tests, partners that are strangers.
    """
    i: cython.Py_ssize_t
    left: cython.Py_ssize_t = 0
    call: cython.int
    flags: cython.longlong
    peer: cython.int
    slot: cython.longlong
    k: cython.Py_ssize_t
    with cython.nogil:
        for i in range(entries.shape[0]):
            flags = entries[i, 6]
            call = cython.cast(cython.int, entries[i, 0])
            peer = cython.cast(cython.int, entries[i, 3])
            slot = entries[i, 1] if entries[i, 1] < slots.shape[0] else -1
            if flags & 65544 and (slot < 0 or slots[slot, 0] < 0):
                for k in range(7):
                    entries[left, k] = entries[i, k]
                left += 1
                continue
            if flags & 9 == 1:
                k = state[0]
                ends[0, k] = call
                ends[1, k] = cython.cast(cython.int, state[2]) if flags & 4 else -1
                ends[2, k] = peer
                ends[3, k] = cython.cast(cython.int, entries[i, 4])
                ends[4, k] = cython.cast(cython.int, entries[i, 5])
                ends[5, k] = cython.cast(cython.int, (flags >> 9) & 3)
                sizes[0, k] = entries[i, 2]
                state[0] += 1
                state[4] += peer == -4
            if flags & 10 == 2:
                ends[6, state[1]] = call
                ends[7, state[1]] = -1
                state[1] += 1
            k = state[1] - 1
            if flags & 12 == 4:
                requests[0, state[2]] = call
                requests[1, state[2]] = -1
                requests[2, state[2]] = 0
                if slot >= 0:
                    slots[slot, 0] = cython.cast(cython.int, state[2])
                    slots[slot, 1] = cython.cast(cython.int, k) if flags & 2 else -1
                state[2] += 1
            elif flags & 8:
                requests[1, slots[slot, 0]] = call
                requests[2, slots[slot, 0]] = cython.cast(cython.int, flags >> 7) & 1
                k = slots[slot, 1]
            elif flags & 65536:
                requests[3, state[3]] = call
                requests[4, state[3]] = slots[slot, 0]
                state[3] += 1
            if flags & 134 == 2 and k >= 0:
                ends[7, k] = call
                ends[8, k] = peer
                ends[9, k] = cython.cast(cython.int, entries[i, 4])
                ends[10, k] = cython.cast(cython.int, entries[i, 5])
                sizes[1, k] = entries[i, 2]
                state[4] += peer == -4
    return left


def nest(begins: cython.const[cython.uchar][::1], stack: cython.int[::1], parent: cython.int[::1], end: cython.int[::1]) -> cython.int:
    """Write, per region begun in a sequence of boundaries, the one around it or -1, and the boundary that ends it or -1.

    `begins` is 1 where a region begins, 0 where the innermost one ends. Regions are numbered in the order in which they begin. Returns
    how many ends have no region to end.
    """
    i: cython.Py_ssize_t
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
