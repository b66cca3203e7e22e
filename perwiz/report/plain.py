"""The shared parts as dicts, for documents that are still dicts. Goes with the last of them."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from perwiz.loggps.model import Model
from perwiz.report import blocks, records
from perwiz.report import misfit as misfits
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.run import Run

region_path = blocks.region_path


def health(value: Health) -> Document:
    """Return the health."""
    return to_builtins(blocks.health(value))


def health_lines(block: Document, clocks: bool = True) -> list[str]:
    """Return it in words."""
    return blocks.health_lines(convert(block, records.Health), clocks)


def recorded(makespan: int, block: Document) -> str:
    """Return the makespan in words."""
    return blocks.recorded(makespan, convert(block, records.Health))


def model(value: Model) -> Document:
    """Return the model."""
    return to_builtins(blocks.model(value))


def model_facts(block: Document) -> Facts:
    """Return it in words."""
    return blocks.model_facts(convert(block, records.Model))


def misfit(run: Run) -> Document:
    """Return the misfit."""
    return to_builtins(misfits.of_run(run))


def misfit_facts(block: Document) -> Facts:
    """Return it in words."""
    return misfits.facts(convert(block["misfit"], records.Misfit), block["replay_error_ns"])


def share_facts(block: Document, makespan: int) -> Facts:
    """Return what shares are of."""
    return blocks.share_facts(block["shares_of_ns"], makespan)


def location(trace: Trace, row: int) -> dict[str, Any]:
    """Return rank and thread."""
    return to_builtins(blocks.location(trace, row))


def call(trace: Trace, row: int) -> dict[str, Any]:
    """Return a call."""
    return to_builtins(blocks.call(trace, row))
