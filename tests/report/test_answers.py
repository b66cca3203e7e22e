"""What is said beside every answer: its span, what the trace tells of the machine, and where it contradicts the model."""

from __future__ import annotations

import dataclasses
import math

import pytest
from msgspec.structs import replace

from build import Builder, hand_model
from perwiz.loggps.machine import Estimate, Machine, Unknown
from perwiz.report import blocks, misfit, spans
from perwiz.report import machine as machines
from perwiz.report.domino import document as domino_report
from perwiz.report.domino.text import text as domino_text
from perwiz.report.predict import document as report
from perwiz.report.predict.text import text as predict_text
from perwiz.report.records import GainBetween, Possible, Span, Varies
from perwiz.trace.trace import SHARED
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import ranking
from perwiz.whatif.worth.domino import domino

COMPUTATION = Varies("computation", 0.008, 30, 30)
SURE = GainBetween(10_000_000, 10_000_400, 200, 10_000_000, 10_000_000, 10_000_000, 0, None)


def span(others=(), noise=0, varies=None, stops=(), makespan=1_380_000_000, gain=None, costs=0, drawn=True, runs=0):
    times, around = [makespan, *(ns for _, ns in others)], round(math.hypot(noise, runs))
    possible = [Possible([*changes], ns) for changes, ns in others]
    return Span(min(times) - around, max(times) + around, noise, noise, varies, possible, [*stops], gain, costs, drawn, None, runs)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            span([(["S_bytes=65536"], 1_480_000_000)], 1_000_000, COMPUTATION),
            "1.379 s to 1.481 s: 1.480 s if messages are eager up to 65.54 kB; measure with perwiz calibrate",
        ),
        (span([(["L_ns=0"], 1_380_500_000)], 1_000_000, COMPUTATION), "1.379 s to 1.382 s: computation that repeats varies by 0.8 %"),
        (
            span([(["L_ns=0"], 1_380_500_000)], 3_000_000, COMPUTATION, runs=4_000_000),
            "1.375 s to 1.386 s: another recording may take 2.0 % more or less (assumed; --runs tells); computation that repeats varies by"
            " 0.8 %",
        ),
        (
            span([(["L_ns=0"], 1_385_000_000)], 3_000_000, COMPUTATION, runs=4_000_000),
            "1.375 s to 1.390 s: 1.385 s if L is 0 ns; measure with perwiz calibrate",
        ),
        (span([], 4_000_000, COMPUTATION, runs=3_000_000), "1.375 s to 1.385 s: computation that repeats varies by 0.8 %"),
        (
            span([], 1_000_000, Varies("calls", 1.2, 8, 0)),
            "1.379 s to 1.381 s: work in calls that repeats varies, judged by 8 parts of the run",
        ),
        (
            span([], 1_000_000, Varies("calls", 1.2, 8, 8)),
            "1.379 s to 1.381 s: work in calls that repeats varies, judged by its 8 iterations",
        ),
        (
            span([], 1_000_000, Varies("calls", 1.2, 8, 70)),
            "1.379 s to 1.381 s: work in calls that repeats varies, judged by its 70 iterations in 8 groups",
        ),
        (
            span([(["between-nodes:S_blocking_bytes=0", "progress=in calls"], 2_000_000_000)]),
            "1.380 s to 2.000 s: 2.000 s if no message is eager in blocking sends between nodes and long messages move on only in"
            " MPI calls; measure with perwiz calibrate",
        ),
        (
            span([(["S_bytes=1000000000000"], 1_000_000_000), (["L_ns=0,within-node:gap=none"], 1_390_000_000)]),
            "1.000 s to 1.390 s: 1.000 s if messages of any size are eager; measure with perwiz calibrate",
        ),
        (
            span([(["S_bytes=262144,inline_bytes=1023"], 1_390_000_000)], stops=["S_bytes=4040,inline_bytes=1023", "S_bytes=0"]),
            "1.380 s to 1.390 s: 1.390 s if messages are eager up to 262.1 kB and those above 1.023 kB wait for any call of their receiver;"
            " measure with perwiz calibrate; it could not run so if messages are eager up to 4.040 kB and those above 1.023 kB wait for"
            " any call of their receiver or if no message is eager",
        ),
        (
            span([], 690_000_001, Varies("calls", 1.2, 8, 8)),
            "not known, anything from 690.0 ms to 2.070 s: work in calls that repeats varies, judged by its 8 iterations, a few times long"
            " among many short ones; more iterations, or those that are alike alone (--iterations A..B), would tell more",
        ),
        (
            span([], 690_000_000, Varies("calls", 1.2, 8, 8)),
            "690.0 ms to 2.070 s: work in calls that repeats varies, judged by its 8 iterations",
        ),
        (
            replace(span([], 1_500_000_000, Varies("computation", 0.8, 5, 0)), least_ns=0),
            "not known, anything up to 2.880 s: computation that repeats varies by 80.0 %, judged by 5 parts of the run; more repetitions"
            " in a longer recording would tell more",
        ),
        (span(), "nothing repeats, so how much it varies is not known"),
        (span(drawn=False), "no runs were resampled: how much it varies is not told"),
        (span(varies=COMPUTATION, gain=SURE), "nothing that the trace leaves open changes it"),
        (
            span(varies=COMPUTATION, stops=["S_bytes=0"], gain=SURE),
            "nothing that the trace leaves open changes it; it could not run so if no message is eager",
        ),
    ],
)
def test_span(made, words):
    assert spans.text(made, 1_380_000_000) == words


