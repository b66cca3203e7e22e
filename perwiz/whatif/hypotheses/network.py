"""Another network, and messages of other sizes on it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from perwiz.errors import ModelError, UsageError
from perwiz.loggps import interfaces, model_file
from perwiz.loggps.keys import ALL_PAIRS, LIMITS, PAIRS, POSTED, SENDS, changed_pairs
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import check_classes
from perwiz.loggps.weigh import CUT, Weighted, measured, reweigh
from perwiz.trace.arrays import I8, chunks
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.parts import between_init_and_finalize
from perwiz.whatif.hypotheses.stretch import level, segments_of

POLLED = "progress=polled"
"""The change of what `MessageProgress.others` varies: a thread that polls takes half of a processor."""


class Messages(Hypothesis):
    """What changes the network or the sizes of messages, as its `protocol` says, and so lags and work."""

    stage, weighs_anew = 0, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph whose weights stand for the other network and sizes; what other hypotheses changed stays changed."""
        network, size = self.protocol(weighted.trace, weighted.network, weighted.size)
        return dataclasses.replace(weighted, weight=changed_weights(weighted, network, size), network=network, size=size)


def changed_weights(weighted: Weighted, network: Model, size: I8, placed: Trace | None = None) -> I8:
    """Return the weights on another network, with other sizes, or with the locations of the trace `placed` elsewhere, int64 ns per edge.

    What other hypotheses changed stays changed.
    """
    as_recorded = measured(weighted)
    unchanged = weighted.network is weighted.model and weighted.size is weighted.trace.messages.bytes
    now = as_recorded.weight if unchanged else reweigh(weighted, as_recorded, weighted.network, weighted.size)
    then = reweigh(weighted, as_recorded, network, size, placed)
    for chunk in chunks(len(then)):
        before, after, weight = now[chunk], then[chunk], weighted.weight[chunk]
        cut = (after == CUT) | ((weight == CUT) & (before != CUT))
        then[chunk] = np.where(cut, CUT, np.where(before == CUT, after, weight + after - before))
    return then


