"""Model files: the shipped ones, reading and writing, and every refusal with its full message."""

import dataclasses
import pathlib

import pytest
from hypothesis import given

import build
from perwiz.errors import ModelError
from perwiz.loggps import model_file
from perwiz.loggps.machine import Machine, Unknown
from perwiz.loggps.model import Costs, Limit
from perwiz.loggps.model_file import load, names, text

ALL_PARAMETERS = "L_ns, o_s_ns, o_r_ns, g_ns, G_ns_per_byte, O_s_ns_per_byte, O_r_ns_per_byte, S_bytes, s_bytes"
OF_PAIRS = f"{ALL_PARAMETERS}, S_blocking_bytes, S_nonblocking_bytes, S_sendrecv_bytes"
ALL_CONVENTIONS = "request_overheads, acknowledge_overheads, gap, progress"
OF_ALL = f"{ALL_CONVENTIONS}, inline_bytes, interfaces"
CLASSES = "within-node, between-nodes, between-metahosts"

FILE = """
name = "mine"
source = "measured"
assumed = ["g_ns"]

[parameters]
L_ns = 1000
o_s_ns = 200.0
o_r_ns = 200.0
g_ns = 50.0
G_ns_per_byte = 2.0
O_s_ns_per_byte = 0.5
O_r_ns_per_byte = 0.5
S_bytes = 100
s_bytes = 40

[conventions]
request_overheads = 1
acknowledge_overheads = 2
gap = "sending call"
progress = "always"
"""
CLASSED = f"""{FILE}
[[classes]]
pairs = "between-nodes"
from_bytes = 1024
G_ns_per_byte = 0.25

[[classes]]
pairs = "between-nodes"
L_ns = 9000
S_bytes = 50
S_nonblocking_bytes = 60

[[classes]]
from_bytes = 512
o_ns = 700
"""
MINE = build.hand_model(L=1000, o=200, g=50, G=2, O=0.5, S=100, s=40, gap="sending call")
MINE = dataclasses.replace(MINE, name="mine", source="measured", assumed=("g_ns",))


