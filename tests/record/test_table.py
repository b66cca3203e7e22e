"""The table of routines and what is made from it."""

import os
import re
import subprocess

from perwiz.record import wrap, wrap_fortran
from perwiz.record.build import HERE, mpi_of
from perwiz.record.routines import BY_HAND, COLLECTIVE, counted, routines


def by_name(name):
    return next(routine for routine in routines() if routine.name == name)


GROUPS = (
    *(r"I?[bsr]?send", r"I?m?recv", r"I?sendrecv(_replace)?", r"I?m?probe", r"[bsr]?send_init", r"recv_init", r"start(all)?"),
    *(r"wait(all|any|some)?", r"test(all|any|some)?", r"cancel", r"request_(free|get_status)", r"p(send|recv)_init", r"pready.*|parrived"),
    *(r"(neighbor_|ineighbor_|i)?(allgather|alltoall)[vw]?(_init)?", r"i?(barrier|bcast|reduce|allreduce|scan|exscan)(_init)?"),
    *(r"i?(gather|scatter)v?(_init)?", r"i?reduce_scatter(_block)?(_init)?", r"comm_(i?dup|create|split|free|disconnect|set_name).*"),
    *(r"comm_(accept|connect|join|spawn).*", r"intercomm_.*", r"(cart|graph|dist_graph)_(create|sub|create_adjacent)", r"session_.*"),
    *(r"win_(create|allocate|free|fence|start|complete|post|wait|test|lock|unlock|flush|sync).*", r"r?(put|get|accumulate|get_accumulate)"),
    r"fetch_and_op|compare_and_swap",
)
"""Routines that the table must have: point-to-point, probes, persistent, collectives, neighbourhoods, communicators, topologies, RMA."""
LEFT_OUT = (
    r"MPI_Request_get_status\w*|MPI_\w+_(keyval|attr|errhandler)|MPI_Session_(?!init|finalize)\w+|MPI_Win_\w+_fn|MPI_Comm_disconnect_fn"
)
"""Not in it: a request only asked for, and what only asks or keeps."""
NEWER = (
    r"MPI_(P(send|recv)_init|Pready\w*|Parrived|Isendrecv\w*|Session_\w+|\w+_from_groups?|Comm_idup_with_info|(?![BRS]*send|Recv)\w+_init)"
)
"""Not in MPI 3."""


def prototypes(mpicc):
    """Return the arguments of each MPI routine that has a PMPI twin, as the header of an MPI declares them."""
    text = subprocess.run([mpicc, "-E", "-include", "mpi.h", "-x", "c", os.devnull], capture_output=True, text=True, check=True).stdout
    found = {
        name: " ".join(words.split()) for name, words in re.findall(r"\bint\s+(P?MPI_\w+)\s*\(([^;{]*?)\)\s*(?:__attribute__[^;]*)?;", text)
    }
    return {name: words for name, words in found.items() if f"P{name}" in found and not re.search(r"_(c|x|c2f|f2c)$", name)}


def test_table__is_that_of_the_header(mpi):
    """Every routine of the groups is recorded or left out on purpose, and has as many arguments as the MPI says."""
    header = prototypes(mpi.mpicc)
    assert len(header) > 300
    recorded = {f"MPI_{routine.name}": len(routine.arguments) for routine in routines()}
    known = recorded.keys() | {f"MPI_{name}" for name in BY_HAND}
    wanted = {name for name in header if re.fullmatch(f"MPI_({'|'.join(GROUPS)})", name, re.IGNORECASE)}
    assert {name for name in wanted - known if not re.fullmatch(LEFT_OUT, name)} == set()
    assert {name for name in known - header.keys() if not re.fullmatch(NEWER, name)} == set()
    assert {name: header[name] for name, count in recorded.items() if name in header and header[name].count(",") + 1 != count} == {}


def test_table__no_routine_twice():
    names = [*BY_HAND, *(routine.name for routine in routines())]
    assert len(names) == len(set(names))


