"""Between which times an answer lies, and what that comes from: the same record and the same words in every report."""

from __future__ import annotations

import math

from perwiz import words
from perwiz.report.blocks import Facts
from perwiz.report.machine import pairs
from perwiz.report.records import ByChance, GainBetween, Possible, Span, Unusual, Varies
from perwiz.trace.tables import NONE
from perwiz.whatif.hypotheses.collectives import GUESSED
from perwiz.whatif.hypotheses.computation import NEEDED, NEEDLESS, OWN_WORK, TAKEN_OVER
from perwiz.whatif.hypotheses.dynamic import DEALT
from perwiz.whatif.hypotheses.network import POLLED
from perwiz.whatif.hypotheses.order import DISTURBED, IN_PROPORTION
from perwiz.whatif.hypotheses.stretch import LONGEST
from perwiz.whatif.hypotheses.threads import FITTED
from perwiz.whatif.hypotheses.waits import SLOWED
from perwiz.whatif.sure import answers
from perwiz.whatif.sure import span as whatif
from perwiz.whatif.sure.chance import Chance
from perwiz.whatif.sure.first import Worth
from perwiz.whatif.sure.parts import BLOCKS, FEW
from perwiz.whatif.sure.variations import AWAITED, GAPS, HELD, LATE

OWN = "if each process had a processor of its own"
"""What a gain is told for where processes shared processors."""
_WORDS = {
    "progress": {"in calls": "long messages move on only in MPI calls", "always": "long messages move on without MPI calls"},
    "gap": {"none": "nothing keeps sends apart", "sending call": "sends are kept apart"},
}
_SENDS = {
    "S_bytes": "",
    "S_blocking_bytes": " in blocking sends",
    "S_nonblocking_bytes": " in non-blocking sends",
    "S_sendrecv_bytes": " in MPI_Sendrecv",
}
_REPEATS = {"computation": "computation that repeats", "calls": "work in calls that repeats"}
_UNKNOWN = "nothing repeats, so how much it varies is not known"
_MOST = 1.0
"""Part from which on what varies is a few long among many short ones: no number that says anything."""
_LITTLE = 0.01
"""Part of a gain below which it is not said by how much fitted costs may be off."""
_ANY = 10**9
"""Bytes from which on no message is longer."""


def span(value: whatif.Span) -> Span:
    """Return a span as a report tells it."""
    varies = value.varies
    return Span(
        least_ns=value.least,
        most_ns=value.most,
        sooner_ns=value.around.sooner,
        later_ns=value.around.later,
        runs_ns=value.around.runs,
        varies=Varies(varies.what, round(varies.relative, 6), varies.stretches, varies.iterations, varies.differ) if varies else None,
        others=[Possible(changes=list(other.changes), makespan_ns=other.makespan) for other in value.others],
        stops=list(value.stops),
        gain=_gain(value.gain) if value.gain else None,
        costs_ns=value.costs,
        drawn=value.drawn,
        alone_ns=value.alone,
    )


def _gain(gain: answers.Gain) -> GainBetween:
    between, open_ = (gain.least, gain.most, gain.draws, gain.mean), (gain.least_open, gain.most_open)
    return GainBetween(*between, *open_, gain.deviation, _by_chance(gain.chance) if gain.chance else None)


def _by_chance(chance: Chance) -> ByChance:
    piece = chance.piece
    if piece is None:
        return ByChance(chance.hides, None)
    call = f"e{piece.call}" if piece.call != NONE else None
    return ByChance(chance.hides, Unusual(piece.rank, piece.thread, call, piece.routine, piece.computes, piece.took, piece.longer))


def worth(span: Span, recorded: int, answer: int) -> Worth:
    """Return what an answer gains over the recorded makespan, ns, and between what that lies in all that the trace leaves open: in nine of
    ten other runs, as costs that were fitted may be, as the machine may be, and as recorded or with a processor for each process. The
    latter is what it gains where processes shared them. Where too little repeats to draw runs, between what it lies as the answer may last
    anything within its span; a recording that takes longer or less as a whole gains as much more or less.
    """
    gain, now = span.gain, recorded - answer
    if gain is not None:
        least, most = min(gain.least_ns, gain.least_open_ns) - span.costs_ns, max(gain.most_ns, gain.most_open_ns) + span.costs_ns
    else:
        runs = span.varies.differ * now if span.runs_ns and span.varies else 0
        sooner, later = (round(math.hypot(end, span.runs_ns)) - round(math.hypot(end, runs)) for end in (span.sooner_ns, span.later_ns))
        times = [span.least_ns + sooner, span.most_ns - later, *(other.makespan_ns for other in span.others)]
        least, most = recorded - max(times), recorded - min(times)
    alone = now if span.alone_ns is None else span.alone_ns
    return Worth(alone, min(least, now, alone), max(most, now, alone))


