"""The text form of records: the paper's Fig. 3, what perwiz writes, and what is neither."""

from __future__ import annotations

import pytest

from counters import NOON, NOW, OURS, T3E, job
from perwiz.jobs.record import Counts, RecordError, checked, date
from perwiz.jobs.store import form


def body(text):
    lines = text.splitlines(keepends=True)[1:]
    return "".join(line for line in lines if ": E <" not in line)


def parsed(text, written="Nov 28 22:09:57"):
    return form.parse(body(text), "hwwt3e", 56770, written, NOW)


def test_t3e__averages_times_processes():
    # Fig. 3: 4 processes; 93.2 s of 113 s in MPI, 373 and 451 s times processes; the overhead of each 0.154 s.
    job = parsed(T3E)
    assert (job.size, job.user, job.program, job.mpi, job.language, job.pid) == (4, "843", "./mpi_bench2", "mpt.1.2.1.0", "", 56770)
    assert (job.inside, job.all, job.overhead) == (373, 451, pytest.approx(0.616))
    assert job.routines["send"] == pytest.approx(Counts(5376, 11.76, 3.76e9, 3.76e9, 3.76e9))
    assert job.routines["barrier"] == pytest.approx(Counts(596, 51.6, 0, 0, 0))
    assert list(job.routines) == ["send", "recv", "barrier", "bcast", "alltoall", "reduce", "comm_size", "init", "finalize"]


def test_t3e__receives_count_buffers_and_alltoall_one_partner():
    # Section VII: recv at most what was sent, 4 * 9.4e8; alltoall times the size of the job.
    job = parsed(T3E)
    assert job.routines["recv"][3:] == pytest.approx((3.84e9, 3.76e9))
    assert job.routines["alltoall"][3:] == pytest.approx((3200, 12800))


def test_t3e__the_year_is_the_last_that_is_past():
    job = parsed(T3E)
    assert date(job.ended) == "2025-11-28T22:09:57Z"
    assert job.ended - job.began == pytest.approx(451 / 4)
    assert not job.dated
    later = form.parse(body(T3E), "hwwt3e", 56770, "Nov 28 22:09:57", NOW + 5 * 365 * 86_400)
    assert date(later.ended) == "2030-11-28T22:09:57Z"
    assert later.identity() == job.identity()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2.000e+09 / inside", "2.000e+-inf / inside", "could not convert string to float: '2.000e+-inf', must be a number"),
        ("2.000e+09 / inside", "nan / inside", "counter instructions is nan, must be a number from 0 to 1e+18"),
        ("sent= 42357", f"sent= {'9' * 400}", "int too large to convert to float, must be a number"),
        (
            "size = n = 4 ",
            f"size = n = {'9' * 5000} ",
            "Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits",
        ),
    ],
)
def test_ours__numbers_that_are_none(old, new, message):
    assert OURS.count(old) == 1
    with pytest.raises(RecordError) as error:
        checked(form.parse(body(OURS.replace(old, new)), "n017", 4711, "Oct 26 12:00:01", NOW), NOW)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inside": 103}, "time of mpi is 103 s, must be at most that of all, 100 s"),
        ({"inside": 101}, ""),
        ({"inside": 199, "more": {"threads": 8}}, ""),
        ({"inside": 210, "more": {"threads": 8}}, "time of mpi is 210 s, must be at most that of all, 200 s"),
        ({"routines": {"send": Counts(1, 30, 0, 0, 0), "recv": Counts(1, 22, 0, 0, 0)}}, "time of all routines is 52 s, must be at most"),
        ({"routines": {"send": Counts(1, 30, 0, 0, 0), "recv": Counts(1, 20.5, 0, 0, 0)}}, ""),
        (
            {"all": 120},
            "time of all is 120 s, must be at most 108 s, that of 4 processes from 2026-10-26T11:59:35Z to 2026-10-26T12:00:00Z",
        ),
        ({"all": 108}, ""),
    ],
)
def test_contradictions__a_part_longer_than_the_whole(changes, message):
    """A job of 4 processes in 25 s, dates in whole seconds, and numbers of three digits."""
    if not message:
        assert checked(job(**changes), NOW)
        return
    with pytest.raises(RecordError) as error:
        checked(job(**changes), NOW)
    assert str(error.value).startswith(message)


def test_ours__exact_sums():
    job = form.parse(body(OURS), "n017", 4711, "Oct 26 12:00:01", NOW)
    assert job.routines["isend"] == Counts(66, 0.484, 42258, 42357, 42357)
    assert job.routines["waitall"] == Counts(20, 20, 160, 42357, 42357)
    assert job.routines["barrier"].calls == 4
    assert (job.language, job.began, job.ended, job.dated) == ("Fortran", NOON - 9, NOON + 1, True)
    assert job.environment == {"UCX_TLS": "rc,sm", "OMP_NUM_THREADS": "2"}
    assert job.more == {
        "threads": 8,
        "counters": {"instructions": (2e9, 1e9)},
        "sizes": {"isend": "0:3 1:1 4:62", "waitall": "1024:20"},
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size = n", "seize = n", "no line 'size = n = ... / avg. on each PE:', must be a whole record"),
        ("time * size", "time * sighs", "no line 'time * size', must be a whole record"),
        ("1344 calls 2.94", "many calls 2.94", "could not convert string to float: 'many', must be a number"),
        ("mpi=   3.73e+02", "mpi=   3.73f+02", "could not convert string to float: '3.73f+02', must be a number"),
        ("bcast ", "reduce ", "routine reduce twice, must be there once"),
        ("barrier ", "it was a dark and stormy night\nbarrier ", "line 'it was a dark and stormy night', must be one of a record"),
    ],
)
def test_refused(old, new, message):
    with pytest.raises(RecordError) as caught:
        parsed(T3E.replace(old, new))
    assert str(caught.value) == message


@pytest.mark.parametrize("written", ["Foo 28 22:09:57", "Feb 30 00:00:00"])
def test_refused__no_date(written):
    with pytest.raises(RecordError, match=f"^date '{written}', must be as Nov 28 22:09:57$"):
        parsed(T3E, written)
