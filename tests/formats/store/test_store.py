"""The store: what was written is read, whatever it was; what is no store is refused in one line; and questions go on where others ended."""

import contextlib
import dataclasses
import json
import pathlib
import random
import re
import shutil
import warnings

import numpy as np
import pytest

import build
import perwiz
import samples
from perwiz.commands.files import read
from perwiz.errors import PerwizError, TraceError, UsageError
from perwiz.formats import files
from perwiz.formats.store.columns import sum_of
from perwiz.formats.store.large import read_large
from perwiz.formats.store.store import made_by, write
from perwiz.trace.origin import Origin
from perwiz.whatif import stages
from perwiz.whatif.predict import predict
from perwiz.whatif.run import known, replayed
from perwiz.whatif.sure.noise import noise_of
from perwiz.whatif.wildcards import possible


def same(read, trace, path):
    return build.equal(read, dataclasses.replace(trace, path=str(path), format="perwiz store"))


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_read__what_was_written(name, tmp_path):
    path, trace = tmp_path / "a.perwiz", build.CATALOGUE[name]()
    write(trace, str(path))
    assert same(files.read(str(path)), trace, path)


@pytest.mark.slow
@pytest.mark.parametrize("source", samples.SAMPLES, ids=samples.name_of)
def test_read__samples(source, tmp_path):
    path, trace = tmp_path / "a.perwiz", files.read(str(source))
    write(trace, str(path))
    assert same(files.read(str(path)), trace, path)


def test_write__any_timeline_with_its_origin(tmp_path):
    """Times before 0 and those of a prediction stay as they are, and a store of the name is replaced."""
    path, trace = str(tmp_path / "a.perwiz"), build.ring()
    early = build.Timeline(*(dataclasses.replace(t, enter=t.enter - 5000, leave=t.leave - 5000) for t in times(trace)), Origin("predicted"))
    for timeline in (None, dataclasses.replace(early, origin=Origin("predicted", "so", ("zero-wait e1; e2", "\udc80"), True)), early):
        files.write(trace, path, timeline)
        assert build.equal(files.read(path).timeline, timeline or trace.timeline)
    assert [file.name for file in tmp_path.iterdir()] == ["a.perwiz"]


def times(trace):
    return trace.timeline.calls, trace.timeline.regions, trace.timeline.locations


def test_write__offsets_not_applied(tmp_path):
    path, trace = tmp_path / "a.perwiz", dataclasses.replace(build.ring(), offsets_applied=False)
    write(trace, str(path))
    assert not files.read(str(path)).offsets_applied


def test_write__not_over_another_directory(tmp_path):
    (tmp_path / "a.perwiz").mkdir()
    with pytest.raises(UsageError, match=r"a\.perwiz: no store of perwiz, must be one to be replaced$"):
        files.write(build.ring(), str(tmp_path / "a.perwiz"))


def kept(trace, path, **options):
    """Return a trace read from a store that was made of it, with the stages that questions begin with."""
    stages.keep(trace, str(path), **options)
    return stages.read(str(path))


def loop():
    b = build.Builder(3)
    for step in range(12):
        for rank in range(3):
            b.compute(rank, 5000 + 700 * (rank + step % 3))
            b.sendrecv(rank, (rank + 1) % 3, (rank - 1) % 3, 200_000 if step % 2 else 80)
    return b.trace()


def told(prediction):
    """Return what a prediction says, as far as it is a number or a word."""
    parts = (prediction.machine, prediction.span, prediction.doubts, prediction.health, prediction.held, prediction.replay_error)
    parts += (prediction.matching, prediction.instead and prediction.instead.changes)
    return [repr(part) for part in parts], prediction.predicted.calls.leave.tolist(), prediction.waits_after.time.tolist()


ASKED = [(), ("zero-wait e20",), ("zero-wait all",), ("balance-time all",), ("network L_ns=5",), ("eager 500000",)]


@pytest.mark.parametrize("name", ["loop", "eager_and_rendezvous", "clock_violation_message", "threads", "all_collectives"])
def test_stages__answers_are_the_same(name, tmp_path):
    """Twice in a row: the first answer takes over weights, the second has its own."""
    trace = loop() if name == "loop" else build.CATALOGUE[name]()
    stored = kept(trace, tmp_path / "a.perwiz")
    assert known(stored)
    for asked in (("zero-wait all",), *(each for each in ASKED if name == "loop"), ("zero-wait all",)):
        assert told(predict(stored, asked)) == told(predict(trace, asked)), asked
    other = {"model": "S_bytes=7,L_ns=50", "clock": "none"}
    assert told(predict(stored, "zero-wait all", **other)) == told(predict(trace, "zero-wait all", **other))


