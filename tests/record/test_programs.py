"""What the recorder says about real programs agrees with what they count themselves."""

import functools
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import mpis
from perwiz import cli
from perwiz.commands import calibrate
from perwiz.formats.recorded import read as recorded
from perwiz.record import build
from perwiz.trace import operations
from perwiz.whatif.health import health

pytestmark = pytest.mark.slow
WORKLOADS = [("halo", 6), ("farm", 4), ("groups", 5), ("uneven", 4), ("overlap", 4), ("probes", 4), ("onesided", 3), ("threads", 3)]


def whole(trace):
    counts = trace.counts
    lacking = (counts.unmatched_sends, counts.unmatched_receives, counts.incomplete_collectives, counts.unmatched_collectives)
    return (*lacking, counts.silent_processes, len(trace.defects)) == (0,) * 6


def agreeing(record, command):
    code, folder, printed, said = record(command)
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    assert mpis.counted(trace) == mpis.tallies(printed)
    assert whole(trace)
    return trace


@mpis.in_turn(("name", "ranks"), WORKLOADS)
def test_c__counts_agree(mpi, record, built, name, ranks):
    trace = agreeing(record, mpi.command(ranks, mpis.compiled(mpi.mpicc, "workloads.c", built), name))
    assert len(np.unique(trace.locations.process)) == ranks
    assert name in trace.names
    assert len(trace.site) == len(trace.calls)
    assert set(trace.site.tolist()) == set(range(len(trace.sites)))
    assert any(text.startswith("workloads.c:") for text in trace.sites) or not shutil.which("addr2line")
    CHECKS.get(name, lambda trace: None)(trace)


