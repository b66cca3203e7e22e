# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Nodes of Chakra execution traces, messages of Protocol Buffers of which each stands behind its length, to rows.

A message is fields, each behind a number that is eight times its own and how it is held: 0 as a number of seven bits a byte, 1 and 5 in
eight and four bytes, 2 as bytes behind their length. Of a node field 1 is its number, 2 its name, 3 its type, 5 what comes before it,
6 and 7 when it begins and how long it takes, 8 its inputs, 10 an attribute, of which 1 is the name and any other the value.
"""

import cython

from perwiz.kernels import chakra

CPU = cython.declare(cython.int, chakra.CPU)
COLLECTIVE = cython.declare(cython.int, chakra.COLLECTIVE)
SIZE = cython.declare(cython.int, chakra.SIZE)
SOURCE = cython.declare(cython.int, chakra.SOURCE)
TARGET = cython.declare(cython.int, chakra.TARGET)
TAG = cython.declare(cython.int, chakra.TAG)
THREAD = cython.declare(cython.int, chakra.THREAD)
STREAM = cython.declare(cython.int, chakra.STREAM)
GROUP = cython.declare(cython.int, chakra.GROUP)
DIMENSIONS = cython.declare(cython.int, chakra.DIMENSIONS)
SIGNED_4 = cython.declare(cython.int, 15)
SIGNED_8 = cython.declare(cython.int, 17)
BOOLS = cython.declare(cython.int, 28)
SEVEN_BITS = cython.declare(cython.int, 127)
HELD = cython.declare(cython.int, 7)
SIGN = cython.declare(cython.int, 1)
"""Where a signed number has it: its last bit."""
MOST = cython.declare(cython.longlong, 2**62)
"""A number that is greater, or negative where there is no sign, makes no sense."""
BITS = cython.declare(cython.ulonglong, 2**64 - 1)
BELOW_SIGN = cython.declare(cython.longlong, 2**63 - 1)

I8 = cython.typedef(cython.longlong)
I4 = cython.typedef(cython.int)

Node = cython.struct(
    id=I8, start=I8, duration=I8, name=I8, name_length=I8, told=I8, told_length=I8, group=I8, group_length=I8, amount=I8, source=I8,
    target=I8, tag=I8, thread=I8, stream=I8, type=I4, collective=I4, cpu=I4, narrow=I4,
)  # fmt: skip
Need = cython.struct(row=I8, id=I8)
State = cython.struct(at=I8, nodes=I8, needs=I8, bad=I8, cut=I4, wrong=I4)
Field = cython.struct(number=I8, held=I8, value=I8, length=I8)
"""A field: `value` is its number, or where its bytes are."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _signed(bits: cython.ulonglong) -> I8:
    """Return the number that 64 bits are, of which the first is its sign."""
    if bits >> 63:
        return cython.cast(I8, bits & BELOW_SIGN) - BELOW_SIGN - 1
    return cython.cast(I8, bits)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _number(data: cython.const[cython.uchar][::1], state: State[::1], end: I8) -> I8:
    """Return the number at `state.at`, and step behind it."""
    out: cython.ulonglong = 0
    shift: cython.int = 0
    while state[0].at < end and shift < 64:
        byte: cython.ulonglong = data[state[0].at]
        state[0].at += 1
        out = (out | (byte & SEVEN_BITS) << shift) & BITS
        if byte <= SEVEN_BITS:
            return _signed(out)
        shift += 7
    state[0].wrong = 1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _field(data: cython.const[cython.uchar][::1], state: State[::1], end: I8) -> Field:
    """Return the field at `state.at`, and step behind it."""
    out: Field = Field(number=0, held=0, value=0, length=0)
    head: I8 = _number(data, state, end)
    out.number, out.held = head >> 3, head & HELD
    if out.held == 0:
        out.value = _number(data, state, end)
    else:
        if out.held == 2:
            out.length = _number(data, state, end)
        elif out.held == 1:
            out.length = 8
        elif out.held == 5:
            out.length = 4
        else:
            state[0].wrong = 1
        out.value = state[0].at
        if out.length < 0 or out.length > end - state[0].at:
            state[0].wrong, out.length = 1, 0
        state[0].at += out.length
        if out.held != 2:
            bits: cython.ulonglong = 0
            k: I8 = out.value + out.length
            while k > out.value:
                k -= 1
                bits = bits << 8 | data[k]
            out.value = _signed(bits)
    return out


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _key(
    data: cython.const[cython.uchar][::1],
    at: I8,
    length: I8,
    keys: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
) -> I4:
    """Return which key stands at a place, -1 none."""
    begin: I8 = 0
    for k in range(len(ends)):
        if ends[k] - begin == length:
            same: I8 = 0
            while same < length and keys[begin + same] == data[at + same]:
                same += 1
            if same == length:
                return cython.cast(I4, k)
        begin = ends[k]
    return -1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _attribute(
    data: cython.const[cython.uchar][::1],
    state: State[::1],
    end: I8,
    keys: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    nodes: Node[::1],
    row: I8,
) -> cython.void:
    """Take the attribute that goes on to `end`."""
    key: I4 = -1
    value: Field = Field(number=0, held=0, value=0, length=0)
    while state[0].at < end and state[0].wrong == 0:
        field: Field = _field(data, state, end)
        if field.number == 1 and field.held == 2:
            key = _key(data, field.value, field.length, keys, ends)
        elif field.number > 2:
            value = field
    number: I8 = value.value
    if value.number == SIGNED_4 or value.number == SIGNED_8:
        number = (number >> 1 & BELOW_SIGN) ^ -(number & SIGN)
    if state[0].wrong == 1 or value.number == 0:
        return
    if value.held == 2:
        if key == GROUP:
            nodes[row].group, nodes[row].group_length = value.value, value.length
        elif key == DIMENSIONS and value.number == BOOLS:
            for k in range(value.value + min(value.length, 2), value.value + value.length):
                if data[k] == 0:
                    nodes[row].narrow = 1
    elif number < -1 or number > MOST:
        state[0].wrong = 1
    elif key == CPU:
        nodes[row].cpu = number != 0
    elif key == COLLECTIVE:
        nodes[row].collective = cython.cast(I4, min(number, 127))
    elif key == SIZE:
        nodes[row].amount = number
    elif key == SOURCE:
        nodes[row].source = number
    elif key == TARGET:
        nodes[row].target = number
    elif key == TAG:
        nodes[row].tag = number
    elif key == THREAD:
        nodes[row].thread = number
    elif key == STREAM:
        nodes[row].stream = number


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _inputs(data: cython.const[cython.uchar][::1], state: State[::1], end: I8, nodes: Node[::1], row: I8) -> cython.void:
    """Take where the values of inputs stand."""
    while state[0].at < end and state[0].wrong == 0:
        field: Field = _field(data, state, end)
        if field.number == 1 and field.held == 2:
            nodes[row].told, nodes[row].told_length = field.value, field.length


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _need(state: State[::1], needs: Need[::1], id: I8) -> cython.void:
    """Add a node that comes before the one that is read, if there is room; it is counted either way."""
    if state[0].needs < len(needs):
        needs[state[0].needs].row = state[0].nodes
        needs[state[0].needs].id = id
    state[0].needs += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _node(
    data: cython.const[cython.uchar][::1],
    state: State[::1],
    end: I8,
    keys: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    nodes: Node[::1],
    needs: Need[::1],
    row: I8,
) -> cython.void:
    """Take the node that goes on to `end`."""
    nodes[row].id = nodes[row].start = nodes[row].duration = 0
    nodes[row].name = nodes[row].name_length = nodes[row].told = nodes[row].told_length = nodes[row].group = nodes[row].group_length = 0
    nodes[row].amount = nodes[row].source = nodes[row].target = nodes[row].tag = nodes[row].thread = nodes[row].stream = -1
    nodes[row].type, nodes[row].collective, nodes[row].cpu, nodes[row].narrow = 0, -1, -1, 0
    while state[0].at < end and state[0].wrong == 0:
        field: Field = _field(data, state, end)
        behind: I8 = state[0].at
        if state[0].wrong == 1:
            break
        if field.held == 0:
            if field.number == 1:
                nodes[row].id = field.value
            elif field.number == 3:
                nodes[row].type = cython.cast(I4, min(max(field.value, 0), 127))
            elif field.number == 5:
                _need(state, needs, field.value)
            elif field.number == 6:
                nodes[row].start = field.value
            elif field.number == 7:
                nodes[row].duration = field.value
        elif field.held == 2:
            state[0].at = field.value
            if field.number == 2:
                nodes[row].name, nodes[row].name_length = field.value, field.length
            elif field.number == 5:
                while state[0].at < behind and state[0].wrong == 0:
                    _need(state, needs, _number(data, state, behind))
            elif field.number == 8:
                _inputs(data, state, behind, nodes, row)
            elif field.number == 10:
                _attribute(data, state, behind, keys, ends, nodes, row)
            state[0].at = behind
    if nodes[row].start < 0 or nodes[row].start > MOST or nodes[row].duration < 0 or nodes[row].duration > MOST:
        state[0].wrong = 1


def parse(
    data: cython.const[cython.uchar][::1],
    keys: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    state: State[::1],
    nodes: Node[::1],
    needs: Need[::1],
) -> None:
    """Take the nodes of a file and what comes before each, as far as there is room; `state`, zeros before, says how many there are.

    The first message is about the file. The last row of `nodes` is for those that are counted only. `keys` are those of chakra.KEYS, one
    behind the other, and `ends` where they end.
    """
    with cython.nogil:
        first: cython.bint = True
        while state[0].at < len(data):
            begin: I8 = state[0].at
            size: I8 = _number(data, state, len(data))
            if state[0].wrong == 1 or size < 0 or size > len(data) - state[0].at:
                state[0].at, state[0].wrong, state[0].cut = begin, 0, 1
                break
            end: I8 = state[0].at + size
            before: I8 = state[0].needs
            if not first:
                _node(data, state, end, keys, ends, nodes, needs, min(state[0].nodes, len(nodes) - 1))
                if state[0].wrong == 1:
                    state[0].bad += 1
                    state[0].needs = before
                else:
                    state[0].nodes += 1
            state[0].at, state[0].wrong, first = end, 0, False