@pytest.mark.slow
def test_stages__of_receives_that_may_have_been_wildcards(tmp_path):
    """Those of one place, of many that were looked at."""
    trace = files.read(str(samples.TRACES / "p_m3.alog.gz"))
    stored = kept(trace, tmp_path / "a.perwiz")
    assert known(stored)
    assert possible(trace).place.tolist() == [0] * 15
    assert told(predict(stored, "zero-wait all")) == told(predict(trace, "zero-wait all"))


def test_stages__taken_and_not_made_anew(tmp_path, monkeypatch):
    stored = kept(loop(), tmp_path / "a.perwiz", model="L_ns=40")
    monkeypatch.setattr("perwiz.loggps.fit.fit.fitted", None)
    monkeypatch.setattr("perwiz.whatif.run.build", None)
    run = replayed(stored, "L_ns=40", hypotheses="zero-wait all")
    assert run.machine.model.costs[0].L == 40
    assert noise_of(run) is noise_of(run)
    assert replayed(stored, "L_ns=40", hypotheses="eager 500000").graph is run.graph  # nobody waits who did not: no further edges
    for other in ({"model": None}, {"model": "L_ns=40", "clock": "none"}, {"model": "L_ns=40", "hypotheses": "eager 0"}):
        with pytest.raises(TypeError):
            replayed(stored, **other)
    part = dataclasses.replace(stored, part="iterations 1..2")
    assert known(part) is None


def test_go_on__answers_are_the_same():
    """Nothing is built again for what the graph serves; the run stays as it was."""
    trace = loop()
    run = replayed(trace)
    stages.go_on(trace, run, "clc")
    weight = run.weighted.weight.copy()
    answers = [told(predict(loop(), asked)) for asked in ASKED]
    assert [told(predict(trace, asked, run.machine)) for asked in ASKED] == answers
    assert (run.weighted.weight == weight).all()


@pytest.mark.parametrize("maker", ["0.0.0", f"{perwiz.__version__} 0123456789abcdef"])
def test_stages__of_another_version_or_other_code(maker, tmp_path, capsys):
    """They are left, and said to be."""
    path = tmp_path / "a.perwiz"
    kept(loop(), path)
    assert known(read(str(path)))
    assert capsys.readouterr().err == ""
    marker = json.loads((path / "store.json").read_text())
    (path / "store.json").write_text(json.dumps(marker | {"perwiz": maker}))
    assert known(read(str(path))) is None
    said = "what it keeps beside the trace is of another version of perwiz, and made anew"
    again = f"perwiz convert {path} NEW.perwiz keeps it for the next question"
    assert capsys.readouterr().err == f"perwiz: {path}: {said}; {again}\n"
    write(loop(), str(tmp_path / "alone.perwiz"))
    assert known(read(str(tmp_path / "alone.perwiz"))) is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("other", ["fields", "version", "numbers", "nothing known"])
def test_read__of_an_older_perwiz_that_kept_runs_otherwise(other, large, tmp_path):
    """Who made it, what this is, and the command that makes it anew; not which field it lacks."""
    path, maker = tmp_path / "a b.perwiz", "0.0.9 0123456789abcdef"
    write(dataclasses.replace(loop(), path="my run.otf2"), str(path))
    marker = json.loads((path / "store.json").read_text()) | {"perwiz": maker}
    if other == "fields":
        del marker["trace"]["fields"]["metahosts"]
    else:
        marker |= {"version": {"version": 2}, "numbers": {"numbers": "0123456789abcdef"}}.get(other, {"version": "1", "trace": 7})
    (path / "store.json").write_text(json.dumps(marker))
    again = f"perwiz convert {'TRACE' if other == 'nothing known' else re.escape(chr(39) + 'my run.otf2' + chr(39))} '{path}'"
    said = rf"made by perwiz {maker}, this is {re.escape(made_by())}, which keeps runs otherwise; must be made anew: {again}"
    with pytest.raises(TraceError, match=rf"^{path}/store.json: {said}$"):
        (read_large if large else files.read)(str(path))


