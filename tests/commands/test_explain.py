"""The words of reports: what is said of them, that they are used, and that those which are used are explained."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

from perwiz import terms, words
from perwiz.cli import main
from perwiz.patterns.library import BUILT_IN
from perwiz.trace import operations
from perwiz.whatif import hypotheses, ranking
from perwiz.whatif.compare.reasons import REPLAY
from perwiz.whatif.limits import critical

ROOT = pathlib.Path(__file__).resolve().parents[2]
JARGON = (
    *(
        "makespan",
        "lag",
        "misfit",
        "domino path",
        "eager",
        "rendezvous",
        "late sender",
        "late receiver",
        "slack",
        "critical path",
        "replay",
    ),
    *("doubtful", "not modelled", "INCOMPLETE", "imbalance", "serialisation", "transfer", "sigma", "max/mean", "delay cost", "tolerance"),
    *(
        "wildcards",
        "metahosts",
        "zero-wait",
        "zero-time",
        "advance",
        "L_ns",
        "o_s_ns",
        "g_ns",
        "G_ns_per_byte",
        "S_bytes",
        "s_bytes",
        "progress",
    ),
    *("controlled logical clock", "Wait at N x N", "Wait at Barrier", "Late Broadcast", "Early Reduce", "wrong orders", "lower bounds"),
)
"""What reports say that not every reader knows."""


def said():
    """Return all texts that perwiz may print."""
    paths = [path for path in (ROOT / "perwiz").rglob("*.py") if path.name not in ("terms.py", "explain.py")]
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    return "\n".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def explain(capsys, *asked):
    code = main(["explain", *asked])
    return code, *capsys.readouterr()


def test_one(capsys):
    said = "slack  how much later a call may return before the end of the run is later too\n"
    assert explain(capsys, "slack") == (0, said, "")
    assert explain(capsys, "SLACK") == (0, said, "")


def test_several_words_are_one_term_or_several(capsys):
    assert explain(capsys, "late", "sender") == (0, "late sender  a receiver waits, for the sender enters its call later\n", "")
    assert [line.split()[0] for line in explain(capsys, "lag", "slack")[1].splitlines() if line[0] != " "] == ["lag", "slack"]


def test_a_part_of_terms(capsys):
    assert [line[:14].strip() for line in explain(capsys, "late")[1].splitlines()] == [
        "late start",
        *(f"late {who}" for who in ("sender", "receiver", "broadcast", "post", "complete")),
    ]


def test_places_and_words_within_a_term(capsys):
    """A place is explained by what it is a number of; some words of a term find it, as one does."""
    found = [[term.name for term in terms.find(word)] for word in ("rank 0.2", "ranks", "stream 7", "N x N", "0.2")]
    assert found == [["rank"], ["rank"], ["streams"], ["wait at N x N"], []]
    assert explain(capsys, "rank", "0.2")[0] == explain(capsys, "n x n")[0] == 0


def test_letters_as_they_are(capsys):
    assert [terms.find(letter)[0].name for letter in "oOgGsSL"] == [*"oOgGsSL"]
    assert explain(capsys, "g") == (0, "g  gap: the least time between two messages that a process sends\n", "")


def test_all(capsys):
    out = explain(capsys)[1]
    assert [line[:26].strip() for line in out.splitlines() if line[0] != " "] == [term.name for term in terms.TERMS]


def test_no_such_word(capsys):
    guess = "perwiz: explain slck: no word of a report; did you mean slack? perwiz explain lists them\n"
    assert explain(capsys, "slck") == (2, "", guess)
    assert explain(capsys, "g", "slck") == (2, explain(capsys, "g")[1], guess)
    assert explain(capsys, "qqq") == (2, "", "perwiz: explain qqq: no word of a report; perwiz explain lists them\n")


def test_terms_are_what_reports_say():
    """Each is used, and what not every reader knows is one of them as long as a report says so."""
    texts = said()
    used = terms.used(texts)
    assert [term.name for term in terms.TERMS if term not in used] == []
    assert [word for word in JARGON if not terms.find(word)] == []
    assert [word for word in JARGON if not re.search(re.escape(word), texts, re.IGNORECASE)] == []


KINDS = (
    *(kind.word for kind in (*ranking.KINDS, *hypotheses.KINDS)),
    *(*critical.KINDS, REPLAY),
    *(pattern.title for pattern in BUILT_IN),
)


@pytest.mark.parametrize("word", sorted({*KINDS}))
def test_kinds_are_explained(word):
    assert [term.name for term in terms.find(word)], word


@pytest.mark.parametrize("name", [name for name in operations.OPS if not name.startswith(("MPI_", "shmem_"))])
def test_what_is_no_routine_of_a_library_is_explained(name):
    """Names of MPI and OpenSHMEM are in their standards; POSIX has most of its."""
    assert [term.name for term in terms.find(name)] or name in POSIX, name


POSIX = (
    *("pthread_create", "pthread_join", "pthread_mutex_lock"),
    *("pthread_cond_wait", "pthread_cond_signal", "pthread_barrier_wait"),
)


SCREENS = (
    "domino srtest.alog",
    "predict srtest.alog --zero-wait e25",
    "compare srtest.alog srtest.alog --zero-wait e25",
    "compare early_send.log.gz late_send.log.gz",
    "balance srtest.alog",
    "critical srtest.alog",
    "curve srtest.alog",
    "patterns srtest.alog",
)
PLAIN = {
    *(
        "#",
        "at",
        "begin",
        "duration",
        "end",
        "largest",
        "least",
        "length",
        "mean",
        "median",
        "part",
        "place",
        "share",
        "sent: least",
        "time",
        "times",
    ),
    *("metric", "pattern", "rank", "ranks", "routine", "steps", "to", "what", "where", "worst", "call path, on the late side"),
}
"""Headings that need no explanation."""


def said_by(report):
    """Yield what a report calls its facts, and the headings of its tables; those of a column in two runs, such as `first at`, are first."""
    for line in report.splitlines():
        fact, cells = re.match(r"(\S(?:.{0,12}\S)?) {2,}(?=\S)", line), re.split(" {2,}", line.strip())
        heading = len(cells) > 2 and not re.search("[0-9]", line)
        if fact and len(fact[0]) == words.LABEL and not re.search("[0-9*]|MPI_", fact[1]):
            yield fact[1]
        if heading and "--" not in line and cells[0] not in operations.OP:
            yield from (re.sub("(?<=.) (as|at)$", "", cell) for cell in cells)


@pytest.mark.parametrize("line", [pytest.param(line, marks=pytest.mark.slow) if "_send" in line else line for line in SCREENS])
def test_first_screens_are_explained(line, capsys, monkeypatch):
    monkeypatch.chdir(ROOT / "traces")
    main(line.split())
    said = {*said_by(capsys.readouterr().out)} - PLAIN
    assert len(said) > 5
    assert sorted(word for word in said if not terms.find(word)) == []


def test_terms_are_told_apart():
    names = [name for term in terms.TERMS for name in (term.name, *term.also)]
    assert len(names) == len({*names})


def test_used__in_the_order_of_a_report():
    report = "health\nslack 3 ms on the critical path, L_ns=5; lagging o_s_ns=3, --zero-wait e3, a#step"
    assert [term.name for term in terms.used(report)] == ["health", "slack", "critical path", "L", "o"]


def test_documentation__has_the_same_words():
    text = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8")
    rows = [f"| {term.name} | {term.meaning} |" for term in terms.TERMS]
    assert [line for line in text.splitlines() if line.startswith("| ")][1:] == rows


def test_meanings__are_one_line():
    assert [term.name for term in terms.TERMS if len(term.meaning) > words.WIDTH or term.meaning.endswith(".")] == []
