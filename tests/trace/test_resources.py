"""Several things at once."""

import threading

from perwiz.trace import resources


def test_map_threads__results_in_order_of_the_items():
    assert (
        resources.map_threads(lambda k: k * k, range(20), 1)
        == resources.map_threads(lambda k: k * k, range(20), 4)
        == [k * k for k in range(20)]
    )


def test_map_threads__at_once_if_several():
    """All four meet at a barrier, which a single thread would never pass."""
    meeting = threading.Barrier(4, timeout=60)
    assert sorted(resources.map_threads(lambda _: meeting.wait(), range(4), 4)) == [0, 1, 2, 3]


def test_thread_count__few_rows_are_not_worth_a_thread(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert [resources.thread_count(rows) for rows in (0, resources.LEAST, 3 * resources.LEAST, 100 * resources.LEAST)] == [1, 1, 3, 8]
