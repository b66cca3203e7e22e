"""The slow, obvious twin of the kernel patterns."""


def wrong_order(location, sent, ends, late_sent, remembered):
    """Return per late sender the message received later but sent earlier that shows its order wrong, -1 if none."""
    earlier, memory = [-1] * len(late_sent), {}
    for i, (place, time, late) in enumerate(zip(location, sent, ends, strict=True)):
        known = memory.setdefault(place, [])
        shown = [number for number in known if late_sent[number] > time]
        for number in shown:
            earlier[number] = i
            known.remove(number)
        if late >= 0:
            known.append(late)
            del known[:-remembered]
    return earlier
