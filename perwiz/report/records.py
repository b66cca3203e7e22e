"""What the documents of the reports are made of: typed records, from which their JSON, its schema and the text come.

A record says each field once: its name in the JSON, its type, its least value, and below it what it means. `schema.py` makes the
shipped schemas from that. A document is a record with a version and a command and lives in the folder of its command, as the records do
that only it has; those that several have are here. Of the layers below, dataclasses of numbers, texts and dicts are records as they are.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec

from perwiz.clock.condition import Violations
from perwiz.loggps.fit.eager import Held
from perwiz.loggps.keys import PAIRS
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.trace.trace import Counts
from perwiz.whatif.health import Correction
from perwiz.whatif.sure.doubts import Doubt

Natural = Annotated[int, msgspec.Meta(ge=0)]
"""A count, or ns that are never negative."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
"""A count of what is there, or ns above 0."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A part of 1."""
Cost = Annotated[float, msgspec.Meta(ge=0)]
"""Of a model: ns, or ns per byte."""
CallId = Annotated[str, msgspec.Meta(pattern="^e(0|[1-9][0-9]*)$")]
"""A row of the table of calls."""
Option = Annotated[str, msgspec.Meta(description="Option to give to perwiz predict, quoted for a shell.")]
RegionPath = Annotated[str, msgspec.Meta(description="Names from the outside in, joined by /; empty outside of any.")]
Makespan = Annotated[Natural, msgspec.Meta(description="From the first to the last instant of any process.")]
ReplayError = Annotated[Natural, msgspec.Meta(description="Largest distance of the unchanged run, replayed, from the recorded one.")]
_SHARES = "What percentages are of: the ns after MPI_Init if the trace shows it, else the makespan."
SharesOf = Annotated[Natural, msgspec.Meta(description=_SHARES)]


def choice(*words: str) -> msgspec.Meta:
    """Return what says that a text is one of these words."""
    return msgspec.Meta(extra_json_schema={"enum": list(words)})


RESERVED = msgspec.Meta(extra_json_schema={"reserved": True})
"""Of a field that only subclasses have, in the place that it has in their JSON: `rank: Annotated[int | UnsetType, RESERVED] = UNSET`."""


class Record(msgspec.Struct):
    """A part of a document: its fields are numbers, texts, lists, tuples, dicts and other records."""


class Versioned(Record, kw_only=True):
    """What `--json` prints. Its docstring heads the schema, which is in the folder of its module."""

    version: Literal[1] = 1


class Document(Versioned, kw_only=True):
    """What a command prints that says which it is. A subclass narrows `command`, which names its schema, and is `kw_only` too."""

    command: str


class TraceDocument(Document, kw_only=True):
    """A document on one trace."""

    trace: str
    """Path as given."""
    format: str
    made_by: str
    """How the times of the trace came about: measured, or predicted under hypotheses."""
    part: str | msgspec.UnsetType = msgspec.UNSET
    """Only if a part of the run is asked about: which iterations, such as iterations 10..90."""


class Location(Record):
    """A process, or a thread of one."""

    rank: Natural
    thread: Natural


class CallPlace(Record):
    """A call and where it ran."""

    call: CallId
    rank: Natural
    thread: Natural


class Call(CallPlace):
    """A call, where it ran and where in the program it was made."""

    routine: str
    region: RegionPath


class Wait(Call):
    """A call that waits."""

    partner: CallPlace | None
    """The call that is waited for."""
    wait_ns: Positive


class ComparedWait(Wait):
    """A call that waits, beside the same call in the other run: predicted, or recorded."""

    other_wait_ns: Natural


