"""Parts of the report of `perwiz patterns`: the efficiencies of a program with threads, multiplied and added."""

from __future__ import annotations

from perwiz import words
from perwiz.patterns.analysis.hybrid import hybrid
from perwiz.patterns.analysis.talp import talp, teams
from perwiz.report.patterns.records import Added, Factors, Hybrid
from perwiz.whatif.run import Run

MULTIPLIED = (
    ("parallel", "parallel"),
    ("  balance", "load_balance"),
    ("  communication", "communication"),
    ("    serialisation", "serialisation"),
    ("    transfer", "transfer"),
)
"""Titles and names of the factors."""
ADDED = (
    ("parallel", "parallel"),
    ("  processes", "processes"),
    ("    balance", "balance"),
    ("    communication", "communication"),
    ("      serialisation", "serialisation"),
    ("      transfer", "transfer"),
    ("  threads", "threads"),
    ("    serial parts", "serial"),
    ("    parallel regions", "regions"),
)
"""Titles and names of the efficiencies whose losses add up."""
_OF_MPI, _OF_OPENMP = ("mpi_parallel", "mpi_load_balance", "mpi_communication"), ("load_balance", "scheduling", "serialisation")
_TALP = ("parallel", *_OF_MPI, "omp_parallel", *(f"omp_{name}" for name in _OF_OPENMP), "device_offload")
_OF_DEVICES = ("device_parallel", "device_load_balance", "device_communication", "device_orchestration")
_TEAMS = ("parallel", "load_balance", "serialisation", "management")
"""Names of the efficiencies of TALP, on hosts and of devices, and of JSC."""
_ENOUGH = 0.8
"""An efficiency that counts as good."""


def document(run: Run) -> Hybrid | None:
    """Return the efficiencies by processes and threads; None if no process has several threads."""
    found = hybrid(run)
    if found is None:
        return None
    added = found.added
    return Hybrid(
        name=found.whole.name,
        whole=Factors(**{name: getattr(found.whole, name) for _, name in MULTIPLIED}),
        mpi=Factors(**{name: getattr(found.mpi, name) for _, name in MULTIPLIED}),
        threads=Factors(**{name: found.of_threads(name) for _, name in MULTIPLIED}),
        mpi_ideal_ns=found.mpi.ideal,
        added=None if added is None else Added(**{name: getattr(added, name) for _, name in ADDED}),
    )


def talp_document(run: Run) -> dict[str, float] | None:
    """Return the efficiencies as TALP states them, by name; None if no team of threads is told, and no device."""
    found = talp(run)
    if found is None or not (found.teams or found.kernels.any()):
        return None
    return {name: getattr(found, name) for name in (*_TALP, *(_OF_DEVICES if found.kernels.any() else ()))}


def teams_document(run: Run) -> dict[str, float] | None:
    """Return the efficiencies of parallel regions as JSC states them, by name; None if no team is told."""
    found = teams(run)
    return None if found is None else {name: getattr(found, name) for name in _TEAMS}


def lines(found: Hybrid) -> list[str]:
    """Return both tables."""
    out = [
        "",
        f"MPI and threads, {found.name}: all threads = MPI x threads; MPI sees what first threads do outside of its calls as useful",
    ]
    columns = found.whole, found.mpi, found.threads
    rows = [[title, *(shown(getattr(column, name)) for column in columns)] for title, name in MULTIPLIED]
    out += words.table(["factor", "all threads", "MPI", "threads"], rows)
    if found.added:
        out += ["", "the same added: what an efficiency loses is the sum of what those below it lose"]
        rows = [[title, shown(getattr(found.added, name))] for title, name in ADDED]
        out += words.table(["efficiency", "of the time"], rows)
    return out


def shown(value: float) -> str:
    """Return an efficiency in percent, marked if it is low."""
    return f"{100 * value:.1f} %{' !' if value < _ENOUGH else '  '}"
