"""Reading anchor.xml of a Cube 4 file: metrics, call tree and system, and where their values stand."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.cube.cube import DOUBLE, SIGNED, UNSIGNED, CallPath, Cart, Cube, Group, Location, Metric, Parameter, Place, Region
from perwiz.trace.arrays import Ints
from perwiz.words import shown

_NAMES = (
    ("f8", "DOUBLE FLOAT"),
    ("i8", "INT64 INTEGER SIGNED_INTEGER"),
    ("u8", "UINT64 UNSIGNED_INTEGER"),
    ("i4", "INT32 INT SIGNED_INT"),
    ("u4", "UINT32 UNSIGNED_INT"),
    ("i2", "INT16 SHORT_INT SIGNED_SHORT_INT"),
    ("u2", "UINT16 UNSIGNED_SHORT_INT"),
    ("i1", "INT8"),
    ("u1", "UINT8 CHAR"),
)
STORED = {name.replace("_", " "): dtype for dtype, names in _NAMES for name in names.split()}
"""Types of values that can be added up, and how numpy calls them."""
_TYPES = {"f": DOUBLE, "i": SIGNED, "u": UNSIGNED}
_DEEPEST = 10_000
"""Levels of the XML: more than any program has."""
ROOT = "program"
"""Name of a root above several."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """How the values of a metric stand in the file."""

    metric: Metric
    number: str
    """Of its files in the archive."""
    dtype: str
    inclusive: bool
    """Whether the value of a call path contains those below it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Anchor:
    """What anchor.xml says."""

    cube: Cube
    """Without cells."""
    stored: tuple[Stored, ...]
    deep: Ints
    """Per row of an exclusive metric its call path."""
    wide: Ints
    """Per row of an inclusive metric its call path."""
    column: Ints
    """Per location its column in the file."""


class _Builder(xml.TreeBuilder):
    """Builds the tree, but of no document that defines entities, and of none without end of depth."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def doctype(self, *_: object) -> None:
        """Refuse."""
        raise TraceError("anchor.xml defines a document type, must be plain")

    def start(self, tag: str, attributes: dict[str, str]) -> xml.Element:
        """Open an element."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TraceError(f"anchor.xml nests deeper than {_DEEPEST} levels")
        return super().start(tag, attributes)

    def end(self, tag: str) -> xml.Element:
        """Close an element."""
        self._depth -= 1
        return super().end(tag)


def parse(text: bytes) -> Anchor:
    """Return what an anchor.xml says. Raises TraceError, without the name of the file, for one that makes no sense."""
    parser = xml.XMLParser(target=_Builder())
    try:
        parser.feed(text)
        root = parser.close()
    except (xml.ParseError, LookupError, ValueError) as error:
        raise TraceError(f"anchor.xml is no XML: {error}") from None
    if root.tag != "cube":
        raise TraceError(f"anchor.xml holds <{shown(root.tag)}>, must be <cube>")
    return _anchor(root)


