# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Records of DUMPI, all numbers big endian, to slots of values.

A record is u16 function, u8 mask, u16 thread, times of the processor and of the clock as u16 seconds and u32 ns at entry and at return,
u8 counters and two u64 of each, and the arguments. Nothing here holds Python's global lock.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import dumpi_rows

BYTE = cython.declare(cython.int, dumpi_rows.BYTE)
SHORT = cython.declare(cython.int, dumpi_rows.SHORT)
LONG = cython.declare(cython.int, dumpi_rows.LONG)
BYTES = cython.declare(cython.int, dumpi_rows.BYTES)
SHORTS = cython.declare(cython.int, dumpi_rows.SHORTS)
SUMMED = cython.declare(cython.int, dumpi_rows.SUMMED)
TEXTS = cython.declare(cython.int, dumpi_rows.TEXTS)
LISTS_OF_TEXTS = cython.declare(cython.int, dumpi_rows.LISTS_OF_TEXTS)
LISTS = cython.declare(cython.int, dumpi_rows.LISTS)
STATUSES = cython.declare(cython.int, dumpi_rows.STATUSES)
REGION_ENTER = cython.declare(cython.int, dumpi_rows.REGION_ENTER)
UNKNOWN = cython.declare(cython.int, dumpi_rows.UNKNOWN)
COUNT = cython.declare(cython.int, dumpi_rows.COUNT)
PEER = cython.declare(cython.int, dumpi_rows.PEER)
TAG = cython.declare(cython.int, dumpi_rows.TAG)
COMM = cython.declare(cython.int, dumpi_rows.COMM)
ROOT = cython.declare(cython.int, dumpi_rows.ROOT)
PEER2 = cython.declare(cython.int, dumpi_rows.PEER2)
FLAG = cython.declare(cython.int, dumpi_rows.FLAG)
INDEX = cython.declare(cython.int, dumpi_rows.INDEX)
RANK = cython.declare(cython.int, dumpi_rows.RANK)
WINDOW = cython.declare(cython.int, dumpi_rows.WINDOW)
THREAD = cython.declare(cython.int, dumpi_rows.THREAD)
ENTER = cython.declare(cython.int, dumpi_rows.ENTER)
LEAVE = cython.declare(cython.int, dumpi_rows.LEAVE)
MASK = cython.declare(cython.int, dumpi_rows.MASK)
FUNCTION_OF = cython.declare(cython.int, dumpi_rows.FUNCTION_OF)
TIMED = cython.declare(cython.int, dumpi_rows.TIMED)
SELF = cython.declare(cython.int, dumpi_rows.SELF)
WORLD = cython.declare(cython.int, dumpi_rows.WORLD)
SAYS_SIZE = cython.declare(cython.int, dumpi_rows.SAYS_SIZE)
SAYS_RANK = cython.declare(cython.int, dumpi_rows.SAYS_RANK)
WITH_STATUS = cython.declare(cython.int, 3)
WITH_CPU_TIME = cython.declare(cython.int, 1 << 2)
WITH_TIME = cython.declare(cython.int, 1 << 3)
WITH_THREAD = cython.declare(cython.int, 1 << 6)
WITH_COUNTERS = cython.declare(cython.int, 1 << 7)
SECOND = cython.declare(cython.longlong, 1_000_000_000)
if not cython.compiled:
    Function = Argument = Threads = Walk = None

    def u16(data: np.ndarray, at: int) -> int:
        """Return the number of two bytes: as declared in the .pxd, where there are pointers."""
        return int.from_bytes(data[at : at + 2].tobytes(), "big")

    def u32(data: np.ndarray, at: int) -> int:
        """Return the number of four bytes."""
        return int.from_bytes(data[at : at + 4].tobytes(), "big")

    def i32(data: np.ndarray, at: int) -> int:
        """Return the number of four bytes that has a sign."""
        return int.from_bytes(data[at : at + 4].tobytes(), "big", signed=True)


