"""The slow twins of perwiz/kernels/recorded.py."""


def split(records, operations, comms, ranks):
    """Return (calls, rest) of records given as (enter, leave, site, sent, received, request, peer, tag, comm, op, flags)."""
    calls, rest = [], []
    for row, (enter, leave, _, sent, received, request, peer, tag, comm, operation, flags) in enumerate(records):
        op = operations[operation]
        if op < 0:
            rest.append((row, len(calls)))
            continue
        known = 0 <= comm < len(comms)
        if peer >= 0:
            peer = ranks[comms[comm][1] + peer] if known and peer < comms[comm][2] else -4
        rooted = op >= 256
        where = comms[comm][0] if known else -1
        calls.append((op % 256, -1 if rooted else peer, tag, where, peer if rooted else -1, flags, enter, leave, sent, received, request))
    return calls, rest


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
