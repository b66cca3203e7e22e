"""Which calls a text selects, and what it says when it selects none."""

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
    ],
)
def test_calls(text, rows):
    assert np.flatnonzero(selectors.calls(trace(), text)).tolist() == rows


def refused(text, message, made=None):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        selectors.calls(made or trace(), text)


@pytest.mark.parametrize("text", ["", "e", "e-1", "E1", "1", "rank", "rank:", "region:", "op:", "everything", "e1;e2"])
def test_calls__no_selector(text):
    refused(text, f"'{text}' selects nothing, must be like e12, region:NAME, rank:3, op:MPI_Recv or all")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e4", "e4: no such call, the trace has calls e0 to e3"),
        ("e0,e4", "e4: no such call, the trace has calls e0 to e3"),
        ("e99999999999999999999999", "e99999999999999999999999: no such call, the trace has calls e0 to e3"),
        ("rank:2", "rank:2: no such rank, the trace has ranks 0 to 1"),
        ("rank:-1", "'rank:-1' is no rank, must be like rank:3"),
        ("rank:9999999999", "'rank:9999999999' is no rank, must be like rank:3"),
        ("op:MPI_Wait", "op:MPI_Wait: no such routine in the trace, it has MPI_Send, MPI_Recv"),
        ("op:Send", "op:Send: no such routine in the trace, it has MPI_Send, MPI_Recv"),
        ("region:mian", "region 'mian': no such region, the trace has main, main,exchange ..."),
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
    refused("region:zork", "region 'zork': no such region, the trace has work", made)
    refused("rank:0", "'rank:0' selects no call", made)
    empty = build.CATALOGUE["empty"]()
    refused("e0", "e0: no such call, the trace has no MPI calls", empty)
    refused("op:MPI_Recv", "op:MPI_Recv: no such routine in the trace, it has no MPI calls", empty)
    refused("region:a", "region 'a': the trace has no user regions", empty)


def test_locations__of_a_trace_without():
    with pytest.raises(UsageError, match=r"^rank:0: no such rank, "):
        selectors.locations(build.CATALOGUE["empty"](), "rank:0")


def test_region__names_at_most_five():
    b = build.Builder(1)
    for name in "qwertz":
        with b.region(0, name * 3):
            pass
    refused("region:1", "region '1': no such region, the trace has qqq, www, eee, rrr, ttt ...", b.trace())
