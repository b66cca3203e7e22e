"""The pages: what they say, that they load and run nothing, and that hostile names stay text. Plots: test_plot."""

from __future__ import annotations

import functools
import re
from html.parser import HTMLParser

import msgspec
import pytest

from counters import NOON, job
from mails import HOUR, RECORDS, fine, waiting
from perwiz.cli import main
from perwiz.jobs.benchmark import Benchmark
from perwiz.jobs.record import Counts
from perwiz.jobs.store import database, ingest, query, series
from perwiz.jobs.store.query import Cell, Choice, Share, Used
from perwiz.jobs.views import document as report
from perwiz.jobs.views import html, html_parts, table
from perwiz.jobs.views import text as text_report
from perwiz.report.page.html import digest

BENCHMARK = Benchmark("test", {"recv": 1.0, "send": 1.0}, {"send": 100.0})
HOSTILE = "</style><script>hacked()</script><img src=x onerror=hacked()>\"'&\u202e\n\x07"
DAY = 86_400
EMPTY = {"meta", "br"}


class Outline(HTMLParser):
    """The elements of a page; every one must be closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        """Note it."""
        self.tags.add(tag)
        self.attributes += attrs
        self.open += [] if tag in EMPTY else [tag]

    def handle_startendtag(self, tag, attrs):
        """Note it."""
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        """It must be the last that was opened."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Keep what is read."""
        self.text.append(data)


@pytest.fixture
def filled(jobs):
    ingest.ingest(jobs, RECORDS)
    return jobs


def period(link, which="month", **chosen):
    choice = Choice(**chosen)
    return html.period(report.period(link, which, None, choice, BENCHMARK), html.more(link, choice))


def of_job(link, number=0):
    found = query.jobs(link, Choice(), 100)[number]
    return html.of_job(link, found, report.job(link, found, BENCHMARK))


def safe(page):
    """Return the text of a page, after asserting that it is well-formed, loads nothing and runs nothing."""
    found = Outline(page)
    assert found.tags.isdisjoint({"script", "img", "link", "iframe", "object", "a", "form", "base"})
    assert {name for name, _ in found.attributes if name.startswith("on") or name in ("src", "href", "style")} == set()
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'" in page
    assert "url(" not in style
    assert "http" not in re.sub(r'http-equiv="', "", page)
    return " ".join("".join(found.text).split())


def test_month(filled):
    text = safe(period(filled))
    assert "MPI jobs of all machines, all" in text
    for told in (
        "imbalance: 33.7 % of the time is in MPI",
        "Top users",
        "By number of processes",
        "Critical jobs",
        "recv",
        "CPU time per day",
    ):
        assert told in text, told  # 4 * 3600 + 2 * 72 s of 6 * 7200 s: 33.7 %


def test_user(filled):
    text = safe(period(filled, "user", user="anna"))
    assert "MPI jobs of user anna, all" in text
    assert "1 of 3 other users spent a smaller part in MPI; theirs: least 1.0 %, mean 33.7 %, most 50.0 %" in text
    assert "Top users" not in text
    assert ", which is imbalance: perwiz record -o run -- mpiexec -n 2 " in text


def test_no_jobs(filled):
    assert safe(period(filled, user="nobody knows")).endswith("No jobs.")


def test_job__among_others(jobs):
    """Two more of the same program and size: one with less in MPI."""
    ingest.ingest(jobs, [waiting(1, "a"), waiting(2, "a"), fine(3, "b")])
    number = next(k for k, one in enumerate(query.jobs(jobs, Choice(), 9)) if one.mpi == HOUR)
    text = safe(of_job(jobs, number))
    assert (
        "Of 2 other jobs of this program and number of processes 50.0 % have less of their time in MPI, 0.0 % took less CPU time." in text
    )
    assert "In MPI: least 1.0 %, mean 25.5 %, most 50.0 %; this job 50.0 % (arrow)." in text


def test_job__alone(jobs):
    ingest.ingest(jobs, [waiting(1, "a")])
    assert "No other job of this program and number of processes yet." in safe(of_job(jobs))


