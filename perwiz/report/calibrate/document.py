"""The report of `perwiz calibrate`: a JSON document, the text made from it, and the model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import asdict

from perwiz import words
from perwiz.loggps import model_file
from perwiz.loggps.calibrate import Calibration
from perwiz.loggps.model import CONVENTIONS, LETTERS
from perwiz.report import blocks
from perwiz.report.records import Cost, Document, Model, Record, choice

_ROWS = (
    ("L", "ns", "latency: what a short message takes beyond both overheads"),
    ("o_s", "ns", "overhead of sending"),
    ("o_r", "ns", "overhead of receiving what has arrived"),
    ("O_s", "ns/B", "more for each byte"),
    ("O_r", "ns/B", "more for each byte"),
    ("g", "ns", "gap between messages in a row"),
    ("G", "ns/B", "more for each byte on its way"),
    ("S", "B", "larger messages wait for their receiver"),
)
_KEYS = {**{letter: key for key, letter in LETTERS.items()}, "S": "S_bytes"}


class Estimate(Record):
    """What was found for a LogGPS letter."""

    value: float
    unit: Annotated[str, choice("ns", "ns/B", "B")]
    low: float | None
    """Begin of the 95 % interval."""
    high: float | None
    """Its end."""


class ModelMisfit(Record):
    """Deviation of the model's way of a message from the one seen, over that."""

    typical: Cost
    worst: Cost


class Gap(Record):
    """A line of the gap between messages in a row, by size."""

    from_bytes: int
    to_bytes: int
    first_ns: float
    slope_ns_per_byte: float


class CalibratedModel(Model):
    """The model of a pair of processes: two on two nodes, or two on one node. What is assumed was not measured."""

    file: str
    """The model file that was written."""
    estimates: dict[str, Estimate]
    """By LogGPS letter; o_s, o_r, O_s and O_r are those of the sender and the receiver."""
    misfit: ModelMisfit
    gaps: list[Gap]
    notes: list[str]


class CalibrateDocument(Document, kw_only=True):
    """Models of a machine."""

    command: Literal["calibrate"] = "calibrate"
    models: Annotated[list[CalibratedModel], Meta(min_length=1)]


def document(calibrations: Mapping[str, Calibration]) -> CalibrateDocument:
    """Return calibrations, by the model file each was written to."""
    return CalibrateDocument(models=[_calibrated(calibration, path) for path, calibration in calibrations.items()])


def _calibrated(calibration: Calibration, path: str) -> CalibratedModel:
    measured = [row for row in _ROWS if row[0] in calibration.values and _KEYS.get(row[0]) not in calibration.model.assumed]
    gaps = ((segment.low, segment.high, segment.line) for segment in calibration.segments)
    return CalibratedModel(
        file=path,
        **asdict(blocks.model(calibration.model)),
        estimates={letter: _estimate(calibration, letter, unit) for letter, unit, _ in measured},
        misfit=ModelMisfit(typical=calibration.typical, worst=calibration.worst),
        gaps=[Gap(int(low), int(high), first_ns=float(line.first), slope_ns_per_byte=float(line.slope)) for low, high, line in gaps],
        notes=list(calibration.notes),
    )


def _estimate(calibration: Calibration, letter: str, unit: str) -> Estimate:
    low, high = (None if end is None else float(end) for end in (calibration.low.get(letter), calibration.high.get(letter)))
    return Estimate(value=float(calibration.values[letter]), unit=unit, low=low, high=high)


def text(document: CalibrateDocument) -> str:
    """Return the document as text: of each model the table of parameters, how well they fit, and what is only assumed."""
    return "\n\n".join("\n".join(_model_lines(model)) for model in document.models)


def _model_lines(model: CalibratedModel) -> list[str]:
    head = words.wrapped(f"{words.shown(model.file)}: {model.source}", 2)
    misfit = f"{_percent(model.misfit.typical)} of a message's way for a typical size, {_percent(model.misfit.worst)} at most"
    facts = [("misfit", misfit)]
    facts += [
        ("gaps", f"{gap.from_bytes} to {gap.to_bytes} B: {gap.first_ns:.0f} ns and {gap.slope_ns_per_byte:.4f} ns/B") for gap in model.gaps
    ]
    facts += [("note", note) for note in model.notes]
    facts += [("assumed", ", ".join(model.assumed))] if model.assumed else []
    parameters = asdict(model.parameters)
    chosen = " ".join(f"{key}={parameters[key]!r}" for key in CONVENTIONS)
    return [*head, "", *_table(model.estimates), "", *words.facts([*facts, ("conventions", chosen)])]


def _table(estimates: Mapping[str, Estimate]) -> list[str]:
    rows = [[letter, *_figures(estimates[letter], letter), unit, meaning] for letter, unit, meaning in _ROWS if letter in estimates]
    return words.table(["parameter", "value", "95 % from", "to", "unit", ""], rows, left=(0, 4, 5))


def _figures(estimate: Estimate, letter: str) -> list[str]:
    return ["-" if value is None else _number(value, letter) for value in (estimate.value, estimate.low, estimate.high)]


def _number(value: float, letter: str) -> str:
    return f"{value:.4f}" if letter[0] in "GO" else f"{value:.0f}" if letter == "S" else f"{value:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def toml(calibration: Calibration) -> str:
    """Return the model file, intervals and misfit in its comments."""
    misfit = f"{_percent(calibration.typical)} of a message's way for a typical size, {_percent(calibration.worst)} at most"
    notes = [f"Misfit {misfit}.", *calibration.notes]
    lines = [line for note in notes for line in words.wrapped(note[:1].upper() + note[1:])]
    lines += [_interval(calibration, row[0], row[1]) for row in _ROWS if row[0] in calibration.values and row[0] in calibration.low]
    return model_file.text(calibration.model, lines)


def _interval(calibration: Calibration, letter: str, unit: str) -> str:
    value, low, high = _figures(_estimate(calibration, letter, unit), letter)
    return f"{letter} is {value}, 95 % from {low} to {high}"
