"""What the routines of a machine take at best: latency and bandwidth of each, measured, or derived from its LogGPS model.

A benchmark file is TOML: `name`, `source`, `assumed` (routines whose figures the source does not give), `rough` (routines whose figures
are only estimates), and the tables [latency_us] and [bandwidth_MB_per_s].
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np

from perwiz.errors import ModelError
from perwiz.formats.typed import LARGEST_TOML, toml
from perwiz.jobs.routines import group
from perwiz.kernels.names import METAHOST
from perwiz.loggps import rounds
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.model_file import load
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import SYNCHRONOUS

MEGABYTE = 2**20
_RANKS = 48
"""Processes of a derived collective, as many as the paper's benchmark had."""
_LONG = 2**20
_LARGEST = 1e12
_SENDS = ("send", "bsend", "rsend", "isend", "ibsend", "irsend", "start", "startall")
_EXCHANGES = ("sendrecv", "sendrecv_replace")
_RECEIVES = ("recv", "mrecv", "irecv", "imrecv", "wait", "waitall", "waitany", "waitsome")
_KEYS = ("name", "source", "assumed", "rough", "latency_us", "bandwidth_MB_per_s")


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Latency in microseconds and bandwidth in MB/s (of 2**20 bytes) per routine; a routine may have a latency only, or neither."""

    label: str
    """What reports say of it."""
    latency: dict[str, float]
    bandwidth: dict[str, float]
    rough: tuple[str, ...] = ()
    """Routines whose figures are only estimates; the overview has them in a line of their own."""

    def split(self, name: str, calls: float, seconds: float, moved: float) -> tuple[float, float | None, float | None]:
        """Return latency, transfer and idle time of a routine in s, columns 11 to 13; without a benchmark all is latency.

        Transfer is None where there is no bandwidth or nothing moves; idle is None without a latency, and may be negative.
        """
        if name not in self.latency:
            return seconds, None, None
        late = calls * self.latency[name] * 1e-6
        wide = self.bandwidth.get(name)
        transfer = moved / (wide * MEGABYTE) if wide and moved else None
        return late, transfer, seconds - late - (transfer or 0)


def shipped() -> list[str]:
    """Return the names of the benchmarks that come with perwiz, sorted."""
    return sorted(path.stem for path in pathlib.Path(__file__).parent.glob("*.toml"))


def read(name_or_file: str) -> Benchmark:
    """Return a shipped benchmark by its name, or the one in a TOML file. Raises ModelError."""
    known = "/" not in name_or_file and not name_or_file.endswith(".toml")
    if known and name_or_file not in shipped():
        raise ModelError(f"no benchmark '{name_or_file}', must be one of {', '.join(shipped())}, or a path to a .toml file")
    path = pathlib.Path(__file__).parent / f"{name_or_file}.toml" if known else pathlib.Path(name_or_file)
    try:
        with open(path, "rb") as file:
            block = toml(file.read(LARGEST_TOML + 1).decode())
    except OSError as error:
        raise ModelError(f"{name_or_file}: cannot be read: {error.strerror}, must be a benchmark file") from None
    except ValueError as error:
        raise ModelError(f"{name_or_file}: {error}, must be TOML") from None
    return _benchmark(name_or_file, block)


def _benchmark(place: str, block: dict[str, Any]) -> Benchmark:
    if sorted(block) != sorted(_KEYS):
        raise ModelError(f"{place}: has {', '.join(sorted(block)) or 'nothing'}, must have {', '.join(_KEYS)}")
    for table in _KEYS[4:]:
        if not isinstance(block[table], dict):
            raise ModelError(f"{place}: {table} is {str(block[table])[:40]!r}, must be a table [{table}]")
        for name, value in block[table].items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST:
                raise ModelError(f"{place}: [{table}] {name} is {str(value)[:40]}, must be a number above 0, at most {_LARGEST:g}")
    for key in ("assumed", "rough"):
        if not isinstance(block[key], list) or not all(name in block["latency_us"] for name in block[key]):
            raise ModelError(f"{place}: {key} is {str(block[key])[:60]}, must be a list of routines of [latency_us]")
    assumed = block["assumed"]
    label = f"{block['name']} ({block['source']}){'; assumed: ' + ', '.join(assumed) if assumed else ''}"
    return Benchmark(label, block["latency_us"], block["bandwidth_MB_per_s"], tuple(block["rough"]))


def derived(name_or_file: str) -> Benchmark:
    """Return the latencies and bandwidths that a LogGPS model gives between nodes, of collectives of 48 processes. Raises ModelError.

    Sends take o_s (a synchronous one its request and acknowledgement, too), receives and waits that find their message o_r, a byte the
    larger of G and O of that end; collectives, each process on a node, their likely algorithm.
    """
    model = load(name_or_file)
    latency, per_byte = _point_to_point(model)
    rows = np.flatnonzero(operations.COLLECTIVE)
    empty, long = (_collectives(model, rows, size) for size in (0, _LONG))
    for op, nothing, much in zip(rows.tolist(), empty.tolist(), long.tolist(), strict=True):
        name = operations.OPS[op].removeprefix("MPI_").lower()
        if nothing > 0 and group(name) == "collective":
            latency[name] = nothing
            per_byte[name] = (much - nothing) / _LONG
    bandwidth = {name: 1e9 / (cost * MEGABYTE) for name, cost in per_byte.items() if cost > 0}
    label = f"derived from the LogGPS model {model.name}, collectives of {_RANKS} processes: no benchmark of single routines was given"
    return Benchmark(label, {name: ns / 1000 for name, ns in latency.items()}, bandwidth)


def _collectives(model: Model, ops: I8, size: int) -> I8:
    """Return the ns of collectives of so many bytes, each process on a node of its own."""
    one = np.ones(len(ops), "i8")
    asked = rounds.Collectives(ops.astype("u2"), _RANKS * one, size * one, _RANKS * one, one)
    return rounds.cost(model, asked, rounds.usual(asked))


def _point_to_point(model: Model) -> tuple[dict[str, float], dict[str, float]]:
    """Return ns per call, of messages of nothing, and ns per byte, of long ones."""
    nothing = Sent(0, SYNCHRONOUS, pairs=METAHOST)
    short, long = model.letters(nothing), model.letters(Sent(_LONG, pairs=METAHOST))
    sends, receives = (float(max(long.G, overhead)) for overhead in (long.O_s, long.O_r))
    latency: dict[str, float] = {name: float(short.o_s) for name in _SENDS}
    latency |= {name: float(short.o_s + short.o_r) for name in _EXCHANGES}
    per_byte = dict.fromkeys(latency, sends)
    synchronous = float(model.request(nothing) + model.send_work(nothing))
    latency |= dict.fromkeys(("ssend", "issend"), synchronous) | dict.fromkeys((*_RECEIVES, "probe", "mprobe"), float(short.o_r))
    per_byte |= dict.fromkeys(("ssend", "issend"), sends) | dict.fromkeys(_RECEIVES, receives)
    return {name: cost for name, cost in latency.items() if cost > 0}, per_byte
