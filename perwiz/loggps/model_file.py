"""Model files: one TOML file per machine, units in the keys, classes of pairs and sizes in tables [[classes]].

    [parameters]                       of all pairs and sizes; every key of PARAMETERS, and S_blocking_bytes, ... where sends differ
    [conventions]
    [[classes]]                        as many as there are; says what differs
    pairs = "between-nodes"            or "within-node", "between-metahosts"; all pairs if it is not said
    from_bytes = 1024                  for messages so large and larger; 0 if it is not said
    L_ns = 12000.0
    [[collectives]]                    what collectives cost, see `collectives.py`
    [[unknown]]                        what nothing told of the machine
    key = "S_bytes"
    pairs = ""                         class of pairs, "" for all
    ends = ["S_bytes=0", "S_bytes=64"] none, or two changes of the model between which the truth lies
    why = "..."

[conventions] may have inline_bytes, without which nothing is sent in place, and interfaces, how many each node has, without which
messages share nothing.
Files may say o_ns and O_ns_per_byte, of both ends, in place of those of each, and `per_byte` in [conventions]: the end that pays O.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perwiz import words
from perwiz.errors import ModelError, TraceError
from perwiz.formats.typed import LARGEST_TOML, toml
from perwiz.loggps import collectives
from perwiz.loggps import machine as machines
from perwiz.loggps.keys import (
    BOTH_ENDS,
    CONVENTIONS,
    LETTERS,
    LIMITS,
    OF_ALL,
    OF_PAIRS,
    PARAMETERS,
    checked,
    checked_pairs,
    of_class,
    shown,
    unknown,
)
from perwiz.loggps.machine import Machine, Unknown
from perwiz.loggps.model import Costs, Limit, Model, inherited

_TOP = ("name", "source", "assumed", "parameters", "conventions")
_PAYERS = {"both ends": (1, 1), "sender": (1, 0), "receiver": (0, 1)}
_REMARKS = {
    "inline_bytes": "larger ones are sent in place",
    "interfaces": "of each node, shared by messages between nodes",
    "s_bytes": "packet size; 0: never split",
    "request_overheads": "o_r's to handle a request to send",
    "acknowledge_overheads": "overheads of its acknowledgement, both ends together",
}
Table = dict[str, Any]


def names() -> list[str]:
    """Return the names of the shipped models, sorted."""
    return sorted(name.removesuffix(".toml") for name in os.listdir(_folder()) if name.endswith(".toml"))


def load(name_or_file: str) -> Model:
    """Return a shipped model by its name, the one in a TOML file (anything with a slash or ending in .toml), or that of a platform (.xml).

    Raises ModelError naming the file, the key, what is there and what must be.
    """
    return machine(name_or_file).model


def machine(name_or_file: str) -> Machine:
    """Return the machine that is given by the name or file of its model, as `load`, with what its file says is unknown."""
    if name_or_file.endswith(".xml"):
        return _of_platform(name_or_file)
    if "/" in name_or_file or name_or_file.endswith(".toml"):
        content = _parsed(name_or_file)
        try:
            return _machine(content)
        except ModelError as error:
            raise ModelError(f"{name_or_file}: {error}") from None
    if name_or_file not in names():
        files = "or a path to a .toml file, or a platform (.xml)"
        guess = words.meant(name_or_file, names())
        raise ModelError(f"no model {shown(name_or_file)}, must be one of {', '.join(names())}, {files}{guess}")
    return machine(os.path.join(_folder(), f"{name_or_file}.toml"))


def _of_platform(file: str) -> Machine:
    from perwiz.loggps.smpi import platform

    try:
        return _machine(platform.content(file))
    except TraceError as error:
        raise ModelError(str(error)) from None


def text(model: Model, comments: Iterable[str] = (), unknown: Sequence[Unknown] = ()) -> str:
    """Return the content of the file of a model, with lines of comments at its top: `machine` gives the same model, and what is unknown."""
    values, left = model.parameters(), {each.place: f"not told{each.between and f', {each.between}'}" for each in unknown}
    remarks = dict.fromkeys(model.assumed, "not told") | left

    def entries(table: Mapping[str, Any], pairs: str) -> list[str]:
        return [_entry(key, value, remarks.get(of_class(pairs, key), "")) for key, value in table.items()]

    lines = [f"# {line}".rstrip() for line in comments]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in (("name", model.name), ("source", model.source))]
    lines += [f"assumed = {json.dumps(list(model.assumed))}", "", "[parameters]"]
    lines += entries({key: value for key, value in values.items() if key not in OF_ALL}, "")
    lines += ["", "[conventions]", *entries({key: value for key, value in values.items() if key in OF_ALL}, "")]
    for table in model.classes():
        lines += ["", "[[classes]]", *entries(table, str(table.get("pairs", "")))]
    return "\n".join([*lines, *collectives.written(model.collectives), *machines.written(unknown), ""])


def _entry(key: str, value: float | int | str, told: str) -> str:
    line, remark = f"{key} = {json.dumps(value)}", "; ".join(filter(None, (_REMARKS.get(key), told)))
    return f"{line:<28}# {remark}" if remark else line


def _folder() -> str:
    """Return the folder of the shipped models: inside the installed package, or beside it in a source tree."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    installed = os.path.join(package, "models")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(package), "models")


def _parsed(file: str) -> Table:
    try:
        with open(file, "rb") as stream:
            return toml(stream.read(LARGEST_TOML + 1).decode())
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror}, must be a model file") from error
    except ValueError as error:
        raise ModelError(f"{file}: {error}, must be TOML") from error


