"""A small encoder of DUMPI: records of calls, files of processes and their list, made from what they say."""

import struct

from perwiz.formats.dumpi import functions

MAGIC = b"\xff\xaa\xddDUMPI"
WORLD, SELF, NULL, INT, DOUBLE, ANY = 2, 3, 1, 9, 14, -1
SECOND = 1000
"""What the times of the records count from."""
_NUMBERS = {"b": "B", "h": "H", "i": "i", "q": "q", "B": "B", "H": "H", "I": "i", "+": "i"}


def status(source=0, tag=0, count=0, cancelled=0):
    """Return a status as the records have it."""
    return count, source, cancelled, 0, tag


def _argument(form, value, tags):
    if form in "bhiq":
        return struct.pack(f">{_NUMBERS[form]}", value)
    head = struct.pack(">i", len(value))
    if form == "c":
        return head + value
    if form == "S":
        return head + b"".join(struct.pack(">iibbi", *each)[: None if tags else 10] for each in value)
    inner = {"C": "c", "D": "C", "J": "I"}.get(form)
    return head + b"".join(_argument(inner, each, tags) if inner else struct.pack(f">{_NUMBERS[form]}", each) for each in value)


def record(name, *arguments, at=(0, 1), thread=0, mask=0x4F, counters=(), version=(1, 0, 0)):
    """Return the record of a call, entered and left `at` these ns; what only a root has is left out where it is not given."""
    if counters:
        mask |= 0x80
    if not mask & 3:
        arguments = tuple(value for value in arguments if not (isinstance(value, list) and value and isinstance(value[0], tuple)))
    out = struct.pack(">HB", functions.NAMES.index(name), mask) + (struct.pack(">H", thread) if mask & 0x40 else b"")
    for bit in (4, 8):
        if mask & bit:
            out += b"".join(struct.pack(">HI", ns // 10**9 % 65536, ns % 10**9) for ns in at)
    if counters:
        out += bytes([len(counters) // 2]) + b"".join(struct.pack(">Q", value) for value in counters)
    words = functions.layout(name, version).split()
    forms = [word.lstrip("?")[0] for word in words if not (word == "S=status" or word == "S") or mask & 3]
    if len(arguments) < len(forms):
        forms = [word[0] for word in words if word[0] != "?" and (word[0] != "S" or mask & 3)]
    assert len(forms) == len(arguments), (name, forms, arguments)
    return out + b"".join(_argument(form, value, version >= (0, 6, 3)) for form, value in zip(forms, arguments, strict=True))


def file(records, version=(1, 0, 0), sizes=(), host=b"n1", places=7):
    """Return the file of a process; with 4 places in its index it is an old one, with none it was cut off."""
    body = MAGIC + struct.pack(">ii", 0, SECOND) + b"".join(records)
    if not places:
        return body
    header = len(body) + 2
    text = body + struct.pack(">H", 293) + bytes(version) + struct.pack(">QH", SECOND, len(host)) + host + struct.pack(">HII", 0, 0, 0)
    of_sizes = len(text)
    text += struct.pack(f">I{len(sizes)}i", len(sizes), *sizes)
    index = [of_sizes if sizes else 0, 0, 0, header, 8, len(text), len(text)]
    return text + bytes(8) + MAGIC + struct.pack(f">{places}Q", *index[-places:])


def put(folder, ranks, name="run", processes=None, **how):
    """Write a trace, the records of each process (bytes: its file); return its list."""
    for rank, records in enumerate(ranks):
        if records is not None:
            (folder / f"{name}-{rank:04d}.bin").write_bytes(records if isinstance(records, bytes) else file(records, **how))
    path = folder / f"{name}.meta"
    path.write_text(f"hostname=n1\nnumprocs={processes or len(ranks)}\nfileprefix={name}\n")
    return str(path)


def in_turn(*calls, start=0, **how):
    """Return the records of calls (name, arguments ...), each entered 10 ns after the one before and 5 ns long."""
    return [record(name, *arguments, at=(start + 10 * k, start + 10 * k + 5), **how) for k, (name, *arguments) in enumerate(calls)]
