"""Whether a launcher of MPI programs started this process, and how many beside it. Imports nothing: every command asks."""

from __future__ import annotations

import os

_LAUNCHED = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)
"""What launchers tell each process: how many there are, and which it is."""


def launched() -> tuple[int, int]:
    """Return (processes, rank) as a launcher of MPI programs told this process; (1, 0) if none did."""
    for size, rank in _LAUNCHED:
        count, number = os.environ.get(size, ""), os.environ.get(rank, "")
        if count.isdecimal() and number.isdecimal():
            return int(count), int(number)
    return 1, 0