class Parameters(Record):
    """What a model file says of a machine, under its keys: of all pairs and sizes, but for what classes say."""

    L_ns: Cost
    o_s_ns: Cost
    o_r_ns: Cost
    g_ns: Cost
    G_ns_per_byte: Cost
    O_s_ns_per_byte: Cost
    O_r_ns_per_byte: Cost
    S_bytes: Natural
    s_bytes: Natural
    request_overheads: Natural
    acknowledge_overheads: Natural
    gap: Literal["sending call", "none"]
    progress: Literal["always", "in calls", "once posted"]
    S_blocking_bytes: Natural | None = None
    """Eager limit of blocking sends; null: S_bytes."""
    S_nonblocking_bytes: Natural | None = None
    S_sendrecv_bytes: Natural | None = None
    inline_bytes: Natural | None = None
    """Larger eager messages are sent in place; null: none is."""
    interfaces: Natural | None = None
    """Of each node, which messages between nodes share; null: nothing is shared."""


class PairClass(Record):
    """What differs for a class of pairs, or from a size on. What is null is as for its messages without this row."""

    pairs: Annotated[str, choice("", *PAIRS)] = ""
    """Empty for all pairs."""
    from_bytes: Natural = 0
    """Size of a message from which on it holds."""
    L_ns: Cost | None = None
    o_s_ns: Cost | None = None
    o_r_ns: Cost | None = None
    g_ns: Cost | None = None
    G_ns_per_byte: Cost | None = None
    O_s_ns_per_byte: Cost | None = None
    O_r_ns_per_byte: Cost | None = None
    S_bytes: Natural | None = None
    s_bytes: Natural | None = None
    S_blocking_bytes: Natural | None = None
    S_nonblocking_bytes: Natural | None = None
    S_sendrecv_bytes: Natural | None = None


class Model(Record):
    """A LogGPS model of a machine."""

    name: str
    source: str
    assumed: list[str]
    """Keys whose value the source does not give, such as L_ns or between-nodes:L_ns."""
    parameters: Parameters
    classes: list[PairClass]


class Machine(Record):
    """What the trace told of the machine, and what it did not; both empty of a model that was given whole."""

    given: bool
    """The model was given by --model, by name or file."""
    estimates: list[Estimate]
    unknown: list[Unknown]


class Possible(Record):
    """Another answer that the trace does not rule out."""

    changes: list[str]
    """Of the model, as --model takes them."""
    makespan_ns: Natural


class Varies(Record):
    """What of the work that repeats differs most each time, in ns."""

    what: Annotated[str, choice("computation", "calls")]
    """computation: between calls; calls: the work in them."""
    part: Cost
    """Standard deviation as part of the length."""
    stretches: Natural
    """Of the run, or blocks of its iterations, that tell it: the fewer, the wider the span."""
    iterations: Natural
    """Of the program, 0 if it has none; fewer than 8 tell no gain."""
    differ: Cost = 0.02
    """Part by which another recording takes longer or less, though nothing that repeats tells it: assumed."""


class Unusual(Location):
    """Computation, or the work in a call, that took longer than it usually does."""

    call: str | None
    """The call, or the one that follows the computation; null if none does."""
    routine: str
    computes: bool
    """Whether it is computation."""
    took_ns: Natural
    longer_ns: Natural
    """Of them, beyond what is usual."""


class ByChance(Record):
    """Why the recorded run gains less than half, or more than twice, of what drawn runs gain on average."""

    hides: bool
    """Whether it gains less, as something hides the gain in it; else more, as something makes it."""
    piece: Unusual | None
    """What that is; null if it is no single piece of the run."""


class GainBetween(Record):
    """Between which gains on the recorded run the true one lies."""

    least_ns: int
    most_ns: int
    """What nine of ten other runs gain, each with and without the change, lies in between."""
    draws: Positive
    """How many were drawn."""
    mean_ns: int
    """Of the drawn ones."""
    least_open_ns: int
    most_open_ns: int
    """As the machine may be, as far as the trace leaves it open."""
    deviation_ns: Natural
    """Standard deviation of what runs gain: of the drawn ones, or as it varies from iteration to iteration if that is more."""
    chance: ByChance | None
    """Null if the recorded run gains about what drawn ones do."""


