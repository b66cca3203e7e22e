"""Another network, and messages of other sizes on it."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import ModelError, UsageError
from perwiz.loggps import model_file
from perwiz.loggps.keys import changed_pairs
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import check_classes
from perwiz.loggps.weigh import CUT, Weighted, measured, reweigh
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.stretch import level


class Messages(Hypothesis):
    """What changes the network or the sizes of messages, as its `protocol` says, and so lags and work."""

    stage = 1

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph whose weights stand for the other network and sizes; what other hypotheses changed stays changed."""
        network, size = self.protocol(weighted.trace, weighted.network, weighted.size)
        as_recorded = measured(weighted)
        unchanged = weighted.network is weighted.model and weighted.size is weighted.trace.messages.bytes
        now = as_recorded if unchanged else reweigh(weighted, as_recorded, weighted.network, weighted.size)
        then = reweigh(weighted, as_recorded, network, size)
        weight = np.where(now == CUT, then, weighted.weight + then - now)
        weight[(then == CUT) | ((weighted.weight == CUT) & (now != CUT))] = CUT
        return dataclasses.replace(weighted, weight=weight, network=network, size=size)


class Network(Messages):
    """A shipped model's name, a model file, or changes such as `L_ns=1000,between-nodes:G_ns_per_byte=0.1`.

    The same program on another network.
    """

    word = "network"

    def model(self, recorded: Model) -> Model:
        """Return the model of the other network, given the one the run was recorded under, whose progress stays. Raises ModelError."""
        if "=" not in self.argument:
            return dataclasses.replace(model_file.load(self.argument), progress=recorded.progress)
        model = recorded.with_changes(self.argument)
        if model.progress != recorded.progress:
            raise ModelError(f"{self}: progress is '{model.progress}', must be that of --model, '{recorded.progress}'")
        return model

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the other network, and the sizes as they are. Raises UsageError for a class of pairs that the trace does not have."""
        model = self.model(network)
        check_classes(trace, changed_pairs(self.argument) if "=" in self.argument else [], str(self))
        return model, size


class BalanceMessages(Messages):
    """`REGION` or `REGION#k`: in every (or the k-th) parallel step all processes that send pass the mean amount of bytes.

    Bytes are conserved.
    """

    word = "balance-messages"

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the network, and the balanced sizes."""
        instances, step = selectors.steps(trace, self.argument)
        owner = selectors.owners(trace, instances)[trace.messages.send]
        sent = np.flatnonzero(owner >= 0)
        if not len(sent):
            raise UsageError(f"{self}: no message is sent in that region")
        sent = sent[np.argsort(owner[sent], kind="stable")]
        size = size.copy()
        size[sent] = level(size[sent], np.searchsorted(instances, owner[sent]), step)
        return network, size
