"""Laws of prediction, on the catalogue of awkward traces and on random ones."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.loggps import model_file
from perwiz.trace import arrays, operations
from perwiz.whatif.hypotheses import KINDS
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.network import BalanceMessages
from perwiz.whatif.hypotheses.parts import parts, synchronisations
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.hypotheses.teams import members
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from questions import Questions

MODELS = "default", "perwiz-cluster"


def asking(trace, model=build.ODD):
    return Questions(trace, model, "none")


def predicted(trace, *texts):
    return asking(trace, "default").predicted(*texts)


def same(one, other):
    """Return whether two timelines have the same times."""
    return one.calls == other.calls and one.regions == other.regions and one.locations == other.locations


def earlier(one, other):
    """Return whether nothing in one timeline is later than in the other."""
    pairs = [(getattr(one, part), getattr(other, part)) for part in ("calls", "regions", "locations")]
    return all((a.enter <= b.enter).all() and (a.leave <= b.leave).all() for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
@pytest.mark.parametrize("engine", ["sweep", "replay"])
def test_no_hypothesis_gives_the_recording__catalogue(name, engine):
    trace = build.CATALOGUE[name]()
    for model in (*MODELS, build.ODD):
        found = predict(trace, (), model, engine, "none")
        assert same(found.predicted, trace.timeline)
        assert (found.replay_error, found.gain) == (0, 0)
        assert not (found.waits_before.time < 0).any()
        times = trace.timeline.calls
        assert (found.waits_before.time <= times.leave - times.enter).all()


@pytest.mark.slow
@given(build.programs(), st.sampled_from([*MODELS, build.ODD]))
def test_no_hypothesis_gives_the_recording__random(trace, model):
    for engine in ("sweep", "replay"):
        assert same(predict(trace, (), model, engine, "none").predicted, trace.timeline)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_clocks_that_cannot_be_true_are_corrected(name):
    """Nothing is left reversed, unless causes and effects form a cycle."""
    state = predict(build.CATALOGUE[name]()).health
    assert bool(state.recorded) == (name in build.VIOLATING) == (state.correction is not None)
    assert not state.violations or state.contradictions


def questions(trace):
    """Return one hypothesis of each kind that fits the trace, or more."""
    found = [f"speed rank:{rank}={factor}" for rank in trace.locations.process[:2] for factor in (3, 0.7)]
    if len(trace.calls):
        some = ",".join(f"e{row}" for row in range(0, len(trace.calls), 3))
        found += [
            f"zero-wait {some}",
            "zero-wait all",
            f"zero-time {some}",
            f"zero-transfer {some}",
            "speed rank:0-9=2",
            "network L_ns=9000,o_ns=1,G_ns_per_byte=7",
        ]
    found += ["eager all"] * bool(len(trace.messages)) + ["balance-time all"]
    found += [f"balance-time between-collectives{which}" for which in ("", "#1", "#2..3")] * bool(len(synchronisations(trace)))
    found += [text for text in ("threads all=3", "overlap all") if fits(trace, text)]
    for name in trace.names:
        found += [f"scale {name}=0.4", f"balance-time {name}", f"balance-time {name}#1"]
    return found


def fits(trace, text):
    """Return whether a hypothesis about teams of threads is about some of this trace."""
    try:
        return bool(len(members(trace).fork)) and bool(asking(trace).run([text]))
    except UsageError:
        return False


def faster(trace):
    """Return hypotheses that make nothing longer."""
    return [q for q in questions(trace) if q.startswith(("zero", "scale", "eager")) or q.endswith(("=3", "=2"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_engines_agree_under_hypotheses(name):
    """And both are what `predict` says, from the fitted model and corrected clocks on: of one question in four, and of all at once."""
    trace = build.CATALOGUE[name]()
    odd, usual = asking(trace), Questions(trace)
    some = questions(trace)[[*build.CATALOGUE].index(name) % 4 :: 4]
    for texts in [[question] for question in some] + [questions(trace)]:
        one, other = (odd.run(texts, engine) for engine in ("sweep", "replay"))
        assert same(one.recorded_rows(), other.recorded_rows())
        assert one.waits.time.tolist() == other.waits.time.tolist()
        found, expected = predict(trace, texts, keep_matches=True), usual.run(texts)
        assert same(found.predicted, expected.recorded_rows())
        assert found.waits_after.time.tolist() == expected.waits.time.tolist()


def check_faster(trace):
    ask = asking(trace)
    for text in faster(trace):
        found = ask.predicted(text)
        assert earlier(found, trace.timeline)
        assert found.makespan <= trace.timeline.makespan
        assert (found.calls.enter <= found.calls.leave).all()


@pytest.mark.parametrize("name", build.one_of(3, 0))
def test_pieces_of_columns_change_no_answer__catalogue(monkeypatch, name):
    """What is worked out piece by piece is the same in pieces of one row, also where what is asked needs edges of its own."""
    trace = build.CATALOGUE[name]()
    asked = ["network L_ns=50,G_ns_per_byte=2", "eager 4"]
    models = (build.ODD, build.hand_model(S=0, progress="in calls"))
    whole = [predict(trace, asked, model, clock="none").predicted for model in models]
    monkeypatch.setattr(arrays, "_CHUNK", 1)
    assert all(same(predict(trace, asked, model, clock="none").predicted, told) for model, told in zip(models, whole, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_less_never_delays__catalogue(name):
    check_faster(build.CATALOGUE[name]())


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_less_never_delays__random(trace):
    check_faster(trace)


def check_nested(trace, timeline):
    """Check that regions lie inside their parents and locations, and calls follow one another."""
    times, regions, spans = timeline.regions, trace.regions, timeline.locations
    assert (times.enter <= times.leave).all()
    assert (times.enter >= spans.enter[regions.location]).all()
    assert (times.leave <= spans.leave[regions.location]).all()
    inner = np.flatnonzero(regions.parent >= 0)
    outer = regions.parent[inner]
    assert (times.enter[inner] >= times.enter[outer]).all()
    # Not of regions that outlive their parents in the recording.
    proper = trace.timeline.regions.leave[inner] <= trace.timeline.regions.leave[outer]
    proper &= regions.end_call[inner] <= regions.end_call[outer]
    assert (times.leave[inner] <= times.leave[outer])[proper].all()
    calls, at = timeline.calls, trace.calls.location
    assert (calls.enter[1:] >= calls.leave[:-1])[at[1:] == at[:-1]].all()
    assert (calls.enter >= spans.enter[at]).all()
    assert (calls.leave <= spans.leave[at]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(3, 1))
def test_predicted_times_are_nested__catalogue(name):
    trace = build.CATALOGUE[name]()
    ask = asking(trace)
    for text in questions(trace):
        check_nested(trace, ask.predicted(text))


@pytest.mark.slow
@settings(max_examples=12)
@given(build.programs())
def test_predicted_times_are_nested__random(trace):
    ask = asking(trace)
    for text in questions(trace):
        check_nested(trace, ask.predicted(text))


@pytest.mark.slow
@settings(max_examples=12)
@given(build.programs(), st.sampled_from([*MODELS, build.ODD]))
def test_a_prediction_fed_back_is_the_recording_of_its_run(trace, model):
    """What comes out can go in again, and stays what it is (PerWiz, section 4: iterative prediction)."""
    ask = asking(trace, model)
    for text in questions(trace):
        again = dataclasses.replace(trace, timeline=ask.predicted(text))
        assert same(asking(again, model).predicted(), again.timeline)


@st.composite
def renamings(draw):
    trace = draw(build.programs())
    return trace, draw(st.permutations(range(len(np.unique(trace.locations.process)))))


@pytest.mark.slow
@settings(max_examples=12)
@given(renamings())
def test_renaming_ranks_changes_nothing(drawn):
    """Balancing is left out: there the first ranks get the ns that remain."""
    trace, new = drawn
    other, call, region, location = build.renamed(trace, new)
    ask, ask_other = asking(trace), asking(other)
    for text in [None, *questions(trace)]:
        if text and text.startswith("balance"):
            continue
        before = ask.run([text] * bool(text))
        if text and "rank:" in text:
            rank = text.partition("rank:")[2].partition("=")[0]
            text = text if "-" in rank else text.replace(f"rank:{rank}", f"rank:{new[int(rank)]}")
        elif text and text.partition(" ")[2].startswith("e"):
            text = text.partition(" ")[0] + " " + ",".join(f"e{call[int(part[1:])]}" for part in text.partition(" ")[2].split(","))
        after = ask_other.run([text] * bool(text))
        times = before.recorded_rows(), after.recorded_rows()
        for part, rows in (("calls", call), ("regions", region), ("locations", location)):
            one, two = (getattr(timeline, part) for timeline in times)
            assert one.enter.tolist() == two.enter[list(rows)].tolist()
            assert one.leave.tolist() == two.leave[list(rows)].tolist()
        assert before.waits.time.tolist() == after.waits.time[call].tolist()
        assert before.weighted.misfit == after.weighted.misfit


@pytest.mark.slow
@pytest.mark.parametrize("name", ["halo", "nested_regions", "master_worker", "all_collectives", "wildcard", "late_receiver"])
def test_hypotheses_compose(name):
    """Several at once are one after the other; zeros unite; what touches different things commutes; twice is squared."""
    trace = build.CATALOGUE[name]()
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    texts = sorted(questions(trace), key=lambda text: parse(text).stage)
    texts = [text for text in texts if not text.startswith("network")]
    for text in texts:
        weighted = parse(text).apply(weighted)
    at_once = predicted(trace, *texts)
    time = sweep(weighted.graph, weighted.weight)
    assert at_once.calls.leave.tolist() == time[weighted.graph.returned].tolist()
    one, two, both = "rank:0", "e1", "rank:0,e1"
    for word in ("zero-wait", "zero-time", "zero-transfer"):
        separate, united = predicted(trace, f"{word} {one}", f"{word} {two}"), predicted(trace, f"{word} {both}")
        assert same(separate, united)
    for pair in (["speed rank:0=2", "speed rank:1=0.3"], ["zero-wait e1", "speed rank:0=2"], ["zero-time e1", "zero-wait all"]):
        assert same(predicted(trace, *pair), predicted(trace, *pair[::-1]))
    assert same(predicted(trace, "speed rank:0=0.5", "speed rank:0=0.5"), predicted(trace, "speed rank:0=0.25"))
    assert same(predicted(trace, "speed rank:0=0.5", "speed rank:0=2"), trace.timeline)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_neutral_hypotheses_change_nothing(trace):
    texts = [
        "speed rank:0=1",
        "network request_overheads=1,progress=in calls",
        "progress in calls",
        *[f"scale {name}=1" for name in trace.names],
    ]
    ask = asking(trace)
    for text in texts:
        assert same(ask.predicted(text), trace.timeline)
    assert same(ask.predicted(*texts), trace.timeline)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_balance_time_conserves_computation(trace):
    """To the ns: the sum over all processes, and outside the region every segment."""
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    before = Segments(weighted).length.sum()
    for text in questions(trace):
        if text.startswith("balance-time"):
            after = Segments(parse(text).apply(weighted))
            assert after.length.sum() == before
            assert (after.length >= 0).all()
            segments = Segments(weighted)
            edges = parse(text).gaps(segments, segments.length)
            assert (edges == after.gaps(after.length)).all()  # also without the length of each segment
            assert (np.add.reduceat(after.length, np.searchsorted(after.gap, np.arange(len(edges)))) == edges).all()


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_balance_time__stretches_balanced_compute_the_same(trace):
    """Up to the ns that remains: every process in every stretch; the whole program, every process."""
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    for text in [question for question in questions(trace) if "balance-time all" in question or "#" not in question]:
        if not text.startswith(("balance-time all", "balance-time between")):
            continue
        segments = Segments(parse(text).apply(weighted))
        chosen = parts(segments, text.partition(" ")[2])
        sums = np.bincount(chosen.group, segments.length[chosen.segment])
        for part in range(int(chosen.part.max()) + 1):
            assert np.ptp(sums[chosen.part == part]) <= 1


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs())
def test_balance_messages_conserves_bytes(trace):
    """To the byte, for each step; who sends, sends the mean, give or take the byte that remains."""
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    for name in trace.names:
        inside = np.zeros(len(trace.messages), bool)
        for row in np.flatnonzero(trace.paths.region[trace.regions.path] == trace.names.index(name)):
            inside |= (trace.messages.send >= trace.regions.first_call[row]) & (trace.messages.send < trace.regions.end_call[row])
        if not inside.any():
            with pytest.raises(UsageError, match=f"^balance-messages {name}: no message is sent in that region$"):
                BalanceMessages(name).apply(weighted)
            continue
        size = BalanceMessages(name).apply(weighted).size
        assert size.sum() == trace.messages.bytes.sum()
        assert (size >= 0).all()
        assert (size == trace.messages.bytes)[~inside].all()


@pytest.mark.slow
@given(st.sampled_from([kind.word for kind in KINDS]), st.text(min_size=1))
def test_parse_gives_back_what_str_says(word, argument):
    h = parse(f"{word} {argument}")
    assert (h.argument, str(h), parse(str(h))) == (argument, f"{word} {argument}", h)


def test_all_routines_of_the_catalogue_are_known():
    """The catalogue holds every kind of collective and of point-to-point call."""
    used = {op for make in build.CATALOGUE.values() for op in make().calls.op.tolist()}
    kinds = {int(operations.KIND[op]) for op in used}
    needed = {
        operations.SEND,
        operations.ISEND,
        operations.RECV,
        operations.IRECV,
        operations.SENDRECV,
        operations.COMPLETE,
        operations.N_TO_N,
        operations.ONE_TO_N,
        operations.N_TO_ONE,
        operations.PREFIX,
    }
    assert needed <= kinds
