"""Devices in OTF2: what small archives tell of launches, copies and waits, each worked by hand."""

import numpy as np
import pytest

from otf2_archive import Archive, calls, every_link, links, recorded
from perwiz import Scale, predict
from perwiz.formats.devices import role, routine, stem
from perwiz.formats.files import write
from perwiz.formats.otf2.tables import Builder
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
from perwiz.trace.tables import PROCESS
from perwiz.trace.tables import STREAM as A_STREAM

CUDA, TARGET, OPENCL, HIP = 5, 14, 19, 23
HOST, FIRST, SECOND = 0, 100, 200


@pytest.fixture
def program(tmp_path):
    return lambda **more: Program(tmp_path / "t", **more)


class Program(Archive):
    """An archive of one process with two streams."""

    def __init__(self, folder, names=("CUDA[0:7]", "CUDA[0:14]"), **more):
        super().__init__(folder, 1, world=False, **more)
        for ref, name in zip((FIRST, SECOND), names, strict=True):
            self.location(ref, 0, kind=2, name=name)
        self.stream = self.attribute("CUDA_STREAM_REF", 13)
        self.event = self.attribute("CUDA_EVENT_REF", 4)

    def routine(self, name, enter, leave, paradigm=CUDA, notes=None, behind=None):
        """A routine of the host; `notes` are attributes of its entry, `behind` of its end."""
        self.enter(HOST, enter, name, paradigm=paradigm, notes=notes)
        self.leave(HOST, leave, name, notes=behind)

    def launch(self, enter, leave, stream=None, name="cuLaunchKernel"):
        self.routine(name, enter, leave, notes={self.stream: stream} if stream else None)

    def kernel(self, stream, begin, end, name="solve"):
        self.enter(stream, begin, name, paradigm=CUDA)
        self.leave(stream, end, name)

    def copy(self, stream, begin, end, kind="Put"):
        """A copy from the device, or with Get to it."""
        self.at(stream, begin, f"Rma{kind}", 0, 0, 4096, 42)
        self.at(stream, end, "RmaOpCompleteBlocking", 0, 42)


def test_stream__kernel_and_copy(program):
    """The host launches, copies back what comes out and waits; the stream is idle from 0 on, between the two, and at its end."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 20, FIRST)
    made.routine("cuMemcpyDtoH_v2", 30, 95)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 25, 70)
    made.copy(FIRST, 75, 90)
    trace = made.trace()
    assert trace.locations.kind.tolist() == [PROCESS, A_STREAM, A_STREAM]
    assert calls(trace) == [
        (0, "device_launch", 10, 20),
        (0, "device_copy", 30, 95),
        (1, "device_idle", 0, 25),
        (1, "device_idle", 70, 75),
        (1, "device_idle", 90, 90),
    ]
    assert links(trace) == [("done", 4, 1), ("launch", 0, 2), ("launch", 1, 3)]
    assert [trace.names[trace.paths.region[path]] for path in trace.regions.path.tolist()] == ["main", "solve", "copy from device"]
    assert trace.counts.untied_launches == 0


def test_kernel_twice_as_fast(program):
    """The copy, and the host behind it, wait for the kernel: half of its 45 ns are won. A slower one costs what it takes longer."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 20, FIRST)
    made.routine("cuMemcpyDtoH_v2", 30, 95)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 25, 69)
    made.copy(FIRST, 75, 90)
    trace = made.trace()
    for factor, gain in ((0.5, 22), (2, -44), (1, 0)):
        prediction = predict(trace, [Scale(f"solve={factor}")])
        assert (prediction.gain, prediction.replay_error) == (gain, 0)


def test_stream__that_idles_until_records_end(program):
    """Of a stream something was written down at 140, and the process came to its last call at 30: the stream does not hold the run.

    The host finds the kernel done and computes on to 100. A kernel of 15 ns in place of 30 ends the run at 85.

    host    launch 10-20, synchronize 30-60 ............ 100
    stream  idle 0-25, solve 25-55, idle 55 ................. 140
    """
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 20, FIRST)
    made.routine("cuStreamSynchronize", 30, 60, behind={made.stream: FIRST})
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 25, 55)
    made.at(FIRST, 140, "BufferFlush", 145)
    trace = made.trace()
    assert [call for call in calls(trace) if call[0]] == [(1, "device_idle", 0, 25), (1, "device_idle", 55, 55)]
    assert every_link(trace) == [("done", 3, 1), ("end", 1, 3), ("launch", 0, 2)]
    assert trace.timeline.locations.leave.tolist() == [100, 55, 0]
    prediction = predict(trace, [Scale("solve=0.5")])
    assert (prediction.recorded.makespan, prediction.gain, prediction.replay_error) == (100, 15, 0)


