"""Tasks of real programs that wait for tasks: what really waits for what, whichever thread does it."""

import shutil
import subprocess

import numpy as np
import pytest

import mpis
from perwiz.formats.recorded import read as recorded
from perwiz.record import openmp
from perwiz.trace import operations
from perwiz.trace.tables import TASKWAIT
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow
CREATE, TASK, WAIT, END = (operations.OP[f"omp_{name}"] for name in ("task_create", "task", "taskwait", "release"))


@pytest.fixture
def trace(built, record, monkeypatch):
    """Return run(kind): a trace of two threads, which both engines replay to the nanosecond."""
    if not shutil.which("clang") or not openmp.installed():
        pytest.skip("no clang with LLVM's libomp here (Debian: clang, libomp-dev)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    out = built / "tasks"
    if not out.exists():
        command = ["clang", "-fopenmp", "-O1", "-g", "-w", str(mpis.PROGRAMS / "tasks.c"), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)

    def run(kind):
        code, folder, _, said = record([str(out), kind], "--openmp")
        assert (code, said) == (0, "")
        made = recorded.read(folder)
        check(made)
        assert (len(made.defects), made.counts.lacking) == (0, {})
        for engine in ("sweep", "replay"):
            assert predict(made, [], engine=engine).predicted.calls == made.timeline.calls
        return made

    return run


def counts(trace):
    """Return how many tasks were created, begun and ended, and waits for them."""
    return [int((trace.calls.op == op).sum()) for op in (CREATE, TASK, END, WAIT)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("nested", [9, 9, 9, 4]), ("group", [2, 2, 2, 1]), ("undeferred", [4, 4, 4, 1]), ("loop", [4, 4, 4, 1]), ("needs", [3, 3, 3, 1])],
)
def test_tasks__all_that_is_told(trace, kind, expected):
    """Each task begins behind its creation, whoever does it; no wait for tasks returns before what it waits for has ended."""
    made = trace(kind)
    assert counts(made) == expected
    times, links = made.timeline.calls, made.links
    assert (times.enter[links.cause] <= times.leave[links.effect]).all()
    assert np.isin(made.calls.op[links.cause[links.kind == TASKWAIT]], END).all()


def test_untied__goes_on_elsewhere(trace):
    """Of six tasks three are untied and are left two or three times each: every part begins and ends."""
    created, begun, ended, _ = counts(trace("untied"))
    assert created == 6
    assert begun == ended > created
