"""Cubes and Cube files for tests: a small one worked by hand, random ones, and a writer that knows nothing of perwiz.report."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib

import numpy as np
from hypothesis import strategies as st

from perwiz.formats.cube.cube import DTYPES, CallPath, Cart, Cells, Cube, Group, Location, Metric, Parameter, Place, Region, compact

SOLVER = """<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4">
<attr key="Creator" value="by hand"/>
<doc><mirrors><murl>http://example.org/</murl></mirrors></doc>
<metrics>
<metric id="0" type="INCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom>
<metric id="4" type="EXCLUSIVE"><disp_name>Late</disp_name><uniq_name>late</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric>
</metric>
<metric id="2" type="EXCLUSIVE"><disp_name>Visits</disp_name><uniq_name>visits</uniq_name><dtype>UINT32</dtype><uom>occ</uom></metric>
<metric id="7" type="EXCLUSIVE"><disp_name>Most</disp_name><uniq_name>most</uniq_name><dtype>MAXDOUBLE</dtype><uom>sec</uom></metric>
</metrics>
<program>
<region id="5" mod="a.c" begin="1" end="9"><name>main</name></region>
<region id="3" mod="a.c" begin="11" end="19"><name>solve</name></region>
<region id="9" mod="MPI" begin="-1" end="-1"><name>MPI_Recv</name></region>
<region id="8" mod="MPI" begin="-1" end="-1"><name>MPI_Barrier</name></region>
<cnode id="0" calleeId="5">
<cnode id="3" calleeId="3"><parameter partype="numeric" parkey="step" parvalue="2"/><cnode id="1" calleeId="9" line="14" mod="a.c"/></cnode>
<cnode id="2" calleeId="8"/>
</cnode>
</program>
<system>
<systemtreenode Id="0"><name>m</name><class>machine</class>
<locationgroup Id="0"><name>Rank 1</name><rank>1</rank><type>process</type>
<location Id="1"><name>Master</name><rank>0</rank><type>thread</type></location></locationgroup>
<systemtreenode Id="1"><name>n</name><class>node</class>
<locationgroup Id="1"><name>Rank 0</name><rank>0</rank><type>process</type>
<location Id="0"><name>Master</name><rank>0</rank><type>thread</type></location></locationgroup>
</systemtreenode></systemtreenode>
<topologies><cart name="line" ndims="1"><dim name="x" size="2" periodic="true"/>
<coord locId="0">0</coord><coord locId="1">1</coord></cart></topologies>
</system>
</cube>
"""
"""main { solve { MPI_Recv }, MPI_Barrier } on rank 1, directly in the machine, and rank 0, on a node of it.

Numbers of call paths and locations are not in the order of the tree.
"""


def index(rows, order="<", dense=False):
    """Return the bytes of an index file."""
    head = b"CUBEX.INDEX" + struct.pack(f"{order}IHB", 1, 0, 3 if dense else 1)
    return head if dense else head + struct.pack(f"{order}{len(rows) + 1}I", len(rows), *rows)


def data(rows, code="d", order="<"):
    """Return the bytes of a data file, one list per row."""
    return b"CUBEX.DATA" + b"".join(struct.pack(f"{order}{len(row)}{code}", *row) for row in rows)


def packed(rows, code="d", order="<"):
    """Return the bytes of a data file, its rows packed."""
    raw = [struct.pack(f"{order}{len(row)}{code}", *row) for row in rows]
    blobs = [zlib.compress(row) for row in raw]
    table, plain, place = b"", 0, 0
    for row, blob in zip(raw, blobs, strict=True):
        table += struct.pack(f"{order}3Q", plain, place, len(blob))
        plain, place = plain + len(row), place + len(blob)
    return b"ZCUBEX.DATA" + struct.pack(f"{order}Q", len(rows)) + table + b"".join(blobs)


def archive(files):
    """Return the bytes of a tar archive of files by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def solver(order="<", wrap=data, **more):
    """Return the files of the example: time of rank 0 is 1, 2, 4, 8 s in main, solve, MPI_Recv, MPI_Barrier, ten times that on rank 1."""
    return {
        "anchor.xml": SOLVER,
        "0.index": index([0, 1, 2, 3], order, dense=True),
        "0.data": wrap([[15, 150], [6, 60], [8, 80], [4, 40]], "d", order),
        "2.index": index([1, 2], order),
        "2.data": wrap([[3, 0], [7, 9]], "I", order),
        "4.index": index([2], order),
        "4.data": wrap([[0.5, 0.25]], "d", order),
        **more,
    }


