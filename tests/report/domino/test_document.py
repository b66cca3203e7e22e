"""What `perwiz domino` says, worked by hand: the document, and every sentence of the text."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

import build
from build import CATALOGUE, Builder, hand_model
from documents import valid
from falling import falling
from farms import counter, farm, fixed_farm, lengths
from kinetos import devices_in_stages, hiding, put
from perwiz import words
from perwiz.formats import files
from perwiz.report.domino import answer
from perwiz.report.domino import document as report
from perwiz.report.domino.answer import in_short
from perwiz.report.domino.change import falls, if_shared
from perwiz.report.domino.first import first_bound, first_line, pays, untold
from perwiz.report.domino.records import Launches, Serving, Uneven
from perwiz.report.domino.remedies import REMEDIES
from perwiz.report.domino.text import pace, text
from perwiz.report.pipelines import pipeline
from perwiz.report.predict import document as predict_of
from perwiz.report.predict.text import text as predict_text
from perwiz.report.records import GainBetween, Possible, Varies
from perwiz.trace.trace import Counts
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import order, ranking
from perwiz.whatif.ranking import plan as plans
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.ranking.plan import plan, target
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import greedy
from perwiz.whatif.worth.domino import COUNTED, domino

ALWAYS = (
    "calls always take some time; a program without them may gain more: what they copy, and push out of caches, costs the computation of"
    " both sides, and no trace tells how much"
)


def told(found, most=9, **settings):
    block = report.document(found, ranking.rank(found.run, **settings), most)
    valid(block, "domino")
    return block


def document(trace, most=9, model=None, by=None, kinds=ranking.ranking.WORDS, **settings):
    return told(domino(trace, model or hand_model(), **settings), most, by=by, kinds=kinds)


def lines(block, *labels):
    """Return the facts under some labels, with what continues them, but those on how sure they are."""
    before, _, behind = text(block).partition("\n\nhow sure\n")
    return _under(labels, f"{before}\n\n{behind.partition(chr(10) * 2)[2]}")


def sure(block, *labels):
    """Return the same of those on how sure the answer is."""
    return _under(labels, text(block).partition("\n\nhow sure\n")[2].partition("\n\n")[0])


def _under(labels, told):
    found, label = [], ""
    for line in told.splitlines():
        label = line[:14].strip() or label
        if label in labels:
            found.append(line[14:])
    return " ".join(found).strip()


def test_progress_by_a_thread_that_polls():
    """Always moving it goes at 10, not at 10000: 10040. With half a processor each computes twice as long, as `predict` says, too."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(120, 10_030))
    b.wait(1, b.irecv(1, 0, at=(0, 10)), at=(10_000, 10_040))
    b.compute(0, 5000)
    trace, model = b.trace(), hand_model(progress="in calls")
    found = domino(trace, model)
    ranked = ranking.rank(found.run, kinds=["protocol"], by="setting")
    changes = tuple(change for change in ranked.changes if change.question == "progress always")
    block = report.document(found, dataclasses.replace(ranked, changes=changes, lines=(), bounds=()), 9)
    asked = predict(trace, ["progress always"], model, clock="none").span
    assert [(span.least_ns, span.most_ns) for span in block.best_spans] == [(asked.least, asked.most)]
    assert asked.most == 20_030


def test_document__by_hand():
    """With half the costs a message takes 6 of the 12 ns, so 6 are work that stays: 778, 756 and 768 instead of 772, 750 and 762."""
    block = valid(document(falling(), 1, kinds=["wait"]), "domino")
    assert (block["recorded_ns"], block["bound_ns"], block["waiting_ns"], block["waiting_calls"], block["gaining_calls"]) == (
        834,
        750,
        600,
        3,
        2,
    )
    call = {"rank": 1, "thread": 0, "routine": "MPI_Recv", "region": "", "site": "", "partner": {"call": "e0", "rank": 0, "thread": 0}}
    worth = {"time_ns": 62, "wait_ns": 62, "makespan_ns": 772, "gain_ns": 62, "receives_passed": 0, "zero_wait_ns": 772}
    best = {"change": "--zero-wait e2", "call": "e2", **call, **worth}
    assert block["changes"] == [best]
    assert block["longest_wait"] | {"partner": None} == {
        "change": "--zero-wait e1",
        "call": "e1",
        **call,
        "rank": 0,
        "partner": None,
        "time_ns": 314,
        "wait_ns": 314,
        "makespan_ns": 834,
        "gain_ns": 0,
        "receives_passed": 0,
        "zero_wait_ns": 834,
    }
    assert block["path"] == {
        "makespan_ns": 772,
        "trigger": "e2",
        "paths": 2,
        "calls": 2,
        "steps": [{"number": 1, "single": best, "wait_then_ns": 0, "fewer_calls": 2, "less_ns": 124, "more_ns": 0}],
        "listed": [["e2", "e5"], ["e2"]],
    }
    assert block["ranked"] == []
    its = {"computes": True, "where": "", "rank": 1, "part": 1.0, "chained": False}
    wait = {"kind": "wait", "receives_passed": 0, "posted": None, "bound": True, "uneven": None, "late": its}
    wait["remedy"] = REMEDIES["late sender"]
    line = block["at_best"][0]
    assert line["head"] == {
        **wait,
        "by": "site",
        "change": "--zero-wait site:MPI_Recv",
        "what": "the 3 calls of MPI_Recv",
        "calls": 3,
        "makespan_ns": 750,
        "gain_ns": 84,
    }
    assert (line["waits_less"], line["waiting_ns"], line["waiting_then_ns"]) == ("MPI_Recv", 600, 0)
    assert next(row["change"] for row in line["includes"] if row["kind"] == "wait") == "--zero-wait e2"
    assert (len(block["at_best"]), block["answerable"]) == (1, True)
    assert block["best"][0] == line["head"]
    assert block["best_spans"][0] == line["span"]


def test_slow_process__what_sharing_its_work_gains():
    """Rank 1 computes 300 twice where rank 0 computes 100: with 200 for each, 200 of 600 less each time."""
    b = Builder(2, work=0)
    for _ in range(2):
        b.compute(0, 100)
        b.compute(1, 300)
        b.barrier()
    block = document(b.trace())
    even = first_line(block)
    assert (even.head.change, if_shared(block, even)) == ("--balance-time all", "")
    slow = replace(even, head=replace(even.head, kind="slowest"), includes=[even.head], more=[])
    assert if_shared(block, slow) == "if it has more work than others, sharing that gains 200 ns (33.3 %): --balance-time all"
    assert if_shared(block, replace(slow, includes=[])) == ""
    block.shares_of_ns = 200_001  # of which a thousandth is more
    assert if_shared(block, slow) == ""


def test_text__by_hand():
    """Without its own wait of 62 rank 1 lets all end 62 earlier; it computes 750 in all, on average they compute 623."""
    assert text(document(falling(), by="rank")).partition("\n\nmodel ")[0].splitlines() == [
        "falling.alog: what to change first",
        "",
        "recorded      834 ns",
        "too short     only 834 ns, and starting a process takes longer: what gains here says little about a longer run; record",
        "              that",
        "limited by    imbalance (rank 1 computes most) 15.2 %, waiting in turn 7.2 %, other 2.9 %; computation 74.7 %",
        "first change  --speed rank:1=1.203 (rank 1, 1.203 times as fast): gain 51 ns (6.1 %); the run then takes 783 ns",
        "what to do    rank 1 computes 127 ns more than the mean: see why this process computes longer: more work than the",
        "              others, or a slower core or a crowded node",
        "",
        "what could be changed",
        "    gain         kind     change",
        "1  51 ns  6.1 %  slowest  --speed rank:1=1.203",
        "     waiting in MPI_Recv falls from 600 ns to 506 ns over all 3 processes",
        "     do: see why this process computes longer: more work than the others (decompose anew), or a slower core or a crowded",
        "       node (pin processes, move the job)",
        "to ask for one: perwiz predict falling.alog CHANGE",
        "",
        "how sure",
        "other         MPI and network 2.9 %",
        "hot spots     97.1 % of the time is computation on the critical path outside of regions: mark some there to see which of",
        "              it pays",
        "",
        "waiting       600 ns over all 3 processes, in 3 of 6 calls",
        "no waits      750 ns, gain 84 ns (10.1 %), if no call waited: --zero-wait all",
        "best call     --zero-wait e2: 772 ns, gain 62 ns (7.4 %); it waits 62 ns, then 2 others 124 ns less",
        "longest wait  e1, 314 ns: removing it alone gives nothing",
        "",
        "domino path, 2 calls in the order of time; `waits then`: when e2 (*) is changed; 1 more gives the same (--json)",
        "     call  rank  routine   waits for     waits  waits then  alone gains  others wait less  wait more  where",
        "1 *  e2       1  MPI_Recv  e0 (rank 0)   62 ns        0 ns        62 ns       124 ns in 2       0 ns  -",
        "2    e5       2  MPI_Recv  e3 (rank 1)  224 ns      162 ns        10 ns         0 ns in 0       0 ns  -",
    ]


