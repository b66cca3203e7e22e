"""The text of `perwiz predict`, made from its JSON document. The answer comes first."""

from __future__ import annotations

from perwiz import words
from perwiz.loggps import DIMEMAS
from perwiz.report import blocks, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.blocks import Facts, negligible
from perwiz.report.predict import algorithms, order, teams
from perwiz.report.predict.document import Instead, Links, PredictDocument, Process, Recorded, Semantics, Widened, Zeroed
from perwiz.whatif.hypotheses.network import EagerLimit
from perwiz.whatif.ranking.computation import NEVER_LATE
from perwiz.whatif.sure.logged import LEAST
from perwiz.whatif.sure.recordings import LEAST as RECORDINGS
from perwiz.whatif.timed import TOLD

_NOT_OF_A_CFG = "several machines, processors that ranks share, and a model of collectives per phase or routine"
_PROCESSES = 16
"""Rows of the longest table of processes."""
_WHOLE = 4000
_ALGORITHMS = 8
"""Lines of likely algorithms."""


def text(predict: PredictDocument) -> str:
    """Return the document as text for a terminal."""
    asked = bool(predict.hypotheses)
    subject = "; ".join(map(words.shown, predict.hypotheses)) or "no hypothesis"
    lines = [
        *blocks.title(predict.trace, subject, predict.health),
        "",
        *words.facts(_answer(predict)),
        *misfit.sure(predict, predict.shares_of_ns, _sure(predict)),
        "",
        *words.facts(_changes(predict)),
        "",
        *process_lines(predict.processes, asked),
    ]
    if predict.waits_before:
        head = ("recorded", "predicted") if asked else ("recorded",)
        lines += ["", "longest waits in the recorded run", *blocks.wait_lines(predict.waits_before, *head)]
    if asked and predict.waits_after:
        lines += ["", "longest waits in the predicted run", *blocks.wait_lines(predict.waits_after, "predicted", "recorded")]
    facts = machines.facts(predict.machine, predict.model, predict.misfit.messages)
    facts += [fact for network in predict.networks for fact in blocks.model_facts(network, "network")]
    facts += [("" if k else "likely", line) for k, line in enumerate(predict.collectives[:_ALGORITHMS])]
    if len(predict.collectives) > _ALGORITHMS:
        facts.append(("", f"and {len(predict.collectives) - _ALGORITHMS} more (--json)"))
    facts += misfit.facts(predict.misfit, predict.model, predict.replay_error_ns, predict.engine)
    return "\n".join([*lines, "", *words.facts(facts), "", *blocks.health_lines(predict.health, shared=False)])


def _said(told: Semantics, asked: bool) -> Facts:
    """Return what another semantics says."""
    whole = words.duration(told.recorded_ns)
    text = f"{whole} becomes {words.duration(told.predicted_ns)}" if asked else whole
    stuck = f"; {words.several(told.stuck, 'operation')} of the schedule can never be done" if told.stuck else ""
    with_ = f" with {words.shown(told.configuration)}" if told.configuration else ""
    facts = [(told.profile, f"{text}{with_}, as it reads the same model{stuck}")]
    if told.unended:
        unseen = f"{words.several(told.unended, 'rank')} end{'s' * (told.unended == 1)} with no computation: {told.profile}"
        facts.append(("", f"{unseen} counts only computations that nothing needs, and takes 0 ns for others"))
    if told.profile in DIMEMAS:
        facts.append(("", f"of a .cfg not taken: {_NOT_OF_A_CFG}"))
    return facts


