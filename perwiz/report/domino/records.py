"""What the document of `perwiz domino` holds."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from perwiz.report.critical.document import Spent
from perwiz.report.pipelines import Pipeline
from perwiz.report.records import (
    CallId,
    CallPlace,
    Health,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Option,
    Positive,
    Record,
    RegionPath,
    ReplayError,
    Share,
    SharesOf,
    Span,
    TraceDocument,
    choice,
)
from perwiz.whatif.ranking import WORDS
from perwiz.whatif.ranking.ranking import BY
from perwiz.whatif.worth.worth import ALL

EVEN = ("balance", "slowest", "threads")
"""Kinds of changes that even out computation."""


class Change(Record, kw_only=True):
    """A call, where it was made, and what changing it alone is worth."""

    change: Option
    call: CallId
    rank: Natural
    thread: Natural
    routine: str
    region: RegionPath
    site: str
    """Where in the program it is made; empty if the trace does not tell."""
    partner: CallPlace | None
    """The call that is waited for."""
    time_ns: Natural
    """From enter to leave in the recorded run."""
    wait_ns: Natural
    """How long it waits in the recorded run."""
    makespan_ns: Natural
    """If this call alone is changed."""
    gain_ns: int
    receives_passed: Natural
    """Receives ahead of which it would run (question advance): whether it needs what they bring the trace does not tell."""
    zero_wait_ns: Natural
    """Makespan if this call alone did not wait."""


class PathStep(Record):
    """A call on a domino path."""

    number: Positive
    """Place on the path, in the order of time."""
    single: Change
    wait_then_ns: Natural
    """How long it waits when the trigger is changed."""
    fewer_calls: Natural
    """Other calls that wait less when this one is changed."""
    less_ns: Natural
    """How much less, together."""
    more_ns: Natural
    """How much longer other calls wait, together."""


class Path(Record):
    """The domino paths (PerWiz paper, 3.1): calls that pay, followed back from process to process."""

    makespan_ns: Natural
    """T: the least that changing one call gives."""
    trigger: CallId | None
    """Of the calls that give T the one that waits least."""
    paths: Natural
    """Number of paths with that T; 1000000: or more."""
    calls: Natural
    """Calls on the first path."""
    steps: list[PathStep]
    """The first path, with the trigger on it."""
    listed: list[list[CallId]]
    """Paths with that T in the order of time, the first one first; at most 100."""


class Uneven(Record):
    """Who computes longer than others, and where most."""

    rank: Natural
    region: str | None
    """In which region it does most; null if none is known."""
    excess_ns: Natural
    """Beyond the mean of all processes there."""
    only: bool
    """No other process ever enters that region."""


class Late(Record):
    """What most of the waiting of some calls is for: what who is late does meanwhile, of a chain of waits the first."""

    computes: bool
    """Whether it computes; else it is in calls."""
    where: str
    """Region that it computes in, empty outside of any; or the site of these calls."""
    rank: Natural | None
    """Null if it is no single one for half of that waiting."""
    part: Share
    """Of the waiting of these calls."""
    chained: bool
    """Whether most of these calls wait for a process that waits itself."""


class Worth(Record):
    """What could be changed, and what it is worth."""

    kind: Annotated[str, choice(*WORDS)]
    by: Annotated[str, choice(*BY)]
    """What it is about."""
    change: Option
    what: str
    calls: Natural | None
    """How many calls are changed; null if it is not about calls."""
    makespan_ns: Natural
    gain_ns: int
    bound: bool
    """Whether it is what there is to gain at best, and nothing that somebody can do as it stands."""


class Ranked(Worth):
    """What could be changed, what it is worth, and what to do."""

    receives_passed: Natural
    """Receives ahead of which calls would run: whether they need what those bring the trace does not tell."""
    posted: str | None
    """The call site that posts the receives that senders are held by longest; null if it is not about held senders."""
    uneven: Uneven | None
    """Whose computation it evens out most; null where it is about a region, a step or threads, and of any other kind."""
    late: Late | None
    """Of waits, where it is the first of a line or of its kind: what they are for; null where no such thing makes up a fourth of them, and
    of any other kind."""
    remedy: str
    """What to write."""


class Placed(Record):
    """Where a line stands in runs drawn anew, among all that are listed."""

    first: Share
    """Part of the runs in which no other line gains more."""
    first_three: Share
    """In which at most two do."""
    tied: bool
    """Whether it gains more than the line before it in more than one of twenty."""


W = TypeVar("W", bound=Worth)


class Told(Record, Generic[W]):
    """A change, and others that say the same."""

    head: W
    span: Span | None
    """Of the head; null of bounds but the first, and the best of their kind."""
    place: Placed | None
    """Null if fewer than 8 repetitions tell how much gains vary."""
    includes: list[W]
    """Gain no more than the head, largest gain first: each adds less than a tenth of its own gain to the head."""
    more: list[W]
    """Say the same and gain a little more than the head, which is their cause."""
    part: list[W]
    """Of a bound: what somebody can do and what gains a part of it, of the first lines."""
    turned: bool
    """Whether calls that take what comes first take something else with the head, of the first lines."""
    kept_ns: Natural | None
    """Makespan with the head if these keep what they took; null where that is what is told."""
    waits_less: str | None
    """The call site whose waiting falls most with the head; null where nobody waits less, or calls take something else."""
    waiting_ns: Natural
    """How long its calls wait, together."""
    waiting_then_ns: Natural


class Line(Told[Ranked]):
    """A change, and others that say the same, and what to do."""


class NotTried(Record):
    """A kind of change that was not tried."""

    kind: Annotated[str, choice(*WORDS)]
    why: str


class Spending(Record):
    """Where the time of calls goes, a call site; means over processes and threads that compute, since the last has left MPI_Init."""

    site: str
    time_ns: Natural
    """From enter to leave."""
    waiting_ns: Natural
    """Of that."""


class HotSpot(Record):
    """A region on the critical path, and what the run would gain if its computation took half of its time."""

    region: str
    rank: int | None
    """The process whose computation in it is changed; null: that of all."""
    on_path_ns: Natural
    """Its own computation on the path."""
    change: Option
    makespan_ns: Natural
    gain_ns: Natural
    span: Span


class StandsOut(Record):
    """Iterations that take far longer than the others, which in another run may be others, or none."""

    numbers: list[Positive]
    times_ns: list[Natural]
    """Of each, the mean of all processes."""
    median_ns: Natural
    """Of all."""
    excess_ns: Natural
    """What they take more than that, together."""
    alike: str | None
    """The longest stretch of others, for --iterations; null if it is too short to ask about."""


class ForDevices(Record):
    """What a process computes to start its devices and to give them data: nothing to balance, or for threads to share."""

    rank: Natural
    """The one that computes longest for them."""
    time_ns: Natural
    region: RegionPath
    """Where it does most of that."""


class Serving(Record):
    """One process that prepares a piece for each of the others and sends it, in turn."""

    rank: Natural
    others: Natural
    """Processes that it serves."""
    rounds: Natural
    """How often it does."""
    sites: list[str]
    """Where it sends, most sends first; empty if others send there, too."""
    waited_ns: Natural
    """From one send to the next while the one served next waits for it, together."""
    remedy: str


class HandedOut(Record):
    """Work that processes get as they come for it."""

    masters: list[Natural]
    """Ranks that give whoever asks the next task."""
    serving: list[Natural]
    """Ranks that answer whoever they hear, and hand out no tasks that are known."""
    workers: Natural
    """Processes that ask them."""
    tasks: Natural
    """What masters give, and counters."""
    fetched: Natural
    """Those of them that are taken from a counter."""


class Limits(Record):
    """What the time after MPI_Init, or that of the whole program, is made of (POP efficiencies); the parts add up."""

    after_init: bool
    """From when the last process has left MPI_Init; else of the whole program."""
    time_ns: Natural
    """What gains are shares of: shares_of_ns."""
    computation_ns: int
    """The mean of all processes, of all threads if there are several; streams of devices do not count."""
    imbalance_ns: int
    """By how much the process that computes most is above it."""
    start_ns: Natural
    """Until the first process on the critical path began, where others had begun before and MPI_Init is not shown; else what others
    computed between their MPI_Init and that of the last, as far as the process that computes most behind it did not.
    """
    devices_ns: Natural
    """Kernels and copies of devices on the critical path, as far as computation is waited for there."""
    waiting_in_turn_ns: int
    """What waiting for each other adds on an ideal network, beside that."""
    calls_and_network_ns: int
    """What calls themselves and the network add."""
    network_ns: int
    """Of calls_and_network_ns: what goes if no cost of the model is paid, of the network and overheads; the rest no parameter explains."""
    per_byte_ns: Natural | None
    """Of network_ns: what goes if no cost per byte is paid (G and O); the rest is paid per message (L, o and g). Null where the trace does
    not tell what a byte takes.
    """
    calls_of: list[Annotated[str, choice("MPI", "OpenSHMEM", "threads", "devices")]]
    """Whose calls these are."""
    missing_ranks: list[Natural]
    """Those of health: waiting for them is in calls_and_network_ns."""
    end_ns: int
    """From when the last process enters MPI_Finalize to the end."""
    exit_ns: Natural
    """Of that: from when the last process has left MPI_Finalize."""
    polling_ns: Natural
    """Of all that: the mean of all processes in calls that test or probe in vain."""
    processes: Natural
    lanes: Natural
    """Processes and threads that compute."""
    rank: Natural
    """The process or thread that computes most."""
    thread: Natural


class Hidden(Record):
    """Imbalance that balancing does not gain: calls and messages of other processes take as long meanwhile if it would gain half of it
    without their time, else others compute longest at other times.
    """

    change: Option
    """What would gain most of it if calls and messages took no time."""
    gain_ns: Natural
    """What balancing, or a slow process that is as the others, gains at most as it is."""
    free_ns: Natural
    """What that change gains if calls and messages took no time."""


class NextFix(Record):
    """A fix behind those before it."""

    change: Option | None
    """Null if there is no short one."""
    name: str
    calls: Natural
    wait_ns: Natural
    """How long its calls wait before it, together."""
    makespan_ns: Natural
    """With it and those before it."""
    gain_ns: int
    """Over the fix before."""
    waiting_ns: Natural
    """How long all calls wait behind it, together."""


class Fixes(Record):
    """Fixes one after the other (--greedy)."""

    by_gain: list[NextFix]
    """Each the one that gains most behind the ones before it."""
    by_wait: list[NextFix]
    """For contrast, each the call that waits longest by then."""


class Target(Record):
    """How a makespan is reached, or how far the changes go (--target)."""

    asked: str
    makespan_ns: Natural
    reached: bool
    """By what somebody can do; if it is not, the command exits with 5."""
    reached_at_best: bool
    """By all changes, with the bounds among them."""
    ended: bool
    """Whether it is reached by neither, and nothing that was tried gains a thousandth behind the changes."""
    stopped: bool
    """Whether the search ended before that, for the size of the trace."""
    changes: list[Ranked]
    """Each with those before it: its makespan is that, its gain the one over the changes before. Bounds stand behind what can be done."""
    feasible: Natural
    """How many of them, the first, are before any bound: what somebody can do."""
    feasible_span: Span | None
    """Of these together; null without any, and if they are all."""
    span: Span | None
    """Of all changes together; null without any."""


class Pace(Spent, kw_only=True):
    """What sets the pace of the run without waits: its critical path, from the end of MPI_Init on if the trace shows it."""

    rank: Natural
    """The process or thread that is on the path longest."""
    thread: Natural
    without_gaps_ns: Natural
    """Makespan without waits if the model kept no sends apart either."""
    gap: Annotated[str, choice("g_ns", "G_ns_per_byte")] | None
    """The parameter of the model that keeps sends on the path apart most; null if there is no gap."""


class Launches(Record):
    """What a straggler of a training job costs if no launch is late: two options of predict, asked together."""

    changes: list[Option]
    makespan_ns: Natural
    gain_ns: int


class DominoDocument(TraceDocument, kw_only=True):
    """What to change first. Times are whole nanoseconds."""

    command: Literal["domino"] = "domino"
    predict: str
    """The command that asks for a change as it was asked here, for a shell, the change left out."""
    question: Annotated[str, choice(*ALL)]
    block: str | None
    """Region whose instances move; null: single calls do."""
    recorded_ns: Makespan
    replayed_ns: Natural
    """Makespan of the unchanged run, replayed: gains are counted from it."""
    shares_of_ns: SharesOf
    replay_error_ns: ReplayError
    bound_ns: Natural
    """Makespan if all calls are changed (question advance: if no call waited)."""
    bound_span: Span
    pace: Pace | None
    """Null where zero waits gain a twentieth of shares_of_ns or more, for the question zero-time, and without calls."""
    calls: Natural
    waiting_calls: Natural
    waiting_ns: Natural
    waiting_of: list[Annotated[str, choice("processes", "threads", "streams")]]
    """Whose waits these are, together; none if there is but one."""
    limits: Limits | None
    """Null without processes."""
    hidden: Hidden | None
    """Null where balancing gains half of the imbalance or more, or there is little, and if only some kinds of changes were asked for."""
    stands_out: StandsOut | None
    """Null if none does, and where iterations were asked about."""
    spending: list[Spending]
    """The call sites in which most time is spent, longest first; without what starts and ends MPI."""
    hot_spots: list[HotSpot]
    """Largest gain first; none if only some kinds of changes were asked for."""
    outside_ns: Natural
    """Computation on the critical path outside of any region."""
    for_devices: ForDevices | None
    """Null if nobody computes for devices."""
    handed_out: HandedOut | None
    """Null if no work is."""
    serving: Serving | None
    """The process that is waited for longest because it serves in turn; null if none does."""
    pipeline: Pipeline | None
    """Null if there is none, or the trace does not tell what computes its micro-batches."""
    launches: Launches | None
    """Null if it gains no more than the first of `ranked`."""
    best: list[Ranked]
    """The best change of each kind, largest gain first."""
    best_spans: list[Span]
    """Of each of them."""
    ranked: list[Line]
    """What somebody can do, of every kind, largest gain first; of nearly the same gain, each in the span of the other, what is sure to gain
    most, and of equal gain the cause, then the plainer.
    """
    lines: Natural
    """How many lines there are."""
    small_lines: Natural
    """How many of them gain less than a thousandth of shares_of_ns."""
    at_best: list[Line]
    """What there is to gain at best: bounds that are in none of these lines, largest gain first."""
    at_best_lines: Natural
    small_at_best: Natural
    """How many of them gain less than a thousandth of shares_of_ns."""
    draws: Natural
    """Runs drawn anew that tell the places of the lines; 0 if too little repeats."""
    kinds: list[Annotated[str, choice(*WORDS)]]
    """Those that were asked for."""
    not_tried: list[NotTried]
    answerable: bool
    """Whether waits were recorded; if none was they count as computation, and nothing is ranked."""
    gaining_calls: Natural
    """Calls of which each alone gains."""
    changes: list[Change]
    """Largest gain first; of equal ones that which waits least."""
    longest_wait: Change | None
    """The call that waits longest, changed."""
    path: Path
    fixes: Fixes | None = None
    """Null unless asked for."""
    target: Target | None = None
    """Null unless asked for."""
    model: Model
    machine: Machine
    misfit: Misfit
    health: Health
