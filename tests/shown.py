"""What senders show by size, written by hand."""

from __future__ import annotations

import numpy as np

from perwiz.kernels.names import NODE
from perwiz.loggps.fit.eager import COUNTS, Sizes


def sizes(*rows):
    """Return sizes of rows (bytes, gone, kept), or with pair class, kind of send and other counts by name."""
    columns = {name: [] for name in ("pairs", "sends", "bytes", *COUNTS)}
    for bytes_, gone, kept, *more in rows:
        row = {"pairs": NODE, "sends": 0, "bytes": bytes_, "gone": gone, "kept": kept, **(more[0] if more else {})}
        for name, column in columns.items():
            column.append(row.get(name, 0))
    return Sizes(**{name: np.array(column, "i8") for name, column in columns.items()})
