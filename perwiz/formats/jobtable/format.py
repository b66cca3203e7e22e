"""Tables of the operations of a training job, in Parquet, as the straggler analysis of ByteDance reads them. They are read, not written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.formats.format import INFERRED, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace

_MAGIC = b"PAR1"


class JobTable(Format):
    """A file of Parquet."""

    name = "table of operations"
    noun = "a table of the operations of a training job"
    holds = Holds(times=YES, communicators=YES, devices=INFERRED, regions=YES)

    call_bytes = 2

    def looks_like(self, path: str) -> bool:
        """Return whether this is a file of Parquet."""
        if not os.path.isfile(path):
            return False
        try:
            with open(path, "rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of a job.

        Raises ReaderError without pyarrow, TraceError for other tables and values that cannot be.
        """
        from perwiz.formats.jobtable.read import read

        return read(path)


JOB_TABLE = JobTable()
