"""Communications inside a process, as Extrae writes them of devices and tasks (src/tracer/wrappers/GPU/gpu_probe.c, OMP/omp-probe.c)."""

from __future__ import annotations

import pytest

from paraver_files import calls, links, reading
from perwiz.trace import operations
from soundness import sound

ROW = "LEVEL THREAD SIZE 2\nTHREAD 1.1.1\nGPU-D1.S1-node\n"
PCF = """\
EVENT_TYPE
0    63000000    CUDA library call
VALUES
0 End
1 cudaLaunch
3 cudaMemcpy
5 cudaStreamSynchronize
7 cudaMemcpyAsync

EVENT_TYPE
0    63000001    CUDA memory transfer
VALUES
0 End
3 cudaMemcpy
7 cudaMemcpyAsync

EVENT_TYPE
0    63000006    CUDA kernel
VALUES
0 End
77 axpy
"""
CUDA = """\
1:2:1:1:2:0:15:0
1:2:1:1:2:20:31:0
1:2:1:1:2:40:45:0
1:2:1:1:2:48:90:0
2:1:1:1:1:10:63000000:7:63000004:4096
2:1:1:1:1:12:63000000:0
2:2:1:1:2:15:63000001:7:63000004:4096
2:2:1:1:2:20:63000001:0
3:1:1:1:1:10:10:2:1:1:2:20:20:4096:1
2:1:1:1:1:25:63000000:1:63000009:77
2:1:1:1:1:27:63000000:0
2:2:1:1:2:31:63000006:77:63000007:77
2:2:1:1:2:40:63000006:0
3:1:1:1:1:25:25:2:1:1:2:31:31:0:2
2:1:1:1:1:28:63000000:5:63000008:2
2:1:1:1:1:41:63000000:0
2:1:1:1:1:43:63000000:3
2:2:1:1:2:45:63000001:3
3:2:1:1:2:45:45:1:1:1:1:50:50:4096:3
2:2:1:1:2:48:63000001:0
2:1:1:1:1:50:63000000:0
"""
"""A copy to the device, a kernel, a wait for its stream, and a blocking copy back; the stream is there from 0 to 90."""


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def in_order(body):
    """Return the records by time, as Extrae writes them."""
    return "".join(sorted(body.splitlines(keepends=True), key=lambda line: int(line.split(":")[5])))


def test_devices():
    """Each of the three on the stream was launched by its routine; the waits end with the kernel, and with the copy back."""
    trace = reading(in_order(CUDA), "1(2:1)", pcf=PCF, row=ROW)
    assert calls(trace) == [
        (0, "device_launch", 10, 12),
        (0, "device_launch", 25, 27),
        (0, "device_synchronize", 28, 41),
        (0, "device_copy", 43, 50),
        (1, "device_idle", 0, 15),
        (1, "device_idle", 20, 31),
        (1, "device_idle", 40, 45),
        (1, "device_idle", 48, 90),
    ]
    assert len(trace.defects) == 0
    sound(trace)
    assert links(trace) == [("done", 6, 2), ("done", 7, 3), ("launch", 0, 4), ("launch", 1, 5), ("launch", 3, 6)]
    assert trace.names == ("axpy", "copy from device", "copy to device")
    assert [trace.names[row] for row in trace.region_names] == ["copy to device", "axpy", "copy from device"]
    counts = trace.counts
    assert (counts.sends, counts.unmatched_sends, counts.untied_launches, len(trace.messages)) == (0, 0, 0, 0)
    assert trace.calls.bytes_sent.tolist() == [0] * 8


def test_devices__without_communications():
    """They are tied by their order then; a second kernel has no launch left, and is counted. Values are those of Extrae 5."""
    body = "".join(f"{line}\n" for line in CUDA.splitlines() if not line.startswith("3:"))
    body += "1:2:1:1:2:95:99:0\n2:2:1:1:2:90:63000006:77\n2:2:1:1:2:95:63000006:0\n2:2:1:1:2:99:777:0\n"
    pcf = PCF.replace("\n1 cudaLaunch\n3 cudaMemcpy\n5 cudaStreamSynchronize\n7 cudaMemcpyAsync\n", "\n")
    trace = reading(in_order(body), "1(2:1)", pcf=pcf, row=ROW)
    assert [link for link in links(trace) if link[0] == "launch"] == [("launch", 0, 4), ("launch", 1, 5), ("launch", 3, 6)]
    assert trace.counts.untied_launches == 1


