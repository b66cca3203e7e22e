"""Cube files: what was written is read back, by perwiz and by pycubexr; foreign files of all kinds; damaged and hostile ones."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import pathlib
import tarfile

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cubes
from perwiz.errors import TraceError
from perwiz.formats.cube import read as cube_read
from perwiz.formats.cube import write as cube_write
from perwiz.formats.cube.cube import CallPath, Cart, Parameter, signed, summed


def read(tmp_path, files):
    """Return the cube in an archive of these files."""
    path = tmp_path / "x.cubex"
    path.write_bytes(files if isinstance(files, bytes) else cubes.archive(files))
    return cube_read.read(str(path))


def refusal(tmp_path, files):
    """Return why such a file is refused, without its name."""
    with pytest.raises(TraceError) as refused:
        read(tmp_path, files)
    text = str(refused.value)
    assert "\n" not in text
    return text.removeprefix(f"{tmp_path / 'x.cubex'}: ")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return the name of a file to write again and again."""
    return str(tmp_path_factory.mktemp("cube") / "x.cubex")


@pytest.mark.slow
@given(made=cubes.cubes())
def test_read_write(path, made):
    """read(write(x)) == x."""
    cube_write.write(made, path)
    assert cube_read.read(path) == made


def test_write__files(tmp_path):
    """A sparse index with a byte-order mark, and rows of one value per location; none of a metric without values."""
    cube_write.write(cubes.cube({"visits": {0: [1, 2], 3: [0, 5]}, "late": {}}), str(tmp_path / "x.cubex"))
    with tarfile.open(tmp_path / "x.cubex") as tar:
        assert tar.getnames() == ["anchor.xml", "0.index", "0.data"]
        index, data = (tar.extractfile(name).read() for name in ("0.index", "0.data"))
    assert index == b"CUBEX.INDEX\1\0\0\0\0\0\1\2\0\0\0\0\0\0\0\3\0\0\0"
    assert data == b"CUBEX.DATA" + b"".join(bytes([n]) + bytes(7) for n in (1, 2, 0, 5))


