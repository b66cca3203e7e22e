"""All kinds of OTF2 event records: the arguments of each, and the rows of integers that they become.

The reader's callbacks and the writer's functions take the same arguments in the same order; the compiled callbacks use the numbers.
"""

import ctypes
from typing import Any

from perwiz.kernels import records

UINT8, UINT32, UINT64, INT64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
REFERENCE = ctypes.c_uint32
"""The number of a definition or of a rank; all ones is none and becomes -1 in a row."""
SIGNED = ctypes.c_int32
"""What OTF2 declares as unsigned, but where negative values are meant: tags; and roots, where -1 is none, -2 self, -3 this group."""
BYTES, NUMBERS, BITS = (ctypes.POINTER(c_type) for c_type in (UINT8, UINT32, UINT64))
"""As many values as an argument before says; a metric value is 64 bits, whatever its type."""

ENVELOPE = {"communicator": REFERENCE, "msg_tag": SIGNED, "msg_length": UINT64}
SIZES = {"size_sent": UINT64, "size_received": UINT64}
COLLECTIVE = {"collective_op": UINT8, "communicator": REFERENCE, "root": SIGNED, **SIZES}
REQUEST = {"request_id": UINT64}
LOCK = {"lock_id": UINT32, "acquisition_order": UINT32}
TASK = {"thread_team": REFERENCE, "creating_thread": UINT32, "generation_number": UINT32}
THREAD = {"thread_contingent": REFERENCE, "sequence_count": UINT64}
WINDOW = {"win": REFERENCE}
REMOTE = {"win": REFERENCE, "remote": UINT32}
REMOTE_LOCK = {**REMOTE, "lock_id": UINT64, "lock_type": UINT8}
MATCHING = {"matching_id": UINT64}
HANDLE = {"handle": REFERENCE}

EVENTS: dict[str, dict[str, Any]] = {
    "Unknown": {},
    "BufferFlush": {"stop_time": UINT64},
    "MeasurementOnOff": {"measurement_mode": UINT8},
    "Enter": {"region": REFERENCE},
    "Leave": {"region": REFERENCE},
    "MpiSend": {"receiver": REFERENCE, **ENVELOPE},
    "MpiIsend": {"receiver": REFERENCE, **ENVELOPE, **REQUEST},
    "MpiIsendComplete": REQUEST,
    "MpiIrecvRequest": REQUEST,
    "MpiRecv": {"sender": REFERENCE, **ENVELOPE},
    "MpiIrecv": {"sender": REFERENCE, **ENVELOPE, **REQUEST},
    "MpiRequestTest": REQUEST,
    "MpiRequestCancelled": REQUEST,
    "MpiCollectiveBegin": {},
    "MpiCollectiveEnd": COLLECTIVE,
    "OmpFork": {"number_of_requested_threads": UINT32},
    "OmpJoin": {},
    "OmpAcquireLock": LOCK,
    "OmpReleaseLock": LOCK,
    "OmpTaskCreate": {"task_id": UINT64},
    "OmpTaskSwitch": {"task_id": UINT64},
    "OmpTaskComplete": {"task_id": UINT64},
    "Metric": {"metric": REFERENCE, "number_of_metrics": UINT8, "type_ids": BYTES, "metric_values": BITS},
    "ParameterString": {"parameter": REFERENCE, "string": REFERENCE},
    "ParameterInt": {"parameter": REFERENCE, "value": INT64},
    "ParameterUnsignedInt": {"parameter": REFERENCE, "value": UINT64},
    "RmaWinCreate": WINDOW,
    "RmaWinDestroy": WINDOW,
    "RmaCollectiveBegin": {},
    "RmaCollectiveEnd": {
        "collective_op": UINT8,
        "sync_level": UINT32,
        "win": REFERENCE,
        "root": SIGNED,
        "bytes_sent": UINT64,
        "bytes_received": UINT64,
    },
    "RmaGroupSync": {"sync_level": UINT32, "win": REFERENCE, "group": REFERENCE},
    "RmaRequestLock": REMOTE_LOCK,
    "RmaAcquireLock": REMOTE_LOCK,
    "RmaTryLock": REMOTE_LOCK,
    "RmaReleaseLock": {**REMOTE, "lock_id": UINT64},
    "RmaSync": {**REMOTE, "sync_type": UINT8},
    "RmaWaitChange": WINDOW,
    "RmaPut": {**REMOTE, "bytes": UINT64, **MATCHING},
    "RmaGet": {**REMOTE, "bytes": UINT64, **MATCHING},
    "RmaAtomic": {**REMOTE, "type": UINT8, "bytes_sent": UINT64, "bytes_received": UINT64, **MATCHING},
    "RmaOpCompleteBlocking": {**WINDOW, **MATCHING},
    "RmaOpCompleteNonBlocking": {**WINDOW, **MATCHING},
    "RmaOpTest": {**WINDOW, **MATCHING},
    "RmaOpCompleteRemote": {**WINDOW, **MATCHING},
    "ThreadFork": {"model": UINT8, "number_of_requested_threads": UINT32},
    "ThreadJoin": {"model": UINT8},
    "ThreadTeamBegin": {"thread_team": REFERENCE},
    "ThreadTeamEnd": {"thread_team": REFERENCE},
    "ThreadAcquireLock": {"model": UINT8, **LOCK},
    "ThreadReleaseLock": {"model": UINT8, **LOCK},
    "ThreadTaskCreate": TASK,
    "ThreadTaskSwitch": TASK,
    "ThreadTaskComplete": TASK,
    "ThreadCreate": THREAD,
    "ThreadBegin": THREAD,
    "ThreadWait": THREAD,
    "ThreadEnd": THREAD,
    "CallingContextEnter": {"calling_context": REFERENCE, "unwind_distance": UINT32},
    "CallingContextLeave": {"calling_context": REFERENCE},
    "CallingContextSample": {"calling_context": REFERENCE, "unwind_distance": UINT32, "interrupt_generator": REFERENCE},
    "IoCreateHandle": {**HANDLE, "mode": UINT8, "creation_flags": UINT32, "status_flags": UINT32},
    "IoDestroyHandle": HANDLE,
    "IoDuplicateHandle": {"old_handle": REFERENCE, "new_handle": REFERENCE, "status_flags": UINT32},
    "IoSeek": {**HANDLE, "offset_request": INT64, "whence": UINT8, "offset_result": UINT64},
    "IoChangeStatusFlags": {**HANDLE, "status_flags": UINT32},
    "IoDeleteFile": {"io_paradigm": UINT8, "file": REFERENCE},
    "IoOperationBegin": {**HANDLE, "mode": UINT8, "operation_flags": UINT32, "bytes_request": UINT64, **MATCHING},
    "IoOperationTest": {**HANDLE, **MATCHING},
    "IoOperationIssued": {**HANDLE, **MATCHING},
    "IoOperationComplete": {**HANDLE, "bytes_result": UINT64, **MATCHING},
    "IoOperationCancelled": {**HANDLE, **MATCHING},
    "IoAcquireLock": {**HANDLE, "lock_type": UINT8},
    "IoReleaseLock": {**HANDLE, "lock_type": UINT8},
    "IoTryLock": {**HANDLE, "lock_type": UINT8},
    "ProgramBegin": {"program_name": REFERENCE, "number_of_arguments": UINT32, "program_arguments": NUMBERS},
    "ProgramEnd": {"exit_status": INT64},
    "NonBlockingCollectiveRequest": REQUEST,
    "NonBlockingCollectiveComplete": {**COLLECTIVE, **REQUEST},
    "CommCreate": {"communicator": REFERENCE},
    "CommDestroy": {"communicator": REFERENCE},
    "MpiProbe": {"sender": REFERENCE, "communicator": REFERENCE, "tag": SIGNED, "message_id": UINT64},
    "MpiMrecv": {"message_id": UINT64, "msg_length": UINT64},
    "MpiImrecvRequest": {"message_id": UINT64, **REQUEST},
    "MpiImrecv": {**REQUEST, "msg_length": UINT64},
}
"""Name of a record -> names and C types of its arguments, behind (location, time, position, user data, attributes) of a callback and
(writer, attributes, time) of a writing function."""