def test_text__ends_with_model_and_health():
    *_, replay, misfit, _, health = text(document(falling())).partition("\nclocks ")[0].splitlines()
    assert replay == "replay        the unchanged run is exactly the recorded one"
    assert misfit == "misfit        messages that came faster than the model says: 0 of 3"
    assert health.startswith("health        complete; ")


def test_text__fixes_by_hand():
    found = domino(falling(), hand_model())
    block = told(found, 1)
    block.fixes = report.fixes(found, greedy.greedy(found.run, 2), greedy.greedy(found.run, 2, choose=greedy.by_wait))
    valid(block, "domino")
    assert text(block).partition("\none fix ")[2].partition("\n\n")[0].splitlines() == [
        "after the other, each the one that gains most by then",
        "   waited  makespan   gain  in all  all wait then  change",
        "1   62 ns    772 ns  62 ns   7.4 %         414 ns  --zero-wait e2",
        "2  162 ns    762 ns  10 ns   8.6 %         252 ns  --zero-wait e5",
    ]
    assert text(block).partition("\n\nfor contrast")[2].partition("\n\nmodel")[0].splitlines() == [
        ", each the call that waits longest by then",
        "   waited  makespan   gain  in all  all wait then  change",
        "1  314 ns    834 ns   0 ns   0.0 %         286 ns  --zero-wait e1",
        "2  224 ns    812 ns  22 ns   2.6 %          62 ns  --zero-wait e5",
    ]


def with_target(text, trace=None, **asked):
    found = domino(trace or falling(), hand_model())
    ranking_of = ranking.rank(found.run, **asked)
    block = report.document(found, ranking_of, 1)
    block.target = report.target(ranking_of, text, plan(ranking_of, target(text, found.run.makespan)))
    valid(block, "domino")
    return block


def test_text__target_by_hand():
    block = with_target("765ns", kinds=["wait"], by="call")
    assert text(block).partition("\ntarget ")[2].partition("\n\n")[0].splitlines() == [
        "       765ns, 765 ns: not by what can be done: nothing that can be done gains 0.1 %; it would need 2 changes that",
        "              nobody can make in full (at best): 762 ns, gain 72 ns (8.6 %)",
        "    gain         makespan  in all  kind  change",
        "1  62 ns  7.4 %    772 ns   7.4 %  wait  --zero-wait e2",
        "     the one call e2 (rank 1), MPI_Recv, at best",
        f"     do: {REMEDIES['late sender'].rpartition(' of ')[0]} of",
        "       waiting",
        "2  10 ns  1.2 %    762 ns   8.6 %  wait  --zero-wait e5",
        "     the one call e5 (rank 2), MPI_Recv, at best",
        "perwiz predict falling.alog --zero-wait e2 --zero-wait e5",
    ]


def test_text__target_missed(monkeypatch):
    best = "out of reach: nothing that can be done gains 0.1 %; with {} that nobody can make in full (at best) it is"
    said = f"2x, 417 ns: {best.format('3 changes')} 750 ns, gain 84 ns (10.1 %), and nothing else that was tried gains 0.1 %"
    assert lines(with_target("2x", kinds=["wait"], by="call"), "target").startswith(said)
    assert lines(with_target("2x", kinds=["protocol"]), "target") == "2x, 417 ns: out of reach: nothing that was tried gains 0.1 %"
    monkeypatch.setattr(plans, "MOST", 1)
    said = f"765ns, 765 ns: {best.format('1 change')} 772 ns, gain 62 ns (7.4 %), and more was not searched for"
    assert lines(with_target("765ns", kinds=["wait"], by="call"), "target").startswith(said)


def test_text__target_missed__in_a_large_trace(monkeypatch):
    monkeypatch.setattr(plans, "_EDGES", 1)
    said = "and more was not searched for; no more than 1 change searched for, as the trace is large: change these, and record again"
    assert said in lines(with_target("765ns", kinds=["wait"], by="call"), "target")


def uneven_and_late():
    """Return a run of 1812 whose rank 0 computes 1000 and then 500 before its message, rank 1 200 and behind the message 300."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1000)
    b.compute(1, 200)
    b.barrier()
    b.compute(0, 500)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 300)
    return b.trace()


def test_text__target_by_what_can_be_done_and_the_rest():
    """Balanced 1412, that is 1.28 times as fast; without its wait rank 1 ends then at 1000, at best: the command is what can be done."""
    block = with_target("1100ns", trace=uneven_and_late(), kinds=["balance", "wait"])
    assert (block.target.reached, block.target.reached_at_best, block.target.feasible) == (False, True, 1)
    told = text(block).partition("\ntarget ")[2].partition("\n\n")[0]
    assert " ".join(told.partition("  gain")[0].split()) == (
        "1100ns, 1.100 us: not by what can be done: that reaches 1.28x with 1 change: 1.412 us, gain 400 ns (22.1 %); the rest would need"
        " 1 more change that nobody can make in full (at best): 1.000 us, gain 812 ns (44.8 %)"
    )
    rows = told.splitlines()
    rest = rows.index("what the rest would need, at best:")
    assert rows[rest - 3].startswith("1  400 ns") or "balance" in "".join(rows[:rest])
    assert rows[rest + 1].endswith("wait     --zero-wait e3")
    assert rows[-1] == "perwiz predict built --balance-time between-collectives"


def test_text__target_by_what_can_be_done():
    block = with_target("1450ns", trace=uneven_and_late(), kinds=["balance", "wait"])
    assert (block.target.reached, block.target.feasible_span) == (True, None)
    assert lines(block, "target").startswith("1450ns, 1.450 us: reached by 1 change, the fewest found: 1.412 us, gain 400 ns (22.1 %)")


def small_beside_a_bound():
    """Return a run of 2010: rank 0 computes 1010, rank 1 1000; then 20 messages, each 50 of work in its send."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1010)
    b.compute(1, 1000)
    for _ in range(20):
        b.send(0, 1, work=50)
        b.recv(1, 0)
    return b.trace()


def test_text__nothing_that_was_tried_pays():
    """Balanced, or half the latency, gains 5 of 2010; at best 988 in MPI_Send are gone, of which nobody can say what can be had."""
    block = document(small_beside_a_bound())
    assert lines(block, "first change").startswith("none that pays: ")
    assert lines(block, "first change").endswith(" gains 5 ns (0.2 %), less than a tenth of what there is at best")
    assert lines(block, "time goes to") == "MPI_Send 24.9 %; MPI_Recv 24.2 % (24.2 % waiting)"
    assert lines(block, "at best").startswith("--zero-time site:MPI_Send: gain ")
    assert lines(block, "at best").endswith("; no change tried gains a tenth of that; a program without these calls may gain more")
    assert lines(block, "what helps") == in_short(REMEDIES["messages"])


def test_text__not_sure_to_gain():
    """Of 10 to 400 in resampled runs, of which fitted costs take less than 10, it gains for sure, or if none is drawn and each that may
    be is shorter; else it says so first.
    """
    block = document(uneven_and_late(), kinds=["balance"])
    gain = GainBetween(least_ns=10, most_ns=400, draws=200, mean_ns=100, least_open_ns=10, most_open_ns=400, deviation_ns=1, chance=None)

    def told(**now):
        return lines(with_span(block, **{"gain": gain, **now}), "first change")

    assert told().startswith("--balance-time ")
    for changed in ({"least_ns": 0}, {"least_ns": -5}, {"least_open_ns": 0}):
        assert told(gain=replace(gain, **changed)).startswith("not sure to gain: --balance-time "), changed
    assert told(costs_ns=9).startswith("--balance-time ")
    assert told(costs_ns=10).startswith("not sure to gain: ")
    assert told(gain=None, others=[Possible(["L_ns=0"], block.replayed_ns - 1)]).startswith("--balance-time ")
    assert told(gain=None, others=[Possible(["L_ns=0"], block.replayed_ns)]).startswith("not sure to gain: ")
    assert told(gain=None, most_ns=block.replayed_ns - 1).startswith("--balance-time ")
    assert told(gain=None, most_ns=block.replayed_ns).startswith("not sure to gain: ")


def test_text__what_is_sure_beside_a_first_change_that_is_not():
    """The next line that gains in all that is left open; without one that is said."""
    block = document(uneven_and_late())
    second = block.ranked[1]
    unsure = with_span(block, most_ns=block.replayed_ns)
    told = lines(replace(unsure, ranked=[*unsure.ranked, second]), "sure to gain")
    assert told.startswith(f"{second.head.change} ({second.head.what}): gain {words.duration(second.head.gain_ns)} (")
    assert lines(unsure, "sure to gain") == "none: no change that was tried gains whatever the trace leaves open"
    assert "\nsure " not in text(block)


