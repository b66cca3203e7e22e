"""perwiz: how fast would this MPI program be, if ...? Answers from one recorded run.

    trace = perwiz.read("run.alog")
    result = perwiz.predict(trace, [perwiz.ZeroWait("e25")])

Each name is imported from its home when it is first used, so that `import perwiz` costs nothing.
"""

from importlib import import_module
from typing import Any

from perwiz.whatif.hypotheses import KINDS

__version__ = "0.1.0"

_HOMES = {
    **{kind.name: f"{kind.module}:{kind.name}" for kind in KINDS},
    "PerwizError": "perwiz.errors:PerwizError",
    "compare": "perwiz.whatif.compare.compare:compare",
    "balance": "perwiz.whatif.limits.balance:balance",
    "bound": "perwiz.whatif.limits.bound:bound",
    "correct": "perwiz.clock.logical:correct",
    "critical": "perwiz.whatif.limits.critical:critical",
    "curve": "perwiz.whatif.limits.curve:curve",
    "domino": "perwiz.whatif.worth.domino:domino",
    "load_model": "perwiz.loggps.model_file:load",
    "predict": "perwiz.whatif.predict:predict",
    "predicted_trace": "perwiz.whatif.predict:predicted_trace",
    "read": "perwiz.whatif.timed:read",
    "write": "perwiz.formats.files:write",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'perwiz' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
