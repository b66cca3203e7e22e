"""OpenSHMEM: wrappers from its header, and programs with waits that are known. Skipped where there is none.

PERWIZ_SHMEM names a folder with oshcc and oshrun (`.ci/run` makes one); else those on the path are taken.
"""

import os
import re
import shutil
from collections import Counter

import pytest

import mpis
from perwiz.formats.recorded import read as recorded
from perwiz.patterns.search import search
from perwiz.record import programs, shmem, wrap
from perwiz.trace import operations
from perwiz.trace.tables import LINKS
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

HEADER = """
# 12 "shmem.h" 1
#define SHMEM_MAJOR_VERSION 1
__attribute__((visibility("default"))) void pshmem_init(void);
extern void pshmem_long_put(long *target,
                            const long *source, size_t len, int pe);
void pshmem_put32_nbi(void *target, const void *source, size_t len, int pe);
long pshmem_ctx_long_atomic_fetch_add(shmem_ctx_t ctx, long *target, long value, int pe);
int pshmem_test_lock(volatile long *lock);
void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync);
int pshmem_my_pe(void);
void pshmem_long_wait(long *addr);
int pshmem_team_sync(shmem_team_t team);
int pshmem_long_broadcast(shmem_team_t team, long *dest, const long *source, size_t nelems, int PE_root);
size_t pshmem_long_test_any(long *ivars, size_t nelems, const int *status, int cmp, long value);
"""
PUT = """
void (shmem_long_put)(long *target, const long *source, size_t len, int pe)
{
    Thread *me = enter(R_shmem_put, __builtin_return_address(0));
    if (!me) {
        pshmem_long_put(target, source, len, pe);
        return;
    }
    pshmem_long_put(target, source, len, pe);
    Call *call = leave(me, MPI_SUCCESS);
    (void)call;
    put_to_pe(call, target, (int64_t)len * (int64_t)sizeof *target, (int64_t)len * (int64_t)sizeof *target, pe);
    commit_of(me, (int64_t)len);
}
"""
MS = 1_000_000
PUT_IN = {
    "barrier_wait": "barrier_all",
    "wait_until_wait": "wait_until",
    "lock_competition": "set_lock",
    "latebroadcast": "broadcast",
    "wait_nxn": "reduce",
}
"""Pattern -> routine that waits."""


def test_wrappers__of_what_the_header_declares():
    """What only asks is not recorded, nor a routine that has other arguments here."""
    text = shmem.source(HEADER)
    assert PUT in text
    wrapped = re.findall(r"^(\w+) \((\w+)\)", text, re.MULTILINE)
    kinds = [("void", "long_put"), ("void", "put32_nbi"), ("long", "ctx_long_atomic_fetch_add"), ("int", "test_lock"), ("void", "barrier")]
    kinds += [("int", "team_sync"), ("int", "long_broadcast"), ("size_t", "long_test_any")]
    assert wrapped == [(result, f"shmem_{name}") for result, name in kinds]
    assert "put_to_pe(call, target, (int64_t)len * 4, (int64_t)len * 4, pe);" in text
    assert (
        "put_to_pe(call, target, (int64_t)sizeof *target, (int64_t)sizeof *target, pe); call->received = (int64_t)sizeof *target;" in text
    )
    assert "active(me, call, PE_start, logPE_stride, PE_size);" in text
    assert "    TEAM(me, call, team);\n" in text
    assert "*(rooted(call, TEAM(me, call, team), PE_root) ? &call->sent : &call->received) = bytes;" in text
    assert "symmetric(call, ivars, (int64_t)nelems * (int64_t)sizeof *ivars); call->flags |= result < nelems ? FOUND : 0;" in text


def test_operations__each_has_an_op():
    names = shmem.operations()
    assert len(names) == len(set(names))
    assert sorted(name for name in operations.OPS if name.startswith("shmem_")) == sorted(names)
    assert (wrap.numbers(True)[-len(names) :], set(names) & set(wrap.numbers())) == (names, set())


def test_compiler__that_of_the_program(tmp_path):
    """A program that loads the library of OpenSHMEM is recorded with the oshcc beside its launcher, others with its mpicc."""
    for name in ("mpiexec", "oshrun", "mpicc", "oshcc", "plain"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "pes").write_bytes(b"\x7fELF ... liboshmem.so.40")
    (tmp_path / "pes").chmod(0o755)
    found = {
        (launcher, program): os.path.basename(programs.mpicc_for([str(tmp_path / launcher), str(tmp_path / program)]))
        for launcher in ("mpiexec", "oshrun")
        for program in ("plain", "pes")
    }
    assert {key: name for key, name in found.items() if key[1] == "pes"} == dict.fromkeys((("mpiexec", "pes"), ("oshrun", "pes")), "oshcc")
    assert {key: name for key, name in found.items() if key[1] == "plain"} == dict.fromkeys(
        (("mpiexec", "plain"), ("oshrun", "plain")), "mpicc"
    )


