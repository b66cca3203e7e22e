"""`perwiz jobs` from the command line: records in, reports out, refusals in one line."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sqlite3

import pytest

from counters import NOON, OURS, T3E, job, tagged
from documents import valid
from perwiz.cli import main
from perwiz.jobs.record import date, to_json
from perwiz.jobs.store import database, ingest

MODEL = "derived from the LogGPS model default, collectives of 48 processes: no benchmark of single routines was given"


@pytest.fixture
def jobs(tmp_path, monkeypatch, capsys):
    """Return jobs(*words): exit code, output and complaint of `perwiz jobs` beside t3e, ours, half and json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PERWIZ_JOBS", raising=False)
    monkeypatch.setattr("time.time", lambda: float(NOON + 86_400))
    (tmp_path / "t3e").write_text(T3E, encoding="utf-8")
    (tmp_path / "ours").write_text(OURS, encoding="utf-8")
    (tmp_path / "half").write_text(OURS[:300], encoding="utf-8")
    (tmp_path / "json").write_text(to_json(job(9)) + "\n", encoding="utf-8")

    def run(*words):
        code = main(["jobs", *words])
        return code, *capsys.readouterr()

    return run


def document(jobs, *words, expected=0):
    code, out, _ = jobs(*words, "--json")
    assert code == expected
    block = json.loads(out)
    valid(block, "jobs")
    return block


def test_ingest__twice_and_the_broken_one(jobs):
    code, out, err = jobs("ingest", "ours", "half", "t3e")
    assert (code, err) == (4, "perwiz: half:1: half a record: no end, must be E <4711>\n")
    assert out == "perwiz-jobs.sqlite: 2 jobs added, 0 known already, 1 record unusable, from 3 files\n"
    assert jobs("ingest", "ours") == (0, "perwiz-jobs.sqlite: 0 jobs added, 1 known already, 0 records unusable, from 1 file\n", "")
    assert document(jobs, "ingest", ".", expected=4)["added"] == 1
    code, out, _ = jobs("faults")
    lines = out.splitlines()
    assert (code, lines[0]) == (4, "1 record could not be used; --json shows what was in them")
    assert lines[2].split("  ") == ["2026-10-27T12:00:00Z", "half:1", "half a record: no end, must be E <4711>"]
    assert document(jobs, "faults", expected=4)["faults"][0]["text"] == OURS[:300].partition("\n")[2]


def test_ingest__a_file_that_cannot_be_read_keeps_no_other_out(jobs, tmp_path):
    """`a.gz` is cut; it comes before the others of its directory, which a job every hour reads."""
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "a.gz").write_bytes(gzip.compress(OURS.encode())[:60])
    (tmp_path / "log" / "b").write_text(T3E, encoding="utf-8")
    code, out, err = jobs("ingest", "log")
    assert (code, out) == (3, "perwiz-jobs.sqlite: 1 job added, 0 known already, 0 records unusable, from 2 files\n")
    assert err.startswith("perwiz: log/a.gz: cannot be read: ")
    assert err.count("\n") == 1


def test_ingest__what_else_is_wrong_is_counted_in_the_line(jobs, tmp_path):
    """A checksum that is wrong behind records that are none, and a block that is none."""
    packed = bytearray(gzip.compress(b'{"x"\n' * 99))
    packed[-8] ^= 1
    (tmp_path / "a.gz").write_bytes(packed)
    packed[10:20] = b"\xff" * 10
    (tmp_path / "b.gz").write_bytes(packed)
    code, _, err = jobs("ingest", "a.gz", "b.gz", "ours")
    assert code == 3
    assert re.fullmatch("perwiz: a.gz: cannot be read: CRC check failed .*, must be records of jobs; 2 complaints more\n", err)
    code, _, err = jobs("ingest", "b.gz")
    assert (code, err) == (3, "perwiz: b.gz: cannot be read: invalid block type, must be records of jobs\n")


def test_ingest__a_hostile_name_of_a_file(jobs, tmp_path):
    (tmp_path / "half\x1b[31m").write_text(OURS[:300], encoding="utf-8")
    assert jobs("ingest", "half\x1b[31m")[2] == "perwiz: half\\x1b[31m:1: half a record: no end, must be E <4711>\n"


def test_ingest__standard_input(jobs, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(tagged(OURS, 5)) + "noise\n"))
    assert jobs("ingest", "-")[1] == "perwiz-jobs.sqlite: 1 job added, 0 known already, 0 records unusable, from 1 file\n"


