"""The kinds of changes that are ranked: whoever adds one adds a function to a file of this folder, and its row here.

Rows stand with causes before effects: of changes that say the same that of the earlier kind is named first.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of change, as the command line names and explains it."""

    word: str
    home: str
    """`file:function` in this folder: it returns what of this kind gains."""
    meaning: str
    by: tuple[str, ...]
    """What its changes can be about, words of BY in `ranking`."""
    of_parts: bool = False
    """Whether several processes ask for it, each of its part of a run."""


KINDS = (
    Kind(
        "serving",
        "serving:changes",
        "what a process prepares for each of the others in turn, and sends, prepared by those that get it",
        ("site", "rank"),
        of_parts=True,
    ),
    Kind(
        "pauses",
        "computation:pauses_of_some",
        "processes that pause now and then, each in other iterations than most others, compute there as long as they usually do",
        ("program",),
    ),
    Kind(
        "accumulation",
        "devices:accumulation",
        "gradients of micro-batches summed over the ranks once before the optimizer takes a step, not in each backward pass",
        ("program",),
    ),
    Kind(
        "threads",
        "computation:threads",
        "computation of each team of threads spread evenly over them; what one thread computes alone done by all of its process; MPI calls"
        " of one thread while the others compute; copies of devices while kernels run, and batches loaded ahead",
        ("program", "region", "site"),
    ),
    Kind(
        "balance",
        "computation:balance",
        "computation spread evenly over the processes: in the whole program, in each stretch between collectives of all, in a region, in"
        " one step, or behind a call site what one process does alone",
        ("program", "stretch", "region", "step", "site"),
        of_parts=True,
    ),
    Kind(
        "slowest",
        "computation:slowest",
        "a process or node that computes longer than others computes as long as all do on average",
        ("rank", "class", "node"),
        of_parts=True,
    ),
    Kind(
        "launches",
        "devices:launches",
        "launches of kernels take no time, as with CUDA graphs; in tables of operations, they are never late",
        ("program",),
    ),
    Kind(
        "pipeline",
        "devices:pipeline",
        "more and smaller micro-batches through the stages of a training job, or parts of the model interleaved",
        ("program",),
    ),
    Kind("order", "order:changes", "what is waited for runs earlier on its own process", ("call", "site")),
    Kind(
        "wait",
        "waits:changes",
        "calls do not wait: single ones, or all of a site, routine, region, step, process or pair; what polls goes on when it can",
        ("call", "site", "routine", "region", "step", "rank", "pair", "lock", "program"),
        of_parts=True,
    ),
    Kind(
        "protocol",
        "messages:protocol",
        "messages do not hold their sender until the receiver is there: those of a site, or up to another eager limit; or they move while"
        " it computes",
        ("program", "setting", "site"),
        of_parts=True,
    ),
    Kind("algorithm", "algorithms:changes", "collectives of a routine are made by the algorithm that takes least for them", ("routine",)),
    Kind(
        "placement",
        "placement:changes",
        "ranks on other nodes: in blocks, one by one, or pairs that change places so that those which exchange most share a node",
        ("node",),
    ),
    Kind("overlap", "devices:overlap", "nothing waits for the communication of streams and threads of their own", ("program",)),
    Kind(
        "collective", "instant:collectives", "the collectives of a site take no time but waiting; barriers none", ("site",), of_parts=True
    ),
    Kind("messages", "instant:messages", "the calls of a site that send or receive take no time", ("site",), of_parts=True),
    Kind("network", "messages:network", "latency and time per byte of a class of pairs halved, or none", ("pairs",), of_parts=True),
)
WORDS = tuple(kind.word for kind in KINDS)
OF_PARTS = tuple(kind.word for kind in KINDS if kind.of_parts)
