"""Several things at once."""

import threading

from perwiz.trace import threads


def test_each__results_in_order_of_the_items():
    assert threads.each(lambda k: k * k, range(20), 1) == threads.each(lambda k: k * k, range(20), 4) == [k * k for k in range(20)]


def test_each__at_once_if_several():
    """All four meet at a barrier, which a single thread would never pass."""
    meeting = threading.Barrier(4, timeout=60)
    assert sorted(threads.each(lambda _: meeting.wait(), range(4), 4)) == [0, 1, 2, 3]


def test_count__few_rows_are_not_worth_a_thread(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert [threads.count(rows) for rows in (0, threads.LEAST, 3 * threads.LEAST, 100 * threads.LEAST)] == [1, 1, 3, 8]
