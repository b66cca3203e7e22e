"""Which calls a text selects, and what it says when it selects none."""

import dataclasses
import re

import numpy as np
import pytest

import build
from perwiz.errors import UsageError
from perwiz.whatif import selectors

NAMES = "main,exchange", "all", "e1"


def trace():
    """Return e0 Send (main), e1 Recv (main > exchange) of rank 0; e2 Recv, e3 Send (exchange, main > all > e1) of rank 1."""
    b = build.Builder(2)
    with b.region(0, "main"):
        b.send(0, 1)
        with b.region(0, "main,exchange"):
            b.recv(0, 1)
    b.recv(1, 0)
    with b.region(1, "main"), b.region(1, "all"), b.region(1, "e1"):
        b.send(1, 0)
    return b.trace()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("e0", [0]),
        ("e3", [3]),
        ("e00", [0]),
        ("all", [0, 1, 2, 3]),
        ("rank:1", [2, 3]),
        ("op:MPI_Recv", [1, 2]),
        ("region:main", [0, 1, 3]),
        ("region:main,exchange", [1]),
        ("region:main,exchange,e2", [1, 2]),
        ("region:all", [3]),
        ("region:e1", [3]),
        ("e1,e1,e2", [1, 2]),
        ("rank:0,op:MPI_Send", [0, 1, 3]),
        ("op:MPI_Send,all", [0, 1, 2, 3]),
        ("op:MPI_Send,MPI_Recv", [0, 1, 2, 3]),
        ("rank:0,1", [0, 1, 2, 3]),
        ("region:e1, main,e2", [0, 1, 2, 3]),
        ("step:main#1", [0, 1, 3]),
        ("step:main", [0, 1, 3]),
        ("step:main,exchange#1,step:e1#1", [1, 3]),
        ("site:MPI_Recv", [2]),
        ("site:MPI_Recv@main/main,exchange,e0", [0, 1]),
        ("e0,site:MPI_Send@main/all/e1", [0, 3]),
        ("rank:0-1", [0, 1, 2, 3]),
        ("rank:1-9,e0", [0, 2, 3]),
        ("pair:0>1", [0, 2]),
        ("pair:1>0,e0", [0, 1, 3]),
        ("tag:0", [0, 1, 2, 3]),
        ("step:main#1..3", [0, 1, 3]),
    ],
)
def test_calls(text, rows):
    assert np.flatnonzero(selectors.calls(trace(), text)).tolist() == rows


def test_calls__of_windows_have_no_tag():
    """The window of a put is the one numbered 3, its message has no tag."""
    b = build.Builder(2)
    b.send(0, 1, tag=3)
    b.call(0, "Put", peer=1, tag=3, comm=0)
    b.recv(1, 0, tag=3)
    assert np.flatnonzero(selectors.calls(b.trace(), "tag:3")).tolist() == [0, 2]


def refused(text, message, made=None):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        selectors.calls(made or trace(), text)


LIKE = "must be like e12, region:NAME, step:NAME#3, site:MPI_Recv@NAME, rank:3, rank:0-7, node:NAME,"
LIKE += " group:NAME, pair:0>1, tag:3, lock:0, op:MPI_Recv or all"


