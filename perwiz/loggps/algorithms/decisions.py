"""Which algorithm a library takes for a routine, so many processes and bytes, where nobody tells it another.

Open MPI: the fixed rules of coll/tuned (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, 5.0), of operations that commute. MPICH: its
generic rules (src/mpi/coll/coll_selection.json, 4.2), of built-in operations on numbers of 8 bytes. Algorithms that differ in what no
trace shows stand under one name: a segmented ring is a ring, a linear exchange that limits what is under way is linear. Of reduce_scatter
Open MPI's rule is that of 4.0 for powers of two, before butterflies; of scan, coll/basic. SMPI: SimGrid's own defaults.
"""

from __future__ import annotations

from perwiz.loggps.algorithms.routines import KIN, NUMBER

LIBRARIES = ("MPICH", "Open MPI")
SMPI = "SMPI"
_OPEN_MPI = {
    "allreduce": """
        4: ring 8 recursive-doubling 4096 ring 8192 recursive-doubling 16384 ring 262144 rabenseifner
        8: ring 16 recursive-doubling 8192 rabenseifner
        16: recursive-doubling 8192 rabenseifner
        32: ring 64 recursive-doubling 4096 rabenseifner
        64: ring 128 rabenseifner
        128: recursive-doubling 262144 rabenseifner
        256: reduce-bcast 131072 recursive-doubling 262144 rabenseifner
        512: reduce-bcast 4096 rabenseifner
        2048: reduce-bcast 2048 recursive-doubling 16384 rabenseifner
        4096: reduce-bcast 2048 ring 4096 recursive-doubling 16384 rabenseifner
        more: reduce-bcast 2048 ring 16384 recursive-doubling 32768 rabenseifner
    """,
    "bcast": """
        4: chain 32 binary 256 chain 512 knomial 1024 linear 32768 binary 131072 chain 262144 linear 524288 binomial \
            1048576 binary
        8: binary 64 binomial 128 binary 2048 binomial 8192 linear 1048576 chain
        16: knomial 8 binary 64 knomial 4096 binary 16384 binomial 32768 linear
        32: knomial 4096 binomial 1048576 scatter-doubling
        64: binomial 2048 knomial
        128: knomial
        256: binomial 2 binary 16384 linear 32768 binary 65536 knomial
        1024: knomial 16384 split-binary 32768 knomial
        2048: knomial 524288 scatter-doubling
        4096: knomial 262144 scatter-doubling
        more: knomial 8192 binary 16384 knomial 262144 scatter-doubling
    """,
    "reduce": """
        4: rabenseifner 8 binary 16 chain 32 linear 262144 chain
        8: binary 4096 chain 65536 binomial 262144 linear 524288 binomial 1048576 linear
        16: binary 8192 binomial
        32: binary 4096 binomial
        256: binomial
        512: binomial 8192 binary 16384 binomial
        2048: binomial
        4096: binomial 512 binary 1024 binomial 8192 binary 16384 binomial
        more: binomial 16 binary 32 binomial 1024 binary 2048 binomial 8192 binary 16384 binomial
    """,
    "allgather": """
        3: recursive-doubling
        32: recursive-doubling
        64: recursive-doubling 1024 neighbour 65536 ring
        128: recursive-doubling 512 neighbour 65536 ring
        256: recursive-doubling 512 neighbour 131072 ring 524288 neighbour 1048576 ring
        512: recursive-doubling 32 bruck 128 recursive-doubling 1024 neighbour 131072 ring 524288 neighbour 1048576 ring
        1024: recursive-doubling 64 bruck 256 recursive-doubling 2048 neighbour
        2048: recursive-doubling 4 bruck 8 recursive-doubling 16 bruck 32 recursive-doubling 256 bruck 512 \
            recursive-doubling 4096 neighbour
        4096: bruck 32 recursive-doubling 128 bruck 512 recursive-doubling 4096 neighbour
        more: recursive-doubling 2 bruck 8 recursive-doubling 16 bruck 512 recursive-doubling 4096 neighbour
    """,
    "alltoall": """
        3: pairwise 32768 linear 262144 pairwise
        8: linear 524288 pairwise 1048576 linear
        16: linear
        32: linear 4 bruck 512 linear
        64: bruck 512 linear
        128: bruck 1024 linear 262144 pairwise
        256: bruck 1024 linear 262144 pairwise
        512: bruck 1024 linear 32768 pairwise
        1024: bruck 512 linear 262144 pairwise
        2048: bruck 512 linear
        4096: bruck 1024 linear
        more: bruck 2048 linear
    """,
    "alltoallv": """
        4: pairwise
        64: linear
        128: pairwise
        256: linear
        1024: pairwise
        more: linear
    """,
    "reduce_scatter": """
        more: recursive-halving 262144 ring
    """,
    "scan": """
        more: linear
    """,
    "barrier": """
        4: recursive-doubling
        8: linear
        64: recursive-doubling
        256: dissemination
        512: tree
        1024: dissemination
        4096: tree
        more: dissemination
    """,
    "gather": """
        4: linear 4 binomial 32768 linear 65536 binomial 131072 linear
        8: binomial 1024 linear 8192 binomial 32768 linear
        256: binomial
        512: binomial 2048 linear 8192 binomial
        more: binomial
    """,
    "scatter": """
        4: linear
        8: binomial 2048 linear 4096 binomial 8192 linear
        16: binomial 16384 linear
        32: binomial 16384 linear
        64: binomial 512 linear 8192 binomial 16384 linear
        more: binomial 512 linear
    """,
}
"""Per routine a line per number of processes below which it holds; in it, behind each algorithm, the bytes below which it is taken.

Bytes are those of one process's part where each has its own (of `allgather`, `alltoall`, `gather`, `scatter`), else of the vector.
"""
PARTED = frozenset(("allgather", "alltoall", "alltoallv", "gather", "scatter"))
"""Routines of which each process has its part of the bytes."""


