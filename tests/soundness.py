"""What holds of every trace, whatever it was read from."""

from __future__ import annotations

import numpy as np

from perwiz.trace import operations


def sound(trace):
    """Ids are rows of their tables, calls are in order, what is counted adds up."""
    calls, requests, messages = len(trace.calls), trace.requests, trace.messages
    for ids, least, size in (
        *(
            (trace.calls.location, 0, len(trace.locations)),
            (trace.calls.path, -1, len(trace.paths)),
            (trace.calls.op, 0, len(operations.OPS)),
        ),
        *((trace.calls.comm, -1, len(trace.communicators)), (trace.calls.peer, -2, 1 << 31), (trace.calls.root, -1, 1 << 31)),
        *((requests.posted_by, 0, calls), (requests.completed_by, -1, calls), (messages.send, 0, calls), (messages.receive, 0, calls)),
        *((messages.send_done, -1, calls), (messages.receive_done, 0, calls), (messages.comm, -1, len(trace.communicators))),
        *((trace.regions.path, 0, len(trace.paths)), (trace.regions.first_call, 0, calls + 1), (trace.regions.end_call, 0, calls + 1)),
        *((trace.members.call, 0, calls), (trace.members.done, -1, calls), (trace.locations.node, -1, len(trace.nodes))),
        *((trace.labels.call, 0, calls), (trace.labels.text, 0, len(trace.texts)), (trace.paths.region, 0, len(trace.names))),
    ):
        assert ((ids >= least) & (ids < size)).all()
    assert (messages.bytes >= 0).all()
    assert (trace.calls.bytes_sent >= 0).all()
    completed(trace, requests.posted_by, requests.completed_by)
    completed(trace, messages.send, messages.send_done)
    completed(trace, messages.receive, messages.receive_done)
    assert (trace.regions.parent < np.arange(len(trace.regions))).all()
    for times in (trace.timeline.calls, trace.timeline.regions, trace.timeline.locations):
        assert (times.enter <= times.leave).all()
    counts = trace.counts
    assert counts.sends - counts.unmatched_sends == counts.receives - counts.unmatched_receives == len(messages)


def completed(trace, post, done):
    """What is posted is completed in the same process, if in the same thread behind it; of two threads damaged files tell any times."""
    post, done = post[done >= 0], done[done >= 0]
    location = trace.calls.location
    same = location[post] == location[done]
    assert (done[same] >= post[same]).all()
    assert (trace.locations.process[location[post]] == trace.locations.process[location[done]]).all()
