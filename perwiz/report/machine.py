"""What a trace told of the machine and what it did not: the same record and the same line in every report."""

from __future__ import annotations

from perwiz import words
from perwiz.loggps import machine as loggps
from perwiz.loggps.model import LETTERS, OF_ALL, OF_PAIRS
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Machine, Model

_CLASSES = {"": "", "within-node": " within a node", "between-nodes": " between nodes", "between-metahosts": " between metahosts"}
"""Classes of pairs in words, behind what they hold for."""


def machine(value: loggps.Machine) -> Machine:
    """Return what was found out about a machine as a report tells it."""
    return Machine(given=value.given, estimates=list(value.estimates), unknown=list(value.unknown))


def pairs(name: str) -> str:
    """Return a class of pairs in words, behind what holds for it; empty for all pairs."""
    return _CLASSES.get(name, f" {name}")


def facts(machine: Machine, model: Model) -> Facts:
    """Return the model of a machine in words: first what the trace tells of it and what not, then its keys."""
    seen = line(machine)
    return [*seen, *(fact for fact in blocks.model_facts(model, "" if seen else "model") if not seen or fact[0] != "assumed")]


def line(machine: Machine) -> Facts:
    """Return in one line what was seen, from how many messages, and what stays unknown; nothing of a model that was given whole."""
    if machine.given:
        return []
    messages = max((known.telling + known.against for known in machine.estimates if known.key in LETTERS), default=0)
    told = [words.several(messages, "message")] if messages else []
    told += [_told(known) for known in machine.estimates if known.key in _PROTOCOL]
    told += _collectives(sum(known.key not in (*OF_PAIRS, *OF_ALL) for known in machine.estimates))
    open_ = [f"{unknown.key}{pairs(unknown.pairs)}" for unknown in machine.unknown if unknown.key != "collectives"]
    open_ += _collectives(sum(unknown.key == "collectives" for unknown in machine.unknown))
    parts = [", ".join(told)] if told else []
    parts += [f"not told: {', '.join(open_)}"] if open_ else []
    return [("model", f"fitted to this run: {'; '.join(parts) or 'no message tells anything'}")]


def _collectives(costs: int) -> list[str]:
    return [words.several(costs, "collective cost")] if costs else []


def _told(known: loggps.Estimate) -> str:
    """Return in words what was found for one key, and from what."""
    return f"{_PROTOCOL[known.key].format(known.value)}{pairs(known.pairs)} ({_from(known)})"


_PROTOCOL = {"S_bytes": "eager up to {} bytes", "progress": "progress {}", "gap": "gap {}"}
"""Keys that say how messages are sent, in words."""


def _from(known: loggps.Estimate) -> str:
    """Return how many messages tell something, and how many contradict it."""
    return f"{known.telling} tell{f', {known.against} contradict' if known.against else ''}"
