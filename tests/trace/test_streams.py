"""Which launch an activity of a stream belongs to, and what waits for it, worked by hand. The host is location 0, streams are 1 and 2."""

import dataclasses

import numpy as np

from perwiz.trace import streams
from perwiz.trace.streams import (
    COPY,
    DEVICE,
    FROM_DEVICE,
    GRAPH,
    KERNEL,
    OF_EVENT,
    OFFLOAD,
    RECORD,
    STREAM,
    STREAM_WAIT,
    TO_DEVICE,
)
from perwiz.trace.tables import LINKS


def columns(rows, defaults, kind):
    """Return the columns of a table; rows say what differs from the defaults."""
    types = {field.name: field.type for field in dataclasses.fields(kind)}
    dtype = {"I4": "i4", "I8": "i8", "U1": "u1", "Mask": "bool"}
    return [np.array([{**defaults, **row}[name] for row in rows], dtype[types[name]]) for name in defaults]


def linked(host, ran):
    """Return the links as (kind, cause, effect) and how many activities are untied; effect and cause are times.

    A routine is a dictionary with `at` = (enter, leave); it is named by when it was entered. An activity is (stream, begin, end) and more;
    the idle time that ends with it is named by -begin, the one that begins behind it by -end.
    """
    defaults = {"call": 0, "process": 0, "location": 0, "enter": 0, "leave": 0, "what": KERNEL, "blocks": False, "queues": True}
    defaults |= dict.fromkeys(("stream", "event", "key", "name"), -1)
    rows = [{**row, "call": row["at"][0], "enter": row["at"][0], "leave": row["at"][1]} for row in host]
    routines = streams.Routines(*columns(rows, defaults, streams.Routines))
    defaults = {"before": 0, "behind": 0, "process": 0, "stream": 1, "begin": 0, "end": 0, "what": KERNEL, "key": -1, "name": -1}
    rows = [{**more, "stream": stream, "begin": begin, "end": end, "before": -begin, "behind": -end} for stream, begin, end, more in ran]
    activities = streams.Activities(*columns(rows, defaults, streams.Activities))
    links, untied = streams.link(routines, activities)
    return sorted(zip([LINKS[kind] for kind in links.kind], links.cause.tolist(), links.effect.tolist(), strict=True)), untied


def call(enter, leave, what=KERNEL, **more):
    """Return a routine."""
    return {"at": (enter, leave), "what": what, **more}


def copy(enter, leave, what, **more):
    """Return a blocking copy."""
    return call(enter, leave, what, blocks=True, queues=False, **more)


def test_kernels__of_the_stream_that_the_launch_names():
    """The later kernel of the two was launched first, on stream 2."""
    host = [call(10, 12, stream=2), call(20, 22, stream=1), call(30, 90, DEVICE, queues=False)]
    ran = [(1, 25, 60, {}), (2, 40, 80, {})]
    links = [("done", -80, 30), ("done", -60, 30), ("launch", 10, -40), ("launch", 20, -25)]
    assert linked(host, ran) == (links, 0)


def test_kernels__never_before_their_launch():
    """A kernel whose launch is not recorded takes none; one that never ran leaves its launch alone."""
    host = [call(10, 12, stream=1), call(20, 22, stream=1), call(50, 51, stream=1)]
    assert linked(host, [(1, 5, 6, {}), (1, 15, 18, {}), (1, 30, 40, {})]) == ([("launch", 10, -15), ("launch", 20, -30)], 1)


def test_kernels__lost():
    """What the first launch began was not recorded: it had ended when all was waited for, or on one stream when a copy was back."""
    for wait, ran in ((call(20, 30, DEVICE), [(1, 45, 50, {}), (2, 5, 8, {})]), (copy(20, 30, FROM_DEVICE), [(1, 45, 50, {})])):
        links, _ = linked([call(10, 12, stream=1), wait, call(40, 42, stream=1)], ran)
        assert [link for link in links if link[0] == "launch"] == [("launch", 40, -45)]


def test_kernels__by_name():
    """Without a stream, the stub tells the kernel: number 7 was launched second and began first."""
    host = [call(10, 12, name=3), call(20, 22, name=7)]
    assert linked(host, [(1, 50, 60, {"name": 3}), (2, 30, 40, {"name": 7})]) == ([("launch", 10, -50), ("launch", 20, -30)], 0)


