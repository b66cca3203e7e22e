"""Recorders built ahead of time: found, told apart, and enough where there is no compiler and no place to write to."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import mpis
from perwiz import cli
from perwiz.errors import UsageError
from perwiz.record import ahead, build

TOLD = {"format": "perwiz recorder", "version": 1, "mpi": "MPICH 5.0.2", "mpicc": "/opt/mpi/bin/mpicc", "library": "", "bytes": 0}


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.prefix", str(tmp_path / "python"))
    for name in (ahead.VARIABLE, "PERWIZ_MPICC"):
        monkeypatch.delenv(name, raising=False)


def placed(prefix, name, **changes):
    """Return the folder of a recorder of this version, with these changes to what it says."""
    folder = ahead.inside(prefix) / name
    folder.mkdir(parents=True)
    (folder / ahead.INDEX).write_text(json.dumps(TOLD | {"sources": build.sources()} | changes), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("mpi", mpis.installed()[:1] or [None], ids=lambda one: one.name if one else "none", indirect=True)
def test_mpi__no_compiler_and_no_home(mpi, built, tmp_path, capsys):
    """The launcher and the program are all that the path of this "node" has; nothing can be made below its home."""
    assert cli.main(["record", "--build", "prefix", "--mpicc", mpi.mpicc]) == 0
    out, err = capsys.readouterr()
    of_mpi, alone = (pathlib.Path(line) for line in out.splitlines())
    assert sorted(os.listdir(tmp_path / "prefix" / "lib" / "perwiz")) == sorted([of_mpi.name, alone.name])
    assert (alone.name.partition("-")[0], err) == ("alone", f"perwiz: found where PERWIZ_RECORDERS has {tmp_path}/prefix\n")
    node = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "PERWIZ_MPIS")}
    node |= {"HOME": "/proc", "PATH": str(tmp_path / "bin"), "PERWIZ_RECORDERS": f"{tmp_path}/nowhere:{tmp_path}/prefix"}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ldd").symlink_to("/usr/bin/ldd")

    def record(folder, *command):
        words = [sys.executable, "-m", "perwiz", "record", "-o", folder, "--", *command]
        return subprocess.run(words, cwd=tmp_path, env=node, capture_output=True, text=True, timeout=120, check=False)

    program = mpis.compiled(mpi.mpicc, "workloads.c", built), "halo"
    done = record("run", *mpi.command(6, *program))
    assert (done.returncode, [line for line in done.stderr.splitlines() if "perwiz" in line]) == (0, [])
    assert len(list((tmp_path / "run").glob("definitions-*.jsonl"))) == 6
    library = of_mpi.rename(tmp_path / "elsewhere")
    done = record("other", *mpi.command(6, *program))
    assert done.returncode == 2
    assert done.stderr.startswith(f"perwiz: {mpi.mpicc}: cannot compile the recorder: ")
    assert done.stderr.endswith(f"; {mpis.AHEAD}\n")
    library.rename(of_mpi)
    told = json.loads((of_mpi / ahead.INDEX).read_text(encoding="utf-8"))
    assert (told["mpicc"], told["bytes"]) == (mpi.mpicc, os.path.getsize(told["library"]))
    assert os.path.dirname(os.path.dirname(told["library"])) == os.path.dirname(os.path.dirname(mpi.mpicc))


def test_places__those_given_first(monkeypatch, tmp_path):
    monkeypatch.setenv(ahead.VARIABLE, f"near::/usr:{tmp_path}/near")
    standard = [str(tmp_path / "python"), "/usr/local"]
    assert ahead.places() == [pathlib.Path(prefix, "lib", "perwiz") for prefix in (f"{tmp_path}/near", "/usr", *standard)]


def test_found__the_first_that_fits(monkeypatch, tmp_path):
    monkeypatch.setenv(ahead.VARIABLE, "old:new:newer")
    library = pathlib.Path("libmpi.so.12")
    library.write_bytes(b"12345")
    placed("old", "a", sources="before")
    placed("old", "b", mpicc="/opt/other/bin/mpicc")
    placed("old", "c", library=str(library), bytes=4)
    kept = placed("new", "a", library=str(library), bytes=5)
    placed("newer", "a")
    alone = placed("newer", "alone", mpi="", mpicc="")
    shmem = placed("newer", "shmem", mpicc="/opt/mpi/bin/oshcc")
    assert build.built("/opt/mpi/bin/mpicc") == kept / "libperwiz.so"
    assert build.measuring("/opt/mpi/bin/mpicc") == kept / "calibrate"
    assert build.built(None, build.PTHREADS) == alone / "libperwiz-pthreads.so"
    assert build.built("/opt/mpi/bin/oshcc", build.OBJECT) == shmem / "perwiz.o"
    assert ahead.found("/opt/nowhere/bin/mpicc", build.sources()) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sources": "before"}, "was built by another version of perwiz"),
        ({"library": __file__, "bytes": 1}, f"was built for another version of {__file__}"),
    ],
)
def test_refused__one_that_does_not_fit_and_no_compiler(monkeypatch, tmp_path, changes, why):
    monkeypatch.setenv(ahead.VARIABLE, "prefix")
    folder = placed("prefix", "a", **changes)
    none = "/opt/mpi/bin/mpicc: not found, must be the compiler wrapper of the program's MPI (--mpicc)"
    with pytest.raises(UsageError) as refused:
        build.built("/opt/mpi/bin/mpicc")
    again = f"perwiz record --build {tmp_path / 'prefix'} --mpicc /opt/mpi/bin/mpicc on a login node makes it anew"
    assert str(refused.value) == f"{none}; {folder} {why}: {again}"


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps(TOLD), json.dumps(TOLD | {"sources": 3}), "[" * 60_000, '{"format": 1}'])
def test_refused__one_that_does_not_say_what_it_is_for(monkeypatch, tmp_path, text):
    monkeypatch.setenv(ahead.VARIABLE, "prefix")
    path = placed("prefix", "a") / ahead.INDEX
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        ahead.recorders()
    assert str(refused.value) == f"{path}: damaged or of another version, must be what perwiz record --build writes"


def test_mpicc__of_the_library_or_beside_the_launcher(monkeypatch, tmp_path):
    """Without any mpicc: by what the program loads, whoever starts it, else by where the launcher was installed."""
    monkeypatch.setenv(ahead.VARIABLE, "prefix")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("bin/srun", "bin/mpiexec", "bin/app"):
        pathlib.Path(name).parent.mkdir(exist_ok=True)
        pathlib.Path(name).write_text("#!/bin/sh\n", encoding="utf-8")
        os.chmod(name, 0o755)
    monkeypatch.setattr("perwiz.record.programs.loaded", lambda word: " => /opt/b/lib/libmpi.so.40 (0x1)\n" if word == "app" else "")
    assert ahead.mpicc_for(["srun", "app"]) == "mpicc"
    placed("prefix", "a", mpicc=str(tmp_path / "bin" / "mpicc"), library="/opt/a/lib/libmpi.so.40")
    placed("prefix", "b", mpicc="/opt/b/bin/mpicc", library="/opt/b/lib/libmpi.so.40")
    placed("prefix", "c", mpicc="/opt/b/bin/oshcc", library="/opt/b/lib/libmpi.so.40")
    assert ahead.mpicc_for(["srun", "app"]) == "/opt/b/bin/mpicc"
    assert ahead.mpicc_for(["mpiexec", "python3"]) == str(tmp_path / "bin" / "mpicc")
    assert ahead.mpicc_for(["srun", "python3"]) == "mpicc"


def test_refused__a_command_to_run(capsys):
    assert cli.main(["record", "--build", "prefix", "--", "mpiexec", "./app"]) == 2
    message = "--build runs nothing, must be without mpiexec; see perwiz record --help"
    assert capsys.readouterr().err == f"perwiz: {message}\n"


def test_refused__a_prefix_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.setattr(build, "_recipe", lambda mpicc: build._Recipe("cc", "", {}, "alone-1"))
    assert cli.main(["record", "--build", "/proc/here"]) == 2
    assert capsys.readouterr().err == "perwiz: /proc/here/lib/perwiz/alone-1: cannot be written: no such file or directory\n"
