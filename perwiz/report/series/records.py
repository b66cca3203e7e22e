"""What the document of `perwiz series` is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from perwiz.patterns.analysis import series, threshold
from perwiz.report.records import Cost, Document, Natural, Positive, Record, Share, choice

Ratio = Annotated[float, Meta(gt=0)]
"""1 where nothing is lost or gained."""
Figure = Annotated[str, choice(threshold.TIME, *series.MULTIPLIED, *series.COUNTED)]


class Recording(Record):
    """A recording of a point."""

    trace: str
    """Path as given."""
    time_ns: Positive
    incomplete: bool
    holes: dict[str, Positive]
    """What makes the trace incomplete, by name."""


class Point(Record):
    """Recordings of one size or label. All but `recordings`, `least_ns` and `most_ns` is of the one of median time."""

    label: str
    trace: str
    """The recording of median time."""
    recordings: list[Recording]
    least_ns: Positive
    """Time of the soonest recording."""
    most_ns: Positive
    processes: Positive
    threads: Positive
    """All of them, first threads too; what is said of processes is said of these if there are more."""
    idle: Natural
    """Threads that compute less than a tenth of what the busiest computes."""
    time_ns: Positive
    """From when the last process has left MPI_Init until the last enters MPI_Finalize; of the whole program without MPI_Init."""
    ideal_ns: Natural
    """On an ideal network."""
    useful_ns: Positive
    """Computation, all processes together."""
    max_useful_ns: Positive
    """Of any process."""
    global_efficiency: Cost
    """Parallel efficiency x computation scaling."""
    parallel: Cost
    """Load balance x communication."""
    load_balance: Cost
    communication: Cost
    """Serialisation x transfer."""
    serialisation: Cost
    transfer: Cost
    computation_scaling: Ratio
    """Computation of the reference / of this run, times the work ratio in weak scaling."""
    instruction_scaling: Ratio | None
    """Null where one of both runs lacks counters."""
    ipc_scaling: Ratio | None
    frequency_scaling: Ratio | None
    ipc: Ratio | None
    frequency_ghz: Ratio | None
    instructions: Ratio | None
    ideal_speedup: Ratio
    """Processes by those of the reference."""
    speedup: Ratio
    """Time of the reference / of this run; of the work done in weak scaling."""


class Factor(Record):
    """A factor of the speed-up of the last point."""

    name: Figure
    factor: Ratio
    """By that of the reference."""
    longer: float
    """1 / factor - 1: how much longer than ideally the run takes for it."""


class CallPath(Record):
    """What a call path, without what is below it, takes of the time: mean of all processes."""

    call_path: str
    expected_ns: Cost
    """In the reference, as it would be with the ideal speed-up."""
    time_ns: Cost
    lost_ns: float
    """How much longer; of all call paths together the distance from the ideal speed-up."""


class Check(Record):
    """A figure of the last point against what it may lose."""

    figure: Figure
    longer: float
    """How much longer than ideally the run takes for it."""
    noise: Cost | None
    """How much may be chance; null where nothing tells."""
    missed: bool


class MaxLoss(Record):
    """The loss asked for by --max-loss."""

    asked: Cost
    missed: bool
    checks: list[Check]


class MinEfficiency(Record):
    """The parallel efficiency asked for by --min-efficiency."""

    asked: Share
    missed: bool


class Differences(Record):
    """What of the program only the reference or only the last point has."""

    regions_reference: list[str]
    regions_last: list[str]
    routines_reference: list[str]
    routines_last: list[str]


class Unread(Record):
    """A recording that could not be used."""

    trace: str
    why: str


class SeriesDocument(Document, kw_only=True):
    """Recordings of one program at several sizes or of several commits, how it scales and where that is lost. Times are nanoseconds."""

    command: Literal["series"] = "series"
    kind: Annotated[str, choice(series.STRONG, series.WEAK, series.HISTORY)]
    reference: str
    """Label of the point that all are compared with."""
    points: Annotated[list[Point], Meta(min_length=2)]
    """Smallest first; in a history in the order given."""
    factors: list[Factor]
    """Of the last point: load balance, serialisation, transfer and computation make up its speed-up by the ideal one; those behind
    computation, with counters, are its own."""
    noise: Cost | None
    """How much longer the last point may take than the reference by chance; null where nothing tells."""
    noise_from: Annotated[str, choice("recordings", "runs drawn", "not drawn", "")]
    """What tells it: the spread of recordings of both, or runs drawn of one each; nothing as none were drawn, or as too little repeats."""
    doubt: str
    """Why the last point and the reference may not be what they are taken for; empty if nothing says so."""
    call_paths: list[CallPath]
    """Of the last point, those that lose most first."""
    differences: Differences
    unread: list[Unread]
    max_loss: MaxLoss | None
    """Null if not asked for, or not checked because a recording could not be read."""
    min_efficiency: MinEfficiency | None
    next: str
    """The command that says more on the largest loss; empty if nothing is lost."""