def test_kernels__by_the_place_of_the_call():
    """What launch and kernel share counts before the name."""
    host = [call(10, 12, name=3, key=1 << 40), call(20, 22, name=3, key=5)]
    ran = [(1, 30, 40, {"name": 3, "key": 5}), (2, 50, 60, {"name": 3, "key": 1 << 40})]
    assert linked(host, ran) == ([("launch", 10, -50), ("launch", 20, -30)], 0)


def test_kernels__without_anything_told():
    """On one stream they are in order; on two nobody knows."""
    host = [call(10, 12), call(20, 22)]
    assert linked(host, [(1, 30, 40, {}), (1, 50, 60, {})]) == ([("launch", 10, -30), ("launch", 20, -50)], 0)
    assert linked(host, [(1, 30, 40, {}), (2, 50, 60, {})]) == ([], 2)


def test_kernels__of_another_process():
    host = [call(10, 12, stream=1), call(10, 12, stream=2, process=1, location=3)]
    ran = [(1, 15, 16, {}), (2, 15, 16, {"process": 1})]
    assert linked(host, ran) == ([("launch", 10, -15), ("launch", 10, -15)], 0)


def test_copies__blocking():
    """What begins inside is what it launched; it returns when that has ended, and behind what is in front of it on the stream."""
    host = [call(10, 12, stream=1), copy(20, 60, FROM_DEVICE)]
    ran = [(1, 15, 40, {}), (1, 41, 50, {"what": FROM_DEVICE})]
    assert linked(host, ran) == ([("done", -50, 20), ("launch", 10, -15), ("launch", 20, -41)], 0)


def test_copies__that_end_later_are_not_waited_for():
    assert linked([copy(20, 60, TO_DEVICE)], [(1, 41, 70, {"what": TO_DEVICE})]) == ([("launch", 20, -41)], 0)


def test_copies__in_the_background():
    """By direction, in order; a blocking one that nothing began in takes none."""
    host = [copy(5, 8, FROM_DEVICE), call(10, 12, TO_DEVICE), call(14, 16, FROM_DEVICE), call(20, 22, COPY)]
    ran = [(1, 30, 40, {"what": FROM_DEVICE}), (1, 50, 60, {"what": FROM_DEVICE}), (2, 30, 40, {"what": TO_DEVICE})]
    assert linked(host, ran) == ([("launch", 10, -30), ("launch", 14, -30), ("launch", 20, -50)], 0)


def test_copies__to_the_device_that_begin_later():
    """The first call had put its data elsewhere and returned; its copy runs inside the second."""
    host = [copy(5, 8, TO_DEVICE), copy(20, 50, TO_DEVICE)]
    ran = [(1, 25, 28, {"what": TO_DEVICE}), (1, 30, 40, {"what": TO_DEVICE})]
    assert linked(host, ran) == ([("done", -40, 20), ("launch", 5, -25), ("launch", 20, -30)], 0)


def test_order__what_would_break_it_is_not_tied():
    """By direction the copy would have been launched behind the kernel that follows it on the stream."""
    host = [call(10, 12, stream=1), call(11, 12, TO_DEVICE), call(30, 32, stream=1)]
    ran = [(1, 15, 20, {}), (1, 33, 34, {}), (1, 40, 50, {"what": TO_DEVICE})]
    assert linked(host, ran) == ([("launch", 10, -15), ("launch", 30, -33)], 1)


def test_offload__region_and_its_copies():
    host = [call(10, 90, OFFLOAD, blocks=True, queues=False)]
    ran = [(1, 20, 60, {}), (2, 15, 18, {"what": TO_DEVICE})]
    links = [("done", -60, 10), ("done", -18, 10), ("launch", 10, -20), ("launch", 10, -15)]
    assert linked(host, ran) == (links, 0)


def test_graphs__all_that_is_left_in_equal_parts():
    """The second graph is launched before the first has begun; the kernel between them has a launch of its own."""
    host = [call(10, 12, GRAPH, stream=1), call(13, 14, stream=1, name=7), call(20, 22, GRAPH, stream=1)]
    ran = [(1, 30, 40, {}), (1, 45, 50, {}), (1, 55, 60, {"name": 7}), (1, 65, 70, {}), (1, 75, 80, {})]
    links = [("launch", 10, -45), ("launch", 10, -30), ("launch", 13, -55), ("launch", 20, -75), ("launch", 20, -65)]
    assert linked(host, ran) == (links, 0)


def test_graphs__of_unequal_parts():
    """Three kernels and a copy of two graphs and a memset that left nothing: the last before each; the first began before all of them."""
    host = [call(10, 12, GRAPH), call(20, 22, GRAPH), call(60, 61, GRAPH, stream=2)]
    ran = [(1, 5, 7, {}), (1, 15, 16, {}), (1, 30, 40, {}), (1, 70, 80, {"what": FROM_DEVICE}), (1, 85, 86, {})]
    links = [("launch", 10, -15), ("launch", 20, -85), ("launch", 20, -70), ("launch", 20, -30)]
    assert linked(host, ran) == (links, 1)


