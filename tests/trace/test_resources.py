"""Several things at once."""

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest

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
    monkeypatch.setenv("PERWIZ_THREADS", "8")
    assert [resources.thread_count(rows) for rows in (0, resources.LEAST, 3 * resources.LEAST, 100 * resources.LEAST)] == [1, 1, 3, 8]


class Table:
    """What questions are about."""


def asked(most):
    """Return a function that remembers so many answers, and the questions that it was really asked."""
    seen = []

    @resources.remembered(most)
    def answer(table, *words):
        seen.append(words)
        return list(words)

    return answer, seen


def test_remembered__equal_words_or_the_same_array():
    answer, seen = asked(4)
    table, one, other = Table(), np.zeros(2), np.zeros(2)
    assert answer(table, "a") is answer(table, "a")
    assert answer(table, one)[0] is one
    assert answer(table, other)[0] is other
    assert answer(table, one)[0] is one
    assert answer(Table(), "a") is not answer(table, "a")
    assert len(seen) == 4


def test_remembered__the_last():
    """Of a b a c two are kept, a and c: b is asked anew, and then a is the one that was not asked for longest."""
    answer, seen = asked(2)
    table = Table()
    for word in "abacbca":
        answer(table, word)
    assert "".join(word for (word,) in seen) == "abcba"


def test_remembered__as_long_as_the_table_is_there():
    answer, table, word = resources.remembered(2)(lambda _, word: [word]), Table(), Table()
    answer(table, word)
    gone = weakref.ref(word)
    del word
    gc.collect()
    assert gone() is not None
    del table
    gc.collect()
    assert gone() is None


def test_remembered__what_is_replaced_is_gone_before():
    """Of one answer that is kept nothing is left while the next is found."""
    first, kept = Table(), list[weakref.ref[Table]]()

    @resources.remembered(1)
    def answer(table, word):
        there = [one() is not None for one in kept]
        out = Table()
        kept.append(weakref.ref(out))
        return there, out

    assert [answer(first, word)[0] for word in "aab"] == [[], [], [False]]


def test_remembered__forgotten_of_one_table():
    answer, seen = asked(4)
    one, other = Table(), Table()
    for table in (one, other):
        answer(table, "a")
    answer.forget(one)
    for table in (one, other):
        answer(table, "a")
    assert len(seen) == 3


class Word:
    """A word that tells when two threads have asked for it: a question is known by its hash."""

    def __init__(self):
        self.threads, self.by_both = set(), threading.Event()

    def __hash__(self):
        self.threads.add(threading.get_ident())
        if len(self.threads) == 2:
            self.by_both.set()
        return 1


def test_remembered__one_thread_finds_what_several_ask_at_once():
    table, word, found = Table(), Word(), []

    @resources.remembered(1)
    def answer(_, word):
        found.append(threading.get_ident())
        assert word.by_both.wait(60)
        return []

    one, other = resources.map_threads(lambda _: answer(table, word), range(2), 2)
    assert one is other
    assert len(found) == 1


def test_remembered__asked_anew_after_an_error():
    table, left = Table(), ["first", "second"]

    @resources.remembered(1)
    def answer(_):
        if len(left) == 2:
            raise ValueError(left.pop(0))
        return left[0]

    with pytest.raises(ValueError, match=r"^first$"):
        answer(table)
    assert answer(table) == "second"


def test_thread_count__inside_of_threads_their_share(monkeypatch):
    """Of eight processors each of two threads has four, and each of three inside of those one."""
    monkeypatch.setenv("PERWIZ_THREADS", "8")

    def inner(_):
        return resources.thread_count(100 * resources.LEAST), resources.map_threads(innermost, range(3), 3)

    def innermost(_):
        return resources.thread_count(100 * resources.LEAST)

    assert resources.map_threads(inner, range(2), 2) == [(4, [1, 1, 1])] * 2
    assert resources.thread_count(100 * resources.LEAST) == 8


def test_at_once__in_the_order_of_the_tasks(monkeypatch):
    """Both meet at a barrier if there are rows for two; a single thread takes them in turn."""
    meeting = threading.Barrier(2, timeout=60)
    monkeypatch.setenv("PERWIZ_THREADS", "2")
    assert sorted(resources.at_once((meeting.wait, meeting.wait), 2 * resources.LEAST)) == [0, 1]
    assert resources.at_once((lambda: "a", lambda: "b", threading.get_ident), 5) == ["a", "b", threading.get_ident()]


def test_of_graphs__of_large_ones_one_at_a_time(monkeypatch):
    """Of a graph of 8 million edges a task takes memory of which there is not twice as much: a single thread takes them in turn."""
    monkeypatch.setenv("PERWIZ_THREADS", "2")
    small, large = ((8 << 20) - 1, 8 << 20)
    assert (resources.of_graphs(small), resources.thread_count(resources.of_graphs(small))) == (small, 2)
    assert resources.at_once((threading.get_ident,) * 2, resources.of_graphs(large)) == [threading.get_ident()] * 2
    given = list[str]()
    monkeypatch.setattr(resources, "give_back", lambda rows: given.append(f"{rows} given back"))
    resources.graphs_at_once((partial(given.append, "one"), partial(given.append, "two")), large)
    assert given == [f"{large} given back", "one", f"{large} given back", "two"]
    meeting = threading.Barrier(2, timeout=60)
    assert sorted(resources.graphs_at_once((meeting.wait, meeting.wait), small)) == [0, 1]


def test_graphs_at_once__in_order(monkeypatch):
    """Who asks others does so in this thread, whatever there is to do; of small ones nothing is given back."""
    monkeypatch.setenv("PERWIZ_THREADS", "2")
    given = list[int]()
    monkeypatch.setattr(resources, "give_back", given.append)
    rows = 8 * resources.LEAST
    assert resources.graphs_at_once((threading.get_ident,) * 2, rows, in_order=True) == [threading.get_ident()] * 2
    assert given == [0, 0]