def sure(span: Span | None, recorded: int, answer: int) -> bool:
    """Return whether an answer gains over the recorded makespan, ns, in all that the trace leaves open."""
    return span is None or worth(span, recorded, answer).sure > 0


def ends(worth: Worth) -> tuple[str, str]:
    """Return what a change gains at least and at most; empty if the trace leaves nothing open."""
    told = words.duration(worth.least), words.duration(worth.most)
    return told if worth.least < worth.most and told != (words.duration(worth.gain),) * 2 else ("", "")


def beside(span: Span, recorded: int, answer: int) -> str:
    """Return what is said behind what an answer gains or loses over the recorded makespan, ns: between what that lies, or why nothing."""
    if not span.drawn:
        return "; how much it varies is not told"
    found, loses = worth(span, recorded, answer), answer > recorded
    if loses and found.most <= 0:
        found = Worth(-found.gain, -found.most, -found.least)
    least, most = ends(found)
    if least:
        return f", {'a gain ' if loses and found.gain < 0 else ''}between {least} and {most}"
    return "" if span.varies else "; how much it varies is not known"


def once(span: Span | None, recorded: int, answer: int) -> str:
    """Return what one recording of the changed program may show beside the recorded makespan, ns, where chance hides what it gains or
    loses: a gain is that of the same run with and without the change, but two recordings differ by more. Empty where they do not hide it,
    and where the range of the gain is half as wide or more: it says so.
    """
    if span is None or not span.runs_ns or says_nothing(span, answer) or answer == recorded:
        return ""
    least, most = recorded - span.most_ns, recorded - span.least_ns
    found = worth(span, recorded, answer)
    if least >= 0 or most <= 0 or 2 * (found.most - found.least) >= most - least:
        return ""
    return f"; one recording may show a loss of {words.duration(-least)} to a gain of {words.duration(most)}"


def short(span: Span | None, answer: int) -> str:
    """Return between which makespans an answer, ns, lies, in short; empty if nothing tells."""
    if span is None:
        return ""
    least, most = words.duration(span.least_ns), words.duration(span.most_ns)
    if says_nothing(span, answer):
        return f"not known, anything {f'from {least} to' if span.least_ns else 'up to'} {most}"
    return f"between {least} and {most}" if least != most else ""


def in_another(span: Span | None, answer: int) -> str:
    """Return in brackets between which makespans another recording lies that is as an answer, ns, says; empty if nothing tells."""
    if span is None or not span.runs_ns or says_nothing(span, answer):
        return ""
    return f" ({words.duration(span.least_ns)} to {words.duration(span.most_ns)})"


def facts(span: Span | None, answer: int, label: str = "") -> Facts:
    """Return the span of an answer, ns, as what is said below it or under a label; nothing if the trace tells nothing about it."""
    told = span is not None and (span.varies or not span.drawn or span.later_ns or span.others or span.stops or span.alone_ns is not None)
    return [("" if k else label, line) for k, line in enumerate(texts(span, answer))] if span is not None and told else []


def texts(span: Span, answer: int) -> list[str]:
    """Return the span of an answer, ns, in words, and how much the gain varies."""
    alone = [] if span.alone_ns is None else [_alone(span.alone_ns)]
    if span.gain is None:
        return [f"{text(span, answer)}{_few(span)}", *alone]
    chance = [_chance(span.gain.chance)] if span.gain.chance and (_inside(span.gain) or span.gain.chance.piece) else []
    return [text(span, answer), f"{gains(span.gain, span.costs_ns, _left_open(span))}{_pieces(span)}", *alone, *chance]


def _pieces(span: Span) -> str:
    """Return when the gain as the machine may be is largest, or smallest, if messages that are left out, or stay, make it so; else
    nothing.
    """
    by_time = sorted(span.others, key=lambda other: other.makespan_ns)
    first = f", the most if {_OPEN[NEEDLESS]}" if by_time and by_time[0].changes == [NEEDLESS] else ""
    return f", the least if {_OPEN[NEEDED]}" if by_time and by_time[-1].changes == [NEEDED] else first