TOLD = "1.379 s to 1.381 s: computation that repeats varies by 0.8 %"


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (
            GainBetween(9_400_000, 10_600_000, 200, 9_900_000, 10_000_000, 10_000_000, 0, None),
            "gain 9.400 ms to 10.60 ms in nine of ten other runs, 9.900 ms on average",
        ),
        (
            GainBetween(10_000_000, 10_000_400, 200, 10_000_000, 10_000_000, 10_000_000, 0, None),
            "gain 10.00 ms +-200 ns in nine of ten other runs",
        ),
        (
            GainBetween(10_000_000, 10_000_000, 200, 10_000_000, 10_000_000, 10_000_000, 0, None),
            "gain 10.00 ms, the same in nine of ten other runs",
        ),
        (
            GainBetween(-600, -400, 200, -500, -8_000, -500, 0, None),
            "loss 400 ns to 600 ns in nine of ten other runs, 500 ns on average; 500 ns to 8.000 us as the machine may be",
        ),
        (
            GainBetween(-400, 600, 200, 90, -8_000, 500, 0, None),
            "gain -400 ns to 600 ns in nine of ten other runs, 90 ns on average; -8.000 us to 500 ns as the machine may be",
        ),
    ],
)
def test_gain(gain, words):
    assert spans.texts(span([], 1_000_000, COMPUTATION, gain=gain), 1_380_000_000) == [TOLD, words]


@pytest.mark.parametrize(
    ("recorded", "runs", "said"),
    [
        (1_400_000_000, 30_000_000, "; one recording may show a loss of 10.04 ms to a gain of 50.04 ms"),
        (1_340_000_000, 30_000_000, ""),
        (1_380_000_000, 30_000_000, ""),
        (1_400_000_000, 0, ""),
    ],
)
def test_once(recorded, runs, said):
    """Of an answer of 1.38 s: where two recordings differ by more than it gains; nothing where nothing changes, or one recording tells."""
    assert spans.once(span([], 1_500_000, COMPUTATION, runs=runs), recorded, 1_380_000_000) == said


@pytest.mark.parametrize(("least", "said"), [(-10_000_000, True), (-11_000_000, False)])
def test_once__where_the_range_of_the_gain_says_it(least, said):
    """A recording is between -10 and 50 ms: a gain of -10 to 20 ms is half as wide."""
    gain = GainBetween(least, 20_000_000, 200, 20_000_000, 20_000_000, 20_000_000, 0, None)
    told = spans.once(span([], 1_500_000, COMPUTATION, runs=30_000_000, gain=gain), 1_400_000_000, 1_380_000_000)
    assert bool(told) == said


def test_once__range_that_says_nothing():
    assert spans.once(span([], 690_000_001, COMPUTATION, runs=1), 1_400_000_000, 1_380_000_000) == ""


def test_gain__of_too_few():
    """Seven repetitions tell nothing; without runs drawn nothing is said."""
    few = f"{TOLD}, judged by 7 parts of the run; too few repetitions to tell how much the gain varies"
    assert spans.texts(span([], 1_000_000, Varies("computation", 0.008, 7, 0)), 1_380_000_000) == [few]
    assert spans.texts(span([], 1_000_000, COMPUTATION), 1_380_000_000) == [TOLD]


def test_gain__of_too_few_iterations():
    few = f"{TOLD}, judged by 5 parts of the run; 7 iterations are too few to tell how much the gain varies"
    assert spans.texts(span([], 1_000_000, Varies("computation", 0.008, 5, 7)), 1_380_000_000) == [few]


