"""What all hypotheses are: pure functions on the weighted graph, with a text form that parses back."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import ClassVar

from perwiz import words
from perwiz.errors import UsageError
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif import hypotheses as registry
from perwiz.whatif.links import settled
from perwiz.whatif.rounds import in_rounds
from perwiz.whatif.sharing import rewired

PLACES = 1
"""Stage by which it is known where ranks are, and on what network: then messages pass the interfaces that are there."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A question: `apply` returns the weighted graph under it; str() gives `word argument`, which `parse` reads."""

    word: ClassVar[str]
    stage: ClassVar[int]
    """Hypotheses of lower stage are applied first: network and messages, computation, single calls, then the order of calls."""
    example: ClassVar[str] = ""
    """An argument, for messages."""
    effects_may_precede_causes: ClassVar[bool] = False
    """Whether calls may return before their partners let them."""
    keeps_calls: ClassVar[bool] = False
    """Whether a program that is changed so makes the same calls."""
    joined: ClassVar[bool] = False
    """Whether several are one whose argument lists theirs: only together they need to fit."""
    in_rounds: ClassVar[bool] = False
    """Whether it makes collectives in rounds."""
    weighs_anew: ClassVar[bool] = False
    """Whether `change` leaves the weights of the one given as they are."""
    of_parts: ClassVar[bool] = False
    """Whether several processes can change each its part of the run together."""
    of_windows: ClassVar[bool] = False
    """Whether windows of time of a run can be changed one after the other, as none needs to know more than it has."""
    priced: ClassVar[bool] = True
    """Whether it asks the model what something costs: one that does not says the same of two models under which all weights are equal."""
    varied: ClassVar[str] = ""
    """What `others` or `otherwise` vary, in short, where they do."""
    argument: str

    def __str__(self) -> str:
        return f"{self.word} {self.argument}"

    def meant(self) -> Hypothesis:
        """Return the hypothesis that the word and the argument stand for: this one, or one of another class with the same word."""
        return self

    @property
    def settles(self) -> Mapping[str, str]:
        """What of the machine it gives which value, as what is asked beside it must not give another: mostly nothing."""
        return {}

    def apply(self, weighted: Weighted) -> Weighted:
        """Return a changed copy. Raises UsageError if the hypothesis does not fit the trace."""
        return apply(weighted, [self])

    def change(self, weighted: Weighted) -> Weighted:
        """Return what `apply` returns; the weights of the one given may be overwritten."""
        raise NotImplementedError

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return what else the graph under this hypothesis may be, as far as the trace tells: beside how its costs are split, nothing."""
        return []

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return hypotheses of which one may have to take its place, as far as the trace tells, given the graph under all: none."""
        return []

    def opens(self, machine: Machine) -> tuple[str, ...]:
        """Return changes of the model that matter for this question alone and that nothing rules out: beside what is unknown, none."""
        return ()

    def starting(self, machine: Machine) -> Machine:
        """Return the machine that the question starts from, given that of the run."""
        return machine

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the network and the message sizes the hypothesis makes of these: they decide which messages are synchronous."""
        return network, size

    def placed(self, trace: Trace) -> Trace:
        """Return the trace with its locations where the hypothesis puts them."""
        return trace


Asked = Hypothesis | str | Sequence[Hypothesis | str]
"""Hypotheses, or their texts."""


def parse(text: str) -> Hypothesis:
    """Return the hypothesis that `word argument` stands for: parse(str(h)) == h. Raises UsageError for an unknown word."""
    word, _, argument = text.partition(" ")
    kind = registry.kind(word)
    if kind is None:
        kinds = [row.word for row in registry.KINDS]
        raise UsageError(f"'{text}' is no hypothesis, must be one of {', '.join(kinds)} and what it is about{words.meant(word, kinds)}")
    if not argument:
        raise UsageError(f"{word}: must say what it is about, see perwiz predict --help")
    found: type[Hypothesis] = getattr(import_module(kind.module), kind.name)
    return found(argument).meant()


def parse_all(asked: Asked, trace: Trace) -> tuple[Hypothesis, ...]:
    """Return hypotheses, texts parsed, and those of a list of names as one for each.

    Raises UsageError for a text that is none, and for two that give something of the machine another value each.
    """
    several = [asked] if isinstance(asked, Hypothesis | str) else asked
    parsed = [parse(hypothesis) if isinstance(hypothesis, str) else hypothesis.meant() for hypothesis in several]
    settled: dict[str, tuple[str, Hypothesis]] = {}
    for one in parsed:
        for key, value in one.settles.items():
            before, other = settled.setdefault(key, (value, one))
            if before != value:
                raise UsageError(f"{one}: '{other}' gives {key} a value, too: must be asked once")
    return tuple(one for hypothesis in parsed for one in _each(hypothesis, trace.names))


def _each(hypothesis: Hypothesis, regions: Sequence[str]) -> list[Hypothesis]:
    """Return a hypothesis for each name of its list: of `scale a,b=0.5` those of `a=0.5` and `b=0.5`; itself if it takes none.

    A number is one more rank: of `speed rank:0,2=2` and `scale a@rank:0,2=0.5` ranks 0 and 2.
    """
    end = registry.LISTED.get(hypothesis.word)
    if end is None:
        return [hypothesis]
    text, mark, value = hypothesis.argument.rpartition(end) if end else (hypothesis.argument, "", "")
    names = listed(text, regions)
    if len(names) < 2:
        return [hypothesis]
    rank = re.match("(?:.*@)?rank:", names[0], re.DOTALL)
    ranks = [f"{rank[0]}{name}" if rank and name[:1].isdigit() and name not in regions else name for name in names]
    return [type(hypothesis)(f"{name}{mark}{value}") for name in ranks]


def listed(text: str, known: Sequence[str]) -> list[str]:
    """Return the names that a text joins by commas. A known one may have commas itself, also before # or a place: it is one name."""
    parts, names = text.split(","), []
    while parts:
        several = ((end, ",".join(parts[:end]).strip()) for end in range(len(parts), 1, -1))
        longest = (end for end, name in several if re.sub("(#|@(rank|node|group):)[^,#]*$", "", name) in known)
        end = next(longest, 1)
        names.append(",".join(parts[:end]).strip())
        parts = parts[end:]
    return names


