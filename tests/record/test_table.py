"""The table of routines and what is made from it."""

import re

from perwiz.record import wrap, wrap_fortran
from perwiz.record.build import HERE, mpi_of
from perwiz.record.routines import BY_HAND, counted, routines


def by_name(name):
    return next(routine for routine in routines() if routine.name == name)


def test_table__no_routine_twice():
    names = [*BY_HAND, *(routine.name for routine in routines())]
    assert len(names) == len(set(names))


def test_numbers__those_that_are_no_calls_are_as_in_the_header():
    listed = re.search(r"enum \{ (OP_NONE.*) \};", (HERE / "recorder.h").read_text(encoding="utf-8"))
    assert listed
    assert listed[1].split(", ") == ["OP_NONE", "OP_MARK", "OP_BEGIN", "OP_END", "OP_FIRST"]
    assert wrap.numbers()[:5] == ["", "flush", "begin", "end", "MPI_Init"]


def test_wrapper__c():
    text = wrap.wrapper(by_name("Send"))
    assert text.startswith("int MPI_Send(const void *sbuf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)\n")
    assert "PMPI_Send(sbuf, count, type, dest, tag, comm)" in text


def test_wrapper__large_counts():
    text = wrap.wrapper(by_name("Alltoallv"), large=True)
    assert text.startswith("int MPI_Alltoallv_c(const void *sbuf, const MPI_Count scounts[], const MPI_Aint sdispls[]")


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
