"""Several names in one hypothesis: the same as one hypothesis for each."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import build
from perwiz.errors import UsageError
from perwiz.whatif.hypotheses.base import listed, parse, parse_all
from perwiz.whatif.limits.balance import chosen
from perwiz.whatif.limits.bound import chosen as bounded
from perwiz.whatif.predict import predict

TRACE = build.nested_regions()
"""With regions main, solve and exchange."""


def texts(asked, trace=TRACE):
    return [str(hypothesis) for hypothesis in parse_all(asked, trace)]


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("balance-time solve,exchange", ["balance-time solve", "balance-time exchange"]),
        ("balance-time solve#1, exchange#2", ["balance-time solve#1", "balance-time exchange#2"]),
        ("balance-messages solve,exchange", ["balance-messages solve", "balance-messages exchange"]),
        ("scale solve,exchange=0.5", ["scale solve=0.5", "scale exchange=0.5"]),
        ("speed rank:0,rank:1=2", ["speed rank:0=2", "speed rank:1=2"]),
        ("speed rank:0,1=2", ["speed rank:0=2", "speed rank:1=2"]),
        ("scale solve@rank:0,1=2", ["scale solve@rank:0=2", "scale solve@rank:1=2"]),
        ("scale solve@rank:0,exchange@rank:1=2", ["scale solve@rank:0=2", "scale exchange@rank:1=2"]),
        ("balance-time solve", ["balance-time solve"]),
        ("zero-wait e1,e2", ["zero-wait e1,e2"]),
        ("move e4 before e3, e5 before e4", ["move e4 before e3, e5 before e4"]),
    ],
)
def test_each_by_itself(text, each):
    assert texts(text) == each
    assert texts(parse(text)) == each


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f<a,b>", ["f<a,b>"]),
        ("f<a,b>#2", ["f<a,b>#2"]),
        ("f<a,b>@rank:2", ["f<a,b>@rank:2"]),
        ("f<a,b>,a", ["f<a,b>", "a"]),
        ("a, f<a,b>#1,c", ["a", "f<a,b>#1", "c"]),
        ("", [""]),
        ("a,", ["a", ""]),
    ],
)
def test_names_with_commas(text, names):
    assert listed(text, ["f<a,b>", "a"]) == names


@pytest.mark.parametrize("text", ["balance-time solve,exchange", "scale exchange,solve=0.5", "speed rank:1,0=3"])
def test_predict__as_given_one_by_one(text):
    together, apart = predict(TRACE, text), predict(TRACE, texts(text))
    assert together.hypotheses == apart.hypotheses
    assert together.predicted == apart.predicted
    assert not np.array_equal(together.predicted.calls.enter, together.recorded.calls.enter)


def test_regions_of_balance_and_bound():
    assert bounded(TRACE, ["solve,exchange", "solve"]) == ["solve", "exchange"]
    assert chosen(TRACE, ["solve,exchange", "all,solve"]) == (["all"], ["solve", "exchange"])
    odd = dataclasses.replace(TRACE, names=("main", "f<a,b>", "exchange"))
    assert chosen(odd, ["f<a,b>,main"]) == ([], ["f<a,b>", "main"])


def test_refused__the_one_that_is_wrong():
    with pytest.raises(UsageError, match=r"^region 'exchnge': no such region, the trace has exchange ...; did you mean exchange\?$"):
        predict(TRACE, "balance-time solve,exchnge")
    with pytest.raises(UsageError, match=r"and what it is about; did you mean balance-time\?$"):
        parse("balance-tim solve")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["eager 1KiB", "eager 2KiB"], "eager 2KiB: 'eager 1KiB' gives S_bytes a value, too"),
        (["progress always", "progress in calls"], "progress in calls: 'progress always' gives progress a value, too"),
        (["network L_ns=0", "network g_ns=1,L_ns=5"], "network g_ns=1,L_ns=5: 'network L_ns=0' gives L_ns a value, too"),
        (["network cacau", "network cray-t3e"], "network cray-t3e: 'network cacau' gives the model a value, too"),
    ],
)
def test_refused__two_values_of_one_thing(asked, said):
    with pytest.raises(UsageError) as info:
        parse_all(asked, TRACE)
    assert str(info.value) == f"{said}: must be asked once"


def test_values_of_several_things_and_one_said_twice():
    asked = ["network L_ns=0", "network between-nodes:L_ns=1", "eager 1KiB", "eager 1KiB", "eager within-node:2KiB"]
    assert texts(asked) == asked
