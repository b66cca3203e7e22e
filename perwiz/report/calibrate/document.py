"""The report of `perwiz calibrate`: a JSON document, the text made from it, and the model file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.kernels.names import NODE
from perwiz.loggps import model_file
from perwiz.loggps.fit.costs import Seen
from perwiz.loggps.fit.fit import Fit, SendersOfSize
from perwiz.loggps.keys import ALL_PAIRS, LETTERS, PAIRS, of_class
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.model import Model as LogGPS
from perwiz.loggps.model import Sent
from perwiz.report import blocks
from perwiz.report.records import Cost, Document, Model, Natural, Positive, Record, choice
from perwiz.trace.arrays import F8
from perwiz.trace.tables import STANDARD, SYNCHRONOUS

MEANINGS = {
    "L_ns": "latency: what a short message takes beyond both overheads",
    "o_s_ns": "overhead of sending",
    "o_r_ns": "overhead of receiving what has arrived",
    "O_s_ns_per_byte": "of sending, for each byte",
    "O_r_ns_per_byte": "of receiving, for each byte",
    "g_ns": "gap between messages in a row",
    "G_ns_per_byte": "for each byte on its way",
    "S_bytes": "larger messages wait for their receiver",
    "S_blocking_bytes": "so do these of blocking sends",
    "S_nonblocking_bytes": "so do these of non-blocking sends",
    "S_sendrecv_bytes": "so do these of MPI_Sendrecv",
    "inline_bytes": "larger eager messages are sent in place",
    "interfaces": "of each node, which messages between nodes share",
    "progress": "when messages move that wait for their receiver",
    "gap": "what keeps sends of a process apart",
    "request_overheads": "o_r's to handle a request to send",
}


class ModelMisfit(Record):
    """Deviation of the model's way of a message from the shortest seen, over that, by size; null if no message tells."""

    typical: Cost | None
    worst: Cost | None


class Interval(Record):
    """Between which ends 95 % of values lie, if the measured rounds are drawn again and again."""

    pairs: Annotated[str, choice("", *PAIRS)]
    key: str
    low: float
    high: float


class Point(Record):
    """The shortest way of the messages of a size, from the sending call to the return of a receiver that waits for it."""

    pairs: Annotated[str, choice("", *PAIRS)]
    bytes: Natural
    waits: bool
    """For its receiver, being larger than the eager limit."""
    way_ns: Cost
    model_ns: Cost
    messages: Positive


class CalibrateDocument(Document, kw_only=True):
    """The model of a machine."""

    command: Literal["calibrate"] = "calibrate"
    file: str
    """The model file that was written."""
    model: Model
    estimates: list[Estimate]
    intervals: list[Interval]
    """Of what was measured; none from a trace."""
    unknown: list[Unknown]
    misfit: ModelMisfit
    points: list[Point]
    senders: list[SendersOfSize]
    notes: list[str]


def document(fit: Fit, file: str) -> CalibrateDocument:
    """Return what is known of a machine, and the model file that it was written to."""
    told = list(points(fit))
    off = np.array([abs(point.model_ns / max(point.way_ns, 1.0) - 1) for point in told])
    return CalibrateDocument(
        file=file,
        model=blocks.model(fit.machine.model),
        estimates=list(fit.machine.estimates),
        intervals=[Interval(*_place(place), low, fit.high[place]) for place, low in fit.low.items()],
        unknown=list(fit.machine.unknown),
        misfit=ModelMisfit(typical=float(np.median(off)), worst=float(off.max())) if len(off) else ModelMisfit(None, None),
        points=told,
        senders=list(fit.senders),
        notes=list(fit.notes),
    )


def _place(text: str) -> tuple[str, str]:
    pairs, _, key = text.rpartition(":")
    return pairs, key


def points(fit: Fit) -> Iterator[Point]:
    """Yield the shortest ways that the model was laid through, by class of pairs, those that wait for their receiver last, and size."""
    for seen in fit.seen:
        for waits, told in ((False, seen.eager), (True, seen.waiting)):
            modelled = way(fit.machine.model, seen, told.size.astype("f8"), waits)
            rows = zip(told.size.tolist(), told.time.tolist(), modelled.tolist(), told.messages.tolist(), strict=True)
            for size, time, model, messages in rows:
                yield Point(seen.pairs, size, waits, time, model, messages)


def way(model: LogGPS, seen: Seen, size: F8, waits: bool) -> F8:
    """Return the ns a model gives messages of a class from the sending call to the return of a receiver that waits for them."""
    pairs = PAIRS.index(seen.pairs) + NODE if seen.pairs else ALL_PAIRS
    messages = Sent(size.astype("i8"), mode=SYNCHRONOUS if waits else STANDARD, pairs=pairs)
    return np.asarray(model.ready(messages) + model.receive_work(messages), "f8")