def test_keep__a_model_of_its_own(tmp_path):
    with pytest.raises(UsageError, match=r"^--model default: is not kept in a store, must be given with each question$"):
        stages.keep(loop(), str(tmp_path / "a.perwiz"), model="default")


def summed(path, *names):
    """Write the sums of columns anew, as somebody would who means what he wrote."""
    marker = json.loads((path / "store.json").read_text())
    marker["sums"] |= {name: sum_of(np.load(path / name)) for name in names}
    (path / "store.json").write_text(json.dumps(marker))


@pytest.mark.parametrize("file", ["trace.timeline.calls.leave.npy", "stages.run.weighted.weight.npy"])
def test_read__one_byte_that_changed(file, tmp_path):
    """A time, or the weight of an edge, that is another one but still possible: nothing else would tell."""
    path = tmp_path / "a.perwiz"
    stages.keep(loop(), str(path))
    data = bytearray((path / file).read_bytes())
    data[-8] ^= 1
    (path / file).write_bytes(data)
    with pytest.raises(TraceError, match=rf"^{path}/{file}: other content than was written, must be written anew$"):
        replayed(stages.read(str(path)))
    summed(path, file)
    replayed(stages.read(str(path)))


def test_read__checked_once(tmp_path, monkeypatch):
    """Files that passed are not summed up again until one changes; those just written are, as they could change and not tell."""
    path, cache = tmp_path / "a.perwiz", tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    stages.keep(loop(), str(path))
    replayed(stages.read(str(path)))
    assert not cache.exists()
    monkeypatch.setattr("perwiz.formats.store.checked.SETTLED", -3600.0)
    replayed(stages.read(str(path)))
    assert len(list((cache / "perwiz" / "stores").iterdir())) == 1
    with monkeypatch.context() as patch:
        patch.setattr("perwiz.formats.store.columns.sum_of", None)
        patch.setattr("perwiz.whatif.stages.check_graph", None)
        assert replayed(stages.read(str(path))).makespan == replayed(loop()).makespan
    file = path / "trace.timeline.calls.leave.npy"
    data = bytearray(file.read_bytes())
    data[-8] ^= 1
    file.write_bytes(data)
    with pytest.raises(TraceError, match=rf"^{file}: other content than was written, must be written anew$"):
        replayed(stages.read(str(path)))


def test_sum__tells_any_word_from_another():
    """Also of more than one stripe, behind the last whole one, and of two words that change places within it."""
    values = np.arange(3000, dtype="i8")
    sums = {sum_of(values)}
    for more, place in enumerate((0, 511, 512, 2999), start=1):
        other = values.copy()
        other[place] += more
        sums.add(sum_of(other))
    other = values.copy()
    other[[0, 1]] = other[[1, 0]]
    assert len({*sums, sum_of(other), sum_of(values[:-1]), sum_of(values[:0])}) == 8


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("trace.calls.peer", np.full(36, 7, "i8"), "store.json: trace.calls.peer: trace.calls.peer.npy is of int64, must be of int32"),
        ("trace.calls.op", np.full(36, 60000, "u2"), r"calls.op\[0\] is 60000, must be from 0 to \d+"),
        ("trace.messages.send", np.arange(36, dtype="i4")[::-1] + 1, r"messages.send\[0\] is 36, must be from 0 to 35"),
        ("trace.messages.send", np.zeros(35, "i4"), r"Messages: columns of \[35, 36\] rows, all must be equally long"),
        ("trace.calls.location", np.zeros((6, 6), "i4"), r"Calls.location: int32\(6, 6\), must be a column of int32"),
        ("trace.calls.location", np.zeros(36, "O"), "trace.calls.location.npy: of object, must be of little-endian numbers"),
        ("trace.calls.location", np.zeros(36, ">i4"), "trace.calls.location.npy: of >i4, must be of little-endian numbers"),
        (
            "stages.run.weighted.graph.source",
            np.zeros(132, "i4") + 99,
            r"graph: edge 0 is from vertex 99, of kind 0 and cause -1, must come .*",
        ),
        ("stages.run.weighted.graph.start", np.zeros(80, "i4"), "graph.start does not rise from 0 to the .* edges, must, .*"),
        (
            "stages.run.weighted.graph.returned",
            np.full(36, 5, "i4"),
            r"graph.returned\[\d+\] is 5, as one before it, must be a vertex of its own",
        ),
        ("stages.run.weighted.weight", np.zeros(3, "i8"), r"stages: weight of \(3,\), must be of \d+ rows"),
        ("stages.slots.row", np.zeros(79, "i4"), r"stages: slots of another graph"),
        ("stages.noise.stretch", np.full(79, 10**6, "i4"), r"stages.noise.stretch\[0\] is 1000000, must be from -1 to \d+"),
    ],
)
def test_read__refuses(file, values, message, tmp_path):
    path = tmp_path / "a.perwiz"
    stages.keep(loop(), str(path))
    np.save(path / f"{file}.npy", values, allow_pickle=True)
    if values.dtype != "O":
        summed(path, f"{file}.npy")
    with pytest.raises(TraceError, match=rf"^{path}[:/] ?{message}$"):
        replayed(stages.read(str(path)))


