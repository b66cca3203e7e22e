"""Ranks of PyTorch on CPUs over Gloo, each recorded by its profiler: what the programs beside this have in common."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from torch import multiprocessing

WARM_UP = 2
"""Steps that are not recorded."""


def parser(description: str, variants: Sequence[str], steps: int, port: int) -> argparse.ArgumentParser:
    """Return a parser of what all programs are told; the first variant is the default."""
    out = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--out", required=True, help="directory for the traces")
    out.add_argument("--variant", choices=variants, default=variants[0])
    out.add_argument("--ranks", type=int, default=3)
    out.add_argument("--steps", type=int, default=steps)
    out.add_argument("--port", type=int, default=port)
    return out


def start(train: Callable[[int, argparse.Namespace], None], args: argparse.Namespace) -> None:
    """Run all ranks to their end."""
    os.makedirs(args.out, exist_ok=True)
    multiprocessing.spawn(train, (args,), nprocs=args.ranks)


@contextlib.contextmanager
def ranks(rank: int, args: argparse.Namespace) -> Iterator[None]:
    """Let the ranks know each other, this one among them."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    yield
    dist.destroy_process_group()


def record(rank: int, args: argparse.Namespace, step: Callable[[], None]) -> None:
    """Make all steps of a rank, write the trace of those behind the first, and say how long threads waited for a processor in these.

    Recordings in which they waited for other lengths of time are not comparable: another program had the processors.
    """
    schedule = torch.profiler.schedule(wait=WARM_UP - 1, warmup=1, active=args.steps)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, record_shapes=True) as profiler:
        for k in range(WARM_UP + args.steps):
            if k == WARM_UP:
                begin, before = time.monotonic(), waited()
            step()
            profiler.step()
        took, wait = time.monotonic() - begin, waited() - before
    profiler.export_chrome_trace(os.path.join(args.out, f"rank{rank}.json.gz"))
    print(f"rank {rank}: {took:.3f} s, of which its first thread waited {wait:.3f} s for a processor", flush=True)


def waited() -> float:
    """Return how long the first thread of this process has waited for a processor, s, as Linux counts it."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
