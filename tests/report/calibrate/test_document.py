"""What `perwiz calibrate` says of a trace, in full, and its picture."""

import dataclasses
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings

from build import CATALOGUE, Builder, one_of, traces
from perwiz.clock.treatment import treat
from perwiz.loggps.fit.fit import fit
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.report.calibrate.document import document, text, toml
from perwiz.report.calibrate.plot import plot
from perwiz.whatif.predict import predict

TEXT = """\
m.toml: fitted to 40 of 80 messages; the rest is assumed, costs at most those of: LogGOPSim, defaults of its command
  line (simulator.ggo)

pairs  parameter              value  told by  against
all    S_bytes    from 16 to 262144       40        0  larger messages wait for their receiver
all    L_ns                 by size       20        0  latency: what a short message takes beyond both overheads
all    o_s_ns                 200.0       40        0  overhead of sending
all    o_r_ns                 300.0       20        0  overhead of receiving what has arrived

pairs  from bytes    L_ns
all             0  1516.0
all            17   500.0

misfit        0.0 % of a message's way for a typical size, 0.0 % at most
unknown       S_bytes (from 16 to 262144): messages of more than 999 bytes that held their senders may have been sent in
              place: hardly any receiver waited in other calls meanwhile
              progress (always or in calls): no receiver is seen to compute while a message that it had asked for held
              its sender
              gap (none or sending call): no process sends 20 times one message right behind another
assumed       g_ns=0 G_ns_per_byte=0 O_ns_per_byte=0 S_bytes=16 s_bytes=0 request_overheads=1 acknowledge_overheads=2
              gap='none' progress='always'"""
FILE = """\
# Misfit: 0.0 % of a message's way for a typical size, 0.0 % at most.
name = "fitted"
"""
UNKNOWN = """
[[unknown]]
key = "gap"
pairs = ""
ends = ["gap=none", "gap=sending call"]
why = "no process sends 20 times one message right behind another"
"""


@pytest.fixture(scope="module")
def turns():
    """Return the fit to 80 messages in turns, which take 2 us and 1 ns per byte; those of 1000 bytes hold their late receivers."""
    build = Builder(2)
    for turn in range(80):
        now, a, k = 10**6 * (turn + 1), turn % 2, (16, 1000)[turn // 2 % 2]
        late = 10**5 if turn % 8 > 3 else -1000
        begin = max(now, now + late)
        build.send(a, 1 - a, bytes=k, tag=turn, at=(now, now + 200 if k == 16 else begin + 900))
        build.recv(1 - a, a, tag=turn, at=(now + late, begin + (2000 + k if late < 0 else 300)))
    return fit(build.trace())


def test_text(turns):
    assert text(document(turns, "m.toml")) == TEXT


def test_text__collectives_have_a_table_of_their_own():
    found = fit(Builder(2).trace())
    told = (Estimate("MPI_Barrier of 2 processes, from 0 bytes", "", 900.0, 3, 1), Estimate("S_blocking_bytes", "within-node", 64, 5, 0))
    lines = text(document(dataclasses.replace(found, machine=dataclasses.replace(found.machine, estimates=told)), "m.toml")).splitlines()
    assert "within-node  S_blocking_bytes     64        5        0  so do these of blocking sends" in lines
    assert "MPI_Barrier of 2 processes, from 0 bytes  900.0        3        1" in lines


def test_text__a_limit_between_sizes_is_no_number():
    """Three senders of 1000 bytes were held, nothing tells of those of 8 to 999: the limit is anything up to there."""
    found = fit(Builder(2).trace())
    left = Unknown("S_bytes", "", ("S_bytes=8", "S_bytes=999"), "no receiver came late")
    machine = dataclasses.replace(found.machine, estimates=(Estimate("S_bytes", "", 8, 3, 0),), unknown=(left,))
    lines = text(document(dataclasses.replace(found, machine=machine), "m.toml")).splitlines()
    assert "all    S_bytes    from 8 to 999        3        0  larger messages wait for their receiver" in lines
    assert "unknown       S_bytes (from 8 to 999): no receiver came late" in lines


def test_toml__says_beside_each_value_that_nothing_told_it(turns):
    lines = toml(turns).splitlines()
    assert "L_ns = 1516.0" in lines
    assert "g_ns = 0.0                  # not told" in lines
    assert "s_bytes = 0                 # packet size; 0: never split; not told" in lines
    assert 'progress = "always"         # not told, always or in calls' in lines


def test_toml(turns):
    assert toml(turns).startswith(FILE)
    assert toml(turns).endswith(UNKNOWN)


def test_plot__the_same_every_time(turns, tmp_path):
    pictures = [tmp_path / f"{number}.svg" for number in range(2)]
    for picture in pictures:
        plot(turns, str(picture))
    one, other = (picture.read_bytes() for picture in pictures)
    assert one == other
    assert len(one) > 5000


def test_plot__nothing_to_draw(tmp_path):
    plot(fit(Builder(2).trace()), str(tmp_path / "none.png"))
    assert pathlib.Path(tmp_path / "none.png").stat().st_size > 1000


def spanned(trace, question, model=None):
    found = predict(trace, [question], model)
    return found.predicted.makespan, dataclasses.replace(found.span, costs=0)  # errors of the fit are not in the file


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(traces())
def test_toml__law__answers_the_same(tmp_path, trace):
    """What a question starts from by itself, and from the file that `perwiz calibrate` writes of the trace: makespan and span."""
    check_file(trace, tmp_path)


@pytest.mark.parametrize("name", one_of(3, 2))
def test_toml__law__answers_the_same_on_awkward_traces(name, tmp_path):
    check_file(CATALOGUE[name](), tmp_path)


def check_file(trace, folder, question="zero-wait all"):
    if not len(trace.calls):
        return
    path = folder / "m.toml"
    path.write_text(toml(fit(treat(trace, "linear").trace)), encoding="utf-8")
    assert spanned(trace, question) == spanned(trace, question, str(path))


def test_toml__answers_the_same_where_some_contradict_it(tmp_path):
    """All 60 messages of 5000 bytes hold their sender until the receiver comes, but by its clock one comes 50 ns too late."""
    build = Builder(2)
    for turn in range(120):
        now, k = 10**6 * (turn + 1), (64, 5000)[turn % 2]
        left = now + (200 if k == 64 else 10**5 - 50 if turn == 7 else 10**5 + 500)
        build.send(0, 1, bytes=k, tag=turn, at=(now, left))
        build.recv(1, 0, tag=turn, at=(now - 1000 if k == 64 else now + 10**5, now + (900 if k == 64 else 10**5 + 900)))
    trace = build.trace()
    found = predict(trace, ["speed rank:1=2"])
    assert [(doubt.what, doubt.messages, doubt.of) for doubt in found.doubts if doubt.what == "free"] == [("free", 1, 60)]
    check_file(trace, tmp_path, "speed rank:1=2")