def test_write__twice_the_same(tmp_path):
    made = cubes.cube({"time": {2: [1.5, 0.25]}})
    for name in ("a", "b"):
        cube_write.write(made, str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_write__names_that_xml_cannot_hold(tmp_path):
    """Markup is escaped; control characters become U+FFFD."""
    made = cubes.cube({"time": {0: [1.0, 2.0]}})
    regions = (dataclasses.replace(made.regions[0], name='f<"a&b">\x07\r\n'), *made.regions[1:])
    cube_write.write(dataclasses.replace(made, regions=regions), str(tmp_path / "x.cubex"))
    assert cube_read.read(str(tmp_path / "x.cubex")).regions[0].name == 'f<"a&b">\ufffd\r\n'


@pytest.mark.slow
@settings(max_examples=20)
@given(made=cubes.cubes())
def test_pycubexr(path, made):
    """An independent reader finds every value at its call path and location, and the names of both."""
    pycubexr = pytest.importorskip("pycubexr")
    assume(made.cells)
    cube_write.write(made, path)
    with pycubexr.CubexParser(path) as parsed:
        assert [location.name for location in parsed.get_locations()] == [location.name for location in made.locations]
        for name, cells in made.cells.items():
            values = parsed.get_metric_values(parsed.get_metric_by_name(name), allow_full_uint64_values=True)
            full = np.zeros((len(made.paths), len(made.locations)), cells.value.dtype)
            full[cells.node] = cells.value
            for row, wanted in enumerate(full):
                node = parsed.get_cnode(row)
                assert parsed.get_region(node).name == made.regions[made.paths[row].region].name
                assert values.cnode_values(node).tolist() == wanted.tolist()


def test_pycubexr__inclusive(tmp_path):
    pycubexr = pytest.importorskip("pycubexr")
    cube_write.write(cubes.cube({"visits": {0: [1, 10], 1: [2, 20], 2: [4, 40], 3: [8, 80]}}), str(tmp_path / "x.cubex"))
    with pycubexr.CubexParser(str(tmp_path / "x.cubex")) as parsed:
        values = parsed.get_metric_values(parsed.get_metric_by_name("visits"))
        assert values.cnode_values(parsed.get_cnode(1), convert_to_inclusive=True).tolist() == [6, 60]
        assert [child.region.name for child in parsed.get_root_cnodes()[0].get_children()] == ["solve", "MPI_Barrier"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("wrap", [cubes.data, cubes.packed])
def test_foreign(tmp_path, order, wrap):
    """Inclusive rows in their own order (a call path's children, then what is below them), dense or not, packed or not, either byte order.

    The file's location 0 is the second in the tree.
    """
    found = read(tmp_path, cubes.solver(order, wrap))
    assert [found.full_name(row) for row in range(4)] == ["main", "solve", "solve/MPI_Recv", "MPI_Barrier"]
    assert found.cells["time"].value.tolist() == [[10, 1], [20, 2], [40, 4], [80, 8]]
    assert found.cells["visits"].node.tolist() == [1, 2]
    assert found.cells["visits"].value.tolist() == [[0, 3], [9, 7]]
    assert found.cells["late"].node.tolist() == [2]
    assert found.cells["late"].value.tolist() == [[0.25, 0.5]]


def test_foreign__order_of_inclusive_rows(tmp_path):
    """Of main { a { x }, b { y } } it is main, a, b, x, y: neither depth first nor breadth first once a and b have grandchildren."""
    program = """<program><region id="0"><name>f</name></region>
        <cnode id="0" calleeId="0"><cnode id="1" calleeId="0"><cnode id="2" calleeId="0"><cnode id="3" calleeId="0"/></cnode></cnode>
        <cnode id="4" calleeId="0"><cnode id="5" calleeId="0"/></cnode></cnode></program>"""
    anchor = cubes.SOLVER.partition("<program>")[0] + program + cubes.SOLVER.partition("</program>")[2]
    rows = [[63, 0], [14, 0], [48, 0], [12, 0], [8, 0], [32, 0]]
    files = {"anchor.xml": anchor, "0.index": cubes.index(range(6)), "0.data": cubes.data(rows)}
    assert read(tmp_path, files).by_path("time").tolist() == [1, 2, 4, 8, 16, 32]


def test_foreign__below_a_metric_that_is_left_out(tmp_path):
    """Metrics move up to the next that stays."""
    old = '<metric id="4" type="EXCLUSIVE"><disp_name>Late'
    above = '<metric id="6" type="POSTDERIVED"><uniq_name>sum</uniq_name><dtype>DOUBLE</dtype>'
    anchor = cubes.SOLVER.replace(old, above + old).replace("</metric>\n</metric>", "</metric></metric>\n</metric>", 1)
    found = read(tmp_path, cubes.solver() | {"anchor.xml": anchor})
    assert [(metric.name, metric.parent) for metric in found.metrics] == [("time", ""), ("late", "time"), ("visits", "")]
    assert found.faults[0] == "metric 'sum' left out: values of type DOUBLE, POSTDERIVED"


def test_foreign__names(tmp_path):
    found = read(tmp_path, cubes.solver())
    assert [(metric.name, metric.parent, metric.type) for metric in found.metrics] == [
        ("time", "", "DOUBLE"),
        ("late", "time", "DOUBLE"),
        ("visits", "", "UINT64"),
    ]
    assert found.paths[1:3] == (CallPath(1, 0, parameters=(Parameter("numeric", "step", "2"),)), CallPath(2, 1, 14, "a.c"))
    assert [(group.rank, found.places[group.place].name) for group in found.groups] == [(1, "m"), (0, "n")]
    assert found.carts == (Cart("line", (("x", 2, True),), ((1, (0,)), (0, (1,)))),)
    assert (found.attributes, found.mirrors) == ({"Creator": "by hand"}, ("http://example.org/",))
    assert found.faults == ("metric 'most' left out: values of type MAXDOUBLE, EXCLUSIVE",)


def test_foreign__packed_anchor(tmp_path):
    assert read(tmp_path, cubes.solver() | {"anchor.xml": gzip.compress(cubes.SOLVER.encode())}) == read(tmp_path, cubes.solver())


def test_foreign__wrong_checksums(tmp_path):
    """CubeW has written such headers."""
    raw = bytearray(cubes.archive(cubes.solver()))
    raw[148:156] = b"000000\0 "
    assert read(tmp_path, bytes(raw)) == read(tmp_path, cubes.solver())


def test_foreign__several_roots(tmp_path):
    """Above them comes a root of its own; rows are counted without it."""
    files = cubes.two_roots()
    anchor = files["anchor.xml"].replace("<topologies>", '<systemtreenode Id="2"><name>o</name></systemtreenode><topologies>')
    found = read(tmp_path, files | {"anchor.xml": anchor})
    assert [(found.full_name(row), path.parent) for row, path in enumerate(found.paths)] == [
        ("program", -1),
        ("main", 0),
        ("main/solve", 1),
        ("main/solve/MPI_Recv", 2),
        ("main/MPI_Barrier", 1),
        ("solve", 0),
        ("solve/MPI_Barrier", 5),
    ]
    assert [(place.name, place.parent) for place in found.places] == [("system", -1), ("m", 0), ("n", 1), ("o", 0)]
    assert found.cells["visits"].node.tolist() == [2, 3]
    assert found.by_path("time").tolist() == [0, 11, 22, 44, 88, 176, 352]
    assert found.total("time") == 693


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("wrap", [cubes.data, cubes.packed])
def test_foreign__several_roots__pycubexr(tmp_path, order, wrap):
    """An independent reader, which takes one root only, finds in what we write of it the inclusive times that were in the file."""
    pycubexr = pytest.importorskip("pycubexr")
    cube_write.write(read(tmp_path, cubes.two_roots(order, wrap)), str(tmp_path / "y.cubex"))
    with pycubexr.CubexParser(str(tmp_path / "y.cubex")) as parsed:
        values = parsed.get_metric_values(parsed.get_metric_by_name("time"))
        rows = [values.cnode_values(parsed.get_cnode(row), convert_to_inclusive=True).tolist() for row in range(7)]
    assert rows == [[630, 63], [150, 15], [60, 6], [40, 4], [80, 8], [480, 48], [320, 32]]


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 1e300])
def test_foreign__values_that_are_none(tmp_path, value):
    found = read(tmp_path, cubes.solver() | {"4.data": cubes.data([[value, 1]])})
    assert found.faults[1:] == ("metric 'late' left out: values that are no numbers",)
    assert "late" not in found.cells


