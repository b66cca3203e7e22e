"""The report of `perwiz doctor`: a JSON document, and the text made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from perwiz import words
from perwiz.report.records import Document, Record, choice

PARTS = {
    "python": "perwiz itself and the Python it runs in",
    "kernels": "the compiled loops of perwiz",
    "processors": "how many of them may be used",
    "memory": "how much of it is left",
    "cache": "where recorders are kept that are compiled when first used",
    "mpi": "launchers and compilers of MPI and OpenSHMEM",
    "recorder": "perwiz record, for each MPI and for programs without",
    "openmp": "perwiz record --openmp for programs of GCC",
    "counters": "perwiz record --counters",
    "otf2": "traces of Score-P and others in OTF2",
    "pictures": "--plot",
    "page": "perwiz report",
    "parquet": "tables of the operations of training jobs",
    "tables": "tables as Arrow data, for pandas, polars and pyarrow",
    "mpi4py": "perwiz info, correct, predict, domino and patterns under mpiexec",
    "jobs": "perwiz jobs on a PostgreSQL server",
    "graph": "graphs for networkx",
    "terminal": "how reports are shown",
}
"""What is looked at, in the order of the report, and what it is for."""
NEEDED = ("python", "kernels", "processors", "memory")
"""Without these nothing works; the others are for those who ask for them."""
WORKS, LIMITED, MISSING = "works", "limited", "missing"


class Finding(Record):
    """What was found of a part; there are several where there are several MPIs."""

    part: Annotated[str, choice(*PARTS)]
    state: Annotated[str, choice(WORKS, LIMITED, MISSING)]
    says: str
    """What is there, and what is not."""
    do: str = ""
    """What helps; empty where nothing is to be done."""


class DoctorDocument(Document, kw_only=True):
    """What of perwiz works on this machine, and what to do about the rest."""

    command: Literal["doctor"] = "doctor"
    perwiz: str
    """Its version."""
    python: str
    system: str
    asked: list[Annotated[str, choice(*PARTS)]]
    """The parts that must work; all that are needed for anything if none were named."""
    works: bool
    """Whether none of them is missing."""
    findings: list[Finding]


def document(found: Sequence[Finding], asked: Sequence[str], perwiz: str, python: str, system: str) -> DoctorDocument:
    """Return the document on what was found. A part that was found several times works if one of them does."""
    must = [*dict.fromkeys(asked)] or [*NEEDED]
    works = all(any(one.part == part and one.state != MISSING for one in found) for part in must)
    return DoctorDocument(perwiz=perwiz, python=python, system=system, asked=must, works=works, findings=[*found])


def text(document: DoctorDocument) -> str:
    """Return the document as text: the answer, then a line for each finding."""
    title = f"perwiz {document.perwiz}, Python {document.python}, {document.system}"
    states = {part: [one.state for one in document.findings if one.part == part] for part in PARTS}
    groups = {WORKS: [part for part, found in states.items() if WORKS in found]}
    groups[LIMITED] = [part for part, found in states.items() if found and WORKS not in found and LIMITED in found]
    groups[MISSING] = [part for part, found in states.items() if found and {*found} == {MISSING}]
    pairs = [(state, ", ".join(parts)) for state, parts in groups.items() if parts]
    if not document.works:
        lacking = [part for part in document.asked if part in groups[MISSING]]
        pairs.insert(0, ("asked for", f"missing: {', '.join(lacking)}"))
    lines = [(one.part, f"{one.state}: {one.says}{f'; {one.do}' if one.do else ''}") for one in document.findings]
    return "\n\n".join([title, "\n".join(words.facts(pairs)), "\n".join(words.facts(lines))])
