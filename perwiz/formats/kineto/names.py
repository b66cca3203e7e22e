"""What the names in traces of PyTorch stand for."""

from __future__ import annotations

import json
import math
import re

from perwiz.trace import operations, streams

_ROUTINES = {
    streams.DEVICE: "DeviceSynchronize CtxSynchronize",
    streams.STREAM: "StreamSynchronize",
    streams.OF_EVENT: "EventSynchronize",
    streams.RECORD: "EventRecord EventRecordWithFlags",
    streams.STREAM_WAIT: "StreamWaitEvent",
}
ROUTINES = {
    f"{prefix}{name}".encode(): what for what, names in _ROUTINES.items() for name in names.split() for prefix in ("cuda", "hip", "cu")
}
"""Routines of CUDA and HIP that wait, or that let streams wait, and what each does (perwiz.trace.streams)."""
_COLLECTIVES = {
    "dist_all_reduce": "allreduce all_reduce allreduce_coalesced all_reduce_coalesced allreducesparse",
    "dist_all_gather": "allgather all_gather allgatherbase allgather_base all_gather_base allgather_into_tensor allgather_coalesced"
    " allgather_into_tensor_coalesced",
    "dist_reduce_scatter": "reducescatter reduce_scatter reduce_scatter_base reduce_scatter_tensor reduce_scatter_coalesced"
    " reduce_scatter_tensor_coalesced",
    "dist_all_to_all": "alltoall all_to_all alltoall_base all_to_all_base alltoallv all_to_allv",
    "dist_barrier": "barrier",
    "dist_broadcast": "broadcast broadcast_oop",
    "dist_scatter": "scatter",
    "dist_reduce": "reduce reduce_oop",
    "dist_gather": "gather",
    "dist_send": "send",
    "dist_recv": "recv recvanysource recv_any_source",
    "dist_send_recv": "sendrecv coalesced",
}
_OP = {name: operations.OP[op] for op, names in _COLLECTIVES.items() for name in names.split()}
_OF_KERNEL = re.compile(rb"(?:nccl|rccl|msccl|mscclpp)\w*?Kernel(?:_Generic)?_(\w*?)(?:_|\(|$)|(?:nccl|rccl)(?:Dev)?Kernel(\w+)")
_ANNOTATED = re.compile(rb"(nccl|gloo|rccl|ucc|mpi):_?(\w+)")
_TYPES = {
    1: "byte char bool uint8 int8 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz signed_char unsigned_char",
    2: "short half bfloat16 float16 int16 c10::half c10::bfloat16",
    4: "int float float32 int32",
    8: "long double int64 float64 long_int complexfloat",
    16: "complexdouble",
}
_SIZE = {name: size for size, names in _TYPES.items() for name in names.split()}
_STEP = re.compile(r"ProfilerStep#\d+$")
LOADING = "enumerate(DataLoader)#"
"""How regions begin in which a rank takes the next batch: it loads it, or waits for workers that do."""
GRADIENT_READY = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
"""The region in which autograd adds up a gradient, and calls what waits for it: hooks of DistributedDataParallel, of a job, and of both."""
UNUSED = "torch.distributed.ddp.reducer::search_unused_parameters"
"""The region in which DistributedDataParallel looks for parameters that have no part in a forward."""
BACKWARD = "autograd::engine::evaluate_function"
"""How regions begin in which gradients are computed."""
FORWARD = ("DistributedDataParallel.forward", "FullyShardedDataParallel.forward", "FSDP::pre_forward")
"""How regions begin in which a forward of a model begins whose gradients are summed over ranks."""
OPTIMIZER_STEP, ZERO_GRAD = "Optimizer.step#", "Optimizer.zero_grad#"
"""How regions begin in which gradients are used, and in which they are set to none."""
BUCKETS = ("torch::distributed::reducer::", "torch.distributed.ddp.reducer::")
"""How regions begin in which DistributedDataParallel copies gradients into what is summed over ranks, and back."""
ASKS = "c10d::"
"""How operators begin that ask for something among ranks."""
ADDS_UP = "torch::autograd::AccumulateGrad"
"""The region in which autograd adds up a gradient itself."""
_LONGEST = 60
"""Characters of a kernel's name with its template arguments, at most."""


def collective(name: str) -> int:
    """Return the op of what a record of communication calls a collective, or a message; -1 for what is none."""
    return _OP.get(name.strip().lower().lstrip("_").rstrip("_"), -1)


def of_kernel(name: bytes) -> int:
    """Return the op that a kernel of NCCL or RCCL is named after, -1 for other kernels; row 0 for one that does not tell."""
    if b"ccl" not in name[:24]:
        return -1
    found = _OF_KERNEL.search(name)
    if not found:
        return -1
    return max(collective((found[1] or found[2]).decode("latin-1")), 0)


def annotated(name: bytes) -> tuple[str, int]:
    """Return the library and the op that an annotation names: `gloo:all_reduce`; nothing and -1 for other annotations."""
    found = _ANNOTATED.fullmatch(name)
    return (found[1].decode(), collective(found[2].decode("latin-1"))) if found else ("", -1)


def size_of(dtype: str) -> int:
    """Return the bytes of an element; 1 for a type that is not known."""
    return _SIZE.get(re.sub(r"[\[\]\" ]", "", dtype.replace(" ", "_").lower()).split(",")[0].strip("_"), 1)


def region(name: str) -> str:
    """Return the name of the region that an operator or annotation is: steps without their number."""
    return "ProfilerStep" if _STEP.fullmatch(name) else name


def kernel(name: str) -> str:
    """Return the name of a kernel without its parameters and, where that is long, without its template arguments."""
    name = name.removeprefix("void ")
    if name.endswith(")"):
        depth = 0
        for k in range(len(name) - 1, -1, -1):
            depth += (name[k] == ")") - (name[k] == "(")
            if depth == 0:
                name = name[:k] or name
                break
    if len(name) > _LONGEST and "<" in name:
        name = name[: name.index("<")] + "<...>"
    return name


def step(name: bytes) -> int:
    """Return the number of a step of the profiler's schedule, -1 for another name."""
    found = re.fullmatch(rb"ProfilerStep#(\d{1,9})", name)
    return int(found[1]) if found else -1


def partner(inputs: str) -> int:
    """Return the rank in its group that a send or receive names, given what it got: tensors, group, rank, tag; -1 if that is not told."""
    try:
        listed = json.loads(inputs) if inputs else []
    except (ValueError, RecursionError):
        return -1
    told = listed[2] if isinstance(listed, list) and len(listed) == 4 else ""
    return int(told) if isinstance(told, str) and re.fullmatch("[0-9]{1,9}", told) else -1


def elements(shapes: str) -> int:
    """Return how many elements tensors of these shapes have together, as JSON says them: `[[3, 4], []]` has 13."""
    try:
        listed = json.loads(shapes) if shapes else []
    except (ValueError, RecursionError):
        return 0
    total = 0
    for shape in listed if isinstance(listed, list) else ():
        inner = [shape] if not isinstance(shape, list) or all(type(one) is int for one in shape) else shape
        for one in inner:
            if isinstance(one, list) and all(type(k) is int and 0 <= k < 1 << 50 for k in one):
                total += math.prod(one)
    return min(total, 1 << 50)