def test_numbers__those_that_are_no_calls_are_as_in_the_header():
    listed = re.search(r"enum \{\s+(OP_NONE[^}]*),\s+\};", (HERE / "recorder.h").read_text(encoding="utf-8"))
    assert listed
    names = re.split(r",\s+", listed[1])
    assert names[:4] == ["OP_NONE", "OP_MARK", "OP_BEGIN", "OP_END"]
    told = [name.replace(" ", "_").removeprefix("omp_") for name in wrap.numbers()[4 : len(names) - 1]]
    assert [*names[4:-1], names[-1]] == [*(f"OP_{name.upper()}" for name in told), "OP_FIRST"]
    assert wrap.numbers()[:4] == ["", "flush", "begin", "end"]
    assert wrap.numbers()[len(names) - 1] == "MPI_Init"


def test_wrapper__c():
    text = wrap.wrapper(by_name("Send"))
    assert text.startswith("int MPI_Send(const void *sbuf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)\n")
    assert "PMPI_Send(sbuf, count, type, dest, tag, comm)" in text


def test_wrapper__large_counts():
    text = wrap.wrapper(by_name("Alltoallv"), large=True)
    assert text.startswith("int MPI_Alltoallv_c(const void *sbuf, const MPI_Count scounts[], const MPI_Aint sdispls[]")


def test_wrapper__a_persistent_collective_starts_as_its_twin():
    """MPI 4 has a persistent routine for each collective that returns at once; it takes an Info before the request."""
    twins = {routine.name for routine in routines() if routine.shape in COLLECTIVE and routine.name.endswith("_init")}
    assert twins == {
        f"{routine.name[1:].capitalize()}_init" for routine in routines() if routine.shape in COLLECTIVE and routine.name[0] == "I"
    }
    assert {"Barrier_init", "Reduce_scatter_block_init", "Neighbor_alltoallw_init", "Exscan_init"} <= twins
    text = wrap.wrapper(by_name("Bcast_init"))
    assert text.startswith(
        "int MPI_Bcast_init(void *rbuf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)\n"
    )
    assert "persistent(call, *request, R_Ibcast, 0);" in text


def test_wrapper__fortran_converts_only_what_is_noted():
    text = wrap_fortran.fortran(by_name("Cart_create"))
    assert "PMPI_Comm_f2c(*f_comm)" in text
    assert "*f_ndims;" not in text


def test_source__only_what_the_mpi_has():
    text = wrap.source({"MPI_Send", "MPI_Recv", "MPI_Recv_c"})
    assert re.findall(r"^int (\w+)\(", text, re.MULTILINE) == ["MPI_Send", "MPI_Recv", "MPI_Recv_c"]
    assert re.findall(r"^void (\w+)\(", text, re.MULTILINE) == ["mpi_send_", "F08_CHOICE", "mpi_recv_", "F08_CHOICE"]


def test_counted__what_is_sent_else_received_else_requests():
    names = ("Send", "Irecv", "Sendrecv", "Gather", "Gatherv", "Scatter", "Scatterv", "Alltoallv", "Get", "Waitall", "Wait", "Barrier")
    found = [counted(by_name(name)) for name in names]
    assert found == ["count", "count", "scount", "scount", "scount", "rcount", "rcount", "0", "rcount", "n", "0", "0"]
    assert "commit_of(me, scount);" in wrap.wrapper(by_name("Gather"), large=True)


def test_modes():
    sends = {name: wrap.wrapper(by_name(name)) for name in ("Send", "Ssend", "Irsend", "Ibsend", "Ssend_init", "Isend")}
    found = {name: re.search(r"flags \|= (\w+);", text)[1] for name, text in sends.items()}
    assert list(found.values()) == ["0", "SYNCHRONOUS", "READY", "BUFFERED", "SYNCHRONOUS", "0"]


def test_versions():
    assert mpi_of('#define MPICH_VERSION "4.0.2"\n') == "MPICH 4.0.2"
    header = "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 11\n"
    assert mpi_of(header) == "Open MPI 5.0.11"
    assert mpi_of("") == "MPI"
