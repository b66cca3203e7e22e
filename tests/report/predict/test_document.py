"""The report of a prediction: one worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from build import CATALOGUE, Builder, hand_model, teams
from documents import NO_CHOICES, valid
from perwiz.report import spans
from perwiz.report.domino.remedies import REMEDIES
from perwiz.report.predict import document as report
from perwiz.report.predict.text import text as predict_text
from perwiz.report.records import Possible
from perwiz.trace.trace import Counts
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.computation import Scale, Speed
from perwiz.whatif.hypotheses.network import Network
from perwiz.whatif.hypotheses.threads import FITTED, Schedule, Threads
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.predict import predict


def late_sender():
    """Rank 1 waits from 0 to 1000 for rank 0, which computes; the message takes 12 ns (o + L), the receive works 30 ns more.

    rank 0  ========= send              0 .. 1000 .. 1010
    rank 1  recv ~~~~~~~~~              0 .. 1042, of which 1012 wait
    """
    b = Builder(2)
    b.compute(0, 1000)
    b.send(0, 1, 1, at=(1000, 1010))
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 1042))
        b.compute(1, 58)
    return b.trace("late.alog")


def document(trace, *hypotheses, waits=5, **settings):
    block = report.document(predict(trace, hypotheses, settings.pop("model", hand_model()), clock="none", **settings), waits)
    valid(block, "predict")
    return block


def test_document__by_hand():
    block = valid(document(late_sender(), ZeroWait("e1")), "predict")
    health = block.pop("health")
    assert health["incomplete"] is False
    assert block.pop("model")["name"] == "by hand"
    place = {"rank": 1, "thread": 0, "routine": "MPI_Recv", "region": "solve", "partner": {"call": "e0", "rank": 0, "thread": 0}}
    keys = ("rank", "thread", "recorded_end_ns", "predicted_end_ns", "gain_ns", "waiting_ns", "waiting_predicted_ns")
    assert block == {
        "version": 1,
        "command": "predict",
        "trace": "late.alog",
        "format": "built",
        "made_by": "measured",
        "hypotheses": ["zero-wait e1"],
        "engine": "sweep",
        "recorded_ns": 1100,
        "predicted_ns": 1010,
        "gain_ns": 90,
        "predicted_span": {
            "least_ns": 1010,
            "most_ns": 1010,
            "sooner_ns": 0,
            "later_ns": 0,
            "varies": None,
            "others": [],
            "stops": [],
            "gain": None,
            "costs_ns": 0,
            "drawn": True,
            "alone_ns": None,
            "runs_ns": 0,
        },
        "widened": None,
        "recordings": None,
        "semantics": None,
        "interfaces": {
            "pairs": 0,
            "swapped": 0,
            "left_out": 0,
            "between": 0,
            "between_now": 0,
            "bytes": 0,
            "bytes_now": 0,
            "told_apart": False,
            "ranks_moved": 0,
        },
        "links": {
            "overloaded": 0,
            "longest": [],
            "passes": 0,
            "moved_ns": None,
            "simulated": False,
            "nodes": 0,
            "left_alone": False,
            "collectives": 0,
            "beyond": 0,
            "shared": 0,
            "guessed": [],
        },
        "machine": {"given": True, "estimates": [], "unknown": []},
        "shares_of_ns": 1100,
        "init_moves": False,
        "replay_error_ns": 0,
        "calls": 2,
        "calls_moved": 1,
        "zeroed": {"calls": 1, "waiting_calls": 1, "wait_ns": 1012},
        "never_late_ns": None,
        "masters": [],
        "remedy": REMEDIES["late sender"],
        "instead": {
            "rank": 0,
            "thread": 0,
            "waited_ns": 1012,
            "changes": [
                {
                    "change": "--speed rank:0=1.89",
                    "what": "rank 0, 1.89 times as fast",
                    "makespan_ns": 629,
                    "gain_ns": 471,
                    "receives_passed": 0,
                }
            ],
        },
        "order": [],
        "matching": NO_CHOICES,
        "waiting_ns": 1012,
        "waiting_predicted_ns": 0,
        "networks": [],
        "teams": [],
        "algorithms": [],
        "links_shared": 0.0,
        "collectives": [],
        "deadlocks": 0,
        "misfit": {
            "requests": 0,
            "requests_lowered": 0,
            "messages": 1,
            "messages_lowered": 0,
            "collectives": 0,
            "collectives_lowered": 0,
            "gaps": 0,
            "gaps_lowered": 0,
            "violations": 0,
            "eager_after_all": 0,
            "held": None,
            "doubts": [
                {"what": "slow", "messages": 1, "of": 1, "time": 28, "makespan": 1100, "recorded": 1100, "share": 0.025455, "change": ""}
            ],
            "inner": 0,
        },
        "processes": [
            dict(zip(keys, (0, 0, 1010, 1010, 0, 0, 0), strict=True)),
            dict(zip(keys, (1, 0, 1100, 88, 1012, 1012, 0), strict=True)),
        ],
        "waits_before": [{"call": "e1", **place, "wait_ns": 1012, "other_wait_ns": 0}],
        "waits_after": [],
    }


def test_text__by_hand():
    assert predict_text(document(late_sender(), ZeroWait("e1"))).splitlines() == [
        "late.alog: zero-wait e1",
        "",
        "doubtful      1 of 1 messages took more than twice as long as the model says (2.5 % of the recorded run): see how sure",
        "recorded      1.100 us",
        "predicted     1.010 us, gain 90 ns (8.2 %); how much it varies is not known",
        "what to do    send earlier: MPI_Isend as soon as the data are there; or compute between MPI_Irecv and MPI_Wait instead",
        "              of waiting",
        "waits for     rank 0; a wait goes only as far as that comes earlier",
        "instead       --speed rank:0=1.89: 629 ns, gain 471 ns (42.8 %)",
        "",
        "how sure",
        "predicted     nothing repeats, so how much it varies is not known",
        "doubtful      most messages contradict the model, so take the answer with care: 28 ns of the recorded run (2.5 %): 1 of",
        "              1 messages took more than twice as long as the model says, and nothing recorded says why; without",
        "              --model it is fitted to this run",
        "",
        "waiting       1.012 us recorded, 0 ns predicted, over all 2 processes",
        "zeroed        1 call, which waited 1.012 us",
        "moved         1 of 2 calls",
        "",
        "rank       end  predicted      gain   waiting  predicted",
        "0     1.010 us   1.010 us      0 ns      0 ns       0 ns",
        "1     1.100 us      88 ns  1.012 us  1.012 us       0 ns",
        "",
        "longest waits in the recorded run",
        "call  rank  routine   waits for    region  recorded  predicted",
        "e1       1  MPI_Recv  e0 (rank 0)  solve   1.012 us       0 ns",
        "",
        "model         by hand: L_ns=10 o_ns=2 g_ns=0 G_ns_per_byte=0 O_ns_per_byte=0 S_bytes=100 s_bytes=0 request_overheads=1",
        "              acknowledge_overheads=2 gap='none' progress='always'",
        "source        the test",
        "replay        the unchanged run is exactly the recorded one",
        "misfit        messages that came faster than the model says: 0 of 1; more than twice as slow: 1",
        "",
        "health        complete; 0 records read",
        "clocks        consistent: nothing is received before it was sent",
    ]


def test_text__of_no_hypothesis_has_one_run():
    text = predict_text(document(late_sender()))
    doubt, _, told = text.partition("recorded  ")
    assert doubt.startswith("late.alog: no hypothesis\n\ndoubtful      1 of 1 messages took more than twice as long ")
    assert told.startswith("    1.100 us\npredicted     1.100 us, gain 0 ns (0.0 %)\n\nhow sure\ndoubtful  ")
    assert told.partition("\nwaiting  ")[2].startswith(
        "     1.012 us recorded, over all 2 processes\n\n"
        "rank       end   waiting\n0     1.010 us      0 ns\n1     1.100 us  1.012 us\n\n"
        "longest waits in the recorded run\n"
        "call  rank  routine   waits for    region  recorded\n"
        "e1       1  MPI_Recv  e0 (rank 0)  solve   1.012 us\n\nmodel "
    )


def facts(block, *labels):
    """Return the facts under some labels, with what continues them."""
    found, label = [], ""
    for line in predict_text(block).splitlines():
        label = line[:14].strip() or label
        if label in labels and line:
            found.append(line[14:])
    return found


def test_text__nothing_changes():
    block = document(late_sender(), ZeroWait("e0"))
    assert facts(block, "zeroed", "moved") == ["1 call, which did not wait in the recorded run", "0 of 2 calls"]
    assert facts(block, "predicted")[0] == "1.100 us, nothing changes"


@pytest.mark.parametrize("argument", ["all", "e0,rank:1"])
def test_text__several_zeroed(argument):
    found = facts(document(late_sender(), ZeroWait(argument)), "zeroed")
    assert found == ["2 calls, of which 1 waited in the recorded run, 1.012 us together"]


def test_text__several_zeroed_that_do_not_wait():
    b = Builder(1)
    b.barrier()
    b.barrier()
    block = document(b.trace(), ZeroWait("all"))
    assert facts(block, "zeroed") == ["2 calls, of which none that is known waited in the recorded run"]
    assert facts(block, "predicted")[0].endswith(", nothing changes")


def test_text__a_longer_end_is_no_nothing():
    b = Builder(2)
    b.barrier(at=[(0, 10), (5, 10)])
    with b.region(0, "after"):
        b.compute(0, 90)
    block = document(b.trace(), Scale("after=0.5"))
    assert facts(block, "moved") == ["0 of 2 calls"]
    assert "nothing changes" not in facts(block, "predicted")[0]


def test_text__loss():
    found = facts(document(late_sender(), Speed("rank:0=0.5")), "predicted")
    assert found[0] == "2.100 us, loss 1.000 us (90.9 %); how much it varies is not known"


def test_text__waits_that_were_not_recorded():
    trace = dataclasses.replace(late_sender(), counts=Counts(bare=3))
    assert facts(document(trace), "recorded") == [
        "1.100 us",
        "the waits of 3 calls were not recorded: they count as computation",
    ]


def test_text__replay_error():
    block = replace(document(late_sender()), replay_error_ns=1500)
    assert facts(block, "replay") == ["the unchanged run is at most 1.500 us off the recorded one"]


def test_text__other_networks_and_their_sources():
    block = document(late_sender(), ZeroWait("e1"), Network("cray-t3e"), Network("L_ns=1000,s_bytes=7"))
    assert [model.name for model in block.networks] == ["cray-t3e", "cray-t3e with L_ns=1000,s_bytes=7"]
    assert block.networks[1].parameters.L_ns == 1000
    found = facts(block, "network")
    assert found[0].startswith("cray-t3e: o_ns=10000 ")
    assert any(line.startswith("cray-t3e with L_ns=1000,s_bytes=7: L_ns=1000 ") for line in found)


def test_text__likely_algorithms():
    """With another network the report says whose costs change the collectives; the longest lists are cut."""
    b = Builder(8)
    b.everyone("Allreduce", bytes=8)
    lines = facts(document(b.trace(), Network("L_ns=1000")), "likely")
    assert lines == ["MPI_Allreduce of 8 bytes of 8 processes: recursive-doubling"]
    for ranks in range(2, 9):
        b.everyone("Barrier", comm=b.comm(f"of {ranks}", range(ranks)))
    b.everyone("Scan", bytes=8)
    lines = facts(document(b.trace(), Network("L_ns=1000")), "likely")
    assert (len(lines), lines[-1]) == (9, "and 1 more (--json)")


def test_text__misfit():
    b = Builder(2)
    b.send(0, 1, 200, at=(0, 20))
    b.send(0, 1, 1, at=(21, 22))
    b.recv(1, 0, at=(30, 40))
    b.recv(1, 0, at=(40, 41))
    b.send(1, 0, 1, at=(90, 95))
    b.recv(0, 1, at=(50, 60))
    model = hand_model(g=50, gap="sending call")
    assert facts(document(b.trace(), model=model), "misfit") == [
        "messages that came faster than the model says: 1 of 3",
        "sends that followed the one before sooner than the model says: 1 of 1; so its gap is not applied",
        "messages that hold their sender by the model, and did not: 1",
        "effects recorded before their cause, which stay as far before it: 1",
    ]


def test_text__incomplete_is_in_the_first_line():
    b = Builder(2)
    b.send(0, 1)
    assert predict_text(document(b.trace("x"))).startswith("x: no hypothesis  (INCOMPLETE trace)\n")


def test_text__control_characters_are_escaped():
    b = Builder(1)
    with b.region(0, "\x1b[2Jsolve"):
        b.compute(0, 5)
    block = document(b.trace("odd\x07.alog"), Scale("\x1b[2Jsolve=0.5"))
    assert block.hypotheses == ["scale \x1b[2Jsolve=0.5"]
    assert predict_text(block).startswith("odd\\x07.alog: scale \\x1b[2Jsolve=0.5\n")


def test_text__many_hypotheses_are_wrapped():
    block = document(late_sender(), *[ZeroWait("e1")] * 12)
    first, second, third = predict_text(block).splitlines()[:3]
    assert first.startswith("late.alog: zero-wait e1; zero-wait e1;")
    assert second.startswith(("  zero-wait e1;", "  e1;"))
    assert third == ""


def test_text__of_many_processes_lists_those_that_gain_most():
    b = Builder(1024)
    for rank in range(1024):
        b.compute(rank, 1000 + rank)
    block = document(b.trace(), Speed("rank:3=2"), Speed("rank:1001=4"))
    assert len(block.processes) == 1024
    table = predict_text(block).split("\n\n")[4].splitlines()
    assert len(table) == 18
    assert [line.split()[0] for line in table[1:-1]] == [*map(str, range(15)), "1001"]
    assert table[-1] == "and 1008 more, which gain or wait less (--json lists all)"


def test_text__of_many_processes_unchanged_lists_those_that_wait_most():
    block = document(late_sender())
    block.processes = [replace(block.processes[0], rank=k, waiting_ns=k) for k in range(40)]
    table = predict_text(block).split("\n\n")[4].splitlines()
    assert [line.split()[0] for line in table[1:-1]] == [str(k) for k in range(24, 40)]
    assert table[-1] == "and 24 more, which wait less (--json lists all)"


def test_document__waits_by_location():
    b = Builder(3)
    b.compute(1, 500)
    b.barrier()
    prediction = predict(b.trace(), [], hand_model())
    waits = prediction.waits_before.time.tolist()
    assert [row.waiting_ns for row in report.document(prediction, 0).processes] == waits
    assert np.count_nonzero(waits) == 2


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_awkward_trace(name):
    trace = CATALOGUE[name]()
    hypotheses = [ZeroWait("all")] if len(trace.calls) else []
    text = predict_text(document(trace, *hypotheses, waits=3))
    assert all(len(line) <= 120 and line.isprintable() and line == line.rstrip() for line in text.splitlines())
    assert "None" not in text
    assert "nan" not in text


def test_text__deadlock():
    b = Builder(2)
    for rank in (0, 1):
        b.send(rank, 1 - rank, 50, at=(0, 10))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(20, 40))
    found = facts(document(b.trace(), Network("S_bytes=0")), "deadlock")
    assert found == ["2 messages would be synchronous and stop the program for good; their senders are not held here"]


def test_text__a_send_shorter_than_its_request():
    """200 bytes are above S, o + L is 12, the send takes 5."""
    b = Builder(2)
    b.recv(1, 0, at=(0, 40))
    b.send(0, 1, 200, at=(20, 25))
    assert "synchronous sends shorter than their own request: 1 of 1" in facts(document(b.trace(), model=hand_model()), "misfit")


def of_threads(*sizes):
    """Return the part of the answer to `threads all=8` that tells what teams of these sizes cost."""
    text = predict_text(document(teams(*sizes), Threads("all=8")))
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("teams"))
    return [lines[lines.index("how sure") + 1], *lines[first : first + 2]]


def test_text__teams():
    """Of 2 and 4 threads: barriers of 20 and 40, so 80 or 60 of 8."""
    assert of_threads(2, 2, 4, 4) == [
        "predicted     3.659 us to 3.952 us: work in calls that repeats varies by 8.4 %, judged by 5 parts of the run; too few",
        "teams         of 8 threads: fork 50 ns, begin 100 ns, barrier 80 ns, join 30 ns",
        "              240 ns to 260 ns together, fitted to teams of 2, 4 threads",
    ]
    kept = "teams         what forks, barriers and joins take stays as recorded: teams that follow one of their size have 2 threads"
    assert of_threads(2, 2)[1] == kept
    assert of_threads(2, 4)[1] == f"{kept.partition(':')[0]}: no team follows one of its size"
    found = valid(document(teams(2, 2, 4, 4), Threads("all=8")), "predict")["teams"]
    assert [(one["threads"], one["sizes"], len(one["overheads"])) for one in found] == [(8, [2, 4], 4)]
    other = spans.other(Possible(changes=[FITTED], makespan_ns=3760))
    assert other == "3.760 us if forks, barriers and joins grow otherwise with the threads of a team"
    assert found[0]["overheads"][2] == {"part": "barrier", "form": "linear", "ns": 80.0, "least_ns": 60.0, "most_ns": 80.0}


def test_text__algorithms():
    """Recursive doubling of 8 bytes, two rounds of 21, becomes a reduction and a broadcast along a tree."""
    b = Builder(4)
    b.everyone("Allreduce", bytes=8, at=[(0, 42)] * 4)
    model = hand_model(G=1, S=10**6)
    asked = [parse(f"collective allreduce={way}") for way in ("reduce-bcast", "recursive-doubling was ring")]
    found = [valid(report.document(predict(b.trace(), [one], model, clock="none"), 3), "predict")["algorithms"] for one in asked]
    same = {"routine": "MPI_Allreduce", "processes": 4, "bytes": 8, "instances": 1, "misfit": 0.0, "told": True}
    assert found[0] == [{**same, "recorded": "recursive-doubling", "says": "MPICH and Open MPI", "becomes": "reduce-bcast"}]
    assert found[1] == [{**same, "recorded": "ring", "says": "given", "becomes": "recursive-doubling"}]
    lines = predict_text(report.document(predict(b.trace(), asked[:1], model, clock="none"), 3)).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("algorithms"))
    assert " ".join(map(str.strip, lines[first : first + 2])) == (
        "algorithms    MPI_Allreduce of 8 bytes of 4 processes, 1 time: recursive-doubling becomes reduce-bcast "
        "(as MPICH and Open MPI would, 0.0 % off)"
    )


def test_text__algorithms_that_nothing_tells():
    """Exits of 10, 300, 9000 and 4000 that no algorithm gives: the answer says so, unless somebody says how they were made."""
    b = Builder(4)
    for k in range(4):
        b.everyone("Allreduce", bytes=32, at=[(20_000 * k, 20_000 * k + ns) for ns in (10, 300, 9000, 4000)])
    model, asked = hand_model(G=1, S=10**6), ["collective allreduce=ring", "collective allreduce=ring was recursive-doubling"]
    guess, given = (report.document(predict(b.trace(), [parse(one)], model, clock="none"), 3) for one in asked)
    assert [one["told"] for one in valid(guess, "predict")["algorithms"]] == [False]
    assert [one["told"] for one in valid(given, "predict")["algorithms"]] == [True]
    said = " ".join(predict_text(guess).split())
    assert "doubtful nothing tells how MPI_Allreduce was made: the exits that" in said
    assert "so what another algorithm gains is a guess; say how: --collective 'allreduce=ring was NAME'" in said
    assert "becomes ring (a guess, " in said
    assert "nothing tells how" not in predict_text(given)
    taken = guess.algorithms[0].recorded
    stays = predict(b.trace(), f"collective allreduce={taken}", model, clock="none", draws=0)
    said = " ".join(predict_text(report.document(stays, 3)).split())
    assert f"so that it stays is a guess, and that nothing is gained; say how: --collective 'allreduce={taken} was NAME'" in said
    assert "moved 0 of 16 calls " in said
    assert ", nothing changes " in said


def test_text__whose_waits_are_counted():
    block = document(CATALOGUE["small_team"](), Threads("all=2"))
    assert "\n              the predicted waiting is without 3 calls of threads that are taken away\n" in predict_text(block)
    told = predict_text(document(CATALOGUE["small_team"](), Threads("all=4")))
    assert "\n              the predicted waiting is that of the recorded threads: what added ones wait is not known\n" in told
    assert "predicted waiting" not in predict_text(document(teams(2), Threads("all=2"), model="default"))


def test_text__pieces_that_are_too_large():
    """Two pieces of 1000 and 3000: whoever takes the larger one is as late as before. Cut in two, 2000 each."""
    b = Builder(1, work=0)
    other = b.thread(0)
    fork = b.call(0, "omp_fork")
    b.link("fork", fork, b.call(other, "omp_idle"))
    for name, ns in (("a", 500), ("b", 500)):
        with b.region(0, name):
            b.compute(0, ns)
    b.compute(other, 3000)
    b.team("omp_implicit_barrier", (0, other))
    b.link("join", b.call(other, "omp_idle"), b.call(0, "omp_join"))
    said = "N pieces of each thread's work: --schedule all=dynamic,N"
    for asked, hint in (("all=dynamic", True), ("all=dynamic,2", False)):
        told = " ".join(predict_text(document(b.trace(), Schedule(asked))).split())
        assert (said in told) is hint


def test_text__zero_wait_that_gains_nothing_names_who_is_late():
    b = Builder(3, latency=12, per_byte=0, work=0)
    b.compute(0, 600)
    for rank in (1, 2):
        b.send(0, rank)
        b.recv(rank, 0)
        b.compute(rank, 150)
    told = predict_text(document(b.trace(), ZeroWait("e2")))
    assert "\nwaits for     rank 0; it is late for others, too; a wait goes only as far as that comes earlier\n" in told
    assert "\ninstead       --speed rank:0=2: 462 ns, gain 300 ns (39.4 %)\n" in told


def test_text__zero_wait_that_nothing_cures():
    """Rank 0 computes its 50 as everybody else on average: only its message makes rank 1 wait."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 50)
    b.compute(1, 50)
    b.send(0, 1)
    b.recv(1, 0)
    none = "instead       nothing that was tried of another order, nobody held, computation balanced gains; see perwiz domino"
    assert f"\n{none}\n" in predict_text(document(b.trace(), ZeroWait("e1")))


def test_text__a_limit_leaves_what_is_sent_in_place():
    b = Builder(2)
    b.send(0, 1, 200)
    b.recv(1, 0)
    trace, said = b.trace(), "\nin place      messages above 100 B are sent in place, and hold their sender until the receiver is in a call"
    assert said in predict_text(report.document(predict(trace, "eager 4KiB", hand_model(progress="in calls", inline_bytes=100)), 3))
    assert "in place" not in predict_text(report.document(predict(trace, "eager 4KiB", hand_model(inline_bytes=100)), 3))
    assert "in place" not in predict_text(
        report.document(predict(trace, "eager all", hand_model(progress="in calls", inline_bytes=100)), 3)
    )