def test_text__one_line_where_none_pays():
    """Of 1812 the first gains 500, of which starting the run takes more if all lasts 600 us; then the others are told with -n."""
    block = document(uneven_and_late())
    assert "\n2  250 ns  13.8 %" in text(block)
    short = replace(block, replayed_ns=600_000)
    assert "\n1  500 ns  27.6 %" in text(short)
    assert "250 ns" not in text(short)
    assert "\n3 further lines: -n 20 shows them\n" in text(short)
    assert "\n2  250 ns  13.8 %" in text(short, 20)


@pytest.mark.parametrize(("times", "told"), [(2, True), (1.99, False)])
def test_text__what_may_gain_more(times, told):
    """It gains twice as much as the first change, or more, but may gain nothing."""
    block = document(uneven_and_late())
    first, second = block.ranked[:2]
    gain = round(times * first.head.gain_ns)
    head = replace(second.head, gain_ns=gain, makespan_ns=block.replayed_ns - gain)
    found = replace(second, head=head, span=replace(second.span, least_ns=0, most_ns=block.replayed_ns, gain=None))
    said = f"{head.change} ({head.what}): gain {words.duration(gain)} ("
    more = lines(replace(block, ranked=[first, found]), "may gain more")
    assert (more.startswith(said) and more.endswith(", not sure to gain")) if told else not more


def with_span(block, **changed):
    """Return a document whose lines of what somebody can do are the first one alone, with another span."""
    first = block.ranked[0]
    return replace(block, ranked=[replace(first, span=replace(first.span, **{"costs_ns": 0, "others": [], **changed}))])


def test_text__what_a_target_is_counted_from():
    """Of 1812, all is the program's; where 812 were before the end of MPI_Init a target of 1449 is 1.57 times as fast as what is left."""
    block = with_target("1.25x", trace=uneven_and_late(), kinds=["balance"])
    assert "counted from" not in text(block)
    block.shares_of_ns = 1000
    said = "counted from the whole run, 1.812 us with MPI_Init; of the 1.000 us after MPI_Init it asks for 1.57x"
    assert said in " ".join(text(block).split())
    block.shares_of_ns = 363
    assert "it leaves nothing of the 363 ns after MPI_Init" in " ".join(text(block).split())
    block.shares_of_ns = 1800
    assert "counted from" not in text(block)


def test_text__says_what_gains_are_and_how_to_ask():
    block = replace(document(falling()), predict="perwiz predict falling.alog --clock none")
    said = "to ask for one: perwiz predict falling.alog --clock none CHANGE"
    assert said in " ".join(text(block).split())


def test_pays():
    """A hundredth of the time pays, or beside what there is to gain at best a tenth of that; a bound alone, or nothing, does not."""
    block = document(small_beside_a_bound())
    line, bound = block.ranked[0].head, block.at_best[0].head
    for gain, best, whole, found in ((10, 5000, 1000, True), (9, 91, 1000, False), (9, 90, 1000, True), (0, 90, 1000, False)):
        line.gain_ns, bound.gain_ns, block.shares_of_ns = gain, best, whole
        assert pays(block) == found
    block.ranked = []
    assert not pays(block)


def test_text__a_gain_that_starting_the_run_hides_is_no_first_change():
    """400 are a fifth of the 1812 behind MPI_Init, and less than a thousandth of 400 001 with it; not of 400 000."""
    block = document(uneven_and_late(), kinds=["balance"])
    gain = block.ranked[0].head.gain_ns
    for whole, pay in ((1000 * gain, True), (1000 * gain + 1, False)):
        now = replace(block, replayed_ns=whole)
        assert pays(now) is pay
        said = lines(now, "first change").startswith(f"none worth changing: {block.ranked[0].head.change} gains 400 ns (22.1 %), less than")
        assert said is not pay


def test_uneven():
    """Rank 0 works for 600, rank 1 for 200: 200 more than the mean of 400, all in `work`."""
    block = document(two_that_work(600, 200), kinds=["slowest"])
    found = block.ranked[0].head.uneven
    assert (found.rank, found.region, found.excess_ns, found.only) == (0, "work", 200, False)
    assert "rank 0 computes 200 ns more than the mean in work: " in lines(block, "what to do")


def test_uneven__ranks_between_that_are_not_recorded():
    """The same of ranks 3 and 7: the mean is of these two, not of eight."""
    trace = two_that_work(600, 200)
    own = np.array([3, 7], "i4")
    comms = dataclasses.replace(trace.communicators, ranks=own[trace.communicators.ranks])
    trace = dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, process=own), communicators=comms)
    found = document(trace, kinds=["slowest"]).ranked[0].head.uneven
    assert (found.rank, found.region, found.excess_ns, found.only) == (3, "work", 200, False)


def test_uneven__in_what_no_other_rank_runs():
    """Rank 0 alone prepares, 300 more than the mean, and both work: for whom it does so only a run of three tells."""
    b = Builder(2, work=0)
    with b.region(0, "prepare"):
        b.compute(0, 600)
    for rank in (0, 1):
        with b.region(rank, "work"):
            b.compute(rank, 200)
    b.barrier()
    block = document(b.trace(), kinds=["slowest"])
    assert block.ranked[0].head.uneven.only
    assert "rank 0 computes 300 ns more than the mean in prepare, which no other rank runs: " in lines(block, "what to do")
    serving = Serving(rank=0, others=2, rounds=1, sites=[], waited_ns=1, remedy="")
    told = lines(replace(block, serving=serving), "what to do")
    assert "in prepare, which no other rank runs, part of it for those it serves in turn: " in told


def test_uneven__between_init_and_finalize():
    """Rank 1 prepares for 900 before its MPI_Init, and for 800 behind MPI_Finalize: neither is in what shares are of. Of what
    is, rank 0 computes 600, rank 1 200: 200 more than the mean.
    """
    b = Builder(2, work=0)
    b.compute(1, 900)
    b.call(0, "MPI_Init")
    b.call(1, "MPI_Init")
    b.barrier()
    b.compute(0, 600)
    b.compute(1, 200)
    b.barrier()
    b.call(0, "MPI_Finalize")
    b.call(1, "MPI_Finalize")
    b.compute(1, 800)
    block = document(b.trace(), kinds=["balance"])
    assert block.shares_of_ns < block.replayed_ns
    found = next(line.head.uneven for line in block.ranked if line.head.uneven)
    assert (found.rank, found.excess_ns) == (0, 200)


def test_text__what_other_runs_hide_is_no_first_change():
    """Of 100000, 999 are less than a hundredth, and than the 1000 by which runs differ; what there is at best is named all the same."""
    block = document(uneven_and_late(), kinds=["balance"])
    line, noise = block.ranked[0].head, {"varies": Varies("calls", 0.1, 8, 8)}
    line.gain_ns, block.shares_of_ns, block.at_best = 999, 100_000, []
    for sooner, later, sure in ((1000, 0, False), (0, 1000, False), (999, 999, True)):
        now = with_span(block, **noise, sooner_ns=sooner, later_ns=later, least_ns=1500, most_ns=2500)
        assert pays(now) is sure
        assert ("none that would show: " in lines(now, "first change")) is not sure
    line.gain_ns = 1000
    assert pays(with_span(block, **noise, sooner_ns=5000, later_ns=5000))
    line.gain_ns = 999
    told = lines(with_span(block, **noise, sooner_ns=1000, later_ns=0, least_ns=1500, most_ns=2500), "first change")
    assert told == (
        f"none that would show: {line.change} gains 999 ns (1.0 %), less than two runs of the same differ by (1.500 us to 2.500 us)"
    )
    best = lines(with_span(block, **noise, sooner_ns=1000, later_ns=0), "at best")
    assert best.startswith("--zero-wait all: gain ")


