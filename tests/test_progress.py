"""The line on a terminal: after a second, overwritten, erased; nothing off a terminal."""

from __future__ import annotations

import io

import pytest

from perwiz.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock():
    """Return a clock that is set by hand: clock.now."""

    def read():
        return read.now

    read.now = 0.0
    return read


def test_nothing_in_the_first_second(clock):
    with Progress("reading x", stream := Terminal(), clock) as progress:
        clock.now = 0.99
        progress(5, 10)
    assert stream.getvalue() == ""


def test_nothing_off_a_terminal(clock):
    with Progress("reading x", stream := io.StringIO(), clock) as progress:
        clock.now = 5
        progress(5, 10)
    assert stream.getvalue() == ""


def test_overwritten_and_erased(clock):
    with Progress("reading x", stream := Terminal(), clock) as progress:
        clock.now = 1.0
        progress(3_000_000_000, 12_000_000_000)
        clock.now = 1.1
        progress(4_000_000_000, 12_000_000_000)
        clock.now = 1.3
        progress(99, 0)
    first, second = "25 % of 12.00 GB: reading x", "99 B: reading x"
    assert stream.getvalue() == f"\r{first}\r{second.ljust(len(first))}\r{' ' * len(second)}\r"


def test_one_line_of_the_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "16")
    with Progress("a\nb" + "c" * 90, stream := Terminal(), clock) as progress:
        clock.now = 1.0
        progress(1, 2)
    assert stream.getvalue() == f"\r50 % of 2 B: a\\\r{' ' * 15}\r"


def test_erased_when_something_fails(clock):
    stream = Terminal()

    def fail():
        with Progress("x", stream, clock) as progress:
            clock.now = 1.0
            progress(20, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert stream.getvalue() == f"\r100 % of 10 B: x\r{' ' * 16}\r"


def test_no_standard_error(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress("x", clock=clock) as progress:
        clock.now = 1.0
        progress(1, 2)


def test_amounts_of_what_a_noun_names(clock):
    with Progress("x", stream := Terminal(), clock, noun="step") as progress:
        clock.now = 1.0
        progress(1, 2)
    assert stream.getvalue().startswith("\r50 % of 2 steps: x")
