"""`perwiz record --profile`: what the record says agrees with what programs count themselves, and where it goes."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections import defaultdict

import numpy as np
import pytest

import mpis
from perwiz import cli
from perwiz.record import build, counters, profile

slow = pytest.mark.slow
WORKLOADS = [("halo", 6), ("farm", 4), ("groups", 5), ("uneven", 4), ("overlap", 4), ("probes", 4), ("onesided", 3), ("threads", 3)]
LOST = "perwiz: out.txt: no record: the program did not come through MPI_Finalize, and its counters are lost with it\n"


@pytest.fixture
def counted(tmp_path):
    """Return counted(command, options...), which returns exit code, record, what the program printed and what perwiz said."""

    def run(command, *options, file="out.txt"):
        words = [sys.executable, "-m", "perwiz", "record", "--profile", *(["-o", file] if file else []), *options, "--", *command]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False)
        path = tmp_path / (file or profile.DEFAULT_FILE)
        record = path.read_text(encoding="utf-8") if path.exists() else ""
        said = "".join(f"{line}\n" for line in re.findall("perwiz: .*", done.stderr))
        return done.returncode, record, done.stdout, said

    return run


def workload(mpi, built, name, ranks):
    return mpi.command(ranks, mpis.compiled(mpi.mpicc, "workloads.c", built), name)


def totals(lines):
    """Return (calls, bytes sent, bytes received, cnt, sizes) per routine."""
    out, name = {}, ""
    for line in lines:
        words = line.split()
        if line.startswith("  total "):
            head = words[3 : words.index("sizes=")] if "sizes=" in words else words[3:]
            found = {key: int(value) for key, value in zip(head[::2], head[1::2], strict=True)}
            sizes = dict(map(int, word.split(":")) for word in (words[words.index("sizes=") + 1 :] if "sizes=" in words else ()))
            out[name] = (int(words[1]), found.get("sent=", 0), found.get("received=", 0), found.get("cnt=", 0), sizes)
        elif " calls " in line:
            name = words[0]
    return out


def whole(record):
    return totals(record.partition("\nsubtotal ")[0].splitlines())


def subtotals(record):
    return {part.splitlines()[0]: totals(part.splitlines()[1:]) for part in record.split("\nsubtotal ")[1:]}


def own_tally(printed):
    """Return what the program has counted, of all ranks together, per routine."""
    out = defaultdict(lambda: np.zeros(3, int))
    for words in map(str.split, printed.splitlines()):
        if words[:1] == ["tally"]:
            out[words[2].removeprefix("MPI_").lower()] += np.array(words[3:], int)
    return {name: tuple(row.tolist()) for name, row in out.items()}


@slow
@mpis.in_turn(("name", "ranks"), WORKLOADS, first=1)
def test_counts_agree(mpi, counted, built, name, ranks):
    code, record, printed, said = counted(workload(mpi, built, name, ranks))
    assert (code, said) == (0, "")
    found = whole(record)
    assert {routine: row[:3] for routine, row in found.items()} == own_tally(printed)
    assert all(sum(row[4].values()) in (0, row[0]) for row in found.values())
    parts = subtotals(record)
    assert set(parts) == {"outside", name} | ({"step"} if name == "halo" else set())
    assert name == "threads" or set(parts["outside"]) == {"barrier", "finalize", "init"}
    assert name != "halo" or set(parts["step"]) == {"startall", "waitall"}
    for routine, row in found.items():
        rows = [part[routine][:4] for part in parts.values() if routine in part]
        assert tuple(map(sum, zip(*rows, strict=True))) == row[:4]
    if name == "farm":
        check_farm(found)


def check_farm(found):
    # 30 jobs of 1, 98, ... 2814 bytes and 3 empty messages from rank 0; 33 requests for jobs, of one int each.
    lengths = [1 + 97 * k for k in range(30)]
    calls, sent, _, count, sizes = found["send"]
    assert (calls, sent, count) == (66, sum(lengths) + 33 * 4, sum(lengths) + 33)
    assert sizes == {0: 3, 1: 1, 4: 33, **{1 << k: sum(x >> k == 1 for x in lengths) for k in range(6, 12)}}


@slow
@mpis.in_turn("how", ["one after the other", "nested"])
def test_regions__more_than_are_kept_apart(mpi, counted, built, how):
    nested = how == "nested"
    command = mpi.command(1, mpis.compiled(mpi.mpicc, "endings.c", built), "regions", *(["nested"] if nested else []))
    code, record, _, said = counted(command)
    assert (code, said) == (0, "")
    assert whole(record)["send"][0] == 200
    sends = {name: part["send"][0] for name, part in subtotals(record).items() if "send" in part}
    if nested:  # 31 deep, deeper ones belong to the last
        assert sends == {**{f"region {k}": 2 for k in range(30)}, "region 30": 2 * 70}
    else:
        assert sends == {**{f"region {k}": 1 for k in range(63)}, "outside": 100 + 37}


@slow
def test_linked_in__counts_without_the_command(mpi, built, tmp_path, capsys):
    assert cli.main(["record", "--print-flags", "--mpicc", mpi.mpicc]) == 0
    flags, program = capsys.readouterr().out.split(), str(tmp_path / "program")
    source = str(mpis.PROGRAMS / "workloads.c")
    subprocess.run([mpi.mpicc, "-w", f"-I{build.HERE}", source, *flags, "-o", program], check=True, capture_output=True)
    settings = {**os.environ, "PERWIZ_PROFILE": "file", "PERWIZ_PROFILE_FILE": str(tmp_path / "jobs")}
    done = subprocess.run(mpi.command(3, program, "groups"), env=settings, check=True, capture_output=True, text=True)
    record = (tmp_path / "jobs").read_text(encoding="utf-8")
    assert {routine: row[:3] for routine, row in whole(record).items()} == own_tally(done.stdout)
    wrong = {**settings, "PERWIZ_PROFILE": "printer"}
    done = subprocess.run(mpi.command(3, program, "groups"), env=wrong, check=True, capture_output=True, text=True)
    assert done.stderr == "perwiz: PERWIZ_PROFILE=printer: no record, must be file, syslog or both\n"


@slow
def test_fortran__levels_are_subtotals(mpi, counted, built):
    compiler = mpi.mpicc.replace("mpicc", "mpif90")
    if not shutil.which(compiler) or subprocess.run([compiler, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"no Fortran compiler of {mpi.name}")
    code, record, printed, said = counted(mpi.command(4, mpis.compiled(compiler, "fortran.f90", built)))
    assert (code, said) == (0, "")
    assert {routine: row[:3] for routine, row in whole(record).items()} == own_tally(printed)
    assert "\nlanguage= Fortran\n" in record
    assert set(subtotals(record)) == {"outside", "level 2"}


@slow
def test_record__says_what_ran_and_how__a_former_one_stays(mpi, counted, built, monkeypatch, tmp_path):
    (tmp_path / profile.DEFAULT_FILE).write_text("a former record\n", encoding="utf-8")
    switch = "OMPI_MCA_mpi_show_handle_leaks" if mpi.is_open else "MPICH_NO_BUFFER_ALIAS_CHECK"
    monkeypatch.setenv(switch, "0")
    _, record, _, _ = counted(workload(mpi, built, "uneven", 3), file="")
    former, *lines = record.splitlines()
    assert former == "a former record"
    number = r"\d\.\d+e[+-]\d\d"
    assert re.fullmatch(r"\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ perwiz: B <(\d+)>", lines[0])
    assert re.fullmatch(rf"size = n = 3 uid={os.getuid()} (Open MPI v|MPICH Version: +)[\d.]+ / avg. on each PE:", lines[1])
    assert lines[2].startswith("argv[0] = ")
    assert lines[2].endswith(mpis.compiled(mpi.mpicc, "workloads.c", built))
    assert lines[3] == "language= C"
    assert lines[-1].endswith(f" perwiz: E {lines[0].split()[-1]}")
    assert re.search(rf"^alltoall +1 calls {number} sec cnt= 1.0e\+00 lng= 1.20e\+01$", record, re.MULTILINE)
    assert f"\nenvironment {switch}=0\n" in record
    cost = rf"^profiling overhead= ({number}) sec = time_all\* ({number}) \((\d+) ns a call, \d+ more with a request\)$"
    overhead = re.search(cost, record, re.MULTILINE)
    times = re.search(rf"^time \[sec\] +mpi= ({number}) / all= ({number}) = ({number})$", record, re.MULTILINE)
    assert overhead
    assert times
    inside, all_ = map(float, times.group(1, 2))
    assert 0 < inside <= all_
    assert float(overhead[1]) > 0
    assert float(overhead[2]) == pytest.approx(float(overhead[1]) / all_, rel=0.06)
    assert "PERWIZ_" not in record


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Return log(), which waits for the end of a record and returns the messages that came to what is syslog here."""
    lines = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(str(tmp_path / "log"))
        one.settimeout(20)
        monkeypatch.setenv("PERWIZ_SYSLOG", str(tmp_path / "log"))

        def listen():
            while not lines or ": E <" not in lines[-1]:
                lines.append(one.recv(4096).rstrip(b"\0").decode())

        listener = threading.Thread(target=listen)
        listener.start()
        yield lambda: listener.join() or lines
        listener.join()


