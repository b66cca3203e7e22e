"""A training loop of PyTorch on CPUs, recorded by its profiler: data parallel over Gloo, one rank has a slow data loader.

    pip install torch
    python3 train.py --out slow                         one file per rank in the directory
    python3 train.py --out balanced --variant balanced  all ranks load for the mean time
    python3 train.py --out instant --variant instant    loading takes no time

Loading and computing are mostly sleep of set length, so that three ranks run truthfully on two cores.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH, CLASSES = 4, 64, 8
WARM_UP = 2
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
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 128), Slow(), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps = WARM_UP + args.steps
    batches = iter(DataLoader(Samples(BATCH * steps, loading(args.variant, rank, args.ranks)), batch_size=BATCH))
    schedule = torch.profiler.schedule(wait=WARM_UP - 1, warmup=1, active=args.steps)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, record_shapes=True) as profiler:
        for _ in range(steps):
            values, classes = next(batches)
            loss = torch.nn.functional.cross_entropy(model(values), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            profiler.step()
    profiler.export_chrome_trace(os.path.join(args.out, f"rank{rank}.json.gz"))
    dist.destroy_process_group()


def main() -> None:
    """Start the ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="directory for the traces")
    parser.add_argument("--variant", choices=("slow", "balanced", "instant"), default="slow")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--port", type=int, default=29531)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    multiprocessing.spawn(train, (args,), nprocs=args.ranks)


if __name__ == "__main__":
    main()
