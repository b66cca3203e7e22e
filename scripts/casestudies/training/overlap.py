"""A training loop of PyTorch on CPUs whose gradients are summed behind the backward, or beside it in buckets; recorded by its profiler.

    pip install torch
    python3 overlap.py --out behind                      one all-reduce of all gradients behind the backward
    python3 overlap.py --out beside --variant beside     DistributedDataParallel with a bucket for each layer

Forward and backward of a layer are mostly sleep of set length, so that two ranks run truthfully on two cores.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import profiled
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LAYERS, WIDTH = 8, 512
"""Each has a MiB of gradients."""


class Takes(torch.autograd.Function):
    """What takes a while, backward twice as long as forward."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, seconds: float) -> torch.Tensor:
        """Return the values after a while."""
        ctx.seconds = seconds
        time.sleep(seconds)
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradients after a while."""
        time.sleep(2 * ctx.seconds)
        return gradients[0].clone(), None


class Layer(torch.nn.Module):
    """A layer that takes a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._linear, self._seconds = torch.nn.Linear(WIDTH, WIDTH, bias=False), seconds

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return what the layer makes of values."""
        out: torch.Tensor = Takes.apply(self._linear(values), self._seconds)
        return out


def train(rank: int, args: argparse.Namespace) -> None:
    """Train on one rank, and write its trace."""
    with profiled.ranks(rank, args):
        loop(rank, args)


def loop(rank: int, args: argparse.Namespace) -> None:
    """Train among ranks that know each other, and write the trace."""
    torch.manual_seed(1)
    model: torch.nn.Module = torch.nn.Sequential(*(Layer(args.layer_ms / 1000) for _ in range(LAYERS)))
    beside = args.variant == "beside"
    if beside:
        model = DistributedDataParallel(model, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.ones(4, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        model(values).sum().backward()
        if not beside:
            gradients = [one.grad for one in model.parameters() if one.grad is not None]
            flat = torch.cat([one.flatten() for one in gradients])
            dist.all_reduce(flat)
            for one, mean in zip(gradients, flat.split([one.numel() for one in gradients]), strict=True):
                one.copy_(mean.view_as(one) / args.ranks)
        optimizer.step()

    profiled.record(rank, args, step)


def main() -> None:
    """Start the ranks."""
    parser = profiled.parser(__doc__, ("behind", "beside"), 12, 29535)
    parser.add_argument("--layer-ms", type=float, default=1.0, help="what the forward of a layer takes")
    profiled.start(train, parser.parse_args())


if __name__ == "__main__":
    main()