def test_ingest__a_routine_nobody_knows(jobs):
    with open("new", "w", encoding="utf-8") as file:
        file.write(OURS.replace("barrier ", "frobnicate "))
    code, out, _ = jobs("ingest", "new")
    assert (code, out.splitlines()[1]) == (0, "nobody knows  frobnicate: kept, in the group other")
    assert "- other\nfrobnicate " in jobs("month")[1]


def test_month__of_the_paper_s_job(jobs):
    # Fig. 3 on the T3E: 451 s, 373 s in MPI. Reduce: 6728 calls at 51 us, 2.46e9 bytes at 6 MB/s: 0.343 s and 391 s, of 59.6 s.
    jobs("ingest", "t3e", "--machine", "t3e")
    code, out, err = jobs("month", "--benchmark", "cray-t3e", "--processors", "512")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "perwiz-jobs.sqlite: jobs of 2025-11"
    assert "CPU time      451 s, <0.1 % of 368640 h available" in lines
    assert "in MPI        373 s, 82.7 % of the CPU time" in lines
    (hidden,) = (line for line in lines if line.startswith("hidden "))
    assert hidden.startswith("hidden        356 s of latency and transfer that the time has no room for: hidden behind computation, or")
    assert next(line for line in lines if line.startswith("split of it")).startswith(
        "split of it   waiting 289 s (77.6 %), transfer 83.2 s (22.3 %)"
    )
    reduce = next(line for line in lines if line.startswith("reduce "))
    assert " ".join(reduce.split()) == "reduce 6728 1682 596e-1 8859 308e+6 246e+7 365636 51 6 343e-3 391e+0 0"
    assert all(len(line) <= 140 for line in lines)


def test_month__text(jobs):
    jobs("ingest", "json", "ours", "--machine", "hawk")
    code, out, _ = jobs("month", "--machine", "hawk")
    lines = out.splitlines()
    worst = every(jobs)[1]
    assert code == 0
    assert lines[:10] == [
        "perwiz-jobs.sqlite: jobs of 2026-10, machine hawk",
        "",
        "answer        imbalance: 51.2 % of the time is in MPI, 97.0 % of that is waiting for other processes: the work is",
        "              unevenly spread or comes late",
        f"next          of {worst}, which is imbalance: perwiz record -o run -- mpiexec -n 4 ./heat, then perwiz domino",
        "              run",
        "",
        "jobs          2, from 2026-10-26T11:59:35Z to 2026-10-26T12:00:01Z",
        "processes     8, a job 4.0, weighted by CPU time 4.0",
        "CPU time      140 s",
    ]
    assert f"benchmark     {MODEL[:100]}"[:60] in out


def test_user__week_and_the_week_before(jobs):
    with open("more", "w", encoding="utf-8") as file:
        file.write(to_json(job(1, began=NOON - 7 * 86_400 - 30, ended=NOON - 7 * 86_400, inside=10)) + "\n" + to_json(job(2, user="7")))
    jobs("ingest", "more", "json")
    block = document(jobs, "user", "1012")
    assert (block["period"]["label"], block["jobs"], block["mpi_s"], block["before"]["mpi_s"]) == ("2026-W44", 1, 50, 10)
    assert document(jobs, "user", "1012", "--week", "2026-W43")["jobs"] == 1
    assert document(jobs, "user", "1012", "--month", "2026-10")["jobs"] == 2
    assert document(jobs, "user", "1012", "--from", "2026-10-20", "--to", "2026-10-26")["jobs"] == 1
    assert document(jobs, "user", "root")["jobs"] == 0
    assert jobs("user", "nobody-here")[:2] == (0, "perwiz-jobs.sqlite: jobs of 2026-W44, user nobody-here: no jobs\n")


def test_job__by_the_beginning_of_its_number(jobs):
    with open("more", "w", encoding="utf-8") as file:
        file.writelines(to_json(job(k, inside=10 * k)) + "\n" for k in range(1, 5))
    jobs("ingest", "more", "ours")
    rows = document(jobs, "top")["jobs"]
    assert [row["mpi_s"] for row in rows] == [40, 30, 21.7, 20]
    assert len(document(jobs, "top", "--all")["jobs"]) == 5
    assert [row["user"] for row in document(jobs, "top", "--program", "heat", "-n", "1")["jobs"]] == ["1012"]
    block = document(jobs, "job", rows[0]["job"][:15])
    assert (block["job"], block["reference"]["others"], block["reference"]["lower_share"]) == (rows[0]["job"], 4, 3)
    _, out, _ = jobs("job", rows[2]["job"])
    assert "threads" in out
    assert "counters      instructions: a process 2.000e+09 outside MPI, 1.000e+09 inside" in out
    assert jobs("job", "1")[2] == (
        f"perwiz: perwiz-jobs.sqlite: job 1: {min(r['job'] for r in rows)} and {sorted(every(jobs))[1]} begin like that, must be one\n"
    )


