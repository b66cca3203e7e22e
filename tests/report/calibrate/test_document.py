"""What `perwiz calibrate` says of a trace, in full, and its picture."""

import pathlib

import pytest

from build import Builder
from perwiz.loggps.fit.fit import fit
from perwiz.report.calibrate.document import document, text, toml
from perwiz.report.calibrate.plot import plot

TEXT = """\
m.toml: fitted to 40 of 80 messages

pairs  parameter   value  95 % from  to  told by  against
all    S_bytes        16          -   -       40        0  larger messages wait for their receiver
all    L_ns       1516.0          -   -       20        0  latency: what a short message takes beyond both overheads
all    o_s_ns      200.0          -   -       40        0  overhead of sending
all    o_r_ns      300.0          -   -       20        0  overhead of receiving what has arrived

misfit        0.0 % of a message's way for a typical size, 0.0 % at most
unknown       S_bytes (from S_bytes=262144,inline_bytes=999,progress=in calls to S_bytes=16): messages of more than 999
              bytes that held their senders may have been sent in place: hardly any receiver waited in other calls
              meanwhile
              progress (from progress=in calls to progress=always): no receiver is seen to compute while a message that
              it had asked for held its sender
              g_ns (from gap=sending call to gap=none): no process sends 20 times one message right behind another
assumed       s_bytes, request_overheads, acknowledge_overheads, S_bytes, progress, g_ns
conventions   request_overheads=1 acknowledge_overheads=2 gap='none' progress='always'"""
FILE = """\
# Misfit: 0.0 % of a message's way for a typical size, 0.0 % at most.
name = "fitted"
"""
UNKNOWN = """
[[unknown]]
key = "g_ns"
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