def test_read__refuses_choices_of_another_trace(tmp_path):
    path = tmp_path / "a.perwiz"
    stages.keep(build.CATALOGUE["master_worker"](), str(path))
    chosen = np.load(path / "stages.choosing.chosen.npy")
    np.save(path / "stages.choosing.chosen.npy", chosen[::-1])
    summed(path, "stages.choosing.chosen.npy")
    with pytest.raises(TraceError, match=rf"^{path}: stages: choices of another trace$"):
        replayed(stages.read(str(path)))


@pytest.mark.parametrize(
    ("table", "column", "said"),
    [("calls", "location", "e0 returns at -1 ns, .*"), ("regions", "path", "instance 0 of a region ends at -1 ns, .*")],
)
def test_read__times_that_contradict_where_there_is_no_name(table, column, said, tmp_path):
    """A call or region goes by its row where its location or path leads out of the table."""
    path = tmp_path / "a.perwiz"
    write(build.CATALOGUE["nested_regions"](), str(path))
    for file, value in ((f"trace.{table}.{column}.npy", 99), (f"trace.timeline.{table}.leave.npy", -1)):
        np.save(path / file, np.full_like(np.load(path / file), value))
        summed(path, file)
    with pytest.raises(TraceError, match=rf"^{path}: {said}$"):
        files.read(str(path))


@pytest.mark.parametrize("name", ["../a.npy", "/etc/passwd", "a/b.npy", "", 7, None])
def test_read__no_names_outside(name, tmp_path):
    path = tmp_path / "a.perwiz"
    write(loop(), str(path))
    text = (path / "store.json").read_text().replace('"trace.calls.peer.npy"', json.dumps(name))
    (path / "store.json").write_text(text)
    with pytest.raises(TraceError):
        files.read(str(path))


def changed(path, chance):
    """Change, cut or swap one file of a store."""
    file = chance.choice(sorted(path.iterdir()))
    data, how = bytearray(file.read_bytes()), chance.randrange(4)
    if how == 0:
        del data[chance.randrange(len(data)) :]
    elif how == 1:
        file.write_bytes(chance.choice(sorted(path.iterdir())).read_bytes())
        return
    for _ in range(chance.choice((1, 1, 4))):
        if data:
            place = chance.randrange(len(data)) if how == 2 else max(len(data) - 1 - chance.randrange(64), 0)
            data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1 << chance.randrange(8)))
    file.write_bytes(data)


def attacked(whole, folder, seed):
    """Read a store with changes, and ask it something; anything but an answer or a PerwizError is raised."""
    path, chance = folder / f"{seed}.perwiz", random.Random(seed)
    shutil.copytree(whole, path)
    for _ in range(chance.choice((1, 1, 2))):
        changed(path, chance)
    if chance.randrange(2):
        with contextlib.suppress(Exception):  # what numpy raises for a damaged file is not laid down
            summed(path, *(file.name for file in path.glob("*.npy")))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            predict(stages.read(str(path)), chance.choice(("zero-wait all", "balance-time all", ())), draws=20)
    except PerwizError as error:
        refused = str(error)
    else:
        refused = ""
    shutil.rmtree(path)
    assert "\n" not in refused


@pytest.mark.slow
def test_read__changed_files_never_crash(tmp_path):
    whole = pathlib.Path(tmp_path / "whole.perwiz")
    stages.keep(loop(), str(whole))
    for seed in range(50):
        attacked(whole, tmp_path, seed)
