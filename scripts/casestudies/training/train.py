"""A training loop of PyTorch on CPUs, recorded by its profiler: data parallel over Gloo, one rank has a slow data loader.

    pip install torch
    python3 train.py --out slow                         one file per rank in the directory
    python3 train.py --out balanced --variant balanced  all ranks load for the mean time
    python3 train.py --out instant --variant instant    loading takes no time

Loading and computing are mostly sleep of set length, so that three ranks run truthfully on two cores.
"""

from __future__ import annotations

import argparse
import time

import profiled
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH, CLASSES = 4, 64, 8
FORWARD_S = 0.012


class Samples(Dataset):
    """Samples that take a while to load."""

    def __init__(self, count: int, seconds: float) -> None:
        self._count, self._seconds = count, seconds

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if self._seconds and index % BATCH == 0:
            time.sleep(self._seconds)
        return torch.full((WIDTH,), float(index % 3)), index % CLASSES


class Slow(torch.nn.Module):
    """A layer that takes a while."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values after a while."""
        time.sleep(FORWARD_S)
        return values


def loading(variant: str, rank: int, ranks: int) -> float:
    """Return how long a rank loads a batch, seconds."""
    of = [0.060 if one == 1 else 0.010 for one in range(ranks)]
    return {"slow": of[rank], "balanced": sum(of) / ranks, "instant": 0.0}[variant]


def train(rank: int, args: argparse.Namespace) -> None:
    """Train on one rank, and write its trace."""
    with profiled.ranks(rank, args):
        torch.manual_seed(1)
        layers = torch.nn.Linear(WIDTH, 128), Slow(), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES)
        model = DistributedDataParallel(torch.nn.Sequential(*layers))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        samples = Samples(BATCH * (profiled.WARM_UP + args.steps), loading(args.variant, rank, args.ranks))
        batches = iter(DataLoader(samples, batch_size=BATCH))

        def step() -> None:
            values, classes = next(batches)
            loss = torch.nn.functional.cross_entropy(model(values), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)

        profiled.record(rank, args, step)


def main() -> None:
    """Start the ranks."""
    profiled.start(train, profiled.parser(__doc__, ("slow", "balanced", "instant"), 12, 29531).parse_args())


if __name__ == "__main__":
    main()
