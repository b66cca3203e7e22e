"""An encoder of CLOG-2, for tests: records as bytes, and files of them."""

import struct

LENGTHS = (24, 24, 136, 128, 64, 32, 64, 48, 40, 72, 72, 32)


class Encoder:
    """Makes records of one byte order."""

    def __init__(self, order=">"):
        self.order = order

    def record(self, kind, body=b"", time=0.0, comm=0, rank=0, thread=0):
        head = struct.pack(f"{self.order}diiii", time, comm, rank, thread, kind)
        return (head + body).ljust(LENGTHS[kind], b"\0")

    def words(self, *values):
        return struct.pack(f"{self.order}{len(values)}i", *values)

    def state(self, begin, end, name):
        return self.record(2, self.words(begin // 2, begin, end, 0) + b"red".ljust(24, b"\0") + name.encode().ljust(32, b"\0"), time=9.0)

    def enters(self, kind, comm, rank, process):
        return self.record(9, self.words(kind, comm, rank, process), rank=process)

    def bare(self, time, process, event, comm=0, **more):
        return self.record(5, self.words(event), time, comm, process, **more)

    def moved(self, time, process, sends, partner, tag=7, size=100, comm=0, other=None):
        return self.record(
            7, self.words(-101 if sends else -102, comm if other is None else other, partner, tag, size), time, comm, process
        )

    def file(self, records, block=1024, processes=2, end=True):
        told = {"is_big_endian": "TRUE " if self.order == ">" else "FALSE", "is_finalzed": "TRUE ", "block_size": block}
        told |= {"num_buffered_blocks": 128, "max_comm_world_size": processes, "max_thread_count": 1}
        out = "CLOG-02.44\0" + "".join(f"{key}=\0{value}\0" for key, value in told.items())
        blocks, here = [], b""
        for record in records:
            if len(here) + len(record) + 24 > block:
                blocks.append((here + self.record(1)).ljust(block, b"\0"))
                here = b""
            here += record
        blocks.append((here + self.record(0) * end).ljust(block, b"\0") if end else here)
        return out.encode().ljust(1024, b"\0") + b"".join(blocks)

    def exchange(self):
        """Return the records of a run: 0 sends to 1, who waits; both reduce on a communicator that has them the other way round."""
        out = [self.enters(0, 0, rank, rank) for rank in range(2)] + [self.enters(100, 3, 1 - rank, rank) for rank in range(2)]
        out += [self.bare(0.1, 0, 10), self.bare(0.1, 1, 12), self.moved(0.2, 0, True, 1), self.bare(0.3, 0, 11)]
        out += [self.moved(0.35, 1, False, 0), self.bare(0.4, 1, 13), self.bare(0.45, 0, -10), self.bare(0.5, 0, 600)]
        out += [self.record(6, self.words(601), 0.6), self.bare(0.7, 1, 14, comm=3), self.bare(0.7, 0, 14, comm=3)]
        out += [self.moved(0.75, 0, True, 0, comm=3), self.bare(0.8, 0, 15, comm=3), self.bare(0.9, 1, 15, comm=3)]
        names = {10: "MPI_Send", 12: "MPI_Recv", 14: "MPI_Allreduce", 600: "compute"}
        return out + [self.state(begin, begin + 1, name) for begin, name in names.items()]
