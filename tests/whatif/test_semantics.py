"""Eight programs under equal letters, as each simulator reads them: where they differ, and by how much.

Printed by, each built as its authors say, at the commits that perwiz.loggps.semantics names:
loggopsim, atlahs    LogGOPSim -f x.bin --LogGOPS_L 1000 ...: its lines `Host N: T`
llamp                main.py -g x.goal -S 500 -o 100 -G 2 --l-min 1000 --l-max 1000 --solve, with OR-Tools: runtime.csv
dimemas              Dimemas --dim x.dim -S 500, the same calls, a node for each task, a link each way, any number of buses, latency 1 us,
                     bandwidth 1e9 / 2^20 / 2 of its MB/s: the duration in the header of the trace it writes
perwiz by the equations of docs/model.md.
"""

import dataclasses
import json

import numpy as np
import pytest

import build
import goals
from perwiz.cli import main
from perwiz.errors import TraceError, UsageError
from perwiz.loggps import PROFILES, semantics
from perwiz.loggps.configuration import configuration
from perwiz.whatif.predict import predict
from perwiz.whatif.semantics import told

LETTERS = {"L": 1000, "o": 100, "g": 200, "G": 2, "O": 1, "S": 500}
MODEL = "L_ns=1000,o_ns=100,g_ns=200,G_ns_per_byte=2,O_ns_per_byte=1,S_bytes=500"
LATE, EARLY = ["calc 9000"], ["calc 10"]


def sends(size, *tags, to=1):
    """Return sends."""
    return [f"send {size}b to {to} tag {tag}" for tag in tags]


def receives(size, *sources):
    """Return receives of tags 1, 2, ..."""
    return [f"recv {size}b from {source} tag {tag}" for tag, source in enumerate(sources, 1)]


PROGRAMS = {
    "one eager message": ([EARLY + sends(100, 1), EARLY + receives(100, 0)], 1613, [214, 1413], [214, 1811], 1415, 1215),
    "two sends in a row": ([EARLY + sends(400, 1, 2), EARLY + receives(400, 0, 0)], 3313, [1512, 3011], [1512, 4009], 2115, 2815),
    "late receiver, eager": ([EARLY + sends(400, 1), LATE + receives(400, 0)], 9505, [514, 9903], [514, 9704], 9105, 10005),
    "late receiver, above S": ([EARLY + sends(5000, 1), LATE + receives(5000, 0)], 31503, [9005, 19103], [21411, 21411], 11215, 20005),
    "early receiver, above S": ([LATE + sends(5000, 1), EARLY + receives(5000, 0)], 32603, [14104, 20203], [30401, 30401], 20205, 20005),
    "as large as S": ([EARLY + sends(500, 1), LATE + receives(500, 0)], 9605, [614, 10103], [614, 9804], 9105, 11005),
    "two senders": (
        [EARLY + receives(400, 1, 2), EARLY + sends(400, 1, to=0), EARLY + sends(400, 2, to=0)],
        *(3313, [3011, 514, 514], [3710, 514, 514], 2115, 2815),
    ),
    "around a ring": (
        [EARLY + sends(100, k + 1, to=(k + 1) % 3) + [f"recv 100b from {(k + 2) % 3} tag {(k + 2) % 3 + 1}"] for k in range(3)],
        *(1613, [1413] * 3, [1811] * 3, 1415, 2015),
    ),
}


def program(name):
    """Return the text of a program: each operation behind the one before it, and a computation of 5 ns at the end."""
    blocks = []
    for lines in PROGRAMS[name][0]:
        numbered = [f"l{k}: {line}" for k, line in enumerate([*lines, "calc 5"])]
        blocks.append(numbered + [f"l{k} requires l{k - 1}" for k in range(1, len(numbered))])
    return goals.text_of(blocks)


@pytest.mark.parametrize("name", PROGRAMS)
def test_simulate__printed(name):
    _, _, loggopsim, atlahs, llamp, dimemas = PROGRAMS[name]
    schedule, model = goals.read(program(name)), dataclasses.replace(build.hand_model(**LETTERS), interfaces=1)
    found = {profile: semantics.simulate(schedule, model, profile) for profile in PROFILES}
    assert all((each.stuck, each.unreceived) == (0, 0) for each in found.values())
    assert (found["loggopsim"].end.tolist(), found["atlahs"].end.tolist()) == (loggopsim, atlahs)
    assert (found["llamp"].makespan, found["dimemas"].makespan) == (llamp, dimemas)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("profile", ["llamp", "atlahs"])
