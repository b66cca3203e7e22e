"""Small traces of the PyTorch profiler, made event by event; times are us."""

import json


class Rank:
    """The file of one rank."""

    def __init__(self, rank, world=2, **beside):
        self.rank = rank
        info = {"backend": "nccl", "rank": rank, "world_size": world}
        self.beside = {"schemaVersion": 1, "distributedInfo": info, "baseTimeNanoseconds": 1_000_000, **beside}
        self.events = []
        self.number = 0

    def add(self, cat, name, ts, dur, tid=1, pid=100, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})
        return self

    def op(self, name, ts, dur, tid=1, **args):
        return self.add("cpu_op", name, ts, dur, tid, **args)

    def note(self, name, ts, dur, tid=1, **args):
        return self.add("user_annotation", name, ts, dur, tid, **args)

    def call(self, name, ts, dur=2, tid=1, **args):
        return self.add("cuda_runtime", name, ts, dur, tid, **{"correlation": 0, **args})

    def launch(self, name, ts, begin, dur, stream=7, tid=1, cat="kernel", routine="cudaLaunchKernel", last=2, **args):
        """Add a launch at `ts` that takes `last`, and what it launches."""
        self.number += 1
        self.call(routine, ts, last, tid, correlation=self.number)
        return self.add(cat, name, begin, dur, stream, 0, correlation=self.number, stream=stream, device=0, **args)

    def nccl(self, name, ts, begin, dur, sequence, stream=20, size=1000, ranks="[0, 1]", group="0", tid=1, collective="allreduce", **args):
        """Add a collective: its record, the launch in it and the kernel."""
        told = {"Collective name": collective, "Process Group Name": group, "Process Group Ranks": ranks, "dtype": "Float"}
        told |= {"In msg nelems": size, "Out msg nelems": size, "Group size": ranks.count(",") + 1, **args}
        if sequence is not None:
            told["Seq"] = sequence
        self.op("record_param_comms", ts - 1, 6, tid, **told)
        return self.launch(f"ncclDevKernel_{name}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ts, begin, dur, stream, tid)

    def batch(self, ts, begin, dur, *parts, ranks="[0, 1, 2]", note=True):
        """Add sends and receives in a group, each as (what, partner): a record per part, then a launch in none of them, its kernel."""
        for k, (what, partner) in enumerate(parts):
            told = {"Collective name": what, "Process Group Name": "0", "Process Group Ranks": ranks, "dtype": "Float", "Seq": 1}
            told |= {"In msg nelems": 10, "Out msg nelems": 10, "Dst Rank" if what == "send" else "Src Rank": partner}
            self.op("record_param_comms", ts + k, 0.5, **told)
        if note:
            self.note("nccl:coalesced", ts + len(parts), 4)
        return self.launch("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", ts + len(parts) + 1, begin, dur, 20)

    def text(self):
        return json.dumps({**self.beside, "traceEvents": self.events, "traceName": "x.json"})


def put(folder, *ranks):
    """Write the files of ranks, and return the name of the job."""
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        (folder / f"rank{rank.rank}.json").write_text(rank.text())
    return str(folder)


def two_ranks(late=40, numbers=(5, 5)):
    """Return two ranks with a collective of 4000 bytes; the second launches it `late` us after the first, and both end together."""
    out = []
    for rank, more in ((0, 0), (1, late)):
        one = Rank(rank).note("ProfilerStep#1", 0, 200).launch("gemm(int)", 10 + more, 20 + more, 30)
        one.nccl("AllReduce", 20 + more, 55 + more, 70 + late - more, numbers[rank])
        out.append(one.call("cudaStreamSynchronize", 60 + more, 70 + late - more))
    return out


def devices_in_stages(first=10, last=30):
    """Return two stages of a pipeline: of each of two micro-batches the first computes two kernels of `first`, the second two of `last`."""
    done, last_done = 20 + 4 * first, 20 + 2 * first + 4 * last
    one, other = Rank(0, 2).note("ProfilerStep#1", 0, done), Rank(1, 2).note("ProfilerStep#1", 0, last_done)
    for k in range(2):
        at, end = 20 + 2 * first * k, 20 + 2 * first * (k + 1)
        one.launch("gemm", 1 + 20 * k, at, first).launch("gemm", 3 + 20 * k, at + first, first)
        one.call("cudaEventRecord", 6 + 20 * k, 1).call("cudaStreamWaitEvent", 8 + 20 * k, 1)
        one.batch(10 + 20 * k, end, 0, ("send", 1), ranks="[0, 1]", note=False)
        other.batch(10 + 20 * k, max(end - 2 * first, 12), end - max(end - 2 * first, 12), ("recv", 0), ranks="[0, 1]", note=False)
        begin = max(end, 20 + 2 * first + 2 * last * k)
        other.call("cudaStreamWaitEvent", 15 + 20 * k, 1)
        other.launch("gemm", 18 + 20 * k, begin, last).launch("gemm", 21 + 20 * k, begin + last, last)
    return one.call("cudaDeviceSynchronize", 45, done - 45), other.call("cudaDeviceSynchronize", 45, last_done - 45)


def hiding():
    """Return a rank whose kernel `next`, of 9, waits for a sum of another stream from 52 to 80, beside `gemm` from 20 to 50."""
    rank = Rank(0, 1).note("ProfilerStep#1", 0, 120).launch("gemm", 10, 20, 30).call("cudaEventRecord", 13).call("cudaStreamWaitEvent", 16)
    rank.nccl("AllReduce", 20, 52, 28, 1, ranks="[0]").call("cudaEventRecord", 26)
    return rank.call("cudaStreamWaitEvent", 30).launch("next", 34, 81, 9).call("cudaDeviceSynchronize", 60, 32)
