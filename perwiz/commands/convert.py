"""`perwiz convert`: the same trace in another format."""

from __future__ import annotations

import argparse
import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perwiz.clock.treatment import Treated
    from perwiz.trace.trace import Trace
    from perwiz.whatif.health import Health
    from perwiz.whatif.run import Run, Start

HELP = "write a trace in another format: a store, ALOG, OTF2, Paraver, JSON for Perfetto, GOAL or Chakra"
_ENDING = """
The format written is told by the name of FILE: .perwiz is a store, a directory that holds all of the trace as it was recorded and what
each question begins with, under --clock and --model: the next one on it neither reads, corrects, fits nor builds again; .otf2 is an OTF2
archive (x.otf2, x.def and the folder x), .prv or .prv.gz a Paraver trace (x.prv, x.pcf and x.row), .json the Trace Event Format that
Perfetto and chrome://tracing show, .goal the operations that LogGOPSim and its kin simulate: messages as the model (--model) explains
them, all else as computation; .et a directory of Chakra execution traces (x.et/x.RANK.et) for ASTRA-sim, likewise, but with collectives
as such, and computation in whole us; anything else ALOG (.json and ALOG also .gz, .zst: packed). The times written are those that every
analysis works with: clocks that disagree are corrected unless --clock says otherwise. Says what was done to them, and what the format
does not hold.

examples:
  perwiz convert traces.otf2 run.perwiz             for many questions: then perwiz predict run.perwiz ...
  perwiz convert run.alog run.otf2                  for Vampir, Scalasca, otf2-print
  perwiz convert traces.otf2 run.alog.gz            for Jumpshot
  perwiz convert traces.otf2 run.json.gz            for ui.perfetto.dev, with the waits of every call
  perwiz convert traces.otf2 run.prv                for Paraver
  perwiz convert traces.otf2 run.goal               for LogGOPSim, ATLAHS, LLAMP
  perwiz convert run.otf2 run.et                    for ASTRA-sim
  perwiz convert run.log.gz run.log --clock none    unpack, every time as it was measured

exit codes: 0 done, 2 usage, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz convert`."""
    options.trace(parser)
    options.clock(parser)
    options.model(parser)
    parser.add_argument("output", metavar="FILE", help="file to write; its name tells the format")
    options.quiet(parser)
    options.ending(parser, f"{options.formats()}\n\n{_ENDING.lstrip()}")


def run(args: argparse.Namespace) -> int:
    """Return the exit code, after writing the trace and printing what was written."""
    from perwiz.clock import offsets
    from perwiz.clock.treatment import treat
    from perwiz.errors import DONE, INCOMPLETE, UsageError
    from perwiz.formats import files as formats
    from perwiz.formats.chakra.format import CHAKRA
    from perwiz.formats.goal.format import GOAL
    from perwiz.formats.store.format import STORE
    from perwiz.report.perfetto import write as perfetto
    from perwiz.trace.tied import widened
    from perwiz.whatif.health import health

    model = options.machine(args)
    form = formats.format_of(args.output)
    files.check([args.output], [args.trace, args.model], schedules=True)
    trace = files.read(args.trace, model)
    if form is STORE:
        return _keep(trace, args)
    clocks = treat(trace, args.clock)
    trace = trace if args.clock == "none" else offsets.apply(trace)
    if not trace.offsets_applied:
        raise UsageError(f"{args.trace}: its times are those of several clocks, must be converted with --clock linear or clc")
    if clocks.correction:
        trace = dataclasses.replace(trace, timeline=widened(trace, clocks.trace.timeline))
    view, moved, missing = formats.is_view(args.output), 0, list[tuple[str, int]]()

    def write(path: str) -> None:
        nonlocal moved, missing
        if view:
            _view(trace, path)
            missing = perfetto.missing(trace)
        elif form is GOAL:
            missing = _schedule(trace, model, path)
        elif form is CHAKRA:
            missing = _nodes(trace, model, path)
        else:
            moved, missing = formats.write(trace, path), form.missing(trace)

    files.write({args.output: write})
    state = health(clocks.trace, clocks.correction.graph.contradictions if clocks.correction else 0, clocks)
    terminal.show(partial(_text, trace, clocks, args.output, form.name, missing, moved, state), args.quiet)
    return INCOMPLETE if state.incomplete else DONE


