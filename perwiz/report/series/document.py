"""The report of `perwiz series` as a JSON document."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence

from perwiz.patterns.analysis import series as analysis
from perwiz.patterns.analysis import threshold
from perwiz.patterns.analysis.series import COUNTED, HISTORY, MULTIPLIED, WEAK, Series, Step
from perwiz.patterns.analysis.threshold import Drawn
from perwiz.report.series.records import (
    CallPath,
    Check,
    Differences,
    Factor,
    MaxLoss,
    MinEfficiency,
    Point,
    Recording,
    SeriesDocument,
    Unread,
)

LITTLE = 0.005
"""Of the time: what is lost below it is not worth a question."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """Thresholds, parts of 1; None is none."""

    max_loss: float | None = None
    min_efficiency: float | None = None


def document(
    series: Series,
    paths: int,
    asked: Asked,
    single: tuple[Drawn | None, Drawn | None] = (None, None),
    unread: Mapping[str, str] = {},
    draws: bool = True,
) -> SeriesDocument:
    """Return a series, with at most so many call paths; `single`: see threshold.noise; `unread`: what could not be used, and why.

    `draws`: whether runs were to be drawn. Thresholds are checked only if everything could be read: else the newest, or the largest, might
    be another.
    """
    before, last = series.reference.middle, series.newest.middle
    chance = threshold.noise(series, threshold.TIME, single)
    factors = _factors(series.step(series.newest))
    lost = analysis.lost(last, before, series.kind == WEAK)
    return SeriesDocument(
        kind=series.kind,
        reference=series.reference.label,
        points=[_point(series, point) for point in series.points],
        factors=factors,
        noise=chance,
        noise_from=("" if draws else "not drawn") if chance is None else "recordings" if threshold.repeated(series) else "runs drawn",
        doubt=analysis.doubt(series),
        call_paths=[
            CallPath(call_path=row.call_path, expected_ns=row.reference, time_ns=row.run, lost_ns=row.lost) for row in lost[:paths]
        ],
        differences=Differences(
            regions_reference=sorted(before.regions - last.regions),
            regions_last=sorted(last.regions - before.regions),
            routines_reference=sorted(before.routines.keys() - last.routines.keys()),
            routines_last=sorted(last.routines.keys() - before.routines.keys()),
        ),
        unread=[Unread(trace=path, why=why) for path, why in unread.items()],
        max_loss=None if unread else _max_loss(series, asked.max_loss, single),
        min_efficiency=None if unread else _min_efficiency(last.figures.parallel, asked.min_efficiency),
        next=_next(series, factors),
    )


def _point(series: Series, point: analysis.Point) -> Point:
    figures, found = point.figures, series.step(point)
    times = [round(each.figures.time) for each in point.recordings]
    return Point(
        label=point.label,
        trace=point.middle.path,
        recordings=[
            Recording(trace=each.path, time_ns=time, incomplete=each.health.incomplete, holes=each.health.holes)
            for each, time in zip(point.recordings, times, strict=True)
        ],
        least_ns=min(times),
        most_ns=max(times),
        processes=point.middle.processes,
        threads=figures.locations,
        idle=point.middle.idle,
        time_ns=round(figures.time),
        ideal_ns=round(figures.ideal),
        useful_ns=round(figures.useful),
        max_useful_ns=round(figures.longest),
        global_efficiency=found.global_efficiency,
        parallel=figures.parallel,
        load_balance=figures.load_balance,
        communication=figures.communication,
        serialisation=figures.serialisation,
        transfer=figures.transfer,
        computation_scaling=found.computation,
        instruction_scaling=found.instructions,
        ipc_scaling=found.ipc,
        frequency_scaling=found.frequency,
        ipc=figures.ipc,
        frequency_ghz=figures.ghz,
        instructions=figures.instructions,
        ideal_speedup=found.ideal,
        speedup=found.speedup,
    )


def _factors(found: Step) -> list[Factor]:
    factors = {name: getattr(found, name) for name in (*MULTIPLIED, *COUNTED)}
    return [Factor(name=name, factor=value, longer=analysis.cost(value)) for name, value in factors.items() if value is not None]


def _max_loss(series: Series, allowed: float | None, single: tuple[Drawn | None, Drawn | None]) -> MaxLoss | None:
    if allowed is None:
        return None
    checks = threshold.checks(series, allowed, single)
    rows = [Check(figure=row.figure, longer=row.lost, noise=row.noise, missed=row.missed) for row in checks]
    return MaxLoss(asked=allowed, missed=any(row.missed for row in rows), checks=rows)


def _min_efficiency(parallel: float, least: float | None) -> MinEfficiency | None:
    return None if least is None else MinEfficiency(asked=least, missed=parallel < least)


def _next(series: Series, factors: Sequence[Factor]) -> str:
    """Return the command that says more on what is lost most; of a history on what changed. Nothing if nothing is lost."""
    worst = max((row for row in factors if row.name in MULTIPLIED), key=lambda row: row.longer)
    if worst.longer < LITTLE:
        return ""
    before, last = series.reference.middle.path, series.newest.middle.path
    if series.kind == HISTORY:
        return shlex.join(["perwiz", "compare", before, last])
    asked = {"load_balance": "balance", "serialisation": "domino", "transfer": "curve", "computation": "info"}[worst.name]
    more = [] if worst.name != "computation" else ["--counters" if any(row.name in COUNTED for row in factors) else "--regions"]
    return shlex.join(["perwiz", asked, last, *more])
