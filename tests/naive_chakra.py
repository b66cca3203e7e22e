"""Nodes of Chakra execution traces, slowly: what the kernels of perwiz.kernels.chakra_* read and write."""

import struct

SIGNED = (15, 17)
SCALARS = {"is_cpu_op": "cpu", "comm_type": "collective", "comm_size": "amount", "comm_src": "source", "comm_dst": "target"}
SCALARS |= {"comm_tag": "tag", "tid": "thread", "stream": "stream"}


class Wrong(Exception):
    """Bytes that are no message."""


def number(data, at):
    """Return (number, place behind it)."""
    out, shift = 0, 0
    while at < len(data) and shift < 64:
        out |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return signed(out % 2**64), at
    raise Wrong


def signed(bits):
    return bits - 2**64 if bits >= 2**63 else bits


def fields(data):
    """Return (field, how it is held, number or bytes) of a message."""
    at, out = 0, []
    while at < len(data):
        head, at = number(data, at)
        field, held = head >> 3, head & 7
        if held == 0:
            value, at = number(data, at)
        else:
            length = {1: 8, 5: 4}.get(held, -1)
            if held == 2:
                length, at = number(data, at)
            if not 0 <= length <= len(data) - at:
                raise Wrong
            value, at = data[at : at + length], at + length
            if held != 2:
                value = signed(int.from_bytes(value, "little"))
        out.append((field, held, value))
    return out


def node(data):
    """Return a node as a dictionary: `needs` in order, texts as bytes."""
    out = dict.fromkeys(("id", "start", "duration", "type", "narrow"), 0) | dict.fromkeys(("name", "told", "group"), b"")
    out |= dict.fromkeys(SCALARS.values(), -1) | {"needs": []}
    for field, held, value in fields(data):
        if held == 0 and field in (1, 3, 6, 7):
            name = {1: "id", 3: "type", 6: "start", 7: "duration"}[field]
            out[name] = min(max(value, 0), 127) if field == 3 else value
        elif held == 0 and field == 5:
            out["needs"].append(value)
        elif held == 2 and field == 2:
            out["name"] = value
        elif held == 2 and field == 5:
            at = 0
            while at < len(value):
                need, at = number(value, at)
                out["needs"].append(need)
        elif held == 2 and field == 8:
            for inner, how, text in fields(value):
                if (inner, how) == (1, 2):
                    out["told"] = text
        elif held == 2 and field == 10:
            attribute(out, fields(value))
    if not all(0 <= out[name] <= 2**62 for name in ("start", "duration")):
        raise Wrong
    return out


def attribute(out, said):
    """Take what an attribute tells of a node."""
    key, value = b"", None
    for field, held, inner in said:
        if (field, held) == (1, 2):
            key = inner
        elif field > 2:
            value = field, held, inner
    if value is None:
        return
    field, held, inner = value
    name = SCALARS.get(key.decode("latin-1"))
    if held == 2:
        if key == b"pg_name":
            out["group"] = inner
        elif key == b"involved_dim" and field == 28 and 0 in inner[2:]:
            out["narrow"] = 1
        return
    if field in SIGNED:
        inner = (inner % 2**64 >> 1) ^ -(inner & 1)
    if not -1 <= inner <= 2**62:
        raise Wrong
    if name:
        out[name] = int(inner != 0) if name == "cpu" else min(inner, 127) if name == "collective" else inner


def parse(data):
    """Return (nodes, messages that cannot be used, whether the last one lacks bytes)."""
    at, out, bad, first = 0, [], 0, True
    while at < len(data):
        try:
            size, at = number(data, at)
        except Wrong:
            return out, bad, True
        if not 0 <= size <= len(data) - at:
            return out, bad, True
        if not first:
            try:
                out.append(node(data[at : at + size]))
            except Wrong:
                bad += 1
        at, first = at + size, False
    return out, bad, False


def varint(value):
    """Return the bytes of a number, of one below 0 as 64 bits."""
    value %= 2**64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(kind, value):
    """Return a field: an integer, or bytes behind their length."""
    if isinstance(value, int):
        return varint(kind << 3) + varint(value)
    return varint(kind << 3 | 2) + varint(len(value)) + value


def said(name, value, kind=9):
    """Return an attribute: kind 7 and 9 are numbers, 17 one with a sign in front, 25 eight bytes, 27 a truth, 29 a text, 28 truths."""
    if kind == 25:
        held = varint(kind << 3 | 1) + struct.pack("<q", value)
    elif kind == 28:
        held = field(kind, field(1, bytes(value)))
    else:
        held = field(kind, (value << 1 ^ value >> 63) if kind == 17 else int(value) if kind == 27 else value)
    return field(10, field(1, name.encode()) + held)


def message(body):
    """Return a message behind its length."""
    return varint(len(body)) + body


HEAD = message(field(1, b"0.0.4"))


def written(id, name, type, needs=(), duration=0, attributes=b""):
    """Return a node as perwiz writes it."""
    out = (field(1, id) if id else b"") + field(2, name) + field(3, type)
    if needs:
        out += field(5, b"".join(map(varint, needs)))
    return message(out + (field(7, duration) if duration else b"") + attributes)
