"""perwiz on a program of CommCanary that was measured as it is, with all ranks balanced and without overlap, on 4 A100 under eight NCCLs.

    python3 commcanary.py DIRECTORY

DIRECTORY is a campaign of github.com/sudo-saeed/CommCanary's decision gate, unpacked: `workspaces/*/a-*/result.json`, and beside it the
recorded times of the kernels of each rank. Eight times each rank begins an all-reduce, multiplies matrices and waits for both. What is
recorded are the multiplications, and how long the host takes to begin an all-reduce. Measured is the time between two events of the device,
the first before the host has launched anything: the longest of all ranks, after five runs that are not measured. A collective takes an
eighth of what the eight took alone under that NCCL, without the first launch. From all that a trace of the PyTorch profiler is made, of
which perwiz is asked.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

import perwiz
from perwiz.loggps.algorithms import nccl

BALANCED, APART, RECORDED = "no_rank_skew", "no_overlap", "source"
RANKS, SIZES = 4, (65536, 131072)


class Rank:
    """The file of one rank, times in us: two streams, 7 computes and 20 has the collectives. The host begins at 0."""

    def __init__(self, rank: int) -> None:
        self.rank, self.events, self._number = rank, list[dict[str, Any]](), 0
        self.routine(0, "cudaEventRecord")

    def _add(self, cat: str, name: str, ts: float, dur: float, on: bool = False, **args: Any) -> None:
        where = {"pid": 0, "tid": args.get("stream", 7)} if on else {"pid": 100, "tid": 1}
        self.events.append({"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args, **where})

    def launch(self, ts: float, name: str, stream: int, begin: float, dur: float) -> None:
        """Add a launch that takes no time, and its kernel."""
        self._number += 1
        self._add("cuda_runtime", "cudaLaunchKernel", ts, 0, correlation=self._number)
        self._add("kernel", name, begin, dur, True, correlation=self._number, stream=stream, device=0)

    def routine(self, ts: float, name: str) -> None:
        """Add a routine that lets streams wait."""
        self._add("cuda_runtime", name, ts, 0, correlation=0)

    def text(self) -> str:
        """Return the file."""
        told = {"backend": "nccl", "rank": self.rank, "world_size": RANKS}
        return json.dumps({"schemaVersion": 1, "distributedInfo": told, "baseTimeNanoseconds": 0, "traceEvents": self.events})


def put(folder: Path, work: list[list[float]], alone: float, begins: float) -> None:
    """Write the traces of all ranks; `work` is what each multiplication takes, by event and rank, `alone` what a collective takes, and
    `begins` how long the host takes to begin one, us.
    """
    ranks, ready = [Rank(rank) for rank in range(RANKS)], [begins + 1] * RANKS
    for k, took in enumerate(work):
        end = max(ready) + alone
        for rank, one in enumerate(ranks):
            at = begins * (k + 1)
            one.routine(at, "cudaEventRecord")
            one.routine(at + 0.01, "cudaStreamWaitEvent")
            one.launch(
                at + 0.02, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, ready[rank], end - ready[rank]
            )
            one.launch(at + 0.03, "gemm", 7, ready[rank], took[rank])
            one.routine(at + 0.04, "cudaStreamWaitEvent")
            ready[rank] = max(end, ready[rank] + took[rank])
    folder.mkdir()
    for one in ranks:
        (folder / f"rank{one.rank}.json").write_text(one.text())


def predicted(folder: Path, work: list[list[float]]) -> dict[str, float]:
    """Return what perwiz says of each variant, us."""
    trace = perwiz.read(str(folder))
    sums = [sum(took[rank] for took in work) for rank in range(RANKS)]
    balanced = [f"scale gemm@rank:{rank}={sums[0] / sums[rank]}" for rank in range(RANKS)]
    asked = {RECORDED: [], BALANCED: balanced, APART: ["alone op:dist_all_reduce"]}
    return {name: perwiz.predict(trace, one, clock="none", draws=0).predicted.makespan / 1000 for name, one in asked.items()}


def ways(alone: dict[str, float]) -> None:
    """Print what the tuning table makes of the collectives alone: from those of each way, us by `ring-ll128`, those of the others."""
    kinds = [nccl.Kind("allreduce", RANKS, 1, size) for size in SIZES]
    known = {str(way).lower().replace(":", "-"): way for way in nccl.ways(kinds[0])}
    table = {name: sum(4 * nccl.time_ns(kind, way, nccl.ASSUMED[False]) for kind in kinds) / 1000 for name, way in known.items()}
    print(f"{'alone, from':12} " + " ".join(f"{name:>12}" for name in alone))
    off = []
    for name, took in alone.items():
        said = {other: took + table[other] - table[name] for other in alone}
        errors = {other: 100 * (said[other] / alone[other] - 1) for other in alone}
        off += [abs(error) for other, error in errors.items() if other != name]
        print(f"{name:12} " + " ".join(f"{error:+10.0f} %" for error in errors.values()))
    order = tau(list(alone.values()), [table[name] for name in alone])
    print(f"median error {statistics.median(off):.0f} %; Kendall's tau of the six ways {order:.2f}")


def tau(one: list[float], other: list[float]) -> float:
    """Return Kendall's tau of two lists."""
    pairs = [(a, b) for a in range(len(one)) for b in range(a)]
    return sum(math.copysign(1, (one[a] - one[b]) * (other[a] - other[b])) for a, b in pairs) / len(pairs)