def test_hostile_names__stay_text(jobs):
    names = dict.fromkeys(("program", "host", "machine", "user", "mpi"), HOSTILE)
    more = {"counters": {HOSTILE: [1.0, 2.0]}, "sizes": {HOSTILE: HOSTILE}}
    made = [waiting(k, "a")._replace(**names, environment={HOSTILE: HOSTILE}, more=more, language="C") for k in range(2)]
    ingest.ingest(jobs, made)
    for page in (of_job(jobs), period(jobs), period(jobs, "user", user=query.jobs(jobs, Choice(), 1)[0].user)):
        text = safe(page)
        assert "<script>hacked()</script>" in text
        assert "\u202e" not in page
        assert "\x07" not in page
        page.encode("utf-8")


def test_steps__days_without_jobs_too(jobs):
    ingest.ingest(jobs, [waiting(k, "a")._replace(began=NOON - k * DAY - 60, ended=NOON - k * DAY) for k in (0, 1, 3)])
    name, found = series.steps(jobs, Choice())
    assert name == "day"
    assert found == [("10-23", 1, 2 * HOUR, HOUR), ("10-24", 0, 0, 0), ("10-25", 1, 2 * HOUR, HOUR), ("10-26", 1, 2 * HOUR, HOUR)]


def test_steps__weeks_begin_on_monday(jobs):
    """NOON is a Monday; 70 days before it is one, too, and the day before that another week."""
    ingest.ingest(jobs, [waiting(k, "a")._replace(began=NOON - k * DAY - 60, ended=NOON - k * DAY) for k in (0, 64, 70, 71)])
    name, found = series.steps(jobs, Choice())
    assert (name, len(found)) == ("week", 12)
    assert [(one.label, one.jobs) for one in found if one.jobs] == [("08-10", 1), ("08-17", 2), ("10-26", 1)]


def test_steps__none(jobs):
    assert series.steps(jobs, Choice()) == ("day", [])


def test_shares__bins_of_five_percent(jobs):
    """Shares 0, 0.05, 0.5, 1 and more than 1, which is a mistake of the record, of other jobs; one more of another size does not count."""
    made = [job(k, all=100.0, inside=inside, size=2, routines={}) for k, inside in enumerate((0.0, 5.0, 50.0, 100.0, 130.0))]
    ingest.ingest(jobs, [*made, job(8, all=100.0, inside=70.0, size=4, routines={}), job(9, all=100.0, inside=20.0, size=2, routines={})])
    own = next(one for one in query.jobs(jobs, Choice(), 9) if one.mpi == 20)
    found = series.shares(jobs, own)
    assert {k: number for k, number in enumerate(found) if number} == {0: 1, 1: 1, 10: 1, 19: 2}
    assert [series.bin_of(share) for share in (0, 0.05, 0.15, 0.5, 1, 1.3)] == [0, 1, 3, 10, 19, 19]


def test_others():
    """Shares of 20, 80 and 50 %, the last as many as one's own, which is not smaller; one without CPU time has none."""
    users = [
        Share("a", 1, 1, 100, 50),
        Share("b", 1, 1, 50, 10),
        Share("c", 1, 1, 50, 40),
        Share("d", 1, 1, 0, 0),
        Share("e", 1, 1, 9, 4.5),
    ]
    assert series.others(users, "a") == (3, 1, 0.2, 0.5, 0.8)
    assert series.others(users, "d") is None
    assert series.others(users[:1], "a") is None
    assert series.others(users, "nobody") is None


def test_classes__gaps_are_shown():
    cells = [
        Cell(language, 0, k, 0, 0, 1, 1, cpu, 0, 0, 0, 0, 0, 0) for language, k, cpu in (("C", 1, 10), ("Fortran", 3, 2000), ("", 3, 1000))
    ]
    languages, found = series.classes(cells)
    assert languages == ["Fortran", "unknown", "C"]
    assert [(name, sorted(sums)) for name, sums in found] == [("10^1 s", ["C"]), ("10^2 s", []), ("10^3 s", ["Fortran", "unknown"])]


@pytest.fixture
def row():
    """Return row(**changes): the row of a routine of 10 s, 1 s of that latency, 3 s transfer and 6 s waiting."""
    (found,) = table.rows([Used("send", 1, Counts(10**6, 10.0, 1, 300 * 2**20, 300 * 2**20))], 1, BENCHMARK)
    return functools.partial(msgspec.structs.replace, found)


