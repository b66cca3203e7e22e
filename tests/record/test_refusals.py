"""What `perwiz record` refuses, with its full message; no MPI is needed for that."""

import os
import pathlib
import subprocess

import pytest

import mpis
from perwiz import cli
from perwiz.record import programs
from perwiz.record.regions import parallel_region, region


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PERWIZ_MPICC", raising=False)


def script(name, text="exit 0"):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path.absolute())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "run"], "a command (-- mpiexec ...) is missing; see perwiz record --help"),
        (["--", "ls"], "a directory (-o) is missing; see perwiz record --help"),
        (["-o", "run", "--", "./nowhere"], "./nowhere: not found, must be a command such as mpiexec"),
        (
            ["-o", "run", "--mpicc", "./nocc", "--", "ls"],
            f"./nocc: not found, must be the compiler wrapper of the program's MPI (--mpicc); {mpis.AHEAD}",
        ),
        *(
            (
                ["-o", "run", "--clock-errors", f"1:1e9;{wrong};2:-5e8:50:0.5:1", "--", "ls"],
                f"--clock-errors {wrong}: must be RANK:OFFSET_NS[:DRIFT_PPM[:WANDER_NS:PERIOD_S]]",
            )
            for wrong in ("nonsense", "1", "-1:5", "1:2:3:4", "1:2 ms")
        ),
        (["-o", "run", "--uneven-links", "1e6", "--", "ls"], "--uneven-links 1e6: must be whole ns below a second"),
    ],
)
def test_refused(words, message, capsys):
    assert cli.main(["record", *words]) == 2
    assert capsys.readouterr().err == f"perwiz: {message}\n"
    assert not os.path.exists("run")


@pytest.mark.parametrize("why", ["x.c:1: fatal error: mpi.h: No such file or directory", "The wrapper was unable to find gcc."])
def test_refused__compiler_that_fails(capsys, why):
    mpicc = script("bin/mpicc", f"echo '-----' >&2; echo '{why}' >&2; exit 1")
    assert cli.main(["record", "-o", "run", "--mpicc", mpicc, "--", "ls"]) == 2
    assert capsys.readouterr().err == f"perwiz: {mpicc}: cannot compile the recorder: {why}; {mpis.AHEAD}\n"


def test_refused__directory_that_exists(monkeypatch, capsys):
    monkeypatch.setattr("perwiz.record.build.built", lambda mpicc, what="": pathlib.Path("lib.so"))
    pathlib.Path("run").mkdir()
    pathlib.Path("run/kept").write_text("a former run", encoding="utf-8")
    assert cli.main(["record", "-o", "run", "--", "ls"]) == 2
    assert capsys.readouterr().err == "perwiz: run: is there already, must be a new directory\n"
    assert pathlib.Path("run/kept").read_text(encoding="utf-8") == "a former run"


def test_directories__are_made(monkeypatch):
    """The command finds one in others that were not there; as it records nothing the run is taken away, and they stay."""
    monkeypatch.setattr("perwiz.record.build.built", lambda mpicc, what="": pathlib.Path("lib.so"))
    assert cli.main(["record", "-o", "runs/today/1", "--", "sh", "-c", "test -d runs/today/1"]) == 4
    assert os.listdir("runs/today") == []
    assert cli.main(["record", "-o", "2", "--", "sh", "-c", "test -d 2"]) == 4


def test_refused__directory_in_a_file(monkeypatch, capsys):
    monkeypatch.setattr("perwiz.record.build.built", lambda mpicc, what="": pathlib.Path("lib.so"))
    pathlib.Path("runs").write_text("a file", encoding="utf-8")
    for name, why in (("runs/1", "file exists"), ("runs/today/1", "not a directory")):
        assert cli.main(["record", "-o", name, "--", "ls"]) == 2
        assert capsys.readouterr().err == f"perwiz: {name}: cannot be made: {why}: {os.path.abspath(os.path.dirname(name))}\n"


def test_refused__static_program(monkeypatch, capsys):
    pathlib.Path("app.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    done = subprocess.run(["gcc", "-static", "-o", "app", "app.c"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no static C library")
    mpiexec = script("bin/mpiexec")
    assert cli.main(["record", "-o", "run", "--", mpiexec, "-n", "2", "./app"]) == 2
    why = "linked statically, so the recorder cannot get in front of it; link it with $(perwiz record --print-flags)"
    assert capsys.readouterr().err == f"perwiz: ./app: {why}\n"


@pytest.mark.parametrize("options", [["-o", "run"], ["--profile", "-o", "out.txt"]])
@pytest.mark.parametrize(
    ("does", "code", "how"), [("exit 0", 4, ""), ("exit 7", 7, "ended with exit code 7"), ("kill -9 $$", 137, "was ended by SIGKILL")]
)
def test_exit_code__that_of_the_command_unless_nothing_was_recorded(monkeypatch, capsys, options, does, code, how):
    monkeypatch.setattr("perwiz.record.build.built", lambda mpicc, what="": pathlib.Path("lib.so"))
    command = script("app", does)
    assert cli.main(["record", *options, "--mpicc", "cc", "--", command]) == code
    nothing = f"perwiz: {options[-1]}: nothing was recorded: no process came through the MPI_Init of the MPI of cc\n"
    assert capsys.readouterr().err == (f"perwiz: {command} {how}\n" if how else "") + nothing
    assert sorted(os.listdir()) == ["app"]


def test_mpicc__the_one_beside_the_launcher():
    mpiexec, mpicc = script("bin/mpiexec"), script("bin/mpicc")
    assert programs.mpicc_for([mpiexec, "-n", "2", "./app"]) == mpicc
    assert programs.mpicc_for(["./app"]) == "mpicc"


def test_mpicc__that_of_the_alternative():
    script("bin/mpiexec.openmpi")
    mpicc = script("bin/mpicc.openmpi")
    os.symlink("mpiexec.openmpi", "bin/mpiexec")
    assert os.path.samefile(programs.mpicc_for([os.path.abspath("bin/mpiexec")]), mpicc)


@pytest.mark.parametrize(("says", "style"), [("mpiexec (Open MPI) 5.0", "-x"), ("HYDRA build details:", "-genv"), ("slurm 23", None)])
def test_launcher__how_it_hands_on_variables(says, style):
    assert programs.launcher_style(script("bin/mpiexec", f"echo '{says}'")) == style
    assert programs.launcher_style(script("bin/srun", f"echo '{says}'")) is None


def test_regions__nothing_without_the_recorder():
    with region("outer"), parallel_region("inner"):
        pass
