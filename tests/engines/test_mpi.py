"""`mpiexec -n 4 perwiz correct`: the same answer as one process gives, said once; and what is refused."""

import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import types

import pytest

import mpis
import threaded
from perwiz.cli import main
from perwiz.commands import options, parser
from perwiz.engines import team
from perwiz.errors import LibraryError, UsageError
from perwiz.trace import resources

TRACES = pathlib.Path(__file__).parents[2] / "traces"
REAL = str(TRACES / "p_m3.alog.gz")
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
NOTHING = team.Asked("", "")
ASK = "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"


def launchers():
    """Yield (mpiexec, environment) of the MPIs of this machine."""
    paths = [one.mpiexec for one in mpis.installed()]
    paths += [os.path.join(os.path.dirname(sys.executable), "mpiexec"), shutil.which("mpiexec") or ""]
    for path in dict.fromkeys(path for path in paths if os.path.exists(path)):
        # In wheels libmpi.so is a text for the linker: the last of libmpi.so, libmpi.so.12 is the library.
        libraries = sorted(pathlib.Path(path).parents[1].glob("lib/libmpi.so*"))
        more = {"MPI4PY_LIBMPI": str(libraries[-1])} if libraries else {}
        yield path, os.environ | more | {"PYTHONPATH": str(pathlib.Path(threaded.__file__).parent)}


def launch(path, environment, ranks, *words, cwd=None, others=0):
    """Run Python in so many processes; those of others are among the words."""
    command = mpis.Mpi("", path, "").command(ranks, sys.executable, "-P", *words, others=others)
    with mpis.before_others():
        return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="session")
