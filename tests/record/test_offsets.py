"""Clocks of two metahosts, compared by each scheme: how often messages are then received before they were sent."""

import json

import pytest

import mpis
from perwiz.cli import main
from perwiz.clock.schemes import SCHEMES
from perwiz.formats.files import read

pytestmark = pytest.mark.slow


@pytest.fixture
def recorded(mpi, record, built, tmp_path):
    """Return recorded(options): the name of a run in two directories, one of each metahost, whose clocks and links are wrong."""

    def run(*options):
        program = mpis.compiled(mpi.mpicc, "pairs.c", built), "150"
        essen = "env", "PERWIZ_METAHOST_ID=0", "PERWIZ_METAHOST_NAME=Essen"
        bonn = "env", "PERWIZ_METAHOST_ID=1", "PERWIZ_METAHOST_NAME=Bonn", f"PERWIZ_DIR={tmp_path / 'bonn'}"
        command = [*mpi.command(2, *essen, *program, others=2), ":", "-n", "2", *bonn, *program]
        errors = "1:-3e6:4000;2:5e6:-5000;3:2e6:3000"
        code, folder, _, said = record(command, "--clock-errors", errors, "--uneven-links", "5000000", *options)
        assert (code, said) == (0, "")
        return f"{folder}:{tmp_path / 'bonn'}"

    return run


@mpis.in_turn()
def test_violations__in_the_order_of_table_2(recorded, capsys):
    """7560 by one flat measurement, 2179 by two, none by two hierarchical ones (Becker et al. 2007)."""
    name, reversed_messages = recorded("--offsets", "all"), {}
    assert read(name).metahosts == ("Essen", "Bonn")
    for scheme in SCHEMES:
        assert main(["correct", name, "--clock", "linear", "--offsets", scheme, "--json"]) == 0
        block = json.loads(capsys.readouterr().out)
        assert block["offsets"]["scheme"] == scheme
        reversed_messages[scheme] = block["messages"]["corrected"]["reversed"]
    assert reversed_messages["single"] > reversed_messages["flat"] > reversed_messages["hierarchical"]
    assert main(["correct", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["offsets"]["scheme"] == "hierarchical"


@mpis.in_turn(first=1)
def test_measured__what_was_asked_for(recorded, capsys):
    """Each clock once, with that of rank 0; what was not measured cannot be applied."""
    name = recorded("--offsets", "single")
    assert (read(name).readings.location.tolist(), read(name).readings.master.tolist()) == ([0, 1, 2, 3], [-1, 0, 0, 0])
    assert main(["correct", name, "--offsets", "hierarchical"]) == 2
    assert "clocks were compared by the scheme single; for --offsets hierarchical they must be" in capsys.readouterr().err