def test_kernel__whose_end_nobody_waits_for(program):
    """The host computes from 20 to 80 and finds the kernel done: 30 ns more do not show, 45 do as 5."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 20, FIRST)
    made.routine("cuStreamSynchronize", 80, 82, behind={made.stream: FIRST})
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 20, 50)
    trace = made.trace()
    assert links(trace) == [("done", 3, 1), ("launch", 0, 2)]
    assert [predict(trace, [Scale(f"solve={factor}")]).gain for factor in (2, 2.5)] == [0, -15]


def test_streams__that_launches_name(program):
    """The second launch is for the first stream, where its kernel begins first."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 12, SECOND)
    made.launch(14, 16, FIRST)
    made.routine("cuCtxSynchronize", 20, 90)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 20, 60)
    made.kernel(SECOND, 30, 80)
    trace = made.trace()
    assert links(trace) == [("done", 4, 2), ("done", 6, 2), ("launch", 0, 5), ("launch", 1, 3)]


def test_events(program):
    """cuEventRecord tells stream and event at its end, cuEventSynchronize the event; cuEventQuery, no call, is passed over."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 11, FIRST)
    made.routine("cuEventRecord", 12, 13, behind={made.stream: FIRST, made.event: 77})
    made.launch(14, 15, FIRST)
    made.routine("cuStreamWaitEvent", 16, 17, behind={made.stream: SECOND, made.event: 77})
    made.launch(18, 19, SECOND)
    made.routine("cuEventSynchronize", 20, 60, behind={made.event: 77})
    made.routine("cuEventQuery", 61, 62, behind={made.event: 78})
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 20, 50)
    made.kernel(FIRST, 50, 90)
    made.kernel(SECOND, 55, 70)
    trace = made.trace()
    assert [call for call in calls(trace) if call[0]] == [
        (1, "device_idle", 0, 20),
        (1, "device_idle", 50, 50),
        (1, "device_idle", 90, 90),
        (2, "device_idle", 0, 55),
        (2, "device_idle", 70, 70),
    ]
    assert links(trace) == [("done", 7, 5), ("event", 7, 9), ("launch", 0, 6), ("launch", 2, 7), ("launch", 4, 9)]


def test_callsites(program):
    """HIP tells no stream, but the place of each launch."""
    made = program()
    place = made.parameter("callsite id", 2)
    made.enter(HOST, 0, "main")
    for number, (enter, leave) in ((5, (10, 15)), (1 << 40, (20, 25))):
        made.enter(HOST, enter, "hipLaunchKernel", paradigm=HIP)
        made.at(HOST, enter + 1, "ParameterUnsignedInt", place, number)
        made.leave(HOST, leave, "hipLaunchKernel")
    made.leave(HOST, 100, "main")
    for stream, begin, number in ((FIRST, 30, 1 << 40), (SECOND, 40, 5)):
        made.enter(stream, begin, "step", paradigm=HIP)
        made.at(stream, begin, "ParameterUnsignedInt", place, number)
        made.leave(stream, begin + 5, "step")
    assert links(made.trace()) == [("launch", 0, 4), ("launch", 1, 2)]


def test_stubs(program):
    """Nothing tells the stream: the functions in which the launches are name the kernels, mangled on the device."""
    made = program()
    made.enter(HOST, 0, "main")
    for name, enter in (("void second(int*, int)", 10), ("__device_stub__Z5firstPi", 20)):
        made.enter(HOST, enter, name)
        made.launch(enter + 1, enter + 2)
        made.leave(HOST, enter + 3, name)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 30, 40, "_Z5firstPi")
    made.kernel(SECOND, 50, 60, "second")
    assert links(made.trace()) == [("launch", 0, 4), ("launch", 1, 2)]


def test_nothing_told(program):
    """Two streams and launches that name neither stream nor kernel: nothing is tied, and that is told."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 11)
    made.launch(12, 13)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 30, 40)
    made.kernel(SECOND, 50, 60)
    trace = made.trace()
    assert (links(trace), trace.counts.untied_launches) == ([], 2)


