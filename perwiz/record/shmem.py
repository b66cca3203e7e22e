"""The one table of recorded routines of OpenSHMEM, and the C text of their wrappers, made from it and the header of the library.

A line is a shape (what the recorder notes), the operation it is recorded as, the routines that have it, and what their arguments are.
In names T stands for a type, N for a number of bits; those on a context (ctx_) have that argument before all others, and of what is
experimental (shmemx_) all is likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TABLE = """
put put: T_put putN putmem: to from count pe
put put_nbi: T_put_nbi putN_nbi putmem_nbi: to from count pe
iput put: T_iput iputN: to from stride from_stride count pe
p put: T_p: to value pe
signal put_signal: T_put_signal putN_signal putmem_signal: to from count at value how pe
signal put_signal_nbi: T_put_signal_nbi putN_signal_nbi putmem_signal_nbi: to from count at value how pe
get get: T_get getN getmem: to from count pe
get get_nbi: T_get_nbi getN_nbi getmem_nbi: to from count pe
get get: T_iget igetN: to from stride from_stride count pe
g get: T_g: from pe
p atomic: T_atomic_set T_atomic_add T_atomic_and T_atomic_or T_atomic_xor T_set T_add: to value pe
p atomic: T_atomic_inc T_inc: to pe
change atomic: T_atomic_fetch_add T_atomic_fetch_and T_atomic_fetch_or T_atomic_fetch_xor T_atomic_swap T_swap T_fadd: to value pe
change atomic: T_atomic_fetch_inc T_finc: to pe
change atomic: T_atomic_compare_swap T_cswap: to cond value pe
change atomic: T_atomic_fetch_add_nbi T_atomic_fetch_and_nbi T_atomic_fetch_or_nbi T_atomic_fetch_xor_nbi: fetch to value pe
change atomic: T_atomic_swap_nbi: fetch to value pe
change atomic: T_atomic_fetch_inc_nbi: fetch to pe
change atomic: T_atomic_compare_swap_nbi: fetch to cond value pe
g atomic_fetch: T_atomic_fetch T_fetch: from pe
g atomic_fetch: T_atomic_fetch_nbi: fetch from pe
wait wait_until: T_wait wait: at value
wait wait_until: T_wait_until wait_until signal_wait_until: at how value
waits wait_until: T_wait_until_all T_wait_until_any T_wait_until_all_vector T_wait_until_any_vector: at count status how value
waits wait_until: T_wait_until_some T_wait_until_some_vector: at count indices status how value
test test: T_test: at how value
tests test: T_test_all T_test_all_vector: at count status how value
tests test: T_test_some T_test_some_vector: at count indices status how value
test_any test: T_test_any T_test_any_vector: at count status how value
set_lock set_lock: set_lock: at
set_lock clear_lock: clear_lock: at
test_lock test_lock: test_lock: at
only fence: fence:
only quiet: quiet:
all barrier_all: barrier_all:
all sync_all: sync_all:
set barrier: barrier: start log size sync
set sync: sync: start log size sync
broadcast broadcast: broadcastN: to from count root start log size sync
collect collect: collectN: to from count start log size sync
collect fcollect: fcollectN: to from count start log size sync
alltoall alltoall: alltoallN: to from count start log size sync
alltoall alltoall: alltoallsN: to from stride from_stride count start log size sync
reduce reduce: T_and_to_all T_or_to_all T_xor_to_all: to from count start log size work sync
reduce reduce: T_max_to_all T_min_to_all T_sum_to_all T_prod_to_all: to from count start log size work sync
set sync: team_sync: team
set team_split: team_split_strided: team start stride size config mask new
set team_split: team_split_2d: team x x_config x_mask x_new y_config y_mask y_new
broadcast broadcast: T_broadcast broadcastmem: team to from count root
collect collect: T_collect collectmem: team to from count
collect fcollect: T_fcollect fcollectmem: team to from count
alltoall alltoall: T_alltoall alltoallmem: team to from count
alltoall alltoall: T_alltoalls alltoallsmem: team to from stride from_stride count
reduce reduce: T_and_reduce T_or_reduce T_xor_reduce T_max_reduce T_min_reduce T_sum_reduce T_prod_reduce: team to from count
malloc malloc: malloc: bytes
malloc malloc: calloc align malloc_with_hint: some bytes
malloc realloc: realloc: old bytes
all free: free: old
"""
BY_HAND = ("init", "finalize", "global_exit")
"""Operations whose wrappers are written out, in shmem.c."""
_SHAPES = {
    "put": "put_to_pe(call, {to}, (int64_t){count} * {size}, (int64_t){count} * {size}, {pe});",
    "iput": "put_to_pe(call, {to}, (int64_t){count} * {size}, (int64_t){count} * {size} * {stride}, {pe});",
    "p": "put_to_pe(call, {to}, {size}, {size}, {pe});",
    "signal": "put_to_pe(call, {at}, (int64_t){count} * {size}, sizeof *{at}, {pe});",
    "get": "got_from_pe(call, (int64_t){count} * {size}, {pe});",
    "g": "got_from_pe(call, {size}, {pe});",
    "change": "put_to_pe(call, {to}, {size}, {size}, {pe}); call->received = {size};",
    "wait": "symmetric(call, {at}, {size});",
    "waits": "symmetric(call, {at}, (int64_t){count} * {size});",
    "test": "symmetric(call, {at}, {size}); call->flags |= result ? FOUND : 0;",
    "tests": "symmetric(call, {at}, (int64_t){count} * {size}); call->flags |= result ? FOUND : 0;",
    "test_any": "symmetric(call, {at}, (int64_t){count} * {size}); call->flags |= result < {count} ? FOUND : 0;",
    "set_lock": "symmetric(call, {at}, {size});",
    "test_lock": "symmetric(call, {at}, {size}); call->flags |= result ? 0 : FOUND;",
    "only": "",
    "all": "together(me, call, MPI_COMM_WORLD);",
    "malloc": "together(me, call, MPI_COMM_WORLD); heap(result);",
    "set": "{members};",
    "broadcast": "int64_t bytes = (int64_t){count} * {size}; *(rooted(call, {members}, {root}) ? &call->sent : &call->received) = bytes;",
    "collect": "call->sent = (int64_t){count} * {size}; call->received = call->sent * {members}->size;",
    "alltoall": "call->sent = call->received = (int64_t){count} * {size} * {members}->size;",
    "reduce": "{members}; call->sent = call->received = (int64_t){count} * {size};",
}
"""Lines of C behind the call, with the arguments by what they are; `size` is that of an element, `members` are the PEs that take part."""
_DECLARED = re.compile(r"([\w\s*]+?)\bp(shmemx?_\w+)\s*\(([^;(){]*)\)\s*;")


class _Line(NamedTuple):
    shape: str
    operation: str
    roles: tuple[str, ...]


class _Prototype(NamedTuple):
    """A routine as a header declares it."""

    name: str
    result: str
    arguments: tuple[str, ...]


def _table() -> dict[str, _Line]:
    """Return the lines by the patterns of names."""
    out = {}
    for text in TABLE.strip().splitlines():
        kinds, names, roles = (part.strip() for part in text.split(":"))
        shape, operation = kinds.split()
        for name in names.split():
            pattern = re.sub("N(?=_|$)", r"(\\d+)", name.replace("T_", "([a-z0-9]+)_"))
            out[pattern] = _Line(shape, operation, tuple(roles.split()))
    return out


def operations() -> list[str]:
    """Return the names of the operations."""
    listed = (line.operation for line in _table().values())
    return [f"shmem_{name}" for name in dict.fromkeys((*BY_HAND, *listed))]


def prototypes(header: str) -> list[_Prototype]:
    """Return the profiled routines that a preprocessed header declares."""
    text = re.sub(r'^#.*$|__attribute__\s*\(\(visibility\s*\("default"\)\)\)|\bextern\b', "", header, flags=re.MULTILINE)
    found = {}
    for result, name, words in _DECLARED.findall(text):
        arguments = tuple(" ".join(word.split()) for word in words.split(","))
        found[name] = _Prototype(name, " ".join(result.split()), () if arguments == ("void",) else arguments)
    return list(found.values())


def _line_of(name: str) -> tuple[_Line, str, bool] | None:
    """Return what is noted of a routine, the bits of an element if its name has them, and whether it is on a context."""
    base = name.partition("_")[2]
    for pattern, line in _table().items():
        if match := re.fullmatch(f"(ctx_)?{pattern}", base):
            bits = next((group for group in match.groups()[1:] if group and group.isdigit()), "")
            return line, bits, bool(match[1])
    return None


def _size(line: _Line, bits: str, names: dict[str, str]) -> str:
    if bits:
        return str(int(bits) // 8)
    pointer = next((names[role] for role in ("to", "from", "at") if role in names), "")
    return f"(int64_t)sizeof *{pointer}" if pointer else ""


def wrapper(prototype: _Prototype) -> str:
    """Return the wrapper of a routine, or nothing if it is not recorded."""
    found = _line_of(prototype.name)
    if found is None:
        return ""
    line, bits, on_context = found
    given = [re.search(r"\w+$", argument.removesuffix("[]"))[0] for argument in prototype.arguments]  # type: ignore[index]
    roles = ("context", *line.roles) if on_context else line.roles
    if len(roles) != len(given):
        return ""
    names = dict(zip(roles, given, strict=True))
    where = [names.get(role, "") for role in ("start", "log", "size")]
    members = f"TEAM(me, call, {names['team']})" if "team" in names else f"active(me, call, {', '.join(where)})"
    noted = _SHAPES[line.shape].format(**{**names, "members": members, "size": _size(line, bits, names)})
    return "\n".join(_text(prototype, f"p{prototype.name}({', '.join(given)})", line, noted, names.get("count", "0")))


def _text(prototype: _Prototype, call: str, line: _Line, noted: str, count: str) -> Iterator[str]:
    void = prototype.result == "void"
    yield f"{prototype.result} ({prototype.name})({', '.join(prototype.arguments) or 'void'})"
    yield "{"
    yield f"    Thread *me = enter(R_shmem_{line.operation}, __builtin_return_address(0));"
    yield "    if (!me) {" if void else "    if (!me)"
    yield f"        {call};" if void else f"        return {call};"
    if void:
        yield "        return;"
        yield "    }"
    yield f"    {call};" if void else f"    {prototype.result} result = {call};"
    yield "    Call *call = leave(me, MPI_SUCCESS);"
    yield "    (void)call;"
    yield f"    {noted}"
    yield f"    commit_of(me, (int64_t){count});"
    if not void:
        yield "    return result;"
    yield "}"
    yield ""


def source(header: str) -> str:
    """Return all wrappers for a library with this preprocessed header."""
    return "\n".join(['#include "shmem.c"', "", *(text for one in prototypes(header) if (text := wrapper(one)))])