def test_text__what_is_held_by_late_receivers():
    """The receive is named beside the send, and the larger eager limit beside the earlier receive."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    with b.region(0, "give"):
        b.send(0, 1, 200)
    b.compute(0, 1000)
    with b.region(1, "take"):
        b.recv(1, 0)
    block = document(b.trace())
    told, said = text(block), "--eager 256 (messages of up to 256 bytes are eager): gain 999 ns (50.0 %); the run then takes 1.001 us"
    assert lines(block, "first change") == said
    assert lines(block, "what to do") == "raise the eager limit of this MPI, or post the receives earlier with MPI_Irecv"
    listed = " ".join(told.partition("\nwhat could be changed")[2].split())
    assert "; the receives are posted in MPI_Recv@take" in listed
    assert f"do: {REMEDIES['eager limit']}" in listed
    assert "includes: " not in told, "it is a larger eager limit itself"


def test_text__target_already_met():
    assert lines(with_target("1x"), "target") == "1x, 834 ns: the run is as fast already"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "0 ns; there are no MPI calls to change"),
        ("one_process", "none: the run would take as long if no call waited"),
        ("no_messages", "none: the run would take as long if no call waited"),
    ],
)
def test_text__nothing_to_change(name, said):
    block = document(CATALOGUE[name]())
    assert said in text(block)
    assert (block.changes, block.longest_wait, block.path.steps) == ([], None, [])


def test_text__no_single_call_but_several():
    """Ranks 1 and 2 wait for rank 0 alike, so the run is shorter only if neither waits: both then end at 100."""
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.compute(0, 50)
    for rank in (1, 2):
        b.send(0, rank)
        b.recv(rank, 0)
        b.compute(rank, 100)
    block = document(b.trace())
    assert (block.recorded_ns, block.bound_ns, block.changes) == (162, 100, [])
    assert lines(block, "best call").startswith("none: several paths through the run are equally long, and one call shortens only one")
    assert [row.change for row in block.best if row.kind == "wait"] == ["--zero-wait site:MPI_Recv"]


@pytest.mark.parametrize(
    ("receives", "told"),
    [
        (True, "--zero-wait e4: 2.500 us, gain 112 ns (4.3 %); it waits 112 ns"),
        (False, "none but those that end MPI, which nobody can change: balance what is computed before them"),
    ],
)
def test_text__calls_that_end_mpi(receives, told):
    """Rank 0 gains 500 if it need not wait for rank 1, which receives at 112 and computes 2000, in MPI_Finalize; the receive 112."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1):
        b.call(rank, "Init", work=0)
    b.compute(0, 100)
    if receives:
        b.send(0, 1)
        b.recv(1, 0)
    b.compute(1, 2000)
    b.everyone("Finalize")
    b.compute(0, 500)
    block = document(b.trace())
    assert block.changes[0].routine == "MPI_Finalize"
    assert lines(block, "best call") == told


def test_text__zero_time_counts_the_time_of_calls():
    block = document(falling(), question="zero-time")
    assert lines(block, "no time").endswith("if no call took time: --zero-time all")
    assert lines(block, "best call").startswith("--zero-time e2: 772 ns, gain 62 ns (7.4 %); it takes 62 ns")
    assert lines(block, "longest wait") == ""


def test_text__advance_names_the_promise():
    """Six tasks, each worker's second waits for the master, who can send it earlier."""
    block = document(CATALOGUE["master_worker"](), model="default", question="advance")
    head = next(line for line in text(block).splitlines() if line.startswith("change "))
    assert " ".join(head.split()) == "change gain makespan zero-wait passes waits rank routine waits for where"
    assert block.changes[0].change.startswith("--advance e")
    assert "if no call waited: --zero-wait all" in lines(block, "no waits")
    assert f"\nsingle calls that pay: {block.gaining_calls} of those tried, whose waits are worth most" in text(block)
    assert "\nwhat would move: perwiz predict TRACE --advance eN\n" in text(block)


def test_text__waits_that_cost_little():
    """834 to 750 is more than a twentieth: waits set the pace. 1000 of computation or of work in a call, then a message of 12 do not."""
    assert (document(falling()).pace, document(falling(), question="zero-time").pace) == (None, None)
    for took, said in (
        ((1000, 0), "rank 1 takes that long without waiting for anybody: see perwiz critical and perwiz balance"),
        ((0, 1000), "rank 1 takes that long without waiting for anybody, 1.000 us of it at work in calls: see perwiz critical"),
    ):
        b = Builder(2, latency=12, per_byte=0, work=0)
        b.compute(1, took[0])
        b.call(1, "Comm_rank", work=took[1])
        b.send(1, 0)
        b.recv(0, 1)
        block = document(b.trace())
        assert (block.replayed_ns, block.bound_ns, block.pace.total_ns) == (1012, 1000, 1000)
        assert lines(block, "no waits") == f"1.000 us, gain 12 ns (1.2 %), if no call waited: --zero-wait all {said}"


def test_text__gaps_of_the_model():
    """Without waits the gap of 930 between its sends holds rank 0, which computes 10; the others compute 300."""
    block = document(build.kept_apart(), model=hand_model(gap="sending call", g=900, G=10))
    found = block.pace
    assert (block.replayed_ns, block.bound_ns, found.rank, found.gap, found.gap_ns, found.without_gaps_ns) == (
        960,
        940,
        0,
        "g_ns",
        930,
        300,
    )
    said = "the model keeps sends of rank 0 apart, 930 ns in all (g_ns); without that it would be 300 ns:"
    assert f"{said} is it the machine's? see perwiz calibrate, and --model" in lines(block, "no waits")
    block = document(build.kept_apart(), model=hand_model(gap="sending call", g=0, G=310))
    assert (block.bound_ns, block.pace.gap) == (940, "G_ns_per_byte")


def test_text__nothing_waits():
    """What sets the pace is told there too."""
    b = Builder(1)
    b.compute(0, 100)
    b.call(0, "Comm_rank", work=0)
    said = "none: the run would take as long if no call waited rank 0 takes that long without waiting for anybody: see perwiz"
    assert lines(document(b.trace()), "best call").startswith(said)


def test_text__waits_that_were_not_recorded():
    """They are somewhere in what counts as computation: nobody can say that a rank waits for nobody."""

    def lacking(trace):
        return dataclasses.replace(trace, counts=Counts(bare=2))

    unrecorded = "the waits of 2 calls were not recorded: they count as computation"
    b = Builder(2, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    block = document(lacking(b.trace()))
    assert lines(block, "waiting") == "0 ns over all 2 processes, in 0 of 1 call as far as recorded"
    assert lines(block, "first change").startswith("cannot be answered: the waits were not recorded")
    assert lines(block, "best call") == f"cannot be answered: no wait was recorded {unrecorded}"
    assert pace(block) == [("", unrecorded)]
    bound = "750 ns, gain 84 ns (10.1 %), if no call waited as far as recorded: --zero-wait all"
    assert lines(document(lacking(falling())), "no waits") == bound
    assert lines(with_target("50ns", trace=lacking(b.trace())), "target") == "50ns, 50 ns: cannot be answered: the waits were not recorded"
    block = document(lacking(build.kept_apart()), model=hand_model(gap="sending call", g=900, G=10))
    assert pace(block)[0][1].startswith("the model keeps sends of rank 0 apart"), "the model's gaps it can tell"


def test_text__the_longest_wait_may_be_the_best():
    block = document(CATALOGUE["late_sender"]())
    assert lines(block, "longest wait").startswith("the same call, ") or block.changes == []


def test_text__what_the_longest_wait_gives():
    block = replace(document(falling()), longest_wait=document(falling()).changes[1])
    assert lines(block, "longest wait") == "e5, 224 ns: removing it alone gives 10 ns"


def test_text__what_gains_next_to_nothing_is_one_line():
    """Of 1 000 000 a wait of 12 is less than a thousandth, one of two of rank 1; both lines are counted, and in the document."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1_000_000)
    b.send(0, 1)
    b.recv(1, 0)
    b.send(1, 0)
    b.recv(0, 1)
    block = document(b.trace(), by="rank")
    small = [line.head.change for line in block.at_best if line.head.gain_ns < 1000]
    assert (block.at_best_lines, block.small_at_best) == (len(block.at_best), len(small))
    assert small == ["--zero-wait rank:1"]
    assert (first_line(block).head.kind, first_bound(block)) == ("slowest", None)
    shown = text(block, 9).partition("\nwhat there is to gain at best")[2].partition("\n\n")[0]
    assert shown.startswith("\n1 line gains less than 0.1 %\nto ask for one: ")
    assert not any(change in shown for change in small)


def test_text__nothing_but_what_gains_next_to_nothing():
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1_000_000)
    b.compute(1, 1_000_000)
    b.send(0, 1)
    b.recv(1, 0)
    block = document(b.trace())
    assert block.lines == block.small_lines > 0
    assert "\nwhat could be changed\n1 line gains less than 0.1 %\n" in text(block)
    assert "\nwhat could be changed\n2 lines gain less than 0.1 % each\n" in text(replace(block, lines=2, small_lines=2))


@pytest.mark.parametrize(
    ("worth", "small", "told"),
    [
        (1, 0, ""),
        (1, 1, "1 further line gains less than 0.1 %\n"),
        (2, 0, "1 further line: -n 20 shows it\n"),
        (25, 0, "24 further lines: -n 25 shows them\n"),
        (2, 3, "4 further lines: 3 gain less than 0.1 % each, -n 20 shows the other\n"),
        (3, 1, "3 further lines: 1 gains less than 0.1 %, -n 20 shows the other 2\n"),
    ],
)
def test_text__lines_that_are_not_listed_are_one_sum(worth, small, told):
    """One line of so many that are worth something, and of others, is listed; -n may be asked for more than all."""
    block = document(falling(), by="rank")
    assert (len(block.ranked), block.lines, block.small_lines) == (1, 1, 0)
    shown = text(replace(block, lines=worth + small, small_lines=small))
    listed = shown.partition("\nwhat could be changed\n")[2].partition("to ask for one:")[0]
    assert listed.partition("(pin processes, move the job)\n")[2] == told


def test_text__a_line_that_gains_next_to_nothing_as_recorded_is_listed_once():
    """The one listed gains nothing as recorded, but if each process had a processor of its own: of three small lines two are not listed."""
    block = document(falling(), by="rank")
    (line,) = block.ranked
    assert line.span is not None
    small = replace(line, head=replace(line.head, gain_ns=0), span=replace(line.span, alone_ns=line.head.gain_ns))
    shown = text(replace(block, ranked=[small], lines=4, small_lines=3))
    assert "\n3 further lines: 2 gain less than 0.1 % each, -n 20 shows the other\n" in shown


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_text__fits_a_terminal(columns):
    """But for what is to be copied."""
    block = document(falling())
    with words.fitted(columns):
        told = text(block).splitlines()
    assert [line for line in told if len(line) > columns and "--" not in line] == []
    assert len([line for line in told if "--advance site:MPI_Recv" in line]) >= 2


def test_text__more_than_is_shown():
    block = document(falling(), 1)
    assert "single calls that pay: 2 of 6, the first 1\n" in text(block, 1)
    assert "domino path, 2 calls in the order of time, 1 of them here; " in text(block)
    block.path.paths = COUNTED
    assert f"; {COUNTED} or more paths give the same" in text(block).replace("\n", " ")


def test_text__incomplete__says_first_what_is_missing():
    """Before anything that the answer says, also in a prediction; what is inferred where nothing is missing."""
    block = document(CATALOGUE["unmatched"]())
    told = "incomplete    sends and receives without a message record: 2\n              38.8 % of the processes' time is in calls whose"
    assert text(block).split("\n\n")[1].startswith(told)
    prediction = predict_of.document(predict(CATALOGUE["unmatched"](), (), hand_model(), clock="none"), 5)
    assert predict_text(prediction).split("\n\n")[1].startswith(told)
    holes = replace(block.health, holes={"unmatched sends": 2, "unmatched receives": 1}, not_modelled=0.009)
    assert lines(replace(block, health=holes), "incomplete") == "unmatched sends: 2; unmatched receives: 1"
    repaired = replace(holes, holes={}, repairs={"roots of collectives, inferred from times": 3})
    assert lines(replace(block, health=repaired), "incomplete") == (
        "what is inferred may be otherwise: roots of collectives, inferred from times: 3"
    )


def test_text__incomplete():
    assert text(document(CATALOGUE["unmatched"]())).startswith("built: what to change first  (INCOMPLETE trace)\n")


def test_text__where_in_the_program():
    """The region path, and the place in the source instead of it if the trace has one."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 50)
    b.send(0, 1)
    with b.region(1, "main"), b.region(1, "solve"):
        b.recv(1, 0)
    trace = b.trace()
    row = document(trace).changes[0]
    assert (row.region, row.site) == ("main/solve", "")
    assert "e0 (rank 0)  main/solve\n" in text(document(trace), 9)
    trace = dataclasses.replace(trace, site=np.array([-1, 0], "i4"), sites=("solve.c:12 solve",))
    assert document(trace).changes[0].site == "solve.c:12 solve"
    assert "e0 (rank 0)  solve.c:12 solve\n" in text(document(trace), 9)


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(3, 2))
def test_text__of_every_awkward_trace(name):
    for question in ("zero-wait", "zero-time"):
        for by in (None, "pair"):
            assert text(document(CATALOGUE[name](), by=by, question=question)).isascii()