_LINEAR = ("alltoallw", "gatherv", "scatterv")
"""Routines of which both libraries know nothing else by default."""
_EVEN = ("allgather", "bcast")
"""Routines whose recursive doubling is for a power of two alone."""


def choice(library: str, routine: str, processes: int, size: int) -> str:
    """Return the algorithm that one of LIBRARIES or SMPI takes, a name of `routines.known`; `size` as `instances.sizes` counts bytes.

    Routines are those and their KIN.
    """
    if library == SMPI:
        return _of_smpi(routine, processes, size)
    if routine in _LINEAR or (routine == "alltoallv" and library == "MPICH"):
        return "linear"
    if routine not in _OPEN_MPI:
        routine = KIN[routine]
    return _of_mpich(routine, processes, size) if library == "MPICH" else _of_open_mpi(routine, processes, size)


def _of_smpi(routine: str, processes: int, size: int) -> str:
    """Return what SimGrid's MPI takes by default (smpi_default_selector.cpp, 3.32): mostly all messages at once."""
    if routine == "alltoall":
        return _of_open_mpi(routine, processes, size)
    routine = KIN.get(routine, routine)
    if routine in ("allreduce", "reduce", "allgather", "gather"):
        return "at-once"
    return {"bcast": "binomial", "reduce_scatter": "recursive-halving"}.get(routine, "linear")


def _of_open_mpi(routine: str, processes: int, size: int) -> str:
    part = size // processes if routine in PARTED else size
    for line in _OPEN_MPI[routine].strip().splitlines():
        below, _, rules = line.partition(":")
        if below.strip() == "more" or processes < int(below):
            words = rules.split()
            chosen = next((words[k - 1] for k in range(1, len(words), 2) if part < int(words[k])), words[-1])
            break
    if chosen == "ring" and routine == "allreduce" and size < NUMBER * processes:
        return "recursive-doubling"
    if chosen == "neighbour" and processes % 2:
        return "ring"
    if processes & (processes - 1):
        return {"recursive-doubling": "bruck", "scatter-doubling": "scatter-ring"}.get(chosen, chosen) if routine in _EVEN else chosen
    return chosen


def _of_mpich(routine: str, processes: int, size: int) -> str:
    even, part = processes & (processes - 1) == 0, size // processes
    below = 1 << (processes.bit_length() - 1)
    several = size // 8 >= below
    if routine == "bcast":
        if processes < 8 or size <= 12288:
            return "binomial"
        return "scatter-doubling" if even and size <= 524288 else "scatter-ring"
    if routine == "allreduce":
        return "rabenseifner" if size > 8 and several else "recursive-doubling"
    if routine == "reduce":
        return "rabenseifner" if size > 2048 and several else "binomial"
    if routine == "allgather":
        if size < (524288 if even else 81920):
            return "recursive-doubling" if even else "bruck"
        return "ring"
    if routine == "alltoall":
        if part <= 256 and processes >= 8:
            return "bruck"
        return "linear" if part <= 32768 else "pairwise"
    if routine == "reduce_scatter":
        return "recursive-halving" if size < 524288 else "pairwise"
    if routine == "scan":
        return "recursive-doubling"
    return "dissemination" if routine == "barrier" else "binomial"
