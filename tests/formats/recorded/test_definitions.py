"""Lines of definitions: what they become, and what is said of those that break a rule."""

import json
import math
import re

import msgspec
import pytest

from perwiz.formats.recorded.definitions import KINDS, About, Communicator, Module, Places, definition
from perwiz.formats.typed import Mistyped, NoJson, typed

ABOUT = {
    "process": 1,
    "processes": 2,
    "begun": 5,
    "real": [6, 7],
    "clock": "a",
    "cpu": -1,
    "metahost": 0,
    "metahost_name": "",
    "host": "h",
    "mpi": "MPI",
    "program": ["./app"],
    "operations": ["", "flush", "begin", "end"],
}
COMM = {"comm": 1, "parent": 0, "nth": 0, "how": "Cart_create", "ranks": [0, 1, 2], "sizes": [2], "periodic": [0], "place": [1]}
MODULE = {"module": "/bin/app", "bias": 0, "build_id": "b", "begin": 2**64 - 9, "end": 2**64 - 1}
REGION = {"region": 0, "parallel": False, "name": "work"}
COMPARED = {"offset": -3, "time": 5, "round_trip": 2, "master": 0}
NAMED = {"named": 0, "name": "mine"}
LINES = [ABOUT, COMM, MODULE, REGION, COMPARED, NAMED]


@pytest.mark.parametrize("line", LINES, ids=[next(iter(line)) for line in LINES])
def test_line__of_each_kind(line):
    """Its first field tells its kind; what a newer recorder adds is skipped."""
    found = definition(json.dumps(line | {"added": 1}))
    assert type(found) is KINDS[next(iter(line))]
    assert json.loads(msgspec.json.encode(found)).items() >= line.items()


def test_line__of_no_kind():
    assert definition('{"ended":5}') is None


def words(line):
    with pytest.raises(Mistyped) as error:
        definition(json.dumps(line))
    return str(error.value)


@pytest.mark.parametrize("line", LINES, ids=[next(iter(line)) for line in LINES])
@pytest.mark.parametrize("value", [None, -(2**63), 2**64, 1.5, math.nan, math.inf, True, "\x1b[31m", [], [None], {}, {"a": {}}], ids=repr)
def test_line__every_value_of_another_type(line, value):
    """It is refused in one line that names the field, or is as good as what was there."""
    for name in line:
        try:
            found = definition(json.dumps(line | {name: value}))
        except Mistyped as error:
            message = str(error)
        else:
            message = f"{name}" if type(getattr(found, name)) in (type(line[name]), tuple) else "nothing"
        assert re.match(rf".*{name}", message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ABOUT | {"begun": None}, "begun is null, must be an integer"),
        (ABOUT | {"begun": 2**62}, f"begun is {2**62}, must be an integer <= {2**61}"),
        (ABOUT | {"cpu": float("inf")}, "cpu is Infinity, must be an integer"),
        (ABOUT | {"real": [1]}, "real is [1], must be a list of length 2"),
        (ABOUT | {"real": [1, "x"]}, 'real[1] is "x", must be an integer'),
        (ABOUT | {"processes": 0}, "processes is 0, must be an integer >= 1"),
        (ABOUT | {"process": 2}, "process is 2, must be one of the 2 from 0 on"),
        (ABOUT | {"process": 1, "first": 2}, "process is 1, must be one of the 2 from 2 on"),
        (COMM | {"ranks": []}, "ranks is [], must be a list of length >= 3"),
        (ABOUT | {"operations": ["begin", "end"]}, "operations lacks 'flush', must have it"),
        (ABOUT | {"processors": [0, 1]}, "processors has 2 numbers, must have three per run: first, step and count"),
        (ABOUT | {"processors": [-1, 1, 1]}, "processors has a run -1,1,1, must be of numbers from 0 to 65535"),
        (ABOUT | {"processors": [0, 0, 2]}, "processors has a run 0,0,2, must be of numbers from 0 to 65535"),
        (ABOUT | {"processors": [0, 1, 0]}, "processors has a run 0,1,0, must be of numbers from 0 to 65535"),
        (ABOUT | {"processors": [0, 1, 65537]}, "processors has a run 0,1,65537, must be of numbers from 0 to 65535"),
        (COMM | {"parent": 1}, "parent is 1, must be below 1, the number of the communicator"),
        (COMM | {"periodic": []}, "place is [1], must be in sizes, [2], and periodic as long"),
        (COMM | {"place": [2]}, "place is [2], must be in sizes, [2]"),
        (MODULE | {"begin": "x" * 60}, f'begin is "{"x" * 39}, must be an integer'),
        ([1], "is [1], must be an object"),
    ],
)
def test_line__that_breaks_a_rule(line, message):
    assert words(line) == message


def test_processors__as_bits():
    assert definition(json.dumps(ABOUT | {"processors": [0, 2, 2, 5, 1, 2]})).allowed == 0b1100101
    assert definition(json.dumps(ABOUT)).allowed == 0


def test_line__a_key_that_is_no_text():
    assert words(REGION | {"\udcff": 1}) == "key '\\udcff', must be UTF-8"


def test_line__cut_off_or_too_deep():
    for line in ('{"comm":1,', "[" * 100_000, '{"comm":' + "[" * 100_000):
        with pytest.raises(NoJson):
            definition(line)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([0, 1], "ranks has 2 numbers, must have three per run: first, step and count"),
        ([0, 1, 3], "ranks has a run 0,1,3, must be of ranks below 2"),
        ([0, -1, 3], "ranks has a run 0,-1,3, must be of ranks below 2"),
        ([0, 1, 0], "ranks has a run 0,1,0, must be of ranks below 2"),
    ],
)
def test_members__outside_the_run(ranks, message):
    with pytest.raises(Mistyped, match=rf"^{message}$"):
        Communicator(1, 0, 0, "Comm_split", tuple(ranks)).count(1, 2)


def test_members__of_another_world():
    assert Communicator(1, 0, 0, "Comm_split", (1, 1, 1), (-1, 0, 3)).count(1, 2) == 4


def test_members__more_than_fit():
    with pytest.raises(Mistyped, match=r"^ranks has more members, with those before, than 16777216, must have fewer$"):
        Communicator(1, 0, 0, "Comm_split", (-1, 0, 5)).count(1, 2, 4)


def test_number__not_the_next():
    with pytest.raises(Mistyped, match=r"^comm is 1, must be 2: they are numbered from 0 on$"):
        Communicator(1, 0, 0, "Comm_split", ()).count(2, 2)


def test_places():
    told = [{"module": "m", "build_id": "b", "places": {"10": "app.c:7 solve"}}]
    assert typed(told, list[Places])[0].places == {10: "app.c:7 solve"}
    with pytest.raises(Mistyped, match=r"^\[0\]\.places is 5, must be an object$"):
        typed([told[0] | {"places": 5}], list[Places])


def test_kinds():
    assert (KINDS["process"], KINDS["comm"], KINDS["module"]) == (About, Communicator, Module)
