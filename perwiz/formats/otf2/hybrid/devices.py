"""What host routines and streams of devices do, by their names: launches, copies, synchronisations."""

from __future__ import annotations

from perwiz.kernels.records import NO_CALL
from perwiz.trace import operations

COPIES = ("copy from device", "copy to device")
"""Names of the regions that stand for copies on a stream: what it puts elsewhere, what it gets."""
_ROUTINES = {
    "device_launch": "cuLaunchKernel cudaLaunchKernel hipLaunchKernel clEnqueueNDRangeKernel",
    "device_synchronize": """cuCtxSynchronize cuStreamSynchronize cuEventSynchronize cudaDeviceSynchronize cudaStreamSynchronize
        hipDeviceSynchronize hipStreamSynchronize clFinish clWaitForEvents""",
    "device_copy": "cudaMemcpy hipMemcpy cuMemcpyDtoH_v2 cuMemcpyHtoD_v2",
}
_OP = {name: operations.OP[op] for op, names in _ROUTINES.items() for name in names.split()}


def routine(name: str) -> int:
    """Return the op that a host routine of CUDA, HIP or OpenCL stands for, NO_CALL for a user region."""
    return _OP.get(name, NO_CALL)
