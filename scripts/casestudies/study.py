"""Programs that are really changed: what perwiz predicts before, beside what is measured after. README.md beside it tells more."""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import registration
import remedies
from coverage import coverage
from doubtful import answers, doubtful
from runs import Expected, Lab, Row, Runs, calls_of, row

from perwiz.errors import PerwizError
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.limits.bound import COMBINATIONS, bound
from perwiz.whatif.sure.logged import Pair
from perwiz.words import table

MEDIAN, WORST, INSIDE = 0.003, 0.02, 0.9
"""Errors that predictions of the change as it was made may have, and the part of them whose span has to hold what is measured."""
MOVES = 7
HEAD = ("question", "predicted", "from", "to", "measured", "error", "noise")


class Case:
    """What one case has found: lines to print, rows that count, figures to keep."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.lines, self.rows = name, [title, ""], list[Row]()
        self.figures: dict[str, Any] = {}

    def table(self, rows: list[Row], before: Runs) -> None:
        """Add a table of questions."""
        self.rows += rows
        cells = [[one.question, *told(one.expected), measured(one), signed(one.error), noise(one.noise)] for one in rows]
        mark = {one.question: " (promise)" for one in rows if one.kind == "promise"}
        cells = [[text[0] + mark.get(text[0], ""), *text[1:]] for text in cells]
        self.lines += table(HEAD, [["as it is", "", "", "", ms(before.time), "", noise(before.noise)], *cells])
        self.figures.setdefault("tables", []).append({"before": before.document(), "questions": [one.document() for one in rows]})


def ms(ns: int) -> str:
    """Return ns as ms."""
    return f"{ns / 1e6:.1f} ms"


def told(expected: Expected) -> list[str]:
    """Return what is predicted, and between what it lies."""
    return [ms(expected.time), ms(expected.least), ms(expected.most)]


def measured(one: Row) -> str:
    """Return what is measured, marked where the span does not hold it."""
    return ms(one.measured) + ("" if one.inside else " !")


def signed(part: float) -> str:
    """Return a part in per cent, with its sign."""
    return f"{100 * part:+.2f} %"


def noise(part: float) -> str:
    """Return half a range in per cent."""
    return f"{100 * part:.2f} %"


def registration_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of Table 2: seven changes in each of three ways."""
    case = Case("registration", "registration: each line moves one point on one process, in the program that the lines above it made")
    head = ("l", "change", "wait", "promised", "error", "predicted", "from", "to", "measured", "error", "noise", "all waits")
    for way, title in registration.WAYS.items():
        before, steps = registration.steps(lab, way, MOVES)
        cells = [["0", "as it is", *[""] * 6, ms(before.time), "", noise(before.noise), ms(registration.waiting(before.middle))]]
        for number, step in enumerate(steps, 1):
            made, promise = step.made, step.promise
            promised = [ms(step.change.wait), ms(promise.expected.time), signed(promise.error)]
            real = [*told(made.expected), measured(made), signed(made.error), noise(made.noise)]
            cells.append([str(number), " ".join(step.change.words), *promised, *real, ms(step.waiting)])
        case.lines += [f"{title}:", *table(head, cells, left=(0, 1)), ""]
        case.rows += [row for step in steps for row in (step.made, step.promise)]
        case.figures[way] = {"before": before.document(), "steps": [step.document() for step in steps]}
        if way == "advance" and steps:
            after = lab.runs("registration", registration.RANKS, steps[0].change.words)[0]
            pictures("registration", before, after, [steps[0].made.question])
    return case


def compositing_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of Tables 1 and 3: each stage balanced, and all of them."""
    case = Case("compositing", "compositing: stages of binary swap that are balanced, one or all")
    wanted = ["balance:1", "balance:2", "balance:3", "balance:4", "balance:all"]
    before, *after = lab.runs("compositing", 16, [], *([word] for word in wanted))
    asked = [f"balance-time stage#{k}" for k in range(1, 5)] + ["balance-time stage"]
    case.table([row("made", before, runs, [text]) for runs, text in zip(after, asked, strict=True)], before)
    bounds = next(one for one in bound(before.middle, ["stage"]).regions if one.name == "stage")
    names = ["".join(f" Q{k + 1}" for k in one) or " -" for one in COMBINATIONS]
    case.lines += ["", "bound of region 'stage', no order of calls (Q1 zero-wait, Q2 balance-time, Q3 balance-messages):"]
    case.lines += table([name.strip() for name in names], [[ms(bounds.time(one)) for one in COMBINATIONS]], left=())
    case.figures["bounds_ns"] = {name.strip(): bounds.time(one) for name, one in zip(names, COMBINATIONS, strict=True)}
    pictures("compositing", before, after[-1], asked[-1:])
    return case


def remedies_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of ten small programs, each with one thing wrong, and the remedy."""
    case = Case("remedies", "remedies: one thing wrong in each program, and right")
    cells = []
    for remedy in remedies.REMEDIES:
        before, one = remedies.measured(lab, remedy)
        question = one.question + (" (promise)" if one.kind == "promise" else "")
        seen = [measured(one), signed(one.error), noise(one.noise)]
        cells.append([remedy.program, question, ms(before.time), *told(one.expected), *seen])
        case.rows.append(one)
        case.figures[remedy.program] = {"before": before.document(), "question": one.document()}
    case.lines += table(("program", HEAD[0], "before", *HEAD[1:]), cells, left=(0, 1))
    return case


