"""Documents of perwiz, held against the schemas that are shipped."""

from __future__ import annotations

import functools
import json
from importlib import resources

import jsonschema
import msgspec
from referencing import Registry, Resource

DIALECT = jsonschema.Draft202012Validator
NO_CHOICES = {
    "wildcards": 0,
    "receives": [],
    "waits": 0,
    "completions": [],
    "contradicting": 0,
    "possible": 0,
    "possible_receives": [],
    "fetches": 0,
    "fetches_turned": [],
    "recorded_choices_ns": None,
    "tasks": 0,
    "tasks_fetched": 0,
    "tasks_moved": 0,
    "masters": [],
    "serving": [],
    "kept_because": None,
}
"""What a prediction says of matching where nothing was to be chosen."""


def valid(document, command):
    """Return what the JSON of a document says, if that is what the schema of the command describes; given a record, or the same."""
    block = json.loads(json.dumps(msgspec.to_builtins(document)))
    validator(command).validate(block)
    return block


@functools.cache
def validator(command):
    """Return what validates the documents of a command; the parts that documents share are found where the schema says."""
    common = Resource.from_contents(load(resources.files("perwiz.report").joinpath("common.schema.json")))
    schema = load(file(command))
    DIALECT.check_schema(schema)
    return DIALECT(schema, registry=Registry().with_resource("../common.schema.json", common))


def file(command):
    """Return the shipped schema of a command."""
    rooms = {"jobs": "jobs/views", "jobs_mail": "jobs/mailing", "jobs_record": "jobs"}
    room = rooms.get(command, f"report/{command}")
    return resources.files("perwiz").joinpath(*room.split("/"), f"{command}.schema.json")


def load(file):
    """Return what is in a file of JSON."""
    return json.loads(file.read_text(encoding="utf-8"))
