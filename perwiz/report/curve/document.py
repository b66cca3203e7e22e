"""The report of `perwiz curve`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, field

from perwiz import words
from perwiz.loggps.keys import PAIRS
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.records import Health, Machine, Makespan, Misfit, Model, Natural, Record, ReplayError, SharesOf, Span, TraceDocument
from perwiz.whatif.limits.curve import NETWORK, Curve, of_network

SHARES = (0.01, 0.02, 0.05, 0.1)
"""Slowdowns for which the tolerance is told."""
MULTIPLES = (0.0, 1.0, 2.0, 10.0)
"""Multiples of the recorded value at which the makespan is told, itself and those in the interval."""
_SEGMENTS = 16
"""Rows of the longest table of segments."""
_NAMED = {
    "L_ns": "latency L",
    "o_ns": "overhead o",
    "o_s_ns": "overhead of sending o_s",
    "o_r_ns": "overhead of receiving o_r",
    "g_ns": "gap g",
    "G_ns_per_byte": "time per byte G",
    "O_ns_per_byte": "overhead per byte O",
    "O_s_ns_per_byte": "overhead per byte of sending O_s",
    "O_r_ns_per_byte": "overhead per byte of receiving O_r",
}

KEPT = "receives of any source and tasks keep what they took"
"""What is said of a curve at an end of which they would take something else."""
Number = Annotated[float, Meta(ge=0)]


class Multiple(Record):
    """The makespan at a multiple of the recorded value."""

    factor: Number
    at: Number
    makespan_ns: Number


class Tolerance(Record):
    """Where the run is slower by a share of shares_of_ns; null if it never is up to 1e12."""

    slower: Number
    at: float | None
    """Value of the parameter."""
    more: float | None
    """Its distance from the recorded one."""


class Segment(Record):
    """A segment of the curve."""

    begin: Number = field(name="from")
    end: Number = field(name="to")
    slope: Number
    makespan_ns: Number
    """At its beginning."""


class Point(Record):
    """A point of the curve."""

    at: Number
    makespan_ns: Number


class End(Record):
    """An end of the interval, and between which makespans the true one there lies."""

    at: Number
    makespan_ns: Natural
    """Each weight rounded to ns."""
    span: Span


class CurveDocument(TraceDocument, kw_only=True):
    """The makespan as a function of one parameter. Times are nanoseconds. Those of predicted runs are not rounded."""

    command: Literal["curve"] = "curve"
    of: Annotated[str, Meta(pattern=f"^((({'|'.join(PAIRS)}):)?({'|'.join(NETWORK)})|(rank|node|region):.+)$")]
    """The parameter; of computation a factor on its time."""
    recorded: Number
    """Its value in the recorded run: that of the model, the largest where pairs, sizes or ends differ, the others in proportion; or 1."""
    recorded_ns: Makespan
    shares_of_ns: SharesOf
    recorded_slope: Number
    """ns per unit of the parameter just above its recorded value: how often the critical path pays it, or how long it computes there."""
    interval: tuple[Number, Number]
    ends: tuple[End, End]
    gap_ns: Number
    """How much the makespan may lie above the segments; 0 if all were found."""
    multiples: list[Multiple]
    """The recorded value and its multiples in the interval; none if it is 0."""
    tolerances: list[Tolerance]
    segments: Annotated[list[Segment], Meta(min_length=1)]
    """Ascending; the last one ends where the interval does."""
    points: list[Point]
    """Samples asked for, evenly spaced."""
    turned: bool
    """Whether calls that took what came first would take something else at an end of the interval: here they keep what they took."""
    sweeps: Natural
    """Sweeps over the graph that it took."""
    replay_error_ns: ReplayError
    model: Model
    machine: Machine
    misfit: Misfit
    health: Health


def document(curve: Curve, points: int = 0) -> CurveDocument:
    """Return the curve, with so many samples, evenly spaced."""
    run = curve.run
    least, most = (
        End(at=at, makespan_ns=answer.makespan, span=spans.span(span))
        for at, (answer, span) in zip((float(curve.x[0]), float(curve.x[-1])), curve.ends(), strict=True)
    )
    return CurveDocument(
        **blocks.head(run.trace),
        of=curve.of,
        recorded=curve.recorded,
        recorded_ns=run.makespan,
        shares_of_ns=shares_of(curve),
        recorded_slope=curve.recorded_slope,
        interval=(least.at, most.at),
        ends=(least, most),
        gap_ns=curve.gap,
        multiples=_multiples(curve),
        tolerances=tolerances(curve),
        segments=segments(curve),
        points=[Point(at=x, makespan_ns=curve.at(x)) for x in np.linspace(curve.x[0], curve.x[-1], points).tolist()],
        turned=curve.turned(),
        sweeps=curve.lines.sweeps,
        **misfit.modelled(run),
    )


def _multiples(curve: Curve) -> list[Multiple]:
    recorded, least, most = curve.recorded, float(curve.x[0]), float(curve.x[-1])
    told = [factor for factor in MULTIPLES if recorded and (factor == 1 or least <= factor * recorded <= most)]
    return [Multiple(factor=factor, at=factor * recorded, makespan_ns=curve.at(factor * recorded)) for factor in told]


def segments(curve: Curve) -> list[Segment]:
    """Return the segments of a curve, ascending."""
    columns = (column.tolist() for column in (curve.x[:-1], curve.x[1:], curve.slope, curve.value[:-1]))
    return [Segment(begin=x, end=end, slope=slope, makespan_ns=value) for x, end, slope, value in zip(*columns, strict=True)]


def tolerances(curve: Curve) -> list[Tolerance]:
    """Return where the run is slower by each of SHARES of what its shares are of."""
    recorded, whole = curve.run.makespan, shares_of(curve)
    at = [curve.tolerance(share * whole / recorded if recorded else share) for share in SHARES]
    return [Tolerance(slower=share, at=x, more=None if x is None else x - curve.recorded) for share, x in zip(SHARES, at, strict=True)]


def shares_of(curve: Curve) -> int:
    """Return the ns that shares of a curve are of."""
    return blocks.shares_of(curve.run.trace, curve.run.makespan)


def text(curve: CurveDocument) -> str:
    """Return the document as text for a terminal."""
    title = blocks.title(curve.trace, f"makespan as a function of {words.shown(curve.of)}", curve.health)
    lines = [*title, "", *words.facts(_answer(curve)), "", *_tolerance_lines(curve)]
    lines += ["", *_multiple_lines(curve)] if curve.multiples else []
    lines += ["", *_segment_lines(curve)]
    lines += ["", *_point_lines(curve)] if curve.points else []
    grows = [("", "lags below the model's grow in proportion")] if curve.misfit.messages_lowered else []
    return "\n".join([*lines, *misfit.sure(curve, curve.shares_of_ns), "", *misfit.closing(curve, grows)])


def amount(parameter: str, value: float) -> str:
    """Return a value of a parameter in words: 2.500 us, 6 ns/B, 1.5."""
    if of_network(parameter) and parameter.endswith("_ns"):
        return words.duration(round(value))
    return f"{value:.5g} ns/B" if of_network(parameter) else f"{value:.5g}"


def counted(parameter: str, slope: float) -> str:
    """Return a slope in words: ns by which the makespan grows per unit of a parameter of the network, or how much computation."""
    return f"{slope:.6g}" if of_network(parameter) else words.duration(round(slope))


def named(parameter: str) -> str:
    """Return what a parameter is called in pictures: latency L, or whose computation it is the factor of."""
    pairs, _, key = parameter.rpartition(":")
    return f"{_NAMED[key]}{f' {pairs}' if pairs else ''}" if of_network(parameter) else words.shown(parameter, 60)


def heading(parameter: str) -> str:
    """Return what a slope is in: ns per ns of L, ns per ns/B of G, or the computation on the critical path."""
    if not of_network(parameter):
        return "computation"
    pairs, _, key = parameter.rpartition(":")
    letter, _, unit = key.partition("_ns")
    return f"ns per ns{'/B' if unit else ''} of {letter}{f' {pairs}' if pairs else ''}"


def _answer(curve: CurveDocument) -> Facts:
    parameter, slope, first = curve.of, curve.recorded_slope, curve.tolerances[0]
    network = of_network(parameter)
    grows_by = f"{counted(parameter, slope)} {heading(parameter) if network else 'of its computation'}"
    grows = "may grow without end, the run is never 1 % slower"
    if first.at is not None and first.more is not None:
        more = f"grow by {amount(parameter, first.more)}" if network else f"compute {first.at:.5g} times as long"
        grows = f"may {more} before the run is 1 % slower"
    name = words.shown(parameter) if network else f"the factor of {words.shown(parameter)}"
    least, most = (amount(parameter, x) for x in curve.interval)
    above = f"; the curve lies at most {words.duration(max(1, round(curve.gap_ns)))} above them (--exact finds all)"
    told = [
        *blocks.recorded(curve.recorded_ns, curve.health, f"{name} is {amount(parameter, curve.recorded)}"),
        *blocks.share_facts(curve.shares_of_ns, curve.recorded_ns, curve.part),
        *blocks.left_out(curve.health),
        *([("matching", f"{KEPT}; perwiz predict lets them take what then comes first")] if curve.turned else []),
        ("tolerance", f"{words.shown(parameter)} {grows}"),
        ("grows by" if network else "on the path", f"{grows_by}, just above the recorded value"),
        ("found", f"{words.several(len(curve.segments), 'segment')} from {least} to {most}{above if curve.gap_ns else ', all there are'}"),
        *[fact for end in curve.ends for fact in _end(curve, end)],
    ]
    return misfit.beside(told, curve, curve.shares_of_ns)


def _end(curve: CurveDocument, end: End) -> Facts:
    """Return the makespan at an end of the interval, and its span."""
    return [(f"at {amount(curve.of, end.at)}", words.duration(end.makespan_ns)), *spans.facts(end.span, end.makespan_ns)]


def _tolerance_lines(curve: CurveDocument) -> list[str]:
    parameter = curve.of
    rows = []
    for row in curve.tolerances:
        cells = ["-", "-", "never"]
        if row.at is not None and row.more is not None:
            times = f"{row.at / curve.recorded:.4g}" if curve.recorded else "-"
            cells = [f"+{amount(parameter, row.more)}", amount(parameter, row.at), times]
        rows.append([f"{100 * row.slower:g} %", *cells])
    return words.table(["slower by", "change", f"{words.shown(parameter)} at", "times"], rows)


def _loss(curve: CurveDocument, makespan: float) -> str:
    whole = curve.shares_of_ns
    return f"{100 * (makespan - curve.recorded_ns) / whole:+.2f} %" if whole else "-"


def _multiple_lines(curve: CurveDocument) -> list[str]:
    rows = [[f"{row.factor:g}", *_cells(curve, row)] for row in curve.multiples]
    return words.table(["times", words.shown(curve.of), "makespan", "change"], rows)


def _point_lines(curve: CurveDocument) -> list[str]:
    return words.table([words.shown(curve.of), "makespan", "change"], [_cells(curve, row) for row in curve.points], left=())


def _cells(curve: CurveDocument, row: Multiple | Point) -> list[str]:
    return [amount(curve.of, row.at), words.duration(round(row.makespan_ns)), _loss(curve, row.makespan_ns)]


def _segment_lines(curve: CurveDocument) -> list[str]:
    """Return the table of segments: all, or those along which the makespan grows most."""
    parameter, segments = curve.of, curve.segments
    cells = [
        [
            *(amount(parameter, segment.begin), amount(parameter, segment.end), counted(parameter, segment.slope)),
            *(words.duration(round(segment.makespan_ns)), _loss(curve, segment.makespan_ns)),
        ]
        for segment in blocks.foremost(segments, _SEGMENTS, lambda segment: -segment.slope * (segment.end - segment.begin))
    ]
    more = blocks.more(segments, len(cells), ", along which it grows less")
    return [*words.table(["from", "to", heading(parameter), "makespan", "change"], cells, left=()), *more]
