"""The slow twins of perwiz/kernels/recorded.py."""

from perwiz.kernels.records import (
    ANY_SOURCE,
    ANY_TAG,
    CANCELLED,
    COMPLETES,
    DONE,
    FAILED,
    MANY,
    MODE,
    MODE_SHIFT,
    MYSELF,
    NO_CALL,
    POSTS,
    RECEIVES,
    RECORDED,
    ROOTED,
    SENDS,
    STRANGER,
    TALKS,
    TESTS,
    UNSUCCESSFUL_TEST,
)


def world(comms, comm, peer):
    """Return the world rank of a partner."""
    if peer < 0:
        return peer
    return comms[comm][1][peer] if 0 <= comm < len(comms) and peer < len(comms[comm][1]) else STRANGER


def split(records, parts, operations, comms, rank, start):
    """Return (calls, actions, other records, strangers, calls to nobody).

    Records are (enter, leave, site, sent, received, request, peer, tag, comm, op, flags), parts (row, request, bytes, peer, tag, comm,
    flags), operations (op, traits), communicators (row, members). A call is (op, peer, tag, comm, root, address, enter, leave, sent,
    received), an action (call, request, bytes, peer, tag, comm, flags), another record (row, calls before).
    """
    calls, actions, others, strangers, nobody = [], [], [], 0, 0

    def act(request, size, peer, tag, comm, flags):
        row = comms[comm][0] if 0 <= comm < len(comms) else -1
        actions.append((len(calls), request, size, world(comms, comm, peer), tag, row, flags))

    for row, (begin, end, site, sent, received, request, peer, tag, comm, operation, flags) in enumerate(records):
        op, traits = operations[operation]
        if op == NO_CALL:
            others.append((row, len(calls)))
            continue
        partner = world(comms, comm, peer)
        root = -1 if not traits & ROOTED else rank if partner == MYSELF else max(partner, -1)
        if traits & (ROOTED | COMPLETES):
            shown = -1
        else:
            shown = -2 if flags & ANY_SOURCE else max(partner, -2)
            strangers += partner == STRANGER and not flags & ANY_SOURCE
        nobody += bool(traits & TALKS and not flags & (SENDS | RECEIVES | CANCELLED | MANY))
        if flags & 15 == SENDS | RECEIVES:
            act(-1, sent, peer, tag, comm, flags - RECEIVES)
            came = request & (2**64 - 1)
            source, its = (half - 2**32 if half >= 2**31 else half for half in (came & 0xFFFFFFFF, came >> 32))
            act(-1, received, source, its, comm, flags - SENDS)
        elif flags & 15:
            size = sent if flags & SENDS and not flags & DONE else received
            act(request if flags & (POSTS | DONE) else -1, size, peer, tag, comm, flags)
        elif traits & TESTS and not flags & MANY and request >= 0:
            act(request, 0, -1, -1, -1, UNSUCCESSFUL_TEST)
        for part in parts:
            if part[0] == row and part[6] & RECORDED:
                act(*part[1:6], part[6] & RECORDED)
        where = -1 if traits & COMPLETES or not 0 <= comm < len(comms) else comms[comm][0]
        asked = -1 if traits & COMPLETES else -2 if flags & ANY_TAG else tag
        times = begin - start, end - start
        calls.append((op, shown, asked, where, root, site, *times, 0 if flags & FAILED else sent, received))
    return calls, actions, others, strangers, nobody


def survey(calls, actions):
    """Return (addresses in order, calls, sends, receives, requests, tests, largest number of a request posted) of what `split` returns."""
    flags = [action[6] for action in actions]
    posted = [action[1] for action in actions if action[6] & (POSTS | DONE) == POSTS]
    kinds = ((SENDS | DONE, SENDS), (RECEIVES | DONE, RECEIVES), (POSTS | DONE, POSTS), (UNSUCCESSFUL_TEST, UNSUCCESSFUL_TEST))
    counts = [sum(one & mask == wanted for one in flags) for mask, wanted in kinds]
    addresses = list(dict.fromkeys(call[5] for call in calls if call[5]))
    return addresses, [len(calls), *counts, max([0, *posted])]


def tie(actions):
    """Return (sends, receives, requests, tests, actions left, strangers) of actions, which all name requests below 4 or none.

    A send is (call, request, peer, tag, comm, mode, bytes), a receive [call, completed by, peer, tag, comm, bytes], a request [posted by,
    completed by, cancelled].
    """
    sends, receives, requests, tests, left, known, strangers = [], [], [], [], [], {}, 0
    for action in actions:
        call, request, size, peer, tag, comm, flags = action
        if flags & (DONE | UNSUCCESSFUL_TEST) and request not in known:
            left.append(action)
            continue
        if flags & (SENDS | DONE) == SENDS:
            sends.append((call, len(requests) if flags & POSTS else -1, peer, tag, comm, (flags & MODE) >> MODE_SHIFT, size))
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
        elif flags & UNSUCCESSFUL_TEST:
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
