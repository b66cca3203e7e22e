"""A recorded run as all processes of a team know it: if they see different directories of it they tell each other all but the calls."""

from __future__ import annotations

import dataclasses
import json
import zlib
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.recorded.files import Process, elsewhere, token_of
from perwiz.formats.recorded.read import model_of
from perwiz.formats.recorded.sites import told_of
from perwiz.trace.spread.apart import Dealt, dealt, seen
from perwiz.trace.spread.team import Team, agreed, gathered, texts


@dataclasses.dataclass(frozen=True)
class Run:
    """It, and who reads what of it."""

    folders: list[str]
    """The directories that this process sees."""
    processes: list[Process]
    """All of the run, sorted by rank; of those that this process does not see no calls."""
    told: dict[str, str]
    """The files of places of calls, by path."""
    dealt: Dealt
    apart: bool
    """Whether not all see the same directories."""


def known_to_all(team: Team, recorded: list[Process], folders: list[str]) -> Run:
    """Return the run, given what this process sees of it. Raises TraceError, on all, where they see other runs, or parts of a directory."""
    token = agreed(team, lambda: token_of(folders[0]))
    ranks, records = [process.rank for process in recorded], [[len(calls) for calls in process.calls] for process in recorded]
    directories = seen(team, folders[0], token.encode(errors="surrogateescape"), json.dumps([ranks, records]).encode())
    told, holder = told_of(folders), [0] * len(ranks)
    if directories.apart:
        leads = directories.leader[team.rank] == team.rank
        every = [json.loads(text) for text in texts(team, json.dumps(_listed(recorded, records, told) if leads else _NOTHING))]
        directories.check([[one["rank"] for one in each["processes"]] for each in every])
        _check_models(team, folders)
        told = {file: text for each in every for file, text in each["told"].items()}
        here = {process.rank: process for process in recorded}
        leader_of = {one["rank"]: leader for leader, each in enumerate(every) for one in each["processes"]}
        listed = sorted((one for each in every for one in each["processes"]), key=lambda one: one["rank"])
        recorded = [here.get(one["rank"]) or elsewhere(one["path"], one["text"], one["rank"], len(one["records"])) for one in listed]
        records, holder = [one["records"] for one in listed], [leader_of[one["rank"]] for one in listed]
    threads = [len(each) for each in records]
    rank = np.repeat(np.array([process.rank for process in recorded], "i4"), threads)
    weight = np.array([count + 1 for each in records for count in each], "i8")
    return Run(folders, recorded, told, dealt(team, directories, rank, weight, np.repeat(holder, threads)), directories.apart)


_NOTHING: dict[str, Any] = {"told": {}, "processes": []}


def _listed(recorded: list[Process], records: list[list[int]], told: dict[str, str]) -> dict[str, Any]:
    """Return what others are told of directories, as JSON has it."""
    processes = []
    for process, counts in zip(recorded, records, strict=True):
        with open(process.path, encoding="utf-8", errors="surrogateescape") as file:
            processes.append({"rank": process.rank, "path": process.path, "text": file.read(), "records": counts})
    return {"told": told, "processes": processes}


def _check_models(team: Team, folders: list[str]) -> None:
    """Raise TraceError, on all, if they do not see the same model of the machine, or none."""
    path = model_of(folders)
    told = b""
    if path:
        with open(path, "rb") as file:
            told = file.read()
    every = [int(each[0]) for each in gathered(team, np.array([zlib.crc32(told)], "i8"))]
    if other := next((process for process, each in enumerate(every) if each != every[0]), 0):
        what = f"process {other} sees another model.toml in its directory than process 0, or only one of them sees one"
        raise TraceError(f"{folders[0]}: {what}; must lie in the directories of all")
