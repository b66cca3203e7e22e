"""A machine as a question starts from it: its model, what told it, and what nothing tells."""

from __future__ import annotations

import dataclasses

from perwiz.loggps.model import Model


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What was found for one key of the model."""

    key: str
    """As in a model file."""
    pairs: str
    """Class of pairs, "" for all."""
    value: float | int | str
    telling: int
    """Messages, or instances of collectives, that tell it."""
    against: int
    """Those that contradict it."""


@dataclasses.dataclass(frozen=True)
class Unknown:
    """What the evidence does not tell about the machine."""

    key: str
    """As in a model file."""
    pairs: str
    """Class of pairs, "" for all."""
    ends: tuple[str, ...]
    """What is possible at most and at least: changes as `Model.with_changes` takes them; the model's own value is one between."""
    why: str
    """In words, such as: no receiver came late for a message of more than 4040 bytes."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A model and where it comes from. One that was given whole, by name or file, has no estimates and nothing unknown."""

    model: Model
    estimates: tuple[Estimate, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    given: bool = False
    """The model was given whole: the trace may contradict it."""