def _answer(predict: PredictDocument) -> Facts:
    """Return what becomes of the run and what to do for it, with what puts that in doubt."""
    recorded, asked = predict.recorded_ns, bool(predict.hypotheses)
    change = blocks.gained(recorded, predict.predicted_ns, predict.shares_of_ns)
    if predict.gain_ns > 0 and not spans.sure(predict.predicted_span, recorded, predict.predicted_ns):
        change += ", not sure to gain"
    own = predict.predicted_span.alone_ns
    change += "" if own is None else f", {words.duration(own)} {spans.OWN}"
    if asked:
        change += spans.beside(predict.predicted_span, recorded, predict.predicted_ns)
        change += spans.once(predict.predicted_span, recorded, predict.predicted_ns)
    change = "nothing changes" if asked and _still(predict) else change
    of = blocks.share_notes(predict.shares_of_ns, recorded, predict.part) if asked else []
    of += ["percentages are of the whole run, as the change moves the end of MPI_Init"] if asked and predict.init_moves else []
    several = predict.widened or predict.recordings
    alike = "" if predict.predicted_ns == recorded else spans.in_another(predict.predicted_span, predict.predicted_ns)
    between = f" ({_between(predict)})" if several else alike
    facts = [
        *blocks.recorded(recorded, predict.health, *of),
        *blocks.left_out(predict.health),
        *blocks.unrecorded_waits(predict.health),
        ("predicted", f"{words.duration(predict.predicted_ns)}{between}, {change}"),
    ]
    facts += _masters(predict)
    facts += [("what to do", predict.remedy)] if predict.remedy else []
    guess = ["how collectives were made is a guess"] if algorithms.doubtful(predict.algorithms) else []
    facts = blocks.lacking(predict.health) + misfit.beside(facts, predict, predict.shares_of_ns, guess)
    if asked and predict.links_shared >= TOLD:
        alone = "and slow one another down; here each is as fast as alone, so it takes longer than predicted"
        facts.append(("links", f"messages share links for {words.percent(predict.links_shared, 1)} of their time {alone}"))
    facts += _interfaces(predict) + _links(predict)
    facts += _said(predict.semantics, asked) if predict.semantics else []
    return [*_no_answer(predict), *facts, *_effect(predict)]


def _between(predict: PredictDocument) -> str:
    """Return between what the makespan lies, in short, as other recordings and a log say."""
    return spans.short(predict.predicted_span, predict.predicted_ns) or "whatever the trace leaves open"


def _changes(predict: PredictDocument) -> Facts:
    """Return what the hypotheses touch: how long all wait, the waits that are zeroed, and how many calls move."""
    waits = f"{words.duration(predict.waiting_ns)} recorded"
    if predict.hypotheses:
        waits += f", {words.duration(predict.waiting_predicted_ns)} predicted"
    facts = [("waiting", f"{waits}{words.together([row.thread for row in predict.processes])}")]
    facts += [("zeroed", zeroed(predict.zeroed))] if predict.zeroed.calls else []
    if not predict.hypotheses:
        return facts
    moved = f"{predict.calls_moved} of {words.several(predict.calls, 'call')}" if predict.calls else "no call"
    return [*facts, ("moved", moved), *_in_place(predict)]


def _still(predict: PredictDocument) -> bool:
    """Return whether the hypotheses change nothing."""
    moves = predict.calls_moved or any(process.gain_ns for process in predict.processes)
    return not moves and predict.waiting_predicted_ns == predict.waiting_ns


def _sure(predict: PredictDocument) -> Facts:
    """Return between what the answer lies, and how that came about."""
    if not predict.hypotheses:
        return []
    told = spans.texts(predict.predicted_span, predict.predicted_ns)
    facts = [("" if k else "predicted", line) for k, line in enumerate(told)] + algorithms.doubtful(predict.algorithms)
    facts += _several(predict.recordings) if predict.recordings else []
    return facts + (_widened(predict.widened) if predict.widened else [])


def _no_answer(predict: PredictDocument) -> Facts:
    """Return why what becomes of ranks on other nodes is no answer; nothing where it is one, or not asked."""
    asked, found = [text for text in predict.hypotheses if text.startswith("placement ")], predict.interfaces
    if not asked:
        return []
    if not found.ranks_moved:
        return [("no answer", f"{words.shown(asked[0])}: so all ranks were on their nodes in the recorded run, and nothing is asked")]
    if not found.told_apart:
        alike = "messages cost the same within a node and between nodes by this model, so no placement gains or loses"
        return [("no answer", f"{alike}: perwiz calibrate measures both, or give a model that has both (--model)")]
    if len(asked) == len(predict.hypotheses) and not predict.calls_moved:
        told = "no call moves: on these nodes all messages and collectives cost what they did, by this model"
        return [("no answer", f"{told}; interfaces = 1 in it, or --topology FILE, says what they share there")]
    return []


def _masters(predict: PredictDocument) -> Facts:
    """Return that who hands out tasks has no work to be balanced with that of others; nothing where that is not asked."""
    if not predict.masters:
        return []
    gives, gets = ("gives", "gets") if len(predict.masters) == 1 else ("give", "get")
    told = f"rank {blocks.listed(predict.masters)} {gives} them to whoever asks, and here {gets} work like the others"
    return [("tasks", f"{told}, which is no change of a farm: balance the region around a task, or see --speed")]


