"""How often spans and gains hold the truth where that is known: programs whose computation varies in ways that are given.

Six processes, one of which takes 1.3 times as long, compute and meet, in a barrier or with their neighbours, again and again. Asked of one
recording is what happens if that one is as fast as the others. Then both programs run again, with what varies drawn anew: is what they
take inside the span, and what they gain on average inside the gain? Once with whole iterations drawn, and once with thirtieths of the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import pathlib
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from synthetic import Ints, Step, everywhere, trace_of

from perwiz.engines.sweep import swept_makespan
from perwiz.loggps.weigh import Weighted
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.whatif.hypotheses.base import Hypothesis, apply, parse
from perwiz.whatif.run import Run, replayed
from perwiz.whatif.sure.answers import Answer, Answers, Question
from perwiz.whatif.sure.noise import Noise, noise_of
from perwiz.words import percent, table

RANKS, COMPUTES, SLOW, LATENCY, WORK, LEAST = 6, 100_000, 1.3, 4_000, 1_000, 20_000
"""Processes; computation of an iteration, ns; how many times as long on the slow one; of messages and calls, ns; shortest computation."""
SLOW_RANK, AGAIN, DRAWS = 2, 30, 100
"""The slow process; runs afterwards; runs drawn."""
Floats = NDArray[np.float64]
Chance = np.random.Generator


def drifting(chance: Chance, shape: tuple[int, int], part: float) -> Floats:
    """Return numbers of which each has that part of the one before it, of variance 1."""
    out = chance.standard_normal(shape)
    out[0] /= (1 - part**2) ** 0.5
    for k in range(1, len(out)):
        out[k] += part * out[k - 1]
    return out * (1 - part**2) ** 0.5


def turns(chance: Chance, shape: tuple[int, int]) -> Floats:
    """Return numbers that are large on one process at a time."""
    out = 0.02 * chance.standard_normal(shape)
    out[np.arange(shape[0]), chance.integers(0, shape[1], shape[0])] += 0.15
    return out


VARIES: dict[str, Callable[[Chance, tuple[int, int]], Floats]] = {
    "by chance": lambda chance, shape: 0.1 * chance.standard_normal(shape),
    "all at once": lambda chance, shape: 0.1 * chance.standard_normal((shape[0], 1)) + 0.03 * chance.standard_normal(shape),
    "drifts, 0.7": lambda chance, shape: 0.1 * drifting(chance, shape, 0.7),
    "drifts, 0.9": lambda chance, shape: 0.1 * drifting(chance, shape, 0.9),
    "all drift, 0.9": lambda chance, shape: 0.1 * drifting(chance, (shape[0], 1), 0.9) + 0.02 * chance.standard_normal(shape),
    "seldom and long": lambda chance, shape: (
        0.02 * chance.standard_normal(shape) + 0.8 * (chance.random(shape) < 0.02) * chance.exponential(1, shape)
    ),
    "skewed": lambda chance, shape: 0.1 * (chance.exponential(1, shape) - 1),
    "one at a time": turns,
    "one process": lambda chance, shape: np.where(np.arange(shape[1]) == 0, 0.25, 0.01) * chance.standard_normal(shape),
}
"""What computation takes longer than usual, as a part of that, per iteration and process."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that iterates."""

    meets: str
    """barrier, or neighbours."""
    varies: str
    iterations: int

    @property
    def step(self) -> Step:
        """What each process calls in an iteration."""
        right = (np.arange(RANKS)[:, None] + 1) % RANKS
        if self.meets == "barrier":
            return Step(("MPI_Barrier",), np.full((RANKS, 1), -1), everywhere(RANKS, 1))
        return Step(("MPI_Sendrecv",), right, everywhere(RANKS, 1), ((0, 0),), 100)

    def times(self, seed: int, slow: float = SLOW) -> tuple[Ints, Ints]:
        """Return when calls are entered and left in a run, ns."""
        usual = np.full(RANKS, float(COMPUTES))
        usual[SLOW_RANK] *= slow
        longer = VARIES[self.varies](np.random.default_rng(seed), (self.iterations, RANKS))
        computes = np.maximum(usual * (1 + longer), LEAST).astype("i8")
        enter, leave = np.zeros((2, self.iterations, RANKS, 1), "i8")
        now = np.zeros(RANKS, "i8")
        for k, computed in enumerate(computes):
            entered = now + computed
            others = entered.max() if self.meets == "barrier" else np.roll(entered, 1) + LATENCY
            now = np.maximum(entered, others) + WORK
            enter[k, :, 0], leave[k, :, 0] = entered, now
        return enter, leave

    def told(self, seed: int) -> list[list[float]]:
        """Return per way to draw: part of the runs inside, width of the span, whether the gain holds the mean gain, and its width."""
        trace, chance = trace_of(self.step, *self.times(seed)), np.random.default_rng([seed, 1])
        before, after = np.array(
            [[self.times(again)[1].max(), self.times(again, 1)[1].max()] for again in chance.integers(1 << 40, size=AGAIN)]
        ).T
        rest = trace.timeline.makespan - int(trace.timeline.calls.leave.max())
        run, asked = replayed(trace, clock="none"), parse(f"speed rank:{SLOW_RANK}={SLOW}")
        found = find(trace)
        return [_told(run, asked, each, before, after, rest) for each in (found, _none(found))]


def _none(found: Iterations) -> Iterations:
    return dataclasses.replace(found, first=found.first[:0])


def _told(run: Run, asked: Hypothesis, found: Iterations, before: Ints, after: Ints, rest: int) -> list[float]:
    noise = noise_of(run, DRAWS, found)
    recorded = _answer(noise, run.weighted, lambda weighted: weighted)
    changed = _answer(noise, run.weighted, lambda weighted: apply(weighted, [asked]))
    around, now = noise.around(changed.drawn, changed.makespan, 0), changed.makespan
    inside = (after + rest >= now - around.sooner) & (after + rest <= now + around.later)
    gain = Answers(noise, recorded, (changed,), recorded.makespan).gain(changed, [now], (0, 2 * recorded.makespan))
    mean = float(np.mean(before - after))
    assert gain is not None
    held = gain.least <= mean <= gain.most
    return [float(inside.mean()), (around.sooner + around.later) / now, float(held), (gain.most - gain.least) / abs(mean)]


def _answer(noise: Noise, recorded: Weighted, question: Question) -> Answer:
    weighted = question(recorded)
    return Answer(question, swept_makespan(weighted), noise.drawn(weighted))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=24, help="of each program (default 24)")
    parser.add_argument("--iterations", type=int, nargs="+", default=[16, 60, 250], help="of the programs (default 16 60 250)")
    args = parser.parse_args()
    rows, all_ = [], []
    for varies in VARIES:
        programs = [Program(*of) for of in itertools.product(("barrier", "neighbours"), [varies], args.iterations)]
        figures = np.mean([one.told(1000 * k + one.iterations) for one in programs for k in range(args.recordings)], axis=0)
        all_.append(figures)
        rows.append([varies, *_cells(figures)])
    rows.append(["all", *_cells(np.mean(all_, axis=0))])
    head = ["computation varies", "span", "wide", "gain", "wide", "span, thirtieths", "wide", "gain", "wide"]
    print("\n".join(table(head, rows)))


def _cells(figures: Floats) -> list[str]:
    return [percent(each, 1) for each in figures.ravel().tolist()]


if __name__ == "__main__":
    main()
