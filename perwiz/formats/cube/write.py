"""Writing a Cube 4 file: a tar archive of anchor.xml and, per metric, its rows and their values.

Call paths are numbered depth first and all metrics are exclusive, so that the number of a row is that of its call path.
"""

from __future__ import annotations

import io
import re
import struct
import tarfile
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from perwiz.formats.cube.cube import DTYPES, Cart, Cells, Cube, Group, Location, Metric, Place, Region

VERSION = "4.4"
"""Version of the format; CubeLib 4.8 knows no later one that all tools read."""
INDEX, DATA = b"CUBEX.INDEX", b"CUBEX.DATA"
SPARSE = 1
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(cube: Cube, path: str) -> None:
    """Write a cube to a file. Raises OSError."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, "anchor.xml", anchor(cube).encode())
        for number, metric in enumerate(cube.metrics):
            if metric.name in cube.cells:
                cells = cube.cells[metric.name]
                _add(archive, f"{number}.index", _index(cells))
                _add(archive, f"{number}.data", DATA + cells.value.astype(f"<{DTYPES[metric.type]}").tobytes())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _index(cells: Cells) -> bytes:
    return INDEX + struct.pack("<IHBI", 1, 0, SPARSE, len(cells.node)) + cells.node.astype("<u4").tobytes()


def anchor(cube: Cube) -> str:
    """Return the text of anchor.xml, which has everything but the values."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<cube version="{VERSION}">', *_attributes(cube.attributes.items())]
    lines += ["<doc>", "<mirrors>", *(_text("murl", mirror) for mirror in cube.mirrors), "</mirrors>", "</doc>"]
    lines += ["<metrics>", *_metrics(cube), "</metrics>"]
    lines += ["<program>", *(line for row, region in enumerate(cube.regions) for line in _region(row, region)), *_paths(cube), "</program>"]
    carts = (line for cart in cube.carts for line in _cart(cart))
    lines += ["<system>", *_system(cube), "<topologies>", *carts, "</topologies>", "</system>"]
    return "\n".join([*lines, "</cube>", ""])


def _plain(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _text(tag: str, text: object) -> str:
    return f"<{tag}>{escape(_plain(str(text)), {chr(13): '&#13;'})}</{tag}>"


def _quoted(text: str) -> str:
    return quoteattr(_plain(text))


def _attributes(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"<attr key={_quoted(key)} value={_quoted(value)}/>" for key, value in pairs]


def _nested(parents: list[int], tag: str) -> Iterator[tuple[int, list[str]]]:
    """Yield, per row of a tree in depth-first order, how many elements to close before it; a last pair closes all."""
    open_rows: list[int] = []
    for row, parent in enumerate(parents):
        closed = 0
        while open_rows and open_rows[-1] != parent:
            open_rows.pop()
            closed += 1
        yield row, [f"</{tag}>"] * closed
        open_rows.append(row)
    yield -1, [f"</{tag}>"] * len(open_rows)


def _metrics(cube: Cube) -> Iterator[str]:
    number = {metric.name: row for row, metric in enumerate(cube.metrics)}
    for row, closing in _nested([number.get(metric.parent, -1) for metric in cube.metrics], "metric"):
        yield from closing
        if row >= 0:
            yield from _metric(row, cube.metrics[row])


def _metric(row: int, metric: Metric) -> list[str]:
    values = (metric.title, metric.name, metric.type, metric.unit, metric.url, metric.meaning)
    texts = zip(("disp_name", "uniq_name", "dtype", "uom", "url", "descr"), values, strict=True)
    return [f'<metric id="{row}" type="EXCLUSIVE">', *(_text(tag, value) for tag, value in texts)]


def _region(row: int, region: Region) -> list[str]:
    values = (region.name, region.mangled, region.paradigm, region.role, region.url, region.meaning)
    texts = zip(("name", "mangled_name", "paradigm", "role", "url", "descr"), values, strict=True)
    head = f'<region id="{row}" mod={_quoted(region.module)} begin="{region.begin}" end="{region.end}">'
    return [head, *(_text(tag, value) for tag, value in texts), "</region>"]


def _paths(cube: Cube) -> Iterator[str]:
    for row, closing in _nested([path.parent for path in cube.paths], "cnode"):
        yield from closing
        if row >= 0:
            path = cube.paths[row]
            line = f' line="{path.line}"' if path.line >= 0 else ""
            module = f" mod={_quoted(path.module)}" if path.module else ""
            yield f'<cnode id="{row}" calleeId="{path.region}"{line}{module}>'
            for part in path.parameters:
                yield f"<parameter partype={_quoted(part.kind)} parkey={_quoted(part.key)} parvalue={_quoted(part.value)}/>"


def _system(cube: Cube) -> Iterator[str]:
    groups: list[list[tuple[int, Group]]] = [[] for _ in cube.places]
    members: list[list[tuple[int, Location]]] = [[] for _ in cube.groups]
    for row, group in enumerate(cube.groups):
        groups[group.place].append((row, group))
    for row, location in enumerate(cube.locations):
        members[location.group].append((row, location))
    for row, closing in _nested([place.parent for place in cube.places], "systemtreenode"):
        yield from closing
        if row >= 0:
            yield from _place(row, cube.places[row])
            for number, group in groups[row]:
                yield from _group(number, group, members[number])


def _place(row: int, place: Place) -> list[str]:
    meaning = [_text("descr", place.meaning)] if place.meaning else []
    head = [f'<systemtreenode Id="{row}">', _text("name", place.name), _text("class", place.kind)]
    return [*head, *meaning, *_attributes(place.attributes)]


def _group(row: int, group: Group, members: list[tuple[int, Location]]) -> Iterator[str]:
    yield from (f'<locationgroup Id="{row}">', _text("name", group.name), _text("rank", group.rank), _text("type", group.kind))
    yield from _attributes(group.attributes)
    for number, location in members:
        yield from (f'<location Id="{number}">', _text("name", location.name), _text("rank", location.rank), _text("type", location.kind))
        yield from (*_attributes(location.attributes), "</location>")
    yield "</locationgroup>"


def _cart(cart: Cart) -> list[str]:
    sizes = [
        f'<dim name={_quoted(name)} size="{size}" periodic="{"true" if periodic else "false"}"/>'
        for name, size, periodic in cart.dimensions
    ]
    places = [f'<coord locId="{row}">{" ".join(map(str, place))}</coord>' for row, place in cart.coordinates]
    return [f'<cart name={_quoted(cart.name)} ndims="{len(cart.dimensions)}">', *sizes, *places, "</cart>"]
