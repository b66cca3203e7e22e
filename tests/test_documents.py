"""README and docs: what they show is what is printed, where they point is something, and what they name is on the command line."""

from __future__ import annotations

import functools
import itertools
import pathlib
import re
import shlex

import pytest

import perwiz
from perwiz.cli import main
from perwiz.commands import COMMANDS, parser
from perwiz.errors import DONE, INCOMPLETE, MISSED, UsageError
from perwiz.whatif.hypotheses import KINDS

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
QUESTIONS = sorted((DOCS / "questions").glob("*.md"))
USERS = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
"""What a user reads."""
PAGES = [*USERS, ROOT / "CONTRIBUTING.md", ROOT / "traces" / "README.md", ROOT / "scripts" / "casestudies" / "README.md"]
LONGEST = 140
SHOWN = re.compile(r"^\$ perwiz (.*)\n(?:(?!```|\$ perwiz ).*\n)*", re.MULTILINE)
"""A command line, and what it prints."""
BEHIND = "\nmodel "
"""From here on reports end all alike: of a block that ends with `...` they are not shown."""
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`[^`]+`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SECTIONS = ("**Symptom.**", "**Ask.**", "**Read it.**", "**Then.**", "**What it cannot say.**")


def each(pages):
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.relative_to(ROOT).as_posix())


def read(page):
    return page.read_text(encoding="utf-8")


def prose(page):
    """Return the text of a page without its blocks of code."""
    return FENCED.sub("", read(page))


def links(page):
    """Return the relative links of a page: (file, anchor)."""
    targets = LINK.findall(QUOTED.sub("", prose(page)))
    parts = (target.partition("#") for target in targets if "://" not in target)
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


@functools.cache
def anchors(page):
    """Return the anchors that headings of a page get."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@functools.cache
def options(command):
    """Return the options of a command, those of its actions among them."""
    found, parsers = set(), [parser.of(command)]
    for action in itertools.chain.from_iterable(one.actions() for one in parsers):
        found |= {*action.option_strings}
        parsers += action.choices.values() if isinstance(action.choices, dict) else []
    return found


def refusal(command, *words):
    """Return why a command line is refused, or nothing."""
    try:
        parser.of(command).parse_args([word for word in words if word != "..."])
    except UsageError as error:
        return str(error)
    except SystemExit:  # --help
        return ""
    return ""


@pytest.mark.slow
@each([page for page in USERS if SHOWN.search(read(page))])
def test_blocks__show_what_is_printed(page, request, monkeypatch, capsys, tmp_path):
    """`--regold` rewrites them."""
    for folder in ("traces", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)

    def run(shown):
        code = main(shlex.split(shown[1]))
        out, err = capsys.readouterr()
        missed = "is missed" in out
        assert (code, err.count("\n")) == (MISSED if missed else INCOMPLETE if "INCOMPLETE" in out else DONE, missed)
        if shown[0].endswith("\n...\n"):
            out = f"{out.partition(BEHIND)[0]}\n...\n"
        return f"$ perwiz {shown[1]}\n{out}"

    text = SHOWN.sub(run, read(page))
    if request.config.getoption("--regold"):
        page.write_text(text, encoding="utf-8")
    assert read(page) == text


@each(PAGES)
def test_links__lead_somewhere(page):
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"


def test_pages__are_found_from_the_readme():
    found = [ROOT / "README.md"]
    for page in found:
        found += [target for target, _ in links(page) if target.suffix == ".md" and target not in found]
    assert set(USERS) - set(found) == set()


@each(PAGES)
def test_prose__fits_a_window(page):
    assert [line for line in prose(page).splitlines() if len(line) > LONGEST and not line.startswith("|")] == []


@each(USERS)
def test_command_lines__are_understood(page):
    text = re.sub(r"\\\n +", "", read(page))
    lines = re.findall(r"(?:`|^ {4}|^(?:\$ )?)perwiz ((?!help)[a-z]+\b[^`\n|>]*)", text, re.MULTILINE)
    asked = (re.split(r" {3,}", line)[0] for line in lines if line.split()[0] in COMMANDS)
    refused = {line: refusal(*shlex.split(line, comments=True)) for line in asked}
    shortened = re.compile(r"|.*are required.*|.*expected one argument.*|.*invalid choice: '[A-Z]+'.*")
    assert {line: why for line, why in refused.items() if not shortened.fullmatch(why)} == {}


@each(USERS)
def test_quoted_commands_and_options__exist(page):
    quoted = [text.strip("`") for text in QUOTED.findall(prose(page))]
    assert [text for text in quoted if re.match(r"perwiz [a-z]", text) and text.split()[1] not in (*COMMANDS, "help")] == []
    known = {"--fast", "--regold", "--kind", *(option for command in COMMANDS for option in options(command))}
    assert [text for text in quoted if re.match(r"--[a-z]", text) and re.split(r"[ =]", text)[0] not in known] == []


def test_readme__lists_all_commands():
    table = read(ROOT / "README.md").partition("## Commands\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `perwiz (\w+)", table, re.MULTILINE) == list(COMMANDS)


def test_readme__lists_the_python_api():
    table = read(ROOT / "README.md").partition("| name | what it is |\n")[2].partition("\n\n")[0]
    names = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(names) == sorted(perwiz.__all__)


def test_hypotheses__are_all_told():
    rows = re.findall(r"^\| `--([\w-]+) ", read(DOCS / "hypotheses.md"), re.MULTILINE)
    assert rows == [kind.word for kind in KINDS]


def test_questions__are_in_the_index():
    listed = [target for target, _ in links(DOCS / "questions" / "README.md") if target.parent == DOCS / "questions"]
    assert sorted({*listed}) == [page for page in QUESTIONS if page.name != "README.md"]


@each([page for page in QUESTIONS if page.name != "README.md"])
def test_questions__are_answered_the_same_way(page):
    text = read(page)
    assert re.match(r"# .*\?\n", text)
    assert re.findall(r"^\*\*[A-Z][^*]*\.\*\*", text, re.MULTILINE) == list(SECTIONS)
    assert SHOWN.search(text)


def test_readme__installs_what_its_examples_need():
    text = read(ROOT / "README.md")
    archives = {path.parent.name for path in (ROOT / "traces").glob("*/*.otf2")}
    assert any(f"traces/{name}" in text for name in archives) == ("'.[otf2]'" in text.partition("```sh\n")[2].partition("\n")[0])
