"""A recorded run read by several processes, each its locations alone; messages and collectives are matched by telling each other."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.recorded import notes
from perwiz.formats.recorded.apart import Run, known_to_all
from perwiz.formats.recorded.files import Process, processes
from perwiz.formats.recorded.read import Builder
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.spread.assembled import AskedWholeError, alike, assembled, totals
from perwiz.trace.spread.matched import Places, matched_collectives, matched_messages
from perwiz.trace.spread.team import Team, agreed, gathered, texts
from perwiz.trace.tables import Messages, Times
from perwiz.trace.trace import Counts, Trace


def read(team: Team, folders: list[str]) -> Trace | None:
    """Return the part of a recorded run that this process of a team has, having read the calls of its locations alone.

    None, on all, for one that is to be read whole: of OpenSHMEM, with one-sided communication, or with collectives that do not come in one
    order. Raises TraceError as `perwiz.formats.recorded.read.read`.
    """
    run = known_to_all(team, agreed(team, lambda: processes(folders)), folders)
    try:
        return _Builder(run).part()
    except AskedWholeError:
        if not run.apart:
            return None
    what = "one-sided communication, or collectives in no one order, are matched where all directories are seen"
    raise TraceError(f"{folders[0]}: {what}; must be asked of one process (without mpiexec)")


_FAR = operations.ON_WINDOWS | np.array([name.startswith("shmem_") for name in operations.OPS])
"""Per op: it is about the memory of other processes."""


def _without_calls(process: Process) -> Process:
    """Return what a process says of itself alone."""
    return dataclasses.replace(
        process, calls=[rows[:0] for rows in process.calls], parts=[rows[:0] for rows in process.parts], counts=[], faults=()
    )


class _Builder(Builder):
    """Builds the part of a trace that a process has."""

    def __init__(self, run: Run) -> None:
        self.team = self._team = team = run.dealt.team
        self._bounds = run.dealt.bounds
        recorded = run.processes
        rank = np.repeat(np.array([process.rank for process in recorded], "i4"), [len(process.calls) for process in recorded])
        own = set(rank[self._own].tolist())
        super().__init__([process if process.rank in own else _without_calls(process) for process in recorded], run.folders, run.told)
        if team.rank < team.size - 1:  # what is wrong with files that all know the last one says
            self.faults = [fault for process in self.processes for fault in process.faults]
        calls = np.diff(self.columns.first)[self._own]
        first = np.append(0, np.cumsum(np.concatenate(gathered(team, calls)))).astype("i8")
        self.places = Places(team, self.columns.rank(), self._bounds, first)

    @property
    def _own(self) -> slice:
        return slice(*self._bounds[self._team.rank : self._team.rank + 2].tolist())

    def _notes(self, inside: dict[int, notes.Call]) -> dict[str, str]:
        every = [json.loads(told) for told in texts(self._team, json.dumps([*inside.items()]))]
        return super()._notes({rank: notes.Call(*call) for told in every for rank, call in told})

    def _earliest(self, times: list[int]) -> int:
        return int(self._team.reduce(np.array([min(times)], "i8"), "min")[0])

    def part(self) -> Trace:
        """Return it. Raises AskedWholeError, on all."""
        self._whole_if(bool(_FAR[self.columns["op"]].any()))
        own = self.trace()
        number, sites = alike(self._team, own.sites)
        site = np.append(number, -1).astype("i4")[own.site]
        mine = np.zeros(len(own.locations), bool)
        mine[self._own] = True
        defects = own.defects
        kept = mine[defects.location] | (defects.location < 0)
        defects = dataclasses.replace(defects, **{field.name: getattr(defects, field.name)[kept] for field in dataclasses.fields(defects)})
        return assembled(self.places, dataclasses.replace(own, site=site, sites=sites, defects=defects), self._tied, self._found)

    def _whole_if(self, asked: bool) -> None:
        if self._team.reduce(np.array([asked], "i8"), "max")[0]:
            raise AskedWholeError

    def _messages(self) -> None:
        enter, several = self.columns["enter"], len(self.columns.process) > len(self.processes)

        def match(sends: matching.Ends, receives: matching.Ends, mode: U1) -> tuple[Messages, int]:
            def tell(there: matching.Ends, here: matching.Ends) -> None:
                """What is recorded says all."""

            self._tied, differs = matched_messages(self.places, sends, receives, mode, enter, tell, equal=False, several=several)
            return Messages.empty(), differs

        self.traffic.finish(self.columns.shares, np.array([process.rank for process in self.processes], "i4"), None, match=match)
        self.traffic.matched = int(self.places.has(self._tied.calls["receive_done"]).sum())

    def _instances(self, done: I4, sequence: I8) -> CollectiveInstances:
        self._whole_if(bool((sequence >= 0).any()))
        found = matched_collectives(self.places, self.calls, done, self.comms.table(), self.columns["enter"])
        self._found = found
        return CollectiveInstances(found.collectives, found.members, found.unmatched, found.incomplete, found.rootless)

    def _instants(self) -> Times:
        own = super()._instants()
        return Times(*(np.concatenate(gathered(self._team, times[self._own])) for times in (own.enter, own.leave)))

    def _counts(self) -> Counts:
        return totals(self._team, super()._counts(), self._found, {"silent_processes": self.silent})
