"""What the document of `perwiz compare` holds. Of differences the reference is subtracted."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

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
)


class Run(Record):
    """One of the two runs."""

    trace: str
    """Path as given."""
    format: str
    made_by: str
    """How the times came about: measured, corrected, or predicted under hypotheses."""
    makespan_ns: Natural
    """From the common start to the last instant of any process."""
    whole_ns: Makespan
    start_ns: Natural
    """The common start, since the first instant of any process."""
    processes: Natural
    calls: Natural
    health: Health


class MaxError(Record):
    """The largest error of the makespan that was asked for."""

    asked: Cost
    """A part of the makespan of the reference."""
    missed: bool
    """The command exits with 5."""


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
    start: Annotated[str, Meta(pattern="^(start|init|e(0|[1-9][0-9]*))$")] = field(name="from")
    """The first instant of each run; when the last process has left MPI_Init; or when this call of the first trace returns."""
    difference_ns: int
    """Of the makespan."""
    difference: float | None
    """The same as a part of the makespan of the reference; null if that is 0 and the other is not."""
    max_error: MaxError | None
    """Null unless asked for, which is refused where the difference is no error."""
    locations: Locations
    calls: Calls
    processes: list[Process]
    regions: list[Region]
    steps: list[Step]
    routines: list[Routine]
    furthest: list[FurthestCall]
    """Those whose durations differ most, largest difference first."""
