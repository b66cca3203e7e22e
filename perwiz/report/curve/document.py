"""The report of `perwiz curve`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.report import blocks, plain
from perwiz.report.blocks import Document, Facts
from perwiz.whatif.limits.curve import NETWORK, Curve

VERSION = 1
"""Version of the document; curve.schema.json describes it."""
SHARES = (0.01, 0.02, 0.05, 0.1)
"""Slowdowns for which the tolerance is told."""
MULTIPLES = (0.0, 1.0, 2.0, 10.0)
"""Multiples of the recorded value at which the makespan is told."""
_SEGMENTS = 16
"""Rows of the longest table of segments."""
_COUNTED = {
    "L_ns": ("latency", "latencies"),
    "o_ns": ("overhead", "overheads"),
    "g_ns": ("gap", "gaps"),
    "G_ns_per_byte": ("byte (G)", "bytes (G)"),
    "O_ns_per_byte": ("byte (O)", "bytes (O)"),
}


def document(curve: Curve, points: int = 0) -> Document:
    """Return the curve as a JSON document, with so many samples, evenly spaced; times in ns."""
    run, recorded = curve.run, curve.run.makespan
    whole = blocks.shares_of(run.trace, recorded)
    tolerances = [(share, curve.tolerance(share * whole / recorded if recorded else share)) for share in SHARES]
    return {
        "version": VERSION,
        "command": "curve",
        "trace": run.trace.path,
        "format": run.trace.format,
        "made_by": run.trace.timeline.made_by,
        "of": curve.of,
        "recorded": curve.recorded,
        "recorded_ns": recorded,
        "shares_of_ns": whole,
        "recorded_slope": curve.recorded_slope,
        "interval": [float(curve.x[0]), float(curve.x[-1])],
        "gap_ns": curve.gap,
        "multiples": [{"factor": factor, **_point(curve, factor * curve.recorded)} for factor in MULTIPLES if curve.recorded],
        "tolerances": [{"slower": share, "at": at, "more": None if at is None else at - curve.recorded} for share, at in tolerances],
        "segments": [
            {"from": x, "to": end, "slope": slope, "makespan_ns": value}
            for x, end, slope, value in zip(*(c.tolist() for c in (curve.x[:-1], curve.x[1:], curve.slope, curve.value[:-1])), strict=True)
        ],
        "points": [_point(curve, x) for x in np.linspace(curve.x[0], curve.x[-1], points).tolist()],
        "sweeps": curve.lines.sweeps,
        "replay_error_ns": run.replay_error,
        "model": plain.model(run.weighted.model),
        "misfit": plain.misfit(run),
        "health": plain.health(run.health()),
    }


def _point(curve: Curve, x: float) -> Document:
    return {"at": x, "makespan_ns": curve.at(x)}


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    title = words.wrapped(f"{words.shown(block['trace'])}: makespan as a function of {words.shown(block['of'])}{mark}", 2)
    lines = [*title, "", *words.facts(_answer(block)), "", *_tolerance_lines(block)]
    lines += ["", *_multiple_lines(block)] if block["multiples"] else []
    lines += ["", *_segment_lines(block)]
    lines += ["", *_point_lines(block)] if block["points"] else []
    facts = [*plain.model_facts(block["model"]), *plain.misfit_facts(block)]
    if block["misfit"]["messages_lowered"]:
        facts.append(("", "lags below the model's grow in proportion"))
    return "\n".join([*lines, "", *words.facts(facts), "", *plain.health_lines(block["health"])])


def amount(of: str, value: float) -> str:
    """Return a value of a parameter in words: 2.500 us, 6 ns/B, 1.5."""
    if of.endswith("_ns"):
        return words.duration(round(value))
    return f"{value:.5g} ns/B" if of in NETWORK else f"{value:.5g}"


def counted(of: str, slope: float) -> str:
    """Return a slope in words: how many latencies, or how many ns of computation."""
    return f"{slope:.6g}" if of in NETWORK else words.duration(round(slope))


def heading(of: str) -> str:
    """Return what a slope counts."""
    return _COUNTED[of][1] if of in NETWORK else "computation"


def _answer(block: Document) -> Facts:
    of, slope, first = block["of"], block["recorded_slope"], block["tolerances"][0]
    on = f"{counted(of, slope)} {_COUNTED[of][slope != 1]}" if of in NETWORK else f"{counted(of, slope)} of its computation"
    grows = "may grow without end, the run is never 1 % slower"
    if first["at"] is not None:
        more = f"compute {first['at']:.5g} times as long" if of not in NETWORK else f"grow by {amount(of, first['more'])}"
        grows = f"may {more} before the run is 1 % slower"
    found = (
        f"{words.several(len(block['segments']), 'segment')} from {amount(of, block['interval'][0])} to {amount(of, block['interval'][1])}"
    )
    gap, name = block["gap_ns"], words.shown(of) if of in NETWORK else f"the factor of {words.shown(of)}"
    exact = f"; the curve lies at most {words.duration(max(1, round(gap)))} above them (--exact finds all)" if gap else ", all there are"
    return [
        ("recorded", f"{plain.recorded(block['recorded_ns'], block['health'])}; {name} is {amount(of, block['recorded'])}"),
        *plain.share_facts(block, block["recorded_ns"]),
        ("tolerance", f"{words.shown(of)} {grows}"),
        ("on the path", f"{on}, just above the recorded value"),
        ("found", found + exact),
    ]


def _tolerance_lines(block: Document) -> list[str]:
    of = block["of"]
    rows = []
    for row in block["tolerances"]:
        at = row["at"]
        said = ("-", "-", "never") if at is None else (f"+{amount(of, row['more'])}", amount(of, at), _times(block, at))
        rows.append([f"{100 * row['slower']:g} %", *said])
    return words.table(["slower by", "change", f"{words.shown(of)} at", "times"], rows)


def _times(block: Document, x: float) -> str:
    return f"{x / block['recorded']:.4g}" if block["recorded"] else "-"


def _loss(block: Document, makespan: float) -> str:
    whole = block["shares_of_ns"]
    return f"{100 * (makespan - block['recorded_ns']) / whole:+.2f} %" if whole else "-"


def _multiple_lines(block: Document) -> list[str]:
    rows = [[f"{row['factor']:g}", *_cells(block, row)] for row in block["multiples"]]
    return words.table(["times", words.shown(block["of"]), "makespan", "change"], rows)


def _point_lines(block: Document) -> list[str]:
    return words.table([words.shown(block["of"]), "makespan", "change"], [_cells(block, row) for row in block["points"]], left=())


def _cells(block: Document, row: Document) -> list[str]:
    makespan = row["makespan_ns"]
    return [amount(block["of"], row["at"]), words.duration(round(makespan)), _loss(block, makespan)]


def _segment_lines(block: Document) -> list[str]:
    """Return the table of segments: all, or those along which the makespan grows most."""
    of, rows = block["of"], block["segments"]
    order = sorted(range(len(rows)), key=lambda k: (-rows[k]["slope"] * (rows[k]["to"] - rows[k]["from"]), k))
    cells = [
        [
            *(amount(of, rows[k]["from"]), amount(of, rows[k]["to"]), counted(of, rows[k]["slope"])),
            *(words.duration(round(rows[k]["makespan_ns"])), _loss(block, rows[k]["makespan_ns"])),
        ]
        for k in sorted(order[:_SEGMENTS])
    ]
    more = [f"and {len(rows) - _SEGMENTS} more, along which it grows less (--json lists all)"] if len(rows) > _SEGMENTS else []
    return [*words.table(["from", "to", heading(of), "makespan", "change"], cells, left=()), *more]