def test_opencl(program):
    """A write begins when its routine has returned; clFinish waits for what the queue did last, inside it the waiting proper."""
    made = program()
    made.enter(HOST, 0, "main")
    made.routine("clEnqueueWriteBuffer", 5, 8, OPENCL)
    made.routine("clEnqueueNDRangeKernel", 10, 12, OPENCL)
    made.enter(HOST, 20, "clFinish", paradigm=OPENCL)
    made.routine("WAIT FOR COMMAND QUEUE", 22, 70, OPENCL)
    made.leave(HOST, 80, "clFinish")
    made.leave(HOST, 100, "main")
    made.copy(FIRST, 15, 18, "Get")
    made.kernel(FIRST, 25, 60, "$rot13")
    trace = made.trace()
    assert links(trace) == [("done", 5, 2), ("launch", 0, 3), ("launch", 1, 4)]
    assert trace.names == ("main", "$rot13", "copy to device")


def test_offloading(program):
    """A region that is offloaded is one call on the host, with what is done for it inside; data regions are not."""
    made = program()
    made.enter(HOST, 0, "!$omp targetdatamap @a.c:1", paradigm=TARGET)
    made.enter(HOST, 10, "!$omp target @a.c:5", paradigm=TARGET)
    made.at(HOST, 10, "RmaPut", 0, 1, 8, 42)
    made.at(HOST, 15, "RmaOpCompleteBlocking", 0, 42)
    made.routine("!$omp offloading flush", 65, 70, 6)
    made.leave(HOST, 80, "!$omp target @a.c:5")
    made.leave(HOST, 90, "!$omp targetdatamap @a.c:1")
    made.enter(FIRST, 15, "!$omp target @a.c:5")
    made.enter(FIRST, 20, "!$omp parallel @a.c:6", paradigm=TARGET)
    made.leave(FIRST, 50, "!$omp parallel @a.c:6")
    made.leave(FIRST, 60, "!$omp target @a.c:5")
    trace = made.trace()
    assert calls(trace) == [(0, "device_offload", 10, 80), (1, "device_idle", 0, 15), (1, "device_idle", 60, 60)]
    assert links(trace) == [("done", 2, 0), ("launch", 0, 1)]


def test_engines(program):
    """Sweep and replay agree on devices to the nanosecond, under changes too."""
    made = program()
    made.enter(HOST, 0, "main")
    for k in range(4):
        made.launch(100 * k + 10, 100 * k + 12, (FIRST, SECOND)[k % 2])
        made.kernel((FIRST, SECOND)[k % 2], 100 * k + 20, 100 * k + 90 + 20 * (k % 3))
    made.routine("cuCtxSynchronize", 350, 460)
    made.leave(HOST, 500, "main")
    trace = made.trace()
    swept, replayed = (predict(trace, [Scale("solve=1.7")], engine=engine) for engine in ("sweep", "replay"))
    assert np.array_equal(swept.predicted.calls.leave, replayed.predicted.calls.leave)
    assert swept.gain == replayed.gain < 0


