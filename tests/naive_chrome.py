"""The slow twin of the kernel that reads events of Trace Event JSON: Python's own reader, and numbers as decimals."""

import itertools
import json
from decimal import Decimal, InvalidOperation

from perwiz.kernels import chrome

NO_TIME = -(1 << 62)
DETAILS = {
    "Collective name": "collective",
    "Process Group Name": "group",
    "Process Group Ranks": "ranks",
    "dtype": "element",
    "In msg nelems": "sent",
    "Out msg nelems": "received",
    "Seq": "sequence",
    "Src Rank": "source",
    "Dst Rank": "target",
    "Global rank start": "first",
    "Global rank stride": "stride",
    "Group size": "members",
    "wait_on_stream": "awaited",
    "wait_on_cuda_event_record_corr_id": "record",
}
TEXTS = ("collective", "group", "ranks", "element", "shapes", "inputs")
SMALL = ("source", "target", "first", "stride", "members", "awaited")


def scaled(value, shift):
    """Return a number times 10 ** shift as a whole one, None for what is none."""
    try:
        number = Decimal(str(value)) if isinstance(value, int | Decimal) and not isinstance(value, bool) else Decimal(str(value).strip())
        whole = int(number.scaleb(shift))
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return whole if abs(whole) < 1 << 61 else None


def text(value):
    """Return a value as it stands in compact JSON, a text without its quotes."""
    return json.dumps(value, separators=(",", ":"))[1:-1] if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def detail(arguments, shaped, told_inputs):
    """Return what the arguments of an event tell beside correlation and bytes, or None."""
    told = {name: ("" if name in TEXTS else -1) for name in (*DETAILS.values(), "shapes", "inputs")}
    some = {"Input Dims": "shapes", "Input type": "element"} if shaped else {}
    some |= {"Concrete Inputs": "inputs"} if told_inputs else {}
    found = False
    for key, value in arguments.items():
        name = DETAILS.get(key, some.get(key))
        if name is None:
            continue
        found = True
        if name in TEXTS:
            told[name] = text(value)
        else:
            number = scaled(value, 0)
            good = number is not None and number >= 0 and not (name in SMALL and number >= 1 << 31)
            told[name] = number if good else -1
    return told if found else None


def events(objects, shaped):
    """Return (complete events, objects that cannot be used); `shaped` is the category whose shapes count."""
    out, bad = [], 0
    for one in objects:
        if len(str(one.get("ph", ""))) != 1:
            bad += 1
            continue
        if one["ph"] != "X":
            continue
        times = [scaled(one.get(name, "-"), 3) for name in ("ts", "dur")]
        if None in times or times[1] < 0 or "name" not in one:
            bad += 1
            continue
        arguments = one.get("args", {})
        counts = [scaled(arguments.get(name, -1), 0) for name in ("correlation", "bytes")]
        row = [*times, *(-1 if count is None or count < 0 else count for count in counts)]
        row += [text(one[name]) if name in one else "" for name in ("cat", "name", "pid", "tid")]
        known = dict(itertools.takewhile(lambda field: field[0] != "args", one.items()))  # what stands before the arguments
        out.append((*row, detail(arguments, known.get("cat") == shaped, known.get("name") in ("c10d::send", "c10d::recv_"))))
    return out, bad


def keys():
    """Return the keys that are understood."""
    return chrome.KEYS
