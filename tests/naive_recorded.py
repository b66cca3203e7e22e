"""The slow twins of perwiz/kernels/recorded.py."""

SENDS, RECEIVES, POSTS, DONE, ANY_SOURCE, ANY_TAG, FAILED, CANCELLED, MANY = (1 << k for k in range(9))
ROOTED, COMPLETES, TESTS, TALKS = (256 << k for k in range(4))
TEST = 1 << 16
STRANGER = -4


def world(comms, comm, peer):
    """Return the world rank of a partner."""
    if peer < 0:
        return peer
    return comms[comm][1][peer] if 0 <= comm < len(comms) and peer < len(comms[comm][1]) else STRANGER


def split(records, parts, operations, comms, rank, start):
    """Return (calls, entries, strangers, calls to nobody).

    Records are (enter, leave, site, sent, received, request, peer, tag, comm, op, flags), parts (row, request, bytes, peer, tag, comm,
    flags), communicators (row, members). A call is (op, peer, tag, comm, root, address, enter, leave, sent, received).
    """
    calls, entries, strangers, nobody = [], [], 0, 0

    def enter(request, size, peer, tag, comm, flags):
        row = comms[comm][0] if 0 <= comm < len(comms) else -1
        entries.append((len(calls), request, size, world(comms, comm, peer), tag, row, flags))

    for row, (begin, end, site, sent, received, request, peer, tag, comm, operation, flags) in enumerate(records):
        code = operations[operation]
        if code < 0:
            enter(-1, row, 0, 0, -1, 0)
            continue
        partner = world(comms, comm, peer)
        root = -1 if not code & ROOTED else rank if partner == -3 else max(partner, -1)
        if code & (ROOTED | COMPLETES):
            shown = -1
        else:
            shown = -2 if flags & ANY_SOURCE else max(partner, -2)
            strangers += partner == STRANGER and not flags & ANY_SOURCE
        nobody += bool(code & TALKS and not flags & (SENDS | RECEIVES | FAILED | CANCELLED | MANY))
        if flags & 15 == SENDS | RECEIVES:
            enter(-1, sent, peer, tag, comm, flags - RECEIVES)
            came = request & (2**64 - 1)
            source, its = (half - 2**32 if half >= 2**31 else half for half in (came & 0xFFFFFFFF, came >> 32))
            enter(-1, received, source, its, comm, flags - SENDS)
        elif flags & 15:
            size = sent if flags & SENDS and not flags & DONE else received
            enter(request if flags & (POSTS | DONE) else -1, size, peer, tag, comm, flags)
        elif code & TESTS and not flags & MANY and request >= 0:
            enter(request, 0, -1, -1, -1, TEST)
        for one in parts:
            if one[0] == row and one[6] & 0xFFFF:
                enter(*one[1:6], one[6] & 0xFFFF)
        where = -1 if code & COMPLETES or not 0 <= comm < len(comms) else comms[comm][0]
        asked = -1 if code & COMPLETES else -2 if flags & ANY_TAG else tag
        times = begin - start, end - start
        calls.append((code % 256, shown, asked, where, root, site, *times, 0 if flags & FAILED else sent, received))
    return calls, entries, strangers, nobody


def survey(calls, entries):
    """Return (addresses in order, calls, sends, receives, requests, tests, largest number of a request posted) of what `split` returns."""
    flags = [entry[6] for entry in entries]
    posted = [entry[1] for entry in entries if entry[6] & (POSTS | DONE) == POSTS]
    kinds = ((SENDS | DONE, SENDS), (RECEIVES | DONE, RECEIVES), (POSTS | DONE, POSTS), (TEST, TEST))
    counts = [sum(one & mask == wanted for one in flags) for mask, wanted in kinds]
    addresses = list(dict.fromkeys(call[5] for call in calls if call[5]))
    return addresses, [len(calls), *counts, max([0, *(number for number in posted if number < 2**28)])]


def tie(entries):
    """Return (sends, receives, requests, tests, entries left, strangers) of entries, which all name requests below 4 or none.

    A send is (call, request, peer, tag, comm, mode, bytes), a receive [call, completed by, peer, tag, comm, bytes], a request [posted by,
    completed by, cancelled].
    """
    sends, receives, requests, tests, left, known, strangers = [], [], [], [], [], {}, 0
    for entry in entries:
        call, request, size, peer, tag, comm, flags = entry
        if flags & (DONE | TEST) and request not in known:
            left.append(entry)
            continue
        if flags & (SENDS | DONE) == SENDS:
            sends.append((call, len(requests) if flags & POSTS else -1, peer, tag, comm, flags >> 9 & 3, size))
            strangers += peer == STRANGER
        receive = None
        if flags & (RECEIVES | DONE) == RECEIVES:
            receive = [call, -1, 0, 0, 0, 0]
            receives.append(receive)
        if flags & (POSTS | DONE) == POSTS:
            requests.append([call, -1, 0])
            if 0 <= request < 4:
                known[request] = len(requests) - 1, receive
            receive = None
        elif flags & DONE:
            row, receive = known[request]
            requests[row][1:] = call, int(flags & CANCELLED != 0)
        elif flags & TEST:
            tests.append((call, known[request][0]))
        if flags & RECEIVES and not flags & (POSTS | CANCELLED) and receive is not None:
            receive[1:] = call, peer, tag, comm, size
            strangers += peer == STRANGER
    return sends, receives, requests, tests, left, strangers


def nest(begins):
    """Return (parent, end, ends of nothing) of regions begun and ended in a sequence of boundaries."""
    parent, end, open_, lost = [], [], [], 0
    for boundary, one in enumerate(begins):
        if one:
            parent.append(open_[-1] if open_ else -1)
            end.append(-1)
            open_.append(len(parent) - 1)
        elif open_:
            end[open_.pop()] = boundary
        else:
            lost += 1
    return parent, end, lost
