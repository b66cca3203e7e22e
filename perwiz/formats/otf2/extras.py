"""What an OTF2 archive of perwiz holds beside OTF2's own records: facts of a trace that those would tell differently.

An extra is written only where the plain records would be read back as something else, so an ordinary trace has none. There are three kinds:

- In the events: a record ParameterInt, or ParameterString for texts, of a parameter named `perwiz:<name>`, inside the call or directly
  behind the Enter of the region that it belongs to. A parameter of the program whose own name begins with `perwiz:` gets one more `perwiz:`
  before its name.
- In the anchor file: a property `PERWIZ::<NAME>`.
- In a definition: a region with the description MARK is a region of the user, though its name is that of an MPI routine.

The archive names perwiz as its creator: nothing in it is left out by mistake, so nothing needs repair.
"""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "perwiz:"
NAMESPACE = "PERWIZ::"
MARK = "perwiz:region"
CREATOR = "perwiz"
"""How the creator begins; the version follows."""


class Extra(NamedTuple):
    """One extra: its name without prefix or namespace, its value, and what that means."""

    name: str
    value: str
    meaning: str


EVENTS = (
    Extra("peer", "process, -1 none, -2 any", "partner of the call"),
    Extra("tag", "tag, -1 none, -2 any", "tag of the call"),
    Extra("comm", "row of communicators, -1 none", "communicator of the call"),
    Extra("root", "process, -1 none", "root of the call"),
    Extra("bytes_sent", "bytes", "what the call sends"),
    Extra("bytes_received", "bytes", "what the call receives"),
    Extra(
        "sequence",
        "number in its communicator, or among barriers of teams, from 0, -1 none",
        "instance of the collective that the call is in",
    ),
    Extra("done", "row of calls, -1 unknown", "call that completes the collective that this call starts"),
    Extra("label", "text", "label of the call"),
    Extra("link", "row of calls * 16 + kind as in Links.kind; one per link", "call that had to be entered before this one returned"),
    Extra("mode", "as in Messages.mode; one per send record of the call, in order, or no extra", "send mode"),
    Extra("send_done", "row of calls, -1 unknown; one per send record of the call", "call that completes the send"),
    Extra("message_comm", "row of communicators, -1 unknown; one per send record of the call", "communicator of the message"),
    Extra("message", "number, -1 none; one per send record of the call", "the send goes with the receive of the same number alone"),
    Extra("received", "number, -1 none; one per receive record in the call", "the receive goes with the send of the same number alone"),
    Extra("receive", "row of calls; one per receive record in the call", "call that posted the receive"),
    Extra(
        "posts", "request, as in other records", "the call posts a request of unknown kind; stands among the records of the others it posts"
    ),
    Extra("completed_by", "row of calls, -1 unknown; one per request the call posts, in order", "call that completes the request"),
    Extra("cancelled", "1 or 0; one per request the call posts, in order", "whether the request was cancelled"),
    Extra("unfinished", "row of requests; in place of all such records of the call", "request that the call found not complete"),
    Extra("instance", "number", "number of the region instance"),
)
"""In events. Rows and processes are those of the written trace."""
PEER, TAG, COMM, ROOT, BYTES_SENT, BYTES_RECEIVED, SEQUENCE, DONE, LABEL, LINK, MODE, SEND_DONE, MESSAGE_COMM, MESSAGE = range(14)
RECEIVED, RECEIVE, POSTS, COMPLETED_BY, CANCELLED, UNFINISHED, INSTANCE = range(14, len(EVENTS))
LINK_KINDS = 16
"""What the row of a call is multiplied by to hold the kind of a link, too."""

PROPERTIES = (
    Extra("MADE_BY", "text", "what made the timeline, if it was not measured, for people"),
    Extra("ORIGIN", "JSON object, the fields of perwiz.trace.origin.Origin", "the same in full, nothing cut"),
    Extra("START", "ns", "instant of the first record, if it is not 0"),
    Extra("CLOCKS", "JSON false", "nobody compared the clocks of its source"),
    Extra("WILDCARDS", "JSON false", "its source did not tell which receives take any source"),
    Extra("PROPERTIES", "JSON object", "properties of the trace"),
    Extra("OFFSETS", "JSON object, a list per column", "table of offsets: clock measurements that are already applied"),
    Extra("LOCATIONS", "JSON object, a list per column", "columns of the table of locations"),
    Extra("NODES", "JSON list of texts", "names of the nodes"),
    Extra("METAHOSTS", "JSON list of texts", "names of the metahosts"),
    Extra("NAMES", "number of a region", "from this region on, each in order is a row of the names, as it is, entered or not"),
    Extra("PATHS", "JSON object, a list per column", "table of paths"),
    Extra("TEXTS", "JSON list of texts", "texts of the trace in order"),
    Extra("COUNTS", "JSON object", "what the source of the archive lacked"),
    Extra("COUNTERS", "JSON list of texts", "names of the counters, in the order of the metrics"),
)
"""In the anchor file."""