def _keep(trace: Trace, args: argparse.Namespace) -> int:
    """Return the exit code, after writing a store: all of a trace as it is, and what questions on it begin with."""
    from perwiz.errors import DONE, INCOMPLETE
    from perwiz.formats.store.format import STORE
    from perwiz.whatif.stages import keep

    runs: list[Run] = []
    files.write({args.output: lambda path: runs.append(keep(trace, path, args.clock, options.machine(args)))})
    clocks, state = runs[0].clocks, runs[0].health()
    terminal.show(partial(_text, trace, clocks, args.output, STORE.name, [], 0, state, "as recorded, and beside them "), args.quiet)
    return INCOMPLETE if state.incomplete else DONE


def _view(trace: Trace, path: str) -> None:
    """Write a run with all its locations, and how long its calls wait under the model of the trace or the default one."""
    from perwiz.report.perfetto import write as perfetto

    origin, run = trace.timeline.origin, _run(trace, None)
    view = perfetto.View("recorded" if origin.measured else str(origin), trace.timeline, run.waits)
    perfetto.write(trace, [view], path)


def _schedule(trace: Trace, model: Start, path: str) -> list[tuple[str, int]]:
    """Write a run as operations that need each other, under a model or that of the trace; return what it does not hold."""
    from perwiz.formats.goal.write import write
    from perwiz.loggps.schedules import schedule

    made = schedule(_run(trace, model).weighted)
    write(made.schedule, path)
    return made.missing


def _nodes(trace: Trace, model: Start, path: str) -> list[tuple[str, int]]:
    """Write a run as nodes that need each other, likewise."""
    from perwiz.formats.chakra.write import write
    from perwiz.loggps.schedules import IN_ASTRA_SIM, schedule

    made = schedule(_run(trace, model).weighted, as_such=IN_ASTRA_SIM)
    return [*made.missing, *write(made.schedule, trace, path)]


def _run(trace: Trace, model: Start) -> Run:
    """Return a trace weighted under a model, or that of the trace or the default one."""
    from perwiz.clock.condition import violations
    from perwiz.clock.treatment import Treated
    from perwiz.whatif.run import graph_of, machine_of, replay_of, summable

    machine = machine_of(model, trace)
    return replay_of(summable(Treated(trace, violations(trace, trace.timeline), None)), graph_of(trace, machine.model), machine)


def _text(
    trace: Trace,
    clocks: Treated,
    path: str,
    format: str,
    missing: Sequence[tuple[str, int]],
    moved: int,
    state: Health,
    beside: str = "",
) -> str:
    """Return what was written to `path` as text for a terminal: tables and times, what the format does not hold, the trace's health.

    `beside` is what stands before corrected times.
    """
    from perwiz import words
    from perwiz.formats import losses
    from perwiz.report import blocks

    facts = [(label, str(number)) for label, number in _tables(trace) if number]
    facts.append(("times", f"{beside if clocks.correction else ''}{_times(clocks)}"))
    facts += [("not written", f"{what}: {number}") for what, number in missing]
    if missing:
        facts.append(("", losses.KEPT))
    if moved:
        facts.append(("moved", f"{words.several(moved, 'event')}, region boundaries or records, so that no time runs backwards"))
    head = f"{words.shown(path)}: {format}, from {words.shown(trace.path)} ({trace.format}){blocks.mark(state)}"
    return "\n".join([head, "", *words.facts(facts), "", *blocks.health_lines(blocks.health(state))])


def _times(clocks: Treated) -> str:
    """Return in words which times were written."""
    from perwiz import words
    from perwiz.clock.figures import displacement

    trace, correction = clocks.trace, clocks.correction
    if correction is None:
        return "as recorded" if trace.timeline.origin.measured else str(trace.timeline.origin)
    found = displacement(trace, correction.before, trace.timeline)
    events = words.several(found.events, "event")
    return f"corrected by the controlled logical clock: {found.moved} of {events} moved, by {words.duration(found.largest)} at most"


def _tables(trace: Trace) -> list[tuple[str, int]]:
    return [
        ("locations", len(trace.locations)),
        ("calls", len(trace.calls)),
        ("messages", len(trace.messages)),
        ("collectives", len(trace.collectives)),
        ("requests", len(trace.requests)),
        ("regions", len(trace.regions)),
        ("counters", len(trace.counters)),
        ("parameters", len(trace.parameters)),
        ("records", len(trace.records)),
    ]
