"""The C text of the Fortran entry points: they call Fortran's own PMPI routines, so that no argument needs to be translated for MPI.

Only what the recorder notes is: handles, statuses and indices, and of these only those it uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perwiz.record.routines import Argument, Routine, counted, routines
from perwiz.record.shapes import Shape, shape_of

_AS_THEY_ARE = {"buffer", "counts", "displs", "ints", "parts", "aints"}
_INTS = {"count", "int", "unit"}
_WIDE = {"aint": "MPI_Aint", "wide": "MPI_Count"}
_NOT = {routine.name for routine in routines() if {argument.kind for argument in routine.arguments} & {"string", "strings"}}
"""Fortran passes the lengths of texts behind the arguments: left alone."""


def _out(argument: Argument) -> bool:
    return argument.kind == "int" and argument.variant == "out"


def _prefix(argument: Argument) -> str:
    return argument.name if (argument.kind in _AS_THEY_ARE and argument.name != "indices") or _out(argument) else f"f_{argument.name}"


def _declared(argument: Argument) -> str:
    if argument.kind == "buffer":
        return f"void *{argument.name}"
    kind = (_WIDE | {"aints": "MPI_Aint"}).get(argument.kind, "MPI_Fint")
    return f"{kind} *{_prefix(argument)}"


def _from_fortran(argument: Argument, place: str) -> str:
    return f"PMPI_{'Type' if argument.variant == 'Datatype' else argument.variant}_f2c({place})"


def _before(argument: Argument) -> str:
    """Return C that makes an argument readable before the call."""
    name, place = argument.name, f"*f_{argument.name}"
    if argument.kind in _INTS and not _out(argument):
        return f"int {name} = {place};"
    if argument.kind in _WIDE:
        return f"{_WIDE[argument.kind]} {name} = {place};"
    if argument.kind == "handle":
        return f"MPI_{argument.variant} {name} = {_from_fortran(argument, place)};"
    if argument.kind == "old":
        return f"MPI_{argument.variant} {name}_ = {_from_fortran(argument, place)}, *{name} = &{name}_;"
    if argument.kind == "requests":
        return "MPI_Request *requests = requests_f2c(me, n, f_requests);"
    return ""


def _after(argument: Argument, count: str) -> str:
    """Return C that makes a result readable."""
    name, place = argument.name, f"*f_{argument.name}"
    if argument.kind == "new":
        return f"MPI_{argument.variant} {name}_ = {_from_fortran(argument, place)}, *{name} = &{name}_;"
    if argument.kind == "status":
        return "MPI_Status status_, *status = &status_; PMPI_Status_f2c(f_status, status);"
    if argument.kind == "statuses":
        return f"MPI_Status *statuses = statuses_f2c(me, {count}, f_statuses);"
    if name == "indices":
        return "const int *indices = indices_f2c(me, *outcount, f_indices);"
    return ""


def _ignored(routine: Routine) -> Iterator[str]:
    for argument in routine.arguments:
        if argument.kind == "status":
            yield "MPI_Fint own[FORTRAN_STATUS]; if (ignored(f_status)) f_status = own;"
        if argument.kind == "statuses":
            yield "reserve(me, n); if (all_ignored(f_statuses)) f_statuses = (MPI_Fint *)me->statuses;"


def _translated(text: str) -> str:
    text = re.sub(r"TYPE\((\w+), (\w+)\)", r"PMPI_Type_f2c(f_\1[\2])", text)
    return re.sub(r"INDEX\(([^)]*)\)", r"(\1 - 1)", text)


def _used(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _lines(routine: Routine, shape: Shape, call: str) -> Iterator[str]:
    before, after = _translated(shape.before), _translated(shape.after)
    ignored = list(_ignored(routine))
    everything = " ".join([before, after, shape.last, *ignored, counted(routine), "n" if "requests" in before + after else ""])
    made = [argument for argument in routine.arguments if argument.kind == "new" and _used(shape.last, argument.name)]
    count = "*outcount" if _used(after, "outcount") else "n"
    yield from (_before(argument) for argument in routine.arguments if _used(everything, argument.name))
    yield before
    yield from ignored
    yield call
    yield "Call *call = leave(me, code);"
    yield "if (code == MPI_SUCCESS) {"
    yield from (_after(argument, count) for argument in routine.arguments if _used(after, argument.name))
    yield f"{after} }}"
    yield f"commit_of(me, {counted(routine)});"
    yield from (_after(argument, count) for argument in made)
    yield shape.last


def _function(routine: Routine, entry: str, target: str) -> list[str]:
    """Return one entry point and the declaration of what it calls."""
    posts = any(argument.kind == "new" and argument.variant == "Request" for argument in routine.arguments)
    shape = shape_of(routine.shape, routine.name, posts)
    declared = ", ".join([*(_declared(argument) for argument in routine.arguments), "MPI_Fint *f_error"])
    given = ", ".join(_prefix(argument) for argument in routine.arguments)
    body = [f"    {line}" for line in _lines(routine, shape, f"{target}({given}, &code);") if line.strip()]
    return [
        f"extern void {target}({declared}) __attribute__((weak));",
        f"void {entry}({declared})",
        "{",
        "    MPI_Fint code = MPI_SUCCESS;",
        f"    Thread *me = enter(R_{routine.name}, __builtin_return_address(0));",
        "    if (!me) {",
        f"        {target}({given}, f_error);",
        "        return;",
        "    }",
        *body,
        "    if (f_error)",
        "        *f_error = code;",
        "}",
    ]


def fortran(routine: Routine) -> str:
    """Return the Fortran entry points of a routine, those of mpif.h and of module mpi_f08, or nothing where there are none."""
    if routine.name in _NOT:
        return ""
    lower = routine.name.lower()
    choice = "_CHOICE" if any(argument.kind == "buffer" and argument.name != "baseptr" for argument in routine.arguments) else ""
    newer = [
        line.replace("in_place(", "F08_CHOICE_IN_PLACE(") for line in _function(routine, f"F08{choice}({lower})", f"P_F08{choice}({lower})")
    ]
    names = [f"mpi_{lower}", f"mpi_{lower}__", f"MPI_{lower.upper()}"]
    aliases = [f"#pragma weak {name} = mpi_{lower}_" for name in names]
    return "\n".join([*_function(routine, f"mpi_{lower}_", f"pmpi_{lower}_"), *aliases, "#ifdef F08", *newer, "#endif", ""])