def sized(name: str, title: str, words: tuple[str, ...]) -> Case:
    """Return a case whose messages have the size that words say."""
    full = " ".join([name, *words])
    return Case(full.replace(" bytes:", "-"), f"{full}: {title}")


def edges_first(trace: Trace) -> str:
    """Return the hypothesis that every process sends its edge before its inside: `early` of latesender.c."""
    clauses = []
    for process in range(len(trace.locations)):
        sends = [call for call in calls_of(trace, process) if trace.calls.op[call] == operations.OP["MPI_Send"]]
        clauses += [f"e{edge} before e{inside}" for inside, edge in zip(sends[::2], sends[1::2], strict=True)]
    return "move " + ", ".join(clauses)


def latesender_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of a message that could be sent earlier."""
    case = Case("latesender", "latesender: every process sends the edge before the inside")
    before, after = lab.runs("latesender", 8, [], ["early"])
    made = edges_first(before.middle)
    rows = [row("made", before, after, [made], "move every edge before its inside")]
    rows.append(row("promise", before, after, ["zero-wait op:MPI_Recv"]))
    case.table(rows, before)
    pictures("latesender", before, after, [made])
    return case


def pipeline_case(lab: Lab, pictures: Callable[..., None], words: tuple[str, ...] = ()) -> Case:
    """Return the case of a pipeline whose slow stage is made twice as fast."""
    case = sized("pipeline", "the slow stage computes twice as fast", words)
    before, after = lab.runs("pipeline", 8, words, [*words, "fast"])
    asked = ["scale slow stage=0.5", "speed rank:3=2"]
    case.table([row("made", before, after, [text]) for text in asked], before)
    pictures(case.name, before, after, asked[:1])
    return case


def halo_case(lab: Lab, pictures: Callable[..., None], words: tuple[str, ...] = ()) -> Case:
    """Return the case of a straggler among neighbours: made as fast as the others, or balanced with them."""
    case = sized("halo", "a straggler computes 1.6 times as fast, or all compute the mean", words)
    before, fast, balanced = lab.runs("halo", 12, words, [*words, "fast"], [*words, "balanced"])
    rows = [row("made", before, fast, ["speed rank:5=1.6"]), row("made", before, balanced, ["balance-time step"])]
    case.table(rows, before)
    pictures(case.name, before, fast, ["speed rank:5=1.6"])
    return case


def farm_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of tasks that go to whoever asks: a process of another speed, other tasks, and the same handed out fixed."""
    case = Case("farm", "farm: few long and many short tasks, handed out to whoever asks, and fixed")
    changes = {
        "slow:1": "speed rank:1=0.5",
        "fast:2": "speed rank:2=2",
        "short": "scale task=0.5",
        "balanced": "balance-time task",
    }
    kinds = ("requests", "ahead", "ahead:2", "growing")
    farms = [("farm", [], ""), *(("farm", [word], f"{word}: ") for word in kinds), ("counter", [], "counter: ")]
    for program, words, told in farms:
        before, *after = lab.runs(program, 5, words, *([*words, word] for word in changes))
        case.table([row("made", before, runs, [text], f"{told}{text}") for runs, text in zip(after, changes.values(), strict=True)], before)
    fixed, fixed_slow = lab.runs("farm", 5, ["static"], ["static", "slow:1"])
    case.table([row("made", fixed, fixed_slow, [changes["slow:1"]], f"static: {changes['slow:1']}")], fixed)
    dynamic, *shared = lab.runs("counter", 5, [], ["static"], ["blocks"])
    for runs, order in zip(shared, ("turns", "blocks"), strict=True):  # the counter gives what was dealt out in that order
        case.table([row("made", runs, dynamic, [f"dynamic task={order}"], f"{runs.variant}: dynamic task={order}")], runs)
    return case