def test_gain__by_costs():
    """A hundredth of the gain or less is not said."""
    gain = GainBetween(9_000_000, 11_000_000, 200, 10_000_000, 9_000_000, 10_000_000, 0, None)
    words = "gain 9.000 ms to 11.00 ms in nine of ten other runs, 10.00 ms on average{}; 9.000 ms to 10.00 ms as the machine may be"
    for costs, said in ((100_000, ""), (100_001, ", +-100.0 us by costs")):
        assert spans.texts(span([], 1_000_000, COMPUTATION, gain=gain, costs=costs), 1_380_000_000) == [TOLD, words.format(said)]


@pytest.mark.parametrize(
    ("gain", "answer", "words"),
    [
        ((9_400_000, 10_600_000), 1_380_000_000, ", between 9.400 ms and 10.60 ms"),
        ((-10_600_000, -9_400_000), 1_400_000_000, ", between 9.400 ms and 10.60 ms"),
        ((-10_600_000, 9_400_000), 1_400_000_000, ", a gain between -10.60 ms and 9.400 ms"),
        ((-9_400_000, 10_600_000), 1_380_000_000, ", between -9.400 ms and 10.60 ms"),
        ((10_000_000, 10_000_000), 1_380_000_000, ""),
    ],
)
def test_beside(gain, answer, words):
    """Of 1.39 s 10 ms are gained or lost: what is lost is told as a loss, unless it may be a gain."""
    least, most = gain
    drawn = GainBetween(least, most, 200, 1_390_000_000 - answer, least, most, 0, None)
    assert spans.beside(span([], 1_000_000, COMPUTATION, gain=drawn), 1_390_000_000, answer) == words


def test_beside__not_told():
    assert spans.beside(span(), 1_390_000_000, 1_380_000_000) == "; how much it varies is not known"
    assert spans.beside(span(drawn=False), 1_390_000_000, 1_380_000_000) == "; how much it varies is not told"


def test_in_another():
    """Where recordings differ by an unknown amount, between what another one lies; nothing where all or nothing is possible."""
    assert spans.in_another(span(noise=3_000_000, runs=4_000_000), 1_380_000_000) == " (1.375 s to 1.385 s)"
    assert spans.in_another(span(noise=3_000_000), 1_380_000_000) == spans.in_another(None, 1_380_000_000) == ""
    assert spans.in_another(span(noise=700_000_000, runs=1), 1_380_000_000) == ""


def test_span__nothing_to_say():
    assert spans.facts(span(), 1_380_000_000) == spans.facts(None, 0) == []


def facts(machine):
    return machines.facts(machines.machine(machine), blocks.model(machine.model))


def test_machine__what_is_told_and_what_is_not():
    """What nothing tells is not beside what is known, and has its value where it is said so."""
    told = (
        Estimate("L_ns", "", 900.0, 4802, 0),
        Estimate("S_bytes", "between-nodes", 4040, 312, 96),
        Estimate("progress", "", "in calls", 20, 0),
    )
    model = dataclasses.replace(hand_model().with_changes("within-node:S_bytes=9"), assumed=("gap", "within-node:S_bytes"))
    machine = Machine(model, told, (Unknown("gap", "", ("gap=none", "gap=sending call"), ""), Unknown("S_bytes", "within-node", (), "")))
    assert facts(machine) == [
        ("model", "the test"),
        (
            "told",
            "eager up to 4040 bytes between nodes (312 tell, 96 contradict), progress in calls (20 tell); L_ns=10 o_ns=2 g_ns=0"
            " G_ns_per_byte=0 O_ns_per_byte=0 S_bytes=100 s_bytes=0 request_overheads=1 acknowledge_overheads=2 progress='always'",
        ),
        ("not told", "gap='none' within-node:S_bytes=9"),
    ]


def test_machine__a_limit_between_sizes():
    """Messages of 16384 bytes are held, none tells of smaller ones: what is eager is not known to the byte."""
    told = Estimate("S_bytes", "", 16383, 12, 0)
    model, left = dataclasses.replace(hand_model(S=16383), assumed=("S_bytes",)), Unknown("S_bytes", "", ("S_bytes=0", "S_bytes=16383"), "")
    machine = Machine(model, (told,), (left,))
    assert facts(machine)[1][1].startswith("eager up to a size from 0 to 16383 bytes (12 tell); L_ns=10 ")
    assert ("not told", "S_bytes=16383") in facts(machine)


