"""Rows, flags and partners of the recorder are in its kernel as recorder.h has them."""

import pathlib
import re

import numpy as np
import pytest

import perwiz
from perwiz.kernels import recorded, records

ROOM = pathlib.Path(perwiz.__file__).parent
RECORDER = (ROOM / "record" / "recorder.h").read_text(encoding="utf-8")


def enum(after):
    """Return the constants of an enum of recorder.h, the one behind a comment."""
    body = re.sub(r"/\*.*?\*/", "", RECORDER.partition(after)[2].partition("{")[2].partition("}")[0])
    return {name: eval(value) for name, value in re.findall(r"(\w+) = ([-\d< ]+)", body)}


def test_flags__as_the_recorder_has_them():
    flags = enum("/* Flags of a record. */")
    assert list(flags) == [
        *("SENDS", "RECEIVES", "POSTS", "DONE", "ANY_SOURCE", "ANY_TAG", "FAILED", "CANCELLED", "MANY", "MODE", "FOUND", "FREED"),
        *("EXCLUSIVE", "PERSISTENT", "ACTIVE", "CANCELLING"),
    ]
    known = {name: value for name, value in flags.items() if hasattr(records, name)}
    assert len(known) == 11
    assert {name: getattr(records, name) for name in known} == known
    assert sum({*flags.values()}) == records.RECORDED
    assert f"#define SYNCHRONOUS (3 << {records.MODE_SHIFT})" in RECORDER


def test_partners__as_the_recorder_has_them():
    partners = enum("/* Partners in a record")
    assert partners == {name: getattr(records, name) for name in ("NOBODY", "ANYBODY", "MYSELF")}
    assert min(partners.values()) > records.STRANGER


@pytest.mark.parametrize("name", ["Call", "Part"])
def test_rows__as_the_recorder_writes_them(name):
    """A field `flags` is called `bits` here; the union in a call is its request."""
    body = re.sub(r"/\*.*?\*/", "", next(text for text in RECORDER.split("typedef struct {")[1:] if f"}} {name};" in text))
    body = re.sub(r"union \{\s+(.*?;).*?\} u;", r"\1", body.partition(f"}} {name};")[0], flags=re.DOTALL)
    types = {"int64_t": "i8", "uint64_t": "u8", "int32_t": "i4", "uint16_t": "u2"}
    fields = [
        (field.replace("flags", "bits"), types[kind]) for kind, names in re.findall(r"(\w+) ([^;]+);", body) for field in names.split(", ")
    ]
    assert getattr(recorded, name.upper()) == np.dtype(fields, align=True)
