"""`perwiz patterns`: wait states, where they are, and what removing them is worth."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from perwiz.commands import files, options

if TYPE_CHECKING:
    from perwiz.patterns.analysis.worth import Worth
    from perwiz.patterns.search import Findings
    from perwiz.trace.spread.team import Team
    from perwiz.whatif.run import Run

HELP = "find wait states: late senders, waits in collectives, idle threads and devices, and what each is worth"
_ROWS = 10
_ENDING = """
Patterns and their names are those of Scalasca 2.6. `gain` is how much shorter the run would be, replayed, if no call waited at the call
sites where a pattern occurs: what `perwiz predict` prints for the option beside it. The delay cost of a call path is the waiting of
others that comes from a process spending more time there than they; together the costs are the waiting. Efficiencies are those of POP;
below 80 % they are marked (!); with several threads those of MPI and of the threads stand beside them,
with counters IPC and GHz. --of takes the names of --json
and of `perwiz cube show`.

examples:
  perwiz patterns run.otf2
  perwiz patterns run.otf2 --of mpi_latesender -n 20
  perwiz patterns run.otf2 --own mine.py --json
  perwiz patterns run.otf2 --of mpi_latesender --topology 4x4 --plot late.png
  perwiz patterns run.otf2 --cube run.cubex                  for the Cube tools, and for perwiz cube
  mpiexec -n 4 perwiz patterns run.otf2 --no-causes          by four processes, each with its part of the run

exit codes: 0 done, 2 usage or model, 3 the trace cannot be read, 4 done but the trace is incomplete
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `perwiz patterns`."""
    options.trace(parser)
    parser.add_argument("--of", metavar="PATTERN", help="only this pattern and its special cases, such as mpi_latesender")
    options.rows(parser, _ROWS, "call paths and instances; if not given, of causes those that matter, and the longest waits")
    parser.set_defaults(rows=None)
    parser.add_argument("--locations", action="store_true", help="list the waiting of every process")
    parser.add_argument(
        "--statistics", action="store_true", help="list how severe the instances of each pattern are: mean, median, quartiles"
    )
    parser.add_argument("--efficiencies", action="store_true", help="list the parallel efficiencies of every region of the first level too")
    parser.add_argument("--reference", metavar="TRACE", help="another run of the program: how the computation scales from it to this one")
    parser.add_argument("--no-causes", action="store_true", help="do not search what the waiting comes from")
    parser.add_argument("--own", action="append", default=[], metavar="FILE", help="a Python file with patterns of your own; or several")
    parser.add_argument("--cube", metavar="FILE.cubex", help="write all metrics per call path and location as a Cube 4 file")
    parser.add_argument("--topology", metavar="SIZES", help="the processes are a grid, such as 4x4: ranks in order, the last size first")
    meaning = "draw where the waiting of --of (default: the pattern worth most) is: over the topology, else by call path and rank"
    options.plot(parser, meaning)
    options.iterations(parser)
    options.model(parser)
    options.clock(parser)
    options.answer(parser)
    options.ending(parser, _ENDING)


def run(args: argparse.Namespace, team: Team | None = None) -> int:
    """Return the exit code, after printing what was found; each process of a team takes part."""
    import sys

    from perwiz import words
    from perwiz.commands.cube import check_output
    from perwiz.errors import UsageError
    from perwiz.patterns.analysis.causes import explain
    from perwiz.patterns.analysis.efficiency import computation, work
    from perwiz.patterns.analysis.worth import worth
    from perwiz.patterns.library import BUILT_IN
    from perwiz.patterns.library.grid import TWINS
    from perwiz.patterns.own import collect
    from perwiz.patterns.search import causes_elsewhere, search
    from perwiz.patterns.topology import arranged
    from perwiz.progress import Progress
    from perwiz.report.patterns import document as report
    from perwiz.report.patterns import plot as patterns_plot
    from perwiz.report.patterns.causes import reference
    from perwiz.report.patterns.text import text
    from perwiz.trace.resources import graphs_at_once
    from perwiz.trace.tied import tied_part
    from perwiz.whatif.run import iterating, replayed
    from perwiz.whatif.sure.noise import noise_ahead

    if args.reference is not None and args.no_causes:
        raise UsageError("--reference: needs the efficiencies, which --no-causes leaves out")
    check_output(args.cube, [args.trace, args.reference, args.model, *args.own], args.plot)
    own = collect(args.own, BUILT_IN)
    files.refuse({f"--{name}": getattr(args, name) for name in ("cube", "iterations", "plot", "reference")} | {"--own": own}, team)
    if team is not None and not args.no_causes:
        raise UsageError("patterns: several processes do not tell what the waiting comes from, must be asked with --no-causes")
    pattern, paths = report.known(args.of, (*BUILT_IN, *own, *TWINS)), [args.trace, *filter(None, [args.reference])]
    (trace, machine), *others = files.parts(paths, args.iterations, options.machine(args), team, "patterns")
    compared = tied_part(others[0][0]) if others else None
    begun = iterating if team is None else replayed  # several look for no iterations
    replay = begun(arranged(trace, args.topology), machine, args.clock, also=lambda trace, _: causes_elsewhere(trace))
    findings = search(replay.trace, own)
    for failure in findings.failures:
        print(f"perwiz: {words.shown(failure, 1000)}", file=sys.stderr)
    _check_searched(pattern, findings)
    with Progress("what the waiting comes from", noun="step") as progress:
        tasks = lambda: None if args.no_causes else explain(findings, progress), lambda: None if team else noise_ahead(replay)
        explained = graphs_at_once(tasks, replay.graph.edges)[0]
    with Progress("what the waits are worth", noun="set of call sites") as progress:
        gains = worth(replay, findings, progress)
    document = report.document(replay, findings, gains, pattern, _ROWS if args.rows is None else args.rows, explained)
    if compared is not None and document.efficiencies:
        document.reference = reference(replay, document.efficiencies, compared.path, computation(compared), work(compared))
    shown = partial(text, locations=args.locations, statistics=args.statistics, regions=args.efficiencies, short=args.rows is None)
    return files.finish(
        args,
        document,
        shown,
        document.health.incomplete,
        {
            args.cube: partial(_cube, replay, explained.findings if explained else findings, gains),
            args.plot: partial(patterns_plot.plot, replay, findings, gains, pattern, width=args.size),
        },
        team,
    )


def _check_searched(pattern: str | None, findings: Findings) -> None:
    """Raise UsageError if a pattern is asked for that was not searched for."""
    from perwiz.errors import UsageError
    from perwiz.patterns.library import OF_SHMEM, OF_THREADS
    from perwiz.patterns.library.grid import TWINS

    if pattern is None or pattern in findings.instances:
        return
    why = "all processes are on one metahost" if pattern in {twin.name for twin in TWINS} else "see above"
    why = "which has no calls of threads or devices" if pattern in {known.name for known in OF_THREADS} else why
    why = "which has no calls of OpenSHMEM" if pattern in {known.name for known in OF_SHMEM} else why
    raise UsageError(f"pattern '{pattern}': not searched for in this trace, {why}")


def _cube(replay: Run, findings: Findings, gains: Worth, path: str) -> None:
    from perwiz.formats.cube import write as cube_write
    from perwiz.report.cube import findings as cube_findings

    cube_write.write(cube_findings.cube(replay, findings, gains), path)
