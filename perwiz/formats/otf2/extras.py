"""What an OTF2 archive of perwiz holds beside OTF2's own records: what answers depend on and those would tell differently, so that a
predicted run that is read back gives the answers of the run. A trace as it was is kept by the store (perwiz.formats.store).

An extra is written only where the plain records would be read back as something else, so an ordinary trace has none. There are three kinds:

- In the events: a record ParameterInt of a parameter named `perwiz:<name>`, inside the call that it belongs to. A parameter of the program
  whose own name begins with `perwiz:` gets one more `perwiz:` before its name.
- In the anchor file: a property `PERWIZ::<NAME>`.
- In a definition: a region with the description MARK is one of the user, though its name is that of a routine of MPI or of offloading.

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
    Extra("link", "row of calls * 16 + kind as in Links.kind; one per link", "call that had to be entered before this one returned"),
    Extra("mode", "as in Messages.mode; one per send record of the call, in order, or no extra", "send mode"),
    Extra("message", "number, -1 none; one per send record of the call", "the send goes with the receive of the same number alone"),
    Extra("received", "number, -1 none; one per receive record in the call", "the receive goes with the send of the same number alone"),
    Extra("receive", "row of calls; one per receive record in the call", "call that posted the receive"),
    Extra("completed_by", "row of calls, -1 unknown; one per request the call posts, in order", "call that completes the request"),
)
"""In events. Rows and processes are those of the written trace."""
PEER, TAG, COMM, ROOT, BYTES_SENT, BYTES_RECEIVED, SEQUENCE, LINK, MODE, MESSAGE, RECEIVED, RECEIVE, COMPLETED_BY = range(len(EVENTS))
LINK_KINDS = 16
"""What the row of a call is multiplied by to hold the kind of a link, too."""

PROPERTIES = (
    Extra("MADE_BY", "text", "what made the timeline, if it was not measured, for people"),
    Extra("ORIGIN", "JSON object, the fields of perwiz.trace.origin.Origin", "the same in full, nothing cut"),
    Extra("START", "ns", "instant of the first record, if it is not 0"),
    Extra("CLOCKS", "JSON false", "nobody compared the clocks of its source"),
    Extra("WILDCARDS", "JSON false", "its source did not tell which receives take any source"),
    Extra("PROPERTIES", "JSON object", "properties of the trace"),
    Extra("COUNTS", "JSON object", "what the source of the archive lacked, and how many messages were to nobody"),
)
"""In the anchor file."""
