"""What the routines of CUDA, HIP and OpenCL do, and regions that are offloaded, by their names on the host; names of kernels and copies."""

from __future__ import annotations

import functools
import re

from perwiz.kernels.records import NO_CALL
from perwiz.trace import operations
from perwiz.trace.streams import (
    COPY,
    DEVICE,
    FROM_DEVICE,
    GRAPH,
    KERNEL,
    OF_EVENT,
    OFFLOAD,
    ON_DEVICE,
    RECORD,
    STREAM,
    STREAM_WAIT,
    TO_DEVICE,
)

COPIES = ("copy from device", "copy to device")
"""Names of the regions that stand for copies on a stream: what it puts elsewhere, what it gets."""
OF_COPY = dict(zip(COPIES, (FROM_DEVICE, TO_DEVICE), strict=True))

OFFLOADED = "!$omp target"
"""So begin the names of regions that are offloaded, which return when that is done, and of those in which a device holds data."""
_API = "(?:cuda|cu|hip)"
HOST = tuple(operations.OP[f"device_{name}"] for name in ("launch", "synchronize", "copy", "offload"))
"""Ops of routines of the host."""
_LAUNCHES, _WAITS, COPY_OP, OFFLOAD_OP = HOST
_ROUTINES = tuple(
    (re.compile(pattern), op, what)
    for pattern, op, what in (
        (
            r"(?:cuda|cu|hip|hipModule|hipExt|hipExtModule)Launch(?!HostFunc)\w*|clEnqueue(?:NDRangeKernel|NativeKernel|Task)",
            _LAUNCHES,
            KERNEL,
        ),
        (rf"{_API}(?:GraphLaunch|Memset)\w*|clEnqueueFill\w*", _LAUNCHES, GRAPH),
        (rf"{_API}Memcpy\w*HtoD\w*Async\w*", _LAUNCHES, TO_DEVICE),
        (rf"{_API}Memcpy\w*DtoH\w*Async\w*", _LAUNCHES, FROM_DEVICE),
        (rf"{_API}Memcpy\w*(?:DtoD|Peer)\w*Async\w*|clEnqueueCopy\w*", _LAUNCHES, ON_DEVICE),
        (rf"{_API}Memcpy\w*Async\w*|clEnqueueUnmapMemObject", _LAUNCHES, COPY),
        (rf"{_API}Memcpy\w*HtoD\w*|clEnqueueWrite\w*", COPY_OP, TO_DEVICE),
        (rf"{_API}Memcpy\w*DtoH\w*|clEnqueueRead\w*", COPY_OP, FROM_DEVICE),
        (rf"{_API}Memcpy\w*|clEnqueueMap\w*", COPY_OP, COPY),
        (rf"{re.escape(OFFLOADED)}(?:map| ?update)?(?: @.*)?", OFFLOAD_OP, OFFLOAD),
        (rf"{_API}(?:Ctx|Device|Thread)Synchronize\w*|hipFree", _WAITS, DEVICE),
        (rf"{_API}StreamSynchronize\w*|clFinish|WAIT FOR COMMAND QUEUE", _WAITS, STREAM),
        (rf"{_API}EventSynchronize\w*|clWaitForEvents", _WAITS, OF_EVENT),
        (rf"{_API}EventRecord\w*", _LAUNCHES, RECORD),
        (rf"{_API}StreamWaitEvent\w*", _LAUNCHES, STREAM_WAIT),
    )
)


@functools.cache
def role(name: str) -> tuple[int, int]:
    """Return the op of a region of the host and what it is about; NO_CALL and KERNEL for one that has nothing to do with a device."""
    plain = name.partition("(")[0].rstrip(" _")
    return next(((op, what) for pattern, op, what in _ROUTINES if pattern.fullmatch(plain)), (NO_CALL, KERNEL))


def routine(name: str) -> int:
    """Return the op that a host routine of CUDA, HIP or OpenCL, or an offloaded region, stands for; NO_CALL for a user region."""
    return role(name)[0]


def stem(name: str) -> str:
    """Return the name of a function without types, stub and mangling: a kernel has the same as the function that launches it.

    `void init(int*, int)`, `__device_stub__Z4initPii`, `_Z4initPii` and `init` are all `init`.
    """
    plain = name.partition("(")[0].partition("<")[0].split(" ")[-1].rpartition("::")[2].rpartition("__device_stub__")[2]
    mangled = re.match(r"_*Z(\d+)(.*)", plain)
    return stem(mangled[2][: int(mangled[1])]) if mangled else plain
