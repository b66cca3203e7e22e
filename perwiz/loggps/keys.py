"""The keys of a model of a machine, as model files, changes and reports name them, and which values each may have."""

from __future__ import annotations

import difflib
import numbers
import reprlib
from collections.abc import Iterable
from typing import Any

from perwiz.errors import ModelError
from perwiz.kernels.names import PAIR_CLASSES

PAIRS = ("within-node", "between-nodes", "between-metahosts")
"""Classes of pairs of locations; "" stands for all."""
SENDS = ("blocking", "nonblocking", "sendrecv")
"""Kinds of sending calls; "" stands for all."""
LETTERS = {
    "L_ns": "L",
    "o_s_ns": "o_s",
    "o_r_ns": "o_r",
    "g_ns": "g",
    "G_ns_per_byte": "G",
    "O_s_ns_per_byte": "O_s",
    "O_r_ns_per_byte": "O_r",
    "s_bytes": "s",
}
"""Keys of costs, and the letter each stands for."""
LIMITS = {"S_bytes": "", **{f"S_{kind}_bytes": kind for kind in SENDS}}
"""Keys of eager limits, and the kind of send each is for."""
PARAMETERS = (*(key for key in LETTERS if key != "s_bytes"), "S_bytes", "s_bytes")
"""Keys that the table [parameters] must have."""
POSTED = "once posted"
"""The progress of SimGrid: no message moves before its receive is posted, and nothing but the message does."""
CONVENTIONS = ("request_overheads", "acknowledge_overheads", "gap", "progress")
"""Keys that the table [conventions] must have."""
OF_ALL = (*CONVENTIONS, "inline_bytes", "interfaces")
"""Keys that hold for all pairs and sizes."""
CHOICES = {"gap": ("sending call", "none"), "progress": ("always", "in calls", POSTED)}
"""Values of the conventions that are words."""
BOTH_ENDS = {"o_ns": ("o_s_ns", "o_r_ns"), "O_ns_per_byte": ("O_s_ns_per_byte", "O_r_ns_per_byte")}
"""Keys that stand for the same value at both ends."""
OF_PAIRS = (*PARAMETERS, *(key for key in LIMITS if key != "S_bytes"))
"""Keys that may be of one class of pairs."""
NO_LIMIT = 10**12
"""The largest value of a limit: no message is above it."""
ALL_PAIRS = PAIR_CLASSES
"""Where the class of a pair is asked for: none in particular."""
_WHOLE = (*LIMITS, "inline_bytes", "interfaces", "from_bytes", "s_bytes", "request_overheads", "acknowledge_overheads")
_LARGEST = float(NO_LIMIT)


def of_class(pairs: str, key: str) -> str:
    """Return how changes of a model name a key of a class of pairs, "" for all."""
    return f"{pairs}:{key}" if pairs else key


def changed_pairs(text: str) -> list[str]:
    """Return the classes of pairs that changes as `Model.with_changes` takes them are about, in order."""
    return [pairs for pairs in PAIRS if any(part.strip().startswith(f"{pairs}:") for part in text.split(","))]


def is_changes(text: str) -> bool:
    """Return whether what stands for a model is changes of the fitted one, `KEY=VALUE,...`, and no name or file."""
    return "=" in text and "/" not in text and not text.endswith(".toml")


def checked(key: str, value: Any) -> float | int | str:
    """Return a value in the type of its key. Raises ModelError."""
    if key in CHOICES:
        if value not in CHOICES[key]:
            raise ModelError(f"{key} is {shown(value)}, must be {' or '.join(map(repr, CHOICES[key]))}")
        return str(value)
    whole = key in _WHOLE
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    least = 1 if key == "interfaces" else 0
    if not number or not least <= value <= _LARGEST or (whole and value % 1):
        raise ModelError(f"{key} is {shown(value)}, must be a {'whole ' if whole else ''}number from {least} to {_LARGEST:g}")
    return int(value) if whole else float(value)


def checked_pairs(pairs: object, also: str | None = None) -> str:
    """Return the name of a class of pairs. Raises ModelError."""
    if pairs != also and pairs not in PAIRS:
        raise ModelError(f"pairs is {unknown(pairs, PAIRS)}")
    return str(pairs)


_MEANT = {
    word: f"{key}, {what}"
    for words, key, what in (
        (("bandwidth", "bw", "G"), "G_ns_per_byte", "one over the bandwidth"),
        (("latency", "lat", "L"), "L_ns", "the latency"),
        (("overhead", "o"), "o_ns", "the overhead"),
        (("eager", "eager_limit", "S"), "S_bytes", "the eager limit"),
    )
    for word in words
}
"""What is meant by words that are no keys of a model."""


def unknown(key: object, keys: Iterable[str]) -> str:
    """Return what to say of a word that is none of those there are."""
    keys = list(keys)
    close = difflib.get_close_matches(key, keys, n=1) if isinstance(key, str) else []
    meant = _MEANT.get(key, "") if isinstance(key, str) else ""
    if meant.partition(",")[0] in keys:
        close = [meant]
    return f"{shown(key)}, must be one of {', '.join(keys)}" + (f"; did you mean {close[0]}?" if close else "")


class _Short(reprlib.Repr):
    """Short texts, also of integers that Python refuses to write."""

    def repr_int(self, x: int, level: int) -> str:
        return "an integer of thousands of digits" if x.bit_length() > _BITS else super().repr_int(x, level)


_SHORT = _Short()
_BITS = 14_000
"""Of an integer of some 4200 digits; Python writes up to 4300."""


def shown(value: object) -> str:
    """Return a short text for a value of any type."""
    return _SHORT.repr(value)
