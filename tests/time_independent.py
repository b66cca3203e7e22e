"""Small time-independent traces and platforms, made by hand."""

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix=".x" radical="0-1,4-7" speed="1Gf" bw="1GBps" lat="10us" loopback_bw="2GBps" loopback_lat="1us"/>
</platform>
"""
LINKS = """<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="2000Mf,1Gf" core="2"/>
    <link id="l" bandwidth="8Gbps" latency="1us"/> <link id="m" bandwidth="1GiBps" latency="500ns"/>
    <route src="a" dst="b"><link_ctn id="l"/><link_ctn id="m"/></route>
  </zone>
</platform>
"""
RANKS = (
    """# rank 0
0 init
0 compute 1000
0 isend 1 7 100 6
0 irecv 1 8 25 1
0 compute 2000
0 waitall 2
0 location main.c 12
0 send 1 9 70000 2
0 reduce 10 500 0 0
0 barrier
0 finalize
""",
    """1 init
1 irecv 0 7 100 6
1 compute 4000
1 isend 0 8 25 1
1 wait 0 1 7
1 wait 1 0 8
1 recv 0 9 -1 2
1 reduce 10 500 0 0
1 sleep 1e-6
1 barrier
1 finalize
""",
)


def written(folder, ranks=RANKS, platform=CLUSTER):
    """Write a trace of one file per rank, its index and its platform; return the index."""
    (folder / "ti").mkdir()
    for rank, text in enumerate(ranks):
        (folder / "ti" / f"rank-{rank}.txt").write_text(text, encoding="utf-8")
    (folder / "trace").write_text("".join(f"ti/rank-{rank}.txt\n" for rank in range(len(ranks))), encoding="utf-8")
    if platform:
        (folder / "cluster.xml").write_text(platform, encoding="utf-8")
    return str(folder / "trace")
