"""The kinds of hypotheses: whoever adds one adds a class to a file of this folder, and its row here.

The command line, its help and the names that `perwiz` exports are made from these rows, without loading what stands behind them.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of hypothesis, as the command line names and explains it."""

    word: str
    """Its option, and the first word of its text."""
    home: str
    """`file:Class` in this folder."""
    argument: str
    meaning: str

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.home.partition(":")[2]

    @property
    def module(self) -> str:
        """The module that its class is in."""
        return f"{__name__}.{self.home.partition(':')[0]}"


KINDS = (
    Kind(
        "zero-wait",
        "waits:ZeroWait",
        "CALLS",
        "these calls do not wait: they go on as if their partners had come; the partners come when they did",
    ),
    Kind("zero-time", "waits:ZeroTime", "CALLS", "these calls return when they are entered"),
    Kind(
        "zero-transfer",
        "waits:ZeroTransfer",
        "CALLS",
        "these calls take no time but waiting: a collective, such as op:MPI_Allreduce or op:dist_all_reduce, returns when its last process"
        " has come",
    ),
    Kind(
        "zero-poll",
        "waits:ZeroPoll",
        "CALLS",
        "these tests and probes take no time where they find nothing: the process goes on when what it polls for is there",
    ),
    Kind(
        "alone",
        "waits:Alone",
        "CALLS",
        "nothing runs on other streams of a process while these calls of a stream do, such as op:dist_all_reduce: no overlap",
    ),
    Kind(
        "hide",
        "waits:Hide",
        "CALLS",
        "these calls of a stream or thread, such as op:dist_all_reduce, run beside what their process computes before them, as far as they"
        " fit, so that nothing but who waits for the whole device waits longer for them: full overlap",
    ),
    Kind(
        "eager",
        "waits:Eager",
        "CALLS|SIZE",
        "messages sent by these calls do not hold their sender until the receiver is there; of a size (64KiB, between-nodes:64KiB): so do"
        " all up to that, longer ones hold it",
    ),
    Kind(
        "progress",
        "network:MessageProgress",
        "always|'in calls'",
        "messages that hold their sender move always, as with a thread or hardware that makes progress, or only while their receiver is in"
        " calls",
    ),
    Kind(
        "balance-time",
        "computation:BalanceTime",
        "REGION[#K[..M]]",
        "in every instance of the region, or the K-th, or the K-th to the M-th, every process computes for the mean of their times; all: in"
        " the whole program between MPI_Init and MPI_Finalize; stages: what the stages of a pipeline compute of micro-batches;"
        " between-collectives: in each stretch between two collectives in which all processes wait for each other; behind CALLS: from"
        " each of these calls, such as site:MPI_Gather, to the next call (of regions with these names, the region)",
    ),
    Kind(
        "balance-messages",
        "network:BalanceMessages",
        "REGION[#K[..M]]",
        "in every instance of the region, or some, every process that sends passes the mean of bytes",
    ),
    Kind(
        "balance-threads",
        "threads:BalanceThreads",
        "REGION[#K[..M]]",
        "in every team of threads opened in the region, or all, each thread computes for the mean of the team, from barrier to barrier",
    ),
    Kind(
        "threads",
        "threads:Threads",
        "REGION=N",
        "the teams opened in the region, or all, have N threads: they share the same work in equal blocks of the recorded order; what forks"
        " and barriers take is fitted to the sizes of teams that the run shows, and stays if there is one",
    ),
    Kind(
        "schedule",
        "threads:Schedule",
        "REGION=dynamic[,N]",
        "in the teams opened in the region, or all, whichever thread is free takes the next piece of work: pieces as calls and regions tell"
        " them apart, or N equal ones of each thread's work",
    ),
    Kind(
        "parallel",
        "threads:Parallel",
        "REGION[#K[..M]]",
        "what the first thread of a process computes alone in the region, or in all, is done by as many threads as its largest team has",
    ),
    Kind(
        "overlap",
        "overlap:Overlap",
        "CALLS",
        "these MPI calls, which the first thread makes outside of its teams, run beside the team it opens next: the others begin without"
        " it, and take over so much of its work that it ends with them",
    ),
    Kind(
        "dynamic",
        "dynamic:Dynamic",
        "REGION[#K[..M]][=ORDER]",
        "every instance of the region is a task, and whichever process is free takes the next one, up to where processes meet; ORDER is"
        " blocks, those of one process after another, or turns, as if not said: the first ones of all, then the second ones, ...; fetching"
        " a task costs nothing",
    ),
    Kind(
        "distribute",
        "computation:Distribute",
        "CALLS",
        "what a process computes ahead of each of these sends to several others in turn is computed by who gets the message, behind its"
        " receive: each prepares its own piece",
    ),
    Kind(
        "micro-batches",
        "order:MicroBatches",
        "K|many",
        "K times as many micro-batches, each the K-th part as long, through the stages of a training job; as much is gained with K parts of"
        " the model on each rank, interleaved; many: no bubbles",
    ),
    Kind(
        "scale",
        "computation:Scale",
        "REGION[@rank:R]=FACTOR",
        "computation inside the region takes FACTOR of its time, on all processes or on one, rank:0-7, node:NAME or group:NAME; MPI calls"
        " keep theirs",
    ),
    Kind(
        "typical",
        "usual:Typical",
        "all|REGION|rank:R|'all but ...'",
        "each instance of a region takes the mean of all of its path, and each message and collective call, beside waiting, the median of"
        " its call site: all, those in a region, of ranks (rank:R, node:NAME, group:NAME), or all but these",
    ),
    Kind(
        "usual",
        "usual:Usual",
        "iterations|REGION[@rank:R]",
        "in each iteration, or instance of the region, in which a process computes far longer than it usually does and most others do not,"
        " it computes for the median of its own: no garbage collection, no checkpoint of one rank, no other program on its core now and"
        " then",
    ),
    Kind(
        "accumulate",
        "computation:Accumulate",
        "gradients",
        "gradients of micro-batches add up on each rank, and all ranks sum them once before the optimizer takes a step: what all backward"
        " passes but the last sum takes no time, as with no_sync() of PyTorch",
    ),
    Kind(
        "speed",
        "computation:Speed",
        "rank:R=FACTOR",
        "the process, those of rank:0-7, of node:NAME or of group:NAME compute FACTOR times as fast",
    ),
    Kind(
        "network",
        "network:Network",
        "MODEL",
        "another network: a shipped model, a TOML file, a platform of SimGrid, or changes such as"
        " L_ns=1000,between-nodes:G_ns_per_byte=0.08 (12.5 GB/s)",
    ),
    Kind(
        "links",
        "placement:Links",
        "FILE|full",
        "messages between nodes share the links of this topology (fat tree, dragonfly or torus) where these are overloaded, in place of"
        " those of --topology, or of none but the links of nodes; full: of those of --topology none but these is ever overloaded",
    ),
    Kind(
        "placement",
        "placement:Placement",
        "block|cyclic|swap:R-R|FILE",
        "ranks on other nodes: in blocks or one by one, on nodes with as many slots as now or block:4x8, 4 nodes of 8 slots; swap:3-17,5-9,"
        " pairs change places; a file with the node of each rank, a line each, or an Open MPI rankfile; with --model interfaces=1 messages"
        " between nodes share the interface of each",
    ),
    Kind(
        "collective",
        "collectives:Collective",
        "ROUTINE=ALGORITHM",
        "these collectives are made by another algorithm, in rounds of messages: allreduce=ring, bcast@solve.c:112=chain:64KiB; best: by"
        " what takes least for its processes and bytes; 'allreduce=ring was linear' says how they were made, else their times and the rules"
        " of MPICH and Open MPI do",
    ),
    Kind(
        "nccl",
        "collectives:Nccl",
        "ROUTINE=WAY|bandwidth=FACTOR",
        "collectives of NCCL take another algorithm or protocol, as its tuning table says: allreduce=tree, allreduce=ring:LL128, all=LL,"
        " all=best; links FACTOR times as fast (bandwidth=2), latencies as long (latency=0.5); 'allreduce=tree was ring:LL'"
        " says how they were made, else the table does at the bandwidth that is nearest to the recorded times",
    ),
    Kind(
        "advance",
        "order:Advance",
        "CALL",
        "what this call (e12, or several: e12,e17 or a call site) waits for runs earlier on its own process, no further than the wait asks:"
        " the one call"
        " with the computation before it, or with 'e12 by REGION' the whole instance of the region that it lies in, ahead of any calls and"
        " regions that are before it inside the same outer region; with 'e12 before REGION' the send alone, ahead of the region computed"
        " before it, with 'e12 before computation' ahead of all that is, with 'e12 before receive' ahead of the receive before it",
    ),
    Kind(
        "move",
        "order:Move",
        "'CALLS before CALL'",
        "calls of a process run earlier, each with the computation before it, such as 'e40..e44 before e30'",
    ),
)
"""In the order of the help."""

NOTES = """
--zero-wait promises what a call would gain if it did not wait; its partner keeps its own time. --advance and --move change the order of
calls instead, as one would in the source. They keep what messages, requests and collectives demand: nothing may overtake, complete before
it is posted, or deadlock, and regions stay whole. Whether a call needs data that an earlier one received or computed is not in a trace:
the calls that move are taken to need none from those they pass. Moves that need each other are given together.
"""
"""What else the help says of them."""

LISTED = {
    **dict.fromkeys(("balance-time", "balance-messages", "balance-threads", "parallel", "dynamic"), ""),
    **dict.fromkeys(("scale", "speed", "threads", "schedule"), "="),
}
"""Kinds that take several names joined by commas, as if each were asked by itself, and what ends the list."""


def kind(word: str) -> Kind | None:
    """Return the kind of hypothesis of a word, None for another word."""
    return next((row for row in KINDS if row.word == word), None)
