"""A table is a frozen record of equally long numpy columns, each declared once.

The declaration (dtype, unit, meaning) checks the table when it is made and prints the schema (`perwiz tables`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, dataclass_transform

import numpy as np

from perwiz.errors import TraceError, UsageError
from perwiz.trace import arrays


def column(meaning: str, unit: str = "") -> Any:
    """Return a dataclass field for one numpy column; its annotation, one of perwiz.trace.arrays, is its dtype."""
    return dataclasses.field(metadata={"meaning": meaning, "unit": unit})


def dtypes(record: type) -> Mapping[str, np.dtype[Any]]:
    """Return the dtype of each column of a dataclass, read off its annotations: the names of perwiz.trace.arrays."""
    return _dtypes(record)


@cache
def _dtypes(record: type) -> Mapping[str, np.dtype[Any]]:
    return MappingProxyType({field.name: arrays.dtype(str(field.type)) for field in dataclasses.fields(record)})


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
        return len(getattr(self, next(iter(dtypes(type(self))))))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self)
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return the table as a stream of Arrow data, a field per column over the memory of that column, for whoever takes such tables:
        pandas, polars, pyarrow, DuckDB. The types are those of the columns, whatever is requested.

        Raises UsageError without the package nanoarrow.
        """
        try:
            import nanoarrow as na
        except ImportError:
            raise UsageError("a table as Arrow data: needs the package nanoarrow, pip install 'perwiz[arrow]'") from None
        columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        kinds = {name: getattr(na, values.dtype.name)() for name, values in columns.items()}
        arrays = [na.c_array_from_buffers(kinds[name], len(self), [None, values], null_count=0) for name, values in columns.items()]
        rows = na.c_array_from_buffers(na.struct(kinds), len(self), [None], null_count=0, children=arrays)
        return na.c_array_stream(rows).__arrow_c_stream__()

    @classmethod
    def empty(cls) -> Any:
        """Return the table without rows."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in dtypes(cls).items()})

    @classmethod
    def schema(cls) -> list[tuple[str, str, str, str]]:
        """Return (column, dtype, unit, meaning) in order."""
        columns = dtypes(cls)
        return [(f.name, columns[f.name].str[1:], f.metadata["unit"], f.metadata["meaning"]) for f in dataclasses.fields(cls)]
