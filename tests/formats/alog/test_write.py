"""ALOG as it is written: whole files and single lines by hand, the rules of the format on random traces, refusals."""

import dataclasses
import gzip
import re

import numpy as np
import pytest
import zstandard

import build
from perwiz.errors import TraceError, UsageError
from perwiz.formats.alog import write as alog_write
from perwiz.formats.alog.format import ALOG
from perwiz.formats.alog.writing import cells
from perwiz.formats.alog.writing import order as kinds
from perwiz.formats.templates import Templates
from perwiz.trace import operations, tables
from perwiz.trace.origin import Origin
from perwiz.trace.table import dtypes
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace


def rows(table, *lines, **fixed):
    """Return a table from one tuple per row; columns named in `fixed` are the same in all rows and left out there."""
    fields = [field for field in dataclasses.fields(table) if field.name not in fixed]
    columns = dict(zip((field.name for field in fields), zip(*lines, strict=True), strict=True)) if lines else {f.name: [] for f in fields}
    columns |= {name: [value] * len(lines) for name, value in fixed.items()}
    return table(**{name: np.array(columns[name], dtype) for name, dtype in dtypes(table).items()})


def communicators(*members):
    """Return communicators from (name, ranks)."""
    first = np.cumsum([0, *(len(ranks) for _, ranks in members)])
    return Communicators(tuple(name for name, _ in members), first, np.array([r for _, ranks in members for r in ranks], "i4"))


def calls(*lines):
    """Return calls from (location, routine, path, peer, tag, comm, root, sent, received); what is left out at the end says nothing."""
    nothing = (-1, -1, -1, -1, -1, 0, 0)
    full = [(location, operations.OP[f"MPI_{name}"], *rest, *nothing[len(rest) :]) for location, name, *rest in lines]
    return rows(tables.Calls, *full)


def messages(*lines):
    """Return messages from (send, send done, receive, receive done, tag, comm, mode, bytes) and how far records are inside calls, or 0."""
    return rows(tables.Messages, *((*line, 0, 0)[:10] for line in lines))


def with_bytes(calls, messages):
    """Return the calls with the bytes of their messages added."""
    sent, received = calls.bytes_sent.copy(), calls.bytes_received.copy()
    np.add.at(sent, messages.send, messages.bytes)
    np.add.at(received, messages.receive_done, messages.bytes)
    return dataclasses.replace(calls, bytes_sent=sent, bytes_received=received)


def trace(times, processes=2, **others):
    """Return a trace with `times` = (enter, leave) in ns per call; tables not named are empty, `spans` those of its calls and regions."""
    given = {"calls": calls(), "regions": tables.Regions.empty(), "messages": tables.Messages.empty()} | others
    given["calls"] = with_bytes(given["calls"], given["messages"])
    region_times = rows(tables.Times, *given.pop("region_times", ()))
    call_times = rows(tables.Times, *times)
    spans = given.pop("spans", None) or [span(given, call_times, region_times, place) for place in range(processes)]
    empty = {
        field.name: tables.__dict__[field.name.capitalize()].empty()
        for field in dataclasses.fields(Trace)
        if field.name.capitalize() in tables.__dict__ and field.name not in ("timeline", "counts", "communicators", "locations")
    }
    others = {
        "path": "by-hand.alog",
        "format": "alog",
        "locations": rows(tables.Locations, *((0, -1, place, 0, -1, 0) for place in range(processes))),
        "communicators": communicators(("world", range(processes))),
        "names": (),
        "parallel": np.zeros(len(given.get("names", ())), bool),
        "timeline": Timeline(call_times, region_times, rows(tables.Times, *spans)),
        "texts": (),
        "nodes": (),
        "counts": Counts(),
        "properties": {},
    }
    return Trace(**(empty | others | given))


def span(given, call_times, region_times, place):
    """Return the first and last instant of a location."""
    inside = [(given["calls"].location == place, call_times), (given["regions"].location == place, region_times)]
    enter = [times.enter[here] for here, times in inside]
    leave = [times.leave[here] for here, times in inside]
    return np.concatenate(enter).min(initial=10**15), np.concatenate(leave).max(initial=0)


@pytest.fixture
def written(tmp_path):
    """Return written(trace), the lines of its file."""

    def lines(trace, timeline=None):
        path = tmp_path / "out.alog"
        ALOG.write(trace, timeline or trace.timeline, str(path))
        text = path.read_bytes().decode("ascii")
        assert text.endswith("\n")
        return text.splitlines()

    return lines


@pytest.fixture
def events(written):
    """Return events(trace), its event lines with routines by name: `Send+` for the begin of a Send, `Send-` for its end."""
    return lambda trace, timeline=None: [named(line) for line in written(trace, timeline) if not header(line)]


def header(line):
    return re.match(r"-\d\d? ", line)


def named(line):
    kind, rest = line.split(" ", 1)
    if 0 < int(kind) <= 2 * len(operations.OPS):
        kind = f"{operations.OPS[(int(kind) - 1) // 2].removeprefix('MPI_')}{'+-'[(int(kind) - 1) % 2]}"
    return f"{kind} {rest}"


def numbered(text):
    """Return the text with routines by number: `Send+` as the begin of a Send."""
    return re.sub(r"\b([A-Z]\w+)([+-])(?=[ +])", lambda m: str(2 * operations.OP[f"MPI_{m[1]}"] + (1 if m[2] == "+" else 2)), text)


