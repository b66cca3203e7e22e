# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Routes through links, and the rate of the flows on each, where links that are overloaded are shared max-min fairly.

The level of a link is the rate that flows have there which nothing else holds back: that at which it is full, given the levels of the
other links on their routes. A flow has the smallest of its levels, and no more than it has alone. What begins or ends moves the levels of
its links, each of these perhaps those of links that flows share with it, and so on until none moves, in any order (Charny, Clark and Jain,
Congestion control with explicit rate indication, 1995). Links and routes that a change does not reach are not touched. How often that
takes has no good bound, and rounding might keep it going: where n links are in use and levels have been given n squared times, all are
found from none (progressive filling), where each round settles a link, so that each of n is looked at n times at most.

All flows of a route have one rate: what they have passed since it was empty is one number, and who is done first needs no rate.
"""

from __future__ import annotations

import cython
import numpy as np

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a number that rounding may have added to it."""
_NEVER = cython.declare(cython.double, 1e300)
_NONE = cython.declare(cython.int, -1)
_OUT = cython.declare(cython.int, -2)
"""In place of what follows in a list: not in it."""
if not cython.compiled:
    Route = Stay = Load = None

ROUTE = np.dtype(
    [*((name, "f8") for name in ("served", "rate", "since", "least", "end")), *((name, "i4") for name in ("flows", "place"))], align=True
)
"""What a flow that was there all the time had passed at `since`, and the rate of each flow, per ns; what the first that is done will have
passed by then, and when that is; how many flows there are; the place in the heap of routes."""
STAY = np.dtype([("limit", "f8"), ("part", "f8"), *((name, "i4") for name in ("route", "link", "behind", "before"))], align=True)
"""A route on a link: the rate that other links allow its flows, the part of their rate that they take of this one; the stays behind and
before it in the list of those of the link that have flows."""
LOAD = np.dtype(
    [
        *((name, "f8") for name in ("demand", "asked", "capacity", "level")),
        *((name, "i4") for name in ("flows", "stay", "moved", "waits", "next")),
    ],
    align=True,
)
"""A link: what the flows on it would take, each alone, and what they take at most as others hold them back; what it carries, and its level;
how many flows are on it, and the first stay; the next of the links whose level has moved; whether it waits for its level. Beside that the
links that wait, a heap: `next` of the first rows.
"""


def rows(count: int, dtype: np.dtype) -> np.recarray:
    """Return so many rows, all 0."""
    return np.zeros(count, dtype).view(np.recarray)