@pytest.mark.parametrize("text", ["", "e", "e-1", "E1", "1", "rank", "rank:", "region:", "op:", "step:", "site:", "everything", "e1;e2"])
def test_calls__no_selector(text):
    refused(text, f"'{text}' selects nothing, {LIKE}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e4", "e4: no such call, the trace has calls e0 to e3"),
        ("e0,e4", "e4: no such call, the trace has calls e0 to e3"),
        ("e99999999999999999999999", "e99999999999999999999999: no such call, the trace has calls e0 to e3"),
        ("rank:2", "rank:2: no such rank, the trace has ranks 0 to 1"),
        ("rank:-1", "'rank:-1' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME"),
        ("rank:0,7", "rank:7: no such rank, the trace has ranks 0 to 1"),
        ("region:e1, mian", "region 'mian': no such region, the trace has main, main,exchange ...; did you mean main?"),
        ("op:MPI_Send,MPI_Rec", "op:MPI_Rec: no such routine in the trace, it has MPI_Send, MPI_Recv; did you mean MPI_Recv?"),
        ("rank:9999999999", "'rank:9999999999' is no rank, must be like rank:3, rank:0-7, node:NAME or group:NAME"),
        ("rank:2-3", "rank:2-3: no such rank, the trace has ranks 0 to 1"),
        ("node:a", "node:a: no such node, the trace tells of no nodes"),
        ("group:x", "group:x: no such group of ranks, the trace has world"),
        ("tag:1", "tag:1: no message has that tag, the trace has tags 0"),
        ("tag:x", "tag:x: no message has that tag, the trace has tags 0"),
        ("pair:0", "'pair:0' is no pair of ranks, must be like pair:0>1, from the sender to the receiver"),
        ("pair:0>2", "pair:0>2: no message goes from rank 0 to rank 2"),
        ("step:main#2..3", "'main#2..3': no such step, region 'main' has steps 1 to 1"),
        ("op:MPI_Wait", "op:MPI_Wait: no such routine in the trace, it has MPI_Send, MPI_Recv"),
        ("op:Send", "op:Send: no such routine in the trace, it has MPI_Send, MPI_Recv; did you mean MPI_Send?"),
        ("region:mian", "region 'mian': no such region, the trace has main, main,exchange ...; did you mean main?"),
        ("step:main#2", "'main#2': no such step, region 'main' has steps 1 to 1"),
        ("step:main#x", "'main#x': no such step, region 'main' has steps 1 to 1"),
        ("step:mian#1", "region 'mian': no such region, the trace has main, main,exchange ...; did you mean main?"),
        ("site:MPI_Wait", "site:MPI_Wait: no such call site, the trace has MPI_Send@main, MPI_Recv, MPI_Send@main/all/e1 ..."),
        (
            "site:MPI_Sned",
            "site:MPI_Sned: no such call site, the trace has MPI_Send@main, MPI_Recv, MPI_Send@main/all/e1 ...;"
            " did you mean MPI_Send@main?",
        ),
        ("regoin:main", f"'regoin:main' selects nothing, {LIKE}; did you mean region:main?"),
        ("sites:MPI_Recv", f"'sites:MPI_Recv' selects nothing, {LIKE}; did you mean site:MPI_Recv?"),
        ("MPI_Recv", f"'MPI_Recv' selects nothing, {LIKE}; did you mean op:MPI_Recv?"),
        ("ALL", f"'ALL' selects nothing, {LIKE}; did you mean all?"),
        ("region:zzz", "region 'zzz': no such region, the trace has main, main,exchange, all, e1"),
    ],
)
def test_calls__names_what_is_not_there(text, message):
    refused(text, message)


def test_calls__number_of_thousands_of_digits():
    text = "e" + "9" * 5000
    refused(text, f"{text}: no such call, the trace has calls e0 to e3")


def test_calls__of_a_trace_without():
    made = build.CATALOGUE["no_messages"]()
    refused("region:zork", "region 'zork': no such region, the trace has work; did you mean work?", made)
    refused("rank:0", "'rank:0' selects no call", made)
    empty = build.CATALOGUE["empty"]()
    refused("e0", "e0: no such call, the trace has no MPI calls", empty)
    refused("op:MPI_Recv", "op:MPI_Recv: no such routine in the trace, it has no MPI calls", empty)
    refused(
        "region:a",
        "region 'a': the trace has no user regions, must be marked in the program: PRGN_BEGIN"
        " (perwiz record --print-include), or functions that other tools record",
        empty,
    )


def test_locations__of_a_trace_without():
    with pytest.raises(UsageError, match=r"^rank:0: no such rank, "):
        selectors.locations(build.CATALOGUE["empty"](), "rank:0")


def test_region__names_at_most_five():
    b = build.Builder(1)
    for name in "qwertz":
        with b.region(0, name * 3):
            pass
    refused("region:1", "region '1': no such region, the trace has qqq, www, eee, rrr, ttt ...", b.trace())


def test_region__names_that_hold_the_word_come_first():
    """A word of three letters or more; it is meant if one name alone holds it."""
    b = build.Builder(1)
    for name in ("aten::relu", "enumerate(DataLoader)#_Single.__next__", "Loads"):
        with b.region(0, name):
            pass
    told, name = "the trace has enumerate(DataLoader)#_Single.__next__", "enumerate(DataLoader)#_Single.__next__"
    refused("region:dataloader", f"region 'dataloader': no such region, {told} ...; did you mean {name}?", b.trace())
    refused("region:load", f"region 'load': no such region, {told}, Loads ...; did you mean Loads?", b.trace())