def test_devices__inside_mpi():
    """MPI that copies by itself has no routine of CUDA: the call is the one that lets the stream go on, and its message stays its own."""
    body = "2:1:1:1:1:5:50000001:1\n2:1:1:1:1:6:63000000:7\n2:1:1:1:1:8:63000000:0\n2:1:1:1:1:30:50000001:0\n"
    body += "1:2:1:1:2:0:15:0\n3:1:1:1:1:6:6:2:1:1:2:15:15:0:1\n2:2:1:1:2:15:63000006:77\n2:2:1:1:2:20:63000006:0\n"
    body += "2:3:1:2:1:5:50000001:2\n2:3:1:2:1:30:50000001:0\n3:1:1:1:1:5:30:3:1:2:1:5:30:8:0\n"
    trace = reading(in_order(body), "2(2:1,1:1)", pcf=PCF, row="LEVEL THREAD SIZE 3\nTHREAD 1.1.1\nGPU-D1.S1\nTHREAD 1.2.1\n")
    assert links(trace) == [("launch", 0, 1)]
    assert (trace.messages.send.tolist(), trace.messages.receive.tolist(), trace.counts.unmatched_sends) == ([0], [2], 0)


def test_devices__too_many_streams(monkeypatch):
    """More pairs of a routine and a stream than a sound file has: nothing is tied, and what ran is counted."""
    monkeypatch.setattr("perwiz.formats.paraver.ties._MOST", -1)
    monkeypatch.setattr("perwiz.formats.paraver.ties._EACH", 0)
    trace = reading("".join(line for line in in_order(CUDA).splitlines(True) if line[0] != "3"), "1(2:1)", pcf=PCF, row=ROW)
    assert (links(trace), trace.counts.untied_launches) == ([], 3)


@pytest.mark.parametrize(("entered", "untied"), [(14, 0), (16, 2)])
def test_barriers__that_one_leaves_before_another_comes(entered, untied):
    """The first thread is in a barrier of its team from 10 to 15: the other one, if it comes later, is in another."""
    body = "2:1:1:1:1:1:60000001:3\n2:1:1:1:1:2:60000018:2\n2:2:1:1:2:3:60000018:2\n"
    body += f"2:1:1:1:1:10:60000005:1\n2:1:1:1:1:15:60000005:0\n2:2:1:1:2:{entered}:60000005:1\n2:2:1:1:2:20:60000005:0\n"
    body += "2:2:1:1:2:30:60000018:0\n2:1:1:1:1:40:60000018:0\n2:1:1:1:1:50:60000001:0\n"
    trace = reading(body, "1(2:1)")
    assert trace.counts.untied_waits == untied
    assert [operations.OPS[op] for op in trace.collectives.op] == ["omp_barrier", "omp_implicit_barrier"][untied // 2 :]


def test_tasks():
    """A task is created at 10 to 12 and runs from 30 on where a thread waited for the end of its team; another runs while nobody waits."""
    body = "2:1:1:1:1:1:60000001:3\n2:1:1:1:1:2:60000018:2\n2:2:1:1:2:3:60000018:2\n2:2:1:1:2:20:60000018:0\n"
    body += "2:1:1:1:1:10:60000024:4711\n2:1:1:1:1:12:60000024:0\n2:1:1:1:1:14:60000024:4711\n2:1:1:1:1:15:60000024:0\n"
    body += "3:1:1:1:1:10:10:2:1:1:2:30:30:60000000:1\n2:2:1:1:2:30:60000023:4711\n2:2:1:1:2:35:60000023:0\n"
    body += "3:1:1:1:1:14:14:2:1:1:2:33:33:60000000:2\n"
    body += "2:1:1:1:1:40:60000018:0\n2:1:1:1:1:50:60000001:0\n"
    trace = reading(body, "1(2:1)")
    task = [link for link in links(trace) if link[0] == "task"]
    assert [(operations.OPS[trace.calls.op[call]], *times(trace, call)) for _, *ends in task for call in ends] == [
        ("omp_task_create", 10, 12),
        ("omp_taskwait", 20, 30),
    ]
    assert (trace.counts.sends, trace.counts.unmatched_sends) == (1, 1)


def times(trace, call):
    """Return when a call was entered and left."""
    return trace.timeline.calls.enter[call], trace.timeline.calls.leave[call]
