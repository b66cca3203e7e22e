"""Platforms of SimGrid (docs of SimGrid 3.32, "Platform description"): hosts, their speed, and the links between them.

Read is what a model of one latency and one bandwidth between any two hosts can stand for: a flat cluster, or hosts with links and routes
that are all alike. Everything else is refused.
"""

from __future__ import annotations

import dataclasses
import math
import re
import xml.etree.ElementTree as xml

from perwiz.errors import TraceError
from perwiz.formats.source import content
from perwiz.words import several, shown

_LARGEST_FILE = 1 << 24
"""Bytes of the longest file that is read."""
_MOST_HOSTS, _DEEPEST = 1 << 20, 64
_LARGEST = 1e30
_TIME = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "": 1.0}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{prefix}i": 1024.0**power for power, prefix in enumerate("KMGTPE", start=1)}
_SPEED = {"": 1.0, **{prefix + unit: factor for prefix, factor in _PREFIXES.items() for unit in ("f", "flops")}}
_BANDWIDTH = {
    "": 1.0,
    **{prefix + "Bps": factor for prefix, factor in (_PREFIXES | _BINARY).items()},
    **{prefix + "bps": factor / 8 for prefix, factor in (_PREFIXES | _BINARY).items()},
}
_NUMBER = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-z]*)\s*")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_ZONES = ("zone", "AS")
_TWISTED = {"FAT_TREE": "a fat tree", "TORUS": "a torus", "DRAGONFLY": "a dragonfly", "STAR": "a star"}


@dataclasses.dataclass(frozen=True)
class Route:
    """What a message passes on its way, all links together."""

    latency: float
    """Sum of the links', seconds."""
    bandwidth: float
    """The smallest of the links', bytes per second."""


@dataclasses.dataclass(frozen=True)
class Platform:
    """The machine that a trace is to run on."""

    path: str
    hosts: tuple[str, ...]
    speeds: tuple[float, ...]
    """Flops per second of one core, per host."""
    cores: tuple[int, ...]
    """Per host."""
    between: Route
    """From any host to any other."""
    within: Route
    """From a host to itself."""
    own_links: bool = False
    """Whether each host has a link for what it sends and one for what it receives, which messages share."""

    def host_of_each(self, ranks: int) -> list[int]:
        """Return the host of each rank: rank r runs on host r, and where there are more ranks than hosts they begin anew.

        Raises TraceError if a host has less cores than ranks.
        """
        hosts = [rank % len(self.hosts) for rank in range(ranks)]
        for host in range(min(ranks, len(self.hosts))):
            share = (ranks - host - 1) // len(self.hosts) + 1
            if share > self.cores[host]:
                has = f"host {shown(self.hosts[host])} has {several(self.cores[host], 'core')} for {share} of {ranks} ranks"
                raise TraceError(f"{self.path}: {has}, must have a core for each")
        return hosts


def is_platform(head: bytes) -> bool:
    """Return whether a file begins like a platform."""
    return b"<platform" in head and head.lstrip().startswith(b"<")


def read(path: str) -> Platform:
    """Return the platform in a file. Raises TraceError naming the element, what is there and what must be."""
    text = content(path, _LARGEST_FILE, "a platform file of SimGrid")
    if b"<!ENTITY" in text:
        raise TraceError(f"{path}: defines entities, must be plain XML")
    parser = xml.XMLParser(target=_Builder())
    try:
        parser.feed(text)
        root = parser.close()
    except _TooDeep:
        raise TraceError(f"{path}: nests deeper than {_DEEPEST} levels, must be a platform file of SimGrid") from None
    except (xml.ParseError, LookupError, ValueError) as error:
        raise TraceError(f"{path}: no XML: {error}, must be a platform file of SimGrid") from None
    if root.tag != "platform":
        raise TraceError(f"{path}: holds <{shown(root.tag, 20)}>, must be <platform>")
    return _Reader(path).platform(root)


