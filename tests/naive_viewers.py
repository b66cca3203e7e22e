"""The slow obvious twins of the kernels that write for viewers."""

from __future__ import annotations


def fill(kind, cells, steps_of, texts, entries, absent):
    """Return the text of rows: `steps_of` has a list of (code, argument, extent) per kind, `texts` the texts as bytes."""
    out = b""
    for k, row in zip(kind, cells, strict=True):
        steps, at, opened = steps_of[k], 0, b""
        while at < len(steps):
            code, argument, extent = steps[at]
            if code == 0:
                out += texts[argument]
            elif code == 1:
                out += str(row[argument]).encode()
            elif code in (2, 3):
                us, rest = divmod(row[argument], 1000)
                out += f"{us}.{rest:03d}".encode() if rest or code == 2 else str(us).encode()
            elif code == 4:
                out += texts[row[argument]]
            elif code == 5:
                out += ",".join(str(entry) for entry in entries[row[argument] : row[argument] + row[extent]]).encode()
            elif code == 6:
                at += extent if row[argument] == absent else 0
            elif code == 7:
                opened = out
            elif len(out) - len(opened) <= extent:
                out = opened
            at += 1
    return out


def nest(location, enter, leave, fixed):
    """Return (slice, whether it is the end) in order, and the slices that do not fit."""
    events, missed, around = [], set(), []
    for i, begin in enumerate(enter):
        while around and (location[around[-1]] != location[i] or leave[around[-1]] <= begin):
            events.append((around.pop(), True))
        crossed = [other for other in around if leave[other] < leave[i]]
        if crossed and (not fixed[i] or any(fixed[other] for other in crossed)):
            missed.add(i)
            continue
        missed |= set(crossed)
        around = [other for other in around if other not in crossed]
        events.append((i, False))
        around.append(i)
    events += [(other, True) for other in reversed(around)]
    return [event for event in events if event[0] not in missed], missed