def _interfaces(predict: PredictDocument) -> Facts:
    """Return which messages are between nodes, if that changes, how many would change places on their interfaces, and what else passes."""
    found, out, lines = predict.interfaces, Facts(), list[str]()
    if (found.between, found.bytes) != (found.between_now, found.bytes_now):
        sizes = [words.size(each) for each in (found.bytes, found.bytes_now)]
        became = f"{found.between} messages of {sizes[0]} between nodes become {found.between_now} of {sizes[1]}"
        out.append(("placement", became))
    if found.swapped or found.left_out:
        told = f"{found.swapped} of {words.several(found.pairs, 'pair')} of neighbours would change places and do not"
        more = f"; {words.several(found.left_out, 'wait')} there left out, as they contradict the times" if found.left_out else ""
        lines.append(f"messages queue for them in a fixed order; {told}{more}")
    lines += [] if predict.links.nodes else _inside(predict.links)
    return out + [("" if k else "interfaces", line) for k, line in enumerate(lines)]


def _links(predict: PredictDocument) -> Facts:
    """Return which links are overloaded for how much of the predicted run, and whether the delays on them were found."""
    found, out = predict.links, Facts()
    if found.nodes == 1:
        return [("links", "no message passes one: all ranks are on one node; --placement cyclic:4x8 puts them on others")]
    for k, link in enumerate(found.longest):
        share = words.percent(link.overloaded_ns, predict.predicted_ns)
        out.append(("" if k else "links", f"{link.name} overloaded for {share} of the time, by {words.several(link.messages, 'message')}"))
    if found.overloaded > len(found.longest):
        out.append(("", f"and {found.overloaded - len(found.longest)} more overloaded"))
    if found.passes and found.moved_ns is None:
        out.append(("" if out else "links", f"delays on them found in {words.several(found.passes, 'pass')}"))
    elif found.simulated:
        told = "delays on them are simulated, as they do not settle in passes over the recorded order"
        out.append(("" if out else "links", f"{told}: the first moves the end by {words.duration(found.moved_ns or 0)}"))
    elif found.moved_ns is not None:
        told = f"delays on them still change after {words.several(found.passes, 'pass')}"
        out.append(("" if out else "links", f"{told}: the last one moved the end by {words.duration(found.moved_ns)}"))
    if found.left_alone:
        out.append(("links", "no message is slowed down on them: others than the recorded ones are sent"))
    for line in _inside(found) if found.nodes else []:
        out.append(("" if out else "links", line))
    return out


def _inside(found: Links) -> list[str]:
    """Return what becomes of messages inside of collectives."""
    out = [f"the messages inside of {words.several(found.shared, 'collective')} are among those on them"] if found.shared else []
    if found.guessed:
        out.append(f"by which messages {' and '.join(found.guessed)} was made is a guess: its times fit no known algorithm")
    if found.collectives:
        several = f"{words.several(found.collectives, 'collective')} of several nodes"
        out.append(f"the messages inside of {several} share none and slow nobody down: not blocking, or not all members known")
    if found.beyond:
        out.append(f"those inside of {words.several(found.beyond, 'collective')} share none, as they would be too many")
    return out


def _widened(log: Widened) -> Facts:
    """Return what a log of earlier predictions makes of the range."""
    inside = f"{log.inside} of {words.several(log.pairs, 'earlier prediction')} held what was measured"
    if log.pairs < LEAST:
        return [("log", f"{inside}; from {LEAST} on the range is as wide as they ask for")]
    wider = f"it is {words.percent(log.part, 1)} of the time after MPI_Init wider on both sides" if log.part else "it stays as it is"
    return [("log", f"{inside}: {wider}, to hold nine of ten")]


def _several(recorded: Recorded) -> Facts:
    """Return what the hypotheses gain in all recordings."""
    least, most = (words.duration(end(recorded.gains_ns)) for end in (min, max))
    gains = f"gain {least} to {most} in {words.several(len(recorded.gains_ns), 'recording')}"
    untold = (
        "nothing else tells how much it varies" if len(recorded.gains_ns) >= RECORDINGS else f"{RECORDINGS} tell what lies between them"
    )
    between = untold if recorded.between is None else f"{words.percent(recorded.between, 1)} of its variance lies between them"
    return [("recordings", f"{gains}; {between}; the range holds what each says")]