def _alone(gain: int) -> str:
    """Return in words what a change gains among processes that do not share processors."""
    told = f"{'gain' if gain >= 0 else 'loss'} {words.duration(abs(gain))}"
    return f"{told} {OWN}, as far as what repeats tells"


def _left_open(span: Span) -> str:
    """Return what gives a gain other ends than drawn runs have."""
    missing = any(change in (LATE, AWAITED) for other in span.others for change in other.changes)
    return "the missing ranks" if missing else "the machine"


def gains(gain: GainBetween, costs: int, left_open: str) -> str:
    """Return in words how much a gain varies: a loss if it is none in nine of ten other runs, nor as what is `left_open` may be."""
    loses = max(gain.most_ns, gain.most_open_ns) <= 0 and gain.least_ns < 0
    ends, open_ = (gain.least_ns, gain.most_ns), (gain.least_open_ns, gain.most_open_ns)
    if loses:
        ends, open_ = (-gain.most_ns, -gain.least_ns), (-gain.most_open_ns, -gain.least_open_ns)
    drawn, machine = _between(*ends), _between(*open_)
    if " to " not in drawn:
        drawn += f" +-{words.duration((ends[1] - ends[0] + 1) // 2)}" if ends[0] < ends[1] else ", the same"
    mean = f", {words.duration(abs(gain.mean_ns) if loses else gain.mean_ns)} on average" if _inside(gain) else ""
    off = f", +-{words.duration(costs)} by costs" if costs > _LITTLE * abs(gain.mean_ns) else ""
    as_machine = f"; {machine} as {left_open} may be" if " to " in machine else ""
    return f"{'loss' if loses else 'gain'} {drawn} in nine of ten other runs{mean}{off}{as_machine}"


def _inside(gain: GainBetween) -> bool:
    """Return whether the mean says more than the ends, which are told as two."""
    return " to " in _between(gain.least_ns, gain.most_ns) and gain.least_ns < gain.mean_ns < gain.most_ns


def _chance(chance: ByChance) -> str:
    """Return in words why the recorded run gains another amount than drawn ones do on average."""
    piece, does = chance.piece, "hides" if chance.hides else "makes"
    if piece is None:
        return f"chance {does} much of it: this run, as recorded, gains far {'less' if chance.hides else 'more'} than that"
    who, call = f"rank {words.rank(piece.rank, piece.thread)}", f"{piece.routine} {piece.call}"
    what = f"computation of {who}{f' before {call}' * bool(piece.call)}" if piece.computes else f"{call} ({who})"
    took, longer = words.duration(piece.took_ns), words.duration(piece.longer_ns)
    return f"what took long once {does} much of it: {what}, {took} here, {longer} more than usual"


def _few(span: Span) -> str:
    """Return why it is not told how much the gain varies; empty if nothing does, or no runs were drawn."""
    if span.varies is None or (span.varies.iterations or span.varies.stretches) >= FEW:
        return ""
    told = f"{span.varies.iterations} iterations are too few" if span.varies.iterations else "too few repetitions"
    return f"; {told} to tell how much the gain varies"


_OPEN = {
    HELD: "short messages wait for the same calls of their receivers as recorded",
    FITTED: "forks, barriers and joins grow otherwise with the threads of a team",
    GUESSED: "the collectives were made by another algorithm, or the new one has other costs",
    DISTURBED: "what holds up a micro-batch holds up each piece of it",
    IN_PROPORTION: "what is short in a micro-batch becomes shorter with it, too",
    GAPS: "kernels that are queued, of which there are none here, follow each other at once or, as is assumed, up to 1.8 us apart",
    LATE: "ranks whose traces are missing come as late as recorded",
    AWAITED: "what collectives take is waiting for ranks whose traces are missing, and ends",
    SLOWED: "computation beside communication takes as much longer as it hides",
    NEEDLESS: "the messages that brought the pieces are left out, too",
    NEEDED: "the messages that brought the pieces stay",
    OWN_WORK: "adding gradients up, and what DistributedDataParallel does itself, take no time, too",
    TAKEN_OVER: "taking over a batch that workers have loaded takes up to 5 ms",
    LONGEST: "a long piece of work is taken late",
    DEALT: "the tasks are taken process by process (=blocks)",
    POLLED: "a thread that polls takes half of the processor of its process",
}
"""What hypotheses leave open themselves, or ranks that are missing: no measuring tells it."""


