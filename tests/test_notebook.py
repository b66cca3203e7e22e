"""Results and tables in a notebook: shown as their reports and pictures, taken as data frames without copying; the worked notebook runs."""

from __future__ import annotations

import html
import pathlib
import re

import nanoarrow
import nbclient
import nbformat
import numpy as np
import polars
import pyarrow
import pytest
from pandas import ArrowDtype

import perwiz
from perwiz.cli import main
from perwiz.errors import UsageError
from perwiz.trace.tables import TABLES

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = str(ROOT / "traces" / "srtest.alog")


@pytest.fixture(scope="module")
def trace():
    return perwiz.read(SAMPLE)


def test_tables__are_data_frames(trace):
    frame = polars.DataFrame(trace.messages)
    assert frame.columns == [name for name, *_ in trace.messages.schema()]
    assert frame["bytes"].to_list() == trace.messages.bytes.tolist()
    assert frame.dtypes[-3:] == [polars.Int64] * 3


@pytest.mark.slow
def test_tables__are_taken_without_copying(trace):
    (rows,) = list(nanoarrow.ArrayStream(trace.calls).iter_chunks())
    arrow, frame = pyarrow.table(trace.calls), polars.DataFrame(trace.calls)
    for column, (name, *_) in zip(rows.iter_children(), trace.calls.schema(), strict=True):
        here = address(getattr(trace.calls, name))
        assert [address(np.asarray(column.buffer(1))), address(frame[name].to_numpy(allow_copy=False))] == [here, here]
        assert arrow[name].chunk(0).buffers()[1].address == here
    pandas = arrow.to_pandas(types_mapper=ArrowDtype)
    assert [address(pandas[name].to_numpy()) for name in pandas] == [address(getattr(trace.calls, name)) for name in pandas]


def address(column):
    return column.__array_interface__["data"][0]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_tables__empty_ones_have_their_columns(table):
    assert polars.DataFrame(table.empty()).columns == [name for name, *_ in table.schema()]


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["predict", "critical", "curve", "balance", "bound", "compare", "domino", "correct"])
def test_results__show_what_their_commands_print(trace, asked, capsys):
    questions = {"predict": {"hypotheses": ["zero-wait e25"]}, "compare": {"second": trace}}
    result = getattr(perwiz, asked)(trace, **questions.get(asked, {}))
    shown = result._repr_html_()
    assert re.match(r"<pre>.*</pre>\Z", shown, re.DOTALL)
    assert f"{SAMPLE}: " in shown or f"{SAMPLE} " in shown
    if asked in ("domino", "correct"):
        assert main([asked, SAMPLE]) == 0
        assert html.unescape(shown) == f"<pre>{capsys.readouterr().out.rstrip()}</pre>"
    if asked == "bound":
        with pytest.raises(UsageError, match="Bounds: no picture is drawn of it, must be a prediction, a comparison, "):
            result.plot()
    else:
        drawn = result.plot()._repr_svg_()
        assert drawn.startswith("<?xml")
        assert ("predicted under the first change: -" in drawn) == (asked == "domino")


def test_results__escape_names_of_files(tmp_path):
    path = tmp_path / "<b>&.alog"
    path.write_bytes(pathlib.Path(SAMPLE).read_bytes())
    shown = perwiz.predict(perwiz.read(str(path)), draws=0)._repr_html_()
    assert ("<b>" in shown, "&lt;b&gt;&amp;.alog" in shown) == (False, True)


def test_pictures__are_written(trace, tmp_path):
    perwiz.critical(trace).plot(str(tmp_path / "path.svg"), width=5)
    assert (tmp_path / "path.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of the kernel and what it talks through
def test_worked_notebook__runs(monkeypatch):
    """Its outputs are not kept in the file; what it asserts of its results holds."""
    notebook = nbformat.read(ROOT / "docs" / "worked.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT / "docs")}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= kinds