def test_clock__of_a_device(program):
    """It is 40 us behind and loses one in 1000: the copies come to lie inside their routines again, the kernels behind their launches."""
    made = program(resolution=10**6)
    made.enter(HOST, 0, "main")
    for k in range(30):
        at = 2_000 * k + 1_000
        made.launch(at, at + 10, FIRST)
        made.routine("cuMemcpyDtoH_v2", at + 500, at + 560)
        for kind, begin, end in ((made.kernel, at + 5, at + 400), (made.copy, at + 510, at + 550)):
            kind(FIRST, *(time - 40 - time // 1_000 for time in (begin, end)))
    made.leave(HOST, 100_000, "main")
    trace = made.trace()
    assert trace.counts.untied_launches == 0
    assert (trace.counts.placed_streams, round(trace.counts.placed_ns, -4)) == (1, 100_000)
    assert [kind for kind, *_ in links(trace)] == ["done"] * 30 + ["launch"] * 60
    assert trace.timeline.locations.leave[1] == trace.timeline.calls.leave[-1]
    copies = trace.names.index("copy from device") == trace.paths.region[trace.regions.path]
    assert trace.records.time.tolist()[::2] == trace.timeline.regions.enter[copies].tolist()
    begins = trace.timeline.calls.leave[trace.calls.location == 1][:60:2].tolist()
    assert all(abs(begin - 1_000 * (2_000 * k + 1_005)) <= 6_000 for k, begin in enumerate(begins))


def test_clocks__of_two_devices(program):
    """One is 40 us behind and the other 60 ahead: each comes to its host by a line of its own."""
    made = program(names=("CUDA[0:7]", "CUDA[1:7]"), resolution=10**6)
    made.enter(HOST, 0, "main")
    for k in range(60):
        at, stream, off = 2_000 * k + 1_000, (FIRST, SECOND)[k % 2], (-40, 60)[k % 2]
        made.launch(at, at + 10, stream)
        made.routine("cuMemcpyDtoH_v2", at + 500, at + 560)
        made.kernel(stream, at + 5 + off, at + 400 + off)
        made.copy(stream, at + 510 + off, at + 550 + off)
    made.leave(HOST, 200_000, "main")
    trace = made.trace()
    assert (trace.counts.untied_launches, trace.counts.placed_streams) == (0, 2)
    copies = np.flatnonzero(trace.names.index("copy from device") == trace.paths.region[trace.regions.path])
    begins = np.sort(trace.timeline.regions.enter[copies])
    assert np.abs(begins - 1_000 * (2_000 * np.arange(60) + 1_510)).max() <= 10_000


def test_written_again(program, tmp_path):
    """An archive of perwiz has calls that concern devices as others, and their links beside them; both come back as they were."""
    made = program()
    made.enter(HOST, 0, "main")
    made.launch(10, 20, FIRST)
    made.routine("cuMemcpyDtoH_v2", 30, 95)
    made.leave(HOST, 100, "main")
    made.kernel(FIRST, 25, 70)
    made.copy(FIRST, 75, 90)
    trace, path = made.trace(), str(tmp_path / "again.otf2")
    write(trace, path)
    again = Builder(recorded(path), path).trace()
    assert (calls(again), again.calls, again.regions) == (calls(trace), trace.calls, trace.regions)
    assert again.links == trace.links


ROLES = {
    "cuLaunchKernel": ("device_launch", KERNEL),
    "cudaLaunchKernel": ("device_launch", KERNEL),
    "hipModuleLaunchKernel": ("device_launch", KERNEL),
    "clEnqueueNDRangeKernel": ("device_launch", KERNEL),
    "cuLaunchHostFunc": None,
    "cudaGraphLaunch": ("device_launch", GRAPH),
    "cuMemsetD8Async": ("device_launch", GRAPH),
    "cuMemcpyHtoDAsync_v2": ("device_launch", TO_DEVICE),
    "cuMemcpyDtoHAsync_v2": ("device_launch", FROM_DEVICE),
    "cudaMemcpyPeerAsync": ("device_launch", ON_DEVICE),
    "cudaMemcpyAsync": ("device_launch", COPY),
    "cuMemcpyHtoD_v2": ("device_copy", TO_DEVICE),
    "clEnqueueReadBuffer": ("device_copy", FROM_DEVICE),
    "hipMemcpy": ("device_copy", COPY),
    "!$omp target @a.c:1": ("device_offload", OFFLOAD),
    "!$omp target update @a.c:1": ("device_offload", OFFLOAD),
    "!$omp targetdata @a.c:1": None,
    "!$omp target enter data @a.c:1": None,
    "cuCtxSynchronize": ("device_synchronize", DEVICE),
    "hipStreamSynchronize": ("device_synchronize", STREAM),
    "cudaEventSynchronize": ("device_synchronize", OF_EVENT),
    "cuEventRecord": ("device_launch", RECORD),
    "cudaStreamWaitEvent": ("device_launch", STREAM_WAIT),
    "cuMemAlloc_v2": None,
    "cudaError (anonymous namespace)::cudaLaunch<char>(char*)": None,
}


@pytest.mark.parametrize(("name", "expected"), ROLES.items())
def test_roles(name, expected):
    if expected is None:
        assert routine(name) == -1
    else:
        assert (operations.OPS[role(name)[0]], role(name)[1]) == expected


@pytest.mark.parametrize(
    "name", ["init", "void init(int*, int)", "_Z4initPii", "__device_stub__Z4initPii", "__device_stub__init(int*)", "a::b::init<int>(int)"]
)
def test_stem(name):
    assert stem(name) == "init"


def test_stem__of_a_mangled_stub():
    assert stem("_Z41__device_stub__Z13jacobi_kernelPKfPfiiS1_PKfPfiiS1_") == "jacobi_kernel"