def mpiexec():
    """Return mpiexec(ranks, words...), which runs Python under the first MPI that mpi4py works with."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no mpi4py here")
    for path, environment in launchers():
        if launch(path, environment, 2, "-c", ASK).stdout.split() == ["2", "2"]:
            return lambda ranks, *words, **more: launch(path, environment, ranks, *words, **more)
    pytest.skip("no MPI here that mpi4py works with: neither in PERWIZ_MPIS nor mpiexec on the path")


def said(done):
    """Return the lines of perwiz on standard error."""
    return [line for line in done.stderr.splitlines() if line.startswith("perwiz:")]


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "words"), [(2, [REAL]), (4, [str(TRACES / "halo-before"), "--json", "--mu", "100"])])
def test_command__the_same_answer_once(mpiexec, capsys, ranks, words):
    code = main(["correct", *words])
    alone = capsys.readouterr().out
    done = mpiexec(ranks, "-m", "perwiz", "correct", *words)
    assert (done.returncode, done.stdout) == (code, alone), done.stderr


@pytest.mark.slow
def test_command__an_archive_is_read_in_parts(mpiexec, capsys):
    archive = str(TRACES / "npb-is.S-4")
    code = main(["correct", archive, "--json"])
    alone = capsys.readouterr().out
    done = mpiexec(2, "-m", "perwiz", "correct", archive, "--json")
    assert (done.returncode, done.stdout, said(done)) == (code, alone, [])


@pytest.mark.slow
def test_command__a_directory_per_machine(mpiexec, capsys, tmp_path):
    """Ranks 2 and 3 were recorded on a machine that is named first: the answer is that of the archive with all."""
    for name, others in (("traces", "01"), ("other", "23")):
        shutil.copytree(TRACES / "npb-is.S-4", tmp_path / name)
        for file in (tmp_path / name / "traces").glob(f"[{others}].*"):
            file.unlink()
    code = main(["info", str(TRACES / "npb-is.S-4"), "--json"])
    alone = json.loads(capsys.readouterr().out) | {"trace": "traces"}
    command = ["-m", "perwiz", "info"]
    other = ":", "-n", "1", sys.executable, "-P", *command, "other", "--json"
    done = mpiexec(1, *command, "traces", "--json", *other, cwd=tmp_path, others=1)
    assert (done.returncode, said(done)) == (code, []), done.stderr
    assert json.loads(done.stdout) == alone


@pytest.mark.slow
def test_command__predict(mpiexec, capsys):
    """What several say of a question, one says too; long messages that hold their senders close circles here."""
    words = [str(TRACES / "npb-mg.S_timens-4"), "--zero-wait", "all", "--draws", "20", "--json"]
    code = main(["predict", *words])
    alone = json.loads(capsys.readouterr().out)
    done = mpiexec(3, "-m", "perwiz", "predict", *words)
    found = json.loads(done.stdout)
    assert (done.returncode, said(done), found["team"]) == (code, [], 3)
    names = found.keys() & alone.keys()
    assert {name: found[name] for name in names} == {name: alone[name] for name in names}
    assert found["predicted_span"]["varies"]["iterations"] == 5


@pytest.mark.slow
def test_command__patterns(mpiexec, capsys):
    """All but how sure it is, which one process alone tells."""
    words = ["patterns", str(TRACES / "npb-mg.S_timens-4"), "--no-causes", "--json"]
    code = main(words)
    alone = json.loads(capsys.readouterr().out) | {"bound_span": None, "best_span": None}
    done = mpiexec(3, "-m", "perwiz", *words)
    assert (done.returncode, said(done), json.loads(done.stdout)) == (code, [], alone)


@pytest.mark.slow
def test_command__domino(mpiexec, capsys):
    """The same list as one process has of these kinds; and what one process alone tries is refused in a line."""
    words, asked = ["domino", str(TRACES / "npb-is.S-4"), "--json", "--draws", "0"], ["--kind", "wait", "--kind", "messages"]
    code = main([*words, *asked])
    alone = json.loads(capsys.readouterr().out)
    done = mpiexec(2, "-m", "perwiz", *words, *asked)
    found = json.loads(done.stdout)
    assert (done.returncode, said(done), found["team"]) == (code, [], 2)
    lists = [[row["head"]["change"] for row in told[name]] for told in (found, alone) for name in ("ranked", "at_best")]
    assert lists[:2] == lists[2:]
    names = {"lines", "at_best_lines", "bound_ns", "replayed_ns", "waiting_ns", "misfit", "health"}
    assert {name: found[name] for name in names} == {name: alone[name] for name in names}
    done = mpiexec(2, "-m", "perwiz", *words, "--kind", "order")
    why = "--kind order: is not done by several processes together, must be asked of one (without mpiexec)"
    assert (done.returncode, done.stdout, said(done)) == (2, "", [f"perwiz: {why}"])


@pytest.mark.slow
def test_command__other_messages_would_come_first(mpiexec):
    path = str(TRACES / "pmandel.alog.gz")
    done = mpiexec(2, "-m", "perwiz", "predict", path, "--speed", "rank:1=1.5", "--draws", "0", "--model", "default")
    other = "other messages would come first than in the recorded run, and who gets which is found by one process alone"
    every = f"perwiz: {path}: every process reads all of it and keeps its part"
    why = f"perwiz: {path}: {other}; must be asked of one (without mpiexec), or kept (--keep-matches)"
    assert (done.returncode, done.stdout, said(done)) == (2, "", [every, why])


@pytest.mark.slow
def test_command__others_are_refused_once(mpiexec):
    done = mpiexec(3, "-m", "perwiz", "report", REAL)
    why = "report: is not done by 3 processes together, must be started once (without mpiexec)"
    why += "; predict, domino, patterns, correct, info are"
    assert (done.returncode, done.stdout, said(done)) == (2, "", [f"perwiz: {why}"])


@pytest.mark.slow
def test_command__unequal_command_lines_are_refused_once(mpiexec):
    """Before anything is read."""
    other = ":", "-n", "1", sys.executable, "-P", "-m", "perwiz", "domino", REAL, "-q"
    done = mpiexec(1, "-m", "perwiz", "predict", REAL, "--zero-wait", "e25", *other, others=1)
    why = "process 0 was given predict --zero-wait e25, process 1 domino -q; all must be given the same, but for the trace"
    assert (done.returncode, done.stdout, said(done)) == (2, "", [f"perwiz: {why}"])


@pytest.mark.slow
def test_command__help_is_printed_once(mpiexec, capsys):
    done = mpiexec(2, "-m", "perwiz", "--version")
    assert main(["--version"]) == 0
    assert (done.returncode, done.stdout, said(done)) == (0, capsys.readouterr().out, [])


@pytest.mark.slow
def test_command__an_error_is_said_once(mpiexec, tmp_path):
    done = mpiexec(2, "-m", "perwiz", "correct", "none.alog", cwd=tmp_path)
    assert (done.returncode, said(done)) == (3, ["perwiz: none.alog: no such file or directory"])


@pytest.mark.slow
def test_command__what_is_not_spread_is_refused(mpiexec, tmp_path):
    done = mpiexec(2, "-m", "perwiz", "correct", REAL, "-o", "out.alog", cwd=tmp_path)
    why = "--output: is not done by several processes together, must be asked of one (without mpiexec)"
    assert (done.returncode, said(done), os.listdir(tmp_path)) == (2, [f"perwiz: {why}"], [])


DIES = """
import sys
from perwiz.engines.team import Asked, together
def work(team):
    if team.rank == 1:
        raise {error}
    return int(team.reduce(__import__('numpy').zeros(1), 'sum')[0])