def test_row_parts__add_up_to_the_time(row):
    """Latency 1 s and transfer 7 s of 4 s measured: both are drawn half as long."""

    def drawn(**changes):
        return [*table.parts(row(**changes)).parts.values()]

    assert drawn() == [6, 3, 1, 0, 0]
    assert drawn(seconds=4.0, transfer_s=7.0, idle_s=0.0, hidden_s=4.0) == [0, 3.5, 0.5, 0, 0]
    assert drawn(transfer_s=None, idle_s=9.0) == [9, 0, 1, 0, 0]
    assert drawn(idle_s=None) == [0, 0, 0, 10, 0]
    assert drawn(rough=True) == [0, 0, 0, 0, 10]
    assert drawn(seconds=0.0, latency_s=0.0, transfer_s=None, idle_s=0.0) == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (9999, "9999"),
        (10_000, "10 k"),
        (70_300_000, "70.3 M"),
        (2.43e11, "243 G"),
        (4e12, "4 T"),
        (1e17, "1e+17"),
    ],
)
def test_number(value, text):
    assert html_parts.number(value) == text


def test_table__marks_rows_also_without_bold():
    text = html_parts.table(("a", "b"), [("part",), ("x", "1"), ("y", "2")], bold=[False, True])
    assert '<tr class="part"><th scope="rowgroup" class="left" colspan="2">part</th></tr>' in text
    assert '<tr class=bold><th scope="row" class="left">y *</th><td>2</td></tr>' in text
    assert '<th scope="row" class="left">x</th>' in text


@pytest.fixture
def perwiz(tmp_path, capsys):
    """Return perwiz(*words): exit code, output and complaint of `perwiz jobs`."""
    place = str(tmp_path / "jobs.sqlite")
    link = database.open_database(place, write=True)
    ingest.ingest(link, RECORDS)
    link.close()

    def run(action, *words):
        code = main(["jobs", action, *words, "--db", place])
        out, err = (text.replace(str(tmp_path), "DIR") for text in capsys.readouterr())
        return code, out, err

    return run


@pytest.mark.parametrize("words", [("month",), ("user", "anna"), ("month", "--machine", "none such")])
def test_command__writes_the_page_and_says_the_same(perwiz, tmp_path, words):
    plain = perwiz(*words)
    assert perwiz(*words, "--html", str(tmp_path / "a.html")) == plain
    assert plain[0] == 0
    safe((tmp_path / "a.html").read_text(encoding="utf-8"))


def test_command__job(perwiz, tmp_path):
    name = perwiz("top")[1].splitlines()[-1].split()[0]
    assert perwiz("job", name, "--html", str(tmp_path / "a.html"))[0] == 0
    assert f"Job {name}: " in safe((tmp_path / "a.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("words", "title"), [((), "Critical jobs"), (("--all",), "Last jobs"), (("--program", "none"), "No jobs.")])
def test_command__top(perwiz, tmp_path, words, title):
    """The page has the jobs of the text, in their order."""
    code, out, err = perwiz("top", *words)
    assert perwiz("top", *words, "--html", str(tmp_path / "a.html")) == (code, out, err) == (0, out, "")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    names = re.findall(r"^[0-9a-f]{12,}", out, re.MULTILINE)
    assert title in safe(page)
    assert re.findall(r">([0-9a-f]{12,})<", page) == names
    assert bool(names) == (title != "No jobs.")


def test_command__refusals(perwiz, tmp_path):
    code, out, err = perwiz("month", "--html", str(tmp_path / "none" / "a.html"))
    assert (code, out, err) == (2, "", "perwiz: DIR/none/a.html: there is no directory DIR/none, must be in one that exists\n")
    code, out, err = perwiz("month", "--html", str(tmp_path / "jobs.sqlite"))
    assert (code, out) == (2, "")
    assert err == "perwiz: DIR/jobs.sqlite: is read by this command, must be another file\n"


def test_parts__send_has_transfer(jobs):
    """A routine with a bandwidth: 100 MB at 100 MB/s are 1 s of its 10 s, in the page as in the table."""
    ingest.ingest(jobs, [job(1, size=1, all=20.0, inside=10.0, routines={"send": Counts(1, 10.0, 1, 100 * 2**20, 100 * 2**20)})])
    text = safe(of_job(jobs))
    assert "transfer: transfer 1 (1 s, 5.0 %)" in text


@pytest.mark.parametrize(
    ("value", "told"),
    [(0, "0 s"), (5.76e-5, "57.60 us"), (0.46, "460.0 ms"), (93.2, "93.2 s"), (1847.3, "1847 s"), (5400, "1.50 h"), (1e9, "277778 h")],
)
def test_seconds(value, told):
    assert text_report.seconds(value) == told