@pytest.fixture
def oshmem(monkeypatch, built):
    """Return (oshrun and its options, the compiled program)."""
    folder = os.environ.get("PERWIZ_SHMEM", "")
    oshrun, oshcc = (shutil.which(name, path=folder or None) for name in ("oshrun", "oshcc"))
    if not oshrun or not oshcc:
        pytest.skip("no OpenSHMEM here: neither PERWIZ_SHMEM nor oshrun with its oshcc on the path")
    mpis.installed()
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    mpis.made(oshcc, built)
    return [oshrun, "--oversubscribe", "-np", "2", mpis.compiled(oshcc, "shmem.c", built)]


def names_of(trace, location):
    mine = trace.calls.op[trace.calls.location == location]
    return [operations.OPS[op].removeprefix("shmem_") for op in mine.tolist()]


@pytest.mark.slow
def test_recorded__every_shape(oshmem, record):
    """One call each, from both PEs, with target and bytes; tests in vain are as many as there were."""
    code, folder, _, said = record([*oshmem, "all"])
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    check(trace)
    counts = Counter(names_of(trace, 0))
    assert counts.pop("test") >= 1
    assert counts.pop("test_lock") >= 1
    once = "init malloc realloc fence quiet sync_all wait_until atomic_fetch clear_lock barrier sync collect fcollect alltoall barrier_all"
    more = {"put": 4, "put_nbi": 1, "get": 2, "get_nbi": 1, "atomic": 3}
    assert counts == Counter([*once.split(), "reduce", "free", "finalize"], **more)
    calls, first = trace.calls, int((trace.calls.location == 0).sum())
    rows = [row for row in range(first) if operations.OPS[calls.op[row]] in ("shmem_put", "shmem_put_nbi", "shmem_get", "shmem_get_nbi")]
    moved = [(int(calls.peer[row]), int(calls.bytes_sent[row]), int(calls.bytes_received[row])) for row in rows]
    assert moved == [*((1, size, 0) for size in (32, 24, 5, 16, 4)), *((1, 0, size) for size in (24, 9, 8))]
    both = {operations.OPS[calls.op[row]]: (int(calls.bytes_sent[row]), int(calls.bytes_received[row])) for row in range(first)}
    assert {name: both[f"shmem_{name}"] for name in ("collect", "fcollect", "alltoall", "reduce")} == {
        "collect": (8, 16),
        "fcollect": (12, 24),
        "alltoall": (32, 32),
        "reduce": (12, 12),
    }
    assert trace.counts.lacking == {}
    assert trace.communicators.names == ("MPI_COMM_WORLD", "PEs 0 to 0", "PEs 1 to 1")
    linked = Counter(LINKS[kind] for kind in trace.links.kind.tolist())
    assert (linked["put"], linked["lock"], set(linked)) == (4, 1, {"put", "lock"})


@pytest.mark.slow
def test_recorded__waits_that_were_put_in(oshmem, record):
    """PE 1 comes 100 ms late everywhere, and has the lock so long: PE 0 waits for it, and without its waits it would not.

    Less where PE 0 itself was kept from running.
    """
    code, folder, _, said = record([*oshmem, "waits"])
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    check(trace)
    for engine in ("sweep", "replay"):
        assert predict(trace, [], engine=engine, clock="none").predicted.calls == trace.timeline.calls
    found, times = search(trace).instances, trace.timeline.calls
    for name, routine in PUT_IN.items():
        some = found[f"shmem_{name}"]
        some = some.where(trace.calls.location[some.call] == 0)
        call, wait = int(some.call[some.severity.argmax()]), int(some.severity.max())
        assert wait > 5 * MS, name
        assert (operations.OPS[trace.calls.op[call]], trace.calls.location[some.cause[some.severity.argmax()]]) == (f"shmem_{routine}", 1)
        new = predict(trace, [f"zero-wait e{call}"], clock="none").predicted.calls
        assert new.leave[call] - new.enter[call] == times.leave[call] - times.enter[call] - wait


@pytest.mark.slow
def test_recorded__beside_mpi(oshmem, record):
    """MPI begins the run, shmem_finalize ends it; the barriers of both are of one world."""
    code, folder, _, said = record([*oshmem, "all", "mpi"])
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    names = names_of(trace, 1)
    assert (names[:2], names[-2:]) == (["MPI_Init", "init"], ["MPI_Barrier", "finalize"])
    assert trace.counts.lacking == {}


@pytest.mark.slow
def test_counted__without_a_trace(oshmem, record, tmp_path):
    code, _, _, said = record([*oshmem, "all"], "--profile")
    assert (code, said) == (0, "")
    assert re.search(r"^shmem_put +4 calls .* lng= 7.60e\+01$", (tmp_path / "run").read_text(), re.MULTILINE)
