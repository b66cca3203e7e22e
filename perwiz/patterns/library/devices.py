"""Patterns of devices: hosts that wait for them, streams that wait for each other, that begin late, or that have nothing to do.

A stream is idle until its host launches more; from the launch until it begins is latency, less what it waits for another stream.
"""

from __future__ import annotations

import numpy as np

from perwiz.patterns.idle import OF_DEVICES, idle, routines
from perwiz.patterns.library.threads import IdleThreads, Started, WaitForLink
from perwiz.patterns.pattern import Instances, Pattern, View, longest
from perwiz.trace.tables import STARTS


class WaitForDevice(WaitForLink):
    """Time of a host until the device has done its work."""

    name, title, of = "device_early_wait", "Early Wait", "device_sync"
    awaits = routines("device_synchronize", "device_offload")
    meaning = "hosts waiting for a device to end its work"


class WaitForCopy(WaitForLink):
    """Time of a host until the device has done the work before a copy, and the copy."""

    name, title, of, awaits = "device_copy_wait", "Wait for Copy", "device_comm", routines("device_copy")
    meaning = "hosts waiting for the end of a copy, and of what the device does before it"


class WaitForStream(Pattern):
    """Time of a stream until another lets it go."""

    name, title, of = "device_stream_wait", "Wait for Stream", "device_starts"
    meaning = "streams that have work waiting for another stream"

    def instances(self, view: View, parent: Instances) -> Instances:
        """Return one instance per work that waits."""
        links, found = view.trace.links, idle(view, OF_DEVICES)
        begun = view.enter.copy()
        begun[found.call] = found.begun
        row = np.flatnonzero(OF_DEVICES[view.op[links.effect]] & ~np.isin(links.kind, STARTS))
        cause, call = links.cause[row], links.effect[row]
        return longest(view, call, np.minimum(view.enter[cause], view.leave[call]) - begun[call], cause)


class LaunchLatency(Started):
    """Time from the launch of work, or the end of what it waits for, until a stream begins it."""

    name, title, of, idles = "device_launch_latency", "Launch Latency", "device_starts", OF_DEVICES
    meaning = "from a launch until the stream begins, no other stream waited for"


class IdleDevices(IdleThreads):
    """Time of streams that have no work; it stands at what the first thread of the process does meanwhile."""

    name, title, of, idles = "device_idle", "Idle devices", "time", OF_DEVICES
    meaning = "streams without work, by what the first thread of their process does meanwhile"
