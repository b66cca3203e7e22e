"""What the document of `perwiz patterns` is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from perwiz.patterns.analysis.counters import Scaling
from perwiz.report.records import (
    Call,
    Cost,
    Health,
    Location,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Option,
    Record,
    ReplayError,
    SharesOf,
    Span,
    TraceDocument,
    choice,
)

_GAIN = "How much shorter the run would be, replayed, if no call of the call sites with instances waited; null where nothing waits."
_WAITS = "How long all calls of those call sites wait under the model, in this and other patterns: what the gain is of; null without one."
SitesWait = Annotated[Natural | None, Meta(description=_WAITS)]
Gain = Annotated[int | None, Meta(description=_GAIN)]
ProcessTimes = Annotated[dict[str, int], Meta(extra_json_schema={"required": ["rank", "thread", "time_ns", "mpi_ns"]})]
"""Rank and thread, and times under the names of metrics and _ns."""


class MetricTotal(Record):
    """A metric."""

    name: str
    """Unique name, of Scalasca where it has the metric."""
    title: str
    parent: str | None
    unit: Annotated[str, choice("ns", "bytes", "occ")]
    meaning: str
    total: int
    share: float | None
    """Of times: part of all processes' time; both from when the last process has left MPI_Init, if the trace shows it; null for others,
    those of causes, and what lies in MPI_Init."""
    instances: int | None
    """Null for what needs no search."""
    sites_wait_ns: SitesWait
    gain_ns: Gain
    change: Option | None
    """What has this gain; null where there is none, and where no text says it."""


class WaitingPath(Record):
    """A pattern on a call path."""

    pattern: str
    title: str
    call_path: str
    """Of threads and streams without work that of what their process does meanwhile."""
    severity_ns: Natural
    instances: Natural
    """At calls of this call path: 0 where these are others, as of idle threads."""
    worst: Location
    worst_ns: Natural
    sites_wait_ns: SitesWait
    gain_ns: Gain
    change: Option | None
    """What has this gain; null where there is none, and where no text says it."""


class Instance(Call):
    """A call that waits by a pattern."""

    pattern: str
    severity_ns: Natural
    cause: Call | None


class Statistics(Record):
    """How severe the instances of a pattern are, of all of them; null if there is none."""

    pattern: str
    title: str
    count: Natural
    sum_ns: Natural
    mean_ns: float | None = None
    median_ns: float | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    variance_ns2: float | None = None
    q25_ns: float | None = None
    q75_ns: float | None = None


class CostlyPath(Record):
    """A call path, and what it costs others."""

    call_path: str
    """On the side of those who came late."""
    cost_ns: Natural
    """Waiting of others that comes from it: short and long term."""
    short_term_ns: Natural
    """Of those who waited for it."""
    long_term_ns: Natural
    """Of those who waited for them in turn."""
    worst: Location
    worst_ns: Natural
    patterns: dict[str, Natural]
    """The cost by the pattern of the waits."""


class Causes(Record):
    """What the waiting comes from."""

    waiting_ns: Natural
    """Of all wait states that have a cause."""
    explained_ns: Natural
    """The sum of all delay costs."""
    idle_in_init_ns: Natural
    """What threads and streams are idle while their process is in MPI_Init: percentages are without it."""
    call_paths: list[CostlyPath]
    """Those that cost most."""
    more_call_paths: Natural
    """Those that are left out: -n lists more."""
    critical_path_ns: Natural
    """Length of the critical path of the recording."""
    critical_path_changes: Natural
    """How often it changes process or thread."""
    critical_path_imbalance_ns: Natural
    """What it has above the mean of all processes."""
    indirect_ns: Natural
    """Waits for messages of processes that had to wait themselves."""
    propagating_ns: Natural
    """Waits for messages that make others wait for messages."""


class Efficiencies(Record):
    """POP efficiencies of a part of the run."""

    name: str
    """program, MPI_Init to MPI_Finalize, or a call path."""
    region: bool
    """It is a region of the first level that has several."""
    time_ns: Natural
    """From the first to the last instant; of a region the longest of all processes."""
    ideal_ns: int
    """The same, replayed on an ideal network: MPI calls and messages take no time."""
    mean_useful_ns: Cost
    """Computation of a process."""
    max_useful_ns: Natural
    load_balance: Cost
    """mean_useful / max_useful."""
    serialisation: float
    """max_useful / ideal."""
    transfer: float
    """ideal / time."""
    communication: Cost
    """max_useful / time."""
    parallel: Cost
    """mean_useful / time."""
    ipc: Cost | None = None
    """Instructions per cycle of computation; this and the two below null where these were not counted."""
    frequency_ghz: Cost | None = None
    """Cycles per ns of computation."""
    instruction_balance: Cost | None = None
    """Mean of the instructions of a process in computation / the most of any."""
    estimated_ideal_ns: Natural | None = None
    """Ideal without a replay, of the program: each process's own time less its transfer."""