def text(document: CalibrateDocument) -> str:
    """Return the document as text: the tables of what was found, how well it fits, what nothing tells, and what is only assumed."""
    head = words.wrapped(f"{words.shown(document.file)}: {document.model.source}", 2)
    facts = [("misfit", _misfit(document.misfit))]
    facts += [("unknown" if not number else "", _unknown(each)) for number, each in enumerate(document.unknown)]
    facts += [("note", note) for note in document.notes]
    facts += [("assumed", blocks.assumed(document.model))] if document.model.assumed else []
    tables = filter(None, (_table(document), _pieces(document), _collectives(document)))
    return "\n".join([*head, *(line for table in tables for line in ("", *table)), "", *words.facts(facts)])


def _by_size(document: CalibrateDocument) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Return the costs that differ by size, by class of pairs and key: the sizes from which on each holds."""
    out: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in document.model.classes:
        costs = {key: value for key, value in asdict(row).items() if key in LETTERS and value is not None}
        for key, value in costs.items() if row.from_bytes else ():
            first = next((each for each in document.model.classes if (each.pairs, each.from_bytes) == (row.pairs, 0)), None)
            below = getattr(first, key, None)
            start = getattr(document.model.parameters, key) if below is None else below
            out.setdefault((row.pairs, key), [(0, start)]).append((row.from_bytes, value))
    return out


def _pieces(document: CalibrateDocument) -> list[str]:
    """Return the table of costs that differ by size, none if they are the same for all."""
    by_size = _by_size(document)
    keys = [key for key in LETTERS if any(key == of for _, of in by_size)]
    rows = []
    for pairs, start in sorted({(pairs, start) for (pairs, _), steps in by_size.items() for start, _ in steps}):
        cells = []
        for key in keys:
            steps = [value for begin, value in by_size.get((pairs, key), []) if begin <= start]
            cells.append(_number(steps[-1] if steps else None, key))
        rows.append([pairs or "all", str(start), *cells])
    return words.table(["pairs", "from bytes", *keys], rows) if rows else []


def _table(document: CalibrateDocument) -> list[str]:
    """Return the table of what is told of messages; with intervals if there are any."""
    ends = {(each.pairs, each.key): (each.low, each.high) for each in document.intervals}
    between, by_size = {each.place: each.between for each in document.unknown}, _by_size(document)
    rows = []
    for each in document.estimates:
        if each.key in MEANINGS:
            value = "by size" if (each.pairs, each.key) in by_size else _number(each.value, each.key)
            low, high = ends.get((each.pairs, each.key), (None, None)) if value != "by size" else (None, None)
            figures = [between.get(each.place) or value, *([_number(low, each.key), _number(high, each.key)] if ends else [])]
            rows.append([each.pairs or "all", each.key, *figures, str(each.telling), str(each.against), MEANINGS[each.key]])
    head = ["pairs", "parameter", "value", *(["95 % from", "to"] if ends else []), "told by", "against", ""]
    return words.table(head, rows, left=(0, 1, len(head) - 1)) if rows else ["nothing is told of messages"]


def _collectives(document: CalibrateDocument) -> list[str]:
    """Return the table of what is told of collectives; none if nothing is."""
    told = [each for each in document.estimates if each.key not in MEANINGS]
    rows = [[each.key, _number(each.value, "_ns"), str(each.telling), str(each.against)] for each in told]
    return words.table(["collective", "ns", "told by", "against"], rows) if rows else []


def _number(value: float | str | None, key: str) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:.4f}" if "per_byte" in key else f"{value:.1f}" if key.endswith("_ns") else f"{value:.0f}"


def _between(each: Interval) -> str:
    return f"from {_number(each.low, each.key)} to {_number(each.high, each.key)}"


def _misfit(misfit: ModelMisfit) -> str:
    if misfit.typical is None or misfit.worst is None:
        return "no message tells how long one takes"
    return f"{100 * misfit.typical:.1f} % of a message's way for a typical size, {100 * misfit.worst:.1f} % at most"


def _unknown(each: Unknown) -> str:
    return f"{each.place}{f' ({each.between})' if each.between else ''}: {each.why}"


def toml(fit: Fit) -> str:
    """Return the model file; how well it fits and intervals are in its comments."""
    told = document(fit, "")
    notes = [f"Misfit: {_misfit(told.misfit)}.", *told.notes]
    lines = [line for note in notes for line in words.wrapped(note[:1].upper() + note[1:])]
    lines += [f"{of_class(each.pairs, each.key)}: 95 % {_between(each)}" for each in told.intervals]
    return model_file.text(fit.machine.model, lines, fit.machine.unknown)