@slow
@mpis.in_turn("to", ["syslog", "both"])
def test_syslog__the_same_record_line_by_line(mpi, counted, built, log, to):
    code, record, printed, said = counted(workload(mpi, built, "probes", 2), "--to", to, file="out.txt" if to == "both" else "")
    assert (code, said) == (0, "")
    pattern = r"<14>\w{3} [ \d]\d \d\d:\d\d:\d\d perwiz\[(\d+)\]: (.*)"
    found = [re.fullmatch(pattern, line) for line in log()]
    assert len({match[1] for match in found}) == 1
    assert found[0][2] == f"B <{found[0][1]}>"
    texts = [match[2] for match in found]
    assert {routine: row[:3] for routine, row in whole("\n".join(texts)).items()} == own_tally(printed)
    assert (record.splitlines()[1:-1] == texts[1:-1]) == (to == "both")


@slow
@mpis.in_turn()
def test_syslog__where_there_is_none(mpi, counted, built, monkeypatch, tmp_path):
    monkeypatch.setenv("PERWIZ_SYSLOG", str(tmp_path / "nowhere"))
    code, record, _, said = counted(workload(mpi, built, "farm", 2), "--to", "both")
    assert (code, said) == (0, f"perwiz: {tmp_path}/nowhere: cannot be written: No such file or directory\n")
    assert " perwiz: E <" in record