sys.exit(together(work, lambda size: Asked("", "")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("error", "line"), [("MemoryError", "out of memory"), ("OSError('gone')", "OSError: gone")])
def test_one_dies__all_end_with_a_line(mpiexec, error, line):
    done = mpiexec(3, "-c", DIES.format(error=error))
    assert done.returncode != 0
    assert said(done) == [f"perwiz: process 1 of 3: {line}"]


def test_one_is_gone__others_say_what_mpi_says(monkeypatch, capsys):
    gone, ended, mpi = type("Gone", (Exception,), {}), [], object.__new__(team.Mpi)
    mpi.rank, mpi.size, mpi._mpi, mpi._world = 1, 3, types.SimpleNamespace(Exception=gone), types.SimpleNamespace(Abort=ended.append)
    monkeypatch.setattr(team, "_HEARD", 0)
    assert [mpi.stop(gone("MPI_ERR_PROC_FAILED: gone"))] == ended == [1]
    assert capsys.readouterr() == ("", "perwiz: process 1 of 3: MPI: MPI_ERR_PROC_FAILED: gone\n")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (1, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2"}, (4, 2)),
        ({"PMI_SIZE": "8", "PMI_RANK": "0"}, (8, 0)),
        ({"SLURM_STEP_NUM_TASKS": "3", "PMIX_RANK": "1"}, (3, 1)),
        ({"SLURM_STEP_NUM_TASKS": "3"}, (1, 0)),
        ({"PMI_SIZE": "many", "PMI_RANK": "0"}, (1, 0)),
    ],
)
def test_launched(started, environment, expected):
    started(environment)
    assert resources.launched() == expected


@pytest.fixture
def started(monkeypatch):
    """Yield started(environment): let this process be one that was started so, and no other way."""
    handlers = [signal.getsignal(number) for number in SIGNALS]

    def start(environment):
        for names in resources._LAUNCHED:
            for name in names:
                monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    yield start
    for number, handler in zip(SIGNALS, handlers, strict=True):
        signal.signal(number, handler)


def test_alone__needs_no_mpi4py(started, monkeypatch, capsys):
    started({"PMI_SIZE": "1", "PMI_RANK": "0"})
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("perwiz ")