def hybrid_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of programs with threads: a loop balanced, a critical section that is none, more threads, messages beside a loop."""
    changes = "iterations as threads come for them; a critical section made a reduction; four threads; messages beside a loop"
    case = Case("hybrid", f"hybrid: {changes}")
    cells = []
    for program in THREADED:
        before, one = threaded(lab, program)
        cells.append([program, one.question, ms(before.time), *told(one.expected), measured(one), signed(one.error), noise(one.noise)])
        case.rows.append(one)
        case.figures[program] = {"before": before.document(), "question": one.document()}
    case.lines += table(("program", HEAD[0], "before", *HEAD[1:]), cells, left=(0, 1))
    return case


def threaded(lab: Lab, program: str) -> tuple[Runs, Row]:
    """Return the runs of a program of THREADED before its change, and the prediction beside those with it."""
    ranks, word, ask = THREADED[program]
    before, after = lab.runs(f"hybrid/{program}", ranks, [], [word])
    return before, row("made", before, after, [ask(before.middle)])


def _loop_balanced(trace: Trace) -> str:
    """Return the question: the loop takes all threads the same time."""
    return f"balance-time {next(name for name in trace.names if name.startswith('omp for '))}"


def _more_threads(trace: Trace) -> str:
    """Return the question: the loop has four threads."""
    loop = next(name for name in trace.names if name.startswith("omp for "))
    return f"threads {loop.replace('for', 'parallel')}=4"


THREADED: dict[str, tuple[int, str, Callable[[Trace], str]]] = {
    "schedule": (2, "dynamic", _loop_balanced),
    "critical": (2, "reduction", lambda _: "zero-time op:omp_critical"),
    "teams": (2, "4", _more_threads),
    "overlap": (4, "beside", lambda _: "overlap op:MPI_Send,MPI_Recv"),
}
"""Per program with threads: its processes, the word that changes it, and the question that the change is."""
LIMITS = ((1000, 512), (2000, 1024), (4000, 2048), (16384, 65536), (65536, 262144), (262144, 1048576))
"""Sizes of messages, and limits that the MPI is run with: below and above that of Open MPI and MPICH in shared memory, 4 and 8 KiB."""
HELD: dict[str, tuple[int, list[str]]] = {"eager": (3, []), "halo": (2, ["uneven"]), "pipeline": (2, ["uneven"])}
"""Programs whose messages hold their sender above the limit: processes and arguments."""
LATER: dict[str, tuple[int, list[str]]] = {"halo": (2, ["uneven"]), "pipeline": (2, ["uneven", "ahead"])}
"""Programs that post their receives in time, and compute while messages may move."""
LONG_MESSAGES = (16384, 65536, 262144)
"""Sizes of messages that hold their sender."""


def eager_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of an MPI with another eager limit: messages hold their sender no more, or do now."""
    case = Case("eager", "eager: another eager limit")
    changes = []
    for program, (ranks, words) in HELD.items():
        for bytes_, limit in LIMITS:
            own = [*words, f"bytes:{bytes_}"]
            changes.append((program, str(bytes_), f"eager {limit}", *lab.runs(program, ranks, own, [*own, f"limit:{limit}"])))
    return settings_told(case, changes)


def progress_case(lab: Lab, pictures: Callable[..., None]) -> Case:
    """Return the case of messages that move while their receiver computes, and of such that do not."""
    case = Case("progress", "progress: messages move always, or in calls only")
    changes = []
    for program, (ranks, words) in LATER.items():
        for bytes_ in LONG_MESSAGES:
            own = [*words, f"bytes:{bytes_}"]
            in_calls, always = lab.runs(program, ranks, own, [*own, "moving"])
            changes.append((program, str(bytes_), "progress always", in_calls, always))
            changes.append((program, str(bytes_), "progress in calls", always, in_calls))
    return settings_told(case, changes)


def settings_told(case: Case, changes: list[tuple[str, str, str, Runs, Runs]]) -> Case:
    """Return a case of settings of an MPI: program, bytes, question, runs before and after."""
    cells = []
    for program, bytes_, question, before, after in changes:
        one = row("made", before, after, [question])
        change = signed((one.expected.time - before.time) / (one.measured - before.time) - 1) if one.measured != before.time else ""
        seen = [measured(one), signed(one.error), noise(one.noise), change]
        cells.append([program, bytes_, question, ms(before.time), *told(one.expected), *seen])
        case.rows.append(one)
        case.figures[f"{program} {bytes_} {question}"] = {"before": before.document(), "question": one.document()}
    case.lines += table(("program", "bytes", HEAD[0], "before", *HEAD[1:], "of the change"), cells, left=(0, 2))
    return case


