"""The makespan as a function of one parameter: of the network, or of how long a process, node or region computes.

Every weight is a line in the parameter, so the makespan is the maximum of the lines of all paths: convex, made of straight segments.
One sweep at a value gives the line of a longest path there, and `envelope` puts the lines together. The slope is what the critical path
holds of the parameter: latencies, bytes, ns of computation.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.kernels import curve as kernel
from perwiz.loggps.costs import recorded, slopes
from perwiz.loggps.keys import BOTH_ENDS, LETTERS, PAIRS
from perwiz.loggps.model_file import load
from perwiz.loggps.pairs import check_classes
from perwiz.loggps.weigh import Weighted
from perwiz.shown import Shown
from perwiz.trace.arrays import F8, Ints, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.parts import between_init_and_finalize
from perwiz.whatif.hypotheses.stretch import Segments, segments_of
from perwiz.whatif.limits.envelope import Line, crossing, envelope, height
from perwiz.whatif.matching import matching
from perwiz.whatif.run import Run, Start, replayed, run_of
from perwiz.whatif.sure.answers import Answer, answered
from perwiz.whatif.sure.span import Span, spans

_CALLED = {"bandwidth": "G, ns per byte, the inverse of it", "latency": "L", "overhead": "o"}
"""What parameters are called otherwise."""
_LETTERS = {"L": "L_ns", "o": "o_ns", "o_s": "o_s_ns", "o_r": "o_r_ns", "g": "g_ns", "G": "G_ns_per_byte"}
_LETTERS |= {"O": "O_ns_per_byte", "O_s": "O_s_ns_per_byte", "O_r": "O_r_ns_per_byte"}
NETWORK = tuple(_LETTERS.values())
"""Keys of parameters of the network; of a class of pairs as CLASS:KEY."""
COMPUTATION = ("rank", "node", "region")
_DEFAULT = 10.0
"""The interval ends at so many times the recorded value."""
_LARGEST = 1e12
_BITS = 53
_FINEST = 40
_SWEEPS, _EDGES = 64, 130_000_000
"""Sweeps of a search that need not be exact, at least; more while they pass so many edges together."""


class Lines:
    """The longest paths of a run whose weights are lines in a parameter, each as (value, slope).

    The value is that at the recorded parameter, whole ns; the slope is whole, for a unit of `2**shift` of the parameter.
    """

    def __init__(self, run: Run, slope: NDArray[np.floating] | Ints, recorded: float) -> None:
        self.recorded = recorded
        self._graph = graph = run.graph
        steepest = int(sweep(graph, np.ceil(np.abs(slope)).astype("i8")).max(initial=0))
        self.shift = min(_FINEST, _BITS - steepest.bit_length())
        self._edges = np.empty(graph.edges, kernel.LINE).view(np.recarray)
        self._edges.value, self._edges.slope = run.weighted.weight, np.rint(np.ldexp(slope, self.shift))
        self._first = int(run.time[graph.begun].min()) if len(graph.begun) else 0
        self._swept: dict[float, Line] = {}
        self.progress: Callable[[int], object] | None = None

    @property
    def sweeps(self) -> int:
        """Number of sweeps so far."""
        return len(self._swept)

    def __call__(self, point: float) -> Line:
        """Return the line of the longest path where the parameter exceeds its recorded value by `point` times 2**shift."""
        if point not in self._swept:
            self._swept[point] = self._sweep(point) if len(self._graph.ended) else (0, 0)
            if self.progress:
                self.progress(self.sweeps)
        return self._swept[point]

    def _sweep(self, point: float) -> Line:
        graph = self._graph
        lines = np.zeros(graph.vertices, kernel.LINE).view(np.recarray)
        kernel.sweep(graph.start, graph.source, self._edges, point, lines)
        value, slope = lines.value[graph.ended], lines.slope[graph.ended]
        last = np.lexsort((slope, value + slope * point))[-1]
        return int(value[last]) - self._first, int(slope[last])

    def point(self, x: float) -> float:
        """Return where `__call__` is to be asked for a parameter."""
        return math.ldexp(x - self.recorded, -self.shift)

    def x(self, point: float | Fraction) -> float:
        """Return the parameter that a point stands for."""
        return self.recorded + math.ldexp(float(point), self.shift)

    def makespan(self, x: float) -> float:
        """Return the makespan, ns, at a parameter."""
        return float(height(self(self.point(x)), self.point(x)))


@dataclasses.dataclass(frozen=True, eq=False)
class Curve(Shown):
    """The makespan over an interval of one parameter, as straight segments."""

    lines: Lines
    run: Run
    of: str
    """A key of NETWORK, one of a class of pairs such as between-nodes:L_ns, rank:3, node:NAME or region:NAME."""
    recorded: float
    """Value of the parameter in the recorded run, the largest where pairs, sizes or ends differ, the others in proportion; 1 for
    computation, whose parameter is a factor."""
    x: F8
    """Where segments begin, and where the last one ends."""
    value: F8
    """Makespan at every `x`, ns."""
    slope: F8
    """ns per unit, per segment; ascending."""
    gap: float
    """How much, ns, the makespan may lie above the segments: 0 if all of them were found."""
    recorded_slope: float
    """ns per unit at the recorded value; at a breakpoint, above it."""

    def __repr__(self) -> str:
        return f"<Curve of {self.run.trace.path} over {self.of}: {len(self.slope)} segments from {self.x[0]:g} to {self.x[-1]:g}>"

    def at(self, x: float) -> float:
        """Return the makespan, ns, at a value of the parameter: exact, also outside of the interval and between unknown segments."""
        return self.lines.makespan(x)

    def ends(self) -> list[tuple[Answer, Span]]:
        """Return the answers at both ends of the interval, and between which makespans the true ones lie, as far as the trace tells."""
        answers = answered(self.run, [partial(_at, key=self.of, x=x) for x in (float(self.x[0]), float(self.x[-1]))])
        return list(zip(answers.of, spans(self.run, answers), strict=True))

    def turned(self) -> bool:
        """Return whether receives and fetches that took what came first would take something else at an end of the interval."""
        run = self.run
        changed = (_at(run.weighted, self.of, x) for x in (float(self.x[0]), float(self.x[-1])))
        return any(matching(run, run_of(run.clocks, run.machine, weighted, run.origin)).changed for weighted in changed)

    def tolerance(self, share: float) -> float | None:
        """Return the value of the parameter at which the run takes 1 + share of its recorded time; None if it does at none up to 1e12."""
        return _tolerance(self.lines, share)


def curve(
    trace: Trace,
    of: str = "L_ns",
    least: float | None = None,
    most: float | None = None,
    model: Start = None,
    clock: str = "clc",
    exact: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Curve:
    """Return the makespan of a run as a function of `of` from `least` (default 0) to `most`.

    The default of `most` is 10 times the recorded value, or of one that is 0 the same of the default model.

    `of` is L, o, g, G or O of the network, o_s, o_r, O_s or O_r of one end (also as the key of a model file), or one of them of a class
    of pairs, such as between-nodes:L; or rank:R, node:NAME or region:NAME: a factor on the time of its computation. Long runs have
    thousands of segments: unless `exact`, the search for them ends after a second or so. `progress` is called with the number of sweeps
    so far. `predict` rounds every cost and every weight to ns, the curve nothing: they differ by at most half a ns per number that is
    rounded on the path. Raises UsageError, ModelError, ClockError.
    """
    parameter(of)
    return curve_of(replayed(trace, model, clock), of, least, most, exact, progress)


def curve_of(
    run: Run,
    of: str = "L_ns",
    least: float | None = None,
    most: float | None = None,
    exact: bool = False,
    progress: Callable[[int], object] | None = None,
    fewest: int = 0,
) -> Curve:
    """Return the same of a run that has been replayed. Of a long one, unless `exact`, with `fewest` sweeps if that is above 0."""
    key = parameter(of)
    lines = lines_of(run, key)
    least, most = _interval(key, lines.recorded, least, most)
    lines.progress = progress
    fewest = fewest or _SWEEPS
    sweeps = None if exact else max(fewest, _EDGES // max(1, run.graph.edges) * fewest // _SWEEPS)
    highest, gap = envelope(lines, lines.point(least), lines.point(most), sweeps)
    x = [least, *(lines.x(crossing(left, right)) for left, right in itertools.pairwise(highest)), most]
    value = [float(height(line, lines.point(where))) for line, where in zip([*highest, highest[-1]], x, strict=True)]
    slope = [math.ldexp(line[1], -lines.shift) for line in [*highest, lines(0.0)]]
    return Curve(lines, run, key, lines.recorded, np.array(x), np.array(value), np.array(slope[:-1]), gap, slope[-1])


def parameter(text: str) -> str:
    """Return the key of a parameter, given it or its letter, also of a class of pairs, or rank:R, node:NAME, region:NAME.

    Raises UsageError for another text.
    """
    kind, colon, name = text.partition(":")
    pairs, own = (f"{kind}:", name) if colon and kind in PAIRS else ("", text)
    if own in _LETTERS or own in NETWORK:
        return pairs + _LETTERS.get(own, own)
    if kind in COMPUTATION and name:
        return text
    guess = words.meant(text, [f"{known}:{name}" for known in COMPUTATION]) if name else ""
    if own in _CALLED:
        guess = f"; {own} is {pairs}{_CALLED[own]}"
    raise UsageError(f"'{text}': must be one of {', '.join(_LETTERS)}, or like between-nodes:L, rank:3, node:NAME or region:NAME{guess}")


def of_network(key: str) -> bool:
    """Return whether a parameter is one of the network."""
    return key.partition(":")[0] not in COMPUTATION


def lines_of(run: Run, key: str) -> Lines:
    """Return the weights of a run as lines in a parameter. Raises UsageError for a class, rank, node or region that is not there."""
    return Lines(run, *_growth(run.weighted, key))


@remembered(1)
def _growth(weighted: Weighted, key: str) -> tuple[NDArray[np.floating] | Ints, float]:
    """Return the slope of each weight, ns per unit of a parameter, and the recorded value of that."""
    if of_network(key):
        check_classes(weighted.trace, [pairs for pairs in PAIRS if key.startswith(f"{pairs}:")], key)
        return slopes(weighted, key), recorded(weighted, key)
    segments = segments_of(weighted)
    others = np.where(_chosen(weighted.trace, segments, key), 0, segments.length)
    return weighted.weight - segments.stretched(dataclasses.replace(weighted, weight=weighted.weight.copy()), others).weight, 1.0


def _at(weighted: Weighted, key: str, x: float) -> Weighted:
    """Return the weighted graph at a value of a parameter, each weight rounded to ns."""
    slope, value = _growth(weighted, key)
    return dataclasses.replace(weighted, weight=weighted.weight + np.rint(slope * (x - value)).astype("i8"))


def _chosen(trace: Trace, segments: Segments, key: str) -> Mask:
    """Return which segments of computation a rank, node or region owns."""
    kind, _, name = key.partition(":")
    if kind == "region":
        selectors.region(trace, name)
        instances = selectors.instances(trace, name)
        return segments.within(instances)
    return selectors.processors(trace, key)[segments.location] & between_init_and_finalize(segments)


def _interval(key: str, recorded: float, least: float | None, most: float | None) -> tuple[float, float]:
    own = key.rpartition(":")[2]
    usual = recorded or getattr(load("default").costs[0], LETTERS.get(BOTH_ENDS.get(own, (own,))[0], ""), 0.0)
    if most is None and not usual:
        raise UsageError(f"{key} is 0 in the model: ten times that is no interval, must be given an end")
    first, last = 0.0 if least is None else least, _DEFAULT * float(usual) if most is None else most
    if not 0 <= first < last <= _LARGEST:
        raise UsageError(f"{key} from {first:g} to {last:g}: must rise, from 0 to at most {_LARGEST:g}")
    return first, last


def _tolerance(lines: Lines, share: float) -> float | None:
    """Return the parameter at which the makespan is 1 + share of the recorded one, by Newton's method, which ends on segments."""
    line, point, end = lines(0.0), Fraction(0), Fraction(lines.point(_LARGEST))
    target = line[0] * (1 + Fraction(share))
    while line[0] or point:
        following = (target - line[0]) / line[1] if line[1] > 0 else end
        if point and following >= point and height(line, point) >= target:
            return lines.x(point)
        if point == end and following >= end:
            return None
        point = min(following, end)
        line = lines(float(point))
    return None