def test_refused__no_mpi4py(started, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    for rank, code in ((0, 2), (1, 0)):
        started({"PMI_SIZE": "4", "PMI_RANK": str(rank)})
        assert main(["correct", REAL]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("perwiz: mpiexec started 4 processes, but mpi4py cannot be used: import of mpi4py halted")
    assert err.endswith("; must be installed (pip install mpi4py), or start one process\n")


def test_refused__no_library_of_mpi(started, monkeypatch, capsys):
    """What is built for several MPIs looks for one, and tells all places where it looked."""

    def looked_for(name: str) -> None:
        raise RuntimeError("cannot load MPI library\n/lib/libmpi.so: no such file\nlibmpi.so.12: no such file")

    module = types.ModuleType("mpi4py")
    module.__getattr__ = looked_for
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    started({"PMI_SIZE": "2", "PMI_RANK": "0"})
    assert main(["info", REAL]) == 2
    cure = "must find libmpi.so of mpiexec (its folder in LD_LIBRARY_PATH), or start one process"
    told = f"perwiz: mpiexec started 2 processes, but mpi4py cannot be used: cannot load MPI library; {cure}\n"
    assert capsys.readouterr().err == told


def test_refused__mpi4py_of_another_mpi(started, monkeypatch):
    world = types.SimpleNamespace(Get_rank=lambda: 0, Get_size=lambda: 1)
    mpi = types.SimpleNamespace(COMM_WORLD=world, Get_library_version=lambda: "Open MPI v5, of Debian")
    monkeypatch.setitem(sys.modules, "mpi4py", types.SimpleNamespace(MPI=mpi))
    started({"PMI_SIZE": "4", "PMI_RANK": "0"})
    why = r"mpi4py sees 1: it is of another MPI \(Open MPI v5\); both must be of the same"
    with pytest.raises(LibraryError, match=rf"^mpiexec started 4 processes, but {why}$"):
        team.together(lambda processes: 0, lambda size: NOTHING)


def test_refused__unequal_versions():
    """The first that differs from process 0 is named."""
    versions = iter(["1.0 aa", "1.0 aa", "1.1 bb"])

    class Team:
        size = 3

        def exchange(self, data):
            return [threaded.np.frombuffer(next(versions).encode(), "u1") for _ in range(3)]

    why = "process 0 runs perwiz 1.0 aa, process 2 runs 1.1 bb; all must run the same"
    with pytest.raises(LibraryError, match=f"^{why}$"):
        team._check_alike(Team(), lambda size: NOTHING)


def asked(*lines):
    """Let a process each check that it was asked the same as the others."""

    def check(processes):
        line = lines[processes.rank]
        team._check_alike(processes, lambda size: team.Asked(*options.asked(parser.of(line[0]).parse_args(line[1:]), line)))

    threaded.together(len(lines), check)


def test_asked_the_same__of_a_trace_each(tmp_path):
    """In any order, what is the default said or not, and a file under any name."""
    for name in ("here.toml", "there.toml"):
        (tmp_path / name).write_text("same")
    here, there = (f"{tmp_path}/{name}.toml" for name in ("here", "there"))
    asked(
        ["predict", "essen", "--zero-wait", "e25", "--model", here, "--network", there],
        ["predict", "bonn:berlin", "--model", there, "--clock", "clc", "--zero-wait", "e25", "--network", here],
    )


@pytest.mark.parametrize(
    ("line", "other", "why"),
    [
        ("info essen", "correct bonn", "process 0 was given info, process 2 correct"),
        ("predict essen --draws 50", "predict bonn", "process 0 was given predict --draws 50, process 2 predict"),
        ("correct --mu=5 essen", "correct bonn --mu 6", "process 0 was given correct --mu=5, process 2 correct --mu 6"),
    ],
)
def test_refused__asked_something_else(line, other, why):
    with pytest.raises(UsageError, match=f"^{why}; all must be given the same, but for the trace$"):
        asked(line.split(), line.split(), other.split())


def test_refused__asked_what_there_is_not():
    """By one of them: all hear of it."""
    with pytest.raises(UsageError, match=r"^unrecognized arguments: --zero e25; did you mean --zero-wait\? see perwiz predict --help$"):
        asked(["predict", "essen", "--zero-wait", "e25"], ["predict", "bonn", "--zero", "e25"])


def test_refused__standard_input():
    """The others would wait for it for ever."""
    with pytest.raises(UsageError, match=r"^-: only one of several processes has the standard input, must be a file that all see$"):
        asked(["info", "run.alog"], ["info", "-"])


@pytest.mark.parametrize("option", ["--model", "--network"])
def test_refused__another_file_of_that_name(tmp_path, monkeypatch, option):
    """The second process to open it sees another one."""
    model = tmp_path / "mine.toml"
    model.write_text("one")
    digest = options.hashlib.file_digest
    found = iter(["one", "two"])
    monkeypatch.setattr(options.hashlib, "file_digest", lambda file, name: digest(io.BytesIO(next(found).encode()), name))
    why = f"predict {option} {model}: process 1 sees other files of it than process 0; all must see the same"
    with pytest.raises(UsageError, match=f"^{why}$"):
        asked(*[["predict", "essen", option, str(model)]] * 2)


def test_signals_end_processes_at_once(started, monkeypatch):
    """Inside MPI Python does not hear of them; one that is ignored, as of nohup, stays so."""
    started({"PMI_SIZE": "4", "PMI_RANK": "0"})
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    for number, handler in zip(SIGNALS, (signal.SIG_IGN, signal.SIG_DFL, signal.SIG_DFL), strict=True):
        signal.signal(number, handler)
    assert main(["info", REAL]) == 2
    assert [signal.getsignal(number) for number in SIGNALS] == [signal.SIG_IGN, signal.SIG_DFL, signal.SIG_DFL]
