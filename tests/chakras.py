"""Small Chakra execution traces, made node by node; times are us."""

import naive_chakra as naive

COMPUTES, SENDS, RECEIVES, MEETS, METADATA = 4, 5, 6, 7, 1
ALL_REDUCE, ALL_GATHER, BROADCAST = 0, 2, 5

KINDS = {bool: 27, int: 9, bytes: 29, list: 28}
"""How attributes are held."""


class Rank:
    """The file of one rank."""

    def __init__(self, rank):
        self.rank = rank
        self.parts = [naive.HEAD]

    def add(self, id, name, type, needs=(), took=0, start=0, **said):
        """Add a node; `said` are attributes: truths, numbers, texts or lists of truths."""
        body = (naive.field(1, id) if id else b"") + naive.field(2, name.encode()) + naive.field(3, type)
        body += naive.field(5, b"".join(map(naive.varint, needs))) if needs else b""
        body += (naive.field(6, start) if start else b"") + (naive.field(7, took) if took else b"")
        for key, value in said.items():
            body += naive.said(key, value, KINDS[value.__class__])
        self.parts.append(naive.message(body))
        return self

    def compute(self, id, name, took, needs=(), start=0, cpu=False, **said):
        return self.add(id, name, COMPUTES, needs, took, start, is_cpu_op=cpu, **said)

    def meet(self, id, kind, needs=(), took=0, start=0, size=4096, **said):
        return self.add(id, "collective", MEETS, needs, took, start, is_cpu_op=False, comm_type=kind, comm_size=size, **said)

    def send(self, id, to, needs=(), tag=0, size=100, **said):
        return self.add(id, "send", SENDS, needs, is_cpu_op=False, comm_size=size, comm_src=self.rank, comm_dst=to, comm_tag=tag, **said)

    def receive(self, id, source, needs=(), tag=0, size=100, **said):
        return self.add(id, "receive", RECEIVES, needs, is_cpu_op=False, comm_size=size, comm_src=source, comm_tag=tag, **said)

    def bytes(self):
        return b"".join(self.parts)


def put(folder, *ranks):
    """Write the files of ranks, and return the name of the job."""
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        (folder / f"job.{rank.rank}.et").write_bytes(rank.bytes())
    return str(folder)


def two_ranks():
    """Return two ranks that compute for 10 and 30 us, sum, and compute for 5 us; the processor launches the first for 2 us."""
    out = []
    for rank, took in ((0, 10), (1, 30)):
        one = Rank(rank).compute(1, "launch", 2, cpu=True).compute(2, "gemm(int)", took, [1])
        out.append(one.meet(3, ALL_REDUCE, [2]).compute(4, "relu", 5, [3]))
    return out