def test_machine__what_is_unknown_is_so_of_all_sizes():
    row = hand_model().costs[0]
    model = dataclasses.replace(hand_model(), costs=(row, dataclasses.replace(row, from_bytes=64, L=7, G=0.5)), assumed=("L_ns",))
    told = facts(Machine(model, unknown=(Unknown("L_ns", "", ("L_ns=9", "L_ns=0"), ""),)))
    assert told[2:] == [("", "from 64 bytes: G_ns_per_byte=0.5"), ("not told", "L_ns=10")]


def test_machine__given():
    assert facts(Machine(hand_model(), given=True)) == blocks.model_facts(blocks.model(hand_model()))


def test_machine__of_collectives():
    """Instances of collectives are no messages, and what several of them do not tell is said once."""
    told = (Estimate("MPI_Bcast of 4 processes from 0 bytes", "", 900, 15, 2), Estimate("request_overheads", "", 1, 7, 0))
    silent = tuple(Unknown("collectives", "", (), f"what {name} of 4 processes costs") for name in ("MPI_Scan", "MPI_Reduce"))
    (_, told), lacking = facts(Machine(hand_model(), told, silent))[-2:]
    assert told.startswith("1 collective cost; L_ns=10 ")
    assert lacking == ("not told", "2 collective costs")


def held(behind=1000):
    """Senders of 50 bytes that stand still until their receiver comes, 500 after them; rank 0 then computes so long behind 4510."""
    b = Builder(2)
    for k in range(5):
        b.send(0, 1, 50, at=(1000 * k, 1000 * k + 510))
        b.recv(1, 0, at=(1000 * k + 500, 1000 * k + 520))
    b.compute(0, behind)
    return b.trace("held.alog")


def lines(text, label):
    """Return the facts under a label on how sure an answer is, put together; without that section those of all."""
    facts, here = [], False
    for line in (text.partition("\n\nhow sure\n")[2] or text).splitlines():
        here = line.startswith(f"{label} ") or (here and line.startswith(" " * 14))
        facts += [line[14:]] if here else []
    return " ".join(facts)


def test_doubtful__held():
    """Of 5510, 5 times 510 less the sender's own 2 is time that the model takes for work."""
    document = report.document(predict(held(), "speed rank:1=2", hand_model(), clock="none"), 0)
    assert document.misfit.held.bytes == 50
    assert lines(predict_text(document), "doubtful") == (
        "2.540 us of the recorded run (46.1 %): 5 of 5 senders of messages that are eager by the model stood still until their receiver"
        " came; without --model it is fitted to this run"
    )
    assert "measure with perwiz calibrate" in lines(predict_text(document), "predicted")


def test_doubtful__of_the_fit():
    """The same of a machine that the trace told: --model says what to look at."""
    document = report.document(predict(held(), "zero-wait e1", Machine(hand_model()), clock="none"), 0)
    assert lines(predict_text(document), "doubtful").endswith("until their receiver came; see --model S_bytes=49")


def test_doubtful__on_every_first_screen():
    run = domino(held(), hand_model(), "none")
    found = domino_report.document(run, ranking.rank(run.run), 3)
    assert lines(domino_text(found), "doubtful").startswith("2.540 us of the recorded run (46.1 %): 5 of 5 senders")


def test_doubtful__little_is_not_told():
    document = report.document(predict(held(130_000), "zero-wait e1", hand_model(), clock="none"), 0)
    assert document.misfit.doubts[0].what == "held"
    assert misfit.first(document.misfit, document.machine, document.shares_of_ns, shared=False) == []


def test_doubtful__is_a_part_of_its_own_run():
    """900 of a run that becomes twice as long as the recorded 1000, which has 200 in MPI_Init: of 1800, not of 800."""
    document = report.document(predict(held(), "zero-wait e1", hand_model(), clock="none"), 0)
    doubt = dataclasses.replace(document.misfit.doubts[0], time=900, makespan=2000, recorded=1000, share=0.45)
    document.misfit.doubts = [doubt]
    assert "900 ns of the predicted run (50.0 %)" in misfit.first(document.misfit, document.machine, 800, shared=False)[0][1]


def test_doubtful__most_of_the_path_is_said_first():
    """501 of 1000 of it, though few messages say so; half does not."""
    document = report.document(predict(held(), "zero-wait e1", hand_model(), clock="none"), 0)
    for time, said in ((501, True), (500, False)):
        document.misfit.doubts = [dataclasses.replace(document.misfit.doubts[0], time=time, makespan=1000, recorded=1000, share=0.5)]
        document.shares_of_ns = 1000
        told = predict_text(document).partition("\n\n")[2]
        assert told.startswith("doubtful      5 of 5 senders ") is said
        assert ("\ndoubtful      most of the critical path contradicts the model, so take the answer with care: " in told) is said
        assert "doubtful " in told


