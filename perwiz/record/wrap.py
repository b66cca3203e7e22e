"""The C text of all wrappers, made from the table of routines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perwiz.record import shmem
from perwiz.record.routines import BY_HAND, Argument, Routine, counted, routines
from perwiz.record.shapes import Shape, shape_of

NO_CALLS = ("", "flush", "begin", "end", "task end", "task needs")
"""Operations of records that are no calls, in the order of recorder.h."""
OF_THREADS = (
    *("omp_fork", "omp_idle", "omp_join", "omp_barrier", "omp_implicit_barrier", "omp_critical", "omp_lock", "omp_ordered", "omp_release"),
    *("omp_task_create", "omp_task", "omp_taskwait"),
    *("pthread_create", "pthread_idle", "pthread_join", "pthread_mutex_lock", "pthread_release", "pthread_cond_wait"),
    *("pthread_cond_signal", "pthread_barrier_wait", "process_end"),
)
"""Calls of threads, likewise."""
_C_TYPES = {
    "buffer": "{variant} {name}",
    "count": "{count} {name}",
    "counts": "const {count} {name}[]",
    "displs": "const {displ} {name}[]",
    "unit": "{unit} {name}",
    "handle": "MPI_{variant} {name}",
    "handles": "const MPI_{variant} {name}[]",
    "int": "int {name}",
    "ints": "const int {name}[]",
    "aints": "const MPI_Aint {name}[]",
    "aint": "MPI_Aint {name}",
    "int out": "int *{name}",
    "ints out": "int {name}[]",
    "parts": "PARTS int {name}[]",
    "string": "const char *{name}",
    "strings": "char *{name}[]",
    "lists": "char **{name}[]",
    "wide": "MPI_Count {name}",
    "new": "MPI_{variant} *{name}",
    "old": "MPI_{variant} *{name}",
    "requests": "MPI_Request {name}[]",
    "status": "MPI_Status *{name}",
    "statuses": "MPI_Status {name}[]",
}
_SMALL = {"count": "int", "displ": "int", "unit": "int"}
_LARGE = {"count": "MPI_Count", "displ": "MPI_Aint", "unit": "MPI_Aint"}
_LARGE_KINDS = {"count", "counts", "displs", "unit"}
_NOT_IN_SMPI = {"Compare_and_swap", "Comm_spawn_multiple"}
"""Declared there with other types than the standard has."""


def numbers(with_shmem: bool = False) -> list[str]:
    """Return the name of every operation, by number; those of OpenSHMEM only where there is one."""
    of_mpi = (f"MPI_{name}" for name in (*BY_HAND, *(routine.name for routine in routines())))
    return [*NO_CALLS, *OF_THREADS, *of_mpi, *(shmem.operations() if with_shmem else ())]


def names(with_shmem: bool = False) -> str:
    """Return the numbers and names of the operations as C."""
    listed = numbers(with_shmem)
    wrapped = [(number, name) for number, name in enumerate(listed) if name.startswith(("MPI_", "shmem_"))]
    rows = [f"    R_{name.removeprefix('MPI_')} = {number}," for number, name in wrapped]
    texts = [f'    "{name}",' for name in listed]
    count = f"static const int pw_name_count = {len(listed)};"
    return "\n".join(["enum {", *rows, "};", "static const char *const pw_names[] = {", *texts, "};", count, ""])


def _declared(argument: Argument, types: dict[str, str]) -> str:
    kind = argument.kind if argument.kind != "int" or argument.variant != "out" else "int out"
    kind = "ints out" if argument.kind == "ints" and argument.variant == "out" else kind
    text = _C_TYPES[kind].format(name=argument.name, variant=argument.variant, **types)
    return text.replace("* ", "*")


def _statuses(routine: Routine) -> str:
    kinds = {argument.kind for argument in routine.arguments}
    if "status" in kinds:
        return "MPI_Status own; if (status == MPI_STATUS_IGNORE) status = &own;"
    if "statuses" in kinds:
        return "reserve(me, n); if (statuses == MPI_STATUSES_IGNORE) statuses = me->statuses;"
    return ""


def _plain(text: str) -> str:
    text = re.sub(r"TYPE\((\w+), (\w+)\)", r"\1[\2]", text)
    return re.sub(r"INDEX\(([^)]*)\)", r"(\1)", text)


def _posts(routine: Routine) -> bool:
    return any(argument.kind == "new" and argument.variant == "Request" for argument in routine.arguments)


def wrapper(routine: Routine, large: bool = False) -> str:
    """Return the wrapper of a routine as C calls it; `large`: that of its large-count variant."""
    shape = shape_of(routine.shape, routine.name, _posts(routine))
    name = f"MPI_{routine.name}{'_c' if large else ''}"
    types = _LARGE if large else _SMALL
    declared = ", ".join(_declared(argument, types) for argument in routine.arguments)
    call = f"P{name}({', '.join(argument.name for argument in routine.arguments)})"
    return "\n".join(
        [
            f"int {name}({declared})",
            "{",
            f"    Thread *me = enter(R_{routine.name}, __builtin_return_address(0));",
            "    if (!me)",
            f"        return {call};",
            *_body(f"int code = {call};", shape, _plain(f"{shape.before} {_statuses(routine)}"), _plain(shape.after), counted(routine)),
            "    return code;",
            "}",
            "",
        ]
    )


def _body(call: str, shape: Shape, before: str, after: str, count: str) -> Iterator[str]:
    yield f"    {before.strip()}"
    yield f"    {call}"
    yield "    Call *call = leave(me, code);"
    yield "    (void)call;"
    yield "    if (code == MPI_SUCCESS) {"
    yield f"        {after.strip()}"
    yield "    }"
    yield f"    commit_of(me, {count});"
    yield f"    {shape.last}"


def has_large(routine: Routine) -> bool:
    """Return whether the standard has a large-count variant of a routine."""
    return any(argument.kind in _LARGE_KINDS for argument in routine.arguments)


def source(declared: set[str]) -> str:
    """Return all wrappers for an MPI whose header declares the functions `known`."""
    from perwiz.record.wrap_fortran import fortran

    parts = ['#include "wrappers_special.c"', ""]
    for routine in routines():
        if f"MPI_{routine.name}" in declared:
            both = [wrapper(routine), fortran(routine)]
            parts += ["#ifndef SMPI_H", *both, "#endif"] if routine.name in _NOT_IN_SMPI else both
        if has_large(routine) and f"MPI_{routine.name}_c" in declared:
            parts.append(wrapper(routine, large=True))
    return "\n".join(parts)
