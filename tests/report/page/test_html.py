"""The shell of a page: nothing in the data can become code, and the policy names just what is there."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

import naive_html
import perwiz
from perwiz.report.page import html
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered
from perwiz.report.page.html import Panel, block, digest, page
from perwiz.report.page.panels import PANELS

TRACES = pathlib.Path(__file__).parents[3] / "traces"
HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \udcff & ]]>"


def test_block__no_text_can_end_it():
    text = block("data-x", {"name": HOSTILE})
    assert text.count("<") == 2
    assert text.isascii()
    inside = text.partition(">")[2].rpartition("<")[0]
    assert json.loads(inside) == {"name": HOSTILE}


def test_block__takes_no_numbers_that_json_lacks():
    with pytest.raises(ValueError, match="not JSON compliant"):
        block("data-x", float("nan"))


def test_digest():
    """The SHA-256 of an empty text, from FIPS 180-4 examples."""
    assert digest("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_page__only_the_known_script_and_style():
    text = page(HOSTILE, {"trace": HOSTILE}, [Panel("fixes", HOSTILE, {"x": HOSTILE})])
    parts = naive_html.Parts(text)
    policy = next(attributes["content"] for tag, attributes, _ in parts.found if attributes.get("http-equiv"))
    code = [text for tag, attributes, text in parts.found if tag == "script" and "type" not in attributes]
    style = [text for tag, _, text in parts.found if tag == "style"]
    assert (len(code), len(style)) == (1, 1)
    assert policy.startswith(f"default-src 'none'; script-src '{digest(code[0])}'; style-src '{digest(style[0])}'; ")
    assert parts.data("fixes") == {"x": HOSTILE}
    assert not [
        attributes for _, attributes, _ in parts.found for name in attributes if name.startswith("on") or name in ("src", "href", "style")
    ]


def test_page__names_no_address():
    text = html_report.page(gathered(perwiz.read(str(TRACES / "srtest.alog"))))
    assert re.findall(r"https?:|//[a-z]+\.[a-z]", text) == []


def test_page__the_code_is_small():
    text = page("", {}, [])
    assert len(text) < 170_000


def test_page__is_the_same_again():
    trace = perwiz.read(str(TRACES / "srtest.alog"))
    first, second = (html_report.page(gathered(trace, "zero-wait e25", command="x")) for _ in range(2))
    assert first == second


def test_squeezed__texts_and_patterns_stay():
    """Blanks around punctuation go, but not inside a text or a pattern."""
    code = "if (a === 1) { b(\"x = ( y )\", ' ; ', /a = (b ) /i); }"
    assert html._BLANKS.sub(lambda found: found[1] or found[2], code) == "if(a===1){b(\"x = ( y )\",' ; ',/a = (b ) /i);}"
    assert html._BLANKS.sub(lambda found: found[1] or found[2], "a = b + +c") == "a=b + +c"


def test_panels__each_is_drawn_by_a_script_beside_its_module():
    folder = pathlib.Path(html.__file__).parent / "panels"
    for name in ("timeline", *(panel for panel, _, _ in PANELS)):
        assert f"panels/{name}.js" in html.MODULES
        assert f'page.panel("{name}", ' in (folder / f"{name}.js").read_text(encoding="utf-8")
        assert (folder / f"{name}.py").is_file()