def test_predict__semantics(name, profile, tmp_path, capsys):
    _, ours, _, atlahs, llamp, _ = PROGRAMS[name]
    (tmp_path / "x.goal").write_text(program(name))
    code = main(["predict", str(tmp_path / "x.goal"), "--model", MODEL, "--semantics", profile, "--json"])
    found = json.loads(capsys.readouterr().out)
    theirs = {"llamp": llamp, "atlahs": max(atlahs)}[profile]
    assert (code, found["predicted_ns"]) == (0, ours)
    assert found["semantics"] == {
        "profile": profile,
        "configuration": "",
        "recorded_ns": theirs,
        "predicted_ns": theirs,
        "stuck": 0,
        "unended": 0,
    }


def test_predict__another_network(tmp_path, capsys):
    """Dimemas keeps both processors for the new latency, one behind the other: the run it simulates is not the one perwiz predicts."""
    (tmp_path / "x.goal").write_text(program("late receiver, eager"))
    words = ["--model", MODEL, "--semantics", "dimemas", "--network", "L_ns=3000", "--json"]
    assert main(["predict", str(tmp_path / "x.goal"), *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["semantics"] == {
        "profile": "dimemas",
        "configuration": "",
        "recorded_ns": 10005,
        "predicted_ns": 12005,
        "stuck": 0,
        "unended": 0,
    }
    assert found["predicted_ns"] == 9505


def collectives():
    """Return a trace of an allreduce, a communicator that is made, a reduction to rank 0 and a broadcast that does not block."""
    b = build.Builder(3)
    for rank, time in enumerate((1000, 3000, 2000)):
        b.compute(rank, time)
    b.everyone("Allreduce", bytes=100)
    b.compute(1, 500)
    b.everyone("Comm_dup")
    b.everyone("Reduce", root=0, bytes=100)
    requests = b.everyone("Ibcast", root=0, bytes=50)
    for rank in range(3):
        b.compute(rank, 5)
        b.wait(rank, requests[rank])
    return b.trace()


@pytest.mark.parametrize(("profile", "times"), [("dimemas", 1), ("dimemas-linear", 2), ("dimemas-log", 2)])
def test_told__collectives_of_dimemas(profile, times):
    """L 10, G 1. All are there at 3000. MPI_Comm_dup holds nobody; rank 1 sends the root 100 bytes behind L; L later the broadcast begins.

    Of the broadcast the root says that it sends and receives 50 bytes.
    """
    trace = collectives()
    found = told(predict(trace, [], build.hand_model(L=10, o=0, G=1, S=10**6), draws=0), profile)
    begun = 3000 + (2 * 10 + 200) * times + 500 + 10 + 100
    assert found.recorded.makespan == begun + 10 + (2 * 10 + 2 * 50) * times
    assert (found.recorded.stuck, found.recorded.unended) == (0, 0)


def test_told__buses():
    """L 1000, G 2. Ranks 0 to 2 send 1000 bytes to 3 to 5 until 1000: on two buses those of 0 and 1 move until 3000, that of 2 until 5000.

    With one link into each node or many, for each message goes to another.
    """
    b = build.Builder(6, work=0)
    for rank in range(3):
        b.send(rank, rank + 3, 1000)
        b.recv(rank + 3, rank)
    found = predict(b.trace(), [], build.hand_model(L=1000, o=0, G=2, S=10**6, interfaces=1), draws=0)
    assert told(found, "dimemas").recorded.end.tolist() == [1000] * 3 + [3000] * 3
    assert told(found, "dimemas", "buses=2").recorded.end.tolist() == [1000] * 3 + [3000, 3000, 5000]
    assert told(found, "dimemas", "buses=1").recorded.end.tolist() == [1000] * 3 + [3000, 5000, 7000]


@pytest.mark.parametrize(
    ("said", "bytes_"),
    [
        ("in=max", 300 + 300),
        ("out=min", 100 + 100),
        ("in=mean,out=mean", 200 + 200),
        ("in=2max", 600 + 300),
        ("in=sum,gather:out=min", 400 + 100),
        ("bcast:in=sum", 100 + 300),
    ],
)
def test_told__which_bytes_count(said, bytes_):
    """L 10, G 1. Of three the root of MPI_Gather comes first: it sends 100 bytes, and receives 300. Two phases, behind the last entry."""
    b = build.Builder(3, work=0)
    b.everyone("Gather", root=0)
    trace = b.trace()
    sent, received = (np.array([of_root, 0, 0]) for of_root in (100, 300))
    trace = dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, bytes_sent=sent, bytes_received=received))
    found = predict(trace, [], build.hand_model(L=10, o=0, G=1, S=10**6), draws=0)
    assert told(found, "dimemas", said).recorded.makespan == 2 * 10 + bytes_


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("busses=2", "'busses=2' says nothing, must be like buses=4, in=max or allreduce:out=min"),
        ("bcast:buses=2", "'bcast:buses=2' says nothing, must be like buses=4, in=max or allreduce:out=min"),
        ("buses=0", "'buses=0', must be 1 to 1000000 buses"),
        ("in=most", "'in=most', must be one of min, max, mean, 2max, sum"),
        ("broadcast:in=max", "'broadcast:in=max', must be a routine of MPI such as allreduce"),
        ("in=max,in=min", "in is said twice, must be said once"),
    ],
)
def test_configuration__refusals(said, words):
    with pytest.raises(UsageError) as refused:
        configuration(said)
    assert str(refused.value) == f"--dimemas: {words}"


