"""What SMPI makes of a platform of SimGrid, as the content of a model file.

A message of k bytes takes latency x lat-factor + (k + 16) / (bandwidth x bw-factor): 16 bytes are its envelope, and the factors depend on
the size (defaults of SimGrid 3.32: `smpirun --help-cfg`; smpi_request.cpp, network_smpi.cpp). The bandwidth is at most that of the
largest window of TCP, gamma / (2 latency) (network_cm02.cpp). It begins when both its ends are posted. Sends of less than
smpi/send-is-detached-thresh bytes return at once, longer ones when the message has arrived. Sending and receiving take no time of their
own (smpi/os, smpi/ois, smpi/or). Messages share the two links of each host of a cluster, as its one interface (the 5 % that those the
other way take of a link, network/crosstraffic, are left out); other links, such as a backbone, slow nobody down here.
"""

from __future__ import annotations

import os
from typing import Any

from perwiz.formats.timeindependent import platform
from perwiz.formats.timeindependent.platform import Route

_ENVELOPE = 16
_DETACHED = 65536
"""smpi/send-is-detached-thresh."""
_WINDOW = 4194304.0
"""network/TCP-gamma, bytes."""
_LARGER_THAN = (0, 257, 732, 1426, 3484, 5776, 9376, 15424, 65472)
"""Sizes, envelope counted, above which the factors of the same place hold."""
_LATENCY_FACTORS = (2.01467, 1.95341, 1.9503, 1.61075, 1.88101, 2.18796, 2.59299, 3.48845, 11.6436)
"""smpi/lat-factor."""
_BANDWIDTH_FACTORS = (0.812084, 0.338112, 0.341987, 0.608902, 0.77493, 1.08739, 0.58729, 0.697866, 0.940694)
"""smpi/bw-factor."""
_NONE = dict.fromkeys(("o_ns", "g_ns", "O_ns_per_byte", "s_bytes"), 0)


_MEANT = f"L_ns is its latency x {min(_LATENCY_FACTORS):.1f} to {max(_LATENCY_FACTORS):.1f} by size and {_ENVELOPE + 1} bytes on the way"
"""What the letter is made of, for whoever asks for another one."""


def content(file: str) -> dict[str, Any]:
    """Return the content of the model file that a platform stands for. Raises TraceError, as `platform.read`."""
    found = platform.read(file)
    first, *larger = _rows(found.between)
    within = [{"pairs": "within-node", **row} for row in _rows(found.within)] if found.within != found.between else []
    return {
        "name": os.path.basename(file),
        "source": f"{os.path.basename(file)} under the default network of SimGrid's SMPI 3.32: {_MEANT}",
        "assumed": [],
        "parameters": {**_NONE, **{key: value for key, value in first.items() if key != "from_bytes"}, "S_bytes": _DETACHED - 1},
        "conventions": {
            "request_overheads": 0,
            "acknowledge_overheads": 0,
            "gap": "none",
            "progress": "once posted",
            **({"interfaces": 1} if found.own_links else {}),
        },
        "classes": [*larger, *within],
    }


def _rows(route: Route) -> list[dict[str, float]]:
    """Return L and G of each piece of sizes.

    L + (k - 1) G is the time of a message, so L has the bytes of its envelope and one more.
    """
    window = _WINDOW / (2 * route.latency) if route.latency else route.bandwidth
    out = []
    for above, latency_factor, bandwidth_factor in zip(_LARGER_THAN, _LATENCY_FACTORS, _BANDWIDTH_FACTORS, strict=True):
        per_byte = 1e9 / (min(route.bandwidth, window) * bandwidth_factor)
        latency = 1e9 * route.latency * latency_factor + (_ENVELOPE + 1) * per_byte
        out.append({"from_bytes": max(above + 1 - _ENVELOPE, 0), "L_ns": latency, "G_ns_per_byte": per_byte})
    return out
