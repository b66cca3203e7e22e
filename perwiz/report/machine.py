"""What a trace told of the machine and what it did not: the same record and the same lines in every report."""

from __future__ import annotations

from perwiz import words
from perwiz.loggps import machine as loggps
from perwiz.loggps.keys import OF_ALL, OF_PAIRS
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


def facts(machine: Machine, model: Model, messages: int | None = None) -> Facts:
    """Return the model of a machine in words: where it comes from, what that tells and what not; the value of what it does not is taken.

    Of no messages, if their number is given, what nothing tells of them is not listed: the source says that there are none.
    """
    if machine.given:
        return blocks.model_facts(model)
    letters, *classes = blocks.told_facts(model, [each.place for each in machine.unknown])
    found = [_protocol(known, machine) for known in machine.estimates if known.key in _PROTOCOL]
    found += _collectives(sum(known.key not in (*OF_PAIRS, *OF_ALL) for known in machine.estimates))
    told = "; ".join(filter(None, (", ".join(found), letters)))
    lacking = ["" if messages == 0 else blocks.assumed(model)]
    lacking += _collectives(sum(unknown.key == "collectives" for unknown in machine.unknown))
    lines = [("told", told), *(("", each) for each in classes), ("not told", ", ".join(filter(None, lacking)))]
    return [("model", model.source), *((label, text) for label, text in lines if text)]


def _collectives(costs: int) -> list[str]:
    return [words.several(costs, "collective cost")] if costs else []


def _protocol(known: loggps.Estimate, machine: Machine) -> str:
    """Return in words what was found of how messages are sent, and from what: between which ends, if it is known no better."""
    between = next((f"a size {each.between}" for each in machine.unknown if each.place == known.place), known.value)
    against = f", {known.against} contradict" if known.against else ""
    return f"{_PROTOCOL[known.key].format(between)}{pairs(known.pairs)} ({known.telling} tell{against})"


_PROTOCOL = {
    "S_bytes": "eager up to {} bytes",
    "S_blocking_bytes": "blocking sends eager up to {} bytes",
    "S_nonblocking_bytes": "non-blocking sends eager up to {} bytes",
    "S_sendrecv_bytes": "MPI_Sendrecv eager up to {} bytes",
    "inline_bytes": "sent in place above {} bytes",
    "progress": "progress {}",
    "gap": "gap {}",
}
"""Keys that say how messages are sent, in words."""