class Factors(Record):
    """POP efficiencies: parallel is the product of load balance and communication, that of serialisation and transfer."""

    parallel: Cost
    load_balance: Cost
    communication: Cost
    serialisation: float
    transfer: float


class Added(Record):
    """Efficiencies whose losses, 1 less the efficiency, add up to that of the one above (NAG's form of POP)."""

    parallel: float
    """Of processes and threads."""
    processes: float
    """Of balance and communication."""
    balance: float
    communication: float
    """Of serialisation and transfer."""
    serialisation: float
    transfer: float
    threads: float
    """Of serial and regions."""
    serial: float
    """Loses what threads are idle while the first one of their process computes alone (Amdahl)."""
    regions: float
    """Loses what threads do not compute in parallel regions."""


class Hybrid(Record):
    """POP efficiencies of a program with threads."""

    name: str
    """The part: MPI_Init to MPI_Finalize, or program."""
    whole: Factors
    """Of all threads: that of MPI times that of the threads."""
    mpi: Factors
    """Of processes: what the first thread does outside of MPI calls is useful."""
    threads: Factors
    """Of the threads, may be above 1."""
    mpi_ideal_ns: int
    """Replayed with MPI calls and messages that take no time."""
    added: Added | None
    """Null where parallel regions are not told."""


class Reference(Record):
    """How the run scales from another."""

    trace: str
    """Path as given."""
    processes: Natural
    computation_ns: Natural
    """Of all processes."""
    computation_scaling: Cost
    """Computation of the reference / of this run, all processes together."""
    global_efficiency: Cost
    """Parallel efficiency of the program * computation_scaling."""
    counted: Scaling | None = None
    """Null if one of the runs did not count instructions and cycles."""


class MetahostWaits(Record):
    """Who waits for whom by a pattern: a row per metahost that waits, a column per metahost of the late process."""

    pattern: str
    title: str
    severity_ns: list[list[Natural]]
    instances: list[list[Natural]]


class Metahosts(Record):
    """Who waits for whom, by metahost."""

    names: list[str]
    patterns: list[MetahostWaits]


class PatternsDocument(TraceDocument, kw_only=True):
    """Wait states. Times are whole nanoseconds."""

    command: Literal["patterns"] = "patterns"
    makespan_ns: Makespan
    shares_of_ns: SharesOf
    waiting_ns: Natural
    """How long the calls of all patterns of perwiz wait, all processes together; of several waits in one call the longest."""
    model_waiting_ns: Natural
    """How long all calls wait under the model, as in perwiz info, predict and domino."""
    bound_ns: Natural
    """Makespan, replayed, if no call waited: --zero-wait all."""
    bound_span: Span | None
    """Null where several processes tell."""
    best_span: Span | None
    """Of the first of `call_paths`; null if that gains nothing, or no option of perwiz predict names its calls, and where several tell."""
    of: str | None
    """The pattern asked for."""
    metrics: list[MetricTotal]
    """In the order of their tree; those that are 0 everywhere left out."""
    call_paths: list[WaitingPath]
    """By gain, then by severity."""
    more_call_paths: Natural
    """Those that are left out: -n lists more."""
    instances: list[Instance]
    """The most severe."""
    more_instances: Natural
    statistics: list[Statistics]
    causes: Causes | None
    """Null with --no-causes."""
    efficiencies: list[Efficiencies]
    """Of the program, of its part between MPI_Init and MPI_Finalize, and of regions, the longest first; empty with --no-causes."""
    hybrid: Hybrid | None
    """Null if no process has several threads, and with --no-causes."""
    talp: dict[str, float] | None
    """Efficiencies as TALP of DLB states them (model hybrid v2): parallel, which is no product; mpi_parallel = mpi_load_balance x
    mpi_communication; omp_parallel = omp_load_balance x omp_scheduling x omp_serialisation; device_offload; where devices do something
    device_parallel = device_load_balance x device_communication x device_orchestration. Null if no process has teams of threads or a
    device, and with --no-causes."""
    teams: dict[str, float] | None
    """Efficiencies of parallel regions as JSC states them, means of the processes; of each parallel = load_balance x serialisation x
    management. Null if no team of threads is told, and with --no-causes."""
    reference: Reference | None
    """The run given as --reference."""
    processes: list[ProcessTimes]
    metahosts: Metahosts | None
    """Null if there is one metahost."""
    failures: list[str]
    """Patterns of one's own that raised: file, line and reason."""
    eager_late_receivers: Natural
    """Late receivers whose messages hold up no sender by the model."""
    replay_error_ns: ReplayError
    model: Model
    machine: Machine
    misfit: Misfit
    health: Health

    @property
    def titles(self) -> dict[str, str]:
        """Return the titles of the metrics by name."""
        return {metric.name: metric.title for metric in self.metrics}