def _machine(content: Table) -> Machine:
    """Return the machine of a parsed file, its keys checked."""
    _check_keys("top level", content, _TOP, ("classes", "collectives", "unknown"))
    for name in ("parameters", "conventions"):
        if not isinstance(content[name], dict):
            raise ModelError(f"{name} is {shown(content[name])}, must be a table [{name}]")
    classes = content.get("classes", [])
    if not isinstance(classes, list) or not all(isinstance(table, dict) for table in classes):
        raise ModelError(f"classes is {shown(classes)}, must be tables [[classes]]")
    conventions = dict(content["conventions"])
    payers = _payers(conventions.pop("per_byte", None), content["parameters"])
    first = _both_ends("[parameters]", content["parameters"], payers)
    _check_keys("[parameters]", first, PARAMETERS, OF_PAIRS)
    _check_keys("[conventions]", conventions, CONVENTIONS, OF_ALL)
    costs = [Costs(**{letter: first[key] for key, letter in LETTERS.items()})]
    limits = _limits(first, "")
    for table in sorted((_class(table, payers) for table in classes), key=lambda table: (table["pairs"] != "", table["from_bytes"])):
        _add(table, costs, limits)
    fixed = {"name": content["name"], "source": content["source"], "assumed": _assumed(content["assumed"])}
    found = collectives.parsed(content.get("collectives", []))
    model = Model(**fixed, costs=tuple(costs), limits=tuple(limits), **conventions, collectives=found)
    return Machine(model, unknown=machines.parsed(content.get("unknown", []), model), given=True)


def _class(table: Table, payers: tuple[int, int]) -> Table:
    """Return a table [[classes]] with its place said and its keys checked."""
    pairs, from_bytes = table.get("pairs", ""), table.get("from_bytes", 0)
    place = f"[[classes]] {shown(pairs)}"
    try:
        checked_pairs(pairs, also="")
        checked("from_bytes", from_bytes)
    except ModelError as error:
        raise ModelError(f"[[classes]] {error}") from None
    out = _both_ends(place, table, payers)
    _check_keys(place, out, (), ("pairs", "from_bytes", *OF_PAIRS))
    limit = next((key for key in LIMITS if key in out), None)
    if limit and from_bytes:
        raise ModelError(f"{place} has {limit} from {from_bytes} bytes, must be where from_bytes is 0: it holds for all sizes")
    if not pairs and not from_bytes:
        raise ModelError("[[classes]] has neither pairs nor from_bytes, must have one: [parameters] are of all messages")
    return {"pairs": pairs, "from_bytes": int(from_bytes), **{key: value for key, value in out.items() if key in OF_PAIRS}}


def _add(table: Table, costs: list[Costs], limits: list[Limit]) -> None:
    """Add the rows that a table makes to those of smaller sizes, and of all pairs."""
    pairs, from_bytes = table["pairs"], table["from_bytes"]
    letters = {letter: table[key] for key, letter in LETTERS.items() if key in table}
    try:
        own = _limits(table, pairs)
        if letters or not own:
            costs.append(dataclasses.replace(inherited(costs, pairs, from_bytes), pairs=pairs, from_bytes=from_bytes, **letters))
        limits += own
    except ModelError as error:
        raise ModelError(f"[[classes]] {shown(pairs)}: {error}") from None


def _limits(table: Mapping[str, Any], pairs: str) -> list[Limit]:
    return [Limit(table[key], pairs, kind) for key, kind in LIMITS.items() if key in table]


def _payers(per_byte: object, parameters: Table) -> tuple[int, int]:
    """Return whether sender and receiver pay O, 0 or 1."""
    if per_byte is None:
        return _PAYERS["both ends"]
    if "O_ns_per_byte" not in parameters:
        raise ModelError("[conventions] has per_byte, must be without where [parameters] has no O_ns_per_byte")
    if not isinstance(per_byte, str) or per_byte not in _PAYERS:
        raise ModelError(f"per_byte is {shown(per_byte)}, must be {' or '.join(map(repr, _PAYERS))}")
    return _PAYERS[per_byte]


def _both_ends(place: str, table: Table, payers: tuple[int, int]) -> Table:
    """Return a table that says the overheads of each end, where it says those of both."""
    out = dict(table)
    for both, ends in BOTH_ENDS.items():
        if both in out:
            twice = [end for end in ends if end in table]
            if twice:
                raise ModelError(f"{place} has {both} and {', '.join(twice)}, must have that of both ends or those of each")
            value = checked(both, out.pop(both))
            out |= dict.fromkeys(ends, value) if both == "o_ns" else {end: value * pays for end, pays in zip(ends, payers, strict=True)}
    return out


def _assumed(keys: object) -> object:
    """Return the keys whose values are assumed, those of both ends as those of each."""
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return keys
    both = {**BOTH_ENDS, "per_byte": BOTH_ENDS["O_ns_per_byte"]}
    out = []
    for key in keys:
        pairs, colon, own = key.rpartition(":")
        out += [f"{pairs}{colon}{end}" for end in both.get(own, (own,))]
    return [*dict.fromkeys(out)]


def _check_keys(place: str, table: Mapping[str, Any], keys: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
    """Check that a table has all of some keys, and besides only some of more."""
    for key in table:
        if key not in keys and key not in more:
            raise ModelError(f"{place} has {unknown(key, dict.fromkeys((*keys, *more)))}")
    lacking = [key for key in keys if key not in table]
    if lacking:
        raise ModelError(f"{place} lacks {', '.join(lacking)}, must have all of {', '.join(keys)}")
