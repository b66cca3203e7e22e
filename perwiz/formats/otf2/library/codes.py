"""Numbers that OTF2 gives to kinds of things, as reading and writing share them (headers of OTF2 3.2)."""

from __future__ import annotations

USER, OPENMP, MPI, CUDA, PTHREAD, OPENCL, HIP = 1, 3, 4, 5, 7, 19, 23
"""Paradigms."""
FUNCTION, PARALLEL, CRITICAL, BARRIER, IMPLICIT_BARRIER, ORDERED, TASK_CREATE, TASK_WAIT = 1, 5, 12, 15, 16, 18, 21, 22
FILE, POINT_TO_POINT, ONE_SIDED = 27, 28, 29
ONE_TO_ALL, ALL_TO_ONE, ALL_TO_ALL, OTHER_COLLECTIVE = 23, 24, 25, 26
"""Roles of regions."""
COMM_LOCATIONS, COMM_GROUP, COMM_SELF = 4, 5, 6
"""Types of groups: locations in the order of the world, ranks of these, oneself."""
UNKNOWN, CPU_THREAD, ACCELERATOR_STREAM = 0, 1, 2
"""Types of locations; the third one after these holds metrics alone."""
PROCESS, ACCELERATOR = 1, 2
"""Types of location groups."""
STRING, SIGNED, UNSIGNED = range(3)
"""Types of parameters."""
UINT64, INT64, DOUBLE, LOCATION = 4, 8, 10, 13
"""Types of metric values and attributes."""
ACCUMULATED, ABSOLUTE, RELATIVE = range(3)
"""What values of a counter are, the low four bits of its mode: since some instant, at one, since the one before or until the next."""
NEXT = 3
"""The timing of such a value, the high bits of the mode: until the next."""
SYNCHRONOUS, ASYNCHRONOUS = 1, 2
"""When values come: with other records, or at any time."""
SCOPE_LOCATION = 0
"""What a metric instance is about: one location."""
_EXCHANGES = ("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw")
_REDUCTIONS = ("Allreduce", "Reduce", "Reduce_scatter", "Scan", "Exscan", "Reduce_scatter_block")
OPERATIONS = ("Barrier", *_EXCHANGES, *_REDUCTIONS)
"""Names of collective operations by number, without `MPI_`; those of handles and memory follow."""
CREATE_HANDLE, DESTROY_HANDLE, ALLOCATE, DEALLOCATE = 17, 18, 21, 22
