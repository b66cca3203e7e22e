"""What the recorder notes about each shape of routine: lines of C before the call, after it, and after its record is complete.

They use the names of the arguments. `TYPE(types, k)` and `INDEX(i)` read what Fortran hands over in another form.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """Lines of C around the call of MPI."""

    after: str = ""
    before: str = ""
    last: str = ""


_POST = "post(call, *request);"
_COMM = "Comm *with = together(me, call, comm);"
_GIVE = "if (!in_place(sbuf)) call->sent = scount * size_of(stype);"
_IS_ROOT = f"{_COMM} int is_root = rooted(call, with, root); if (!idle(root)) {{"
_MADE = 'comm_made(me, was, nth, *newcomm, "{}");'
_MAKING = "int was = comm_of(me, comm)->number, nth = comm_count(me, comm);"

SHAPES = {
    "send": Shape("sent(me, call, count, type, dest, tag, comm); call->flags |= MODE_OF({name});"),
    "recv": Shape("received(me, call, source, tag, comm, status);"),
    "irecv": Shape("receiving(me, call, source, tag, comm);"),
    "send_init": Shape(
        "sent(me, call, count, type, dest, tag, comm); call->flags |= MODE_OF({name}); persistent(call, *request, 0, 0);",
    ),
    "recv_init": Shape("receiving(me, call, source, tag, comm); persistent(call, *request, 0, 0);"),
    "sendrecv": Shape("sent(me, call, scount, stype, dest, tag, comm); exchanged(me, call, source, rtag, status);"),
    "sendrecv_replace": Shape("sent(me, call, count, type, dest, tag, comm); exchanged(me, call, source, rtag, status);"),
    "isendrecv": Shape("sent(me, call, scount, stype, dest, tag, comm); post_both(call, source, rtag, rcount * size_of(rtype), *request);"),
    "isendrecv_replace": Shape(
        "sent(me, call, count, type, dest, tag, comm); post_both(call, source, rtag, count * size_of(type), *request);"
    ),
    "psend_init": Shape("sent(me, call, partitions * wide, type, dest, tag, comm); persistent(call, *request, 0, partitions);"),
    "precv_init": Shape("receiving(me, call, source, tag, comm); persistent(call, *request, 0, partitions);"),
    "pready": Shape("ready(call, active, 1);"),
    "pready_range": Shape("ready(call, active, last - first + 1);"),
    "pready_list": Shape("ready(call, active, n);"),
    "parrived": Shape("call->flags |= *flag ? FOUND : 0;"),
    "probe": Shape("probed(me, call, source, tag, comm, 1, status);"),
    "iprobe": Shape("probed(me, call, source, tag, comm, *flag, status);"),
    "mprobe": Shape("probed(me, call, source, tag, comm, 1, status); message_found(call, *message);"),
    "improbe": Shape("probed(me, call, source, tag, comm, *flag, status); if (*flag) message_found(call, *message);"),
    "mrecv": Shape(
        "message_taken(call, key); if (call->flags & RECEIVES) call->received = bytes_of(status);", "uint64_t key = KEY(*old_message);"
    ),
    "imrecv": Shape("message_taken(call, key);", "uint64_t key = KEY(*old_message);"),
    "start": Shape("start(call, *old_request);"),
    "startall": Shape(
        "start_all(me, call, n, requests); started = 1;",
        "int started = 0;",
        "if (started) start_collectives(n, requests, __builtin_return_address(0));",
    ),
    "wait": Shape("done(me, call, key, status);", "uint64_t key = KEY(*old_request);"),
    "test": Shape(
        "if (*flag) done(me, call, key, status); else call->u.request = looked_up(key);",
        "uint64_t key = KEY(*old_request); ",
    ),
    "waitall": Shape("all_done(me, call, n, statuses);", "keep(me, n, requests);"),
    "testall": Shape("call->u.request = NOBODY; if (*flag) all_done(me, call, n, statuses);", "keep(me, n, requests);"),
    "waitany": Shape("if (INDEX(*index) >= 0) done(me, call, me->keys[INDEX(*index)], status);", "keep(me, n, requests);"),
    "testany": Shape(
        "call->u.request = NOBODY; if (*flag && INDEX(*index) >= 0) done(me, call, me->keys[INDEX(*index)], status);",
        "keep(me, n, requests);",
    ),
    "waitsome": Shape("some_done(me, call, *outcount, indices, statuses);", "keep(me, n, requests);"),
    "cancel": Shape("cancelling(KEY(*old_request), call);"),
    "request_free": Shape("request_gone(key, call);", "uint64_t key = KEY(*old_request);"),
    "barrier": Shape("together(me, call, comm);"),
    "bcast": Shape(f"{_IS_ROOT} *(is_root ? &call->sent : &call->received) = count * size_of(type); }}"),
    "gather": Shape(
        f"{_IS_ROOT} if (!is_root || (!with->remote && !in_place(sbuf))) call->sent = scount * size_of(stype);"
        " if (is_root) call->received = others(with) * (rcount * size_of(rtype));"
        " if (is_root && !with->remote && in_place(sbuf)) call->sent = rcount * size_of(rtype); }"
    ),
    "gatherv": Shape(
        f"{_IS_ROOT} if (!is_root || (!with->remote && !in_place(sbuf))) call->sent = scount * size_of(stype);"
        " if (is_root) { SUM(call->received, rcounts, others(with)); call->received *= size_of(rtype);"
        " if (!with->remote && in_place(sbuf)) call->sent = AT(rcounts, with->rank) * size_of(rtype); } }"
    ),
    "scatter": Shape(
        f"{_IS_ROOT} if (!is_root || (!with->remote && !in_place(rbuf))) call->received = rcount * size_of(rtype);"
        " if (is_root) call->sent = others(with) * (scount * size_of(stype));"
        " if (is_root && !with->remote && in_place(rbuf)) call->received = scount * size_of(stype); }"
    ),
    "scatterv": Shape(
        f"{_IS_ROOT} if (!is_root || (!with->remote && !in_place(rbuf))) call->received = rcount * size_of(rtype);"
        " if (is_root) { SUM(call->sent, scounts, others(with)); call->sent *= size_of(stype);"
        " if (!with->remote && in_place(rbuf)) call->received = AT(scounts, with->rank) * size_of(stype); } }"
    ),
    "allgather": Shape(
        f"{_COMM} int64_t part_ = rcount * size_of(rtype); call->received = others(with) * part_;"
        " call->sent = in_place(sbuf) ? part_ : scount * size_of(stype);"
    ),
    "allgatherv": Shape(
        f"{_COMM} int64_t size = size_of(rtype); SUM(call->received, rcounts, others(with)); call->received *= size;"
        " call->sent = in_place(sbuf) ? AT(rcounts, with->rank) * size : scount * size_of(stype);"
    ),
    "alltoall": Shape(
        f"{_COMM} call->received = others(with) * (rcount * size_of(rtype));"
        " call->sent = in_place(sbuf) ? call->received : others(with) * (scount * size_of(stype));"
    ),
    "alltoallv": Shape(
        f"{_COMM} SUM(call->received, rcounts, others(with)); call->received *= size_of(rtype); call->sent = call->received;"
        " if (!in_place(sbuf)) { call->sent = 0; SUM(call->sent, scounts, others(with)); call->sent *= size_of(stype); }"
    ),
    "alltoallw": Shape(
        f"{_COMM} for (int k = 0; k < others(with); k++) call->received += AT(rcounts, k) * size_of(TYPE(rtypes, k));"
        " if (in_place(sbuf)) call->sent = call->received;"
        " else for (int k = 0; k < others(with); k++) call->sent += AT(scounts, k) * size_of(TYPE(stypes, k));"
    ),
    "reduce": Shape(
        f"{_IS_ROOT} int64_t bytes = count * size_of(type); if (is_root) call->received = bytes;"
        " if (!is_root || !with->remote) call->sent = bytes; }"
    ),
    "allreduce": Shape("together(me, call, comm); call->sent = call->received = count * size_of(type);"),
    "reduce_scatter": Shape(
        f"{_COMM} int64_t size = size_of(type); SUM(call->sent, rcounts, with->size); call->sent *= size;"
        " call->received = AT(rcounts, with->rank) * size;"
    ),
    "reduce_scatter_block": Shape(
        f"{_COMM} call->received = count * size_of(type); call->sent = with->size * call->received;",
    ),
    "n_allgather": Shape(f"{_COMM} {_GIVE} call->received = with->in * (rcount * size_of(rtype));"),
    "n_allgatherv": Shape(f"{_COMM} {_GIVE} SUM(call->received, rcounts, with->in); call->received *= size_of(rtype);"),
    "n_alltoall": Shape(
        f"{_COMM} call->sent = with->out * (scount * size_of(stype)); call->received = with->in * (rcount * size_of(rtype));"
    ),
    "n_alltoallv": Shape(
        f"{_COMM} SUM(call->sent, scounts, with->out); call->sent *= size_of(stype);"
        " SUM(call->received, rcounts, with->in); call->received *= size_of(rtype);"
    ),
    "n_alltoallw": Shape(
        f"{_COMM} for (int k = 0; k < with->out; k++) call->sent += AT(scounts, k) * size_of(TYPE(stypes, k));"
        " for (int k = 0; k < with->in; k++) call->received += AT(rcounts, k) * size_of(TYPE(rtypes, k));"
    ),
    "comm": Shape("call->comm = was; made = 1;", f"int made = 0; {_MAKING}", f"if (made) {_MADE.format('{name}')}"),
    "comm_idup": Shape("together(me, call, comm); post_comm(me, call, *request, comm, newcomm);"),
    "comm_group": Shape(
        "call->comm = was; made = 1;",
        "int made = 0, was = comm_of(me, comm)->number;",
        f"int nth = tag; if (made) {_MADE.format('{name}')}",
    ),
    "intercomm": Shape(
        "call->comm = was; made = 1;",
        "int made = 0, was = comm_of(me, comm)->number;",
        f"int nth = tag; if (made) {_MADE.format('{name}')}",
    ),
    "from_group": Shape("made = 1;", "int made = 0;", 'if (made) comm_made(me, NOBODY, number_of(name), *newcomm, "{name}");'),
    "spawn": Shape(
        "call->comm = was; call->peer = partner(root); made = 1;", f"int made = 0; {_MAKING}", f"if (made) {_MADE.format('{name}')}"
    ),
    "port": Shape(
        "call->comm = was; call->peer = partner(root); made = 1;",
        "int made = 0, was = comm_of(me, comm)->number;",
        'if (made) comm_made(me, was, 0, *newcomm, "Comm_accept");',
    ),
    "join": Shape("made = 1;", "int made = 0;", 'if (made) comm_made(me, NOBODY, 0, *newcomm, "{name}");'),
    "comm_free": Shape("call->comm = was;", "int was = comm_of(me, *old_comm)->number; comm_gone(*old_comm);"),
    "comm_name": Shape("comm_named(me, comm, name);"),
    "win": Shape("window_made(me, call, comm, *newwin);"),
    "win_free": Shape(
        "call->comm = gone.comm; call->tag = gone.tag;", "Call gone = {.comm = NOBODY, .tag = NOBODY}; window_gone(&gone, *old_win);"
    ),
    "on_win": Shape("window(call, win);"),
    "win_test": Shape("window(call, win); if (*flag) call->flags |= FOUND;"),
    "win_group": Shape("window(call, win); opens(me, call, group);"),
    "win_lock": Shape("window(call, win); call->peer = partner(rank); call->flags |= kind == MPI_LOCK_EXCLUSIVE ? EXCLUSIVE : 0;"),
    "win_rank": Shape("window(call, win); call->peer = partner(rank);"),
    "put": Shape("window(call, win); put_to(call, dest, scount, stype);"),
    "get": Shape("window(call, win); got_from(call, dest, rcount, rtype);"),
    "get_accumulate": Shape("window(call, win); put_to(call, dest, scount, stype); got_from(call, dest, rcount, rtype);"),
    "fetch_and_op": Shape("window(call, win); put_to(call, dest, 1, type); got_from(call, dest, 1, type);"),
    "compare_and_swap": Shape("window(call, win); put_to(call, dest, 1, type); got_from(call, dest, 1, type);"),
}
SHAPES["testsome"] = SHAPES["waitsome"]._replace(after="call->u.request = NOBODY; " + SHAPES["waitsome"].after)
_MODES = {"R": "READY", "B": "BUFFERED", "S": "SYNCHRONOUS"}
_POSTED_BY_SHAPE = {"isendrecv", "isendrecv_replace", "send_init", "recv_init", "psend_init", "precv_init", "comm_idup"}


def _mode(name: str) -> str:
    """Return the send mode of a routine: the letter before "send" or, of those that return at once, behind the I."""
    letter = name.lower().partition("send")[0].removeprefix("i").upper()
    return _MODES.get(letter, "0")


def shape_of(shape: str, name: str, posts: bool) -> Shape:
    """Return the lines around one routine; `posts`: it returns a request."""
    around = SHAPES[shape]
    after = around.after.replace("MODE_OF({name})", _mode(name))
    if posts and shape not in _POSTED_BY_SHAPE:
        twin = f"R_I{name.removesuffix('_init').lower()}"
        after = f"{after} {f'persistent(call, *request, {twin}, 0);' if name.endswith('_init') else _POST}"
    return Shape(after, around.before, around.last.replace("{name}", name))