@cython.cclass
class Routes:
    """Routes in a heap, that in front whose next flow is done first. Behind them is one without links: all on it pass 1 per ns."""

    def __init__(
        self,
        first: cython.const[cython.int][::1],
        link: cython.const[cython.int][::1],
        part: cython.const[cython.double][::1],
        capacity: cython.const[cython.double][::1],
        most: cython.double,
        patience: cython.double = 1.0,
    ) -> None:
        """Prepare routes without flows: r passes the links `link[first[r] .. first[r + 1] - 1]`, of each a part of the rate.

        A link carries its capacity per ns, a flow alone passes `most`. With no `patience` all levels are found from none each time.
        """
        self.first, self.most, self.patience = np.append(first, np.int32(len(link))), most, patience
        self.routes = rows(len(first), ROUTE)
        self.stays = rows(len(link), STAY)
        self.load = rows(len(capacity), LOAD)
        self.heap = np.arange(len(first), dtype="i4")
        self.waiting, self.used, self.moved = 0, 0, _NONE
        for k in range(len(first)):
            self.routes[k].end = self.routes[k].least = _NEVER
            self.routes[k].rate = most
            self.routes[k].place = k
        self.routes[len(first) - 1].rate = 1.0
        for k in range(len(first) - 1):
            for at in range(first[k], first[k + 1]):
                self.stays[at].route = k
                self.stays[at].link = link[at]
                self.stays[at].part = part[at]
        for k in range(len(capacity)):
            self.load[k].capacity = capacity[k]
            self.load[k].level = _NEVER
            self.load[k].stay = _NONE
            self.load[k].moved = _OUT

    @cython.cfunc
    @cython.exceptval(check=False)
    def pass_until(self, r: cython.Py_ssize_t, now: cython.double) -> cython.void:
        """Note what flows of a route have passed by now."""
        self.routes[r].served += self.routes[r].rate * (now - self.routes[r].since)
        self.routes[r].since = now

    @cython.cfunc
    @cython.exceptval(check=False)
    def come(self, r: cython.Py_ssize_t, now: cython.double) -> cython.void:
        """Let a flow begin on a route; the first one is as fast as it is alone until its links have their levels."""
        new: cython.bint = self.routes[r].flows == 0
        if new:
            self.routes[r].served = 0.0
            self.routes[r].since = now
            self.routes[r].rate = self.most
        else:
            self.pass_until(r, now)
        self.routes[r].flows += 1
        for at in range(self.first[r], self.first[r + 1]):
            one: cython.Py_ssize_t = self.stays[at].link
            if new:
                self.stays[at].before = _NONE
                self.stays[at].behind = self.load[one].stay
                if self.load[one].stay != _NONE:
                    self.stays[self.load[one].stay].before = at
                self.load[one].stay = at
            self.used += self.load[one].flows == 0
            self.load[one].flows += 1
            self.load[one].demand += self.stays[at].part * self.most
            self.load[one].asked += self.stays[at].part * self.routes[r].rate
            if self.load[one].level < _NEVER or self.load[one].asked > self.load[one].capacity * (1 + _ALMOST):
                self.wait(one)
                if new:
                    self.move(one)

    @cython.cfunc
    @cython.exceptval(check=False)
    def leave(self, r: cython.Py_ssize_t, now: cython.double) -> cython.void:
        """Take away a flow of a route."""
        self.pass_until(r, now)
        self.routes[r].flows -= 1
        for at in range(self.first[r], self.first[r + 1]):
            one: cython.Py_ssize_t = self.stays[at].link
            if self.routes[r].flows == 0:
                if self.stays[at].before == _NONE:
                    self.load[one].stay = self.stays[at].behind
                else:
                    self.stays[self.stays[at].before].behind = self.stays[at].behind
                if self.stays[at].behind != _NONE:
                    self.stays[self.stays[at].behind].before = self.stays[at].before
            self.load[one].flows -= 1
            some: cython.bint = self.load[one].flows > 0
            self.used -= not some
            self.load[one].demand = self.load[one].demand - self.stays[at].part * self.most if some else 0.0
            self.load[one].asked = self.load[one].asked - self.stays[at].part * self.routes[r].rate if some else 0.0
            if self.load[one].level < _NEVER:
                self.wait(one)

    @cython.cfunc
    @cython.exceptval(check=False)
    def expect(self, r: cython.Py_ssize_t, least: cython.double) -> cython.void:
        """Let the next flow of a route be done when those that were there all the time have passed so much; _NEVER if there is none."""
        self.routes[r].least = least
        was: cython.double = self.routes[r].end
        self.routes[r].end = self.routes[r].since + max(least - self.routes[r].served, 0.0) / self.routes[r].rate
        if self.routes[r].end < was:
            self.rise(r)
        else:
            self.sink(r)

    @cython.cfunc
    @cython.exceptval(check=False)
    def share(self, now: cython.double) -> cython.void:
        """Give links their levels until none waits, or all from none if that takes long; then routes their rates."""
        if not self.settle():
            self.fill()
        while self.moved != _NONE:
            one: cython.Py_ssize_t = self.moved
            self.moved = self.load[one].moved
            self.load[one].moved = _OUT
            at: cython.Py_ssize_t = self.load[one].stay
            while at != _NONE:
                r: cython.Py_ssize_t = self.stays[at].route
                rate: cython.double = self.most
                for k in range(self.first[r], self.first[r + 1]):
                    rate = min(rate, self.load[self.stays[k].link].level)
                if rate != self.routes[r].rate:
                    self.pass_until(r, now)
                    self.routes[r].rate = rate
                    self.expect(r, self.routes[r].least)
                at = self.stays[at].behind

    @cython.cfunc
    @cython.exceptval(check=False)
    def settle(self) -> cython.bint:
        """Give links their levels until none waits, the lowest first, as one matters to those above it; return whether that ended soon."""
        links: cython.double = max(self.used, self.waiting)
        left: cython.double = self.patience * links * links
        while self.waiting > 0:
            if left < 1:
                return False
            left -= 1
            one: cython.Py_ssize_t = self.next()
            was: cython.double = self.load[one].level
            level: cython.double = self.level(one)
            if abs(level - was) > _ALMOST * level:
                self.load[one].level = level
                self.move(one)
                self.tell(one, was)
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def fill(self) -> cython.void:
        """Give all links their levels from none: of those that have none yet the lowest is right, as only lower ones matter to it."""
        while self.waiting > 0:
            self.next()
        for one in range(len(self.load)):
            self.load[one].level = _NEVER
            self.move(one)
        while True:
            lowest: cython.Py_ssize_t = _NONE
            least: cython.double = _NEVER
            for one in range(len(self.load)):
                if self.load[one].flows > 0 and self.load[one].level == _NEVER:
                    level: cython.double = self.level(one)
                    if level < least:
                        lowest = one
                        least = level
            if lowest == _NONE:
                return
            self.load[lowest].level = least

    @cython.cfunc
    @cython.exceptval(check=False)
    def tell(self, one: cython.Py_ssize_t, was: cython.double) -> cython.void:
        """Let those links wait for their levels to which that of another one matters, which has moved."""
        level: cython.double = self.load[one].level
        least: cython.double = min(level, was)
        more: cython.double = min(level, self.most) - min(was, self.most)
        at: cython.Py_ssize_t = self.load[one].stay
        while at != _NONE:
            r: cython.Py_ssize_t = self.stays[at].route
            for k in range(self.first[r], self.first[r + 1]):
                other: cython.Py_ssize_t = self.stays[k].link
                if self.load[other].level < _NEVER:
                    if other != one and least < self.load[other].level:
                        self.wait(other)
                elif more > 0:
                    self.load[other].asked += more * self.stays[k].part * self.routes[r].flows
                    if other != one and self.load[other].asked > self.load[other].capacity * (1 + _ALMOST):
                        self.wait(other)
            at = self.stays[at].behind

    @cython.cfunc
    @cython.exceptval(check=False)
    def level(self, one: cython.Py_ssize_t) -> cython.double:
        """Return the rate at which a link is full of flows that other links allow it, _NEVER if it is not full."""
        capacity: cython.double = self.load[one].capacity
        self.load[one].asked = self.load[one].demand
        if self.load[one].demand <= capacity * (1 + _ALMOST):
            return _NEVER
        level: cython.double = self.load[one].level if self.load[one].level < _NEVER else 0.0
        asked: cython.double = 0.0
        spare: cython.double = capacity
        shared: cython.double = 0.0
        at: cython.Py_ssize_t = self.load[one].stay
        while at != _NONE:
            r: cython.Py_ssize_t = self.stays[at].route
            limit: cython.double = self.most
            for k in range(self.first[r], self.first[r + 1]):
                if k != at:
                    limit = min(limit, self.load[self.stays[k].link].level)
            self.stays[at].limit = limit
            part: cython.double = self.stays[at].part * self.routes[r].flows
            asked += limit * part
            if limit > level:
                shared += part
            else:
                spare -= limit * part
            at = self.stays[at].behind
        self.load[one].asked = asked
        if asked <= capacity * (1 + _ALMOST):
            return _NEVER
        # what it would carry is a concave function of its level: from anywhere the next guess is below, and then they ascend,
        # each above one limit more at least, or else what is shared is the same and so is the guess
        first: cython.bint = True
        while True:
            found: cython.double = spare / shared if shared > 0 else 0.0
            if abs(found - level) <= _ALMOST * level or (found < level and not first):
                return max(found, level)
            first = False
            level = found
            spare = capacity
            shared = 0.0
            at = self.load[one].stay
            while at != _NONE:
                part = self.stays[at].part * self.routes[self.stays[at].route].flows
                if self.stays[at].limit > level:
                    shared += part
                else:
                    spare -= self.stays[at].limit * part
                at = self.stays[at].behind

    @cython.cfunc
    @cython.exceptval(check=False)
    def wait(self, one: cython.Py_ssize_t) -> cython.void:
        """Let a link wait for its level, in a heap by the one that it has."""
        if self.load[one].waits:
            return
        self.load[one].waits = 1
        place: cython.Py_ssize_t = self.waiting
        self.waiting += 1
        while place > 0 and self.load[one].level < self.load[self.load[(place - 1) // 2].next].level:
            self.load[place].next = self.load[(place - 1) // 2].next
            place = (place - 1) // 2
        self.load[place].next = one

    @cython.cfunc
    @cython.exceptval(check=False)
    def next(self) -> cython.Py_ssize_t:
        """Return the link of the lowest level that waits, which does not any more."""
        one: cython.Py_ssize_t = self.load[0].next
        self.load[one].waits = 0
        self.waiting -= 1
        last: cython.Py_ssize_t = self.load[self.waiting].next
        place: cython.Py_ssize_t = 0
        below: cython.Py_ssize_t = 1
        while below < self.waiting:
            if below + 1 < self.waiting and self.load[self.load[below + 1].next].level < self.load[self.load[below].next].level:
                below += 1
            if self.load[last].level <= self.load[self.load[below].next].level:
                break
            self.load[place].next = self.load[below].next
            place = below
            below = 2 * place + 1
        self.load[place].next = last
        return one

    @cython.cfunc
    @cython.exceptval(check=False)
    def move(self, one: cython.Py_ssize_t) -> cython.void:
        """Note that the flows on a link have another rate, perhaps."""
        if self.load[one].moved == _OUT:
            self.load[one].moved = self.moved
            self.moved = one

    @cython.cfunc
    @cython.exceptval(check=False)
    def rise(self, r: cython.Py_ssize_t) -> cython.void:
        """Put a route where it belongs in the heap, there or above."""
        place: cython.Py_ssize_t = self.routes[r].place
        while place > 0 and self.routes[r].end < self.routes[self.heap[(place - 1) // 2]].end:
            self.heap[place] = self.heap[(place - 1) // 2]
            self.routes[self.heap[place]].place = place
            place = (place - 1) // 2
        self.heap[place] = r
        self.routes[r].place = place

    @cython.cfunc
    @cython.exceptval(check=False)
    def sink(self, r: cython.Py_ssize_t) -> cython.void:
        """Put a route where it belongs in the heap, there or below."""
        place: cython.Py_ssize_t = self.routes[r].place
        count: cython.Py_ssize_t = len(self.heap)
        below: cython.Py_ssize_t = 2 * place + 1
        while below < count:
            if below + 1 < count and self.routes[self.heap[below + 1]].end < self.routes[self.heap[below]].end:
                below += 1
            if self.routes[r].end <= self.routes[self.heap[below]].end:
                break
            self.heap[place] = self.heap[below]
            self.routes[self.heap[place]].place = place
            place = below
            below = 2 * place + 1
        self.heap[place] = r
        self.routes[r].place = place