def test_calls__steps_are_the_kth_on_every_rank():
    """Rank 0 goes through `outer` twice, the second time with `inner` in it twice; rank 1 once, and calls what comes after."""
    b = build.Builder(2)
    for rank, turns in ((0, 2), (1, 1)):
        for turn in range(turns):
            with b.region(rank, "outer"):
                for _ in range(2 * turn):
                    with b.region(rank, "inner"):
                        b.call(rank, "Comm_rank")
                b.call(rank, "Comm_size")
        b.call(rank, "Comm_size")
    made = b.trace()
    found = {text: np.flatnonzero(selectors.calls(made, text)).tolist() for text in ("step:outer#1", "step:outer#2", "step:inner#2")}
    assert found == {"step:outer#1": [0, 5], "step:outer#2": [1, 2, 3], "step:inner#2": [2]}
    with b.region(0, "empty"):
        pass
    refused("step:empty#1", "'step:empty#1' selects no call", b.trace())


def test_calls__tags_and_pairs_with_what_completes_them():
    """Rank 0 posts two sends of tags 1 and 2 and waits for both; rank 1 receives them, and has posted one of tag 3 that never comes."""
    b = build.Builder(2)
    b.wait(0, b.isend(0, 1, tag=1), b.isend(0, 1, tag=2))
    b.irecv(1, 0, tag=3)
    b.recv(1, 0, tag=2)
    b.recv(1, 0, tag=1)
    made = build.placed(b.trace(), [1, 0])
    texts = {"tag:1": [0, 2, 5], "tag:2": [1, 2, 4], "tag:3": [3], "pair:0>1": [0, 1, 2, 4, 5], "node:n0": [3, 4, 5]}
    texts["group:world"] = [*range(6)]
    assert {text: np.flatnonzero(selectors.calls(made, text)).tolist() for text in texts} == texts
    refused("node:n", "node:n: no such node, the trace has n1, n0; did you mean n1?", made)


def test_calls__of_a_lock():
    """Two locks, and a message whose tag is the number of one."""
    b = build.Builder(2)
    for lock in (0, 1, 0):
        b.call(0, "omp_lock", tag=lock)
        b.call(0, "omp_release", tag=lock)
    b.send(0, 1, tag=1)
    b.recv(1, 0, tag=1)
    made = b.trace()
    texts = {"lock:0": [0, 1, 4, 5], "lock:1": [2, 3], "tag:1": [6, 7]}
    assert {text: np.flatnonzero(selectors.calls(made, text)).tolist() for text in texts} == texts
    refused("lock:2", "lock:2: no such lock, the trace has locks 0 to 1", made)
    refused("lock:x", "lock:x: no such lock, the trace has locks 0 to 1", made)
    refused("lock:0", "lock:0: no such lock, the trace names no locks", build.CATALOGUE["no_messages"]())
    b = build.Builder(1)
    b.call(0, "omp_lock", tag=0)
    refused("lock:1", "lock:1: no such lock, the trace has lock 0 alone", b.trace())


def test_calls__sites_in_the_source():
    made = dataclasses.replace(trace(), site=np.array([0, 1, 1, -1], "i4"), sites=("a.c:12 f", "app+0x1f, rank:0"))
    first, last = "site:MPI_Send@main@a.c:12 f", "site:MPI_Send@main/all/e1"
    assert [np.flatnonzero(selectors.calls(made, text)).tolist() for text in (first, last)] == [[0], [3]]
    recv = ("MPI_Recv", "", "app+0x1f, rank:0"), ("MPI_Recv", "main/main,exchange", "app+0x1f, rank:0")
    assert sorted(selectors.sites(made)[1])[:2] == list(recv)
    assert [selectors.joined([f"site:{selectors.site(*parts)}"]) for parts in recv] == [None, None]
    message = "site:x: no such call site, the trace has MPI_Recv@app+0x1f, rank:0, MPI_Recv@main/main,exchange@app+0x1f, rank:0, "
    refused("site:x", message + "MPI_Send@main/all/e1, MPI_Send@main@a.c:12 f", made)


def test_sites__of_the_same_text_are_one():
    """Region `a/b`, and `b` inside `a`."""
    b = build.Builder(1)
    with b.region(0, "a/b"):
        b.call(0, "Comm_rank")
    with b.region(0, "a"), b.region(0, "b"):
        b.call(0, "Comm_rank")
    which, found = selectors.sites(b.trace())
    assert (which.tolist(), found) == ([0, 0], [("MPI_Comm_rank", "a/b", "")])
