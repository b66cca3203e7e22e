"""Costs of collectives as a model has them: their tables in a file, refusals with the full message, and which row says what."""

import pathlib

import numpy as np
import pytest

from build import hand_model
from perwiz.errors import ModelError
from perwiz.loggps import model_file as models
from perwiz.loggps.collectives import ALL, OTHERS, ROOT, CollectiveCost, checked, found, parsed, written
from perwiz.trace.operations import OP

COSTS = checked(
    [
        CollectiveCost("MPI_Bcast", 4, "root", 8, 5, 0),
        CollectiveCost("MPI_Bcast", 4, "others", 8, 100, 0.5),
        CollectiveCost("MPI_Allreduce", 8, "all", 64, 1000, 2.5),
        CollectiveCost("MPI_Allreduce", 8, "all", 1024, 9000, 1),
    ]
)
TABLE = {"routine": "MPI_Scan", "processes": 4, "members": "all", "from_bytes": 8, "first_ns": 5, "ns_per_byte": 0.25}


@pytest.mark.parametrize(
    ("routine", "processes", "members", "size", "expected"),
    [
        ("Allreduce", 8, ALL, 64, 1000),
        ("Allreduce", 8, ALL, 100, 1090),
        ("Allreduce", 8, ALL, 1023, 3397.5),
        ("Allreduce", 8, ALL, 1024, 9000),
        ("Allreduce", 8, ALL, 2024, 10000),
        ("Allreduce", 8, ALL, 8, 1000),
        ("Bcast", 4, ROOT, 0, 5),
        ("Bcast", 4, ROOT, 10**12, 5),
        ("Bcast", 4, OTHERS, 10, 101),
        ("Bcast", 4, ALL, 8, None),
        ("Allreduce", 4, ALL, 64, None),
        ("Iallreduce", 8, ALL, 64, None),
    ],
)
def test_found(routine, processes, members, size, expected):
    """The row with the largest from_bytes that is not more, for each byte beyond it; below the first row as that one."""
    row = np.array([OP[f"MPI_{routine}"]], "u2"), np.array([processes], "i8"), np.array([members], "u1"), np.array([size], "i8")
    out = found(COSTS, *row).tolist()
    assert np.isnan(out[0]) if expected is None else out == [expected]
    assert np.isnan(found((), *row)).all()


def test_a_model_file_has_them(tmp_path):
    """What is written is read back; models without are as before."""
    file = tmp_path / "machine.toml"
    text = pathlib.Path(models._folder(), "default.toml").read_text()
    file.write_text("\n".join([text, *written(COSTS), ""]))
    assert models.load(str(file)).collectives == COSTS
    assert models.load("default").collectives == ()


def test_changed_letters_keep_them():
    assert hand_model(collectives=COSTS).with_changes("L_ns=3").collectives == COSTS


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "collectives is '{}', must be tables [[collectives]]"),
        ([7], "collectives is '[7]', must be tables [[collectives]]"),
        ([{}], "[[collectives]] 1 has nothing, must have routine, processes, members, from_bytes, first_ns, ns_per_byte"),
        (
            [TABLE, {**TABLE, "routine": "MPI_Send"}],
            "[[collectives]] 2: routine is 'MPI_Send', must be a collective such as 'MPI_Allreduce'",
        ),
        ([{**TABLE, "routine": 5}], "[[collectives]] 1: routine is '5', must be a collective such as 'MPI_Allreduce'"),
        ([{**TABLE, "members": "some"}], "[[collectives]] 1: members is 'some', must be 'all' or 'root' or 'others'"),
        ([{**TABLE, "processes": 0}], "[[collectives]] 1: processes is '0', must be a whole number from 1 to 1e+12"),
        ([{**TABLE, "from_bytes": 0.5}], "[[collectives]] 1: from_bytes is '0.5', must be a whole number from 0 to 1e+12"),
        ([{**TABLE, "first_ns": -1}], "[[collectives]] 1: first_ns is '-1', must be a number from 0 to 1e+12"),
        ([{**TABLE, "ns_per_byte": "x"}], "[[collectives]] 1: ns_per_byte is 'x', must be a number from 0 to 1e+12"),
        ([{**TABLE, "ns_per_byte": float("nan")}], "[[collectives]] 1: ns_per_byte is 'nan', must be a number from 0 to 1e+12"),
        ([TABLE, TABLE], "collectives has MPI_Scan of 4 processes, from 8 bytes twice, must have it once"),
    ],
)
def test_refusals(tables, message):
    with pytest.raises(ModelError) as caught:
        parsed(tables)
    assert str(caught.value) == message