def test_doubtful__from_a_fiftieth_on():
    """More than 200 of 10 000, whether two of two messages say so or one of two: how far answers are off does not go by that."""
    document = report.document(predict(slow(), (), hand_model(), clock="none"), 0)
    (doubt,) = document.misfit.doubts
    for messages, time, told in ((2, 201, True), (2, 200, False), (1, 201, True), (1, 200, False)):
        document.misfit.doubts = [dataclasses.replace(doubt, messages=messages, time=time, makespan=10_000, recorded=10_000)]
        assert bool(misfit.first(document.misfit, document.machine, 10_000, shared=False)) is told


def slow():
    """A message that takes 5000 where the model by hand says 12 and 2, and one back."""
    b = Builder(2)
    b.send(0, 1, 1, at=(0, 10))
    b.recv(1, 0, at=(0, 5000))
    b.send(1, 0, 1, at=(5000, 5010))
    b.recv(0, 1, at=(5000, 10_000))
    return b.trace()


def test_doubtful__slow():
    """Two of two, and they hold the run up for all but what the model says."""
    document = report.document(predict(slow(), (), hand_model(), clock="none"), 0)
    assert lines(predict_text(document), "doubtful") == (
        "most messages contradict the model, so take the answer with care: 9.972 us of the recorded run (99.7 %): 2 of 2"
        " messages took more than twice as long as the model says, and nothing recorded says"
        " why; without --model it is fitted to this run"
    )
    assert predict_text(document).partition("\n\n")[2].startswith("doubtful "), "before the gain"
    assert lines(predict_text(document), "misfit") == "messages that came faster than the model says: 0 of 2; more than twice as slow: 2"


def test_doubtful__slow_by_the_fit():
    """What the shortest messages tell is not mended by measuring the network: the others waited for something else."""
    document = report.document(predict(slow(), (), Machine(hand_model()), clock="none"), 0)
    assert lines(predict_text(document), "doubtful").endswith(
        "predictions keep that as recorded; if processes shared cores, record with one each"
    )


def test_doubtful__slow_as_processors_were_shared():
    trace = dataclasses.replace(slow(), properties={SHARED: "2 processes shared 1 processor of node a"})
    text = predict_text(report.document(predict(trace, (), Machine(hand_model()), clock="none"), 0))
    assert lines(text, "doubtful").endswith("as long as the model says, and processes shared processors; predictions keep that as recorded")
    said = "2 processes shared 1 processor of node a: waits and computation include waiting for a processor; record with a core for each"
    assert text.count("waiting for a processor") == 1
    short = text.partition("\n\n")[2].partition("\n\n")[0]
    assert " ".join(short.split()).startswith(f"record again {said} before you change anything ")
    assert "\ndoubtful " not in short, "that is why"


def test_doubtful__fast():
    """Messages that take 100 where the model says 1002 hold the run up: under another network nobody knows how long they take."""
    b = Builder(2)
    for k in range(3):
        b.send(0, 1, 1, at=(200 * k, 200 * k + 10))
        b.recv(1, 0, at=(200 * k, 200 * k + 100))
        b.send(1, 0, 1, at=(200 * k + 100, 200 * k + 110))
        b.recv(0, 1, at=(200 * k + 100, 200 * k + 200))
    document = report.document(predict(b.trace(), (), hand_model(L=1000), clock="none"), 0)
    said = "most messages contradict the model, so take the answer with care: 600 ns of the recorded run (100.0 %): 6 of 6"
    assert lines(predict_text(document), "doubtful").startswith(said)


def test_doubtful__free():
    """Two of 200 bytes are synchronous by the model. The first did not wait for its receiver, the second is there behind it."""
    b = Builder(2)
    b.send(0, 1, 200, at=(0, 10))
    b.recv(1, 0, at=(500, 600))
    b.send(0, 1, 200, at=(20, 700))
    b.recv(1, 0, at=(650, 700))
    b.compute(0, 1000)
    found = predict(b.trace(), "speed rank:1=0.5", hand_model(), clock="none")
    free = next(doubt for doubt in found.doubts if doubt.what == "free")
    assert (free.messages, free.of, free.change) == (1, 2, "S_bytes=200")
    assert [other.changes for other in found.span.others] == [("S_bytes=200",)]