def two_roots(order="<", wrap=data):
    """Return the files of the example with a second root, solve { MPI_Barrier }: 16 and 32 s of rank 0, ten times that of rank 1.

    With what is below them the roots have 15 and 48 s of rank 0.
    """
    second = '<cnode id="4" calleeId="3"><cnode id="5" calleeId="8"/></cnode></program>'
    rows = [[15, 150], [6, 60], [8, 80], [4, 40], [48, 480], [32, 320]]
    times = {"0.index": index(range(6), order), "0.data": wrap(rows, "d", order)}
    return solver(order, wrap) | {"anchor.xml": SOLVER.replace("</program>", second)} | times


def cube(cells, **changes):
    """Return a cube of main { solve { MPI_Recv }, MPI_Barrier } on two ranks: {metric: {call path: values}}; whole ones are counts."""
    metrics, values = [], {}
    for name, rows in cells.items():
        whole = all(isinstance(value, int) for row in rows.values() for value in row)
        metrics.append(Metric(name, name.title(), unit="occ" if whole else "sec", type="UINT64" if whole else "DOUBLE"))
        if rows:
            values[name] = Cells(np.array(sorted(rows), "i4"), np.array([rows[node] for node in sorted(rows)], "u8" if whole else "f8"))
    names = ("main", "solve", "MPI_Recv", "MPI_Barrier")
    made = Cube(
        metrics=tuple(metrics),
        regions=tuple(Region(name, name, "MPI" if "MPI" in name else "a.c") for name in names),
        paths=(CallPath(0), CallPath(1, 0), CallPath(2, 1), CallPath(3, 0)),
        places=(Place("m", "machine"), Place("n", "node", 0)),
        groups=(Group("Rank 0", 0, 1), Group("Rank 1", 1, 1)),
        locations=(Location("Master", 0, 0), Location("Master", 0, 1)),
        cells=compact(values),
        carts=(Cart("line", (("x", 2, False),), ((0, (0,)), (1, (1,)))),),
    )
    return Cube(**{key: getattr(made, key) for key in Cube.__dataclass_fields__} | changes)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=8)
VALUES = {"DOUBLE": st.floats(-1e6, 1e6), "INT64": st.integers(-(10**6), 10**6), "UINT64": st.integers(0, 10**6)}


@st.composite
def trees(draw, most=7):
    """Return the parents of a tree, depth first."""
    parents, open_rows = [-1], [0]
    for row in range(1, draw(st.integers(1, most))):
        del open_rows[draw(st.integers(1, len(open_rows))) :]
        parents.append(open_rows[-1])
        open_rows.append(row)
    return parents


@st.composite
def cubes(draw):
    """Return a cube of a few metrics, call paths and locations. Metrics of one name have one unit."""
    names = draw(st.lists(st.sampled_from("abcde"), min_size=1, unique=True))
    metrics = []
    for row, name in enumerate(names):
        parent = "" if row == 0 else draw(st.sampled_from(["", names[row - 1]]))
        kind = draw(st.sampled_from(sorted(VALUES)))
        metrics.append(Metric(name, draw(NAMES), parent, "sec" if name < "c" else "occ", kind, draw(NAMES), draw(NAMES)))
    regions = tuple(Region(name, draw(NAMES), draw(NAMES), draw(st.integers(-1, 99))) for name in "fgh")
    call_tree = draw(trees())
    parameters = st.lists(st.builds(Parameter, st.just("string"), NAMES, NAMES), max_size=1).map(tuple)
    lines = st.integers(-1, 3)
    paths = tuple(CallPath(draw(st.integers(0, 2)), parent, draw(lines), draw(NAMES), draw(parameters)) for parent in call_tree)
    places = tuple(Place(draw(NAMES), draw(NAMES), parent, draw(NAMES), ((draw(NAMES), draw(NAMES)),)) for parent in draw(trees(4)))
    homes = sorted(draw(st.lists(st.integers(0, len(places) - 1), min_size=1, max_size=3)))
    ranks = draw(st.permutations(range(len(homes))))
    groups = tuple(Group(draw(NAMES), rank, place) for rank, place in zip(ranks, homes, strict=True))
    locations = tuple(Location(draw(NAMES), thread, row) for row in range(len(groups)) for thread in range(draw(st.integers(1, 2))))
    cells = {}
    for metric in metrics:
        nodes = draw(st.lists(st.integers(0, len(paths) - 1), unique=True))
        rows = [draw(st.lists(VALUES[metric.type], min_size=len(locations), max_size=len(locations))) for _ in nodes]
        if nodes:
            cells[metric.name] = Cells(np.array(sorted(nodes), "i4"), np.array(rows, DTYPES[metric.type]))
    carts = (Cart(draw(NAMES), (("x", 9, True), ("y", 1, False)), ((0, (3, 0)),)),)
    attributes = draw(st.dictionaries(NAMES, NAMES, max_size=2))
    return Cube(tuple(metrics), regions, paths, places, groups, locations, compact(cells), carts, attributes, (draw(NAMES),))
