"""DUMPI: files that were damaged."""

import random
import struct
import tracemalloc

import pytest

import dumpis
from dumpis import ANY, INT, WORLD, in_turn, status
from perwiz.errors import PerwizError
from perwiz.formats import files
from soundness import sound


@pytest.mark.slow
def test_read__damaged(tmp_path):
    """Whatever is changed in a file, it is read or refused in one line."""
    calls = in_turn(
        *(("Comm_split", WORLD, 0, 0, 4), ("Cart_create", WORLD, 2, [2, 1], [0, 1], 0, 5), ("Cart_sub", 2, 5, [1, 0], 6)),
        *(("Comm_group", 4, 9), ("Group_range_incl", 9, 1, [[0, 1, 1]], 10), ("Comm_create", 4, 10, 7), ("Type_vector", 2, 3, 9, INT, 40)),
        *(("Isend", 1, 40, 1, 4, 4, 2), ("Irecv", 1, 40, ANY, ANY, WORLD, 3), ("Waitall", 2, [2, 3], [status(1, 4, 24)] * 2)),
        *(("Alltoallv", 2, [1, 1], [0, 1], INT, [1, 1], [0, 1], INT, 5), ("Win_create", 80, 8, 0, WORLD, 4), ("Win_fence", 0, 4)),
    )
    whole, drawn, read = dumpis.file(calls, sizes=[4] * 30), random.Random(7), 0
    said = []
    path = dumpis.put(tmp_path, [whole, whole])
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(drawn.choice((1, 2, 8))):
            at = drawn.randrange(8, len(data) - 8)
            if drawn.random() < 0.2:
                del data[at : at + drawn.choice((1, 4, 90))]
            else:
                data[at : at + 4] = drawn.choice((b"\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", struct.pack(">I", drawn.randrange(1 << 32))))
        (tmp_path / "run-0001.bin").write_bytes(data)
        try:
            trace = files.read(path)
        except PerwizError as error:
            said.append(str(error))
            continue
        sound(trace)
        read += len(trace.calls) > 0
    assert read > 80
    assert not any("\n" in text for text in said)


@pytest.mark.slow
def test_read__a_world_that_files_are_too_small_for(tmp_path):
    """A small file that names a million processes, and makes communicators of all: what is beyond its size stays unknown."""
    makes = [("Comm_dup", WORLD, 4), ("Comm_group", WORLD, 9), ("Group_excl", 9, 1, [0], 10), ("Comm_create", WORLD, 10, 5)]
    makes += [("Cart_create", WORLD, 2, [1024, 1024], [0, 1], 0, 6), ("Cart_sub", 2, 6, [1, 0], 7), ("Comm_split", 4, 0, 0, 8)]
    path = dumpis.put(tmp_path, [in_turn(*makes * 200, ("Barrier", WORLD))], processes=1 << 20)
    tracemalloc.start()
    try:
        trace = files.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 << 20
    assert len(trace.communicators) < 1000
    assert trace.counts.silent_processes == (1 << 20) - 1


@pytest.mark.parametrize(("dimensions", "kept"), [(64, 1), (65, 0)])
def test_read__arrangements_of_many_dimensions(tmp_path, dimensions, kept):
    """More than any program has: the communicator is there, how its ranks lie is not."""
    sizes = [2] + [1] * (dimensions - 1)
    calls = in_turn(("Cart_create", WORLD, dimensions, sizes, [0] * dimensions, 0, 5), ("Barrier", 5))
    trace = files.read(dumpis.put(tmp_path, [dumpis.file(calls)] * 2))
    assert (len(trace.topologies), len(trace.communicators), len(trace.collectives)) == (kept, 2, 2)
