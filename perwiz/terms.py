"""The words of reports that a reader may not know, each explained in one line: what `perwiz explain` and docs/terms.md say of them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means, and how else reports write it."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return how reports write it; a letter alone is no word."""
        return tuple(word for word in (self.name, *self.also) if len(word) > 1)


TERMS = (
    Term("makespan", "the time of the whole run, from the first instant of any process to the last of any"),
    Term("waiting", "the time a call stands still because a partner that it needs has not come; what else it takes is work"),
    Term("work", "what a call takes beside waiting: copying, overhead, anything the system did"),
    Term("gain", "how much shorter the whole run would be; a loss is how much longer", ("loss",)),
    Term("hypothesis", "a change of the run that is asked about, such as --zero-wait e25; several are one changed program"),
    Term(
        "zero-wait",
        "a call goes on as if its partner had come, its partner stays where it was: what the wait is worth, not its cure",
    ),
    Term("zero-time", "a call returns the instant it is entered"),
    Term("advance", "what a call waits for runs earlier on its own process, as far as the order that MPI demands allows"),
    Term("region", "a part of the program that its author or its compiler marked, such as a function or a loop"),
    Term("step", "the k-th instance of a region on every process, written NAME#k", ("parallel step",)),
    Term(
        "call site",
        "calls of one routine made in the same regions, and at one place in the source if that is known",
        ("site",),
    ),
    Term("domino path", "waits from process to process, each because of the one before: without the first the others fall"),
    Term("critical path", "a longest chain of computation, calls and messages from the start of the run to its end; no wait lies on it"),
    Term("slack", "how much later a call may return before the end of the run is later too"),
    Term("lag", "the time from the entry of a partner's call until the waiting call can go on: of a message, how long it is under way"),
    Term("model", "what messages and collectives cost on the machine, in the letters of LogGPS; fitted to the trace if --model gives none"),
    Term("L", "latency: what a message is under way beyond what sender and receiver spend on it", ("L_ns", "latency", "latencies")),
    Term(
        "o", "overhead: what a process spends on sending (o_s) or receiving (o_r) one message", ("o_ns", "o_s_ns", "o_r_ns", "o_s", "o_r")
    ),
    Term("g", "gap: the least time between two messages that a process sends", ("g_ns",)),
    Term("G", "what each byte of a message adds to the time it is under way: one over the bandwidth", ("G_ns_per_byte",)),
    Term(
        "O", "overhead per byte, of sending (O_s) or receiving (O_r)", ("O_ns_per_byte", "O_s_ns_per_byte", "O_r_ns_per_byte", "O_s", "O_r")
    ),
    Term("S", "eager limit: messages above it wait for their receiver", ("S_bytes", "eager limit")),
    Term("s", "packet size: a message above it is sent in packets, each a gap behind the one before; 0 is no packets", ("s_bytes",)),
    Term("eager", "of a message up to S: it is sent whether or not its receiver is there, so its sender does not wait"),
    Term("rendezvous", "of a message above S: its sender waits until the receive is posted", ("synchronous",)),
    Term("progress", "when a message above S moves: always, or only while its process is in an MPI call ('in calls')"),
    Term("late sender", "a receiver waits, for the sender enters its call later", ("late senders",)),
    Term("late receiver", "the sender of a message above S waits, for the receive is posted later", ("late receivers",)),
    Term("wrong order", "a late sender, though another message that is received later was already there", ("wrong orders",)),
    Term("wait at N x N", "in a collective in which all need something of all, a process waits for the last that enters"),
    Term("wait at barrier", "a process waits until the last has entered the barrier"),
    Term("late broadcast", "a process waits for what the root sends, for the root enters later"),
    Term("early reduce", "the root of a reduction or gather waits, for a process that sends enters later"),
    Term("delay cost", "the waiting of others that comes from a process spending more time in a place than they did"),
    Term(
        "imbalance", "processes compute for different times, so those done first wait; max/mean says by how much", ("max/mean", "balance")
    ),
    Term("sigma", "standard deviation of what the processes compute or send in a step"),
    Term(
        "serialisation",
        "what waiting in turn for each other costs; as an efficiency: the longest computation over the ideal time",
    ),
    Term(
        "transfer",
        "what MPI and the network cost; as an efficiency: the ideal time over the time. On a path: messages under way",
    ),
    Term("ideal", "the time of the run if calls and messages took none", ("ideal time",)),
    Term(
        "lower bound", "what no program of this work beats; it knows no order of calls, so none may reach it", ("lower bounds", "at least")
    ),
    Term("tolerance", "how far a parameter of the network may grow before the run is a given part slower"),
    Term("wildcard", "of a receive: it takes a message from any source, so in another run it may take another", ("wildcards",)),
    Term("replay", "the unchanged run computed with the model; it must give the recorded one"),
    Term("misfit", "how often the recorded times contradict the model; such messages keep their recorded times"),
    Term("doubtful", "what recording and model contradict each other in, if it could change the answer by more than 5 %"),
    Term("controlled logical clock", "puts events forward just far enough that none comes before its cause", ("clc",)),
    Term("not modelled", "time in calls whose partners are unknown: it stays as recorded, whatever changes"),
    Term("INCOMPLETE", "a part of the trace is missing or cannot be used; what is missing waits for nobody and delays nobody"),
    Term("metahost", "one of several machines that a run was on", ("metahosts",)),
)
"""In the order of a reader's questions."""


def find(word: str) -> list[Term]:
    """Return the term that reports write so, letters as they are and words in any case; else those that the word is a part of."""
    same = [term for term in TERMS if word in (term.name, *term.also)]
    plain = [term for term in TERMS if word.lower() in (name.lower() for name in term.words)]
    parts = [term for term in TERMS if word.lower() in term.name.lower().split() and len(word) > 1]
    return same[:1] or plain[:1] or parts


def used(report: str) -> list[Term]:
    """Return the terms that a report uses, in the order of their first use."""
    first = {term: match.start() for term in TERMS if (match := re.search(_pattern(term), report))}
    return sorted(first, key=first.__getitem__)


def _pattern(term: Term) -> str:
    """Return what finds a term as a word of its own; keys of the model and words in capitals as they are, others in any case."""
    words = (re.escape(word) if "_" in word or word.isupper() else f"(?i:{re.escape(word)})" for word in term.words)
    return rf"(?<![\w#/@-])(?:{'|'.join(words)})(?![\w-])"