def _between(least: int, most: int) -> str:
    ends = words.duration(least), words.duration(most)
    return " to ".join(dict.fromkeys(ends))


def text(span: Span, answer: int) -> str:
    """Return the span of an answer, ns, in words, with its main cause."""
    least, most = words.duration(span.least_ns), words.duration(span.most_ns)
    ifs = " or ".join(f"if {' and '.join(map(_words, change.split(',')))}" for change in span.stops)
    stops = f"; it could not run so {ifs}" if ifs else ""
    if says_nothing(span, answer):
        ends = f"up to {most}" if not span.least_ns else f"from {least} to {most}"
        what = "the makespan is not known" if span.gain else "not known"
        return f"{what}, anything {ends}: {_cause(span, answer)}{_narrower(span)}{stops}"
    if least != most or span.others:
        return f"{least} to {most}: {_cause(span, answer)}{stops}"
    return f"{_certain(span)}{stops}"


def says_nothing(span: Span, answer: int) -> bool:
    """Return whether what varies from run to run lets an answer, ns, be nearly anything: the range is wider than the answer is long."""
    return span.sooner_ns + span.later_ns > answer


def _narrower(span: Span) -> str:
    """Return what makes a range that says nothing so wide, if that is told, and what would make it narrower."""
    varies = span.varies
    if varies is None:
        return ""
    few = ", a few times long among many short ones" if varies.part >= _MOST else ""
    more = (
        "iterations, or those that are alike alone (--iterations A..B),"
        if varies.iterations >= FEW
        else "repetitions in a longer recording"
    )
    return f"{few}; more {more} would tell more"


def _certain(span: Span) -> str:
    """Return why nothing else is said to be possible."""
    if not span.drawn:
        return "no runs were resampled: how much it varies is not told"
    return _UNKNOWN if span.varies is None else "nothing that the trace leaves open changes it"


def _cause(span: Span, answer: int) -> str:
    if span.others and abs(span.others[0].makespan_ns - answer) >= max(span.sooner_ns, span.later_ns, span.runs_ns):
        first = span.others[0]
        return other(first) if first.changes[0] in _OPEN else f"{other(first)}; measure with perwiz calibrate"
    assert span.varies is not None
    few = f", judged by {_told(span.varies)}" if span.varies.stretches < BLOCKS else ""
    much = f" by {words.percent(span.varies.part, 1)}" if span.varies.part < _MOST else ""
    runs = f"{_runs_differ(span.varies)}; " if span.runs_ns > max(span.sooner_ns, span.later_ns) else ""
    return f"{runs}{_REPEATS[span.varies.what]} varies{much}{few}"


def _runs_differ(varies: Varies) -> str:
    """Return what one recording does not tell."""
    return f"another recording may take {words.percent(varies.differ, 1)} more or less (assumed; --runs tells)"


def _told(varies: Varies) -> str:
    if varies.iterations < FEW:
        return f"{words.several(varies.stretches, 'part')} of the run"
    if varies.stretches < varies.iterations:
        return f"its {varies.iterations} iterations in {varies.stretches} groups"
    return f"its {varies.iterations} iterations"


def other(possible: Possible) -> str:
    """Return in words another answer, and when it is the one."""
    changes = [part for change in possible.changes for part in change.split(",")]
    return f"{words.duration(possible.makespan_ns)} if {' and '.join(map(_words, changes))}"


def _words(change: str) -> str:
    """Return in words what a change of one key says: `between-nodes:S_bytes=4040` is messages are eager up to 4.040 kB between nodes."""
    if change in _OPEN:
        return _OPEN[change]
    key, _, value = change.partition("=")
    which, _, key = key.rpartition(":")
    if key in _SENDS:
        size = int(float(value))
        said = "messages of any size are eager" if size >= _ANY else f"messages are eager up to {words.size(size)}"
        return f"{said if size else 'no message is eager'}{_SENDS[key]}{pairs(which)}"
    if key == "inline_bytes":
        return f"those above {words.size(int(float(value)))} wait for any call of their receiver"
    if key.endswith("_ns"):
        return f"{key.removesuffix('_ns')} is {words.duration(round(float(value)))}{pairs(which)}"
    return f"{_WORDS.get(key, {}).get(value) or f'{key} is {value}'}{pairs(which)}"
