"""What the documents of `perwiz jobs` are made of: typed records, from which their JSON, its schema and the text come.

Rows of the table of 13 columns, and what they add up to, are records in `table`; so is the diagnosis in `diagnosis`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from perwiz.jobs.store.query import Reference
from perwiz.jobs.views.diagnosis import Diagnosis
from perwiz.jobs.views.table import Row, Seconds, Split
from perwiz.report.records import RESERVED, Document, Natural, Positive, Record, Share

Instant = Annotated[str, Meta(description="ISO 8601, UTC.")]
JobName = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
CpuTime = Annotated[Seconds, Meta(description="From MPI_Init to MPI_Finalize, times processes.")]
Mean = Annotated[float, Meta(ge=0)]


class JobSums(Record, kw_only=True):
    """Sums over jobs."""

    name: Annotated[str | UnsetType, RESERVED] = UNSET
    jobs: Natural
    processes: Natural
    processes_per_job: Mean
    processes_weighted: Mean
    """Average, weighted by CPU time."""
    cpu_s: Seconds
    mpi_s: Seconds


class ClassSums(JobSums, kw_only=True):
    """Sums over the jobs of a class."""

    name: str


class Switch(Record):
    """A switch of the MPI, and the jobs in which it was set."""

    name: str
    jobs: Natural


class User(Record):
    """What a user has used."""

    name: str
    jobs: Natural
    processes: Natural
    cpu_s: Seconds
    mpi_s: Seconds


class TopUsers(Record):
    """How few users consumed a part of the CPU time."""

    part: Share
    users: Natural


class Job(Record):
    """What a list says of a job."""

    job: JobName
    machine: str
    host: str
    pid: int
    user: str
    program: str
    size: Positive
    language: str
    library: str
    """Name and version of the MPI."""
    init: Instant
    finalize: Instant
    elapsed_s: Seconds
    cpu_s: CpuTime
    mpi_s: Seconds
    overhead_s: Seconds
    diagnosis: Diagnosis


class Fault(Record):
    """A record that could not be used."""

    seen: Instant
    place: str
    reason: str
    text: str


class Interval(Record):
    """From when until before when; null: of all time."""

    label: str
    begin: Instant | None = field(name="from")
    end: Instant | None = field(name="to")


class JobsDocument(Document, kw_only=True):
    """A report on jobs. Times are seconds, summed over processes, but elapsed_s."""

    command: Literal["jobs"] = "jobs"
    report: str
    database: str
    """File or URL, without password."""


class PeriodDocument(JobsDocument, kw_only=True):
    """A period of a user or of a machine."""

    report: Literal["month", "user"]
    period: Interval
    first_init: Instant | None
    last_finalize: Instant | None
    choice: dict[str, Any]
    """What restricts the jobs, by name."""
    benchmark: str
    jobs: Natural
    processes: Natural
    processes_per_job: Mean
    processes_weighted: Mean
    """Average, weighted by CPU time."""
    cpu_s: Seconds
    mpi_s: Seconds
    overhead_s: Seconds
    available_s: Seconds | None
    routines: Natural
    pmpi_jobs: Natural
    split: Split
    diagnosis: Diagnosis
    before: JobSums | None
    """The period before; null without jobs."""
    languages: list[ClassSums]
    sizes: list[ClassSums]
    cpu_times: list[ClassSums]
    groups: list[ClassSums]
    switches: list[Switch]
    user_count: Natural
    users: list[User]
    top: list[TopUsers]
    critical: list[Job]
    unusable: Natural
    table: list[Row]

    def classes(self) -> dict[str, list[ClassSums]]:
        """Return the classes of jobs by what they are of."""
        return {"language": self.languages, "processes": self.sizes, "CPU time": self.cpu_times, "routines of group": self.groups}


class JobDocument(JobsDocument, kw_only=True):
    """One job."""

    report: Literal["job"] = "job"
    benchmark: str
    job: JobName
    machine: str
    host: str
    pid: int
    user: str
    program: str
    size: Positive
    language: str
    library: str
    """Name and version of the MPI."""
    init: Instant
    finalize: Instant
    elapsed_s: Seconds
    cpu_s: CpuTime
    mpi_s: Seconds
    overhead_s: Seconds
    split: Split
    diagnosis: Diagnosis
    reference: Reference | None
    """Null without other jobs of its program, size and machine."""
    environment: dict[str, str]
    threads: Natural | None
    counters: dict[str, tuple[float, float]]
    """Averages of the processes, outside and inside MPI."""
    message_sizes: dict[str, str]
    table: list[Row]


class ListDocument(JobsDocument, kw_only=True):
    """A list of jobs."""

    report: Literal["top"] = "top"
    benchmark: str
    jobs: list[Job]


class FaultsDocument(JobsDocument, kw_only=True):
    """What could not be used."""

    report: Literal["faults"] = "faults"
    count: Natural
    faults: list[Fault]


class IngestDocument(JobsDocument, kw_only=True):
    """What came of records."""

    report: Literal["ingest"] = "ingest"
    added: Natural
    known: Natural
    unusable: Natural
    files: Natural
    unknown_routines: list[str]


Report = PeriodDocument | JobDocument | ListDocument | FaultsDocument
