"""Programs compiled, run and recorded: each variant several times, of which the median counts."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from perwiz.errors import PerwizError, UsageError
from perwiz.formats.files import read
from perwiz.record import build
from perwiz.trace import operations
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.predict import Prediction, predict
from perwiz.whatif.sure.logged import Pair

HERE = pathlib.Path(__file__).resolve().parent
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_OPEN = ("--oversubscribe", "--mca", "mpi_yield_when_idle", "1")
"""What Open MPI needs to run more processes than there are processors; those that wait let others run."""

HYBRID = "hybrid/"
"""Programs in this folder have threads, which are recorded, too."""
_OF_HYBRID = {"OMP_WAIT_POLICY": "passive"}
"""Threads that wait let others run."""
_CLANG = {"OMPI_CC": "clang", "MPICH_CC": "clang"}
"""LLVM's compiler has a runtime that tells of threads. The recorder is made by whatever compiler the MPI has."""

_NOISY = 0.005
"""A variant is run more often if its median is above its shortest run by more than this part."""


def span(trace: Trace, timeline: Timeline) -> int:
    """Return ns from the barrier at the begin, when the first process leaves it, until the last enters the one at the end."""
    barriers = trace.calls.op == operations.OP["MPI_Barrier"]
    return int(timeline.calls.enter[barriers].max() - timeline.calls.leave[barriers].min())


@dataclasses.dataclass(frozen=True, eq=False)
class Recording:
    """One recorded run."""

    trace: Trace
    elapsed: int
    """ns the program says it has taken."""

    @property
    def span(self) -> int:
        """What the recording says, ns."""
        return span(self.trace, self.trace.timeline)


