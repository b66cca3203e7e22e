"""A model from round trips: what the program of `perwiz calibrate` has measured between two processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from perwiz.loggps import calibrate
from perwiz.loggps.calibrate import Calibration, Curves, Line, Values
from perwiz.trace.arrays import F8, I8, Mask

MESSAGES = 10
"""Messages in a row, as in calibrate.c."""
_QUARTILE = 0.25
"""Of repeated times: noise only makes them longer."""
_KINDS = ("one", "many", "spaced", "receive")


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Measured ns: per kind of round trip a row per size and a column per round; per tried size, whether the sender did not wait."""

    size: I8
    one: F8
    many: F8
    spaced: F8
    receive: F8
    late_size: I8
    late_eager: Mask
    asleep_size: I8
    asleep_eager: Mask
    overlap: F8


def parsed(lines: Iterable[Sequence[str]]) -> dict[str, Samples]:
    """Return the samples per pair of processes (node, across) from lines of words, as calibrate.c prints them."""
    rows: dict[str, dict[str, list[list[int]]]] = {}
    for pair, kind, *numbers in (line for line in lines if line[0] in ("node", "across")):
        rows.setdefault(pair, {}).setdefault(kind, []).append([int(word) for word in numbers])
    return {pair: _samples(kinds) for pair, kinds in rows.items()}


def _samples(kinds: dict[str, list[list[int]]]) -> Samples:
    times = {kind: np.array([row[1:] for row in kinds[kind]], "f8") for kind in _KINDS}
    (late_size, late_eager), (asleep_size, asleep_eager) = (_tried(kinds[kind]) for kind in ("late", "asleep"))
    return Samples(
        size=np.array([row[0] for row in kinds["one"]], "i8"),
        **times,
        late_size=late_size,
        late_eager=late_eager,
        asleep_size=asleep_size,
        asleep_eager=asleep_eager,
        overlap=np.array(kinds["overlap"][0][1:], "f8"),
    )


def _tried(rows: list[list[int]]) -> tuple[I8, Mask]:
    """Return sizes, and whether most sends to a late receiver returned before half its delay was over."""
    return np.array([row[0] for row in rows], "i8"), np.array([2 * np.median(row[2:]) < row[1] for row in rows], bool)


def calibrated(samples: Samples, name: str, source: str) -> Calibration:
    """Return the model of the machine between two processes, with intervals drawn from the rounds."""
    threshold, *ends = calibrate.find_threshold(samples.late_size, samples.late_eager)
    gap = _quartiles(samples)
    kept = calibrate.regular(gap["gap"])
    segments = calibrate.fit_segments(samples.size[kept], gap["gap"][kept])
    seen = _curves(samples, gap, threshold, segments[0].high)
    values = calibrate.parameters(seen)

    def draw(random: np.random.Generator) -> Values:
        rounds = random.choice(np.arange(samples.one.shape[1], dtype="i8"), samples.one.shape[1])
        return calibrate.parameters(_curves(samples, _quartiles(samples, rounds), threshold, segments[0].high))

    low, high = calibrate.intervals(draw)
    low["S"], high["S"] = map(float, ends)
    conventions, assumed = _conventions(samples, seen)
    model = calibrate.build_model(name, source, values, conventions, assumed)
    notes = _notes(samples, values, threshold)
    return Calibration(model, values, low, high, segments, *calibrate.misfit(model, seen), notes)


def _quartiles(samples: Samples, rounds: I8 | None = None) -> dict[str, F8]:
    """Return per size the times of a way, a gap, a sending call and a receiving one, from all rounds or those drawn."""
    times = (getattr(samples, kind) for kind in _KINDS)
    single, many, spaced, receive = (np.quantile(t if rounds is None else t[:, rounds], _QUARTILE, axis=1) for t in times)
    gap, send = np.maximum(np.stack([many - single, spaced - single]) / (MESSAGES - 1), 0)
    return {"way": single / 2, "gap": gap, "send": send, "receive": receive}


def _curves(samples: Samples, times: dict[str, F8], threshold: int, first: int) -> Curves:
    """Return the curves; the gap of one byte comes from sizes up to `first`, that of more bytes from all."""
    k = samples.size
    eager = k <= max(threshold, int(k[0]))
    lines = [_line(k[eager], times[name][eager]) for name in ("send", "receive")]
    gaps = Line(_line(k[k <= first], times["gap"][k <= first]).first, _line(k, times["gap"]).slope)
    kept = calibrate.regular(times["way"])
    return Curves(k[kept], times["way"][kept], _line(k, times["way"]).first, lines[0], lines[1], gaps, threshold)


def _line(k: I8, y: F8) -> Line:
    kept = calibrate.regular(y)
    return calibrate.fit_call(k[kept], y[kept])


def _conventions(samples: Samples, seen: Curves) -> tuple[dict[str, str | int], list[str]]:
    """Return what the measurements say about the conventions, and the keys they say nothing about."""
    largest, assumed = int(samples.size[-1]), ["s_bytes", "acknowledge_overheads"]
    out: dict[str, str | int] = {}
    if seen.threshold >= largest:
        return out | {"request_overheads": 1}, [*assumed, "S_bytes", "request_overheads", "progress"]
    if (seen.size > seen.threshold).sum() < 2:
        out["request_overheads"] = 1
        assumed.append("request_overheads")
    waited = float(np.quantile(samples.overlap, _QUARTILE))
    out["progress"] = "in calls" if waited > seen.way[-1] / 2 else "always"
    return out, assumed


def _notes(samples: Samples, values: Values, threshold: int) -> tuple[str, ...]:
    out, largest = [], int(samples.size[-1])
    if threshold >= largest:
        out.append(f"S is at least {largest} bytes, the largest size tried: no message waited for its receiver")
    asleep = calibrate.find_threshold(samples.asleep_size, samples.asleep_eager)[0] if len(samples.asleep_size) else threshold
    if asleep < min(threshold, largest):
        out.append(f"above {asleep} bytes a blocking send waits, not for its receive, but until the receiver makes any MPI call")
    if values["L"] == 0:
        out.append("overheads alone take longer than a short message's way: they are lowered to it, and L is 0")
    if values["share"] < 1:
        out.append("long messages cost less per byte than the overheads of short ones: O_s and O_r are lowered to what their way takes")
    return tuple(out)
