"""What no viewer's format has a place for."""

from __future__ import annotations

import numpy as np

from perwiz.trace import operations
from perwiz.trace.tables import ANY
from perwiz.trace.trace import Trace


def unseen(trace: Trace) -> list[tuple[str, int]]:
    """Return what neither Paraver nor Perfetto shows of a trace, and how many of each; some counts are 0."""
    calls, messages = trace.calls, trace.messages
    implied = operations.MODE[calls.op[messages.send]]
    return [
        ("requests", len(trace.requests)),
        ("wildcards of receives", int(np.count_nonzero((calls.peer == ANY) | (calls.tag == ANY)))),
        ("send modes that the routine does not tell", int(np.count_nonzero(messages.mode != implied))),
        ("operations and datatypes of reductions", len(trace.labels)),
        ("values of counters", len(trace.counters)),
        ("parameters", len(trace.parameters)),
        ("records of threads, windows, files ...", len(trace.records)),
        ("topologies", len(trace.topologies)),
        ("places where regions are defined", sum(bool(source) for source in trace.sources)),
        ("measurements of clock offsets", len(trace.offsets)),
        ("defects", len(trace.defects)),
    ]