@cython.cclass
class Records:
    """The records of one process from `walk.at` on, up to a byte `end`; `status` are the bytes of a status of its version."""

    def __init__(
        self,
        data: cython.const[cython.uchar][::1],
        end: cython.longlong,
        functions: cython.const[Function][::1],
        arguments: cython.const[Argument][::1],
        status: cython.int,
        walk: Walk[::1],
    ) -> None:
        self.data, self.end = data, end
        self.functions, self.arguments, self.status = functions, arguments, status
        self.value = np.zeros(len(dumpi_rows.SLOTS), "i8")
        self.walk = walk

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def list_end(self, at: cython.longlong, width: cython.longlong) -> cython.longlong:
        """Return the byte behind a list of numbers or statuses so wide, -1 where the records end before."""
        if at + 4 > self.end:
            return -1
        behind = at + 4 + u32(self.data, at) * width
        return behind if behind <= self.end else -1

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def lists_end(self, at: cython.longlong, width: cython.longlong, deep: cython.int) -> cython.longlong:
        """Return the byte behind a list of such lists, or of lists of them where it is two deep; -1 likewise."""
        if at + 4 > self.end:
            return -1
        count = u32(self.data, at)
        inner: cython.longlong = 0
        at += 4
        while count > 0 or inner > 0:
            if deep > 1 and inner == 0:
                if at + 4 > self.end:
                    return -1
                inner = u32(self.data, at)
                at += 4
                count -= 1
                continue
            at = self.list_end(at, width)
            if at < 0:
                return -1
            if deep > 1:
                inner -= 1
            else:
                count -= 1
        return at

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def argument(self, at: cython.longlong, kind: cython.int, slot: cython.int) -> cython.longlong:
        """Put an argument into its slot; return the byte behind it, -1 where the records end before."""
        behind: cython.longlong
        if kind <= LONG:
            width: cython.longlong = 1 << kind
            if at + width > self.end:
                return -1
            self.value[slot] = self.data[at] if kind == BYTE else u16(self.data, at) if kind == SHORT else i32(self.data, at)
            return at + width
        if kind in (TEXTS, LISTS_OF_TEXTS):
            return self.lists_end(at, 1, 2 if kind == LISTS_OF_TEXTS else 1)
        if kind == LISTS:
            return self.lists_end(at, 4, 1)
        if kind == STATUSES and self.value[MASK] & WITH_STATUS == 0:
            return at
        behind = self.list_end(at, self.status if kind == STATUSES else 1 if kind == BYTES else 2 if kind == SHORTS else 4)
        if behind >= 0 and slot > 0:
            if kind == SUMMED:
                k: cython.longlong
                for k in range(u32(self.data, at)):
                    self.value[slot] += max(0, i32(self.data, at + 4 + 4 * k))
            else:
                self.value[slot] = at + 4
                self.value[slot + 1] = u32(self.data, at)
        return behind

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def clock(self, at: cython.longlong) -> cython.longlong:
        """Return a time of the clock, ns since the second all times of the process count from: seconds begin anew after 2^16."""
        second = u16(self.data, at) + self.walk[0].era
        if second < self.walk[0].second - 32768:
            self.walk[0].era += 65536
            second += 65536
        elif second > self.walk[0].second + 32768 and self.walk[0].era > 0:
            second -= 65536
        self.walk[0].second = max(self.walk[0].second, second)
        return second * SECOND + min(u32(self.data, at + 2), SECOND - 1)

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def head(self) -> cython.longlong:
        """Put function, mask, thread and times of the record at `walk.at` into their slots; return the byte behind them, -1 where it is no
        record or they end before."""
        at = self.walk[0].at
        if at + 3 > self.end:
            return -1
        number = u16(self.data, at)
        if number >= self.functions.shape[0] or self.functions[number].does == UNKNOWN:
            return -1
        mask = cython.cast(cython.longlong, self.data[at + 2])
        self.value[MASK] = mask
        self.value[FUNCTION_OF] = number
        at += 3
        width: cython.longlong = (2 if mask & WITH_THREAD else 0) + (12 if mask & WITH_CPU_TIME else 0) + (12 if mask & WITH_TIME else 0)
        if at + width + 1 > self.end + (0 if mask & WITH_COUNTERS else 1):
            return -1
        self.value[THREAD] = u16(self.data, at) if mask & WITH_THREAD else 0
        at += width
        self.value[ENTER] = self.value[LEAVE] = self.value[TIMED] = 0
        if mask & WITH_TIME:
            self.value[ENTER] = self.clock(at - 12)
            self.value[LEAVE] = self.clock(at - 6)
            self.value[TIMED] = 1
        if mask & WITH_COUNTERS:
            count = cython.cast(cython.longlong, self.data[at])
            at += 1 + 16 * count
            self.walk[0].counters += 2 * count
            if at > self.end:
                return -1
        return at

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def body(self, at: cython.longlong) -> cython.longlong:
        """Put the arguments behind the head of a record into their slots; return the byte behind them, -1 where the records end before."""
        slot: cython.int
        for slot in range(THREAD):
            self.value[slot] = 0
        self.value[COMM] = self.value[WINDOW] = self.value[PEER] = self.value[PEER2] = -1
        self.value[TAG] = self.value[INDEX] = self.value[ROOT] = self.value[RANK] = -1
        self.value[FLAG] = 1
        function = self.functions[self.value[FUNCTION_OF]]
        step: cython.int
        for step in range(function.first_step, function.first_step + function.steps):
            if self.arguments[step].at_root and self.value[RANK] != self.value[ROOT]:
                continue
            at = self.argument(at, self.arguments[step].kind, self.arguments[step].slot)
            if at < 0:
                return -1
        return at

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def skip(self, at: cython.longlong) -> cython.longlong:
        """Put what the survey needs of the arguments behind a head into their slots; return as `body` does."""
        number = self.value[FUNCTION_OF]
        fixed: cython.longlong = self.functions[number].fixed
        if fixed < 0:
            return self.body(at)
        if at + fixed > self.end:
            return -1
        self.value[COMM] = u16(self.data, at + self.functions[number].comm_at) if self.functions[number].comm_at >= 0 else -1
        return at + fixed

    def survey(self, threads: Threads[::1], defined: cython.longlong[::1]) -> cython.longlong:
        """Count the calls of each thread, and write where records that define something begin; return how many these are.

        It stops when `defined` is full, and goes on when called again. `walk.at` is the end when all are read or they broke off.
        """
        written: cython.longlong = 0
        with cython.nogil:
            while self.walk[0].at < self.end and written < defined.shape[0]:
                behind = self.head()
                if behind >= 0:
                    behind = self.skip(behind)
                if behind < 0:
                    self.walk[0].torn = 1
                    break
                function = self.functions[self.value[FUNCTION_OF]]
                self.walk[0].records += 1
                self.walk[0].alone += self.value[COMM] == SELF
                if self.value[COMM] == WORLD and function.does == SAYS_SIZE:
                    self.walk[0].ranks = self.value[COUNT]
                elif self.value[COMM] == WORLD and function.does == SAYS_RANK:
                    self.walk[0].own = self.value[COUNT]
                if function.does == REGION_ENTER or function.does == REGION_ENTER + 1:
                    self.walk[0].regions += 1
                elif self.value[TIMED] == 0:
                    self.walk[0].untimed += 1
                else:
                    thread = self.value[THREAD]
                    if threads[thread].calls == 0:
                        threads[thread].first = self.value[ENTER]
                    threads[thread].calls += 1
                    threads[thread].last = max(threads[thread].last, self.value[LEAVE])
                if function.defines:
                    defined[written] = self.walk[0].at
                    written += 1
                self.walk[0].at = behind
        return written