def main() -> None:
    """Print the predictions for each NCCL."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    found, alone, folder_of = [], {}, parser.parse_args().directory
    named = {cell["id"]: cell["configuration_id"] for cell in json.loads((folder_of / "run_manifest.json").read_text())["cells"]}
    for result in sorted(folder_of.glob("workspaces/*/a-*/result.json")):
        measured = json.loads(result.read_text())["measurement"]["representations"]
        median = {name: one["metrics"]["median_us"] for name, one in measured.items()}
        source = json.loads((result.parent / "qualification-input-rank-00000/request/source.trace.json").read_text())
        name = named[result.parts[-3]].removeprefix("nccl-")
        alone |= {name.partition("-")[2]: median["isolated"]} if "default" not in name else {}
        recipes = [event["compute_recipe_by_rank"] for event in source["events"]]
        work = [[sum(one["source_kernel_duration_us"] for one in recipe[str(r)]) for r in range(RANKS)] for recipe in recipes]
        begins = statistics.median(event["metadata"]["kineto_dur_us"] for event in source["events"][1:])
        with tempfile.TemporaryDirectory() as folder:
            put(Path(folder) / "job", work, (median["isolated"] - begins) / len(work), begins)
            found.append((name, median, predicted(Path(folder) / "job", work)))
    print(f"{'us':18} " + " ".join(f"{name:>34}" for name in (RECORDED, BALANCED, APART)))
    for name, median, said in found:
        print(f"{name:18} " + " ".join(f"{median[v]:10.0f} {said[v]:10.0f} {100 * (said[v] / median[v] - 1):+10.1f} %" for v in said))
    for variant in (RECORDED, BALANCED, APART):
        errors = [100 * (said[variant] / median[variant] - 1) for _, median, said in found]
        beside = [100 * (said[variant] / said[RECORDED] / (median[variant] / median[RECORDED]) - 1) for _, median, said in found]
        order = tau([median[variant] for _, median, _ in found], [said[variant] for *_, said in found])
        error = f"{statistics.median(errors):+.1f} %, of the ratio to the run as recorded {statistics.median(beside):+.1f} %"
        print(f"{variant:18} median error {error}; Kendall's tau over the NCCLs {order:.2f}")
    agree = sum(sorted(said, key=said.get) == sorted(said, key=median.get) for _, median, said in found)
    print(f"the three variants in the measured order under {agree} of {len(found)} NCCLs")
    ways(alone)


if __name__ == "__main__":
    main()
