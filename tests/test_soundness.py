"""What holds of every trace, of requests that one thread posts and another one completes."""

import dataclasses

import pytest

from build import Builder, table
from soundness import sound


def over_threads():
    """Return the trace of a thread of rank 0 that posts a receive, which its first thread waits for, a row before."""
    b = Builder(2)
    thread = b.thread(0)
    post = b.irecv(thread, 1, at=(10, 20))
    b.wait(0, post, at=(5, 90))
    b.send(1, thread, at=(30, 40))
    return counted(b.trace())


def counted(trace):
    """Return a trace that counts its only message."""
    return dataclasses.replace(trace, counts=dataclasses.replace(trace.counts, sends=1, receives=1))


def test_sound__completed_by_another_thread():
    trace = over_threads()
    assert trace.calls.location.tolist() == [0, 1, 2]
    assert (trace.messages.receive.tolist(), trace.messages.receive_done.tolist()) == ([2], [0])
    sound(trace)


@pytest.mark.parametrize(("post", "done"), [(2, 1), (0, 1)])
def test_sound__not_completed_by_another_process(post, done):
    trace = over_threads()
    requests = table(type(trace.requests), posted_by=[post], completed_by=[done], cancelled=[0])
    with pytest.raises(AssertionError):
        sound(dataclasses.replace(trace, requests=requests))


def test_sound__not_completed_by_a_call_before_it():
    """The first thread waits before it posts."""
    b = Builder(2)
    b.wait(0, at=(0, 5))
    b.wait(0, b.irecv(0, 1, at=(10, 20)), at=(30, 90))
    b.send(1, 0, at=(40, 50))
    trace = counted(b.trace())
    sound(trace)
    with pytest.raises(AssertionError):
        sound(dataclasses.replace(trace, requests=table(type(trace.requests), posted_by=[1], completed_by=[0], cancelled=[0])))