def _anchor(root: xml.Element) -> Anchor:
    faults: list[str] = []
    stored, metrics = _metrics(_child(root, "metrics"), faults)
    program, system = _child(root, "program"), _child(root, "system")
    number, regions = _regions(program)
    paths, wide = _paths(program, number, regions)
    places, groups, locations, ids = _system(system)
    column = np.empty(len(ids), "i8")
    column[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    row_of = {location: row for row, location in enumerate(ids)}
    deep = np.arange(len(paths) - len(wide), len(paths))
    cube = Cube(
        metrics=tuple(metrics),
        regions=tuple(regions),
        paths=tuple(paths),
        places=tuple(places),
        groups=tuple(groups),
        locations=tuple(locations),
        cells={},
        carts=tuple(_cart(cart, row_of) for cart in system.iterfind("topologies/cart")),
        attributes=dict(_attributes(root)),
        mirrors=tuple(mirror.text or "" for mirror in root.iterfind("doc/mirrors/murl")),
        faults=tuple(faults),
    )
    return Anchor(cube, tuple(stored), deep, np.array(wide, "i8"), column)


def _child(node: xml.Element, tag: str) -> xml.Element:
    child = node.find(tag)
    if child is None:
        raise TraceError(f"anchor.xml has no <{tag}>, must have one")
    return child


def _text(node: xml.Element, tag: str) -> str:
    return node.findtext(tag) or ""


def _number(node: xml.Element, key: str, default: int | None = None) -> int:
    """Return the whole number that is an attribute, or else the text of a child."""
    text = node.get(key, node.findtext(key) or "").strip()
    if not text and default is not None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise TraceError(f"anchor.xml: <{node.tag}> has {key} '{shown(text, 20)}', must be a whole number")
    return number


def _attributes(node: xml.Element) -> tuple[tuple[str, str], ...]:
    return tuple((attribute.get("key", ""), attribute.get("value", "")) for attribute in node.iterfind("attr"))


def _walk(roots: Iterable[xml.Element], tag: str) -> Iterable[tuple[xml.Element, int]]:
    """Yield elements depth first, each with the number of its parent, -1 at the top."""
    stack = [(root, -1) for root in reversed(list(roots))]
    row = 0
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack += [(child, row) for child in reversed(node.findall(tag))]
        row += 1


def _metrics(node: xml.Element, faults: list[str]) -> tuple[list[Stored], list[Metric]]:
    """Return the metrics whose values can be added up; those below one that is left out move up."""
    stored, metrics = list[Stored](), list[Metric]()
    name_of, names = list[str](), set[str]()
    for element, parent in _walk(node.findall("metric"), "metric"):
        name, dtype, kind = _text(element, "uniq_name").strip(), _text(element, "dtype").strip(), element.get("type", "EXCLUSIVE")
        above = name_of[parent] if parent >= 0 else ""
        if name in names:
            raise TraceError(f"anchor.xml: two metrics '{shown(name)}', must have names of their own")
        if not name:
            raise TraceError("anchor.xml: a metric without a name, must have one")
        if dtype not in STORED or kind not in ("EXCLUSIVE", "INCLUSIVE"):
            faults.append(f"metric '{shown(name)}' left out: values of type {shown(dtype, 30)}, {shown(kind, 30)}")
            name_of.append(above)
            continue
        names.add(name)
        name_of.append(name)
        title, unit, meaning, url = (_text(element, tag) for tag in ("disp_name", "uom", "descr", "url"))
        metrics.append(Metric(name, title, above, unit.strip(), _TYPES[STORED[dtype][0]], meaning, url))
        stored.append(Stored(metrics[-1], element.get("id", ""), STORED[dtype], kind == "INCLUSIVE"))
    return stored, metrics


def _regions(program: xml.Element) -> tuple[dict[int, int], list[Region]]:
    """Return (row per id, regions)."""
    number, regions = dict[int, int](), list[Region]()
    for row, element in enumerate(program.iterfind("region")):
        number[_number(element, "id")] = row
        begin, end = _number(element, "begin", -1), _number(element, "end", -1)
        texts = (_text(element, tag) for tag in ("paradigm", "role", "url", "descr"))
        regions.append(Region(_text(element, "name"), _text(element, "mangled_name"), element.get("mod", ""), begin, end, *texts))
    return number, regions


def _paths(program: xml.Element, number: dict[int, int], regions: list[Region]) -> tuple[list[CallPath], list[int]]:
    """Return (call paths depth first, those in the file's own order of inclusive metrics); above several roots comes a new one."""
    roots = program.findall("cnode")
    if not roots:
        raise TraceError("anchor.xml has no call path, must have one")
    shift = int(len(roots) > 1)
    paths, below = list[CallPath](), [list[int]() for _ in range(shift)]
    if shift:
        paths.append(CallPath(len(regions)))
        regions.append(Region(ROOT, ROOT, role="artificial"))
    top = list[int]()
    for element, parent in _walk(roots, "cnode"):
        callee, row = number.get(_number(element, "calleeId")), len(paths)
        if callee is None:
            raise TraceError(f"anchor.xml: call path {shown(element.get('id', ''), 20)} is of a region that is not there")
        (top if parent < 0 else below[parent + shift]).append(row)
        below.append([])
        parent = parent + shift if parent >= 0 or shift else -1
        values = (Parameter(p.get("partype", ""), p.get("parkey", ""), p.get("parvalue", "")) for p in element.iterfind("parameter"))
        paths.append(CallPath(callee, parent, _number(element, "line", -1), element.get("mod", ""), tuple(values)))
    return paths, _wide(top, below)


def _wide(top: list[int], below: list[list[int]]) -> list[int]:
    """Return call paths in the order of inclusive metrics: all children of one, then what is below the first, the second ..."""
    order = []
    for root in top:
        order.append(root)
        stack = [root]
        while stack:
            children = below[stack.pop()]
            order += children
            stack += reversed(children)
    return order


def _system(system: xml.Element) -> tuple[list[Place], list[Group], list[Location], list[int]]:
    """Return (places, groups, locations, their ids), all in the order of the tree; above several roots comes a new one."""
    roots = system.findall("systemtreenode")
    shift = int(len(roots) > 1)
    places = [Place("system", "metacomputer")] * shift
    groups, locations, ids = list[Group](), list[Location](), list[int]()
    for element, parent in _walk(roots, "systemtreenode"):
        parent = parent + shift if parent >= 0 or shift else -1
        kind = _text(element, "class") or element.get("class", "")
        for group in element.iterfind("locationgroup"):
            groups.append(Group(_text(group, "name"), _number(group, "rank", -1), len(places), _text(group, "type"), _attributes(group)))
            for location in group.iterfind("location"):
                ids.append(_number(location, "Id"))
                rank, type_ = _number(location, "rank", -1), _text(location, "type")
                locations.append(Location(_text(location, "name"), rank, len(groups) - 1, type_, _attributes(location)))
        places.append(Place(_text(element, "name"), kind, parent, _text(element, "descr"), _attributes(element)))
    if not locations:
        raise TraceError("anchor.xml has no location, must have one")
    if len(set(ids)) < len(ids):
        raise TraceError("anchor.xml: two locations of one number, must have numbers of their own")
    return places, groups, locations, ids


def _cart(cart: xml.Element, row_of: dict[int, int]) -> Cart:
    name = shown(cart.get("name", ""))
    dims = tuple((element.get("name", ""), _number(element, "size"), element.get("periodic") == "true") for element in cart.iterfind("dim"))
    places = []
    for element in cart.iterfind("coord"):
        row, coordinates = row_of.get(_number(element, "locId")), _numbers(element.text or "")
        if row is None or coordinates is None or len(coordinates) != len(dims):
            raise TraceError(f"anchor.xml: topology '{name}': a place of no location, or of other than {len(dims)} dimensions")
        places.append((row, coordinates))
    return Cart(cart.get("name", ""), dims, tuple(places))


def _numbers(text: str) -> tuple[int, ...] | None:
    read: Callable[[str], int] = int
    try:
        return tuple(map(read, text.split()))
    except ValueError:
        return None
