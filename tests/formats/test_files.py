"""The list of formats: which one reads what, which name asks for which, and which names are almost one."""

import pathlib

import pytest

from perwiz.errors import UsageError
from perwiz.formats import files, whole
from perwiz.formats import format as formats

FOLDER = pathlib.Path(files.__file__).parent


def test_formats__every_folder_declares_one():
    """Reports, not traces, lie in Cube files."""
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")} - {"cube"}
    assert {type(form).__module__.split(".")[2] for form in files.FORMATS} == folders | {"files"}
    assert files.FORMATS[-1].looks_like("whatever")


def checked(path):
    for form in files.FORMATS:
        form.check_name(path)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.otf2", "OTF2"),
        ("a.prv", "Paraver"),
        ("a.prv.gz", "Paraver"),
        ("a.json.zst", "Trace Event JSON"),
        ("a.alog.gz", "ALOG"),
        ("otf2", "ALOG"),
        ("", "ALOG"),
    ],
)
def test_format_of(path, name):
    assert files.format_of(path).name == name


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a.OTF2", "a.OTF2: no name for an OTF2 archive, must end in .otf2"),
        ("a.otf2.gz", "a.otf2.gz: no name for an OTF2 archive, must end in .otf2"),
        ("a.prv.zst", "a.prv.zst: no name for a Paraver trace, must end in .prv or .prv.gz"),
        ("a.Json", "a.Json: no name for Trace Event JSON, must end in .json, .json.gz or .json.zst"),
    ],
)
def test_check_name__almost(path, message):
    with pytest.raises(UsageError) as info:
        checked(path)
    assert str(info.value) == message


def test_check_name__good():
    for path in ("a.otf2", "a.prv.gz", "a.json.zst", "a.alog", "otf2.gz"):
        checked(path)


def test_replacing__errors_name_what_was_asked_for(tmp_path):
    path = str(tmp_path / "a.otf2")
    with pytest.raises(UsageError, match=rf"^{path}: cannot be written: it burns$"), whole.replacing(path) as made:
        raise UsageError(f"{made}: cannot be written: it burns")
    assert list(tmp_path.iterdir()) == []


def test_table__in_the_docs():
    """What docs/formats.md says of each format is what the registry says."""
    told = (pathlib.Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8").split("\n")
    table = formats.table(files.FORMATS)
    begin = told.index(table[0])
    assert told[begin : begin + len(table) + 1] == [*table, ""]


def test_holds__every_word_is_explained():
    words = {word for form in files.FORMATS for word in (*form.holds, form.written)}
    assert words == {formats.NO, formats.YES, formats.INFERRED, formats.SOME, formats.MODEL}
