"""Calls that do not wait: the single ones that pay most, and of each family the sets of calls that do."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.trace import operations
from perwiz.trace.trace import named_call
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.worth.domino import ranked
from perwiz.whatif.worth.families import FAMILIES
from perwiz.whatif.worth.groups import Group, gaining
from perwiz.whatif.worth.singles import singles

_SINGLE, _SETS, _TRIED = 20, 10, 32
"""Single calls, and sets of a family, that are told; sets that are tried."""


def changes(asker: Asker) -> list[Change]:
    """Return the calls and sets of calls that gain without their waits, but for sets that are about every wait, or that no text names."""
    run, out = asker.run, []
    value = singles(run).zero_wait
    for call in ranked(run, value, _SINGLE).tolist():
        rows = np.array([call], "i8")
        what = f"the one call {named_call(run.trace, call)}, {operations.OPS[run.trace.calls.op[call]]}"
        out.append(Change("wait", "call", f"zero-wait e{call}", what, int(value[call]), rows))
    waiting = int(run.waits.time.sum())
    for family in FAMILIES:
        for group in gaining(run, family, "zero-wait", _SETS, tried=_TRIED):
            if group.choice.hypothesis and (group.wait < waiting or family in ("site", "routine", "pair")):
                out.append(_set(family, group, group.choice.hypothesis))
    return out


def _set(family: str, group: Group, question: str) -> Change:
    name = group.choice.name
    what = f"the {words.several(len(group.choice.calls), 'call')} of {'step ' if family == 'step' else ''}{name}"
    return Change("wait", family, question, name if family == "pair" else what, group.makespan, group.choice.calls)