ANCHORS = {
    "no XML": ("<cube", "<", "anchor.xml is no XML: "),
    "another document": ("cube", "cubes", "anchor.xml holds <cubes>, must be <cube>"),
    "entities": ('<cube version="4.4">', '<!DOCTYPE a [<!ENTITY b "c">]><cube>', "anchor.xml defines a document type, must be plain"),
    "no metrics": ("metrics>", "matrix>", "anchor.xml has no <metrics>, must have one"),
    "a name twice": ("late<", "time<", "anchor.xml: two metrics 'time', must have names of their own"),
    "no name": ("<uniq_name>late</uniq_name>", "", "anchor.xml: a metric without a name, must have one"),
    "no call path": ("cnode", "node", "anchor.xml has no call path, must have one"),
    "no region": ('calleeId="9"', 'calleeId="99"', "anchor.xml: call path 1 is of a region that is not there"),
    "no number": ('begin="11"', 'begin="eleven"', "anchor.xml: <region> has begin 'eleven', must be a whole number"),
    "a huge number": ('calleeId="9"', 'calleeId="' + "9" * 5000 + '"', "anchor.xml: <cnode> has calleeId '"),
    "no location": ("location Id", "locution Id", "anchor.xml is no XML: "),
    "no process": ("locationgroup", "group", "anchor.xml has no location, must have one"),
    "a location twice": (
        '<location Id="1">',
        '<location Id="0">',
        "anchor.xml: two locations of one number, must have",
    ),
    "a place of nobody": ('locId="1"', 'locId="7"', "anchor.xml: topology 'line': a place of no location, or of other"),
    "a place in no grid": (
        ">1</coord>",
        ">x</coord>",
        "anchor.xml: topology 'line': a place of no location, or of other",
    ),
    "without end": ("<metrics>", "<metrics>" + "<a>" * 20_000, "anchor.xml nests deeper than 10000 levels"),
}


@pytest.mark.parametrize("name", ANCHORS)
def test_refused__anchor(tmp_path, name):
    old, new, why = ANCHORS[name]
    assert refusal(tmp_path, cubes.solver() | {"anchor.xml": cubes.SOLVER.replace(old, new)}).startswith(why)


HUGE = cubes.index([2])[:-8] + b"\xff\xff\xff\xff"
VALUES = {
    "no index": ({"4.index": b""}, "its index does not begin with CUBEX.INDEX and a header"),
    "index of a kind": ({"4.index": cubes.index([2])[:17] + b"\2"}, "its index is of a kind that is not known, must be sparse or dense"),
    "huge count": ({"4.index": HUGE}, "its index has 22 bytes for 4294967295 of 4 call paths"),
    "cut index": ({"4.index": cubes.index([2])[:-1]}, "its index has 25 bytes for 1 of 4 call paths"),
    "row beyond": ({"4.index": cubes.index([4])}, "its index names call paths out of order, or beyond the 4 that there are"),
    "rows twice": ({"4.index": cubes.index([1, 1])}, "its index names call paths out of order, or beyond the 4 that there are"),
    "no data": ({"4.data": b"CUBE"}, "its data does not begin with CUBEX.DATA or ZCUBEX.DATA"),
    "cut data": ({"4.data": cubes.data([[1]])}, "its data has 18 bytes, must be 26"),
    "packed count": ({"4.data": cubes.packed([[1, 2]] * 2)}, "its packed data is not of the 1 call paths in its index"),
    "packed cut": ({"4.data": cubes.packed([[1, 2]])[:-1]}, "its packed data has "),
    "packed too short": ({"4.data": cubes.packed([[1]])}, "a packed row has 8 bytes, must be 16"),
    "packed too long": ({"4.data": cubes.packed([[1] * 1000])}, "a packed row has more bytes, must be 16"),
    "packed nothing": ({"4.data": cubes.packed([[1, 2]])[:43] + b"garbage in here"}, "its packed data "),
}