def _in_place(predict: PredictDocument) -> Facts:
    """Return which messages another eager limit leaves as they are."""
    asked = [text.partition(" ") for text in predict.hypotheses]
    above, limited = predict.model.parameters.inline_bytes, any(word == "eager" and EagerLimit.is_size(size) for word, _, size in asked)
    if not limited or above is None or predict.model.parameters.progress != "in calls":
        return []
    told = f"messages above {words.size(above)} are sent in place, and hold their sender until the receiver is in a call"
    return [("in place", f"{told}: a limit leaves that as it is; see --eager all and --progress always")]


def _effect(predict: PredictDocument) -> Facts:
    """Return what else there is to say of the hypotheses: what can be done instead, and how each is meant."""
    facts = _beside(predict, predict.instead) if predict.instead else []
    facts += _launches(predict, predict.never_late_ns) if predict.never_late_ns is not None else []
    if predict.deadlocks:
        stopped = "messages would be synchronous and stop the program for good; their senders are not held here"
        facts.append(("deadlock", f"{predict.deadlocks} {stopped}"))
    if predict.hypotheses:
        facts += [fact for team in predict.teams for fact in teams.facts(team)]
        facts += [("at best", blocks.NEEDED)] * any(asked.startswith("hide ") for asked in predict.hypotheses)
        facts += algorithms.facts(predict.algorithms)
        facts += teams.pieces(predict.hypotheses) if predict.gain_ns <= 0 else []
        facts += [*order.move_facts(predict.order, predict.hypotheses), *order.choice_facts(predict.matching)]
    return facts


def _launches(predict: PredictDocument, makespan: int) -> Facts:
    """Return what is gained if no launch is late, too; nothing if that is no more."""
    if negligible(predict.predicted_ns - makespan, predict.shares_of_ns):
        return []
    told = blocks.without_launches(f"{blocks.option(NEVER_LATE)} beside", predict.recorded_ns, makespan, predict.shares_of_ns)
    return [("launches", told)]


def zeroed(told: Zeroed) -> str:
    """Return in words how many calls wait no longer."""
    calls, waiting, time = told.calls, told.waiting_calls, words.duration(told.wait_ns)
    if calls == 1:
        return f"1 call, which waited {time}" if waiting else "1 call, which did not wait in the recorded run"
    return f"{calls} calls, of which {waiting or 'none that is known'} waited in the recorded run{f', {time} together' if waiting else ''}"


def _beside(predict: PredictDocument, instead: Instead) -> Facts:
    """Return whom the calls wait for, and what somebody can do: a wait goes only as far as its partner comes earlier."""
    who = f"rank {words.rank(instead.rank, instead.thread)}"
    less = ""
    if instead.waited_ns < predict.zeroed.wait_ns:
        less = f", {words.duration(instead.waited_ns)} of it"
    late = "; it is late for others, too" if predict.gain_ns <= 0 else ""
    facts = [("waits for", f"{who}{less}{late}; a wait goes only as far as that comes earlier")]
    told = []
    for fix in instead.changes:
        if negligible(fix.gain_ns, predict.shares_of_ns):
            continue
        gain = blocks.gained(predict.recorded_ns, fix.makespan_ns, predict.shares_of_ns)
        passed = words.several(fix.receives_passed, "receive")
        only = f", only if it needs nothing of the {passed} it then runs ahead of" if fix.receives_passed else ""
        told.append(f"{words.shown(fix.change, _WHOLE)}: {words.duration(fix.makespan_ns)}, {gain}{only}")
    none = "nothing that was tried of another order, nobody held, computation balanced gains; see perwiz domino"
    return [*facts, *(("instead" if not row else "", text) for row, text in enumerate(told or [none]))]


def process_lines(rows: list[Process], asked: bool) -> list[str]:
    """Return the table of processes: all, or those whose ends move most, or else wait most; with what is predicted, if that is asked."""
    head = ["end", "predicted", "gain", "waiting", "predicted"] if asked else ["end", "waiting"]
    cells = []
    for row in blocks.foremost(rows, _PROCESSES, lambda row: (-abs(row.gain_ns), -row.waiting_ns)):
        ends = (row.recorded_end_ns, row.predicted_end_ns, row.gain_ns) if asked else (row.recorded_end_ns,)
        waits = (row.waiting_ns, row.waiting_predicted_ns) if asked else (row.waiting_ns,)
        cells.append([words.rank(row.rank, row.thread), *map(words.duration, ends + waits)])
    less = f", which {'gain or wait' if asked else 'wait'} less"
    return [*words.table(["rank", *head], cells), *blocks.more(rows, len(cells), less)]
