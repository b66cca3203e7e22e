"""A table is a frozen record of equally long numpy columns, each declared once.

The declaration (dtype, unit, meaning) checks the table when it is made and prints the schema (`perwiz tables`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, dataclass_transform

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace import arrays


def column(meaning: str, unit: str = "") -> Any:
    """Return a dataclass field for one numpy column; its annotation, one of perwiz.trace.arrays, is its dtype."""
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit})


def dtypes(record: type) -> dict[str, np.dtype[Any]]:
    """Return the dtype of each column of a dataclass, read off its annotations: the names of perwiz.trace.arrays."""
    return {field.name: arrays.dtype(str(field.type)) for field in dataclasses.fields(record)}


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(column,))
@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Equally long, read-only columns; a row number is the id of the row. Each subclass is a dataclass of its columns.

    Raises TraceError when a column has another dtype or length than declared.
    """

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        lengths = set()
        for name, dtype in dtypes(type(self)).items():
            values = np.ascontiguousarray(getattr(self, name))
            if values.dtype != dtype or values.ndim != 1:
                raise TraceError(f"{type(self).__name__}.{name}: {values.dtype}{values.shape}, must be a column of {dtype}")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
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
        return cls(**{name: np.empty(0, dtype) for name, dtype in dtypes(cls).items()})

    @classmethod
    def schema(cls) -> list[tuple[str, str, str, str]]:
        """Return (column, dtype, unit, meaning) in order."""
        columns = dtypes(cls)
        return [(f.name, columns[f.name].str[1:], f.metadata["unit"], f.metadata["meaning"]) for f in dataclasses.fields(cls)]