class Network(Messages):
    """A shipped model's name, a model file, or changes such as `L_ns=1000,between-nodes:G_ns_per_byte=0.1`.

    The same program on another network.
    """

    word, keeps_calls, of_parts = "network", True, True

    def model(self, recorded: Model) -> Model:
        """Return the model of the other network, given the one the run was recorded under.

        Where it is a whole one, progress and interfaces stay. Raises ModelError.
        """
        if "=" not in self.changes:
            return dataclasses.replace(model_file.load(self.changes), progress=recorded.progress, interfaces=recorded.interfaces).on(
                recorded.topology
            )
        model = recorded.with_changes(self.changes)
        if model.progress != recorded.progress and POSTED in (model.progress, recorded.progress):
            raise ModelError(f"{self}: progress is '{model.progress}', must be that of --model, '{recorded.progress}'")
        return model

    @property
    def changes(self) -> str:
        """The argument as changes that `Model.with_changes` takes, or the name or file of a model."""
        return self.argument

    @property
    def settles(self) -> Mapping[str, str]:
        """The keys of the model that it changes, with their class of pairs, and their values; all of it for another model."""
        if "=" not in self.changes:
            return {"the model": self.changes}
        parts = (part.partition("=") for part in self.changes.split(","))
        return {key.strip(): value.strip() for key, _, value in parts}

    def opens(self, machine: Machine) -> tuple[str, ...]:
        """Return that nodes may have had as many interfaces as are asked for, where nothing says how many they had."""
        asked = "=" in self.changes and self.settles.get("interfaces")
        return (f"interfaces={asked}",) if asked and not machine.given and not interfaces.shared(machine.model) else ()

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the other network, and the sizes as they are. Raises UsageError for a class of pairs that the trace does not have."""
        model = self.model(network)
        check_classes(trace, changed_pairs(self.changes) if "=" in self.changes else [], str(self))
        return model, size


UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9} | {
    name: 1 << 10 * power for power, letter in enumerate("KMG", 1) for name in (letter, f"{letter}iB")
}
"""Bytes of each unit of a size. A letter alone is binary, as in variables of MPIs, dd and ls; KB is none, as both are meant by it."""
_OF_ALL_CLASSES = Sent(1, sends=np.arange(len(SENDS)), pairs=np.arange(ALL_PAIRS + 1)[:, None])
"""A message of each class of pairs and kind of send."""
_SIZE = re.compile(rf"(?:({'|'.join(PAIRS)}):)?([0-9]{{1,12}})({'|'.join(UNITS)})")


class EagerLimit(Network):
    """`64KiB`, or `within-node:4096,between-nodes:64KiB`: another eager limit.

    Messages up to that size are eager, longer ones hold their sender until the receiver is there. Where the limit is lower, and nothing
    tells when messages that hold their sender move, they do only while their receiver is in calls, as usual without hardware for it.
    """

    word = "eager"

    def model(self, recorded: Model) -> Model:
        """Return the model with the other limit, given the one the run was recorded under. Raises ModelError, UsageError."""
        model = super().model(recorded)
        lower = bool(np.any(model.limit(_OF_ALL_CLASSES) < recorded.limit(_OF_ALL_CLASSES)))
        untold = model.progress == "always" and "progress" in model.assumed
        return model.with_changes("progress=in calls") if lower and untold else model

    @property
    def changes(self) -> str:
        """The argument as changes that `Model.with_changes` takes. Raises UsageError."""
        parts = [_SIZE.fullmatch(part.strip()) for part in self.argument.split(",")]
        if not all(parts):
            must = "must be a size such as 65536, 64K or 64KiB (65536) or 64kB (64000)"
            raise UsageError(f"{self}: {must}, or between-nodes:64KiB, several joined by commas")
        sizes = [(part[1], int(part[2]) * UNITS[part[3]]) for part in parts if part]
        return ",".join(f"{pairs}:S_bytes={size}" if pairs else f"S_bytes={size}" for pairs, size in sizes)

    def opens(self, machine: Machine) -> tuple[str, ...]:
        """Return that eager messages may be sent in place, where no size is seen to be eager, so that nothing tells how they are."""
        keys = {known.key for known in machine.estimates} | {known.key for known in machine.unknown}
        moves = any(known.key == "progress" and known.value == "always" for known in machine.estimates)
        low = min((float(value) for known in machine.unknown if known.key in LIMITS for value in known.values), default=1)
        return () if machine.given or "inline_bytes" in keys or moves or low else ("progress=in calls,inline_bytes=0",)

    @staticmethod
    def is_size(argument: str) -> bool:
        """Return whether a text is meant as sizes: the first begins with a digit, the class of pairs left out."""
        return re.match(rf"\s*(?:(?:{'|'.join(PAIRS)}):)?[0-9]", argument) is not None


class MessageProgress(Network):
    """`always` or `in calls`: when messages that hold their sender move.

    Of `always` the answer is that of hardware, or of a thread with a processor of its own. A thread that polls on that of its process, as
    those of MPICH do, takes half of it: computation lasts twice as long, and the span holds that, too.
    """

    word, varied = "progress", POLLED

    @property
    def changes(self) -> str:
        """The argument as a change that `Model.with_changes` takes."""
        return f"progress={self.argument}"

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return the graph with computation of twice the length, where messages did not move always as recorded."""
        if weighted.network.progress != "always" or weighted.model.progress == "always":
            return []
        weighted = dataclasses.replace(weighted, weight=weighted.weight.copy())
        segments = segments_of(weighted)
        computes = weighted.trace.locations.kind != STREAM
        within = between_init_and_finalize(segments) & computes[segments.location]
        return [segments.stretched(weighted, np.where(within, 2 * segments.length, segments.length))]


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