def test_text__advance_says_what_a_receive_may_bring():
    """As in a ring: the only change that gains sends ahead of a receive."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.recv(0, 1)
    b.compute(0, 300)
    b.send(0, 1)
    b.compute(1, 200)
    b.send(1, 0)
    b.recv(1, 0)
    b.compute(1, 100)
    block = document(b.trace(), question="advance")
    assert [row.receives_passed for row in block.changes] == [1]
    assert lines(block, "best call").endswith(" only if it needs nothing of the 1 receive it then runs ahead of")
    assert "\nwhat runs ahead of a receive (passes) is a fix only if it needs nothing that this brings." in text(block)


def test_document__pairs_are_named_by_their_selector():
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(9):
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
    block = document(b.trace(), by="pair")
    row = block.at_best[0].head
    assert (row.change, row.what, row.calls) == ("--zero-wait 'pair:0>1'", "messages from rank 0 to rank 1", 18)


def test_text__advance_with_nothing_to_move():
    """Rank 0 computes 100 and sends; there is nothing that this could run ahead of."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 100)
    block = document(b.trace(), question="advance")
    assert block.changes == []
    assert lines(block, "best call") == ("none: what the waits that are worth something wait for cannot run earlier, or that gains nothing")


def late_send():
    """Rank 0 makes a call, computes 100 and sends; rank 1 receives and computes 100."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.call(0, "Comm_rank", work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 100)
    return domino(b.trace(), hand_model())


def test_an_order_is_all_there_is_at_best():
    """Sent at once the message is there at 12 instead of 112: what is sent may need the 100, so nobody gets that for sure."""
    block = told(late_send(), kinds=["order"])
    assert (block.ranked, block.at_best[0].head.gain_ns) == ([], 100)
    assert lines(block, "at best").startswith("--advance 'site:MPI_Recv before computation': gain 100 ns (47.2 %); ")
    assert sure(block, "at best") == "only as far as what is sent is ready before that is computed, which no trace tells"


def test_what_helps_names_an_order():
    """Of the 112 that rank 1 waits it gains 100."""
    block = told(late_send(), kinds=["order", "wait"])
    assert lines(block, "at best").startswith("--zero-wait e2: gain 112 ns (52.8 %); ")
    order = "--advance 'site:MPI_Recv before computation' gains 47.2 % if what is sent is ready then"
    assert lines(block, "what helps").endswith(f"; {order}")


def test_not_tried(monkeypatch):
    """What is not tried may gain: none gains of those tried."""
    assert document(falling()).not_tried == []
    assert "not tried" not in text(document(falling()))
    monkeypatch.setattr(order, "ROOM", 18)
    calls = len(falling().calls)
    why = f"{calls} calls are too many for it in this list; perwiz domino --question advance lists single calls (without -q)"
    block = document(falling())
    assert valid(block, "domino")["not_tried"] == [{"kind": "order", "why": why}]
    assert sure(block, "not tried") == f"order: {why}"
    only = told(domino(falling(), hand_model()), kinds=["order"])
    assert (lines(only, "first change"), sure(only, "not tried")) == ("none was tried: see how sure", f"order: {why}")
    several = told(domino(falling(), hand_model()), kinds=["order", "collective"])
    assert lines(several, "first change") == "none: no change that was tried gains anything"
    assert sure(several, "not tried") == f"order: {why}"


def test_limits__leave_streams_out():
    """The kernels take 6500 and the host 1300, but no processor takes over a kernel."""
    assert "rank 0 computes most" in lines(document(CATALOGUE["device"]()), "limited by")


def test_limits__name_a_thread():
    b = Builder(1, work=0)
    other = b.thread(0)
    b.compute(0, 100)
    b.compute(other, 500)
    b.team("omp_barrier", (0, other))
    assert "imbalance (thread 0.1 computes most) 40.0 %" in lines(document(b.trace()), "limited by")


@pytest.mark.parametrize(("processes", "who"), [(1, "the first thread"), (2, "the first thread of rank 1")])
def test_limits__name_the_first_thread(processes, who):
    """The last process computes 500 and its other thread 100: not that rank as a whole."""
    b = Builder(processes, work=0)
    team = processes - 1, b.thread(processes - 1)
    for process in range(processes - 1):
        b.compute(process, 100)
    b.compute(team[0], 500)
    b.compute(team[1], 100)
    b.team("omp_barrier", team)
    assert f"imbalance ({who} computes most)" in lines(document(b.trace()), "limited by")


def one_kernel():
    """A process waits until 900 for a kernel that begins at once, after 100 of its own."""
    b = Builder(1, work=0)
    stream = b.stream(0)
    b.link("launch", b.call(0, "device_launch"), b.call(stream, "device_idle"))
    b.compute(0, 100)
    b.compute(stream, 900)
    b.link("done", b.call(stream, "device_idle"), b.call(0, "device_synchronize"))
    return b.trace()


def test_limits__one_process_has_nobody_to_be_balanced_with():
    """Nor does it wait in turn, nor for a network: it waits for its device."""
    said = "devices (waiting for kernels and copies) 88.9 %; computation 11.1 %"
    assert lines(document(one_kernel()), "limited by") == said
    limits = document(one_kernel()).limits
    assert (limits.computation_ns, limits.imbalance_ns, limits.devices_ns, limits.waiting_in_turn_ns, limits.rank) == (100, 0, 800, 0, 0)
    assert lines(document(one_kernel()), "waiting") == "800 ns, in 1 of 4 calls"


def test_limits__overhead_is_of_those_that_call():
    """Of MPI alone it is MPI and network, where the model explains it."""

    def said(name):
        found = document(CATALOGUE[name]()).limits
        return str(answer.parts(replace(found, network_ns=found.calls_and_network_ns, per_byte_ns=None)))

    assert "OpenSHMEM and network" in said("shmem")
    assert "MPI and network" in said("late_sender")
    assert "MPI, network and threads" in said("threads")
    assert "MPI, network and devices" in said("device")
    small = document(CATALOGUE["small_team"]()).limits
    ((_, overhead),) = answer.limits(replace(small, calls_and_network_ns=20))
    assert "overhead (in calls of threads) 25.0 %" in overhead
    assert "over all threads, in" in lines(document(CATALOGUE["small_team"]()), "waiting")
    assert "over all processes and threads, in" in lines(document(CATALOGUE["threads"]()), "waiting")
    assert "over all threads and streams, in" in lines(document(CATALOGUE["two_streams"]()), "waiting")


def test_limits__what_no_cost_explains():
    """A message of one byte takes 112 from 0 on: the model says 12 until it is there and 2 to receive it, and no cost the other 98."""
    b = Builder(2)
    b.send(0, 1, 1, at=(0, 2))
    b.recv(1, 0, at=(0, 112))
    block = document(b.trace())
    assert (block.limits.calls_and_network_ns, block.limits.network_ns) == (112, 14)
    assert lines(block, "limited by") == ("unexplained (inside MPI) 87.5 %, network (per message) 12.5 %")
    said = "by no cost of the model; waiting for a processor, copies, the library, or a slower network; to do: {}"
    calibrate = "measure its costs with perwiz calibrate (--model FILE); a sampling profiler shows the rest"
    assert sure(block, "unexplained") == said.format(calibrate)
    shared = replace(block, health=replace(block.health, shared="2 processes shared 1 processor"))
    assert sure(shared, "unexplained") == said.format("record with a core for each process first")
    of = replace(block.limits, time_ns=280)
    assert "unexplained (inside MPI) 5.0 %" in answer.limits(replace(of, network_ns=98))[0][1]
    assert answer.limits(replace(of, network_ns=99)) == [("limited by", "network (per message) 40.0 %")]


def test_limits__of_the_network_per_message_and_per_byte():
    """A message of 101 bytes takes 114: o + L + o = 14, and 100 G. Where nothing tells what a byte takes, no such part is told."""
    b = Builder(2)
    b.send(0, 1, 101, at=(0, 2))
    b.recv(1, 0, at=(0, 114))
    model = hand_model(G=1, S=1000)
    found = document(b.trace(), model=model)
    assert (found.limits.network_ns, found.limits.per_byte_ns) == (114, 100)
    assert lines(found, "limited by") == "network (87.7 % per byte, 12.3 % per message) 100.0 %"
    untold = document(b.trace(), model=dataclasses.replace(model, assumed=("between-nodes:G_ns_per_byte",)))
    assert untold.limits.per_byte_ns is None
    assert lines(untold, "limited by") == "MPI and network 100.0 %"


def test_limits__polling_explains_what_no_cost_does():
    """Of the 98 that no cost explains 49 may be polling before it is named for them, and nothing is said to be unexplained then."""
    b = Builder(2)
    b.send(0, 1, 1, at=(0, 2))
    b.recv(1, 0, at=(0, 112))
    block = document(b.trace())
    few, many = (replace(block, limits=replace(block.limits, polling_ns=polling)) for polling in (49, 50))
    assert "unexplained (inside MPI) 87.5 %" in lines(few, "limited by")
    assert lines(many, "limited by") == "mostly polling (inside MPI) 87.5 %, network (per message) 12.5 %"
    assert sure(many, "polling").startswith("44.6 % is polling (tests and probes in vain)")
    assert (sure(few, "unexplained") != "", sure(many, "unexplained")) == (True, "")


def test_limits__parts_are_all_or_none():
    """What calls of nobody that is named cost is told, what costs nothing is not; without any of them nothing limits."""
    limits = document(CATALOGUE["late_sender"]()).limits
    nothing = dict.fromkeys((name for name in limits.__struct_fields__ if name.endswith("_ns")), 0)
    bare = replace(limits, **nothing | {"time_ns": 100, "calls_of": []})
    assert answer.limits(bare) == [("limited by", "nothing")]
    told = answer.limits(replace(bare, calls_and_network_ns=60, devices_ns=40))
    assert told == [("limited by", "network 60.0 %, devices (waiting for kernels and copies) 40.0 %")]


def test_limits__small_parts_stand_below():
    """Those of less than a twentieth are named on how sure that is, and are one sum from a hundredth on; the largest part always has its
    name.
    """
    limits = document(CATALOGUE["late_sender"]()).limits
    nothing = dict.fromkeys((name for name in limits.__struct_fields__ if name.endswith("_ns")), 0)
    bare = replace(limits, **nothing | {"time_ns": 1000, "calls_of": []})
    small = replace(bare, calls_and_network_ns=50, devices_ns=6, end_ns=4)
    assert answer.limits(small) == [("limited by", "network 5.0 %, other 1.0 %")]
    assert answer.other(small) == [("other", "devices (waiting for kernels and copies) 0.6 %, MPI_Finalize 0.4 %")]
    assert answer.limits(replace(small, devices_ns=5)) == [("limited by", "network 5.0 %")]
    assert answer.limits(replace(bare, end_ns=4)) == [("limited by", "MPI_Finalize 0.4 %")]
    assert answer.other(replace(bare, end_ns=4)) == []


@pytest.mark.parametrize(
    ("world", "who", "bring"), [(2, "rank 1: waiting for it", "its trace"), (3, "ranks 1, 2: waiting for them", "their traces")]
)
def test_missing_ranks(world, who, bring):
    """Who is missing in a collective is named, and nobody is told to call it less often: the wait may be all there is to it."""
    b = Builder(1)
    everyone = b.comm("everyone", range(world))
    b.compute(0, 100)
    b.join(0, "Allreduce", comm=everyone, work=300)
    block = document(b.trace())
    assert lines(block, "incomplete") == f"nothing of {who} in collectives cannot be told from transfer; bring {bring} first"
    assert text(block).split("\n\n")[1].startswith("incomplete    ")
    assert block.health.missing_ranks == block.limits.missing_ranks == [*range(1, world)]
    limited = lines(block, "limited by")
    assert limited.startswith("unexplained (inside MPI), or waiting for missing ranks ")
    assert limited.count("waiting") == 1
    of = replace(block.limits, network_ns=block.limits.calls_and_network_ns, calls_of=["devices"], per_byte_ns=None)
    assert answer.limits(of)[0][1].startswith("overhead (in calls of devices), or waiting for missing ranks 75.0 %")
    which = who.partition(":")[0]
    there = f"traces of {which} are" if world > 2 else f"trace of {which} is"
    assert lines(block, "first change") == (
        f"none before the {there} there: 300 ns (75.0 %) in site:MPI_Allreduce may be waiting for"
        f" {'them' if world > 2 else 'it'}, and whatever makes {'them' if world > 2 else 'it'} late pays most"
    )
    assert not pays(block)


@pytest.mark.parametrize(("gain", "told"), [(100, True), (101, False)])
def test_missing_ranks__beside_a_change(gain, told):
    """A change is the first one where waiting for missing ranks gains less than twice as much: here 200 of 400 ns, a change 100 or 101."""
    b = Builder(1)
    everyone = b.comm("everyone", range(2))
    b.compute(0, 200)
    b.join(0, "Allreduce", comm=everyone, work=200)
    block = document(b.trace())
    bound = block.at_best[0]
    assert bound.head.gain_ns == 200
    head = replace(bound.head, gain_ns=gain, makespan_ns=400 - gain, remedy="", change="--speed rank:0=2", what="rank 0", bound=False)
    line = replace(bound, head=head, span=None)
    block = replace(block, ranked=[line])
    assert (untold(block) is not None, pays(block)) == (told, not told)
    first = lines(block, "first change")
    of_rest = "makes it late pays most; of the rest --speed rank:0=2 (rank 0) gains most, 100 ns (25.0 %)"
    assert first.endswith(of_rest) if told else first.startswith("--speed rank:0=2 (rank 0): gain 101 ns")


def test_launches():
    """What late launches hide is told with the command that asks for it; of other programs nothing is."""
    block = document(CATALOGUE["late_sender"]())
    assert block.launches is None
    half = Launches(changes=["--zero-time op:device_idle", "--typical rank:0"], makespan_ns=0, gain_ns=block.replayed_ns)
    asked = "perwiz predict built --zero-time op:device_idle --typical rank:0: gain"
    told = lines(replace(block, launches=half), "launches")
    assert told.startswith(f"late launches (device_idle) may hide what a straggler costs; without them: {asked} ")
    assert told.endswith("(100.0 %)")


def steps(fourth, count=14):
    """Two processes compute 100 in each of so many steps and meet; in the fourth both take another time."""
    b = Builder(2, work=0)
    for step in range(count):
        for process in range(2):
            with b.region(process, "step"):
                b.compute(process, fourth if step == 3 else 100)
                b.call(process, "Comm_rank")
        b.everyone("Barrier")
    return b.trace()


def test_stands_out():
    """Of 13 times 100 and 1000 the fourth stands out, by 900 of 2300; behind it nine are alike; the last has no known end."""
    block = document(steps(1000))
    found = block.stands_out
    assert (found.numbers, found.times_ns, found.median_ns, found.excess_ns, found.alike) == ([4], [1000], 100, 900, "5..13")
    assert lines(block, "stands out") == ("iteration 4 (1.000 us); the others 100 ns (median): what they take more is 39.1 %")
    advice = "if other work disturbed them, record again"
    assert sure(block, "stands out") == f"those alike alone: --iterations 5..13; {advice}"
    assert sure(replace(block, stands_out=replace(found, alike=None)), "stands out") == advice
    assert not lines(replace(block, stands_out=replace(found, excess_ns=114)), "stands out"), "less than a twentieth of 2300"
    assert document(steps(100)).stands_out is None


@pytest.mark.parametrize(("count", "alike"), [(9, "5..8"), (8, None)])
def test_stands_out__few(count, alike):
    """The last has no known end: of nine four are alike behind the fourth."""
    assert document(steps(1000, count)).stands_out.alike == alike


def test_hot_spots():
    """Rank 0 works for 600, rank 1 for 200: at half of it the run takes 300, at least, as nothing repeats. Of kinds named none is told."""
    trace = two_that_work(600, 200)
    block = document(trace)
    [spot] = block.hot_spots
    assert (spot.change, spot.rank, spot.on_path_ns, spot.gain_ns, spot.makespan_ns) == ("--scale work@rank:0=0.5", 0, 600, 300, 300)
    assert (spot.span.least_ns, spot.span.most_ns) == (300, 300)
    assert lines(block, "hot spots").startswith("twice as fast (--scale NAME@rank:R=0.5) work on rank 0 gains 50.0 %")
    assert document(trace, kinds=("balance",)).hot_spots == document(trace, by="region").hot_spots == []


def test_hot_spots__that_are_the_imbalance_seen_again():
    """Half of the 600 of rank 0 gains 300, balanced it gains 200 of them: one cause. Where rank 1 computes most it is another."""
    block = document(two_that_work(600, 200))
    assert first_line(block).head.kind == "balance"
    told = "twice as fast (--scale NAME@rank:R=0.5) work on rank 0 gains 50.0 %"
    assert lines(block, "hot spots") == f"{told}, the imbalance seen again"
    other = replace(block, limits=replace(block.limits, rank=1))
    assert lines(other, "hot spots") == told
    small = document(two_that_work(600, 200))
    small.ranked[0].head.gain_ns = 149
    assert lines(small, "hot spots") == told


def in_turn():
    """Two ranks compute 100 and 20, and 20 and 100 the next time, with a barrier of 5 behind each: 20 times, of which each waits in ten."""
    b = Builder(2, work=5)
    for time in range(20):
        b.compute(time % 2, 100)
        b.compute(1 - time % 2, 20)
        b.everyone("Barrier")
    return b.trace()


def test_barrier_between_ranks_that_compute_longest_in_turn():
    """Of 2100 balanced stretches of 60 leave 1300, and no barriers 1200: neither rank computes more than the other in all."""
    block = document(in_turn())
    assert lines(block, "first change").startswith("--balance-time between-collectives ")
    assert "gain 800 ns (38.1 %)" in lines(block, "first change")
    line = first_line(block)
    long = replace(line, head=replace(line.head, change=f"--scale {'n' * 60}=0.5", what="half as long"))
    told = lines(replace(block, ranked=[long, *block.ranked[1:]]), "first change")
    assert told.startswith(f"half as long ({long.head.change}): gain 800 ns")
    assert "than the mean" not in lines(block, "what to do")
    assert lines(block, "at best").startswith("--zero-time ")
    assert lines(block, "at best").endswith(": gain 900 ns (42.9 %); all of it if nothing needs the barrier")
    assert lines(block, "what helps").startswith("leave out the barrier if only messages need the order")


def test_ranks_that_compute_longest_in_turn():
    """Rank 0 computes 10 more in all, 5 more than the mean, where evening each stretch out gains 800."""
    block = document(in_turn())
    line = block.ranked[0]
    line.head.uneven = Uneven(rank=0, region=None, excess_ns=5, only=False)
    told = "ranks compute longest in turn (rank 0 computes 5 ns more than the mean in all), and are waited for each time: "
    assert lines(block, "what to do").startswith(told)
    line.head.uneven = Uneven(rank=0, region=None, excess_ns=400, only=False)
    assert lines(block, "what to do").startswith("rank 0 computes 400 ns more than the mean: ")


def busy_elsewhere(computed):
    """Rank 0 computes 600, rank 1 so much, and the rest of 600 it is in a call; then they meet."""
    b = Builder(2, work=0)
    b.compute(0, 600)
    b.compute(1, computed)
    b.call(1, "Comm_rank", work=600 - computed)
    b.everyone("Barrier")
    return b.trace()


def test_imbalance_that_calls_hide():
    """Of 600 the mean of 600 and 200 is 200 less, but rank 1 is in a call for 400: no faster, whoever computes. Of 560, 20 are little."""
    block = document(busy_elsewhere(200))
    assert (block.limits.imbalance_ns, block.replayed_ns) == (200, 600)
    found = block.hidden
    assert (found.change, found.gain_ns, found.free_ns) == ("--balance-time all", 0, 200)
    why = "calls of the others take as long meanwhile: shorten those first"
    assert lines(block, "hidden") == f"evened out it gains 0.0 %, not 33.3 %: {why}"
    free = "33.3 % if calls and messages took no time (--balance-time all)"
    assert sure(block, "hidden") == f"evened out it gains 0.0 %; {free}"
    block.health.shared = "2 processes shared 1 processor of node a"
    recorded = "evened out it gains 0.0 % of the run as recorded, not 33.3 %: others take as long, or wait for a processor"
    assert lines(block, "hidden") == recorded
    assert document(busy_elsewhere(560)).hidden is None
    assert document(busy_elsewhere(200), kinds=("balance",)).hidden is None
    assert document(two_that_work(600, 200)).hidden is None


def test_hot_spots__of_little_worth_are_in_the_document_alone():
    """Rank 1 takes 599 in another region: half of work gains 1 of 600."""
    block = document(two_that_work(600, 599, "other"))
    assert [(spot.region, spot.gain_ns) for spot in block.hot_spots] == [("work", 1)]
    assert not lines(block, "hot spots")


def test_hot_spots__and_computation_outside_of_regions():
    b = Builder(1)
    for name, length in (("one", 500), ("two", 400), ("three", 300), ("four", 200)):
        with b.region(0, name):
            b.compute(0, length)
    b.compute(0, 600)
    block = document(b.trace())
    assert (len(block.hot_spots), block.outside_ns, block.replayed_ns) == (4, 600, 2000)
    told = "twice as fast, each alone (--scale NAME=0.5) one gains 12.5 %, two 10.0 %, three 7.5 % and 1 more"
    assert lines(block, "hot spots") == told
    said = "30.0 % of the time is computation on the critical path outside of regions: mark some there to see which of it pays"
    assert sure(block, "hot spots") == said


def test_serving():
    """Rank 0 prepares 100 for each of three and sends it; from the first send to the third, 200 of 362, who comes next waits."""
    b = Builder(4, latency=12, per_byte=0, work=0)
    for other in (1, 2, 3):
        b.compute(0, 100)
        b.send(0, other)
        b.recv(other, 0)
        b.compute(other, 50)
    block = document(b.trace())
    found = block.serving
    assert (found.rank, found.others, found.rounds, found.sites, found.waited_ns) == (0, 3, 1, ["MPI_Send"], 200)
    assert not lines(block, "serving"), "the first change says it"
    beside = lines(replace(block, ranked=[]), "serving")
    assert beside == "rank 0 serves 3 others in turn (MPI_Send): those not yet served wait 200 ns (55.2 %)"
    said = "it prepares a piece for one and sends it, then for the next, in 1 round"
    assert sure(block, "serving") == said
    assert block.ranked[0].head.change == "--distribute site:MPI_Send"
    assert found.remedy == REMEDIES["serving in turn"]
    assert lines(block, "what to do") == in_short(found.remedy)
    assert sure(replace(block, ranked=[]), "serving") == f"{said}; to do: {in_short(found.remedy)}"
    assert not lines(replace(block, ranked=[], serving=replace(found, waited_ns=18)), "serving"), "less than a twentieth of 362"


def test_serving__nothing_is_prepared():
    """Nobody computes before the end: there is no piece to prepare, only messages to send."""
    b = Builder(4, latency=12, per_byte=0, work=100)
    for other in (1, 2, 3):
        b.send(0, other)
        b.recv(other, 0)
    block = document(b.trace())
    assert (block.limits.computation_ns, block.serving.rank, block.serving.rounds) == (0, 0, 1)
    on = "let those who have it send it on, or call MPI_Bcast or MPI_Scatter, which do"
    assert sure(replace(block, ranked=[]), "serving") == f"it sends to one, then to the next, in 1 round; to do: {on}"


def two_that_work(first, second, name="work"):
    """Rank 0 computes in work, rank 1 in a region of some name."""
    b = Builder(2)
    for rank, region, length in ((0, "work", first), (1, name, second)):
        b.enter(rank, region)
        b.compute(rank, length)
        b.leave(rank, region)
    return b.trace()


def test_text__a_fall_that_no_digit_shows():
    block = document(halo_of_two())
    line = replace(block.at_best[0], waits_less="MPI_Recv", waiting_ns=263_904, waiting_then_ns=263_901)
    assert falls(block, line) == ""
    said = "waiting in MPI_Recv falls from 263.9 us to 1.000 us over all 2 processes"
    assert falls(block, replace(line, waiting_then_ns=1000)) == said


def halo_of_two():
    b = Builder(2, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.recv(1, 0)
    return b.trace()


def test_text__what_is_computed_for_devices():
    """900 of 1000 to start it in `init`; from a twentieth of the run on it is told."""

    def told(start):
        b = Builder(1, work=0)
        stream = b.stream(0)
        with b.region(0, "main"):
            with b.region(0, "init"):
                b.compute(0, start)
                first = b.call(0, "device_launch")
            b.compute(0, 100)
            second = b.call(0, "device_launch")
            b.compute(0, 900 - start)
        for launch in (first, second):
            b.link("launch", launch, b.call(stream, "device_idle"))
        return lines(document(b.trace()), "for devices")

    assert told(900) == (
        "rank 0 computes 900 ns to start its device and give it data, most of it in main/init: no work for other threads or processes, no"
        " change below counts it"
    )
    assert (told(50) != "", told(49)) == (True, "")


def test_text__kinds_that_are_not_tried_for_one_reason():
    trace = dataclasses.replace(CATALOGUE["small_team"](), counts=Counts(untied_threads=1, untied_waits=1))
    why = "the trace does not tell in which teams 1 thread took part (teams inside of teams, or missing events)"
    assert sure(document(trace), "not tried") == f"threads, balance: {why}"


def test_limits__nothing_but_computation():
    said = lines(document(CATALOGUE["one_process"]()), "limited by")
    assert said.startswith("unexplained (inside MPI) 60.0 %; computation 40.0 %")
    b = Builder(1)
    b.compute(0, 100)
    assert lines(document(b.trace()), "limited by") == "computation 100.0 %"


def test_text__a_late_post_is_posted_earlier():
    """300 less, as much as a faster process would give: posting ahead of its own computation is the plainer."""
    b = Builder(2, work=0)
    b.everyone("Win_create")
    b.compute(0, 100)
    start = b.call(0, "Win_start", tag=0, comm=0)
    b.compute(1, 900)
    b.link("post", b.call(1, "Win_post", tag=0, comm=0), start)
    b.compute(0, 300)
    complete = b.call(0, "Win_complete", tag=0, comm=0)
    b.link("complete", complete, b.call(1, "Win_wait", tag=0, comm=0))
    b.compute(1, 100)
    block = document(b.trace())
    assert (first_line(block).head.change, first_line(block).head.gain_ns, first_line(block).head.receives_passed) == (
        "--advance e1",
        300,
        0,
    )
    assert lines(block, "what to do") == REMEDIES["late post"]


def test_text__what_is_at_best_stands_beside_what_can_be_done():
    """Each of two computes 600 in turn, the other 300, and 160 in MPI_Allreduce: 450 each can be had, 300 less; without the 160 it is 320.
    That is beside it, and on how sure it is, if it is twice as much.
    """
    b = Builder(2, work=160)
    for turn in range(2):
        for process in range(2):
            b.compute(process, 600 if process == turn else 300)
        b.everyone("Allreduce")
    block = document(b.trace())
    assert first_line(block).head.change == "--balance-time between-collectives"
    assert (first_line(block).head.gain_ns, first_bound(block).head.gain_ns) == (300, 320)
    assert lines(block, "at best") == sure(block, "at best") == ""
    block.at_best[0].head.gain_ns = 599
    assert lines(block, "at best") == sure(block, "at best") == ""
    block.at_best[0].head.gain_ns = 600
    had = "nobody gets it all; a program without these calls may gain more"
    said = f"--zero-transfer site:MPI_Allreduce: gain 320 ns (21.1 %); {had}"
    assert lines(block, "at best", "what helps") == f"{said} {REMEDIES['collective']}"
    assert sure(block, "at best") == ALWAYS
    other = replace(first_line(block).head, change="--speed rank:0=2")
    line = replace(block.at_best[0], part=[other, other, first_line(block).head])
    first = "balance --balance-time between-collectives (19.7 %)"
    told = sure(replace(block, at_best=[line]), "at best")
    assert told == f"{ALWAYS}; a part of it: {first}, balance --speed rank:0=2 (19.7 %) and 1 more"


def test_pipeline__what_repeats_is_no_step(tmp_path):
    """One step is recorded: launches repeat, between some of which the first stage passes nothing on; no bubble is told of those."""
    assert pipeline(files.read(put(tmp_path / "job", *devices_in_stages()))) is None


def test_text__at_best_what_is_hidden_wholly(tmp_path):
    """Worked in tests/formats/kineto (test_hide__full_overlap): the second kernel waits 10 for a sum that it may not need."""
    block = document(files.read(put(tmp_path / "job", hiding())), kinds=["overlap"])
    assert lines(block, "at best").startswith("--hide op:dist_all_reduce: ")
    assert lines(block, "at best").endswith(": gain 10.00 us (8.3 %); no change tried gains a tenth of that")
    told = sure(block, "at best")
    assert told.endswith("only as far as its data are there before all is computed")


def test_text__nothing_that_can_be_done():
    block = document(falling(), kinds=["wait"])
    assert lines(block, "first change") == "none: nothing of these kinds that somebody can do as it stands gains anything"
    assert lines(block, "at best").startswith("--zero-wait site:MPI_Recv: gain 84 ns (10.1 %)")


def test_remedy__of_a_farm():
    """Work that is handed out already is not told to be handed out."""
    trace = farm(lengths(12))
    run = replayed(trace, hand_model(), "none")
    assert situation(run, Change("balance", "program", "balance-time all", "", 0)) == "work of a farm"
    assert situation(run, Change("slowest", "rank", "speed rank:1=2", "", 0)) == "work of a farm"
    assert situation(replayed(falling(), hand_model(), "none"), Change("slowest", "rank", "speed rank:1=2", "", 0)) == "slow process"


@pytest.mark.slow
def test_who_hands_out_tasks_has_no_work_to_share():
    """Neither the list nor what stands beside a wait balances it with those who do them; a question that does says so."""
    trace = farm(lengths(12))
    block = document(trace)
    (why,) = [row.why for row in block.not_tried if row.kind == "balance"]
    gives = "rank 0 gives tasks to whoever asks"
    assert why == f"all computation together, as {gives}: only regions, such as that around a task, can be balanced"
    assert not {"--balance-time all", "--balance-time between-collectives"} & {line.head.change for line in block.ranked}
    beside = predict(trace, "zero-wait all", hand_model(), clock="none").instead
    assert not [change for change in beside.changes if change.kind == "balance"]
    asked = {
        text: predict_of.document(predict(trace, text, hand_model(), clock="none"), 0) for text in ("balance-time all", "speed rank:1=2")
    }
    assert [found.masters for found in asked.values()] == [[0], []]
    told = " ".join(predict_text(asked["balance-time all"]).split())
    assert " tasks rank 0 gives them to whoever asks, and here gets work like the others, which is no change of a farm: " in told


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            farm(lengths(12)),
            "rank 0 gives 12 tasks to 3 processes as they ask; imbalance counts it like the others, --speed does not",
        ),
        (
            fixed_farm([lengths(5), lengths(9)]),
            "rank 0 answers 2 processes as they ask; imbalance counts it like the others, --speed does not",
        ),
        (counter(lengths(9)), "9 tasks are taken from a counter"),
        (falling(), ""),
    ],
)
def test_work_that_is_handed_out(trace, said):
    """All workers are slow beside who gives them work: no change."""
    block = document(trace)
    assert lines(block, "tasks") == said
    assert not any("rank:0" in line.head.change or "rank:1-3" in line.head.change for line in block.ranked if "--speed" in line.head.change)