@slow
@mpis.in_turn(first=1)
def test_counters__of_the_kernel(mpi, counted, built):
    _, record, _, _ = counted(workload(mpi, built, "farm", 2), "--counters", "task-clock,page-faults")
    if "counters: task-clock,page-faults: not counted: the kernel " in record:
        pytest.skip("the kernel does not allow perf_event_open")
    found = dict(re.findall(r"^(\S+) +outside mpi= (\S+) / inside mpi= \S+ / all= \S+ per sec$", record, re.MULTILINE))
    assert set(found) == {"task-clock", "page-faults"}
    assert float(found["task-clock"]) > 0


@slow
@mpis.in_turn()
def test_counters__of_the_processor_or_why_not(mpi, counted, built):
    code, record, _, said = counted(workload(mpi, built, "farm", 2), "--counters", "instructions,cycles")
    assert (code, said) == (0, "")
    refused = re.findall(r"^counters: instructions,cycles: not counted: .* on 2 of 2 PEs \(perf_event_open: .+\)$", record, re.MULTILINE)
    assert len(refused) + record.count("\ninstructions ") == 1


@slow
@pytest.mark.parametrize("how", ["abort", "kill"])
def test_lost__without_finalize(mpi, counted, built, tmp_path, how):
    code, record, _, said = counted(mpi.command(3, mpis.compiled(mpi.mpicc, "endings.c", built), how))
    assert (code != 0, record) == (True, "")
    assert said.endswith(LOST)
    assert len(said.splitlines()) <= 2
    assert os.listdir(tmp_path) == []