COMPILED = {
    "Enter": records.ENTER,
    "Leave": records.LEAVE,
    "MpiSend": records.SEND,
    "MpiIsend": records.ISEND,
    "MpiIsendComplete": records.ISEND_COMPLETE,
    "MpiIrecvRequest": records.IRECV_REQUEST,
    "MpiRecv": records.RECV,
    "MpiIrecv": records.IRECV,
    "MpiRequestTest": records.REQUEST_TEST,
    "MpiRequestCancelled": records.REQUEST_CANCELLED,
    "MpiCollectiveBegin": records.COLLECTIVE_BEGIN,
    "MpiCollectiveEnd": records.COLLECTIVE_END,
    "NonBlockingCollectiveRequest": records.NONBLOCKING_REQUEST,
    "NonBlockingCollectiveComplete": records.NONBLOCKING_COMPLETE,
    "Metric": records.METRIC,
    "ParameterInt": records.PARAMETER_INT,
    "ParameterUnsignedInt": records.PARAMETER_UNSIGNED,
    "ParameterString": records.PARAMETER_STRING,
    "CommCreate": records.COMM_CREATE,
    "CommDestroy": records.COMM_DESTROY,
    "ProgramBegin": records.PROGRAM_BEGIN,
    "ProgramEnd": records.PROGRAM_END,
    "MeasurementOnOff": records.MEASUREMENT,
    "BufferFlush": records.BUFFER_FLUSH,
}
"""Name of a record -> kind of its rows, for the usual ones; in the order of the kinds."""
MATCHED = ("MpiMrecv", "MpiImrecvRequest", "MpiImrecv")
"""Records that become RECV, IRECV_REQUEST and IRECV; an MpiProbe before tells who sent what they receive, else nobody (-1) did."""
OTHERS = tuple(name for name in EVENTS if name not in COMPILED and name not in MATCHED)
_COPIES = ("RmaPut", "RmaGet", "RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking")
CALLBACKS = (*COMPILED, *_COPIES, *(name for name in OTHERS if name.startswith("Thread")))
"""Records with a compiled callback."""