CASES = {
    "registration": registration_case,
    "compositing": compositing_case,
    "latesender": latesender_case,
    "pipeline": pipeline_case,
    "halo": halo_case,
    "farm": farm_case,
    "remedies": remedies_case,
    "hybrid": hybrid_case,
    "eager": eager_case,
    "progress": progress_case,
}
SIZED: dict[str, Callable[..., Case]] = {"pipeline": pipeline_case, "halo": halo_case}
"""Cases of programs that take the size of their messages."""


def summary(cases: list[Case]) -> tuple[list[str], dict[str, object], bool]:
    """Return the lines that say how large errors are, the same as figures, and whether predictions of what was made hold."""
    lines, figures, good = [], {}, True
    for kind, name in (("made", "the change as it was made"), ("promise", "zero-wait promises")):
        rows = [one for case in cases for one in case.rows if one.kind == kind]
        if not rows:
            continue
        errors, inside = sorted(abs(one.error) for one in rows), sum(one.inside for one in rows)
        median, worst = statistics.median(errors), errors[-1]
        sizes = f"median error {100 * median:.2f} %, worst {100 * worst:.2f} %"
        lines.append(f"{name}: {len(rows)} predictions, {sizes}, {inside} of {len(rows)} measured inside the span")
        figures[kind] = {"count": len(rows), "median": median, "worst": worst, "inside": inside}
        good &= kind == "promise" or (median <= MEDIAN and worst <= WORST and inside >= INSIDE * len(rows))
    return lines, figures, good


def pairs_of(cases: list[Case]) -> dict[str, list[Pair]]:
    """Return, per program, all pairs of a recording before and a run after of questions that are the change as it was made."""
    out: dict[str, list[Pair]] = {}
    for case in cases:
        for one in case.rows:
            for pair in one.pairs() if one.kind == "made" else ():
                out.setdefault(pair.trace.partition(" ")[0], []).append(pair)
    return out


def picture(folder: pathlib.Path) -> Callable[..., None]:
    """Return what draws a case: predicted above measured."""

    def draw(name: str, before: Runs, after: Runs, hypotheses: list[str]) -> None:
        from perwiz.report.compare import plot as compare_plot

        compared = compare(before.middle, after.middle, "e1", hypotheses)
        compare_plot.plot(compared, reasons(compared), str(folder / f"{name}.png"))

    return draw


def asked_for(names: list[str], sizes: list[int]) -> list[Callable[..., Case]]:
    """Return the cases, those of programs that take sizes also with these."""
    plain = [CASES[name] for name in names]
    return plain + [functools.partial(SIZED[name], words=(f"bytes:{size}",)) for size in sizes for name in names if name in SIZED]


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=list(CASES), help="one of the cases; can be given several times (default: all)")
    parser.add_argument(
        "--bytes",
        action="append",
        type=int,
        default=[],
        metavar="N",
        help=f"{', '.join(SIZED)} with messages of so many bytes, too; can be given several times",
    )
    parser.add_argument("--otf2", action="store_true", help="read the recordings as OTF2 archives, converted")
    parser.add_argument("--runs", type=int, default=5, help="runs of each variant, of which the median counts (default 5)")
    meaning = "ask every recording before, and tell how often the runs after lie between the times that were told"
    parser.add_argument("--coverage", action="store_true", help=meaning)
    meaning = "tell how far answers are off, by how much of their critical path the model gets wrong"
    parser.add_argument("--doubts", action="store_true", help=meaning)
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of the MPI, its mpicc beside it (default: mpiexec)")
    parser.add_argument("--out", type=pathlib.Path, help="folder for study.json, pictures and recordings (default: print only)")
    return parser.parse_args()


def main() -> int:
    """Return 0, or 5 if predictions are further off than they may be."""
    args = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.out or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lab, draw = Lab(folder, args.mpiexec, args.runs, args.otf2), picture(folder)
        cases = []
        for ask in asked_for(args.case or list(CASES), args.bytes):
            cases.append(ask(lab, draw))
            print("\n".join(cases[-1].lines), end="\n\n", flush=True)
        lines, errors, good = summary(cases)
        print("\n".join(lines))
        if args.coverage:
            print("\n".join(["", *coverage(pairs_of(cases))]))
        if args.doubts:
            print("\n".join(["", *doubtful(list(answers([one for case in cases for one in case.rows])))]))
        figures = {case.name: case.figures for case in cases}
        document = {"version": 1, "mpi": lab.mpi, "runs": lab.count, "errors": errors, "cases": figures}
        if args.out:
            (folder / "study.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if good else 5


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PerwizError as error:
        sys.exit(f"study: {error}")
