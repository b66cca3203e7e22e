"""Writes the manual pages of perwiz, its commands and their actions into a folder, from their parsers: `python docs/man/pages.py FOLDER`.

meson.build runs it when perwiz is built; with --list it prints the names of the pages.
"""

from __future__ import annotations

import pathlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from argparse_manpage.manpage import Manpage

from perwiz import __version__, words
from perwiz.commands import COMMANDS, parser

_WORD = re.compile(r"^\.(?!(?:TH|SH|B|BR|I|TP|PP|EX|EE|ad)\b)")
WIDTH = 78
"""Columns of a line of the source; who reads the page sees lines as wide as the terminal."""
FILES = """
.TP
.I ~/.cache/perwiz
recorders that were compiled when first used, and which stores were checked; in
.B XDG_CACHE_HOME
if that is set
"""
VARIABLES = {
    "PERWIZ_THREADS": "how many threads and processes to use at most",
    "PERWIZ_RECORDERS": "prefixes that recorders built ahead of time are looked for in, joined by colons",
    "PERWIZ_MPICC": "the compiler wrapper of the MPI to record with",
    "PERWIZ_JOBS": "the database of perwiz jobs",
    "NO_COLOR": "no colours on a terminal",
}
HEADINGS = {"examples:": "EXAMPLES", "start here:": "EXAMPLES", "commands:": "COMMANDS"}
"""Lines of a help below which a part of the page begins."""


def pages() -> dict[str, parser.Parser]:
    """Return the parser of each page by its name: of perwiz, of each command, and of each action of a command."""
    out = {"perwiz": parser.overview()}
    for name in COMMANDS:
        out[f"perwiz-{name}"] = parser.of(name)
        out |= {f"perwiz-{name}-{action}": of for action, of in _actions(out[f"perwiz-{name}"]).items()}
    return out


def _actions(source: parser.Parser) -> dict[str, parser.Parser]:
    return next((action.choices for action in source.actions() if isinstance(action.choices, dict)), {})


def page(name: str, source: parser.Parser, others: Iterable[str]) -> str:
    """Return the source of a page. `others` are those that it names at its end."""
    epilog, source.epilog = source.epilog or "", None
    synopsis = _synopsis(source)
    _actions(source).clear()  # each has a page of its own
    about = (source.description or "").rstrip(".")
    out = Manpage(source, {"project_name": "perwiz", "version": __version__, "manual_title": "perwiz", "description": about})
    out.prog = name
    out.add_section("synopsis", "=", synopsis)
    for heading, text in _parts(epilog, "NOTES"):
        if text.strip(".PEX\n"):
            out.add_section(heading, ">", text)
    if codes := " ".join(epilog.partition("exit codes:")[2].split()):
        out.add_section("exit status", "=", "\n".join(map(_plain, textwrap.wrap(codes, WIDTH, break_on_hyphens=False))))
    if name == "perwiz":
        out.add_section("environment", "=", _tagged(VARIABLES))
        out.add_section("files", "=", FILES.strip())
    out.add_section("see also", "=", ",\n".join(f".BR {_plain(other)} (1)" for other in others))
    return _tidy(str(out))


def near(name: str, all_: Iterable[str]) -> list[str]:
    """Return the pages that one names at its end: the one above, and those right below."""
    above = [name.rpartition("-")[0]] if "-" in name else []
    return above + [other for other in all_ if other.rpartition("-")[0] == name]


def _synopsis(source: parser.Parser) -> str:
    """Return the usage, lines broken between options, the command in bold."""
    usage = " ".join(source.format_usage().partition(":")[2].split()).removeprefix(source.prog).strip()
    lines = textwrap.wrap(usage, WIDTH - 8, break_on_hyphens=False, break_long_words=False)
    return "\n".join([".ad l", f".B {_plain(source.prog)}", *map(_plain, lines), ".ad b"])


def _parts(epilog: str, heading: str) -> Iterator[tuple[str, str]]:
    """Yield (heading, source) of what stands behind a help: sentences, which are filled, and lines further in, which stay as they are."""
    out: list[str] = []
    was_kept = False
    for line in [*epilog.partition("exit codes:")[0].rstrip("\n").split("\n"), ""]:
        kept = line.startswith(" ")
        if kept != was_kept:
            out.append(".EX" if kept else ".EE")
        was_kept = kept
        if line.rstrip() in HEADINGS:
            yield heading, "\n".join(out)
            heading, out = HEADINGS[line.rstrip()], []
        else:
            out.append(_plain(line) if line.strip() else ".PP")
    yield heading, "\n".join(out)


def _tagged(pairs: dict[str, str]) -> str:
    return "\n".join(f".TP\n.B {_plain(name)}\n{_plain(told)}" for name, told in pairs.items())


def _plain(line: str) -> str:
    """Return a line of text as it is to be read: nothing in it is markup."""
    return re.sub(r"^(['.])", r"\\&\1", line.replace("\\", "\\e").replace("-", "\\-"))


def _tidy(text: str) -> str:
    """Return the source without empty lines, and without paragraphs that are none; its date as dates are written there.

    A line of a help that begins with a dot, such as .svg, is text.
    """
    lines = [_WORD.sub(r"\\&\g<0>", line) for line in text.split("\n") if line.strip()]
    lines[0] = lines[0].replace("\\-", "-")
    out: list[str] = []
    for line, after in zip(lines, [*lines[1:], ".SH"], strict=True):
        vain = line == ".PP" and (out[-1].startswith((".SH", ".PP")) or after.startswith((".SH", ".TP", ".PP", ".EX")))
        out += [] if vain else [line]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    with words.fitted(WIDTH):
        found = pages()
        if sys.argv[1:] == ["--list"]:
            print("\n".join(f"{name}.1" for name in found))
        else:
            for name, source in found.items():
                pathlib.Path(sys.argv[1], f"{name}.1").write_text(page(name, source, near(name, found)), encoding="utf-8")