@slow
def test_never_initialised(mpi, counted, built, tmp_path):
    code, _, _, said = counted(mpi.command(2, mpis.compiled(mpi.mpicc, "endings.c", built), "never"))
    assert (code, said) == (4, f"perwiz: out.txt: nothing was recorded: no process came through the MPI_Init of the MPI of {mpi.mpicc}\n")
    assert os.listdir(tmp_path) == []


@slow
@mpis.in_turn(first=1)
def test_full_disk__a_former_record_is_whole(mpi, counted, built, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "none", str(small)], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small disk: not root")
    try:
        former = "a former record\n" * 500
        (small / "out").write_text(former, encoding="utf-8")
        code, _, _, said = counted(workload(mpi, built, "probes", 2), file="small/out")
        assert (code, said) == (0, f"perwiz: {small}/out: cannot be written: No space left on device\n")
        assert (small / "out").read_text(encoding="utf-8") == former
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--profile"], "a command (-- mpiexec ...) is missing; see perwiz record --help"),
        (["--to", "file", "-o", "run", "--", "ls"], "--to is only for --profile"),
        (
            ["--counters", "flops", "-o", "run", "--", "ls"],
            "--counters flops: must be at most 4 of instructions, cycles, cache-misses, branch-misses, task-clock, page-faults,"
            " context-switches",
        ),
        (
            ["--profile", "--offsets", "flat", "--", "ls"],
            "--offsets is not for --profile: nothing is timed against other processes",
        ),
        (
            ["--profile", "--counters", "cycles,flops", "--", "ls"],
            "--counters flops: must be at most 4 of instructions, cycles, cache-misses, branch-misses, task-clock, page-faults,"
            " context-switches",
        ),
        (
            ["--profile", "--to", "syslog", "-o", "run", "--", "ls"],
            "run: nothing is written to a file with --to syslog; it must be --to file or --to both",
        ),
        (["--profile", "-o", "folder", "--", "ls"], "folder: cannot be written: is a directory"),
        (["--profile", "-o", "no/where", "--", "ls"], "no/where: cannot be written: no such file or directory"),
    ],
)
def test_refused(words, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("perwiz.record.build.built", lambda mpicc, what="": pathlib.Path("lib.so"))
    (tmp_path / "folder").mkdir()
    assert cli.main(["record", *words]) == 2
    assert capsys.readouterr().err == f"perwiz: {message}\n"
    assert os.listdir(tmp_path) == ["folder"]


def test_events__the_recorder_knows_them_all():
    text = (build.HERE / "events.c").read_text(encoding="utf-8")
    found = re.findall(r'\{"([\w-]+)", PERF_TYPE_(\w+), PERF_COUNT_[HS]W_(\w+), (\d)\}', text)
    kinds, known = ("HARDWARE", "SOFTWARE"), counters.EVENTS
    assert [(name, kind, int(kernel)) for name, kind, _, kernel in found] == [
        (name, kinds[event.type], event.kernel) for name, event in known.items()
    ]
    numbers = {"INSTRUCTIONS": 1, "CPU_CYCLES": 0, "CACHE_MISSES": 3, "BRANCH_MISSES": 5}  # linux/perf_event.h
    numbers |= {"TASK_CLOCK": 1, "PAGE_FAULTS": 2, "CONTEXT_SWITCHES": 3}
    assert [numbers[config] for _, _, config, _ in found] == [event.config for event in known.values()]