class _TooDeep(Exception):
    """More elements inside one another than a platform has."""


class _Builder(xml.TreeBuilder):
    """Builds a tree of limited depth."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> xml.Element:
        """Open an element."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeep
        return super().start(tag, attributes)

    def end(self, tag: str) -> xml.Element:
        """Close an element."""
        self._depth -= 1
        return super().end(tag)


class _Reader:
    """Reads one file; every error names it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def _refusal(self, what: str, must: str) -> TraceError:
        return TraceError(f"{self.path}: {what}, must {must}")

    def platform(self, root: xml.Element) -> Platform:
        """Return the platform that the only cluster or zone stands for."""
        inner = root
        while True:
            parts = [child for child in inner if child.tag in (*_ZONES, "cluster", "cabinet", "peer", "zoneRoute", "ASroute")]
            if not parts:
                return self._zone(inner)
            if len(parts) > 1:
                names = " and ".join(f"<{part.tag} {shown(part.get('id', ''), 20)}>" for part in parts[:2])
                raise self._refusal(f"{len(parts)} zones, {names} among them" if len(parts) > 2 else names, "be one cluster or one zone")
            if parts[0].tag == "cluster":
                return self._cluster(parts[0])
            if parts[0].tag not in _ZONES:
                raise self._refusal(f"<{parts[0].tag}>", "be a cluster, or hosts with links and routes")
            inner = parts[0]

    def _cluster(self, node: xml.Element) -> Platform:
        shape = node.get("topology", "FLAT")
        if shape != "FLAT":
            raise self._refusal(f"<cluster> is {_TWISTED.get(shape, shown(shape, 20))}", "be flat, without topology=")
        numbers = self._radical(node)
        latency, bandwidth = self._quantity(node, "lat", _TIME), self._quantity(node, "bw", _BANDWIDTH)
        between = Route(2 * latency, bandwidth)
        if node.get("bb_bw") is not None or node.get("bb_lat") is not None:
            backbone = self._quantity(node, "bb_bw", _BANDWIDTH)
            between = Route(between.latency + self._quantity(node, "bb_lat", _TIME, 0.0), min(bandwidth, backbone))
        within = between
        if node.get("loopback_bw") is not None or node.get("loopback_lat") is not None:
            within = Route(self._quantity(node, "loopback_lat", _TIME, 0.0), self._quantity(node, "loopback_bw", _BANDWIDTH))
        count = len(numbers)
        return Platform(
            path=self.path,
            hosts=tuple(f"{node.get('prefix', '')}{number}{node.get('suffix', '')}" for number in numbers),
            speeds=(self._speed(node),) * count,
            cores=(self._cores(node),) * count,
            between=between,
            within=within,
            own_links=node.get("sharing_policy", "SPLITDUPLEX") == "SPLITDUPLEX",
        )

    def _radical(self, node: xml.Element) -> list[int]:
        """Return the numbers of a cluster's hosts: `0-3,8`."""
        text = node.get("radical", "")
        out: list[int] = []
        for part in text.split(","):
            found = _RANGE.fullmatch(part.strip())
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
            if first > last or len(out) + last - first >= _MOST_HOSTS:
                raise self._refusal(f"<cluster> has radical '{shown(text, 40)}'", f"be like 0-15, of at most {_MOST_HOSTS} hosts")
            out += range(first, last + 1)
        return out

    def _zone(self, zone: xml.Element) -> Platform:
        """Return the platform of hosts, links and routes."""
        hosts = zone.findall("host")
        if not hosts:
            raise self._refusal("no <cluster> and no <host>", "have one")
        names = [host.get("id", "") for host in hosts]
        if len(set(names)) < len(names) or "" in names:
            raise self._refusal("hosts without name or of the same name", "each have an id of its own")
        links = {link.get("id", ""): self._link(link) for link in zone.findall("link")}
        known = set(names)
        routes: dict[tuple[str, str], Route] = {}
        for node in zone.findall("route"):
            ends = node.get("src", ""), node.get("dst", "")
            for end in ends:
                if end not in known:
                    raise self._refusal(f"<route> leads to '{shown(end, 40)}'", "lead from host to host")
            routes[ends] = self._route(node, links)
            if node.get("symmetrical", "YES").upper() != "NO":
                routes.setdefault((ends[1], ends[0]), routes[ends])
        return Platform(
            path=self.path,
            hosts=tuple(names),
            speeds=tuple(self._speed(host) for host in hosts),
            cores=tuple(self._cores(host) for host in hosts),
            between=self._only("between hosts", names, {ends: route for ends, route in routes.items() if ends[0] != ends[1]}),
            within=self._within(names, routes),
        )

    def _only(self, where: str, names: list[str], routes: dict[tuple[str, str], Route]) -> Route:
        """Return the route that all pairs have."""
        lacking = len(names) * (len(names) - 1) - len(routes)
        if lacking and len(names) > 1:
            raise self._refusal(f"no route for {lacking} pairs of hosts", "have one for each")
        kinds = sorted(set(routes.values()), key=lambda route: (route.latency, route.bandwidth))
        if len(kinds) > 1:
            said = " and ".join(f"{route.latency:g} s, {route.bandwidth:g} B/s" for route in (kinds[0], kinds[-1]))
            raise self._refusal(f"routes {where} of {said}", "all be alike")
        return kinds[0] if kinds else Route(0.0, _LARGEST)

    def _within(self, names: list[str], routes: dict[tuple[str, str], Route]) -> Route:
        """Return the route from a host to itself: what SimGrid puts there if nothing else is said is 10 GB/s without latency."""
        own = {routes.get((name, name), Route(0.0, 1e10)) for name in names}
        if len(own) > 1:
            raise self._refusal("routes of hosts to themselves that differ", "all be alike")
        return own.pop()

    def _link(self, node: xml.Element) -> Route:
        return Route(self._quantity(node, "latency", _TIME, 0.0), self._quantity(node, "bandwidth", _BANDWIDTH))

    def _route(self, node: xml.Element, links: dict[str, Route]) -> Route:
        passed = []
        for part in node.findall("link_ctn"):
            name = part.get("id", "")
            if name not in links:
                raise self._refusal(f"<link_ctn> names '{shown(name, 40)}'", "name a <link>")
            passed.append(links[name])
        if not passed:
            raise self._refusal("a <route> of no <link_ctn>", "have one")
        return Route(sum(link.latency for link in passed), min(link.bandwidth for link in passed))

    def _speed(self, node: xml.Element) -> float:
        """Return the speed of a core: of several performance states the first."""
        first = node.get("speed", "").split(",")[0]
        return self._value(node, "speed", first, _SPEED)

    def _cores(self, node: xml.Element) -> int:
        text = node.get("core", "1").strip()
        if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
            raise self._refusal(f"<{node.tag}> has core '{shown(text, 20)}'", "be a whole number from 1 to 999999")
        return int(text)

    def _quantity(self, node: xml.Element, key: str, units: dict[str, float], default: float | None = None) -> float:
        text = node.get(key)
        if text is None:
            if default is not None:
                return default
            raise self._refusal(f"<{node.tag}> without {key}", "have one")
        return self._value(node, key, text, units)

    def _value(self, node: xml.Element, key: str, text: str, units: dict[str, float]) -> float:
        """Return a number in seconds, flops per second or bytes per second. Only a latency may be 0."""
        found = _NUMBER.fullmatch(text)
        factor = units.get(found[2]) if found else None
        value = float(found[1]) * factor if found and factor else math.nan
        if not (0 if units is _TIME else 1e-30) <= value <= _LARGEST:
            example = "2us" if units is _TIME else "1Gf" if units is _SPEED else "1.25GBps"
            raise self._refusal(f"<{node.tag}> has {key} '{shown(text, 20)}'", f"be a number with its unit, like {example}")
        return value
