"""A machine from round trips: what the program of `perwiz calibrate` has measured between two processes of a class of pairs, or of two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from perwiz.loggps.fit.costs import Handshake, Seen, cost_rows, everywhere, requests
from perwiz.loggps.fit.eager import separated
from perwiz.loggps.fit.fit import Fit, SendersOfSize
from perwiz.loggps.fit.lines import regular
from perwiz.loggps.fit.shortest import Points
from perwiz.loggps.keys import LETTERS, NO_LIMIT, PAIRS, SENDS
from perwiz.loggps.machine import Estimate, Machine
from perwiz.loggps.model import Costs, Limit, Model
from perwiz.trace.arrays import F8, I8, Mask

MESSAGES = 10
"""Messages in a row, as in calibrate.c."""
_QUARTILE = 0.25
"""Of repeated times: noise only makes them longer."""
_KINDS = ("one", "many", "spaced", "receive")
_CLASSES = {"node": PAIRS[0], "across": PAIRS[1]}
"""Class of pairs of the words of calibrate.c."""
_NONE = Costs(L=0.0, o_s=0.0, o_r=0.0, g=0.0, G=0.0, O_s=0.0, O_r=0.0, s=0)
_ACKNOWLEDGE = 2
DRAWS, SEED = 200, 2007


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

    @property
    def threshold(self) -> tuple[int, int]:
        """S, the largest size let go, and the largest value it can have."""
        return _threshold(self.late_size, self.late_eager)

    @property
    def largest(self) -> int:
        """The largest size tried, bytes."""
        return int(self.size[-1])


def parsed(lines: Iterable[Sequence[str]]) -> dict[str, Samples]:
    """Return the samples per class of pairs from lines of words, as calibrate.c prints them."""
    rows: dict[str, dict[str, list[list[int]]]] = {}
    for pair, kind, *numbers in (line for line in lines if line[0] in _CLASSES):
        rows.setdefault(_CLASSES[pair], {}).setdefault(kind, []).append([int(word) for word in numbers])
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
    """Return sizes, rising, and whether most sends to a late receiver returned before half its delay was over."""
    rows = sorted(rows)
    return np.array([row[0] for row in rows], "i8"), np.array([2 * np.median(row[2:]) < row[1] for row in rows], bool)


def _threshold(size: I8, eager: Mask) -> tuple[int, int]:
    """Return the largest of rising sizes let go, by the cut that fewest contradict, and how large it may be at most."""
    low, high, _ = separated(size, eager.astype("i8"), (~eager).astype("i8"))
    return low, high - 1 if high <= NO_LIMIT else low


def measured(samples: Mapping[str, Samples], name: str, source: str) -> Fit:
    """Return the machine that samples by class of pairs tell, and intervals drawn from rounds; those of one class are of all pairs."""
    far = PAIRS[1] if PAIRS[1] in samples else next(iter(samples))
    classes = {"" if len(samples) == 1 else pairs: one for pairs, one in samples.items()}
    usual = "" if len(samples) == 1 else far
    seen = {pairs: _seen(pairs, one) for pairs, one in classes.items()}
    asked = requests(seen[usual], _NONE, _ACKNOWLEDGE)
    handshake = Handshake(1 if asked is None else asked, _ACKNOWLEDGE)
    rows = [row for pairs, one in classes.items() for row in _rows(seen[pairs], one, handshake)]
    limits = [Limit(one.threshold[0], pairs) for pairs, one in classes.items()]
    limits += [Limit(classes[usual].threshold[0])] if usual else []
    progress = _progress(samples[far], seen[usual])
    untold = [f"{pairs}:S_bytes" if pairs else "S_bytes" for pairs, one in classes.items() if one.threshold[0] >= one.largest]
    assumed = ["s_bytes", "acknowledge_overheads", *untold]
    assumed += [key for key, value in (("request_overheads", asked), ("progress", progress)) if value is None]
    model = Model(
        name=name,
        source=source,
        assumed=tuple(assumed),
        costs=(*everywhere(rows, usual), *rows),
        limits=tuple(limits),
        request_overheads=handshake.request,
        acknowledge_overheads=_ACKNOWLEDGE,
        gap="sending call",
        progress=progress or "always",
        inline_bytes=_in_place(samples[far]),
    )
    low, high = _intervals(classes, handshake)
    notes = tuple(note for pairs, one in classes.items() for note in _notes(pairs, one))
    tried = tuple(each for pairs, one in classes.items() for each in _senders(pairs, one))
    return Fit(Machine(model, tuple(_estimates(model, classes))), tuple(seen.values()), tried, low, high, notes)


def _quartiles(samples: Samples, rounds: I8 | None = None) -> dict[str, F8]:
    """Return per size the times of a way, a gap, a sending call and a receiving one, from all rounds or those drawn."""
    times = (getattr(samples, kind) for kind in _KINDS)
    single, many, spaced, receive = (np.quantile(t if rounds is None else t[:, rounds], _QUARTILE, axis=1) for t in times)
    gap, send = np.maximum(np.stack([many - single, spaced - single]) / (MESSAGES - 1), 0)
    return {"way": single / 2, "gap": gap, "send": send, "receive": receive}


def _seen(pairs: str, samples: Samples, rounds: I8 | None = None) -> Seen:
    """Return what was seen of messages, as the fit to a trace does; isolated outliers are left out."""
    times, threshold = _quartiles(samples, rounds), samples.threshold[0]

    def points(name: str, which: Mask) -> Points:
        kept = which & regular(times[name])
        longest = np.minimum.accumulate(times[name][kept][::-1])[::-1]
        return Points(samples.size[kept], longest, np.full(int(kept.sum()), samples.one.shape[1]), np.zeros(int(kept.sum())), 0.0)

    eager = samples.size <= max(threshold, int(samples.size[0]))
    return Seen(
        pairs=pairs,
        eager=points("way", eager),
        waiting=points("way", ~eager),
        sending=points("send", eager),
        receiving=points("receive", eager),
        sends_most=float(times["send"].min()),
        receives_most=float(times["receive"].min()),
        shortest=float(times["way"].min()),
        messages=samples.one.size,
    )


def _rows(seen: Seen, samples: Samples, handshake: Handshake, rounds: I8 | None = None) -> list[Costs]:
    gap = _quartiles(samples, rounds)["gap"]
    g = float(np.median(gap[samples.size <= max(16, int(samples.size[0]))]))
    return [dataclasses.replace(row, g=g) for row in cost_rows(seen, _NONE, handshake)]


def _progress(samples: Samples, seen: Seen) -> str | None:
    """Return when messages move that wait for their receiver; None if none does."""
    if not seen.waiting.told:
        return None
    waited = float(np.quantile(samples.overlap, _QUARTILE))
    return "in calls" if waited > seen.waiting.time[-1] / 2 else "always"


def _in_place(samples: Samples) -> int:
    """Return the size from which on eager messages hold their sender until the receiver is in any call; NO_LIMIT if none does."""
    if not len(samples.asleep_size):
        return NO_LIMIT
    asleep, _ = _threshold(samples.asleep_size, samples.asleep_eager)
    return asleep if asleep < min(samples.threshold[0], samples.largest) else NO_LIMIT


def _intervals(classes: Mapping[str, Samples], handshake: Handshake) -> tuple[dict[str, float], dict[str, float]]:
    """Return the ends of the 95 % intervals of keys, from rounds drawn again and again, the same ones every time."""
    random, low, high = np.random.default_rng(SEED), {}, {}
    for pairs, samples in classes.items():
        place = f"{pairs}:" if pairs else ""
        rounds = [random.choice(np.arange(samples.one.shape[1], dtype="i8"), samples.one.shape[1]) for _ in range(DRAWS)]
        drawn = [_rows(_seen(pairs, samples, each), samples, handshake, each)[0] for each in rounds]
        for key, letter in LETTERS.items():
            if letter != "s":
                ends = np.percentile([getattr(row, letter) for row in drawn], [2.5, 97.5]).tolist()
                low[place + key], high[place + key] = ends
        low[f"{place}S_bytes"], high[f"{place}S_bytes"] = map(float, samples.threshold)
    return low, high


def _estimates(model: Model, classes: Mapping[str, Samples]) -> Iterable[Estimate]:
    """Yield what was measured."""
    for pairs, samples in classes.items():
        row = model.rows_of(pairs)[0]
        for key, letter in LETTERS.items():
            if letter != "s":
                yield Estimate(key, pairs, getattr(row, letter), samples.one.size, 0)
        if samples.threshold[0] < samples.largest:
            yield Estimate("S_bytes", pairs, samples.threshold[0], len(samples.late_size), 0)


def _senders(pairs: str, samples: Samples) -> Iterable[SendersOfSize]:
    for size, eager in zip(samples.late_size.tolist(), samples.late_eager.tolist(), strict=True):
        yield SendersOfSize(pairs, SENDS[0], size, int(eager), int(not eager))


def _notes(pairs: str, samples: Samples) -> Iterable[str]:
    place, threshold, largest = f"{pairs}: " if pairs else "", samples.threshold[0], samples.largest
    if threshold >= largest:
        yield f"{place}S is at least {largest} bytes, the largest size tried: no message waited for its receiver"
    if (asleep := _in_place(samples)) < NO_LIMIT:
        yield f"{place}above {asleep} bytes a blocking send waits, not for its receive, but until the receiver makes any MPI call"