PING = trace(
    [(1000, 4500), (6000, 9000), (500, 1000), (1000, 5000), (5000, 9000)],
    names=("main", "loop"),
    parallel=np.array([False, True]),
    paths=rows(tables.Paths, (-1, 0), (0, 1)),
    calls=calls(
        *[(0, "Send", 1, 1, 7, 0), (0, "Barrier", 0, -1, -1, 0)],
        *[(1, "Irecv", -1, -2, -2, 0), (1, "Wait"), (1, "Barrier", -1, -1, -1, 0)],
    ),
    requests=rows(tables.Requests, (2, 3), cancelled=0),
    regions=rows(tables.Regions, (0, 0, -1, 1, 0, 2), (0, 1, 0, 1, 0, 1)),
    region_times=[(0, 10000), (800, 4500)],
    spans=[(0, 10000), (0, 9000)],
    messages=messages((0, 0, 2, 3, 7, 0, 0, 100)),
    collectives=rows(tables.Collectives, (operations.OP["MPI_Barrier"], 0, -1, 0)),
    members=rows(tables.Members, (0, 1, 1), (0, 4, 4)),
)


def test_whole_file(written):
    """Rank 0 sends to rank 1, which has posted a receive from anybody, then both meet."""
    assert "\n".join(written(PING)) + "\n" == numbered(
        """\
-1 0 0 0 0 0 perwiz
-2 0 0 17 0 0
-3 0 0 2 0 0
-4 0 0 1 0 0
-5 0 0 15 0 0
-6 0 0 0 0 0
-7 0 0 0 0 10
-8 0 0 1 0 0
-11 0 0 0 0 0
-9 0 0 9998 0 0 process begins
-13 0 Send+ Send- 0 0 blue:gray3 MPI_Send
-13 0 Irecv+ Irecv- 0 0 SpringGreen:light_gray MPI_Irecv
-13 0 Wait+ Wait- 0 0 red:vlines3 MPI_Wait
-13 0 Barrier+ Barrier- 0 0 yellow:dimple3 MPI_Barrier
-13 0 10000 10001 0 0 white:gray main
-13 0 10002 10003 0 0 wheat:gray loop
-30 0 0 1 0 0 perwiz-ext 1
-31 0 2 0 0 0 world 0-1
-33 0 Send+ Send- 0 0 MPI_Send
-33 0 Irecv+ Irecv- 0 0 MPI_Irecv
-33 0 Wait+ Wait- 0 0 MPI_Wait
-33 0 Barrier+ Barrier- 0 0 MPI_Barrier
-34 0 10002 10003 0 0 PRGN loop
-36 0 0 0 0 0 made_by=measured
10000 0 0 1 0 0
9998 1 0 0 0 0
Irecv+ 1 0 1 0 0.500 @ c=0 p=-2 t=-1 q=0
10002 0 0 1 0 0.800
Send+ 0 0 1 0 1 @ c=0
-101 0 0 1 0 1 7 100 @ c=0 m=0
Irecv- 1 0 2 0 1
Wait+ 1 0 3 0 1
Send- 0 0 2 0 4.500
10003 0 0 1 0 4.500
-102 1 0 0 0 5 7 100 @ c=0 m=0 q=0
Wait- 1 0 4 0 5 @ q=0
Barrier+ 1 0 5 0 5 @ c=0 s=0
Barrier+ 0 0 3 0 6 @ c=0 s=0
Barrier- 0 0 4 0 9
Barrier- 1 0 6 0 9
10001 0 0 1 0 10
"""
    )


def test_empty_trace(written):
    lines = written(trace([], 0, communicators=communicators()))
    assert [line for line in lines if line.split()[0] in {"-2", "-3", "-7"}] == ["-2 0 0 0 0 0", "-3 0 0 0 0 0", "-7 0 0 0 0 1"]
    assert all(map(header, lines))


