"""Patterns between two processes: late sender, messages in wrong order, late receiver (Wolf et al. 2006; definitions of Scalasca 2.6).

A non-blocking operation counts where it completes. Of several messages that one call completes only the longest wait counts.
Messages to oneself and calls that only test are left out. Scalasca pairs messages of one channel in the order their receives complete;
here they are paired in the order they are posted (MPI 3.1, 3.5). In wrong orders it compares the records of sends, here it is the calls.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.kernels import patterns as kernel
from perwiz.patterns.pattern import Instances, Pattern, View, longest
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE, STANDARD, SYNCHRONOUS

_REMEMBERED = 100
"""Late senders each location remembers for wrong orders, as Scalasca does."""


class LateSender(Pattern):
    """A receiver waits because the send comes later: from the entry of the receiving call to that of the sending one."""

    name, title, of = "mpi_latesender", "Late Sender", "mpi_point2point"
    meaning = "receivers waiting for the sender's call"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per receiving call that waits."""
        rows, call, wait = _late_senders(view)
        return longest(view, call, wait, view.trace.messages.send[rows], rows)


class WrongOrder(Pattern):
    """A late sender, while another message that is received later was already on its way (rule of Scalasca 2.6)."""

    name, title, of = "mpi_latesender_wo", "Messages in Wrong Order", "mpi_latesender"
    meaning = "late senders although an earlier message could have been received meanwhile; the cause is its send"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return the late senders that were waited for in vain."""
        earlier = _passed(view, parent)
        wrong = earlier != NONE
        return dataclasses.replace(parent.where(wrong), cause=view.trace.messages.send[earlier[wrong]])


class FromDifferent(Pattern):
    """The message that could have been received came from another process."""

    name, title, of = "mpi_lswo_different", "From different sources", "mpi_latesender_wo"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return those instances."""
        return parent.where(~_same_source(view, parent))


class FromSame(Pattern):
    """The message that could have been received came from the same process."""

    name, title, of = "mpi_lswo_same", "From same source", "mpi_latesender_wo"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return those instances."""
        return parent.where(_same_source(view, parent))


class LateReceiver(Pattern):
    """A sender waits because the receive comes later, in a call that completes a standard or synchronous send."""

    name, title, of = "mpi_latereceiver", "Late Receiver", "mpi_point2point"
    meaning = "senders waiting for the receiver's call"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per completing call that waits, unless it completes receives that wait for a late sender."""
        table, kind = view.trace.messages, view.kind
        plain = np.isin(kind[table.send], (operations.SEND, operations.ISEND)) & np.isin(table.mode, (STANDARD, SYNCHRONOUS))
        rows = np.flatnonzero(_between(view) & plain & (table.send_done != NONE))
        rows = rows[kind[table.send_done[rows]] != operations.TEST]
        call, post = table.send_done[rows], table.receive[rows]
        wait = np.minimum(view.enter[post], view.leave[call]) - view.enter[call]
        wait[(view.leave[call] <= view.enter[post]) | (_receives_late(view)[call] & (kind[call] == operations.COMPLETE))] = 0
        return longest(view, call, wait, post, rows)


def _between(view: View) -> Mask:
    """Return which messages go from one process to another."""
    table, process = view.trace.messages, view.trace.locations.process
    return np.asarray(process[view.location[table.send]] != process[view.location[table.receive_done]])


def _late_senders(view: View) -> tuple[I8, I4, I8]:
    """Return (message, call that completes its receive, how long that waits for the sending call, negative if it does not)."""
    table = view.trace.messages
    rows = np.flatnonzero(_between(view) & (view.kind[table.receive_done] != operations.TEST))
    call = table.receive_done[rows]
    return rows, call, np.minimum(view.enter[table.send[rows]], view.leave[call]) - view.enter[call]


def _receives_late(view: View) -> Mask:
    """Return which calls complete a receive that waits for a late sender, bool per call."""
    _, call, wait = _late_senders(view)
    out = np.zeros(len(view.enter), bool)
    out[call[wait > 0]] = True
    return out


def _passed(view: View, late: Instances) -> I4:
    """Return per late sender a message received in a later call that was sent earlier than its own, -1 if none.

    Each location remembers its last 100 late senders.
    """
    table = view.trace.messages
    order = np.argsort(table.receive_done, kind="stable").astype("i4")
    call = table.receive_done[order]
    late_of_call = np.full(len(view.enter), NONE, "i4")
    late_of_call[late.call] = np.arange(len(late), dtype="i4")
    last = np.append(call[1:] != call[:-1], len(call) > 0)
    ends = np.where(last, late_of_call[call], NONE).astype("i4")
    earlier = np.full(len(late), NONE, "i4")
    kept = np.empty(_REMEMBERED, "i8"), np.empty(_REMEMBERED, "i4")
    sent, late_sent = view.enter[table.send[order]], view.enter[table.send[late.message]]
    kernel.wrong_order(view.location[call], sent, ends, late_sent, *kept, earlier)
    return np.where(earlier == NONE, NONE, order[earlier])


def _same_source(view: View, wrong: Instances) -> Mask:
    table, process = view.trace.messages, view.trace.locations.process
    return np.asarray(process[view.location[wrong.cause]] == process[view.location[table.send[wrong.message]]])
