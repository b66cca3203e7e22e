"""What `scontrol show topology` of Slurm prints: switches, their nodes, and the switches below them.

    SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[001-016]
    SwitchName=top Level=1 LinkSpeed=1 Nodes=n[001-032] Switches=s[0-1]

(slurm.schedmd.com, scontrol and topology.conf; a switch of a higher level repeats all nodes below it.)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from perwiz.errors import ModelError
from perwiz.loggps.links.shapes import NO_SWITCH
from perwiz.words import shown

_NUMBERS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_PARTS = re.compile(r"([^\[\],\s]*)(?:\[([^\[\]]*)\])?([^\[\],\s]*)")


@dataclasses.dataclass(frozen=True)
class Switches:
    """A tree of switches."""

    hosts: tuple[str, ...]
    leaf: tuple[int, ...]
    """Switch of each host."""
    above: tuple[int, ...]
    """Switch above each, or NO_SWITCH."""
    names: tuple[str, ...]
    """Of each switch."""
    levels: int


def expanded(place: str, text: str, most: int) -> list[str]:
    """Return the names that a list in the short form stands for: n[001-003,007],login -> n001 n002 n003 n007 login. Raises ModelError."""
    out: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text.strip()):
        match = _PARTS.fullmatch(part)
        if not match or not part:
            raise ModelError(f"{place}: {shown(part, 40)!r}, must be names such as n[001-016,020]")
        if match[2] is None:
            out.append(part)
            continue
        for piece in match[2].split(","):
            found = _NUMBERS.fullmatch(piece)
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
            if found is None or first > last or len(out) + last - first >= most:
                raise ModelError(f"{place}: {shown(part, 40)!r}, must have numbers that ascend, at most {most} in all")
            out += [f"{match[1]}{number:0{len(found[1])}d}{match[3]}" for number in range(first, last + 1)]
    return out


def switches(path: str, text: Callable[[str], str], most: int) -> Switches:
    """Return the tree of switches in a file that `text` reads. Raises ModelError naming the line."""
    nodes, below, line_of = dict[str, list[str]](), dict[str, list[str]](), dict[str, int]()
    for number, line in enumerate(text(path).splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        place = f"{path}:{number}"
        said = dict(part.partition("=")[::2] for part in line.split())
        name = said.get("SwitchName")
        if not name:
            raise ModelError(f"{place}: {shown(line, 40)!r}, must be SwitchName=... Nodes=... or Switches=...")
        if name in nodes:
            raise ModelError(f"{place}: switch {shown(name, 40)} is there already in line {line_of[name]}, must be once")
        nodes[name] = expanded(place, said["Nodes"], most) if said.get("Nodes") else []
        below[name] = expanded(place, said["Switches"], most) if said.get("Switches") else []
        line_of[name] = number
        if not nodes[name] and not below[name]:
            raise ModelError(f"{place}: switch {shown(name, 40)} has neither Nodes= nor Switches=, must have one")
    above = _above(path, below, line_of)
    hosts = dict[str, str]()
    for name in nodes:
        for host in nodes[name] if not below[name] else []:
            if host in hosts:
                where = f"{path}:{line_of[name]}: node {shown(host, 40)}"
                raise ModelError(f"{where} is at switch {shown(hosts[host], 40)} already, must be at one")
            hosts[host] = name
    row = {name: number for number, name in enumerate(nodes)}
    upper = tuple(row[above[name]] if name in above else NO_SWITCH for name in nodes)
    return Switches(tuple(hosts), tuple(row[name] for name in hosts.values()), upper, tuple(nodes), _levels(path, upper))


def _above(path: str, below: dict[str, list[str]], line_of: dict[str, int]) -> dict[str, str]:
    """Return the switch above each."""
    out = dict[str, str]()
    for name, lower in below.items():
        for other in lower:
            place = f"{path}:{line_of[name]}: switch {shown(other, 40)}"
            if other not in below:
                raise ModelError(f"{place} is not there, must have a line")
            if other in out:
                raise ModelError(f"{place} is below {shown(out[other], 40)} already, must be below one")
            out[other] = name
    return out


def _levels(path: str, above: tuple[int, ...]) -> int:
    """Return how many levels there are. Raises ModelError if switches are above themselves, or none is above all."""
    tops = above.count(NO_SWITCH)
    deepest, depth = 0, [0 if upper == NO_SWITCH else -1 for upper in above]
    for switch in range(len(above)):
        passed = [switch]
        while depth[passed[-1]] < 0 and len(passed) <= len(above):
            passed.append(above[passed[-1]])
        if depth[passed[-1]] < 0:
            raise ModelError(f"{path}: switches are above themselves, must be a tree")
        for lower in reversed(passed[:-1]):
            depth[lower] = depth[above[lower]] + 1
        deepest = max(deepest, depth[switch])
    if tops != 1:
        raise ModelError(f"{path}: {tops} switches are below none, must be one: the top")
    return deepest + 1
