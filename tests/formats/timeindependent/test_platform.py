"""Platforms of SimGrid: what is read, by hand, and every refusal with its full message."""

import pytest

import time_independent as small
from perwiz.errors import TraceError
from perwiz.formats.timeindependent import platform
from perwiz.formats.timeindependent.platform import Route


def read(tmp_path, text):
    """Return the platform of a text."""
    (tmp_path / "p.xml").write_text(text, encoding="utf-8")
    return platform.read(str(tmp_path / "p.xml"))


def said(tmp_path, text):
    """Return what a text is refused with, its folder left out."""
    with pytest.raises(TraceError) as refused:
        read(tmp_path, text)
    return str(refused.value).replace(f"{tmp_path}/", "")


def test_cluster__two_links(tmp_path):
    found = read(tmp_path, small.CLUSTER)
    assert found.hosts == ("n0.x", "n1.x", "n4.x", "n5.x", "n6.x", "n7.x")
    assert (found.speeds[0], found.cores[0]) == (1e9, 1)
    assert found.between.latency == pytest.approx(2e-5)
    assert (found.between.bandwidth, found.within) == (1e9, Route(1e-6, 2e9))


def test_cluster__a_backbone_is_a_third_link(tmp_path):
    text = small.CLUSTER.replace('loopback_bw="2GBps" loopback_lat="1us"', 'bb_bw="100MBps" bb_lat="1us"')
    found = read(tmp_path, text)
    assert found.between.latency == pytest.approx(2.1e-5)
    assert found.between.bandwidth == 1e8
    assert found.within == found.between


def test_zone__links_of_a_route_add_up(tmp_path):
    found = read(tmp_path, small.LINKS)
    assert (found.hosts, found.speeds, found.cores) == (("a", "b"), (1e9, 2e9), (1, 2))
    assert found.between == Route(1.5e-6, 1e9)
    assert found.within == Route(0.0, 1e10)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5Gf", 5e9), ("98.095Mf", 98.095e6), ("1e3", 1e3), ("2Tflops", 2e12), ("3kf,1f", 3e3)],
)
def test_speed(text, value, tmp_path):
    assert read(tmp_path, small.CLUSTER.replace("1Gf", text)).speeds[0] == pytest.approx(value)


def test_host_of_each__round_robin(tmp_path):
    assert read(tmp_path, small.LINKS).host_of_each(2) == [0, 1]
    assert read(tmp_path, small.LINKS.replace('speed="1Gf"', 'speed="1Gf" core="2"')).host_of_each(4) == [0, 1, 0, 1]


def test_host_of_each__too_few_cores(tmp_path):
    with pytest.raises(TraceError, match=r"p\.xml: host a has 1 core for 2 of 3 ranks, must have a core for each$"):
        read(tmp_path, small.LINKS).host_of_each(3)


TWO = '<platform><zone id="z"><cluster id="a"/><cluster id="b"/></zone></platform>'
REFUSALS = [
    ("", "no XML: no element found: line 1, column 0, must be a platform file of SimGrid"),
    ("<machine/>", "holds <machine>, must be <platform>"),
    ("<platform/>", "no <cluster> and no <host>, must have one"),
    ("<!DOCTYPE p [<!ENTITY a 'b'>]><platform/>", "defines entities, must be plain XML"),
    ("<platform>" + "<zone>" * 70 + "</zone>" * 70 + "</platform>", "nests deeper than 64 levels, must be a platform file of SimGrid"),
    (TWO, "<cluster a> and <cluster b>, must be one cluster or one zone"),
    (TWO.replace("<zone", "<zone/><zone"), "<zone > and <zone z>, must be one cluster or one zone"),
    (
        '<platform><cluster topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"/></platform>',
        "<cluster> is a fat tree, must be flat, without topology=",
    ),
    (small.CLUSTER.replace('lat="10us"', ""), "<cluster> without lat, must have one"),
    (small.CLUSTER.replace("10us", "ten"), "<cluster> has lat 'ten', must be a number with its unit, like 2us"),
    (small.CLUSTER.replace('bw="1GBps"', 'bw="1GB"'), "<cluster> has bw '1GB', must be a number with its unit, like 1.25GBps"),
    (small.CLUSTER.replace("1Gf", "0f"), "<cluster> has speed '0f', must be a number with its unit, like 1Gf"),
    (small.CLUSTER.replace("0-1,4-7", "4-1"), "<cluster> has radical '4-1', must be like 0-15, of at most 1048576 hosts"),
    (small.CLUSTER.replace("0-1,4-7", "0-99999999"), "<cluster> has radical '0-99999999', must be like 0-15, of at most 1048576 hosts"),
    (small.LINKS.replace('core="2"', 'core="0"'), "<host> has core '0', must be a whole number from 1 to 999999"),
    (small.LINKS.replace('id="b" ', 'id="a" '), "hosts without name or of the same name, must each have an id of its own"),
    (small.LINKS.replace('dst="b"', 'dst="c"'), "<route> leads to 'c', must lead from host to host"),
    (small.LINKS.replace('ctn id="m"', 'ctn id="n"'), "<link_ctn> names 'n', must name a <link>"),
    (small.LINKS.replace('<link_ctn id="l"/><link_ctn id="m"/>', ""), "a <route> of no <link_ctn>, must have one"),
    (small.LINKS.replace('dst="b"', 'dst="b" symmetrical="NO"'), "no route for 1 pairs of hosts, must have one for each"),
    (
        small.LINKS.replace("</route>", '</route><route src="b" dst="a"><link_ctn id="l"/></route>'),
        "routes between hosts of 1e-06 s, 1e+09 B/s and 1.5e-06 s, 1e+09 B/s, must all be alike",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSALS)
def test_refusals(text, message, tmp_path):
    assert said(tmp_path, text) == f"p.xml: {message}"


def test_no_file(tmp_path):
    with pytest.raises(TraceError, match=r"none\.xml: no such file or directory, must be a platform file of SimGrid$"):
        platform.read(str(tmp_path / "none.xml"))