def check_halo(trace):
    assert [(topology.sizes, topology.periodic) for topology in trace.topologies] == [((3, 2), (True, False))]
    assert trace.topologies[0].coordinates.tolist() == [[k // 2, k % 2] for k in range(6)]
    assert trace.parallel[trace.names.index("step")]
    # The halos of five steps and one more: each rank to its two neighbours on the ring of three, and the one on the other side.
    assert len(trace.messages) == 6 * (5 * 3 + 1)
    assert (trace.messages.mode == 3).sum() == 5 * 3
    assert set(trace.communicators.names[1:]) == {"communicator 1"}


def check_farm(trace):
    asked = trace.calls.op == operations.OP["MPI_Recv"]
    first = trace.calls.location == 0
    assert set(trace.calls.peer[asked & first].tolist()) == {-2}
    assert set(trace.calls.tag[asked & first].tolist()) == {-2}
    assert len(trace.messages) == 2 * (30 + 3)


def check_groups(trace):
    members = [trace.communicators.members(c).tolist() for c in range(len(trace.communicators))]
    assert {tuple(one) for one in members} == {(0, 1, 2, 3, 4), (4, 2, 0), (3, 1), (0, 2, 4), (4, 2, 0, 3, 1), (3, 1, 4, 2, 0)}
    assert {"even ranks", "odd ranks"} <= set(trace.communicators.names)


def check_overlap(trace):
    assert trace.unfinished.call.tolist() == sorted(trace.unfinished.call.tolist())
    assert (trace.requests.completed_by >= 0).all()


def check_probes(trace):
    assert trace.requests.cancelled.sum() == 4
    assert {operations.OPS[op] for op in trace.calls.op[trace.messages.receive_done].tolist()} >= {
        "MPI_Mrecv",
        "MPI_Testsome",
        "MPI_Testany",
    }
    assert np.bincount(trace.messages.mode, minlength=4).tolist()[2:] == [2, 2 + 2 * 5]


def check_threads(trace):
    assert np.bincount(trace.locations.process).tolist() == [4, 4, 4]
    assert len(trace.messages) == 3 * 3 * 20


CHECKS = {
    "halo": check_halo,
    "farm": check_farm,
    "groups": check_groups,
    "overlap": check_overlap,
    "probes": check_probes,
    "threads": check_threads,
}


@mpis.in_turn()
def test_c__many_ranks(mpi, record, built):
    agreeing(record, mpi.command(16, mpis.compiled(mpi.mpicc, "workloads.c", built), "halo"))


@mpis.in_turn()
def test_cpp__counts_agree(mpi, record, built):
    """A heat equation in 20 steps; of five calls a step two or four are with MPI_PROC_NULL at the edges: no messages, nothing missing."""
    compiler = mpi.mpicc.replace("mpicc", "mpicxx")
    if not shutil.which(compiler) or not shutil.which("g++"):
        pytest.skip(f"no C++ compiler of {mpi.name}")
    code, folder, printed, said = record(mpi.command(3, mpis.compiled(compiler, "heat.cpp", built), "32", "20"))
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    inside = (trace.calls.path >= 0) | (trace.calls.op == operations.OP["MPI_Allreduce"])
    assert f"calls {inside.sum()} " in printed
    assert (len(trace.messages), len(trace.regions), trace.counts.to_nobody) == (20 * 4, 3 * 20, 20 * 4)
    assert whole(trace)
    assert health(trace).not_modelled < 0.01
    assert any(text.startswith("heat.cpp:") for text in trace.sites) or not shutil.which("addr2line")


def test_fortran__counts_agree(mpi, record, built):
    compiler = mpi.mpicc.replace("mpicc", "mpif90")
    if not shutil.which(compiler) or not shutil.which("gfortran"):
        pytest.skip(f"no Fortran compiler of {mpi.name}")
    trace = agreeing(record, mpi.command(4, mpis.compiled(compiler, "fortran.f90", built)))
    assert trace.names == ("level 2",)
    assert trace.parallel.all()
    assert len(trace.regions) == 4


def test_fortran_2008__counts_agree(mpi, record, built):
    compiler = mpi.mpicc.replace("mpicc", "mpif90")
    if not shutil.which(compiler) or not shutil.which("gfortran"):
        pytest.skip(f"no Fortran compiler of {mpi.name}")
    trace = agreeing(record, mpi.command(4, mpis.compiled(compiler, "fortran08.f90", built)))
    assert len(trace.messages) == 4 * 3


@mpis.in_turn(first=1)
def test_python__counts_agree(mpi, record):
    if not mpi.python:
        pytest.skip(f"no mpi4py of {mpi.name}")
    trace = agreeing(record, mpi.command(4, mpi.python, str(mpis.PROGRAMS / "objects.py")))
    assert len(trace.messages) == 4 * 4 + 3 + 4


@mpis.in_turn(first=1)
def test_chain__from_record_to_picture(mpi, record, built, tmp_path, capsys):
    code, folder, _, _ = record(mpi.command(4, mpis.compiled(mpi.mpicc, "workloads.c", built), "farm"))
    assert code == 0
    assert cli.main(["info", folder]) == 0
    assert "processes     4\n" in capsys.readouterr().out
    picture = tmp_path / "picture.svg"
    assert cli.main(["predict", folder, "--zero-wait", "all", "--plot", str(picture)]) == 0
    assert "replay        the unchanged run is exactly the recorded one" in capsys.readouterr().out
    assert picture.stat().st_size > 1000


def test_linked_in__needs_no_preloading(mpi, built, tmp_path, capsys):
    assert cli.main(["record", "--print-flags", "--mpicc", mpi.mpicc]) == 0
    flags = capsys.readouterr().out.split()
    assert pathlib.Path(flags[0]).name == "perwiz.o"
    program, source = str(tmp_path / "program"), str(mpis.PROGRAMS / "workloads.c")
    subprocess.run([mpi.mpicc, "-w", f"-I{build.HERE}", source, *flags, "-o", program], check=True, capture_output=True)
    settings = os.environ | {"PERWIZ_DIR": str(tmp_path / "run"), "PERWIZ_TOKEN": "t"}
    done = subprocess.run(mpi.command(4, program, "halo"), env=settings, check=True, capture_output=True, text=True)
    assert mpis.counted(recorded.read(str(tmp_path / "run"))) == mpis.tallies(done.stdout)


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="node-" suffix="" radical="0-63" speed="1Gf" bw="1GBps" lat="10us"/>
</platform>
"""


def simulated(folder, name, record):
    """Record 64 processes in a simulated cluster; return exit code and trace."""
    words = ["smpirun", "-np", "64", "-platform", "platform.xml", "-hostfile", "hosts", "--log=root.thres:critical"]
    words += ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0", str(folder / "app"), "halo"]
    code, out, printed, said = record(words)
    assert (code, said) == (0, "")
    os.rename(out, folder / name)
    return recorded.read(str(folder / name)), printed


def test_smpi__two_runs_are_the_same(record, built, tmp_path, monkeypatch):
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        pytest.skip("no SMPI: neither smpicc nor smpirun")
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    mpis.made("smpicc", built)
    (tmp_path / "platform.xml").write_text(PLATFORM, encoding="utf-8")
    (tmp_path / "hosts").write_text("".join(f"node-{k}\n" for k in range(64)), encoding="utf-8")
    recorder = str(build.built("smpicc", build.OBJECT))
    source = str(mpis.PROGRAMS / "workloads.c")
    words = ["smpicc", "-O1", "-g", "-w", f"-I{build.HERE}", source, recorder, "-pthread", "-o", str(tmp_path / "app")]
    subprocess.run(words, check=True, capture_output=True)
    (one, printed), (other, again) = (simulated(tmp_path, name, record) for name in ("one", "other"))
    assert whole(one)
    assert mpis.counted(one) == mpis.tallies(printed)
    assert printed == again
    assert one.timeline == other.timeline
    assert (one.calls, one.messages, one.sites) == (other.calls, other.messages, other.sites)
    assert one.site.tolist() == other.site.tolist()
    assert any(text.startswith("workloads.c:") for text in one.sites) or not shutil.which("addr2line")


@mpis.in_turn()
def test_calibrated__the_run_has_its_model(mpi, record, built, capfd, monkeypatch):
    """Three rounds of messages up to 4 KiB, where thirty up to 1 MiB are usual."""
    monkeypatch.setattr(calibrate, "measured", functools.partial(calibrate.measured, rounds=3, largest=4096))
    program = mpis.compiled(mpi.mpicc, "workloads.c", built)
    code, folder, _, said = record(mpi.command(2, program, "overlap"), "--calibrate")
    assert (code, said) == (0, "")
    assert recorded.read(folder).model == f"{folder}/model.toml"
    assert cli.main(["info", folder]) == 0
    assert " under model fitted" in capfd.readouterr().out
    assert cli.main(["predict", folder, "--zero-wait", "all"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "; the rest is of: measured between two processes" in shown
    assert cli.main(["predict", folder, "--model", "default"]) == 0
    assert "measured between two processes" not in " ".join(capfd.readouterr().out.split())
