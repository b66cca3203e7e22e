"""The domino paths as Fig. 3 of the PerWiz paper has them: recursion, one process after the other, every equal call tried."""

from __future__ import annotations

import math


def domino_paths(location, partner, value, makespan):
    """Return (T, set of paths); a path is rows of calls in the order of the search. Lists per call; no call gains: (makespan, empty)."""
    processes = sorted(set(location))
    last = {p: max(e for e, q in enumerate(location) if q == p) for p in processes}
    found = {path for p in processes for path in search(location, partner, value, makespan, last[p], math.inf, ())}
    found = {(tuple(m for m, _ in path), least) for path, least in found if path}
    best = min((least for _, least in found), default=makespan)
    return best, {path for path, least in found if least == best}


def search(location, partner, value, makespan, i, before, path):
    """Yield (path of pairs of call and partner, makespan of its last call), from call i of its process back."""
    own = [j for j in range(i + 1) if location[j] == location[i] and value[j] < makespan]
    least = min((value[j] for j in own), default=math.inf)
    if least > before or not own:
        yield path, before
        return
    for m in own:
        if value[m] != least:
            continue
        q = partner[m]
        if m in [e for pair in path for e in pair]:
            yield path, before
        elif q >= 0 and location[q] != location[m]:
            yield from search(location, partner, value, makespan, q, least, (*path, (m, q)))
        else:
            yield (*path, (m, q)), least
