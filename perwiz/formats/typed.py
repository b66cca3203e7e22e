"""JSON, TOML and rows of a database as objects and typed records: checked where they come in, and what is wrong with them in words."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

_SHOWN = 40
"""Characters of a wrong value that a message shows."""
_TYPES = {
    "int": "an integer",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "an object",
}
_T = TypeVar("_T")
LARGEST_TOML = 1 << 24
"""Characters of the longest file of TOML."""
_PARTS = 100
_FRACTION = re.compile(r"(?<![\w.\"'-])[+-]?[0-9][0-9_]*\.[0-9]")
"""What a dot in a line is but between the parts of a key."""


class NoJson(ValueError):
    """A text that is no JSON."""


class NoToml(ValueError):
    """A text that is no TOML, or more than a file for perwiz has."""


class Mistyped(ValueError):
    """A value that is of no such type: the message says where in it, what is there, and what must be."""


def parsed(text: str) -> Any:
    """Return JSON as objects. Raises NoJson if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None


def toml(text: str) -> dict[str, Any]:
    """Return TOML as objects.

    Raises NoToml if it is none, longer than LARGEST_TOML, or has a line of as many dots as a key of 100 parts: the parser takes the square.
    """
    import tomllib

    if len(text) > LARGEST_TOML:
        raise NoToml(f"more than {LARGEST_TOML} characters")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= _PARTS and not line.lstrip().startswith("#") and _FRACTION.sub("", line).count(".") >= _PARTS:
            raise NoToml(f"{_PARTS} dots or more in a line, as a key of so many parts has (at line {number})")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoToml(str(error)) from None


def typed(value: Any, kind: type[_T], strict: bool = True) -> _T:
    """Return parsed JSON, or rows of a database, as this type; unless `strict`, texts of numbers are numbers. Raises Mistyped."""
    try:
        return msgspec.convert(value, kind, strict=strict, str_keys=True)
    except msgspec.ValidationError as error:
        raise Mistyped(_words(value, str(error))) from None
    except UnicodeEncodeError as error:  # a key of bytes that are no UTF-8
        raise Mistyped(f"key {error.object!r}, must be UTF-8") from None


def _words(value: Any, message: str) -> str:
    """Return an error of msgspec in our words."""
    what, key, path = re.findall(r"(?s)^(.*?)(?: - at (key in )?\$\.?(.*))?$", message.replace("`", ""))[0]
    path = f"a key of {path}" if key else path
    if lacking := re.fullmatch("Object missing required field (.*)", what):
        return f"{path} lacks {lacking[1]!r}, must have it".lstrip()
    if not (expected := re.fullmatch(r"Expected (.*?)(?:, got (.*))?", what)):
        return f"{path}: {what}" if path else what
    kind, _, bound = expected[1].partition(" ")
    must = f"must be {_TYPES.get(kind, kind)} {bound}".strip()
    if key or "[...]" in path:  # in a dict, of which msgspec does not say the key
        return f"{path} is {_TYPES[expected[2]]}, {must}" if expected[2] in _TYPES else f"{path}: {must}"
    for name, number in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = value[int(number) if number else name]
    return f"{path} is {json.dumps(value, default=repr)[:_SHOWN]}, {must}".lstrip()
