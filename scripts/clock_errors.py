"""What `scripts/clock-errors` runs: gives the processes or nodes of a consistent trace wrong clocks, so that the true times are known.

A clock shows the true time, its offset, its drift since the start of the run, and its wander: there and back in each period, as a sine, or
with a drift that changes in steps. `evaluate` reports how much of that error each scheme takes away again.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.condition import violations
from perwiz.clock.figures import figures
from perwiz.clock.logical import correct
from perwiz.clock.treatment import treat
from perwiz.errors import PerwizError, UsageError
from perwiz.formats.files import read, write
from perwiz.trace.tables import Locations, Offsets, Times
from perwiz.trace.trace import Timeline, Trace

Ints = NDArray[np.int64]
SHAPES = ("sine", "steps")
SCHEMES = ("none", "linear", "clc", "both")
"""Clocks as they are; offsets measured at begin and end; the controlled logical clock alone; it after the offsets."""
_STEEPEST = 0.5
"""A clock may run fast or slow by so much: it must not run backwards."""


@dataclasses.dataclass(frozen=True)
class Error:
    """What is wrong with a clock."""

    offset: float
    """Nanoseconds."""
    drift: float = 0.0
    """Parts per million."""
    wander: float = 0.0
    """Largest distance, ns."""
    period: float = 1.0
    """Seconds."""
    shape: str = "sine"

    def __post_init__(self) -> None:
        """Raise UsageError for a clock that could run backwards."""
        values = self.offset, self.drift, self.wander, self.period
        if self.shape not in SHAPES or not all(map(math.isfinite, values)) or self.period <= 0:
            raise UsageError(f"clock error {self}: must have finite numbers, a period above 0, and a shape of {', '.join(SHAPES)}")
        if abs(self.drift) * 1e-6 + abs(self.wander) * 2 * math.pi / (self.period * 1e9) > _STEEPEST:
            raise UsageError(f"clock error {self}: a clock that could run backwards, drift and wander must be smaller")

    def __str__(self) -> str:
        return ":".join(f"{value:.12g}" for value in (self.offset, self.drift, self.wander, self.period))

    def at(self, time: Ints) -> Ints:
        """Return by how much the clock is fast at true times since the start of the run, whole ns."""
        turn = time / (self.period * 1e9)
        if self.shape == "sine":
            swing = np.sin(2 * np.pi * turn)
        else:
            swing = 1 - np.abs((4 * turn + 1) % 4 - 2)
        return np.rint(self.offset + self.drift * 1e-6 * time + self.wander * swing).astype("i8")


def clocks(locations: Locations, per: str) -> Ints:
    """Return the number of the clock of each location: its process, or its node, where one is known."""
    if per == "process":
        return locations.process.astype("i8")
    return np.where(locations.node >= 0, locations.node, len(locations) + locations.process).astype("i8")


def drawn(names: Sequence[int], seed: int, most: Error) -> dict[int, Error]:
    """Return random errors by clock, each part at most that of `most`; the same seed draws the same ones."""
    generator = np.random.default_rng(seed)
    parts = {name: generator.uniform(-1, 1, 3) * (most.offset, most.drift, most.wander) for name in sorted(set(names))}
    return {name: dataclasses.replace(most, offset=a, drift=b, wander=c) for name, (a, b, c) in parts.items()}


def parsed(text: str, shape: str) -> dict[int, Error]:
    """Return the errors by clock that a text names as `perwiz record --clock-errors` takes it."""
    found = {}
    for part in filter(None, text.split(";")):
        try:
            name, *values = part.split(":")
            offset, drift, wander, period = [*map(float, values), *(0.0, 0.0, 1.0)[len(values) - 1 :]]
            found[int(name)] = Error(offset, drift, wander, period, shape)
        except ValueError:
            raise UsageError(f"clock error '{part}': must be like CLOCK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]]") from None
    return found


def disturbed(trace: Trace, errors: dict[int, Error], per: str = "process", reading: int = 0, seed: int = 1) -> Trace:
    """Return the trace with its times as wrong clocks show them, and their offsets measured at begin and end of each location.

    Clocks without an error are true. Each measurement is off by at most `reading` ns. The earliest instant stays where it was.
    """
    clock, true = clocks(trace.locations, per), trace.timeline
    start = int(true.locations.enter.min(initial=0))

    def shown(time: Ints, location: NDArray[np.integer[Any]]) -> Ints:
        out = time.copy()
        for name, error in errors.items():
            rows = np.flatnonzero(clock[location] == name)
            out[rows] += error.at(time[rows] - start)
        return out

    every = np.arange(len(trace.locations))
    parts = [
        Times(shown(times.enter, location), shown(times.leave, location))
        for times, location in ((true.calls, trace.calls.location), (true.regions, trace.regions.location), (true.locations, every))
    ]
    early = start - int(parts[2].enter.min(initial=start))
    parts = [Times(times.enter + early, times.leave + early) for times in parts]
    records = dataclasses.replace(trace.records, time=shown(trace.records.time, trace.records.location) + early)
    return dataclasses.replace(
        trace,
        timeline=Timeline(parts[0], parts[1], parts[2]),
        records=records,
        offsets=_measured(true.locations, parts[2], reading, seed),
        offsets_applied=False,
    )


def _measured(true: Times, local: Times, reading: int, seed: int) -> Offsets:
    """Return the offsets of all locations to true time, measured at their first and last instants."""
    location = np.repeat(np.arange(len(true), dtype="i4"), 2)
    at = np.stack((local.enter, local.leave), 1).ravel()
    off = np.stack((true.enter, true.leave), 1).ravel() - at
    off += np.random.default_rng(seed).integers(-reading, reading + 1, len(off))
    distinct = np.concatenate(([True], (np.diff(at) > 0) | (np.diff(location) > 0)))[: len(at)]
    zero = np.zeros(int(distinct.sum()))
    return Offsets(location[distinct], at[distinct], off[distinct] / 1e3, zero, zero + reading / 1e3)


def treated(trace: Trace, scheme: str) -> Timeline:
    """Return the timeline that a scheme makes of a disturbed trace."""
    if scheme in ("linear", "both"):
        trace = treat(trace, "linear").trace
    return correct(trace, trace.timeline).timeline if scheme in ("clc", "both") else trace.timeline


@dataclasses.dataclass(frozen=True)
class Left:
    """What is wrong with a timeline, whose true times are known."""

    mean: float
    """Mean distance of entries and returns of calls from where they belong, ns. What all have in common does not count."""
    worst: int
    """Largest one, ns."""
    intervals: float
    """Sum of all errors of intervals between neighbouring events of a location over the sum of these."""
    messages: int
    """Received before they were sent."""
    collectives: int
    """Logical messages of collectives, likewise."""
    violations: int
    """Messages and members of collectives that are early."""


def left(trace: Trace, timeline: Timeline) -> Left:
    """Return how wrong a timeline is; the trace has the true one."""
    off = np.concatenate([timeline.calls.enter - trace.timeline.calls.enter, timeline.calls.leave - trace.timeline.calls.leave])
    off = np.abs(off - int(np.median(off)) if len(off) else off)
    counted = figures(dataclasses.replace(correct(trace, trace.timeline), before=trace.timeline, timeline=timeline))
    found = violations(trace, timeline)
    return Left(
        *(float(off.mean()) if len(off) else 0.0, int(off.max(initial=0)), counted.distance.average),
        *(counted.messages_after.reversed, counted.collectives_after.reversed, found.messages + found.collective_calls),
    )


def evaluate(paths: Sequence[str], most: Error, per: str, reading: int, seed: int) -> list[str]:
    """Return a table: how much of the same errors each scheme takes away from traces."""
    row = "{:20} {:6} {:7} {:>12} {:>12} {:>8} {:>10} {:>9} {:>9}".format
    lines = [row("trace", "wander", "scheme", "mean error", "at most", "removed", "intervals", "messages", "in colls")]
    for path in paths:
        trace = read(path)
        if violations(trace, trace.timeline):
            raise UsageError(f"{path}: its own clocks are wrong already, must be a consistent trace")
        for shape in SHAPES:
            errors = drawn(clocks(trace.locations, per).tolist(), seed, dataclasses.replace(most, shape=shape))
            wrong = disturbed(trace, errors, per, reading, seed)
            found = {scheme: left(trace, treated(wrong, scheme)) for scheme in SCHEMES}
            for scheme, value in found.items():
                removed = 100 * (1 - value.mean / found["none"].mean) if found["none"].mean else 0.0
                times = f"{value.mean / 1e3:.3f} us", f"{value.worst / 1e3:.3f} us"
                counts = f"{100 * value.intervals:.3f} %", value.messages, value.collectives
                lines.append(row(_short(path), shape, scheme, *times, f"{removed:.1f} %", *counts))
    return lines


def _short(path: str) -> str:
    """Return a name of a trace: of Score-P archives, which are all called alike, that of the folder."""
    place = pathlib.Path(path)
    return (place.parent.name if place.name == "traces.otf2" else place.name)[:20]


def main(words: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line."""
    parser = argparse.ArgumentParser(prog="scripts/clock-errors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("disturb", help="write a trace as wrong clocks show it, and print what is wrong with them")
    one.add_argument("trace")
    one.add_argument("out", help=".otf2: an archive, else ALOG; the times are those of the clocks, without offsets to mend them")
    one.add_argument("--errors", metavar="CLOCK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]];...", help="instead of random ones")
    several = commands.add_parser("evaluate", help="print how much of random errors each scheme takes away")
    several.add_argument("traces", nargs="+")
    several.add_argument("--reading", type=int, default=500, metavar="NS", help="error of a measured offset, at most (default %(default)s)")
    for command in (one, several):
        command.add_argument("--per", choices=("process", "node"), default="process", help="what has a clock of its own (default process)")
        for name, value, unit in (("offset", 1e6, "NS"), ("drift", 50.0, "PPM"), ("wander", 20e3, "NS"), ("period", 0.2, "S")):
            command.add_argument(
                f"--{name}", type=float, default=value, metavar=unit, help="of random errors, at most (default %(default)g)"
            )
        command.add_argument("--seed", type=int, default=1, help="of random errors (default 1)")
    one.add_argument("--shape", choices=SHAPES, default="sine", help="how clocks wander (default sine)")
    args = parser.parse_args(words)
    try:
        print("\n".join(_run(args)))
    except PerwizError as error:
        print(f"clock-errors: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _run(args: argparse.Namespace) -> list[str]:
    shape = args.shape if args.command == "disturb" else "sine"
    most = Error(args.offset, args.drift, args.wander, args.period, shape)
    if args.command == "evaluate":
        return evaluate(args.traces, most, args.per, args.reading, args.seed)
    trace = read(args.trace)
    names = clocks(trace.locations, args.per).tolist()
    errors = parsed(args.errors, shape) if args.errors else drawn(names, args.seed, most)
    unknown = sorted(set(errors) - set(names))
    if unknown:
        raise UsageError(
            f"clock {unknown[0]}: no {args.per} of {args.trace} has it, must be one of {', '.join(map(str, sorted(set(names))))}"
        )
    wrong = disturbed(trace, errors, args.per)
    write(dataclasses.replace(wrong, offsets=Offsets.empty(), offsets_applied=True), args.out)
    return [";".join(f"{name}:{error}" for name, error in errors.items())]


if __name__ == "__main__":
    sys.exit(main())
