"""What a question starts from: the fit, changes of it, or a model that is given."""

from __future__ import annotations

import pytest

import build
from build import hand_model
from perwiz.errors import ModelError, UsageError
from perwiz.loggps.keys import is_changes
from perwiz.loggps.machine import Estimate, Machine, Unknown
from perwiz.whatif.predict import predict
from perwiz.whatif.run import machine_of

TOLD = Machine(
    hand_model(),
    (Estimate("L_ns", "", 10.0, 5, 0), Estimate("S_blocking_bytes", "between-nodes", 100, 7, 1)),
    (Unknown("o_s_ns", "", ("o_s_ns=0", "o_s_ns=5"), "a"), Unknown("S_bytes", "", ("S_bytes=0", "S_bytes=9"), "b")),
)


def keys(machine):
    return [known.key for known in (*machine.estimates, *machine.unknown)]


def test_given():
    """A name, a file or a model replace all of the fit."""
    trace = build.late_sender()
    assert machine_of("default", trace) == Machine(machine_of("default", trace).model, given=True)
    assert machine_of(hand_model(), trace) == Machine(hand_model(), given=True)
    assert machine_of(TOLD, trace) is TOLD


def test_fitted_once():
    """A machine that is there is taken as it is: a command fits once."""
    trace = build.late_sender()
    machine = machine_of(None, trace)
    assert not machine.given
    assert predict(trace, "zero-wait all", machine).machine is machine


def test_changes():
    """What is changed is known; the rest stays as the fit has it."""
    trace = build.late_sender()
    fitted, found = machine_of(None, trace), machine_of("S_bytes=4040", trace)
    assert found.model.S == 4040
    assert found.model.costs == fitted.model.costs
    assert not any(known.startswith("S_") for known in keys(found))
    assert [known for known in keys(fitted) if not known.startswith("S_")] == keys(found)


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ("L_ns=1", ["S_blocking_bytes", "o_s_ns", "S_bytes"]),
        ("S_bytes=1", ["L_ns", "o_s_ns"]),
        ("o_ns=1", ["L_ns", "S_blocking_bytes", "S_bytes"]),
        ("between-nodes:S_bytes=1,gap=none", ["L_ns", "o_s_ns", "S_bytes"]),
        ("within-node:S_bytes=1", ["L_ns", "S_blocking_bytes", "o_s_ns", "S_bytes"]),
    ],
)
def test_changes__of_all_pairs_and_of_one_class(changes, left):
    assert keys(TOLD.with_changes(changes)) == left


@pytest.mark.parametrize(
    ("text", "changes"),
    [("S_bytes=4040", True), ("default", False), ("a=b.toml", False), ("runs/S=4040", False), ("between-nodes:L_ns=1,gap=none", True)],
)
def test_is_changes(text, changes):
    assert is_changes(text) == changes


def test_refused():
    with pytest.raises(ModelError) as raised:
        machine_of("S_bites=4040", build.late_sender())
    assert str(raised.value).startswith("change of model fitted: has 'S_bites', must be one of ")
    assert str(raised.value).endswith("; did you mean S_bytes?")


def test_refused__a_class_of_pairs_that_is_not_there():
    with pytest.raises(UsageError) as raised:
        machine_of("L_ns=5,between-nodes:L_ns=1", build.late_sender())
    what = "model L_ns=5,between-nodes:L_ns=1: no message or collective of built is between-nodes, all are within-node"
    assert str(raised.value) == what


@pytest.mark.parametrize("name", ["all_collectives", "no_messages", "one_process", "self_message"])
def test_nothing_to_fit(name):
    """Each gets a machine, and an answer that lies in its span."""
    found = predict(build.CATALOGUE[name](), "speed rank:0=2")
    assert not found.machine.given
    assert found.span.least <= found.predicted.makespan <= found.span.most
