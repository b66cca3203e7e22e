"""What the document of `perwiz compare` holds. Of differences the reference is subtracted."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType, field

from perwiz.patterns.analysis.counters import Scaling
from perwiz.report.records import (
    RESERVED,
    Call,
    CallId,
    Cost,
    Document,
    Health,
    Location,
    Machine,
    Makespan,
    Model,
    Natural,
    Positive,
    Record,
    RegionPath,
    Span,
    choice,
)
from perwiz.whatif.compare.reasons import REPLAY
from perwiz.whatif.limits.critical import KINDS


class Run(Record, kw_only=True):
    """One of the two runs."""

    trace: str
    """Path as given."""
    format: str
    made_by: str
    """How the times came about: measured, corrected, or predicted under hypotheses."""
    part: str | UnsetType = UNSET
    """Only if a part of the run is compared: which iterations, such as iterations 10..90."""
    makespan_ns: Natural
    """Of what is compared: from one instant to another, by default to the end of the run."""
    whole_ns: Makespan
    start_ns: Natural
    """The instant from which it is compared, since the first of any process."""
    processes: Natural
    calls: Natural
    health: Health


class MaxError(Record):
    """The largest error of the makespan that was asked for."""

    asked: Cost
    """A part of the makespan of the reference."""
    missed: bool
    """The command exits with 5."""


class Predicted(Record):
    """Whether the other run takes as long as predicted: from the last return of MPI_Init to the last entry of MPI_Finalize, as far as both
    runs show them. The start of processes and the end are other times in each run of the same: no span is about them.
    """

    predicted_ns: Natural
    measured_ns: Natural
    span: Span
    """Of that part of the run."""
    outside_ns: int
    """How far the measured time lies behind the latest predicted, or before the earliest (negative); 0 inside."""


class Apart(Record):
    """How far two runs of the same program lie apart, from the last return of MPI_Init to the last entry of MPI_Finalize."""

    difference_ns: int
    """By how much the second lasts longer there."""
    most_ns: Natural
    """By so much two runs of the same differ at most, as far as what repeats in these tells."""
    differ: Cost
    """Part by which recordings differ though nothing that repeats tells it: assumed."""
    within: bool
    """Whether the difference is no larger: then chance may be all of it, and nothing need have changed."""


class Locations(Record):
    """Processes and threads that both traces have, or one."""

    both: Natural
    only_first: Natural
    only_second: Natural


class Spread(Record):
    """Of the absolute differences of the compared calls; values that occur, 0 without calls."""

    median_ns: Natural
    percentile_95_ns: Natural
    worst_ns: Natural


class Calls(Record):
    """Which calls are the same, and how far they are off."""

    same: Natural
    """Calls of the one trace that are calls of the other."""
    moved: Natural
    """Those of them that lie at another place among the calls of their process."""
    elsewhere: Natural
    """Those of them that are made from another user region."""
    only_first: Natural
    only_second: Natural
    compared: Natural
    """Those that are the same and not over before the start."""
    enter: Spread
    leave: Spread
    duration: Spread


class Process(Location):
    """When a process or thread of both traces ends, and how long it lasts."""

    end_first_ns: Natural
    end_second_ns: Natural
    end_difference_ns: int
    span_first_ns: Natural
    span_second_ns: Natural
    span_difference_ns: int


class RegionTime(Record, kw_only=True):
    """Time in a user region."""

    rank: Annotated[int | UnsetType, RESERVED] = UNSET
    thread: Annotated[int | UnsetType, RESERVED] = UNSET
    region: Annotated[str | UnsetType, RESERVED] = UNSET
    first_ns: Natural
    second_ns: Natural
    difference_ns: int
    first_instances: Natural
    second_instances: Natural


class ProcessTime(RegionTime, kw_only=True):
    """That of a process or thread."""

    rank: Natural
    thread: Natural


class Region(RegionTime, kw_only=True):
    """That of all processes together, and one by one."""

    region: str
    """From the outside in, joined by /."""
    processes: list[ProcessTime]


class Step(Record):
    """The k-th instance of a parallel region on every process, from the first enter to the last leave; null where a run lacks it."""

    region: str
    step: Positive
    first_ns: Natural | None
    second_ns: Natural | None
    difference_ns: int | None


class Routine(Record):
    """Time in all calls of a routine, the same or not."""

    routine: str
    first_calls: Natural
    second_calls: Natural
    first_ns: Natural
    second_ns: Natural
    difference_ns: int


class FurthestCall(Call):
    """A call that is the same, and how far it is off."""

    second_call: CallId
    moved: bool
    first_ns: Natural
    second_ns: Natural
    difference_ns: int
    enter_first_ns: Natural
    enter_second_ns: Natural
    enter_difference_ns: int
    leave_difference_ns: int


class Reason(Record, kw_only=True):
    """A part of the makespans: what it takes on the critical path of each run."""

    rank: Annotated[Natural | UnsetType | None, RESERVED] = UNSET
    thread: Annotated[Natural | UnsetType | None, RESERVED] = UNSET
    region: Annotated[str | UnsetType | None, RESERVED] = UNSET
    first_ns: int
    second_ns: int
    difference_ns: int


class PlaceReason(Reason, kw_only=True):
    """That of a place in the program."""

    kind: Annotated[str, choice(*KINDS, REPLAY)]
    """replay: what replaying a run misses of it."""
    routine: str | None
    """Null of computation."""
    region: RegionPath
    source: str | None
    """Where the calls are in the source of the first run."""
    rank: Natural | None
    """Where most of the difference lies."""
    thread: Natural | None
    there_first_ns: Natural
    """What it takes there in all, on the path or not: computation, or time in the calls, waits and all."""
    there_second_ns: Natural
    itself_ns: Natural
    """By how much that differs on the processes of either path, the absolute differences added up."""


class ProcessReason(Reason, kw_only=True):
    """That of a process or thread; null is what replaying misses."""

    rank: Natural | None
    thread: Natural | None


class StepReason(Reason, kw_only=True):
    """That of the k-th instance of a parallel region; null outside of any."""

    region: str | None
    step: Positive | None


class Reasons(Record):
    """What the makespans are made of. The differences of each list add up to that of the makespans; largest first."""

    places: list[PlaceReason]
    processes: list[ProcessReason]
    steps: list[StepReason]


class RenamedRegion(Record):
    """A region that the runs call otherwise: lines of the source, or numbers of outlined code, shifted."""

    first: str
    """As it is called here."""
    second: str
    """As it is called in the second run."""


class Unasked(Location):
    """Computation that says that the program changed otherwise than the question asks."""

    region: RegionPath
    recorded_ns: Natural
    predicted_ns: Natural
    measured_ns: Natural
    changed: bool
    """The program changed there, which was not asked; else it was asked, and did not come about."""
    chance: bool
    """Or another program had the processor: processes shared processors, or the computation varies as much in the recorded run."""


class OtherCalls(Record):
    """How often a routine is called, by a program that was to make the same calls."""

    routine: str
    predicted: Natural
    measured: Natural


class CompareDocument(Document, kw_only=True):
    """How far one run is from another. Times are whole nanoseconds since the common start; what lies before it counts nothing. first and
    second are the runs as they were named; a difference is the one run minus the reference.
    """

    command: Literal["compare"] = "compare"
    first: Run
    second: Run
    difference_is: Literal["error", "change"]
    """Where one run is a prediction, its error: the other is the reference. Else the change from the first run, the reference."""
    reference: Literal["first", "second"]
    hypotheses: list[str]
    """Under which the first trace was predicted here, as on the command line, without the two dashes."""
    model: Model | None
    machine: Machine | None
    """Null without hypotheses."""
    start: str = field(name="from")
    """start, the first instant of each run; init, when the last process has left MPI_Init; a call of the first trace, when it returns;
    common, when the first call of both runs is entered; or a region or routine, when the first process enters it."""
    stop: str = field(name="to")
    """end, the last instant of each run; a call, or common, when it or the last one returns; a region or routine, when the last process
    leaves it."""
    difference_ns: int
    """Of the makespan."""
    shares_of_ns: Natural
    """What percentages in the text are of: what is compared of the reference."""
    difference: float | None
    """The same as a part of the makespan of the reference; null if that is 0 and the other is not."""
    max_error: MaxError | None
    """Null unless asked for, which is refused where the difference is no error."""
    predicted: Predicted | None
    """Null without hypotheses (a trace does not hold the span of what it predicts), where less of the runs is compared, and where nothing
    tells how far another run may lie."""
    apart: Apart | None
    """Null of predictions, where less of the runs is compared, and where too little repeats in one of them to tell."""
    unasked: Unasked | None
    """Null without hypotheses, and if nothing says so."""
    other_calls: list[OtherCalls]
    """Routines that the measured program calls more or less often, though the hypotheses leave what it calls; largest difference first."""
    locations: Locations
    calls: Calls
    renamed: list[RenamedRegion]
    """Regions that are taken to be the same by what is left of their names and their order."""
    reasons: Reasons
    processes: list[Process]
    regions: list[Region]
    steps: list[Step]
    routines: list[Routine]
    furthest: list[FurthestCall]
    """Those whose durations differ most, largest difference first."""
    scaling: Scaling | None
    """How the computation of the second run scales from that of the first, from MPI_Init to MPI_Finalize where both are told, else of all
    the run; null if one of them did not count instructions and cycles."""
