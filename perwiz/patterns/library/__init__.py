"""The patterns built in, a file per family: whoever adds one writes its class there and names it here, behind what it is a special case of.

From the classes come the tree of metrics, the twins of grids, and what `perwiz patterns --of` takes.
"""

from __future__ import annotations

from perwiz.patterns.library import collectives, point_to_point, rma
from perwiz.patterns.pattern import Pattern

BUILT_IN: tuple[type[Pattern], ...] = (
    point_to_point.LateSender,
    point_to_point.WrongOrder,
    point_to_point.FromDifferent,
    point_to_point.FromSame,
    point_to_point.LateReceiver,
    collectives.InitCompletion,
    collectives.FinalizeWait,
    collectives.BarrierWait,
    collectives.BarrierCompletion,
    collectives.EarlyReduce,
    collectives.EarlyScan,
    collectives.LateBroadcast,
    collectives.ExchangeWait,
    collectives.ExchangeCompletion,
    rma.WaitAtCreate,
    rma.WaitAtFree,
    rma.WaitAtFence,
    rma.EarlyFence,
)
"""All patterns searched in every run, in the order of the reports."""