def every(jobs):
    return [row["job"] for row in document(jobs, "top", "--all")["jobs"]]


def test_hostile_names__are_escaped(jobs):
    with open("evil", "w", encoding="utf-8") as file:
        file.write(to_json(job(3, program="\x1b]0;x\x07a", user="\x1b[2J", environment={"\x1b[1m": "\x1b"})) + "\n")
    jobs("ingest", "evil", "--machine", "\x1b[31m")
    number = document(jobs, "top", "--all")["jobs"][0]["job"]
    for words in (["month"], ["top"], ["job", number], ["user", "\x1b[2J"], ["month", "--program", "\x1b"]):
        code, out, err = jobs(*words)
        assert (code, err) == (0, "")
        assert "\x1b" not in out
        assert "\x07" not in out


def test_empty_database(jobs):
    open("none", "w", encoding="utf-8").close()
    assert jobs("ingest", "none")[0] == 0
    assert jobs("month")[:2] == (0, "perwiz-jobs.sqlite: jobs of all: no jobs\n")
    assert document(jobs, "month")["table"] == []
    assert jobs("top")[1] == "no jobs\n"
    assert jobs("faults")[1] == "every record could be used\n"


def test_jobs_without_time(jobs):
    with open("zero", "w", encoding="utf-8") as file:
        file.write(to_json(job(1, all=0, inside=0, overhead=0, routines={}, ended=NOON, began=NOON)) + "\n")
    jobs("ingest", "zero")
    assert document(jobs, "month")["diagnosis"]["kind"] == "fine"
    assert jobs("month")[0] == 0
    assert document(jobs, "job", every(jobs)[0])["table"] == []


def test_environment__names_the_database(jobs, monkeypatch):
    monkeypatch.setenv("PERWIZ_JOBS", "mine.db")
    assert jobs("ingest", "ours")[1].startswith("mine.db: 1 job added")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("month", 2, "perwiz-jobs.sqlite: no database of jobs yet; perwiz jobs ingest --db perwiz-jobs.sqlite RECORDS makes one"),
        ("ingest nowhere", 3, "nowhere: no such file or directory, must be records of jobs"),
        ("month --db t3e", 3, "t3e: file is not a database, must be a database of jobs"),
        ("ingest t3e --db ours", 3, "ours: file is not a database, must be a database of jobs"),
        ("job 12 --db full", 2, "full: job 12: no such job; perwiz jobs top --all lists some"),
        ("month --db full --week 7", 2, "--week 7: must be a week as 2026-W07"),
        ("month --db full --benchmark x --model y", 2, "--benchmark and --model: must be one of them"),
        ("month --db full --benchmark vax", 2, "no benchmark 'vax', must be one of cray-t3e, or a path to a .toml file"),
        ("month --db full -n x", 2, "argument -n: 'x', must be a whole number from 0 to 1000000; see perwiz jobs month --help"),
    ],
)
def test_refused(jobs, words, code, message):
    link = database.open_database("full", write=True)
    ingest.ingest(link, [job()])
    link.close()
    there = sorted(os.listdir())
    assert jobs(*words.split()) == (code, "", f"perwiz: {message}\n")
    assert sorted(os.listdir()) == there


def test_locked(jobs, monkeypatch):
    jobs("ingest", "ours")
    monkeypatch.setattr(database, "_PATIENCE", 0.01)
    other = sqlite3.connect("perwiz-jobs.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    message = "perwiz: perwiz-jobs.sqlite: locked by another process for 0.01 s, must be free to be written\n"
    assert jobs("ingest", "t3e") == (3, "", message)
    assert jobs("month")[0] == 0
    other.close()
    assert jobs("ingest", "t3e")[0] == 0


def test_date():
    assert date(NOON) == "2026-10-26T12:00:00Z"


@pytest.mark.parametrize("columns", [60, 80])
def test_lines_fit_a_terminal(jobs, monkeypatch, columns):
    jobs("ingest", "ours", "half", "t3e")
    monkeypatch.setattr("perwiz.words.width", lambda stream: columns)
    number = document(jobs, "top", "--all")["jobs"][0]["job"]
    for words in (
        ["job", number],
        ["month", "--month", "2026-10"],
        ["top", "--all"],
        ["faults"],
        ["mail", "--week", "2026-W43", "--domain", "example.org"],
    ):
        code, out, _ = jobs(*words)
        assert code in (0, 4)
        assert [line for line in out.splitlines() if len(line) > columns and len(line.split()) > 1] == []
