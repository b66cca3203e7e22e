"""Another network: latency and time per byte of a class of pairs halved, or none."""

from __future__ import annotations

from perwiz.loggps.pairs import classes
from perwiz.whatif.ranking.change import Asker, Change

_WIRE = {"L_ns": "L", "G_ns_per_byte": "G"}


def changes(asker: Asker) -> list[Change]:
    """Return what gains if the network between pairs of a class were twice as fast, where one number says that, or infinitely fast."""
    have, model, out = classes(asker.run.trace), asker.run.weighted.model, []
    for pairs in have:
        prefix, where = (f"{pairs}:", f" {pairs.replace('-', ' ')}") if len(have) > 1 else ("", "")
        rows = model.rows_of(pairs)
        costs = {key: {getattr(row, letter) for row in rows} for key, letter in _WIRE.items()}
        if not any(max(values) for values in costs.values()):
            continue
        if all(len(values) == 1 for values in costs.values()):
            halved = ",".join(f"{prefix}{key}={min(values) / 2!r}" for key, values in costs.items())
            out.append(asker.change("network", "pairs", f"network {halved}", f"half the latency, twice the bandwidth{where}"))
        none = ",".join(f"{prefix}{key}=0" for key in costs)
        out.append(asker.change("network", "pairs", f"network {none}", f"no latency, infinite bandwidth{where}"))
    return [change for change in out if change.makespan < asker.run.makespan]
