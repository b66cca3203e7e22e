"""Numbers as words, names as a terminal may show them, aligned rows."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz import words


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        *((0, "0 ns"), (1, "1 ns"), (999, "999 ns"), (1000, "1.000 us"), (12_346, "12.35 us"), (123_449, "123.4 us")),
        *((999_949, "999.9 us"), (999_950, "1.000 ms"), (9_437_000, "9.437 ms"), (412_568_000, "412.6 ms"), (999_999_999, "1.000 s")),
        *((12_030_000_000, "12.03 s"), (9_999_600_000, "10.00 s"), (1234_600_000_000, "1235 s"), (86_400 * 10**9, "86400 s")),
        *((-1, "-1 ns"), (-9_437_000, "-9.437 ms"), (-999_999, "-1.000 ms")),
    ],
)
def test_duration(ns, text):
    assert words.duration(ns) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (180, "180 B"), (133_816, "133.8 kB"), (999_999, "1.000 MB"), (5 * 10**9, "5.000 GB"), (123_456 * 10**12, "123456 TB")],
)
def test_size(size, text):
    assert words.size(size) == text


@given(st.integers(-(10**16), 10**16))
def test_duration__is_right_to_four_digits(ns):
    value, unit = words.duration(ns).split()
    scale = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    assert abs(float(value) * scale - ns) <= max(abs(ns) / 1990, scale / 1999 if scale > 1 else 0)
    assert 0 <= abs(float(value)) < 1000 or unit == "s"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 3, "33.3 %"), (0, 3, "0.0 %"), (1, 10_000, "<0.1 %"), (1, 2000, "0.1 %"), (3, 3, "100.0 %"), (0, 0, "-"), (5, 0, "-")],
)
def test_percent(part, whole, text):
    assert words.percent(part, whole) == text


def test_several():
    assert [words.several(n, "message") for n in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
    assert words.several(2, "process") == "2 processes"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        *(("solve", "solve"), ("", ""), ("é 漢", "é 漢"), ("a\nb\tc\r", "a\\nb\\tc\\r"), ("\x1b[31mred\x07", "\\x1b[31mred\\x07")),
        *(("\x9b2J", "\\x9b2J"), ("\u202etxt", "\\u202etxt"), ("\udcff", "\\udcff"), ("\u2028", "\\u2028")),
    ],
)
def test_shown__nothing_a_terminal_would_obey(text, safe):
    assert words.shown(text) == safe


def test_shown__leaves_out_the_middle():
    assert words.shown("abcdefghij", 10) == "abcdefghij"
    assert words.shown("abcdefghijk", 10) == "abcd...ijk"


@given(st.text(), st.integers(5, 60))
def test_shown__is_printable_and_short(text, most):
    assert words.shown(text, most).isprintable()
    assert len(words.shown(text, most)) <= most


def test_facts__aligned_and_wrapped():
    lines = words.facts([("source", "word " * 40), ("", "more")])
    assert [line[:14] for line in lines] == ["source        ", " " * 14, " " * 14]
    assert lines[-1] == f"{'':14}more"
    assert max(map(len, lines)) <= 120


def test_table__flush_left_and_right():
    assert words.table(["a", "number"], [["long", "1"], ["b", "22"]]) == ["a     number", "long       1", "b         22"]


def test_table__nothing_behind_the_last_word():
    assert words.table(["a", "b"], [["x", "y"], ["x", ""]], left=(0, 1)) == ["a  b", "x  y", "x"]


HEAD = ["pattern", "call path", "waiting", "gain", "", "change"]
ROW = ["Late Sender", "main/solve/exchange_left_and_right/halo", "1.234 ms", "9.433 ms", "2.3 %", "--zero-wait site:MPI_Recv@main/solve"]


def narrow(columns, head=HEAD, row=ROW, left=(0, 1, 5), **settings):
    """Return the lines of a table of one row."""
    with words.fitted(columns):
        return words.table(head, [row], left, **settings)


def test_table__fits_as_it_is():
    assert narrow(125) == [
        "pattern      call path                                 waiting      gain         change",
        "Late Sender  main/solve/exchange_left_and_right/halo  1.234 ms  9.433 ms  2.3 %  --zero-wait site:MPI_Recv@main/solve",
    ]


def test_table__shortens_a_name_in_the_middle_as_far_as_it_must():
    assert narrow(110)[1] == (
        "Late Sender  main/solve/exch...and_right/halo  1.234 ms  9.433 ms  2.3 %  --zero-wait site:MPI_Recv@main/solve"
    )


def test_table__puts_what_is_to_be_copied_below_its_row():
    assert narrow(90) == [
        "pattern      call path                                 waiting      gain",
        "Late Sender  main/solve/exchange_left_and_right/halo  1.234 ms  9.433 ms  2.3 %",
        "  --zero-wait site:MPI_Recv@main/solve",
    ]


def test_table__a_sentence_below_its_row_is_wrapped():
    row = ["solve.alog", "no such call in the trace, which has 12 of them"]
    assert narrow(30, ["file", "reason"], row, (0, 1)) == [
        "file",
        "solve.alog",
        "  no such call in the trace,",
        "  which has 12 of them",
    ]


def test_table__leaves_columns_out_from_the_right_and_says_so():
    assert narrow(40) == [
        "pattern      call path           waiting",
        "Late Sender  main/so...ht/halo  1.234 ms",
        "  --zero-wait site:MPI_Recv@main/solve",
        "too wide to show: gain",
    ]


def test_table__leaves_spare_columns_out_first():
    assert narrow(40, spare=(2,)) == [
        "pattern      call path              gain",
        "Late Sender  main/so...ht/halo  9.433 ms",
        "  --zero-wait site:MPI_Recv@main/solve",
        "too wide to show: waiting",
    ]


@pytest.mark.parametrize("cell", ["e107107 (rank 1023)", "123456789.123 ms", "MPI_Reduce_scatter_block", "--zero-wait site:MPI_Recv"])
def test_table__never_shortens_a_call_a_number_a_routine_or_an_option(cell):
    assert cell in narrow(20, ["a", "b"], [cell, "1"])[1]


def test_table__a_line_between_rows():
    assert words.table(["a", "b"], ["- one", ["x", "1"], "- two", ["y", "2"]]) == ["a  b", "- one", "x  1", "- two", "y  2"]


def test_wrapped__keeps_options_numbers_and_quotations_whole():
    text = "it is --zero-wait e25 at 12.03 ms and 2.3 % by `perwiz explain`, --move 'e4 before e3' too"
    with words.fitted(20):
        assert words.wrapped(text, 1) == [
            "it is",
            " --zero-wait e25 at",
            " 12.03 ms and 2.3 %",
            " by",
            " `perwiz explain`,",
            " --move 'e4 before e3'",
            " too",
        ]


def test_folded__sentences_only():
    report = f"title {'word ' * 30}\n\n  {'word ' * 30}\nperwiz predict {'x' * 150} --zero-wait e1\n{'y' * 150}"
    lines = words.folded(report).split("\n")
    assert [len(line) for line in lines] == [120, 34, 0, 116, 36, 180, 150]
    assert lines[4].startswith("  word")


def test_paragraphs__sentences_anew_and_examples_as_they_are():
    text = (
        "\none two\nthree\n\nexamples:\n  perwiz domino run.alog --question advance   what moves and what that gains\n  a   b c d e f g\n"
    )
    with words.fitted(40):
        assert words.paragraphs(text) == [
            *("one two three", "", "examples:", "  perwiz domino run.alog --question advance", "      what moves and what that gains"),
            "  a   b c d e f g",
        ]


def test_paragraphs__a_list_goes_on_below_itself():
    with words.fitted(20):
        assert words.paragraphs("list:\n  info   say what a trace is") == ["list:", "  info   say what a", "         trace is"]


@pytest.mark.parametrize(
    ("word", "guess"),
    [
        ("--zero-wiat", "; did you mean --zero-wait?"),
        ("predct", "; did you mean predict?"),
        ("MPI_REC", "; did you mean MPI_Recv?"),
        ("foo", ""),
    ],
)
def test_meant(word, guess):
    assert words.meant(word, ["--zero-wait", "--user", "predict", "MPI_Recv"]) == guess


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "columns"), [(Terminal(), 77), (io.StringIO(), 120), (None, 120)])
def test_width__of_a_terminal_or_fixed(monkeypatch, stream, columns):
    monkeypatch.setenv("COLUMNS", "77")
    assert words.width(stream) == columns


def test_width__not_below_40(monkeypatch):
    monkeypatch.setenv("COLUMNS", "3")
    assert words.width(Terminal()) == 40


@given(
    st.lists(st.lists(st.text("ab é/_", max_size=60), min_size=4, max_size=4), max_size=4),
    st.integers(40, 130),
    st.sets(st.integers(0, 3)),
)
def test_table__fits_whatever_is_in_it(rows, columns, left):
    with words.fitted(columns):
        lines = words.table(["one", "two", "three", "four"], rows, sorted(left | {0}))
    assert max(map(len, lines)) <= max(columns, *(len(row[0]) for row in rows), 0)


def test_rank__of_a_thread():
    assert (words.rank(3, 0), words.rank(3, 2)) == ("3", "3.2")


def test_apart__what_differs_in_the_middle_stays():
    """As `shown`, but for names that would then be the same; of three the two that still are differ further on."""
    near = ["main/step/halo/exchange", "main/step/atoms/exchange"]
    assert words.shown(near[0], 16) == words.shown(near[1], 16)
    assert words.apart([*near, "main", near[0]], 16) == ["mai...halo...nge", "mai...atom...nge", "main", "mai...halo...nge"]
    far = [f"main/{name}/exchange" for name in ("atoms one by one", "atoms two by two", "halo one by one")]
    assert words.apart(far, 16) == ["mai...one ...nge", "mai...two ...nge", "main/ha...change"]


@given(st.lists(st.text("ab/", min_size=0, max_size=40), max_size=6), st.integers(12, 30))
def test_apart__never_the_same_for_two(texts, most):
    found = words.apart(texts, most)
    assert len(set(found)) == len(set(texts))
    assert all(len(name) <= most for name in found)
    assert all(len(text) > most or name == text for text, name in zip(texts, found, strict=True))


def test_table__names_that_differ_in_the_middle():
    rows = [[f"{'long/' * 9}{name}/{'tail/' * 30}", "1"] for name in ("one", "two")]
    assert len(set(words.table(["region", "time"], rows))) == 3


@pytest.mark.parametrize(
    ("count", "said"),
    [((1, 1, 0), "1 process"), ((2, 8, 0), "2 processes, 8 threads"), ((1, 1, 2), "1 process, 2 device streams")],
)
def test_lanes(count, said):
    assert words.lanes(*count) == said


@pytest.mark.parametrize(
    ("threads", "said"), [([0], ""), ([0, 0], ", over all 2 processes"), ([0, 1], ", over all 2 processes and threads")]
)
def test_together(threads, said):
    assert words.together(threads) == said