def shipped():
    return sorted(pathlib.Path(model_file._folder()).glob("*.toml"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_shipped(path):
    """Each loads by name and by path, is named like its file, begins with a comment of one to four lines, and lies on 140 columns."""
    assert load(path.stem) == load(str(path))
    assert load(path.stem).name == path.stem
    lines = path.read_text(encoding="utf-8").splitlines()
    assert 1 <= next(i for i, line in enumerate(lines) if not line.startswith("#")) <= 4
    assert max(map(len, lines)) <= 140


def test_names():
    expected = "cacau cacau-node cray-t3e default marenostrum marenostrum-node perwiz-cluster viola-external viola-fh-brs viola-fzj"
    assert names() == expected.split()


def test_default_is_that_of_loggopsim():
    default = load("default")
    assert (default.costs, default.S) == ((Costs(L=2500, o_s=1500, o_r=1500, g=1000, G=6, O_s=0, O_r=0, s=0),), 65535)
    assert default.assumed == ("s_bytes",)


def test_models_inside_the_package(tmp_path, monkeypatch):
    """An installed package has its models inside; a source tree beside it."""
    for folder in ("perwiz/loggps", "models"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(model_file, "__file__", str(tmp_path / "perwiz/loggps/model_file.py"))
    (tmp_path / "models/beside.toml").write_text(FILE)
    assert names() == ["beside"]
    (tmp_path / "perwiz/models").mkdir()
    (tmp_path / "perwiz/models/inside.toml").write_text(FILE)
    assert names() == ["inside"]
    assert load("inside").source == "measured"


def test_load_a_file(tmp_path):
    """A whole number stands for a float and a float without fraction for a whole number."""
    path = tmp_path / "mine.toml"
    path.write_text(FILE.replace("S_bytes = 100", "S_bytes = 100.0"))
    assert load(str(path)) == MINE
    assert [type(value) for value in load(str(path)).parameters().values()] == [float] * 7 + [int] * 4 + [str] * 2


def test_load_in_this_folder(tmp_path, monkeypatch):
    """Without a slash, the ending tells a file from a name."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mine.toml").write_text(FILE)
    pathlib.Path("mine").write_text(FILE)
    assert load("mine.toml") == load("./mine")
    with pytest.raises(ModelError, match="no model 'mine'"):
        load("mine")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L_ns = 1000", "", f"[parameters] lacks L_ns, must have all of {ALL_PARAMETERS}"),
        ("L_ns = 1000", "L_us = 1.0", f"[parameters] has 'L_us', must be one of {OF_PAIRS}; did you mean L_ns?"),
        ("L_ns = 1000", "L_ns = 1\nxyz = 1", f"[parameters] has 'xyz', must be one of {OF_PAIRS}"),
        ('gap = "sending call"\nprogress = "always"', "", f"[conventions] lacks gap, progress, must have all of {ALL_CONVENTIONS}"),
        ("gap =", "gaps =", f"[conventions] has 'gaps', must be one of {OF_ALL}; did you mean gap?"),
        ('source = "measured"', "", "top level lacks source, must have all of name, source, assumed, parameters, conventions"),
        (
            "[conventions]",
            "[convention]",
            "top level has 'convention', must be one of name, source, assumed, parameters, conventions, classes, collectives, unknown; "
            "did you mean conventions?",
        ),
        ('name = "mine"', "name = 5", "name is 5, must be a line of text"),
        ('name = "mine"', 'name = "a\\nb"', "name is 'a\\nb', must be a line of text"),
        ('source = "measured"', 'source = ""', "source is '', must be a line of text"),
        ('assumed = ["g_ns"]', 'assumed = "g_ns"', "assumed is 'g_ns', must be a list of keys"),
        ('assumed = ["g_ns"]', "assumed = [1]", "assumed is [1], must be a list of keys"),
        (
            'assumed = ["g_ns"]',
            'assumed = ["g"]',
            f"assumed has 'g', must be one of {OF_PAIRS}, {OF_ALL}",
        ),
        ("L_ns = 1000", 'L_ns = "1000"', "L_ns is '1000', must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = true", "L_ns is True, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = -1", "L_ns is -1, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = nan", "L_ns is nan, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = inf", "L_ns is inf, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = 1.1e12", "L_ns is 1100000000000.0, must be a number from 0 to 1e+12"),
        ("L_ns = 1000", "L_ns = 0x" + 5000 * "f", "L_ns is an integer of thousands of digits, must be a number from 0 to 1e+12"),
        ("S_bytes = 100", "S_bytes = 0.5", "S_bytes is 0.5, must be a whole number from 0 to 1e+12"),
        ("S_bytes = 100", "S_bytes = false", "S_bytes is False, must be a whole number from 0 to 1e+12"),
        ("request_overheads = 1", "request_overheads = []", "request_overheads is [], must be a whole number from 0 to 1e+12"),
        ('gap = "sending call"', 'gap = "some"', "gap is 'some', must be 'sending call' or 'none'"),
        ('progress = "always"', "progress = 1", "progress is 1, must be 'always' or 'in calls' or 'once posted'"),
    ],
)
def test_file_refused(tmp_path, old, new, message):
    path = tmp_path / "mine.toml"
    assert FILE.count(old) == 1
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_a_value_where_a_table_must_be(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"\nsource = "b"\nassumed = []\nparameters = 5\nconventions = 6\n')
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: parameters is 5, must be a table [parameters]"


def test_an_unknown_name():
    with pytest.raises(ModelError) as caught:
        load("cray-t3d")
    assert str(caught.value) == (
        "no model 'cray-t3d', must be one of cacau, cacau-node, cray-t3e, default, marenostrum, marenostrum-node, perwiz-cluster, "
        "viola-external, viola-fh-brs, viola-fzj, or a path to a .toml file, or a platform (.xml); did you mean cray-t3e?"
    )


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelError) as caught:
        load(str(tmp_path / "none.toml"))
    assert str(caught.value) == f"{tmp_path}/none.toml: cannot be read: No such file or directory, must be a model file"


LONG_KEY = b"# " + 100 * b"." + b"\nb = [" + 100 * b"1.5, " + b"]\na" + 100 * b".a" + b" = 1\n"
"""Dots of a comment and of numbers, and those of a key that the parser takes the square of."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name\n", "Expected '=' after a key in a key/value pair (at line 1, column 5), must be TOML"),
        (b"name = '\xff'\n", "'utf-8' codec can't decode byte 0xff in position 8: invalid start byte, must be TOML"),
        (LONG_KEY, "100 dots or more in a line, as a key of so many parts has (at line 3), must be TOML"),
    ],
)
def test_not_toml(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load(str(path))
    assert str(caught.value) == f"{path}: {message}"


def test_nested_beyond_reason(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("a = " + 100_000 * "[")
    with pytest.raises(ModelError, match=r"recursion depth exceeded.*, must be TOML"):
        load(str(path))


# Classes


def written(tmp_path, content):
    """Return the path of a model file."""
    path = tmp_path / "mine.toml"
    path.write_text(content)
    return str(path)


def test_classes(tmp_path):
    """A row inherits what it does not say: of its class the row of smaller sizes, else that of all pairs; order does not matter."""
    found = load(written(tmp_path, CLASSED))
    first = MINE.costs[0]
    far = dataclasses.replace(first, pairs="between-nodes", L=9000.0)
    assert found.costs == (
        first,
        dataclasses.replace(first, from_bytes=512, o_s=700.0, o_r=700.0),
        far,
        dataclasses.replace(far, from_bytes=1024, G=0.25),
    )
    assert found.limits == (Limit(100), Limit(50, "between-nodes"), Limit(60, "between-nodes", "nonblocking"))
    more = "[[classes]]\npairs = 'between-nodes'\nfrom_bytes = 4096\ng_ns = 1"
    last = load(written(tmp_path, f"{CLASSED}{more}")).costs[-1]
    assert last == dataclasses.replace(far, from_bytes=4096, G=0.25, g=1.0)


def test_classes__written():
    """Rows say what differs from what they inherit, a class that differs in nothing its name alone."""
    costs = (MINE.costs[0], dataclasses.replace(MINE.costs[0], pairs="within-node"))
    model = dataclasses.replace(MINE, costs=costs, limits=(Limit(100), Limit(7, "between-nodes", "sendrecv"), Limit(8, sends="blocking")))
    assert model.classes() == [{"pairs": "within-node"}, {"pairs": "between-nodes", "S_sendrecv_bytes": 7}]
    content = text(model, ["Of a test.", ""])
    assert content.startswith('# Of a test.\n#\nname = "mine"\n')
    assert "S_bytes = 100\nS_blocking_bytes = 8\n" in content.replace("s_bytes = 40                # packet size; 0: never split\n", "")
    assert content.endswith('\n[[classes]]\npairs = "within-node"\n\n[[classes]]\npairs = "between-nodes"\nS_sendrecv_bytes = 7\n')


@pytest.mark.slow
@given(build.models())
def test_law_what_is_written_is_read(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("models") / "m.toml"
    path.write_text(text(model), encoding="utf-8")
    assert load(str(path)) == model


def old(per_byte='per_byte = "both ends"', assumed='"g_ns"'):
    """Return a file with the keys of both ends."""
    ends = "o_s_ns = 200.0\no_r_ns = 200.0", "O_s_ns_per_byte = 0.5\nO_r_ns_per_byte = 0.5"
    content = FILE.replace(ends[0], "o_ns = 200.0").replace(ends[1], "O_ns_per_byte = 0.5").replace('"g_ns"', assumed)
    return f"{content}{per_byte}\n"


@pytest.mark.parametrize(("payer", "ends"), [("both ends", (0.5, 0.5)), ("sender", (0.5, 0.0)), ("receiver", (0.0, 0.5))])
def test_files_of_both_ends(tmp_path, payer, ends):
    """o_ns and O_ns_per_byte are of both ends; `per_byte` says which end pays O."""
    found = load(written(tmp_path, old(f'per_byte = "{payer}"')))
    assert found == dataclasses.replace(MINE, costs=(dataclasses.replace(MINE.costs[0], O_s=ends[0], O_r=ends[1]),))


def test_files_of_both_ends__without_payer_and_assumed(tmp_path):
    found = load(written(tmp_path, old("", '"o_ns", "per_byte", "O_ns_per_byte", "within-node:o_ns"')))
    keys = ("o_s_ns", "o_r_ns", "O_s_ns_per_byte", "O_r_ns_per_byte", "within-node:o_s_ns", "within-node:o_r_ns")
    assert found == dataclasses.replace(MINE, assumed=keys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{FILE}[[classes]]\npairs = 'far'", f"[[classes]] pairs is 'far', must be one of {CLASSES}"),
        (
            f"{FILE}[[classes]]\npairs = 'within-nodes'",
            f"[[classes]] pairs is 'within-nodes', must be one of {CLASSES}; did you mean within-node?",
        ),
        (f"{FILE}[[classes]]\npairs = 5", f"[[classes]] pairs is 5, must be one of {CLASSES}"),
        (
            f"{FILE}[[classes]]\npairs = 'within-node'\nfrom_bytes = 0.5",
            "[[classes]] from_bytes is 0.5, must be a whole number from 0 to 1e+12",
        ),
        (
            f"{FILE}[[classes]]\npairs = 'within-node'\nL_us = 5",
            f"[[classes]] 'within-node' has 'L_us', must be one of pairs, from_bytes, {OF_PAIRS}; did you mean L_ns?",
        ),
        (f"{FILE}[[classes]]\npairs = 'within-node'\nL_ns = -5", "[[classes]] 'within-node': L_ns is -5, must be a number from 0 to 1e+12"),
        (
            f"{FILE}[[classes]]\npairs = 'within-node'\nS_bytes = 0.5",
            "[[classes]] 'within-node': S_bytes is 0.5, must be a whole number from 0 to 1e+12",
        ),
        (
            f"{FILE}[[classes]]\nfrom_bytes = 9\nS_bytes = 5",
            "[[classes]] '' has S_bytes from 9 bytes, must be where from_bytes is 0: it holds for all sizes",
        ),
        (f"{FILE}[[classes]]\nL_ns = 5", "[[classes]] has neither pairs nor from_bytes, must have one: [parameters] are of all messages"),
        (f"{FILE}[[classes]]\nfrom_bytes = 9\n[[classes]]\nfrom_bytes = 9", "costs have several rows of 9, must have one"),
        (f"classes = 5\n{FILE}", "classes is 5, must be tables [[classes]]"),
        (f"classes = [5]\n{FILE}", "classes is [5], must be tables [[classes]]"),
        (FILE.replace("o_r_ns = 200.0", "o_ns = 1.0"), "[parameters] has o_ns and o_s_ns, must have that of both ends or those of each"),
        (old("per_byte = 'all'"), "per_byte is 'all', must be 'both ends' or 'sender' or 'receiver'"),
        (f"{FILE}per_byte = 'sender'", "[conventions] has per_byte, must be without where [parameters] has no O_ns_per_byte"),
        (old().replace("o_ns = 200.0", "o_ns = -1"), "o_ns is -1, must be a number from 0 to 1e+12"),
    ],
)
def test_classes_refused(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(ModelError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_interfaces__may_be_left_out(tmp_path):
    assert MINE.interfaces == 10**12
    path = tmp_path / "mine.toml"
    path.write_text(FILE + "interfaces = 2\n", encoding="utf-8")
    model = load(str(path))
    assert model == dataclasses.replace(MINE, interfaces=2)
    assert text(model).splitlines()[-1] == "interfaces = 2              # of each node, shared by messages between nodes"
    with pytest.raises(ModelError, match=r"interfaces is 0\.0, must be a whole number from 1 to 1e"):
        MINE.with_changes("interfaces=0")


def test_inline_bytes__may_be_left_out(tmp_path):
    """Without it nothing is sent in place, and no file says so."""
    path = tmp_path / "mine.toml"
    path.write_text(FILE + "inline_bytes = 256\n", encoding="utf-8")
    model = load(str(path))
    assert model == dataclasses.replace(MINE, inline_bytes=256)
    assert MINE.with_changes("inline_bytes=256").inline_bytes == 256
    assert text(model).splitlines()[-1] == "inline_bytes = 256          # larger ones are sent in place"
    assert "inline" not in text(MINE)


# What is unknown

LATENCY = Unknown("L_ns", "between-nodes", ("between-nodes:L_ns=0.0", "between-nodes:L_ns=5.5"), 'no "evidence"')
WHOLE = Unknown("collectives", "", (), "what MPI_Bcast of 4 processes costs")
UNKNOWN = """
[[unknown]]
key = "S_bytes"
pairs = ""
ends = ["S_bytes=4", "S_bytes=64"]
why = "so"
"""


def test_unknown__what_is_written_is_read(tmp_path):
    path = written(tmp_path, text(MINE, unknown=(LATENCY, WHOLE)))
    assert model_file.machine(path) == Machine(MINE, unknown=(LATENCY, WHOLE), given=True)
    assert load(path) == MINE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('why = "so"\n', "", "[[unknown]] 1: has ends, key, pairs, must have key, pairs, ends, why"),
        (
            'key = "S_bytes"',
            "key = 5",
            f"[[unknown]] 1: key is 5, must be one of {OF_PAIRS}, {OF_ALL}, collectives",
        ),
        ('pairs = ""', 'pairs = "far"', f"[[unknown]] 1: pairs is 'far', must be one of {CLASSES}"),
        ('"so"', "[]", "[[unknown]] 1: why is [], must be text"),
        ('"S_bytes=4", ', "", "[[unknown]] 1: ends is ['S_bytes=64'], must be none or two changes of the model"),
        ('"S_bytes=4"', "4", "[[unknown]] 1: ends is [4, 'S_bytes=64'], must be none or two changes of the model"),
        ('S_bytes=4"', 'S_bytes=-4"', "[[unknown]] 1: change of model mine: S_bytes is -4.0, must be a whole number from 0 to 1e+12"),
        ('why = "so"', f'why = "so"\n{UNKNOWN}', "[[unknown]] 2: S_bytes is there twice, must be there once"),
    ],
)
def test_unknown__refused(tmp_path, old, new, message):
    path = written(tmp_path, FILE + UNKNOWN.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        model_file.machine(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize("value", ["5", "[5]"])
def test_unknown__no_tables(tmp_path, value):
    path = written(tmp_path, f"unknown = {value}\n{FILE}")
    with pytest.raises(ModelError) as caught:
        model_file.machine(path)
    assert str(caught.value) == f"{path}: unknown is {value}, must be tables [[unknown]]"