@dataclasses.dataclass(frozen=True, eq=False)
class Runs:
    """Runs of one variant of a program."""

    variant: str
    """Program and arguments."""
    recordings: tuple[Recording, ...]
    """Shortest first."""

    @property
    def spans(self) -> list[int]:
        """ns of each run."""
        return [recording.span for recording in self.recordings]

    @property
    def time(self) -> int:
        """Median, ns."""
        return int(statistics.median(self.spans))

    @property
    def middle(self) -> Trace:
        """Return the run that took the median time, or of two the shorter one."""
        return self.recordings[(len(self.recordings) - 1) // 2].trace

    @property
    def noise(self) -> float:
        """Half the distance from the shortest to the longest run, as a part of the median."""
        return (self.spans[-1] - self.spans[0]) / 2 / self.time

    @property
    def excess(self) -> float:
        """How far the median is above the shortest run, as a part of that: other work only makes runs longer."""
        return self.time / self.spans[0] - 1

    def document(self) -> dict[str, object]:
        """Return all figures."""
        elapsed = [recording.elapsed for recording in self.recordings]
        return {"variant": self.variant, "median_ns": self.time, "runs_ns": self.spans, "noise": self.noise, "program_says_ns": elapsed}


class Lab:
    """Compiles programs and records their runs, each variant once however often it is asked for."""

    def __init__(self, folder: pathlib.Path, mpiexec: str, times: int, otf2: bool = False) -> None:
        """`otf2`: recordings are converted to OTF2, and read from there."""
        self.folder, self.times, self.otf2 = folder, times, otf2
        self.mpiexec = shutil.which(mpiexec) or mpiexec
        self.mpicc = _beside(self.mpiexec)
        text = subprocess.run([self.mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
        self.mpi = next((line for line in text.splitlines() if re.search(r"open|hydra|version", line, re.IGNORECASE)), "MPI").strip()
        self._options = _OPEN if "open" in text.lower() else ()
        self._runs: dict[tuple[str, ...], Runs] = {}
        self.count = 0

    def runs(self, program: str, ranks: int, *variants: Sequence[str]) -> list[Runs]:
        """Return the runs of some variants of a program, interleaved, so that what disturbs one disturbs all.

        Variants that seem disturbed, as their median is well above their shortest run, are run up to twice as often.
        """
        keys = [(program, str(ranks), *words) for words in variants]
        new = [key for key in dict.fromkeys(keys) if key not in self._runs]
        found: dict[tuple[str, ...], list[Recording]] = {key: [] for key in new}
        for _ in range(self.times):
            for key in new:
                found[key].append(self._record(program, ranks, key[2:]))
        for _ in range(self.times):
            for key in new:
                if len(found[key]) > 1 and _runs(key, found[key]).excess > _NOISY:
                    found[key].append(self._record(program, ranks, key[2:]))
        self._runs |= {key: _runs(key, found[key]) for key in new}
        return [self._runs[key] for key in keys]

    def _record(self, program: str, ranks: int, words: Sequence[str]) -> Recording:
        self.count += 1
        folder = self.folder / f"{pathlib.Path(program).name}-{self.count}"
        launch = [self.mpiexec, *self._options, "-n", str(ranks), self._compiled(program), *words]
        threads = ["--openmp"] if program.startswith(HYBRID) else []
        command = [sys.executable, "-m", "perwiz", "record", "-o", str(folder), *threads, "--mpicc", self.mpicc, "--", *launch]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment(program))
        elapsed = re.search(r"^elapsed ([0-9.]+)$", done.stdout, re.MULTILINE)
        if done.returncode or not elapsed:
            raise PerwizError(f"{' '.join(command)}: ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        return Recording(read(self._archive(folder) if self.otf2 else str(folder)), round(float(elapsed[1]) * 1e9))

    def _archive(self, folder: pathlib.Path) -> str:
        archive = folder.with_name(f"{folder.name}-archive.otf2")  # beside it comes a folder of that name
        command = [sys.executable, "-m", "perwiz", "convert", str(folder), str(archive)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PerwizError(f"{' '.join(command)}: ended with {done.returncode}: {done.stderr.strip()}")
        return str(archive)

    def _compiled(self, program: str) -> str:
        out = self.folder / pathlib.Path(program).name
        if not out.exists():
            source = str(HERE / f"{program}.c")
            threads = ["-fopenmp"] if program.startswith(HYBRID) else []
            command = [self.mpicc, "-O1", "-g", *threads, f"-I{build.HERE}", source, "-o", str(out)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=_environment(program) | (_CLANG if threads else {})
            )
            if done.returncode:
                raise UsageError(f"{source}: cannot be compiled: {done.stderr.strip()}")
        return str(out)


def _environment(program: str) -> dict[str, str]:
    return os.environ | _AS_ROOT | (_OF_HYBRID if program.startswith(HYBRID) else {})


def _runs(key: tuple[str, ...], recordings: Sequence[Recording]) -> Runs:
    return Runs(" ".join([key[0], *key[2:]]), tuple(sorted(recordings, key=lambda one: one.span)))


def _beside(mpiexec: str) -> str:
    """Return the compiler of the same MPI: mpiexec.mpich has mpicc.mpich beside it."""
    path = pathlib.Path(mpiexec)
    found = path.with_name(path.name.replace("mpiexec", "mpicc").replace("mpirun", "mpicc"))
    if not path.exists() or not found.exists():
        raise UsageError(f"{mpiexec}: no such launcher, or no mpicc beside it; see --mpiexec")
    return str(found)


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a prediction says the time will be, ns, and between which times it lies."""

    time: int
    least: int
    most: int


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """A question about the program before, and what came of the change."""

    question: str
    kind: str
    """made: the hypothesis is the change that was made; promise: it is about waits, and the change is one that may remove them."""
    expected: Expected
    measured: int
    noise: float
    both: tuple[Runs, Runs] | None = None
    """Before and after, if the question can be asked of every recording before."""
    hypotheses: tuple[str, ...] = ()

    def pairs(self) -> list[Pair]:
        """Return the question asked of every recording before, beside every run after."""
        if self.both is None:
            return []
        before, after = self.both
        answers = [expected(asked(recording.trace, self.hypotheses)) for recording in before.recordings]
        return [
            Pair(before.variant, after.variant, self.hypotheses, told.time, measured, told.least, told.most)
            for told in answers
            for measured in after.spans
        ]

    @property
    def error(self) -> float:
        """Predicted less measured, as a part of measured."""
        return self.expected.time / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether what was measured lies where the prediction says it does."""
        return self.expected.least <= self.measured <= self.expected.most

    def document(self) -> dict[str, object]:
        """Return all figures."""
        told = {"predicted_ns": self.expected.time, "least_ns": self.expected.least, "most_ns": self.expected.most}
        names = {"measured_ns": self.measured, "error": self.error, "noise": self.noise, "inside": self.inside}
        return {"question": self.question, "kind": self.kind, **told, **names}


def row(kind: str, before: Runs, after: Runs, hypotheses: Sequence[str], told: str = "") -> Row:
    """Return what was predicted from the median run before, beside the median after."""
    answer = expected(asked(before.middle, hypotheses))
    return Row(told or "; ".join(hypotheses), kind, answer, after.time, after.noise, (before, after), tuple(hypotheses))


def expected(prediction: Prediction) -> Expected:
    """Return what a prediction says between the barriers; what can be otherwise of the makespan can be otherwise there."""
    time = span(prediction.trace, prediction.predicted)
    outside = prediction.predicted.makespan - time
    return Expected(time, prediction.span.least - outside, prediction.span.most - outside)


def asked(trace: Trace, hypotheses: Sequence[str]) -> Prediction:
    """Return a prediction, told nothing of the machine; its timeline is over the rows of the recorded calls."""
    return predict(trace, list(hypotheses))


def region_of(trace: Trace, call: int) -> str:
    """Return the name of the region a call was made in."""
    path = int(trace.calls.path[call])
    return trace.names[trace.paths.region[path]] if path >= 0 else ""


def calls_of(trace: Trace, process: int) -> list[int]:
    """Return the rows of the calls of a process, in their order."""
    return np.flatnonzero(trace.locations.process[trace.calls.location] == process).tolist()
