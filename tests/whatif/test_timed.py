"""Times of a trace that has none: worked by hand under the factors of SMPI 3.32, and laws."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perwiz
import time_independent as small
from build import Builder
from perwiz.cli import main
from perwiz.errors import INCOMPLETE, TraceError
from perwiz.formats import files
from perwiz.loggps import model_file
from perwiz.report.predict import document
from perwiz.report.predict.text import text as predict_text
from perwiz.whatif.run import replayed
from perwiz.whatif.timed import timed, up_to_records_end

LATENCY = 2.01467 * 20_000
"""ns of a message of at most 257 bytes, envelope counted, over two links of 10 us."""
SMALL = LATENCY + (100 + 16) / 0.812084
LARGE = 11.6436 * 20_000 + (70_000 + 16) / 0.940694
REDUCE = LATENCY + (80 + 16) / 0.812084
BARRIER = 2 * (LATENCY + 16 / 0.812084)


@pytest.fixture
def path(tmp_path):
    """Return the small trace."""
    return small.written(tmp_path)


def test_timed__by_hand(path):
    """A message begins when both its ends are posted; the large one holds its sender, the small ones do not."""
    enter, leave = (column.tolist() for column in (lambda times: (times.enter, times.leave))(perwiz.read(path).timeline.calls))
    first, second = 1000 + SMALL, 4000 + SMALL
    arrived = second + LARGE
    assert leave[1:3] == [1000, 1000]
    assert (enter[3], leave[3]) == (3000, pytest.approx(second, abs=1))
    assert leave[4] == pytest.approx(arrived, abs=1)
    assert leave[11:14] == pytest.approx([first, first, arrived], abs=1)
    assert leave[5] == pytest.approx(arrived + REDUCE, abs=3)
    assert enter[6] == leave[5] + 500
    assert enter[15] == leave[14] + 1500
    assert leave[6] == leave[15] == pytest.approx(enter[15] + BARRIER, abs=5)
    assert str(perwiz.read(path).timeline.origin) == "computed on cluster.xml"


def test_timed__other_traces_stay_as_they_are():
    trace = files.read("traces/srtest.alog")
    assert timed(trace) is trace


def test_timed__the_unchanged_run_is_replayed_exactly(path):
    run = replayed(perwiz.read(path))
    assert run.replay_error == 0
    assert run.weighted.misfit.messages_lowered == 0


def test_predict__another_platform_is_what_it_would_be_timed_on(path, tmp_path):
    """Another network, and another speed, give what the trace read on that platform has."""
    other = small.CLUSTER.replace('lat="10us"', 'lat="30us"').replace('bw="1GBps"', 'bw="100MBps"')
    (tmp_path / "other.xml.txt").write_text(other, encoding="utf-8")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "other.xml").write_text(other, encoding="utf-8")
    predicted = perwiz.predict(perwiz.read(path), f"network {tmp_path}/far/other.xml").predicted
    expected = perwiz.read(f"{path}:{tmp_path}/far/other.xml").timeline
    assert predicted.calls.leave.tolist() == pytest.approx(expected.calls.leave.tolist(), abs=4)


def test_predict__the_late_receiver_pays_the_whole_way(path):
    """Rank 1 computes half as long: what it waits for was posted earlier, so everything but the first message moves."""
    result = perwiz.predict(perwiz.read(path), "speed rank:1=2")
    assert result.recorded.calls.leave[3] - result.predicted.calls.leave[3] == 2000
    assert result.recorded.calls.leave[11] == result.predicted.calls.leave[11]


def test_predict__zero_wait_keeps_the_transfer(path):
    """What a call lets begin itself takes its time though no partner is waited for: the receive was posted at 0, the wait entered later."""
    predicted = perwiz.predict(perwiz.read(path), "zero-wait all").predicted
    assert predicted.calls.leave[11] == pytest.approx(SMALL, abs=1)
    assert predicted.calls.leave[13] == pytest.approx(SMALL + LARGE, abs=2)


@given(st.integers(0, 50_000), st.integers(0, 50_000), st.integers(0, 200_000))
def test_law__sweep_and_simulation_agree(tmp_path_factory, before, between, size):
    ranks = (
        f"0 init\n0 compute {before}\n0 isend 1 1 {size}\n0 compute {between}\n0 irecv 1 2 {size}\n0 waitall\n0 barrier\n",
        f"1 init\n1 compute {between}\n1 send 0 2 {size}\n1 irecv 0 1 {size}\n1 compute {before}\n1 wait 0 1 1\n1 barrier\n",
    )
    trace = perwiz.read(small.written(tmp_path_factory.mktemp("law"), ranks))
    both = [perwiz.predict(trace, "speed rank:0=3", engine=engine).predicted for engine in ("sweep", "replay")]
    assert both[0] == both[1]


def test_model__of_a_platform(tmp_path):
    (tmp_path / "p.xml").write_text(small.CLUSTER, encoding="utf-8")
    model = model_file.load(f"{tmp_path}/p.xml")
    assert (model.name, model.progress, model.gap, model.S) == ("p.xml", "once posted", "none", 65535)
    rows = model.rows_of("between-nodes")
    assert [row.from_bytes for row in rows] == [0, 242, 717, 1411, 3469, 5761, 9361, 15409, 65457]
    assert pytest.approx(1 / 0.812084) == rows[0].G
    assert pytest.approx(LATENCY + 17 * rows[0].G) == rows[0].L
    assert pytest.approx(2.01467 * 1000 + 17 / 2 / 0.812084) == model.rows_of("within-node")[0].L


def test_model__the_window_of_tcp_bounds_the_bandwidth(tmp_path):
    """4 MiB in flight over 2 x 0.2 s are 10.5 MB/s."""
    (tmp_path / "p.xml").write_text(small.CLUSTER.replace('lat="10us"', 'lat="100ms"'), encoding="utf-8")
    assert pytest.approx(1e9 / (4194304 / 0.4) / 0.812084) == model_file.load(f"{tmp_path}/p.xml").costs[0].G


def test_timed__no_longer_than_can_be_added_up(tmp_path):
    """2000 messages of 10 MB, at 1.9 B/s 62 days each, and longer than 292 years in all."""
    ranks = ("0 send 1 1 10000000\n" * 2000, "1 recv 0 1 10000000\n" * 2000)
    index = small.written(tmp_path, ranks, small.CLUSTER.replace('bw="1GBps"', 'bw="2Bps"'))
    with pytest.raises(TraceError) as refused:
        perwiz.read(index)
    assert str(refused.value) == f"{index}: 4.25e+19 ns of messages and computation on cluster.xml, must be less than 2^60"


HALF_DUPLEX = small.CLUSTER.replace('lat="10us"', 'lat="10us" sharing_policy="SHARED"')
"""Nodes whose messages to and fro share a link, which is no interface for each."""


@pytest.mark.parametrize(
    ("platform", "told"),
    [(HALF_DUPLEX, " as if messages shared no link (50% of their time they do)"), (small.CLUSTER, "")],
    ids=["a link", "interfaces"],
)
def test_shared__links_that_several_messages_pass_are_told(platform, told, tmp_path):
    """Two messages of one sender at once: half of their time the link is shared, unless they pass an interface one after the other."""
    ranks = (
        "0 isend 1 1 50000\n0 isend 2 1 50000\n0 waitall\n",
        "1 recv 0 1 50000\n",
        "2 recv 0 1 50000\n",
    )
    origin = perwiz.read(small.written(tmp_path, ranks, platform)).timeline.origin
    assert str(origin) == f"computed on cluster.xml{told}"


@pytest.mark.parametrize(("asked", "said"), [([], ""), (["network G_ns_per_byte=4"], "25.0 %"), (["network L_ns=1000"], "")])
def test_shared__the_first_screen_says_so_of_an_answer(asked, said, tmp_path):
    """Two messages 0.1 ms apart take 72 us each, and pass the same link one after the other; slower, of 200 us each, not."""
    ranks = (
        "0 compute 9000000\n0 isend 1 1 50000\n0 compute 100000\n0 isend 2 1 50000\n0 waitall\n",
        "1 recv 0 1 50000\n",
        "2 recv 0 1 50000\n",
    )
    prediction = perwiz.predict(perwiz.read(small.written(tmp_path, ranks, HALF_DUPLEX)), asked)
    found = document.document(prediction, 5)
    alone = "and slow one another down; here each is as fast as alone, so it takes longer than predicted"
    shown = " ".join(predict_text(found).split())
    assert ("links messages share" in shown) == bool(said)
    assert f"links messages share links for {said} of their time {alone} how sure" in shown or not said


@pytest.fixture
def killed(tmp_path):
    """Return the file of a run of two ranks: records of rank 0 end at 400 us, those of rank 1, which computes on, at 9000 us."""
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "MPI_Init", at=(0, 50_000))
    b.send(0, 1, at=(350_000, 360_000))
    b.compute(0, 40_000)
    b.recv(1, 0, at=(300_000, 370_000))
    b.call(1, "MPI_Comm_rank", at=(8_999_000, 9_000_000))
    path = str(tmp_path / "killed.otf2")
    files.write(b.trace(), path)
    return path


def test_read__up_to_where_records_of_a_rank_end(killed):
    """Questions are about what all have records of; `whole` is what a file holds."""
    trace, whole = perwiz.read(killed), perwiz.read(killed, whole=True)
    assert (len(trace.calls), trace.timeline.makespan) == (4, 400_000)
    assert (len(whole.calls), whole.timeline.makespan) == (5, 9_000_000)
    assert replayed(trace).health().incomplete


def test_up_to_records_end__where_all_end_together():
    """Nothing is behind, so the trace is the one that a store knows more of."""
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "MPI_Init", at=(0, 50))
    trace = b.trace()
    assert up_to_records_end(trace) is trace


def test_read__what_the_commands_ask_about(killed, capsys):
    """Behind 400 us rank 1 computes for 8.6 ms, which a faster rank gains nothing of."""
    assert main(["predict", killed, "--speed", "rank:1=2", "--draws", "0", "--model", "default", "--json"]) == INCOMPLETE
    told = json.loads(capsys.readouterr().out)
    result = perwiz.predict(perwiz.read(killed), [perwiz.Speed("rank:1=2")], "default", draws=0)
    assert (told["recorded_ns"], told["gain_ns"]) == (result.recorded.makespan, result.gain)
    assert result.recorded.makespan == 400_000
