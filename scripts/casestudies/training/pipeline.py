"""A pipeline of PyTorch on CPUs, recorded by its profiler: stages pass micro-batches over Gloo, one stage computes longer.

    pip install torch
    python3 pipeline.py --out slow                         one file per rank in the directory
    python3 pipeline.py --out balanced --variant balanced  all stages compute for the mean time
    python3 pipeline.py --out more --micro-batches 8       twice as many micro-batches, each half as long

Computing is mostly sleep of set length, so that three stages run truthfully on two cores. All micro-batches are computed forward, then all
backward (GPipe); what has been computed is sent without waiting for it to be taken (isend).
"""

from __future__ import annotations

import argparse
import time

import profiled
import torch
import torch.distributed as dist

WIDTH = 4096
SLOW = 1
FORWARD_S, SLOW_S = 0.040, 0.080
"""What a stage computes in all micro-batches of a step forward, seconds, and the slow one; backward it takes twice as long."""


class Stage:
    """One stage, which computes for a while."""

    def __init__(self, rank: int, args: argparse.Namespace) -> None:
        of = [SLOW_S if one == SLOW else FORWARD_S for one in range(args.ranks)]
        seconds = of[rank] if args.variant == "slow" else sum(of) / args.ranks
        self._rank, self._last, self._each = rank, args.ranks - 1, seconds / args.micro_batches
        self._sent: list[dist.Work] = []

    def _pass(self, name: str, source: int, target: int, seconds: float) -> None:
        """Take a micro-batch from one neighbour, compute it, and pass it on to the other, where there are neighbours."""
        data = torch.zeros(WIDTH)
        if 0 <= source <= self._last:
            dist.recv(data, source)
        with torch.profiler.record_function(name):
            time.sleep(seconds)
            data = data + 1
        if 0 <= target <= self._last:
            self._sent.append(dist.isend(data, target))

    def step(self, micro_batches: int) -> None:
        """Compute a step."""
        for _ in range(micro_batches):
            self._pass("forward", self._rank - 1, self._rank + 1, self._each)
        for _ in range(micro_batches):
            self._pass("backward", self._rank + 1, self._rank - 1, 2 * self._each)
        while self._sent:
            self._sent.pop().wait()


def train(rank: int, args: argparse.Namespace) -> None:
    """Train on one rank, and write its trace."""
    stage = Stage(rank, args)

    def step() -> None:
        stage.step(args.micro_batches)
        dist.all_reduce(torch.ones(1))

    with profiled.ranks(rank, args):
        profiled.record(rank, args, step)


def main() -> None:
    """Start the ranks, which are the stages."""
    parser = profiled.parser(__doc__, ("slow", "balanced"), 10, 29533)
    parser.add_argument("--micro-batches", type=int, default=4)
    profiled.start(train, parser.parse_args())


if __name__ == "__main__":
    main()
