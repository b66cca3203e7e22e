"""Lines of liballprof to columns, against a reader that splits them."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perwiz.formats.allprof import functions
from perwiz.formats.allprof.lines import VALUES, WIDE, Lines
from perwiz.trace import operations

MOST = 2**31 - 1
UNTOLD = {"peer", "peer2", "tag", "root", "rank", "of"}


def number(text):
    """Return a whole number of at most 20 digits, modulo 2^64, or None."""
    if not re.fullmatch(r"-?\d{1,20}", text):
        return None
    value = int(text.lstrip("-")) % 2**64
    value -= 2**64 * (value >= 2**63)
    return (-value + 2**63) % 2**64 - 2**63 if text[0] == "-" else value


def time(text):
    """Return ns, or None."""
    found = re.fullmatch(r"(\d{1,20})(?:\.(\d{0,3}|\d{3}[^:]*))?", text)
    if not found or int(found[1]) > 9 * 10**15:
        return None
    return int(found[1]) * 1000 + int((found[2] or "")[:3].ljust(3, "0"))


def argument(slot, text):
    """Return {column: value} of an argument, or None."""
    parts = text.split(",")
    if slot == "comm":
        values = [number(part) for part in parts]
        if len(parts) != 3 or None in values or not all(0 <= value <= MOST for value in values[1:]):
            return None
        return dict(zip(("comm", "rank", "of"), values, strict=True))
    if slot in ("type", "type2"):
        value = number(parts[1]) if len(parts) > 2 else None
    elif slot in ("sum", "sum2"):
        values = [number(part) for part in parts]
        value = None if None in values or not all(0 <= one <= MOST for one in values) else sum(values)
    else:
        value = number(text)
    least = None if slot == "request" else -MOST if slot in ("peer", "peer2", "tag", "tag2", "root") else 0
    return None if value is None or (least is not None and not least <= value <= MOST) else {slot.replace("sum", "count"): value}


def naive(text):
    """Return (op, does, enter, leave, values) of each line that can be read, and how many cannot."""
    lines = text.split("\n")
    rows, bad, last = [], 0, 0
    for line in lines[:-1] if len(lines) > 1 else lines:
        name, *fields = line.split(":")
        if not line or line[0] == "#":
            continue
        times = [time(fields[0]), time(fields[-1])] if len(fields) > 1 else [None, None]
        times = times[1:] * 2 if name in ("MPI_Init", "MPI_Init_thread") else times[:1] * 2 if name == "MPI_Finalize" else times
        layout, values = functions.layouts().get(name), {slot: -1 if slot in UNTOLD else 0 for slot in VALUES + WIDE}
        good = name.startswith("MPI_") and None not in times and (layout is None or len(layout) == len(fields) - 2)
        for slot, field in zip(layout, fields[1:-1], strict=True) if good and layout else ():
            told = argument(slot, field) if slot != "-" else {}
            good = good and told is not None
            values |= told or {}
        if good:
            enter = max(times[0], last)
            last = max(enter, times[1])
            rows.append((operations.OP.get(name, 0), functions.does().get(name, 0), enter, last, [values[slot] for slot in VALUES + WIDE]))
        bad += not good
    return rows, bad


def read(text):
    """Return the same of the kernel."""
    lines = Lines(text.encode("ascii"))
    columns = (lines.op, lines.does, lines.enter, lines.leave, np.array([(lines.value | lines.wide)[name] for name in VALUES + WIDE]).T)
    return [*zip(*(column.tolist() for column in columns), strict=True)], lines.bad


NUMBERS = ["0", "1", "-1", "-2", "77", "2147483647", "2147483648", "9223372036854775808", "18446744073709551615", "9" * 21, "x", "", "-"]
PARTS = ["1,0,2", "94000000,1,2", "11,8,8", "2,4", "1,2,3,4", "5,-1,2", "1,,2", "7,1,2147483648"]
TIMES = ["10", "10.5", "11.1234", "11.12x", "9", "-", "-5", "9000000000000001", "5."]


@st.composite
def lines(draw):
    """Return a line of a function, mostly with as many arguments as it has."""
    name = draw(
        st.sampled_from(["Init", "Finalize", "Send", "Recv", "Sendrecv", "Comm_split", "Alltoallv", "Wait", "Wtime", "Nothing", "x"])
    )
    layout = functions.layouts().get(f"MPI_{name}", ())
    fields = [draw(st.sampled_from(PARTS if slot in ("comm", "type", "type2", "sum", "sum2") else NUMBERS[:8])) for slot in layout]
    if draw(st.integers(0, 5)) == 0:
        fields.insert(draw(st.integers(0, len(fields))), draw(st.sampled_from(NUMBERS + PARTS)))
    begin, end = draw(st.sampled_from(TIMES)), draw(st.sampled_from(TIMES))
    return ":".join([draw(st.sampled_from(["MPI_"] * 9 + ["PMPI_", "#"])) + name, begin, *fields, end])


@given(st.lists(lines(), max_size=8), st.sampled_from(["", "\n"]))
def test_law(rows, end):
    text = "\n".join(rows) + end
    assert read(text) == naive(text)


def test_whole_lines():
    """Each kind of line once, as liballprof writes them."""
    rows = [
        f"MPI_{name}:5:" + "".join({"comm": "1,0,2", "type": "11,8,8", "type2": "11,8,8"}.get(slot, "3") + ":" for slot in layout) + "6.25"
        for name, layout in ((name.removeprefix("MPI_"), layout) for name, layout in functions.layouts().items())
    ]
    large = "MPI_Scatterv:5:3:2:2147483647,1:3:3:11,8,8:3:3:11,8,8:3:1,0,2:6"
    bad = [large, "MPI_", "MPI_Wtime", "MPI_Wtime:7", "MPI_Wait:7:1:2:3:8", "MPI_Wtime:7x:8", "MPI_Wtime:7.x:8"]
    text = "\n".join(["# comment", "", *rows, "MPI_Comm_get_name:7:whatever:8", *bad, ""])
    assert read(text) == naive(text)
    assert (len(read(text)[0]), read(text)[1]) == (len(rows) + 1, len(bad))
