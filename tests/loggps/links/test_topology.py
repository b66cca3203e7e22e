"""Topology files: links on the way from node to node, and what cannot be."""

import pytest

from perwiz.errors import ModelError
from perwiz.loggps.links.shapes import Dragonfly, Torus, fat_tree
from perwiz.loggps.links.topology import Topology, load

TREE = 'kind = "fat tree"\nports = [2, 2, 2]\noversubscription = [4, 1]\nnode_GB_per_s = 2\n'
FLY = 'kind = "dragonfly"\ngroups = 3\nrouters = 2\nnodes = 2\nnode_GB_per_s = 1\nglobal_GB_per_s = 4\n'
TORUS = 'kind = "torus"\ndims = [4, 3]\nnode_GB_per_s = 1\n'
SLURM = """SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[01-02]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[03,10]
SwitchName=top Level=1 LinkSpeed=1 Nodes=n[01-03,10] Switches=s[0-1]
"""
SWITCHES = 'kind = "fat tree"\nswitches = "slurm.txt"\nnode_GB_per_s = 1\noversubscription = 2\n'


def of(folder, text, slurm=SLURM):
    """Return the topology of a file with this text, beside what Slurm says."""
    (folder / "slurm.txt").write_text(slurm)
    (folder / "t.toml").write_text(text)
    return load(str(folder / "t.toml"))


def test_tree__goes_up_as_far_as_it_must(tmp_path):
    """Eight nodes, switches 0 to 3, 4 and 5, and 6: links from 16 on lead up, from 23 on down."""
    tree = of(tmp_path, TREE)
    assert tree.route(0, 1) == [0, 9]
    assert tree.route(0, 3) == [0, 16, 24, 11]
    assert tree.route(0, 7) == [0, 16, 20, 28, 26, 15]
    assert tree.capacities() == [2] * 16 + [1, 1, 1, 1, 2, 2, 4] * 2


def test_dragonfly__goes_the_minimal_way(tmp_path):
    """Local links from 24 on by group, from, to; global ones from 36 on. Group 0 reaches 2 from router 1, 2 is reached at its router 0."""
    fly = of(tmp_path, FLY)
    assert fly.route(0, 1) == [0, 13]
    assert fly.route(0, 2) == [0, 24 + 1, 14]
    assert fly.route(0, 11) == [0, 24 + 1, 36 + 2, 24 + 8 + 1, 23]
    assert fly.capacities()[24:] == [1] * 12 + [4] * 9


def test_torus__goes_the_short_way(tmp_path):
    """From (0, 0) to (3, 1): one backward in the first ring, then one forward in the second."""
    torus = of(tmp_path, TORUS)
    assert torus.route(0, 7) == [0, 24 + 1, 24 + (3 * 2 + 1) * 2, 12 + 7]
    assert len(torus.route(0, 2)) == 4


def test_switches__of_slurm(tmp_path):
    tree = of(tmp_path, SWITCHES)
    assert tree.hosts == ("n01", "n02", "n03", "n10")
    assert [tree.link(link) for link in (8, 12)] == ["up from switch s0", "down to switch s1"]
    assert tree.route(0, 3) == [0, 8, 12, 7]
    assert tree.capacities()[8:10] == [1, 1]
    assert tree.places(["n10", "n01"]) == [3, 0]


REFUSED = {
    'kind = "ring"': "t.toml: kind is 'ring', must be one of fat tree, dragonfly, torus",
    TREE + "port = 2": "t.toml: fat tree has 'port', must be one of kind, node_GB_per_s, hop_ns, reverse, hosts, ports, switches,"
    " oversubscription; did you mean ports?",
    TREE.replace("[4, 1]", "[4]"): "t.toml: oversubscription has 1 number, must have 2: one per level but the top",
    TREE.replace("[4, 1]", "0.5"): "t.toml: oversubscription is 0.5, must be a number from 1 to 1e+06",
    TREE.replace("ports = [2, 2, 2]", ""): "t.toml: a fat tree has both or none of ports and switches, must have one",
    TREE.replace("2, 2, 2", "262144, 262144"): "t.toml: 68719476736 nodes and 274877906944 links, must be at most 262144 and 4194304",
    TREE + 'hosts = ["n[1-9]"]': "t.toml: hosts are 9, must be at most 8: so many places there are",
    TREE + 'hosts = ["n[3-1]"]': "t.toml: hosts: 'n[3-1]', must have numbers that ascend, at most 262144 in all",
    TREE + 'hosts = ["a,a"]': "t.toml: hosts has 'a' twice, must have each once",
    FLY.replace("groups = 3", ""): "t.toml: lacks groups, must have it",
    TORUS.replace("4, 3", "4, 1"): "t.toml: dims has 1, must be from 2: one node is no ring",
    TORUS.replace("GB_per_s = 1", "GB_per_s = 0"): "t.toml: node_GB_per_s is 0, must be a number from 1e-06 to 1e+06",
}


@pytest.mark.parametrize("text", REFUSED)
def test_load__refuses(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.toml").write_text(text)
    with pytest.raises(ModelError) as refusal:
        load("t.toml")
    assert str(refusal.value) == REFUSED[text]


UNFIT = {
    "SwitchName=a Nodes=n[1-": "slurm.txt:1: 'n[1-', must be names such as n[001-016,020]",
    "SwitchName=a Level=0": "slurm.txt:1: switch a has neither Nodes= nor Switches=, must have one",
    "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2": "slurm.txt:2: switch a is there already in line 1, must be once",
    "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1": "slurm.txt:2: node n1 is at switch a already, must be at one",
    "SwitchName=a Switches=b": "slurm.txt:1: switch b is not there, must have a line",
    "SwitchName=a Switches=b\nSwitchName=b Switches=a": "slurm.txt: switches are above themselves, must be a tree",
    "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2": "slurm.txt: 2 switches are below none, must be one: the top",
    "a": "slurm.txt:1: 'a', must be SwitchName=... Nodes=... or Switches=...",
}


@pytest.mark.parametrize("text", UNFIT)
def test_switches__refuses(text, tmp_path):
    with pytest.raises(ModelError) as refusal:
        of(tmp_path, SWITCHES, text)
    assert str(refusal.value) == f"{tmp_path}/t.toml: {tmp_path}/{UNFIT[text]}"


def test_places__must_cover_the_nodes(tmp_path):
    with pytest.raises(ModelError, match=r"^t.toml: no place for 2 nodes of the run \('x', ...\), must have one for each$"):
        of(tmp_path, SWITCHES).places(["n01", "x", "y"])
    with pytest.raises(ModelError, match=r"^t.toml: places for 12 nodes, must be for 13: so many the run has$"):
        of(tmp_path, TORUS).places([f"n{k}" for k in range(13)])


def test_link__names():
    """As the way of a message from the first to the last node passes them."""
    shapes = {
        "tree": (fat_tree([2, 2], 1.0, [2.0]), ["up from switch 0", "down to switch 1"]),
        "dragonfly": (Dragonfly(2, 2, 1, 1.0, 1.0), ["group 0 to group 1", "group 1, router 0 to 1"]),
        "torus": (Torus((3, 3), 1.0), ["backward from router 0 in dimension 0", "backward from router 2 in dimension 1"]),
    }
    for name, (shape, between) in shapes.items():
        found = Topology(name, shape, 1.0, 0.0, 0.0, ("a",))
        last = shape.nodes - 1
        assert [found.link(link) for link in found.route(0, last)] == ["out of node a", *between, f"into node {last}"]
