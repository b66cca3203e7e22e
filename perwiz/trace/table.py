"""A table is a frozen record of equally long numpy columns, each declared once.

The declaration (dtype, unit, meaning) checks the table when it is made and prints the schema (`perwiz tables`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.errors import TraceError


def column(dtype: str, meaning: str, unit: str = "") -> Any:
    """Return a dataclass field for one numpy column of `dtype`."""
    return dataclasses.field(metadata={"dtype": np.dtype(dtype), "meaning": meaning, "unit": unit})


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Equally long, read-only columns; a row number is the id of the row.

    Raises TraceError when a column has another dtype or length than declared.
    """

    def __post_init__(self) -> None:
        lengths = set()
        for field in dataclasses.fields(self):
            values = np.ascontiguousarray(getattr(self, field.name))
            want = field.metadata["dtype"]
            if values.dtype != want or values.ndim != 1:
                raise TraceError(f"{type(self).__name__}.{field.name}: {values.dtype}{values.shape}, must be a column of {want}")
            values.flags.writeable = False
            object.__setattr__(self, field.name, values)
            lengths.add(len(values))
        if len(lengths) > 1:
            raise TraceError(f"{type(self).__name__}: columns of {sorted(lengths)} rows, all must be equally long")

    def __len__(self) -> int:
        return len(getattr(self, dataclasses.fields(self)[0].name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self)
        )

    @classmethod
    def empty(cls) -> Any:
        """Return the table without rows."""
        return cls(**{f.name: np.empty(0, f.metadata["dtype"]) for f in dataclasses.fields(cls)})

    @classmethod
    def schema(cls) -> list[tuple[str, str, str, str]]:
        """Return (column, dtype, unit, meaning) in order."""
        return [(f.name, f.metadata["dtype"].str[1:], f.metadata["unit"], f.metadata["meaning"]) for f in dataclasses.fields(cls)]