def in_order(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses in the order they are applied."""
    return sorted(hypotheses, key=lambda hypothesis: hypothesis.stage)


def join(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return hypotheses in the order they are applied, those that are joined as one."""
    alike: dict[type[Hypothesis], list[Hypothesis]] = {}
    for hypothesis in hypotheses:
        if hypothesis.joined:
            kind = next(kind for kind in type(hypothesis).__mro__ if "joined" in vars(kind))
            alike.setdefault(kind, []).append(hypothesis)
    single = [hypothesis for hypothesis in hypotheses if not hypothesis.joined]
    single += [several[0] for several in alike.values() if len(several) == 1]
    together = ((kind, [one.argument for one in several]) for kind, several in alike.items() if len(several) > 1)
    return in_order([*single, *(kind(", ".join(arguments)) for kind, arguments in together)])


def apply(weighted: Weighted, hypotheses: Sequence[Hypothesis]) -> Weighted:
    """Return the graph under all hypotheses, the one given as it was. Raises UsageError if one does not fit the trace."""
    anew = bool(hypotheses) and in_order(hypotheses)[0].weighs_anew
    return change(weighted if anew else dataclasses.replace(weighted, weight=weighted.weight.copy()), hypotheses)


def change(weighted: Weighted, hypotheses: Sequence[Hypothesis]) -> Weighted:
    """Return what `apply` returns; the weights of the one given may be overwritten."""
    recorded, asked = weighted, join(hypotheses)
    for hypothesis in [one for one in asked if one.stage <= PLACES]:
        weighted = hypothesis.change(weighted)
    elsewhere = weighted.places is not recorded.places or weighted.network.interfaces != recorded.network.interfaces
    if not any(one.in_rounds for one in asked):
        weighted = in_rounds(weighted)
    if elsewhere and weighted.rounds is None:
        weighted = rewired(weighted)
    for hypothesis in [one for one in asked if one.stage > PLACES]:
        weighted = hypothesis.change(weighted)
    return settled(weighted)