class Span(Record):
    """Between which makespans the true one lies, as far as the trace tells."""

    least_ns: Natural
    most_ns: Natural
    sooner_ns: Natural
    """How far before the answer another run of the same may end, as far as repetitions tell; included in `least_ns`."""
    later_ns: Natural
    """How far behind; included in `most_ns`."""
    varies: Varies | None
    """Null if nothing repeats, or no runs were drawn anew."""
    others: list[Possible]
    """What else could come out, farthest from the answer first."""
    stops: list[str]
    """Changes of the model under which the program could not run so."""
    gain: GainBetween | None
    """Null if fewer than 8 iterations tell, or of a program without them repetitions."""
    costs_ns: Natural
    """By how much the answer, and its gain, may be off nine times of ten, as costs that were fitted are known no better; apart from all
    the others."""
    drawn: bool = True
    """Whether it was asked to draw runs anew, and so looked for what repeats."""
    alone_ns: int | None = None
    """What it gains if each process has a processor of its own, as far as what repeats tells; null if each had one in the recorded run."""
    runs_ns: Natural = 0
    """How far another recording of the program may lie off to both sides, which one recording does not tell: assumed, 2 % of what is behind
    MPI_Init; included in `least_ns` and `most_ns`, in squares. 0 where nothing repeats, where all that does repeats exactly, and of three
    recordings or more.
    """


class Misfit(Record):
    """How the recording contradicts the model."""

    requests: Natural
    requests_lowered: Natural
    messages: Natural
    messages_lowered: Natural
    collectives: Natural
    collectives_lowered: Natural
    gaps: Natural
    gaps_lowered: Natural
    violations: Natural
    eager_after_all: Natural
    inner: Natural
    """Waits inside rooted collectives, taken to be for the last process that came before they ended."""
    held: Held | None
    """Null: nothing says that S of the model is too large."""
    doubts: list[Doubt]
    """What of it weighs on the critical path, most first."""


class Health(Record):
    """What is missing in a trace."""

    incomplete: bool
    """What is missing waits for nobody and delays nobody; the command exits with 4."""
    counts: Counts
    defects: dict[str, Positive]
    """Records that could not be used, by reason."""
    holes: dict[str, Positive]
    """What makes the trace incomplete, by name."""
    repairs: dict[str, Positive]
    """What was missing or wrong, and inferred from other records."""
    predicted: bool
    """The times are those of a prediction, not measured."""
    clock: Violations
    """How the times that were used break the clock condition."""
    recorded_clock: Violations
    """How the recorded times do, before a correction."""
    correction: Correction | None
    """Null if there was nothing to do."""
    off_ns: Natural
    """How long the measurement was switched off, all processes together."""
    own_clocks: Natural
    """Processes whose clocks differ though nobody measured how."""
    missing_ranks: list[Natural]
    """Ranks of which the trace has nothing though collectives had them for members: waiting for them cannot be told from transfer."""
    faults: list[str]
    """What could not be read, and where."""
    not_modelled: Share
    """Share of the processes' time in communication calls whose partners are unknown, and all of that of processes that logged nothing: no
    change alters them."""
    not_modelled_most: Share
    """The same of the process or thread of which it is largest, of those that logged anything."""
    calls_not_modelled: Natural
    """How many calls these are."""
    unreturned: str | msgspec.UnsetType = msgspec.UNSET
    """Only if some were: who was still in which calls when the run ended, in words."""
    ends_early: str | msgspec.UnsetType = msgspec.UNSET
    """Only if so: where the run is cut, as the records of some processes end there, in words."""
    left_out: str | msgspec.UnsetType = msgspec.UNSET
    """Only if so: which last steps of a training job are left out unasked, and why, in words."""
    stands_for: str | msgspec.UnsetType = msgspec.UNSET
    """Only if so: all iterations, which those of the part stand for, unasked, and how far they are alike, in words."""
    shared: str | msgspec.UnsetType = msgspec.UNSET
    """Only if some did: how many processes shared how many processors, in words."""


def to_json(document: Record) -> str:
    """Return a document as JSON, two blanks a level, fields in their order."""
    return json.dumps(msgspec.to_builtins(document), indent=2)