def test_predicted_timeline(events, written):
    """Twice as fast: the same records at other times; who made it stands in the header."""
    measured = (PING.timeline.calls, PING.timeline.regions, PING.timeline.locations)
    halved = (tables.Times(times.enter // 2, times.leave // 2) for times in measured)
    predicted = Timeline(*halved, origin=Origin("predicted", "", ("zero-wait e3",), True))
    assert events(PING, predicted)[-3:] == ["Barrier- 0 0 4 0 4.500", "Barrier- 1 0 6 0 4.500", "10001 0 0 1 0 5"]
    assert "-36 0 0 0 0 0 made_by=predicted under zero-wait e3" in written(PING, predicted)


@pytest.mark.parametrize(("leave", "sent", "received"), [((1000, 1500), "0.300", "1.300"), ((100, 1050), "0.100", "1")])
def test_messages__recorded_inside_their_calls(events, leave, sent, received):
    """300 behind the entry of the send, 200 before the return of the receive; no farther than calls last that a correction made shorter."""
    made = trace([(0, leave[0]), (1000, leave[1])], 2, calls=calls((0, "Send", -1, 1), (1, "Recv", -1, 0)), messages=PAIR)
    assert [line.split()[:6] for line in events(made) if line.startswith("-10")] == [
        ["-101", "0", "0", "1", "0", sent],
        ["-102", "1", "0", "0", "0", received],
    ]


PAIR = rows(tables.Messages, (0, 0, 1, 1, 5, 0, 0, 8, 300, 200))


def test_requests__of_a_message(events):
    """Two sends posted at once and completed by two calls; the receives are posted one by one and completed by one call."""
    made = trace(
        [(0, 1000), (1000, 2000), (2000, 3000), (0, 1000), (1000, 2000), (2000, 4000)],
        calls=calls((0, "Startall"), (0, "Wait"), (0, "Wait"), (1, "Irecv", -1, 0, 5, 0), (1, "Irecv", -1, 0, 6, 0), (1, "Waitall")),
        requests=rows(tables.Requests, (0, 2), (0, 1), (3, 5), (4, 5), cancelled=0),
        messages=messages((0, 1, 4, 5, 6, 0, 0, 8), (0, 2, 3, 5, 5, 0, 0, 9)),
    )
    assert events(made) == [
        "Startall+ 0 0 1 0 0 @ c=-1 p=-1 t=-2 q=0,1",
        "-101 0 0 1 0 0 6 8 @ c=0 m=0 q=1",
        "-101 0 0 1 0 0 5 9 @ c=0 m=1 q=0",
        "Irecv+ 1 0 1 0 0 @ c=0 p=0 t=5 q=2",
        "Startall- 0 0 2 0 1",
        "Wait+ 0 0 3 0 1",
        "Irecv- 1 0 2 0 1",
        "Irecv+ 1 0 3 0 1 @ c=0 p=0 t=6 q=3",
        "Wait- 0 0 4 0 2 @ q=1",
        "Wait+ 0 0 5 0 2",
        "Irecv- 1 0 4 0 2",
        "Waitall+ 1 0 5 0 2",
        "Wait- 0 0 6 0 3 @ q=0",
        "-102 1 0 0 0 4 6 8 @ c=0 m=0 q=3",
        "-102 1 0 0 0 4 5 9 @ c=0 m=1 q=2",
        "Waitall- 1 0 6 0 4 @ q=2,3",
    ]


@pytest.mark.parametrize(("send_done", "completed_by"), [(1, 1), (-1, -1), (-1, 1), (0, 1)])
def test_requests__of_an_isend(events, send_done, completed_by):
    """The only request of an Isend is that of its message, however it ends."""
    made = trace(
        [(0, 1000), (1000, 2000), (0, 3000)],
        calls=calls((0, "Isend", -1, 1, 5, 0), (0, "Wait"), (1, "Recv", -1, 0, 5, 0)),
        requests=rows(tables.Requests, (0, completed_by), cancelled=0),
        messages=messages((0, send_done, 2, 2, 5, 0, 0, 8)),
    )
    assert [line for line in events(made) if line[:4] in {"-101", "-102"}] == [
        "-101 0 0 1 0 0 5 8 @ c=0 m=0 q=0",
        "-102 1 0 0 0 3 5 8 @ c=0 m=0",
    ]


def test_requests__more_than_a_line_holds(written, events):
    """130 requests: 60 on the line of the call, the rest on lines of their own, before the end event for the completed ones."""
    made = trace(
        [(0, 1000), (1000, 2000)],
        1,
        calls=calls((0, "Startall"), (0, "Waitall")),
        requests=rows(tables.Requests, *[(0, 1)] * 130, cancelled=0),
    )
    listed = [",".join(map(str, range(*part))) for part in ((0, 60), (60, 120), (120, 130))]
    assert events(made) == [
        f"Startall+ 0 0 1 0 0 @ c=-1 q={listed[0]}",
        f"9996 0 0 1 0 0 @ q={listed[1]}",
        f"9996 0 0 1 0 0 @ q={listed[2]}",
        "Startall- 0 0 2 0 1",
        "Waitall+ 0 0 3 0 1",
        f"9997 0 0 4 0 2 @ q={listed[1]}",
        f"9997 0 0 4 0 2 @ q={listed[2]}",
        f"Waitall- 0 0 4 0 2 @ q={listed[0]}",
    ]
    assert [line for line in written(made) if line.startswith("-9 ")] == [
        "-9 0 0 9996 0 0 more requests posted",
        "-9 0 0 9997 0 0 more requests completed",
    ]


@pytest.mark.parametrize(("requests", "lines"), [(0, 2), (1, 2), (60, 2), (61, 3), (120, 3), (121, 4)])
def test_requests__lines_they_take(events, requests, lines):
    made = trace([(0, 1000)], 1, calls=calls((0, "Startall")), requests=rows(tables.Requests, *[(0, -1)] * requests, cancelled=0))
    assert len(events(made)) == lines


def test_widest_line():
    """The longest number in every column, the longest list and the longest text."""
    row = dict.fromkeys(cells.COLUMNS, -(2**31)) | {"time": 2**62, "bytes": 2**31 - 1, "mode": 3, "first": 0, "count": 60, "label": 4}
    row |= {"s": 2**31 - 1, "sb": 2**62, "rb": 2**62}
    templates = alog_write.templates(["x" * 1000], np.full(60, 2**31 - 1, "i4"))
    line = templates.fill(np.array([kinds.BEGIN], "u1"), np.array([[*row.values()]])).tobytes()
    assert line.count(b"\n") == 1
    assert line.endswith(b",2147483647 o=" + b"x" * 100 + b"\n")
    assert 900 < len(line) < 1000


@pytest.mark.parametrize(
    ("name", "mode", "letter"),
    [
        ("Send", 0, ""),
        ("Send", 1, "r"),
        ("Send", 3, "y"),
        ("Ssend", 3, ""),
        ("Ssend", 0, "s"),
        ("Bsend", 2, ""),
        ("Rsend", 2, "b"),
        ("Start", 2, "b"),
    ],
)
def test_mode__only_where_it_differs_from_the_routine(events, name, mode, letter):
    made = trace(
        [(0, 1000), (0, 1000)],
        calls=calls((0, name, -1, 1, 5, 0), (1, "Recv", -1, 0, 5, 0)),
        messages=messages((0, 0, 1, 1, 5, 0, mode, 8)),
    )
    k = f" k={letter}" if letter else ""
    assert events(made)[:2] == [f"{name}+ 0 0 1 0 0 @ c=0{k}", f"-101 0 0 1 0 0 5 8 @ c=0 m=0{k}"]


def test_mode__differs_between_the_messages_of_a_call(events):
    """The call itself says nothing then: the message in the implied mode has no letter."""
    made = trace(
        [(0, 1000), (0, 1000), (1000, 2000)],
        calls=calls((0, "Startall"), (1, "Recv", -1, 0, 5, 0), (1, "Recv", -1, 0, 6, 0)),
        messages=messages((0, 0, 1, 1, 5, 0, 3, 8), (0, 0, 2, 2, 6, 0, 0, 8)),
    )
    assert events(made)[:3] == [
        *("Startall+ 0 0 1 0 0 @ c=-1 p=-1 t=-2", "-101 0 0 1 0 0 5 8 @ c=0 m=0 k=y", "-101 0 0 1 0 0 6 8 @ c=0 m=1"),
    ]


def test_size__of_a_call_where_its_messages_do_not_show_it(events):
    """The receiver has got 6 of the 8 bytes, and the posted receive names its buffer."""
    made = trace(
        [(0, 1000), (0, 1000), (1000, 2000)],
        calls=calls((0, "Send", -1, 1, 5, 0), (1, "Irecv", -1, 0, 5, 0, -1, 0, 16), (1, "Wait", -1, -1, -1, -1, -1, 0, -2)),
        messages=messages((0, 0, 1, 2, 5, 0, 0, 8)),
    )
    assert [line for line in events(made) if "+" in line] == [
        *("Send+ 0 0 1 0 0 @ c=0", "Irecv+ 1 0 1 0 0 @ c=0 p=0 t=5 rb=16", "Wait+ 1 0 3 0 1 @ rb=6"),
    ]


def test_size__beyond_what_viewers_read(events):
    made = trace(
        [(0, 1000), (1000, 2000), (0, 1000), (1000, 2000)],
        calls=calls((0, "Send", -1, 1, 5, 0), (0, "Send", -1, 1, 5, 0), (1, "Recv", -1, 0, 5, 0), (1, "Recv", -1, 0, 5, 0)),
        messages=messages((0, 0, 2, 2, 5, 0, 0, 2**31 - 1), (1, 1, 3, 3, 5, 0, 0, 2**31)),
    )
    assert [line for line in events(made) if line.startswith("-10") or "b=" in line] == [
        "-101 0 0 1 0 0 5 2147483647 @ c=0 m=0",
        "Send+ 0 0 3 0 1 @ c=0 sb=2147483648",
        "-101 0 0 1 0 1 5 2147483647 @ c=0 m=1 b=2147483648",
        "-102 1 0 0 0 1 5 2147483647 @ c=0 m=0",
        "Recv+ 1 0 3 0 1 @ c=0 rb=2147483648",
        "-102 1 0 0 0 2 5 2147483647 @ c=0 m=1 b=2147483648",
    ]


def test_unmatched(events):
    """Each half message has a number of its own; a call that names nobody writes none, a receive from anybody says so."""
    partner = (-1, 1, 5, 0, -1, 3, 4)
    made = trace(
        [(0, 0), (1000, 1000), (2000, 2000), (3000, 3000), (4000, 4000), (5000, 5000), (6000, 6000)],
        1,
        calls=calls(
            *[(0, name, *partner) for name in ("Send", "Isend", "Sendrecv", "Recv", "Wait")],
            *[(0, "Send", -1, -1, 5, 0), (0, "Recv", -1, -2, -2, 0)],
        ),
    )
    assert events(made) == [
        *["Send+ 0 0 1 0 0 @ c=0 rb=4", "-101 0 0 1 0 0 5 3 @ c=0 m=0", "Send- 0 0 2 0 0"],
        *["Isend+ 0 0 3 0 1 @ c=0 rb=4", "-101 0 0 1 0 1 5 3 @ c=0 m=1", "Isend- 0 0 4 0 1"],
        *["Sendrecv+ 0 0 5 0 2 @ c=0 rb=4", "-101 0 0 1 0 2 5 3 @ c=0 m=2", "Sendrecv- 0 0 6 0 2"],
        *["Recv+ 0 0 7 0 3 @ c=0 sb=3", "-102 0 0 1 0 3 5 4 @ c=0 m=3", "Recv- 0 0 8 0 3"],
        *["Wait+ 0 0 9 0 4 @ c=0 t=5 sb=3 rb=4", "Wait- 0 0 10 0 4"],
        *["Send+ 0 0 11 0 5 @ c=0 t=5", "Send- 0 0 12 0 5"],
        *["Recv+ 0 0 13 0 6 @ c=0 p=-2 t=-1", "Recv- 0 0 14 0 6"],
    ]


def test_receive__with_any_tag_from_somebody(events):
    """What was asked for stands with the call, what came with the message."""
    made = trace(
        [(0, 1000), (0, 1000)],
        calls=calls((0, "Send", -1, 1, 5, 0), (1, "Recv", -1, 0, -2, 0)),
        messages=messages((0, 0, 1, 1, 5, 0, 0, 8)),
    )
    assert [line for line in events(made) if line.startswith(("Recv+", "-102"))] == [
        *("Recv+ 1 0 1 0 0 @ c=0 t=-1", "-102 1 0 0 0 1 5 8 @ c=0 m=0"),
    ]


def test_unmatched__of_a_communicator_nobody_knows(events):
    made = events(trace([(0, 0)], 1, calls=calls((0, "Send", -1, 1, 5))))
    assert made == ["Send+ 0 0 1 0 0 @ c=-1", "-101 0 0 1 0 0 5 0 @ c=-1 m=0", "Send- 0 0 2 0 0"]


def test_unmatched__a_started_receive_sends_nothing(events):
    made = trace(
        [(0, 1000), (1000, 2000), (0, 1000)],
        calls=calls((0, "Start", -1, 1, 5, 0), (0, "Wait"), (1, "Send", -1, 0, 5, 0)),
        requests=rows(tables.Requests, (0, 1), cancelled=0),
        messages=messages((2, 2, 0, 1, 5, 0, 0, 8)),
    )
    assert [line for line in events(made) if line.startswith("-10")] == ["-101 1 0 0 0 0 5 8 @ c=0 m=0", "-102 0 0 1 0 2 5 8 @ c=0 m=0 q=0"]


@pytest.mark.parametrize(
    ("peer", "tag", "says"),
    [(7, 5, " p=0 t=5"), (4, -2, " p=1 t=-1"), (-2, 5, " p=-2 t=5"), (7, -1, " p=0"), (-1, -1, ""), (3, 5, " t=5")],
)
def test_probe__names_whom_it_waits_for(events, peer, tag, says):
    """By the rank in the communicator: 7 is rank 0, 4 is rank 1, 3 is none of its members."""
    made = trace([(0, 0)], 1, communicators=communicators(("two", [7, 4])), calls=calls((0, "Probe", -1, peer, tag, 0)))
    assert events(made)[0] == f"Probe+ 0 0 1 0 0 @ c=0{says}"


def test_collectives__root_of_a_communicator_nobody_knows(events):
    made = trace([(0, 0)], 1, communicators=communicators(), calls=calls((0, "Bcast", -1, -1, -1, -1, 0)))
    assert events(made)[0] == "Bcast+ 0 0 1 0 0 @ c=-1"


def test_collectives(events):
    """Roots are ranks of the communicator: world rank 2 is rank 0 of `back`. Numbers count within a communicator."""
    made = trace(
        [(0, 1000), (1000, 2000), (2000, 3000), (3000, 4000), (4000, 5000)],
        3,
        communicators=communicators(("world", [0, 1, 2]), ("back", [2, 1, 0])),
        calls=calls(
            *[(0, "Bcast", -1, -1, -1, 1, 2, 0, 64), (0, "Barrier", -1, -1, -1, 0), (0, "Reduce", -1, -1, -1, 1, 0, 16, 0)],
            *[(0, "Bcast", -1, -1, -1, -1, 1, 7, 0), (0, "Put", -1, -1, -1, 0, -1, 9, 0)],
        ),
        collectives=rows(
            tables.Collectives,
            (operations.OP["MPI_Bcast"], 1, 2, 0),
            (operations.OP["MPI_Barrier"], 0, -1, 1),
            (operations.OP["MPI_Reduce"], 1, 0, 2),
        ),
        members=rows(tables.Members, (0, 0, 0), (1, 1, 1), (2, 2, 2)),
        labels=rows(tables.Labels, (2, 1)),
        texts=("MPI_MAX", "MPI_SUM on\tMPI_INT"),
        spans=[(0, 5000), (0, 0), (0, 0)],
    )
    assert [line for line in events(made) if line[0] in "BRP" and "+" in line] == [
        "Bcast+ 0 0 1 0 0 @ c=1 s=0 r=0 rb=64",
        "Barrier+ 0 0 3 0 1 @ c=0 s=0",
        "Reduce+ 0 0 5 0 2 @ c=1 s=1 r=2 sb=16 o=MPI_SUM_on?MPI_INT",
        "Bcast+ 0 0 7 0 3 @ c=-1 r=1 sb=7",
        "Put+ 0 0 9 0 4 @ c=0 sb=9",
    ]


def regions_of(*lines, call_times=(), **others):
    """Return a trace of one location with region instances from (name, parent, first call, end call, enter, leave)."""
    names = sorted({line[0] for line in lines})
    return trace(
        list(call_times),
        1,
        names=tuple(names),
        parallel=np.zeros(len(names), bool),
        paths=rows(tables.Paths, *((-1, row) for row in range(len(names)))),
        calls=calls(*[(0, "Barrier", -1, -1, -1, 0)] * len(call_times)),
        regions=rows(tables.Regions, *((0, names.index(name), parent, 1, first, end) for name, parent, first, end, *_ in lines)),
        region_times=[line[4:] for line in lines],
        **others,
    )


def order(trace, events):
    """Return the order of events in short: `+a` enters region a, `-a` leaves it, `b` and `B` a Barrier begins and ends."""
    short = {"Barrier+": "b", "Barrier-": "B"}
    kinds = [line.split()[0] for line in events(trace)]
    return " ".join(short.get(kind) or "+-"[int(kind) % 2] + trace.names[(int(kind) - 10000) // 2] for kind in kinds)


def test_regions__between_calls_though_all_times_are_equal(events):
    made = regions_of(("a", -1, 0, 2, 5, 5), ("c", 0, 1, 1, 5, 5), ("d", -1, 2, 2, 5, 5), call_times=[(5, 5), (5, 5)])
    assert order(made, events) == "+a b B +c -c b B -a +d -d"


def test_regions__overlap_beyond_a_call_though_all_times_are_equal(events):
    made = regions_of(("a", -1, 0, 0, 0, 5), ("b", 0, 0, 1, 3, 5), ("a", 1, 0, 1, 5, 5), call_times=[(5, 5)])
    assert order(made, events) == "+a +b -a +a b B -a -b"


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([("a", -1, 0, 9), ("b", 0, 0, 9)], "+a +b -b -a"),
        ([("a", -1, 0, 5), ("b", -1, 5, 9)], "+a -a +b -b"),
        ([("a", -1, 0, 9), ("b", 0, 0, 5), ("c", 0, 5, 9)], "+a +b -b +c -c -a"),
        ([("a", -1, 0, 9), ("b", 0, 0, 5), ("c", 1, 2, 5), ("d", 0, 5, 9), ("e", 3, 5, 7)], "+a +b +c -c -b +d +e -e -d -a"),
        ([("a", -1, 5, 5)], "+a -a"),
        ([("a", -1, 0, 5), ("b", 0, 5, 5), ("c", -1, 5, 5), ("d", -1, 5, 9)], "+a +b -b -a +c -c +d -d"),
        ([("a", -1, 5, 5), ("b", 0, 5, 5), ("c", 1, 5, 5), ("d", 0, 5, 5), ("e", -1, 5, 5)], "+a +b +c -c -b +d -d -a +e -e"),
        ([("a", -1, 0, 5), ("b", 0, 3, 9)], "+a +b -a -b"),
        ([("a", -1, 0, 5), ("b", 0, 5, 9)], "+a +b -a -b"),
        ([("a", -1, 0, 5), ("b", 0, 3, 9), ("a", 1, 5, 8)], "+a +b -a +a -a -b"),
    ],
)
def test_regions__at_equal_times(events, regions, expected):
    """Regions as (name, parent, enter, leave), all before the only call."""
    made = regions_of(*((name, parent, 0, 0, enter, leave) for name, parent, enter, leave in regions), call_times=[(10, 10)])
    assert order(made, events) == f"{expected} b B"


def test_first_and_last_instant(events, written):
    """Only where no other event shows them. A location without events has both."""
    made = trace([(2000, 3000), (0, 5000)], 3, calls=calls((0, "Init"), (1, "Init")), spans=[(1000, 4000), (0, 5000), (6000, 6000)])
    assert [line for line in events(made) if line[0] == "9"] == ["9998 0 0 0 0 1", "9999 0 0 0 0 4", "9998 2 0 0 0 6", "9999 2 0 0 0 6"]
    assert [line for line in written(made) if line.startswith("-9 ")] == ["-9 0 0 9998 0 0 process begins", "-9 0 0 9999 0 0 process ends"]


def test_threads_and_places(written):
    made = trace(
        [(0, 0)],
        locations=rows(tables.Locations, (0, 1, 0, 0, 3, 0), (0, -1, 0, 1, 4, 1), (0, -1, 1, 0, -1, 0), (2, -1, 2, 0, -1, 2)),
        spans=[(1000, 1000), (0, 0), (1000, 1000), (1000, 1000)],
        calls=calls((1, "Init")),
        nodes=("n0", "the second\x01"),
        offsets=rows(tables.Offsets, (1, 326012500, 0.25, 1.2, 3.0)),
        properties={"L": "2 us", "made_by": "somebody", "two words": "a=b"},
    )
    lines = written(made)
    assert [line for line in lines if line[:3] in {"-3 ", "-4 ", "-32", "-35", "-36"}] == [
        "-3 0 0 3 0 0",
        "-4 0 0 2 0 0",
        "-32 0 0 1 0 0 host=the_second? cpu=3 metahost=0",
        "-32 0 1 -1 0 0 cpu=4 metahost=0",
        "-32 2 0 -1 0 0 metahost=2 kind=stream",
        "-35 0 1 0 0 326012.500 off=0.25 drift=1.2 err=3.0",
        "-36 0 0 0 0 0 L=2 us",
        "-36 0 0 0 0 0 made_by=measured",
        "-36 0 0 0 0 0 two words=a=b",
    ]
    assert [named(line) for line in lines if not header(line)][:2] == ["Init+ 0 1 1 0 0", "Init- 0 1 2 0 0"]


def test_links(events, written):
    """A line of the waiting call per link, with the number of the call it waits for; barriers of teams have a number, no communicator."""
    made = build.CATALOGUE["threads"]()
    lines = written(made)
    assert [line for line in lines if line.startswith(("-9 ", "-32 "))] == [
        "-9 0 0 9980 0 0 waits for fork",
        "-9 0 0 9981 0 0 waits for join",
        "-9 0 0 9984 0 0 waits for lock",
        "-9 0 0 9998 0 0 process begins",
        "-32 1 0 -1 0 0 metahost=0 row=1",
        "-32 0 1 -1 0 0 metahost=0 row=2",
    ]
    assert [line for line in events(made) if re.search(r" 1 2 0 |[sl]=2", line)] == [
        "9980 0 1 2 0 0.600 @ l=0",
        "omp_idle- 0 1 2 0 0.600",
        "omp_release+ 0 0 5 0 8.700 @ t=3 l=2",
        "9984 0 1 4 0 8.800 @ l=2",
        "9980 1 1 2 0 13.708 @ l=7",
        "omp_idle- 1 1 2 0 13.708",
    ]
    assert [line for line in events(made) if "barrier+" in line] == [
        "omp_implicit_barrier+ 0 0 7 0 8.800 @ s=0",
        "omp_implicit_barrier+ 0 1 7 0 9.300 @ s=0",
        "omp_implicit_barrier+ 1 0 5 0 14.408 @ s=1",
        "omp_implicit_barrier+ 1 1 3 0 14.608 @ s=1",
    ]


def test_communicators__ranks_in_ranges(written):
    members = ([0, 1, 2, 3, 8, 10, 11], [3], [2, 1, 0], [5, 6, 1, 2])
    made = trace(
        [], 0, communicators=communicators(*((f"comm {row}", ranks) for row, ranks in enumerate(members)), ("none", []), (" ", [7]))
    )
    assert [line for line in written(made) if line.startswith("-31")] == [
        "-31 0 7 0 0 0 comm 0 0-3,8,10-11",
        "-31 0 1 1 0 0 comm 1 3",
        "-31 0 3 2 0 0 comm 2 2,1,0",
        "-31 0 4 3 0 0 comm 3 5-6,1-2",
        "-31 0 0 4 0 0 none -",
        "-31 0 1 5 0 0 unnamed 7",
    ]


def test_communicators__long_lists_in_parts(written):
    ranks = list(range(0, 4000, 2))
    lines = [line for line in written(trace([], 0, communicators=communicators(("even", ranks)))) if line.startswith("-31")]
    parts = [line.split(maxsplit=7) for line in lines]
    assert [(part[1], part[2], part[3], part[6]) for part in parts] == [(str(k), "2000", "0", "even") for k in range(len(parts))]
    assert ",".join(part[7] for part in parts) == ",".join(map(str, ranks))
    assert max(map(len, lines)) < 1000
    assert len(lines) < 12


def test_names__printable_different_and_no_routines(written):
    names = ("a\nb", "a\tb", "SEND", "  ", "MPI_mine", "Größe", "x" * 2000, "unused")
    made = regions_of(*((name, -1, 0, 0, 0, 0) for name in names[:-1]))
    made = dataclasses.replace(made, names=tuple(sorted(names[:-1])) + names[-1:], parallel=np.zeros(8, bool))
    states = [line.split(" ", 6)[6] for line in written(made) if line.startswith("-13")]
    assert states == [
        *("white:gray " + name for name in ("unnamed", "Gr??e", "user_MPI_mine", "user_SEND", "a?b", "a?b_5")),
        f"white:gray {'x' * 880}",
    ]
    assert [operations.find(state.split(" ", 1)[1]) for state in states] == [None] * 7


def unzstd(data):
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


@pytest.mark.parametrize(("suffix", "unpack"), [(".gz", gzip.decompress), (".zst", unzstd)])
def test_packed(tmp_path, suffix, unpack):
    ALOG.write(PING, PING.timeline, str(tmp_path / "plain"))
    ALOG.write(PING, PING.timeline, str(tmp_path / f"packed{suffix}"))
    assert unpack((tmp_path / f"packed{suffix}").read_bytes()) == (tmp_path / "plain").read_bytes()


def random_trace(seed):
    """Return a trace of 4 processes: rounds of messages between random pairs, barriers, and nested regions around them."""
    random = np.random.default_rng(seed)
    clock, call_rows, times, region_rows, region_times = np.zeros(4, "i8"), [], [], [], []
    pairs = [random.permutation(4)[:2].tolist() for _ in range(20)]
    sends, receives = [0] * len(pairs), [0] * len(pairs)
    for place in range(4):
        first = len(call_rows)
        region_rows.append([place, 0, -1, 1, first, 0])
        region_times.append([0, 0])
        outer = len(region_rows) - 1
        for k, (sender, receiver) in enumerate(pairs):
            if place not in (sender, receiver):
                continue
            region_rows.append([place, 1, outer, k + 1, len(call_rows), len(call_rows) + 1])
            enter = clock[place] + random.integers(0, 2)
            leave = enter + random.integers(0, 1500)
            (sends if place == sender else receives)[k] = len(call_rows)
            call_rows.append((place, "Send", -1, receiver, k, 0) if place == sender else (place, "Recv", -1, sender, k, 0))
            times.append((enter, leave))
            region_times.append([enter - random.integers(0, enter - clock[place] + 1), leave])
            clock[place] = leave
        region_rows[outer][5] = len(call_rows)
        region_times[outer][1] = clock[place]
    return trace(
        times,
        4,
        names=("outer", "inner"),
        parallel=np.array([False, True]),
        paths=rows(tables.Paths, (-1, 0), (0, 1)),
        calls=calls(*call_rows),
        regions=rows(tables.Regions, *region_rows),
        region_times=region_times,
        messages=messages(*((s, s, r, r, k, 0, 0, 8 * k) for k, (s, r) in enumerate(zip(sends, receives, strict=True)))),
    )


@pytest.mark.parametrize("seed", range(5))
def test_rules_of_the_format(written, seed):
    made = random_trace(seed)
    lines = written(made)
    heads = [line for line in lines if header(line)]
    assert lines[: len(heads)] == heads, "no header behind an event"
    assert [int(line.split()[0]) for line in heads[:9]] == [-1, -2, -3, -4, -5, -6, -7, -8, -11]
    order = [int(line.split()[0]) for line in heads[9:]]
    assert order == sorted(order, reverse=True)
    assert heads[1] == f"-2 0 0 {len(lines) - len(heads)} 0 0"
    for line in lines:
        assert len(line) < 1000
        assert line == " ".join(line.split())
        assert re.match("-?[0-9]+ ", line)
    check_events([line.split(" ", 6) for line in lines[len(heads) :]], heads)
    assert sum(line.startswith("-101") for line in lines) == sum(line.startswith("-102") for line in lines) == len(made.messages)


def check_events(events, heads):
    """Check that time never runs back, that the states of each process nest, and that messages lie in the calls they belong to."""
    states = {int(line.split()[2]): int(line.split()[3]) for line in heads if line.startswith("-13")}
    assert [float(event[5]) for event in events] == sorted(float(event[5]) for event in events)
    routine = {int(line.split()[2]): line.split()[-1] for line in heads if line.startswith("-33")}
    stacks = {}
    for kind, process, *_ in events:
        stack = stacks.setdefault(process, [])
        if int(kind) in states:
            stack.append(int(kind))
        elif int(kind) > 0:
            assert states[stack.pop()] == int(kind)
        else:
            assert routine[stack[-1]] == {"-101": "MPI_Send", "-102": "MPI_Recv"}[kind]
    assert not any(stacks.values())


def test_some_events_at_a_time(written, monkeypatch):
    made = random_trace(1)
    at_once = written(made)
    monkeypatch.setattr(alog_write, "ROWS_AT_ONCE", 7)
    assert written(made) == at_once


def failing(*_):
    raise RuntimeError("disk on fire")


@pytest.mark.parametrize("name", ["out.alog", "out.alog.gz", "out.alog.zst"])
def test_atomic__leaves_nothing_behind(tmp_path, monkeypatch, name):
    monkeypatch.setattr(Templates, "fill", failing)
    with pytest.raises(RuntimeError, match=r"^disk on fire$"):
        ALOG.write(PING, PING.timeline, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_atomic__leaves_the_file_before_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "out.alog"
    path.write_text("the file before")
    monkeypatch.setattr(Templates, "fill", failing)
    with pytest.raises(RuntimeError):
        ALOG.write(PING, PING.timeline, str(path))
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.alog", "the file before")]


def test_atomic__replaces_the_file_before(tmp_path):
    path = tmp_path / "out.alog"
    path.write_text("the file before")
    ALOG.write(PING, PING.timeline, str(path))
    assert path.read_text().startswith("-1 0 0 0 0 0 perwiz\n")
    assert [file.name for file in tmp_path.iterdir()] == ["out.alog"]


def test_refuses__a_folder_that_is_not_there(tmp_path):
    path = str(tmp_path / "nowhere" / "out.alog")
    with pytest.raises(UsageError) as caught:
        ALOG.write(PING, PING.timeline, path)
    assert str(caught.value) == f"{path}: cannot be written: no such file or directory"


def test_refuses__a_folder(tmp_path):
    (tmp_path / "out.alog").mkdir()
    with pytest.raises(UsageError, match=r"out\.alog: cannot be written: is a directory$"):
        ALOG.write(PING, PING.timeline, str(tmp_path / "out.alog"))
    assert [file.name for file in tmp_path.iterdir()] == ["out.alog"]


def test_refuses__the_timeline_of_another_trace(tmp_path):
    with pytest.raises(TraceError) as caught:
        ALOG.write(PING, random_trace(0).timeline, str(tmp_path / "out.alog"))
    assert str(caught.value) == "by-hand.alog: a timeline of 40 calls, must be of the 5 calls of the trace"
    assert list(tmp_path.iterdir()) == []


def test_timeline__that_begins_before_0_is_moved(events):
    early = dataclasses.replace(PING.timeline, locations=rows(tables.Times, (-1500, 10000), (0, 9000)))
    lines = events(PING, early)
    assert (lines[0], lines[1], lines[-1]) == ("9998 0 0 0 0 0", "10000 0 0 1 0 1.500", "10001 0 0 1 0 11.500")