def test_predict__configuration(tmp_path, capsys):
    (tmp_path / "x.goal").write_text(program("two senders"))
    words = ["predict", str(tmp_path / "x.goal"), "--model", MODEL, "--dimemas", "buses=1"]
    assert main(words) == 2
    must = "--dimemas: --semantics is perwiz, must be one of dimemas, dimemas-linear, dimemas-log"
    assert must in capsys.readouterr().err
    assert main([*words, "--semantics", "dimemas"]) == 0
    assert "with buses=1, as it reads the same model" in capsys.readouterr().out
    with pytest.raises(TraceError, match="how collectives take the buses of Dimemas is not known, must be asked without buses"):
        told(predict(collectives(), [], build.hand_model(), draws=0), "dimemas", "buses=1")


@pytest.mark.parametrize(("profile", "end"), [("dimemas", 6500), ("dimemas-linear", 8900), ("dimemas-log", 8900)])
@pytest.mark.parametrize("links", [1, 9])
def test_told__ranks_of_one_node(profile, end, links):
    """L 1000, G 2, within a node 300 and 1. Rank 0 sends 1000 bytes to rank 1 beside it until 300, and to rank 2 until 1300; there at 3300.

    Then five ranks on three nodes, of two, two and one, reduce 100 bytes: 2 L + 200 G between the nodes, and within one, both times f.
    """
    b = build.Builder(5, work=0)
    for rank in (1, 2):
        b.send(0, rank, 1000)
        b.recv(rank, 0)
    b.everyone("Allreduce", bytes=100)
    model = build.hand_model(L=1000, o=0, G=2, S=10**6, interfaces=links)
    inner = dataclasses.replace(model.costs[0], pairs="within-node", L=300, G=1)
    model = dataclasses.replace(model, costs=(*model.costs, inner))
    trace = build.placed(b.trace(), [0, 0, 1, 1, 2])
    assert told(predict(trace, [], model, draws=0), profile).recorded.makespan == end


def test_predict__llamp_without_computation(tmp_path, capsys):
    """Its run ends with a computation that nothing needs: where there is none it says 0 ns, and the reader is told."""
    (tmp_path / "x.goal").write_text(goals.text_of([["send 100b to 1"], ["l0: recv 100b from 0", "l1: calc 5", "l1 requires l0"]]))
    assert main(["predict", str(tmp_path / "x.goal"), "--model", MODEL, "--semantics", "llamp"]) == 0
    text = capsys.readouterr().out.split("\nllamp ")[1].split("\nwaiting")[0].split()
    counts = "1 rank ends with no computation: llamp counts only computations that nothing needs, and takes 0 ns for others"
    assert " ".join(text) == f"1.405 us, as it reads the same model {counts}"


def test_predict__semantics_unknown(capsys):
    assert main(["predict", "x.goal", "--semantics", "simgrid"]) == 2
    names = ", ".join(f"'{name}'" for name in ("perwiz", *PROFILES))
    line = f"argument --semantics: invalid choice: 'simgrid' (choose from {names}); see perwiz predict --help\n"
    assert capsys.readouterr() == ("", f"perwiz: {line}")


@pytest.mark.parametrize("command", ["domino", "curve", "bound"])
def test_semantics__of_predict_alone(command, capsys):
    assert main([command, "x.goal", "--semantics", "llamp"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