@pytest.mark.parametrize("name", VALUES)
def test_refused__values(tmp_path, name):
    files, why = VALUES[name]
    assert refusal(tmp_path, cubes.solver() | files).startswith(f"metric 'late': {why}")


def test_refused__half_a_metric(tmp_path):
    files = cubes.solver()
    del files["4.index"]
    assert refusal(tmp_path, files) == "metric 'late': has only one of its two files, index and data"


def test_refused__more_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(cube_read, "_memory", lambda: 63)
    assert refusal(tmp_path, cubes.solver()).startswith(
        "metric 'time': 4 call paths of 2 locations are more than this machine's memory holds"
    )


def test_refused__archive(tmp_path):
    raw = cubes.archive(cubes.solver())
    assert refusal(tmp_path, b"ALOG" * 1000) == "no tar archive at byte 0, must be a Cube 4 file"
    assert refusal(tmp_path, b"") == "no tar archive, must be a Cube 4 file"
    assert refusal(tmp_path, cubes.archive({"a": b"b"})) == "no anchor.xml in it, must be a Cube 4 file"
    assert refusal(tmp_path, raw[:1000]) == f"cut off: a file in it is to have {len(cubes.SOLVER)} bytes, 488 are left"
    assert refusal(tmp_path, raw[:124] + b"9" * 12 + raw[136:]) == "tar header at byte 0 without a size, must be octal digits"
    binary = raw[:124] + b"\x80" + bytes(10) + b"\x09" + raw[136:]
    assert refusal(tmp_path, binary) == "no tar archive at byte 1024, must be a Cube 4 file"
    assert refusal(tmp_path, cubes.solver() | {"anchor.xml": b""}) == f"anchor.xml is empty or above {1 << 28} bytes"
    assert refusal(tmp_path, cubes.solver() | {"anchor.xml": b"\x1f\x8bno"}).startswith("anchor.xml cannot be unpacked: ")


def test_refused__no_file(tmp_path):
    with pytest.raises(TraceError, match=r"no\.cubex: no such file or directory, must be a Cube file$"):
        cube_read.read(str(tmp_path / "no.cubex"))


RAW = {wrap.__name__: cubes.archive(cubes.solver("<", wrap)) for wrap in (cubes.data, cubes.packed)}


@pytest.mark.slow
@settings(max_examples=60)
@given(name=st.sampled_from(sorted(RAW)), changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged(path, name, changes):
    """A file with a few other bytes is read, or refused."""
    raw = bytearray(RAW[name])
    for place, byte in changes:
        raw[place % len(raw)] = byte
    _survives(path, bytes(raw))


@pytest.mark.slow
def test_cut_off(path):
    for length in range(0, len(RAW["packed"]), 97):
        _survives(path, RAW["packed"][:length])


def _survives(path, raw):
    pathlib.Path(path).write_bytes(raw)
    with contextlib.suppress(TraceError):
        found = cube_read.read(path)
        cube_write.write(found, path)
        assert cube_read.read(path).cells == found.cells


def test_is_cube(tmp_path):
    (tmp_path / "x").write_bytes(RAW["data"])
    (tmp_path / "y").write_bytes(b"ALOG")
    assert [cube_read.is_cube(str(tmp_path / name)) for name in ("x", "y", "z", "")] == [True, False, False, False]


def test_totals():
    made = cubes.cube({"visits": {0: [1, 10], 1: [2, 20], 2: [4, 40], 3: [8, 80]}, "late": {}})
    assert (made.total("visits"), made.total("late")) == (165, 0)
    assert made.by_path("visits").tolist() == [11, 22, 44, 88]
    assert made.by_path("late").tolist() == [0, 0, 0, 0]
    assert made.inclusive(made.by_path("visits")).tolist() == [165, 66, 44, 88]
    assert repr(made) == "<Cube of 2 metrics, 4 call paths, 2 locations>"
    assert made.cells["visits"] != 3


def test_signed__whole_numbers_that_would_overflow():
    """2^63 and twice 2^62 are no int64."""
    assert signed(np.array([1, 2], "u8")).dtype == np.int64
    assert summed(np.array([1 << 63, 1], "u8")) == 2.0**63
    assert summed(np.array([1 << 62, 1 << 62], "i8")) == 2.0**63
    assert summed(np.array([-5, 3], "i8")) == -2
