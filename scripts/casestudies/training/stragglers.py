"""perwiz beside the straggler analysis of ByteDance, on the jobs of its artefact: the same questions, and each operation if all are equal.

    python3 stragglers.py FOLDER AR SE

FOLDER holds `trace-NAME.parquet`, `result-NAME.json`, `ms-NAME.json`, `mw-NAME.json` and `ideal-timeline-NAME.json.gz` of each job
(github.com/ByteDance-Seed/StragglerAnalysis, folder data). Times are means over the steps.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perwiz.formats.files import read
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.run import Run, replayed, under

NO_DELAY = "zero-time op:device_idle"
PIPELINE = {"forward-pp-comm": "forward-send,forward-recv", "backward-pp-comm": "backward-send,backward-recv"}


class Figure(NamedTuple):
    """A figure of both, and the error."""

    what: str
    theirs: float
    ours: float

    @property
    def error(self) -> float:
        """In per cent."""
        return 100 * (self.ours / self.theirs - 1)


class Job:
    """A job of the artefact."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self.trace = read(str(folder / f"trace-{name}.parquet"))

    def run(self, *asked: str) -> Run:
        """Return the run under hypotheses."""
        return under(replayed(self.trace, clock="none"), parse_all(list(asked), self.trace))

    def step(self, *asked: str) -> float:
        """Return the mean time of a step under hypotheses, s."""
        run = self.run(*asked)
        return run.makespan / 1e9 / len(steps(run.trace, run.recorded_rows()))

    def figures(self) -> Iterator[Figure]:
        """Yield what both say of the job."""
        result = self._json("result")
        theirs = {key: float(np.mean(list(result[f"step_t_{key}"].values()))) for key in ("base", "nodelay", "noblk")}
        base, slow, ideal = self.step(), self.step(NO_DELAY), self.step(NO_DELAY, "typical all")
        yield Figure("step as recorded, s", theirs["base"], base)
        yield Figure("without delays of launches, s", theirs["nodelay"], slow)
        yield Figure("all operations equal, s", theirs["noblk"], ideal)
        yield Figure("slow-down by delays", result["launch_slowdown"], base / slow)
        yield Figure("slow-down by stragglers", result["blocking_slowdown"], slow / ideal)
        for kind, group in (("dp_rank", "group:replica-"), ("stage", "group:stage-"), ("optype", "")):
            for one, value in (result[f"blocking_decompose_by_{kind}"] or {}).items():
                kept = f"typical all but {group}{PIPELINE.get(one, one)}"
                yield Figure(f"  all equal but those of {kind} {one}", value, self.step(NO_DELAY, kept) / ideal)
        stage = max(name for name in self.trace.communicators.names if name.startswith("stage-"))
        yield Figure("last stage equal, s", self._json("ms")["trem"], self.step(NO_DELAY, f"typical group:{stage}=all"))
        worst = ",".join(f"rank:{rank}" for rank in self._worst(result))
        yield Figure(f"worst ranks ({worst}) equal, s", self._json("mw")["trem"], self.step(NO_DELAY, f"typical {worst}=all"))

    def _worst(self, result: dict[str, Any]) -> list[int]:
        """Return the ranks that their analysis fixes: 3 % of all, those whose replica and stage slow down most."""
        comms = self.trace.communicators
        score = {}
        for replica, first in result["blocking_decompose_by_dp_rank"].items():
            for stage, second in result["blocking_decompose_by_stage"].items():
                rows = [comms.members(comms.names.index(name)) for name in (f"replica-{replica}", f"stage-{stage}")]
                score[int(np.intersect1d(*rows)[0])] = min(first, second)
        return sorted(score, key=lambda rank: (score[rank], -rank), reverse=True)[: -(-len(score) * 3 // 100)]

    def operations(self) -> tuple[int, float, float]:
        """Return how many operations of the first steps end, when all are equal, in both, and how far apart: at most, and 99 %, s."""
        run = self.run(NO_DELAY, "typical all")
        ours = ends(run.trace, run.recorded_rows())
        with gzip.open(self._folder / f"ideal-timeline-{self._name}.json.gz") as file:
            events = [event for event in json.load(file) if event["ph"] == "X"]
        number = {step: k for k, step in enumerate(sorted({event["args"]["step"] for event in events}))}
        starts = [min(event["ts"] for event in events if number[event["args"]["step"]] == k) for k in range(len(number))]
        apart = []
        for event in events:
            step = number[event["args"]["step"]]
            key = event["tid"] // 5, step, event["name"], event["args"]["seq_id"]
            apart.append(abs((event["ts"] + event["dur"] - starts[step]) / 1e6 - ours[key]))
        return len(apart), max(apart), float(np.quantile(apart, 0.99))

    def _json(self, kind: str) -> Any:
        return json.loads((self._folder / f"{kind}-{self._name}.json").read_text())


def steps(trace: Trace, timeline: Timeline) -> np.ndarray:
    """Return when each step begins: at once after all ranks have ended the one before."""
    rows = np.flatnonzero(trace.region_names == trace.names.index("step"))
    first = np.full(int(trace.regions.instance[rows].max()), np.iinfo("i8").max)
    np.minimum.at(first, trace.regions.instance[rows] - 1, timeline.regions.enter[rows])
    return first


def ends(trace: Trace, timeline: Timeline) -> dict[tuple[int, int, str, int], float]:
    """Return when each operation ends since the beginning of its step, s: by rank, step, type and number in the step."""
    regions, starts = trace.regions, steps(trace, timeline)
    rows = np.flatnonzero(regions.parent >= 0)
    step = regions.instance[regions.parent[rows]] - 1
    seconds = (timeline.regions.leave[rows] - starts[step]) / 1e9
    rank, name = trace.locations.process[regions.location[rows]], trace.region_names[rows]
    out, seen = {}, {}
    for r, s, n, at in zip(rank.tolist(), step.tolist(), name.tolist(), seconds.tolist(), strict=True):
        k = seen[r, s, n] = seen.get((r, s, n), -1) + 1
        out[r, s, trace.names[n], k] = at
    return out


def main() -> None:
    """Print the figures of each job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    for name in args.names:
        job = Job(args.folder, name)
        print(f"{name}: {len(np.unique(job.trace.locations.process))} ranks recorded")
        found = list(job.figures())
        for one in found:
            print(f"  {one.what:50} {one.theirs:9.4f} {one.ours:9.4f} {one.error:+8.4f} %")
        print(f"  worst error {max(abs(one.error) for one in found):.4f} % of {len(found)} figures")
        count, worst, most = job.operations()
        print(f"  ends of {count} operations when all are equal: apart by at most {worst * 1e6:.0f} us, 99 % by {most * 1e6:.0f} us")


if __name__ == "__main__":
    main()