def test_waits__only_for_what_was_launched_before():
    """The second kernel ends in time, but was launched by another thread when the wait had begun."""
    host = [call(10, 12, stream=1), call(20, 70, DEVICE), call(30, 32, stream=1, location=3)]
    assert linked(host, [(1, 15, 40, {}), (1, 41, 60, {})])[0][:1] == [("done", -40, 20)]


def test_waits__behind_what_nobody_launched():
    """The copies in front of the kernel were launched before it, whoever did."""
    host = [call(20, 22, stream=1), call(25, 60, DEVICE)]
    ran = [(1, 30, 35, {"what": FROM_DEVICE}), (1, 36, 40, {"what": FROM_DEVICE}), (1, 41, 50, {})]
    assert linked(host, ran) == ([("done", -50, 25), ("launch", 20, -41)], 2)


def test_waits__once_a_thread():
    """What a thread has waited for it does not wait for again; another thread does."""
    host = [call(10, 12, stream=1), call(20, 50, DEVICE), call(60, 61, DEVICE), call(62, 63, DEVICE, location=3)]
    assert linked(host, [(1, 15, 40, {})])[0][:2] == [("done", -40, 20), ("done", -40, 62)]


def test_waits__for_a_stream():
    """It names stream 2; where it names none, it waited for what ended last; where nothing ran on it, for nothing."""
    ran = [(1, 15, 40, {}), (2, 18, 30, {})]
    launches = [call(10, 12, stream=1), call(13, 14, stream=2)]
    for stream, expected in ((2, [("done", -30, 20)]), (-1, [("done", -40, 20)]), (9, [])):
        found = linked([*launches, call(20, 50, STREAM, stream=stream)], ran)[0]
        assert [link for link in found if link[0] == "done"] == expected


def test_waits__for_an_event():
    """The event was put behind the first kernel of stream 1, and later behind the second."""
    launches = [call(10, 11, stream=1), call(12, 13, RECORD, stream=1, event=77), call(14, 15, stream=1), call(16, 17, stream=2)]
    ran = [(1, 20, 30, {}), (1, 31, 40, {}), (2, 20, 45, {})]
    found = linked([*launches, call(18, 50, OF_EVENT, event=77)], ran)[0]
    assert found[0] == ("done", -30, 18)
    again = [*launches, call(17, 18, RECORD, stream=1, event=77), call(18, 50, OF_EVENT, event=77)]
    assert linked(again, ran)[0][0] == ("done", -40, 18)
    assert linked([*launches, call(18, 50, OF_EVENT, event=78)], ran)[0][0] == ("done", -45, 18)


def test_events__a_stream_waits_for_another():
    """The second kernel of stream 2 begins behind the first of stream 1."""
    host = [
        call(10, 11, stream=1),
        call(12, 13, RECORD, stream=1, event=0),
        call(14, 15, stream=2),
        call(16, 17, STREAM_WAIT, stream=2, event=0),
        call(18, 19, stream=2),
    ]
    ran = [(1, 20, 30, {}), (2, 20, 25, {}), (2, 31, 40, {})]
    assert linked(host, ran)[0][0] == ("event", -30, -31)


def test_default_stream__takes_turns():
    """The copy runs on stream 1: that waits for the kernel launched before on stream 2, and the next kernel there waits for the copy."""
    host = [call(10, 12, stream=2), copy(20, 60, FROM_DEVICE), call(70, 72, stream=2), call(74, 76, stream=2)]
    ran = [(1, 41, 50, {"what": FROM_DEVICE}), (2, 15, 40, {}), (2, 80, 90, {}), (2, 91, 95, {})]
    links, _ = linked(host, ran)
    assert [link for link in links if link[0] == "event"] == [("event", -50, -80), ("event", -40, -41)]


def test_default_stream__not_with_one_that_does_not_wait():
    """The kernel on stream 3 goes on while the copy runs."""
    host = [call(10, 12, stream=2), call(14, 16, stream=3), copy(20, 60, FROM_DEVICE)]
    ran = [(1, 41, 50, {"what": FROM_DEVICE}), (2, 15, 40, {}), (3, 18, 45, {})]
    links, _ = linked(host, ran)
    assert [link for link in links if link[0] == "event"] == [("event", -40, -41)]
