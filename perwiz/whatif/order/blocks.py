"""Blocks of calls that move: whole regions, and the computation before each call. Two neighbouring blocks change places.

A block of calls takes along the computation before each of them, back to the call before, and every region instance that it would tear:
an instance that holds a call of the block but not the call it moves past moves whole, and one that holds both stays around both.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import I8, Mask
from perwiz.whatif.order.program import Program


@dataclasses.dataclass(frozen=True)
class Block:
    """Steps `begin` .. `end` - 1 of a program, and the calls among them, rows `first` .. `last`."""

    begin: int
    end: int
    first: int
    last: int


class Torn(Exception):
    """No block: a region instance (its row) would be torn apart."""

    def __init__(self, region: int) -> None:
        super().__init__(region)
        self.region = region


class Blocks:
    """The blocks of one location of a program whose steps are in some order; calls are rows in that order."""

    def __init__(self, program: Program, location: int, order: I8) -> None:
        self.program, self.order, self.location = program, order, location
        place = np.argsort(order)
        regions = program.weighted.trace.regions
        lo, hi = np.searchsorted(regions.location, [location, location + 1])
        self._row = lo
        self._entered, self._left = place[program.entered[lo:hi]], place[program.left[lo:hi]]
        self.first, self.end = program.weighted.trace.first_calls[location : location + 2].tolist()
        self._start = int(program.first[location])
        self._place = place[program.call[self.first : self.end]]
        self.calls = np.sort(self._place)
        """Step per call."""

    def row(self, call: int) -> int:
        """Return the row that a call of the program has in this order."""
        return int(np.searchsorted(self.calls, self._place[call - self.first])) + self.first

    def call(self, row: int) -> int:
        """Return the call of the program that has a row in this order."""
        return int(np.argsort(self._place)[row - self.first]) + self.first

    def step(self, call: int) -> int:
        """Return the step of a call."""
        return int(self.calls[call - self.first])

    def block(self, first: int, last: int, past: int) -> Block:
        """Return the smallest block of the calls `first` .. `last` that may move past the call `past`, whole if a region allows."""
        outside = self.step(past)
        lead, end = first, self.step(last) + 1
        while True:
            begin = self._after(lead - 1)
            enters, leaves = (self._within(steps, begin, end) for steps in (self._entered, self._left))
            around = (self._entered < outside) & (outside < self._left)
            ahead = leaves & ~enters & (self._left < self.step(lead))
            inside = enters & ~leaves & around & (self._entered < self.step(lead))
            begin = max([begin, *(self._left[ahead] + 1), *(self._entered[inside] + 1)])
            enters, leaves = (self._within(steps, begin, end) for steps in (self._entered, self._left))
            torn = (self._entered < end) & (self._left >= begin) & ~(enters & leaves) & ~around
            if not torn.any():
                low, high = np.searchsorted(self.calls, [begin, end]) + self.first
                return Block(int(begin), int(end), int(low), int(high) - 1)
            lead = min(lead, int(np.searchsorted(self.calls, self._entered[torn].min())) + self.first)
            end = max(end, int(self._left[torn].max()) + 1)

    def holding(self, block: Block, wanted: tuple[int, int]) -> int:
        """Return the row of the region instance for whose sake a block is larger than the calls wanted."""
        inside = (self._entered >= block.begin) & (self._left < block.end)
        low, high = self.step(wanted[0]), self.step(wanted[1])
        holds = (self._entered < high) & (self._left > low) & ~((self._entered > low) & (self._left < high))
        return int(self._row + np.flatnonzero(inside & holds)[0])

    def _after(self, call: int) -> int:
        """Return the step behind a call, or the first of the location."""
        return self.step(call) + 1 if call >= self.first else self._start

    @staticmethod
    def _within(steps: I8, begin: int, end: int) -> Mask:
        return (steps >= begin) & (steps < end)

    def swapped(self, ahead: Block, behind: Block) -> I8:
        """Return an order of steps in which `behind` stands before `ahead`, its neighbour so far. Raises Torn."""
        torn = np.zeros(len(self._entered), bool)
        for begin, end in ((ahead.begin, behind.begin), (behind.begin, behind.end)):
            torn |= self._within(self._entered, begin, end) != self._within(self._left, begin, end)
        if torn.any():
            raise Torn(int(self._row + np.flatnonzero(torn)[0]))
        out, order = self.order.copy(), self.order
        out[ahead.begin : behind.end] = np.concatenate([order[behind.begin : behind.end], order[ahead.begin : behind.begin]])
        return out
